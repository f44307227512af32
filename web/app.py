"""The application factory: the only place where the dashboard's parts come together."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask, Response, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import IntegerConverter, Map
from werkzeug.wrappers import Response as PlainResponse

from tuner.store import open_store
from web import auth, errors, formats
from web.api.blueprint import blueprints as api
from web.api.operation import LARGEST_ID
from web.assets import asset_url
from web.cells import cell_html, rows_html
from web.config import WebConfig
from web.respond import same_page
from web.state import WebState, attach, web
from web.views import BLUEPRINTS

_MIB = 1024**2
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Sent with every answer. Nothing inline: htmx is told not to add its style, and Plotly's is a file of ours."""


class _Number(IntegerConverter):
    """A number in an address. One that no database can have leads nowhere, instead of to the database's error."""

    def __init__(self, map_: Map) -> None:
        super().__init__(map_, max=LARGEST_ID)


def create_app(config: WebConfig) -> Flask:
    """Makes the application; opens the store.

    ``app.extensions["yarntune"].close()`` ends what it has started.

    Raises:
        StoreError: the store cannot be opened, or its schema is older or newer.
    """
    app = Flask("web")
    app.config.update(
        SECRET_KEY=config.secret_key,
        # Of an ordinary request; a view that takes uploads says so, and is asked who may before a byte is read.
        MAX_CONTENT_LENGTH=4 * _MIB,
        MAX_FORM_MEMORY_SIZE=4 * _MIB,
        MAX_FORM_PARTS=2_000,
        SESSION_COOKIE_NAME="yarntune",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=config.secure_cookie,
        PERMANENT_SESSION_LIFETIME=int(auth.SESSION_S),
        TEMPLATES_AUTO_RELOAD=False,
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.url_map.converters["int"] = _Number
    attach(_state(config), app.extensions)
    app.before_request(_check_host)
    errors.install(app)
    auth.install(app)
    app.after_request(_finish)
    _set_up_templates(app)
    for blueprint in (*BLUEPRINTS, *api):
        app.register_blueprint(blueprint)
    _wrap(app, config)
    return app


def _state(config: WebConfig) -> WebState:
    from web.cases import Cases
    from web.estimates import Estimator
    from web.live import ClusterWatch
    from web.metrics import StoreCollector, registry
    from web.notify import notifier_for
    from web.plan_changes import PlanChanges
    from web.queries.load import stored_load
    from web.reports import Reports
    from web.tunings import Tunings

    store = open_store(config.settings)
    estimator = Estimator(config.settings)
    before = stored_load(store, config.settings, now=time.time())
    cluster = ClusterWatch(config.settings, background=config.background, explain=estimator.explain, before=before)
    notifier = notifier_for(config.settings, store, config.folder / "webhooks.json")
    if notifier is not None and config.background:
        notifier.start()
    return WebState(
        config=config,
        store=store,
        cluster=cluster,
        limiter=auth.LoginLimiter(),
        estimator=estimator,
        tunings=Tunings(config.folder / "tunings", config.settings),
        reports=Reports(config.folder / "reports", config.settings),
        cases=Cases(config.settings.data_dir / "cases"),
        plan_changes=PlanChanges(config.settings),
        metrics=registry(StoreCollector(store, cluster, notifier)),
        notifier=notifier,
    )


def _set_up_templates(app: Flask) -> None:
    environment = app.jinja_env
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.filters.update(
        ago=lambda at: formats.ago(at, time.time()),
        cell=formats.cell,
        gib_s=formats.gib_s,
        iso=formats.iso,
        mib=formats.mib,
        moment=formats.moment,
        money=formats.money,
        number=formats.number,
        percent=formats.percent,
        change=formats.change,
        seconds=formats.seconds,
        size=formats.size,
        ticks=formats.ticks,
        tone=formats.tone,
    )
    environment.globals.update(asset_url=asset_url, same_page=same_page, cell_html=cell_html, rows_html=rows_html)
    app.context_processor(auth.context)


def _check_host() -> Response | None:
    """Refuses a request for another host's name: a page elsewhere whose name was made to lead here (DNS rebinding).

    The answer is bare, since every address in a page would have that name in it.
    """
    if web().config.answers_to(request.host):
        return None
    text = "This server does not answer to that host name; --allow-host of `yarntune web` adds one.\n"
    return Response(text, status=400, mimetype="text/plain")


def _finish(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint == "static" and request.args.get("v"):
        # The address has the file's fingerprint in it, so what is behind it never changes.
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    else:
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def _wrap(app: Flask, config: WebConfig) -> None:
    if config.url_prefix:
        inner: Any = app.wsgi_app
        nothing = PlainResponse(f"yarntune is at {config.url_prefix}/\n", status=404, mimetype="text/plain")
        app.wsgi_app = DispatcherMiddleware(nothing, {config.url_prefix: inner})  # type: ignore[method-assign]
        app.config["SESSION_COOKIE_PATH"] = config.url_prefix
    if config.trusted_proxies:
        n = config.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n, x_proto=n, x_host=n, x_port=n, x_prefix=n)  # type: ignore[method-assign]
