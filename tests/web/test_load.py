"""The load over time, which the store's samples carry over a server's restart."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.web.cluster import reading
from tuner.settings import Settings
from tuner.store import open_store
from tuner.store.history_records import Collection, QueueSample
from web.app import create_app
from web.config import WebConfig
from web.live import LoadSample
from web.queries.load import load_chart

CLUSTER = "rm.example.com:8088"
HOUR = 3600.0


@pytest.fixture
def named(settings: Settings) -> Settings:
    """Settings that name a cluster, of which the store has samples."""
    now = time.time()
    found = replace(settings, rm_url=f"http://{CLUSTER}")
    with open_store(found) as store:
        for cluster, age_s, used_mib in (
            (CLUSTER, 30 * HOUR, 1024),
            (CLUSTER, 3 * HOUR, 2048),
            (CLUSTER, 2.75 * HOUR, 4096),
            ("other:8088", HOUR, 8192),
        ):
            at = now - age_s
            queues = [
                QueueSample(
                    cluster=cluster, at=at, queue=queue, used_mib=used, used_vcores=1, running_applications=2,
                    pending_applications=1, guaranteed_mib=16384,
                )
                for queue, used in (("root", used_mib), ("root.a", 512))
            ]  # fmt: skip
            made = Collection(cluster=cluster, at=at, rm_started_at=now, new_applications=0, open_applications=0)
            store.history.record(made, (), queues)
    return found


def test_the_load_of_before_is_there_after_a_restart(named: Settings) -> None:
    app = create_app(WebConfig(settings=named, secret_key=b"k" * 32, background=False))
    state = app.extensions["yarntune"]
    try:
        state.cluster._read = lambda _: reading(time.time())
        state.cluster.refresh()
        rows = app.test_client().get("/?format=json").get_json()["load_over_time"]
        page = app.test_client().get("/").text
    finally:
        state.close()
    assert [(row["used_mib"], row["total_mib"], row["running"]) for row in rows] == [
        (241090, 262144, 11),
        (4096, 16384, 2),
        (2048, 16384, 2),
    ], "of this cluster's root in the last day, newest first, and then what is seen now"
    assert "at most 235.4 GiB were in these 3 hours" in page


def test_where_no_cluster_is_named_there_is_nothing_before(named: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "YARNTUNE_RM_URL"):
        monkeypatch.delenv(name, raising=False)
    app = create_app(WebConfig(settings=replace(named, rm_url=None), secret_key=b"k" * 32, background=False))
    try:
        assert app.extensions["yarntune"].cluster.samples() == ()
    finally:
        app.extensions["yarntune"].close()


def test_nothing_is_drawn_where_nothing_was_seen() -> None:
    samples = [LoadSample(at, 2048, None, None, None, None) for at in (0.0, 900.0, 9000.0)]
    used, total = load_chart(samples).traces
    assert used["x"] == [0, 900_000, 901_000, 9_000_000]
    assert used["y"] == [2.0, 2.0, None, 2.0]
    assert total["y"] == [None, None, None, None]
