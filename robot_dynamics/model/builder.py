# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From named elements to a numbered model: spanning tree, merged links, turned body frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.couplings import Coupling, CouplingElement, require_terms
from robot_dynamics.model.elements import (
    Array,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
)
from robot_dynamics.model.joint_types import joint_type
from robot_dynamics.model.model import WORLD, Body, Joint, Link, LoopJoint, Model
from robot_dynamics.spatial import Inertia, Rotation, Symmetric3, Transform, Vector3

# Entries of rotations this near to 0 or +-1 come from rounding of placements such as pi/2 to six
# or sixteen digits; made exact, they fold away in traced programs.
_SNAP = 1e-12


def build(
    mechanism: Mechanism,
    *,
    gravity: Iterable[float] = (0.0, 0.0, -9.81),
    variable: Iterable[str] = (),
) -> Model:
    """Return the model of a mechanism.

    Links on fixed joints become part of the body that carries them. The frame of each body is the
    frame of its link turned so that the joint's axis is z; link frames keep their own placement.

    Args:
        mechanism: The elements; its tree joints must form a tree.
        gravity: Acceleration of gravity [m/s^2].
        variable: Bodies and loop joints whose values are parameters of compiled code.

    Raises:
        RobotDynamicsError: If the tree joints do not form a tree, a name is unknown, or an axis
            is zero.
    """
    elements = {link.name: link for link in mechanism.links}
    children: dict[str, list[JointElement]] = {name: [] for name in elements}
    for joint in mechanism.joints:
        for end in (joint.parent, joint.child):
            if end not in elements:
                raise UnknownNameError("link", end, elements, f"joint {joint.name!r}")
        children[joint.parent].append(joint)

    bodies: list[Body] = []
    links: dict[str, Link] = {}
    merged: dict[int, Inertia] = {WORLD: Inertia.zero()}

    def place(element: LinkElement, body: int, frame: Array) -> None:
        """Record a link at pose `frame` in its body, with its inertia, and follow its joints."""
        if element.name in links:
            raise RobotDynamicsError(
                f"{mechanism.name}: link {element.name!r} has two parents, expected a tree."
            )
        placement = transform_of(frame)
        own = inertia_of(element)
        links[element.name] = Link(element.name, body, placement, own)
        merged[body] = merged[body] + placement.inverse_times(own)
        # A stack: depth first, and branches in the order of the description.
        for joint in reversed(children[element.name]):
            pending.append((joint, body, frame))

    pending: list[tuple[JointElement, int, Array]] = []
    place(elements[mechanism.root], WORLD, np.eye(4))
    while pending:
        joint, body, frame = pending.pop()
        at = frame @ joint.placement  # the joint's frame in the carrying body
        kind = joint_type(joint.type, f"joint {joint.name!r}")
        if kind.nv == 0:
            place(elements[joint.child], body, at)
            continue
        turned = np.eye(4)
        if kind.nv == 1:
            if not np.linalg.norm(joint.axis) > 0.0:
                raise RobotDynamicsError(f"joint {joint.name!r}: the axis is zero or no number.")
            turned[:3, :3] = _frame_with_z_along(joint.axis)
        bodies.append(
            Body(
                joint.child,
                body,
                Joint(
                    joint.name, kind, joint.limits, joint.damping, joint.friction, joint.armature
                ),
                transform_of(at @ turned),
                Inertia.zero(),
            )
        )
        index = len(bodies) - 1
        merged[index] = Inertia.zero()
        place(elements[joint.child], index, turned.T)
    if len(links) != len(elements):
        lost = next(name for name in elements if name not in links)
        raise RobotDynamicsError(
            f"{mechanism.name}: link {lost!r} is not connected to {mechanism.root!r}."
        )
    variable = frozenset(variable)
    known = [body.name for body in bodies] + [loop.name for loop in mechanism.loops]
    for name in variable:
        if name not in known:
            raise UnknownNameError("body or loop joint", name, known, mechanism.name)
    complete = tuple(replace(body, inertia=merged[i]) for i, body in enumerate(bodies))
    return Model(
        mechanism.name,
        complete,
        tuple(links[link.name] for link in mechanism.links),
        tuple(_loop_joint(loop, links) for loop in mechanism.loops),
        tuple(float(g) for g in gravity),  # type: ignore[arg-type]
        variable,
        tuple(_coupling(coupling, bodies) for coupling in mechanism.couplings),
    )


def transform_of(frame: Array) -> Transform:
    """Return the transform into a frame whose pose (4, 4) is given, with exact zeros and ones."""
    E = frame[:3, :3].T.copy()
    E[np.abs(E) < _SNAP] = 0.0
    near_one = np.abs(np.abs(E) - 1.0) < _SNAP
    E[near_one] = np.sign(E[near_one])
    r = frame[:3, 3].copy()
    r[np.abs(r) < _SNAP] = 0.0
    return Transform(Rotation.of(E.tolist()), Vector3.of(r.tolist()))


def pose_of(transform: Transform) -> Array:
    """Return the pose (4, 4) of the frame that a transform of floats leads into."""
    frame = np.eye(4)
    frame[:3, :3] = np.array(transform.E.rows, dtype=float).T
    frame[:3, 3] = list(transform.r)
    return frame


def inertia_of(element: LinkElement) -> Inertia:
    """Return a link's inertia in its own frame."""
    return Inertia.from_center_of_mass(
        float(element.mass),
        Vector3.of([float(c) for c in element.center]),
        Symmetric3.of(np.asarray(element.inertia, dtype=float).tolist()),
    )


def _loop_joint(loop: LoopElement, links: dict[str, Link]) -> LoopJoint:
    place = f"loop joint {loop.name!r}"
    ends = []
    for name, frame in (
        (loop.predecessor, loop.predecessor_pose),
        (loop.successor, loop.successor_pose),
    ):
        if name not in links:
            raise UnknownNameError("link", name, links, place)
        link = links[name]
        ends.append((link.body, transform_of(pose_of(link.placement) @ frame)))
    (p, X_P), (s, X_S) = ends
    if p == s:
        raise RobotDynamicsError(
            f"{place}: {loop.predecessor!r} and {loop.successor!r} are on the same body."
        )
    return LoopJoint(loop.name, joint_type(loop.type, place), p, s, X_P, X_S)


def _coupling(coupling: CouplingElement, bodies: Sequence[Body]) -> Coupling:
    index = {body.joint.name: i for i, body in enumerate(bodies)}
    for name, _ in coupling.terms:
        if name not in index:
            raise UnknownNameError("movable joint", name, index, f"coupling {coupling.name!r}")
    require_terms(coupling, {body.joint.name: body.joint.type.nv for body in bodies})
    terms = tuple((index[name], float(factor)) for name, factor in coupling.terms)
    rotational = any(bodies[terms[0][0]].joint.type.motion_subspace[0].angular)
    return Coupling(coupling.name, terms, float(coupling.offset), rotational)


def _frame_with_z_along(axis: tuple[float, float, float]) -> Array:
    """Return a rotation (3, 3) whose third column is `axis`, a permutation where possible."""
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    smallest = int(np.argmin(np.abs(z) - 1e-9 * np.array([0.0, 1.0, 2.0])[::-1]))
    x = np.zeros(3)
    x[smallest] = 1.0
    x -= z * (x @ z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
