"""What tuning brings: six programs on the embedded cluster, Spark's defaults against what ``yarntune tune`` finds.

    python -m benchmarks.tuner                  # every program that has no result yet, then the report
    python -m benchmarks.tuner --program NAME   # one program, anew
    python -m benchmarks.tuner --report         # the report alone, of what there is
    python -m benchmarks.tuner --fresh          # everything anew

Each program is tuned by the command, as a user would, with a store of its own: 10 runs at most, then default, fastest
and best three times in turn. Its result is kept in the cache folder, so that what was stopped goes on where it was.
Times are those of real runs: nothing else should run on the machine (about an hour on two cores).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tuner_report import write_report
from tuner.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "word count": ("word_count.py", "--size", "medium"),
    "TeraSort": ("tera_sort.py", "--size", "small"),
    "k-means": ("k_means.py", "--size", "medium", "--storage", "MEMORY_ONLY"),
    "PageRank": ("page_rank.py", "--size", "small"),
    "naive Bayes": ("naive_bayes.py", "--size", "small"),
    "SQL join": ("sql_join.py", "--size", "small"),
}
"""The points of k-means do not fit into the memory of two default executors: what was dropped is made again in each
round, as with real data that was sized for yesterday."""
CLUSTER = ("--nodes", "2", "--node-memory", "6g", "--node-vcores", "4")
_TRIALS, _FINAL_RUNS = 10, 3
_TIMEOUT_S = 3600.0


def yarntune(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Runs the command; its progress goes to this program's stderr."""
    command = [sys.executable, "-m", "tuner.cli", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(environment), stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S
    )
    return done.stdout


def tune(name: str) -> dict[str, Any]:
    """Tunes one program on a cluster of its own."""
    with tempfile.TemporaryDirectory(prefix="yarntune-bench-") as home:
        environment = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("YARNTUNE_RM", "YARNTUNE_DATABASE"))
            },
            "YARNTUNE_STATE_DIR": f"{home}/state",
            "YARNTUNE_DATA_DIR": f"{home}/data",
        }
        for key in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"):
            environment.pop(key, None)
        program, *arguments = PROGRAMS[name]
        yarntune(("cluster", "up", "--name", "bench", *CLUSTER), environment)
        try:
            begin = time.monotonic()
            options = ("--json", "--trials", str(_TRIALS), "--final-runs", str(_FINAL_RUNS), "--name", name)
            text = yarntune(("tune", *options, f"workloads/programs/{program}", *arguments), environment)
            found: dict[str, Any] = json.loads(text)
        finally:
            yarntune(("cluster", "down", "--name", "bench"), environment)
    return {**found, "arguments": list(PROGRAMS[name]), "seconds": time.monotonic() - begin}


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
    write_report(options.output, found, list(PROGRAMS))


if __name__ == "__main__":
    main()
