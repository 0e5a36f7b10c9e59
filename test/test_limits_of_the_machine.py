# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`benchmark --limits`: operations are counted right, and times are beside the peak's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.counted import Counted, operation_counts

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.graph import DIVIDE, SIN, SQRT
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.routine import Vector, routine
from robot_dynamics.description.load import load_description
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import INVERSE_DYNAMICS
from robot_dynamics.model import build
from robot_dynamics.model.parameters import pack, unpack
from robot_dynamics.resources import share_directory
from robot_dynamics.scalar.functions import sin, sqrt

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
limits = pytest.importorskip("benchmarks.limits")
counting = limits.counting


@pytest.fixture(scope="module")
def arm():
    """Return an arm of seven joints."""
    return build(load_description(share_directory() / "urdf" / "arm.urdf").mechanism)


@pytest.mark.parametrize("algorithm", [INVERSE_DYNAMICS, INERTIA_MATRIX, TREE_FORWARD_DYNAMICS])
def test_operations_are_those_of_the_algorithm_on_numbers(arm, algorithm):
    """The program has as many as the same function leaves on numbers that know their origin."""
    rng = np.random.default_rng(0)
    inputs = [[Counted(x) for x in rng.normal(size=arm.nv)] for _ in algorithm.inputs]
    block = [Counted(x, late=False) for x in rng.normal(size=len(pack(arm)))]
    found = algorithm.function(arm, *inputs, unpack(arm, block))
    numbers = np.array(found, dtype=object).ravel()
    counts = operation_counts(numbers.tolist())
    program = limits.prepare(algorithm.program(arm)).remainder.operation_counts()
    sums = program["add"] + program.get("subtract", 0)
    assert counts["multiply"] == program["multiply"]
    assert counts["add"] == sums
    for name in ("divide", "sqrt", "sin", "cos"):
        assert counts[name] == program.get(name, 0)


def program_of(function, n=3):
    """Return the program of a function of a vector."""
    return trace(lambda x, _: {"y": function(x)}, "test", {"x": n})


def test_a_fused_product_is_one_operation():
    """a b + c is one where the processor fuses them, and two where not; sines are polynomials."""
    program = program_of(lambda x: [x[0] * x[1] + x[2], x[0] / x[2], sqrt(x[1])])
    fused = limits.operations_of(program, fma=True)
    assert fused == (1, 1, 1, 1, 0, 8 * 6)
    assert limits.operations_of(program, fma=False) == (2, 0, 1, 1, 0, 8 * 6)
    # Both are the two polynomials of degree 6 after a reduction; one lacks the last product.
    of_sine = limits.operations_of(program_of(lambda x: [sin(x[0])]), fma=True)
    assert of_sine.sines == 1
    assert 15 <= of_sine.arithmetic <= 30


def test_operations_are_replaced_by_products():
    """Programs without divisions, roots or sines have as many operations in all."""
    program = program_of(lambda x: [sin(x[0]) / x[1], sqrt(x[2])])
    other = limits.without(program, DIVIDE, SQRT, SIN)
    assert other.operation_counts() == {"multiply": 3}
    assert limits.moving_alone(program).operation_counts() == {}


def test_spilled_values_are_counted():
    """Three values have registers; a hundred that are used twice, far apart, have not."""
    host, lanes = find_host(), find_host().lanes
    few = program_of(lambda x: [x[0] * x[1] + x[2]])
    assert limits.facts_of_code(few, lanes, host).spills == 0

    def turned(x):
        y = [x[i] * x[i - 1] for i in range(len(x))]
        return [sum(y[1:], y[0]) * a for a in y]

    assert limits.facts_of_code(program_of(turned, 100), lanes, host).spills > 50


def test_a_function_is_timed_beside_the_peak(arm, monkeypatch):
    """It takes longer than at the peak; code longer than a cache has a share of its own."""
    host, rng = find_host(), np.random.default_rng(0)
    q = rng.normal(size=(256, arm.nq))
    subject = limits.Subject("CRBA", INERTIA_MATRIX.program(arm), pack(arm), (q,))
    found = [limits.limit_of(subject, lanes, host, 3) for lanes in (1, host.lanes)]
    monkeypatch.setattr(limits, "first_cache", lambda: found[0].code.bytes - 1)
    assert limits.limit_of(subject, 1, host, 3).shares["reading code"] > 0.0
    assert all(0.0 < one.ratio < 1.5 for one in found)
    assert found[1].peak_ns < found[0].peak_ns
    assert found[0].shares == {}  # its code is in the first cache
    assert found[1].code.bytes > found[1].code.spills > 0
    assert set(found[1].shares) == {
        "moving states", "divisions and roots", "sines", "loads and stores"
    }  # fmt: skip
    text = limits.table(found)
    assert len(text.splitlines()) == 3
    json.dumps([one.as_json() for one in found], allow_nan=False)


def test_code_counts_what_it_executes(arm):
    """As many operations as the graph has, for each state; loops count each turn."""
    algorithm = TREE_FORWARD_DYNAMICS
    program, rng = algorithm.program(arm), np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, arm.nv))
    expected = limits.operations_of(program, find_host().fma)
    with counting() as so_far:
        function = compile_program(program, 1).bind(pack(arm))
        before = so_far()
        for _ in range(3):
            function(q, qd, tau)
        executed = np.array(so_far()) - np.array(before)
    assert executed.tolist() == [
        3 * expected.arithmetic, 0, 3 * expected.divisions, 3 * expected.roots
    ]  # fmt: skip
    with counting() as so_far:
        total_of_products.bind(q, qd)()
    # The routine was bound here alone: a sum and a product each, as one operation.
    assert so_far() == (0, arm.nv, 0, 0)


@routine
def total_of_products(x: Vector, y: Vector) -> float:
    """Return a scalar product."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total
