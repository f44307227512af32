"""How a cluster is, in words."""

from __future__ import annotations

from pathlib import Path

import psutil

from tuner.settings import Settings
from workloads.cluster import processes
from workloads.cluster.layout import Layout, known_names
from workloads.cluster.probe import Answer, ask
from workloads.cluster.spec import ClusterStatus, RunningCluster

ANSWER_TIMEOUT_S = 5.0
# Below this the local file system may refuse a container's files while YARN still calls the disk good.
LITTLE_FREE_BYTES = 256 * 1024**2


def status(name: str, settings: Settings) -> ClusterStatus:
    """Looks at one cluster: its processes, its ResourceManager's answer, its disk.

    Takes no lock, so it answers while ``up`` or ``down`` is at work.
    """
    layout = Layout.of(settings, name)
    running = layout.read()
    if running is None:
        return ClusterStatus(name, "down")
    dead = [record for record in running.processes if processes.find(record) is None]
    problems = [
        f"the {record.role} (pid {record.pid}) is dead: its log is {record.log}; "
        f"`yarntune cluster up --name {name}` starts the cluster anew"
        for record in dead
    ]
    problems += _disk_problems(layout.root)
    if any(record.role == "resourcemanager" for record in dead):
        return ClusterStatus(name, "dead", tuple(problems), running)
    answer = ask(running.rm_url, timeout_s=ANSWER_TIMEOUT_S)
    if answer is None:
        problems.append(
            f"the ResourceManager at {running.rm_url} runs but does not answer within {ANSWER_TIMEOUT_S:.0f} s: "
            f"the machine may be overloaded; look again, or end it with `yarntune cluster down --name {name}`"
        )
        return ClusterStatus(name, "dead", tuple(problems), running)
    problems += _node_problems(running, answer)
    state = "degraded" if problems else "up"
    return ClusterStatus(name, state, tuple(problems), running, answer.active_nodes, answer.running_applications)


def statuses(settings: Settings) -> tuple[ClusterStatus, ...]:
    """Every cluster that has a folder, by name."""
    return tuple(status(name, settings) for name in known_names(settings))


def _disk_problems(folder: Path) -> list[str]:
    try:
        free = psutil.disk_usage(str(folder)).free
    except OSError as error:
        return [f"the state folder cannot be read: {error}"]
    if free >= LITTLE_FREE_BYTES:
        return []
    return [
        f"the disk of {folder} is full ({free // 1024**2} MiB left): free some space; "
        "the nodes come back by themselves within seconds"
    ]


def _node_problems(running: RunningCluster, answer: Answer) -> list[str]:
    problems = []
    states = {node.node_id: node for node in answer.nodes}
    for number, node_id in enumerate(running.nodes, start=1):
        node = states.get(node_id)
        if node is None:
            problems.append(f"node {number} ({node_id}) is not known to the ResourceManager: see its log")
        elif node.state != "RUNNING":
            report = f": {node.health_report}" if node.health_report else ""
            problems.append(f"node {number} ({node_id}) is {node.state} and gets no containers{report}")
    return problems
