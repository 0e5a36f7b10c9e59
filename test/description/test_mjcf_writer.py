# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism that is written as MJCF or URDF and read again is the same mechanism."""

from dataclasses import replace

import numpy as np
import pytest
from description.mjcf_texts import ALL, ARM

from robot_dynamics.description import Description, Part, place
from robot_dynamics.description.diagnosis import DescriptionWarning
from robot_dynamics.description.load import load_description, load_saved
from robot_dynamics.description.mjcf_writer import write_mjcf
from robot_dynamics.description.urdf_writer import write_urdf
from robot_dynamics.dynamics.closed_loop import constraint_terms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.resources import share_directory

pytest.importorskip("mujoco")
PARALLELOGRAM = share_directory() / "urdf" / "parallelogram_arm.urdf"
SOURCES = {**ALL, "parallelogram": PARALLELOGRAM}


def terms(saved, seed=3):
    """Return H, C and the projector on the constrained velocities of a model at a random state.

    Springs are left out; URDF has none.
    """
    mechanism = saved.description.mechanism
    joints = tuple(replace(joint, stiffness=0.0, rest=0.0) for joint in mechanism.joints)
    model = build(replace(mechanism, joints=joints), gravity=saved.gravity)
    random = np.random.default_rng(seed)
    q = model.integrate(model.neutral().tolist(), (0.4 * random.normal(size=model.nv)).tolist())
    qd = random.normal(size=model.nv).tolist()
    H, C, K, *_ = constraint_terms(model, q, qd, parameters_of(model))
    K = np.array(K, dtype=float).reshape(-1, model.nv)
    return np.array(H, dtype=float), np.array(C, dtype=float), np.linalg.pinv(K, rcond=1e-9) @ K


def assert_same(read, source):
    """Assert that two mechanisms move alike, to 1e-12 of the largest entry."""
    for found, expected in zip(terms(read), terms(source), strict=True):
        assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def properties(description, most=np.inf):
    """Return the properties of each movable joint except its place, limits up to a largest one."""
    return {
        joint.name: (
            joint.type,
            joint.driven and joint.type != "spherical",
            float(np.max(joint.damping)),
            float(np.max(joint.friction)),
            float(np.max(joint.armature)),
            [
                np.clip((one.lower, one.upper), -most, most).tolist()
                for one in joint.limits_of_each
            ],
        )
        for joint in description.mechanism.joints
        if joint.type != "fixed"
    }


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.filterwarnings("ignore::robot_dynamics.description.DescriptionWarning")
def test_mjcf_is_read_back(name, tmp_path):
    """Dynamics, loops, joints, drives and shapes of every joint type that MJCF has."""
    source = load_saved(SOURCES[name])
    write_mjcf(tmp_path / "m.xml", source.description, gravity=source.gravity)
    read = load_saved(tmp_path / "m.xml")
    assert read.gravity == source.gravity
    assert_same(read, source)
    assert properties(read.description) == properties(source.description)
    stiffness = [
        {j.name: (j.stiffness, j.rest) for j in saved.description.mechanism.joints if j.stiffness}
        for saved in (read, source)
    ]
    assert stiffness[0] == stiffness[1]
    shapes = [
        sorted((s.link, s.role, s.kind) for s in saved.description.shapes)
        for saved in (read, source)
    ]
    assert shapes[0] == shapes[1]
    # Written again, nothing is added: sites of loops are used again.
    write_mjcf(tmp_path / "again.xml", read.description, gravity=read.gravity)
    again = load_description(tmp_path / "again.xml").mechanism
    assert [link.name for link in again.links] == [
        link.name for link in read.description.mechanism.links
    ]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.filterwarnings("ignore::robot_dynamics.description.DescriptionWarning")
def test_urdf_is_read_back_with_its_loops(name, tmp_path):
    """URDF keeps everything but springs; loops, gears and drives are in the second file."""
    source = load_saved(SOURCES[name])
    beside = tmp_path / "loops.yaml"
    written = write_urdf(tmp_path / "m.urdf", source.description, beside)
    assert written == beside.exists()
    read = load_saved(tmp_path / "m.urdf", beside if written else None)
    assert_same(replace(read, gravity=source.gravity), source)
    assert properties(read.description, 1e6) == properties(source.description, 1e6)
    assert len(read.description.shapes) == len(source.description.shapes)


def test_a_file_that_is_wrong_by_a_percent_differs(tmp_path):
    """The comparison above sees the mass of one link."""
    source = load_saved(ARM)
    links = tuple(
        replace(link, mass=1.01 * link.mass) if link.name == "hand" else link
        for link in source.description.mechanism.links
    )
    mechanism = replace(source.description.mechanism, links=links)
    write_mjcf(tmp_path / "m.xml", mechanism, gravity=source.gravity)
    with pytest.raises(AssertionError):
        assert_same(load_saved(tmp_path / "m.xml"), source)


def test_a_placed_free_body_keeps_its_pose(tmp_path):
    """MJCF has no placement of free joints: there positions are those in the world."""
    ball = place(
        [Part(Description(Mechanism("ball", (BODY,))), carrier="floating", xyz=(1.0, 2.0, 3.0))]
    )
    write_mjcf(tmp_path / "m.xml", ball)
    text = (tmp_path / "m.xml").read_text()
    assert 'pos="1.0 2.0 3.0"' in text
    (carrier,) = [
        j for j in load_description(tmp_path / "m.xml").mechanism.joints if j.type == "floating"
    ]
    assert np.array_equal(carrier.placement, np.eye(4))


BODY = LinkElement("b", 1.0, (0.0, 0.0, 0.0), np.eye(3))
OTHER = replace(BODY, name="c")


@pytest.mark.parametrize(
    ("joints", "loops", "said"),
    [
        ([JointElement("j", "revolute", "b", "a")], [], "'j' carries link 'a' without inertia"),
        ([JointElement("j", "planar", "a", "b")], [], "'j' is planar, .*revolute"),
        (
            [JointElement("j", "revolute", "a", "b"), JointElement("k", "floating", "b", "c")],
            [],
            "joint 'k' is on 'b', which moves",
        ),
        (
            [JointElement("j", "floating", "a", "b"), JointElement("k", "floating", "a", "c")],
            [LoopElement("l", "prismatic", "b", "c")],
            "'l' is prismatic, .*fixed, spherical, revolute",
        ),
    ],
)
def test_joints_that_mjcf_lacks_are_refused(joints, loops, said, tmp_path):
    """One sentence names the joint and the types that can be written."""
    links = [LinkElement("a"), BODY, OTHER][: len(joints) + 1]
    mechanism = Mechanism("m", tuple(links), tuple(joints), tuple(loops))
    with pytest.raises(RobotDynamicsError, match=said):
        write_mjcf(tmp_path / "m.xml", mechanism)
    assert not (tmp_path / "m.xml").exists()


def test_lost_parts_are_listed(tmp_path):
    """Drives of balls, springs of loops; in URDF springs, and loops without a second file."""
    joints = (
        JointElement("ball", "spherical", "a", "b", armature=(1.0, 2.0, 3.0)),
        JointElement("spring", "revolute", "a", "c", stiffness=3.0),
    )
    loop = LoopElement("l", "spherical", "b", "c", pose((1, 0, 0)), damping=1.0)
    mechanism = Mechanism("m", (LinkElement("a"), BODY, OTHER), joints, (loop,))
    with pytest.warns(DescriptionWarning) as warned:
        write_mjcf(tmp_path / "m.xml", mechanism)
    said = "\n".join(str(one.message) for one in warned)
    for part in ("several freedoms are left out, of 'ball'", "of 'l'", "armature that differs"):
        assert part in said
    with pytest.warns(DescriptionWarning, match="'spring', 'ball'"):
        assert write_urdf(tmp_path / "m.urdf", mechanism, tmp_path / "l.yaml")
    with pytest.raises(RobotDynamicsError, match="no place for 'l'"):
        write_urdf(tmp_path / "m.urdf", mechanism)
