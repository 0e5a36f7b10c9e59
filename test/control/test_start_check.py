# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The check of the state in which control is to start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from two_arms import BOX, two_arms

from robot_dynamics.control import start_check
from robot_dynamics.control.settings import StartSettings
from robot_dynamics.control.start_check import (
    NotAtRestError,
    StartError,
    check_joints,
    check_start,
    disagreement,
    require_near,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.assembly import closed_configuration

SYSTEM = two_arms()
REST = np.zeros(14)


@pytest.fixture(scope="module")
def held():
    """Return joint positions at which both arms are at their grasps."""
    return closed_configuration(SYSTEM, BOX)[SYSTEM.q_index]


def refused(q, qd=REST, start=BOX, **settings) -> StartError:
    """Return the error of a start that must be refused."""
    with pytest.raises(StartError) as caught:
        check_start(SYSTEM, StartSettings(**settings), start, q, qd)
    return caught.value


def test_closed_grasps_at_rest_may_start(held):
    """Also a little off, within the tolerances."""
    check_start(SYSTEM, StartSettings(), BOX, held, REST)
    check_start(SYSTEM, StartSettings(), BOX, held + 0.003, REST + 0.01)
    tight = {"position_tolerance_m": 1e-9, "rotation_tolerance_rad": 1e-9}
    check_start(SYSTEM, StartSettings(**tight), BOX, held, REST)


def test_an_arm_far_from_its_grasp_is_named_with_the_distance(held):
    """A joint turned by a known angle moves the grasp by a known distance."""
    q = held.copy()
    q[7] += 0.1  # the right arm's first joint, about a vertical axis at (0, -0.25)
    error = refused(q)
    assert error.subject == "right"
    distance = 2.0 * np.sin(0.05) * np.hypot(0.5, 0.25)
    assert error.value == pytest.approx(distance, rel=1e-6)
    assert str(error).startswith(
        f"start refused: arm 'right' is {distance:.3g} m and 5.73 degrees from its grasp; "
        "expected at most 0.01 m"
    )


def test_a_reference_that_starts_elsewhere_is_refused(held):
    """The arms agree with one another, but not with where the path begins."""
    elsewhere = BOX + 0.05 * (np.arange(7) == 2)
    assert refused(held, start=elsewhere).value == pytest.approx(0.05)
    turned = np.array([*BOX[:3], 0.0, 0.0, np.sin(0.1), np.cos(0.1)])
    assert "11.5 degrees" in str(refused(held, start=turned))


def test_joints_that_move_or_are_beyond_limits_are_named(held):
    """So are positions and velocities that are no numbers."""
    qd = REST.copy()
    qd[3] = -0.5
    assert refused(held, qd).subject == "left_joint4"
    assert "moves at 0.5" in str(refused(held, qd))
    q = held.copy()
    q[9] = 3.0
    assert "joint 'right_joint3' is at 3 rad, expected" in str(refused(q))
    q[9] = np.nan
    assert "position of joint 'right_joint3' is nan" in str(refused(q))


def test_wrong_lengths_are_refused(held):
    """The sentence says which array."""
    with pytest.raises(ArgumentError, match="qd has 13 entries, expected 14"):
        check_start(SYSTEM, StartSettings(), BOX, held, REST[1:])


def test_disagreement_about_the_object(held):
    """None with closed grasps; a joint turned by a known angle turns its arm's view by it."""
    assert disagreement(SYSTEM, held) < 1e-8  # to which the grasps were closed
    q = held.copy()
    q[7] += 0.1  # the right arm's first joint, about a vertical axis at (0, -0.25)
    distance = 2.0 * np.sin(0.05) * np.hypot(0.5, 0.25)
    assert disagreement(SYSTEM, q) == pytest.approx(max(0.1, distance), rel=1e-6)


def test_of_three_arms_the_worst_counts(held, monkeypatch):
    """Each is compared with the first."""
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (3, 1))
    poses[1, 0], poses[2, 1] = 0.02, -0.01
    monkeypatch.setattr(start_check, "_poses_seen", lambda *_: poses)
    assert disagreement(SYSTEM, held) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("away", "turned", "refused"),
    [
        (0.0099, 0.0, False),
        (0.0101, 0.0, True),
        (0.0, 0.0495, False),
        (0.0, 0.0505, True),
        (0.0099, 0.0495, False),
    ],
)
def test_how_far_off_a_start_may_be(held, away, turned, refused):
    """A centimetre and a twentieth of a radian, each by itself; both sides of each."""
    half = 0.5 * turned
    start = np.array([BOX[0], BOX[1], BOX[2] + away, 0.0, 0.0, np.sin(half), np.cos(half)])
    if not refused:
        check_start(SYSTEM, StartSettings(), start, held, REST)
        return
    with pytest.raises(StartError) as caught:
        check_start(SYSTEM, StartSettings(), start, held, REST)
    assert caught.value.expected == 0.01
    assert caught.value.value == pytest.approx(away, abs=1e-7)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_how_fast_a_joint_may_be(held, sign):
    """Two hundredths of a radian a second, either way; it may come to rest by itself."""
    qd = REST.copy()
    qd[5] = 0.0199 * sign
    check_start(SYSTEM, StartSettings(), BOX, held, qd)
    qd[5] = 0.0201 * sign
    with pytest.raises(NotAtRestError) as caught:
        check_start(SYSTEM, StartSettings(), BOX, held, qd)
    assert (caught.value.subject, caught.value.value) == ("left_joint6", 0.0201)
    assert caught.value.expected == 0.02


@pytest.mark.parametrize(("q", "limit"), [(2.89, None), (2.91, 2.9), (-2.89, None), (-2.91, -2.9)])
def test_where_a_joint_may_be(held, q, limit):
    """Up to its limits, on both sides; the limit that is missed is told."""
    at = held.copy()
    at[5] = q
    if limit is None:
        check_joints(SYSTEM, StartSettings(), at, REST)
        return
    with pytest.raises(StartError) as caught:
        check_joints(SYSTEM, StartSettings(), at, REST)
    assert (caught.value.value, caught.value.expected) == (q, limit)


def test_one_arm_agrees_with_itself(held):
    """A reset asks whether arms agree about their object."""
    assert disagreement(replace(SYSTEM, arms=SYSTEM.arms[:1]), held[:7]) == 0.0


@pytest.mark.parametrize("gap", [(np.nan, 0.0), (0.0, np.nan)])
def test_deviations_that_are_no_numbers_are_refused(gap):
    """Whether distance or angle is none."""
    with pytest.raises(StartError, match=r"arm 'b' is .*nan"):
        require_near(StartSettings(), ["a", "b"], [(0.02, 0.0), gap], "its grasp")
