"""What earlier searches say about the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tuner.model.limits import ClusterLimits
from tuner.model.runtime import Contention
from tuner.services.past import known_contention
from tuner.settings import Settings
from tuner.store import Store, open_store

LIMITS = ClusterLimits(6144, 1024, 1024, 4, 12288, 8, 2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    settings = Settings.from_environment({"HOME": str(tmp_path), "YARNTUNE_DATA_DIR": str(tmp_path / "data")})
    with open_store(settings) as opened:
        yield opened


def learnt(store: Store, key: str, contention: Contention | None, limits: ClusterLimits, at: float) -> None:
    known = None if contention is None else contention.to_json()
    store.advice.put(key, {"contention": known, "limits": asdict(limits)}, now=at)


def test_the_newest_search_on_such_nodes_counts(store: Store) -> None:
    assert known_contention(store, LIMITS) == Contention()
    learnt(store, "old", Contention(4.0, 5.0), LIMITS, 1.0)
    learnt(store, "new", Contention(start_s=3.0), LIMITS, 2.0)
    learnt(store, "without a log", None, LIMITS, 3.0)
    store.advice.put("by an earlier version", {"limits": asdict(LIMITS)}, now=4.0)
    assert known_contention(store, LIMITS) == Contention(start_s=3.0)
    store.advice.put("new", {"contention": None, "limits": None}, now=5.0)
    assert known_contention(store, LIMITS) == Contention(4.0, 5.0)


def test_nodes_of_another_size_say_nothing(store: Store) -> None:
    twice = replace(LIMITS, nodes=4, total_memory_mib=24576, total_vcores=16)
    learnt(store, "twice as many nodes", Contention(start_s=2.0), twice, 1.0)
    learnt(store, "larger nodes", Contention(start_s=9.0), replace(LIMITS, total_memory_mib=65536), 2.0)
    learnt(store, "more cores", Contention(start_s=8.0), replace(LIMITS, total_vcores=16), 3.0)
    assert known_contention(store, LIMITS) == Contention(start_s=2.0)
