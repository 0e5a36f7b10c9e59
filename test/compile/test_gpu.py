# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs: their text runs on the processor, and PTX on a GPU if there is one."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from support.gpu_on_cpu import check_ptx, run_on_processor

from robot_dynamics.compile import call, compile_program, gpu, trace
from robot_dynamics.compile.errors import CompilerError, ShapeError
from robot_dynamics.compile.host import find_host
from robot_dynamics.scalar.functions import atan2, cos, exp, maximum, minimum, sin, sqrt

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


def mixed(a, b, p):
    """Return outputs of several shapes: computed, constant, handed through, and used twice."""
    (x, y), z = a, b
    s = sin(x) * z
    return {
        "M": [[s, 0.0, 2.5], [y / (2.0 + z * z), s, sqrt(x * x + 1.0)]],
        "angle": atan2(y, x),
        "v": [minimum(x, y), maximum(z, cos(x * y)), z],
    }


PROGRAM = trace(mixed, "mixed", {"a": 2, "b": ()})


@pytest.fixture
def on_processor(monkeypatch):
    """Run functions for a GPU on the processor."""
    run_on_processor(monkeypatch)


@pytest.mark.parametrize("batch", [(), (1,), (300,), (2, 3)])
def test_states_are_columns(on_processor, batch):
    """Results are the processor's own for any batch and any order in memory."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(*batch, 2)), rng.normal(size=batch)
    expected = compile_program(PROGRAM).bind()(a, b)
    function = gpu.GpuFunction(PROGRAM)
    for order in "CF":
        found = function(np.array(a, order=order), b)
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-14)
    assert function(a, b)[2].T.flags.c_contiguous or len(batch) == 2


def test_broadcast_and_empty(on_processor):
    """An input of one state serves all, and no states give no results."""
    function = gpu.GpuFunction(PROGRAM)
    a = np.random.default_rng(1).normal(size=(5, 2))
    np.testing.assert_array_equal(function(a, 0.3)[0], function(a, np.full(5, 0.3))[0])
    assert function(np.empty((0, 2)), 0.3)[0].shape == (0, 2, 3)
    with pytest.raises(ShapeError, match=r"a of shape .*got \(5, 3\)"):
        function(np.zeros((5, 3)), 0.3)


def test_called_programs(on_processor):
    """A program that calls another is evaluated with it."""
    outer = trace(
        lambda a, b, p: {"y": call(PROGRAM, a, b)["angle"] + 1.0}, "o", {"a": 2, "b": ()}
    )
    a, b = np.random.default_rng(2).normal(size=(7, 2)), np.ones(7)
    expected = compile_program(outer).bind()(a, b)
    np.testing.assert_allclose(gpu.GpuFunction(outer)(a, b), expected, rtol=1e-14)


def test_arc_tangent(on_processor):
    """The angle is that of the C library in all quadrants, at their edges and where it is nan."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 2000)) * 10.0 ** rng.integers(-8, 8, (2, 2000))
    special = [0.0, -0.0, 1.0, -1.0, 1e-300, -1e300, 0.66, 1.0 + 2e-16, np.inf, np.nan]
    pairs = [(a, b) for a in special for b in special if not math.isinf(a) or not math.isinf(b)]
    y, x = np.hstack([[y, x], np.transpose(pairs)])
    program = trace(lambda y, x, p: {"angle": atan2(y, x)}, "angle", {"y": (), "x": ()})
    found = gpu.GpuFunction(program)(y, x)
    expected = np.array([math.atan2(*pair) for pair in zip(y, x, strict=True)])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))
    np.testing.assert_array_max_ulp(found[known], expected[known], 2)


def test_ptx(tmp_path):
    """The code is complete, and NVIDIA's assembler accepts it."""
    check_ptx(gpu.ptx_of(PROGRAM), tmp_path)


@pytest.mark.parametrize(
    ("function", "parameters", "message"),
    [
        (lambda x, p: {"y": exp(x)}, 0, "bad: expected a program without parameters, exp and log"),
        (lambda x, p: {"y": x * p[0]}, 1, "bad: expected a program without parameters"),
    ],
)
def test_refused(function, parameters, message):
    """Operations that kernels for GPUs lack are errors before any compilation."""
    with pytest.raises(CompilerError, match=message):
        gpu.ptx_of(trace(function, "bad", {"x": ()}, parameters))


def test_too_long(monkeypatch):
    """Programs that would be compiled in pieces are refused, with their length."""
    monkeypatch.setattr("robot_dynamics.compile.emission.LONGEST_FUNCTION", 10)
    with pytest.raises(CompilerError, match=r"mixed has \d+ operations, expected at most"):
        gpu.ptx_of(PROGRAM)


def test_without_cupy(monkeypatch):
    """Without CuPy the message names the extra."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    gpu._cupy.cache_clear()
    with pytest.raises(CompilerError, match=r"robot_dynamics\[gpu\]"):
        gpu.GpuFunction(PROGRAM)


def test_on_a_gpu():
    """A GPU gives the processor's results, to the last bit where there is no arc tangent."""
    cupy = pytest.importorskip("cupy")
    if not cupy.is_available():
        pytest.skip("there is no GPU")
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(1000, 2)), rng.normal(size=1000)
    expected = compile_program(PROGRAM).bind()(a, b)
    for given in ((a, b), (cupy.asarray(a, order="F"), cupy.asarray(b))):
        found = [cupy.asnumpy(value) for value in gpu.GpuFunction(PROGRAM)(*given)]
        if find_host().fma:
            np.testing.assert_array_equal(found[0], expected[0])
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
