"""Writes the table as ``docs/parameters.md``."""

from __future__ import annotations

from tuner.spark.names import OLD_NAMES
from tuner.spark.params import GROUPS, NEWEST, PARAMS, Bound, ParamSpec

_HEAD = f"""# Parameters

The properties of Spark that yarntune knows, from the table in `tuner/spark/params/`. This page is written by
`python -m tuner.spark.params > docs/parameters.md`, and a test holds it and Spark's own defaults
({NEWEST[0]}.{NEWEST[1]}) in step with the table.

**Search** is what a search may try, not what Spark accepts; **bold** names are the ones a first tuning starts with,
those without a search range are known to the models but never changed. All take effect with the next application;
a running session can change the ones marked *session*. Memory is always written with a unit: a bare number means MiB
for one property and bytes for another.
"""


def render() -> str:
    """The whole page, Markdown."""
    parts = [_HEAD]
    for key, (title, link) in GROUPS.items():
        rows = [spec for spec in PARAMS.values() if spec.group == key]
        parts.append(f"## {title}\n\n[Spark's documentation]({link})\n")
        parts.append("| property | default | search | what it does; what a wrong value costs |\n|---|---|---|---|")
        parts.append("\n".join(_row(spec) for spec in rows) + "\n")
    parts.append("## Old names\n\nRead as Spark reads them: the present name's value holds where both are set.\n")
    parts.append("| old name | present name | deprecated in |\n|---|---|---|")
    parts.append(
        "\n".join(
            f"| `{old.name}` | `{new}` | {old.version} |" for new, olds in sorted(OLD_NAMES.items()) for old in olds
        )
    )
    return "\n".join(parts) + "\n"


def _row(spec: ParamSpec) -> str:
    name = f"`{spec.name}`"
    notes = [spec.description, f"*{spec.risk}*"]
    if spec.since > (3, 0):
        notes.append(f"Since {_version(spec.since)}.")
    if spec.until is not None:
        notes.append(f"Until {_version(spec.until)}.")
    if spec.requires:
        notes.append("Needs " + ", ".join(f"`{needed.name}={needed.value}`" for needed in spec.requires) + ".")
    if spec.runtime:
        notes.append("*Session.*")
    cells = (f"**{name}**" if spec.core else name, _default(spec), _search(spec), " ".join(notes))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(spec: ParamSpec) -> str:
    present = "computed" if spec.default is None else f"`{_short(spec.default)}`"
    earlier = [f"`{_short(value)}` before {_version(version)}" for version, value in spec.earlier_defaults]
    return ", ".join([present, *earlier])


def _search(spec: ParamSpec) -> str:
    if not spec.tuned:
        return "-"
    if spec.kind == "bool":
        return "true, false"
    if spec.kind == "choice":
        return ", ".join(_short(choice) for choice in spec.choices)
    step = f", steps of {_number(spec, spec.step)}" if spec.step is not None else ""
    off = f", or {spec.off}" if spec.off is not None else ""
    return f"{_number(spec, spec.low)} to {_number(spec, spec.high)}{step}{', log' if spec.log else ''}{off}"


def _number(spec: ParamSpec, value: float | Bound | None) -> str:
    if isinstance(value, Bound):
        return value.words
    assert value is not None, spec.name
    return spec.format(value) if spec.kind in ("memory", "duration") else f"{value:g}"


def _short(value: str) -> str:
    return value.rpartition(".")[2] if value.startswith("org.") else value


def _version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
