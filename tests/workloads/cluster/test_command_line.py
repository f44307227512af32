"""What `yarntune cluster` prints, and its exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.errors import ClusterError, InputError
from tuner.settings import Settings
from workloads.cli.cluster import cluster
from workloads.cluster import shell
from workloads.cluster.spec import RunningCluster


@pytest.fixture
def shared(yarn_cluster: RunningCluster, cluster_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> RunningCluster:
    """The running cluster as the command line finds it."""
    monkeypatch.setenv("YARNTUNE_STATE_DIR", str(cluster_settings.state_dir))
    return yarn_cluster


@pytest.mark.cluster
def test_up_without_options_keeps_the_cluster_that_is_up(shared: RunningCluster) -> None:
    result = CliRunner().invoke(cluster, ["up", "--name", "shared", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == shared.to_json()


@pytest.mark.cluster
def test_up_with_other_sizes_is_an_error_that_says_what_is_up(shared: RunningCluster) -> None:
    result = CliRunner().invoke(cluster, ["up", "--name", "shared", "--node-memory", "4g"])
    assert isinstance(result.exception, ClusterError)
    assert "2 nodes of 8192 MiB and 8 vcores, capacity scheduler, memory store" in result.exception.message


@pytest.mark.cluster
def test_status_is_a_table_and_json(shared: RunningCluster) -> None:
    text = CliRunner().invoke(cluster, ["status"])
    assert text.exit_code == 0
    assert ["shared", "up", "2/2", "0", "capacity", shared.rm_url] == text.stdout.splitlines()[-1].split()
    document = json.loads(CliRunner().invoke(cluster, ["status", "--json"]).stdout)
    assert [(each["name"], each["state"], each["problems"]) for each in document["clusters"]] == [("shared", "up", [])]


@pytest.mark.cluster
def test_env_is_for_eval_in_any_shell(shared: RunningCluster, tmp_path: Path) -> None:
    odd = replace(shared, hadoop_conf_dir=tmp_path / "it's a $HOME `x` Lücke")
    lines = shell.exports(shell.environment(odd), path="/usr/bin")
    script = f'{lines}\nprintf "%s\\n" "$HADOOP_CONF_DIR" "$LC_ALL" "$(command -v spark-submit)"'
    result = subprocess.run(["sh", "-c", script], env=dict(os.environ), capture_output=True, text=True, check=True)
    folder, locale, spark_submit = result.stdout.splitlines()
    assert folder == str(odd.hadoop_conf_dir)
    assert locale == "C.UTF-8"
    assert spark_submit.endswith("/spark-submit")
    printed = CliRunner().invoke(cluster, ["env", "--name", "shared"])
    assert f"export HADOOP_CONF_DIR={shared.hadoop_conf_dir}\n" in printed.stdout
    as_json = CliRunner().invoke(cluster, ["env", "--name", "shared", "--json"])
    assert json.loads(as_json.stdout) == shell.environment(shared)


def test_there_is_something_to_do_about_a_cluster_that_is_not_there(yarntune_home: Path) -> None:
    result = CliRunner().invoke(cluster, ["env"])
    assert isinstance(result.exception, ClusterError)
    assert result.exception.hint == "yarntune cluster up --name default"
    shown = CliRunner().invoke(cluster, ["status"])
    assert shown.exit_code == 1
    assert "`yarntune cluster up` starts one" in shown.stderr
    for arguments in (["down"], ["down", "--all"]):
        assert CliRunner().invoke(cluster, arguments).exit_code == 0
    assert not (yarntune_home / "state").exists()


@pytest.mark.parametrize(
    "arguments",
    [["--nodes", "0"], ["--node-memory", "1.5g"], ["--node-memory", "x"], ["--scheduler", "fifo"], ["--store", "zk"]],
)
def test_a_value_that_cannot_be_is_a_usage_error(arguments: list[str], yarntune_home: Path) -> None:
    assert CliRunner().invoke(cluster, ["up", *arguments]).exit_code == 2


def test_a_name_cannot_lead_out_of_the_state_folder(yarntune_home: Path) -> None:
    precious = yarntune_home / "state" / "precious"
    precious.mkdir(parents=True)
    result = CliRunner().invoke(cluster, ["down", "--purge", "--name", "../precious"])
    assert isinstance(result.exception, InputError)
    assert precious.is_dir()
