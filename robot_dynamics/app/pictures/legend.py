# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Legend and clock of a scene, the same in pictures and on the page."""

from __future__ import annotations

from typing import Literal, NamedTuple

from robot_dynamics.app.pictures.shapes import (
    FORCE_COLOR,
    FORCE_SCALE,
    GHOST_ALPHA,
    MOMENT_COLOR,
    MOMENT_SCALE,
    PUSH_COLOR,
    SAFE_COLOR,
    SURFACE_COLOR,
    TILE,
    USED_COLOR,
    WOOD,
)
from robot_dynamics.app.pictures.visual_scene import VisualScene
from robot_dynamics.description.meshes import Color

_LENGTH = 0.3  # of the arrows whose force and moment the legend states [m]
_TILE_COLOR: Color = (0.80, 0.815, 0.835, 1.0)


class LegendEntry(NamedTuple):
    """A line of the legend.

    Attributes:
        kind: An arrow, or a patch of colour.
        color: Its colour.
        text: Its meaning, with scale and unit.
    """

    kind: Literal["arrow", "patch"]
    color: Color
    text: str


def legend(scene: VisualScene, *, pushes: bool = False) -> list[LegendEntry]:
    """Return the legend of a scene, with the kinds that occur in it.

    Args:
        scene: The scene.
        pushes: Whether the mouse can push bodies.
    """
    roles, names = {body.role for body in scene.bodies}, {arrow.color for arrow in scene.arrows}
    newtons = f"{_LENGTH:g} m at {_LENGTH / FORCE_SCALE:g} N"
    found = []
    if FORCE_COLOR in names:
        found.append(LegendEntry("arrow", FORCE_COLOR, f"force, {newtons}"))
    if MOMENT_COLOR in names:
        scale = f"{_LENGTH:g} m at {_LENGTH / MOMENT_SCALE:g} N m"
        found.append(LegendEntry("arrow", MOMENT_COLOR, f"moment, {scale}"))
    if pushes:
        found.append(LegendEntry("arrow", PUSH_COLOR, f"push by the mouse, {newtons}"))
    if "cone" in roles:
        found.append(LegendEntry("patch", SAFE_COLOR, "friction cone, 0 % used"))
        found.append(LegendEntry("patch", USED_COLOR, "friction cone, 100 % used"))
    if "reference" in roles:
        found.append(
            LegendEntry("patch", (*WOOD[:3], 2.0 * GHOST_ALPHA), "reference of the object")
        )
    surfaces = ", ".join(body.name for body in scene.bodies if body.role == "surface")
    if surfaces:
        found.append(LegendEntry("patch", SURFACE_COLOR, f"surface: {surfaces}"))
    return [*found, LegendEntry("patch", _TILE_COLOR, f"floor tile, {TILE:g} m")]


def clock(scene: VisualScene, instant: int) -> str:
    """Return time and phase at an instant; empty for a scene without motion.

    Args:
        scene: The scene.
        instant: Number of the instant.
    """
    if len(scene.times) < 2 and not scene.arrows:
        return ""
    text = f"t = {scene.times[instant]:.2f} s"
    return f"{text}   {scene.phases[int(scene.phase[instant])]}" if scene.phases else text
