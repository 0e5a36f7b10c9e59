# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of algorithms of Featherstone's book: made of the tests that `book` marks.

    python test/support/book.py               # runs the marked tests and writes docs/book.md
    python test/support/book.py mutate S1 E1  # changes what rows check: each test has to fail

A test is marked with the rows that it verifies, `@pytest.mark.book("S1")`; the first line of its
docstring is what the table says about it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "book.md"
RESULT = re.compile(r"(\d+ passed|\d+ of \d+ passed|not run) \|$", re.M)


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        what: The algorithm, with sections, tables or equations of the book.
        where: Where it is: files in `robot_dynamics`, and the names to call.
        mutations: Changes of about 1 % (or of a sign, where there is no size) of what is verified:
            file, text, and what to put in its place. Each marked test fails under one of them.
    """

    what: str
    where: str
    mutations: tuple[tuple[str, str, str], ...] = ()


class Claim(NamedTuple):
    """A marked test: its file and name, and the first line of its docstring."""

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
                    line = (ast.get_docstring(node) or "").partition("\n")[0]
                    claim = Claim(path.relative_to(ROOT / "test").as_posix(), node.name, line)
                    for row in mark.args:
                        found[ast.literal_eval(row)].append(claim)
    return found


class Outcomes:
    """A plugin of pytest that runs marked tests alone and keeps which of them passed."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = set(rows)
        self.passed: dict[str, bool] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave tests of the rows alone."""
        items[:] = [
            item
            for item in items
            if any(self.rows & set(mark.args) for mark in item.iter_markers("book"))
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep whether all cases of a test passed; one that was skipped did not."""
        if report.when == "call" or not report.passed:
            path, name = report.nodeid.partition("[")[0].split("::")
            key = f"{path.removeprefix('test/')}::{name}"
            self.passed[key] = self.passed.get(key, True) and report.passed


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


def page(passed: dict[str, bool]) -> str:
    """Return the page, with the results of the tests where they have been run."""
    from support.book_rows import ROWS

    claims = marked_tests()
    lines = [HEAD, "| row | what | where | how it is verified | result |", "|---|---|---|---|---|"]
    for name, row in ROWS.items():
        own = claims.get(name, [])
        if not own:
            lines.append(f"| {name} | {row.what} | not yet | | not run |")
            continue
        how = "<br>".join(f"{c.text} (`{c.file}`)" for c in own)
        outcomes = [passed.get(f"{c.file}::{c.test}") for c in own]
        good = sum(outcome is True for outcome in outcomes)
        result = f"{good} passed" if good == len(own) else f"{good} of {len(own)} passed"
        if all(outcome is None for outcome in outcomes):
            result = "not run"
        text = how.replace("|", "\\|")
        lines.append(f"| {name} | {row.what} | {row.where} | {text} | {result} |")
    missing = [name for name in ROWS if not claims.get(name)]
    lines += ["", f"Not yet: {', '.join(missing) or 'none'}.", ""]
    return "\n".join(lines)


def mutate(rows: list[str]) -> bool:
    """Change what rows verify, one place at a time; return whether each test failed once."""
    from support.book_rows import ROWS

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
            wanted = {f"{c.file}::{c.test}" for c in claims.get(name, [])}
            failed: set[str] = set()
            for file, old, new in ROWS[name].mutations:
                path = copy / "robot_dynamics" / file
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
                failed |= {test for test, passed in run([name], copy).items() if not passed}
                path.write_text(text, encoding="utf-8")
            left = sorted(wanted - failed)
            good = good and not left
            print(
                f"{name}: {len(wanted) - len(left)} of {len(wanted)} fail; not: {left}", flush=True
            )
    return good


HEAD = """\
# Algorithms of the book

What of R. Featherstone, *Rigid Body Dynamics Algorithms* (Springer, 2008), is here for trees,
where it is, and which tests verify it. Rows S are spatial algebra, E inverse dynamics, F forward
dynamics, M and H prescribed motion, B floating bases, G gears, D dynamic equivalence, A accuracy
and cost, K contact and impact, N worked numbers of the book. Closed loops, chapter 8, have
[a page of their own](closed_loops.md).

`test/support/book.py` writes this page. It runs the tests with the marker `book`; each of them
fails when what it verifies is changed by 1 %, or in sign (`test/support/book.py mutate`, with the
changes of `test/support/book_rows.py`).
"""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "test"))
    if sys.argv[1:2] == ["mutate"]:
        from support.book_rows import ROWS

        sys.exit(not mutate(sys.argv[2:] or list(ROWS)))
    PAGE.write_text(page(run(list(marked_tests()))), encoding="utf-8")
