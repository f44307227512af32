"""What each of many processes does; apart, so that it starts without what the tests import."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

from tuner.settings import Settings
from tuner.store import NewJob, NewRun, RunKind, RunOutcome, RunState, open_store

RUNS_EACH = 5
TIMEOUT_S = 300


def open_and_write(url: str, barrier: Barrier, number: int) -> None:
    """Opens a store when all the others do, and writes runs of one and the same job."""
    settings = Settings.from_environment({"YARNTUNE_DATABASE_URL": url})
    barrier.wait(TIMEOUT_S)
    with open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key="shared", name="shared", program="p"), now=0.0)
        for i in range(RUNS_EACH):
            new = NewRun(
                job_id=job.id,
                kind=RunKind.TRIAL,
                configuration={},
                arguments=(str(number), str(i)),
                submitted_at=0.0,
            )
            run = store.runs.start(new)
            store.runs.finish(run.id, RunOutcome(state=RunState.SUCCEEDED, finished_at=1.0))
