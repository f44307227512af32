"""What tuning brings: six programs on the embedded cluster, Spark's defaults against what ``yarntune tune`` finds.

    python -m benchmarks.tuner                  # every program that has no result yet, then the report
    python -m benchmarks.tuner --program NAME   # one program, anew
    python -m benchmarks.tuner --report         # the report alone, of what there is
    python -m benchmarks.tuner --fresh          # everything anew

Each program is tuned by the command, as a user would, with a store of its own: 10 runs at most. Then the default, the
fastest configuration that anything has found, and the recommended one run three times in turn. The fastest is looked
for among the runs of the search and those of benchmarks/data/sparkruns.csv, which are spread over all that may be
tuned, whatever it reserves. Results are kept in the cache folder, so that what was stopped goes on where it was. Times
are those of real runs: nothing else should run on the machine (about an hour on two cores).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench_cluster import PROGRAMS, ROOT, Bench, cluster_up, open_bench, yarntune
from benchmarks.record import configuration_of, recorded
from benchmarks.tuner_report import write_report
from tuner.settings import Settings

_TRIALS, _FINAL_RUNS = 10, 3


def tune(name: str) -> dict[str, Any]:
    """Tunes one program on a cluster of its own, and runs the three configurations again."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="yarntune-bench-") as home, cluster_up(Path(home)) as environment:
        program, *arguments = PROGRAMS[name]
        options = ("--json", "--trials", str(_TRIALS), "--name", name)
        text = yarntune(("tune", *options, f"workloads/programs/{program}", *arguments), environment)
        found: dict[str, Any] = json.loads(text)
        with open_bench(name, environment) as bench:
            finals = run_finals(bench, candidates(name, found))
    return {
        "arguments": list(PROGRAMS[name]),
        "version": version(),
        "seconds": time.monotonic() - begin,
        "load_average": os.getloadavg()[0],
        "runs": found["runs"],
        "failed": found["failed"],
        "trials": found["trials"],
        "conf": found["conf"],
        "finals": finals,
    }


def candidates(name: str, found: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """What runs again: ``default`` (nothing set), ``fastest`` and ``ours``; equal ones stand for each other.

    Args:
        name: of the program.
        found: the JSON of the command.
    """
    ran = [(each["duration_s"], each["configuration"]) for each in found["trials"] if each["state"] == "SUCCEEDED"]
    ran += [
        (float(row["duration_s"]), configuration_of(row))
        for row in recorded()
        if row["program"] == name and row["state"] == "SUCCEEDED"
    ]
    default = next(each["configuration"] for each in found["trials"] if each["kind"] == "default")
    fastest = min(ran, key=lambda each: each[0])[1]
    # In the words of the command where it is one of its own: it sets what differs from today alone.
    known = [(default, {}), (found["best"]["configuration"], found["conf"])]
    told = next((conf for configuration, conf in known if configuration == fastest), fastest)
    return {"default": {}, "fastest": told, "ours": found["conf"]}


def run_finals(bench: Bench, wanted: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Any]]:
    """Runs each three times in turn; medians by name, with how many failed."""
    apart: list[Mapping[str, str]] = []
    for configuration in wanted.values():
        if configuration not in apart:
            apart.append(configuration)
    rows: list[list[Any]] = [[] for _ in apart]
    for turn in range(_FINAL_RUNS):
        for place, configuration in enumerate(apart):
            row = bench.run(turn * len(apart) + place, configuration)
            print(f"again: {row.state.value} {row.duration_s:.1f} s", file=sys.stderr, flush=True)
            rows[place].append(row)
    medians = []
    for configuration, of_one in zip(apart, rows, strict=True):
        good = [row for row in of_one if row.state.value == "SUCCEEDED"]
        if not good:
            raise SystemExit(f"no run succeeded with {dict(configuration)}: {of_one[0].failure}")
        medians.append(
            {
                "configuration": dict(configuration),
                "runs": len(good),
                "failed": len(of_one) - len(good),
                "durations_s": [row.duration_s for row in good],
                "duration_s": statistics.median(row.duration_s for row in good),
                "gib_seconds": statistics.median(row.gib_seconds for row in good),
            }
        )
    return {which: medians[apart.index(configuration)] for which, configuration in wanted.items()}


def version() -> str:
    """What the results depend on: the sources of the tuner and its programs."""
    digest = hashlib.sha256()
    for source in sorted([*(ROOT / "tuner").rglob("*.py"), *(ROOT / "workloads" / "programs").glob("*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "tuner.md")
    parser.add_argument("--program", choices=PROGRAMS, help="this program alone, anew")
    parser.add_argument("--report", action="store_true", help="write the report of what there is")
    parser.add_argument("--fresh", action="store_true", help="forget all results first")
    options = parser.parse_args()
    folder = Settings.from_environment().cache_dir / "bench-tuner"
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name.replace(' ', '-')}.json" for name in PROGRAMS}
    for file in files.values() if options.fresh else ():
        file.unlink(missing_ok=True)
    for name, file in files.items():
        wanted = options.program == name or (options.program is None and not file.is_file())
        if options.report or not wanted:
            continue
        print(f"{name}: tuning", file=sys.stderr, flush=True)
        scratch = file.with_suffix(".part")
        scratch.write_text(json.dumps(tune(name)))
        scratch.replace(file)
    found = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    write_report(options.output, found, list(PROGRAMS), version())


if __name__ == "__main__":
    main()
