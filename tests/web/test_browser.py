"""The dashboard in a real Chromium over a real store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser
from werkzeug.serving import make_server

from tests.web.browsing import Visit
from tests.web.screenshots import CASE, WHAT_IF
from tests.web.test_pages import see
from tuner.store import Role
from web.state import WebState
from web.tokens import create_token

PATHS = [
    *[
        "/",
        "/jobs",
        "/jobs/1",
        "/jobs/4",
        "/runs/1",
        "/tunings",
        "/tunings/new?job=1",
        "/logs",
        "/queues",
        "/what-if?case=nightly",
    ],
    *[
        "/plans",
        "/plans/4",
        "/audit",
        "/workloads",
        "/workloads/etl-night?factor=10&by=tasks",
        "/plans/2/rollback",
        "/settings",
        "/tokens",
        "/jobs/1/importance",
    ],
]


@pytest.fixture
def address(app: Flask, filled: WebState) -> Iterator[str]:
    """Where the application is served, with a cluster and a case to look at."""
    see(filled)
    filled.cases.add("nightly", CASE.read_bytes())
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Opens windows; at the end of the test nothing may have been noted in any of them."""
    opened: list[Visit] = []

    def begin(**options: object) -> Visit:
        opened.append(Visit(chromium, address, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield begin
    for each in opened:
        each.close()
    assert [note for each in opened for note in each.noted] == []


@pytest.fixture
def token(filled: WebState) -> str:
    """An admin's token."""
    return create_token(filled.store, name="ann", role=Role.ADMIN, by="test", now=1.0)[0]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_an_error_a_foreign_request_or_a_barrier(
    visit: Callable[..., Visit], token: str, scheme: str
) -> None:
    window = visit(scheme=scheme)
    window.log_in(token)
    for path in PATHS:
        window.goto(path)
        assert window.axe() == [], path
        assert window.noted == [], path


@pytest.mark.slow
def test_no_page_is_wider_than_a_telephone(visit: Callable[..., Visit], token: str) -> None:
    window = visit(width=390)
    window.log_in(token)
    for path in PATHS:
        window.goto(path)
        wide = window.page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} px wider than a telephone"


def test_what_looks_for_barriers_and_errors_finds_them(visit: Callable[..., Visit]) -> None:
    window = visit()
    window.goto("/login")
    window.page.evaluate("() => { document.body.append(document.createElement('button')); console.error('oh'); }")
    window.page.evaluate("() => fetch('http://example.invalid/').catch(() => 0)")
    assert [each["id"] for each in window.axe()] == ["button-name"]
    assert "error: oh" in window.noted
    assert "request: http://example.invalid/" in window.noted or any(
        "Content Security Policy" in each for each in window.noted
    )
    window.noted.clear()


def test_charts_are_drawn_and_follow_the_theme(visit: Callable[..., Visit]) -> None:
    window = visit(scheme="light")
    window.goto("/jobs/1")
    assert window.page.locator(".chart .main-svg").count() >= 6
    ink = "() => getComputedStyle(document.querySelector('.chart .xtick text')).fill"
    before = window.page.evaluate(ink)
    window.page.get_by_role("button", name="Theme").click()
    assert window.page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert window.page.evaluate(ink) != before
    window.goto("/")
    assert window.page.evaluate("() => document.documentElement.dataset.theme") == "dark", "the choice is kept"


def test_by_keyboard_alone_one_gets_in_past_the_menu_and_out(visit: Callable[..., Visit], token: str) -> None:
    window = visit()
    window.goto("/")
    keyboard = window.page.keyboard
    keyboard.press("Tab")
    assert window.page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    keyboard.press("Enter")
    assert window.page.evaluate("() => document.activeElement.id") == "content"
    window.log_in(token)
    for _ in range(12):
        keyboard.press("Tab")
        shown = (
            "() => [document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle]"
        )
        name, outline = window.page.evaluate(shown)
        assert outline != "none", f"the focus on {name!r} cannot be seen"
        if name == "Log out":
            break
    keyboard.press("Enter")
    window.page.wait_for_selector("text=Logged out")
    assert window.page.get_by_text("read only").is_visible()


def test_a_what_if_is_asked_by_keyboard_alone_and_answered_on_the_page(visit: Callable[..., Visit]) -> None:
    window = visit()
    window.goto("/what-if?case=nightly")
    for name, value in (("etl.capacity", "40"), ("ingest.capacity", "50"), ("ingest.maximum-capacity", "100")):
        window.tab_to(f"yarn.scheduler.capacity.root.{name}", backwards=name == "etl.capacity")
        window.page.keyboard.press("Control+A")
        window.page.keyboard.type(value)
    window.tab_to("Estimate")
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("#answer .verdict, #answer [role=alert]", timeout=300_000)
    assert window.page.locator("#answer .verdict").count() == 1
    assert "p.yarn.scheduler.capacity.root.etl.capacity=40" in window.page.url
    assert window.page.locator("#answer .main-svg").count() >= 1


def test_an_event_log_is_uploaded_and_its_analysis_shown(
    visit: Callable[..., Visit], token: str, filled: WebState, event_log_path: Path
) -> None:
    window = visit()
    window.log_in(token)
    window.goto("/logs")
    page = window.page
    page.set_input_files("#log", event_log_path)
    page.fill("#increment", "512")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=containers in multiples of 512 MiB", timeout=120_000)
    page.wait_for_load_state("networkidle")
    (kept,) = filled.reports.all()
    assert page.url == f"{window.address}/logs/{kept['id']}"
    assert kept["application"] in page.locator(".heading").inner_text()
    assert page.locator("#t-findings").is_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert window.axe() == []
    window.goto("/logs")
    assert page.locator("section:has(#t-reports) tbody a").inner_text() == event_log_path.name


def test_a_part_that_is_refused_says_so_in_its_place(visit: Callable[..., Visit]) -> None:
    window = visit()
    window.goto(f"/what-if?case=nightly&{WHAT_IF.replace('=40', '=99')}&ask=1")
    window.page.wait_for_selector("#answer [role=alert]", timeout=300_000)
    assert "in all" in window.page.locator("#answer").inner_text()
    # The browser itself reports the status 422 of what was asked for; that is no fault of the page.
    window.noted = [note for note in window.noted if "422" not in note]


def test_without_scripts_everything_but_the_charts_is_there(visit: Callable[..., Visit], token: str) -> None:
    window = visit(script=False)
    window.page.goto(window.address + "/login")
    window.page.fill("#token", token)
    window.page.click("button.primary")
    window.page.goto(window.address + "/jobs/1")
    assert window.page.locator("#t-pareto").count() == 1
    assert window.page.get_by_role("link", name="on a page of its own").is_visible()
    assert window.page.locator("nav#menu a").first.is_visible()


def test_a_server_that_has_gone_is_said_so_on_an_open_page(visit: Callable[..., Visit]) -> None:
    window = visit()
    window.goto("/jobs/4")
    window.context.set_offline(True)
    window.page.wait_for_selector(".offline", timeout=10_000)
    assert "The server does not answer" in window.page.locator(".offline").first.inner_text()
    window.noted = [note for note in window.noted if "ERR_INTERNET_DISCONNECTED" not in note and "htmx:" not in note]
