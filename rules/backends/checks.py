"""What no plan may do, whichever scheduler it is for. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rules.model import Finding, QueueTree, Severity

__all__ = ["error", "never_done", "present_errors_forgiven", "warning"]


def error(rule_id: str, message: str, queue: str | None = None, name: str | None = None) -> Finding:
    """A finding that stops a plan."""
    return Finding(queue, name, rule_id, Severity.ERROR, message)


def warning(rule_id: str, message: str, queue: str | None = None, name: str | None = None) -> Finding:
    """A finding that is told."""
    return Finding(queue, name, rule_id, Severity.WARNING, message)


def never_done(before: QueueTree, after: QueueTree) -> tuple[Finding, ...]:
    """Queues that would come, go or be stopped: applications would be refused, and there would be no way back."""
    found = [
        error(
            "removes-queue",
            f"{path} would be removed; remove queues by hand: stop it, let it drain, remove it and share out its "
            "capacity in a second change (YARN-9780)",
            path,
        )
        for path in before.queues
        if path not in after
    ]
    found += [
        error(
            "adds-queue",
            f"{path} would be added, and the way back would have to remove it; add queues by hand, then make a plan",
            path,
        )
        for path in after.queues
        if path not in before
    ]
    found += [
        error(
            "changes-state",
            f"the state of {queue.path} would change from {_state(before, queue.path)} to {_state(after, queue.path)}; "
            "stop and start queues by hand",
            queue.path,
        )
        for queue in after
        if queue.path in before and queue.state is not before[queue.path].state
    ]
    return tuple(found)


def _state(tree: QueueTree, path: str) -> str:
    state = tree[path].state
    return "not set" if state is None else state.value


def present_errors_forgiven(found: Iterable[Finding], present: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, but an ERROR that is there just so already is told as a WARNING: it is no reason against a plan."""
    known = set(present)
    return tuple(
        Finding(each.queue, each.property, each.rule_id, Severity.WARNING, each.message)
        if each in known and each.severity is Severity.ERROR
        else each
        for each in found
    )
