"""Replacing files, refreshing queues, and what a file says of who owns it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rules.backends.capacity_file import managed_elsewhere
from rules.backends.files import replace_file
from rules.backends.refresh import find_refresh, run_refresh
from tuner.settings import Settings
from tuner.yarn.locate import Target
from tuner.yarn.model import Applied, Rejected, Unknown


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "queues.xml"
    path.write_bytes(b"old\r\n")
    path.chmod(0o640)
    assert replace_file(path, b"old\r\n", b"new\n") == Applied()
    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path], "no temporary file stays"


def test_a_file_that_is_another_one_by_now_is_left(tmp_path: Path) -> None:
    path = tmp_path / "queues.xml"
    path.write_bytes(b"theirs")
    answer = replace_file(path, b"old", b"new")
    assert isinstance(answer, Rejected)
    assert "changed by somebody else" in answer.reason
    assert path.read_bytes() == b"theirs"


def test_a_link_goes_on_pointing_at_the_file(tmp_path: Path) -> None:
    path, link = tmp_path / "queues.xml", tmp_path / "conf" / "queues.xml"
    path.write_bytes(b"old")
    link.parent.mkdir()
    link.symlink_to(path)
    assert replace_file(link, b"old", b"new") == Applied()
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_folder_that_cannot_be_written_to_is_a_refusal(tmp_path: Path) -> None:
    answer = replace_file(tmp_path / "gone" / "queues.xml", b"old", b"new")
    assert isinstance(answer, Rejected)
    assert "cannot be read" in answer.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"<!-- Ansible managed -->", "Ansible managed"),
        (b"<!-- This file is managed by Puppet. DO NOT EDIT -->", "managed by Puppet"),
        (b"<!-- Queues of the data team -->", None),
    ],
)
def test_marks_of_configuration_management(text: bytes, words: str | None) -> None:
    assert managed_elsewhere(text) == words


def yarn(folder: Path, script: str) -> str:
    """A ``yarn`` command that does what a script says."""
    path = folder / "bin" / "yarn"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_queues_are_refreshed_with_hadoops_command(tmp_path: Path) -> None:
    command = yarn(tmp_path, 'echo "$HADOOP_CONF_DIR $*" > "$HADOOP_CONF_DIR/said"')
    target = Target(("http://rm:8088",), tmp_path, None, None, "test")
    settings = Settings.from_environment({"YARNTUNE_STATE_DIR": str(tmp_path / "state")})
    refresh = find_refresh(target, settings, {**os.environ, "HADOOP_HOME": str(tmp_path)})
    assert refresh is not None
    assert refresh() == Applied()
    assert (tmp_path / "said").read_text() == f"{tmp_path} rmadmin -refreshQueues\n"
    on_path = find_refresh(target, settings, {"PATH": f"{Path(command).parent}:/bin"})
    assert on_path is not None
    assert find_refresh(target, settings, {"PATH": str(tmp_path)}) is None
    assert find_refresh(Target(("http://rm:8088",), None, None, None, "test"), settings, {"HADOOP_HOME": "/"}) is None


def test_what_rmadmin_says_is_the_reason_of_a_refusal(tmp_path: Path) -> None:
    said = "refreshQueues: java.io.IOException: Failed to re-init queues : Illegal capacity sum of 1.1"
    command = yarn(tmp_path, f'echo "INFO connecting" >&2; echo "{said}" >&2; exit 255')
    answer = run_refresh([command], dict(os.environ))
    assert isinstance(answer, Rejected)
    assert answer.reason == said


def test_a_refresh_that_does_not_end_is_unknown(tmp_path: Path) -> None:
    answer = run_refresh([yarn(tmp_path, "exec sleep 60")], dict(os.environ), timeout_s=0.5)
    assert isinstance(answer, Unknown)
