"""kill -9 at each step of an apply and of a rollback, ten times each: the next command knows what is so."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import Context
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.reconcile import reconcile
from rules.lifecycle.result import Outcome
from rules.lifecycle.rollback import rollback_plan
from rules.lifecycle.states import OPEN, PlanState
from tests.rules.lifecycle.fake import BEFORE, FakeScheduler, Fault, P, faked
from tests.rules.lifecycle.killed import run

TIMES = 10
CHANGES: dict[str, str | None] = {
    f"{P}root.prod.capacity": "60",
    f"{P}root.dev.capacity": "40",
    f"{P}root.prod.maximum-capacity": "100",
}
AFTER = {**BEFORE, **CHANGES}
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.rules.lifecycle.killed"])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[FakeScheduler, Context, Path]]:
    with faked(tmp_path) as (fake, context):
        yield fake, context, tmp_path


def kill(cluster: tuple[FakeScheduler, Context, Path], plan_id: int, action: str, point: str) -> None:
    """Starts the process and waits until it has been killed."""
    fake, _, folder = cluster
    process = processes.Process(target=run, args=(fake.url, str(folder), plan_id, action, point))
    process.start()
    if point == "in-flight":
        fake.fault = Fault.LOST_AFTER
        seen = len(fake.sent("PUT"))
        deadline = time.monotonic() + 60
        while len(fake.sent("PUT")) == seen or fake.fault is not Fault.NONE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL, "it was to be killed, and ended by itself"


def state(context: Context, plan_id: int) -> PlanState:
    row = context.store.plans.get(plan_id)
    assert row is not None
    return PlanState(row.state)


APPLY = {
    # point: the state that is found, whether it was written, the state that it is settled as
    "before:CHECKING": (PlanState.PROPOSED, False, PlanState.PROPOSED),
    "after:CHECKING": (PlanState.CHECKING, False, PlanState.PROPOSED),
    "before:WRITING": (PlanState.CHECKING, False, PlanState.PROPOSED),
    "after:WRITING": (PlanState.WRITING, False, PlanState.FAILED),
    "in-flight": (PlanState.WRITING, True, PlanState.APPLIED),
    "written": (PlanState.WRITING, True, PlanState.APPLIED),
    "before:VERIFYING": (PlanState.WRITING, True, PlanState.APPLIED),
    "after:VERIFYING": (PlanState.VERIFYING, True, PlanState.APPLIED),
    "before:WATCHING": (PlanState.VERIFYING, True, PlanState.APPLIED),
    "after:WATCHING": (PlanState.WATCHING, True, PlanState.APPLIED),
    "before:APPLIED": (PlanState.WATCHING, True, PlanState.APPLIED),
    "after:APPLIED": (PlanState.APPLIED, True, PlanState.APPLIED),
}


@pytest.mark.parametrize("point", APPLY)
def test_an_apply_that_is_killed_is_settled_by_the_next_command(
    cluster: tuple[FakeScheduler, Context, Path], point: str
) -> None:
    fake, context, _ = cluster
    found, written, settled = APPLY[point]
    for _ in range(TIMES):
        fake.conf = dict(BEFORE)
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
        kill(cluster, plan_id, "apply", point)
        assert (state(context, plan_id), fake.conf == AFTER) == (found, written)

        results = reconcile(context)
        assert [result.plan_id for result in results] == ([plan_id] if found in OPEN else [])
        assert state(context, plan_id) is settled
        assert fake.conf == (AFTER if written else BEFORE), "settling without leave to mend writes nothing"
        assert reconcile(context) == ()


ROLLBACK = {
    "before:ROLLING_BACK": (PlanState.APPLIED, AFTER, PlanState.APPLIED, None),
    "after:ROLLING_BACK": (PlanState.ROLLING_BACK, AFTER, PlanState.ROLLING_BACK, Outcome.UNKNOWN),
    "in-flight": (PlanState.ROLLING_BACK, BEFORE, PlanState.ROLLED_BACK, Outcome.ROLLED_BACK),
    "written": (PlanState.ROLLING_BACK, BEFORE, PlanState.ROLLED_BACK, Outcome.ROLLED_BACK),
    "before:ROLLED_BACK": (PlanState.ROLLING_BACK, BEFORE, PlanState.ROLLED_BACK, Outcome.ROLLED_BACK),
    "after:ROLLED_BACK": (PlanState.ROLLED_BACK, BEFORE, PlanState.ROLLED_BACK, None),
}


@pytest.mark.parametrize("point", ROLLBACK)
def test_a_rollback_that_is_killed_is_reported_and_gone_on_with(
    cluster: tuple[FakeScheduler, Context, Path], point: str
) -> None:
    fake, context, _ = cluster
    found, conf, settled, outcome = ROLLBACK[point]
    for _ in range(TIMES):
        fake.conf = dict(BEFORE)
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
        assert apply_plan(context, plan_id, watch_s=0.0).done
        kill(cluster, plan_id, "rollback", point)
        assert (state(context, plan_id), fake.conf) == (found, conf)

        results = reconcile(context)
        assert [result.outcome for result in results] == ([] if outcome is None else [outcome])
        assert (state(context, plan_id), fake.conf) == (settled, conf)

        again = rollback_plan(context, plan_id)
        assert again.done, again.message
        assert (state(context, plan_id), fake.conf) == (PlanState.ROLLED_BACK, BEFORE)


def test_the_next_apply_mends_by_itself(cluster: tuple[FakeScheduler, Context, Path]) -> None:
    """Nothing of a killed process hinders the next one: not its lease, nor its lock, nor its open plan."""
    _, context, _ = cluster
    first = record_plan(context, make_plan(context, changes=dict(CHANGES)))
    kill(cluster, first, "apply", "after:WRITING")
    second = record_plan(context, make_plan(context, changes={**CHANGES, f"{P}root.dev.user-limit-factor": "2"}))
    assert apply_plan(context, second, watch_s=0.0).done
    assert (state(context, first), state(context, second)) == (PlanState.FAILED, PlanState.APPLIED)


def test_of_two_applies_at_once_one_works_and_one_says_so(cluster: tuple[FakeScheduler, Context, Path]) -> None:
    fake, context, folder = cluster
    plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
    other = record_plan(context, make_plan(context, changes={f"{P}root.dev.user-limit-factor": "2"}))
    fake.fault = Fault.LOST_AFTER
    process = processes.Process(target=run, args=(fake.url, str(folder), plan_id, "apply", "never"))
    process.start()
    deadline = time.monotonic() + 60
    while not fake.sent("PUT"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for _ in range(TIMES):
        result = apply_plan(context, other)
        assert result.outcome is Outcome.BUSY
        assert f"apply plan {plan_id}, process {process.pid} on " in result.message
        assert rollback_plan(context).outcome is Outcome.BUSY
        assert reconcile(context) == (), "it is not taken for abandoned"
    process.kill()
    process.join(60)
    assert state(context, other) is PlanState.PROPOSED
    assert len(fake.sent("PUT")) == 1


def test_the_lease_in_the_store_alone_keeps_another_machine_out(
    cluster: tuple[FakeScheduler, Context, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Another machine has another lock file and the same store."""
    _, context, _ = cluster
    plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
    elsewhere = replace(context, lock_dir=tmp_path_factory.mktemp("elsewhere"))
    write, outcomes = context.back_end.write, []

    def meanwhile(current: object, proposed: object) -> object:
        outcomes.append(apply_plan(elsewhere, plan_id).outcome)
        return write(current, proposed)  # type: ignore[arg-type]

    context.back_end.write = meanwhile  # type: ignore[method-assign, assignment]
    assert apply_plan(context, plan_id, watch_s=0.0).done
    assert outcomes == [Outcome.BUSY]
