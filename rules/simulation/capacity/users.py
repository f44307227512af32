"""Users of a leaf: who is active, and how much each of them may have (``UsersManager``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rules.simulation.capacity.arithmetic import compare, compare_in_partition, multiply_up, round_down, round_up
from rules.simulation.capacity.state import app_at, cluster_of, in_partition, limits_of, queue_at, user_at, weight_at
from rules.simulation.compiled import compiled

__all__ = [
    "count_application",
    "drop_application",
    "over_user_limit",
    "set_in_sums",
    "set_weights",
    "sum_weights",
    "update_usage_ratio",
    "update_user_limit",
    "use",
    "user_limit",
]


@compiled
def set_weights(state: Any) -> None:
    """``updateUserWeights``: takes the users' weights from the present configuration."""
    members = state.users_count // state.partitions
    for row in range(state.users_count):
        user_at(state, row).weight = weight_at(state, state.configuration * members + row % members).weight
    for q in range(state.queues_count):
        queue_at(state, q).version += 1
        sum_weights(state, q)


@compiled
def sum_weights(state: Any, q: int) -> None:
    """``sumActiveUsersTimesWeights``: floats, added up in the order of a set of names, in which the rows are."""
    queue = queue_at(state, q)
    total = np.float32(0)
    for row in range(queue.first_user, queue.first_user + queue.users):
        if user_at(state, row).in_sums:
            total = np.float32(total + np.float32(user_at(state, row).weight))
    queue.counted_weight = total


@compiled
def user_limit(state: Any, job: int) -> tuple[int, int]:
    """The leaf's user limit times the weight of the application's user."""
    app, cluster = app_at(state, job), cluster_of(state)
    queue, weight = queue_at(state, app.queue), user_at(state, app.user).weight
    if weight == 1:
        return queue.limit_memory, queue.limit_vcores
    limit_m = round_down(int(queue.limit_memory * weight), cluster.step_memory)
    return limit_m, round_down(int(queue.limit_vcores * weight), cluster.step_vcores)


@compiled
def over_user_limit(state: Any, job: int, freed_m: int, freed_v: int) -> bool:
    """Whether the application's user uses more than the limit (exactly as much is not more)."""
    app = app_at(state, job)
    if not limits_of(state, app.queue).user_limited:
        return False
    user = user_at(state, app.user)
    limit_m, limit_v = user_limit(state, job)
    held_m, held_v = user.used_memory - freed_m, user.used_vcores - freed_v
    return bool(compare(cluster_of(state), held_m, held_v, limit_m, limit_v) > 0)


@compiled
def use(state: Any, job: int, memory: int, vcores: int) -> None:
    """The application's user holds more or less; a change that outdates the leaf's user limits in all partitions."""
    app = app_at(state, job)
    user, queue = user_at(state, app.user), queue_at(state, app.queue)
    user.used_memory += memory
    user.used_vcores += vcores
    if user_at(state, app.member).in_sums:
        queue.counted_memory += memory
        queue.counted_vcores += vcores
    queue_at(state, app.leaf).version += 1
    cluster = cluster_of(state)
    ratio = np.float32(np.float32(user.used_memory) / np.float32(cluster.memory))
    if cluster.vcores > 0:
        ratio = max(ratio, np.float32(np.float32(user.used_vcores) / np.float32(cluster.vcores)))
    change = np.float32(ratio - np.float32(user.ratio))
    user.ratio = ratio
    queue.usage_ratio = np.float32(np.float32(queue.usage_ratio) + change)


@compiled
def update_usage_ratio(state: Any, q: int) -> None:
    """Sums the users' ratios anew, as a change of the configuration does."""
    queue = queue_at(state, q)
    total = np.float32(0)
    for row in range(queue.first_user, queue.first_user + queue.users):
        total = np.float32(total + np.float32(user_at(state, row).ratio))
    queue.usage_ratio = total


@compiled
def count_application(state: Any, job: int) -> None:
    """``activateApplication``: the application asks for something, so its user counts as active.

    Only where the user has an activated application by now; an ask recorded before that never counts.
    """
    app = app_at(state, job)
    user, queue = user_at(state, app.member), queue_at(state, app.leaf)
    if user.active <= 0:
        return
    if user.counted == 0:
        queue.active_users += 1
        queue.version += 1
        if not user.in_sums:
            set_in_sums(state, app.leaf, app.member, 1)
    if not app.counted:
        app.counted = 1
        user.counted += 1


@compiled
def drop_application(state: Any, job: int) -> None:
    """``deactivateApplication``: the application asks for nothing more."""
    app = app_at(state, job)
    if not app.counted:
        return
    user, queue = user_at(state, app.member), queue_at(state, app.leaf)
    app.counted = 0
    user.counted -= 1
    if user.counted > 0:
        return
    queue.active_users -= 1
    queue.version += 1
    if user.in_sums:
        set_in_sums(state, app.leaf, app.member, 0)


@compiled
def set_in_sums(state: Any, leaf: int, member: int, counts: int) -> None:
    """What a user holds, in every partition, counts among what the leaf's active users do, or no longer."""
    user_at(state, member).in_sums = counts
    sum_weights(state, leaf)
    sign = 2 * counts - 1
    for partition in range(state.partitions):
        user = user_at(state, in_partition(state, member, partition))
        queue = queue_at(state, partition * (state.queues_count // state.partitions) + leaf)
        queue.counted_memory += sign * user.used_memory
        queue.counted_vcores += sign * user.used_vcores


@compiled
def update_user_limit(state: Any, q: int) -> None:
    """``computeUserLimit`` for active users, kept until something of it changes.

    The larger of an equal share of what the active users have, and of the minimum percent of the queue (or of its use,
    where that is more); at most the factor times the queue.
    """
    queue, limit, cluster = queue_at(state, q), limits_of(state, q), cluster_of(state)
    home = queue_at(state, queue.home)
    if queue.limit_version == home.version:
        return
    queue.limit_version = home.version
    step_m, step_v = cluster.step_memory, cluster.step_vcores
    none = limit.guaranteed_memory == 0 and limit.guaranteed_vcores == 0
    base_m, base_v = limit.guaranteed_memory, limit.guaranteed_vcores
    if compare_in_partition(cluster, base_m, base_v, step_m, step_v) < 0:
        base_m, base_v = step_m, step_v
    consumed_m = multiply_up(cluster, cluster.memory, queue.usage_ratio, step_m)
    consumed_v = multiply_up(cluster, cluster.vcores, queue.usage_ratio, step_v)
    current_m, current_v = base_m, base_v
    if compare_in_partition(cluster, consumed_m, consumed_v, base_m, base_v) >= 0:
        current_m, current_v = consumed_m + step_m, consumed_v + step_v
    share_m = share_v = 0
    if home.counted_weight > 0:
        share_m = _divide_up(queue.counted_memory + step_m, home.counted_weight)
        share_v = _divide_up(queue.counted_vcores + step_v, home.counted_weight)
    least_m = (int(current_m * limit.user_percent) + 99) // 100
    least_v = (int(current_v * limit.user_percent) + 99) // 100
    if compare_in_partition(cluster, share_m, share_v, least_m, least_v) < 0:
        share_m, share_v = least_m, least_v
    if limit.user_factor == -1 or none:
        most_m, most_v = round_down(limit.maximum_memory, step_m), round_down(limit.maximum_vcores, step_v)
    else:
        most_m, most_v = int(base_m * limit.user_factor), int(base_v * limit.user_factor)
    over = compare_in_partition(cluster, share_m, share_v, most_m, most_v) > 0
    queue.limit_by_factor = limit.user_factor != -1 and over
    if over:
        share_m, share_v = most_m, most_v
    queue.limit_memory, queue.limit_vcores = round_up(share_m, step_m), round_up(share_v, step_v)
    home.waiting_users = 0
    for row in range(home.first_user, home.first_user + home.users):
        if user_at(state, row).pending > 0 and user_at(state, row).active <= 0:
            home.waiting_users += 1


@compiled
def _divide_up(amount: int, by: float) -> int:
    return math.ceil(np.float32(np.float32(amount) / np.float32(by)))
