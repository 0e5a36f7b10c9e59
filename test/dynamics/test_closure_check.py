# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closure functions that do not close the loops are found, and the loop and the gap are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import closures, golden, linkages

from robot_dynamics.dynamics.closure_check import sample_coordinates
from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.closure_functions import ClosureFunction, ClosureFunctionError
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import CouplingElement, Limits, LoopElement, build
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import absolute, cos, sin

# Rounding of positions of about a metre, and of their derivatives.
CLOSED = 1e-13


@pytest.fixture(scope="module")
def robots():
    found = {name: Robot.from_mechanism(m) for name, (m, _) in closures.CLOSED.items()}
    return found


@pytest.fixture(scope="module")
def book():
    return Robot(golden.actuated_arm_model())


def changed(change):
    """Return gamma of Fig 8.3 with the positions changed by a function of them and of y1."""
    right = closures.actuated_arm_function().positions
    return ClosureFunction(("q1",), lambda y: change(dict(right(y)), y[0]))


@pytest.mark.parametrize("name", closures.CLOSED)
def test_right_functions_pass(robots, name):
    """Errors of right functions are rounding; paths between samples are followed."""
    explicit = robots[name].with_closure(*closures.CLOSED[name][1], check=False)
    found = explicit.check(count=12, seed=2)
    assert found.gap < CLOSED
    assert found.velocity_error < CLOSED
    assert found.acceleration_error < 1e-11  # sums of large terms near singular places
    assert len(found.samples) == 12
    # Positions of a floating platform do not lie on straight lines.
    assert found.paths == (0 if name == "Stewart platform" else 11)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        # The actuator a millimetre too long.
        (changed(lambda q, y: {**q, "q3": q["q3"] + 1e-3}), r"'q5'.*\b1 mm\b"),
        # A sign error.
        (
            changed(lambda q, y: {**q, "q2": -q["q2"]}),
            "'q5'",
        ),
        # The other side of atan2: closed nowhere.
        (changed(lambda q, y: {**q, "q2": q["q2"] + np.pi}), "'q5'"),
    ],
)
def test_open_loops_are_named(book, function, words):
    """A function that leaves a loop open is refused: which loop, how far, and where."""
    with pytest.raises(ClosureFunctionError, match=words):
        book.with_closure(function)


def test_rounded_dimensions_are_accepted(book):
    """Dimensions given to seven digits close the loops well enough, and the gap is reported."""
    function = closures.actuated_arm_function(golden.L1 + 1e-7, golden.L2)
    found = book.with_closure(function).check()
    assert 5e-8 < found.gap < 2e-7


def test_derivatives_have_to_fit(book):
    """A wave too small to open loops is found by the velocities that it makes."""
    wave = changed(lambda q, y: {**q, "q3": q["q3"] + 1e-7 * sin(1e4 * y)})
    with pytest.raises(ClosureFunctionError, match=r"'q5\.x'.*\bK\b.*\b0\b"):
        book.with_closure(wave)
    wave = changed(lambda q, y: {**q, "q3": q["q3"] + 1e-9 * sin(1e3 * y)})
    with pytest.raises(ClosureFunctionError, match="expected functions with two derivatives"):
        book.with_closure(wave)


def test_two_branches_are_a_jump():
    """A four-bar that changes its assembly mode on the way is refused at the place of the jump."""
    robot = Robot.from_mechanism(linkages.four_bar())
    one = closures.four_bar_function(branch=1.0).positions
    two = closures.four_bar_function(branch=-1.0).positions

    def either(y):
        # One where cos y is positive, the other elsewhere: both close the loop.
        weight = 0.5 + 0.5 * cos(y[0]) / absolute(cos(y[0]))
        a, b = one(y), two(y)
        return {name: weight * a[name] + (1.0 - weight) * b[name] for name in a}

    with pytest.raises(ClosureFunctionError, match=r"'\w+_joint' jumps"):
        robot.with_closure(ClosureFunction(("crank_joint",), either))
    robot.with_closure(closures.four_bar_function(branch=-1.0))


def test_whole_turns_are_no_jump(book):
    """A step of atan2 from pi to -pi is accepted: the mechanism is the same."""
    explicit = book.with_closure(closures.actuated_arm_function())
    ends = explicit.positions([[1e-6, 0.0], [-1e-6, 0.0]])[:, book.model.joint_index("q2")]
    assert abs(ends[0] - ends[1]) > 6.28
    assert explicit.check([[0.3, 0.0], [-0.3, 0.0]]).paths == 1


def test_an_axis_the_wrong_way_round_is_no_closure():
    """A loop joint whose axis points the other way has no error, and is refused all the same."""
    mechanism = linkages.four_bar()
    flip = np.diag([1.0, -1.0, -1.0, 1.0])
    loop = mechanism.loops[0]
    flipped = replace(loop, successor_pose=loop.successor_pose @ flip)
    robot = Robot.from_mechanism(replace(mechanism, loops=(flipped,)))
    with pytest.raises(ClosureFunctionError, match="axis"):
        robot.with_closure(closures.four_bar_function())


def test_couplings_that_contradict_the_coordinates():
    """A gear between two coordinates that a function takes as independent is named."""
    gear = CouplingElement.gear("gear", "rod_joint", "arm_joint", 0.5)
    mechanism = replace(closures.parallelogram_arm(), couplings=(gear,))
    with pytest.raises(ClosureFunctionError, match="'gear'"):
        Robot.from_mechanism(mechanism).with_closure(closures.parallelogram_arm_function())


def test_as_many_coordinates_as_freedoms():
    """Too few coordinates leave motions out, idle ones move nothing: both are refused."""
    mechanism = closures.parallelogram_arm()
    robot = Robot.from_mechanism(mechanism)
    few = ClosureFunction(
        ("arm_joint",),
        lambda y: {"crank_joint": 0.4, "forearm_joint": 0.4 - y[0], "rod_joint": y[0] - 0.4},
    )
    with pytest.raises(ClosureFunctionError, match=r"\b1\b.*arm_joint"):
        robot.with_closure(few)
    idle = ClosureFunction(
        ("arm_joint", "crank_joint", "nothing"), closures.parallelogram_arm_function().positions
    )
    with pytest.raises(ClosureFunctionError, match=r"parallelogram_arm.*\b3\b.*\b2\b"):
        robot.with_closure(idle)
    # Far above the precision of numbers, and yet what sums along the chain leave of a zero.
    rounding = ClosureFunction(
        ("arm_joint", "hardly"),
        lambda y: {
            "crank_joint": 0.4 + 1e-14 * y[1],
            "forearm_joint": 0.4 + 1e-14 * y[1] - y[0],
            "rod_joint": y[0] - 0.4 - 1e-14 * y[1],
        },
    )
    with pytest.raises(ClosureFunctionError, match=r"parallelogram_arm.*\b2\b.*\b1\b"):
        robot.with_closure(rounding)


def test_samples_are_taken_in_the_domain():
    """Samples are taken in the domain only; without one, where positions are finite."""
    # A rocker: the crank is too long to go round.
    lengths, ground = (0.8, 0.6, 0.5), 0.9
    robot = Robot.from_mechanism(linkages.four_bar(lengths=lengths, ground=ground))
    function = closures.four_bar_function(lengths, ground)
    found = robot.with_closure(function).check(count=40)
    assert 5 < len(found.samples) < 35
    diagonal = np.hypot(
        ground - 0.8 * np.cos(found.samples[:, 0]), 0.8 * np.sin(found.samples[:, 0])
    )
    assert diagonal.max() < 1.1  # rocker and coupler stretched out
    # A domain that is too wide, and one that is right.
    wide = replace(function, domain=lambda y: abs(y[0]) < 3.0)
    with pytest.raises(ClosureFunctionError, match="expected a domain without that"):
        robot.with_closure(wide)
    right = replace(function, domain=lambda y: abs(y[0]) < 0.8, explanation="less than 0.8 rad")
    assert np.abs(robot.with_closure(right).check(count=40).samples).max() < 0.8
    with pytest.raises(ClosureFunctionError, match=r"\b1\b.*'crank_joint'.*\b0\.8\b"):
        robot.with_closure(right, samples=[[1.0]])
    with pytest.raises(ClosureFunctionError, match=r"\[3\].*finite"):
        robot.with_closure(function, samples=[[3.0]])
    nowhere = replace(function, domain=lambda y: False)
    with pytest.raises(ClosureFunctionError, match=r"\b16\b.*samples"):
        robot.with_closure(nowhere)


def test_paths_out_of_the_domain_are_not_followed():
    """Between samples on both sides of the outside range no jump is reported."""
    function = replace(closures.four_bar_function(), domain=lambda y: abs(y[0]) > 0.5)
    robot = Robot.from_mechanism(linkages.four_bar())
    explicit = robot.with_closure(function, check=False)
    assert explicit.check([[1.0], [2.0], [-1.0], [-2.0]]).paths == 2


def test_equal_sides_of_the_book(book):
    """C12: with l1 = l2 the book excludes y1 = 0: no derivatives there, and a jump across it."""
    mechanism = golden.actuated_arm()
    at = replace(mechanism.loops[0], predecessor_pose=mechanism.loops[0].predecessor_pose.copy())
    at.predecessor_pose[0, 3] = golden.L1
    robot = Robot(build(replace(mechanism, loops=(at,))))
    function = closures.actuated_arm_function(golden.L1, golden.L1)
    with pytest.raises(ClosureFunctionError, match="'q2'"):
        robot.with_closure(function)
    robot.with_closure(replace(function, domain=lambda y: y[0] > 0.0))
    with pytest.raises(ClosureFunctionError, match=r"at y = \[0, 0\] positions or their deriv"):
        robot.with_closure(function, samples=[[0.0, 0.0]])


def test_samples_are_within_limits():
    """Coordinates are drawn within limits where there are some, and a turn or a length else."""
    mechanism = linkages.excavator()
    joints = tuple(
        replace(j, limits=Limits(0.2, 0.9)) if j.name == "boom_joint" else j
        for j in mechanism.joints
    )
    gamma = closures.actuated_arm_function().positions

    def renamed(y):
        q = gamma(y)
        return {"cylinder_joint": q["q2"], "piston_joint": q["q3"]}

    model = build(replace(mechanism, joints=joints))
    closure = compose(model, [ClosureFunction(("boom_joint",), renamed)])
    samples = sample_coordinates(closure, 200, np.random.default_rng(0))
    low, high = samples.min(axis=0), samples.max(axis=0)
    assert 0.2 <= low[0] < 0.25 < 0.85 < high[0] <= 0.9
    assert -np.pi <= low[1] < -2.9 < 2.9 < high[1] <= np.pi
    own = compose(
        golden.actuated_arm_model(),
        [ClosureFunction(("own",), lambda y: {"q1": y[0], **gamma([y[0]])})],
    )
    assert np.abs(sample_coordinates(own, 50, np.random.default_rng(0))[:, 0]).max() <= 1.0


def test_samples_of_a_wrong_shape(book):
    """Samples with too many values are refused."""
    explicit = book.with_closure(closures.actuated_arm_function())
    with pytest.raises(ArgumentError, match=r"\(3,\).*\b2\b"):
        explicit.check([1.0, 2.0, 3.0])


def test_velocity_constraints_have_no_closure_function():
    """Constraints on velocities alone cannot be met by positions, and are named."""
    mechanism = linkages.Builder("cart")
    mechanism.add("cart", "base", "planar")
    loop = LoopElement("finger", "soft_finger", "base", "cart")
    robot = Robot(build(replace(mechanism.done(), loops=(loop,))))
    function = ClosureFunction(("turn",), lambda y: {"cart_joint": [y[0], 0.0, 0.0]})
    with pytest.raises(ClosureFunctionError, match=r"open 'finger\.rz'"):
        robot.with_closure(function)


def test_slopes_of_an_inverse_sine():
    """A slider-crank whose rod is as long as its crank has no slope at the dead centre."""
    robot = Robot.from_mechanism(linkages.slider_crank(0.5, 0.5))
    function = closures.slider_crank_function(0.5, 0.5)
    with pytest.raises(ClosureFunctionError, match="not finite"):
        robot.with_closure(function, samples=[[np.pi / 2]])
