"""A page in a real Chromium that notes what must not happen: messages of the console, requests to other hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

AXE = Path(__file__).parent / "vendor" / "axe.min.js"


class Visit:
    """One person's browser window.

    Attributes:
        page: Playwright's page.
        noted: messages of errors and warnings, failed scripts, and requests to other hosts.
    """

    def __init__(
        self, browser: Browser, address: str, *, scheme: str = "light", width: int = 1280, script: bool = True
    ) -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=script,
        )
        self.context.set_default_timeout(20_000)
        self.noted: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.noted.append(f"error: {error}"))
        self.page.on("request", lambda request: self._request(request.url))

    def goto(self, path: str) -> None:
        """Opens a page and waits until nothing is under way."""
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("networkidle")

    def log_in(self, token: str) -> None:
        """Logs in by keyboard alone."""
        self.goto("/login")
        self.page.keyboard.type(token)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("text=Log out")

    def tab_to(self, name: str, *, backwards: bool = False, most: int = 150) -> None:
        """Presses Tab until what has the focus has this name."""
        asked = "() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
        for _ in range(most):
            self.page.keyboard.press("Shift+Tab" if backwards else "Tab")
            if self.page.evaluate(asked) == name:
                return
        raise AssertionError(f"{most} times Tab do not lead to {name!r}")

    def axe(self) -> list[dict[str, Any]]:
        """Serious and critical findings of axe-core; read into the page past its policy, as a browser's tools are."""
        self.page.evaluate(AXE.read_text())
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
        found = self.page.evaluate("rules => axe.run(document, {resultTypes: ['violations'], runOnly: rules})", rules)
        return [
            {
                "id": each["id"],
                "nodes": [node["html"][:160] + " | " + json.dumps(node["any"][:1])[:300] for node in each["nodes"][:3]],
            }
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def close(self) -> None:
        """Closes the window."""
        self.context.close()

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.noted.append(f"{kind}: {text}")

    def _request(self, url: str) -> None:
        if not url.startswith((self.address + "/", "data:", "blob:")):
            self.noted.append(f"request: {url}")
