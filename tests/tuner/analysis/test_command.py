"""``yarntune analyze`` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.tuner.analysis.made import Log
from tests.tuner.analysis.test_findings import quiet
from tuner.cli import cli
from tuner.services.analyze import expand
from tuner.spark.conf import read_properties


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["analyze", *map(str, arguments)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    folder.mkdir()
    return quiet().end().read(folder).path


def test_text(log: Path) -> None:
    result = run(log)
    assert result.exit_code == 0
    assert "--conf spark.executor.memory=4301m" in result.stdout
    assert result.stderr == ""


def test_json(log: Path) -> None:
    result = run(log, "--json")
    value = json.loads(result.stdout)
    assert value["increment_mib"] == 1024
    assert value["errors"] == []
    (only,) = value["logs"]
    assert only["configuration"]["spark.executor.memory"] == "4301m"
    assert only["application"]["platform"] == "yarn"


def test_properties_file(log: Path, tmp_path: Path) -> None:
    result = run(log, "-o", tmp_path / "out.conf")
    assert result.exit_code == 0
    assert read_properties(tmp_path / "out.conf") == {
        "spark.executor.memory": "4301m",
        "spark.executor.memoryOverhead": "819m",
    }
    assert "wrote 2 properties" in result.stderr


def test_increment_and_pin(log: Path) -> None:
    assert "spark.executor.memory=7373m" in run(log, "--increment", "8g").stdout
    assert "Configuration: nothing to change." in run(log, "--pin", "spark.executor.memory").stdout


@pytest.mark.parametrize("increment", ["0", "1.5g", "x"])
def test_increment_that_is_none(log: Path, increment: str) -> None:
    result = run(log, "--increment", increment)
    assert result.exit_code == 2
    assert "--increment" in result.stderr


def test_no_log_at_all() -> None:
    assert run().exit_code == 2


def test_one_of_two_cannot_be_read(log: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("not a log\n")
    result = run(bad, log, tmp_path / "nowhere")
    assert result.exit_code == 0
    assert result.stderr.count("error: ") == 2
    assert str(bad) in result.stderr
    assert "nowhere" in result.stderr
    assert "spark.executor.memory" in result.stdout


def test_none_can_be_read(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("not a log\n")
    # As the program itself ends, which turns the error into a sentence.
    done = subprocess.run(
        [sys.executable, "-m", "tuner.cli", "analyze", str(bad), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "no event log could be read" in done.stderr
    assert json.loads(done.stdout)["logs"] == []


def test_folder_of_logs(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        quiet().end().read(tmp_path / name).path.rename(tmp_path / f"application_{name}")
        (tmp_path / name).rmdir()
    (tmp_path / "notes.txt").write_text("no log\n")
    (tmp_path / ".hidden").write_text("no log\n")
    result = run(tmp_path, "--json", "--workers", "1")
    assert result.exit_code == 0
    assert [Path(each["path"]).name for each in json.loads(result.stdout)["logs"]] == ["application_a", "application_b"]
    assert "notes.txt" in result.stderr
    assert run(tmp_path, "-o", tmp_path / "out").exit_code == 2
    assert not (tmp_path / "out").exists()


def test_rolling_folder_beside_others(tmp_path: Path) -> None:
    rolling = tmp_path / "eventlog_v2_application_1_0001"
    rolling.mkdir()
    Log({}).end().read(tmp_path).path.rename(rolling / "events_1_application_1_0001")
    (rolling / "appstatus_application_1_0001").touch()
    single = Log({}).end().read(tmp_path).path
    assert expand(tmp_path) == [single, rolling]
    assert expand(rolling) == [rolling]


def test_an_archive_alone_in_its_folder(log: Path) -> None:
    folder = log.parent
    with zipfile.ZipFile(folder / "eventLogs-application_1.zip", "w") as archive:
        archive.write(log, log.name)
    log.unlink()
    result = run(folder, "--json")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["logs"]) == 1


def test_empty_folder(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert "there is no event log in" in result.stderr
