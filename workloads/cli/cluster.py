"""``yarntune cluster``: the embedded cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from tuner.cli.output import json_option, note, print_json, render_table
from tuner.errors import ClusterError, InputError
from tuner.settings import Settings
from tuner.units import parse_memory_mib
from workloads.cluster import lifecycle, processes, shell
from workloads.cluster.layout import Layout, known_names
from workloads.cluster.spec import DEFAULT_NAME, SCHEDULERS, STORES, ClusterSpec, ClusterStatus, Stopped
from workloads.cluster.status import status as look
from workloads.cluster.status import statuses

_PROGRESS_AFTER_S = 2.0

name_option = click.option("--name", default=DEFAULT_NAME, show_default=True, help="Which cluster.")


@click.group()
def cluster() -> None:
    r"""The embedded cluster: a real YARN on this machine, for trials and tests.

    \b
    yarntune cluster up
    eval "$(yarntune cluster env)"
    spark-submit app.py
    yarntune cluster down
    """


class _MemoryType(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_memory_mib(value)
        except InputError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


@cluster.command()
@name_option
@click.option("--nodes", type=click.IntRange(min=1), help="Number of NodeManagers [default: 2].")
@click.option("--node-memory", type=_MemoryType(), help="Memory of a node, as 8g; a number only [default: 8g].")
@click.option("--node-vcores", type=click.IntRange(min=1), help="Vcores of a node; a number only [default: 8].")
@click.option("--scheduler", type=click.Choice(SCHEDULERS), help="YARN's scheduler [default: capacity].")
@click.option(
    "--store",
    type=click.Choice(STORES),
    help="Where the Capacity Scheduler's configuration lives: memory and leveldb can be changed over REST, file by "
    "editing it [default: memory; file with the fair scheduler].",
)
@click.option(
    "--queues",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A capacity-scheduler.xml or fair-scheduler.xml to start with.",
)
@json_option
def up(
    name: str,
    nodes: int | None,
    node_memory: int | None,
    node_vcores: int | None,
    scheduler: str | None,
    store: str | None,
    queues: Path | None,
    as_json: bool,
) -> None:
    """Start a cluster; one that is up already stays as it is."""
    settings = Settings.from_environment()
    asked = {
        "nodes": nodes,
        "node_memory_mib": node_memory,
        "node_vcores": node_vcores,
        "scheduler": scheduler,
        "store": store,
        "queues": None if queues is None else _read(queues),
    }
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    # What is not given stays as it is, whether the cluster is up or has died.
    present = Layout.of(settings, name).read()
    base = present.spec if present else ClusterSpec(name)
    if "scheduler" in given and "store" not in given and given["scheduler"] != base.scheduler:
        base = replace(base, scheduler="capacity", store="")
        given["store"] = ""
    spec = replace(base, **given)
    with _ended_by_signals(), _progress(f"starting {lifecycle.describe(spec)}"):
        running = lifecycle.start(spec, settings, note=note)
    if as_json:
        print_json(running.to_json())
        return
    click.echo(f"cluster {name} is up at {running.rm_url}: {lifecycle.describe(running.spec)}")
    selector = "" if name == DEFAULT_NAME else f" --name {name}"
    note(f'for Spark in this shell: eval "$(yarntune cluster env{selector})"')


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP into an interrupt, so that what was started is ended on the way out."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(text: str) -> Iterator[None]:
    """Shows a counter of seconds on a terminal once the work takes more than two."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    began = time.monotonic()

    def show() -> None:
        if done.wait(_PROGRESS_AFTER_S):
            return
        while True:
            click.echo(f"\r{text} ... {time.monotonic() - began:.0f} s", nl=False, err=True)
            if done.wait(0.5):
                click.echo(f"\r{' ' * (len(text) + 12)}\r", nl=False, err=True)
                return

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@cluster.command()
@click.option("--name", help="Which cluster; all of them where it is not given.")
@json_option
@click.pass_context
def status(context: click.Context, name: str | None, as_json: bool) -> None:
    """Say how the clusters are; exit status 1 unless all that are shown are up."""
    settings = Settings.from_environment()
    shown = (look(name, settings),) if name else statuses(settings)
    if as_json:
        print_json({"clusters": [_status_json(each) for each in shown]})
    elif shown:
        click.echo(
            render_table(("name", "state", "nodes", "applications", "scheduler", "ResourceManager"), _rows(shown))
        )
    for each in shown:
        for problem in each.problems:
            note(f"{each.name}: {problem}")
    if not any(each.state != "down" for each in shown):
        note("no cluster is up; `yarntune cluster up` starts one")
    if not shown or any(each.state != "up" for each in shown):
        context.exit(1)


def _rows(shown: tuple[ClusterStatus, ...]) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            each.state,
            f"{each.active_nodes}/{each.cluster.spec.nodes}" if each.cluster else "-",
            str(each.running_applications) if each.cluster else "-",
            each.cluster.spec.scheduler if each.cluster else "-",
            each.cluster.rm_url if each.cluster else "-",
        )
        for each in shown
    ]


def _status_json(shown: ClusterStatus) -> dict[str, Any]:
    return {
        "name": shown.name,
        "state": shown.state,
        "problems": list(shown.problems),
        "active_nodes": shown.active_nodes,
        "running_applications": shown.running_applications,
        "cluster": shown.cluster.to_json() if shown.cluster else None,
    }


@cluster.command()
@name_option
@json_option
def env(name: str, as_json: bool) -> None:
    """Print the variables that make Spark use the cluster, for `eval`."""
    running = Layout.of(Settings.from_environment(), name).read()
    if running is None:
        raise ClusterError(f"the cluster {name} is not up", f"yarntune cluster up --name {name}")
    if any(record.role == "resourcemanager" and processes.find(record) is None for record in running.processes):
        raise ClusterError(
            f"the ResourceManager of the cluster {name} is dead", f"start it anew: yarntune cluster up --name {name}"
        )
    variables = shell.environment(running)
    if as_json:
        print_json(variables)
    else:
        click.echo(shell.exports(variables, path=os.environ.get("PATH", "")))


@cluster.command()
@name_option
@click.option("--all", "all_clusters", is_flag=True, help="Every cluster of this state folder.")
@click.option("--purge", is_flag=True, help="Remove its event logs, daemon logs and leveldb store too.")
@json_option
def down(name: str, all_clusters: bool, purge: bool, as_json: bool) -> None:
    """End a cluster and whatever its applications left running; fine when it is down already."""
    settings = Settings.from_environment()
    names = known_names(settings) if all_clusters else (name,)
    with _progress("ending"):
        stopped = [lifecycle.stop(each, settings, purge=purge) for each in names]
    if as_json:
        print_json({"stopped": [asdict(each) for each in stopped]})
        return
    for each in stopped:
        click.echo(_told(each))
    if not stopped:
        click.echo("there is no cluster to end")


def _told(stopped: Stopped) -> str:
    if not stopped.daemons + stopped.leftovers:
        return f"cluster {stopped.name} was down already"
    left = f" and {stopped.leftovers} left by its applications" if stopped.leftovers else ""
    return f"cluster {stopped.name} is down: ended {stopped.daemons} daemons{left}"
