"""New workloads with a trace's distributions: what a profile keeps of a trace, and jobs drawn from it.

Arrivals are a Poisson process whose rate follows the trace's course (by the hour of the day where the trace has more
than two days, else along its span) and is multiplied each minute by a gamma variable of mean 1, whose variance is what
the trace's counts by minute have beyond a Poisson process: its burstiness. Jobs are a smoothed bootstrap (Silverman,
1986): a job of the trace is drawn, and its size and times are moved a little on a logarithmic scale, so that sizes,
durations, memory and users stay as they go together, and no job is a copy. Names and users are new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.errors import InputError
from workloads.importers.builder import WorkloadBuilder
from workloads.workload import Assumption, Ending, Provenance, Tasks, Workload, WorkloadJob

__all__ = ["Distances", "Profile", "Scale", "distances", "profile_of", "samples", "synthesize"]

DAY_S: Final = 86_400.0
MINUTE_S: Final = 60.0
_SMOOTHING: Final = 0.15
"""Standard deviation of the logarithm by which a size or time is moved: a sixth up or down."""
_SMALLEST_COURSE_STEP_S: Final = 300.0
_COURSE_STEPS: Final = 24
_FOUND_RUNNING: Final = 10
_FOUND_RUNNING_SHARE: Final = 0.02
_KEPT: Final = ("memory_mib", "cores", "count", "stage", "used_memory_mib", "used_cores", "cpi", "mai")
"""Columns of tasks that stay as the trace has them."""
_NEVER_RAN: Final = (int(Ending.EVICTED), int(Ending.WITHDRAWN), int(Ending.WAITING))


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the new workload is.

    Attributes:
        span_s: how long jobs are submitted; None: as long as in the trace.
        nodes: how many times the trace's cluster the new one is for: so many times the jobs at a time.
        load: how many times the load of each node: likewise.
    """

    span_s: float | None = None
    nodes: float = 1.0
    load: float = 1.0


@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a trace.

    Attributes:
        source: the trace; jobs are drawn from it, the unused ones left out.
        jobs: positions in ``source`` of the jobs that were submitted in its time and ran.
        span_s: how long jobs were submitted.
        course: mean of 1; the rate's course over a day, or over the span.
        period_s: what the course covers: a day, or the span.
        rate: jobs a second.
        burstiness: variance of the gamma variable of each minute; 0 is a Poisson process.
    """

    source: Workload
    jobs: NDArray[np.int64]
    span_s: float
    course: NDArray[np.float64]
    period_s: float
    rate: float
    burstiness: float


def profile_of(workload: Workload) -> Profile:
    """Measures a trace.

    Raises:
        InputError: fewer than two of its jobs ran, so that nothing is known of arrivals.
    """
    ran = _arrived(workload)
    if len(ran) < 2:
        raise InputError(
            f"{workload.name} has {len(ran)} jobs that ran, too few to draw new ones from", "import more of the trace"
        )
    submits = np.array([workload.jobs[i].submit_s for i in ran], np.float64)
    start_s = float(submits.min())
    # The last job would else be at the very end of every window; one mean gap goes after it.
    span_s = float(submits.max() - start_s) * len(ran) / (len(ran) - 1) or MINUTE_S
    period_s = DAY_S if span_s >= 2 * DAY_S else span_s
    course = _course(submits - start_s, span_s, period_s)
    burstiness = _burstiness(submits - start_s, span_s, period_s, course)
    return Profile(workload, np.array(ran), span_s, course, period_s, len(ran) / span_s, burstiness)


def _arrived(workload: Workload) -> list[int]:
    """Positions of the jobs that ran, without those that a trace found running when it began.

    These all have the trace's first second; they are no arrivals, and long jobs are over-represented among them.
    """
    ran = [i for i, job in enumerate(workload.jobs) if len(_ran(workload, job))]
    first_s = min((workload.jobs[i].submit_s for i in ran), default=0.0)
    later = [i for i in ran if workload.jobs[i].submit_s > first_s]
    return later if len(ran) - len(later) > max(_FOUND_RUNNING, _FOUND_RUNNING_SHARE * len(ran)) else ran


def _ran(workload: Workload, job: WorkloadJob) -> Tasks:
    tasks = workload.tasks_of(job)
    return tasks.take(~np.isin(tasks.ending, _NEVER_RAN) & (tasks.duration_s > 0))


def _course(times_s: NDArray[np.float64], span_s: float, period_s: float) -> NDArray[np.float64]:
    steps = max(1, min(_COURSE_STEPS, int(period_s / _SMALLEST_COURSE_STEP_S)))
    step = np.minimum(times_s % period_s / period_s * steps, steps - 1).astype(np.int64)
    counts = np.bincount(step, minlength=steps).astype(np.float64)
    # The last day may be a part of one: each step by how often it was there.
    edges = np.arange(steps + 1) / steps * period_s
    whole, rest = divmod(span_s, period_s)
    seen = whole * period_s / steps + np.clip(rest - edges[:-1], 0.0, period_s / steps)
    rates = counts / np.maximum(seen, 1e-9)
    return np.asarray(rates / rates.mean(), np.float64)


def _rate_at(times_s: NDArray[np.float64], course: NDArray[np.float64], period_s: float) -> NDArray[np.float64]:
    step = np.minimum(times_s % period_s / period_s * len(course), len(course) - 1).astype(np.int64)
    return np.asarray(course[step], np.float64)


def _burstiness(times_s: NDArray[np.float64], span_s: float, period_s: float, course: NDArray[np.float64]) -> float:
    minutes = max(1, ceil(span_s / MINUTE_S))
    counts = np.bincount((times_s / MINUTE_S).astype(np.int64), minlength=minutes)[:minutes]
    middles_s = (np.arange(minutes, dtype=np.float64) + 0.5) * MINUTE_S
    expected = _rate_at(middles_s, course, period_s)
    expected *= counts.sum() / max(expected.sum(), 1e-12)
    # Of a mixed Poisson count the variance is mean + mean^2 * v: least squares for v.
    excess = (counts - expected) ** 2 - expected
    return max(0.0, float((excess * expected**2).sum() / max((expected**4).sum(), 1e-12)))


def synthesize(profile: Profile, name: str, *, scale: Scale | None = None, seed: int = 0) -> Workload:
    """Draws a new workload; the same one for the same profile, scale and seed.

    Args:
        profile: of a trace.
        name: of the new one.
        scale: its size; the trace's where it is not given.
        seed: of all that is drawn.

    Raises:
        InputError: the scale is not above 0.
    """
    scale = scale or Scale()
    span_s = profile.span_s if scale.span_s is None else scale.span_s
    if not (span_s > 0 and scale.nodes > 0 and scale.load > 0):
        raise InputError("the span, nodes and load of a new workload must be above 0")
    random = np.random.default_rng(seed)
    users = _new_names(profile, "user", "u", random)
    names = _new_names(profile, "name", "recurring", random)
    builder = WorkloadBuilder()
    for number, submit_s in enumerate(_arrivals(profile, span_s, scale.nodes * scale.load, random).tolist()):
        model = profile.source.jobs[int(profile.jobs[random.integers(len(profile.jobs))])]
        job = builder.add_job(
            WorkloadJob(
                id=f"job{number}",
                submit_s=submit_s,
                name=names.get(model.name or ""),
                user=users.get(model.user, ""),
                queue=model.queue,
                am_memory_mib=model.am_memory_mib,
                executors=model.executors,
                priority=model.priority,
                scheduling_class=model.scheduling_class,
            )
        )
        _add_tasks(builder, job, model, profile.source, submit_s, random)
    return builder.build(name, _provenance(profile, seed), _assumptions(profile, scale, span_s))


def _new_names(profile: Profile, field: str, prefix: str, random: np.random.Generator) -> Mapping[str, str]:
    old = sorted({getattr(profile.source.jobs[i], field) or "" for i in profile.jobs} - {""})
    return {name: f"{prefix}{number}" for name, number in zip(old, random.permutation(len(old)).tolist(), strict=True)}


def _arrivals(profile: Profile, span_s: float, times: float, random: np.random.Generator) -> NDArray[np.float64]:
    minutes = max(1, ceil(span_s / MINUTE_S))
    starts = np.arange(minutes) * MINUTE_S
    lengths = np.minimum(MINUTE_S, span_s - starts)
    # A span that is another one than the trace's has the whole course along it, unless the course is a day's.
    period_s = profile.period_s if profile.period_s == DAY_S else span_s
    means = _rate_at(starts + lengths / 2, profile.course, period_s) * profile.rate * times * lengths
    if profile.burstiness > 0:
        means *= random.gamma(1 / profile.burstiness, profile.burstiness, minutes)
    counts = random.poisson(means)
    minute = np.repeat(np.arange(minutes), counts)
    return np.sort(starts[minute] + random.random(len(minute)) * lengths[minute])


def _add_tasks(
    builder: WorkloadBuilder,
    job: int,
    model: WorkloadJob,
    source: Workload,
    submit_s: float,
    random: np.random.Generator,
) -> None:
    tasks = _ran(source, model)
    size, length = random.lognormal(0.0, _SMOOTHING, 2)
    # Rows stay rows: of a job with many tasks some more or fewer, of a row with a count another count.
    expected = np.ones(len(tasks)) * size
    repeats = np.floor(expected + random.random(len(tasks))).astype(np.int64)
    if not repeats.any():
        repeats[int(random.integers(len(tasks)))] = 1
    rows = tasks.take(np.repeat(np.arange(len(tasks)), repeats))
    spread = random.lognormal(0.0, _SMOOTHING, len(rows)) * length
    columns = {
        "submit_s": submit_s + np.maximum(rows.submit_s - model.submit_s, 0.0) * length,
        "duration_s": rows.duration_s * spread,
        **{name: getattr(rows, name) for name in _KEPT},
    }
    lists = [column.tolist() for column in columns.values()]
    for values in zip(*lists, strict=True):
        builder.add_task(job, **dict(zip(columns, values, strict=True)))


def _provenance(profile: Profile, seed: int) -> Provenance:
    source = profile.source
    notes = (
        f"drawn from {source.name} ({source.provenance.format}, {len(profile.jobs)} jobs that ran); no job is a copy",
    )
    return Provenance("generated", seed=seed, notes=notes)


def _assumptions(profile: Profile, scale: Scale, span_s: float) -> tuple[Assumption, ...]:
    return (
        Assumption("span_s", span_s, "jobs are submitted for so long"),
        Assumption(
            "jobs_per_hour", 3600 * profile.rate * scale.nodes * scale.load, "the trace's, times nodes and load"
        ),
        Assumption("burstiness", profile.burstiness, "variance of the rate from minute to minute, beside its course"),
        Assumption("smoothing", _SMOOTHING, "standard deviation of the logarithm by which sizes and times are moved"),
    )


# --- how near it is ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distances:
    """Kolmogorov-Smirnov distances between two workloads: the largest difference of their cumulative shares, 0 to 1.

    Attributes:
        gaps: between submissions, as shares of their mean, so that another load is no difference.
        tasks: of a job.
        durations, memory: of tasks.
        users: of the jobs' shares by user, largest first.
    """

    gaps: float
    tasks: float
    durations: float
    memory: float
    users: float


def distances(original: Workload, other: Workload) -> Distances:
    """Compares distributions of the jobs that ran."""
    one, two = samples(original), samples(other)
    return Distances(
        gaps=_ks(one["gaps"], two["gaps"]),
        tasks=_ks(one["tasks"], two["tasks"]),
        durations=_ks(one["durations"], two["durations"]),
        memory=_ks(one["memory"], two["memory"]),
        users=float(np.abs(_user_shares(original) - _user_shares(other)).max()),
    )


def samples(workload: Workload) -> dict[str, NDArray[np.float64]]:
    """What the distances compare, as arrays; ``submit_s`` too."""
    jobs = [(workload.jobs[i], _ran(workload, workload.jobs[i])) for i in _arrived(workload)]
    submits = np.array([job.submit_s for job, _ in jobs], np.float64)
    gaps = np.diff(submits)

    def of_tasks(name: str) -> NDArray[np.float64]:
        parts = [np.repeat(getattr(tasks, name).astype(np.float64), tasks.count) for _, tasks in jobs]
        return np.concatenate(parts) if parts else np.empty(0)

    return {
        "submit_s": submits,
        "gaps": gaps / max(float(gaps.mean()) if len(gaps) else 1.0, 1e-12),
        "tasks": np.array([float(tasks.total) for _, tasks in jobs]),
        "durations": of_tasks("duration_s"),
        "memory": of_tasks("memory_mib"),
    }


def _ks(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    from scipy.stats import ks_2samp

    return float(ks_2samp(one, two, method="asymp").statistic) if len(one) and len(two) else 1.0


def _user_shares(workload: Workload, most: int = 200) -> NDArray[np.float64]:
    """Cumulative shares of the jobs by user, the busiest first; shape (most,)."""
    _, counts = np.unique([workload.jobs[i].user for i in _arrived(workload)], return_counts=True)
    shares = np.sort(counts)[::-1][:most] / max(counts.sum(), 1)
    return np.cumsum(np.pad(shares, (0, most - len(shares))))
