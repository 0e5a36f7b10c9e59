# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inlined sine and cosine against NumPy's, and against exact values."""

import numpy as np
import pytest

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.emission import ENTRY, emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.kernel import Kernel, ObjectCode
from robot_dynamics.compile.machine import compile_object
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.trigonometry import LARGEST_ANGLE
from robot_dynamics.scalar.functions import cos, sin

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


@pytest.fixture(scope="module")
def program():
    return trace(lambda x, p: {"sin": sin(x), "cos": cos(x)}, "sine_and_cosine", {"x": ()})


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "not fused"])
def function(program, request):
    host = find_host()
    if request.param and not host.fma:
        pytest.skip("the processor does not fuse operations")
    text, _ = emit_module(prepare(program), 1, request.param)
    content = compile_object(text, host)
    code = ObjectCode(program.ports, 1, -1, [ENTRY], content)
    return Kernel.from_machine(code, code.load(host, 1)).bind()


def angles():
    random = np.random.default_rng(0)
    quarters = np.arange(-2000, 2000) * (np.pi / 4.0)
    return np.concatenate(
        [
            random.uniform(-10.0, 10.0, 100000),
            random.uniform(-1e3, 1e3, 50000),
            quarters,
            np.nextafter(quarters, np.inf),
            np.nextafter(quarters, -np.inf),
            10.0 ** random.uniform(-300, 0, 10000),
        ]
    )


def test_error_is_about_one_unit_in_the_last_place(function):
    """For angles that joints have, results are within 2.5 units of NumPy's, most within 1."""
    x = angles()
    for found, exact in zip(function(x), (np.sin(x), np.cos(x)), strict=True):
        units = np.abs(found - exact) / np.spacing(np.maximum(np.abs(exact), 1e-300))
        # Near multiples of pi/2 the parts of pi/2 limit the relative error; the absolute is tiny.
        assert np.all((units <= 2.5) | (np.abs(found - exact) < 1e-22))
        assert np.mean(units > 1.0) < 0.02


def test_large_angles(function):
    """Up to 1e7 rad the error is within 2 units of 1; it is never above 1 in magnitude by more."""
    x = np.random.default_rng(1).uniform(-1e7, 1e7, 200000)
    for found, exact in zip(function(x), (np.sin(x), np.cos(x)), strict=True):
        assert np.max(np.abs(found - exact)) < 2.3e-16
        assert np.max(np.abs(found)) <= 1.0


def test_enormous_angles_lose_accuracy_gracefully(function):
    """Up to 1e15 rad the error stays below the spacing of such angles."""
    x = np.random.default_rng(2).uniform(-1.0, 1.0, 20000) * 10.0 ** np.linspace(7.0, 14.9, 20000)
    for found, exact in zip(function(x), (np.sin(x), np.cos(x)), strict=True):
        assert np.all(np.abs(found - exact) <= np.maximum(2.3e-16, np.spacing(np.abs(x))))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_no_sine_of_what_is_no_angle(function):
    """Beyond 1e15 rad, and for infinity and nan, sine and cosine are nan: never garbage."""
    x = np.array([np.inf, -np.inf, np.nan, 2.0 * LARGEST_ANGLE, -1e300])
    for found in function(x):
        assert np.isnan(found).all()


def test_special_values(function):
    """Zero and quarter turns."""
    sine, cosine = function(np.array([0.0, np.pi / 2.0, -np.pi / 2.0, np.pi]))
    np.testing.assert_array_equal(sine[:3], [0.0, 1.0, -1.0])
    np.testing.assert_array_equal(cosine[[0, 3]], [1.0, -1.0])
    np.testing.assert_array_equal([sine[3], cosine[1]], [np.sin(np.pi), np.cos(np.pi / 2.0)])


def test_all_widths_give_the_same_bits(program):
    """Scalar and vector code evaluate the same operations."""
    x = angles()[::7]
    expected = compile_program(program, lanes=1).bind()(x)
    for lanes in (2, 4, 8):
        for found, exact in zip(compile_program(program, lanes).bind()(x), expected, strict=True):
            np.testing.assert_array_equal(found, exact)


def test_either_may_be_missing():
    """A program with only sines, or only cosines, gets the same values."""
    x = angles()[:1000]
    both = compile_program(trace(lambda x, p: {"s": sin(x), "c": cos(x)}, "f", {"x": ()})).bind()
    only_sine = compile_program(trace(lambda x, p: {"s": sin(x)}, "f", {"x": ()})).bind()
    only_cosine = compile_program(trace(lambda x, p: {"c": cos(x)}, "f", {"x": ()})).bind()
    np.testing.assert_array_equal(both(x)[0], only_sine(x))
    np.testing.assert_array_equal(both(x)[1], only_cosine(x))
