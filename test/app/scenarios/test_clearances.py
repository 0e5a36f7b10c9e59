# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Collisions on planned motions: links, surfaces, fixtures, tools of free arms, held objects."""

import re

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.clearances import Clearances, _levers
from robot_dynamics.app.scenarios.scenario import load_scenario

SCENARIO = load_scenario("pick_and_place")
HOME = np.array(SCENARIO.home)
# Of the left arm: its palm 20 mm inside the box, and with its lower edge 5 mm below the table.
IN_BOX = np.r_[-0.9968, -0.6373, 0.2673, 1.5463, 1.1185, 1.4069, 0.0022, HOME[7:]]
IN_TABLE = np.r_[-1.013, -0.6191, 0.2723, 1.2354, 1.0994, 1.5437, 0.2603, HOME[7:]]
PLACE = SCENARIO.object_pose
TABLE = 0.6
POST = """<robot name="post"><link name="post"><collision>
<geometry><box size="0.1 0.1 0.3"/></geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def clearances():
    return Clearances(SCENARIO, build_system(SCENARIO))


def still(count):
    return np.tile(PLACE, (count, 1))


def test_a_link_in_the_table_is_found(clearances):
    """At the instant at which corners of its boxes first are below the plane."""
    way = HOME + np.linspace(0.0, 1.0, 60)[:, None] * (IN_TABLE - HOME)
    arms = rd.load_description("package://robot_dynamics/urdf/dual_arm.urdf")
    robot = rd.load(arms)
    boxes = [one for one in arms.shapes if one.link == "left_link7" and one.kind == "box"]

    def lowest(q):
        at = robot.pose("left_link7", q)
        corners = np.concatenate([one.points() for one in boxes])
        return (corners @ at[:3, :3].T + at[:3, 3])[:, 2].min() - TABLE

    gaps = np.array([lowest(q) for q in way])
    row = int(np.argmax(gaps < 0.0))
    found = clearances.first_too_close(way, still(60), ["move"] * 60)
    assert (found.row, found.joint) == (row, "left_joint7")
    by = float(re.search(r"overlap surface 'table' by (\S+) m", found.sentence)[1])
    assert by == pytest.approx(-gaps[row], rel=0.01)
    assert "in the phase 'move'" in found.sentence
    assert clearances.first_too_close(way[:row], still(row), ["move"] * row) is None


def test_a_joint_moves_its_tool_no_farther_than_its_lever():
    """Per radian, by differences at random postures; the first joints move it nearly as far."""
    system = build_system(SCENARIO)
    levers = _levers(system)
    robot = rd.load(rd.load_description("package://robot_dynamics/urdf/dual_arm.urdf"))
    q, step = np.random.default_rng(0).uniform(-1.0, 1.0, size=(500, 14)), 1e-6
    q[0] = 0.0
    for j in range(7):
        moved = q + step * np.eye(14)[j]
        ends = [robot.pose("left_tool", at)[..., :3, 3] for at in (moved, q)]
        ways = np.linalg.norm(ends[0] - ends[1], axis=-1) / step
        assert ways.max() <= levers[j]
        assert j > 1 or ways.max() > 0.8 * levers[j]


def test_free_tools_keep_away_from_the_object(clearances):
    """Before the grasp; in it they touch."""
    both, where = np.array([HOME, IN_BOX]), still(2)
    found = clearances.first_too_close(both, where, ["approach"] * 2)
    assert found.row == 1
    assert "link 'left_link7' would overlap the object by 0.018 m in" in found.sentence
    assert "the phase 'approach', expected at most 0.001 m." in found.sentence
    assert clearances.first_too_close(both, where, ["approach", "grasp"]) is None


@pytest.mark.parametrize(("inside", "refused"), [(0.9e-3, False), (1.1e-3, True)])
def test_a_carried_object_keeps_away_from_fixtures(tmp_path, inside, refused):
    """A robot without joints is one; 1 mm counts as standing on it."""
    (tmp_path / "post.urdf").write_text(POST)
    robots = (
        "cell.robots=[{urdf: package://robot_dynamics/urdf/dual_arm.urdf}, "
        f"{{urdf: {tmp_path}/post.urdf, xyz: [{PLACE[0] + 0.2 - inside}, 0.0, {PLACE[2]}]}}]"
    )
    cell = load_scenario("pick_and_place", [robots])
    system = build_system(cell)
    found = Clearances(cell, system)
    at = system.posture[None], still(1)
    assert found.first_too_close(*at, ["put_down"]) is None
    close = found.first_too_close(*at, ["carry"])
    assert (close is not None) == refused
    if close is not None:
        assert "the object would overlap fixture 'post' by 0.0011 m" in close.sentence


def test_cells_without_task_and_fixtures_are_not_looked_at():
    """Their surfaces have no stated extent."""
    scenario = load_scenario("lift_box")
    assert Clearances(scenario, build_system(scenario)).first_too_close(HOME, PLACE) is None


def test_missing_packages_are_said(monkeypatch):
    """Instead of a silent pass."""
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    (said,) = Clearances(SCENARIO, build_system(SCENARIO)).warnings
    assert said.startswith("collisions of all links are not checked: contacts between shapes need")
