"""Records runs of the six programs on the embedded cluster, each with configurations spread over what may be tuned.

    python -m benchmarks.record                         # what is missing, program by program
    python -m benchmarks.record --program NAME          # of one program alone

The rows go to benchmarks/data/sparkruns.csv, in the order they ran; the first of each program is Spark's default. The
event log of that one is copied to a folder beside the table; the others stay in the cache folder. What was stopped goes
on where it was. Times are those of real runs: nothing else should run on the machine (an hour and a half on two cores).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import cramjam
import numpy as np

from benchmarks.bench_cluster import PROGRAMS, ROOT, Bench, cluster_up, open_bench
from tuner.services.trial import TrialRow
from tuner.services.tune import TuneSubject
from tuner.settings import Settings
from tuner.spark.eventlog import find_log
from tuner.spark.eventlog.codecs import decode
from tuner.spark.eventlog.files import log_files

__all__ = ["RUNS", "TABLE", "configuration_of", "configurations", "recorded", "runs_folder"]

TABLE = ROOT / "benchmarks" / "data" / "sparkruns.csv"
RUNS: Mapping[str, int] = {
    "SQL join": 40,
    "naive Bayes": 40,
    "word count": 40,
    "k-means": 10,
    "PageRank": 10,
    "TeraSort": 10,
}
"""Configurations of each program; those with 40 are the tables that searches are compared on."""
SEED = 7
MOST_TIMES_DEFAULT = 4.0
"""A run that takes so much longer than the default is stopped, and stands in the table as STOPPED."""
_FOLDERS = re.compile(r"(?<![\w.])(?:file:)?(?:/+[\w.@+-]+)+/+(?=[\w.@+-])")
"""The folders of a path on the machine that a run was recorded on; what is left is the file's name."""
MEASURED = ("state", "duration_s", "wait_s", "gib_seconds", "reserved_mib", "application_id", "load_average")


def runs_folder() -> Path:
    """Where the clusters' state, stores and event logs are, a folder for each program."""
    return Settings.from_environment().cache_dir / "bench-record"


def configuration_of(row: Mapping[str, str]) -> dict[str, str]:
    """The properties that a row of the table was recorded with."""
    return {name: value for name, value in row.items() if name.startswith("spark.") and value}


def configurations(subject: TuneSubject, number: int) -> list[dict[str, str]]:
    """So many configurations, spread evenly over the core properties; all that the cluster can grant.

    Args:
        subject: space and container model.
        number: without the default.
    """
    from scipy.stats import qmc

    space, memory = subject.space, subject.memory
    default = np.array([d.to_unit(d.clamp(d.default)) for d in space.dimensions])
    stays = np.array([not d.spec.core for d in space.dimensions])
    found: list[dict[str, str]] = []
    for place in qmc.Sobol(len(space.dimensions), seed=SEED).random(1 << 12):
        configuration = memory.filled(space.render(space.from_unit(np.where(stays, default, place))))
        if memory.reserved_mib(configuration) and configuration not in found:
            found.append(configuration)
        if len(found) == number:
            break
    return found


def recorded(path: Path = TABLE) -> list[dict[str, str]]:
    """The rows that there are; empty without a table."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, name: str, row: TrialRow) -> None:
    values = {
        "program": name,
        "arguments": " ".join(PROGRAMS[name]),
        **row.configuration,
        "state": row.state.value,
        "duration_s": f"{row.duration_s:.2f}",
        "wait_s": f"{row.wait_s:.2f}",
        "gib_seconds": f"{row.gib_seconds:.2f}",
        "reserved_mib": "" if row.reserved_mib is None else f"{row.reserved_mib:.0f}",
        "application_id": row.application_id or "",
        "load_average": f"{os.getloadavg()[0]:.1f}",
    }
    rows = [*recorded(path), values]
    names = ["program", "arguments", *sorted({key for each in rows for key in each if key.startswith("spark.")})]
    path.parent.mkdir(exist_ok=True)
    scratch = path.with_suffix(".part")
    with scratch.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*names, *MEASURED], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    scratch.replace(path)


def keep_log(name: str, logs: Path, path: Path) -> None:
    """Copies the event log of a program's default run beside the table, without what is the machine's alone."""
    first = next(each["application_id"] for each in recorded(path) if each["program"] == name)
    log = find_log(logs, first)
    if log is None:
        return
    parts = []
    for part in log_files(log).parts:
        with part.open() as stream:
            parts += [piece for piece in decode(stream) if isinstance(piece, bytes)]
    lines = [_without_machine(line) for line in b"".join(parts).decode().splitlines()]
    copy = path.parent / "event-logs" / f"{first}.zstd"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(bytes(cramjam.zstd.compress("".join(f"{line}\n" for line in lines).encode())))


def _without_machine(line: str) -> str:
    """An event without the properties of the JVM, of Hadoop and of the class path, and without folders in the rest."""
    event = json.loads(line)
    for key in ("JVM Information", "System Properties", "Hadoop Properties", "Classpath Entries", "Metrics Properties"):
        if key in event:
            event[key] = {}
    return _FOLDERS.sub("", json.dumps(event, separators=(",", ":")))


def record(name: str, bench: Bench, done: int, path: Path) -> None:
    """Runs what is missing of a program, row by row."""
    rows: list[dict[str, str]] = [{}, *configurations(bench.subject, RUNS[name] - 1)]
    cap_s: float | None = None
    for number, configuration in enumerate(rows):
        if number >= done:
            row = bench.run(number, configuration, cap_s)
            _append(path, name, row)
            print(f"{name} {number}: {row.state.value} {row.duration_s:.1f} s", file=sys.stderr, flush=True)
        if number == 0:
            first = next(each for each in recorded(path) if each["program"] == name)
            cap_s = MOST_TIMES_DEFAULT * float(first["duration_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", choices=RUNS, help="this program alone")
    parser.add_argument("-o", "--output", type=Path, default=TABLE, help="the table")
    options = parser.parse_args()
    for name in [options.program] if options.program else RUNS:
        done = sum(row["program"] == name for row in recorded(options.output))
        if done >= RUNS[name]:
            continue
        home = runs_folder() / name.replace(" ", "-")
        with cluster_up(home) as environment, open_bench(name, environment) as bench:
            bench.run(0, {})  # the first run on a new cluster finds nothing in the caches, and takes twice as long
            record(name, bench, done, options.output)
            keep_log(name, bench.event_logs, options.output)


if __name__ == "__main__":
    main()
