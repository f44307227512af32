"""Follows a live replay: what happened to each job, what the cluster held, and that nothing stays behind."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log
from typing import Any, Final

import numpy as np

from tuner.errors import ClusterError, InputError, YarntuneError
from tuner.settings import Settings
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target
from tuner.yarn.model import FINAL_STATES, Application
from workloads.blocks.calibration import Calibration, calibrate
from workloads.blocks.mix import Block, kernel_shares
from workloads.blocks.run import runner_command
from workloads.combine.segments import CPI_SIGMA, CYCLES_PER_ACCESS, TYPICAL_CPI
from workloads.replay.driver import Driver
from workloads.seeds import job_seed
from workloads.trace import Case, Job

__all__ = ["LiveJob", "LiveReplay", "LiveScale", "Usage", "replay_live"]

LEAST_TASK_S: Final = 0.1
"""A task below this is made so long: the container's start alone takes about as much."""
_POLL_S: Final = 1.0
_START_TIMEOUT_S: Final = 60.0
_KILL_TIMEOUT_S: Final = 30.0
_THREADS: Final = 8
_LEAST_BLOCK_MIB: Final = 8.0
_MACHINE_SHARE: Final = 0.5
_MEMORY_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class LiveScale:
    """What a container really uses of what it asks for: the cluster's sizes are numbers, the machine's are not.

    Attributes:
        cores_per_vcore: CPU share of a task for each vcore that it asks for.
        memory_share: of the memory that it asks for; at least 8 MiB.
    """

    cores_per_vcore: float
    memory_share: float = _MEMORY_SHARE

    @classmethod
    def of(cls, case: Case) -> LiveScale:
        """So that the whole cluster at work takes half of this machine's processors."""
        vcores = sum(node.vcores for node in case.nodes)
        return cls(min(1.0, _MACHINE_SHARE * (os.cpu_count() or 1) / vcores))


@dataclass(frozen=True, slots=True)
class LiveJob:
    """What happened to a job; times in seconds since the replay began, -1 where it did not happen.

    Attributes:
        id, queue: of the case.
        application: its id at the ResourceManager.
        am_start_s: its ApplicationMaster registered; ``first_s``: it got its first container.
        submit_s, finish_s: as the ResourceManager has them.
        state: ``finished``, ``failed``, ``rejected``, ``killed`` or ``unfinished``.
        words: why, where it is not finished.
        memory_mib_seconds, vcore_seconds: as the ResourceManager counted them.
    """

    id: str
    queue: str
    application: str = ""
    submit_s: float = -1.0
    am_start_s: float = -1.0
    first_s: float = -1.0
    finish_s: float = -1.0
    state: str = "unfinished"
    words: str = ""
    memory_mib_seconds: float = 0.0
    vcore_seconds: float = 0.0

    @property
    def latency_s(self) -> float:
        """From submission to end; -1 where it has not ended by itself."""
        return self.finish_s - self.submit_s if self.state == "finished" else -1.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What the ResourceManager counted at a time of the replay."""

    time_s: float
    allocated_mib: int
    allocated_vcores: int
    containers: int
    running: int
    pending: int


@dataclass(frozen=True, slots=True)
class LiveReplay:
    """A replay that has ended.

    Attributes:
        jobs: in the order of the case.
        usage: about once a second.
        elapsed_s: from the first submission on.
        problems: what went wrong on the way and did not end it.
        scale: what the containers really used.
    """

    jobs: tuple[LiveJob, ...]
    usage: tuple[Usage, ...]
    elapsed_s: float
    problems: tuple[str, ...]
    scale: LiveScale


def replay_live(
    case: Case,
    target: Target,
    settings: Settings,
    *,
    seed: int = 0,
    listen: str = "127.0.0.1",
    note: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, float], None] = lambda _ended, _now: None,
) -> LiveReplay:
    """Replays a case on a cluster whose queues exist; what still runs when this ends, by whatever cause, is killed.

    Args:
        case: jobs with a container per task. Its nodes and configuration are not applied.
        target: the cluster.
        settings: for the cache and the ResourceManager's time-out.
        seed: of the blocks' CPI.
        listen: address of this machine that the nodes reach; ApplicationMaster containers connect to it.
        note: told what takes its time before the start.
        progress: told how many jobs have ended at which second.

    Raises:
        InputError: a job has executors, or its queue is not there.
        ClusterError: the cluster's configuration folder is not known, or it wants Kerberos.
        YarntuneError: the ResourceManager is gone, or the JVM.
    """
    if target.hadoop_conf_dir is None:
        raise ClusterError(
            "a live replay needs Hadoop's configuration, and only an address is known",
            "set HADOOP_CONF_DIR to the folder of the cluster's yarn-site.xml",
        )
    if target.kerberos:
        raise ClusterError(
            "a live replay submits as the case's users, which a cluster with Kerberos does not let it",
            "replay on an embedded cluster with --embedded",
        )
    with ResourceManagerClient.of(target, settings) as rm:
        _check(case, rm)
        scale = LiveScale.of(case)
        tag = f"yarntune-replay-{uuid.uuid4().hex[:12]}"
        plan = _plan(case, calibrate(settings.cache_dir, note=note), scale, seed, tag=tag, listen=listen)
        follower = _Follower(case, rm, progress)
        try:
            with Driver(plan, settings, target.hadoop_conf_dir) as driver:
                follower.follow(driver)
        finally:
            left = _kill_left(rm, tag)
        return follower.result(tag, scale, left)


def _check(case: Case, rm: ResourceManagerClient) -> None:
    for job in case.jobs:
        if job.executors is not None:
            raise InputError(
                f"{job.id} holds executors; a live replay runs a container for each task",
                "make the case without --spark",
            )
    tree = rm.scheduler()
    for name in sorted({job.queue for job in case.jobs}):
        if tree.queue(name) is None:
            raise InputError(
                f"the cluster has no queue {name}",
                "give it the case's queues, or replay with --embedded, which starts a cluster that has them",
            )


def _plan(
    case: Case, calibration: Calibration, scale: LiveScale, seed: int, *, tag: str, listen: str
) -> dict[str, Any]:
    jobs = [
        {
            "id": job.id,
            "user": job.user,
            "queue": job.queue,
            "submit": job.submit_s,
            "am_memory": job.am_memory_mib,
            "tasks": _tasks(job, calibration, scale, seed),
        }
        for job in case.jobs
    ]
    return {
        "tag": tag,
        "listen": listen,
        "threads": _THREADS,
        "am_heartbeat_ms": max(20, round(case.am_heartbeat_s * 1000)),
        "runner": " ".join(runner_command(calibration)),
        "jobs": jobs,
    }


def _tasks(job: Job, calibration: Calibration, scale: LiveScale, seed: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(job_seed(seed, job.id))
    cpi = float(random.lognormal(log(TYPICAL_CPI), CPI_SIGMA))
    kernels = {
        name: round(share, 4) for name, share in kernel_shares(cpi, cpi / CYCLES_PER_ACCESS, calibration).items()
    }
    return [
        {
            "memory": task.memory_mib,
            "vcores": task.vcores,
            "block": Block(
                duration_s=round(max(task.duration_s, LEAST_TASK_S), 3),
                cores=round(task.vcores * scale.cores_per_vcore, 4),
                memory_mib=max(task.memory_mib * scale.memory_share, _LEAST_BLOCK_MIB),
                kernels=kernels,
            ).to_json(),
        }
        for task in job.tasks
    ]


class _Follower:
    """Puts together what the JVM and the ResourceManager tell."""

    def __init__(self, case: Case, rm: ResourceManagerClient, progress: Callable[[int, float], None]) -> None:
        self._case = case
        self._rm = rm
        self._progress = progress
        self._jobs = {job.id: LiveJob(job.id, job.queue) for job in case.jobs}
        self._usage: list[Usage] = []
        self._problems: list[str] = []
        self._zero_s = 0.0
        self._end_s = 0.0

    def follow(self, driver: Driver) -> None:
        """Until all jobs have ended, or the case's horizon is over."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        next_look = 0.0
        while time.monotonic() < deadline:
            event = driver.event(timeout_s=_POLL_S / 4)
            if event is not None:
                if event["event"] == "ready":
                    self._zero_s = event["time_ms"] / 1000
                    deadline = time.monotonic() + self._case.horizon_s
                if event["event"] == "done":
                    break
                self._take(event)
            if self._zero_s and time.monotonic() >= next_look:
                next_look = time.monotonic() + _POLL_S
                self._look()
        else:
            if not self._zero_s:
                raise YarntuneError(f"the replay's JVM was not ready within {_START_TIMEOUT_S:.0f} s")
        self._end_s = time.time()

    def _take(self, event: Mapping[str, Any]) -> None:
        at_s = event["time_ms"] / 1000 - self._zero_s
        kind, words = event["event"], event.get("words", "")
        if kind == "problem":
            self._problems.append(f"{event.get('job', '')}: {words}".removeprefix(": "))
            return
        job = self._jobs.get(event.get("job", ""))
        if job is None:
            return
        if kind == "submitted":
            job = replace(job, application=event["application"], submit_s=at_s)
        elif kind == "am_started":
            job = replace(job, am_start_s=at_s)
        elif kind == "first":
            job = replace(job, first_s=at_s)
        else:
            job = replace(job, state=kind, words=words, finish_s=at_s)
        self._jobs[job.id] = job

    def _look(self) -> None:
        metrics = self._rm.metrics()
        now_s = time.time() - self._zero_s
        self._usage.append(
            Usage(
                now_s,
                metrics.allocated.memory_mib,
                metrics.allocated.vcores,
                metrics.containers_allocated,
                metrics.apps_running,
                metrics.apps_pending,
            )
        )
        self._progress(sum(job.state != "unfinished" for job in self._jobs.values()), now_s)

    def result(self, tag: str, scale: LiveScale, left: tuple[str, ...]) -> LiveReplay:
        """With the ResourceManager's own times and counts."""
        known = {each.id: each for each in _of_replay(self._rm, tag, FINAL_STATES)}
        jobs = tuple(self._with_counts(self._jobs[job.id], known, left) for job in self._case.jobs)
        return LiveReplay(jobs, tuple(self._usage), self._end_s - self._zero_s, tuple(self._problems), scale)

    def _with_counts(self, job: LiveJob, known: Mapping[str, Application], left: tuple[str, ...]) -> LiveJob:
        found = known.get(job.application)
        if found is None:
            return job
        ended_s = found.finished_at_s - self._zero_s if found.finished_at_s is not None else job.finish_s
        return replace(
            job,
            submit_s=found.started_at_s - self._zero_s,
            finish_s=ended_s if job.state == "finished" else -1.0,
            state="unfinished" if job.application in left or job.state == "killed" else job.state,
            memory_mib_seconds=float(found.memory_seconds or 0),
            vcore_seconds=float(found.vcore_seconds or 0),
        )


def _of_replay(rm: ResourceManagerClient, tag: str, states: frozenset[str] | None = None) -> tuple[Application, ...]:
    return rm.applications(tags=(tag,)) if states is None else rm.applications(tags=(tag,), states=states)


def _kill_left(rm: ResourceManagerClient, tag: str) -> tuple[str, ...]:
    """Kills what of the replay has not ended, and waits for its end; the ids."""
    left = _of_replay(rm, tag)
    for application in left:
        rm.kill(application.id, _KILL_TIMEOUT_S)
    return tuple(application.id for application in left)
