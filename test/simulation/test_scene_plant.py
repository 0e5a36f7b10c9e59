# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine's plant: repeatable, closed, true to its settings, and no silent nonsense."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import two_arms, world_poses

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.drives import drives_of
from robot_dynamics.simulation.engine import SimulationError
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings

PERIOD = 0.002
CELL = two_arms()
FREE = PlantSettings(damping_scale=0.0, friction_scale=0.0, command_delay_periods=0)


def plant(settings=FREE, system=CELL.system, period=PERIOD):
    return ScenePlant(Scene(system), CELL.start, period, settings)


def support(system=CELL.system):
    """Return the torque (na,) that holds arms and object up at the start, and the wrenches."""
    C = Robot(system.model).bias_forces(CELL.start, np.zeros(20))
    _, _, K, _, _, _ = Robot(system.model).constraint_terms(CELL.start, np.zeros(20))
    maps = transmitted_force_map(system.grasps, (0.5, 0.5))
    wrenches = maps.distribution @ C[system.object_v]
    return (C - K.T @ wrenches)[system.v_index], wrenches


def test_it_begins_at_rest_with_shared_load():
    """The first measurement is the start at rest, each arm carrying its share."""
    first = plant().reset()
    assert (first.tick, first.time) == (0, 0.0)
    assert_allclose(first.q, CELL.start[CELL.system.q_index])
    assert_allclose(first.qd, 0.0)
    up = [0.0, 0.0, 1.0]
    for arm, wrench in zip(CELL.system.arms, first.wrenches, strict=True):
        tool = world_poses(CELL.system.model, CELL.start)[arm.tool]
        assert_allclose(up @ (tool[:3, :3] @ wrench[3:]), 0.5 * 5.0 * 9.81, rtol=1e-10)


def test_held_up_it_stays():
    """Under the supporting torque nothing moves, and wrenches do not change."""
    torque, wrenches = support()
    simulated = plant()
    for _ in range(20):
        measured = simulated.step(torque)
    assert_allclose(measured.q, CELL.start[CELL.system.q_index], atol=1e-10)
    assert_allclose(measured.wrenches.ravel(), wrenches, atol=1e-8)
    truth = simulated.truth()
    assert_allclose(truth.internal_force, 0.0, atol=1e-8)
    assert_allclose(truth.object_pose, CELL.start[CELL.system.object_q], atol=1e-10)
    assert_allclose(truth.torque, torque)


def test_a_push_of_both_arms_squeezes():
    """Torque of an internal force shows as that internal force, and moves nothing."""
    torque, _ = support()
    _, _, K, _, _, _ = Robot(CELL.system.model).constraint_terms(CELL.start, np.zeros(20))
    maps = transmitted_force_map(CELL.system.grasps, (0.5, 0.5))
    force = np.array([0.0, 0.0, 0.0, 40.0, 0.0, 0.0])
    more = -(K.T @ (maps.internal @ force))[CELL.system.v_index]
    simulated = plant()
    for _ in range(5):
        simulated.step(torque + more)
    assert_allclose(simulated.truth().internal_force, force, atol=1e-8)
    # Both push towards each other: each wrench has 40 N along the line, inwards.
    assert_allclose(simulated.truth().object_pose, CELL.start[CELL.system.object_q], atol=1e-10)


def test_two_runs_are_bit_identical():
    """The hash over all states is the same in a second run and after a reset, noise or not."""
    settings = replace(FREE, sensors=SensorSettings(1e-4, 1e-3, 0.1, 0.01), seed=4)
    one, two = plant(settings), plant(settings)
    rng = np.random.default_rng(0)
    torques = 10 * rng.normal(size=(30, 14))
    measured = [[p.step(t).q for t in torques] for p in (one, two)]
    assert np.array_equal(*measured)
    first = one.state_hash()
    assert first == two.state_hash()
    one.reset()
    again = [one.step(t).q for t in torques]
    assert one.state_hash() == first
    assert np.array_equal(again, measured[0])
    one.step(np.zeros(14))
    assert one.state_hash() != first


def test_loops_stay_closed_while_it_moves():
    """Under wild torques closure stays below a nanometre; the correction is small beside it."""
    simulated = plant(replace(FREE, step_s=0.001))
    rng = np.random.default_rng(1)
    torque, _ = support()
    for push in 20 * rng.normal(size=(60, 14)):
        simulated.step(torque + push)
        truth = simulated.truth()
        assert truth.closure_position < 1e-9
        assert truth.closure_rotation < 1e-9
    assert 0.0 < truth.correction < 1e-5


def test_commands_act_after_their_delay():
    """Until the first command acts the brakes hold; then each acts one period late."""
    late, prompt = plant(replace(FREE, command_delay_periods=1)), plant()
    torques = np.random.default_rng(2).normal(size=(6, 14))
    start = late.reset()
    first = late.step(torques[0])
    assert np.array_equal(first.q, start.q)
    assert first.tick == 1
    for earlier, torque in itertools.pairwise(torques):
        assert np.array_equal(late.step(torque).q, prompt.step(earlier).q)


def test_substeps_refine_the_same_motion():
    """Several steps a period end where one does, to the integrator's error."""
    ends = [plant(replace(FREE, step_s=h)) for h in (0.002, 0.001, 0.0005)]
    torque, _ = support()
    for simulated in ends:
        for _ in range(30):
            q = simulated.step(torque + 3.0).q
    coarse, middle, fine = (p.truth().object_pose for p in ends)
    assert q.shape == (14,)
    assert np.max(np.abs(coarse - fine)) < 1e-7
    assert np.max(np.abs(middle - fine)) < 0.2 * np.max(np.abs(coarse - fine))


def test_limits_cut_the_torque():
    """Drives stop at the effort limits of the description, unless told not to."""
    model = CELL.system.model
    bodies = tuple(
        replace(body, joint=replace(body.joint, limits=replace(body.joint.limits, effort=3.0)))
        for body in model.bodies
    )
    weak = replace(CELL.system, model=replace(model, bodies=bodies))
    limited, free = plant(system=weak), plant(replace(FREE, torque_limit=False), weak)
    for simulated in (limited, free):
        simulated.step(np.full(14, 50.0))
    assert_allclose(limited.truth().torque, 3.0)
    assert_allclose(free.truth().torque, 50.0)
    assert limited.state_hash() != free.state_hash()


def test_friction_is_that_of_the_description():
    """Scales multiply damping and friction of the joints."""
    drives = drives_of(CELL.system, replace(FREE, damping_scale=2.0, friction_scale=0.5))
    assert_allclose(drives.damping, 0.4)
    assert_allclose(drives.friction, 0.05)
    assert_allclose(drives.v_index, CELL.system.v_index)


def test_a_step_too_long_for_the_friction_is_refused():
    """Friction that the explicit scheme cannot follow is said so, with a step that can."""
    with pytest.raises(ArgumentError, match="expected at most"):
        plant(replace(FREE, friction_scale=1.0, friction_velocity=1e-6, step_s=PERIOD))


def test_a_step_too_long_for_a_spring_is_refused():
    """A spring that would shake a joint faster than steps follow is refused with a step that does,
    and that one is followed: at rest on its spring the arm stays where it is held.
    """
    model = CELL.system.model
    at = model.joint_index(CELL.system.joint_names[3])
    bodies = list(model.bodies)
    rest = float(CELL.start[model.q_slices[at].start])
    bodies[at] = replace(bodies[at], joint=replace(bodies[at].joint, stiffness=1e7, rest=rest))
    stiff = replace(CELL.system, model=replace(model, bodies=tuple(bodies)))
    with pytest.raises(ArgumentError, match=r"springs .* expected at most") as refused:
        plant(replace(FREE, step_s=PERIOD), stiff)
    longest = float(str(refused.value).rpartition("at most ")[2].removesuffix(" s."))
    steps = np.ceil(PERIOD / longest)
    simulated = plant(replace(FREE, step_s=PERIOD / steps), stiff)
    torque, _ = support()
    for _ in range(20):
        measured = simulated.step(torque)
    assert_allclose(measured.q, CELL.start[CELL.system.q_index], atol=1e-9)


@pytest.mark.parametrize(
    ("torque", "message"),
    [(np.zeros(13), "expected \\(14,\\)"), (np.full(14, np.nan), "finite"), (np.inf, "shape")],
)
def test_torques_that_are_none_are_refused(torque, message):
    """Wrong length or not finite: an error, and the state stays."""
    simulated = plant()
    with pytest.raises(ArgumentError, match=message):
        simulated.step(torque)
    assert np.array_equal(simulated.step(np.zeros(14)).q, plant().step(np.zeros(14)).q)


def test_commands_are_copied():
    """With a delay the command acts later: who gave it may change it afterwards."""
    results = []
    for changed in (1.0, 7.0):
        simulated, given = plant(replace(FREE, command_delay_periods=1)), np.ones(14)
        simulated.step(given)
        given[:] = changed
        results.append(simulated.step(np.zeros(14)).qd)
    assert np.array_equal(*results)
    assert results[0].any()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_motion_without_bound_is_an_error():
    """A torque that throws the arms out of all bounds ends with a sentence, not with nan."""
    simulated = plant(replace(FREE, torque_limit=False))

    def throw():
        for _ in range(200):
            assert np.isfinite(simulated.step(np.full(14, 1e7)).q).all()

    with pytest.raises(SimulationError, match="grew without bound before"):
        throw()


def test_it_goes_on_through_a_singularity():
    """With both arms' constraints dependent the slow step takes over, and stays finite."""
    model = CELL.system.model
    twice = replace(
        CELL.system, model=replace(model, loops=(*model.loops, replace(model.loops[0], name="w")))
    )
    torque, _ = support()
    simulated = ScenePlant(Scene(twice), CELL.start, PERIOD, FREE)
    other = plant()
    for _ in range(3):
        redundant, regular = simulated.step(torque + 2.0), other.step(torque + 2.0)
    assert_allclose(redundant.q, regular.q, atol=1e-9)


def test_a_heavier_object_is_heavier():
    """The plant's payload may differ from the controller's; the machine code is shared."""
    heavy = CELL.system.with_object(mass=10.0)
    assert heavy.model.structure_key == CELL.system.model.structure_key
    torque, _ = support()
    simulated = plant(system=heavy)
    for _ in range(10):
        simulated.step(torque)
    twist = simulated.truth().object_twist
    assert twist[5] < -1e-3  # sinks
