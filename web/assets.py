"""Addresses of static files, each with its fingerprint, so that a browser may keep it for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from flask import url_for

STATIC = Path(__file__).resolve().parent / "static"


def asset_url(name: str) -> str:
    """The address of a file below ``static/``."""
    return url_for("static", filename=name, v=_fingerprint(name))


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
