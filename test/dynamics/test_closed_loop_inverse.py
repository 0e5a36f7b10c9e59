# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Row C13, inverse dynamics of closed loops: Example 8.2, and forward dynamics gives it back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import golden, linkages
from support.actuated import GRAVITY_DOWN_Y, driven, motion
from support.closed_loops import LINKAGES, twice
from support.mechanisms import two_arms

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.robot import Robot

# Golden numbers have eleven or twelve digits, and forces are of some ten newtons.
PRINTED = 1e-10
# What is asked for: accelerations of forward dynamics, as a part of the largest.
BACK = 1e-10
# Rounding of sums of forces of some hundred newtons.
EXACT = 1e-11


def arms():
    """Return two arms of seven joints that hold an object, and where they do."""
    cell = two_arms()
    return Robot(cell.system.model), cell.start


def five_bar(*active: str) -> Robot:
    """Return five bars in a plane with drives in these joints: two motions."""
    b = linkages.Builder("five_bar")
    b.add("left", "base")
    b.add("left_fore", "left", at=(0.5, 0, 0))
    b.add("right", "base", at=(0.6, 0, 0))
    b.add("right_fore", "right", at=(0.5, 0, 0))
    b.close("pin", "revolute", "left_fore", "right_fore", (0.6, 0, 0), (0.6, 0, 0))
    return Robot(build(driven(b.done(), *active), gravity=GRAVITY_DOWN_Y))


# An attitude in which the five bars close without singularity.
OPEN = np.array([2.2, -1.4, 0.9, 1.4])


def test_c13_efforts_of_case_n10_are_as_printed():
    """Row C13, N10: tau_ID, G^T tau_ID and u of drives at joints 3 and 4, as printed."""
    model = golden.actuated_arm_model()
    robot = Robot(model)
    q, qd, qdd = (golden.ordered(model, v) for v in (golden.Q, golden.QD, golden.QDD))
    tau_id = robot.inverse_dynamics(q, qd, qdd)
    assert_allclose(tau_id[golden.order(model)], golden.TAU_ID, atol=PRINTED)
    G = robot.independent_form(q, qd, ["q1", "q4"]).G
    assert_allclose(G.T @ tau_id, golden.EFFORT, atol=PRINTED)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=["q3", "q4"])
    assert_allclose([found.by_name["q3"], found.by_name["q4"]], golden.U, atol=PRINTED)
    assert (found.actuation, found.mobility, found.driven, found.free) == ("fully", 2, 2, ())
    assert found.null_space.shape == (2, 0)
    assert_allclose(robot.forward_dynamics(q, qd, found.tau), qdd, atol=PRINTED)


@pytest.mark.parametrize("seed", range(4))
def test_c13_efforts_of_example_8_2_have_their_closed_form(seed):
    """Row C13: u = [[1/u2, u1/u2, 1, 0], [0, 0, 0, 1]] tau_ID, at any state of the mechanism."""
    rng = np.random.default_rng(seed)
    model = golden.actuated_arm_model()
    robot = Robot(model)
    q, qd, qdd = motion(robot, rng, golden.ordered(model, golden.Q))
    angle = q[model.joint_index("q1")]
    l1, l2 = golden.L1, golden.L2
    d2 = l1**2 + l2**2 - 2.0 * l1 * l2 * np.cos(angle)
    u1 = (l2**2 - l1 * l2 * np.cos(angle)) / d2
    u2 = l1 * l2 * np.sin(angle) / np.sqrt(d2)
    tau = robot.inverse_dynamics(q, qd, qdd)[golden.order(model)]
    u = np.array([[1.0 / u2, u1 / u2, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]) @ tau
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=["q3", "q4"])
    # The loop is closed to 1e-9 of its length, and lever arms of u are off by as much.
    assert_allclose([found.by_name["q3"], found.by_name["q4"]], u, rtol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", [*LINKAGES, "two arms"])
def test_c13_forward_dynamics_gives_it_back(name, seed):
    """Row C13: fed to forward dynamics, the efforts give the acceleration, to 1e-10."""
    rng = np.random.default_rng(seed)
    robot, near = arms() if name == "two arms" else (Robot.from_mechanism(LINKAGES[name]), None)
    q, qd, qdd = motion(robot, rng, near)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    scale = np.max(np.abs(qdd))
    assert_allclose(robot.forward_dynamics(q, qd, found.tau), found.qdd, atol=BACK * scale)
    assert_allclose(found.qdd + found.missing, qdd, atol=EXACT * scale)
    assert found.residual < EXACT * max(1.0, np.max(np.abs(found.multipliers), initial=1.0))
    # Only rods that spin idly cannot be driven.
    assert bool(found.free) == (found.actuation == "underactuated") == ("leg" in name)
    if not found.free:
        assert_allclose(found.qdd, qdd, atol=0.0)
    # The multipliers are those of forward dynamics.
    same = robot.constrained_motion(q, qd, found.tau)
    assert_allclose(
        found.multipliers,
        same.multipliers,
        atol=1e-9 * np.max(np.abs(same.multipliers), initial=1),
    )
    assert_allclose(found.loop_forces, robot.loop_forces(q, qd, found.multipliers), atol=0.0)


def test_c13_null_space_does_no_work(rng):
    """Row C13: with 14 drives for 8 motions, six combinations do no work and move nothing."""
    robot, near = arms()
    q, qd, qdd = motion(robot, rng, near)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    assert (found.actuation, found.mobility, found.driven) == ("redundantly", 8, 8)
    assert found.null_space.shape == (14, 6)
    over_scales = found.null_space / found.scales[:, None]
    assert_allclose(over_scales.T @ over_scales, np.eye(6), atol=EXACT)
    B = np.eye(robot.model.nv)[:, robot.model.active]
    for _ in range(5):
        admissible = robot.assemble(q, velocities=rng.normal(size=robot.model.nv)).qd
        assert_allclose(found.null_space.T @ B.T @ admissible, 0.0, atol=EXACT)
    squeeze = 50.0 * rng.normal(size=6)
    pushed = robot.constrained_motion(q, qd, found.tau + B @ found.null_space @ squeeze)
    assert_allclose(pushed.qdd, qdd, atol=BACK * np.max(np.abs(qdd)))
    assert_allclose(
        pushed.multipliers, found.multipliers + found.null_multipliers @ squeeze, atol=1e-8
    )
    # Efforts of least squares have no internal part; what is added is all of it.
    assert_allclose(found.internal, 0.0, atol=EXACT)


def test_c13_two_drives_on_a_four_bar(rng):
    """Row C13: crank and rocker of a four-bar share the effort as G / w does, in closed form."""
    mechanism = driven(linkages.four_bar(), "crank_joint", "rocker_joint")
    robot = Robot(build(mechanism, gravity=GRAVITY_DOWN_Y))
    q, qd, qdd = motion(robot, rng)
    G = robot.independent_form(q, qd, ["crank_joint"]).G[:, 0]
    power = G @ robot.inverse_dynamics(q, qd, qdd)
    for weights in ([1.0, 1.0], [4.0, 0.25]):
        a = G[[0, 2]]
        u = a / weights * power / (a @ (a / weights))
        found = robot.closed_loop_inverse_dynamics(q, qd, qdd, weights=weights)
        assert found.drives == ("crank_joint", "rocker_joint")
        assert_allclose(found.efforts, u, rtol=1e-10)
        assert (found.actuation, found.null_space.shape) == ("redundantly", (2, 1))


def test_c13_internal_load_is_told_from_the_rest(rng):
    """Row C13: a wanted force in the loop adds efforts in the null space, and only there."""
    robot, near = arms()
    q, qd, qdd = motion(robot, rng, near)
    least = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    name = robot.model.loops[0].name + ".z"
    squeezed = robot.closed_loop_inverse_dynamics(q, qd, qdd, prefer={name: 40.0})
    row = [f"{lo.name}.{r.direction}" for lo in robot.model.loops for r in lo.type.rows].index(
        name
    )
    assert_allclose(squeezed.multipliers[row], 40.0, rtol=1e-10)
    assert_allclose(squeezed.particular, least.efforts, atol=1e-9)
    assert_allclose(squeezed.efforts - least.efforts, squeezed.internal, atol=1e-9)
    assert np.max(np.abs(squeezed.internal)) > 1.0
    # The cheapest way to that force: along the row of null_multipliers.
    direction = squeezed.null_space @ squeezed.null_multipliers[row]
    step = 40.0 - least.multipliers[row]
    share = step / (squeezed.null_multipliers[row] @ squeezed.null_multipliers[row])
    assert_allclose(squeezed.internal, share * direction, atol=1e-8)


def test_c13_the_free_motion_of_five_bars_is_named(rng):
    """Row C13: of five bars with one drive it names the motion that is free, and how far it goes.

    The accelerations that it gives are those nearest to the wish in the metric of the inertia.
    """
    robot = five_bar("left_joint")
    q, qd, qdd = motion(robot, rng, OPEN)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    assert (found.actuation, found.mobility, found.driven) == ("underactuated", 2, 1)
    assert len(found.free) == 1
    assert found.free[0] != "left_joint"
    assert np.max(np.abs(found.missing)) > 0.1
    assert_allclose(
        robot.forward_dynamics(q, qd, found.tau), found.qdd, atol=BACK * np.max(np.abs(qdd))
    )
    # Orthogonal to all that the drive can do: any other effort gives a larger error.
    H = robot.inertia_matrix(q)
    more = robot.forward_dynamics(q, qd, found.tau + np.array([1.0, 0, 0, 0])) - found.qdd
    assert abs(found.missing @ H @ more) < 1e-9 * np.sqrt(
        (found.missing @ H @ found.missing) * (more @ H @ more)
    )
    # What the drive can do is done: nothing is missing, and the effort comes back.
    passive = robot.forward_dynamics(q, qd, np.array([3.0, 0.0, 0.0, 0.0]))
    again = robot.closed_loop_inverse_dynamics(q, qd, passive)
    assert_allclose(again.efforts, 3.0, rtol=1e-9)
    assert_allclose(again.missing, 0.0, atol=1e-9 * np.max(np.abs(passive)))


def test_c13_too_few_drives_and_too_many_at_once(rng):
    """Row C13: two drives on one motion leave the other free and can work against each other."""
    b = linkages.Builder("swing")
    four = linkages.four_bar()
    b.links, b.joints, b.loops = list(four.links), list(four.joints), list(four.loops)
    b.add("bob", "rocker", at=(0.2, 0, 0))
    robot = Robot(build(driven(b.done(), "crank_joint", "coupler_joint"), gravity=GRAVITY_DOWN_Y))
    found = robot.closed_loop_inverse_dynamics(*motion(robot, rng))
    assert found.actuation == "underactuated, redundantly"
    assert (found.mobility, found.driven, found.null_space.shape) == (2, 1, (2, 1))
    assert found.free == ("bob_joint",)


def test_c13_without_drives_the_motion_under_gravity_is_reported(rng):
    """Row C13: without drives it tells the motion that gravity gives, and all that is missing."""
    robot = five_bar()
    q, qd, qdd = motion(robot, rng, OPEN)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    falls = robot.forward_dynamics(q, qd, np.zeros(4))
    assert (found.actuation, found.efforts.shape, len(found.free)) == ("none", (0,), 2)
    assert_allclose(found.qdd, falls, atol=BACK * np.max(np.abs(falls)))


def test_c13_a_drive_in_a_loop_joint_acts_as_in_the_tree(rng):
    """Row C13: a drive in the loop joint does the same as one in the tree, and is named."""
    robot = Robot(build(driven(linkages.four_bar(), "pin"), gravity=GRAVITY_DOWN_Y))
    q, qd, qdd = motion(robot, rng)
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    assert (found.drives, found.actuation) == (("pin",), "fully")
    assert_allclose(found.tau, robot.loop_drives(q) @ found.efforts, atol=0.0)
    assert_allclose(robot.forward_dynamics(q, qd, found.tau), qdd, atol=BACK * np.max(np.abs(qdd)))
    assert_allclose(
        found.loop_forces, robot.loop_forces(q, qd, found.multipliers, found.efforts), atol=0.0
    )
    # About its axis the pin has the drive's torque and nothing else.
    assert_allclose(found.loop_forces[0, 2], found.efforts[0], rtol=1e-12)
    with pytest.raises(UnknownNameError, match="pin"):
        robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=["pni"])


def test_c13_a_doubled_loop_joint_changes_no_effort(rng):
    """Row C13: a loop joint that is there twice changes no effort; its share is not determined."""
    one = Robot.from_mechanism(linkages.stewart_platform())
    two = Robot.from_mechanism(twice(linkages.stewart_platform()))
    q, qd, qdd = motion(one, rng)
    once, again = (r.closed_loop_inverse_dynamics(q, qd, qdd) for r in (one, two))
    assert_allclose(again.efforts, once.efforts, atol=1e-9 * np.max(np.abs(once.efforts)))
    assert once.determined.all()
    assert not again.determined[:3].any()
    assert again.redundant == ("again.x", "again.y", "again.z")
    shared = again.multipliers[:3] + again.multipliers[-3:]
    assert_allclose(shared, once.multipliers[:3], atol=1e-9 * np.max(np.abs(once.multipliers)))


def sprung(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with a spring in its first loop joint and one in its first joint."""
    first, loop = mechanism.joints[0], mechanism.loops[0]
    return replace(
        mechanism,
        joints=(replace(first, stiffness=30.0, rest=0.4), *mechanism.joints[1:]),
        loops=(replace(loop, stiffness=20.0, rest=-0.3), *mechanism.loops[1:]),
    )


@pytest.mark.parametrize("springs", [False, True])
@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "excavator", "five_bar"])
def test_c13_gravity_compensation_holds_at_rest(name, springs, rng):
    """Row C13: at rest nothing accelerates, and work along every motion is that of the energy."""
    if name == "five_bar":
        robot, near = five_bar("left_joint", "right_joint"), OPEN
    else:
        mechanism = getattr(linkages, name)()
        robot = Robot(build(sprung(mechanism) if springs else mechanism, gravity=GRAVITY_DOWN_Y))
        near = None
    q, qd, _ = motion(robot, rng, near)
    rest = np.zeros(robot.model.nv)
    found = robot.gravity_compensation(q)
    assert np.max(np.abs(found.efforts)) > 0.1
    assert_allclose(robot.forward_dynamics(q, rest, found.tau), 0.0, atol=1e-10)
    # dV along the motion, by central differences on the closed mechanism
    h = 1e-4

    def energy(step):
        moved = np.array(robot.model.integrate(q.tolist(), (step * qd).tolist()))
        return robot.energies(robot.assemble(moved, metric="inertia", limits=False).q, rest)[1]

    slope = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    # Fourth order, at 1e-4: rounding of 1e-15 of some ten joules over 1e-4.
    assert_allclose(found.tau @ qd, slope, atol=1e-8 * max(1.0, abs(slope)))


def test_c13_the_tree_does_not_hold_the_loop(rng):
    """Row C13: torques of the open tree at the same drives let the closed mechanism move."""
    robot = Robot(build(linkages.four_bar(), gravity=GRAVITY_DOWN_Y))
    q, _, _ = motion(robot, rng)
    rest = np.zeros(3)
    of_tree = robot.inverse_dynamics(q, rest, rest) * robot.model.active
    assert np.max(np.abs(robot.forward_dynamics(q, rest, of_tree))) > 1.0


def test_c13_in_a_tree_it_equals_inverse_dynamics(rng):
    """Row C13: of a tree it is inverse dynamics."""
    arm = two_arms().mechanism
    robot = Robot(build(replace(arm, loops=())))
    q, qd, qdd = motion(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)
    every = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=robot.model.joint_names)
    assert_allclose(every.tau, tau, atol=EXACT * np.max(np.abs(tau)))
    assert (every.actuation, every.multipliers.shape) == ("fully", (0,))


def test_c13_a_wish_that_opens_the_loop_is_refused_or_projected(rng):
    """Row C13: the loop and the error are named; `project` takes the nearest consistent wish."""
    robot = Robot(build(linkages.four_bar(), gravity=GRAVITY_DOWN_Y))
    q, qd, qdd = motion(robot, rng)
    wish = qdd + np.array([0.0, 1.0, 0.0])
    with pytest.raises(AssemblyError, match="'pin'"):
        robot.closed_loop_inverse_dynamics(q, qd, wish)
    with pytest.raises(AssemblyError, match="'pin'"):
        robot.closed_loop_inverse_dynamics(q, qd + np.array([0.0, 0.1, 0.0]), qdd)
    with pytest.raises(AssemblyError, match="'pin' by"):
        robot.closed_loop_inverse_dynamics(q + np.array([0.0, 0.1, 0.0]), qd, qdd)
    found = robot.closed_loop_inverse_dynamics(q, qd, wish, project=True)
    assert_allclose(
        robot.forward_dynamics(q, qd, found.tau), found.qdd, atol=BACK * np.max(np.abs(qdd))
    )
    # Nearest in the metric of H: what was taken off is orthogonal to every free motion.
    H, G = robot.inertia_matrix(q), robot.independent_form(q, qd).G
    assert_allclose(G.T @ H @ (wish - found.qdd), 0.0, atol=EXACT)


def test_c13_motion_without_inertia_and_drive():
    """Row C13: a massless link that no drive moves has no acceleration to speak of."""
    links = (LinkElement("base"), LinkElement("arm", 1.0, (0.1, 0, 0), np.eye(3) * 0.01))
    joints = (
        JointElement("shoulder", "revolute", "base", "arm"),
        JointElement("idle", "revolute", "arm", "flag", pose((0.3, 0, 0)), active=False),
    )
    robot = Robot(build(Mechanism("flag", (*links, LinkElement("flag")), joints)))
    with pytest.raises(RobotDynamicsError, match="without inertia"):
        robot.closed_loop_inverse_dynamics(np.zeros(2), np.zeros(2), np.ones(2))


def test_c13_states_that_are_not_finite_are_refused():
    """Row C13: states that are no numbers are refused."""
    robot = Robot.from_mechanism(linkages.four_bar())
    with pytest.raises(RobotDynamicsError, match="not finite"):
        robot.gravity_compensation(np.array([np.nan, 0.0, 0.0]))
