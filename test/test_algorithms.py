# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of a model do what the functions behind them do, and read their parameters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree, two_arms, world_poses

from robot_dynamics import algorithms
from robot_dynamics.algorithms import bound
from robot_dynamics.compile import compile_program, kernel
from robot_dynamics.compile.host import find_host
from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics.dynamics.jacobian import link_jacobian
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model import build
from robot_dynamics.model.parameters import pack, parameters_of
from robot_dynamics.spatial import Inertia

TREE = random_tree(np.random.default_rng(1), ["floating", "revolute", "prismatic", "revolute"])
MODEL = build(TREE, variable=["link1"])
CLOSED = two_arms().system.model


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def floats(*arrays):
    return [array.tolist() for array in arrays]


FUNCTIONS = {
    "inverse_dynamics": (3, lambda *x: inverse_dynamics(MODEL, *x, parameters_of(MODEL))),
    "bias_forces": (2, lambda *x: bias_forces(MODEL, *x, parameters_of(MODEL))),
    "inertia_matrix": (1, lambda *x: inertia_matrix(MODEL, *x, parameters_of(MODEL))),
    "forward_dynamics": (3, lambda *x: forward_dynamics(MODEL, *x, parameters_of(MODEL))),
}


@pytest.mark.book("A4")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tree_algorithms(name, rng):
    """The program of each algorithm equals the algorithm on floats, bit for bit but for order."""
    count, function = FUNCTIONS[name]
    state = random_state(rng, MODEL)[:count]
    (ours,) = getattr(algorithms, f"{name}_program")(MODEL).evaluate(
        *state, parameters=pack(MODEL)
    )
    expected = np.array(function(*floats(*state)))
    # Tracing shares and folds, and may sum in another order.
    assert_allclose(ours, expected, atol=1e-13 * np.max(np.abs(expected)) * 10)


def test_closed_loop(rng):
    """Accelerations, multipliers and pivot, and the terms behind them, come out by name."""
    state = random_state(rng, CLOSED)
    program = algorithms.closed_loop_program(CLOSED)
    assert list(program.outputs) == ["qdd", "multipliers", "pivot"]
    expected = closed_loop_forward_dynamics(CLOSED, *floats(*state), parameters_of(CLOSED))
    for ours, theirs in zip(
        program.evaluate(*state, parameters=pack(CLOSED)), expected, strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-8)
    program = algorithms.constraint_program(CLOSED)
    terms = closed_loop_terms(CLOSED, *floats(*state[:2]), parameters_of(CLOSED))
    values = dict(
        zip(program.outputs, program.evaluate(*state[:2], parameters=pack(CLOSED)), strict=True)
    )
    for name in ("H", "C"):
        assert_allclose(values[name], getattr(terms, name), atol=1e-11)
    for name in ("K", "k", "position_error", "velocity_error"):
        assert_allclose(values[name], getattr(terms.loops, name), atol=1e-11)


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("lanes", [1, None])
def test_effort_changes_no_bit(lanes, rng, monkeypatch):
    """However hard the code generator tries, operations are the same, and rounded alike."""
    host, program = find_host(), algorithms.closed_loop_program(CLOSED)
    drawn = [random_state(rng, CLOSED) for _ in range(19)]
    states = [np.array(values) for values in zip(*drawn, strict=True)]
    results = []
    for effort in (0, 1, 2):
        monkeypatch.setattr(
            kernel, "find_host", lambda effort=effort: host._replace(opt_level=effort)
        )
        results.append(compile_program(program, lanes).bind(pack(CLOSED))(*states))
    for found in zip(*results, strict=True):
        assert np.isfinite(found[0]).all()
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_links(rng):
    """Pose and Jacobian of any link, those on fixed joints and on the base included."""
    q = random_state(rng, CLOSED)[0]
    for name in ("arm1_tool", "arm0_link3", "box", "arm0_base"):
        (pose,) = algorithms.link_pose_program(CLOSED, name).evaluate(q, parameters=pack(CLOSED))
        assert_allclose(pose, world_poses(CLOSED, q)[name], atol=1e-13)
        (J,) = algorithms.link_jacobian_program(CLOSED, name, "local").evaluate(
            q, parameters=pack(CLOSED)
        )
        Xup = joint_transforms(CLOSED, q.tolist())
        assert_allclose(J, link_jacobian(CLOSED, CLOSED.link(name), Xup), atol=1e-13)


def test_parameters_are_read_from_the_block(rng):
    """Gravity, a variable inertia and variable grasps act without another trace."""
    state = random_state(rng, MODEL)
    program = algorithms.inverse_dynamics_program(MODEL)
    heavy = Inertia.of([9.0, 0.1, 0.2, 0.3, 1.0, 0.0, 1.1, 0.0, 0.0, 1.2])
    changed = MODEL.replace(gravity=(1.0, 2.0, 3.0), inertia={"link1": heavy})
    (ours,) = program.evaluate(*state, parameters=pack(changed))
    expected = inverse_dynamics(changed, *floats(*state), parameters_of(changed))
    assert_allclose(ours, expected, rtol=1e-11)
    (before,) = program.evaluate(*state, parameters=pack(MODEL))
    assert np.max(np.abs(ours - before)) > 1.0

    program = algorithms.constraint_program(CLOSED)
    moved = two_arms().system.with_grasp_error({"arm1": np.diag([-1.0, -1.0, 1.0, 1.0])}).model
    q, qd, _ = random_state(rng, CLOSED)
    values = program.evaluate(q, qd, parameters=pack(moved))
    terms = closed_loop_terms(moved, *floats(q, qd), parameters_of(moved))
    assert_allclose(values[2], terms.loops.K, atol=1e-11)


@pytest.mark.book("A4")
def test_structure_is_folded():
    """The programs of an arm are shorter than the general algorithms: zeros cost nothing."""
    arm = two_arms().mechanism
    counts = algorithms.inertia_matrix_program(build(arm)).operation_counts()
    # Two 7-joint chains and a body by Eq 10.3: 1224 multiplications; right angles fold away.
    assert counts["multiply"] < 700


@pytest.mark.parametrize("lanes", [1, None])
def test_bound_kernels(rng, lanes, monkeypatch, tmp_path):
    """A bound kernel takes single states and batches, and reads the model's block."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "1")
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    kernel = bound(MODEL, "test", lambda: algorithms.bias_forces_program(MODEL), lanes)
    q, qd, _ = random_state(rng, MODEL, 13)
    C = kernel(q, qd)
    assert C.shape == (13, MODEL.nv)
    for ours, *state in zip(C, q, qd, strict=True):
        assert_allclose(kernel(*state), ours, rtol=0, atol=0)
        expected = np.array(bias_forces(MODEL, *floats(*state), parameters_of(MODEL)))
        assert_allclose(ours, expected, atol=1e-12 * np.max(np.abs(expected)))
    weightless = bound(MODEL.replace(gravity=(0, 0, 0)), "test", pytest.fail, lanes)
    assert_allclose(weightless(q[0], np.zeros(MODEL.nv)), 0.0, atol=1e-12)
