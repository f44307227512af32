"""How far the what-if model is off: its times for every recorded run, from the log of the program's default run alone.

    python -m benchmarks.what_if

Three figures for each run. What the model says from the first run's log, as for the second trial of the first search on
a cluster; the same with the contention that a search for another program has found there; and with the contention
fitted to all other runs of the program itself, the run in question left out, as late in a search.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.page import table
from benchmarks.record import TABLE, configuration_of, recorded
from benchmarks.search_tables import Table, own_tables
from tuner.files import write_text_atomically
from tuner.model.runtime import Contention
from tuner.search.objective import Observation, TrialState
from tuner.search.prior import TimePrior
from tuner.search.reserve import ReservationModel
from tuner.services.evidence import run_profile

ROOT = Path(__file__).resolve().parent.parent
_HEAD = """\
# What-if model

`make bench-what-if` writes this page. The model says from one run's event log how long the program takes with other
executors, cores, memory and partitions. Here it is asked for every run of benchmarks/data/sparkruns.csv, from the log
of the program's default run.

- **first**: from that log alone, as for the second trial of the first search on a cluster.
- **known**: with the contention (how much executors and tasks are in each other's way) that the runs of another program
  have shown; errors of all other programs together, order in the mean.
- **fitted**: with the contention of all other runs of the program itself, the run in question left out.

The error is time said / time taken - 1, its bias the median; order is Spearman's rank correlation of the two. The
cluster has two real cores, so the start of each executor takes some seconds from the rest; where nodes have cores to
spare, that is not so, and **first** is nearer.
"""
_KINDS = ("first", "known", "fitted")


@dataclass(frozen=True)
class Errors:
    """Of one program and one kind.

    Attributes:
        relative: time said / time taken - 1, one for each run but the default's (of `known`: for each program more).
        order: rank correlation of time said and time taken.
    """

    relative: Sequence[float]
    order: float


@dataclass(frozen=True)
class Asked:
    """A program's model and runs.

    Attributes:
        prior: the model of the default run.
        seen: all runs, the default's first.
    """

    prior: TimePrior
    seen: Sequence[Observation]

    def with_contention(self, contention: Contention) -> Errors:
        """What the model says with a contention that somebody else has found."""
        prior = replace(self.prior, contention=contention, _known={})
        return self._errors([prior.time_s(each.configuration) for each in self.seen[1:]])

    def left_out(self) -> Errors:
        """What it says of each run by all others."""
        said = []
        for each in self.seen[1:]:
            others = [other for other in self.seen if other is not each]
            said.append(self.prior.fitted(others).time_s(each.configuration))
        return self._errors(said)

    def _errors(self, said: Sequence[float]) -> Errors:
        from scipy.stats import spearmanr

        taken = np.array([each.duration_s for each in self.seen[1:]])
        return Errors(list(np.array(said) / taken - 1.0), float(spearmanr(said, taken).statistic))


def asked(program: Table, logs: Path) -> Asked | None:
    """The model of a program; None where the default run's log is not here, or does not tell enough."""
    rows = [row for row in recorded() if row["program"] == program.name and row["state"] == "SUCCEEDED"]
    profile = run_profile(logs, rows[0]["application_id"])
    if profile is None or not isinstance(program.memory, ReservationModel):
        return None
    seen = [_observation(row) for row in rows]
    return Asked(TimePrior(profile, program.memory, max(0.0, seen[0].duration_s - profile.observed_s)), seen)


def errors(programs: Mapping[str, Asked]) -> dict[str, dict[str, Errors]]:
    """The errors of each kind, by program."""
    contention = {name: each.prior.fitted(each.seen).contention for name, each in programs.items()}
    found: dict[str, dict[str, Errors]] = {}
    for name, each in programs.items():
        by_others = [each.with_contention(known) for other, known in contention.items() if other != name]
        of_program = {"first": each.with_contention(Contention()), "fitted": each.left_out()}
        if by_others:
            relative = [error for one in by_others for error in one.relative]
            of_program["known"] = Errors(relative, float(np.mean([one.order for one in by_others])))
        found[name] = of_program
    return found


def _observation(row: Mapping[str, str]) -> Observation:
    return Observation(
        configuration_of(row),
        TrialState.SUCCEEDED,
        float(row["duration_s"]),
        float(row["wait_s"]),
        float(row["gib_seconds"]),
    )


def _cells(name: str, of_program: Mapping[str, Errors]) -> Sequence[str]:
    cells = [name, str(len(of_program["first"].relative))]
    for each in (of_program.get(kind) for kind in _KINDS):
        if each is None:
            cells.append("")
            continue
        size = np.abs(each.relative)
        bias = np.median(each.relative)
        cells.append(f"{np.median(size):.0%} / {np.percentile(size, 90):.0%} / {bias:+.0%} / {each.order:.2f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "what-if.md")
    options = parser.parse_args()
    programs = {table.name: asked(table, TABLE.parent / "event-logs") for table in own_tables()}
    found = errors({name: each for name, each in programs.items() if each is not None})
    missing = [name for name, each in programs.items() if each is None]
    header = ["program", "runs", *(f"{kind}: median / 90th / bias / order" for kind in _KINDS)]
    lines = [_HEAD, *table(header, [_cells(name, of_program) for name, of_program in found.items()])]
    if missing:
        lines += ["", f"No log of the default run, or too little in it: {', '.join(missing)}."]
    write_text_atomically(options.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
