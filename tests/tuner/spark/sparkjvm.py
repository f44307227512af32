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


class RealSubmit:
    """spark-submit's own two parsers, the launcher's and then SparkSubmit's, run one after the other."""

    def __init__(self, jvm: SparkJvm) -> None:
        self._jvm = jvm
        name = "org.apache.spark.launcher.SparkSubmitCommandBuilder"
        self._launcher = jvm.jvm.java.lang.Class.forName(name)

    def launcher(self, tokens: list[str]) -> list[str]:
        """What the launcher hands on to SparkSubmit; Py4JJavaError where it refuses."""
        java_list = self._jvm.jvm.java.util.ArrayList()
        for token in tokens:
            java_list.add(token)
        constructor = next(c for c in self._launcher.getDeclaredConstructors() if c.getParameterCount() == 1)
        constructor.setAccessible(True)
        array = self._jvm.gateway.new_array(self._jvm.jvm.java.lang.Object, 1)
        array[0] = java_list
        return list(self._jvm.call(constructor.newInstance(array), "buildSparkSubmitArgs"))

    def parse(self, tokens: list[str], environ: dict[str, str] | None = None) -> Any:
        """SparkSubmitArguments, as spark-submit has it; Py4JJavaError where it is refused."""
        java_list = self._jvm.jvm.java.util.ArrayList()
        for token in self.launcher(tokens):
            java_list.add(token)
        java_map = self._jvm.jvm.java.util.HashMap()
        for key, value in {"HADOOP_CONF_DIR": "/nowhere", "SPARK_CONF_DIR": "/nowhere", **(environ or {})}.items():
            java_map.put(key, value)
        converters = self._jvm.jvm.scala.jdk.javaapi.CollectionConverters
        immutable_map = self._jvm.scala_object("scala.collection.immutable.Map")
        env = getattr(immutable_map, "from")(converters.asScala(java_map))
        return self._jvm.jvm.org.apache.spark.deploy.SparkSubmitArguments(converters.asScala(java_list).toSeq(), env)

    def properties(self, parsed: Any) -> dict[str, str]:
        """The Spark properties of parsed arguments."""
        java_map = self._jvm.jvm.scala.jdk.javaapi.CollectionConverters.asJava(parsed.sparkProperties())
        return {str(key): str(java_map.get(key)) for key in list(java_map.keySet())}

    def child_args(self, parsed: Any) -> list[str]:
        """The application's own arguments."""
        return list(self._jvm.jvm.scala.jdk.javaapi.CollectionConverters.asJava(parsed.childArgs()))
