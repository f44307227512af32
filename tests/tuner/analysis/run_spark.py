"""A real Spark application that fails in several ways; started by a test in a process of its own: FOLDER."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def fails(action: Callable[[], Any]) -> None:
    try:
        action()
    except Exception as error:
        print(str(error).splitlines()[0], file=sys.stderr)
    else:
        raise AssertionError("this was to fail")


def sleep(number: int) -> int:
    time.sleep(20 if number == 7 else 0.05)
    return number


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[4]")
        .appName("troubles")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", folder.as_uri())
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.logBlockUpdates.enabled", "true")
        .config("spark.driver.maxResultSize", "4m")
        .getOrCreate()
    )
    context = spark.sparkContext
    # 20 results of 1 MiB each.
    fails(lambda: context.parallelize(range(20), 20).map(lambda _: os.urandom(1 << 20)).collect())
    fails(lambda: context.parallelize(range(1), 1).map(lambda _: len(bytearray(1 << 62))).collect())
    fails(lambda: context.parallelize(range(1), 1).map(lambda _: os.kill(os.getpid(), signal.SIGKILL)).collect())
    context.parallelize(range(8), 8).map(sleep).count()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
