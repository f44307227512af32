"""Starts runners and hands blocks to them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tuner.errors import YarntuneError
from workloads.blocks.calibration import Calibration
from workloads.blocks.counters import Counters
from workloads.blocks.mix import Block, Ran, ran_of

__all__ = ["RUNNER", "run_blocks", "runner_command"]

RUNNER: Final = Path(__file__).with_name("runner.py")
_GRACE_S: Final = 60.0


def runner_command(calibration: Calibration, *, python: str = sys.executable) -> list[str]:
    """The command line of a runner; one more argument is a block, else it reads them."""
    # Isolated and without site: half of the start-up is looking for packages that it does not use.
    return [python, "-I", "-S", str(RUNNER), str(calibration.folder)]


def run_blocks(blocks: Sequence[Block], calibration: Calibration) -> Iterator[Ran]:
    """Runs blocks one after the other in one process, and yields what was measured of each as it ends.

    Raises:
        YarntuneError: the runner ended early; the message has what it said.
    """
    command = runner_command(calibration)
    pipe = subprocess.PIPE
    # In a session of its own: Linux shares the processors among sessions first (sched_autogroup_enabled).
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        assert runner.stderr is not None
        counters = Counters.of(runner.pid)
        try:
            for block in blocks:
                counters.read()
                runner.stdin.write(json.dumps(block.to_json()) + "\n")
                runner.stdin.flush()
                line = runner.stdout.readline()
                if not line:
                    raise YarntuneError(f"a block's runner ended early: {runner.stderr.read()[-400:]}")
                yield ran_of(json.loads(line), calibration, counters.read())
            runner.stdin.close()
            runner.wait(timeout=_GRACE_S)
        finally:
            counters.close()
            runner.kill()
