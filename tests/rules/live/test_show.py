"""What ``scheduler show`` and ``scheduler explain`` print, as golden text, and the JSON beside it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rules.cli.explain import as_text as explanations_text
from rules.cli.show import as_text
from rules.explain.explain import explain
from rules.live.document import cluster_document, manager_state
from rules.live.model import LiveCluster, Unreadable
from rules.model import Node
from tests.rules.live.clusters import NODE, application, capacity_cluster, fair_cluster
from tuner.errors import YarnError
from tuner.yarn.ha import Probe
from tuner.yarn.model import ClusterInfo

GOLDEN = Path(__file__).parent / "golden"
CONF = {
    "root.queues": "production,dev",
    "root.production.capacity": "75",
    "root.production.queues": "a-team-with-a-long-name,labelled",
    "root.production.a-team-with-a-long-name.capacity": "33.333",
    "root.production.labelled.capacity": "66.667",
    "root.dev.capacity": "25",
    "root.dev.maximum-am-resource-percent": "0.5",
    "root.dev.maximum-capacity": "25",
}
APPLICATIONS = (
    application(1, "root.dev", containers=1),
    application(2, "root.dev", user="a.user.with.a.long.name", containers=1),
    application(3, "root.dev", asks=1),
    application(4, "root.production.labelled", user="bob", containers=3, asks=2, label="gpu"),
)


def capacity() -> LiveCluster:
    """With a standby ResourceManager, a lost node, a labelled one, and a doubt about the configuration."""
    live = capacity_cluster(CONF, *APPLICATIONS)
    configuration = replace(
        live.require_configuration(), notes=("yarn-site is that of /etc/hadoop/conf, as the RM does not show its own",)
    )
    snapshot = replace(live.snapshot, nodes=(*live.snapshot.nodes, Node("gpu1:1", NODE, "gpu")))
    return replace(
        live,
        configuration=configuration,
        snapshot=snapshot,
        managers=(*live.managers, Probe("http://rm2:8088", YarnError("http://rm2:8088: nobody listens there"))),
        absent={"node7:1": "LOST"},
    )


def fair() -> LiveCluster:
    return fair_cluster(
        "<allocations><queue name='a'><weight>2.0</weight><maxRunningApps>1</maxRunningApps></queue>"
        "<queue name='b'/></allocations>",
        application(1, "root.a", containers=2),
        application(2, "root.a", asks=1),
    )


def check(name: str, text: str) -> None:
    """Compares with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert f"{text}\n" == path.read_text(encoding="utf-8")
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_queues_of_the_capacity_scheduler() -> None:
    check("show-capacity", as_text(capacity()))


def test_the_queues_of_the_fair_scheduler() -> None:
    check("show-fair", as_text(fair()))


def test_the_queues_where_the_configuration_cannot_be_seen() -> None:
    unreadable = Unreadable("the scheduler's configuration is in a file that is not on this machine", "set it")
    text = as_text(replace(capacity(), configuration=unreadable))
    assert "Configuration: not seen" in text
    [dev] = [line for line in text.splitlines() if line.startswith("  dev ")]
    assert dev.split()[1] == "25"  # the percentage that the ResourceManager shows stands in


def test_explanations() -> None:
    live = capacity_cluster(CONF, *APPLICATIONS)
    check("explain-capacity", explanations_text(explain(live, [each for each in live.applications if each.waiting])))


@pytest.mark.parametrize("live", [capacity(), fair()], ids=["capacity", "fair"])
def test_the_document_is_json_and_has_every_queue_and_application(live: LiveCluster) -> None:
    document = json.loads(json.dumps(cluster_document(live), allow_nan=False))
    assert [queue["path"] for queue in document["queues"]] == list(live.snapshot.use)
    assert [each["id"] for each in document["applications"]] == [each.id for each in live.applications]
    held = {each["id"]: each["held"]["memory_mib"] for each in document["applications"]}
    assert held == {each.id: each.held.memory_mib for each in live.applications}


def test_a_manager_without_high_availability_is_started_and_not_for_ever_initializing() -> None:
    info = ClusterInfo("STARTED", "INITIALIZING", "3.4.1", 0.0)
    assert manager_state(Probe("http://rm:8088", info)) == "STARTED"
    assert manager_state(Probe("http://rm:8088", replace(info, state="INITED"))) == "INITIALIZING"
    assert manager_state(Probe("http://rm:8088", replace(info, ha_state="STANDBY"))) == "STANDBY"
