"""Small workloads of our own, made when they are asked for: nothing is shipped, and no trace's licence is touched.

Arrivals are a Poisson process whose rate goes up and down in the window; the number of tasks of a job is log-normal,
so that many jobs are small and few are large; the durations of its tasks are log-normal around a time of the job's
own; a quarter of the jobs has a second stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import log, pi, sin
from typing import Final

import numpy as np

from workloads.importers.builder import WorkloadBuilder
from workloads.workload import Assumption, Provenance, Workload, WorkloadJob

__all__ = ["SAMPLES", "Sample", "generate"]


@dataclass(frozen=True)
class Sample:
    """What a sample is drawn from.

    Attributes:
        title: for people.
        hours: the window's length.
        jobs_per_hour: on average.
        swing: the rate is at most this much above and below the average, as a share of it, in one wave.
        median_tasks, tasks_sigma: of the first stage.
        median_task_s, task_sigma: of the time of a job's tasks; the tasks of one job spread by ``spread``.
        recurring: jobs are runs of so many recurring jobs.
        users: each recurring job has one.
    """

    title: str
    hours: float = 1.0
    jobs_per_hour: float = 120.0
    swing: float = 0.0
    median_tasks: float = 4.0
    tasks_sigma: float = 1.2
    median_task_s: float = 12.0
    task_sigma: float = 0.6
    spread: float = 0.25
    recurring: int = 20
    users: int = 6


SAMPLES: Final[Mapping[str, Sample]] = {
    "steady-hour": Sample("an hour of small and a few large jobs at an even rate"),
    "bursty-hour": Sample("an hour that starts quietly and has a burst of jobs in its middle", swing=0.9),
    "etl-night": Sample(
        "four hours of fewer, larger jobs with long tasks",
        hours=4.0,
        jobs_per_hour=40.0,
        median_tasks=24.0,
        median_task_s=45.0,
        recurring=12,
        users=3,
    ),
}
"""The samples by name."""


def generate(name: str, sample: Sample, seed: int = 0) -> Workload:
    """Draws a sample; the same one for the same seed."""
    random = np.random.default_rng(seed)
    builder = WorkloadBuilder()
    seconds = sample.hours * 3600
    medians_s = random.lognormal(log(sample.median_task_s), sample.task_sigma, sample.recurring)
    counts = random.lognormal(log(sample.median_tasks), sample.tasks_sigma, sample.recurring)
    for number, submit_s in enumerate(_arrivals(sample, seconds, random)):
        kind = int(random.integers(sample.recurring))
        job = builder.add_job(
            WorkloadJob(f"job{number}", submit_s, name=f"recurring{kind}", user=f"u{kind % sample.users}")
        )
        tasks = max(1, round(counts[kind] * random.lognormal(0.0, sample.spread)))
        stages = [tasks] if random.random() < 0.75 else [tasks, max(1, tasks // 4)]
        for stage, count in enumerate(stages):
            for duration_s in random.lognormal(log(medians_s[kind]), sample.spread, count).tolist():
                builder.add_task(job, submit_s=submit_s, duration_s=duration_s, memory_mib=1024, cores=1.0, stage=stage)
    drawn_from = tuple(
        Assumption(key, value, "drawn from this") for key, value in asdict(sample).items() if key != "title"
    )
    return builder.build(name, Provenance("generated", seed=seed), drawn_from)


def _arrivals(sample: Sample, seconds: float, random: np.random.Generator) -> list[float]:
    """Times of a Poisson process whose rate changes, by thinning one of the highest rate (Lewis, Shedler 1979)."""
    highest = sample.jobs_per_hour / 3600 * (1 + sample.swing)
    times: list[float] = []
    now = float(random.exponential(1 / highest))
    while now < seconds:
        rate = sample.jobs_per_hour / 3600 * (1 + sample.swing * sin(2 * pi * now / seconds - pi / 2))
        if random.random() < rate / highest:
            times.append(now)
        now += float(random.exponential(1 / highest))
    return times
