# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels over batches in which every state has a parameter block of its own."""

import numpy as np
import pytest

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.scalar.functions import sin, sqrt


def inner(x, block):
    return {"y": [sqrt(block[0] * block[0] + block[1]) * v + sin(block[1]) for v in x]}


@pytest.fixture(scope="module")
def program():
    called = trace(inner, "inner", {"x": 2}, 2)

    def outer(x, y, block):
        from robot_dynamics.compile import call

        found = call(called, x, parameters=block[1:])["y"]
        return {"z": [a * b / block[0] for a, b in zip(found, y, strict=True)], "s": x[0] - y[1]}

    return trace(outer, "outer", {"x": 2, "y": 2}, 3)


@pytest.mark.parametrize("shared", [True, False])
def test_states_are_those_of_bound_blocks(program, shared):
    """Bit for bit, whether blocks are equal or not, with a program called inside."""
    rng = np.random.default_rng(0)
    blocks = rng.uniform(0.5, 2.0, (1 if shared else 21, 3)).repeat(21 if shared else 1, axis=0)
    x, y = rng.normal(size=(2, 21, 2))
    batch = OwnParameters(b"test own parameters", lambda: program, blocks)
    assert batch.shared == shared
    kernel, own = compile_program(program, lanes=1), slice(5, 18)
    z, s = np.zeros((13, 2)), np.zeros(13)
    batch(own, x[own], y[own], out=(z, s))
    for i, at in enumerate(range(5, 18)):
        expected = kernel.bind(blocks[at])(x[at], y[at])
        assert np.array_equal(z[i], expected[0])
        assert s[i] == expected[1]


def test_parameters_need_no_preparation():
    """A program that uses its parameters as they are works alike."""
    program = trace(lambda x, block: {"y": [x[0] * block[0]]}, "plain", {"x": 1}, 1)
    blocks = np.array([[1.0], [2.0], [3.0]])
    batch = OwnParameters(b"test plain parameters", lambda: program, blocks)
    y = np.zeros((3, 1))
    batch(slice(0, 3), np.full((3, 1), 2.0), out=(y,))
    assert y[:, 0].tolist() == [2.0, 4.0, 6.0]


def test_long_programs_are_cut_alike(monkeypatch):
    """They are compiled in pieces, which decide the fused operations: with the same bits."""
    monkeypatch.setattr("robot_dynamics.compile.emission.LONGEST_FUNCTION", 100)

    def irregular(x, block):
        choose, known = np.random.default_rng(1).integers, [*x]
        for _ in range(1500):
            a, b, c = (known[-1 - choose(min(40, len(known)))] for _ in range(3))
            p, q = block[choose(5)], block[choose(5)]
            known.append((p * a - q * b) if choose(2) else (a * b * p + q * c))
        return {"y": known[-20:]}

    program = trace(irregular, "long", {"x": 3}, 5)
    rng = np.random.default_rng(0)
    blocks, x = rng.uniform(0.1, 0.5, (9, 5)), rng.normal(size=(9, 3))
    y = np.zeros((9, 20))
    key = b"test long parameters" + program.fingerprint
    OwnParameters(key, lambda: program, blocks)(slice(0, 9), x, out=(y,))
    kernel = compile_program(program, lanes=1)
    for i in range(9):
        assert np.array_equal(y[i], kernel.bind(blocks[i])(x[i]))
