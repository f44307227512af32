"""From what shall change to the configuration that is proposed, and from forecasts to what it should bring. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from rules.configuration import capacity_configuration, fair_configuration
from rules.dialects.capacity import queue_property
from rules.dialects.capacity_document import read_capacity_document
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.fair import parse_allocations, read_allocation_file
from rules.dialects.xml_document import decode_file
from rules.estimator import Estimate, Summary
from rules.model import ROOT
from rules.plan import BackEndKind, Configuration, QueueEffect
from tuner.errors import InputError

__all__ = ["ALL_QUEUES", "effects_of", "full_name", "proposed_configuration", "proposed_file"]

ALL_QUEUES = "all"
"""How the effect on all queues together is named."""

_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def full_name(kind: BackEndKind, name: str) -> str:
    """A property as the configuration names it.

    Args:
        kind: of the back end; the Capacity Scheduler's properties may be given without their prefix.
        name: for example ``root.prod.capacity``.
    """
    if kind is BackEndKind.FAIR_FILE or name.startswith("yarn."):
        return name
    return queue_property(*name.rsplit(".", 1)) if name.startswith(f"{ROOT}.") else f"{PREFIX}{name}"


def proposed_configuration(
    kind: BackEndKind, current: Configuration, changes: Mapping[str, str | None]
) -> Configuration:
    """The configuration with some properties changed, in one step.

    Args:
        kind: of the back end.
        current: what there is.
        changes: by full name, as in ``current.properties``; None takes a property out.

    Raises:
        InputError: a value cannot stand in the file, or a queue or property of the Fair Scheduler is not there.
    """
    if kind is BackEndKind.FAIR_FILE:
        return _changed_allocations(current, changes)
    if kind is BackEndKind.CAPACITY_FILE:
        assert current.data is not None, "a configuration in a file has its bytes"
        document = read_capacity_document(current.data).with_changes(changes)
        return capacity_configuration(document.render(), "the proposed configuration")
    properties = {**current.properties, **changes}
    return Configuration({name: value for name, value in properties.items() if value}, version=current.version)


def _changed_allocations(current: Configuration, changes: Mapping[str, str | None]) -> Configuration:
    assert current.data is not None, "a configuration in a file has its bytes"
    allocations = read_allocation_file(current.data, "the allocation file")
    for name, value in changes.items():
        path, _, element = name.rpartition(".")
        allocations = allocations.with_property(path, element, value) if path else allocations.with_setting(name, value)
    return proposed_file(current, allocations.render())


def proposed_file(current: Configuration, text: str) -> Configuration:
    """The configuration of a new allocation file, in the encoding of the present one.

    Raises:
        InputError: it is no allocation file, or has characters that the encoding lacks.
    """
    assert current.data is not None, "a configuration in a file has its bytes"
    parse_allocations(text, "the proposed allocation file")
    return fair_configuration(_encoded_like(current.data, text), "the proposed allocation file")


def _encoded_like(present: bytes, text: str) -> bytes:
    before = decode_file(present, "the allocation file")
    declared = _DECLARED.match(present[:200])
    plain = declared.group(1).decode("ascii") if declared else "utf-8"
    for mark, encoding in (*_MARKS, (b"", plain)):
        if present.startswith(mark) and mark + before.encode(encoding) == present:
            try:
                return mark + text.encode(encoding)
            except UnicodeEncodeError as error:
                raise InputError(
                    f"the allocation file is in {encoding}, which lacks {error.object[error.start]!r}"
                ) from None
    raise InputError("the allocation file's encoding cannot be written again", "save it as UTF-8")


def effects_of(pairs: Sequence[tuple[Estimate, Estimate]]) -> tuple[QueueEffect, ...]:
    """What a change should bring, over several draws of what is not known.

    Args:
        pairs: for each draw, how the same workload goes under the present and under the proposed configuration.

    Returns:
        All queues together first, then the leaves that have jobs. The spread is the standard error of the mean
        difference of latency over the draws; None where there is one draw only.
    """
    if not pairs:
        return ()
    paths = sorted({path for before, after in pairs for path in {*before.by_queue, *after.by_queue}})
    rows = [_effect(ALL_QUEUES, [(before.summary, after.summary) for before, after in pairs])]
    for path in paths:
        found = [
            (before.by_queue[path], after.by_queue[path])
            for before, after in pairs
            if path in before.by_queue and path in after.by_queue
        ]
        if found:
            rows.append(_effect(path, found))
    return tuple(rows)


def _effect(queue: str, pairs: Sequence[tuple[Summary, Summary]]) -> QueueEffect:
    changes = [after.mean_latency_s - before.mean_latency_s for before, after in pairs]
    return QueueEffect(
        queue=queue,
        jobs=round(fmean(before.jobs for before, _ in pairs)),
        before_s=fmean(before.mean_latency_s for before, _ in pairs),
        after_s=fmean(after.mean_latency_s for _, after in pairs),
        spread_s=stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else None,
        unfinished_before=fmean(before.unfinished for before, _ in pairs),
        unfinished_after=fmean(after.unfinished for _, after in pairs),
    )
