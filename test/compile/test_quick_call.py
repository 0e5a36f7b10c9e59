# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that begin at compiled code, and end in a Python function if that fails."""

from __future__ import annotations

import gc
import sys

import pytest

from robot_dynamics.compile import quick_call as module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.quick_call import quick_call

needs_compiler = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


def described(*arguments, **words):
    """Return the arguments, or refuse a set."""
    if any(isinstance(argument, set) for argument in arguments):
        raise LookupError("sets are refused")
    return "described", arguments, words


@needs_compiler
def test_the_second_function_takes_what_the_first_cannot():
    """Arguments and keywords reach it as they were given; its error is the one that is raised."""
    function = quick_call(len, described)
    assert function([1, 2]) == 2
    assert function(5) == ("described", (5,), {})
    assert function([1], more=2) == ("described", ([1],), {"more": 2})
    assert function() == ("described", (), {})
    with pytest.raises(LookupError, match="sets"):
        quick_call(abs, described)({1})


@needs_compiler
def test_references_are_kept_and_given_back():
    """Neither results nor arguments nor functions are leaked, or freed too early."""
    argument = ["x"]

    def own(value):
        return value

    before = sys.getrefcount(argument), sys.getrefcount(own)
    function = quick_call(len, own)
    for _ in range(1000):
        function(argument)
        function(1.5)
        quick_call(len, own)
    del function
    gc.collect()
    assert (sys.getrefcount(argument), sys.getrefcount(own)) == before


def test_without_a_code_generator_it_is_the_function_itself(monkeypatch):
    """As on another Python: slower, with the same results."""
    monkeypatch.setattr(module, "_works", lambda: False)
    assert quick_call(len, described) is described
