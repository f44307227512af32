"""How the simulation is compiled: once for each version of its source, kept on disk.

numba's own cache looks only at the file that the cached function is in, not at the functions that it calls. So the
cache lives in a folder of the user's own that is named after everything that is compiled: another version of yarntune
never runs this one's code. It can also be written where the package itself cannot.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import filelock
import numba
import numpy as np
import platformdirs
from numba import _dynfunc, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["LINKED", "compiled", "entry_point", "is_state"]


def _cache_folder() -> Path:
    digest = hashlib.sha256(f"{numba.__version__}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or str(Path(platformdirs.user_cache_dir("yarntune")) / "compiled")
    return Path(base) / digest.hexdigest()[:16]


_CACHE = _cache_folder()
numba.config.CACHE_DIR = str(_CACHE)


def _mangling_args(record: types.Record) -> tuple[str, tuple[int, ...]]:
    """What a record is called in the names of compiled functions: by its fields.

    numba takes a number that counts the types of a process, so that functions over different records, made by different
    processes, can have one name on the disk; a process that loads both would run one for the other.
    """
    return "Record", (int.from_bytes(hashlib.sha256(record.name.encode()).digest()[:7], "big"),)


types.Record.mangling_args = property(_mangling_args)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):  # type: ignore[misc,unused-ignore]
    """Ends with LLVM's own language: the function is linked into its callers, and no machine code is made of it alone.

    numba optimises each function with all that it calls, and makes machine code of it, over and over up to the one that
    Python calls. Four fifths of the time to compile went there.
    """

    def run_pass(self, state: Any) -> bool:
        library = state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        library.finalize = partial(_link, library)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.rpartition(".")[2]
        # What numba knows a compiled function by; without an address, as Python never calls it.
        handle = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=handle, env=lowered.env)
        return True


def _link(library: Any) -> None:
    """What a library does of ``finalize`` where nothing but its callers needs it."""
    for other in dict.fromkeys(library._linking_libraries):
        library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    library._finalized = True


class _LinkedCompiler(CompilerBase):  # type: ignore[misc,unused-ignore]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        chosen = PassManager("linked")
        for each, words in passes.passes:
            chosen.add_pass(_LinkedLowering if each is NativeLowering else each, words)
        chosen.finalize()
        return [chosen]


LINKED: Mapping[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _LinkedCompiler,
}
"""Options of what is called from compiled code only; ``overload`` takes them as ``jit_options``."""

compiled: Callable[..., Any] = partial(numba.njit, **LINKED)
"""Decorates what is called from compiled code only: it needs no cache of its own and no way in from Python or C."""


def entry_point(function: Callable[..., Any]) -> Any:
    """Decorates what Python calls: compiled at the first call of a process unless the disk has it.

    One process at a time: numba numbers the files of a function's versions by how many there are, so two that compile
    different versions at once would write the same file, and a third would run the one for the other.
    """
    dispatcher = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    compile_version = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        _CACHE.mkdir(parents=True, exist_ok=True)
        with _lock():
            return compile_version(signature)

    dispatcher.compile = compile_alone
    return dispatcher


@cache
def _lock() -> filelock.BaseFileLock:
    return filelock.FileLock(_CACHE / "compiling.lock")


@cache
def _record(state_columns: np.dtype[Any]) -> Any:
    return numba.from_dtype(state_columns)


def is_state(numba_type: Any, state_columns: np.dtype[Any]) -> bool:
    """Whether a numba type is that of a scheduler's state (see the package's docstring)."""
    return bool(numba_type == _record(state_columns))
