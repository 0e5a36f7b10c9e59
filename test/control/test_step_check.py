# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules for a step of the law."""

from __future__ import annotations

import numpy as np
import pytest
from support.law_steps import findings, judged, law_step

from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.step_check import StepCheck, StepFigures
from robot_dynamics.control.wrench_residual import WrenchResidual

ARMS = {"left": ("left_a", "left_b"), "right": ("right_a", "right_b")}
EFFORT = np.array([50.0, 50.0, 50.0, np.inf])
SETTINGS = SafetySettings(effort_fraction=0.9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 50.1, -51.0])
def test_torques_are_numbers_within_their_limits(bad):
    """The finding names the joint; rounding beyond the limit is let through."""
    check = StepCheck(ARMS, EFFORT, SETTINGS)
    good = law_step(np.array([50.0 * (1 + 1e-12), -50.0, 0.0, 1e12]))
    assert check.passes(good, good.torque, np.zeros(4), np.zeros(4), measured=False)
    assert findings(check, good) == []
    step = law_step(np.array([0.0, bad, 0.0, 0.0]))
    assert not check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False)
    (found,) = findings(check, step)
    assert (found.cause, found.subject) == (Cause.TORQUE_INVALID, "left_b")
    assert "3 torques, expected 4" in str(check.torque_missing(np.zeros(3)))
    assert check.torque_missing(None).cause is Cause.CONTROLLER_FAILED


@pytest.mark.parametrize(
    ("support", "joint", "words"),
    [
        ([44.9, -44.9, 0.0, 1e9], None, ""),
        ([0.0, 0.0, -45.1, 0.0], "right_a", "takes 45.1 N m"),
        ([46.0, -48.0, 0.0, 0.0], "left_b", "takes 48 N m; expected at most 45 N m"),
        ([0.0, 0.0, np.nan, 0.0], "right_a", "takes nan"),
    ],
)
def test_support_beyond_its_limit_names_the_joint_that_lacks_most(support, joint, words):
    """Support may use the fraction of the effort that control may use."""
    check = StepCheck(ARMS, EFFORT, SETTINGS)
    ratio = np.max(np.abs(support) / (0.9 * EFFORT))
    step = law_step(np.zeros(4), support=np.array(support), support_torque_ratio=ratio)
    passed = check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False)
    assert passed == (joint is None)
    found = findings(check, step)
    assert [(one.cause, one.subject) for one in found] == (
        [] if joint is None else [(Cause.SUPPORT_LIMIT, joint)]
    )
    assert all(words in one.sentence for one in found)
    # Rounding of the ratio alone is no fault.
    still = law_step(np.zeros(4), support_torque_ratio=1.0 + 1e-15)
    assert findings(check, still) == []


def test_efforts_have_the_unit_of_their_joint():
    """A torque of a joint that turns, a force of one that slides."""
    check = StepCheck(ARMS, EFFORT, SETTINGS, units=("rad", "m", "rad", "rad"))
    step = law_step(np.array([0.0, 51.0, 0.0, 0.0]))
    check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False)
    assert "wants 51 N; expected a finite torque of at most 50 N." in findings(check, step)[0][2]
    step = law_step(np.zeros(4), support=np.array([0, 48, 0, 0.0]), support_torque_ratio=1.07)
    check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False)
    assert "takes 48 N; expected at most 45 N." in findings(check, step)[0][2]


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
    check = StepCheck(ARMS, EFFORT, SafetySettings())
    step = law_step(np.zeros(4), closure=np.array(closure, dtype=float))
    assert check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False) != warns
    cell = judged(check, step)
    assert check.arms_agree(cell.figures) != warns
    assert check.deviation(cell).apart == warns
    found = list(check.findings(cell))
    assert [f.subject for f in found] == (["right"] if lost else [])
    if lost:
        assert found[0].cause is Cause.GRASP_LOST
        assert "arm 'left' disagree" in found[0].sentence


def test_arms_that_hold_nothing_do_not_disagree():
    """Their steps tell no closure."""
    check = StepCheck(ARMS, EFFORT, SETTINGS, held_bodies=0)
    step = LawStep(np.zeros(4), np.zeros(4), np.zeros(0), np.zeros(7))
    assert findings(check, step) == []
    assert check.deviation(judged(check, step)).apart is None


@pytest.mark.parametrize(
    ("at", "value", "lost"), [(0, 0.198, 0), (1, -0.202, 1), (3, -0.0495, 0), (4, 0.0505, 1)]
)
def test_how_far_the_object_may_be_from_its_reference(at, value, lost):
    """0.2 rad and 5 cm."""
    check = StepCheck(ARMS, EFFORT, SETTINGS)
    step = law_step(np.zeros(4), error=value * np.eye(6)[at])
    assert check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=False) == (not lost)
    assert [one.cause for one in findings(check, step)] == [Cause.TRACKING_LOST] * lost


def test_a_doubt_about_one_body_is_enough():
    """6 N of a heavy body, whose warning begins at 5 N; 4.9 N are none."""
    bodies = [
        WrenchResidual(name, weight, 0.2, SETTINGS, 0.002)
        for name, weight in (("light", 20.0), ("heavy", 100.0))
    ]
    for force, doubted in ((4.9, []), (6.0, ["heavy"])):
        check = StepCheck(ARMS, EFFORT, SETTINGS, bodies=bodies, held_bodies=2)
        wrenches = np.zeros((2, 18))
        wrenches[1, 15] = force
        step = law_step(np.zeros(4), held_body_wrenches=wrenches)
        for _ in range(100):
            passed = check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=True)
        assert check.doubtful or not doubted
        assert passed != check.doubtful
        cell = judged(check, step)
        assert [words.partition(":")[0] for words in check.warnings(cell)] == doubted
        assert list(check.findings(cell)) == []
    wrenches[1, 15] = 4.8  # noise below the warning limit does not end a doubt
    for _ in range(500):
        check.passes(step, step.torque, np.zeros(4), np.zeros(4), measured=True)
    assert check.doubtful


def test_the_finger_that_tilts_is_named():
    """Of two soft fingers, one of which does not tilt."""
    check = StepCheck(ARMS, EFFORT, SETTINGS, soft_fingers=("left", "right"))
    (found,) = findings(check, law_step(np.zeros(4), tilts=np.radians([0.0, 11.0])))
    assert (found.cause, found.subject) == (Cause.GRASP_TILTED, "right")


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
        step = law_step(torque, error=error, closure=closure)
        check.passes(step, torque, last, np.zeros(2 * count), measured=False)
        found = check.figures(0)
        np.testing.assert_allclose(found[:6], expected, 1e-7)
        assert (found.link_margin, found.wrench_excess) == (np.inf, -np.inf)  # not looked at


def test_rules_are_the_same_for_one_cell_and_for_many():
    """Each of a column of figures keeps a rule exactly if it does alone."""
    check = StepCheck(ARMS, EFFORT, SETTINGS, soft_fingers=("right",), scaled_for=10)
    rng = np.random.default_rng(6)
    columns = StepFigures._make(
        np.concatenate([scale * rng.normal(size=50), [np.nan]])
        for scale in (1.0, 1.0, 0.2, 0.05, 0.05, 0.01, 1.0, 1.0, 0.2, 1.0, 10.0)
    )
    broken = np.zeros(len(check.rules), dtype=int)
    for i in range(51):
        alone = StepFigures(*(column[i].item() for column in columns))
        for j, rule in enumerate(check.rules):
            assert bool(rule.kept(columns)[i]) == bool(rule.kept(alone))
            broken[j] += not rule.kept(alone)
    assert (broken > 1).all()  # by more than the NaN
    assert (broken < 51).all()
