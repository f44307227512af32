"""What an import may be told, for every format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tuner.settings import Settings
from workloads.workload import Assumption

__all__ = ["DEFAULT_MACHINE", "ImportOptions", "MachineSize"]


@dataclass(frozen=True)
class MachineSize:
    """The largest machine of a trace that gives sizes as fractions of it."""

    memory_mib: int
    cores: float

    def assumptions(self) -> tuple[Assumption, ...]:
        """The size, as what a workload rests on."""
        return (
            Assumption("largest_machine_memory_mib", self.memory_mib, "the trace gives memory as a fraction of it"),
            Assumption("largest_machine_cores", self.cores, "the trace gives processors as a fraction of it"),
        )


DEFAULT_MACHINE: Final = MachineSize(memory_mib=65_536, cores=32.0)
"""The traces do not say; a round size, of which their machines are then a half or a quarter."""


@dataclass(frozen=True)
class ImportOptions:
    """How to import.

    Attributes:
        name: of the workload.
        seed: of whatever is modelled.
        machine: for traces with normalised sizes.
        default_memory_mib: of a task of which nothing is known, nor of any like it.
        settings: for a live ResourceManager; None where none may be asked.
        since_s: of a live ResourceManager: applications submitted then or later, seconds since the epoch.
        environ: to find the cluster by.
    """

    name: str
    seed: int = 0
    machine: MachineSize = DEFAULT_MACHINE
    default_memory_mib: int = 1024
    settings: Settings | None = None
    since_s: float | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
