"""The numbers of the rules that can keep a job waiting (see :mod:`rules.simulation.binding`)."""

from __future__ import annotations

from rules.rulesets.fair import FAIR_RULES

_ROWS = {rule.id: row for row, rule in enumerate(FAIR_RULES)}

NO_ROOM = _ROWS["cluster-resources"]
UPDATE_STEP = _ROWS["fair-update-step"]
HEARTBEAT = _ROWS["fair-assign-multiple"]
WEIGHT = _ROWS["fair-weight"]
ORDER_FAIR = _ROWS["fair-order-fair"]
ORDER_FIFO = _ROWS["fair-order-fifo"]
ORDER_DRF = _ROWS["fair-order-drf"]
MAX_SHARE = _ROWS["fair-max-share"]
AM_SHARE = _ROWS["fair-am-share"]
MAX_RUNNING_APPS = _ROWS["fair-max-running-apps"]
USER_MAX_RUNNING_APPS = _ROWS["fair-user-max-running-apps"]

assert NO_ROOM == 0  # where the core counts the time in which no node has room
assert (ORDER_FIFO, ORDER_DRF) == (ORDER_FAIR + 1, ORDER_FAIR + 2)  # in the order of the policies' numbers
