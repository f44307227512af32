"""Allocation files: what is read, what stays when something is changed, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.dialects.fair import parse_allocations, read_allocation_file
from rules.dialects.fair_resources import parse_resources
from rules.dialects.fair_validate import validate
from rules.model import Severity
from tuner.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data") / "queues"
REAL = sorted(path.name for path in DATA.glob("*") if "_fs_" in path.name or "_spark_" in path.name)

ODD = """<?xml version='1.0' encoding="UTF-8"?>
<!-- kept -->
<allocations >
\t<queue  name='a' type="leaf"><!-- why --><weight> 2.0 </weight>
\t\t<somethingElse x="1"><deep/></somethingElse>
\t\t<schedulingMode>FAIR</schedulingMode>\r
\t</queue>
  <pool name="b"/>
  <queue name="c"><queue name="d"><maxRunningApps>5<!-- five --></maxRunningApps></queue></queue>
  <userMaxAppsDefault>7</userMaxAppsDefault>
</allocations>
<!-- end -->
"""


def test_every_way_of_writing_an_odd_file_survives() -> None:
    assert parse_allocations(ODD).render() == ODD


def test_queues_come_with_full_paths_and_present_names() -> None:
    tree = parse_allocations(ODD).tree
    assert list(tree.queues) == ["root", "root.a", "root.b", "root.c", "root.c.d"]
    assert dict(tree["root.a"].properties) == {"weight": "2.0", "schedulingPolicy": "FAIR"}
    assert tree["root.c"].children == ("root.c.d",)
    assert dict(tree.settings) == {"userMaxAppsDefault": "7"}


def test_changing_a_value_changes_only_that_element() -> None:
    changed = parse_allocations(ODD).with_property("root.a", "weight", "3")
    assert changed.render() == ODD.replace("<weight> 2.0 </weight>", "<weight> 3 </weight>")
    changed = parse_allocations(ODD).with_property("root.c.d", "maxRunningApps", "6")
    assert changed.render() == ODD.replace("5<!-- five -->", "6<!-- five -->")


def test_an_alias_is_changed_where_it_stands() -> None:
    changed = parse_allocations(ODD).with_property("root.a", "schedulingPolicy", "fifo")
    assert changed.render() == ODD.replace(">FAIR<", ">fifo<")


def test_setting_what_was_not_set_and_taking_it_out_again_gives_the_file_back() -> None:
    before = parse_allocations(ODD)
    assert (
        before.with_property("root.a", "maxAMShare", "0.3").with_property("root.a", "maxAMShare", None).render() == ODD
    )
    added = before.with_property("root.b", "weight", "4")
    assert '<pool name="b">\n    <weight>4</weight>\n  </pool>' in added.render()
    assert added.tree["root.b"].properties["weight"] == "4"


def test_an_added_setting_of_the_file_is_read_back() -> None:
    assert parse_allocations("<allocations/>").with_setting("queueMaxAMShareDefault", "0.2").render() == (
        "<allocations>\n  <queueMaxAMShareDefault>0.2</queueMaxAMShareDefault>\n</allocations>"
    )


@pytest.mark.parametrize("name", REAL or ["missing"])
def test_real_files_are_read_or_refused_with_a_sentence(name: str, shared_data: Path) -> None:
    entry = next(e for e in json.loads((shared_data / "queues" / "MANIFEST.json").read_text()) if e["file"] == name)
    data = (shared_data / "queues" / name).read_bytes()
    if entry["xml"] != "well-formed" or entry["kind"] != "fair":
        with pytest.raises(InputError) as refused:
            read_allocation_file(data, name)
        assert name in refused.value.message
        return
    read = read_allocation_file(data, name)
    assert read.render().encode() == data.removeprefix(b"\xef\xbb\xbf")
    names = [queue.name for queue in read.tree][0 if "root" in entry["queues"] else 1 :]
    assert names == entry["queues"]
    for finding in validate(read):
        assert finding.message


BOMB = '<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><allocations><queue name="&z;"/></allocations>'
EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><allocations>&x;</allocations>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "document type"),
        (EXTERNAL, "document type"),
        ("<allocations>&x;</allocations>", "undefined entity"),
        ("<allocations>", "not well-formed"),
        ("", "not well-formed"),
        ("<configuration/>", "not <allocations>"),
        ('<allocations><queue name="a.b"/></allocations>', "has a dot"),
        ('<allocations><queue name=" "/></allocations>', "empty"),
        ("<allocations>" + "<queue name='q'>" * 100, "deep"),
        ('<allocations><pool name="p"><minShare>2</minShare></pool></allocations>', "Spark"),
    ],
)
def test_unreadable_files_are_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_allocations(text)
    assert says in refused.value.message


def test_encodings() -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><allocations><queue name="b\u00fcro"/></allocations>'
    assert "root.b\u00fcro" in read_allocation_file(text.encode("latin-1"), "x").tree
    assert "root.a" in read_allocation_file('<allocations><queue name="a"/></allocations>'.encode("utf-16"), "x").tree
    with pytest.raises(InputError, match="not text in"):
        read_allocation_file(b"<allocations>\xff</allocations>", "x")


_blank = st.sampled_from(["", " ", "\n", "\n\t ", "<!-- c -->", "\r\n"])
_weights = st.floats(0.1, 100).map(lambda w: f"{w:.3f}")


@st.composite
def _files(draw: st.DrawFn) -> tuple[str, list[str]]:
    paths: list[str] = []

    def queue(parent: str, depth: int) -> str:
        name = f"q{len(paths)}"
        paths.append(f"{parent}.{name}")
        path = paths[-1]
        quote = draw(st.sampled_from("'\""))
        body = "".join(draw(_blank) + part for part in (f"<weight>{draw(_weights)}</weight>", "<odd a='>'/>"))
        body += "".join(queue(path, depth - 1) for _ in range(draw(st.integers(0, 2)) if depth else 0))
        return f"{draw(_blank)}<queue name={quote}{name}{quote} >{body}{draw(_blank)}</queue >"

    text = "".join(queue("root", 2) for _ in range(draw(st.integers(1, 3))))
    return f"<allocations>{text}</allocations>{draw(_blank)}", paths


@given(
    _files(), st.data(), st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)
)
def test_reading_and_writing_is_the_identity_and_a_change_stays_in_its_element(
    generated: tuple[str, list[str]], data: st.DataObject, value: str
) -> None:
    text, paths = generated
    before = parse_allocations(text)
    assert before.render() == text
    path = data.draw(st.sampled_from(paths))
    value = value.strip() or "1"
    try:
        after = before.with_property(path, "weight", value)
    except InputError:
        return  # a character that XML has no room for
    assert after.tree[path].properties["weight"] == value.strip()
    old, new = before.document.source, after.document.source
    element = next(e for e in before.queue_elements[path][0].children if e.tag == "weight")
    assert new[: element.start] == old[: element.start]
    assert new[len(new) - (len(old) - element.end) :] == old[element.end :]
    others = {q.path: dict(q.properties) for q in before.tree if q.path != path}
    assert {q.path: dict(q.properties) for q in after.tree if q.path != path} == others


@pytest.mark.parametrize(
    ("text", "cluster", "expected"),
    [
        ("4096 mb, 4 vcores", (8192, 8), (4096, 4)),
        ("4096mb,4vcores", (8192, 8), (4096, 4)),
        ("4 vcores 4096.5 MB", (8192, 8), (4096, 4)),
        ("50%", (8191, 9), (4095, 4)),
        ("50.5% memory, 25% cpu", (1000, 8), (505, 2)),
        ("25% cpu, 50% memory", (1000, 8), (500, 2)),
        ("vcores=3, memory-mb=700", (1000, 8), (700, 3)),
        ("memory-mb=700", (1000, 8), (700, 2**31 - 1)),
        ("vcores=50%", (1000, 8), (1000, 4)),
        ("yarn.io/gpu=1, memory-mb=5", (1000, 8), (5, 2**31 - 1)),
    ],
)
def test_amounts_of_resources(text: str, cluster: tuple[int, int], expected: tuple[int, int]) -> None:
    spec = parse_resources(text)
    assert spec.resolve(*cluster, missing=2**63 - 1) == expected
    assert parse_resources(spec.format()).resolve(*cluster, missing=2**63 - 1) == expected


@pytest.mark.parametrize(
    "text",
    ["", "4096", "4096 mb", "mb, vcores", "-1 mb, 1 vcores", "50% memory", "x%", "vcores=1.5", "a=b=c", "-5%", "1,2,3"],
)
def test_amounts_that_the_resource_manager_refuses(text: str) -> None:
    with pytest.raises(InputError):
        parse_resources(text)


def _queue(body: str) -> str:
    return f'<allocations><queue name="a">{body}</queue></allocations>'


@pytest.mark.parametrize(
    ("text", "rule_id", "severity"),
    [
        (_queue('<maxAMShare>0.5</maxAMShare><queue name="b"/>'), "fair-leaf-only", Severity.ERROR),
        (
            '<allocations><queue name="a" type="parent"><maxAMShare>1</maxAMShare></queue></allocations>',
            "fair-leaf-only",
            Severity.ERROR,
        ),
        (_queue('<reservation/><queue name="b"/>'), "fair-leaf-only", Severity.ERROR),
        (_queue("<weight>0</weight>"), "fair-weight", Severity.ERROR),
        (_queue("<weight>-1</weight>"), "fair-weight", Severity.ERROR),
        (_queue("<weight>x</weight>"), "fair-value", Severity.ERROR),
        (_queue("<weight/>"), "fair-value", Severity.ERROR),
        (_queue("<maxRunningApps>99999999999</maxRunningApps>"), "fair-value", Severity.ERROR),
        (_queue("<maxRunningApps>0</maxRunningApps>"), "fair-max-apps", Severity.WARNING),
        (_queue("<maxAMShare>0</maxAMShare>"), "fair-am-share", Severity.ERROR),
        (_queue("<maxAMShare>1.5</maxAMShare>"), "fair-am-share", Severity.WARNING),
        (
            _queue("<minResources>2 mb,1 vcores</minResources><maxResources>1 mb,1 vcores</maxResources>"),
            "fair-min-above-max",
            Severity.ERROR,
        ),
        (_queue("<maxResources>0 mb,1 vcores</maxResources>"), "fair-max-zero", Severity.ERROR),
        (_queue("<minResources>10%</minResources>"), "fair-percent-ignored", Severity.WARNING),
        (_queue('<schedulingPolicy>fifo</schedulingPolicy><queue name="b"/>'), "fair-policy-nesting", Severity.ERROR),
        (_queue("<schedulingPolicy>drf</schedulingPolicy>"), "fair-policy-nesting", Severity.ERROR),
        (_queue("<schedulingPolicy>other</schedulingPolicy>"), "fair-value", Severity.ERROR),
        (_queue("<maxRunningJobs>3</maxRunningJobs>"), "fair-unknown-element", Severity.WARNING),
        (_queue("<weight>1</weight><weight>2</weight>"), "fair-repeated-element", Severity.WARNING),
        (_queue("<minSharePreemptionTimeout>-1</minSharePreemptionTimeout>"), "fair-value", Severity.ERROR),
        (_queue("<allowPreemptionFrom>yes</allowPreemptionFrom>"), "fair-boolean", Severity.WARNING),
        ('<allocations><queue name="root"/><queue name="b"/></allocations>', "fair-root-alone", Severity.ERROR),
        ('<allocations><queue name="a"/><queue name="a"/></allocations>', "fair-repeated-queue", Severity.WARNING),
        ('<allocations><queue name=" a"/></allocations>', "fair-name-blanks", Severity.WARNING),
        (
            "<allocations><defaultQueueSchedulingPolicy>fifo</defaultQueueSchedulingPolicy></allocations>",
            "fair-default-policy",
            Severity.ERROR,
        ),
        (
            "<allocations><queuePlacementPolicy><rule name='specified'/></queuePlacementPolicy></allocations>",
            "fair-placement",
            Severity.ERROR,
        ),
        ("<allocations><queuePlacementPolicy/></allocations>", "fair-placement", Severity.ERROR),
        (
            "<allocations><user name='u'><maxRunningJobs>1</maxRunningJobs></user></allocations>",
            "fair-unknown-element",
            Severity.WARNING,
        ),
        (
            '<allocations><queue name="a"><queue name="x"/></queue><queue name="b"><queue name="x"/></queue>'
            "</allocations>",
            "fair-same-leaf",
            Severity.WARNING,
        ),
    ],
)
def test_findings(text: str, rule_id: str, severity: Severity) -> None:
    found = [finding for finding in validate(parse_allocations(text)) if finding.rule_id == rule_id]
    assert [finding.severity for finding in found] == [severity]


def test_findings_name_queue_property_and_value() -> None:
    finding = validate(parse_allocations(_queue("<weight>-1.5</weight>")))[0]
    assert (finding.queue, finding.property) == ("root.a", "weight")
    assert "-1.5" in finding.message


def test_a_sound_file_has_no_findings() -> None:
    text = _queue("<weight>2</weight><minResources>1024 mb,1 vcores</minResources><maxAMShare>-1</maxAMShare>")
    assert validate(parse_allocations(text)) == ()
