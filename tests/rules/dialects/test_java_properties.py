from __future__ import annotations

import pytest

from rules.dialects.java_properties import read_java_properties
from tuner.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1", {"a": "1"}),
        ("  a = 1 ", {"a": "1 "}),
        ("a: 1\r\nb:2\r\n", {"a": "1", "b": "2"}),
        ("# a=1\n! b=2\n\nc=3\n", {"c": "3"}),
        ("a=x=y:z", {"a": "x=y:z"}),
        ("a\\=b=1", {"a=b": "1"}),
        ("a=1,\\\n   2,\\\n   3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=back\\\\slash\\ttab\\u00e9", {"a": "back\\slash\ttabé"}),
        ("a=ends in two\\\\\nb=2", {"a": "ends in two\\", "b": "2"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=", {"a": ""}),
        ("a=\u2028x", {"a": "\u2028x"}),
    ],
)
def test_values_are_those_that_java_reads(text, values):
    read = read_java_properties(text.encode(), "f")
    assert read.values() == values
    assert read.render() == text.encode()


def test_a_change_keeps_everything_else():
    text = "# top\r\na = 1\r\nlong=x,\\\r\n  y\r\n\r\nlast=9"
    changed = read_java_properties(text.encode(), "f").with_changes({"a": "2", "long": "z", "new": " =\\"})
    assert changed.render().decode() == "# top\r\na = 2\r\nlong=z\r\n\r\nlast=9\r\nnew=\\ =\\\\\r\n"
    assert changed.values() == {"a": "2", "long": "z", "last": "9", "new": " =\\"}


def test_the_last_of_equal_names_is_changed_and_all_are_removed():
    read = read_java_properties(b"a=1\nb=2\na=3\n", "f")
    assert read.with_changes({"a": "4"}).render() == b"a=1\nb=2\na=4\n"
    assert read.with_changes({"a": None}).render() == b"b=2\n"


def test_a_line_that_is_none_is_named():
    with pytest.raises(InputError, match="f, line 3: 'nonsense' is not NAME=VALUE"):
        read_java_properties(b"a=1,\\\n2\nnonsense\n", "f")


def test_the_same_value_keeps_its_way_of_writing():
    text = b"a=caf\\u00e9,\\\n  x\n"
    assert read_java_properties(text, "f").with_changes({"a": "café,x"}).render() == text
