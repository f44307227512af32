"""How many trials until a search is within 5 % of the best: ours against others, on recorded runs.

    python -m benchmarks.search                     # what is missing, then the report
    python -m benchmarks.search --report            # the report alone, of what there is
    python -m benchmarks.search --only ours         # searches and tables whose names have the text

No cluster is needed: forests fitted to recorded runs stand in for it. The other searches are installed at the first
time, each into an environment of its own below the cache folder. Results are kept there too, by a digest of the code
and the data that they depend on, so that what was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import search_ours, search_peers
from benchmarks.search_problem import Goal, Problem, StandIn, problems
from benchmarks.search_report import Result, write_report
from benchmarks.search_tables import OWN, PUBLIC, Table, own_tables, public_tables
from tuner.search.objective import Observation, TrialState
from tuner.search.transfer import PastJob
from tuner.settings import Settings

__all__ = ["COLD", "SEEDS", "TRIALS", "WARM", "main"]

ROOT = Path(__file__).resolve().parent.parent
COLD, WARM = "ours, cold", "ours, warm"
SEEDS = 20
TRIALS = 30
LEAST_EXPLAINED = 1 / 3
"""A forest that explains less of the differences between runs stands for nothing."""


@dataclass(frozen=True)
class Task:
    """One search."""

    searcher: str
    problem: str
    group: str
    seed: int


def _folder() -> Path:
    return Settings.from_environment().cache_dir / "bench-search"


def _digest(sources: Iterable[Path], *more: object) -> str:
    digest = hashlib.sha256(repr(more).encode())
    for source in sorted(path for path in sources if path.is_file()):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _problem_digest(group: str) -> str:
    sources = [ROOT / "benchmarks" / name for name in ("search_tables.py", "search_problem.py")]
    return _digest([*sources, *([OWN] if group == "embedded cluster" else PUBLIC.glob("*.csv"))])


@cache
def _searcher_digest(searcher: str, group: str) -> str:
    if searcher in (COLD, WARM):
        parts = [*(ROOT / "tuner" / "search").glob("*.py"), *(ROOT / "tuner" / "model").glob("*.py")]
        sources = [*parts, ROOT / "benchmarks" / "search_ours.py"]
    else:
        script, _ = search_peers.PEERS[searcher]
        sources = [ROOT / "benchmarks" / "search_peers.py", ROOT / "benchmarks" / "peers" / f"{script}.py"]
    return _digest(sources, _problem_digest(group), TRIALS)


def _kept(path: Path, value: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}")
    scratch.write_bytes(value)
    scratch.replace(path)


@cache
def _tables() -> list[Table]:
    return [*public_tables(), *own_tables()]


@cache
def _stand_in(name: str) -> StandIn:
    table = next(each for each in _tables() if each.name == name)
    path = _folder() / "stand-ins" / f"{name}-{_problem_digest(table.group)}.pickle"
    if not path.is_file():
        _kept(path, pickle.dumps(StandIn(table)))
    made: StandIn = pickle.loads(path.read_bytes())
    return made


@cache
def _problem(name: str, goal: Goal) -> Problem:
    """Made once, and kept: to look for the best takes longer than a search."""
    table = next(each for each in _tables() if each.name == name)
    path = _folder() / "problems" / f"{name}-{goal}-{_problem_digest(table.group)}.json"
    if not path.is_file():
        made = Problem.of(table, _stand_in(name), goal)
        _kept(path, json.dumps({"limit_s": made.limit_s, "best": made.best, "worst": made.worst}).encode())
    return Problem(table, _stand_in(name), goal, **json.loads(path.read_text()))


@cache
def _searched() -> list[Problem]:
    """All problems but those whose forest explains too little."""
    enough = [table for table in _tables() if _stand_in(table.name).explained >= LEAST_EXPLAINED]
    return [_problem(table.name, goal) for table, goal in problems(enough)]


def _left_out() -> dict[str, float]:
    """The other tables, and what their forests explain."""
    explained = {table.name: _stand_in(table.name).explained for table in _tables()}
    return {name: value for name, value in explained.items() if value < LEAST_EXPLAINED}


def _file(task: Task) -> Path:
    name = f"{task.searcher}-{task.problem}-{task.seed}.json".replace(" ", "-")
    return _folder() / "results" / _searcher_digest(task.searcher, task.group) / name


def _past(problem: Problem, seed: int) -> list[PastJob]:
    """What the cold searches of the other programs have found, those of the same program first."""
    others = [
        each for each in _searched()
        if each.table.group == problem.table.group and each.goal == problem.goal and each.name != problem.name
    ]  # fmt: skip
    place = [each.name for each in _searched()].index(problem.name)
    order = sorted(
        others,
        key=lambda each: (
            each.table.name.split(" ")[:2] != problem.table.name.split(" ")[:2],
            abs([p.name for p in _searched()].index(each.name) - place),
        ),
    )
    found = [
        search_ours.past_job(each.table, _observations(Task(COLD, each.name, each.table.group, seed))) for each in order
    ]
    return [job for job in found if job is not None]


def _observations(task: Task) -> list[Observation]:
    """The runs of a search, which is made up for where it is missing."""
    if not _file(task).is_file():
        _run(task)
    rows: list[dict[str, Any]] = json.loads(_file(task).read_text())["runs"]
    return [Observation(**{**row, "state": TrialState(row["state"])}) for row in rows]


def _run(task: Task) -> Task:
    """Searches, and keeps the runs."""
    problem = next(each for each in _searched() if each.name == task.problem)
    if task.searcher in (COLD, WARM):
        past = _past(problem, task.seed) if task.searcher == WARM else []
        runs = search_ours.search(problem, task.seed, TRIALS, past)
    else:
        python = search_peers.environment(task.searcher, _folder())
        runs = search_peers.search(task.searcher, python, problem, task.seed, TRIALS)
    ratios = [problem.ratio(each) for each in runs]
    kept = {
        "ratios": [ratio if math.isfinite(ratio) else None for ratio in ratios],
        "runs": [
            {
                "configuration": dict(each.configuration), "state": each.state.value, "duration_s": each.duration_s,
                "wait_s": each.wait_s, "gib_seconds": each.gib_seconds,
            }
            for each in runs
        ],
    }  # fmt: skip
    _kept(_file(task), json.dumps(kept).encode())
    return task


def _result(task: Task) -> Result | None:
    file = _file(task)
    if not file.is_file():
        return None
    ratios = json.loads(file.read_text())["ratios"]
    return Result(tuple(math.inf if ratio is None else ratio for ratio in ratios), TRIALS)


def _run_missing(task: Task) -> Task:
    return task if _file(task).is_file() else _run(task)


def _search(tasks: Sequence[Task], jobs: int) -> None:
    missing = [task for task in tasks if not _file(task).is_file()]
    with ProcessPoolExecutor(jobs) as pool:
        for number, done in enumerate(pool.map(_run_missing, missing)):
            if (number + 1) % 20 == 0 or number + 1 == len(missing):
                print(f"{number + 1} of {len(missing)}: {done.searcher}, {done.problem}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "search.md")
    parser.add_argument("--report", action="store_true", help="write the report of what there is")
    parser.add_argument("--only", default="", help="searches and tables alone whose names have this text")
    parser.add_argument("--jobs", type=int, default=2, help="searches side by side (default: 2)")
    options = parser.parse_args()
    searched = _searched()
    searchers = [*search_peers.PEERS, COLD, WARM]
    for peer in [] if options.report else search_peers.PEERS:
        try:
            search_peers.environment(peer, _folder())
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"{peer} could not be installed: {error}") from error
    if not options.report:
        # Seed by seed, so that what is stopped has as much of each search.
        tasks = [
            Task(each, made.name, made.table.group, seed)
            for seed in range(SEEDS)
            for made in searched
            for each in searchers
        ]
        _search(
            [task for task in tasks if options.only in f"{task.searcher} {task.problem} {task.group}"], options.jobs
        )
    found = {
        (searcher, each.name): [
            result
            for seed in range(SEEDS)
            if (result := _result(Task(searcher, each.name, each.table.group, seed))) is not None
        ]
        for searcher in searchers
        for each in searched
    }
    write_report(
        options.output,
        searched,
        _left_out(),
        found,
        peers={peer: packages for peer, (_, packages) in search_peers.PEERS.items()},
        ours=(COLD, WARM),
        seeds=SEEDS,
        trials=TRIALS,
        missing=_missing(),
    )


def _missing() -> list[str]:
    missing = [] if PUBLIC.is_dir() else ["the HiBench tables (YARNTUNE_TEST_DATA names the folder with sparkruns/)"]
    return missing if OWN.is_file() else [*missing, "runs on the embedded cluster (benchmarks/data/sparkruns.csv)"]


if __name__ == "__main__":
    main()
