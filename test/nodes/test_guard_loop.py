# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose controller has died, on drives that hold the last torque, in simulated time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock, stamp_of
from robot_dynamics.control.faults import State
from robot_dynamics.errors import RobotDynamicsError

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.nodes.conversions import JointSample
from robot_dynamics.nodes.drives import believed_positions
from robot_dynamics.nodes.guard import Guard
from robot_dynamics.nodes.guard_loop import GuardLoop

SCENARIO, TRAY = load_scenario("lift_box"), load_scenario("tray")
PERIOD = SCENARIO.control.period  # of both
WATCHED = 50  # periods of the default heartbeat timeout, 0.1 s


class Cell:
    """A plant that holds the last torque for ever, its controller, and a guard."""

    def __init__(self, scenario=SCENARIO):
        self.pilot = control_loop(scenario)
        self.guard = GuardLoop(scenario, LockstepClock(PERIOD))
        self.plant = make_plant(scenario, true_system(scenario, self.pilot.system))
        self.seen = self.plant.reset()
        self.pilot.check(self.seen.q, self.seen.qd)
        self.pilot.start_at(0, 0, self.seen.q, self.seen.qd, self.seen.wrenches)
        self.torque = np.zeros(14)
        self.speed = self.closure = 0.0

    def step(self, torque=None):
        """Move on by one period; the guard sees everything that goes over topics."""
        if torque is not None:
            self.torque = torque
            arms = zip(self.guard.system.arms, self.guard.system.arm_slices, strict=True)
            for arm, own in arms:
                self.guard.take_command(arm.name, torque[own])
        self.seen = self.plant.step(self.torque)
        seen, tick = self.seen, self.seen.tick
        names = list(self.guard.system.joint_names)
        self.guard.joint_states.take("joint_states", tick, names, seen.q, seen.qd, tick)
        truth = self.plant.truth()
        self.speed = max(self.speed, float(np.abs(seen.qd).max()))
        self.closure = max(self.closure, truth.closure_position, truth.closure_rotation)

    def control(self, ticks):
        """Run the controller for some periods."""
        for _ in range(ticks):
            seen = self.seen
            torque = self.pilot.update(seen.tick, seen.tick, seen.q, seen.qd, seen.wrenches).torque
            self.step(torque)

    def watch(self, ticks):
        """Run the guard for some periods; return the torques (ticks, 14)."""
        sent = []
        for _ in range(ticks):
            sent.append(self.guard.cycle(self.seen.tick))
            self.step(sent[-1])
        return np.array(sent)


@pytest.fixture
def cell():
    """Return a cell whose controller dies while it lifts, at full speed."""
    cell = Cell()
    cell.control(900)  # the reference is at its fastest, 1.4 s after the ramp
    return cell


def test_a_linkage_that_stays_open_does_not_prevent_a_takeover(monkeypatch):
    """False positions at this instant: the guard takes charge, from the last commands."""

    def stay_open(*_):
        raise RobotDynamicsError("internal closed chains stay open.")

    cell = Cell()
    cell.control(2)
    monkeypatch.setattr(cell.guard, "_support", stay_open)
    cell.guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    np.testing.assert_array_equal(cell.guard.safety.last, cell.torque)
    assert np.isfinite(cell.watch(2)).all()


def test_a_dead_controller_costs_no_more_than_a_sag(cell):
    """Torques finite, within limits and rate, the grasp kept, the motion damped out.

    The last torque acts for the whole heartbeat timeout; the motion meanwhile is the price
    of the timeout. After it speed falls: the fallback damps at 20 1/s.
    """
    moving = float(np.abs(cell.seen.qd).max())
    assert moving > 0.1  # rad/s: something could run away
    start = cell.plant.truth().object_pose[:3].copy()
    for _ in range(WATCHED):
        cell.step()
    before = float(np.abs(cell.seen.qd).max())
    cell.guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    last = cell.torque
    cell.speed = 0.0
    sent = cell.watch(1000)
    limits = cell.guard.system.limits["effort"]
    assert np.isfinite(sent).all()
    assert (np.abs(sent) <= limits).all()
    largest = SCENARIO.safety.torque_rate * PERIOD
    changes = np.abs(np.diff(np.vstack([last, sent]), axis=0))
    assert (changes <= largest * (1 + 1e-12)).all()
    assert cell.speed <= 1.5 * before  # nothing runs away
    assert float(np.abs(cell.seen.qd).max()) < 1e-3  # two seconds later
    assert cell.closure < SCENARIO.safety.closure_warning_m
    moved = np.linalg.norm(cell.plant.truth().object_pose[:3] - start)
    print(
        f"speed {moving:.3g}, at the takeover {before:.3g}, largest after {cell.speed:.3g}, "
        f"in the end {np.abs(cell.seen.qd).max():.2g} rad/s; the object went {moved:.3g} m"
    )
    assert moved < 0.2
    assert cell.guard.safety.state is State.FALLBACK


@pytest.mark.parametrize("ticks", [20, 300, 900])
def test_an_object_held_by_friction_stays(ticks):
    """The model of the guard knows no squeeze; the last torque has it. At rest and in motion."""
    cell = Cell(TRAY)
    cell.control(ticks)
    for _ in range(WATCHED):
        cell.step()
    start = cell.plant.truth().object_pose[:3].copy()
    cell.guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    cell.watch(300)
    moved = np.linalg.norm(cell.plant.truth().object_pose[:3] - start)
    assert moved < 2e-3  # 1.1 mm; without squeeze it falls by 1.7 m
    wrenches = cell.seen.wrenches[:, 5]
    np.testing.assert_allclose(wrenches, cell.pilot.law.reference.rows([0.0])[0, 19], rtol=0.05)


def test_without_a_guard_they_run_away(cell):
    """The same drives under the last torque for the same time: the hazard is real."""
    cell.speed = 0.0
    for _ in range(600):
        cell.step()
        if cell.speed > 3.0:
            break
    assert cell.speed > 3.0


def test_at_rest_the_guard_commands_the_controllers_torque(cell):
    """Two models, one answer: a handover makes no step."""
    cell.guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    sent = cell.watch(2500)
    # Five seconds at 1.6 1/s, the slowest pole of the hold, leave 3e-4 of the motion. What stays
    # is an internal force: joints of a closed chain do not move by it, so no integral ends it.
    support = cell.pilot.law.hold_support(cell.seen.q)
    assert np.abs(sent[-1] - support).max() < 5e-3
    cell.guard.release()
    assert cell.guard.cycle(cell.seen.tick) is None


@pytest.mark.parametrize("braking", [(), ("left", "right")], ids=["hold", "brake"])
def test_states_that_end_as_well(cell, braking):
    """Drives that brake hold the arms then, others get support torque on; and a way back."""
    cell.guard.safety.fallback.note_drives(np.zeros_like, braking)
    cell.guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    cell.watch(5)
    tick = cell.seen.tick
    end = tick + SCENARIO.safety.stale_after_periods
    end += round(SCENARIO.safety.lost_arm_end_after_s / PERIOD) + 1
    sent = [cell.guard.cycle(now) for now in range(tick, end + 2)]
    assert np.isfinite(sent).all()
    assert cell.guard.safety.released == braking
    with pytest.raises(Exception, match="no new sample"):
        cell.guard.reset(end + 2)
    cell.step()
    names = list(cell.guard.system.joint_names)
    cell.guard.joint_states.take("joint_states", 3, names, cell.seen.q, cell.seen.qd, end + 3)
    cell.guard.joint_states.take("joint_states", 4, names, cell.seen.q, cell.seen.qd, end + 4)
    cell.guard.reset(end + 4)
    assert cell.guard.safety.released == ()
    assert np.isfinite(cell.guard.cycle(end + 4)).all()


def test_a_bad_sample_is_not_used(cell):
    """NaN and unknown joints lose the arm, in charge or not, and never reach a torque."""
    names = list(cell.guard.system.joint_names)
    tick = cell.seen.tick
    q = cell.seen.q.copy()
    q[0] = np.nan
    cell.guard.joint_states.take("joint_states", tick + 1, names, q, cell.seen.qd, tick + 1)
    assert "left: position of joint 'left_joint1' is nan" in cell.guard.joint_states.complaint
    cell.guard.take_command("left", np.full(7, np.inf))
    cell.guard.take_over(tick, "no heartbeat.", held=False)
    assert np.isfinite(cell.watch(10)).all()


def test_drives_add_gravity_at_the_last_good_positions(cell):
    """A command less the gravity torque of false positions would be as wrong as these are."""
    guard = cell.guard
    guard.take_over(cell.seen.tick, "no heartbeat.", held=True)
    cell.watch(2)
    q, tick = cell.seen.q.copy(), cell.seen.tick + 1
    names, degrees = list(guard.system.joint_names), np.degrees(q)
    guard.joint_states.take("joint_states", tick, names, degrees, cell.seen.qd, tick)
    np.testing.assert_array_equal(guard.joint_states.state()[0], degrees)
    guard.cycle(tick)
    believed = believed_positions(guard.safety, guard.joint_states)
    np.testing.assert_allclose(believed, q, atol=1e-3)
    guard.release()
    np.testing.assert_array_equal(
        believed_positions(guard.safety, guard.joint_states), guard.joint_states.state()[0]
    )


def test_it_is_able_when_every_arm_has_been_heard_of():
    """Before that there is no position to hold an arm up at."""
    guard = GuardLoop(SCENARIO, LockstepClock(PERIOD))
    assert not guard.joint_states.all_heard
    names = list(guard.system.joint_names)
    q = guard.system.posture
    guard.joint_states.take("joint_states", 0, names[:7], q[:7], 0 * q[:7], 0)
    assert not guard.joint_states.all_heard
    guard.joint_states.take("joint_states", 0, names[7:], q[7:], 0 * q[7:], 0)
    assert guard.joint_states.all_heard
    assert guard.cycle(0) is None


@pytest.mark.parametrize("state", [State.INACTIVE, State.FALLBACK])
def test_commands_of_the_guard_are_numbered_by_samples_of_arms(state):
    """A gripper on their topic can have a clock that is ahead."""
    guard, clock, newer = object.__new__(Guard), WallClock(0.002), [True]
    arms = SimpleNamespace(take=lambda *_: newer[0])
    guard._clock, guard._period = clock, clock.period
    guard._loop = SimpleNamespace(safety=SimpleNamespace(state=state), joint_states=arms)
    nothing = np.zeros(0)

    def hear(tick):
        stamp = stamp_of(tick, clock.period)
        guard._on_joints("joint_states", JointSample(stamp, [], nothing, nothing, nothing))

    hear(7)
    assert clock.tick == 7
    newer[0] = False
    hear(1_000_007)
    assert clock.tick == 7
    newer[0] = True
    hear(8)
    assert clock.tick == 8
    hear(5)  # after a reset of the simulator
    assert clock.tick == (5 if state is State.INACTIVE else 8)
