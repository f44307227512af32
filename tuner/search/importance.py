"""Which properties the cost of a job's runs depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

LEAST_RUNS = 6
"""Of fewer runs with a cost, nothing is said: a forest of trees over them would only repeat chance."""
MOST_RUNS = 300


def importances(runs: Sequence[tuple[Mapping[str, str], float]], *, seed: int = 0) -> dict[str, float] | None:
    """The share of each property in the variance of the logarithm of the cost, by functional ANOVA.

    Hutter, Hoos, Leyton-Brown (2014), "An Efficient Approach for Assessing Hyperparameter Importance"; as Optuna's
    ``FanovaImportanceEvaluator`` does it. Values are taken in their order, not by their size.

    Args:
        runs: each a configuration and its cost, above 0; the newest :data:`MOST_RUNS` are looked at.
        seed: of the forest.

    Returns:
        Shares that add up to 1, largest first, of the properties that differ between the runs; None where there are
        too few runs, or they all cost the same.
    """
    known = [(configuration, cost) for configuration, cost in runs if cost > 0][-MOST_RUNS:]
    if len(known) < LEAST_RUNS or len({cost for _, cost in known}) == 1:
        return None
    shared = set.intersection(*(set(configuration) for configuration, _ in known))
    values = {name: _ordered({configuration[name] for configuration, _ in known}) for name in sorted(shared)}
    values = {name: ordered for name, ordered in values.items() if len(ordered) > 1}
    if not values:
        return None
    if len(values) == 1:
        return dict.fromkeys(values, 1.0)

    import optuna
    from optuna.distributions import BaseDistribution, IntDistribution

    distributions: dict[str, BaseDistribution] = {
        name: IntDistribution(0, len(ordered) - 1) for name, ordered in values.items()
    }
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study()
        study.add_trials(
            [
                optuna.trial.create_trial(
                    params={name: ordered.index(configuration[name]) for name, ordered in values.items()},
                    distributions=distributions,
                    value=math.log(cost),
                )
                for configuration, cost in known
            ]
        )
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=seed)
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return {name: float(share) for name, share in sorted(found.items(), key=lambda item: -item[1])}


def _ordered(values: set[str]) -> list[str]:
    def key(text: str) -> tuple[float, str]:
        number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        try:
            return float(number), text
        except ValueError:
            return math.inf, text

    return sorted(values, key=key)
