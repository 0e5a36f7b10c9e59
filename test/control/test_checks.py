# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The check of measured joint states and wrenches."""

from __future__ import annotations

import numpy as np
import pytest
from support.measurements import Measurements

from robot_dynamics.control.checks import _Track
from robot_dynamics.control.faults import Cause
from robot_dynamics.errors import ArgumentError

ARMS = {"left": ("left_a", "left_b"), "right": ("right_a", "right_b")}
JOINTS = tuple(joint for joints in ARMS.values() for joint in joints)
LIMITS = {
    "lower": np.array([-1.0, -np.inf, -1.0, -2.0]),
    "upper": np.array([1.0, np.inf, 1.0, 2.0]),
    "velocity": np.array([2.0, np.inf, 2.0, 2.0]),
    "effort": np.array([50.0, 50.0, 50.0, np.inf]),
}
BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", [("q", 1), ("q", 2), ("qd", 1), ("qd", 3)])
def test_no_number_that_is_none_passes(bad, where):
    """Also for joints without limits; the finding names arm, joint and value."""
    check = Measurements(ARMS, LIMITS, wrench_count=2)
    values = {"q": np.zeros(4), "qd": np.zeros(4)}
    assert check.passes(**values, wrenches=np.zeros((2, 6)))
    what, i = where
    values[what][i] = bad
    assert not check.passes(**values)
    found = list(check.findings())
    assert [f.cause for f in found] == [Cause.ARM_LOST]
    assert found[0].subject == ("left" if i < 2 else "right")
    assert repr(JOINTS[i]) in str(found[0])
    assert str(bad) in str(found[0])


@pytest.mark.parametrize("bad", BAD)
def test_a_wrench_that_is_no_number_does_not_pass(bad):
    """It concerns force feedback, not the arms; huge but finite wrenches pass."""
    check = Measurements(ARMS, LIMITS, wrench_count=2)
    wrenches = np.full((2, 6), 1e30)
    assert check.passes(np.zeros(4), np.zeros(4), wrenches)
    wrenches[1, 2] = bad
    assert not check.passes(np.zeros(4), np.zeros(4), wrenches)
    assert [f.cause for f in check.findings()] == [Cause.WRENCH_LOST]


def test_limits_are_named_with_the_joint():
    """Positions and velocities beyond their limits, unlimited joints never."""
    check = Measurements(ARMS, LIMITS)
    assert check.passes(np.array([1.0, 1e9, -1.0, 2.0]), np.array([2.0, -1e9, 0.0, -2.0]))
    check.begin()
    q, qd = np.array([0.0, 0.0, -1.1, 0.0]), np.array([0.0, 0.0, 0.0, 2.5])
    assert not check.passes(q, qd)
    found = [str(f) for f in check.findings()]
    assert found[0].startswith("right_a: position is -1.1 rad, expected -1 to 1 rad")
    assert found[1].startswith("right_b: velocity is 2.5 rad/s, expected -2 to 2 rad/s")
    sliding = Measurements(ARMS, LIMITS, units=["rad", "rad", "m", "m"])
    assert not sliding.passes(q, qd)
    found = [str(f) for f in sliding.findings()]
    assert found[0].startswith("right_a: position is -1.1 m, expected -1 to 1 m")
    assert found[1].startswith("right_b: velocity is 2.5 m/s, expected -2 to 2 m/s")


@pytest.mark.parametrize("what", ["q", "qd"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_both_sides_of_limits(what, sign):
    """1 % within, nothing is found; 1 % beyond, one thing is."""
    limit = {"q": LIMITS["upper"], "qd": LIMITS["velocity"]}[what][3]
    for part, count in ((0.99, 0), (1.01, 1)):
        check = Measurements(ARMS, LIMITS)
        values = {"q": np.zeros(4), "qd": np.zeros(4)}
        values[what][3] = part * sign * limit
        assert check.passes(**values) == (not count)
        assert [one.subject for one in check.findings()] == ["right_b"] * count


@pytest.mark.parametrize(
    ("at", "value", "good"), [(1, 9.9, True), (1, -10.1, False), (4, -99.0, True), (4, 101, False)]
)
def test_wrenches_that_are_not_plausible(at, value, good):
    """Beyond 10 N m and 100 N along an axis."""
    check = Measurements(ARMS, LIMITS, wrench_count=2, wrench_limits=(10.0, 100.0))
    wrenches = np.zeros((2, 6))
    wrenches[1, at] = value
    assert check.passes(np.zeros(4), np.zeros(4), wrenches) == good
    found = list(check.findings())
    assert [one.cause for one in found] == ([] if good else [Cause.WRENCH_LOST])
    words = "moment y of arm 'right' is -10.1 N m; expected at most 10 N m"
    words = words if at == 1 else "force y of arm 'right' is 101 N; expected at most 100 N"
    assert all(words in one.sentence for one in found)


def test_wrong_lengths_are_refused():
    """An array of another length, even of length one, is not spread over the joints."""
    check = Measurements(ARMS, LIMITS, wrench_count=2)
    for q, qd, wrenches in (
        (np.zeros(1), np.zeros(4), None),
        (np.zeros(4), np.zeros(5), None),
        (np.zeros(4), np.zeros(4), np.zeros((1, 6))),
    ):
        with pytest.raises(ArgumentError, match="expected"):
            check.passes(q, qd, wrenches)


def test_silence_is_no_proof_that_positions_are_continuous():
    """They count again after 0.1 s of samples without a jump, not after one late sample."""
    track = _Track("its positions jump.", 2)
    jump = np.array([0.1, 0.0])
    assert not track.is_continuous(jump, 0.002)
    assert not track.is_continuous(-jump, 0.002)
    assert not track.is_continuous(np.array([np.nan, 0.0]), 3.0)
    track = _Track("its positions jump.", 2)
    assert not track.is_continuous(0.0 * jump, 3.0)
    track.is_continuous(0.0 * jump, 3.0)
    assert track.is_continuous(0.0 * jump, 3.0)
