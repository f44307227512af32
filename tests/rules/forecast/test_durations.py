"""How long what has not ended will take: like its like, never shorter than it has taken already."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.forecast.durations import DurationModel
from rules.forecast.observation import SeenContainers, SeenJob


def job(job_id: str, *containers: SeenContainers, **fields: object) -> SeenJob:
    values: dict[str, object] = {
        "queue": "root.a", "user": "ann", "submit_s": 0.0, "am_memory_mib": 512, "name": "a/ann",
    }  # fmt: skip
    return SeenJob(id=job_id, containers=containers, **(values | fields))  # type: ignore[arg-type]


def tasks(ended: tuple[float, ...] = (), running: tuple[float, ...] = (), waiting: int = 0) -> SeenContainers:
    return SeenContainers(1024, 1, ended, running, waiting)


def durations(model: DurationModel, wanted: SeenJob, *, remaining: bool = True, seed: int = 0) -> list[float]:
    shape = (model.remaining if remaining else model.whole)(wanted, np.random.default_rng(seed))
    return [duration_s for part in shape.parts for duration_s in part.durations_s]


def test_what_runs_takes_the_rest_of_its_time_and_what_waits_all_of_it() -> None:
    wanted = job("j", tasks(ended=(10.0,) * 5, running=(4.0,), waiting=2))
    model = DurationModel([wanted])
    assert durations(model, wanted) == [6.0, 10.0, 10.0]
    assert durations(model, wanted, remaining=False) == [10.0] * 8


def test_a_job_without_a_past_is_like_those_of_its_name_and_size_not_like_others() -> None:
    like = [job(f"like{i}", tasks(ended=(50.0, 50.0))) for i in range(3)]
    other = [job(f"other{i}", tasks(ended=(1.0,) * 64), name="b/bob", queue="root.b") for i in range(9)]
    wanted = job("new", tasks(waiting=2))
    assert durations(DurationModel([*other, *like, wanted]), wanted) == [50.0, 50.0]


def test_without_runs_of_its_own_the_size_decides() -> None:
    small = [job(f"s{i}", tasks(ended=(3.0,)), name="b/bob", queue="root.b") for i in range(3)]
    large = [job(f"l{i}", tasks(ended=(90.0,) * 64), name="b/bob", queue="root.b") for i in range(3)]
    model = DurationModel([*small, *large])
    assert durations(model, job("new", tasks(waiting=1))) == [3.0]
    assert set(durations(model, job("new", tasks(waiting=70)))) == {90.0}


def test_a_container_that_still_runs_stands_for_the_longer_ones() -> None:
    """Nine of ten ended after 1 s, the tenth has been running for 100 s: the mean is not about 1 s."""
    models = [job(f"m{i}", tasks(ended=(1.0,) * 9, running=(100.0,))) for i in range(3)]
    model, wanted = DurationModel(models), job("new", tasks(waiting=10))
    drawn = np.array([durations(model, wanted, seed=seed) for seed in range(50)])
    assert (drawn == 1.0).mean() == pytest.approx(0.9, abs=0.05)
    assert drawn[drawn != 1.0].min() > 100.0


def test_a_job_that_has_not_asked_yet_gets_the_shape_of_another_run() -> None:
    like = [job(f"like{i}", SeenContainers(2048, 2, (7.0,) * 3)) for i in range(3)]
    shape = DurationModel(like).remaining(job("new"), np.random.default_rng(0))
    ((part,),) = ([*shape.parts],)
    assert (part.memory_mib, part.vcores, part.durations_s) == (2048, 2, (7.0,) * 3)


def test_of_executors_the_work_counts_not_how_long_it_took_with_few_of_them() -> None:
    """Each run took 120 s of container time: 60 s with both, 110 s where the second came late."""
    past = [job(f"p{i}", tasks(ended=ended), holds=True, end_s=130.0)
            for i, ended in enumerate([(60.0, 60.0), (110.0, 10.0), (120.0,)])]  # fmt: skip
    past[2] = job("p2", tasks(ended=(120.0,), waiting=1), holds=True, end_s=130.0)
    wanted = job("now", tasks(running=(20.0, 16.0), waiting=1), holds=True)
    assert durations(DurationModel(past), wanted) == [48.0, 48.0, 48.0]
    assert durations(DurationModel(past), past[1], remaining=False) == [60.0, 60.0]


def test_with_nothing_known_there_is_still_a_guess() -> None:
    assert all(duration_s > 0 for duration_s in durations(DurationModel([]), job("new", tasks(waiting=3))))
    assert len(durations(DurationModel([]), job("bare"))) == 1


_seconds = st.floats(0.1, 1e5)
_some = st.lists(_seconds, max_size=6).map(tuple)
_containers = st.builds(SeenContainers, st.just(1024), st.just(1), _some, _some, st.integers(0, 4))


@given(st.lists(_containers, max_size=5), _containers, st.booleans(), st.integers(0, 9))
def test_every_container_that_has_not_ended_gets_a_time_beyond_what_it_took(
    past: list[SeenContainers], now: SeenContainers, holds: bool, seed: int
) -> None:
    wanted = job("now", now, holds=holds)
    model = DurationModel([*(job(f"p{i}", each, holds=holds) for i, each in enumerate(past)), wanted])
    rest = durations(model, wanted, seed=seed)
    if now.asked:
        assert len(rest) == (now.asked if holds else len(now.running_s) + now.waiting)
    assert all(duration_s > 0 for duration_s in rest)
    whole = durations(model, wanted, remaining=False, seed=seed)
    assert len(whole) == now.asked
    if holds:
        assert sum(whole) >= sum(now.ended_s) + sum(now.running_s)
    else:
        assert all(drawn > held for drawn, held in zip(whole[len(now.ended_s) :], now.running_s, strict=False))
