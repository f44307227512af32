"""One round of preemption between queues (``ProportionalCapacityPreemptionPolicy``), at intervals of the monitor."""

from __future__ import annotations

from typing import Any

from rules.simulation.application_ids import attempt_hash
from rules.simulation.capacity.order import place_stale
from rules.simulation.capacity.preemption_shares import any_above_zero, compare_in, is_spared, monitor_of, share_out
from rules.simulation.capacity.preemption_tables import (
    choice_at,
    doomed_at,
    preempted_leaf_at,
    skipped_at,
    tier_at,
)
from rules.simulation.capacity.reservations import unreserve
from rules.simulation.capacity.state import app_at, cluster_of, limits_of, queue_at, served_at
from rules.simulation.compiled import compiled
from rules.simulation.containers import KILLED
from rules.simulation.kills import begin_anew, kill_am, kill_container
from rules.simulation.tables import ask_at, container_at, job_at, node_at

__all__ = ["run_monitor"]


@compiled
def run_monitor(state: Any) -> None:
    """Runs the rounds that are due by now."""
    now_ms = int(state.now * 1000.0 + 0.5)
    while state.monitor_ms <= now_ms:
        _edit_schedule(state)
        state.last_monitor_ms = state.monitor_ms
        state.monitor_ms += monitor_of(state).interval_ms


@compiled
def _edit_schedule(state: Any) -> None:
    """Reckons, chooses (``FifoCandidatesSelector``), and kills what was chosen before and has had its time."""
    state.partition = 0  # others are passed over
    cluster, monitor = cluster_of(state), monitor_of(state)
    allowed_m, allowed_v = int(cluster.memory * monitor.round), int(cluster.vcores * monitor.round)
    share_out(state, allowed_m, allowed_v)
    state.doomed_containers = state.chosen_apps = 0
    for i in range(state.preempted_leaves_count):
        q = preempted_leaf_at(state, i).row
        tier = tier_at(state, q)
        if not limits_of(state, q).present or is_spared(state, q):
            continue
        place_stale(state, q)
        if compare_in(state, cluster.memory, cluster.vcores, tier.target_memory, tier.target_vcores, 0, 0) > 0:
            allowed_m, allowed_v = _choose_in_leaf(state, q, allowed_m, allowed_v)
    _kill_doomed(state)


@compiled
def _kill_doomed(state: Any) -> None:
    """All containers are killed before the first of the attempts whose AMs are among them ends and begins anew."""
    ams = 0
    for i in range(state.doomed_containers):
        doomed = doomed_at(state, i)
        row, job = doomed.row, doomed.job
        if container_at(state, row - 1).serial != doomed.serial:
            continue
        if row != job_at(state, job).am_container:
            kill_container(state, row)
            continue
        kill_am(state, row)
        place = ams
        while place > 0 and _ends_before(state, job, doomed_at(state, place - 1).job):
            doomed_at(state, place).job = doomed_at(state, place - 1).job
            place -= 1
        doomed_at(state, place).job = job
        ams += 1
    for i in range(ams):
        begin_anew(state, doomed_at(state, i).job)


@compiled
def _ends_before(state: Any, a: int, b: int) -> bool:
    """By the order of a HashMap of the attempts that containers were chosen of: by bucket, then as they were put in."""
    buckets = 16
    while 4 * state.chosen_apps > 3 * buckets:
        buckets *= 2
    bucket_a = attempt_hash(a, job_at(state, a).attempts + 1) & (buckets - 1)
    bucket_b = attempt_hash(b, job_at(state, b).attempts + 1) & (buckets - 1)
    if bucket_a != bucket_b:
        return bool(bucket_a < bucket_b)
    return bool(choice_at(state, a).place < choice_at(state, b).place)


@compiled
def _count_choice(state: Any, job: int) -> None:
    """Something of the application was chosen in this round."""
    choice = choice_at(state, job)
    if choice.round != state.monitor_ms:
        choice.round = state.monitor_ms
        choice.place = state.chosen_apps
        state.chosen_apps += 1


@compiled
def _wants(state: Any, tier: Any) -> bool:
    """Whether something is still to be obtained from the leaf."""
    cluster = cluster_of(state)
    return bool(compare_in(state, cluster.memory, cluster.vcores, tier.target_memory, tier.target_vcores, 0, 0) > 0)


@compiled
def _choose_in_leaf(state: Any, q: int, allowed_m: int, allowed_v: int) -> tuple[int, int]:
    """From the last application to the first; AMs at the end, and only what they hold beyond their share."""
    queue, tier, limit = queue_at(state, q), tier_at(state, q), limits_of(state, q)
    state.skipped_ams = 0
    skipped_m = skipped_v = 0
    for i in range(queue.first_app + queue.active - 1, queue.first_app - 1, -1):
        if not _wants(state, tier):
            break
        job = served_at(state, i).row
        if app_at(state, job).queue != q:
            continue
        allowed_m, allowed_v = _give_up_reservations(state, job, tier, allowed_m, allowed_v)
        for ask_row in range(job_at(state, job).ask_end - 1, job_at(state, job).am_ask - 1, -1):
            row = job_at(state, job).first_container
            while row > 0 and _wants(state, tier):
                container = container_at(state, row - 1)
                if container.ask == ask_row and row == job_at(state, job).am_container:
                    skipped_at(state, state.skipped_ams).row = row
                    state.skipped_ams += 1
                    skipped_m += ask_at(state, ask_row).memory
                    skipped_v += ask_at(state, ask_row).vcores
                elif container.ask == ask_row and container.standing != KILLED:
                    allowed_m, allowed_v = _choose(state, tier, row, allowed_m, allowed_v)
                row = container.next
    fraction = max(limit.am_fraction, 0.0)
    most_m, most_v = int(limit.guaranteed_memory * fraction), int(limit.guaranteed_vcores * fraction)
    cluster = cluster_of(state)
    for i in range(state.skipped_ams):
        over = compare_in(state, cluster.memory, cluster.vcores, skipped_m, skipped_v, most_m, most_v) > 0
        if not over or not _wants(state, tier):
            break
        before_m, before_v = allowed_m, allowed_v
        allowed_m, allowed_v = _choose(state, tier, skipped_at(state, i).row, allowed_m, allowed_v)
        skipped_m -= before_m - allowed_m
        skipped_v -= before_v - allowed_v
    return allowed_m, allowed_v


@compiled
def _give_up_reservations(state: Any, job: int, tier: Any, allowed_m: int, allowed_v: int) -> tuple[int, int]:
    """The application's reservations are dropped, whether that is enough or not."""
    for node_row in range(state.nodes_count):
        if app_at(state, job).reservations == 0 or not _wants(state, tier):
            break
        if node_at(state, node_row).reserved_by == job:
            ask = ask_at(state, node_at(state, node_row).reserved_ask)
            chosen, allowed_m, allowed_v = _obtain(state, tier, ask, allowed_m, allowed_v)
            if chosen:
                _count_choice(state, job)
            if monitor_of(state).kills:
                unreserve(state, node_row)
    return allowed_m, allowed_v


@compiled
def _obtain(state: Any, tier: Any, ask: Any, allowed_m: int, allowed_v: int) -> tuple[bool, int, int]:
    """``tryPreemptContainerAndDeductResToObtain``: whether a container of this size is chosen, and what is left."""
    cluster = cluster_of(state)
    if tier.target_memory == 0:
        tier.target_memory = -1
    if tier.target_vcores == 0 and cluster.vcores > 0:
        tier.target_vcores = -1
    target_m, target_v = tier.target_memory, tier.target_vcores
    if not any_above_zero(state, target_m, target_v) or ask.memory > allowed_m or ask.vcores > allowed_v:
        return False, allowed_m, allowed_v
    if monitor_of(state).conservative:
        helps = target_m > 0 and (cluster.vcores == 0 or target_v > 0)
    else:
        after_m, after_v = max(target_m - ask.memory, 0), max(target_v - ask.vcores, 0)
        of_m, of_v = cluster.memory, cluster.vcores
        helps = compare_in(state, of_m, of_v, after_m, after_v, max(target_m, 0), max(target_v, 0)) < 0
    if not helps:
        return False, allowed_m, allowed_v
    tier.target_memory -= ask.memory
    tier.target_vcores -= ask.vcores
    return True, allowed_m - ask.memory, allowed_v - ask.vcores


@compiled
def _choose(state: Any, tier: Any, row: int, allowed_m: int, allowed_v: int) -> tuple[int, int]:
    """Chooses a container, if it helps: it is marked, or killed where it was marked long enough ago."""
    container, monitor = container_at(state, row - 1), monitor_of(state)
    chosen, allowed_m, allowed_v = _obtain(state, tier, ask_at(state, container.ask), allowed_m, allowed_v)
    if chosen:
        _count_choice(state, container.job)
    if chosen and monitor.kills:
        # A mark that has not come to anything for twice the time was forgotten at the end of a round.
        since_ms = container.marked_ms
        if since_ms < 0 or since_ms + 2 * monitor.wait_ms < state.last_monitor_ms:
            container.marked_ms = state.monitor_ms
        elif since_ms + monitor.wait_ms <= state.monitor_ms:
            doomed_at(state, state.doomed_containers).row = row
            doomed_at(state, state.doomed_containers).serial = container.serial
            doomed_at(state, state.doomed_containers).job = container.job
            state.doomed_containers += 1
    return allowed_m, allowed_v
