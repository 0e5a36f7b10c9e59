# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Distances of links from each other and from the object, with a capsule around each link.

`LinkDistances` computes the distances of a motion or of an instant; `Proximity` compares them with
the limits of the settings at every control instant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, call, shared_kernel, trace
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.scalar.functions import absolute, maximum, minimum, sqrt
from robot_dynamics.spatial import Rotation, Scalar, Vector3
from robot_dynamics.wording import apart

_TINY = 1e-12  # of a length squared [m^2]
_APART = 3  # links of one arm that are nearer neighbours always touch
_HOLDING = 2  # last links of an arm, which are at the object
_SAMPLES = np.linspace(0.0, 1.0, 5)  # along a link's axis, against the object's box


class Pair(NamedTuple):
    """Two links whose distance is checked; a link is named by the joint that carries it.

    Attributes:
        first: First link.
        second: Second link, or the object.
        radii: Distance of their surfaces from the measured axes together, in radii of a link.
        related: Whether they may touch by construction: links of one arm, a link and the object.
    """

    first: str
    second: str
    radii: int
    related: bool


class Closest(NamedTuple):
    """The closest pair at some times.

    Attributes:
        distance: Between surfaces (N,) [m]; infinite if there is no pair.
        pair: Index among `LinkDistances.pairs` (N,).
    """

    distance: Array
    pair: NDArray[np.intp]


class TooClose(NamedTuple):
    """The instant of a motion at which something first comes too close to something else.

    Attributes:
        row: Index of the instant.
        joint: Name of the joint that carries the one.
        sentence: Both, their distance, and the least one.
    """

    row: int
    joint: str
    sentence: str


class FindsTooClose(Protocol):
    """Compares distances along a motion with their limits."""

    def first_too_close(
        self, q: Array, poses: Array, phases: Sequence[str] = ()
    ) -> TooClose | None:
        """Return the first approach of a motion that is too close; None without one.

        Args:
            q: Positions of the arm joints (N, na).
            poses: Poses of the object (N, 7).
            phases: The phase of a task at each instant (N,); empty without a task.
        """


class LinkDistances:
    """Distances of the links of arms from one another and from the box around the object.

    A link's axis goes from the origin of its joint to the origin of the next, and of the last link
    to the tool's grasp; cranks and rods beside the path to the tool are left out. Checked are
    links of different arms, except the last links of both, which hold the same object; links of
    one arm with at least two others between them; and the object with all links except the last
    two of each arm. Distances to the object are computed at five points of an axis; they can be
    too large by a hundredth of the squared length of the link over the distance.

    Attributes:
        pairs: Checked pairs.
        joint_count: Number of joints of the arms, including those without drives.
        structure_key: Cache key of the program.
        parameters: Parameters of the program; see `traced`. These three exist only if there are
            pairs.

    Args:
        system: Arms and object.
        radius: Radius of the capsules around the links [m].
        box: Lower and upper corner of the object's box in its own frame (2, 3) [m]; without it
            distances to the object are not checked.
    """

    def __init__(self, system: GraspSystem, radius: float, box: ArrayLike | None = None) -> None:
        self.pairs = _pairs(system, with_object=box is not None)
        corners = np.zeros((2, 3)) if box is None else np.asarray(box, dtype=float)
        half, middle = 0.5 * (corners[1] - corners[0]), 0.5 * (corners[0] + corners[1])
        self._radius = radius
        self._radii = radius * np.array([pair.radii for pair in self.pairs], dtype=float)
        if not self.pairs:
            return
        self._system, self._last = system, system.positions(system.posture)
        self.joint_count = len(system.every_q)
        self._box = np.concatenate([half, middle])
        layout = repr([(system.path(arm), arm.loop) for arm in system.arms])
        self.structure_key = layout.encode() + system.model.structure_key
        # Control evaluates the distances as a part of `StepCheck`.
        key = b"link_distances\0" + self.structure_key
        self._program = shared_kernel(key, self._trace, lanes=1, quick=True)
        self.set_least(np.zeros(len(self.pairs)))

    def set_least(self, least: Array) -> None:
        """State the least distances (pairs,) [m] that `margin` compares with."""
        if self.pairs:
            # The program has the pairs with the object in any case; they come last.
            unused = np.full(len(_pairs(self._system)) - len(self.pairs), -np.inf)
            self.parameters = np.concatenate([self._box, least + self._radii, unused])
            self._kernel = self._program.bind(self.parameters)

    def __call__(self, q: ArrayLike, pose: ArrayLike) -> Array:
        """Return the distances between surfaces (..., pairs) [m]; negative where they overlap.

        Args:
            q: Positions of the arm joints (..., na).
            pose: The object's pose in the world, x y z qx qy qz qw (..., 7).
        """
        if not self.pairs:
            return np.zeros((*np.shape(q)[:-1], 0))
        q = np.asarray(q, dtype=float)
        single = q.ndim == 1 or self._system.internal_chains is None
        q = self.positions(q) if single else np.apply_along_axis(self.positions, -1, q)
        return np.asarray(self._kernel(q, pose)[0])[..., : len(self.pairs)] - self._radii

    def margin(self, q: Array, pose: Array) -> float:
        """Return the margin of the distances over their limits at an instant, for the worst pair.

        It is NaN if a distance is NaN.

        Args:
            q: Positions of the arm joints (na,).
            pose: The object's pose (7,).
        """
        if not self.pairs:
            return np.inf
        return float(self._kernel(self.positions(q), pose)[1])

    def positions(self, q: Array) -> Array:
        """Return positions of all joints of the arms, given those of their drives (na,).

        Positions of arms with loops are solved from the previous ones. If the loops do not close,
        positions and distances are NaN.
        """
        system = self._system
        if system.internal_chains is None:
            return q
        try:
            self._last = system.positions(q, self._last)
        except RobotDynamicsError:
            return np.full(len(system.every_q), np.nan)
        return self._last[system.every_q]

    def _trace(self) -> Program:
        """Return the program of distances and margin; see `traced`."""

        def run(q: Any, pose: Any, block: Any) -> dict[str, Any]:
            found, margin = self.traced(q, pose, block)
            return {"distances": found, "margin": margin}

        inputs: dict[str, int | tuple[int, ...]] = {"q": self.joint_count, "pose": 7}
        count = len(self._box) + len(_pairs(self._system))
        return trace(run, name="link_distances", inputs=inputs, parameters=count)

    def traced(self, q: Any, pose: Any, block: Any) -> tuple[list[Scalar], Scalar]:
        """Return the distances of axes, and the margin of the worst one over its limit. Traceable.

        Args:
            q: Positions of all joints of the arms, in the order of `GraspSystem.every_q`.
            pose: The object's pose (7,).
            block: `parameters`: half the size and the middle of the object's box, then for each
                pair the least distance of the axes.
        """
        system = self._system
        half, middle, least = Vector3.of(block[:3]), Vector3.of(block[3:6]), block[6:]
        points = link_points(system, q)
        found = []
        for one, other in combinations(points, 2):
            links = [(a, b) for a in _links(one) for b in _links(other)]
            found += [_called(segment_distance, *a, *b) for a, b in links[:-1]]
        for arm, own in zip(system.arms, points, strict=True):
            links_of = _links(own)
            within = _within(system.path(arm))
            found += [_called(segment_distance, *links_of[i], *links_of[j]) for i, j in within]
        E, at = Rotation.from_quaternion(*pose[3:]), Vector3.of(pose[:3])
        in_box = [[E * (p - at) - middle for p in own] for own in points]
        for own in in_box:
            found += [_called(_axis_to_box, *axis, half) for axis in _links(own)[:-_HOLDING]]
        excess = [a - b for a, b in zip(found, least, strict=True)]
        return found, reduce(minimum, excess)

    def closest(self, q: Array, pose: Array, left_out: ArrayLike = ()) -> Closest:
        """Return the closest pair at N times.

        Args:
            q: Positions of the arm joints (N, na).
            pose: Poses of the object (N, 7).
            left_out: Indices of pairs that do not count.
        """
        if not self.pairs:
            return Closest(np.full(len(q), np.inf), np.zeros(len(q), dtype=np.intp))
        distances = self(q, pose)
        distances[:, np.asarray(left_out, dtype=np.intp)] = np.inf
        return Closest(np.min(distances, axis=1), np.argmin(distances, axis=1))

    def touching(self, least: float | Array, q: Array, pose: Array) -> NDArray[np.intp]:
        """Return the related pairs that are closer at a start than a distance, or one each [m].

        Arms do not collide at their start: these are neighbours whose capsules overlap.
        """
        related = np.array([pair.related for pair in self.pairs], dtype=bool)
        return np.flatnonzero(related & ~(self(q, pose) >= least))

    def sentence(self, pair: int, distance: float, least: float) -> str:
        """Return the sentence about a pair that is too close."""
        one, other = self.pairs[pair][:2]
        near, expected = apart(distance, least)
        what = f"the link after joint {one!r} comes to {near} m from "
        what += "the object" if other == "object" else f"the one after {other!r}"
        radius = f"links of radius safety.link_radius_m = {self._radius:g} m"
        return f"{what}, expected at least {expected} m ({radius})."


class Proximity:
    """Watches the distances of links while control runs.

    Attributes:
        distances: Distances of the links.

    Args:
        system: Arms and object.
        settings: Least distances.
        box: Lower and upper corner of the object's box in its own frame (2, 3) [m]; without it
            distances to the object are not checked.
    """

    def __init__(
        self, system: GraspSystem, settings: SafetySettings, box: ArrayLike | None = None
    ) -> None:
        self.distances = LinkDistances(system, settings.link_radius_m, box)
        to_object = [pair.second == "object" for pair in self.distances.pairs]
        self._stated = np.where(
            to_object, settings.minimum_object_distance_m, settings.minimum_arm_distance_m
        )
        # At the start arms touch nothing: capsules that overlap there belong to neighbours by
        # construction. Links that are only closer to the object than the limit are refused.
        self._at_start = np.where(to_object, 0.0, settings.minimum_arm_distance_m)
        self._least = self._stated
        self.distances.set_least(self._least)

    def begin(self, q: Array, pose: Array) -> None:
        """Exclude the pairs whose capsules touch at the start.

        Args:
            q: Positions of the arm joints (na,).
            pose: Pose of the object in the world, x y z qx qy qz qw (7,).
        """
        self._least = self._least_from(q, pose)
        self.distances.set_least(self._least)

    def first_too_close(self, q: Array, poses: Array) -> TooClose | None:
        """Return the first approach of a pair that is too close; the state does not change.

        Args:
            q: Positions of the arm joints (N, na), from the start on.
            poses: Poses of the object (N, 7).
        """
        distances = self.distances(q, poses)
        margins = distances - self._least_from(q[0], poses[0])
        close = ~(margins >= 0.0)
        if not close.any():
            return None
        i = int(np.argmax(close.any(axis=1)))
        pair = int(np.argmin(np.where(close[i], margins[i], np.inf)))
        distance, least = float(distances[i, pair]), float(self._stated[pair])
        sentence = self.distances.sentence(pair, distance, least)
        return TooClose(i, self.distances.pairs[pair].first, sentence)

    def _least_from(self, q: Array, pose: Array) -> Array:
        """Return the least distances (pairs,), without pairs that touch at a start."""
        least = self._stated.copy()
        least[self.distances.touching(self._at_start, q, pose)] = -np.inf
        return least

    def finding(self, q: Array, pose: Array) -> Finding | None:
        """Return the pair that is too close, if there is one.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the object (7,).
        """
        if self.distances.margin(q, pose) >= 0.0:
            return None
        distances = self.distances(q, pose)
        pair = int(np.argmin(distances - self._least))
        sentence = self.distances.sentence(pair, float(distances[pair]), float(self._least[pair]))
        return Finding(Cause.TOO_CLOSE, self.distances.pairs[pair].first, sentence)


def _pairs(system: GraspSystem, *, with_object: bool = True) -> tuple[Pair, ...]:
    """Return all pairs, in the order of the program's outputs."""
    found = []
    for one, other in combinations(system.arms, 2):
        names = [(a, b) for a in system.path(one) for b in system.path(other)]
        found += [Pair(a, b, 2, False) for a, b in names[:-1]]
    for arm in system.arms:
        path = system.path(arm)
        found += [Pair(path[i], path[j], 2, True) for i, j in _within(path)]
    if with_object:
        found += [
            Pair(j, "object", 1, True) for arm in system.arms for j in system.path(arm)[:-_HOLDING]
        ]
    return tuple(found)


def _within(path: Sequence[str]) -> list[tuple[int, int]]:
    count = len(path)
    return [(i, j) for i in range(count) for j in range(i + _APART, count)]


def _axis_to_box(p: Vector3, p_end: Vector3, half: Vector3) -> Scalar:
    """Return the distance of the nearest of some points of an axis from a box at the origin."""
    nearest = _box_distance(p, half)
    for s in _SAMPLES[1:].tolist():
        nearest = minimum(nearest, _box_distance(p + (p_end - p) * s, half))
    return nearest


def _links(points: list[Vector3]) -> list[tuple[Vector3, Vector3]]:
    return list(pairwise(points))


def link_points(system: GraspSystem, q: Any) -> list[list[Vector3]]:
    """Return for each arm the origins of its joints and of its grasp in the world.

    Args:
        system: The arms.
        q: Positions of all joints of the arms, scalars in the order of `every_q`.
    """
    model = system.model
    full: list[Scalar] = list(model.neutral())
    for j, at in enumerate(system.every_q):
        full[at] = q[j]
    X0 = body_transforms(model, joint_transforms(model, full))
    found = []
    for arm in system.arms:
        loop = model.loops[arm.loop]
        grasp = loop.predecessor_placement.compose(X0[loop.predecessor]).r
        found.append([*(X0[model.joint_index(name)].r for name in system.path(arm)), grasp])
    return found


def segment_distance(p: Vector3, p_end: Vector3, q: Vector3, q_end: Vector3) -> Scalar:
    """Return the distance of segments p to p_end and q to q_end; points are allowed.

    The closest points of the lines, clamped to the segments one after the other (Ericson,
    Real-Time Collision Detection, 5.1.9). Of parallel lines any point will do.
    """
    u, v, w = p_end - p, q_end - q, p - q
    a, e = u.dot(u), v.dot(v)
    b, c, f = u.dot(v), u.dot(w), v.dot(w)
    s = _clamped((b * f - c * e) / maximum(a * e - b * b, _TINY * maximum(a * e, _TINY)))
    t = _clamped((b * s + f) / maximum(e, _TINY))
    s = _clamped((b * t - c) / maximum(a, _TINY))
    gap = w + u * s - v * t
    return sqrt(maximum(gap.dot(gap), 0.0))


def _called(function: Callable[..., Scalar], *vectors: Vector3) -> Scalar:
    """Return a function of vectors; its code is shared by all pairs, which run side by side."""
    return call(_program_of(function, len(vectors)), *map(list, vectors))["value"]


@lru_cache
def _program_of(function: Callable[..., Scalar], count: int) -> Program:
    def run(*vectors: Any) -> dict[str, Any]:
        return {"value": function(*map(Vector3.of, vectors[:count]))}

    inputs = {f"vector{i}": 3 for i in range(count)}
    return trace(run, name=function.__name__, inputs=inputs)


def _clamped(value: Scalar) -> Scalar:
    return minimum(maximum(value, 0.0), 1.0)


def _box_distance(point: Vector3, half: Vector3) -> Scalar:
    """Return the distance of a point from a box around the origin; 0 within it."""
    beyond = [maximum(absolute(x) - h, 0.0) for x, h in zip(point, half, strict=True)]
    return sqrt(beyond[0] * beyond[0] + beyond[1] * beyond[1] + beyond[2] * beyond[2])
