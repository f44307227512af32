"""A Gaussian process over the logarithm of run time, and what a configuration promises under it.

Memory that a configuration reserves is known beforehand (the container model computes what YARN grants), so only time
is modelled; cost is reserved memory x predicted time. Rasmussen and Williams, *Gaussian Processes for Machine
Learning*, chapter 2; expected improvement: Jones, Schonlau and Welch 1998; with a constraint: Gardner et al. 2014.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TIME_NOISE = 0.03
"""Standard deviation of log time between two runs of one configuration, before the data says otherwise: 3 %."""


@dataclass(frozen=True)
class Prediction:
    """Mean and standard deviation of log time at some points; arrays of one length."""

    mean: Array
    deviation: Array


class TimeModel:
    """Log time of a run over the unit cube.

    Args:
        places: observed points, one row each, in [0, 1].
        log_times: natural logarithms of their times in seconds.
        seed: for the restarts of the fit; the same seed gives the same model.
    """

    def __init__(self, places: Array, log_times: Array, *, seed: int) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
        from threadpoolctl import threadpool_limits

        self._centre = float(np.mean(log_times))
        kernel = ConstantKernel(0.1, (0.01, 4.0)) * Matern(1.0, (0.3, 5.0), nu=2.5) + WhiteKernel(
            TIME_NOISE**2, (1e-4, 0.05)
        )
        self._process: Any = GaussianProcessRegressor(kernel=kernel, n_restarts_optimizer=2, random_state=seed)
        # For a few dozen points the threads of a linear algebra library only wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            # A length scale at its bound is what few points give; it is no news to anyone.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._process.fit(places, log_times - self._centre)

    def predict(self, places: Array) -> Prediction:
        """Log time at the given points, one row each, without the noise of a single run."""
        mean, deviation = self._process.predict(places, return_std=True)
        noise = float(np.exp(self._process.kernel_.theta[-1]))
        latent = np.sqrt(np.maximum(deviation**2 - noise, 1e-8))
        return Prediction(mean=mean + self._centre, deviation=latent)


def constrained_expected_improvement(
    prediction: Prediction, log_memory: Array, *, best_log_cost: float, log_time_limit: float
) -> Array:
    """How much each candidate is expected to lower log cost, times the chance that it is fast enough.

    Args:
        prediction: log time of the candidates.
        log_memory: logarithm of the memory that each reserves.
        best_log_cost: log cost of the best configuration so far that is fast enough.
        log_time_limit: logarithm of (1 + slack) x the fastest time.

    Returns:
        One number per candidate, 0 or more.
    """
    from scipy.stats import norm

    gain = best_log_cost - (log_memory + prediction.mean)
    score = gain / prediction.deviation
    improvement = gain * norm.cdf(score) + prediction.deviation * norm.pdf(score)
    feasible = norm.cdf((log_time_limit - prediction.mean) / prediction.deviation)
    result: Array = np.maximum(improvement, 0.0) * feasible
    return result
