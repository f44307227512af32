"""Whatever the search proposes keeps the policy, adds up, and is a configuration that the dialect accepts."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.dialects.capacity import parse
from rules.dialects.capacity_values import parse_capacity
from rules.dialects.fair import parse_allocations
from rules.model import CapacityMode
from rules.optimizer.knobs import SHARE, Candidate
from rules.optimizer.moves import neighbour
from rules.optimizer.optimize import make_space
from rules.optimizer.space import Space
from rules.policy import NO_LIMITS, Bounds, Policy, QueuePolicy
from tests.rules.optimizer.cases import ALLOCATIONS, PREFIX, case_of

KINDS = ("percent", "nested", "weights", "absolute", "fair")
CAREFUL = Policy(
    queues={
        "*": QueuePolicy(
            bounds={
                "capacity": Bounds(largest_step=7),
                "weight": Bounds(largest_step=7),
                "maximum-am-resource-percent": Bounds(most=0.4),
                "maxAMShare": Bounds(most=0.6, largest_step=0.1),
            }
        ),
        "root.a.*": QueuePolicy(locked=("ordering-policy", "user-limit-factor")),
        "root.c": QueuePolicy(locked=True),
        "root.b.z": QueuePolicy(bounds={"capacity": Bounds(least=12, most=15)}),
        "root.b.w": QueuePolicy(locked=("schedulingPolicy", "maxResources")),
    }
)


@cache
def space_of(kind: str, careful: bool) -> Space:
    return make_space(case_of(kind), CAREFUL if careful else NO_LIMITS)


def draw_candidate(space: Space, seed: int) -> Candidate | None:
    rng = np.random.default_rng(seed)
    seen = [space.present]
    for _ in range(1 + seed % 8):
        candidate = space.normal(neighbour(space, seen[-1], rng, 1.0, seen))
        if candidate is None:
            return None
        seen.append(candidate)
    return seen[-1]


ANY = given(kind=st.sampled_from(KINDS), careful=st.booleans(), seed=st.integers(0, 10**6))


@settings(deadline=None, max_examples=150)
@ANY
def test_a_candidate_is_accepted_by_the_dialect(kind: str, careful: bool, seed: int) -> None:
    space = space_of(kind, careful)
    candidate = draw_candidate(space, seed)
    if candidate is not None:
        assert space.findings(candidate) == ()


@settings(deadline=None, max_examples=150)
@ANY
def test_siblings_add_up(kind: str, careful: bool, seed: int) -> None:
    space = space_of(kind, careful)
    candidate = draw_candidate(space, seed)
    if candidate is None or kind == "fair":
        return
    conf = {name: str(value) for name, value in space.case(candidate, case_of(kind)).conf.items()}
    before, after = parse({k: str(v) for k, v in case_of(kind).conf.items()}), parse(conf)
    for queue in after:
        children = after.children(queue.path)
        if not children:
            continue
        mode = children[0].capacity.mode
        texts = [conf[f"{PREFIX}{child.path}.capacity"] for child in children]
        if mode is CapacityMode.PERCENT:
            assert sum(Decimal(text) for text in texts) == 100
        elif mode is CapacityMode.WEIGHT:
            whole = sum(child.capacity.value for child in before.children(queue.path))
            assert sum(parse_capacity(text).value for text in texts) == pytest.approx(whole, abs=1e-3)
        else:
            parent = queue.capacity.resources if queue.path != "root" else None
            total = [sum(amount) for amount in zip(*[_amounts(text) for text in texts], strict=True)]
            if parent is not None:
                assert total[0] <= parent.memory_mib
                assert total[1] <= parent.vcores
                assert total[0] > parent.memory_mib - len(texts)


def _amounts(text: str) -> tuple[float, ...]:
    return tuple(share.value for share in parse_capacity(text).shares)


@settings(deadline=None, max_examples=150)
@ANY
def test_locks_are_untouched_and_bounds_and_steps_are_kept(kind: str, careful: bool, seed: int) -> None:
    space = space_of(kind, True)
    candidate = draw_candidate(space, seed)
    if candidate is None:
        return
    changes, _ = space.outcome(candidate)
    for change in changes:
        name = change.property.removeprefix(PREFIX)
        path = max((path for path in space.tree.queues if name.startswith(f"{path}.")), key=len)
        policy, suffix = CAREFUL.queue(path), name.removeprefix(f"{path}.")
        # Absolute resources and weights of a locked queue stay; so does a queue whose parent alone changes.
        assert not policy.is_locked(suffix), change
        assert suffix in (*policy.bounds, "capacity", "weight") or suffix not in ("queues", "state")
    parts, present = space.parts(candidate), space.parts(space.present)
    name = "weight" if kind == "fair" else "capacity"
    for path, part in parts.items():
        least, most = CAREFUL.queue(path).bounds_of(name).narrowed(present[path])
        if any(knob.path == path and knob.name == SHARE for knob in space.knobs):
            assert least - 1e-6 <= part <= most + 1e-6
        else:
            assert part == present[path]
    for knob, value in zip(space.knobs, candidate, strict=True):
        if isinstance(value, str) or isinstance(knob.present, str) or knob.name == SHARE:
            continue
        least, most = CAREFUL.queue(knob.path).bounds_of(knob.name).narrowed(knob.present)
        assert least - 1e-9 <= value <= most + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_present_configuration_is_a_candidate_that_changes_nothing(kind: str) -> None:
    space = space_of(kind, False)
    assert space.normal(space.present) == space.present
    assert space.outcome(space.present) == ((), None)
    assert space.case(space.present, case_of(kind)) == case_of(kind)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_the_fair_file_keeps_all_but_the_values_and_means_what_was_simulated(seed: int) -> None:
    space = space_of("fair", False)
    candidate = draw_candidate(space, seed)
    if candidate is None or candidate == space.present:
        return
    _, text = space.outcome(candidate)
    assert text is not None
    assert text.startswith('<?xml version="1.0"?>\n<!-- kept -->')
    assert '<user name="ann"><maxRunningApps>5</maxRunningApps></user>' in text
    written = parse_allocations(text)
    simulated = parse_allocations(space.case(candidate, case_of("fair")).allocations)
    for path in parse_allocations(ALLOCATIONS).tree.queues:
        assert dict(written.tree[path].properties) == dict(simulated.tree[path].properties)
    assert dict(written.user_max_apps) == dict(simulated.user_max_apps)


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_is_left_with_a_core_and_a_container(kind: str) -> None:
    """Below a core a guarantee is cut to none, and the queue is preempted on an idle cluster (YARN-11073)."""
    space = space_of(kind, False)
    greedy = [knob.present if knob.name != SHARE else 1.0 for knob in space.knobs]
    for group in space.groups:
        greedy[group.knobs[0]] = 1000.0
    candidate = space.normal(greedy)
    assert candidate is not None
    shares = space.shares(candidate)
    present = space.shares(space.present)
    for path in space.leaves:
        assert 24 * shares[path] >= min(1.0, 24 * present[path]) - 1e-6, path


def test_capacities_that_are_written_in_several_ways_are_left_alone_and_said_to_be() -> None:
    from tests.rules.optimizer.cases import capacities, contended

    case = contended(capacities(a="1w", b="50", c="50"), ["root.a"], jobs=2)
    space = make_space(case, NO_LIMITS)
    assert not space.groups
    assert any("not written in one way" in words for words in space.notes)


def test_stopped_queues_and_those_that_make_queues_are_left_alone() -> None:
    from tests.rules.optimizer.cases import CONFIGURATIONS, contended

    more = {f"{PREFIX}root.a.state": "STOPPED", f"{PREFIX}root.b.auto-create-child-queue.enabled": "true"}
    space = make_space(contended({**CONFIGURATIONS["percent"], **more}, ["root.c"], jobs=2), NO_LIMITS)
    assert {knob.path for knob in space.knobs} == {"root.c"}
