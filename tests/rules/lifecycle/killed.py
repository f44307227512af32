"""A process that applies a plan, or takes it back, and is killed at a given point of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rules.lifecycle.apply import apply_plan
from rules.lifecycle.rollback import rollback_plan
from tests.rules.lifecycle.fake import context_of, file_context_of
from tuner.settings import Settings
from tuner.store import PlanTransition, open_store


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Rows:
    """The store's plans; dies before or after the row of a state: ``after:WRITING``, ``after:WRITING:activate``."""

    def __init__(self, plans: Any, point: str) -> None:
        self._plans = plans
        self._point = point

    def transition(self, step: PlanTransition, **more: Any) -> bool:
        name = ":".join([step.to_state, *([step.detail["step"]] if "step" in step.detail else [])])
        if self._point == f"before:{name}":
            die()
        done = bool(self._plans.transition(step, **more))
        if self._point == f"after:{name}":
            die()
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plans, name)


def dying(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that is made, and not returned from."""

    def made(*arguments: Any) -> Any:
        call(*arguments)
        die()

    return made


def run(url: str, folder: str, plan_id: int, action: str, point: str, way: str = "rest") -> None:
    """The process's main function."""
    settings = replace(Settings.from_environment(), database_url=f"sqlite:///{Path(folder) / 'store.db'}")
    with open_store(settings) as store:
        store.plans = Rows(store.plans, point)  # type: ignore[assignment]
        if way == "rest":
            context = context_of(url, store, Path(folder), timeout_s=60.0)
        else:
            context = file_context_of(url, store, Path(folder))
        if point == "written":
            context.back_end.write = dying(context.back_end.write)  # type: ignore[method-assign]
        if point == "activated":
            context.back_end.activate = dying(context.back_end.activate)  # type: ignore[method-assign]
        if action == "apply":
            apply_plan(context, plan_id, watch_s=0.0)
        else:
            rollback_plan(context, plan_id)
