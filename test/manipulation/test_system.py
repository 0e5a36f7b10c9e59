# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A grasp system knows the places of arms and object in its vectors, and refuses others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_pose, two_arms

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose, pose_of
from robot_dynamics.spatial import Inertia


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture(scope="module")
def cell():
    return two_arms((7, 6))


def test_indices_are_those_of_the_names(cell):
    """Arm by arm, base to tip, wherever the joints stand in the model; the object apart."""
    system = cell.system
    model = system.model
    expected = [f"arm0_joint{i}" for i in range(7)] + [f"arm1_joint{i}" for i in range(6)]
    assert list(system.joint_names) == expected
    for name, q, v in zip(expected, system.q_index, system.v_index, strict=True):
        index = model.joint_index(name)
        assert (model.q_slices[index].start, model.v_slices[index].start) == (q, v)
    assert [s.indices(99)[:2] for s in system.arm_slices] == [(0, 7), (7, 13)]
    everything = {*system.v_index, *range(model.nv)[system.object_v]}
    assert everything == set(range(model.nv))
    assert [model.loops[arm.loop].name for arm in system.arms] == ["arm0_grasp", "arm1_grasp"]


def test_vectors_over_the_arms(cell):
    """Postures and limits are stacked in the same order."""
    system = cell.system
    assert_allclose(system.posture, cell.start[system.q_index])
    assert set(system.limits) == {"lower", "upper", "velocity", "effort"}
    assert all(values.shape == (13,) for values in system.limits.values())


def test_loops_go_from_tools_to_the_object(cell):
    """Loop forces are those by the arms on the object, in grasp frames on it."""
    for arm, grasp in zip(cell.system.arms, cell.system.grasps, strict=True):
        loop = cell.system.model.loops[arm.loop]
        assert loop.successor == cell.system.object_body
        tool = cell.system.model.link(arm.tool)
        assert loop.predecessor == tool.body
        assert_allclose(pose_of(loop.predecessor_placement), pose_of(tool.placement), atol=1e-15)
        assert_allclose(pose_of(loop.successor_placement), grasp, atol=1e-15)


def test_another_mass_scales_the_inertia(cell):
    """with_object(mass) keeps centre of mass and radii of gyration, and the machine code."""
    system = cell.system
    heavy = system.with_object(mass=6.0)
    body = system.object_body
    before, after = (np.array(s.model.bodies[body].inertia.components()) for s in (system, heavy))
    assert_allclose(after, before * 6.0 / 5.0, rtol=1e-15)
    assert heavy.model.structure_key == system.model.structure_key
    assert system.model.bodies[body].inertia.components()[0] == 5.0


def test_another_inertia(cell):
    """with_object(inertia) replaces it; without arguments nothing changes."""
    inertia = Inertia.of([2.0, 0.1, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    changed = cell.system.with_object(inertia=inertia)
    assert changed.model.bodies[cell.system.object_body].inertia == inertia
    assert cell.system.with_object() is cell.system


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_masses_that_are_none_are_refused(cell, mass):
    """A mass is a positive number."""
    with pytest.raises(RobotDynamicsError, match="expected a positive number"):
        cell.system.with_object(mass=mass)


def test_grasp_errors_are_in_the_grasp_frame(cell, rng):
    """A displaced grasp stands where the error, in its own frame, takes it."""
    system, error = cell.system, random_pose(rng, 0.01)
    wrong = system.with_grasp_error({"arm1": error})
    assert_allclose(wrong.grasps[0], system.grasps[0])
    assert_allclose(wrong.grasps[1], system.grasps[1] @ error, atol=1e-12)
    assert wrong.model.structure_key == system.model.structure_key


def test_unknown_arms_are_named(cell):
    """A wrong name of an arm is answered by those there are."""
    with pytest.raises(UnknownNameError, match="did you mean 'arm1'"):
        cell.system.arm("arm_1")
    with pytest.raises(UnknownNameError, match="arm2"):
        cell.system.with_grasp_error({"arm2": np.eye(4)})


def test_contacts_are_at_the_grasps():
    """Rigid by default; another contact keeps its kind where a grasp is displaced."""
    system = two_arms().system
    assert [one.kind for one in system.contacts] == ["rigid", "rigid"]
    finger = Contact.of_kind("soft finger", np.eye(4), FrictionCone(0.5, 0.01))
    arms = (replace(system.arms[0], contact=finger), system.arms[1])
    held = replace(system, arms=arms)
    moved = held.with_grasp_error({held.arms[0].name: pose((0.0, 0.0, 0.01))})
    assert moved.contacts[0].kind == "soft finger"
    assert moved.contacts[0].limits == finger.limits
    assert_allclose(moved.contacts[0].pose, moved.grasps[0])
    assert not np.allclose(moved.contacts[0].pose, system.grasps[0])
