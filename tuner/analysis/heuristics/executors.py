"""Executors: idle, waited for, short-lived, and waiting for each other's shuffle files."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.analysis.case import Case
from tuner.analysis.facts import Platform
from tuner.analysis.model import Change, Observation, Severity
from tuner.analysis.thresholds import limit

_DYNAMIC = "spark.dynamicAllocation.enabled"
_MOST = "spark.dynamicAllocation.maxExecutors"
_INSTANCES = "spark.executor.instances"
_FIRST = (_INSTANCES, "spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.initialExecutors")
_TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled"
_IDLE_AFTER = "spark.dynamicAllocation.executorIdleTimeout"


def idle_executors(case: Case) -> Iterator[Observation]:
    """Task slots that were reserved and in which nothing ran."""
    share, wall_s, life_s = case.metrics.idle_share, case.log.wall_s, case.metrics.executor_s
    if share is None or wall_s is None or life_s is None:
        return
    if share <= limit("idle-share") or wall_s < limit("idle-min-wall"):
        return
    used = case.facts.most_tasks_at_once
    needed = None if used is None else max(1, math.ceil(used / case.facts.slots))
    now = case.metrics.peak_executors
    changes, advice = _fewer(case, needed, now)
    reserved = None if case.memory is None else case.memory.before_granted_mib * life_s / 1024
    yield Observation(
        Severity.WARNING,
        f"{case.metrics.executors} executors",
        f"in {share:.0%} of the executors' task slots, over their lives, no task ran; at most"
        f" {'an unknown number of' if used is None else used} tasks ran at once on {now * case.facts.slots} slots",
        advice,
        "the run as fast"
        + ("" if reserved is None else f", and up to {reserved * share:.0f} of {reserved:.0f} GiB·s not reserved"),
        {"idle_share": round(share, 3), "most_tasks_at_once": used, "executors": now, "executors_needed": needed},
        changes,
    )


def _fewer(case: Case, needed: int | None, now: int) -> tuple[tuple[Change, ...], str]:
    if not case.facts.succeeded:
        return (), "executors idle in a run that fails: mend that first"
    dynamic = bool(case.facts.value(_DYNAMIC))
    cached = any(rdd.use_memory for rdd in case.log.rdds)
    if needed is not None and needed < now and not cached:
        reason = f"no more than {needed} executors were busy at once"
        names = (_MOST, *_FIRST) if dynamic else (_INSTANCES,)
        # What it starts with must not be above the most; what was not set follows.
        lowered = [name for name in names if name == _MOST or int(case.facts.conf.get(name) or 0) > needed]
        if _MOST in case.facts.pinned and dynamic:
            lowered = []
        changes = tuple(change for name in lowered for change in case.change(name, str(needed), reason))
        return changes, f"{needed} executors run as many tasks at once as {now} did"
    if dynamic:
        return (), f"they idle between stages: a shorter {_IDLE_AFTER} gives them back sooner"
    if now == 1 or case.facts.platform not in (Platform.YARN, Platform.KUBERNETES):
        return (), "it idles between jobs" if now == 1 else "they idle between jobs"
    if case.facts.own_version is None or case.facts.own_version < (3, 0):
        return (), f"they idle between stages: {_DYNAMIC}=true (with a shuffle service) gives them back"
    if cached:
        return (), "cached data is spread over them: fewer executors would hold more of it each; unpersist it first"
    reason = "executors come and go with the waiting tasks"
    changes = (
        *case.change(_DYNAMIC, "true", reason),
        *case.change(_TRACKING, "true", "keeps executors whose shuffle files are needed; no service has to run"),
        *case.change(_MOST, str(now), "as many as there were"),
    )
    if len({change.name for change in changes}) < 2 or _DYNAMIC in case.facts.pinned:
        return (), "they idle between stages, and dynamic allocation may not be switched on"
    return changes, "all of them are needed at times: dynamic allocation gives them back between stages"


def driver_alone(case: Case) -> Iterator[Observation]:
    """Time in which executors are there and no task runs at all."""
    wall_s, driver_s = case.log.wall_s, case.log.driver_s
    if not wall_s or driver_s is None:
        return
    alone_s = driver_s - case.facts.awaited_s
    if alone_s < max(limit("driver-min"), limit("driver-share") * wall_s):
        return
    is_local = case.facts.platform is Platform.LOCAL
    yield Observation(
        Severity.WARNING,
        "driver",
        f"no task ran in {alone_s:.0f} s of {wall_s:.0f} s ({alone_s / wall_s:.0%})"
        + ("" if is_local else ", the wait for executors not counted"),
        "the program works in the driver or waits for something else: look at what it does between jobs"
        + ("" if is_local else "; dynamic allocation gives executors back meanwhile"),
        "no number of executors makes that part faster",
        {"alone_s": round(alone_s, 1), "wall_s": round(wall_s, 1)},
    )


def waiting(case: Case) -> Iterator[Observation]:
    """Time from the application's start until the executors were there that its first task waited for."""
    awaited_s, start_s = case.facts.awaited_s, case.log.start_s
    if start_s is None or not case.log.wall_s:
        return
    if awaited_s < max(limit("wait-min"), limit("wait-share") * case.log.wall_s):
        return
    came = sorted(each.added_s for each in case.facts.workers if each.added_s is not None)
    there = sum(added_s <= start_s + awaited_s for added_s in came)
    yield Observation(
        Severity.INFO,
        "start",
        f"{there} executor{'' if there == 1 else 's'} came before the first task, the first {came[0] - start_s:.0f} s"
        f" and the last {awaited_s:.0f} s after the application's start",
        "executors that are fewer or smaller are granted sooner on a busy queue;"
        " spark.scheduler.minRegisteredResourcesRatio says how many of them the first task waits for",
        f"part of {awaited_s:.0f} s",
        {"awaited_s": round(awaited_s, 1), "first_executor_s": round(came[0] - start_s, 1), "executors": there},
    )


def short_lives(case: Case) -> Iterator[Observation]:
    """Executors that were given back soon after they came."""
    if not case.facts.value(_DYNAMIC):
        return
    ended = [w for w in case.facts.workers if w.added_s is not None and w.removed_s is not None]
    short = [w for w in ended if (w.removed_s or 0) - (w.added_s or 0) < limit("short-life")]
    if len(case.facts.workers) < limit("skew-min-tasks") or len(short) < limit("short-lives") * len(case.facts.workers):
        return
    after_s = float(case.facts.value(_IDLE_AFTER) or 0)
    longer_s = max(60, int(2 * after_s))
    yield Observation(
        Severity.INFO,
        f"{len(short)} executors",
        f"{len(short)} of {len(case.facts.workers)} executors lived less than {limit('short-life'):.0f} s;"
        f" an executor without tasks is given back after {after_s:.0f} s",
        f"keep them longer ({_IDLE_AFTER}), or ask for fewer (spark.dynamicAllocation.executorAllocationRatio)",
        "less time in starting executors",
        {"short_lived": len(short), "executors": len(case.facts.workers), "idle_timeout_s": after_s},
        case.change(_IDLE_AFTER, f"{longer_s}s", "executors were given back before they paid for their start")
        if after_s < longer_s <= 300 and after_s < limit("short-life")
        else (),
    )


def fetch_wait(case: Case) -> Iterator[Observation]:
    """Time in which tasks waited for shuffle data."""
    totals = case.log.totals
    if totals.run_s <= 0 or totals.fetch_wait_s <= limit("fetch-share") * totals.run_s:
        return
    share = totals.fetch_wait_s / totals.run_s
    yield Observation(
        Severity.WARNING,
        "shuffle",
        f"tasks waited {totals.fetch_wait_s:.0f} s for shuffle data, {share:.0%} of their run time;"
        f" {totals.shuffle_remote_bytes / 1024**2:.0f} MiB came from other hosts",
        "fewer and larger executors keep more of it local; spark.reducer.maxSizeInFlight fetches more at a time",
        f"up to {totals.fetch_wait_s:.0f} s of task time",
        {"fetch_wait_s": round(totals.fetch_wait_s, 1), "share": round(share, 3)},
    )
