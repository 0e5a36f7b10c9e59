# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drawn scene of a recording: poses, forces, colours."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.app.pictures import visual_scene
from robot_dynamics.app.pictures.shapes import (
    FORCE_SCALE,
    SAFE_COLOR,
    USED_COLOR,
    VisualError,
    meshes_of,
    require_trimesh,
)
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description.description import Shape
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.resources import share_directory

pytest.importorskip("trimesh", reason="trimesh, of the extra `view`, is not installed")

from robot_dynamics.app.command_line.view import scene_of
from robot_dynamics.app.pictures.visual_scene import (
    is_recording,
    scene_of_recording,
    scene_of_robot,
)

# A palm 0.1 m above a joint about z, 0.3 m out.
ARM = """
<robot name="arm">
  <link name="base"><visual><geometry><box size="0.1 0.2 0.4"/></geometry></visual></link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="arm">
    <inertial>
      <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <origin xyz="0.3 0 0.1"/><geometry><sphere radius="0.05"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material>
    </visual>
  </link>
</robot>
"""


@pytest.fixture(scope="module")
def recording(run):
    """Return half a second of a run of the shipped scenario."""
    recorded = run.recording
    return Recording({k: v[:250] for k, v in recorded.columns.items()}, recorded.metadata)


def test_the_object_is_where_the_recording_has_it(recording):
    """At every instant the drawn poses of object and ghost are those of the nearest period."""
    scene = scene_of_recording(recording, 0.02)
    rows = np.round(scene.times / recording.get("period_s")).astype(int)
    assert len(rows) == 26
    assert scene.times[-1] == pytest.approx(0.5, abs=0.003)
    (held,) = (body for body in scene.bodies if body.role == "object")
    (ghost,) = (body for body in scene.bodies if body.role == "reference")
    rows = np.minimum(rows, len(recording) - 1)
    for body, column in ((held, "object_pose"), (ghost, "reference_pose")):
        pose = recording[column][rows]
        assert np.allclose(body.poses[:, :3, 3], pose[:, :3], atol=1e-12)
        turned = Rotation.from_quat(pose[:, 3:]).as_matrix()
        assert np.allclose(body.poses[:, :3, :3], turned, atol=1e-12)
    assert all(mesh.color[3] < 0.5 for mesh in ghost.meshes)


def test_forces_balance_the_load(recording):
    """Without motion the two force arrows add up to the weight; their tips are on the object."""
    scene = scene_of_recording(recording, 0.1)
    forces = [arrow for arrow in scene.arrows if arrow.name.endswith("force")]
    (held,) = (body for body in scene.bodies if body.role == "object")
    assert len(forces) == 2
    total = sum(arrow.vectors[1] for arrow in forces) / FORCE_SCALE
    assert total == pytest.approx([0.0, 0.0, 10.0 * 9.81], abs=1.0)
    for arrow in forces:
        # The tools hold the box 0.2 m from its middle.
        distance = np.linalg.norm(arrow.tips - held.poses[:, :3, 3], axis=1)
        assert distance == pytest.approx(0.2, abs=1e-4)


def test_torques_are_parts_of_their_limits(recording):
    """Torque bars are the applied torques over the limits of the drives."""
    scene = scene_of_recording(recording, 0.1)
    limits = np.array(recording.get("effort_limits"))
    assert np.allclose(scene.torques[2] * limits, recording["applied_torque"][100], rtol=1e-12)
    assert scene.joints == tuple(recording.get("joints"))


@pytest.mark.parametrize(("most", "refused"), [(26, False), (25, True)])
def test_a_recording_can_claim_a_long_time(recording, monkeypatch, most, refused):
    """Two rows can lie any time apart; too many instants are refused before they are made."""
    monkeypatch.setattr(visual_scene, "_MOST_INSTANTS", most)
    if refused:
        with pytest.raises(VisualError, match=r"26 instants of 0\.02 s; expected at most 25"):
            scene_of_recording(recording, 0.02)
    else:
        assert len(scene_of_recording(recording, 0.02).times) == 26


def test_a_controller_alone_is_drawn_by_its_estimates(recording):
    """Without the true state the object is where the controller saw it."""
    columns = {k: v for k, v in recording.columns.items() if not k.startswith("object_")}
    scene = scene_of_recording(Recording(columns, recording.metadata), 0.1)
    (held,) = (body for body in scene.bodies if body.role == "object")
    assert np.allclose(held.poses[0, :3, 3], recording["estimated_pose"][0, :3])


def test_friction_colours_the_cones(recording):
    """A grasp that slips has a cone, green where nothing of its friction is used, red at all."""
    text = recording.get("scenario_text").replace("kind: rigid", "kind: point")
    used = np.linspace(0.0, 1.0, len(recording))[:, None] * [1.0, 0.0]
    columns = {**recording.columns, "friction_used": used, "grasp_gap": 2e-3 * used}
    changed = Recording(columns, {**recording.metadata, "scenario_text": text})
    scene = scene_of_recording(changed, 0.1)
    left, right = (body for body in scene.bodies if body.role == "cone")
    assert left.colors[0] == pytest.approx(right.colors[-1])
    assert left.colors[0, :3] == pytest.approx(SAFE_COLOR[:3])
    assert left.colors[-1, :3] == pytest.approx(USED_COLOR[:3])
    assert scene.arms == ("left", "right")
    # Of the palm that comes off by 1 mm it is hidden.
    assert left.poses[0, 2, 3] > 0.0 > left.poses[-1, 2, 3]
    assert (right.poses[:, 2, 3] > 0.0).all()
    # The cone opens from the tool along its z axis, as wide as the coefficient of friction.
    vertices = left.meshes[0].vertices
    radius = np.hypot(*vertices[:, :2].T)
    assert (radius < 0.5 * vertices[:, 2] + 1e-9).all()
    assert radius.max() == pytest.approx(0.5 * vertices[:, 2].max())
    assert vertices.min(axis=0)[2] == pytest.approx(0.0, abs=1e-9)


def test_contacts_are_those_that_can_part(recording):
    """A palm touches while its gap is at most 1 mm; its force is along the tool's axis."""
    text = recording.get("scenario_text").replace("kind: rigid", "kind: point")
    gap = np.where(np.arange(len(recording)) < 100, 1e-3, 1.01e-3)[:, None] * [1.0, 0.0]
    columns = {**recording.columns, "grasp_gap": gap, "contact_force": gap[:, :1] * [0.0, 1.0]}
    more = {"scenario_text": text, "surfaces": ["table", "wall"], "surface_rows": [0, 1]}
    changed = Recording(columns, {**recording.metadata, **more})
    scene = scene_of_recording(changed, recording.get("period_s"))
    assert [one.name for one in scene.contacts] == ["left", "right", "table", "wall"]
    left, right, table, wall = scene.contacts
    assert left.touching[:250].tolist() == 100 * [True] + 150 * [False]
    assert right.touching.all()
    assert np.array_equal(left.force[:250], recording["grasp_wrench"][:, 5])
    assert np.array_equal(right.force[:250], recording["grasp_wrench"][:, 11])
    assert not table.touching.any()
    assert wall.touching.all()


def test_a_run_that_goes_on_keeps_its_history(recording, monkeypatch):
    """Charts have all rows so far; of too many every other one is dropped."""
    monkeypatch.setattr(visual_scene, "_MOST_ROWS", 4)
    history, ticks = visual_scene.History(), []
    for i in range(6):
        row = Recording({k: v[i : i + 1] for k, v in recording.columns.items()}, {})
        ticks.append(history.extended(row)["tick"].tolist())
    assert ticks[3:] == [[0, 1, 2, 3], [0, 2, 4], [0, 2, 4, 5]]


def test_a_robot_at_its_joint_positions(tmp_path):
    """A robot is drawn from its URDF alone, at positions by name."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    scene = scene_of_robot(file, {"turn": np.pi / 2})
    base, arm = scene.bodies
    assert [len(base.meshes), len(arm.meshes)] == [1, 1]
    middle = arm.poses[0, :3, :3] @ arm.meshes[0].vertices.mean(axis=0) + arm.poses[0, :3, 3]
    assert middle == pytest.approx([0.0, 0.3, 0.1], abs=1e-3)
    assert arm.meshes[0].color == (1.0, 0.0, 0.0, 1.0)
    assert scene.bounds() == pytest.approx(
        np.array([[-0.05, -0.1, -0.2], [0.05, 0.35, 0.2]]), abs=1e-3
    )


def test_a_robot_along_a_motion(tmp_path):
    """Positions are one for each time, or one for all; other numbers of them are refused."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    turns = np.array([0.0, 0.5, 1.0])
    scene = scene_of_robot(file, {"turn": turns}, np.array([0.0, 0.1, 0.2]))
    angles = np.arctan2(scene.bodies[1].poses[:, 1, 0], scene.bodies[1].poses[:, 0, 0])
    assert angles == pytest.approx(turns)
    with pytest.raises(
        VisualError, match=r"'turn' has 2 positions; expected 3, one for each time"
    ):
        scene_of_robot(file, {"turn": turns[:2]}, np.zeros(3))
    whole = scene_of_robot(file, turns[:, None], np.array([0.0, 0.1, 0.2]))
    assert np.array_equal(whole.bodies[1].poses, scene.bodies[1].poses)
    with pytest.raises(VisualError, match=r"shape \(3, 2\); expected \(3, 1\), a row for each"):
        scene_of_robot(file, np.zeros((3, 2)), np.zeros(3))


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("box", (0.1, 0.2, 0.3), 0.006),
        ("sphere", (0.5,), np.pi / 6),
        ("cylinder", (0.1, 2.0), 0.02 * np.pi),
        ("capsule", (0.1, 2.0), 0.02 * np.pi + 4e-3 / 3 * np.pi),
    ],
)
def test_primitive_shapes_are_closed(kind, size, volume):
    """The triangles of a shape enclose its volume, and their normals point outwards."""
    shape = Shape("l", "visual", kind, np.eye(4), size)
    (mesh,) = meshes_of(shape)
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    enclosed = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert enclosed == pytest.approx(volume, rel=0.02)
    outwards = np.einsum("ij,ij->i", mesh.normals[mesh.faces[:, 0]], np.cross(b - a, c - a))
    assert (outwards > 0.0).all()


def test_meshes_are_read_with_scale_and_colour(tmp_path):
    """A mesh file is scaled as the URDF says; a .dae brings its own unit and colour."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada", reason="pycollada, of the extra `view`, is not installed")
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    box.export(tmp_path / "box.stl")
    at = np.eye(4)
    at[:3, 3] = [1.0, 0.0, 0.0]
    shape = Shape("l", "visual", "mesh", at, (0.1, 0.1, 0.1), "box.stl")
    (mesh,) = meshes_of(shape, str(tmp_path))
    assert mesh.vertices.min(0) == pytest.approx([0.95, -0.1, -0.15])
    box.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[0, 0, 255, 255])
    )
    text = trimesh.exchange.dae.export_collada(box).decode()
    assert "</contributor>" in text or "<asset>" in text
    (tmp_path / "box.dae").write_text(text)
    shape = Shape("l", "visual", "mesh", np.eye(4), (1.0, 1.0, 1.0), "box.dae")
    (mesh,) = meshes_of(shape, str(tmp_path))
    assert mesh.vertices.max(0) == pytest.approx([0.5, 1.0, 1.5])


def test_damaged_meshes_are_refused(tmp_path):
    """A mesh file that is none is refused with its path; so is one that is missing."""
    (tmp_path / "bad.obj").write_text("no mesh")
    (tmp_path / "bad.glb").write_text("no mesh")
    for name in ("bad.glb", "missing.stl"):
        shape = Shape("l", "visual", "mesh", np.eye(4), (1.0, 1.0, 1.0), name)
        with pytest.raises(RobotDynamicsError, match=name):
            meshes_of(shape, str(tmp_path))


def test_a_missing_package_is_named(monkeypatch):
    """Without trimesh one sentence says how to install it."""
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    with pytest.raises(VisualError, match=r"need trimesh.*robot_dynamics\[view\]"):
        require_trimesh()


def test_a_missing_mesh_is_named_before_the_run(tmp_path, capsys, monkeypatch):
    """A scenario that cannot be drawn is not simulated first."""
    urdf = (share_directory() / "urdf" / "box.urdf").read_text()
    mesh = '<mesh filename="nowhere.stl"/>'
    (tmp_path / "box.urdf").write_text(re.sub(r"<box size=.*?/>", mesh, urdf))
    monkeypatch.setattr("robot_dynamics.app.runs.run.simulate", None)
    with pytest.raises(RobotDynamicsError, match=r"nowhere\.stl: there is no such file"):
        scene_of("lift_box", 0.02, [f"cell.object.urdf={tmp_path}/box.urdf"])


def test_a_refused_cell_is_shown_at_its_postures(capsys, monkeypatch):
    """The reason is printed: with a picture of the cell it can be understood."""

    def refuse(*_, **__):
        raise RobotDynamicsError("arm 'left' does not reach.")

    monkeypatch.setattr("robot_dynamics.app.runs.run.simulate", refuse)
    scene = scene_of("lift_box", 0.02, ["cell.object.xyz=[0.0,0.0,2.5]"])
    assert "arm 'left' does not reach." in capsys.readouterr().err
    assert scene.times.tolist() == [0.0]
    at = {body.name: body.poses[0, :3, 3] for body in scene.bodies}
    cell = load_scenario("lift_box").cell
    (box,) = (body.name for body in scene.bodies if body.role == "object")
    assert at[box].tolist() == [0.0, 0.0, 2.5]
    for arm in cell.arms:  # the postures reach the grasps where the object is in the scenario
        grasp = np.add(cell.object.xyz, arm.grasp.xyz)
        links = [where for name, where in at.items() if name.startswith(arm.name)]
        assert np.linalg.norm(links - grasp, axis=1).min() < 0.2


def test_recordings_are_recognised_by_suffix_and_contents(tmp_path):
    """Recordings are files by their suffix, and folders by their contents."""
    assert is_recording("run.npz")
    assert is_recording("run.mcap")
    assert not is_recording("lift_box")
    assert not is_recording(tmp_path)
    (tmp_path / "recording.npz").touch()
    assert is_recording(tmp_path)
