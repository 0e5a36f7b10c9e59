# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Registered algorithms: programs equal their functions, shapes are as stated."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree, two_arms, world_poses

from robot_dynamics import dynamics
from robot_dynamics.compile import compile_program, kernel
from robot_dynamics.compile.host import find_host
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import (
    CLOSED_LOOP,
    CONSTRAINT_TERMS,
    closed_loop_forward_dynamics,
    closed_loop_terms,
)
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS, forward_dynamics
from robot_dynamics.dynamics.frame_motion import JACOBIAN
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX, inertia_matrix
from robot_dynamics.dynamics.inverse import (
    BIAS_FORCES,
    INVERSE_DYNAMICS,
    bias_forces,
    inverse_dynamics,
)
from robot_dynamics.dynamics.jacobian import link_jacobian
from robot_dynamics.dynamics.kinematics import POSE, joint_transforms
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


@pytest.mark.book("A4")
@pytest.mark.parametrize(
    ("algorithm", "function"),
    [
        (INVERSE_DYNAMICS, inverse_dynamics),
        (BIAS_FORCES, bias_forces),
        (INERTIA_MATRIX, inertia_matrix),
        (TREE_FORWARD_DYNAMICS, forward_dynamics),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_programs_equal_their_functions(algorithm, function, rng):
    """The program of each algorithm equals the algorithm on floats, bit for bit but for order."""
    state = random_state(rng, MODEL)[: len(algorithm.inputs)]
    (ours,) = algorithm.program(MODEL).evaluate(*state, parameters=pack(MODEL))
    expected = np.array(function(MODEL, *floats(*state), parameters_of(MODEL)))
    # Tracing shares and folds, and may sum in another order.
    assert_allclose(ours, expected, atol=1e-13 * np.max(np.abs(expected)) * 10)


def test_closed_loop(rng):
    """Accelerations, multipliers and pivot, and the terms behind them, come out by name."""
    state = random_state(rng, CLOSED)
    program = CLOSED_LOOP.program(CLOSED)
    assert list(program.outputs) == ["qdd", "multipliers", "pivot"]
    expected = closed_loop_forward_dynamics(CLOSED, *floats(*state), parameters_of(CLOSED))
    for ours, theirs in zip(
        program.evaluate(*state, parameters=pack(CLOSED)), expected, strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-8)
    program = CONSTRAINT_TERMS.program(CLOSED)
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
    host, program = find_host(), CLOSED_LOOP.program(CLOSED)
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
        link = CLOSED.link(name)
        (pose,) = POSE.program(CLOSED, link).evaluate(q, parameters=pack(CLOSED))
        assert_allclose(pose, world_poses(CLOSED, q)[name], atol=1e-13)
        (J,) = JACOBIAN.program(CLOSED, link, "local").evaluate(q, parameters=pack(CLOSED))
        Xup = joint_transforms(CLOSED, q.tolist())
        assert_allclose(J, link_jacobian(CLOSED, link, Xup), atol=1e-13)


def test_parameters_are_read_from_the_block(rng):
    """Gravity, a variable inertia and variable grasps act without another trace."""
    state = random_state(rng, MODEL)
    program = INVERSE_DYNAMICS.program(MODEL)
    heavy = Inertia.of([9.0, 0.1, 0.2, 0.3, 1.0, 0.0, 1.1, 0.0, 0.0, 1.2])
    changed = MODEL.replace(gravity=(1.0, 2.0, 3.0), inertia={"link1": heavy})
    (ours,) = program.evaluate(*state, parameters=pack(changed))
    expected = inverse_dynamics(changed, *floats(*state), parameters_of(changed))
    assert_allclose(ours, expected, rtol=1e-11)
    (before,) = program.evaluate(*state, parameters=pack(MODEL))
    assert np.max(np.abs(ours - before)) > 1.0

    program = CONSTRAINT_TERMS.program(CLOSED)
    moved = two_arms().system.with_grasp_error({"arm1": np.diag([-1.0, -1.0, 1.0, 1.0])}).model
    q, qd, _ = random_state(rng, CLOSED)
    values = program.evaluate(q, qd, parameters=pack(moved))
    terms = closed_loop_terms(moved, *floats(q, qd), parameters_of(moved))
    assert_allclose(values[2], terms.loops.K, atol=1e-11)


@pytest.mark.book("A4")
def test_structure_is_folded():
    """The programs of an arm are shorter than the general algorithms: zeros cost nothing."""
    arm = two_arms().mechanism
    counts = INERTIA_MATRIX.program(build(arm)).operation_counts()
    # Two 7-joint chains and a body by Eq 10.3: 1224 multiplications; right angles fold away.
    assert counts["multiply"] < 700


@pytest.mark.parametrize("lanes", [1, None])
def test_bound_kernels(rng, lanes, monkeypatch, tmp_path):
    """A bound kernel takes single states and batches, and reads the model's block."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "1")
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(tmp_path / "cache"))
    kernel = BIAS_FORCES.bind(MODEL, lanes=lanes)
    q, qd, _ = random_state(rng, MODEL, 13)
    C = kernel(q, qd)
    assert C.shape == (13, MODEL.nv)
    for ours, *state in zip(C, q, qd, strict=True):
        assert_allclose(kernel(*state), ours, rtol=0, atol=0)
        expected = np.array(bias_forces(MODEL, *floats(*state), parameters_of(MODEL)))
        assert_allclose(ours, expected, atol=1e-12 * np.max(np.abs(expected)))
    monkeypatch.setattr(Algorithm, "program", pytest.fail)
    weightless = BIAS_FORCES.bind(MODEL.replace(gravity=(0, 0, 0)), lanes=lanes)
    assert_allclose(weightless(q[0], np.zeros(MODEL.nv)), 0.0, atol=1e-12)


def registered():
    """Return every `Algorithm` of `dynamics/` whose shapes depend on a model alone, and others."""
    modules = [
        importlib.import_module(f"robot_dynamics.dynamics.{module.name}")
        for module in pkgutil.iter_modules(dynamics.__path__)
    ]
    found = {id(x): x for m in modules for x in vars(m).values() if isinstance(x, Algorithm)}
    others = ("inverse_operational_inertia", "independent_dynamics", "drive_efforts")
    others += ("hybrid_dynamics", "loop_columns", "loop_coordinates")
    every = sorted(found.values(), key=lambda each: each.name)
    of_model = [a for a in every if a.name not in others and not a.name.startswith("explicit")]
    return every, of_model


def test_names_of_algorithms_are_unique():
    """The name is part of the key to the cache."""
    names = [algorithm.name for algorithm in registered()[0]]
    assert len(set(names)) == len(names) > 50


@pytest.mark.parametrize("model", [MODEL, CLOSED], ids=["tree", "loops"])
@pytest.mark.parametrize("algorithm", registered()[1], ids=lambda each: each.name)
def test_shapes_are_as_stated(algorithm, model):
    """Outputs have the stated lengths, of a tree without its constraints and of two arms."""
    if algorithm.name == "placement_derivatives" and not model.loops:
        pytest.skip("a tree has no loop placements to differentiate by")
    options = {"link": model.links[-1], "axes": "local", "classical": False}
    takes = inspect.signature(algorithm.function).parameters
    program = algorithm.program(model, *(options[name] for name in takes if name in options))
    assert program.inputs == algorithm.input_lengths(model)
    stated = algorithm.output_lengths(model)
    assert list(program.outputs) == list(stated)[: len(program.outputs)]
    for name, shape in program.outputs.items():
        size, expected = np.prod(shape), np.prod(stated[name])
        assert shape == stated[name] or size == expected == 0, name
