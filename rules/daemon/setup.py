"""From settings, a policy and options to what a run needs; shared by ``run-once`` and the daemon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rules.daemon.run import RunOptions
from rules.forecast.decision import ForecastPlan
from rules.forecast.search import optimizer_search
from rules.lifecycle.context import Context, open_context
from rules.live.read import read_cluster
from rules.policy import NO_LIMITS, Mode, Policy, load_policy
from tuner.settings import Settings
from tuner.yarn.locate import locate

__all__ = ["Wanted", "open_run", "read_policy"]


@dataclass(frozen=True)
class Wanted:
    """The options of a command.

    Attributes:
        policy: file of the policy; None for no limits and recommendations only.
        mode: in place of the policy's.
        seed: of all that is drawn.
        watch_s: how long the cluster is watched after a change.
        search_s: the most that the search takes.
    """

    policy: Path | None = None
    mode: Mode | None = None
    seed: int = 0
    watch_s: float = 30.0
    search_s: float = 60.0


def read_policy(wanted: Wanted) -> Policy:
    """The policy in force.

    Raises:
        InputError: the file cannot be read or is not a policy.
    """
    policy = NO_LIMITS if wanted.policy is None else load_policy(wanted.policy)
    return policy if wanted.mode is None else msgspec.structs.replace(policy, mode=wanted.mode)


@contextmanager
def open_run(
    settings: Settings, wanted: Wanted, *, note: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[Context, RunOptions]]:
    """Connects to the cluster and the store, and reads the policy anew.

    Raises:
        YarntuneError: one of them is not there.
    """
    policy = read_policy(wanted)
    with open_context(settings, note=note) as context:
        target = locate(settings)
        forecast = ForecastPlan(
            seed=wanted.seed, span_s=policy.horizon_s, objective=policy.objective,
            guarded=policy.most_queue_loss_percent is not None,
        )  # fmt: skip
        search = optimizer_search(forecast, clock=time.perf_counter, decision_limit_s=wanted.search_s)
        yield (
            context,
            RunOptions(policy, forecast, search, lambda now_s: read_cluster(context.rm, target, now_s), wanted.watch_s),
        )
