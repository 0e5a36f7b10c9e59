# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""docs/book.md agrees with the tests with the marker `book`, and their mutations exist."""

import ast
from types import SimpleNamespace

import pytest
from support.book import PAGE, ROOT, Outcomes, marked_tests, mutated_module, page
from support.book_rows import MODULES, ROWS
from support.mutation import Mutation, MutationError, mutated

pytestmark = pytest.mark.skipif(
    not PAGE.parent.is_dir(), reason="needs the checkout, not an installed package"
)


def test_the_page_agrees_with_the_marked_tests():
    """Rows and claims come from the tests; `python test/support/book.py` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_has_tests_code_and_mutations():
    """Every mark names a row, and every row has its tests, modules and mutations."""
    assert set(marked_tests()) == set(ROWS)
    assert all(row.where and row.mutations for row in ROWS.values())
    assert [
        file for file in MODULES.values() if not (ROOT / "robot_dynamics" / file).is_file()
    ] == []


@pytest.mark.parametrize("name", ROWS)
def test_every_mutation_changes_its_module(name):
    """Each expression that a row mutates is in its function, once."""
    for fields in ROWS[name].mutations:
        file, source = mutated_module(Mutation(*fields))
        before = ast.parse((ROOT / "robot_dynamics" / file).read_text(encoding="utf-8"))
        assert ast.dump(ast.parse(source)) != ast.dump(before)


SOURCE = """
def other(a, b):
    return a * b

def energy(mass, speed):  # J
    moved = mass * (
        speed * speed)
    if moved < 0.0:
        raise ValueError("a mass of" + str(mass))
    return 0.5 * moved
"""


@pytest.mark.parametrize(
    ("function", "old", "new", "expected"),
    [
        ("energy", "mass * (speed * speed)", "1.01 * mass * (speed * speed)", "1.01 * mass"),
        ("energy", "m * (v * v)", "m * (v * (1.01 * v))", "mass * (speed * (1.01 * speed))"),
        ("renamed", "0.5 * e", "0.505 * e", "return 0.505 * moved"),
        ("energy", "raise ValueError(...)", "return ...", "return 'a mass of' + str(mass)"),
        ("energy", "moved < 0.0", "False", "if False:"),
    ],
    ids=["word for word", "other names", "renamed function", "any expression", "condition"],
)
def test_a_mutation_survives_renames_and_line_breaks(function, old, new, expected):
    """Places are found by their structure."""
    changed = mutated(SOURCE, Mutation("module", function, old, new))
    assert expected in changed
    assert "return a * b" in changed


@pytest.mark.parametrize("old", ["x + y", "x * ..."], ids=["missing", "several"])
def test_a_place_that_is_missing_or_ambiguous_is_an_error(old):
    """The message names module, function and expression."""
    with pytest.raises(MutationError, match=r"module: energy .*'x"):
        mutated(SOURCE, Mutation("module", "energy", old, "0.0"))


def test_the_documentation_counts_the_recorded_outcomes():
    """A failed or skipped case counts for its test; tests without outcome are not run."""

    def report(nodeid, passed):
        keywords = {} if "other" in nodeid else {"book": 1}
        return SimpleNamespace(nodeid=nodeid, passed=passed, when="call", keywords=keywords)

    first, *others = marked_tests()["S1"]
    outcomes = Outcomes()
    outcomes.pytest_runtest_logreport(report("test/other.py::test_other", True))
    for case, passed in (("[1]", True), ("[2]", False)):
        outcomes.pytest_runtest_logreport(report(f"test/{first.file}::{first.test}{case}", passed))
    for claim in others:
        outcomes.pytest_runtest_logreport(report(f"test/{claim.file}::{claim.test}", True))
    assert len(outcomes.passed) == len(others) + 1
    lines = {line.split(" | ")[0]: line for line in page(outcomes.passed).splitlines()}
    assert lines["| S1"].endswith(f"| {len(others)} of {len(others) + 1} passed |")
    assert lines["| E5"].endswith("| not run |")
