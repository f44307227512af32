"""The configuration files of a cluster, as text: pure functions of what it is asked to be and where it lives.

Every value that differs from Hadoop's or Spark's default is here with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from workloads.cluster.layout import Layout
from workloads.cluster.spec import ClusterSpec

HOST = "127.0.0.1"
HEARTBEAT_MS = 100
# Set for the daemons and handed on to every container, so that what they leave behind can be told from anything else.
MARKER_VARIABLE = "YARNTUNE_CLUSTER_PROCESS"
_MINIMUM_ALLOCATION_MIB = 1024
_SCHEDULER_CLASSES = {
    "capacity": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
    "fair": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
}


@dataclass(frozen=True)
class Ports:
    """The TCP ports of one cluster on loopback.

    Attributes:
        client: ``yarn.resourcemanager.address``.
        scheduler: where ApplicationMasters ask.
        tracker: where NodeManagers report.
        admin: where rmadmin asks.
        web: REST and pages.
        nodes: each NodeManager's own; it is part of the node's id. Its other two ports it takes itself.
    """

    client: int
    scheduler: int
    tracker: int
    admin: int
    web: int
    nodes: tuple[int, ...]


def hadoop_xml(properties: Mapping[str, str]) -> str:
    """Properties as Hadoop's configuration file."""
    rows = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{rows}</configuration>\n'


def core_site(layout: Layout) -> dict[str, str]:
    """core-site.xml: the local file system instead of HDFS."""
    return {
        "fs.defaultFS": "file:///",
        "hadoop.tmp.dir": str(layout.scratch / "hadoop"),
        # A NodeManager that comes up before the ResourceManager tries again soon instead of after a second.
        "ipc.client.connect.retry.interval": "100",
    }


def yarn_site(spec: ClusterSpec, layout: Layout, ports: Ports) -> dict[str, str]:
    """yarn-site.xml of the ResourceManager and of clients.

    The properties of the scheduler's own file (queues, resource calculator) are in :func:`queues_file`.
    """
    resource_manager = {
        "yarn.resourcemanager.hostname": HOST,
        "yarn.resourcemanager.address": f"{HOST}:{ports.client}",
        "yarn.resourcemanager.scheduler.address": f"{HOST}:{ports.scheduler}",
        "yarn.resourcemanager.resource-tracker.address": f"{HOST}:{ports.tracker}",
        "yarn.resourcemanager.admin.address": f"{HOST}:{ports.admin}",
        "yarn.resourcemanager.webapp.address": f"{HOST}:{ports.web}",
        "yarn.resourcemanager.scheduler.class": _SCHEDULER_CLASSES[spec.scheduler],
        # A second is right for thousands of nodes; here it would be most of a short job's time.
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": str(HEARTBEAT_MS),
        # A client of a cluster that is down is told so after 20 s, not after 15 minutes.
        "yarn.resourcemanager.connect.max-wait.ms": "20000",
        "yarn.resourcemanager.connect.retry-interval.ms": "200",
        # A NodeManager that was killed is missed after half a minute, not after ten.
        "yarn.nm.liveness-monitor.expiry-interval-ms": "30000",
        "yarn.scheduler.minimum-allocation-mb": str(min(_MINIMUM_ALLOCATION_MIB, spec.node_memory_mib)),
        "yarn.scheduler.maximum-allocation-mb": str(spec.node_memory_mib),
        "yarn.scheduler.maximum-allocation-vcores": str(spec.node_vcores),
    }
    if spec.scheduler == "fair":
        return {
            **resource_manager,
            "yarn.scheduler.fair.allocation.file": str(layout.hadoop_conf / "fair-scheduler.xml"),
        }
    return {
        **resource_manager,
        "yarn.scheduler.configuration.store.class": spec.store,
        "yarn.scheduler.configuration.leveldb-store.path": str(layout.store),
    }


def node_site(spec: ClusterSpec, layout: Layout, ports: Ports, number: int) -> dict[str, str]:
    """What a NodeManager's yarn-site.xml has on top of :func:`yarn_site`; numbers start at 1."""
    folder = layout.node(number)
    return {
        "yarn.nodemanager.hostname": HOST,
        "yarn.nodemanager.address": f"{HOST}:{ports.nodes[number - 1]}",
        "yarn.nodemanager.localizer.address": f"{HOST}:0",
        "yarn.nodemanager.webapp.address": f"{HOST}:0",
        "yarn.nodemanager.resource.memory-mb": str(spec.node_memory_mib),
        "yarn.nodemanager.resource.cpu-vcores": str(spec.node_vcores),
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "containers"),
        # A JVM reserves far more address space than it uses.
        "yarn.nodemanager.vmem-check-enabled": "false",
        # The default (90 %) takes a node away on a developer's well-filled disk.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        "yarn.nodemanager.disk-health-checker.interval-ms": "10000",
        "yarn.nodemanager.env-whitelist": (
            f"JAVA_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,PATH,LANG,LC_ALL,TZ,SPARK_LOCAL_IP,{MARKER_VARIABLE}"
        ),
    }


def queues_file(spec: ClusterSpec) -> tuple[str, str]:
    """The scheduler's own file: its name and its text, the operator's where one was given."""
    name = "capacity-scheduler.xml" if spec.scheduler == "capacity" else "fair-scheduler.xml"
    if spec.queues is not None:
        return name, spec.queues
    if spec.scheduler == "fair":
        return name, _FAIR_QUEUES
    prefix = "yarn.scheduler.capacity"
    return name, hadoop_xml(
        {
            # Hadoop's default calculator sees memory only: executor cores would be free, and containers report one.
            f"{prefix}.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
            # A tenth of a small cluster would let one ApplicationMaster run at a time.
            f"{prefix}.maximum-am-resource-percent": "0.5",
            f"{prefix}.root.queues": "default",
            f"{prefix}.root.default.capacity": "100",
        }
    )


_FAIR_QUEUES = """\
<?xml version="1.0" encoding="UTF-8"?>
<allocations>
  <!-- Fairness in memory and vcores, for the same reason as the Capacity Scheduler's Dominant calculator. -->
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queue name="root">
    <queue name="default"/>
  </queue>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="default" queue="root.default"/>
  </queuePlacementPolicy>
</allocations>
"""


def spark_properties(layout: Layout, spark_home: Path, python: Path) -> dict[str, str]:
    """spark-defaults.conf: this cluster, its event logs, and no waiting for what is not there."""
    return {
        "spark.master": "yarn",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": layout.event_logs.as_uri(),
        "spark.history.fs.logDirectory": layout.event_logs.as_uri(),
        # Nothing is uploaded: every container sees the same files (400 MB of jars otherwise).
        "spark.yarn.jars": f"local:{(spark_home / 'jars').as_uri().removeprefix('file://')}/*",
        # Hadoop's Path takes its text as it is; a percent-encoded one would be another folder.
        "spark.yarn.stagingDir": f"file://{layout.scratch / 'staging'}",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.pyspark.python": str(python),
        # The ApplicationMaster asks every 3 s by default, which suits a busy ResourceManager, not a short job.
        "spark.yarn.scheduler.heartbeat.interval-ms": "200",
        "spark.yarn.scheduler.initial-allocation.interval": "100ms",
        "spark.yarn.report.interval": "200ms",
    }


def spark_defaults(properties: Mapping[str, str]) -> str:
    """Properties as spark-defaults.conf, which Spark reads as a Java properties file in UTF-8."""
    return "".join(f"{name} {_java_property(value)}\n" for name, value in properties.items())


def _java_property(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def log4j_properties() -> str:
    """Logging of the daemons: one file each, bounded, named by a system property."""
    return """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:yarntune.log}
appender.file.filePattern = ${sys:yarntune.log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 32MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
