"""TeraSort: sorts generated records of 100 bytes by their 10-byte key, as Hadoop's TeraGen and TeraSort.

spark-submit tera_sort.py --size small             records made on the fly
spark-submit tera_sort.py --generate DIR           writes the records, as Parquet
spark-submit tera_sort.py --input DIR              sorts the records of a folder written so
spark-submit tera_sort.py --output DIR             writes the sorted records too

Prints `checksum=...`, the same for the same size and seed under every configuration; fails if the order is wrong.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812

RECORDS = {"tiny": 50_000, "small": 2_000_000, "medium": 12_000_000, "large": 80_000_000}
KEY_CHARACTERS = 10
VALUE_CHARACTERS = 90


def generate(spark: SparkSession, records: int, seed: int) -> DataFrame:
    """Columns key and value, strings of 10 and 90 characters, keys spread evenly."""
    digest = F.sha2(F.concat_ws("-", F.lit(str(seed)), F.col("id").cast("string")), 256)
    return spark.range(records).select(
        F.substring(digest, 1, KEY_CHARACTERS).alias("key"),
        F.substring(F.concat(digest, digest), 1 + KEY_CHARACTERS, VALUE_CHARACTERS).alias("value"),
    )


def check(ordered: DataFrame) -> tuple[int, int]:
    """Number of records and a checksum that depends on them but not on their partitions.

    Raises:
        SystemExit: a partition is not in order, or reaches over the next one.
    """
    placed = ordered.withColumn("partition", F.spark_partition_id()).withColumn("row", F.monotonically_increasing_id())
    previous = F.lag("key").over(_in_partition())
    parts = (
        placed.withColumn("wrong", (previous > F.col("key")).cast("int"))
        .groupBy("partition")
        .agg(
            F.min("key").alias("first"),
            F.max("key").alias("last"),
            F.count("*").alias("records"),
            F.sum(F.coalesce("wrong", F.lit(0))).alias("wrong"),
            F.sum(F.xxhash64("key", "value").cast("decimal(38,0)")).alias("checksum"),
        )
        .orderBy("partition")
        .collect()
    )
    overlaps = sum(before["last"] > after["first"] for before, after in pairwise(parts))
    if overlaps or any(part["wrong"] for part in parts):
        raise SystemExit("the records are not in order")
    return sum(part["records"] for part in parts), int(sum(part["checksum"] for part in parts))


def _in_partition() -> WindowSpec:
    return Window.partitionBy("partition").orderBy("row")


def main() -> None:
    """Runs the program and prints the number of records and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=RECORDS, default="small", help="number of records (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated records (default: 1)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="sort the records of this folder instead")
    where.add_argument("--generate", metavar="DIR", help="only write the records into this folder")
    parser.add_argument("--output", metavar="DIR", help="write the sorted records into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"tera-sort-{options.size}").getOrCreate()
    if options.generate:
        generate(spark, RECORDS[options.size], options.seed).write.mode("overwrite").parquet(options.generate)
        print(f"written={options.generate}")
    else:
        made = generate(spark, RECORDS[options.size], options.seed)
        ordered = (spark.read.parquet(options.input) if options.input else made).orderBy("key", "value")
        if options.output:
            ordered.write.mode("overwrite").parquet(options.output)
        records, checksum = check(ordered)
        print(f"records={records}")
        print(f"checksum={checksum}")
    spark.stop()


if __name__ == "__main__":
    main()
