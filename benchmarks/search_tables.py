"""Tables of recorded runs that searches are compared on: public ones, and those of benchmarks/data/sparkruns.csv."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuner.model.limits import ClusterLimits
from tuner.search.reserve import Reservation, ReservationModel
from tuner.search.space import Dimension, SearchSpace
from tuner.spark.params import NEWEST, PARAMS, ParamSpec

__all__ = ["OWN", "PUBLIC", "Table", "TimeAlone", "own_tables", "public_tables"]

_ROOT: Final = Path(__file__).resolve().parent.parent
OWN: Final = _ROOT / "benchmarks" / "data" / "sparkruns.csv"
PUBLIC: Final = Path(os.environ.get("YARNTUNE_TEST_DATA") or _ROOT.parent / "shared" / "data") / "sparkruns"
LEAST_ROWS: Final = 30
"""Runs of a program of which less can be said than that are no table."""
_FEW: Final = 4
"""Whole numbers with no more values than that are choices: codes of codecs and collectors."""
_CLUSTER: Final = ClusterLimits(
    max_container_memory_mib=6144,
    min_allocation_mib=1024,
    increment_mib=1024,
    max_container_vcores=4,
    total_memory_mib=12288,
    total_vcores=8,
    nodes=2,
    queue_max_memory_mib=12288,
    queue_max_vcores=8,
    counts_vcores=True,
)
"""The embedded cluster that our own table was recorded on."""


@dataclass(frozen=True)
class TimeAlone:
    """Stands for the container model where time alone counts: all that can be granted reserves the same.

    Attributes:
        of: what says what can be granted; None where nothing is known of the cluster.
    """

    of: Reservation | None = None

    def reserved_mib(self, configuration: Mapping[str, str]) -> float | None:
        """1 GiB, or None where the configuration cannot be granted."""
        return 1024.0 if self.of is None or self.of.reserved_mib(configuration) else None

    def filled(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """As the container model has it."""
        return dict(configuration) if self.of is None else self.of.filled(configuration)


@dataclass(frozen=True)
class Table:
    """One program's recorded runs.

    Attributes:
        name: of the program.
        group: programs of one group can be neighbours of each other.
        space: what a search may change.
        default: the configuration that every search begins with: the first row.
        configurations: of the runs that succeeded.
        times_s: of these runs.
        memory: the container model; None where the table knows time alone.
        limits: of the cluster; None as above.
        application_id: of the default's run; None where there is no event log of it.
    """

    name: str
    group: str
    space: SearchSpace
    default: Mapping[str, str]
    configurations: Sequence[Mapping[str, str]]
    times_s: Sequence[float]
    memory: ReservationModel | None = None
    limits: ClusterLimits | None = None
    application_id: str | None = None


def public_tables(folder: Path = PUBLIC) -> list[Table]:
    """Join and TeraSort; those of TeraSort's sizes are tables of their own. Empty where the folder is not here."""
    tables = []
    for program in ("join", "terasort"):
        path = folder / f"{program}.csv"
        if not path.is_file():
            continue
        rows = _read(path)
        for size in dict.fromkeys(row.get("datasize", "") for row in rows):
            mine = [row for row in rows if row.get("datasize", "") == size]
            name = f"HiBench {program}" + (f" {int(size):,}" if size else "")
            tables.append(_public(name, mine))
    return tables


def own_tables(path: Path = OWN) -> list[Table]:
    """The programs of our own table with enough runs; empty where there is no table yet."""
    if not path.is_file():
        return []
    rows = _read(path)
    programs = dict.fromkeys(row["program"] for row in rows)
    each = [[row for row in rows if row["program"] == program] for program in programs]
    return [_own(mine) for mine in each if len(mine) >= LEAST_ROWS and mine[0]["state"] == "SUCCEEDED"]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _public(name: str, rows: Sequence[Mapping[str, str]]) -> Table:
    names = [column for column in rows[0] if column.startswith(("spark_", "jvm_"))]
    space = SearchSpace(tuple(_dimension(each, [float(row[each]) for row in rows]) for each in names))
    configurations = [space.render({d.name: _value(d, float(row[d.name])) for d in space.dimensions}) for row in rows]
    times_s = [float(row["run_times"]) for row in rows]
    return Table(name, "HiBench", space, configurations[0], configurations, times_s)


def _dimension(name: str, values: Sequence[float]) -> Dimension:
    """The dimension that the recorded values of a column span; the first row's is the default."""
    low, high = min(values), max(values)
    whole = all(value.is_integer() for value in values)
    if whole and len(set(values)) <= _FEW:
        choices = tuple(f"{value:g}" for value in sorted(set(values)))
        return Dimension(ParamSpec(name, "choice", "", None, "", "", choices=choices), 0.0, 0.0, f"{values[0]:g}")
    spec = ParamSpec(name, "int" if whole else "float", "", None, "", "", low, high)
    return Dimension(spec, low, high, int(values[0]) if whole else values[0])


def _value(dimension: Dimension, number: float) -> int | float | str:
    if dimension.choices:
        return f"{number:g}"
    return int(number) if dimension.spec.kind == "int" else number


def _own(rows: Sequence[Mapping[str, str]]) -> Table:
    first = rows[0]
    specs = [PARAMS[column] for column in first if column in PARAMS and PARAMS[column].core and first[column]]
    specs.sort(key=lambda spec: list(PARAMS).index(spec.name))
    space = SearchSpace(tuple(Dimension.on(spec, _CLUSTER, spec.parse(first[spec.name])) for spec in specs))
    good = [row for row in rows if row["state"] == "SUCCEEDED"]
    return Table(
        name=first["program"],
        group="embedded cluster",
        space=space,
        default={spec.name: first[spec.name] for spec in specs},
        configurations=[{spec.name: row[spec.name] for spec in specs} for row in good],
        times_s=[float(row["duration_s"]) for row in good],
        memory=ReservationModel(_CLUSTER, {}, frozenset(), python=True, cluster_mode=False, version=NEWEST),
        limits=_CLUSTER,
        application_id=first.get("application_id") or None,
    )
