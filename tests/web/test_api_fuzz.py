"""schemathesis sends the API what nobody would, and looks whether the answers keep the promises of the document."""

from __future__ import annotations

import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.web.cluster import reading
from tests.web.conftest import settings_in
from tests.web.test_api import PLACES
from tuner.store import Role
from web.api.routes import OPERATIONS
from web.app import create_app
from web.config import WebConfig
from web.estimates import Answer
from web.state import WebState
from web.tokens import create_token

with warnings.catch_warnings():
    # Its own imports are not this project's to mend.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

EXAMPLES = 12
"""Of each operation; more find more, and take longer."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OUTSIDE = {"previewRollback"}
"""Without a cluster all that it can say is 503, which the first check takes for a fault."""
CALLS = [
    (each, mode)
    for each in OPERATIONS
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if each.id not in OUTSIDE and (mode is GenerationMode.POSITIVE or each.query or each.body)
]
"""What is right, on things that are there; and what is wrong, anywhere."""


@pytest.fixture(scope="module")
def target(filled_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server over a copy of the seeded store, and a token that may do everything.

    What would start a process or change a cluster is cut off behind the API: what is looked for is in front of it.
    """
    config = WebConfig(settings=settings_in(tmp_path_factory.mktemp("fuzz")), secret_key=b"k" * 32, background=False)
    app = create_app(config)
    state = app.extensions["yarntune"]
    assert isinstance(state, WebState)
    path = config.settings.data_dir / "yarntune.db"
    with closing(sqlite3.connect(filled_file)) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
    create_token(state.store, name="to be revoked", role=Role.VIEWER, by="test", now=1.0)
    token, _ = create_token(state.store, name="fuzz", role=Role.ADMIN, by="test", now=1.0)
    state.cluster._read = lambda _: reading(time.time())
    state.cluster.refresh()
    state.plan_changes._run = lambda *_: None  # type: ignore[method-assign]
    state.estimator.ask = lambda _: Answer(None, "cut off")  # type: ignore[method-assign]
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)
    yield SimpleNamespace(schema=schema, headers={"Authorization": f"Bearer {token}"})
    state.close()


def _no_processes(*_: Any, **__: Any) -> Any:
    from tuner.errors import InputError

    raise InputError("cut off")


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "mode"), CALLS, ids=[f"{each.id}-{mode.value}" for each, mode in CALLS])
@pytest.mark.filterwarnings("ignore")
def test_no_request_is_a_server_error_and_no_answer_breaks_a_promise(
    target: Any, operation: Any, mode: GenerationMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.tunings.Tunings.start", _no_processes)
    monkeypatch.setattr("web.reports._analyze", _no_processes)
    described = target.schema[f"/api/v1{operation.path}"][operation.method]
    places = {name: PLACES[name] for name in operation.parts} if mode is GenerationMode.POSITIVE else None
    statuses: list[int] = []

    @seed(20_261_130)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described.as_strategy(generation_mode=mode, path_parameters=places))
    def send(case: Any) -> None:
        answer = case.call_and_validate(headers=target.headers, checks=CHECKS)
        statuses.append(answer.status_code)

    send()
    assert statuses
    # Otherwise nothing behind the door was tried.
    assert mode is GenerationMode.NEGATIVE or not {401, 415, 429} & set(statuses)
