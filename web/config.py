"""How one server is set up: the settings that it reads from the environment, and the options of ``yarntune web``."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tuner.errors import InputError
from tuner.files import write_bytes_atomically
from tuner.settings import MemoryPrice, Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
"""Host names by which a server that listens on loopback is asked for; any other is another site's doing."""


@dataclass(frozen=True)
class WebConfig:
    """One server.

    Attributes:
        settings: of this process: store, cluster, folders.
        secret_key: signs the session cookies.
        host, port: where it listens.
        url_prefix: the path below which it is seen, for example ``/yarntune``; empty for the root.
        trusted_proxies: how many proxies in front of it may say, by X-Forwarded-*, who asks and under which address.
        allowed_hosts: host names that it answers to, besides loopback's and ``host``.
        anonymous_reads: whether one may look without a token.
        upload_limit_mib: the largest event log or case that is taken.
        secure_cookie: whether the session cookie is sent over HTTPS only.
    """

    settings: Settings
    secret_key: bytes
    host: str = "127.0.0.1"
    port: int = 8765
    url_prefix: str = ""
    trusted_proxies: int = 0
    allowed_hosts: tuple[str, ...] = ()
    anonymous_reads: bool = True
    upload_limit_mib: int = 512
    secure_cookie: bool = False
    background: bool = field(default=True)
    """Whether threads look at the cluster and the store in between; tests do it themselves."""

    @property
    def folder(self) -> Path:
        """Where the server keeps what is its own: the secret key, tunings that it has started, reports."""
        return self.settings.state_dir / "web"

    @property
    def price(self) -> MemoryPrice | None:
        """What memory costs; None where it is not set."""
        return self.settings.memory_price

    def answers_to(self, host: str) -> bool:
        """Whether a request for that host, port included, is meant for this server.

        Where nothing is shown without a token, and no names are given, any name will do: there is nothing to be had by
        making another name lead here.
        """
        if not self.anonymous_reads and not self.allowed_hosts:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in {each.lower() for each in (*LOOPBACK_NAMES, self.host, *self.allowed_hosts)}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_prefix(text: str) -> str:
    """A path prefix with a leading slash and none at its end.

    Raises:
        InputError: it is not one.
    """
    path = text.strip().strip("/")
    if not path:
        return ""
    if not all(part.replace("-", "").replace("_", "").replace(".", "").isalnum() for part in path.split("/")):
        raise InputError(f"{text!r} cannot be a path prefix", "use letters, digits, - and _, for example /yarntune")
    return f"/{path}"


def read_secret_key(settings: Settings) -> bytes:
    """The key that signs session cookies: made once, kept for this user alone, the same after a restart.

    Raises:
        InputError: its file cannot be written or read.
    """
    path = settings.state_dir / "web" / "secret-key"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be made: {error.strerror}", "set YARNTUNE_STATE_DIR") from None
    write_bytes_atomically(path, secrets.token_bytes(32), private=True)
    return path.read_bytes()
