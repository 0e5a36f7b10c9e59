# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stills and films of a scene by MuJoCo's renderer and OSMesa, without display or GPU.

from robot_dynamics.app.pictures.render import Camera, render_film, scene_of_recording

scene = scene_of_recording("run.npz", interval=1 / 30)
render_film(scene, "run.mp4", rate=30.0, camera=Camera(azimuth=-60.0))
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.app.pictures.captions import Captions
from robot_dynamics.app.pictures.shapes import SHORTEST_ARROW, TILE, Mesh, VisualError, require
from robot_dynamics.app.pictures.visual_scene import (
    Arrow,
    VisualScene,
    scene_of_recording,
    scene_of_robot,
)
from robot_dynamics.app.progress import Listener, StudyProgress

Image = NDArray[np.uint8]

__all__ = [
    "Camera",
    "Renderer",
    "render_film",
    "render_still",
    "scene_of_recording",
    "scene_of_robot",
]

#: Suffixes of pictures and films.
STILL, MOVING = (".png",), (".mp4", ".gif", ".webp")
_ARROW_WIDTH = 0.011  # radius of the shaft [m]
_SMALL = 640 * 480  # pictures whose edges are smoothed by default [pixels]
_HIDDEN = 0.55  # opacity of arrows behind something
_FIELD = 35.0  # vertical field of view [degrees]
_MAX_SIDE = 4096  # of a picture [pixels]
_SKY = ((0.80, 0.86, 0.92), (0.93, 0.95, 0.97))  # above, at the horizon
_FLOOR = ((0.84, 0.85, 0.865), (0.80, 0.815, 0.835))  # tiles
_GIF_COLORS = 128
_WEBP_QUALITY = 55


class Camera(NamedTuple):
    """Viewpoint of a scene.

    Attributes:
        azimuth: Direction from the scene to the camera about the world's z axis, from x [degrees].
        elevation: Height of the camera above the horizon, seen from the scene [degrees].
        zoom: 1 shows the whole reach of robots and object, 2 half of it, closer to the object.
    """

    azimuth: float = 35.0
    elevation: float = 20.0
    zoom: float = 1.0


class Renderer:
    """Draws the instants of a scene.

    Args:
        scene: The scene.
        size: Width and height [pixels].
        camera: The camera.
        smooth: Whether edges are smoothed, which doubles the time; by default for small pictures.
        captions: Whether legend and clock are written into the pictures.

    Raises:
        VisualError: If MuJoCo or OSMesa is missing, or the size is refused.
    """

    def __init__(
        self,
        scene: VisualScene,
        size: tuple[int, int] = (1280, 720),
        camera: Camera = Camera(),  # noqa: B008 - a constant
        smooth: bool | None = None,
        captions: bool = True,
    ) -> None:
        if not all(16 <= side <= _MAX_SIDE for side in size):
            raise VisualError(
                f"a picture of {size[0]} by {size[1]} pixels; expected 16 to {_MAX_SIDE} each."
            )
        self._scene, (width, height) = scene, size
        self._mujoco = mujoco = _require_mujoco()
        self._model, self._geoms = _model(mujoco, scene, size, smooth)
        self._data = mujoco.MjData(self._model)
        self._camera = _placed(mujoco, scene, camera, width / height)
        self._own_colors = self._model.geom_rgba.copy()
        self._renderer = _opened(mujoco, self._model, width, height)
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_FOG] = 1
        self._only_arrows = mujoco.MjvOption()
        self._only_arrows.geomgroup[:] = 0
        self._captions = Captions(scene, height) if captions else None

    def close(self) -> None:
        """Release the resources of the renderer."""
        self._renderer.close()

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def draw(self, instant: int) -> Image:
        """Return the picture of an instant (height, width, 3)."""
        picture = self._drawn(instant)
        return picture if self._captions is None else self._captions.written(picture, instant)

    def _drawn(self, instant: int) -> Image:
        """Return the picture of an instant without captions."""
        data, renderer = self._data, self._renderer
        for i, body in enumerate(self._scene.bodies):
            at = body.poses[instant]
            data.mocap_pos[i] = at[:3, 3]
            self._mujoco.mju_mat2Quat(data.mocap_quat[i], np.ascontiguousarray(at[:3, :3]).ravel())
            if body.colors is not None:
                self._model.geom_rgba[self._geoms[i]] = body.colors[instant]
        self._mujoco.mj_kinematics(self._model, data)
        self._mujoco.mj_camlight(self._model, data)
        renderer.update_scene(data, self._camera)
        arrows = [one for one in self._scene.arrows if _long(one, instant)]
        self._add(arrows, instant)
        picture: Image = renderer.render()
        if not arrows:
            return picture
        # Arrows inside hands and object are visible through them.
        renderer.update_scene(data, self._camera, self._only_arrows)
        self._add(arrows, instant)
        flags = renderer.scene.flags
        before = flags.copy()
        for flag in ("SKYBOX", "SHADOW", "REFLECTION", "FOG"):
            flags[getattr(self._mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        alone = renderer.render()
        flags[:] = before
        there = alone.any(axis=2)
        mixed = _HIDDEN * alone[there] + (1.0 - _HIDDEN) * picture[there]
        picture[there] = mixed.astype(np.uint8)
        return picture

    def _add(self, arrows: list[Arrow], instant: int) -> None:
        """Add arrows to the next picture."""
        scene, mujoco = self._renderer.scene, self._mujoco
        for arrow in arrows:
            geom = scene.geoms[scene.ngeom]
            kind, tip = mujoco.mjtGeom.mjGEOM_ARROW, arrow.tips[instant]
            color = np.array(arrow.color, np.float32)
            mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.zeros(9), color)
            # MuJoCo draws an arrow half as long as its connector.
            tail, along = tip - arrow.vectors[instant], 2.0 * arrow.vectors[instant]
            mujoco.mjv_connector(geom, kind, _ARROW_WIDTH, tail, tail + along)
            scene.ngeom += 1


def _long(arrow: Arrow, instant: int) -> bool:
    return bool(np.linalg.norm(arrow.vectors[instant]) > SHORTEST_ARROW)


def require_renderer(path: Path) -> None:
    """Check that pictures of a file's suffix can be made, before the work that fills them.

    Raises:
        VisualError: If the suffix is unknown, or a package or library is missing.
    """
    suffix = path.suffix.lower()
    if suffix not in (*STILL, *MOVING):
        raise VisualError(f"{path}: expected a picture or film as {', '.join((*STILL, *MOVING))}.")
    if suffix == ".mp4":
        require("imageio_ffmpeg", "imageio-ffmpeg", "films as .mp4")
    else:
        require("PIL", "pillow", f"pictures as {suffix}")
    mujoco = _require_mujoco()
    _opened(mujoco, mujoco.MjModel.from_xml_string("<mujoco/>"), 16, 16).close()


def render_still(
    scene: VisualScene,
    path: str | Path,
    time: float,
    *,
    size: tuple[int, int] = (1280, 720),
    camera: Camera = Camera(),  # noqa: B008
    captions: bool = True,
) -> Path:
    """Write the picture of an instant, and return its path.

    Args:
        scene: The scene.
        path: The file, .png.
        time: The instant [s].
        size: Width and height [pixels].
        camera: Where it is seen from.
        captions: Whether legend and clock are written into it.

    Raises:
        VisualError: If something is missing, or the file cannot be written.
    """
    path = Path(path)
    require_renderer(path)
    from PIL import Image as Pillow

    with Renderer(scene, size, camera, smooth=True, captions=captions) as renderer:
        picture = renderer.draw(scene.at(time))
    with whole_file(path, VisualError) as part:
        Pillow.fromarray(picture).save(part, optimize=True)
    return path


def render_film(
    scene: VisualScene,
    path: str | Path,
    rate: float,
    *,
    size: tuple[int, int] = (1280, 720),
    camera: Camera = Camera(),  # noqa: B008
    captions: bool = True,
    progress: Listener | None = None,
) -> Path:
    """Write a film of all instants of a scene completely or not at all, and return its path.

    Args:
        scene: The scene; its instants are the pictures.
        path: The file, .mp4, .gif or .webp.
        rate: Pictures a second.
        size: Width and height [pixels]; of .mp4 they become even.
        camera: Where it is seen from.
        captions: Whether legend and clock are written into the pictures.
        progress: Called after each picture.

    Raises:
        VisualError: If something is missing, or the file cannot be written.
    """
    path = Path(path)
    require_renderer(path)
    count = len(scene.times)
    size = (size[0] - size[0] % 2, size[1] - size[1] % 2)
    renderer = Renderer(scene, size, camera, captions=captions)
    with renderer, whole_file(path, VisualError) as part:

        def pictures() -> Iterator[Image]:
            for instant in range(count):
                yield renderer.draw(instant)
                if progress is not None:
                    doing = f"{scene.times[instant]:6.2f} s of {scene.times[-1]:.2f} s"
                    progress(StudyProgress(instant + 1, count, doing))

        write = {".mp4": _write_mp4, ".gif": _write_gif, ".webp": _write_webp}[path.suffix.lower()]
        write(part, pictures(), size, rate)
    return path


def _write_mp4(path: Path, pictures: Iterator[Image], size: tuple[int, int], rate: float) -> None:
    import imageio_ffmpeg

    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=rate, codec="libx264", quality=None, macro_block_size=2,
        output_params=["-crf", "23", "-preset", "medium", "-movflags", "+faststart"],
        ffmpeg_log_level="error",
    )  # fmt: skip
    try:
        writer.send(None)
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
    finally:
        writer.close()


def _write_gif(path: Path, pictures: Iterator[Image], size: tuple[int, int], rate: float) -> None:
    from PIL import Image as Pillow

    first, *others = [
        Pillow.fromarray(picture).quantize(_GIF_COLORS, method=Pillow.Quantize.FASTOCTREE)
        for picture in pictures
    ]
    duration = max(20, round(1000.0 / rate))  # players take less than 20 ms for 100
    first.save(path, save_all=True, append_images=others, duration=duration, loop=0, optimize=True)


def _write_webp(path: Path, pictures: Iterator[Image], size: tuple[int, int], rate: float) -> None:
    from PIL import Image as Pillow

    first, *others = [Pillow.fromarray(picture) for picture in pictures]
    duration = round(1000.0 / rate)
    first.save(
        path, save_all=True, append_images=others, duration=duration, loop=0,
        quality=_WEBP_QUALITY, method=4, minimize_size=True,
    )  # fmt: skip


def _model(
    mujoco: Any, scene: VisualScene, size: tuple[int, int], smooth: bool | None
) -> tuple[Any, list[list[int]]]:
    """Return a MuJoCo model of bodies that are put where a scene has them.

    Returns:
        The model, and the numbers of the geoms of each body.
    """
    spec = mujoco.MjSpec()
    low, high = scene.bounds()
    reach = float(np.linalg.norm(high - low))
    spec.stat.center, spec.stat.extent = 0.5 * (low + high), max(reach, 0.1)
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = size
    visual.global_.fovy = _FIELD
    fine = size[0] * size[1] <= _SMALL if smooth is None else smooth
    quality = (4096, 4) if fine else (1024, 0)
    visual.quality.shadowsize, visual.quality.offsamples = quality
    visual.map.znear, visual.map.zfar = 0.01, 60.0
    visual.map.fogstart, visual.map.fogend = 1.8, 7.0
    visual.map.shadowclip = 2.2
    visual.rgba.fog = (*_SKY[1], 1.0)
    visual.headlight.ambient = (0.42, 0.42, 0.43)
    visual.headlight.diffuse = (0.28, 0.28, 0.28)
    visual.headlight.specular = (0.05, 0.05, 0.05)
    kinds = mujoco.mjtTexture
    spec.add_texture(
        name="sky", type=kinds.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=_SKY[0], rgb2=_SKY[1], width=256, height=256,
    )  # fmt: skip
    spec.add_texture(
        name="floor", type=kinds.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=_FLOOR[0], rgb2=_FLOOR[1], width=256, height=256,
    )  # fmt: skip
    floor = spec.add_material(name="floor", texrepeat=(1.0 / TILE, 1.0 / TILE), texuniform=True)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    floor.specular = 0.0
    paint = spec.add_material(name="paint", specular=0.35, shininess=0.45)
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    at = (*spec.stat.center[:2], min(low[2], 0.0) if low[2] < 0.0 or low[2] > 0.05 else 0.0)
    spec.worldbody.add_geom(type=plane, size=(20.0, 20.0, 0.1), pos=at, material=floor.name)
    middle = 0.5 * (low + high)
    for side, bright, shadow in (((0.7, -0.5, 2.6), 0.5, True), ((0.3, 1.5, 0.8), 0.22, False)):
        where = middle + max(reach, 0.5) * np.array(side)
        spec.worldbody.add_light(
            pos=where, dir=middle - where, type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            diffuse=(bright,) * 3, specular=(0.6 * bright,) * 3, ambient=(0.0,) * 3,
            castshadow=shadow,
        )  # fmt: skip
    geoms: list[list[int]] = []
    number = 1  # the floor is 0
    for i, body in enumerate(scene.bodies):
        frame = spec.worldbody.add_body(name=f"body {i}", mocap=True)
        for j, mesh in enumerate(body.meshes):
            name = f"mesh {i} {j}"
            _add_mesh(mujoco, spec, name, mesh)
            frame.add_geom(
                type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, rgba=mesh.color,
                material=paint.name, contype=0, conaffinity=0,
            )  # fmt: skip
        geoms.append(list(range(number, number + len(body.meshes))))
        number += len(body.meshes)
    try:
        return spec.compile(), geoms
    except ValueError as error:
        raise VisualError(f"{scene.name}: cannot be drawn ({error}).") from error


def _add_mesh(mujoco: Any, spec: Any, name: str, mesh: Mesh) -> None:
    added = spec.add_mesh(name=name)
    added.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    added.uservert = mesh.vertices.astype(np.float32).ravel().tolist()
    added.usernormal = mesh.normals.astype(np.float32).ravel().tolist()
    added.userface = mesh.faces.ravel().tolist()
    added.userfacenormal = mesh.faces.ravel().tolist()


def _placed(mujoco: Any, scene: VisualScene, camera: Camera, aspect: float) -> Any:
    """Return MuJoCo's camera; with a zoom of 1 it sees robots and object at all times."""
    (ca, ce), (sa, se) = (f(np.radians(camera[:2])) for f in (np.cos, np.sin))
    back = np.array([ce * ca, ce * sa, se])
    right = np.array([-sa, ca, 0.0])
    axes = np.array([right, np.cross(back, right), back])
    middle = scene.bounds().mean(axis=0)
    corners = (scene.corners() - middle) @ axes.T
    tangent = np.tan(np.radians(0.5 * _FIELD)) * np.array([aspect, 1.0])
    # Least distance at which each corner is in the picture.
    distance = np.max(np.abs(corners[:, :2]) / tangent + corners[:, 2:], initial=0.05)
    placed = mujoco.MjvCamera()
    placed.type = mujoco.mjtCamera.mjCAMERA_FREE
    of_object = scene.bounds("object")
    if camera.zoom > 1.0 and of_object.any():
        middle = middle + (1.0 - 1.0 / camera.zoom) * (of_object.mean(axis=0) - middle)
    placed.lookat = middle
    placed.distance = 1.06 * float(distance) / camera.zoom
    placed.azimuth, placed.elevation = camera.azimuth + 180.0, -camera.elevation
    return placed


def _require_mujoco() -> Any:
    """Return MuJoCo, set up to draw without a display unless the environment chooses."""
    require("mujoco", "mujoco", "pictures and films")
    told = "MUJOCO_GL" in os.environ  # read when MuJoCo is imported
    if not told and "mujoco" in sys.modules:
        raise VisualError(
            "MuJoCo was imported before it was told how to draw without a display; expected "
            "MUJOCO_GL=osmesa in the environment."
        )
    library = os.environ.setdefault("MUJOCO_GL", "osmesa")
    try:
        import mujoco
    except Exception as error:  # of several kinds, by library and version
        if not told:
            del os.environ["MUJOCO_GL"]
        raise _no_library(library, error) from error
    return mujoco


def _opened(mujoco: Any, model: Any, width: int, height: int) -> Any:
    """Return MuJoCo's renderer.

    Raises:
        VisualError: If there is no library for it to draw with.
    """
    hook, sys.unraisablehook = sys.unraisablehook, lambda *_: None  # of what is half opened
    try:
        return mujoco.Renderer(model, height, width, max_geom=10000)
    except Exception as error:  # as above
        raise _no_library(os.environ["MUJOCO_GL"], error) from error
    finally:
        sys.unraisablehook = hook


def _no_library(library: str, error: Exception) -> VisualError:
    if library == "osmesa":
        return VisualError(
            "pictures and films without a display need the library OSMesa, which is not "
            "installed; expected `sudo apt install libosmesa6`, or MUJOCO_GL=egl with a GPU."
        )
    return VisualError(
        f"MUJOCO_GL is {library!r}, with which nothing can be drawn here ({error}); expected "
        "osmesa, or egl with a GPU."
    )
