"""Finds out what there is before the first run: cluster, limits, today's configuration, what may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import InputError
from tuner.model.container import executor_request, initial_executors
from tuner.model.limits import ClusterLimits
from tuner.search.reserve import ReservationModel
from tuner.search.screen import SCREENED
from tuner.search.space import Dimension, SearchSpace
from tuner.services.limits import read_limits
from tuner.services.pins import check_names, check_values, feasibility_note
from tuner.services.trial import Program, environment_for
from tuner.services.tune import TuneSubject
from tuner.settings import Settings
from tuner.spark.conf import submit_defaults
from tuner.spark.launcher import SparkInstallation, find_spark, spark_version
from tuner.spark.params import (
    ParamSpec,
    SparkVersion,
    Value,
    core_params,
    has_effect,
    read_bool,
    read_value,
    tuned_params,
)
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target, locate

_INSTANCES = "spark.executor.instances"
_OVERHEAD = "spark.executor.memoryOverhead"
_DYNAMIC = "spark.dynamicAllocation.enabled"


@dataclass(frozen=True)
class Surroundings:
    """The cluster and the Spark that a program would be submitted with.

    Attributes:
        environ: for spark-submit.
        defaults: the user's spark-defaults, or properties file, as Spark reads it.
        version: of Spark.
    """

    target: Target
    client: ResourceManagerClient
    spark: SparkInstallation
    environ: Mapping[str, str]
    defaults: Mapping[str, str]
    version: SparkVersion


def survey(settings: Settings, environ: Mapping[str, str], properties_file: Path | None) -> Surroundings:
    """Looks around; starts and changes nothing.

    Raises:
        ClusterError, YarnError: there is no cluster, or it does not answer.
        MissingToolError: there is no Spark.
        InputError: a configuration file cannot be read.
    """
    target = locate(settings, environ)
    spark = find_spark(environ)
    run_environ = environment_for(environ, spark, target.hadoop_conf_dir, target.spark_conf_dir)
    client = ResourceManagerClient.of(target, settings)
    client.info()
    defaults = submit_defaults(run_environ, properties_file)
    return Surroundings(target, client, spark, run_environ, defaults, spark_version(spark))


def subject_of(surroundings: Surroundings, program: Program, pins: Mapping[str, str]) -> TuneSubject:
    """What may be changed, between which bounds, and where it stands today.

    Raises:
        InputError: a pinned value cannot be run, the queue does not exist, or nothing is left to tune.
    """
    limits = read_limits(surroundings.client, program.queue, surroundings.target.hadoop_conf_dir)
    version = surroundings.version
    notes = check_names(pins)
    base = {**surroundings.defaults, **pins}
    check_values(base, pins, version)
    dynamic = read_bool(base, _DYNAMIC, version)
    keeps_dynamic = dynamic and _DYNAMIC in pins
    specs = [
        spec
        for spec in (*core_params(version), *_screened(base, version))
        if spec.name not in pins and not (keeps_dynamic and spec.name == _INSTANCES)
    ]
    values = {spec.name: _default(spec, base, program, version) for spec in specs}
    space = SearchSpace(tuple(Dimension.on(spec, limits, values[spec.name]) for spec in specs))
    switched = {_DYNAMIC: "false"} if dynamic and not keeps_dynamic and _INSTANCES in values else {}
    short = feasibility_note(
        base, pins, limits, python=program.python, cluster_mode=program.deploy_mode == "cluster", version=version
    )
    return TuneSubject(
        space=space,
        memory=_memory(limits, {**base, **switched}, pins, program, version),
        limits=limits,
        default={spec.name: spec.format(values[spec.name]) for spec in specs},
        pinned=dict(pins),
        switched=switched,
        notes=(*notes, *([short] if short else [])),
    )


def event_log_settings(defaults: Mapping[str, str], program: Program, settings: Settings) -> dict[str, str]:
    """What makes a run leave an event log that can be read here; empty where the user's own settings do.

    A driver on the cluster writes where the cluster's machines write, so only the user can say where that is.
    """
    if defaults.get("spark.eventLog.enabled", "false").strip().lower() == "true" or program.deploy_mode == "cluster":
        return {}
    folder = settings.state_dir / "event-logs"
    folder.mkdir(parents=True, exist_ok=True)
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri()}


def _screened(base: Mapping[str, str], version: SparkVersion) -> list[ParamSpec]:
    """What the search takes up where the first run gives a reason: what this Spark has, and what has an effect."""
    return [spec for spec in tuned_params(version) if spec.name in SCREENED and has_effect(spec, base, version)]


def _default(spec: ParamSpec, base: Mapping[str, str], program: Program, version: SparkVersion) -> Value:
    if spec.name == _INSTANCES:
        return initial_executors(base, version)
    if spec.name == _OVERHEAD:
        return executor_request(base, python=program.python, version=version).overhead_mib
    value = read_value(base, spec.name, version)
    if value is None:
        raise InputError(f"{spec.name} has no value to start from", f"pin it: --pin {spec.name}=VALUE")
    return value


def _memory(
    limits: ClusterLimits, base: Mapping[str, str], pins: Mapping[str, str], program: Program, version: SparkVersion
) -> ReservationModel:
    return ReservationModel(
        limits=limits,
        base=base,
        pinned=frozenset(pins),
        python=program.python,
        cluster_mode=program.deploy_mode == "cluster",
        version=version,
    )
