"""What ``benchmarks/search.py`` found, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.page import table
from tuner.files import write_text_atomically

if TYPE_CHECKING:
    from benchmarks.search_problem import Problem

__all__ = ["Found", "Result", "goals", "write_report"]

WITHIN: Final = 0.05
_FEW: Final = 10
"""Trials of ``yarntune tune`` where nobody says another number."""

_HEAD = """\
# Search

`make bench-search` writes this page: how many runs of a job the search of `yarntune tune` takes until it has found a
configuration that is within 5 % of the best, against others on the same problems. No cluster is needed: recorded runs
stand in for it (see below).

- Every search has {trials} trials, the default configuration's among them: it is the first, but for SMAC3, which has
  it behind its initial design. A search that is not there within them counts as {trials}. Figures are medians over
  {seeds} seeds with quartiles, and behind them how many searches were there at all where not all were.
- *time*: the least time. *GiB·s*: the least memory x time among those at most 5 % slower than the fastest, which is
  what `yarntune tune` looks for. Ours has to find out how fast the fastest is; the others lower one number and are told
  it: of two that are too slow the faster is better, and any that is fast enough is better than both (Deb 2000).
- The others are told ranges, logarithmic or not, and values, and have their own settings: {peers}.
  A configuration that the cluster could not grant is no trial of theirs, so that they need no container model; sizes
  are filled up to what YARN grants for all.
- *cold*: an empty store. *warm*: the other programs of the same table were tuned before, each by a cold search of the
  same seed; what was best for up to three similar ones is tried first, by the product's own code. The HiBench tables
  have too few figures of a run to tell which programs are similar: there it is the other sizes of the same program,
  nearest first, then the other program.
- The what-if model needs the event log of the first run. There is none for HiBench, where the search goes without.
"""
_STAND_IN = """\
A random forest fitted to the logarithms of all recorded times of a program says how long a configuration would run;
how many runs a leaf has is chosen by cross-validation, and more than three medians count as three. The nearest recorded
run is no fairer: of 400 or 2,000 runs in 30 dimensions all are about equally far from a configuration, so that the
answer would be one run's luck, which no search can learn anything about. But a forest smooths, its optimum is no run
that was recorded, and a search that works with forests itself (SMAC3) is at home on it. It answers without noise.
Memory is computed by the container model. The embedded cluster's tables have 40 runs each, on a machine that was busy.

*Explained* is the part of the variance of log time that the forest explains in runs it has not seen; tables of which it
explains less than a third are left out. *Best* is the least of about 30,000 configurations that an evolution from the
recorded ones has looked at.
"""


@dataclass(frozen=True)
class Result:
    """One search.

    Attributes:
        ratios: what each trial came to, by the best that there is; infinite where it failed or was too slow.
        most: trials that it had.
    """

    ratios: tuple[float, ...]
    most: int

    @property
    def trials(self) -> int:
        """Until one was within 5 % of the best; all of them where none was."""
        return next((place + 1 for place, ratio in enumerate(self.ratios) if ratio <= 1.0 + WITHIN), self.most)

    @property
    def reached(self) -> bool:
        """Whether one was."""
        return min(self.ratios) <= 1.0 + WITHIN


Found = Mapping[tuple[str, str], Sequence[Result]]
"""By search and problem; empty where nothing has run yet."""


def median_trials(found: Found, searcher: str, problem: str) -> float | None:
    """Over the seeds; None where there are none."""
    results = found.get((searcher, problem), ())
    return float(np.median([each.trials for each in results])) if results else None


def goals(
    found: Found, names: Sequence[str], peers: Sequence[str], cold: str, warm: str, *, seeds: int
) -> list[tuple[str, str, bool]]:
    """Each goal, the figure, and whether it is met; over the problems that all searches have run on with all seeds."""
    every = (*peers, cold, warm)
    shared = [name for name in names if all(len(found.get((each, name), ())) >= seeds for each in every)]
    if not shared:
        return []

    def ratios(searcher: str) -> list[float]:
        best = [min(median_trials(found, peer, name) or 0.0 for peer in peers) for name in shared]
        return [(median_trials(found, searcher, name) or 0.0) / each for name, each in zip(shared, best, strict=True)]

    of_cold, of_warm = ratios(cold), ratios(warm)
    no_worse = sum(ratio <= 1.0 for ratio in of_cold)
    quarter = sum(ratio <= 0.25 for ratio in of_warm)
    return [
        (
            "cold: no more trials than the best of the others",
            f"{np.median(of_cold):.2f} times, {no_worse} of {len(shared)} problems",
            bool(np.median(of_cold) <= 1.0),
        ),
        (
            "warm: a quarter of the trials of the best of the others",
            f"{np.median(of_warm):.2f} times, {quarter} of {len(shared)} problems",
            bool(np.median(of_warm) <= 0.25),
        ),
    ]


def trials_table(found: Found, names: Sequence[str], searchers: Sequence[str], *, seeds: int) -> list[str]:
    """Median and quartiles of the trials, a row for each problem."""
    return table(
        ("problem", *searchers),
        [(name, *(_trials_cell(found.get((searcher, name), ()), seeds) for searcher in searchers)) for name in names],
    )


def _trials_cell(results: Sequence[Result], seeds: int) -> str:
    if not results:
        return "not run"
    low, middle, high = np.percentile([each.trials for each in results], [25, 50, 75])
    reached = sum(each.reached for each in results)
    there = "" if reached == len(results) >= seeds else f", {reached} of {len(results)}"
    return f"{middle:g} ({low:g} to {high:g}){there}"


def _after_few(results: Sequence[Result]) -> str:
    if not results:
        return "not run"
    above = float(np.median([min(each.ratios[:_FEW]) for each in results])) - 1.0
    return "none is fast enough" if np.isinf(above) else f"{max(above, WITHIN):.0%}"


def write_report(
    path: Path,
    searched: Sequence[Problem],
    left_out: Mapping[str, float],
    found: Found,
    *,
    peers: Mapping[str, Sequence[str]],
    ours: tuple[str, str],
    seeds: int,
    trials: int,
    missing: Sequence[str] = (),
) -> None:
    """Writes the page.

    Args:
        path: of the page.
        searched: the problems.
        left_out: tables whose forest explains too little, and what it explains.
        found: results.
        peers: the packages of each other search.
        ours: the names of the cold and the warm one.
        seeds: how many there are to be of each.
        trials: the most of a search.
        missing: tables that are not here.
    """
    names, searchers = [each.name for each in searched], [*peers, *ours]
    packages = ", ".join(" ".join((peer, f"(`{' '.join(each)}`)")) if each else peer for peer, each in peers.items())
    lines = [_HEAD.format(trials=trials, seeds=seeds, peers=packages)]
    lines += [f"Machine: {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}.", ""]
    lines += [f"Not here: {each}.\n" for each in missing]
    short = sum(len(found.get((each, name), ())) < seeds for each in searchers for name in names)
    if short:
        total = len(searchers) * len(names)
        lines += [f"**Not finished**: {short} of {total} cells have fewer than {seeds} seeds; *of* says how many.", ""]
    met = goals(found, names, list(peers), *ours, seeds=seeds)
    cells = [(goal, figure, "yes" if ok else "**no**") for goal, figure, ok in met]
    lines += ["## Goals", ""]
    if met:
        lines += ["The figure is the median over the problems with all seeds.", ""]
        lines += [*table(("goal", "figure", "met"), cells), ""]
    else:
        lines += [f"**Not judged**: no problem has {seeds} seeds of every search yet.", ""]
    lines += ["## Trials until within 5 % of the best", "", *trials_table(found, names, searchers, seeds=seeds), ""]
    lines += [f"## Above the best after {_FEW} trials", ""]
    lines += ["Medians. A search ends when it is within 5 %, so less than that is not told apart.", ""]
    rows = [(name, *(_after_few(found.get((each, name), ())) for each in searchers)) for name in names]
    lines += [*table(("problem", *searchers), rows), ""]
    lines += ["## What stands in for the runs", "", _STAND_IN, *_stand_ins(searched)]
    lines += _without(left_out)
    write_text_atomically(path, "\n".join(lines).rstrip() + "\n")


def _without(left_out: Mapping[str, float]) -> list[str]:
    named = ", ".join(f"{name} ({explained:.2f})" for name, explained in left_out.items())
    return ["", f"Left out, with what the forest explains: {named}."] if named else []


def _stand_ins(made: Sequence[Problem]) -> list[str]:
    header = ("problem", "runs", "properties", "explained", "runs in a leaf", "best", "default by the best")
    rows = []
    for each in made:
        default = each.observe(each.table.default)
        what = default.duration_s if each.goal == "time" else default.gib_seconds
        rows.append(
            (
                each.name,
                f"{len(each.table.configurations):,}",
                str(len(each.table.space.dimensions)),
                f"{each.stand_in.explained:.2f}",
                str(each.stand_in.leaf),
                f"{each.best:.1f} {'s' if each.goal == 'time' else 'GiB·s'}",
                f"{what / each.best:.2f}",
            )
        )
    return table(header, rows)
