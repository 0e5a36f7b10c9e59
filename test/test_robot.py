# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot binds a model to its algorithms: shapes, batches, changes, ranks, and bad arguments."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.mechanisms import random_state, random_tree, two_arms, world_poses

from robot_dynamics.description.dh import DHRow, dh_mechanism
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.robot import Robot, load
from robot_dynamics.simulation.integrators import integrate
from robot_dynamics.spatial import Inertia, Transform, Vector3

MECHANISM = random_tree(np.random.default_rng(1), ["revolute", "prismatic", "revolute"])
CELL = two_arms()


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def arm():
    return Robot.from_mechanism(MECHANISM, variable=["link1"])


@pytest.fixture(scope="module")
def closed():
    return Robot(CELL.system.model)


def closed_state(robot, rng):
    """Return a closed state with a matching velocity, and a force."""
    _, qd, tau = random_state(rng, robot.model)
    H, _, K, *_ = robot.constraint_terms(CELL.start, qd)
    HK = np.linalg.solve(H, K.T)
    return CELL.start, qd - HK @ np.linalg.solve(K @ HK, K @ qd), 10 * tau


def test_repr_shows_name_joints_and_loops(arm, closed):
    """A robot shows its name, its joints and the number of its loops."""
    names = ", ".join(arm.model.joint_names)
    assert repr(arm) == f"<Robot {arm.model.name!r}: 3 joints ({names}), 0 loops>"
    assert ", ..., " in repr(closed)
    assert repr(closed).endswith(f", {len(closed.model.loops)} loops>")


def test_shapes_and_batches(arm, rng):
    """One state or any leading dimensions, which broadcast; each state as if it were alone."""
    q, qd, qdd = random_state(rng, arm.model, 6)
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (6, 3)
    assert_allclose(tau[4], arm.inverse_dynamics(q[4], qd[4], qdd[4]), rtol=0, atol=0)
    grid = arm.inverse_dynamics(q[:, None], qd[None], qdd[0])
    assert grid.shape == (6, 6, 3)
    assert_allclose(grid[2, 5], arm.inverse_dynamics(q[2], qd[5], qdd[0]), rtol=0, atol=0)
    assert arm.inertia_matrix(q).shape == (6, 3, 3)
    assert arm.bias_forces(q, qd).shape == (6, 3)
    assert arm.pose("link2", q).shape == (6, 4, 4)
    assert arm.jacobian("link2", q).shape == (6, 6, 3)


def test_algorithms_fit_together(arm, rng):
    """tau = H qdd + C, forward dynamics undo it, and without loops they are the tree's."""
    q, qd, qdd = random_state(rng, arm.model)
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert_allclose(tau, arm.inertia_matrix(q) @ qdd + arm.bias_forces(q, qd), rtol=1e-12)
    assert_allclose(arm.forward_dynamics(q, qd, tau), qdd, rtol=1e-10)
    assert_allclose(
        arm.forward_dynamics(q, qd, tau), arm.tree_forward_dynamics(q, qd, tau), rtol=0
    )


def test_results_can_go_where_one_wants(arm, rng):
    """out= writes into an array of the caller, and lists and integers are converted."""
    q, qd, _ = random_state(rng, arm.model)
    out = np.empty(3)
    assert arm.bias_forces(q, qd, out=out) is out
    assert_allclose(arm.bias_forces(q.tolist(), qd.tolist()), out)
    assert_allclose(
        arm.bias_forces([0, 0, 0], [1, 0, 0]), arm.bias_forces(np.zeros(3), [1.0, 0, 0])
    )


@pytest.mark.parametrize(
    ("call", "found", "expected"),
    [
        (lambda r: r.bias_forces(np.zeros(2), np.zeros(3)), "q has shape (2,)", "(..., 3)"),
        (lambda r: r.bias_forces(np.zeros(4), np.zeros(3)), "q has shape (4,)", "(..., 3)"),
        (lambda r: r.bias_forces(np.zeros((5, 3)), np.zeros(2)), "qd has shape (2,)", "(..., 3)"),
        (lambda r: r.gravity(0.5), "q has shape ()", "(..., 3)"),
        (lambda r: r.gravity("zero"), "q is 'zero'", "numbers (..., 3)"),
        (lambda r: r.energies([0, 0, 0], [[0, 0]]), "qd has shape (1, 2)", "(..., 3)"),
        (lambda r: r.forward_dynamics(*np.zeros((2, 3)), [1.0]), "tau has shape (1,)", "(..., 3)"),
        (lambda r: r.jacobian("link2", np.zeros((2, 7))), "q has shape (2, 7)", "(..., 3)"),
        (lambda r: r.bias_forces(np.zeros((2, 3)), np.zeros((4, 3))), "q (2,), qd (4,)", "shapes"),
        (
            lambda r: r.joint_wrenches([0] * 3, [0] * 3, [0] * 2),
            "qdd has shape (2,)",
            "(..., 3)",
        ),
        (
            lambda r: r.inverse_dynamics_vjp([0] * 3, [0] * 3, [0] * 3, [0] * 4),
            "weights has shape (4,)",
            "(..., 3)",
        ),
    ],
)
def test_wrong_arguments_are_named(arm, call, found, expected):
    """The error has the name of the argument, its shape or value, and the expected shape."""
    with pytest.raises(ArgumentError) as refused:
        call(arm)
    assert found in str(refused.value)
    assert f"expected {expected}" in str(refused.value)


def test_wrong_arguments_of_loops_are_named(closed):
    """The functions of closed loops name them as well."""
    q, qd, tau = CELL.start, np.zeros(20), np.zeros(20)
    for call in (closed.forward_dynamics, closed.closed_loop, closed.forward_dynamics_derivatives):
        with pytest.raises(ArgumentError, match=r"tau has shape \(3,\).*\(\.\.\., 20\)"):
            call(q, qd, tau[:3])
    for refused in (closed.constraint_terms, lambda q, _: closed.closure(q)):
        with pytest.raises(ArgumentError, match=r"q has shape \(5,\).*\(\.\.\., 21\)"):
            refused(q[:5], qd)


def test_numbers_that_are_not_finite_are_handed_on(arm, closed):
    """Without loops they give results that are not; with loops an error."""
    for number in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            assert np.isnan(arm.gravity([0.0, number, 0.0])).any()
    with np.errstate(invalid="ignore"), pytest.raises(ArgumentError, match="finite"):
        closed.forward_dynamics(CELL.start, np.full(20, np.nan), np.zeros(20))


def test_several_results_go_to_given_arrays(arm, closed, rng):
    """A tuple of arrays takes them, of compiled functions and of others."""
    q, qd, qdd = random_state(rng, arm.model)
    out = tuple(np.empty((3, 3)) for _ in range(3))
    found = arm.inverse_dynamics_derivatives(q, qd, qdd, out=out)
    assert all(ours is given for ours, given in zip(found, out, strict=True))
    assert_allclose(out[2], arm.inertia_matrix(q), atol=1e-14)
    _, _, K, _, gaps, _ = closed.constraint_terms(CELL.start, np.zeros(20))
    for ours, expected in zip(closed.closure(CELL.start), (K, gaps), strict=True):
        assert_allclose(ours, expected, atol=1e-14)
    places = np.empty_like(K), np.empty_like(gaps)
    assert closed.closure(CELL.start, out=places) is places
    assert_allclose(places[0], K, atol=1e-14)


@pytest.mark.usefixtures("interpreted")
def test_derivatives_go_to_given_arrays(arm, closed, rng):
    """Those of forward dynamics are six, without constraints three; a wrong number is an error."""
    states = random_state(rng, arm.model), (CELL.start, np.zeros(20), rng.normal(size=20))
    for model, state, count in zip((arm.model, closed.model), states, (3, 6), strict=True):
        robot = Robot(model)
        expected = robot.forward_dynamics_derivatives(*state)[:count]
        out = tuple(np.empty(x.shape) for x in expected)
        found = robot.forward_dynamics_derivatives(*state, out=out)
        for ours, given, same in zip(found, out, expected, strict=False):
            assert ours is given
            assert_allclose(ours, same, rtol=0, atol=0)
        with pytest.raises(ArgumentError, match=f"out has 2 entries, expected {count}"):
            robot.forward_dynamics_derivatives(*state, out=out[:2])


def test_trees_have_no_loop_joints(arm):
    """No drives, forces or constraints of theirs, of any batch."""
    q = np.zeros((4, 3))
    assert arm.loop_drives(q).shape == (4, 3, 0)
    assert arm.loop_forces(q, q, np.zeros((4, 0))).shape == (4, 0, 6)
    K, error = arm.closure(q[0])
    assert (K.shape, error.shape) == ((0, 3), (0,))


def test_poses_and_jacobians(arm, rng):
    """They are those of the named link; an unknown name is answered by those there are."""
    q, qd, _ = random_state(rng, arm.model)
    assert_allclose(arm.pose("link2", q), world_poses(arm.model, q)["link2"], atol=1e-14)
    h = 1e-6
    moved = [arm.pose("link2", q + s * h * qd) for s in (1, -1)]
    velocity = np.linalg.inv(arm.pose("link2", q)) @ (moved[0] - moved[1]) / (2 * h)
    expected = arm.jacobian("link2", q) @ qd
    skew = [velocity[2, 1], velocity[0, 2], velocity[1, 0]]
    assert_allclose([*skew, *velocity[:3, 3]], expected, atol=1e-7)
    with pytest.raises(UnknownNameError, match="did you mean 'link2'"):
        arm.pose("link_2", q)


def test_links_at_one_place_share_code(arm, rng, monkeypatch):
    """The functions of links are kept: a second call compiles nothing."""
    q = random_state(rng, arm.model)[0]
    first = arm.pose("link1", q)
    monkeypatch.setattr(Algorithm, "bind", pytest.fail)
    assert_allclose(arm.pose("link1", q), first)


def test_poses_of_all_links(arm, rng):
    """One call gives the same as `pose` of each link, also in batches."""
    q = np.stack([random_state(rng, arm.model)[0] for _ in range(3)])
    poses = arm.link_poses(q)
    for i, link in enumerate(arm.model.links):
        assert_allclose(poses[:, i], arm.pose(link.name, q), atol=1e-14)


def test_quaternions_of_any_length(rng):
    """Dynamics are those of the orientation that a quaternion means, whatever its length."""
    b = linkages.Builder("free")
    b.add("body", "base", "floating")
    b.add("ball", "body", "spherical", at=(0.3, 0, 0))
    robot = Robot.from_mechanism(b.done())
    q, qd, tau = random_state(rng, robot.model)
    longer = q * [1, 1, 1, 2, 2, 2, 2, 0.3, 0.3, 0.3, 0.3]
    for call in (robot.inverse_dynamics, robot.forward_dynamics):
        assert_allclose(call(longer, qd, tau), call(q, qd, tau), atol=1e-11)


def test_replaced_parameters_share_machine_code(rng, monkeypatch, tmp_path):
    """Another gravity and a variable inertia act at once: nothing is traced or compiled."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "1")
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    arm = Robot.from_mechanism(MECHANISM, variable=["link1"])
    q, qd, qdd = random_state(rng, arm.model)
    before = arm.inverse_dynamics(q, qd, qdd)
    with monkeypatch.context() as patch:
        patch.setattr(Algorithm, "program", pytest.fail)
        heavy = Inertia.of([9.0, 0.1, 0.2, 0.3, 1.0, 0.0, 1.1, 0.0, 0.0, 1.2])
        changed = arm.replace(gravity=(1.0, 2.0, 3.0), inertia={"link1": heavy})
        tau = changed.inverse_dynamics(q, qd, qdd)
    # The oracle has the values built in.
    fresh = Robot(replace(changed.model, variable=frozenset()))
    assert_allclose(tau, fresh.inverse_dynamics(q, qd, qdd), rtol=1e-11)
    assert np.max(np.abs(tau - before)) > 1.0
    assert_allclose(arm.inverse_dynamics(q, qd, qdd), before, rtol=0, atol=0)


def test_other_inertias_are_other_code(arm, rng):
    """A body that is not variable may be replaced as well, at the price of compilation."""
    q, _, _ = random_state(rng, arm.model)
    heavy = arm.model.bodies[2].inertia
    name = arm.model.bodies[2].name
    doubled = Inertia.of([2 * x for x in heavy.components()])
    changed = arm.replace(inertia={name: doubled})
    assert changed.model.structure_key != arm.model.structure_key
    difference = changed.inertia_matrix(q) - arm.inertia_matrix(q)
    assert np.linalg.eigvalsh(difference).min() > -1e-12
    assert np.max(difference) > 0


def test_robots_travel_without_their_code(arm, rng):
    """A pickled robot is its model, and computes the same."""
    state = random_state(rng, arm.model)
    expected = arm.inverse_dynamics(*state)
    again = pickle.loads(pickle.dumps(arm))
    assert_allclose(again.inverse_dynamics(*state), expected, rtol=0, atol=0)
    assert again.model == arm.model


def test_closed_loops(closed, rng):
    """Forward dynamics close the loops: they are those of the full-rank kernel."""
    state = closed_state(closed, rng)
    qdd, multipliers, pivot = closed.closed_loop(*state)
    assert pivot > SMALLEST_PIVOT
    assert multipliers.shape == (12,)
    assert_allclose(closed.forward_dynamics(*state), qdd, rtol=0, atol=0)
    _, _, K, k, _, _ = closed.constraint_terms(*state[:2])
    assert_allclose(K @ qdd, k, atol=1e-9 * np.max(np.abs(qdd)))
    assert np.max(np.abs(closed.tree_forward_dynamics(*state) - qdd)) > 1.0


def test_closed_loops_in_batches(closed, rng):
    """Leading dimensions broadcast there as well."""
    q, qd, _ = closed_state(closed, rng)
    taus = 10 * rng.normal(size=(4, 1, 20))
    qdd = closed.forward_dynamics(q, np.stack([qd, 0 * qd, -qd]), taus)
    assert qdd.shape == (4, 3, 20)
    assert_allclose(qdd[3, 2], closed.forward_dynamics(q, -qd, taus[3, 0]), rtol=0, atol=0)


def test_dependent_constraints_find_their_way(rng):
    """States that the kernel cannot solve get the rank-revealing solution, in batches too."""
    model = CELL.system.model
    twice = Robot(replace(model, loops=(*model.loops, replace(model.loops[0], name="again"))))
    once = Robot(model)
    q, qd, tau = closed_state(once, rng)
    expected = once.forward_dynamics(q, qd, tau)
    scale = np.max(np.abs(expected))
    assert_allclose(twice.forward_dynamics(q, qd, tau), expected, atol=1e-9 * scale)
    batch = twice.forward_dynamics(q, np.stack([qd, qd]), np.stack([tau, 2 * tau])[:, None])
    assert batch.shape == (2, 2, 20)
    assert_allclose(batch[0, 1], expected, atol=1e-9 * scale)
    motion = twice.constrained_motion(q, qd, tau)
    assert motion.rank == 12
    assert all(name.startswith("again.") for name in motion.redundant)


def test_a_singular_configuration_is_answered(closed, rng):
    """Stretched arms, whose constraints are dependent there, still accelerate finitely."""
    q = CELL.start.copy()
    q[CELL.system.q_index] = 0.0
    _, qd, tau = random_state(rng, closed.model)
    _, _, pivot = closed.closed_loop(q, 0 * qd, tau)
    qdd = closed.forward_dynamics(q, 0 * qd, tau, check=False)  # the loops are open as well
    assert np.isfinite(qdd).all()
    motion = closed.constrained_motion(q, 0 * qd, tau)
    if pivot < SMALLEST_PIVOT:
        assert motion.rank < 12
        assert_allclose(qdd, motion.qdd, rtol=0, atol=0)


def test_loops_that_are_open_by_a_little_are_recognised(closed, rng):
    """A redundant weld that stands off by a micrometre is still called redundant."""
    model = CELL.system.model
    grasp = model.loops[0].successor_placement
    off = Transform(grasp.E, Vector3(grasp.r.x + 1e-6, grasp.r.y, grasp.r.z))
    again = replace(model.loops[0], name="again", successor_placement=off)
    twice = Robot(replace(model, loops=(*model.loops, again)))
    q, qd, tau = closed_state(closed, rng)
    motion = twice.constrained_motion(q, qd, tau)
    assert motion.rank == 12
    expected = closed.forward_dynamics(q, qd, tau)
    assert_allclose(motion.qdd, expected, atol=1e-3 * np.max(np.abs(expected)))


def test_nothing_that_is_no_number_stays_silent(closed, rng):
    """A nan in any argument of closed-loop dynamics is an error. In a batch it is a row of nan, as
    without loops, and the other rows are answered.
    """
    state = closed_state(closed, rng)
    for which in range(3):
        spoilt = [x.copy() for x in state]
        spoilt[which][2] = np.nan
        with np.errstate(invalid="ignore"), pytest.raises(RobotDynamicsError, match="finite"):
            closed.forward_dynamics(*spoilt)
    two = [np.stack([good, good]) for good in state]
    two[2][1, 0] = np.nan
    with np.errstate(invalid="ignore"):
        for dynamics in (closed.forward_dynamics, closed.tree_forward_dynamics):
            batch = dynamics(*two)
            assert_allclose(batch[0], dynamics(*state), rtol=0, atol=0)
            assert np.isnan(batch[1]).any()


def test_states_with_open_loops_are_refused():
    """Positions that leave loops open, and velocities that open them, have no acceleration; the
    check can be switched off, and in a batch their rows are nan.
    """
    robot = Robot.from_mechanism(linkages.four_bar())
    start = robot.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    q, qd, tau = start.q, start.qd, np.zeros(3)
    expected = robot.forward_dynamics(q, qd, tau)
    # Rounding, and what an integration may leave, is no contradiction.
    for off, slip in ((1e-5, 0.0), (0.0, 1e-5)):
        near = robot.forward_dynamics(q + off, qd + slip, tau)
        assert_allclose(near, expected, rtol=1e-2)
    at_rest = robot.forward_dynamics(q, 0 * qd, tau)
    assert_allclose(robot.forward_dynamics(q, [1e-9, 0.0, 0.0], tau), at_rest, atol=1e-6)
    opened = (np.add(q, [0.0, 0.4, 0.0]), qd, tau)
    slipping = (q, np.add(qd, [0.0, 1.0, 0.0]), tau)
    for state, words in ((opened, "loop 'pin' by"), (slipping, "loop 'pin' opens .* per second")):
        with pytest.raises(AssemblyError, match=words):
            robot.forward_dynamics(*state)
        assert_allclose(
            robot.forward_dynamics(*state, check=False),
            robot.constrained_motion(*state).qdd,
            rtol=1e-6,
        )
    states = zip(opened, (q, qd, tau), slipping, strict=True)
    batch = robot.forward_dynamics(*(np.stack(each) for each in states))
    assert np.isnan(batch[[0, 2]]).all()
    assert_allclose(batch[1], expected, rtol=0, atol=0)


def test_closed_loops_write_into_given_arrays(closed, rng):
    """`out` is filled and returned, of one state and of a batch."""
    state = closed_state(closed, rng)
    expected = closed.forward_dynamics(*state)
    for shape in ((), (2,)):
        out = np.zeros((*shape, closed.model.nv))
        batch = [np.broadcast_to(x, (*shape, len(x))) for x in state]
        assert closed.forward_dynamics(*batch, out=out) is out
        assert_allclose(out, np.broadcast_to(expected, out.shape), rtol=0, atol=0)


def four_bar(masses):
    """Return a planar four-bar whose bars have the masses, and a closed state of it."""
    solid = np.diag([0.01, 0.02, 0.03])
    links = [LinkElement("base")]
    links += [
        LinkElement(n, m, (0.15, 0.0, 0.0), m * solid) for n, m in zip("abc", masses, strict=True)
    ]
    joints = [
        JointElement(f"to {child}", "revolute", parent, child, pose((x, 0.0, 0.0)))
        for parent, child, x in (("base", "a", 0.0), ("a", "b", 0.3), ("base", "c", 0.5))
    ]
    ends = pose((0.4, 0.0, 0.0)), pose((0.35, 0.0, 0.0))
    loop = LoopElement("loop", "revolute", "b", "c", *ends)
    robot = Robot.from_mechanism(Mechanism("m", tuple(links), tuple(joints), (loop,)))
    found = robot.assemble(np.array([1.0, -0.6, 1.5]), velocities={"to a": 1.0})
    return robot, found.q, found.qd


@pytest.mark.parametrize("masses", [(1.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
@pytest.mark.filterwarnings("error")
def test_bars_without_mass_in_a_loop(masses):
    """The motion is the one of bars that weigh next to nothing, alone and in a batch."""
    tau = np.array([2.0, 0.0, 0.0])
    robot, q, qd = four_bar(masses)
    qdd = robot.forward_dynamics(q, qd, tau)
    light, _, _ = four_bar([mass or 1e-7 for mass in masses])
    assert_allclose(qdd, light.forward_dynamics(q, qd, tau), rtol=1e-4)
    batch = robot.forward_dynamics(np.stack([q, q]), qd, tau)
    assert_allclose(batch, [qdd, qdd], rtol=0, atol=0)


def test_an_arm_without_masses_has_kinematics():
    """Poses, Jacobians, assembly, mobility work; forward dynamics names the link without mass."""
    rows = [DHRow(f"j{i}", d=0.3, alpha=1.57, a=0.2) for i in range(6)]
    robot = Robot.from_mechanism(dh_mechanism(rows, convention="modified"))
    q, zero = np.linspace(0.1, 0.6, 6), np.zeros(6)
    step = 1e-7 * np.arange(1.0, 7.0)
    moved = robot.pose("j5_link", q + step)[:3, 3] - robot.pose("j5_link", q)[:3, 3]
    turned = robot.pose("j5_link", q)[:3, :3]
    assert_allclose(turned @ robot.jacobian("j5_link", q)[3:] @ step, moved, atol=1e-12)
    assert robot.assemble(q).q == pytest.approx(q)
    assert robot.mobility().mobility == 6
    with pytest.raises(RobotDynamicsError, match="expected mass on link 'j0_link' or beyond it"):
        robot.forward_dynamics(q, zero, zero)
    bars, q, qd = four_bar((0.0, 0.0, 0.0))
    with pytest.raises(RobotDynamicsError, match="expected mass on link 'a' or 'b' or 'c'"):
        bars.forward_dynamics(q, qd, 0.0 * qd)
    with pytest.raises(RobotDynamicsError, match="expected mass on link 'a' or beyond it"):
        integrate(bars, q, qd, 0.1)


def test_load_reads_files(tmp_path):
    """A URDF becomes a robot; options go to the model; a missing file is an error."""
    urdf = tmp_path / "pendulum.urdf"
    urdf.write_text(
        """<robot name="pendulum"><link name="base"/><link name="bob"><inertial>
        <origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link><joint name="hinge" type="revolute"><parent link="base"/>
        <child link="bob"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="10"
        velocity="5"/></joint></robot>"""
    )
    robot = load(urdf, gravity=(0.0, 0.0, -10.0))
    assert_allclose(robot.bias_forces([0.5], [0.0]), 2 * 10 * np.sin(0.5), rtol=1e-14)
    assert isinstance(robot.model.name, str)
    with pytest.raises(RobotDynamicsError, match=r"nowhere\.urdf"):
        load(tmp_path / "nowhere.urdf")


def test_a_mechanism_that_cannot_move():
    """A model without joints has empty vectors, and no algorithm stumbles over them."""
    robot = Robot(build(Mechanism("block", MECHANISM.links[:1])))
    assert robot.model.nv == 0
    assert robot.inverse_dynamics(np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)
    assert robot.forward_dynamics(np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, q, v: r.constrained_motion(q, v, v[:-1]), r"tau has shape \(2,\)"),
        (lambda r, q, v: r.constrained_motion(q, v, 0.0), r"tau has shape \(1,\)"),
        (lambda r, q, v: r.constrained_motion([q, q], v, v), r"q has shape \(2, 3\)"),
        (lambda r, q, v: r.constrained_motion("abc", v, v), "q is 'abc', expected 3 numbers"),
        (lambda r, q, v: r.constrained_motion(q, v, v, length=-1.0), "length is -1.0"),
        (lambda r, q, v: r.constrained_motion(q, v, v, stabilisation_time=0.0), "time is 0.0"),
        (lambda r, q, v: r.independent_form(q, v, "crank"), "expected a list of names"),
        (lambda r, q, v: r.independent_dynamics(q=q[:-1]), r"q has shape \(2,\)"),
        (lambda r, q, v: r.drive_efforts("crank"), "expected a list of names"),
        (lambda r, q, v: r.mobility(q, independent="crank"), "expected a list of names"),
    ],
)
def test_arguments_that_cannot_be_meant(call, words):
    """Wrong shapes, lengths and times, and names that are no list: one sentence each."""
    robot = Robot(build(linkages.four_bar()))
    q = robot.assemble().q
    with pytest.raises(ArgumentError, match=words):
        call(robot, q, np.zeros(robot.model.nv))


def test_choices_at_open_loops_are_refused():
    """Independent coordinates are not chosen where the loops are open."""
    robot = Robot(build(linkages.four_bar()))
    with pytest.raises(AssemblyError, match="open"):
        robot.independent_dynamics(q=robot.assemble().q + 0.1)


def test_dampers_of_tree_joints_are_added_by_the_caller():
    """With them a four-bar with dampers in all its joints moves alike in every spanning tree."""
    plain = linkages.four_bar()
    joints = tuple(replace(j, damping=1.0 + i) for i, j in enumerate(plain.joints))
    loops = tuple(replace(loop, damping=5.0) for loop in plain.loops)
    damped = replace(plain, joints=joints, loops=loops)
    shared = ("crank_joint", "coupler_joint")
    one = Robot.from_mechanism(damped)
    other = Robot.from_mechanism(damped, spanning_tree=shared)
    assert [loop.name for loop in other.model.loops] == ["rocker_joint"]
    there = one.assemble([0.5, 1.0, 1.0], velocities={"crank_joint": 0.7})
    held = {name: there.q[i] for i, name in enumerate(shared)}
    also = other.assemble(held=held, velocities={"crank_joint": 0.7})
    in_other = [other.model.joint_index(name) for name in shared]
    assert_allclose(also.qd[in_other], there.qd[:2], rtol=1e-9)
    found = []
    for share in (1.0, 0.0):
        a, b = (
            robot.forward_dynamics(s.q, s.qd, share * robot.damping_forces(s.qd))
            for robot, s in ((one, there), (other, also))
        )
        found.append((a[:2], b[in_other]))
    # The constraints are redundant: some digits go with the rank decision's tolerance.
    assert_allclose(*found[0], rtol=1e-8)
    assert np.abs(found[1][0] - found[1][1]).max() > 0.1 * np.abs(found[1][0]).max()


@pytest.mark.parametrize("out", [(), [], 0, np.zeros(1), np.empty(2)])
def test_places_for_two_results_are_a_pair_of_arrays(arm, rng, out):
    """A false or empty `out` is refused as well."""
    q, qd = random_state(rng, arm.model)[:2]
    with pytest.raises((TypeError, ValueError), match="out"):
        arm.energies(q, qd, out=out)


def test_efforts_of_a_tree_are_its_inverse_dynamics(arm, rng):
    """Without loops nothing is eliminated, and the pivot is 1."""
    q, qd, qdd = random_state(rng, arm.model)
    efforts, pivot = arm.drive_efforts()(q, qd, qdd)
    assert_allclose(efforts, arm.inverse_dynamics(q, qd, qdd), atol=1e-12)
    assert pivot == 1.0
