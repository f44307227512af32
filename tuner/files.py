"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tuner.errors import InputError


def write_text_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Writes a file by way of a temporary one beside it and a rename; what was there stays until then.

    Args:
        path: the file; its folder must exist.
        text: all of it, written as UTF-8.
        private: whether only the user may read it, as for secrets. Else an existing file keeps its mode, and a new one
            gets the usual one.

    Raises:
        InputError: where the file cannot be written there.
    """
    write_bytes_atomically(path, text.encode("utf-8"), private=private)


def write_bytes_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Writes a file that is not text; as :func:`write_text_atomically`."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o600 if private else _mode_of(path))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
