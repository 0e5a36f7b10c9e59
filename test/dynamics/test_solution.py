# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The methods of section 8.5 against one another and against other engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import golden, linkages
from support.closed_loops import LINKAGES, LOOP_TYPES, closed_at, closed_state, random_loops
from support.mechanisms import random_pose, random_tree

from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.solution import AUTO, MAXIMAL, METHODS, solution
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.robot import Robot

BY_NAME = [name for name in METHODS if name != AUTO]


def agree(robot, q, qd, tau, **options):
    """Check that all methods give the same motion, forces and report, to their conditioning."""
    H, _, K, *_ = robot.constraint_terms(q, qd)
    motions = [robot.constrained_motion(q, qd, tau, method=m, **options) for m in METHODS]
    one = motions[0]
    # Digits lost: those of H, and of the constraints, which come in once.
    bound = 1e-14 * np.linalg.cond(H) / (one.conditioning or 1.0) + 1e-13
    assert bound < 1e-7
    for other in motions[1:]:
        assert_allclose(other.qdd, one.qdd, atol=bound * np.max(np.abs(one.qdd)))
        scale = np.max(np.abs(one.multipliers), initial=0.0) + np.max(np.abs(tau))
        assert_allclose(other.multipliers, one.multipliers, atol=bound * scale)
        assert (other.rank, other.redundant) == (one.rank, one.redundant)
        assert (other.undetermined, other.length) == (one.undetermined, one.length)
        assert other.residual < bound * (np.max(np.abs(one.qdd)) + np.max(np.abs(K @ one.qdd)))
    return one


@pytest.mark.parametrize("name", LINKAGES)
def test_c6_methods_agree_on_every_linkage(name, rng):
    """Row C6: methods 1, 2 and 3 agree on every linkage, redundant or not, and fulfil both rows
    of the equation; with stabilisation as well.
    """
    robot = Robot.from_mechanism(LINKAGES[name])
    for _ in range(3):
        q, qd, tau = closed_state(robot, rng)
        motion = agree(robot, q, qd, tau)
        H, C, K, *_ = robot.constraint_terms(q, qd)
        exerted = K.T @ motion.multipliers
        scale = np.max(np.abs(exerted)) + np.max(np.abs(tau)) + np.max(np.abs(C))
        assert_allclose(H @ motion.qdd + C, tau + exerted, atol=1e-11 * scale)
        agree(robot, q, qd, tau, stabilisation_time=0.1)


def crossing_lines(angle):
    """Return a planar body with one point on two lines that cross at an angle [rad].

    The smaller the angle the weaker the second line acts, and the accelerations are the same.
    """
    links = [LinkElement(name, 1.0, (0.1, 0.05, 0.0), np.diag([0.02, 0.02, 0.03]))
             for name in ("base", "body", "arm")]  # fmt: skip
    joints = (
        JointElement("plane", "planar", "base", "body"),
        JointElement("hinge", "revolute", "body", "arm", pose((0.3, 0.0, 0.0))),
    )
    point = (0.2, 0.1, 0.0)
    loops = tuple(
        LoopElement(f"line{i}", "point_on_line", "base", "body",
                    pose(point, Rotation.from_euler("yz", [np.pi / 2, 0.3 + turned]).as_matrix()),
                    pose(point))
        for i, turned in enumerate((0.0, angle))
    )  # fmt: skip
    mechanism = Mechanism("crossing_lines", tuple(links), joints, loops)
    return Robot.from_mechanism(mechanism, gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("angle", [1e-3, 1e-5, 3e-6, 1e-6, 3e-7, 1e-8, 1e-9, 1e-10, 1e-11])
def test_weak_constraints_cost_digits_once(angle):
    """Two lines through one point cross at a small angle: every method, and compiled code, uses
    both, and loses the digits of the angle and not those of its square.
    """
    state = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.3, 1.0, 2.0, 0.1])
    expected = crossing_lines(1.0).constrained_motion(*state).qdd
    robot = crossing_lines(angle)
    size = np.finfo(float).eps * np.max(np.abs(expected))
    for method in METHODS:
        motion = robot.constrained_motion(*state, method=method)
        assert motion.rank == 2
        # Where it counts among free bodies, the strength is another number of the same size.
        assert 0.1 * angle < motion.conditioning < 3.0 * angle
        # K and k are sums of a few terms; sparse factors are of soft rows, and refined.
        roundings = 300.0 if method == MAXIMAL else 10.0
        assert_allclose(motion.qdd, expected, atol=roundings * size / motion.conditioning)
    # That one squares the conditioning, as long as nine digits are left.
    atol = max(10.0 * size / angle, 1e-9 * np.max(np.abs(expected)))
    assert_allclose(robot.forward_dynamics(*state), expected, atol=atol)


@pytest.mark.parametrize("kind", LOOP_TYPES)
def test_c6_methods_agree_on_every_loop_joint(kind, rng):
    """Row C6: so they do with a loop joint of any type, and so does compiled code."""
    mechanism, near = random_loops(kind, rng)
    robot = Robot.from_mechanism(mechanism)
    q, qd, tau = closed_state(robot, rng, near)
    motion = agree(robot, q, qd, tau)
    qdd, multipliers, pivot = robot.closed_loop(q, qd, tau)
    assert motion.rank == robot.model.constraint_count
    assert pivot > SMALLEST_PIVOT
    # That one squares the conditioning of the constraints.
    assert_allclose(qdd, motion.qdd, atol=1e-8 * np.max(np.abs(qdd)))
    assert_allclose(multipliers, motion.multipliers, atol=1e-8 * np.max(np.abs(multipliers)))


@pytest.mark.parametrize("method", METHODS)
def test_stabilisation_is_that_of_baumgarte(method, rng):
    """With loops open by e and speeds off by v, K qdd - k is -2 v / T - e / T^2 (8.22)."""
    robot = Robot.from_mechanism(linkages.stewart_platform())
    q, qd, tau = closed_state(robot, rng)
    model = robot.model
    q = np.array(model.integrate(q.tolist(), (1e-6 * rng.normal(size=model.nv)).tolist()))
    qd = qd + 1e-4 * rng.normal(size=model.nv)
    _, _, K, k, error, speed = robot.constraint_terms(q, qd)
    T = 0.05
    motion = robot.constrained_motion(q, qd, tau, method=method, stabilisation_time=T)
    assert_allclose(K @ motion.qdd - k, -2 * speed / T - error / T**2,
                    atol=1e-11 * np.max(np.abs(motion.qdd)))  # fmt: skip
    assert motion.residual < 1e-11 * np.max(np.abs(motion.qdd))


def test_open_by_a_little_they_still_agree(rng):
    """Redundant constraints that contradict each other by a closure error are met in the mean, by
    all methods alike.
    """
    robot = Robot.from_mechanism(linkages.bricard())
    q, qd, tau = closed_state(robot, rng)
    q = q + 1e-8 * rng.normal(size=5)
    motions = [robot.constrained_motion(q, qd, tau, method=m) for m in METHODS]
    one = motions[0]
    assert one.rank == 4
    for other in motions[1:]:
        # What is noise in the rows is left out by each in its way.
        assert_allclose(other.qdd, one.qdd, atol=1e-6 * np.max(np.abs(one.qdd)))
        assert other.rank == 4


@pytest.mark.parametrize("method", BY_NAME)
def test_trees_are_solved_by_all(method, rng):
    """Without loops every method is forward dynamics of the tree."""
    robot = Robot.from_mechanism(replace(linkages.four_bar(), loops=()))
    q, qd, tau = rng.normal(size=(3, 3))
    motion = robot.constrained_motion(q, qd, tau, method=method)
    assert_allclose(motion.qdd, robot.forward_dynamics(q, qd, tau), rtol=1e-10)
    assert motion.multipliers.shape == (0,)


def test_auto_finds_a_way_without_inertia(rng):
    """With singular H, as of rods without mass, "multipliers first" refuses, "auto" solves."""
    robot = Robot.from_mechanism(linkages.four_bar())
    q, qd, tau = closed_state(robot, rng)
    H, C, K, k, error, _ = robot.constraint_terms(q, qd)
    ranked = constraint_rank(robot.model, K, error, q)
    H = np.diag([H[0, 0], 0.0, 0.0])
    with pytest.raises(RobotDynamicsError, match="not positive definite"):
        solution(robot.model, ranked, H, tau - C, K, k, "multipliers first")
    direct = solution(robot.model, ranked, H, tau - C, K, k, "direct")
    chosen = solution(robot.model, ranked, H, tau - C, K, k)
    assert_allclose(chosen.qdd, direct.qdd, rtol=1e-11)
    assert_allclose(chosen.multipliers, direct.multipliers, atol=1e-10 * np.max(np.abs(tau)))
    with pytest.raises(RobotDynamicsError, match="a motion without inertia"):
        solution(robot.model, ranked, 0.0 * H, tau - C, K, k)


def test_an_unknown_method_is_refused(rng):
    """The names that exist are in the message."""
    robot = Robot.from_mechanism(linkages.four_bar())
    with pytest.raises(UnknownNameError, match=r"'dirct'.*'direct'"):
        robot.constrained_motion(*np.zeros((3, 3)), method="dirct")


@pytest.mark.parametrize("method", METHODS)
def test_numbers_that_are_none_are_refused(method, rng):
    """A nan in any argument is an error, whatever the method."""
    robot = Robot.from_mechanism(linkages.four_bar())
    state = closed_state(robot, rng)
    for which in range(3):
        spoilt = [x.copy() for x in state]
        spoilt[which][0] = np.nan
        with np.errstate(invalid="ignore"), pytest.raises(RobotDynamicsError, match="finite"):
            robot.constrained_motion(*spoilt, method=method)


@pytest.mark.parametrize("closure", ["revolute", "sphere_in_cylinder"])
@pytest.mark.parametrize("method", METHODS)
def test_n10_golden_case(method, closure):
    """Golden case N10 to the printed digits, by every method: qdd, lambda; G and g as well."""
    model = golden.actuated_arm_model(closure)
    robot, at = Robot(model), golden.order(model)
    state = [golden.ordered(model, x) for x in (golden.Q, golden.QD, golden.TAU)]
    motion = robot.constrained_motion(*state, method=method)
    assert (motion.rank, len(motion.redundant)) == (2, robot.model.constraint_count - 2)
    # Positions are printed to twelve digits.
    assert_allclose(motion.qdd[at], golden.QDD, atol=3e-10)
    if closure == "revolute":
        force, others = motion.multipliers[2:4], motion.multipliers[[0, 1, 4]]
    else:
        # The forces come in the axes of the cylinder, on the crank: turned by the angle between.
        c, s = np.cos(golden.Q[1] - golden.Q[0]), np.sin(golden.Q[1] - golden.Q[0])
        force, others = np.array([[c, s], [-s, c]]) @ motion.multipliers, np.zeros(1)
    assert_allclose(force, golden.MULTIPLIERS, atol=1e-10)
    assert_allclose(others, 0.0, atol=1e-10)
    form = robot.independent_form(*state[:2], ["q1", "q4"])
    y = [form.names.index(name) for name in ("q1", "q4")]
    assert_allclose((form.G[:, y] @ golden.YDD + form.g)[at], golden.QDD, atol=3e-10)
    assert_allclose((form.G[:, y] @ golden.YD)[at], golden.QD, atol=1e-11)
    qdd, _ = robot.independent_dynamics(["q1", "q4"], q=robot.assemble(state[0]).q)(*state)
    assert_allclose(qdd[at], golden.QDD, atol=3e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [("fixed", "fixed"), ("spherical", "spherical"),
                                   ("spherical", "fixed")])  # fmt: skip
def test_c6_accelerations_equal_pinocchio(method, kinds, rng):
    """Row C6: pin.constraintDynamics with six- and three-dimensional constraints moves alike."""
    from support.oracle import Pinocchio

    tree = random_tree(rng, ["revolute", "prismatic", "revolute"] * 5, chain=True)
    q = rng.uniform(-1.0, 1.0, 15)
    one = closed_at(tree, q, [("one", "base", "link8", random_pose(rng))], kinds[0])
    both = closed_at(one, q, [("two", "link4", "link14", random_pose(rng))], kinds[1])
    robot = Robot.from_mechanism(both)
    q, qd, tau = closed_state(robot, rng, q)
    found = robot.constrained_motion(q, qd, tau, method=method).qdd
    theirs = Pinocchio.of_mechanism(both, robot.model).closed_loop(q, qd, tau)
    # It regularises by an inertia of 1e-12 or so, which constraints of weight 1e-2 feel as 1e-8.
    assert_allclose(found, theirs, atol=1e-8 * np.max(np.abs(theirs)))


FOUR_BAR = """
<mujoco><option gravity="0 -9.81 0" iterations="200" tolerance="1e-14"/><worldbody>
  <body name="crank"><joint axis="0 0 1"/>{part}
    <body name="coupler" pos=".3 0 0"><joint axis="0 0 1"/>{part}
      <body name="rocker" pos=".8 0 0"><joint axis="0 0 1"/>{part}</body></body></body>
</worldbody><equality>
  <connect body1="rocker" body2="world" anchor=".6 0 0"/>
</equality></mujoco>"""


def test_c6_accelerations_approach_mujoco():
    """Row C6: MuJoCo's soft constraints come as near to ours as they are hard, (1 - impedance) of
    the acceleration that they take away, and their limit is ours.
    """
    mujoco = pytest.importorskip("mujoco")
    part = '<inertial pos=".1 0 .02" mass="1" diaginertia=".02 .03 .04"/>'
    theirs = mujoco.MjModel.from_xml_string(FOUR_BAR.format(part=part))
    theirs.eq_data[0][:6] = [0.6, 0.0, 0.0, 0.9, 0.0, 0.0]
    data = mujoco.MjData(theirs)
    robot = Robot.from_mechanism(linkages.four_bar("spherical"), gravity=(0.0, -9.81, 0.0))
    state = robot.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    tau = np.array([3.0, 1.0, -0.5])
    expected = robot.constrained_motion(state.q, state.qd, tau).qdd

    def soft(impedance):
        theirs.eq_solimp[0] = [impedance, impedance, 1e-3, 0.5, 2.0]
        data.qpos, data.qvel, data.qfrc_applied = state.q, state.qd, tau
        mujoco.mj_forward(theirs, data)
        return data.qacc.copy()

    scale = np.max(np.abs(expected))
    one, other = soft(0.999), soft(0.9999)
    assert 1e-5 < np.max(np.abs(other - expected)) / scale < 3e-4
    # Without the part that is in proportion to the softness, what is left is of its square.
    assert_allclose((10.0 * other - one) / 9.0, expected, atol=3e-6 * scale)


@pytest.mark.parametrize("mass", [0.0, 1e-9])
def test_a_cage_without_inertia_moves_as_one_of_next_to_none(mass):
    """A massless link between turned, geared joints: H is singular to rounding, and is told."""
    turn = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).as_matrix()
    axis = tuple(turn.T @ [0.0, 0.0, 1.0])
    inertia = np.diag([0.02, 0.025, 0.03])
    robot = Robot.from_mechanism(
        Mechanism(
            "gear",
            (
                LinkElement("base"),
                LinkElement("arm", 1.0, (0.1, 0.2, 0), inertia),
                LinkElement("cage", mass, (0, 0, 0), mass * np.eye(3)),
                LinkElement("out", 1.0, (0.3, 0.1, 0.2), inertia),
            ),
            (
                JointElement("j0", "revolute", "base", "arm"),
                JointElement(
                    "j1", "revolute", "arm", "cage", pose((0.3, 0.1, 0), turn), tuple(axis)
                ),
                JointElement(
                    "j2", "revolute", "cage", "out", pose((0, 0, 0), turn), tuple(turn.T @ axis)
                ),
            ),
            (),
            (CouplingElement.gear("g", "j1", "j2", 0.5),),
        )
    )
    q, qd, tau = np.array([0.2, 0.3, 0.6]), np.zeros(3), np.array([1.0, 0.5, -0.3])
    direct = robot.constrained_motion(q, qd, tau, method="direct").qdd
    # Rounding of well-conditioned methods, and the nine digits that full rank promises.
    assert np.allclose(robot.constrained_motion(q, qd, tau).qdd, direct, rtol=1e-8)
    assert np.allclose(robot.forward_dynamics(q, qd, tau), direct, rtol=1e-7)
    assert not robot.closed_loop(q, qd, tau)[-1] >= SMALLEST_PIVOT
