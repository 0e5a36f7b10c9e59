# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control step of arms that move an object along surfaces and press it on them: one kernel.

It sees the object through the contacts, closes the servo loops (41) to (43) of Yoshikawa and
Zheng, applies their linearising law, and meets the torque limits in the stated order: support is
never scaled, then the internal force, then the force on surfaces, then motion, then posture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, trace
from robot_dynamics.control.contact_phase import positive
from robot_dynamics.control.hybrid.constants import LawConstants
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.integrals import (
    learned_contact,
    learned_internal,
    learned_pose,
)
from robot_dynamics.control.hybrid.layout import Layout
from robot_dynamics.control.hybrid.limits import within_limits
from robot_dynamics.control.hybrid.state import ArmState, ObjectTarget, ahead_of
from robot_dynamics.control.hybrid.touches import touches
from robot_dynamics.control.hybrid.wishes import posture_wish
from robot_dynamics.manipulation.hybrid.decoupling_law import (
    ArmSide,
    ObjectTerms,
    Wish,
    decoupling_torque,
)
from robot_dynamics.manipulation.hybrid.environment import ObjectPose, derivatives
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactPoint,
    Place,
    blocked_motion,
)
from robot_dynamics.manipulation.hybrid.manipulability import manipulability_gradient
from robot_dynamics.manipulation.hybrid.object_observer import (
    Seen,
    observe,
)
from robot_dynamics.manipulation.hybrid.on_surfaces import Surfaces
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.model.parameters import block_size, unpack
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.scalar.linear_algebra import times, transposed_times
from robot_dynamics.spatial import (
    Motion,
    Rotation,
    Scalar,
    Transform,
    Vector3,
    rotation_vector,
)

Array = NDArray[np.float64]

# Arms begin to avoid singularities at this multiple of the pivot below which they are damped, and
# no joint is driven away from them by more than a slope of this size [1/rad].
_NEAR, _STEEP = 10.0, 10.0


@dataclass(frozen=True)
class LawOptions:
    """What the program of the law is made for.

    Attributes:
        sensor: Whether the object's pose and twist come from outside, not from the arms.
        ahead: Whether the model is evaluated ahead of the measurement, in the middle of the time
            in which the torque acts; else at the measurement.
        avoid: Whether arms with freedom to spare move away from singularities.
    """

    sensor: bool = False
    ahead: bool = True
    avoid: bool = False


def law_program(
    system: HybridSystem, order: Sequence[int], options: LawOptions | None = None
) -> Program:
    """Return the program of one control step.

    Inputs, over the n arm joints and k arms; see `Layout` for the vectors:
        q, qd (n,): Measured.
        wrenches (k, 6): Measured grasp wrenches by the arms on the object, angular first, in the
            tools' frames.
        sensed: Which sensors there are, and measured forces on the surfaces.
        reference: What is to be done now.
        memory: What the last step left.
        ramp (): From 0 to 1, the part of the task that is let through.
        seen (13,): Pose of the object's origin and its twist in world axes, with `sensor` alone.

    Outputs:
        torque (n,), memory, and found: what the step found out; see `HybridStep`.

    Args:
        system: Arms, object, contacts and surfaces.
        order: For each joint of the inputs its index in the arms' model.
        options: What else the program depends on.
    """
    options = options or LawOptions()
    layout = Layout.of(system)
    n, C, m, k = layout.joints, layout.surfaces, layout.internal, layout.arms
    model, size = system.arms, block_size(system.arms)

    def run(*arguments: Any) -> dict[str, Any]:
        q_in, qd_in, wrenches, sensed, row, memory, ramp, *more, block = arguments
        parameters = unpack(model, block[:size])
        gain, rest = HybridGains.unpack(block[size:], n, C)
        fixed = LawConstants.unpack(system, rest)
        points, center = fixed.points, fixed.center
        q, qd = [0.0] * n, [0.0] * n
        for at, index in enumerate(order):
            q[index], qd[index] = q_in[at], qd_in[at]
        last = {name: list(memory[at]) for name, at in layout.memory.items()}
        wanted = {name: list(row[at]) for name, at in layout.reference.items()}
        h = gain.period

        # The object as the contacts, or somebody outside, see it.
        arms = ArmState.of(model, q, qd, parameters)
        if options.sensor:
            seen = _seen_from_outside(more[0], center, points, arms.X0)
        else:
            seen = observe(
                points, arms.X0, arms.v, last["place"], last["twist"], h,
                fixed.velocity, fixed.position, fixed.open_part,
            )  # fmt: skip
        E, X0_now = seen.place.E, arms.X0

        # The servo of motion (41), on the centre of mass, in world axes.
        target = ObjectTarget.of(wanted["pose"], wanted["twist"], wanted["acceleration"], center)
        turned = rotation_vector(target.E.transpose().compose(E))  # R_d R^T = E_d^T E
        error = [*turned, *(target.x - seen.place.x)]
        twist = [*E.inverse_times(seen.twist.angular), *E.inverse_times(seen.twist.linear)]
        correction = [
            gain.proportional * e + gain.integral * i
            for e, i in _pairs(error, last["pose_integral"])
        ]
        servo = [
            a + gain.derivative * (v - w) + c
            for a, v, w, c in zip(
                target.acceleration, target.twist, twist, correction, strict=True
            )
        ]

        # The model, where it will be when the torque acts.
        if options.ahead:
            expected, of_object = (
                [a + gain.trend * more for a, more in _pairs(last[name], last[f"{name}_change"])]
                for name in ("joint_acceleration", "acceleration")
            )
            q_then, qd_then, then = ahead_of(gain.lead, q, qd, expected, seen, of_object)
            arms = ArmState.of(model, q_then, qd_then, parameters)
        else:
            q_then, qd_then, then = q, qd, seen
        place, spin, velocity = then.place, then.twist.angular, then.twist.linear
        held = ObjectTerms(
            fixed.mass, fixed.inertia, fixed.inverse, spin, velocity, place.E * parameters.gravity
        )
        world_twist = [*place.E.inverse_times(spin), *place.E.inverse_times(velocity)]
        R = place.E.transpose().rows
        _, E_F, E_F_dot_v = derivatives(system.environment.surfaces, list(place.x), R, world_twist)
        E_F = [_turned(place.E, gradient) for gradient in E_F] if C else []
        here = ObjectPose(seen.place.x, E.transpose())
        distance = [p(here) for p in system.environment.surfaces]

        # Forces that are felt, and which surfaces are touched.
        felt: list[Scalar] = []
        for point, wrench in zip(points, wrenches, strict=True):
            turn = point.turned(seen.place, X0_now)
            felt += point.components(
                [*(turn * Vector3.of(wrench[:3])), *(turn * Vector3.of(wrench[3:]))]
            )
        has_wrenches, has_forces = sensed[0], sensed[1]
        # The object is taken to move as planned: what the servo asks for besides makes up for
        # what the model lacks, and is no motion.
        bent = [-value for value in E_F_dot_v]
        before = Surfaces(E_F, last["touched"], held)
        planned = before.along(_turned(place.E, target.acceleration), bent)
        # Other surfaces may depend on those that bear a force, and must not take a part of it.
        near = _near(system.environment.leaders, distance, gain.touch_within)
        bearing = [
            maximum(t, w * n)
            for t, w, n in zip(last["touched"], wanted["wanted"], near, strict=True)
        ]
        told = Surfaces(E_F, bearing, held).forces(times(fixed.W, felt), planned)
        known = maximum(has_wrenches, has_forces)
        on_surfaces = [
            has_forces * f + (1.0 - has_forces) * (has_wrenches * t + (1.0 - has_wrenches) * wish)
            for f, t, wish in zip(sensed[2:], told, wanted["compared_contact"], strict=True)
        ]
        touched, without, pressed_on = touches(
            system.environment.leaders, last, on_surfaces, wanted["wanted"], gain, known,
            [maximum(has_forces, n) for n in near],
        )  # fmt: skip
        surfaces = Surfaces(E_F, touched, held)

        # What the surfaces leave of motion (35), and the forces (42), (43).
        still = [0.0] * C
        acceleration = surfaces.along(_turned(place.E, servo), bent)
        drift = [v + c / gain.derivative for v, c in _pairs(target.twist, correction)]
        motion_towards = surfaces.along(_turned(place.E, drift), still)
        into = times(E_F, then.twist.components()) if C else []
        u2 = [
            f + i - b * speed
            for f, i, b, speed in zip(
                wanted["contact"], last["contact_integral"], gain.damping, into, strict=True
            )
        ]
        u3 = [
            f + i - by
            for f, i, by in zip(
                wanted["internal"], last["internal_integral"], fixed.holding, strict=True
            )
        ]
        H, C_arms = arms.equation(model, parameters)
        contacts = blocked_motion(
            model, points, place, spin, arms.Xup, arms.X0, arms.v, arms.avp, parameters.gravity
        )
        side = ArmSide(H, contacts.J, gain.safe_pivot)
        away = [0.0] * n
        if options.avoid:
            slopes = manipulability_gradient(model, points, place, arms.Xup, arms.X0)
            close = maximum(0.0, 1.0 - side.pivot / (_NEAR * gain.safe_pivot))
            away = [close * minimum(maximum(g, -_STEEP), _STEEP) for g in slopes]
        posture, towards = posture_wish(gain, q, qd, away)
        law = decoupling_torque(
            side, C_arms, contacts, held, fixed.W, fixed.share, fixed.internal,
            Wish(acceleration, posture), Wish(motion_towards, towards),
            surfaces.wrench(u2), u3, fixed.holding,
        )  # fmt: skip
        limited = within_limits(model, law, last["torque"], gain, ramp)
        torque, gate = limited.torque, limited.gate

        # What of the error is controlled, and what is learned from it.
        controlled = surfaces.along(_turned(place.E, error), still)
        error = [
            *place.E.inverse_times(Vector3.of(controlled[:3])),
            *place.E.inverse_times(Vector3.of(controlled[3:])),
        ]
        inside = times(fixed.recovery, felt) if m else []
        pose_integral = learned_pose(last["pose_integral"], error, gain, gate)
        contact_integral = learned_contact(
            last["contact_integral"], wanted["compared_contact"], on_surfaces, touched, pressed_on,
            gain, gate, known,
        )  # fmt: skip
        internal_integral = learned_internal(
            last["internal_integral"], wanted["compared_internal"], inside, gain, gate,
            has_wrenches,
        )  # fmt: skip
        lost = times(fixed.velocity, law.lost)
        # (37): what the contacts are to make on the object, and what it is felt to make.
        push = surfaces.wrench(u2)
        asked = [
            a + b + c for a, b, c in zip(held.times(acceleration), held.bias, push, strict=True)
        ]
        parts = [limited.parts[part * n + index] for part in range(3) for index in order]
        columns = [[row[j] for row in fixed.internal] for j in range(m)]
        grip = [side.feels(column) for column in columns]
        new_memory = [
            *seen.place.x, *seen.quaternion, *seen.twist.components(), *pose_integral,
            *contact_integral, *internal_integral, *touched, *without,
            *acceleration, *law.acceleration,
            *(a - b for a, b in _pairs(acceleration, last["acceleration"])),
            *(a - b for a, b in _pairs(law.acceleration, last["joint_acceleration"])), *torque,
        ]  # fmt: skip
        origin = seen.place.x - E.inverse_times(center)
        at_origin = seen.twist.linear - seen.twist.angular.cross(center)
        found = {
            "pose": [*origin, *seen.quaternion],
            "twist": [*twist[:3], *E.inverse_times(at_origin)],
            "error": error,
            "closure": _closure(points, seen),
            "internal_force": inside,
            "contact_force": on_surfaces,
            "touched": touched,
            "distance": distance,
            "support": [law.support[index] for index in order],
            "scales": [
                limited.squeeze, limited.motion, limited.rate, limited.load, law.pivot,
                limited.contact, sqrt(sum((value * value for value in lost[3:]), 0.0)),
                limited.posture,
            ],
            "felt": felt,
            "asked": asked,
            "pushed": surfaces.wrench(on_surfaces),
            "parts": parts,
            "grip": [column[index] for index in order for column in grip],
        }  # fmt: skip
        return {
            "torque": [torque[index] for index in order],
            "memory": new_memory,
            "found": [value for name in layout.found for value in found[name]],
        }

    inputs: dict[str, int | tuple[int, ...]] = {
        "q": n,
        "qd": n,
        "wrenches": (k, 6),
        "sensed": Layout.size(layout.sensed),
        "reference": Layout.size(layout.reference),
        "memory": Layout.size(layout.memory),
        "ramp": (),
    }
    if options.sensor:
        inputs["seen"] = 13
    total = size + HybridGains.size(n, C) + LawConstants.size(layout)
    return trace(run, name="hybrid_law", inputs=inputs, parameters=total)


def _turned(E: Rotation, six: Sequence[Scalar]) -> list[Scalar]:
    """Return a six-vector of world axes in the axes of E."""
    return [*(E * Vector3.of(six[:3])), *(E * Vector3.of(six[3:]))]


def _near(leaders: Sequence[int], distance: Sequence[Scalar], within: Scalar) -> list[Scalar]:
    """Return 1 for surfaces that are nearer than that, or passed (C,); their leaders tell."""
    return [1.0 if at == -1 else positive(distance[at] + within) for at in leaders]


def _pairs(a: Sequence[Scalar], b: Sequence[Scalar]) -> Iterator[tuple[Scalar, Scalar]]:
    return zip(a, b, strict=True)


def _seen_from_outside(
    given: Sequence[Scalar],
    center: Vector3,
    points: Sequence[ContactPoint],
    X0: Sequence[Transform],
) -> Seen:
    """Return the object of a pose of its origin and a twist in world axes (13,)."""
    quaternion = list(given[3:7])
    E = Rotation.from_quaternion(*quaternion)
    spin = E * Vector3.of(given[7:10])
    moving = E * Vector3.of(given[10:13]) + spin.cross(center)
    place = Place(E, Vector3.of(given[:3]) + E.inverse_times(center))
    residual = [value for point in points for value in point.residual(place, X0)]
    return Seen(place, quaternion, Motion(spin, moving), residual)


def _closure(points: Sequence[ContactPoint], seen: Seen) -> list[Scalar]:
    """Return what the other arms differ by from the first about the object (6(k-1),).

    Rotation vector and displacement in the object's axes, in the directions that contacts block.
    """
    gaps, residual = [], list(seen.residual)
    for point in points:
        own, residual = residual[: len(point.selection)], residual[len(point.selection) :]
        six = transposed_times(point.selection, own, 6)
        turn, away = Vector3.of(six[:3]), Vector3.of(six[3:])
        gaps.append([*point.E.inverse_times(turn), *point.E.inverse_times(away)])
    return [b - a for other in gaps[1:] for a, b in _pairs(gaps[0], other)]
