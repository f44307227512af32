"""Pictures of every page for the documentation: ``python -m tests.web.screenshots`` writes docs/images/*.png.

It serves a store that tests/web/seed.py has filled and takes each page at 1280 and 390 pixels, light and dark.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

from tests.web.browser import launch
from tests.web.cluster import reading
from tests.web.seed import fill
from tuner.files import write_bytes_atomically
from tuner.settings import MemoryPrice, Settings
from tuner.store import Role
from web.app import create_app
from web.config import WebConfig
from web.live import LoadSample
from web.state import WebState
from web.tokens import create_token

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / "docs" / "images"
CASE = Path(__file__).parent / "case.json"
WIDTHS = (1280, 390)
WHAT_IF = "&".join(
    f"p.yarn.scheduler.capacity.root.{each}"
    for each in ("ingest.capacity=50", "ingest.maximum-capacity=100", "etl.capacity=40")
)
PAGES: dict[str, str] = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs/1",
    "job-running": "/jobs/4",
    "run": "/runs/5",
    "tunings": "/tunings",
    "tuning-new": "/tunings/new?job=1",
    "logs": "/logs",
    "queues": "/queues",
    "what-if": f"/what-if?case=nightly&{WHAT_IF}&ask=1",
    "plans": "/plans",
    "plan": "/plans/4",
    "rollback": "/plans/2/rollback",
    "audit": "/audit",
    "workloads": "/workloads",
    "workload": "/workloads/etl-night?factor=10&by=tasks",
    "settings": "/settings",
    "tokens": "/tokens",
    "login": "/login",
    "error": "/jobs/999",
}
DARK = ("overview", "job", "queues", "plan")


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """A server with data in it; its address, and an admin's token."""
    with tempfile.TemporaryDirectory(prefix="yarntune-web-") as folder:
        environ = {"YARNTUNE_DATA_DIR": f"{folder}/data", "YARNTUNE_STATE_DIR": f"{folder}/state"}
        settings = Settings.from_environment(environ)
        settings = replace(settings, memory_price=MemoryPrice(0.004, "EUR"))
        app = create_app(WebConfig(settings=settings, secret_key=b"s" * 32, background=False))
        state = app.extensions["yarntune"]
        assert isinstance(state, WebState)
        who = {"name": "ann", "role": Role.ADMIN, "by": "setup", "reason": "runs the cluster"}
        token, _ = create_token(state.store, now=time.time() - 90 * 86400, **who)  # type: ignore[arg-type]
        prepare(state)
        server = make_server("127.0.0.1", 0, app, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", token
        finally:
            server.shutdown()
            server.server_close()
            state.close()


def prepare(state: WebState) -> None:
    """Fills the store, and shows it a cluster."""
    now = time.time()
    fill(state.store, now)
    state.cluster._read = lambda _: reading(time.time())
    state.cluster._explain = lambda: reading(now).reasons
    state.cluster.refresh()
    for i in range(240):
        # Ends at what the cluster now shows.
        used = int(241090 * (0.73 + 0.21 * math.cos(i / 40) + 0.06 * math.cos(i / 5)))
        waiting = max(0, round((used - 200_000) / 13_000))
        sample = LoadSample(now - 60.0 * i, used, 262144, 4 * waiting + 1, used // 21_500, waiting)
        state.cluster._samples.appendleft(sample)
    state.cases.add("nightly", CASE.read_bytes())


def take(browser: Browser, address: str, token: str, images: Path, only: list[str]) -> None:
    """Takes the pictures."""
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                timezone_id="UTC",
                device_scale_factor=1,  # type: ignore[arg-type]
            )
            page = context.new_page()
            page.goto(f"{address}/login")
            page.fill("#token", token)
            page.keyboard.press("Enter")
            page.wait_for_load_state("networkidle")
            for name, path in PAGES.items():
                if (scheme == "dark" and (name not in DARK or width != WIDTHS[0])) or (only and name not in only):
                    continue
                if name == "login":
                    context.clear_cookies()
                page.goto(address + path)
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(400)
                suffix = "" if scheme == "light" else "-dark"
                _keep(page.screenshot(full_page=True), images / f"{name}-{width}{suffix}.png")
            context.close()


def _keep(png: bytes, path: Path) -> None:
    """Writes a picture with 256 colours, a third of the size: flat areas and text have no more that can be told."""
    picture = Image.open(BytesIO(png)).convert("RGB")
    found = BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    write_bytes_atomically(path, found.getvalue())


def main() -> int:
    """Returns the exit status."""
    images = IMAGES
    images.mkdir(parents=True, exist_ok=True)
    with served() as (address, token), sync_playwright() as playwright:
        browser = launch(playwright)
        take(browser, address, token, images, sys.argv[1:])
        browser.close()
    print(json.dumps({"images": len(list(images.glob("*.png")))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
