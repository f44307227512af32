"""Figures as data: Plotly's traces with roles in place of colours, which the page fills in for light or dark. Pure.

A role is written ``@name`` (``@accent``, ``@good``, ``@bad``, ``@warn``, ``@muted``); ``app.js`` replaces it by the
colour of the theme. Text never holds markup: Plotly would turn it into inline styles, which the policy forbids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Chart:
    """A figure, and the table that says the same.

    Attributes:
        id: of its element.
        title: what it shows.
        summary: one sentence of what is to be seen, read aloud instead of the picture.
        traces: Plotly's ``data``.
        layout: Plotly's ``layout``, over the page's own.
        table: name of the table beside it.
    """

    id: str
    title: str
    summary: str
    traces: Sequence[Mapping[str, Any]]
    table: str
    layout: Mapping[str, Any] = field(default_factory=dict)

    @property
    def figure(self) -> dict[str, Any]:
        """For the page's script."""
        return {"data": list(self.traces), "layout": dict(self.layout)}


def text(value: object) -> str:
    """Text that Plotly shows as it is: it would read ``<`` as markup."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def points(
    name: str,
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    colour: str = "@accent",
    labels: Sequence[str] | None = None,
    symbol: str = "circle",
    size: int = 8,
) -> dict[str, Any]:
    """Single points, each with a label that shows when it is pointed at."""
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "name": text(name),
        "x": list(x),
        "y": list(y),
        "marker": {"color": colour, "size": size, "symbol": symbol, "line": {"width": 1, "color": "@surface"}},
    }
    if labels is not None:
        trace |= {"text": [text(each) for each in labels], "hovertemplate": "%{text}<extra></extra>"}
    return trace


def line(
    name: str,
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    colour: str = "@accent",
    dash: str = "solid",
    shape: str = "linear",
    fill: bool = False,
    markers: bool = False,
) -> dict[str, Any]:
    """A line; ``shape`` is Plotly's, ``hv`` for steps."""
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if markers else "lines",
        "name": text(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2, "dash": dash, "shape": shape},
        "hoverinfo": "skip" if dash != "solid" else "x+y+name",
    }
    if fill:
        trace |= {"fill": "tozeroy", "fillcolor": f"{colour}-soft"}
    return trace


def bars(
    name: str, labels: Sequence[str], values: Sequence[float | None], *, colour: str = "@accent"
) -> dict[str, Any]:
    """Bars that lie, the first at the top."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": text(name),
        "y": [text(label) for label in labels],
        "x": list(values),
        "marker": {"color": colour},
        "hovertemplate": "%{y}: %{x:.3g}<extra></extra>",
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title."""
    return {"title": {"text": text(title)}, **more}


def pareto_front(items: Sequence[tuple[float, float]]) -> list[int]:
    """Which points no other beats in both coordinates (less is better), by their place, from left to right."""
    order = sorted(range(len(items)), key=lambda i: items[i])
    front: list[int] = []
    least = float("inf")
    for i in order:
        if items[i][1] < least:
            front.append(i)
            least = items[i][1]
    return front


def parallel_coordinates(
    dimensions: Sequence[str], rows: Sequence[Mapping[str, str]], colours: Sequence[str], labels: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One line for each row over all dimensions, each dimension from its least value to its greatest.

    Drawn with ordinary lines: Plotly's own trace for it needs WebGL and a bundle three times the size.

    Args:
        dimensions: names of the columns.
        rows: a value as text for each of them.
        colours: a role for each row; later rows are drawn above earlier ones.
        labels: a text for each row.

    Returns:
        Traces and layout.
    """
    places = {name: _places([row.get(name, "") for row in rows]) for name in dimensions}
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": text(label),
            "x": list(range(len(dimensions))),
            "y": [places[name][row.get(name, "")] for name in dimensions],
            "line": {"color": colour, "width": 2},
            "marker": {"color": colour, "size": 5},
            "text": [f"{text(label)}: {text(name)} = {text(row.get(name, ''))}" for name in dimensions],
            "hovertemplate": "%{text}<extra></extra>",
            "showlegend": False,
        }
        for row, colour, label in zip(rows, colours, labels, strict=True)
    ]
    notes = [
        {"x": i, "y": y, "text": text(value), "showarrow": False, "yshift": 12, "font": {"size": 10}}
        for i, name in enumerate(dimensions)
        for value, y in _ends(places[name])
    ]
    layout = {
        "xaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(dimensions))),
            "ticktext": [text(_short(name)) for name in dimensions],
            "range": [-0.3, len(dimensions) - 0.7],
        },
        "yaxis": {"visible": False, "range": [-0.08, 1.15]},
        "annotations": notes,
    }
    return traces, layout


def _places(values: Sequence[str]) -> dict[str, float]:
    """Where each value is between 0 and 1: in proportion where all are numbers with one unit, else in order."""
    distinct = list(dict.fromkeys(values))
    numbers = {value: _number(value) for value in distinct}
    known = [each for each in numbers.values() if each is not None]
    if len(known) == len(distinct):
        low, high = min(known), max(known)
        width = high - low
        return {value: 0.5 if width == 0 else ((numbers[value] or 0.0) - low) / width for value in distinct}
    distinct.sort()
    return {value: i / max(1, len(distinct) - 1) for i, value in enumerate(distinct)}


def _number(value: str) -> float | None:
    digits = value.rstrip("abcdefghijklmnopqrstuvwxyzB")
    try:
        return float(digits)
    except ValueError:
        return None


def _ends(places: Mapping[str, float]) -> list[tuple[str, float]]:
    ordered = sorted(places.items(), key=lambda item: item[1])
    return ordered if len(ordered) == 1 else [ordered[0], ordered[-1]]


def _short(name: str) -> str:
    return name.removeprefix("spark.").removeprefix("executor.")
