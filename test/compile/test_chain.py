# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A chain of a kernel gives the bits of as many single calls."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.compile import CompilerError, Kernel, ShapeError, compile_program, trace
from robot_dynamics.compile.host import find_host


def turned(x, rate, nothing, block):
    """A damped rotation, and a figure that is not carried on."""
    c = 1.0 - rate * block[0]
    return {
        "size": x[0] * x[0] + x[1] * x[1],
        "x": [c * x[0] - rate * x[1], rate * x[0] + c * x[1]],
        "nothing": nothing,
        "fixed": [3.0],
    }


@pytest.fixture(scope="module")
def program():
    """Return a program that carries a state, something empty, and takes a constant."""
    return trace(turned, "turned", {"x": 2, "rate": (), "nothing": 0}, parameters=1)


def kernels(program):
    """Return the kernel, compiled where that is possible and interpreted."""
    return [compile_program(program, lanes=1), Kernel.interpreted(program)]


def test_equals_single_calls(program):
    """Each link is the bits of a call on the link before, whatever the kernel is."""
    for kernel in kernels(program):
        step, chain = kernel.bind([0.1]), kernel.chain([0.1])
        size, x, nothing, fixed = chain(50, [1.0, 0.5], 0.3, [])
        assert (size.shape, x.shape, nothing.shape, fixed.shape) == (
            (50,), (50, 2), (50, 0), (50, 1)
        )  # fmt: skip
        at = np.array([1.0, 0.5])
        for link in range(50):
            expected, at, _, _ = step(at, 0.3, [])
            assert size[link] == expected
            assert (x[link] == at).all()
        assert (fixed == 3.0).all()


def test_no_link_is_no_result(program):
    """A chain of no links returns empty arrays."""
    for kernel in kernels(program):
        assert [len(out) for out in kernel.chain([0.1])(0, [1.0, 0.5], 0.3, [])] == [0] * 4


def test_the_starting_arrays_are_copied(program):
    """The arrays given are copied."""
    start = np.array([1.0, 0.5])
    for kernel in kernels(program):
        kernel.chain([0.1])(5, start, 0.3, [])
        assert start.tolist() == [1.0, 0.5]


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
def test_several_lanes_are_refused(program):
    """A state cannot be taken together with its successor."""
    with pytest.raises(CompilerError, match="4 lanes, expected 1"):
        compile_program(program, lanes=4).chain([0.1])


def test_something_has_to_be_carried_on(program):
    """Without an output of an input's name and shape there is no chain; batches are refused."""
    plain = trace(lambda x, _: {"y": x}, "plain", {"x": 2})
    other = trace(lambda x, _: {"x": x[0]}, "other", {"x": 2})
    for wrong in (plain, other):
        with pytest.raises(ShapeError, match=r"inputs are .* and outputs .*, expected an output"):
            Kernel.interpreted(wrong).chain()
    with pytest.raises(ShapeError, match=r"batch of \(2,\) states, expected one"):
        compile_program(program, lanes=1).chain([0.1])(3, np.ones((2, 2)), 0.3, [])
