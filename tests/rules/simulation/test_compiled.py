"""The compiled code on the disk, when several processes make it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
import sys

import numpy as np

from rules.simulation.compiled import entry_point


@entry_point
def total(numbers):
    found = numbers[0] * 0
    for number in numbers:
        found += number
    return found


if __name__ == "__main__":
    print(total(np.arange(1, 5, dtype=sys.argv[1])))
"""
KINDS = ("int8", "int32", "int64", "uint32", "float32", "float64")


def test_versions_that_are_made_at_once_do_not_take_each_others_place(tmp_path: Path) -> None:
    """A version that stands in another's file would be run for it, on data of another shape."""
    program = tmp_path / "versions.py"
    program.write_text(MODULE)
    root = str(Path(__file__).resolve().parents[3])
    environ = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": root}
    for _ in range(2):
        running = [
            subprocess.Popen([sys.executable, str(program), kind], env=environ, stdout=subprocess.PIPE, text=True)
            for kind in KINDS
        ]
        said = [process.communicate(timeout=300)[0].strip() for process in running]
        assert [float(each) for each in said] == [10.0] * len(KINDS)
    assert len(list((tmp_path / "cache").rglob("versions.total-*.nbc"))) == len(KINDS)
