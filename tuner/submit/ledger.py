"""Where the recorder writes a run: the store, as it goes on; or a server, once it has ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

from tuner.model.load import Load
from tuner.services.advise import learn
from tuner.services.basis import basis_of
from tuner.services.recording import job_of
from tuner.settings import Settings
from tuner.store import NewRun, RunKind, RunOutcome, Store, open_store
from tuner.submit.server import Server, server_of

_OUTCOME = ("wait_s", "run_s", "memory_seconds", "vcore_seconds", "failure", "application_id")


class Ledger(AbstractContextManager["Ledger"], Protocol):
    """One run, as it is written down."""

    def begin(self, load: Load | None) -> None:
        """The run is submitted; the load is that of the moment, where the wrapper has not seen it."""

    def set_application(self, application_id: str) -> None:
        """It became this application of YARN."""

    def finish(self, outcome: RunOutcome) -> None:
        """It has ended; the advice of its job learns from it."""


def ledger_of(settings: Settings, record: Mapping[str, Any]) -> Ledger:
    """The ledger that the settings ask for.

    Args:
        settings: of this process.
        record: what the wrapper told of the run.

    Raises:
        InputError: the settings cannot be used.
        StoreError: the store cannot be opened.
    """
    server = server_of(settings)
    return StoreLedger(open_store(settings), record) if server is None else ServerLedger(server, record)


class StoreLedger(Ledger):
    """The store: a run is in it before it begins, so that none is lost."""

    def __init__(self, store: Store, record: Mapping[str, Any]) -> None:
        self._store, self._record = store, record
        self._run_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def begin(self, load: Load | None) -> None:
        """Writes it as RUNNING."""
        record = self._record
        job = self._store.jobs.get_or_create(job_of(record), now=time.time())
        run = self._store.runs.start(
            NewRun(
                job_id=job.id,
                kind=RunKind.PRODUCTION,
                configuration=record["configuration"],
                arguments=tuple(record["arguments"]),
                submitted_at=record["submitted_at"],
                queue=record["queue"],
                load=_load(record, load),
            )
        )
        self._run_id = run.id

    def set_application(self, application_id: str) -> None:
        """Notes its application."""
        self._store.runs.set_application(self._run_id, application_id)

    def finish(self, outcome: RunOutcome) -> None:
        """Writes how it ended, and lets the advice learn."""
        finished = self._store.runs.finish(self._run_id, outcome)
        basis = basis_of(self._record["program"], finished.metrics)
        learn(self._store, self._record["key"], finished, basis, now=time.time())


class ServerLedger(Ledger):
    """A server: it is told of a run once, at its end."""

    def __init__(self, server: Server, record: Mapping[str, Any]) -> None:
        self._server, self._record = server, record
        self._load: Mapping[str, Any] | None = None
        self._application_id: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def begin(self, load: Load | None) -> None:
        """Keeps the load for later."""
        self._load = _load(self._record, load)

    def set_application(self, application_id: str) -> None:
        """Keeps the application for later."""
        self._application_id = application_id

    def finish(self, outcome: RunOutcome) -> None:
        """Tells the server all of it.

        Raises:
            StoreError: the server does not take it.
        """
        record, metrics = self._record, dict(outcome.metrics or {})
        names = ("key", "name", "program", "main_class", "arguments", "arguments_shape", "queue", "configuration")
        basis = basis_of(record["program"], metrics)
        told = {name: getattr(outcome, name) for name in _OUTCOME}
        self._server.record(
            {
                **{name: record[name] for name in names},
                **told,
                "application_id": outcome.application_id or self._application_id,
                "state": outcome.state.value,
                "submitted_at": record["submitted_at"],
                "finished_at": max(outcome.finished_at, record["submitted_at"]),
                "metrics": metrics,
                "load": self._load,
                "input_bytes": basis.input_bytes,
                "spark_version": basis.spark_version,
                "program_digest": basis.program_digest,
            }
        )


def _load(record: Mapping[str, Any], found: Load | None) -> Mapping[str, Any] | None:
    told: Mapping[str, Any] | None = record["load"]
    return told if told is not None or found is None else found.to_json()
