"""The simulation's memory: tables of records that compiled code reaches through one pointer.

A table has a row for each thing (job, node, queue) and a name for each column, all 64 bits wide. The state is one
record more: counters, and the addresses of the tables. It is what every compiled function is given, so that a call
passes one pointer, however many tables there are; passing the arrays themselves makes the compiler ten times slower.

    job_at = rows("jobs", JOBS)          # once, at the top of a module
    job_at(state, 3).finish = state.now  # in compiled code: one addition and one store
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["Memory", "Table", "columns", "make_table", "rows", "state_columns"]

Table = NDArray[Any]
"""A structured array: a row for each thing, a name for each column."""


def columns(integers: str, floats: str = "") -> np.dtype[Any]:
    """The columns of a table, from their names."""
    names = [(name, np.int64) for name in integers.split()] + [(name, np.float64) for name in floats.split()]
    return np.dtype(names, align=True)


def state_columns(tables: Mapping[str, np.dtype[Any]], integers: str, floats: str = "") -> np.dtype[Any]:
    """The columns of a state: the address of each table (and its number of rows as ``NAME_count``), then counters."""
    return columns(" ".join([*tables, *(f"{name}_count" for name in tables), integers]), floats)


def make_table(dtype: np.dtype[Any], length: int) -> Table:
    """A table of zeros."""
    return np.zeros(length, dtype)


def rows(table: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Makes the function that gives compiled code a row of a table: ``f(state, index)``, without any check."""
    record = numba.from_dtype(dtype)
    size = dtype.itemsize

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def row(typing_context: Any, state: Any, index: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            state_type = signature.args[0]
            pointer = cgutils.get_record_member(
                builder, arguments[0], state_type.offset(table), context.get_data_type(types.int64)
            )
            address = builder.load(pointer)
            offset = builder.mul(arguments[1], context.get_constant(types.int64, size))
            return builder.inttoptr(builder.add(address, offset), context.get_value_type(record))

        return record(state, types.int64), generate

    found: Callable[..., Any] = row
    return found


@dataclass(frozen=True)
class Memory:
    """A simulation's state and tables; keeps alive what the addresses point to.

    Attributes:
        state: one row, of :func:`state_columns`.
        tables: by name.
    """

    state: Table
    tables: Mapping[str, Table]

    @classmethod
    def of(cls, dtype: np.dtype[Any], tables: Mapping[str, Table]) -> Memory:
        """Makes a state of these columns that points to the tables."""
        state = np.zeros(1, dtype)
        for name, table in tables.items():
            state[name], state[f"{name}_count"] = table.ctypes.data, len(table)
        return cls(state, tables)

    def copy(self) -> Memory:
        """The same state and tables once more, so that both can run."""
        twin = Memory.of(self.state.dtype, {name: table.copy() for name, table in self.tables.items()})
        addresses = {name: twin.state[name][0] for name in self.tables}
        twin.state[:] = self.state
        for name, address in addresses.items():
            twin.state[name] = address
        return twin

    def restore(self, source: Memory, state: Table) -> None:
        """Makes this copy of a memory again what it was when it was made, which is faster than another copy.

        Args:
            source: what it is a copy of, as it was then.
            state: this copy's own state, as it was then.
        """
        for name, table in self.tables.items():
            table.view(np.uint8)[:] = source.tables[name].view(np.uint8)
        self.state[:] = state

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    @property
    def record(self) -> Any:
        """The state as compiled code takes it."""
        return self.state[0]
