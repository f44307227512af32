"""Whether what the user fixed can be run at all, before anything is submitted."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from tuner.errors import InputError
from tuner.model.container import Refusal, executors_that_fit, reservation
from tuner.model.limits import ClusterLimits
from tuner.spark.checks import find_problems
from tuner.spark.params import PARAMS, SparkVersion

__all__ = ["check_names", "check_values", "feasibility_note"]

_OWN = {
    "spark.master": "it is always yarn here",
    "spark.submit.deployMode": "use --deploy-mode",
    "spark.yarn.tags": "yarntune finds its applications by it",
    "spark.yarn.queue": "use --queue",
    "spark.submit.pyFiles": "use --py-files",
}
"""Properties that another option sets, and what to do instead."""

_NEAR = 0.92
"""How alike two names must be (difflib's ratio) for one to be taken for a misspelling of the other."""


def check_names(pins: Mapping[str, str]) -> list[str]:
    """Notes on names that look misspelt; Spark itself accepts any.

    Raises:
        InputError: for a property that is not for pinning, or a value of a known one that Spark cannot read.
    """
    notes = []
    for name, value in pins.items():
        if name in _OWN:
            raise InputError(f"{name} cannot be pinned: {_OWN[name]}")
        if name in PARAMS:
            PARAMS[name].parse(value)
            continue
        near = difflib.get_close_matches(name, PARAMS, n=1, cutoff=_NEAR)
        if near:
            notes.append(f"{name} is no property that Spark documents; did you mean {near[0]}?")
    return notes


def check_values(conf: Mapping[str, str], pins: Mapping[str, str], version: SparkVersion) -> None:
    """Refuses pinned values with which Spark would not start.

    Args:
        conf: the effective configuration, pins included.
        pins: the pinned part of it.
        version: of Spark.

    Raises:
        InputError: with the first problem that a pin causes.
    """
    for problem in find_problems(conf, version):
        # Cores of 0 cannot be reckoned with, wherever they come from.
        if problem.name in pins or problem.name == "spark.executor.cores":
            raise InputError(problem.message, problem.hint or f"set another value of {problem.name}")


def feasibility_note(
    conf: Mapping[str, str],
    pins: Mapping[str, str],
    limits: ClusterLimits,
    *,
    python: bool,
    cluster_mode: bool,
    version: SparkVersion,
) -> str:
    """What the configuration that the job has meets on this cluster; empty where all of its executors fit.

    Raises:
        InputError: YARN refuses one of its containers, so that not even the first run can start.
    """
    held = reservation(conf, limits, python=python, cluster_mode=cluster_mode, version=version)
    if isinstance(held, Refusal):
        whose = "with what is pinned" if pins else "with the configuration that it has"
        hint = "pin smaller values" if pins else "pin smaller ones: --pin spark.executor.memory=... or .cores=..."
        raise InputError(f"{whose}, {held.reason}", hint)
    fit = executors_that_fit(held.am, held.executor, limits)
    if fit < held.executors:
        return (
            f"the cluster has room for {fit} of the {held.executors} executors of the configuration that it has: "
            "its first run gets fewer than it asks for"
        )
    return ""
