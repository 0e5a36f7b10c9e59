# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel and a routine as one function, against both called one after the other in NumPy."""

import numpy as np
import pytest

from robot_dynamics.compile.composition import composed
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.kernel import compile_program
from robot_dynamics.compile.routine import Tensor, Vector, routine
from robot_dynamics.compile.tracing import trace

OUTPUTS = (("total", ()), ("table", (3, 2)))
PARAMETERS = (2.0, -1.0)
WEIGHTS = np.array([1.0, 10.0, 100.0])


@routine
def outer_products(rows: Tensor, weights: Vector, shift: float, table: Tensor) -> None:
    """Write weights_i (row_0j + 2 row_1j) + shift."""
    for state in range(len(rows)):
        for i in range(len(weights)):
            for j in range(rows.shape[2]):
                x = rows[state, 0, j] + 2.0 * rows[state, 1, j]
                table[state, i, j] = weights[i] * x + shift


@routine
def wrong(rows: Vector, table: Tensor) -> None:
    """Take an array of one dimension in the place of rows."""
    table[0, 0, 0] = rows[0]


def traced(x, p):
    """Return two rows for the routine, and a number that is a result itself."""
    return {"rows": [[x[0] * p[0], x[1]], [x[2], x[0] + p[1]]], "total": x[0] + x[1] + x[2]}


def expected(x):
    """Return the results of both."""
    first = np.stack([2.0 * x[..., 0], x[..., 1]], axis=-1)
    second = np.stack([x[..., 2], x[..., 0] - 1.0], axis=-1)
    table = WEIGHTS[:, None] * (first + 2.0 * second)[..., None, :] + 0.5
    return x.sum(axis=-1), table


def function_of(lanes=None):
    kernel = compile_program(trace(traced, "traced", {"x": 3}, 2), lanes)
    return composed("both", kernel, PARAMETERS, outer_products, (WEIGHTS, 0.5), OUTPUTS)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(params=["compiled", "interpreted"])
def function(request):
    if request.param == "interpreted":
        request.getfixturevalue("interpreted")
    return function_of()


@pytest.mark.parametrize("batch", [(), (1,), (7,), (8,), (9,), (3, 7)])
def test_batches_of_any_size(function, batch, rng):
    """One state, blocks that are full or not, and several leading dimensions."""
    x = rng.normal(size=(*batch, 3))
    for found, correct in zip(function(x), expected(x), strict=True):
        assert np.shape(found) == correct.shape
        np.testing.assert_allclose(found, correct, rtol=1e-14)


def test_arrays_of_any_strides(function, rng):
    """Inputs and outputs that are no contiguous blocks, also those the kernel writes itself."""
    x = np.asfortranarray(rng.normal(size=(3, 10)).T[::-1])
    total, table = np.full((20,), np.nan)[::2], np.full((10, 3, 2), np.nan, order="F")
    function(x, out=(total, table))
    for found, correct in zip((total, table), expected(x), strict=True):
        np.testing.assert_allclose(found, correct, rtol=1e-14)
    rows = np.full((10, 4, 2), np.nan)  # each state contiguous, but not all together
    function(x, out=(total, rows[:, :3]))
    np.testing.assert_allclose(rows[:, :3], expected(x)[1], rtol=1e-14)
    assert np.isnan(rows[:, 3]).all()


def test_no_states(function):
    """An empty batch has empty results."""
    total, table = function(np.empty((0, 3)))
    assert total.shape == (0,)
    assert table.shape == (0, 3, 2)


def test_results_do_not_depend_on_the_place_in_a_batch(rng):
    """The last bits are those of a single call."""
    function, x = function_of(), rng.normal(size=(11, 3))
    _, table = function(x)
    for state, row in zip(x, table, strict=True):
        np.testing.assert_array_equal(function(state)[1], row)


def test_parameters_of_other_kinds_are_refused():
    """The routine must take arrays of the ranks that the kernel makes."""
    kernel = compile_program(trace(traced, "traced", {"x": 3}, 2))
    with pytest.raises(CompilerError, match="wrong: a parameter is a Vector"):
        composed("both", kernel, PARAMETERS, wrong, (), OUTPUTS)
