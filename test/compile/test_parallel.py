# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches on several cores: the same numbers, at the same time, without copies."""

import threading
import tracemalloc

import numpy as np
import pytest
from support.linkages import slider_crank

import robot_dynamics as rd
from robot_dynamics.compile import ShapeError, compile_program, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.robot import Robot

needs_compiler = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


@pytest.fixture
def function():
    def run(x, y, _):
        return {"a": [x[0] * y, x[1] + y, x[2]], "b": [[x[0], y], [y, x[1] * x[2]]]}

    return compile_program(trace(run, "f", {"x": 3, "y": ()})).bind()


def traced(function):
    """Return the result of a function and its largest memory in bytes."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 1000])
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_numbers_are_those_of_one_call(function, count, threads):
    """Every output, for any number of states, and with an input that all states share."""
    x, y = np.random.default_rng(0).normal(size=(count, 3)), 0.7
    for ours, expected in zip(
        rd.in_parallel(function, x, y, threads=threads), function(x, y), strict=True
    ):
        np.testing.assert_array_equal(ours, expected)
    out = np.empty((count, 3)), np.empty((count, 2, 2))
    assert rd.in_parallel(function, x, y, out=out, threads=threads)[1] is out[1]
    np.testing.assert_array_equal(out[0], function(x, y)[0])


def test_parts_are_evaluated_at_the_same_time():
    """Each part waits for the others: in one thread that would never end."""
    meeting = threading.Barrier(4, timeout=60.0)

    class Meeting:
        signature = "(2)->()"
        __name__ = "meeting"

        def __call__(self, x, out):
            meeting.wait()
            out[...] = x.sum(axis=-1)

    x = np.arange(128.0).reshape(64, 2)
    np.testing.assert_array_equal(rd.in_parallel(Meeting(), x, threads=4), x.sum(axis=-1))


@needs_compiler
@pytest.mark.parametrize("threads", [0, 2])
def test_nothing_is_copied(function, threads):
    """A batch of 16 MB needs next to no memory besides: inputs are read where they are.

    Neither of a contiguous array nor of one with strides; with `out=` there is nothing new.
    """
    x, y = np.random.default_rng(0).normal(size=(500_000, 4)), 0.7
    out = np.empty((500_000, 3)), np.empty((500_000, 2, 2))
    for states in (np.ascontiguousarray(x[:, :3]), x[:, :3], x[:, 3:0:-1]):
        if threads:
            _, most = traced(
                lambda x=states: rd.in_parallel(function, x, y, out=out, threads=threads)
            )
        else:
            _, most = traced(lambda x=states: function(x, y, out=out))
        assert most < 1_000_000  # threads, views, modules; a copy of x would be 12 MB
    np.testing.assert_array_equal(out[0], function(x[:, 3:0:-1], y)[0])


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_single_precision_is_converted_by_blocks(function, threads):
    """Of 8 MB a thread needs a block as doubles at a time; results are those of doubles."""
    x = np.random.default_rng(0).normal(size=(500_000, 3)).astype(np.float32)
    out = np.empty(x.shape), np.empty((len(x), 2, 2))
    _, most = traced(lambda: rd.in_parallel(function, x, 0.7, out=out, threads=threads))
    assert most < 1_000_000  # blocks of 0.1 MB, threads, views; all of x would be 12 MB
    np.testing.assert_array_equal(out[0], function(x.astype(float), 0.7)[0])


@needs_compiler
@pytest.mark.parametrize("stride", [1, 2])
def test_closed_loops_and_derivatives_copy_no_inputs(stride):
    """Besides results they need a number a state, that of full rank: less than half an input."""
    robot, count = Robot.from_mechanism(slider_crank()), 100_000
    n, rng = robot.model.nv, np.random.default_rng(0)
    q, qd = (np.zeros((count, stride * n))[:, ::stride] for _ in range(2))
    q[:] = robot.assemble().q
    tau, w = (rng.normal(size=(count, stride * n))[:, ::stride] for _ in range(2))
    for function, more in (
        (robot.closed_loop, ()),
        (robot.inverse_dynamics_derivatives, ()),
        (robot.forward_dynamics_derivatives, ()),
        (robot.forward_dynamics_vjp, (w,)),
    ):
        function(q[:8], qd[:8], tau[:8], *(x[:8] for x in more))  # compiles
        found, most = traced(lambda f=function, m=more: f(q, qd, tau, *m))
        assert most - sum(x.nbytes for x in found) < 4 * n * count
    out = np.empty((count, n))
    _, most = traced(lambda: robot.forward_dynamics(q, qd, tau, out=out))
    assert most < 3 * out.nbytes  # accelerations twice, and what tells whether they are good


def test_invalid_arguments_are_refused(function):
    """A function of Python, arrays of different lengths, no batch at all, too few arrays."""
    x = np.zeros((4, 3))
    with pytest.raises(ShapeError, match="expected a compiled function"):
        rd.in_parallel(np.linalg.inv, x)
    for arrays in ((x, np.zeros(3)), (x[0], 1.0), (x,), (np.zeros((2, 2, 3)), 1.0)):
        with pytest.raises(ShapeError, match="f: expected 2 arrays with one leading dimension"):
            rd.in_parallel(function, *arrays)
