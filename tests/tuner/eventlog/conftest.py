"""Event logs that a real Spark writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def spark_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of logs for each application of ``write_logs.py``."""
    root = tmp_path_factory.mktemp("logs") / "spark"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "HADOOP_"))}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("write_logs.py")), str(root)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )
    # The last application's driver is killed, which may take the Python side down with it.
    if not (root / "killed").is_dir():
        pytest.fail(f"Spark did not write its logs:\n{done.stderr[-3000:]}")
    return root


def only_log(folder: Path) -> Path:
    """The one log in a folder."""
    logs = [path for path in folder.iterdir() if not path.name.startswith(".")]
    assert len(logs) == 1, logs
    return logs[0]
