# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The coordinated controller: its start, its memory, its look ahead, and its errors in a loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import two_arms

from robot_dynamics.control.coordinated import (
    CoordinatedController,
    grasp_map,
)
from robot_dynamics.control.gains import servo_gains
from robot_dynamics.control.reference import plan_reference
from robot_dynamics.control.settings import (
    ControlSettings,
    ForceServoSettings,
    ForceStepSettings,
    FrictionSettings,
    ReferenceSettings,
    SafetySettings,
    SegmentSettings,
    StartSettings,
)
from robot_dynamics.manipulation.grasp_map import orthonormal_map, transmitted_force_map
from robot_dynamics.robot import Robot

CELL = two_arms()
SYSTEM = CELL.system
Q, REST = CELL.start[SYSTEM.q_index], np.zeros(14)
SETTINGS = ControlSettings(
    start=StartSettings(ramp_s=0.02),
    command_delay_periods=0,
    friction=FrictionSettings(share=0.0),
)
SAFETY = SafetySettings(torque_rate=1e9)


def reference(move=(0.0, 0.0, 0.05), duration=0.2, squeeze=20.0):
    settings = ReferenceSettings(
        segments=(SegmentSettings(duration_s=duration, move=move),),
        force=(ForceStepSettings(time_s=0.0, squeeze_n=squeeze, duration_s=0.1),),
    )
    return plan_reference(settings, CELL.start[SYSTEM.object_q])


def controller(settings=SETTINGS, safety=SAFETY, system=SYSTEM, path=None):
    return CoordinatedController(system, settings, safety, path or reference())


def test_it_starts_with_support_alone():
    """Start and first update send what holds arms and object up, whatever the reference."""
    control = controller()
    seen = control.start(Q, REST)
    first = control.update(0, Q, REST)
    assert_allclose(first.torque, seen.support, atol=1e-12)
    assert_allclose(first.torque, control.hold_support(Q), atol=1e-12)
    C = Robot(SYSTEM.model).bias_forces(CELL.start, np.zeros(20))
    _, _, K, *_ = Robot(SYSTEM.model).constraint_terms(CELL.start, np.zeros(20))
    wrenches = control.grasp_map.distribution @ C[SYSTEM.object_v]
    assert_allclose(first.torque, (C - K.T @ wrenches)[SYSTEM.v_index], atol=1e-9)


def test_the_posture_is_that_of_the_start():
    """Arms stay near where they are at the start: no pull at rest there."""
    off = replace(SYSTEM, arms=tuple(replace(a, posture=a.posture + 0.3) for a in SYSTEM.arms))
    near, far = controller(), controller(system=off)
    for control in (near, far):
        control.start(Q, REST)
    torques = [control.update(20, Q, REST).torque for control in (near, far)]
    assert_allclose(*torques, atol=1e-9)


def test_the_task_ramps_in():
    """Over the ramp the task's part grows in proportion to time; the reference waits."""
    control = controller(path=reference(squeeze=50.0))
    control.start(Q, REST)
    support = control.hold_support(Q)
    low = Q + 0.01 * np.cos(np.arange(14))
    seen = [controller_step(control, tick, low) - control.hold_support(low) for tick in (1, 5, 10)]
    assert support.shape == (14,)
    assert_allclose(seen[1], 5 * seen[0], atol=1e-9)
    assert_allclose(seen[2], 10 * seen[0], atol=1e-9)


def controller_step(control, tick, q):
    """Return the torque of a tick without its memory of the others."""
    memory = control._memory.copy()
    torque = control.update(tick, q, REST).torque
    control._memory = memory
    return torque


def test_ticks_cover_ramp_and_reference():
    """The run ends with the reference's end, after which its last row stays."""
    control = controller()
    assert control.ticks == 10 + 100
    last = control.update(control.ticks, Q, REST).reference
    assert_allclose(last[:3], [0.5, 0.1, 0.6 + 0.05])
    assert np.array_equal(control.update(10**6, Q, REST).reference, last)
    assert np.array_equal(control.update(0, Q, REST).reference[:7], control.reference.row(0.0)[:7])


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_it_looks_ahead_by_the_delay(delay):
    """Where to be is of now; accelerations and forces are of when the command acts."""
    control = controller(replace(SETTINGS, command_delay_periods=delay))
    control.start(Q, REST)
    row = control.update(10 + 30, Q, REST).reference
    now, later = control.reference.rows([30 * 0.002, (30 + delay + 0.5) * 0.002])
    assert_allclose(row[:13], now[:13])
    assert_allclose(row[13:], later[13:])


def test_memory_is_carried_and_forgotten():
    """Errors accumulate from step to step; a new start forgets them."""
    control = controller()
    control.start(Q, REST)
    off = Q + 0.001
    steps = [control.update(tick, off, REST) for tick in range(11, 16)]
    step = steps[-1]
    assert_allclose(step.memory[:6], 0.002 * sum(s.error for s in steps), atol=1e-15)
    assert np.max(np.abs(step.memory[:6])) > 1e-6
    again = control.start(Q, REST)
    assert_allclose(again.memory[:12], 0.0)


def test_without_wrist_sensors_no_force_is_learned():
    """Without measured wrenches the internal force is fed forward, its integral stays zero."""
    control = controller()
    control.start(Q, REST)
    for tick in range(11, 60):
        step = control.update(tick, Q, REST)
    assert_allclose(step.memory[6:12], 0.0)
    measured = control.update(60, Q, REST, np.zeros((2, 6)))
    assert np.max(np.abs(measured.memory[6:12])) > 0.0


def test_settings_reach_the_law():
    """Gains are those of the poles, limits those of the safety settings, friction as asked."""
    settings = replace(
        SETTINGS,
        internal_force=ForceServoSettings(bandwidth=12.0),
        friction=FrictionSettings(share=0.25),
    )
    control = controller(settings, SafetySettings(torque_rate=300.0, effort_fraction=0.5))
    gains, servo = control.gains, servo_gains(settings.object)
    assert (gains.proportional, gains.derivative, gains.integral) == (
        servo.proportional, servo.derivative, servo.integral,
    )  # fmt: skip
    assert (gains.force_integral, gains.torque_rate, gains.period) == (12.0, 300.0, 0.002)
    assert gains.friction_share == 0.25
    assert_allclose(gains.effort, 0.5 * SYSTEM.limits["effort"])


@pytest.mark.parametrize("basis", ["transmitted", "orthonormal"])
def test_the_basis_is_the_one_asked_for(basis):
    """The internal force is in the frame between the grasps, or in the paper's basis."""
    settings = replace(SETTINGS, internal_force=ForceServoSettings(basis=basis))
    maps = grasp_map(SYSTEM, settings)
    expected = (
        transmitted_force_map(SYSTEM.grasps, (0.5, 0.5))
        if basis == "transmitted"
        else orthonormal_map(SYSTEM.grasps)
    )
    assert_allclose(maps.internal, expected.internal)


def test_errors_in_the_loop_are_those_of_sampling():
    """With a perfect plant the object's error falls with the control period."""
    worst = []
    for rate in (500.0, 1000.0):
        settings = replace(SETTINGS, rate_hz=rate)
        control = controller(settings)
        worst.append(follow(control))
    assert worst[0] < 1e-4
    assert worst[1] < 0.6 * worst[0]


def follow(control):
    """Return the largest position error [m] of a run with torques held over each period."""
    robot = Robot(SYSTEM.model)
    q, qd = CELL.start.copy(), np.zeros(20)
    control.start(Q, REST)
    worst, h = 0.0, control.period / 2
    for tick in range(control.ticks):
        step = control.update(tick, q[SYSTEM.q_index], qd[SYSTEM.v_index])
        worst = max(worst, np.max(np.abs(step.error[3:])))
        tau = np.zeros(20)
        tau[SYSTEM.v_index] = step.torque
        for _ in range(2):  # two midpoint steps a period
            a = robot.forward_dynamics(q, qd, tau)
            rate = np.array(SYSTEM.model.position_rate(q.tolist(), qd.tolist()))
            q_half, v_half = q + 0.5 * h * rate, qd + 0.5 * h * a
            rate = np.array(SYSTEM.model.position_rate(q_half.tolist(), v_half.tolist()))
            a = robot.forward_dynamics(q_half, v_half, tau)
            q = np.array(SYSTEM.model.normalized((q + h * rate).tolist()))
            qd = qd + h * a
    return worst
