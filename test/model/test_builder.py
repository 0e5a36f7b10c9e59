# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From elements to a model: merged inertias, frames, numbering."""

from dataclasses import replace

import numpy as np
import pytest
from model.mechanisms import arm, body_poses, grasp, link, link_pose

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import (
    WORLD,
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    pose,
    pose_of,
    transform_of,
)

ROBOTS = "package://example-robot-data/robots/"
FILES = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "baxter_description/urdf/baxter.urdf",
)


@pytest.mark.parametrize("name", FILES)
def test_mass_and_placement_equal_pinocchio(name, rng):
    """Total mass, centre of mass and every link's pose are those of Pinocchio."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    from robot_dynamics.description.urdf import read_urdf
    from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri

    try:
        path = resolve_package_uri(ROBOTS + name)
    except ResourceNotFoundError:
        pytest.skip("example-robot-data is not installed")
    model = build(read_urdf(path).mechanism)
    other = pin.buildModelFromUrdf(str(path))
    data = other.createData()
    assert model.nv == other.nv
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, model.nq)
        theirs = np.zeros(other.nq)
        for joint, at in zip(model.joint_names, model.q_slices, strict=True):
            theirs[other.joints[other.getJointId(joint)].idx_q] = q[at][0]
        pin.framesForwardKinematics(other, data, theirs)
        poses = body_poses(model, q)
        mass = sum(body.inertia.mass for body in model.bodies)
        moment = sum(
            pose[:3, :3] @ np.array(list(body.inertia.h)) + body.inertia.mass * pose[:3, 3]
            for body, pose in zip(model.bodies, poses, strict=True)
        )
        # Rounding of a product of at most twenty matrices of size one; 1e-12 is the threshold set
        # for everything that is compared with Pinocchio.
        assert mass == pytest.approx(pin.computeTotalMass(other), rel=1e-12)
        np.testing.assert_allclose(
            moment / mass, pin.centerOfMass(other, data, theirs), atol=1e-12
        )
        pin.framesForwardKinematics(other, data, theirs)
        for frame in model.links:
            expected = data.oMf[other.getFrameId(frame.name, pin.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(link_pose(model, frame.name, q), expected, atol=1e-12)


def test_joint_axes_are_z_of_their_bodies():
    """Each body frame has the axis of its joint along z, wherever the link's own z points."""
    model = build(arm())
    for joint in arm().joints:
        if joint.type in ("revolute", "continuous", "prismatic"):
            body = model.joint_index(joint.name)
            frame = link_pose(model, joint.child, model.neutral())
            axis = body_poses(model, model.neutral())[body][:3, 2]
            np.testing.assert_allclose(axis, frame[:3, :3] @ joint.axis, atol=1e-15)


def test_links_on_fixed_joints_become_part_of_their_body():
    """A merged link keeps its frame and adds its inertia; one on the base moves nothing."""
    model = build(arm())
    tool, lower = model.link("tool"), model.link("lower")
    assert tool.body == lower.body != WORLD
    assert model.link("base").body == WORLD
    assert model.bodies[lower.body].inertia.mass == 2.5
    assert tool.inertia.mass == 0.5
    np.testing.assert_allclose(
        np.linalg.inv(pose_of(lower.placement)) @ pose_of(tool.placement),
        pose((0.3, 0, 0.1)),
        atol=1e-15,
    )


def test_merged_inertia_does_not_depend_on_how_a_body_is_cut(rng):
    """Four links welded together have the inertia of their sum about any point."""
    frames = [pose(rng.normal(size=3)) for _ in range(3)]
    parts = Mechanism(
        "parts",
        (LinkElement("base"), *(link(f"l{i}", 1.0 + i) for i in range(4))),
        (
            JointElement("j", "revolute", "base", "l0"),
            *(JointElement(f"f{i}", "fixed", f"l{i}", f"l{i + 1}", frames[i]) for i in range(3)),
        ),
    )
    (body,) = build(parts).bodies
    offset, mass, moment, second = np.zeros(3), 0.0, np.zeros(3), np.zeros((3, 3))
    for i in range(4):
        element = parts.links[i + 1]
        at = offset + np.array(element.center)
        mass, moment = mass + element.mass, moment + element.mass * at
        second += element.inertia + element.mass * (at @ at * np.eye(3) - np.outer(at, at))
        offset = offset + (frames[i][:3, 3] if i < 3 else 0.0)
    np.testing.assert_allclose(body.inertia.mass, mass, rtol=1e-15)
    np.testing.assert_allclose(list(body.inertia.h), moment, rtol=1e-13)
    np.testing.assert_allclose(np.array(body.inertia.I.rows()), second, rtol=1e-13)


def test_numbering_is_regular_and_depth_first():
    """A parent comes before its children and a branch is numbered without a gap."""
    model = build(arm())
    assert model.joint_names == ("shoulder", "elbow", "rail", "drop")
    assert [body.parent for body in model.bodies] == [WORLD, 0, 1, WORLD]
    assert [link.name for link in model.links] == [link.name for link in arm().links]


def test_loop_joints_sit_on_the_bodies_that_carry_their_links():
    """A loop's frames are moved from its links to the bodies that carry them."""
    model = build(arm().with_loops([grasp()]))
    (loop,) = model.loops
    assert (loop.predecessor, loop.successor) == (1, 3)
    tool = pose_of(model.link("tool").placement)
    np.testing.assert_allclose(
        pose_of(loop.predecessor_placement), tool @ pose((0, 0, 0.1)), atol=1e-15
    )
    np.testing.assert_allclose(pose_of(loop.successor_placement), pose((0.2, 0, 0)), atol=1e-15)


def test_nearly_exact_rotations_become_exact():
    """Right angles printed with sixteen digits give zeros that fold away in traced programs."""
    angle = 1.5707963267948966
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert transform_of(turned).E.rows == ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_short_displacements_are_relative_to_the_links(unit):
    """A zero with rounding is zero in any unit of length; a billionth of a link is not.

    Sixteen digits of links of 0.3 leave 1e-17; a tilt of 1e-9 moves a loop's frame by as much.
    """
    names = ("base", "one", "two", "three")
    at = [(0.3, 3e-17, 0.0), (0.3, 3e-10, 0.0), (0.3, 0.0, -3e-17)]
    joints = tuple(
        JointElement(f"to_{child}", "revolute", parent, child, pose(unit * np.array(r)))
        for parent, child, r in zip(names, names[1:], at, strict=False)
    )
    model = build(Mechanism("arm", tuple(LinkElement(name) for name in names), joints))
    found = [list(body.placement.r) for body in model.bodies]
    expected = [[0.3, 0.0, 0.0], [0.3, 3e-10, 0.0], [0.3, 0.0, 0.0]]
    np.testing.assert_allclose(found, unit * np.array(expected), rtol=1e-15, atol=0.0)


def changed(mechanism, name, **changes):
    """Return a mechanism with one joint changed."""
    joints = tuple(replace(j, **changes) if j.name == name else j for j in mechanism.joints)
    return replace(mechanism, joints=joints)


def test_mechanisms_that_are_no_tree_are_refused():
    """Unknown links, two parents, loose links and zero axes are named."""
    with pytest.raises(UnknownNameError, match="'lower'"):
        build(changed(arm(), "flange", parent="lowr"))
    twice = replace(arm(), joints=(*arm().joints, JointElement("x", "revolute", "free", "slider")))
    with pytest.raises(RobotDynamicsError, match="'slider'"):
        build(twice, spanning_tree="described")
    circle = changed(arm(), "shoulder", parent="tool")
    with pytest.raises(RobotDynamicsError, match=r"'upper'.*'base'"):
        build(circle)
    with pytest.raises(RobotDynamicsError, match=r"'rail'.*axis"):
        build(changed(arm(), "rail", axis=(0.0, 0.0, 0.0)))
    with pytest.raises(UnknownNameError, match="'hinge'"):
        build(changed(arm(), "rail", type="hinge"))


def test_loops_and_variables_must_name_what_there_is():
    """A loop between unknown links or within one body, and an unknown variable, are refused."""
    with pytest.raises(UnknownNameError, match=r"'grasp'.*'tol'"):
        build(arm().with_loops([replace(grasp(), predecessor="tol")]))
    with pytest.raises(RobotDynamicsError, match="'grasp'"):
        build(arm().with_loops([replace(grasp(), successor="lower")]))
    with pytest.raises(UnknownNameError, match="'fre'"):
        build(arm(), variable=["fre"])


def ring(**changes):
    """Return a four-bar linkage as a graph: four joints, none of them said to close the loop.

    The joint between coupler and rocker has the rocker for its parent, as a drawing might.
    """
    pins = {
        "left": ("base", "crank", (0, 0, 0)),
        "top": ("crank", "coupler", (0, 1, 0)),
        "corner": ("rocker", "coupler", (0, 1, 0)),
        "right": ("base", "rocker", (2, 0, 0)),
    }
    joints = tuple(
        replace(JointElement(name, "revolute", *ends, pose(at)), **changes.get(name, {}))
        for name, (*ends, at) in pins.items()
    )
    links = (LinkElement("base"), link("crank"), link("coupler"), link("rocker"))
    return Mechanism("ring", links, joints)


def test_a_graph_of_joints_gets_a_spanning_tree_of_minimum_depth():
    """The joint farthest from the base closes the loop, and its frames are where they were."""
    with pytest.raises(RobotDynamicsError, match="'coupler'"):
        build(ring(), spanning_tree="described")
    model = build(ring(), spanning_tree="minimum depth")
    # Joints that form no tree are nobody's choice of one.
    assert build(ring()) == model
    assert model.joint_names == ("left", "top", "right")
    assert [model.tree.depth(i) for i in range(3)] == [1, 2, 1]
    (loop,) = model.loops
    assert (loop.name, loop.type.name) == ("corner", "revolute")
    bodies = [body.name for body in model.bodies]
    assert (bodies[loop.predecessor], bodies[loop.successor]) == ("rocker", "coupler")
    np.testing.assert_array_equal(pose_of(loop.predecessor_placement), pose((0, 1, 0)))
    np.testing.assert_array_equal(pose_of(loop.successor_placement), np.eye(4))


def test_the_choice_of_joints_in_the_tree_is_respected():
    """Joints that are asked for are in the tree, reversed if their predecessor hangs on them."""
    model = build(ring(), spanning_tree=["corner", "top"])
    assert model.joint_names == ("left", "top", "corner")
    types = [body.joint.type.name for body in model.bodies]
    assert types == ["revolute", "revolute", "reversed revolute"]
    assert [loop.name for loop in model.loops] == ["right"]
    assert model.bodies[2].name == "rocker"


def test_a_reversed_joint_keeps_its_place_and_its_variable(rng):
    """Links are where they are if the same joint is described from parent to child."""
    angle = rng.normal()
    model = build(ring(), spanning_tree=["corner", "top"])
    q = np.zeros(3)
    q[2] = angle
    coupler, rocker = (link_pose(model, name, q) for name in ("coupler", "rocker"))
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    np.testing.assert_allclose(rocker @ pose((0, 1, 0)) @ turned, coupler, atol=1e-15)


def test_loop_joints_may_be_in_the_tree():
    """A loop joint is an arc of the graph like any other; contacts and welds are not."""
    mechanism = arm().with_loops(
        [
            replace(grasp("ball"), type="spherical", predecessor="slider"),
            LoopElement("touch", "point_on_plane", "slider", "free"),
            grasp(),
        ]
    )
    model = build(mechanism, spanning_tree="minimum depth")
    # The floating joint constrains nothing: it is left out, since the ball joint holds the body.
    assert "drop" not in model.joint_names
    ball = model.bodies[model.joint_index("ball")]
    assert ball.name == "free"
    assert [loop.name for loop in model.loops] == ["touch", "grasp"]
    q = model.neutral()
    at = link_pose(model, "slider", q) @ pose((0, 0, 0.1))
    np.testing.assert_allclose(link_pose(model, "free", q) @ pose((0.2, 0, 0)), at, atol=1e-15)
    # Left as it is described, the loops are loops.
    assert [loop.name for loop in build(mechanism).loops] == ["ball", "touch", "grasp"]


def test_welds_count_for_nothing_in_the_depth():
    """Links on fixed joints are one body, however many there are, in whichever direction."""
    bolted = Mechanism(
        "bolted",
        (LinkElement("base"), link("far"), link("near"), link("tip")),
        (
            JointElement("a", "revolute", "base", "near"),
            JointElement("weld", "fixed", "far", "near", pose((0, 0, 1))),
            JointElement("b", "revolute", "far", "tip"),
        ),
    )
    model = build(bolted, root="base", spanning_tree="minimum depth")
    assert [body.parent for body in model.bodies] == [WORLD, 0]
    assert model.link("far").body == 0
    np.testing.assert_array_equal(link_pose(model, "far", np.zeros(2)), pose((0, 0, -1)))


def test_impossible_choices_are_refused():
    """Unknown names, cycles and contacts in the tree, and unknown roots are named."""
    with pytest.raises(UnknownNameError, match="'lift'"):
        build(ring(), spanning_tree=["lift"])
    with pytest.raises(RobotDynamicsError, match="'right'"):
        build(ring(), spanning_tree=["left", "top", "corner", "right"])
    with pytest.raises(UnknownNameError, match="'floor'"):
        build(ring(), spanning_tree="minimum depth", root="floor")
    touch = replace(ring(), joints=(JointElement("t", "soft_finger", "base", "crank"),))
    with pytest.raises(RobotDynamicsError, match=r"'t'.*soft_finger"):
        build(touch)


def test_joints_of_several_freedoms_have_values_of_each():
    """Limits, friction and drives are given once, or once for each degree of freedom."""
    wheel = JointElement(
        "wheel", "cylindrical", "base", "rim", limits=(Limits(-1, 1), Limits(-2, 2)),
        damping=(0.5, 0.25), friction=0.1, active=(True, False),
    )  # fmt: skip
    free = JointElement("free", "floating", "base", "puck")
    mechanism = Mechanism("m", (LinkElement("base"), link("rim"), link("puck")), (wheel, free))
    model = build(mechanism)
    assert model.active.tolist() == [True, False, *[False] * 6]
    assert model.damping.tolist() == [0.5, 0.25, *[0.0] * 6]
    assert model.friction.tolist() == [0.1, 0.1, *[0.0] * 6]
    assert model.limits()["upper"][:2].tolist() == [1, 2]
    with pytest.raises(RobotDynamicsError, match=r"damping.*'wheel'.*\b3\b"):
        build(replace(mechanism, joints=(replace(wheel, damping=(1.0, 2.0, 3.0)), free)))


def test_parameters_and_axes_reach_the_type():
    """A screw along any axis has its pitch, in the tree and as a loop joint."""
    screw = JointElement("s", "helical", "base", "nut", axis=(1, 0, 0), parameters={"pitch": 0.1})
    mechanism = Mechanism("m", (LinkElement("base"), link("nut")), (screw,))
    model = build(mechanism)
    np.testing.assert_allclose(link_pose(model, "nut", [2.0])[:3, 3], [0.2, 0, 0], atol=1e-15)
    other = build(replace(mechanism, joints=(replace(screw, parameters={"pitch": 0.2}),)))
    assert other.structure_key != model.structure_key
    with pytest.raises(RobotDynamicsError, match=r"'s'.*'helical'"):
        build(replace(mechanism, joints=(replace(screw, parameters={}),)))


def test_loop_joints_may_only_push():
    """A unilateral loop joint marks the row of its normal; without one it is refused."""
    touch = LoopElement("touch", "soft_finger", "tool", "free", unilateral=True)
    model = build(arm().with_loops([touch, grasp()]))
    assert model.unilateral.tolist() == [False, False, False, True, *[False] * 6]
    assert model.holonomic.tolist() == [False, *[True] * 9]
    with pytest.raises(RobotDynamicsError, match="'touch'"):
        build(arm().with_loops([replace(touch, type="point_on_line")]))


def test_clusters_follow_from_the_loops():
    """The model knows which loops share joints."""
    model = build(ring(), spanning_tree="minimum depth")
    (cluster,) = model.clusters
    assert cluster.bodies == (0, 1, 2)


def test_a_described_tree_is_kept():
    """Joints that form a tree are the tree, however deep; loop joints stay loop joints."""
    chain = replace(
        ring(),
        joints=tuple(j for j in ring().joints if j.name != "right"),
        loops=(LoopElement("right", "revolute", "base", "rocker"),),
    )
    # The joint between coupler and rocker has the rocker for its parent.
    flipped = changed(chain, "corner", parent="coupler", child="rocker", placement=np.eye(4))
    model = build(flipped)
    assert model.joint_names == ("left", "top", "corner")
    assert [loop.name for loop in model.loops] == ["right"]
    # Two links that are no joint's child: which one is the base, only its user can tell.
    with pytest.raises(RobotDynamicsError, match=r"ring.*base, rocker"):
        build(chain)
    assert build(chain, root="base").joint_names == ("left", "top", "right")


def test_a_joint_that_closes_a_loop_keeps_what_it_knows():
    """Drives, damping, friction, limits and springs go where the joint goes, and come back."""
    known = {
        "limits": Limits(-1, 2, 3, 4), "damping": 0.5, "friction": 0.25, "active": True,
        "stiffness": 7.0, "rest": 0.125,
    }  # fmt: skip
    others = {name: {"active": True} for name in ("left", "top", "right")}
    mechanism = ring(corner=known, **others)
    model = build(mechanism, spanning_tree="minimum depth")
    (loop,) = model.loops
    assert loop.name == "corner"
    assert {name: getattr(loop, name) for name in known} == known
    assert model.loop_drive_names == ("corner",)
    assert model.loop_drive_effort.tolist() == [4]
    swapped = build(mechanism, spanning_tree=["corner", "top"])
    joint = swapped.bodies[swapped.joint_index("corner")].joint
    assert {name: getattr(joint, name) for name in known} == known
    assert swapped.loop_drive_names == ("right",)
    # A loop joint that is taken into the tree keeps them as well.
    element = LoopElement("ball", "spherical", "slider", "free", **known)
    taken = build(arm().with_loops([element]), spanning_tree="minimum depth")
    joint = taken.bodies[taken.joint_index("ball")].joint
    assert {name: getattr(joint, name) for name in known} == known


def test_drives_stay_in_the_tree_where_depth_allows():
    """Among joints that lead as near to the base, the one with a drive is in the tree."""
    passive = {name: {"active": False} for name in ("left", "top", "corner", "right")}
    mechanism = ring(**passive)
    double = replace(
        mechanism,
        joints=(*mechanism.joints, JointElement("motor", "revolute", "base", "crank")),
    )
    assert "motor" in build(double).joint_names
    assert [loop.name for loop in build(double).loops] == ["left", "corner"]


def test_rotors_stay_in_the_tree():
    """A joint with armature is never the one that closes a loop; too many of them are refused."""
    model = build(ring(corner={"armature": 0.1}))
    assert "corner" in model.joint_names
    assert model.armature.max() == 0.1
    every = {name: {"armature": 0.1} for name in ("left", "top", "corner", "right")}
    with pytest.raises(RobotDynamicsError, match=r"'right'.*armature"):
        build(ring(**every))


def test_floating_joints_that_carry_a_force_are_kept():
    """A floating joint that would close a loop is nothing without a force, and a spring with one.

    A contact that only pushes is not taken into the tree.
    """
    mechanism = arm().with_loops([replace(grasp("ball"), type="spherical")])
    sprung = changed(mechanism, "drop", stiffness=5.0)
    model = build(sprung, spanning_tree="minimum depth")
    (loop,) = model.loops
    assert (loop.name, loop.type.name, loop.stiffness) == ("drop", "floating", 5.0)
    assert model.constraint_count == 0
    one_sided = replace(mechanism, loops=(replace(mechanism.loops[0], unilateral=True),))
    assert "drop" in build(one_sided, spanning_tree="minimum depth").joint_names


def test_forces_need_a_freedom():
    """Springs, dampers and drives in a weld or a contact are refused, in words."""
    for data in ({"stiffness": 1.0}, {"damping": 1.0}, {"active": True}):
        for kind in ("fixed", "point_on_plane"):
            with pytest.raises(RobotDynamicsError, match=r"'grasp': a \w+ joint"):
                build(arm().with_loops([replace(grasp(), type=kind, **data)]))
