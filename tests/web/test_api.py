"""The API: what it answers is what it says it answers, and it does what the pages do."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.cluster import reading
from tests.web.conftest import Person
from tuner.store import Role, RunState
from web.api.blueprint import PREFIX
from web.api.openapi import openapi, refusals
from web.api.operation import PATH_HELP, PATH_TYPES, Operation
from web.api.reference import reference
from web.api.routes import OPERATIONS
from web.api.schemas import Error
from web.state import WebState
from web.tokens import create_token
from workloads.samples import SAMPLES

DOCS = Path(__file__).resolve().parents[2] / "docs"
CASE = json.loads((Path(__file__).parent / "case.json").read_text())
BY_ID = {each.id: each for each in OPERATIONS}
CHANGES = [each for each in OPERATIONS if each.method != "GET"]
WHY = {"why": "a test of the API"}
RUN = {
    "key": "key-daily-report",
    "name": "daily-report",
    "program": "/opt/jobs/daily-report.py",
    "state": "SUCCEEDED",
    "submitted_at": 1_796_000_000.0,
    "finished_at": 1_796_000_090.5,
    "configuration": {"spark.executor.memory": "2g", "spark.my.password": "hunter2"},
    "arguments": ["--token", "hunter2", "--date", "2026-11-30"],
    "memory_seconds": 921600,
    "application_id": "application_1796000000000_0001",
}
BODIES: dict[str, Any] = {
    "recordRun": RUN,
    "startTuning": {**WHY, "job_id": 1},
    "stopTuning": WHY,
    "addCase": {**WHY, "name": "mine", "case": CASE},
    "askWhatIf": {"case": "mine", "changes": {}},
    "applyPlan": WHY,
    "rollBackPlan": {**WHY, "confirm": "rollback 2"},
    "createToken": {**WHY, "name": "ci", "role": "viewer"},
    "revokeToken": WHY,
}
PLACES = {
    "job_id": 1, "run_id": 1, "study_id": 1, "plan_id": 4, "token_id": 1, "number": 1,
    "job_key": "key-daily-report", "report": "0" * 16, "name": next(iter(SAMPLES)),
}  # fmt: skip


class Caller:
    """A program with a token."""

    def __init__(self, app: Flask, state: WebState, role: Role) -> None:
        self.token, self.record = create_token(state.store, name=f"{role.value}-program", role=role, by="test", now=1.0)
        self._client = app.test_client()
        self._headers = {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str) -> Any:
        return self._client.get(PREFIX + path, headers=self._headers)

    def post(self, path: str, body: Any) -> Any:
        return self._client.post(PREFIX + path, json=body, headers=self._headers)

    def send(self, path: str, data: bytes, kind: str) -> Any:
        return self._client.post(PREFIX + path, data=data, headers={**self._headers, "Content-Type": kind})


@pytest.fixture
def program(app: Flask, filled: WebState) -> Caller:
    """A program that may do everything."""
    return Caller(app, filled, Role.ADMIN)


def path_of(operation: Operation, **places: object) -> str:
    return operation.path.format(**{**PLACES, **places})


def checked(answer: Any, operation: Operation) -> Any:
    """The answer's value, held against the type that the document promises."""
    assert answer.status_code == operation.status, answer.text
    assert answer.mimetype == "application/json"
    msgspec.convert(answer.json, operation.answer)
    return answer.json


def refused(answer: Any, status: int) -> str:
    """The words of a refusal, held against its one shape."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    found = msgspec.convert(answer.json, Error)
    assert found.error.status == status
    assert found.error.message
    return found.error.message


def test_the_routes_and_the_document_are_the_same(app: Flask) -> None:
    described = {(path, method.upper()) for path, each in openapi()["paths"].items() for method in each}
    routes = set()
    for rule in app.url_map.iter_rules():
        if str(rule).startswith(f"{PREFIX}/") and rule.endpoint != "api.openapi":
            path = str(rule)
            for name in rule.arguments:
                start, end = path.index("<"), path.index(">")
                assert path[start:end].endswith(name)
                path = f"{path[:start]}{{{name}}}{path[end + 1 :]}"
            routes |= {(path, method) for method in (rule.methods or set()) - {"HEAD"}}
    assert routes == described


def test_the_document_is_complete_and_served(client: FlaskClient) -> None:
    document = client.get(f"{PREFIX}/openapi.json").json
    assert document == json.loads(json.dumps(openapi()))
    assert document["openapi"] == "3.1.0"
    ids = [each.id for each in OPERATIONS]
    assert len(set(ids)) == len(ids)
    text = json.dumps(document)
    for reference_ in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert reference_ in document["components"]["schemas"]
    for operation in OPERATIONS:
        assert set(operation.parts) <= PATH_TYPES.keys() & PATH_HELP.keys()
        assert (operation.body is not None) == (operation.id in BODIES)


def test_the_page_of_the_api_is_up_to_date() -> None:
    assert (DOCS / "api.md").read_text() == reference(), "python -m web.api.reference > docs/api.md"


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.method == "GET"], ids=lambda each: each.id)
def test_every_answer_is_of_the_type_that_it_promises(
    program: Caller, filled: WebState, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filled.cluster, "_read", lambda _: reading(time.time()))
    filled.cluster.refresh()
    filled.store.advice.put("key-daily-report", {"job_key": "key-daily-report", "candidates": []}, now=1.0)
    answer = program.get(path_of(operation, plan_id=2))
    if operation.id in ("getTuning", "getEventLog"):
        refused(answer, 404)  # there is none yet; what they answer then is tested below
    elif operation.id == "previewRollback":
        refused(answer, 503)  # there is no cluster
    else:
        checked(answer, operation)


def test_pages_of_a_list_have_everything_once(program: Caller, filled: WebState) -> None:
    wanted = [run.id for run in filled.store.runs.list(limit=10_000)]
    for limit in (7, len(wanted)):
        seen: list[int] = []
        before = ""
        while True:
            found = checked(program.get(f"/runs?limit={limit}{before}"), BY_ID["listRuns"])
            assert len(found["items"]) <= limit
            seen += [each["id"] for each in found["items"]]
            if found["next_before"] is None:
                break
            before = f"&before={found['next_before']}"
        assert seen == wanted


@pytest.mark.parametrize("path", ["/jobs", "/plans", "/audit"])
def test_the_second_page_goes_on_after_the_first(program: Caller, path: str) -> None:
    def ids(found: Any) -> list[int]:
        return [each.get("id", each.get("job_id")) for each in found["items"]]

    first = program.get(f"{path}?limit=2").json
    second = program.get(f"{path}?limit=2&before={first['next_before']}").json
    both = program.get(f"{path}?limit=4").json
    assert ids(first) + ids(second) == ids(both)
    assert len(set(ids(both))) == 4


def test_lists_can_be_narrowed(program: Caller) -> None:
    failed = program.get("/runs?state=FAILED&limit=500").json["items"]
    assert failed
    assert {each["state"] for each in failed} == {"FAILED"}
    found = program.get("/jobs?q=ingest").json["items"]
    assert found
    assert all("ingest" in each["name"] + each["queue"] for each in found)
    assert [each["state"] for each in program.get("/plans?state=PROPOSED").json["items"]] == ["PROPOSED"]
    assert {each["subject"] for each in program.get("/audit?subject=plan+1").json["items"]} == {"plan 1"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/jobs/999", 404),
        ("/jobs/0x1", 404),
        ("/jobs/99999999999999999999999", 404),
        ("/jobs/1?study=999", 404),
        ("/advice/unknown", 404),
        ("/runs?limit=0", 400),
        ("/runs?limit=501", 400),
        ("/runs?limit=", 400),
        ("/runs?limit=5&limit=6", 400),
        ("/runs?before=-1", 400),
        ("/runs?before=99999999999999999999", 400),
        ("/runs?state=BROKEN", 400),
        ("/runs?limt=5", 400),
        ("/jobs?q=%00", 400),
        ("/workloads/..%2f..%2fetc%2fpasswd", 404),
        ("/event-logs/..", 404),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_shape(program: Caller, path: str, status: int) -> None:
    refused(program.get(path), status)


def test_wrong_bodies_are_refused_in_one_shape(program: Caller) -> None:
    refused(program.send("/tokens", b"{}", "text/plain"), 415)
    refused(program.send("/tokens", b"", "application/json"), 400)
    refused(program.send("/tokens", b'{"name": ', "application/json"), 400)
    refused(program.send("/tokens", b"[" * 100_000, "application/json"), 400)
    refused(program.send("/tokens", b'{"name": "\xff", "role": "viewer"}', "application/json"), 400)
    good = {**WHY, "name": "x", "role": "viewer"}
    for left_out in good:
        body = {name: value for name, value in good.items() if name != left_out}
        assert left_out in refused(program.post("/tokens", body), 422)
    for wrong in ({"role": "god"}, {"more": 1}, {"name": " "}, {"why": " "}, {"name": "a\x00b"}, {"days": -1}):
        refused(program.post("/tokens", {**good, **wrong}), 422)
    refused(program.send("/tokens", b"x" * (5 * 1024**2), "application/json"), 413)
    refused(program.send("/event-logs", b"{}", "application/json"), 415)
    refused(program._client.delete(f"{PREFIX}/jobs", headers=program._headers), 405)
    assert "GET" in program._client.delete(f"{PREFIX}/jobs", headers=program._headers).headers["Allow"]


def _everything(state: WebState) -> object:
    store = state.store
    return (
        store.audit.list(limit=1000),
        store.plans.list(limit=1000),
        [(each.id, each.revoked_at) for each in store.tokens.list()],
        [run.id for run in store.runs.list(limit=1000)],
        state.cases.names(),
        state.tunings.all(),
        state.reports.all(),
    )


def sent(client: FlaskClient, operation: Operation, headers: dict[str, str]) -> Any:
    if operation.raw_body:
        return client.post(
            PREFIX + path_of(operation), data=b"x", headers={**headers, "Content-Type": operation.raw_body}
        )
    return client.post(PREFIX + path_of(operation), json=BODIES[operation.id], headers=headers)


@pytest.mark.parametrize("operation", CHANGES, ids=lambda each: each.id)
def test_without_a_token_nothing_can_be_changed(app: Flask, filled: WebState, operation: Operation) -> None:
    before = _everything(filled)
    refused(sent(app.test_client(), operation, {}), 401)
    refused(sent(app.test_client(), operation, {"Authorization": "Bearer yt_guess"}), 401)
    assert _everything(filled) == before


@pytest.mark.parametrize(
    "operation", [each for each in CHANGES if each.role is not Role.VIEWER], ids=lambda each: each.id
)
def test_a_viewer_can_change_nothing(app: Flask, filled: WebState, operation: Operation) -> None:
    viewer = Caller(app, filled, Role.VIEWER)
    before = _everything(filled)
    message = refused(sent(app.test_client(), operation, {"Authorization": f"Bearer {viewer.token}"}), 403)
    assert operation.role is not None
    assert operation.role.value in message
    assert _everything(filled) == before


@pytest.mark.parametrize("operation", CHANGES, ids=lambda each: each.id)
def test_a_forged_request_from_a_browser_is_refused(filled: WebState, admin: Person, operation: Operation) -> None:
    before = _everything(filled)
    refused(sent(admin.client, operation, {}), 403)
    refused(sent(admin.client, operation, {"X-CSRF-Token": "guessed"}), 403)
    foreign = {"X-CSRF-Token": admin.csrf("/audit"), "Sec-Fetch-Site": "cross-site"}
    refused(sent(admin.client, operation, foreign), 403)
    assert _everything(filled) == before


def test_the_tokens_are_for_admins_to_see(app: Flask, filled: WebState) -> None:
    refused(Caller(app, filled, Role.OPERATOR).get("/tokens"), 403)
    found = Caller(app, filled, Role.ADMIN).get("/tokens")
    assert "digest" not in found.text


def test_a_token_is_made_used_and_revoked(app: Flask, filled: WebState, program: Caller) -> None:
    made = checked(program.post("/tokens", {**WHY, "name": "ci", "role": "viewer", "days": 1}), BY_ID["createToken"])
    client, headers = app.test_client(), {"Authorization": f"Bearer {made['token']}"}
    audited = filled.store.audit.list(limit=1)[0]
    assert (audited.action, audited.detail["why"]) == ("create-token", WHY["why"])
    who = client.get(f"{PREFIX}/session", headers=headers).json
    assert (who["name"], who["role"]) == ("ci", "viewer")
    checked(program.post(f"/tokens/{made['id']}/revoke", WHY), BY_ID["revokeToken"])
    assert client.get(f"{PREFIX}/session", headers=headers).status_code == 401
    assert made["token"] not in program.get("/audit").text
    refused(program.post("/tokens/999/revoke", WHY), 404)
    last = filled.store.audit.list(limit=1)[0]
    assert (last.who, last.action, last.detail["why"]) == ("admin-program", "revoke-token", WHY["why"])


def test_a_run_is_kept_without_its_secrets(filled: WebState, program: Caller) -> None:
    found = checked(program.post("/runs", RUN), BY_ID["recordRun"])
    run = filled.store.runs.get(found["id"])
    assert run is not None
    assert (run.job_id, run.state, run.duration_s) == (1, RunState.SUCCEEDED, 90.5)
    assert found["gib_s"] == 900.0
    assert "hunter2" not in repr(run)
    refused(program.post("/runs", {**RUN, "finished_at": 1.0}), 422)


def test_a_plan_is_begun_with_who_and_why_and_what_becomes_of_it_is_told(filled: WebState, program: Caller) -> None:
    change = checked(program.post("/plans/4/apply", WHY), BY_ID["applyPlan"])
    assert (change["plan_id"], change["kind"], change["who"]) == (4, "apply", "admin-program")
    filled.plan_changes.wait(30)
    after = checked(program.get("/plans/4"), BY_ID["getPlan"])["change"]
    assert not after["running"]
    assert after["message"], "there is no cluster, which it says"
    last = filled.store.audit.list(limit=1)[0]
    assert (last.who, last.action, last.subject) == ("admin-program", "ask-apply", "plan 4")
    refused(program.post("/plans/2/apply", WHY), 409)
    refused(program.post("/plans/4/rollback", {**WHY, "confirm": "rollback 4"}), 409)
    refused(program.post("/plans/2/rollback", {**WHY, "confirm": "rollback 4"}), 422)
    assert filled.store.audit.list(limit=1)[0].subject == "plan 4", "what is refused changes nothing"


def test_a_case_is_kept_and_a_what_if_on_a_wrong_one_refused(program: Caller) -> None:
    checked(program.post("/cases", BODIES["addCase"]), BY_ID["addCase"])
    assert "mine" in program.get("/cases").json["items"]
    refused(program.post("/cases", BODIES["addCase"]), 400)
    refused(program.post("/cases", {**BODIES["addCase"], "name": "live"}), 422)
    refused(program.post("/what-if", {"case": "mine", "changes": {"java.class.path": "x"}}), 400)


@pytest.mark.slow
def test_a_what_if_is_answered(program: Caller) -> None:
    program.post("/cases", BODIES["addCase"])
    name = next(name for name, value in sorted(CASE["conf"].items()) if name.endswith(".capacity") and value)
    checked(program.post("/what-if", {"case": "mine", "changes": {name: CASE["conf"][name]}}), BY_ID["askWhatIf"])


def test_a_tuning_that_may_not_be_started_is_refused(program: Caller) -> None:
    refused(program.post("/tunings", {**WHY, "program": "/bin/sh"}), 403)
    refused(program.post("/tunings", {**WHY, "job_id": 999}), 404)
    refused(program.post("/tunings", {**WHY, "job_id": 1, "pins": {"spark.jars": "evil.jar"}}), 400)
    refused(program.post("/tunings", {**WHY, "job_id": 1, "pins": {"spark.executor.cores": "1,spark.jars=x"}}), 422)
    refused(program.post("/tunings/1/stop", WHY), 404)


def test_a_tuning_is_started_looked_at_and_stopped_once(
    filled: WebState, program: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real `yarntune tune` without a cluster: it ends by itself, and says why."""
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "job.py").write_text("print(1)")
    object.__setattr__(filled.config, "settings", replace(filled.config.settings, web_programs=(tmp_path,)))
    order = {**WHY, "program": str(tmp_path / "job.py"), "arguments": ["a b"], "trials": 3}
    made = checked(program.post("/tunings", order), BY_ID["startTuning"])
    assert (made["trials"], made["who"]) == (3, "admin-program")
    deadline = time.monotonic() + 120
    while filled.tunings.get(made["id"]).running and time.monotonic() < deadline:
        time.sleep(0.1)
    found = checked(program.get(f"/tunings/{made['id']}"), BY_ID["getTuning"])
    assert found["state"] == "FAILED"
    assert "error:" in found["output"]
    refused(program.post(f"/tunings/{made['id']}/stop", WHY), 409)
    assert [each["id"] for each in checked(program.get("/tunings"), BY_ID["listTunings"])["items"]] == [made["id"]]


def test_an_event_log_is_analysed_and_kept_as_an_analysis(program: Caller, event_log_path: Path) -> None:
    data = event_log_path.read_bytes()
    sent_ = program.send("/event-logs?name=app-1&increment_mib=512", data, "application/octet-stream")
    made = checked(sent_, BY_ID["analyzeEventLog"])
    assert made["increment_mib"] == 512
    assert checked(program.get(f"/event-logs/{made['id']}"), BY_ID["getEventLog"]) == made
    listed = checked(program.get("/event-logs"), BY_ID["listEventLogs"])["items"]
    assert [(each["id"], each["name"], each["who"]) for each in listed] == [(made["id"], "app-1", "admin-program")]


def test_a_wrong_event_log_is_refused(program: Caller) -> None:
    assert "event log" in refused(program.send("/event-logs", b"no log\n", "application/octet-stream"), 400)


def test_a_fault_has_a_number_and_no_secret(
    filled: WebState, program: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("postgresql://ann:hunter2@db/yarntune")

    monkeypatch.setattr(filled.store.runs, "list", broken)
    answer = program.get("/runs")
    assert "number" in refused(answer, 500)
    assert "hunter2" not in answer.text
    assert "RuntimeError" not in answer.text
    assert program.token not in caplog.text


def test_a_refusal_repeats_no_token(app: Flask) -> None:
    answer = app.test_client().get(f"{PREFIX}/jobs", headers={"Authorization": "Bearer yt_mistyped-secret"})
    refused(answer, 401)
    assert "mistyped" not in answer.text


def test_every_refusal_is_described() -> None:
    document = openapi()
    for operation in OPERATIONS:
        described = document["paths"][PREFIX + operation.path][operation.method.lower()]["responses"]
        assert {*map(int, described)} == {operation.status, *refusals(operation)}


@pytest.mark.parametrize("path", ["/jobs/", "/runs/", "/plans/", "/studies/", "/api/v1/jobs/"])
def test_a_number_that_no_database_has_leads_nowhere(client: FlaskClient, path: str) -> None:
    assert client.get(f"{path}{10**23}").status_code == 404
    assert client.get(f"{path}{2**53 - 1}").status_code == 404
