"""The jars of the embedded cluster."""
