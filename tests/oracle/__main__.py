"""The oracle as a command: ``python -m tests.oracle CASE RESULT [CASE RESULT ...] [--tasks] [--hadoop 3.5.0]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tests.oracle.runner import HADOOP_VERSIONS, replay
from tuner.errors import YarntuneError


def main() -> int:
    """Exit status 0 done, 1 a case could not be replayed, 2 usage."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle", description="Replay cases through Hadoop's own scheduler, in virtual time."
    )
    parser.add_argument("files", nargs="+", metavar="CASE RESULT", type=Path)
    parser.add_argument("--tasks", action="store_true", help="also the starts and ends of all tasks")
    parser.add_argument("--hadoop", choices=HADOOP_VERSIONS, default=HADOOP_VERSIONS[0], help="version of Hadoop")
    parser.add_argument("--fresh", action="store_true", help="replay even what is in the cache")
    options = parser.parse_args()
    if len(options.files) % 2:
        parser.error("every CASE needs a RESULT")
    sources, targets = options.files[::2], options.files[1::2]
    try:
        cases = [json.loads(source.read_text()) for source in sources]
        results = replay(cases, hadoop=options.hadoop, tasks=options.tasks, cached=not options.fresh)
    except (OSError, ValueError, YarntuneError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    failed = False
    for source, target, result in zip(sources, targets, results, strict=True):
        if "error" in result:
            failed = True
            print(f"{source}: {result['error']}", file=sys.stderr)
            continue
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        part.write_text(json.dumps(result))
        part.replace(target)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
