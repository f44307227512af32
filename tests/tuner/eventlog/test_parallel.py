"""Many logs at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tuner.eventlog.synthetic import application, end, task, write
from tuner.spark.eventlog import read_log, read_logs


@pytest.mark.parametrize("workers", [1, 2])
def test_same_as_one_by_one(tmp_path: Path, workers: int) -> None:
    paths = []
    for number in range(4):
        events = [*application(f"application_1_000{number}"), *(task(n) for n in range(number + 1)), end()]
        paths.append(write(tmp_path / str(number), *events))
    paths += [tmp_path / "absent", tmp_path / "text"]
    paths[-1].write_text("no log\n")
    results = {result.path: result for result in read_logs(paths, workers=workers)}
    assert set(results) == set(paths)
    for path in paths[:4]:
        log, alone = results[path].log, read_log(path)
        assert log is not None
        assert (log.application_id, log.totals, log.events) == (alone.application_id, alone.totals, alone.events)
        assert np.array_equal(log.stages[0].tasks.rows, alone.stages[0].tasks.rows)
    for path in paths[4:]:
        error = results[path].error
        assert error is not None
        assert str(path) in error.message
        assert error.hint
