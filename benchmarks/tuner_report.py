"""What ``benchmarks/tuner.py`` found, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import table
from tuner.files import write_text_atomically

__all__ = ["Row", "goals", "row_of", "write_report"]

_HEAD = """\
# Job tuner

`make bench-tuner` writes this page. Each program runs on an embedded YARN of two nodes (6 GiB and 4 vcores each) with
Spark's defaults, and is tuned by `yarntune tune` with an empty store: ten runs at most, the default's among them. Then
the default, the fastest and the recommended configuration run three times in turn; times and GiB·s are medians of
these. The recommended one reserves the least memory x time among those within 5 % of the fastest one's time in the
search. `fastest` is the run of the shortest time that anything has found, whatever it reserves: of the search's runs,
and of the runs in benchmarks/data/sparkruns.csv, which are spread over all that may be tuned.
"""


@dataclass(frozen=True)
class Row:
    """One program's result.

    Attributes:
        runs, failed: of the search.
        default_s, fastest_s, ours_s: seconds; with them the GiB·s of each.
        fastest_is_ours: whether the fastest is the recommended one itself.
        changed: what the recommended configuration sets.
        version: of the code that tuned it; load: the machine's load average at the end.
    """

    name: str
    arguments: str
    runs: int
    failed: int
    default_s: float
    default_gib_s: float
    fastest_s: float
    fastest_gib_s: float
    ours_s: float
    ours_gib_s: float
    fastest_is_ours: bool
    changed: Mapping[str, str]
    version: str
    load: float

    @property
    def speedup(self) -> float:
        """The default's time by ours."""
        return self.default_s / self.ours_s

    @property
    def spared(self) -> float:
        """The part of the fastest one's GiB·s that ours does without."""
        return 1.0 - self.ours_gib_s / self.fastest_gib_s

    @property
    def slower(self) -> float:
        """How much slower than the fastest ours is, as a part."""
        return self.ours_s / self.fastest_s - 1.0


def row_of(name: str, result: Mapping[str, Any]) -> Row:
    """The row of one program, from what the benchmark has kept."""
    default, fastest, ours = (result["finals"][each] for each in ("default", "fastest", "ours"))
    again = {str(each["configuration"]): each["failed"] for each in (default, fastest, ours)}
    return Row(
        name=name,
        arguments=" ".join(result["arguments"]),
        runs=result["runs"],
        failed=result["failed"] + sum(again.values()),
        default_s=default["duration_s"],
        default_gib_s=default["gib_seconds"],
        fastest_s=fastest["duration_s"],
        fastest_gib_s=fastest["gib_seconds"],
        ours_s=ours["duration_s"],
        ours_gib_s=ours["gib_seconds"],
        fastest_is_ours=fastest["configuration"] == ours["configuration"],
        changed=result["conf"],
        version=result["version"],
        load=result["load_average"],
    )


def goals(rows: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Each goal, the figure, and whether it is met."""
    speedups = np.array([row.speedup for row in rows])
    spared = np.array([row.spared for row in rows])
    runs, failed = sum(row.runs for row in rows), sum(row.failed for row in rows)
    mean = float(np.exp(np.log(speedups).mean()))
    slowest = max(row.slower for row in rows)
    return [
        ("10 runs or fewer for each program", str(max(row.runs for row in rows)), max(row.runs for row in rows) <= 10),
        ("faster than the default, geometric mean 1.3 times", f"{mean:.2f}", mean >= 1.3),
        ("faster than the default, best 3 times", f"{speedups.max():.2f}", bool(speedups.max() >= 3.0)),
        ("GiB·s below the fastest one's, best 41 %", f"{spared.max():.0%}", bool(spared.max() >= 0.41)),
        ("GiB·s below the fastest one's, mean 25 %", f"{spared.mean():.0%}", bool(spared.mean() >= 0.25)),
        ("within 5 % of the fastest one's time", f"{slowest:+.1%}", slowest <= 0.05),
        ("failed runs 2 % or fewer", f"{failed} of {runs}", failed <= 0.02 * runs),
    ]


def write_report(
    path: Path, found: Mapping[str, Mapping[str, Any]], names: Sequence[str], version: str, remarks: str = ""
) -> None:
    """Writes the page.

    Args:
        path: of the page.
        found: the command's JSON by program.
        names: all programs; those without a result are named as missing.
        version: of the code now; a row of another one is marked.
        remarks: on goals that were missed.
    """
    rows = [row_of(name, result) for name, result in found.items()]
    lines = [_HEAD, f"Machine: {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}.", ""]
    missing = [name for name in names if name not in found]
    if missing:
        lines += [f"Not run: {', '.join(missing)}.", ""]
    if rows:
        met = (
            ("goal", "figure", "met"),
            [(goal, figure, "yes" if ok else "**no**") for goal, figure, ok in goals(rows)],
        )
        lines += ["## Goals", "", *table(*met), "", "## Programs", "", *_programs(rows, version), ""]
        lines += [remarks, ""] if remarks else []
        lines += ["## What is set", "", *table(("program", "arguments", "set"), [_settings(row) for row in rows])]
    write_text_atomically(path, "\n".join(lines).rstrip() + "\n")


def _programs(rows: Sequence[Row], version: str) -> list[str]:
    header = ["program", "runs", "failed"]
    header += [f"{which}: s / GiB·s" for which in ("default", "fastest", "ours")]
    header += ["times faster", "GiB·s against the default", "against the fastest", "time against the fastest", "load"]
    cells = [
        (
            row.name if row.version == version else f"{row.name} (by earlier code)",
            str(row.runs),
            str(row.failed),
            f"{row.default_s:.1f} / {row.default_gib_s:.0f}",
            f"{row.fastest_s:.1f} / {row.fastest_gib_s:.0f}" + (" (ours)" if row.fastest_is_ours else ""),
            f"{row.ours_s:.1f} / {row.ours_gib_s:.0f}",
            f"{row.speedup:.2f}",
            f"{row.ours_gib_s / row.default_gib_s - 1.0:+.0%}",
            f"{-row.spared:+.0%}",
            f"{row.slower:+.1%}",
            f"{row.load:.1f}",
        )
        for row in rows
    ]
    return table(header, cells)


def _settings(row: Row) -> tuple[str, str, str]:
    changed = "; ".join(f"{name.removeprefix('spark.')}={value}" for name, value in row.changed.items())
    return row.name, f"`{row.arguments}`", changed or "nothing: the default is best"
