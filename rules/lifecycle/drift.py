"""Whether the configuration is still the one that we left in force."""

from __future__ import annotations

from dataclasses import dataclass

from rules.lifecycle.context import Context
from rules.lifecycle.journal import load_plan, undo_of
from rules.lifecycle.states import SETTLED, PlanState
from rules.model import PropertyChange
from rules.plan import Configuration, differences

__all__ = ["Drift", "find_drift", "last_settled"]


@dataclass(frozen=True)
class Drift:
    """The configuration is not the one that a plan left in force.

    Attributes:
        plan_id: of that plan.
        at: when it was settled, seconds since 1970-01-01 UTC.
        differences: ``before`` is what we left, ``after`` what is there; empty where a file differs in other things
            than its values.
    """

    plan_id: int
    at: float
    differences: tuple[PropertyChange, ...]

    def sentence(self) -> str:
        """It in words."""
        if not self.differences:
            return f"the file was changed by somebody else since plan {self.plan_id}, though its values are the same"
        first = self.differences[0]
        more = f" and {len(self.differences) - 1} more" if len(self.differences) > 1 else ""
        return (
            f"somebody else has changed the configuration since plan {self.plan_id}: {first.property} was "
            f"{_shown(first.before)} and is {_shown(first.after)}{more}"
        )


def last_settled(context: Context) -> tuple[int, float, Configuration] | None:
    """The configuration that we left in force last: id of the plan, time, and the configuration; None before."""
    latest = context.store.plans.latest(context.cluster.id, [state.value for state in SETTLED])
    if latest is None:
        return None
    row, plan = load_plan(context, latest.id)
    left = undo_of(row, plan) if latest.state == PlanState.ROLLED_BACK.value else plan.proposed
    return latest.id, latest.updated_at, left


def find_drift(context: Context, current: Configuration | None = None) -> Drift | None:
    """Compares the configuration with the one that we left in force; None where it is that one, or there is none.

    Args:
        context: the cluster and the store.
        current: the configuration; read now where it is not given.

    Raises:
        YarntuneError: it cannot be read.
    """
    last = last_settled(context)
    if last is None:
        return None
    plan_id, at, left = last
    now = context.back_end.read() if current is None else current
    # A cluster whose back end has changed has no bytes to compare, or has new ones.
    comparable = (left.data is None) == (now.data is None)
    if comparable and now.fingerprint == left.fingerprint:
        return None
    found = differences(left.properties, now.properties)
    return Drift(plan_id, at, found) if found or comparable else None


def _shown(value: str | None) -> str:
    return "not set" if value is None else repr(value)
