"""`yarntune workload`: what it prints, its exit status, and what it leaves behind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tuner.errors import InputError
from tuner.settings import Settings
from workloads.catalogue import open_workload
from workloads.cli.workload import FORMAT_NAMES, workload
from workloads.importers.registry import FORMATS
from workloads.samples import SAMPLES
from workloads.trace import read_case

SWIM = "".join(f"job{n}\t{60 * n}\t60\t{n * 10**8}\t{n % 2}\t0\n" for n in range(60))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(workload, [str(each) for each in arguments])


@pytest.fixture
def trace(yarntune_home: Path) -> Path:
    path = yarntune_home / "fb.tsv.gz"
    path.write_bytes(gzip.compress(SWIM.encode()))
    return path


def test_the_formats_are_those_of_the_registry() -> None:
    assert tuple(FORMATS) == FORMAT_NAMES


def test_what_is_imported_is_listed_and_can_be_opened(trace: Path) -> None:
    result = run("import", trace, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["name"], told["jobs"]) == ("fb", 60)
    opened = open_workload("fb", Settings.from_environment())
    assert len(opened.jobs) == 60
    listed = json.loads(run("list", "--json").stdout)["workloads"]
    (entry,) = [each for each in listed if each["kind"] == "imported"]
    assert (entry["name"], entry["jobs"], entry["tasks"]) == ("fb", 60, opened.tasks.total)
    assert {each["name"] for each in listed} >= {"word_count", "sql_join", "steady-hour"}
    assert all(each["title"] for each in listed)


def test_stdout_is_the_result_and_notes_go_to_stderr(trace: Path) -> None:
    result = run("import", trace)
    assert result.stdout.count("\n") == 1
    assert "60 jobs" in result.stdout
    assert "fb.tsv.gz: 60 rows" in result.stderr
    assert "assumed: map_split_mib = 256" in result.stderr


def test_a_case_of_a_window(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "case.json"
    result = run("import", trace, "--window", "10min:40min", "--nodes", "3", "--as-case", out, "--json")
    assert result.exit_code == 0, result.output
    case = read_case(out)
    assert [job.id for job in case.jobs] == [f"job{n}" for n in range(10, 40)]
    assert json.loads(result.stdout)["nodes"] == len(case.nodes) == 3
    again = tmp_path / "again.json"
    run("import", trace, "--window", "600:2400", "--nodes", "3", "--as-case", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_workload_of_a_window_goes_where_it_is_told(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.workload.zst"
    assert run("import", trace, "--window", "0:600", "-o", out).exit_code == 0
    assert len(open_workload(str(out), Settings.from_environment()).jobs) == 10
    assert "imported" not in run("list").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--nodes", "3"), "add --as-case"),
        (("--nodes", "3", "--load", "0.5", "--as-case", "x"), "exclude each other"),
        (("--window", "5"), "write START:END"),
        (("--queues", "by-team:0", "--as-case", "x"), "number of teams"),
        (("--queues", "by-luck", "--as-case", "x"), "by-size, by-team:N or recorded"),
        (("--max-bad", "2"), "not a share"),
        (("--node-memory", "8.5g", "--as-case", "x"), "fraction"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: tuple[str, ...], words: str, trace: Path) -> None:
    result = run("import", trace, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_errors_are_ours_and_leave_nothing(trace: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text(SWIM + "rubbish\n" * 5)
    result = run("import", bad, "-o", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "bad.tsv:61: 1 columns, not 6" in result.exception.message
    assert run("import", bad, "-o", tmp_path / "out", "--max-bad", "10%").exit_code == 0
    with pytest.raises(InputError, match="no workload other"):
        open_workload("other", Settings.from_environment())


def test_a_broken_file_is_listed_as_such(trace: Path) -> None:
    run("import", trace)
    settings = Settings.from_environment()
    (settings.data_dir / "workloads" / "half.workload.zst").write_bytes(b"x")
    result = run("list")
    assert result.exit_code == 0
    assert "cannot be read" in result.stdout
    assert "half.workload.zst is not the file of a workload" in result.stderr


def test_the_guide_names_every_format_sample_and_choice_of_queues() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text(encoding="utf-8")
    missing = [name for name in (*FORMATS, *SAMPLES) if f"`{name}`" not in guide]
    missing += [name for name in ("by-size", "by-team:N", "recorded") if f"{name}`" not in guide]
    assert not missing
