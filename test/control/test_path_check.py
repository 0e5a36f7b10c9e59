# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths refused before the first torque, each by its time and joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.free_space import free_space_law
from support.linkage_arms import linkage_cell
from two_arms import BOX, two_arms

from robot_dynamics.control import path_check
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.path_check import PreflightError, path_times
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SafetySettings,
    SegmentSettings,
    TurnSettings,
)
from robot_dynamics.control.streamed.reach_check import ReachCheck
from robot_dynamics.control.streamed.trajectory import ObjectTrajectory, TrajectoryError
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import Limits, LinkElement, pose
from robot_dynamics.robot import Robot

SYSTEM = two_arms()
TERMS = Robot(SYSTEM.model).constraint_terms
HELD = closed_configuration(SYSTEM, BOX, terms=TERMS)[SYSTEM.q_index]
LIFT = SegmentSettings(1.0, move=(0.0, 0.0, 0.15))
SQUEEZE = (ForceStepSettings(0.0, 40.0),)


def check(*segments, force=SQUEEZE, system=SYSTEM, contacts=None, **safety):
    """Check a path of the two arms."""
    limits = SafetySettings(**safety)
    law = free_space_law(
        system, ReferenceSettings(segments, force), BOX, safety=limits, contacts=contacts
    )
    return law.checked_path(HELD, TERMS if system is SYSTEM else None)


def refused(*segments, **options) -> PreflightError:
    """Return the error of a path that must be refused."""
    with pytest.raises(PreflightError) as caught:
        check(*segments, **options)
    order = [(not problem.cause, problem.time) for problem in caught.value.problems]
    assert order == sorted(order)
    assert len(caught.value.others) == len(caught.value.problems) - 1
    assert all(
        p.sentence in line
        for p, line in zip(caught.value.problems[1:], caught.value.others, strict=True)
    )
    assert f"reference refused at {caught.value.problems[0].time:.2f} s: " in str(caught.value)
    return caught.value


def test_a_good_path_passes_and_says_what_it_leaves():
    """Margins are those of the rolled-out motion."""
    left = check(LIFT, SegmentSettings(1.0, rotate=TurnSettings((0.0, 0.0, 1.0), 15.0)))
    motion = left.rollout
    assert left.torque_fraction[0] == np.max(np.abs(motion.torque) / SYSTEM.limits["effort"])
    assert left.velocity_fraction[0] == np.max(np.abs(motion.qd)) / 3.0
    assert left.position_margin[0] == pytest.approx(2.9 - np.max(np.abs(motion.q)))
    for _, joint in left[:3]:
        assert joint in SYSTEM.joint_names
    assert left.smallest_pivot == np.min(motion.pivot) > 1e-3
    assert left.arm_distance > 0.02


def test_a_path_out_of_reach():
    """The arm and its stretched joint, the elbow, are named first, and then the consequences."""
    error = refused(SegmentSettings(1.0, move=(0.8, 0.0, 0.0)), velocity_fraction=1.0)
    sentences = " ".join(problem.sentence for problem in error.problems)
    assert "does not reach the object" in sentences
    beyond = next(p for p in error.problems if "does not reach" in p.sentence)
    assert beyond.joint in ("left_joint4", "right_joint4")
    # The elbow has to move ever faster before: that follows from it.
    assert error.problems[0] is beyond
    assert min(problem.time for problem in error.problems) < beyond.time
    assert "does not reach the object" in str(error)
    assert str(error).endswith(", which may follow from it)")


def test_a_joint_beyond_its_limit():
    """Position and bounds, margin included, are in the sentence."""
    error = refused(
        SegmentSettings(4.0, rotate=TurnSettings((0.0, 1.0, 0.0), 170.0)), velocity_fraction=1.0
    )
    positions = [p for p in error.problems if "would be at" in p.sentence]
    assert positions
    assert "expected -2.88 to 2.88" in positions[0].sentence
    assert positions[0].joint in SYSTEM.joint_names


def test_a_path_too_fast():
    """The fastest joint is named with its speed."""
    quick = replace(LIFT, duration_s=0.12)
    error = refused(quick)
    assert any("would have to move at up to" in p.sentence for p in error.problems)


def test_an_object_too_heavy():
    """Already at the start, by the joint that lacks torque; the reason is stated."""
    error = refused(LIFT, system=SYSTEM.with_object(mass=80.0))
    first = error.problems[0]
    assert first.time == 0.0
    assert "to hold arm and object up" in first.sentence
    assert "too heavy" in first.sentence


def test_a_squeeze_too_strong():
    """Support is not to blame: squeeze and motion are."""
    error = refused(LIFT, force=(ForceStepSettings(0.2, 2000.0, duration_s=0.3),))
    assert 0.2 < error.problems[0].time < 0.5
    assert any("N m with squeeze and motion" in p.sentence for p in error.problems)
    assert not any("too heavy" in p.sentence for p in error.problems)


def test_a_torque_that_would_change_too_fast():
    """A reference may take half of the torque rate: the rest is for corrections."""
    refused_at = refused(LIFT, torque_rate=20.0).problems[0]
    assert "N m/s, expected at most 10 N m/s" in refused_at.sentence


def test_a_singularity():
    """The joint that would lead out of it is named; the threshold is a setting."""
    error = refused(SegmentSettings(2.0, move=(0.30, 0.0, 0.0)), minimum_pivot=0.05)
    singular = next(p for p in error.problems if "singularity" in p.sentence)
    assert singular.joint in ("left_joint4", "right_joint4")
    assert "expected a pivot of at least 0.05" in singular.sentence


def test_arms_that_come_too_close():
    """Both links are named, and how close they come."""
    error = refused(LIFT, link_radius_m=0.3)
    assert "comes to" in str(error)
    assert "after joint 'left_joint" in str(error)
    assert "'right_joint" in str(error)


def test_a_wrong_length_is_refused():
    """Of the start positions."""
    law = free_space_law(SYSTEM, ReferenceSettings((LIFT,)), BOX)
    with pytest.raises(ArgumentError, match="q has 13 entries"):
        law.check_path(HELD[1:])


def test_problems_of_contacts_and_arms_are_reported_together():
    """A task of soft fingers that slip, out of reach: the reach first, others in time's order."""
    fingers = [
        Contact.of_kind("soft finger", grasp, FrictionCone(0.6, torsion=0.02))
        for grasp in SYSTEM.grasps
    ]
    path = ReferenceSettings((SegmentSettings(1.0, move=(0.8, 0.0, 0.0)),))
    law = free_space_law(SYSTEM, path, BOX, contacts=fingers)
    with pytest.raises(PreflightError, match="does not reach the object") as caught:
        law.check_path(HELD)
    assert any("would slip or open" in sentence for sentence in caught.value.others)
    times = [problem.time for problem in caught.value.problems[1:]]
    assert times == sorted(times)


@pytest.fixture
def rolled(monkeypatch):
    """Return arrays of a good path's motion; then the check sees their changed values."""
    motion = check(LIFT).rollout
    changed = {name: getattr(motion, name).copy() for name in ("at", "q", "qd", "torque")}
    changed |= {name: getattr(motion, name).copy() for name in ("support", "pivot")}
    changed["tilt"] = np.zeros((len(motion.times), 2))
    monkeypatch.setattr(path_check, "rollout", lambda *_: replace(motion, **changed))
    return changed


def check_rolled(**safety):
    """Check that motion, of arms with soft fingers."""
    return path_check.check_path(
        SYSTEM, SafetySettings(**safety), None, [np.tile(BOX, (101, 1))], path_times(1.0), HELD,
        terms=TERMS, soft_fingers=("left", "right"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gap", "sentence"),
    [
        ((1.1e-6, 0.0), "arm 'right' does not reach the object, 1.1e-06 m and 0 degrees"),
        ((1.13e-10, 5e-10), "arm 'right' cannot be predicted further: it is at a singularity"),
        ((np.nan, np.nan), "arm 'right' does not reach the object, nan m"),
    ],
)
def test_arms_out_of_reach_and_arms_at_a_singularity(rolled, gap, sentence):
    """Near a singularity no closed positions are found either, although the arm is there."""
    rolled["failed_at"], rolled["gaps"] = 0.9, np.array([(0.0, 0.0), gap])
    with pytest.raises(PreflightError) as caught:
        check_rolled()
    assert sentence in str(caught.value)


JOINT = 4  # of 40 N m


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("at", 2.8799, None),
        ("at", 2.8801, "would be at 2.8801 rad, expected -2.88 to 2.88 rad"),
        ("at", -2.8799, None),
        ("at", -2.8801, "would be at -2.8801 rad, expected -2.88 to 2.88 rad"),
        ("qd", 2.69, None),
        ("qd", -2.69, None),
        ("qd", 2.71, "up to 2.71 rad/s, expected at most 2.7"),
        ("qd", -2.71, "up to 2.71 rad/s, expected at most 2.7"),
        ("support", -37.9, None),
        ("support", -38.1, "would need 38.1 N m to hold arm and object up, expected at most 38"),
        ("torque", 37.9, None),
        ("torque", 38.1, "up to 38.1 N m with squeeze and motion, expected at most 38"),
        ("pivot", 1.01e-4, None),
        ("pivot", 0.99e-4, "relative pivot 9.9e-05"),
        ("tilt", np.radians(9.9), None),
        ("tilt", np.radians(10.1), "by up to 10.1 degrees on the object, expected at most 10 "),
    ],
)
def test_limits_of_a_motion(rolled, name, value, sentence):
    """Both sides of each: positions +-2.9 less 0.02, nine tenths of 3 rad/s, 95 % of 40 N m."""
    column = {"at": SYSTEM.every_q[JOINT], "tilt": 1, "pivot": ()}.get(name, JOINT)
    rolled[name][(40, *np.atleast_1d(column).astype(int))] = value
    if sentence is None:
        check_rolled(torque_rate=np.inf)
        return
    with pytest.raises(PreflightError) as caught:
        check_rolled(torque_rate=np.inf)
    (problem,) = caught.value.problems
    assert sentence in problem.sentence
    assert problem.time == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("qd", 2.71, "up to 2.71 m/s, expected at most 2.7 m/s"),
        ("support", -38.1, "would need 38.1 N to hold arm and object up, expected at most 38 N"),
        ("torque", 38.1, "up to 38.1 N with squeeze and motion, expected at most 38 N"),
    ],
)
def test_units_of_a_sliding_joint(rolled, monkeypatch, name, value, sentence):
    """Each joint has its own unit: metres and newtons where it slides."""
    assert set(SYSTEM.joint_units) == {"rad"}
    units = ["rad"] * len(SYSTEM.joint_names)
    units[JOINT] = "m"
    monkeypatch.setitem(vars(SYSTEM), "joint_units", tuple(units))
    rolled[name][40, JOINT] = value
    with pytest.raises(PreflightError, match=sentence):
        check_rolled(torque_rate=np.inf)


@pytest.mark.parametrize(("step", "refused"), [(4.95, False), (5.05, True)])
def test_how_fast_torques_may_change(rolled, step, refused):
    """Half of 1000 N m/s, over a hundredth of a second."""
    rolled["torque"][:, JOINT] = np.where(np.arange(101) < 40, 0.0, step)
    if not refused:
        check_rolled()
        return
    with pytest.raises(PreflightError, match="by up to 505 N m/s, expected at most 500 N m/s"):
        check_rolled()


def test_margins_are_the_least_over_the_motion(rolled):
    """Of positions on both sides; of links, where they are closest."""
    for least in (0.1, 0.09):
        rolled["q"][50, JOINT] = np.sign(least - 0.095) * (2.9 - least)
        left = check_rolled().position_margin
        assert (left[0], left[1]) == (pytest.approx(least), SYSTEM.joint_names[JOINT])
    rolled["q"][:] = HELD
    at_start = check_rolled().arm_distance
    rolled["q"][50, 3] -= 0.1
    rolled["q"][60, 3] += 0.1
    assert check_rolled().arm_distance < at_start - 0.001
    # Of two capsules, each of its radius.
    thin = check_rolled(link_radius_m=0.05).arm_distance
    assert thin == pytest.approx(check_rolled(link_radius_m=0.06).arm_distance + 0.02)


def test_how_close_links_may_come(rolled):
    """Those that are as close at the start touch, and are left out."""
    rolled["q"][:] = HELD
    at_start = check_rolled().arm_distance
    assert check_rolled(minimum_arm_distance_m=0.99 * at_start).arm_distance == at_start
    assert check_rolled(minimum_arm_distance_m=1.01 * at_start).arm_distance > at_start
    rolled["q"][50, 3] -= 0.1
    rolled["q"][60, 3] += 0.1
    least = check_rolled().arm_distance
    check_rolled(minimum_arm_distance_m=0.99 * least)
    with pytest.raises(PreflightError, match="comes to"):
        check_rolled(minimum_arm_distance_m=1.01 * least)


def test_how_many_instants_are_checked():
    """One every hundredth of a second, and two at least."""
    assert [len(path_times(duration)) for duration in (0.0, 0.005, 2.005)] == [2, 2, 202]


def palms(degrees):
    """Return soft fingers of which the right one starts tilted."""
    tilted = np.eye(4)
    tilted[:3, :3] = Rotation.from_rotvec([np.radians(degrees), 0.0, 0.0]).as_matrix()
    frames = [SYSTEM.grasps[0], SYSTEM.grasps[1] @ tilted]
    return tuple(Contact.of_kind("soft finger", frame) for frame in frames)


def test_the_tilt_of_a_soft_finger_is_limited():
    """A hand that starts tilted is refused beyond the limit, by default 10 degrees."""
    assert check(LIFT).tilt == 0.0  # rigid grasps
    left = check(LIFT, contacts=palms(8.0))
    assert left.tilt == pytest.approx(np.radians(8.0), rel=1e-6)
    assert left.rollout.tilt[-1].max() < 0.01  # the hand returns to its grasp on the way
    error = refused(LIFT, contacts=palms(12.0))
    assert error.problems[0].time == 0.0
    assert error.problems[0].joint in SYSTEM.arms[1].joints
    assert error.problems[0].sentence == (
        "the soft finger of arm 'right' would tilt by up to 12 degrees on the object, expected at "
        "most 10 degrees."
    )
    assert "at most 5 degrees" in str(refused(LIFT, contacts=palms(8.0), tilt_limit_deg=5.0))
    check(LIFT, contacts=palms(12.0), tilt_limit_deg=np.inf)


def pinned(lower, upper):
    """Return an arm with a five-bar linkage, whose pin has limits, and its start."""
    box = LinkElement("box", 1.0, inertia=0.03 * np.eye(3))
    pin = {"closure": "revolute", "limits": Limits(lower, upper)}
    return linkage_cell(1, box, [pose((-0.15, 0.0, 0.0))], **pin)[:2]


def test_a_loop_joint_of_an_arm_beyond_its_limit():
    """A pin that closes the linkage of an arm keeps its limits, in plans and streamed paths."""
    plan = ReferenceSettings((SegmentSettings(2.0, move=(0.0, 0.0, 0.02)),))
    settings = SafetySettings()
    margin = settings.position_margin

    def checked(system, start):
        law = free_space_law(system, plan, start[system.object_q])
        return law.checked_path(start[system.q_index])

    def streamed(system, start):
        q, at = start[system.q_index], start[system.object_q]
        end = at + np.array([0.0, 0.0, 0.02, 0, 0, 0, 0])
        proximity = Proximity(system, settings)
        proximity.begin(q, at)
        path = ObjectTrajectory([0.0, 2.0], [at, end])
        terms = Robot(system.model).constraint_terms
        ReachCheck(system, settings, terms, proximity, [path], q).advance(1000)

    system, start = pinned(-3.0, 3.0)
    motion = checked(system, start).rollout
    pins = PositionLimits(system.model).loop_values(motion.at)[:, 0]
    low, high = float(pins.min()), float(pins.max())
    assert high - low > 5e-3
    within = pinned(low - margin - 1e-4, high + margin + 1e-4)
    checked(*within)
    streamed(*within)
    for limits in ((low - margin + 1e-3, 3.0), (-3.0, high + margin - 1e-3)):
        beyond = pinned(*limits)
        with pytest.raises(PreflightError, match=r"joint 'arm0_pin' would be at .* rad") as caught:
            checked(*beyond)
        assert [p.joint for p in caught.value.problems] == ["arm0_pin"]
        with pytest.raises(TrajectoryError, match=r"joint 'arm0_pin' would be at .* rad"):
            streamed(*beyond)
