"""What ``benchmarks/workloads.py`` found, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workloads.blocks.calibration import Calibration
from workloads.blocks.mix import CPI_CLASSES, MAI_CLASSES, class_of
from workloads.combine.kinds import FLOORS

__all__ = ["Choice", "Live", "Segment", "write_report"]

GOAL = 0.0208
REGRET_GOAL = 0.0069
FEATURES = ("cores", "memory_mib", "cpi", "mai")


@dataclass(frozen=True)
class Segment:
    """A segment of a trace that ran as a block: what the trace says and what was measured, by feature."""

    source: str
    factor: int
    says: Mapping[str, float]
    measured: Mapping[str, float]
    cpi_by_clock: float

    def error(self, name: str) -> float:
        """Relative difference; a whole one where nothing was measured."""
        value = abs(self.measured[name] - self.says[name]) / max(self.says[name], FLOORS[name])
        return 1.0 if np.isnan(value) else value

    @property
    def mean_error(self) -> float:
        """Of the four features."""
        return sum(self.error(name) for name in FEATURES) / len(FEATURES)

    @property
    def classes_agree(self) -> tuple[bool, bool]:
        """Whether CPI and MAI are in the class that the trace says."""
        bounds = {"cpi": CPI_CLASSES, "mai": MAI_CLASSES}
        cpi, mai = (class_of(self.says[n], bounds[n]) == class_of(self.measured[n], bounds[n]) for n in bounds)
        return cpi, mai


@dataclass(frozen=True)
class Choice:
    """Settings of one window by full-length and reduced replays: jobs without an end, and mean latency in s."""

    name: str
    by: str
    factor: float
    full: Mapping[str, tuple[int, float]]
    small: Mapping[str, tuple[int, float]]

    @property
    def best(self) -> str:
        """By the full-length replays."""
        return min(self.full, key=self.full.__getitem__)

    @property
    def chosen(self) -> str:
        """By the reduced replays."""
        return min(self.small, key=self.small.__getitem__)

    @property
    def regret(self) -> float:
        """How much worse the chosen one is, at full length; infinite where it leaves more jobs without an end."""
        (best_left, best_s), (left, mean_s) = self.full[self.best], self.full[self.chosen]
        return float("inf") if left > best_left else mean_s / best_s - 1


@dataclass(frozen=True)
class Live:
    """One setting live on YARN: mean latencies in s, live, by the oracle, and by the oracle at full length."""

    name: str
    jobs: int
    tasks: int
    unfinished: int
    latency_s: float
    oracle_s: float
    full_s: float
    elapsed_s: float


def write_report(
    path: Path,
    segments: Sequence[Segment],
    kinds: Mapping[str, tuple[int, int]],
    choices: Sequence[Choice],
    lived: Sequence[Live],
    calibration: Calibration,
    *,
    counted: bool,
    load: float,
) -> None:
    lines = [
        "# Reduced workloads",
        "",
        f"Made by `benchmarks/workloads.py` on {os.cpu_count()} cores ({platform.machine()}), "
        f"load average {load:.1f} at its start.",
        "",
    ]
    if segments:
        lines += _segments(segments, kinds, calibration, counted=counted)
    if choices:
        lines += _choices(choices)
    if lived:
        lines += _lived(lived)
    path.write_text("\n".join(lines).rstrip() + "\n")


def _segments(
    segments: Sequence[Segment], kinds: Mapping[str, tuple[int, int]], calibration: Calibration, *, counted: bool
) -> Iterator[str]:
    yield "## Blocks against the segments of the trace"
    yield ""
    yield (
        "A random sample of five-minute segments, each run as a block in a `factor`-th of its time, four at a time, "
        "in the order of their memory. Error: mean over the segments of the relative difference between what ran "
        f"and what the trace says (not what the block was told), against at least {FLOORS['cores']} cores, "
        f"{FLOORS['memory_mib']:.0f} MiB, CPI {FLOORS['cpi']} and MAI {FLOORS['mai']}. CPU is CPU time as the "
        "operating system counts it, memory the process's own resident memory."
    )
    yield ""
    if counted:
        yield "CPI and MAI are counted by the processor."
    else:
        yield (
            "This machine does not let the processor's counters be read: CPI and MAI are those of the calibrated "
            "kernels that ran, weighted by the instructions that each ran. The last column is CPU time times the "
            "clock rate by these instructions instead, which has the control of the blocks and cold caches in it."
        )
    yield ""
    titles: tuple[str, ...] = (
        "source",
        "factor",
        "segments",
        "CPU use",
        "memory",
        "CPI",
        "MAI",
        "mean",
        "95 % of segments below",
    )
    titles += ("CPI class agrees", "MAI class agrees", "CPI by the clock")
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for source in dict.fromkeys(each.source for each in segments):
        for factor in sorted({each.factor for each in segments}):
            own = [each for each in segments if (each.source, each.factor) == (source, factor)]
            if own:
                yield _row(source, factor, own)
    yield ""
    means = {
        f: np.mean([s.mean_error for s in segments if s.factor == f]) for f in sorted({s.factor for s in segments})
    }
    words = ", ".join(f"{mean:.2%} at {factor}" for factor, mean in means.items())
    met = "met" if means.get(100, 1.0) < GOAL else "not met"
    yield f"Mean of both sources and all four: {words}. Goal: below {GOAL:.2%} at 100, {met}."
    yield ""
    for source, (count, centres) in kinds.items():
        yield f"- {source}: {count} segments, {centres} kinds."
    yield (
        "- CPI of the series is set to a median of 1.8, as its file has sums over an unknown number of records; "
        "task events have no CPI, so each job's is drawn around it (`workloads/combine/segments.py`). Each job is "
        "scaled down to what one process can run; task events say what tasks ask for, not what they use."
    )
    yield f"- Calibrated at {calibration.clock_ghz:.2f} GHz with a ring of {calibration.ring_bytes >> 20} MiB:"
    yield ""
    yield "| kernel | CPI | MAI | ns a step |"
    yield "|---|---|---|---|"
    for name, kernel in calibration.kernels.items():
        yield f"| {name} | {kernel.cpi:.2f} | {kernel.mai:.3f} | {kernel.ns_per_step:.2f} |"
    yield ""


def _row(source: str, factor: int, own: Sequence[Segment]) -> str:
    errors = [f"{np.mean([each.error(name) for each in own]):.2%}" for name in FEATURES]
    each_mean = np.array([each.mean_error for each in own])
    agree = np.array([each.classes_agree for each in own]).mean(axis=0)
    clock = np.nanmean([abs(each.cpi_by_clock - each.says["cpi"]) / each.says["cpi"] for each in own])
    cells = [
        source,
        str(factor),
        str(len(own)),
        *errors,
        f"**{each_mean.mean():.2%}**",
        f"{np.quantile(each_mean, 0.95):.2%}",
    ]
    return f"| {' | '.join(cells)} | {agree[0]:.1%} | {agree[1]:.1%} | {clock:.1%} |"


def _choices(choices: Sequence[Choice]) -> Iterator[str]:
    yield "## Which setting is best"
    yield ""
    yield (
        "Hadoop's own scheduler (the oracle) replays a window under every setting, at full length and reduced. In "
        "`time` all times are divided, the heartbeats of nodes and ApplicationMasters too; the Fair Scheduler's "
        "update step of half a second is not, as the oracle has it fixed. In `tasks` every tenth task and node is "
        "kept. Worse: by how much the setting that the reduced replays choose is worse at full length (goal: at "
        f"most {REGRET_GOAL:.2%})."
    )
    yield ""
    yield "| window | by | factor | settings | best | chosen by the reduced | worse | pairs the other way round |"
    yield "|---|---|---|---|---|---|---|---|"
    for each in choices:
        labels = list(each.full)
        pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i] if each.full[a] != each.full[b]]
        turned = sum((each.full[a] < each.full[b]) != (each.small[a] < each.small[b]) for a, b in pairs)
        cells = [each.name, each.by, f"{each.factor:g}", str(len(labels)), each.best, each.chosen]
        yield f"| {' | '.join(cells)} | {each.regret:.2%} | {turned} of {len(pairs)} |"
    yield ""


def _lived(lived: Sequence[Live]) -> Iterator[str]:
    yield "## Live on YARN"
    yield ""
    first = lived[0]
    yield (
        f"Four minutes of the Facebook trace from 7h15 on with a third of its tasks and nodes ({first.jobs} jobs, "
        f"{first.tasks} tasks), reduced by 15 in time, as real applications on the embedded cluster of one node with "
        "heartbeats reduced likewise; the oracle has the same reduced case, and the window before any reduction. "
        "Live latencies have what no simulation has: each container takes this machine some tenths of a second to "
        "start."
    )
    yield ""
    yield "| setting | mean latency live, s | oracle, reduced, s | oracle, full, s | jobs without an end | took, s |"
    yield "|---|---|---|---|---|---|"
    for each in lived:
        cells = [each.name, f"{each.latency_s:.1f}", f"{each.oracle_s:.1f}", f"{each.full_s:.1f}", str(each.unfinished)]
        yield f"| {' | '.join(cells)} | {each.elapsed_s:.0f} |"
    yield ""
    orders = [sorted(lived, key=key) for key in (lambda e: (e.unfinished, e.latency_s), lambda e: e.oracle_s)]
    same = [each.name for each in orders[0]] == [each.name for each in orders[1]]
    yield f"The order of the settings is {'the same' if same else 'not the same'} live and by the oracle."
    yield ""
