# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The examples run, and say what they promise."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE_S

from robot_dynamics.app.pictures import render

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXPECTED = {
    "contacts": [
        "20 bounces at their times to a nanosecond: True",
        "at v^2 / (2 mu g) to a micrometre: True",
        "a rattleback that spins at -2 rad/s spins at +2.0 after 3 s",
    ],
    "dominoes": [
        "each falls after the one before: True",
        "all lie: True, at rest: True",
        "their weight: True",
        "never more energy: True",
    ],
    "put_down": [
        "put down: it rests on the table with its weight of 98.1 N: True",
        "lifted by 0.20 m",
        "dropped: it rests on the table with its weight of 98.1 N: True",
        "never more energy in the fall: True",
    ],
    "tippe_top": [
        "it stood 6 degrees from upright, and stands 16",
        "Jellett's constant is kept to a thousandth: True",
        "never more energy: True",
    ],
    "walker": ["loops stayed closed to 1e-10 m: True"],
    "closure_function": ["y = boom_hinge, bucket_hinge", "largest gap of a loop on the way"],
    "four_bar": ["closed to a nanometre: True; energy kept to 1e-9 J: True", "made 8.0 turns"],
    "frames_and_kinematics": ["the tip is at", "converged after", "not reached after"],
    "grasps": ["soft finger: hold the box", "cannot control", "distance from slip: [3. 3.] N"],
    "inverse_dynamics": ["left_joint1", "a batch of torques: (1000, 14)"],
    "own_controller": ["the box moved by 0.000 mm at most; no failures"],
    "own_law": ["the left arm swayed by 0.60 rad; no failures"],
    "lqr": ["% of the step from the linear model", "at the end: 0.000 mrad from the target"],
    "object_impedance": ["stiffness: 499", "5000 commanded"],
    "learn_squeeze": ["at this pace the heaviest box needs"],
    "lift_box": ["largest position error", "written: "],
    "step_simulation": ["the box sags by", "a push of 100 N along x moves it by", "back at 1.0 s"],
    "system_identification": [
        "43 of 70 parameters can be told from the torques",
        "every link of positive mass: True",
        "identified: off by 0.0",
    ],
    "trajectory_optimisation": [
        "from that of differences",
        "it ends 0.000 rad from the goal, 0.000 rad/s",
    ],
    "wrong_payload": ["true mass 1.2 x modelled"],
}

# Their pictures are drawn by MuJoCo, which test/app/pictures does, or are those of a scenario.
RENDERED = {
    "dominoes", "four_bar", "frames_and_kinematics", "learn_squeeze", "own_controller", "own_law",
    "put_down",
}  # fmt: skip
#: Examples without arguments.
PLAIN = {"own_law"}
GIVEN = {
    "inverse_dynamics": ("package://robot_dynamics/urdf/dual_arm.urdf",),
    "learn_squeeze": ("--pairs", "2", "--generations", "1"),
}
NEEDS = {"dominoes": "mujoco", "learn_squeeze": "gymnasium", "put_down": "mujoco"}
COMPILES_LONG = {"dominoes", "put_down", "walker"}


def run(example, *arguments, folder):
    """Run an example in a folder of its own."""
    return subprocess.run(
        [sys.executable, str(example), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in COMPILES_LONG))
        for path in EXAMPLES
    ],
)
def test_an_example_runs(example, tmp_path):
    """Each example ends well and prints what it is about."""
    arguments, picture = list(GIVEN.get(example.stem, ())), tmp_path / "picture.png"
    if example.stem not in RENDERED:
        pytest.importorskip("matplotlib")
        arguments.append(str(picture))
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem])
    result = run(example, *arguments, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert example.stem in RENDERED or picture.stat().st_size > 5000
    for words in EXPECTED[example.stem]:
        assert words in result.stdout


@pytest.mark.parametrize(
    "example", [path for path in EXAMPLES if path.stem not in PLAIN], ids=lambda path: path.stem
)
def test_arguments_are_checked_before_the_work(example, tmp_path, monkeypatch, capsys):
    """Help is printed, and what does not fit is refused at once; nothing is written."""
    if example.stem == "learn_squeeze":
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    option = ["--plot"] * (example.stem == "learn_squeeze")
    first = ["robot.urdf"] * (example.stem == "inverse_dynamics")
    for arguments, status, words in (
        (["--help"], 0, "usage: "),
        (["--fast"], 2, "--fast"),
        ([*first, *option, "nowhere/a.png"], 2, "nowhere/a.png: there is no folder nowhere"),
        ([*first, *option, "a.foo"], 2, "a.foo"),
    ):
        monkeypatch.setattr(sys, "argv", [str(example), *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(example), run_name="__main__")
        told = capsys.readouterr()
        assert end.value.code == status, told
        assert words in told.out + told.err
        assert example.name in told.out + told.err
    assert not list(tmp_path.iterdir())


def test_a_film_needs_its_packages_before_the_work(monkeypatch, capsys):
    """An example that renders says what is missing, and does not simulate first."""
    pytest.importorskip("mujoco")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    monkeypatch.setattr(render, "require_renderer", lambda path: None)
    monkeypatch.setattr(sys, "argv", ["dominoes.py", "film.webp"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "examples" / "dominoes.py"), run_name="__main__")
    assert end.value.code == 2
    assert "pictures need trimesh" in capsys.readouterr().err


def test_a_file_of_the_user(tmp_path):
    """An example that is given a missing file says so in a sentence."""
    result = run(ROOT / "examples" / "inverse_dynamics.py", "no.urdf", folder=tmp_path)
    assert result.returncode == 1
    assert "no.urdf: there is no such file" in result.stderr
    assert "Traceback" not in result.stderr
