# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linearising law is exact: forward dynamics under its torque do what was asked for."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import random_cell, random_state, two_arms, world_poses

from robot_dynamics.algorithms import constraint_program
from robot_dynamics.compile import trace
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.manipulation.coordinated_law import DesiredMotion, coordinated_torque
from robot_dynamics.manipulation.grasp_map import orthonormal_map, transmitted_force_map
from robot_dynamics.model import pose, transform_of
from robot_dynamics.model.parameters import block_size, pack, unpack

CELLS = {
    "two 7-joint arms": ((7, 7), (0.5, 0.5)),
    "6 and 7 joints": ((6, 7), (0.3, 0.7)),
    "three arms": ((7, 6, 7), (0.2, 0.5, 0.3)),
}
STATES = 250
# The torque passes through matrices of condition 1e4 to 1e6 twice; states near a singularity of
# an arm, where it is worse, are left out below.
TOL = 1e-9


class Case(NamedTuple):
    """Closed random states of a system, what is asked for there, and what came of it."""

    system: object
    terms: tuple
    law: dict
    asked: dict
    qdd: np.ndarray
    multipliers: np.ndarray
    recovery: np.ndarray
    fair: np.ndarray


def law_program(system):
    """Return the law as a program that takes maps and wishes as inputs."""
    k, na = len(system.arms), len(system.joint_names)
    nf = 6 * (k - 1)

    def run(q, qd, acceleration, velocity, force, posture, distribution, internal, block):
        terms = closed_loop_terms(system.model, q, qd, unpack(system.model, block))
        law = coordinated_torque(
            system,
            terms,
            DesiredMotion(acceleration, posture),
            DesiredMotion(velocity, [0.0] * na),
            force,
            distribution,
            internal,
        )
        return {field.name: getattr(law, field.name) for field in fields(law)}

    inputs = {
        "q": system.model.nq,
        "qd": system.model.nv,
        "acceleration": 6,
        "velocity": 6,
        "force": nf,
        "posture": na,
        "distribution": (6 * k, 6),
        "internal": (6 * k, nf),
    }
    return trace(run, "law", inputs, block_size(system.model))


@pytest.fixture(params=CELLS, scope="module")
def case(request):
    """Return random states of arms without structure, each closed by its own grasps."""
    rng = np.random.default_rng(11)
    joints, shares = CELLS[request.param]
    system, _, _ = random_cell(rng, joints, shares)
    model, k = system.model, len(joints)
    q, qd, _ = random_state(rng, model, STATES)
    blocks, maps = [], []
    for q_i in q:
        world = world_poses(model, q_i)
        place = q_i[system.object_q]
        frame = pose(place[:3], Rotation.from_quat(place[3:]).as_matrix())
        closed = {
            model.loops[arm.loop].name: np.linalg.inv(frame) @ world[arm.tool]
            for arm in system.arms
        }
        there = replace(
            system,
            model=model.replace(
                successor_placement={name: transform_of(at) for name, at in closed.items()}
            ),
        )
        blocks.append(pack(there.model))
        grasps = list(closed.values())
        maps.append(orthonormal_map(grasps) if k == 3 else transmitted_force_map(grasps, shares))
    block = np.array(blocks)
    program = constraint_program(model)
    H, _, K, _, _, _ = program.evaluate(q, qd, parameters=block)
    HK = np.linalg.solve(H, np.swapaxes(K, 1, 2))
    correction = np.linalg.solve(K @ HK, (K @ qd[..., None]))
    qd = qd - (HK @ correction)[..., 0]
    terms = program.evaluate(q, qd, parameters=block)
    asked = {
        "acceleration": rng.normal(size=(STATES, 6)),
        "velocity": rng.normal(size=(STATES, 6)),
        "force": 20 * rng.normal(size=(STATES, 6 * (k - 1))),
        "posture": rng.normal(size=(STATES, len(system.joint_names))),
    }
    law = law_program(system)
    results = law.evaluate(
        q, qd, *asked.values(),
        np.array([m.distribution for m in maps]), np.array([m.internal for m in maps]),
        parameters=block,
    )  # fmt: skip
    parts = dict(zip(law.outputs, results, strict=True))
    qdd, multipliers = dense(system, terms, parts["support"] + parts["internal"] + parts["motion"])
    recovery = np.array([m.recovery for m in maps])
    fair = parts["smallest_pivot"] > 1e-3
    return Case(system, terms, parts, asked, qdd, multipliers, recovery, fair)


def dense(system, terms, torque):
    """Return qdd and multipliers of (8.6), solved as it stands, under torques (N, na)."""
    H, C, K, k, _, _ = terms
    n, m = H.shape[-1], K.shape[1]
    matrix = np.zeros((len(H), n + m, n + m))
    matrix[:, :n, :n], matrix[:, n:, :n] = H, K
    matrix[:, :n, n:] = np.swapaxes(K, 1, 2)
    right = np.concatenate([-C, k], axis=1)
    right[:, system.v_index] += torque
    x = np.linalg.solve(matrix, right[..., None])[..., 0]
    return x[:, :n], -x[:, n:]


def worst(error, scale, fair):
    """Return the largest error of a state relative to the largest number of that state."""
    error, scale = np.abs(error).max(axis=1), np.abs(scale).max(axis=1)
    return (error / np.maximum(scale, 1.0))[fair].max()


def test_enough_states_are_regular(case):
    """At least 200 states are far enough from any arm's singularity to count below."""
    assert case.fair.sum() >= 200


def test_the_object_accelerates_as_asked(case):
    """The object's spatial acceleration under the torque is the one given to the law (38)."""
    ours = case.qdd[:, case.system.object_v]
    scale = np.concatenate([case.asked["acceleration"], case.qdd], axis=1)
    assert worst(ours - case.asked["acceleration"], scale, case.fair) < TOL


def test_the_internal_force_is_as_asked(case):
    """The internal force recovered from the grasp wrenches is the one given to the law (40)."""
    ours = np.einsum("nij,nj->ni", case.recovery, case.multipliers)
    assert worst(ours - case.asked["force"], case.multipliers, case.fair) < TOL


def test_the_arms_accelerate_as_the_law_says(case):
    """The law's joint accelerations are those that come about (34)."""
    ours = case.qdd[:, case.system.v_index]
    assert worst(ours - case.law["acceleration"], ours, case.fair) < TOL


def test_parts_make_what_they_are_named_for(case):
    """Support and motion make the acceleration without any internal force."""
    torque = case.law["support"] + case.law["motion"]
    qdd, multipliers = dense(case.system, case.terms, torque)
    inner = np.einsum("nij,nj->ni", case.recovery, multipliers)
    assert worst(inner, multipliers, case.fair) < TOL
    acceleration = qdd[:, case.system.object_v]
    scale = np.concatenate([case.asked["acceleration"], qdd], axis=1)
    assert worst(acceleration - case.asked["acceleration"], scale, case.fair) < TOL


def test_self_motion_is_as_wished(case):
    """Where an arm has freedom its acceleration is nearest to the wish, in the metric of H."""
    H, _, K, _, _, _ = case.terms
    for arm, at in zip(case.system.arms, case.system.arm_slices, strict=True):
        if len(arm.joints) < 7:
            continue
        own = arm.v_index
        J = K[:, 6 * arm.loop : 6 * arm.loop + 6][:, :, own]
        _, _, Vt = np.linalg.svd(J)
        free = Vt[:, 6:]  # the directions of self-motion
        off = case.law["acceleration"][:, at] - case.asked["posture"][:, at]
        momentum = np.einsum("nij,nj->ni", H[:, own][:, :, own], off)
        along = np.einsum("nij,nj->ni", free, momentum)
        assert worst(along, momentum, case.fair) < TOL


def test_reference_velocity_of_the_arms(case):
    """The arms' velocities move the grasps with the object, and have no self-motion."""
    H, _, K, _, _, _ = case.terms
    asked = case.asked["velocity"]
    for arm, at in zip(case.system.arms, case.system.arm_slices, strict=True):
        own, rows = arm.v_index, slice(6 * arm.loop, 6 * arm.loop + 6)
        J, K_object = K[:, rows][:, :, own], K[:, rows, case.system.object_v]
        velocity = case.law["velocity"][:, at]
        slip = np.einsum("nij,nj->ni", J, velocity) + np.einsum("nij,nj->ni", K_object, asked)
        assert worst(slip, velocity, case.fair) < TOL
        _, _, Vt = np.linalg.svd(J)
        momentum = np.einsum("nij,nj->ni", H[:, own][:, :, own], velocity)
        along = np.einsum("nij,nj->ni", Vt[:, 6:], momentum)
        if along.size:
            assert worst(along, momentum, case.fair) < TOL


class TwoArms:
    """Two arms of common build at their start, at rest, and what the law says there."""

    def __init__(self, shares=(0.5, 0.5)):
        self.system, self.q, _ = two_arms()
        self.model, self.rest = self.system.model, np.zeros(self.system.model.nv)
        self.maps = transmitted_force_map(self.system.grasps, shares)
        self.program = law_program(self.system)

    def law(self, acceleration, force, posture, q=None):
        """Return the parts of the law by name."""
        q = self.q if q is None else q
        out = self.program.evaluate(
            q, self.rest, np.full(6, acceleration), np.zeros(6), np.full(6, force), posture,
            self.maps.distribution, self.maps.internal, parameters=pack(self.model),
        )  # fmt: skip
        return dict(zip(self.program.outputs, out, strict=True))

    def motion(self, torque):
        """Return qdd and multipliers under a torque."""
        program = constraint_program(self.model)
        terms = program.evaluate(self.q, self.rest, parameters=pack(self.model))
        qdd, multipliers = dense(self.system, [t[None] for t in terms], torque[None])
        return qdd[0], multipliers[0]


def test_posture_wishes_do_not_reach_the_object():
    """Other wishes for self-motion change neither the object's acceleration nor the force."""
    arms, rng = TwoArms(), np.random.default_rng(3)
    answers = []
    for _ in range(2):
        law = arms.law(1.0, 1.0, rng.normal(size=14))
        torque = law["support"] + law["internal"] + law["motion"]
        qdd, multipliers = arms.motion(torque)
        answers.append((qdd[arms.system.object_v], arms.maps.recovery @ multipliers, torque))
    assert_allclose(answers[0][0], answers[1][0], atol=TOL)
    assert_allclose(answers[0][1], answers[1][1], atol=1e-8)
    assert np.max(np.abs(answers[0][2] - answers[1][2])) > 0.1


def test_support_holds_everything_up_at_rest():
    """At rest the support alone keeps arms and object still, loads shared as declared."""
    arms = TwoArms((0.2, 0.8))
    law = arms.law(0.0, 0.0, np.zeros(14))
    assert_allclose(law["internal"], 0.0, atol=1e-15)
    assert_allclose(law["motion"], 0.0, atol=1e-12)
    qdd, multipliers = arms.motion(law["support"])
    assert_allclose(qdd, 0.0, atol=1e-10)
    up = arms.maps.total[5]
    weights = [up[:6] @ multipliers[:6], up[6:] @ multipliers[6:]]
    assert_allclose(weights, [0.2 * 5 * 9.81, 0.8 * 5 * 9.81], rtol=1e-10)


def test_an_arm_at_a_singularity_shows_in_the_pivot():
    """A stretched arm leaves a pivot of rounding size, not a quiet wrong answer."""
    arms = TwoArms()
    q = arms.q.copy()
    q[arms.system.arms[0].q_index] = 0.0  # upright: all axes in one plane
    assert not arms.law(1.0, 0.0, np.zeros(14), q)["smallest_pivot"] > 1e-9
