"""Keeps a run that somebody else watched: it comes as values, ended, and its job's advice learns from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuner.model.advice import Basis
from tuner.services.advise import learn
from tuner.spark.redaction import mask_arguments, mask_conf
from tuner.store import NewJob, NewRun, Run, RunKind, RunOutcome, RunState, Store


def job_of(value: Mapping[str, Any]) -> NewJob:
    """The job that a run's record names, by the fields of :class:`tuner.store.NewJob`."""
    return NewJob(
        key=value["key"],
        name=value["name"],
        program=value["program"],
        main_class=value["main_class"],
        arguments_shape=value["arguments_shape"],
        queue=value["queue"],
    )


def record_run(store: Store, value: Mapping[str, Any], *, now: float) -> Run:
    """Writes a production run with its outcome into the store.

    Args:
        store: where to.
        value: the fields of :class:`tuner.store.NewJob`, :class:`~tuner.store.NewRun` and
            :class:`~tuner.store.RunOutcome`, by name; secrets in it are masked here.
        now: the clock.

    Raises:
        StoreError: the store cannot be written.
    """
    configuration = mask_conf(value["configuration"])
    job = store.jobs.get_or_create(job_of(value), now=now)
    started = store.runs.start(
        NewRun(
            job_id=job.id,
            kind=RunKind.PRODUCTION,
            configuration=configuration,
            arguments=tuple(mask_arguments(value["arguments"], value["configuration"])),
            submitted_at=value["submitted_at"],
            queue=value["queue"],
            input_bytes=value["input_bytes"],
            load=value["load"],
            spark_version=value["spark_version"],
        )
    )
    run = store.runs.finish(
        started.id,
        RunOutcome(
            state=RunState(value["state"]),
            finished_at=value["finished_at"],
            wait_s=value["wait_s"],
            run_s=value["run_s"],
            duration_s=value["finished_at"] - value["submitted_at"],
            memory_seconds=value["memory_seconds"],
            vcore_seconds=value["vcore_seconds"],
            metrics=value["metrics"],
            failure=value["failure"],
            application_id=value["application_id"],
        ),
    )
    # The program's file is on the machine of whoever submitted it, so its digest came with the run.
    basis = Basis(run.input_bytes, run.spark_version, value["program_digest"])
    learn(store, job.key, run, basis, now=now)
    return run
