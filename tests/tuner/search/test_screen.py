"""Which further properties a search takes up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tuner.search.simulated import LIMITS, MEMORY, SimulatedJob, space
from tuner.search.proposal import propose
from tuner.search.screen import MOST_ADMITTED, SCREENED, screen
from tuner.search.space import Dimension, SearchSpace
from tuner.spark.metrics import RunMetrics
from tuner.spark.params import PARAMS

GIB = 1024**3
CODEC = "spark.io.compression.codec"
NOTHING = RunMetrics.from_json(
    {
        "state": "complete", "tasks": 100, "task_s": 400.0, "executor_run_s": 390.0, "fetch_wait_s": 0.0, "stages": 4,
        "input_bytes": 0, "shuffle_read_bytes": 0, "shuffle_write_bytes": 0, "disk_spill_bytes": 0,
    }
)  # fmt: skip
"""A run of 100 tasks of 4 s that neither reads, shuffles nor spills."""


def admitted(metrics: RunMetrics, names: object = None) -> list[str]:
    return [each.name for each in screen(metrics, SCREENED if names is None else names)]  # type: ignore[arg-type]


def test_a_run_without_evidence_takes_up_nothing() -> None:
    assert admitted(NOTHING) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (CODEC, {"shuffle_write_bytes": 2 * GIB, "shuffle_read_bytes": 2 * GIB}),
        ("spark.reducer.maxSizeInFlight", {"fetch_wait_s": 40.0}),
        ("spark.memory.storageFraction", {"disk_spill_bytes": GIB, "cached_bytes": GIB}),
        ("spark.sql.adaptive.coalescePartitions.parallelismFirst",
         {"tasks": 4000, "executor_run_s": 200.0, "shuffle_read_bytes": GIB // 64}),
        ("spark.sql.files.maxPartitionBytes", {"input_bytes": 4 * GIB}),
    ],
)  # fmt: skip
def test_each_property_has_its_evidence(name: str, change: dict[str, float]) -> None:
    (found,) = screen(replace(NOTHING, **change), SCREENED)  # type: ignore[arg-type]
    assert found.name == name
    assert 0.03 <= found.share <= 1.0
    assert any(character.isdigit() for character in found.reason), "a reason names a figure"


def test_what_is_not_in_the_space_is_left_alone_however_much_speaks_for_it() -> None:
    much = replace(NOTHING, shuffle_write_bytes=50 * GIB, fetch_wait_s=100.0)
    assert admitted(much, {"spark.reducer.maxSizeInFlight"}) == ["spark.reducer.maxSizeInFlight"]


def test_the_largest_shares_are_taken_and_no_more_than_a_few() -> None:
    everything = replace(
        NOTHING, shuffle_write_bytes=3 * GIB, shuffle_read_bytes=GIB // 2, fetch_wait_s=100.0, disk_spill_bytes=GIB,
        cached_bytes=GIB, tasks=4000, executor_run_s=200.0, input_bytes=9 * GIB,
    )  # fmt: skip
    found = screen(everything, SCREENED)
    assert len(found) == MOST_ADMITTED
    assert [each.share for each in found] == sorted((each.share for each in found), reverse=True)


def test_every_screened_property_may_be_tuned_and_is_not_searched_anyway() -> None:
    for name in SCREENED:
        assert PARAMS[name].tuned
        assert not PARAMS[name].core


def test_a_fixed_property_keeps_its_default_until_it_is_taken_up() -> None:
    codec = Dimension.on(PARAMS[CODEC], LIMITS, "lz4")
    wide = SearchSpace((*space().dimensions, codec))
    job = SimulatedJob(noise=0.0, seed=1)
    seen = [job.run({**wide.render(wide.point_of({})), CODEC: value}) for value in ("lz4", "zstd")]
    for fixed, values in ((frozenset({CODEC}), {"lz4"}), (frozenset(), {"lz4", "lzf", "snappy", "zstd"})):
        proposed = [propose(wide, seen, MEMORY, slack=0.05, seed=seed, fixed=fixed) for seed in range(8)]
        found = {each.point[CODEC] for each in proposed if each is not None}
        assert found <= values
        assert len(found) > 1 or fixed


def test_the_documentation_has_each_screened_property_with_what_is_tried_first() -> None:
    text = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text()
    for name, (value, _) in SCREENED.items():
        assert f"| `{name}` | `{value}` |" in text
