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


NAMES = """
import sys

import numba
import numpy as np

import rules.simulation.compiled

for fields in sys.argv[1:]:
    dtype = np.dtype([(name, "i8") for name in fields])
    print(numba.from_dtype(dtype).mangling_args)
"""


def test_a_record_has_the_same_name_in_every_process_and_no_other_record_has_it() -> None:
    """Functions over two records, made by two processes, are run by a third: one name would make them one function."""

    def names(*records: str) -> list[str]:
        command = [sys.executable, "-c", NAMES, *records]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()

    assert names("ab", "cd") == names("cd", "ab")[::-1]
    assert names("ab") != names("cd")
