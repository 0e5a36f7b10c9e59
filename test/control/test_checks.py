# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a control instant."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.checks import MeasurementCheck, StepCheck
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.wrench_residual import WrenchResidual
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
SETTINGS = SafetySettings(effort_fraction=0.9)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", [("q", 1), ("q", 2), ("qd", 1), ("qd", 3)])
def test_no_number_that_is_none_passes(bad, where):
    """Also for joints without limits; the finding names arm, joint and value."""
    check = MeasurementCheck(ARMS, LIMITS, wrench_count=2)
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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [*BAD, 1e308, -1e308])
@pytest.mark.parametrize("what", ["q", "qd", "wrenches", "passed", "torque", "last"])
def test_no_number_causes_a_warning(bad, what):
    """The finding says it in one sentence; the next good sample is compared as ever."""
    check = MeasurementCheck(ARMS, LIMITS, wrench_count=2)
    step = StepCheck(ARMS, LIMITS["effort"], SETTINGS)
    good = {"q": np.zeros(4), "qd": np.zeros(4), "wrenches": np.zeros((2, 6)), "passed": 0.01}
    torques = {"torque": np.zeros(4), "last": np.zeros(4)}
    check.passes(**good)
    if what in torques:
        step.passes(**torques | {what: np.full(4, bad)})
    else:
        check.passes(**good | {what: good[what] + bad})
        list(check.findings())
    check.begin()
    assert check.passes(**good)


@pytest.mark.parametrize("bad", BAD)
def test_a_wrench_that_is_no_number_does_not_pass(bad):
    """It concerns force feedback, not the arms; huge but finite wrenches pass."""
    check = MeasurementCheck(ARMS, LIMITS, wrench_count=2)
    wrenches = np.full((2, 6), 1e30)
    assert check.passes(np.zeros(4), np.zeros(4), wrenches)
    wrenches[1, 2] = bad
    assert not check.passes(np.zeros(4), np.zeros(4), wrenches)
    assert [f.cause for f in check.findings()] == [Cause.WRENCH_LOST]


def test_limits_are_named_with_the_joint():
    """Positions and velocities beyond their limits, unlimited joints never."""
    check = MeasurementCheck(ARMS, LIMITS)
    assert check.passes(np.array([1.0, 1e9, -1.0, 2.0]), np.array([2.0, -1e9, 0.0, -2.0]))
    check.begin()
    q, qd = np.array([0.0, 0.0, -1.1, 0.0]), np.array([0.0, 0.0, 0.0, 2.5])
    assert not check.passes(q, qd)
    found = [str(f) for f in check.findings()]
    assert found[0].startswith("right_a: position -1.1 is beyond its limits -1, 1")
    assert found[1].startswith("right_b: velocity 2.5 is beyond its limits -2, 2")


@pytest.mark.parametrize("what", ["q", "qd"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_both_sides_of_limits(what, sign):
    """1 % within, nothing is found; 1 % beyond, one thing is."""
    limit = {"q": LIMITS["upper"], "qd": LIMITS["velocity"]}[what][3]
    for part, count in ((0.99, 0), (1.01, 1)):
        check = MeasurementCheck(ARMS, LIMITS)
        values = {"q": np.zeros(4), "qd": np.zeros(4)}
        values[what][3] = part * sign * limit
        assert check.passes(**values) == (not count)
        assert [one.subject for one in check.findings()] == ["right_b"] * count


@pytest.mark.parametrize(
    ("at", "value", "good"), [(1, 9.9, True), (1, -10.1, False), (4, -99.0, True), (4, 101, False)]
)
def test_wrenches_that_are_not_plausible(at, value, good):
    """Beyond 10 N m and 100 N along an axis."""
    check = MeasurementCheck(ARMS, LIMITS, wrench_count=2, wrench_limits=(10.0, 100.0))
    wrenches = np.zeros((2, 6))
    wrenches[1, at] = value
    assert check.passes(np.zeros(4), np.zeros(4), wrenches) == good
    assert [one.cause for one in check.findings()] == ([] if good else [Cause.WRENCH_LOST])


def test_wrong_lengths_are_refused():
    """An array of another length, even of length one, is not spread over the joints."""
    check = MeasurementCheck(ARMS, LIMITS, wrench_count=2)
    for q, qd, wrenches in (
        (np.zeros(1), np.zeros(4), None),
        (np.zeros(4), np.zeros(5), None),
        (np.zeros(4), np.zeros(4), np.zeros((1, 6))),
    ):
        with pytest.raises(ArgumentError, match="expected"):
            check.passes(q, qd, wrenches)


@pytest.mark.parametrize("bad", [*BAD, 50.1, -51.0])
def test_torques_are_numbers_within_their_limits(bad):
    """The finding names the joint; rounding beyond the limit is let through."""
    check = StepCheck(ARMS, LIMITS["effort"], SETTINGS)
    last = np.zeros(4)
    assert check.passes(np.array([50.0 * (1 + 1e-12), -50.0, 0.0, 1e12]), last)
    assert check.figures().excess <= 0.0
    torque = np.array([0.0, bad, 0.0, 0.0])
    assert not check.passes(torque, last)
    assert not check.figures().excess <= 0.0
    found = check.torque_finding(torque)
    assert found.cause is Cause.TORQUE_INVALID
    assert found.subject == "left_b"
    assert "3 torques, expected 4" in str(check.torque_missing(np.zeros(3)))
    assert check.torque_missing(None).cause is Cause.CONTROLLER_FAILED
    assert check.torque_missing(torque) is None


def test_support_beyond_its_limit_names_the_joint_that_lacks_most():
    """Support may use the fraction of the effort that control may use."""
    check = StepCheck(ARMS, LIMITS["effort"], SETTINGS)
    assert check.support_finding(np.array([44.9, -44.9, 0.0, 1e9])) is None
    assert check.support_finding(np.array([0.0, 0.0, -45.1, 0.0])).subject == "right_a"
    found = check.support_finding(np.array([46.0, -48.0, 0.0, 0.0]))
    assert (found.cause, found.subject) == (Cause.SUPPORT_LIMIT, "left_b")
    assert "takes 48 N m; expected at most 45 N m" in found.sentence
    assert check.support_finding(np.array([0.0, 0.0, np.nan, 0.0])).subject == "right_a"


@pytest.mark.parametrize(
    ("closure", "warns", "lost"),
    [
        ((0, 0, 0, 0, 0, 0), False, False),
        ((0, 0, 0, 0, 0.0006, 0.0006), False, False),
        ((0, 0, 0, 0, 0.99e-3, 0), False, False),
        ((0, 0, 0, 0, 1.01e-3, 0), True, False),
        ((0, 4.95e-3, 0, 0, 0, 0), False, False),
        ((0, 5.05e-3, 0, 0, 0, 0), True, False),
        ((0, 0, 0, 0.007, 0, -0.007), True, False),
        ((0, 0, 0, 0.0071, 0, -0.0072), True, True),
        ((0.03, 0.03, 0.026, 0, 0, 0), True, False),
        ((0.03, 0.03, 0.028, 0, 0, 0), True, True),
        ((0, 0, 0, np.nan, 0, 0), True, True),
    ],
)
def test_the_closure_is_warned_of_then_lost(closure, warns, lost):
    """Warning and limit are sizes of rotation vector and displacement; a NaN is a lost grasp."""
    settings = SafetySettings()
    check = StepCheck(ARMS, LIMITS["effort"], settings)
    values = np.array(closure, dtype=float)
    assert check.passes(np.zeros(4), np.zeros(4), None, values) != warns
    figures = check.figures()
    angle, distance = figures.closure_angle, figures.closure_distance
    good = distance <= settings.closure_warning_m and angle <= settings.closure_warning_rad
    assert good != warns
    assert check.motion(figures).apart == warns
    found = list(check.closure_findings(values))
    assert [f.subject for f in found] == (["right"] if lost else [])
    if lost:
        assert found[0].cause is Cause.GRASP_LOST
        assert "arm 'left' disagree" in found[0].sentence


@pytest.mark.parametrize(
    ("at", "value", "lost"), [(0, 0.198, 0), (1, -0.202, 1), (3, -0.0495, 0), (4, 0.0505, 1)]
)
def test_how_far_the_object_may_be_from_its_reference(at, value, lost):
    """0.2 rad and 5 cm."""
    check = StepCheck(ARMS, LIMITS["effort"], SETTINGS)
    error = value * np.eye(6)[at]
    assert check.passes(np.zeros(4), np.zeros(4), error) == (not lost)
    figures = check.figures()
    found = check.tracking_finding(figures.turned, figures.moved)
    assert (found is not None) == bool(lost)


def test_a_doubt_about_one_body_is_enough():
    """6 N of a heavy body, whose warning begins at 5 N; 4.9 N are none."""
    bodies = [
        WrenchResidual(name, weight, 0.2, SETTINGS, 0.002)
        for name, weight in (("light", 20.0), ("heavy", 100.0))
    ]
    for force, doubted in ((4.9, []), (6.0, ["heavy"])):
        check = StepCheck(ARMS, LIMITS["effort"], SETTINGS, bodies=bodies)
        wrenches = np.zeros((2, 18))
        wrenches[1, 15] = force
        for _ in range(100):
            assert check.passes(np.zeros(4), np.zeros(4), wrenches=wrenches)
        assert check.doubtful or not doubted
        warned = [sentence.partition(":")[0] for sentence in check.wrench_warnings(wrenches)]
        assert warned == doubted
        assert list(check.wrench_findings(wrenches)) == []


def test_the_figures_of_a_step_are_those_of_numpy():
    """Against vector norms, of three arms and of one; the worst arm counts."""
    rng = np.random.default_rng(5)
    for count in (1, 3):
        arms = {f"arm{i}": (f"{i}_a", f"{i}_b") for i in range(count)}
        effort = rng.uniform(10.0, 20.0, 2 * count)
        check = StepCheck(arms, effort, SETTINGS)
        torque, last = rng.normal(size=(2, 2 * count))
        error, closure = rng.normal(size=6), rng.normal(size=6 * (count - 1))
        sizes = np.linalg.norm(closure.reshape(-1, 2, 3), axis=2)
        expected = [
            np.max(np.abs(torque) - effort),
            np.max(np.abs(torque - last)),
            np.linalg.norm(error[:3]),
            np.linalg.norm(error[3:]),
            *sizes.max(axis=0, initial=0.0),
        ]
        check.passes(torque, last, error, closure)
        found = check.figures()
        np.testing.assert_allclose(found[:6], expected, 1e-7)
        assert (found.link_margin, found.wrench_excess) == (np.inf, -np.inf)  # not looked at
