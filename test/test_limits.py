# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits that are 2 % off, or turned round, fail a test: a sample of the run of limits.py."""

import ast
import os

import pytest
from support.limits import (
    COUNT,
    ROOT,
    SHARE,
    TESTS,
    Copies,
    exceptions,
    last_noticed,
    mutations,
    sample,
)


def test_every_file_has_mutations_of_its_own():
    """Names tell them apart, and each gives another source that can be read."""
    every = mutations()
    assert {one.file for one in every} == set(TESTS)
    assert len({one.name for one in every}) == len(every)
    for one in every[::20]:
        source = (ROOT / "robot_dynamics" / one.file).read_bytes()
        assert ast.dump(ast.parse(one.apply(source))) != ast.dump(ast.parse(source))


def test_exceptions_are_mutations_with_a_reason():
    """So that none outlives its limit."""
    known = exceptions()
    assert set(known) <= {one.name for one in mutations()}
    assert all(known.values())


@pytest.mark.slow
@pytest.mark.timeout(1800)  # beside other tests it takes several times the three minutes
def test_a_sample_of_wrong_limits_is_noticed():
    """The same sample in every run; without a mutation the same tests pass."""
    with Copies(len(os.sched_getaffinity(0))) as copies:
        results = copies.results(sample(), last_noticed())
        missed = [one.mutation.name for one in results if not one.test]
    assert len(missed) <= (1.0 - SHARE) * COUNT, "\n".join(missed)
