# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot in independent coordinates: shapes, batches, the cache, long runs without drift."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support import closures, golden, linkages

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.dynamics.closure_functions import ClosureFunction, ClosureFunctionError
from robot_dynamics.dynamics.explicit_form import (
    FORWARD_DYNAMICS,
    explicit_forward_dynamics,
    explicit_program,
)
from robot_dynamics.dynamics.independent_rows import CLOSED_FORWARD_DYNAMICS
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.robot import ExplicitRobot, Robot


@pytest.fixture(scope="module")
def book():
    return Robot(golden.actuated_arm_model())


@pytest.fixture(scope="module")
def explicit(book):
    return book.with_closure(closures.actuated_arm_function())


def module_gamma(y):
    """Return gamma of Fig 8.3; a function of a module, which pickles."""
    return closures.actuated_arm_function().positions(y)


def test_repr_shows_name_and_coordinates(explicit):
    """It shows its name and its coordinates."""
    assert repr(explicit) == "<ExplicitRobot 'actuated_arm': y = q1, q4>"
    assert explicit.names == ("q1", "q4")


def test_shapes_and_batches(explicit):
    """One state or any leading dimensions, each as if it were alone."""
    rng = np.random.default_rng(0)
    y, yd, ydd = rng.uniform(0.3, 1.5, (3, 4, 5, 2))
    tau = rng.normal(size=(4, 5, 4))
    for function, inputs, shapes in (
        (explicit.positions, (y,), [(4,)]),
        (explicit.motion, (y, yd, ydd), [(4,)] * 3),
        (explicit.derivatives, (y, yd), [(4,), (4,), (4, 2), (4,)]),
        (explicit.terms, (y, yd), [(2, 2), (2,)]),
        (explicit.forward_dynamics, (y, yd, tau), [(2,)]),
        (explicit.inverse_dynamics, (y, yd, ydd), [(2,)]),
    ):
        results = function(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        alone = function(*(x[2, 3] for x in inputs))
        alone = alone if isinstance(alone, tuple) else (alone,)
        for result, single, shape in zip(results, alone, shapes, strict=True):
            assert result.shape == (4, 5, *shape)
            np.testing.assert_array_equal(result[2, 3], single)


def test_motion_is_made_of_the_derivatives(explicit):
    """q, qd = G yd and qdd = G ydd + g."""
    ydd = np.array([0.3, -2.0])
    q, qd, qdd = explicit.motion(golden.Y, golden.YD, ydd)
    same, rate, G, g = explicit.derivatives(golden.Y, golden.YD)
    assert_allclose(q, same, rtol=1e-15)
    assert_allclose(q, explicit.positions(golden.Y), rtol=1e-15)
    assert_allclose(qd, rate, rtol=1e-14)
    assert_allclose(qd, G @ golden.YD, rtol=1e-14, atol=1e-15)
    assert_allclose(qdd, G @ ydd + g, rtol=1e-14, atol=1e-15)


def test_coordinates_of_positions(explicit):
    """Coordinates are picked from positions and velocities of the tree, in batches too."""
    q, qd, *_ = explicit.derivatives(golden.Y, golden.YD)
    assert explicit.coordinates(q).tolist() == golden.Y.tolist()
    y, yd = explicit.coordinates(np.stack([q, q]), np.stack([qd, qd]))
    assert y.tolist() == [golden.Y.tolist()] * 2
    assert yd.tolist() == [golden.YD.tolist()] * 2
    gamma = closures.actuated_arm_function().positions
    own = ClosureFunction(("own",), lambda y: {"q1": y[0], **gamma(y)})
    with pytest.raises(RobotDynamicsError, match="coordinate 'own' is no joint"):
        ExplicitRobot(golden.actuated_arm_model(), [own]).coordinates(q)


def test_constants_of_a_function_are_part_of_the_cache_key(book):
    """Functions with the same source and other constants are other functions."""
    first = ExplicitRobot(book.model, [closures.actuated_arm_function(1.3, 0.7)])
    second = ExplicitRobot(book.model, [closures.actuated_arm_function(1.3, 0.8)])
    for robot, l2 in ((first, 0.7), (second, 0.8)):
        d = np.sqrt(1.3**2 + l2**2 - 2 * 1.3 * l2 * np.cos(0.9))
        q, *_ = robot.derivatives(golden.Y, golden.YD)
        assert q[book.model.joint_index("q3")] == pytest.approx(d, rel=1e-15)


def test_pickles(book):
    """A robot with a function of a module is the same after pickling."""
    robot = book.with_closure(ClosureFunction(("q1",), module_gamma))
    again = pickle.loads(pickle.dumps(robot))
    tau = np.ones(4)
    expected = robot.forward_dynamics(golden.Y, golden.YD, tau)
    assert again.forward_dynamics(golden.Y, golden.YD, tau).tolist() == expected.tolist()
    assert again.names == robot.names


def test_a_function_that_does_not_fit_is_refused(book):
    """The check runs unless told otherwise."""
    wrong = closures.actuated_arm_function(1.3, 0.75)
    with pytest.raises(ClosureFunctionError, match="loop 'q5'"):
        book.with_closure(wrong)
    assert book.with_closure(wrong, check=False).names == ("q1", "q4")


def test_a_platform_by_its_pose():
    """Steps of a floating platform keep its quaternion, and its legs closed."""
    mechanism = linkages.stewart_platform()
    robot = Robot.from_mechanism(mechanism)
    explicit = robot.with_closure(closures.stewart_platform_function(mechanism))
    y = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    yd = np.array([0.1, -0.2, 0.3, 0.05, 0.1, -0.1])
    for _ in range(20):
        y = explicit.integrate(y, 0.05 * yd)
        _, error = robot.closure(explicit.positions(y))
        assert_allclose(error, 0.0, atol=2e-15)
    assert np.linalg.norm(y[3:]) == pytest.approx(1.0, rel=1e-15)


def swing(explicit, h):
    """Return a chain of RK4 steps of h [s] of a mechanism without joint forces."""
    closure, model = explicit.closure, explicit.model

    def step(y, yd, block):
        parameters, rest = unpack(model, block), [0.0] * model.nv

        def rate(x, v):
            return v, explicit_forward_dynamics(closure, x, v, rest, parameters)

        def moved(a, b, t):
            return [p + t * r for p, r in zip(a, b, strict=True)]

        v1, a1 = rate(y, yd)
        v2, a2 = rate(moved(y, v1, h / 2), moved(yd, a1, h / 2))
        v3, a3 = rate(moved(y, v2, h / 2), moved(yd, a2, h / 2))
        v4, a4 = rate(moved(y, v3, h), moved(yd, a3, h))

        def mean(x, a, b, c, d):
            rows = zip(x, a, b, c, d, strict=True)
            return [p + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) for p, k1, k2, k3, k4 in rows]

        return {"y": mean(y, v1, v2, v3, v4), "yd": mean(yd, a1, a2, a3, a4)}

    inputs = {"y": closure.size, "yd": closure.dimension}
    program = trace(step, "swing", inputs, block_size(model))
    return compile_program(program, lanes=1).chain(pack(model))


@pytest.mark.skipif(find_host() is None, reason="takes minutes without a code generator")
def test_loops_stay_closed_for_ever(book, explicit):
    """C12: over 1e5 steps of a free swing loops are closed to rounding, and energy is kept.

    RK4 loses energy with the fifth power of the step; nothing else does.
    """
    start = np.array([1.2, 0.3])
    drift = {}
    for h in (1e-3, 5e-4):
        y, yd = swing(explicit, h)(100_000, start, np.zeros(2))
        some = slice(None, None, 100)
        q, qd, _, _ = explicit.derivatives(y[some], yd[some])
        *_, error, rate = book.constraint_terms(q, qd)
        # Positions of a metre and velocities up to ten metres per second, rounded.
        assert np.abs(error).max() < 1e-14
        assert np.abs(rate).max() < 1e-12
        kinetic, potential = book.energies(q, qd)
        q0, qd0, *_ = explicit.derivatives(start, np.zeros(2))
        total = sum(book.energies(q0, qd0))
        drift[h] = np.abs(kinetic + potential - total).max() / kinetic.max()
    assert drift[1e-3] < 1e-6
    assert drift[5e-4] < drift[1e-3] / 10.0


def test_adaptive_integration(book, explicit):
    """scipy's solve_ivp takes the state as it is; energy is kept to the tolerance asked for."""
    rest = np.zeros(4)

    def rate(_, x):
        return np.concatenate([x[2:], explicit.forward_dynamics(x[:2], x[2:], rest)])

    found = solve_ivp(
        rate, (0.0, 5.0), [1.2, 0.3, 0.0, 0.0], method="DOP853", rtol=1e-10, atol=1e-10
    )
    q, qd, _, _ = explicit.derivatives(found.y[:2].T, found.y[2:].T)
    kinetic, potential = book.energies(q, qd)
    total = kinetic + potential
    assert np.abs(total - total[0]).max() < 1e-7 * kinetic.max()
    *_, error, _ = book.constraint_terms(q, qd)
    assert np.abs(error).max() < 1e-14


def test_the_kernel_is_short(book, explicit):
    """The explicit kernel of Fig 8.3 does less than the constrained one, and divides less."""
    ours = explicit_program(explicit.closure, FORWARD_DYNAMICS).operation_counts()
    theirs = CLOSED_FORWARD_DYNAMICS.program(book.model).operation_counts()
    assert sum(ours.values()) < sum(theirs.values())
    assert ours["divide"] < theirs["divide"]
