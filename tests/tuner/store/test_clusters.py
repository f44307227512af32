"""Leases and freeze switches, on both kinds of database."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys

from tests.tuner.store.conftest import NOW
from tuner.settings import Settings
from tuner.store import ClusterFreeze, Store, open_store

CLUSTER = "rm1:8088"


def take(settings: Settings, start: object, results: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    with open_store(settings) as store:
        held = store.clusters.acquire(CLUSTER, "test", now=NOW, ttl_s=60.0)
        results.put(held is None)  # type: ignore[attr-defined]
        start.wait()  # type: ignore[attr-defined]


def test_of_many_processes_one_gets_the_first_lease(settings: Settings) -> None:
    open_store(settings).close()
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    processes = [context.Process(target=take, args=(settings, barrier, results)) for _ in range(4)]
    for process in processes:
        process.start()
    got = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert sorted(got) == [False, False, False, True]


def test_a_lease_is_kept_from_others_and_given_back(store: Store) -> None:
    assert store.clusters.acquire(CLUSTER, "apply plan 3", now=NOW, ttl_s=60.0) is None
    assert store.clusters.acquire("rm2:8088", "apply plan 4", now=NOW, ttl_s=60.0) is None
    held = store.clusters.acquire(CLUSTER, "apply plan 5", now=NOW + 1, ttl_s=60.0)
    assert held is not None
    assert (held.purpose, held.expires_at) == ("apply plan 3", NOW + 60.0)
    assert store.clusters.renew(CLUSTER, now=NOW + 50, ttl_s=60.0)
    assert store.clusters.acquire(CLUSTER, "apply plan 5", now=NOW + 70, ttl_s=60.0) is not None
    store.clusters.release(CLUSTER)
    assert store.clusters.acquire(CLUSTER, "apply plan 5", now=NOW + 2, ttl_s=60.0) is None


def test_an_expired_lease_is_free(store: Store) -> None:
    assert store.clusters.acquire(CLUSTER, "one", now=NOW, ttl_s=60.0) is None
    assert store.clusters.acquire(CLUSTER, "two", now=NOW + 61, ttl_s=60.0) is None


def test_the_lease_of_a_process_that_is_gone_is_free_at_once(settings: Settings) -> None:
    program = (
        "import os, sys\n"
        "from tuner.settings import Settings\n"
        "from tuner.store import open_store\n"
        "store = open_store(Settings.from_environment())\n"
        f"assert store.clusters.acquire({CLUSTER!r}, 'dies', now={NOW}, ttl_s=1e6) is None\n"
        "os._exit(0)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, env={"YARNTUNE_DATABASE_URL": settings.database_url}
    )
    with open_store(settings) as store:
        left = store.clusters.lease(CLUSTER)
        assert left is not None
        assert left.purpose == "dies"
        assert not store.clusters.renew(CLUSTER, now=NOW, ttl_s=60.0), "it is not ours"
        assert store.clusters.acquire(CLUSTER, "next", now=NOW + 1, ttl_s=60.0) is None


def test_the_freeze_switch(store: Store) -> None:
    switch = ClusterFreeze(cluster=CLUSTER, at=NOW, who="ann", reason="end of the quarter")
    assert store.clusters.frozen(CLUSTER) is None
    assert store.clusters.freeze(switch)
    assert not store.clusters.freeze(ClusterFreeze(cluster=CLUSTER, at=NOW + 9, who="bob", reason="me too"))
    assert store.clusters.frozen(CLUSTER) == switch
    assert store.clusters.frozen("rm2:8088") is None
    assert store.clusters.unfreeze(CLUSTER)
    assert not store.clusters.unfreeze(CLUSTER)
    assert store.clusters.frozen(CLUSTER) is None
