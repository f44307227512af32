"""A live cluster as values: what its scheduler is configured to do, and what it holds at one moment.

:func:`rules.live.read.read_cluster` asks the ResourceManager, through :mod:`tuner.yarn`, and gives a
:class:`~rules.live.model.LiveCluster`; :func:`rules.live.case.to_case` makes a case of it for the estimator. Everything
else here is pure. See ``docs/explain.md``.
"""
