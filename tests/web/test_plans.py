"""Applying plans and taking them back, up to where the cluster begins; test_browser.py goes on with a real one."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from rules.lifecycle.result import ApplyResult, Outcome
from rules.lifecycle.states import PlanState
from tests.web.conftest import Person
from tests.web.seed import NOW
from tuner.errors import YarnError
from tuner.store import AuditRow
from tuner.store.history_records import ApplicationRecord, Collection
from web.plan_changes import PlanChanges
from web.state import WebState


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, str]]:
    """What was asked of the cluster."""
    calls: list[tuple[int, str, str]] = []

    def change(self: PlanChanges, context: object, plan_id: int, kind: str) -> ApplyResult:
        calls.append((plan_id, kind, getattr(context, "who", "")))
        return ApplyResult(Outcome.APPLIED, f"plan {plan_id} is in force", plan_id, PlanState.APPLIED)

    monkeypatch.setattr(PlanChanges, "_change", change)
    monkeypatch.setattr("web.plan_changes.open_context", _NoCluster)
    monkeypatch.setattr(
        "web.plan_changes.replace",
        lambda value, **changes: value._with(changes) if isinstance(value, _Context) else _replace(value, changes),
    )
    return calls


def _replace(value: object, changes: dict[str, object]) -> object:
    from dataclasses import replace

    return replace(value, **changes)  # type: ignore[type-var]


class _Context:
    who = ""

    def _with(self, changes: dict[str, object]) -> _Context:
        self.who = str(changes["who"])
        return self


class _NoCluster:
    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> _Context:
        return _Context()

    def __exit__(self, *_: object) -> None: ...


def test_an_operator_applies_a_plan_in_their_own_name(
    filled: WebState, operator: Person, applied: list[tuple[int, str, str]]
) -> None:
    answer = operator.post("/plans/4/apply", why="ingest is late")
    assert answer.status_code == 303
    filled.plan_changes.wait(10)
    assert applied == [(4, "apply", "operator-1")]
    assert "plan 4 is in force" in operator.client.get("/plans/4").text
    row = filled.store.audit.list(limit=1)[0]
    assert (row.who, row.action, row.subject, row.detail["why"]) == (
        "operator-1",
        "ask-apply",
        "plan 4",
        "ingest is late",
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [("/plans/1/apply", 409), ("/plans/3/apply", 409), ("/plans/4/rollback", 409), ("/plans/99/apply", 404)],
)
def test_a_plan_in_another_state_is_left_alone(
    filled: WebState, operator: Person, applied: list[tuple[int, str, str]], path: str, status: int
) -> None:
    assert operator.post(path, why="x", confirm="rollback 4").status_code == status
    assert applied == []


@pytest.mark.parametrize("confirm", ["", "rollback", "rollback 4", "yes", "ROLLBACK 2"])
def test_a_rollback_needs_its_number_typed(
    filled: WebState, operator: Person, applied: list[tuple[int, str, str]], confirm: str
) -> None:
    assert operator.post("/plans/2/rollback", why="x", confirm=confirm).status_code == 400
    assert applied == []
    assert operator.post("/plans/2/rollback", why="x", confirm="rollback 2").status_code == 303
    filled.plan_changes.wait(10)
    assert applied == [(2, "rollback", "operator-1")]


def test_a_change_without_a_reason_is_refused(
    filled: WebState, operator: Person, applied: list[tuple[int, str, str]]
) -> None:
    assert operator.post("/plans/4/apply").status_code == 400
    assert operator.post("/plans/4/apply", why="x" * 501).status_code == 400
    assert applied == []


def test_a_cluster_that_is_not_there_is_said_so(
    filled: WebState, operator: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> object:
        raise YarnError("the ResourceManager does not answer", "start it")

    monkeypatch.setattr("web.plan_changes.open_context", gone)
    operator.post("/plans/4/apply", why="x")
    filled.plan_changes.wait(10)
    page = operator.client.get("/plans/4").text
    assert "It could not be done" in page
    assert "the ResourceManager does not answer" in page
    assert "cannot be read now" in operator.client.get("/plans/2/rollback").text


def test_what_was_predicted_is_held_against_what_came_of_it(filled: WebState, client: FlaskClient) -> None:
    """A forecast plan of which the time is over, and two applications that ended in it."""
    store, plan = filled.store, filled.store.plans.get(2)
    assert plan is not None
    store.audit.append(
        AuditRow(at=NOW, who="d", action="forecast-plan", subject="plan 2", outcome="done", detail={"span_s": 3600.0})
    )
    records = [
        ApplicationRecord(
            cluster=plan.scheduler,
            application_id=f"application_1_{i}",
            name="x",
            user="u",
            queue="root.prod.etl",
            type="SPARK",
            state="FINISHED",
            submitted_at=plan.created_at + 10,
            seen_at=NOW,
            finished_at=plan.created_at + 10 + latency_s,
        )
        for i, latency_s in enumerate((300.0, 500.0))
    ]
    made = Collection(cluster=plan.scheduler, at=NOW, rm_started_at=1.0, new_applications=0, open_applications=0)
    store.history.record(made, records, ())
    rows = {row["queue"]: row for row in client.get("/plans/2?format=json").get_json()["effects"]}
    assert rows["all"]["measured_s"] == rows["root.prod.etl"]["measured_s"] == 400.0
    assert rows["root.ds"]["measured_s"] is None
    assert client.get("/plans/1?format=json").get_json()["effects"][0]["measured_s"] is None, "that was not forecast"


def test_one_change_at_a_time(
    filled: WebState, operator: Person, monkeypatch: pytest.MonkeyPatch, applied: list[tuple[int, str, str]]
) -> None:
    import threading

    go_on = threading.Event()

    def slow(self: PlanChanges, context: object, plan_id: int, kind: str) -> ApplyResult:
        assert go_on.wait(30)
        return ApplyResult(Outcome.APPLIED, "done", plan_id)

    monkeypatch.setattr(PlanChanges, "_change", slow)
    try:
        assert operator.post("/plans/4/apply", why="x").status_code == 303
        assert operator.post("/plans/2/rollback", why="x", confirm="rollback 2").status_code == 409
        progress = operator.client.get("/plans/4/progress", headers={"HX-Request": "true"})
        assert "Under way" in progress.text
        assert "HX-Refresh" not in progress.headers
    finally:
        go_on.set()
    filled.plan_changes.wait(10)
    assert operator.client.get("/plans/4/progress", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert [row.outcome for row in filled.store.audit.list(limit=2)] == ["failed", "done"]
