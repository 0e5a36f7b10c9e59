# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References: exact at their ends, and with derivatives that are derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.reference import (
    ACCELERATION,
    FORCE,
    SQUEEZE,
    TWIST,
    looked_up,
    plan_reference,
)
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
    TurnSettings,
)
from robot_dynamics.errors import ArgumentError

START = np.array([0.5, 0.0, 0.3, *Rotation.from_rotvec([0.2, -0.1, 0.4]).as_quat()])
UPRIGHT = np.array([0.5, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
LIFT_AND_TURN = ReferenceSettings(
    segments=(
        SegmentSettings(2.0, move=(0.0, 0.0, 0.4)),
        SegmentSettings(1.5, rotate=TurnSettings((0.0, 0.0, 1.0), 90.0)),
        SegmentSettings(0.5),
        SegmentSettings(1.5, rotate=TurnSettings((1.0, 0.0, 0.0), -90.0, "object")),
    ),
    force=(ForceStepSettings(0.0, 60.0), ForceStepSettings(3.0, 20.0, duration_s=1.0)),
)

numbers = st.floats(-1.0, 1.0)
triples = st.tuples(numbers, numbers, numbers)
turns = st.builds(
    TurnSettings,
    triples.filter(lambda axis: np.linalg.norm(axis) > 0.1),
    st.floats(-400.0, 400.0),
    st.sampled_from(["world", "object"]),
)
segments = st.builds(
    SegmentSettings,
    st.floats(0.3, 3.0),
    move=st.none() | triples,
    rotate=st.none() | turns,
) | st.builds(SegmentSettings, st.floats(0.3, 3.0), move_to=triples, rotate_to=triples)
references = st.builds(
    ReferenceSettings,
    segments=st.lists(segments, max_size=4).map(tuple),
    force=st.lists(st.floats(-50.0, 50.0), max_size=3).map(
        lambda values: tuple(ForceStepSettings(0.6 * i, f) for i, f in enumerate(values))
    ),
    time_law=st.sampled_from(["quintic", "septic"]),
)


def errors_of_derivatives(reference, h=1e-5):
    """Return the largest errors of twist and acceleration against central differences."""
    # The third derivative of the quintic jumps where stretches meet: differences there are of
    # first order in h, elsewhere of second.
    t = np.linspace(-0.2, reference.duration + 0.2, 301)
    before, now, after = (reference.rows(t + d) for d in (-h, 0.0, h))
    turned = product(after[:, 3:7], conjugate(before[:, 3:7]))
    omega = rotation_vector(turned) / (2 * h)
    velocity = (after[:, :3] - before[:, :3]) / (2 * h)
    twist = np.hstack([omega, velocity])
    acceleration = (after[:, TWIST] - before[:, TWIST]) / (2 * h)
    return (
        np.max(np.abs(twist - now[:, TWIST])),
        np.max(np.abs(acceleration - now[:, ACCELERATION])),
    )


@given(references)
@settings(max_examples=60, deadline=None)
def test_twist_and_acceleration_are_derivatives(random_settings):
    """Finite differences agree for all kinds of stretches, before, within and after the path."""
    reference = plan_reference(random_settings, START)
    twist, acceleration = errors_of_derivatives(reference)
    # 400 degrees in 0.3 s: jerk up to 60 * 7 / 0.027 = 16000, times h = 1e-5; rounding 1e-16 / h
    assert twist < 1e-4
    assert acceleration < 0.2


@given(references)
@settings(max_examples=60, deadline=None)
def test_a_path_is_continuous_and_starts_and_ends_at_rest(random_settings):
    """Between neighbouring samples nothing jumps, the quaternion's sign included."""
    reference = plan_reference(random_settings, START)
    t = np.linspace(-0.1, reference.duration + 0.1, 2000)
    rows = reference.rows(t)
    step = t[1] - t[0]
    # quintic peaks, septic higher: 2.2 x 7 rad / 0.3 s = 51 rad/s, half of it in a quaternion
    assert np.max(np.abs(np.diff(rows[:, :7], axis=0))) < 55 * step
    np.testing.assert_allclose(np.linalg.norm(rows[:, 3:7], axis=1), 1.0, rtol=1e-14)
    assert not rows[0, TWIST].any()
    np.testing.assert_allclose(rows[[0, -1], 7:19], 0.0, atol=1e-9)
    np.testing.assert_array_equal(
        rows[0, :7], plan_reference(ReferenceSettings(), START).row(0)[:7]
    )
    np.testing.assert_array_equal(rows[-1], reference.row(reference.duration + 1e6))


def test_right_angles_are_exact():
    """Two quarter turns leave the axes where they belong, to rounding."""
    reference = plan_reference(LIFT_AND_TURN, UPRIGHT)
    assert reference.duration == 5.5
    end = reference.row(reference.duration)
    R = Rotation.from_quat(end[3:7]).as_matrix()
    # Rz(90) Rx(-90): the second axis is the object's own
    expected = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    np.testing.assert_allclose(R, expected, atol=1e-15 * 4)
    np.testing.assert_allclose(end[:3], [0.5, 0.0, 0.7], atol=1e-16 * 4)
    assert end[FORCE][SQUEEZE] == 20.0


def test_axes_of_the_object_and_of_the_world():
    """The same turn means different things about different axes."""
    first = SegmentSettings(1.0, rotate=TurnSettings((0.0, 0.0, 1.0), 90.0))
    ends = []
    for about in ("world", "object"):
        second = SegmentSettings(1.0, rotate=TurnSettings((2.0, 0.0, 0.0), 90.0, about))
        end = plan_reference(ReferenceSettings((first, second)), UPRIGHT).row(2.0)
        ends.append(Rotation.from_quat(end[3:7]).as_matrix())
    z, x = (Rotation.from_rotvec([0, 0, np.pi / 2]), Rotation.from_rotvec([np.pi / 2, 0, 0]))
    np.testing.assert_allclose(ends[0], (x * z).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(ends[1], (z * x).as_matrix(), atol=1e-15)


def test_an_orientation_is_reached_by_the_shortest_way():
    """`rotate_to` ends there and turns about one axis by less than half a turn."""
    goal = (2.5, -0.4, 3.0)
    reference = plan_reference(
        ReferenceSettings((SegmentSettings(1.0, move_to=(0.1, 0.2, 0.3), rotate_to=goal),)), START
    )
    end = reference.row(1.0)
    R_goal = Rotation.from_euler("xyz", goal)
    assert (Rotation.from_quat(end[3:7]).inv() * R_goal).magnitude() < 1e-15 * 10
    np.testing.assert_allclose(end[:3], [0.1, 0.2, 0.3], atol=1e-16)
    omega = reference.rows(np.linspace(0.1, 0.9, 9))[:, 7:10]
    angle = (Rotation.from_quat(START[3:]).inv() * R_goal).magnitude()
    # the quintic's largest speed is 15/8 of the mean, here at the fifth sample
    np.testing.assert_allclose(np.linalg.norm(omega[4]), angle * 15 / 8, rtol=1e-12)
    assert np.linalg.matrix_rank(omega, tol=1e-9) == 1


def test_a_septic_has_no_jump_of_the_jerk():
    """Second differences of the acceleration stay small where a stretch begins."""
    jerks = {}
    for law in ("quintic", "septic"):
        path = ReferenceSettings((SegmentSettings(1.0, move=(0.0, 0.0, 1.0)),), time_law=law)
        a = plan_reference(path, UPRIGHT).rows([-1e-6, 0.0, 1e-6])[:, 18]
        jerks[law] = (a[2] - a[1]) / 1e-6 - (a[1] - a[0]) / 1e-6
    assert jerks["quintic"] == pytest.approx(60.0, rel=1e-4)
    assert abs(jerks["septic"]) < 1e-3


def test_force_steps_follow_one_another():
    """The squeeze reaches each value when its change ends, and nothing else is pressed."""
    reference = plan_reference(LIFT_AND_TURN, UPRIGHT)
    force = reference.rows([-1.0, 0.0, 0.25, 0.5, 2.9, 3.5, 4.0, 99.0])[:, FORCE]
    np.testing.assert_allclose(force[:, SQUEEZE], [0, 0, 30, 60, 60, 40, 20, 20], atol=1e-12)
    assert not np.delete(force, SQUEEZE, axis=1).any()


def test_a_whole_wrench_and_more_arms():
    """Three arms have twelve components; one has none and its rows are narrower."""
    wrench = tuple(float(i) for i in range(12))
    force = (ForceStepSettings(0.0, wrench=wrench, duration_s=1.0),)
    reference = plan_reference(ReferenceSettings(force=force), UPRIGHT, arm_count=3)
    np.testing.assert_array_equal(reference.row(1.0)[FORCE], wrench)
    assert plan_reference(ReferenceSettings(), UPRIGHT, arm_count=1).rows([0.0]).shape == (1, 19)


def test_settled_intervals():
    """They begin a given time after motion and force have both come to rest."""
    reference = plan_reference(LIFT_AND_TURN, UPRIGHT)
    # motion rests from 3.5 to 4.0, the force changes from 3.0 to 4.0
    assert reference.settled_intervals(0.3) == []
    path = ReferenceSettings(
        segments=(
            SegmentSettings(1.0),
            SegmentSettings(1.0, move=(0.1, 0.0, 0.0)),
            SegmentSettings(1.0),
            SegmentSettings(1.0),
        ),
        force=(ForceStepSettings(1.5, 10.0), ForceStepSettings(2.5, 10.0)),
    )
    reference = plan_reference(path, UPRIGHT)
    assert reference.settled_intervals(0.25) == [(0.25, 1.0), (2.25, 4.0)]
    times = [0.0, 0.25, 1.0, 1.1, 2.2, 2.25, 4.0, 4.1]
    expected = [False, True, True, False, False, True, True, False]
    assert reference.settled(times, 0.25).tolist() == expected
    assert reference.settled_intervals(3.0) == []


@pytest.mark.parametrize(
    ("force", "expected"),
    [
        (
            (ForceStepSettings(0.0, 1.0, duration_s=1.0), ForceStepSettings(0.9, 2.0)),
            "change 2 of the internal force begins at 0.9 s",
        ),
        ((ForceStepSettings(0.0, wrench=(1.0, 2.0)),), "wrench 1 of the internal force has 2"),
    ],
)
def test_impossible_profiles_are_refused(force, expected):
    """A sentence names the change and the expected value."""
    with pytest.raises(ArgumentError, match=expected):
        plan_reference(ReferenceSettings(force=force), UPRIGHT)


def test_a_squeeze_needs_two_arms_and_a_start_needs_a_pose():
    """Three arms have no single squeeze, one arm has none; a zero quaternion is no orientation."""
    for arms, expected in ((3, "'wrench' with 12 components"), (1, "no `force`")):
        with pytest.raises(ArgumentError, match=f"not defined for this .* {expected}"):
            plan_reference(ReferenceSettings(force=(ForceStepSettings(0.0, 1.0),)), UPRIGHT, arms)
    with pytest.raises(ArgumentError, match="unit quaternion"):
        plan_reference(ReferenceSettings(), np.zeros(7))


class Ramp:
    """A plan on which every number is the time."""

    def rows(self, times):
        """Return rows of the time."""
        return np.repeat(np.asarray(times, dtype=float)[:, None], 25, axis=1)


def test_accelerations_and_forces_are_looked_up_when_they_act():
    """Pose and twist are of the measurement's time, the rest of that of the command."""
    rows = looked_up(Ramp(), np.array([1.0, 2.0]), 0.5)
    assert_allclose(rows[:, :13], [[1.0] * 13, [2.0] * 13])
    assert_allclose(rows[:, 13:], [[1.5] * 12, [2.5] * 12])
