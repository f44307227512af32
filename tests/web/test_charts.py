"""Figures as data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from web.charts import parallel_coordinates, pareto_front, text
from web.formats import NOTHING, cell, money, number, seconds, ticks

_POINTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30)


@given(_POINTS)
def test_the_front_is_what_no_other_point_beats(points: list[tuple[float, float]]) -> None:
    front = [points[i] for i in pareto_front(points)]
    for point in points:
        beaten = any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
        assert (point in front) is not beaten
    assert front == sorted(front), "from left to right, so that it can be drawn as steps"


def test_parallel_coordinates_are_in_proportion_for_numbers_and_in_order_for_names() -> None:
    rows = [{"m": "1024m", "codec": "lz4"}, {"m": "2048m", "codec": "zstd"}, {"m": "5120m", "codec": "lz4"}]
    traces, layout = parallel_coordinates(["m", "codec"], rows, ["@accent"] * 3, ["a", "b", "c"])
    assert [trace["y"] for trace in traces] == [[0.0, 0.0], [0.25, 1.0], [1.0, 0.0]]
    ends = {note["text"] for note in layout["annotations"]}
    assert ends == {"1024m", "5120m", "lz4", "zstd"}


def test_a_column_of_one_value_is_in_the_middle() -> None:
    traces, _ = parallel_coordinates(["m"], [{"m": "1"}, {"m": "1"}], ["@accent"] * 2, ["a", "b"])
    assert [trace["y"] for trace in traces] == [[0.5], [0.5]]


def test_text_in_a_figure_is_never_markup() -> None:
    assert text("<b>x</b> & y") == "&lt;b>x&lt;/b> &amp; y"


def test_times_amounts_and_money_for_people() -> None:
    assert [seconds(each) for each in (None, 0.04, 59.96, 61, 3599, 3661, 90000, -75)] == [
        NOTHING, "0.0 s", "60.0 s", "1 min 01 s", "59 min 59 s", "1 h 01 min", "1 d 01 h", "-1 min 15 s",
    ]  # fmt: skip
    assert [number(each) for each in (1234567, 3.14159, 12345.6)] == ["1,234,567", "3.1", "12,346"]
    assert cell(20_000.0, "gib_s") == "5.6 GiB·h"
    assert cell(1536, "mib") == "1.5 GiB"
    assert cell(-0.25, "change") == "-25.0%"
    assert money(0.0123, "EUR") == "0.0123 EUR"
    assert money(12.3, "EUR") == "12.30 EUR"


def test_parts_in_backticks_are_code_and_nothing_is_markup() -> None:
    assert str(ticks("run `a<b>` <i>")) == "run <code>a&lt;b&gt;</code> &lt;i&gt;"
    assert str(ticks("an `odd one")) == "an `odd one"
