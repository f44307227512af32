"""Real waits on a real YARN: each limit is reached with sleeping applications, and explained."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from click.testing import CliRunner, Result

from rules.cli import scheduler
from rules.explain.explain import explain
from rules.explain.model import Explanation, Remedy
from rules.live.model import Configuration, LiveCluster, Source
from rules.live.read import read_cluster
from tuner.errors import YarntuneError
from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target, locate
from tuner.yarn.model import ApplicationSubmission, Applied, SchedulerConf
from tuner.yarn.schedulerconf import PREFIX, SchedulerConfUpdate
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec, RunningCluster

pytestmark = pytest.mark.cluster

DEADLINE_S = 60.0

# Shares of AMs far above 1 let sleeping applications, which have an AM alone, run into the limits for containers.
CAPACITY_QUEUES: Mapping[str, Mapping[str, str]] = {
    "root.ams": {"capacity": "25", "maximum-capacity": "25", "maximum-am-resource-percent": "0.25"},
    "root.users": {"capacity": "25", "maximum-am-resource-percent": "4", "user-limit-factor": "0.5"},
    "root.full": {
        "capacity": "12.5",
        "maximum-capacity": "12.5",
        "maximum-am-resource-percent": "4",
        "user-limit-factor": "-1",
    },
    "root.few": {"capacity": "12.5", "maximum-am-resource-percent": "1", "max-parallel-apps": "1"},
}
FAIR_QUEUES = """\
<allocations>
  <queue name="few"><maxRunningApps>1</maxRunningApps></queue>
  <queue name="ams"><maxAMShare>0.2</maxAMShare></queue>
  <queue name="full"><maxResources>2048 mb, 2 vcores</maxResources><maxAMShare>-1.0</maxAMShare></queue>
</allocations>
"""


class Site:
    """A cluster with the applications that a test has put on it."""

    def __init__(self, settings: Settings, target: Target) -> None:
        self.settings, self.target = settings, target
        self.rm = ResourceManagerClient(target.rm_urls, SimpleAuth("alice"), 30.0)
        self.submitted: list[str] = []

    def submit(self, queue: str, count: int) -> str:
        """Submits sleeping applications one after the other; returns the last one's id."""
        for _ in range(count):
            new = self.rm.new_application()
            self.rm.submit(ApplicationSubmission(new.id, "sleeper", "sleep 600", memory_mib=1024, queue=queue))
            self.submitted.append(new.id)
            wait_for(lambda app_id=new.id: state_of(self.rm, app_id) == "ACCEPTED")
        return self.submitted[-1]

    def read(self) -> LiveCluster:
        return read_cluster(self.rm, self.target, time.time(), environ={})

    def settled(self, running: int) -> LiveCluster:
        """The cluster once so many applications have their AM."""
        found: list[LiveCluster] = []

        def enough() -> bool:
            found[:] = [self.read()]
            return sum(each.am_started for each in found[0].applications if each.id in self.submitted) >= running

        wait_for(enough)
        return found[0]

    def explain(self, app_id: str) -> Explanation:
        live = self.read()
        application = live.application(app_id)
        assert application is not None
        [found] = explain(live, [application])
        return found

    def has_started(self, app_id: str) -> bool:
        application = self.read().application(app_id)
        return application is not None and application.am_started

    def run(self, *arguments: str) -> Result:
        """``yarntune scheduler ARGUMENTS`` on this cluster."""
        return CliRunner().invoke(scheduler, arguments, env={"YARNTUNE_RM_URL": self.target.rm_urls[0]})


def state_of(rm: ResourceManagerClient, app_id: str) -> str:
    application = rm.application(app_id)
    return "" if application is None else application.state


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the cluster did not get there in time"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def capacity(yarn_cluster: RunningCluster, cluster_settings: Settings) -> Iterator[Site]:
    """The shared cluster with queues that are at their limits; the last application of each waits."""
    site = Site(cluster_settings, locate(cluster_settings, {"HADOOP_CONF_DIR": str(yarn_cluster.hadoop_conf_dir)}))
    added = SchedulerConfUpdate(add=CAPACITY_QUEUES, update={"root.default": {"capacity": "25"}})
    assert site.rm.update_scheduler_conf(added) == Applied()
    try:
        yield site
    finally:
        for app_id in site.submitted:
            site.rm.kill(app_id, timeout_s=DEADLINE_S)
        stopped = SchedulerConfUpdate(update={path: {"state": "STOPPED"} for path in CAPACITY_QUEUES})
        assert site.rm.update_scheduler_conf(stopped) == Applied()
        removed = SchedulerConfUpdate(remove=tuple(CAPACITY_QUEUES), update={"root.default": {"capacity": "100"}})
        assert site.rm.update_scheduler_conf(removed) == Applied()
        site.rm.close()


@pytest.fixture(scope="module")
def fair(cluster_settings: Settings) -> Iterator[Site]:
    spec = ClusterSpec(name="fair-explain", scheduler="fair", queues=FAIR_QUEUES)
    running = start(spec, cluster_settings)
    try:
        yield Site(cluster_settings, locate(cluster_settings, {"HADOOP_CONF_DIR": str(running.hadoop_conf_dir)}))
    finally:
        stop(spec.name, cluster_settings, purge=True)


def test_each_limit_of_the_capacity_scheduler_is_named_and_its_remedy_works(capacity: Site) -> None:
    waiting = {
        "am-limit": capacity.submit("root.ams", 2),
        "user-limit-factor": capacity.submit("root.users", 4),
        "maximum-capacity": capacity.submit("root.full", 3),
        "parallel-applications": capacity.submit("root.few", 2),
    }
    live = capacity.settled(running=1 + 3 + 2 + 1)
    assert (live.scheduler, live.snapshot.total.memory_mib) == ("capacity", 16384)
    configuration = live.require_configuration()
    assert (configuration.source, configuration.scheduler[f"{PREFIX}root.ams.capacity"]) == (Source.STORE, "25")
    assert live.snapshot.use["root.full"].used.memory_mib == 2048
    found = {rule: capacity.explain(app_id) for rule, app_id in waiting.items()}
    assert {rule: each.rule for rule, each in found.items()} == {rule: rule for rule in waiting}
    assert {rule: changed(each) for rule, each in found.items()} == {
        "am-limit": {f"{PREFIX}root.ams.maximum-am-resource-percent": ("0.25", "0.26")},
        # 3072 MiB and 3 vcores are held, and a user may hold as much as the limit: 0.8 x 4 vcores are 3.
        "user-limit-factor": {f"{PREFIX}root.users.user-limit-factor": ("0.5", "0.8")},
        # 3072 of 16384 MiB are 18.75 %.
        "maximum-capacity": {f"{PREFIX}root.full.maximum-capacity": ("12.5", "19")},
        "parallel-applications": {f"{PREFIX}root.few.max-parallel-apps": ("1", "2")},
    }
    for rule, each in found.items():
        assert not capacity.has_started(waiting[rule])
        assert apply_remedy(capacity.rm, each) == Applied()
        wait_for(lambda app_id=waiting[rule]: capacity.has_started(app_id))


def test_the_command_line_shows_and_explains_the_cluster(capacity: Site) -> None:
    app_id = capacity.submit("root.ams", 4)
    shown = capacity.run("show")
    assert shown.exit_code == 0
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80
    assert "  ams" in shown.stdout
    as_json = json.loads(capacity.run("show", "--json").stdout)
    assert {queue["path"] for queue in as_json["queues"]} >= set(CAPACITY_QUEUES)
    explained = json.loads(capacity.run("explain", app_id, "--json").stdout)
    assert [each["rule"] for each in explained["applications"]] == ["am-limit"]
    in_queue = capacity.run("explain", "--queue", "ams")
    assert (in_queue.exit_code, app_id in in_queue.stdout) == (0, True)
    other = capacity.run("explain", "--queue", "default")
    assert other.stdout == "No application waits in default.\n"


def test_what_cannot_be_explained_is_said_with_what_to_do(capacity: Site) -> None:
    ended = capacity.submit("root.default", 1)
    capacity.rm.kill(ended, timeout_s=DEADLINE_S)
    for argument, words in (
        ("application_1_0001", "does not know application_1_0001"),
        ("spark-pi", "is not an application's id"),
        (ended, "it has ended (KILLED, KILLED)"),
    ):
        error = capacity.run("explain", argument).exception
        assert isinstance(error, YarntuneError)
        assert words in error.message
        assert error.hint


def test_each_limit_of_the_fair_scheduler_is_named(fair: Site) -> None:
    waiting = {
        "fair-max-running-apps": fair.submit("root.few", 2),
        "fair-am-share": fair.submit("root.ams", 2),
        "fair-max-share": fair.submit("root.full", 3),
    }
    live = fair.settled(running=1 + 1 + 2)
    assert isinstance(live.configuration, Configuration)
    assert (live.scheduler, live.configuration.allocations) == ("fair", FAIR_QUEUES)
    time.sleep(1.0)  # the fair shares of the last ones to come are computed every half second
    found = {rule: fair.explain(app_id) for rule, app_id in waiting.items()}
    assert {rule: each.rule for rule, each in found.items()} == {rule: rule for rule in waiting}
    # A third of 16384 MiB, less the 2048 of `full` divided among the others: 7168 each, of which two AMs are 28.6 %.
    assert {rule: changed(each) for rule, each in found.items()} == {
        "fair-max-running-apps": {"root.few.maxRunningApps": ("1", "2")},
        "fair-am-share": {"root.ams.maxAMShare": ("0.2", "0.29")},
        "fair-max-share": {"root.full.maxResources": ("2048 mb, 2 vcores", "3072 mb,3 vcores")},
    }
    shown = fair.run("show")
    assert max(len(line) for line in shown.stdout.splitlines() if "/" not in line) <= 80  # a path is not broken
    assert "Fair Scheduler" in shown.stdout


def changed(found: Explanation) -> dict[str, tuple[str | None, str | None]]:
    assert isinstance(found.remedy, Remedy), found
    return {change.property: (change.before, change.after) for change in found.remedy.changes}


def apply_remedy(rm: ResourceManagerClient, found: Explanation) -> object:
    assert found.remedy is not None
    conf = rm.scheduler_conf()
    assert isinstance(conf, SchedulerConf)
    changes = {change.property: change.after for change in found.remedy.changes}
    return rm.update_scheduler_conf(SchedulerConfUpdate.from_properties(changes, CAPACITY_QUEUES))
