"""The grammar of spark-submit's command line, and how a configuration is put into one.

Sources: ``SparkSubmitOptionParser`` (grammar), ``SparkSubmitCommandBuilder`` (the launcher, which turns the
``--driver-*`` flags into ``--conf``) and ``SparkSubmitArguments`` (what wins). Nothing here reads a file or the
environment; :mod:`tuner.spark.conf` does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tuner.errors import InputError
from tuner.spark.names import canonical_name

Action = Literal["submit", "kill", "status", "version", "help"]
ApplicationKind = Literal["python", "r", "jar", "shell", "none"]


@dataclass(frozen=True)
class OptionSpec:
    """One option of spark-submit.

    Args:
        name: its main spelling.
        alias: a short one.
        takes_value: False for a switch.
        property: the property that it sets on YARN, "" where there is none.
        launcher: whether the launcher turns it into ``--conf``, so that of flag and ``--conf`` the last one wins.
            Every other flag wins over ``--conf`` wherever it stands.
    """

    name: str
    alias: str = ""
    takes_value: bool = True
    property: str = ""
    launcher: bool = False


OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("--archives", property="spark.yarn.dist.archives"),
    OptionSpec("--class"),
    OptionSpec("--conf", "-c"),
    OptionSpec("--deploy-mode", property="spark.submit.deployMode"),
    OptionSpec("--driver-class-path", property="spark.driver.extraClassPath", launcher=True),
    OptionSpec("--driver-cores", property="spark.driver.cores"),
    OptionSpec("--driver-default-class-path"),
    OptionSpec("--driver-java-options", property="spark.driver.extraJavaOptions", launcher=True),
    OptionSpec("--driver-library-path", property="spark.driver.extraLibraryPath", launcher=True),
    OptionSpec("--driver-memory", property="spark.driver.memory", launcher=True),
    OptionSpec("--exclude-packages", property="spark.jars.excludes"),
    OptionSpec("--executor-cores", property="spark.executor.cores"),
    OptionSpec("--executor-memory", property="spark.executor.memory"),
    OptionSpec("--extra-properties-file"),
    OptionSpec("--files", property="spark.yarn.dist.files"),
    OptionSpec("--jars", property="spark.yarn.dist.jars"),
    OptionSpec("--keytab", property="spark.kerberos.keytab"),
    OptionSpec("--kill"),
    OptionSpec("--master", property="spark.master"),
    OptionSpec("--name", property="spark.app.name"),
    OptionSpec("--num-executors", property="spark.executor.instances"),
    OptionSpec("--packages", property="spark.jars.packages"),
    OptionSpec("--principal", property="spark.kerberos.principal"),
    OptionSpec("--properties-file"),
    OptionSpec("--proxy-user"),
    OptionSpec("--py-files", property="spark.submit.pyFiles"),
    OptionSpec("--queue", property="spark.yarn.queue"),
    OptionSpec("--remote", property="spark.remote"),
    OptionSpec("--repositories", property="spark.jars.repositories"),
    OptionSpec("--status"),
    OptionSpec("--total-executor-cores", property="spark.cores.max"),
    OptionSpec("--help", "-h", takes_value=False),
    OptionSpec("--load-spark-defaults", takes_value=False),
    OptionSpec("--supervise", takes_value=False),
    OptionSpec("--usage-error", takes_value=False),
    OptionSpec("--verbose", "-v", takes_value=False),
    OptionSpec("--version", takes_value=False),
)
"""Every option of Spark 3.0 to 4.3; an older spark-submit refuses the newer ones itself."""

_BY_SPELLING = {spelling: spec for spec in OPTIONS for spelling in (spec.name, spec.alias) if spelling}

# Java's "." stops at these, and the pattern has to match the whole token.
_WITH_EQUALS = re.compile("(--[^=]+)=([^\n\r\u0085\u2028\u2029]+)")

_LAUNCHER_COMMANDS = frozenset({"pyspark-shell-main", "sparkr-shell-main", "run-example"})

# With these classes the launcher accepts options anywhere, between the application's own arguments too.
_MIXED_CLASSES = frozenset(
    {
        "org.apache.spark.repl.Main",
        "org.apache.spark.sql.application.ConnectRepl",
        "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver",
        "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
    }
)
_SHELLS = frozenset({"spark-shell", "pyspark-shell", "sparkr-shell", "connect-shell", "spark-internal"})

_ENDING = {"--kill": "kill", "--status": "status", "--version": "version", "--help": "help", "--usage-error": "help"}


@dataclass(frozen=True)
class Option:
    """One option as it was written."""

    name: str
    value: str | None
    tokens: tuple[str, ...]

    @property
    def setting(self) -> tuple[str, str] | None:
        """Key and value of a ``--conf``, as Spark splits them: at the first ``=``, nothing trimmed."""
        if self.name != "--conf" or self.value is None:
            return None
        key, _, value = self.value.partition("=")
        return key, value

    def with_value(self, value: str) -> Option:
        """The same option in the same spelling with another value."""
        first = self.tokens[0]
        tokens = (first, value) if len(self.tokens) == 2 else (f"{first.partition('=')[0]}={value}",)
        return replace(self, value=value, tokens=tokens)


@dataclass(frozen=True)
class SubmitArguments:
    """A command line of spark-submit, without the program itself.

    Args:
        command: a word of the launcher (``run-example``) that comes before all options; "" for none.
        options: in their order.
        application: the primary resource; None where there is none.
        application_args: everything after it, or after the option that ended parsing; never looked into.
    """

    command: str
    options: tuple[Option, ...]
    application: str | None
    application_args: tuple[str, ...]

    def render(self) -> tuple[str, ...]:
        """The command line; that of a parsed one is the same, token for token."""
        head = (self.command,) if self.command else ()
        middle = tuple(token for option in self.options for token in option.tokens)
        resource = () if self.application is None else (self.application,)
        return (*head, *middle, *resource, *self.application_args)

    def value(self, name: str) -> str | None:
        """The value of an option by its main spelling; the last one where it is repeated, as Spark keeps it."""
        return next((option.value for option in reversed(self.options) if option.name == name), None)

    def values(self, name: str) -> tuple[str, ...]:
        """All values of an option, in their order."""
        return tuple(option.value for option in self.options if option.name == name and option.value is not None)

    def has(self, name: str) -> bool:
        """Whether an option or a switch is there."""
        return any(option.name == name for option in self.options)

    @property
    def action(self) -> Action:
        """What spark-submit is to do."""
        for option in self.options:
            match _ENDING.get(option.name):
                case "kill" | "status" | "version" | "help" as action:
                    return action
        return "submit"

    @property
    def kind(self) -> ApplicationKind:
        """What the application is, by Spark's own rule: the end of its name."""
        if self.command or self.value("--class") in _MIXED_CLASSES or self.application in _SHELLS:
            return "shell"
        if self.application is None:
            return "none"
        if self.application.endswith(".py"):
            return "python"
        return "r" if self.application.endswith(".R") else "jar"

    @property
    def tunable(self) -> bool:
        """Whether a configuration may be put in: a batch application that this command line submits.

        Shells, examples and the SQL command line accept options between their arguments, which are not looked into
        here; with ``--remote`` the executors belong to a server.
        """
        return self.action == "submit" and self.kind in ("python", "r", "jar") and not self.has("--remote")


@dataclass(frozen=True)
class Rewrite:
    """A command line with a configuration in it.

    Args:
        arguments: the new command line.
        applied: what was put in.
        kept: what was not, because the user set it; with the user's value where this command line shows it.
    """

    arguments: SubmitArguments
    applied: dict[str, str]
    kept: dict[str, str | None]


def parse(tokens: Sequence[str]) -> SubmitArguments:
    """Reads a command line as spark-submit does.

    Args:
        tokens: all after ``spark-submit``.

    Raises:
        InputError: where spark-submit would refuse it; the message names the option.
    """
    command = tokens[0] if tokens and tokens[0] in _LAUNCHER_COMMANDS else ""
    options: list[Option] = []
    at = 1 if command else 0
    while at < len(tokens):
        option = _option_at(tokens, at)
        if option is None:
            return SubmitArguments(command, tuple(options), tokens[at], tuple(tokens[at + 1 :]))
        options.append(option)
        at += len(option.tokens)
        if option.name in ("--version", "--help", "--usage-error"):
            break
    return SubmitArguments(command, tuple(options), None, tuple(tokens[at:]))


def effective(arguments: SubmitArguments) -> dict[str, str]:
    """The properties that a command line sets on YARN, under the names that it uses, and the values that win.

    Flags win over ``--conf`` in either order, but the ``--driver-*`` flags that the launcher turns into ``--conf``
    win or lose by their place; of repeated ones the last wins. (With a local master Spark ignores the flags for
    executors and the queue.)
    """
    by_conf: dict[str, str] = {}
    by_flag: dict[str, str] = {}
    for option in arguments.options:
        spec = _BY_SPELLING[option.name]
        if option.setting is not None:
            by_conf[option.setting[0]] = option.setting[1]
        elif spec.property and option.value is not None:
            (by_conf if spec.launcher else by_flag)[spec.property] = option.value
    return {name: value for name, value in (by_conf | by_flag).items() if name.startswith("spark.")}


def rewrite(
    arguments: SubmitArguments,
    changes: Mapping[str, str],
    *,
    pinned: Collection[str] = (),
    override: bool = False,
) -> Rewrite:
    """Puts a configuration into a command line.

    Args:
        arguments: the user's command line. One that is not :attr:`SubmitArguments.tunable` comes back as it is.
        changes: property -> value, present names.
        pinned: properties that must not be touched for other reasons (a pin, the user's properties file).
        override: False keeps what the command line itself sets. True replaces it, in place, because ``--conf``
            added at the end loses to a flag (for trials of a tuning, never for a user's own submission).

    Returns:
        The new command line; the application and its arguments are the same.
    """
    own = {canonical_name(name): value for name, value in effective(arguments).items()}
    fixed = {canonical_name(name) for name in pinned} | (set() if override else set(own))
    if not arguments.tunable:
        return Rewrite(arguments, {}, {name: own.get(name) for name in changes})
    applied = {name: value for name, value in changes.items() if canonical_name(name) not in fixed}
    options = list(arguments.options)
    for name, value in applied.items():
        _put(options, name, value)
    kept = {name: own.get(canonical_name(name)) for name in changes if name not in applied}
    return Rewrite(replace(arguments, options=tuple(options)), applied, kept)


def _put(options: list[Option], name: str, value: str) -> None:
    """Sets a property where the winning option sets it now, else by a new ``--conf`` at the end."""
    flags = [i for i, o in enumerate(options) if _BY_SPELLING[o.name].property == name]
    confs = [i for i, o in enumerate(options) if o.setting is not None and o.setting[0] == name]
    by_place = all(_BY_SPELLING[options[i].name].launcher for i in flags)
    winner = max([*flags, *confs], default=None) if by_place else flags[-1]
    if winner is None:
        options.append(Option("--conf", f"{name}={value}", ("--conf", f"{name}={value}")))
    elif winner in flags:
        options[winner] = options[winner].with_value(value)
    else:
        options[winner] = options[winner].with_value(f"{name}={value}")


def _option_at(tokens: Sequence[str], at: int) -> Option | None:
    """The option that starts at this token; None where the application does."""
    token = tokens[at]
    match = _WITH_EQUALS.fullmatch(token)
    spelling, value = (match.group(1), match.group(2)) if match else (token, None)
    spec = _BY_SPELLING.get(spelling)
    if spec is None:
        if spelling.startswith("-"):
            raise InputError(
                f"spark-submit has no option {spelling!r}",
                "options come before the application; spark-submit --help lists them",
            )
        return None
    if not spec.takes_value:
        return Option(spec.name, None, (token,))
    taken: tuple[str, ...] = (token,)
    if value is None:
        if at + 1 == len(tokens):
            raise InputError(f"spark-submit's option {token!r} needs a value")
        value = tokens[at + 1]
        taken = (token, value)
    if spec.name == "--conf" and "=" not in value:
        raise InputError(f"--conf {value!r} is not key=value")
    return Option(spec.name, value, taken)
