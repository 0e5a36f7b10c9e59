# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a program: fused products and order."""

import numpy as np
import pytest

from robot_dynamics.compile import compile_program, schedule, trace
from robot_dynamics.compile.graph import NAMES
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.schedule import choose_fused_products, plan


def fused_names(function, size=4):
    program = trace(lambda x, p: {"y": function(*x)}, "f", {"x": size})
    fused = choose_fused_products(program)
    return sorted(NAMES[program.nodes[index].operation] for index in fused)


def test_products_in_sums_are_fused():
    """A product that only a sum or a difference uses is taken up by it."""
    assert fused_names(lambda a, b, c, d: a * b + c) == ["add"]
    assert fused_names(lambda a, b, c, d: c - a * b) == ["subtract"]
    assert fused_names(lambda a, b, c, d: a * b - c) == ["subtract"]


def test_sum_takes_up_one_product():
    """Of two products in a sum one is computed, the other fused; chains fuse all but the first."""
    assert fused_names(lambda a, b, c, d: a * b + c * d) == ["add"]
    assert fused_names(lambda a, b, c, d: a * b + c * d + a * c) == ["add", "add"]


def test_product_used_otherwise_is_not_fused():
    """A product that has to be computed in any case is not computed twice."""
    assert fused_names(lambda a, b, c, d: [a * b + c, a * b]) == []
    assert fused_names(lambda a, b, c, d: (a * b + c) / (a * b)) == []
    assert fused_names(lambda a, b, c, d: a * b + a * b) == []


def test_product_of_several_sums_is_fused_in_all_or_none():
    """A product in several sums vanishes if all take it up."""
    assert fused_names(lambda a, b, c, d: [a * b + c, a * b - d]) == ["add", "subtract"]


@pytest.fixture
def program():
    def f(x, p):
        y = [x[i] * x[(i + 1) % 6] + p[0] for i in range(6)]
        for _ in range(5):
            y = [y[i] * x[i] + y[(i + 2) % 6] / x[0] for i in range(6)]
        return {"y": y}

    return trace(f, "f", {"x": 6}, parameters=1)


@pytest.mark.parametrize("large", [0, 10**9], ids=["chosen", "recorded"])
def test_order_is_complete_and_possible(monkeypatch, program, large):
    """Each node comes once, after its operands, whichever order is chosen."""
    monkeypatch.setattr(schedule, "_LARGE", large)
    order, needs = plan(program).order, plan(program).needs
    assert len(set(order)) == len(order)
    place = {index: i for i, index in enumerate(order)}
    for index in order:
        for need in needs[index]:
            assert NAMES[program.nodes[need].operation] == "constant" or place[need] < place[index]
    assert set(program.slots) <= set(order)


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
def test_order_does_not_change_results(monkeypatch, program):
    """The order is a matter of speed: the operations are the same, and so are the bits."""
    x = np.random.default_rng(0).normal(size=(11, 6))
    recorded = compile_program(program).bind([0.5])(x)
    order = schedule._depth_first(program, plan(program).needs)
    monkeypatch.setattr(schedule, "order_of_evaluation", lambda *given: order)
    assert plan(program).order == order
    np.testing.assert_array_equal(compile_program(program).bind([0.5])(x), recorded)
