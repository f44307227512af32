"""Speed and memory of the event-log reader: ``python benchmarks/eventlog.py`` writes ``benchmarks/eventlog.md``.

The large log repeats a real application again and again with ids of tasks, stages, jobs and SQL executions counted on,
so that it is one long application and not one that is read many times. Speeds are per second of CPU time, which a busy
machine does not change much; each reading is a process of its own, so that its peak of memory is its own too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import cramjam
import zstandard

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data") / "eventlogs"
# Many tasks of 3 kB (SQL on YARN), huge events (Photon), and the short events of Spark 1.
SOURCES = {
    "Spark 3.5 SQL": "rapids/spark-events-qualification/nds_q72_dataproc_2_2.zstd",
    "Databricks 13.3 Photon": "rapids/spark-events-qualification/nds_q88_photon_db_13_3.zstd",
    "Spark 1.6": "sparklint/application_1472176676028_407508_1",
}
_ID = re.compile(rb'"(Task ID|Stage ID|Job ID|executionId|rootExecutionId)":(\d+)')
_IDS = re.compile(rb'"(Stage IDs|Parent IDs)":\[([\d,]*)\]')
_SQL_ID = re.compile(rb'"spark.sql.execution.id":"(\d+)"')
_ONCE = re.compile(
    rb'"Event":"(?:SparkListener(?:LogStart|ApplicationStart|ApplicationEnd|EnvironmentUpdate|ResourceProfileAdded'
    rb"|ExecutorAdded|BlockManagerAdded)|DBC)"
)
_BLOCK = 1 << 15


def plain_text(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".zstd":
        return bytes(zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read())
    return data


def repeated(text: bytes, size: int) -> Iterator[bytes]:
    """One application of at least ``size`` bytes that does what the given one did, again and again."""
    lines = text.splitlines(keepends=True)
    ids = [int(match[2]) for match in _ID.finditer(text)]
    step, written, turn = max(ids) + 1, 0, 0
    last = [line for line in lines if b'"Event":"SparkListenerApplicationEnd"' in line]
    yield from (line for line in lines if _ONCE.search(line[:80]) and line not in last)
    body = [line for line in lines if not _ONCE.search(line[:80])]
    while written < size:
        shift = step * turn

        def moved(match: re.Match[bytes], shift: int = shift) -> bytes:
            return b'"%b":%d' % (match[1], int(match[2]) + shift)

        def all_moved(match: re.Match[bytes], shift: int = shift) -> bytes:
            return b'"%b":[%b]' % (
                match[1],
                b",".join(b"%d" % (int(one) + shift) for one in match[2].split(b",") if one),
            )

        for line in body:
            if turn:
                line = _IDS.sub(all_moved, _ID.sub(moved, line))
                line = _SQL_ID.sub(
                    lambda match, shift=shift: b'"spark.sql.execution.id":"%d"' % (int(match[1]) + shift), line
                )
            written += len(line)
            yield line
            if written >= size:
                break
        turn += 1
    yield from last


def lz4_block(block: bytes) -> bytes:
    packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
    return b"LZ4Block\x25" + len(packed).to_bytes(4, "little") + len(block).to_bytes(4, "little") + bytes(4) + packed


def snappy_block(block: bytes) -> bytes:
    packed = bytes(cramjam.snappy.compress_raw(block))
    return len(packed).to_bytes(4, "big") + packed


def lzf_block(block: bytes) -> bytes:
    """Greedy LZF with a table of the last place of each three bytes, as compress-lzf works."""
    out, literal, seen, at = bytearray(), bytearray(), {}, 0

    def flush() -> None:
        for start in range(0, len(literal), 32):
            run = literal[start : start + 32]
            out.append(len(run) - 1)
            out.extend(run)
        literal.clear()

    while at < len(block):
        key = block[at : at + 3]
        back = at - seen.get(key, -9999) - 1
        seen[key] = at
        if back >= 8192 or len(key) < 3:
            literal.append(block[at])
            at += 1
            continue
        length = 3
        while length < 264 and at + length < len(block) and block[at + length] == block[at + length - back - 1]:
            length += 1
        flush()
        out.extend((min(length - 2, 7) << 5 | back >> 8,) + ((length - 9,) if length >= 9 else ()) + (back & 255,))
        at += length
    flush()
    return b"ZV\1" + len(out).to_bytes(2, "big") + len(block).to_bytes(2, "big") + out


PACKERS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "plain": (b"", bytes),
    "zstd": (b"", lambda block: zstandard.ZstdCompressor(level=1).compress(block)),
    "lz4": (b"", lz4_block),
    "snappy": (b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", snappy_block),
    "lzf": (b"", lzf_block),
}


def pack(source: Path, target: Path, codec: str) -> None:
    head, packer = PACKERS[codec]
    with source.open("rb") as plain, target.open("wb") as out:
        out.write(head)
        while block := plain.read(_BLOCK):
            out.write(packer(block))


def write_large(source: str, target: Path, size: int) -> None:
    with target.open("wb") as out:
        for line in repeated(plain_text(DATA / source), size):
            out.write(line)


def read_alone(path: Path) -> dict[str, float]:
    """Reads a log in a fresh process."""
    code = (
        "import json, re, sys, time\n"
        "from pathlib import Path\n"
        "from tuner.spark.eventlog import read_log\n"
        "start = time.process_time()\n"
        "log = read_log(sys.argv[1])\n"
        "cpu = time.process_time() - start\n"
        # Not ru_maxrss, which a process inherits from the one that started it.
        "peak = int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "print(json.dumps(dict(cpu=cpu, peak_mib=peak / 1024, tasks=log.totals.tasks, sampled=log.sampled,"
        " stages=len(log.stages))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


def codec_rows(folder: Path, size: int) -> Iterator[str]:
    plain = folder / "plain"
    write_large(SOURCES["Spark 3.5 SQL"], plain, size)
    for codec in PACKERS:
        if codec == "lzf":  # packing it is slow
            write_large(SOURCES["Spark 3.5 SQL"], plain, size // 10)
        path = plain if codec == "plain" else folder / codec
        if codec != "plain":
            pack(plain, path, codec)
        seen = read_alone(path)
        raw = plain.stat().st_size / 1e6
        yield f"| {codec} | {path.stat().st_size / 1e6:.0f} | {raw / seen['cpu']:.0f} | {seen['peak_mib']:.0f} |"
    for path in folder.iterdir():
        path.unlink()


def kind_rows(folder: Path, size: int) -> Iterator[str]:
    for name, source in SOURCES.items():
        path = folder / "log"
        write_large(source, path, size)
        seen = read_alone(path)
        megabytes = path.stat().st_size / 1e6
        yield (
            f"| {name} | {megabytes:.0f} | {seen['tasks']:,} | {seen['stages']:,} | {megabytes / seen['cpu']:.0f} "
            f"| {seen['peak_mib']:.0f} | {'a sample' if seen['sampled'] else 'all'} |"
        )
        path.unlink()


def parallel_rows(folder: Path, size: int, count: int) -> Iterator[str]:
    from tuner.spark.eventlog import read_logs

    paths = [folder / f"log-{number}" for number in range(count)]
    for path in paths:
        write_large(SOURCES["Spark 3.5 SQL"], path, size)
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    for workers in (1, 2):
        before, start = os.times(), time.perf_counter()
        results = list(read_logs(paths, workers=workers))
        wall, after = time.perf_counter() - start, os.times()
        cpu = sum(after[:4]) - sum(before[:4])
        assert all(result.log for result in results)
        yield f"| {workers} | {count} x {megabytes / count:.0f} | {megabytes / wall:.0f} | {megabytes / cpu:.0f} |"
    for path in paths:
        path.unlink()


def report(out: IO[str], folder: Path, size: int) -> None:
    load = os.getloadavg()
    print("# Event-log reader\n", file=out)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load[0]:.1f} when it started. MB are 10^6 "
        "bytes of plain text; speeds are per second of CPU time unless it says otherwise.\n",
        file=out,
    )
    print(f"## Logs of {size / 1e9:.1f} GB\n", file=out)
    print("| application | MB | tasks | stages kept | MB/s a core | peak resident MiB | tasks kept |", file=out)
    print("|---|---:|---:|---:|---:|---:|---|", file=out)
    for row in kind_rows(folder, size):
        print(row, file=out, flush=True)
    print("\n## Codecs (Spark 3.5 SQL)\n\n| codec | file, MB | MB/s a core | peak resident MiB |", file=out)
    print("|---|---:|---:|---:|", file=out)
    for row in codec_rows(folder, size // 5):
        print(row, file=out, flush=True)
    print("\n## Many logs at once\n\n| processes | MB | MB/s of wall clock | MB/s a core |", file=out)
    print("|---:|---:|---:|---:|", file=out)
    for row in parallel_rows(folder, size // 20, 8):
        print(row, file=out, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1e9, help="bytes of the large logs")
    parser.add_argument("-o", "--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eventlog-") as folder:
        lines = Path(folder) / "report"
        work = Path(folder) / "work"
        work.mkdir()
        with lines.open("w") as out:
            report(out, work, int(arguments.size))
        arguments.out.write_text(lines.read_text())


if __name__ == "__main__":
    main()
