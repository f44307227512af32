"""``yarntune tune``: tunes one Spark application on a live cluster."""

from __future__ import annotations

import math
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json
from tuner.errors import InputError
from tuner.settings import Settings

if TYPE_CHECKING:
    from types import FrameType


_SETTING = "NAME=VALUE"


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in values:
        name, separator, value = text.partition("=")
        if not separator or not name.strip().startswith("spark."):
            raise click.BadParameter(f"{text!r} is not of the form spark.{_SETTING.lower()}")
        pairs[name.strip()] = value.strip()
    return pairs


def _number(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    # A range lets NaN through, since it is neither below nor above anything.
    if math.isnan(value):
        raise click.BadParameter("nan is not a number between 0 and 1")
    return value


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "--trials",
    type=click.IntRange(2, 1000),
    default=10,
    show_default=True,
    help="Runs in all, the default's among them.",
)
@click.option(
    "--slack",
    type=click.FloatRange(0, 1),
    callback=_number,
    default=0.05,
    show_default=True,
    help="How much slower than the fastest the result may be.",
)
@click.option("--queue", help="YARN queue.  [default: spark.yarn.queue, else default]")
@click.option(
    "--pin",
    "pins",
    multiple=True,
    callback=_pairs,
    metavar=_SETTING,
    help="Set this property in every run and do not tune it.",
)
@click.option("--resume", is_flag=True, help="Go on with the interrupted search for this job.")
@click.option(
    "--final-runs",
    type=click.IntRange(0, 20),
    default=0,
    show_default=True,
    help="Run default, fastest and best so often again, in turn, and judge by these runs.",
)
@click.option(
    "--runs-ahead",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="How often the job is going to run with the result: the search ends early when another trial is not expected "
    "to pay back in so many runs.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the search.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the best configuration as a properties file for spark-submit.",
)
@click.option("--name", help="Name of the job in the store.  [default: the program's file name]")
@click.option("--class", "main_class", help="Main class, for a jar.")
@click.option(
    "--deploy-mode",
    type=click.Choice(["client", "cluster"]),
    default="client",
    show_default=True,
    help="As for spark-submit.",
)
@click.option(
    "--properties-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="As for spark-submit: read instead of spark-defaults.conf.",
)
@click.option("--py-files", help="As for spark-submit.")
@click.option("--files", help="As for spark-submit.")
@click.option("--jars", help="As for spark-submit.")
@click.option("--packages", help="As for spark-submit.")
@json_option
@click.argument("app", metavar="APP")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def tune(app: str, arguments: tuple[str, ...], as_json: bool, output: Path | None, **options: Any) -> None:
    """Find the configuration of the Spark application APP that reserves little memory and is still fast.

    APP runs with the configuration that it has today and then with others, each time for real, on the cluster that
    HADOOP_CONF_DIR names or on the embedded one. What comes after APP goes to the application untouched.

    Ctrl-C keeps what was learnt; the same command with --resume goes on.
    """
    from tuner.services.session import TuneOrder, run_tuning

    if output is not None and not output.name:
        raise click.BadParameter("the name of the file is empty", param_hint="-o")
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError(f"the folder of {str(output)!r} does not exist", "make it first, or name another file for -o")
    if output is not None and not os.access(output.absolute().parent, os.W_OK):
        raise InputError(f"the folder of {str(output)!r} cannot be written to", "name another file for -o")
    order = TuneOrder(
        app=app,
        arguments=arguments,
        passed_on=_passed_on(options),
        **{
            name: options[name]
            for name in ("trials", "slack", "queue", "pins", "resume", "final_runs", "runs_ahead", "seed", "name")
        },
        **{name: options[name] for name in ("main_class", "deploy_mode", "properties_file")},
    )
    from tuner.cli.tune_report import Reporter, result_json, result_text

    # `kill`, or a terminal that goes away, ends a tuning like Ctrl-C does: the application is killed and what was
    # learnt is kept. Under nohup SIGHUP stays ignored.
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _interrupt)
    reporter = Reporter(order, to_stderr=as_json)
    outcome = run_tuning(order, Settings.from_environment(), os.environ, reporter.progress)
    if as_json:
        print_json(result_json(outcome))
    else:
        click.echo(result_text(outcome))
    if output is not None and outcome.result.conf:
        outcome.write_properties(output)
        note(f"written: {output}")
    if outcome.result.interrupted:
        sys.exit(130)


def _passed_on(options: dict[str, Any]) -> tuple[str, ...]:
    names = {"name": "--name", "py_files": "--py-files", "files": "--files", "jars": "--jars", "packages": "--packages"}
    return tuple(part for key, flag in names.items() if options[key] for part in (flag, options[key]))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
