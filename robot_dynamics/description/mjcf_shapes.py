# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Geoms of MJCF as shapes of links.

A geom that can collide is a collision shape; one in a group that MuJoCo shows by default (0, 1, 2)
is a visual shape. Many are both.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Shape
from robot_dynamics.description.meshes import Color
from robot_dynamics.description.mjcf_source import MjcfSource, rotation
from robot_dynamics.model.elements import inverse_pose, pose

_HIDDEN = 3  # first group of geoms that are not shown
_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's colour of geoms that state none


def read_shapes(source: MjcfSource) -> tuple[Shape, ...]:
    """Return the shapes of all links; unsupported kinds of geoms are listed."""
    m = source.model
    paired = {int(geom) for geom in (*m.pair_geom1, *m.pair_geom2)}
    shapes: list[Shape] = []
    left_out: Counter[str] = Counter()
    for geom in range(m.ngeom):
        kind = source.kind("Geom", m.geom_type[geom])
        link = source.links[m.geom_bodyid[geom]]
        size, frame, mesh = _size(kind, m.geom_size[geom]), source.frame("geom", geom), ""
        if kind == "mesh":
            index = int(m.geom_dataid[geom])
            mesh, size = source.meshes[index], tuple(map(float, m.mesh_scale[index]))
            # MuJoCo moves the vertices to the mesh's centre and principal axes.
            frame = frame @ inverse_pose(pose(m.mesh_pos[index], rotation(m.mesh_quat[index])))
        if size is None or (kind == "mesh" and not mesh):
            left_out[kind] += 1
            continue
        collides = m.geom_contype[geom] or m.geom_conaffinity[geom] or geom in paired
        roles: list[Literal["visual", "collision"]] = []
        if m.geom_group[geom] < _HIDDEN:
            roles.append("visual")
        if collides:
            roles.append("collision")
        for role in roles:
            color = _color(source, geom) if role == "visual" else None
            shapes.append(Shape(link, role, kind, frame, size, mesh, color))  # type: ignore[arg-type]
    if left_out:
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(left_out.items()))
        source.diagnosis.warning(source.file, "", f"geoms are left out as shapes: {counts}")
    return tuple(shapes)


def _size(kind: str, size: Array) -> tuple[float, ...] | None:
    """Return the sizes of a shape from the half lengths of a geom; None without such a shape."""
    a, b, c = (float(value) for value in size)
    sizes: dict[str, tuple[float, ...]] = {
        "box": (2.0 * a, 2.0 * b, 2.0 * c),
        "sphere": (a,),
        "cylinder": (a, 2.0 * b),
        "capsule": (a, 2.0 * b),
        "mesh": (1.0, 1.0, 1.0),
    }
    return sizes.get(kind)


def _color(source: MjcfSource, geom: int) -> Color:
    m = source.model
    stated = np.array(m.geom_rgba[geom], dtype=float)
    if m.geom_matid[geom] >= 0 and np.allclose(stated, _GREY):
        stated = np.array(m.mat_rgba[m.geom_matid[geom]], dtype=float)
    # Single precision; six digits are those that were stated.
    r, g, b, a = (round(float(value), 6) for value in stated)
    return r, g, b, a
