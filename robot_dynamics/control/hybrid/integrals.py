# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the servos learn in a step, bounded and against winding up, traceable.

A gate of 0, while limits rule, lets integrals only shrink.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.torque_limits import integrated
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.spatial import Scalar

_TINY = 1e-12


def learned_pose(
    before: Sequence[Scalar], error: Sequence[Scalar], gain: HybridGains, gate: Scalar
) -> list[Scalar]:
    """Return the integral of the pose error (6,), of what of it is controlled."""
    bound = gain.motion_bound / maximum(gain.integral, _TINY)
    return [
        integrated(i, gain.period * e, gate, bound) for i, e in zip(before, error, strict=True)
    ]


def learned_contact(
    before: Sequence[Scalar],
    wanted: Sequence[Scalar],
    forces: Sequence[Scalar],
    touched: Sequence[Scalar],
    pressed: Sequence[Scalar],
    gain: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return what is added to the forces on surfaces (C,).

    Args:
        before: What was added.
        wanted: The forces that the measured ones answer.
        forces: Measured.
        touched: 1 for surfaces that are touched: others have nothing to learn.
        pressed: 1 where there is a force: in the air the gated law does not integrate.
        gain: Gain and bounds.
        gate: 0 while limits rule; the literal law does not mind.
        known: 1 if forces are measured or estimated.
    """
    gate = maximum(gate, 1.0 - gain.gated)
    result = []
    for i, wish, f, c, there in zip(before, wanted, forces, touched, pressed, strict=True):
        off = minimum(maximum(wish - f, -gain.contact_error), gain.contact_error)
        let = known * (1.0 - gain.gated * (1.0 - there))
        step = gain.contact_integral * gain.period * off * let
        result.append(c * integrated(i, step, gate, gain.contact_bound))
    return result


def learned_internal(
    before: Sequence[Scalar],
    wanted: Sequence[Scalar],
    forces: Sequence[Scalar],
    gain: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return what is added to the internal forces (m,); as before where nothing is known."""
    part = gain.internal_integral * gain.period * known
    return [
        integrated(i, part * (wish - f), gate * known, gain.internal_bound)
        for i, wish, f in zip(before, wanted, forces, strict=True)
    ]
