# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page in the browser that shows a scene, by viser: no display server and no ROS."""

from __future__ import annotations

import contextlib
import importlib
import io
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.page_content import PageCharts, bars_html, legend_html, state_html
from robot_dynamics.app.pictures.shapes import (
    FORCE_SCALE,
    PUSH_COLOR,
    SHORTEST_ARROW,
    TILE,
    VisualError,
    require,
)
from robot_dynamics.app.pictures.visual_scene import VisualBody, VisualScene
from robot_dynamics.arrays import Array

LOOPBACK, PORT = "127.0.0.1", 8080
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_STEP_S = 1.0 / 30.0  # wall-clock time between two instants that are shown
_CHARTS_S = 0.12  # wall-clock time between two drawings of the charts, at least
_LARGEST_PUSH = 60.0  # of a slider, and of the mouse [N]
_PANEL = 320  # width of the charts and of the controls [pixels]


class Page:
    """A scene on a page, which browsers can open while it exists.

    Attributes:
        host: The address that it listens on.
        port: The port; differs from the requested one if that is in use.

    Args:
        scene: The scene.
        host: Address to listen on; "0.0.0.0" admits other machines.
        port: Port to listen on.
        live: Whether `update` replaces the scene of a running simulation; the page then has no
            time slider.
        pushes: Whether the mouse pushes bodies, and sliders the object.

    Raises:
        VisualError: If viser is missing, or the address is not of this machine.
    """

    def __init__(
        self,
        scene: VisualScene,
        host: str = LOOPBACK,
        port: int = PORT,
        *,
        live: bool = False,
        pushes: bool = False,
    ) -> None:
        viser = require_viser()
        try:
            with socket.socket() as probe:
                probe.bind((host, 0))
        except OSError as error:
            raise VisualError(
                f"{host}: cannot be listened on ({error.strerror}); expected an address of this "
                "machine, as 127.0.0.1, or 0.0.0.0 for all of them."
            ) from error
        self._scene, self._instant = scene, 0
        self._live = live
        can = scene.pushable if pushes else ()
        self._pushable = [
            body for body in scene.bodies if body.name in can and body.role in ("robot", "object")
        ]
        self._lock = threading.RLock()
        with contextlib.redirect_stdout(io.StringIO()):  # its own greeting
            server = viser.ViserServer(host, port, label=scene.name, verbose=False)
        self._server = server
        self.host, self.port = host, int(server.get_port())
        server.gui.configure_theme(show_share_button=False, show_logo=False)
        server.scene.set_up_direction("+z")
        low, high = scene.bounds()
        middle, reach = 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 0.2)
        server.initial_camera.look_at = tuple(middle)
        server.initial_camera.position = tuple(middle + 0.85 * reach * np.array([0.8, 0.55, 0.4]))
        ground = (0, 0, min(low[2], 0))
        server.scene.add_grid("/floor", 10.0, 10.0, cell_size=TILE, position=ground)
        self._bodies = [self._add(i, body) for i, body in enumerate(scene.bodies)]
        nothing = np.zeros((1, 2, 3)), np.zeros((1, 3), np.uint8)
        self._arrows = server.scene.add_arrows(
            "/arrows", *nothing, shaft_radius=0.008, head_radius=0.02, head_length=0.04
        )
        self._frames = {
            kind: _Frames(server.scene, kind, names, length * reach)
            for kind, names, length in (
                ("tool", list(scene.tools), 0.09),
                ("link", [name for name in scene.frames if name not in scene.tools], 0.06),
            )
            if names
        }
        self._sliders: dict[str, list[Any]] = {}
        self._grabs: dict[int, tuple[str, Array, Array]] = {}
        self._charts, self._charts_shown = PageCharts(server.gui, scene.charts, _PANEL), 0.0
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(_PANEL)
        self._add_controls(server)
        self._add_grips(server)
        self.show(0)

    @property
    def address(self) -> str:
        """Address of the page for a browser on this machine."""
        host = LOOPBACK if self.host in ("0.0.0.0", "") else self.host
        return f"http://{host}:{self.port}"

    @property
    def playing(self) -> bool:
        """Whether time advances."""
        return bool(self._playing.value)

    @property
    def speed(self) -> float:
        """Speed, as a factor of real time."""
        return float(self._speed.value)

    @property
    def pushes(self) -> Mapping[str, Array]:
        """Moment and force by sliders and mouse (6,) [N m, N], world axes, by name of the body.

        The moment is about the origin of the body.
        """
        with self._lock:
            grabs = list(self._grabs.values())
        found: dict[str, Array] = {}
        for name, sliders in self._sliders.items():
            found[name] = np.array([0.0, 0.0, 0.0, *(float(one.value) for one in sliders)])
        for name, arm, force in grabs:
            wrench = np.concatenate([np.cross(arm, force), force])
            found[name] = found.get(name, np.zeros(6)) + wrench
        return found

    def update(self, scene: VisualScene) -> None:
        """Show another scene of the same bodies, at its first instant.

        Args:
            scene: The scene.
        """
        self._scene = scene
        self._time.value = float(scene.times[0])
        self.show(0)

    def pose(self, name: str) -> Array:
        """Return the pose at which a body is shown, x y z qw qx qy qz (7,).

        Args:
            name: Its name.
        """
        names = [body.name for body in self._scene.bodies]
        frame, _ = self._bodies[names.index(name)]
        return np.array([*frame.position, *frame.wxyz])

    def show(self, instant: int) -> None:
        """Show an instant in all browsers."""
        scene = self._scene
        with self._lock, self._server.atomic():
            self._instant = instant
            for body, (frame, meshes) in zip(scene.bodies, self._bodies, strict=True):
                at = body.poses[instant]
                frame.position = tuple(at[:3, 3])
                frame.wxyz = tuple(_quaternions(at[None, :3, :3])[0])
                if body.colors is not None:
                    for mesh in meshes:
                        mesh.color = _rgb(body.colors[instant])
            for frames in self._frames.values():
                frames.show(scene, instant)
            self._show_arrows(scene, instant)
            self._state.content = state_html(scene, instant)
            self._bars.content = bars_html(scene, instant)
            now = time.perf_counter()
            if not self._playing.value or now - self._charts_shown > _CHARTS_S:
                self._charts.show(scene.charts, float(scene.times[instant]))
                self._charts_shown = now

    def play(self) -> None:
        """Play until it is interrupted."""
        first, last = float(self._scene.times[0]), float(self._scene.times[-1])
        before = time.perf_counter()
        while True:
            time.sleep(_STEP_S)
            now = time.perf_counter()
            elapsed, before = now - before, now
            if last > first and self._playing.value:
                at = float(self._time.value) + elapsed * float(self._speed.value)
                self._time.value = at if at <= last else first  # shows it, see _add_controls

    def close(self) -> None:
        """Close the page in all browsers."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def _show_arrows(self, scene: VisualScene, instant: int) -> None:
        """Show forces and moments if asked to, and pushes by the mouse."""
        points, colors = [], []
        for one in scene.arrows if self._with_forces.value else ():
            if np.linalg.norm(one.vectors[instant]) > SHORTEST_ARROW:
                tip = one.tips[instant]
                points.append([tip - one.vectors[instant], tip])
                colors.append(_rgb(one.color))
        for name, arm, force in self._grabs.values():
            grip = scene.frames[name][instant, :3, 3] + arm
            points.append([grip, grip + FORCE_SCALE * force])
            colors.append(_rgb(PUSH_COLOR))
        self._arrows.visible = bool(points)
        if points:
            self._arrows.points = np.array(points, np.float32)
            self._arrows.colors = np.array(colors, np.uint8)

    def _add(self, number: int, body: VisualBody) -> tuple[Any, list[Any]]:
        """Return the handles of a body's frame, and of its meshes."""
        scene, name = self._server.scene, f"/{number} {body.name}"
        frame = scene.add_frame(name, show_axes=False)
        meshes = []
        for i, mesh in enumerate(body.meshes):
            opacity = mesh.color[3]
            meshes.append(
                scene.add_mesh_simple(
                    f"{name}/{i}",
                    mesh.vertices.astype(np.float32),
                    mesh.faces.astype(np.uint32),
                    color=_rgb(mesh.color),
                    opacity=opacity if opacity < 1.0 else None,
                )
            )
        return frame, meshes

    def _add_controls(self, server: Any) -> None:
        gui, scene = server.gui, self._scene
        first, last = float(scene.times[0]), float(scene.times[-1])
        moving = last > first or self._live
        self._playing = gui.add_checkbox("play", moving, visible=moving)
        if self._live:
            self._time = gui.add_number("time [s]", 0.0, step=0.01, disabled=True)
        else:
            ends = (first, last) if moving else (0.0, 1.0)
            self._time = gui.add_slider("time [s]", *ends, 0.01, ends[0], visible=moving)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1", visible=moving)
        self._state = gui.add_html("")
        with gui.add_folder("show"):
            self._with_forces = gui.add_checkbox("forces", True, visible=bool(scene.arrows))
            ghosts = [
                handles[0]
                for body, handles in zip(scene.bodies, self._bodies, strict=True)
                if body.role == "reference"
            ]
            with_ghosts = gui.add_checkbox("reference", True, visible=bool(ghosts))
            boxes = {kind: gui.add_checkbox(f"{kind} frames", False) for kind in self._frames}
            with_names = gui.add_checkbox("frame names", True, visible=bool(boxes))
        shown = legend_html(scene, pushes=bool(self._pushable), frames=bool(scene.frames))
        gui.add_html(shown)
        self._add_sliders(gui)
        self._bars = gui.add_html("")

        def change(_: object) -> None:
            for ghost in ghosts:
                ghost.visible = with_ghosts.value
            for kind, box in boxes.items():
                self._frames[kind].choose(box.value, box.value and with_names.value)
            self.show(self._instant)

        def show(_: object) -> None:
            self.show(self._scene.at(float(self._time.value)))

        for box in (with_ghosts, with_names, self._with_forces, *boxes.values()):
            box.on_update(change)
        if not self._live:
            self._time.on_update(show)

    def _add_grips(self, server: Any) -> None:
        """Make bodies respond to drags of the mouse."""
        handles = dict(zip(self._scene.bodies, self._bodies, strict=True))
        for body in self._pushable:
            # Only coroutines are called in the order of the events.
            async def drag(event: Any, name: str = body.name) -> None:
                self._drag(name, event)

            for mesh in handles[body][1]:
                mesh.on_drag("left")(drag)
        server.on_client_disconnect(lambda client: self._let_go(client.client_id))

    def _add_sliders(self, gui: Any) -> None:
        """Add sliders that push the object, and a button that lets go."""
        name = next((body.name for body in self._pushable if body.role == "object"), None)
        if name is None:
            return
        with gui.add_folder(f"push {name} [N]"):
            limits = -_LARGEST_PUSH, _LARGEST_PUSH, 1.0, 0.0
            sliders = [gui.add_slider(axis, *limits) for axis in ("x", "y", "z")]
            release = gui.add_button("let go")
        self._sliders[name] = sliders

        @release.on_click
        def _(_: object) -> None:
            for slider in sliders:
                slider.value = 0.0

    def _drag(self, name: str, event: Any) -> None:
        """Push a body from the point that the mouse grabbed towards where it is now.

        The force is such that its arrow reaches the mouse, up to the largest.
        """
        grip, mouse = np.asarray(event.start_position), np.asarray(event.end_position)
        if event.phase == "end" or not np.isfinite([grip, mouse]).all():
            self._let_go(event.client_id)
            return
        force = (mouse - grip) / FORCE_SCALE
        force *= min(1.0, _LARGEST_PUSH / max(float(np.linalg.norm(force)), 1e-9))
        with self._lock:
            origin = self._scene.frames[name][self._instant, :3, 3]
            self._grabs[event.client_id] = name, grip - origin, force

    def _let_go(self, client: int) -> None:
        with self._lock:
            self._grabs.pop(client, None)


class _Frames:
    """Axes and names of some frames, hidden at first.

    Args:
        scene: Viser's scene.
        kind: Kind of the frames.
        names: Their names.
        length: Of the axes [m].
    """

    def __init__(self, scene: Any, kind: str, names: list[str], length: float) -> None:
        self._names, count = names, len(names)
        self._axes = scene.add_batched_axes(
            f"/{kind} frames",
            np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            np.zeros((count, 3)),
            axes_length=length,
            axes_radius=0.04 * length,
            visible=False,
        )
        self._labels = [
            scene.add_label(f"/{kind} names/{name}", name, visible=False) for name in names
        ]

    def choose(self, axes: bool, labels: bool) -> None:
        """Show or hide axes and names; `show` places them."""
        self._axes.visible = axes
        for label in self._labels:
            label.visible = labels

    def show(self, scene: VisualScene, instant: int) -> None:
        """Place the frames at an instant, if they are visible."""
        if self._axes.visible:
            poses = np.array([scene.frames[name][instant] for name in self._names])
            self._axes.batched_positions = poses[:, :3, 3].astype(np.float32)
            self._axes.batched_wxyzs = _quaternions(poses[:, :3, :3]).astype(np.float32)
            for label, at in zip(self._labels, poses, strict=True):
                label.position = tuple(at[:3, 3])


def require_viser() -> Any:
    """Return viser, or raise VisualError."""
    require("viser", "viser", "pages in the browser")
    return importlib.import_module("viser")


def _quaternions(rotations: Array) -> Array:
    """Return quaternions w x y z (N, 4) of rotation matrices (N, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(rotations).as_quat(), 1, axis=1)


def _rgb(color: Any) -> tuple[int, int, int]:
    r, g, b = (round(255.0 * float(value)) for value in color[:3])
    return r, g, b
