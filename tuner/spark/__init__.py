"""What is particular to Spark: configuration, spark-submit, event logs."""
