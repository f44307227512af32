"""Applying a plan: checked, written once, read back, watched; taken back where it is not well."""

from __future__ import annotations

from dataclasses import asdict

from rules.lifecycle.context import Context
from rules.lifecycle.journal import Journal, LostPlanError, load_plan, write_audit
from rules.lifecycle.lock import hold_cluster
from rules.lifecycle.position import Place, foreign_changes, place_of
from rules.lifecycle.readback import ReadBack, read_back
from rules.lifecycle.reconcile import reconcile_held
from rules.lifecycle.result import ApplyResult, Outcome
from rules.lifecycle.states import PlanState
from rules.lifecycle.takeback import take_back
from rules.lifecycle.watch import Health, look, watch
from rules.model import PropertyChange, Severity
from rules.plan import Configuration, Plan, differences
from tuner.errors import YarntuneError
from tuner.yarn.model import Applied, Rejected, Unknown

__all__ = ["DEFAULT_WATCH_S", "apply_plan"]

DEFAULT_WATCH_S = 30.0


def apply_plan(context: Context, plan_id: int, *, watch_s: float = DEFAULT_WATCH_S) -> ApplyResult:
    """Applies a plan of the store.

    Args:
        context: the cluster and the store.
        plan_id: of the plan; it is PROPOSED, or nothing is done.
        watch_s: for how many seconds the cluster is watched afterwards.

    Returns:
        What it came to. Whatever it is, the store says it too.

    Raises:
        YarntuneError: there is no such plan, or the cluster or the store cannot be reached before anything is written.
    """
    load_plan(context, plan_id)
    with hold_cluster(context, f"apply plan {plan_id}") as busy:
        if busy is not None:
            return ApplyResult(Outcome.BUSY, busy, plan_id)
        reconcile_held(context, mend=True)
        frozen = frozen_result(context, plan_id)
        if frozen is not None:
            return frozen
        row, plan = load_plan(context, plan_id)
        state = PlanState(row.state)
        if state is not PlanState.PROPOSED:
            return ApplyResult(
                Outcome.NOT_POSSIBLE,
                f"plan {plan_id} is {state.value}, and only a plan that is PROPOSED can be applied; make another one "
                "with `yarntune scheduler plan`",
                plan_id,
                state,
            )
        journal = Journal(context, plan_id, state)
        try:
            result = _Application(context, journal, plan, watch_s).run()
        except LostPlanError as lost:
            result = ApplyResult(Outcome.BUSY, lost.message, plan_id)
    write_audit(context, "apply-plan", result)
    return result


def frozen_result(context: Context, plan_id: int | None) -> ApplyResult | None:
    """The result where the freeze switch is on; None where it is off."""
    switch = context.store.clusters.frozen(context.cluster.id)
    if switch is None:
        return None
    return ApplyResult(
        Outcome.FROZEN,
        f"the queues of {context.cluster.id} were frozen by {switch.who} ({switch.reason}); nothing was done; "
        "`yarntune scheduler unfreeze` lifts it",
        plan_id,
    )


class _Application:
    """One plan on its way through the states; each method is one of them and ends in a result or goes on."""

    def __init__(self, context: Context, journal: Journal, plan: Plan, watch_s: float) -> None:
        self._context = context
        self._journal = journal
        self._plan = plan
        self._watch_s = watch_s

    def run(self) -> ApplyResult:
        self._journal.enter(PlanState.CHECKING)
        try:
            current, before = self._context.back_end.read(), look(self._context)
            refusal = self._refusal(current)
        except YarntuneError:
            # Nothing is written yet, so it can simply be tried again.
            self._journal.enter(PlanState.PROPOSED, {"reason": "the cluster could not be read"})
            raise
        return refusal or self._write(current, before)

    # ------------------------------------------------------------------ CHECKING

    def _refusal(self, current: Configuration) -> ApplyResult | None:
        plan, context = self._plan, self._context
        if context.clock() >= plan.expires_at:
            return self._end(
                PlanState.EXPIRED, Outcome.EXPIRED, "the plan is too old: the load it was made for is past"
            )
        if context.back_end.kind is not plan.back_end:
            message = f"the queues are changed by {context.back_end.kind} now, and the plan is for {plan.back_end}"
            return self._end(PlanState.STALE, Outcome.STALE, message)
        if current.fingerprint != plan.base.fingerprint:
            return self._stale(current)
        context.note("checking here and at the ResourceManager")
        findings = (*plan.findings, *context.back_end.check(current, plan.proposed))
        errors = [finding.message for finding in findings if finding.severity is Severity.ERROR]
        if errors:
            message = f"a check refuses it: {'; '.join(dict.fromkeys(errors))}"
            return self._end(PlanState.REJECTED, Outcome.REJECTED, message)
        return self._frozen()

    def _stale(self, current: Configuration) -> ApplyResult:
        found = differences(self._plan.base.properties, current.properties)
        if place_of(current, self._plan.base, self._plan.proposed) is Place.PROPOSED:
            message = "the configuration is the proposed one already"
        elif found:
            first = found[0]
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            message = (
                "the configuration is not the one that the plan was made against: "
                f"{first.property} was {_shown(first.before)} and is {_shown(first.after)}{more}; make another plan"
            )
        else:
            message = "the file is not the one that the plan was made against, though its values are; make another plan"
        return self._end(PlanState.STALE, Outcome.STALE, message, found)

    def _frozen(self) -> ApplyResult | None:
        """The freeze switch may have been turned on between our first look and now."""
        result = frozen_result(self._context, self._journal.plan_id)
        if result is not None:
            self._journal.enter(PlanState.PROPOSED, {"reason": result.message})
        return result

    # ------------------------------------------------------------------- WRITING

    def _write(self, current: Configuration, before: Health) -> ApplyResult:
        context, plan = self._context, self._plan
        self._journal.enter(
            PlanState.WRITING, {"version": current.version, "fingerprint": current.fingerprint}, undo=current
        )
        context.note("writing")
        try:
            answer = context.back_end.write(current, plan.proposed)
        except YarntuneError as error:
            message = f"there was no connection, so nothing was written: {error.message}"
            return self._end(PlanState.FAILED, Outcome.FAILED, message)
        if isinstance(answer, Rejected):
            return self._end(PlanState.REJECTED, Outcome.REJECTED, f"it was refused: {answer.reason}")
        if context.back_end.needs_activation:
            self._journal.enter(PlanState.WRITING, {"step": "activate"})
            answer = context.back_end.activate()
            if isinstance(answer, Rejected):
                return self._take_back(
                    current,
                    f"the ResourceManager refused it: {answer.reason}",
                    end=PlanState.REJECTED,
                    outcome=Outcome.REJECTED,
                )
        return self._verify(current, before, answer)

    # ----------------------------------------------------------------- VERIFYING

    def _verify(self, current: Configuration, before: Health, answer: Applied | Unknown) -> ApplyResult:
        lost = answer.why if isinstance(answer, Unknown) else None
        self._journal.enter(PlanState.VERIFYING, {"answer": lost or "applied"})
        if lost is not None:
            self._context.note(f"the answer was lost ({lost}); reading instead of writing again")
        found = read_back(
            self._context, current, self._plan.proposed, Place.PROPOSED, wait_for_a_change=lost is not None
        )
        if found.place is None or found.stored is None:
            return self._unknown(f"the configuration could not be read after the write: {found.trouble}")
        if found.place is Place.BASE:
            return self._without_effect(before, lost)
        if found.place is Place.ELSEWHERE:
            return self._diverged(found.stored)
        if found.place is Place.BETWEEN:
            return self._take_back(current, "only a part of the change was made", end=PlanState.FAILED)
        if found.unseen:
            first = found.unseen[0]
            reason = (
                f"the ResourceManager does not go by it: {first.property} should be {_shown(first.before)} and is "
                f"{_shown(first.after)}"
            )
            return self._take_back(current, reason, end=PlanState.FAILED)
        return self._watch(current, before, found)

    def _without_effect(self, before: Health, lost: str | None) -> ApplyResult:
        if self._restarted(before):
            message = (
                "the ResourceManager was started anew meanwhile and has the configuration of before: its store keeps "
                "nothing over a restart (yarn.scheduler.configuration.store.class is memory, or was formatted)"
            )
        elif lost is not None:
            message = f"the answer was lost ({lost}), and the change was not made"
        else:
            message = "the ResourceManager said that it had applied the change, and changed nothing"
        return self._end(PlanState.FAILED, Outcome.FAILED, f"{message}; the configuration of before is in force")

    def _restarted(self, before: Health) -> bool:
        try:
            return self._context.rm.info().started_at_s != before.started_at_s
        except YarntuneError:
            return False

    # ------------------------------------------------------------------ WATCHING

    def _watch(self, current: Configuration, before: Health, found: ReadBack) -> ApplyResult:
        assert found.stored is not None, "a configuration that was read"
        foreign = foreign_changes(found.stored, current, self._plan.proposed)
        self._journal.enter(
            PlanState.WATCHING,
            {
                "version": found.stored.version,
                "watch_s": self._watch_s,
                "waiting_before": before.waiting,
                "changed_by_others": [change.property for change in foreign],
            },
        )
        self._context.note(f"in force; watching for {self._watch_s:g} s")
        watched = watch(self._context, before, self._watch_s)
        if watched.worse is not None:
            return self._take_back(current, f"it got worse: {watched.worse}")
        if watched.unreachable is not None:
            return self._unknown(f"the ResourceManager does not answer any more: {watched.unreachable}")
        return self._confirm(current, before, watched.restarted, foreign)

    def _confirm(
        self, current: Configuration, before: Health, restarted: bool, foreign: tuple[PropertyChange, ...]
    ) -> ApplyResult:
        """Whether it is still there after the watch."""
        found = read_back(self._context, current, self._plan.proposed, Place.PROPOSED, wait_for_a_change=False)
        if found.place is None or found.stored is None:
            return self._unknown(f"the configuration could not be read after the watch: {found.trouble}")
        if found.place is Place.BASE:
            return self._without_effect(before, None) if restarted else self._diverged(found.stored)
        if found.place is not Place.PROPOSED:
            return self._diverged(found.stored)
        message = f"plan {self._journal.plan_id} is in force{_beside(current, found.stored, foreign)}"
        return self._end(PlanState.APPLIED, Outcome.APPLIED, message, foreign)

    # ---------------------------------------------------------------------- ends

    def _take_back(
        self,
        current: Configuration,
        reason: str,
        *,
        end: PlanState = PlanState.ROLLED_BACK,
        outcome: Outcome | None = None,
    ) -> ApplyResult:
        default = Outcome.ROLLED_BACK if end is PlanState.ROLLED_BACK else Outcome.FAILED
        return take_back(
            self._context,
            self._journal,
            self._plan,
            current,
            reason=reason,
            end=end,
            outcome=outcome or default,
        )

    def _diverged(self, stored: Configuration) -> ApplyResult:
        found = differences(self._plan.proposed.properties, stored.properties)
        message = (
            "somebody else has changed the same meanwhile, and theirs is left alone; look at what is in force with "
            "`yarntune scheduler show`, then make another plan"
        )
        return self._end(PlanState.DIVERGED, Outcome.DIVERGED, message, found)

    def _unknown(self, message: str) -> ApplyResult:
        """The plan stays as it is; whatever command comes next reads the configuration and settles it."""
        return ApplyResult(
            Outcome.UNKNOWN,
            f"{message}; it was not written again. The next `yarntune scheduler` command that reaches the "
            "ResourceManager settles it",
            self._journal.plan_id,
            self._journal.state,
        )

    def _end(
        self, state: PlanState, outcome: Outcome, message: str, found: tuple[PropertyChange, ...] = ()
    ) -> ApplyResult:
        self._journal.enter(state, {"message": message, "differences": [asdict(change) for change in found]})
        return ApplyResult(outcome, message, self._journal.plan_id, state, found)


def _beside(before: Configuration, now: Configuration, foreign: tuple[PropertyChange, ...]) -> str:
    """What somebody else has done meanwhile, as far as it can be seen."""
    if foreign:
        return f"; somebody else has changed {len(foreign)} other properties meanwhile"
    if before.version is not None and now.version is not None and now.version > before.version + 1:
        # YARN has no compare-and-swap: a change of the same properties just before ours leaves no other trace.
        return (
            f"; somebody else has written meanwhile too (version {before.version} to {now.version}): if it was the "
            "same properties, theirs was overwritten"
        )
    return ""


def _shown(value: str | None) -> str:
    return "not set" if value is None else repr(value)
