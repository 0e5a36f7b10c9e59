# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces that MuJoCo has no shape for: each point meets a plane that follows it.

Before every step the plane is laid where it touches the surface nearest to the point, by the
surface's function and its gradient there. Over a step a point moves by a few hundredths of a
millimetre, so that plane and surface differ by less than a thousandth of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation as Turn

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.scalar.derivatives import gradient
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.simulation.contact.scene import ContactScene, SurfaceContact
from robot_dynamics.simulation.contact.surfaces import (
    Cylinder,
    Hole,
    Plane,
    PointFunction,
    Sphere,
)
from robot_dynamics.spatial import Scalar, Vector3

Array = NDArray[np.float64]

_TINY = 1e-30


def has_shape(surface: PointFunction) -> bool:
    """Return whether MuJoCo has shapes for a surface."""
    if isinstance(surface, Sphere | Cylinder):
        return not surface.inside
    return isinstance(surface, Plane | Hole)


def tangent_names(surface: SurfaceContact) -> list[str]:
    """Return what the planes under a surface's points are called; none if it has a shape."""
    if has_shape(surface.surface):
        return []
    return [f"{surface.name}_tangent{j}" for j in range(len(surface.points))]


class TangentPlanes:
    """Planes that follow the points of an object along surfaces without a shape.

    Args:
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
        object_q: Where the object stands in MuJoCo's qpos.
        depth: How far below the surface the planes lie [m].
    """

    def __init__(
        self, model: Any, data: Any, scene: ContactScene, object_q: slice, depth: float
    ) -> None:
        self._data, self._object_q, self._depth = data, object_q, depth
        self._at = [
            int(model.body(name).mocapid[0])
            for surface in scene.surfaces
            for name in tangent_names(surface)
        ]
        if self._at:
            self._feet = _compiled(list(_points(scene)))

    def follow(self) -> None:
        """Lay the planes where the points are now."""
        if not self._at:
            return
        x, (w, *v) = self._data.qpos[self._object_q][:3], self._data.qpos[self._object_q][3:]
        feet, normals = self._feet(x, Turn.from_quat([*v, w]).as_matrix())
        for at, foot, n in zip(self._at, feet, normals, strict=True):
            self._data.mocap_pos[at] = foot - self._depth * n
            # The shortest turn of z to the normal, half a turn about x where that is opposite.
            turn = np.array([1.0 + n[2], -n[1], n[0], 0.0])
            size = np.linalg.norm(turn)
            self._data.mocap_quat[at] = turn / size if size > 1e-6 else [0.0, 1.0, 0.0, 0.0]


def _points(scene: ContactScene) -> Iterator[tuple[PointFunction, list[float]]]:
    """Yield surface and place in the object of each point that a plane follows."""
    for surface in scene.surfaces:
        if not has_shape(surface.surface):
            for point in surface.points.tolist():
                yield surface.surface, point


def _compiled(points: list[tuple[PointFunction, list[float]]]) -> Any:
    """Return `(x, R) -> feet (k, 3), normals (k, 3)` of points of a body with that pose."""

    def run(x: Any, R: Any, _: Any) -> dict[str, Any]:
        found = []
        for surface, point in points:
            along = (sum(r * c for r, c in zip(row, point, strict=True)) for row in R)
            found.append(_tangent(surface, Vector3.of(x) + Vector3.of(list(along))))
        return {"feet": [foot for foot, _ in found], "normals": [n for _, n in found]}

    return compile_program(trace(run, "tangents", {"x": 3, "R": (3, 3)}), lanes=1).bind()


def _tangent(surface: PointFunction, place: Vector3) -> tuple[list[Scalar], list[Scalar]]:
    """Return the nearest place on a surface, to first order, and the normal there."""

    def p(at: Sequence[Scalar]) -> Scalar:
        return surface(Vector3.of(at))

    slope = Vector3.of(gradient(p, list(place)))
    size = sqrt(slope.dot(slope) + _TINY)
    n = slope * (-1.0 / size)
    return [*(place + n * (p(list(place)) / size))], [*n]
