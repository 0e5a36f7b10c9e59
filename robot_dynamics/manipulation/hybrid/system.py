# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hybrid system of arms, object, contacts and surfaces: the terms of (1) to (22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm, place
from robot_dynamics.dynamics.arguments import finite_vector, pose_matrix
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.independent import form_in
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import classical_acceleration, jacobian_in_frame
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.dynamics.scaling import coordinate_names, coordinates_of, model_length
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.contacts import (
    Contact,
    require_force_closure,
    wrench_map,
)
from robot_dynamics.manipulation.hybrid.environment import Environment, EnvironmentTerms
from robot_dynamics.manipulation.passive_joints import PassiveJoints
from robot_dynamics.model import Link, LinkElement, Model, pose
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Rotation, Transform, Vector3
from robot_dynamics.wording import apart

# Limit of two ratios of distances. If the weakest is below it, the drives do not determine the
# motion of their linkage; if the residual is above it, they prescribe motions that the linkage
# does not have.
_UNDETERMINED = 1e-6
# Largest gap between hand and contact, relative to the mean distance of contacts from their
# middle. Compliant contacts and measured poses have smaller gaps.
_LARGEST_GAP = 0.05
_SINGULAR = 1e-9  # fraction of the largest singular value below which others count as zero


@dataclass(frozen=True)
class ArmTerms:
    """Terms of the arms at one state, over n drives; world axes, angular first.

    Attributes:
        M: Inertia (n, n).
        h: Bias (n,), gravity and springs included.
        J: Jacobian of the tools' origins (6k, n).
        J_dot_qd: Accelerations of the tools' origins at qdd = 0 (6k,).
        qd: Velocities of the drives (n,).
        points: The tools' origins (k, 3) [m].
    """

    M: Array
    h: Array
    J: Array
    J_dot_qd: Array
    qd: Array
    points: Array


@dataclass(frozen=True)
class Arms:
    """Arms on one base, compiled.

    Attributes:
        model: The arms.
        tools: The links at whose origins the Jacobian is computed.
        drives: Joints or coordinates that determine the motion of arms with loops, in the order of
            the model; empty for other arms, where all joints have drives.
    """

    model: Model
    tools: tuple[str, ...]
    drives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name, looped = self.model.name, bool(self.model.constraint_count)
        if looped and not self.drives:
            raise ArgumentError(
                f"{name}: the arms have internal closed chains and no `drives`; expected the "
                "names of the joints that determine their motion."
            )
        if self.drives and not looped:
            raise ArgumentError(
                f"{name}: the arms have no loops and {len(self.drives)} `drives`; expected none: "
                "all joints have drives."
            )

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices (n,) of the drives in the velocities, ascending."""
        if not self.drives:
            return tuple(range(self.model.nv))
        found = [i for name in self.drives for i in coordinates_of(self.model, name)]
        if found != sorted(set(found)):
            raise ArgumentError(
                f"{self.model.name}: the drives are {', '.join(self.drives)}; expected each once, "
                "in the order of the model."
            )
        return tuple(found)

    def terms(self, q: Array, qd: Array) -> ArmTerms:
        """Return the terms at positions (nq,) and velocities (nv,) of all joints.

        Raises:
            RobotDynamicsError: If the drives do not determine the motion, or are not independent.
        """
        q = finite_vector("q", q, self.model.nq)
        qd = finite_vector("qd", qd, self.model.nv)
        if not self.drives:
            H, C, J, J_dot_qd, points = self._kernel(q, qd)
            return ArmTerms(H, C, J.reshape(-1, self.model.nv), J_dot_qd.ravel(), qd, points)
        H, C, J, J_dot_qd, points, K, k = self._kernel(q, qd)
        form = form_in(self.model, K, k, self.independent, self._length)
        if form.weakest < _UNDETERMINED or form.residual_K > _UNDETERMINED:
            fault = "are dependent" if form.residual_K > _UNDETERMINED else "leave motions free"
            raise RobotDynamicsError(
                f"{self.model.name}: drives {', '.join(form.names)} {fault} at these positions; "
                "expected drives that determine the arms' motion."
            )
        G, g = form.G, form.g
        J = J.reshape(-1, self.model.nv)
        return ArmTerms(
            G.T @ H @ G,
            G.T @ (C + H @ g),
            J @ G,
            J_dot_qd.ravel() + J @ g,
            qd[list(self.independent)],
            points,
        )

    @cached_property
    def _length(self) -> float:
        return model_length(self.model)

    @cached_property
    def _kernel(self) -> Any:
        links = tuple(place(self.model.link(tool)) for tool in self.tools)
        return ARM_TERMS.bind(self.model, links, lanes=1)


def arm_terms(
    model: Model, q: Any, qd: Any, parameters: Parameters, tools: Sequence[Link]
) -> tuple[Any, ...]:
    """Return H, C, J, J_dot qd, the tools' origins, and K and k with loops."""
    Xup = joint_transforms(model, q)
    X0 = body_transforms(model, Xup)
    v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    J, J_dot_qd, points = [], [], []
    for link in tools:
        # To the link's origin, in world axes.
        at = link_transform(link, X0)
        turned = Transform(at.E.transpose(), Vector3.zero())
        points.append(list(at.r))
        X = turned.compose(link.placement)
        J.append(jacobian_in_frame(model, link.body, Xup, X, q))
        v_e, a_e = X * v[link.body], X * avp[link.body]
        J_dot_qd.append(classical_acceleration(a_e, v_e, parameters.gravity))
    terms = terms_of_transforms(model, Xup, qd, parameters, q)
    loops = (terms.loops.K, terms.loops.k) if model.constraint_count else ()
    return terms.H, terms.C, J, J_dot_qd, points, *loops


#: Option: the links of the tools.
ARM_TERMS = Algorithm(
    "arm_terms",
    arm_terms,
    "q, qd -> H (nv, nv), C (nv), J (tools, 6, nv), J_dot_qd (tools, 6), points (tools, 3), "
    "K (constraints, nv), k (constraints)",
)


@dataclass(frozen=True)
class HybridTerms:
    """Terms of arms, object, contacts and surfaces at one state; world axes, angular first.

    Attributes:
        M: Inertia of the arms (n, n), over their drives.
        h: Their bias (n,) (3).
        I_B: The object's inertia (6, 6), about its centre of mass.
        Q_B: Its bias [omega x I omega; -m g] (6,) (5).
        S: Contact directions (6k, d) (9).
        S_dot: Their rates (6k, d).
        J: Jacobian of the contact points on the arms (6k, n) (1).
        J_dot_qd: Its rate times qd (6k,) (2).
        W_S: Map from contact forces to the wrench on the object (6, d) (11).
        W_S_dot_v: The rate of its transpose times the object's twist (d,).
        qd: Joint velocities (n,).
        environment: Surfaces and coordinates.
        rotation: Orientation of the object (3, 3), in whose axes forces are distributed.
    """

    M: Array
    h: Array
    I_B: Array
    Q_B: Array
    S: Array
    S_dot: Array
    J: Array
    J_dot_qd: Array
    W_S: Array
    W_S_dot_v: Array
    qd: Array
    environment: EnvironmentTerms
    rotation: Array

    @cached_property
    def J_S(self) -> Array:
        """S^T J (d, n): from joint velocities to velocities in the blocked directions."""
        return self.S.T @ self.J

    @cached_property
    def J_S_dot_qd(self) -> Array:
        """Its rate times qd (d,)."""
        return self.S.T @ self.J_dot_qd + self.S_dot.T @ (self.J @ self.qd)

    @cached_property
    def drift(self) -> Array:
        """b3 (d,): S^T J qdd - W_S^T v_dot = b3 at contacts that hold (29)."""
        return self.W_S_dot_v - self.J_S_dot_qd


@dataclass(frozen=True)
class HybridSystem:
    """Arms that hold an object by contacts of any kind, and surfaces that the object touches.

    Attributes:
        arms: The arms on one base, without the object.
        tools: For each contact the link whose origin is the contact point on its arm.
        held: The object.
        contacts: Contact of each tool; the origins of their frames are the contact points.
        environment: Surfaces; none by default.
        drives: Joints or coordinates that determine the motion of arms with internal closed
            chains, in the model's order; empty for other arms. Terms and torques are over the
            drives.
        assembled: Positions (nq,) that close the internal closed chains in their assembly mode;
            only compiled control needs them.
    """

    arms: Model
    tools: tuple[str, ...]
    held: LinkElement
    contacts: tuple[Contact, ...]
    environment: Environment = field(default_factory=Environment)
    drives: tuple[str, ...] = ()
    assembled: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tools) != len(self.contacts):
            raise ArgumentError(
                f"{len(self.contacts)} contacts for {len(self.tools)} tools; expected one for "
                "each tool."
            )
        self._compiled_arms  # noqa: B018  refuses invalid drives

    @property
    def length(self) -> float:
        """Mean distance [m] of the contacts from their middle; 1 m if they are at one point."""
        points = np.array([contact.pose[:3, 3] for contact in self.contacts])
        mean = float(np.mean(np.linalg.norm(points - points.mean(axis=0), axis=1)))
        return mean if mean > 0.0 else 1.0

    def require_force_closure(self) -> None:
        """Check that the contacts can exert every wrench.

        Raises:
            RobotDynamicsError: If they cannot; it names the motion of the object that stays free.
        """
        require_force_closure(self.contacts, self.length)

    @cached_property
    def _compiled_arms(self) -> Arms:
        return Arms(self.arms, self.tools, self.drives)

    @cached_property
    def passive_joints(self) -> PassiveJoints:
        """Motion of the passive joints, for compiled control.

        Raises:
            RobotDynamicsError: If `assembled` is missing for arms with loops, or the drives do not
                determine the motion there.
        """
        if not self.drives:
            return PassiveJoints.of_tree(self.arms)
        if not self.assembled:
            raise ArgumentError(
                f"{self.arms.name}: the arms have internal closed chains and no `assembled`; "
                "expected positions that close them."
            )
        return PassiveJoints.of(self.arms, self._compiled_arms.independent, self.assembled)

    @cached_property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the drives' coordinates (n,), in the order of terms and torques."""
        names = coordinate_names(self.arms)
        return tuple(names[i] for i in self._compiled_arms.independent)

    @cached_property
    def drive_limits(self) -> dict[str, Array]:
        """Lower, upper, velocity and effort limits of the drives (n,)."""
        drives = list(self._compiled_arms.independent)
        return {name: values[drives] for name, values in self.arms.limits().items()}

    @cached_property
    def constant_wrench_map(self) -> Array:
        """W_S (6, d) in the object's axes, about its centre of mass."""
        return wrench_map(self.contacts, np.asarray(self.held.center, dtype=float))

    @cached_property
    def free_directions(self) -> tuple[Contact, ...]:
        """For each contact the free directions of its hand; empty if its arm has too few joints.

        Without internal closed chains, an arm needs more joints than the contact blocks
        directions. The motion of a finger with three joints at a point contact, for instance, is
        determined by the object.
        """
        found = []
        for contact, tool in zip(self.contacts, self.tools, strict=True):
            free = contact.of_free_directions()
            path = self.arms.support(self.arms.link(tool).body)
            joints = sum(s.stop - s.start for s in (self.arms.v_slices[body] for body in path))
            if not self.drives and joints <= contact.directions.shape[1]:
                free = replace(free, directions=np.zeros((6, 0)))
            found.append(free)
        return tuple(found)

    def terms(
        self, q: Array, qd: Array, pose: Array, twist: Array, *, check: bool = True
    ) -> HybridTerms:
        """Return all terms at a state.

        Args:
            q: Joint positions (nq,).
            qd: Joint velocities (nv,).
            pose: Pose of the object's link in the world (4, 4).
            twist: Twist of the object (6,): [omega; velocity of its centre of mass], world axes.
            check: Whether to refuse gaps between hands and contacts.

        Raises:
            ArgumentError: If an argument has the wrong shape or is not finite, if `pose` is no
                pose, or if a hand is apart from its contact.
        """
        pose, twist = pose_matrix("the pose of the object", pose), finite_vector("twist", twist, 6)
        arms = self._compiled_arms.terms(q, qd)
        if check:
            self._require_held(pose, arms.points)
        R, omega = pose[:3, :3], twist[:3]
        center = pose[:3, 3] + R @ np.asarray(self.held.center, dtype=float)
        I_C = R @ np.asarray(self.held.inertia, dtype=float) @ R.T
        mass, zero = self.held.mass, np.zeros((3, 3))
        turn = np.block([[R, zero], [zero, R]])
        spin = _skew(omega)
        both = np.block([[spin, zero], [zero, spin]])
        S = block_diag(*(turn @ _axes(contact) for contact in self.contacts))
        S_dot = block_diag(*(both @ turn @ _axes(contact) for contact in self.contacts))
        # W_S turns with the object: the rate of a column is omega x each of its halves.
        W_S = turn @ self.constant_wrench_map
        return HybridTerms(
            arms.M,
            arms.h,
            np.block([[I_C, zero], [zero, mass * np.eye(3)]]),
            np.concatenate([np.cross(omega, I_C @ omega), -mass * np.asarray(self.arms.gravity)]),
            S,
            S_dot,
            arms.J,
            arms.J_dot_qd,
            W_S,
            (both @ W_S).T @ twist,
            arms.qd,
            self.environment.terms(center, R, twist),
            R,
        )

    def terms_at_rest(self, q: Array, at: Array) -> HybridTerms:
        """Return all terms at rest, without a check of gaps: before a start poses are a guess.

        Args:
            q: Joint positions (nq,).
            at: The object's pose, x y z qx qy qz qw (7,).
        """
        return self.terms(q, np.zeros(self.arms.nv), _matrix(at), np.zeros(6), check=False)

    def load_inertia(self, q: Array, at: Array) -> Array:
        """Return Lambda (6, 6), the inertia of arms and object at the load.

        About the object's origin, in world axes, angular first. An arm at a singularity cannot
        move in some direction; its inertia is not counted in this direction.

        Args:
            q: Joint positions (nq,).
            at: The object's pose, x y z qx qy qz qw (7,); gaps to the hands are not checked.
        """
        terms = self.terms_at_rest(q, at)
        mobility = terms.J_S @ np.linalg.solve(terms.M, terms.J_S.T)
        inertia = np.linalg.pinv(mobility, rcond=_SINGULAR, hermitian=True)
        about_center = terms.I_B + terms.W_S @ inertia @ terms.W_S.T
        to_center = np.eye(6)  # velocity of the centre of mass from that of the origin
        to_center[3:, :3] = _skew(-_matrix(at)[:3, :3] @ np.asarray(self.held.center, dtype=float))
        return np.asarray(to_center.T @ about_center @ to_center)

    def _require_held(self, pose: Array, points: Array) -> None:
        """Refuse gaps between hands and contacts in the blocked directions."""
        for tool, contact, point in zip(self.tools, self.contacts, points, strict=True):
            frame = pose @ contact.pose
            off = frame[:3, :3].T @ (point - frame[:3, 3])
            # In free directions a gap is no error.
            distance = float(np.linalg.norm(contact.directions[3:].T @ off))
            if distance > _LARGEST_GAP * self.length:
                gap, most = apart(1e3 * distance, 1e3 * _LARGEST_GAP * self.length)
                raise ArgumentError(
                    f"{self.arms.name}: {tool!r} is {gap} mm from its contact on "
                    f"{self.held.name!r}; expected at most {most} mm."
                )


def _matrix(at: Array) -> Array:
    """Return the pose (4, 4) of x y z qx qy qz qw (7,)."""
    E = Rotation.from_quaternion(*at[3:].tolist())
    return pose(at[:3], np.array([list(row) for row in E.transpose().rows]))


def _axes(contact: Contact) -> Array:
    """Return S (6, d) in the object's axes, about the contact point."""
    R, zero = contact.pose[:3, :3], np.zeros((3, 3))
    return np.block([[R, zero], [zero, R]]) @ contact.directions


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
