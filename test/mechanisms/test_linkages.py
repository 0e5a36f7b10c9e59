# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Well-known mechanisms: assembled from a poor guess, and their mobility as the books have it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages
from support.mechanisms import world_poses

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.robot import Robot

# name: mechanism, (n, constraints, rank, mobility), what its drives do
KNOWN = {
    "four-bar, revolute": (linkages.four_bar(), (3, 5, 2, 1), "fully"),
    "four-bar, sphere in cylinder": (
        linkages.four_bar("sphere_in_cylinder"), (3, 2, 2, 1), "fully",
    ),
    "slider-crank": (linkages.slider_crank(), (3, 5, 2, 1), "fully"),
    "Fig 8.3": (linkages.excavator(), (4, 5, 2, 2), "fully"),
    "Stewart platform": (linkages.stewart_platform(), (24, 18, 18, 6), "fully"),
    "Bricard's linkage": (linkages.bricard(), (5, 5, 4, 1), "fully"),
    "delta robot": (linkages.delta_robot(), (18, 15, 15, 3), "fully"),
    # Rods between two ball joints spin idly: six motions that no drive acts on.
    "delta robot, ball joints": (
        linkages.delta_robot("spherical"), (24, 15, 15, 9), "underactuated",
    ),
    "walking leg": (linkages.walking_leg(), (19, 12, 12, 7), "underactuated"),
}  # fmt: skip
# Closed to the last digits of positions of about a metre.
CLOSED = 1e-14


@pytest.fixture(scope="module")
def robots():
    return {name: Robot.from_mechanism(mechanism) for name, (mechanism, *_) in KNOWN.items()}


def poor_guess(model, seed):
    """Return positions (nq,) up to a radian and a metre away from zero in every coordinate."""
    step = np.random.default_rng(seed).uniform(-1.0, 1.0, model.nv)
    return np.array(model.integrate(model.neutral().tolist(), step.tolist()))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", KNOWN)
def test_assembled_from_a_poor_guess(robots, name, seed):
    """From guesses up to a radian and a metre off, all loops close to the last digits."""
    robot = robots[name]
    found = robot.assemble(poor_guess(robot.model, seed))
    assert found.gap < CLOSED
    _, error = robot.closure(found.q)
    assert_allclose(error, 0.0, atol=CLOSED)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", KNOWN)
def test_mobility(robots, name, seed):
    """n, n^c, rank, mobility and the drives are those known, at each configuration found."""
    robot = robots[name]
    _, expected, actuation = KNOWN[name]
    report = robot.mobility(robot.assemble(poor_guess(robot.model, seed)).q)
    assert (report.n, report.constraints, report.rank, report.mobility) == expected
    assert len(report.redundant) == expected[1] - expected[2]
    assert len(report.independent) == report.mobility
    assert report.nearby_ranks == (expected[2],)
    assert not report.rank_drops
    assert report.actuation == actuation


@pytest.mark.parametrize("name", KNOWN)
def test_mobility_does_not_depend_on_the_attitude(name):
    """Tilted and moved away the mechanism is the same."""
    mechanism, expected, _ = KNOWN[name]
    moved = linkages.tilted(mechanism, linkages.turn("xyz", [0.3, 0.5, 0.7]), (1.0, -2.0, 3.0))
    report = Robot.from_mechanism(moved).mobility()
    assert (report.n, report.constraints, report.rank, report.mobility) == expected


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name][1][0] <= 5])
def test_mobility_does_not_depend_on_link_frames(name):
    """With the frames of all links turned anyhow the mechanism is the same, to rounding."""
    mechanism, expected, _ = KNOWN[name]
    for seed in range(3):
        turned = linkages.with_turned_links(mechanism, np.random.default_rng(seed))
        report = Robot.from_mechanism(turned).mobility()
        assert (report.n, report.constraints, report.rank, report.mobility) == expected


def test_which_constraints_of_a_planar_loop_are_redundant(robots):
    """A revolute closure in the plane: both tilts, and the shift along the axis."""
    report = robots["four-bar, revolute"].mobility()
    assert report.redundant == ("pin.rx", "pin.ry", "pin.z")
    assert robots["four-bar, sphere in cylinder"].mobility().redundant == ()


def test_slider_crank_position(robots):
    """The slider is where the closed form has it: x = a cos q + sqrt(l^2 - a^2 sin^2 q)."""
    found = robots["slider-crank"].assemble([0, 0, 1.0], held={"crank_joint": 0.8})
    expected = 0.3 * np.cos(0.8) + np.sqrt(1.0 - (0.3 * np.sin(0.8)) ** 2)
    assert_allclose(found.q[2], expected, atol=1e-14)


def test_fig_8_3_position_and_velocity(robots):
    """gamma and G of Fig 8.3 for l1 = 1.3, l2 = 0.7, y1 = 0.9 and its rate 0.7, to all digits."""
    robot = robots["Fig 8.3"]
    held = {"boom_joint": 0.9, "bucket_joint": 0.4}
    found = robot.assemble([0.9, 0.4, 2.0, 1.2], held=held,
                           velocities={"boom_joint": 0.7, "bucket_joint": -0.3})  # fmt: skip
    assert_allclose(found.q, [0.9, 0.4, 2.576548134234, 1.024045827953], atol=1e-11)
    assert_allclose(found.qd, [0.7, -0.3, -0.050507363587, 0.487262608579], atol=1e-11)


class TestFoldingArms:
    """C11: Fig 8.2(a): n = 5 always; the rank is 4, 3 or 2 where the arms are held, free, or in
    line with the crank.
    """

    robot = Robot.from_mechanism(linkages.folding_arms())

    def ranks(self, q):
        report = self.robot.mobility(np.asarray(q, dtype=float))
        assert (report.n, report.constraints) == (5, 4)
        return report

    @pytest.mark.parametrize("angle", [0.01, 0.7, 1.5, 3.0, np.pi, -2.0, -0.3])
    def test_turned_crank(self, angle):
        """While the crank is turned both arms are held, as isosceles triangles: mobility 1."""
        guess = [angle, 0.5, -2.5, -1.0, 2.0]
        q = self.robot.assemble(guess, held=["crank_joint"]).q
        # The ends are 2 a sin(angle / 2) apart, the bars of 0.6 meet at the apex.
        apex = 2 * np.arcsin(0.5 * abs(np.sin(0.5 * angle)) / 0.6)
        assert_allclose(np.cos(q[[2, 4]]), -np.cos(apex), atol=1e-12)
        report = self.ranks(q)
        assert (report.rank, report.mobility, report.nearby_ranks) == (4, 1, (4,))
        assert not report.redundant
        assert report.actuation == "fully"

    def test_free_arms(self):
        """With the crank at zero the folded arms turn freely: mobility 2, and the crank is stuck.

        One constraint has become redundant; the drive at the crank moves nothing.
        """
        report = self.ranks([0.0, 0.9, np.pi, -0.4, np.pi])
        assert (report.rank, report.mobility, report.nearby_ranks) == (3, 2, (3,))
        assert report.redundant == ("right_pin.y",)
        assert "crank_joint" in report.immobile
        assert (report.underactuated, report.driven) == (True, 0)

    def test_boundary(self):
        """With all in line both motions meet: instantaneous mobility 3, fewer all around."""
        report = self.ranks([0.0, 0.0, np.pi, 0.0, np.pi])
        assert (report.rank, report.mobility) == (2, 3)
        assert report.rank_drops
        assert report.nearby_ranks
        assert set(report.nearby_ranks) <= {3, 4}
        assert "singular: nearby the mobility is" in str(report)

    def test_one_arm_in_line(self):
        """With one arm in line and one free, the crank is stuck: mobility 2."""
        report = self.ranks([0.0, 0.0, np.pi, 0.8, np.pi])
        assert (report.rank, report.mobility) == (3, 2)


def test_bricard_closes_as_its_equation_says(robots):
    """Alternate angles are equal, and cos a + cos b + cos a cos b = 0 for right-angled twists."""
    for seed in range(4):
        robot = robots["Bricard's linkage"]
        q = robot.assemble(poor_guess(robot.model, seed)).q
        a, b = q[0], q[1]
        assert_allclose(np.cos(q[[2, 4]]), np.cos(a), atol=1e-7)
        assert_allclose(np.cos(q[3]), np.cos(b), atol=1e-7)
        assert_allclose(np.cos(a) + np.cos(b) + np.cos(a) * np.cos(b), 0.0, atol=1e-7)


def test_stewart_platform_leg_lengths(robots):
    """At a held pose of the platform each leg is as long as its ends are apart."""
    robot = robots["Stewart platform"]
    q = robot.model.neutral()
    q[:3] = [0.1, -0.05, 0.05]
    q[3:7] = Rotation.from_euler("xyz", [0.1, 0.05, 0.2]).as_quat()
    found = robot.assemble(q, held=["platform_joint"]).q
    world = world_poses(robot.model, found)
    for i, loop in enumerate(linkages.stewart_platform().loops):
        ball = world["platform"] @ loop.successor_pose
        foot = world[f"leg{i}"][:3, 3]
        slide = found[robot.model.q_slices[robot.model.joint_index(f"rod{i}_joint")]][0]
        assert_allclose(abs(0.8 + slide), np.linalg.norm(ball[:3, 3] - foot), atol=1e-12)


def test_the_platform_of_a_delta_robot_never_turns(robots):
    """Wherever the arms are held, the platform keeps its attitude."""
    robot = robots["delta robot"]
    start = robot.assemble(held={f"arm{i}_joint": 0.2 for i in range(3)}).q
    for angles in ([0.2, 0.3, 0.4], [0.5, 0.1, 0.2]):
        held = {f"arm{i}_joint": angle for i, angle in enumerate(angles)}
        q = robot.assemble(start, held=held).q
        assert_allclose(world_poses(robot.model, q)["plate"][:3, :3], np.eye(3), atol=1e-9)


def test_drives_of_the_walking_leg(robots):
    """All but the idle spin of the two rods is driven: five of seven motions."""
    report = robots["walking leg"].mobility()
    assert (len(report.drives), report.driven) == (5, 5)
    assert not report.redundantly_actuated
    spins = [f"{rod}_{end}_joint.rz" for rod in ("heel_rod", "toe_rod") for end in ("top", "low")]
    more = robots["walking leg"].mobility(active=[*report.drives, spins[0], spins[2]])
    assert more.actuation == "fully"


def test_a_leg_out_of_reach(robots):
    """A platform held too high: the answer names the open ball joints and by how much."""
    robot = robots["Stewart platform"]
    held = {"platform_joint": [0, 0, 1.0, 0, 0, 0, 1.0]}
    slides = {f"rod{i}_joint": 0.0 for i in range(6)}
    with pytest.raises(AssemblyError) as refusal:
        robot.assemble(held={**held, **slides}, restarts=2)
    gaps = refusal.value.gaps
    assert set(gaps) == {f"ball{i}" for i in range(6)}
    # By symmetry each ball joint is as far off: what the leg lacks.
    assert_allclose([gap.position for gap in gaps.values()], gaps["ball0"].position, rtol=1e-6)
    assert gaps["ball0"].position > 0.5
