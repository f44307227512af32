"""Old names of Spark's properties, and how a configuration is read under all of them.

Source: ``SparkConf.configsWithAlternatives`` of Spark 4.3. Spark keeps the old key in the configuration as it was
written, so event logs and History Servers show it; whoever reads one has to look under both names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class OldName:
    """An old name, the version that deprecated it, and the unit that its bare number had."""

    name: str
    version: str
    suffix: str = ""


OLD_NAMES: dict[str, tuple[OldName, ...]] = {
    "spark.executor.memoryOverhead": (OldName("spark.yarn.executor.memoryOverhead", "2.3"),),
    "spark.driver.memoryOverhead": (OldName("spark.yarn.driver.memoryOverhead", "2.3"),),
    "spark.memory.offHeap.enabled": (OldName("spark.unsafe.offHeap", "1.6"),),
    "spark.kryoserializer.buffer.max": (OldName("spark.kryoserializer.buffer.max.mb", "1.4", "m"),),
    "spark.shuffle.file.buffer": (OldName("spark.shuffle.file.buffer.kb", "1.4", "k"),),
    "spark.reducer.maxSizeInFlight": (OldName("spark.reducer.maxMbInFlight", "1.4", "m"),),
    "spark.io.compression.lz4.blockSize": (OldName("spark.io.compression.lz4.block.size", "1.4"),),
    "spark.io.compression.snappy.blockSize": (OldName("spark.io.compression.snappy.block.size", "1.4"),),
    "spark.network.maxRemoteBlockSizeFetchToMem": (
        OldName("spark.reducer.maxReqSizeShuffleToMem", "2.3"),
        OldName("spark.maxRemoteBlockSizeFetchToMem", "3.0"),
    ),
    "spark.executor.maxNumFailures": (OldName("spark.yarn.max.executor.failures", "3.5"),),
    "spark.executor.failuresValidityInterval": (OldName("spark.yarn.executor.failuresValidityInterval", "3.5"),),
    "spark.kerberos.keytab": (OldName("spark.yarn.keytab", "3.0"),),
    "spark.kerberos.principal": (OldName("spark.yarn.principal", "3.0"),),
    "spark.kerberos.access.hadoopFileSystems": (
        OldName("spark.yarn.access.namenodes", "2.2"),
        OldName("spark.yarn.access.hadoopFileSystems", "3.0"),
    ),
    "spark.yarn.jars": (OldName("spark.yarn.jar", "2.0"),),
}

NEW_NAMES: dict[str, tuple[str, OldName]] = {old.name: (new, old) for new, olds in OLD_NAMES.items() for old in olds}


def canonical_name(name: str) -> str:
    """The property's present name."""
    return NEW_NAMES[name][0] if name in NEW_NAMES else name


def lookup(conf: Mapping[str, str], name: str) -> str | None:
    """The value of a property under its present name, else under an old one, as ``SparkConf.get`` finds it."""
    if name in conf:
        return conf[name]
    return next((_translate(conf[old.name], old) for old in OLD_NAMES.get(name, ()) if old.name in conf), None)


def canonical(conf: Mapping[str, str]) -> dict[str, str]:
    """The same configuration under present names only; where both are set the present name's value holds."""
    result = {name: value for name, value in conf.items() if name not in NEW_NAMES}
    for new in dict.fromkeys(NEW_NAMES[name][0] for name in conf if name in NEW_NAMES):
        value = lookup(conf, new)
        assert value is not None
        result[new] = value
    return result


def _translate(value: str, old: OldName) -> str:
    # Old names with the unit in the name took bare numbers in that unit.
    return value + old.suffix if old.suffix and value.strip().isdigit() else value
