"""SQL join: visits joined with page ranks, revenue by source address, as HiBench's join.

spark-submit sql_join.py --size small              tables made on the fly
spark-submit sql_join.py --generate DIR            writes the tables, as Parquet
spark-submit sql_join.py --input DIR               joins the tables of a folder written so

Prints `checksum=...`, the same for the same size and seed under every configuration.
"""

from __future__ import annotations

import argparse

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

# Visits; there is one page for every ten of them, and popular pages are visited more.
VISITS = {"tiny": 50_000, "small": 4_000_000, "medium": 24_000_000, "large": 160_000_000}
VISITS_PER_PAGE = 10
ADDRESSES_PER_VISIT = 1 / 40

QUERY = """
    SELECT source_ip, sum(ad_revenue) AS total_revenue, avg(page_rank) AS mean_rank
    FROM rankings JOIN visits ON rankings.page_url = visits.dest_url
    WHERE visit_day BETWEEN 30 AND 300
    GROUP BY source_ip
"""


def draw(seed: int, column: int, below: int) -> Column:
    """A whole number below `below`, drawn from the row's id, the seed and the column's number."""
    return F.pmod(F.xxhash64("id", F.lit(seed), F.lit(column)), F.lit(below))


def rankings(spark: SparkSession, visits: int, seed: int) -> DataFrame:
    """Columns page_url (string), page_rank (long)."""
    return spark.range(visits // VISITS_PER_PAGE).select(
        F.concat(F.lit("url-"), "id").alias("page_url"), draw(seed, 1, 1_000).alias("page_rank")
    )


def user_visits(spark: SparkSession, visits: int, seed: int) -> DataFrame:
    """Columns dest_url, source_ip (strings), visit_day (long), ad_revenue (long, in cents)."""
    pages = visits // VISITS_PER_PAGE
    uniform = draw(seed, 2, 1 << 40) / F.lit(float(1 << 40))
    return spark.range(visits).select(
        F.concat(F.lit("url-"), F.floor(uniform * uniform * pages).cast("string")).alias("dest_url"),
        F.concat(F.lit("10."), draw(seed, 3, max(1, int(visits * ADDRESSES_PER_VISIT)))).alias("source_ip"),
        draw(seed, 4, 365).alias("visit_day"),
        draw(seed, 5, 10_000).alias("ad_revenue"),
    )


def main() -> None:
    """Runs the program and prints the number of groups, the revenue, and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=VISITS, default="small", help="number of visits (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated tables (default: 1)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="join the tables of this folder instead")
    where.add_argument("--generate", metavar="DIR", help="only write the tables into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"sql-join-{options.size}").getOrCreate()
    visits = VISITS[options.size]
    if options.generate:
        rankings(spark, visits, options.seed).write.mode("overwrite").parquet(f"{options.generate}/rankings")
        user_visits(spark, visits, options.seed).write.mode("overwrite").parquet(f"{options.generate}/visits")
        print(f"written={options.generate}")
    else:
        if options.input:
            spark.read.parquet(f"{options.input}/rankings").createOrReplaceTempView("rankings")
            spark.read.parquet(f"{options.input}/visits").createOrReplaceTempView("visits")
        else:
            rankings(spark, visits, options.seed).createOrReplaceTempView("rankings")
            user_visits(spark, visits, options.seed).createOrReplaceTempView("visits")
        row = (
            spark.sql(QUERY)
            .agg(
                F.count("*").alias("groups"),
                F.sum("total_revenue").alias("revenue"),
                F.sum(F.xxhash64("source_ip", "total_revenue", F.round("mean_rank", 6)).cast("decimal(38,0)")).alias(
                    "checksum"
                ),
            )
            .first()
        )
        assert row is not None
        print(f"groups={row['groups']} revenue={row['revenue']}")
        print(f"checksum={row['checksum']}")
    spark.stop()


if __name__ == "__main__":
    main()
