# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled routines do the same as their Python source."""

from __future__ import annotations

import resource
import sys
import threading
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.compile import CompilerError, compile_program, trace
from robot_dynamics.compile.routine import (
    Call,
    Indices,
    Mask,
    Matrix,
    MutableRecord,
    Routine,
    Tensor,
    Vector,
    routine,
    zeros,
)

WEIGHT = 0.25


@routine
def clipped(x: float, limit: float) -> float:
    """Call with a computed value."""
    return max(min(x, limit), -limit)


@routine
def solve(A: Matrix, b: Vector) -> bool:
    """Gauss's elimination in place, without exchanges."""
    n = len(b)
    for k in range(n):
        if A[k, k] == 0.0:
            return False
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] = b[k] / A[k, k]
    return True


@routine
def everything(
    x: Vector, chosen: Mask, at: Indices, T: Tensor, scale: float, most: int, out: Vector
) -> int:
    """Use all that is understood."""
    own = zeros(len(x))
    count, total = 0, 0.0
    for i in range(0, len(x), 2):
        if not chosen[i]:
            continue
        own[i] = clipped(scale * x[i], 1.0)
        count += 1
    while count < most:
        count += 3
        if (count % 4 == 2 and total >= 0.0) or count > 90:
            break
        total -= abs(WEIGHT * (count // 2))
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            for k in range(T.shape[2]):
                total += T[i, j, k] * (i - j) / (1 + k)
    for i in range(len(at)):
        at[i] = int(float(i)) - at[i]
        chosen[i] = sqrt(x[i] * x[i]) != x[i] or -x[i] > 0.5
        out[i] = own[i] + (total if at[i] <= 1 else -total)
    return count


@routine
def corner(n: int) -> float:
    """Make an array of n^2 numbers, unless there are none."""
    if n == 0:
        return 0.0
    A = zeros(n, n)
    was = A[n - 1, n - 1]
    A[n - 1, n - 1] = 1.0 + was
    return A[n - 1, n - 1]


@routine
def doubled(x: Vector) -> bool:
    """Change an array that the caller has as well."""
    for i in range(len(x)):
        x[i] = 2.0 * x[i]
    return True


@routine
def twice(run: Call, x: Vector, seen: Vector) -> None:
    """Call a function and compare its effects, twice."""
    for _ in range(2):
        x[0] = x[0] + 1.0
        run()
        seen[0] = 10.0 * seen[0] + x[0]


@routine
def both(first: Call, second: Call, x: Vector, seen: Vector) -> None:
    """Hand a function on."""
    twice(first, x, seen)
    second()


class Cart(NamedTuple):
    """A record: one routine reads it, the next one moves it."""

    place: Vector
    speed: Vector
    turns: Matrix
    stuck: Mask
    step: float
    count: int
    warn: Call
    owner: Any  # nothing that a routine could use


@routine
def move(cart: Cart, by: float) -> None:
    """Use a part of a record."""
    for i in range(cart.count):
        if not cart.stuck[i]:
            cart.place[i] += by * cart.speed[i]


@routine
def drive(other: Cart, cart: Cart, seen: Vector) -> int:
    """Use two records, hand one of them on as it is, and an array of the other."""
    move(cart, other.step)
    doubled(other.place)
    turns, place, count = cart.turns, cart.place, cart.count
    for i in range(len(place)):
        for k in range(turns.shape[1]):
            seen[i] += turns[i, k] * place[i]
    doubled(place)
    if seen[0] > 1.0:
        cart.warn()
    return count


@routine
def misled(cart: Cart) -> None:
    """Ask for a missing attribute."""
    drive(cart, cart, cart.sped)


@routine
def greedy(cart: Cart) -> None:
    """Ask for a value that no routine can use."""
    cart.owner[0] = 1.0


def arguments(rng):
    """Return arguments of `everything`."""
    return (
        rng.normal(size=9), rng.random(9) > 0.4, rng.integers(0, 9, 9), rng.normal(size=(2, 3, 4)),
        1.5, int(rng.integers(0, 100)), np.zeros(9),
    )  # fmt: skip


def test_compiled_is_as_written():
    """Results and arrays agree; products and sums may be rounded once instead of twice."""
    for seed in range(20):
        ours, theirs = (arguments(np.random.default_rng(seed)) for _ in range(2))
        assert everything(*ours) == everything.function(*theirs)
        for own, their in zip(ours, theirs, strict=True):
            assert_allclose(own, their, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 7, 40])
def test_a_linear_system(n):
    """One code for every size, bound once and run on the arrays' contents of that time."""
    rng = np.random.default_rng(n)
    A, b = np.zeros((n, n)), np.zeros(n)
    run = solve.bind(A, b)
    for _ in range(3):
        A[:], b[:] = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=n)
        expected = np.linalg.solve(A, b)
        assert run()
        assert_allclose(b, expected, rtol=1e-11, atol=1e-12)
    A[:] = 0.0
    assert not run()


@pytest.mark.parametrize("kind", ["routine", "kernel", "Python"])
def test_functions_that_a_routine_calls(kind):
    """They change arrays of the routine, which sees that; callees are compiled or not."""
    x, seen = np.array([1.0, 3.0]), np.zeros(1)
    program = trace(lambda a, _: {"x": [2.0 * each for each in a]}, "double", {"a": 2})
    kernel, a = compile_program(program), np.zeros(2)
    run = {
        "routine": doubled.bind(x),
        "kernel": kernel.bind_arrays(None, [a], [x]),
        "Python": lambda: np.multiply(x, 2.0, out=x),
    }[kind]
    ends = []

    def end():
        ends.append(x.copy())
        a[:] = x

    bound = both.bind(run, end, x, seen)
    bound()
    if kind == "kernel":  # of what `a` holds, which is zero
        assert seen[0] == 0.0
        assert_allclose(ends, [[0.0, 0.0]])
    else:
        assert seen[0] == 4.0 * 10 + 10.0
        assert_allclose(ends, [[10.0, 12.0]])
    if kind == "kernel":
        a[:] = 5.0, 6.0
        bound()
        assert seen[0] == 110.0
        assert_allclose(ends[1], [10.0, 12.0])
    with pytest.raises(CompilerError, match="run is None, expected a function"):
        twice.bind(None, x, seen)


@pytest.mark.parametrize("at", ["first", "second"])
def test_exceptions_of_called_functions_end_the_call(at):
    """The outermost routine raises them; the function runs again at the next call only."""
    x, seen, calls = np.zeros(2), np.zeros(1), []

    def fails():
        calls.append(len(calls))
        if len(calls) < 3:
            raise KeyError("of ours")

    def passes():
        pass

    inner = both.bind(*((fails, passes) if at == "first" else (passes, fails)), x, seen)
    outer = twice.bind(inner, x, seen)
    for _ in range(2):
        before = len(calls)
        with pytest.raises(KeyError, match="of ours"):
            outer()
        assert len(calls) == before + 1
    outer()
    assert len(calls) == (6 if at == "first" else 4)


def cart(seed, warn=None):
    """Return a record."""
    rng = np.random.default_rng(seed)
    place, speed, turns = rng.normal(size=4), rng.normal(size=4), rng.normal(size=(4, 2))
    turns[0] = 5.0 / place[0]
    return Cart(place, speed, turns, rng.random(4) > 0.5, 0.25, 4, warn, object())


def test_records_are_their_fields():
    """Compiled is as written; fields have shorter names, and are handed on alone or together."""
    told = []
    both = [(cart(1), cart(2, lambda: told.append(True)), np.zeros(4)) for _ in range(2)]
    assert drive(*both[0]) == drive.function(*both[1]) == 4
    assert len(told) == 2
    for own, their in zip(*both, strict=True):
        for one, other in zip(own, their, strict=True):
            if isinstance(one, np.ndarray):
                assert_allclose(one, other, rtol=1e-12)
    assert not np.array_equal(both[0][1].place, cart(2).place)


def test_only_fields_that_are_used_are_looked_at():
    """Others may be anything, and arrays that a record is given later are not followed."""
    old = cart(3)._replace(turns=None)
    run, before = move.bind(old, 1.0), old.place.copy()
    new = old._replace(place=np.zeros(4))
    run()
    assert_allclose(old.place, np.where(old.stuck, before, before + old.speed))
    assert not new.place.any()
    with pytest.raises(
        CompilerError, match=r"move: cart\.place is None, expected a contiguous Vector"
    ):
        move.bind(old._replace(place=None), 1.0)


def test_fields_that_a_record_lacks():
    """One sentence names the routine, the record and the field."""
    with pytest.raises(
        CompilerError, match=r"^misled: Cart has no field 'sped', expected one of place, "
    ):
        misled(cart(4))
    with pytest.raises(
        CompilerError, match=r"^greedy: cart\.owner is of type Any, expected an array"
    ):
        greedy(cart(4))


class Wheel(MutableRecord):
    """Numbers of each kind that a routine changes, and an array."""

    angle: float
    turns: int
    slips: bool
    marks: Vector


class Axle(NamedTuple):
    """Records in another one, and a number that stays."""

    left: Wheel
    right: Wheel
    step: float


@routine
def roll(wheel: Wheel, by: float) -> bool:
    """Turn a wheel."""
    wheel.angle += by
    while wheel.angle >= 1.0:
        wheel.angle, wheel.turns = wheel.angle - 1.0, wheel.turns + 1
        wheel.marks[0] += 1.0
    wheel.slips = wheel.turns > 2 and not wheel.slips
    return wheel.slips


@routine
def turn(axle: Axle, seen: Vector) -> int:
    """Turn both, one of them by a shorter name."""
    wheel, marks = axle.left, axle.right.marks
    if roll(wheel, 2.0 * axle.step):
        roll(axle.right, axle.step)
    seen[0] = wheel.angle + marks[0]
    wheel.slips = wheel.slips or wheel.angle > 0.75
    return wheel.turns + axle.right.turns


def axle():
    """Return one with wheels that have turned differently."""
    return Axle(
        Wheel(angle=0.5, turns=2, marks=1), Wheel(angle=0.25, slips=True, marks=np.ones(1)), 0.75
    )


def test_numbers_of_records_are_read_and_written_by_name():
    """Compiled is as written, with records in records; Python and routines see the same memory."""
    (ours, seen), (theirs, expected) = [(axle(), np.zeros(1)) for _ in range(2)]
    run = turn.bind(ours, seen)
    for k in range(6):
        ours.left.angle = theirs.left.angle = ours.left.angle + 0.01 * k
        assert run() == turn.function(theirs, expected)
        assert seen[0] == expected[0]
        for one, other in zip((ours.left, ours.right), (theirs.left, theirs.right), strict=True):
            assert (one.angle, one.turns, one.slips) == (other.angle, other.turns, other.slips)
            assert [a.tolist() for a in one.arrays()] == [a.tolist() for a in other.arrays()]
    assert ours.left.turns > 2
    assert ours.right.turns > 0
    ours.left.place("angle")[...] = 0.125
    assert ours.left.angle == 0.125


class Bicycle(MutableRecord):
    """Records, numbers and arrays of several kinds."""

    front: Wheel
    rear: Wheel
    speed: float
    lamps: Mask
    rooms: Matrix


def bicycle():
    """Return one with different numbers."""
    lamps = np.array([True, False, True])
    wheels = [Wheel(angle=0.5, turns=k, marks=k * np.ones(1)) for k in (1, 2)]
    return Bicycle(front=wheels[0], rear=wheels[1], speed=2.0, lamps=lamps, rooms=(0, 3))


def test_arrays_of_a_record_can_be_in_one_piece_of_memory():
    """Routines read and write them there; copies of the pieces, written back, restore them."""
    ours, theirs = bicycle(), bicycle()
    memory = ours.put_together()
    saved = [piece.copy() for piece in memory]
    assert len(memory) == 4  # arrays, and the numbers of three records
    for one, other in ((ours, theirs), (ours, bicycle())):
        assert [a.tolist() for a in one.arrays()] == [a.tolist() for a in bicycle().arrays()]
        assert [roll(wheel, 0.75) for wheel in (one.front, one.rear)] == [False, True]
        assert [roll.function(w, 0.75) for w in (other.front, other.rear)] == [False, True]
        one.lamps[1] = other.lamps[1] = True
        assert [a.tolist() for a in one.arrays()] == [a.tolist() for a in other.arrays()]
        for piece, was in zip(memory, saved, strict=True):
            piece[:] = was


def test_a_record_may_be_one_of_many():
    """Its arrays are rows of arrays of all, and no other row changes."""
    marks = np.zeros((3, 1))
    wheels = [Wheel(angle=0.9, marks=own) for own in marks]
    roll(wheels[1], 0.2)
    assert marks.tolist() == [[0.0], [1.0], [0.0]]
    assert [wheel.turns for wheel in wheels] == [0, 1, 0]
    with pytest.raises(TypeError, match="Wheel has no field 'angel'"):
        Wheel(angel=1.0)


@routine
def lengthened(axle: Axle) -> None:
    """Change a number that stays."""
    axle.step = 1.0


@routine
def renamed_twice(axle: Axle) -> None:
    """Give the name of a record to a number."""
    wheel = axle.left
    wheel = 1.0  # noqa: F841


@routine
def endless(n: int) -> int:
    """Call itself."""
    return endless(n - 1)


@routine
def flattened(axle: Axle) -> None:
    """Ask a record in a record for a field that it lacks."""
    axle.left.flat = True


@pytest.mark.parametrize(
    ("wrong", "given", "message"),
    [
        (lengthened, axle, r"^lengthened: a routine cannot have 'axle\.step'"),
        (renamed_twice, axle, "^renamed_twice: a routine cannot have 'wheel'"),
        (endless, lambda: 1, "^endless: it calls itself, expected a loop"),
        (flattened, axle, "^flattened: Wheel has no field 'flat', expected one of angle, "),
    ],
)
def test_what_records_and_calls_cannot_do(wrong, given, message):
    """It is refused before anything runs."""
    with pytest.raises(CompilerError, match=message):
        wrong(given())


def test_a_warm_cache_needs_no_source(monkeypatch, tmp_path):
    """Parameters are stored with the code: another process does not parse the routine."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    first, again = Routine(turn.function), Routine(turn.function)
    assert first(axle(), np.zeros(1)) == turn.function(axle(), np.zeros(1))
    assert again(axle(), np.zeros(1)) == turn.function(axle(), np.zeros(1))
    assert "tree" in vars(first)
    assert "tree" not in vars(again)


def test_arrays_of_its_own_are_not_on_the_stack():
    """A thread with a small stack makes arrays of 2 MB; they are zero, and freed each time."""
    results = []

    def many():
        results.extend(corner(n) for _ in range(200) for n in (0, 500))

    many()  # also before memory is looked at
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    old = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=many)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert results == [0.0, 1.0] * 400
    # 200 of them would be 400 MB; kB on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 1e8


def test_without_a_code_generator_the_function_runs(monkeypatch):
    """The readable source runs then."""
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    b = np.array([2.0, 8.0])
    assert solve(np.diag([2.0, 4.0]), b) is True
    assert_allclose(b, [1.0, 2.0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.eye(2), np.zeros((2, 1))), r"b is float64 of shape \(2, 1\), .* Vector"),
        ((np.eye(4)[::2, ::2], np.zeros(2)), r"A is .* expected a contiguous Matrix"),
        ((np.eye(2, dtype=int), np.zeros(2)), r"A is int64 of shape \(2, 2\), .* Matrix"),
        ((np.eye(2),), "got 1 arguments, expected 2"),
    ],
)
def test_arguments_that_do_not_fit(arrays, message):
    """They are refused before any address is taken."""
    with pytest.raises(CompilerError, match=message):
        solve.bind(*arrays)


def test_unsupported_code_is_refused_by_name():
    """It is named."""

    @routine
    def listed(x: Vector) -> float:
        return [x[0]][0]

    with pytest.raises(CompilerError, match=r"listed: a routine cannot have '\[x\[0\]\]\[0\]'"):
        listed(np.zeros(1))

    @routine
    def renamed(x: Vector, y: Vector) -> None:
        for _ in range(2):
            z = x
            z[0] = y[0]

    with pytest.raises(CompilerError, match="renamed: a routine cannot have 'z = x'"):
        renamed(np.zeros(2), np.zeros(2))

    @routine
    def chained(x: Vector) -> None:
        x[0] = x[1] = 1.0

    with pytest.raises(
        CompilerError, match=r"chained: a routine cannot have 'x\[0\] = x\[1\] = 1.0'"
    ):
        chained(np.zeros(2))

    @routine
    def otherwise(x: Vector) -> None:
        for i in range(len(x)):
            x[i] = 0.0
        else:
            x[0] = 1.0

    with pytest.raises(CompilerError, match="otherwise: a routine cannot have 'for i in range"):
        otherwise(np.zeros(2))
