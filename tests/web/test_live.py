"""The dashboard in a real Chromium on a real YARN: tunes a job, applies a plan and takes it back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser
from werkzeug.serving import make_server

import workloads.programs
from rules.lifecycle.context import open_context
from rules.lifecycle.propose import make_plan, record_plan
from tests.web.browsing import Visit
from tuner.settings import Settings
from tuner.store import Role
from web.app import create_app
from web.config import WebConfig
from web.state import WebState
from web.tokens import create_token
from workloads.cluster.shell import environment
from workloads.cluster.spec import RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

PROGRAMS = Path(workloads.programs.__file__).parent
PATIENCE_MS = 600_000.0


@pytest.fixture
def live(
    yarn_cluster: RunningCluster, cluster_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Flask]:
    """A server on the shared cluster, over a store of its own."""
    for name, value in environment(yarn_cluster).items():
        monkeypatch.setenv(name, value)
    settings = replace(
        cluster_settings,
        data_dir=tmp_path / "data",
        database_url=f"sqlite:///{tmp_path / 'data' / 'yarntune.db'}",
        rm_url=None,
        web_programs=(PROGRAMS,),
    )
    app = create_app(WebConfig(settings=settings, secret_key=b"k" * 32))
    yield app
    app.extensions["yarntune"].close()


@pytest.fixture
def window(live: Flask, chromium: Browser) -> Iterator[Visit]:
    """An operator who has logged in."""
    state = live.extensions["yarntune"]
    token, _ = create_token(state.store, name="ann", role=Role.OPERATOR, by="test", now=time.time())
    server = make_server("127.0.0.1", 0, live, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    visit = Visit(chromium, f"http://127.0.0.1:{server.server_port}")
    visit.log_in(token)
    yield visit
    visit.close()
    server.shutdown()
    thread.join()
    server.server_close()
    assert visit.noted == []


def test_a_job_is_tuned_and_seen_to_progress(live: Flask, window: Visit) -> None:
    page = window.page
    window.goto("/tunings/new")
    page.fill("#program", str(PROGRAMS / "word_count.py"))
    page.fill("#arguments", "--size tiny")
    page.fill("#trials", "2")
    page.fill("#why", "the test wants to see it")
    page.click("button.primary:has-text('Start')")
    page.wait_for_selector("#tuning a:has-text('search')", timeout=PATIENCE_MS)
    page.click("#tuning a:has-text('search')")
    page.wait_for_selector("text=/0 of 2 runs done|1 of 2 runs done/", timeout=PATIENCE_MS)
    page.wait_for_selector("a.button:has-text('Show the result')", timeout=PATIENCE_MS)
    page.click("a.button:has-text('Show the result')")
    page.wait_for_load_state("networkidle")
    assert page.locator("#t-runs").count() == 1
    state = live.extensions["yarntune"]
    assert isinstance(state, WebState)
    (study,) = state.store.studies.list()
    runs = state.store.runs.list(study_id=study.id)
    assert [run.state.value for run in runs] == ["SUCCEEDED", "SUCCEEDED"]
    assert page.locator("#t-pareto ~ .scroll tbody tr, section.table:has(#t-pareto) tbody tr").count() == 2
    assert state.tunings.get(1).status == 0


def test_a_plan_is_applied_and_taken_back(live: Flask, window: Visit) -> None:
    state, page = live.extensions["yarntune"], window.page
    assert isinstance(state, WebState)
    object.__setattr__(state.plan_changes, "_watch_s", 3.0)
    name = "yarn.scheduler.capacity.root.default.maximum-am-resource-percent"
    with open_context(state.config.settings) as context:
        before = context.back_end.read().properties.get(name)
        plan_id = record_plan(context, make_plan(context, changes={name: "0.77"}, reasons=("a test",)))
    window.goto(f"/plans/{plan_id}")
    assert "0.77" in page.locator(".diff").first.inner_text()
    page.fill("#why", "more masters")
    page.click(f"button:has-text('Apply plan {plan_id}')")
    page.wait_for_selector(".badge:has-text('APPLIED')", timeout=PATIENCE_MS)
    with open_context(state.config.settings) as context:
        assert context.back_end.read().properties[name] == "0.77"
    page.click("a:has-text('Take it back')")
    page.fill("#why", "enough")
    page.fill("#confirm", f"rollback {plan_id}")
    page.click(f"button:has-text('Take back plan {plan_id}')")
    page.wait_for_selector(".badge:has-text('ROLLED_BACK')", timeout=PATIENCE_MS)
    with open_context(state.config.settings) as context:
        assert context.back_end.read().properties.get(name) == before
    whys = [row.detail.get("why") for row in state.store.audit.list(subject=f"plan {plan_id}") if row.who == "ann"]
    assert {"more masters", "enough"} <= set(whys)
    window.goto("/queues")
    page.wait_for_selector(".tree", timeout=PATIENCE_MS)
    assert "default" in page.locator(".tree").inner_text()


def test_the_live_cluster_can_be_asked_what_if(live: Flask) -> None:
    client, state = live.test_client(), live.extensions["yarntune"]
    state.cluster.refresh()
    assert state.estimator.explain() == (), "nothing waits on an idle cluster"
    value = client.get("/what-if?case=live&format=json").get_json()
    assert value["case"] == "live"
    assert value["nodes"] == 2
    assert any(row["property"] == "yarn.scheduler.capacity.root.queues" for row in value["properties"])
