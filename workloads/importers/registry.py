"""Every format that can be imported, in one table; finding out which one a file is; and the import itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuner.errors import InputError
from workloads.importers.alibaba import import_alibaba, looks_like_alibaba
from workloads.importers.google import import_google
from workloads.importers.google_tables import table_of
from workloads.importers.options import ImportOptions
from workloads.importers.rows import MAX_BAD_SHARE, Progress, RowReader, first_lines
from workloads.importers.spark import import_spark, looks_like_spark, looks_like_spark_folder
from workloads.importers.swf import import_swf, looks_like_swf
from workloads.importers.swim import import_swim, looks_like_swim
from workloads.importers.yarn import import_yarn, looks_like_yarn
from workloads.workload import Workload

__all__ = ["FORMATS", "Format", "detect_format", "import_workload"]


@dataclass(frozen=True)
class Format:
    """A format: what it is, how to tell it by its first lines, and how to read it."""

    title: str
    matches: Callable[[Sequence[bytes]], bool]
    read: Callable[[Sequence[Path], RowReader, ImportOptions], Workload]


FORMATS: Final[Mapping[str, Format]] = {
    "swim": Format("SWIM: jobs with bytes of input, shuffle and output", looks_like_swim, import_swim),
    "google": Format(
        "Google cluster data 2011: task_events, job_events, machine_events, task_usage",
        lambda lines: table_of(lines) is not None,
        import_google,
    ),
    "alibaba": Format("Alibaba cluster-trace-v2018: batch_task", looks_like_alibaba, import_alibaba),
    "swf": Format("Standard Workload Format 2.2 of the Parallel Workloads Archive", looks_like_swf, import_swf),
    "yarn": Format("applications of a ResourceManager, live or a saved GET /apps", looks_like_yarn, import_yarn),
    "spark": Format("Spark event logs", looks_like_spark, import_spark),
}
"""The formats by the names that ``--format`` takes."""


def detect_format(path: Path) -> str:
    """Finds out by its content which format a file, or a folder of Spark's, is.

    Raises:
        InputError: it is none of them, or could be several.
    """
    choices = "say which with --format: " + ", ".join(FORMATS)
    if path.is_dir():
        if looks_like_spark_folder(path):
            return "spark"
        raise InputError(f"{path} is a folder, and not one of an event log", "give the files of the trace one by one")
    lines = first_lines(path)
    if not lines:
        raise InputError(f"{path} is empty, or damaged at its very start", "fetch the file again")
    found = [name for name, each in FORMATS.items() if each.matches(lines)]
    if len(found) == 1:
        return found[0]
    shown = lines[0][:60].decode("utf-8", "backslashreplace")
    if found:
        raise InputError(f"{path} could be {' or '.join(found)}; it starts with {shown!r}", choices)
    raise InputError(f"the format of {path} is not known; it starts with {shown!r}", choices)


def import_workload(
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    format_name: str | None = None,
    max_bad_share: float = MAX_BAD_SHARE,
    progress: Progress | None = None,
) -> Workload:
    """Imports files of one format as one workload.

    Args:
        paths: the files, plain or compressed; for ``yarn`` none asks the live ResourceManager.
        options: see :class:`ImportOptions`.
        format_name: of :data:`FORMATS`; found out where it is not given.
        max_bad_share: the share of bad rows above which a file is refused.
        progress: see :data:`~workloads.importers.rows.Progress`.

    Raises:
        InputError: a file cannot be read, is of another format, or is too bad.
    """
    if format_name is None:
        if not paths:
            raise InputError("there is nothing to import", "give files, or --format yarn for the live cluster")
        names = {path: detect_format(path) for path in paths}
        if len(set(names.values())) > 1:
            each = ", ".join(f"{path} is {name}" for path, name in names.items())
            raise InputError(f"the files are of different formats: {each}", "import each format by itself")
        format_name = names[paths[0]]
    if not paths and format_name != "yarn":
        raise InputError("there is nothing to import", "give the files of the trace")
    return FORMATS[format_name].read(paths, RowReader(max_bad_share, progress), options)
