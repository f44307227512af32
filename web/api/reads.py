"""What the API shows: the read models of :mod:`web.queries`, and pages of what the store lists."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rules.lifecycle.result import ApplyResult
from tuner.store import Run, RunKind, RunState
from web.api.operation import Call
from web.auth import identity
from web.errors import not_found
from web.plan_changes import PlanChange
from web.queries.audit import audit
from web.queries.health import settings
from web.queries.job import cost, study_values
from web.queries.job import job as job_view
from web.queries.job_configuration import importance
from web.queries.jobs import jobs
from web.queries.logs import log as log_view
from web.queries.measured import judge_plan
from web.queries.overview import overview
from web.queries.plans import plan as plan_view
from web.queries.plans import plans
from web.queries.queues import queues
from web.queries.run import run as run_view
from web.queries.tunings import row as tuning_row
from web.queries.workloads import workloads
from web.respond import View
from web.state import web
from web.tables import plain
from web.views.jobs import find_job
from web.views.plans import find_plan
from web.views.settings import tokens_view
from web.views.tunings import find_tuning, study_of
from web.views.whatif import case_names
from web.views.workloads import find_workload

T = TypeVar("T")
_MOST_RUNS = 300


def document(view: View) -> dict[str, Any]:
    """A view as the API gives it."""
    found = view.to_json()
    del found["view"]
    return found


def page(rows: Sequence[T], limit: int, item: Callable[[T], dict[str, Any]], id_of: Callable[[T], int]) -> Any:
    """A page of a list; there may be more where it is full."""
    return {
        "items": [plain(item(each)) for each in rows],
        "next_before": id_of(rows[-1]) if len(rows) == limit else None,
    }


def get_session(_: Call) -> Any:
    """Who asks."""
    who = identity()
    return {
        "name": who.name,
        "role": None if who.role is None else who.role.value,
        "anonymous_reads": web().config.anonymous_reads,
    }


def get_overview(_: Call) -> Any:
    """The overview."""
    state = web()
    cluster = state.cluster.state(now=time.time())
    return document(overview(state.store, cluster, state.cluster.samples(), state.config.price))


def get_queues(_: Call) -> Any:
    """The queues, and who waits."""
    return document(queues(web().cluster.state(now=time.time())))


def get_settings(_: Call) -> Any:
    """Settings and health."""
    state = web()
    return document(settings(state.store, state.config, state.cluster.state(now=time.time())))


def list_jobs(call: Call) -> Any:
    """A page of jobs."""
    state, limit = web(), call.whole("limit")
    view = jobs(
        state.store, state.config.price, search=call.text("q"), sort="id", limit=limit, before_id=call.query["before"]
    )
    return page(view.table("jobs").rows, limit, dict, lambda row: int(row["job_id"]))


def get_job(call: Call) -> Any:
    """One job."""
    state, found = web(), find_job(call.path["job_id"])
    study_id = call.query["study"]
    if study_id is not None:
        _study(found.id, study_id)
    return document(job_view(state.store, found, state.config.price, study_id=study_id))


def get_importance(call: Call) -> Any:
    """What a job's cost depends on."""
    found, study_id = find_job(call.path["job_id"]), call.query["study"]
    if study_id is not None:
        _study(found.id, study_id)
    runs = web().store.runs.list(job_id=found.id, study_id=study_id, states=[RunState.SUCCEEDED], limit=_MOST_RUNS)
    return document(importance(runs[::-1]))


def list_runs(call: Call) -> Any:
    """A page of runs, of one job or of all."""
    job_id = call.path.get("job_id")
    if job_id is not None:
        find_job(job_id)
    limit, state, kind = call.whole("limit"), call.text("state"), call.text("kind")
    found = web().store.runs.list(
        job_id=job_id,
        states=[RunState(state)] if state else (),
        kinds=[RunKind(kind)] if kind else (),
        limit=limit,
        before_id=call.query["before"],
    )
    return page(found, limit, run_item, lambda run: run.id)


def run_item(run: Run) -> dict[str, Any]:
    """A run as the API lists it."""
    return {
        "id": run.id,
        "job_id": run.job_id,
        "study_id": run.study_id,
        "kind": run.kind,
        "state": run.state,
        "submitted_at": run.submitted_at,
        "finished_at": run.finished_at,
        "wait_s": run.wait_s,
        "run_s": run.run_s,
        "duration_s": run.duration_s,
        "gib_s": cost(run),
        "application_id": run.application_id,
        "failure": run.failure,
        "configuration": dict(run.configuration),
    }


def get_run(call: Call) -> Any:
    """One run."""
    found = web().store.runs.get(call.path["run_id"])
    if found is None:
        raise not_found(f"run {call.path['run_id']}")
    return document(run_view(found, find_job(found.job_id)))


def get_study(call: Call) -> Any:
    """How far a search is."""
    study = _study(None, call.path["study_id"])
    runs = web().store.runs.list(study_id=study.id, limit=_MOST_RUNS)[::-1]
    return plain({**study_values(study, runs), "job_id": study.job_id})


def get_advice(call: Call) -> Any:
    """What is advised for a job's next submission, as the submit wrapper reads it."""
    found = web().store.advice.get(call.path["job_key"])
    if found is None:
        raise not_found("advice for this job", "tune it, or submit it with yarntune-submit")
    return found


def list_tunings(_: Call) -> Any:
    """The tunings that this server has started."""
    return {"items": [tuning_row(each) for each in web().tunings.all()], "next_before": None}


def get_tuning(call: Call) -> Any:
    """One, with what it prints."""
    found = find_tuning(call.path["number"])
    study = study_of(found)
    return {
        **tuning_row(found),
        "output": web().tunings.output(found.id),
        "study_id": None if study is None else study.id,
    }


def list_reports(_: Call) -> Any:
    """Analyses of event logs."""
    return {"items": web().reports.all(), "next_before": None}


def get_report(call: Call) -> Any:
    """One analysis."""
    record = web().reports.get(call.path["report"])
    if record is None:
        raise not_found("such analysis", "only the newest are kept")
    return document(log_view(call.path["report"], record))


def list_cases(_: Call) -> Any:
    """Cases for what-ifs."""
    return {"items": case_names()}


def list_plans(call: Call) -> Any:
    """A page of plans."""
    limit = call.whole("limit")
    view = plans(web().store, state=call.text("state"), before_id=call.query["before"], limit=limit)
    return page(view.table("plans").rows, limit, dict, lambda row: int(row["id"]))


def get_plan(call: Call) -> Any:
    """One plan."""
    found = find_plan(call.path["plan_id"])
    outcome = judge_plan(web().store, found, now=time.time())
    measured = None if outcome is None else {each.queue: each.measured_s for each in outcome.queues}
    view = plan_view(web().store, found, measured, "" if outcome is None else outcome.why)
    return {**document(view), "change": change_state(web().plan_changes.of(found.id))}


def change_state(change: PlanChange | None) -> dict[str, Any] | None:
    """A change that was begun here, as the API gives it."""
    if change is None:
        return None
    result: ApplyResult | None = change.result
    return {
        "plan_id": change.plan_id,
        "kind": change.kind,
        "who": change.who,
        "started_at": change.started_at,
        "running": change.running,
        "outcome": None if result is None else result.outcome.value,
        "message": change.problem if result is None else result.message,
        "hint": change.hint,
        "notes": list(change.notes),
    }


def get_rollback(call: Call) -> Any:
    """What taking a plan back would change."""
    found = find_plan(call.path["plan_id"])
    changes = web().plan_changes.preview_rollback(found.id, who=identity().name)
    rows = [{"property": each.property, "before": each.before, "after": each.after} for each in changes]
    return {"plan_id": found.id, "changes": rows}


def list_audit(call: Call) -> Any:
    """A page of the audit."""
    limit = call.whole("limit")
    view = audit(web().store, subject=call.text("subject"), before_id=call.query["before"], limit=limit)
    table = view.table("audit")
    return page(table.to_json(), limit, dict, lambda row: int(row["id"]))


def list_workloads(_: Call) -> Any:
    """What there is to replay."""
    return document(workloads(web().config.settings))


def get_workload(call: Call) -> Any:
    """One workload."""
    return document(find_workload(call.path["name"]))


def list_tokens(_: Call) -> Any:
    """The tokens, never what they are."""
    return {"items": tokens_view().tables[0].to_json(), "next_before": None}


def _study(job_id: int | None, study_id: int) -> Any:
    study = web().store.studies.get(study_id)
    if study is None or (job_id is not None and study.job_id != job_id):
        raise not_found(f"study {study_id}" + ("" if job_id is None else f" of job {job_id}"))
    return study
