"""What to submit a job with, for a load: the load of now, or one that is supposed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.errors import ClusterError, InputError, StoreError
from tuner.model.advice import Advice, Candidate, Choice, choose
from tuner.model.limits import ClusterLimits
from tuner.model.load import Load
from tuner.settings import Settings
from tuner.store import Job, Store


@dataclass(frozen=True)
class Outlook:
    """A candidate under a load.

    Attributes:
        executors: how many of its executors find room at once.
        run_s: expected time with so many; infinite with none.
        gib_seconds: reserved memory x that time.
    """

    candidate: Candidate
    executors: int
    run_s: float
    gib_seconds: float


@dataclass(frozen=True)
class Recommendation:
    """The answer for one job.

    Attributes:
        choice: None where nothing is advised; `advice.warning` says why then.
        load: that it is for.
        outlooks: every candidate, the choice among them.
    """

    job: Job
    advice: Advice
    choice: Choice | None
    load: Load
    outlooks: tuple[Outlook, ...]


def recommend(store: Store, reference: str, load: Load | float) -> Recommendation:
    """Chooses from the advice of a job.

    Args:
        store: the store.
        reference: the job's id, key or name.
        load: of the cluster; a number is the part of what its queue may hold that is taken, 0 to 1.

    Raises:
        InputError: there is no such job, or nothing is known about it yet.
        StoreError: its advice cannot be read.
    """
    job = store.jobs.resolve(reference)
    document = store.advice.get(job.key)
    if document is None:
        raise InputError(f"nothing is known about {job.name} yet", "tune it first: yarntune tune APP")
    try:
        advice = Advice.from_json(document)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("the advice is another version's", "tune the job anew: yarntune tune APP") from error
    met = load if isinstance(load, Load) else supposed(advice, load)
    outlooks = tuple(_outlook(each, met) for each in advice.candidates)
    return Recommendation(job, advice, choose(advice, met), met, outlooks)


def load_now(settings: Settings, environ: Mapping[str, str], queue: str) -> Load:
    """The load of the cluster that the settings name.

    Raises:
        ClusterError, YarnError: there is none, or it does not answer.
    """
    from tuner.services.load import read_load
    from tuner.yarn.client import ResourceManagerClient
    from tuner.yarn.locate import locate

    with ResourceManagerClient.of(locate(settings, environ), settings) as client:
        client.info()
        found = read_load(client, queue)
    if found is None:
        raise ClusterError("the ResourceManager does not tell its load", "name one: --load 0 for an idle cluster")
    return found


def supposed(advice: Advice, taken: float) -> Load:
    """A load in which a part of what the queue may hold is taken.

    Args:
        advice: whose limits say how large the cluster is.
        taken: 0 to 1.

    Raises:
        InputError: the advice does not say how large the cluster was.
    """
    if advice.limits is None:
        raise InputError("the advice does not say how large the cluster is", "tune the job anew: yarntune tune APP")
    limits = ClusterLimits(**advice.limits)
    memory_mib, vcores = (int((1.0 - taken) * n) for n in (limits.usable_memory_mib, limits.usable_vcores))
    return Load(
        available_memory_mib=memory_mib,
        total_memory_mib=limits.usable_memory_mib,
        available_vcores=vcores,
        total_vcores=limits.usable_vcores,
        pending_containers=0,
        applications_running=0,
        applications_pending=0,
    )


def _outlook(candidate: Candidate, load: Load) -> Outlook:
    executors = candidate.executors_within(load)
    run_s = candidate.run_with(executors)
    cost = candidate.gib_seconds(executors) if executors else math.inf
    return Outlook(candidate, executors, run_s, cost)
