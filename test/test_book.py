# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of the book's algorithms is that of the tests that are marked."""

import pytest
from support.book import PAGE, RESULT, ROOT, marked_tests, page
from support.book_rows import ROWS

pytestmark = pytest.mark.skipif(
    not PAGE.parent.is_dir(), reason="needs the checkout, not an installed package"
)


def test_the_page_is_that_of_the_marked_tests():
    """Rows and claims are those of the tests; `python test/support/book.py` writes the page."""
    found, made = PAGE.read_text(encoding="utf-8"), page({})
    assert RESULT.sub("|", found) == RESULT.sub("|", made)


def test_every_marked_row_passed():
    """Every row with tests has been run, and all its tests passed."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    results = {line.split(" | ")[0].strip("| "): line for line in lines if line[:2] == "| "}
    assert all(results[row].endswith(" passed |") for row in marked_tests())
    assert " of " not in "".join(results[row].rpartition(" | ")[2] for row in marked_tests())


def test_marked_rows_exist():
    """Every mark names a row, and every row with tests says where it is and how they fail."""
    assert set(marked_tests()) <= set(ROWS)
    assert all(ROWS[row].where and ROWS[row].mutations for row in marked_tests())


def test_what_is_changed_is_there():
    """Each change that tests have to see is still a change of the source."""
    for name, row in ROWS.items():
        for file, old, new in row.mutations:
            text = (ROOT / "robot_dynamics" / file).read_text(encoding="utf-8")
            assert old in text, f"{name}: {file} has no {old!r}"
            assert old != new
