"""What the API does: the same actions as the pages, with the same words in the audit."""

from __future__ import annotations

import shlex
import time
from typing import Any

import msgspec
from flask import request
from werkzeug.datastructures import FileStorage

from rules.lifecycle.states import PlanState
from tuner.services.recording import record_run
from tuner.store import Role
from web.api.operation import Call
from web.api.reads import change_state, document, get_report, run_item
from web.api.schemas import CaseBody, Reason, RollbackOrder, RunBody, TokenOrder, TuningBody, WhatIfBody
from web.auth import identity
from web.cases import properties_of, question, with_changes
from web.changes import audited
from web.errors import Refused
from web.plan_changes import Kind
from web.queries.tunings import row as tuning_row
from web.queries.whatif import result
from web.state import web
from web.tokens import create_token, revoke_token
from web.views.plans import begin_change, find_plan
from web.views.settings import tokens_view
from web.views.tunings import find_tuning, order_from
from web.views.whatif import LIVE, get_case

_DAY_S = 86_400.0


def record(call: Call) -> Any:
    """Keeps a run that has ended, and lets the advice of its job learn from it."""
    body: RunBody = call.body
    if body.finished_at < body.submitted_at:
        raise Refused(422, "the run ends before it was submitted", "`finished_at` is later than `submitted_at`")
    with audited("record-run", f"job {body.name}", "reported by whoever submitted it") as kept:
        run = record_run(web().store, msgspec.to_builtins(body), now=time.time())
        kept["run"] = run.id
    return run_item(run)


def start_tuning(call: Call) -> Any:
    """Starts a tuning."""
    body: TuningBody = call.body
    if "\n" in "".join([*body.pins, *body.pins.values()]) or "," in "".join([*body.pins, *body.pins.values()]):
        raise Refused(422, "a pin has a comma or the end of a line in it")
    form = {
        "job": "" if body.job_id is None else str(body.job_id),
        "program": body.program,
        "arguments": shlex.join(body.arguments),
        "name": body.name,
        "queue": body.queue,
        "main_class": body.main_class,
        "trials": str(body.trials),
        "slack": repr(body.slack),
        "resume": "on" if body.resume else "",
        "pins": "\n".join(f"{name}={value}" for name, value in body.pins.items()),
    }
    order = order_from(form)
    with audited("start-tuning", f"program {order.program}", body.why, trials=order.trials) as kept:
        found = web().tunings.start(order, who=identity().name, now=time.time())
        kept["tuning"] = found.id
    return tuning_row(found)


def stop_tuning(call: Call) -> Any:
    """Stops a tuning as Ctrl-C does."""
    body: Reason = call.body
    found = find_tuning(call.path["number"])
    with audited("stop-tuning", f"tuning {found.id}", body.why):
        if not web().tunings.stop(found.id):
            raise Refused(409, f"tuning {found.id} has ended already")
    return tuning_row(web().tunings.get(found.id))


def analyze_log(call: Call) -> Any:
    """Analyses an event log that is the body."""
    upload = FileStorage(stream=request.stream, filename=call.text("name"))
    number = web().reports.analyze(
        upload, increment_mib=call.whole("increment_mib"), who=identity().name, now=time.time()
    )
    return get_report(Call({"report": number}, {}))


def add_case(call: Call) -> Any:
    """Keeps a case."""
    body: CaseBody = call.body
    if body.name == LIVE:
        raise Refused(422, f"{LIVE!r} is the live cluster's name", "choose another name")
    with audited("add-case", f"case {body.name}", body.why):
        web().cases.add(body.name, msgspec.json.encode(body.case))
    return {"items": web().cases.names()}


def ask_what_if(call: Call) -> Any:
    """Asks the estimator."""
    body: WhatIfBody = call.body
    case = get_case(body.case)
    properties = properties_of(case)
    changes = {name: value for name, value in body.changes.items() if properties.get(name, "") != value}
    found = web().estimator.ask(question(case, with_changes(case, changes, body.allocations)))
    if found.result is None:
        raise Refused(422, found.problem, found.hint)
    return document(result(body.case, changes, found.result))


def apply_plan(call: Call) -> Any:
    """Begins to apply a plan."""
    found = find_plan(call.path["plan_id"])
    if found.state != PlanState.PROPOSED:
        raise Refused(409, f"plan {found.id} is {found.state}; only one that is PROPOSED can be applied")
    body: Reason = call.body
    return _begin(found.id, "apply", body.why)


def roll_back_plan(call: Call) -> Any:
    """Begins to take a plan back."""
    found = find_plan(call.path["plan_id"])
    if found.state != PlanState.APPLIED:
        raise Refused(409, f"plan {found.id} is {found.state}; only one that is APPLIED can be taken back")
    body: RollbackOrder = call.body
    if body.confirm != f"rollback {found.id}":
        raise Refused(422, "the confirmation is not right", f"`confirm` is `rollback {found.id}`")
    return _begin(found.id, "rollback", body.why)


def make_token(call: Call) -> Any:
    """Makes a token."""
    body: TokenOrder = call.body
    now = time.time()
    token, made = create_token(
        web().store,
        name=body.name,
        role=Role(body.role),
        by=identity().name,
        now=now,
        reason=body.why,
        expires_at=None if body.days is None else now + body.days * _DAY_S,
    )
    return {"id": made.id, "name": made.name, "role": made.role.value, "token": token}


def end_token(call: Call) -> Any:
    """Revokes a token."""
    body: Reason = call.body
    token_id = call.path["token_id"]
    if not any(each.id == token_id for each in web().store.tokens.list()):
        raise Refused(404, f"there is no token {token_id}")
    revoke_token(web().store, token_id, by=identity().name, reason=body.why, now=time.time())
    return next(row for row in tokens_view().tables[0].to_json() if row["id"] == token_id)


def _begin(plan_id: int, kind: Kind, why: str) -> Any:
    begin_change(plan_id, kind, why)
    return change_state(web().plan_changes.of(plan_id))
