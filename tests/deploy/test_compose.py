"""docker-compose.yml and the Dockerfile: what they start is there, and they keep the promises of docs/containers.md."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.errors import InputError
from tuner.settings import SETTINGS, Settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name in SERVICES if name != "postgres"]


def commands_of(service: dict[str, Any]) -> list[list[str]]:
    """Every call of yarntune in a service's command and health check."""
    found = []
    for command in (service["command"], service.get("healthcheck", {}).get("test", [])):
        words = command[1:] if command[:1] == ["CMD"] else command
        if words[:2] == ["sh", "-c"]:
            parts = re.split(r"&&|;|\n|'", words[2])
            found += [shlex.split(part) for part in parts if part.strip().startswith("yarntune ")]
        elif words[:1] == ["yarntune"]:
            found.append(words)
    return found


CALLS = sorted({tuple(call) for name in OURS for call in commands_of(SERVICES[name])})


def test_every_part_is_there_and_says_how_it_is() -> None:
    assert set(SERVICES) == {"postgres", "migrate", "cluster", "web", "daemon"}
    for name, service in SERVICES.items():
        assert name == "migrate" or service["healthcheck"]["test"][0] == "CMD", name
        for other, condition in (service.get("depends_on") or {}).items():
            wanted = "service_completed_successfully" if other == "migrate" else "service_healthy"
            assert condition == {"condition": wanted}
    assert {call[1] for call in CALLS} == {"web", "scheduler", "cluster", "db"}


@pytest.mark.parametrize("call", CALLS, ids=shlex.join)
def test_every_command_is_one_of_yarntune_with_options_that_it_has(call: tuple[str, ...]) -> None:
    names = [word for word in call[1:3] if not word.startswith("-")]
    done = subprocess.run(
        [sys.executable, "-m", "tuner.cli", *names, "--help"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for option in (word for word in call if word.startswith("--")):
        assert f"{option} " in done.stdout, f"{names} has no {option}"


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_runs_as_root_or_can_write_to_its_image(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    if name == "postgres":
        assert service["user"] == "postgres"
    else:
        last = DOCKERFILE.rpartition("\nFROM ")[2]
        assert re.search(r"^USER yarntune$", last, re.MULTILINE)


def test_secrets_are_files_and_in_no_environment() -> None:
    assert COMPOSE["secrets"] == {"postgres-password": {"file": "./secrets/postgres-password"}}
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "secrets/" in ignored
    for name, service in SERVICES.items():
        assert "postgres-password" in service["secrets"], name
        for variable, value in service["environment"].items():
            assert "PASSWORD" not in variable or (variable.endswith("_FILE") and value.startswith("/run/secrets/"))
            assert not re.search(r"://[^/@]*:[^/@]*@", str(value)), "a password in a URL"


def test_the_variables_are_settings_and_the_volumes_are_kept() -> None:
    known = {each.name for each in SETTINGS}
    for name in OURS:
        assert set(SERVICES[name]["environment"]) <= known
        mounted = {volume.split(":")[1] for volume in SERVICES[name]["volumes"]}
        assert {"/var/lib/yarntune", "/var/cache/yarntune"} <= mounted
    named = {volume.split(":")[0] for each in SERVICES.values() for volume in each["volumes"] if volume[0] not in "./"}
    assert named == set(COMPOSE["volumes"])
    assert set(re.findall(r"\bYARNTUNE_\w+", DOCKERFILE)) <= known


def test_what_is_mounted_and_copied_is_there() -> None:
    for service in SERVICES.values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), source
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in (ROOT / ".dockerignore").read_text().splitlines(), f"{source} is left out"


def test_ports_are_published_on_loopback_only() -> None:
    for service in SERVICES.values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")


def test_compose_takes_the_file(tmp_path: Path) -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("there is no `docker compose` on this machine")
    done = subprocess.run(
        [docker, "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_password_comes_out_of_its_file_and_only_where_one_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("p@ss/w:rd\n")

    def url(text: str) -> str:
        values = {"YARNTUNE_DATABASE_URL": text, "YARNTUNE_DATABASE_PASSWORD_FILE": str(file)}
        return Settings.from_environment(values).database_url

    assert url("postgresql://ann@db:5432/yarntune") == "postgresql://ann:p%40ss%2Fw%3Ard@db:5432/yarntune"
    for kept in ("postgresql://ann:own@db/yarntune", "postgresql://db/yarntune", "sqlite:////tmp/a@b.db"):
        assert url(kept) == kept
    file.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        url("postgresql://ann@db/yarntune")
