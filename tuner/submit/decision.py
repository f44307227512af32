"""What a submission is changed to: the user's command line, the advice, and the load of now; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tuner.model.advice import Advice, Choice, choose
from tuner.model.container import Refusal, reservation
from tuner.model.limits import ClusterLimits
from tuner.model.load import Load
from tuner.search.reserve import SIZES
from tuner.spark.argv import Rewrite, SubmitArguments, rewrite
from tuner.spark.checks import Problem, find_problems
from tuner.spark.conf import EffectiveConf
from tuner.spark.identity import arguments_shape, job_key, named_job_key, program_name
from tuner.spark.names import canonical_name
from tuner.spark.params import NEWEST, SparkVersion
from tuner.spark.redaction import mask_arguments, printable
from tuner.submit.order import Mode, SubmitOrder

_DYNAMIC = "spark.dynamicAllocation.enabled"
_INSTANCES = "spark.executor.instances"
_TAGS = "spark.yarn.tags"
_TOGETHER = (SIZES, (_DYNAMIC, _INSTANCES))
"""Properties of which one makes no sense without the other: where the user set one, the other is not set either."""


@dataclass(frozen=True)
class Subject:
    """A submission that can be tuned.

    Attributes:
        key, name: of the job.
        masked_arguments: the application's, without secrets.
        python: whether it is a Python application; `cluster_mode`: whether its driver runs on the cluster.
    """

    arguments: SubmitArguments
    conf: EffectiveConf
    key: str
    name: str
    program: str
    main_class: str | None
    masked_arguments: tuple[str, ...]
    queue: str
    python: bool
    cluster_mode: bool

    @property
    def shape(self) -> str:
        """The arguments without what changes from run to run."""
        return arguments_shape(self.masked_arguments)


@dataclass(frozen=True)
class Decision:
    """What is submitted, and what the user is told.

    Attributes:
        arguments: the command line for spark-submit.
        applied: properties that were set for the user.
        advised: all that was chosen, also what gave way to the user's own; None where nothing was.
        lines: for people, without the program's name in front.
    """

    arguments: SubmitArguments
    applied: Mapping[str, str]
    lines: tuple[str, ...]
    advised: Mapping[str, str] | None = None


def subject_of(order: SubmitOrder, arguments: SubmitArguments, conf: EffectiveConf) -> Subject | None:
    """The job that a command line is a run of; None for what cannot be tuned, or does not go to YARN."""
    values = conf.canonical()
    if not arguments.tunable or arguments.application is None:
        return None
    if not values.get("spark.master", "").startswith("yarn"):
        return None
    masked = mask_arguments(arguments.application_args, values)
    queue = printable(values.get("spark.yarn.queue", "default"))
    main_class = arguments.value("--class")
    program = arguments.application
    key = named_job_key(order.job) if order.job else job_key(program, main_class, masked, queue)
    return Subject(
        arguments=arguments,
        conf=conf,
        key=key,
        name=printable(order.job) if order.job else program_name(program),
        program=printable(program),
        main_class=main_class,
        masked_arguments=masked,
        queue=queue,
        python=arguments.kind == "python",
        cluster_mode=values.get("spark.submit.deployMode") == "cluster" or values["spark.master"] == "yarn-cluster",
    )


def decide(
    subject: Subject, order: SubmitOrder, advice: Advice | None, load: Load | None, version: SparkVersion = NEWEST
) -> Decision:
    """Chooses, and puts the choice into the command line.

    Nothing that the user set explicitly is touched: on the command line, in a properties file, or by a pin. Where Spark
    is not going to start with what is submitted, a line says why.

    Args:
        subject: the job.
        order: what the wrapper was told.
        advice: what is known; None for nothing.
        load: of now; None where the cluster does not say.
        version: of the Spark that is started.
    """
    decision = _decide(subject, order, advice, load, version)
    submitted = {**subject.conf.canonical(), **decision.applied}
    return replace(decision, lines=(*decision.lines, *(_warning(each) for each in find_problems(submitted, version))))


def _decide(
    subject: Subject, order: SubmitOrder, advice: Advice | None, load: Load | None, version: SparkVersion
) -> Decision:
    own = unchanged(subject, order)
    if advice is None:
        return replace(own, lines=(f"job {subject.name}: nothing known yet",))
    choice = _choice(advice, order, load)
    if choice is None:
        why = advice.warning or "its own configuration is the best one known"
        return replace(own, lines=(f"job {subject.name}: {why}",))
    put = rewrite(own.arguments, _left_free(choice, subject, order), pinned=subject.conf.explicit() | _names(order))
    problem = _problem(put, subject, own, advice, version)
    if problem:
        return replace(own, lines=(f"job {subject.name}: unchanged, since {problem}",))
    lines = _lines(subject, advice, choice, put, load, order.mode)
    if order.mode is Mode.RECOMMEND:
        return replace(own, lines=lines)
    return Decision(put.arguments, {**own.applied, **put.applied}, lines, choice.candidate.conf)


def unchanged(subject: Subject, order: SubmitOrder) -> Decision:
    """The user's command line, with nothing but the pinned values put in where they are not set already."""
    pinned = {name: value for name, value in order.pins.items() if value is not None}
    put = rewrite(subject.arguments, pinned, pinned=subject.conf.explicit())
    return Decision(put.arguments, put.applied, ())


def tagged(arguments: SubmitArguments, conf: EffectiveConf, tag: str) -> SubmitArguments:
    """The command line with a tag, beside the user's own ones, by which the application is found on YARN."""
    own = conf.canonical().get(_TAGS, "").strip()
    return rewrite(arguments, {_TAGS: f"{own},{tag}" if own else tag}, override=True).arguments


def _choice(advice: Advice, order: SubmitOrder, load: Load | None) -> Choice | None:
    candidate = advice.explore
    if order.mode is not Mode.EXPLORE or candidate is None or advice.since_explored + 1 < order.explore_every:
        return choose(advice, load)
    if load is not None and candidate.executors_within(load) < candidate.executors:
        # It would not get what it asks for, and nothing would be learnt.
        return choose(advice, load)
    return Choice(candidate, candidate.executors, candidate.reason)


def _names(order: SubmitOrder) -> frozenset[str]:
    return frozenset(canonical_name(name) for name in order.pins)


def _left_free(choice: Choice, subject: Subject, order: SubmitOrder) -> dict[str, str]:
    """The choice without what stands or falls with a property that is the user's."""
    fixed = subject.conf.explicit() | _names(order)
    changes = dict(choice.candidate.conf)
    for group in _TOGETHER:
        if any(name in fixed for name in group):
            changes = {name: value for name, value in changes.items() if name not in group}
    return changes


def _warning(problem: Problem) -> str:
    return f"Spark will not start with this: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")


def _problem(put: Rewrite, subject: Subject, own: Decision, advice: Advice, version: SparkVersion) -> str:
    """Why the changed command line must not be submitted; empty where nothing speaks against it."""
    before = {**subject.conf.canonical(), **own.applied}
    after = {**before, **put.applied}
    known = {problem.message for problem in find_problems(before, version)}
    for problem in find_problems(after, version):
        if problem.message not in known:
            return problem.message
    if advice.limits is None:
        return ""
    limits = ClusterLimits(**advice.limits)
    held = reservation(after, limits, python=subject.python, cluster_mode=subject.cluster_mode, version=version)
    return held.reason if isinstance(held, Refusal) else ""


def _lines(
    subject: Subject, advice: Advice, choice: Choice, put: Rewrite, load: Load | None, mode: Mode
) -> tuple[str, ...]:
    busy = "load unknown" if load is None else f"{load.used_fraction:.0%} of the cluster's memory in use"
    reason = choice.reason
    if choice.candidate.reason != reason:
        reason = f"{reason} ({choice.candidate.reason})"
    verb = "would set" if mode is Mode.RECOMMEND else "sets"
    before = subject.conf.canonical()
    if not put.applied:
        head = f"job {subject.name}: nothing to set: {reason}; {busy}"
    else:
        head = f"job {subject.name}: {verb} {len(put.applied)} properties; {reason}; {busy}; {advice.based_on}"
    lines = [head, *([advice.warning] if advice.warning else [])]
    lines += [f"  {name}: {before.get(name, 'default')} -> {value}" for name, value in put.applied.items()]
    lines += [f"  {name}: yours, {value or before.get(name, 'pinned')}, stays" for name, value in put.kept.items()]
    return tuple(lines)
