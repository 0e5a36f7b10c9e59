# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page in the browser: contents, address, and end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import types
import urllib.request

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from waiting import PATIENCE_S

from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.pictures.shapes import FORCE_SCALE, VisualError
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.scenario import load_scenario

for package in ("trimesh", "viser"):
    pytest.importorskip(package, reason=f"{package}, of the extra `view`, is not installed")

from robot_dynamics.app.command_line import live  # noqa: E402
from robot_dynamics.app.pictures.page import Page, require_viser  # noqa: E402
from robot_dynamics.app.pictures.page_content import bars_html, state_html  # noqa: E402
from robot_dynamics.app.pictures.visual_scene import scene_of_recording  # noqa: E402


@pytest.fixture(scope="module")
def recording(run):
    """Return half a second of a run of the shipped scenario."""
    recorded = run.recording
    return Recording({k: v[:250] for k, v in recorded.columns.items()}, recorded.metadata)


@pytest.fixture(scope="module")
def page(recording):
    """Return a page of it."""
    page = Page(scene_of_recording(recording, 0.02), port=18080, pushes=True)
    page._playing.value = False
    yield page
    page.close()


def test_the_page_shows_recorded_poses(page, recording):
    """At an instant the object is shown where the recording has it."""
    for instant in (0, 20):
        page.show(instant)
        x, y, z, qx, qy, qz, qw = recording["object_pose"][10 * instant]
        shown = page.pose("box")
        if shown[3] * qw < 0.0:
            shown[3:] *= -1.0
        assert shown == pytest.approx(np.array([x, y, z, qw, qx, qy, qz]), abs=1e-6)


def test_frames_are_where_the_scene_has_them(page):
    """Axes of tools, links and object have the poses of the scene; names are beside them."""
    scene = page._scene
    assert scene.tools == ("left_tool", "right_tool", "box")
    for frames in page._frames.values():
        frames.choose(True, True)
        page.show(20)
        for i, name in enumerate(frames._names):
            at = scene.frames[name][20]
            assert np.allclose(frames._axes.batched_positions[i], at[:3, 3], atol=1e-6)
            turned = Rotation.from_quat(np.roll(frames._axes.batched_wxyzs[i], -1)).as_matrix()
            assert np.allclose(turned, at[:3, :3], atol=1e-6)
            assert (frames._labels[i].text, frames._labels[i].visible) == (name, True)
            assert np.allclose(frames._labels[i].position, at[:3, 3], atol=1e-6)
        frames.choose(False, False)
        assert not frames._axes.visible
    assert sorted(frames for kind in page._frames.values() for frames in kind._names) == sorted(
        scene.frames
    )


@pytest.mark.parametrize("instant", [0, 13, 25])
def test_plots_follow_the_time(page, instant):
    """A vertical line in each plot is at the time of the instant, from end to end of its axis."""
    page.show(instant)
    time_s = page._scene.times[instant]
    assert len(page._charts._handles) == 4
    for chart, (title, handle) in zip(page._scene.charts, page._charts._handles, strict=True):
        times, *_, line = handle.data
        assert chart.title in title.content
        assert handle.scales["y"].get("range") == chart.fixed
        assert handle.scales["part"]["range"] == (0.0, 1.0)
        assert (np.diff(times) >= 0.0).all()
        (at,) = np.flatnonzero(line)
        assert times[[at - 1, at, at + 1]] == pytest.approx(time_s, abs=1e-12)
        assert line[at] == 1.0
        # The curves are those of the recording, below the line as well.
        curve = chart.curves[-1].values
        kept = np.delete(handle.data[-2], [at - 1, at, at + 1])
        assert np.array_equal(kept, curve)


def test_the_extent_of_time_changes_with_each_drawing(page):
    """By a microsecond: only then the browser computes the numbers at the axis."""
    ends = []
    for _ in range(3):
        page.show(5)
        ends.append(page._charts._handles[0][1].data[0][-1])
    assert ends[0] == ends[2]
    assert abs(ends[1] - ends[0]) == pytest.approx(1e-6, rel=1e-3)


def test_time_and_torques_are_stated(page, recording):
    """The state beside the scene has the time, and the torque of each joint in percent."""
    assert "t = 0.40 s" in state_html(page._scene, 20)
    share = 100.0 * recording["applied_torque"][200, 1] / recording.get("effort_limits")[1]
    assert f">{share:.0f}</span>" in bars_html(page._scene, 20)


def dragged(start, end, phase="update"):
    """Return an event of the mouse, as viser has it."""
    return types.SimpleNamespace(
        start_position=start, end_position=end, phase=phase, client_id=1, client=None
    )


def test_the_mouse_pushes_from_the_grip_towards_itself(page):
    """The force is along the drag, as large as its arrow is long, and acts at the grip."""
    page.show(0)
    origin = page.pose("box")[:3]
    grip = origin + np.array([0.0, 0.0, 0.1])
    along, force = np.array([0.09, 0.0, 0.0]), 0.09 / FORCE_SCALE
    page._drag("box", dragged(grip, grip + along))
    assert page.pushes["box"] == pytest.approx([0.0, 0.1 * force, 0.0, force, 0.0, 0.0], abs=1e-4)
    page.show(1)
    assert np.allclose(page._arrows.points[-1, 1], grip + along, atol=1e-4)
    page._sliders["box"][0].value = -5.0
    assert page.pushes["box"][3] == pytest.approx(force - 5.0)
    page._sliders["box"][0].value = 0.0
    page._drag("left_link4", dragged(grip, grip + np.roll(along, 1)))  # one body a hand
    assert not page.pushes["box"].any()
    assert page.pushes["left_link4"][4] == pytest.approx(force)
    page._drag("left_link4", dragged(grip, grip, "end"))
    assert not any(one.any() for one in page.pushes.values())


def test_pushes_by_the_mouse_are_limited(page):
    """Up to 60 N the force grows with the drag; a drag that is no number lets go."""
    for distance, force in ((0.179, 0.179 / FORCE_SCALE), (0.181, 60.0), (1e6, 60.0)):
        page._drag("box", dragged((0.0, 0.0, 0.0), (0.0, 0.0, distance)))
        assert page.pushes["box"][5] == pytest.approx(force)
    page._drag("box", dragged((0.0, 0.0, 0.0), (0.0, 0.0, np.nan)))
    assert not page.pushes["box"].any()


def test_what_cannot_be_pushed(page, recording):
    """The base of the arms has no grip, nor the object if the arms do not hold it."""
    assert "base" not in {body.name for body in page._pushable}
    assert "box" in {body.name for body in page._pushable}
    empty = Recording(recording.columns, {**recording.metadata, "holds_object": False})
    assert "box" not in scene_of_recording(empty, 0.1).pushable


def test_the_page_is_served_on_the_loopback_address_alone(page):
    """A browser on this machine gets the page where it says that it listens."""
    assert page.address == f"http://127.0.0.1:{page.port}"
    with urllib.request.urlopen(page.address, timeout=PATIENCE_S) as answer:
        assert b"<html" in answer.read()
    with open("/proc/net/tcp", encoding="ascii") as table:
        listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    mine = [address for address in listening if int(address.partition(":")[2], 16) == page.port]
    assert mine == [f"0100007F:{page.port:04X}"]


def test_a_port_that_is_taken(page, recording):
    """If its port is taken another one is used, and the page says which."""
    other = Page(scene_of_recording(recording, 0.1), port=page.port)
    try:
        assert other.port != page.port
    finally:
        other.close()


def test_an_address_of_another_machine_is_refused(recording):
    """An address that this machine does not have is refused in one sentence."""
    with pytest.raises(VisualError, match=r"192\.0\.2\.1: cannot be listened on.*expected"):
        Page(scene_of_recording(recording, 0.1), host="192.0.2.1")


def test_wrong_ports_are_refused(capsys):
    """Ports are numbers from 1 to 65535."""
    for port in ("0", "x", "70000"):
        with pytest.raises(SystemExit):
            main(["view", "run.npz", "--port", port])
        assert "expected a port from 1 to 65535" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch, capsys):
    """Without viser one sentence says how to install it, before a simulation begins."""
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(VisualError, match=r"need viser.*robot_dynamics\[view\]"):
        require_viser()
    assert main(["view", "lift_box"]) == 2
    assert "simulating" not in capsys.readouterr().out


def test_interrupted_it_ends_well(recording, tmp_path):
    """The command says where it listens, and Ctrl-C ends it with status 0 and no traceback."""
    file = recording.save(tmp_path / "run.npz")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "robot_dynamics", "view", str(file), "--port", port]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith(f"listening on 127.0.0.1, port {port}:"), process.stderr.read()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said.endswith("closed.\n")
    assert "Traceback" not in complained


def test_a_live_simulation_is_shown_and_pushed(monkeypatch):
    """The page shows the object where the simulation has it, and a slider's force moves it."""
    monkeypatch.setattr(live, "_PICTURE_S", 0.0)  # one in each period, on a busy machine as well
    moved = []
    for force in (0.0, 60.0):
        pages = []

        def ready(page, force=force, pages=pages):
            pages.append(page)
            page._sliders["box"][0].value = force

        view = live.LiveView(load_scenario("lift_box", ["reference={}"]), port=18180, ready=ready)
        try:
            view.run(0.2)
            found = pages[0].pose("box")
            view.run(0.01)  # again from the start, on the same page
        finally:
            view.close()
        assert len(pages) == 1
        moved.append(found)
    assert moved[0][:3] == pytest.approx([0.62, 0.0, 0.75], abs=1e-4)
    assert 1e-3 < moved[1][0] - moved[0][0] < 5e-2


def test_live_is_for_scenarios(capsys):
    """A recording cannot be shown live, which is said in a sentence."""
    assert main(["view", "run.npz", "--live"]) == 2
    assert "--live is for a scenario" in capsys.readouterr().err


# Where the page's own scene has a frame: the viewer's context is in the tree of React's fibers.
POSE_IN_BROWSER = """name => {
  const root = document.getElementById("root");
  const ahead = [root[Object.keys(root).find(key => key.startsWith("__reactContainer$"))]];
  while (ahead.length) {
    const fiber = ahead.pop();
    const viewer = fiber.memoizedProps && fiber.memoizedProps.value;
    const nodes = viewer && viewer.mutable && viewer.mutable.current.nodeRefFromName;
    if (nodes && nodes[name]) {
      const {position, quaternion} = nodes[name];
      const {w, x, y, z} = quaternion;
      return [...position.toArray(), w, x, y, z];
    }
    ahead.push(...[fiber.child, fiber.sibling].filter(one => one));
  }
}"""


@pytest.mark.slow
def test_in_a_browser(page, recording, tmp_path):
    """In Chromium the object is where the recording has it, and the console has no errors."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    from PIL import Image

    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    # Between viser's remarks on the left and the controls on the right.
    middle = {"x": 340, "y": 0, "width": 590, "height": 720}
    names = [body.name for body in page._scene.bodies]
    frame = f"/{names.index('box')} box"
    errors = []
    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=flags)
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda one: one.type == "error" and errors.append(one.text))
        tab.goto(page.address)
        tab.wait_for_selector("canvas", timeout=60_000)
        for instant in (0, 24):
            page.show(instant)
            x, y, z, qx, qy, qz, qw = recording["object_pose"][10 * instant]
            wanted = np.array([x, y, z, qw, qx, qy, qz])
            until = time.monotonic() + PATIENCE_S
            while True:  # single precision on the way to the page
                shown = tab.evaluate(POSE_IN_BROWSER, frame)
                if shown is not None and np.allclose(shown, wanted, atol=2e-6):
                    break
                assert time.monotonic() < until, (shown, wanted)
                tab.wait_for_timeout(200)
        file = tmp_path / "page.png"
        tab.screenshot(path=file, clip=middle, timeout=120_000)
        assert "torque" in tab.inner_text("body")
        browser.close()
    assert errors == []
    # Wood, of which the box alone is made.
    with Image.open(file) as image:
        picture = np.asarray(image.convert("RGB")).astype(int)
    assert ((picture[..., 0] - picture[..., 2]) > 40).sum() > 300
