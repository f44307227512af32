"""A server over a store of the test's own."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, sync_playwright

from tests.web.browser import launch
from tests.web.seed import fill
from tuner.settings import MemoryPrice, Settings
from tuner.store import Role, open_store
from web.app import create_app
from web.config import WebConfig
from web.state import WebState
from web.tokens import create_token


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Folders of the test's own, and a price."""
    return settings_in(tmp_path)


def settings_in(folder: Path) -> Settings:
    """Settings whose folders are below a folder."""
    environ = {"YARNTUNE_DATA_DIR": str(folder / "data"), "YARNTUNE_STATE_DIR": str(folder / "state")}
    return replace(Settings.from_environment(environ), memory_price=MemoryPrice(0.004, "EUR"))


@pytest.fixture
def config(settings: Settings) -> WebConfig:
    """A server on loopback that starts no threads."""
    return WebConfig(settings=settings, secret_key=b"k" * 32, background=False)


@pytest.fixture
def app(config: WebConfig) -> Iterator[Flask]:
    """The application over an empty store."""
    app = create_app(config)
    yield app
    app.extensions["yarntune"].close()


@pytest.fixture
def state(app: Flask) -> WebState:
    """The application's parts."""
    found = app.extensions["yarntune"]
    assert isinstance(found, WebState)
    return found


@pytest.fixture(scope="session")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a bit of everything in it, to be copied: filling one takes seconds."""
    found = settings_in(tmp_path_factory.mktemp("filled"))
    with open_store(found) as store:
        fill(store)
    return found.data_dir / "yarntune.db"


@pytest.fixture
def filled(state: WebState, filled_file: Path) -> WebState:
    """The application's parts, over a store with a bit of everything in it."""
    with (
        closing(sqlite3.connect(filled_file)) as source,
        closing(sqlite3.connect(state.config.settings.data_dir / "yarntune.db")) as copy,
    ):
        source.backup(copy)
    return state


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def event_log_path(shared_data: Path) -> Path:
    """A small log of a real application."""
    found = sorted((shared_data / "eventlogs" / "spark-upstream").rglob("*"), key=lambda path: path.stat().st_size)
    return next(
        path for path in found if path.is_file() and path.suffix == "" and 20_000 < path.stat().st_size < 3_000_000
    )


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Somebody without a token."""
    return app.test_client()


class Person:
    """Somebody with a browser, who has logged in."""

    def __init__(self, app: Flask, state: WebState, role: Role) -> None:
        self.client = app.test_client()
        self.token, self.record = create_token(state.store, name=f"{role.value}-1", role=role, by="test", now=1.0)
        answer = self.post("/login", token=self.token)
        assert answer.status_code == 302, answer.text

    def csrf(self, page: str = "/login") -> str:
        """What a form of this session sends back."""
        return csrf_of(self.client, page)

    def post(self, path: str, **form: object):  # type: ignore[no-untyped-def]
        """Sends a form as the page would."""
        page = "/login" if path == "/login" else "/audit"
        return self.client.post(path, data={"csrf_token": self.csrf(page), **form})


def csrf_of(client: FlaskClient, page: str = "/login") -> str:
    """The page's token against forged forms."""
    found = re.search(r'name="csrf-token" content="([^"]+)"', client.get(page).text)
    assert found is not None
    return found.group(1)


@pytest.fixture
def viewer(app: Flask, state: WebState) -> Person:
    """Somebody who may look."""
    return Person(app, state, Role.VIEWER)


@pytest.fixture
def operator(app: Flask, state: WebState) -> Person:
    """Somebody who may change things."""
    return Person(app, state, Role.OPERATOR)


@pytest.fixture
def admin(app: Flask, state: WebState) -> Person:
    """Somebody who may make tokens."""
    return Person(app, state, Role.ADMIN)
