"""Cases of the near future: what is there, and what may come."""

from __future__ import annotations

import numpy as np
import pytest

from rules.forecast.arrivals import next_arrivals
from rules.forecast.draw import draw_cases
from rules.forecast.observation import ClusterFacts, Observation, SeenContainers, SeenJob
from workloads.trace import Case, Executors, Node

DAY_S = 86_400.0
CLUSTER = ClusterFacts("capacity", (Node(8192, 8),) * 4, {"a.property": "1"})


def seen_job(number: int, submit_s: float, **fields: object) -> SeenJob:
    values: dict[str, object] = {
        "queue": "root.a", "user": "ann", "am_memory_mib": 512, "name": "a/ann",
        "containers": (SeenContainers(1024, 1, (10.0,)),), "am_start_s": submit_s, "end_s": submit_s + 12.0,
    }  # fmt: skip
    return SeenJob(id=f"job{number}", submit_s=submit_s, **(values | fields))  # type: ignore[arg-type]


def past(*submits_s: float, now_s: float = 600.0) -> Observation:
    return Observation(now_s, tuple(seen_job(i, submit_s) for i, submit_s in enumerate(submits_s)))


def draw(seen: Observation, seed: int = 0, **fields: object) -> tuple[Case, ...]:
    return draw_cases(seen, CLUSTER, draws=3, seed=seed, span_s=900.0, **fields)  # type: ignore[arg-type]


class TestArrivals:
    def test_the_recent_past_once_more_is_in_order_and_fills_the_span(self) -> None:
        found = next_arrivals(past(100.0, 550.0), 900.0, np.random.default_rng(0), in_order=True)
        assert [(each.after_s, each.like.id) for each in found] == [
            (100.0, "job0"), (550.0, "job1"), (700.0, "job0"),
        ]  # fmt: skip

    def test_a_burst_stays_a_burst(self) -> None:
        seen = past(*[300.0 + i / 10 for i in range(10)])
        counts = [len(next_arrivals(seen, 120.0, np.random.default_rng(seed))) for seed in range(200)]
        assert {0, 10} < set(counts) | {-1}
        assert sum(count in (0, 10) for count in counts) > 180

    def test_the_rate_is_that_of_the_past(self) -> None:
        seen = past(*np.arange(0.0, 600.0, 2.0))
        counts = [len(next_arrivals(seen, 900.0, np.random.default_rng(seed))) for seed in range(20)]
        assert np.mean(counts) == pytest.approx(450, rel=0.03)

    def test_the_same_time_of_recent_days_counts_where_there_are_such_days(self) -> None:
        """Two days of silence, but for a wave each day that begins now."""
        wave = [day * DAY_S + second for day in (0, 1) for second in range(0, 600, 5)]
        seen = Observation(2 * DAY_S, tuple(seen_job(i, at) for i, at in enumerate(wave)))
        counts = [len(next_arrivals(seen, 600.0, np.random.default_rng(seed))) for seed in range(20)]
        assert np.mean(counts) == pytest.approx(60, rel=0.4)

    def test_what_was_not_recorded_is_not_taken_for_silence(self) -> None:
        jobs = tuple(seen_job(i, 500.0 + i) for i in range(100))
        found = next_arrivals(Observation(600.0, jobs, since_s=500.0), 900.0, np.random.default_rng(0))
        assert len(found) == pytest.approx(900, rel=0.1)

    def test_without_a_past_nothing_comes(self) -> None:
        assert next_arrivals(Observation(0.0, ()), 900.0, np.random.default_rng(0)) == ()


class TestDraws:
    def test_what_runs_comes_first_then_what_waits_then_what_arrives(self) -> None:
        waiting = seen_job(8, 500.0, containers=(SeenContainers(1024, 1, waiting=2),), am_start_s=None, end_s=None)
        running = seen_job(9, 550.0, containers=(SeenContainers(1024, 1, (9.0,) * 4, (3.0,)),), end_s=None)
        seen = Observation(600.0, (seen_job(0, 10.0), waiting, running))
        for case in draw(seen):
            assert [job.id for job in case.jobs[:2]] == ["job9", "job8"]
            assert [job.submit_s for job in case.jobs[:2]] == [0.0, 0.0]
            assert [task.duration_s for task in case.jobs[0].tasks] == [6.0]
            assert all(job.submit_s > 0 for job in case.jobs[2:])
            assert (case.conf, case.nodes) == (CLUSTER.conf, CLUSTER.nodes)

    def test_a_draw_is_the_same_for_a_seed_and_another_for_another(self) -> None:
        seen = past(*np.random.default_rng(0).uniform(0, 600, 50))
        assert draw(seen) == draw(seen)
        assert draw(seen) != draw(seen, seed=1)
        assert len({case.jobs for case in draw(seen)}) == 3
        later = Observation(600.5, seen.jobs)
        assert draw(later) != draw(seen)

    def test_a_job_with_executors_keeps_their_number_and_its_work(self) -> None:
        held = SeenContainers(2048, 2, ended_s=(40.0, 40.0, 40.0))
        seen = Observation(600.0, (seen_job(0, 300.0, holds=True, containers=(held,)),))
        job = draw(seen)[0].jobs[0]
        assert job.executors == Executors(3, 2048, 2)
        assert sum(map(sum, job.stages)) == pytest.approx(3 * 2 * 40.0)

    def test_the_largest_jobs_to_come_are_left_out_where_the_cluster_could_not_bear_them(self) -> None:
        giant = seen_job(0, 50.0, containers=(SeenContainers(1024, 1, (1000.0,) * 60),))
        seen = Observation(600.0, (giant, *(seen_job(i, 50.0 + i) for i in range(1, 20))))
        case = draw(seen)[0]
        capacity = 900.0 * 4 * 8192
        assert sum(task.duration_s * task.memory_mib for job in case.jobs for task in job.tasks) <= 0.9 * capacity
        assert len(case.jobs) >= 19

    def test_history_is_drawn_from_too_but_is_not_there_any_more(self) -> None:
        seen = Observation(600.0, (), since_s=600.0)
        history = past(*np.arange(0.0, 600.0, 10.0))
        assert all(len(case.jobs) == 0 for case in draw(seen))
        first, *others = draw(seen, history=history)
        assert len(first.jobs) == 90
        assert len({len(case.jobs) for case in others}) > 1, "the rate of the past is not known for certain"
        for case in (first, *others):
            assert all(job.id.startswith("next-") for job in case.jobs)
