# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: reached targets, limits, targets out of reach, several frames, loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support import linkages
from support.limited_four_bar import HIGH, LOW, TREES, angles, four_bar
from support.mechanisms import plain_arm, random_tree

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import (
    JointElement,
    Limits,
    LinkElement,
    Mechanism,
    joined,
    pose,
)
from robot_dynamics.robot import Robot


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture(scope="module")
def arm():
    return Robot.from_mechanism(plain_arm("arm"))


def planar_arm(first, second, upper=np.inf):
    """Return an arm of two links in the x-y plane, its elbow within [-upper, upper]."""
    links = (LinkElement("base"), LinkElement("upper"), LinkElement("lower"), LinkElement("tip"))
    joints = (
        JointElement("shoulder", "revolute", "base", "upper"),
        JointElement(
            "elbow", "revolute", "upper", "lower", pose((first, 0, 0)),
            limits=Limits(lower=-upper, upper=upper),
        ),
        JointElement("mount", "fixed", "lower", "tip", pose((second, 0, 0))),
    )  # fmt: skip
    return Robot.from_mechanism(Mechanism("planar", links, joints))


def test_poses_within_reach_are_reached(arm, rng):
    """Poses that positions give are found again, near a start and from nowhere."""
    for _ in range(5):
        there = rng.uniform(-1.5, 1.5, 7)
        target = arm.pose("arm_tool", there)
        near = arm.inverse_kinematics("arm_tool", target, there + 0.1 * rng.normal(size=7))
        assert near.converged
        assert near.starts == 1
        assert_allclose(arm.pose("arm_tool", near.q), target, atol=1e-6)
        assert np.abs(near.q - there).max() < 0.6
        anywhere = arm.inverse_kinematics("arm_tool", target)
        assert anywhere.converged
        assert_allclose(arm.pose("arm_tool", anywhere.q), target, atol=1e-6)
        assert max(anywhere.position_error, anywhere.rotation_error) <= 1e-6


def test_the_closed_form_of_two_links():
    """The elbow has the angle of the cosine rule, the sign that of the start; the limit of the
    elbow leaves the distance that trigonometry says.
    """
    robot = planar_arm(0.5, 0.4)
    target = np.array([0.3, 0.5, 0.0])
    elbow = np.arccos((target @ target - 0.5**2 - 0.4**2) / (2 * 0.5 * 0.4))
    for sign in (1.0, -1.0):
        found = robot.inverse_kinematics("tip", target, [0.3, 0.5 * sign])
        assert found.converged
        assert_allclose(found.q[1], sign * elbow, atol=1e-6)
        assert found.rotation_error == 0.0
    bounded = planar_arm(0.5, 0.4, upper=0.8)
    found = bounded.inverse_kinematics("tip", target, [0.3, 0.5])
    reach = np.sqrt(0.5**2 + 0.4**2 + 2 * 0.5 * 0.4 * np.cos(0.8))
    assert not found.converged
    assert_allclose(found.q[1], 0.8, atol=1e-12)
    assert found.at_limits == ("elbow",)
    assert_allclose(found.position_error, reach - np.linalg.norm(target), atol=1e-8)
    free = bounded.inverse_kinematics("tip", target, [0.3, 0.5], limits=False)
    assert_allclose(free.q[1], elbow, atol=1e-6)


def test_out_of_reach_is_as_near_as_can_be():
    """A stretched arm points at a target that it does not reach."""
    robot = planar_arm(0.5, 0.4)
    found = robot.inverse_kinematics("tip", [1.2, 1.6, 0.0], [0.3, 0.5])
    assert not found.converged
    assert_allclose(found.position_errors["tip"], 2.0 - 0.9, atol=1e-6)
    assert_allclose(robot.pose("tip", found.q)[:2, 3], [0.54, 0.72], atol=1e-3)
    assert "not reached" in str(found)
    assert "1.1 m" in str(found)


def test_the_least_squares_are_those_of_another_solver(arm, rng):
    """Out of reach and within limits no other solver gets nearer."""
    bounds = Limits(lower=-1.0, upper=1.0)
    plain = plain_arm("arm")
    joints = tuple(j if j.type == "fixed" else replace(j, limits=bounds) for j in plain.joints)
    robot = Robot.from_mechanism(replace(plain, joints=joints))
    target = np.array([1.2, -0.9, 0.3])
    found = robot.inverse_kinematics("arm_tool", target, np.full(7, 0.1))

    def distance(q):
        return float(np.sum((robot.pose("arm_tool", q)[:3, 3] - target) ** 2))

    other = minimize(distance, found.q + 0.05, bounds=[(-1.0, 1.0)] * 7, tol=1e-14)
    assert found.position_error**2 <= other.fun + 1e-9
    assert np.all(np.abs(found.q) <= 1.0)
    assert found.at_limits


def test_several_frames_and_held_joints(rng):
    """Both hands of two arms, and a held joint that keeps its value."""
    left, right = (plain_arm(name) for name in ("left", "right"))
    cell = joined("cell", [(left, np.eye(4), "fixed"), (right, pose((0.8, 0, 0)), "fixed")])
    robot = Robot.from_mechanism(cell)
    q = rng.uniform(-1.2, 1.2, 14)
    targets = {name: robot.pose(name, q) for name in ("left_tool", "right_tool")}
    start = q + 0.1 * rng.normal(size=14)
    found = robot.inverse_kinematics(targets, q0=start, held=["left_joint0"])
    assert found.converged
    at = robot.model.joint_index("left_joint0")
    assert found.q[at] == start[at]
    for name, target in targets.items():
        assert_allclose(robot.pose(name, found.q), target, atol=1e-6)
    assert found.position_errors.keys() == targets.keys()


def test_loops_stay_closed():
    """A coupler's point is reached with the loop closed; out of reach, the loop stays closed."""
    robot = Robot.from_mechanism(linkages.four_bar()).with_frame(
        "point", "coupler", pose((0.3, 0.2, 0.0))
    )
    there = robot.assemble([0.9, -0.5, -1.0]).q
    start = robot.assemble([0.5, -0.5, -1.0]).q
    target = robot.pose("point", there)[:3, 3]
    found = robot.inverse_kinematics("point", target, start)
    assert found.converged
    assert_allclose(found.q, there, atol=1e-5)
    beyond = np.add(target, [0.0, 0.1, 0.0])
    for goal, reached in ((target, True), (beyond, False), ([9.0, 9.0, 9.0], False)):
        found = robot.inverse_kinematics("point", goal, start)
        assert found.converged == reached
        assert np.abs(robot.closure(found.q)[1]).max() < 1e-9
    # With one degree of freedom, the curve of the point is farther away on either side.
    found = robot.inverse_kinematics("point", beyond, start)
    for off in (-0.02, 0.02):
        beside = robot.assemble([found.q[0] + off, *found.q[1:]], held=["crank_joint"]).q
        assert np.linalg.norm(robot.pose("point", beside)[:3, 3] - beyond) > found.position_error


def test_joints_with_quaternions(rng):
    """A floating base and spherical joints are moved like others."""
    tree = random_tree(rng, ["floating", "revolute", "spherical", "revolute"], chain=True)
    robot = Robot.from_mechanism(tree)
    target = pose((0.4, -0.2, 0.7), np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]]))
    found = robot.inverse_kinematics("link3", target, robot.model.neutral())
    assert found.converged
    assert_allclose(robot.pose("link3", found.q), target, atol=1e-6)
    assert_allclose(np.linalg.norm(found.q[3:7]), 1.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda r: r.inverse_kinematics("tool", np.eye(4)), UnknownNameError, "'arm_tool'"),
        (lambda r: r.inverse_kinematics("arm_tool"), ArgumentError, "pose of 'arm_tool'"),
        (lambda r: r.inverse_kinematics("arm_tool", [1.0, 2.0]), ArgumentError, r"\(4, 4\)"),
        (lambda r: r.inverse_kinematics("arm_tool", [1, 2, np.nan]), ArgumentError, "finite"),
        (lambda r: r.inverse_kinematics("arm_tool", 2 * np.eye(4)), ArgumentError, "no pose"),
        (lambda r: r.inverse_kinematics("arm_tool", np.eye(4), [0.0]), ArgumentError, "q0 has"),
        (lambda r: r.inverse_kinematics(["arm_tool"], np.eye(4)), ArgumentError, "one name"),
        (lambda r: r.inverse_kinematics({}), ArgumentError, "there is no target"),
        (
            lambda r: r.inverse_kinematics({"arm_tool": np.eye(4)}, np.eye(4)),
            ArgumentError, "several frames and a pose",
        ),
        (
            lambda r: r.inverse_kinematics("arm_tool", np.eye(4), held="arm_joint0"),
            ArgumentError, "'arm_joint0'",
        ),
        (
            lambda r: r.inverse_kinematics("arm_tool", np.eye(4), tolerance=0.0),
            ArgumentError, "tolerance is 0.0",
        ),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_meant(arm, call, error, words):
    """Unknown frames, targets that are none, wrong sizes: one sentence each."""
    with pytest.raises(error, match=words):
        call(arm)


def test_out_of_reach_ends_where_the_error_is_least(arm, rng):
    """Before all steps are used, where another solver finds nothing better around."""
    for factor in (2.5, 3.0):
        target = arm.pose("arm_tool", rng.uniform(-1.5, 1.5, 7)).copy()
        target[:3, 3] *= factor
        found = arm.inverse_kinematics("arm_tool", target, np.full(7, 0.1), iterations=400)
        assert not found.converged
        assert found.iterations < 150
        position = target[:3, 3]

        def distance(q, position=position):
            return float(np.sum((arm.pose("arm_tool", q)[:3, 3] - position) ** 2))

        nearest = arm.inverse_kinematics("arm_tool", position, found.q)
        other = minimize(distance, nearest.q + 0.05, tol=1e-14)
        assert nearest.position_error**2 <= other.fun + 1e-9


def test_arguments_that_are_refused_in_a_sentence(arm):
    """Counts that are none, and arrays of other sizes, of frames as well."""
    target = arm.pose("arm_tool", np.zeros(7))
    for name, value in (("restarts", -1), ("restarts", 1.5), ("iterations", 0), ("seed", -1)):
        with pytest.raises(ArgumentError, match=f"{name}.*{value}"):
            arm.inverse_kinematics("arm_tool", target, np.zeros(7), **{name: value})
    with pytest.raises(ArgumentError, match=r"\bq0\b.*\(5,\).*\(7,\)"):
        arm.inverse_kinematics("arm_tool", target, np.zeros(5))
    with pytest.raises(ArgumentError, match=r"\bq\b.*\(5,\).*\(\.\.\., 7\)"):
        arm.pose("arm_tool", np.zeros(5))
    with pytest.raises(ArgumentError, match=r"\bqd\b.*\(7, 2\).*\(\.\.\., 7\)"):
        arm.velocity("arm_tool", np.zeros(7), np.zeros((7, 2)))
    with pytest.raises(ArgumentError, match=r"\bq\b.*'zero'"):
        arm.jacobian("arm_tool", "zero")


@pytest.mark.parametrize("tree", TREES)
def test_a_four_bar_ends_at_the_limit_of_its_pin(tree):
    """A point of the coupler is reached within the limits; beyond, the pin ends at its limit."""
    robot = four_bar(*tree)
    q = robot.assemble(np.random.default_rng(1).uniform(-1, 1, 3)).q
    limits = angles(robot, q)[3] - np.array([LOW, HIGH])
    assert limits[0] >= -1e-9 >= limits[1] - 2e-9
    for crank, reached in ((-1.1, True), (-1.9, False)):
        there = robot.assemble(q, held={"j1": crank}, limits=False).q if "j1" in tree else None
        if there is None:
            continue
        assert (LOW <= angles(robot, there)[3] <= HIGH) == reached
        found = robot.inverse_kinematics("coupler", robot.pose("coupler", there)[:3, 3], q)
        assert found.converged == reached
        if not reached:
            assert found.at_limits == ("pin",)
            assert min(abs(angles(robot, found.q)[3] - np.array([LOW, HIGH]))) < 1e-8


def five_bar(*tree):
    """Return a five-bar in the x-y plane whose pin has limits, with a spanning tree."""
    names = ("a1", "b1", "a2", "b2", "tip")
    links = (LinkElement("base"), *(LinkElement(name, 1.0, inertia=np.eye(3)) for name in names))
    joints = (
        JointElement("j1", "revolute", "base", "a1"),
        JointElement("k1", "revolute", "a1", "b1", pose((0.3, 0, 0))),
        JointElement("j2", "revolute", "base", "a2", pose((0.4, 0, 0))),
        JointElement("k2", "revolute", "a2", "b2", pose((0.3, 0, 0))),
        JointElement("weld", "fixed", "b2", "tip", pose((0.4, 0, 0))),
        JointElement("pin", "revolute", "b1", "tip", pose((0.4, 0, 0)), limits=Limits(0.6, 1.3)),
    )
    return Robot.from_mechanism(Mechanism("five_bar", links, joints), spanning_tree=tree)


@pytest.mark.parametrize("target", [(0.28, 0.52), (0.35, 0.53), (0.41, 0.45)])
def test_the_nearest_point_within_the_limit_of_a_loop_joint(target):
    """A tip out of reach is as near in every spanning tree, and a search finds nothing nearer."""
    target = np.array([*target, 0.0])
    errors = []
    for tree in (("j1", "k1", "j2", "k2"), ("j1", "k1", "pin", "k2")):
        robot = five_bar(*tree)
        values = {"j1": 2.2, "k1": -1.4, "j2": 0.9, "k2": 1.4, "pin": 1.0}
        q0 = robot.assemble([values[name] for name in robot.model.joint_names]).q
        found = robot.inverse_kinematics("tip", target, q0, iterations=300)
        assert not found.converged
        assert found.at_limits == ("pin",)
        errors.append(found.position_error)
        free = robot.inverse_kinematics("tip", target, q0, limits=False)
        assert free.converged
    assert_allclose(errors[0], errors[1], rtol=1e-5)
    # With the pin held at its limit, the place of the tip is a function of j1 alone.
    best, at = np.inf, found.q
    for j1 in found.q[0] + np.linspace(-0.3, 0.3, 61):
        try:
            at = robot.assemble(at, held={"j1": j1, "pin": 1.3}, restarts=0).q
        except AssemblyError:
            continue
        best = min(best, float(np.linalg.norm(robot.pose("tip", at)[:3, 3] - target)))
    assert_allclose(errors[0], best, rtol=1e-3)
    assert errors[0] <= best + 1e-7
