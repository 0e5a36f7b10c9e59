# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque limits, integrals that respect them, and friction compensation; traceable.

Support is never scaled. The other parts of a torque are ordered by priority. Each is scaled as a
whole, which keeps its direction, by the largest factor that fits after the parts before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.model.joint_data import Joint
from robot_dynamics.scalar.functions import absolute, maximum, minimum, sqrt
from robot_dynamics.spatial import Scalar

# Added to denominators that may be zero; far below any relevant torque [N m].
_TINY = 1e-12
# Converts the sign of a product to 0 or 1: products of integrals and steps are far above 1e-30.
_TRUE = 1e30


@dataclass(frozen=True)
class LimitedTorque:
    """A torque within its limits.

    Attributes:
        torque: The command (n,).
        scales: Factor of each part, from 0 to 1.
        rate_scale: Factor of the change since the last torque.
        support_torque_ratio: The largest support over its limit.
    """

    torque: list[Scalar]
    scales: list[Scalar]
    rate_scale: Scalar
    support_torque_ratio: Scalar

    def gate(self, ramp: Scalar, parts: int | None = None) -> Scalar:
        """Return 1 if the task is neither scaled nor ramping in, else 0.

        Integrals stop while it is 0.

        Args:
            ramp: Factor of the task at the start.
            parts: Number of parts that belong to the task; all by default.
        """
        smallest = reduce(minimum, [*self.scales[:parts], self.rate_scale, ramp])
        return maximum(0.0, 1.0 - (1.0 - smallest) * 1e9)


def limited_torque(
    support: Sequence[Scalar],
    parts: Sequence[Sequence[Scalar]],
    previous: Sequence[Scalar],
    effort: Sequence[Scalar],
    largest_change: Scalar,
) -> LimitedTorque:
    """Return the torque within limits; all torques are over the joints (n,).

    Args:
        support: Torque for gravity and velocity terms.
        parts: Further parts of the torque; the last is scaled first.
        previous: The last torque.
        effort: The largest torques.
        largest_change: The largest change of a torque.
    """
    total, scales = list(support), []
    for part in parts:
        scale = largest_scale(total, part, effort)
        total = [t + scale * p for t, p in zip(total, part, strict=True)]
        scales.append(scale)
    change = [t - p for t, p in zip(total, previous, strict=True)]
    rate_scale: Scalar = 1.0
    for value in change:
        rate_scale = minimum(rate_scale, largest_change / maximum(absolute(value), _TINY))
    torque = [p + rate_scale * c for p, c in zip(previous, change, strict=True)]
    ratio: Scalar = 0.0
    for value, bound in zip(support, effort, strict=True):
        ratio = maximum(ratio, absolute(value) / bound)
    return LimitedTorque(torque, scales, rate_scale, ratio)


def torque_range(
    support: Sequence[Scalar], parts: Sequence[Sequence[Scalar]]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the least and the largest partial sums of support and the first parts (n,).

    The sums contain one part, two, ... all of them.
    """
    sums, total = [], list(support)
    for part in parts:
        total = [t + p for t, p in zip(total, part, strict=True)]
        sums.append(total)
    columns = list(zip(*sums, strict=True))
    return [reduce(minimum, c) for c in columns], [reduce(maximum, c) for c in columns]


def largest_scale(
    base: Sequence[Scalar], added: Sequence[Scalar], effort: Sequence[Scalar]
) -> Scalar:
    """Return the largest s in [0, 1] with |base + s added| <= effort for all joints."""
    scale: Scalar = 1.0
    for b, a, bound in zip(base, added, effort, strict=True):
        # A joint at its limit to rounding must not stop torques away from it.
        room = 1e-9 * bound
        upward = (maximum(bound - b, 0.0) + room) / maximum(a, _TINY)
        downward = (maximum(bound + b, 0.0) + room) / maximum(-a, _TINY)
        scale = minimum(scale, minimum(upward, downward))
    return scale


def integrated(value: Scalar, step: Scalar, gate: Scalar, bound: Scalar) -> Scalar:
    """Return an integral after a step.

    With a gate of 0 the integral can only shrink; it always stays within its bounds.
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
        limited = limited_torque(support, scaled, previous, effort, largest_change)
        gate = limited.gate(ramp)
        rows: Iterator[Any] = zip(value, step, bound, strict=True)
        return {
            "torque": limited.torque,
            "integral": [integrated(v, s, gate, b) for v, s, b in rows],
            "scales": [*limited.scales, limited.rate_scale, limited.support_torque_ratio],
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


def friction_torque(
    joints: Iterable[Joint], rates: Iterable[Scalar], share: Scalar, velocity: Scalar
) -> list[Scalar]:
    """Return damping and Coulomb friction of joints that move, smooth through rest.

    Laws evaluate it at the desired velocities of their servos. At measured velocities the sign of
    Coulomb friction would chatter; at the velocities of the reference alone friction would slow
    the servos' corrections down.

    Args:
        joints: The joints, with damping [N m s/rad or N s/m] and friction [N m or N].
        rates: Their velocities [rad/s or m/s].
        share: Compensated share of the friction.
        velocity: Speed at which Coulomb friction is at 71 % of its value [rad/s or m/s].
    """
    return [
        friction_at(joint.damping, joint.friction, v, share, velocity)
        for joint, v in zip(joints, rates, strict=True)
    ]


def friction_at(damping: Any, friction: Any, rate: Any, share: Scalar, velocity: Scalar) -> Any:
    """Return the `friction_torque` of a joint, or of all joints by arrays over them."""
    return share * (damping * rate + friction * rate / sqrt(rate * rate + velocity * velocity))
