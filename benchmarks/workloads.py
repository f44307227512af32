"""How well reduced workloads stand for the original: ``python -m benchmarks.workloads`` (``make bench-workloads``).

Three parts: blocks that really run against the segments of traces that they stand for; Hadoop's own scheduler on a
window and on the reduced window, under a dozen settings; and live replays on the embedded cluster against the oracle.
``benchmarks/workloads.md`` has the result. What was measured is kept as it comes (``--keep``), so that a run that was
broken off goes on where it was. About 25 minutes on an idle machine of two cores; needs a JDK, Maven and the traces.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.workloads_report import Choice, Live, Segment, write_report
from tests.fidelity.configurations import alternatives
from tests.oracle.runner import replay
from tuner.settings import Settings
from workloads.blocks.calibration import Calibration, calibrate
from workloads.blocks.counters import counters_available
from workloads.blocks.run import run_blocks
from workloads.combine.kinds import Kinds, find_kinds
from workloads.combine.segments import Segments, of_jobs, of_series
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.reduce import reduce_case
from workloads.replay.embedded import case_cluster, target_of
from workloads.replay.live import replay_live
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import Case, case_to_json, parse_case
from workloads.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data")
CaseFile = dict[str, Any]
SAMPLES = {100: 200, 50: 60, 10: 20}
"""Segments of each source by factor: a segment of five minutes takes 3, 6 and 30 s."""
SEED = 2011
PARALLEL = 4
SIZES = {"series": (0.95, 1000.0), "task events": (0.1, 128.0)}
"""Cores and MiB of the largest segment of a job as it runs here: relative to its own course nothing changes."""
FACTORS = (10.0, 100.0)
LIVE_FACTOR = 15.0
LIVE_SETTINGS = ("as it is", "factor 10, capped at 60", "factor 10", "factor 10, fair, AM share 0.5")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Kept:
    """What was measured so far, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.is_file() else []
        self._values: dict[str, Any] = dict(json.loads(line) for line in lines if line.endswith("]"))

    def get(self, key: str) -> Any:
        """What was measured under a key; None where nothing was."""
        return self._values.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a measurement at once."""
        with self._lock, self._path.open("a") as file:
            self._values[key] = value
            file.write(json.dumps([key, value]) + "\n")


# --- blocks against segments ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Segments to draw from: their name, all of them as they run here, and their kinds."""

    name: str
    segments: Segments
    kinds: Kinds


def sources() -> list[Source]:
    google = DATA / "google"
    series = import_workload([google / "usage_5min_job_6176858948.csv"], ImportOptions("series"))
    tables = ("task_events-part-00000-of-00500.csv.gz", "job_events-part-00000-of-00500.csv")
    events = import_workload([google / table for table in tables], ImportOptions("events"))
    found = []
    for name, segments in (("series", of_series(series)), ("task events", of_jobs(events))):
        ran = segments.take((segments.cores > 0) & (segments.memory_mib > 0)).scaled(*SIZES[name])
        found.append(Source(name, ran, find_kinds(ran)))
        say(f"{name}: {len(ran)} segments are {found[-1].kinds.count} kinds")
    return found


def measure(source: Source, factor: int, count: int, kept: Kept, calibration: Calibration) -> list[Segment]:
    """Runs a random sample of a source's segments, several at a time."""
    rows = np.random.default_rng(SEED + factor).permutation(len(source.segments))[:count].tolist()
    missing = [row for row in rows if kept.get(_key(source, factor, row, calibration)) is None]
    # In a trace a job's memory changes little from one segment to the next; a random sample in the order of time jumps.
    missing.sort(key=lambda row: float(source.segments.memory_mib[row]))
    seconds = len(missing) * 300 / factor / PARALLEL
    say(f"{source.name} by {factor}: {len(missing)} of {count} segments to run, {seconds:.0f} s")
    # Each runner takes every fourth, so that they end together; it is warmed up by a block that is thrown away.
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(
            pool.map(
                lambda part: _run(source, factor, part, kept, calibration),
                [missing[i::PARALLEL] for i in range(PARALLEL)],
            )
        )
    return [_segment(source, factor, row, kept.get(_key(source, factor, row, calibration))) for row in rows]


def _key(source: Source, factor: int, row: int, calibration: Calibration) -> str:
    return f"{source.name}/{factor}/{row}/{calibration.folder.name}/{code_version()}"


@cache
def code_version() -> str:
    """Changes with the code that makes and runs blocks and replays: what older code measured is not taken for its."""
    folders = [ROOT / "workloads" / name for name in ("blocks", "combine", "replay")]
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".java"})
    digest = hashlib.sha256(repr(SIZES).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _run(source: Source, factor: int, rows: Sequence[int], kept: Kept, calibration: Calibration) -> None:
    if not rows:
        return
    blocks = [source.kinds.block(row, factor, calibration) for row in rows]
    for number, ran in enumerate(run_blocks([replace(blocks[0], duration_s=0.5), *blocks], calibration)):
        if number == 0:
            continue
        kept.put(_key(source, factor, rows[number - 1], calibration), {**asdict(ran), "cores": ran.cores})
        if number % 10 == 0:
            say(f"{source.name} by {factor}: a runner has done {number} of {len(rows)}")


def _segment(source: Source, factor: int, row: int, ran: Mapping[str, Any]) -> Segment:
    counted = ran["counted"]
    says = {name: float(getattr(source.segments, name)[row]) for name in ("cores", "memory_mib", "cpi", "mai")}
    cpi, mai = ran["cpi"], ran["mai"]
    if counted:
        instructions = max(counted["instructions"], 1)
        cpi, mai = counted["cycles"] / instructions, counted["cache_misses"] / instructions
    measured = {"cores": ran["cores"], "memory_mib": ran["memory_mib"], "cpi": cpi, "mai": mai}
    return Segment(source.name, factor, says, measured, ran["cpi_by_clock"])


# --- settings ---------------------------------------------------------------------------------------------------------


def facebook() -> Workload:
    return import_workload([DATA / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("facebook"))


def choices(traces: Mapping[str, Workload]) -> list[Choice]:
    """The best of a dozen settings by full-length replays through Hadoop's scheduler, and by reduced ones."""
    fair: Literal["fair"] = "fair"
    team = CasePlan(nodes=5, queues=Queues("by-team", 3))
    cases = {
        "Facebook, 7h to 8h, 5 nodes, Capacity": (traces["facebook"], 25200, 28800, team, ("time",)),
        "Facebook, 7h to 8h, 5 nodes, Fair": (
            traces["facebook"],
            25200,
            28800,
            replace(team, scheduler=fair),
            ("time",),
        ),
        "Facebook, 7h to 8h, each job twice, 10 nodes, Capacity": (
            traces["dense"],
            0,
            3600,
            replace(team, nodes=10),
            ("tasks",),
        ),
    }
    found = []
    for name, (workload, start, end, plan, ways) in cases.items():
        case, _ = make_case(workload, start, end, plan)
        full = means(case)
        for way in ways:
            for factor in FACTORS if way == "time" else FACTORS[:1]:
                small = means(reduce_case(case, factor, by="time" if way == "time" else "tasks"))
                found.append(Choice(name, way, factor, full, small))
                say(f"{name}, by {factor:g} in {way}: best {found[-1].best}, chosen {found[-1].chosen}")
    return found


def means(case: Case) -> dict[str, tuple[int, float]]:
    """By setting: jobs without an end, and the mean latency, of Hadoop's own scheduler."""
    cases = alternatives(case_to_json(case))
    say(f"the oracle replays {len(cases)} settings of {len(case.jobs)} jobs on {len(case.nodes)} nodes")
    results = replay(list(cases.values()))
    return {label: latency(cases[label], result["jobs"]) for label, result in zip(cases, results, strict=True)}


def latency(case: CaseFile, jobs: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    ends = [job["finish"] if job["finish"] >= 0 else case["horizon"] for job in jobs]
    waits = [end - job["submit"] for end, job in zip(ends, jobs, strict=True)]
    return sum(job["finish"] < 0 for job in jobs), sum(waits) / len(waits)


def denser(workload: Workload, start_s: float, end_s: float, times: int) -> Workload:
    """Of a window: each job several times, submitted a little apart, for a cluster that many times larger."""
    window = workload.window(start_s, end_s)
    gap_s = 20.0 / times
    jobs, rows, shifts = [], [], []
    first = 0
    for job in window.jobs:
        for number in range(times):
            jobs.append(replace(job, id=f"{job.id}-{number}", submit_s=job.submit_s + gap_s * number, first_task=first))
            rows.append(np.arange(job.first_task, job.first_task + job.task_rows))
            shifts.append(np.full(job.task_rows, gap_s * number))
            first += job.task_rows
    tasks = window.tasks.take(np.concatenate(rows))
    tasks = replace(tasks, submit_s=tasks.submit_s + np.concatenate(shifts))
    return replace(window, jobs=tuple(sorted(jobs, key=lambda job: job.submit_s)), tasks=tasks)


# --- live -------------------------------------------------------------------------------------------------------------


def live(workload: Workload, kept: Kept, settings: Settings) -> list[Live]:
    """A reduced window as real applications under some settings, and the same through the oracle."""
    case, _ = make_case(workload, 26100, 26100 + 240, CasePlan(nodes=3, queues=Queues("by-team", 3)))
    case = replace(case, horizon_s=18_000.0)
    small = reduce_case(reduce_case(case, 3, by="tasks"), LIVE_FACTOR)
    cases = alternatives(case_to_json(small))
    full = alternatives(case_to_json(case))
    found = []
    for name in LIVE_SETTINGS:
        key = f"live/{name}/{len(small.jobs)}/{code_version()}"
        if kept.get(key) is None:
            say(f"live: {name}")
            kept.put(key, _live_once(parse_case(cases[name]), settings))
        measured = kept.get(key)
        (model,), (long,) = replay([cases[name]]), replay([full[name]])
        found.append(
            Live(
                name,
                jobs=len(small.jobs),
                tasks=sum(len(job.tasks) for job in small.jobs),
                unfinished=measured["unfinished"],
                latency_s=measured["latency_s"],
                oracle_s=latency(cases[name], model["jobs"])[1],
                full_s=latency(full[name], long["jobs"])[1],
                elapsed_s=measured["elapsed_s"],
            )
        )
    return found


def _live_once(case: Case, settings: Settings) -> dict[str, float]:
    with case_cluster(case, settings, note=say) as cluster:
        result = replay_live(case, target_of(cluster), settings, note=say)
    waits = [job.latency_s if job.latency_s >= 0 else case.horizon_s - job.submit_s for job in result.jobs]
    return {
        "unfinished": sum(job.state != "finished" for job in result.jobs),
        "latency_s": sum(waits) / len(waits),
        "elapsed_s": result.elapsed_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "workloads.md")
    parser.add_argument("--parts", default="blocks,settings,live", help="which, with commas")
    parser.add_argument("--share", type=float, default=1.0, help="of the segments, for a try: 0.1 runs a tenth of them")
    parser.add_argument("--keep", type=Path, help="file of what was measured [default: in the cache folder]")
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    options = parser.parse_args()
    settings = Settings.from_environment()
    path = options.keep or settings.cache_dir / "bench-workloads.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    kept, parts = Kept(path), options.parts.split(",")
    load = os.getloadavg()[0]
    calibration = calibrate(settings.cache_dir, note=say)
    segments: list[Segment] = []
    kinds: dict[str, tuple[int, int]] = {}
    if "blocks" in parts:
        for source in sources():
            kinds[source.name] = (len(source.segments), source.kinds.count)
            for factor, count in SAMPLES.items():
                segments += measure(source, factor, max(1, round(count * options.share)), kept, calibration)
    chosen: list[Choice] = []
    lived: list[Live] = []
    if {"settings", "live"} & set(parts):
        trace = facebook()
        if "settings" in parts:
            chosen = choices({"facebook": trace, "dense": denser(trace, 25200, 28800, 2)})
        if "live" in parts:
            lived = live(trace, kept, settings)
    write_report(options.output, segments, kinds, chosen, lived, calibration, counted=counters_available(), load=load)
    say(f"written to {options.output}")


if __name__ == "__main__":
    main()
