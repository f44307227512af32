"""The frame of the project: lock file, start-up, documentation that must not fall behind."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement

from tuner.cli.reference import leaf_commands, reference
from tuner.errors import InputError
from tuner.settings import SETTINGS, Settings

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
DIRECT = [
    Requirement(text)
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for text in texts
]
LOCKED_EXTRAS = ("dev", "postgres")


def test_the_lock_has_every_direct_dependency_in_its_range_with_hashes() -> None:
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))
    wanted = PROJECT["dependencies"] + [
        text for extra in LOCKED_EXTRAS for text in PROJECT["optional-dependencies"][extra]
    ]
    for text in wanted:
        requirement = Requirement(text)
        assert requirement.name in locked, f"{requirement.name} is not in requirements.lock: make lock"
        assert requirement.specifier.contains(locked[requirement.name]), text
    assert LOCK.count("--hash=sha256:") >= len(locked)


def test_the_lock_names_no_index() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda r: str(r.name))
def test_every_dependency_has_its_reason(requirement: Requirement) -> None:
    assert requirement.name.split("[")[0] in (ROOT / "docs" / "dependencies.md").read_text()


def test_every_setting_is_documented_and_read() -> None:
    documented = re.findall(r"^\| `(YARNTUNE_\w+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert documented == [setting.name for setting in SETTINGS]
    sources = "".join(
        path.read_text()
        for package in ("tuner", "workloads", "rules", "web")
        for path in (ROOT / package).rglob("*.py")
    )
    for setting in SETTINGS:
        assert sources.count(f'"{setting.name}"') >= 2, f"{setting.name} is in the table and nowhere read"


def test_settings_come_from_the_environment_alone(tmp_path: Path) -> None:
    settings = Settings.from_environment({"YARNTUNE_DATA_DIR": str(tmp_path), "YARNTUNE_RM_TIMEOUT": "2.5"})
    assert settings.database_url == f"sqlite:///{tmp_path / 'yarntune.db'}"
    assert settings.rm_timeout_s == 2.5
    for bad in ("0", "-1", "soon", "inf", "nan"):
        with pytest.raises(InputError, match="YARNTUNE_RM_TIMEOUT"):
            Settings.from_environment({"YARNTUNE_RM_TIMEOUT": bad})


@pytest.mark.parametrize(
    ("name", "command"), leaf_commands(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_and_option_explains_itself(name: str, command: click.Command) -> None:
    assert command.help, f"yarntune {name} has no help"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"yarntune {name} {parameter.opts[0]} has no help"


def test_the_reference_of_commands_is_up_to_date() -> None:
    written = (ROOT / "docs" / "commands.md").read_text()
    assert written == reference(), "python -m tuner.cli.reference > docs/commands.md"


def test_starting_the_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, tuner.cli\n"
        "heavy = {'optuna', 'sqlalchemy', 'alembic', 'numpy', 'scipy', 'sklearn', 'pyspark', 'requests', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_command_is_a_usage_error() -> None:
    done = subprocess.run([sys.executable, "-m", "tuner.cli", "tuen"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No such command" in done.stderr


def test_documentation_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
