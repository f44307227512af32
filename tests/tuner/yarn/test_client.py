"""What the client makes of faults that a real ResourceManager cannot be brought to show on demand."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.resource_manager import Answer, FakeResourceManager
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import (
    YarnConnectionError,
    YarnError,
    YarnInterruptedError,
    YarnProtocolError,
    YarnStandbyError,
    YarnStatusError,
    YarnTimeoutError,
)
from tuner.yarn.model import (
    Applied,
    NotMutable,
    Rejected,
    Resource,
    SchedulerConf,
    Unknown,
    Unsupported,
    Valid,
)
from tuner.yarn.schedulerconf import SchedulerConfUpdate

APP = "application_1796058150240_0009"
UPDATE = SchedulerConfUpdate(update={"root.prod": {"capacity": "70"}, "root.default": {"capacity": "30"}})


def body(name: str) -> str:
    return (Path(__file__).parent / "bodies" / f"hadoop-3.5.0-{name}.json").read_text(encoding="utf-8")


def info(ha_state: str) -> Answer:
    document = json.loads(body("info"))
    document["clusterInfo"]["haState"] = ha_state
    return Answer(json.dumps(document))


def refusal(status: int, exception: str, message: str) -> Answer:
    return Answer(json.dumps({"RemoteException": {"exception": exception, "message": message}}), status)


@pytest.fixture
def fake() -> Iterator[FakeResourceManager]:
    with FakeResourceManager() as server:
        yield server


@pytest.fixture
def client(fake: FakeResourceManager) -> Iterator[ResourceManagerClient]:
    with ResourceManagerClient(fake.url, SimpleAuth("alice"), timeout_s=0.5) as rm:
        yield rm


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


# ------------------------------------------------------------------------ reads


def test_every_request_says_who_asks_and_passes_the_csrf_filter(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["GET", "/metrics"] = Answer(body("metrics"))
    assert client.metrics().total == Resource(8192, 8)
    (request,) = fake.requests
    assert request.query == {"user.name": "alice"}
    assert "X-XSRF-Header" in request.headers
    assert request.headers["Accept"] == "application/json"
    # RestCsrfPreventionFilter takes these for a browser's.
    assert not request.headers["User-Agent"].startswith(("Mozilla", "Opera"))


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (Answer(silent=True), YarnTimeoutError, "no answer within 0.5 s"),
        (Answer("{", broken=True), YarnInterruptedError, "failed"),
        (Answer("not json at all"), YarnProtocolError, "plain text where JSON was expected: 'not json at all'"),
        (Answer("<html>log in", content_type="text/html"), YarnProtocolError, "a web page"),
        (Answer('{"apps": {}}'), YarnProtocolError, "no object 'clusterMetrics'; it has apps"),
        (Answer('{"clusterMetrics": {"availableMB": []}}'), YarnProtocolError, "'availableMB' is '\\[\\]'"),
        (Answer("", 302, {"Location": "https://u:pw@sso/login?token=x"}), YarnProtocolError, "to https://sso/login,"),
        (refusal(401, "AccessControlException", "Authentication required"), YarnStatusError, "Authentication required"),
        (refusal(403, "ForbiddenException", "Only admins can carry"), YarnStatusError, "403.*Only admins can carry"),
        (Answer("<html>Error 500", 500), YarnStatusError, "500.*web page"),
    ],
)
def test_a_read_that_goes_wrong_says_how(
    fake: FakeResourceManager, client: ResourceManagerClient, answer: Answer, error: type[YarnError], words: str
) -> None:
    fake.answers["GET", "/metrics"] = answer
    with pytest.raises(error, match=words) as raised:
        client.metrics()
    assert type(raised.value) is error
    assert "pw" not in raised.value.message
    assert "token" not in raised.value.message


@pytest.mark.parametrize(("status", "words"), [(401, "kinit"), (403, "YARNTUNE_USER"), (500, "log")])
def test_a_refusal_comes_with_what_to_do(
    fake: FakeResourceManager, client: ResourceManagerClient, status: int, words: str
) -> None:
    fake.answers["GET", "/nodes"] = refusal(status, "E", "no")
    with pytest.raises(YarnStatusError) as raised:
        client.nodes()
    assert raised.value.status == status
    assert words in raised.value.hint


def test_nobody_listens() -> None:
    with (
        ResourceManagerClient(closed_port(), SimpleAuth("alice"), timeout_s=0.5) as rm,
        pytest.raises(YarnConnectionError, match="nobody listens there") as raised,
    ):
        rm.metrics()
    assert "yarntune cluster up" in raised.value.hint


def test_a_host_that_does_not_exist() -> None:
    with (
        ResourceManagerClient("http://no-such-host.invalid:8088", SimpleAuth("alice"), timeout_s=5) as rm,
        pytest.raises(YarnConnectionError),
    ):
        rm.metrics()


def test_a_read_is_tried_again_when_the_connection_breaks(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["GET", "/metrics"] = [Answer("{", broken=True), Answer(body("metrics"))]
    assert client.metrics().nodes_active == 1


def test_an_application_that_is_not_known_is_a_value(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["GET", f"/apps/{APP}"] = refusal(404, "NotFoundException", f"app with id: {APP} not found")
    assert client.application(APP) is None


def test_a_wrong_address_is_not_taken_for_an_unknown_application(client: ResourceManagerClient) -> None:
    with pytest.raises(YarnStatusError, match="404"):
        client.application(APP)


def test_g2_23_lists_of_applications_are_filtered_by_the_server(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["GET", "/apps"] = Answer('{"apps":{}}')
    assert client.applications() == ()
    client.applications(
        states=["FINISHED", "KILLED"],
        user="bob",
        queue="root.a",
        types=["SPARK"],
        tags=["x", "y"],
        started_since_s=1.5,
        finished_since_s=2.0,
        limit=7,
    )
    first, second = (request.query for request in fake.requests)
    assert first == {
        "user.name": "alice",
        "states": "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING",
        "deSelects": "resourceRequests",
    }
    assert second == {
        "user.name": "alice",
        "states": "FINISHED,KILLED",
        "user": "bob",
        "queue": "root.a",
        "applicationTypes": "SPARK",
        "applicationTags": "x,y",
        "startedTimeBegin": "1500",
        "finishedTimeBegin": "2000",
        "limit": "7",
        "deSelects": "resourceRequests",
    }


def test_all_ended_applications_are_never_asked_for(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    with pytest.raises(ValueError, match="limit"):
        client.applications(states=["RUNNING", "FINISHED"])
    assert fake.requests == []


def test_the_largest_container_is_the_smaller_of_two_limits(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["POST", "/apps/new-application"] = Answer(
        '{"application-id": "application_1_1", "maximum-resource-capability": {"memory": 6144, "vCores": 32}}'
    )
    fake.answers["GET", "/scheduler"] = Answer(body("scheduler_capacity"))
    assert client.maximum_allocation() == Resource(6144, 32)
    assert client.maximum_allocation("root.prod") == Resource(6144, 4)


# ----------------------------------------------------- the scheduler's configuration


def test_a_change_goes_out_unwrapped_and_once(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["PUT", "/scheduler-conf"] = Answer("Configuration change successfully applied.")
    assert client.update_scheduler_conf(UPDATE) == Applied()
    (request,) = fake.requests
    assert json.loads(request.body) == {
        "update-queue": [
            {"queue-name": "root.prod", "params": {"entry": [{"key": "capacity", "value": "70"}]}},
            {"queue-name": "root.default", "params": {"entry": [{"key": "capacity", "value": "30"}]}},
        ]
    }
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "outcome", "words"),
    [
        (Answer("Failed to re-init queues : Illegal capacity sum of 1.1", 400), Rejected, "Illegal capacity sum"),
        (refusal(400, "BadRequestException", "no such thing"), Rejected, "no such thing"),
        (refusal(403, "ForbiddenException", "Only admins can carry out this operation."), Rejected, "Only admins"),
        (Answer("Configuration change only supported by MutableConfScheduler.", 400), NotMutable, "MutableConf"),
        (Answer("Configuration change only supported by mutable configuration store.", 400), NotMutable, "store"),
        (Answer("<html>404", 404), NotMutable, "version of Hadoop"),
        (Answer(silent=True), Unknown, "no answer within"),
        (Answer("Conf", broken=True), Unknown, "failed"),
        (Answer("<html>gateway", 502), Unknown, "502"),
        (Answer("<html>please log in", content_type="text/html"), Unknown, "please log in"),
        (Answer("", 302, {"Location": "http://elsewhere/"}), Unknown, "redirected"),
    ],
)
def test_what_a_change_came_to_is_a_value(
    fake: FakeResourceManager,
    client: ResourceManagerClient,
    answer: Answer,
    outcome: type[Rejected | NotMutable | Unknown],
    words: str,
) -> None:
    fake.answers["PUT", "/scheduler-conf"] = answer
    result = client.update_scheduler_conf(UPDATE)
    assert type(result) is outcome
    assert words in str(result)
    assert len(fake.sent("PUT")) == 1


def test_a_change_that_never_left_is_an_error() -> None:
    with (
        ResourceManagerClient(closed_port(), SimpleAuth("alice"), timeout_s=0.5) as rm,
        pytest.raises(YarnConnectionError),
    ):
        rm.update_scheduler_conf(UPDATE)


def test_a_200_without_effect_is_seen_by_reading_back(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["PUT", "/scheduler-conf"] = Answer("Configuration change successfully applied.")
    fake.answers["GET", "/scheduler-conf"] = Answer(
        '{"property": [{"name": "yarn.scheduler.capacity.root.prod.capacity", "value": "60"},'
        '{"name": "yarn.scheduler.capacity.root.default.capacity", "value": "30"}]}'
    )
    assert client.update_scheduler_conf(UPDATE) == Applied()
    conf = client.scheduler_conf()
    assert isinstance(conf, SchedulerConf)
    assert UPDATE.missing_from(conf) == {"yarn.scheduler.capacity.root.prod.capacity": "60"}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer('{"property": [{"name": "a", "value": "1"}]}'), Valid(SchedulerConf({"a": "1"}))),
        (Answer("fine"), Valid(None)),
        (Answer("Illegal capacity", 400), Rejected("Illegal capacity", "", 400)),
        (
            Answer("Configuration change validation only supported by MutableConfScheduler.", 400),
            NotMutable("Configuration change validation only supported by MutableConfScheduler."),
        ),
        (Answer("", 405), Unsupported("this version of Hadoop does not validate (HTTP status 405)")),
    ],
)
def test_what_validation_says_is_a_value(
    fake: FakeResourceManager, client: ResourceManagerClient, answer: Answer, outcome: object
) -> None:
    fake.answers["POST", "/scheduler-conf/validate"] = answer
    assert client.validate(UPDATE) == outcome


def test_a_configuration_in_a_file_is_a_value(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    text = (
        "This API only supports to retrieve scheduler configuration from a mutable-conf scheduler, underneath "
        "scheduler CapacityScheduler is not an instance of MutableConfScheduler"
    )
    fake.answers["GET", "/scheduler-conf"] = Answer(text, 400)
    fake.answers["GET", "/scheduler-conf/version"] = Answer(
        "Configuration Version only supported by MutableConfScheduler.", 400
    )
    assert client.scheduler_conf() == NotMutable(text)
    assert isinstance(client.scheduler_conf_version(), NotMutable)


def test_a_configuration_that_only_admins_may_see_is_an_error(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["GET", "/scheduler-conf"] = refusal(403, "ForbiddenException", "Only admins can carry out this")
    with pytest.raises(YarnStatusError) as raised:
        client.scheduler_conf()
    assert "yarn.admin.acl" in raised.value.hint


# ------------------------------------------------------------------------- killing


def application(state: str) -> Answer:
    return Answer(json.dumps({"app": {"id": APP, "state": state}}))


def test_a_kill_waits_for_a_final_state(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["PUT", f"/apps/{APP}/state"] = Answer('{"state":"KILLING"}', 202)
    fake.answers["GET", f"/apps/{APP}"] = [application("RUNNING"), application("KILLED")]
    assert client.kill(APP, timeout_s=30).state == "KILLED"
    assert [json.loads(request.body) for request in fake.sent("PUT")] == [{"state": "KILLED"}]


def test_a_kill_has_an_end(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["PUT", f"/apps/{APP}/state"] = Answer('{"state":"KILLING"}', 202)
    fake.answers["GET", f"/apps/{APP}"] = application("KILLING")
    with pytest.raises(YarnTimeoutError, match=r"is KILLING after 0\.1 s"):
        client.kill(APP, timeout_s=0.1)


def test_a_kill_whose_answer_is_lost_is_not_sent_again(
    fake: FakeResourceManager, client: ResourceManagerClient
) -> None:
    fake.answers["PUT", f"/apps/{APP}/state"] = Answer(silent=True)
    fake.answers["GET", f"/apps/{APP}"] = application("KILLED")
    assert client.kill(APP, timeout_s=30).state == "KILLED"
    assert len(fake.sent("PUT")) == 1


def test_a_kill_that_is_refused_is_an_error(fake: FakeResourceManager, client: ResourceManagerClient) -> None:
    fake.answers["PUT", f"/apps/{APP}/state"] = refusal(403, "ForbiddenException", "User bob cannot")
    with pytest.raises(YarnStatusError, match="refused to kill"):
        client.kill(APP, timeout_s=30)


# --------------------------------------------------------------- high availability

STANDBYS: list[Answer] = [
    # Hadoop 3.4: with an active one, and without.
    Answer("This is standby RM. The redirect url is: http://x/", 307, {"Location": "http://x/ws/v1/cluster/metrics"}),
    Answer("", 307, {"Refresh": "3;url=http://x/?next.refresh.interval=1"}),
    # Older ones: the words alone.
    Answer("This is standby RM. Redirecting to the current active RM: http://x/", 200, {"Refresh": "3; url=http://x/"}),
]


@pytest.mark.parametrize("standby", STANDBYS)
def test_a_standby_is_known_and_never_followed(
    fake: FakeResourceManager, client: ResourceManagerClient, standby: Answer
) -> None:
    fake.answers["GET", "/metrics"] = standby
    fake.answers["PUT", "/scheduler-conf"] = standby
    with pytest.raises(YarnStandbyError, match="standby, not active"):
        client.metrics()
    with pytest.raises(YarnStandbyError):
        client.update_scheduler_conf(UPDATE)
    assert len(fake.requests) == 2


@pytest.fixture
def pair(fake: FakeResourceManager) -> Iterator[tuple[FakeResourceManager, FakeResourceManager]]:
    with FakeResourceManager() as other:
        yield fake, other


def clients_of(*servers: FakeResourceManager) -> ResourceManagerClient:
    return ResourceManagerClient([server.url for server in servers], SimpleAuth("alice"), timeout_s=0.5)


@pytest.mark.parametrize("standby", STANDBYS)
@pytest.mark.parametrize(
    "write", [lambda rm: rm.update_scheduler_conf(UPDATE), lambda rm: rm.metrics()], ids=["write", "read"]
)
def test_after_a_failover_the_new_active_one_is_asked(
    pair: tuple[FakeResourceManager, FakeResourceManager],
    standby: Answer,
    write: Callable[[ResourceManagerClient], object],
) -> None:
    first, second = pair
    for server in pair:
        server.answers["GET", "/metrics"] = Answer(body("metrics"))
        server.answers["PUT", "/scheduler-conf"] = Answer("Configuration change successfully applied.")
    first.answers["GET", "/info"] = info("ACTIVE")
    second.answers["GET", "/info"] = info("STANDBY")
    with clients_of(first, second) as rm:
        rm.metrics()
        first.answers["GET", "/info"] = info("STANDBY")
        first.answers["GET", "/metrics"] = first.answers["PUT", "/scheduler-conf"] = standby
        second.answers["GET", "/info"] = info("ACTIVE")
        write(rm)
        assert second.requests[-1].path in {"/scheduler-conf", "/metrics"}
        assert len(second.sent("PUT")) <= 1


def test_the_active_one_is_found_past_one_that_is_down(fake: FakeResourceManager) -> None:
    fake.answers["GET", "/info"] = info("ACTIVE")
    fake.answers["GET", "/metrics"] = Answer(body("metrics"))
    with ResourceManagerClient([closed_port(), fake.url], SimpleAuth("alice"), timeout_s=0.5) as rm:
        assert rm.metrics().nodes_active == 1


def test_no_active_one_is_said_with_each_ones_state(pair: tuple[FakeResourceManager, FakeResourceManager]) -> None:
    for server in pair:
        server.answers["GET", "/info"] = info("STANDBY")
    with clients_of(*pair) as rm, pytest.raises(YarnStandbyError, match=r"is STANDBY; .* is STANDBY"):
        rm.metrics()


def test_one_that_wants_kerberos_is_not_taken_for_missing(
    pair: tuple[FakeResourceManager, FakeResourceManager],
) -> None:
    for server in pair:
        server.answers["GET", "/info"] = Answer("<html>401", 401, {"WWW-Authenticate": "Negotiate"}, "text/html")
    with clients_of(*pair) as rm, pytest.raises(YarnStatusError) as raised:
        rm.metrics()
    assert (raised.value.status, "kinit" in raised.value.hint) == (401, True)


def test_none_there_is_a_connection_error() -> None:
    with (
        ResourceManagerClient([closed_port(), closed_port()], SimpleAuth("alice"), timeout_s=0.5) as rm,
        pytest.raises(YarnConnectionError, match="no ResourceManager can be reached"),
    ):
        rm.metrics()
