"""``yarntune analyze``: what event logs say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.output import json_option, note, print_json
from tuner.errors import InputError
from tuner.units import parse_memory_mib

if TYPE_CHECKING:
    from tuner.analysis import Severity
    from tuner.services.analyze import LogOutcome

_COLOURS = {"critical": "red", "warning": "yellow", "info": "cyan"}


@click.command()
@click.argument("eventlogs", metavar="EVENTLOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--increment",
    default="1024m",
    show_default=True,
    help="What YARN rounds containers up to a multiple of (Capacity Scheduler: yarn.scheduler.minimum-allocation-mb).",
)
@click.option("--pin", "pins", metavar="NAME", multiple=True, help="A property that stays as it is. Repeatable.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the configuration as a properties file; for a single log.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes that read; one for each core where not given.")
@json_option
def analyze(
    eventlogs: tuple[Path, ...],
    increment: str,
    pins: tuple[str, ...],
    output: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Say what event logs tell: reserved against used memory, waits, skew, spill, failures; and what to set.

    EVENTLOG is a file, a rolling directory (eventlog_v2_...), an archive of the History Server, or a folder of logs. No
    cluster is needed, and nothing is changed. A log that cannot be read is named on stderr and the others still count;
    the exit status is 1 where none could be read.
    """
    from tuner.services.analyze import analyze_logs
    from tuner.spark.names import canonical_name

    increment_mib = _increment(increment)
    paths, errors = _expanded(eventlogs)
    if output is not None and len(paths) > 1:
        raise click.UsageError(f"-o takes a single log, and there are {len(paths)}")
    with click.progressbar(length=len(paths), label="reading", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        outcomes = analyze_logs(
            paths,
            increment_mib=increment_mib,
            pinned=frozenset(canonical_name(pin) for pin in pins),
            workers=workers,
            done=lambda _: bar.update(1),
        )
    errors += [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in errors:
        note(f"error: {error.message}")
    if as_json:
        _print_json(outcomes, errors, increment_mib)
    else:
        _print_text(outcomes)
    if all(outcome.analysis is None for outcome in outcomes):
        raise InputError("no event log could be read", "give the path of a Spark event log, or of a folder of them")
    if output is not None:
        _write(output, outcomes[0])


def _increment(text: str) -> int:
    try:
        increment_mib = parse_memory_mib(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint="--increment") from None
    if increment_mib <= 0:
        raise click.BadParameter("must be at least 1m", param_hint="--increment")
    return increment_mib


def _expanded(eventlogs: tuple[Path, ...]) -> tuple[list[Path], list[InputError]]:
    from tuner.services.analyze import expand

    paths: list[Path] = []
    errors: list[InputError] = []
    for path in eventlogs:
        try:
            paths += expand(path)
        except InputError as error:
            errors.append(error)
    return paths, errors


def _print_text(outcomes: list[LogOutcome]) -> None:
    from tuner.analysis import report_text

    texts = [report_text(each.analysis, _coloured) for each in outcomes if each.analysis is not None]
    if texts:
        click.echo(f"\n\n{'=' * 110}\n\n".join(texts))


def _coloured(text: str, severity: Severity) -> str:
    return click.style(text, fg=_COLOURS[severity.value], bold=True)


def _print_json(outcomes: list[LogOutcome], errors: list[InputError], increment_mib: int) -> None:
    from tuner.analysis import report_json

    print_json(
        {
            "increment_mib": increment_mib,
            "logs": [report_json(each.analysis) for each in outcomes if each.analysis is not None],
            "errors": [{"message": error.message, "hint": error.hint} for error in errors],
        }
    )


def _write(output: Path, outcome: LogOutcome) -> None:
    from tuner.analysis import properties_header
    from tuner.spark.conf import write_properties_file

    assert outcome.analysis is not None
    settings = outcome.analysis.configuration.settings(outcome.analysis.case.facts)
    write_properties_file(output, settings, properties_header(outcome.analysis))
    note(f"wrote {len(settings)} propert{'y' if len(settings) == 1 else 'ies'} to {output}")
