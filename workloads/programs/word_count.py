"""Word count: counts the words of a generated text whose word frequencies follow Zipf's law.

spark-submit word_count.py --size small            text made on the fly
spark-submit word_count.py --generate DIR          writes the text, as files
spark-submit word_count.py --input DIR             counts the words of files

Prints `checksum=...`, the same for the same size and seed under every configuration.
"""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

# Lines of ten words, about 80 bytes each.
LINES = {"tiny": 20_000, "small": 1_000_000, "medium": 6_000_000, "large": 40_000_000}
WORDS_PER_LINE = 10
VOCABULARY = 50_000


def generate(spark: SparkSession, lines: int, seed: int) -> DataFrame:
    """One column `value` of text lines; a word's rank is exp(U * log V), which is Zipf's law with exponent 1."""
    words = []
    for position in range(WORDS_PER_LINE):
        uniform = F.pmod(F.xxhash64("id", F.lit(seed), F.lit(position)), F.lit(1 << 40)) / F.lit(float(1 << 40))
        words.append(F.concat(F.lit("w"), F.floor(F.pow(F.lit(float(VOCABULARY)), uniform)).cast("string")))
    return spark.range(lines).select(F.concat_ws(" ", *words).alias("value"))


def count_words(text: DataFrame) -> DataFrame:
    """Columns `word` and `count`."""
    return text.select(F.explode(F.split("value", " ")).alias("word")).groupBy("word").count()


def main() -> None:
    """Runs the program and prints the number of words, of distinct words, and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=LINES, default="small", help="amount of text (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated text (default: 1)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="count the words of these files instead")
    where.add_argument("--generate", metavar="DIR", help="only write the text into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"word-count-{options.size}").getOrCreate()
    if options.generate:
        generate(spark, LINES[options.size], options.seed).write.mode("overwrite").text(options.generate)
        print(f"written={options.generate}")
    else:
        text = spark.read.text(options.input) if options.input else generate(spark, LINES[options.size], options.seed)
        row = (
            count_words(text)
            .agg(
                F.sum("count").alias("words"),
                F.count("*").alias("distinct"),
                F.sum(F.xxhash64("word", "count").cast("decimal(38,0)")).alias("checksum"),
            )
            .first()
        )
        assert row is not None
        print(f"words={row['words']} distinct={row['distinct']}")
        print(f"checksum={row['checksum']}")
    spark.stop()


if __name__ == "__main__":
    main()
