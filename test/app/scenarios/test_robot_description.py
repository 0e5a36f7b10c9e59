# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The URDF that is published is the mechanism that is simulated, shapes included."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.app.scenarios.robot_description import main, robot_description
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description.load import load_description
from robot_dynamics.description.urdf_writer import urdf_of
from robot_dynamics.manipulation.settings import RobotSettings
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.robot import Robot

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cell():
    """Return the cell of the shipped scenario, its robot there twice and turned."""
    from dataclasses import replace

    own = load_scenario("lift_box").cell
    (robot,) = own.robots
    other = RobotSettings(
        robot.urdf,
        prefix="b_",
        xyz=(1.0, -2.0, 0.3),
        rpy=(0.1, -0.7, 2.0),
        locked={"left_joint2": 0.4, "right_joint7": -1.0},
    )
    return replace(own, robots=(robot, other))


def test_it_is_the_same_mechanism(cell):
    """Torques of random motions are those of the parts, locked joints included."""
    text = robot_description(cell, "cell")
    written = load_description(text).mechanism
    from robot_dynamics.description.world import Part, place

    parts = [
        Part(load_description(r.urdf), r.prefix, r.xyz, r.rpy, locked=r.locked)
        for r in cell.robots
    ]
    meant = place(parts).mechanism
    one, other = Robot.from_mechanism(written), Robot.from_mechanism(meant)
    names = [body.joint.name for body in one.model.bodies]
    assert sorted(names) == sorted(body.joint.name for body in other.model.bodies)
    order = [names.index(body.joint.name) for body in other.model.bodies]
    random = np.random.default_rng(5)
    for _ in range(5):
        x = random.normal(size=(3, len(names)))
        tau = one.inverse_dynamics(*x)
        expected = other.inverse_dynamics(*x[:, order])
        # Numbers are read back as they were; roll, pitch and yaw lose a few roundings.
        assert np.allclose(tau[order], expected, rtol=1e-12, atol=1e-11)


def test_limits_names_and_shapes_survive(cell):
    """Everything that a display or a check of the file looks at."""
    written = load_description(robot_description(cell, "cell"))
    source = load_description(cell.robots[0].urdf)
    own = {j.name: j for j in written.mechanism.joints}
    for joint in source.mechanism.joints:
        same = own[joint.name]
        assert same.type == joint.type
        assert same.limits == joint.limits
        assert (same.damping, same.friction) == (joint.damping, joint.friction)
    assert own["b_left_joint2"].type == "fixed"
    assert len(written.shapes) == 2 * len(source.shapes)
    assert written.mechanism.name == "cell"
    assert not [p for p in written.diagnosis.problems if p.severity == "error"]


def test_joints_without_limits_can_be_written():
    """A URDF wants numbers: a continuous joint gets large ones, and no position limits."""
    links = (LinkElement("a"), LinkElement("b", 1.0, (0.0, 0.0, 0.0), np.eye(3)))
    joint = JointElement("j", "continuous", "a", "b", pose((0.0, 0.0, 1.0)))
    text = urdf_of(Mechanism("m", links, (joint,)))
    assert "lower" not in text
    (read,) = load_description(text).mechanism.joints
    assert read.type == "continuous"


def test_the_command_prints_it():
    """As launch files use it."""
    command = [sys.executable, "-m", "robot_dynamics.app.scenarios.robot_description", "lift_box"]
    good = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert good.returncode == 0, good.stderr
    assert load_description(good.stdout).mechanism.name == "lift_box"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["lift_bx"], "did you mean 'lift_box'"), ([], "expected one argument, the scenario")],
)
def test_the_command_refuses(monkeypatch, capsys, arguments, said):
    """A scenario that is not there, or none, is refused with status 2 and a sentence."""
    monkeypatch.setattr(sys, "argv", ["robot_description", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
