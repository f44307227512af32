"""``yarntune submit`` and ``yarntune-submit``: spark-submit with the recommended configuration."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import click

from tuner.submit.order import Mode, order_from, read_pins
from tuner.submit.wrapper import submit as run_submit


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="off: spark-submit alone; recommend: say what would be set; apply: set it; explore: apply, and now and then "
    "another one near it.  [default: YARNTUNE_MODE, else apply]",
)
@click.option("--job", help="Name of the job; runs of one name belong together.  [default: YARNTUNE_JOB]")
@click.option(
    "--pin",
    "pins",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set this property in the run, and never touch it; without a value only the latter.  [default: YARNTUNE_PIN]",
)
@click.argument("tokens", metavar="-- SPARK-SUBMIT-ARGS", nargs=-1, type=click.UNPROCESSED, required=True)
def submit(mode: str | None, job: str | None, pins: tuple[str, ...], tokens: tuple[str, ...]) -> None:
    """Submit a Spark application with the configuration that is recommended for the load of now; record the run.

    What comes after -- is spark-submit's command line. What it sets itself always wins, application arguments are not
    looked into, and the exit status is spark-submit's. A fault of ours never costs a run: then it is submitted as it
    is, with a line that says so.
    """
    own = order_from(tokens, os.environ)
    order = replace(
        own,
        mode=Mode(mode) if mode else own.mode,
        job=job or own.job,
        pins={**own.pins, **read_pins(pins)},
    )
    sys.exit(run_submit(order, os.environ))
