# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Legend and clock in rendered pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.pictures.legend import LegendEntry, clock, legend
from robot_dynamics.app.pictures.shapes import require
from robot_dynamics.app.pictures.visual_scene import VisualScene

_INK, _PAPER = (34, 34, 34), (245, 246, 248)


class Captions:
    """Legend and clock, written into pictures.

    Args:
        scene: The scene.
        height: Of the pictures [pixels].
    """

    def __init__(self, scene: VisualScene, height: int) -> None:
        require("PIL", "pillow", "captions of pictures")
        from PIL import ImageFont

        self._scene, self._entries = scene, legend(scene)
        self._size = max(10, round(height / 40))
        self._font = ImageFont.load_default(self._size)

    def written(self, picture: NDArray[np.uint8], instant: int) -> NDArray[np.uint8]:
        """Return a picture with the legend at the bottom left and the clock at the top left."""
        from PIL import Image as Pillow
        from PIL import ImageDraw

        shown = Pillow.fromarray(picture)
        draw, size = ImageDraw.Draw(shown), self._size
        line, left = round(1.35 * size), round(0.8 * size)
        style: dict[str, Any] = {"fill": _INK, "font": self._font, "anchor": "lm"}
        style |= {"stroke_width": max(1, size // 12), "stroke_fill": _PAPER}
        time = clock(self._scene, instant)
        if time:
            draw.text((left, left + 0.5 * size), time, **style)
        top = picture.shape[0] - left - line * len(self._entries)
        for i, entry in enumerate(self._entries):
            middle = top + (i + 0.5) * line
            self._draw_symbol(draw, entry, left, middle)
            draw.text((left + 2.6 * size, middle), entry.text, **style)
        return np.asarray(shown)

    def _draw_symbol(self, draw: Any, entry: LegendEntry, left: float, middle: float) -> None:
        size, alpha = self._size, entry.color[3]
        color = tuple(round(255.0 * (alpha * one + 1.0 - alpha)) for one in entry.color[:3])
        right = left + 2.0 * size
        if entry.kind == "patch":
            box = (left + 0.4 * size, middle - 0.4 * size, right - 0.4 * size, middle + 0.4 * size)
            draw.rectangle(box, fill=color, outline=_INK)
            return
        head = right - 0.7 * size
        width = max(2, round(0.18 * size))
        draw.line((left, middle, head, middle), fill=color, width=width)
        corners = [(head, middle - 0.35 * size), (right, middle), (head, middle + 0.35 * size)]
        draw.polygon(corners, fill=color)
