"""Who we are to the ResourceManager: one class for each way of Hadoop's ``hadoop.http.authentication.type``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import requests

from tuner.errors import MissingToolError


class Authentication(Protocol):
    """A way to authenticate; it prepares a session, and every request of the session carries it."""

    def prepare(self, session: requests.Session) -> None:
        """Adds what the ResourceManager needs to know us by."""
        ...


@dataclass(frozen=True)
class SimpleAuth:
    """Hadoop's ``simple``: the user name in the query, believed without proof.

    The ResourceManager takes a request without a name too (as ``dr.who``), and then does not know whose application
    it is to kill, so the name is always sent.
    """

    user: str

    def prepare(self, session: requests.Session) -> None:
        """Adds ``user.name`` to the query of every request."""
        session.params = {"user.name": self.user}


@dataclass(frozen=True)
class KerberosAuth:
    """SPNEGO with the ticket in the credentials cache (``kinit``); needs the extra ``kerberos``.

    Every request negotiates for itself, writes too: a ResourceManager behind Kerberos answers 401 to a write whose
    credentials came with an earlier read only.
    """

    def prepare(self, session: requests.Session) -> None:
        """Makes every request negotiate.

        Raises:
            MissingToolError: the extra is not installed.
        """
        try:
            from requests_kerberos import OPTIONAL, HTTPKerberosAuth
        except ImportError:
            raise MissingToolError(
                "the ResourceManager wants Kerberos, and requests-kerberos is not installed",
                "pip install 'yarntune[kerberos]', then kinit",
            ) from None
        session.auth = HTTPKerberosAuth(mutual_authentication=OPTIONAL)
