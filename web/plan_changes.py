"""Applies plans and takes them back, in a thread: the watch afterwards takes longer than a page can wait.

Every step is in the store before it is made, so a server that is ended meanwhile loses nothing: the next command
settles it by reading the configuration.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from rules.lifecycle.context import Context, open_context
from rules.lifecycle.result import ApplyResult
from rules.model import PropertyChange
from tuner.errors import YarntuneError
from tuner.settings import Settings

log = logging.getLogger("yarntune.web")
Kind = Literal["apply", "rollback"]


@dataclass(frozen=True)
class PlanChange:
    """What was asked for, and what it came to.

    Attributes:
        result: None while it is under way, or where it could not even be tried.
        problem: why it could not be tried; empty otherwise.
        notes: what went on.
    """

    plan_id: int
    kind: Kind
    who: str
    started_at: float
    running: bool = True
    result: ApplyResult | None = None
    problem: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


class PlanChanges:
    """One change of a plan at a time.

    Args:
        settings: which cluster and which store.
        watch_s: for how long the cluster is watched after a plan is applied.
    """

    def __init__(self, settings: Settings, *, watch_s: float = 30.0) -> None:
        self._settings = settings
        self._watch_s = watch_s
        self._lock = threading.Lock()
        self._changes: dict[int, PlanChange] = {}
        self._thread: threading.Thread | None = None

    def start(self, plan_id: int, kind: Kind, *, who: str) -> bool:
        """Begins.

        Returns:
            False where another change is under way; nothing is begun then.
        """
        with self._lock:
            if any(each.running for each in self._changes.values()):
                return False
            self._changes[plan_id] = PlanChange(plan_id, kind, who, time.time())
            self._thread = threading.Thread(target=self._run, args=(plan_id, kind, who), name=f"{kind} {plan_id}")
            self._thread.start()
        return True

    def of(self, plan_id: int) -> PlanChange | None:
        """The last change of a plan that was begun here."""
        with self._lock:
            return self._changes.get(plan_id)

    def wait(self, timeout_s: float) -> None:
        """Waits for what is under way."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def preview_rollback(self, plan_id: int, *, who: str) -> tuple[PropertyChange, ...]:
        """What taking a plan back would change now.

        Raises:
            YarntuneError: the cluster cannot be read.
        """
        from rules.lifecycle.rollback import preview_rollback

        with open_context(self._settings) as context:
            return preview_rollback(replace(context, who=who), plan_id)

    def _run(self, plan_id: int, kind: Kind, who: str) -> None:
        def note(text: str) -> None:
            self._set(plan_id, lambda change: replace(change, notes=(*change.notes, text)))

        try:
            with open_context(self._settings, note=note) as context:
                result = self._change(replace(context, who=who), plan_id, kind)
            self._set(plan_id, lambda change: replace(change, running=False, result=result))
        except YarntuneError as error:
            message, hint = error.message, error.hint
            self._set(plan_id, lambda change: replace(change, running=False, problem=message, hint=hint))
        except Exception:
            log.exception("plan %s: %s failed", plan_id, kind)
            self._set(
                plan_id,
                lambda change: replace(
                    change, running=False, problem="a fault of yarntune", hint="the details are in the server's log"
                ),
            )

    def _change(self, context: Context, plan_id: int, kind: Kind) -> ApplyResult:
        if kind == "apply":
            from rules.lifecycle.apply import apply_plan

            return apply_plan(context, plan_id, watch_s=self._watch_s)
        from rules.lifecycle.rollback import rollback_plan

        return rollback_plan(context, plan_id)

    def _set(self, plan_id: int, change: Callable[[PlanChange], PlanChange]) -> None:
        with self._lock:
            self._changes[plan_id] = change(self._changes[plan_id])
