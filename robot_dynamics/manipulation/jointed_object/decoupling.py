# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's decoupled law, traceable: by way of each arm's own Jacobian.

The pseudovelocities are the object's, as in both examples of Appendix C: the first part's motion
and what the joint leaves free of the second's. [A; B]^-1 then comes apart, as in (C.3) to (C.18):
the constraint gives the second part's whole motion, and each arm's Jacobian the joints'. Where an
arm is redundant its inverse Jacobian is the one that stays nearest to a wanted motion; which joint
velocities complete B does not matter to that. Away from singularities of the arms this is the law
of `control_law.decoupled_law`, without a decision about numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from robot_dynamics.manipulation.jointed_object.system import JointedObjectSystem
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import Factors, add, dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar, Vector3

Terms = Mapping[str, Any]  # the traceable fields of JointSpaceTerms
PartMotions = Sequence[Sequence[Scalar]]  # a six-vector of each part's centre of mass, world axes


@dataclass(frozen=True)
class ArmInverses:
    """What turns motions of the parts into those of the joints.

    Attributes:
        columns: The joints of each arm.
        J: Jacobian (6, N_i) of each part's centre of mass over its own arm.
        gram: Factors of each J J^T.
    """

    columns: tuple[tuple[int, ...], ...]
    J: tuple[list[list[Scalar]], ...]
    gram: tuple[Factors, ...]

    @classmethod
    def of(cls, system: JointedObjectSystem, terms: Terms) -> ArmInverses:
        """Return the inverses at a state."""
        columns = tuple(tuple(part.v_index.tolist()) for part in system.parts)
        J = tuple(
            [[row[j] for j in own] for row in G]
            for own, G in zip(columns, terms["G"], strict=True)
        )
        gram = tuple(factor([[dot(a, b) for b in rows] for a in rows]) for rows in J)
        return cls(columns, J, gram)

    @property
    def smallest_pivot(self) -> Scalar:
        """The smallest relative pivot of an arm's J J^T: 0 at a singularity."""
        return reduce(minimum, [one.smallest_pivot for one in self.gram])

    def motion(self, parts: PartMotions, wish: Sequence[Scalar]) -> list[Scalar]:
        """Return the joints' motion (n,) that moves the parts so, nearest to a wish (n,)."""
        result: list[Scalar] = list(wish)
        for own, J, gram, part in zip(self.columns, self.J, self.gram, parts, strict=True):
            wished = [wish[j] for j in own]
            lacking = [a - b for a, b in zip(part, times(J, wished), strict=True)]
            for j, change in zip(
                own, transposed_times(J, gram.solve(lacking), len(own)), strict=True
            ):
                result[j] = wish[j] + change
        return result


def kept_whole(terms: Terms, parts: PartMotions, drift: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return motions of the parts (2, 6) that the object's joint allows.

    The first part's stays. Of the second's, taken where the joint is, the directions that the
    joint leaves free stay, and the others follow from the constraint.

    Args:
        terms: At the state.
        parts: Wanted motions G qdd, or velocities G qd, of the centres of mass.
        drift: A_dot qd (c,) for accelerations, zeros for velocities (28), (30).
    """
    first, second = parts
    way = Vector3.of(terms["point"]) - Vector3.of(terms["centers"][1])
    T = terms["directions"]
    c = len(drift)
    at_joint = _moved(second, way)
    # A qdd + A_dot qd = 0 with A = L_s1^T G_1 - L_s2^T G_2
    needed = [
        a + b for a, b in zip(transposed_times(terms["L_s"][0], first, c), drift, strict=True)
    ]
    lacking = [a - b for a, b in zip(needed, transposed_times(T, at_joint, c), strict=True)]
    columns = [[row[i] for row in T] for i in range(c)]
    correction = factor([[dot(a, b) for b in columns] for a in columns]).solve(lacking)
    whole = [a + b for a, b in zip(at_joint, times(T, correction), strict=True)]
    return [list(first), _moved(whole, way * -1.0)]


@dataclass(frozen=True)
class DecoupledTorques:
    """The torques of the law over the joints (n,), in parts; they add up to (42) and (46).

    Attributes:
        primary: tau^p: what makes the model linear, and holds everything up.
        push: A^T tau_1: what makes the force in the object's joint.
        moving: D Sigma tau_2: what moves arms and object.
        acceleration: What the joints' accelerations become.
    """

    primary: list[Scalar]
    push: list[Scalar]
    moving: list[Scalar]
    acceleration: list[Scalar]


def decoupled_torques(
    terms: Terms,
    inverses: ArmInverses,
    parts: PartMotions,
    joints: Sequence[Scalar],
    force: Sequence[Scalar],
) -> DecoupledTorques:
    """Return the torques for which parts accelerate as wanted (47) and the force is `force` (48).

    Args:
        terms: The controller's model at the state.
        inverses: Of the same state.
        parts: Wanted accelerations (2, 6) of the centres of mass, classical.
        joints: What the joints would rather do (n,), as far as the parts let them.
        force: What the force in the object's joint is to be, tau_1 (c,).
    """
    n, drift = len(joints), terms["A_dot_qd"]
    # With nu_dot = 0 the parts do not accelerate: V_dot = G qdd + G_dot qd.
    still = [[-value for value in swept] for swept in terms["G_dot_qd"]]
    rest = inverses.motion(kept_whole(terms, still, drift), [0.0] * n)
    wanted = [add(part, swept) for part, swept in zip(parts, still, strict=True)]
    acceleration = inverses.motion(kept_whole(terms, wanted, drift), joints)
    bias = add(add(terms["C"], terms["H_A"]), terms["H_B_qd"])
    return DecoupledTorques(
        add(bias, times(terms["D"], rest)),
        transposed_times(terms["A"], force, n),
        times(terms["D"], [a - b for a, b in zip(acceleration, rest, strict=True)]),
        acceleration,
    )


def force_in_joint(terms: Terms, wrenches: PartMotions) -> list[Scalar]:
    """Return the force in the object's joint (c,), from the wrenches by the tools on the parts.

    The parts' own equations of motion (8) and the constraint of the joint determine it without
    any acceleration that would have to be measured:

        a_1 = Lambda_1^-1 (L_m1 F_1 - b_1 - L_s1 f),  a_2 = Lambda_2^-1 (L_m2 F_2 - b_2 + L_s2 f),
        L_s2^T (a_2 - G_2_dot qd) - L_s1^T (a_1 - G_1_dot qd) = A_dot qd.

    Args:
        terms: At the state.
        wrenches: At the tools, in world axes, angular first (2, 6).
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
        free = Lambda.solve([a - b for a, b in zip(pushed, terms["bias"][i], strict=True)])
        moved = [a - b for a, b in zip(free, terms["G_dot_qd"][i], strict=True)]
        for j in range(c):
            right[j] = right[j] - sign * dot(columns[j], moved)
            for k in range(c):
                matrix[j][k] = matrix[j][k] + dot(columns[j], yielding[k])
    return factor(matrix).solve(right)


def wrench_on_part(
    terms: Terms, index: int, wrench: Sequence[Scalar], force: Sequence[Scalar]
) -> list[Scalar]:
    """Return what a part's grasp and the joint exert on it (6,), about its centre of mass (8).

    Args:
        terms: At the state.
        index: Which part.
        wrench: At the tool, in world axes, angular first (6,).
        force: In the object's joint (c,).
    """
    by_joint = times(terms["L_s"][index], force)
    sign = 1.0 if index else -1.0  # f is by the first on the second part
    by_grasp = times(terms["L_m"][index], wrench)
    return [g + sign * j for g, j in zip(by_grasp, by_joint, strict=True)]


def needed_wrench(terms: Terms, index: int, acceleration: Sequence[Scalar]) -> list[Scalar]:
    """Return what an acceleration (6,) of a part takes, Lambda a + b (6,) (8)."""
    return add(times(terms["inertia"][index], acceleration), terms["bias"][index])


def _moved(motion: Sequence[Scalar], way: Vector3) -> list[Scalar]:
    """Return the same motion of a body, or G qdd of it, at a point that is `way` farther on."""
    angular = Vector3.of(motion[:3])
    return [*angular, *(Vector3.of(motion[3:]) + angular.cross(way))]
