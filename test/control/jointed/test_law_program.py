# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel of the law computes the results of the studies' controller."""

from __future__ import annotations

import numpy as np
from control.jointed.folding import LITERAL, folding, moving, terms_of

from robot_dynamics.control.jointed.law import JointedOutputs
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_control import (
    JointedObjectController,
    ReproductionSettings,
)

AT = 1800  # control periods after the beginning: it moves and folds


def rows_at(law, number):
    """Return the commanded motion of both parts, some periods after the ramp."""
    row = law._followed.row(law.ramp_ticks + number)
    return row[: law.internal_columns.stop], row[-19:]


def test_torques_are_those_of_the_controller():
    """At states off the path: both are the report's law, by different ways.

    To 1e-8 of the largest torque: one inverts [A; B] as a whole, the other each arm's Jacobian.
    """
    law, start = folding(*LITERAL)
    settings = ReproductionSettings(lead_periods=0.0)
    model = JointSpaceModel(law.jointed)
    for seed in range(3):
        q, qd = moving(law, start, seed)
        rows = rows_at(law, AT)
        reader = JointedObjectController(
            model, law.reference.path, rows[0][19:], start, law.period, AT + 1, settings
        )
        seen = law.at_once(start)(q, qd, *rows)
        expected = reader.update(AT, q, qd)
        torque = seen.primary + seen.push + seen.moving
        size = np.abs(expected.torque).max()
        np.testing.assert_allclose(torque, expected.torque, rtol=0.0, atol=1e-8 * size)
        np.testing.assert_allclose(seen.error.reshape(2, 6), expected.error, atol=1e-9)


def test_outputs_are_named_in_the_order_of_the_ports():
    """A port without a name, or a name in another place, is an error."""
    law, _ = folding(*LITERAL)
    assert tuple(name for name, _ in law.kernel.ports.outputs) == JointedOutputs._fields


def test_it_looks_ahead_as_the_controller_does():
    """State and acceleration half a period later, under the last torque."""
    law, start = folding(*LITERAL)
    q, qd = moving(law, start)
    late, _ = folding(*LITERAL[:1], *LITERAL[2:])
    late.start(start, 0.0 * qd)
    late._acceleration = np.linspace(-1.0, 1.0, 14)
    seen = late._evaluate(late._followed.row(AT), q, qd, None)
    h = 0.5 * late.period
    ahead = law.at_once(start)(q + h * qd, qd + h * late._acceleration, *rows_at(law, AT))
    # Of all torques this one depends on nothing but the state that the model is evaluated at.
    np.testing.assert_allclose(seen.primary, ahead.primary, rtol=0.0, atol=1e-11)
    assert np.abs(seen.primary - law.at_once(start)(q, qd, *rows_at(law, AT)).primary).max() > 1e-4


def test_friction_is_compensated_for_wanted_velocities():
    """On the path at rest there is none; with an error it pushes towards the reference."""
    law, start = folding("control.start.ramp_s=0.01")
    without, _ = folding("control.start.ramp_s=0.01", "control.friction.share=0")
    still = np.zeros(14)

    def friction(rows):
        seen = [one.at_once(start)(start, still, *rows) for one in (law, without)]
        assert isinstance(seen[0], JointedOutputs)
        return seen[0].moving - seen[1].moving, seen[0].acceleration

    rows = rows_at(law, 0)
    np.testing.assert_allclose(friction(rows)[0], 0.0, atol=1e-9)
    higher = [row.copy() for row in rows]
    for row in higher:
        row[2] += 1e-3
    torque, acceleration = friction(higher)
    np.testing.assert_array_equal(np.sign(torque), np.sign(acceleration))


def test_gaps_of_the_joint_stand_in_their_places():
    """A ball that is open by a displacement: nothing about turns."""
    law, start = folding(*LITERAL)
    away = start + 1e-3 * np.random.default_rng(3).normal(size=14)
    rows = rows_at(law, 0)
    seen = law.at_once(start)(away, 0.0 * away, *rows)
    gap = terms_of(law, away, 0.0 * away).gap
    np.testing.assert_allclose(seen.closure, [0.0, 0.0, 0.0, *gap], atol=1e-15)
    assert np.abs(gap).max() > 1e-5
