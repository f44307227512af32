"""Which cluster is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.errors import ClusterError, InputError
from tuner.settings import Settings
from tuner.yarn.hadoopconf import read_hadoop_conf
from tuner.yarn.locate import Target, locate, rm_urls
from tuner.yarn.transport import clean_url


def write_xml(path: Path, properties: dict[str, str], final: tuple[str, ...] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    items = "".join(
        f"<property><name>{name}</name><value>{value}</value><final>{str(name in final).lower()}</final></property>"
        for name, value in properties.items()
    )
    path.write_text(f'<?xml version="1.0"?><configuration>{items}</configuration>', encoding="utf-8")
    return path


def embed(home: Path, name: str, port: int) -> Target:
    folder = home / "state" / "clusters" / name
    folder.mkdir(parents=True)
    conf = folder / "conf"
    write_xml(conf / "yarn-site.xml", {"yarn.resourcemanager.webapp.address": f"127.0.0.1:{port}"})
    record = {
        "rm_url": f"http://127.0.0.1:{port}",
        "hadoop_conf_dir": str(conf),
        "spark_conf_dir": str(folder / "spark"),
        "event_log_dir": str(folder / "events"),
    }
    (folder / "cluster.json").write_text(json.dumps(record), encoding="utf-8")
    return Target((record["rm_url"],), conf, folder / "spark", folder / "events", f"the embedded cluster {name}")


def found(**environ: str) -> Target:
    return locate(Settings.from_environment(), environ)


def test_nothing_anywhere(yarntune_home: Path) -> None:
    with pytest.raises(ClusterError) as raised:
        found()
    for way in ("yarntune cluster up", "HADOOP_CONF_DIR", "YARNTUNE_RM_URL"):
        assert way in raised.value.hint


def test_the_only_embedded_cluster(yarntune_home: Path) -> None:
    target = embed(yarntune_home, "one", 1111)
    assert found() == target


def test_several_embedded_clusters_are_named(yarntune_home: Path) -> None:
    embed(yarntune_home, "one", 1111)
    embed(yarntune_home, "two", 2222)
    with pytest.raises(ClusterError, match="one, two") as raised:
        found()
    assert "yarntune cluster env --name one" in raised.value.hint


def test_the_environment_chooses_among_embedded_clusters(yarntune_home: Path) -> None:
    embed(yarntune_home, "one", 1111)
    two = embed(yarntune_home, "two", 2222)
    assert found(HADOOP_CONF_DIR=str(two.hadoop_conf_dir)) == two


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"rm_url": "http://x", "hadoop_conf_dir": 3}'])
def test_a_broken_record_is_no_cluster(yarntune_home: Path, record: str) -> None:
    folder = yarntune_home / "state" / "clusters" / "broken"
    folder.mkdir(parents=True)
    (folder / "cluster.json").write_text(record, encoding="utf-8")
    with pytest.raises(ClusterError):
        found()


def test_hadoop_conf_dir_wins_over_an_embedded_cluster(yarntune_home: Path, tmp_path: Path) -> None:
    embed(yarntune_home, "one", 1111)
    write_xml(tmp_path / "conf" / "yarn-site.xml", {"yarn.resourcemanager.hostname": "rm.example"})
    target = found(HADOOP_CONF_DIR=str(tmp_path / "conf"), SPARK_CONF_DIR="/etc/spark")
    assert target.rm_urls == ("http://rm.example:8088",)
    assert (target.hadoop_conf_dir, target.spark_conf_dir) == (tmp_path / "conf", Path("/etc/spark"))
    assert not target.kerberos


def test_yarn_conf_dir_serves_where_the_other_has_no_yarn(yarntune_home: Path, tmp_path: Path) -> None:
    write_xml(tmp_path / "hdfs" / "core-site.xml", {})
    write_xml(tmp_path / "yarn" / "yarn-site.xml", {"yarn.resourcemanager.hostname": "rm.example"})
    target = found(HADOOP_CONF_DIR=str(tmp_path / "hdfs"), YARN_CONF_DIR=str(tmp_path / "yarn"))
    assert target.hadoop_conf_dir == tmp_path / "yarn"


def test_a_folder_without_yarn_is_not_passed_over(yarntune_home: Path, tmp_path: Path) -> None:
    embed(yarntune_home, "one", 1111)
    with pytest.raises(ClusterError, match=r"no yarn-site\.xml"):
        found(HADOOP_CONF_DIR=str(tmp_path))


def test_kerberos_is_seen_in_core_site(yarntune_home: Path, tmp_path: Path) -> None:
    write_xml(tmp_path / "core-site.xml", {"hadoop.http.authentication.type": "kerberos"})
    write_xml(tmp_path / "yarn-site.xml", {})
    assert found(HADOOP_CONF_DIR=str(tmp_path)).kerberos


def test_the_setting_wins(yarntune_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(yarntune_home, "one", 1111)
    monkeypatch.setenv("YARNTUNE_RM_URL", "http://a:1, http://b:2")
    assert found().rm_urls == ("http://a:1", "http://b:2")
    assert found().hadoop_conf_dir is None


RM = "yarn.resourcemanager"


@pytest.mark.parametrize(
    ("properties", "urls"),
    [
        ({}, ["http://localhost:8088"]),
        ({f"{RM}.hostname": "h"}, ["http://h:8088"]),
        ({f"{RM}.hostname": "h", f"{RM}.webapp.address": f"${{{RM}.hostname}}:80"}, ["http://h:80"]),
        ({f"{RM}.webapp.address": f"${{{RM}.hostname}}:80"}, ["http://localhost:80"]),
        ({f"{RM}.hostname": "h", f"{RM}.webapp.address": "0.0.0.0:80"}, ["http://h:80"]),
        ({f"{RM}.webapp.address": "h"}, ["http://h:8088"]),
        ({"yarn.http.policy": "HTTPS_ONLY", f"{RM}.hostname": "h"}, ["https://h:8090"]),
        (
            {
                "yarn.http.policy": "HTTPS_ONLY",
                f"{RM}.webapp.address": "h:1",
                f"{RM}.webapp.https.address": "h:2",
            },
            ["https://h:2"],
        ),
        (
            {
                f"{RM}.ha.enabled": "true",
                f"{RM}.ha.rm-ids": "rm1, rm2",
                f"{RM}.hostname.rm1": "h1",
                f"{RM}.webapp.address.rm2": "h2:80",
            },
            ["http://h1:8088", "http://h2:80"],
        ),
        ({f"{RM}.ha.rm-ids": "rm1,rm2", f"{RM}.hostname": "h"}, ["http://h:8088"]),
    ],
)
def test_addresses_are_worked_out_as_hadoop_does(tmp_path: Path, properties: dict[str, str], urls: list[str]) -> None:
    conf = read_hadoop_conf([write_xml(tmp_path / "yarn-site.xml", properties)], {})
    assert list(rm_urls(conf)) == urls


def test_variables(tmp_path: Path) -> None:
    path = write_xml(
        tmp_path / "a.xml",
        {
            "a": " ${b}-${env.HOME}-${unknown} ",
            "b": "${c}",
            "c": "deep",
            "minus": "${env.NONE-x} ${env.EMPTY-x} ${env.EMPTY:-y} ${env.NONE:-y} ${env.HOME:-y}",
            "circle": "${circle2}+",
            "circle2": "${circle}",
        },
    )
    conf = read_hadoop_conf([path], {"HOME": "/h", "EMPTY": ""})
    assert conf.get("a") == "deep-/h-${unknown}"
    assert conf.get("minus") == "x  y y /h"
    assert conf.get("none", "${c}") == "deep"
    with pytest.raises(InputError, match=r"circle in .*a.xml"):
        conf.get("circle")


def test_a_later_file_wins_except_over_what_is_final(tmp_path: Path) -> None:
    first = write_xml(tmp_path / "core-site.xml", {"a": "1", "b": "1"}, final=("a",))
    second = write_xml(tmp_path / "yarn-site.xml", {"a": "2", "b": "2"})
    conf = read_hadoop_conf([first, tmp_path / "missing.xml", second], {})
    assert (conf.get("a"), conf.get("b")) == ("1", "2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<configuration><property>", "not well-formed"),
        ("<allocations/>", "root is <allocations>"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><configuration>&e;</configuration>', "well-formed"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "yarn-site.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as raised:
        read_hadoop_conf([path], {})
    assert str(path) in raised.value.message


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("rm:8088", "http://rm:8088"),
        (" https://rm:8090/ ", "https://rm:8090"),
        ("http://rm:8088/cluster", "http://rm:8088"),
        ("http://rm:8088/ws/v1/cluster/apps?x=1", "http://rm:8088"),
        ("https://knox:8443/gateway/default/resourcemanager/", "https://knox:8443/gateway/default/resourcemanager"),
        ("[::1]:8088", "http://[::1]:8088"),
        ("RM.example", "http://rm.example"),
    ],
)
def test_addresses_are_cut_to_their_prefix(given: str, cleaned: str) -> None:
    assert clean_url(given) == cleaned


@pytest.mark.parametrize("url", ["", "ftp://rm", "http://", "http://rm:port", "http://user:secret@rm:8088"])
def test_what_is_no_address_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(InputError) as raised:
        clean_url(url)
    assert "secret" not in raised.value.message
