"""The Capacity Scheduler's side of the simulation.

Classes and methods named in the docstrings are those of Hadoop 3.4
(``org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity``).
"""
