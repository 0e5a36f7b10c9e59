# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid law of Yoshikawa and Zheng as one traced control step.

`HybridLawProgram` computes it from top to bottom; numbers in parentheses are equations of the
paper.
The object's quantities are in its own axes about its centre of mass, six-vectors are angular
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from robot_dynamics.compile import Program, trace
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import LawConstants, LawInputs, LawOptions, Layout
from robot_dynamics.control.hybrid.payload_estimate import (
    AdaptedPayload,
    HeldWrench,
    PayloadBounds,
    PayloadEstimate,
)
from robot_dynamics.control.hybrid.servo import (
    MotionServo,
    PostureMotion,
    contact_integral,
    hand_motion,
    internal_integral,
    pose_integral,
    servo_along_coordinates,
)
from robot_dynamics.control.hybrid.state import (
    ArmState,
    SystemState,
    to_body_axes,
    to_world_axes,
)
from robot_dynamics.control.hybrid.surface_forces import (
    SurfaceForces,
    SurfaceSensing,
    measured_contact_forces,
    positive,
)
from robot_dynamics.control.torque_limits import friction_torque, limited_torque, torque_range
from robot_dynamics.manipulation.hybrid.decoupling_law import DampedInverse, FreeDirections
from robot_dynamics.manipulation.hybrid.environment import Environment, ObjectPose
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactMotion,
    ContactPoint,
    contact_velocity,
    manipulability_gradient,
)
from robot_dynamics.manipulation.hybrid.object_observer import (
    ObjectEstimate,
    ObserverMaps,
    estimate_from_arms,
    estimate_from_sensor,
)
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.manipulation.hybrid.touched_surfaces import SurfaceFriction, Surfaces
from robot_dynamics.model import pose_of
from robot_dynamics.model.parameters import block_size
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import add, norm, subtract, times, transposed_times
from robot_dynamics.spatial import Rotation, Scalar, Vector3

# Singularities are avoided below this multiple of the pivot below which they are damped; each
# component of the gradient counts up to this size [1/rad].
_NEAR, _STEEP = 10.0, 10.0
_TASK_PARTS = 3  # of the parts of the torque: internal force, force on surfaces, motion


class ObjectCommand(NamedTuple):
    """Command of a law to the object; six-vectors in world axes.

    Attributes:
        acceleration: Angular acceleration, and acceleration of its centre of mass (6,).
        velocity: Corresponding velocity (6,), for the friction of the joints.
        wrench: Wrench by the arms on the object about its origin, in addition to that for
            acceleration and weight (6,); None for zero.
        internal: Internal force (m,).
    """

    acceleration: list[Scalar]
    velocity: list[Scalar]
    wrench: list[Scalar] | None
    internal: list[Scalar]


@dataclass(frozen=True)
class HybridLawProgram:
    """The traceable control step; called with its inputs and the block of parameters.

    Inputs, over the n arm joints, or drives of arms with loops, and k arms; see `Layout` for the
    vectors:
        q, qd (n,): Measured.
        wrenches (k, 6): Measured grasp wrenches by the arms on the object, angular first, in the
            tools' frames.
        sensors: Existing sensors, and measured forces on the surfaces.
        reference: Row of the reference.
        memory: Memory of the last step.
        ramp (): Factor of the task at the start, from 0 to 1.
        object_sensor (13,): Pose of the object's origin and its twist in world axes, only with
            `options.sensor`.

    Outputs:
        torque (n,), memory, and outputs: see `HybridOutputs`.

    Attributes:
        system: Arms, object, contacts and surfaces.
        order: For each joint of the inputs its index among the drives of the arms' model.
        options: Other facts that the code depends on.
        springs: Whether springs hold the object.
    """

    system: HybridSystem
    order: tuple[int, ...]
    options: LawOptions
    springs: ClassVar[bool] = False

    @cached_property
    def layout(self) -> Layout:
        """Positions of the parts in the vectors of inputs and outputs."""
        return Layout.of(self.system, springs=self.springs, adapts=self.options.adapts)

    @property
    def structure_key(self) -> bytes | None:
        """Bytes that differ for steps that are traced to different programs.

        None if only the trace shows the difference: the source of a surface or coordinate does not
        show the constants in its closure, and internal chains are closed by numbers.
        """
        system = self.system
        if system.drives or system.environment != Environment():
            return None
        pairs = zip(system.contacts, system.free_directions, strict=True)
        contacts = [(c.kind, c.directions.tolist(), f.directions.tolist()) for c, f in pairs]
        links = [system.arms.link(tool) for tool in system.tools]
        tools = [(link.body, pose_of(link.placement).tolist()) for link in links]
        determined = ObserverMaps.of(system).determined
        facts = type(self), self.order, self.options, contacts, tools, determined
        return repr(facts).encode() + system.arms.structure_key

    def trace(self) -> Program:
        """Return the program."""
        layout = self.layout
        n, C = layout.joints, layout.surfaces
        inputs: dict[str, int | tuple[int, ...]] = {
            "q": n,
            "qd": n,
            "wrenches": (layout.arms, 6),
            "sensors": Layout.size(layout.sensors),
            "reference": Layout.size(layout.reference),
            "memory": Layout.size(layout.memory),
            "ramp": (),
        }
        if self.options.sensor:
            inputs["object_sensor"] = 13
        total = block_size(self.system.arms) + HybridGains.size(n, C) + LawConstants.size(layout)
        total += self.more_parameters
        return trace(self, name="hybrid_law", inputs=inputs, parameters=total)

    @property
    def more_parameters(self) -> int:
        """Number of parameters after those of the hybrid law: bounds of the payload."""
        return len(PayloadBounds._fields) if self.options.adapts else 0

    def command(
        self, inputs: LawInputs, arms: ArmState, estimate: ObjectEstimate, servo: MotionServo
    ) -> ObjectCommand:
        """Return the command to the object: the servos (41) and (43).

        Args:
            inputs: Inputs of the step.
            arms: Measured state of the arms.
            estimate: Object according to the arms or a sensor.
            servo: Servo of the object's motion.
        """
        internal = add(inputs.reference["internal"], inputs.memory["internal_integral"])
        return ObjectCommand(servo.acceleration, servo.velocity, None, internal)

    def __call__(self, *arguments: Any) -> dict[str, Any]:
        """Return torque, memory and the other outputs by name."""
        system, layout, options = self.system, self.layout, self.options
        environment, passive = system.environment, system.passive_joints
        inputs = LawInputs.of(system, self.order, arguments, adapts=options.adapts)
        gains, constants, ramp = inputs.gains, inputs.constants, inputs.ramp
        reference, memory = inputs.reference, inputs.memory
        W, W_sharp, A = constants.W, constants.share, constants.internal

        # --- Pose and twist of the object.
        arms = ArmState.of(
            passive, inputs.q, inputs.qd, inputs.parameters, memory["passive_joints"]
        )
        estimate = self._object_estimate(inputs, arms)

        # --- Servo of the motion (41), of the pose or in the user's own coordinates.
        servo = MotionServo.of(
            reference, memory["pose_integral"], estimate, constants.center, gains
        )
        coordinate_error = None
        if environment.own_coordinates:
            servo, coordinate_error = servo_along_coordinates(
                environment, servo, memory["pose_integral"], estimate, gains
            )

        command = self.command(inputs, arms, estimate, servo)

        # --- Prediction to the middle of the interval in which the torque will act.
        state_of = SystemState.predicted if options.ahead else SystemState.of
        state = state_of(system, inputs, arms, estimate)
        # `to_object` turns world axes into the object's; it is not part of E = [E_P; E_F] of (35).
        to_object, E_F, terms = state.object.pose.E, state.E_F, state.terms

        # --- Surfaces: the forces on them, and which are touched.
        reference_acceleration = to_body_axes(to_object, servo.target.acceleration)
        friction = SurfaceFriction.of(
            environment.sliding, constants.center, E_F,
            to_body_axes(to_object, servo.target.twist),
        )  # fmt: skip
        measured = measured_contact_forces(constants.points, estimate, arms.X0, inputs.wrenches)
        sensing = self._sensing(inputs, estimate, times(W, measured))
        contact = SurfaceForces.of(
            sensing, E_F, terms, reference_acceleration, state.constraint_acceleration, reference,
            memory, gains, friction,
        )  # fmt: skip
        surfaces = Surfaces(E_F, contact.touched, terms, friction, state.separating_motions)
        no_rate = [0.0] * layout.surfaces

        # --- Desired acceleration of the object on the surfaces (35), and its velocity.
        a_d = surfaces.project(
            to_body_axes(to_object, command.acceleration), state.constraint_acceleration
        )
        v_d = surfaces.project(to_body_axes(to_object, command.velocity), no_rate)

        # --- Servo of the force on surfaces (42), and internal force.
        normal_velocity = times(E_F, state.object.twist.components()) if E_F else []
        u2 = [
            f + i - b * v
            for f, i, b, v in zip(
                reference["contact"], memory["contact_integral"], gains.damping, normal_velocity,
                strict=True,
            )
        ]  # fmt: skip
        u3 = subtract(command.internal, constants.holding)

        # --- Equation of motion of the arms (3), and S^T J of (15), with its rate (29).
        M, h = state.arms.equation(system.arms, inputs.parameters)
        J_S = self._contact_motion(inputs, state, constants.points)
        free = FreeDirections(  # U^T J
            self._contact_motion(inputs, state, constants.free_points),
            constants.W_free,
            [point.contact.directions.shape[1] for point in constants.free_points],
        )
        inverse = DampedInverse(M, J_S.J, gains.safe_pivot, free, options.null_space)

        # --- Null space of (34): d_q of the joints, d_ah of the hands.
        gradient = self._manipulability_gradient(inputs, state, inverse.pivot)
        d_q = PostureMotion.of(gains, inputs.q, inputs.qd, gradient)
        d_ah, hand_velocity = hand_motion(
            gains, *self._hand_offset(inputs, state), free.motion.J, d_q.avoidance
        )

        # --- Desired accelerations of the joints (34), from (29):
        # S^T J qdd = W_S^T a_d + rate(W_S^T) v - rate(S^T J) qd, and the same of U^T J with d_ah.
        d, f = layout.directions, layout.free
        rotating = [0.0, 0.0, 0.0, *terms.omega.cross(terms.velocity)]  # W_S turns with the object
        a_o = subtract(a_d, rotating)
        task = [
            *add(subtract(transposed_times(free.W, a_o, f), free.motion.bias), d_ah),
            *subtract(transposed_times(W, a_o, d), J_S.bias),
        ]
        inertial_torque, lost = inverse.inertial_torque(task, d_q.acceleration)  # M (qdd_d - d_q)
        qdd_d = inverse.acceleration(d_q.acceleration, inertial_torque)
        # The same with the object at rest: the part of d_q and d_ah alone, in the null space.
        self_motion, _ = inverse.inertial_torque([*d_ah, *[0.0] * d], d_q.acceleration)
        velocity_task = [
            *add(transposed_times(free.W, v_d, f), hand_velocity),
            *transposed_times(W, v_d, d),
        ]
        # The same inverse maps velocities; its first result is then a momentum.
        momentum, _ = inverse.inertial_torque(velocity_task, d_q.velocity)
        qd_d = inverse.acceleration(d_q.velocity, momentum)

        # --- Contact forces (37) and torques (32), (33), (36), in the parts that are limited.
        # Drag follows from the desired forces and motion: measured ones would feed back. E_F^T u2,
        # and drag: a wrench (6,); F_inertia and F_support are contact forces (d,).
        surface_wrench = add(surfaces.wrench(u2), surfaces.drag(reference["contact"]))
        accelerating = terms.times(a_d)
        if command.wrench is not None:
            moment, force = (
                to_object * Vector3.of(command.wrench[i : i + 3]) for i in (0, 3)
            )  # about the origin
            about_center = [*(moment - constants.center.cross(force)), *force]
            accelerating = add(accelerating, about_center)
        F_inertia, F_support = times(W_sharp, accelerating), times(W_sharp, terms.bias)
        if constants.holding:
            F_support = add(F_support, times(A, constants.holding))
        support = add(h, inverse.joint_torques(F_support))
        internal = inverse.joint_torques(times(A, u3)) if u3 else [0.0] * layout.joints
        on_surfaces = inverse.joint_torques(times(W_sharp, surface_wrench))
        # M qdd_d is divided: `motion` accelerates the object; `posture`, M d_q + self_motion,
        # moves arms and hands in the null space and is reduced first.
        motion = add(subtract(inertial_torque, self_motion), inverse.joint_torques(F_inertia))
        posture = add(times(M, d_q.acceleration), self_motion)

        # --- Torque limits: support first, then these parts in their order, then the rate.
        driven = [system.arms.bodies[i].joint for i in passive.drives]
        motion = add(
            motion, friction_torque(driven, qd_d, gains.friction_share, gains.friction_velocity)
        )
        parts = [[ramp * t for t in part] for part in (internal, on_surfaces, motion, posture)]
        limited = limited_torque(
            support, parts, memory["torque"], gains.effort, gains.torque_rate * gains.period
        )
        gate = limited.gate(ramp, _TASK_PARTS)

        # --- Mass and centre of the object.
        payload = self._payload_estimate(inputs, estimate, sensing, contact.touched, gate)

        # --- Integrals of the servos (41) to (43), and the memory for the next step.
        error = to_world_axes(
            to_object, surfaces.project(to_body_axes(to_object, servo.error), no_rate)
        )  # of the controlled motion
        uncontrolled = subtract(servo.error, error)
        integrated_error = error
        if coordinate_error is not None:  # the function of a touched surface is no coordinate
            C = layout.surfaces
            functions = zip(coordinate_error[:C], contact.touched, strict=True)
            integrated_error = [*(e * (1.0 - t) for e, t in functions), *coordinate_error[C:]]
        internal_force = times(constants.recovery, measured) if layout.internal else []
        new_memory = [
            *estimate.pose.r, *estimate.quaternion, *estimate.twist.components(),
            *pose_integral(memory["pose_integral"], integrated_error, gains, gate),
            *contact_integral(
                memory["contact_integral"], reference["compared_contact"], contact, gains, gate,
                sensing.known,
            ),
            *internal_integral(
                memory["internal_integral"], reference["compared_internal"], internal_force, gains,
                gate, sensing.has_wrenches,
            ),
            *contact.touched, *contact.time_without_force,
            *a_d, *qdd_d,
            *subtract(a_d, memory["acceleration"]),
            *subtract(qdd_d, memory["joint_acceleration"]),
            *limited.torque,
            *(arms.q[i] for i in passive.indices),
            *(payload.state if payload else []),
        ]  # fmt: skip

        # --- Outputs, whose order is that of `Layout.outputs`.
        pushed = add(surfaces.wrench(contact.forces), surfaces.drag(contact.forces))
        reference_motion = surfaces.project(reference_acceleration, state.constraint_acceleration)
        explained = add(add(terms.times(reference_motion), terms.bias), pushed)
        lost_acceleration = times(constants.observer.velocity, lost)[3:]
        scale_internal, scale_contact, scale_motion, scale_posture = limited.scales
        effort_scale = minimum(minimum(scale_internal, scale_motion), scale_contact)
        least, most = torque_range(support, parts[:_TASK_PARTS])
        of_reference = inverse.joint_torques(times(A, reference["internal"]))
        grip = [inverse.joint_torques(column) for column in zip(*A, strict=True)]
        outputs = {
            **self._object_outputs(constants, estimate, servo),
            "error": error,
            "internal_force": internal_force,
            "contact_force": contact.forces,
            "touched": contact.touched,
            "uncontrolled_error": self._of_origin(uncontrolled, to_object, constants.center),
            "tilt": [
                point.tilt(estimate.pose, arms.X0)
                for point in constants.points
                if point.contact.is_soft_finger
            ],
            "spring_wrench": command.wrench or [],
            "distance": sensing.distance,
            "support": self._ordered(support),
            "scales": [  # see `law_inputs.SCALES`
                scale_internal, scale_motion, limited.rate_scale, limited.support_torque_ratio,
                inverse.pivot, scale_contact, norm(lost_acceleration),
                scale_posture,
            ],
            "effort_scale": [effort_scale],
            "task_scale": [minimum(effort_scale, limited.rate_scale)],
            "support_torque_ratio": [limited.support_torque_ratio],
            "measured_contact_forces": measured,
            "desired_wrench": add(  # (37), and drag
                add(accelerating, terms.bias), surface_wrench
            ),
            "held_body_wrenches": [
                *sensing.wrench, *pushed, *subtract(sensing.wrench, explained)
            ],
            "torque_range": [
                *self._ordered(subtract(least, of_reference)),
                *self._ordered(subtract(most, of_reference)),
            ],
            "internal_force_torques": [column[index] for index in self.order for column in grip],
            "linkage": arms.driven.checked if arms.driven else [],
            **_payload_outputs(constants, memory["payload"], payload),
        }  # fmt: skip
        return {
            "torque": self._ordered(limited.torque),
            "memory": new_memory,
            "outputs": [value for name in layout.outputs for value in outputs[name]],
        }

    def _of_origin(
        self, error: Sequence[Scalar], to_object: Rotation, center: Vector3
    ) -> list[Scalar]:
        """Return the error of the object's origin for that of its centre of mass, world axes (6,).

        Empty without surfaces.
        """
        if not self.layout.surfaces:
            return []
        turn, shift = Vector3.of(error[:3]), Vector3.of(error[3:])
        return [*turn, *(shift - turn.cross(to_object.inverse_times(center)))]

    def _ordered(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Return values of the arms' model in the order of the inputs (n,)."""
        return [values[index] for index in self.order]

    def _object_estimate(self, inputs: LawInputs, arms: ArmState) -> ObjectEstimate:
        """Return pose and twist of the object, through the contacts or from a sensor."""
        constants, memory = inputs.constants, inputs.memory
        if self.options.sensor:
            return estimate_from_sensor(
                inputs.object_sensor, constants.center, constants.points, arms.X0
            )
        return estimate_from_arms(
            constants.points, arms.X0, arms.v, memory["pose"], memory["twist"],
            inputs.gains.period, constants.observer,
        )  # fmt: skip

    def _sensing(
        self, inputs: LawInputs, estimate: ObjectEstimate, wrench: list[Scalar]
    ) -> SurfaceSensing:
        """Return the measurements for the forces on surfaces."""
        pose = ObjectPose(estimate.pose.r, estimate.pose.E.transpose())
        environment, sensors = self.system.environment, inputs.sensors
        layout = self.layout.sensors
        distance = [p(pose) for p in environment.surfaces]
        return SurfaceSensing(
            sensors[0], sensors[1], sensors[layout["forces"]], wrench, distance,
            environment.touch_rows,
        )  # fmt: skip

    def _payload_estimate(
        self,
        inputs: LawInputs,
        estimate: ObjectEstimate,
        sensing: SurfaceSensing,
        touched: Sequence[Scalar],
        gate: Scalar,
    ) -> PayloadEstimate | None:
        """Return the estimate of mass and centre; None if the law takes them as stated.

        Args:
            inputs: Inputs of the step.
            estimate: Object according to the arms or a sensor.
            sensing: Measurements.
            touched: 1 for touched surfaces (C,).
            gate: 0 while control ramps in, or limits scale the task.
        """
        if not self.options.adapts:
            return None
        constants = inputs.constants
        known = inputs.sensors[self.layout.sensors["payload"]][0]
        for now, wanted in zip(touched, inputs.reference["touch"], strict=True):
            known = known * (1.0 - maximum(now, positive(wanted)))
        held = HeldWrench(
            sensing.wrench, estimate.pose.E, estimate.twist, constants.mass, constants.inertia,
            inputs.parameters.gravity,
        )  # fmt: skip
        bounds = PayloadBounds(*inputs.more)
        state, period = inputs.memory["payload"], inputs.gains.period
        return PayloadEstimate.of(held, state, bounds, period, known=known, gate=gate)

    def _contact_motion(
        self, inputs: LawInputs, state: SystemState, points: Sequence[ContactPoint]
    ) -> ContactMotion:
        gravity = inputs.parameters.gravity
        return state.arms.contact_motion(self.system.arms, points, state.object, gravity)

    def _manipulability_gradient(
        self, inputs: LawInputs, state: SystemState, pivot: Scalar
    ) -> list[Scalar]:
        """Return the gradient (n,) away from singularities, zero far from them."""
        if not self.options.avoid:
            return [0.0] * self.layout.joints
        arms = state.arms
        gradient = manipulability_gradient(
            self.system.arms, inputs.constants.points, state.object.pose, arms.Xup, arms.X0
        )
        near = maximum(0.0, 1.0 - pivot / (_NEAR * inputs.gains.safe_pivot))
        return [near * minimum(maximum(g, -_STEEP), _STEEP) for g in gradient]

    def _hand_offset(
        self, inputs: LawInputs, state: SystemState
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return offset and velocity (f,) of the hands from their grasps, in free directions."""
        points, pose, arms = inputs.constants.free_points, state.object.pose, state.arms
        offset = [
            value
            for point in points
            for value in times(point.selection, point.offset(pose, arms.X0))
        ]
        twist = state.object.twist.components()
        of_object = transposed_times(inputs.constants.W_free, twist, self.layout.free)
        return offset, subtract(contact_velocity(points, pose, arms.X0, arms.v), of_object)

    def _object_outputs(
        self, constants: LawConstants, estimate: ObjectEstimate, servo: MotionServo
    ) -> dict[str, list[Scalar]]:
        """Return pose and twist of the object's origin, and the closure error of the arms."""
        E, twist = estimate.pose.E, estimate.twist
        velocity = twist.linear - twist.angular.cross(constants.center)
        origin = estimate.pose.r - E.inverse_times(constants.center)
        return {
            "pose": [*origin, *estimate.quaternion],
            "twist": [*servo.twist[:3], *E.inverse_times(velocity)],
            "closure": _closure(constants.points, estimate),
        }


def _payload_outputs(
    constants: LawConstants, state: Sequence[Scalar], estimate: PayloadEstimate | None
) -> dict[str, list[Scalar]]:
    """Return the payload that the law uses, its standard deviation and whether it is learned."""
    if estimate is None:
        return {"payload": [], "payload_deviation": [], "payload_learned": []}
    used = AdaptedPayload.of(state)
    return {
        "payload": [constants.mass * used.ratio, *(constants.center + used.offset)],
        "payload_deviation": estimate.deviation,
        "payload_learned": [estimate.learned],
    }


def _closure(points: Sequence[ContactPoint], estimate: ObjectEstimate) -> list[Scalar]:
    """Return the differences of the other arms' object poses from the first's (6(k-1),).

    Rotation vector and displacement in the object's axes, in the directions that contacts block.
    """
    errors, residual = [], list(estimate.residual)
    for point in points:
        own, residual = residual[: len(point.selection)], residual[len(point.selection) :]
        six = transposed_times(point.selection, own, 6)
        rotation, displacement = Vector3.of(six[:3]), Vector3.of(six[3:])
        errors.append([*point.E.inverse_times(rotation), *point.E.inverse_times(displacement)])
    return [value for other in errors[1:] for value in subtract(other, errors[0])]
