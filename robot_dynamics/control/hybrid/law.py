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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, trace
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import LawConstants, LawInputs, LawOptions, Layout
from robot_dynamics.control.hybrid.limits import LimitedTorque, within_limits
from robot_dynamics.control.hybrid.servo import (
    MotionServo,
    PostureMotion,
    hand_motion,
    learned_contact,
    learned_internal,
    learned_pose,
    servo_along_coordinates,
)
from robot_dynamics.control.hybrid.state import (
    ArmState,
    Instant,
    in_axes,
    in_world,
    seen_by_arms,
    seen_from_outside,
)
from robot_dynamics.control.hybrid.surface_forces import (
    SurfaceForces,
    SurfaceSensing,
    measured_contact_forces,
)
from robot_dynamics.manipulation.hybrid.decoupling_law import (
    ArmSide,
    DesiredMotion,
    FreeDirections,
    HybridTorqueParts,
    ObjectTerms,
    decoupling_torque,
)
from robot_dynamics.manipulation.hybrid.environment import ObjectPose
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactPoint,
    Matrix,
    Place,
    blocked_velocity,
    manipulability_gradient,
)
from robot_dynamics.manipulation.hybrid.object_observer import (
    Seen,
)
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.manipulation.hybrid.touched_surfaces import SurfaceFriction, Surfaces
from robot_dynamics.model.parameters import block_size
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.scalar.linear_algebra import times, transposed_times
from robot_dynamics.spatial import (
    Scalar,
    Vector3,
)

Array = NDArray[np.float64]

# Arms begin to avoid singularities at this multiple of the pivot below which they are damped, and
# no joint is driven away from them by more than a slope of this size [1/rad].
_NEAR, _STEEP = 10.0, 10.0


def law_program(
    system: HybridSystem, order: Sequence[int], options: LawOptions | None = None
) -> Program:
    """Return the program of one control step.

    Inputs, over the n arm joints, or drives of arms with loops, and k arms; see `Layout` for the
    vectors:
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
        order: For each joint of the inputs its index among the drives of the arms' model.
        options: What else the program depends on.
    """
    step = LawStep(system, tuple(order), options or LawOptions())
    layout = step.layout
    n, C = layout.joints, layout.surfaces
    inputs: dict[str, int | tuple[int, ...]] = {
        "q": n,
        "qd": n,
        "wrenches": (layout.arms, 6),
        "sensed": Layout.size(layout.sensed),
        "reference": Layout.size(layout.reference),
        "memory": Layout.size(layout.memory),
        "ramp": (),
    }
    if step.options.sensor:
        inputs["seen"] = 13
    total = block_size(system.arms) + HybridGains.size(n, C) + LawConstants.size(layout)
    return trace(step, name="hybrid_law", inputs=inputs, parameters=total)


@dataclass(frozen=True)
class _Commanded:
    """The law at an instant, and the torque that limits leave of it."""

    law: HybridTorqueParts
    limited: LimitedTorque
    acceleration: list[Scalar]
    push: list[Scalar]
    grip: Matrix
    gripping: list[Scalar]


@dataclass(frozen=True)
class LawStep:
    """The traceable control step; called with the inputs of `law_program` and the block.

    Attributes:
        system: Arms, object, contacts and surfaces.
        order: For each joint of the inputs its index among the drives of the arms' model.
        options: What else the step depends on.
    """

    system: HybridSystem
    order: tuple[int, ...]
    options: LawOptions

    @cached_property
    def layout(self) -> Layout:
        """Where everything stands in its vectors."""
        return Layout.of(self.system)

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        """Return torque, memory and what was found out, by name."""
        given = LawInputs.of(self.system, self.order, arguments)
        gain, fixed, last = given.gain, given.fixed, given.last
        passive_joints = self.system.passive_joints
        arms = ArmState.of(
            passive_joints, given.q, given.qd, given.parameters, last["passive_joints"]
        )
        seen = self._seen(given, arms)
        servo = MotionServo.of(given.wanted, last["pose_integral"], seen, fixed.center, gain)
        environment, missed = self.system.environment, None
        if environment.own_coordinates:
            servo, missed = servo_along_coordinates(
                environment, servo, last["pose_integral"], seen, gain
            )
        then = (
            Instant.ahead(self.system, given, arms, seen)
            if self.options.ahead
            else Instant.of(self.system, given, arms, seen)
        )
        measured = measured_contact_forces(fixed.points, seen, arms.X0, given.wrenches)
        sensing = self._sensing(given, seen, measured)
        planned = in_axes(then.seen.place.E, servo.target.acceleration)
        friction = SurfaceFriction.of(
            self.system.environment.sliding, fixed.center, then.E_F,
            in_axes(then.seen.place.E, servo.target.twist),
        )  # fmt: skip
        touch = SurfaceForces.of(
            sensing, then.E_F, then.held, planned, then.bent, given.wanted, last, gain, friction
        )
        surfaces = Surfaces(then.E_F, touch.touched, then.held, friction, then.leaving)
        command = self._command(given, servo, then, surfaces)

        # By Newton and Euler contacts make the planned motion, and what surfaces are pushed with.
        pushed = _sum(surfaces.wrench(touch.forces), surfaces.drag(touch.forces))
        moving = then.held.times(surfaces.along(planned, then.bent))
        unexplained = [
            w - a - b - p
            for w, a, b, p in zip(sensing.wrench, moving, then.held.bias, pushed, strict=True)
        ]

        # What of the error is controlled, and what is learned from it.
        error = in_world(
            then.seen.place.E,
            surfaces.along(in_axes(then.seen.place.E, servo.error), self._still),
        )
        if missed is None:
            missed = error
        else:  # a function of a surface that is touched is no coordinate
            C = self.layout.surfaces
            still = [e * (1.0 - c) for e, c in zip(missed[:C], touch.touched, strict=True)]
            missed = [*still, *missed[C:]]
        inside = times(fixed.recovery, measured) if self.layout.internal else []
        torque = command.limited.torque
        memory = [
            *seen.place.x, *seen.quaternion, *seen.twist.components(),
            *self._learned(given, sensing, touch, missed, inside, command.limited.gate),
            *touch.touched, *touch.without,
            *command.acceleration, *command.law.acceleration,
            *_less(command.acceleration, last["acceleration"]),
            *_less(command.law.acceleration, last["joint_acceleration"]), *torque,
            *(arms.q[i] for i in passive_joints.indices),
        ]  # fmt: skip
        found = {
            **self._found_of_object(fixed, seen, servo),
            **self._found_of_command(fixed, then.held, command),
            "error": error,
            "internal_force": inside,
            "contact_force": touch.forces,
            "touched": touch.touched,
            "distance": sensing.distance,
            "measured_contact_forces": measured,
            "exerted": list(sensing.wrench),
            "pushed": pushed,
            "unexplained": unexplained,
            "linkage": arms.followed.checked if arms.followed else [],
        }
        return {
            "torque": self._ordered(torque),
            "memory": memory,
            "found": [value for name in self.layout.found for value in found[name]],
        }

    @property
    def _still(self) -> list[Scalar]:
        """No motion along the surfaces' gradients (C,)."""
        return [0.0] * self.layout.surfaces

    def _ordered(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Return values of the arms' model in the order of the inputs (n,)."""
        return [values[index] for index in self.order]

    def _seen(self, given: LawInputs, arms: ArmState) -> Seen:
        """Return the object as the contacts, or somebody outside, see it."""
        if self.options.sensor:
            fixed = given.fixed
            return seen_from_outside(given.outside, fixed.center, fixed.points, arms.X0)
        return seen_by_arms(given, arms)

    def _sensing(self, given: LawInputs, seen: Seen, measured: Sequence[Scalar]) -> SurfaceSensing:
        """Return what there is to tell the forces on surfaces."""
        environment, here = (
            self.system.environment,
            ObjectPose(seen.place.x, seen.place.E.transpose()),
        )
        return SurfaceSensing(
            has_wrenches=given.sensed[0],
            has_forces=given.sensed[1],
            forces=given.sensed[2:],
            wrench=times(given.fixed.W, measured),
            distance=[p(here) for p in environment.surfaces],
            leaders=environment.leaders,
        )

    def _command(
        self, given: LawInputs, servo: MotionServo, then: Instant, surfaces: Surfaces
    ) -> _Commanded:
        """Return what the law (32) to (37) makes of motion (35) and forces (42), (43)."""
        gain, wanted, last, fixed = given.gain, given.wanted, given.last, given.fixed
        model, arms, place = self.system.arms, then.arms, then.seen.place
        acceleration = surfaces.along(in_axes(place.E, servo.acceleration), then.bent)
        towards = surfaces.along(in_axes(place.E, servo.velocity), self._still)
        into = times(then.E_F, then.seen.twist.components()) if then.E_F else []
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
        H, C_arms = arms.equation(model, given.parameters)
        contacts = arms.blocked(
            model, fixed.points, place, then.seen.twist.angular, given.parameters.gravity
        )
        free = self._free_directions(given, then)
        side = ArmSide(H, contacts.J, gain.safe_pivot, free, self.options.null_space)
        away = self._away_from_singularities(given, side, arms, place)
        posture = PostureMotion.of(gain, given.q, given.qd, away)
        hands, hand_velocity = hand_motion(
            gain, *self._hands(given, then), free.motion.J, posture.avoidance
        )
        # Planned is the drag of a planned push at a planned speed: what is measured of both would
        # feed back.
        push = _sum(surfaces.wrench(u2), surfaces.drag(wanted["contact"]))
        law = decoupling_torque(
            side, C_arms, contacts, then.held, fixed.W, fixed.share, fixed.internal,
            DesiredMotion(acceleration, posture.acceleration, hands),
            DesiredMotion(towards, posture.velocity, hand_velocity),
            push, u3, fixed.holding, free,
        )  # fmt: skip
        driven = [model.bodies[i].joint for i in self.system.passive_joints.drives]
        limited = within_limits(driven, law, last["torque"], gain, given.ramp)
        columns = [[row[j] for row in fixed.internal] for j in range(self.layout.internal)]
        grip = [side.joint_torques(column) for column in columns]
        gripping = side.joint_torques(times(fixed.internal, wanted["internal"]))
        return _Commanded(law, limited, acceleration, push, grip, gripping)

    def _free_directions(self, given: LawInputs, then: Instant) -> FreeDirections:
        """Return what contacts leave free of the hands."""
        points = given.fixed.free_points
        motion = then.arms.blocked(
            self.system.arms, points, then.seen.place, then.seen.twist.angular,
            given.parameters.gravity,
        )  # fmt: skip
        sizes = [point.contact.directions.shape[1] for point in points]
        return FreeDirections(motion, given.fixed.W_free, sizes)

    def _hands(self, given: LawInputs, then: Instant) -> tuple[list[Scalar], list[Scalar]]:
        """Return offset and velocity (f,) of the hands from their grasps, in free directions."""
        points, place, arms = given.fixed.free_points, then.seen.place, then.arms
        offset = [
            value
            for point in points
            for value in times(point.selection, point.offset(place, arms.X0))
        ]
        own = blocked_velocity(points, place, arms.X0, arms.v)
        twist = then.seen.twist.components()
        carried = transposed_times(given.fixed.W_free, twist, self.layout.free)
        return offset, _less(own, carried)

    def _away_from_singularities(
        self, given: LawInputs, side: ArmSide, arms: ArmState, place: Place
    ) -> list[Scalar]:
        """Return the direction (n,) that arms near a singularity are driven in."""
        if not self.options.avoid:
            return [0.0] * self.layout.joints
        slopes = manipulability_gradient(
            self.system.arms, given.fixed.points, place, arms.Xup, arms.X0
        )
        close = maximum(0.0, 1.0 - side.pivot / (_NEAR * given.gain.safe_pivot))
        return [close * minimum(maximum(g, -_STEEP), _STEEP) for g in slopes]

    def _learned(
        self,
        given: LawInputs,
        sensing: SurfaceSensing,
        touch: SurfaceForces,
        error: Sequence[Scalar],
        inside: Sequence[Scalar],
        gate: Scalar,
    ) -> list[Scalar]:
        """Return the integrals of pose, forces on surfaces and internal forces (6 + C + m,)."""
        gain, wanted, last = given.gain, given.wanted, given.last
        contact = learned_contact(
            last["contact_integral"], wanted["compared_contact"], touch.forces, touch.touched,
            touch.pressed, gain, gate, sensing.known,
        )  # fmt: skip
        internal = learned_internal(
            last["internal_integral"], wanted["compared_internal"], inside, gain, gate,
            sensing.has_wrenches,
        )  # fmt: skip
        return [*learned_pose(last["pose_integral"], error, gain, gate), *contact, *internal]

    def _found_of_object(
        self, fixed: LawConstants, seen: Seen, servo: MotionServo
    ) -> dict[str, list[Scalar]]:
        """Return pose and twist of its origin, and what the arms differ by about it."""
        E = seen.place.E
        at_origin = seen.twist.linear - seen.twist.angular.cross(fixed.center)
        return {
            "pose": [*(seen.place.x - E.inverse_times(fixed.center)), *seen.quaternion],
            "twist": [*servo.twist[:3], *E.inverse_times(at_origin)],
            "closure": _closure(fixed.points, seen),
        }

    def _found_of_command(
        self, fixed: LawConstants, held: ObjectTerms, command: _Commanded
    ) -> dict[str, list[Scalar]]:
        """Return what the torque is made of, and what limits and singularities take from it."""
        law, limited = command.law, command.limited
        lost = times(fixed.velocity, law.lost)
        # (37): what the contacts are to make on the object.
        inertial = held.times(command.acceleration)
        asked = [a + b + c for a, b, c in zip(inertial, held.bias, command.push, strict=True)]
        return {
            "support": self._ordered(law.support),
            "scales": [
                limited.squeeze, limited.motion, limited.rate, limited.load, law.pivot,
                limited.contact, sqrt(sum((value * value for value in lost[3:]), 0.0)),
                limited.posture,
            ],
            "asked": asked,
            "needed": [
                part[i] - command.gripping[i]
                for part in (limited.least, limited.most)
                for i in self.order
            ],
            "grip": [column[index] for index in self.order for column in command.grip],
        }  # fmt: skip


def _sum(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x + y for x, y in _pairs(a, b)]


def _less(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x - y for x, y in _pairs(a, b)]


def _pairs(a: Sequence[Scalar], b: Sequence[Scalar]) -> Iterator[tuple[Scalar, Scalar]]:
    return zip(a, b, strict=True)


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
