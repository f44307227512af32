"""What the search believes of a configuration before it has run: the what-if model of the first run's event log.

It is the mean function of the Gaussian process, which then learns only what the model gets wrong (Rasmussen and
Williams, section 2.7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tuner.model.container import initial_executors
from tuner.model.runtime import Contention, RunProfile, WhatIf, fit_contention, predict
from tuner.search.objective import Observation, TrialState
from tuner.search.reserve import ReservationModel
from tuner.spark.params import read_number

__all__ = ["TimePrior"]

_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_LEAST_RUNS: Final = 2
"""Runs besides the first one before anything is fitted to them."""


@dataclass(frozen=True)
class TimePrior:
    """Expected time of configurations of one job.

    Attributes:
        profile: of the run that it rests on.
        memory: the container model, for what holds in every run.
        wait_s: what passes outside of the application's own life: from submission to its start.
        contention: of the cluster, as far as runs have shown it.
    """

    profile: RunProfile
    memory: ReservationModel
    wait_s: float = 0.0
    contention: Contention = field(default_factory=Contention)
    _known: dict[WhatIf, float] = field(default_factory=dict, compare=False, repr=False)

    def fitted(self, observations: Sequence[Observation]) -> TimePrior:
        """The same with the contention that the runs show."""
        runs = [
            (self._what_if(o.configuration), max(o.duration_s - self.wait_s, 1.0))
            for o in observations
            if o.state is TrialState.SUCCEEDED
        ]
        if len(runs) <= _LEAST_RUNS:
            return self
        return replace(self, contention=fit_contention(self.profile, runs), _known={})

    def run_with(self, configuration: Mapping[str, str], executors: int) -> float:
        """Expected seconds of a run that gets so many executors, whatever number it asks for."""
        return self._run_s(replace(self._what_if(configuration), executors=executors))

    def time_s(self, configuration: Mapping[str, str]) -> float:
        """Expected seconds from submission to end."""
        return self.wait_s + self._run_s(self._what_if(configuration))

    def log_time(self, configuration: Mapping[str, str]) -> float:
        """Natural logarithm of :meth:`time_s`."""
        return math.log(self.time_s(configuration))

    def _run_s(self, what: WhatIf) -> float:
        if what not in self._known:
            self._known[what] = predict(self.profile, what, self.contention).run_s
        return self._known[what]

    def _what_if(self, configuration: Mapping[str, str]) -> WhatIf:
        conf = {**self.memory.base, **configuration}
        version = self.memory.version
        cores = max(int(read_number(conf, "spark.executor.cores", version)), self.profile.task_cpus)
        partitions = None if self.profile.partitions is None else int(read_number(conf, _PARTITIONS, version))
        return WhatIf(
            executors=max(1, initial_executors(conf, version)),
            cores=cores,
            heap_mib=float(read_number(conf, "spark.executor.memory", version)),
            memory_fraction=read_number(conf, "spark.memory.fraction", version),
            partitions=partitions,
        )
