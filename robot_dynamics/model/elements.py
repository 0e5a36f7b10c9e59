# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elements of a description: links, joints and loops by name, as in a file.

Readers return a `Mechanism`, with names and link frames; it can be placed, prefixed and joined
with others. `builder.build` makes a `Model` of it, with indices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model.by_value import ByValue
from robot_dynamics.model.couplings import CouplingElement, substituted
from robot_dynamics.model.joints import JointType, joint_type
from robot_dynamics.wording import counted


def pose(translation: Iterable[float] = (0.0, 0.0, 0.0), rotation: Array | None = None) -> Array:
    """Return a homogeneous matrix (4, 4) of a translation [m] and a rotation matrix (3, 3).

    Raises:
        ArgumentError: If the rotation has another shape.
    """
    matrix = np.eye(4)
    matrix[:3, 3] = list(translation)
    if rotation is not None:
        if np.shape(rotation) != (3, 3):
            raise ArgumentError(
                f"rotation has shape {np.shape(rotation)}, expected a rotation matrix (3, 3)."
            )
        matrix[:3, :3] = rotation
    return matrix


def inverse_pose(frame: Array) -> Array:
    """Return the inverse of a pose (4, 4)."""
    turned = frame[:3, :3].T
    return pose(-turned @ frame[:3, 3], turned)


@dataclass(frozen=True, eq=False)
class LinkElement(ByValue):
    """A link: its mass [kg], centre of mass [m] and inertia about it [kg m^2], in link axes."""

    name: str
    mass: float = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True)
class Limits:
    """Limits of one degree of freedom; infinite by default.

    Attributes:
        lower: Lowest position [rad or m].
        upper: Highest position [rad or m].
        velocity: Largest speed [rad/s or m/s].
        effort: Largest torque or force [N m or N].
        acceleration: Largest acceleration [rad/s^2 or m/s^2].
        deceleration: Largest deceleration, a positive number [rad/s^2 or m/s^2].
        jerk: Largest rate of the acceleration [rad/s^3 or m/s^3].
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    acceleration: float = np.inf
    deceleration: float = np.inf
    jerk: float = np.inf


def bounded(limits: Limits | tuple[Limits, ...]) -> bool:
    """Return whether there is a limit of position."""
    each = limits if isinstance(limits, tuple) else (limits,)
    return any(np.isfinite(one.lower) or np.isfinite(one.upper) for one in each)


@dataclass(frozen=True)
class SafetyController:
    """Limits that a drive enforces softly, as URDF's `<safety_controller>` states them.

    Attributes:
        lower: Position below which the drive pushes back [rad or m].
        upper: Position above which the drive pushes back [rad or m].
        k_position: Gain from the distance to a soft limit to the largest speed [1/s].
        k_velocity: Gain from the excess of speed to the largest effort [N m s/rad or N s/m].
    """

    lower: float = -np.inf
    upper: float = np.inf
    k_position: float = 0.0
    k_velocity: float = 0.0


@dataclass(frozen=True, eq=False)
class JointElement(ByValue):
    """A tree joint from a parent link to a child link.

    Attributes:
        name: Its name.
        type: A name of `joints.JOINT_TYPES`, or "reversed " and such a name.
        parent: Name of the parent link.
        child: Name of the child link, whose frame is the joint frame at position zero.
        placement: Pose of the joint frame in the parent link (4, 4).
        axis: Unit vector of the axis in the joint frame; unused by types without one axis,
            whose docstrings define their axes in the joint frame.
        limits: Limits, one for all degrees of freedom or a tuple with one each.
        damping: Viscous friction of each freedom [N m s/rad or N s/m].
        friction: Coulomb friction of each freedom [N m or N].
        active: Whether a drive can act on each freedom; None for all but floating joints.
        parameters: Parameters of the type: `pitch` [m/rad] of a helical joint, `radius` [m] ...
        armature: Reflected inertia of a geared rotor in each freedom [kg m^2 or kg].
        safety: Soft limits of its drive, or None.
        stiffness: Stiffness of the spring of each freedom [N m/rad or N/m].
        rest: Coordinate of each freedom at which its spring is relaxed [rad or m].
    """

    name: str
    type: str
    parent: str
    child: str
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    limits: Limits | tuple[Limits, ...] = Limits()
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    armature: float | tuple[float, ...] = 0.0
    safety: SafetyController | None = None
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0

    @property
    def limits_of_each(self) -> tuple[Limits, ...]:
        """The limits as given: one, or one for each degree of freedom."""
        return self.limits if isinstance(self.limits, tuple) else (self.limits,)

    @property
    def driven(self) -> bool:
        """Whether a drive can act on one of its freedoms."""
        if self.active is None:
            return 0 < _kind(self).nv < 6
        return self.type != "fixed" and bool(np.any(self.active))


@dataclass(frozen=True, eq=False)
class LoopElement(ByValue):
    """A joint that closes a loop between two links, or a spring and damper between them.

    Attributes:
        name: Its name.
        type: A name of `joints.JOINT_TYPES`, or "reversed " and such a name; "floating" for
            forces without a constraint.
        predecessor: Name of its predecessor link.
        successor: Name of its successor link, on which constraint forces act.
        predecessor_pose: Pose of the loop joint's frame in the predecessor link (4, 4).
        successor_pose: Pose of the loop joint's frame in the successor link (4, 4).
        parameters: Parameters of the type: `pitch` [m/rad] of a helical joint, `radius` [m] ...
        unilateral: Whether it can only push, along z of the loop joint.
        limits: Limits, one for all degrees of freedom or a tuple with one each.
        damping: Viscous friction of each freedom [N m s/rad or N s/m].
        friction: Coulomb friction of each freedom [N m or N]; the dynamics leave it out.
        active: Whether a drive can act on each freedom.
        stiffness: Stiffness of the spring of each freedom [N m/rad or N/m].
        rest: Coordinate of each freedom at which its spring is relaxed [rad or m].
    """

    name: str
    type: str
    predecessor: str
    successor: str
    predecessor_pose: Array = field(default_factory=lambda: np.eye(4))
    successor_pose: Array = field(default_factory=lambda: np.eye(4))
    parameters: Mapping[str, float] = field(default_factory=dict)
    unilateral: bool = False
    limits: Limits | tuple[Limits, ...] = Limits()
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] = False
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0


@dataclass(frozen=True)
class Mechanism:
    """Links, tree joints, loop joints and couplings of joints by name.

    Raises:
        RobotDynamicsError: From `root` and `joined`: if names collide, or there is not exactly one
            root.
    """

    name: str
    links: tuple[LinkElement, ...] = ()
    joints: tuple[JointElement, ...] = ()
    loops: tuple[LoopElement, ...] = ()
    couplings: tuple[CouplingElement, ...] = ()

    @property
    def root(self) -> str:
        """Name of the only link that is not the child of a joint."""
        children = {joint.child for joint in self.joints}
        roots = [link.name for link in self.links if link.name not in children]
        if len(roots) != 1:
            raise RobotDynamicsError(
                f"{self.name}: expected exactly one root link, found {', '.join(roots) or 'none'}."
            )
        return roots[0]

    @property
    def movable_joints(self) -> tuple[str, ...]:
        """Names of the joints that are not fixed."""
        return tuple(joint.name for joint in self.joints if joint.type != "fixed")

    def prefixed(self, prefix: str) -> Mechanism:
        """Return the same mechanism with `prefix` before every name of a link, joint or loop."""
        return Mechanism(
            self.name,
            tuple(replace(link, name=prefix + link.name) for link in self.links),
            tuple(
                replace(
                    joint,
                    name=prefix + joint.name,
                    parent=prefix + joint.parent,
                    child=prefix + joint.child,
                )
                for joint in self.joints
            ),
            tuple(
                replace(
                    loop,
                    name=prefix + loop.name,
                    predecessor=prefix + loop.predecessor,
                    successor=prefix + loop.successor,
                )
                for loop in self.loops
            ),
            tuple(coupling.prefixed(prefix) for coupling in self.couplings),
        )

    def locked(self, positions: dict[str, float]) -> Mechanism:
        """Return the mechanism with joints of one degree of freedom fixed at `positions` [rad, m].

        A joint whose coupling has no other free joint is locked at the position that follows.

        Raises:
            UnknownNameError: If there is no joint of a name.
            RobotDynamicsError: If a joint does not have one degree of freedom.
        """
        joints_by_name = {joint.name: joint for joint in self.joints}
        for name in sorted(positions):
            if name not in joints_by_name:
                raise UnknownNameError("joint", name, joints_by_name, self.name)
            freedoms = _kind(joints_by_name[name]).nv
            if freedoms != 1:
                raise RobotDynamicsError(
                    f"{self.name}: joint {name!r} is {joints_by_name[name].type} and has "
                    f"{counted(freedoms, 'degree')} of freedom, expected one to be locked at."
                )
        couplings, positions = substituted(self.couplings, positions)
        joints = tuple(
            replace(
                j,
                type="fixed",
                placement=j.placement @ _displacement(j, positions[j.name]),
                parameters={},
            )
            if j.name in positions
            else j
            for j in self.joints
        )
        return replace(self, joints=joints, couplings=couplings)

    def with_loops(self, loops: Iterable[LoopElement]) -> Mechanism:
        """Return the mechanism with more loop joints."""
        return replace(self, loops=self.loops + tuple(loops))

    def with_couplings(self, couplings: Iterable[CouplingElement]) -> Mechanism:
        """Return the mechanism with more couplings."""
        return replace(self, couplings=self.couplings + tuple(couplings))


def joined(
    name: str, parts: Iterable[tuple[Mechanism, Array, str]], root: str = "world"
) -> Mechanism:
    """Return several mechanisms in one world.

    Args:
        name: The name of the whole.
        parts: For each part the mechanism, the pose of its root link in the world (4, 4), and the
            type of the joint that carries it there: "fixed", "floating" or "planar".
        root: The name of the world's link.

    Raises:
        RobotDynamicsError: If two parts use the same name; prefixes keep them apart.
    """
    links: list[LinkElement] = [LinkElement(root)]
    joints: list[JointElement] = []
    loops: list[LoopElement] = []
    couplings: list[CouplingElement] = []
    for part, placement, kind in parts:
        links += part.links
        carrier = f"{root}_to_{part.root}"
        joints += [JointElement(carrier, kind, root, part.root, placement), *part.joints]
        loops += part.loops
        couplings += part.couplings
    constraints = [*loops, *couplings]
    for kind, items in (("link", links), ("joint", joints), ("loop", constraints)):
        names = [item.name for item in items]  # type: ignore[attr-defined]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise RobotDynamicsError(
                f"{name}: two parts have a {kind} called {twice[0]!r}; give them prefixes."
            )
    return Mechanism(name, tuple(links), tuple(joints), tuple(loops), tuple(couplings))


def axis_frame(joint: JointElement, kind: JointType) -> Array:
    """Return the pose (4, 4) of the frame whose z is a joint's axis, in the joint's own frame.

    Raises:
        RobotDynamicsError: If the axis is zero.
    """
    if not kind.has_axis:
        return np.eye(4)
    if not np.linalg.norm(joint.axis) > 0.0:
        raise RobotDynamicsError(
            f"joint {joint.name!r}: the axis is {tuple(joint.axis)}, expected a vector other than "
            "zero."
        )
    return pose(rotation=_frame_with_z_along(joint.axis))


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


def _displacement(joint: JointElement, position: float) -> Array:
    """Return the pose of a joint's child frame relative to its joint frame at a position."""
    kind = _kind(joint)
    X, turned = kind.transform([float(position)]), axis_frame(joint, kind)
    at = pose([float(x) for x in X.r], np.array(X.E.rows, dtype=float).T)
    return np.asarray(turned @ at @ turned.T)


def _kind(joint: JointElement) -> JointType:
    return joint_type(joint.type, f"joint {joint.name!r}", **joint.parameters)
