"""Draws cases of the near future from what is visible now."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rules.forecast.arrivals import next_arrivals
from rules.forecast.durations import DurationModel, Shape
from rules.forecast.observation import ClusterFacts, Observation, SeenJob
from workloads.trace import Case, Executors, Job, Task

__all__ = ["draw_cases"]

_DRAIN_S = 7_200.0
"""How long after the last arrival the jobs may take to end before they count as unfinished."""
_MOST_LOAD = 0.9
"""The most that jobs to come ask for, as a share of what the nodes have while they arrive. A cluster that lives is not
overloaded for long; but the few large jobs of a short past, repeated, are, and then nothing else matters in a draw."""
_RATE_SIGMA = 0.5
"""Jobs may come faster or slower than of late, by about so much (standard deviation of the rate's logarithm)."""
_WAVES = 4
"""Into how many tasks an executor's slot is cut: YARN does not see them, but work that waits for slots can spread."""


def draw_cases(
    seen: Observation,
    cluster: ClusterFacts,
    *,
    draws: int,
    seed: int,
    span_s: float,
    history: Observation | None = None,
) -> tuple[Case, ...]:
    """Draws what may come: the rest of what runs and waits, and the arrivals of the next ``span_s`` seconds.

    The case's zero is now. The first draw has the recent past's arrivals as they were, the others draw them anew. A
    draw is the same for every configuration that is tried on it, so differences between configurations are paired.

    Args:
        seen: what is visible now.
        cluster: the cluster, with the configuration that the cases get.
        draws: how many cases.
        seed: of all draws; the moment is mixed into it, so that each decision has draws of its own.
        span_s: for how long jobs arrive.
        history: further jobs that ended earlier, which runs of recurring jobs and arrivals are taken from too.
    """
    past = seen if history is None else _joined(history, seen)
    model = DurationModel(past.jobs)
    found = []
    for number in range(draws):
        random = np.random.default_rng([seed, int(seen.time_s * 1000), number])
        jobs = _present_jobs(seen, model, random)
        rate = 1.0 if number == 0 else float(np.exp(_RATE_SIGMA * random.standard_normal()))
        coming = next_arrivals(past, span_s, random, in_order=number == 0, rate=rate)
        drawn = [
            _job(f"next-{count}", arrival.like, model.whole(arrival.like, random), arrival.after_s)
            for count, arrival in enumerate(coming)
        ]
        jobs += _bearable([job for job in drawn if job is not None], cluster, span_s)
        found.append(
            Case(
                nodes=cluster.nodes,
                jobs=tuple(jobs),
                scheduler=cluster.scheduler,
                conf=cluster.conf,
                allocations=cluster.allocations,
                node_heartbeat_s=cluster.node_heartbeat_s,
                am_heartbeat_s=cluster.am_heartbeat_s,
                horizon_s=span_s + _DRAIN_S,
            )
        )
    return tuple(found)


def _joined(history: Observation, seen: Observation) -> Observation:
    known: Mapping[str, SeenJob] = {job.id: job for job in history.jobs} | {job.id: job for job in seen.jobs}
    jobs = tuple(sorted(known.values(), key=lambda job: job.submit_s))
    return Observation(seen.time_s, jobs, min(history.since_s, seen.since_s))


def _bearable(coming: list[Job], cluster: ClusterFacts, span_s: float) -> list[Job]:
    """The jobs to come without the largest ones, as far as they are more than the cluster can bear."""
    room = _MOST_LOAD * span_s * sum(node.memory_mib for node in cluster.nodes)
    left_over = sum(_work_mib_s(job) for job in coming) - room
    dropped: set[str] = set()
    for work_mib_s, job_id in sorted(((_work_mib_s(job), job.id) for job in coming), reverse=True):
        if left_over <= 0:
            break
        dropped.add(job_id)
        left_over -= work_mib_s
    return [job for job in coming if job.id not in dropped]


def _work_mib_s(job: Job) -> float:
    """What a job holds in all, if it gets everything at once."""
    if job.executors is None:
        return sum(task.memory_mib * task.duration_s for task in job.tasks)
    return job.executors.memory_mib * sum(map(sum, job.stages)) / job.executors.vcores


def _present_jobs(seen: Observation, model: DurationModel, random: np.random.Generator) -> list[Job]:
    """The jobs that have not ended, those that run before those that wait, else in the order of submission."""
    open_jobs = [job for job in seen.jobs if job.end_s is None]
    open_jobs.sort(key=lambda job: job.am_start_s is None)
    drawn = [_job(job.id, job, model.remaining(job, random), 0.0) for job in open_jobs]
    return [job for job in drawn if job is not None]


def _job(id_: str, like: SeenJob, shape: Shape, submit_s: float) -> Job | None:
    """A job of the case; None where nothing is left for it to do."""
    if not shape.parts:
        return None
    if not shape.holds:
        tasks = tuple(
            Task(duration_s, part.memory_mib, part.vcores) for part in shape.parts for duration_s in part.durations_s
        )
        return Job(id_, like.queue, submit_s, like.user, like.am_memory_mib, like.name, tasks)
    (part,) = shape.parts
    executors = Executors(len(part.durations_s), part.memory_mib, part.vcores)
    slots_s = [duration_s / _WAVES for duration_s in part.durations_s for _ in range(part.vcores * _WAVES)]
    stages = (tuple(sorted(slots_s, reverse=True)),)
    return Job(id_, like.queue, submit_s, like.user, like.am_memory_mib, like.name, executors=executors, stages=stages)
