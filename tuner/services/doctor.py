"""What is there of all that yarntune needs, and how to mend what is not.

A check is a function from settings and environment to findings; it changes nothing, and is done within seconds.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import ClusterError, YarntuneError
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.yarn.client import ResourceManagerClient

RM_TIMEOUT_S = 2.0
PACKAGES = ("tuner", "workloads", "rules", "web")
_SPARK_CORE = re.compile(r"spark-core_[0-9.]+-(.+)\.jar")


class Status(StrEnum):
    """How a thing stands: WARN is what some commands can do without."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: of the thing, in a word or two.
        status: how it stands.
        detail: what was found.
        mend: what to do about it; empty where nothing is to be done.
    """

    name: str
    status: Status
    detail: str
    mend: str = ""


Check = Callable[[Settings, Mapping[str, str]], Sequence[Finding]]


def examine(checks: Mapping[str, Check], settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Makes all checks at once, since most wait for a process or the network.

    Args:
        checks: by the name of what is checked; the findings come in this order.
        settings: the process's settings.
        environ: its environment.

    Returns:
        The findings; a check that fails itself is one too.
    """

    def make(named: tuple[str, Check]) -> Sequence[Finding]:
        name, check = named
        try:
            return check(settings, environ)
        except YarntuneError as error:
            return [Finding(name, Status.FAIL, error.message, error.hint)]
        except Exception as error:
            detail = f"the check itself failed: {type(error).__name__}: {error}"
            return [Finding(name, Status.FAIL, detail, "this is a fault of yarntune; report it with this line")]

    with ThreadPoolExecutor(max_workers=len(checks)) as pool:
        return [finding for findings in pool.map(make, checks.items()) for finding in findings]


def check_python(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """The interpreter, and that the four packages in it are ours: ``rules`` and ``web`` are common names."""
    where = f"{platform.python_version()}, {sys.executable}"
    owners = packages_distributions()
    foreign = {
        f"{package} ({owner})" for package in PACKAGES for owner in owners.get(package, ()) if owner != "yarntune"
    }
    if not foreign:
        return [Finding("python", Status.OK, f"{where}, yarntune {version('yarntune')}")]
    return [
        Finding(
            "python",
            Status.FAIL,
            f"{where}: packages of the same name as yarntune's come from elsewhere: {', '.join(sorted(foreign))}",
            "install yarntune into an environment of its own: python -m venv, then pip install yarntune",
        )
    ]


def check_rule_engine(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """durable-rules, which is compiled when it is installed."""
    try:
        importlib.import_module("durable.lang")
    except ImportError as error:
        return [
            Finding(
                "rule engine",
                Status.FAIL,
                f"durable-rules cannot be loaded: {error}",
                "apt-get install gcc python3-dev, then pip install --force-reinstall --no-cache-dir durable-rules",
            )
        ]
    return [Finding("rule engine", Status.OK, f"durable-rules {version('durable-rules')}")]


def check_spark(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """The Spark that would submit."""
    from tuner.spark.launcher import find_spark

    spark = find_spark(environ)
    home = spark.home or spark.spark_submit.resolve().parent.parent
    release = _spark_version(home)
    source = "SPARK_HOME" if environ.get("SPARK_HOME") else "found"
    return [Finding("spark", Status.OK, f"{release or 'of unknown version'}, {source}: {home}")]


def _spark_version(home: Path) -> str | None:
    names = (_SPARK_CORE.fullmatch(path.name) for path in (home / "jars").glob("spark-core_*.jar"))
    return next((match.group(1) for match in names if match), None)


def check_store(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """The store: that it can be opened, and is of this version; it is not made."""
    from tuner.store import SchemaState, schema_status

    found = schema_status(settings)
    if found.damage:
        mend = "restore it from a backup, or move it away to begin with an empty one"
        return [Finding("store", Status.FAIL, f"{found.url} is damaged: {found.damage}", mend)]
    if found.state is SchemaState.CURRENT:
        return [Finding("store", Status.OK, f"{found.url}, schema {found.revision}")]
    if found.state is SchemaState.OLDER:
        detail = f"{found.url} has the older schema {found.revision}; this yarntune needs {found.head}"
        return [Finding("store", Status.FAIL, detail, "yarntune db upgrade")]
    if found.state is SchemaState.NEWER:
        detail = f"{found.url} has the newer schema {found.revision}; this yarntune knows {found.head}"
        return [Finding("store", Status.FAIL, detail, "install the yarntune that made it")]
    blocked = _unwritable_folder(found.url)
    if blocked is not None:
        detail = f"{found.url} is not there yet, and {blocked} cannot be written"
        return [Finding("store", Status.FAIL, detail, "set YARNTUNE_DATA_DIR to a folder that can be")]
    return [Finding("store", Status.OK, f"{found.url}, which the first command that needs it makes")]


def _unwritable_folder(url: str) -> Path | None:
    """The folder that keeps an SQLite file from being made; None where nothing does, or it is another database."""
    if not url.startswith("sqlite:///"):
        return None
    folder = Path(url.removeprefix("sqlite:///")).parent
    while not folder.exists():
        folder = folder.parent
    return None if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK) else folder


def check_yarn(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:
    """The cluster: where it is, whether it answers, and whether its queues can be changed over REST."""
    from tuner.yarn.locate import locate

    try:
        target = locate(settings, environ)
    except ClusterError as error:
        return [Finding("yarn", Status.WARN, error.message, error.hint)]
    from tuner.yarn.client import ResourceManagerClient

    quick = replace(settings, rm_timeout_s=min(settings.rm_timeout_s, RM_TIMEOUT_S))
    with ResourceManagerClient.of(target, quick) as rm:
        try:
            info, metrics = rm.info(), rm.metrics()
        except YarntuneError as error:
            return [Finding("yarn", Status.FAIL, f"{error.message} (named by {target.source})", error.hint)]
        detail = (
            f"{', '.join(target.rm_urls)} (named by {target.source}): Hadoop {info.hadoop_version}, "
            f"active nodes: {metrics.nodes_active}, {metrics.total.memory_mib} MiB, {metrics.total.vcores} vcores"
        )
        if metrics.nodes_active == 0:
            mend = "look into the NodeManagers' logs: the cluster has nothing to run on"
            return [Finding("yarn", Status.WARN, detail, mend), _scheduler(rm)]
        return [Finding("yarn", Status.OK, detail), *_high_availability(rm), _scheduler(rm)]


def _high_availability(rm: ResourceManagerClient) -> Sequence[Finding]:
    from tuner.yarn.errors import YarnError

    probes = rm.probes()
    if len(probes) == 1:
        return []
    detail = "; ".join(each.words for each in probes)
    if any(isinstance(each.answer, YarnError) for each in probes):
        return [Finding("yarn ha", Status.WARN, detail, "start the ResourceManager that is missing")]
    return [Finding("yarn ha", Status.OK, detail)]


def _scheduler(rm: ResourceManagerClient) -> Finding:
    from tuner.yarn.model import NotMutable

    try:
        scheduler = rm.scheduler()
        queues = sum(1 for queue in scheduler.root.walk() if queue.leaf)
        detail = f"{scheduler.kind} scheduler, {queues} leaf queues"
        if scheduler.kind == "fair":
            return Finding("scheduler", Status.OK, f"{detail}, changed in its allocation file")
        if scheduler.kind == "fifo":
            return Finding("scheduler", Status.WARN, detail, "it has no queues to tune; use the Capacity Scheduler")
        version_number = rm.scheduler_conf_version()
    except YarntuneError as error:
        return Finding("scheduler", Status.WARN, error.message, error.hint)
    if isinstance(version_number, NotMutable):
        return Finding(
            "scheduler",
            Status.WARN,
            f"{detail}; its store cannot be changed over REST",
            "change its file and refresh it, or set yarn.scheduler.configuration.store.class to leveldb or zk",
        )
    return Finding("scheduler", Status.OK, f"{detail}, changed over REST, configuration version {version_number}")
