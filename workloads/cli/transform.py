"""``yarntune workload reduce`` and ``synthesize``: other workloads from those that are there."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json, render_table
from tuner.settings import Settings
from tuner.units import parse_duration_s
from workloads.cli.workload import Parsed, keep_workload

if TYPE_CHECKING:
    from workloads.reduce import By, ReplicationError
    from workloads.synthesize import Distances

_CASE_SUFFIX = ".json"
_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of whatever is drawn."
)


@click.command("reduce")
@click.argument("workload")
@click.option("--factor", type=float, required=True, help="How many times smaller, for example 10 to 100.")
@click.option(
    "--by",
    type=click.Choice(("time", "tasks")),
    default="time",
    show_default=True,
    help="Divide all times, a case's heartbeats and preemption delays too; or keep each FACTOR-th task, and node.",
)
@_seed_option
@click.option("--name", help="Name of the reduced workload [default: NAME-by-FACTOR].")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File of the result.")
@json_option
def reduce_(
    workload: str, factor: float, by: By, seed: int, name: str | None, output: Path | None, as_json: bool
) -> None:
    """Make a smaller WORKLOAD with the same arrivals, concurrency and use, and say how far it is from the original.

    WORKLOAD: a name of `yarntune workload list`, a workload's file, or a case file (.json; give -o).
    """
    settings = Settings.from_environment()
    if workload.endswith(_CASE_SUFFIX):
        _reduce_case(Path(workload), factor, by, seed, output, as_json)
        return
    from workloads.catalogue import open_workload
    from workloads.reduce import reduce_workload, replication_error

    original = open_workload(workload, settings)
    reduced = reduce_workload(original, factor, by=by, seed=seed)
    if name:
        reduced = replace(reduced, name=name)
    error = replication_error(original, reduced, factor, by)
    path = keep_workload(reduced, output, settings)
    if as_json:
        print_json(
            {
                "path": str(path),
                "by": by,
                "jobs": len(reduced.jobs),
                "tasks": reduced.tasks.total,
                "replication_error": {**asdict(error), "mean": error.mean},
            }
        )
        return
    click.echo(
        f"{path}: {len(reduced.jobs)} of {len(original.jobs)} jobs, "
        f"{reduced.tasks.total} of {original.tasks.total} tasks, {reduced.end_s - reduced.span_s[0]:.0f} s"
    )
    _tell_error(error, by)


def _reduce_case(path: Path, factor: float, by: By, seed: int, output: Path | None, as_json: bool) -> None:
    import msgspec

    from tuner.files import write_bytes_atomically
    from workloads.reduce import reduce_case, replication_error
    from workloads.trace import case_to_json, read_case

    if output is None:
        raise click.UsageError("give -o FILE for the reduced case", click.get_current_context())
    case = read_case(path)
    reduced = reduce_case(case, factor, by=by, seed=seed)
    error = replication_error(case, reduced, factor, by)
    write_bytes_atomically(output, msgspec.json.encode(case_to_json(reduced)) + b"\n")
    if as_json:
        print_json(
            {
                "path": str(output),
                "by": by,
                "jobs": len(reduced.jobs),
                "nodes": len(reduced.nodes),
                "replication_error": {**asdict(error), "mean": error.mean},
            }
        )
        return
    click.echo(f"{output}: {len(reduced.jobs)} of {len(case.jobs)} jobs, {len(reduced.nodes)} nodes")
    _tell_error(error, by)


def _tell_error(error: ReplicationError, by: By) -> None:
    rows = [(name, f"{value:.2%}") for name, value in {**asdict(error), "mean": error.mean}.items()]
    click.echo(render_table(("replication error of", "mean"), rows))
    if by == "time":
        note("note: every time is divided, the heartbeats and preemption delays of a case too; no task is left out")
    else:
        note("note: times stay; a job of which no task is kept is gone, so jobs shrink less than tasks")


@click.command("synthesize")
@click.argument("workload")
@click.option(
    "--span",
    "span_s",
    type=Parsed("time", parse_duration_s),
    help="For how long jobs are submitted, for example 2h [default: as long as in WORKLOAD].",
)
@click.option(
    "--nodes", type=click.FloatRange(0, min_open=True), default=1.0, help="For a cluster so many times larger."
)
@click.option("--load", type=click.FloatRange(0, min_open=True), default=1.0, help="With so many times the load.")
@_seed_option
@click.option("--name", help="Name of the new workload [default: NAME-synthetic].")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File of the new workload.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="SVG",
    help="Draw both, original against synthetic (needs matplotlib).",
)
@json_option
def synthesize_(
    workload: str,
    span_s: float | None,
    nodes: float,
    load: float,
    seed: int,
    name: str | None,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Draw a new workload with the distributions of WORKLOAD: arrivals with bursts and day shape, sizes, times, users.

    WORKLOAD: a name of `yarntune workload list`, or a workload's file.
    """
    from workloads.catalogue import open_workload
    from workloads.plots import draw_workloads
    from workloads.synthesize import Scale, distances, profile_of, synthesize

    settings = Settings.from_environment()
    original = open_workload(workload, settings)
    scale = Scale(span_s, nodes, load)
    made = synthesize(profile_of(original), name or f"{original.name}-synthetic", scale=scale, seed=seed)
    found = distances(original, made)
    if plot is not None:
        draw_workloads({original.name: original, made.name: made}, plot)
    path = keep_workload(made, output, settings)
    if as_json:
        drawn = {"plot": str(plot)} if plot else {}
        print_json(
            {"path": str(path), "jobs": len(made.jobs), "tasks": made.tasks.total, "distances": asdict(found), **drawn}
        )
        return
    click.echo(f"{path}: {len(made.jobs)} jobs, {made.tasks.total} tasks")
    _tell_distances(found)


def _tell_distances(found: Distances) -> None:
    rows: list[tuple[Any, str]] = [(name, f"{value:.3f}") for name, value in asdict(found).items()]
    click.echo(render_table(("distribution of", "Kolmogorov-Smirnov distance"), rows))
