"""SMAC3's facade for hyperparameter optimization (a random forest), with its own settings."""

import json
import sys
import tempfile
from pathlib import Path

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
from smac import HyperparameterOptimizationFacade, Scenario


def main() -> None:
    task = json.loads(sys.stdin.readline())
    space = ConfigurationSpace(seed=task["seed"])
    space.add([_knob(knob) for knob in task["knobs"]])
    out = sys.stdout
    sys.stdout = sys.stderr  # what SMAC itself prints is no answer

    def cost(configuration: Configuration, seed: int = 0) -> float:  # noqa: ARG001
        values = dict(configuration)
        print(json.dumps({k: v.item() if hasattr(v, "item") else v for k, v in values.items()}), file=out, flush=True)
        return float(sys.stdin.readline())

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, output_directory=Path(folder), deterministic=True, n_trials=task["asks"], seed=task["seed"]
        )
        # Its own rule, a quarter of the trials at most; the scenario's number leaves room for what is not granted.
        design = HyperparameterOptimizationFacade.get_initial_design(
            scenario,
            n_configs=min(10 * len(task["knobs"]), task["trials"] // 4),
            additional_configs=[space.get_default_configuration()],
        )
        HyperparameterOptimizationFacade(
            scenario, cost, initial_design=design, overwrite=True, logging_level=40
        ).optimize()


def _knob(knob: dict) -> object:
    if knob["choices"]:
        return Categorical(knob["name"], knob["choices"], default=knob["default"])
    kind = Integer if knob["whole"] else Float
    return kind(knob["name"], (knob["low"], knob["high"]), default=knob["default"], log=knob["log"])


if __name__ == "__main__":
    main()
