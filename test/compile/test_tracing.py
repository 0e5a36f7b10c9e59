# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recording functions, and calls of one program by another."""

import gc

import numpy as np
import pytest

from robot_dynamics.compile import ShapeError, TraceError, call, trace
from robot_dynamics.compile.graph import Symbol
from robot_dynamics.scalar.functions import cos, sin


def pendulum(q, qd, parameters):
    length, gravity = parameters
    return {"qdd": -gravity / length * sin(q) - 0.1 * qd, "zero": 0.0, "same": q, "l": length}


@pytest.fixture
def inner():
    return trace(pendulum, "pendulum", {"q": (), "qd": ()}, parameters=2)


def test_arguments_have_the_declared_shapes():
    """Inputs come as nested lists, a scalar for (); parameters as a flat list, maybe empty."""
    seen = {}

    def f(a, b, c, parameters):
        seen.update(a=a, b=b, c=c, parameters=parameters)
        return {"y": a}

    program = trace(f, "f", {"a": (), "b": 3, "c": (2, 3)})
    assert np.shape(seen["b"]) == (3,)
    assert (len(seen["c"]), len(seen["c"][0])) == (2, 3)
    assert seen["parameters"] == []
    assert program.inputs == {"a": (), "b": (3,), "c": (2, 3)}
    assert program.outputs == {"y": ()}


def test_outputs_keep_order_and_shape():
    """Outputs are in the order of the mapping, shapes are those of the nested sequences."""
    program = trace(
        lambda x, p: {"b": [[x[0], 1], [2, x[1]]], "a": (x[0],), "c": x[1]}, "f", {"x": 2}
    )
    assert list(program.outputs.items()) == [("b", (2, 2)), ("a", (1,)), ("c", ())]
    b, a, c = program.evaluate([5.0, 6.0])
    np.testing.assert_array_equal(b, [[5.0, 1.0], [2.0, 6.0]])
    np.testing.assert_array_equal(a, [5.0])
    assert c == 6.0


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ([1.0], TraceError, "returned list, expected a mapping"),
        ({"y": "text"}, TraceError, "output 'y': expected symbols and numbers, got str"),
        ({"y": [1.0, [2.0]]}, TraceError, "output 'y': expected symbols and numbers, got list"),
        ({"y": [[1.0], [2.0, 3.0]]}, ShapeError, "output 'y': expected nested sequences"),
    ],
)
def test_wrong_results_are_named(returned, error, message):
    """A function that returns something else is refused with the expected type."""
    with pytest.raises(error, match="f: ") as caught:
        trace(lambda x, p: returned, "f", {"x": 1})
    assert message in str(caught.value)


def test_call_is_one_node(inner):
    """A call records one node and a node for each result that is used; equal calls are one."""

    def f(q, qd, p):
        first = call(inner, q, qd, parameters=p)
        again = call(inner, q, qd, parameters=p)
        assert first["qdd"] is again["qdd"]
        assert first["same"] is q
        assert first["zero"] == 0.0
        assert first["l"] is p[0]
        return {"qdd": first["qdd"] + again["qdd"]}

    program = trace(f, "outer", {"q": (), "qd": ()}, parameters=2)
    assert program.operation_counts()["call"] == 1
    q, qd, p = 0.3, -0.2, [0.7, 9.81]
    expected = 2.0 * pendulum(q, qd, p)["qdd"]
    assert program.evaluate(q, qd, parameters=p)[0] == pytest.approx(expected, rel=1e-15)


def test_call_with_numbers_evaluates(inner):
    """Numbers in, numbers out, of the same types as a traced function would see."""
    result = call(inner, 0.3, -0.2, parameters=[0.7, 9.81])
    assert all(type(value) is float for value in result.values())
    assert result["qdd"] == pytest.approx(pendulum(0.3, -0.2, [0.7, 9.81])["qdd"], rel=1e-15)


def test_call_with_batches_evaluates():
    """A batch may come element by element, as algorithms hold it, or as arrays with dimensions."""
    program = trace(lambda x, p: {"y": [x[0] * p[0], cos(x[1]), 1.0]}, "f", {"x": 2}, parameters=1)
    x = np.random.default_rng(1).normal(size=(5, 2))
    expected = np.stack([x[:, 0] * 2.0, np.cos(x[:, 1])], axis=1)
    by_element = call(program, [x[:, 0], x[:, 1]], parameters=[2.0])["y"]
    np.testing.assert_array_equal(np.stack(by_element[:2], axis=1), expected)
    assert by_element[2] == 1.0
    whole = call(program, x, parameters=[2.0])["y"]
    np.testing.assert_array_equal(whole[:, :2], expected)


def test_call_checks_shapes(inner):
    """A call with too few inputs, a wrong shape or a wrong block says so."""
    with pytest.raises(ShapeError, match="pendulum: expected 2 inputs, got 1"):
        call(inner, 0.3, parameters=[1.0, 1.0])
    with pytest.raises(ShapeError, match="pendulum: parameter block"):
        call(inner, 0.3, 0.2)
    wide = trace(lambda x, p: {"y": x[0]}, "wide", {"x": 3})
    with pytest.raises(ShapeError, match="wide: input 'x'"):
        call(wide, [1.0, 2.0])


def test_recordings_need_no_garbage_collection():
    """Symbols and their graph refer to each other; a recording of a million leaves none."""

    def symbols():
        return sum(isinstance(one, Symbol) for one in gc.get_objects())

    gc.disable()
    try:
        before = symbols()
        trace(pendulum, "pendulum", {"q": (), "qd": ()}, parameters=2)
        assert symbols() == before
    finally:
        gc.enable()
