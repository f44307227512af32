"""The spark-submit wrapper: what it decides, how it runs spark-submit, and how a run gets into the store.

A fault of ours never costs a run: whatever goes wrong here, spark-submit is started as the user wrote it.
"""
