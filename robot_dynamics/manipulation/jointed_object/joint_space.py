# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The closed chain in joint space, (20) to (33) of the report.

Inertia, bias, Jacobians and the constraints of the object's joint come from the algorithms of
`dynamics`. Unseren's contribution is the combination of the equations of parts and arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.jacobian import classical_acceleration, jacobian_in_frame
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, pose_matrix
from robot_dynamics.dynamics.loops import loop_terms
from robot_dynamics.manipulation.jointed_object.system import JointedObjectSystem, ObjectPart
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import dot, times
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3

# Terms of each part.
_OF_PARTS = ("G", "G_dot_qd", "velocity", "inertia", "bias", "L_m", "L_s", "tool_pose")
_ZERO, _AXES = Vector3.zero(), Rotation.identity().columns()
_UNIT_FORCES = (*((axis, _ZERO) for axis in _AXES), *((_ZERO, axis) for axis in _AXES))


def joint_space_terms(
    system: JointedObjectSystem,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    parameters: Parameters,
    parts: Sequence[ObjectPart],
) -> dict[str, Any]:
    """Return the terms of the closed chain at one state; n joints, c constraints, world axes.

    Constraint forces are in the directions of the object's joint: world axes if it blocks all
    three translations, or all three rotations; else the axes of its frame on the second part.

    Args:
        system: Arms and object.
        q: Joint positions (n,).
        qd: Joint velocities (n,).
        parameters: Gravity, the arms' inertias and the placements of the object's joint.
        parts: The parts of the system, with scalars for the parameters of compiled programs.

    Returns:
        D: Inertia of arms and parts (n, n) (25).
        C: Coriolis, centrifugal and gravity torques of the arms (n,) (24).
        H_A: Gyroscopic and gravity torques of the parts, G^T bias (n,) (26).
        H_B_qd: H_B qd (n,) (27).
        A: Constraint Jacobian (c, n): A qd = 0 (28), (29).
        A_dot_qd: Its rate times qd (c,) (30).
        gap: Closure error of the object's joint (c,) [rad, m].
        G: Jacobians (2, 6, n) of the parts' centres of mass.
        G_dot_qd: Their rates times qd (2, 6).
        velocity: G qd (2, 6).
        inertia: Lambda (2, 6, 6): the parts' inertias about their centres of mass (21).
        bias: [Omega D_c omega; -m g] of each part (2, 6).
        L_m: Moves a wrench at the tool to the part's centre of mass (2, 6, 6) (10).
        L_s: Moves the force of the object's joint to the part's centre of mass (2, 6, c) (12).
        tool_pose: Poses of the tools in the world (2, 4, 4).
        point: Position of the joint's frame on the second part in the world (3,) [m].
        directions: Directions of the joint's forces about `point` (6, c): moments and forces.
        centers: Positions of the parts' centres of mass in the world (2, 3) [m].
    """
    model = system.arms
    Xup = joint_transforms(model, q)
    X0 = body_transforms(model, Xup)
    v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    joint = _ObjectJoint.of(system, X0, parameters)
    n = model.nv

    D = [list(row) for row in composite_inertia_matrix(model, Xup, parameters, q)]
    H_A: list[Scalar] = [0.0] * n
    H_B_qd: list[Scalar] = [0.0] * n
    of_parts: dict[str, list[Any]] = {name: [] for name in _OF_PARTS}
    centers = []
    for part in parts:
        at = part.body
        own = part.placement.inverse_times(part.inertia)  # in the body's frame
        center = own.h * (1.0 / own.mass)
        to_world = X0[at].E.transpose()
        X = Transform(to_world, center)  # to the centre of mass, in world axes
        G = jacobian_in_frame(model, at, Xup, X, q)
        columns = {i: [row[i] for row in G] for i in part.v_index.tolist()}
        velocity = X * v[at]
        G_dot_qd = classical_acceleration(X * avp[at], velocity, parameters.gravity)
        I_C = (X * own).I
        Lambda = _block_diagonal(I_C.rows(), own.mass)
        gyroscopic = velocity.angular.cross(I_C * velocity.angular)
        bias = [*gyroscopic, *(-parameters.gravity * own.mass)]  # (26)
        push = times(Lambda, G_dot_qd)
        momenta = {i: times(Lambda, column) for i, column in columns.items()}
        for i, column in columns.items():
            H_A[i] = H_A[i] + dot(column, bias)
            H_B_qd[i] = H_B_qd[i] + dot(column, push)  # (27)
            for j in (j for j in columns if j <= i):
                D[i][j] = D[i][j] + dot(column, momenta[j])  # (25)
        origin = X0[at].r + to_world * center
        centers.append([*origin])
        tool = part.tool_placement.compose(X0[at])
        of_parts["G"].append(G)
        of_parts["G_dot_qd"].append(G_dot_qd)
        of_parts["velocity"].append(velocity.components())
        of_parts["inertia"].append(Lambda)
        of_parts["bias"].append(bias)
        of_parts["L_m"].append(_columns([(tool.r, m, f) for m, f in _UNIT_FORCES], origin))
        of_parts["L_s"].append(_columns(joint.directions, origin))
        of_parts["tool_pose"].append(pose_matrix(tool))
    loops = loop_terms(model, Xup, v, avp, parameters, q)
    return {
        "D": [[D[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)],
        "C": joint_forces(model, Xup, net_forces(v, avp, parameters), q),
        "H_A": H_A,
        "H_B_qd": H_B_qd,
        # K qdd = k is the constraint of the second part relative to the first.
        "A": [[-value for value in row] for row in joint.turned_rows(loops.K)],
        "A_dot_qd": joint.turned(loops.k),
        "gap": joint.turned(loops.position_error),
        **of_parts,
        "point": [*joint.point],
        "directions": _columns(joint.directions, joint.point),
        "centers": centers,
    }


def world_triples(names: Sequence[str]) -> tuple[tuple[int, int, int], ...]:
    """Return triples of rows along all three axes, whose forces are in world axes.

    Args:
        names: Directions of the rows: "rx", "ry", "rz" for moments, "x", "y", "z" for forces.
    """
    return tuple(
        (names.index(x), names.index(y), names.index(z))
        for x, y, z in (("rx", "ry", "rz"), ("x", "y", "z"))
        if {x, y, z} <= set(names)
    )


@dataclass(frozen=True)
class _ObjectJoint:
    """Position and force directions of the object's joint in the world.

    Attributes:
        point: Origin of its frame on the second part.
        to_world: Rotation from the axes of this frame to world axes.
        triples: Triples of rows with forces, or moments, along all three axes of this frame.
        directions: For each row the point of action, the moment and the force, in world axes.
    """

    point: Vector3
    to_world: Rotation
    triples: tuple[tuple[int, int, int], ...]
    directions: list[tuple[Vector3, Vector3, Vector3]]

    @classmethod
    def of(
        cls, system: JointedObjectSystem, X0: Sequence[Transform], parameters: Parameters
    ) -> _ObjectJoint:
        joint, (X_P, X_S) = system.joint, parameters.loops[0]
        on_second = X_S.compose(X0[joint.successor])
        on_first = X_P.compose(X0[joint.predecessor])
        T = joint.type.constraints(on_second.compose(on_first.inverse()))
        names = [row.direction for row in joint.type.rows]
        triples = world_triples(names)
        to_world = on_second.E.transpose()
        point = on_second.r
        directions = [(point, to_world * t.angular, to_world * t.linear) for t in T]
        for triple in triples:
            for row, unit in zip(triple, Rotation.identity().columns(), strict=True):
                turns = names[row].startswith("r")
                moment, force = (unit, Vector3.zero()) if turns else (Vector3.zero(), unit)
                directions[row] = (point, moment, force)
        return cls(point, to_world, triples, directions)

    def turned(self, rows: Sequence[Scalar]) -> list[Scalar]:
        """Return one value per row, with triples turned to world axes."""
        values = list(rows)
        for triple in self.triples:
            turned = self.to_world * Vector3.of([rows[i] for i in triple])
            for row, value in zip(triple, turned, strict=True):
                values[row] = value
        return values

    def turned_rows(self, matrix: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """Return the rows of a matrix (c, n), with triples turned to world axes."""
        columns = [self.turned(column) for column in zip(*matrix, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


def _columns(
    forces: Sequence[tuple[Vector3, Vector3, Vector3]], origin: Vector3
) -> list[list[Scalar]]:
    """Return the matrix whose columns are forces about an origin, all in world axes."""
    columns = []
    for point, moment, force in forces:
        about = moment + (point - origin).cross(force)
        columns.append([*about, *force])
    return [list(row) for row in zip(*columns, strict=True)]


def _block_diagonal(I_C: Sequence[Sequence[Scalar]], mass: Scalar) -> list[list[Scalar]]:
    zeros = [0.0, 0.0, 0.0]
    unit = [[mass if i == j else 0.0 for j in range(3)] for i in range(3)]
    return [[*row, *zeros] for row in I_C] + [[*zeros, *row] for row in unit]
