# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's controller as a law: exact at the instant, and safe for any input."""

from __future__ import annotations

import numpy as np
import pytest
from control.jointed.folding import LITERAL, folding, moving, terms_of

from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.control.reference import FORCE
from robot_dynamics.control.start_check import StartError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.parts_motion import PartPoses, parts_motion

AFTER = 110  # ticks; the object has moved by half a millimetre, the force has been made
NO_WRENCHES = np.zeros((2, 6))


def measured_by_wrists(law, q, qd, torque):
    """Return the wrenches that the tools' sensors would measure under a torque."""
    terms = terms_of(law, q, qd)
    wrenches = terms.grasp_wrenches(*terms.forward(torque)).reshape(2, 2, 3)
    return np.einsum("aji,awj->awi", terms.tool_pose[:, :3, :3], wrenches).reshape(2, 6)


def test_motion_and_force_are_exact_at_the_instant():
    """(47), (48): the first part accelerates as its servo asks, and so does the fold.

    The force is the reference's and K_I times the integral. To 1e-9 of the largest of each.
    """
    law, start = folding(*LITERAL, "safety.torque_rate=1e9")
    q, qd = moving(law, start, size=0.02)
    law.start(q, 0.0 * qd)
    for tick in range(AFTER, AFTER + 5):  # the integral grows meanwhile
        law.update(tick, q, qd, NO_WRENCHES)
    integral = law._integral[12:].copy()
    at = AFTER + 5
    step = law.update(at, q, qd, NO_WRENCHES)
    assert step.task_scale == 1.0
    terms = terms_of(law, q, qd)
    qdd, f = terms.forward(step.torque)
    np.testing.assert_allclose(
        f, step.reference[law.internal_columns] + 100.0 * integral, rtol=1e-9
    )
    assert np.abs(integral).max() > 1e-3
    wanted = parts_motion(law.reference.path, (at - law.ramp_ticks) * law.period)[0]
    error = wanted.error(PartPoses(law.jointed).poses(terms), terms.centers)
    asked = wanted.acceleration + 120.0 * (wanted.velocity - terms.velocity) + 4000.0 * error
    accelerates = np.einsum("hij,j->hi", terms.G, qdd) + terms.G_dot_qd
    size = np.abs(asked).max()
    np.testing.assert_allclose(accelerates[0], asked[0], rtol=0.0, atol=1e-9 * size)
    np.testing.assert_allclose(accelerates[1, :3], asked[1, :3], rtol=0.0, atol=1e-9 * size)


def test_near_a_singularity_the_object_stays_whole():
    """The left elbow is straightened: the joint's constraint and its force are exact all along.

    Accelerations grow until damping sets in, and then become smaller.
    """
    law, start = folding(*LITERAL, "safety.torque_rate=1e9")
    still = 0.0 * start
    q, _ = moving(law, start)
    rows = law._followed.row(AFTER)
    first, second = rows[law._motion], rows[law._second]
    evaluate = law.at_once(start)
    bent = np.geomspace(1.0, 1e-7, 141) * q[3]
    pivots, sizes = [], []
    for angle in bent:
        straight = q.copy()
        straight[3] = angle
        # What the servo asks for is that of the start, wherever the object has gone with the arm.
        seen = evaluate(straight, still, first, second)
        terms = terms_of(law, straight, still)
        torque = seen.primary + seen.push + seen.moving
        qdd, f = terms.forward(torque)
        size = np.abs(seen.acceleration).max()
        np.testing.assert_allclose(qdd, seen.acceleration, rtol=0.0, atol=1e-7 * size)
        np.testing.assert_allclose(terms.A @ qdd, 0.0, atol=1e-8 * size)
        np.testing.assert_allclose(f, first[FORCE], atol=1e-7 * size)
        pivots.append(seen.pivot)
        sizes.append(size)
    assert pivots[0] > 1e-2
    assert pivots[-1] < 1e-9
    assert 1e-6 < pivots[np.argmax(sizes)] < law.settings.safe_pivot < 1e-4
    assert sizes[-1] < 0.1 * max(sizes)
    straight[3] = 0.0
    step = law.update(AFTER, straight, still, None)
    assert step.scales[4] < 1e-3
    assert np.isfinite(step.torque).all()


def test_the_force_is_told_by_the_wrists():
    """Whatever the torque, from wrenches in the tools' frames; without them the reference."""
    law, start = folding(*LITERAL)
    q, qd = moving(law, start)
    law.start(q, 0.0 * qd)
    torque = law.hold_support(q) + np.random.default_rng(1).normal(size=14)
    step = law.update(AFTER, q, qd, measured_by_wrists(law, q, qd, torque))
    _, f = terms_of(law, q, qd).forward(torque)
    np.testing.assert_allclose(step.internal_force, f, atol=1e-8)
    law.update(AFTER, q, qd, None)
    blind = law.update(AFTER, q, qd, None)
    np.testing.assert_array_equal(blind.internal_force, step.reference[law.internal_columns])


def test_residual_wrenches_of_parts_are_estimated():
    """Inertia times the acceleration of a part beyond its plan, whatever the torque.

    And the sum of grasp and joint, by Newton's law.
    """
    law, start = folding(*LITERAL)
    q, qd = moving(law, start)
    law.start(q, 0.0 * qd)
    torque = law.hold_support(q) + np.random.default_rng(1).normal(size=14)
    measured = law.update(AFTER, q, qd, measured_by_wrists(law, q, qd, torque)).held_body_wrenches
    terms = terms_of(law, q, qd)
    qdd, _ = terms.forward(torque)
    moved = np.einsum("hij,j->hi", terms.G, qdd) + terms.G_dot_qd
    time = (AFTER - law.ramp_ticks) * law.period
    planned = parts_motion(law.reference.path, time)[0].acceleration
    for i, (force, pushed, residual) in enumerate(measured.reshape(2, 3, 6)):
        np.testing.assert_allclose(residual, terms.inertia[i] @ (moved[i] - planned[i]), atol=1e-8)
        mass = terms.inertia[i][5, 5]
        np.testing.assert_allclose(force[3:], mass * (moved[i, 3:] + [0.0, 0.0, 9.81]), atol=1e-8)
        assert not pushed.any()


def test_integrals_rest_without_wrenches_and_while_limits_rule():
    """The learned force stays, and nothing is added to it."""
    law, start = folding(*LITERAL, "safety.torque_rate=1e9")
    q, qd = moving(law, start, size=0.02)
    law.start(q, 0.0 * qd)
    for tick in (AFTER, AFTER + 1):
        law.update(tick, q, qd, NO_WRENCHES)
    learned = law._integral[12:].copy()
    assert np.abs(learned).max() > 0.0
    law.update(AFTER + 2, q, qd, None)
    np.testing.assert_array_equal(law._integral[12:], learned)
    tight, _ = folding(*LITERAL, "safety.torque_rate=1.0")
    tight.start(q, 0.0 * qd)
    for tick in range(AFTER, AFTER + 3):
        step = tight.update(tick, q, qd, NO_WRENCHES)
    assert step.scales[2] < 1.0
    assert not tight._integral.any()


def test_the_ramp_and_the_torque_rate():
    """The first torque is the support alone; changes are limited from the last one sent."""
    law, start = folding(*LITERAL)
    still = 0.0 * start
    last = law.hold_support(start) + 5.0
    law.start(start, still, last)
    torque = law.update(0, start, still, None).torque
    limit = law.safety.torque_rate * law.period
    assert (np.abs(torque - last) <= limit * (1.0 + 1e-9)).all()
    law.start(start, still)
    np.testing.assert_allclose(
        law.update(0, start, still, None).torque, law.hold_support(start), atol=1e-9
    )


def test_hold_comes_to_rest_on_the_path():
    """The reference goes on where it was, and ends at rest; the force stays; a start goes back."""
    law, start = folding(*LITERAL)
    still = 0.0 * start

    def references(tick):
        row = law._followed.row(tick)
        return row[: law.internal_columns.stop], row[-19:]

    law.start(start, still)
    before, after = references(AFTER), references(AFTER + 600)
    law.hold(AFTER)
    for one, other in zip(references(AFTER), before, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    first, second = references(law.ticks)
    assert not first[7:19].any()
    assert not second[7:19].any()
    np.testing.assert_array_equal(first[FORCE], before[0][FORCE])
    law.start(start, still)
    for one, other in zip(references(AFTER + 600), after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_start_from_afar_is_refused():
    """The arm is named whose part is not where the plan begins."""
    law, start = folding(*LITERAL)
    law.check_start(start, 0.0 * start)
    away = start.copy()
    away[10] += 0.1
    with pytest.raises(StartError, match="'right'"):
        law.check_start(away, 0.0 * start)


def test_a_path_that_cannot_be_followed_is_refused():
    """Before the first torque, with the time and the joint or arm."""
    law, start = folding(*LITERAL)
    law.check_path(start)
    high, _ = folding(*LITERAL, "reference.segments=[{duration_s: 4.0, move: [0.0, 0.0, 2.0]}]",
                      "reference.fold=[]")  # fmt: skip
    with pytest.raises(PreflightError, match="refused at"):
        high.check_path(start)
    heavy, _ = folding(*LITERAL, "cell.object.mass=40.0")
    with pytest.raises(PreflightError, match="too heavy"):
        heavy.check_path(start)


def test_feed_forward_estimates_are_refused():
    """They are for studies: a running law uses measurements."""
    with pytest.raises(RobotDynamicsError, match="'estimates'"):
        folding("control.jointed.estimates=feed-forward")
