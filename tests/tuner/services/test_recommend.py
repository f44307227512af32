"""`yarntune recommend`, as a user calls it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from tests.tuner.submit.test_decision import ADVICE, LARGE, SMALL
from tuner.cli import cli
from tuner.settings import Settings
from tuner.store import NewJob, open_store


@pytest.fixture(autouse=True)
def known(yarntune_home: object) -> None:
    with open_store(Settings.from_environment()) as store:
        store.jobs.get_or_create(NewJob(key="key", name="daily", program="daily.py"), now=0.0)
        store.jobs.get_or_create(NewJob(key="other", name="new", program="new.py"), now=0.0)
        store.advice.put("key", ADVICE.to_json(), now=0.0)


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["recommend", *arguments])


def test_an_idle_and_a_busy_cluster_get_different_answers() -> None:
    idle, busy = (json.loads(called("daily", "--load", load, "--json").stdout) for load in ("0", "0.8"))
    assert idle["conf"] == LARGE.conf
    assert busy["conf"] == SMALL.conf
    assert busy["load"]["available_memory_mib"] == 6553
    assert [each["executors_now"] for each in busy["candidates"]] == [1, 2]


def test_what_people_read() -> None:
    text = called("daily", "--load", "0.8").stdout
    assert "daily (job 1), 6.4 GiB and 6 vcores free; from 8 runs" in text
    assert "  --conf spark.executor.memory=1638m" in text
    assert [line.split()[0] for line in text.splitlines() if line.strip().startswith("*")] == ["*"]
    assert "waits" in called("daily", "--load", "1").stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("new", "--load", "0"), 1, "nothing is known about new yet"),
        (("dayly", "--load", "0"), 1, "there is no job 'dayly'"),
        (("daily", "--load", "2"), 2, "neither `now` nor a number"),
        (("daily", "--load", "nan"), 2, "neither `now` nor a number"),
    ],
)
def test_what_cannot_be_answered(arguments: tuple[str, ...], status: int, said: str) -> None:
    result = called(*arguments)
    message = result.output if status == 2 else str(getattr(result.exception, "message", result.exception))
    assert said in message


def test_a_job_whose_advice_ended_says_why() -> None:
    with open_store(Settings.from_environment()) as store:
        store.advice.put("key", {**ADVICE.to_json(), "candidates": [], "warning": "it failed twice"}, now=1.0)
    text = called("daily", "--load", "0").stdout
    assert "it failed twice" in text
    assert "Nothing is advised" in text
