# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Long programs: repeated stretches become loops, and results stay those of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, emission, graph, long_core, trace
from robot_dynamics.compile.emission import emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.repetition import find_pieces, without_calls
from robot_dynamics.scalar.functions import cos, maximum, sin, sqrt

needs_compiler = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
TOL = 1e-13  # of fused products, over some hundred steps that do not grow


@pytest.fixture(autouse=True)
def _everything_is_long(monkeypatch):
    """Treat short programs as long ones are."""
    monkeypatch.setattr(emission, "LONGEST_FUNCTION", 0)
    monkeypatch.setattr(graph, "LONG", 0)


def step(x, angle, numbers):
    """Return a typical body: a rotation, products with constants, a choice."""
    c, s = cos(angle), sin(angle)
    a = [c * x[0] - s * x[1], s * x[0] + c * x[1], x[2] * numbers[0]]
    b = [a[1] * numbers[1] - a[2] * numbers[2], a[2] * 0.5 + a[0] * numbers[3]]
    size = sqrt(b[0] * b[0] + b[1] * b[1] + 1.0)
    return [b[0] / size, b[1] / size, maximum(a[2], b[0] * b[1] - numbers[4] * a[0])]


def tree(parents, seed=0):
    """Return a program with a step for each body, from parents outwards and inwards again."""
    numbers = np.random.default_rng(seed).normal(size=(len(parents), 5)).tolist()

    def run(q, p):
        outwards = []
        for i, parent in enumerate(parents):
            start = [p[0], p[1], 1.0] if parent < 0 else outwards[parent]
            outwards.append(step(start, q[i], numbers[i]))
        total = [list(x) for x in outwards]
        for i in reversed(range(len(parents))):
            if parents[i] >= 0:
                moved = step(total[i], q[i], [p[2], *numbers[i][1:]])
                sums = zip(total[parents[i]], moved, strict=True)
                total[parents[i]] = [a + 0.1 * b for a, b in sums]
        products = [[a[0] * b[1] if j <= i else 0.0 for j, b in enumerate(total)]
                    for i, a in enumerate(total)]  # fmt: skip
        return {"x": total, "M": products, "q": q, "p": p[0]}

    return trace(run, "tree", {"q": len(parents)}, 3)


CHAIN = [i - 1 for i in range(60)]
BRANCHES = [-1, -1, *np.random.default_rng(3).integers(-1, range(2, 60)).tolist()]
BLOCK = [0.3, -0.7, 1.1]


def test_bodies_of_a_chain_become_loops():
    """Both ways along a chain are a loop of nearly all bodies, and rows of products one each."""
    pieces = find_pieces(prepare(tree(CHAIN)).remainder).pieces
    turns = sorted((piece.turns for piece in pieces), reverse=True)
    assert turns[0] >= 55
    assert turns[1] >= 55
    operations = sum(len(piece.body.nodes) for piece in pieces if piece.turns == 1)
    assert operations < 0.2 * len(tree(CHAIN).nodes)


def test_machine_code_does_not_grow_with_the_chain():
    """Twice the bodies leave the same functions: only tables and calls get longer."""

    def functions(count):
        text, _ = emit_module(prepare(tree([i - 1 for i in range(count)])), 4, fma=True)
        return text.count("define internal"), sum("fmul" in line for line in text.splitlines())

    short, long = functions(100), functions(200)
    assert long[0] <= short[0] + 4
    assert long[1] <= 1.3 * short[1]


@needs_compiler
@pytest.mark.parametrize("parents", [CHAIN, BRANCHES, [-1], [-1] * 30])
def test_results_are_those_of_the_interpreter(parents):
    """One state or many, in one lane or in four: the same numbers, to the last bit among these."""
    program = tree(parents)
    q = np.random.default_rng(1).normal(size=(11, len(parents)))
    expected = program.evaluate(q, parameters=BLOCK)
    one, four = (compile_program(program, lanes).bind(BLOCK) for lanes in (1, 4))
    for a, b, e in zip(one(q), four(q), expected, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, e, rtol=0, atol=TOL * max(1.0, np.abs(e).max()))
    for a, b in zip(one(q[3]), one(q), strict=True):
        np.testing.assert_array_equal(a, b[3])
    # Arrays that are not contiguous go another way.
    for a, b in zip(four(np.asfortranarray(q)), four(q), strict=True):
        np.testing.assert_array_equal(a, b)


@needs_compiler
def test_a_large_frame_is_on_the_heap(monkeypatch):
    """A frame of many values is on the heap, for one state at a time, with the same numbers."""
    q = np.random.default_rng(1).normal(size=(5, 60))
    expected = compile_program(tree(CHAIN), 1).bind(BLOCK)(q)
    monkeypatch.setattr(long_core, "_MOST_MEMORY", 100)
    text, lanes = emit_module(prepare(tree(CHAIN)), 4, fma=True)
    assert lanes == 1
    assert "call ptr @malloc" in text
    for a, b in zip(compile_program(tree(CHAIN), 4).bind(BLOCK)(q), expected, strict=True):
        np.testing.assert_array_equal(a, b)


@needs_compiler
def test_every_constant_counts():
    """Machine code notices single constants of single bodies that are wrong by 1 %."""
    q = np.random.default_rng(1).normal(size=20)
    right = tree(CHAIN[:20])
    expected = right.evaluate(q, parameters=BLOCK)[0]
    places = [i for i, node in enumerate(right.nodes) if node.operation == graph.CONSTANT]
    for place in places[:: len(places) // 5]:
        nodes = list(right.nodes)
        nodes[place] = nodes[place]._replace(left=1.01 * nodes[place].left)
        wrong = Program(right.ports, tuple(nodes), right.results)
        mutated = wrong.evaluate(q, parameters=BLOCK)[0]
        found = compile_program(wrong, 1).bind(BLOCK)(q)[0]
        np.testing.assert_allclose(found, mutated, rtol=0, atol=TOL)
        assert np.abs(found - expected).max() > 1e3 * TOL


@needs_compiler
def test_calls_are_taken_in():
    """Programs that a long program calls become a part of it, however often they are called."""
    inner = trace(
        lambda x, p: {"y": step(x, p[0], [1.0, 2.0, 3.0, -4.0, 5.0])}, "inner", {"x": 3}, 1
    )

    def run(x, p):
        for i in range(40):
            x = call(inner, x, parameters=[p[0] if i % 2 else x[2] * 0.1])["y"]
        return {"x": x}

    program = trace(run, "outer", {"x": 3}, 1)
    assert any(node.operation == graph.CALL for node in program.nodes)
    flat = without_calls(program)
    assert not any(node.operation == graph.CALL for node in flat.nodes)
    x = np.random.default_rng(2).normal(size=(5, 3))
    expected = program.evaluate(x, parameters=[0.3])
    np.testing.assert_array_equal(flat.evaluate(x, parameters=[0.3])[0], expected[0])
    found = compile_program(program, 2).bind([0.3])(x)
    np.testing.assert_allclose(found, expected[0], rtol=0, atol=TOL)


@needs_compiler
def test_a_long_program_may_be_called(monkeypatch):
    """One with pieces is called by one without, with parameters that differ from lane to lane."""
    monkeypatch.setattr(emission, "LONGEST_FUNCTION", 300)
    inner = tree(CHAIN[:15])

    def run(q, p):
        first = call(inner, q, parameters=[p[0], p[1], p[2]])
        second = call(inner, q, parameters=[first["x"][3][0], p[1], p[0]])
        return {"x": second["x"], "M": first["M"]}

    program = trace(run, "outer", {"q": 15}, 3)
    q = np.random.default_rng(4).normal(size=(9, 15))
    expected = program.evaluate(q, parameters=BLOCK)
    assert len(program.nodes) < 300 < program.size
    one, four = (compile_program(program, lanes).bind(BLOCK) for lanes in (1, 4))
    for a, b, e in zip(one(q), four(q), expected, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, e, rtol=0, atol=TOL * max(1.0, np.abs(e).max()))


def test_no_function_calls_many_pieces():
    """Groups of pieces have functions of their own: LLVM is slow with many calls in one."""
    text, _ = emit_module(prepare(tree(BRANCHES)), 1, True)
    counts = [one.count("call void @direct_piece") for one in text.split("\ndefine ")]
    assert sum(counts) > long_core._MOST_CALLS
    assert max(counts) == long_core._MOST_CALLS


def test_signs_of_constants_do_not_change_the_operations():
    """Bodies with other numbers leave the same operations in a long recording."""
    kinds = [[node.operation for node in tree(CHAIN, seed).nodes] for seed in (0, 1)]
    assert kinds[0] == kinds[1]


def test_a_recording_begins_again_when_it_gets_long(monkeypatch):
    """A short one moves signs outwards; one that gets longer is a long one throughout."""

    def run(x, p):
        return {"y": [x * -2.0 + i for i in range(10)]}

    monkeypatch.setattr(graph, "LONG", 1000)
    short = trace(run, "short", {"x": ()})
    monkeypatch.setattr(graph, "LONG", 20)
    long = trace(run, "long", {"x": ()})
    assert short.evaluate(0.3)[0].tolist() == long.evaluate(0.3)[0].tolist()
    subtracts = [any(n.operation == graph.SUBTRACT for n in p.nodes) for p in (short, long)]
    assert subtracts == [True, False]
