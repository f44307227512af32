"""Errors that reach a user: what is wrong, where, and what to do about it.

One base class; a subclass for each thing that a caller can do about it, not for each place that raises it. Outcomes
that are part of a decision (infeasible, stale, rejected) are values and have no class here.
"""

from __future__ import annotations


class YarntuneError(Exception):
    """An error that is shown to the user as one sentence and a hint, never as a traceback.

    Args:
        message: what is wrong and where, with the value that was got.
        hint: what to do about it; empty where the message says all.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(YarntuneError):
    """A file, an argument or a value that the user gave is not usable."""


class MissingToolError(YarntuneError):
    """A program or library that is needed is not on this machine."""


class ClusterError(YarntuneError):
    """The embedded cluster, or the cluster named by HADOOP_CONF_DIR, is not there or not healthy."""


class YarnError(YarntuneError):
    """The ResourceManager could not be reached, or did not answer as it should."""


class StoreError(YarntuneError):
    """The store cannot be opened, read or written."""
