"""Real daemons are started, looked at, killed and ended."""

from __future__ import annotations

import pytest

from tuner.settings import Settings
from workloads.cluster.lifecycle import start
from workloads.cluster.spec import RunningCluster
from workloads.cluster.status import status

pytestmark = pytest.mark.cluster


def test_starting_a_cluster_that_is_up_returns_the_same_one(
    yarn_cluster: RunningCluster, cluster_settings: Settings
) -> None:
    assert start(yarn_cluster.spec, cluster_settings) == yarn_cluster
    shown = status("shared", cluster_settings)
    assert (shown.state, shown.active_nodes, shown.problems) == ("up", 2, ())
