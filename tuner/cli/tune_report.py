"""How ``yarntune tune`` shows what it does and what came of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from tuner.cli.output import note, render_table
from tuner.search.objective import Summary, TrialState
from tuner.services.session import TuneOrder, TuneOutcome
from tuner.services.trial import TrialRow
from tuner.services.tune import Progress, TuneResult
from tuner.spark.params import PARAMS
from tuner.store import RunKind
from tuner.yarn.model import Application

_COLOURS = {TrialState.SUCCEEDED: "green", TrialState.FAILED: "red", TrialState.STOPPED: "yellow"}


class Reporter:
    """Tells what goes on, a few lines for each run.

    Args:
        order: what is being tuned.
        to_stderr: whether stdout is kept for data.
    """

    def __init__(self, order: TuneOrder, *, to_stderr: bool) -> None:
        self._order = order
        self._to_stderr = to_stderr
        self._default: Mapping[str, str] = {}
        self._live = sys.stderr.isatty()
        self._since = 0.0
        self.progress = Progress(self._started, self._watching, self._ended, note)

    def _started(self, number: int, kind: RunKind, reason: str) -> None:
        self._since = time.monotonic()
        if kind is RunKind.FINAL:
            self._say(f"final {number + 1}  {reason}")
        else:
            self._say(f"trial {number + 1}/{self._order.trials}  {reason}")

    def _watching(self, application: Application) -> None:
        if self._live:
            seconds = time.monotonic() - self._since
            click.echo(f"\r  {application.id} {application.state} {seconds:.0f} s \x1b[K", err=True, nl=False)

    def _ended(self, row: TrialRow) -> None:
        if self._live:
            click.echo("\r\x1b[K", err=True, nl=False)
        if row.kind is RunKind.DEFAULT:
            self._default = row.configuration
        changed = {k: v for k, v in row.configuration.items() if self._default.get(k) != v}
        shown = _core(row.configuration) if row.kind is RunKind.DEFAULT else changed
        if row.kind is not RunKind.FINAL:
            self._say("  " + (" ".join(f"{_short(k)}={_short(v)}" for k, v in shown.items()) or "unchanged"))
        self._say("  " + _run_line(row))

    def _say(self, text: str) -> None:
        click.echo(text, err=self._to_stderr)


def _core(configuration: Mapping[str, str]) -> dict[str, str]:
    """What every search looks at; the rest stays as it is unless there is a reason, and would only be in the way."""
    return {name: value for name, value in configuration.items() if PARAMS[name].core}


def _run_line(row: TrialRow) -> str:
    state = click.style(row.state.value, fg=_COLOURS[row.state])
    where = row.application_id or "not submitted"
    if row.state is not TrialState.SUCCEEDED:
        return f"{where} {state} after {row.duration_s:.1f} s: {row.failure}"
    reserves = "" if row.reserved_mib is None else f"  reserves {row.reserved_mib / 1024:.1f} GiB"
    return (
        f"{where} {state}  {row.duration_s:.1f} s (wait {row.wait_s:.1f} + run {row.run_s:.1f})"
        f"  {row.gib_seconds:.1f} GiB·s{reserves}"
    )


def _short(text: str) -> str:
    return text.removeprefix("spark.").removeprefix("org.apache.spark.")


def result_text(outcome: TuneOutcome) -> str:
    """The end of the report: the result as ``--conf`` lines, and a table of default against best."""
    result = outcome.result
    head = "interrupted; the same command with --resume goes on. So far:" if result.interrupted else ""
    if result.default is None or result.best is None:
        return f"{head}\nno run has succeeded yet".lstrip()
    lines = [head] if head else []
    lines += ["", f"Best of {result.runs} runs ({result.failed} failed or stopped); it is study {result.study_id}:", ""]
    if not result.conf:
        lines.append(f"  the configuration that it has: {_why_default(result)}")
    conf = {**outcome.subject.pinned, **result.conf}
    lines += [f"  --conf {name}={value}" for name, value in conf.items()]
    lines += ["", _comparison(outcome, result.default, result.best)]
    if result.conf and not result.finals:
        lines += ["", "These are single runs; --final-runs 3 runs them again and judges by those."]
    return "\n".join(lines)


def _why_default(result: TuneResult) -> str:
    if result.runs - result.failed > 1:
        return "nothing cheaper was as fast"
    return "nothing else ran to its end" if result.failed else "nothing else was tried"


def _comparison(outcome: TuneOutcome, default: Summary, best: Summary) -> str:
    names = [
        d.name
        for d in outcome.subject.space.dimensions
        if d.spec.core or default.configuration[d.name] != best.configuration[d.name]
    ]
    rows = [
        (
            "time, s",
            f"{default.duration_s:.1f}",
            f"{best.duration_s:.1f}",
            _change(default.duration_s, best.duration_s),
        ),
        ("  of it waiting, s", f"{default.wait_s:.1f}", f"{best.wait_s:.1f}", ""),
        (
            "memory x time, GiB·s",
            f"{default.gib_seconds:.1f}",
            f"{best.gib_seconds:.1f}",
            _change(default.gib_seconds, best.gib_seconds),
        ),
        ("runs", str(default.runs), str(best.runs), ""),
    ]
    for name in names:
        before, after = default.configuration[name], best.configuration[name]
        rows.append((name, _short(before), _short(after), "" if before == after else "changed"))
    return render_table(("", "default", "best", "change"), rows)


def _change(before: float, after: float) -> str:
    if not before:
        return ""
    text = f"{after / before - 1:+.1%}"
    return "none" if text in ("+0.0%", "-0.0%") else text


def result_json(outcome: TuneOutcome) -> dict[str, Any]:
    """The outcome for machines; times in seconds, memory in MiB, cost in GiB·s."""
    result: TuneResult = outcome.result
    limits = outcome.limits
    return {
        "job": {"id": outcome.job.id, "key": outcome.job.key, "name": outcome.job.name, "queue": outcome.job.queue},
        "study": result.study_id,
        "interrupted": result.interrupted,
        "runs": result.runs,
        "failed": result.failed,
        "limits": {
            "max_container_memory_mib": limits.max_container_memory_mib,
            "max_container_vcores": limits.max_container_vcores,
            "min_allocation_mib": limits.min_allocation_mib,
            "increment_mib": limits.increment_mib,
            "usable_memory_mib": limits.usable_memory_mib,
            "usable_vcores": limits.usable_vcores,
        },
        "pinned": dict(outcome.subject.pinned),
        "trials": [_row_json(row) for row in result.trials],
        "finals": [_row_json(row) for row in result.finals],
        "default": _summary_json(result.default),
        "fastest": _summary_json(result.fastest),
        "best": _summary_json(result.best),
        "conf": dict(result.conf),
    }


def _row_json(row: TrialRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "kind": row.kind.value,
        "state": row.state.value,
        "application_id": row.application_id,
        "configuration": dict(row.configuration),
        "reserved_mib": row.reserved_mib,
        "duration_s": row.duration_s,
        "wait_s": row.wait_s,
        "run_s": row.run_s,
        "gib_seconds": row.gib_seconds,
        "failure": row.failure or None,
        "reason": row.reason,
    }


def _summary_json(summary: Summary | None) -> dict[str, Any] | None:
    if summary is None:
        return None
    return {
        "configuration": dict(summary.configuration),
        "runs": summary.runs,
        "duration_s": summary.duration_s,
        "wait_s": summary.wait_s,
        "gib_seconds": summary.gib_seconds,
    }
