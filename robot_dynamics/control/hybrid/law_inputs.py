# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of the hybrid law: options, the layout of its vectors, and its block of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control import control_law
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.payload_estimate import PAYLOAD_STATE
from robot_dynamics.control.reference import consecutive, row_columns
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.decoupling_law import GeneralisedInverse
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    CONTACT_FRAME_SIZE,
    ContactPoint,
    Matrix,
    pack_contact_frame,
)
from robot_dynamics.manipulation.hybrid.object_observer import ObserverMaps
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.model.parameters import Parameters, block_size, unpack
from robot_dynamics.spatial import Scalar, Symmetric3, Vector3

#: Meaning of the output "scales", in its order; scales are from 0 to 1.
SCALES = (
    *control_law.SCALES,
    "scale of the force on surfaces",
    "acceleration of the object [m/s^2] that damping near a singularity takes",
    "scale of the arms' posture",
)


@dataclass(frozen=True)
class Layout:
    """Numbers of joints, contact directions, surfaces and arms, and the vectors they make.

    Attributes:
        joints: n, of all arms; of arms with internal closed chains, drives.
        directions: d, of all contacts.
        surfaces: C.
        arms: k.
        passive_joints: Joints without drives, which arms with loops have.
        free: f, directions that contacts leave free of the hands, where arms can use them.
        soft_fingers: s, contacts that are soft fingers.
        springs: Whether springs hold the object, of the law "impedance".
        adapts: Whether the law estimates the object's mass and centre; see `payload_estimate`.
    """

    joints: int
    directions: int
    surfaces: int
    arms: int
    passive_joints: int = 0
    free: int = 0
    soft_fingers: int = 0
    springs: bool = False
    adapts: bool = False

    @classmethod
    def of(cls, system: HybridSystem, *, springs: bool = False, adapts: bool = False) -> Layout:
        """Return the layout of a system."""
        return cls(
            len(system.drive_names),
            sum(contact.directions.shape[1] for contact in system.contacts),
            len(system.environment.surfaces),
            len(system.contacts),
            system.arms.nv - len(system.drive_names),
            sum(contact.directions.shape[1] for contact in system.free_directions),
            sum(contact.is_soft_finger for contact in system.contacts),
            springs,
            adapts,
        )

    @property
    def internal(self) -> int:
        """m, of internal forces."""
        return self.directions - 6

    @cached_property
    def reference(self) -> Mapping[str, slice]:
        """A row of the reference; see `row_columns`."""
        return row_columns(self.surfaces, self.internal)

    @cached_property
    def memory(self) -> Mapping[str, slice]:
        """Inputs of the next step from the last one.

        The object's centre of mass and quaternion, its twist in its axes; integrals; for each
        surface whether it is touched and the time without force; the desired accelerations of
        object and joints, and their changes since the last step; the last torque; the
        positions of joints without drives; and the state of the payload's estimate.
        """
        C, n = self.surfaces, self.joints
        return consecutive(
            pose=7,
            twist=6,
            pose_integral=6,
            contact_integral=C,
            internal_integral=self.internal,
            touched=C,
            time_without_force=C,
            acceleration=6,
            joint_acceleration=n,
            acceleration_change=6,
            joint_acceleration_change=n,
            torque=n,
            passive_joints=self.passive_joints,
            payload=PAYLOAD_STATE if self.adapts else 0,
        )

    @cached_property
    def outputs(self) -> Mapping[str, slice]:
        """Outputs of a step except torque and memory; see `HybridOutputs`."""
        C = self.surfaces
        return consecutive(
            effort_scale=1,
            task_scale=1,
            support_torque_ratio=1,
            error=6,
            held_body_wrenches=18,
            tilt=self.soft_fingers,
            closure=6 * (self.arms - 1),
            pose=7,
            twist=6,
            internal_force=self.internal,
            contact_force=C,
            touched=C,
            uncontrolled_error=6 if C else 0,
            spring_wrench=6 if self.springs else 0,
            payload=4 if self.adapts else 0,
            payload_deviation=4 if self.adapts else 0,
            payload_learned=1 if self.adapts else 0,
            scales=len(SCALES),
            distance=C,
            support=self.joints,
            measured_contact_forces=self.directions,
            desired_wrench=6,
            torque_range=2 * self.joints,
            internal_force_torques=self.joints * self.internal,
            linkage=3 if self.passive_joints else 0,
        )

    @cached_property
    def checked(self) -> slice:
        """Position of `HeldStep.checked` among the outputs."""
        return slice(self.outputs["task_scale"].start, self.outputs["pose"].stop)

    @cached_property
    def recorded(self) -> slice:
        """Position of the outputs that are recorded, in the order of `HybridLaw.columns`."""
        return slice(self.outputs["tilt"].start, self.outputs["scales"].stop)

    @cached_property
    def sensors(self) -> Mapping[str, slice]:
        """Which sensors there are: of grasp wrenches, of surface forces; and the latter.

        "payload" is 1 if the grasp wrenches, measured or estimated, tell the payload.
        """
        C, adapts = self.surfaces, 1 if self.adapts else 0
        return consecutive(wrenches=1, contact=1, forces=C, payload=adapts)

    @staticmethod
    def size(parts: Mapping[str, slice]) -> int:
        """Return the length of a vector of parts."""
        return max(part.stop for part in parts.values())


def payload_columns(layout: Layout) -> dict[str, int]:
    """Return the width of each column of a recording that the payload's estimate adds."""
    widths = {"estimated_payload": 4, "payload_deviation": 4, "payload_learned": 1}
    return widths if layout.adapts else {}


def law_constants(
    system: HybridSystem, distribution: ForceDistribution, holding: Array | None = None
) -> Array:
    """Return the part of the parameter block that follows the gains; see `LawConstants`.

    Args:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces and internal forces.
        holding: Internal force (m,) without which contacts that only push let the object fall: a
            part of the support. Zero by default.
    """
    held, maps = system.held, ObserverMaps.of(system)
    inertia = np.asarray(held.inertia, dtype=float)
    about = [[held.mass], held.center, inertia.ravel(), np.linalg.inv(inertia).ravel()]
    W = system.constant_wrench_map
    matrices = [W, distribution.share, distribution.internal, distribution.recovery]
    matrices += [maps.velocity, maps.position, maps.undetermined]
    places = [pack_contact_frame(contact, np.asarray(held.center)) for contact in system.contacts]
    parts = [*about, *places, *(m.ravel() for m in matrices)]
    parts.append(wrench_map(system.free_directions, np.asarray(held.center, dtype=float)).ravel())
    parts.append(np.zeros(distribution.internal.shape[1]) if holding is None else holding)
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


@dataclass(frozen=True)
class LawConstants:
    """The part of the block that follows the gains.

    Attributes:
        mass: Of the object.
        center: Its centre of mass, in its axes.
        inertia: Its inertia about that.
        inverse_inertia: The inverse of it.
        points: The contacts.
        free_points: Those that leave directions free, with these directions.
        W: W_S (6, d).
        share: W^# (d, 6).
        internal: A (d, m).
        recovery: The internal force of contact forces (m, d); see `ForceDistribution`.
        observer: Maps of the object's estimation.
        W_free: The wrench map of the free directions W_U (6, f).
        holding: Internal force (m,) that belongs to the support.
    """

    mass: Scalar
    center: Vector3
    inertia: Symmetric3
    inverse_inertia: Symmetric3
    points: list[ContactPoint]
    free_points: list[ContactPoint]
    W: Matrix
    share: Matrix
    internal: Matrix
    recovery: Matrix
    observer: ObserverMaps
    W_free: Matrix
    holding: list[Scalar]

    @classmethod
    def size(cls, layout: Layout) -> int:
        """Return the length of this part of the block."""
        of_object = 1 + 3 + 9 + 9
        matrices = 4 * 6 * layout.directions + 2 * layout.directions * layout.internal + 36
        frames = layout.arms * CONTACT_FRAME_SIZE
        return of_object + frames + matrices + 6 * layout.free + layout.internal

    @classmethod
    def unpack(cls, system: HybridSystem, block: Sequence[Scalar]) -> LawConstants:
        """Return the constants of a block."""
        layout, values = Layout.of(system), iter(block)
        d, m = layout.directions, layout.internal

        def take(count: int) -> list[Scalar]:
            return list(islice(values, count))

        def matrix(rows: int, columns: int) -> Matrix:
            return [take(columns) for _ in range(rows)]

        mass, center = take(1)[0], Vector3.of(take(3))
        inertia, inverse = Symmetric3.of(matrix(3, 3)), Symmetric3.of(matrix(3, 3))
        points = [
            ContactPoint.of(contact, system.arms.link(tool), take(CONTACT_FRAME_SIZE))
            for contact, tool in zip(system.contacts, system.tools, strict=True)
        ]
        free_points = [
            replace(point, contact=free)
            for point, free in zip(points, system.free_directions, strict=True)
            if free.directions.shape[1]
        ]
        W, share, internal, recovery = matrix(6, d), matrix(d, 6), matrix(d, m), matrix(m, d)
        observer = ObserverMaps(matrix(6, d), matrix(6, d), matrix(6, 6))
        if ObserverMaps.of(system).determined:
            observer = replace(observer, undetermined=None)
        return cls(
            mass, center, inertia, inverse, points, free_points, W, share, internal, recovery,
            observer, matrix(6, layout.free), take(m),
        )  # fmt: skip


@dataclass(frozen=True)
class LawOptions:
    """Options of the program of the law.

    Attributes:
        sensor: Whether the object's pose and twist come from outside, not from the arms.
        ahead: Whether the model is evaluated ahead of the measurement, in the middle of the time
            in which the torque acts; else at the measurement.
        avoid: Whether arms with freedom to spare move away from singularities.
        null_space: Generalised inverse of (34); see `DampedInverse`.
        adapts: Whether mass and centre of the object are estimated; see `payload_estimate`.
    """

    sensor: bool = False
    ahead: bool = True
    avoid: bool = False
    null_space: GeneralisedInverse = "inertia"
    adapts: bool = False

    @classmethod
    def of(cls, settings: ControlSettings, system: HybridSystem) -> LawOptions:
        """Return the options that settings ask for.

        Raises:
            ArgumentError: If arms with internal closed chains must avoid singularities.
        """
        avoidance = settings.posture.singularity_avoidance
        if avoidance > 0.0 and system.drives:
            raise ArgumentError(
                f"`posture.singularity_avoidance` of {avoidance:g}: expected 0 for arms with "
                "loops of their own, whose singularities are not avoided."
            )
        return cls(
            settings.object_pose == "sensor",
            settings.ahead,
            avoidance > 0.0,
            settings.null_space,
            settings.payload == "adapt",
        )


@dataclass(frozen=True)
class LawInputs:
    """Inputs and parameters of `HybridLawProgram` by name.

    Attributes:
        q: Measured positions (n,), of the drives if arms have loops, in the model's order.
        qd: Measured velocities (n,), in the same order.
        wrenches: Measured grasp wrenches (k, 6).
        sensors: Existing sensors, and measured forces on the surfaces.
        reference: Parts of the row of the reference.
        memory: Parts of the memory of the last step.
        ramp: Factor of the task at the start, from 0 to 1.
        object_sensor: Measured pose and twist of the object (13,); empty without a sensor.
        parameters: Parameters of the arms' model.
        gains: Gains.
        constants: Object, contacts and distribution of forces.
        more: Parameters of the payload's estimate, or of a law that is derived from this one.
    """

    q: list[Scalar]
    qd: list[Scalar]
    wrenches: Sequence[Sequence[Scalar]]
    sensors: Sequence[Scalar]
    reference: Mapping[str, list[Scalar]]
    memory: Mapping[str, list[Scalar]]
    ramp: Scalar
    object_sensor: Sequence[Scalar]
    parameters: Parameters
    gains: HybridGains
    constants: LawConstants
    more: list[Scalar]

    @classmethod
    def of(
        cls,
        system: HybridSystem,
        order: Sequence[int],
        arguments: Sequence[Any],
        *,
        adapts: bool = False,
    ) -> LawInputs:
        """Return the inputs of a step.

        Args:
            system: Arms, object, contacts and surfaces.
            order: For each joint of the inputs its index among the drives of the arms' model.
            arguments: The inputs in their order, and the block of parameters.
            adapts: Whether the law estimates the object's mass and centre.
        """
        q_in, qd_in, wrenches, sensors, row, memory, ramp, *object_sensor, block = arguments
        layout, size = Layout.of(system, adapts=adapts), block_size(system.arms)
        gains, rest = HybridGains.unpack(block[size:], layout.joints, layout.surfaces)
        q, qd = [0.0] * layout.joints, [0.0] * layout.joints
        for at, index in enumerate(order):
            q[index], qd[index] = q_in[at], qd_in[at]
        return cls(
            q,
            qd,
            wrenches,
            sensors,
            {name: list(row[at]) for name, at in layout.reference.items()},
            {name: list(memory[at]) for name, at in layout.memory.items()},
            ramp,
            object_sensor[0] if object_sensor else [],
            unpack(system.arms, block[:size]),
            gains,
            LawConstants.unpack(system, rest),
            rest[LawConstants.size(layout) :],
        )
