# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `render` and `view`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from robot_dynamics.app.command_line.arguments import add_overrides, number, positive

if TYPE_CHECKING:
    from robot_dynamics.app.pictures.page import Page
    from robot_dynamics.app.pictures.visual_scene import VisualScene

_WHAT = (
    "a recording (.npz, .mcap, the folder of a run or of a bag), a URDF or xacro file, or a "
    "scenario (a name or a YAML file), which is simulated first"
)


_VIEW_S = 0.02  # between the instants of the page [s]


def add_render(commands: Any) -> None:
    """Add `render` to the subparsers of a command line."""
    parser = commands.add_parser(
        "render",
        help="make a picture or a film of a recording, without a display",
        description="Make a picture or a film of a recording: arms, object, its reference as a "
        "ghost, forces (red) and moments (blue) by the arms on the object, friction cones. Needs "
        "no display and no GPU, but the extra `view` and OSMesa (sudo apt install libosmesa6).",
    )
    _add_what(parser)
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the film (.mp4, .webp, .gif) or .png",
    )
    parser.add_argument(
        "--at", type=number, metavar="S", help="the time of a .png (default: the middle)"
    )
    parser.add_argument(
        "--size", type=_size, default=(1280, 720), metavar="WxH", help="pixels (default: 1280x720)"
    )
    parser.add_argument(
        "--rate", type=positive, default=30.0, metavar="N", help="pictures a second (default: 30)"
    )
    parser.add_argument(
        "--speed", type=positive, default=1.0, metavar="X", help="2 is twice as fast (default: 1)"
    )
    parser.add_argument(
        "--camera",
        type=_angles,
        default=(35.0, 20.0),
        metavar="A,E",
        help="where the camera is: azimuth about the world's z axis from x, and elevation "
        "[degrees] (default: 35,20); with a leading minus --camera=-35,20",
    )
    parser.add_argument(
        "--zoom", type=positive, default=1.0, metavar="X", help="2 shows half as much"
    )
    parser.add_argument(
        "--no-captions",
        dest="captions",
        action="store_false",
        help="leave out the legend and the clock",
    )
    parser.set_defaults(run=_render)


def add_view(commands: Any) -> None:
    """Add `view` to the subparsers of a command line."""
    parser = commands.add_parser(
        "view",
        help="show a recording, a scenario or a URDF in the browser",
        description="Show a recording, a scenario or a URDF on a page in the browser, drawn "
        "as by `render`, with a time slider and torque bars. Without --host only this machine "
        "can open it. It ends with Ctrl-C. Needs the extra `view`.",
    )
    _add_what(parser, nargs="?")
    parser.add_argument(
        "--topics",
        nargs="?",
        const="",
        metavar="NAMESPACE",
        help="show running ROS 2 nodes of this namespace instead; it only listens",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="show the scenario while it is simulated, again and again; sliders push the object",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on; 0.0.0.0 lets other machines in (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--port", type=_port, default=8080, metavar="N", help="port (default: 8080)"
    )
    parser.set_defaults(run=_view)


def _add_what(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument("what", metavar="WHAT", nargs=nargs, help=_WHAT)
    add_overrides(parser)


def _render(options: argparse.Namespace) -> int:
    from robot_dynamics.app.output_files import require_parent
    from robot_dynamics.app.pictures import render
    from robot_dynamics.app.pictures.shapes import VisualError
    from robot_dynamics.app.progress import display

    output: Path = options.output
    require_parent(output)
    render.require_renderer(output)
    camera = render.Camera(options.camera[0], options.camera[1], options.zoom)
    still = output.suffix.lower() in render.STILL
    if options.at is not None and not still:
        raise VisualError(f"{output}: --at is for a .png; a film shows all of it.")
    scene = scene_of(options.what, options.speed / options.rate, options.overrides)
    looks = {"size": options.size, "camera": camera, "captions": options.captions}
    if still:
        last = float(scene.times[-1])
        at = 0.5 * last if options.at is None else options.at
        if at > last + 0.05:
            raise VisualError(f"--at {at:g}: {options.what} ends at {last:.3g} s.")
        render.render_still(scene, output, at, **looks)
    else:
        with display(output.name) as progress:
            render.render_film(scene, output, options.rate, progress=progress, **looks)
    print(f"written: {output}")
    return 0


def _view(options: argparse.Namespace) -> int:
    from robot_dynamics.app.pictures.page import Page, require_viser
    from robot_dynamics.app.pictures.shapes import VisualError

    require_viser()
    if options.topics is not None:
        return _view_topics(options)
    if options.what is None:
        raise VisualError(f"nothing to show: expected {_WHAT}; or --topics.")
    if options.live:
        return _view_live(options)
    page = Page(scene_of(options.what, _VIEW_S, options.overrides), options.host, options.port)
    say_where(page, options.port)
    try:
        page.play()
    except KeyboardInterrupt:
        print("closed.")
    finally:
        page.close()
    return 0


def _view_topics(options: argparse.Namespace) -> NoReturn:
    """Become the process that listens to topics, so that it gets the terminal's signals."""
    from robot_dynamics.app.node_process import require_ros
    from robot_dynamics.app.pictures.shapes import VisualError, require_trimesh

    beside = [options.what] * (options.what is not None) + ["--live"] * options.live
    beside += ["--set"] * bool(options.overrides)
    if beside:
        raise VisualError(
            f"--topics shows running nodes, of a NAMESPACE after it; expected no further "
            f"arguments, not {' '.join(beside)}."
        )
    require_ros()
    require_trimesh()
    words = ["--namespace", options.topics, "--host", options.host, "--port", str(options.port)]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "robot_dynamics.nodes.viewer", *words])


def _view_live(options: argparse.Namespace) -> int:
    from robot_dynamics.app.command_line.live import LiveView
    from robot_dynamics.app.pictures.shapes import VisualError, require_trimesh
    from robot_dynamics.app.pictures.visual_scene import is_recording
    from robot_dynamics.app.scenarios.scenario import load_scenario
    from robot_dynamics.description.load import is_robot

    require_trimesh()
    if is_recording(options.what) or is_robot(options.what):
        raise VisualError(f"{options.what}: --live is for a scenario that is simulated.")
    scenario = load_scenario(options.what, options.overrides)
    view = LiveView(
        scenario, options.host, options.port, lambda page: say_where(page, options.port)
    )
    try:
        while True:
            view.run()
    except KeyboardInterrupt:
        print("closed.")
    finally:
        view.close()
    return 0


def say_where(page: Page, asked: int) -> None:
    """Print the address of a page, and a notice if its port was taken."""
    if page.port != asked:
        print(f"port {asked} is taken.")
    print(
        f"listening on {page.host}, port {page.port}: open {page.address} in a browser.\n"
        f"Over SSH: ssh -L {page.port}:localhost:{page.port} MACHINE. Ctrl-C ends it.",
        flush=True,
    )


def scene_of(what: str, interval: float, overrides: list[str]) -> VisualScene:
    """Return the scene of a recording, a robot's description or a scenario.

    If the simulation of a scenario is refused, the reason is printed, and the scene has the
    postures of the arms.

    Args:
        what: The name or the file.
        interval: Time between the instants [s].
        overrides: Values of the scenario to replace, as "plant.object_mass_scale=1.2".

    Raises:
        RobotDynamicsError: If it is refused.
    """
    from robot_dynamics.app.pictures import visual_scene as scene
    from robot_dynamics.app.pictures.shapes import VisualError, require_trimesh
    from robot_dynamics.description.load import is_robot

    require_trimesh()
    if overrides and (scene.is_recording(what) or is_robot(what)):
        raise VisualError(f"{what}: --set is for a scenario that is simulated.")
    if scene.is_recording(what):
        return scene.scene_of_recording(what, interval)
    if is_robot(what):
        return scene.scene_of_robot(what)
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.runs.run import simulate
    from robot_dynamics.app.scenarios.cell import build_system
    from robot_dynamics.app.scenarios.scenario import load_scenario
    from robot_dynamics.errors import RobotDynamicsError

    scenario = load_scenario(what, overrides)
    cell = scene.RecordedCell(scenario.cell)  # refuses missing meshes before the run
    try:
        with display(f"simulating {scenario.name}") as progress:
            run = simulate(scenario, progress=progress)
    except RobotDynamicsError as error:
        still = cell.at_postures(scenario.name, build_system(scenario))
        print(f"robot_dynamics: {error}\nShown are the postures of the scenario.", file=sys.stderr)
        return still
    return scene.scene_of_recording(run.recording, interval, cell)


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected two numbers, as 1280x720") from None
    return width, height


def _angles(text: str) -> tuple[float, float]:
    try:
        azimuth, elevation = (float(angle) for angle in text.split(","))
    except ValueError:
        azimuth, elevation = 0.0, float("nan")
    if not -89.0 <= elevation <= 89.0 or not abs(azimuth) < float("inf"):
        raise argparse.ArgumentTypeError(
            f"{text}: expected azimuth and elevation [degrees], as 35,20"
        )
    return azimuth, elevation


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text}: expected a port from 1 to 65535")
    return int(text)
