"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Traces, event logs, queue files and REST bodies of real systems, which are not part of the project."""
    folder = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data")
    if folder.is_dir():
        return folder
    reason = f"the real-world test data is not at {folder}; set YARNTUNE_TEST_DATA to where it is"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def yarntune_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data and a state folder of the test's own; the cache of jars stays shared."""
    monkeypatch.setenv("YARNTUNE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("YARNTUNE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("YARNTUNE_DATABASE_URL", raising=False)
    monkeypatch.delenv("YARNTUNE_RM_URL", raising=False)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    return tmp_path
