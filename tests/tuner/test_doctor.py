"""``yarntune doctor``: each thing that can be missing is said, with how to mend it."""

from __future__ import annotations

import importlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.fakes.resource_manager import Answer, FakeResourceManager
from tuner.cli import cli
from tuner.cli.doctor import CHECKS, render
from tuner.errors import MissingToolError
from tuner.services import doctor
from tuner.services.doctor import Finding, Status, examine
from tuner.settings import Settings
from workloads.cluster.doctor import check_jars, check_java
from workloads.cluster.jars import JARS, jar_folder

BODIES = Path(__file__).parent / "yarn" / "bodies"


def body(name: str) -> str:
    return (BODIES / f"hadoop-3.5.0-{name}.json").read_text(encoding="utf-8")


def only(findings: Sequence[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_everything_is_looked_at_and_no_cluster_is_a_warning(yarntune_home: Path) -> None:
    result = CliRunner().invoke(cli, ["doctor", "--json"])
    document = json.loads(result.stdout)
    by_name = {each["name"]: each for each in document["checks"]}
    assert set(by_name) == set(CHECKS)
    assert by_name["yarn"]["status"] == "warn"
    assert "yarntune cluster up" in by_name["yarn"]["mend"]
    assert by_name["rule engine"]["status"] == "ok"
    assert by_name["spark"]["status"] == "ok"
    assert not (yarntune_home / "data").exists()


def test_a_failure_is_the_exit_status(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(yarntune_home / "nowhere"))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "fail  java" in result.stdout
    assert "to mend it: apt-get install" in result.stdout
    assert json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)["status"] == "fail"


def test_what_people_read() -> None:
    findings = [
        Finding("python", Status.OK, "3.11"),
        Finding("yarn", Status.WARN, "no cluster", "yarntune cluster up"),
        Finding("rule engine", Status.FAIL, "broken", "install it"),
    ]
    assert render(findings) == (
        "ok    python       3.11\n"
        "warn  yarn         no cluster\n"
        "                   to mend it: yarntune cluster up\n"
        "fail  rule engine  broken\n"
        "                   to mend it: install it\n"
        "\n"
        "1 ok, 1 to look at, 1 failed"
    )


def test_a_check_that_fails_itself_is_a_finding(yarntune_home: Path) -> None:
    def missing(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:
        raise MissingToolError("no such tool", "get it")

    def broken(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:
        raise ZeroDivisionError("oops")

    first, second = examine({"a": missing, "b": broken}, Settings.from_environment(), {})
    assert first == Finding("a", Status.FAIL, "no such tool", "get it")
    assert (second.name, second.status) == ("b", Status.FAIL)
    assert "ZeroDivisionError: oops" in second.detail


def test_a_foreign_package_of_the_same_name(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"tuner": ["yarntune"], "rules": ["yarntune", "rules"], "web": ["web.py"]}
    monkeypatch.setattr(doctor, "packages_distributions", lambda: owners)
    finding = only(doctor.check_python(Settings.from_environment(), {}))
    assert finding.status is Status.FAIL
    assert "rules (rules), web (web.py)" in finding.detail


def test_a_rule_engine_that_does_not_load(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> object:
        raise ImportError("libstdc++.so.6: cannot open shared object file")

    monkeypatch.setattr(importlib, "import_module", refuse)
    finding = only(doctor.check_rule_engine(Settings.from_environment(), {}))
    assert finding.status is Status.FAIL
    assert "libstdc++" in finding.detail
    assert "gcc" in finding.mend


def test_a_java_that_is_too_old(yarntune_home: Path) -> None:
    program = yarntune_home / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019' >&2\n")
    program.chmod(0o755)
    finding = only(check_java(Settings.from_environment(), {"JAVA_HOME": str(yarntune_home / "jdk")}))
    assert finding.status is Status.FAIL
    assert "Java 11" in finding.detail


def test_jars_are_counted(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARNTUNE_CACHE_DIR", str(yarntune_home / "cache"))
    settings = Settings.from_environment()
    assert only(check_jars(settings, {})).status is Status.WARN
    jar_folder(settings).mkdir(parents=True)
    for jar in JARS:
        (jar_folder(settings) / jar.filename).touch()
    assert only(check_jars(settings, {})).status is Status.OK


def spark(home: Path) -> Finding:
    return only(examine({"spark": doctor.check_spark}, Settings.from_environment(), {"SPARK_HOME": str(home)}))


def test_spark_of_spark_home(yarntune_home: Path) -> None:
    assert spark(yarntune_home).status is Status.FAIL
    program = yarntune_home / "bin" / "spark-submit"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert spark(yarntune_home).detail.startswith("of unknown version")
    (yarntune_home / "jars").mkdir()
    (yarntune_home / "jars" / "spark-core_2.13-4.0.1.jar").touch()
    assert spark(yarntune_home).detail.startswith("4.0.1, SPARK_HOME")


def store() -> Finding:
    return only(examine({"store": doctor.check_store}, Settings.from_environment(), {}))


def test_a_store_that_is_not_there_yet_is_not_made(yarntune_home: Path) -> None:
    assert (store().status, (yarntune_home / "data").exists()) == (Status.OK, False)


def test_a_store_where_a_file_is_in_the_way(yarntune_home: Path) -> None:
    (yarntune_home / "data").write_text("a file")
    assert (store().status, "YARNTUNE_DATA_DIR" in store().mend) == (Status.FAIL, True)


def test_a_store_of_another_version(yarntune_home: Path) -> None:
    from tuner.store import open_store

    open_store(Settings.from_environment()).close()
    assert store().status is Status.OK
    path = yarntune_home / "data" / "yarntune.db"
    for revision, mend in (("0001", "yarntune db upgrade"), ("9999", "install the yarntune that made it")):
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("UPDATE yarntune_version SET version_num = ?", [revision])
        connection.close()
        assert (store().status, store().mend) == (Status.FAIL, mend)


def test_a_file_that_is_no_store(yarntune_home: Path) -> None:
    (yarntune_home / "data").mkdir()
    (yarntune_home / "data" / "yarntune.db").write_bytes(b"not a database, and long enough to be seen as such" * 50)
    assert store().status is Status.FAIL


def yarn(url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Finding]:
    monkeypatch.setenv("YARNTUNE_RM_URL", url)
    return {each.name: each for each in doctor.check_yarn(Settings.from_environment(), {})}


def serve(fake: FakeResourceManager, **changes: Any) -> None:
    for path, name in {"/info": "info", "/metrics": "metrics", "/scheduler": "scheduler_capacity"}.items():
        fake.answers["GET", path] = Answer(body(name))
    fake.answers["GET", "/scheduler-conf/version"] = Answer('{"versionID": "3"}')
    fake.answers.update({("GET", path): answer for path, answer in changes.items()})


def test_a_healthy_cluster(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeResourceManager() as fake:
        serve(fake)
        found = yarn(fake.url, monkeypatch)
    assert {name: each.status for name, each in found.items()} == {"yarn": Status.OK, "scheduler": Status.OK}
    assert "Hadoop 3.5.0, active nodes: 1, 8192 MiB" in found["yarn"].detail
    assert "capacity scheduler, 2 leaf queues, changed over REST, configuration version 3" in found["scheduler"].detail


@pytest.mark.parametrize(
    ("path", "answer", "name", "status", "words"),
    [
        (
            "/scheduler-conf/version",
            Answer("Configuration Version only supported by MutableConfScheduler.", 400),
            "scheduler",
            Status.WARN,
            "yarn.scheduler.configuration.store.class",
        ),
        (
            "/scheduler-conf/version",
            Answer('{"RemoteException": {"message": "Only admins can"}}', 403),
            "scheduler",
            Status.WARN,
            "yarn.admin.acl",
        ),
        ("/info", Answer("<html>", 401), "yarn", Status.FAIL, "kinit"),
        ("/info", Answer("<html>a wiki", content_type="text/html"), "yarn", Status.FAIL, "YARNTUNE_RM_URL"),
        (
            "/metrics",
            Answer('{"clusterMetrics": {"availableMB": 0, "activeNodes": 0}}'),
            "yarn",
            Status.WARN,
            "NodeManagers' logs",
        ),
    ],
)
def test_a_cluster_with_a_fault(
    yarntune_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    answer: Answer,
    name: str,
    status: Status,
    words: str,
) -> None:
    with FakeResourceManager() as fake:
        serve(fake, **{path: answer})
        found = yarn(fake.url, monkeypatch)
    assert found[name].status is status
    assert words in found[name].mend


def test_the_fair_scheduler_is_changed_in_its_file(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeResourceManager() as fake:
        serve(fake, **{"/scheduler": Answer(body("scheduler_fair"))})
        found = yarn(fake.url, monkeypatch)
    assert (found["scheduler"].status, "allocation file" in found["scheduler"].detail) == (Status.OK, True)


def test_a_second_resourcemanager_that_is_down(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeResourceManager() as down:
        gone = down.url
    with FakeResourceManager() as fake:
        serve(fake)
        found = yarn(f"{gone},{fake.url}", monkeypatch)
    assert (found["yarn"].status, found["yarn ha"].status) == (Status.OK, Status.WARN)
    assert f"{fake.url} is ACTIVE" in found["yarn ha"].detail


def test_one_that_keeps_silent_is_given_up_soon(yarntune_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RM_TIMEOUT_S", 0.2)
    with FakeResourceManager() as fake:
        fake.answers["GET", "/info"] = Answer(silent=True)
        found = yarn(fake.url, monkeypatch)
        asked = len(fake.requests)
    assert (found["yarn"].status, asked) == (Status.FAIL, 1)
    assert "no answer within 0.2 s" in found["yarn"].detail
