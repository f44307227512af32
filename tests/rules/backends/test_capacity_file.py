"""What is said of a file before it is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rules.backends.capacity_file import CapacityFile
from rules.model import Severity
from rules.plan import BackEndKind, Configuration
from rules.planner import proposed_configuration
from tests.rules.lifecycle.fake import BEFORE, FakeScheduler, P, file_of
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Applied

CHANGES: dict[str, str | None] = {f"{P}root.prod.capacity": "50", f"{P}root.dev.capacity": "50"}


@pytest.fixture
def rm() -> Iterator[ResourceManagerClient]:
    with FakeScheduler() as fake, ResourceManagerClient(fake.url, SimpleAuth("alice"), timeout_s=5.0) as client:
        yield client


def found(rm: ResourceManagerClient, path: Path, *, managers: int = 1, refreshable: bool = True) -> dict[str, Severity]:
    back_end = CapacityFile(
        rm, path, (lambda: Applied()) if refreshable else None, site={}, version=(3, 5), managers=managers
    )
    current = back_end.read()
    proposed = proposed_configuration(BackEndKind.CAPACITY_FILE, current, CHANGES)
    return {finding.rule_id: finding.severity for finding in back_end.check(current, proposed)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "capacity-scheduler.xml"
    path.write_bytes(file_of(BEFORE))
    return path


def test_a_file_in_force_that_is_ours_has_no_findings(rm: ResourceManagerClient, file: Path) -> None:
    assert found(rm, file) == {}


def test_g2_13_several_resourcemanagers_have_a_file_each(rm: ResourceManagerClient, file: Path) -> None:
    assert found(rm, file, managers=2) == {"file-on-every-rm": Severity.WARNING}


def test_without_rmadmin_nothing_is_planned(rm: ResourceManagerClient, file: Path) -> None:
    assert found(rm, file, refreshable=False) == {"no-rmadmin": Severity.ERROR}


def test_a_file_of_a_configuration_management_is_told(rm: ResourceManagerClient, file: Path) -> None:
    file.write_bytes(file_of(BEFORE).replace(b"by hand", b"Ansible managed"))
    assert found(rm, file) == {"file-managed-elsewhere": Severity.WARNING}


def test_the_file_of_another_cluster_is_found_out(rm: ResourceManagerClient, file: Path) -> None:
    file.write_bytes(file_of({**BEFORE, f"{P}root.prod.capacity": "20", f"{P}root.dev.capacity": "80"}))
    assert found(rm, file)["file-not-in-force"] is Severity.ERROR


def test_a_file_that_is_gone_is_a_refusal_at_the_write(rm: ResourceManagerClient, file: Path) -> None:
    back_end = CapacityFile(rm, file, Applied, site={}, version=(3, 5))
    current = back_end.read()
    file.unlink()
    answer = back_end.write(current, replace(current, data=b"new"))
    assert not isinstance(answer, Applied)
    assert back_end.write(Configuration({}), Configuration({})) != Applied()
