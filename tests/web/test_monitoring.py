"""Health, readiness and metrics, held against the store."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from tests.web.cluster import reading
from tuner.errors import StoreError, YarnError
from tuner.store import ApplicationRecord, Collection, RunKind
from tuner.store.schema import REVISIONS, VERSION_TABLE
from web.app import create_app
from web.config import WebConfig
from web.state import WebState

DASHBOARD = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "yarntune.json"


def scrape(client: FlaskClient) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """What Prometheus would take: name, labels, value."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=")
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in found.setdefault(sample.name, {}), f"{sample.name}{labels} is there twice"
            found[sample.name][labels] = sample.value
    return found


def labels(**values: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def test_the_totals_are_the_store_s(filled: WebState, client: FlaskClient) -> None:
    found = scrape(client)
    runs = filled.store.runs.list(limit=10_000)
    counted = Counter((run.kind.value, run.state.value) for run in runs)
    assert found["yarntune_runs"] == {labels(kind=kind, state=state): n for (kind, state), n in counted.items()}
    trials = Counter(run.state.value for run in runs if run.kind in (RunKind.DEFAULT, RunKind.TRIAL))
    assert found["yarntune_trials"] == {labels(state=state): n for state, n in trials.items()}
    plans = Counter(plan.state for plan in filled.store.plans.list(limit=1000))
    assert found["yarntune_plans"] == {labels(state=state): n for state, n in plans.items()}
    savings = filled.store.statistics.savings()
    assert savings
    assert found["yarntune_saved_gib_seconds"][()] == pytest.approx(sum(each.realised for each in savings) / 1024)
    assert found["yarntune_tuned_jobs"][()] == len(savings)
    assert found["yarntune_store_up"][()] == 1


def application(number: int, begin: float, latency_s: float, queue: str, status: str = "SUCCEEDED") -> Any:
    return ApplicationRecord(
        cluster="rm:8088", application_id=f"application_1_{number:04}", name="job", user="ann", queue=queue,
        type="SPARK", state="FINISHED", final_status=status, submitted_at=begin, finished_at=begin + latency_s,
        seen_at=begin + latency_s,
    )  # fmt: skip


def test_latencies_by_queue_are_those_of_the_last_day(filled: WebState, client: FlaskClient) -> None:
    now = time.time()
    rows = [application(i, now - 3600, 10.0 * (i + 1), "root.etl") for i in range(11)]
    rows.append(application(20, now - 3600, 1e6, "root.etl", "FAILED"))
    rows.append(application(21, now - 90_000, 5.0, "root.old"))
    filled.store.history.record(
        Collection(cluster="rm:8088", at=now, rm_started_at=1.0, new_applications=0, open_applications=0), rows, []
    )
    found = scrape(client)
    etl = {"cluster": "rm:8088", "queue": "root.etl"}
    assert found["yarntune_queue_latency_seconds"] == {
        labels(**etl, quantile="0.5"): pytest.approx(60.0),
        labels(**etl, quantile="0.95"): pytest.approx(105.0),
    }
    assert found["yarntune_queue_applications"] == {labels(**etl): 11}


def test_the_error_of_estimates_is_that_of_plans_that_can_be_measured(
    filled: WebState, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rules.daemon.accuracy import PlanOutcome, QueueOutcome

    def outcomes(*_: object, **__: object) -> tuple[PlanOutcome, ...]:
        errors = (150.0, 50.0, 110.0)
        return tuple(
            PlanOutcome(i, 1.0, "APPLIED", True, (QueueOutcome("all", predicted_s, 100.0, 5),))
            for i, predicted_s in enumerate(errors)
        )

    monkeypatch.setattr("web.metrics.judge_plans", outcomes)
    found = scrape(client)
    cluster = "rm.example.com:8088"
    assert found["yarntune_estimates_measured"] == {labels(cluster=cluster): 3}
    assert found["yarntune_estimate_error_ratio"] == {
        labels(cluster=cluster, statistic="median_absolute"): pytest.approx(0.5),
        labels(cluster=cluster, statistic="mean"): pytest.approx((0.5 - 0.5 + 0.1) / 3),
    }


def test_errors_of_the_resource_manager_are_counted(
    state: WebState, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise YarnError("no answer")

    monkeypatch.setattr(state.cluster, "_read", fails)
    state.cluster.refresh()
    monkeypatch.setattr(state.cluster, "_read", lambda _: reading(time.time()))
    state.cluster.refresh()
    found = scrape(client)
    assert found["yarntune_rm_looks_total"][()] == 2
    assert found["yarntune_rm_errors_total"][()] == 1
    assert found["yarntune_cluster_memory_bytes"][()] == 262144 * 1024**2


def test_a_store_that_fails_is_told_and_not_a_fault(
    filled: WebState, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> int:
        raise StoreError("the store is gone")

    monkeypatch.setattr(filled.store.jobs, "count", fails)
    found = scrape(client)
    assert found["yarntune_store_up"][()] == 0
    assert "yarntune_runs" not in found
    assert "yarntune_rm_looks_total" in found


def test_health_and_readiness(filled: WebState, client: FlaskClient) -> None:
    assert client.get("/health").json == {"ok": True}
    assert client.get("/ready").json == {"ok": True}


def test_an_older_schema_is_not_ready_and_still_alive(filled: WebState, client: FlaskClient) -> None:
    path = filled.config.settings.data_dir / "yarntune.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE {VERSION_TABLE} SET version_num = '{REVISIONS[0]}'")
        database.commit()
    answer = client.get("/ready", headers={"Accept": "application/json"})
    assert answer.status_code == 503
    assert "schema" in answer.json["error"]["message"]
    assert str(path) not in answer.text
    assert client.get("/health").status_code == 200


def test_where_reading_needs_a_token_metrics_do_and_health_does_not(config: WebConfig) -> None:
    app = create_app(replace(config, anonymous_reads=False, host="0.0.0.0"))
    try:
        client = app.test_client()
        json_only = {"Accept": "application/json"}
        assert client.get("/metrics", headers=json_only).status_code == 401
        assert client.get("/health").status_code == 200
        assert client.get("/ready").status_code == 200
    finally:
        app.extensions["yarntune"].close()


def test_the_grafana_dashboard_asks_for_what_there_is(filled: WebState, client: FlaskClient) -> None:
    filled.cluster._read = lambda _: reading(time.time())
    filled.cluster.refresh()
    text = client.get("/metrics").text
    there = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) | {"yarntune_webhooks_total"}
    there |= {name.removesuffix("_total") for name in there}
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert expressions
    asked = {name for expression in expressions for name in re.findall(r"\byarntune_\w+", expression)}
    assert {name.removesuffix("_total") for name in asked} <= there
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
