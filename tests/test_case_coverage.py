"""Every case from the field has a test that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
CASES = {
    "G1": (1, 2, 3, 5, 6, 8, 9, 11, 12, 13, 15, 16, 17, 18, 20),
    "G3": (1, 3, 4, 6, 7, 9, 11, 13, 15, 17, 18, 20, 21, 22, 24),
}
"""What people ran into: with Spark's jobs and spark-submit (G1), with event logs, Optuna and durable-rules (G3)."""


def named_by_tests(path: Path) -> Iterator[str]:
    """The cases that a file's test functions name, in themselves or in the docstring of their class."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()

    def of(node: ast.AST, about: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from of(child, ast.get_docstring(child) or "")
            elif isinstance(child, ast.FunctionDef) and child.name.startswith("test_"):
                text = "\n".join(lines[child.lineno - 1 : child.end_lineno])
                yield from re.findall(r"G\d-\d\d", f"{about}\n{text}")

    yield from of(ast.parse(source), "")


def test_every_case_has_a_test() -> None:
    wanted = {f"{group}-{number:02}" for group, numbers in CASES.items() for number in numbers}
    named = {
        case for path in sorted(TESTS.rglob("test_*.py")) if path != Path(__file__) for case in named_by_tests(path)
    }
    assert wanted <= named, f"no test names {sorted(wanted - named)}"
