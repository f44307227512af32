"""Finds out how the scheduler of a cluster has to be changed."""

from __future__ import annotations

import os

from rules.backends import BackEnd
from rules.backends.capacity_file import CapacityFile
from rules.backends.capacity_rest import CapacityRest
from rules.backends.fair_file import FairFile
from rules.backends.refresh import find_refresh
from rules.dialects.capacity_properties import HadoopVersion
from rules.live.configuration import read_configuration
from rules.live.model import Source, Unreadable
from tuner.errors import YarnError
from tuner.settings import Settings
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target

__all__ = ["choose_back_end"]


def choose_back_end(rm: ResourceManagerClient, target: Target, settings: Settings) -> BackEnd:
    """The back end for a cluster.

    The words with which Hadoop refuses a write to a store that is not mutable mislead (YARN-11278); it is asked with
    a read, and then the file is where the queues are.

    Args:
        rm: the ResourceManager.
        target: where its files are.
        settings: name the folder of embedded clusters.

    Raises:
        YarnError: the configuration cannot be seen from here, or the scheduler is another one.
    """
    shown = rm.scheduler()
    if shown.kind not in {"capacity", "fair"}:
        raise YarnError(f"the {shown.kind} scheduler has no queues to tune", "use the Capacity or the Fair Scheduler")
    found = read_configuration(rm, target, shown, os.environ)
    if isinstance(found, Unreadable):
        raise YarnError(found.reason, found.hint)
    version = _version(rm.info().hadoop_version)
    if found.source is Source.STORE:
        return CapacityRest(rm, found.site, version)
    assert found.path is not None, "a configuration in a file has a path"
    if shown.kind == "fair":
        return FairFile(rm, found.path, found.site)
    return CapacityFile(
        rm,
        found.path,
        find_refresh(target, settings),
        site=found.site,
        version=version,
        managers=len(target.rm_urls),
    )


def _version(text: str) -> HadoopVersion:
    parts = text.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (IndexError, ValueError):
        return (3, 5)
