"""What there is to run: the programs, the samples, and what the user imported."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tuner.errors import InputError
from tuner.settings import Settings
from workloads.samples import SAMPLES, generate
from workloads.workload import Workload
from workloads.workload_file import SUFFIX, read_header, read_workload

__all__ = ["Entry", "entries", "imported_path", "open_workload"]


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue; ``jobs`` and ``tasks`` are None where they are not known before it is made."""

    kind: Literal["program", "sample", "imported"]
    name: str
    title: str
    jobs: int | None = None
    tasks: int | None = None
    path: Path | None = None
    problem: str | None = None


def entries(settings: Settings) -> tuple[Entry, ...]:
    """All of it; a file that cannot be read is listed with what is wrong with it."""
    samples = [Entry("sample", name, sample.title) for name, sample in SAMPLES.items()]
    return (*_programs(), *samples, *_imported(settings))


def imported_path(settings: Settings, name: str) -> Path:
    """Where the imported workload of a name is kept.

    Raises:
        InputError: the name is no file name.
    """
    if not name or name != Path(name).name or name.startswith("."):
        raise InputError(f"{name!r} cannot be a workload's name", "use letters, digits, - and _")
    return _folder(settings) / f"{name}{SUFFIX}"


def open_workload(name: str, settings: Settings, seed: int = 0) -> Workload:
    """Opens a workload by its name in the catalogue, or by its file's path.

    Raises:
        InputError: there is none, or its file is damaged.
    """
    if name in SAMPLES:
        return generate(name, SAMPLES[name], seed)
    path = Path(name)
    if path.name == name and not path.exists():
        path = imported_path(settings, name)
    if not path.exists():
        raise InputError(f"there is no workload {name}", "`yarntune workload list` shows what there is")
    return read_workload(path)


def _folder(settings: Settings) -> Path:
    return settings.data_dir / "workloads"


def _programs() -> list[Entry]:
    found = []
    for resource in sorted(files("workloads.programs").iterdir(), key=lambda each: each.name):
        name, dot, ending = resource.name.rpartition(".")
        if dot and ending == "py" and name != "__init__":
            # Parsed, not imported: the programs need pyspark.
            text = ast.get_docstring(ast.parse(resource.read_text(encoding="utf-8"))) or ""
            path = Path(str(resource))
            found.append(Entry("program", name, text.partition("\n")[0].rstrip("."), path=path))
    return found


def _imported(settings: Settings) -> list[Entry]:
    found = []
    for path in sorted(_folder(settings).glob(f"*{SUFFIX}")):
        name = path.name.removesuffix(SUFFIX)
        try:
            header = read_header(path)
        except InputError as error:
            found.append(Entry("imported", name, "", path=path, problem=error.message))
            continue
        if header.provenance.format == "generated":
            title = f"generated: {(header.provenance.notes or ('a sample',))[-1]}"
            found.append(Entry("imported", name, title, header.jobs, header.tasks, path))
            continue
        names = [file.name for file in header.provenance.files] or ["the live cluster"]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        title = f"{header.provenance.format}: {names[0]}{more}"
        found.append(Entry("imported", name, title, header.jobs, header.tasks, path))
    return found
