"""Against a real YARN."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnStatusError
from tuner.yarn.locate import locate
from tuner.yarn.model import ApplicationSubmission, Applied, Rejected, Resource, SchedulerConf, Valid
from tuner.yarn.schedulerconf import PREFIX, SchedulerConfUpdate
from workloads.cluster.spec import RunningCluster

pytestmark = pytest.mark.cluster

DEADLINE_S = 60.0


@pytest.fixture
def rm(yarn_cluster: RunningCluster) -> Iterator[ResourceManagerClient]:
    with ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth("alice"), timeout_s=30.0) as client:
        yield client


@pytest.fixture
def two_queues(rm: ResourceManagerClient) -> Iterator[None]:
    """A queue ``etl`` beside ``default``, 40 to 60, for the length of a test."""
    added = SchedulerConfUpdate(
        add={"root.etl": {"capacity": "40"}}, update={"root.default": {"capacity": "60", "maximum-capacity": "100"}}
    )
    before = configuration(rm)
    assert rm.update_scheduler_conf(added) == Applied()
    yield
    stopped = SchedulerConfUpdate(update={"root.etl": {"state": "STOPPED"}})
    assert rm.update_scheduler_conf(stopped) == Applied()
    wait_for(lambda: state_of(rm, "root.etl") == "STOPPED")
    default = {"capacity": "100", "maximum-capacity": before.get(f"{PREFIX}root.default.maximum-capacity")}
    removed = SchedulerConfUpdate(remove=("root.etl",), update={"root.default": default})
    assert rm.update_scheduler_conf(removed) == Applied()
    assert configuration(rm) == before


def configuration(rm: ResourceManagerClient) -> dict[str, str]:
    conf = rm.scheduler_conf()
    assert isinstance(conf, SchedulerConf)
    return dict(conf.properties)


def state_of(rm: ResourceManagerClient, path: str) -> str | None:
    queue = rm.scheduler().queue(path)
    return None if queue is None else queue.state


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the cluster did not get there in time"
        time.sleep(0.2)


def test_the_cluster_is_found_by_its_record(yarn_cluster: RunningCluster, cluster_settings: Settings) -> None:
    target = locate(cluster_settings, {})
    assert target.rm_urls == (yarn_cluster.rm_url,)
    assert target == locate(cluster_settings, {"HADOOP_CONF_DIR": str(yarn_cluster.hadoop_conf_dir)})
    assert target.event_log_dir == yarn_cluster.event_log_dir
    with ResourceManagerClient.of(target, cluster_settings) as client:
        assert client.info().state == "STARTED"


def test_everything_can_be_read(rm: ResourceManagerClient, yarn_cluster: RunningCluster) -> None:
    spec = yarn_cluster.spec
    assert rm.metrics().total == Resource(spec.nodes * spec.node_memory_mib, spec.nodes * spec.node_vcores)
    running = [node for node in rm.nodes() if node.state == "RUNNING"]
    assert [node.total for node in running] == [Resource(spec.node_memory_mib, spec.node_vcores)] * spec.nodes
    scheduler = rm.scheduler()
    assert (scheduler.kind, scheduler.root.path) == ("capacity", "root")
    default = scheduler.queue("default")
    assert default is not None
    assert default.path == "root.default"
    conf = rm.configuration()
    assert rm.maximum_allocation("root.default") == Resource(
        min(int(conf["yarn.scheduler.maximum-allocation-mb"]), spec.node_memory_mib),
        min(int(conf["yarn.scheduler.maximum-allocation-vcores"]), spec.node_vcores),
    )


@pytest.mark.usefixtures("two_queues")
def test_a_queues_capacity_is_changed_over_rest_and_read_back(rm: ResourceManagerClient) -> None:
    version = rm.scheduler_conf_version()
    update = SchedulerConfUpdate(update={"root.etl": {"capacity": "30"}, "root.default": {"capacity": "70"}})
    valid = rm.validate(update)
    assert isinstance(valid, Valid)
    assert valid.conf is not None
    assert update.missing_from(valid.conf) == {}
    assert configuration(rm)[f"{PREFIX}root.etl.capacity"] == "40"

    assert rm.update_scheduler_conf(update) == Applied()
    assert update.missing_from(SchedulerConf(configuration(rm))) == {}
    assert isinstance(version, int)
    assert rm.scheduler_conf_version() == version + 1
    etl = rm.scheduler().queue("root.etl")
    assert etl is not None
    assert etl.capacity is not None
    assert etl.capacity.capacity_percent == pytest.approx(30.0, abs=0.001)
    assert etl.guaranteed is not None
    assert etl.guaranteed.memory_mib == pytest.approx(0.3 * rm.metrics().total.memory_mib, abs=1)


@pytest.mark.usefixtures("two_queues")
def test_a_property_is_taken_out(rm: ResourceManagerClient) -> None:
    name = f"{PREFIX}root.etl.user-limit-factor"
    assert rm.update_scheduler_conf(SchedulerConfUpdate(update={"root.etl": {"user-limit-factor": "2"}})) == Applied()
    assert configuration(rm)[name] == "2"
    out = SchedulerConfUpdate(update={"root.etl": {"user-limit-factor": None}})
    assert rm.update_scheduler_conf(out) == Applied()
    assert out.missing_from(SchedulerConf(configuration(rm))) == {}


@pytest.mark.usefixtures("two_queues")
def test_a_change_that_does_not_add_up_is_rejected_and_leaves_no_trace(rm: ResourceManagerClient) -> None:
    before, version = configuration(rm), rm.scheduler_conf_version()
    update = SchedulerConfUpdate(update={"root.etl": {"capacity": "75"}})
    for outcome in (rm.validate(update), rm.update_scheduler_conf(update)):
        assert isinstance(outcome, Rejected)
        assert "Illegal capacity" in outcome.reason
    assert (configuration(rm), rm.scheduler_conf_version()) == (before, version)


@pytest.mark.usefixtures("two_queues")
def test_a_200_for_a_queue_that_does_not_exist_is_seen_through(rm: ResourceManagerClient) -> None:
    update = SchedulerConfUpdate(update={"root.nope": {"capacity": "10"}})
    assert rm.update_scheduler_conf(update) == Applied()
    assert rm.scheduler().queue("root.nope") is None
    clean = SchedulerConfUpdate(update={"root.nope": {"capacity": None}})
    assert rm.update_scheduler_conf(clean) == Applied()


def submit(rm: ResourceManagerClient, queue: str) -> str:
    new = rm.new_application()
    rm.submit(
        ApplicationSubmission(
            new.id, "sleeper", "sleep 600", memory_mib=512, queue=queue, type="TEST", tags=("one", "two")
        )
    )
    return new.id


def test_an_application_is_submitted_found_and_killed(rm: ResourceManagerClient) -> None:
    before = time.time() - 60.0
    app_id = submit(rm, "default")

    def holds_memory() -> bool:
        application = rm.application(app_id)
        return application is not None and bool(application.allocated_mib)

    wait_for(holds_memory)
    found = rm.applications(
        queue="root.default", user="alice", types=["TEST"], tags=["two"], started_since_s=before, limit=50
    )
    assert [each.id for each in found if each.id == app_id] == [app_id]
    assert found[0].tags == ("one", "two")
    wait_for(lambda: rm.metrics().containers_allocated >= 1)
    assert app_id not in [each.id for each in rm.applications(user="somebody-else")]

    ended = rm.kill(app_id, timeout_s=60.0)
    assert (ended.state, ended.final_status, ended.allocated) == ("KILLED", "KILLED", None)
    assert rm.kill(app_id, timeout_s=60.0).state == "KILLED"
    assert app_id in [each.id for each in rm.applications(states=["KILLED"], started_since_s=before)]


def test_what_is_not_there_cannot_be_killed(rm: ResourceManagerClient) -> None:
    assert rm.application("application_1_0001") is None
    with pytest.raises(YarnStatusError, match="application_1_0001 not found"):
        rm.kill("application_1_0001", timeout_s=5.0)


def test_an_unknown_queue_fails_the_application_with_a_reason(rm: ResourceManagerClient) -> None:
    app_id = submit(rm, "no-such-queue")

    def ended() -> bool:
        application = rm.application(app_id)
        return application is not None and application.ended

    wait_for(ended)
    application = rm.application(app_id)
    assert application is not None
    assert application.state == "FAILED"
    assert "no-such-queue" in application.diagnostics
