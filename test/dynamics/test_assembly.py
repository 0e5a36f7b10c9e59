# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a guess to closed loops, with coordinates held; a clear answer where there is no way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages
from support.limited_four_bar import HIGH, LOW, TREES, angles
from support.limited_four_bar import four_bar as limited_four_bar
from support.mechanisms import world_poses

from robot_dynamics.dynamics.assembly import AssemblyError, Gap, assemble, consistent_velocity
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Limits, LoopElement, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate

# Errors are differences of positions of some metres: sixteen digits of those.
CLOSED = 1e-14


@pytest.fixture(scope="module")
def four_bar():
    return Robot.from_mechanism(linkages.four_bar())


def rocker_angle(crank, lengths=(0.3, 0.8, 0.6), ground=0.9):
    """Return the two coupler tips' distances from the ground pivot: the closed form."""
    a, b, c = lengths
    pin = np.array([a * np.cos(crank), a * np.sin(crank)]) - [ground, 0.0]
    d = np.linalg.norm(pin)
    return np.arccos((b * b + c * c - d * d) / (2 * b * c))  # the inner angle at the rocker


@settings(max_examples=30, deadline=None)
@given(crank=st.floats(-3.1, 3.1), seed=st.integers(0, 1000))
def test_a_four_bar_closes_at_any_crank_angle(crank, seed):
    """With the crank held anywhere the loop closes as the law of cosines says, from any guess."""
    robot = Robot.from_mechanism(linkages.four_bar())
    guess = np.random.default_rng(seed).uniform(-3, 3, 3)
    found = robot.assemble(guess, held={"crank_joint": crank})
    assert found.q[0] == crank
    assert found.gap < CLOSED
    # The rocker's joint turns by pi less the inner angle, to one side or the other.
    turned = np.arccos(np.cos(np.pi - abs(found.q[2])))
    assert_allclose(turned, rocker_angle(crank), atol=1e-9)


def test_many_constraints_for_few_coordinates_have_few_starts():
    """Hundreds of loops that contradict one another are not tried fifty times."""
    mechanism = linkages.four_bar()
    pin = mechanism.loops[0]
    at = [pose((0.5 + 0.05 * i, 0.0, 0.0)) for i in range(15)]
    loops = [replace(pin, name=f"pin{i}", predecessor_pose=x) for i, x in enumerate(at)]
    robot = Robot.from_mechanism(replace(mechanism, loops=tuple(loops)))
    with pytest.raises(AssemblyError, match="was found from 5 starts"):
        robot.assemble()


def test_a_closed_guess_is_kept(four_bar):
    """A configuration that closes the loops comes back as it is, at the first start."""
    closed = four_bar.assemble([0.5, 0.1, 0.2]).q
    again = four_bar.assemble(closed)
    assert_allclose(again.q, closed, rtol=0, atol=1e-14)
    assert again.starts == 1


def test_the_nearest_configuration_is_found(four_bar):
    """A small error is mended by a small motion: the assembly mode does not change."""
    closed = four_bar.assemble([0.5, -0.5, -1.0]).q
    near = four_bar.assemble(np.add(closed, [0.01, -0.02, 0.015])).q
    assert np.max(np.abs(near - closed)) < 0.05


@pytest.mark.parametrize("metric", ["length", "inertia"])
def test_loops_close_in_displacements_and_in_kinetic_energy(four_bar, metric):
    """Steps are smallest in displacements or in kinetic energy; loops close in both."""
    found = four_bar.assemble([0.4, -0.3, -1.4], metric=metric)
    assert found.gap < CLOSED


def test_an_unknown_metric_is_refused(four_bar):
    """Another metric is refused with those there are."""
    with pytest.raises(UnknownNameError, match="length, inertia"):
        four_bar.assemble(metric="energy")


def test_floating_and_spherical_joints():
    """Quaternions stay of unit length, and held joints of several freedoms stay where they are."""
    robot = Robot.from_mechanism(linkages.stewart_platform())
    q = robot.model.neutral()
    q[:3] = [0.1, -0.05, 0.1]
    q[3:7] = Rotation.from_euler("xyz", [0.1, -0.2, 0.3]).as_quat()
    found = robot.assemble(q, held=["platform_joint"])
    assert_allclose(found.q[:7], q[:7], rtol=0, atol=0)
    assert found.gap < CLOSED


def test_bars_that_are_too_short_are_reported_with_the_gap(four_bar):
    """Bars too short to meet: the error names the loop and the gap, and nothing is searched."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.1, 0.2, 0.3), ground=0.9))
    with pytest.raises(AssemblyError, match=r"'pin'.*\b300\b") as refusal:
        robot.assemble([0.1, 0.2, 0.3])
    error = refusal.value
    assert_allclose([error.gaps["pin"].position, error.gap], 0.3, rtol=1e-12)  # 0.9 - 0.6
    assert_allclose(error.q, [0.1, 0.2, 0.3], rtol=0, atol=0)


def test_the_narrowest_gap_of_all_starts_is_named(four_bar):
    """Crank and coupler held in line, the rocker's end keeps the distance given by the lengths."""
    with pytest.raises(AssemblyError, match=r"\b6\b.*'pin'.*\b400\b") as no:
        four_bar.assemble(held={"crank_joint": 0.0, "coupler_joint": 0.0}, restarts=5)
    found = four_bar.closure(no.value.q)[1][2:4]
    assert_allclose(found @ found, 0.4**2, 1e-6)  # a rocker of 0.6, its pin 0.3 + 0.8 - 0.9 away


def test_the_search_ends_when_its_time_is_over(four_bar):
    """No start takes a second step, and the message says so; a closed guess is still accepted."""
    closed = four_bar.assemble([0.5, 1.0, 1.0])
    assert four_bar.assemble(closed.q, seconds=0.0).starts == 1
    with pytest.raises(AssemblyError, match=r"\b0\b.*'pin'"):
        four_bar.assemble([0.5, 1.0, 1.0], seconds=0.0)


def test_held_joints_can_stand_in_the_way(four_bar):
    """Held joints are named as a reason."""
    with pytest.raises(AssemblyError, match=r"\b4\b.*held"):
        four_bar.assemble(held={"crank_joint": 0.0, "coupler_joint": 0.0}, restarts=3)


def test_limits_are_kept_unless_told():
    """The crank's range decides whether the loop can close; without limits it does."""
    mechanism = linkages.four_bar()
    narrow = Limits(lower=0.2, upper=0.4)
    joints = [replace(j, limits=narrow) if j.name == "coupler_joint" else j
              for j in mechanism.joints]  # fmt: skip
    robot = Robot.from_mechanism(replace(mechanism, joints=tuple(joints)))
    found = robot.assemble([3.0, 2.0, 1.0])
    assert 0.2 <= found.q[1] <= 0.4
    free = robot.assemble([0.5, -1.5, -1.0], limits=False)
    assert free.q[1] < 0.2
    with pytest.raises(AssemblyError):
        robot.assemble(held={"crank_joint": 0.0, "rocker_joint": 0.0}, restarts=3)


def test_limits_of_joints_with_several_freedoms():
    """A cart on a plane may turn and slide only so far: its arm does the rest, the loop closes."""
    b = linkages.Builder("cart")
    narrow = (Limits(-0.1, 0.1), Limits(0.0, 0.2), Limits(-0.3, 0.05))
    b.add("cart", "base", "planar", limits=narrow)
    b.add("arm", "cart", at=(0.2, 0, 0))
    b.close("pin", "sphere_in_cylinder", "base", "arm", (0.5, 0.5, 0), (0.6, 0, 0))
    robot = Robot.from_mechanism(b.done())
    for seed in range(10):
        guess = np.random.default_rng(seed).uniform(-2, 2, 4)
        found = robot.assemble(guess)
        assert found.gap < CLOSED
        assert np.all(found.q[:3] >= [-0.1, 0.0, -0.3])
        assert np.all(found.q[:3] <= [0.1, 0.2, 0.05])
    far = robot.assemble([0.0, 0.5, 0.5, 0.0], limits=False).q
    assert not 0.0 <= far[1] <= 0.2


def test_limits_of_a_ball_joint():
    """A ball joint with a small range reaches its limit; beyond, the error says so."""
    b = linkages.Builder("ball")
    tilt = (Limits(-0.3, 0.3), Limits(-0.3, 0.3), Limits())
    b.add("rod", "base", "spherical", limits=tilt)
    b.add("slide", "rod", "prismatic", axis=linkages.X)
    b.close("tip", "spherical", "base", "slide", (0.9, 0.1, 0.2))
    robot = Robot.from_mechanism(b.done())
    found = robot.assemble()
    assert found.gap < CLOSED
    assert np.all(np.abs(Rotation.from_quat(found.q[:4]).as_rotvec()[:2]) <= 0.3)
    # To point straight down the rod has to turn by a right angle about y, or about x as well.
    b.loops.clear()
    b.close("tip", "spherical", "base", "slide", (0.0, 0.0, -0.9))
    robot = Robot.from_mechanism(b.done())
    with pytest.raises(AssemblyError, match="joint limits"):
        robot.assemble(restarts=10)
    assert robot.assemble(limits=False).gap < CLOSED


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "fixed", "prismatic"])
def test_an_axis_turned_round_is_not_closed(kind):
    """A hinge's error vanishes as well where its axis points the other way: not accepted."""
    b = linkages.Builder("turned")
    b.add("ball", "base", "floating")
    b.close("hinge", kind, "base", "ball")
    robot = Robot.from_mechanism(b.done())
    turned = robot.model.neutral()
    turned[3:7] = [1.0, 0.0, 0.0, 0.0]
    blocked = kind in ("fixed", "prismatic")  # turns count whole angles there
    assert np.max(np.abs(robot.closure(turned)[1])) == pytest.approx(np.pi * blocked, abs=1e-15)
    found = robot.assemble(turned)
    frame = world_poses(robot.model, found.q)["ball"]
    assert_allclose(frame[2, 2], 1.0, atol=1e-12)
    assert found.gap < CLOSED


@pytest.mark.parametrize(("kind", "reason"), [("revolute", "wrong way"), ("fixed", "180 degrees")])
def test_an_axis_that_cannot_be_turned_is_refused(kind, reason):
    """If only the reversed axis can be reached, the error says so."""
    b = linkages.Builder("reversed")
    b.add("cart", "base", "prismatic", axis=linkages.X)
    b.add("wheel", "cart", axis=linkages.Z)
    along = linkages.turn("y", 0.5 * np.pi)  # the hinge's axis is along x
    flipped = pose((0, 0, 0), linkages.turn("z", np.pi) @ along)
    b.close("hinge", kind, "base", "wheel", pose((0, 0, 0), along), flipped)
    robot = Robot.from_mechanism(b.done())
    with pytest.raises(AssemblyError, match=reason):
        robot.assemble([0.3, 0.0], held=["wheel_joint"], restarts=2)
    assert_allclose(abs(robot.assemble([0.3, 0.1]).q[1]), np.pi, atol=1e-9)


def test_a_held_velocity_is_met_and_keeps_loops_closed(four_bar):
    """The velocity of a held joint is met, the others follow and keep the loop closed."""
    found = four_bar.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    assert found.qd[0] == 2.0
    h = 1e-6
    ends = [
        four_bar.assemble(found.q + s * h * found.qd, held=["crank_joint"]).q for s in (1.0, -1.0)
    ]
    assert_allclose((ends[0] - ends[1]) / (2 * h), found.qd, atol=1e-8)
    K, _ = four_bar.closure(found.q)
    assert_allclose(K @ found.qd, 0.0, atol=1e-14)


@pytest.mark.parametrize("metric", ["length", "inertia"])
def test_the_nearest_velocity(four_bar, metric):
    """A wish is changed as little as can be: a consistent one not at all, and twice as once."""
    wish = np.array([1.0, 2.0, 3.0])
    once = four_bar.assemble([0.5, -0.5, -1.0], velocities=wish, metric=metric)
    twice = four_bar.assemble(once.q, velocities=once.qd, metric=metric)
    assert_allclose(twice.qd, once.qd, atol=1e-12)
    K, _ = four_bar.closure(once.q)
    H = four_bar.inertia_matrix(once.q) if metric == "inertia" else np.eye(3)
    # The change is orthogonal, in the metric, to every motion that the loops allow.
    motion = np.linalg.svd(K)[2][2:]
    assert_allclose(motion @ H @ (once.qd - wish), 0.0, atol=1e-12)


def test_held_velocities_with_the_least_energy():
    """With a joint's velocity held the others take those of the least kinetic energy: with two
    motions left of three, any other consistent velocity with the same joint's has more.
    """
    robot = Robot.from_mechanism(linkages.excavator())
    q = robot.assemble([0.9, 0.4, 2.5, 1.0]).q
    found = robot.assemble(q, velocities={"boom_joint": 1.0}, metric="inertia")
    H, (K, _) = robot.inertia_matrix(q), robot.closure(q)
    assert_allclose(K @ found.qd, 0.0, atol=1e-14)
    assert found.qd[0] == 1.0
    motions = np.linalg.svd(K)[2][2:]
    others = motions[0] * motions[1, 0] - motions[1] * motions[0, 0]  # with the boom at rest
    assert abs(others @ H @ found.qd) < 1e-13


def test_velocities_of_a_joint_in_no_loop():
    """Held velocities that no loop sees contradict none, whatever rounding says."""
    b = linkages.Builder("both")
    b.add("free", "base")
    b.add("crank", "base")
    b.add("rod", "crank", at=(0.3, 0, 0))
    b.close("pin", "sphere_in_cylinder", "base", "rod", (0.5, 0.2, 0), (0.6, 0, 0))
    robot = Robot.from_mechanism(b.done())
    found = robot.assemble([0.0, 1.0, -1.0], velocities={"free_joint": 1e-3})
    assert_allclose(found.qd, [1e-3, 0.0, 0.0], atol=1e-15)


def test_velocities_that_contradict_the_loops(four_bar):
    """Two held velocities for one mobility are refused with the rate at which the loop opens."""
    with pytest.raises(AssemblyError, match="'pin'"):
        four_bar.assemble(velocities={"crank_joint": 1.0, "coupler_joint": 1.0})


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_velocities_of_what_cannot_move(seed, size):
    """In a rigid truss nothing is left of any velocity, and with nothing held nothing is
    contradicted: the projection leaves only rounding errors of the request.
    """
    rng = np.random.default_rng(seed)
    mechanism, q = linkages.random_truss(rng)
    robot = Robot.from_mechanism(mechanism)
    wish = size * rng.normal(size=robot.model.nv)
    assert_allclose(robot.assemble(q, velocities=wish).qd, 0.0, atol=1e-11 * size)
    with pytest.raises(AssemblyError, match="held velocities contradict"):
        robot.assemble(q, velocities={robot.model.joint_names[0]: size})


def test_velocity_only_constraints_bind_velocities_alone():
    """A soft finger's torsion is no obstacle to assembly, but to the velocity."""
    b = linkages.Builder("finger")
    b.add("ball", "base", "spherical")
    b.close("touch", "soft_finger", "base", "ball")
    robot = Robot.from_mechanism(b.done())
    q = Rotation.from_euler("z", 0.7).as_quat()
    found = robot.assemble(q, velocities=[0.3, 0.4, 0.5])
    assert_allclose(found.q, q, atol=1e-15)
    assert_allclose(found.qd, [0.3, 0.4, 0.0], atol=1e-15)


def test_the_same_seed_gives_the_same_result(four_bar):
    """Random starts are repeatable."""
    held = {"crank_joint": 2.9}
    first, second = (four_bar.assemble([0, 0, 0], held=held, seed=3) for _ in range(2))
    assert_allclose(first.q, second.q, rtol=0, atol=0)


def test_a_tree_is_closed_already():
    """Without loops a guess is returned, moved into the limits."""
    b = linkages.Builder("arm")
    b.add("link", "base", limits=Limits(-1.0, 1.0))
    robot = Robot.from_mechanism(b.done())
    assert_allclose(robot.assemble([2.0]).q, [1.0])
    assert_allclose(robot.assemble([2.0], limits=False).q, [2.0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": [0.0, 0.0]}, r"\bq\b.*\(3,\)"),
        ({"q": [0.0, np.nan, 0.0]}, "not finite"),
        ({"held": "crank_joint"}, "expected several names"),
        ({"held": {"crank_joint": [1.0, 2.0]}}, "held value of 'crank_joint' has shape"),
        ({"held": ["crank"]}, r"'crank'.*'crank_joint'"),
        ({"held": {"handle": 1.0}}, "'handle'"),
        ({"velocities": [0.0]}, r"\bqd\b.*\(3,\)"),
    ],
)
def test_bad_arguments_are_refused_before_the_search(four_bar, arguments, words):
    """Invalid arguments are refused before the search."""
    with pytest.raises(RobotDynamicsError, match=words):
        four_bar.assemble(**arguments)


def test_functions_take_any_closure(four_bar):
    """The core is NumPy code over a callable: the compiled one is not needed."""
    calls = []

    def closure(q):
        calls.append(q)
        return four_bar.closure(q)

    found = assemble(four_bar.model, closure, np.array([0.5, -0.5, -1.0]))
    assert calls
    qd = consistent_velocity(four_bar.model, closure(found.q)[0], np.ones(3))
    assert qd.shape == (3,)
    with pytest.raises(ArgumentError, match="not finite"):
        consistent_velocity(four_bar.model, closure(found.q)[0], np.full(3, np.inf))


def test_gaps_in_words():
    """Only open loops are reported."""
    assert str(Gap(0.0012, 0.0)) == "1.2 mm"
    assert str(Gap(0.0, np.pi)) == "180 degrees"
    assert str(Gap(196.0, 0.0)) == "196 m"
    assert str(Gap(0.5, np.pi / 2)) == "500 mm and 90 degrees"
    assert str(Gap(0.0, 0.0)) == "nothing"


def test_several_open_loops_are_listed():
    """Each loop that stays open is named, the widest first."""
    mechanism = linkages.four_bar(lengths=(0.1, 0.2, 0.3))
    mechanism = mechanism.with_loops(
        [LoopElement("far", "spherical", "base", "rocker", pose((9.0, 0, 0)))]
    )
    with pytest.raises(AssemblyError, match=r"'far'.*'pin'"):
        Robot.from_mechanism(mechanism).assemble(restarts=1)


def rounded_four_bar(half_turn):
    """Return a four-bar in the x-z plane one of whose axes is turned by rounded angles."""
    upright = linkages.turn("x", half_turn)
    b = linkages.Builder("four_bar")
    b.add("crank", "base", rotation=upright)
    b.add("coupler", "crank", at=(0.3, 0, 0))
    b.add("rocker", "base", at=(0.9, 0, 0), axis=(0.0, -1.0, 0.0))
    b.close("pin", "revolute", "coupler", "rocker", (0.8, 0, 0), pose((0.6, 0, 0), upright))
    return Robot.from_mechanism(b.done())


@pytest.mark.parametrize("decimals", [4, 5, 7, 9])
def test_loops_close_to_the_last_decimal_of_rounded_frames(decimals):
    """Frames given to a few decimals leave loops open by some of the last: that is as closed as
    they get, near the guess, everywhere alike, and the gap is told.
    """
    exact = rounded_four_bar(np.pi / 2).assemble([0.5, 0.0, 1.2], held=["crank_joint"])
    robot = rounded_four_bar(round(np.pi / 2, decimals))
    found = robot.assemble(exact.q, velocities={"crank_joint": 3.0})
    assert found.starts == 1
    assert_allclose(found.q, exact.q, atol=2.0 * 10.0**-decimals)
    assert 0.01 * 10.0**-decimals < found.gap < 10.0**-decimals
    assert robot.mobility(found.q).mobility == robot.mobility().mobility == 1
    run = integrate(robot, found.q, found.qd, 0.05, outputs=5)
    assert run.worst_closure_error < 2.0 * found.gap
    assert run.energy_drift < 1e-6


@pytest.mark.parametrize("decimals", [4, 6, 8])
def test_a_near_configuration_before_a_far_one(decimals):
    """Bennett's linkage closes through special dimensions. Rounded ones leave it open by a little
    at every angle but few, and a guess at another angle does not mean these.
    """
    a, b_, alpha = 0.5, 0.8, 0.6
    beta = np.arcsin(b_ * np.sin(alpha) / a)

    def bennett(digits):
        sizes = [(a, alpha), (b_, beta)]
        (a_, alpha_), (b__, beta_) = ([round(x, digits) for x in pair] for pair in sizes)
        b = linkages.Builder("bennett")
        b.add("l1", "base")
        b.add("l2", "l1", at=(a_, 0, 0), rotation=linkages.turn("x", alpha_))
        b.add("l3", "l2", at=(b__, 0, 0), rotation=linkages.turn("x", beta_))
        b.add("l4", "l3", at=(a_, 0, 0), rotation=linkages.turn("x", alpha_))
        end = pose((b__, 0, 0), linkages.turn("x", beta_))
        b.close("pin", "revolute", "l4", "base", end)
        return Robot.from_mechanism(b.done())

    exact = bennett(17).assemble([0.9, 1.0, -0.9, -1.0], held=["l1_joint", "l2_joint"])
    found = bennett(decimals).assemble(exact.q)
    assert_allclose(found.q, exact.q, atol=20.0 * 10.0**-decimals)


def test_a_loop_open_by_more_than_rounding_is_not_closed():
    """A guess that is open by more than the last decimals is no closed configuration."""
    mechanism = linkages.four_bar(lengths=(0.3, 0.8, 0.6), ground=0.9)
    (pin,) = mechanism.loops
    for z, closes in ((1e-5, True), (3e-4, False)):
        away = replace(pin, predecessor_pose=pose((0.9, 0.0, z)))
        robot = Robot.from_mechanism(replace(mechanism, loops=(away,)))
        if closes:
            assert robot.assemble([0.5, -0.5, -1.0]).gap == pytest.approx(z)
        else:
            with pytest.raises(AssemblyError, match=r"0\.3 mm"):
                robot.assemble([0.5, -0.5, -1.0], restarts=2)


@pytest.mark.parametrize("tree", TREES)
def test_limits_of_a_loop_joint_are_kept(tree):
    """The pin of a four-bar keeps its limits, whether it is in the tree or closes the loop."""
    robot = limited_four_bar(*tree)
    for seed in range(5):
        guess = np.random.default_rng(seed).uniform(-2, 2, 3)
        found = robot.assemble(guess)
        assert found.gap < CLOSED
        assert LOW - 1e-9 <= angles(robot, found.q)[3] <= HIGH + 1e-9
        at_end = robot.assemble(guess, limits=False)
        assert at_end.gap < CLOSED


def test_another_assembly_mode_is_found_within_limits_of_a_loop_joint():
    """From a guess in the mode that the limits forbid the other one is found."""
    robot = limited_four_bar(*TREES[0])
    forbidden = robot.assemble([-1.0, 2.4, -4.1], held={"j1": -1.0}, limits=False).q
    pin = angles(robot, forbidden)[3]
    assert not LOW <= pin <= HIGH
    found = robot.assemble(forbidden, held={"j1": -1.0})
    assert LOW <= angles(robot, found.q)[3] <= HIGH
    assert found.q[0] == -1.0


def test_a_loop_joint_out_of_its_limits_is_named():
    """If the loop closes only beyond the limits of its joint, the error gives angle and limits."""
    robot = limited_four_bar(*TREES[0])
    with pytest.raises(
        AssemblyError, match=r"'pin' is at -?\d.* rad, expected -0.96 to -0.56 rad"
    ):
        robot.assemble([2.0, -1.0, 1.0], held={"j1": 2.0}, restarts=3)
    with pytest.raises(AssemblyError):  # the same with the pin in the tree
        limited_four_bar(*TREES[1]).assemble([2.0, -1.0, -0.7], held={"j1": 2.0}, restarts=3)
    assert robot.assemble([2.0, -1.0, 1.0], held={"j1": 2.0}, limits=False).gap < CLOSED


def test_a_bushing_with_limits_has_no_constraints_and_keeps_them():
    """A floating loop joint only bounds the motion: three displacements and a rotation vector."""
    b = linkages.Builder("bushing")
    b.add("engine", "base", "floating")
    b.close("mount", "floating", "base", "engine")
    narrow = Limits(-0.1, 0.1)
    b.loops[0] = replace(b.loops[0], limits=narrow)
    robot = Robot.from_mechanism(b.done())
    assert robot.model.constraint_count == 0
    turned = Rotation.from_rotvec([0.3, -0.2, 0.05])
    found = robot.assemble([0.5, 0.02, -0.3, *turned.as_quat()])
    turned = Rotation.from_quat(found.q[3:]).as_rotvec()
    assert_allclose(np.abs([found.q[0], *turned[:2]]), 0.1, atol=1e-8)  # it goes no farther
    assert np.all(np.abs(found.q[:3]) < 0.1 + 1e-8)
