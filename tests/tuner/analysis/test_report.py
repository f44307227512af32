"""What people and machines read, whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.tuner.analysis.made import MIB, Log, memory, rdd
from tests.tuner.analysis.test_findings import PHYSICAL, VIRTUAL
from tuner.analysis import Analysis, properties_header, report_json, report_text
from tuner.spark.properties import parse_properties, render_properties

GOLDEN = Path(__file__).parent / "golden"


def oversized(folder: Path) -> Analysis:
    """Far too much of everything: heap, overhead, executors."""
    log = Log({"spark.executor.memory": "16g", "spark.executor.memoryOverhead": "4g", "spark.executor.instances": "6"})
    log.executors(6)
    for number in range(8):
        peaks = memory(unified_mib=900, heap_mib=15000, jvm_rss_mib=15400)
        log.task(0, 6_000 + number // 2 * 20_000, 20_000, executor=1 + number % 2, memory=peaks, **{"JVM GC Time": 80})
    return log.stage(0, 8).job().end().analyze(folder)


def troubled(folder: Path) -> Analysis:
    """A query that is skewed, spills, was killed twice for different memory, and whose results were too many."""
    settings = {"spark.executor.memory": "4g", "spark.sql.adaptive.enabled": "false", "spark.executor.cores": "4"}
    log = Log({**settings, "spark.sql.shuffle.partitions": "16"}, name="nightly join", version="3.3.1")
    log.executors(2, cores=4).sql()
    for number in range(16):
        heavy = number == 15
        extra = {"Memory Bytes Spilled": 900 * MIB if heavy else 0, "Disk Bytes Spilled": 200 * MIB if heavy else 0}
        log.task(
            0, 6_000, 60_000 if heavy else 5_000, executor=1 + number % 2, shuffle_mib=700 if heavy else 20, **extra
        )
    log.stage(0, 16).removed(1, PHYSICAL).removed(2, VIRTUAL)
    text = "serialized results of 400 tasks (1025.0 MiB) is bigger than spark.driver.maxResultSize (1024.0 MiB)"
    return log.job(failed=f"Job aborted due to stage failure: Total size of {text}").end().analyze(folder)


def lossy(folder: Path) -> Analysis:
    """An old Spark, a compacted log, and data cached at the wrong level."""
    log = Log({"spark.executor.memory": "1664m"}, version="2.4.8").executors(2)
    for number in range(10):
        log.task(0, 6_000, 20_000, executor=1 + number % 2)
    log.stage(0, 10, rdds=[rdd(7, 10)]).cached_blocks(7, 6, 20)
    return log.stage(1, 300).end().analyze(folder)


@pytest.mark.parametrize("make", [oversized, troubled, lossy])
def test_reports(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    analysis = make(tmp_path)
    text = report_text(analysis).replace(str(analysis.case.log.path), "LOG") + "\n"
    golden = GOLDEN / f"{make.__name__}.txt"
    if os.environ.get("YARNTUNE_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text(), "YARNTUNE_WRITE_GOLDEN=1 writes it anew"
    assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("make", [oversized, troubled, lossy])
def test_json_says_the_same(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    analysis = make(tmp_path)
    value = json.loads(json.dumps(report_json(analysis), allow_nan=False))
    assert [each["id"] for each in value["findings"]] == [each.id for each in analysis.findings]
    text = report_text(analysis)
    for name, setting in value["configuration"].items():
        assert f"--conf {name}={setting}" in text
    asked = {change["property"]: change["value"] for each in value["findings"] for change in each["changes"]}
    assert asked == {change.name: change.value for change in analysis.configuration.changes}


def test_properties_file_says_why(tmp_path: Path) -> None:
    analysis = oversized(tmp_path)
    settings = analysis.configuration.settings(analysis.case.facts)
    text = render_properties(settings, comment=properties_header(analysis))
    assert parse_properties(text) == settings
    for name in settings:
        assert any(line.startswith(f"# {name}: ") for line in text.splitlines())
