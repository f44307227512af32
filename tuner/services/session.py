"""One ``yarntune tune`` from the order to the outcome: puts the parts together and takes them down again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.errors import InputError
from tuner.model.limits import ClusterLimits
from tuner.services.evidence import local_event_log_dir
from tuner.services.prepare import (
    Surroundings,
    event_log_settings,
    subject_of,
    survey,
)
from tuner.services.trial import Program, TrialRunner, output_dir
from tuner.services.tune import Progress, TuneRequest, TuneResult, TuneSubject, Tuning, open_engine, open_study
from tuner.settings import Settings
from tuner.spark.conf import mask_arguments, write_properties_file
from tuner.spark.identity import arguments_shape, job_key, program_name
from tuner.spark.redaction import printable
from tuner.store import Job, NewJob, Store, open_store

_REMOTE = ("hdfs:", "s3:", "s3a:", "gs:", "abfs:", "abfss:", "http:", "https:", "local:", "viewfs:")


@dataclass(frozen=True)
class TuneOrder:
    """What the user asks for; see ``yarntune tune --help``.

    Attributes:
        passed_on: options of spark-submit, in its own words.
    """

    app: str
    arguments: tuple[str, ...]
    trials: int = 10
    slack: float = 0.05
    queue: str | None = None
    pins: Mapping[str, str] = field(default_factory=dict)
    resume: bool = False
    final_runs: int = 0
    runs_ahead: float | None = None
    seed: int = 1
    name: str | None = None
    main_class: str | None = None
    deploy_mode: str = "client"
    properties_file: Path | None = None
    passed_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class TuneOutcome:
    """What came of an order.

    Attributes:
        defaults: the user's own properties, which a properties file for spark-submit must repeat: with
            ``--properties-file`` Spark does not read spark-defaults.conf.
    """

    job: Job
    result: TuneResult
    subject: TuneSubject
    defaults: Mapping[str, str]

    @property
    def limits(self) -> ClusterLimits:
        """Of the cluster that it was tuned on."""
        return self.subject.limits

    def write_properties(self, path: Path) -> None:
        """Writes what spark-submit needs to run the application as it was tuned."""
        tuned = {**self.subject.pinned, **self.result.conf}
        header = f"Tuned by yarntune for {self.job.name}; spark-defaults.conf as it was is included."
        write_properties_file(path, {**self.defaults, **tuned}, header)


def run_tuning(order: TuneOrder, settings: Settings, environ: Mapping[str, str], progress: Progress) -> TuneOutcome:
    """Tunes.

    Args:
        order: what the user asks for.
        settings: of this process.
        environ: the environment, for Spark and for finding the cluster.
        progress: is told what goes on.

    Raises:
        YarntuneError: with what to do about it.
    """
    _check_program(order)
    surroundings = survey(settings, environ, order.properties_file)
    with surroundings.client, open_store(settings) as store:
        program = _program(order, surroundings)
        subject = subject_of(surroundings, program, order.pins)
        for text in subject.notes:
            progress.note(text)
        job = _job(store, order, program)
        request = TuneRequest(order.trials, order.slack, order.resume, order.seed, order.final_runs, order.runs_ahead)
        study = open_study(settings, store, job.id, request, subject, progress)
        engine = open_engine(settings, subject, request, study)
        try:
            runner = _runner(order, surroundings, program, subject, settings, store, job.id, study.id)
            tuning = Tuning(request, subject, runner, engine, store, study, progress)
            result = tuning.run()
            advice = tuning.advice(job.key, program.path, result)
            if advice is not None:
                store.advice.put(job.key, advice.to_json(), now=time.time())
        finally:
            engine.close()
    return TuneOutcome(job, result, subject, surroundings.defaults)


def _check_program(order: TuneOrder) -> None:
    app = order.app
    if order.queue is not None and not order.queue.strip():
        raise InputError("--queue is empty", "name a queue, or leave the option out")
    if order.main_class and app.endswith(".py"):
        raise InputError("--class is for a jar, and the application is a Python file", "leave --class out")
    if app.startswith(_REMOTE):
        return
    path = Path(app.removeprefix("file:").partition("#")[0])
    if path.is_dir():
        raise InputError(f"{app!r} is a folder", "name the application's Python file or jar in it")
    if not path.is_file():
        raise InputError(f"there is no file {app!r}", "name the application's Python file or jar")


def _program(order: TuneOrder, surroundings: Surroundings) -> Program:
    configured = order.pins.get("spark.yarn.queue") or surroundings.defaults.get("spark.yarn.queue")
    passed_on = order.passed_on
    if order.properties_file is not None:
        passed_on = ("--properties-file", str(order.properties_file), *passed_on)
    return Program(
        path=order.app,
        arguments=order.arguments,
        main_class=order.main_class,
        deploy_mode=order.deploy_mode,
        queue=order.queue or configured or "default",
        options=passed_on,
    )


def _job(store: Store, order: TuneOrder, program: Program) -> Job:
    arguments = mask_arguments(program.arguments)
    name = printable(order.name) if order.name else None
    job = store.jobs.get_or_create(
        NewJob(
            key=job_key(program.path, program.main_class, arguments, program.queue),
            name=name or program_name(program.path),
            program=printable(program.path),
            main_class=program.main_class,
            arguments_shape=arguments_shape(arguments),
            queue=program.queue,
        ),
        now=time.time(),
    )
    return store.jobs.rename(job.id, name) if name and name != job.name else job


def _runner(
    order: TuneOrder,
    surroundings: Surroundings,
    program: Program,
    subject: TuneSubject,
    settings: Settings,
    store: Store,
    job_id: int,
    study_id: int,
) -> TrialRunner:
    extra = {**event_log_settings(surroundings.defaults, program, settings), **subject.pinned}
    return TrialRunner(
        program=program,
        spark=surroundings.spark,
        client=surroundings.client,
        store=store,
        environ=surroundings.environ,
        job_id=job_id,
        study_id=study_id,
        masked_arguments=mask_arguments(order.arguments),
        extra_conf=extra,
        event_log_dir=local_event_log_dir({**surroundings.defaults, **extra}),
        cluster_id=str(int(surroundings.client.info().started_at_s * 1000)),
        output_dir=output_dir(settings),
    )
