"""Finds what the scheduler goes by: the mutable store, or the files of HADOOP_CONF_DIR."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rules.dialects.capacity import parse
from rules.dialects.capacity_document import read_capacity_document
from rules.dialects.fair import read_allocation_file
from rules.live.model import Configuration, Source, Unreadable
from rules.live.translate import differences, site_properties
from rules.model import ROOT, Queue, QueueTree
from tuner.errors import InputError
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnStatusError
from tuner.yarn.hadoopconf import read_hadoop_conf
from tuner.yarn.locate import Target
from tuner.yarn.model import NotMutable, SchedulerInfo

__all__ = ["read_configuration"]

ALLOCATION_FILE = "yarn.scheduler.fair.allocation.file"
DEFAULT_ALLOCATION_FILE = "fair-scheduler.xml"
CAPACITY_FILE = "capacity-scheduler.xml"
_MOST_BYTES = 16 * 2**20


def read_configuration(
    client: ResourceManagerClient, target: Target, shown: SchedulerInfo, environ: Mapping[str, str]
) -> Configuration | Unreadable:
    """The configuration of the scheduler that runs.

    Args:
        client: of the cluster.
        target: where its files are.
        shown: the queues as the ResourceManager shows them, which a file is held against.
        environ: for variables of yarn-site.xml.

    Raises:
        YarnError: the cluster does not answer.
    """
    site, notes = _site(client, target, environ)
    try:
        if shown.kind == "fair":
            return _fair(target, site, notes, shown)
        return _capacity(client, target, site, notes, shown)
    except InputError as error:
        return Unreadable(f"the scheduler's configuration cannot be seen: {error.message}", error.hint)


def _site(
    client: ResourceManagerClient, target: Target, environ: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The ResourceManager's yarn-site: its own account of it, else the file here."""
    try:
        return site_properties(client.configuration()), ()
    except YarnStatusError as error:
        refused = error.message
    folder = target.hadoop_conf_dir
    if folder is None:
        return {}, (f"yarn-site is not known, so Hadoop's defaults are taken: {refused}",)
    conf = read_hadoop_conf([folder / "core-site.xml", folder / "yarn-site.xml"], environ)
    found = {name: value for name in conf.property_names() if (value := conf.get(name)) is not None}
    return site_properties(found), (f"yarn-site is that of {folder}, as the ResourceManager does not show its own",)


def _capacity(
    client: ResourceManagerClient,
    target: Target,
    site: Mapping[str, str],
    notes: tuple[str, ...],
    shown: SchedulerInfo,
) -> Configuration | Unreadable:
    try:
        stored = client.scheduler_conf()
        version = client.scheduler_conf_version()
    except YarnStatusError as error:
        return Unreadable(
            f"the ResourceManager does not show the scheduler's configuration: {error.message}",
            error.hint or "ask as an administrator of YARN (YARNTUNE_USER, yarn.admin.acl)",
        )
    if not isinstance(stored, NotMutable):
        return Configuration(
            source=Source.STORE,
            where="the ResourceManager's store (scheduler-conf)",
            scheduler=dict(stored.properties),
            site=site,
            allocations=None,
            tree=parse({**site, **stored.properties}),
            version=None if isinstance(version, NotMutable) else version,
            notes=notes,
        )
    if target.hadoop_conf_dir is None:
        return Unreadable(
            "the scheduler's configuration is in a file that is not on this machine",
            f"set HADOOP_CONF_DIR to the folder of the ResourceManager's {CAPACITY_FILE}",
        )
    path = target.hadoop_conf_dir / CAPACITY_FILE
    properties = read_capacity_document(_bytes(path), str(path)).properties
    tree = parse({**site, **properties})
    return Configuration(
        source=Source.FILE,
        where=str(path),
        scheduler=properties,
        site=site,
        allocations=None,
        tree=tree,
        path=path,
        notes=(*notes, *differences(tree, shown, str(path))),
    )


def _fair(
    target: Target, site: Mapping[str, str], notes: tuple[str, ...], shown: SchedulerInfo
) -> Configuration | Unreadable:
    named = Path(site.get(ALLOCATION_FILE) or DEFAULT_ALLOCATION_FILE)
    if not named.is_absolute():
        if target.hadoop_conf_dir is None:
            return Unreadable(
                f"the allocation file {named} is in the ResourceManager's folder, which is not known here",
                "set HADOOP_CONF_DIR to that folder",
            )
        named = target.hadoop_conf_dir / named
    if not named.is_file():
        return Unreadable(
            f"the allocation file {named} is not on this machine",
            "run this where the ResourceManager runs, or where the file is mounted",
        )
    allocations = read_allocation_file(_bytes(named), str(named))
    return Configuration(
        source=Source.FILE,
        where=str(named),
        scheduler={},
        site=site,
        allocations=allocations.render(),
        tree=_with_shown(allocations.tree, shown),
        path=named,
        notes=(*notes, *differences(allocations.tree, shown, str(named))),
    )


def _with_shown(tree: QueueTree, shown: SchedulerInfo) -> QueueTree:
    """The configured queues, and those that applications have made by naming them (allow-undeclared-pools)."""
    queues = dict(tree.queues)
    for queue in shown.root.walk():
        if queue.path not in queues and queue.path.startswith(f"{ROOT}."):
            queues[queue.path] = Queue(queue.path)
    children: dict[str, list[str]] = {path: list(found.children) for path, found in queues.items()}
    for path in queues:
        parent = path.rpartition(".")[0]
        if parent in children and path not in children[parent]:
            children[parent].append(path)
    ordered = sorted(queues, key=lambda path: path.count("."))
    return QueueTree(
        {path: Queue(path, tuple(children[path]), properties=queues[path].properties) for path in ordered},
        tree.settings,
    )


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is larger than {_MOST_BYTES // 2**20} MiB", "is it the scheduler's file?")
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}",
            "set HADOOP_CONF_DIR to the folder of the ResourceManager's files, and look whether you may read it",
        ) from None
