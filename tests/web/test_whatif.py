"""What-ifs: the form, the estimator behind it, and a process that takes too long."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.web.conftest import Person
from tuner.settings import Settings
from web.cases import Cases, properties_of, question, with_changes
from web.estimates import Estimator
from web.queries.whatif import verdict
from web.state import WebState
from workloads.trace import read_case

CASE = Path(__file__).parent / "case.json"
CAPACITY = "yarn.scheduler.capacity.root."


@pytest.fixture
def nightly(state: WebState) -> str:
    """The name of a case that the server has."""
    state.cases.add("nightly", CASE.read_bytes())
    return "nightly"


def test_the_form_has_every_property_and_keeps_what_was_changed(client: FlaskClient, nightly: str) -> None:
    page = client.get("/what-if", query_string={"case": nightly, f"p.{CAPACITY}etl.capacity": "50", "ask": "1"}).text
    assert f'name="p.{CAPACITY}etl.capacity" value="50"' in page
    assert f'name="p.{CAPACITY}ds.capacity" value="10"' in page
    assert 'hx-get="/what-if/result?case=nightly&amp;' in page, "the answer comes when it is ready"
    value = client.get("/what-if", query_string={"case": nightly, "more": "yarn.x=1", "format": "json"}).get_json()
    assert value["changes"] == {"yarn.x": "1"}


def test_the_answer_has_bounds_for_each_queue_and_the_rules_that_bind(client: FlaskClient, nightly: str) -> None:
    changes = {
        f"p.{CAPACITY}etl.capacity": "40",
        f"p.{CAPACITY}ingest.capacity": "50",
        f"p.{CAPACITY}ingest.maximum-capacity": "100",
    }
    value = client.get("/what-if/result", query_string={"case": nightly, **changes, "format": "json"}).get_json()
    rows = {row["queue"]: row for row in value["queues"]}
    assert next(iter(rows)) == "all"
    assert rows["all"]["jobs"] == 40 == sum(row["jobs"] for name, row in rows.items() if name != "all")
    ingest = rows["root.ingest"]
    assert ingest["mean_after_s"] < ingest["mean_before_s"], "it is given more than twice as much"
    assert ingest["low_s"] < ingest["change_s"] < ingest["high_s"]
    assert ingest["change_s"] == pytest.approx(ingest["mean_after_s"] - ingest["mean_before_s"])
    waits = {row["rule"]: row for row in value["rules"]}
    assert waits["maximum-capacity"]["after_s"] < waits["maximum-capacity"]["before_s"]
    page = client.get("/what-if/result", query_string={"case": nightly, **changes}, headers={"HX-Request": "true"}).text
    assert value["verdict"] in page
    assert "<html" not in page


def test_the_same_configuration_changes_nothing(client: FlaskClient, nightly: str) -> None:
    value = client.get("/what-if/result", query_string={"case": nightly, "format": "json"}).get_json()
    assert value["verdict"] == "Nothing changes: no job is served otherwise."
    assert all(row["change_s"] == 0 for row in value["queues"])


def test_a_configuration_that_the_resource_manager_would_refuse_is_refused(client: FlaskClient, nightly: str) -> None:
    answer = client.get("/what-if/result", query_string={"case": nightly, f"p.{CAPACITY}etl.capacity": "99"})
    assert answer.status_code == 422
    assert "in all" in answer.text


@pytest.mark.parametrize(
    "query", [{"more": "no sign"}, {"more": "hadoop.x=1"}, {"case": "other"}, {"case": "../nightly"}]
)
def test_a_change_that_is_none_is_refused(client: FlaskClient, nightly: str, query: dict[str, str]) -> None:
    assert client.get("/what-if/result", query_string={"case": nightly, **query}).status_code == 400


def test_a_case_is_kept_once_checked(state: WebState, operator: Person) -> None:
    def send(name: str, data: bytes) -> int:
        file = (io.BytesIO(data), "case.json")
        return operator.post("/what-if/cases", case=file, name=name, why="compare").status_code

    assert send("mine", CASE.read_bytes()) == 303
    assert state.cases.get("mine") == read_case(CASE)
    assert send("mine", CASE.read_bytes()) == 400, "a name is not taken twice"
    assert send("../x", CASE.read_bytes()) == 400
    assert send("live", CASE.read_bytes()) == 400
    assert send("bad", b'{"jobs": []}') == 400
    assert send("worse", b"not json") == 400
    assert state.cases.names() == ["mine"]
    assert [row.outcome for row in state.store.audit.list() if row.action == "add-case"].count("done") == 1


def test_the_folder_of_cases_may_be_filled_by_hand(tmp_path: Path) -> None:
    (tmp_path / "by-hand.json").write_text(CASE.read_text())
    cases = Cases(tmp_path)
    assert cases.names() == ["by-hand"]
    assert f"{CAPACITY}etl.capacity" in properties_of(cases.get("by-hand"))


class TestProcess:
    """The process that estimates."""

    @pytest.fixture
    def estimator(self, settings: Settings) -> Iterator[Estimator]:
        found = Estimator(settings, time_limit_s=0.5, first_limit_s=0.5)
        yield found
        found.close()

    def _use(self, estimator: Estimator, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
        real = subprocess.Popen if not hasattr(self, "_real") else self._real
        self._real = real
        monkeypatch.setattr(
            "web.estimates.subprocess.Popen", lambda _, **more: real([sys.executable, "-c", program], **more)
        )

    def test_one_that_takes_too_long_is_ended_and_the_next_question_gets_a_new_one(
        self, estimator: Estimator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._use(estimator, monkeypatch, "import time; time.sleep(60)")
        answer = estimator.ask({"a": 1})
        assert answer.result is None
        assert "took longer than" in answer.problem
        estimator._first_limit_s = 20.0
        self._use(estimator, monkeypatch, 'input(); print(\'{"result": {"x": 1}}\', flush=True)')
        assert estimator.ask({"a": 1}).result == {"x": 1}

    def test_one_that_dies_is_said_so(self, estimator: Estimator, monkeypatch: pytest.MonkeyPatch) -> None:
        estimator._first_limit_s = 20.0
        self._use(estimator, monkeypatch, "raise SystemExit(3)")
        assert "ended without a word" in estimator.ask({"a": 1}).problem

    def test_a_second_question_does_not_wait_for_ever(
        self, estimator: Estimator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("web.estimates.BUSY_AFTER_S", 0.01)
        with estimator._lock:
            assert "another estimate is under way" in estimator.ask({"a": 2}).problem


def test_a_fair_case_is_changed_by_its_allocations(state: WebState, client: FlaskClient) -> None:
    tasks = [{"duration": 60, "memory": 1024, "vcores": 1}] * 8
    jobs = [{"id": f"{q}{i}", "queue": f"root.{q}", "submit": 0, "tasks": tasks} for q in "ab" for i in range(3)]
    text = "<allocations><queue name='a'><weight>{}</weight></queue><queue name='b'/></allocations>"
    case = {"scheduler": "fair", "allocations": text.format(1), "nodes": [{"memory": 8192, "vcores": 8}], "jobs": jobs}
    state.cases.add("fair", json.dumps(case).encode())
    assert "&lt;weight&gt;1&lt;/weight&gt;" in client.get("/what-if?case=fair").text
    query = {"case": "fair", "allocations": text.format(9), "format": "json"}
    rows = {row["queue"]: row for row in client.get("/what-if/result", query_string=query).get_json()["queues"]}
    assert rows["root.a"]["change_s"] < 0 < rows["root.b"]["change_s"]
    answer = client.get("/what-if/result", query_string={**query, "allocations": "<broken"})
    assert answer.status_code == 422
    assert client.get("/what-if", query_string={**query, "allocations": "x" * 20_001}).status_code == 400


def test_an_empty_value_unsets_a_property() -> None:
    case = read_case(CASE)
    changed = with_changes(case, {f"{CAPACITY}ingest.maximum-capacity": ""}, None)
    assert changed.conf[f"{CAPACITY}ingest.maximum-capacity"] is None
    json.dumps(question(case, changed))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"unfinished_before": 2, "unfinished_after": 0}, "0 jobs do not end, against 2 now."),
        ({"change_s": -5.0, "low_s": -9.0, "high_s": 1.0}, "No clear difference"),
        ({"change_s": -50.0, "low_s": -60.0, "high_s": -40.0}, "The mean latency is 50% less."),
        ({"change_s": 10.0, "low_s": None, "high_s": None}, "The mean latency is 10% more."),
        ({"jobs": 0}, "no job to judge by"),
    ],
)
def test_the_verdict_says_no_more_than_the_spread_allows(row: dict[str, object], words: str) -> None:
    total = {
        "jobs": 3,
        "unfinished_before": 0,
        "unfinished_after": 0,
        "change_s": 1.0,
        "low_s": 0.5,
        "high_s": 2.0,
        "mean_before_s": 100.0,
    }
    assert words in verdict({**total, **row})
