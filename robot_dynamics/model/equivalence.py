# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Models with simpler inertias and the same equation of motion (section 9.7, Table 9.7)."""

from __future__ import annotations

from robot_dynamics.model.connectivity import WORLD
from robot_dynamics.model.joints import JointType, Prismatic, Revolute, Spherical
from robot_dynamics.model.model import Model
from robot_dynamics.spatial import Inertia, Symmetric3, Vector3


def simplified_inertias(model: Model) -> Model:
    """Return a model whose bodies have fewer parameters, with the same equation of motion.

    Inertia that a joint moves in the same way on either side of it goes from its body to the
    parent: masses on the axis of a revolute joint, all rotational inertia of a prismatic joint,
    and the mass of a spherical joint, as a particle. Other types keep their inertia. Compiled
    programs become shorter.

    Joint forces, accelerations and the inertia matrix do not change. Quantities of single bodies
    do: momentum, centre of mass, energy of gravity, forces in bearings. Masses may be
    negative, so that such a model cannot go through the checks of a description.

    Args:
        model: The model; inertias that are parameters of compiled code are kept.
    """
    inertias = [body.inertia for body in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        if body.name in model.variable or (
            body.parent != WORLD and model.bodies[body.parent].name in model.variable
        ):
            continue
        shifted = _indistinguishable(body.joint.type, inertias[i])
        inertias[i] = inertias[i] + Inertia.of([-x for x in shifted.components()])
        if body.parent != WORLD:
            inertias[body.parent] += body.placement.inverse_times(shifted)
    return model.replace(
        inertia={body.name: I for body, I in zip(model.bodies, inertias, strict=True)}
    )


def _indistinguishable(kind: JointType, inertia: Inertia) -> Inertia:
    """Return the largest inertia that a joint moves in the same way on either side of it."""
    I, none = inertia.I, Symmetric3.zero()
    if type(kind) is Revolute:
        return Inertia(
            inertia.mass, Vector3(0.0, 0.0, inertia.h.z), Symmetric3.diagonal(I.xx, I.xx, 0.0)
        )
    if type(kind) is Prismatic:
        return Inertia(0.0, Vector3.zero(), I)
    if type(kind) is Spherical:
        return Inertia(inertia.mass, Vector3.zero(), none)
    return Inertia.zero()
