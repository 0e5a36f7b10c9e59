# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Code for batches is made at the first batch, once, and changes no result."""

import threading
import warnings
from itertools import count

import numpy as np
import pytest
from waiting import PATIENCE_S

from robot_dynamics.compile import CompilerError, compile_program, load_kernel, trace
from robot_dynamics.compile import kernel as kernel_module
from robot_dynamics.compile import machine as machine_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.scalar.functions import sin

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")

NUMBERS = count(1)
X = np.random.default_rng(0).normal(size=(11, 2))


@pytest.fixture
def program():
    """A program of this test alone: equal ones share their code in memory."""
    own = float(next(NUMBERS))
    return trace(lambda x, p: {"y": [own * sin(x[0]) * x[1], p[0] / x[1]]}, "f", {"x": 2}, 1)


@pytest.fixture
def widths(monkeypatch):
    """Numbers of lanes of the code that LLVM is given, in order; no code is on disk."""
    found = []
    whole = kernel_module._object_code

    def object_code(program, width, *others):
        found.append(width)
        return whole(program, width, *others)

    monkeypatch.setattr(kernel_module, "_object_code", object_code)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "0")
    return found


def test_single_states_need_no_code_for_batches(program, widths):
    """It is compiled at the first batch, shared by all functions, and gives the same bits."""
    kernel = compile_program(program, 4)
    function, other = kernel.bind([1.5]), kernel.bind([2.5])
    single = np.array([function(x) for x in X])
    assert widths == [1]
    for _ in range(2):
        np.testing.assert_array_equal(function(X), single)
    np.testing.assert_array_equal(other(X[:2])[:, 0], single[:2, 0])
    assert widths == [1, 4]


def test_kernels_of_one_lane_have_no_code_for_batches(program, widths):
    """Their batches are evaluated one state after the other."""
    function = compile_program(program, 1).bind([1.5])
    np.testing.assert_array_equal(function(X), [function(x) for x in X])
    assert widths == [1]


def test_threads_wait_for_the_code(program, widths):
    """First batches in several threads at once compile once."""
    function = compile_program(program, 4).bind([1.5])
    begin, found = threading.Barrier(4), []

    def work():
        begin.wait()
        found.append(function(X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert widths == [1, 4]
    single = [function(x) for x in X]
    for each in found:
        np.testing.assert_array_equal(each, single)


def test_long_modules_have_code_for_batches(program, monkeypatch):
    """The variable and the loops are where they are used, however the module is divided."""
    monkeypatch.setattr(machine_module, "_LONG", 1)
    monkeypatch.setattr(machine_module.os, "sched_getaffinity", lambda process: set(range(9)))
    function = compile_program(program, 4).bind([1.5])
    np.testing.assert_array_equal(function(X), [function(x) for x in X])


def failing(monkeypatch, error):
    """Make the compilation of batch code fail, and return the number of failures."""
    failed = []
    whole = kernel_module._object_code

    def object_code(program, width, *others):
        if width > 1:
            failed.append(width)
            raise error
        return whole(program, width, *others)

    monkeypatch.setattr(kernel_module, "_object_code", object_code)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "0")
    return failed


def test_batches_without_their_code_are_evaluated(program, monkeypatch, caplog):
    """If LLVM refuses the code, there is one warning, and results are the same."""
    failed = failing(monkeypatch, CompilerError("no such instruction"))
    function = compile_program(program, 4).bind([1.5])
    for _ in range(2):
        np.testing.assert_array_equal(function(X), [function(x) for x in X])
    assert failed == [4]
    assert caplog.text.count("one state after the other: no such instruction") == 1


def test_an_interrupt_reaches_the_caller(program, monkeypatch):
    """Ctrl-C while the code is compiled is raised in the main thread; the next batch compiles."""
    failed = failing(monkeypatch, KeyboardInterrupt())
    function = compile_program(program, 4).bind([1.5])

    def call_and_stay():
        function(X)
        threading.Event().wait(PATIENCE_S)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            call_and_stay()
    assert failed == [4, 4]


def test_floating_point_errors_of_the_compilation_are_not_reported(program, monkeypatch):
    """NumPy warns of invalid values in results alone."""
    whole = kernel_module._object_code

    def object_code(*arguments):
        assert np.isnan(float("inf") - float(str(np.inf)))
        return whole(*arguments)

    monkeypatch.setattr(kernel_module, "_object_code", object_code)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "0")
    function = compile_program(program, 4).bind([1.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(X)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        function(0.0 * X)


def test_code_for_batches_is_kept(program, monkeypatch, tmp_path):
    """Another kernel finds it on disk and builds nothing."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(tmp_path))
    expected = load_kernel(b"key", lambda: program, 4).bind([1.5])(X)
    again = load_kernel(b"key", lambda: 1 / 0, 4)
    np.testing.assert_array_equal(again.bind([1.5])(X), expected)
