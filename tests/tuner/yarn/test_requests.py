"""What an application asks for and holds, of the shapes that versions of Hadoop give it."""

from __future__ import annotations

from tuner.yarn import normalize
from tuner.yarn.model import Container, Resource, ResourceRequest


def app(**fields: object) -> dict[str, object]:
    return {"app": {"id": "application_1_0001", "state": "ACCEPTED", **fields}}


def request(name: str, containers: int, priority: object = 1, label: str = "") -> dict[str, object]:
    return {
        "priority": priority,
        "resourceName": name,
        "capability": {"memory": 2048, "vCores": 2},
        "numContainers": containers,
        "nodeLabelExpression": label,
    }


def test_requests_are_counted_once_whatever_the_locality() -> None:
    asked = [request("node1", 3), request("/default-rack", 3), request("*", 3), request("*", 0, priority=2)]
    found = normalize.application(app(resourceRequests=asked))
    assert found.requests == (ResourceRequest(1, Resource(2048, 2), 3, ""),)
    assert normalize.application(app()).requests == ()


def test_older_shapes_of_priority_and_label() -> None:
    asked = request("*", 1, priority={"priority": 20}, label="<Not set>")
    found = normalize.application(app(resourceRequests=asked, appNodeLabelExpression="<DEFAULT_PARTITION>"))
    assert (found.requests[0].priority, found.requests[0].label, found.label) == (20, "", "")
    labelled = normalize.application(app(resourceRequests=[request("*", 1, label="gpu")], appNodeLabelExpression="gpu"))
    assert (labelled.requests[0].label, labelled.label) == ("gpu", "gpu")


def test_containers_with_and_without_the_outer_name() -> None:
    item = {
        "containerId": "container_e17_1_0001_02_000001",
        "allocatedMB": 1024,
        "allocatedVCores": 1,
        "priority": 0,
        "startedTime": 1796068809821,
        "containerState": "RUNNING",
        "nodeId": "localhost:25942",
    }
    container = Container(item["containerId"], Resource(1024, 1), 0, 1796068809.821, "localhost:25942")  # type: ignore[arg-type]
    assert container.is_am
    other = {**item, "containerId": "container_e17_1_0001_02_000010", "containerState": "COMPLETE"}
    assert normalize.containers({"container": [item, other]}) == (container,)
    assert normalize.containers({"containers": {"container": item}}) == (container,)
    assert normalize.containers({}) == ()
    assert not normalize.containers({"container": [{**other, "containerState": "NEW"}]})[0].is_am


def test_attempts_oldest_first_and_their_ids_where_a_version_leaves_them_out() -> None:
    attempts = {"appAttempts": {"appAttempt": [{"id": 2}, {"id": 1, "appAttemptId": "appattempt_1_0001_000001"}]}}
    assert normalize.attempt_ids(attempts, "application_1_0001") == (
        "appattempt_1_0001_000001",
        "appattempt_1_0001_000002",
    )
