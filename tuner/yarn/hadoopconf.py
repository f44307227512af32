"""Hadoop's configuration files, as ``org.apache.hadoop.conf.Configuration`` reads them.

Later files win over earlier ones, except over what is final; ``${name}``, ``${env.NAME}``, ``${env.NAME-word}`` and
``${env.NAME:-word}`` are replaced when a value is asked for. XInclude is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from tuner.errors import InputError

_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
_MAX_SUBSTITUTIONS = 20  # Configuration.MAX_SUBST


class HadoopConf:
    """Properties by name, their variables replaced when they are asked for.

    Args:
        properties: as written in the files.
        environ: for ``${env.NAME}``.
        source: the files they came from, for messages.
    """

    def __init__(self, properties: Mapping[str, str], environ: Mapping[str, str], source: str) -> None:
        self._properties = dict(properties)
        self._environ = environ
        self.source = source

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of a property, blanks around it taken off; the default where it is not set.

        A variable that is not known stays as it is written, as in Hadoop.

        Raises:
            InputError: its variables go round in a circle.
        """
        value = self._properties.get(name, default)
        if value is None:
            return None
        for _ in range(_MAX_SUBSTITUTIONS):
            replaced = _VARIABLE.sub(self._replace, value)
            if replaced == value:
                return value.strip()
            value = replaced
        raise InputError(f"the property {name} in {self.source} never comes to an end of its variables: {value}")

    def property_names(self) -> tuple[str, ...]:
        """The names of all properties that are set."""
        return tuple(self._properties)

    def flag(self, name: str) -> bool:
        """Whether a property is ``true``; false where it is not set."""
        return (self.get(name) or "").lower() == "true"

    def names(self, name: str) -> tuple[str, ...]:
        """A list with commas."""
        return tuple(part for each in (self.get(name) or "").split(",") if (part := each.strip()))

    def _replace(self, match: re.Match[str]) -> str:
        name = match.group(1)
        if not name.startswith("env."):
            return self._properties.get(name, match.group(0))
        variable, dash, word = name.removeprefix("env.").partition("-")
        needs_content = variable.endswith(":")
        value = self._environ.get(variable.removesuffix(":"))
        if value is None or (needs_content and not value):
            return word if dash else match.group(0)
        return value


def read_hadoop_conf(files: Sequence[Path], environ: Mapping[str, str]) -> HadoopConf:
    """Reads configuration files, those that are there, in the order given.

    Raises:
        InputError: a file cannot be read, or is not a Hadoop configuration; with its name.
    """
    present = [path for path in files if path.is_file()]
    properties: dict[str, str] = {}
    final: set[str] = set()
    for path in present:
        for name, value, is_final in _read(path):
            if name in final:
                continue
            properties[name] = value
            if is_final:
                final.add(name)
    return HadoopConf(properties, environ, ", ".join(map(str, present)))


def _read(path: Path) -> list[tuple[str, str, bool]]:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(path.read_bytes())
    except (ParseError, DefusedXmlException) as error:
        raise InputError(f"{path} is not well-formed XML: {error}", "mend the file, or set YARNTUNE_RM_URL") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if root.tag != "configuration":
        raise InputError(f"{path} is not a Hadoop configuration: its root is <{root.tag}>, not <configuration>")
    found = []
    for item in root.iter("property"):
        name = (item.findtext("name") or item.get("name") or "").strip()
        value = item.findtext("value") or item.get("value") or ""
        is_final = (item.findtext("final") or item.get("final") or "").strip() == "true"
        if name:
            found.append((name, value, is_final))
    return found
