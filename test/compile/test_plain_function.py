# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The way around NumPy's ufuncs behaves as they do."""

import numpy as np
import pytest

from robot_dynamics.compile import ShapeError, compile_program, kernel, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.plain_function import PlainFunction


@pytest.fixture(scope="module")
def program():
    return trace(
        lambda a, b, s, p: {
            "sum": [a[i] + p[0] * b[i] for i in range(3)],
            "table": [[a[0] * s, 1.0], [0.0, b[2]]],
        },
        "f",
        {"a": 3, "b": 3, "s": ()},
        parameters=1,
    )


@pytest.fixture(params=["interpreted", "through ctypes"])
def plain(request, monkeypatch, program):
    if request.param == "interpreted":
        monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    elif find_host() is None:
        pytest.skip("there is no llvmlite")
    else:
        monkeypatch.setattr(kernel, "ufuncs_work", lambda: False)
    function = compile_program(program).bind([2.0])
    assert isinstance(function, PlainFunction)
    return function


def arrays(*shape):
    random = np.random.default_rng(0)
    return (
        random.normal(size=(*shape, 3)),
        random.normal(size=(*shape, 3)),
        random.normal(size=shape),
    )


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-15)  # a fused operation rounds once


def test_single_states_and_batches(monkeypatch, program, plain):
    """Any leading dimensions, also none and zero of them."""
    for shape in ((), (1,), (5,), (2, 3), (0,), (4, 0)):
        given = arrays(*shape)
        same(plain(*given), program.evaluate(*given, parameters=[2.0]))


def test_broadcasts_like_a_ufunc(program, plain):
    """Leading dimensions broadcast; lists and integers are taken."""
    a, b, s = arrays(2, 3)
    same(plain(a, b[0, 0], s[:1]), program.evaluate(a, b[0, 0], s[:1], parameters=[2.0]))
    same(
        plain([1, 2, 3], [4, 5, 6], 7), program.evaluate([1, 2, 3], [4, 5, 6], 7, parameters=[2.0])
    )


def test_writes_to_given_arrays(program, plain):
    """`out=` as a tuple, with None for some, with strides, and outputs by position."""
    given = arrays(4)
    expected = program.evaluate(*given, parameters=[2.0])
    total, table = np.zeros((4, 6))[:, ::2], np.zeros((4, 2, 2))
    returned = plain(*given, out=(total, table))
    assert returned[0] is total
    assert returned[1] is table
    same((total, table), expected)
    total[:] = 0.0
    assert plain(*given, out=(total, None))[0] is total
    same(plain(*given, total, table), expected)


def test_output_may_be_an_input(program, plain):
    """Inputs are read before outputs are written."""
    a, b, s = arrays(4)
    expected = program.evaluate(a, b, s, parameters=[2.0])[0]
    plain(a, b, s, out=(a, None))
    np.testing.assert_allclose(a, expected, rtol=1e-15)


def test_larger_output_repeats_the_states(program, plain):
    """An array with more leading dimensions is filled, as by a ufunc."""
    a, b, s = arrays()
    target = np.zeros((5, 3))
    plain(a, b, s, out=(target, None))
    expected = program.evaluate(a, b, s, parameters=[2.0])[0]
    np.testing.assert_allclose(target, np.tile(expected, (5, 1)), rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda a, b, s: (a[..., :2], b, s), ShapeError),
        (lambda a, b, s: (0.0, b, s), ShapeError),
        (lambda a, b, s: (a[:3], b, s), ShapeError),
        (lambda a, b, s: (a, b), ShapeError),
        (lambda a, b, s: (a.astype(complex), b, s), TypeError),
        (lambda a, b, s: (a, b, s, np.zeros((4, 2)), None), ShapeError),
        (lambda a, b, s: (a, b, s, np.zeros((3, 3)), None), ShapeError),
        (lambda a, b, s: (a, b, s, [0.0], None), TypeError),
        (lambda a, b, s: (a, b, s, None, None, None), ShapeError),
    ],
)
def test_wrong_arguments_are_refused(plain, change, error):
    """Errors are the ones a ufunc raises, or derived from them, and name the program."""
    with pytest.raises(error, match=r"^f: "):
        plain(*change(*arrays(4)))


def test_outputs_are_given_once(plain):
    """Outputs by position and by name together are refused, as by a ufunc."""
    a, b, s = arrays()
    with pytest.raises(TypeError, match="both by position and as `out`"):
        plain(a, b, s, np.zeros(3), out=(np.zeros(3), None))


def test_looks_like_a_ufunc(plain):
    """Name, number of arguments and signature are there, as on a ufunc."""
    assert (plain.__name__, plain.nin, plain.nout) == ("f", 3, 2)
    assert plain.signature == "(3),(3),()->(3),(2,2)"
    assert "(3),(3),()->(3),(2,2)" in repr(plain)


def test_single_output_comes_alone(monkeypatch):
    """One output is no tuple, and a scalar of one state is a scalar."""
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    function = compile_program(trace(lambda x, p: {"y": x + 1.0}, "g", {"x": ()})).bind()
    assert isinstance(function(1.0), float)
    assert function([1.0, 2.0]).tolist() == [2.0, 3.0]
    target = np.zeros(2)
    assert function([1.0, 2.0], out=target) is target
