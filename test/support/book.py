# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Table of the algorithms of Featherstone's book, from the tests with the marker `book`.

    python test/support/book.py               # writes docs/book.md
    python test/support/book.py mutate S1 E1  # mutates the code of rows: each test must fail once

The marker names the rows that a test verifies, `@pytest.mark.book("S1")`; the table quotes the
first paragraph of its docstring. Runs of pytest record the outcomes of marked tests, and the
documentation adds their counts to the table when it is built.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest  # the documentation is built without it

    from support.mutation import Mutation

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "book.md"
_OUTCOMES = "robot_dynamics/book"  # key in pytest's cache


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        what: The algorithm, with sections, tables or equations of the book.
        where: Its files, as keys of `MODULES` in braces, and the names to call.
        mutations: Fields of `Mutation`: changes of the code by about 1 %, or of a sign. Each
            marked test fails under one of them.
    """

    what: str
    where: str
    mutations: tuple[tuple[str, str, str, str] | tuple[str, str, str, str, int], ...] = ()


class Claim(NamedTuple):
    """A marked test: its file and name, and the first paragraph of its docstring."""

    file: str
    test: str
    text: str


def marked_tests() -> dict[str, list[Claim]]:
    """Return the claims of all tests with the marker, by the row that they are marked with."""
    found: dict[str, list[Claim]] = defaultdict(list)
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.book(" not in text:
            continue
        for node in ast.parse(text).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.book":
                    said = (ast.get_docstring(node) or "").partition("\n\n")[0]
                    file = path.relative_to(ROOT / "test").as_posix()
                    claim = Claim(file, node.name, " ".join(said.split()))
                    for row in mark.args:
                        found[ast.literal_eval(row)].append(claim)
    return found


class Outcomes:
    """A plugin of pytest that keeps the outcomes of marked tests.

    Attributes:
        passed: Whether all cases of a test passed, by "file::name" below `test`.

    Args:
        rows: Rows whose tests are run alone; None runs all tests and keeps outcomes in the cache.
    """

    def __init__(self, rows: list[str] | None = None) -> None:
        self.rows = None if rows is None else set(rows)
        self.passed: dict[str, bool] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select the tests of the rows."""
        if self.rows is not None:
            items[:] = [
                item
                for item in items
                if any(self.rows & set(mark.args) for mark in item.iter_markers("book"))
            ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a test; a skipped case counts as failed."""
        if "book" in report.keywords and (report.when == "call" or not report.passed):
            path, _, name = report.nodeid.partition("[")[0].partition("::")
            key = f"{path.removeprefix('test/')}::{name}"
            self.passed[key] = self.passed.get(key, True) and report.passed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the outcomes to the cache, beside the outcomes of other tests."""
        cache = getattr(session.config, "cache", None)
        if self.rows is None and self.passed and cache is not None:
            cache.set(_OUTCOMES, {**cache.get(_OUTCOMES, {}), **self.passed})


def recorded() -> dict[str, bool]:
    """Return the outcomes that runs of pytest in this checkout have recorded, see `Outcomes`."""
    file = ROOT / ".pytest_cache" / "v" / _OUTCOMES
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def run(rows: list[str], root: Path = ROOT) -> dict[str, bool]:
    """Return which tests of some rows pass, in a process of its own, on a checkout."""
    files = sorted({f"test/{claim.file}" for row in rows for claim in marked_tests()[row]})
    if not files:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "outcomes"
        # The cache tells kernels apart by their models, not by the source of their algorithms.
        environment = {**os.environ, "PYTHONPATH": str(root), "ROBOT_DYNAMICS_CACHE_DIR": folder}
        code = (
            "import sys, json, pytest; sys.path.insert(0, 'test')\n"
            "from support.book import Outcomes\n"
            f"outcomes = Outcomes({rows!r})\n"
            f"pytest.main(['-q', '--tb=no', '--no-header', *{files!r}], plugins=[outcomes])\n"
            f"open({str(report)!r}, 'w').write(json.dumps(outcomes.passed))\n"
        )
        command = [sys.executable, "-c", code]
        subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
        return dict(json.loads(report.read_text()))


def page(passed: dict[str, bool] | None = None) -> str:
    """Return the page, with a column of results if outcomes of tests are given."""
    from support.book_rows import MODULES, ROWS

    claims = marked_tests()
    head, rule = "| row | algorithm | code | verified by |", "|---|---|---|---|"
    results = passed is not None
    lines = [HEAD, head + " result |" * results, rule + "---|" * results]
    for name, row in ROWS.items():
        own = claims[name]
        how = "<br>".join(f"{c.text} (`{c.file}`)" for c in own).replace("|", "\\|")
        line = f"| {name} | {row.what} | {row.where.format(**MODULES)} | {how} |"
        if passed is not None:
            outcomes = [passed.get(f"{c.file}::{c.test}") for c in own]
            run, good = len(own) - outcomes.count(None), outcomes.count(True)
            line += " not run |" if not run else f" {good} of {len(own)} passed |"
        lines.append(line)
    return "\n".join([*lines, ""])


def mutated_module(mutation: Mutation) -> tuple[str, str]:
    """Return the file of a mutation below `robot_dynamics`, and its mutated source."""
    from support.book_rows import MODULES
    from support.mutation import mutated

    file = MODULES[mutation.module]
    source = (ROOT / "robot_dynamics" / file).read_text(encoding="utf-8")
    return file, mutated(source, mutation)


def mutate(rows: list[str]) -> bool:
    """Mutate the code of rows, one place at a time; return whether each test failed once."""
    from support.book_rows import ROWS
    from support.mutation import Mutation

    claims, good = marked_tests(), True
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("robot_dynamics", "test"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("urdf", "config"):
            (copy / name).symlink_to(ROOT / name)
        for name in ("pyproject.toml", "package.xml"):
            shutil.copy(ROOT / name, copy / name)
        for name in rows:
            wanted = {f"{c.file}::{c.test}" for c in claims[name]}
            failed: set[str] = set()
            idle = []
            for fields in ROWS[name].mutations:
                file, source = mutated_module(Mutation(*fields))
                path = copy / "robot_dynamics" / file
                text = path.read_text(encoding="utf-8")
                path.write_text(source, encoding="utf-8")
                noticed = {test for test, passed in run([name], copy).items() if not passed}
                path.write_text(text, encoding="utf-8")
                failed |= noticed
                idle += [] if noticed else [fields]
            left = sorted(wanted - failed)
            good = good and not left and not idle
            print(f"{name}: {len(wanted) - len(left)} of {len(wanted)} tests fail", flush=True)
            for test in left:
                print(f"  never fails: {test}", flush=True)
            for fields in idle:
                print(f"  not noticed: {fields}", flush=True)
    return good


HEAD = """\
# Algorithms of the book

The algorithms for trees in R. Featherstone, *Rigid Body Dynamics Algorithms* (Springer, 2008),
with their code and the tests that verify them. Rows S are spatial algebra, E inverse dynamics,
F forward dynamics, M and H prescribed motion, B floating bases, G gears, D dynamic equivalence,
A accuracy and cost, K contact and impact, N worked numbers of the book. Closed loops, chapter 8,
have [a page of their own](closed_loops.md).

`test/support/book.py` writes this page from the tests with the marker `book`. Each of them fails
if the code that it verifies is changed by 1 %, or in sign (`test/support/book.py mutate`, with the
mutations of `test/support/book_rows.py`). When the documentation is built, a column with the
results of the last run of the tests is added.
"""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "test"))
    if sys.argv[1:2] == ["mutate"]:
        from support.book_rows import ROWS

        sys.exit(not mutate(sys.argv[2:] or list(ROWS)))
    PAGE.write_text(page(), encoding="utf-8")
