# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mobility, redundant constraints, independent coordinates and drives."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.mobility import Mobility
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import CouplingElement, LoopElement, Mechanism, pose
from robot_dynamics.robot import Robot


@pytest.fixture(scope="module")
def four_bar():
    return Robot.from_mechanism(linkages.four_bar())


@pytest.fixture(scope="module")
def excavator():
    return Robot.from_mechanism(linkages.excavator())


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return a mechanism of another size, or the same in another unit of length."""

    def grown(frame):
        return pose(factor * frame[:3, 3], frame[:3, :3])

    return Mechanism(
        mechanism.name,
        mechanism.links,
        tuple(replace(j, placement=grown(j.placement)) for j in mechanism.joints),
        tuple(
            replace(
                lo,
                predecessor_pose=grown(lo.predecessor_pose),
                successor_pose=grown(lo.successor_pose),
            )
            for lo in mechanism.loops
        ),
    )


@settings(max_examples=15, deadline=None)
@given(
    angles=st.tuples(*[st.floats(-3, 3)] * 3),
    far=st.tuples(*[st.floats(-20, 20)] * 3),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
)
@example(angles=(0.0, 1e-9, 0.0), far=(0.0, 0.0, 0.0), size=1e-3)
def test_mobility_depends_on_neither_place_nor_unit(angles, far, size):
    """A four-bar anywhere, tilted and of any size has the same mobility and redundancies."""
    mechanism = scaled(linkages.tilted(linkages.four_bar(), linkages.turn("xyz", angles), far),
                       size)  # fmt: skip
    report = Robot.from_mechanism(mechanism).mobility()
    assert (report.n, report.constraints, report.rank, report.mobility) == (3, 5, 2, 1)
    assert len(report.redundant) == 3
    assert report.nearby_ranks == (2,)


def test_independent_coordinates_determine_the_others(excavator):
    """With the reported coordinates held, all velocities follow: K without them has full rank."""
    q = excavator.assemble([0.9, 0.4, 2.5, 1.0]).q
    report = excavator.mobility(q)
    assert len(report.independent) == report.mobility == 2
    K, _ = excavator.closure(q)
    names = ["boom_joint", "bucket_joint", "cylinder_joint", "piston_joint"]
    assert excavator.model.joint_names == tuple(names)
    left = [i for i, name in enumerate(names) if name not in report.independent]
    assert np.linalg.matrix_rank(K[:, left], tol=1e-9) == report.rank


@pytest.mark.parametrize("wish", ["boom_joint", "cylinder_joint", "piston_joint"])
def test_a_wish_is_granted_where_it_can_be(excavator, wish):
    """Any joint of the triangle can be independent, and the rest is chosen to go with it."""
    report = excavator.mobility(independent=[wish])
    assert set(report.independent) == {wish, "bucket_joint"}


def test_a_wish_that_cannot_be_granted(excavator):
    """Two joints of one triangle determine each other; the answer names both and the loop."""
    with pytest.raises(RobotDynamicsError, match="'piston_joint'") as no:
        excavator.mobility(independent=["boom_joint", "piston_joint"])
    assert "boom_joint" in str(no.value)


@pytest.mark.parametrize(
    ("active", "words"),
    [
        # Exercise 8.2: a drive at joint 4 and at any one of 1, 2, 3.
        (["bucket_joint", "piston_joint"], "fully"),
        (["bucket_joint", "cylinder_joint"], "fully"),
        (["bucket_joint", "boom_joint"], "fully"),
        (["bucket_joint"], "underactuated"),
        (["bucket_joint", "piston_joint", "boom_joint"], "redundantly"),
        (["piston_joint", "boom_joint"], "underactuated, redundantly"),
        ([], "none"),
    ],
)
def test_drives_of_exercise_8_2_are_classified(excavator, active, words):
    """The drives of Exercise 8.2 suffice, lack or fight one another as section 8.12 says."""
    report = excavator.mobility(active=active)
    assert report.actuation == words
    assert report.underactuated == (words == "none" or "under" in words)
    assert report.redundantly_actuated == ("redundantly" in words)


def test_drives_of_the_model_count(excavator):
    """Without a list those joints have drives that the model says."""
    assert set(excavator.mobility().drives) == {"piston_joint", "bucket_joint"}


def test_a_dead_centre_is_no_singularity_of_rank():
    """In a slider-crank's dead centre the rank stays, but the slider no longer leads."""
    robot = Robot.from_mechanism(linkages.slider_crank())
    dead = robot.assemble(held={"crank_joint": 0.0}).q
    report = robot.mobility(dead)
    assert (report.rank, report.rank_drops) == (2, False)
    assert report.immobile == ("slider_joint",)
    with pytest.raises(RobotDynamicsError, match="'slider_joint'"):
        robot.mobility(dead, independent=["slider_joint"])
    assert robot.mobility(dead, active=["slider_joint"]).driven == 0


def test_a_structure_cannot_move():
    """A triangle of bars has mobility 0: nothing is independent, everything immobile."""
    b = linkages.Builder("triangle")
    b.add("left", "base")
    b.add("right", "left", at=(0.5, 0, 0))
    b.close("pin", "revolute", "base", "right", (0.7, 0, 0), (0.6, 0, 0))
    report = Robot.from_mechanism(b.done()).mobility()
    assert (report.mobility, report.independent) == (0, ())
    assert report.immobile == ("left_joint", "right_joint")
    assert "nothing to move" in str(report)


def test_in_a_tree_every_coordinate_is_independent():
    """Without loops every coordinate is independent and nothing is redundant."""
    b = linkages.Builder("arm")
    b.add("upper", "base", active=True)
    b.add("lower", "upper", at=(0.5, 0, 0), active=True)
    report = Robot.from_mechanism(b.done()).mobility()
    assert (report.n, report.constraints, report.rank, report.mobility) == (2, 0, 0, 2)
    assert report.independent == ("upper_joint", "lower_joint")
    assert (report.conditioning, report.nearby_ranks, report.actuation) == (None, (), "fully")


def test_loops_that_are_open_by_rounded_numbers():
    """Frames given to six digits close to a micrometre only; the rank is the intended one."""
    mechanism = linkages.four_bar()
    off = pose((0.8, 0.0, 1e-6), Rotation.from_euler("x", 2e-6).as_matrix())
    joints = (*mechanism.joints[:2], replace(mechanism.joints[2], placement=off))
    robot = Robot.from_mechanism(replace(mechanism, joints=joints))
    closed = robot.assemble(tolerance=1e-5)
    assert 1e-7 < closed.gap < 1e-5
    report = robot.mobility(closed.q)
    assert (report.rank, report.mobility, report.nearby_ranks) == (2, 1, (2,))
    # With the uncertainty left out the same numbers are of full rank.
    assert np.linalg.matrix_rank(robot.closure(closed.q)[0], tol=1e-9) > 2


def test_a_doubled_loop_is_redundant_by_name():
    """Of two equal loops the second is called redundant, as a whole."""
    mechanism = linkages.four_bar("sphere_in_cylinder")
    again = replace(mechanism.loops[0], name="again")
    report = Robot.from_mechanism(mechanism.with_loops([again])).mobility()
    assert report.redundant == ("again.x", "again.y")


def test_weak_rows_are_found():
    """A row nearly along an earlier one is still taken where the rank needs it."""
    b = linkages.Builder("slides")
    b.add("x", "base", "prismatic", axis=linkages.X)
    b.add("y", "x", "prismatic", axis=linkages.Y)
    nearly = pose((0, 0, 0), linkages.turn("z", 1e-5) @ linkages.turn("y", np.pi / 2))
    b.close("first", "point_on_plane", "base", "y",
            pose((0, 0, 0), linkages.turn("y", np.pi / 2)))  # fmt: skip
    b.close("second", "point_on_plane", "base", "y", nearly)
    report = Robot.from_mechanism(b.done()).mobility()
    assert (report.rank, report.redundant) == (2, ())
    assert_allclose(report.conditioning, 1e-5 / np.sqrt(2), rtol=1e-3)


def test_the_report_is_valid_json(four_bar):
    """Everything goes into JSON and says the same."""
    report = four_bar.mobility()
    found = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert found["redundant"] == list(report.redundant)
    assert (found["rank"], found["mobility"], found["actuation"]) == (2, 1, "fully")
    assert found["rank_drops"] is False


def test_the_report_is_a_few_lines_with_names(four_bar):
    """For a person the report is a few lines that name things."""
    text = str(four_bar.mobility())
    assert "mobility 1 = 3 coordinates - 2 independent of 5 constraints" in text
    assert "redundant constraints: pin.rx, pin.ry, pin.z" in text
    assert "fully actuated by 1 drive" in text


@pytest.mark.parametrize("active", [[], ["a"], ["a", "b"]])
def test_every_actuation_has_words(active):
    """No combination of drives is without a sentence."""
    report = Mobility(
        "m", 3, 1, 1, 2, (), ("a", "b"), (), (0, 1), tuple(active), min(1, len(active)),
        0.0, 1e-9, 1.0, 1.0,
    )  # fmt: skip
    assert "actuated" in str(report) or "no drives" in str(report)


@pytest.mark.parametrize(
    ("q", "sentence"),
    [
        ([0.0], r"\bq\b.*\(1,\).*\(3,\)"),
        ([0.0, 0.0, np.nan], r"\bq\b.*finite"),
    ],
)
def test_positions_are_checked(four_bar, q, sentence):
    """Positions of the wrong size, or that are not finite, are refused."""
    with pytest.raises(ArgumentError, match=sentence):
        four_bar.mobility(q)


def test_an_open_configuration_is_refused(four_bar):
    """Open loops have no mobility: each is named with its gap; tolerance is as for files."""
    closed = four_bar.assemble([0.5, -0.5, -1.0]).q
    opened = np.add(closed, [0.0, 0.02, 0.0])
    # The rocker's joint is 0.8 from the coupler's, which turned by 0.02: and 0.02 in angle.
    with pytest.raises(AssemblyError, match="'pin'") as no:
        four_bar.mobility(opened)
    assert_allclose(no.value.q, opened)
    assert 0.0 < no.value.gaps["pin"].position < 0.8 * 0.02 + 0.6 * 0.02
    assert four_bar.mobility(np.add(closed, [0.0, 1e-4, 0.0])).mobility == 1


def test_one_motion_is_singular_in_words(four_bar):
    """Three drives act on one motion, not on "1 motions"; on two they are plural."""
    names = four_bar.model.joint_names
    assert "redundantly actuated: 3 drives for 1 motion" in str(four_bar.mobility(active=names))
    assert "1 motions" not in str(four_bar.mobility(active=names))


def test_more_wishes_than_motions(four_bar):
    """One motion cannot have two independent coordinates."""
    with pytest.raises(RobotDynamicsError, match=r"'rocker_joint'.*\b1\b"):
        four_bar.mobility(independent=["crank_joint", "rocker_joint"])


def test_velocity_only_constraints_count():
    """A soft finger's torsion takes a motion away, though it has no position error."""
    b = linkages.Builder("finger")
    b.add("ball", "base", "spherical")
    b.loops.append(LoopElement("touch", "soft_finger", "base", "ball"))
    report = Robot.from_mechanism(b.done()).mobility()
    assert (report.constraints, report.rank, report.mobility) == (4, 1, 2)
    assert report.immobile == ("ball_joint.rz",)


@pytest.mark.parametrize("ratio", [1.0, -1.0, 2.5, 0.4])
@pytest.mark.parametrize("order", [("finger", "thumb"), ("thumb", "finger")])
def test_a_follower_is_not_independent(ratio, order):
    """Of a gear the driver is offered as independent coordinate, whatever the ratio."""
    b = linkages.Builder("hand")
    for name in order:
        b.add(name, "base")
    gear = CouplingElement.gear("gear", "thumb_joint", "finger_joint", ratio)
    robot = Robot.from_mechanism(b.done().with_couplings([gear]))
    assert robot.mobility().independent == ("finger_joint",)
    assert robot.mobility(independent=["thumb_joint"]).independent == ("thumb_joint",)
