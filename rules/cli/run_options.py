"""Options that ``run-once`` and ``daemon`` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["run_options"]

_OPTIONS = (
    click.option(
        "--policy",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="What may be changed and when; without it everything may, and nothing is applied.",
    ),
    click.option(
        "--mode", type=click.Choice(["off", "recommend", "apply"]), help="In place of the policy's (recommend)."
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn."),
    click.option(
        "--watch",
        "watch_s",
        type=click.FloatRange(min=0),
        default=30.0,
        show_default=True,
        metavar="S",
        help="Seconds for which the cluster is watched after a change.",
    ),
    click.option(
        "--time-limit",
        "search_s",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="S",
        help="The most seconds that one search takes.",
    ),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
