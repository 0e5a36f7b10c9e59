# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which surfaces are touched: decided from forces and from what is wanted, traceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robot_dynamics.control.contact_phase import contact_step, positive
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.spatial import Scalar


def touches(
    leaders: Sequence[int],
    last: Mapping[str, Sequence[Scalar]],
    forces: Sequence[Scalar],
    wanted: Sequence[Scalar],
    gain: HybridGains,
    known: Scalar,
    near: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return which surfaces are touched, how long there was no force, and which are pressed (C,).

    Args:
        leaders: Whose push tells for each; -1 for those that are touched while that is wanted.
        last: The memory of the last step.
        forces: On the surfaces (C,).
        wanted: 1 for those that are to be touched (C,).
        gain: When contacts begin and end.
        known: 1 if forces are measured or estimated; without that what was believed stays.
        near: 1 for those that are near enough for a force on them to be a touch (C,).
    """
    touched, without, pressed = list(wanted), [0.0] * len(wanted), [1.0] * len(wanted)
    for i, leader in enumerate(leaders):
        if leader == i:
            # A force measured far from a surface that is not touched is no force on it.
            force = maximum(last["touched"][i], near[i]) * forces[i]
            now, since = contact_step(
                last["touched"][i], last["without"][i], force, wanted[i],
                gain.touch, gain.lost_after, gain.period,
            )  # fmt: skip
            touched[i] = known * now + (1.0 - known) * wanted[i] * last["touched"][i]
            without[i] = known * since
            pressed[i] = positive(force)
    for i, leader in enumerate(leaders):
        if leader not in (i, -1):
            touched[i], pressed[i] = touched[leader] * wanted[i], pressed[leader]
    return touched, without, pressed
