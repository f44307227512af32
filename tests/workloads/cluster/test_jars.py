"""The jars come as they were published, or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.errors import MissingToolError, YarntuneError
from tuner.settings import Settings
from workloads.cluster import jars
from workloads.cluster.jars import JARS, LEVELDB_STORE, Jar, ensure_jars, jar_folder, pyspark_home
from workloads.cluster.java import Java, find_java

SMALL = next(jar for jar in JARS if jar.module == "bcutil-jdk18on")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An empty cache."""
    return replace(Settings.from_environment(), cache_dir=tmp_path / "mit Lücke")


def only(monkeypatch: pytest.MonkeyPatch, fetcher: str) -> None:
    """Leaves one of the two fetchers working."""
    other = {"fetch_with_maven": "fetch_with_ivy", "fetch_with_ivy": "fetch_with_maven"}[fetcher]
    monkeypatch.setattr(jars, other, lambda *_: "not in this test")


@pytest.mark.parametrize("fetcher", ["fetch_with_maven", "fetch_with_ivy"])
def test_both_ways_of_fetching_give_the_published_jar(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, fetcher: str
) -> None:
    only(monkeypatch, fetcher)
    said: list[str] = []
    (path,) = ensure_jars(settings, jars=(SMALL,), note=said.append)
    assert jars._sha256(path) == SMALL.sha256
    assert said
    assert not list(path.parent.glob(".fetch-*"))


def test_a_jar_that_nobody_published_is_named(settings: Settings) -> None:
    nothing = Jar("org.bouncycastle", "bcutil-jdk18on", "0.0.0", "0" * 64)
    with pytest.raises(
        YarntuneError, match=r"org.bouncycastle:bcutil-jdk18on:0.0.0 could not be fetched \(Maven: .*Ivy: "
    ):
        ensure_jars(settings, jars=(nothing,))


def put_published(wanted: Sequence[Jar], folder: Path, java: Java) -> str:
    """Stands in for the network: the jars of the test run's own cache."""
    for jar in wanted:
        source = jar_folder(Settings.from_environment()) / jar.filename
        (folder / jar.filename).write_bytes(source.read_bytes())
    return ""


def test_a_jar_with_another_hash_is_told_and_not_kept(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_jars(Settings.from_environment(), jars=(SMALL,))
    monkeypatch.setattr(jars, "fetch_with_maven", put_published)
    only(monkeypatch, "fetch_with_maven")
    with pytest.raises(YarntuneError, match=f"SHA-256 of {SMALL.filename} is {SMALL.sha256}, not 0{{64}}"):
        ensure_jars(settings, jars=(replace(SMALL, sha256="0" * 64),))
    assert not (jar_folder(settings) / SMALL.filename).exists()


def test_a_broken_download_is_mended_by_running_it_again(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_jars(Settings.from_environment(), jars=(SMALL,))
    monkeypatch.setattr(jars, "fetch_with_maven", put_published)
    (path,) = ensure_jars(settings, jars=(SMALL,))
    path.write_bytes(path.read_bytes()[:1000])
    assert ensure_jars(settings, jars=(SMALL,)) == (path,)
    assert jars._sha256(path) == SMALL.sha256


def test_nothing_is_fetched_or_hashed_when_all_is_there(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_jars(Settings.from_environment(), jars=(SMALL,))
    monkeypatch.setattr(jars, "fetch_with_maven", put_published)
    first = ensure_jars(settings, jars=(SMALL,))

    def forbidden(*_: object) -> str:
        raise AssertionError("called again")

    monkeypatch.setattr(jars, "fetch_with_maven", forbidden)
    monkeypatch.setattr(jars, "_sha256", forbidden)
    assert ensure_jars(settings, jars=(SMALL,)) == first


def test_two_processes_fetch_once(settings: Settings) -> None:
    ensure_jars(Settings.from_environment(), jars=(SMALL,))
    program = (
        "import sys, time, shutil, pathlib\n"
        "from dataclasses import replace\n"
        "from tuner.settings import Settings\n"
        "from workloads.cluster import jars\n"
        "own = Settings.from_environment()\n"
        "small = next(jar for jar in jars.JARS if jar.module == 'bcutil-jdk18on')\n"
        "def fetch(wanted, folder, java):\n"
        "    time.sleep(0.5)\n"
        "    shutil.copy(jars.jar_folder(own) / small.filename, folder)\n"
        "    return ''\n"
        "jars.fetch_with_maven = fetch\n"
        "said = []\n"
        "jars.ensure_jars(replace(own, cache_dir=pathlib.Path(sys.argv[1])), jars=(small,), note=said.append)\n"
        "print(len(said))\n"
    )
    command = [sys.executable, "-c", program, str(settings.cache_dir)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(child.communicate(timeout=120)[0].strip() for child in children) == ["0", "1"]


def test_the_shaded_jar_is_of_the_version_of_pysparks_hadoop() -> None:
    (client,) = (pyspark_home() / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    assert {jar.version for jar in (*JARS, LEVELDB_STORE) if jar.organisation == "org.apache.hadoop"} == {version}


def test_java_home_is_never_passed_over(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="no Java in it"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})
    with pytest.raises(MissingToolError, match="no Java was found") as caught:
        find_java({"PATH": str(tmp_path)})
    assert "apt-get install" in caught.value.hint
