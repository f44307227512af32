"""CloudMix: workloads from traces, Spark programs, and an embedded real YARN cluster."""
