"""Who may do what, and that nobody else can make them do it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.conftest import Person, csrf_of
from tuner.store import Role, Store
from web.app import HEADERS, create_app
from web.auth import LoginLimiter
from web.config import WebConfig, checked_prefix, is_loopback, read_secret_key
from web.state import WebState
from web.tokens import create_token, digest_of, revoke_token

CHANGES = {
    "/tokens": Role.ADMIN,
    "/tokens/1/revoke": Role.ADMIN,
    "/plans/4/apply": Role.OPERATOR,
    "/plans/2/rollback": Role.OPERATOR,
    "/tunings": Role.OPERATOR,
    "/tunings/1/stop": Role.OPERATOR,
    "/what-if/cases": Role.OPERATOR,
    "/logs": Role.VIEWER,
}
"""Every page that changes something, and who may."""


def test_the_list_above_is_every_page_that_changes_something(app: Flask) -> None:
    found = {
        str(rule): getattr(app.view_functions[rule.endpoint], "required_role", None)
        for rule in app.url_map.iter_rules()
        if rule.methods and rule.methods & {"POST", "PUT", "PATCH", "DELETE"} and not str(rule).startswith("/api/")
    }
    assert found.pop("/login") is None
    assert found.pop("/logout") is None
    wanted = {
        path.replace("/1/", "/<int:x>/").replace("/4/", "/<int:x>/").replace("/2/", "/<int:x>/"): role
        for path, role in CHANGES.items()
    }
    named = {
        "/".join("<int:x>" if part.startswith("<int:") else part for part in path.split("/")): role
        for path, role in found.items()
    }
    assert named == wanted


@pytest.mark.parametrize("path", CHANGES)
def test_without_a_token_nothing_can_be_changed(filled: WebState, client: FlaskClient, path: str) -> None:
    before = _everything(filled.store)
    answer = client.post(
        path, data={"csrf_token": csrf_of(client), "why": "because", "confirm": "rollback 2", "program": "x"}
    )
    assert answer.status_code == 401
    assert _everything(filled.store) == before


@pytest.mark.parametrize(("path", "role"), [(path, role) for path, role in CHANGES.items() if role is not Role.VIEWER])
def test_a_viewer_cannot_change_anything(filled: WebState, viewer: Person, path: str, role: Role) -> None:
    before = _everything(filled.store)
    answer = viewer.post(path, why="because", confirm="rollback 2", program="x", name="n", role="admin")
    assert answer.status_code == 403
    assert role.value in answer.text
    assert _everything(filled.store) == before


@pytest.mark.parametrize(("path", "role"), CHANGES.items())
def test_a_forged_form_is_refused_whoever_is_logged_in(filled: WebState, admin: Person, path: str, role: Role) -> None:
    before = _everything(filled.store)
    for form, headers in (
        ({}, {}),
        ({"csrf_token": "guessed"}, {}),
        ({"csrf_token": admin.csrf("/audit")}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = admin.client.post(path, data={"why": "because", "confirm": "rollback 2", **form}, headers=headers)
        assert answer.status_code == 403, (form, headers)
    assert _everything(filled.store) == before


def _everything(store: Store) -> object:
    return (
        store.audit.list(limit=1000),
        store.plans.list(limit=1000),
        [(each.id, each.revoked_at) for each in store.tokens.list()],
    )


def test_a_program_needs_no_form_and_no_cookie(filled: WebState, app: Flask) -> None:
    token, _ = create_token(filled.store, name="cron", role=Role.ADMIN, by="test", now=1.0)
    client = app.test_client()
    form = {"name": "ci", "role": "viewer", "why": "builds"}
    answer = client.post("/tokens", data=form, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert filled.store.tokens.list()[0].name == "ci"
    assert filled.store.audit.list(limit=1)[0].who == "cron"


@pytest.mark.parametrize("header", ["Bearer yt_unknown", "Basic abc", "Bearer", "nonsense"])
def test_a_token_that_is_none_is_refused_even_for_looking(client: FlaskClient, header: str) -> None:
    answer = client.get("/jobs", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_logging_in_and_out(state: WebState, operator: Person) -> None:
    page = operator.client.get("/").text
    assert "operator-1" in page
    last = state.store.audit.list(limit=1)[0]
    assert (last.who, last.action, last.outcome) == ("operator-1", "log-in", "done")
    assert last.detail["from"] == "127.0.0.1"
    assert operator.token not in str(last)
    assert "log-in" not in page, "it is in the audit, and no change"
    assert operator.post("/logout").status_code == 302
    assert "Log in" in operator.client.get("/").text


def test_a_revoked_or_expired_token_ends_its_sessions(app: Flask, state: WebState, operator: Person) -> None:
    revoke_token(state.store, operator.record.id, by="test", reason="lost", now=2.0)
    assert "read only" in operator.client.get("/").text
    late, _ = create_token(state.store, name="late", role=Role.ADMIN, by="test", now=1.0, expires_at=time.time() - 1)
    assert app.test_client().get("/", headers={"Authorization": f"Bearer {late}"}).status_code == 401


def test_the_session_is_a_new_one_after_the_login(app: Flask, state: WebState) -> None:
    """Whoever knew the session of before, and its token against forged forms, knows nothing of the one after."""
    client = app.test_client()
    before = csrf_of(client)
    token, _ = create_token(state.store, name="n", role=Role.VIEWER, by="test", now=1.0)
    client.post("/login", data={"csrf_token": before, "token": token})
    assert csrf_of(client, "/") != before


def test_guessing_is_slowed_down(app: Flask, state: WebState) -> None:
    client = app.test_client()
    form = {"csrf_token": csrf_of(client), "token": "yt_wrong"}
    for _ in range(5):
        assert client.post("/login", data=form).status_code == 401
    answer = client.post("/login", data=form)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 61
    good, _ = create_token(state.store, name="n", role=Role.VIEWER, by="test", now=1.0)
    assert client.post("/login", data={**form, "token": good}).status_code == 429, "a right guess is no way round it"
    assert client.get("/jobs", headers={"Authorization": "Bearer yt_guess"}).status_code == 429
    assert client.get("/jobs", headers={"Authorization": f"Bearer {good}"}).status_code == 200, (
        "no program is locked out"
    )
    refused = [row for row in state.store.audit.list() if row.outcome == "refused"]
    assert len(refused) == 5
    assert "yt_wrong" not in str(refused)


def test_the_limit_is_for_each_address_and_for_all_together() -> None:
    limiter = LoginLimiter(each=2, together=3, within_s=10.0)
    limiter.failed("a", now=0.0)
    limiter.failed("a", now=1.0)
    assert limiter.wait_s("a", now=2.0) == pytest.approx(8.0)
    assert limiter.wait_s("b", now=2.0) == 0
    limiter.failed("b", now=2.0)
    assert limiter.wait_s("c", now=3.0) == pytest.approx(7.0)
    assert limiter.wait_s("a", now=10.5) == 0, "the first failure has passed"


@pytest.mark.parametrize(
    "target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""]
)
def test_a_login_leads_nowhere_else(app: Flask, state: WebState, target: str) -> None:
    client = app.test_client()
    token, _ = create_token(state.store, name="n", role=Role.VIEWER, by="test", now=1.0)
    answer = client.post("/login", data={"csrf_token": csrf_of(client), "token": token, "next": target})
    assert answer.location == "/"


def test_the_store_keeps_a_digest_and_never_the_token(state: WebState, app: Flask) -> None:
    token, record = create_token(state.store, name="n", role=Role.VIEWER, by="test", now=1.0)
    assert token.startswith("yt_")
    assert len(token) > 40
    assert record.digest == digest_of(token)
    assert token not in str(state.store.tokens.list())
    assert token not in str(state.store.audit.list())


def test_an_admin_makes_and_revokes_tokens(state: WebState, admin: Person, app: Flask) -> None:
    assert admin.post("/tokens", name="bob", role="operator").status_code == 400, "the reason is missing"
    assert len(state.store.tokens.list()) == 1
    page = admin.post("/tokens", name="bob", role="operator", why="new in the team")
    last = state.store.audit.list(limit=1)[0]
    assert (last.who, last.action, last.detail["why"]) == ("admin-1", "create-token", "new in the team")
    token = page.text.split("yt_")[1].split("<")[0]
    other = app.test_client()
    assert other.get("/tunings/new", headers={"Authorization": f"Bearer yt_{token}"}).status_code == 200
    made = state.store.tokens.list()[0]
    assert admin.post(f"/tokens/{made.id}/revoke").status_code == 400, "the reason is missing"
    assert admin.post(f"/tokens/{made.id}/revoke", why="left").status_code == 302
    assert other.get("/tunings/new", headers={"Authorization": f"Bearer yt_{token}"}).status_code == 401
    last = state.store.audit.list(limit=1)[0]
    assert (last.who, last.action, last.detail["why"]) == ("admin-1", "revoke-token", "left")


def test_every_answer_has_the_headers_and_no_policy_for_inline(client: FlaskClient) -> None:
    for path in ("/", "/nope", "/jobs?format=json", "/static/app.js"):
        with client.get(path) as answer:
            for name, value in HEADERS.items():
                assert answer.headers[name] == value
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_a_page_is_not_kept_and_a_file_with_its_fingerprint_is(client: FlaskClient) -> None:
    assert client.get("/").headers["Cache-Control"] == "no-store"
    address = client.get("/").text.split('stylesheet" href="')[1].split('"')[0]
    with client.get(address) as named, client.get("/static/app.js") as plain:
        assert "immutable" in named.headers["Cache-Control"]
        assert "immutable" not in plain.headers["Cache-Control"]


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "x y"])
def test_another_host_s_name_is_not_answered_to(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765"])
def test_loopback_s_names_are(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_where_reading_needs_a_token_nothing_is_shown_without_one(config: WebConfig) -> None:
    app = create_app(replace(config, anonymous_reads=False, host="0.0.0.0"))
    client = app.test_client()
    state = app.extensions["yarntune"]
    try:
        for rule in app.url_map.iter_rules():
            if (
                "GET" not in (rule.methods or ())
                or rule.endpoint == "static"
                or getattr(app.view_functions[rule.endpoint], "public", False)
            ):
                continue
            path = str(rule).replace("<int:", "<").replace("<name>", "x").replace("<number>", "1")
            while "<" in path:
                path = path[: path.index("<")] + "1" + path[path.index(">") + 1 :]
            answer = client.get(path, headers={"Accept": "text/html"})
            assert answer.status_code in (302, 401), path
            assert client.get(path, headers={"Accept": "application/json"}).status_code == 401, path
        token, _ = create_token(state.store, name="n", role=Role.VIEWER, by="test", now=1.0)
        assert client.get("/jobs", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        browser = {"Host": "dashboard.example", "Accept": "text/html"}
        assert client.get("/jobs", headers=browser).location.startswith("/login?next=")
    finally:
        state.close()


def test_below_a_path_every_link_and_the_cookie_have_it(config: WebConfig) -> None:
    app = create_app(replace(config, url_prefix="/yarn/tune"))
    try:
        client = app.test_client()
        answer = client.get("/yarn/tune/jobs")
        assert answer.status_code == 200
        assert 'href="/yarn/tune/plans"' in answer.text
        assert 'href="/plans"' not in answer.text
        assert "Path=/yarn/tune" in answer.headers["Set-Cookie"]
        assert client.get("/jobs").status_code == 404
    finally:
        app.extensions["yarntune"].close()


@pytest.mark.parametrize("proxies", [0, 1])
def test_what_a_proxy_says_is_believed_only_when_told(config: WebConfig, proxies: int) -> None:
    app = create_app(replace(config, trusted_proxies=proxies, allowed_hosts=("dash.example",)))
    try:
        headers = {"X-Forwarded-Prefix": "/yt", "X-Forwarded-Host": "dash.example", "X-Forwarded-For": "10.0.0.9"}
        page = app.test_client().get("/jobs", headers=headers).text
        assert ('href="/yt/plans"' in page) is bool(proxies)
    finally:
        app.extensions["yarntune"].close()


def test_too_much_is_refused_before_it_is_read(config: WebConfig) -> None:
    app = create_app(replace(config, upload_limit_mib=1))
    state = app.extensions["yarntune"]
    try:
        person = Person(app, state, Role.VIEWER)
        # Of the two MiB that are announced not one is sent: the answer cannot have waited for them.
        answer = person.client.post(
            "/logs",
            headers={"X-CSRF-Token": person.csrf("/audit"), "Content-Type": "multipart/form-data; boundary=x"},
            environ_overrides={"CONTENT_LENGTH": str(2 * 2**20)},
        )
        assert answer.status_code == 413
    finally:
        state.close()


@pytest.mark.parametrize(("text", "prefix"), [("", ""), ("/", ""), ("yt", "/yt"), ("/a/b-c/", "/a/b-c")])
def test_prefixes(text: str, prefix: str) -> None:
    assert checked_prefix(text) == prefix


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.1.2.3", False),
        ("host.example", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_the_key_of_the_sessions_is_kept_for_its_owner_alone(config: WebConfig) -> None:
    key = read_secret_key(config.settings)
    assert len(key) == 32
    assert read_secret_key(config.settings) == key
    assert (config.folder / "secret-key").stat().st_mode & 0o777 == 0o600
