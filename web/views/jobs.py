"""Jobs, one job, one run."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from flask import Blueprint, Response, render_template

from tuner.store import Job, Run, RunState, Study
from tuner.store.statistics import SORTS
from web.errors import not_found
from web.parameters import choice, optional_whole, whole, words
from web.queries.job import MEASURES, study_values
from web.queries.job import job as job_view
from web.queries.job_configuration import importance as importance_view
from web.queries.jobs import jobs
from web.queries.run import run as run_view
from web.respond import View, respond
from web.state import web

pages = Blueprint("jobs", __name__)
_MOST_KEPT = 256
_kept: OrderedDict[tuple[Any, ...], View] = OrderedDict()
_kept_lock = Lock()


@pages.get("/jobs")
def index() -> Response:
    """The list."""
    state = web()
    sort = choice("sort", SORTS, "last")
    return respond(
        jobs(state.store, state.config.price, search=words("q"), sort=sort, page=whole("page", 1, most=10**6))
    )


@pages.get("/jobs/<int:job_id>")
def job(job_id: int) -> Response:
    """One job."""
    state = web()
    study_id = optional_whole("study")
    found = find_job(job_id)
    if study_id is not None:
        _find_study(found, study_id)
    measure = choice("measure", tuple(MEASURES), "cost")
    return respond(job_view(state.store, found, state.config.price, study_id=study_id, measure=measure))


@pages.get("/jobs/<int:job_id>/importance")
def importance(job_id: int) -> Response:
    """Which properties the cost depends on; reckoned once for each set of runs."""
    found, store = find_job(job_id), web().store
    study_id = optional_whole("study")
    study = _find_study(found, study_id) if study_id is not None else None
    runs = store.runs.list(
        job_id=found.id, study_id=None if study is None else study.id, states=[RunState.SUCCEEDED], limit=300
    )
    key = (store.masked_url, found.id, study_id, len(runs), runs[0].id if runs else None)
    with _kept_lock:
        view = _kept.get(key)
    if view is None:
        view = importance_view(runs[::-1])
        with _kept_lock:
            _kept[key] = view
            while len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
    return respond(view)


@pages.get("/studies/<int:study_id>/progress")
def progress(study_id: int) -> str:
    """How far a study is, for a page that is open."""
    store = web().store
    study = store.studies.get(study_id)
    if study is None:
        raise not_found(f"study {study_id}")
    runs: list[Run] = store.runs.list(study_id=study.id, limit=300)[::-1]
    tuning = web().tunings.by_owner(study.owner)
    return render_template(
        "progress_fragment.html", study=study_values(study, runs), job_id=study.job_id, tuning=tuning
    )


@pages.get("/runs/<int:run_id>")
def run(run_id: int) -> Response:
    """One run."""
    store = web().store
    found = store.runs.get(run_id)
    if found is None:
        raise not_found(f"run {run_id}")
    return respond(run_view(found, find_job(found.job_id)))


def find_job(job_id: int) -> Job:
    """The job.

    Raises:
        Refused: 404 where there is none.
    """
    found = web().store.jobs.get(job_id)
    if found is None:
        raise not_found(f"job {job_id}", "the list of jobs shows what there is")
    return found


def _find_study(job: Job, study_id: int) -> Study:
    study = web().store.studies.get(study_id)
    if study is None or study.job_id != job.id:
        raise not_found(f"study {study_id} of job {job.id}")
    return study
