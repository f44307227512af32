"""A plan: one change of a live scheduler's configuration, with what it was made from and what it should bring.

A plan is a value. It holds both configurations in full, so that a change which somebody else has made meanwhile can be
told property by property, and so that the way back is byte for byte. ``rules.lifecycle`` carries plans out.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rules.model import Finding, PropertyChange, Severity
from tuner.errors import InputError

__all__ = [
    "FORMAT",
    "BackEndKind",
    "Cluster",
    "Configuration",
    "Origin",
    "Plan",
    "QueueEffect",
    "configuration_from_json",
    "configuration_to_json",
    "differences",
    "plan_from_json",
    "plan_to_json",
]

FORMAT = 1
"""The version of the plan file; a file of a newer one is refused."""


class BackEndKind(StrEnum):
    """How the configuration of a scheduler is changed."""

    CAPACITY_REST = "capacity-rest"
    """The Capacity Scheduler with a mutable store: ``PUT scheduler-conf``."""
    CAPACITY_FILE = "capacity-file"
    """The Capacity Scheduler with its file: replace ``capacity-scheduler.xml``, then ``rmadmin -refreshQueues``."""
    FAIR_FILE = "fair-file"
    """The Fair Scheduler: replace the allocation file, which the ResourceManager reads by itself."""


class Origin(StrEnum):
    """Where a plan comes from."""

    OPTIMIZER = "optimizer"
    BY_HAND = "by-hand"
    ADOPTED = "adopted"
    """No change: the configuration that was found is taken for ours from now on."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster a plan is for.

    Attributes:
        id: hosts and ports of its ResourceManagers, sorted; the same from every machine that names them alike.
        hadoop_version: for example ``3.4.1``.
        started_at_s: when the ResourceManager started: a restart in between is told by it.
    """

    id: str
    hadoop_version: str
    started_at_s: float


@dataclass(frozen=True)
class Configuration:
    """The configuration of a scheduler, as it is stored.

    Attributes:
        properties: the Capacity Scheduler's by full name; the Fair Scheduler's as ``root.a.weight`` for a queue's and
            under their own name for those of the whole file.
        data: the file, byte for byte; None where there is no file.
        version: the ResourceManager's count of changes; None where it keeps none. It is no part of what is compared.
    """

    properties: Mapping[str, str]
    data: bytes | None = None
    version: int | None = field(default=None, compare=False)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file, or of the sorted properties where there is no file."""
        if self.data is not None:
            return hashlib.sha256(self.data).hexdigest()
        return hashlib.sha256(json.dumps(sorted(self.properties.items())).encode()).hexdigest()


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[PropertyChange, ...]:
    """What differs between two sets of properties, in the order of the second, then what is only in the first."""
    names = dict.fromkeys([*after, *before])
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return tuple(PropertyChange(name, old, new) for name, old, new in pairs if old != new)


@dataclass(frozen=True, slots=True)
class QueueEffect:
    """What a plan should bring for one queue, or for all of them (``queue`` is ``all``).

    Attributes:
        queue: full path.
        jobs: how many jobs it was estimated on.
        before_s: their mean latency under the present configuration, in seconds.
        after_s: the same under the proposed one.
        spread_s: standard error of the difference, over the draws of what is not known; None with a single draw.
        unfinished_before: jobs that do not end within the horizon, under the present configuration.
        unfinished_after: the same under the proposed one.
    """

    queue: str
    jobs: int
    before_s: float
    after_s: float
    spread_s: float | None
    unfinished_before: float = 0.0
    unfinished_after: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A change that is proposed.

    Attributes:
        cluster: which cluster it is for.
        scheduler: ``capacity`` or ``fair``.
        back_end: how it is written.
        base: the configuration that it was made against.
        proposed: the configuration that it leads to.
        findings: what the checks say of it; an ERROR among them and it is not applied.
        effects: what it should bring, all queues first; empty where nothing could be estimated.
        reasons: why, in sentences.
        origin: who proposed it.
        created_at: seconds since 1970-01-01 UTC.
        created_by: user name.
        expires_at: it is not applied from then on; the load that it was made for has passed.
    """

    cluster: Cluster
    scheduler: str
    back_end: BackEndKind
    base: Configuration
    proposed: Configuration
    findings: tuple[Finding, ...] = ()
    effects: tuple[QueueEffect, ...] = ()
    reasons: tuple[str, ...] = ()
    origin: Origin
    created_at: float
    created_by: str
    expires_at: float

    @property
    def changes(self) -> tuple[PropertyChange, ...]:
        """What it changes, property by property."""
        return differences(self.base.properties, self.proposed.properties)

    @property
    def is_empty(self) -> bool:
        """Whether it would change nothing."""
        return self.base.fingerprint == self.proposed.fingerprint

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that stop it."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def digest(self) -> str:
        """SHA-256 of its JSON: the same plan in a file and in the store has the same."""
        return hashlib.sha256(json.dumps(_body(self), sort_keys=True).encode()).hexdigest()


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as its file has it; the digest guards it against edits, since a plan is applied as it was reviewed."""
    return {"format": FORMAT, "digest": plan.digest, **_body(plan)}


def _body(plan: Plan) -> dict[str, Any]:
    return {
        "cluster": {
            "id": plan.cluster.id,
            "hadoop_version": plan.cluster.hadoop_version,
            "started_at": plan.cluster.started_at_s,
        },
        "scheduler": plan.scheduler,
        "back_end": plan.back_end.value,
        "origin": plan.origin.value,
        "created_at": plan.created_at,
        "created_by": plan.created_by,
        "expires_at": plan.expires_at,
        "changes": [{"property": made.property, "before": made.before, "after": made.after} for made in plan.changes],
        "findings": [
            {
                "queue": finding.queue,
                "property": finding.property,
                "rule": finding.rule_id,
                "severity": finding.severity.value,
                "message": finding.message,
            }
            for finding in plan.findings
        ],
        "effects": [
            {
                "queue": effect.queue,
                "jobs": effect.jobs,
                "before": effect.before_s,
                "after": effect.after_s,
                "spread": effect.spread_s,
                "unfinished_before": effect.unfinished_before,
                "unfinished_after": effect.unfinished_after,
            }
            for effect in plan.effects
        ],
        "reasons": list(plan.reasons),
        "base": configuration_to_json(plan.base),
        "proposed": configuration_to_json(plan.proposed),
    }


def plan_from_json(document: Any, where: str = "the plan") -> Plan:
    """Reads :func:`plan_to_json`'s document.

    Args:
        document: the parsed JSON.
        where: what to call it in messages.

    Raises:
        InputError: it is no plan, of a newer format, or was edited.
    """
    if not isinstance(document, dict) or "format" not in document or "back_end" not in document:
        raise InputError(f"{where} is not a plan", "make one with `yarntune scheduler plan -o FILE`")
    if document["format"] != FORMAT:
        raise InputError(
            f"{where} has format {document['format']!r}; this yarntune reads {FORMAT}",
            "make the plan anew with this yarntune",
        )
    try:
        plan = _plan(document)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where} is damaged ({type(error).__name__}: {error})", "make it anew") from None
    if plan.digest != document.get("digest"):
        raise InputError(
            f"{where} was changed after it was made, so its checks and its prediction are not about it any more",
            "make another plan, by hand with --set NAME=VALUE where need be",
        )
    return plan


def _plan(document: Mapping[str, Any]) -> Plan:
    cluster = document["cluster"]
    return Plan(
        cluster=Cluster(cluster["id"], cluster["hadoop_version"], cluster["started_at"]),
        scheduler=document["scheduler"],
        back_end=BackEndKind(document["back_end"]),
        base=configuration_from_json(document["base"]),
        proposed=configuration_from_json(document["proposed"]),
        findings=tuple(
            Finding(each["queue"], each["property"], each["rule"], Severity(each["severity"]), each["message"])
            for each in document["findings"]
        ),
        effects=tuple(
            QueueEffect(
                each["queue"],
                each["jobs"],
                each["before"],
                each["after"],
                each["spread"],
                each["unfinished_before"],
                each["unfinished_after"],
            )
            for each in document["effects"]
        ),
        reasons=tuple(document["reasons"]),
        origin=Origin(document["origin"]),
        created_at=document["created_at"],
        created_by=document["created_by"],
        expires_at=document["expires_at"],
    )


def configuration_to_json(configuration: Configuration) -> dict[str, Any]:
    """A configuration for a plan's file and for the store; a file's bytes as text where they are UTF-8."""
    value: dict[str, Any] = {
        "version": configuration.version,
        "fingerprint": configuration.fingerprint,
        "properties": dict(configuration.properties),
    }
    if configuration.data is not None:
        try:
            value["text"] = configuration.data.decode("utf-8")
        except UnicodeDecodeError:
            value["base64"] = base64.b64encode(configuration.data).decode("ascii")
    return value


def configuration_from_json(document: Mapping[str, Any]) -> Configuration:
    """Reads :func:`configuration_to_json`'s document; a KeyError, TypeError or ValueError where it is another one."""
    data = None
    if "text" in document:
        data = document["text"].encode("utf-8")
    elif "base64" in document:
        data = base64.b64decode(document["base64"])
    return Configuration(document["properties"], data, document["version"])
