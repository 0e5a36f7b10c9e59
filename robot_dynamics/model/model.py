# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism as data: Featherstone's system model (Table 4.3), immutable."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError, UnknownNameError, require_length
from robot_dynamics.model.connectivity import LoopCluster, Tree, joined
from robot_dynamics.model.couplings import Coupling
from robot_dynamics.model.joint_data import Joint, LoopJoint
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.spatial import Inertia, Scalar, Transform

#: Whether damping and friction of the joints act, and by which law; see `Model`.
JointFriction = bool | Literal["coulomb"]
#: The law of Coulomb friction whose constraint forces hold joints at rest.
COULOMB = "coulomb"

_Value = TypeVar("_Value")

#: Properties of joints and their connection, which `Model.replace` keeps.
_OF_STRUCTURE = (
    "nq", "nv", "constraint_count", "holonomic", "turning_constraints", "turning_freedoms",
    "unilateral", "tree", "clusters", "constraint_blocks", "q_slices", "v_slices", "joint_names",
)  # fmt: skip


@dataclass(frozen=True)
class Body:
    """A moving body and the joint that carries it.

    Attributes:
        name: Name of the link that is the joint's child.
        parent: Index of the parent body; `WORLD` for the fixed base.
        joint: The joint from the parent to this body.
        placement: X_T, from the parent's body frame to the joint's frame on the parent.
        inertia: Of this body and all links fixed to it, in the body frame.
    """

    name: str
    parent: int
    joint: Joint
    placement: Transform
    inertia: Inertia


@dataclass(frozen=True)
class Link:
    """A named frame of a description: its body and its placement.

    Attributes:
        name: Its name.
        body: Index of the body; `WORLD` for the fixed base.
        placement: The transform from the body frame to the link frame.
        inertia: The link's own inertia, in the link frame; already part of the body's.
    """

    name: str
    body: int
    placement: Transform
    inertia: Inertia


@dataclass(frozen=True)
class ConstraintBlock:
    """A minimal cluster of loops and couplings: a diagonal block of K and G.

    Constraints that share no joint with others can be solved separately (8.9), without
    renumbering: a block is a set of rows and a set of columns.

    Attributes:
        rows: Indices of its constraints, ascending.
        columns: Indices of the velocities that they involve, ascending.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A kinematic tree of bodies with loop joints.

    Bodies are in regular numbering: a parent comes before its children, depth first, branches in
    the order of the description. `q` has `nq` entries and `qd`, `qdd`, `tau` have `nv`, in the
    order of the bodies and of `joint_names`; `q_slices` and `v_slices` hold the indices of each.

    Attributes:
        name: The mechanism's name.
        bodies: The moving bodies.
        links: All named frames, also of the fixed base.
        loops: The loop joints.
        gravity: Acceleration of gravity in the world (3,) [m/s^2].
        variable: Names of bodies and loop joints whose inertia or placements are parameters of
            compiled code: models that differ only there, and in gravity, share machine code.
        couplings: Linear relations between joints; their constraints follow the loops'
            constraints.
        joint_friction: Whether damping and friction of the joints are part of the dynamics,
            as damping of loop joints always is; otherwise they are data. With "coulomb"
            simulation and integration replace the smooth law of friction by constraint forces,
            which hold a joint at rest.
        precision: Unit of the last decimal of placements that were rounded [m, rad]; 0.0 if they
            are exact.
    """

    name: str
    bodies: tuple[Body, ...]
    links: tuple[Link, ...]
    loops: tuple[LoopJoint, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    variable: frozenset[str] = frozenset()
    couplings: tuple[Coupling, ...] = ()
    precision: float = 0.0
    joint_friction: JointFriction = False

    def __post_init__(self) -> None:
        given = self.joint_friction
        if not isinstance(given, bool) and not (isinstance(given, str) and given == COULOMB):
            raise ArgumentError(
                f"joint_friction is {given!r}, expected True, False or {COULOMB!r}."
            )

    @cached_property
    def nq(self) -> int:
        """Number of position variables."""
        return sum(body.joint.type.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        """Number of velocity variables."""
        return sum(body.joint.type.nv for body in self.bodies)

    @cached_property
    def constraint_count(self) -> int:
        """Number of constraints of loop joints and couplings, n^c (8.1)."""
        return sum(len(loop.type.rows) for loop in self.loops) + len(self.couplings)

    @cached_property
    def holonomic(self) -> NDArray[np.bool_]:
        """Mask of constraints on positions (n^c,); the others constrain only velocities."""
        of_loops = [row.holonomic for loop in self.loops for row in loop.type.rows]
        return np.array(of_loops + [True] * len(self.couplings), dtype=bool)

    @cached_property
    def turning_constraints(self) -> NDArray[np.bool_]:
        """Mask of constraints on rotations (n^c,); the others constrain displacements."""
        of_loops = [row.rotational for loop in self.loops for row in loop.type.rows]
        return np.array(of_loops + [c.rotational for c in self.couplings], dtype=bool)

    @cached_property
    def placement_distances(self) -> tuple[float, ...]:
        """Distances [m] between the frames of each placement: of bodies, then of loop joints."""
        ends = [(lo.predecessor_placement, lo.successor_placement) for lo in self.loops]
        every = [body.placement for body in self.bodies] + [X for pair in ends for X in pair]
        return tuple(float(np.linalg.norm([float(value) for value in X.r])) for X in every)

    @cached_property
    def turning_freedoms(self) -> NDArray[np.bool_]:
        """Mask of velocities that turn a body (nv,); the others only displace it."""
        types = [body.joint.type for body in self.bodies]
        return np.array([turns for kind in types for turns in kind.turning], dtype=bool)

    @cached_property
    def unilateral(self) -> NDArray[np.bool_]:
        """Mask of constraints that can only push (n^c,): normals of unilateral loop joints."""
        rows = [(loop, row) for loop in self.loops for row in loop.type.rows]
        of_loops = [loop.unilateral and row.direction == "z" for loop, row in rows]
        return np.array(of_loops + [False] * len(self.couplings), dtype=bool)

    @cached_property
    def tree(self) -> Tree:
        """The connectivity of the bodies: lambda, kappa, mu, nu."""
        return Tree(tuple(body.parent for body in self.bodies))

    @cached_property
    def clusters(self) -> tuple[LoopCluster, ...]:
        """The minimal clusters of loops that share joints."""
        return self.tree.clusters([(loop.predecessor, loop.successor) for loop in self.loops])

    @cached_property
    def constraint_blocks(self) -> tuple[ConstraintBlock, ...]:
        """The blocks of K, by their first rows; everything outside of them is zero (8.9).

        They are the minimal clusters of loops, except that a coupling joins the clusters of its
        joints.
        """
        groups: list[tuple[Sequence[int], Sequence[int]]] = []
        start = 0
        for loop in self.loops:
            rows = range(start, start + len(loop.type.rows))
            start = rows.stop
            if rows:  # a joint without constraints connects no bodies
                groups.append((rows, self.tree.loop_bodies(loop.predecessor, loop.successor)))
        for row, coupling in enumerate(self.couplings, start):
            groups.append(((row,), [body for body, _ in coupling.terms]))
        at = self.v_slices
        return tuple(
            ConstraintBlock(
                rows, tuple(i for body in bodies for i in range(at[body].start, at[body].stop))
            )
            for rows, bodies in joined(groups)
        )

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Slices of `q`, one for each body's joint."""
        return _slices([body.joint.type.nq for body in self.bodies])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Slices of `qd`, `qdd` and `tau`, one for each body's joint."""
        return _slices([body.joint.type.nv for body in self.bodies])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the tree joints, in the order of the bodies."""
        return tuple(body.joint.name for body in self.bodies)

    def joint_index(self, name: str) -> int:
        """Return the index of the body that a joint carries.

        Raises:
            UnknownNameError: If no joint has this name.
        """
        if name not in self.joint_names:
            raise UnknownNameError("joint", name, self.joint_names, self.name)
        return self.joint_names.index(name)

    def link(self, name: str) -> Link:
        """Return a link by its name.

        Raises:
            UnknownNameError: If no link has this name.
        """
        for link in self.links:
            if link.name == name:
                return link
        raise UnknownNameError("link", name, (link.name for link in self.links), self.name)

    def loop(self, name: str) -> LoopJoint:
        """Return a loop joint by its name.

        Raises:
            UnknownNameError: If no loop joint has this name.
        """
        for loop in self.loops:
            if loop.name == name:
                return loop
        raise UnknownNameError("loop joint", name, (loop.name for loop in self.loops), self.name)

    def support(self, body: int) -> tuple[int, ...]:
        """Return kappa(body): the bodies on the path from the base to `body`, in that order."""
        return self.tree.support(body)

    def neutral(self) -> NDArray[np.float64]:
        """Return the positions (nq,) at which every joint is at its zero."""
        return np.array([value for b in self.bodies for value in b.joint.type.neutral()])

    def limits(self) -> dict[str, NDArray[np.float64]]:
        """Return `lower`, `upper`, `velocity` and `effort`, each (nv,); infinite where unknown."""
        rows = self._of_each_freedom("limits")
        names = ("lower", "upper", "velocity", "effort")
        return {name: np.array([getattr(row, name) for row in rows]) for name in names}

    @cached_property
    def damping(self) -> NDArray[np.float64]:
        """Viscous friction (nv,) [N m s/rad or N s/m]."""
        return np.array(self._of_each_freedom("damping"), dtype=float)

    @cached_property
    def friction(self) -> NDArray[np.float64]:
        """Coulomb friction (nv,) [N m or N]."""
        return np.array(self._of_each_freedom("friction"), dtype=float)

    @cached_property
    def armature(self) -> NDArray[np.float64]:
        """Reflected inertia of drives (nv,) [kg m^2 or kg]."""
        return np.array(self._of_each_freedom("armature"), dtype=float)

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Mask of degrees of freedom with a drive (nv,)."""
        return np.array(self._of_each_freedom("active"), dtype=bool)

    @cached_property
    def loop_drives(self) -> tuple[tuple[int, int], ...]:
        """Freedoms of loop joints with a drive: index of the loop joint, and of the freedom.

        `active` has the drives of the tree's joints.
        """
        return tuple(
            (number, freedom)
            for number, loop in enumerate(self.loops)
            for freedom, driven in enumerate(loop.of_each_freedom(loop.active))
            if driven
        )

    @cached_property
    def loop_drive_names(self) -> tuple[str, ...]:
        """Names of the drives in loop joints; `coordinate_names` has the names in the tree."""
        return tuple(self.loops[loop].freedom_names[freedom] for loop, freedom in self.loop_drives)

    @cached_property
    def loop_drive_effort(self) -> NDArray[np.float64]:
        """The largest effort of each drive in a loop joint [N m or N]; infinite where unknown."""
        limits = [
            self.loops[loop].of_each_freedom(self.loops[loop].limits)[freedom]
            for loop, freedom in self.loop_drives
        ]
        return np.array([limit.effort for limit in limits], dtype=float)

    def _of_each_freedom(self, name: str) -> list[object]:
        joints = [body.joint for body in self.bodies]
        return [value for j in joints for value in j.of_each_freedom(getattr(j, name))]

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions reached from `q` (nq,) by velocity times time `step` (nv,)."""
        result: list[Scalar] = []
        for body, at_q, at_v in zip(self.bodies, self.q_slices, self.v_slices, strict=True):
            result += body.joint.type.integrate(q[at_q], step[at_v])
        return result

    def coast(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        time: Scalar,
        held: Collection[int] = (),
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return positions and velocities after a time [s] of steady motion of each joint.

        The centre of mass of a free body moves on a straight line while the body turns. Velocities
        of bodies `held`, by their indices, are constant.
        """
        positions: list[Scalar] = []
        velocities: list[Scalar] = []
        for i, (body, at_q, at_v) in enumerate(
            zip(self.bodies, self.q_slices, self.v_slices, strict=True)
        ):
            kind, own = body.joint.type, (q[at_q], qd[at_v], time, _center(body))
            there = JointType.coast(kind, *own) if i in held else kind.coast(*own)
            positions, velocities = positions + there[0], velocities + there[1]
        return positions, velocities

    def coasting_rate(self, qd: Sequence[Scalar], held: Collection[int] = ()) -> list[Scalar]:
        """Return the time derivatives of the velocities (nv,) in the motion of `coast`."""
        result: list[Scalar] = []
        for i, (body, at_v) in enumerate(zip(self.bodies, self.v_slices, strict=True)):
            kind, own = body.joint.type, qd[at_v]
            result += [0.0] * len(own) if i in held else kind.coasting_rate(own, _center(body))
        return result

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the step (nv,) that takes positions `q0` (nq,) to `q1`."""
        result: list[Scalar] = []
        for body, at in zip(self.bodies, self.q_slices, strict=True):
            result += body.joint.type.difference(q0[at], q1[at])
        return result

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the time derivatives (nq,) of the positions (3.8)."""
        result: list[Scalar] = []
        for body, at_q, at_v in zip(self.bodies, self.q_slices, self.v_slices, strict=True):
            result += body.joint.type.position_rate(q[at_q], qd[at_v])
        return result

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions with all quaternions brought back to unit length."""
        result: list[Scalar] = []
        for body, at_q in zip(self.bodies, self.q_slices, strict=True):
            result += body.joint.type.normalized(q[at_q])
        return result

    def replace(
        self,
        *,
        gravity: Iterable[float] | None = None,
        joint_friction: JointFriction | None = None,
        inertia: Mapping[str, Inertia] | None = None,
        predecessor_placement: Mapping[str, Transform] | None = None,
        successor_placement: Mapping[str, Transform] | None = None,
    ) -> Model:
        """Return a model with other parameters.

        Args:
            gravity: Acceleration of gravity [m/s^2].
            joint_friction: Whether damping and friction of the joints are part of the dynamics;
                "coulomb": with constraint forces in simulation and integration.
            inertia: New inertias by body name, in the body frame.
            predecessor_placement: New X_P by loop joint name.
            successor_placement: New X_S by loop joint name.

        Raises:
            UnknownNameError: If a name is neither a body nor a loop joint.
            ArgumentError: If a value has the wrong type, shape or size.
        """
        inertia = _by_name("inertia", inertia, Inertia)
        before = _by_name("predecessor_placement", predecessor_placement, Transform)
        after = _by_name("successor_placement", successor_placement, Transform)
        body_names, loop_names = [b.name for b in self.bodies], [lo.name for lo in self.loops]
        for name in inertia:
            if name not in body_names:
                raise UnknownNameError("body", name, body_names, self.name)
        for name in (*before, *after):
            if name not in loop_names:
                raise UnknownNameError("loop joint", name, loop_names, self.name)
        changed = replace(
            self,
            gravity=self.gravity if gravity is None else gravity_vector(gravity),
            joint_friction=self.joint_friction if joint_friction is None else joint_friction,
            bodies=tuple(
                replace(b, inertia=inertia[b.name]) if b.name in inertia else b
                for b in self.bodies
            ),
            loops=tuple(
                replace(
                    loop,
                    predecessor_placement=before.get(loop.name, loop.predecessor_placement),
                    successor_placement=after.get(loop.name, loop.successor_placement),
                )
                if loop.name in before or loop.name in after
                else loop
                for loop in self.loops
            ),
        )
        kept = set(_OF_STRUCTURE)
        if not before and not after:
            kept.add("placement_distances")
        same_friction = changed.joint_friction == self.joint_friction
        if same_friction and {*inertia, *before, *after} <= self.variable:
            vars(changed)["structure_key"] = self.structure_key  # computed once for all variants
        # Properties that depend on the structure alone are kept.
        vars(changed).update((name, vars(self)[name]) for name in kept & vars(self).keys())
        return changed

    @cached_property
    def structure_key(self) -> bytes:
        """Bytes that are equal for two models exactly if they can share compiled code.

        It does not depend on names, limits, gravity, or the parts named in `variable`.
        """

        def numbers(transform: Transform) -> list[str]:
            flat = [entry for row in transform.E.rows for entry in row]
            return [float(value).hex() for value in (*flat, *transform.r)]

        def of_freedoms(joint: Joint | LoopJoint, *names: str) -> list[str]:
            each = (joint.of_each_freedom(getattr(joint, name)) for name in names)
            return [float(value).hex() for values in each for value in values]

        bodies = [
            [
                body.parent,
                body.joint.type.key,
                numbers(body.placement),
                "variable"
                if body.name in self.variable
                else [float(value).hex() for value in body.inertia.components()],
                of_freedoms(body.joint, "damping", "friction", "armature", "stiffness", "rest"),
            ]
            for body in self.bodies
        ]
        loops = [
            [
                loop.type.key,
                loop.predecessor,
                loop.successor,
                "variable"
                if loop.name in self.variable
                else [numbers(loop.predecessor_placement), numbers(loop.successor_placement)],
                of_freedoms(loop, "damping", "stiffness", "rest", "active"),
                of_freedoms(loop, "friction") if self.joint_friction else [],
            ]
            for loop in self.loops
        ]
        couplings = [
            [[[body, float(factor).hex()] for body, factor in c.terms], float(c.offset).hex()]
            for c in self.couplings
        ]
        return json.dumps([bodies, loops, couplings, self.joint_friction]).encode()


def gravity_vector(values: Iterable[float]) -> tuple[float, float, float]:
    """Return the acceleration of gravity [m/s^2] as three numbers.

    Raises:
        ArgumentError: If it is not three finite numbers.
    """
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"gravity is {values!r:.60}, expected three numbers, x, y, z in m/s^2."
        ) from None
    require_length("gravity", numbers, 3, "x, y, z in m/s^2")
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"gravity {numbers} has entries that are not finite.")
    return numbers[0], numbers[1], numbers[2]


def _by_name(argument: str, values: Mapping[str, _Value] | None, kind: type) -> dict[str, _Value]:
    """Return new values by name, each with the type of the value that it replaces."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{argument} is {values!r:.60}, expected a mapping from names.")
    for name, value in values.items():
        if not isinstance(value, kind):
            raise ArgumentError(
                f"{argument} of {name!r} is {value!r:.60}, expected {kind.__name__}."
            )
    return dict(values)


def _center(body: Body) -> list[float]:
    """Return the centre of mass of a body in its frame (3,) [m]; its origin if it has no mass."""
    inertia = body.inertia
    return [float(x / inertia.mass) if inertia.mass else 0.0 for x in inertia.h]


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    result, start = [], 0
    for size in sizes:
        result.append(slice(start, start + size))
        start += size
    return tuple(result)
