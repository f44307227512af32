"""Other searches on the same problems, each in an environment of its own, told nothing but ranges and values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.search_problem import WITHIN, Problem
from tuner.search.objective import Observation, TrialState
from tuner.search.space import Dimension

__all__ = ["PEERS", "environment", "search"]

PEERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "random search": ("random_peer", ()),
    "Optuna TPE": ("optuna_peer", ("optuna==5.0.0",)),
    "SMAC3": ("smac_peer", ("smac==2.4.1",)),
    "FLAML": ("flaml_peer", ("flaml[blendsearch]==2.8.0",)),
}
"""The script of each below benchmarks/peers, and what it needs."""
_INSTALL_S: Final = 900.0
_MOST_REFUSED: Final = 10
"""Configurations that cannot be granted, for each trial, before a search is given up."""


def environment(peer: str, folder: Path) -> Path:
    """The Python of a peer's environment, which is made at the first time.

    Raises:
        subprocess.CalledProcessError: the packages could not be installed.
    """
    script, packages = PEERS[peer]
    if not packages:
        return Path(sys.executable)
    home = folder / script
    done, python = home / "installed.txt", home / "bin" / "python"
    if not (done.is_file() and done.read_text() == repr(packages)):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True, timeout=_INSTALL_S)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True, timeout=_INSTALL_S)
        done.write_text(repr(packages))
    return python


def search(peer: str, python: Path, problem: Problem, seed: int, trials: int) -> list[Observation]:
    """The runs in their order, the default's among the first; ends with the first that is good enough.

    A configuration that the cluster cannot grant is no run: it is told as a very bad one, and not counted. Sizes are
    filled up as ours are, so that no search is charged for what YARN rounds up.

    Args:
        peer: a key of :data:`PEERS`.
        python: of its environment.
        problem: answers for the cluster.
        seed: of the search.
        trials: the most of them.
    """
    space = problem.table.space
    default = space.point_of(problem.table.default)
    task = {
        "seed": seed,
        "trials": trials,
        "asks": trials * _MOST_REFUSED,
        "knobs": [_knob(each, default[each.name]) for each in space.dimensions],
    }
    script = Path(__file__).parent / "peers" / f"{PEERS[peer][0]}.py"
    runs: list[Observation] = []
    process = subprocess.Popen(
        [str(python), str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(task), file=process.stdin, flush=True)
        for line in process.stdout:
            asked = json.loads(line)
            point = {d.name: d.clamp(asked[d.name]) for d in space.dimensions}
            observation = problem.observe(problem.memory.filled(space.render(point)))
            if observation.state is TrialState.SUCCEEDED:
                runs.append(observation)
                if len(runs) == trials or problem.ratio(observation) <= 1.0 + WITHIN:
                    return runs
            print(problem.value(observation), file=process.stdin, flush=True)
    finally:
        process.kill()
        _, errors = process.communicate()
    if not runs:
        raise RuntimeError(f"{peer} asked for nothing: {errors.strip()[-2000:]}")
    return runs


def _knob(dimension: Dimension, default: Any) -> dict[str, Any]:
    return {
        "name": dimension.name,
        "choices": list(dimension.choices),
        "whole": dimension.spec.kind in ("int", "memory"),
        "low": dimension.low,
        "high": dimension.high,
        "log": dimension.spec.log,
        "default": default,
    }
