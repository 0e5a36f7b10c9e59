# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Damping of the contact force's servo (42): least stable value, and value of a scenario.

With a mass m on a wall of stiffness k and damping c, m y'' = u2 - f, f = k y + c y', and
u2 = f_d + K int(f_d - f) - b y' the characteristic polynomial is

    m s^3 + (c + b) s^2 + (k + K c) s + K k,

which is stable exactly if (c + b) (k + K c) > m K k. This module checks c + b > m K. For c = 0
that is the same condition; for c > 0 it is sufficient for every k, and necessary as k grows
without bound. A sampled loop needs more damping, and with a delay damping destabilises the loop as
b * delay / m approaches 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import HybridSystem, surface_masses

# Factor on the bound of continuous time; the effect of sampling is found by trial.
_MARGIN = 2.5
# Largest b * latency / m.
_FAST = 0.8


@dataclass(frozen=True)
class NormalDamping:
    """Added damping, and warnings about it.

    Attributes:
        damping: b [N s/m]; b times the velocity into the wall is subtracted from u2.
        warnings: Sentences; empty if it is sufficient.
    """

    damping: float
    warnings: tuple[str, ...] = ()


def normal_damping(mass: float, gain: float, latency: float) -> NormalDamping:
    """Return the damping for a force servo: 2.5 m K, or the most that the latency permits.

    Args:
        mass: Mass of arms and object along the normal, m [kg].
        gain: K of the force servo [1/s].
        latency: Time from a measurement to the middle of the torque's action [s]: half a period
            and the delay.
    """
    if not (mass > 0.0 and gain >= 0.0 and latency >= 0.0):
        raise ArgumentError(
            f"normal damping for {mass:g} kg, {gain:g} 1/s and {latency:g} s, expected a positive "
            "mass, and neither gain nor latency below 0."
        )
    wanted = _MARGIN * mass * gain
    most = _FAST * mass / latency if latency > 0.0 else float("inf")
    damping = min(wanted, most)
    warnings = list(gain_warnings(mass, gain, damping))
    if damping < wanted:
        warnings.append(
            f"normal damping is {damping:.3g} N s/m, not {wanted:.3g}: more would excite the "
            f"contact with {latency * 1e3:g} ms from measurement to torque; a wall stiffer than "
            "the loop is fast will chatter."
        )
    return NormalDamping(damping, tuple(warnings))


def gain_warnings(
    mass: float, gain: float, damping: float, surface_damping: float = 0.0
) -> tuple[str, ...]:
    """Return a warning if a force servo bounces on stiff walls, K > (c + b) / m; else no warning.

    Without damping of the wall, c = 0, it then bounces on walls of any stiffness.

    Args:
        mass: Mass of arms and object along the normal, m [kg].
        gain: K [1/s].
        damping: b [N s/m] that the servo adds.
        surface_damping: c [N s/m] of the wall.
    """
    most = (surface_damping + damping) / mass
    if gain <= most:
        return ()
    return (
        f"the contact force's integral gain is {gain:g} 1/s, expected at most {most:.3g}: "
        f"{mass:.3g} kg with {surface_damping + damping:.3g} N s/m of damping along the normal "
        "bounces on any elastic wall; add normal damping, or lower the gain.",
    )


# Rounding: a smaller share of a hand's motion in a direction counts as zero.
_SINGULAR = 1e-9


class SingularArmError(ArgumentError):
    """A posture in which a hand cannot move in all directions of its contact."""


@dataclass(frozen=True)
class ContactDamping:
    """Damping of the motion into each surface.

    Attributes:
        values: b (C,) [N s/m].
        warnings: Sentences about gains that bounce; empty without such gains.
    """

    values: Array
    warnings: tuple[str, ...]


def contact_damping(
    system: HybridSystem, settings: ControlSettings, q: Array, start: Array
) -> ContactDamping:
    """Return the damping of the settings.

    By default it is the damping that a force servo with the gain needs against elastic walls, for
    the mass of arms and object along each surface's normal. The literal law has none.

    Args:
        system: Arms, object and surfaces.
        settings: Gains, period and delay.
        q: Positions of all joints of the arms (nq,), in the order of their model.
        start: Pose of the object, x y z qx qy qz qw (7,).

    Raises:
        SingularArmError: If an arm is at a singularity, where its mass along some directions is
            infinite.
    """
    contact = settings.contact_force
    if not system.environment.surfaces:
        return ContactDamping(np.zeros(0), ())
    terms = system.terms_at_rest(q, start)
    _require_regular(system, terms.J_S)
    masses = surface_masses(terms)
    latency = (settings.command_delay_periods + 0.5) * settings.period
    values: list[float] = []
    warnings: list[str] = []
    for mass in masses.tolist():
        if contact.law == "damped" and contact.damping is None:
            found = normal_damping(mass, contact.bandwidth, latency)
            values.append(found.damping)
            warnings += found.warnings
        else:
            own = 0.0 if contact.law == "literal" else contact.damping or 0.0
            values.append(own)
            warnings += gain_warnings(mass, contact.bandwidth, own)
    return ContactDamping(np.array(values), tuple(warnings))


def _require_regular(system: HybridSystem, J_S: Array) -> None:
    """Refuse postures in which a hand cannot move in all directions of its contact."""
    start = 0
    for tool, contact in zip(system.tools, system.contacts, strict=True):
        rows = J_S[start : start + contact.directions.shape[1]]
        start += len(rows)
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)  # rotations and displacements
        strengths = np.linalg.svd(rows / np.maximum(sizes, 1e-300), compute_uv=False)
        if strengths[-1] < _SINGULAR * strengths[0]:
            raise SingularArmError(
                f"the arm of tool {tool!r} is at a singularity in its posture, where it cannot "
                "move in all directions of its contact; expected another posture."
            )
