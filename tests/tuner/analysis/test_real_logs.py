"""Every event log of real systems that there is, analysed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tuner.analysis.made import conf, found
from tuner.analysis import Analysis, Severity, report_json, report_text
from tuner.model.container import executor_request
from tuner.services.analyze import LogOutcome, analyze_logs, expand

REFUSED = {"MANIFEST.json", "sparklint/invalid_log_file"}
PROFILING = "rapids/spark-events-profiling"
QUALIFICATION = "rapids/spark-events-qualification"


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "eventlogs"


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, LogOutcome]:
    """All logs as the command finds them in their folder."""
    logs = analyze_logs(expand(folder), increment_mib=1024, workers=2)
    return {str(outcome.path.relative_to(folder)): outcome for outcome in logs}


@pytest.fixture(scope="module")
def analyses(outcomes: dict[str, LogOutcome]) -> dict[str, Analysis]:
    return {name: outcome.analysis for name, outcome in outcomes.items() if outcome.analysis is not None}


def one(analyses: dict[str, Analysis], part: str) -> Analysis:
    (name,) = (name for name in analyses if part in name)
    return analyses[name]


def test_each_log_of_the_manifest_is_found_and_read(folder: Path, outcomes: dict[str, LogOutcome]) -> None:
    assert {name for name, outcome in outcomes.items() if outcome.analysis is None} == REFUSED
    for entry in json.loads((folder / "MANIFEST.json").read_text()):
        # A rolling directory stands for its parts.
        assert any(entry["file"] == name or entry["file"].startswith(f"{name}/") for name in outcomes), entry["file"]


def test_every_report_can_be_printed(analyses: dict[str, Analysis]) -> None:
    for name, analysis in analyses.items():
        text = report_text(analysis)
        assert "nan" not in text.lower().split(), name
        json.dumps(report_json(analysis), allow_nan=False)
        assert "password=" not in text


def test_no_size_is_one_that_yarn_rounds_up(analyses: dict[str, Analysis]) -> None:
    for name, analysis in analyses.items():
        after = {**analysis.case.facts.conf, **{each.name: each.value for each in analysis.configuration.changes}}
        if "spark.executor.memory" in {each.name for each in analysis.configuration.changes}:
            facts = analysis.case.facts
            request = executor_request(after, python=facts.python, version=facts.version)
            assert request.memory_mib % 1024 == 0, name


def test_what_lost_its_events_is_not_made_smaller(analyses: dict[str, Analysis]) -> None:
    for name, analysis in analyses.items():
        memory = analysis.case.memory
        if not analysis.case.facts.whole and memory is not None:
            assert memory.after_granted_mib >= memory.before_granted_mib, name
            assert {"heap-oversized", "idle-executors", "driver-alone"} <= {each.id for each in analysis.unjudged}


def test_old_spark_that_spilled_and_had_idle_slots(analyses: dict[str, Analysis]) -> None:
    """Spark 1.6 with 58 executors, 50 at once, of 4 cores; 40 tasks and 243 GB of spill in one stage."""
    analysis = one(analyses, "sparklint/application_1472176676028_407508_1")
    assert found(analysis, "spill")[0].seen.numbers["memory_spill_mib"] == pytest.approx(
        243202523136 / 1024**2, rel=1e-3
    )
    assert found(analysis, "idle-slots")[0].seen.numbers["slots"] == 200
    assert not found(analysis, "lost-executors"), "executors given back on purpose"


def test_measured_processes_show_an_overhead_that_is_too_large(analyses: dict[str, Analysis]) -> None:
    """Kubernetes, heap 4g and overhead 4g; resident memory 4925 MiB at most."""
    analysis = one(analyses, "cc4d115f011443d787f03a71a476a745")
    (finding,) = found(analysis, "overhead-oversized")
    assert finding.seen.numbers["native_mib"] == pytest.approx(898, abs=1)
    assert conf(analysis)["spark.executor.memoryOverhead"] == "2048m"


def test_large_heap_that_was_half_used(analyses: dict[str, Analysis]) -> None:
    """Dataproc, heap 40 GiB, of which execution and storage took 11.0 GiB and the heap 16.8 GiB at most."""
    analysis = one(analyses, "nds_q72_dataproc_2_2")
    assert conf(analysis) == {"spark.executor.memory": "24576m"}


def test_memory_of_a_gpu_is_not_the_heaps(analyses: dict[str, Analysis]) -> None:
    analysis = one(analyses, f"{PROFILING}/gpu_oom_eventlog")
    (finding,) = found(analysis, "lost-executors")
    assert (finding.seen.numbers["kind"], finding.seen.severity) == ("gpu-memory", Severity.CRITICAL)
    assert not found(analysis, "memory-failures")
    assert "spark.executor.memory" not in conf(analysis)


def test_lost_executors_and_their_shuffle_files(analyses: dict[str, Analysis]) -> None:
    analysis = one(analyses, f"{PROFILING}/tasks_executors_fail")
    assert {finding.seen.numbers["kind"] for finding in found(analysis, "lost-executors")} == {"lost", "fetch"}


def test_collector_of_a_heap_that_was_nearly_empty(analyses: dict[str, Analysis]) -> None:
    """15 % in garbage collection, and never more than 803 MB of 20 GiB in use."""
    analysis = one(analyses, "eventlog_4nodes_8cores_dynamic_alloc")
    (finding,) = found(analysis, "garbage-collection")
    assert finding.seen.changes == ()
    assert found(analysis, "short-lives")


def test_slow_executor_is_not_skewed_data(analyses: dict[str, Analysis]) -> None:
    analysis = one(analyses, "application_1628109047826_1317105")
    assert "spark.speculation" in found(analysis, "skew")[0].seen.advice


def test_skewed_data(analyses: dict[str, Analysis]) -> None:
    analysis = one(analyses, f"{QUALIFICATION}/multiple_attempts")
    assert "spark.sql.shuffle.partitions" not in conf(analysis)
    assert found(analysis, "skew")[0].seen.numbers["read_ratio"] > 3  # type: ignore[operator]
