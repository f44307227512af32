"""Ask and tell over an Optuna study, so that a search can be stopped and gone on with by another process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tuner.search.objective import Observation, TrialState
from tuner.search.prior import TimePrior
from tuner.search.proposal import Proposal, propose
from tuner.search.reserve import Reservation
from tuner.search.screen import Admitted
from tuner.search.space import Point, SearchSpace
from tuner.search.start import what_if_proposal

if TYPE_CHECKING:
    import optuna
    from optuna.study import Study

_OBSERVATION = "observation"
_REASON = "reason"
LEAST_TRIALS = 5
"""Runs before the model is believed when it says that nothing more is to be gained."""
BAD_COST_FACTOR = 4.0
"""What a failed run is said to cost, against the costliest: a bad value, since Optuna forgets trials without one."""


@dataclass(frozen=True)
class Ask:
    """A configuration to run.

    Attributes:
        number: Optuna's number of the trial.
        configuration: the tuned properties, as Spark reads them.
        reason: why this one.
    """

    number: int
    configuration: Mapping[str, str]
    reason: str


@dataclass(frozen=True)
class Stop:
    """Nothing more is worth a run.

    Attributes:
        reason: a sentence without a full stop.
    """

    reason: str


@dataclass
class SearchEngine:
    """One job's search.

    Args:
        space: what may be changed.
        memory: what a configuration would reserve.
        slack: tolerated slowdown against the fastest, as a fraction.
        seed: the same seed and the same observations give the same asks.
        start: proposals to try first, in this order; those that were tried, or can never be granted, are left out.
        prior: what is believed of times before anything has run.
        runs_ahead: how often the job is going to run with the result; None to try on, whatever is to be gained.
        fixed: properties of the space that keep their defaults until there is a reason to search them.
    """

    space: SearchSpace
    memory: Reservation
    slack: float
    seed: int
    start: Sequence[Proposal] = ()
    prior: TimePrior | None = None
    runs_ahead: float | None = None
    fixed: frozenset[str] = frozenset()
    _study: Study = field(init=False)
    _asked: dict[int, optuna.trial.Trial] = field(init=False, default_factory=dict)

    def open(self, storage_url: str, study_name: str, schema_lock: AbstractContextManager[Any]) -> None:
        """Opens the Optuna study of that name, or makes it.

        Args:
            storage_url: SQLAlchemy URL of the store.
            study_name: must change with the space (Optuna refuses a study whose choices have changed).
            schema_lock: held while Optuna makes its tables, which two processes cannot do at once.
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with schema_lock:
            storage = optuna.storages.RDBStorage(storage_url)
        self._study = optuna.create_study(
            storage=storage,
            study_name=study_name,
            direction="minimize",
            sampler=optuna.samplers.TPESampler(seed=self.seed, multivariate=False),
            load_if_exists=True,
        )
        for trial in self._study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
            # Left by a process that is gone; without an end it would stay RUNNING for ever.
            self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def close(self) -> None:
        """Closes Optuna's connections to the store."""
        storage: Any = self._study._storage
        backend = getattr(storage, "_backend", storage)
        backend.remove_session()
        backend.engine.dispose()

    def observations(self) -> list[Observation]:
        """Every run that was told, in the order of their trials."""
        import optuna

        trials = self._study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
        return [_from_json(trial.user_attrs[_OBSERVATION]) for trial in trials]

    def record(self, observation: Observation) -> None:
        """Adds a run that the search did not ask for: the first one, of the configuration that the user has."""
        trial = self._new_trial(self.space.point_of(observation.configuration))
        self._finish(trial, observation)

    def believe(self, prior: TimePrior) -> None:
        """Takes what the first run's event log says: the what-if model's best comes next, and it guides the rest."""
        self.prior = prior
        default = self.space.render(self.space.point_of({}))
        proposal = what_if_proposal(self.space, default, prior, slack=self.slack)
        self.start = () if proposal is None else (proposal,)

    def warm_up(self, proposals: Sequence[Proposal]) -> None:
        """Puts what was best for similar jobs in front of everything else."""
        self.start = (*proposals, *self.start)

    def admit(self, admitted: Sequence[Admitted]) -> None:
        """Takes up properties that were fixed.

        One trial has the other value of each, on top of what comes first; after that they are searched like the others.
        """
        values = {each.name: each.value for each in admitted}
        self.fixed -= values.keys()
        base = self.start[0].point if self.start else self.space.point_of({})
        other = self.space.point_of({**self.space.render(base), **values})
        changed = [name for name in sorted(values) if other[name] != base[name]]
        if changed:
            self.start = (*self.start, Proposal(other, f"another {' and '.join(changed)}"))

    def ask(self) -> Ask | Stop:
        """The next configuration to run, or why there is none."""
        proposal = self._propose()
        if proposal is None:
            return Stop("every configuration that the cluster can grant was tried")
        if not self._worth_a_run(proposal):
            saved = f"{proposal.gain or 0.0:.1%}"
            return Stop(
                f"another trial is expected to save {saved} of a run's GiB·s, "
                f"which {self.runs_ahead:g} runs do not pay back"
            )
        trial = self._new_trial(proposal.point)
        trial.set_user_attr(_REASON, proposal.reason)
        # Optuna can hand back values outside of the range; what is run is always checked again.
        point = {d.name: d.clamp(trial.params[d.name]) for d in self.space.dimensions}
        self._asked[trial.number] = trial
        return Ask(trial.number, self.memory.filled(self.space.render(point)), proposal.reason)

    def tell(self, number: int, observation: Observation) -> None:
        """Says how the run of an ask ended."""
        self._finish(self._asked.pop(number), observation)

    def abandon(self, number: int) -> None:
        """Says that the run of an ask told nothing about its configuration: interrupted, or the cluster went away."""
        import optuna

        self._asked.pop(number, None)
        self._study.tell(number, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def _worth_a_run(self, proposal: Proposal) -> bool:
        if self.runs_ahead is None or len(self.observations()) < LEAST_TRIALS:
            return True
        return proposal.pays_back(self.runs_ahead)

    def _new_trial(self, point: Point) -> optuna.trial.Trial:
        self._study.enqueue_trial(dict(point))
        return self._study.ask(self.space.distributions())

    def _finish(self, trial: optuna.trial.Trial, observation: Observation) -> None:
        from optuna.exceptions import UpdateFinishedTrialError

        try:
            trial.set_user_attr(_OBSERVATION, _to_json(observation))
        except UpdateFinishedTrialError:
            # Another process took this one for dead and failed its trial. The run has been made all the same.
            self.record(observation)
            return
        self._study.tell(trial, self._value(observation), skip_if_finished=True)

    def _value(self, observation: Observation) -> float:
        """Optuna's objective: the logarithm of GiB·s."""
        if observation.state is TrialState.SUCCEEDED:
            return math.log(max(observation.gib_seconds, 1e-3))
        costs = [o.gib_seconds for o in self.observations()] + [observation.gib_seconds, 1.0]
        return math.log(BAD_COST_FACTOR * max(costs))

    def _propose(self) -> Proposal | None:
        observations = self.observations()
        tried = [self.space.point_of(o.configuration) for o in observations]
        for proposal in self.start:
            point = self.space.point_of(self.memory.filled(self.space.render(proposal.point)))
            if point not in tried and self.memory.reserved_mib(self.space.render(point)):
                return Proposal(point, proposal.reason)
        # Trials without an end count too, so that one that was interrupted is not simply asked for again.
        trials = len(self._study.get_trials(deepcopy=False))
        return propose(
            self.space,
            observations,
            self.memory,
            slack=self.slack,
            seed=self.seed * 10_007 + trials,
            prior=self.prior,
            fixed=self.fixed,
        )


def _to_json(observation: Observation) -> dict[str, Any]:
    return {
        "configuration": dict(observation.configuration),
        "state": observation.state.value,
        "duration_s": observation.duration_s,
        "wait_s": observation.wait_s,
        "gib_seconds": observation.gib_seconds,
    }


def _from_json(value: Mapping[str, Any]) -> Observation:
    return Observation(**{**value, "state": TrialState(value["state"])})
