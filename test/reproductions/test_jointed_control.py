# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Servos on Unseren's architecture: exact at the instant, and within the limits of torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from control.jointed.situations import FORCE, MODEL, START, SYSTEM, path
from manipulation.jointed_object.cases import closed_states, random_system
from numpy.testing import assert_allclose

from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_control import (
    JointedObjectController,
    ReproductionSettings,
    TorqueLimitError,
)
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms

INSTANT = ReproductionSettings(lead_periods=0.0)


def controller(settings=None, effort=None, ticks=100, force=FORCE):
    return JointedObjectController(MODEL, path(), force, START, 1e-3, ticks, settings, effort)


def moving(rng):
    """Return positions and velocities a little off the path, the object's joint closed."""
    terms = MODEL.terms(START, 0 * START)
    reduced = ReducedOrderTerms.of(terms, CompletedVelocities.chosen(terms))
    qd = 0.1 * reduced.Sigma @ rng.normal(size=9)
    return START, qd


def test_motion_and_force_are_exact_at_the_instant():
    """nu_dot = nu_dot_d + K_v (nu_d - nu) + K_p e and f = tau_1, to rounding (47), (48)."""
    q, qd = moving(np.random.default_rng(0))
    law, tick = controller(INSTANT), 60
    for before in range(tick):  # the integral grows meanwhile
        law.update(before, START, 0 * START, FORCE + 0.1)
    step = law.update(tick, q, qd, FORCE + 0.1)
    terms = MODEL.terms(q, qd)
    qdd, f = terms.forward(step.torque)
    wanted = law.reference[tick]
    felt = np.einsum("hij,j->hi", terms.G, qdd) + terms.G_dot_qd
    error = wanted.error(_poses(terms), terms.centers)
    asked = wanted.acceleration + 120.0 * (wanted.velocity - terms.velocity) + 4000.0 * error
    assert_allclose(felt[0], asked[0], rtol=0, atol=1e-9 * np.abs(asked).max())
    assert_allclose(felt[1, :3], asked[1, :3], rtol=0, atol=1e-9 * np.abs(asked).max())
    integral = 100.0 * 1e-3 * tick * -0.1
    assert_allclose(f, FORCE + integral, rtol=1e-9)
    assert_allclose(step.force, f, rtol=1e-9)


def _poses(terms):
    from robot_dynamics.reproductions.parts_motion import PartPoses

    return PartPoses(SYSTEM).poses(terms)


def test_feed_forward_estimates_are_those_of_the_path():
    """On the path both kinds of estimate ask for the same torques."""
    steps = [
        controller(replace(INSTANT, estimates=kind)).update(0, START, 0 * START)
        for kind in ("feedback", "feed-forward")
    ]
    assert_allclose(steps[0].torque, steps[1].torque, atol=1e-7)


def test_redundant_arms_return_to_their_start():
    """Out of posture the object stays still and the joints accelerate back."""
    rng = np.random.default_rng(4)
    system, q, _ = next(closed_states(rng, random_system(rng, "spherical", (7, 7)), 1))
    model = JointSpaceModel(system)
    terms = model.terms(q, 0 * q)
    still = ObjectPath(system, system.part_poses(q), ReferenceSettings(), ReferenceSettings())
    away = q + 0.1 * rng.normal(size=14)
    law = JointedObjectController(model, still, np.zeros(3), away, 1e-3, 1, INSTANT)
    qdd, f = terms.forward(law.update(0, q, 0 * q).torque)
    # The object's joint cannot be measured, and neither part accelerates.
    scale = np.abs(qdd).max()
    assert_allclose(terms.G @ qdd, 0.0, atol=1e-8 * scale)
    assert_allclose(f, 0.0, atol=1e-7 * scale)
    assert qdd @ (away - q) > 0.0


def test_limits_take_from_the_motion_first_then_from_the_force():
    """The supporting torque stays whole, and the rest is still decoupled."""
    q = START + 0.0
    free = controller(INSTANT).update(50, q, 0 * q)
    terms = MODEL.terms(q, 0 * q)
    support = terms.inverse(0 * q, 0 * FORCE)
    push = terms.A.T @ FORCE
    # Room for the force, and for half of what the motion asks.
    middle = support + push + 0.5 * (free.torque - support - push)
    tight = np.maximum(np.maximum(np.abs(middle), np.abs(support)), np.abs(support + push)) + 1e-6
    step = controller(INSTANT, effort=tight).update(50, q, 0 * q)
    assert (np.abs(step.torque) <= tight * (1.0 + 1e-8) + 1e-9).all()
    assert step.scales[0] == 1.0
    assert 0.0 < step.scales[1] < 1.0
    assert_allclose(terms.forward(step.torque)[1], FORCE, atol=1e-8)
    qdd = terms.forward(step.torque)[0]
    full = terms.forward(free.torque)[0]
    assert_allclose(qdd, step.scales[1] * full, atol=1e-6 * np.abs(full).max())


def test_the_integral_rests_while_the_force_is_held_back():
    """If limits leave no room for the force, it does not wind up; else it is bounded."""
    still = 0 * START
    support = MODEL.terms(START, still).inverse(still, 0 * FORCE)
    law = controller(replace(INSTANT, lead_periods=0.0), effort=np.abs(support) + 0.1, ticks=400)
    for tick in range(20):
        step = law.update(tick, START, still, 0 * FORCE)
    assert 0.0 < step.scales[0] < 1.0
    ratio = step.force / step.scales[0]
    # One period's integral at the most came in before the limits were met.
    assert_allclose(ratio, FORCE, rtol=0.11)
    bounded = controller(replace(INSTANT, force_bound=2.0), ticks=400)
    for tick in range(300):
        step = bounded.update(tick, START, still, 0 * FORCE)
    assert_allclose(step.force, FORCE + 2.0 * np.sign(FORCE))


def test_an_integral_term_grows_with_the_error():
    """A second evaluation of the same error asks for K_i times a period of it more."""
    law = controller(replace(INSTANT, position_integral=6e4))
    still = 0.0 * START
    steps = [law.update(50, START, still) for _ in range(2)]
    terms = MODEL.terms(START, still)
    qdd = [terms.forward(step.torque)[0] for step in steps]
    more = terms.G[0] @ (qdd[1] - qdd[0])
    assert_allclose(more, 6e4 * 1e-3 * steps[0].error[0], rtol=0, atol=1e-9)
    assert np.abs(more).max() > 1e-6


def test_a_joint_that_cannot_hold_is_named():
    """Support is never scaled."""
    limits = np.full(12, 1e3)
    limits[1] = 0.1
    with pytest.raises(TorqueLimitError, match="joint 'aq1' needs"):
        controller(effort=limits).update(0, START, 0 * START)


def test_forces_of_the_wrong_shape_are_refused():
    """A spherical joint transmits three components."""
    with pytest.raises(ArgumentError, match="expected \\(3,\\) or \\(100, 3\\)"):
        controller(force=np.zeros(5))
