"""PageRank: five rounds over a generated graph whose in-degrees follow a power law, with the links cached.

spark-submit page_rank.py --size small             graph made on the fly
spark-submit page_rank.py --generate DIR           writes the graph, as Parquet
spark-submit page_rank.py --input DIR              ranks the graph of a folder written so

Prints `checksum=...`, the same for the same size and seed under every configuration (ranks are rounded first, since
the order of floating-point additions is not fixed).
"""

from __future__ import annotations

import argparse

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

PAGES = {"tiny": 2_000, "small": 100_000, "medium": 600_000, "large": 4_000_000}
LINKS_PER_PAGE = 10
ROUNDS = 5
DAMPING = 0.85


def generate(spark: SparkSession, pages: int, seed: int) -> DataFrame:
    """Columns source and target (longs), each link once; low page numbers are linked to more often."""
    uniform = F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(1 << 40)) / F.lit(float(1 << 40))
    return (
        spark.range(pages * LINKS_PER_PAGE)
        .select(
            F.floor(F.col("id") / LINKS_PER_PAGE).alias("source"),
            F.floor(F.pow(uniform, F.lit(3.0)) * pages).alias("target"),
        )
        .distinct()
    )


def rank(links: DataFrame, rounds: int, level: StorageLevel) -> DataFrame:
    """Columns page and rank; every page has at least one outgoing link, so no rank is lost."""
    out = links.groupBy("source").agg(F.count("*").alias("out"))
    edges = links.join(out, "source").persist(level)
    ranks = out.select(F.col("source").alias("page"), F.lit(1.0).alias("rank"))
    for _ in range(rounds):
        given = (
            edges.join(ranks, edges["source"] == ranks["page"])
            .groupBy("target")
            .agg(F.sum(F.col("rank") / F.col("out")).alias("given"))
        )
        ranks = (
            out.join(given, out["source"] == given["target"], "left")
            .select(
                F.col("source").alias("page"),
                (F.lit(1 - DAMPING) + DAMPING * F.coalesce("given", F.lit(0.0))).alias("rank"),
            )
            # Without a cut the plan of the last round would hold all the others.
            .localCheckpoint(eager=True)
        )
    return ranks


def main() -> None:
    """Runs the program and prints the number of pages, the sum of ranks, and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=PAGES, default="small", help="number of pages (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated graph (default: 1)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds (default: {ROUNDS})")
    parser.add_argument("--storage", default="MEMORY_AND_DISK", help="storage level of the links")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="rank the graph of this folder instead")
    where.add_argument("--generate", metavar="DIR", help="only write the graph into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"page-rank-{options.size}").getOrCreate()
    if options.generate:
        generate(spark, PAGES[options.size], options.seed).write.mode("overwrite").parquet(options.generate)
        print(f"written={options.generate}")
    else:
        made = generate(spark, PAGES[options.size], options.seed)
        links = spark.read.parquet(options.input) if options.input else made
        row = (
            rank(links, options.rounds, getattr(StorageLevel, options.storage))
            .agg(
                F.count("*").alias("pages"),
                F.sum("rank").alias("total"),
                F.sum(F.xxhash64("page", F.round("rank", 6)).cast("decimal(38,0)")).alias("checksum"),
            )
            .first()
        )
        assert row is not None
        print(f"pages={row['pages']} total={row['total']:.3f}")
        print(f"checksum={row['checksum']}")
    spark.stop()


if __name__ == "__main__":
    main()
