from __future__ import annotations

import pytest

from rules.dialects.hadoop_xml import read_hadoop_xml, substitute
from tuner.errors import InputError


def xml(body: str) -> bytes:
    return f"<?xml version='1.0'?>\n<configuration>\n{body}\n</configuration>\n".encode()


def test_names_are_trimmed_and_values_are_not():
    data = xml("<property><name>\n a.b \n</name><value> 5 </value></property>")
    assert read_hadoop_xml(data, "f").values() == {"a.b": " 5 "}


def test_the_last_of_equal_names_wins():
    data = xml("<property><name>a</name><value>1</value></property><property><name>a</name><value>2</value></property>")
    assert read_hadoop_xml(data, "f").values() == {"a": "2"}


def test_a_final_one_wins_over_all_that_follow_and_is_the_one_that_is_changed():
    data = xml(
        "<property><name>a</name><value>1</value><final>true</final></property>"
        "<property><name>a</name><value>2</value></property>"
    )
    read = read_hadoop_xml(data, "f")
    assert read.values() == {"a": "1"}
    assert read.with_changes({"a": "3"}).render() == data.replace(b"<value>1<", b"<value>3<")


def test_what_hadoop_itself_reads():
    """As ``Configuration`` of Hadoop 3.5 read these; it was asked."""
    data = xml(
        "<property><name>empty</name><value></value></property>"
        "<property><name>closed</name><value/></property>"
        "<property><name>blank</name><value> </value></property>"
        "<property><name>comment</name><value>1<!-- c -->2</value></property>"
        "<property><name>cdata</name><value><![CDATA[<x>]]></value></property>"
        "<property><name>twice</name><value>1</value><value>2</value></property>"
        "<property><name>shout</name><value>1</value><final> TRUE </final></property>"
        "<property><name>shout</name><value>2</value></property>"
        "<property name='half'><value>5</value></property>"
        "<configuration><property><name>nested</name><value>1</value></property></configuration>"
        "<property><name>kept</name><value>1</value></property><property><name>kept</name><value/></property>"
    )
    assert read_hadoop_xml(data, "f").values() == {
        "blank": " ",
        "comment": "12",
        "cdata": "<x>",
        "twice": "2",
        "shout": "2",
        "half": "5",
        "nested": "1",
        "kept": "1",
    }


def test_an_empty_value_is_filled_in_its_place():
    data = xml("<property><name>a</name><value></value></property>")
    assert read_hadoop_xml(data, "f").with_changes({"a": "1"}).render() == data.replace(b"<value>", b"<value>1")


def test_attributes_instead_of_elements():
    data = xml("<property name='a' value='1'/>")
    read = read_hadoop_xml(data, "f")
    assert read.values() == {"a": "1"}
    assert read.with_changes({"a": 'x "\\1" <'}).values() == {"a": 'x "\\1" <'}


def test_descriptions_are_kept():
    data = xml("<property><name>a</name><value>1</value><description> Why.\n</description></property>")
    (found,) = read_hadoop_xml(data, "f").with_changes({"a": "2"}).properties
    assert (found.value, found.description, found.final) == ("2", "Why.", False)


def test_includes_are_recognised():
    data = (
        b'<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="other.xml"/>'
        b"<property><name>a</name><value>1</value></property></configuration>"
    )
    assert read_hadoop_xml(data, "f").includes == ("other.xml",)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"<configuration><property></configuration>", "not well-formed"),
        (b"<allocations/>", "Fair Scheduler's allocation file"),
        (b"<html/>", "<html>"),
        (b"<configuration>{% for p in all %}<property><name>{{ p }}</name></property></configuration>", "template"),
        (b"<configuration>\n{{ everything }}\n</configuration>", "template"),
        (b"<configuration><property><value>1</value></property></configuration>", "without a <name>, line 1"),
        (b"<?xml version='1.0' encoding='klingon'?><configuration/>", "klingon"),
        (b"<configuration>\xff\xff</configuration>", "not text in utf-8"),
        (b"", "not well-formed"),
    ],
)
def test_what_is_no_configuration_is_refused_with_a_sentence(data, says):
    with pytest.raises(InputError) as caught:
        read_hadoop_xml(data, "f.xml")
    assert caught.value.message.startswith("f.xml")
    assert says in caught.value.message


BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<configuration><property><name>a</name><value>&c;</value></property></configuration>"""


@pytest.mark.parametrize("entity", ["file:///etc/hostname", "http://127.0.0.1:9/x"])
def test_external_entities_are_refused(entity):
    body = xml("<property><name>a</name><value>&e;</value></property>").partition(b"\n")[2]
    data = f'<!DOCTYPE c [<!ENTITY e SYSTEM "{entity}">]>'.encode() + body
    with pytest.raises(InputError, match="document type"):
        read_hadoop_xml(data, "f")


def test_entity_bombs_are_refused():
    with pytest.raises(InputError, match="document type"):
        read_hadoop_xml(BOMB, "f")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1", "gbk"])
def test_the_encoding_stays(encoding):
    declared = "" if encoding.startswith("utf-") else f'<?xml version="1.0" encoding="{encoding}"?>\n'
    word = "队列" if encoding in ("gbk", "utf-16") else "café"
    text = (
        f"{declared}<configuration><!-- {word} --><property><name>a</name><value>1</value></property></configuration>"
    )
    data = text.encode(encoding)
    read = read_hadoop_xml(data, "f")
    assert read.render() == data
    assert read.with_changes({"a": "2"}).render() == text.replace(">1<", ">2<").encode(encoding)


def test_what_the_encoding_lacks_becomes_a_reference():
    data = xml("<property><name>a</name><value>1</value></property>").replace(b"?>", b" encoding='iso-8859-1'?>", 1)
    changed = read_hadoop_xml(data, "f").with_changes({"a": "队"})
    assert b"&#38431;" in changed.render()
    assert read_hadoop_xml(changed.render(), "f").values() == {"a": "队"}


def test_new_properties_look_like_the_last_one():
    old = "\t<property>\r\n\t\t<name>a</name>\r\n\t\t<value>1</value>\r\n\t</property>\r\n"
    data = f"<configuration>\r\n{old}</configuration>\r\n".encode()
    changed = read_hadoop_xml(data, "f").with_changes({"b": "<2>"}).render()
    assert changed == data.replace(
        b"</property>\r\n",
        b"</property>\r\n\t<property>\r\n\t\t<name>b</name>\r\n\t\t<value>&lt;2&gt;</value>\r\n\t</property>\r\n",
    )


@pytest.mark.parametrize(
    "data", [b"<configuration/>", b"<configuration></configuration>", b"<configuration>\n</configuration>"]
)
def test_a_first_property(data):
    changed = read_hadoop_xml(data, "f").with_changes({"a": "1"})
    assert changed.values() == {"a": "1"}
    assert b"\n  <property>\n    <name>a</name>\n    <value>1</value>\n  </property>\n" in changed.render()


def test_a_removed_property_takes_its_line_and_all_its_repetitions():
    one = "  <property>\n    <name>a</name><value>1</value>\n  </property>\n"
    keep = "  <!-- keep -->\n  <property><name>b</name><value>2</value></property>\n"
    data = f"<configuration>\n{one}{keep}{one}</configuration>\n".encode()
    assert read_hadoop_xml(data, "f").with_changes({"a": None}).render() == (
        f"<configuration>\n{keep}</configuration>\n".encode()
    )


def test_a_property_without_a_value_gets_one_in_its_place():
    data = xml("<property><name>a</name><description>d</description></property>")
    read = read_hadoop_xml(data, "f")
    assert read.values() == {}
    changed = read.with_changes({"a": "1"})
    assert changed.render() == data.replace(b"</name>", b"</name><value>1</value>")


def test_a_comment_inside_a_value_stays():
    data = xml("<property><name>a</name><value>1<!-- for now --></value></property>")
    changed = read_hadoop_xml(data, "f").with_changes({"a": "2"})
    assert changed.values() == {"a": "2"}
    assert b"<!-- for now -->" in changed.render()


def test_variables_as_hadoop_puts_them_in():
    values = {
        "name": "b",
        "b": "1",
        "c": "${b}2",
        "two": "${b}${b}",
        "three": "${b}-${c}-${b}",
        "nested": "${${name}}",
        "self": "x${self}",
        "unknown": "${env.HOME}/${b}",
        "open": "${b",
        "nothing": "${}",
        "blank": "${b }",
    }
    assert substitute(values) == {
        **values,
        "c": "12",
        "two": "11",
        "three": "1-12-1",
        "nested": "1",
    }


def test_variables_that_go_round_stay_as_they_are_written():
    values = {"ping": "a${pong}", "pong": "b${ping}"}
    assert substitute(values) == values
