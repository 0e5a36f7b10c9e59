# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Possible contacts: points on surfaces, and inequalities phi(q) >= 0 (11.1 to 11.4).

A point contact is a point of a link, or a ball about it, that must stay in front of a surface of
the world or of another link. An inequality is any function of the positions that must not become
negative: the limit of a joint, a cable that holds its length, a loop that can only push. Both have
a gap phi, a normal t = d phi / dq in joint space (11.25), and the rate of the normal (11.30).

Edges and faces are sets of points: an edge on a plane touches by its two ends, a face by the
corners of its convex hull (11.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.contact.material import Material, require_material
from robot_dynamics.contact.shapes import SeenPoint, ShapeContact
from robot_dynamics.contact.surfaces import Plane, PointFunction, gap_and_normal
from robot_dynamics.dynamics.arguments import (
    finite_vector,
    points_array,
    positive_number,
    require_orientations,
    require_text,
    size_number,
    unit_vector,
)
from robot_dynamics.dynamics.coulomb import holds_joints, joint_frictions
from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.dynamics.position_limits import BoundedCoordinate, bounded_coordinates
from robot_dynamics.errors import ArgumentError, UnknownNameError, sentence_of
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.model import WORLD, Joint, LoopJoint, Model
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.derivatives import directional_derivative, gradient
from robot_dynamics.scalar.functions import absolute, sqrt
from robot_dynamics.scalar.linear_algebra import dot
from robot_dynamics.scalar.symbolic import SymbolicScalar
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3
from robot_dynamics.wording import distance

#: Largest gap of a touching contact [m, or the unit of an inequality].
TOUCHING = 1e-3
#: The farthest point of a round body in a direction of unit length, both in its link's frame.
Shape = Callable[[Vector3], Vector3]

# Expected types of the user's arguments.
_SURFACE = "a number from a function of a point r, of its coordinates r.x, r.y and r.z"
_SHAPE = "a Vector3 from a function of a direction d, of d.x, d.y and d.z"
_PHI = "a number from a function of a posture p, of p.joint(name) and p.point(link, point)"
_CONTACTS = "a list of PointContact, Inequality and ShapeContact"
_NUMBER = (int, float, np.number, SymbolicScalar)
_FLAT = 1e-24  # keeps finite a disc that lies flat, and a cable whose ends meet


@dataclass(frozen=True)
class PointContact:
    """A point of a link, or a ball about it, that must stay in front of a surface.

    Attributes:
        name: Name of the contact.
        link: Link or frame that has the point.
        point: Position of the point in that link's frame (3,) [m].
        surface: A function of a point, zero on the surface and negative in free space; see
            `contact.surfaces`.
        on: The link that has the surface, whose frame the function is in; the world by default.
        radius: Radius of the ball about the point [m]; 0 by default.
        shape: Shape of a round body about the point instead of a ball: `(direction) -> Vector3`,
            its farthest point in a direction of unit length, both in the link's frame; see
            `ellipsoid` and `disc`. The surface must be flat.
        material: Friction, restitution and compliance of the two.

    Raises:
        ArgumentError: If an argument is of another type, a number is not finite, or the radius is
            negative.
    """

    name: str
    link: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    surface: PointFunction = field(default=Plane(Vector3.zero(), Vector3(0.0, 0.0, 1.0)))
    on: str | None = None
    radius: float = 0.0
    shape: Shape | None = None
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        require_text("the name of a contact", self.name)
        what = f"contact {self.name!r}"
        require_text(f"the link of {what}", self.link)
        if self.on is not None:
            require_text(f"the link that {what} is on", self.on)
        if not callable(self.surface):
            raise ArgumentError(f"surface of {what} is {self.surface!r:.60}, expected {_SURFACE}.")
        if self.shape is not None and not callable(self.shape):
            raise ArgumentError(f"shape of {what} is {self.shape!r:.60}, expected {_SHAPE}.")
        radius = size_number(f"radius of {what}", self.radius)
        object.__setattr__(self, "radius", radius)
        if self.shape is not None and (self.radius or not isinstance(self.surface, Plane)):
            raise ArgumentError(
                f"contact {self.name!r} has a shape with radius {self.radius:g} m on the surface "
                f"{self.surface!r:.60}, expected a shape of radius 0 on a `plane`."
            )
        point = finite_vector(f"point of contact {self.name!r}", self.point, 3)
        object.__setattr__(self, "point", tuple(point.tolist()))
        require_material(self.name, self.material)


def ellipsoid(a: float, b: float, c: float) -> Shape:
    """Return the shape of an ellipsoid with these half axes [m] along the link's axes."""
    a, b, c = (positive_number("half axis of an ellipsoid", axis) for axis in (a, b, c))

    return _Ellipsoid(a, b, c)


@dataclass(frozen=True)
class _Ellipsoid:
    """The farthest point of an ellipsoid with these half axes."""

    a: float
    b: float
    c: float

    def __call__(self, d: Vector3) -> Vector3:
        w = Vector3(self.a * self.a * d.x, self.b * self.b * d.y, self.c * self.c * d.z)
        return w * (1.0 / sqrt(w.dot(d)))


def disc(radius: float, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> Shape:
    """Return the shape of a thin disc [m] about an axis of the link: it rolls on its rim."""
    radius = positive_number("radius of a disc", radius)
    along = Vector3.of(unit_vector("axis of a disc", axis).tolist())

    return _Disc(radius, along)


@dataclass(frozen=True)
class _Disc:
    """The farthest point of a thin disc about an axis of unit length."""

    radius: float
    along: Vector3

    def __call__(self, d: Vector3) -> Vector3:
        across = d - self.along * self.along.dot(d)
        return across * (self.radius / sqrt(across.dot(across) + _FLAT))


class Configuration:
    """A mechanism at some positions, as functions of inequalities see it.

    Args:
        model: The mechanism.
        q: Positions (nq,), scalars of any kind.
    """

    def __init__(self, model: Model, q: Sequence[Scalar]) -> None:
        self._model, self._q = model, q

    @cached_property
    def _X0(self) -> list[Transform]:
        """Transforms from the world to each body, which a coordinate of the tree does not need."""
        return body_transforms(self._model, joint_transforms(self._model, self._q))

    def joint(self, name: str) -> Scalar:
        """Return the position of a joint with one degree of freedom."""
        at = self._model.q_slices[self._model.joint_index(name)]
        if at.stop - at.start != 1:
            raise ArgumentError(
                f"joint {name!r} has {at.stop - at.start} positions, expected one."
            )
        return self._q[at.start]

    def coordinate(self, of: BoundedCoordinate) -> Scalar:
        """Return a coordinate of a tree joint or loop joint [rad or m]."""
        if isinstance(of.joint, LoopJoint):
            return of.of_placement(self.placement(of.joint))
        at = self._model.q_slices[self._model.joint_index(of.joint.name)]
        return of.of_positions(self._q[at])

    def point(self, link: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Vector3:
        """Return the position of a link's point in the world [m]."""
        if len(point) != 3:
            raise ArgumentError(f"point {point!r:.60} of {link!r}, expected three numbers.")
        X = link_transform(self._model.link(link), self._X0)
        return X.r + X.E.inverse_times(Vector3.of(list(point)))

    def placement(self, loop: LoopJoint) -> Transform:
        """Return sXp of a loop joint, from its predecessor frame to its successor frame."""
        of_predecessor = loop.predecessor_placement.compose(_of_body(self._X0, loop.predecessor))
        of_successor = loop.successor_placement.compose(_of_body(self._X0, loop.successor))
        return of_successor.compose(of_predecessor.inverse())


@dataclass(frozen=True)
class Inequality:
    """A function of the positions that must not become negative, without friction.

    Attributes:
        name: Its name in messages.
        phi: `(posture) -> phi`, over scalars of any type: it is differentiated and compiled. It
            should approximate the distance from the limit in metres or radians, because thresholds
            of gap and speed apply to phi and its rate; the force is along its gradient.
        restitution: Share of the rate of phi that remains after an impact.
    """

    name: str
    phi: Callable[[Configuration], Scalar]
    restitution: float = 0.0

    def __post_init__(self) -> None:
        require_text("the name of an inequality", self.name)
        if not callable(self.phi):
            raise ArgumentError(
                f"phi of inequality {self.name!r} is {self.phi!r:.60}, expected {_PHI}."
            )
        e = size_number(f"restitution of inequality {self.name!r}", self.restitution)
        if e > 1.0:
            raise ArgumentError(
                f"restitution of inequality {self.name!r} is {e:g}, expected 0 to 1."
            )

    @property
    def material(self) -> Material:
        """The same as a material: rigid and without friction."""
        return Material(FrictionCone(0.0), restitution=self.restitution)


class _Limit(NamedTuple):
    """Distance of a coordinate from its upper or lower limit."""

    coordinate: BoundedCoordinate
    limit: float
    sign: float

    def phi(self, posture: Configuration) -> Scalar:
        return (posture.coordinate(self.coordinate) - self.limit) * self.sign


def joint_limits(robot: Robot, restitution: float = 0.0) -> tuple[Inequality, ...]:
    """Return the position limits of a robot's description as inequalities.

    They bound the coordinates of tree joints, then of loop joints [rad or m]. The name of an
    inequality is the coordinate's with "lower" or "upper".

    Args:
        robot: The robot.
        restitution: Share of the speed that remains after an impact on a limit.

    Raises:
        ArgumentError: If the placement of a joint's frames does not determine whether an angle is
            within its limits, for example a loop joint with a range of more than 6.2 rad.
    """
    if not isinstance(robot, Robot):
        raise ArgumentError(f"robot is {robot!r:.60}, expected a Robot.")
    return limits_of(robot.model, restitution)


def limits_of(model: Model, restitution: float = 0.0) -> tuple[Inequality, ...]:
    """Return the position limits of a mechanism; see `joint_limits`."""
    joints: list[Joint | LoopJoint] = [*(body.joint for body in model.bodies), *model.loops]
    found: list[Inequality] = []
    for one in (one for joint in joints for one in bounded_coordinates(joint)):
        if one.doubt:
            raise ArgumentError(
                f"{model.name}: limits of {one.name!r} are {one.lower:g} to {one.upper:g} rad, "
                f"which the placement of its frames does not tell; expected {one.doubt}."
            )
        for side, limit, sign in (("lower", one.lower, 1.0), ("upper", one.upper, -1.0)):
            if np.isfinite(limit):
                phi = _Limit(one, limit, sign).phi
                found.append(Inequality(f"{one.name} {side}", phi, restitution))
    return tuple(found)


def cable(
    name: str,
    length: float,
    first: tuple[str, Sequence[float]],
    second: tuple[str, Sequence[float]],
    restitution: float = 0.0,
) -> Inequality:
    """Return a cable, which bounds the distance of two points.

    Args:
        name: Name of the cable.
        length: Length of the cable [m].
        first: A link and a point of it [m].
        second: The other link and its point [m].
        restitution: Share of the speed that remains when it becomes taut.

    Raises:
        ArgumentError: If an argument does not fit, or both points are of one link.
    """
    length = positive_number(f"length of cable {name!r}", length)
    ends: list[tuple[str, Sequence[float]]] = []
    for end in (first, second):
        if not (isinstance(end, (tuple, list)) and len(end) == 2 and isinstance(end[0], str)):
            raise ArgumentError(
                f"cable {name!r} is fixed to {end!r:.60}, expected a link and a point of it."
            )
        point = finite_vector(f"point of cable {name!r} on {end[0]!r}", end[1], 3)
        ends.append((end[0], point.tolist()))
    if ends[0][0] == ends[1][0]:
        raise ArgumentError(
            f"both ends of cable {name!r} are on {ends[0][0]!r}, expected two links."
        )

    return Inequality(name, _Cable(length, *ends).slack, restitution)


class _Cable(NamedTuple):
    """Slack of a cable between two points."""

    length: float
    first: tuple[str, Sequence[float]]
    second: tuple[str, Sequence[float]]

    def slack(self, posture: Configuration) -> Scalar:
        between = posture.point(*self.first) - posture.point(*self.second)
        return self.length - sqrt(between.dot(between) + _FLAT * self.length * self.length)


class _Push(NamedTuple):
    """Gap of a loop joint that only pushes, along z of its predecessor's frame."""

    loop: LoopJoint

    def phi(self, posture: Configuration) -> Scalar:
        kind, names = self.loop.type, [row.direction for row in self.loop.type.rows]
        return kind.residual(posture.placement(self.loop))[names.index("z")]


def push_only_loops(robot: Robot) -> tuple[Robot, tuple[Inequality, ...]]:
    """Return a robot without the loop joints that can only push, and these as inequalities.

    These are the loop joints marked `unilateral` in a description. `rd.Simulation` and
    `rd.integrate` call it.

    Raises:
        ArgumentError: If such a joint constrains more than z: its type does not define the other
            constraints while it is open.
    """
    model = robot.model
    pushing = [loop for loop in model.loops if loop.unilateral]
    for loop in pushing:
        if len(loop.type.rows) > 1:
            raise ArgumentError(
                f"{model.name}: unilateral loop joint {loop.name!r} has type {loop.type.name}, "
                "expected point_on_plane: or use a PointContact with friction."
            )
    if not pushing:
        return robot, ()
    kept = tuple(loop for loop in model.loops if not loop.unilateral)
    variable = model.variable - {loop.name for loop in pushing}
    without = Robot(replace(model, loops=kept, variable=variable))
    return without, tuple(Inequality(loop.name, _Push(loop).phi) for loop in pushing)


def vertices(contact: PointContact, points: ArrayLike) -> tuple[PointContact, ...]:
    """Return one contact for each of several points [m] of its link, as of an edge or a face.

    Their names are numbered from 1.
    """
    if not isinstance(contact, PointContact):
        raise ArgumentError(f"contact is {contact!r:.60}, expected a PointContact.")
    array = points_array(f"points of contact {contact.name!r}", points)
    return tuple(
        replace(contact, name=f"{contact.name} {i + 1}", point=point)
        for i, point in enumerate(array.tolist())
    )


def outline(points: ArrayLike) -> list[int]:
    """Return the points of a plane face (n, 3) that are corners of its convex hull (11.6).

    The corners can carry any load of the others, whose normals are positive combinations of the
    corners'. Of points on a line these are the two ends, and of equal points one.
    """
    array = points_array("points of a face", points)
    off = array - array.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    size = float(sizes[0]) if len(sizes) else 0.0
    rank = int(np.sum(sizes > 1e-9 * size)) if size > 1e-12 else 0
    if rank == 0:
        return [0]
    if rank == 1:
        along = off @ axes[0]
        return sorted({int(np.argmin(along)), int(np.argmax(along))})
    if rank > 2:
        raise ArgumentError(
            f"{len(array)} points are up to {np.abs(off @ axes[2]).max():.3g} m from a plane, "
            "expected points in a plane."
        )
    try:
        return sorted(int(i) for i in ConvexHull(off @ axes[:2].T).vertices)
    except QhullError as error:  # pragma: no cover - ruled out by the rank
        raise ArgumentError(f"the points have no convex hull: {error}") from error


class UndefinedContact(ArgumentError):
    """A gap or a normal is not finite, or undefined; the message names the contact."""


class PlacedPoint(NamedTuple):
    """A point contact in terms of a model's bodies.

    Attributes:
        body: Body that has the point.
        point: The point in its coordinates.
        surface: The surface.
        base: Body that has the surface; WORLD for the world.
        frame: Transform from coordinates of `base` to coordinates of the surface; None if they are
            the same.
        radius: Radius of the ball about the point.
        shape: Shape of the round body about the point, in the link's frame.
        link: Transform from the coordinates of `body` to the link's frame.
    """

    body: int
    point: Vector3
    surface: PointFunction
    base: int = WORLD
    frame: Transform | None = None
    radius: float = 0.0
    shape: Shape | None = None
    link: Transform | None = None


def placed(model: Model, contact: PointContact | Inequality) -> PlacedPoint | Inequality:
    """Return a point contact in terms of a model's bodies, an inequality unchanged.

    Raises:
        UnknownNameError: If there is no such link.
        ArgumentError: If both sides of the contact belong to one body.
    """
    if isinstance(contact, Inequality):
        return contact
    link = model.link(contact.link)
    on = None if contact.on is None else model.link(contact.on)
    point = link.placement.r + link.placement.E.inverse_times(Vector3.of(list(contact.point)))
    base = WORLD if on is None else on.body
    if base == link.body:
        raise ArgumentError(
            f"contact {contact.name!r} is between parts of one body, expected parts of two bodies."
        )
    frame = None if on is None else on.placement
    # The error of a user's function names the contact.
    what = f"of contact {contact.name!r}"
    surface: PointFunction = partial(_called, f"surface {what}", contact.surface, _SURFACE)
    shape = contact.shape and partial(_called, f"shape {what}", contact.shape, _SHAPE)
    return PlacedPoint(
        link.body, point, surface, base, frame, contact.radius, shape, link.placement
    )


def _called(what: str, function: Callable[[Any], Any], expected: str, at: Any) -> Any:
    """Return the value of a user's function.

    Raises:
        UnknownNameError: If it asks for a link or a joint that does not exist.
        ArgumentError: If it fails in another way, or returns another thing.
    """
    try:
        value = function(at)
    except UnknownNameError:
        raise
    except Exception as error:  # whatever a user's function raises
        raise ArgumentError(
            f"{what} fails ({sentence_of(error).rstrip('.')}), expected {expected}."
        ) from error
    parts: list[Any] = [value]
    if expected is _SHAPE:
        parts = [*value] if isinstance(value, Vector3) else []
    if not parts or not all(isinstance(part, _NUMBER) for part in parts):
        shown = " ".join(repr(value).split())  # arrays have lines
        raise ArgumentError(f"{what} returns {shown:.60}, expected {expected}.")
    return value


class ContactGeometry(NamedTuple):
    """One point contact at some positions, traceable.

    Attributes:
        gap: Distance [m].
        rows: Rows of the relative velocity along n, t1 and t2 (3, nv), separating if positive.
        place: Its position in the world.
        axes: t1, t2 and n in the world (3, 3).
    """

    gap: Scalar
    rows: list[list[Scalar]]
    place: Vector3
    axes: list[list[Scalar]]


def contact_geometry(
    model: Model,
    Xup: Sequence[Transform],
    X0: Sequence[Transform],
    q: Sequence[Scalar],
    contact: PlacedPoint | Inequality | SeenPoint,
    seen: Sequence[Sequence[Scalar]] = (),
    towards: Sequence[Scalar] | None = None,
) -> ContactGeometry:
    """Return gap and rows (11.25): n . (v_sc - v_pc), and the same along two tangents.

    The first tangent is the projected direction `towards` (3,) in the world; without it tangents
    jump if the normal is horizontal.

    An inequality has the row d phi / dq; its tangents, place and axes are zero. For a point of a
    shape contact `seen` has gap, place and normal (7,), by its slot.
    """
    if isinstance(contact, Inequality):
        gap, row = _gap_and_slope(model, contact, q)
        none = [0.0] * model.nv
        return ContactGeometry(gap, [row, none, none], Vector3.zero(), [[0.0] * 3] * 3)
    if isinstance(contact, SeenPoint):
        gap, *rest = seen[contact.slot]
        place, n = Vector3.of(rest[:3]), Vector3.of(rest[3:])
    else:
        gap, place, n = _touching_place(X0, contact)
    t1, t2 = _tangents(n) if towards is None else _tangents_towards(n, Vector3.of(towards))
    at_point = Transform(Rotation.of([list(t1), list(t2), list(n)]), place)

    def columns(body: int) -> dict[int, Motion]:
        frame = at_point.compose(_of_body(X0, body).inverse())
        return columns_in_frame(model, body, Xup, frame, q=q)

    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(3)]
    sides = [(1.0, contact.body)] + [(-1.0, contact.base)] * (contact.base != WORLD)
    for sign, body in sides:
        for at, column in columns(body).items() if body != WORLD else ():
            along = column.linear
            for row, value in zip(rows, (along.z, along.x, along.y), strict=True):
                row[at] = row[at] + value if sign > 0.0 else row[at] - value
    return ContactGeometry(gap, rows, place, [[*t1], [*t2], [*n]])


def _touching_place(
    X0: Sequence[Transform], contact: PlacedPoint
) -> tuple[Scalar, Vector3, Vector3]:
    """Return the gap of a point or a round body, its nearest place and the normal there."""
    X = _of_body(X0, contact.body)
    place = X.r + X.E.inverse_times(contact.point)
    gap, n = _gap_and_normal(X0, contact, place)
    if contact.shape is not None and contact.link is not None:
        # The farthest point against the normal of the plane.
        towards = contact.link.E * (X.E * -n)
        out = X.E.inverse_times(contact.link.E.inverse_times(contact.shape(towards)))
        gap, place = gap + n.dot(out), place + out
    if contact.radius:
        gap = gap - contact.radius
        place = place - n * contact.radius
    return gap, place, n


def _of_body(X0: Sequence[Transform], body: int) -> Transform:
    return Transform.identity() if body == WORLD else X0[body]


def _gap_and_normal(
    X0: Sequence[Transform], contact: PlacedPoint, place: Vector3
) -> tuple[Scalar, Vector3]:
    """Return the distance of a place in the world from a surface, and its normal there."""
    if contact.base == WORLD and contact.frame is None:
        return gap_and_normal(contact.surface, place)
    frame = contact.frame or Transform.identity()
    to_surface = frame.compose(_of_body(X0, contact.base))
    gap, n = gap_and_normal(contact.surface, to_surface.E * (place - to_surface.r))
    return gap, to_surface.E.inverse_times(n)


def _tangents(n: Vector3) -> tuple[Vector3, Vector3]:
    """Return two unit vectors normal to a unit vector and to each other, without branches.

    After Duff et al. (2017). The sign of n.z, 1 or -1, is a quotient; where it changes, about
    n.z = 0, either will do.
    """
    z = n.z + 1e-9  # a normal across z is common: no 0 / 0
    sign = z / absolute(z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    t1 = Vector3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x)
    t2 = Vector3(b, sign + n.y * n.y * a, -n.y)
    return t1, t2


def _tangents_towards(n: Vector3, direction: Vector3) -> tuple[Vector3, Vector3]:
    """Return two unit vectors normal to n and to each other, the first nearest to a direction."""
    across = direction - n * n.dot(direction)
    t1 = across * (1.0 / sqrt(across.dot(across)))
    return t1, n.cross(t1)


class ContactTerms(NamedTuple):
    """All contacts of a mechanism at one state, m of them; inequalities have no tangents.

    Attributes:
        gap: phi (m,) [m, or the unit of an inequality].
        T: Normals in joint space as columns (nv, m), t = d phi / dq (11.25).
        rate: phi' = T^T qd (m,).
        drift: Rate of T times qd, Tdot^T qd (m,): phi'' = T^T qdd + drift.
        along: Rows of the relative velocity along two tangents (m, 2, nv).
        along_drift: Rates of these rows times qd (m, 2).
        place: Positions of the points in the world (m, 3) [m].
        axes: Tangents and normal in the world, t1, t2, n (m, 3, 3).
    """

    gap: Array
    T: Array
    rate: Array
    drift: Array
    along: Array
    along_drift: Array
    place: Array
    axes: Array


def _no_terms(nv: int) -> ContactTerms:
    """Return the terms of no contacts."""
    one, rows = np.zeros(0), np.zeros((0, 3))
    along = np.zeros((0, 2, nv)), np.zeros((0, 2))
    return ContactTerms(one, np.zeros((nv, 0)), one, one, *along, rows, np.zeros((0, 3, 3)))


def named_contacts(
    items: Iterable[PointContact | Inequality | ShapeContact],
) -> tuple[PointContact | Inequality | ShapeContact, ...]:
    """Return contacts as a tuple.

    Raises:
        ArgumentError: If they have another type, or two have one name.
    """
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise ArgumentError(f"contacts are {items!r:.60}, expected {_CONTACTS}.")
    found = tuple(items)
    for i, item in enumerate(found):
        if not isinstance(item, (PointContact, Inequality, ShapeContact)):
            several = isinstance(item, (tuple, list))
            what = f"a {type(item).__name__} of {len(item)}" if several else f"{item!r:.60}"
            star = ": unpack lists with a star, *joint_limits(robot)"
            raise ArgumentError(
                f"contact {i + 1} of {len(found)} is {what}, expected {_CONTACTS}"
                f"{star if several else ''}."
            )
    names = [
        name
        for item in found
        for name in (item.names if isinstance(item, ShapeContact) else (item.name,))
    ]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"{names.count(name)} contacts are named {name!r}, expected different names."
            )
    return found


class Contacts:
    """Compiled contacts of a robot: gaps, normals in joint space and their rates.

        contacts = Contacts(robot, [PointContact("foot", "foot"), cable(...)])
        terms = contacts(q, qd)  # terms.gap, terms.T, terms.rate, terms.drift

    Attributes:
        robot: The mechanism.
        items: The contacts, in the order of all arrays.
        names: Names of the contacts.
        restitution: Restitution of each (m,).
        friction: mu of each (m,); zero for inequalities.
        joints: Coulomb friction [N m or N] of the freedoms that it holds at rest, by name.

    Args:
        robot: The mechanism.
        items: Point contacts and inequalities; can be empty if friction holds joints.

    Raises:
        ArgumentError: If two have one name, the list is empty, or no joint moves a contact.
        UnknownNameError: If a link does not exist.
    """

    def __init__(
        self, robot: Robot, items: Iterable[PointContact | Inequality | ShapeContact]
    ) -> None:
        if not isinstance(robot, Robot):
            raise ArgumentError(f"robot is {robot!r:.60}, expected a Robot.")
        self.robot, found = robot, named_contacts(items)
        self.items = tuple(item for item in found if not isinstance(item, ShapeContact))
        if len(self.items) < len(found):
            raise ArgumentError(
                f"{len(found) - len(self.items)} of {len(found)} contacts are ShapeContact, "
                "expected PointContact and Inequality: contacts of shapes need `rd.Simulation`."
            )
        self.names = tuple(item.name for item in self.items)
        self.joints = joint_frictions(robot.model) if holds_joints(robot.model) else {}
        if not self.items and not self.joints:
            raise ArgumentError("the list of contacts is empty, expected at least one.")
        materials = [item.material for item in self.items]
        self.restitution = np.array([m.restitution for m in materials])
        self.friction = np.array([m.friction.friction for m in materials])
        if self.items:
            program = self._program()
            self._kernel = load_kernel(
                b"points\0" + program.fingerprint, lambda: program, lanes=1
            ).bind(np.zeros(1))

    def __reduce__(self) -> tuple[Any, ...]:
        return Contacts, (self.robot, self.items)

    def __call__(self, q: Array, qd: Array) -> ContactTerms:
        """Return all contacts at positions q (nq,) and velocities qd (nv,).

        Raises:
            ArgumentError: If an array does not fit, or a gap or a normal is not finite; it names
                the contact.
        """
        model = self.robot.model
        q, qd = finite_vector("q", q, model.nq), finite_vector("qd", qd, model.nv)
        if not self.items:
            return _no_terms(model.nv)
        with np.errstate(all="ignore"):  # what is not finite is told
            gap, rows, rate, drift, along, along_drift, place, axes = self._kernel(q, qd)
        try:
            require_normals(self.items, gap, rows, axes)
        except UndefinedContact:
            require_orientations(model, q)  # then it is not the surface's fault
            raise
        return ContactTerms(gap, rows.T, rate, drift, along, along_drift, place, axes)

    def moving(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        towards: Sequence[Sequence[Scalar] | None] | None = None,
    ) -> tuple[list[ContactGeometry], list[list[Scalar]], list[list[Scalar]]]:
        """Return all contacts, relative velocities (m, 3), and their rates at qdd = 0. Traceable.

        Both are along n, t1, t2. `towards` has a direction for each, see `contact_geometry`.
        """
        here = self._geometry(towards)

        def rates(at: list[Scalar]) -> list[list[Scalar]]:
            return [[dot(row, qd) for row in of.rows] for of in here(at)]

        moving = self.robot.model.position_rate(q, qd)
        rate, drift = directional_derivative(rates, q, moving)
        return here(q), rate, drift

    def row_derivatives(self, q: Array) -> Array:
        """Return the derivatives (m, 3, nv, nv) of all rows along n, t1, t2 by q.

        The last axis is along velocities. The rows are those of `T` and `along` of a call, whose
        tangents turn with the normal.
        """
        rates = self._row_rates(finite_vector("q", q, self.robot.model.nq), self._directions)
        return np.moveaxis(np.asarray(rates), 0, -1)

    @cached_property
    def _directions(self) -> Array:
        return np.eye(self.robot.model.nv)

    @cached_property
    def _row_rates(self) -> Any:
        """The compiled `(q, dq) -> rates of rows` (m, 3, nv)."""
        model, here = self.robot.model, self._geometry()

        def run(q: Any, dq: Any, _: Any) -> dict[str, Any]:
            rates = model.position_rate(q, dq)
            rows = directional_derivative(lambda at: [of.rows for of in here(at)], q, rates)[1]
            return {"rows": rows}

        program = trace(run, "row_rates", {"q": model.nq, "dq": model.nv}, 1)
        return load_kernel(b"rows\0" + program.fingerprint, lambda: program).bind(np.zeros(1))

    def _geometry(
        self, towards: Sequence[Sequence[Scalar] | None] | None = None
    ) -> Callable[[Sequence[Scalar]], list[ContactGeometry]]:
        """Return the function from positions to the geometry of all contacts; see `moving`."""
        model = self.robot.model
        towards = [None] * len(self.items) if towards is None else towards
        items = [placed(model, item) for item in self.items]

        def here(q: Sequence[Scalar]) -> list[ContactGeometry]:
            Xup = joint_transforms(model, q)
            X0 = body_transforms(model, Xup)
            pairs = zip(items, towards, strict=True)
            return [contact_geometry(model, Xup, X0, q, item, towards=t) for item, t in pairs]

        return here

    def _program(self) -> Program:
        model = self.robot.model

        def run(q: Any, qd: Any, _: Any) -> dict[str, Any]:
            here, rate, drift = self.moving(q, qd)
            return {
                "gap": [of.gap for of in here],
                "T": [of.rows[0] for of in here],
                "rate": [of[0] for of in rate],
                "drift": [of[0] for of in drift],
                "along": [of.rows[1:] for of in here],
                "along_drift": [of[1:] for of in drift],
                "place": [list(of.place) for of in here],
                "axes": [of.axes for of in here],
            }

        return trace(run, "points", {"q": model.nq, "qd": model.nv}, 1)


def state_of(contacts: Contacts, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Return checked positions (nq,) and velocities (nv,) of the mechanism.

    Raises:
        ArgumentError: If an argument does not fit.
    """
    if not isinstance(contacts, Contacts):
        raise ArgumentError(
            f"contacts are {contacts!r:.60}, expected Contacts(robot, [...]) of a robot."
        )
    model = contacts.robot.model
    return finite_vector("q", q, model.nq), finite_vector("qd", qd, model.nv)


def closed_contacts(
    contacts: Contacts, terms: ContactTerms, closed: Sequence[int | str] | None
) -> list[int]:
    """Return the indices of closed contacts: the given ones, or all, which must then touch.

    They are given by index or name.

    Raises:
        ArgumentError: If an index is out of range or occurs twice, a contact is soft, or (without
            given ones) one does not touch.
    """
    count, expected = len(contacts.names), "names, or places from 0 to"
    given = range(count) if closed is None else closed
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(f"closed is {given!r:.60}, expected a list of {expected} {count - 1}.")
    which = []
    for item in given:
        if isinstance(item, str) and item not in contacts.names:
            raise UnknownNameError("contact", item, contacts.names)
        place = contacts.names.index(item) if isinstance(item, str) else item
        if not isinstance(place, (int, np.integer)) or not 0 <= place < count:
            raise ArgumentError(f"closed contact {place!r:.60}, expected {expected} {count - 1}.")
        if place in which:
            raise ArgumentError(
                f"closed names contact {contacts.names[place]!r} twice, expected it once."
            )
        which.append(int(place))
    for i in which:
        require_rigid(contacts.items[i], "at one instant")
        gap = float(terms.gap[i])
        if closed is None and abs(gap) > TOUCHING:
            if isinstance(contacts.items[i], Inequality):
                off, near = f"phi of {contacts.names[i]!r} is {gap:.3g}", f"at most {TOUCHING:g}"
            else:
                way = f"{distance(abs(gap))} {'apart' if gap > 0.0 else 'deep'}"
                off, near = (
                    f"contact {contacts.names[i]!r} is {way}",
                    f"at most {distance(TOUCHING)}",
                )
            raise ArgumentError(
                f"{off}, expected {near}: move the robot, or name the touching contacts in "
                "`closed`."
            )
    return which


def require_rigid(item: PointContact | Inequality, where: str) -> None:
    """Refuse a soft contact, if there is no law for it.

    Raises:
        ArgumentError: If it is soft.
    """
    if item.material.elastic:
        raise ArgumentError(
            f"contact {item.name!r} has stiffness {item.material.stiffness:g} N/m, expected a "
            f"rigid contact {where}: soft contacts need rd.Simulation."
        )


def require_normals(
    items: Sequence[PointContact | Inequality], gap: Array, rows: Array, axes: Array
) -> None:
    """Refuse undefined or infinite gaps (m,), rows (m, nv) and normals in axes (m, 3, 3).

    Raises:
        UndefinedContact: If there are any; it names the contact.
    """
    sizes = np.einsum("mi,mi->m", axes[:, 2], axes[:, 2])
    good = np.isfinite(gap + rows.sum(axis=1)) & np.isfinite(sizes)
    for item, fine, size in zip(items, good.tolist(), sizes.tolist(), strict=True):
        if not fine or (isinstance(item, PointContact) and abs(size - 1.0) > 1e-6):
            raise UndefinedContact(
                f"contact {item.name!r} has a gap or a normal that is not finite at these "
                "positions, expected a surface with a gradient."
            )


def _gap_and_slope(
    model: Model, item: Inequality, q: Sequence[Scalar]
) -> tuple[Scalar, list[Scalar]]:
    """Return phi and d phi / dq over velocities (nv,)."""

    def phi(at: Sequence[Scalar]) -> Scalar:
        return _called(
            f"phi of inequality {item.name!r}", item.phi, _PHI, Configuration(model, at)
        )

    by_position = gradient(phi, q)
    traced = not all(isinstance(at, float) for at in q)
    if traced and all(isinstance(slope, float) and slope == 0.0 for slope in by_position):
        raise ArgumentError(
            f"phi of inequality {item.name!r} is the same at all positions, expected {_PHI}."
        )
    units = np.eye(model.nv).tolist()
    return phi(q), [dot(by_position, model.position_rate(q, unit)) for unit in units]
