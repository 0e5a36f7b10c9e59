# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces on surfaces and at contacts, and which surfaces are touched; traceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.grasp_kinematics import ContactPoint, Matrix
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate
from robot_dynamics.manipulation.hybrid.touched_surfaces import SurfaceFriction, Surfaces
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.spatial import Scalar, Transform, Vector3

# Turns a positive number into 1: forces and times above 1e-290 are beyond it by far.
_TRUE = 1e300


def contact_step(
    touched: Scalar,
    time_without_force: Scalar,
    force: Scalar,
    desired: Scalar,
    touch: Scalar,
    lost_after: Scalar,
    period: Scalar,
) -> tuple[Scalar, Scalar]:
    """Return whether a surface is touched after a sample, and the time without force.

    Args:
        touched: 1 if it was touched before, 0 if not.
        time_without_force: Time without force before the sample [s].
        force: Measured force on the surface [N].
        desired: 1 if contact is desired; if 0, the contact ends at once.
        touch: Force at which a contact begins [N].
        lost_after: Time without force after which it ends [s].
        period: Control period [s].
    """
    time_without_force = (1.0 - positive(force)) * (time_without_force + period)
    lost = positive(time_without_force - lost_after)
    touched = desired * (1.0 - lost) * maximum(touched, positive(force - touch))
    return touched, time_without_force


def positive(value: Scalar) -> Scalar:
    """Return 1 for a positive number, else 0."""
    return minimum(1.0, maximum(0.0, value) * _TRUE)


def contact_states(
    touch_rows: Sequence[int],
    memory: Mapping[str, Sequence[Scalar]],
    forces: Sequence[Scalar],
    desired: Sequence[Scalar],
    gains: HybridGains,
    known: Scalar,
    near: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return which surfaces are touched, their times without force, and which are loaded (C,).

    Args:
        touch_rows: See `Environment.touch_rows`.
        memory: Memory of the last step.
        forces: Forces on the surfaces (C,).
        desired: 1 for surfaces that must be touched (C,).
        gains: Limits at which contacts begin and end.
        known: 1 if forces are measured or estimated; else the contacts do not change.
        near: 1 for surfaces that are near enough for a force to be a contact (C,).
    """
    touched, without, loaded = list(desired), [0.0] * len(desired), [1.0] * len(desired)
    for i, row in enumerate(touch_rows):
        if row == i:
            # A force measured far from an untouched surface is not a force on it.
            force = maximum(memory["touched"][i], near[i]) * forces[i]
            now, since = contact_step(
                memory["touched"][i], memory["time_without_force"][i], force, desired[i],
                gains.touch, gains.lost_after, gains.period,
            )  # fmt: skip
            touched[i] = known * now + (1.0 - known) * desired[i] * memory["touched"][i]
            without[i] = known * since
            loaded[i] = positive(force)
    for i, row in enumerate(touch_rows):
        if row not in (i, -1):
            touched[i], loaded[i] = touched[row] * desired[i], loaded[row]
    return touched, without, loaded


def measured_contact_forces(
    points: Sequence[ContactPoint],
    estimate: ObjectEstimate,
    X0: Sequence[Transform],
    wrenches: Sequence[Sequence[Scalar]],
) -> list[Scalar]:
    """Return measured contact forces (d,), along the contacts' directions.

    Args:
        points: The contacts.
        estimate: The object.
        X0: From the world to the arms' bodies.
        wrenches: By the arms on the object, angular first, in the tools' frames (k, 6).
    """
    measured: list[Scalar] = []
    for point, wrench in zip(points, wrenches, strict=True):
        R = point.rotation(estimate.pose, X0)
        measured += point.contact_forces(
            [*(R * Vector3.of(wrench[:3])), *(R * Vector3.of(wrench[3:]))]
        )
    return measured


@dataclass(frozen=True)
class SurfaceSensing:
    """Measurements for the forces on surfaces.

    Attributes:
        has_wrenches: 1 if grasp wrenches are measured.
        has_forces: 1 if forces on surfaces are measured.
        forces: Measured forces on surfaces (C,).
        wrench: Measured wrench by the arms on the object (6,), in its axes.
        distance: Values of the surfaces' functions (C,).
        touch_rows: See `Environment.touch_rows`.
    """

    has_wrenches: Scalar
    has_forces: Scalar
    forces: Sequence[Scalar]
    wrench: Sequence[Scalar]
    distance: Sequence[Scalar]
    touch_rows: Sequence[int]

    @property
    def known(self) -> Scalar:
        """1 if forces are measured or estimated."""
        return maximum(self.has_wrenches, self.has_forces)


@dataclass(frozen=True)
class SurfaceForces:
    """Forces on surfaces and states of the contacts (C,).

    Attributes:
        forces: Measured or estimated forces; desired ones without any sensor.
        touched: 1 for surfaces whose force is controlled.
        time_without_force: Time without a force on them [s].
        loaded: 1 for surfaces with a force.
    """

    forces: list[Scalar]
    touched: list[Scalar]
    time_without_force: list[Scalar]
    loaded: list[Scalar]

    @classmethod
    def of(
        cls,
        sensing: SurfaceSensing,
        E_F: Matrix,
        terms: ObjectTerms,
        acceleration: Sequence[Scalar],
        constraint_acceleration: Sequence[Scalar],
        reference: Mapping[str, Sequence[Scalar]],
        memory: Mapping[str, Sequence[Scalar]],
        gains: HybridGains,
        friction: SurfaceFriction | None = None,
    ) -> SurfaceForces:
        """Return the forces, estimated from the grasp wrenches if they are not measured.

        Args:
            sensing: Measurements.
            E_F: Gradients of the surfaces (C, 6), in the object's axes.
            terms: Inertia and bias of the object.
            acceleration: Acceleration of its reference (6,), without the servo's correction, which
                compensates model errors and is not motion.
            constraint_acceleration: -E_F_dot v (C,).
            reference: Parts of a row of the reference.
            memory: Memory of the last step.
            gains: Limits at which contacts begin and end.
            friction: Friction of the object on the surfaces; zero by default.
        """
        motion = Surfaces(E_F, memory["touched"], terms).project(
            acceleration, constraint_acceleration
        )
        # Only these can exert a force; others may depend on them and must not take a part of it.
        near = _near(sensing.touch_rows, sensing.distance, gains.touch_within)
        bearing = [
            maximum(t, d * n)
            for t, d, n in zip(memory["touched"], reference["touch"], near, strict=True)
        ]
        desired = reference["compared_contact"]
        estimated = Surfaces(E_F, bearing, terms, friction).forces(sensing.wrench, motion, desired)
        has_forces, has_wrenches = sensing.has_forces, sensing.has_wrenches
        forces = [
            has_forces * f + (1.0 - has_forces) * (has_wrenches * e + (1.0 - has_wrenches) * d)
            for f, e, d in zip(sensing.forces, estimated, desired, strict=True)
        ]
        near_or_measured = [maximum(has_forces, n) for n in near]
        states = contact_states(
            sensing.touch_rows, memory, forces, reference["touch"], gains, sensing.known,
            near_or_measured,
        )  # fmt: skip
        return cls(forces, *states)


def _near(touch_rows: Sequence[int], distance: Sequence[Scalar], within: Scalar) -> list[Scalar]:
    """Return 1 for surfaces that are nearer than that, or passed (C,), by their touch_rows."""
    return [1.0 if at == -1 else positive(distance[at] + within) for at in touch_rows]
