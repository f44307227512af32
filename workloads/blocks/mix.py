"""Which kernels give a wanted CPI and MAI, and what the kernels that ran gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Final

import numpy as np

from workloads.blocks.calibration import Calibration
from workloads.blocks.counters import Counted

__all__ = ["CPI_CLASSES", "MAI_CLASSES", "Block", "Ran", "class_of", "kernel_shares", "ran_of"]

CPI_CLASSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Bounds of the classes of cycles per instruction: each is twice the one before."""
MAI_CLASSES: Final = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
"""Bounds of the classes of memory accesses per instruction."""
MAI_FLOOR: Final = 1e-3
"""Below this a difference of MAI is reckoned against it: one access in a thousand instructions changes nothing."""
_ERROR_WEIGHT: Final = 1e3
_NEGLIGIBLE_SHARE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Block:
    """A reducible workload block: the same at any length.

    Attributes:
        duration_s: for how long.
        cores: CPU time in a second of it.
        memory_mib: memory that belongs to the process alone; its floor is some 6 MiB, the interpreter's.
        kernels: share of the CPU time by kernel; the shares add up to 1.
    """

    duration_s: float
    cores: float
    memory_mib: float
    kernels: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """As ``runner`` reads it."""
        return {
            "duration_s": self.duration_s,
            "cores": self.cores,
            "memory_mib": self.memory_mib,
            "kernels": dict(self.kernels),
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """What a block that ran came to.

    Attributes:
        wall_s, cpu_s: as measured.
        memory_mib: mean, as measured.
        cpi: by the calibrated figures of the kernels, weighted by what of each ran; NaN, as the next two, where
            none ran.
        cpi_by_clock: CPU time as cycles, by the instructions that the kernels counted: the control is in it.
        mai: of the kernels that ran.
        counted: by the processor's counters; None where the machine does not let them be read.
    """

    wall_s: float
    cpu_s: float
    memory_mib: float
    cpi: float
    cpi_by_clock: float
    mai: float
    counted: Counted | None = None

    @property
    def cores(self) -> float:
        """CPU time in a second."""
        return self.cpu_s / self.wall_s


def class_of(value: float, bounds: tuple[float, ...]) -> int:
    """The number of a value's class, from 0."""
    return int(np.searchsorted(bounds, value, side="right"))


def kernel_shares(cpi: float, mai: float, calibration: Calibration) -> dict[str, float]:
    """Shares of the CPU time that come nearest to a CPI and a MAI, with kernels that are like them where they can be.

    CPI and MAI are averages over instructions, so shares of instructions are found, by linear programming: the
    relative errors of both weigh most, then how far the kernels' own CPI is from the wanted one, since a mix of
    extremes is more easily disturbed. NaN means that it does not matter.

    Args:
        cpi: cycles per instruction, above 0.
        mai: memory accesses per instruction.
        calibration: of this machine.
    """
    from scipy.optimize import linprog

    kernels = calibration.kernels
    own_cpi = np.array([each.cpi for each in kernels.values()])
    own_mai = np.array([each.mai for each in kernels.values()])
    rows, goal = [np.ones(len(kernels))], [1.0]
    if not isnan(cpi):
        rows.append(own_cpi / cpi)
        goal.append(1.0)
    if not isnan(mai):
        rows.append(own_mai / max(mai, MAI_FLOOR))
        goal.append(mai / max(mai, MAI_FLOOR))
    # Each wanted figure may be missed to either side, at a price.
    missed = np.zeros((len(rows), 2 * (len(rows) - 1)))
    for row in range(1, len(rows)):
        missed[row, 2 * row - 2], missed[row, 2 * row - 1] = 1.0, -1.0
    distance = np.zeros(len(kernels)) if isnan(cpi) else np.abs(np.log(own_cpi / cpi))
    cost = np.concatenate((distance, np.full(missed.shape[1], _ERROR_WEIGHT)))
    found = linprog(cost, A_eq=np.hstack((np.array(rows), missed)), b_eq=goal, method="highs")
    time_of = own_cpi * found.x[: len(kernels)]
    shares = time_of / time_of.sum()
    kept = {name: float(share) for name, share in zip(kernels, shares, strict=True) if share > _NEGLIGIBLE_SHARE}
    total = sum(kept.values())
    return {name: share / total for name, share in kept.items()}


def ran_of(result: Mapping[str, Any], calibration: Calibration, counted: Counted | None = None) -> Ran:
    """Reads a line of ``runner``'s output."""
    facts = [(calibration.kernels[name], int(steps)) for name, steps in result["steps"].items()]
    # A block whose share went into its memory ran no kernel: 0 / 0 is not a number.
    instructions = float(sum(each.instructions * steps for each, steps in facts)) or nan
    return Ran(
        wall_s=result["wall_s"],
        cpu_s=result["cpu_s"],
        memory_mib=result["memory_mib"],
        cpi=sum(each.cpi * each.instructions * steps for each, steps in facts) / instructions,
        cpi_by_clock=result["cpu_s"] * 1e9 * calibration.clock_ghz / instructions,
        mai=sum(each.accesses * steps for each, steps in facts) / instructions,
        counted=counted,
    )
