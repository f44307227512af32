"""Looking up and masking Spark properties of a log.

An event log lists the properties under the names that the user wrote, so an old name has to be looked up too. The
names, and their order where there are several, are those of ``org.apache.spark.SparkConf``
(``configsWithAlternatives``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

OLDER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "spark.executor.memoryOverhead": ("spark.yarn.executor.memoryOverhead",),
    "spark.driver.memoryOverhead": ("spark.yarn.driver.memoryOverhead",),
    "spark.executor.maxNumFailures": ("spark.yarn.max.executor.failures", "spark.yarn.max.worker.failures"),
    "spark.executor.userClassPathFirst": ("spark.files.userClassPathFirst",),
    "spark.kryoserializer.buffer": ("spark.kryoserializer.buffer.mb",),
    "spark.kryoserializer.buffer.max": ("spark.kryoserializer.buffer.max.mb",),
    "spark.shuffle.file.buffer": ("spark.shuffle.file.buffer.kb",),
    "spark.reducer.maxSizeInFlight": ("spark.reducer.maxMbInFlight",),
    "spark.network.maxRemoteBlockSizeFetchToMem": (
        "spark.reducer.maxReqSizeShuffleToMem",
        "spark.maxRemoteBlockSizeFetchToMem",
    ),
    "spark.io.compression.lz4.blockSize": ("spark.io.compression.lz4.block.size",),
    "spark.io.compression.snappy.blockSize": ("spark.io.compression.snappy.block.size",),
    "spark.memory.offHeap.enabled": ("spark.unsafe.offHeap",),
    "spark.scheduler.listenerbus.eventqueue.capacity": ("spark.scheduler.listenerbus.eventqueue.size",),
    "spark.yarn.jars": ("spark.yarn.jar",),
    "spark.kerberos.keytab": ("spark.yarn.keytab",),
    "spark.kerberos.principal": ("spark.yarn.principal",),
}


# spark.redaction.regex as Spark ships it.
_SECRET: Final = re.compile(r"(?i)secret|password|token|access[.]?key")
MASKED: Final = "*********(redacted)"


def lookup(properties: Mapping[str, str], name: str) -> str | None:
    """A property's value: the present name wins, then the older ones in Spark's order.

    Args:
        properties: the raw properties.
        name: the present name.

    Returns:
        The value as Spark would read it; None where no name is set.
    """
    for each in (name, *OLDER_NAMES.get(name, ())):
        if each in properties:
            return _translate(each, properties[each])
    return None


def _translate(name: str, value: str) -> str:
    # The one old name whose bare number Spark reads in a unit that the new name does not have.
    if name == "spark.kryoserializer.buffer.mb":
        try:
            return f"{int(float(value) * 1000)}k"
        except ValueError:
            return value
    return value


def mask(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with every secret's value replaced.

    As Spark does (``Utils.redact``), a value is hidden where its key or the value itself matches the pattern: options
    for a JVM carry passwords inside.
    """
    return {key: MASKED if _SECRET.search(key) or _SECRET.search(value) else value for key, value in properties.items()}
