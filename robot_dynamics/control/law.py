# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control step of arms that hold an object, from joint states to torques: one kernel.

It estimates the object from the joints, closes the servo loops (41) to (43) of Yoshikawa and
Zheng on the object's spatial motion, applies their linearising law, and meets the torque limits in
the stated order: support is never scaled, then internal force, then motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, trace
from robot_dynamics.control.joint_friction import friction_torque
from robot_dynamics.control.pose_error import pose_error
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST
from robot_dynamics.control.torque_limits import integrated, limited_torque
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.manipulation.coordinated_law import DesiredMotion, coordinated_torque
from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.manipulation.object_estimate import ObjectEstimate, estimate_object
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Motion, Scalar, Vector3

Array = NDArray[np.float64]

# Guards divisions whose denominator may vanish; far below any torque [N m] or sine that matters.
_TINY = 1e-12
# What integrals may amount to, of the pose [rad/s^2, m/s^2] and of the internal force [N m, N].
_LARGEST_CORRECTION = 10.0
_LARGEST_FORCE = (20.0, 100.0)


@dataclass(frozen=True)
class LawGains:
    """The numbers of the control law that are no part of the model.

    Attributes:
        proportional: Of the object's pose error [1/s^2].
        derivative: Of its velocity error [1/s].
        integral: Of the integral of its pose error [1/s^3].
        force_integral: K_II, of the integral of the internal force's error [1/s].
        posture_proportional: Of the arms' distance from their posture [1/s^2].
        posture_derivative: Of their velocity, in their self-motion [1/s].
        period: Control period [s].
        friction_share: Part of the joints' known friction that is compensated.
        friction_velocity: Speed at which Coulomb friction is taken to be fully there [rad/s].
        torque_rate: Largest change of a torque [N m/s].
        effort: Largest torque of each arm joint (na,) [N m].
        posture: Positions that the arms stay near (na,).
    """

    proportional: float
    derivative: float
    integral: float
    force_integral: float
    posture_proportional: float
    posture_derivative: float
    period: float
    friction_share: float
    friction_velocity: float
    torque_rate: float
    effort: Array
    posture: Array

    def pack(self) -> Array:
        """Return the gains as a block, in the order of the fields."""
        scalars = [
            self.proportional,
            self.derivative,
            self.integral,
            self.force_integral,
            self.posture_proportional,
            self.posture_derivative,
            self.period,
            self.friction_share,
            self.friction_velocity,
            min(self.torque_rate, 1e12),
        ]
        return np.concatenate([scalars, np.minimum(self.effort, 1e9), self.posture])


_SCALAR_GAINS = 10


def law_parameters(system: GraspSystem, gains: LawGains, grasp_map: GraspMap) -> Array:
    """Return the parameter block of `law_program`."""
    maps = [grasp_map.distribution, grasp_map.internal, grasp_map.recovery]
    return np.concatenate([pack(system.model), gains.pack(), *(m.ravel() for m in maps)])


def law_program(system: GraspSystem) -> Program:
    """Return the program of one control step.

    Inputs, over the na arm joints and k arms:
        q, qd (na,): Measured.
        wrenches (k, 6): Measured grasp wrenches by the arms on the object, angular first, in the
            grasp frames.
        reference (19 + 6(k-1),): Pose x y z qx qy qz qw, twist and classical acceleration of the
            object's origin in world axes, angular first, and internal force.
        memory (6 + 6(k-1) + na,): Integrals of the pose error and of the internal force's error,
            and the last torque.
        ramp (): From 0 to 1, the part of the task that is let through.

    Outputs:
        torque (na,), memory (as above), and what the step found out:
        pose (7,), twist (6,) of the object in the world; error (6,) of its orientation and
        position, reference less measured; closure (6(k-1),) between the arms; internal_force
        (6(k-1),) as measured; support (na,), the torque that holds everything up; scales (5,):
        of the internal force, of the motion, of the rate limit, the largest support over its
        limit, and the smallest relative pivot of the arms.
    """
    k, na = len(system.arms), len(system.joint_names)
    nf = 6 * (k - 1)
    model = system.model
    size = block_size(model)

    def run(
        q: Any, qd: Any, wrenches: Any, reference: Any, memory: Any, ramp: Any, block: Any
    ) -> dict[str, Any]:
        parameters = unpack(model, block[:size])
        rest = list(block[size:])
        scalars, rest = rest[:_SCALAR_GAINS], rest[_SCALAR_GAINS:]
        kp, kd, ki, k_force, kp_null, kd_null, period, share, v0, torque_rate = scalars
        effort, posture, rest = rest[:na], rest[na : 2 * na], rest[2 * na :]
        distribution, rest = _matrix(rest, 6 * k, 6)
        internal, rest = _matrix(rest, 6 * k, nf)
        recovery, rest = _matrix(rest, nf, 6 * k)

        # The object as the arms see it takes the place of the floating joint's own variables.
        all_q: list[Scalar] = list(model.neutral())
        all_v: list[Scalar] = [0.0] * model.nv
        for j in range(na):
            all_q[system.q_index[j]], all_v[system.v_index[j]] = q[j], qd[j]
        Xup = joint_transforms(model, all_q)
        X0 = body_transforms(model, Xup)
        v = body_velocities(model, Xup, all_v, all_q)
        seen = estimate_object(system, X0, v, parameters)
        Xup[system.object_body] = seen.transform
        all_v[system.object_v] = seen.velocity.components()
        terms = terms_of_transforms(model, Xup, all_v, parameters, all_q)

        target = _Target(reference)
        error, pose = pose_error(target.pose, seen.transform)
        integral, force_integral, previous = (
            memory[:6],
            memory[6 : 6 + nf],
            memory[6 + nf : 6 + nf + na],
        )
        twist = _world_twist(seen)
        # (41), orientation as the rotation vector of R_d R^T
        correction = [kp * error[i] + ki * integral[i] for i in range(6)]
        servo = [
            target.acceleration[i] + kd * (target.twist[i] - twist[i]) + correction[i]
            for i in range(6)
        ]
        measured = times(recovery, [w for row in wrenches for w in row])
        force_error = [f - m for f, m in zip(target.internal_force, measured, strict=True)]
        wanted_force = [  # (43)
            f + k_force * i for f, i in zip(target.internal_force, force_integral, strict=True)
        ]
        distance = [posture[j] - q[j] for j in range(na)]
        desired = DesiredMotion(
            _spatial_acceleration(seen, servo),
            [kp_null * distance[j] - kd_null * qd[j] for j in range(na)],
        )
        towards = DesiredMotion(
            _in_object_axes(seen, [target.twist[i] + correction[i] / kd for i in range(6)]),
            [kp_null / kd_null * distance[j] for j in range(na)],
        )
        law = coordinated_torque(
            system, terms, desired, towards, wanted_force, distribution, internal
        )
        joints = [model.bodies[i].joint for arm in system.arms for i in _bodies(system, arm)]
        friction = friction_torque(joints, law.velocity, share, v0)

        squeeze = [ramp * value for value in law.internal]
        motion = [ramp * (m + r) for m, r in zip(law.motion, friction, strict=True)]
        limited = limited_torque(
            law.support, squeeze, motion, previous, effort, torque_rate * period
        )
        # While anything is scaled down or still ramping in, integrals may only shrink.
        gate = limited.gate(ramp)
        pose_bound = _LARGEST_CORRECTION / maximum(ki, _TINY)
        moment, force = (bound / maximum(k_force, _TINY) for bound in _LARGEST_FORCE)
        force_bounds = [moment if i % 6 < 3 else force for i in range(nf)]
        new_memory = [
            *(integrated(i, period * e, gate, pose_bound) for i, e in _pairs(integral, error)),
            *(
                integrated(i, period * e, gate, bound)
                for (i, e), bound in zip(
                    _pairs(force_integral, force_error), force_bounds, strict=True
                )
            ),
            *limited.torque,
        ]
        scales = [limited.force_scale, limited.motion_scale, limited.rate_scale]
        return {
            "torque": limited.torque,
            "memory": new_memory,
            "pose": pose,
            "twist": twist,
            "error": error,
            "closure": seen.closure,
            "internal_force": measured,
            "support": law.support,
            "scales": [*scales, limited.support_torque_ratio, law.smallest_pivot],
        }

    inputs: dict[str, int | tuple[int, ...]] = {
        "q": na,
        "qd": na,
        "wrenches": (k, 6),
        "reference": FORCE.start + nf,
        "memory": 6 + nf + na,
        "ramp": (),
    }
    maps = 6 * k * 6 + 2 * 6 * k * nf
    return trace(
        run,
        name="coordinated_law",
        inputs=inputs,
        parameters=size + _SCALAR_GAINS + 2 * na + maps,
    )


class _Target:
    """A reference row, taken apart."""

    def __init__(self, row: Sequence[Scalar]) -> None:
        self.pose = list(row[POSE])
        self.twist = list(row[TWIST])
        self.acceleration = list(row[ACCELERATION])
        self.internal_force = list(row[FORCE])


def _world_twist(seen: ObjectEstimate) -> list[Scalar]:
    """Return angular velocity and velocity of the object's origin, in world axes (6,)."""
    E = seen.transform.E
    return [*E.inverse_times(seen.velocity.angular), *E.inverse_times(seen.velocity.linear)]


def _in_object_axes(seen: ObjectEstimate, twist: Sequence[Scalar]) -> list[Scalar]:
    """Return a twist of the object's origin, given in world axes, in object axes (6,)."""
    E = seen.transform.E
    return Motion(E * Vector3.of(twist[:3]), E * Vector3.of(twist[3:])).components()


def _spatial_acceleration(seen: ObjectEstimate, classical: Sequence[Scalar]) -> list[Scalar]:
    """Return the spatial acceleration (6,) in object axes of a classical one in world axes.

    The classical acceleration is that of the object's origin: a = a' - [0; w x v] (2.50).
    """
    E, v = seen.transform.E, seen.velocity
    turning = E * Vector3.of(classical[:3])
    moving = E * Vector3.of(classical[3:]) - v.angular.cross(v.linear)
    return Motion(turning, moving).components()


def _pairs(a: Sequence[Scalar], b: Sequence[Scalar]) -> Iterator[tuple[Scalar, Scalar]]:
    return zip(a, b, strict=True)


def _bodies(system: GraspSystem, arm: Any) -> list[int]:
    """Return the indices of an arm's bodies, base to tip."""
    return [system.model.joint_index(name) for name in arm.joints]


def _matrix(
    flat: list[Scalar], rows: int, columns: int
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Take a matrix off a flat list; return it and the rest."""
    matrix = [flat[i * columns : (i + 1) * columns] for i in range(rows)]
    return matrix, flat[rows * columns :]
