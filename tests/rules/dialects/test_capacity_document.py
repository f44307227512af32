"""Real files: read or refused with a sentence, and changed without touching anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rules.dialects.capacity_document import read_capacity_document
from rules.dialects.capacity_validation import validate
from rules.dialects.hadoop_xml import HadoopXml
from rules.model import Resources
from tuner.errors import InputError

PREFIX = "yarn.scheduler.capacity."


def manifest(shared_data: Path) -> list[dict[str, object]]:
    return json.loads((shared_data / "queues" / "MANIFEST.json").read_text())


@pytest.fixture
def files(shared_data):
    """Every file of queues by name, with what is known of it."""
    return {
        str(entry["file"]): (entry, (shared_data / "queues" / str(entry["file"])).read_bytes())
        for entry in manifest(shared_data)
    }


# Where the manifest's list is not the tree: it counts queues in comments and leftovers of queues that are gone (10
# and 15), takes a label for a queue (11), and leaves out a queue that has no property of its own (23).
ONLY_IN_THE_MANIFEST = {
    "10": {"root.a.a1", "root.a.a2", "root.b.b1", "root.b.b2", "root.b.b3", "root.default"},
    "11": {"root.accessible-node-labels.default"},
    "15": {"root.unfunded"},
}
ONLY_IN_THE_TREE = {"23": {"root.default"}}


def test_every_capacity_file_is_read_or_refused(files):
    read_files = 0
    for name, (entry, data) in files.items():
        if entry["kind"] != "capacity":
            continue
        if name.endswith(".j2"):
            with pytest.raises(InputError, match="template"):
                read_capacity_document(data, name)
            continue
        document = read_capacity_document(data, name)
        assert document.render() == data, name
        tree = document.tree()
        assert tree.leaves(), name
        validate(document.properties, cluster_total=Resources(65536, 32))
        read_files += 1
    assert read_files == 18


def test_every_other_file_is_refused_with_a_sentence(files):
    others = [(name, data) for name, (entry, data) in files.items() if entry["kind"] != "capacity"]
    assert len(others) > 10
    for name, data in others:
        with pytest.raises(InputError) as caught:
            read_capacity_document(data, name)
        assert caught.value.message.startswith(name)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("file", "rules"),
    [
        ("01_cs_zhengxle__hadoop-scheduler-config__capacity-scheduler.xml", {"ordering-policy"}),
        ("10_cs_raswaminathan__yarnapplicationstatistics__capacity-scheduler.xml", {"unknown-queue"}),
        (
            "11_cs_skmathew__hdp22-Pentaho-shim-files__capacity-scheduler.xml",
            {"unknown-property", "short-queue-name", "capacity-range", "root-capacity", "sibling-sum"},
        ),
        ("13_cs_gbi-group__hadoop-cfg__capacity-scheduler.xml", set()),
        ("16_cs_1080Taranjeet__HyBird_Database__capacity-scheduler.xml", set()),
        ("23_cs_apache__ambari__bad_capacity-scheduler.xml", {"sibling-sum", "capacity-not-set"}),
        ("26_cs_duongkame__hadoop__capacity-scheduler.xml", set()),
        (
            "28_cs_duongkame__hadoop__cs-validation-fail_capacity-scheduler.xml",
            {"am-resource-percent", "ordering-policy", "auto-creation"},
        ),
        ("40_cs_alayton123__fs2cs_enhancements__fs2cs-output_capacity-scheduler.xml", set()),
    ],
)
def test_what_is_wrong_with_real_files(files, file, rules):
    document = read_capacity_document(files[file][1], file)
    assert {finding.rule_id for finding in validate(document.properties)} - {"refuses-applications"} == rules


def test_each_change_of_a_real_file_changes_that_element_alone(files):
    for name, (entry, data) in files.items():
        if entry["kind"] != "capacity" or name.endswith(".j2"):
            continue
        document = read_capacity_document(data, name)
        for full, value in document.source.values().items():
            changed = document.with_changes({full: "changed"})
            assert changed.source.values() == {**document.source.values(), full: "changed"}
            assert_one_stretch_differs(data, changed.render(), b"changed", value.encode())
            back = changed.with_changes({full: value})
            assert back.properties == document.properties


def assert_one_stretch_differs(before: bytes, after: bytes, new: bytes, old: bytes) -> None:
    """What is the same at the beginning and at the end leaves out no more than the two values."""
    first = next((i for i, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), len(before))
    tail = next(
        (i for i, (one, other) in enumerate(zip(reversed(before), reversed(after), strict=False)) if one != other), 0
    )
    assert after[first : len(after) - tail] in new or new in after[first - len(new) : len(after) - tail + len(new)]
    assert len(before) - tail - first <= len(old) + 2 * old.count(b"&") * 5


NAMES = st.sampled_from(
    [
        "root.queues",
        "root.default.capacity",
        "root.default.maximum-capacity",
        "root.default.user-limit-factor",
        "maximum-applications",
        "root.new.acl_submit_applications",
    ]
)
VALUES = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn", "Co"]), max_size=20)
CHANGES = st.dictionaries(NAMES.map(lambda name: PREFIX + name), st.none() | VALUES, max_size=5)
XML = f"""<?xml version="1.0"?>
<!-- ours -->
<configuration>
  <!-- the queues -->
  <property>
    <name>{PREFIX}root.queues</name>
    <value>default</value> # stray
    <description>All &amp; everything</description>
  </property>
  <property><name>{PREFIX}root.default.capacity</name><value>100</value><final>false</final></property>
  <property>
    <name>
      {PREFIX}root.default.user-limit-factor
    </name>
    <value/>
    <on-ambari-upgrade add="true"/>
  </property>
</configuration>
<!-- the end -->
"""
LINES = f"""# ours
{PREFIX}root.queues=default
{PREFIX}root.default.capacity : 100
! old
{PREFIX}root.default.user-limit-factor=

{PREFIX}maximum-applications=\\
  100
"""


@given(CHANGES)
@settings(suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("text", [XML, LINES], ids=["xml", "properties"])
def test_changes_give_exactly_the_wanted_values(text, changes):
    document = read_capacity_document(text.encode())
    changed = document.with_changes(changes)
    wanted = {**document.source.values(), **changes}
    assert {k: v for k, v in changed.source.values().items() if v} == {k: v for k, v in wanted.items() if v}
    # What is written is read again, and what was there besides is there still.
    again = read_capacity_document(changed.render()) if changed.source.values() else changed
    assert again.source.values() == changed.source.values()
    for kept in ("# stray", "<!-- the queues -->", "<!-- the end -->", "# ours", "! old"):
        is_removed = kept == "# stray" and changes.get(f"{PREFIX}root.queues", "") is None
        assert is_removed or (kept in changed.render().decode()) == (kept in text)


@pytest.mark.parametrize("text", [XML, LINES], ids=["xml", "properties"])
def test_no_change_gives_the_same_bytes(text):
    document = read_capacity_document(text.encode())
    same = dict(document.source.values())
    assert document.with_changes(same).render() == text.encode()
    assert document.with_changes({}).render() == text.encode()


def test_a_value_with_a_variable_stays_where_it_already_says_the_wanted():
    text = XML.replace("<value>100</value>", "<value>${all}</value>").replace(
        "</configuration>", "<property><name>all</name><value>100</value></property></configuration>"
    )
    document = read_capacity_document(text.encode())
    assert document.tree()["root.default"].capacity.value == 100.0
    assert document.with_changes({f"{PREFIX}root.default.capacity": "100"}).render() == text.encode()


def test_an_ambari_export_is_read_and_changed_line_by_line(files):
    name = next(name for name in files if name.startswith("05_cs"))
    data = files[name][1]
    document = read_capacity_document(data, name)
    assert not isinstance(document.source, HadoopXml)
    changed = document.with_changes({f"{PREFIX}root.Applications.maximum-capacity": "90"}).render()
    before, after = data.decode().splitlines(), changed.decode().splitlines()
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        (f"{PREFIX}root.Applications.maximum-capacity=100", f"{PREFIX}root.Applications.maximum-capacity=90")
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no property of the Capacity Scheduler"),
        (b"just words", "line 1: 'just words' is not NAME=VALUE"),
        (b"a=1", "no property of the Capacity Scheduler"),
        (b"\xff\x00=1", "not text"),
        (b"<configuration><property><name>a</name><value>1</value></property></configuration>", "no property of"),
    ],
)
def test_what_is_no_configuration_of_this_scheduler_is_refused(data, says):
    with pytest.raises(InputError) as caught:
        read_capacity_document(data, "f")
    assert says in caught.value.message


def test_the_queues_of_real_files(files):
    for name, (entry, data) in files.items():
        if entry["kind"] == "capacity" and not name.endswith(".j2"):
            tree = set(read_capacity_document(data, name).tree().queues)
            listed = set(entry["queues"])
            assert listed - tree == ONLY_IN_THE_MANIFEST.get(name[:2], set()), name
            assert tree - listed == ONLY_IN_THE_TREE.get(name[:2], set()), name
