"""How the simulation is compiled: once for each version of its source, kept on disk.

numba's own cache looks only at the file that the cached function is in, not at the functions that it calls. So the
cache lives in a folder of the user's own that is named after everything that is compiled: another version of yarntune
never runs this one's code. It can also be written where the package itself cannot.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs

__all__ = ["compiled", "entry_point", "is_state"]


def _cache_folder() -> Path:
    digest = hashlib.sha256(f"{numba.__version__}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or str(Path(platformdirs.user_cache_dir("yarntune")) / "compiled")
    return Path(base) / digest.hexdigest()[:16]


numba.config.CACHE_DIR = str(_cache_folder())

compiled: Callable[..., Any] = partial(numba.njit, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorates what is called from compiled code only: it needs no cache of its own and no way in from Python or C."""

entry_point: Callable[..., Any] = numba.njit(cache=True, error_model="numpy", nogil=True)
"""Decorates what Python calls: compiled at the first call of a process unless the disk has it."""


def is_state(numba_type: Any, state_columns: np.dtype[Any]) -> bool:
    """Whether a numba type is that of a scheduler's state (see the package's docstring)."""
    return bool(numba_type == numba.from_dtype(state_columns))
