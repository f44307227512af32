#!/usr/bin/env python3
"""What the embedded cluster's own settings are worth: writes benchmarks/cluster.md.

Two clusters take turns, round by round, so that whatever else the machine does meets both: `stock` has Hadoop's and
Spark's own intervals and no class-data archives, `tuned` is what `yarntune cluster up` gives. Measured in each round:
the time of `up`, the memory of the daemons, and the time and CPU time from spark-submit to the end of a do-nothing job.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from tuner.settings import Settings
from workloads.cluster import shell
from workloads.cluster.archives import Tuning
from workloads.cluster.jars import pyspark_home
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec
from workloads.cluster.training import ensure_archives

REPORT = Path(__file__).with_suffix(".md")
JOB_TIMEOUT_S = 900.0
STOCK = Tuning(
    # C2 as any JVM has it; the daemons' other options save memory, not time.
    daemon_options=("-XX:TieredStopAtLevel=4",),
    yarn_properties={"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000"},
    spark_properties={
        "spark.yarn.scheduler.heartbeat.interval-ms": "3000",
        "spark.yarn.scheduler.initial-allocation.interval": "200ms",
        "spark.yarn.report.interval": "1s",
    },
)
NOTHING = """\
from pyspark import SparkContext

context = SparkContext(appName="nothing")
assert context.parallelize(range(4), 4).count() == 4
context.stop()
"""


@dataclass(frozen=True)
class Round:
    """One measurement of one kind of cluster: seconds, seconds, CPU seconds of the client, MiB of RM and of each NM."""

    up_s: float
    job_s: float
    client_cpu_s: float
    rm_mib: float
    nm_mib: float


def measure(kind: str, tuning: Tuning | None, folder: Path) -> Round:
    """Starts a cluster, runs the job, ends the cluster."""
    settings = replace(Settings.from_environment(), state_dir=folder / kind)
    spec = ClusterSpec(name=kind)
    try:
        began = time.monotonic()
        running = start(spec, settings, tuning=tuning)
        up_s = time.monotonic() - began
        sizes = [psutil.Process(record.pid).memory_info().rss / 1024**2 for record in running.processes]
        program = folder / "nothing.py"
        program.write_text(NOTHING)
        command = [
            str(pyspark_home() / "bin" / "spark-submit"),
            "--num-executors",
            "2",
            "--executor-memory",
            "512m",
            str(program),
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        subprocess.run(
            command,
            env={**os.environ, **shell.environment(running)},
            capture_output=True,
            check=True,
            timeout=JOB_TIMEOUT_S,
        )
        job_s = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Round(up_s, job_s, cpu_s, sizes[0], statistics.mean(sizes[1:]))
    finally:
        stop(kind, settings, purge=True)


def table(stock: list[Round], tuned: list[Round]) -> str:
    """The report's table: medians, the range, and the median of the rounds' own ratios."""
    rows = []
    for title, unit, field in (
        ("`up` (2 nodes) until both nodes are ready", "s", "up_s"),
        ("do-nothing job, spark-submit to end", "s", "job_s"),
        ("CPU time of spark-submit and its driver", "s", "client_cpu_s"),
        ("ResourceManager resident", "MiB", "rm_mib"),
        ("NodeManager resident", "MiB", "nm_mib"),
    ):
        before = [getattr(each, field) for each in stock]
        after = [getattr(each, field) for each in tuned]
        ratio = statistics.median(b / a for a, b in zip(before, after, strict=True))
        cells = [f"{statistics.median(v):.1f} ({min(v):.1f} to {max(v):.1f})" for v in (before, after)]
        rows.append(f"| {title}, {unit} | {cells[0]} | {cells[1]} | {ratio:.2f} |")
    return "\n".join(["| | stock | tuned | tuned / stock |", "|---|---|---|---|", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    archives = ensure_archives(Settings.from_environment(), note=lambda text: print(text, file=sys.stderr))
    load = os.getloadavg()[0]
    stock: list[Round] = []
    tuned: list[Round] = []
    with tempfile.TemporaryDirectory(prefix="yarntune-bench-") as name:
        for number in range(1, rounds + 1):
            stock.append(measure("stock", STOCK, Path(name)))
            tuned.append(measure("tuned", None, Path(name)))
            print(f"round {number} of {rounds}: {stock[-1]} {tuned[-1]}", file=sys.stderr)
    method = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    REPORT.write_text(
        f"# The embedded cluster\n\nMade by `benchmarks/cluster.py`. {method}\n\n"
        f"{rounds} rounds on {os.cpu_count()} cores ({platform.machine()}), load average {load:.1f} before and "
        f"{os.getloadavg()[0]:.1f} after, class-data archives {'in use' if archives else 'not there'}. "
        "Median, then the range; the last column is the median of the rounds' own ratios.\n\n"
        f"{table(stock, tuned)}\n",
        encoding="utf-8",
    )
    print(REPORT.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
