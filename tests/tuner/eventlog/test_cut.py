"""Logs that are cut or damaged: what is whole counts, what is lost is said."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tuner.eventlog.synthetic import application, end, executor, stage, task, text
from tuner.errors import InputError
from tuner.spark.eventlog import ApplicationLog, LogState, read_log

EVENTS = [*application(), executor("1"), stage(0, 5), *(task(number) for number in range(5)), stage(0, 5, 3000), end()]
TEXT = text(*EVENTS)
LINES = TEXT.splitlines(keepends=True)
FRAMES = [zstandard.ZstdCompressor().compress(line) for line in LINES]
ZSTD = b"".join(FRAMES)
ENDS = list(accumulate(map(len, FRAMES)))


def read_bytes(tmp_path: Path, data: bytes) -> ApplicationLog:
    path = tmp_path / "log"
    path.write_bytes(data)
    return read_log(path)


@given(cut=st.integers(0, len(TEXT)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_plain_log_cut_at_any_byte(tmp_path: Path, cut: int) -> None:
    log = read_bytes(tmp_path, TEXT[:cut])
    whole = sum(len(b"".join(LINES[: n + 1]).rstrip()) <= cut for n in range(len(LINES)))
    assert sum(log.events.values()) == whole
    assert log.totals.tasks == max(0, min(5, whole - 4))
    if whole == 0:
        assert log.state is LogState.NOT_READY
    else:
        assert log.state is (LogState.COMPLETE if whole == len(LINES) else LogState.INCOMPLETE)
        assert log.end_estimated == (whole < len(LINES))


@given(cut=st.integers(0, len(ZSTD)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_zstd_log_cut_at_any_byte(tmp_path: Path, cut: int) -> None:
    whole = sum(each <= cut for each in ENDS)
    log = read_bytes(tmp_path, ZSTD[:cut])
    # The text of a frame may be whole before its last byte is there.
    assert whole <= sum(log.events.values()) <= whole + 1
    assert log.state is not LogState.DAMAGED


def test_cut_mid_line_estimates_the_end(tmp_path: Path) -> None:
    """G3-01."""
    log = read_bytes(tmp_path, b"".join(LINES[:9]) + LINES[9][:40])
    assert log.state is LogState.INCOMPLETE
    assert log.totals.tasks == 5
    assert log.end_s == pytest.approx(1_700_000_002.0)
    assert "The log is cut off: line 10 is no whole event." in log.losses


def test_bad_line_in_the_middle_is_damage_and_the_rest_counts(tmp_path: Path) -> None:
    """G3-01: only a last line may be half a line."""
    log = read_bytes(tmp_path, b"".join([*LINES[:5], LINES[5][:50] + b"\n", *LINES[6:]]))
    assert log.state is LogState.DAMAGED
    assert log.bad_lines == 1
    assert log.totals.tasks == 4
    assert "Line 6 is no whole event, though more follows; it is left out." in log.losses
    assert "1 task of 1 finished stage is missing from the log." in log.losses
    assert not log.end_estimated


def test_a_bad_line_of_an_event_that_is_not_needed_is_bad_all_the_same(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, b"".join([*LINES[:5], b'{"Event":"SomethingNew","deep":{"a":[1,2}}\n', *LINES[5:]]))
    assert log.state is LogState.DAMAGED
    assert log.bad_lines == 1


def test_many_bad_lines_are_summed_up(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, b"".join([*LINES[:4], b'{"Event":"x\n' * 50, *LINES[4:]]))
    assert log.bad_lines == 50
    assert log.totals.tasks == 5
    assert "40 more such places are not listed." in log.losses


def test_damaged_frame_in_the_middle(tmp_path: Path) -> None:
    frames = list(FRAMES)
    frames[6] = frames[6][:20] + b"\xff" * (len(frames[6]) - 20)
    log = read_bytes(tmp_path, b"".join(frames))
    assert log.state is LogState.DAMAGED
    assert log.totals.tasks == 4
    assert not log.end_estimated


def test_two_applications_in_one_file(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, TEXT + text(*application("application_1_0002"), *(task(number) for number in range(9))))
    assert log.application_id == "application_1_0001"
    assert log.totals.tasks == 5
    assert log.state is LogState.DAMAGED
    assert (
        "A second application (application_1_0002) starts at line 13; it and all after it are left out." in log.losses
    )


def test_times_that_make_no_sense(tmp_path: Path) -> None:
    odd = [task(5, launch=3000, finish=2000), task(6), task(7)]
    odd[1]["Task Info"]["Launch Time"] = -1
    del odd[2]["Task Info"]["Finish Time"]
    log = read_bytes(tmp_path, text(*EVENTS[:-1], *odd, end()))
    assert log.totals.tasks == 8
    assert log.totals.duration_s == pytest.approx(5.0)
    assert "3 tasks have no sensible times and count 0 s." in log.losses
    assert log.busy_s == pytest.approx(1.0)


def test_numbers_that_do_not_fit(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, text(*EVENTS[:-1], task(5, **{"Result Size": 2**70}), end()))
    assert log.totals.tasks == 5
    assert log.state is LogState.DAMAGED
    assert any("SparkListenerTaskEnd (1)" in sentence for sentence in log.losses)


def test_blank_lines_and_line_ends_of_windows(tmp_path: Path) -> None:
    log = read_bytes(tmp_path, b"\n\r\n".join(line.rstrip() for line in LINES) + b"\r\n\r\n")
    assert log.state is LogState.COMPLETE
    assert log.totals.tasks == 5


def test_clock_ahead_never_gives_negative_driver_time(tmp_path: Path) -> None:
    """G3-07."""
    log = read_bytes(tmp_path, text(*EVENTS[:-1], task(5, launch=0, finish=60_000), end(10_000)))
    assert log.driver_s == 0.0
    assert any("longer than the application's" in sentence for sentence in log.losses)


@pytest.mark.parametrize(
    "data", [b"hello\n", b"\x00" * 100, b'["a"]\n', b"\x28\xb5\x2f\xfd" + b"\xff" * 100, b"{}\n"], ids=range(5)
)
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="is not a Spark event log"):
        read_bytes(tmp_path, data)


def test_empty_file_is_not_ready(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"").state is LogState.NOT_READY
