"""One trial: a configuration as a spark-submit command, run, recorded, and judged."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.search.objective import Observation, TrialState
from tuner.services.application import Finished, Submission, run_application
from tuner.services.evidence import LOG_WAIT_S, event_log_evidence
from tuner.services.load import read_load
from tuner.settings import Settings
from tuner.spark.launcher import SparkInstallation, with_utf8
from tuner.store import NewRun, Run, RunKind, RunOutcome, RunState, Store
from tuner.units import gib_seconds
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Application

LOST_AFTER_S = 15.0
"""How long a ResourceManager may be silent before a trial is given up: longer than most failovers."""


@dataclass(frozen=True)
class Program:
    """What is tuned.

    Attributes:
        path: the Python file or jar.
        arguments: its own arguments, never looked into.
        main_class: of a jar.
        deploy_mode: ``client`` or ``cluster``.
        queue: the YARN queue.
        options: further options of spark-submit, such as ``("--py-files", "a.zip")``.
    """

    path: str
    arguments: tuple[str, ...]
    main_class: str | None
    deploy_mode: str
    queue: str
    options: tuple[str, ...] = ()

    @property
    def python(self) -> bool:
        """Whether executors start Python workers, as Spark decides it."""
        return self.path.endswith(".py")


@dataclass(frozen=True)
class TrialRow:
    """One finished trial, as it is shown.

    Attributes:
        number: counted from 0 within the study; the default run is 0.
        kind: default, trial or final.
        configuration: the tuned properties' values in this run.
        reserved_mib: what the container model says that it reserves; None where it cannot say.
        duration_s: from submission to end; `wait_s` before the application master ran, `run_s` the rest.
        gib_seconds: the ResourceManager's memorySeconds / 1024.
        failure: one line; empty where it succeeded.
        reason: why this configuration was tried.
        evidence: what the event log says, see :func:`tuner.services.evidence.event_log_evidence`.
    """

    number: int
    kind: RunKind
    configuration: Mapping[str, str]
    state: TrialState
    application_id: str | None
    reserved_mib: float | None
    duration_s: float
    wait_s: float
    run_s: float
    gib_seconds: float
    failure: str
    reason: str
    evidence: Mapping[str, Any]

    def observation(self) -> Observation:
        """What the search learns from it."""
        return Observation(self.configuration, self.state, self.duration_s, self.wait_s, self.gib_seconds)


@dataclass
class TrialRunner:
    """Runs trials of one program, one after the other.

    Attributes:
        output_dir: where what a running application prints is kept until it has ended.
        checksums: what the first successful run printed; a later one that prints something else is a wrong answer.
    """

    program: Program
    spark: SparkInstallation
    client: ResourceManagerClient
    store: Store
    environ: Mapping[str, str]
    job_id: int
    study_id: int
    masked_arguments: tuple[str, ...]
    extra_conf: Mapping[str, str]
    event_log_dir: Path | None
    cluster_id: str
    output_dir: Path
    checksums: tuple[str, ...] | None = None

    def run(
        self,
        number: int,
        kind: RunKind,
        configuration: Mapping[str, str],
        conf: Mapping[str, str],
        *,
        reason: str,
        reserved_mib: float | None,
        cap_s: float | None,
        on_application: Callable[[Application], None],
    ) -> tuple[TrialRow, Run]:
        """Runs one configuration and writes it into the store: before the submission, and again at its end.

        Args:
            number: of the trial in its study.
            kind: why it is run.
            configuration: the tuned properties' values, for the record.
            conf: what is put on the command line; empty for the default run.
            reason: for the record.
            reserved_mib: for the record.
            cap_s: the time after which it is hopeless.
            on_application: called at every look at the application.

        Raises:
            ResourceManagerLostError: the run is in the store as LOST.
            KeyboardInterrupt: the run is in the store as KILLED.
        """
        load = read_load(self.client, self.program.queue)
        run = self.store.runs.start(
            NewRun(
                job_id=self.job_id,
                kind=kind,
                configuration=configuration,
                arguments=self.masked_arguments,
                submitted_at=time.time(),
                study_id=self.study_id,
                trial_number=number,
                queue=self.program.queue,
                load=None if load is None else load.to_json(),
                cluster_id=self.cluster_id,
            )
        )
        noted = _NoteOnce(self.store, run.id, on_application)
        try:
            finished = self._submit(conf, cap_s, noted, run.id)
        except BaseException as error:
            state = RunState.KILLED if isinstance(error, KeyboardInterrupt) else RunState.LOST
            reason = "interrupted" if state is RunState.KILLED else str(error)
            self.store.runs.finish(run.id, RunOutcome(state=state, finished_at=time.time(), failure=reason))
            raise
        row = self._row(number, kind, configuration, finished, reason, reserved_mib)
        return row, self.store.runs.finish(run.id, _outcome(row, finished))

    def command(self, conf: Mapping[str, str], tag: str) -> tuple[str, ...]:
        """The whole spark-submit command of a configuration."""
        program = self.program
        settings = {**self.extra_conf, **conf, "spark.yarn.tags": tag}
        parts = [str(self.spark.spark_submit), "--master", "yarn", "--deploy-mode", program.deploy_mode]
        parts += ["--queue", program.queue, *program.options]
        parts += ["--class", program.main_class] if program.main_class else []
        for name, value in settings.items():
            parts += ["--conf", f"{name}={value}"]
        return (*parts, program.path, *program.arguments)

    def _submit(self, conf: Mapping[str, str], cap_s: float | None, noted: _NoteOnce, run_id: int) -> Finished:
        tag = f"yarntune-{uuid.uuid4().hex[:12]}"
        folder = _output_folder(self.output_dir, run_id)
        folder.mkdir(parents=True)
        try:
            command = self.command(conf, tag)
            submission = Submission(command, with_utf8(self.environ, command), tag, folder, cap_s)
            return run_application(submission, self.client, lost_after_s=LOST_AFTER_S, on_application=noted)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _row(
        self,
        number: int,
        kind: RunKind,
        configuration: Mapping[str, str],
        finished: Finished,
        reason: str,
        reserved_mib: float | None,
    ) -> TrialRow:
        state, failure = TrialState(finished.ending.value), finished.failure
        application = finished.application
        evidence: Mapping[str, Any] = {}
        if application is not None and self.event_log_dir is not None:
            wait_s = LOG_WAIT_S if state is TrialState.SUCCEEDED else 0.0
            evidence = event_log_evidence(self.event_log_dir, application.id, wait_s=wait_s)
        if state is TrialState.SUCCEEDED:
            self.checksums = self.checksums or finished.checksums
            if finished.checksums != self.checksums:
                state = TrialState.FAILED
                failure = f"wrong answer: {_said(finished.checksums)} instead of {_said(self.checksums)}"
            elif evidence.get("problem"):
                state, failure = TrialState.FAILED, str(evidence["problem"])
        return TrialRow(
            number=number,
            kind=kind,
            configuration=configuration,
            state=state,
            application_id=application.id if application else None,
            reserved_mib=reserved_mib,
            duration_s=finished.duration_s,
            wait_s=finished.wait_s,
            run_s=finished.duration_s - finished.wait_s,
            gib_seconds=gib_seconds(finished.memory_seconds),
            failure=failure,
            reason=reason,
            evidence=evidence,
        )


class _NoteOnce:
    """Writes the application's id into the store as soon as it is known, and passes every look on."""

    def __init__(self, store: Store, run_id: int, then: Callable[[Application], None]) -> None:
        self._store = store
        self._run_id = run_id
        self._then = then
        self._noted = False

    def __call__(self, application: Application) -> None:
        if not self._noted:
            self._store.runs.set_application(self._run_id, application.id)
            self._noted = True
        self._then(application)


def output_dir(settings: Settings) -> Path:
    """Where the output of running trials is."""
    return settings.state_dir / "trial-output"


def remove_output(settings: Settings, run_ids: Iterable[int]) -> None:
    """Removes what is left of runs whose yarntune was killed."""
    for run_id in run_ids:
        shutil.rmtree(_output_folder(output_dir(settings), run_id), ignore_errors=True)


def _output_folder(parent: Path, run_id: int) -> Path:
    return parent / f"run-{run_id}"


def _outcome(row: TrialRow, finished: Finished) -> RunOutcome:
    return RunOutcome(
        state=RunState.KILLED if row.state is TrialState.STOPPED else RunState(row.state.value),
        finished_at=time.time(),
        wait_s=row.wait_s,
        run_s=row.run_s,
        duration_s=row.duration_s,
        memory_seconds=finished.memory_seconds,
        vcore_seconds=finished.vcore_seconds,
        metrics=row.evidence,
        failure=row.failure or None,
        application_id=row.application_id,
    )


def _said(checksums: Sequence[str]) -> str:
    return ", ".join(checksums) or "no checksum"


def environment_for(
    environ: Mapping[str, str], spark: SparkInstallation, hadoop_conf_dir: Path | None, spark_conf_dir: Path | None
) -> dict[str, str]:
    """The environment of spark-submit: the caller's, with the cluster and the Spark that were found."""
    result = dict(environ)
    if hadoop_conf_dir:
        result["HADOOP_CONF_DIR"] = result["YARN_CONF_DIR"] = str(hadoop_conf_dir)
    if spark_conf_dir:
        result["SPARK_CONF_DIR"] = str(spark_conf_dir)
    if spark.home:
        result["SPARK_HOME"] = str(spark.home)
    if spark.python and not result.get("PYSPARK_PYTHON"):
        result["PYSPARK_PYTHON"] = spark.python
    result.setdefault("PATH", os.defpath)
    return result
