"""The numbers of the rules that can keep a job waiting (see :mod:`rules.simulation.binding`)."""

from __future__ import annotations

from rules.rulesets.capacity import RULES

_ROWS = {rule.id: row for row, rule in enumerate(RULES)}

NO_ROOM = _ROWS["cluster-resources"]
HEARTBEAT = _ROWS["assignments-per-heartbeat"]
QUEUE_ORDER = _ROWS["queue-order"]
APPLICATION_ORDER = _ROWS["application-order"]
MAXIMUM_CAPACITY = _ROWS["maximum-capacity"]
USER_LIMIT = _ROWS["user-limit"]
USER_LIMIT_FACTOR = _ROWS["user-limit-factor"]
AM_LIMIT = _ROWS["am-limit"]
USER_AM_LIMIT = _ROWS["user-am-limit"]
PARALLEL_APPLICATIONS = _ROWS["parallel-applications"]
USER_PARALLEL_APPLICATIONS = _ROWS["user-parallel-applications"]

assert NO_ROOM == 0  # where the core counts the time in which no node has room
