"""The Fair Scheduler's side of the simulation.

Classes and methods named in the docstrings are those of Hadoop 3.4
(``org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair``). The order of the modules: ``state`` (the tables),
``order`` (who is served first), ``shares`` (the update step), ``apps`` (which applications may run), ``assign`` (one
beat of a node), ``preemption``, and ``hooks``, which ties them to the event loop.
"""
