"""Jobs that are alike, and what their best configurations are worth."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tuner.search.simulated import MEMORY, space
from tuner.search.transfer import PastJob, neighbours, warm_proposals

SPACE = space()
DEFAULT = SPACE.render(SPACE.point_of({}))
SORT = {
    "tasks": 400, "stages": 3, "jobs": 2, "task_s": 900.0, "skew": 1.4,
    "cpu_s": 600.0, "gc_share": 0.03, "peak_unified_mib": 700, "peak_rss_mib": 1500, "driver_s": 9.0,
    "input_bytes": 30e9, "output_bytes": 30e9, "shuffle_read_bytes": 28e9, "shuffle_write_bytes": 28e9,
    "disk_spill_bytes": 0,
}  # fmt: skip
RANK = {**SORT, "tasks": 9000, "stages": 60, "jobs": 31, "task_s": 9000.0, "input_bytes": 1e9, "output_bytes": 1e6,
        "shuffle_read_bytes": 3e11, "shuffle_write_bytes": 3e11, "cpu_s": 8000.0}  # fmt: skip
BEST = {"spark.executor.instances": "3", "spark.executor.cores": "2", "spark.executor.memory": "1664m", "spark.x": "y"}


def grown(metrics: dict[str, float], factor: float) -> dict[str, float]:
    return {name: value * factor if value > 10 else value for name, value in metrics.items()}


def test_the_same_kind_of_job_of_another_size_is_the_nearest() -> None:
    past = [PastJob("rank", RANK, {}), PastJob("sort", grown(SORT, 1.6), BEST)]
    found = neighbours(SORT, past)
    assert found[0].job.name == "sort"
    assert found[0].views == ("stages", "resources", "data")


def test_a_job_that_is_alike_in_one_view_only_is_no_neighbour() -> None:
    odd = {**RANK, **{name: SORT[name] for name in ("tasks", "stages", "jobs", "task_s", "skew")}, "cpu_s": 1e6,
           "driver_s": 1e5, "peak_rss_mib": 90000}  # fmt: skip
    assert neighbours(SORT, [PastJob("odd", odd, {})]) == []


def test_what_is_not_known_is_no_likeness() -> None:
    assert neighbours(SORT, [PastJob("dark", dict.fromkeys(SORT), {})]) == []
    assert neighbours({}, [PastJob("sort", SORT, {})]) == []
    assert neighbours(SORT, []) == []


@given(st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6))
def test_the_order_of_the_past_does_not_matter(factors: list[float]) -> None:
    past = [PastJob(str(i), grown(SORT, factor), {}) for i, factor in enumerate(factors)]
    names = {each.job.name for each in neighbours(SORT, past, most=len(past))}
    assert names == {each.job.name for each in neighbours(SORT, past[::-1], most=len(past))}


def test_a_neighbours_best_is_put_into_this_space_and_cluster() -> None:
    huge = {**BEST, "spark.executor.instances": "15", "spark.executor.memory": "7000m", "spark.executor.cores": "8"}
    past = [PastJob("sort", SORT, BEST), PastJob("twin", SORT, BEST), PastJob("huge", SORT, huge),
            PastJob("own", SORT, {})]  # fmt: skip
    (proposal,) = warm_proposals(SPACE, MEMORY, neighbours(SORT, past, most=4), DEFAULT)
    assert proposal.point["spark.executor.instances"] == 3
    configuration = SPACE.render(proposal.point)
    assert MEMORY.filled(configuration) == configuration, "no size that YARN would round up"
    assert proposal.reason == "best for sort, which is alike in stages and resources and data"
