# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The examples run, print their results, and import only public modules."""

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from support.examples import copied
from waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = [path.stem for path in sorted((ROOT / "examples").glob("*.py"))]
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
        "carried by 60.0 mm and lifted by 50.0 mm",
        "back within 0.1 mm: True",
        "it rests on the table with its weight of 49.05 N; no failures: True",
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

# Their stills and films are drawn by MuJoCo, as in test/app/pictures/test_render.py.
RENDERED = {"dominoes", "four_bar", "frames_and_kinematics", "own_controller", "put_down"}
FEWER = {"learn_squeeze": {"PAIRS, GENERATIONS": (2, 1)}}
NEEDS = {"dominoes": "mujoco", "learn_squeeze": "gymnasium"}
COMPILES_LONG = {"dominoes", "put_down", "walker"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in COMPILES_LONG)) for n in EXAMPLES],
)
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    """Each example ends well, prints its results and draws its figure."""
    if name not in RENDERED:
        pytest.importorskip("matplotlib")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(copied(name, tmp_path, FEWER.get(name, {}))), run_name="__main__")
    said = capsys.readouterr().out
    for words in EXPECTED[name]:
        assert words in said
    drawn = [file for file in tmp_path.iterdir() if file.suffix in (".png", ".webp")]
    assert [file.stem for file in drawn] == ([] if name in RENDERED else [name])
    assert all(file.stat().st_size > 5000 for file in drawn)


def test_a_missing_file_is_named(tmp_path):
    """An example with the path of a missing robot ends with a sentence that names it."""
    pytest.importorskip("matplotlib")
    result = subprocess.run(
        [sys.executable, str(copied("inverse_dynamics", tmp_path, {"FILE": "no.urdf"}))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert result.returncode == 1
    assert "no.urdf: there is no such file" in result.stderr.splitlines()[-1]


def public_modules():
    """Return the modules that the API reference lists as public."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    table = page.partition("## Public modules\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w.]+)` \|", table, re.M))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_needs_only_public_modules(name):
    """It imports `robot_dynamics as rd` and public modules, and parses no arguments."""
    public = public_modules()
    assert "robot_dynamics.model" in public
    for node in ast.walk(ast.parse((ROOT / "examples" / f"{name}.py").read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported = {alias.name: alias.asname for alias in node.names}
            assert imported.get("robot_dynamics", "rd") == "rd"
            assert not any(one.startswith("robot_dynamics.") for one in imported)
            assert not {"argparse", "sys"} & imported.keys()
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("robot_dynamics"):
            assert node.module in public
            assert not any(alias.name.startswith("_") for alias in node.names)
