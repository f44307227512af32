"""What a cluster is asked to be, and what there is: the values that the other modules hand to each other."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tuner.errors import InputError

DEFAULT_NAME = "default"
SCHEDULERS = ("capacity", "fair")
STORES = ("memory", "leveldb", "file")
# The least that a Spark ApplicationMaster is given is one minimum allocation.
MINIMUM_NODE_MEMORY_MIB = 512
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def check_name(name: str) -> None:
    """Refuses what is not a cluster's name: it becomes a folder, which ``down --purge`` removes.

    Raises:
        InputError: it has other characters than letters, digits, points, dashes and underscores.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a cluster's name",
            "begin with a letter or digit and use up to 63 letters, digits, points, dashes and underscores",
        )


@dataclass(frozen=True)
class ClusterSpec:
    """What ``up`` is asked for.

    Sizes are numbers that YARN reckons with, not a reservation on this machine: eight nodes of 64 GiB cost eight
    small JVMs.

    Attributes:
        name: tells clusters of one state folder apart; also the name of its folder.
        nodes: number of NodeManagers, at least 1.
        node_memory_mib: memory of each node (``yarn.nodemanager.resource.memory-mb``).
        node_vcores: vcores of each node (``yarn.nodemanager.resource.cpu-vcores``).
        scheduler: ``capacity`` or ``fair``.
        store: ``yarn.scheduler.configuration.store.class``: ``memory`` and ``leveldb`` can be changed over REST,
            ``file`` by editing the file and refreshing the queues. The Fair Scheduler knows ``file`` only.
        queues: text of a capacity-scheduler.xml or fair-scheduler.xml to start with; one queue, root.default, where
            it is not given.

    Raises:
        InputError: a value that no cluster can have.
    """

    name: str = DEFAULT_NAME
    nodes: int = 2
    node_memory_mib: int = 8192
    node_vcores: int = 8
    scheduler: str = "capacity"
    store: str = ""
    queues: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.nodes < 1:
            raise InputError(f"a cluster needs at least one node, not {self.nodes}")
        if self.node_memory_mib < MINIMUM_NODE_MEMORY_MIB:
            raise InputError(
                f"a node of {self.node_memory_mib} MiB is too small for any Spark application",
                f"give it {MINIMUM_NODE_MEMORY_MIB}m or more; it is a number only, nothing is reserved",
            )
        if self.node_vcores < 1:
            raise InputError(f"a node needs at least one vcore, not {self.node_vcores}")
        if self.scheduler not in SCHEDULERS:
            raise InputError(f"{self.scheduler!r} is not a scheduler", f"choose one of: {', '.join(SCHEDULERS)}")
        if not self.store:
            object.__setattr__(self, "store", "memory" if self.scheduler == "capacity" else "file")
        if self.store not in STORES:
            raise InputError(f"{self.store!r} is not a configuration store", f"choose one of: {', '.join(STORES)}")
        if self.scheduler == "fair" and self.store != "file":
            raise InputError(
                f"the Fair Scheduler has no {self.store} store: its queues are changed in fair-scheduler.xml",
                "leave --store out, or give --store file",
            )


@dataclass(frozen=True)
class ProcessRecord:
    """One daemon: its role (``resourcemanager`` or ``nodemanager-N``) and which process it is.

    Attributes:
        role: what it does.
        pid: its process id.
        start_time: when it started, seconds since the epoch (``psutil.Process.create_time``); a process with the same
            pid and another start is not ours.
        log: its log file.
    """

    role: str
    pid: int
    start_time: float
    log: str


@dataclass(frozen=True)
class RunningCluster:
    """A cluster that is up, as ``cluster.json`` keeps it.

    Attributes:
        spec: what was asked for.
        rm_url: ``http://127.0.0.1:PORT`` of the ResourceManager.
        hadoop_conf_dir: the folder for HADOOP_CONF_DIR and YARN_CONF_DIR.
        spark_conf_dir: the folder for SPARK_CONF_DIR.
        event_log_dir: where Spark applications leave their event logs.
        java_home: the Java that the daemons run on.
        nodes: the ids of the NodeManagers (``host:port``), in the order of their numbers.
        processes: the daemons; the ResourceManager first.
    """

    spec: ClusterSpec
    rm_url: str
    hadoop_conf_dir: Path
    spark_conf_dir: Path
    event_log_dir: Path
    java_home: Path
    nodes: tuple[str, ...]
    processes: tuple[ProcessRecord, ...]

    def to_json(self) -> dict[str, Any]:
        """The document in ``cluster.json``; the names of the spec's fields stand beside the others."""
        return {
            **asdict(self.spec),
            "nodes": list(self.nodes),
            "rm_url": self.rm_url,
            "hadoop_conf_dir": str(self.hadoop_conf_dir),
            "spark_conf_dir": str(self.spark_conf_dir),
            "event_log_dir": str(self.event_log_dir),
            "java_home": str(self.java_home),
            "processes": [asdict(process) for process in self.processes],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> RunningCluster:
        """Reads :meth:`to_json`'s document; a KeyError, TypeError or ValueError where it is another one."""
        nodes = tuple(str(node) for node in document["nodes"])
        return cls(
            spec=ClusterSpec(
                name=document["name"],
                nodes=len(nodes),
                node_memory_mib=int(document["node_memory_mib"]),
                node_vcores=int(document["node_vcores"]),
                scheduler=document["scheduler"],
                store=document["store"],
                queues=document["queues"],
            ),
            rm_url=document["rm_url"],
            hadoop_conf_dir=Path(document["hadoop_conf_dir"]),
            spark_conf_dir=Path(document["spark_conf_dir"]),
            event_log_dir=Path(document["event_log_dir"]),
            java_home=Path(document["java_home"]),
            nodes=nodes,
            processes=tuple(ProcessRecord(**process) for process in document["processes"]),
        )


@dataclass(frozen=True)
class ClusterStatus:
    """How a cluster is.

    Attributes:
        name: its name.
        state: ``up`` (all works), ``degraded`` (answers, but something is wrong), ``dead`` (its ResourceManager is
            gone or does not answer) or ``down`` (not started, or ended by ``down``).
        problems: each a sentence that says what is wrong and what to do; empty when up or down.
        cluster: the record, where there is one.
        active_nodes: NodeManagers that the ResourceManager counts as running.
        running_applications: applications that hold containers now.
    """

    name: str
    state: str
    problems: tuple[str, ...] = ()
    cluster: RunningCluster | None = None
    active_nodes: int = 0
    running_applications: int = 0


@dataclass(frozen=True)
class Stopped:
    """What ``down`` did: how many daemons, and how many processes that their children had left, were ended."""

    name: str
    daemons: int = 0
    leftovers: int = 0
