"""kill -9 where the configuration is a file: between the file and the refresh lie steps of their own."""

from __future__ import annotations

import multiprocessing
import signal
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
from rules.lifecycle.states import PlanState
from tests.rules.lifecycle.fake import BEFORE, FakeScheduler, P, faked, file_context_of, file_of
from tests.rules.lifecycle.killed import run

TIMES = 10
CHANGES: dict[str, str | None] = {f"{P}root.prod.capacity": "50", f"{P}root.dev.capacity": "50"}
AFTER = {**BEFORE, **CHANGES}
OLD, NEW = file_of(BEFORE), file_of({**BEFORE, f"{P}root.prod.capacity": "50", f"{P}root.dev.capacity": "50"})
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.rules.lifecycle.killed"])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[FakeScheduler, Context, Path]]:
    with faked(tmp_path) as (fake, rest):
        fake.queues_file = tmp_path / "capacity-scheduler.xml"
        context = file_context_of(fake.url, rest.store, tmp_path)
        with context.rm:
            yield fake, replace(context, sleep=rest.sleep, settle_s=1.0), fake.queues_file


def kill(fake: FakeScheduler, file: Path, plan_id: int, action: str, point: str) -> None:
    process = processes.Process(target=run, args=(fake.url, str(file.parent), plan_id, action, point, "file"))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL, "it was to be killed, and ended by itself"


def state(context: Context, plan_id: int) -> PlanState:
    row = context.store.plans.get(plan_id)
    assert row is not None
    return PlanState(row.state)


APPLY = {
    # point: the file, whether it is in force, the state after settling, and what is told of it
    "after:CHECKING": (OLD, False, PlanState.PROPOSED, Outcome.NOTHING_TO_DO),
    "after:WRITING": (OLD, False, PlanState.FAILED, Outcome.FAILED),
    "written": (NEW, False, PlanState.WRITING, Outcome.UNKNOWN),
    "before:WRITING:activate": (NEW, False, PlanState.WRITING, Outcome.UNKNOWN),
    "after:WRITING:activate": (NEW, False, PlanState.WRITING, Outcome.UNKNOWN),
    "activated": (NEW, True, PlanState.WRITING, Outcome.UNKNOWN),
    "after:VERIFYING": (NEW, True, PlanState.APPLIED, Outcome.APPLIED),
    "after:WATCHING": (NEW, True, PlanState.APPLIED, Outcome.APPLIED),
}


@pytest.mark.parametrize("point", APPLY)
def test_an_apply_to_a_file_that_is_killed_is_told_and_put_back(
    cluster: tuple[FakeScheduler, Context, Path], point: str
) -> None:
    fake, context, file = cluster
    data, in_force, settled, outcome = APPLY[point]
    file.write_bytes(OLD)
    for _ in range(TIMES):
        fake.conf = dict(BEFORE)
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
        kill(fake, file, plan_id, "apply", point)
        assert (file.read_bytes(), fake.conf == AFTER) == (data, in_force)

        assert [result.outcome for result in reconcile(context)] == [outcome]
        assert (state(context, plan_id), file.read_bytes()) == (settled, data), "looking writes nothing"

        if data == NEW:
            back = rollback_plan(context, plan_id)
            assert back.done, back.message
            assert state(context, plan_id) is PlanState.ROLLED_BACK
        assert (file.read_bytes(), fake.conf) == (OLD, BEFORE)


ROLLBACK = {
    "after:ROLLING_BACK": (NEW, True),
    "written": (OLD, True),
    "after:ROLLING_BACK:activate": (OLD, True),
    "activated": (OLD, False),
    "before:ROLLED_BACK": (OLD, False),
}


@pytest.mark.parametrize("point", ROLLBACK)
def test_a_rollback_of_a_file_that_is_killed_is_gone_on_with(
    cluster: tuple[FakeScheduler, Context, Path], point: str
) -> None:
    fake, context, file = cluster
    data, still_in_force = ROLLBACK[point]
    file.write_bytes(OLD)
    for _ in range(TIMES):
        fake.conf = dict(BEFORE)
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
        assert apply_plan(context, plan_id, watch_s=0.0).done
        kill(fake, file, plan_id, "rollback", point)
        assert (file.read_bytes(), fake.conf == AFTER) == (data, still_in_force)

        (told,) = reconcile(context)
        assert (told.outcome, state(context, plan_id)) == (Outcome.UNKNOWN, PlanState.ROLLING_BACK)
        assert rollback_plan(context).plan_id == plan_id, "no older plan is taken back on top of it"
        assert (state(context, plan_id), file.read_bytes(), fake.conf) == (PlanState.ROLLED_BACK, OLD, BEFORE)
