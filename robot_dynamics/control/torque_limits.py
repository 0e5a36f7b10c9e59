# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The order in which torque limits are met: support first, then internal force, then motion.

Support is never scaled. Every other part is scaled as a whole, so that its direction stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.scalar.functions import absolute, maximum, minimum
from robot_dynamics.spatial import Scalar

Array = NDArray[np.float64]

# Guards divisions whose denominator may vanish; far below any torque that matters [N m].
_TINY = 1e-12
# Turns the sign of a product into 0 or 1: products of integrals and steps are far above 1e-30.
_TRUE = 1e30


@dataclass(frozen=True)
class LimitedTorque:
    """A torque within its limits.

    Attributes:
        torque: What may be sent (na,).
        force_scale: Part of the internal force that is let through.
        motion_scale: Part of the motion.
        rate_scale: Part of the change since the last torque.
        support_torque_ratio: The largest support over its limit.
    """

    torque: list[Scalar]
    force_scale: Scalar
    motion_scale: Scalar
    rate_scale: Scalar
    support_torque_ratio: Scalar

    def gate(self, ramp: Scalar) -> Scalar:
        """Return 1 while nothing is held back or still ramping in, else 0: integrals then rest."""
        held = minimum(minimum(self.force_scale, self.motion_scale), self.rate_scale)
        return maximum(0.0, 1.0 - (1.0 - minimum(held, ramp)) * 1e9)


def limited_torque(
    support: Sequence[Scalar],
    internal: Sequence[Scalar],
    motion: Sequence[Scalar],
    previous: Sequence[Scalar],
    effort: Sequence[Scalar],
    largest_change: Scalar,
) -> LimitedTorque:
    """Return the torque that limits leave of its parts, each over the joints (na,).

    Args:
        support: What holds everything up.
        internal: What makes the internal force.
        motion: What moves arms and object.
        previous: The last torque.
        effort: The largest torques.
        largest_change: The largest change of a torque.
    """
    force_scale = largest_scale(support, internal, effort)
    held = [s + force_scale * t for s, t in zip(support, internal, strict=True)]
    motion_scale = largest_scale(held, motion, effort)
    limited = [h + motion_scale * t for h, t in zip(held, motion, strict=True)]
    change = [t - p for t, p in zip(limited, previous, strict=True)]
    rate_scale: Scalar = 1.0
    for value in change:
        rate_scale = minimum(rate_scale, largest_change / maximum(absolute(value), _TINY))
    torque = [p + rate_scale * c for p, c in zip(previous, change, strict=True)]
    load: Scalar = 0.0
    for value, bound in zip(support, effort, strict=True):
        load = maximum(load, absolute(value) / bound)
    return LimitedTorque(torque, force_scale, motion_scale, rate_scale, load)


def largest_scale(
    base: Sequence[Scalar], added: Sequence[Scalar], effort: Sequence[Scalar]
) -> Scalar:
    """Return the largest s in [0, 1] with |base + s added| <= effort for all joints."""
    scale: Scalar = 1.0
    for b, a, bound in zip(base, added, effort, strict=True):
        # A joint that is at its limit by rounding must not stop what leads away from it.
        room = 1e-9 * bound
        upward = (maximum(bound - b, 0.0) + room) / maximum(a, _TINY)
        downward = (maximum(bound + b, 0.0) + room) / maximum(-a, _TINY)
        scale = minimum(scale, minimum(upward, downward))
    return scale


def integrated(value: Scalar, step: Scalar, gate: Scalar, bound: Scalar) -> Scalar:
    """Return an integral after a step.

    A gate of 0 lets only steps through that shrink the integral; the result stays within bounds.
    """
    shrinks = minimum(1.0, maximum(0.0, -value * step * _TRUE))
    size = absolute(value)
    back = shrinks * minimum(maximum(step, -size), size)  # to zero at most
    result = value + gate * step + (1.0 - gate) * back
    return minimum(maximum(result, -bound), bound)


def limits_program(joints: int, integrals: int) -> Program:
    """Return the program of the end of a control step: limits, and integrals that respect them.

    Inputs: support, internal, motion, previous, effort (joints,), largest_change (), ramp ();
    value, step, bound (integrals,). Outputs: torque (joints,), integral (integrals,) and scales
    (4,): of the internal force, the motion, the torque's change, and the largest support over its
    limit.
    """

    def run(
        support: Any,
        internal: Any,
        motion: Any,
        previous: Any,
        effort: Any,
        largest_change: Any,
        ramp: Any,
        value: Any,
        step: Any,
        bound: Any,
        block: Any,
    ) -> dict[str, Any]:
        scaled = ([ramp * x for x in internal], [ramp * x for x in motion])
        found = limited_torque(support, *scaled, previous, effort, largest_change)
        gate = found.gate(ramp)
        rows: Iterator[Any] = zip(value, step, bound, strict=True)
        return {
            "torque": found.torque,
            "integral": [integrated(v, s, gate, b) for v, s, b in rows],
            "scales": [
                found.force_scale,
                found.motion_scale,
                found.rate_scale,
                found.support_torque_ratio,
            ],
        }

    inputs: dict[str, int | tuple[int, ...]] = {
        **dict.fromkeys(("support", "internal", "motion", "previous", "effort"), joints),
        "largest_change": (),
        "ramp": (),
        **dict.fromkeys(("value", "step", "bound"), integrals),
    }
    return trace(run, name="torque_limits", inputs=inputs, parameters=0)


def torque_limits(joints: int, integrals: int) -> Any:
    """Return `limits_program`, compiled."""
    key = b"torque_limits\0%d %d" % (joints, integrals)
    kernel = load_kernel(key, lambda: limits_program(joints, integrals), lanes=1)
    return kernel.bind(np.zeros(0))
