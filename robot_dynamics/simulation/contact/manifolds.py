# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact points of solids at some positions, by MuJoCo's collision detection.

Each contact has as many slots as its largest number of points. A point stays in its slot, so that
its force can start from the last step: each point takes the slot whose last place is nearest. A
slot without a point has an infinite gap.

Solids that could pass through each other within a step make it shorter: conservative advancement.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.compile import load_kernel, trace
from robot_dynamics.compile.routine import (
    Call,
    Indices,
    Matrix,
    MutableRecord,
    Tensor,
    Vector,
    routine,
)
from robot_dynamics.contact.shapes import ShapeContact, Solid
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.errors import RobotDynamicsError, optional_package
from robot_dynamics.model import WORLD, Model, pose, pose_of
from robot_dynamics.wording import distance, exact

#: Largest gap of points that are searched for [m].
MARGIN = 0.01
_FASTER = 1.1  # solids may get faster by this factor within a step, as by turning
_LEAST = 1e-3  # part of a step that is left of it at least
_NOWHERE = float("inf")
_FREE = 1e6  # squared distance from a slot that had no point [m^2]
_MOST = 50  # points of a pair in MuJoCo
# Of MuJoCo: before it, convex bodies that are apart had other points than those that touch.
_OLDEST = (3, 17)
_TOLERANCE = "1e-10"  # of convex distances [m]
# Gaps of boxes by their faces, which MuJoCo finds, are right if they are those of the nearest
# points to this part, or to 1e-9 m.
_ALIKE = 1e-4
# Several points of curved solids or hulls count if the nearest is one of them, to this [m].
_MISSED = 1e-5
_ALONG = 0.999  # cosine between normals that are of one face
# Two points as near as this [m] tell no direction; boxes larger by that touch where these will.
_NEAR = 1e-6


class FoundPoints(MutableRecord):
    """Points that MuJoCo found, pair by pair."""

    count: int
    sides: Indices  #: Their first solids, -1 for points that have a slot.
    gaps: Vector
    places: Matrix
    axes: Matrix  #: Normal and tangents of each (n, 9).


class MidStep(MutableRecord):
    """The step in whose middle solids are placed."""

    q: Vector  #: Positions at its start (nq,).
    v: Vector  #: Velocities there (nv,).
    h: float  #: Its length [s].


class Manifolds:
    """`(q, v, h, last) -> (n, 7)`: gap, place and normal of each slot, in the world.

    They belong to the middle of a step of length h, to which the velocity v at its start leads.
    The normal is unit and points to the first solid.

    Attributes:
        count: Number of slots.
        seen: Last result (n, 7).
        length: Length of its step [s].

    Args:
        model: The mechanism.
        contacts: Possible contacts.
        held: Bodies that do not coast, see `Model.coast`.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed or refuses a solid.
    """

    def __init__(
        self, model: Model, contacts: Sequence[ShapeContact], held: Collection[int] = ()
    ) -> None:
        mujoco = _import_mujoco()
        rooms = np.array([one.points for one in contacts])
        ends = np.cumsum([0, *rooms])
        self.count = int(ends[-1])
        solids = [solid for one in contacts for solid in (one.first, one.second)]
        links = [model.link(solid.link) for solid in solids]
        self._bodies, self._held = sorted({link.body for link in links} - {WORLD}), held
        # The last pose is that of the world.
        row = {body: i for i, body in enumerate([*self._bodies, WORLD])}
        of = np.array([row[link.body] for link in links])
        try:
            self._model = mujoco.MjModel.from_xml_string(_document(contacts))
        except ValueError as error:
            raise RobotDynamicsError(_refused(mujoco, contacts)) from error
        self._data = mujoco.MjData(self._model)
        self._collide, self._distance = mujoco.mj_collision, mujoco.mj_geomDistance
        # MuJoCo moves the frames of convex hulls to their centres.
        turns = Rotation.from_quat(np.roll(self._model.geom_quat, -1, axis=1)).as_matrix()
        frames = np.zeros((len(solids), 3, 4))
        for i, (link, solid) in enumerate(zip(links, solids, strict=True)):
            moved = pose(self._model.geom_pos[i], turns[i])
            frames[i] = (pose_of(link.placement) @ solid.pose @ moved)[:3]
        poses = np.tile(np.eye(4, 6)[:3], (len(row), 1, 1))
        self._step = step = MidStep(q=model.nq, v=model.nv)
        self._move = self._placing(model).bind_arrays(
            None, [step.q, step.v, step.place("h")], [poses[:-1]]
        )
        data, most = self._data, _MOST * len(contacts)
        self._place = place_solids.bind(of, poses, frames, data.geom_xpos, data.geom_xmat)
        self._points = points = FoundPoints(
            sides=most, gaps=most, places=(most, 3), axes=(most, 9)
        )
        # Distance of surfaces from the middles of solids, and the part of it that rotation moves.
        planes, balls = (np.array([s.kind == k for s in solids]) for k in ("plane", "sphere"))
        around = np.where(planes, _NOWHERE, self._model.geom_rbound).reshape(-1, 2)
        turning = np.where(balls, 0.0, around.ravel()).reshape(-1, 2)
        # Half the thickness of both can be passed unnoticed.
        sizes = self._model.geom_size
        half = np.where(planes, _NOWHERE, np.where(sizes > 0.0, sizes, _NOWHERE).min(axis=1))
        self._ways = np.minimum(half.reshape(-1, 2).sum(axis=1), 2.0 * MARGIN)
        self._speeds, self.length = np.zeros(len(contacts)), 0.0
        self._find_fast = fast_pairs.bind(
            self._move, self._place, step, of, poses, data.geom_xpos,
            around.sum(axis=1), turning.min(axis=1), turning.argmin(axis=1), self._ways,
            self._speeds,
        )  # fmt: skip
        # Several points of cylinders and hulls can omit the nearest one, which is found
        # separately.
        self._alone = [i for i, one in enumerate(contacts) if _may_miss(one)]
        if self._alone:
            text = _document(contacts, self._alone)
            self._single = mujoco.MjModel.from_xml_string(text)
            self._nearest = mujoco.MjData(self._single)
        self._last, self.seen = np.zeros((self.count, 3)), np.zeros((self.count, 7))
        boxes = [i for i, one in enumerate(contacts) if one.first.kind == one.second.kind == "box"]
        self._boxes, self._ends = np.array(boxes, np.int64), np.zeros(6)
        self._apart, self._firsts = (np.zeros(len(boxes), np.int64) for _ in range(2))
        self._faces = np.zeros(len(boxes))
        self._find_apart = boxes_apart.bind(
            self._boxes, data.geom_xpos, self._model.geom_rbound, points, self._apart,
            self._firsts, self._faces,
        )  # fmt: skip
        self._take = take_points.bind(points, self._last, ends[:-1].copy(), rooms, self.seen)

    def __call__(self, q: Array, v: Array, h: float, last: Array) -> Array:
        """Return gap, place and normal of each slot (n, 7), with infinite gaps without a point.

        The next call overwrites the array. The step is shortened if solids might pass through each
        other in it.

        Args:
            q: Positions (nq,).
            v: Velocities (nv,).
            h: Length of the step [s].
            last: Places of points in the last step (n, 3) [m], NaN without a point.
        """
        step, points = self._step, self._points
        step.q[:], step.v[:], step.h, self.length = q, v, h, h
        if self._find_fast():
            self._shorten()
        self._collide(self._model, self._data)
        n, contact = self._data.ncon, self._data.contact
        points.count, self._last[:] = n, last
        points.sides[:n], points.gaps[:n] = contact.geom[:, 0], contact.dist
        points.places[:n], points.axes[:n] = contact.pos, contact.frame
        if self._alone and n:
            self._add_nearest()
        if len(self._boxes):
            for i in range(self._find_apart()):
                self._part_boxes(int(self._apart[i]), int(self._firsts[i]), float(self._faces[i]))
        self._take()
        return self.seen

    def _add_nearest(self) -> None:
        """Replace a point of a pair by the nearest point, if MuJoCo left it out."""
        nearest = self._nearest
        nearest.geom_xpos[:], nearest.geom_xmat[:] = self._data.geom_xpos, self._data.geom_xmat
        self._collide(self._single, nearest)
        found, contact = self._points, nearest.contact
        count = found.count
        sides, gaps = contact.geom[:, 0].astype(np.int64), contact.dist
        for j, (side, gap) in enumerate(zip(sides.tolist(), gaps.tolist(), strict=True)):
            of_pair = np.flatnonzero(found.sides[:count] // 2 == side // 2)
            if of_pair.size and found.gaps[of_pair].min() > gap + _MISSED:
                # Along another normal the others are none; of its face the farthest gives way.
                along = found.axes[of_pair, :3] @ contact.frame[j, :3]
                point = of_pair[found.gaps[of_pair].argmax()]
                found.gaps[of_pair[along < _ALONG]] = _NOWHERE
                found.sides[point], found.gaps[point] = side, gap
                found.places[point], found.axes[point] = contact.pos[j], contact.frame[j]

    def _shorten(self) -> None:
        """Make a step so short that no pair comes nearer in it than it is apart, or by its way."""
        self._step.h = 0.0
        self._move()
        self._place()
        least = _LEAST * self.length
        for pair in np.flatnonzero(self._speeds):
            speed = float(self._speeds[pair])
            gap = self._distance(
                self._model, self._data, 2 * pair, 2 * pair + 1, self.length * speed, self._ends
            )
            self.length = min(self.length, max(gap, self._ways[pair]) / speed)
        self._step.h = self.length = max(float(self.length), least)
        self._move()
        self._place()

    def _part_boxes(self, pair: int, first: int, by_faces: float) -> None:
        """Replace the points of two boxes' faces by the nearest points, if these are nearer.

        Args:
            pair: The pair.
            first: Index of its first point, -1 without one.
            by_faces: Least gap of its points.
        """
        one, other, found = 2 * pair, 2 * pair + 1, self._points
        gap = self._distance(self._model, self._data, one, other, MARGIN, self._ends)
        if gap < MARGIN and abs(by_faces - gap) <= _ALIKE * gap + 1e-9:
            return
        if first < 0:
            first = found.count
            found.count, found.sides[first] = first + 1, one
        for i in range(first, found.count):
            if found.sides[i] // 2 == pair:
                found.gaps[i] = _NOWHERE
        ends = self._ends.reshape(2, 3)
        place = 0.5 * (ends[0] + ends[1])
        if gap <= _NEAR:
            sizes = self._model.geom_size[one]
            sizes += 2.0 * _NEAR
            self._collide(self._model, self._data)
            sizes -= 2.0 * _NEAR
            contact = self._data.contact
            of_pair = np.flatnonzero(contact.geom[:, 0] // 2 == pair)
            deepest = of_pair[contact.dist[of_pair].argmin()]
            n, place = contact.frame[deepest, :3], contact.pos[deepest]
            turn = self._data.geom_xmat[one].reshape(3, 3)
            gap = contact.dist[deepest] + 2.0 * _NEAR * float(np.abs(n @ turn).sum())
        else:
            n = (ends[1] - ends[0]) / gap
        if gap < MARGIN:
            found.gaps[first], found.places[first], found.axes[first, :3] = gap, place, n

    def _placing(self, model: Model) -> Any:
        """Return compiled `(q, v, h) -> (k, 3, 6)`: poses of bodies in mid-step, and their rates.

        Rotation, place, angular velocity and velocity of the point at the origin, in the world.
        """

        def run(q: Any, v: Any, h: Any, _: Any) -> dict[str, Any]:
            middle, v = model.coast(q, v, 0.5 * h, self._held)
            Xup = joint_transforms(model, middle)
            X0, rates = body_transforms(model, Xup), body_velocities(model, Xup, v, middle)
            poses = []
            for body in self._bodies:
                rate = X0[body].inverse_times(rates[body])
                columns = zip(X0[body].r, rate.angular, rate.linear, strict=True)
                rows = zip(X0[body].E.transpose().rows, columns, strict=True)
                poses.append([[*turn, *rest] for turn, rest in rows])
            return {"poses": poses}

        program = trace(run, "placing", {"q": model.nq, "v": model.nv, "h": ()})
        key = b"placing\0" + program.fingerprint
        return load_kernel(key, lambda: program, lanes=1)


@routine
def fast_pairs(
    move: Call, place: Call, step: MidStep, of: Indices, poses: Tensor, places: Matrix,
    around: Vector, turning: Vector, turns: Indices, ways: Vector, speeds: Vector,
) -> bool:  # fmt: skip
    """Place solids; write speeds of pairs that might go too far in the step, zero of others.

    The nearest points approach by their relative velocity along the line between them: at most the
    velocity of one solid's middle, plus the relative turning rate times its lever arm.
    """
    move()
    place()
    found = False
    for pair in range(len(speeds)):
        one, other, g = of[2 * pair], of[2 * pair + 1], 2 * pair + turns[pair]
        speed, turn, apart = 0.0, 0.0, 0.0
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            d = poses[one, k, 5] - poses[other, k, 5]
            d += (poses[one, i, 4] - poses[other, i, 4]) * places[g, j]
            d -= (poses[one, j, 4] - poses[other, j, 4]) * places[g, i]
            speed += d * d
            d = poses[one, k, 4] - poses[other, k, 4]
            turn += d * d
            d = places[2 * pair, k] - places[2 * pair + 1, k]
            apart += d * d
        speeds[pair] = _FASTER * (sqrt(speed) + sqrt(turn) * turning[pair])
        way = step.h * speeds[pair]
        if way <= ways[pair] or sqrt(apart) > around[pair] + 0.5 * way:
            speeds[pair] = 0.0
        else:
            found = True
    return found


@routine
def place_solids(
    of: Indices, poses: Tensor, frames: Tensor, places: Matrix, turns: Matrix
) -> None:
    """Write places (g, 3) and turns (g, 9) of solids from poses of bodies and their own frames."""
    for g in range(len(of)):
        body = of[g]
        for i in range(3):
            place = poses[body, i, 3]
            for k in range(3):
                place += poses[body, i, k] * frames[g, k, 3]
            places[g, i] = place
            for j in range(3):
                turn = 0.0
                for k in range(3):
                    turn += poses[body, i, k] * frames[g, k, j]
                turns[g, 3 * i + j] = turn


@routine
def boxes_apart(
    boxes: Indices, places: Matrix, reach: Vector, points: FoundPoints, apart: Indices,
    firsts: Indices, least: Vector,
) -> int:  # fmt: skip
    """Write the pairs of boxes that may be near and do not touch; return their number.

    With them the first point of each, -1 if there is none, and the least gap of its points.
    """
    count, sides, gaps = 0, points.sides, points.gaps
    for b in range(len(boxes)):
        pair = boxes[b]
        one, other = 2 * pair, 2 * pair + 1
        off = 0.0
        for k in range(3):
            off += (places[one, k] - places[other, k]) * (places[one, k] - places[other, k])
        if sqrt(off) < reach[one] + reach[other] + MARGIN:
            firsts[count], least[count] = -1, _NOWHERE
            for i in range(points.count):
                if sides[i] // 2 == pair:
                    if firsts[count] < 0:
                        firsts[count] = i
                    least[count] = min(least[count], gaps[i])
            if least[count] > 0.0:
                apart[count] = pair
                count += 1
    return count


@routine
def take_points(
    points: FoundPoints, last: Matrix, slots: Indices, rooms: Indices, seen: Matrix
) -> None:
    """Write gap, place and normal of each slot, from the nearest point found."""
    sides, gaps, places, axes = points.sides, points.gaps, points.places, points.axes
    for s in range(len(seen)):
        for k in range(6):
            seen[s, k] = 0.0
        seen[s, 0] = _NOWHERE
        seen[s, 6] = 1.0
    start = 0
    while start < points.count:
        pair = sides[start] // 2
        first, room, end = slots[pair], rooms[pair], start
        while end < points.count and sides[end] // 2 == pair:
            end += 1
        waiting = min(end - start, room)
        while waiting > 0:
            # Of the deepest points that have no slot yet the one that is nearest to its own.
            least, point, slot = _NOWHERE, start, first
            for i in range(start, end):
                deeper = 0
                for j in range(start, end):
                    if gaps[j] < gaps[i] or (gaps[j] == gaps[i] and j < i):
                        deeper += 1
                # A slot without a point keeps place and normal of an older call.
                if deeper < room and sides[i] >= 0 and gaps[i] < _NOWHERE:
                    for s in range(first, first + room):
                        if seen[s, 0] == _NOWHERE:
                            apart = _FREE
                            if last[s, 0] == last[s, 0]:
                                apart = 0.0
                                for k in range(3):
                                    off = places[i, k] - last[s, k]
                                    apart += off * off
                            if apart < least:
                                least, point, slot = apart, i, s
            if least == _NOWHERE:
                break
            # MuJoCo's normal is from the first solid of its pair to the second.
            sign = -1.0 if sides[point] % 2 == 0 else 1.0
            seen[slot, 0] = gaps[point]
            for k in range(3):
                seen[slot, 1 + k] = places[point, k]
                seen[slot, 4 + k] = sign * axes[point, k]
            sides[point] = -1
            waiting -= 1
        start = end


def _may_miss(contact: ShapeContact) -> bool:
    kinds = {contact.first.kind, contact.second.kind}
    return bool(kinds & {"cylinder", "convex"}) and not kinds & {"plane", "sphere"}


def _document(contacts: Sequence[ShapeContact], alone: Sequence[int] | None = None) -> str:
    """Return the solids of all pairs as a MuJoCo model, in which only these collide.

    Or of some pairs that have one point each.
    """
    root = etree.Element("mujoco")
    option = etree.SubElement(root, "option", ccd_tolerance=_TOLERANCE, ccd_iterations="500")
    etree.SubElement(option, "flag", multiccd="disable" if alone else "enable")
    assets, world = (etree.SubElement(root, tag) for tag in ("asset", "worldbody"))
    pairs = etree.SubElement(root, "contact")
    for i, one in enumerate(contacts):
        names = [f"{2 * i}", f"{2 * i + 1}"]
        for name, solid in zip(names, (one.first, one.second), strict=True):
            geom = {"name": name, "type": solid.kind, "size": exact(_half_sizes(solid))}
            if solid.kind == "convex":
                etree.SubElement(assets, "mesh", name=name, vertex=exact(solid.points.ravel()))
                geom = {"name": name, "type": "mesh", "mesh": name}
            body = etree.SubElement(world, "body", mocap="true")
            etree.SubElement(body, "geom", geom)
        if alone is None or i in alone:
            etree.SubElement(pairs, "pair", geom1=names[0], geom2=names[1], margin=repr(MARGIN))
    return etree.tostring(root, encoding="unicode")


def _refused(mujoco: Any, contacts: Sequence[ShapeContact]) -> str:
    """Return a sentence on the first contact that MuJoCo refuses."""
    for one in contacts:
        try:
            mujoco.MjModel.from_xml_string(_document([one]))
        except ValueError as error:
            reason = str(error).splitlines()[0].removeprefix("Error: ").split(":")[0]
            sizes = [
                f"a convex hull of {distance(float(np.ptp(solid.points, axis=0).max()))}"
                for solid in (one.first, one.second)
                if solid.kind == "convex"
            ]
            return (
                f"contact {one.name!r}: MuJoCo refuses {' and '.join(sizes) or 'its shapes'} "
                f"({reason}), expected larger ones."
            )
    return "MuJoCo refuses the shapes together, expected fewer."


def _half_sizes(solid: Solid) -> Sequence[float]:
    if solid.kind == "box":
        return [0.5 * x for x in solid.size]
    if solid.kind in ("capsule", "cylinder"):
        return solid.size[0], 0.5 * solid.size[1]
    return solid.size or (1.0, 1.0, 1.0)


def _import_mujoco() -> Any:
    mujoco = optional_package("mujoco", "contacts between shapes", "collision")
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < _OLDEST:
        raise RobotDynamicsError(
            f"contacts between shapes need MuJoCo 3.17 or newer, and this is "
            f"{mujoco.__version__}: pip install 'robot_dynamics[collision]'."
        )
    return mujoco
