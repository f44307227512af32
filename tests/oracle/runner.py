"""Replays cases through Hadoop's own schedulers, a batch in one JVM; results are kept in the cache.

    from tests.oracle.runner import replay
    results = replay([case, ...])

See ``docs/oracle.md`` for the formats.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.build import HADOOP_VERSIONS, Build, OracleUnavailableError, build
from tuner.errors import MissingToolError, YarntuneError
from tuner.settings import Settings

__all__ = ["HADOOP_VERSIONS", "OracleFailedError", "OracleUnavailableError", "build_or_skip", "oracle_cache", "replay"]

_START_TIMEOUT_S = 120.0
_CASE_TIMEOUT_S = 240.0


class OracleFailedError(YarntuneError):
    """The oracle did not come to the end of the batch; what it had replayed by then is in the cache."""


def oracle_cache() -> Path:
    """Where the oracle keeps jars, classes and results: in ``YARNTUNE_CACHE_DIR``, never in the project."""
    return Settings.from_environment().cache_dir / "oracle"


def build_or_skip(hadoop: str = HADOOP_VERSIONS[0]) -> Build:
    """The compiled oracle; skips the test with a reason where it cannot be had, and fails it when CI=true."""
    try:
        return build(oracle_cache(), hadoop)
    except (MissingToolError, OracleUnavailableError) as error:
        reason = f"no oracle: {error.message}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def replay(
    cases: Sequence[Mapping[str, Any]],
    *,
    hadoop: str = HADOOP_VERSIONS[0],
    tasks: bool = False,
    cached: bool = True,
    case_timeout_s: float = _CASE_TIMEOUT_S,
) -> list[dict[str, Any]]:
    """What the real scheduler does with each case.

    Args:
        cases: decoded case files.
        hadoop: version of Hadoop.
        tasks: whether each job also gets the starts and ends of its tasks.
        cached: whether a result that is already known is taken from the cache; False where the time that it takes
            is what matters.
        case_timeout_s: the batch may take this long for each case.

    Returns:
        For each case its result; ``{"error": words}`` for one that could not be replayed.

    Raises:
        OracleUnavailableError: the oracle cannot be built.
        OracleFailedError: it took too long, or ended early.
        MissingToolError: there is no Java.
    """
    built = build(oracle_cache(), hadoop)
    folder = oracle_cache() / "results" / built.key
    folder.mkdir(parents=True, exist_ok=True)
    texts = [json.dumps(case) for case in cases]
    kept = [folder / f"{hashlib.sha256(f'{tasks} {text}'.encode()).hexdigest()[:32]}.json" for text in texts]
    wanted = {path: text for path, text in zip(kept, texts, strict=True) if not (cached and path.is_file())}
    if wanted:
        _run(built, wanted, tasks=tasks, timeout_s=_START_TIMEOUT_S + case_timeout_s * len(wanted))
    return [json.loads(path.read_text()) for path in kept]


def _run(built: Build, wanted: Mapping[Path, str], *, tasks: bool, timeout_s: float) -> None:
    """Replays what is wanted into the files that it is kept in."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        kept_of: dict[Path, Path] = {}
        for kept, text in wanted.items():
            case = Path(scratch, f"case-{len(kept_of)}.json")
            case.write_text(text)
            kept_of[case] = kept
        arguments = [str(path) for pair in kept_of.items() for path in pair] + ["--tasks"] * tasks
        output, ended = _java(built, arguments, Path(scratch), timeout_s)
        for line in output.splitlines():
            name, separator, words = line.partition(": ")
            failed = kept_of.get(Path(name))
            if separator and failed is not None:
                part = failed.with_suffix(f".{os.getpid()}")
                part.write_text(json.dumps({"error": words}))
                part.replace(failed)
    missing = [kept for kept in wanted if not kept.is_file()]
    if ended or missing:
        raise OracleFailedError(ended or f"the oracle wrote {len(missing)} results too few: {output[-2000:]}")


def _java(built: Build, arguments: Sequence[str], scratch: Path, timeout_s: float) -> tuple[str, str]:
    """Runs the batch. Returns what it wrote to stderr, and why it ended early, if it did."""
    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.util")]
    # Where Hadoop's preemption iterates over sets of objects without a hash of their own, their order would differ from
    # run to run: with equal hashes it is that in which they were put in.
    hashes = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"]
    options = ["-Xmx2g", *hashes, f"-Djava.io.tmpdir={scratch}", *opens, "-cp", built.class_path]
    command = [str(built.java), *options, "yarntune.oracle.Oracle", *arguments]
    try:
        result = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        return "", f"the oracle took more than {timeout_s:.0f} s"
    if result.returncode in (0, 1):
        return result.stderr, ""
    return result.stderr, f"the oracle ended with exit status {result.returncode}: {result.stderr[-2000:]}"
