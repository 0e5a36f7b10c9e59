# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled law is the law: equal to the one in NumPy, and exact under forward dynamics.

What it is compared with follows from the request alone (`support.exact_decoupling`). States are
random ones where the arms' S^T J has a condition of less than 100, those nearer to singularities
are drawn again: arms move without bound there, and rounding with them. In the law as shipped the
model is evaluated ahead of the measurement, arms are damped below a pivot that none of these
states comes near, and arms share the load unequally.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.exact_decoupling import worst
from support.hybrid_systems import GRASPS, LINKAGE, SURFACES

from robot_dynamics.control.hybrid.motion_servo import MotionServo


def check(*combination, **how):
    """Assert that requests are met, and that torques are those of NumPy.

    Both lose digits with the condition of J: to 1e-16 times some powers of 100.
    """
    found = worst(*combination, **how)
    assert found.error < 1e-9
    assert found.torque < 1e-10


@pytest.mark.parametrize(
    ("count", "kind", "surfaces", "joints", "shipped"),
    [
        (2, "rigid", "free", 7, False),
        (3, "soft finger", "plane", 6, False),
        (3, "frictional point", "two planes", 7, True),
    ],
)
def test_it_is_the_law_of_numpy(count, kind, surfaces, joints, shipped):
    """Compiled: torques are those of `hybrid_torque`, and forward dynamics return the request."""
    check(count, kind, joints, SURFACES[surfaces], 20, shipped=shipped)


@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_in_every_combination(count, kind, surfaces, joints):
    """The code that the kernels are traced from, over floats, at a state of each; and shipped."""
    check(count, kind, joints, SURFACES[surfaces], 1, compiled=False)
    check(count, kind, joints, SURFACES[surfaces], 1, compiled=False, shipped=True)


@pytest.mark.parametrize("surfaces", SURFACES)
def test_it_moves_along_coordinates_of_the_users_own(surfaces):
    """u1 is (41) in the coordinates, and what surfaces take away leaves them as they are (35)."""
    check(2, "rigid", 6, SURFACES[surfaces], 3, compiled=False, own=True)


@pytest.mark.parametrize(
    ("count", "kind", "surfaces"),
    [(2, "soft finger", "plane"), (3, "frictional point", "two planes")],
)
def test_it_decouples_for_arms_with_loops(count, kind, surfaces):
    """The same over floats, of arms with a five-bar linkage each: torques are those of drives."""
    check(count, kind, LINKAGE, SURFACES[surfaces], 2, compiled=False)
    check(count, kind, LINKAGE, SURFACES[surfaces], 2, compiled=False, shipped=True)


@pytest.mark.slow
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_for_arms_with_loops_anywhere(count, kind, surfaces):
    """Over 200 states of every combination of contacts and planes, and 100 as shipped."""
    check(count, kind, LINKAGE, SURFACES[surfaces], 200)
    check(count, kind, LINKAGE, SURFACES[surfaces], 100, shipped=True)


@pytest.mark.parametrize("falsified", [lambda a: -3.0 * a + 1.0, lambda a: 1.001 * a])
def test_a_wrong_servo_is_found(falsified, monkeypatch):
    """Of a law that asks for another acceleration the comparison says that it is off."""
    honest = MotionServo.of

    def wrong(*given):
        servo = honest(*given)
        return replace(servo, acceleration=[falsified(a) for a in servo.acceleration])

    monkeypatch.setattr(MotionServo, "of", wrong)
    found = worst(3, "soft finger", 6, 1, 1, compiled=False)
    assert found.error > 1e-6
    assert found.torque > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_at_a_thousand_states(count, kind, surfaces, joints):
    """The same over 1000 states of every combination, and 200 as shipped."""
    check(count, kind, joints, SURFACES[surfaces], 1000)
    check(count, kind, joints, SURFACES[surfaces], 200, shipped=True)
