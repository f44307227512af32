"""FLAML's tune (BlendSearch), with its own settings; it begins with the default."""

import json
import random
import sys

import numpy as np
from flaml import tune


def main() -> None:
    task = json.loads(sys.stdin.readline())
    random.seed(task["seed"])
    np.random.seed(task["seed"])
    out = sys.stdout
    sys.stdout = sys.stderr  # what FLAML itself prints is no answer

    def cost(configuration: dict) -> dict:
        values = {k: v.item() if hasattr(v, "item") else v for k, v in configuration.items()}
        print(json.dumps(values), file=out, flush=True)
        return {"cost": float(sys.stdin.readline())}

    knobs = task["knobs"]
    tune.run(
        cost,
        config={knob["name"]: _domain(knob) for knob in knobs},
        low_cost_partial_config={knob["name"]: knob["default"] for knob in knobs},
        points_to_evaluate=[{knob["name"]: knob["default"] for knob in knobs}],
        metric="cost",
        mode="min",
        num_samples=task["asks"],
        time_budget_s=3600,
        verbose=0,
        use_ray=False,
    )


def _domain(knob: dict) -> object:
    if knob["choices"]:
        return tune.choice(knob["choices"])
    low, high = knob["low"], knob["high"]
    if knob["whole"]:
        return tune.lograndint(low, high + 1) if knob["log"] else tune.randint(low, high + 1)
    return tune.loguniform(low, high) if knob["log"] else tune.uniform(low, high)


if __name__ == "__main__":
    main()
