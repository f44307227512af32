"""SWIM: the shared trace's counts, and tasks modelled from bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tuner.errors import InputError
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.importers.swim import SwimModel

MIB = 2**20


def test_the_whole_facebook_trace(shared_data: Path) -> None:
    path = shared_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"
    workload = import_workload([path], ImportOptions("fb"))
    assert workload.provenance.format == "swim"
    assert (workload.provenance.files[0].rows, workload.provenance.files[0].bad_rows) == (5894, 0)
    assert len(workload.jobs) == 5894
    submits = [job.submit_s for job in workload.jobs]
    assert submits[-1] > 86_400  # the README: submits run past the day
    assert not [each for each in submits if 11 * 3600 <= each < 12 * 3600]  # and hour 11 is empty
    no_reduce = sum(not workload.tasks_of(job).stage.any() for job in workload.jobs)
    assert 0.74 < no_reduce / 5894 < 0.77


def test_the_first_jobs_are_those_of_the_whole_trace(shared_data: Path) -> None:
    folder = shared_data / "swim"
    whole = import_workload([folder / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("fb"))
    some = import_workload([folder / "FB-2009_samples_24_times_1hr_0_first50jobs.tsv"], ImportOptions("fb"))
    assert some.jobs == whole.jobs[:50]
    assert some.tasks == whole.tasks.take(slice(0, len(some.tasks)))


@pytest.mark.parametrize(
    ("read", "shuffle", "stages"),
    [
        (0, 0, ((1, 2.0),)),
        (128 * MIB, 0, ((1, 2 + 12 * 0.5),)),
        (256 * MIB + 1, 1, ((2, 2 + 12 * 0.5), (1, 4.0))),
        (10**15, 10**15, ((300, 14.0), (60, 24.0))),
        (1024 * MIB, 768 * MIB, ((4, 14.0), (2, 4 + 20 * 0.75))),
    ],
)
def test_stages_from_bytes(read: int, shuffle: int, stages: tuple[tuple[int, float], ...]) -> None:
    found = SwimModel().stages(read, shuffle)
    assert [count for count, _ in found] == [count for count, _ in stages]
    assert [median for _, median in found] == pytest.approx([median for _, median in stages], rel=1e-6)


def test_durations_have_the_stated_median_and_spread_and_follow_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    path.write_text("".join(f"j{n}\t{n}\t1\t{300 * 256 * MIB}\t0\t0\n" for n in range(20)))
    one, same, other = (import_workload([path], ImportOptions("x", seed)) for seed in (1, 1, 2))
    logs = np.log(one.tasks.duration_s / 14.0)
    assert abs(logs.mean()) < 0.02
    assert abs(logs.std() - 0.25) < 0.01
    assert one.tasks == same.tasks
    assert one.tasks != other.tasks


def test_bad_rows_of_swim(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    good = "".join(f"j{n}\t{n}\t1\t5\t0\t0\n" for n in range(500))
    path.write_text(good + "j1\t9\t1\t5\t0\t0\nj600\t-9\t1\t5\t0\t0\nj601\t9\t1\tmany\t0\t0\nj602\t9\n")
    workload = import_workload([path], ImportOptions("x"))
    assert len(workload.jobs) == 500
    assert [row.split(": ", 1) for row in workload.provenance.bad_rows] == [
        ["trace.tsv:501", "the job 'j1' is there twice"],
        ["trace.tsv:502", "the submit time is -9, below 0"],
        ["trace.tsv:503", "the input is 'many', not a whole number"],
        ["trace.tsv:504", "2 columns, not 6"],
    ]
    with pytest.raises(InputError, match="4 of 504"):
        import_workload([path], ImportOptions("x"), max_bad_share=0.001)
