"""One of the six programs on an embedded cluster of its own, for the benchmarks that run it many times."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.services.evidence import local_event_log_dir
from tuner.services.prepare import event_log_settings, subject_of, survey
from tuner.services.trial import Program, TrialRow, TrialRunner, output_dir
from tuner.services.tune import NewStudy, TuneSubject
from tuner.settings import Settings
from tuner.store import NewJob, RunKind, open_store

__all__ = ["CLUSTER", "PROGRAMS", "Bench", "cluster_up", "open_bench", "yarntune"]

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "word count": ("word_count.py", "--size", "small"),
    "TeraSort": ("tera_sort.py", "--size", "small"),
    "k-means": ("k_means.py", "--size", "medium", "--storage", "MEMORY_ONLY"),
    "PageRank": ("page_rank.py", "--size", "small"),
    "naive Bayes": ("naive_bayes.py", "--size", "small"),
    "SQL join": ("sql_join.py", "--size", "small"),
}
"""The points of k-means do not fit into the memory of two default executors: what was dropped is made again in each
round, as with real data that was sized for yesterday."""
CLUSTER = ("--nodes", "2", "--node-memory", "6g", "--node-vcores", "4")
_TIMEOUT_S = 3600.0


def yarntune(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Runs the command; its progress goes to this program's stderr."""
    command = [sys.executable, "-m", "tuner.cli", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(environment), stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S
    )
    return done.stdout


@contextlib.contextmanager
def cluster_up(home: Path) -> Iterator[dict[str, str]]:
    """A cluster whose state and store are below a folder, for as long as the context; yields its environment."""
    taken = ("YARNTUNE_RM", "YARNTUNE_DATABASE", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(taken)}
    environment |= {"YARNTUNE_STATE_DIR": str(home / "state"), "YARNTUNE_DATA_DIR": str(home / "data")}
    yarntune(("cluster", "up", "--name", "bench", *CLUSTER), environment)
    try:
        yield environment
    finally:
        yarntune(("cluster", "down", "--name", "bench"), environment)


@dataclass(frozen=True)
class Bench:
    """A program that is ready to be run with any configuration.

    Attributes:
        subject: what may be changed, and the default.
        event_logs: the folder that the runs leave their logs in.
    """

    subject: TuneSubject
    event_logs: Path
    _runner: TrialRunner

    def run(self, number: int, configuration: Mapping[str, str], cap_s: float | None = None) -> TrialRow:
        """Runs it once; empty stands for the default.

        Args:
            number: of the run.
            configuration: tuned properties.
            cap_s: the time after which it is stopped; None for never.
        """
        subject = self.subject
        conf = {**subject.switched, **configuration} if configuration else {}
        row, _ = self._runner.run(
            number,
            RunKind.TRIAL if configuration else RunKind.DEFAULT,
            configuration or subject.default,
            conf,
            reason="recorded",
            reserved_mib=subject.memory.reserved_mib(configuration or subject.default),
            cap_s=cap_s,
            on_application=lambda _application: None,
        )
        return row


@contextlib.contextmanager
def open_bench(name: str, environment: Mapping[str, str]) -> Iterator[Bench]:
    """A program on the cluster of :func:`cluster_up`.

    Args:
        name: one of :data:`PROGRAMS`.
        environment: as the cluster's context has it.
    """
    settings = Settings.from_environment(environment)
    surroundings = survey(settings, environment, None)
    file, *arguments = PROGRAMS[name]
    path = str(ROOT / "workloads" / "programs" / file)
    program = Program(path, tuple(arguments), None, "client", "default")
    subject = subject_of(surroundings, program, {})
    extra = event_log_settings(surroundings.defaults, program, settings)
    logs = local_event_log_dir({**surroundings.defaults, **extra})
    assert logs is not None
    with surroundings.client, open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key=name, name=name, program=path), now=time.time())
        study = store.studies.start(
            NewStudy(
                job_id=job.id,
                space_hash=subject.space.hash,
                seed=1,
                slack=0.05,
                trials_wanted=0,
                created_at=time.time(),
            )
        )
        yield Bench(
            subject,
            logs,
            TrialRunner(
                program=program,
                spark=surroundings.spark,
                client=surroundings.client,
                store=store,
                environ=surroundings.environ,
                job_id=job.id,
                study_id=study.id,
                masked_arguments=tuple(arguments),
                extra_conf=extra,
                event_log_dir=logs,
                cluster_id=str(int(surroundings.client.info().started_at_s * 1000)),
                output_dir=output_dir(settings),
            ),
        )
