"""MespaConfig: finds, for a recurring Spark job, the configuration that is fast and reserves little memory."""
