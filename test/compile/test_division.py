# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Long programs as several functions."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, division, trace
from robot_dynamics.compile.division import divide
from robot_dynamics.compile.emission import emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.schedule import plan
from robot_dynamics.scalar.functions import cos, maximum, sin

PARAMETERS = np.array([0.7, -1.3])


def step(x, p):
    """Turn and stretch two numbers."""
    return [p[0] * x[0] * cos(x[1]) - x[1], maximum(x[0] + sin(x[1]), p[1] * x[1])]


@pytest.fixture(scope="module")
def program():
    """A program with calls alone and side by side, and values that are used long after."""
    called = trace(lambda x, p: {"y": step(x, p)}, "called", {"x": 2}, parameters=2)

    def f(x, z, p):
        y = [x[0], x[1]]
        pairs = [call(called, [z[i], x[1] + i], parameters=p)["y"] for i in range(3)]
        for i in range(12):
            y = step(y, p)
            y = [y[0] + z[i % 3] * pairs[i % 3][0], y[1] * x[0]]
            if i == 5:
                y = list(call(called, y, parameters=p)["y"])
        return {"y": [y[0] * pairs[2][1], y[1], x[0], p[0] * z[0]], "z": [sin(y[0]), cos(y[0])]}

    return trace(f, "long", {"x": 2, "z": 3}, parameters=2)


@pytest.mark.parametrize("longest", [3, 20, 50])
def test_parts_have_all_operations_in_order(program, longest, monkeypatch):
    """However long parts are, together they are the order of evaluation."""
    whole = prepare(program).remainder
    decided = plan(whole)
    monkeypatch.setattr(division, "LONGEST_PART", longest)
    parts, kept = divide(whole, decided)
    assert list(chain(*parts)) == decided.order
    assert len(parts) == -(-len(decided.order) // longest)
    assert len(kept) == len(set(kept)) > 0


def test_cuts_are_where_few_values_are_in_use(monkeypatch):
    """Two sums of many products, one after the other: a single value passes from one on."""

    def f(x, _):
        first = [x[0] * x[i] + i for i in range(1, 20)]
        second = [sum(first) * x[i] - i for i in range(1, 26)]
        return {"y": sum(second)}

    program = trace(f, "sums", {"x": 26})
    decided = plan(program)
    monkeypatch.setattr(division, "LONGEST_PART", len(decided.order) - 1)
    parts, kept = divide(program, decided)
    assert len(kept) == 1
    assert kept[0] in parts[0]


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("longest", [3, 20, 50])
def test_results_are_those_of_one_function(program, longest, monkeypatch):
    """A program with calls side by side computes the same bits however it is divided."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(9, 2)), rng.normal(size=(9, 3))
    expected = compile_program(program, 1).bind(PARAMETERS)(x, z)
    monkeypatch.setattr(division, "LONGEST_PART", longest)
    found = compile_program(program, 1).bind(PARAMETERS)(x, z)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_program_as_long_as_a_part_stays_whole(program, monkeypatch):
    """One operation more makes a second function, in code for one state alone."""
    parts = prepare(program)
    length = len(plan(parts.remainder).order)
    for longest, divided in ((length, False), (length - 1, True)):
        monkeypatch.setattr(division, "LONGEST_PART", longest)
        assert ("_part1(" in emit_module(parts, 1, fma=True)[0]) == divided
        assert "_part1(" not in emit_module(parts, 4, fma=True)[0]
