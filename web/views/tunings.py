"""Starting a tuning, watching it, stopping it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from tuner.errors import InputError
from tuner.spark.redaction import REDACTED
from tuner.store import Job, Role, Study
from web.auth import identity, requires
from web.changes import audited, reason
from web.errors import Refused, not_found
from web.parameters import fraction, optional_whole, whole, words
from web.queries.tunings import tunings
from web.respond import respond
from web.state import web
from web.tunings import Tuning, TuningOrder, may_tune
from web.views.jobs import find_job

pages = Blueprint("tunings", __name__)


@pages.get("/tunings")
def index() -> Response:
    """Those that this server has started, and the form to start one."""
    return respond(tunings(web().tunings.all()))


@pages.get("/tunings/new")
@requires(Role.OPERATOR)
def new() -> str:
    """The form, filled in for a job where one is named."""
    job_id = optional_whole("job")
    job = None if job_id is None else find_job(job_id)
    arguments = [] if job is None else _last_arguments(job)
    folders = web().config.settings.web_programs
    return render_template("tuning_new.html", job=job, arguments=shlex.join(arguments), folders=folders, mask=REDACTED)


@pages.post("/tunings")
@requires(Role.OPERATOR)
def start() -> ResponseReturnValue:
    """Starts one."""
    why = reason()
    order = order_from(request.form)
    with audited("start-tuning", f"program {order.program}", why, trials=order.trials) as kept:
        found = web().tunings.start(order, who=identity().name, now=time.time())
        kept["tuning"] = found.id
    flash(f"Tuning {found.id} has begun.")
    return redirect(url_for("tunings.tuning", number=found.id), 303)


@pages.get("/tunings/<int:number>")
def tuning(number: int) -> ResponseReturnValue:
    """One, with what it prints."""
    found = find_tuning(number)
    study = study_of(found)
    return render_template(
        "tuning.html",
        tuning=found,
        output=web().tunings.output(number),
        study=study,
        command=shlex.join(found.order.command()[3:]),
    )


@pages.get("/tunings/<int:number>/output")
def output(number: int) -> ResponseReturnValue:
    """What it prints, for a page that is open."""
    found = find_tuning(number)
    text = render_template(
        "tuning_fragment.html", tuning=found, output=web().tunings.output(number), study=study_of(found)
    )
    return text, 200, {} if found.running else {"HX-Refresh": "true"}


@pages.post("/tunings/<int:number>/stop")
@requires(Role.OPERATOR)
def stop(number: int) -> ResponseReturnValue:
    """Stops one as Ctrl-C does."""
    why = reason()
    found = find_tuning(number)
    with audited("stop-tuning", f"tuning {number}", why):
        if not web().tunings.stop(found.id):
            raise Refused(409, f"tuning {number} has ended already")
    flash("It is being stopped: its application is killed, and what was learnt is kept.")
    return redirect(url_for("tunings.tuning", number=number), 303)


def find_tuning(number: int) -> Tuning:
    """The tuning.

    Raises:
        Refused: 404 where there is none.
    """
    try:
        return web().tunings.get(number)
    except InputError:
        raise not_found(f"tuning {number}") from None


def order_from(form: Mapping[str, str]) -> TuningOrder:
    """What a form, or the API's body as text values, orders.

    Raises:
        Refused: it names no program that may be tuned from here.
        InputError: a value is not usable.
    """
    job = None if not form.get("job") else find_job(whole("job", 0, source=form))
    program = job.program if job is not None else words("program", source=form)
    if not program:
        raise Refused(400, "name a program, or a job that the store knows")
    if job is None and not may_tune(program, web().config.settings.web_programs):
        raise Refused(
            403,
            f"{program!r} is in none of the folders whose programs may be tuned from here",
            "an administrator names them in YARNTUNE_WEB_PROGRAMS; `yarntune tune` in a shell takes any",
        )
    return TuningOrder(
        program=program,
        arguments=_arguments(words("arguments", source=form)),
        name=words("name", source=form) or (job.name if job is not None else None),
        queue=words("queue", source=form) or (job.queue if job is not None else None),
        main_class=words("main_class", source=form) or (job.main_class if job is not None else None),
        trials=whole("trials", 10, least=2, most=1000, source=form),
        slack=fraction("slack", 0.05, source=form),
        resume=form.get("resume") in ("on", "true"),
        pins=_pins(words("pins", source=form)),
    )


def _arguments(text: str) -> tuple[str, ...]:
    if REDACTED in text:
        raise Refused(
            400,
            f"an argument is {REDACTED}: the store does not keep secrets",
            "write the real one, or tune it in a shell",
        )
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise Refused(400, f"the arguments cannot be taken apart: {error}", "close every quote") from None


def _pins(text: str) -> dict[str, str]:
    pins = {}
    for line in text.replace(",", "\n").splitlines():
        if line.strip():
            name, sign, value = line.strip().partition("=")
            if not sign:
                raise Refused(400, f"the pin {line.strip()!r} is not of the form NAME=VALUE")
            pins[name.strip()] = value.strip()
    return pins


def _last_arguments(job: Job) -> list[str]:
    runs = web().store.runs.list(job_id=job.id, limit=1)
    return list(runs[0].arguments) if runs else []


def study_of(found: Tuning) -> Study | None:
    """The study that the tuning's process watches; it is there once the cluster was looked at."""
    return next(
        (
            study
            for study in web().store.studies.list(limit=50)
            if study.owner.pid == found.owner.pid and abs(study.owner.started_at - found.owner.started_at) < 5.0
        ),
        None,
    )
