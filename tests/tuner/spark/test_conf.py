from __future__ import annotations

from pathlib import Path

import pytest

from tests.tuner.spark.sparkjvm import RealSubmit
from tuner.errors import InputError
from tuner.spark.argv import parse
from tuner.spark.conf import (
    Source,
    defaults_file,
    read_properties,
    resolve,
    submit_defaults,
    write_properties_file,
)
from tuner.spark.params import read_value

DEFAULTS = "spark.a A\nspark.b B\nspark.d D\nspark.e E\nspark.f foo\nother.key x\n"
USER = "spark.a=bar\nspark.c=bar\nspark.d=foo\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    (tmp_path / "user.conf").write_text(USER)
    (tmp_path / "x1.conf").write_text("spark.c x1\nspark.g x1\n")
    (tmp_path / "x2.conf").write_text("spark.c x2\n")
    return {"SPARK_CONF_DIR": str(tmp_path / "conf")}


class TestPrecedence:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], {"spark.a": "A", "spark.b": "B", "spark.d": "D", "spark.e": "E", "spark.f": "foo"}),
            (["--properties-file", "user.conf"], {"spark.a": "bar", "spark.c": "bar", "spark.d": "foo"}),
            (
                ["--properties-file", "user.conf", "--load-spark-defaults"],
                {
                    "spark.a": "bar",
                    "spark.b": "B",
                    "spark.c": "bar",
                    "spark.d": "foo",
                    "spark.e": "E",
                    "spark.f": "foo",
                },
            ),
            (
                ["--properties-file", "user.conf", "--conf", "spark.a=cli", "--conf", "not.spark=1"],
                {"spark.a": "cli", "spark.c": "bar", "spark.d": "foo"},
            ),
            (
                [
                    "--properties-file=user.conf",
                    "--extra-properties-file",
                    "x1.conf",
                    "--extra-properties-file=x2.conf",
                ],
                {"spark.a": "bar", "spark.c": "x2", "spark.d": "foo", "spark.g": "x1"},
            ),
            (
                ["--extra-properties-file", "x1.conf", "--conf=spark.g=cli"],
                {
                    "spark.a": "A",
                    "spark.b": "B",
                    "spark.c": "x1",
                    "spark.d": "D",
                    "spark.e": "E",
                    "spark.f": "foo",
                    "spark.g": "cli",
                },
            ),
        ],
    )
    def test_files_and_conf(
        self,
        real_submit: RealSubmit,
        tmp_path: Path,
        environ: dict[str, str],
        options: list[str],
        expected: dict[str, str],
    ) -> None:
        """G1-12: beside --properties-file nothing of spark-defaults.conf is left."""
        at = [token.replace("user.conf", str(tmp_path / "user.conf")) for token in options]
        at = [token.replace("x1.conf", str(tmp_path / "x1.conf")) for token in at]
        at = [token.replace("x2.conf", str(tmp_path / "x2.conf")) for token in at]
        real = real_submit.parse([*at, "--master", "yarn", "app.py"], environ)
        ours = resolve(parse([*at, "app.py"]), environ)
        assert ours.raw() == expected == real_submit.properties(real)

    def test_the_environment_comes_last(self, real_submit: RealSubmit, environ: dict[str, str]) -> None:
        environ |= {
            "MASTER": "yarn",
            "SPARK_EXECUTOR_MEMORY": "3g",
            "SPARK_EXECUTOR_CORES": "3",
            "SPARK_DRIVER_MEMORY": "1500m",
        }
        tokens = ["--executor-cores", "5", "app.py"]
        real = real_submit.parse(tokens, environ)
        ours = resolve(parse(tokens), environ)
        raw = ours.raw()
        assert raw["spark.master"] == real.master() == "yarn"
        assert raw["spark.executor.memory"] == real.executorMemory() == "3g"
        assert raw["spark.driver.memory"] == real.driverMemory() == "1500m"
        assert raw["spark.executor.cores"] == real.executorCores() == "5"
        memory = ours.settings["spark.executor.memory"]
        assert (memory.source, memory.where) == (Source.ENVIRONMENT, "SPARK_EXECUTOR_MEMORY")

    def test_a_dropped_default_is_sparks_own_again(self, real_submit: RealSubmit, tmp_path: Path) -> None:
        """G1-12: 2g became 1g."""
        (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 2g\n")
        (tmp_path / "user.conf").write_text("spark.c=bar\n")
        environ = {"SPARK_CONF_DIR": str(tmp_path)}
        tokens = ["--properties-file", str(tmp_path / "user.conf")]
        ours = resolve(parse([*tokens, "app.py"]), environ).canonical()
        assert real_submit.parse([*tokens, "--master", "yarn", "app.py"], environ).executorMemory() is None
        assert read_value(ours, "spark.executor.memory") == 1024
        assert read_value(resolve(parse(["app.py"]), environ).canonical(), "spark.executor.memory") == 2048

    def test_a_dropped_defaults_file_is_said(self, tmp_path: Path, environ: dict[str, str]) -> None:
        own = str(tmp_path / "user.conf")
        dropped = resolve(parse(["--properties-file", own, "app.py"]), environ).defaults_dropped
        assert dropped == tmp_path / "conf" / "spark-defaults.conf"
        kept = resolve(parse(["--properties-file", own, "--load-spark-defaults", "app.py"]), environ)
        assert kept.defaults_dropped is None

    def test_keys_that_spark_drops_are_named(self, environ: dict[str, str]) -> None:
        assert resolve(parse(["--conf", "not.spark=1", "app.py"]), environ).ignored == ("not.spark", "other.key")


class TestExplicit:
    def test_all_but_the_sites_defaults(self, tmp_path: Path, environ: dict[str, str]) -> None:
        environ["SPARK_EXECUTOR_MEMORY"] = "2g"
        own = str(tmp_path / "user.conf")
        tokens = ["--properties-file", own, "--load-spark-defaults", "--num-executors", "3", "app.py"]
        assert resolve(parse(tokens), environ).explicit() == {
            "spark.a",
            "spark.c",
            "spark.d",
            "spark.executor.instances",
            "spark.executor.memory",
        }

    def test_old_names(self) -> None:
        """G1-11."""
        conf = resolve(parse(["--conf", "spark.yarn.executor.memoryOverhead=777", "app.py"]), {})
        assert conf.raw() == {"spark.yarn.executor.memoryOverhead": "777"}
        assert conf.canonical() == {"spark.executor.memoryOverhead": "777"}
        assert conf.explicit() == {"spark.executor.memoryOverhead"}
        assert conf.deprecated() == {"spark.yarn.executor.memoryOverhead": "spark.executor.memoryOverhead"}


class TestFiles:
    def test_where_the_defaults_are(self, tmp_path: Path) -> None:
        home = tmp_path / "spark"
        (home / "conf").mkdir(parents=True)
        path = home / "conf" / "spark-defaults.conf"
        assert defaults_file({"SPARK_HOME": str(home)}) is None
        path.write_text("spark.a 1")
        assert defaults_file({"SPARK_HOME": str(home)}) == path
        assert defaults_file({}, home) == path
        assert defaults_file({}) is None
        assert defaults_file({"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(tmp_path)}) is None

    def test_submit_defaults(self, tmp_path: Path, environ: dict[str, str]) -> None:
        assert submit_defaults(environ)["spark.f"] == "foo"
        assert submit_defaults(environ, tmp_path / "user.conf") == {
            "spark.a": "bar",
            "spark.c": "bar",
            "spark.d": "foo",
        }

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"nowhere\.conf does not exist"):
            resolve(parse(["--properties-file", str(tmp_path / "nowhere.conf"), "app.py"]), {})
        with pytest.raises(InputError, match="cannot be read"):
            read_properties(tmp_path)

    def test_writing_and_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "tuned.conf"
        path.write_text("before")
        path.chmod(0o640)
        write_properties_file(path, {"spark.executor.memory": "2048"}, "by hand")
        assert path.read_text() == "# by hand\nspark.executor.memory=2048m\n"
        assert path.stat().st_mode & 0o777 == 0o640
        assert read_properties(path) == {"spark.executor.memory": "2048m"}
        assert [p.name for p in tmp_path.iterdir()] == ["tuned.conf"]

    def test_a_file_with_a_secret_is_the_users_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "tuned.conf"
        write_properties_file(path, {"spark.hadoop.fs.s3a.secret.key": "x"})
        assert path.stat().st_mode & 0o777 == 0o600

    def test_nothing_is_left_where_it_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        with pytest.raises(InputError, match="cannot be written"):
            write_properties_file(tmp_path / "folder", {"spark.a": "1"})
        with pytest.raises(InputError, match="cannot be written"):
            write_properties_file(tmp_path / "none" / "x.conf", {"spark.a": "1"})
        assert [p.name for p in tmp_path.iterdir()] == ["folder"]
