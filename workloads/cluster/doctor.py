"""What the embedded cluster needs, for ``yarntune doctor``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.services.doctor import Finding, Status
from tuner.settings import Settings
from workloads.cluster.jars import JARS, jar_folder
from workloads.cluster.java import INSTALL_HINT, MINIMUM_VERSION, find_java, java_version


def check_java(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """The Java that Spark and the daemons run on."""
    java = find_java(environ)
    found = java_version(java)
    if found < MINIMUM_VERSION:
        detail = f"{java.executable} is Java {found or 'of an unknown version'}; Spark needs {MINIMUM_VERSION} or newer"
        return [Finding("java", Status.FAIL, detail, INSTALL_HINT)]
    return [Finding("java", Status.OK, f"{found}, {java.executable}")]


def check_jars(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:  # noqa: ARG001
    """The jars that an embedded cluster runs from; whether they are whole is looked at when one starts."""
    folder = jar_folder(settings)
    missing = [jar.filename for jar in JARS if not (folder / jar.filename).is_file()]
    if missing:
        detail = f"{len(missing)} of {len(JARS)} jars of the embedded cluster are not in {folder}"
        return [Finding("jars", Status.WARN, detail, "`yarntune cluster up` fetches them; `make setup` does too")]
    return [Finding("jars", Status.OK, f"all {len(JARS)} of the embedded cluster, {folder}")]
