"""A JVM with the real Spark's classes in it, to hold our tables and models against; no SparkContext is started."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaGateway
from pyspark.java_gateway import launch_gateway

CONFIG_OBJECTS = (
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Kryo$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.deploy.yarn.config.package$",
)


class SparkJvm:
    """Calls into Spark's own classes; names that Scala marks private are public to the JVM."""

    def __init__(self) -> None:
        self.gateway: JavaGateway = launch_gateway()
        self.jvm: Any = self.gateway.jvm
        for name in CONFIG_OBJECTS:
            self.jvm.java.lang.Class.forName(name)

    def close(self) -> None:
        process = self.gateway.proc
        self.gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=30)

    def scala_object(self, name: str) -> Any:
        """The instance of a Scala object."""
        return self.jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)

    def call(self, target: Any, method: str, *arguments: Any) -> Any:
        """Calls the one method of that name and number of arguments, by reflection."""
        found = [
            m
            for m in target.getClass().getDeclaredMethods()
            if m.getName() == method and m.getParameterCount() == len(arguments)
        ]
        assert len(found) == 1, (method, len(found))
        found[0].setAccessible(True)
        array = self.gateway.new_array(self.jvm.java.lang.Object, len(arguments))
        for index, argument in enumerate(arguments):
            array[index] = argument
        return found[0].invoke(target, array)

    def field(self, target: Any, name: str) -> Any:
        """A private field's value."""
        field = target.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field.get(target)

    def conf(self, settings: dict[str, str]) -> Any:
        """A SparkConf with exactly these settings."""
        conf = self.jvm.org.apache.spark.SparkConf(False)
        for key, value in settings.items():
            conf.set(key, value)
        return conf

    def entry(self, name: str) -> Any:
        """The ConfigEntry of a property, or None."""
        return self.jvm.org.apache.spark.internal.config.ConfigEntry.findEntry(name)
