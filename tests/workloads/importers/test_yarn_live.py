"""The history of a real ResourceManager."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import ApplicationSubmission
from workloads.cluster.spec import RunningCluster
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload


@pytest.mark.cluster
@pytest.mark.slow
def test_an_application_that_ran_is_imported(yarn_cluster: RunningCluster, cluster_settings: Settings) -> None:
    settings = replace(cluster_settings, rm_url=yarn_cluster.rm_url)
    before_s = time.time()
    with ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth(settings.user), settings.rm_timeout_s) as rm:
        app_id = rm.new_application().id
        rm.submit(ApplicationSubmission(app_id, "imported", "sleep 3", memory_mib=1024))
        deadline = time.monotonic() + 120
        # A command that never registers as an AM ends as FAILED; what it held is counted all the same.
        while not (application := rm.application(app_id)) or not application.ended:
            assert time.monotonic() < deadline
            time.sleep(0.5)
    workload = import_workload([], ImportOptions("live", settings=settings, since_s=before_s - 1), format_name="yarn")
    (job,) = [job for job in workload.jobs if job.id == app_id]
    tasks = workload.tasks_of(job)
    assert (job.name, job.user) == ("imported", settings.user)
    assert application.memory_seconds
    held = tasks.memory_mib_seconds + job.am_memory_mib * float(tasks.duration_s[0])
    assert held == pytest.approx(application.memory_seconds, rel=0.02)
    assert workload.epoch_s is not None
    assert workload.epoch_s >= before_s - 1
