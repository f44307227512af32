"""Every page, empty and full, as a page, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.cluster import reading
from tests.web.conftest import Person
from tests.web.seed import DEFAULT, NOW
from tuner.errors import YarnError
from tuner.store import Role
from web.state import WebState

PUBLIC = [
    *["/", "/jobs", "/tunings", "/logs", "/queues", "/what-if", "/plans", "/workloads"],
    *["/audit", "/settings", "/login"],
]
FULL = [
    *["/jobs/1", "/jobs/4", "/jobs/8", "/jobs/1?measure=time", "/jobs/1/importance", "/runs/1"],
    *["/plans/1", "/plans/4", "/workloads/etl-night"],
]
WITH_TABLES = [
    *["/", "/jobs", "/jobs/1", "/runs/1", "/queues", "/plans", "/plans/4"],
    *["/workloads", "/workloads/etl-night", "/audit", "/settings"],
]
MISSING = [
    *["/jobs/99", "/runs/999", "/plans/99", "/logs/0123456789abcdef", "/workloads/.."],
    *["/tunings/7", "/jobs/1?study=99"],
]


def see(state: WebState, at: float = NOW) -> None:
    """Lets the server see a cluster."""
    state.cluster._read = lambda _: reading(at)
    state.cluster._explain = lambda: reading(at).reasons
    state.cluster.refresh()


@pytest.mark.parametrize("path", PUBLIC)
def test_a_page_of_an_empty_store_says_so_and_what_to_do(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    if path in ("/jobs", "/plans", "/audit", "/tunings", "/logs"):
        assert 'class="empty"' in answer.text


@pytest.mark.parametrize("path", [*PUBLIC, *FULL])
def test_a_page_of_a_full_store_is_well_formed(filled: WebState, client: FlaskClient, path: str) -> None:
    see(filled)
    answer = client.get(path)
    assert answer.status_code == 200
    Checker().check(answer.text)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", WITH_TABLES)
def test_what_a_table_shows_is_there_as_json_and_as_csv(filled: WebState, client: FlaskClient, path: str) -> None:
    see(filled)
    page = client.get(path).text
    value = client.get(path, query_string={"format": "json"}).get_json()
    names = re.findall(r"format=csv&amp;table=(\w+)", page)
    assert names, "a page with tables offers them as CSV"
    for name in names:
        answer = client.get(path, query_string={"format": "csv", "table": name})
        assert answer.mimetype == "text/csv"
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert len(rows) == len(value[name])
        for row, twin in zip(rows, value[name], strict=True):
            assert {key: _text(each) for key, each in twin.items()} == row


def _text(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(("=", "+", "-", "@")) else text


@pytest.mark.parametrize("path", ["/jobs/1", "/", "/plans/4", "/workloads/etl-night"])
def test_beside_every_chart_is_the_table_that_says_the_same(filled: WebState, client: FlaskClient, path: str) -> None:
    see(filled)
    page = client.get(path).text
    charts = re.findall(r'data-figure="([\w-]+)"', page)
    assert charts
    for chart in charts:
        figure = json.loads(re.search(rf'id="{chart}">(.*?)</script>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
        assert figure["data"], chart
        assert "<b>" not in json.dumps(figure), "markup in a figure becomes an inline style"
    assert page.count('class="beside"') >= len(charts) - 1


def test_a_format_or_a_table_that_is_not_there_is_refused(client: FlaskClient) -> None:
    for query in ({"format": "xml"}, {"format": "csv", "table": "nope"}):
        answer = client.get("/jobs", query_string=query)
        assert answer.status_code == 400
    assert client.get("/jobs?format=csv&table=nope").get_json()["error"]["hint"] == "it has jobs"


@pytest.mark.parametrize("path", MISSING)
def test_what_is_not_there_is_404_with_a_sentence(filled: WebState, client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "there is no" in answer.text or "there is nothing" in answer.text
    joint = "&" if "?" in path else "?"
    assert client.get(f"{path}{joint}format=json").get_json()["ok"] is False


@pytest.mark.parametrize("query", ["page=0", "page=x", "sort=evil", "page=99999999999999999999999", "q=%00"])
def test_a_query_that_cannot_be_meant_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/jobs?{query}").status_code == 400


def test_a_fault_of_ours_shows_a_number_and_no_traceback(
    state: WebState, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(state.store.statistics, "jobs", broken)
    answer = client.get("/jobs")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    number = re.search(r"number ([0-9a-f]{8})", answer.text)
    assert number is not None
    assert number.group(1) in caplog.text
    assert "secret detail" in caplog.text


def test_names_from_outside_are_text_and_never_markup(filled: WebState, client: FlaskClient) -> None:
    filled.store.jobs.rename(1, "<script>alert(1)</script>")
    for path in ("/", "/jobs", "/jobs/1", "/runs/1"):
        assert "<script>alert" not in client.get(path).text


def test_the_list_of_jobs_is_searched_sorted_and_paged(filled: WebState, client: FlaskClient) -> None:
    def names(query: str) -> list[str]:
        return [row["name"] for row in client.get(f"/jobs?format=json&{query}").get_json()["jobs"]]

    assert names("sort=name") == sorted(names("sort=id"))
    assert sorted(names("q=INGEST")) == ["compaction", "feature-export", "ingest-clicks", "ingest-orders"]
    assert names("q=%25") == [], "a percent sign is text, no wildcard"
    assert names("sort=runs")[0] == "daily-report"
    assert names("page=2") == []


def test_savings_are_of_the_default_and_in_money(filled: WebState, client: FlaskClient) -> None:
    job = client.get("/jobs/1?format=json").get_json()
    runs = {run["id"]: run for run in job["runs"]}
    default = next(run for run in runs.values() if run["kind"].startswith("default"))
    production = [run["gib_s"] for run in runs.values() if run["kind"] == "production"]
    realised = default["gib_s"] * len(production) - sum(production)
    assert job["saving"]["realised_gib_s"] == pytest.approx(realised)
    assert job["saving"]["realised_money"] == pytest.approx(realised / 3600 * 0.004)
    assert job["saving"]["change"] == pytest.approx(runs[job["best_run_id"]]["gib_s"] / default["gib_s"] - 1)


def test_the_best_configuration_is_ready_to_be_pasted(filled: WebState, client: FlaskClient) -> None:
    job = client.get("/jobs/1?format=json").get_json()
    best = filled.store.runs.get(job["best_run_id"])
    assert best is not None
    for line in job["configuration"] if isinstance(job["configuration"][0], str) else []:
        name, _, value = line.removeprefix("--conf ").partition("=")
        assert best.configuration[name] == value
    page = client.get("/jobs/1").text
    assert 'data-copy="best-conf"' in page
    assert "--conf spark.executor.memory=" in page
    assert "execution and storage used" in page, "the reason is what was measured"


def test_a_search_under_way_is_shown_as_it_goes_on(filled: WebState, client: FlaskClient) -> None:
    page = client.get("/jobs/4").text
    assert 'hx-get="/studies/4/progress"' in page
    fragment = client.get("/studies/4/progress").text
    assert "5 of 10 runs done" in fragment
    assert "application_1795990000000_0042" in fragment


def test_importance_is_said_only_where_it_can_be_told(filled: WebState, client: FlaskClient) -> None:
    rows = client.get("/jobs/1/importance?format=json").get_json()["importance"]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert {row["property"] for row in rows} <= set(DEFAULT)
    assert "Too few different runs" in client.get("/jobs/8/importance").text


def test_a_workload_is_held_against_itself_reduced(client: FlaskClient) -> None:
    def get(query: str) -> Any:
        return client.get(f"/workloads/etl-night?format=json{query}").get_json()

    plain = get("")
    assert "replication_error" not in plain
    tasks, time_, coarse = get("&factor=4&by=tasks"), get("&factor=4&by=time"), get("&factor=40&by=tasks")
    assert tasks["reduced_tasks"] == pytest.approx(plain["tasks"] / 4, abs=1)
    assert time_["reduced_tasks"] == plain["tasks"]
    assert time_["reduced_span_s"] == pytest.approx(plain["span_s"] / 4)
    assert time_["replication_error"] < 1e-6, "in time it is the same, but faster"
    assert 0 < tasks["replication_error"] < coarse["replication_error"], "the fewer are kept the less they are alike"
    rows = tasks["reduction"]
    assert sum(row["tasks"] for row in rows) == plain["tasks"]
    assert sum(row["reduced_tasks"] for row in rows) == tasks["reduced_tasks"] * 4
    memory = [sum(row[key] for row in rows) for key in ("memory_mib", "reduced_memory_mib")]
    assert memory[1] == pytest.approx(memory[0], rel=0.1), "scaled up again it asks for as much"
    assert [row["memory_mib"] for row in time_["reduction"]] == pytest.approx(
        [row["reduced_memory_mib"] for row in time_["reduction"]]
    )
    assert plain["over_time"][0]["memory_mib"] == rows[0]["memory_mib"], "of a sample no wait is known"
    errors = {row["what"]: row["error"] for row in tasks["replication_error_by"]}
    assert errors.pop("mean of the four") == tasks["replication_error"] == pytest.approx(sum(errors.values()) / 4)
    page = client.get("/workloads/etl-night?factor=4&by=tasks").text
    assert 'data-figure="reduced-arrivals-chart-data"' in page
    Checker().check(page)


@pytest.mark.parametrize(
    ("query", "status"), [("factor=0.5", 400), ("factor=x", 400), ("factor=nan", 400), ("by=space", 400)]
)
def test_a_factor_that_cannot_be_meant_is_refused(client: FlaskClient, query: str, status: int) -> None:
    assert client.get(f"/workloads/steady-hour?{query}").status_code == status


def test_a_factor_that_may_leave_no_task_is_never_a_fault(client: FlaskClient) -> None:
    answer = client.get("/workloads/steady-hour?factor=10000&by=tasks")
    assert answer.status_code in (200, 400)
    assert answer.status_code == 200 or "none is left" in answer.text


def test_queues_say_who_waits_and_why(state: WebState, client: FlaskClient) -> None:
    see(state)
    value = client.get("/queues?format=json").get_json()
    assert [row["queue"] for row in value["queues"]] == [
        "root",
        "root.prod",
        "root.prod.etl",
        "root.prod.ingest",
        "root.ds",
        "root.adhoc",
    ]
    assert {row["rule"] for row in value["waiting"]} == {"am-limit"}
    page = client.get("/queues").text
    assert "over its guarantee" in page, "what a colour says is said in words, too"
    assert "maximum-am-resource-percent: 0.1 → 0.12" in page


def test_a_cluster_that_has_gone_is_stale_with_the_time_of_what_is_shown(state: WebState, client: FlaskClient) -> None:
    see(state)

    def gone(_: object) -> None:
        raise YarnError("the ResourceManager does not answer", "start it")

    state.cluster._read = gone  # type: ignore[assignment]
    state.cluster.refresh()
    page = client.get("/queues").text
    assert "Stale:" in page
    assert "the ResourceManager does not answer" in page
    assert "root.prod.ingest" in page, "what was seen last is still shown"
    assert client.get("/queues?format=json").get_json()["stale"] is True


def test_without_a_cluster_the_page_says_what_to_do(
    state: WebState, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "YARNTUNE_RM_URL"):
        monkeypatch.delenv(name, raising=False)
    assert "Looking at the cluster" in client.get("/queues").text
    state.cluster.refresh()
    page = client.get("/queues").text
    assert "cannot be seen" in page
    assert "yarntune cluster up" in page


def test_a_plan_shows_its_diff_its_findings_and_what_it_should_bring(filled: WebState, client: FlaskClient) -> None:
    page = client.get("/plans/4").text
    assert "1 to add, 2 to change, 0 to remove." in page
    assert "user-limit-factor" in page
    value = client.get("/plans/4?format=json").get_json()
    assert value["effects"][0]["change"] == pytest.approx(301 / 412 - 1)
    assert "yarntune scheduler apply 4" in page, "who may not apply it here is told how"


def test_secrets_are_not_on_the_page_of_settings(app: Flask, admin: Person, state: WebState) -> None:
    page = admin.client.get("/settings").text
    assert admin.token not in page
    assert state.config.secret_key.decode() not in page
    assert Role.ADMIN in admin.client.get("/tokens").text
    assert admin.token not in admin.client.get("/tokens").text
    assert admin.record.digest not in admin.client.get("/tokens").text


def test_a_cell_that_looks_like_a_formula_is_text_in_csv(filled: WebState, client: FlaskClient) -> None:
    filled.store.jobs.rename(1, "=HYPERLINK(1)")
    assert "'=HYPERLINK(1)" in client.get("/jobs?format=csv").text


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Checker(HTMLParser):
    """Every element is closed, every id there once, every label has its field, nothing is inline or from elsewhere."""

    def check(self, text: str) -> None:
        self.open: list[str] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids)), sorted(self.ids)
        assert set(self.labels) <= set(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if given.get("for"):
            self.labels.append(str(given["for"]))
        assert "style" not in given, self.get_starttag_text()
        assert not any(name.startswith("on") for name in given), self.get_starttag_text()
        if tag == "script":
            assert given.get("src") or given.get("type") == "application/json"
        for name in ("src", "href", "action", "hx-get"):
            assert not str(given.get(name) or "").startswith(("http:", "https:", "//")), self.get_starttag_text()
        assert tag != "style"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag
