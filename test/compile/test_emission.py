# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whole modules in LLVM's assembly language."""

import re

import pytest

from robot_dynamics.compile import call, trace
from robot_dynamics.compile.emission import ENTRY, PREPARE, emit_module
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.scalar.functions import cos, sin


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
    text = emit_module(parts, 4, fma=True)
    assert len(re.findall(r"^define internal", text, re.MULTILINE)) == 4
    assert len(re.findall(r"call void @core\d", text)) == 7  # three calls twice, and the loop's


def test_two_functions_are_exported(parts):
    """The loop and the preparation of parameters; all other functions are internal."""
    text = emit_module(parts, 4, fma=True)
    exported = re.findall(r"^define (?!internal)[^@]*@(\w+)", text, re.MULTILINE)
    assert exported == [PREPARE, ENTRY]


def test_text_is_deterministic(parts):
    """The same program gives the same text: the cache may rely on it."""
    assert emit_module(parts, 8, fma=True) == emit_module(parts, 8, fma=True)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_fuses_only_where_the_processor_can(parts, width):
    """Without fused operations none is written; a call of the C library would be far slower."""
    assert "call double @llvm.fma.f64" in emit_module(parts, width, fma=True)
    assert not re.search(r"= call .*@llvm\.fma", emit_module(parts, width, fma=False))


def test_no_licence_to_change_results(parts):
    """No operation is marked as one that the code generator may reorder or contract."""
    text = emit_module(parts, 8, fma=True)
    assert not re.search(r"\b(fast|reassoc|contract|nnan|ninf|nsz|arcp|afn)\b", text)


def test_only_old_syntax(parts):
    """Vector constants are written in full, which older versions of LLVM read as well."""
    assert "splat" not in emit_module(parts, 8, fma=True)
