"""What is wrong with an allocation file: all that stops the ResourceManager, and what it takes without a word.

The ResourceManager keeps the old file when it cannot read a new one, and tells only its log; on a file that it reads it
says nothing of queues that can never run anything. So every check is made here, before a file is written. The ids are
listed in ``docs/fair-scheduler.md``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from rules.dialects.fair import PLACEMENT_TAG, QUEUE_TAGS, USER_TAG, AllocationFile, trim_queue_name
from rules.dialects.fair_placement import check_rules, read_policy_element
from rules.dialects.fair_resources import MEMORY, UNBOUNDED, VCORES, ResourceSpec, parse_resources
from rules.dialects.fair_site import FairSite
from rules.dialects.fair_values import (
    FILE_BY_TAG,
    QUEUE_BY_TAG,
    FairProperty,
    Kind,
    check_value,
    read_integer,
    read_number,
    read_policy,
)
from rules.dialects.xml_document import Element
from rules.model import ROOT, Finding, Queue, Resources, Severity
from tuner.errors import InputError

_RESOURCE_PROPERTIES = ("minResources", "maxResources", "maxChildResources", "maxContainerAllocation")


def validate(
    allocations: AllocationFile, site: FairSite | None = None, cluster: Resources | None = None
) -> tuple[Finding, ...]:
    """Checks an allocation file.

    Args:
        allocations: the file.
        site: yarn-site's part, where it is known: then names of resource types are checked, and time-outs against it.
        cluster: what all nodes have together, where it is known: then amounts are compared with it.

    Returns:
        All findings, in the order of the file. An ERROR means that the ResourceManager refuses the file, or that a
        queue of it can never run an application as it stands.
    """
    found = list(_elements(allocations))
    broken = {(finding.queue, finding.property) for finding in found if finding.rule_id == "fair-value"}
    for queue in allocations.tree:
        readable = {name: text for name, text in queue.properties.items() if (queue.path, name) not in broken}
        found += _queue(allocations, queue, readable, site)
    found += _policies(allocations, broken)
    found += _sums(allocations, broken, cluster)
    found += _names(allocations)
    found += _placement(allocations)
    if site is not None:
        found += _preemption(allocations, site)
    return tuple(found)


def _error(queue: str | None, name: str | None, rule_id: str, message: str) -> Finding:
    return Finding(queue, name, rule_id, Severity.ERROR, message)


def _warning(queue: str | None, name: str | None, rule_id: str, message: str) -> Finding:
    return Finding(queue, name, rule_id, Severity.WARNING, message)


def _elements(allocations: AllocationFile) -> Iterator[Finding]:
    """Unknown, repeated and empty elements, and values that cannot be read."""
    top = allocations.document.root
    known = (*FILE_BY_TAG, *QUEUE_TAGS, USER_TAG, PLACEMENT_TAG)
    yield from _known_and_single(None, top, known)
    if top.text.strip():
        yield _warning(
            None, None, "fair-stray-text", f"the text {top.text.strip()[:40]!r} outside of any element is ignored"
        )
    for child in top.children:
        if child.tag in FILE_BY_TAG:
            yield from _value(None, child, FILE_BY_TAG[child.tag])
        elif child.tag == USER_TAG:
            yield from _user(child)
    for path, elements in allocations.queue_elements.items():
        for element in elements:
            yield from _known_and_single(path, element, (*QUEUE_BY_TAG, *QUEUE_TAGS))
            for child in element.children:
                if child.tag in QUEUE_BY_TAG:
                    yield from _value(path, child, QUEUE_BY_TAG[child.tag])


def _known_and_single(path: str | None, owner: Element, known: tuple[str, ...]) -> Iterator[Finding]:
    where = path or "the allocation file"
    seen: dict[str, int] = {}
    for child in owner.children:
        if child.tag not in known:
            near = difflib.get_close_matches(child.tag, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            message = f"{where}: the ResourceManager ignores <{child.tag}> (line {child.line}){hint}"
            yield _warning(path, child.tag, "fair-unknown-element", message)
        elif child.tag not in (*QUEUE_TAGS, USER_TAG):
            prop = (QUEUE_BY_TAG if path else FILE_BY_TAG).get(child.tag)
            name = prop.name if prop else child.tag
            if name in seen:
                message = (
                    f"{where}: {name} is set in line {seen[name]} and again in line {child.line}; one of them counts"
                )
                yield _warning(path, name, "fair-repeated-element", message)
            seen[name] = child.line


def _value(path: str | None, element: Element, prop: FairProperty) -> Iterator[Finding]:
    where = f"{path or 'the allocation file'}: {prop.name} (line {element.line})"
    if prop.kind is Kind.MARK:
        return
    if element.children or not element.text or (prop.kind is not Kind.ACL and not element.text.strip()):
        what = "has elements inside" if element.children else "is empty"
        yield _error(
            path, prop.name, "fair-value", f"{where} {what}, which the ResourceManager cannot read; take it out"
        )
        return
    text = element.text.strip()
    try:
        check_value(prop.kind, text)
    except InputError as error:
        hint = f"; {error.hint}" if error.hint else ""
        yield _error(path, prop.name, "fair-value", f"{where}: {error.message}{hint}")
        return
    if prop.kind is Kind.BOOLEAN and text.lower() not in ("true", "false"):
        yield _warning(path, prop.name, "fair-boolean", f"{where}: {text!r} counts as false; write true or false")
    if prop.name == "defaultQueueSchedulingPolicy" and read_policy(text) == "fifo":
        yield _error(path, prop.name, "fair-default-policy", f"{where} cannot be fifo; set it in leaf queues instead")


def _user(element: Element) -> Iterator[Finding]:
    name = element.attributes.get("name", "")
    if not name:
        yield _warning(None, "maxRunningApps", "fair-user-name", f"the <user> in line {element.line} has no name")
    for child in element.children:
        if child.tag != "maxRunningApps":
            message = f"user {name}: <{child.tag}> (line {child.line}) is ignored; only maxRunningApps counts"
            yield _warning(None, child.tag, "fair-unknown-element", message)
            continue
        try:
            value = read_integer(child.text.strip())
        except InputError as error:
            yield _error(None, "maxRunningApps", "fair-value", f"user {name}: maxRunningApps: {error.message}")
            continue
        if value <= 0:
            yield _warning(
                None, "maxRunningApps", "fair-max-apps", f"user {name}: no application runs at maxRunningApps {value}"
            )


def _queue(
    allocations: AllocationFile, queue: Queue, values: Mapping[str, str], site: FairSite | None
) -> Iterator[Finding]:
    path = queue.path
    if allocations.is_parent(path):
        for name in ("maxAMShare", "reservation"):
            if name in queue.properties:
                message = (
                    f"{path} has children, so it cannot have {name}: the ResourceManager refuses the file (YARN-10528)"
                )
                yield _error(path, name, "fair-leaf-only", f"{message}; set it in its leaves")
    if "weight" in values:
        yield from _weight(path, read_number(values["weight"]), values)
    if "maxAMShare" in values:
        yield from _am_share(path, read_number(values["maxAMShare"]))
    if "maxRunningApps" in values:
        limit = read_integer(values["maxRunningApps"])
        if limit < 0:
            yield _error(path, "maxRunningApps", "fair-max-apps", f"{path}: maxRunningApps {limit} is negative")
        elif limit == 0:
            yield _warning(
                path, "maxRunningApps", "fair-max-apps", f"{path}: no application ever runs at maxRunningApps 0"
            )
    if "fairSharePreemptionThreshold" in values:
        threshold = read_number(values["fairSharePreemptionThreshold"])
        if not 0.0 <= threshold <= 1.0:
            message = f"{path}: fairSharePreemptionThreshold {threshold:g} counts as {min(max(threshold, 0.0), 1.0):g}"
            yield _warning(path, "fairSharePreemptionThreshold", "fair-range", message)
    yield from _resources(path, values, site)


def _weight(path: str, weight: float, values: Mapping[str, str]) -> Iterator[Finding]:
    if weight < 0:
        yield _error(path, "weight", "fair-weight", f"{path}: the weight {weight:g} is negative")
    elif weight == 0 and "minResources" not in values:
        message = f"{path}: weight 0 gives a fair share of 0, so no AM ever starts while others run (YARN-5077)"
        yield _error(path, "weight", "fair-weight", f"{message}; set a small weight, or minResources")


def _am_share(path: str, share: float) -> Iterator[Finding]:
    if share > 1.0:
        yield _warning(path, "maxAMShare", "fair-am-share", f"{path}: maxAMShare {share:g} counts as 1")
    elif share == 0.0 or (share < 0.0 and abs(share + 1.0) >= 1e-4):
        message = f"{path}: no AM ever starts at maxAMShare {share:g}; use a value above 0, or -1 for no limit"
        yield _error(path, "maxAMShare", "fair-am-share", message)


def _resources(path: str, values: Mapping[str, str], site: FairSite | None) -> Iterator[Finding]:
    specs = {name: parse_resources(values[name]) for name in _RESOURCE_PROPERTIES if name in values}
    for name, spec in specs.items():
        if name in ("minResources", "maxContainerAllocation") and spec.is_fraction:
            message = f"{path}: {name} {values[name]!r} is a percentage, which is ignored here; give an amount"
            yield _warning(path, name, "fair-percent-ignored", message)
        unknown = [n for n, _ in (*spec.amounts, *spec.fractions) if n not in (MEMORY, VCORES)]
        unknown = [n for n in unknown if site is not None and n not in site.resource_types]
        if unknown:
            message = (
                f"{path}: {name} names {', '.join(unknown)}, which yarn.resource-types does not; the file is refused"
            )
            yield _error(path, name, "fair-resource-type", message)
    low, high = specs.get("minResources"), specs.get("maxResources")
    if high is not None and 0 in (*dict(high.amounts).values(), *dict(high.fractions).values()):
        message = (
            f"{path}: maxResources {values['maxResources']!r} has 0 of a resource, so every application is refused"
        )
        yield _error(path, "maxResources", "fair-max-zero", message)
    if low is not None and high is not None and not (low.is_fraction or high.is_fraction):
        tops = dict(high.amounts)
        for name, amount in low.amounts:
            if amount > tops.get(name, UNBOUNDED):
                message = (
                    f"{path}: minResources has {amount} {name}, maxResources only {tops[name]}; the larger one counts"
                )
                yield _error(path, "minResources", "fair-min-above-max", message)


def _policies(allocations: AllocationFile, broken: set[tuple[str | None, str | None]]) -> Iterator[Finding]:
    """``SchedulingPolicy.isChildPolicyAllowed``: the ResourceManager logs an error and does not make the queue."""
    default = allocations.tree.settings.get("defaultQueueSchedulingPolicy", "fair")
    if (None, "defaultQueueSchedulingPolicy") in broken:
        return

    def policy(queue: Queue) -> str | None:
        if (queue.path, "schedulingPolicy") in broken:
            return None
        return read_policy(queue.properties.get("schedulingPolicy", default))

    for queue in allocations.tree:
        if policy(queue) == "fifo" and allocations.is_parent(queue.path):
            message = f"{queue.path} has children, so its schedulingPolicy cannot be fifo: its children would not exist"
            yield _error(queue.path, "schedulingPolicy", "fair-policy-nesting", f"{message}; use fair or drf")
        parent = allocations.tree[queue.parent] if queue.parent else None
        if parent is not None and policy(queue) == "drf" and policy(parent) == "fair":
            message = f"{queue.path} is drf under {parent.path}, which is fair: the ResourceManager does not make it"
            yield _error(queue.path, "schedulingPolicy", "fair-policy-nesting", f"{message}; set drf there too")


def _sums(
    allocations: AllocationFile, broken: set[tuple[str | None, str | None]], cluster: Resources | None
) -> Iterator[Finding]:
    """Minima that no division of the parent can give."""

    def minimum(queue: Queue) -> tuple[int, int]:
        text = queue.properties.get("minResources")
        if text is None or (queue.path, "minResources") in broken:
            return 0, 0
        spec = parse_resources(text)
        return (0, 0) if spec.is_fraction else spec.resolve(0, 0, missing=0)

    for queue in allocations.tree:
        top = _maximum(queue, broken, cluster)
        if not queue.children or top is None:
            continue
        sums = tuple(map(sum, zip(*(minimum(child) for child in allocations.tree.children(queue.path)), strict=True)))
        for amount, limit, unit in zip(sums, top, ("MiB", "vcores"), strict=True):
            if amount > limit:
                message = (
                    f"{queue.path}: its children's minResources are {amount} {unit} together, more than its {limit}"
                )
                yield _warning(queue.path, "minResources", "fair-min-sum", message)


def _maximum(
    queue: Queue, broken: set[tuple[str | None, str | None]], cluster: Resources | None
) -> tuple[int, int] | None:
    text = queue.properties.get("maxResources")
    spec: ResourceSpec | None = None
    if text is not None and (queue.path, "maxResources") not in broken:
        spec = parse_resources(text)
    if cluster is None:
        return spec.resolve(0, 0, missing=UNBOUNDED) if spec is not None and not spec.is_fraction else None
    whole = (cluster.memory_mib, cluster.vcores)
    if spec is None:
        return whole
    own = spec.resolve(*whole, missing=UNBOUNDED)
    return min(own[0], whole[0]), min(own[1], whole[1])


def _names(allocations: AllocationFile) -> Iterator[Finding]:
    tops = [element for element in allocations.document.root.children if element.tag in QUEUE_TAGS]
    roots = [element for element in tops if element.attributes.get("name", "").lower() == ROOT]
    if roots and len(tops) > 1:
        message = f"the file has <queue name='root'> and {len(tops) - 1} more beside it; put them inside root"
        yield _error(ROOT, None, "fair-root-alone", message)
    for element in roots:
        if element.attributes["name"] != ROOT:
            yield _error(
                ROOT, None, "fair-root-name", f"the root queue is called {element.attributes['name']!r}; write root"
            )
    for path, elements in allocations.queue_elements.items():
        for first, second in pairwise(elements):
            message = f"{path} stands in line {first.line} and again in line {second.line}; the later values count"
            yield _warning(path, None, "fair-repeated-queue", message)
        for element in elements:
            written = element.attributes.get("name", "")
            if written != trim_queue_name(written):
                yield _warning(
                    path, None, "fair-name-blanks", f"{path}: the blanks around the name {written!r} are cut"
                )
    short: dict[str, list[str]] = {}
    for queue in allocations.tree.leaves():
        short.setdefault(queue.name, []).append(queue.path)
    for name, paths in short.items():
        if len(paths) > 1:
            message = f"{' and '.join(paths)} end in the same name; applications have to name the full path"
            yield _warning(paths[0], None, "fair-same-leaf", f"{message}, {name!r} alone means root.{name}")


def _placement(allocations: AllocationFile) -> Iterator[Finding]:
    if allocations.placement is None:
        return
    try:
        yield from check_rules(read_policy_element(allocations.placement))
    except InputError as error:
        hint = f"; {error.hint}" if error.hint else ""
        yield _error(None, PLACEMENT_TAG, "fair-placement", f"{error.message}{hint}")


def _preemption(allocations: AllocationFile, site: FairSite) -> Iterator[Finding]:
    timeouts = [name for queue in allocations.tree for name in queue.properties if name.endswith("PreemptionTimeout")]
    timeouts += [name for name in allocations.tree.settings if name.endswith("PreemptionTimeout")]
    if site.preemption and not timeouts:
        message = "yarn.scheduler.fair.preemption is true but no time-out is set, so nothing is ever preempted"
        name = "defaultFairSharePreemptionTimeout"
        yield _warning(None, name, "fair-preemption-idle", f"{message}; set {name}")
    if not site.preemption and timeouts:
        message = f"{timeouts[0]} has no effect while yarn.scheduler.fair.preemption is false"
        yield _warning(None, timeouts[0], "fair-preemption-off", message)


REFUSED_BY_RM = frozenset(
    {"fair-value", "fair-default-policy", "fair-leaf-only", "fair-resource-type", "fair-root-alone", "fair-placement"}
)
"""The ids of errors with which the ResourceManager does not take the file; with the others it runs."""


def refusal(findings: Iterable[Finding]) -> Finding | None:
    """The first finding for which the ResourceManager would not take the file; None where it would."""
    errors = (finding for finding in findings if finding.severity is Severity.ERROR)
    return next((finding for finding in errors if finding.rule_id in REFUSED_BY_RM), None)
