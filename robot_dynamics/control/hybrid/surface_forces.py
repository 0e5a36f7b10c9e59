# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces on surfaces and at contacts, and which surfaces are touched; functions are traceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.grasp_kinematics import ContactPoint, Matrix
from robot_dynamics.manipulation.hybrid.object_observer import Seen
from robot_dynamics.manipulation.hybrid.touched_surfaces import SurfaceFriction, Surfaces
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.spatial import Scalar, Transform, Vector3

# Turns a positive number into 1: forces and times above 1e-290 are beyond it by far.
_TRUE = 1e300


def contact_step(
    touched: Scalar,
    without: Scalar,
    force: Scalar,
    approaching: Scalar,
    touch: Scalar,
    lost_after: Scalar,
    period: Scalar,
) -> tuple[Scalar, Scalar]:
    """Return whether a surface is touched after a sample, and for how long there was no force.

    Args:
        touched: 1 if it was touched before, 0 if not.
        without: How long there was no force before [s].
        force: Measured on the surface [N].
        approaching: 1 if contact is wanted; if 0, the surface is left at once.
        touch: Force at which a contact begins [N].
        lost_after: Time without force after which it is given up [s].
        period: Of control [s].
    """
    without = (1.0 - positive(force)) * (without + period)
    lost = positive(without - lost_after)
    touched = approaching * (1.0 - lost) * maximum(touched, positive(force - touch))
    return touched, without


def positive(value: Scalar) -> Scalar:
    """Return 1 for a positive number, 0 for one that is not."""
    return minimum(1.0, maximum(0.0, value) * _TRUE)


def touches(
    leaders: Sequence[int],
    last: Mapping[str, Sequence[Scalar]],
    forces: Sequence[Scalar],
    wanted: Sequence[Scalar],
    gain: HybridGains,
    known: Scalar,
    near: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return which surfaces are touched, how long there was no force, and which are pressed (C,).

    Args:
        leaders: Whose push tells for each; -1 for those that are touched while that is wanted.
        last: The memory of the last step.
        forces: On the surfaces (C,).
        wanted: 1 for those that are to be touched (C,).
        gain: When contacts begin and end.
        known: 1 if forces are measured or estimated; without that what was believed stays.
        near: 1 for those that are near enough for a force on them to be a touch (C,).
    """
    touched, without, pressed = list(wanted), [0.0] * len(wanted), [1.0] * len(wanted)
    for i, leader in enumerate(leaders):
        if leader == i:
            # A force measured far from a surface that is not touched is no force on it.
            force = maximum(last["touched"][i], near[i]) * forces[i]
            now, since = contact_step(
                last["touched"][i], last["without"][i], force, wanted[i],
                gain.touch, gain.lost_after, gain.period,
            )  # fmt: skip
            touched[i] = known * now + (1.0 - known) * wanted[i] * last["touched"][i]
            without[i] = known * since
            pressed[i] = positive(force)
    for i, leader in enumerate(leaders):
        if leader not in (i, -1):
            touched[i], pressed[i] = touched[leader] * wanted[i], pressed[leader]
    return touched, without, pressed


def measured_contact_forces(
    points: Sequence[ContactPoint],
    seen: Seen,
    X0: Sequence[Transform],
    wrenches: Sequence[Sequence[Scalar]],
) -> list[Scalar]:
    """Return measured contact forces (d,), along the contacts' directions.

    Args:
        points: The contacts.
        seen: The object.
        X0: From the world to the arms' bodies.
        wrenches: By the arms on the object, angular first, in the tools' frames (k, 6).
    """
    measured: list[Scalar] = []
    for point, wrench in zip(points, wrenches, strict=True):
        turn = point.turned(seen.place, X0)
        measured += point.components(
            [*(turn * Vector3.of(wrench[:3])), *(turn * Vector3.of(wrench[3:]))]
        )
    return measured


@dataclass(frozen=True)
class SurfaceSensing:
    """What sensors there are for the forces on surfaces.

    Attributes:
        has_wrenches: 1 if grasp wrenches are measured.
        has_forces: 1 if forces on surfaces are.
        forces: Those (C,).
        wrench: On the object, by the arms as measured (6,), in its axes.
        distance: Values of the surfaces' functions (C,).
        leaders: Which surface tells for each; see `Environment.leaders`.
    """

    has_wrenches: Scalar
    has_forces: Scalar
    forces: Sequence[Scalar]
    wrench: Sequence[Scalar]
    distance: Sequence[Scalar]
    leaders: Sequence[int]

    @property
    def known(self) -> Scalar:
        """1 if forces are measured or estimated."""
        return maximum(self.has_wrenches, self.has_forces)


@dataclass(frozen=True)
class SurfaceForces:
    """Forces on surfaces, and what they tell (C,).

    Attributes:
        forces: Measured, or estimated; as wanted without any sensor.
        touched: 1 for surfaces whose force is controlled.
        without: For how long there was no force on them [s].
        pressed: 1 where there is a force.
    """

    forces: list[Scalar]
    touched: list[Scalar]
    without: list[Scalar]
    pressed: list[Scalar]

    @classmethod
    def of(
        cls,
        sensing: SurfaceSensing,
        E_F: Matrix,
        held: ObjectTerms,
        acceleration: Sequence[Scalar],
        bent: Sequence[Scalar],
        wanted: Mapping[str, Sequence[Scalar]],
        last: Mapping[str, Sequence[Scalar]],
        gain: HybridGains,
        friction: SurfaceFriction | None = None,
    ) -> SurfaceForces:
        """Return the forces, estimated from the grasp wrenches where they are not measured.

        Args:
            sensing: What there is to tell them.
            E_F: Gradients of the surfaces (C, 6), in the object's axes.
            held: The object.
            acceleration: That is planned for it (6,). It is taken to move as planned: what the
                servo asks for besides makes up for what the model lacks, and is no motion.
            bent: Accelerations along the gradients that keep touched surfaces touched (C,).
            wanted: Parts of a row of the reference.
            last: The memory of the last step.
            gain: When contacts begin and end.
            friction: How the object rubs on surfaces; not at all by default.
        """
        planned = Surfaces(E_F, last["touched"], held).along(acceleration, bent)
        # Other surfaces may depend on those that bear a force, and must not take a part of it.
        near = _near(sensing.leaders, sensing.distance, gain.touch_within)
        bearing = [
            maximum(t, w * n)
            for t, w, n in zip(last["touched"], wanted["wanted"], near, strict=True)
        ]
        told = Surfaces(E_F, bearing, held, friction).forces(
            sensing.wrench, planned, wanted["compared_contact"]
        )
        here, measured = sensing.has_forces, sensing.has_wrenches
        forces = [
            here * f + (1.0 - here) * (measured * t + (1.0 - measured) * wish)
            for f, t, wish in zip(sensing.forces, told, wanted["compared_contact"], strict=True)
        ]
        return cls(
            forces,
            *touches(
                sensing.leaders, last, forces, wanted["wanted"], gain, sensing.known,
                [maximum(here, n) for n in near],
            ),
        )  # fmt: skip


def _near(leaders: Sequence[int], distance: Sequence[Scalar], within: Scalar) -> list[Scalar]:
    """Return 1 for surfaces that are nearer than that, or passed (C,); their leaders tell."""
    return [1.0 if at == -1 else positive(distance[at] + within) for at in leaders]
