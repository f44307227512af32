"""Google 2011: the life of a task event by event, the tables together, and the shared part of the trace."""

from __future__ import annotations

import gzip
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from workloads.importers.google import queue_of_priority, read_usage_series
from workloads.importers.google_tasks import NEVER_US, START_US, Event, MissingInfo, Run, TaskEvent, TaskLives
from workloads.importers.options import ImportOptions, MachineSize
from workloads.importers.registry import import_workload
from workloads.workload import Ending, Unsure, Workload

S = 1_000_000


def event(time_s: float, kind: Event, *, missing: int = -1, cpu: float = 0.5, memory: float = 0.25) -> TaskEvent:
    return TaskEvent(round(time_s * S), missing, 7, 0, kind, b"u", 1, 2, cpu, memory)


def lives(*events: TaskEvent) -> tuple[list[Run], TaskLives]:
    followed = TaskLives()
    ended = [run for each in events if (run := followed.happened(each)) is not None]
    return ended + followed.cut(), followed


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        (Event.EVICT, Ending.EVICTED),
        (Event.FAIL, Ending.FAILED),
        (Event.FINISH, Ending.FINISHED),
        (Event.KILL, Ending.KILLED),
        (Event.LOST, Ending.LOST),
    ],
)
def test_a_run_from_submit_to_its_end(kind: Event, ending: Ending) -> None:
    (run,), followed = lives(event(700, Event.SUBMIT), event(710, Event.SCHEDULE), event(760.5, kind))
    assert (run.submit_s, run.wait_s, run.duration_s, run.ending, run.unsure) == (700.0, 10.0, 50.5, ending, 0)
    assert not followed.odd


def test_an_evicted_task_runs_again() -> None:
    runs, followed = lives(
        event(700, Event.SUBMIT),
        event(701, Event.SCHEDULE),
        event(705, Event.EVICT),
        event(705, Event.SUBMIT),
        event(720, Event.SCHEDULE),
        event(800, Event.FINISH),
    )
    assert [(run.ending, run.wait_s, run.duration_s) for run in runs] == [
        (Ending.EVICTED, 1.0, 4.0),
        (Ending.FINISHED, 15.0, 80.0),
    ]
    assert not followed.odd


def test_killed_before_it_ran() -> None:
    (run,), _ = lives(event(700, Event.SUBMIT), event(730, Event.KILL))
    assert (run.ending, run.wait_s, run.duration_s) == (Ending.WITHDRAWN, 30.0, 0.0)


def test_what_ran_before_the_trace_ran_at_least_from_its_start() -> None:
    (run,), _ = lives(event(0, Event.SUBMIT), event(0, Event.SCHEDULE), event(650, Event.FINISH))
    assert (run.submit_s, run.duration_s, run.unsure) == (600.0, 50.0, Unsure.START)
    assert math.isnan(run.wait_s)


def test_what_is_alive_at_the_traces_end_is_censored() -> None:
    followed = TaskLives()
    followed.happened(event(700, Event.SUBMIT))
    followed.happened(event(710, Event.SCHEDULE))
    waiting = TaskEvent(720 * S, -1, 7, 1, Event.SUBMIT, b"", 0, 0, 0.1, 0.1)
    followed.happened(waiting)
    after = TaskEvent(NEVER_US, -1, 7, 0, Event.FINISH, b"", 0, 0, 0.1, 0.1)
    assert followed.happened(after) is None
    followed.happened(TaskEvent(900 * S, -1, 8, 0, Event.SUBMIT, b"", 0, 0, 0.1, 0.1))
    running, pending, _ = followed.cut()
    assert (running.ending, running.duration_s, running.unsure) == (Ending.RUNNING, 190.0, Unsure.END)
    assert (pending.ending, pending.duration_s, pending.wait_s) == (Ending.WAITING, 0.0, 180.0)


def test_an_update_changes_what_it_says_and_nothing_else() -> None:
    (run,), _ = lives(
        event(700, Event.SUBMIT),
        event(701, Event.UPDATE_PENDING, cpu=math.nan, memory=0.5),
        event(702, Event.SCHEDULE),
        event(703, Event.UPDATE_RUNNING, cpu=0.75, memory=math.nan),
        event(704, Event.FINISH),
    )
    assert (run.cpu, run.memory) == (0.75, 0.5)


def test_records_that_are_not_original_mark_the_run() -> None:
    (late,), _ = lives(
        event(700, Event.SUBMIT),
        event(701, Event.SCHEDULE),
        event(800, Event.LOST, missing=MissingInfo.NO_SNAPSHOT_OR_TRANSITION),
    )
    (unknown,), _ = lives(
        event(700, Event.SUBMIT, missing=MissingInfo.EXISTS_BUT_NO_CREATION),
        event(701, Event.SCHEDULE),
        event(800, Event.FINISH),
    )
    assert (late.unsure, unknown.unsure) == (Unsure.LATE_END, Unsure.START)


def test_transitions_that_cannot_be_are_counted() -> None:
    runs, followed = lives(
        event(700, Event.FINISH),
        event(701, Event.SCHEDULE),
        event(702, Event.SUBMIT),
        event(703, Event.SCHEDULE),
        event(704, Event.FINISH),
        event(704, Event.UPDATE_RUNNING),
    )
    assert [(run.submit_s, run.duration_s, run.unsure) for run in runs] == [(701.0, 3.0, Unsure.START)]
    assert sorted(followed.odd.values()) == [1, 1, 1, 1, 1]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(list(Event)), st.integers(0, 50)), max_size=60))
def test_no_time_is_lost_or_counted_twice(steps: list[tuple[int, Event, int]]) -> None:
    """Runs of one task never overlap, and together last no longer than the trace."""
    followed = TaskLives()
    now, runs = START_US, []
    for index, kind, gap_s in steps:
        now += gap_s * S
        run = followed.happened(TaskEvent(now, -1, 1, index, kind, b"", 0, 0, 0.1, 0.1))
        runs += [] if run is None else [run]
    runs += followed.cut()
    for index in range(4):
        own = [run for run in runs if run.index == index]
        assert sum(run.duration_s for run in own) <= (now - START_US) / S + 1e-6
        for before, after in pairwise(own):
            wait_s = 0.0 if math.isnan(before.wait_s) else before.wait_s
            assert before.submit_s + wait_s + before.duration_s <= after.submit_s + 1e-6


def test_bands_of_priority() -> None:
    assert [queue_of_priority(each) for each in (0, 1, 2, 8, 9, 11, 12)] == [
        *("free", "free", "batch", "batch"),
        *("production", "production", "monitoring"),
    ]


TASKS = f"""\
0,2,5,0,11,0,usr,2,9,,,,
0,2,5,0,11,1,usr,2,9,,,,
{700 * S},,6,0,,0,usr,0,1,0.25,0.5,0,0
{710 * S},,6,0,12,1,usr,0,1,0.25,0.5,0,0
{730 * S},,6,0,12,4,usr,0,1,0.25,0.5,0,0
{740 * S},,6,1,,0,usr,0,1,0.25,0.5,0,0
"""
JOBS = f"{690 * S},,6,0,usr,0,hash,logical\n{600 * S},,9,0,other,3,hash2,logical2\n"
MACHINES = f"0,11,0,p,0.5,0.5\n0,12,0,p,1,1\n{650 * S},11,1,p,,\n{660 * S},11,0,p,0.5,0.5\n{670 * S},12,2,p,0.5,0.25\n"
USAGE = f"""\
{710 * S},{720 * S},6,0,12,0.1,0.2,0.2,0,0,0.3,0,0,0.2,0,2,0.01,1,0,0.1
{720 * S},{730 * S},6,0,12,0.3,0.1,0.2,0,0,0.2,0,0,0.2,0,4,0.03,1,0,0.1
"""


def tables(folder: Path, **texts: str) -> Workload:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.csv.gz")
        paths[-1].write_bytes(gzip.compress(text.encode()))
    return import_workload(paths, ImportOptions("g", machine=MachineSize(1000, 20.0)))


def test_the_tables_together(tmp_path: Path) -> None:
    # Job 6 has a later part of usage and is named before its tasks are read.
    workload = tables(tmp_path, b_tasks=TASKS, c_jobs=JOBS, d_machines=MACHINES, a_usage=USAGE)
    jobs = {job.id: job for job in workload.jobs}
    assert [job.id for job in workload.jobs] == ["9", "5", "6"]
    assert (jobs["6"].name, jobs["6"].user, jobs["6"].queue, jobs["6"].submit_s) == ("logical", "usr", "free", 690.0)
    assert (jobs["6"].scheduling_class, jobs["6"].priority, jobs["9"].priority) == (0, 1, None)
    assert (jobs["9"].task_rows, jobs["5"].queue) == (0, "production")
    done, waiting = (workload.tasks_of(jobs["6"]).take([row]) for row in (0, 1))
    assert (done.memory_mib.item(), done.cores.item(), done.duration_s.item()) == (500, 5.0, 20.0)
    assert done.used_cores.item() == pytest.approx(0.2 * 20)
    assert (done.used_memory_mib.item(), done.cpi.item()) == (pytest.approx(300), pytest.approx(3))
    # The one that waits gets the only known duration, and says so.
    assert (waiting.duration_s.item(), waiting.unsure.item()) == (20.0, Unsure.DURATION)
    # Job 5 has no request of its own: the median of all.
    censored = workload.tasks_of(jobs["5"])
    assert (censored.memory_mib.item(), censored.ending.item()) == (500, Ending.RUNNING)
    assert censored.unsure.item() == Unsure.START | Unsure.END | Unsure.REQUEST
    assert {each.name for each in workload.assumptions} >= {"missing_cpu_request", "waiting_duration"}


def test_machines_over_time(tmp_path: Path) -> None:
    machines = tables(tmp_path, m=MACHINES).machines
    assert machines is not None
    seen = [
        dict(zip(at.machine.tolist(), at.memory_mib.tolist(), strict=True))
        for at in map(machines.at, (600, 655, 665, 700))
    ]
    assert seen == [{11: 500, 12: 1000}, {12: 1000}, {11: 500, 12: 1000}, {11: 500, 12: 250}]
    window = machines.window(655, 665)
    assert window.at(0).machine.tolist() == [12]
    assert window.at(5).machine.tolist() == [11, 12]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,,5,0,,9,u,0,1,,,,", "the event type is 9"),
        ("1,3,5,0,,1,u,0,1,,,,", "the missing info is 3"),
        ("1,,5,0,,1,u,0,1,-1,,,", "the CPU request is -1, below 0"),
        ("1,,5,0,,1,u,0,1,nan,,,", "not a finite number"),
        ("1,,5,0,,1", "6 columns, not 13"),
        ("soon,,5,0,,1,u,0,1,,,,", "the time is 'soon'"),
    ],
)
def test_bad_rows_of_task_events(row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TASKS + row + "\n")
    workload = import_workload([path], ImportOptions("g"), max_bad_share=0.2)
    (bad,) = workload.provenance.bad_rows
    assert bad.startswith("t.csv:7: ")
    assert reason in bad
    with pytest.raises(InputError, match="1 of 7 rows"):
        import_workload([path], ImportOptions("g"))


def test_the_shared_part_of_the_trace(shared_data: Path) -> None:
    folder = shared_data / "google"
    paths = [*folder.glob("task_events-*.gz"), *folder.glob("job_events-*"), *folder.glob("machine_events-*.gz")]
    workload = import_workload(paths, ImportOptions("google"))
    rows = {file.name.partition("-")[0]: (file.rows, file.bad_rows) for file in workload.provenance.files}
    assert rows == {"task_events": (450_146, 0), "job_events": (10_704, 0), "machine_events": (37_780, 0)}
    # Counted in the file with awk: what is submitted becomes a run, or waits at the end.
    assert len(workload.tasks) == 201_491
    endings = np.bincount(workload.tasks.ending, minlength=8)
    assert endings[Ending.FINISHED] == 43_237
    assert endings[Ending.FAILED] == 581
    assert endings[Ending.KILLED] + endings[Ending.EVICTED] + endings[Ending.WITHDRAWN] == 10_505 + 4_338
    assert not [note for note in workload.provenance.notes if "events:" in note]
    assert workload.machines is not None
    assert len(workload.machines.at(600)) == 12_477
    assert int((workload.tasks.unsure & Unsure.REQUEST > 0).sum()) == 291


def test_the_usage_of_a_job_over_29_days(shared_data: Path) -> None:
    path = shared_data / "google" / "usage_5min_job_6176858948.csv"
    series = read_usage_series(path)
    assert len(series) == 8352
    assert series[-1].start_s - series[0].start_s == 8351 * 300
    assert (series[0].tasks, series[0].cpi, series[0].mai) == (3089, 182.527999878, 0.388110011816)
    assert series[0].cycles_per_access == pytest.approx(470.3, abs=0.1)
    workload = import_workload([path], ImportOptions("usage"))
    assert workload.provenance.files[0].rows == 8352
    assert [job.id for job in workload.jobs] == ["usage-6176858948"]
    busy = [segment for segment in series if segment.tasks]
    assert workload.tasks.total == sum(segment.tasks for segment in busy)
    # What was used in all is what the file says, in the machine's cores.
    assert (workload.tasks.used_cores * workload.tasks.count).sum() == pytest.approx(
        32 * sum(segment.cpu for segment in busy)
    )
