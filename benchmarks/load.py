"""The choice by load: one job, tuned on an idle cluster, and then run on a busy one with and without the choice.

    python -m benchmarks.load           # about ten minutes, on a quiet machine; writes benchmarks/load.md

An application holds most of the embedded cluster. The job is submitted under it three times in turn with the
configuration that is best on an idle cluster, and with what ``yarntune recommend`` says for the load of that moment,
each by the real spark-submit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.bench_cluster import ROOT, yarntune
from benchmarks.page import table
from tuner.files import write_text_atomically
from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.shell import environment
from workloads.cluster.spec import ClusterSpec, RunningCluster

CLUSTER = ClusterSpec(name="bench-load", nodes=2, node_memory_mib=8192, node_vcores=8)
HEAP, CORES = "2600m", "1"
PINS = ("--pin", f"spark.executor.memory={HEAP}", "--pin", f"spark.executor.cores={CORES}")
HELD_EXECUTORS = 3
TURNS = 3
_TIMEOUT_S = 300.0

JOB = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("checksum=", spark.sparkContext.parallelize(range(24), 24).map(lambda i: time.sleep(1.0) or i).sum(), sep="")
spark.stop()
"""
HOLDER = """
import time
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate()
time.sleep(3600)
"""


@dataclass(frozen=True)
class Measured:
    """One run: seconds from the start of spark-submit to its end, and GiB·s as the ResourceManager charged them."""

    seconds: float
    gib_seconds: float


def run(program: Path, conf: Mapping[str, str], environ: Mapping[str, str], client: ResourceManagerClient) -> Measured:
    """Submits the job once with a configuration."""
    tag = f"bench-{time.time_ns()}"
    settings = {"spark.executor.memory": HEAP, "spark.executor.cores": CORES, **conf, "spark.yarn.tags": tag}
    options = [token for name, value in settings.items() for token in ("--conf", f"{name}={value}")]
    command = [f"{environ['SPARK_HOME']}/bin/spark-submit", "--master", "yarn", *options, str(program)]
    begin = time.monotonic()
    subprocess.run(command, env=dict(environ), check=True, capture_output=True, timeout=_TIMEOUT_S)
    seconds = time.monotonic() - begin
    # Containers that end after the application still add memory-seconds.
    time.sleep(2.0)
    (application,) = client.applications(states=("FINISHED",), tags=[tag])
    return Measured(seconds, (application.memory_seconds or 0) / 1024.0)


@contextmanager
def busy(program: Path, environ: Mapping[str, str], client: ResourceManagerClient) -> Iterator[None]:
    """An application of one AM and some executors of 3 GiB holds the cluster."""
    command = [f"{environ['SPARK_HOME']}/bin/spark-submit", "--master", "yarn"]
    command += ["--num-executors", str(HELD_EXECUTORS), "--executor-memory", HEAP, str(program)]
    process = subprocess.Popen(command, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _TIMEOUT_S
        while client.metrics().containers_allocated != 1 + HELD_EXECUTORS:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the application that is to hold the cluster did not get its executors")
            time.sleep(0.5)
        yield
    finally:
        # The Python program is a child of spark-submit's, and would sleep on.
        for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            child.terminate()
        process.terminate()
        process.wait(60)


def measure(home: Path, cluster: RunningCluster) -> dict[str, Any]:
    """Tunes the job on the idle cluster, then runs both configurations in turn on the busy one."""
    job, holder = home / "job.py", home / "holder.py"
    job.write_text(JOB)
    holder.write_text(HOLDER)
    own = {"YARNTUNE_STATE_DIR": str(home / "state"), "YARNTUNE_DATA_DIR": str(home / "data")}
    environ = {**os.environ, **environment(cluster), **own}

    def recommended(load: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(yarntune(("recommend", "reader", "--load", load, "--json"), environ))
        return found

    tuned = json.loads(yarntune(("tune", "--trials", "3", *PINS, "--json", "--name", "reader", str(job)), environ))
    idle = recommended("0")["conf"]
    with ResourceManagerClient(cluster.rm_url, SimpleAuth("bench"), 10) as client:
        alone = [run(job, idle, environ, client)]
        with busy(holder, environ, client):
            now = recommended("now")
            runs: dict[str, list[Measured]] = {"idle": [], "busy": []}
            for _ in range(TURNS):
                runs["idle"].append(run(job, idle, environ, client))
                runs["busy"].append(run(job, now["conf"], environ, client))
    return {"tuned": tuned, "idle": idle, "now": now, "alone": alone, "runs": runs}


def page(found: Mapping[str, Any]) -> str:
    """The page."""
    now, runs = found["now"], found["runs"]
    rows = [
        _row("best on an idle cluster, on an idle cluster", found["idle"], found["alone"]),
        _row("best on an idle cluster, on the busy one", found["idle"], runs["idle"]),
        _row("chosen for the load, on the busy one", now["conf"], runs["busy"]),
    ]
    slow, fast = (statistics.median(each.seconds for each in runs[name]) for name in ("idle", "busy"))
    dear, cheap = (statistics.median(each.gib_seconds for each in runs[name]) for name in ("idle", "busy"))
    expected = [(each, "chosen" if each["chosen"] else "") for each in now["candidates"]]
    chosen = next(each for each in now["candidates"] if each["chosen"])
    lines = [
        "# The choice by load",
        "",
        "Written by `make bench-load`. A job of 24 tasks that each wait a second, as tasks do that read from",
        "elsewhere, so that the number of this machine's processors does not matter; its executors have",
        f"{HEAP} of heap and one core, pinned. Cluster: two nodes of 8 GiB and 8 vcores. It is tuned on the idle",
        f"cluster with three runs. Then an application holds {1 + 3 * HELD_EXECUTORS} of the 16 GiB, and both",
        f"configurations run {TURNS} times in turn.",
        "",
        *table(("", "executors asked for", "median s", "all s", "median GiB·s"), rows),
        "",
        f"The choice for the load takes {fast / slow:.2f} times the time and {cheap / dear:.2f} times the GiB·s.",
        "Most of the difference is Spark's own waiting: whoever asks for executors that do not come waits for them",
        "up to `spark.scheduler.maxRegisteredResourcesWaitingTime`, 30 s by default, before the first task. A longer",
        "job gains no more than these seconds from it.",
        "",
        "What was expected when it was chosen:",
        "",
        *table(
            ("executors", "of MiB", "gets now", "expected s", "runs", "", "why"),
            [
                (
                    str(each["executors"]),
                    str(each["executor_mib"]),
                    str(each["executors_now"]),
                    "" if each["run_s"] is None else f"{each['run_s']:.0f}",
                    str(each["runs"]),
                    mark,
                    each["reason"],
                )
                for each, mark in expected
            ],
        ),
        "",
        f"The chosen one was expected to run for {chosen['run_s']:.0f} s, and took {fast:.1f} s with its submission.",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, conf: Mapping[str, str], runs: Sequence[Measured]) -> tuple[str, ...]:
    return (
        name,
        conf.get("spark.executor.instances", "2 (default)"),
        f"{statistics.median(each.seconds for each in runs):.1f}",
        ", ".join(f"{each.seconds:.1f}" for each in runs),
        f"{statistics.median(each.gib_seconds for each in runs):.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "load.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yarntune-bench-") as home:
        settings = Settings.from_environment({**os.environ, "YARNTUNE_STATE_DIR": f"{home}/state"})
        cluster = start(CLUSTER, settings)
        try:
            text = page(measure(Path(home), cluster))
        finally:
            stop(CLUSTER.name, settings, purge=True)
    write_text_atomically(options.output, text)
    print(f"{options.output} is written", file=sys.stderr)


if __name__ == "__main__":
    main()
