"""Reading traces of other systems, and YARN's and Spark's own history, into a :class:`~workloads.workload.Workload`.

:func:`~workloads.importers.registry.import_workload` is the way in; ``docs/workloads.md`` says what each format has
and what is assumed where it has nothing.
"""
