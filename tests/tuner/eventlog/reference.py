"""A second, naive reader to hold the real one against: all of the JSON, all in memory, nothing clever."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import zstandard


def text_of(path: Path, member: str | None = None) -> bytes:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(member or "")
    if path.suffix == ".tgz":
        with tarfile.open(path) as archive:
            found = archive.extractfile(member or "")
            assert found is not None
            return found.read()
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    return data


def whole_events(text: bytes) -> list[dict[str, Any]]:
    events = []
    for line in text.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "Event" in event:
            events.append(event)
    return events


def summed(events: list[dict[str, Any]]) -> Counter[str]:
    """Sums over the ends of tasks, by the names of this module; a resubmitted task is not an end."""
    sums: Counter[str] = Counter()
    for event in events:
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        sums["tasks"] += 1
        reason = event["Task End Reason"]["Reason"]
        if reason == "Resubmitted":
            continue
        sums["succeeded"] += reason == "Success"
        info, metrics = event["Task Info"], event.get("Task Metrics") or {}
        sums["duration_ms"] += info["Finish Time"] - info["Launch Time"]
        sums["run_ms"] += metrics.get("Executor Run Time", 0)
        sums["cpu_ns"] += metrics.get("Executor CPU Time", 0)
        sums["gc_ms"] += metrics.get("JVM GC Time", 0)
        sums["memory_spill"] += metrics.get("Memory Bytes Spilled", 0)
        sums["disk_spill"] += metrics.get("Disk Bytes Spilled", 0)
        read, write = metrics.get("Shuffle Read Metrics") or {}, metrics.get("Shuffle Write Metrics") or {}
        sums["shuffle_read"] += read.get("Remote Bytes Read", 0) + read.get("Local Bytes Read", 0)
        sums["fetch_wait_ms"] += read.get("Fetch Wait Time", 0)
        sums["shuffle_write"] += write.get("Shuffle Bytes Written", 0)
        sums["input"] += (metrics.get("Input Metrics") or {}).get("Bytes Read", 0)
        sums["output"] += (metrics.get("Output Metrics") or {}).get("Bytes Written", 0)
        for accumulable in info["Accumulables"]:
            if accumulable.get("Name") == "internal.metrics.peakExecutionMemory":
                sums["peak"] = max(sums["peak"], int(accumulable["Update"]))
    return sums
