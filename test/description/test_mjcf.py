# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MJCF means the mechanism that MuJoCo makes of it, or is refused."""

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from description.mjcf_texts import ALL, ARM, FOUR_BAR, FREE, GEARS, HELD
from description.urdf_texts import ARM as URDF
from support import mujoco_states as oracle

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description, load_object, load_saved
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces
from robot_dynamics.dynamics.kinematics import poses_of_links
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

mujoco = pytest.importorskip("mujoco")
CLOSED = {"four_bar": FOUR_BAR, "held": HELD, "gears": GEARS}


def read(text):
    """Return the description of a text, and its model without springs."""
    saved = load_saved(text)
    mechanism = saved.description.mechanism
    joints = tuple(replace(joint, stiffness=0.0, rest=0.0) for joint in mechanism.joints)
    return saved.description, build(replace(mechanism, joints=joints), gravity=saved.gravity)


def same(found, expected, tolerance):
    """Assert that arrays agree to a part of the largest entry."""
    found, expected = np.array(found, dtype=float), np.asarray(expected)
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def random_state(m, seed):
    """Return a state of MuJoCo's with torques, and the terms of its motion."""
    random = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    qpos = d.qpos.copy()
    mujoco.mj_integratePos(m, qpos, 0.6 * random.normal(size=m.nv), 1.0)
    d.qpos[:], d.qvel[:] = qpos, random.normal(size=m.nv)
    d.qfrc_applied[:] = random.normal(size=m.nv)
    mujoco.mj_forward(m, d)
    return d


@pytest.mark.parametrize("name", ALL)
def test_dynamics_are_those_of_mujoco(name):
    """M with armature, bias forces and acceleration, loops open, to 1e-10 of the largest entry."""
    _, model = read(ALL[name])
    m = oracle.compiled(mujoco, ALL[name])
    parameters = parameters_of(model)
    for seed in range(3):
        d = random_state(m, seed)
        q, qd, rate, rate_dot = oracle.converted(mujoco, m, d.qpos, d.qvel)
        drift = rate_dot @ d.qvel
        H = np.array(inertia_matrix(model, q.tolist(), parameters), dtype=float)
        C = np.array(bias_forces(model, q.tolist(), qd.tolist(), parameters), dtype=float)
        same(rate.T @ H @ rate, oracle.inertia(mujoco, m, d), 1e-10)
        same(rate.T @ (C + H @ drift), d.qfrc_bias, 1e-10)
        tau = np.linalg.solve(rate.T, d.qfrc_applied)
        qdd = forward_dynamics(model, q.tolist(), qd.tolist(), tau.tolist(), parameters)
        same(np.linalg.solve(rate, np.array(qdd, dtype=float) - drift), d.qacc, 1e-10)


@pytest.mark.parametrize("name", ALL)
def test_links_are_where_mujoco_has_bodies_and_sites(name):
    """Poses of all named bodies and sites, to 1e-12 m."""
    description, model = read(ALL[name])
    m = oracle.compiled(mujoco, ALL[name])
    d = random_state(m, 4)
    q = oracle.converted(mujoco, m, d.qpos, d.qvel).q
    poses = dict(
        zip(
            [link.name for link in model.links],
            poses_of_links(model, q.tolist(), parameters_of(model)),
            strict=True,
        )
    )
    names = {link.name for link in description.mechanism.links}
    seen = 0
    for kind, count, at, turned in (
        ("BODY", m.nbody, d.xpos, d.xmat),
        ("SITE", m.nsite, d.site_xpos, d.site_xmat),
    ):
        for index in range(count):
            name = mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index)
            if name in names:
                frame = np.array(poses[name], dtype=float)
                assert np.allclose(frame[:3, 3], at[index], rtol=0.0, atol=1e-12)
                assert np.allclose(frame[:3, :3], turned[index].reshape(3, 3), atol=1e-12)
                seen += 1
    assert seen >= m.nbody - 1 + m.nsite


@pytest.mark.parametrize("name", CLOSED)
def test_closed_loops_accelerate_as_a_kkt_on_mujocos_matrices(name):
    """Welds, points, gears and tendons hold without yielding: equal to 1e-9."""
    _, model = read(CLOSED[name])
    m = oracle.compiled(mujoco, CLOSED[name])
    random = np.random.default_rng(7)
    d, J = oracle.closed_state(mujoco, m, random)
    tau = random.normal(size=m.nv)
    expected = oracle.constrained_acceleration(mujoco, m, d, J, tau)
    q, qd, rate, rate_dot = oracle.converted(mujoco, m, d.qpos, d.qvel)
    qdd = Robot(model).forward_dynamics(q, qd, np.linalg.solve(rate.T, tau))
    same(np.linalg.solve(rate, qdd - rate_dot @ d.qvel), expected, 1e-9)


def test_springs_are_part_of_the_mechanism():
    """The force of a hinge's spring at a position, and its rest position."""
    twist = {j.name: j for j in load_description(ARM).mechanism.joints}["twist"]
    assert (twist.stiffness, twist.rest) == (4.0, pytest.approx(math.radians(20.0)))
    text = FREE.replace(
        '<freejoint name="root"/>', '<joint name="root" type="free" stiffness="7"/>'
    )
    (warning,) = [p for p in load_description(text).diagnosis.warnings if "spring" in p.message]
    assert "turned orientation" in warning.message
    upright = text.replace(' euler="0.3 0 0"', "")
    root = {j.name: j for j in load_description(upright).mechanism.joints}["root"]
    assert (root.stiffness, root.rest) == (7.0, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))


def test_a_joint_held_by_an_equality_is_locked():
    """It has no freedom of its own in the mechanism, and stands where the equality holds it."""
    text = GEARS.replace("</equality>", '<joint joint1="k3" polycoef="0.3 0 0 0 0"/></equality>')
    mechanism = load_description(text).mechanism
    assert mechanism.movable_joints == ("j1", "j2", "j3", "k1", "k2")
    held = {joint.name: joint for joint in mechanism.joints}["k3"]
    assert held.placement[0, 2] == pytest.approx(math.sin(0.3))


def test_names_limits_and_drives():
    """Unnamed parts get names; efforts are the smallest bound behind the gear."""
    joints = {joint.name: joint for joint in load_description(ARM).mechanism.joints}
    shoulder, slide = joints["shoulder"], joints["slide"]
    assert (shoulder.type, shoulder.child, shoulder.active) == ("revolute", "shoulder_link", True)
    assert shoulder.limits.lower == pytest.approx(-math.pi / 2.0)
    assert shoulder.limits.effort == 30.0  # 3 times 20, of which the joint lets 30 pass
    assert (shoulder.damping, shoulder.friction) == (0.7, 0.2)
    assert (slide.type, slide.limits.effort) == ("prismatic", 8.0)
    assert (joints["twist"].type, joints["twist"].active) == ("continuous", False)
    assert (joints["hand_to_tool"].type, joints["wrist"].type) == ("fixed", "spherical")
    free = load_description(FREE).mechanism
    assert free.movable_joints == ("root", "body_2_joint", "ball_joint")
    assert [joint.active for joint in free.joints] == [None, None, None]


@pytest.mark.parametrize(
    ("actuators", "effort"),
    [
        ('<motor joint="a" gear="-2" ctrlrange="-3 3"/>', 6.0),
        ('<motor joint="a" ctrlrange="-3 3" forcerange="-2 2"/>', 2.0),
        ('<motor joint="a" ctrlrange="-3 3"/><motor joint="a" forcerange="-1 1"/>', 4.0),
        ('<motor joint="a" ctrlrange="-3 5"/>', 3.0),
        ('<motor joint="a" ctrlrange="0 5"/>', 5.0),
        ('<position joint="a" kp="10" ctrlrange="-3 3"/>', math.inf),
    ],
)
def test_efforts_of_actuators(actuators, effort):
    """Control ranges bound motors alone; a range that is not symmetric has a warning."""
    text = (
        '<mujoco><compiler autolimits="true"/><worldbody><body><joint name="a"/><geom size="1"/>'
        f"</body></worldbody><actuator>{actuators}</actuator></mujoco>"
    )
    description = load_description(text)
    assert description.mechanism.joints[0].limits.effort == effort
    uneven = any("not symmetric" in p.message for p in description.diagnosis.warnings)
    assert uneven == ("5" in actuators)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('ref="0.2"', 'ref="0.2" damping="1 2"', "nonlinear damping is left out, of 'j1'"),
        ('<fixed name="first"', '<fixed name="first" stiffness="3"', "tendons .*: 'first'"),
        ('<body name="palm"', '<body name="palm" gravcomp="1"', "gravity compensation .*'palm'"),
        ("</equality>", '</equality><option viscosity="1"/>', "forces of a fluid"),
        ("</equality>", "</equality><keyframe><key/></keyframe>", r"keyframes .*\(1\)"),
        ("</equality>", '</equality><actuator><motor tendon="first"/></actuator>', "'actuator_0'"),
        ("</equality>", "</equality>", "has no actuators"),
        (
            "</worldbody>",
            '<body name="m" mocap="true"><geom type="ellipsoid"/></body></worldbody>',
            "(?s)mocap bodies .*: 'm'.*1 ellipsoid",
        ),
        ("</equality>", '<weld body1="palm"/></equality>', "'palm' and 'world' are fixed"),
        (
            "</worldbody>",
            '<body name="m"><joint type="free" armature="1"/><geom size="1"/></body></worldbody>',
            "armature of its three linear velocities",
        ),
    ],
)
def test_contents_without_a_meaning_are_listed(old, new, said):
    """Each is a warning with the names; the mechanism is read."""
    text = GEARS.replace(old, new, 1)
    assert text != GEARS or old == new
    warnings = [problem.sentence() for problem in load_description(text).diagnosis.warnings]
    assert re.search(said, "\n".join(warnings)), warnings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            GEARS.replace('"0.1 3 0 0 0"', '"0.1 3 2 0 0"'),
            ":20: error: <joint> 'gear': is a polynomial of degree 2",
        ),
        (GEARS.replace("<worldbody>", "<worldbody><bdy/>"), "unrecognized element"),
        ("<mujoco>", "MuJoCo cannot read it"),
        (
            ARM.replace(
                "</worldbody>",
                '<flexcomp name="f" type="grid" count="2 2 1" spacing="1 1 1" dim="2" mass="1">'
                '<edge equality="true"/></flexcomp></worldbody>',
            ),
            "has a flex, expected rigid bodies only",
        ),
        (ARM.replace('type="ellipsoid" size', 'type="mesh" mesh="m"/><geom size'), "'m'"),
        (
            GEARS.replace(
                "</tendon>",
                '<spatial name="s"><site site="p"/><site site="q"/></spatial></tendon>',
            )
            .replace('tendon1="first"', 'tendon1="s"')
            .replace(
                '<body name="f1">', '<site name="p" pos="1 1 1"/><site name="q"/><body name="f1">'
            ),
            "spatial tendon 's'",
        ),
    ],
)
def test_refusals_are_one_sentence(text, said):
    """They name the file, and the line where MuJoCo knows it."""
    with pytest.raises(DescriptionError, match=re.escape(said)) as refusal:
        load_description(text)
    errors = [p for p in refusal.value.problems if p.severity == "error"]
    assert len(errors) == 1
    assert "\n" not in errors[0].sentence()


def test_textures_are_not_read():
    """A file of theirs can be missing, or stand for gigabytes; the material's colour stays."""
    assets = (
        '<asset><texture name="t" type="2d" file="missing.png"/>'
        '<material name="m" texture="t" rgba="0 1 0 1"/></asset><worldbody>'
    )
    text = ARM.replace("<worldbody>", assets).replace('rgba="1 0 0 1"', 'material="m"')
    (bone,) = (one for one in load_description(text).shapes if one.color == (0.0, 1.0, 0.0, 1.0))
    assert bone.kind == "capsule"


def test_the_root_element_decides(tmp_path):
    """URDF and MJCF can have any suffix of XML; other roots are refused as before."""
    for name, text, links in (("a.xml", ARM, 9), ("b.xml", URDF, 4)):
        (tmp_path / name).write_text(text)
        assert len(load_description(tmp_path / name).mechanism.links) == links
    for name in ("c.mjcf", "d.urdf"):
        (tmp_path / name).write_text("<!-- of the lab -->\n" + ARM)
        with pytest.raises(DescriptionError, match=rf"{name}:1: is MJCF, .*rename it"):
            load_description(tmp_path / name)
    (tmp_path / "e.xml").write_text("<sdf/>")
    with pytest.raises(DescriptionError, match="SDF is not read"):
        load_description(tmp_path / "e.xml")
    with pytest.raises(DescriptionError, match="no such file"):
        load_description(tmp_path / "f.xml")


def test_arguments_of_the_loader_hold_for_mjcf(tmp_path):
    """Joints can be locked, loops added, warnings refused."""
    locked = load_description(ARM, locked={"shoulder": 0.3}).mechanism
    assert "shoulder" not in locked.movable_joints
    (tmp_path / "l.yaml").write_text(
        "loops: [{name: l, type: point_on_plane, predecessor: {link: world}, "
        "successor: {link: tool}}]"
    )
    closed = load_saved(ARM, tmp_path / "l.yaml")
    assert [loop.name for loop in closed.description.mechanism.loops] == ["l"]
    assert closed.gravity == (0.3, 0.0, -9.7)
    with pytest.raises(DescriptionError, match="left out"):
        load_description(ARM, strict=True)


def test_without_mujoco(monkeypatch, tmp_path):
    """One sentence says how to install it."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (tmp_path / "arm.xml").write_text(ARM)
    with pytest.raises(
        DescriptionError, match=r"arm.xml: .*pip install 'robot_dynamics\[mujoco\]'"
    ):
        load_description(tmp_path / "arm.xml")


def test_shapes_stand_where_mujoco_draws_them(tmp_path):
    """Roles, sizes and colours of geoms; vertices of a mesh, which MuJoCo moves to its centre."""
    shapes = load_description(ARM).shapes
    kinds = [(s.link, s.role, s.kind) for s in shapes]
    assert kinds == [
        ("base", "visual", "cylinder"),
        ("base", "collision", "cylinder"),
        ("upper", "visual", "capsule"),
        ("upper", "collision", "capsule"),
        ("fore", "visual", "box"),
        ("hand", "collision", "sphere"),
    ]
    bone, box = shapes[2], shapes[4]
    assert bone.size == pytest.approx((0.03, 0.3))
    assert bone.color == (1.0, 0.0, 0.0, 1.0)
    assert box.size == pytest.approx((0.2, 0.04, 0.06))
    assert np.allclose(bone.pose[:3, 3], [0.15, 0.0, 0.0])
    assert np.allclose(np.abs(bone.pose[:3, 2]), [1.0, 0.0, 0.0])

    corners = [(0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1)]
    faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "m.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces
    )
    (tmp_path / "m.xml").write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh name="m" file="m.obj" scale="1 2 1"/>'
        '</asset><worldbody><body name="b" pos="1 0 0"><joint/>'
        '<geom type="mesh" mesh="m" pos="0 0 1" euler="0 0 90"/></body></worldbody></mujoco>'
    )
    description = load_description(tmp_path / "m.xml")
    visual = description.shapes[0]
    assert description.locate(visual) == tmp_path / "parts" / "m.obj"
    assert visual.size == (1.0, 2.0, 1.0)
    at = visual.pose[:3, 3] + np.array(corners) * visual.size @ visual.pose[:3, :3].T
    expected = [(0, 0, 1), (0, 0.3, 1), (-0.4, 0, 1), (0, 0, 1.1)]
    assert np.allclose(at, expected, atol=1e-6)


def test_objects_of_cells_leave_their_world():
    """A body alone in its world, free or fixed, is the object; anything else stays."""
    body = '<body name="box"><freejoint/><geom type="box" size="1 1 1"/></body>'
    for text, root in (
        (body, "box"),
        (body.replace("<freejoint/>", ""), "box"),
        (body.replace("<freejoint/>", "<joint/>"), "world"),
        (body + '<geom type="box" size="1 1 1"/>', "world"),
    ):
        text = f"<mujoco><worldbody>{text}</worldbody></mujoco>"
        assert load_object(text).mechanism.root == root
