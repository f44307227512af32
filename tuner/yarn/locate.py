"""Where the cluster is: named by a setting, by Hadoop's own configuration, or by an embedded cluster that is up."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.errors import ClusterError
from tuner.settings import Settings
from tuner.yarn.hadoopconf import HadoopConf, read_hadoop_conf

_DEFAULT_PORT = {"http": 8088, "https": 8090}
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - compared with, never bound to
_NONE_HINT = (
    "start one here with `yarntune cluster up`, set HADOOP_CONF_DIR to the folder of your cluster's yarn-site.xml, "
    "or set YARNTUNE_RM_URL to http://HOST:8088"
)


@dataclass(frozen=True)
class Target:
    """A cluster.

    Attributes:
        rm_urls: the prefix of the REST API of every ResourceManager, without ``/ws/v1``.
        hadoop_conf_dir: for HADOOP_CONF_DIR of what is submitted; None where only an address is known.
        spark_conf_dir: for SPARK_CONF_DIR; None for Spark's own.
        event_log_dir: where its Spark applications leave their event logs, on this machine; None where not known.
        source: what named it, in words.
        kerberos: whether its web services want SPNEGO.
    """

    rm_urls: tuple[str, ...]
    hadoop_conf_dir: Path | None
    spark_conf_dir: Path | None
    event_log_dir: Path | None
    source: str
    kerberos: bool = False


def locate(settings: Settings, environ: Mapping[str, str] | None = None) -> Target:
    """Finds the cluster; nothing is asked of it.

    In this order: YARNTUNE_RM_URL; HADOOP_CONF_DIR, or YARN_CONF_DIR; the embedded cluster that is up.

    Args:
        settings: for the address and the state folder.
        environ: the environment to read; the process's own where it is not given.

    Raises:
        ClusterError: none is found, several embedded ones are, or a folder has no yarn-site.xml.
        InputError: a configuration file is broken.
    """
    env = os.environ if environ is None else environ
    folder = _conf_dir(env)
    embedded = _embedded(settings)
    if settings.rm_url:
        return _named(settings.rm_url, folder, env)
    if folder is not None:
        return _configured(folder, env, embedded)
    if len(embedded) == 1:
        return next(iter(embedded.values()))
    if embedded:
        names = ", ".join(embedded)
        raise ClusterError(
            f"there are {len(embedded)} embedded clusters: {names}",
            f'choose one with eval "$(yarntune cluster env --name {next(iter(embedded))})"',
        )
    raise ClusterError("no YARN cluster is named, and no embedded one is up", _NONE_HINT)


def _conf_dir(env: Mapping[str, str]) -> Path | None:
    """The folder with the yarn-site.xml: Spark takes either variable, so either will do here."""
    given = {name: Path(env[name]).expanduser() for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if env.get(name)}
    for path in given.values():
        if (path / "yarn-site.xml").is_file():
            return path
    if not given or env.get("YARNTUNE_RM_URL"):
        return None
    name, path = next(iter(given.items()))
    raise ClusterError(
        f"{name} is {path}, which has no yarn-site.xml",
        f"set {name} to the folder of your cluster's yarn-site.xml, or unset it for an embedded cluster",
    )


def _named(rm_url: str, folder: Path | None, env: Mapping[str, str]) -> Target:
    return Target(
        rm_urls=tuple(url for part in rm_url.split(",") if (url := part.strip())),
        hadoop_conf_dir=folder,
        spark_conf_dir=_spark_conf_dir(env),
        event_log_dir=None,
        source="YARNTUNE_RM_URL",
        kerberos=folder is not None and _wants_kerberos(_read_folder(folder, env)),
    )


def _configured(folder: Path, env: Mapping[str, str], embedded: Mapping[str, Target]) -> Target:
    for target in embedded.values():
        if target.hadoop_conf_dir is not None and _same(target.hadoop_conf_dir, folder):
            return target
    conf = _read_folder(folder, env)
    return Target(
        rm_urls=rm_urls(conf),
        hadoop_conf_dir=folder,
        spark_conf_dir=_spark_conf_dir(env),
        event_log_dir=None,
        source=str(folder / "yarn-site.xml"),
        kerberos=_wants_kerberos(conf),
    )


def _spark_conf_dir(env: Mapping[str, str]) -> Path | None:
    return Path(env["SPARK_CONF_DIR"]).expanduser() if env.get("SPARK_CONF_DIR") else None


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _read_folder(folder: Path, env: Mapping[str, str]) -> HadoopConf:
    return read_hadoop_conf([folder / "core-site.xml", folder / "yarn-site.xml"], env)


def _wants_kerberos(conf: HadoopConf) -> bool:
    return (conf.get("hadoop.http.authentication.type") or "simple").lower() == "kerberos"


def rm_urls(conf: HadoopConf) -> tuple[str, ...]:
    """The web addresses of the ResourceManagers, as ``WebAppUtils`` and ``HAUtil`` work them out.

    Args:
        conf: core-site.xml and yarn-site.xml.
    """
    scheme = "https" if (conf.get("yarn.http.policy") or "").upper() == "HTTPS_ONLY" else "http"
    ids = conf.names("yarn.resourcemanager.ha.rm-ids") if conf.flag("yarn.resourcemanager.ha.enabled") else ()
    return tuple(_rm_url(conf, scheme, f".{rm_id}") for rm_id in ids) or (_rm_url(conf, scheme, ""),)


def _rm_url(conf: HadoopConf, scheme: str, suffix: str) -> str:
    kind = "webapp.https.address" if scheme == "https" else "webapp.address"
    host = conf.get(f"yarn.resourcemanager.hostname{suffix}")
    address = conf.get(f"yarn.resourcemanager.{kind}{suffix}") or host or "localhost"
    name, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        name, port = address, str(_DEFAULT_PORT[scheme])
    if name in _EVERY_ADDRESS or name.startswith("${"):
        name = host if host and host not in _EVERY_ADDRESS else "localhost"
    return f"{scheme}://{name}:{port}"


def _embedded(settings: Settings) -> dict[str, Target]:
    """The embedded clusters that have left a record in the state folder, by name."""
    found = {}
    for record in sorted((settings.state_dir / "clusters").glob("*/cluster.json")):
        target = _from_record(record)
        if target is not None:
            found[record.parent.name] = target
    return found


def _from_record(record: Path) -> Target | None:
    try:
        document: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        return Target(
            rm_urls=(str(document["rm_url"]),),
            hadoop_conf_dir=Path(document["hadoop_conf_dir"]),
            spark_conf_dir=Path(document["spark_conf_dir"]),
            event_log_dir=Path(document["event_log_dir"]),
            source=f"the embedded cluster {record.parent.name}",
        )
    except (OSError, ValueError, KeyError, TypeError):
        # Gone, or of another version; `yarntune cluster status` is who complains about it.
        return None
