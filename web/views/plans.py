"""Plans: looking at them, applying one, taking one back."""

from __future__ import annotations

import time
from dataclasses import replace

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from rules.lifecycle.states import PlanState
from rules.model import PropertyChange
from tuner.errors import YarntuneError
from tuner.store import Plan, Role
from web.auth import identity, requires
from web.changes import audited, reason
from web.errors import Refused, not_found
from web.parameters import optional_whole, words
from web.plan_changes import Kind
from web.queries.measured import judge_plan
from web.queries.plans import plan as plan_view
from web.queries.plans import plans
from web.respond import respond
from web.state import web

pages = Blueprint("plans", __name__)


@pages.get("/plans")
def index() -> Response:
    """The list."""
    return respond(plans(web().store, state=words("state"), before_id=optional_whole("before")))


@pages.get("/plans/<int:plan_id>")
def plan(plan_id: int) -> Response:
    """One plan."""
    found = find_plan(plan_id)
    outcome = judge_plan(web().store, found, now=time.time())
    measured = None if outcome is None else {each.queue: each.measured_s for each in outcome.queues}
    view = plan_view(web().store, found, measured, "" if outcome is None else outcome.why)
    return respond(replace(view, extra={"change": web().plan_changes.of(plan_id)}))


@pages.get("/plans/<int:plan_id>/progress")
def progress(plan_id: int) -> ResponseReturnValue:
    """What becomes of a change that is under way; tells an open page to load itself anew at the end."""
    found, change = find_plan(plan_id), web().plan_changes.of(plan_id)
    text = render_template("plan_progress_fragment.html", plan=found, change=change)
    done = change is None or not change.running
    return text, 200, {"HX-Refresh": "true"} if done and request.headers.get("HX-Request") else {}


@pages.post("/plans/<int:plan_id>/apply")
@requires(Role.OPERATOR)
def apply(plan_id: int) -> ResponseReturnValue:
    """Applies a plan."""
    found = find_plan(plan_id)
    if found.state != PlanState.PROPOSED:
        raise Refused(409, f"plan {plan_id} is {found.state}; only one that is PROPOSED can be applied")
    return _begin(plan_id, "apply")


@pages.get("/plans/<int:plan_id>/rollback")
@requires(Role.OPERATOR)
def ask_rollback(plan_id: int) -> ResponseReturnValue:
    """Shows what taking a plan back would change, and asks for its number to be typed."""
    found = _applied(plan_id)
    problem, hint = "", ""
    changes: tuple[PropertyChange, ...] = ()
    try:
        changes = web().plan_changes.preview_rollback(plan_id, who=identity().name)
    except YarntuneError as error:
        problem, hint = error.message, error.hint
    return render_template("rollback.html", plan=found, changes=changes, problem=problem, hint=hint)


@pages.post("/plans/<int:plan_id>/rollback")
@requires(Role.OPERATOR)
def rollback(plan_id: int) -> ResponseReturnValue:
    """Takes a plan back."""
    _applied(plan_id)
    if words("confirm", source=request.form) != f"rollback {plan_id}":
        raise Refused(400, f"the confirmation is not right: type `rollback {plan_id}`")
    return _begin(plan_id, "rollback")


def find_plan(plan_id: int) -> Plan:
    """The plan.

    Raises:
        Refused: 404 where there is none.
    """
    found = web().store.plans.get(plan_id)
    if found is None:
        raise not_found(f"plan {plan_id}")
    return found


def _applied(plan_id: int) -> Plan:
    found = find_plan(plan_id)
    if found.state != PlanState.APPLIED:
        raise Refused(409, f"plan {plan_id} is {found.state}; only one that is APPLIED can be taken back")
    return found


def begin_change(plan_id: int, kind: Kind, why: str) -> None:
    """Begins a change, with who and why in the audit.

    Raises:
        Refused: 409 where another one is under way.
    """
    with audited(f"ask-{kind}", f"plan {plan_id}", why):
        if not web().plan_changes.start(plan_id, kind, who=identity().name):
            raise Refused(409, "another change of the queues is under way", "wait until it has ended")


def _begin(plan_id: int, kind: Kind) -> ResponseReturnValue:
    begin_change(plan_id, kind, reason())
    flash("Under way: every step is shown below as it is made.")
    return redirect(url_for("plans.plan", plan_id=plan_id), 303)
