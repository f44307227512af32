"""Who we are to the ResourceManager."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence

import pytest
import requests

from tuner.errors import MissingToolError
from tuner.yarn.auth import KerberosAuth, SimpleAuth


def test_simple_authentication_names_the_user() -> None:
    session = requests.Session()
    SimpleAuth("a b").prepare(session)
    url = session.prepare_request(requests.Request("PUT", "http://rm/x", params={"q": "1"})).url
    assert url == "http://rm/x?user.name=a+b&q=1"


def test_kerberos_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_kerberos(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> object:
        if name == "requests_kerberos":
            raise ImportError(name)
        return real_import(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without_kerberos)
    with pytest.raises(MissingToolError) as raised:
        KerberosAuth().prepare(requests.Session())
    assert "yarntune[kerberos]" in raised.value.hint
