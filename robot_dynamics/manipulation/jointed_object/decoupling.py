# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's decoupled law through the Jacobian of both parts, traceable.

The pseudovelocities are the object's, as in both examples of Appendix C: the first part's motion,
and the free directions of the second part at the joint. [A; B]^-1 then separates, as in (C.3) to
(C.18): the constraint gives the whole motion of the second part, and the Jacobian of the parts the
motion of the joints. The inverse of a redundant arm stays nearest to a desired motion; the joint
velocities that complete B have no effect on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.scalar.functions import maximum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    Matrix,
    add,
    dot,
    factor,
    subtract,
    times,
    transposed_times,
)
from robot_dynamics.spatial import Scalar, Vector3

Terms = Mapping[str, Any]  # the traceable fields of JointSpaceTerms
PartMotions = Sequence[Sequence[Scalar]]  # a six-vector of each part's centre of mass, world axes

# Relative regularization that keeps factors finite at a singularity; far below any pivot that
# matters.
_FINITE = 1e-14


@dataclass(frozen=True)
class PartsInverse:
    """Inverse of the parts' Jacobian, damped near singularities.

    The motion of the joints that moves the parts by V and is nearest to another one, qdd_0, is

        qdd = qdd_0 + J^T (J J^T + M)^-1 (V - J qdd_0),    J = [G_1; G_2].

    M is zero away from singularities of the arms. Near one the parts lag, so that

        (qdd - qdd_0)^T (qdd - qdd_0) + lag^T (d W)^-1 lag

    is least, with W the diagonal of J J^T and the damping d. The motion with this lag satisfies
    the constraint C V + A_dot qd = 0 of the object's joint, A = C J (28), (30):

        M = d (W - W C^T (C W C^T)^-1 C W),    so that A qdd + A_dot qd = 0 is still exact.

    Attributes:
        J: Jacobian of both parts' centres of mass (12, n).
        factors: Factors of J J^T + M.
        smallest_pivot: Smallest relative pivot of J J^T: 0 at a singularity of an arm.
    """

    J: Matrix
    factors: Factors
    smallest_pivot: Scalar

    @classmethod
    def of(cls, terms: Terms, safe_pivot: Scalar) -> PartsInverse:
        """Return the inverse at a state.

        Args:
            terms: Terms at the state.
            safe_pivot: Smallest relative pivot of J J^T that is not damped. At a singularity the
                damping d reaches this fraction of the diagonal.
        """
        J = [*terms["G"][0], *terms["G"][1]]
        gram = [[dot(row, other) for other in J[: i + 1]] for i, row in enumerate(J)]
        W = [row[-1] for row in gram]
        for row, size in zip(gram, W, strict=True):
            row[-1] = row[-1] + _FINITE * size
        pivot = factor(gram).smallest_pivot
        near = maximum(0.0, 1.0 - pivot / safe_pivot)
        damping = safe_pivot * near * near
        # A column of C for each row of J: the parts' motions in the directions of the joint.
        columns = [*([-x for x in row] for row in terms["L_s"][0]), *terms["L_s"][1]]
        scaled = [[size * x for x in row] for size, row in zip(W, columns, strict=True)]
        c = len(terms["A_dot_qd"])
        S = factor([transposed_times(columns, [row[i] for row in scaled], c) for i in range(c)])
        halves = [S.half_solve(row) for row in scaled]
        for i, row in enumerate(gram):
            row[i] = row[i] + damping * W[i]
            for j in range(i + 1):
                row[j] = row[j] - damping * dot(S.scale(halves[i]), halves[j])
        return cls(J, factor(gram), pivot)

    def motion(self, parts: PartMotions, joints: Sequence[Scalar]) -> list[Scalar]:
        """Return the motion of the joints (n,) that moves the parts, nearest to another (n,)."""
        lacking = subtract([*parts[0], *parts[1]], times(self.J, joints))
        change = transposed_times(self.J, self.factors.solve(lacking), len(joints))
        return add(joints, change)


def kept_whole(terms: Terms, parts: PartMotions, drift: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return motions of the parts (2, 6) that the object's joint allows.

    The motion of the first part does not change, nor the motion of the second part, at the joint,
    in the joint's free directions; the constraint determines its other directions.

    Args:
        terms: Terms at the state.
        parts: Desired motions G qdd, or velocities G qd, of the centres of mass.
        drift: A_dot qd (c,) for accelerations, zeros for velocities (28), (30).
    """
    first, second = parts
    way = Vector3.of(terms["point"]) - Vector3.of(terms["centers"][1])
    T = terms["directions"]
    c = len(drift)
    at_joint = _moved(second, way)
    # A qdd + A_dot qd = 0 with A = L_s1^T G_1 - L_s2^T G_2
    needed = add(transposed_times(terms["L_s"][0], first, c), drift)
    lacking = subtract(needed, transposed_times(T, at_joint, c))
    columns = [[row[i] for row in T] for i in range(c)]
    correction = factor([[dot(a, b) for b in columns] for a in columns]).solve(lacking)
    whole = add(at_joint, times(T, correction))
    return [list(first), _moved(whole, way * -1.0)]


@dataclass(frozen=True)
class DecoupledTorques:
    """Torques of the law over the joints (n,), in parts that add up to (42) and (46).

    Attributes:
        primary: tau^p: linearizes the model and carries the weight.
        push: A^T tau_1: exerts the force in the object's joint.
        moving: D Sigma tau_2: moves arms and object.
        acceleration: Resulting accelerations of the joints.
    """

    primary: list[Scalar]
    push: list[Scalar]
    moving: list[Scalar]
    acceleration: list[Scalar]


def decoupled_torques(
    terms: Terms,
    inverse: PartsInverse,
    parts: PartMotions,
    joints: Sequence[Scalar],
    force: Sequence[Scalar],
) -> DecoupledTorques:
    """Return the torques for desired accelerations of the parts (47) and a joint force (48).

    Args:
        terms: Terms of the controller's model at the state.
        inverse: Inverse at the state.
        parts: Desired classical accelerations (2, 6) of the centres of mass.
        joints: Desired accelerations of the joints (n,), followed as far as the parts allow.
        force: Desired force in the object's joint, tau_1 (c,).
    """
    n, drift = len(joints), terms["A_dot_qd"]
    # With nu_dot = 0 the parts do not accelerate: V_dot = G qdd + G_dot qd.
    still = [[-value for value in swept] for swept in terms["G_dot_qd"]]
    rest = inverse.motion(kept_whole(terms, still, drift), [0.0] * n)
    wanted = [add(part, swept) for part, swept in zip(parts, still, strict=True)]
    acceleration = inverse.motion(kept_whole(terms, wanted, drift), joints)
    bias = add(add(terms["C"], terms["H_A"]), terms["H_B_qd"])
    return DecoupledTorques(
        add(bias, times(terms["D"], rest)),
        transposed_times(terms["A"], force, n),
        times(terms["D"], subtract(acceleration, rest)),
        acceleration,
    )


def force_in_joint(terms: Terms, wrenches: PartMotions) -> list[Scalar]:
    """Return the force in the object's joint (c,) from the wrenches by the tools on the parts.

    The equations of motion of the parts (8) and the constraint of the joint determine it without
    measured accelerations:

        a_1 = Lambda_1^-1 (L_m1 F_1 - b_1 - L_s1 f),  a_2 = Lambda_2^-1 (L_m2 F_2 - b_2 + L_s2 f),
        L_s2^T (a_2 - G_2_dot qd) - L_s1^T (a_1 - G_1_dot qd) = A_dot qd.

    Args:
        terms: Terms at the state.
        wrenches: Wrenches at the tools, in world axes, angular first (2, 6).
    """
    c = len(terms["A_dot_qd"])
    matrix: list[list[Scalar]] = [[0.0] * c for _ in range(c)]
    right: list[Scalar] = list(terms["A_dot_qd"])
    for i, sign in ((0, -1.0), (1, 1.0)):
        Lambda = factor(terms["inertia"][i])
        L = terms["L_s"][i]
        columns = [[row[j] for row in L] for j in range(c)]
        yielding = [Lambda.solve(column) for column in columns]
        pushed = times(terms["L_m"][i], wrenches[i])
        free = Lambda.solve(subtract(pushed, terms["bias"][i]))
        moved = subtract(free, terms["G_dot_qd"][i])
        for j in range(c):
            right[j] = right[j] - sign * dot(columns[j], moved)
            for k in range(c):
                matrix[j][k] = matrix[j][k] + dot(columns[j], yielding[k])
    return factor(matrix).solve(right)


def wrench_on_part(
    terms: Terms, index: int, wrench: Sequence[Scalar], force: Sequence[Scalar]
) -> list[Scalar]:
    """Return the wrench (6,) by grasp and joint on a part, about its centre of mass (8).

    Args:
        terms: Terms at the state.
        index: Index of the part.
        wrench: Wrench at the tool, in world axes, angular first (6,).
        force: Force in the object's joint (c,).
    """
    by_joint = times(terms["L_s"][index], force)
    sign = 1.0 if index else -1.0  # f is by the first part on the second
    by_grasp = times(terms["L_m"][index], wrench)
    return [g + sign * j for g, j in zip(by_grasp, by_joint, strict=True)]


def needed_wrench(terms: Terms, index: int, acceleration: Sequence[Scalar]) -> list[Scalar]:
    """Return the wrench Lambda a + b (6,) that a part needs for an acceleration a (6,) (8)."""
    return add(times(terms["inertia"][index], acceleration), terms["bias"][index])


def _moved(motion: Sequence[Scalar], way: Vector3) -> list[Scalar]:
    """Return the motion of a body, or its G qdd, at a point displaced by `way`."""
    angular = Vector3.of(motion[:3])
    return [*angular, *(Vector3.of(motion[3:]) + angular.cross(way))]
