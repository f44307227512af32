"""``yarntune-submit`` as a program, around a spark-submit that only says what it was called with."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tuner.submit.test_decision import ADVICE, subject
from tuner.settings import Settings
from tuner.store import open_store

WRAPPER = [sys.executable, "-m", "tuner.submit"]
SAYS = """#!{python}
import json, os, signal, sys, time
mode = os.environ.get("FAKE", "exit 0").split()
print(json.dumps(sys.argv[1:]), flush=True)
if mode[0] == "exit":
    sys.exit(int(mode[1]))
if mode[0] == "kill":
    os.kill(os.getpid(), int(mode[1]))
if mode[0] == "jvm":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    print("ready", flush=True)
    time.sleep(60)
if mode[0] == "locale":
    print(os.environ.get("LC_ALL"))
if mode[0] == "read":
    print(sys.stdin.read(), end="", flush=True)
"""
LINE = ("--master", "yarn", "--conf", "spark.app.name=x", "job.py", "--day", "2026-01-31")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    program = script(tmp_path / "spark" / "bin" / "spark-submit", SAYS.format(python=sys.executable))
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("YARNTUNE_", "SPARK_", "HADOOP_"))
    }
    return {
        **kept,
        "SPARK_HOME": str(program.parent.parent),
        "YARNTUNE_DATA_DIR": str(tmp_path / "data"),
        "YARNTUNE_STATE_DIR": str(tmp_path / "state"),
        "YARNTUNE_RM_URL": "http://127.0.0.1:1",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }


def run(environ: dict[str, str], *tokens: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WRAPPER, *tokens],
        env={**environ, **more},
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def called_with(result: subprocess.CompletedProcess[str]) -> list[str]:
    found = json.loads(result.stdout.splitlines()[0])
    assert isinstance(found, list)
    return found


def without_tag(tokens: list[str]) -> list[str]:
    places = [i for i, token in enumerate(tokens) if token.startswith("spark.yarn.tags=yarntune-")]
    assert len(places) == 1
    del tokens[places[0] - 1 : places[0] + 1]
    return tokens


def test_the_command_line_arrives_as_it_was_but_for_a_tag(environ: dict[str, str]) -> None:
    result = run(environ, *LINE)
    assert result.returncode == 0
    assert without_tag(called_with(result)) == list(LINE)
    assert result.stderr == "yarntune: job job.py: nothing known yet\n"


@pytest.mark.parametrize("status", [0, 1, 2, 3, 101, 255])
def test_the_exit_status_is_spark_submits(environ: dict[str, str], status: int) -> None:
    """G1-16."""
    assert run(environ, *LINE, FAKE=f"exit {status}").returncode == status


def test_a_signal_that_ends_spark_submit_ends_the_wrapper(environ: dict[str, str]) -> None:
    assert run(environ, *LINE, FAKE="kill 9").returncode == -signal.SIGKILL


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_wrapper_is_one_to_spark_submit(environ: dict[str, str], number: int, status: int) -> None:
    process = subprocess.Popen(
        [*WRAPPER, *LINE],
        env={**environ, "FAKE": "jvm"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A job of a shell in the background has SIGINT ignored, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()][1] == "ready\n"
    process.send_signal(number)
    assert process.wait(30) == status
    process.stdout.close()


def test_the_streams_are_the_applications(environ: dict[str, str]) -> None:
    result = run(environ, *LINE, given="some input", FAKE="read")
    assert result.stdout.splitlines()[1] == "some input"


@pytest.mark.parametrize(
    "line", [("--version",), ("--status", "application_1_1"), ("--master", "local", "job.py"), ("--nonsense", "job.py")]
)
def test_what_is_not_ours_to_change_goes_through_without_a_word(environ: dict[str, str], line: tuple[str, ...]) -> None:
    result = run(environ, *line)
    assert called_with(result) == list(line)
    assert result.stderr == ""


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_names_that_are_not_ascii_arrive_in_every_locale(environ: dict[str, str], locale: str) -> None:
    """A JVM in the C locale would take their bytes for question marks, so spark-submit gets another."""
    line = [*LINE[:-1], "Größe=5", os.fsdecode(b"Gr\xf6\xdfe")]
    result = run(environ, *line, LC_ALL=locale, FAKE="locale")
    assert without_tag(called_with(result)) == line
    assert result.stdout.splitlines()[1] == "C.UTF-8"
    assert result.stderr == "yarntune: job job.py: nothing known yet\n"
    plain = run(environ, *LINE, LC_ALL=locale, FAKE="locale")
    assert plain.stdout.splitlines()[1] == locale, "which is the user's business where it does no harm"


def test_the_mode_off_touches_nothing(environ: dict[str, str]) -> None:
    result = run(environ, *LINE, YARNTUNE_MODE="off")
    assert (called_with(result), result.stderr) == (list(LINE), "")


def test_a_mode_that_is_none_is_said_and_costs_nothing(environ: dict[str, str]) -> None:
    result = run(environ, *LINE, YARNTUNE_MODE="fast")
    assert called_with(result) == list(LINE)
    assert result.stderr == "yarntune: submits unchanged: 'fast' is no mode\n"


def test_advice_is_applied_also_where_the_cluster_does_not_say_its_load(environ: dict[str, str]) -> None:
    """Then the best of an idle cluster is taken."""
    with open_store(Settings.from_environment(environ)) as store:
        store.advice.put(subject()[0].key, ADVICE.to_json(), now=0.0)
    result = run(environ, *LINE, FAKE="exit 3")
    assert result.returncode == 3
    assert "spark.executor.memory=3686m" in called_with(result)
    assert "spark.executor.memory: default -> 3686m" in result.stderr
    assert "the load is not known" in result.stderr


def test_a_store_that_is_broken_costs_one_line(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "yarntune.db").write_bytes(b"no database" * 1000)
    result = run(environ, *LINE)
    assert result.returncode == 0
    assert without_tag(called_with(result)) == list(LINE)
    (line,) = result.stderr.splitlines()
    assert line.startswith("yarntune: submits unchanged: the store ")


def test_advice_of_another_version_costs_one_line(environ: dict[str, str]) -> None:
    with open_store(Settings.from_environment(environ)) as store:
        store.advice.put(subject()[0].key, {"something": "else"}, now=0.0)
    result = run(environ, *LINE)
    assert without_tag(called_with(result)) == list(LINE)
    assert result.stderr.startswith("yarntune: submits unchanged: ")


def test_a_properties_file_that_is_missing_is_spark_submits_to_refuse(environ: dict[str, str]) -> None:
    line = ("--properties-file", "/nowhere.conf", *LINE)
    assert called_with(run(environ, *line)) == list(line)


def test_a_vendors_script_that_calls_back_ends_at_the_real_one(environ: dict[str, str], tmp_path: Path) -> None:
    """The vendor's spark-submit adds an option and calls what it takes for spark-submit: us."""
    call = " ".join(WRAPPER)
    vendor = script(tmp_path / "vendor" / "spark-submit", f'#!/bin/sh\nexec {call} --conf spark.vendor=1 "$@"\n')
    real = Path(environ["SPARK_HOME"]) / "bin"
    path = os.pathsep.join([str(vendor.parent), str(real), environ["PATH"]])
    found = {**environ, "PATH": path}
    del found["SPARK_HOME"]
    for mode in ("apply", "off"):
        result = run(found, *LINE, YARNTUNE_MODE=mode)
        tokens = called_with(result)
        tokens = without_tag(tokens) if mode == "apply" else tokens
        # With the mode off nothing in the command line tells that it comes back, so it goes round a few times.
        assert [t for t in tokens if t not in ("--conf", "spark.vendor=1")] == [t for t in LINE if t != "--conf"]
        assert result.returncode == 0


def test_a_link_to_the_wrapper_that_is_called_spark_submit_is_passed_over(
    environ: dict[str, str], tmp_path: Path
) -> None:
    link = tmp_path / "links" / "spark-submit"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).parent / "yarntune-submit")
    path = os.pathsep.join([str(link.parent), str(Path(environ["SPARK_HOME"]) / "bin"), environ["PATH"]])
    found = {**environ, "PATH": path}
    del found["SPARK_HOME"]
    result = subprocess.run([str(link), *LINE], env=found, capture_output=True, text=True, timeout=60, check=False)
    assert without_tag(called_with(result)) == list(LINE)


def test_no_spark_submit_at_all_is_said(environ: dict[str, str]) -> None:
    result = run(environ, *LINE, YARNTUNE_SPARK_SUBMIT="/nowhere/spark-submit")
    assert result.returncode == 127
    assert result.stderr.startswith("yarntune: YARNTUNE_SPARK_SUBMIT is '/nowhere/spark-submit'")


def test_a_resource_manager_that_hangs_does_not_hang_the_submission(environ: dict[str, str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        with open_store(Settings.from_environment(environ)) as store:
            store.advice.put(subject()[0].key, ADVICE.to_json(), now=0.0)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        result = run(environ, *LINE, YARNTUNE_RM_URL=url)
    assert result.returncode == 0
    assert called_with(result)[-3:] == ["job.py", "--day", "2026-01-31"]


def test_little_is_loaded_before_spark_submit_starts() -> None:
    heavy = "('sqlalchemy', 'requests', 'click', 'numpy')"
    code = f"import sys, tuner.submit.wrapper; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
