# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page in the browser that shows a scene, by viser: no display server and no ROS."""

from __future__ import annotations

import contextlib
import html
import importlib
import io
import socket
import threading
import time
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.shapes import VisualError, require
from robot_dynamics.app.pictures.visual_scene import VisualBody, VisualScene
from robot_dynamics.arrays import Array

LOOPBACK, PORT = "127.0.0.1", 8080
_SHORTEST = 0.005  # of the arrows that are drawn [m]
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_STEP_S = 1.0 / 30.0  # wall-clock time between two instants that are shown
_LARGEST_PUSH = 60.0  # of a slider [N]
_HIGH, _FULL = 0.7, 0.95  # parts of a limit from which a bar is amber, and red


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
        pushes: Whether there are sliders that push the object.

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
        self._scene = scene
        self._lock = threading.Lock()
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
        server.scene.add_grid("/floor", 10.0, 10.0, cell_size=0.5, position=(0, 0, min(low[2], 0)))
        self._bodies = [self._add(i, body) for i, body in enumerate(scene.bodies)]
        nothing = np.zeros((1, 2, 3)), np.zeros((1, 3), np.uint8)
        self._arrows = server.scene.add_arrows(
            "/arrows", *nothing, shaft_radius=0.008, head_radius=0.02, head_length=0.04
        )
        self._live = live
        self._pushes: list[Any] = []
        self._add_controls(server)
        if pushes:
            self._add_pushes(server.gui)
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
    def push(self) -> Array:
        """Moment and force on the object that the sliders ask for (6,) [N m, N], world axes."""
        force = [float(slider.value) for slider in self._pushes] or [0.0, 0.0, 0.0]
        return np.array([0.0, 0.0, 0.0, *force])

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
        from scipy.spatial.transform import Rotation

        scene = self._scene
        with self._lock, self._server.atomic():
            for body, (frame, meshes) in zip(scene.bodies, self._bodies, strict=True):
                at = body.poses[instant]
                frame.position = tuple(at[:3, 3])
                x, y, z, w = Rotation.from_matrix(at[:3, :3]).as_quat()
                frame.wxyz = (w, x, y, z)
                if body.colors is not None:
                    for mesh in meshes:
                        mesh.color = _rgb(body.colors[instant])
            drawn = [
                one for one in scene.arrows if np.linalg.norm(one.vectors[instant]) > _SHORTEST
            ]
            self._arrows.visible = bool(drawn) and bool(self._with_forces.value)
            if drawn:
                tips = np.array([one.tips[instant] for one in drawn])
                along = np.array([one.vectors[instant] for one in drawn])
                self._arrows.points = np.stack([tips - along, tips], axis=1)
                self._arrows.colors = np.array([_rgb(one.color) for one in drawn], np.uint8)
            if self._bars is not None:
                self._bars.content = _bars(scene, instant)

    def play(self) -> None:
        """Play until it is interrupted."""
        last = float(self._scene.times[-1] - self._scene.times[0])
        before = time.perf_counter()
        while True:
            time.sleep(_STEP_S)
            now = time.perf_counter()
            elapsed, before = now - before, now
            if last > 0.0 and self._playing.value:
                at = float(self._time.value) + elapsed * float(self._speed.value)
                self._time.value = at if at <= last else 0.0  # shows it, see _add_controls

    def close(self) -> None:
        """Close the page in all browsers."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

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
        last = float(scene.times[-1] - scene.times[0])
        moving = last > 0.0 or self._live
        self._playing = gui.add_checkbox("play", moving, disabled=not moving)
        if self._live:
            self._time = gui.add_number("time [s]", 0.0, step=0.01, disabled=True)
        else:
            still = not moving
            self._time = gui.add_slider("time [s]", 0.0, last or 1.0, 0.01, 0.0, disabled=still)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1", disabled=not moving)
        self._with_forces = gui.add_checkbox("forces", True, visible=bool(scene.arrows))
        ghosts = [
            handles[0]
            for body, handles in zip(scene.bodies, self._bodies, strict=True)
            if body.role == "reference"
        ]
        with_ghosts = gui.add_checkbox("reference", True, visible=bool(ghosts))
        self._bars = gui.add_html("") if scene.torques.shape[1] else None

        def change_ghosts(_: object) -> None:
            for ghost in ghosts:
                ghost.visible = with_ghosts.value

        def show(_: object) -> None:
            at = 0.0 if self._live else float(self._time.value)
            self.show(self._scene.at(float(self._scene.times[0]) + at))

        with_ghosts.on_update(change_ghosts)
        if not self._live:
            self._time.on_update(show)
        self._with_forces.on_update(show)

    def _add_pushes(self, gui: Any) -> None:
        """Add sliders that push the object, and a button that lets go."""
        with gui.add_folder("push the object [N]"):
            limits = -_LARGEST_PUSH, _LARGEST_PUSH, 1.0, 0.0
            self._pushes = [gui.add_slider(axis, *limits) for axis in ("x", "y", "z")]
            release = gui.add_button("let go")

        @release.on_click
        def _(_: object) -> None:
            for slider in self._pushes:
                slider.value = 0.0


def require_viser() -> Any:
    """Return viser, or raise VisualError."""
    require("viser", "viser", "pages in the browser")
    return importlib.import_module("viser")


def _rgb(color: Any) -> tuple[int, int, int]:
    r, g, b = (round(255.0 * float(value)) for value in color[:3])
    return r, g, b


def _bars(scene: VisualScene, instant: int) -> str:
    """Return the bars of torques and friction as HTML."""
    rows = []
    if scene.phases:
        rows = [f"<b>phase</b> {html.escape(scene.phases[int(scene.phase[instant])])}<br>"]
    rows.append("<b>torque, % of the limit</b>")
    rows += [_bar(*one) for one in zip(scene.joints, scene.torques[instant], strict=True)]
    if scene.arms:
        rows.append("<b>friction used, %</b>")
        rows += [_bar(*one) for one in zip(scene.arms, scene.friction[instant], strict=True)]
    return f'<div style="font-size:11px;padding:4px 12px">{"".join(rows)}</div>'


def _bar(name: str, share: float) -> str:
    part = abs(float(share)) if np.isfinite(share) else 0.0
    color = "#D55E00" if part > _FULL else "#E69F00" if part > _HIGH else "#009E73"
    text = f"{100.0 * float(share):.0f}" if np.isfinite(share) else "no limit"
    return (
        '<div style="display:flex;align-items:center;height:15px">'
        f'<span style="width:45%;overflow:hidden">{html.escape(name)}</span>'
        '<span style="width:40%;background:#ddd;height:8px">'
        f'<span style="display:block;height:8px;width:{100.0 * min(part, 1.0):.0f}%;'
        f'background:{color}"></span></span>'
        f'<span style="width:15%;text-align:right">{text}</span></div>'
    )
