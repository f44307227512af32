"""Makes the class-data archives: runs a small cluster and a small job once, and archives the classes that they load."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from tuner.errors import ClusterError, YarntuneError
from tuner.settings import Settings
from workloads.cluster import archives, daemons, lifecycle, shell
from workloads.cluster.archives import Tuning
from workloads.cluster.jars import ensure_jars, pyspark_home
from workloads.cluster.java import Java, find_java
from workloads.cluster.layout import write_text
from workloads.cluster.spec import ClusterSpec

JOB_TIMEOUT_S = 300.0
DUMP_TIMEOUT_S = 900.0
# A bit of each kind of work: sessions, a shuffle, Python workers.
_JOB = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("training").getOrCreate()
numbers = spark.range(0, 1000, 1, 2)
assert numbers.groupBy((numbers.id % 7).alias("key")).count().orderBy("key").count() == 7
assert spark.sparkContext.parallelize(range(8), 2).map(lambda n: (n % 2, n)).reduceByKey(max).count() == 2
spark.stop()
"""

Note = Callable[[str], None]


def ensure_archives(settings: Settings, *, note: Note = lambda _: None) -> Path | None:
    """Makes the archives unless they are there; they are an advantage only, so a failure is noted and not raised.

    A failure is remembered for this Java and these jars, so that it does not cost a minute each time.

    Returns:
        Their folder; None where there are none.
    """
    try:
        java = find_java()
        class_path = daemons.class_path(ensure_jars(settings), pyspark_home() / "jars")
        folder = archives.archive_folder(settings, java, class_path, pyspark_home())
        failed = folder.with_suffix(".failed")
        if (folder / archives.COMPLETE).is_file():
            return folder
        if failed.exists() or not archives.is_plain(folder, pyspark_home(), java.home):
            return None
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock"), timeout=JOB_TIMEOUT_S + 2 * DUMP_TIMEOUT_S):
            if not (folder / archives.COMPLETE).is_file():
                note("making class-data archives, so that clusters and jobs start faster (once, about a minute)")
                _make(settings, java, class_path, folder)
    except (YarntuneError, OSError, subprocess.SubprocessError, Timeout) as error:
        note(f"no class-data archives, so clusters start slower: {error} (rm {failed} to try again)")
        if not isinstance(error, Timeout):
            failed.write_text(str(error))
        return None
    return folder


def _make(settings: Settings, java: Java, class_path: Sequence[Path], folder: Path) -> None:
    _remove_superseded(folder, java)
    # In its final place from the start: an archive remembers the path of the jar that it was made with.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    class_path_jar = folder / archives.SPARK_CLASS_PATH
    with zipfile.ZipFile(class_path_jar, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", archives.manifest(pyspark_home(), folder))
    with tempfile.TemporaryDirectory(prefix=".training-", dir=folder.parent) as name:
        work = Path(name)
        _run_once(settings, java, work)
        _dump(java, [work / "resourcemanager.lst", work / "nodemanager-1.lst"], class_path, folder / archives.DAEMONS)
        lists = [work / "driver.lst", work / "am.lst", work / "executor.lst"]
        _dump(java, lists, [class_path_jar], folder / archives.SPARK)
    write_text(folder / archives.COMPLETE, json.dumps({"java": str(java.home), "spark": str(pyspark_home())}))


def _run_once(settings: Settings, java: Java, folder: Path) -> None:
    """One cluster and one job that write down which classes they load."""

    def listing(role: str) -> str:
        return f"-XX:DumpLoadedClassList={folder}/{role}.lst"

    tuning = Tuning(
        daemon_options=(listing("{role}"),),
        spark_properties={
            "spark.driver.defaultJavaOptions": listing("driver"),
            "spark.executor.defaultJavaOptions": listing("executor"),
            "spark.yarn.am.extraJavaOptions": listing("am"),
            "spark.executor.instances": "1",
            "spark.executor.memory": "512m",
        },
    )
    own = replace(settings, state_dir=folder / "state")
    spec = ClusterSpec(name="training", nodes=1)
    running = lifecycle.start(spec, own, tuning=tuning)
    try:
        program = folder / "job.py"
        program.write_text(_JOB)
        environment = {**daemons.client_environment(java), **shell.environment(running)}
        result = subprocess.run(
            [pyspark_home() / "bin" / "spark-submit", program],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=JOB_TIMEOUT_S,
        )
        if result.returncode != 0:
            raise ClusterError(f"the job that shows which classes Spark loads failed: {result.stderr[-300:]}")
    finally:
        lifecycle.stop(spec.name, own, purge=True)


def _dump(java: Java, lists: Sequence[Path], class_path: Sequence[Path], archive: Path) -> None:
    lines = dict.fromkeys(line for path in lists for line in path.read_text().splitlines())
    merged = lists[0].with_name(f"{archive.stem}.lst")
    merged.write_text("\n".join(lines) + "\n")
    options = ["-Xshare:dump", f"-XX:SharedClassListFile={merged}", f"-XX:SharedArchiveFile={archive}"]
    command = [str(java.executable), *options, "-cp", ":".join(map(str, class_path))]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DUMP_TIMEOUT_S)
    if result.returncode != 0 or not archive.is_file():
        raise ClusterError(f"java -Xshare:dump failed: {(result.stdout + result.stderr)[-300:]}")


def _remove_superseded(folder: Path, java: Java) -> None:
    """Removes the archives of the same Java and Spark before they changed, and of those that are gone."""
    for origin in folder.parent.glob(f"*/{archives.COMPLETE}"):
        made_from = json.loads(origin.read_text())
        same = made_from == {"java": str(java.home), "spark": str(pyspark_home())}
        if same or not all(Path(path).exists() for path in made_from.values()):
            shutil.rmtree(origin.parent, ignore_errors=True)
