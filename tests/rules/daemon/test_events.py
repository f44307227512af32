"""Events: each fires once, and again only after it was over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.daemon.events import EventDetector, QueueLoad, Sample

TOTAL_MIB = 100_000


def sample(pending: int = 0, used: int = 90_000, guaranteed: int = 0, **applications: int) -> Sample:
    queues = {"root.a": QueueLoad(used, pending, guaranteed), "root.b": QueueLoad(0, 0, 50_000)}
    return Sample(0.0, TOTAL_MIB, queues, applications)


def kinds(detector: EventDetector, *samples: Sample) -> list[list[str]]:
    return [[event.kind for event in detector.add(each)] for each in samples]


def test_a_burst_is_more_than_usual_and_fires_once_until_it_is_over() -> None:
    calm, burst, less = sample(10_000), sample(80_000), sample(45_000)
    assert kinds(EventDetector(), calm, calm, calm, burst, burst, less, burst, calm, burst) == [
        [], [], [], ["burst"], [], [], [], [], ["burst"],
    ]  # fmt: skip


def test_what_is_always_waiting_is_no_burst() -> None:
    assert kinds(EventDetector(), *[sample(90_000)] * 5) == [[]] * 5


def test_a_leaf_below_its_guarantee_that_waits_is_an_imbalance() -> None:
    starved = Sample(
        0.0, TOTAL_MIB, {"root.a": QueueLoad(100_000, 0, 50_000), "root.b": QueueLoad(0, 40_000, 50_000)}, {}
    )
    (event,) = EventDetector().add(starved)
    assert event.kind == "imbalance"
    assert event.message == "root.b waits for 40% of the cluster's memory that is free, or that it has a right to"


def test_waiting_while_much_is_free_is_an_imbalance_and_waiting_on_a_full_cluster_is_not() -> None:
    assert kinds(EventDetector(), sample(pending=40_000, used=50_000)) == [["imbalance"]]
    assert kinds(EventDetector(), sample(pending=40_000, used=95_000)) == [[]]
    swinging = [sample(pending=each, used=50_000) for each in (30_000, 15_000, 30_000, 5_000, 30_000)]
    assert kinds(EventDetector(), *swinging) == [["imbalance"], [], [], [], ["imbalance"]]


def test_the_end_of_a_large_job_is_an_event_and_that_of_a_small_one_is_not() -> None:
    both, one, none = sample(app_1=40_000, app_2=10_000), sample(app_2=10_000), sample()
    detector = EventDetector()
    assert kinds(detector, both, one, none) == [[], ["large-job-ended"], []]
    shrinking = kinds(EventDetector(), sample(app_1=40_000), sample(app_1=1_000), sample())
    assert shrinking[-1] == ["large-job-ended"], "what counts is the most that it held"


@given(st.lists(st.integers(0, 200_000), max_size=40))
def test_between_two_bursts_the_cluster_was_calm(pending: list[int]) -> None:
    detector, usual, calm = EventDetector(), [], True
    for value in pending:
        fired = [event for event in detector.add(sample(value)) if event.kind == "burst"]
        if usual:
            recent = sorted(usual[-20:])
            middle = (recent[(len(recent) - 1) // 2] + recent[len(recent) // 2]) / 2
            calm = calm or (value - middle) / TOTAL_MIB <= 0.2
        assert not fired or calm
        calm = calm and not fired
        usual.append(value)


def test_an_empty_cluster_has_no_events() -> None:
    assert EventDetector().add(Sample(0.0, 0, {}, {})) == ()
