# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Round-off of inverse dynamics in body coordinates and in those of a far base."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.inverse import (
    inverse_dynamics,
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.model import JointElement, Mechanism, build, pose
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters, parameters_of
from robot_dynamics.spatial import Force, Inertia, Motion, Transform, Vector3


def far_chain(rng, distance):
    """Return a chain of six revolute joints whose first is some distance [m] from the base."""
    tree = random_tree(rng, ["revolute"] * 6, chain=True)
    first = tree.joints[0]
    far = pose((distance, 0.5 * distance, 0.0)) @ first.placement
    moved = JointElement(first.name, first.type, first.parent, first.child, far, first.axis)
    return build(Mechanism("far", tree.links, (moved, *tree.joints[1:])))


def in_base_coordinates(model, q, qd, qdd):
    """Return tau by the equations of Table 5.1 with all vectors in base coordinates."""
    parameters = parameters_of(model)
    X0, S = body_transforms(model, joint_transforms(model, q)), motion_subspaces(model, q)
    v, a, f, axes = [], [], [], []
    for i, body in enumerate(model.bodies):
        axes.append([X0[i].inverse_times(s) for s in S[i]])
        vJ, aJ = (combined(axes[i], x[model.v_slices[i]]) for x in (qd, qdd))
        before = (Motion.zero(), Motion(Vector3.zero(), -parameters.gravity))
        v_p, a_p = before if body.parent < 0 else (v[body.parent], a[body.parent])
        v.append(v_p + vJ)
        a.append(a_p + aJ + v[i].cross(vJ))
        inertia = X0[i].inverse_times(parameters.inertias[i])
        f.append(inertia * a[i] + v[i].cross_force(inertia * v[i]))
    tau = []
    for i in reversed(range(len(f))):
        tau = [s.dot(f[i]) for s in axes[i]] + tau
        if model.bodies[i].parent >= 0:
            f[model.bodies[i].parent] = f[model.bodies[i].parent] + f[i]
    return np.array(tau)


def exact(model, q, qd, qdd):
    """Return tau (nv,) of the rounded transforms, calculated in fractions without an error."""

    def whole(item, kind):
        return kind.of([Fraction(float(x)) for x in item.components()])

    Xup = [whole(X, Transform) for X in joint_transforms(model, q)]
    parameters = parameters_of(model)
    gravity = Vector3.of([Fraction(g) for g in parameters.gravity])
    inertias = tuple(whole(I, Inertia) for I in parameters.inertias)
    qd, qdd = ([Fraction(x) for x in values] for values in (qd, qdd))
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, gravity, q)
    forces = net_forces(v, a, Parameters(gravity, inertias, ()))
    assert all(isinstance(force, Force) for force in forces)
    return np.array([float(t) for t in joint_forces(model, Xup, forces, q)])


@pytest.mark.book("A3")
def test_body_coordinates_do_not_mind_where_the_base_is(rng):
    """Errors of base coordinates grow as the distance squared, those of body coordinates not."""
    errors = {}
    for distance in (0.0, 1e2, 1e4):
        model = far_chain(np.random.default_rng(5), distance)
        state = [x.tolist() for x in random_state(np.random.default_rng(6), model)]
        right = exact(model, *state)
        size = np.abs(right).max()
        body = np.array(inverse_dynamics(model, *state, parameters_of(model)))
        base = in_base_coordinates(model, *state)
        errors[distance] = [np.abs(tau - right).max() / size for tau in (body, base)]
    # Some hundred roundings of 1e-16 of the largest torque, wherever the base is.
    assert max(body for body, _ in errors.values()) < 1e-13
    assert errors[0.0][1] < 1e-13
    # (1e4)^2 roundings of 1e-16 and more; the factor leaves room for errors that cancel.
    assert errors[1e4][1] > 1e-10
    assert errors[1e4][1] > 100 * errors[1e2][1]
