"""What an advice holds for a busy cluster besides what the search has run."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from tests.tuner.search.simulated import LIMITS, MEMORY, space
from tests.tuner.search.test_prior import PROFILE
from tuner.model.advice import Advice, Basis, choose
from tuner.model.load import Load
from tuner.search.objective import Observation, TrialState, best_of, summarise
from tuner.search.prior import TimePrior
from tuner.services.advise import advice_from_tuning

SPACE = space()
DEFAULT = SPACE.render(SPACE.point_of({}))
LARGE = {
    **DEFAULT,
    "spark.executor.instances": "4",
    "spark.executor.cores": "2",
    "spark.executor.memory": "2662m",
    "spark.executor.memoryOverhead": "410m",
}
PRIOR = TimePrior(PROFILE, MEMORY)


def ran(configuration: dict[str, str], run_s: float, reserved_gib: float) -> Observation:
    return Observation(configuration, TrialState.SUCCEEDED, run_s, 0.0, reserved_gib * run_s)


RUNS = [ran(LARGE, 40.0, 13.0)]


def advice(runs: list[Observation] = RUNS, prior: TimePrior | None = PRIOR) -> Advice:
    found = advice_from_tuning(
        "k", runs, best_of(summarise(runs), 0.05), MEMORY, lambda conf: conf, default=DEFAULT, slack=0.05,
        basis=Basis(), prior=prior, now=0.0,
    )  # fmt: skip
    assert found is not None
    return found


def free(*nodes_mib: int) -> Load:
    return Load(sum(nodes_mib), 16384, 16, 16, 0, 0, 0, nodes=tuple((each, 8) for each in nodes_mib))


@pytest.mark.parametrize("prior", [PRIOR, None])
def test_a_search_that_found_one_configuration_leaves_a_choice_by_load(prior: TimePrior | None) -> None:
    found = advice(prior=prior)
    first, *others = found.candidates
    assert (first.executors, first.runs) == (4, 1)
    assert others
    assert all((each.runs, each.executor_mib, each.conf["spark.executor.cores"]) == (0, 3072, "2") for each in others)
    idle, busy = choose(found, free(8192, 8192)), choose(found, free(2048, 4096))
    assert idle is not None
    assert busy is not None
    assert idle.candidate is first
    assert busy.executors == busy.candidate.executors == 1, "it asks for what is there at once"


def test_who_asks_for_more_than_there_is_waits_for_it() -> None:
    """spark.scheduler.minRegisteredResourcesRatio, for maxRegisteredResourcesWaitingTime at most."""
    first, *others = advice().candidates
    one = next(each for each in others if each.executors == 1)
    assert first.run_with(1) == pytest.approx(one.run_with(1) + 30.0)
    assert first.run_with(4) == 40.0
    patient = replace(MEMORY, base={"spark.scheduler.maxRegisteredResourcesWaitingTime": "5s"})
    found = advice_from_tuning(
        "k", RUNS, best_of(summarise(RUNS), 0.05), patient, lambda conf: conf, default=DEFAULT, slack=0.05,
        basis=Basis(), prior=PRIOR, now=0.0,
    )  # fmt: skip
    assert found is not None
    assert found.candidates[0].run_with(1) == pytest.approx(one.run_with(1) + 5.0)


def test_sizes_are_those_that_have_run() -> None:
    small = {**DEFAULT, "spark.executor.memory": "640m", "spark.executor.memoryOverhead": "384m"}
    found = advice([*RUNS, ran(small, 90.0, 3.0)])
    sizes = {(each.executor_mib, each.executor_vcores) for each in found.candidates}
    assert sizes <= {(3072, 2), (1024, 1)}
    for each in found.candidates:
        held = each.am_mib + each.executors * each.executor_mib
        assert held <= 13 * 1024, "no more than a known one reserves"
    tight = choose(found, free(1024, 2048))
    assert tight is not None
    assert (tight.executors, tight.candidate.executor_mib) == (2, 1024), "where only the small ones fit"


def test_what_fits_anywhere_needs_no_other_candidates() -> None:
    single = {**DEFAULT, "spark.executor.instances": "1", "spark.executor.memory": "640m"}
    found = advice([ran(single, 40.0, 2.0)])
    assert [each.runs for each in found.candidates] == [1]


def test_it_survives_the_store() -> None:
    found = advice()
    assert asdict(Advice.from_json(found.to_json())) == asdict(replace(found, candidates=tuple(found.candidates)))
    assert found.limits == asdict(LIMITS)
