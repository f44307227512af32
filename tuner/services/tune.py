"""Tunes one Spark application on a live cluster: default run, trials, final runs, result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field

from tuner.errors import InputError
from tuner.model.advice import Advice
from tuner.model.limits import ClusterLimits
from tuner.search.engine import Ask, SearchEngine, Stop
from tuner.search.objective import Summary, TrialState, best_of, fastest_of, summarise
from tuner.search.prior import TimePrior
from tuner.search.reserve import SIZES, ReservationModel
from tuner.search.screen import screen
from tuner.search.space import SearchSpace
from tuner.search.start import start_proposals
from tuner.search.transfer import neighbours, warm_proposals
from tuner.services.advise import advice_from_tuning
from tuner.services.application import ResourceManagerLostError
from tuner.services.basis import basis_of
from tuner.services.evidence import run_profile
from tuner.services.past import known_contention, past_jobs
from tuner.services.trial import TrialRow, TrialRunner, remove_output
from tuner.settings import Settings
from tuner.spark.metrics import RunMetrics
from tuner.store import NewStudy, Run, RunKind, RunState, Store, Study, StudyState, optuna_schema_lock, optuna_url
from tuner.yarn.model import Application

HOPELESS_FACTOR = 3.0
HOPELESS_MARGIN_S = 30.0
"""A trial is stopped when it takes this much longer than the default run: it cannot win any more."""


class DefaultRunFailedError(InputError):
    """The application fails with the configuration that it has."""


@dataclass(frozen=True)
class TuneRequest:
    """How to tune.

    Attributes:
        trials: runs in all, the default run among them, the final runs not.
        slack: how much slower than the fastest the result may be, as a fraction.
        resume: go on with an interrupted study of this job over the same space.
        seed: of the search.
        final_runs: how often default, fastest and best are run again, in turn, at the end.
        runs_ahead: how often the job is going to run; trials that so many runs do not pay back are left out.
    """

    trials: int = 10
    slack: float = 0.05
    resume: bool = False
    seed: int = 1
    final_runs: int = 0
    runs_ahead: float | None = None


@dataclass(frozen=True)
class TuneSubject:
    """What is tuned, with everything that was found out about it before the first run.

    Attributes:
        space: the dimensions.
        memory: the container model over it.
        default: the effective values of the tuned properties today.
        pinned: properties that are set in every run and never tuned.
        switched: properties that every trial sets besides the tuned ones, for example dynamic allocation off.
        notes: what the user should know before the first run.
    """

    space: SearchSpace
    memory: ReservationModel
    limits: ClusterLimits
    default: Mapping[str, str]
    pinned: Mapping[str, str]
    switched: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TuneResult:
    """What came of it.

    Attributes:
        trials: in the order they ran, those of an earlier, interrupted part not among them.
        finals: the final runs.
        runs: how many runs the search has seen in all, those of an earlier part among them.
        failed: how many of them failed or were stopped.
        default: the default configuration's medians; None where its run is missing.
        fastest: the fastest configuration's, whatever it reserves; the others are judged against its time.
        best: the best configuration's; the default's where nothing is better.
        conf: what to set to get the best, ready for ``--conf``; empty where the default is best.
        interrupted: whether Ctrl-C ended it.
    """

    study_id: int
    trials: tuple[TrialRow, ...]
    finals: tuple[TrialRow, ...]
    runs: int
    failed: int
    default: Summary | None
    fastest: Summary | None
    best: Summary | None
    conf: Mapping[str, str]
    interrupted: bool


@dataclass
class Progress:
    """What the caller is told while it goes on; each a function that may do nothing."""

    started: Callable[[int, RunKind, str], None] = lambda _number, _kind, _reason: None
    watching: Callable[[Application], None] = lambda _application: None
    ended: Callable[[TrialRow], None] = lambda _row: None
    note: Callable[[str], None] = lambda _text: None


@dataclass
class Tuning:
    """One run of ``yarntune tune``."""

    request: TuneRequest
    subject: TuneSubject
    runner: TrialRunner
    engine: SearchEngine
    store: Store
    study: Study
    progress: Progress
    _trials: list[TrialRow] = field(default_factory=list)
    _finals: list[TrialRow] = field(default_factory=list)

    def run(self) -> TuneResult:
        """Runs to the end, or to Ctrl-C; what was learnt until then is kept and returned.

        Raises:
            DefaultRunFailedError: the application fails with its own configuration: there is nothing to compare with.
            ResourceManagerLostError: the cluster went away; the study can be gone on with.
        """
        interrupted = False
        state = StudyState.INTERRUPTED
        try:
            self._default_run()
            self._believe_first_run()
            self._screen()
            self._learn_from_similar_jobs()
            self._search()
            self._final_runs()
            state = StudyState.FINISHED
        except DefaultRunFailedError:
            # Nothing was learnt that could be gone on with.
            state = StudyState.FINISHED
            raise
        except KeyboardInterrupt:
            interrupted = True
        except ResourceManagerLostError as error:
            done = len(self.engine.observations())
            raise ResourceManagerLostError(
                error.message,
                f"{done} finished {'trial is' if done == 1 else 'trials are'} in the store; "
                "when the cluster is back, go on with the same command and --resume",
            ) from error
        finally:
            self.store.studies.finish(self.study.id, state, now=time.time())
        return self._result(interrupted)

    def advice(self, job_key: str, program: str, result: TuneResult) -> Advice | None:
        """What the search advises for the job's next submissions; None where nothing has run."""
        first = self._first_run()
        return advice_from_tuning(
            job_key,
            [*self.engine.observations(), *(row.observation() for row in self._finals)],
            result.best,
            self.subject.memory,
            self._to_set,
            default=self.subject.default,
            slack=self.request.slack,
            basis=basis_of(program, {} if first is None else first.metrics),
            prior=self.engine.prior,
            now=time.time(),
        )

    def _default_run(self) -> None:
        if self.engine.observations():
            return
        row = self._trial(0, RunKind.DEFAULT, self.subject.default, {}, "the configuration that it has", None)
        if row.state is not TrialState.SUCCEEDED:
            raise DefaultRunFailedError(
                f"the application fails with the configuration that it has: {row.failure}",
                "make it run with spark-submit first; only then is there something to tune",
            )
        self.engine.record(row.observation())

    def _screen(self) -> None:
        """Takes up what the default run's event log gives a reason for, beside the core properties."""
        run = self._first_run()
        if run is None or not run.metrics:
            return
        admitted = screen(RunMetrics.from_json(run.metrics), self.engine.fixed)
        self.engine.admit(admitted)
        for each in admitted:
            self.progress.note(f"{each.name} is searched too: {each.reason}")

    def _believe_first_run(self) -> None:
        """Gives the search what the default run's event log says, where it can be read here."""
        folder, first = self.runner.event_log_dir, self.engine.observations()[0]
        run = self._first_run()
        if folder is None or run is None or run.application_id is None:
            return
        profile = run_profile(folder, run.application_id)
        if profile is None:
            self.progress.note(
                "the first run's event log does not tell enough for the what-if model; searching without"
            )
            return
        wait_s = max(0.0, first.duration_s - profile.observed_s)
        contention = known_contention(self.store, self.subject.limits)
        self.engine.believe(TimePrior(profile, self.subject.memory, wait_s, contention))

    def _first_run(self) -> Run | None:
        """The default run of this study, of an earlier part of it too."""
        found = self.store.runs.list(study_id=self.study.id, kinds=[RunKind.DEFAULT], states=[RunState.SUCCEEDED])
        return found[0] if found else None

    def _learn_from_similar_jobs(self) -> None:
        run = self._first_run()
        if run is None or not run.metrics:
            return
        found = neighbours(run.metrics, past_jobs(self.store, self.study.job_id))
        self.engine.warm_up(warm_proposals(self.subject.space, self.subject.memory, found, self.subject.default))

    def _search(self) -> None:
        cap_s = HOPELESS_FACTOR * self._default_duration_s() + HOPELESS_MARGIN_S
        while len(self.engine.observations()) < self.request.trials:
            ask = self.engine.ask()
            if isinstance(ask, Stop):
                self.progress.note(f"the search ends here: {ask.reason}")
                return
            try:
                row = self._trial(
                    len(self.engine.observations()),
                    RunKind.TRIAL,
                    ask.configuration,
                    self._conf(ask),
                    ask.reason,
                    cap_s,
                )
            except BaseException:
                self.engine.abandon(ask.number)
                raise
            self.engine.tell(ask.number, row.observation())

    def _final_runs(self) -> None:
        found = summarise(self.engine.observations())
        best, fastest = best_of(found, self.request.slack), fastest_of(found)
        default = self.subject.default
        if best is None or fastest is None or dict(best.configuration) == dict(default):
            return
        again = [(default, "default again"), (best.configuration, "best again")]
        if dict(fastest.configuration) not in (dict(default), dict(best.configuration)):
            again.insert(1, (fastest.configuration, "fastest again"))
        for turn in range(1, self.request.final_runs + 1):
            for configuration, reason in again:
                conf = {} if configuration is default else self._to_set(configuration)
                told = f"{reason}, {turn} of {self.request.final_runs}"
                row = self._trial(len(self._finals), RunKind.FINAL, configuration, conf, told, None)
                self._finals.append(row)

    def _trial(
        self,
        number: int,
        kind: RunKind,
        configuration: Mapping[str, str],
        conf: Mapping[str, str],
        reason: str,
        cap_s: float | None,
    ) -> TrialRow:
        self.progress.started(number, kind, reason)
        row, run = self.runner.run(
            number,
            kind,
            configuration,
            conf,
            reason=reason,
            reserved_mib=self.subject.memory.reserved_mib(configuration),
            cap_s=cap_s,
            on_application=self.progress.watching,
        )
        if kind is not RunKind.FINAL:
            self._trials.append(row)
            self._note_best(row, run.id)
        self.progress.ended(row)
        return row

    def _note_best(self, row: TrialRow, run_id: int) -> None:
        known = [*self.engine.observations(), row.observation()]
        best = best_of(summarise(known), self.request.slack)
        if best is not None and dict(best.configuration) == dict(row.configuration):
            self.store.studies.set_best(self.study.id, run_id)

    def _conf(self, ask: Ask) -> dict[str, str]:
        return {**self.subject.switched, **ask.configuration}

    def _to_set(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """What differs from today's configuration, and heap and overhead together where one of them does."""
        changed = {name for name, value in configuration.items() if self.subject.default.get(name) != value}
        if changed & set(SIZES):
            changed |= set(SIZES) & set(configuration)
        return {**self.subject.switched, **{n: v for n, v in configuration.items() if n in changed}}

    def _default_duration_s(self) -> float:
        return self.engine.observations()[0].duration_s

    def _result(self, interrupted: bool) -> TuneResult:
        observations = self.engine.observations()
        default_key = dict(self.subject.default)
        found = summarise(observations)
        default = _summary_of(found, default_key)
        fastest, best = fastest_of(found), best_of(found, self.request.slack)
        if best is not None and self._finals:
            default, fastest, best = self._judged(default_key, default, best)
        conf: dict[str, str] = {}
        if best is not None and dict(best.configuration) != default_key:
            conf = self._to_set(best.configuration)
        return TuneResult(
            study_id=self.study.id,
            trials=tuple(self._trials),
            finals=tuple(self._finals),
            runs=len(observations),
            failed=sum(o.state is not TrialState.SUCCEEDED for o in observations),
            default=default,
            fastest=fastest,
            best=best,
            conf=conf,
            interrupted=interrupted,
        )

    def _judged(
        self, default_key: Mapping[str, str], default: Summary | None, best: Summary
    ) -> tuple[Summary | None, Summary | None, Summary]:
        """Default, fastest and best by their final runs alone, which had the same chances."""
        finals = summarise(row.observation() for row in self._finals)
        again = _summary_of(finals, default_key)
        held = best_of(finals, self.request.slack)
        if again is None or held is None:
            return default, fastest_of(finals), best
        if dict(held.configuration) != dict(best.configuration):
            failed = _summary_of(finals, best.configuration) is None
            what = "failed" if failed else "did not hold"
            instead = "the default stays" if dict(held.configuration) == default_key else "the fastest is the result"
            self.progress.note(f"the best configuration {what} when it was run again; {instead}")
        return again, fastest_of(finals), held


def _summary_of(summaries: Iterable[Summary], configuration: Mapping[str, str]) -> Summary | None:
    wanted = dict(configuration)
    return next((s for s in summaries if dict(s.configuration) == wanted), None)


def open_study(
    settings: Settings, store: Store, job_id: int, request: TuneRequest, subject: TuneSubject, progress: Progress
) -> Study:
    """A new study, or the interrupted one that is to be gone on with.

    Raises:
        InputError: there is none to go on with.
    """
    swept = store.sweep(now=time.time())
    if swept.runs:
        progress.note(f"{len(swept.runs)} run(s) of a yarntune that is gone are marked as lost")
        remove_output(settings, swept.runs)
    found = store.studies.find_resumable(job_id, subject.space.hash)
    if request.resume:
        resumed = store.studies.resume(found.id) if found else None
        if resumed is None:
            raise InputError(
                "the last search for this job on a cluster of this size was not interrupted, or there is none",
                "start a new one: the same command without --resume",
            )
        return resumed
    if found is not None:
        progress.note(f"an interrupted search (study {found.id}) is in the store; --resume would go on with it")
    return store.studies.start(
        NewStudy(
            job_id=job_id,
            space_hash=subject.space.hash,
            seed=request.seed,
            slack=request.slack,
            trials_wanted=request.trials,
            created_at=time.time(),
            pinned=subject.pinned,
            limits=asdict(subject.limits),
        )
    )


def open_engine(settings: Settings, subject: TuneSubject, request: TuneRequest, study: Study) -> SearchEngine:
    """The search of a study, with what it has seen so far."""
    engine = SearchEngine(
        space=subject.space,
        memory=subject.memory,
        slack=request.slack,
        seed=study.seed,
        start=start_proposals(subject.space, subject.limits, subject.default),
        runs_ahead=request.runs_ahead,
        fixed=frozenset(d.name for d in subject.space.dimensions if not d.spec.core),
    )
    engine.open(optuna_url(settings), f"yarntune-{study.id}-{subject.space.hash}", optuna_schema_lock(settings))
    return engine
