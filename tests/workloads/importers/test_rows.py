"""Files into rows: compression, bad rows, and files that are not whole."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
import zstandard

from tuner.errors import InputError
from workloads.importers.rows import BadRowError, RowReader, whole

LINES = b"".join(b"%d\n" % number for number in range(200_000))


def number(line: bytes) -> int | None:
    return None if line.startswith(b"#") else whole(line, "the number")


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (LINES, LINES),
        (LINES[:-1], LINES),
        (gzip.compress(LINES), LINES),
        (zstandard.compress(LINES), LINES),
        (gzip.compress(LINES[:200]) + gzip.compress(LINES[200:500]), LINES[:500]),
    ],
    ids=["plain", "no last break", "gzip", "zstd", "gzip members"],
)
def test_rows_come_in_order_whatever_the_compression(packed: bytes, text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(packed)
    expected = [int(line) for line in text.split()]
    reader = RowReader()
    assert list(reader.read(path, number)) == expected
    (file,) = reader.files
    assert (file.rows, file.size_bytes) == (len(expected), len(packed))
    assert file.sha256 == hashlib.sha256(packed).hexdigest()


def test_a_bad_row_is_named_by_line_and_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"# a comment\r\n1\r\n\r\nx\r\n2\n-3\n4")
    reader = RowReader(max_bad_share=0.5)
    assert list(reader.read(path, number)) == [1, 2, 4]
    assert reader.bad_rows == (
        "trace.csv:4: the number is 'x', not a whole number",
        "trace.csv:6: the number is -3, below 0",
    )
    assert (reader.files[0].rows, reader.files[0].bad_rows) == (5, 2)


def test_more_bad_rows_than_allowed_refuse_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"1\n" * 97 + b"x\n" * 3)
    assert len(list(RowReader(max_bad_share=0.03).read(path, number))) == 97
    with pytest.raises(InputError, match=r"3 of 100 rows are bad, more than 2\.00%: trace\.csv:98: the number is 'x'"):
        list(RowReader(max_bad_share=0.02).read(path, number))


def test_rubbish_is_refused_long_before_its_end(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"x\n" * 100_000)
    read: list[int] = []
    with pytest.raises(InputError, match="1000 of 1000 rows"):
        list(RowReader(progress=read.append).read(path, number))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_file_that_is_cut_off_is_refused(pack, tmp_path: Path) -> None:
    packed = pack(LINES)
    path = tmp_path / "trace.csv.packed"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="is not whole"):
        list(RowReader().read(path, number))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        list(RowReader().read(tmp_path / "none", number))


def test_progress_adds_up_to_the_files_size(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(LINES))
    told: list[int] = []
    list(RowReader(progress=told.append).read(path, number))
    assert sum(told) == path.stat().st_size


def test_whole_numbers() -> None:
    assert whole(b"9223372036854775807", "x") == 2**63 - 1
    for cell in (b"", b"1.5", b"nan", b"\xff"):
        with pytest.raises(BadRowError):
            whole(cell, "x")
