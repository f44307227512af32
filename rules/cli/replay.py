"""``yarntune workload replay``: a workload on the scheduler model, or live on YARN."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rules.cli.estimate import summary_json
from tuner.cli.output import json_option, note, print_json, render_table
from tuner.settings import Settings
from workloads.cli.workload import Parsed, parse_queues, parse_window

if TYPE_CHECKING:
    from rules.estimator import Summary
    from workloads.reduce import By
    from workloads.replay.live import LiveReplay
    from workloads.to_case import Queues
    from workloads.trace import Case

__all__ = ["replay_command"]

_CASE_SUFFIX = ".json"
_NODES = 2


@click.command("replay")
@click.argument("workload")
@click.option(
    "--window",
    type=Parsed("window", parse_window),
    metavar="START:END",
    help="Of a workload: jobs submitted from START on and before END, for example 7h:8h [default: all].",
)
@click.option(
    "--queues",
    type=Parsed("queues", parse_queues),
    default="by-size",
    show_default=True,
    metavar="by-size|by-team:N|recorded",
    help="Of a workload: see `yarntune workload import`.",
)
@click.option("--nodes", type=click.IntRange(1, 100_000), default=_NODES, show_default=True, help="Of a workload.")
@click.option(
    "--scheduler", type=click.Choice(("capacity", "fair")), default="capacity", show_default=True, help="Of a workload."
)
@click.option("--factor", type=click.FloatRange(1), default=1.0, show_default=True, help="Replay it reduced.")
@click.option(
    "--by",
    type=click.Choice(("time", "tasks")),
    default="time",
    show_default=True,
    help="What is reduced; see `yarntune workload reduce`.",
)
@click.option("--live", is_flag=True, help="Run it as real applications on the cluster that HADOOP_CONF_DIR names.")
@click.option(
    "--embedded", is_flag=True, help="With --live: on an embedded cluster of the case's own nodes and queues."
)
@click.option(
    "--listen",
    default="127.0.0.1",
    show_default=True,
    help="With --live: this machine's address as the nodes see it; the applications' tokens come there in clear.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of whatever is drawn.")
@json_option
def replay_command(
    workload: str,
    window: tuple[float, float] | None,
    queues: Queues,
    nodes: int,
    scheduler: str,
    factor: float,
    by: By,
    live: bool,
    embedded: bool,
    listen: str,
    seed: int,
    as_json: bool,
) -> None:
    """Replay WORKLOAD under its configuration: on the scheduler model in seconds, or with --live on YARN.

    WORKLOAD: a case file (.json), or a name of `yarntune workload list`. Live, each job is an application whose
    containers run workload blocks; Ctrl-C kills what still runs.
    """
    if (embedded or listen != "127.0.0.1") and not live:
        raise click.UsageError("--embedded and --listen are of a live replay; add --live", click.get_current_context())
    settings = Settings.from_environment()
    case = _case(workload, window, queues, nodes, scheduler, seed, settings)
    if factor > 1:
        from workloads.reduce import reduce_case

        case = reduce_case(case, factor, by=by, seed=seed)
        _tell_factor(factor, by)
    if live:
        _replay_live(case, settings, embedded=embedded, listen=listen, seed=seed, as_json=as_json)
    else:
        _replay_on_model(case, as_json)


def _case(
    workload: str,
    window: tuple[float, float] | None,
    queues: Queues,
    nodes: int,
    scheduler: str,
    seed: int,
    settings: Settings,
) -> Case:
    if workload.endswith(_CASE_SUFFIX):
        from workloads.trace import read_case

        return read_case(Path(workload))
    from workloads.catalogue import open_workload
    from workloads.to_case import CasePlan, make_case

    opened = open_workload(workload, settings, seed)
    plan = CasePlan(queues=queues, nodes=nodes, scheduler="fair" if scheduler == "fair" else "capacity", seed=seed)
    span_s = window or (opened.span_s[0], opened.span_s[1] + 1.0)
    case, summary = make_case(opened, *span_s, plan)
    note(f"{summary.jobs} jobs, {summary.tasks} tasks, {summary.nodes} nodes, offered load {summary.load:.2f}")
    return case


def _tell_factor(factor: float, by: By) -> None:
    if by == "time":
        note(f"all times are divided by {factor:g}, the heartbeats and preemption delays too; so are those below")
    else:
        note(f"one task in {factor:g} is kept, and one node; times are those of the whole workload")


def _replay_on_model(case: Case, as_json: bool) -> None:
    from rules.estimator import estimate, warm_up

    note("simulating; the first run after an installation compiles for some seconds")
    warm_up(case)
    begin_s = time.perf_counter()
    found = estimate(case)
    elapsed_s = time.perf_counter() - begin_s
    by_queue = {path: summary_json(summary) for path, summary in found.by_queue.items()}
    if as_json:
        print_json(
            {
                "on": "model",
                "summary": {**summary_json(found.summary), "by_queue": by_queue},
                "elapsed_seconds": elapsed_s,
            }
        )
        return
    click.echo(_table({**found.by_queue, "all": found.summary}))


def _table(summaries: dict[str, Summary]) -> str:
    rows = [
        (
            name,
            str(each.jobs),
            str(each.unfinished),
            f"{each.mean_latency_s:.1f}",
            f"{each.median_latency_s:.1f}",
            f"{each.p95_latency_s:.1f}",
            f"{each.mean_slowdown:.2f}",
        )
        for name, each in summaries.items()
    ]
    return render_table(("QUEUE", "JOBS", "UNFINISHED", "MEAN", "MEDIAN", "P95", "SLOWDOWN"), rows)


# --- live -------------------------------------------------------------------------------------------------------------


def _replay_live(case: Case, settings: Settings, *, embedded: bool, listen: str, seed: int, as_json: bool) -> None:
    from tuner.yarn.locate import locate
    from workloads.replay.embedded import case_cluster, target_of
    from workloads.replay.live import replay_live

    progress = _progress(len(case.jobs))
    if embedded:
        note(f"starting an embedded cluster of {len(case.nodes)} nodes")
        with case_cluster(case, settings, note=note) as cluster:
            target = target_of(cluster)
            found = replay_live(case, target, settings, seed=seed, listen=listen, note=note, progress=progress)
    else:
        target = locate(settings)
        found = replay_live(case, target, settings, seed=seed, listen=listen, note=note, progress=progress)
    if sys.stderr.isatty():
        click.echo("\r                                        \r", nl=False, err=True)
    _tell(case, found, as_json)


def _progress(jobs: int) -> Any:
    def show(ended: int, now_s: float) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{ended} of {jobs} jobs after {now_s:.0f} s ", nl=False, err=True)

    return show


def _tell(case: Case, found: LiveReplay, as_json: bool) -> None:
    summaries = live_summaries(case, found)
    by_queue = {path: summary_json(each) for path, each in summaries.items() if path != "all"}
    if as_json:
        print_json(
            {
                "on": "yarn",
                "jobs": [{**asdict(job), "latency_s": job.latency_s} for job in found.jobs],
                "summary": {**summary_json(summaries["all"]), "by_queue": by_queue},
                "usage": [asdict(each) for each in found.usage],
                "scale": asdict(found.scale),
                "problems": list(found.problems),
                "elapsed_seconds": found.elapsed_s,
            }
        )
        return
    click.echo(_table(summaries))
    held = max((each.allocated_mib for each in found.usage), default=0)
    total = sum(node.memory_mib for node in case.nodes)
    note(f"{found.elapsed_s:.0f} s; at most {held} of {total} MiB were held")
    for problem in found.problems[:10]:
        note(f"problem: {problem}")
    for job in [job for job in found.jobs if job.state != "finished"][:10]:
        note(f"{job.id} in {job.queue} is {job.state}: {job.words or 'it had not ended by the horizon'}")


def live_summaries(case: Case, found: LiveReplay) -> dict[str, Summary]:
    """Latencies by queue and of ``all``; slowdowns against the scheduler model's idle cluster."""
    from rules.estimator import JobEstimate, alone_latencies, summarize

    alone_s = alone_latencies(replace(case, updates=()))
    jobs = [
        JobEstimate(
            id=job.id,
            queue=job.queue,
            path=job.queue,
            submit_s=job.submit_s if job.submit_s >= 0 else planned.submit_s,
            am_start_s=job.am_start_s,
            first_s=job.first_s,
            finish_s=job.finish_s,
            rejected=job.words if job.state == "rejected" else None,
            binding=(),
        )
        for job, planned in zip(found.jobs, case.jobs, strict=True)
    ]
    summaries = {}
    for path in sorted({job.path for job in jobs}):
        rows = [i for i, job in enumerate(jobs) if job.path == path]
        summaries[path] = summarize([jobs[i] for i in rows], alone_s[rows], case.horizon_s)
    return {**summaries, "all": summarize(jobs, alone_s, case.horizon_s)}
