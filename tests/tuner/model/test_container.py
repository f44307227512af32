from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.model.container import (
    ContainerGrant,
    ContainerRequest,
    Refusal,
    Reservation,
    am_request,
    executor_request,
    executors_that_fit,
    grant,
    reservation,
    without_waste,
)
from tuner.model.limits import ClusterLimits
from tuner.model.memory import heap_for_unified_mib, largest_heap_mib, overhead_mib, unified_memory_mib


def limits(
    *,
    largest: int = 8192,
    minimum: int = 1024,
    increment: int = 1024,
    vcores: int = 4,
    nodes: int = 2,
    node_memory: int = 8192,
    node_vcores: int = 8,
    queue: int | None = None,
    counts_vcores: bool = False,
) -> ClusterLimits:
    return ClusterLimits(
        max_container_memory_mib=largest,
        min_allocation_mib=minimum,
        increment_mib=increment,
        max_container_vcores=vcores,
        total_memory_mib=nodes * node_memory,
        total_vcores=nodes * node_vcores,
        nodes=nodes,
        queue_max_memory_mib=queue,
        counts_vcores=counts_vcores,
    )


ALL_PARTS = {
    "spark.executor.memory": "10g",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "2g",
    "spark.executor.pyspark.memory": "1g",
}


class TestExecutorRequest:
    """G1-03: heap, overhead, off-heap memory where it is enabled, PySpark's where it is a Python application."""

    def test_python_application_has_all_four_parts(self) -> None:
        assert executor_request(ALL_PARTS, python=True).memory_mib == 14336
        assert executor_request(ALL_PARTS, python=True).memory_mib == 10240 + 1024 + 2048 + 1024

    def test_jvm_application_gets_no_pyspark_memory(self) -> None:
        assert executor_request(ALL_PARTS, python=False).memory_mib == 13312

    def test_off_heap_counts_only_when_enabled(self) -> None:
        conf = ALL_PARTS | {"spark.memory.offHeap.enabled": "false"}
        assert executor_request(conf, python=False).memory_mib == 11264

    @pytest.mark.parametrize(("heap", "overhead"), [("2g", 384), ("30g", 3072), ("4096", 409)])
    def test_overhead_without_a_setting(self, heap: str, overhead: int) -> None:
        assert executor_request({"spark.executor.memory": heap}, python=False).overhead_mib == overhead

    def test_the_overhead_factor_is_unknown_before_3_3(self) -> None:
        conf = {"spark.executor.memory": "10g", "spark.executor.memoryOverheadFactor": "0.4"}
        assert executor_request(conf, python=False, version=(3, 2)).overhead_mib == 1024
        assert executor_request(conf, python=False, version=(3, 3)).overhead_mib == 4096

    def test_the_minimum_overhead_is_unknown_before_4_0(self) -> None:
        conf = {"spark.executor.minMemoryOverhead": "600m"}
        assert executor_request(conf, python=False, version=(3, 5)).overhead_mib == 384
        assert executor_request(conf, python=False, version=(4, 0)).overhead_mib == 600

    @pytest.mark.parametrize("text", ["63.75g", "4 g", "-1g", "viel"])
    def test_what_spark_refuses_names_the_property(self, text: str) -> None:
        with pytest.raises(InputError, match=r"spark\.executor\.memory"):
            executor_request({"spark.executor.memory": text}, python=False)


class TestGrant:
    def test_an_am_of_777_mib_costs_two_minimum_allocations(self) -> None:
        """G1-05: 1161 MiB are granted as 2048, and it is the grant that a reservation counts."""
        held = reservation({"spark.yarn.am.memory": "777m"}, limits(), python=False, cluster_mode=False, executors=1)
        assert isinstance(held, Reservation)
        assert held.memory_mib == 2048 + 2048
        asked = am_request({"spark.yarn.am.memory": "777m"}, cluster_mode=False)
        granted = grant(asked, limits())
        assert asked.memory_mib == 777 + 384
        assert isinstance(granted, ContainerGrant)
        assert granted.memory_mib == 2048
        assert granted.waste_mib == 2048 - 1161

    @pytest.mark.parametrize(
        ("asked", "minimum", "increment", "given_mib"),
        [
            (1500, 1024, 1024, 2048),  # Capacity: the minimum is the increment
            (512, 512, 1024, 1024),  # Fair: a minimum of its own
            (1500, 512, 512, 1536),
            (100, 1024, 1024, 1024),
            (600, 2048, 512, 2048),  # the minimum holds where it is above the increment
            (8000, 3000, 3000, 8192),  # rounding up stops at the largest container
        ],
    )
    def test_rounding(self, asked: int, minimum: int, increment: int, given_mib: int) -> None:
        granted = grant(ContainerRequest(asked, 0), limits(minimum=minimum, increment=increment))
        assert isinstance(granted, ContainerGrant)
        assert granted.memory_mib == given_mib

    def test_too_much_memory_is_refused_with_its_parts(self) -> None:
        refused = grant(executor_request({"spark.executor.memory": "8g"}, python=True), limits())
        assert isinstance(refused, Refusal)
        assert (refused.resource, refused.asked, refused.largest) == ("memory", 9011, 8192)
        assert "8192 heap + 819 overhead" in refused.reason
        assert "yarn.scheduler.maximum-allocation-mb" in refused.reason

    @pytest.mark.parametrize("counts_vcores", [True, False])
    def test_too_many_vcores_are_refused_under_every_calculator(self, counts_vcores: bool) -> None:
        refused = grant(ContainerRequest(1024, 384, vcores=5), limits(counts_vcores=counts_vcores))
        assert isinstance(refused, Refusal)
        assert refused.resource == "vcores"
        assert "yarn.scheduler.maximum-allocation-vcores" in refused.reason

    def test_vcores_are_one_where_they_are_not_counted(self) -> None:
        request = ContainerRequest(1024, 384, vcores=4)
        for counts, vcores in ((True, 4), (False, 1)):
            granted = grant(request, limits(counts_vcores=counts))
            assert isinstance(granted, ContainerGrant)
            assert granted.vcores == vcores


class TestReservation:
    def test_client_mode_counts_the_small_am(self) -> None:
        held = reservation({"spark.executor.memory": "2g"}, limits(), python=True, cluster_mode=False)
        assert isinstance(held, Reservation)
        assert (held.am.memory_mib, held.executor.memory_mib, held.executors) == (1024, 3072, 2)
        assert held.memory_mib == 1024 + 2 * 3072
        assert held.waste_mib == (1024 - 896) + 2 * (3072 - 2432)

    def test_cluster_mode_counts_the_driver(self) -> None:
        conf = {"spark.driver.memory": "3g", "spark.executor.instances": "5"}
        held = reservation(conf, limits(), python=True, cluster_mode=True)
        assert isinstance(held, Reservation)
        assert held.memory_mib == 4096 + 5 * 2048

    def test_a_driver_that_no_node_can_hold(self) -> None:
        held = reservation({"spark.driver.memory": "8g"}, limits(), python=True, cluster_mode=True)
        assert isinstance(held, Refusal)
        assert held.request.heap_mib == 8192


class TestExecutorsThatFit:
    def granted(self, memory_mib: int, at: ClusterLimits, vcores: int = 1) -> ContainerGrant:
        result = grant(ContainerRequest(memory_mib, 0, vcores=vcores), at)
        assert isinstance(result, ContainerGrant)
        return result

    def test_nodes_are_not_one_pool(self) -> None:
        # 16 GiB in all, but two nodes of 8: one executor of 5 GiB each, not three.
        at = limits()
        assert executors_that_fit(self.granted(1024, at), self.granted(5120, at), at) == 2

    def test_the_am_takes_its_node(self) -> None:
        at = limits()
        assert executors_that_fit(self.granted(1024, at), self.granted(8192, at), at) == 1

    def test_the_queue_bounds(self) -> None:
        at = limits(queue=6144)
        assert executors_that_fit(self.granted(1024, at), self.granted(2048, at), at) == 2

    def test_vcores_bound_where_they_are_counted(self) -> None:
        for counts, number in ((True, 3), (False, 14)):
            at = limits(counts_vcores=counts)
            assert executors_that_fit(self.granted(1024, at), self.granted(1024, at, vcores=4), at) in (number, 15)
        at = limits(counts_vcores=True)
        assert executors_that_fit(self.granted(1024, at), self.granted(1024, at, vcores=4), at) == 3


requests = st.builds(
    ContainerRequest,
    heap_mib=st.integers(450, 6000),
    overhead_mib=st.integers(0, 2000),
    off_heap_mib=st.integers(0, 500),
    pyspark_mib=st.integers(0, 500),
    vcores=st.integers(1, 6),
)
clusters = st.builds(
    limits,
    largest=st.integers(1024, 9000),
    minimum=st.sampled_from([128, 512, 1000, 1024, 2048]),
    increment=st.sampled_from([128, 512, 1000, 1024]),
    counts_vcores=st.booleans(),
)


@given(requests, clusters, st.sampled_from(["heap", "overhead"]))
def test_without_waste_fills_the_same_container(request: ContainerRequest, at: ClusterLimits, to: str) -> None:
    granted = grant(request, at)
    filled = without_waste(request, at, to="heap" if to == "heap" else "overhead")
    if isinstance(granted, Refusal):
        assert filled == granted
        return
    assert isinstance(filled, ContainerRequest)
    again = grant(filled, at)
    assert isinstance(again, ContainerGrant)
    assert again.memory_mib == granted.memory_mib
    assert again.waste_mib == 0
    assert filled.heap_mib >= request.heap_mib
    assert filled.overhead_mib >= request.overhead_mib


@given(requests, clusters)
def test_a_grant_is_never_smaller_than_the_request_nor_larger_than_the_largest(
    request: ContainerRequest, at: ClusterLimits
) -> None:
    granted = grant(request, at)
    if isinstance(granted, ContainerGrant):
        assert request.memory_mib <= granted.memory_mib <= at.max_container_memory_mib
        assert granted.waste_mib < max(at.increment_mib + at.min_allocation_mib, 1)


@given(st.integers(400, 200_000), st.floats(0.05, 0.6), st.integers(0, 2048))
def test_largest_heap_is_the_largest(container_mib: int, factor: float, minimum_mib: int) -> None:
    heap = largest_heap_mib(container_mib, factor, minimum_mib)
    if heap > 0:
        assert heap + overhead_mib(heap, factor, minimum_mib) <= container_mib
    following = max(heap, 0) + 1
    assert following + overhead_mib(following, factor, minimum_mib) > container_mib


def test_unified_memory() -> None:
    """G1-20: what is left of a heap for execution and storage."""
    assert unified_memory_mib(1024, 0.75) == 543
    assert unified_memory_mib(1024, 0.6) == pytest.approx(434.4)
    assert unified_memory_mib(200, 0.6) == 0
    assert heap_for_unified_mib(unified_memory_mib(4096, 0.6), 0.6) == pytest.approx(4096)
