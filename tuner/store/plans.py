"""Plans in the store, and every step that they took."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from tuner.store.connection import Database
from tuner.store.records import NewPlan, Plan, PlanTransition
from tuner.store.rows import from_row, to_values
from tuner.store.schema import plan, plan_transition


class PlanRepository:
    """Reads and writes plans. What states there are, and which may follow which, is the caller's business."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, new: NewPlan) -> Plan:
        """Writes a plan and its first transition."""
        with self._database.write() as connection:
            values = to_values(new) | {"updated_at": new.created_at}
            made = from_row(Plan, connection.execute(sa.insert(plan).values(**values).returning(plan)).one())
            first = PlanTransition(
                plan_id=made.id, from_state=None, to_state=new.state, at=new.created_at, who=new.created_by
            )
            _write_transition(connection, first)
        return made

    def transition(self, step: PlanTransition, *, undo: Mapping[str, Any] | None = None) -> bool:
        """Takes a plan from one state to the next, before that step is made in the world.

        Args:
            step: the step; nothing is written unless the plan is in its ``from_state``.
            undo: what takes the plan back, where that is known now.

        Returns:
            False where the plan is in another state, or is not there: somebody else was quicker.
        """
        values: dict[str, Any] = {"state": step.to_state, "updated_at": step.at}
        if undo is not None:
            values["undo"] = undo
        with self._database.write() as connection:
            expected = sa.and_(plan.c.id == step.plan_id, plan.c.state == step.from_state)
            if connection.execute(sa.update(plan).where(expected).values(**values)).rowcount == 0:
                return False
            _write_transition(connection, step)
        return True

    def get(self, plan_id: int) -> Plan | None:
        """The plan with this id."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(plan).where(plan.c.id == plan_id)).one_or_none()
        return None if row is None else from_row(Plan, row)

    def list(
        self,
        *,
        scheduler: str | None = None,
        states: Collection[str] = (),
        limit: int = 100,
        before_id: int | None = None,
    ) -> builtins.list[Plan]:
        """Plans, newest first; in any state where ``states`` is empty, below ``before_id`` for a next page."""
        query = sa.select(plan).order_by(plan.c.id.desc()).limit(limit)
        if scheduler is not None:
            query = query.where(plan.c.scheduler == scheduler)
        if states:
            query = query.where(plan.c.state.in_([*states]))
        if before_id is not None:
            query = query.where(plan.c.id < before_id)
        with self._database.read() as connection:
            return [from_row(Plan, row) for row in connection.execute(query)]

    def latest(self, scheduler: str, states: Collection[str]) -> Plan | None:
        """The plan of a cluster that came into one of some states last; None where there is none."""
        query = (
            sa.select(plan)
            .where(plan.c.scheduler == scheduler, plan.c.state.in_([*states]))
            .order_by(plan.c.updated_at.desc(), plan.c.id.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else from_row(Plan, row)

    def made_at(self, scheduler: str, created_at: float) -> builtins.list[Plan]:
        """The plans of a cluster that were made at just that time."""
        query = (
            sa.select(plan).where(plan.c.scheduler == scheduler, plan.c.created_at == created_at).order_by(plan.c.id)
        )
        with self._database.read() as connection:
            return [from_row(Plan, row) for row in connection.execute(query)]

    def transitions(self, plan_id: int) -> builtins.list[PlanTransition]:
        """Every step of a plan, oldest first."""
        query = sa.select(plan_transition).where(plan_transition.c.plan_id == plan_id).order_by(plan_transition.c.id)
        with self._database.read() as connection:
            return [from_row(PlanTransition, row) for row in connection.execute(query)]

    def steps_after(self, step_id: int, *, limit: int = 100) -> builtins.list[PlanTransition]:
        """The steps of all plans that came after one, oldest first."""
        query = (
            sa.select(plan_transition).where(plan_transition.c.id > step_id).order_by(plan_transition.c.id).limit(limit)
        )
        with self._database.read() as connection:
            return [from_row(PlanTransition, row) for row in connection.execute(query)]

    def last_step_id(self) -> int:
        """The number of the newest step; 0 before the first."""
        with self._database.read() as connection:
            return connection.execute(sa.select(sa.func.max(plan_transition.c.id))).scalar_one() or 0


def _write_transition(connection: sa.Connection, step: PlanTransition) -> None:
    values = {name: value for name, value in to_values(step).items() if name != "id"}
    connection.execute(sa.insert(plan_transition).values(**values))
