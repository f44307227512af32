"""The commands about plans, as a user types them, against a fake ResourceManager."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.fakes.resource_manager import Answer
from tests.rules.lifecycle.fake import BEFORE, FakeScheduler, Fault, P
from tuner.cli import cli
from tuner.errors import InputError

SET = ("--no-estimate", "--set", "root.prod.capacity=50", "--set", f"{P}root.dev.capacity=50")
_GONE = Answer("<html>gone</html>", 503, {}, "text/html")
Run = Callable[..., Result]


@pytest.fixture
def fake(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeScheduler]:
    with FakeScheduler() as found:
        monkeypatch.setenv("YARNTUNE_RM_URL", found.url)
        monkeypatch.setenv("YARNTUNE_USER", "ann")
        yield found


@pytest.fixture
def run(fake: FakeScheduler) -> Run:
    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(cli, ["scheduler", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def document(result: Result) -> Any:
    return json.loads(result.stdout)


def test_plan_says_what_it_would_do_and_exits_3(fake: FakeScheduler, run: Run) -> None:
    result = run("plan", *SET)
    assert result.exit_code == 3
    assert "  ~ root.dev\n      ~ capacity  70 -> 50\n  ~ root.prod\n      ~ capacity  30 -> 50\n" in result.stdout
    assert result.stdout.endswith("Plan: 0 to set, 2 to change, 0 to unset.\n")
    assert "yarntune scheduler apply 1" in result.stderr
    assert fake.conf == BEFORE


def test_plan_with_nothing_to_do_exits_0(run: Run) -> None:
    result = run("plan", "--no-estimate", "--set", "root.prod.capacity=30")
    assert (result.exit_code, result.stdout) == (0, "Nothing to do: the configuration is so already.\n")
    assert document(run("plan", "--no-estimate", "--set", "root.prod.capacity=30", "--json"))["changes"] == []
    assert "There is no plan" in run("history").stdout


def test_a_plan_that_cannot_be_applied_exits_1_with_the_reasons(run: Run) -> None:
    result = run("plan", "--no-estimate", "--set", "root.prod.capacity=50")
    assert result.exit_code == 1
    assert "ERROR sibling-sum: " in result.stdout
    assert "It cannot be applied" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--set", "root.prod.capacity"),
        ("plan", "--set", "=5"),
        ("plan", "--set", "root.prod.capacity="),
        ("plan", "--adopt", "--set", "root.prod.capacity=5"),
        ("plan", "--no-estimate"),
        ("apply",),
        ("apply", "1", "--wait", "-1"),
        ("rollback", "x"),
    ],
)
def test_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_plan_file_is_reviewed_and_applied(fake: FakeScheduler, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert run("plan", "-o", str(file), *SET).exit_code == 3
    assert json.loads(file.read_text())["format"] == 1
    assert run("apply", str(file)).exit_code == 2, "nobody can be asked"
    assert fake.conf == BEFORE
    result = run("apply", str(file), "--yes", "--wait", "0", "--json")
    assert (result.exit_code, document(result)["outcome"], document(result)["plan"]) == (0, "applied", 1)
    assert fake.conf[f"{P}root.prod.capacity"] == "50"
    again = run("apply", str(file), "--yes")
    assert (again.exit_code, again.stdout.split(":")[0]) == (1, "not-possible")


@pytest.mark.parametrize(("text", "words"), [("{}", "is not a plan"), ("nonsense", "is not a plan")])
def test_a_file_that_is_no_plan(run: Run, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        run("apply", str(file), "--yes")
    with pytest.raises(InputError, match="no plan 7 in the store"):
        run("apply", "7", "--yes")
    with pytest.raises(InputError, match="cannot be read"):
        run("apply", str(tmp_path / "gone.json"), "--yes")


def test_a_plan_of_another_cluster_is_refused(fake: FakeScheduler, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("plan", *SET)
    with FakeScheduler() as other:
        monkeypatch.setenv("YARNTUNE_RM_URL", other.url)
        with pytest.raises(InputError, match=r"is for the cluster 127\.0\.0\.1:"):
            run("apply", "1", "--yes")
        assert other.sent("PUT") == []


def test_a_stale_plan_says_what_differs(fake: FakeScheduler, run: Run) -> None:
    run("plan", *SET)
    fake.conf.update({f"{P}root.prod.capacity": "40", f"{P}root.dev.capacity": "60"})
    result = run("apply", "1", "--yes")
    assert result.exit_code == 1
    assert result.stdout.startswith("stale: ")
    assert f"  {P}root.prod.capacity: expected 30, is 40\n" in result.stdout


def test_history_tells_the_steps_and_drift(fake: FakeScheduler, run: Run) -> None:
    run("plan", *SET)
    run("apply", "1", "--yes", "--wait", "0")
    assert "APPLIED" in run("history").stdout
    steps = run("history", "1").stdout
    assert [line.split()[2] for line in steps.splitlines()[-6:]] == [
        "PROPOSED", "CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED",
    ]  # fmt: skip
    fake.conf[f"{P}root.dev.user-limit-factor"] = "2"
    result = run("history")
    assert f"{P}root.dev.user-limit-factor was not set and is '2'" in result.stderr
    assert document(run("history", "--json"))["drift"] is not None
    rolled = run("rollback", "--yes")
    assert (rolled.exit_code, rolled.stdout.split(":")[0]) == (0, "rolled-back")
    assert fake.conf == {**BEFORE, f"{P}root.dev.user-limit-factor": "2"}
    assert "nothing to take back" in run("rollback", "--yes").stdout


def test_history_without_the_cluster_shows_the_store(
    fake: FakeScheduler, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("plan", *SET)
    monkeypatch.setenv("YARNTUNE_RM_URL", "http://127.0.0.1:1")
    result = run("history")
    assert result.exit_code == 0
    assert "PROPOSED" in result.stdout
    assert "the cluster is not looked at" in result.stderr


def test_what_an_unknown_outcome_has_left_is_settled_by_history(fake: FakeScheduler, run: Run) -> None:
    run("plan", *SET)
    from tuner.settings import Settings
    from tuner.store import PlanTransition, open_store

    with open_store(Settings.from_environment()) as store:
        for before, after in (("PROPOSED", "CHECKING"), ("CHECKING", "WRITING")):
            assert store.plans.transition(
                PlanTransition(plan_id=1, from_state=before, to_state=after, at=1.0, who="ann")
            )
    result = run("history")
    assert "FAILED" in result.stdout
    assert "plan 1: the command was cut off, and the change was not made" in result.stderr


def test_the_freeze_switch_works_while_the_resourcemanager_is_away(
    fake: FakeScheduler, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("plan", *SET)
    fake.answers["GET", "/info"] = fake.answers["GET", "/scheduler"] = _GONE
    assert "are frozen" in run("freeze", "--reason", "month end").stdout
    assert "were frozen already, by ann: month end" in run("freeze", "--reason", "again").stdout
    fake.answers.clear()
    result = run("apply", "1", "--yes")
    assert (result.exit_code, result.stdout.split(":")[0]) == (1, "frozen")
    assert "can be changed again" in run("unfreeze").stdout
    assert document(run("unfreeze", "--json"))["changed"] is False
    assert run("apply", "1", "--yes", "--wait", "0").exit_code == 0


def test_a_refusal_is_said_in_the_resourcemanagers_words(fake: FakeScheduler, run: Run) -> None:
    run("plan", *SET)
    fake.fault = Fault.REFUSED
    result = run("apply", "1", "--yes")
    assert result.exit_code == 1
    assert "rejected: it was refused: Failed to re-init queues : Illegal capacity sum of 1.1" in result.stdout
