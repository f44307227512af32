"""The advice of a job, written by SQLAlchemy and read without it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tuner.store.conftest import NOW
from tuner.errors import StoreError
from tuner.settings import Settings
from tuner.store import Store
from tuner.store.quick import read_advice


def test_the_quick_reader_reads_what_the_store_wrote(store: Store, settings: Settings) -> None:
    assert read_advice(settings.database_url, "k1") is None
    store.advice.put("k1", {"candidates": [], "note": "ä"}, now=NOW)
    store.advice.put("k2", {"candidates": [1]}, now=NOW)
    assert read_advice(settings.database_url, "k1") == {"candidates": [], "note": "ä"} == store.advice.get("k1")
    store.advice.put("k1", {"candidates": [2]}, now=NOW + 1)
    assert read_advice(settings.database_url, "k1") == {"candidates": [2]}
    assert store.advice.get("none") is None


def test_a_store_that_is_not_made_yet_has_no_advice(tmp_path: Path) -> None:
    assert read_advice(f"sqlite:///{tmp_path / 'no.db'}", "k1") is None
    assert not (tmp_path / "no.db").exists()


def test_a_store_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"bad\.db cannot be read"):
        read_advice(f"sqlite:///{tmp_path / 'bad.db'}", "k1")
    with pytest.raises(StoreError, match="cannot be read") as caught:
        read_advice("postgresql://eve:s3cret@127.0.0.1:1/nowhere", "k1")
    assert "s3cret" not in str(caught.value)


def test_the_quick_reader_does_not_load_sqlalchemy() -> None:
    code = "import sys, tuner.store.quick; print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_store_that_is_just_being_made_has_no_advice(tmp_path: Path) -> None:
    """The file is there before its tables are: the first submissions of many meet it like that."""
    sqlite3.connect(tmp_path / "store.db").close()
    (tmp_path / "store.db").touch()
    assert read_advice(f"sqlite:///{tmp_path / 'store.db'}", "k1") is None
