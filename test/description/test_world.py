# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several descriptions in one world."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from description.urdf_texts import ARM, BOX, INERTIAL, LIMIT

from robot_dynamics.description.load import load_description, with_drives
from robot_dynamics.description.model_file import write_model
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.world import Part, chain_between, joints_between, place
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import build, pose_of
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import load

GRIPPER = ARM.replace(
    "</robot>",
    f'<link name="finger">{INERTIAL}</link><joint name="grip" type="prismatic">'
    f'<parent link="tool"/><child link="finger"/><axis xyz="1 0 0"/>{LIMIT}</joint></robot>',
)


def test_two_arms_and_a_box_make_one_model():
    """Arms stand where they are placed, turned as asked, and the box floats between them."""
    arm, box = read_urdf(ARM), read_urdf(BOX)
    placed = place(
        [
            Part(arm, "left_", (0, 0.5, 0)),
            Part(arm, "right_", (0, -0.5, 0), (0, 0, np.pi)),
            Part(box, "", (0.5, 0, 1.0), carrier="floating"),
        ]
    )
    model = build(placed.mechanism)
    assert model.joint_names == (
        "left_shoulder", "left_elbow", "right_shoulder", "right_elbow", "world_to_box",
    )  # fmt: skip
    right = pose_of(model.link("right_base").placement)
    np.testing.assert_allclose(right[:3, 3], [0, -0.5, 0])
    np.testing.assert_allclose(right[:3, 0], [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(list(model.bodies[4].placement.r), [0.5, 0, 1.0])
    assert [shape.link for shape in placed.shapes] == ["box"]


def test_a_base_may_drive_about():
    """A planar carrier gives a mobile base three degrees of freedom about and across z."""
    model = build(place([Part(read_urdf(BOX), xyz=(0, 0, 1.0), carrier="planar")]).mechanism)
    assert (model.nv, model.bodies[0].joint.type.name) == (3, "planar")
    np.testing.assert_array_equal(model.link("box").placement.E.rows, np.eye(3))


def test_gears_stay_with_their_part():
    """Two grippers with a mimic finger each: locked in one, geared in the other."""
    mimic = GRIPPER.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="elbow"/>')
    gripper = read_urdf(mimic)
    placed = place([Part(gripper, "a_", locked={"elbow": 0.1}), Part(gripper, "b_")])
    model = build(placed.mechanism)
    assert [coupling.name for coupling in model.couplings] == ["b_grip"]
    assert model.joint_names == ("a_shoulder", "b_shoulder", "b_elbow", "b_grip")


def test_shapes_take_the_prefix_of_their_part():
    """The link of a shape is the one in the world."""
    placed = place([Part(read_urdf(BOX), "a_"), Part(read_urdf(BOX), "b_")])
    assert [shape.link for shape in placed.shapes] == ["a_box", "b_box"]


def test_joints_between_links_are_the_movable_ones_on_the_way():
    """The way to the tool, from the root or a link in between; fixed joints only in chains."""
    mechanism = read_urdf(GRIPPER).mechanism
    assert joints_between(mechanism, "tool") == ("shoulder", "elbow")
    assert joints_between(mechanism, "finger", "upper") == ("elbow", "grip")
    assert [j.name for j in chain_between(mechanism, "tool", "upper")] == ["elbow", "flange"]
    with pytest.raises(UnknownNameError, match="'tool'"):
        joints_between(mechanism, "tol")
    with pytest.raises(RobotDynamicsError, match=r"'upper'.*'tool'"):
        joints_between(mechanism, "upper", "tool")


def test_joints_beside_the_arm_must_be_locked():
    """A finger that could move is refused by name, and accepted once it is locked."""
    gripper = read_urdf(GRIPPER)
    with pytest.raises(RobotDynamicsError, match="'grip'"):
        place([Part(gripper, keep_to="tool")])
    placed = place([Part(gripper, "l_", keep_to="tool", locked={"grip": 0.1})])
    model = build(placed.mechanism)
    assert model.joint_names == ("l_shoulder", "l_elbow")
    tool, finger = model.link("l_tool"), model.link("l_finger")
    assert tool.body == finger.body
    offset = np.linalg.inv(pose_of(tool.placement)) @ pose_of(finger.placement)
    np.testing.assert_allclose(offset[:3, 3], [0.1, 0, 0], atol=1e-15)


def test_wrong_names_and_clashes_are_one_sentence():
    """Unknown locked joints, unknown tools and parts without prefixes are explained."""
    arm = read_urdf(ARM)
    with pytest.raises(UnknownNameError, match="'elbow'"):
        place([Part(arm, locked={"elbo": 0.0})])
    with pytest.raises(UnknownNameError, match="'tol'"):
        place([Part(arm, keep_to="tol")])
    with pytest.raises(RobotDynamicsError, match="'base'"):
        place([Part(arm), Part(arm)])


def test_a_floating_part_needs_inertia():
    """A frame without mass that floats is warned of, and its forward dynamics are refused."""
    frame = read_urdf('<robot name="frame"><link name="frame"/></robot>')
    world = place([Part(frame, carrier="floating")])
    (warning,) = world.diagnosis.warnings
    assert warning.sentence() == "<text>:1: link 'frame': has no inertia, yet it can move."
    with pytest.raises(RobotDynamicsError, match=r"'world_to_frame'.*inertia"):
        require_inertia(build(world.mechanism))
    assert not place([Part(frame)]).diagnosis.problems


STATED = GRIPPER.replace(
    "</robot>",
    '<transmission name="drive"><type>SimpleTransmission</type><joint name="shoulder"/>'
    '<actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator>'
    "</transmission></robot>",
).replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="elbow" multiplier="2"/>')
GRASPS = """loops:
- {name: left, type: fixed, predecessor: {link: l_tool}, successor: {link: box}}
- {name: right, type: spherical, predecessor: {link: r_tool}, successor: {link: box}}
couplings: [{name: pair, joint: r_shoulder, driver: l_shoulder, ratio: -1.0}]
actuated: [l_shoulder, l_elbow]
"""


@pytest.fixture
def cell(tmp_path):
    """Two grippers of one file and a box of another folder, on files."""
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "arm.urdf").write_text(
        STATED.replace(
            '<link name="tool"/>',
            '<link name="tool"><visual><geometry><mesh filename="tool.stl"/></geometry></visual>'
            "</link>",
        ).replace('effort="4"', 'effort="0"', 1)
    )
    (tmp_path / "arms" / "tool.stl").write_text("solid")
    (tmp_path / "box.urdf").write_text(BOX)
    (tmp_path / "grasps.yaml").write_text(GRASPS)
    arm = load_description(tmp_path / "arms" / "arm.urdf")
    box = load_description(tmp_path / "box.urdf")
    return place(
        [
            Part(arm, "l_", (0, 0.5, 0)),
            Part(replace(arm, independent=("elbow",)), "r_", (0, -0.5, 0)),
            Part(box, carrier="floating"),
        ],
        "cell",
    )


def test_everything_said_of_a_part_is_said_of_it_in_the_world(cell, tmp_path):
    """Mimics, transmissions, independent joints, warnings, files, places, folders of meshes."""
    assert cell.mimics == {"l_grip": ("l_elbow", 2.0, 0.0), "r_grip": ("r_elbow", 2.0, 0.0)}
    assert [(t.name, t.joints, t.actuators) for t in cell.transmissions] == [
        ("l_drive", ("l_shoulder",), ("l_motor",)),
        ("r_drive", ("r_shoulder",), ("r_motor",)),
    ]
    assert cell.independent == ("r_elbow",)
    assert cell.actuated is None
    assert len(cell.diagnosis.warnings) == 1
    assert cell.source == f"{tmp_path / 'arms' / 'arm.urdf'}, {tmp_path / 'box.urdf'}"
    assert cell.places.joint("r_elbow").startswith("arm.urdf:")
    assert cell.places.link("box").startswith("box.urdf:")
    meshes = [shape for shape in cell.shapes if shape.kind == "mesh"]
    assert [shape.link for shape in meshes] == ["l_tool", "r_tool"]
    assert cell.locate(meshes[1]) == tmp_path / "arms" / "tool.stl"


def test_drives_that_one_part_states_are_kept_beside_those_of_others():
    """The part that states its driven joints is believed; the other drives all that it can."""
    arm = read_urdf(ARM)
    said = replace(arm, mechanism=with_drives(arm.mechanism, ("elbow",)), actuated=("elbow",))
    both = place([Part(said, "a_"), Part(arm, "b_"), Part(read_urdf(BOX), carrier="floating")])
    assert both.actuated == ("a_elbow", "b_shoulder", "b_elbow")
    robot = load(both)
    assert [b.joint.name for b in robot.model.bodies if b.joint.driven] == list(both.actuated)
    held = place([Part(said, "a_", locked={"elbow": 0.2}), Part(arm, "b_")])
    assert held.actuated == ("b_shoulder", "b_elbow")


def test_a_world_is_given_loops_loaded_saved_and_loaded_again(cell, tmp_path):
    """The grasps of a YAML file close the loops; saved files read back equal."""
    closed = load_description(cell, loops=tmp_path / "grasps.yaml")
    assert [loop.name for loop in closed.mechanism.loops] == ["left", "right"]
    assert [c.name for c in closed.mechanism.couplings] == ["l_grip", "r_grip", "pair"]
    assert closed.actuated == ("l_shoulder", "l_elbow")
    robot = load(cell, loops=tmp_path / "grasps.yaml")
    assert robot.model.constraint_count == 6 + 3 + 3
    write_model(tmp_path / "cell.yaml", closed)
    again = load_description(tmp_path / "cell.yaml")
    assert again == closed
    assert again.locate(again.shapes[0]) == tmp_path / "arms" / "tool.stl"
    assert load(tmp_path / "cell.yaml").model == robot.model == load(closed.mechanism).model


def test_a_world_can_be_a_part_of_another(cell):
    """A placed world is a description; prefixes are put before prefixes."""
    outer = place([Part(cell, "cell_"), Part(read_urdf(BOX), carrier="planar")])
    assert "cell_world_to_box" in outer.mechanism.movable_joints
    assert outer.transmissions[1].joints == ("cell_r_shoulder",)
    assert outer.locate(outer.shapes[0]).name == "tool.stl"


NAMES = ("shoulder", "lift", "elbow", "roll", "bend", "twist")
#: An arm with six joints that has no limits, links of 0.3 m.
SIX = (
    '<robot name="six"><link name="base"/>'
    + "".join(
        f'<link name="{child}">{INERTIAL}</link><joint name="{name}" type="continuous">'
        f'<parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 {height}"/>'
        f'<axis xyz="{axis}"/></joint>'
        for name, parent, child, height, axis in zip(
            NAMES,
            ("base", "l1", "l2", "l3", "l4", "l5"),
            ("l1", "l2", "l3", "l4", "l5", "tool"),
            (0.3, 0.0, 0.3, 0.3, 0.0, 0.0),
            ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1"),
            strict=True,
        )
    )
    + "</robot>"
)


def test_the_example_of_the_documentation(tmp_path, monkeypatch):
    """The world that docs/urdf.md shows is built, closed, saved and loaded again."""
    text = (Path(__file__).parents[2] / "docs" / "urdf.md").read_text()
    chapter = text[text.index("## Several descriptions in one world") :]
    (tmp_path / "grasps.yaml").write_text(chapter.split("```yaml\n")[1].split("```")[0])
    (tmp_path / "arm.urdf").write_text(SIX)
    (tmp_path / "box.urdf").write_text(BOX)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(chapter.split("```python\n")[1].split("```")[0], names)
    held = names["held"]
    assert held.mechanism.movable_joints == (
        *("left_" + name for name in NAMES),
        *("right_" + name for name in NAMES),
        "world_to_box",
    )
    assert [c.name for c in held.mechanism.couplings] == ["mirror"]
    assert load_description("cell.yaml") == held
