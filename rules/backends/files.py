"""Replacing a configuration file: only the one that was read, in one step, with the owner and mode that it had."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tuner.errors import InputError
from tuner.files import write_bytes_atomically
from tuner.yarn.model import Applied, Rejected

__all__ = ["read_file", "replace_file"]

_MOST_BYTES = 64 * 2**20


def read_file(path: Path) -> bytes:
    """The file, byte for byte.

    Raises:
        InputError: it cannot be read, or is far too large to be a scheduler's.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is larger than {_MOST_BYTES // 2**20} MiB", "is it the scheduler's file?")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def replace_file(path: Path, expected: bytes, data: bytes) -> Applied | Rejected:
    """Replaces a file by way of a rename, unless it is another one than expected.

    A link is followed, so that it goes on pointing at the file. Between the comparison and the rename is a moment in
    which another program's write would be lost; there is no way to rule that out with files.
    """
    real = path.resolve()
    try:
        if read_file(real) != expected:
            return Rejected(f"{path} was changed by somebody else at this moment", "make another plan", 0)
        before = real.stat()
        write_bytes_atomically(real, data)
        after = real.stat()
        if (after.st_uid, after.st_gid) != (before.st_uid, before.st_gid):
            # Only root may give files away; for everybody else the mode, which is kept, has to do.
            with suppress(PermissionError):
                os.chown(real, before.st_uid, before.st_gid)
    except InputError as error:
        return Rejected(error.message, error.hint or "look whether you may write there", 0)
    return Applied()
