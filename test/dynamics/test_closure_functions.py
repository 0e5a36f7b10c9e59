# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""q = gamma(y), G and g of closure functions (C12): closed forms, golden cases, K and k."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import closures, golden, linkages

from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.closure_functions import ClosureFunction, velocity_of
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import build
from robot_dynamics.model.joints import joint_type, tree_joint_names
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.symbolic import SymbolicValueError

# Numbers of N3 are given to eight digits, those of N10 to eleven or twelve.
N3_DIGITS, N10_DIGITS = 6e-9, 6e-12
# A few dozen roundings of numbers of order one to ten.
ROUNDING = 1e-13


@pytest.fixture
def book():
    return compose(golden.actuated_arm_model(), [closures.actuated_arm_function()])


def motion_of(closure, y, yd):
    """Return q, qd, G and g as arrays."""
    motion = closure.motion(list(y), list(yd))
    return tuple(np.array(x, dtype=float) for x in (motion.q, motion.qd, motion.G, motion.g))


def closed_form(l1, l2, y, yd):
    """Return gamma, G and g of Fig 8.3 in the order q1 to q4, by the book's formulas."""
    c, s = np.cos(y[0]), np.sin(y[0])
    d = np.sqrt(l1**2 + l2**2 - 2 * l1 * l2 * c)
    theta2 = np.arctan2(l2 * s, l2 * c - l1)
    u1, u2 = (l2**2 - l1 * l2 * c) / d**2, l1 * l2 * s / d
    u3 = (l1**2 - l2**2) * l1 * l2 * s / d**4 * yd[0] ** 2
    u4 = (l1 * l2 * c - u2**2) / d * yd[0] ** 2
    return (
        np.array([y[0], theta2, d, y[1]]),
        np.array([[1, 0], [u1, 0], [u2, 0], [0, 1]]),
        np.array([0, u3, u4, 0]),
    )


@pytest.mark.book("N3")
def test_the_worked_example_of_figure_8_3_is_reproduced(book):
    """C12, N3: gamma, G and g of Fig 8.3 at y1 = 0.9, yd1 = 0.7."""
    order = golden.order(book.model)
    q, qd, G, g = motion_of(book, golden.Y, golden.YD)
    assert_allclose(q[order], [0.9, 2.57654813, 1.02404583, 0.4], atol=N3_DIGITS)
    expected = [[1, 0], [-0.07215338, 0], [0.69608944, 0], [0, 1]]
    assert_allclose(G[order], expected, atol=N3_DIGITS)
    assert_allclose(g[order], [0, 0.38113971, 0.03881763, 0], atol=N3_DIGITS)
    # N10 has more digits of the same state.
    assert_allclose(q[order], golden.Q, atol=N10_DIGITS)
    assert_allclose(qd[order], golden.QD, atol=N10_DIGITS)


@pytest.mark.parametrize("lengths", [(1.3, 0.7), (0.6, 1.1), (1.0, 1.0)])
def test_derivatives_are_those_of_the_book(lengths):
    """C12: G and g by differentiation are u1 to u4 all the way round, short of d = 0."""
    closure = compose(golden.actuated_arm_model(), [closures.actuated_arm_function(*lengths)])
    order = golden.order(closure.model)
    for angle in np.linspace(0.1, 2 * np.pi - 0.1, 25):
        y, yd = [angle, 0.3], [-1.4, 0.8]
        q, qd, G, g = motion_of(closure, y, yd)
        expected = closed_form(*lengths, y, yd)
        for ours, theirs in zip((q, G, g), expected, strict=True):
            # u3 and u4 divide by d, which is 0.1 at least where the sides are equal.
            assert_allclose(ours[order], theirs, rtol=1e-10, atol=1e-11)
        assert_allclose(qd, G @ yd, atol=ROUNDING)


@pytest.mark.parametrize("name", closures.CLOSED)
def test_loops_are_closed_at_all_orders(name):
    """C12: the position error is zero, K G = 0 and K g = k at random coordinates."""
    mechanism, functions = closures.CLOSED[name]
    robot = Robot.from_mechanism(mechanism)
    explicit = robot.with_closure(*functions)
    rng = np.random.default_rng(5)
    for y in explicit.check(count=8, seed=3).samples:
        yd = rng.normal(size=len(explicit.names))
        q, qd, G, g = explicit.derivatives(y, yd)
        _, _, K, k, error, rate = robot.constraint_terms(q, qd)
        size = 1.0 + np.abs(G).max() ** 2 * np.abs(K).max()
        assert_allclose(error, 0.0, atol=1e-14 * size)
        assert_allclose(rate, 0.0, atol=ROUNDING * size)
        assert_allclose(K @ G, 0.0, atol=ROUNDING * size)
        assert_allclose(K @ g, k, atol=ROUNDING * size * (1.0 + yd @ yd))


@pytest.mark.parametrize("name", closures.CLOSED)
def test_g_is_the_rate_of_velocities(name):
    """g is the rate of qd at constant yd, and qd that of q, by central differences."""
    mechanism, functions = closures.CLOSED[name]
    closure = compose(build(mechanism), functions)
    rng = np.random.default_rng(4)
    y = np.array(closure.integrate(start_of(closure), 0.3 * rng.normal(size=closure.dimension)))
    yd = rng.normal(size=closure.dimension)
    h = 1e-5
    ends = [closure.integrate(y.tolist(), (s * h * yd).tolist()) for s in (1.0, -1.0)]
    (q1, qd1, *_), (q0, qd0, *_) = (motion_of(closure, end, yd) for end in ends)
    _, qd, _, g = motion_of(closure, y, yd)
    # Truncation is h^2 times third derivatives of order 100, rounding 1e-16 / h.
    moved = closure.model.difference(q0.tolist(), q1.tolist())
    assert_allclose(np.array(moved) / (2 * h), qd, atol=1e-7)
    assert_allclose((qd1 - qd0) / (2 * h), g, atol=1e-7)


def start_of(closure):
    """Return coordinates at which every joint is at its zero."""
    return [
        x for c in closure.coordinates for x in ([0.0] if c.type is None else c.type.neutral())
    ]


def test_joints_in_no_loop_are_independent():
    """Joints in no loop, a floating base among them, are independent and do not change."""
    mechanism = linkages.tilted(linkages.four_bar(), np.eye(3), kind="floating")
    closure = compose(build(mechanism), [closures.four_bar_function()])
    assert [c.name for c in closure.coordinates] == ["crank_joint", "room_to_base"]
    rng = np.random.default_rng(0)
    pose = [0.1, 0.2, 0.3, *(np.array([1.0, 2.0, 3.0, 4.0]) / np.sqrt(30.0))]
    yd = rng.normal(size=7)
    q, qd, G, g = motion_of(closure, [0.4, *pose], yd)
    at_q = closure.model.q_slices[closure.model.joint_index("room_to_base")]
    at_v = closure.model.v_slices[closure.model.joint_index("room_to_base")]
    assert q[at_q].tolist() == pose
    assert qd[at_v].tolist() == yd[1:].tolist()
    assert G[at_v].tolist() == np.eye(7)[1:].tolist()
    assert g[at_v].tolist() == [0.0] * 6


def test_coordinates_may_be_no_joints():
    """A number of the user's own may be independent: the length of the actuator turns the arm."""
    l1, l2 = golden.L1, golden.L2
    book = closures.actuated_arm_function()

    def gamma(y):
        cosine = (l1**2 + l2**2 - y[0] * y[0]) / (2 * l1 * l2)
        angle = np.arccos(cosine)
        return {"q1": angle, **book.positions([angle])}

    function = ClosureFunction(("length",), gamma, lambda y: 0.6 < y[0] < 2.0, "0.6 to 2 m")
    closure = compose(golden.actuated_arm_model(), [function])
    assert closure.names == ("length", "q4")
    q, qd, G, _ = motion_of(closure, [golden.Q[2], 0.4], [golden.QD[2], -0.3])
    order = golden.order(closure.model)
    assert_allclose(q[order], golden.Q, atol=1e-11)
    assert_allclose(qd[order], golden.QD, atol=1e-11)
    assert G[order][2] == pytest.approx([1.0, 0.0], abs=1e-15)
    assert closure.outside([1.0, 0.0]) == ""
    assert "'length' at [2.5], expected 0.6 to 2 m" in closure.outside([2.5, 0.0])
    assert closure.integrate([1.0, 0.0], [0.25, 0.5]) == [1.25, 0.5]


def test_domains_have_words_without_an_explanation(book):
    """Outside of a domain without an explanation the message still says where."""
    gamma = closures.actuated_arm_function().positions
    function = ClosureFunction(("q1",), gamma, lambda y: y[0] != 0.0)
    closure = compose(golden.actuated_arm_model(), [function])
    assert closure.outside([0.5, 0.0]) == ""
    assert "expected what its domain allows" in closure.outside([0.0, 0.0])


@pytest.mark.parametrize("kind", tree_joint_names())
def test_velocities_of_rates(kind):
    """The velocity of a joint follows from the rate of its positions, whatever its type."""
    parameters = {"helical": {"pitch": 0.1}, "rack_and_pinion": {"radius": 0.2}}
    joint = joint_type(kind, **parameters.get(kind, {}))
    rng = np.random.default_rng(1)
    q = joint.integrate(joint.neutral(), rng.normal(size=joint.nv).tolist())
    qd = rng.normal(size=joint.nv)
    rate = joint.position_rate(q, qd.tolist())
    assert_allclose(velocity_of(joint, q, rate), qd, rtol=1e-13, atol=1e-14)


def test_a_wrong_number_of_values_is_refused(book):
    """Too many or too few values are refused."""
    with pytest.raises(ArgumentError, match=r"\b2 independent.*\b3\b"):
        book.positions([0.1, 0.2, 0.3])
    with pytest.raises(ArgumentError, match="'q1'"):
        ClosureFunction("q1", lambda y: {})
    with pytest.raises(ArgumentError, match=r"\(\)"):
        ClosureFunction((), lambda y: {})


def test_closure_functions_take_batches(book):
    """Scalars may be arrays: a batch of states at once."""
    y = np.random.default_rng(0).uniform(0.2, 1.5, (2, 7))
    q = np.array(np.broadcast_arrays(*book.positions(list(y))))
    for i in range(7):
        assert_allclose(q[:, i], book.positions(y[:, i].tolist()), rtol=1e-15)


def test_functions_of_math_and_branches_are_refused():
    """math.sin and comparisons cannot be traced; the error names replacements."""
    robot = Robot(golden.actuated_arm_model())
    gamma = closures.actuated_arm_function().positions
    for wrong, words in (
        (
            lambda y: {**gamma(y), "q3": math.sqrt(y[0])},
            r"robot_dynamics\.scalar\.functions, or Nu",
        ),
        (lambda y: gamma(y) if y[0] > 0.0 else gamma([-y[0]]), "must not branch on scalar values"),
    ):
        with pytest.raises(SymbolicValueError, match=words):
            robot.with_closure(ClosureFunction(("q1",), wrong))
