"""How long pages take under load: ``python -m benchmarks.web`` writes ``benchmarks/web.md``.

A store with 10,000 runs of 500 jobs and 1,000 plans, a cluster of 200 queues, and a server in a process of its own,
bound to two cores. Requests are sent at fixed times, 20 a second, whether or not those before have been answered, as
people and open pages do (an open loop): a server that falls behind shows it. A time counts from when a request was due.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RATE = 20.0
GOAL_S = 0.150
JOBS, RUNS, QUEUES, PLANS = 500, 10_000, 200, 1_000
TUNED = 100
TRIALS = 12
_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class PageTimes:
    """Times of one page in seconds, each from when it was due; and how many answers were none."""

    path: str
    times_s: Sequence[float]
    failures: int

    def percentile(self, share: float) -> float:
        """A percentile of the times; not a number where there is none."""
        return float(np.percentile(self.times_s, share)) if self.times_s else float("nan")


def fill(folder: Path, *, jobs: int, runs: int, plans: int) -> list[str]:
    """Fills a store; gives the paths of the pages to ask for."""
    from tests.web.conftest import settings_in
    from tests.web.seed import DAY, NOW, _production, _study, add_plan, plan_of
    from tuner.store import AuditRow, NewJob, StudyState, open_store

    chance = random.Random(11)
    tuned = min(TUNED, jobs)
    left = runs - tuned * TRIALS
    with open_store(settings_in(folder)) as store:
        for i in range(jobs):
            job = store.jobs.get_or_create(
                NewJob(
                    key=f"key-{i}", name=f"job-{i:03}", program=f"/opt/jobs/job-{i:03}.py",
                    queue=f"root.team{i % 20}.q{i % 10}",
                ),
                now=NOW - 60 * DAY,
            )  # fmt: skip
            if i < tuned:
                _study(store, job, chance, NOW - 30 * DAY, trials=TRIALS, state=StudyState.FINISHED)
            # The first job gets what is left over: more runs than its page shows, so that page is as large as can be.
            share = left // jobs if i else left - (left // jobs) * (jobs - 1)
            _production(store, job, chance, NOW, share)
        applied = ("CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED")
        for i in range(plans):
            steps = () if i == plans - 1 else tuple((state, "daemon") for state in applied)
            add_plan(store, plan_of(NOW - (plans - i) * 600.0, etl=str(40 + i % 20)), steps)
            store.audit.append(
                AuditRow(at=NOW - (plans - i) * 600.0, who="daemon", action="apply-plan", subject=f"plan {i + 1}",
                         outcome="applied", detail={"why": "a benchmark"})
            )  # fmt: skip
        first = store.runs.list(limit=1)[0].id
    return [
        "/", "/jobs", "/jobs?sort=runs&page=3", "/jobs?q=job-04", "/jobs/1", f"/jobs/{jobs}", "/jobs/1/importance",
        f"/runs/{first}", "/tunings", "/logs", "/queues", "/fragments/cluster", "/what-if", "/plans",
        "/plans?state=APPLIED", f"/plans/{plans}", "/audit", "/audit?subject=plan+7", "/workloads",
        "/workloads/steady-hour", "/settings", "/login", "/metrics", "/api/v1/jobs?limit=50", "/api/v1/runs?limit=50",
        "/api/v1/plans?limit=50",
    ]  # fmt: skip


def serve(folder: Path, queues: int, cores: Sequence[int]) -> None:
    """Serves the store, with a cluster as a ResourceManager would show it, until it is ended."""
    from dataclasses import replace

    from tests.web.cluster import queue, reading
    from tests.web.conftest import settings_in
    from web import server
    from web.config import WebConfig
    from web.live import Reading
    from web.state import WebState

    os.sched_setaffinity(0, set(cores))

    def many(at: float) -> Reading:
        base = reading(at)
        leaves = [queue(f"root.t{i // 10}.q{i % 10}", 512 + i, 1024, 4096, pending=i * 16) for i in range(queues)]
        groups = tuple(
            queue(f"root.t{g}", sum(each.used.memory_mib for each in leaves[g * 10 : g * 10 + 10]), 10_240, 40_960,
                  children=tuple(leaves[g * 10 : g * 10 + 10]))
            for g in range(-(-queues // 10))
        )  # fmt: skip
        root = queue("root", 131_072, 262_144, 262_144, children=groups)
        scheduler = replace(base.cluster.queues, root=root)
        return replace(base, cluster=replace(base.cluster, queues=scheduler))

    make = server.create_app

    def made(config: WebConfig):  # type: ignore[no-untyped-def]
        app = make(config)
        state = app.extensions["yarntune"]
        assert isinstance(state, WebState)
        state.cluster._read = lambda _: many(time.time())
        state.cluster._explain = lambda: None
        state.cluster.refresh()
        return app

    server.create_app = made
    config = WebConfig(settings=settings_in(folder), secret_key=b"k" * 32, port=0, background=True)
    server.serve(config, lambda address: print(address, flush=True))


@contextlib.contextmanager
def serving(folder: Path, queues: int, cores: Sequence[int]) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "benchmarks.web", "--serve", str(folder), "--queues", str(queues)]
    command += ["--cores", ",".join(map(str, cores))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address.startswith("http://"):
            raise SystemExit("the server did not start")
        host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
        yield host, int(port)
    finally:
        process.terminate()
        process.wait(30)


def ask(host: str, port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Accept": "text/html", "Accept-Encoding": "identity"})
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    except OSError:
        return False
    finally:
        connection.close()


def load(host: str, port: int, paths: Sequence[str], *, seconds: float, rate: float) -> list[PageTimes]:
    """Asks for the pages in turn, in an order that is drawn anew each round."""
    chance = random.Random(3)
    order: list[str] = []
    while len(order) < seconds * rate:
        order += chance.sample(list(paths), len(paths))
    times: dict[str, list[float]] = {path: [] for path in paths}
    failures = dict.fromkeys(paths, 0)
    lock = threading.Lock()
    begin = time.perf_counter() + 0.5

    def one(number: int, path: str) -> None:
        due = begin + number / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        good = ask(host, port, path)
        took_s = time.perf_counter() - due
        with lock:
            if good:
                times[path].append(took_s)
            else:
                failures[path] += 1

    # As many workers as could be waiting at once; each sleeps until its request is due.
    with ThreadPoolExecutor(max_workers=64) as pool:
        for number, path in enumerate(order):
            pool.submit(one, number, path)
    return [PageTimes(path, times[path], failures[path]) for path in paths]


def report(found: Sequence[PageTimes], setting: dict[str, object]) -> str:
    worst = max(found, key=lambda each: each.percentile(95))
    good = all(each.percentile(95) <= GOAL_S and not each.failures for each in found)
    amounts = ", ".join(f"{setting[name]:,} {name}" for name in ("runs", "jobs", "queues", "plans"))
    verdict = "Met" if good else "Not met"
    lines = [
        "# Pages under load",
        "",
        "Written by `make bench-web`; how it is measured is told in `benchmarks/web.py`.",
        "",
        f"{amounts} in SQLite; {setting['rate']:g} requests a second for {setting['seconds']:g} s, in an open loop. "
        f"The server has the cores {setting['cores']} of a {setting['processor']} with {setting['all_cores']} cores, "
        f"whose load was {setting['load']:.1f} before; the load generator runs on the same machine.",
        "",
        f"Goal: a 95th percentile of {GOAL_S * 1000:.0f} ms or less for every page. **{verdict}**: the slowest page, "
        f"`{worst.path}`, has {worst.percentile(95) * 1000:.0f} ms.",
        "",
        "| page | requests | median, ms | 95th percentile, ms | largest, ms | failed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for each in found:
        values = [each.percentile(50), each.percentile(95), max(each.times_s, default=float("nan"))]
        cells = " | ".join(f"{value * 1000:.0f}" for value in values)
        lines.append(f"| `{each.path}` | {len(each.times_s) + each.failures} | {cells} | {each.failures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the load lasts")
    parser.add_argument("--rate", type=float, default=RATE, help="requests a second")
    parser.add_argument("--small", action="store_true", help="a tenth of everything, to try it; writes no page")
    parser.add_argument("--store", type=Path, help="a folder that is filled, or was: filling takes a minute or two")
    parser.add_argument("--queues", type=int, default=QUEUES)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    cores = [int(each) for each in given.cores.split(",") if int(each) in os.sched_getaffinity(0)]
    if given.serve:
        serve(given.serve, given.queues, cores)
        return
    part = 10 if given.small else 1
    amounts = {"jobs": JOBS // part, "runs": RUNS // part, "plans": PLANS // part}
    with contextlib.ExitStack() as stack:
        folder = given.store or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yarntune-bench-")))
        kept = folder / "pages.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(fill(folder, **amounts)))
        paths = json.loads(kept.read_text())
        before = os.getloadavg()[0]
        host, port = stack.enter_context(serving(folder, given.queues // part, cores))
        for path in paths:
            ask(host, port, path)  # templates are compiled, connections made
        found = load(host, port, paths, seconds=given.seconds, rate=given.rate)
    setting = {
        **amounts, "queues": given.queues // part, "rate": given.rate, "seconds": given.seconds, "cores": given.cores,
        "processor": platform.machine(), "all_cores": os.cpu_count(), "load": before,
    }  # fmt: skip
    text = report(found, setting)
    if not given.small:
        (ROOT / "benchmarks" / "web.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
