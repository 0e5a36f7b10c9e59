# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about hybrid control besides what every control has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from robot_dynamics.control.settings import LONGEST_S, ControlSettings


def _number(default: float | None, unit: str, **bounds: Any) -> Any:
    """Return a dataclass field with a default, a unit and bounds (see `yaml_document`)."""
    return field(default=default, metadata={"unit": unit, **bounds})


@dataclass(frozen=True)
class ContactForceSettings:
    """The servo of the force on surfaces: u2 = f_d + K_IF integral(f_d - f) - b E_F v.

    Attributes:
        servo: "damped": with normal damping, and an integral that is gated and bounded. "literal":
            the printed law, which bounces off elastic walls.
        bandwidth: K_IF [1/s].
        damping: b [N s/m]; what a stable contact asks for by default (`normal_damping`).
        error_limit: What an error counts at most in the integral [N, N m].
        integral_limit: What the integral adds at most [N, N m].
        touch: Force from which on a surface is taken to be touched [N, N m].
        lost_after_s: Time without force after which it is taken to be left [s].
        begin_tolerance: Distance within which a surface that is to be touched at the start is
            taken to be touched [m, rad].
    """

    servo: Literal["damped", "literal"] = "damped"
    bandwidth: float = _number(20.0, "1/s", minimum=0.0)
    damping: float | None = _number(None, "N s/m", minimum=0.0)
    error_limit: float = _number(5.0, "N", above=0.0)
    integral_limit: float = _number(10.0, "N", minimum=0.0)
    touch: float = _number(1.0, "N", above=0.0)
    lost_after_s: float = _number(0.1, "s", above=0.0, maximum=LONGEST_S)
    begin_tolerance: float = _number(1e-3, "m", minimum=0.0)


@dataclass(frozen=True)
class SelfMotionSettings:
    """What arms with freedom to spare do with it besides staying near their posture.

    Attributes:
        limit_margin: Distance from a joint's limits within which it is driven back [rad, m].
        limit_bandwidth: How fast [rad/s]; 0 for not at all.
        avoidance: Gain of the way out of singularities [rad^2/s^2]; 0 for none.
        safe_pivot: Smallest relative pivot of J H^-1 J^T at which arms are moved exactly; nearer
            to singularities the solution is damped, and what that costs is reported.
    """

    limit_margin: float = _number(0.1, "rad or m", minimum=0.0)
    limit_bandwidth: float = _number(20.0, "rad/s", minimum=0.0)
    avoidance: float = _number(0.0, "rad^2/s^2", minimum=0.0)
    safe_pivot: float = _number(1e-5, "", above=0.0, below=1.0)


@dataclass(frozen=True)
class HybridControlSettings(ControlSettings):
    """The hybrid controller: what every controller has, and contacts.

    Attributes:
        contact: Servo of the force on surfaces.
        self_motion: Joint limits and singularities.
        object_pose: Where the object is: "arms": as its contacts tell. "sensor": as it is given
            before each step.
        ahead: Whether the model is evaluated in the middle of the time in which the torque acts,
            not at the measurement.
        blend_s: Time over which a new reference takes over from one that is followed [s].
    """

    contact: ContactForceSettings = field(default_factory=ContactForceSettings)
    self_motion: SelfMotionSettings = field(default_factory=SelfMotionSettings)
    object_pose: Literal["arms", "sensor"] = "arms"
    ahead: bool = True
    blend_s: float = _number(0.3, "s", above=0.0, maximum=LONGEST_S)
