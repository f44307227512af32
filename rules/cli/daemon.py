"""``yarntune scheduler daemon``: the queue tuner as a service."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rules.cli.run_options import run_options
from tuner.cli.output import note

if TYPE_CHECKING:
    from rules.daemon.events import Sample
    from rules.daemon.result import RunResult

__all__ = ["daemon_command"]


@click.command("daemon")
@run_options
@click.option("--every", "every_s", type=click.FloatRange(min=1), default=900.0, show_default=True, metavar="S",
              help="Seconds between runs by the clock.")  # fmt: skip
@click.option("--look-every", "look_every_s", type=click.FloatRange(min=1), default=15.0, show_default=True,
              metavar="S", help="Seconds between looks for bursts, imbalance and the end of large jobs.")  # fmt: skip
@click.option("--rest", "rest_s", type=click.FloatRange(min=0), default=120.0, show_default=True, metavar="S",
              help="Seconds after a run in which no event starts another one.")  # fmt: skip
def daemon_command(
    policy: Path | None,
    mode: str | None,
    seed: int,
    watch_s: float,
    search_s: float,
    every_s: float,
    look_every_s: float,
    rest_s: float,
) -> None:
    """Run the queue tuner by the clock and by event, until SIGTERM or SIGINT.

    What is going on goes to stderr, a line each. An outage of the cluster or the store is told and survived. On
    SIGTERM a change that is being made is finished, and nothing else begun. The policy file is read anew at each run.
    """
    from rules.daemon.run import run_once
    from rules.daemon.service import DaemonTimes, QueueDaemon, take_sample
    from rules.daemon.setup import Wanted, open_run, read_policy
    from rules.policy import Mode
    from tuner.settings import Settings
    from tuner.yarn.client import ResourceManagerClient
    from tuner.yarn.locate import locate

    settings = Settings.from_environment()
    wanted = Wanted(policy, None if mode is None else Mode(mode), seed, watch_s, search_s)
    read_policy(wanted)  # a policy that cannot be read is an error at the start, not a line in a log

    def run() -> RunResult:
        with open_run(settings, wanted, note=note) as (context, options):
            return run_once(context, options)

    def look() -> Sample:
        with ResourceManagerClient.of(locate(settings), settings) as client:
            return take_sample(client, time.time())

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    note(f"every {every_s:g} s, looking for events every {look_every_s:g} s; SIGTERM ends it")
    times = DaemonTimes(every_s, look_every_s, rest_s)
    QueueDaemon(run, look, times, clock=time.monotonic, note=note).serve(stop)
    note("ended")
