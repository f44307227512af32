"""Node labels: how a case is divided, and what an estimate says of it."""

from __future__ import annotations

from typing import Any

import pytest

from rules.estimator import estimate
from rules.partitions import PARTITION_NOTE, divide, has_partitions
from rules.prepared import prepare
from tuner.errors import InputError
from workloads.trace import case_to_json, parse_case

PREFIX = "yarn.scheduler.capacity."
LABEL = "accessible-node-labels"


def labelled(**job: Any) -> dict[str, Any]:
    conf = {
        "root.queues": "a,b",
        "root.a.capacity": "30",
        "root.b.capacity": "70",
        f"root.{LABEL}.gpu.capacity": "100",
        f"root.a.{LABEL}": "gpu",
        f"root.a.{LABEL}.gpu.capacity": "100",
        f"root.a.{LABEL}.gpu.maximum-am-resource-percent": "0.5",
        f"root.b.{LABEL}": " ",
        f"root.b.{LABEL}.gpu.capacity": "0",
    }
    plain = {"id": "plain", "queue": "b", "submit": 0, "tasks": [{"duration": 5}]}
    other = {"id": "other", "queue": "a", "submit": 1, "tasks": [{"duration": 5}], "label": "gpu"} | job
    return {
        "conf": {f"{PREFIX}{name}": value for name, value in conf.items()},
        "nodes": [{"memory": 8192, "vcores": 8}, {"memory": 4096, "vcores": 4, "labels": ["gpu"]}],
        "jobs": [plain, other],
    }


def test_each_partition_has_its_nodes_jobs_and_capacities() -> None:
    case, partitions, places, refused = divide(parse_case(labelled()))
    assert partitions.labels == ("", "gpu")
    assert (partitions.of_node, partitions.of_job, places, refused) == ((0, 1), (0, 1), (0, 1), {})
    (plain,), (gpu,) = partitions.confs
    assert plain[f"{PREFIX}root.a.capacity"] == "30"
    assert gpu[f"{PREFIX}root.a.capacity"] == "100"
    assert gpu[f"{PREFIX}root.a.maximum-am-resource-percent"] == "0.5"
    assert not has_partitions(case)


@pytest.mark.parametrize(
    ("job", "words"), [({"label": "fpga"}, "cluster do not contain"), ({"queue": "b"}, "permission")]
)
def test_a_label_that_cannot_be_had_refuses_the_job(job: dict[str, str], words: str) -> None:
    found = estimate(parse_case(labelled(**job)))
    assert found.jobs[0].finish_s > 0
    assert words in str(found.jobs[1].rejected)
    assert PARTITION_NOTE in found.notes


def test_a_queue_has_a_label_for_jobs_without_one() -> None:
    case_file = labelled(label="")
    case_file["conf"][f"{PREFIX}root.a.default-node-label-expression"] = "gpu"
    _, partitions, _, _ = divide(parse_case(case_file))
    assert partitions.of_job == (0, 1)


def test_a_job_waits_for_good_where_every_node_has_a_label() -> None:
    case_file = labelled()
    case_file["nodes"][0]["labels"] = ["gpu"]
    plain, other = estimate(parse_case(case_file)).jobs
    assert plain.am_start_s == -1
    assert plain.rejected is None
    assert other.finish_s > 0


def test_queues_hold_their_share_of_the_whole_cluster() -> None:
    """A third of the memory has the label: what is held there counts as a third."""
    found = estimate(parse_case(labelled()))
    assert set(found.utilisation) == {"root", "root.a", "root.b"}
    assert found.utilisation["root"] == pytest.approx(found.utilisation["root.a"] + found.utilisation["root.b"])
    assert 0 < found.utilisation["root.a"] < 1 / 3


def test_labels_survive_the_case_file_and_only_an_estimate_takes_them() -> None:
    case = parse_case(labelled())
    assert parse_case(case_to_json(case)) == case
    with pytest.raises(InputError, match="simulated by estimate alone"):
        prepare(case)
    with pytest.raises(InputError, match="Fair Scheduler"):
        divide(parse_case(labelled() | {"scheduler": "fair", "conf": {}}))
