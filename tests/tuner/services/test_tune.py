"""The course of a tuning, on a made-up application: what is run, what is kept, what is recommended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tuner.search.simulated import LIMITS, MEMORY, SimulatedJob, space
from tuner.errors import InputError
from tuner.model.advice import Advice
from tuner.model.runtime import Contention, RunProfile, StageProfile
from tuner.search.engine import SearchEngine
from tuner.search.objective import Observation, TrialState
from tuner.search.space import Dimension, SearchSpace
from tuner.services.application import ResourceManagerLostError
from tuner.services.trial import TrialRow
from tuner.services.tune import Progress, TuneRequest, TuneResult, TuneSubject, Tuning, open_engine, open_study
from tuner.settings import Settings
from tuner.spark.params import PARAMS
from tuner.store import NewJob, NewRun, Run, RunKind, RunOutcome, RunState, Store, StudyState, open_store

SPACE = space()
DEFAULT = SPACE.render(SPACE.point_of({}))
SUBJECT = TuneSubject(
    SPACE, MEMORY, LIMITS, DEFAULT, {"spark.task.cpus": "1"}, {"spark.dynamicAllocation.enabled": "false"}
)


class SimulatedRunner:
    """Stands in for YARN: runs of a made-up job, recorded in the store as real ones are.

    Args:
        change: is given kind, number and the run, and may raise or return another one.
    """

    def __init__(self, store: Store, job_id: int, study_id: int, change: Callable[..., Observation]) -> None:
        self._store, self._job_id, self._study_id, self._change = store, job_id, study_id, change
        self._job = SimulatedJob(noise=0.01, seed=4)
        self.event_log_dir: Path | None = None
        self.submitted: list[tuple[RunKind, Mapping[str, str], float | None]] = []
        self.metrics: Mapping[str, Any] = {}

    def run(
        self, number: int, kind: RunKind, configuration: Mapping[str, str], conf: Mapping[str, str], *, reason: str,
        reserved_mib: float | None, cap_s: float | None, **_: Any,
    ) -> tuple[TrialRow, Run]:  # fmt: skip
        self.submitted.append((kind, dict(conf), cap_s))
        new = NewRun(
            job_id=self._job_id, kind=kind, configuration=configuration, arguments=(), submitted_at=time.time(),
            study_id=self._study_id, trial_number=number,
        )  # fmt: skip
        run = self._store.runs.start(new)
        seen = self._change(kind, number, self._job.run(configuration))
        state = RunState(seen.state.value if seen.state is not TrialState.STOPPED else "KILLED")
        run = self._store.runs.finish(
            run.id,
            RunOutcome(
                state=state, finished_at=time.time(), metrics=self.metrics, application_id=f"application_1_{run.id:04}"
            ),
        )
        failure = "" if seen.state is TrialState.SUCCEEDED else "made to fail"
        row = TrialRow(
            number, kind, configuration, seen.state, f"application_1_{run.id:04}", reserved_mib, seen.duration_s,
            seen.wait_s, seen.duration_s - seen.wait_s, seen.gib_seconds, failure, reason, {},
        )  # fmt: skip
        return row, run


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.from_environment({"YARNTUNE_DATA_DIR": str(tmp_path)})


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with open_store(settings) as opened:
        yield opened


def unchanged(_kind: RunKind, _number: int, seen: Observation) -> Observation:
    return seen


def tuned(
    settings: Settings, store: Store, request: TuneRequest, change: Callable[..., Observation] = unchanged,
    subject: TuneSubject = SUBJECT, metrics: Mapping[str, Any] | None = None, event_logs: Path | None = None,
) -> tuple[TuneResult, SimulatedRunner, list[str]]:  # fmt: skip
    notes: list[str] = []
    progress = Progress(note=notes.append)
    job = store.jobs.get_or_create(NewJob(key="k", name="n", program="p.py"), now=time.time())
    study = open_study(settings, store, job.id, request, subject, progress)
    engine = open_engine(settings, subject, request, study)
    runner = SimulatedRunner(store, job.id, study.id, change)
    runner.metrics = metrics or {}
    runner.event_log_dir = event_logs
    try:
        tuning = Tuning(request, subject, runner, engine, store, study, progress)  # type: ignore[arg-type]
        result = tuning.run()
        advice = tuning.advice("k", "p.py", result)
        if advice is not None:
            store.advice.put("k", advice.to_json(), now=1.0)
    finally:
        engine.close()
    return result, runner, notes


def test_default_then_trials_then_final_runs_in_turn(settings: Settings, store: Store) -> None:
    result, runner, _ = tuned(settings, store, TuneRequest(trials=6, final_runs=2))
    kinds = [kind for kind, _, _ in runner.submitted]
    assert kinds == [RunKind.DEFAULT, *[RunKind.TRIAL] * 5, *[RunKind.FINAL] * 4]
    assert runner.submitted[0][1] == {}, "the first run has the configuration that the job has"
    assert [bool(conf) for _, conf, _ in runner.submitted[6:]] == [False, True, False, True]
    assert runner.submitted[7][1] == result.conf, "what is recommended is what was verified"
    assert runner.submitted[0][2] is None
    assert result.default is not None
    hopeless = 3 * result.trials[0].duration_s + 30
    assert {cap for kind, _, cap in runner.submitted if kind is RunKind.TRIAL} == {hopeless}
    assert result.best is not None
    assert (result.default.runs, result.best.runs) == (2, 2)
    assert result.best.gib_seconds < result.default.gib_seconds
    study = store.studies.get(result.study_id)
    assert study is not None
    assert study.state is StudyState.FINISHED
    best_run = store.runs.get(study.best_run_id or 0)
    assert best_run is not None
    assert dict(best_run.configuration) == dict(result.best.configuration)


def test_only_what_changes_is_recommended(settings: Settings, store: Store) -> None:
    result, _, _ = tuned(settings, store, TuneRequest(trials=5))
    assert result.best is not None
    changed = {name for name, value in result.best.configuration.items() if DEFAULT[name] != value}
    sizes = {"spark.executor.memory", "spark.executor.memoryOverhead"}
    assert set(result.conf) == changed | (sizes if changed & sizes else set()) | {"spark.dynamicAllocation.enabled"}


def test_the_result_is_what_is_advised_for_an_idle_cluster(settings: Settings, store: Store) -> None:
    result, _, _ = tuned(settings, store, TuneRequest(trials=6, slack=1.0))
    document = store.advice.get("k")
    assert document is not None
    advice = Advice.from_json(document)
    assert advice.candidates[0].conf == result.conf
    assert {} in [dict(each.conf) for each in advice.candidates], "its own configuration is a candidate"
    for each in advice.candidates:
        assert each.run_s[each.executors] > 0
        assert each.executor_mib % SUBJECT.limits.increment_mib == 0


def test_a_best_that_does_not_hold_leaves_the_default(settings: Settings, store: Store) -> None:
    def slow_when_repeated(kind: RunKind, number: int, seen: Observation) -> Observation:
        if kind is RunKind.FINAL and dict(seen.configuration) != DEFAULT:
            return Observation(seen.configuration, seen.state, 10 * seen.duration_s, 0.0, seen.gib_seconds)
        return seen

    result, _, notes = tuned(settings, store, TuneRequest(trials=4, final_runs=1), slow_when_repeated)
    assert result.conf == {}
    assert result.best == result.default
    assert any("did not hold" in note for note in notes)


def test_the_fastest_takes_part_in_the_final_runs_and_wins_where_the_best_is_too_slow(
    settings: Settings, store: Store
) -> None:
    hasty: list[Mapping[str, str]] = []

    def one_is_hasty_and_the_best_is_slow_again(kind: RunKind, number: int, seen: Observation) -> Observation:
        if kind is RunKind.TRIAL and number == 3:
            hasty.append(seen.configuration)
        if seen.configuration in hasty:
            return Observation(seen.configuration, seen.state, 0.01 * seen.duration_s, 0.0, 5 * seen.gib_seconds)
        if kind is RunKind.FINAL and dict(seen.configuration) != DEFAULT:
            return Observation(seen.configuration, seen.state, 9000.0, 0.0, seen.gib_seconds)
        return seen

    request = TuneRequest(trials=6, slack=999.0, final_runs=2)
    result, _, notes = tuned(settings, store, request, one_is_hasty_and_the_best_is_slow_again)
    finals = [dict(row.configuration) for row in result.finals]
    assert len(finals) == 6
    assert finals[:3] == finals[3:]
    assert finals[0] == DEFAULT
    assert result.fastest is not None
    assert result.best is not None
    assert dict(result.fastest.configuration) == dict(hasty[0]) == finals[1]
    assert dict(result.best.configuration) in finals[:2], "what is too slow by its final runs is not the result"
    assert any("did not hold" in note for note in notes)


def test_a_property_is_searched_where_the_first_run_gives_a_reason_and_only_then(
    settings: Settings, store: Store
) -> None:
    codec = "spark.io.compression.codec"
    space = SearchSpace((*SPACE.dimensions, Dimension.on(PARAMS[codec], LIMITS, "lz4")))
    subject = replace(SUBJECT, space=space, default={**DEFAULT, codec: "lz4"})
    gib = 1024**3
    metrics = {"tasks": 100, "task_s": 100.0, "executor_run_s": 95.0, "fetch_wait_s": 0.0, "input_bytes": 0,
               "disk_spill_bytes": 0, "shuffle_read_bytes": 4 * gib, "shuffle_write_bytes": 4 * gib}  # fmt: skip
    little = {**metrics, "shuffle_read_bytes": 0, "shuffle_write_bytes": 0}
    request = TuneRequest(trials=10)
    _, runner, notes = tuned(settings, store, request, subject=subject, metrics=little)
    assert {conf.get(codec, "lz4") for _, conf, _ in runner.submitted} == {"lz4"}
    assert not [note for note in notes if codec in note]
    _, runner, notes = tuned(settings, store, request, subject=subject, metrics=metrics)
    assert len({conf.get(codec, "lz4") for _, conf, _ in runner.submitted}) > 1
    assert f"{codec} is searched too: 8.0 GiB go through the shuffle" in notes


def test_failed_trials_are_recorded_and_do_not_end_the_search(settings: Settings, store: Store) -> None:
    def every_other_fails(kind: RunKind, number: int, seen: Observation) -> Observation:
        if kind is RunKind.TRIAL and number % 2:
            state = TrialState.FAILED if number % 4 == 1 else TrialState.STOPPED
            return Observation(seen.configuration, state, seen.duration_s, 0.0, seen.gib_seconds)
        return seen

    result, _, _ = tuned(settings, store, TuneRequest(trials=6), every_other_fails)
    assert [row.state.value for row in result.trials] == [
        "SUCCEEDED", "FAILED", "SUCCEEDED", "STOPPED", "SUCCEEDED", "FAILED",
    ]  # fmt: skip
    assert len({row.observation().key for row in result.trials}) == 6


def test_an_application_that_fails_as_it_is_cannot_be_tuned(settings: Settings, store: Store) -> None:
    def fails(_kind: RunKind, _number: int, seen: Observation) -> Observation:
        return Observation(seen.configuration, TrialState.FAILED, 1.0, 0.0, 1.0)

    with pytest.raises(InputError, match="fails with the configuration that it has: made to fail"):
        tuned(settings, store, TuneRequest(trials=4), fails)
    with pytest.raises(InputError, match="was not interrupted"):
        tuned(settings, store, TuneRequest(trials=4, resume=True))


def test_ctrl_c_keeps_what_was_learnt_and_resume_goes_on(settings: Settings, store: Store) -> None:
    def interrupted_in_the_third(kind: RunKind, number: int, seen: Observation) -> Observation:
        if number == 2:
            raise KeyboardInterrupt
        return seen

    first, _, _ = tuned(settings, store, TuneRequest(trials=5), interrupted_in_the_third)
    assert first.interrupted
    assert len(first.trials) == 2
    assert first.best is not None
    study = store.studies.get(first.study_id)
    assert study is not None
    assert study.state is StudyState.INTERRUPTED

    second, runner, _ = tuned(settings, store, TuneRequest(trials=5, resume=True))
    assert second.study_id == first.study_id
    assert [kind for kind, _, _ in runner.submitted] == [RunKind.TRIAL] * 3, "the default is not run again"
    assert second.default is not None
    assert not second.interrupted
    assert (second.runs, second.failed, len(second.trials)) == (5, 0, 3), "the earlier part counts"
    with pytest.raises(InputError, match="was not interrupted"):
        tuned(settings, store, TuneRequest(trials=5, resume=True))


def test_a_new_search_says_that_an_old_one_could_go_on(settings: Settings, store: Store) -> None:
    def interrupted(_kind: RunKind, number: int, seen: Observation) -> Observation:
        if number == 1:
            raise KeyboardInterrupt
        return seen

    first, _, _ = tuned(settings, store, TuneRequest(trials=3), interrupted)
    second, _, notes = tuned(settings, store, TuneRequest(trials=2))
    assert second.study_id != first.study_id
    assert any("--resume" in note for note in notes)


def test_there_must_be_something_to_resume(settings: Settings, store: Store) -> None:
    with pytest.raises(InputError, match="or there is none"):
        tuned(settings, store, TuneRequest(trials=3, resume=True))


def test_a_lost_cluster_is_told_with_what_is_kept(settings: Settings, store: Store) -> None:
    def lost(_kind: RunKind, number: int, seen: Observation) -> Observation:
        if number == 2:
            raise ResourceManagerLostError("it is gone")
        return seen

    with pytest.raises(ResourceManagerLostError, match="it is gone") as caught:
        tuned(settings, store, TuneRequest(trials=4), lost)
    assert caught.value.hint.startswith("2 finished trials are in the store")
    second, _, _ = tuned(settings, store, TuneRequest(trials=4, resume=True))
    assert len(second.trials) == 2


def test_what_a_search_learns_of_the_cluster_is_believed_by_the_next(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second search begins with the contention that the runs of the first have shown."""
    profile = RunProfile(
        stages=(StageProfile(np.full(20, 4.0), (), 3.0, False, 0.0, 0.0),), tail_s=1.0, executors=2, cores=1,
        task_cpus=1, heap_mib=1024.0, memory_fraction=0.6, peak_unified_mib=None, partitions=None, cold_s=0.0,
        observed_s=44.0,
    )  # fmt: skip
    monkeypatch.setattr("tuner.services.tune.run_profile", lambda _folder, _id: profile)
    believed: list[Contention] = []
    believe = SearchEngine.believe
    monkeypatch.setattr(
        SearchEngine, "believe", lambda self, prior: (believed.append(prior.contention), believe(self, prior))[1]
    )

    def crowded(_kind: RunKind, _number: int, seen: Observation) -> Observation:
        """Each executor takes ten seconds more, whatever else."""
        executors = int(seen.configuration["spark.executor.instances"])
        return replace(seen, duration_s=20.0 + 10.0 * executors, wait_s=0.0)

    for _ in range(2):
        tuned(settings, store, TuneRequest(trials=4), crowded, event_logs=tmp_path)
    assert believed[0] == Contention()
    assert believed[1].start_s > 5.0
    document = store.advice.get("k")
    assert document is not None
    assert Contention.from_json(Advice.from_json(document).contention or {}).start_s > 5.0
