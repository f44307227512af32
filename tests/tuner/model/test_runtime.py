"""What-if answers, on runs whose right answer can be worked out by hand, and on real logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.profile import profile_of
from tuner.model.runtime import Contention, RunProfile, StageProfile, WhatIf, corrected, fit_contention, predict
from tuner.spark.eventlog import read_log


def stage(durations: Sequence[float], after: tuple[int, ...] = (), gap_s: float = 0.0, **more: object) -> StageProfile:
    values: dict[str, object] = {"shuffle": False, "gc_share": 0.0, "fixed_s": 0.0} | more
    return StageProfile(np.array(durations, float), after, gap_s, **values)  # type: ignore[arg-type]


def run(*stages: StageProfile, **more: object) -> RunProfile:
    values: dict[str, object] = {
        "tail_s": 0.0,
        "executors": 2,
        "cores": 2,
        "task_cpus": 1,
        "heap_mib": 2048.0,
        "memory_fraction": 0.6,
        "peak_unified_mib": None,
        "partitions": None,
        "cold_s": 0.0,
        "observed_s": 100.0,
    } | more
    return RunProfile(stages, **values)  # type: ignore[arg-type]


def seconds(profile: RunProfile, executors: int = 2, cores: int = 2, **more: object) -> float:
    return predict(profile, WhatIf(executors, cores, **more)).run_s  # type: ignore[arg-type]


def test_tasks_run_in_waves() -> None:
    profile = run(stage([10.0] * 8, gap_s=5.0), tail_s=1.0)
    assert seconds(profile) == 5 + 2 * 10 + 1
    assert seconds(profile, executors=1) == 5 + 4 * 10 + 1
    assert seconds(profile, executors=100) == 5 + 10 + 1


def test_stages_that_do_not_wait_for_each_other_share_the_slots() -> None:
    profile = run(stage([10.0] * 2), stage([10.0] * 2), stage([3.0], after=(0, 1), gap_s=2.0))
    assert seconds(profile) == 10 + 2 + 3
    assert seconds(profile, executors=1) == 20 + 2 + 3


def test_the_driver_is_no_faster_with_more_executors() -> None:
    profile = run(stage([1.0], gap_s=30.0), stage([1.0], after=(0,), gap_s=30.0), tail_s=8.0)
    found = predict(profile, WhatIf(50, 8))
    assert (found.run_s, found.driver_s, found.task_s) == (70.0, 68.0, 2.0)


def test_a_slots_first_task_is_slower_and_only_that() -> None:
    profile = run(stage([10.0] * 8), cold_s=4.0)
    assert seconds(profile) == 24
    assert seconds(profile, executors=1) == 44, "half as many slots warm up half as often"


def test_another_number_of_partitions_divides_the_same_work() -> None:
    profile = run(stage([4.0] * 100, shuffle=True, fixed_s=0.5), partitions=100, executors=1, cores=1)
    assert seconds(profile, 1, 1, partitions=50) == pytest.approx(100 * 3.5 + 50 * 0.5)
    assert seconds(profile, 1, 1, partitions=200) == pytest.approx(100 * 3.5 + 200 * 0.5)
    assert seconds(profile, 1, 1) == pytest.approx(400)


def test_less_unified_memory_than_was_used_costs_time() -> None:
    profile = run(stage([10.0] * 4), peak_unified_mib=900.0, heap_mib=2348.0)
    enough = 300 + 900 / 0.6
    assert seconds(profile, heap_mib=enough) == pytest.approx(10)
    assert seconds(profile, heap_mib=300 + 450 / 0.6) == pytest.approx(15)
    assert seconds(profile, heap_mib=8192.0) == pytest.approx(10)


def test_garbage_collection_follows_the_free_heap() -> None:
    profile = run(stage([10.0] * 4, gc_share=0.2), heap_mib=2000.0)
    assert seconds(profile, heap_mib=4000.0) == pytest.approx(10 * (0.8 + 0.1))
    assert seconds(profile, heap_mib=1000.0) == pytest.approx(10 * (0.8 + 0.4))


def test_tasks_in_each_others_way_are_found_out_by_other_runs() -> None:
    profile = run(stage([10.0] * 32))
    truth = Contention(4.0)
    runs = [(WhatIf(n, 2), predict(profile, WhatIf(n, 2), truth).run_s) for n in (1, 2, 4, 8)]
    assert runs[3][1] == pytest.approx(runs[1][1]), "more slots bring nothing"
    assert fit_contention(profile, runs) == truth
    free = [(WhatIf(n, 2), predict(profile, WhatIf(n, 2)).run_s) for n in (1, 2, 4, 8)]
    assert fit_contention(profile, free) == Contention()


def test_executors_whose_start_is_in_the_way_are_found_out_by_other_runs() -> None:
    profile = run(stage([10.0] * 32), executors=2)
    assert predict(profile, WhatIf(2, 2), Contention(start_s=4.0)).run_s == pytest.approx(80), "as it was observed"
    assert predict(profile, WhatIf(4, 2), Contention(start_s=4.0)).run_s == pytest.approx(40 + 2 * 4)
    assert predict(profile, WhatIf(1, 2), Contention(start_s=4.0)).run_s == pytest.approx(160 - 4)
    assert predict(profile, WhatIf(1, 2), Contention(start_s=1e4)).run_s == pytest.approx(0.2 * 160), "never below 0"
    truth = Contention(4.0, 2.0)
    runs = [(WhatIf(n, c), predict(profile, WhatIf(n, c), truth).run_s) for n in (1, 2, 4, 8) for c in (1, 2)]
    found = fit_contention(profile, runs)
    assert found.tasks == truth.tasks
    assert found.start_s == pytest.approx(truth.start_s, rel=0.15)


def test_no_slot_is_an_error() -> None:
    with pytest.raises(ValueError, match="no slot"):
        predict(run(stage([1.0]), task_cpus=4), WhatIf(3, 2))


@given(
    st.lists(st.lists(st.floats(0.01, 50), min_size=1, max_size=30), min_size=1, max_size=5),
    st.integers(1, 8),
    st.integers(1, 4),
)
def test_time_is_between_the_work_and_the_longest_chain(works: list[list[float]], executors: int, cores: int) -> None:
    stages = [stage(work, after=(i - 1,) if i else (), gap_s=1.0) for i, work in enumerate(works)]
    found = seconds(run(*stages), executors, cores)
    chain = sum(max(work) + 1.0 for work in works)
    total = sum(sum(work) for work in works)
    assert chain - 1e-6 <= found <= total + len(works) + 1e-6
    assert found >= total / (executors * cores)


@pytest.mark.parametrize("name", ["nds_q72_dataproc_2_2.zstd", "eventlog_4nodes_8cores_dynamic_alloc.zstd"])
def test_a_real_run_predicts_itself_and_scales_sensibly(shared_data: Path, name: str) -> None:
    (path,) = (shared_data / "eventlogs").rglob(name)
    profile = profile_of(read_log(path))
    assert profile is not None
    raw = profile.observed_s / profile.correction
    assert raw == pytest.approx(profile.observed_s, rel=0.15), "the model's own error before it is corrected"
    assert corrected(profile).correction == pytest.approx(profile.correction)
    own = seconds(profile, profile.executors, profile.cores)
    assert own == pytest.approx(profile.observed_s)
    half, twice = (seconds(profile, max(1, int(profile.executors * f)), profile.cores) for f in (0.5, 2))
    assert twice <= own <= half
    assert half < 2.2 * own
