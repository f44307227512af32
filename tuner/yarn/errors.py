"""What can go wrong between us and the ResourceManager, by what the caller can do about it."""

from __future__ import annotations

from tuner.errors import YarnError

__all__ = [
    "YarnConnectionError",
    "YarnError",
    "YarnInterruptedError",
    "YarnProtocolError",
    "YarnStandbyError",
    "YarnStatusError",
    "YarnTimeoutError",
]


class YarnConnectionError(YarnError):
    """No connection could be made, so the ResourceManager has not seen the request."""


class YarnTimeoutError(YarnError):
    """No answer came in time; a write may or may not have been done."""


class YarnInterruptedError(YarnError):
    """The connection broke before the answer was complete; a write may or may not have been done."""


class YarnProtocolError(YarnError):
    """Something answered, but not as a ResourceManager does: a wrong address, a proxy's page, or an unknown shape."""


class YarnStandbyError(YarnError):
    """A standby ResourceManager answered; it has done nothing, and the active one is to be asked."""


class YarnStatusError(YarnError):
    """The ResourceManager refused the request.

    Args:
        message: what was refused and the ResourceManager's own words.
        hint: what to do about it.
        status: the HTTP status.
    """

    def __init__(self, message: str, hint: str = "", *, status: int) -> None:
        super().__init__(message, hint)
        self.status = status
