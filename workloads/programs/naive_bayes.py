"""Naive Bayes: learns and applies a classifier of generated documents, as HiBench's Bayes.

spark-submit naive_bayes.py --size small           documents made on the fly
spark-submit naive_bayes.py --generate DIR         writes the documents, as Parquet
spark-submit naive_bayes.py --input DIR            classifies the documents of a folder written so

Prints `checksum=...`, the same for the same size and seed under every configuration: how many documents of each class
were put into it.
"""

from __future__ import annotations

import argparse

from pyspark import StorageLevel
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import HashingTF
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

DOCUMENTS = {"tiny": 3_000, "small": 120_000, "medium": 700_000, "large": 5_000_000}
CLASSES = 20
WORDS_PER_DOCUMENT = 30
VOCABULARY = 10_000
OWN_WORDS = 0.1
"""Share of a document's words that come from its class's own part of the vocabulary."""
FEATURES = 1 << 14


def generate(spark: SparkSession, documents: int, seed: int) -> DataFrame:
    """Columns label (double) and words (array of strings)."""
    label = F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(CLASSES))

    def word(position: int) -> Column:
        uniform = F.pmod(F.xxhash64("id", F.lit(seed), F.lit(position)), F.lit(1 << 40)) / F.lit(float(1 << 40))
        common = F.floor(F.pow(F.lit(float(VOCABULARY)), uniform))
        own = F.lit(VOCABULARY) + label * 50 + F.floor(uniform / OWN_WORDS * 50)
        return F.concat(F.lit("w"), F.when(uniform < OWN_WORDS, own).otherwise(common).cast("string"))

    words = F.array(*[word(position) for position in range(WORDS_PER_DOCUMENT)])
    return spark.range(documents).select(label.cast("double").alias("label"), words.alias("words"))


def main() -> None:
    """Runs the program and prints the accuracy and a checksum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=DOCUMENTS, default="small", help="number of documents (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated documents (default: 1)")
    parser.add_argument("--storage", default="MEMORY_AND_DISK", help="storage level of the word counts")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--input", metavar="DIR", help="classify the documents of this folder instead")
    where.add_argument("--generate", metavar="DIR", help="only write the documents into this folder")
    options = parser.parse_args()

    spark = SparkSession.builder.appName(f"naive-bayes-{options.size}").getOrCreate()
    if options.generate:
        generate(spark, DOCUMENTS[options.size], options.seed).write.mode("overwrite").parquet(options.generate)
        print(f"written={options.generate}")
    else:
        made = generate(spark, DOCUMENTS[options.size], options.seed)
        documents = spark.read.parquet(options.input) if options.input else made
        counts = HashingTF(numFeatures=FEATURES, inputCol="words", outputCol="features").transform(documents)
        counts = counts.select("label", "features").persist(getattr(StorageLevel, options.storage))
        placed = NaiveBayes(smoothing=1.0).fit(counts).transform(counts)
        right = placed.where("prediction = label").groupBy("label").count().orderBy("label").collect()
        correct = [row["count"] for row in right]
        print(f"documents={counts.count()} correct={sum(correct)}")
        print(f"checksum={'-'.join(str(count) for count in correct)}")
    spark.stop()


if __name__ == "__main__":
    main()
