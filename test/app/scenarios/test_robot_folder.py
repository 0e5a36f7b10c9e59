# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real arms: every shipped folder means something, and lifts in simulation."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.robot_folder import (
    NODES,
    TOPICS,
    node_settings,
    remappings,
    robot_folder,
    shipped_robots,
)
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description import DescriptionError
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

ROBOTS = ("baxter", "two_panda", "two_ur5")


@pytest.fixture(scope="module", params=ROBOTS)
def folder(request):
    """Return the folder of each robot in turn."""
    return robot_folder(request.param)


@pytest.fixture(scope="module")
def scenario(folder):
    """Return its scenario, if its description is installed."""
    try:
        return load_scenario(folder / "scenario.yaml")
    except DescriptionError as error:
        if "example-robot-data" in str(error):
            pytest.skip("needs the package example-robot-data")
        raise


def test_all_are_tested_here():
    """A robot that is added is tested."""
    assert set(shipped_robots()) == set(ROBOTS)


def test_a_dry_run_is_good(scenario):
    """Reach, limits and torques are checked before the start; the lift keeps the thresholds.

    The run is that of `robot_dynamics simulate config/robots/NAME/scenario.yaml`.
    """
    run = simulate(scenario)
    assert run.ok, run.report["failures"]
    # Leaves room for what the description does not know, as friction and cables.
    assert run.report["torque_fraction_of_limit_max"] < scenario.safety.effort_fraction


def test_a_copy_means_the_same(folder, scenario, tmp_path):
    """The guide says to copy a folder: nothing in it depends on where it lies."""
    copy = shutil.copytree(folder, tmp_path / "mine")
    assert load_scenario(copy / "scenario.yaml") == scenario
    assert load_scenario(copy / "gravity.yaml") == load_scenario(folder / "gravity.yaml")


def test_arms_without_an_object_can_be_held_up(folder, scenario):
    """Step 7 of the guide: the arms alone stay in place, within control's share of torque."""
    gravity = load_scenario(folder / "gravity.yaml")
    assert gravity.control.law == "gravity"
    run = simulate(gravity, duration=0.2)
    assert np.ptp(run.recording["joint_position"], axis=0).max() == 0.0
    assert run.report["torque_fraction_of_limit_max"] < gravity.safety.effort_fraction


def test_facts_that_a_real_robot_must_state(folder, scenario):
    """Drives without commands, their gravity compensation, and a start by hand."""
    (values,) = yaml.safe_load((folder / NODES).read_text()).values()
    facts = values["ros__parameters"]
    assert facts["drives_compensate_gravity"] in (True, False)
    assert facts["on_command_timeout"] in ("brake", "zero", "hold")
    assert facts["autostart"] == "never"
    if facts["on_command_timeout"] == "hold":
        assert facts["guard"] == "required"
    declared = pytest.importorskip("robot_dynamics.nodes.parameters", reason="ROS 2 is missing")
    entries = {entry.name: entry for entry in declared.CONTROLLER}
    for name, value in facts.items():
        entries[name].checked(value)


def test_topic_files_map_our_names_to_theirs(folder, scenario):
    """Each name is one that the nodes have, and every arm's commands are named."""
    arms = [arm.name for arm in scenario.cell.arms]
    (values,) = yaml.safe_load((folder / NODES).read_text()).values()
    streams = values["ros__parameters"]["joint_state_topics"]
    known = {*streams, *(f"{arm}/{kind}" for arm in arms for kind in ("commands", "wrench"))}
    found = dict(remappings(folder))
    assert set(found) <= known
    assert {f"{arm}/commands" for arm in arms} | set(streams) <= set(found)
    assert all(name.startswith("/") for name in found.values())


def test_explicit_parameters_override_those_of_the_folder(folder):
    """Facts first, so that values given by hand win; nothing where no robot is named."""
    (facts, values), topics = node_settings(folder)
    assert Path(facts) == folder / NODES
    assert Path(values["scenario"]) == folder / "scenario.yaml"
    assert topics == remappings(folder)
    assert node_settings("") == ([], [])


def test_the_guide_names_them():
    """Each robot has its row in the guide."""
    page = Path(__file__).resolve().parents[3] / "docs" / "real_arms.md"
    if not page.is_file():
        pytest.skip("needs the checkout")
    text = page.read_text(encoding="utf-8")
    for name in ROBOTS:
        assert re.search(rf"`{name}`", text), name


def test_a_folder_of_ones_own(tmp_path):
    """It is found by its path; missing and wrong files are reported."""
    with pytest.raises(UnknownNameError, match="two_panda"):
        robot_folder("two_pandas")
    with pytest.raises(RobotDynamicsError, match=r"there is no scenario\.yaml"):
        robot_folder(tmp_path)
    for name in ("scenario.yaml", NODES, TOPICS):
        (tmp_path / name).write_text("")
    assert robot_folder(tmp_path) == tmp_path
    assert remappings(tmp_path) == []
    laughs = "".join(f"a{i}: &a{i} [{f'*a{i - 1}, ' * 10}]\n" for i in range(1, 10))
    large = "left/commands: " + "x" * 2**20
    deep = "[" * 1000 + "]" * 1000
    texts = ("- left", "left/commands:", "left/commands: 3", "{", f"a0: &a0 x\n{laughs}")
    for text in (*texts, large, deep):
        (tmp_path / TOPICS).write_text(text)
        with pytest.raises(RobotDynamicsError, match=r"topics\.yaml"):
            remappings(tmp_path)
