# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and films without a display: contents and refusals."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.examples import copied
from waiting import PATIENCE_S

from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.command_line.view import scene_of
from robot_dynamics.app.pictures.shapes import FORCE_COLOR, MOMENT_COLOR, VisualError, meshes_of
from robot_dynamics.app.pictures.visual_scene import Arrow, VisualBody, VisualScene
from robot_dynamics.description.description import Shape
from robot_dynamics.model import pose

for package in ("trimesh", "mujoco", "imageio_ffmpeg", "PIL"):
    pytest.importorskip(package, reason=f"{package}, of the extra `view`, is not installed")

from PIL import Image  # noqa: E402

from robot_dynamics.app.pictures import render  # noqa: E402
from robot_dynamics.app.pictures.render import Camera, Renderer, render_film, render_still  # noqa: E402

SIZE = (160, 120)
MIDDLE = (60, 80)


@pytest.fixture(autouse=True, scope="module")
def osmesa():
    """Skip where nothing can be drawn."""
    try:
        render.require_renderer(render.Path("x.png"))
    except VisualError as error:
        pytest.skip(str(error))


def cubes(arrows=()):
    """Return a red cube that moves 1 m along y in two instants, and a small one at the origin."""
    cube = Shape("", "visual", "box", np.eye(4), (0.4, 0.4, 0.4), color=(1.0, 0.0, 0.0, 1.0))
    moving = np.array([pose((0.0, 0.0, 1.0)), pose((0.0, 1.0, 1.0))])
    still = np.tile(np.eye(4), (2, 1, 1))
    bodies = [
        VisualBody("cube", "object", meshes_of(cube), moving),
        VisualBody("floor", "robot", meshes_of(cube), still),
    ]
    return VisualScene("cubes", np.array([0.0, 0.1]), bodies, arrows)


def red(picture):
    """Return the mask of red pixels."""
    r, g, b = np.moveaxis(picture.astype(int), 2, 0)
    return (r > 90) & (r > 2 * g) & (r > 2 * b)


def test_bodies_are_where_the_scene_has_them():
    """A body that moves along y is further right in a picture taken along -x."""
    with Renderer(cubes(), SIZE, Camera(0.0, 0.0)) as renderer:
        first, second = (red(renderer.draw(i))[:70].nonzero()[1].mean() for i in range(2))
    # The middle of all is at y = 0.5, and the picture's scale is the same on both sides.
    assert first + second == pytest.approx(SIZE[0], abs=3)
    assert second - first > 20


def test_bodies_may_change_their_colour():
    """Colours over time replace those of the meshes."""
    scene = cubes()
    colors = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    bodies = [VisualBody(b.name, b.role, b.meshes, b.poses, colors) for b in scene.bodies]
    with Renderer(VisualScene("x", scene.times, bodies), SIZE) as renderer:
        assert red(renderer.draw(0)).sum() > 200
        assert red(renderer.draw(1)).sum() == 0


def test_arrows_end_where_forces_act():
    """The tip of an arrow is where it is to be, its tail a vector away."""
    tips, vectors = np.tile([0.0, 0.5, 0.9], (2, 1)), np.tile([0.0, -0.6, 0.0], (2, 1))
    green = Arrow("push", (0.0, 1.0, 0.0, 1.0), tips, vectors)
    camera = Camera(0.0, 0.0)
    with Renderer(cubes(), SIZE, camera) as renderer:
        without = renderer.draw(0).astype(int)
    with Renderer(cubes([green]), SIZE, camera) as renderer:
        picture = renderer.draw(0).astype(int)
    more = picture - without
    columns = (more[..., 1] - more[..., 0] > 60).any(axis=0).nonzero()[0]
    with Renderer(cubes(), SIZE, camera) as renderer:
        cube = [red(renderer.draw(i))[:55].any(axis=0).nonzero()[0] for i in range(2)]
    scale = cube[1].mean() - cube[0].mean()  # pixels a metre, at the middle of the cubes
    middle = 0.5 * (cube[0].mean() + cube[1].mean())  # y = 0.5
    assert columns.min() == pytest.approx(middle, abs=5)  # the tip is thin
    assert columns.max() == pytest.approx(middle + 0.6 * scale, abs=5)


def test_zoom_moves_towards_the_object():
    """The more is zoomed in, the nearer is the object's way to the middle of the picture."""
    apart = []
    for zoom in (1.0, 1.5, 2.0):
        with Renderer(cubes(), SIZE, Camera(0.0, 10.0, zoom)) as renderer:
            rows, columns = np.nonzero(red(renderer.draw(0)) ^ red(renderer.draw(1)))
        apart.append(np.hypot(rows.mean() - MIDDLE[0], columns.mean() - MIDDLE[1]) / zoom)
    assert apart[2] < 0.75 * apart[0]


def test_a_short_arrow_is_not_drawn():
    """A force of next to nothing leaves the picture as it is."""
    nothing = Arrow("push", FORCE_COLOR, np.zeros((2, 3)), np.full((2, 3), 1e-4))
    bare = {"captions": False}
    with (
        Renderer(cubes(), SIZE, **bare) as one,
        Renderer(cubes([nothing]), SIZE, **bare) as other,
    ):
        assert np.array_equal(one.draw(0), other.draw(0))


def test_legend_and_clock_are_written():
    """The clock is at the top left, the legend at the bottom left, in the arrows' colour."""
    tips, vectors = np.tile([0.0, 0.5, 0.9], (2, 1)), np.tile([0.0, 0.0, 1e-4], (2, 1))
    scene = cubes([Arrow("push", MOMENT_COLOR, tips, vectors)])
    with Renderer(scene, (320, 240)) as one, Renderer(scene, (320, 240), captions=False) as other:
        first, second = one.draw(0).astype(int), one.draw(1).astype(int)
        bare = [other.draw(i).astype(int) for i in range(2)]
    changed = [np.abs(a - b).max(axis=2) > 0 for a, b in zip((first, second), bare, strict=True)]
    top, bottom = changed[0][:30, :100], changed[0][200:, :160]
    assert top.sum() > 50
    assert bottom.sum() > 200
    assert top.sum() + bottom.sum() == changed[0].sum()
    assert (changed[0] != changed[1])[:30].any()  # the clock goes on
    blue = np.round(255.0 * np.array(MOMENT_COLOR[:3]))
    assert (np.abs(first - blue).max(axis=2) < 2).sum() > 20


def test_a_film_has_all_instants(tmp_path):
    """Films of all kinds have a picture for each instant; progress counts them."""
    seen = []
    for name in ("x.gif", "x.mp4", "x.webp"):
        render_film(cubes(), tmp_path / name, 10.0, size=SIZE, progress=seen.append)
    with Image.open(tmp_path / "x.gif") as gif:
        assert (gif.n_frames, gif.size, gif.info["duration"]) == (2, SIZE, 100)
    with Image.open(tmp_path / "x.webp") as webp:
        assert (webp.n_frames, webp.size) == (2, SIZE)
    import imageio_ffmpeg

    frames, seconds = imageio_ffmpeg.count_frames_and_secs(tmp_path / "x.mp4")
    assert frames == 2
    assert seconds == pytest.approx(0.2, abs=0.05)
    assert [one.tick for one in seen] == 3 * [1, 2]


def test_an_interrupted_film_leaves_nothing(tmp_path):
    """Ctrl-C while a film is made leaves neither it nor a part of it."""

    def stop(progress):
        raise KeyboardInterrupt

    for name in ("x.gif", "x.mp4"):
        with pytest.raises(KeyboardInterrupt):
            render_film(cubes(), tmp_path / name, 10.0, size=SIZE, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_a_recording(run, tmp_path, capsys):
    """The command draws a recorded run: robot and box in the middle, sky and floor around."""
    recording = tmp_path / "run.npz"
    run.save(recording)
    picture = tmp_path / "run.png"
    arguments = ["render", str(recording), "--size", "320x180", "--no-captions"]
    assert main([*arguments, "--output", str(picture), "--at", "0.1"]) == 0
    assert capsys.readouterr().out == f"written: {picture}\n"
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape == (180, 320, 3)
    # Wood is in the middle half and nowhere else; the sky is bright.
    wood = (pixels[..., 0] - pixels[..., 2]) > 50
    assert 200 < wood.sum() < 0.2 * wood.size
    assert not wood[:, :60].any()
    assert not wood[:, 260:].any()
    assert pixels[:10].mean() > 200
    # A time beyond the end is refused with what there is.
    assert main([*arguments, "--output", str(picture), "--at", "9"]) == 2
    assert "ends at 7.2 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "x.avi"], "expected a picture or film as .png, .mp4, .gif"),
        (["--output", "no/x.png"], "there is no folder"),
        (["--output", "x.gif", "--at", "1"], "--at is for a .png"),
        (["--output", "x.png", "--set", "plant.seed=1"], "--set is for a scenario"),
    ],
)
def test_refusals(arguments, words, capsys, tmp_path, monkeypatch):
    """Wrong arguments end in one sentence before anything is drawn."""
    monkeypatch.chdir(tmp_path)
    assert main(["render", "run.npz", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--size", "12"], ["--camera", "1,100"], ["--rate", "0"], ["--speed", "x"]]
)
def test_options_say_what_they_expect(option, capsys):
    """A value that is no size, direction or number is refused by the parser."""
    with pytest.raises(SystemExit) as end:
        main(["render", "run.npz", "--output", "x.png", *option])
    assert end.value.code == 2
    assert "expected" in capsys.readouterr().err


def test_a_size_without_end_is_refused():
    """A picture of one pixel, and one of a hundred million, are refused."""
    for size in ((1, 1), (100000, 1000)):
        with pytest.raises(VisualError, match="expected 16 to 4096"):
            Renderer(cubes(), size)


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    """Without a film encoder one sentence names the package, before a simulation begins."""
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(VisualError, match=r"need imageio-ffmpeg.*robot_dynamics\[view\]"):
        render.require_renderer(tmp_path / "x.mp4")


def test_a_missing_library_is_named():
    """Without OSMesa one sentence names the package of Debian."""
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.startswith('mujoco.osmesa'): raise AttributeError('glGetError')\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from robot_dynamics.app.command_line.main import main\n"
        "sys.exit(main(['render', 'x.npz', '--output', 'x.png']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=120, env={**os.environ, "MUJOCO_GL": "osmesa"},
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.splitlines()[-1].endswith(
        "need the library OSMesa, which is not installed; expected `sudo apt install "
        "libosmesa6`, or MUJOCO_GL=egl with a GPU."
    )
    assert "Traceback" not in ended.stderr


def test_a_still_needs_no_film_writer(monkeypatch, tmp_path):
    """A picture is written without ffmpeg."""
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert render_still(cubes(), tmp_path / "x.png", 0.0, size=SIZE).stat().st_size > 500


@pytest.mark.slow
def test_the_film_of_lift_box(tmp_path):
    """Seven seconds of film at 720p, thirty pictures a second, take 120 s of processor time.

    That is a minute on two processors.
    """
    scene = scene_of("lift_box", 1.0 / 30.0, [])
    assert scene.times[-1] > 7.0
    film = tmp_path / "lift.mp4"
    begin, spent = time.perf_counter(), time.process_time()
    render_film(scene, film, 30.0)
    took, worked = time.perf_counter() - begin, time.process_time() - spent
    print(f"film of {scene.times[-1]:.1f} s: {took:.0f} s, processors {worked:.0f} s")
    import imageio_ffmpeg

    frames, seconds = imageio_ffmpeg.count_frames_and_secs(film)
    assert frames == len(scene.times)
    assert seconds == pytest.approx(7.2, abs=0.1)
    assert film.stat().st_size > 1e5
    assert worked < 120.0


PAGE = Path(__file__).resolve().parents[3] / "docs" / "viewing.md"


def commands_of_films():
    """Return the commands of the page that made the films on it."""
    if not PAGE.is_file():
        return []
    text = PAGE.read_text(encoding="utf-8").partition("These commands made the first three")[2]
    return text.partition("```sh\n")[2].partition("```")[0].splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", commands_of_films())
def test_a_film_of_the_page(command, tmp_path):
    """The commands that the page shows make the films that it shows."""
    _, *words = shlex.split(command)
    words = [sys.executable, "-m", "robot_dynamics", *words]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=PATIENCE_S)
    assert_as_shown(tmp_path, next(word for word in words if word.endswith(".webp")))


@pytest.mark.slow
def test_the_film_of_an_example(tmp_path):
    """The example makes the film that the page shows."""
    program = copied("four_bar", tmp_path, {"FILM": "four_bar.webp"})
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    assert_as_shown(tmp_path, "four_bar.webp")


def assert_as_shown(folder, film):
    """Check that a film is the one on the page, as far as compression allows."""
    with Image.open(folder / film) as made, Image.open(PAGE.parent / "images" / film) as shown:
        assert (made.n_frames, made.size) == (shown.n_frames, shown.size)
        for at in (0, made.n_frames // 2):
            made.seek(at)
            shown.seek(at)
            pair = [np.asarray(one.convert("RGB")).astype(int) for one in (made, shown)]
            assert np.abs(pair[0] - pair[1]).mean() < 3.0  # of 255: compressed with loss
