from __future__ import annotations

from dataclasses import replace

from tests.tuner.search.simulated import MEMORY, space
from tuner.model.container import executor_request
from tuner.search.start import start_proposals


def conf(instances: int, cores: int, heap: str, overhead: str = "384m") -> dict[str, str]:
    return {
        "spark.executor.instances": str(instances),
        "spark.executor.cores": str(cores),
        "spark.executor.memory": heap,
        "spark.executor.memoryOverhead": overhead,
    }


def test_reserved_memory_is_what_yarn_grants_with_the_application_master() -> None:
    # 1024 + 384 is granted as 2048; the AM's 512 + 384 as 1024.
    assert MEMORY.reserved_mib(conf(2, 1, "1024m")) == 2 * 2048 + 1024
    assert MEMORY.reserved_mib(conf(2, 1, "640m")) == 2 * 1024 + 1024


def test_what_can_never_run_side_by_side_has_no_reservation() -> None:
    assert MEMORY.reserved_mib(conf(1, 1, "8192m")) is None, "larger than the largest container"
    assert MEMORY.reserved_mib(conf(16, 1, "640m")) is None, "the AM needs one of the 16 vcores"
    assert MEMORY.reserved_mib(conf(15, 1, "640m")) == 16 * 1024
    assert MEMORY.reserved_mib(conf(3, 8, "640m")) is None, "two nodes of 8 vcores hold no three of 8"


def test_the_heap_takes_what_rounding_would_waste() -> None:
    filled = MEMORY.filled(conf(2, 1, "700m"))
    assert filled["spark.executor.memory"] == f"{2048 - 384}m"
    request = executor_request(filled, python=False)
    assert request.memory_mib == 2048


def test_a_pinned_heap_is_never_touched() -> None:
    pinned = replace(MEMORY, base={"spark.executor.memory": "700m"}, pinned=frozenset({"spark.executor.memory"}))
    filled = pinned.filled({"spark.executor.memoryOverhead": "384m"})
    assert filled == {"spark.executor.memoryOverhead": f"{1024 - 700}m"} or filled == {
        "spark.executor.memoryOverhead": f"{2048 - 700}m"
    }
    assert "spark.executor.memory" not in filled
    both = replace(
        MEMORY,
        base={"spark.executor.memory": "700m", "spark.executor.memoryOverhead": "400m"},
        pinned=frozenset({"spark.executor.memory", "spark.executor.memoryOverhead"}),
    )
    assert both.filled({"spark.executor.cores": "2"}) == {"spark.executor.cores": "2"}


def test_the_first_proposals_can_be_granted_and_differ_from_the_default() -> None:
    whole = space()
    default = whole.render(whole.point_of({}))
    proposals = start_proposals(whole, MEMORY.limits, default)
    points = [whole.point_of(MEMORY.filled(whole.render(p.point))) for p in proposals]
    assert [MEMORY.reserved_mib(whole.render(point)) for point in points] == [3072, 5120, 2048]
    assert whole.point_of(default) not in points
