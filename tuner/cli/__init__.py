"""The command line: one ``yarntune``, its commands loaded only when they are called."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

import click

from tuner.cli.lazy import CommandEntry, LazyGroup
from tuner.errors import YarntuneError

__all__ = ["COMMANDS", "cli", "main"]


COMMANDS: dict[str, CommandEntry] = {
    "doctor": CommandEntry("tuner.cli.doctor:doctor", "what is there, and how to mend what is not"),
    "cluster": CommandEntry("workloads.cli.cluster:cluster", "the embedded YARN cluster: up, status, env, down"),
    "workload": CommandEntry("workloads.cli.workload:workload", "workloads: list, import, reduce, synthesize, replay"),
    "tune": CommandEntry("tuner.cli.tune:tune", "tune one Spark application on a live cluster"),
    "submit": CommandEntry("tuner.cli.submit:submit", "spark-submit with the recommended configuration"),
    "recommend": CommandEntry("tuner.cli.recommend:recommend", "what to submit a job with, for the load of now"),
    "analyze": CommandEntry("tuner.cli.analyze:analyze", "what an event log says, and what to set"),
    "scheduler": CommandEntry("rules.cli:scheduler", "the queues: predict, optimize, change"),
    "jobs": CommandEntry("tuner.cli.jobs:jobs", "the jobs that the store knows"),
    "history": CommandEntry("tuner.cli.jobs:history", "the runs of one job"),
    "web": CommandEntry("web.cli:web", "the dashboard, and who may use it"),
    "db": CommandEntry("tuner.cli.db:db", "the store's schema: upgrade, status"),
}


@click.group(cls=LazyGroup, entries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="yarntune", prog_name="yarntune")
def cli() -> None:
    """Spark jobs and YARN queues that configure themselves.

    Start with `yarntune doctor`, which says what is there and how to mend what is not.
    """


def main() -> NoReturn:
    """Runs the command line; the exit status is 0 done, 1 error, 2 usage, 130 interrupted."""
    try:
        # None leaves it to click, which looks whether the output is a terminal.
        status = cli.main(standalone_mode=False, color=False if os.environ.get("NO_COLOR") else None)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        status = 130
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        status = 130
    except YarntuneError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        status = 1
    except BrokenPipeError:
        # The reader of the pipe has gone (`| head`).
        _drop_output()
        status = 1
    except OSError as error:
        # A full disk, a folder without permission: the machine's, and not ours to write a report about.
        click.echo(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", err=True)
        _drop_output()
        status = 1
    except Exception as error:
        click.echo(f"error: {type(error).__name__}: {error}", err=True)
        click.echo(f"hint: this is a fault of yarntune; the details are in {_write_traceback()}", err=True)
        status = 1
    sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """Python would write what is left in its buffer at exit, and complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_traceback() -> Path:
    handle, name = tempfile.mkstemp(prefix="yarntune-fault-", suffix=".txt")
    with os.fdopen(handle, "w") as file:
        file.write(traceback.format_exc())
    return Path(name)
