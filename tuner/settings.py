"""Every setting of yarntune, in one table.

A setting is an environment variable; nothing else configures the program, so that cron, systemd and a container do
it the same way. ``docs/settings.md`` lists the same table, and a test holds the two together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Setting:
    """One environment variable: its name, its default in words, and what it does."""

    name: str
    default: str
    help: str


SETTINGS: tuple[Setting, ...] = (
    Setting("YARNTUNE_DATABASE_URL", "SQLite in the data folder", "SQLAlchemy URL of the store"),
    Setting(
        "YARNTUNE_DATABASE_PASSWORD_FILE",
        "not set",
        "file with the password of the store's user, where the URL has none",
    ),
    Setting("YARNTUNE_DATA_DIR", "the user's data folder", "where the SQLite store and imported workloads are kept"),
    Setting("YARNTUNE_STATE_DIR", "the user's state folder", "where embedded clusters and logs are kept"),
    Setting("YARNTUNE_CACHE_DIR", "the user's cache folder", "where downloaded jars are kept"),
    Setting(
        "YARNTUNE_RM_URL",
        "from HADOOP_CONF_DIR or the embedded cluster",
        "address of the ResourceManager's REST API; several, with commas, where there is a standby",
    ),
    Setting("YARNTUNE_RM_TIMEOUT", "10", "seconds to wait for an answer of the ResourceManager"),
    Setting("YARNTUNE_MODE", "apply", "what the submit wrapper does: off, recommend, apply or explore"),
    Setting("YARNTUNE_EXPLORE_EVERY", "10", "in mode explore, of so many runs of a job one may explore"),
    Setting("YARNTUNE_JOB", "by program, arguments and queue", "the name by which the submit wrapper knows the job"),
    Setting(
        "YARNTUNE_PIN",
        "none",
        "properties, separated by blanks, that the submit wrapper sets (NAME=VALUE) or leaves alone (NAME)",
    ),
    Setting(
        "YARNTUNE_SPARK_SUBMIT",
        "SPARK_HOME's, then PATH's, then pyspark's",
        "the spark-submit that the submit wrapper starts",
    ),
    Setting("YARNTUNE_URL", "not set", "address of a yarntune server that the wrapper uses in place of the store"),
    Setting("YARNTUNE_TOKEN_FILE", "not set", "file with the token for that server"),
    Setting("YARNTUNE_USER", "the login name", "user name sent to the ResourceManager (simple authentication)"),
    Setting("YARNTUNE_MEMORY_PRICE", "not set", "what a GiB of memory costs for an hour, and in what: `0.004 EUR`"),
    Setting(
        "YARNTUNE_WEB_PROGRAMS",
        "not set",
        "folders whose programs may be tuned from the dashboard, with colons; jobs that the store knows always may",
    ),
    Setting("YARNTUNE_WEBHOOKS", "not set", "addresses, with commas, that the dashboard tells of plans and jobs"),
    Setting("YARNTUNE_WEBHOOK_SECRET_FILE", "not set", "file with the key that webhooks are signed with"),
)


@dataclass(frozen=True)
class MemoryPrice:
    """What a GiB of reserved memory costs for an hour, in a currency of the user's own."""

    per_gib_hour: float
    currency: str

    def of(self, memory_seconds: float) -> float:
        """What an amount of MiB·s costs."""
        return memory_seconds / 1024 / 3600 * self.per_gib_hour


@dataclass(frozen=True)
class Settings:
    """The settings of one process, read once at its start.

    Folders are not made by reading the settings; whoever writes into one makes it.
    """

    data_dir: Path
    state_dir: Path
    cache_dir: Path
    database_url: str
    rm_url: str | None
    rm_timeout_s: float
    user: str
    memory_price: MemoryPrice | None = None
    web_programs: tuple[Path, ...] = ()
    webhooks: tuple[str, ...] = ()
    webhook_secret_file: Path | None = None
    server_url: str | None = None
    token_file: Path | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads the table's variables.

        Args:
            environ: the environment to read; the process's own where it is not given.
        """
        env = os.environ if environ is None else environ
        data_dir = _folder(env, "YARNTUNE_DATA_DIR", platformdirs.user_data_path("yarntune"))
        return cls(
            data_dir=data_dir,
            state_dir=_folder(env, "YARNTUNE_STATE_DIR", platformdirs.user_state_path("yarntune")),
            cache_dir=_folder(env, "YARNTUNE_CACHE_DIR", platformdirs.user_cache_path("yarntune")),
            database_url=_database_url(env, data_dir),
            rm_url=env.get("YARNTUNE_RM_URL") or None,
            rm_timeout_s=_seconds(env, "YARNTUNE_RM_TIMEOUT", 10.0),
            user=env.get("YARNTUNE_USER") or _login_name(),
            memory_price=_price(env, "YARNTUNE_MEMORY_PRICE"),
            web_programs=tuple(
                Path(text).expanduser().absolute()
                for text in env.get("YARNTUNE_WEB_PROGRAMS", "").split(os.pathsep)
                if text
            ),
            webhooks=tuple(text.strip() for text in env.get("YARNTUNE_WEBHOOKS", "").split(",") if text.strip()),
            webhook_secret_file=_file(env, "YARNTUNE_WEBHOOK_SECRET_FILE"),
            server_url=env.get("YARNTUNE_URL") or None,
            token_file=_file(env, "YARNTUNE_TOKEN_FILE"),
        )


def _database_url(env: Mapping[str, str], data_dir: Path) -> str:
    """The URL, with the password out of its file where there is one: a secret of a container is a file."""
    from tuner.errors import InputError

    url = env.get("YARNTUNE_DATABASE_URL") or f"sqlite:///{data_dir / 'yarntune.db'}"
    file = env.get("YARNTUNE_DATABASE_PASSWORD_FILE")
    scheme, separator, rest = url.partition("://")
    user, at, place = rest.partition("@")
    if not file or not at or ":" in user or "/" in user:
        return url
    try:
        password = Path(file).expanduser().read_text().strip()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise InputError(
            f"{file}, the password of the store, cannot be read: {why}", "see YARNTUNE_DATABASE_PASSWORD_FILE"
        ) from None
    from urllib.parse import quote

    return f"{scheme}{separator}{user}:{quote(password, safe='')}@{place}"


def _folder(env: Mapping[str, str], name: str, default: Path) -> Path:
    return Path(env[name]).expanduser().absolute() if env.get(name) else default


def _file(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]).expanduser().absolute() if env.get(name) else None


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    from tuner.errors import InputError

    text = env.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise InputError(f"{name} is {text!r}, which is not a positive number of seconds")
    return value


def _price(env: Mapping[str, str], name: str) -> MemoryPrice | None:
    from tuner.errors import InputError

    text = env.get(name)
    if not text:
        return None
    number, _, currency = text.strip().partition(" ")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf") or not currency.strip():
        raise InputError(f"{name} is {text!r}, which is not a price", "write a number and a currency, as 0.004 EUR")
    return MemoryPrice(value, currency.strip())


def _login_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's numeric user has no name; Hadoop needs one all the same.
        return f"uid{os.getuid()}"
