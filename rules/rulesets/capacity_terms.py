"""What each rule of the Capacity Scheduler derives from a fact, but for the queues' shares.

Facts are about the cluster, a queue, a user, or a user of a queue; their fields are made in
:mod:`rules.rulesets.capacity_facts`. Hadoop keeps fractions as 32-bit floats, and so do the rules, because a rounding
decides whether one container more fits.
"""

from __future__ import annotations

import numpy as np

from rules.engine import Fact
from rules.rulesets.capacity_shares import Term, float32


def cluster_resources(fact: Fact) -> Term:
    """What all nodes have together. Shares of queues and users are shares of it; a full cluster gives nothing more."""
    return {"memory_mib": float(fact["memory_mib"]), "vcores": float(fact["vcores"])}


def dominant_resource(fact: Fact) -> Term:
    """Memory and vcores both count: amounts compare by the larger of their shares of the cluster, then by the other.

    Without it memory alone counts, and a node's vcores can be overbooked.
    """
    return {"vcores_count": float(fact["dominant"])}


def container_normalization(fact: Fact) -> Term:
    """A container is rounded up to a multiple of the minimum allocation, and is never smaller than it."""
    return {"memory_mib": float(fact["minimum_memory_mib"]), "vcores": float(fact["minimum_vcores"])}


def maximum_allocation(fact: Fact) -> Term:
    """A request for a container above the maximum allocation is refused, and its job can never run."""
    return {"memory_mib": float(fact["maximum_memory_mib"]), "vcores": float(fact["maximum_vcores"])}


def assignments_per_heartbeat(fact: Fact) -> Term:
    """A node's heartbeat hands out a limited number of containers, by default one of those without locality.

    Not with asynchronous scheduling, which does not wait for heartbeats.
    """
    return {
        "off_switch": float(fact["maximum_off_switch_assignments"]),
        "multiple": float(fact["multiple_assignments"]),
        "containers": float(fact["maximum_container_assignments"]),
    }


def asynchronous_scheduling(fact: Fact) -> Term:
    """Containers are handed out by threads of their own, in rounds every few milliseconds, not at heartbeats."""
    return {"round_s": float(fact["round_ms"]) / 1000 / max(float(fact["threads"]), 1)}


def reservation(_: Fact) -> Term:
    """A node on which the next container does not fit is reserved for it, so that large containers are not starved."""
    return {"reserve": 1.0}


def reservation_continue_looking(fact: Fact) -> Term:
    """An application that holds a reservation goes on looking at other nodes, and gives it up for a container there."""
    return {"continue": float(fact["continue_looking"])}


def queue_order(_: Fact) -> Term:
    """Among siblings the queue that uses least of what it is sure of is served first."""
    return {"by_usage": 1.0}


def queue_priority(fact: Fact) -> Term:
    """Under the parent's policy priority-utilization, siblings on the same side of their guarantee go by priority."""
    return {"priority": float(fact["priority"]), "children_by_priority": float(fact["children_by_priority"])}


def am_limit(fact: Fact) -> Term:
    """Application masters may use a share of the queue; others wait in state ACCEPTED, though the cluster be idle.

    A share of what the queue is sure of or, if more, of what it could have come to at the last assignment.
    """
    return {"fraction": float32(fact["maximum_am_resource_percent"])}


def user_am_limit(fact: Fact) -> Term:
    """The application masters of one user may use the user's part of the AM share: minimum percent, times factor."""
    return {"fraction": float32(fact["maximum_am_resource_percent"])}


def user_limit(fact: Fact) -> Term:
    """An active user of a queue gets an equal part of it, but no less than the minimum percent; blocked when over it.

    Shared among the users that ask for something. 100 means that the first user may have it all. A user who uses more
    than the limit is blocked, one who uses exactly as much is not.
    """
    return {"minimum_percent": float32(fact["minimum_user_limit_percent"])}


def user_limit_factor(fact: Fact) -> Term:
    """One user gets at most so many times what the queue is sure of, however idle the cluster; -1 switches it off."""
    return {"factor": float32(fact["user_limit_factor"])}


def application_order(fact: Fact) -> Term:
    """Applications of a queue are served in the order of their submission (fifo), or by least memory in use (fair)."""
    return {"fair": float(fact["ordering_policy"] == "fair")}


def size_based_weight(_: Fact) -> Term:
    """In fair order an application's use counts less the larger its demand: divided by the logarithm of it."""
    return {"size_based": 1.0}


def user_weight(fact: Fact) -> Term:
    """A user's weight: how many users this one counts for, in sharing a queue and in the user limit."""
    return {"weight": float32(fact["weight"])}


def parallel_applications(fact: Fact) -> Term:
    """At most so many applications of a queue, or of all queues below it, run beside each other; others wait."""
    return {"applications": float(fact["maximum_parallel"])}


def user_parallel_applications(fact: Fact) -> Term:
    """At most so many applications of one user, in all queues together, run beside each other; others wait."""
    return {"applications": float(fact["maximum_parallel"])}


def maximum_applications_per_user(fact: Fact) -> Term:
    """A queue refuses the application of a user who has too many in it: the percent of the queue's times the factor."""
    return {
        "applications": float(fact["maximum_applications"]),
        "of_all_applications": float(fact["system_applications"]),
        "part": float32(np.float32(fact["minimum_user_limit_percent"]) / np.float32(100))
        * float32(fact["user_limit_factor"]),
    }


def system_applications(fact: Fact) -> Term:
    """A cluster that holds so many applications, running and waiting, refuses another."""
    return {"applications": float(fact["system_applications"])}


def queue_state(_: Fact) -> Term:
    """A stopped queue refuses every new application; those that it has go on."""
    return {"stopped": 1.0}


def maximum_applications(fact: Fact) -> Term:
    """A queue that holds so many applications, running and waiting, refuses another.

    Where it is not configured: the queue's absolute capacity times the whole cluster's number of applications.
    """
    return {
        "applications": float(fact["maximum_applications"]),
        "of_all_applications": float(fact["system_applications"]),
    }
