# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loop over states, called as NumPy calls it."""

import ctypes

import numpy as np
import pytest

from robot_dynamics.compile import trace
from robot_dynamics.compile.emission import emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.machine import MachineCode, compile_object
from robot_dynamics.compile.preparation import prepare

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


@pytest.fixture(scope="module", params=[1, 4, 8])
def loop(request):
    """A function of (2, 3) matrices and scalars, with its transpose and a constant as outputs."""
    program = trace(
        lambda m, s, p: {
            "t": [[m[i][j] * s for i in range(2)] for j in range(3)],
            "c": [p[0], 5.0],
        },
        "f",
        {"m": (2, 3), "s": ()},
        parameters=1,
    )
    host = find_host()
    text, _ = emit_module(prepare(program), request.param, host.fma)
    code = MachineCode(compile_object(text, host), host)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address)

    def run(count, arrays, block):
        arguments = (ctypes.c_void_p * 4)(*[a.ctypes.data for a in arrays])
        dimensions = (ctypes.c_ssize_t * 6)(count, 2, 3, 3, 2, 2)
        outer = [a.strides[0] for a in arrays]
        core = [stride for a in arrays for stride in a.strides[1:]]
        steps = (ctypes.c_ssize_t * (len(outer) + len(core)))(*outer, *core)
        function(arguments, dimensions, steps, block.ctypes.data)

    run.code = code
    return run


def fresh(count):
    random = np.random.default_rng(0)
    return [
        random.normal(size=(count, 2, 3)),
        random.normal(size=count),
        np.full((count, 3, 2), np.nan),
        np.full((count, 2), np.nan),
    ]


def check(arrays, block):
    m, s, t, c = arrays
    np.testing.assert_array_equal(t, np.swapaxes(m, 1, 2) * s[:, None, None])
    np.testing.assert_array_equal(c, np.broadcast_to([block[0], 5.0], c.shape))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 31])
def test_contiguous_states(loop, count):
    """All states are evaluated, one or many."""
    arrays, block = fresh(count), np.array([3.0])
    loop(count, arrays, block)
    check(arrays, block)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("count", [1, 3, 17])
def test_any_strides(loop, which, count):
    """Each array in turn has odd strides, along states and within them, also negative ones."""
    block = np.array([3.0])
    for change in (
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: a[::-1].copy()[::-1],
        lambda a: np.repeat(a, 3, axis=-1)[..., ::3],
        lambda a: a[..., ::-1].copy()[..., ::-1],
        lambda a: np.asfortranarray(a),
    ):
        arrays = fresh(count)
        arrays[which] = change(arrays[which])
        loop(count, arrays, block)
        check(arrays, block)


def test_one_state_for_all(loop):
    """A distance of zero between states repeats one state, as broadcasting does."""
    arrays, block = fresh(11), np.array([3.0])
    arrays[0] = np.broadcast_to(arrays[0][:1], (11, 2, 3))
    loop(11, arrays, block)
    check(arrays, block)


def test_nothing_to_do(loop):
    """No states, no access to memory."""
    arrays = fresh(1)
    loop(0, arrays, np.array([3.0]))
    assert np.isnan(arrays[2]).all()


def test_nothing_else_is_written(loop):
    """Memory around the outputs stays untouched."""
    for count in (1, 3, 8, 13):
        arrays, block = fresh(count), np.array([3.0])
        surrounding = [np.full((count + 2, *a.shape[1:]), 7.0) for a in arrays[2:]]
        arrays[2:] = [a[1:-1] for a in surrounding]
        loop(count, arrays, block)
        check(arrays, block)
        for a in surrounding:
            assert (a[0] == 7.0).all()
            assert (a[-1] == 7.0).all()
