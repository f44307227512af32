"""A store with a bit of everything in it: tuned and untuned jobs, a search under way, plans, an audit."""

from __future__ import annotations

import random

from rules.model import Finding, Severity
from rules.plan import BackEndKind, Cluster, Configuration, Origin, Plan, QueueEffect, plan_to_json
from tuner.store import (
    AuditRow,
    Job,
    NewJob,
    NewPlan,
    NewRun,
    NewStudy,
    PlanTransition,
    RunKind,
    RunOutcome,
    RunState,
    Store,
    StudyState,
)

NOW = 1_796_000_000.0
DAY = 86_400.0
LIMITS = {
    "max_container_memory_mib": 16384,
    "min_allocation_mib": 1024,
    "increment_mib": 1024,
    "max_container_vcores": 16,
    "total_memory_mib": 262144,
    "total_vcores": 128,
    "nodes": 8,
}
DEFAULT = {
    "spark.executor.cores": "1",
    "spark.executor.instances": "8",
    "spark.executor.memory": "8192m",
    "spark.executor.memoryOverhead": "1024m",
    "spark.sql.shuffle.partitions": "200",
}
UNTUNED = {**DEFAULT, "spark.executor.memory": "2688m", "spark.executor.memoryOverhead": "384m"}
"""What a job runs with that somebody has set up by hand."""
PREFIX = "yarn.scheduler.capacity."


def fill(store: Store, now: float = NOW) -> None:
    """Fills a store; the same every time."""
    chance = random.Random(7)
    production: list[tuple[float, Job, dict[str, str]]] = []
    for name, queue, runs in (
        ("daily-report", "root.prod.etl", 40),
        ("sessionize", "root.prod.etl", 18),
        ("k_means", "root.ds", 0),
    ):
        job = _job(store, name, queue, now - 40 * DAY)
        best = _study(store, job, chance, now - 20 * DAY, trials=12, state=StudyState.FINISHED)
        production += [(at, job, best) for at in _times(now, runs)]
    page_rank = _job(store, "page_rank", "root.ds", now - DAY)
    for i, name in enumerate(("ingest-clicks", "ingest-orders", "compaction", "feature-export")):
        job = _job(store, name, "root.prod.ingest", now - 9 * DAY)
        production += [(at - 1200.0 * i, job, UNTUNED) for at in _times(now, 6)]
    # As a cluster would have them: one after the other, whichever job's they are.
    for at, job, configuration in sorted(production, key=lambda each: each[0]):
        _run(store, job, chance, RunKind.PRODUCTION, configuration, at, None, None)
    _study(store, page_rank, chance, now - 900, trials=10, state=StudyState.RUNNING)
    _plans(store, now)
    _audit(store, now)


def _job(store: Store, name: str, queue: str, at: float) -> Job:
    new = NewJob(
        key=f"key-{name}", name=name, program=f"/opt/jobs/{name}.py", arguments_shape="--date <date>", queue=queue
    )
    return store.jobs.get_or_create(new, now=at)


def _study(
    store: Store, job: Job, chance: random.Random, at: float, *, trials: int, state: StudyState
) -> dict[str, str]:
    """A search for a job's configuration; gives the best it has found, by the product's rule."""
    study = store.studies.start(
        NewStudy(
            job_id=job.id, space_hash="space", seed=1, slack=0.05, trials_wanted=trials, created_at=at, limits=LIMITS
        )
    )
    seen: list[tuple[float, float, int]] = []
    best = DEFAULT
    made = trials if state is StudyState.FINISHED else trials // 2
    for number in range(made):
        configuration = dict(DEFAULT) if number == 0 else _configuration(chance)
        kind = RunKind.DEFAULT if number == 0 else RunKind.TRIAL
        run_id, cost = _run(store, job, chance, kind, configuration, at + number * 100.0, study.id, number)
        if cost is not None:
            seen.append((cost, store.runs.get(run_id).duration_s or 0.0, run_id))  # type: ignore[union-attr]
            fastest_s = min(duration_s for _, duration_s, _ in seen)
            best_id = min(each for each in seen if each[1] <= 1.05 * fastest_s)[2]
            store.studies.set_best(study.id, best_id)
            best = dict(store.runs.get(best_id).configuration)  # type: ignore[union-attr]
    if state is StudyState.FINISHED:
        store.studies.finish(study.id, state, now=at + made * 100.0)
    else:
        new = _new(job, RunKind.TRIAL, _configuration(chance), at + made * 100.0, study.id, made)
        store.runs.set_application(store.runs.start(new).id, "application_1795990000000_0042")
    return best


def _configuration(chance: random.Random) -> dict[str, str]:
    return {
        "spark.executor.cores": str(chance.choice((1, 2, 4))),
        "spark.executor.instances": str(chance.choice((2, 4, 6, 8))),
        "spark.executor.memory": f"{chance.choice((1664, 2688, 4736, 6784))}m",
        "spark.executor.memoryOverhead": f"{chance.choice((384, 1024))}m",
        "spark.sql.shuffle.partitions": str(chance.choice((32, 64, 128, 200))),
    }


def _production(store: Store, job: Job, chance: random.Random, now: float, count: int) -> None:
    for at in _times(now, count):
        _run(store, job, chance, RunKind.PRODUCTION, UNTUNED, at, None, None)


def _times(now: float, count: int) -> list[float]:
    """Three times a day, until some hours ago."""
    return [now - (count - i) * DAY / 3 for i in range(count)]


def _new(
    job: Job,
    kind: RunKind,
    configuration: dict[str, str],
    at: float,
    study_id: int | None,
    number: int | None,
    used: float = 0.4,
) -> NewRun:
    return NewRun(
        job_id=job.id,
        kind=kind,
        configuration=configuration,
        arguments=("--date", "2026-11-30"),
        submitted_at=at,
        study_id=study_id,
        trial_number=number,
        queue=job.queue,
        input_bytes=53_687_091_200,
        spark_version="3.5.6",
        load={
            "available_memory_mib": int(262144 * (1 - used)),
            "total_memory_mib": 262144,
            "pending_containers": int(40 * used),
            "applications_running": int(12 * used) + 1,
        },
    )


def _run(
    store: Store,
    job: Job,
    chance: random.Random,
    kind: RunKind,
    configuration: dict[str, str],
    at: float,
    study_id: int | None,
    number: int | None,
) -> tuple[int, float | None]:
    used = chance.random()
    run = store.runs.start(_new(job, kind, configuration, at, study_id, number, used))
    heap_mib, instances = (
        int(configuration["spark.executor.memory"][:-1]),
        int(configuration["spark.executor.instances"]),
    )
    cores = int(configuration["spark.executor.cores"])
    container_mib = -(-(heap_mib + int(configuration["spark.executor.memoryOverhead"][:-1])) // 1024) * 1024
    application = f"application_1795990000000_{run.id:04}"
    if kind is RunKind.TRIAL and heap_mib < 2000 and cores == 4:
        store.runs.finish(
            run.id,
            RunOutcome(
                state=RunState.FAILED,
                finished_at=at + 40,
                duration_s=40.0,
                wait_s=4.0,
                run_s=36.0,
                memory_seconds=90_000,
                failure="java.lang.OutOfMemoryError: Java heap space",
                application_id=application,
            ),
        )
        return run.id, None
    run_s = 30 + 900 / (instances * cores) ** 0.8 * chance.uniform(0.95, 1.08)
    wait_s = 4 + 60 * max(0.0, used - 0.6)
    memory = int((container_mib * instances + 1024) * run_s)
    metrics = {
        "peak_unified_mib": int(900 + 30 * cores),
        "peak_rss_mib": int(container_mib * chance.uniform(0.35, 0.7)),
        "gc_share": round(0.02 + 40 / heap_mib, 4),
        "idle_share": round(chance.uniform(0.1, 0.5), 2),
        "shuffle_read_bytes": 9_000_000_000,
        "disk_spill_bytes": 0 if heap_mib > 2000 else 400_000_000,
    }
    store.runs.finish(
        run.id,
        RunOutcome(
            state=RunState.SUCCEEDED,
            finished_at=at + wait_s + run_s,
            wait_s=wait_s,
            run_s=run_s,
            duration_s=wait_s + run_s,
            memory_seconds=memory,
            vcore_seconds=int(instances * cores * run_s),
            metrics=metrics,
            application_id=application,
        ),
    )
    return run.id, float(memory)


def plan_of(
    now: float, *, etl: str = "45", findings: tuple[Finding, ...] = (), cluster: str = "rm.example.com:8088"
) -> Plan:
    """A plan that moves capacity from one queue to another."""
    base = {
        f"{PREFIX}root.queues": "prod,ds",
        f"{PREFIX}root.prod.capacity": "60",
        f"{PREFIX}root.ds.capacity": "40",
        f"{PREFIX}root.prod.queues": "etl,ingest",
        f"{PREFIX}root.prod.etl.capacity": "60",
        f"{PREFIX}root.prod.ingest.capacity": "40",
        f"{PREFIX}root.ds.user-limit-factor": "1",
    }
    proposed = {
        **base,
        f"{PREFIX}root.prod.etl.capacity": etl,
        f"{PREFIX}root.prod.ingest.capacity": str(100 - int(etl)),
        f"{PREFIX}root.prod.maximum-am-resource-percent": "0.2",
    }
    return Plan(
        cluster=Cluster(cluster, "3.4.1", now - 9 * DAY),
        scheduler="capacity",
        back_end=BackEndKind.CAPACITY_REST,
        base=Configuration(base, version=4),
        proposed=Configuration(proposed, version=None),
        findings=findings,
        effects=(
            QueueEffect("all", 64, 412.0, 301.0, 21.0, 1.0, 0.0),
            QueueEffect("root.prod.etl", 30, 380.0, 402.0, 18.0),
            QueueEffect("root.prod.ingest", 22, 521.0, 215.0, 30.0, 1.0, 0.0),
            QueueEffect("root.ds", 12, 290.0, 206.0, 44.0),
        ),
        reasons=(
            "root.prod.ingest waits for its capacity 38 % of the time, while root.prod.etl leaves a third unused.",
        ),
        origin=Origin.OPTIMIZER,
        created_at=now,
        created_by="daemon",
        expires_at=now + 3600,
    )


def add_plan(store: Store, plan: Plan, steps: tuple[tuple[str, str], ...] = ()) -> int:
    """Writes a plan with its steps into the store."""
    made = store.plans.create(
        NewPlan(
            scheduler=plan.cluster.id,
            state="PROPOSED",
            plan=plan_to_json(plan),
            created_at=plan.created_at,
            created_by=plan.created_by,
        )
    )
    state = "PROPOSED"
    for i, (following, who) in enumerate(steps):
        step = PlanTransition(
            plan_id=made.id, from_state=state, to_state=following, at=plan.created_at + 5.0 * i + 30, who=who
        )
        assert store.plans.transition(step)
        state = following
    return made.id


def _plans(store: Store, now: float) -> None:
    applied = ("CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED")
    warning = Finding(
        "root.ds",
        f"{PREFIX}root.ds.user-limit-factor",
        "user-limit-factor",
        Severity.WARNING,
        "one user gets at most the queue's capacity, however idle the cluster is",
    )
    add_plan(
        store,
        plan_of(now - 6 * DAY, etl="55"),
        tuple((state, "ann") for state in (*applied, "ROLLING_BACK", "ROLLED_BACK")),
    )
    add_plan(store, plan_of(now - 2 * DAY, etl="50"), tuple((state, "ann") for state in applied))
    add_plan(store, plan_of(now - 7200, etl="40"), (("CHECKING", "daemon"), ("STALE", "daemon")))
    add_plan(store, plan_of(now - 600, findings=(warning,)))


def _audit(store: Store, now: float) -> None:
    for age_s, who, action, subject, outcome, why in (
        (6 * DAY, "ann", "ask-apply", "plan 1", "done", "ingest was late three nights in a row"),
        (6 * DAY - 40, "ann", "apply-plan", "plan 1", "applied", ""),
        (5 * DAY, "ann", "ask-rollback", "plan 1", "done", "month-end: etl needs its share back"),
        (5 * DAY - 20, "ann", "roll-back-plan", "plan 1", "rolled-back", ""),
        (2 * DAY, "bob", "apply-plan", "plan 2", "applied", "month-end is over"),
        (3600, "bob", "start-tuning", "program /opt/jobs/page_rank.py", "done", "doubled its input last week"),
    ):
        detail = {"why": why} if why else {}
        store.audit.append(
            AuditRow(at=now - age_s, who=who, action=action, subject=subject, outcome=outcome, detail=detail)
        )
