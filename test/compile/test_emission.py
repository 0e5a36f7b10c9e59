# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whole modules in LLVM's assembly language."""

from __future__ import annotations

import re

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, trace
from robot_dynamics.compile.emission import BATCHES, ENTRY, PREPARE, emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.scalar.functions import (
    absolute,
    atan2,
    cos,
    exp,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
)

OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negate": lambda a, b: -(a * b),
    "sqrt": lambda a, b: sqrt(absolute(a)),
    "absolute": lambda a, b: absolute(b),
    "minimum": minimum,
    "maximum": maximum,
    "atan2": atan2,
    "exp": lambda a, b: exp(a),
    "log": lambda a, b: log(absolute(b)),
    "constant": lambda a, b: 0.1 - a,
}


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_operation_is_exact(name, lanes):
    """Operations that IEEE 754 defines give NumPy's bits; others are those of the C library."""
    operation = OPERATIONS[name]
    program = trace(lambda a, b, p: {"y": operation(a, b)}, name, {"a": (), "b": ()})
    a, b = np.random.default_rng(0).normal(size=(2, 1001))
    found = compile_program(program, lanes).bind()(a, b)
    if name in ("atan2", "exp", "log"):
        # NumPy may use a vector library of its own, whose last place differs.
        np.testing.assert_allclose(found, operation(a, b), rtol=1e-15)
    else:
        np.testing.assert_array_equal(found, operation(a, b))


@pytest.mark.skipif(find_host() is None or not find_host().fma, reason="no fused operations")
@pytest.mark.parametrize(
    ("formula", "c", "expected"),
    [
        (lambda a, b, c: a * b + c, -(1.0 + 2.0**-29), 2.0**-60),
        (lambda a, b, c: c - a * b, 1.0 + 2.0**-29, -(2.0**-60)),
        (lambda a, b, c: a * b - c, 1.0 + 2.0**-29, 2.0**-60),
    ],
)
def test_fused_operation_rounds_once(formula, c, expected):
    """The product's last digits, which two operations would lose, are there."""
    program = trace(lambda a, b, c, p: {"y": formula(a, b, c)}, "f", {"a": (), "b": (), "c": ()})
    x = 1.0 + 2.0**-30
    # x * x = 1 + 2^-29 + 2^-60, of which a double holds the first two terms.
    assert program.evaluate(x, x, c)[0] == 0.0
    for lanes in (1, 4):
        assert compile_program(program, lanes).bind()([x] * 5, x, c).tolist() == [expected] * 5


def test_stores_only_what_is_not_zero():
    """Many zeros are written by a loop, a few one by one."""

    def text(zeros):
        program = trace(lambda x, p: {"y": [x, *[0.0] * zeros]}, "f", {"x": ()})
        return emit_module(prepare(program), 1, fma=True)[0].split("@direct")[1].split("}")[0]

    assert text(10).count("store") == 11
    assert text(999).count("store") == 2
    assert text(1001).count("store") == 4  # two that do not fill a piece


@pytest.fixture
def parts():
    inner = trace(lambda x, p: {"y": sin(x) * p[0] + 1.0}, "inner", {"x": ()}, 1)

    def f(x, p):
        y = x
        for _ in range(3):
            y = call(inner, y, parameters=p)["y"]
        return {"y": y + cos(x)}

    return prepare(trace(f, "outer", {"x": ()}, 1))


def test_called_programs_are_written_once(parts):
    """However often a program is called, there is one function of it for each width."""
    for width, from_loop in ((1, 0), (4, 1)):  # "direct", which the loop of one state calls
        text, _ = emit_module(parts, width, fma=True)
        assert len(re.findall(r"^define internal", text, re.MULTILINE)) == 2
        assert len(re.findall(r"call void @core\d", text)) == 3 + from_loop


def test_exported_functions(parts):
    """Code for batches is the loop alone; all other functions are internal."""
    prepared = prepare(trace(lambda x, p: {"y": x * (p[0] * p[1])}, "f", {"x": ()}, 2))
    for of, width, names in (
        (parts, 1, [BATCHES, ENTRY]),
        (prepared, 1, [PREPARE, BATCHES, ENTRY]),
        (prepared, 4, [ENTRY]),
    ):
        text, _ = emit_module(of, width, fma=True)
        exported = re.findall(r"^define (?!internal)[^@]*@(\w+)", text, re.MULTILINE)
        assert exported == names


def test_text_is_deterministic(parts):
    """The same program gives the same text: the cache may rely on it."""
    assert emit_module(parts, 8, fma=True) == emit_module(parts, 8, fma=True)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_fuses_only_where_the_processor_can(parts, width):
    """Without fused operations none is written; a call of the C library would be far slower."""
    assert "@llvm.fma." in emit_module(parts, width, fma=True)[0].split("define", 1)[1]
    assert not re.search(r"= call .*@llvm\.fma", emit_module(parts, width, fma=False)[0])


def test_no_licence_to_change_results(parts):
    """No operation is marked as one that the code generator may reorder or contract."""
    text, _ = emit_module(parts, 8, fma=True)
    assert not re.search(r"\b(fast|reassoc|contract|nnan|ninf|nsz|arcp|afn)\b", text)


def test_only_old_syntax(parts):
    """Vector constants are written in full, which older versions of LLVM read as well."""
    assert "splat" not in emit_module(parts, 8, fma=True)[0]


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("lanes", [1, 4])
def test_calls_side_by_side_can_be_all_results_of_a_called_program(lanes):
    """Two calls with all their results, in a program that is itself called for one state."""
    inner = trace(lambda x, p: {"y": [x[0] * x[1], x[0] / x[1]]}, "inner", {"x": 2})

    def both(x, _):
        return {"y": [*call(inner, x[:2])["y"], *call(inner, x[2:])["y"]]}

    twice = trace(both, "twice", {"x": 4})
    program = trace(lambda x, p: {"y": [-y for y in call(twice, x)["y"]]}, "outer", {"x": 4})
    x = np.random.default_rng(0).normal(size=(5, 4))
    found = [compile_program(program, lanes).bind()(each) for each in (x, x[0])]
    expected = program.evaluate(x)[0]
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], expected[0])
