"""A case replayed step by step is the case; what is seen of it is what had happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rules.backtest.replay import Replay
from rules.estimator import estimate
from rules.forecast.observation import SeenContainers
from tests.rules.backtest.cases import CONF, PREFIX, busy_case, change
from workloads.trace import Case, Executors, Job, Node, Task, Update


def one_node(*jobs: Job) -> Case:
    return Case((Node(8192, 8),), jobs, conf=CONF, horizon_s=1000.0)


def test_what_is_seen_of_tasks() -> None:
    """AM at 0 s; containers start at 2, 3 and 4 s and take 10, 1 and 10 s; the fourth gets a place at 5 s."""
    tasks = tuple(Task(duration_s) for duration_s in (10.0, 1.0, 10.0, 10.0))
    late = Job("late", "a", 7.0, tasks=tasks)
    replay = Replay(one_node(Job("j", "a", 0.0, "ann", 1024, "etl", tasks), late))
    replay.advance(4.5)
    (seen,) = replay.observe().jobs
    assert (seen.id, seen.name, seen.user, seen.am_memory_mib) == ("j", "etl", "ann", 1024)
    assert (seen.am_start_s, seen.end_s, seen.holds) == (0.0, None, False)
    assert seen.containers == (SeenContainers(1024, 1, ended_s=(1.0,), running_s=(2.5, 0.5), waiting=1),)


def test_what_is_seen_of_executors() -> None:
    """YARN sees them held, not the tasks in them."""
    job = Job("s", "a", 0.0, executors=Executors(2, 2048, 2), stages=((4.0, 6.0, 3.0), (5.0,)))
    replay = Replay(one_node(job))
    replay.advance(2.5)
    (seen,) = replay.observe().jobs
    (containers,) = seen.containers
    assert seen.holds
    assert (containers.memory_mib, containers.vcores, containers.ended_s, containers.waiting) == (2048, 2, (), 0)
    assert containers.running_s == pytest.approx((1.5, 0.5), abs=1.0), "given at the beats of 1 and 2 s"
    replay.advance(900.0)
    (seen,) = replay.observe().jobs
    end_s = estimate(one_node(job)).jobs[0].finish_s
    assert seen.end_s == end_s
    assert seen.containers[0].ended_s == pytest.approx((end_s - 1.0, end_s - 2.0), abs=1.0)
    assert replay.finished


def test_at_a_moment_only_what_came_before_it_is_seen() -> None:
    replay = Replay(one_node(Job("j", "a", 5.0, tasks=(Task(1.0),))))
    replay.advance(5.0)
    assert replay.observe().jobs == ()
    replay.advance(5.1)
    assert len(replay.observe().jobs) == 1


def test_refused_jobs_are_not_seen() -> None:
    replay = Replay(one_node(Job("j", "nowhere", 1.0, tasks=(Task(1.0),))))
    replay.advance(5.0)
    assert replay.observe().jobs == ()


@pytest.mark.parametrize("executors", [False, True])
def test_steps_and_reconfigurations_come_to_the_same_times_as_the_whole_case(executors: bool) -> None:
    case = busy_case(executors=executors)
    replay = Replay(case)
    for time_s in (100.0, 250.0, 250.0, 400.5, 700.0):
        replay.advance(time_s)
        replay.observe()
        if time_s in (250.0, 700.0):
            replay.reconfigure(Update(time_s, change("0.5" if time_s < 300 else "0.2", "fair")))
    replay.advance(case.horizon_s)
    seen = {job.id: (job.am_start_s, job.end_s) for job in replay.observe().jobs}
    whole = estimate(replay.case)
    assert len(replay.updates) == 3
    assert seen == {job.id: (job.am_start_s, job.finish_s) for job in whole.jobs}
    assert whole.summary != estimate(case).summary


def test_the_case_s_own_updates_are_in_force_when_their_time_has_come_and_ours_go_on_top() -> None:
    factor = f"{PREFIX}root.a.user-limit-factor"
    case = replace(busy_case(), updates=(Update(300.0, {factor: "2"}), Update(600.0, {factor: "3"})))
    replay = Replay(case)
    assert factor not in replay.cluster().conf
    replay.advance(300.0)
    assert replay.cluster().conf[factor] == "2"
    replay.reconfigure(Update(300.0, {factor: "9"}))
    assert replay.cluster().conf[factor] == "9"
    replay.advance(700.0)
    assert replay.cluster().conf[factor] == "3"
    assert [update.time_s for update in replay.case.updates] == [300.0, 300.0, 600.0]


def test_time_goes_one_way() -> None:
    replay = Replay(busy_case())
    replay.advance(10.0)
    with pytest.raises(ValueError, match="cannot go back"):
        replay.advance(9.0)
    with pytest.raises(ValueError, match="an update for"):
        replay.reconfigure(Update(9.0))
