# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of named elements to a numbered model: merged links, turned frames, chosen tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError, several_names
from robot_dynamics.model.connectivity import WORLD
from robot_dynamics.model.couplings import Coupling, CouplingElement, require_terms
from robot_dynamics.model.element_checks import require_possible
from robot_dynamics.model.elements import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    axis_frame,
    bounded,
    inverse_pose,
)
from robot_dynamics.model.joint_data import Joint, LoopJoint
from robot_dynamics.model.joints import JointType, joint_type, reverse
from robot_dynamics.model.model import Body, JointFriction, Link, Model, gravity_vector
from robot_dynamics.model.precision import placement_precision
from robot_dynamics.model.spanning_tree import Arc
from robot_dynamics.model.spanning_tree import spanning_tree as find_spanning_tree
from robot_dynamics.model.typical_length import typical_length
from robot_dynamics.spatial import Inertia, Rotation, Symmetric3, Transform, Vector3

# Entries of rotations this near to 0 or +-1, and displacements that are this part of a typical
# link, come from rounding of placements; made exact, they fold away in traced programs.
_SNAP = 1e-12

# Forces in a degree of freedom.
_FORCES = ("stiffness", "damping", "active")

#: Choices of the spanning tree.
DESCRIBED, MINIMUM_DEPTH = "described", "minimum depth"


@dataclass(frozen=True)
class _Arc:
    """A joint of the graph of links: its type, and its frames on two links.

    Attributes:
        element: The joint or loop joint.
        kind: Its type.
        predecessor: Name of the link it comes from.
        successor: Name of the link it goes to.
        predecessor_frame: Pose of the joint's frame in the predecessor link (4, 4).
        successor_frame: Pose of the joint's frame in the successor link (4, 4).
    """

    element: JointElement | LoopElement
    kind: JointType
    predecessor: str
    successor: str
    predecessor_frame: Array
    successor_frame: Array

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.element.name

    @property
    def welds(self) -> bool:
        """Whether the links on both sides become one body: only for fixed tree joints."""
        return self.kind.nv == 0 and isinstance(self.element, JointElement)

    @property
    def carries(self) -> bool:
        """Whether it can be in the tree: a unilateral contact cannot carry a body."""
        one_sided = isinstance(self.element, LoopElement) and self.element.unilateral
        return self.kind.carries and (self.welds or self.kind.nv > 0) and not one_sided

    def flipped(self) -> _Arc:
        """Return the same joint from its successor to its predecessor."""
        return _Arc(
            self.element,
            reverse(self.kind),
            self.successor,
            self.predecessor,
            self.successor_frame,
            self.predecessor_frame,
        )


def build(
    mechanism: Mechanism,
    *,
    gravity: Iterable[float] = (0.0, 0.0, -9.81),
    variable: Iterable[str] = (),
    joint_friction: JointFriction = False,
    spanning_tree: str | Iterable[str] | None = None,
    root: str | None = None,
) -> Model:
    """Return the model of a mechanism.

    Links on fixed joints become part of the body that carries them. The frame of each body is the
    frame of its link turned so that the joint's axis is z; link frames keep their own placement.

    With a spanning tree other than the described one, joints and loop joints alike may end up in
    the tree or close a loop, with their springs, friction, limits and drives. A tree joint whose
    predecessor is carried by its successor is reversed; its variables keep their meaning. Joints
    with the armature of a rotor, or in a coupling, are always in the tree, unilateral contacts
    never. A floating joint that would close a loop is left out if it has neither forces nor
    position limits.

    Args:
        mechanism: The elements.
        gravity: Acceleration of gravity [m/s^2].
        variable: Bodies and loop joints whose values are parameters of compiled code.
        joint_friction: Whether damping and Coulomb friction of the joints are part of the
            dynamics; otherwise they are data, which the caller can apply. With "coulomb",
            simulation and integration also hold joints at rest by constraint forces.
        spanning_tree: "described": tree joints are tree joints and must form a tree. "minimum
            depth": the number of joints from the base to each body is minimal, and among equal
            joints a joint with a drive is preferred. Names of joints: a tree with these joints,
            completed with minimum depth. By default the described tree if the tree joints form
            one, otherwise minimum depth.
        root: Name of the link that is the fixed base; by default the root of the tree joints.

    Raises:
        ArgumentError: If `joint_friction` is neither True, False nor "coulomb".
        RobotDynamicsError: If an element has a fault (a negative mass, an orientation that is not
            a rotation, a number that is not finite), the tree joints do not form a tree, a name is
            unknown or given twice, or an axis is zero.
    """
    require_possible(mechanism)
    elements = {link.name: link for link in mechanism.links}
    arcs = [_arc_of_joint(joint, elements) for joint in mechanism.joints]
    loops = [_arc_of_loop(loop, elements) for loop in mechanism.loops]
    root = mechanism.root if root is None else root
    if root not in elements:
        raise UnknownNameError("link", root, elements, mechanism.name)
    if spanning_tree is None:
        spanning_tree = DESCRIBED if _is_tree(root, elements, arcs) else MINIMUM_DEPTH
    if spanning_tree != DESCRIBED:
        named = () if spanning_tree == MINIMUM_DEPTH else spanning_tree
        required = set(several_names("spanning_tree", named))
        # A coupling relates positions, which only joints of the tree have.
        required |= {joint for coupling in mechanism.couplings for joint, _ in coupling.terms}
        # The inertia of rotors is part of the inertia matrix of the tree.
        required |= {joint.name for joint in mechanism.joints if np.any(joint.armature)}
        arcs, loops = _chosen(mechanism, root, [*arcs, *loops], frozenset(required))
    length = _length([*arcs, *loops])
    bodies, links = _tree(mechanism.name, elements, root, arcs, length)
    closing = tuple(_loop_joint(arc, links, length) for arc in loops)
    known = [body.name for body in bodies] + [loop.name for loop in closing]
    for name in (variable := frozenset(several_names("variable", variable))):
        if name not in known:
            raise UnknownNameError("body or loop joint", name, known, mechanism.name)
    return Model(
        mechanism.name,
        tuple(bodies),
        tuple(links[link.name] for link in mechanism.links),
        closing,
        gravity_vector(gravity),
        variable,
        tuple(_coupling(coupling, bodies) for coupling in mechanism.couplings),
        placement_precision(mechanism),
        joint_friction,
    )


def _length(arcs: Sequence[_Arc]) -> float:
    """Return the typical length [m] of a link, from the frames of joints."""
    frames = [f for arc in arcs for f in (arc.predecessor_frame, arc.successor_frame)]
    return typical_length(float(np.linalg.norm(frame[:3, 3])) for frame in frames)


def _is_tree(root: str, links: Collection[str], arcs: Sequence[_Arc]) -> bool:
    """Return whether all links but the root are successors of one joint, connected to it."""
    parent = {arc.successor: arc.predecessor for arc in arcs}
    if len(parent) != len(arcs) or set(parent) != set(links) - {root}:
        return False
    on_root = {root}
    for link in parent:
        path = [link]
        while path[-1] not in on_root and len(path) <= len(links):
            path.append(parent[path[-1]])
        if path[-1] not in on_root:
            return False
        on_root.update(path)
    return True


def _tree(
    name: str, elements: dict[str, LinkElement], root: str, arcs: Sequence[_Arc], length: float
) -> tuple[list[Body], dict[str, Link]]:
    """Return bodies, numbered depth first, and links of a tree of joints from parent to child."""
    children: dict[str, list[_Arc]] = {link: [] for link in elements}
    for arc in arcs:
        children[arc.predecessor].append(arc)
    bodies: list[Body] = []
    links: dict[str, Link] = {}
    merged: dict[int, Inertia] = {WORLD: Inertia.zero()}
    pending: list[tuple[_Arc, int, Array]] = []

    def place(link: str, body: int, frame: Array) -> None:
        """Record a link at pose `frame` in its body, with its inertia, and follow its joints."""
        if link in links:
            raise RobotDynamicsError(f"{name}: link {link!r} has two parents, expected a tree.")
        placement = transform_of(frame, length)
        own = inertia_of(elements[link])
        links[link] = Link(link, body, placement, own)
        merged[body] = merged[body] + placement.inverse_times(own)
        # A stack: depth first, and branches in the order of the description.
        for arc in reversed(children[link]):
            pending.append((arc, body, frame))

    place(root, WORLD, np.eye(4))
    while pending:
        arc, body, frame = pending.pop()
        at = frame @ arc.predecessor_frame  # the joint's frame in the carrying body
        on_child = inverse_pose(arc.successor_frame)  # the child link's frame in the joint's
        if arc.welds:
            place(arc.successor, body, at @ on_child)
            continue
        armature = getattr(arc.element, "armature", 0.0)
        joint = Joint(arc.name, arc.kind, armature=armature, **_of_freedoms(arc))
        bodies.append(Body(arc.successor, body, joint, transform_of(at, length), Inertia.zero()))
        index = len(bodies) - 1
        merged[index] = Inertia.zero()
        place(arc.successor, index, on_child)
    lost = [link for link in elements if link not in links]
    if lost:
        raise RobotDynamicsError(
            f"{name}: link {lost[0]!r} is not connected to {root!r}, expected a joint."
        )
    return [replace(body, inertia=merged[i]) for i, body in enumerate(bodies)], links


def _chosen(
    mechanism: Mechanism, root: str, arcs: Sequence[_Arc], required: frozenset[str]
) -> tuple[list[_Arc], list[_Arc]]:
    """Return the joints of a spanning tree, from parent to child, and the loop joints."""
    able = [arc for arc in arcs if arc.carries]
    for name in required:
        if name not in (names := [arc.name for arc in able]):
            raise UnknownNameError("joint that can carry a body", name, names, mechanism.name)

    def length(arc: _Arc) -> float:
        # A free joint has no constraints: it carries only bodies without another joint.
        return 0.0 if arc.welds else 1.0 if arc.kind.nv < 6 else float(len(arcs) + 1)

    graph = [
        Arc(
            arc.name,
            arc.predecessor,
            arc.successor,
            length(arc),
            required=arc.welds or arc.name in required,
            favoured=bool(np.any(_of_freedoms(arc)["active"])),
        )
        for arc in able
    ]
    branches = find_spanning_tree(root, graph)
    # In the order of the description, which numbers the branches.
    tree = {id(able[b.arc]): b.reversed for b in branches}
    chosen = [arc.flipped() if tree[id(arc)] else arc for arc in arcs if id(arc) in tree]
    closing = [arc for arc in arcs if id(arc) not in tree]
    return chosen, [arc for arc in closing if arc.kind.nv < 6 or _acts(arc)]


def _arc_of_joint(joint: JointElement, links: Iterable[str]) -> _Arc:
    place = f"joint {joint.name!r}"
    for end in (joint.parent, joint.child):
        if end not in links:
            raise UnknownNameError("link", end, links, place)
    kind = joint_type(joint.type, place, **joint.parameters)
    if not kind.carries:
        raise RobotDynamicsError(
            f"{place}: a {kind.name} joint can only close a loop, not carry a body."
        )
    turned = axis_frame(joint, kind)
    return _Arc(joint, kind, joint.parent, joint.child, joint.placement @ turned, turned)


def _arc_of_loop(loop: LoopElement, links: Iterable[str]) -> _Arc:
    place = f"loop joint {loop.name!r}"
    for end in (loop.predecessor, loop.successor):
        if end not in links:
            raise UnknownNameError("link", end, links, place)
    kind = joint_type(loop.type, place, **loop.parameters)
    arc = _Arc(
        loop, kind, loop.predecessor, loop.successor, loop.predecessor_pose, loop.successor_pose
    )
    if kind.nv == 0 and any(np.any(getattr(loop, name)) for name in _FORCES):
        raise RobotDynamicsError(
            f"{place}: a {kind.name} joint has no freedom for a spring, damper or drive, "
            "expected another type."
        )
    if loop.unilateral and all(row.direction != "z" for row in kind.rows):
        raise RobotDynamicsError(
            f"{place}: a {kind.name} joint cannot be unilateral, expected a "
            "type with a constraint along z."
        )
    return arc


def _of_freedoms(arc: _Arc) -> dict[str, Any]:
    """Return the properties of an element's degrees of freedom, by the names of the fields."""
    element = arc.element
    values = {name: getattr(element, name) for name in ("limits", "friction", *_FORCES)}
    values["rest"] = element.rest
    if element.active is None:
        values["active"] = arc.kind.nv < 6
    return values


def _acts(arc: _Arc) -> bool:
    """Return whether forces act in the degrees of freedom of a joint, or limits."""
    values = _of_freedoms(arc)
    return any(np.any(values[name]) for name in _FORCES) or bounded(arc.element.limits)


def transform_of(frame: Array, length: float = 0.0) -> Transform:
    """Return the transform into a frame whose pose (4, 4) is given, with exact zeros and ones.

    Args:
        frame: The pose.
        length: Of a typical link [m], beside which small displacements are zero.
    """
    E = frame[:3, :3].T.copy()
    E[np.abs(E) < _SNAP] = 0.0
    near_one = np.abs(np.abs(E) - 1.0) < _SNAP
    E[near_one] = np.sign(E[near_one])
    r = frame[:3, 3].copy()
    r[np.abs(r) < _SNAP * length] = 0.0
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


def _loop_joint(arc: _Arc, links: dict[str, Link], length: float) -> LoopJoint:
    ends = []
    for name, frame in (
        (arc.predecessor, arc.predecessor_frame),
        (arc.successor, arc.successor_frame),
    ):
        link = links[name]
        ends.append((link.body, transform_of(pose_of(link.placement) @ frame, length)))
    (p, X_P), (s, X_S) = ends
    if p == s:
        raise RobotDynamicsError(
            f"loop joint {arc.name!r}: {arc.predecessor!r} and {arc.successor!r} are on the same "
            "body, expected different bodies."
        )
    unilateral = isinstance(arc.element, LoopElement) and arc.element.unilateral
    return LoopJoint(arc.name, arc.kind, p, s, X_P, X_S, unilateral, **_of_freedoms(arc))


def _coupling(coupling: CouplingElement, bodies: Sequence[Body]) -> Coupling:
    index = {body.joint.name: i for i, body in enumerate(bodies)}
    for name, _ in coupling.terms:
        if name not in index:
            raise UnknownNameError("movable joint", name, index, f"coupling {coupling.name!r}")
    require_terms(coupling, {body.joint.name: body.joint.type.nv for body in bodies})
    terms = tuple((index[name], float(factor)) for name, factor in coupling.terms)
    kind = bodies[terms[0][0]].joint.type
    rotational = any(kind.subspace(kind.neutral())[0].angular)
    return Coupling(coupling.name, terms, float(coupling.offset), rotational)
