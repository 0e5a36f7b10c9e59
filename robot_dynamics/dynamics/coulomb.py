# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction of joints as constraint forces: bounds, and rows of the rates they oppose.

A freedom of rate u = g(q) qd and friction F has a force P along its row g,

    |P| <= F;  u = 0 if |P| < F, against u otherwise,

so that it can hold. `contact.solver` finds P together with the forces of loops and contacts; the
smooth law of `passive` is a function of u alone, under which a loaded joint creeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.model import Model
from robot_dynamics.model.model import COULOMB
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar, Transform


def joint_frictions(model: Model) -> dict[str, float]:
    """Return Coulomb friction [N m or N] by freedom, where there is any: first of the tree.

    It does not depend on `model.joint_friction`.
    """
    return {
        name: friction
        for joint in (*(body.joint for body in model.bodies), *model.loops)
        for name, friction in zip(
            joint.freedom_names, joint.of_each_freedom(joint.friction), strict=True
        )
        if friction
    }


def holds_joints(model: Model) -> bool:
    """Return whether Coulomb friction holds joints of a model at rest."""
    return model.joint_friction == COULOMB and bool(joint_frictions(model))


def friction_rows(
    model: Model, Xup: Sequence[Transform], parameters: Parameters, q: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Return the rows g (f, nv) of the freedoms of `joint_frictions`, in their order. Traceable.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        parameters: The placements of the loop joints.
        q: Positions (nq,).
    """
    none: list[Scalar] = [0.0] * model.nv
    rows = []
    for k, friction in enumerate(model.friction.tolist()):
        if friction:
            rows.append([*none[:k], 1.0, *none[k + 1 :]])
    for frame in loop_frames(model, Xup, parameters, q):
        frictions = frame.joint.of_each_freedom(frame.joint.friction)
        along = frame.joint.type.active_forces(frame.placement)
        for direction, friction in zip(along, frictions, strict=True):
            if friction:
                row = list(none)
                for index, value in frame.joint_forces(direction).items():
                    row[index] = value
                rows.append(row)
    return rows
