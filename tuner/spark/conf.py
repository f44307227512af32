"""Which configuration a spark-submit command line really means, and where each value comes from.

Spark's order, the first that sets a property wins: flags, ``--conf``, ``--extra-properties-file`` (4.2, the last
one first), ``--properties-file``, ``spark-defaults.conf``, a few environment variables. ``spark-defaults.conf`` is
not read at all beside ``--properties-file``, unless ``--load-spark-defaults`` (4.0) is there. Sources:
``SparkSubmitArguments``, ``Utils.getDefaultPropertiesFile``.

Two things cannot be seen from here: what the application sets in its own code (it wins over all of these), and
variables that only ``spark-env.sh`` exports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tuner.errors import InputError
from tuner.files import write_text_atomically
from tuner.spark.argv import SubmitArguments, effective, parse
from tuner.spark.names import NEW_NAMES, canonical, canonical_name
from tuner.spark.properties import parse_properties, render_properties
from tuner.spark.redaction import mask_arguments, mask_conf

__all__ = [
    "EffectiveConf",
    "Setting",
    "Source",
    "defaults_file",
    "mask_arguments",
    "mask_conf",
    "read_properties",
    "resolve",
    "submit_defaults",
    "write_properties_file",
]

DEFAULTS_FILE = "spark-defaults.conf"

_VARIABLES = {
    "MASTER": "spark.master",
    "DEPLOY_MODE": "spark.submit.deployMode",
    "SPARK_DRIVER_MEMORY": "spark.driver.memory",
    "SPARK_EXECUTOR_MEMORY": "spark.executor.memory",
    "SPARK_EXECUTOR_CORES": "spark.executor.cores",
}
"""Environment variables that spark-submit still reads where the property is set nowhere else."""


class Source(StrEnum):
    """Where a value comes from."""

    COMMAND_LINE = "command line"
    PROPERTIES_FILE = "properties file"
    DEFAULTS_FILE = DEFAULTS_FILE
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Setting:
    """One property that is set: the name it was set by, its value, and where."""

    name: str
    value: str
    source: Source
    where: str


@dataclass(frozen=True)
class EffectiveConf:
    """The configuration with which Spark starts an application.

    Args:
        settings: by the names that were used, old ones included.
        ignored: keys that Spark drops because they do not begin with ``spark.``.
        defaults_dropped: the ``spark-defaults.conf`` that is there but not read, because of ``--properties-file``.
    """

    settings: dict[str, Setting]
    ignored: tuple[str, ...] = ()
    defaults_dropped: Path | None = None

    def raw(self) -> dict[str, str]:
        """Names as they were used, and values, as an event log shows them."""
        return {name: setting.value for name, setting in self.settings.items()}

    def canonical(self) -> dict[str, str]:
        """The same under present names; where both were used the present name's value holds."""
        return canonical(self.raw())

    def explicit(self) -> frozenset[str]:
        """Present names of what the user set for this submission.

        That is all but ``spark-defaults.conf``, which is the site's. A variable of the environment counts: somebody
        set it on purpose, and nothing tells who.
        """
        return frozenset(
            canonical_name(name)
            for name, setting in self.settings.items()
            if setting.source is not Source.DEFAULTS_FILE
        )

    def deprecated(self) -> dict[str, str]:
        """Old names in use, and the present ones."""
        return {name: NEW_NAMES[name][0] for name in self.settings if name in NEW_NAMES}


def resolve(arguments: SubmitArguments, environ: Mapping[str, str], *, spark_home: Path | None = None) -> EffectiveConf:
    """Finds out what configuration a command line means.

    Args:
        arguments: the command line.
        environ: the environment that spark-submit will have.
        spark_home: of the spark-submit that will run, where the environment has no SPARK_HOME.

    Raises:
        InputError: for a properties file that is not there or that Spark could not read.
    """
    layers: list[list[Setting]] = [_from_command_line(arguments)]
    layers += [
        _from_file(Path(f), Source.PROPERTIES_FILE) for f in reversed(arguments.values("--extra-properties-file"))
    ]
    own = arguments.value("--properties-file")
    if own is not None:
        layers.append(_from_file(Path(own), Source.PROPERTIES_FILE))
    defaults = defaults_file(environ, spark_home)
    read_defaults = own is None or arguments.has("--load-spark-defaults")
    if defaults is not None and read_defaults:
        layers.append(_from_file(defaults, Source.DEFAULTS_FILE))
    layers.append(_from_environment(environ))

    settings: dict[str, Setting] = {}
    for setting in (setting for layer in layers for setting in layer):
        settings.setdefault(setting.name, setting)
    ignored = tuple(name for name in settings if not name.startswith("spark."))
    return EffectiveConf(
        {name: setting for name, setting in settings.items() if name.startswith("spark.")},
        ignored,
        None if read_defaults else defaults,
    )


def submit_defaults(
    environ: Mapping[str, str], properties_file: Path | None = None, *, spark_home: Path | None = None
) -> dict[str, str]:
    """What Spark would start with if the command line set nothing else; under present names.

    Args:
        environ: the environment that spark-submit will have.
        properties_file: of ``--properties-file``; ``spark-defaults.conf`` is not read then.
        spark_home: as in :func:`resolve`.

    Raises:
        InputError: as :func:`resolve`.
    """
    options = ["--properties-file", str(properties_file)] if properties_file else []
    return resolve(parse(options), environ, spark_home=spark_home).canonical()


def defaults_file(environ: Mapping[str, str], spark_home: Path | None = None) -> Path | None:
    """The ``spark-defaults.conf`` that Spark would read; None where there is none.

    Args:
        environ: ``SPARK_CONF_DIR`` is looked at, else ``SPARK_HOME`` and its ``conf``.
        spark_home: of the spark-submit that will run, where the environment has no SPARK_HOME.
    """
    home = environ.get("SPARK_HOME") or (str(spark_home) if spark_home else "")
    folder = environ.get("SPARK_CONF_DIR") or (str(Path(home) / "conf") if home else "")
    path = Path(folder) / DEFAULTS_FILE
    return path if folder and path.is_file() else None


def read_properties(path: Path) -> dict[str, str]:
    """Reads a properties file as Spark does.

    Raises:
        InputError: where it is not there, cannot be read, or Java would refuse it.
    """
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        raise InputError(f"the properties file {path} does not exist") from None
    except OSError as error:
        raise InputError(f"the properties file {path} cannot be read: {error.strerror}") from None
    return parse_properties(text, where=str(path))


def write_properties_file(path: Path, conf: Mapping[str, str], header: str = "") -> None:
    """Writes a properties file for ``--properties-file``; the old one stays until the new one is whole.

    Only the user may read it where it holds something that Spark would hide.

    Args:
        path: the file; its folder must exist.
        conf: property -> value; sizes and times get their unit where it is missing.
        header: a comment for the first lines.

    Raises:
        InputError: where it cannot be written.
    """
    private = mask_conf(conf) != dict(conf)
    write_text_atomically(path, render_properties(conf, comment=header), private=private)


def _from_command_line(arguments: SubmitArguments) -> list[Setting]:
    dropped = {s[0]: s[1] for o in arguments.options if (s := o.setting) and not s[0].startswith("spark.")}
    return [
        Setting(name, value, Source.COMMAND_LINE, Source.COMMAND_LINE)
        for name, value in (effective(arguments) | dropped).items()
    ]


def _from_file(path: Path, source: Source) -> list[Setting]:
    return [Setting(name, value, source, str(path)) for name, value in read_properties(path).items()]


def _from_environment(environ: Mapping[str, str]) -> list[Setting]:
    return [
        Setting(name, environ[variable], Source.ENVIRONMENT, variable)
        for variable, name in _VARIABLES.items()
        if variable in environ
    ]
