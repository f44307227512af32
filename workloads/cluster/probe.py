"""What the ResourceManager of an embedded cluster says about itself, for ``up`` and ``status``.

Three fields of two pages, asked many times a second while it starts, so it is not the client of :mod:`tuner.yarn`.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

# A proxy of the environment has no business between this machine and itself.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class NodeState:
    """A NodeManager as the ResourceManager sees it: its id, its state (RUNNING, UNHEALTHY, LOST), and its report."""

    node_id: str
    state: str
    health_report: str


@dataclass(frozen=True)
class Answer:
    """What the ResourceManager counts."""

    nodes: tuple[NodeState, ...]
    running_applications: int

    @property
    def active_nodes(self) -> int:
        """Nodes that take containers."""
        return sum(node.state == "RUNNING" for node in self.nodes)


def ask(rm_url: str, *, timeout_s: float) -> Answer | None:
    """The ResourceManager's answer; None when it does not give one in time."""
    try:
        metrics = _get(f"{rm_url}/ws/v1/cluster/metrics", timeout_s)["clusterMetrics"]
        nodes = (_get(f"{rm_url}/ws/v1/cluster/nodes", timeout_s).get("nodes") or {}).get("node") or []
        return Answer(
            tuple(NodeState(node["id"], node["state"], node.get("healthReport") or "") for node in nodes),
            int(metrics["appsRunning"]),
        )
    except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _get(url: str, timeout_s: float) -> Any:
    with _OPENER.open(url, timeout=timeout_s) as response:
        return json.load(response)
