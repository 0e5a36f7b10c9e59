# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that the book prints, or that follow from its examples, come out of the package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation
from support.mechanisms import in_units, random_state, random_tree

from robot_dynamics.compile.tracing import trace
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS, forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX, inertia_matrix
from robot_dynamics.dynamics.inverse import INVERSE_DYNAMICS, inverse_dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.model.equivalence import simplified_inertias
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Symmetric3,
    Transform,
    Vector3,
)


def zigzag(links):
    """Return a planar chain of equal links, length and mass 1, inertia 1/12 about the middle."""
    parts, joints = [LinkElement("base")], []
    for i in range(links):
        parts.append(LinkElement(f"l{i}", 1.0, (0.5, 0.0, 0.0), np.diag([0.0, 1 / 12, 1 / 12])))
        at = pose((1.0 if i else 0.0, 0.0, 0.0))
        joints.append(JointElement(f"j{i}", "revolute", parts[i].name, f"l{i}", at, (0, 0, 1)))
    return Robot(build(Mechanism("zigzag", tuple(parts), tuple(joints)), gravity=(0, 0, 0)))


@pytest.mark.book("N1", "A2")
@pytest.mark.usefixtures("interpreted")
def test_six_links_in_a_zigzag():
    """Forces, accelerations of rounded forces, and the condition of H are those of 10.2."""
    robot = zigzag(6)
    q, still = np.radians(75.0) * (-1.0) ** np.arange(6), np.zeros(6)
    tau = robot.inverse_dynamics(q, still, np.ones(6))
    printed = [
        126.4936759426,
        97.466323617,
        69.9762284355,
        43.7998475335,
        21.9371809109,
        6.164685703,
    ]
    assert_allclose(tau, printed, rtol=1e-11)  # as many digits as there are
    rounded = np.array([126, 97.5, 70.0, 43.8, 21.9, 6.16])
    qdd = robot.forward_dynamics(q, still, rounded)
    # The book prints 0.6952 for the first, two digits interchanged.
    expected = [0.65915869, 1.36538011, 1.38078046, 0.58935128, 0.90566217, 1.07045771]
    assert_allclose(qdd, expected, atol=6e-9)
    H = robot.inertia_matrix(q)
    first = [46.0586665786, 33.784190407, 23.9920761452, 13.9764190187, 6.9607618922, 1.721561901]
    assert_allclose(H[0], first, rtol=1e-11)
    assert np.linalg.cond(H) == pytest.approx(725.3876, rel=1e-7)
    found = robot.conditioning(q)
    assert found.number == pytest.approx(725.3876, rel=1e-7)
    assert found.depth == 6
    # The lightest motion is that of links near the tip, against one another.
    assert max(found.lightest, key=lambda name: abs(found.lightest[name])) in ("j3", "j4", "j5")
    motion = np.array(list(found.lightest.values()))
    assert motion @ H @ motion / (motion @ motion) == pytest.approx(np.linalg.eigvalsh(H)[0])
    assert str(found).startswith("condition number 725 at depth 6 (worst about 5184); errors show")
    # Forces are within 0.5 %, accelerations 40 % off: an amplification of more than 80.
    assert np.max(np.abs(qdd - 1.0)) > 80 * np.max(np.abs(rounded / tau - 1.0))


@pytest.mark.book("A2")
@pytest.mark.usefixtures("interpreted")
def test_straight_chains_are_badly_conditioned():
    """The condition of a straight chain grows as 4 N^4 (10.2)."""
    for links, expected in ((4, 1074), (6, 5685), (8, 17971), (10, 43523)):
        H = zigzag(links).inertia_matrix(np.zeros(links))
        assert np.linalg.cond(H) == pytest.approx(expected, abs=0.6)
        assert 0.9 < np.linalg.cond(H) / (4 * links**4) < 1.2


@pytest.mark.book("N5")
@pytest.mark.usefixtures("interpreted")
def test_a_box_with_a_cylinder():
    """I^A of Example 7.1 is diagonal: the inertia along the cylinder's freedoms is the box's."""
    m1, I1, m2, I2 = 3.0, 0.4, 2.0, 0.1
    origin = (0.0, 0.0, 0.0)
    links = (
        LinkElement("world"),
        LinkElement("box", m1, origin, I1 * np.eye(3)),
        LinkElement("slide"),
        LinkElement("cylinder", m2, origin, I2 * np.eye(3)),
    )
    joints = (
        JointElement("free", "floating", "world", "box"),
        JointElement("along", "prismatic", "box", "slide", axis=(0.0, 1.0, 0.0)),
        JointElement("about", "revolute", "slide", "cylinder", axis=(1.0, 0.0, 0.0)),
    )
    robot = Robot(build(Mechanism("m", links, joints)))
    q, rest = robot.model.neutral(), np.zeros(8)
    inertias, _ = robot.articulated_bodies(q, rest, rest)
    expected = np.diag([I1, I1 + I2, I1 + I2, m1 + m2, m1, m1 + m2])
    assert_allclose(inertias[0], expected, atol=1e-15)


@pytest.mark.book("N5", "A4")
def test_an_expression_is_simplified():
    """(v x I v) . s of a diagonal inertia takes at most 5 operations in the place of 29 (10.4)."""

    def run(v, block):
        w = Vector3.of(v)
        return {"t": w.cross(Symmetric3.diagonal(1.5, 1.6, 1.7) * w).dot(Vector3(0.0, 0.0, 1.0))}

    program = trace(run, "example", {"v": 3}, 0)
    assert sum(program.operation_counts().values()) <= 5
    (t,) = program.evaluate(np.array([0.3, 0.7, 0.9]), parameters=np.zeros(0))
    assert t == pytest.approx(0.1 * 0.3 * 0.7, rel=1e-14)


def counted(run, *sizes):
    """Return the multiplications and additions of a function of lists of symbols."""
    inputs = {f"x{i}": size for i, size in enumerate(sizes)}
    counts = trace(lambda *a: {"y": run(*a[:-1])}, "count", inputs, 0).operation_counts()
    return (
        counts.get("multiply", 0) + counts.get("divide", 0),
        counts.get("add", 0) + counts.get("subtract", 0),
    )


def articulated(x):
    rows = (Vector3.of(x[6:9]), Vector3.of(x[9:12]), Vector3.of(x[12:15]))
    return ArticulatedInertia(Symmetric3(*x[:6]), rows, Symmetric3(*x[15:21]))


OPERATIONS = {
    "v . f": ((6, 5), lambda v, f: [Motion.of(v).dot(Force.of(f))], 6, 6),
    "v x u": ((18, 12), lambda v, u: Motion.of(v).cross(Motion.of(u)).components(), 6, 6),
    "v x* f": ((18, 12), lambda v, f: Motion.of(v).cross_force(Force.of(f)).components(), 6, 6),
    "I v": ((24, 18), lambda I, v: (Inertia.of(I) * Motion.of(v)).components(), 10, 6),
    "I^A v": ((36, 30), lambda I, v: (articulated(I) * Motion.of(v)).components(), 21, 6),
    "X1 X2": (
        (36, 27), lambda a, b: Transform.of(a).compose(Transform.of(b)).components(), 12, 12
    ),
    "X^-1": ((9, 6), lambda a: Transform.of(a).inverse().components(), 12),
    "X v": ((24, 18), lambda a, v: (Transform.of(a) * Motion.of(v)).components(), 12, 6),
    "X^-1 v": (
        (24, 18), lambda a, v: Transform.of(a).inverse_times(Motion.of(v)).components(), 12, 6
    ),
    "X* f": ((24, 18), lambda a, f: (Transform.of(a) * Force.of(f)).components(), 12, 6),
    "X^T f": (
        (24, 18), lambda a, f: Transform.of(a).inverse_times(Force.of(f)).components(), 12, 6
    ),
    "I + I": ((0, 10), lambda a, b: (Inertia.of(a) + Inertia.of(b)).components(), 10, 10),
}  # fmt: skip


@pytest.mark.book("N7", "A5")
@pytest.mark.parametrize("name", OPERATIONS)
def test_costs_of_compact_objects(name):
    """Products take the operations of Table A.4; X1 X2 takes 3 more of each."""
    expected, run, *sizes = OPERATIONS[name]
    found = counted(run, *sizes)
    assert found[0] <= expected[0]
    assert found[1] <= expected[1]


def dh_chain(rng, links):
    """Return a chain of revolute joints with DH parameters and inertias without structure."""
    parts, joints = [LinkElement("base")], []
    for i in range(links):
        a = rng.normal(size=(3, 3))
        inertia = 0.05 * np.eye(3) + 0.01 * (a @ a.T)
        parts.append(LinkElement(f"l{i}", 2.0, tuple(0.1 * rng.normal(size=3)), inertia))
        at = np.eye(4)
        if i:
            alpha, length, offset = rng.uniform(0.2, 1.0, 3)
            at[:3, :3] = ScipyRotation.from_euler("x", alpha).as_matrix()
            at[:3, 3] = [length, -np.sin(alpha) * offset, np.cos(alpha) * offset]
        joints.append(JointElement(f"j{i}", "revolute", parts[i].name, f"l{i}", at, (0, 0, 1)))
    return build(Mechanism("dh", tuple(parts), tuple(joints)))


@pytest.mark.book("A1", "N6")
@pytest.mark.parametrize(
    ("algorithm", "multiplications", "additions"),
    [
        # The limits of Featherstone 1987 in Table 10.1, for six links.
        (INVERSE_DYNAMICS, 712, 550),
        # The table's least is 460 and 395; turns about two axes, one after the other, take less.
        (INERTIA_MATRIX, 412, 391),
        # The table has 1533 and 1415 (Featherstone 1987).
        (TREE_FORWARD_DYNAMICS, 1261, 1151),
    ],
)
def test_costs_of_algorithms(algorithm, multiplications, additions):
    """Programs of a general chain of 6 take at most so many multiplications and additions."""
    counts = algorithm.program(dh_chain(np.random.default_rng(0), 6)).operation_counts()
    assert counts["multiply"] + counts.get("divide", 0) <= multiplications
    assert counts["add"] + counts["subtract"] <= additions


@pytest.mark.book("A2")
@pytest.mark.usefixtures("interpreted")
def test_the_condition_depends_on_no_unit(rng):
    """With rotations at a length, the condition is the same in metres and in millimetres."""
    tree = random_tree(rng, ["revolute", "prismatic", "revolute"], chain=True)
    robot = Robot(build(tree))
    q = np.array([0.3, 0.2, -0.4])
    H, length = robot.inertia_matrix(q), robot.conditioning(q).length
    scales = np.array([1.0 / length, 1.0, 1.0 / length])
    expected = np.linalg.cond(H * np.outer(scales, scales))
    assert robot.conditioning(q).number == pytest.approx(expected, rel=1e-10)
    assert robot.conditioning(q, length=2.0 * length).number != pytest.approx(expected, rel=1e-3)
    in_millimetres = Robot(build(in_units(tree, 1000.0)))
    found = in_millimetres.conditioning(q * [1.0, 1000.0, 1.0])
    assert found.length == pytest.approx(1000.0 * length)
    assert found.number == pytest.approx(expected, rel=1e-10)


def test_without_joints_there_is_no_condition_number():
    """Without joints there is neither a condition nor a small motion."""
    robot, none = Robot(build(Mechanism("block", (LinkElement("base"),), ()))), np.zeros(0)
    for method, arguments in ((robot.conditioning, [none]), (robot.linearize, [none] * 3)):
        with pytest.raises(RobotDynamicsError, match=r"block: .*joint"):
            method(*arguments)


@pytest.mark.book("D1")
@pytest.mark.parametrize(
    "types",
    [
        ["revolute"] * 4,
        ["revolute", "prismatic"] * 2,
        ["spherical", "revolute", "spherical", "prismatic"],
    ],
)
def test_simpler_inertias_move_alike(rng, types):
    """Inverse and forward dynamics and H do not change, with fewer parameters (9.7)."""
    model = build(random_tree(rng, types, chain=True))
    simple = simplified_inertias(model)
    state = [x.tolist() for x in random_state(rng, model)]
    state[0] = list(model.normalized(state[0]))
    for algorithm in (inverse_dynamics, forward_dynamics):
        expected = algorithm(model, *state, parameters_of(model))
        ours = algorithm(simple, *state, parameters_of(simple))
        assert_allclose(ours, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    H = np.array(inertia_matrix(model, state[0], parameters_of(model)))
    ours = inertia_matrix(simple, state[0], parameters_of(simple))
    assert_allclose(ours, H, rtol=0, atol=1e-12 * np.abs(H).max())
    zeros = [sum(x == 0.0 for x in body.inertia.components()) for body in simple.bodies]
    assert all(count >= 1 for count in zeros)
    if set(types) == {"revolute"}:
        before = INVERSE_DYNAMICS.program(model).operation_counts()
        after = INVERSE_DYNAMICS.program(simple).operation_counts()
        assert sum(after.values()) < 0.92 * sum(before.values())


@pytest.mark.book("D1")
def test_other_joints_keep_their_inertias(rng):
    """A cylindrical joint tells everything apart; a mass moved across it changes the motion."""
    model = build(random_tree(rng, ["cylindrical", "cylindrical"], chain=True))
    simple = simplified_inertias(model)
    assert simple.bodies == model.bodies
    moved = replace(model.bodies[1].inertia, mass=1.01 * model.bodies[1].inertia.mass)
    wrong = model.replace(inertia={model.bodies[1].name: moved})
    state = [x.tolist() for x in random_state(rng, model)]
    ours = np.array(inverse_dynamics(wrong, *state, parameters_of(wrong)))
    assert np.abs(ours - inverse_dynamics(model, *state, parameters_of(model))).max() > 1e-3
