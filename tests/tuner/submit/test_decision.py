"""What a command line becomes, for one advice and one load."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.model.advice import Advice, Candidate, choose
from tuner.model.load import Load
from tuner.spark.argv import parse
from tuner.spark.conf import resolve
from tuner.submit.decision import Decision, Subject, decide, subject_of, tagged
from tuner.submit.order import Mode, SubmitOrder, order_from, read_pins

LARGE = Candidate(
    conf={
        "spark.executor.memory": "3686m",
        "spark.executor.memoryOverhead": "410m",
        "spark.executor.cores": "2",
        "spark.executor.instances": "4",
        "spark.dynamicAllocation.enabled": "false",
    },
    am_mib=1024,
    executor_mib=4096,
    executor_vcores=2,
    executors=4,
    run_s={4: 60.0},
    runs=3,
    reason="best",
)
SMALL = replace(
    LARGE,
    conf={**LARGE.conf, "spark.executor.memory": "1638m", "spark.executor.cores": "1"},
    executor_mib=2048,
    executor_vcores=1,
    run_s={4: 75.0, 2: 120.0},
)
LIMITS = {
    "max_container_memory_mib": 8192,
    "min_allocation_mib": 1024,
    "increment_mib": 1024,
    "max_container_vcores": 4,
    "total_memory_mib": 32768,
    "total_vcores": 32,
    "nodes": 4,
}
ADVICE = Advice("key", 0.0, 0.05, (LARGE, SMALL), "from 8 runs", LIMITS)
IDLE = Load(32768, 32768, 32, 32, 0, 0, 0)
BUSY = Load(6144, 32768, 8, 32, 12, 5, 1)


def subject(*tokens: str, pins: tuple[str, ...] = (), job: str | None = None) -> tuple[Subject, SubmitOrder]:
    line = ("--master", "yarn", *tokens, "job.py", "--day", "2026-01-31")
    order = SubmitOrder(line, job=job, pins=read_pins(pins))
    arguments = parse(line)
    found = subject_of(order, arguments, resolve(arguments, {}))
    assert found is not None
    return found, order


def decided(*tokens: str, load: Load | None = IDLE, mode: Mode = Mode.APPLY, pins: tuple[str, ...] = ()) -> Decision:
    found, order = subject(*tokens, pins=pins)
    return decide(found, replace(order, mode=mode), ADVICE, load)


def test_the_best_is_applied_where_the_user_set_nothing() -> None:
    decision = decided()
    assert decision.applied == LARGE.conf
    assert decision.arguments.application_args == ("--day", "2026-01-31")
    assert "spark.executor.cores: default -> 2" in "\n".join(decision.lines)


def test_the_same_job_gets_another_configuration_under_load() -> None:
    assert decided(load=IDLE).applied["spark.executor.memory"] == "3686m"
    busy = decided(load=BUSY)
    assert busy.applied["spark.executor.memory"] == "1638m"
    assert "5.0 GiB free" not in busy.lines[0]
    assert "6.0 GiB free" in busy.lines[0]
    assert "81% of the cluster's memory in use" in busy.lines[0]


def test_what_has_never_run_is_taken_only_where_the_best_does_not_fit() -> None:
    expected = replace(SMALL, runs=0, run_s={4: 6.0, 2: 12.0}, reason="expected")
    advice = replace(ADVICE, candidates=(LARGE, expected))
    found, order = subject()
    assert decide(found, order, advice, IDLE).applied == LARGE.conf
    assert decide(found, order, advice, None).applied == LARGE.conf
    busy = decide(found, order, advice, BUSY)
    assert busy.applied == expected.conf
    assert "(expected)" in busy.lines[0]


def test_an_executor_has_to_fit_on_one_node() -> None:
    in_pieces = replace(IDLE, available_memory_mib=12288, nodes=((3072, 8),) * 4)
    assert LARGE.executors_within(replace(in_pieces, nodes=None)) == 2
    assert LARGE.executors_within(in_pieces) == 0
    assert SMALL.executors_within(in_pieces) == 4, "the AM fits beside one of them"
    tight = replace(in_pieces, nodes=((2048, 8),) * 4)
    assert SMALL.executors_within(tight) == 3, "the AM takes the room of one"
    assert SMALL.executors_within(replace(tight, nodes=((2048, 0), (512, 8)))) == 0, "no node has room for the AM"


def test_what_the_user_set_is_never_touched() -> None:
    """A flag beats --conf, so that adding --conf would be a lie as well."""
    decision = decided("--executor-cores", "3", "--conf", "spark.executor.memory=5g")
    rendered = " ".join(decision.arguments.render())
    assert "--executor-cores 3" in rendered
    assert "spark.executor.memory=5g" in rendered
    assert {"spark.executor.cores", "spark.executor.memory", "spark.executor.memoryOverhead"}.isdisjoint(
        decision.applied
    )
    assert decision.applied["spark.executor.instances"] == "4"
    assert any("spark.executor.cores: yours, 3, stays" in line for line in decision.lines)


def test_an_old_name_of_the_users_counts_as_the_new_one() -> None:
    decision = decided("--conf", "spark.yarn.executor.memoryOverhead=777")
    assert {"spark.executor.memory", "spark.executor.memoryOverhead"}.isdisjoint(decision.applied)


def test_executors_and_dynamic_allocation_go_together() -> None:
    decision = decided("--conf", "spark.dynamicAllocation.enabled=true",
                       "--conf", "spark.dynamicAllocation.shuffleTracking.enabled=true")  # fmt: skip
    assert {"spark.executor.instances", "spark.dynamicAllocation.enabled"}.isdisjoint(decision.applied)
    assert decision.applied["spark.executor.memory"] == "3686m"


def test_a_pin_is_set_and_left_alone() -> None:
    decision = decided(pins=("spark.executor.cores=1", "spark.executor.instances"))
    assert decision.applied["spark.executor.cores"] == "1"
    assert "spark.executor.instances" not in decision.applied


def test_an_explicit_setting_is_stronger_than_a_pin() -> None:
    decision = decided("--executor-cores", "3", pins=("spark.executor.cores=1",))
    assert " ".join(decision.arguments.render()).count("cores") == 1
    assert "spark.executor.cores" not in decision.applied


def test_recommend_says_and_does_not_set() -> None:
    decision = decided(mode=Mode.RECOMMEND)
    assert decision.applied == {}
    assert decision.arguments.render() == subject()[0].arguments.render()
    assert "would set 5 properties" in decision.lines[0]


def test_explore_takes_what_is_there_to_learn_from() -> None:
    found, order = subject()
    explore = replace(SMALL, reason="to learn from")
    advice = replace(ADVICE, explore=explore, since_explored=9)
    assert decide(found, replace(order, mode=Mode.EXPLORE), advice, IDLE).applied == explore.conf
    assert decide(found, order, advice, IDLE).applied == LARGE.conf


def test_what_yarn_would_refuse_together_with_the_users_own_is_not_submitted() -> None:
    decision = decided("--executor-memory", "7g", "--conf", "spark.executor.memoryOverhead=2g")
    assert decision.applied == {}
    assert "unchanged, since the container needs 9216 MiB" in decision.lines[0]


NO_WAY = ("--conf", "spark.dynamicAllocation.enabled=true")
UNTRACKED = (*NO_WAY, "--conf", "spark.dynamicAllocation.shuffleTracking.enabled=false")


@pytest.mark.parametrize(
    ("conf", "version", "starts"),
    [
        (NO_WAY, (3, 3), False),
        (NO_WAY, (3, 4), True),
        (UNTRACKED, (4, 3), False),
        ((*UNTRACKED, "--conf", "spark.shuffle.service.enabled=true"), (4, 3), True),
        ((*NO_WAY, "--conf", "spark.dynamicAllocation.shuffleTracking.enabled=true"), (3, 3), True),
        ((*UNTRACKED, "--conf", "spark.decommission.enabled=true",
          "--conf", "spark.storage.decommission.shuffleBlocks.enabled=true"), (4, 3), True),
        ((*UNTRACKED, "--conf", "spark.shuffle.sort.io.plugin.class=org.example.Reliable"), (4, 3), True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("advice", [ADVICE, None])
def test_dynamic_allocation_with_which_spark_does_not_start_is_said(
    conf: tuple[str, ...], version: tuple[int, int], starts: bool, advice: Advice | None
) -> None:
    """G1-08: four ways are valid, and shuffle tracking is the default from 3.4 on."""
    found, order = subject(*conf)
    decision = decide(found, order, advice, IDLE, version)
    assert not {"spark.dynamicAllocation.enabled", "spark.executor.instances"} & decision.applied.keys()
    said = [line for line in decision.lines if "Spark will not start with this" in line]
    assert said == [] if starts else len(said) == 1
    assert all("dynamic allocation would lose shuffle files" in line for line in said)


def test_bytes_that_are_no_text_are_shown_and_handed_on() -> None:
    """Latin-1 under any locale: a name that cannot be stored as it is."""
    name, line = os.fsdecode(b"j\xf6b.py"), ("--master", "yarn", os.fsdecode(b"j\xf6b.py"), os.fsdecode(b"Gr\xf6\xdfe"))
    arguments = parse(line)
    found = subject_of(SubmitOrder(line, job=name), arguments, resolve(arguments, {}))
    assert found is not None
    assert (found.name, found.program, found.masked_arguments) == ("j\\xf6b.py", "j\\xf6b.py", ("Gr\\xf6\\xdfe",))
    assert decide(found, SubmitOrder(line), None, None).arguments.render() == line
    json.dumps([found.key, found.name, *found.masked_arguments]).encode("ascii")
    assert found.key != subject(job="job.py")[0].key


def test_nothing_known_changes_nothing() -> None:
    found, order = subject()
    assert decide(found, order, None, None).arguments == found.arguments
    given_up = replace(ADVICE, candidates=(), warning="runs with what was advised have failed")
    decision = decide(found, order, given_up, IDLE)
    assert decision.arguments == found.arguments
    assert "have failed" in decision.lines[0]


@pytest.mark.parametrize(
    "line",
    [
        ("--version",),
        ("--master", "local[2]", "job.py"),
        ("--status", "application_1_1"),
        ("--class", "org.apache.spark.repl.Main", "spark-shell"),
        ("--master", "k8s://x", "job.py"),
    ],
)
def test_what_is_no_batch_job_on_yarn_is_left_alone(line: tuple[str, ...]) -> None:
    arguments = parse(line)
    assert subject_of(SubmitOrder(line), arguments, resolve(arguments, {})) is None


def test_a_job_is_known_by_its_shape_or_by_its_name() -> None:
    first, _ = subject()
    line = ("--master", "yarn", "other/job.py", "--day", "2026-02-28")
    arguments = parse(line)
    again = subject_of(SubmitOrder(line), arguments, resolve(arguments, {}))
    assert again is not None
    assert again.key == first.key
    named = subject(job="daily")[0]
    assert named.key != first.key
    assert subject("--queue", "etl", job="daily")[0].key == named.key


def test_the_tag_comes_beside_the_users_own() -> None:
    found, _ = subject("--conf", "spark.yarn.tags=mine")
    line = tagged(found.arguments, found.conf, "yarntune-1").render()
    assert "spark.yarn.tags=mine,yarntune-1" in line
    assert sum("spark.yarn.tags" in token for token in line) == 1


def test_the_advice_survives_the_store() -> None:
    advice = replace(ADVICE, explore=SMALL, warning="old")
    assert Advice.from_json(advice.to_json()) == replace(advice, candidates=(LARGE, SMALL))


@given(st.integers(0, 40000), st.integers(0, 40))
def test_the_choice_is_never_slower_than_the_slack_allows(memory_mib: int, vcores: int) -> None:
    load = Load(memory_mib, 32768, vcores, 32, 0, 0, 0)
    choice = choose(ADVICE, load)
    assert choice is not None
    rooms = [candidate.executors_within(load) for candidate in ADVICE.candidates]
    fastest = min(c.run_with(n) for c, n in zip(ADVICE.candidates, rooms, strict=True))
    if choice.executors:
        assert choice.executors <= choice.candidate.executors_within(load)
        assert choice.candidate.run_with(choice.executors) <= 1.05 * fastest + 1e-9
    else:
        assert rooms == [0, 0]


def test_the_wrappers_own_option_is_taken_out_before_the_application_only() -> None:
    tokens = ("--master", "yarn", "--yarntune-job", "daily", "app.py", "--yarntune-job", "x")
    order = order_from(tokens, {})
    assert order.job == "daily"
    assert order.tokens == ("--master", "yarn", "app.py", "--yarntune-job", "x")
    assert order_from(("--yarntune-job=a b", "app.py"), {}).job == "a b"
    assert order_from(("--name", "--yarntune-job", "app.py"), {}).job is None, "it is the value of --name"


def test_the_environment_speaks_for_a_drop_in() -> None:
    environ = {"YARNTUNE_MODE": "Recommend", "YARNTUNE_JOB": "daily", "YARNTUNE_PIN": "spark.a=1 'spark.b=x y' spark.c"}
    order = order_from(("app.py",), environ)
    assert (order.mode, order.job) == (Mode.RECOMMEND, "daily")
    assert order.pins == {"spark.a": "1", "spark.b": "x y", "spark.c": None}
