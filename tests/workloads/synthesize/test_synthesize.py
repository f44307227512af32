"""Synthetic workloads have a trace's distributions and are no copy of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.samples import SAMPLES, generate
from workloads.synthesize import DAY_S, Scale, distances, profile_of, samples, synthesize
from workloads.workload import Workload

BURSTY = generate("bursty-hour", replace(SAMPLES["bursty-hour"], jobs_per_hour=600))
STEADY = generate("steady-hour", replace(SAMPLES["steady-hour"], jobs_per_hour=600))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 100), load=st.floats(0.3, 2), nodes=st.floats(0.5, 2))
def test_the_number_of_jobs_follows_the_scale(seed: int, load: float, nodes: float) -> None:
    made = synthesize(profile_of(STEADY), "new", scale=Scale(nodes=nodes, load=load), seed=seed)
    expected = len(STEADY.jobs) * nodes * load
    # A Poisson number, with the burstiness that chance puts into an even trace.
    assert abs(len(made.jobs) - expected) < 8 * expected**0.5
    assert made.span_s[1] <= profile_of(STEADY).span_s
    assert [job.submit_s for job in made.jobs] == sorted(job.submit_s for job in made.jobs)


def test_the_same_seed_gives_the_same_workload_and_another_seed_another() -> None:
    profile = profile_of(BURSTY)
    assert synthesize(profile, "new", seed=3) == synthesize(profile, "new", seed=3)
    assert synthesize(profile, "new", seed=3).tasks != synthesize(profile, "new", seed=4).tasks


def test_distributions_are_the_traces_and_the_jobs_are_not() -> None:
    made = synthesize(profile_of(BURSTY), "new", seed=1)
    found = distances(BURSTY, made)
    assert max(found.gaps, found.tasks, found.durations, found.memory, found.users) < 0.15
    assert not set(np.round(made.tasks.duration_s, 9)) & set(np.round(BURSTY.tasks.duration_s, 9))
    assert {job.user for job in made.jobs} <= {f"u{n}" for n in range(6)}


def test_the_course_over_the_span_is_kept() -> None:
    """The bursty hour has its jobs in the middle, and a new one of twice the length too."""
    made = synthesize(profile_of(BURSTY), "new", scale=Scale(span_s=7200), seed=2)
    submits = np.array([job.submit_s for job in made.jobs])
    middle = ((submits > 2400) & (submits < 4800)).mean()
    edges = ((submits < 1200) | (submits > 6000)).mean()
    assert middle > 0.45
    assert edges < 0.2


def test_burstiness_is_seen_and_made_again() -> None:
    random = np.random.default_rng(5)
    bursts = np.sort(np.repeat(random.uniform(0, 3600, 40), 13) + random.uniform(0, 20, 520))
    jobs = tuple(replace(job, submit_s=float(at)) for job, at in zip(STEADY.jobs, bursts, strict=False))
    bursty = replace(STEADY, jobs=jobs)
    even, uneven = profile_of(STEADY).burstiness, profile_of(bursty).burstiness
    assert even < 0.1 < uneven
    again = profile_of(synthesize(profile_of(bursty), "new", seed=1)).burstiness
    # It is a variance, and one hour of few bursts gives it but roughly.
    assert again > 5 * even


def test_a_trace_of_days_has_a_shape_by_the_hour_of_the_day() -> None:
    hours = np.random.default_rng(1).choice([2, 3, 14], len(STEADY.jobs), p=[0.2, 0.3, 0.5])
    days = np.arange(len(STEADY.jobs)) * 4 // len(STEADY.jobs)
    times = np.sort(days * DAY_S + hours * 3600 + np.random.default_rng(2).uniform(0, 3600, len(hours)))
    jobs = tuple(replace(job, submit_s=float(at)) for job, at in zip(STEADY.jobs, times, strict=True))
    profile = profile_of(replace(STEADY, jobs=jobs))
    assert profile.period_s == DAY_S
    made = synthesize(profile, "new", scale=Scale(span_s=10 * DAY_S), seed=1)
    first = float(times.min())
    by_hour = {int((job.submit_s + first) % DAY_S // 3600) for job in made.jobs}
    # Steps begin with the first job, so an hour may reach into its neighbours.
    assert by_hour <= {1, 2, 3, 4, 13, 14, 15}
    assert len(made.jobs) > 2 * len(jobs)


def test_jobs_that_a_trace_found_running_are_no_arrivals() -> None:
    early = tuple(replace(job, submit_s=0.0 if i < 200 else job.submit_s + 1) for i, job in enumerate(STEADY.jobs))
    workload = replace(STEADY, jobs=early)
    assert len(profile_of(workload).jobs) == len(STEADY.jobs) - 200
    assert samples(workload)["submit_s"].min() > 0


def test_what_cannot_be_drawn_from_is_said() -> None:
    with pytest.raises(InputError, match="1 jobs that ran"):
        profile_of(replace(STEADY, jobs=STEADY.jobs[:1]))
    with pytest.raises(InputError, match="above 0"):
        synthesize(profile_of(STEADY), "new", scale=Scale(load=0))


@pytest.fixture(scope="module")
def facebook(shared_data: Path) -> Workload:
    return import_workload([shared_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("facebook"))


def test_of_a_real_day(facebook: Workload) -> None:
    made = synthesize(profile_of(facebook), "new", seed=1)
    found = distances(facebook, made)
    assert max(found.gaps, found.tasks, found.durations, found.users) < 0.1
    assert made.tasks.total == pytest.approx(facebook.tasks.total, rel=0.2)
    # Hour 11 of this trace is empty, and so is that of the new one.
    assert not [job for job in made.jobs if 11.1 * 3600 < job.submit_s < 11.9 * 3600]
