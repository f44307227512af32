from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.spark.argv import OPTIONS, SubmitArguments, effective, parse, rewrite

USUAL = ["--master", "yarn", "--executor-memory=6g", "-c", "spark.x=1", "--conf=spark.y=a=b", "-v", "app.py"]


def conf_of(arguments: SubmitArguments) -> dict[str, str]:
    return effective(parse(arguments.render()))


class TestParse:
    def test_every_spelling(self) -> None:
        arguments = parse([*USUAL, "in", "out"])
        assert arguments.application == "app.py"
        assert arguments.application_args == ("in", "out")
        assert arguments.value("--executor-memory") == "6g"
        assert arguments.has("--verbose")
        assert effective(arguments) == {
            "spark.master": "yarn",
            "spark.executor.memory": "6g",
            "spark.x": "1",
            "spark.y": "a=b",
        }

    def test_what_follows_the_application_is_its_own(self) -> None:
        """G1-15."""
        own = ("--conf", "spark.executor.memory=9g", "--executor-memory", "8g", "a b", "--", "x")
        arguments = parse(["--conf", "spark.executor.memory=2g", "app.py", *own])
        assert arguments.application_args == own
        assert effective(arguments) == {"spark.executor.memory": "2g"}
        changed = rewrite(arguments, {"spark.executor.cores": "2"}).arguments
        assert changed.render()[-8:] == ("app.py", *own)

    @pytest.mark.parametrize(
        ("tokens", "kind", "tunable"),
        [
            (["app.py"], "python", True),
            (["app.R"], "r", True),
            (["--class", "a.B", "app.jar"], "jar", True),
            (["hdfs:///x/app.py"], "python", True),
            (["--class", "org.apache.spark.repl.Main", "spark-shell"], "shell", False),
            (["pyspark-shell-main", "--name", "PySparkShell"], "shell", False),
            (["run-example", "--master", "yarn", "SparkPi", "10"], "shell", False),
            (["--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver", "-e"], "shell", False),
            (["--master", "yarn"], "none", False),
            (["--remote", "sc://h", "app.py"], "python", False),
            (["--kill", "driver-1", "--master", "yarn"], "none", False),
            ([], "none", False),
        ],
    )
    def test_kinds(self, tokens: list[str], kind: str, tunable: bool) -> None:
        if tokens[-1:] == ["-e"]:
            with pytest.raises(InputError):
                parse(tokens)
            tokens = [*tokens[:-1], "spark-internal", "-e"]
        arguments = parse(tokens)
        assert arguments.kind == kind
        assert arguments.tunable is tunable
        assert rewrite(arguments, {"spark.executor.cores": "3"}).applied == (
            {"spark.executor.cores": "3"} if tunable else {}
        )

    @pytest.mark.parametrize(
        ("tokens", "action"),
        [
            (["app.py"], "submit"),
            (["--kill", "d-1"], "kill"),
            (["--status", "d-1"], "status"),
            (["--version", "--nonsense"], "version"),
            (["-h"], "help"),
        ],
    )
    def test_actions(self, tokens: list[str], action: str) -> None:
        assert parse(tokens).action == action
        assert parse(tokens).render() == tuple(tokens)

    @pytest.mark.parametrize(
        ("tokens", "message"),
        [
            (["--nonsense", "app.py"], "no option '--nonsense'"),
            (["--nonsense=3", "app.py"], "no option '--nonsense'"),
            (["-", "app.py"], "no option '-'"),
            (["--name="], "no option '--name='"),
            (["--master"], "'--master' needs a value"),
            (["--conf", "spark.x", "app.py"], "--conf 'spark.x' is not key=value"),
        ],
    )
    def test_what_spark_refuses(self, tokens: list[str], message: str) -> None:
        with pytest.raises(InputError, match=message):
            parse(tokens)


class TestEffective:
    @pytest.mark.parametrize(
        ("tokens", "expected"),
        [
            (["--executor-memory", "6g", "--conf", "spark.executor.memory=5g"], {"spark.executor.memory": "6g"}),
            (["--conf", "spark.executor.memory=5g", "--executor-memory", "6g"], {"spark.executor.memory": "6g"}),
            (["--conf", "spark.executor.memory=3g", "-c", "spark.executor.memory=5g"], {"spark.executor.memory": "5g"}),
            (["--queue", "root.etl", "--conf", "spark.yarn.queue=other"], {"spark.yarn.queue": "root.etl"}),
            (["--num-executors", "2", "--num-executors", "4"], {"spark.executor.instances": "4"}),
            # The launcher makes --conf of this flag, so its place decides.
            (["--driver-memory", "2g", "--conf", "spark.driver.memory=3g"], {"spark.driver.memory": "3g"}),
            (["--conf", "spark.driver.memory=3g", "--driver-memory", "2g"], {"spark.driver.memory": "2g"}),
            (["--conf", "notspark=1"], {}),
        ],
    )
    def test_which_value_wins(self, tokens: list[str], expected: dict[str, str]) -> None:
        """G1-13."""
        assert effective(parse([*tokens, "app.py"])) == expected


class TestRewrite:
    def test_adds_what_the_user_did_not_set(self) -> None:
        result = rewrite(parse(USUAL), {"spark.executor.cores": "4", "spark.executor.memory": "2g"})
        assert result.applied == {"spark.executor.cores": "4"}
        assert result.kept == {"spark.executor.memory": "6g"}
        assert result.arguments.render() == (*USUAL[:-1], "--conf", "spark.executor.cores=4", "app.py")

    def test_pins_are_kept(self) -> None:
        for override in (False, True):
            result = rewrite(
                parse(["app.py"]), {"spark.executor.cores": "4"}, pinned={"spark.executor.cores"}, override=override
            )
            assert result.arguments.render() == ("app.py",)
            assert result.kept == {"spark.executor.cores": None}

    def test_an_old_name_is_a_setting_too(self) -> None:
        """G1-11."""
        old = parse(["--conf", "spark.yarn.executor.memoryOverhead=777", "app.py"])
        assert rewrite(old, {"spark.executor.memoryOverhead": "1g"}).kept == {"spark.executor.memoryOverhead": "777"}
        pinned = rewrite(
            parse(["app.py"]),
            {"spark.executor.memoryOverhead": "1g"},
            pinned={"spark.yarn.executor.memoryOverhead"},
        )
        assert not pinned.applied

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (["--executor-memory", "6g"], ["--executor-memory", "2g"]),
            (["--executor-memory=6g"], ["--executor-memory=2g"]),
            (["-c", "spark.executor.memory=6g"], ["-c", "spark.executor.memory=2g"]),
            (["--conf=spark.executor.memory=6g"], ["--conf=spark.executor.memory=2g"]),
            (
                ["--executor-memory", "6g", "--conf", "spark.executor.memory=5g"],
                ["--executor-memory", "2g", "--conf", "spark.executor.memory=5g"],
            ),
            ([], ["--conf", "spark.executor.memory=2g"]),
        ],
    )
    def test_override_is_in_place(self, before: list[str], after: list[str]) -> None:
        """G1-13: a --conf that is only added loses to the user's flag."""
        result = rewrite(parse([*before, "app.py"]), {"spark.executor.memory": "2g"}, override=True)
        assert result.arguments.render() == (*after, "app.py")
        assert conf_of(result.arguments) == {"spark.executor.memory": "2g"}


# Command lines that spark-submit accepts, made of its own options and of words that look like them.
words = st.one_of(
    st.text(min_size=1, max_size=8),
    st.sampled_from(
        ["--conf", "--executor-memory", "a=b", "--x=y", "-h", "--", "", "app.py", "spark.executor.memory=1g"]
    ),
)
names = st.sampled_from(["spark.executor.memory", "spark.driver.memory", "spark.x", "spark.executor.instances"])
safe_values = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\u0085\u2028\u2029"), min_size=1, max_size=8)
valued = st.sampled_from(
    [o for o in OPTIONS if o.takes_value and o.name not in ("--conf", "--kill", "--status", "--class", "--remote")]
)
options = st.one_of(
    st.tuples(valued, words).map(lambda p: [p[0].name, p[1]]),
    st.tuples(valued, safe_values).map(lambda p: [f"{p[0].name}={p[1]}"]),
    st.tuples(st.sampled_from(["--conf", "-c"]), names, words).map(lambda p: [p[0], f"{p[1]}={p[2]}"]),
    st.tuples(names, safe_values).map(lambda p: [f"--conf={p[0]}={p[1]}"]),
    st.sampled_from([["--verbose"], ["-v"], ["--supervise"], ["--verbose=1"]]),
)
heads = st.lists(options, max_size=6).map(lambda lists: [token for tokens in lists for token in tokens])
command_lines = st.tuples(heads, st.sampled_from(["app.py", "a b.jar", "x=y", ""]), st.lists(words, max_size=5))
changes = st.dictionaries(names, st.sampled_from(["1g", "7"]), max_size=3)


@given(command_lines)
def test_a_parsed_command_line_renders_as_it_was(line: tuple[list[str], str, list[str]]) -> None:
    head, application, own = line
    tokens = [*head, application, *own]
    arguments = parse(tokens)
    assert list(arguments.render()) == tokens
    assert arguments.application == application
    assert list(arguments.application_args) == own


@given(command_lines, changes, st.booleans())
def test_rewriting_changes_what_it_says_and_nothing_else(
    line: tuple[list[str], str, list[str]], wanted: dict[str, str], override: bool
) -> None:
    head, application, own = line
    before = parse([*head, application, *own])
    result = rewrite(before, wanted, override=override)
    after = parse(result.arguments.render())
    assert after == result.arguments
    assert (after.application, after.application_args) == (before.application, before.application_args)
    assert effective(after) == effective(before) | result.applied
    assert result.applied.keys() | result.kept.keys() == wanted.keys()
    assert not result.applied.keys() & result.kept.keys()
    if not override:
        assert not result.applied.keys() & effective(before).keys()
