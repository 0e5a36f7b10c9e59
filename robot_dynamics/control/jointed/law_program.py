# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From joint states and wrist wrenches to the parts of the torque: one kernel.

Both parts' servos, the force in the joint from the wrists, and the decoupled torques half a period
and the command's delay ahead. Vectors over joints are arm by arm, base to tip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, trace
from robot_dynamics.control.pose_error import pose_error
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.control.torque_limits import friction_torque
from robot_dynamics.manipulation.jointed_object import (
    PART_PARAMETERS,
    JointedObjectSystem,
    ObjectPart,
)
from robot_dynamics.manipulation.jointed_object.decoupling import (
    PartsInverse,
    decoupled_torques,
    force_in_joint,
    kept_whole,
    needed_wrench,
    wrench_on_part,
)
from robot_dynamics.manipulation.jointed_object.joint_space import joint_space_terms
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.linear_algebra import subtract, times
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3

AXES = ("rx", "ry", "rz", "x", "y", "z")


class JointedGains(NamedTuple):
    """Parameters of the law that are not part of the model.

    Attributes:
        proportional: K_p of the parts' motion [1/s^2].
        derivative: K_v [1/s].
        integral: K_i [1/s^3].
        force_integral: K_I of the force in the object's joint [1/s].
        posture_proportional: K_p of the self-motion of redundant arms [1/s^2].
        posture_derivative: K_v of the self-motion [1/s].
        lead: Time by which the model is evaluated ahead [s].
        friction_share: Compensated share of the joints' known friction.
        friction_velocity: Speed at which Coulomb friction is at 71 % of its value [rad/s or m/s].
        safe_pivot: Smallest relative pivot of the arms that is not damped.
    """

    proportional: float
    derivative: float
    integral: float
    force_integral: float
    posture_proportional: float
    posture_derivative: float
    lead: float
    friction_share: float
    friction_velocity: float
    safe_pivot: float

    @classmethod
    def of(cls, settings: ControlSettings) -> JointedGains:
        """Return the numbers that settings ask for."""
        servo, friction = settings.jointed, settings.friction
        return cls(
            servo.position_gain,
            servo.velocity_gain,
            servo.position_integral,
            servo.force_integral,
            servo.posture_gain,
            servo.posture_damping,
            (settings.command_delay_periods + servo.lead_periods) * settings.period,
            friction.share,
            friction.velocity,
            settings.safe_pivot,
        )


_GAINS = len(JointedGains._fields)


def jointed_law_parameters(
    system: JointedObjectSystem, gains: JointedGains, posture: Array
) -> Array:
    """Return the parameter block of `jointed_law_program`; posture is (n,), arm by arm."""
    parts = [value for part in system.parts for value in part.parameters()]
    return np.concatenate([pack(system.arms), parts, gains, posture])


def jointed_law_program(system: JointedObjectSystem) -> Program:
    """Return the program of one control step, before limits.

    Inputs, over the n joints and the c directions that the object's joint blocks:
        q, qd (n,): Measured.
        qdd (n,): Accelerations by the torques that act until the command does.
        wrenches (2, 6): By the tools on the parts, angular first, in the tools' frames.
        first (19 + c,), second (19,): Reference rows of the parts' links, with the force in the
            joint behind the first (see `Reference.rows`).
        offset (12,): Integrals of both parts' errors.
        learned (c,): Integral of the error of the force.

    Outputs: pose (7,), twist (6,) and second_pose (7,) of the parts' links in the world; error
    (12,) of their centres of mass, orientation and position of each; closure (6,), the closure
    error of the joint; force (c,) in it, as wrist sensors measure it; held_body_wrenches (2, 18),
    as in `control_law.HeldStep`: measured wrenches of grasp and joint on each part, the force
    only, and the residual beyond its planned motion; primary, push, moving (n,), the parts of the
    torque, with friction in the last; acceleration (n,) of the joints; pivot (), the smallest
    relative pivot of an arm's J J^T.
    """
    model = system.arms
    size, n = block_size(model), model.nv
    names = [row.direction for row in system.joint.type.rows]
    c = len(names)
    order = np.concatenate([part.v_index for part in system.parts]).tolist()
    joints_of_arms = [model.bodies[body].joint for body in order]

    def run(
        q: Any,
        qd: Any,
        qdd: Any,
        wrenches: Any,
        first: Any,
        second: Any,
        offset: Any,
        learned: Any,
        block: Any,
    ) -> dict[str, Any]:
        parameters = unpack(model, block[:size])
        rest = list(block[size:])
        own = [
            part.with_parameters(rest[i * PART_PARAMETERS :][:PART_PARAMETERS])
            for i, part in enumerate(system.parts)
        ]
        rest = rest[2 * PART_PARAMETERS :]
        gains, posture = JointedGains(*rest[:_GAINS]), rest[_GAINS:]

        def by_model(values: Sequence[Scalar]) -> list[Scalar]:
            placed: list[Scalar] = [0.0] * n
            for at, value in zip(order, values, strict=True):
                placed[at] = value
            return placed

        def by_arm(values: Sequence[Scalar]) -> list[Scalar]:
            return [values[at] for at in order]

        def terms_at(q: Sequence[Scalar], qd: Sequence[Scalar]) -> dict[str, Any]:
            return joint_space_terms(system, by_model(q), by_model(qd), parameters, own)

        here = terms_at(q, qd)
        q_ahead = [a + gains.lead * b for a, b in zip(q, qd, strict=True)]
        qd_ahead = [a + gains.lead * b for a, b in zip(qd, qdd, strict=True)]
        there = terms_at(q_ahead, qd_ahead)

        rows = (list(first), list(second))
        seen = [
            _SeenPart.of(part, here, i, row)
            for i, (row, part) in enumerate(zip(rows, own, strict=True))
        ]
        corrections = [
            [
                gains.proportional * e + gains.integral * o
                for e, o in zip(part.error, offset[6 * i : 6 * i + 6], strict=True)
            ]
            for i, part in enumerate(seen)
        ]
        parts = [
            [
                a + gains.derivative * (d - v) + correction
                for a, d, v, correction in zip(
                    part.acceleration, part.velocity, measured, corrected, strict=True
                )
            ]
            for part, measured, corrected in zip(seen, here["velocity"], corrections, strict=True)
        ]
        distance = [p - a for p, a in zip(posture, q, strict=True)]
        joints = [
            gains.posture_proportional * d - gains.posture_derivative * v
            for d, v in zip(distance, qd, strict=True)
        ]
        asked = [
            f + gains.force_integral * i for f, i in zip(rows[0][FORCE], learned, strict=True)
        ]
        inverse = PartsInverse.of(there, gains.safe_pivot)
        law = decoupled_torques(there, inverse, parts, by_model(joints), asked)
        towards = [
            [
                v + correction / gains.derivative
                for v, correction in zip(part.velocity, more, strict=True)
            ]
            for part, more in zip(seen, corrections, strict=True)
        ]
        leaning = [gains.posture_proportional / gains.posture_derivative * d for d in distance]
        rates = by_arm(inverse.motion(kept_whole(there, towards, [0.0] * c), by_model(leaning)))
        friction = friction_torque(
            joints_of_arms, rates, gains.friction_share, gains.friction_velocity
        )
        closure: list[Scalar] = [0.0] * 6
        for name, gap in zip(names, here["gap"], strict=True):
            closure[AXES.index(name)] = gap
        applied = [
            _in_world(pose, wrench)
            for pose, wrench in zip(here["tool_pose"], wrenches, strict=True)
        ]
        force = force_in_joint(here, applied)
        held = [wrench_on_part(here, i, wrench, force) for i, wrench in enumerate(applied)]
        held_body_wrenches = [
            [
                *(0.0, 0.0, 0.0, *wrench[3:]),
                *[0.0] * 6,
                *subtract(wrench, needed_wrench(here, i, part.acceleration)),
            ]
            for i, (wrench, part) in enumerate(zip(held, seen, strict=True))
        ]
        moving = [m + r for m, r in zip(by_arm(law.moving), friction, strict=True)]
        return {
            "pose": seen[0].pose,
            "twist": seen[0].twist,
            "second_pose": seen[1].pose,
            "error": [value for part in seen for value in part.error],
            "closure": closure,
            "force": force,
            "held_body_wrenches": held_body_wrenches,
            "primary": by_arm(law.primary),
            "push": by_arm(law.push),
            "moving": moving,
            "acceleration": by_arm(law.acceleration),
            "pivot": inverse.smallest_pivot,
        }

    inputs: dict[str, int | tuple[int, ...]] = {
        **dict.fromkeys(("q", "qd", "qdd"), n),
        "wrenches": (2, 6),
        "first": FORCE.start + c,
        "second": FORCE.start,
        "offset": 12,
        "learned": c,
    }
    parameters = size + 2 * PART_PARAMETERS + _GAINS + n
    return trace(run, name="jointed_law", inputs=inputs, parameters=parameters)


@dataclass(frozen=True)
class _SeenPart:
    """Estimated state of a part, and the command of its centre of mass; world axes, angular first.

    Attributes:
        pose: Pose of its link, x y z qx qy qz qw (7,).
        twist: Twist of its link's origin (6,).
        error: Error of orientation and centre of mass (6,).
        velocity: Desired velocity of the centre of mass (6,).
        acceleration: Desired acceleration, classical (6,).
    """

    pose: list[Scalar]
    twist: list[Scalar]
    error: list[Scalar]
    velocity: list[Scalar]
    acceleration: list[Scalar]

    @classmethod
    def of(
        cls,
        part: ObjectPart,
        terms: dict[str, Any],
        index: int,
        row: Sequence[Scalar],
    ) -> _SeenPart:
        """Return a part, the first or second of the terms, with a reference row of its link."""
        R = Rotation.of([row[:3] for row in terms["tool_pose"][index][:3]])
        tool = Transform(
            R.transpose(), Vector3.of([row[3] for row in terms["tool_pose"][index][:3]])
        )
        link = part.placement.compose(part.tool_placement.inverse()).compose(tool)
        error, pose = pose_error(row[POSE], link)
        center = part.inertia.h * (1.0 / part.inertia.mass)
        arm = link.E.inverse_times(center)  # from the link's origin to the centre of mass
        wanted_arm = Rotation.from_quaternion(*row[POSE][3:]).inverse_times(center)
        V, A = row[TWIST], row[ACCELERATION]
        omega, alpha = Vector3.of(V[:3]), Vector3.of(A[:3])
        swept = omega.cross(wanted_arm)
        seen = terms["velocity"][index]
        turning = Vector3.of(seen[:3])
        return cls(
            pose,
            [*turning, *(Vector3.of(seen[3:]) - turning.cross(arm))],
            [*error[:3], *(Vector3.of(error[3:]) + wanted_arm - arm)],
            [*omega, *(Vector3.of(V[3:]) + swept)],
            [*alpha, *(Vector3.of(A[3:]) + alpha.cross(wanted_arm) + omega.cross(swept))],
        )


def _in_world(tool_pose: Sequence[Sequence[Scalar]], wrench: Sequence[Scalar]) -> list[Scalar]:
    """Return a wrench in world axes, given in the axes of a tool (4, 4)."""
    R = [row[:3] for row in tool_pose[:3]]
    return [*times(R, wrench[:3]), *times(R, wrench[3:])]
