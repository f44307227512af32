"""`yarntune workload reduce`, `synthesize` and `replay` on the model: what they print and leave."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from tuner.cli import cli
from tuner.errors import InputError
from tuner.settings import Settings
from workloads.catalogue import open_workload
from workloads.samples import SAMPLES, generate
from workloads.to_case import CasePlan, make_case
from workloads.trace import case_to_json, read_case


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["workload", *(str(each) for each in arguments)])


def output_of(*arguments: str | Path) -> dict[str, object]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def case_file(yarntune_home: Path) -> Path:
    case, _ = make_case(generate("s", SAMPLES["steady-hour"]), 0, 600, CasePlan(nodes=4))
    path = yarntune_home / "case.json"
    path.write_text(json.dumps(case_to_json(case)))
    return path


def test_a_reduced_workload_is_kept_under_its_own_name(yarntune_home: Path) -> None:
    value = output_of("reduce", "steady-hour", "--factor", "10")
    assert value["replication_error"]["mean"] < 1e-6  # type: ignore[index]
    assert value["path"] == str(yarntune_home / "data" / "workloads" / "steady-hour-by-10.workload.zst")
    opened = open_workload("steady-hour-by-10", Settings.from_environment())
    assert len(opened.jobs) == value["jobs"]
    listed = output_of("list")["workloads"]
    assert ("imported", "steady-hour-by-10", value["path"]) in [
        (each["kind"], each["name"], each["path"])
        for each in listed  # type: ignore[attr-defined]
    ]
    assert value["path"] in run("list").stdout
    assert all(each["path"] for each in listed if each["kind"] != "sample")  # type: ignore[attr-defined]


def test_a_reduced_case_is_a_case(case_file: Path, yarntune_home: Path) -> None:
    small = yarntune_home / "small.json"
    value = output_of("reduce", case_file, "--factor", "4", "--by", "tasks", "-o", small)
    assert (value["nodes"], len(read_case(small).nodes)) == (1, 1)
    result = run("reduce", case_file, "--factor", "50", "--by", "time", "-o", small)
    assert "replication error" in result.stdout
    assert "heartbeats" in result.stderr
    assert read_case(small).node_heartbeat_s == 0.02
    assert run("reduce", case_file, "--factor", "4").exit_code == 2


def test_synthesize_draws_both(yarntune_home: Path) -> None:
    picture = yarntune_home / "picture.svg"
    value = output_of("synthesize", "bursty-hour", "--span", "30m", "--load", "3", "--plot", picture, "--name", "mine")
    assert value["distances"]["durations"] < 0.3  # type: ignore[index]
    opened = open_workload("mine", Settings.from_environment())
    assert opened.span_s[1] <= 1800
    assert "drawn from bursty-hour" in opened.provenance.notes[0]
    texts = [each.text for each in ET.parse(picture).iter() if each.tag.endswith("text")]
    assert {"bursty-hour", "mine", "tasks of a job", "jobs submitted an hour"} <= set(texts)
    before = picture.read_bytes()
    output_of("synthesize", "bursty-hour", "--span", "30m", "--load", "3", "--plot", picture, "--name", "mine")
    assert picture.read_bytes() == before


def test_replaying_on_the_model_agrees_with_estimate(case_file: Path) -> None:
    estimated = CliRunner().invoke(cli, ["scheduler", "estimate", str(case_file), "--json"])
    value = output_of("replay", case_file)
    assert value["summary"] == json.loads(estimated.stdout)["summary"]
    reduced = output_of("replay", case_file, "--factor", "10")
    mean = value["summary"]["mean_latency"]  # type: ignore[index]
    # Under the Capacity Scheduler nothing but the clock differs.
    assert reduced["summary"]["mean_latency"] * 10 == pytest.approx(mean, rel=0.01)  # type: ignore[index]


def test_replaying_a_workload_makes_a_case_of_it(yarntune_home: Path) -> None:
    value = output_of("replay", "etl-night", "--window", "0:1h", "--queues", "by-team:2", "--nodes", "5")
    assert set(value["summary"]["by_queue"]) == {"root.team1", "root.team2"}  # type: ignore[index]
    assert run("replay", "etl-night", "--embedded").exit_code == 2
    with pytest.raises(InputError, match="no workload nothing"):
        CliRunner().invoke(cli, ["workload", "replay", "nothing"], catch_exceptions=False)


def test_a_data_folder_that_cannot_be_written_is_said_in_a_sentence(
    yarntune_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = yarntune_home / "file"
    file.write_text("in the way")
    monkeypatch.setenv("YARNTUNE_DATA_DIR", str(file))
    with pytest.raises(InputError, match="cannot be made"):
        CliRunner().invoke(cli, ["workload", "reduce", "steady-hour", "--factor", "2"], catch_exceptions=False)
