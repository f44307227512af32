"""One call of ``yarntune-submit``, from the command line to spark-submit's exit status.

Imports are within functions: with the mode off, or for a command line that is not ours to change, almost nothing is
loaded before spark-submit starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from tuner.errors import InputError, YarntuneError
from tuner.spark.launcher import with_utf8
from tuner.submit.order import Mode, SubmitOrder
from tuner.submit.process import end_as, run_in_place
from tuner.submit.program import Found, find_program, guarded

if TYPE_CHECKING:
    from tuner.model.advice import Advice
    from tuner.model.load import Load
    from tuner.settings import Settings
    from tuner.submit.decision import Decision, Subject

PREPARE_TIMEOUT_S = 5.0
"""How long store and ResourceManager together may keep a submission waiting, before it goes out as it was written."""
RM_TIMEOUT_S = 2.0
KILL_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Prepared:
    """What to submit, and what the recorder has to know; None where the run is not recorded."""

    tokens: tuple[str, ...]
    record: Mapping[str, Any] | None = None
    tag: str = ""
    cluster_mode: bool = False


def submit(order: SubmitOrder, environ: Mapping[str, str]) -> int:
    """Submits, and waits for the end.

    Args:
        order: what to do.
        environ: the environment.

    Returns:
        spark-submit's exit status. Where a signal ended it, this process ends by the same.

    Raises:
        MissingToolError: there is no spark-submit.
    """
    found = find_program(order.tokens, environ)
    child_environ = _child_environ(found, environ)
    prepared = Prepared(order.tokens)
    if order.mode is not Mode.OFF and not found.called_back:
        prepared = _within(PREPARE_TIMEOUT_S, order, found, child_environ)
        child_environ = with_utf8(child_environ, prepared.tokens)
    recorder = _start_recorder(prepared.record) if prepared.record is not None else None
    found_to_kill: list[bool] = []
    try:
        status = run_in_place(
            (str(found.spark.spark_submit), *prepared.tokens),
            guarded(found, prepared.tokens, child_environ),
            lambda _: found_to_kill.append(_kill(prepared, child_environ)),
        )
    except OSError as error:
        _tell_recorder(recorder, 127)
        say(f"{found.spark.spark_submit} cannot be started: {error.strerror}")
        return 127
    if found_to_kill == [False]:
        # It may have been on its way to the ResourceManager; now that spark-submit has ended no other can come.
        _kill(prepared, child_environ)
    _tell_recorder(recorder, status)
    return end_as(status)


def say(text: str) -> None:
    """One line for the user, which no program reads: stdout belongs to the application."""
    try:
        sys.stderr.write(f"yarntune: {text}\n")
        sys.stderr.flush()
    except OSError:
        # A closed stderr is no reason not to submit.
        return


def _child_environ(found: Found, environ: Mapping[str, str]) -> dict[str, str]:
    child = dict(environ)
    if found.spark.home:
        child["SPARK_HOME"] = str(found.spark.home)
    if found.spark.python:
        child.setdefault("PYSPARK_PYTHON", found.spark.python)
    return child


def _within(limit_s: float, order: SubmitOrder, found: Found, environ: dict[str, str]) -> Prepared:
    """Prepares in a thread of its own, so that a store or ResourceManager that hangs does not hang the submission."""
    result = [Prepared(order.tokens)]
    lines: list[str] = []

    def work() -> None:
        try:
            result[0] = _prepare(order, found, environ, lines)
        except InputError:
            # The command line, or a properties file: spark-submit says it better, and decides.
            return
        except YarntuneError as error:
            lines[:] = [f"submits unchanged: {error.message}"]
        except Exception as error:
            lines[:] = [f"submits unchanged: {type(error).__name__}: {error}"]

    thread = threading.Thread(target=work, name="prepare", daemon=True)
    thread.start()
    thread.join(limit_s)
    prepared = result[0]
    if thread.is_alive():
        prepared, lines = Prepared(order.tokens), ["submits unchanged: the store or the cluster does not answer"]
    for line in lines:
        say(line)
    return prepared


def _prepare(order: SubmitOrder, found: Found, environ: dict[str, str], lines: list[str]) -> Prepared:
    from tuner.settings import Settings
    from tuner.spark.argv import parse
    from tuner.spark.conf import resolve
    from tuner.spark.launcher import spark_version
    from tuner.submit.decision import decide, subject_of, tagged, unchanged

    arguments = parse(order.tokens)
    if not arguments.tunable:
        return Prepared(order.tokens)
    home = found.spark.home or found.spark.spark_submit.resolve().parent.parent
    _name_embedded_cluster(environ)
    conf = resolve(arguments, environ, spark_home=home)
    subject = subject_of(order, arguments, conf)
    if subject is None:
        return Prepared(order.tokens)
    settings = Settings.from_environment(environ)
    try:
        advice = _advice(settings, subject)
        load = _load(settings, environ, subject) if advice is not None and advice.candidates else None
        decision = decide(subject, order, advice, load, spark_version(found.spark))
        lines.extend(decision.lines)
    except (YarntuneError, KeyError, TypeError, ValueError) as error:
        # The tag is put in all the same: by it the application is found if it has to be killed.
        load, decision = None, unchanged(subject, order)
        lines.append(f"submits unchanged: {error}")
    tag = f"yarntune-{uuid.uuid4().hex[:12]}"
    return Prepared(
        tokens=tagged(decision.arguments, conf, tag).render(),
        record=_record(subject, decision, load, tag),
        tag=tag,
        cluster_mode=subject.cluster_mode,
    )


def _name_embedded_cluster(environ: dict[str, str]) -> None:
    """Without HADOOP_CONF_DIR Spark cannot go to YARN; then the embedded cluster that is up is meant."""
    if environ.get("HADOOP_CONF_DIR") or environ.get("YARN_CONF_DIR"):
        return
    from tuner.settings import Settings
    from tuner.yarn.locate import locate

    try:
        target = locate(Settings.from_environment(environ), environ)
    except YarntuneError:
        return
    if target.hadoop_conf_dir:
        environ["HADOOP_CONF_DIR"] = environ["YARN_CONF_DIR"] = str(target.hadoop_conf_dir)
    if target.spark_conf_dir:
        environ.setdefault("SPARK_CONF_DIR", str(target.spark_conf_dir))


def _advice(settings: Settings, subject: Subject) -> Advice | None:
    from tuner.model.advice import Advice

    if settings.server_url:
        from tuner.submit.server import server_of

        server = server_of(settings)
        assert server is not None
        document = server.advice(subject.key)
    else:
        from tuner.store.quick import read_advice

        document = read_advice(settings.database_url, subject.key)
    return None if document is None else Advice.from_json(document)


def _load(settings: Settings, environ: Mapping[str, str], subject: Subject) -> Load | None:
    """The load of now. A ResourceManager that does not answer is worth a guess: the best of an idle cluster."""
    from dataclasses import replace

    from tuner.services.load import read_load
    from tuner.yarn.client import ResourceManagerClient
    from tuner.yarn.locate import locate

    quick = replace(settings, rm_timeout_s=min(RM_TIMEOUT_S, settings.rm_timeout_s))
    with ResourceManagerClient.of(locate(settings, environ), quick) as client:
        return read_load(client, subject.queue)


def _record(subject: Subject, decision: Decision, load: Load | None, tag: str) -> dict[str, Any]:
    from tuner.spark.conf import mask_conf

    return {
        "key": subject.key,
        "name": subject.name,
        "program": subject.program,
        "main_class": subject.main_class,
        "arguments": list(subject.masked_arguments),
        "arguments_shape": subject.shape,
        "queue": subject.queue,
        "configuration": mask_conf({**subject.conf.canonical(), **decision.applied}),
        "applied": dict(decision.applied),
        "advised": None if decision.advised is None else dict(decision.advised),
        "load": None if load is None else load.to_json(),
        "submitted_at": time.time(),
        "tag": tag,
    }


def _start_recorder(record: Mapping[str, Any]) -> subprocess.Popen[bytes] | None:
    """A process of its own, which outlives this one: writing into a store must not delay a submission or its end."""
    try:
        recorder = subprocess.Popen(
            [sys.executable, "-m", "tuner.submit.recorder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        say(f"the run is not recorded: {error}")
        return None
    _send(recorder.stdin, record)
    return recorder


def _tell_recorder(recorder: subprocess.Popen[bytes] | None, status: int) -> None:
    if recorder is not None and recorder.stdin is not None:
        _send(recorder.stdin, {"exit_status": status, "ended_at": time.time()})


def _send(pipe: IO[bytes] | None, document: Mapping[str, Any]) -> None:
    try:
        assert pipe is not None
        pipe.write(json.dumps(document).encode() + b"\n")
        pipe.flush()
    except OSError:
        # The recorder is gone; the run goes on all the same.
        return


def _kill(prepared: Prepared, environ: Mapping[str, str]) -> bool:
    """Kills a driver that runs on the cluster: ending spark-submit alone would leave it there, to be run twice.

    Returns:
        False where no application was found, and one might come yet.
    """
    if not prepared.cluster_mode or not prepared.tag:
        return True
    from tuner.settings import Settings
    from tuner.yarn.client import ResourceManagerClient
    from tuner.yarn.locate import locate
    from tuner.yarn.model import ACTIVE_STATES

    try:
        settings = Settings.from_environment(environ)
        with ResourceManagerClient.of(locate(settings, environ), settings) as client:
            found = client.applications(states=ACTIVE_STATES, tags=[prepared.tag])
            for application in found:
                say(f"kills {application.id}")
                client.kill(application.id, KILL_TIMEOUT_S)
    except YarntuneError as error:
        say(f"the application may still run on the cluster: {error.message}")
        return True
    return bool(found)


def main() -> None:
    """``yarntune-submit``: a drop-in for spark-submit."""
    from tuner.submit.order import order_from

    try:
        order = order_from(sys.argv[1:], os.environ)
    except InputError as error:
        say(f"submits unchanged: {error.message}")
        order = SubmitOrder(tuple(sys.argv[1:]), Mode.OFF)
    try:
        sys.exit(submit(order, os.environ))
    except YarntuneError as error:
        say(f"{error.message}; {error.hint}" if error.hint else error.message)
        sys.exit(127)
