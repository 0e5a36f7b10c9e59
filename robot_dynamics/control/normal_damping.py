# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Damping that an integrating force servo needs against elastic walls.

With a mass m on a wall of stiffness k and damping c, m y'' = u2 - f, f = k y + c y', and
u2 = f_d + K int(f_d - f) - b y' the characteristic polynomial is m s^3 + (c + b) s^2 + k s + K k.
It is stable exactly if c + b > m K, however stiff the wall is. Sampling asks for more, and delay
turns damping into its opposite where b * delay / m comes near 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ArgumentError

# Of the bound of continuous time; what sampling takes from it is found by trial.
_MARGIN = 2.5
# Largest b * latency / m.
_FAST = 0.8


@dataclass(frozen=True)
class NormalDamping:
    """How much is added, and what is wrong with it.

    Attributes:
        damping: b [N s/m], to be taken off u2 as b times the velocity into the wall.
        warnings: Sentences; none if it serves.
    """

    damping: float
    warnings: tuple[str, ...] = ()


def normal_damping(mass: float, gain: float, latency: float) -> NormalDamping:
    """Return the damping for a force servo of a gain: 2.5 m K, or what the latency permits.

    Args:
        mass: What arms and object weigh along the normal together, m [kg].
        gain: K of the force servo [1/s].
        latency: From a measurement to the middle of the torque's action on it [s]: half a period
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
    """Return a warning if a force servo will bounce: K > (c + b) / m; nothing if not.

    Args:
        mass: What arms and object weigh along the normal together, m [kg].
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
