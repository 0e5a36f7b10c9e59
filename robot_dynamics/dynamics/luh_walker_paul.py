# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics in three-dimensional vectors, as Luh, Walker and Paul wrote it (Table 5.2).

For arms of revolute joints. It is a second derivation of `inverse`, with angular velocities and
classical accelerations of origins instead of spatial vectors: use it to check, or to compare with
papers and code in that form.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import Revolute
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.spatial import Scalar, Vector3
from robot_dynamics.spatial.vector3 import cross_products


def luh_walker_paul(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return the joint torques (nv,) [N m] of a tree of revolute joints.

    Rotors, springs and friction are left out.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        parameters: Gravity and inertias.

    Raises:
        RobotDynamicsError: If a joint is not revolute.
    """
    for body in model.bodies:
        if not isinstance(body.joint.type, Revolute):
            raise RobotDynamicsError(
                f"joint {body.joint.name!r} is {body.joint.type.name}, expected revolute joints."
            )
    Xup = joint_transforms(model, q)
    z = Vector3(0.0, 0.0, 1.0)
    w: list[Vector3] = []  # angular velocities, angular accelerations, accelerations of origins
    wd: list[Vector3] = []
    vd: list[Vector3] = []
    F: list[Vector3] = []
    N: list[Vector3] = []
    c: list[Vector3] = []
    for i, body in enumerate(model.bodies):
        E, r, turn = Xup[i].E, Xup[i].r, z * qd[i]
        if body.parent == WORLD:
            w.append(turn)
            wd.append(z * qdd[i])
            vd.append(E * -parameters.gravity)
        else:
            w_p, wd_p, vd_p = w[body.parent], wd[body.parent], vd[body.parent]
            w.append(E * w_p + turn)
            wd.append(E * wd_p + z * qdd[i] + (E * w_p).cross(turn))
            vd.append(E * (vd_p + wd_p.cross(r) + w_p.cross(w_p.cross(r))))
        inertia = parameters.inertias[i]
        massless = is_zero(inertia.mass)
        c.append(inertia.h * (0.0 if massless else 1.0 / inertia.mass))
        I_c = inertia.I + cross_products(c[i], inertia.h, Vector3.zero())
        at_center = vd[i] + wd[i].cross(c[i]) + w[i].cross(w[i].cross(c[i]))
        F.append(at_center * inertia.mass)
        N.append(I_c * wd[i] + w[i].cross(I_c * w[i]))

    f, n = list(F), [N_i + c_i.cross(F_i) for N_i, c_i, F_i in zip(N, c, F, strict=True)]
    for i in reversed(range(len(model.bodies))):
        parent, E, r = model.bodies[i].parent, Xup[i].E, Xup[i].r
        if parent != WORLD:
            push = E.inverse_times(f[i])
            f[parent] = f[parent] + push
            n[parent] = n[parent] + E.inverse_times(n[i]) + r.cross(push)
    return [z.dot(n_i) for n_i in n]
