"""K-means: clusters generated points around known centres, with the points cached, as HiBench's k-means.

spark-submit k_means.py --size small               points made on the fly
spark-submit k_means.py --generate DIR             writes the points, as Parquet
spark-submit k_means.py --input DIR                clusters the points of a folder written so

Prints `checksum=...`, the same for the same size and seed under every configuration: the number of points in each
true group that found its centre (centres themselves differ in the last digits with the order of additions).
"""

from __future__ import annotations

import argparse

from pyspark import StorageLevel
from pyspark.ml.clustering import KMeans, KMeansModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

POINTS = {"tiny": 10_000, "small": 400_000, "medium": 2_500_000, "large": 16_000_000}
DIMENSIONS = 10
GROUPS = 8
ROUNDS = 10


def draw(seed: int, column: int) -> Column:
    """A number in [-0.5, 0.5) drawn from the row's id, the seed and the column's number."""
    return F.pmod(F.xxhash64("id", F.lit(seed), F.lit(column)), F.lit(1 << 40)) / F.lit(float(1 << 40)) - 0.5


def generate(spark: SparkSession, points: int, seed: int) -> DataFrame:
    """Columns `group` and x0 to x9: points in a box around the corner of a cube that their group stands at."""
    group = F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(GROUPS))
    corners = [
        (10.0 * F.shiftrightunsigned(group, i % 3).bitwiseAND(1) + draw(seed, i)).alias(f"x{i}")
        for i in range(DIMENSIONS)
    ]
    return spark.range(points).select(group.alias("group"), *corners)


def cluster(points: DataFrame, seed: int, rounds: int, level: StorageLevel) -> tuple[KMeansModel, DataFrame]:
    """The model, and the points with their `group` and the `prediction`."""
    assembler = VectorAssembler(inputCols=[f"x{i}" for i in range(DIMENSIONS)], outputCol="features")
    vectors = assembler.transform(points).select("group", "features").persist(level)
    model = KMeans(k=GROUPS, seed=seed, maxIter=rounds, initSteps=5).fit(vectors)
    return model, model.transform(vectors)


def main() -> None:
    """Runs the program and prints the size of the largest and smallest cluster, and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=POINTS, default="small", help="number of points (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated points (default: 1)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds (default: {ROUNDS})")
    parser.add_argument("--storage", default="MEMORY_AND_DISK", help="storage level of the points")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="cluster the points of this folder instead")
    where.add_argument("--generate", metavar="DIR", help="only write the points into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"k-means-{options.size}").getOrCreate()
    if options.generate:
        generate(spark, POINTS[options.size], options.seed).write.mode("overwrite").parquet(options.generate)
        print(f"written={options.generate}")
    else:
        made = generate(spark, POINTS[options.size], options.seed)
        points = spark.read.parquet(options.input) if options.input else made
        _, placed = cluster(points, options.seed, options.rounds, getattr(StorageLevel, options.storage))
        pairs = placed.groupBy("group", "prediction").count().collect()
        sizes = sorted((pair["group"], pair["count"]) for pair in pairs)
        print(f"points={sum(size for _, size in sizes)} clusters={len({pair['prediction'] for pair in pairs})}")
        print(f"checksum={'-'.join(str(size) for _, size in sizes)}")
    spark.stop()


if __name__ == "__main__":
    main()
