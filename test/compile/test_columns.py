# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linear functions of columns in traced programs."""

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, trace
from robot_dynamics.compile.columns import by_columns
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.schedule import calls_together
from robot_dynamics.scalar.linear_algebra import subtract, times

# Columns with entries in the same rows, in some of them, in others, in one, and in none.
FILLED = np.array(
    [
        [1, 1, 1, 0, 0, 1, 0],
        [1, 1, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 0, 0],
    ]
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def sparse(matrix, filled):
    """Return a matrix with the constant 0.0 where nothing is filled in."""
    return [
        [x if there else 0.0 for x, there in zip(row, places, strict=True)]
        for row, places in zip(matrix, filled.tolist(), strict=True)
    ]


def difference(x, A, B):
    """Return A x - B x."""
    return subtract(times(A, x), times(B, x))


@pytest.fixture
def program():
    """A function of two matrices with zeros, equal entries and opposite ones."""

    def run(a, x, _):
        A = [[*row] for row in a]
        A[1][0], A[2][1], A[0][4] = A[0][1], -A[0][1], 0.0
        A[3] = [0.0] * 5
        return {"y": by_columns(difference, [A, [row[::-1] for row in A]], sparse(x, FILLED), 7)}

    return trace(run, "f", {"a": (4, 5), "x": (5, 7)})


def expected(a, x):
    A = np.array(a)
    A[..., 1, 0], A[..., 2, 1], A[..., 0, 4] = A[..., 0, 1], -A[..., 0, 1], 0.0
    A[..., 3, :] = 0.0
    return (A - A[..., ::-1]) @ (x * FILLED)


def test_equals_numpy(program, rng):
    """With zeros by structure in both, which stay zeros, without a sign."""
    a, x = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 5, 7))
    (found,) = program.evaluate(a, x)
    np.testing.assert_allclose(found, expected(a, x), atol=1e-15)  # sums of six products
    assert not program.non_zero("y")[3].any()
    assert not program.non_zero("y")[:, 6].any()
    assert not np.signbit(found[:, 3]).any()


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("lanes", [1, 4])
def test_side_by_side(program, lanes, rng):
    """Columns of one state in lanes, and states in lanes: the same bits."""
    assert {len(group) for group in calls_together(program).values()} == {2, 3}
    a, x = rng.normal(size=(9, 4, 5)), rng.normal(size=(9, 5, 7))
    found = compile_program(program, lanes).bind()(a, x)
    np.testing.assert_array_equal(found, compile_program(program, 8).bind()(a, x))
    np.testing.assert_allclose(found, expected(a, x), atol=1e-15)


def test_calls_that_need_one_another_are_not_made_together(rng):
    """One call takes the result of the other."""
    step = trace(lambda x, p: {"y": [x[0] * p[0], x[0] + x[1]]}, "step", {"x": 2}, 1)

    def run(x, p):
        first = call(step, x, parameters=p)["y"]
        others = [call(step, at, parameters=p)["y"] for at in (first, x, [x[1], x[0]])]
        return {"y": others}

    program = trace(run, "f", {"x": 2}, 1)
    together = calls_together(program)
    assert all(len(group) == 2 for group in together.values())
    x = rng.normal(size=(5, 2))
    found = compile_program(program).bind([1.5])(x)
    np.testing.assert_array_equal(found, program.evaluate(x, parameters=[1.5])[0])
