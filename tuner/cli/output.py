"""How commands print: data on stdout, notes on stderr, one shape of table and JSON for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for machines on stdout; notes go to stderr."
)


def print_json(value: Any) -> None:
    """Prints one JSON document, keys in the order given."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def note(text: str) -> None:
    """Prints a note for people, on stderr."""
    click.echo(text, err=True)


def render_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain text table; a column whose cells all look like numbers is set flush right.

    Args:
        header: the columns' titles.
        rows: the cells, already text, as many in each row as there are titles.
    """
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _is_number(cell: str) -> bool:
    return cell.strip("-+ %x.,0123456789e") == ""
