"""Random search, uniform over each range or its logarithm."""

import json
import math
import random
import sys


def main() -> None:
    task = json.loads(sys.stdin.readline())
    rng = random.Random(task["seed"])
    configuration = {knob["name"]: knob["default"] for knob in task["knobs"]}
    for _ in range(task["asks"]):
        print(json.dumps(configuration), flush=True)
        sys.stdin.readline()
        configuration = {knob["name"]: _value(rng, knob) for knob in task["knobs"]}


def _value(rng: random.Random, knob: dict) -> object:
    if knob["choices"]:
        return rng.choice(knob["choices"])
    low, high = knob["low"], knob["high"]
    value = math.exp(rng.uniform(math.log(low), math.log(high))) if knob["log"] else rng.uniform(low, high)
    return round(value) if knob["whole"] else value


if __name__ == "__main__":
    main()
