"""Runs real Spark applications that write event logs; started by the fixture ``spark_logs`` in a process of its own.

One JVM for all of them, a SparkContext each: ``python write_logs.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

CODECS = ("none", "zstd", "lz4", "lzf", "snappy")
# The first session's settings stay in the JVM as system properties, so each session says all of them.
DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "true",
    "spark.eventLog.compression.codec": "zstd",
    "spark.eventLog.rolling.enabled": "true",
    "spark.eventLog.rolling.maxFileSize": "10m",
    "spark.eventLog.logBlockUpdates.enabled": "false",
    "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.executor.processTreeMetrics.enabled": "true",
    "spark.executor.heartbeatInterval": "500ms",
}


def session(folder: Path, conf: dict[str, str]) -> SparkSession:
    folder.mkdir(parents=True)
    builder = SparkSession.builder.master("local[2]").appName(folder.name)
    for key, value in {**DEFAULTS, "spark.eventLog.dir": folder.as_uri(), **conf}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def rdd_work(spark: SparkSession) -> None:
    """Two jobs of RDDs: 4 tasks; 4 and 3 tasks."""
    numbers = spark.sparkContext.parallelize(range(1000), 4).map(lambda number: (number % 10, number))
    assert numbers.count() == 1000
    assert len(numbers.reduceByKey(lambda a, b: a + b, 3).collect()) == 10


def sql_work(spark: SparkSession) -> None:
    """One SQL execution."""
    assert len(spark.range(0, 5000, 1, 4).selectExpr("id % 7 AS k").groupBy("k").count().collect()) == 7


def main(root: Path) -> None:
    for codec in CODECS:
        conf = {"spark.eventLog.rolling.enabled": "false"}
        if codec == "none":
            conf |= {"spark.eventLog.compress": "false", "spark.eventLog.logBlockUpdates.enabled": "true"}
            conf |= {"spark.yarn.executor.memoryOverhead": "777"}
        else:
            conf["spark.eventLog.compression.codec"] = codec
        spark = session(root / codec, conf)
        if codec == "none":
            rdd_work(spark)
            cached = spark.sparkContext.parallelize(range(3000), 3).cache()
            cached.count()
            cached.unpersist(blocking=True)
        sql_work(spark)
        spark.stop()

    # As Spark 4 does by default. Long descriptions fill files of 10 MiB, the least that it takes, without many tasks.
    spark = session(root / "rolling", {})
    numbers = spark.sparkContext._jvm.java.util.ArrayList([1, 2])
    for _ in range(28):
        spark.sparkContext.setJobDescription("d" * 2_400_000)
        # Without Python's workers, which take longer to start than the job runs.
        assert spark.sparkContext._jsc.parallelize(numbers, 2).count() == 2
    spark.stop()

    spark = session(root / "killed", {})
    rdd_work(spark)
    spark.sparkContext._gateway.proc.kill()
    spark.sparkContext._gateway.proc.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
