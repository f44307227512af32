"""Alibaba, SWF, YARN's applications, Spark event logs; and finding out which a file is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tuner.errors import InputError
from tuner.spark.eventlog import read_log
from tuner.yarn import normalize
from workloads.importers.alibaba import stages_of
from workloads.importers.options import ImportOptions, MachineSize
from workloads.importers.registry import detect_format, import_workload
from workloads.workload import Ending, Unsure

ALIBABA = """\
M1,10,j_1,1,Terminated,100,160,100,0.5
R2_1,4,j_1,1,Terminated,160,190,50,
task_Nzg3,1,j_2,2,Failed,120,125,100,101
M1,3,j_3,1,Running,150,0,200,1
M1,3,j_4,1,Waiting,0,0,100,1
"""
SWF = """\
; Version: 2.2
; UnixStartTime: 748936922
; MaxProcs: 128
 1 0 5 60 4 30 102400 4 100 -1 1 3 1 7 2 -1 -1 -1
 2 30 -1 -1 -1 -1 -1 8 100 -1 5 3 1 -1 -1 -1 -1 -1
 3 40 0 10.5 -1 -1 -1 2 100 4096 0 -1 1 -1 -1 -1 -1 -1
 3 40 0 5 2 -1 -1 2 100 -1 2 3 1 -1 -1 -1 -1 -1
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_alibaba(tmp_path: Path) -> None:
    options = ImportOptions("a", machine=MachineSize(10_000, 96.0))
    workload = import_workload([write(tmp_path, "batch_task.csv", ALIBABA)], options)
    assert workload.provenance.format == "alibaba"
    assert [(job.id, job.submit_s) for job in workload.jobs] == [("j_1", 100.0), ("j_2", 120.0), ("j_3", 150.0)]
    assert workload.provenance.notes == ("1 jobs without any time inside the trace are left out",)
    first, second, failed, running = (workload.tasks.take([row]) for row in range(4))
    assert (first.count.item(), first.duration_s.item(), first.memory_mib.item()) == (10, 60.0, 50)
    assert (first.cores.item(), first.stage.item(), second.stage.item()) == (1.0, 0, 1)
    # Not planned, and the mark for an invalid value (101): the median of 0.5, 1 and 1.
    assert (second.memory_mib.item(), second.unsure.item()) == (100, Unsure.REQUEST)
    assert (failed.memory_mib.item(), failed.ending.item()) == (100, Ending.FAILED)
    assert (running.duration_s.item(), running.unsure.item()) == (40.0, Unsure.END)


@pytest.mark.parametrize(
    ("names", "stages"),
    [
        (["M1", "M2_1", "M3_1", "R4_2", "M5_3_4"], [0, 1, 1, 2, 3]),  # the example of the trace's description
        (["J3_1_2", "R2_1", "M1"], [2, 1, 0]),
        (["task_Nzg3ODAw==", "M1"], [0, 0]),
        (["M2_9"], [0]),  # waits for a task that is not in the trace
        (["M1_2", "M2_1"], [2, 2]),  # a circle ends all the same
    ],
)
def test_stages_of_a_dag(names: list[str], stages: list[int]) -> None:
    assert stages_of(names) == stages


def test_swf(tmp_path: Path) -> None:
    workload = import_workload([write(tmp_path, "log.swf", SWF)], ImportOptions("s"))
    assert workload.provenance.format == "swf"
    assert workload.epoch_s == 748936922
    assert [(job.id, job.user, job.queue, job.name) for job in workload.jobs] == [
        ("1", "u3", "q2", "app7"),
        ("3", "", "", None),
    ]
    one, three = (workload.tasks.take([row]) for row in (0, 1))
    assert (one.count.item(), one.duration_s.item(), one.wait_s.item(), one.memory_mib.item()) == (4, 60.0, 5.0, 100)
    assert (one.used_cores.item(), three.count.item(), three.duration_s.item()) == (0.5, 2, 10.5)
    assert (three.memory_mib.item(), three.ending.item()) == (4, Ending.FAILED)
    assert "MaxProcs: 128" in workload.provenance.notes
    assert sum("left out" in note for note in workload.provenance.notes) == 2


def test_yarn_containers_hold_what_the_resource_manager_counted(shared_data: Path) -> None:
    path = shared_data / "rm" / "docs-3.4.0" / "11_cluster-applications-api.json"
    workload = import_workload([path], ImportOptions("y"))
    applications = {each.id: each for each in normalize.applications(json.loads(path.read_text()))}
    assert workload.provenance.format == "yarn"
    assert {job.id for job in workload.jobs} == set(applications)
    for job in workload.jobs:
        application, tasks = applications[job.id], workload.tasks_of(job)
        assert (job.user, job.queue, job.name) == (application.user, application.queue, application.name)
        held = tasks.memory_mib_seconds + job.am_memory_mib * float(tasks.duration_s[0])
        assert held == pytest.approx(application.memory_seconds, rel=0.01)
        assert job.submit_s == application.started_at_s - workload.epoch_s


def test_every_body_of_applications_is_read_or_refused_with_a_reason(shared_data: Path) -> None:
    read = 0
    for path in sorted((shared_data / "rm").rglob("*cluster-app*.json")):
        try:
            workload = import_workload([path], ImportOptions("y"), format_name="yarn")
        except Exception as error:
            assert type(error).__module__.startswith("tuner."), f"{path}: {error!r}"  # noqa: PT017
            continue
        read += bool(workload.jobs)
    assert read >= 2


def test_spark_event_logs(shared_data: Path) -> None:
    folder = shared_data / "eventlogs" / "spark-upstream"
    paths = [folder / "application_1553914137147_0018", folder / "app-20200706201101-0003"]
    workload = import_workload(paths, ImportOptions("s"))
    logs = {log.application_id: log for log in map(read_log, paths)}
    assert {job.id for job in workload.jobs} == set(logs)
    for job in workload.jobs:
        log, tasks = logs[job.id], workload.tasks_of(job)
        assert tasks.total == log.totals.tasks
        assert tasks.duration_s.sum() == pytest.approx(log.totals.duration_s)
        assert (job.name, job.submit_s) == (log.name, log.start_s - workload.epoch_s)
        assert job.executors is not None
        assert (
            np.unique(tasks.memory_mib * job.executors.vcores // int(tasks.cores[0])).item() <= job.executors.memory_mib
        )


def test_a_broken_event_log_is_named_and_the_others_are_read(shared_data: Path) -> None:
    logs = shared_data / "eventlogs"
    good = logs / "spark-upstream" / "application_1553914137147_0018"
    workload = import_workload([good, logs / "sparklint" / "invalid_log_file"], ImportOptions("s"), format_name="spark")
    assert len(workload.jobs) == 1
    assert any("invalid_log_file is left out" in note for note in workload.provenance.notes)
    with pytest.raises(InputError, match="none of the event logs"):
        import_workload([logs / "sparklint" / "invalid_log_file"], ImportOptions("s"), format_name="spark")


def test_formats_are_told_by_content(tmp_path: Path, shared_data: Path) -> None:
    logs = shared_data / "eventlogs"
    rolling = "eventlog_v2_spark-110be3a8424d4a2789cb88134418217b"
    known = {
        write(tmp_path, "1", ALIBABA): "alibaba",
        write(tmp_path, "2", SWF): "swf",
        next((shared_data / "google").glob("task_events*")): "google",
        next((shared_data / "google").glob("job_events*")): "google",
        next((shared_data / "google").glob("machine_events*")): "google",
        next((shared_data / "google").glob("usage_5min_job*")): "google",
        shared_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv": "swim",
        shared_data / "rm" / "docs-3.4.0" / "11_cluster-applications-api.json": "yarn",
        logs / "spark-upstream" / "local-1422981780767": "spark",
        logs / "rapids" / "spark-events-profiling" / "gpu_oom_eventlog.zstd": "spark",
        logs / "kubeflow-mcp" / rolling: "spark",
    }
    assert {path: detect_format(path) for path in known} == known


@pytest.mark.parametrize("text", ["", "a,b,c\n1,2,3\n", "\x00\x01\x02\n", '{"jobs": []}'])
def test_an_unknown_format_says_what_to_do(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        detect_format(write(tmp_path, "what.csv", text))
    assert error.value.hint


def test_files_of_two_formats_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different formats"):
        import_workload([write(tmp_path, "1", ALIBABA), write(tmp_path, "2", SWF)], ImportOptions("x"))
