"""Finding logs, and putting their files in order."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.tuner.eventlog.synthetic import application, end, stage, task, text, write
from tuner.errors import InputError
from tuner.spark.eventlog import LogState, find_log, find_logs, read_log
from tuner.spark.eventlog.files import log_files

APP = "application_1700000000000_0001"


def rolling(folder: Path, names: list[str]) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


def test_order_is_that_of_numbers(tmp_path: Path) -> None:
    """G3-03: 10 comes after 9."""
    numbers = [1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    folder = rolling(tmp_path / f"eventlog_v2_{APP}", [f"events_{number}_{APP}.zstd" for number in numbers])
    files = log_files(folder)
    assert [part.name for part in files.parts] == [f"events_{number}_{APP}.zstd" for number in sorted(numbers)]
    assert files.losses == ()
    assert files.application_id == APP


def test_the_last_compact_file_stands_for_all_before_it(tmp_path: Path) -> None:
    names = [
        f"events_1_{APP}.compact",
        f"events_2_{APP}",
        f"events_3_{APP}",
        f"events_3_{APP}.compact",
        f"events_4_{APP}",
    ]
    files = log_files(rolling(tmp_path / f"eventlog_v2_{APP}", names))
    assert [part.name for part in files.parts] == [f"events_3_{APP}.compact", f"events_4_{APP}"]
    assert files.compacted
    assert files.losses == ()


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    """G3-03."""
    names = [f".events_1_{APP}.crc", f"events_1_{APP}", f"appstatus_{APP}", ".DS_Store"]
    files = log_files(rolling(tmp_path / f"eventlog_v2_{APP}", names))
    assert [part.name for part in files.parts] == [f"events_1_{APP}"]


def test_missing_files_are_named(tmp_path: Path) -> None:
    names = [f"events_{number}_{APP}" for number in (2, 3, 7, 9)]
    files = log_files(rolling(tmp_path / f"eventlog_v2_{APP}", names))
    assert files.losses == (
        "Of the rolled log file 1 is missing.",
        "Of the rolled log files 4 to 6 are missing.",
        "Of the rolled log file 8 is missing.",
    )


def test_a_log_split_over_files_reads_as_one(tmp_path: Path) -> None:
    events = [*application(APP), stage(0, 12), *(task(number) for number in range(12)), stage(0, 12, 4000), end()]
    folder = rolling(tmp_path / f"eventlog_v2_{APP}", [])
    for number in range(12):
        first, last = number * len(events) // 12, (number + 1) * len(events) // 12
        (folder / f"events_{number + 1}_{APP}").write_bytes(text(*events[first:last]))
    whole = read_log(write(tmp_path / "whole", *events))
    log = read_log(folder)
    assert log.state is LogState.COMPLETE
    assert log.events == whole.events
    assert log.stages[0].tasks.column("task_id").tolist() == list(range(12))


def test_zip_of_the_history_server(tmp_path: Path) -> None:
    path = tmp_path / f"eventLogs-{APP}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"eventlog_v2_{APP}/events_2_{APP}", text(task(0), end()))
        archive.writestr(f"eventlog_v2_{APP}/events_1_{APP}", text(*application(APP)))
        archive.writestr(f"eventlog_v2_{APP}/appstatus_{APP}", b"")
    log = read_log(path)
    assert log.state is LogState.COMPLETE
    assert log.totals.tasks == 1


def test_zip_of_several_attempts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "eventLogs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{APP}_1", text(*application(APP)))
        archive.writestr(f"{APP}_2", text(*application(APP)))
    with pytest.raises(InputError, match="2 files, which are not the parts of one event log"):
        read_log(path)


def test_broken_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log", text(*application(APP), end()))
    data = bytearray(path.read_bytes())
    data[60:80] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        read_log(path)


def test_no_log_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no event log at"):
        read_log(tmp_path / "nothing")
    with pytest.raises(InputError, match="holds no event log"):
        read_log(tmp_path)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([f"{APP}.zstd"], f"{APP}.zstd"),
        ([f"{APP}.inprogress"], f"{APP}.inprogress"),
        ([f"{APP}_1.lz4", f"{APP}_2.lz4.inprogress"], f"{APP}_2.lz4.inprogress"),
        ([f"{APP}_2", f"{APP}_10"], f"{APP}_10"),
        ([f"{APP}_1", f"{APP}_1.inprogress"], f"{APP}_1"),
        ([f"{APP}0", f"{APP}.txt", f".{APP}.crc", f"x{APP}"], None),
        ([], None),
    ],
)
def test_finding_single_files(tmp_path: Path, names: list[str], expected: str | None) -> None:
    for name in names:
        (tmp_path / name).touch()
    found = find_log(tmp_path, APP)
    assert (found.name if found else None) == expected


def test_finding_rolling_folders_of_attempts(tmp_path: Path) -> None:
    for attempt in (1, 2):
        rolling(tmp_path / f"eventlog_v2_{APP}_{attempt}", [f"appstatus_{APP}_{attempt}"])
    (tmp_path / f"eventlog_v2_{APP}_3").touch()  # a file of that name is none
    assert [path.name for path in find_logs(tmp_path.as_uri(), APP)] == [
        f"eventlog_v2_{APP}_1",
        f"eventlog_v2_{APP}_2",
    ]


def test_names_as_spark_cleans_them(tmp_path: Path) -> None:
    (tmp_path / "local_1-my-app").touch()
    assert find_log(tmp_path, "Local.1:My App") == tmp_path / "local_1-my-app"


def test_other_file_systems_are_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not on this machine") as refused:
        find_log("hdfs:///spark-logs", APP)
    assert "hdfs dfs -get" in refused.value.hint
    with pytest.raises(InputError, match="there is no folder"):
        find_log(tmp_path / "absent", APP)
