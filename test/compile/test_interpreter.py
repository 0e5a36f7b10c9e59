# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running programs node by node."""

import warnings

import numpy as np

from robot_dynamics.compile import call, trace
from robot_dynamics.compile.interpreter import run
from robot_dynamics.scalar.functions import absolute, minimum, sqrt


def test_runs_on_floats_and_batches():
    """Elements may be floats or arrays of one shape; slots come back."""
    program = trace(lambda x, p: {"y": absolute(x[0] - x[1]) * p[0]}, "f", {"x": 2}, 1)
    assert run(program, [1.0, 3.0, 2.0]) == [4.0]
    assert type(run(program, [1, np.float64(3.0), 2])[0]) is float
    np.testing.assert_array_equal(run(program, [np.array([1.0, 5.0]), 3.0, 2.0])[0], [4.0, 4.0])


def test_never_raises_or_warns_on_values():
    """What has no value is nan or infinite, silently."""
    program = trace(
        lambda x, p: {"y": [sqrt(x[0]), x[1] / x[2], minimum(x[3], 1.0), x[4] * x[4]]},
        "f",
        {"x": 5},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root, quotient, least, square = program.evaluate([-1.0, 1.0, 0.0, np.nan, 1e300])[0]
    assert np.isnan(root)
    assert np.isinf(quotient)
    assert np.isnan(least)
    assert np.isinf(square)


def test_calls_run_the_called_program():
    """A call hands inputs and parameters on, and takes results back."""
    inner = trace(lambda a, b, p: {"y": a[0] * b + p[0]}, "g", {"a": 2, "b": ()}, 1)
    outer = trace(
        lambda x, p: {"y": call(inner, [x[0], x[1]], x[0], parameters=[x[1]])["y"]}, "f", {"x": 2}
    )
    assert outer.evaluate([3.0, 5.0])[0] == 14.0
