"""Starting, ending and looking at clusters."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.errors import ClusterError
from tuner.settings import Settings
from workloads.cluster import archives, config, daemons, processes
from workloads.cluster.archives import Tuning
from workloads.cluster.jars import ensure_jars, extract_leveldb_classes, pyspark_home
from workloads.cluster.java import MINIMUM_VERSION, Java, find_java, java_version
from workloads.cluster.layout import Layout, write_text
from workloads.cluster.probe import ask
from workloads.cluster.spec import ClusterSpec, ProcessRecord, RunningCluster, Stopped

START_TIMEOUT_S = 120.0
ATTEMPTS = 4
SWEEPS = 3
_POLL_S = 0.05
# Below Linux's range of ports for outgoing connections, so that a connection of our own cannot take one.
_PORT_RANGE = (20000, 32000)
_PORT_TAKEN = ("BindException", "Address already in use", "Port in use")

Note = Callable[[str], None]


class _PortTakenError(Exception):
    """Another program took a port between our look and the daemon's start."""


@dataclass(frozen=True)
class _Launch:
    """One attempt: everything that the daemons are started from."""

    spec: ClusterSpec
    layout: Layout
    ports: config.Ports
    java: Java
    jars: tuple[Path, ...]
    tuning: Tuning


def start(
    spec: ClusterSpec, settings: Settings, *, note: Note = lambda _: None, tuning: Tuning | None = None
) -> RunningCluster:
    """Starts a cluster, or returns the one that is up already.

    What a crash or a reboot left of it is ended and cleaned first. If it cannot be started, or this call is
    interrupted, nothing of it keeps running.

    Args:
        spec: what it is asked to be.
        settings: names the state folder and the cache.
        note: told what is going on.
        tuning: laid over the settings of a cluster that has to be started; the class-data archives by default.

    Raises:
        ClusterError: one of the same name and another shape is up, or a daemon does not start; the message has the
            last line that it logged.
        MissingToolError: there is no Java.
    """
    layout = Layout.of(settings, spec.name)
    with layout.locked():
        running = layout.read()
        if running is not None and _is_up(running):
            if running.spec != spec:
                raise ClusterError(
                    f"the cluster {spec.name} is up already and is another one: {describe(running.spec)}",
                    f"end it with `yarntune cluster down --name {spec.name}`, or start this one under another --name",
                )
            return running
        java = find_java()
        jars = daemons.class_path(ensure_jars(settings, note=note), pyspark_home() / "jars")
        if tuning is None:
            tuning = archives.tuning(settings, java, jars, pyspark_home())
        if spec.store == "leveldb":
            jars = (extract_leveldb_classes(settings), *jars)
        _end_all(layout, running)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _start_once(_Launch(spec, layout, _free_ports(spec.nodes), java, jars, tuning))
            except _PortTakenError:
                note(f"a port was taken by another program, starting again ({attempt} of {ATTEMPTS})")
    raise ClusterError("no free ports could be had", "see which program takes ports on 127.0.0.1 so fast")


def describe(spec: ClusterSpec) -> str:
    """A cluster's shape in words."""
    nodes = (
        f"{spec.nodes} node{'s' if spec.nodes > 1 else ''} of {spec.node_memory_mib} MiB and {spec.node_vcores} vcores"
    )
    return f"{nodes}, {spec.scheduler} scheduler, {spec.store} store"


def _is_up(running: RunningCluster) -> bool:
    alive = all(processes.find(record) is not None for record in running.processes)
    return alive and ask(running.rm_url, timeout_s=10.0) is not None


def _start_once(launch: _Launch) -> RunningCluster:
    # A leveldb store keeps what it was first given: a bad queue file in it would be in the way of every next start.
    new_store = launch.spec.queues is not None or not launch.layout.store.exists()
    _write_files(launch)
    with _ended_on_failure(launch.layout, remove_store=new_store):
        records = _spawn_all(launch)
        running = RunningCluster(
            spec=launch.spec,
            rm_url=f"http://{config.HOST}:{launch.ports.web}",
            hadoop_conf_dir=launch.layout.hadoop_conf,
            spark_conf_dir=launch.layout.spark_conf,
            event_log_dir=launch.layout.event_logs,
            java_home=launch.java.home,
            nodes=(),
            processes=records,
        )
        running = replace(running, nodes=_wait_until_ready(running, launch))
        launch.layout.write(running)
    return running


@contextlib.contextmanager
def _ended_on_failure(layout: Layout, *, remove_store: bool) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _end_all(layout, None)
        if remove_store:
            shutil.rmtree(layout.store, ignore_errors=True)
        raise


def _write_files(launch: _Launch) -> None:
    spec, layout, ports = launch.spec, launch.layout, launch.ports
    layout.make_scratch()
    if spec.queues is not None or spec.store != "leveldb":
        shutil.rmtree(layout.store, ignore_errors=True)
    for folder in (layout.hadoop_conf, layout.spark_conf, layout.logs, layout.event_logs, layout.scratch / "staging"):
        folder.mkdir(parents=True, exist_ok=True)
    core = config.hadoop_xml(config.core_site(layout))
    yarn = {**config.yarn_site(spec, layout, ports), **launch.tuning.yarn_properties}
    write_text(layout.hadoop_conf / "core-site.xml", core)
    write_text(layout.hadoop_conf / "yarn-site.xml", config.hadoop_xml(yarn))
    name, text = config.queues_file(spec)
    write_text(layout.hadoop_conf / name, text)
    for number in range(1, spec.nodes + 1):
        conf = layout.node(number) / "conf"
        conf.mkdir(parents=True)
        write_text(conf / "core-site.xml", core)
        write_text(conf / "yarn-site.xml", config.hadoop_xml({**yarn, **config.node_site(spec, layout, ports, number)}))
    properties = {
        **config.spark_properties(layout, pyspark_home(), Path(sys.executable)),
        **launch.tuning.spark_properties,
    }
    write_text(layout.spark_conf / "spark-defaults.conf", config.spark_defaults(properties))
    write_text(layout.scratch / "log4j2.properties", config.log4j_properties())


def _spawn_all(launch: _Launch) -> tuple[ProcessRecord, ...]:
    layout = launch.layout
    environment = daemons.environment(launch.java, layout.root)
    roles = [("resourcemanager", daemons.RESOURCE_MANAGER, layout.hadoop_conf)]
    roles += [
        (f"nodemanager-{number}", daemons.NODE_MANAGER, layout.node(number) / "conf")
        for number in range(1, launch.spec.nodes + 1)
    ]
    records = []
    for role, main_class, conf in roles:
        log = layout.logs / f"{role}.log"
        log.unlink(missing_ok=True)
        options = (
            *(option.replace("{role}", role) for option in launch.tuning.daemon_options),
            f"-Dyarntune.log={log}",
            f"-Djava.io.tmpdir={layout.scratch}",
            f"-Dlog4j2.configurationFile={(layout.scratch / 'log4j2.properties').as_uri()}",
        )
        command = daemons.command(main_class, launch.java, launch.jars, conf, options=options)
        process = processes.spawn(command, environment, layout.scratch, log.with_suffix(".out"))
        records.append(ProcessRecord(role, process.pid, process.create_time(), str(log)))
    return tuple(records)


def _wait_until_ready(running: RunningCluster, launch: _Launch) -> tuple[str, ...]:
    """Returns the nodes' ids in the order of their numbers, as the ResourceManager calls them."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        for record in running.processes:
            if processes.find(record) is None:
                raise _why_it_ended(record, launch.java)
        answer = ask(running.rm_url, timeout_s=5.0)
        if answer is not None and answer.active_nodes >= running.spec.nodes:
            # The host in an id is what loopback is called here (localhost, or the machine's name); the port is ours.
            by_port = {int(node.node_id.rpartition(":")[2]): node.node_id for node in answer.nodes}
            if all(port in by_port for port in launch.ports.nodes):
                return tuple(by_port[port] for port in launch.ports.nodes)
        time.sleep(_POLL_S)
    logs = Path(running.processes[0].log).parent
    raise ClusterError(
        f"the cluster did not become ready within {START_TIMEOUT_S:.0f} s",
        f"see the logs in {logs}; an overloaded machine or too little free memory are the usual causes",
    )


def _why_it_ended(record: ProcessRecord, java: Java) -> Exception:
    log = Path(record.log)
    text = "".join(
        path.read_text(errors="replace")[-100_000:] for path in (log.with_suffix(".out"), log) if path.is_file()
    )
    if any(sign in text for sign in _PORT_TAKEN):
        return _PortTakenError()
    if "UnsupportedClassVersionError" in text or 0 < java_version(java) < MINIMUM_VERSION:
        return ClusterError(
            f"Hadoop needs Java {MINIMUM_VERSION} or newer, {java.executable} is {java_version(java)}",
            f"set JAVA_HOME to a JDK {MINIMUM_VERSION} or newer",
        )
    lines = [line for line in text.splitlines() if line.strip()]
    telling = [
        line for line in lines if "Caused by:" in line or "FATAL" in line or " ERROR " in line or "Error:" in line
    ]
    causes = [line.partition("Caused by:")[2] for line in telling if "Caused by:" in line]
    said = (causes or telling or lines or ["it logged nothing"])[-1].strip()[:400]
    return ClusterError(f"the {record.role} ended while it was starting: {said}", f"the whole log is {log}")


def _free_ports(nodes: int) -> config.Ports:
    """Ports that are free now; all are held together while they are chosen, so that no two are the same."""
    chosen: list[int] = []
    with contextlib.ExitStack() as stack:
        # Not a decision of the product, so not seeded: two clusters that start at once must differ.
        for port in random.SystemRandom().sample(range(*_PORT_RANGE), 2000):
            candidate = stack.enter_context(socket.socket())
            try:
                candidate.bind((config.HOST, port))
            except OSError:
                continue
            chosen.append(port)
            if len(chosen) == 5 + nodes:
                client, scheduler, tracker, admin, web, *of_nodes = chosen
                return config.Ports(client, scheduler, tracker, admin, web, tuple(of_nodes))
    raise ClusterError(
        "there are too few free ports on 127.0.0.1", "end programs that hold many, or ask for fewer nodes"
    )


def stop(name: str, settings: Settings, *, purge: bool = False) -> Stopped:
    """Ends a cluster's daemons and what their children left, and nothing else; fine for one that is down.

    Event logs, daemon logs and a leveldb store stay.

    Args:
        name: the cluster.
        settings: names the state folder.
        purge: remove the cluster's whole folder, event logs and store too.
    """
    layout = Layout.of(settings, name)
    if not layout.root.is_dir():
        return Stopped(name)
    with layout.locked():
        stopped = _end_all(layout, layout.read())
        if purge:
            shutil.rmtree(layout.root, ignore_errors=True)
    return stopped


def _end_all(layout: Layout, running: RunningCluster | None) -> Stopped:
    records = running.processes if running else ()
    recorded = [process for record in records if (process := processes.find(record)) is not None]
    daemon_count = processes.end(recorded)
    leftovers = 0
    # More than once: a container may have been starting while its NodeManager ended.
    for _ in range(SWEEPS):
        found = [*processes.marked(layout.root), *processes.orphaned_drivers(layout.hadoop_conf)]
        if not found:
            break
        leftovers += processes.end(found)
    layout.record.unlink(missing_ok=True)
    shutil.rmtree(layout.scratch, ignore_errors=True)
    return Stopped(layout.root.name, daemon_count, leftovers)
