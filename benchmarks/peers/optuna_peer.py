"""Optuna's TPE with its own settings. Reads the task from stdin, then writes a configuration and reads its cost."""

import json
import sys

import optuna


def main() -> None:
    task = json.loads(sys.stdin.readline())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=task["seed"]))
    study.enqueue_trial({knob["name"]: knob["default"] for knob in task["knobs"]})

    def cost(trial: optuna.Trial) -> float:
        print(json.dumps({knob["name"]: _value(trial, knob) for knob in task["knobs"]}), flush=True)
        return float(sys.stdin.readline())

    study.optimize(cost, n_trials=task["asks"])


def _value(trial: optuna.Trial, knob: dict) -> object:
    if knob["choices"]:
        return trial.suggest_categorical(knob["name"], knob["choices"])
    suggest = trial.suggest_int if knob["whole"] else trial.suggest_float
    return suggest(knob["name"], knob["low"], knob["high"], log=knob["log"])


if __name__ == "__main__":
    main()
