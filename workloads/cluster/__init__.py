"""The embedded cluster: Hadoop's own ResourceManager and NodeManagers as processes on loopback.

What other parts use is in :mod:`workloads.cluster.lifecycle` (``start``, ``stop``), :mod:`workloads.cluster.status`,
:mod:`workloads.cluster.shell` (the environment for Spark) and :mod:`workloads.cluster.admin` (``rmadmin``). A running
cluster is found by ``cluster.json`` in its folder, so nothing needs this package to use one.
"""
