"""YARN's own history: what the ResourceManager says of applications, live or in a saved answer of ``GET /apps``.

It tells an application's time, and memory and vcores times time, but no containers, so these are modelled: the
application master, and equal containers that are held from the launch to the end, as Spark's executors are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Final

from tuner.errors import InputError
from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.rows import RowReader, read_whole
from workloads.trace import Executors
from workloads.workload import Assumption, Ending, Provenance, Unsure, Workload, WorkloadJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tuner.yarn.model import Application

__all__ = ["import_yarn", "looks_like_yarn"]

_ENDINGS: Final = {"SUCCEEDED": Ending.FINISHED, "FAILED": Ending.FAILED, "KILLED": Ending.KILLED}


@dataclass(frozen=True)
class _Shape:
    """The containers that stand for an application."""

    count: int
    memory_mib: int
    vcores: int
    am_memory_mib: int


def import_yarn(paths: Sequence[Path], reader: RowReader, options: ImportOptions) -> Workload:
    """Imports applications.

    Args:
        paths: saved answers, JSON; none: the live ResourceManager of ``options.settings`` is asked.
        reader: takes note of the files.
        options: see :class:`ImportOptions`.

    Raises:
        InputError: a file is no such answer.
        YarnError: the ResourceManager does not answer.
        ClusterError: no cluster is named.
    """
    notes: list[str] = []
    applications: dict[str, Application] = {}
    for path in paths:
        found = _saved(path)
        reader.described(path, len(found))
        applications.update((each.id, each) for each in found)
    if not paths:
        found, source = _live(options)
        notes.append(f"asked of the ResourceManager of {source}")
        applications.update((each.id, each) for each in found)
    known = [each for each in applications.values() if each.started_at_s > 0]
    epoch_s = min((each.started_at_s for each in known), default=0.0)
    builder = WorkloadBuilder()
    bare = sum(not _add(builder, each, epoch_s, options) for each in known)
    if bare:
        notes.append(f"{bare} applications never ran, or their Hadoop tells no memorySeconds: they have no containers")
    assumptions = (
        Assumption("containers", "equal, held from launch to end", "the ResourceManager tells only their sum"),
        Assumption("container_vcores", 1, "so that there are as many as vcores on average, the master's aside"),
        Assumption("am_memory_mib", options.default_memory_mib, "at most its share of the application's memory"),
    )
    provenance = Provenance("yarn", reader.files, options.seed, reader.bad_rows, tuple(notes))
    return builder.build(options.name, provenance, assumptions, epoch_s=epoch_s or None)


def _saved(path: Path) -> Sequence[Application]:
    from tuner.yarn import normalize

    try:
        document: Any = json.loads(read_whole(path))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        hint = "save the answer with: curl -H 'Accept: application/json' http://RM:8088/ws/v1/cluster/apps"
        raise InputError(f"{path} is not JSON: {error}", hint) from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is not an answer of the ResourceManager, which is an object")
    if "app" in document:
        return (normalize.application(document),)
    return normalize.applications(document)


def _live(options: ImportOptions) -> tuple[Sequence[Application], str]:
    from tuner.yarn.client import ResourceManagerClient
    from tuner.yarn.locate import locate
    from tuner.yarn.model import ACTIVE_STATES, FINAL_STATES

    if options.settings is None:
        raise InputError("there is no file to import", "give the path of a saved answer of GET /ws/v1/cluster/apps")
    target = locate(options.settings, options.environ or None)
    with ResourceManagerClient.of(target, options.settings) as rm:
        # A lower bound is needed for ended applications; 0 is before all of them.
        since_s = options.since_s or 0.0
        return rm.applications(states=(*ACTIVE_STATES, *FINAL_STATES), started_since_s=since_s), target.source


def _add(builder: WorkloadBuilder, application: Application, epoch_s: float, options: ImportOptions) -> bool:
    submit_s = application.started_at_s - epoch_s
    launched_s = application.launched_at_s or application.started_at_s
    run_s = max(application.started_at_s + application.elapsed_s - launched_s, 0.0)
    shape = _shape(application, run_s, options.default_memory_mib)
    job = builder.add_job(
        WorkloadJob(
            id=application.id,
            submit_s=submit_s,
            name=application.name or None,
            user=application.user,
            queue=application.queue,
            am_memory_mib=shape.am_memory_mib if shape else 0,
            executors=Executors(shape.count, shape.memory_mib, shape.vcores) if shape else None,
        )
    )
    if shape is None:
        return False
    builder.add_task(
        job,
        submit_s=submit_s,
        wait_s=launched_s - application.started_at_s if application.launched_at_s else nan,
        duration_s=run_s,
        memory_mib=shape.memory_mib,
        cores=float(shape.vcores),
        count=shape.count,
        ending=_ENDINGS.get(application.final_status, Ending.FINISHED) if application.ended else Ending.RUNNING,
        unsure=Unsure.REQUEST | (0 if application.ended else Unsure.END),
    )
    return True


def _shape(application: Application, run_s: float, am_memory_mib: int) -> _Shape | None:
    """Containers whose memory times the run time is the application's memorySeconds."""
    if not application.memory_seconds or run_s <= 0:
        return None
    memory_mib = application.memory_seconds / run_s
    # Without vcores (before Hadoop 2.6) a container of the default size stands for each of the default memory.
    vcores = (application.vcore_seconds or 0) / run_s or memory_mib / am_memory_mib
    count = max(round(vcores) - 1, 1)
    am_mib = min(am_memory_mib, max(round(memory_mib / (count + 1)), 1))
    return _Shape(count, max(round((memory_mib - am_mib) / count), 1), 1, am_mib)


def looks_like_yarn(lines: Sequence[bytes]) -> bool:
    """Whether the text starts as an answer of ``GET /apps`` or ``GET /apps/{id}``."""
    head = b"".join(b"".join(lines[:5]).split())
    return head.startswith((b'{"apps":', b'{"app":'))
