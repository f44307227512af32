"""``yarntune workload``: the group; importing traces, and what workloads there are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import click

from tuner.cli.lazy import CommandEntry, LazyGroup
from tuner.cli.output import json_option, note, print_json, render_table
from tuner.errors import InputError
from tuner.settings import Settings
from tuner.units import parse_duration_s, parse_memory_mib

if TYPE_CHECKING:
    from workloads.to_case import CasePlan, CaseSummary, Queues
    from workloads.workload import Workload

# As in workloads.importers.registry.FORMATS, which is slow to import; a test holds the two together.
FORMAT_NAMES: Final = ("swim", "google", "alibaba", "swf", "yarn", "spark")
_SHOW_PROGRESS_AFTER_S: Final = 2.0
_PLAN_OPTIONS: Final = ("queues", "nodes", "load", "node_memory", "node_vcores", "scheduler", "spark")


WORKLOAD_COMMANDS: Final[dict[str, CommandEntry]] = {
    "list": CommandEntry("workloads.cli.workload:list_", "programs, samples, and what was imported"),
    "import": CommandEntry("workloads.cli.workload:import_", "a trace, or a cluster's history, as a workload or case"),
    "reduce": CommandEntry("workloads.cli.transform:reduce_", "a smaller workload or case of the same shape"),
    "synthesize": CommandEntry("workloads.cli.transform:synthesize_", "a new workload with a trace's distributions"),
    "replay": CommandEntry("rules.cli.replay:replay_command", "a case on the scheduler model, or live on YARN"),
}
"""In the order of the help. Replaying on the model is of the package to the left, so it is known by its name alone."""


@click.group(cls=LazyGroup, entries=WORKLOAD_COMMANDS)
def workload() -> None:
    """Workloads: traces of other clusters, the history of your own, programs and samples.

    \b
    yarntune workload import FB-2009_samples_24_times_1hr_0.tsv
    yarntune workload import FB-2009*.tsv --window 7h:8h --nodes 5 --as-case case.json
    yarntune workload list
    yarntune workload reduce bursty-hour --factor 10
    yarntune workload synthesize bursty-hour --span 2h --load 1.5
    yarntune workload replay case.json --factor 20 --live
    """  # noqa: D301 - click reads the \b


class Parsed(click.ParamType[Any]):
    """A value that a function reads, which raises InputError where it cannot."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Reads the text, or says in click's words what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except InputError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


def parse_window(text: str) -> tuple[float, float]:
    """Reads ``START:END``, in seconds."""
    start, colon, end = text.partition(":")
    if not colon:
        raise InputError(f"{text!r} is not a window", "write START:END, for example 7h:8h")
    return parse_duration_s(start), parse_duration_s(end)


def parse_queues(text: str) -> Queues:
    """Reads a way to put jobs into queues."""
    from workloads.to_case import Queues

    kind, colon, number = text.partition(":")
    if kind not in ("by-size", "by-team", "recorded") or (colon and kind != "by-team"):
        raise InputError(f"{text!r} is no way to queues", "write by-size, by-team:N or recorded")
    if colon and not (number.isdecimal() and 1 <= int(number) <= 100):
        raise InputError(f"{number!r} is not a number of teams", "write a number from 1 to 100, as in by-team:3")
    return Queues(cast('Literal["by-size", "by-team", "recorded"]', kind), int(number) if colon else 3)


def _share(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{text!r} is not a share", "write for example 0.01 or 1%")
    return value


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_name", type=click.Choice(FORMAT_NAMES), help="What the files are; found out if not given."
)
@click.option("--name", help="Name of the workload [default: the first file's].")
@click.option(
    "--window",
    type=Parsed("window", parse_window),
    metavar="START:END",
    help="Only jobs submitted from START on and before END, on the trace's clock: seconds, or 7h:8h.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of whatever is modelled.")
@click.option(
    "--max-bad",
    type=Parsed("share", _share),
    default="1%",
    show_default=True,
    help="Refuse a file with a larger share of bad rows.",
)
@click.option(
    "--machine-memory",
    type=Parsed("size", parse_memory_mib),
    help="Largest machine of a trace with normalised sizes [default: 64g].",
)
@click.option("--machine-cores", type=click.FloatRange(min=1), help="Likewise, its cores [default: 32].")
@click.option(
    "--since",
    type=Parsed("time", parse_duration_s),
    help="Of the live ResourceManager: applications of the last so long, for example 7d [default: all it knows].",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File of the workload.")
@click.option(
    "--as-case",
    "case_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a case file (for `yarntune scheduler estimate` and the like) instead of the workload's.",
)
@click.option(
    "--queues",
    type=Parsed("queues", parse_queues),
    metavar="by-size|by-team:N|recorded",
    help="Case: small, medium and large jobs apart; N mixed teams of which the busiest changes half-way; or the "
    "trace's own queues [default: by-size].",
)
@click.option("--nodes", type=click.IntRange(1, 100_000), help="Case: number of nodes; --load chooses it if not given.")
@click.option(
    "--load",
    type=click.FloatRange(0, 100, min_open=True),
    help="Case: as many nodes as the jobs load to this share [default: 0.75].",
)
@click.option("--node-memory", type=Parsed("size", parse_memory_mib), help="Case: memory of a node [default: 8g].")
@click.option("--node-vcores", type=click.IntRange(min=1), help="Case: vcores of a node [default: 8].")
@click.option("--scheduler", type=click.Choice(("capacity", "fair")), help="Case: the scheduler [default: capacity].")
@click.option("--spark", is_flag=True, default=None, help="Case: jobs hold executors; else a container per task.")
@json_option
def import_(
    paths: tuple[Path, ...],
    format_name: str | None,
    name: str | None,
    window: tuple[float, float] | None,
    seed: int,
    max_bad: float,
    since: float | None,
    output: Path | None,
    case_path: Path | None,
    as_json: bool,
    **sizes: Any,
) -> None:
    """Import a trace, or the history of a YARN cluster, as a workload or a case.

    PATH: files of one format, plain, gzip or zstd; with `--format yarn` and no path the live ResourceManager is asked.
    Several files become one workload. The workload is kept under its name for the other commands, or goes to -o.
    """
    plan_values = {key: sizes[key] for key in _PLAN_OPTIONS if sizes[key] is not None}
    if case_path is None and plan_values:
        option = next(iter(plan_values)).replace("_", "-")
        raise click.UsageError(f"--{option} is of a case; add --as-case FILE", click.get_current_context())
    if "nodes" in plan_values and "load" in plan_values:
        raise click.UsageError("--nodes and --load exclude each other", click.get_current_context())
    from workloads.workload_file import Header

    settings = Settings.from_environment()
    name = name or _name_of(paths)
    imported = _import(paths, name, format_name, seed, max_bad, since, settings, sizes)
    if case_path is not None:
        _write_case(imported, window, _plan(plan_values, seed), case_path, as_json)
        return
    kept = imported.window(*window) if window else imported
    path = keep_workload(kept, output, settings)
    if as_json:
        print_json({"path": str(path), **asdict(Header.of(kept))})
        return
    click.echo(f"{path}: {len(kept.jobs)} jobs, {kept.tasks.total} tasks")
    _tell(kept)


def _name_of(paths: tuple[Path, ...]) -> str:
    return (
        paths[0].name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[0] or paths[0].name if paths else "yarn"
    )


def _import(
    paths: tuple[Path, ...],
    name: str,
    format_name: str | None,
    seed: int,
    max_bad: float,
    since: float | None,
    settings: Settings,
    sizes: dict[str, Any],
) -> Workload:
    from workloads.importers.options import DEFAULT_MACHINE, ImportOptions, MachineSize
    from workloads.importers.registry import import_workload

    options = ImportOptions(
        name=name,
        seed=seed,
        machine=MachineSize(
            sizes["machine_memory"] or DEFAULT_MACHINE.memory_mib, sizes["machine_cores"] or DEFAULT_MACHINE.cores
        ),
        settings=settings,
        since_s=None if since is None else time.time() - since,
    )
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with _progress(total) as advance:
        return import_workload(paths, options, format_name=format_name, max_bad_share=max_bad, progress=advance)


def _plan(values: dict[str, Any], seed: int) -> CasePlan:
    from workloads.to_case import CasePlan

    names = {"node_memory": "node_memory_mib"}
    return CasePlan(seed=seed, **{names.get(key, key): value for key, value in values.items()})


def keep_workload(workload: Workload, output: Path | None, settings: Settings) -> Path:
    """Writes a workload to a file, or under its name among those that the other commands find; the file's path."""
    from workloads.catalogue import imported_path
    from workloads.workload_file import write_workload

    path = output or imported_path(settings, workload.name)
    if output is None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the folder of workloads {path.parent} cannot be made: {error.strerror}",
                "set YARNTUNE_DATA_DIR to another folder, or give -o FILE",
            ) from error
    write_workload(workload, path)
    return path


def _write_case(
    workload: Workload, window: tuple[float, float] | None, plan: CasePlan, path: Path, as_json: bool
) -> None:
    import msgspec

    from tuner.files import write_bytes_atomically
    from workloads.to_case import make_case
    from workloads.trace import case_to_json

    # Without a window the whole trace, a second more so that what was submitted at its very end is in it.
    case, summary = make_case(workload, *(window or (workload.span_s[0], workload.end_s + 1.0)), plan)
    write_bytes_atomically(path, msgspec.json.encode(case_to_json(case)) + b"\n")
    if as_json:
        print_json({"path": str(path), **asdict(summary)})
        return
    click.echo(f"{path}: {_summary(summary)}")
    _tell(workload)


def _summary(summary: CaseSummary) -> str:
    text = f"{summary.jobs} jobs, {summary.tasks} tasks, {summary.nodes} nodes, offered load {summary.load:.2f}"
    if summary.empty_jobs:
        text += f"; {summary.empty_jobs} jobs of which no task ran are left out"
    if summary.too_large:
        text += f"; {summary.too_large} tasks are cut down to a node's size"
    return text


def _tell(workload: Workload) -> None:
    """What to know about an import, on stderr."""
    provenance = workload.provenance
    for file in provenance.files:
        bad = f", {file.bad_rows} bad" if file.bad_rows else ""
        note(f"{file.name}: {file.rows} rows{bad}" if file.rows else file.name)
    for row in provenance.bad_rows:
        note(f"left out: {row}")
    for sentence in provenance.notes:
        note(f"note: {sentence}")
    for assumption in workload.assumptions:
        note(f"assumed: {assumption.name} = {assumption.value} ({assumption.reason})")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """Shows how much is read, on a terminal, once it takes more than two seconds."""
    if not sys.stderr.isatty() or not total:
        yield None
        return
    began, done, shown = time.monotonic(), 0, -1

    def advance(size: int) -> None:
        nonlocal done, shown
        done += size
        percent = min(100 * done // total, 100)
        if percent > shown and time.monotonic() - began > _SHOW_PROGRESS_AFTER_S:
            shown = percent
            click.echo(f"\rreading {percent:3d} %", nl=False, err=True)

    try:
        yield advance
    finally:
        if shown >= 0:
            click.echo("\r             \r", nl=False, err=True)


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the programs, the samples, and what was imported."""
    from workloads.catalogue import entries

    found = entries(Settings.from_environment())
    if as_json:
        print_json({"workloads": [{**asdict(each), "path": str(each.path) if each.path else None} for each in found]})
        return
    rows = [
        (
            each.kind,
            each.name,
            "-" if each.jobs is None else str(each.jobs),
            "-" if each.tasks is None else str(each.tasks),
            each.title if each.problem is None else "cannot be read",
            str(each.path or "-"),
        )
        for each in found
    ]
    click.echo(render_table(("kind", "name", "jobs", "tasks", "what it is", "file"), rows))
    for each in found:
        if each.problem:
            note(each.problem)
