# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plants of any engine: control periods, drives, delay, sensors, and the engines' interface."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.contact.contact_engine import ContactEngine
from robot_dynamics.simulation.contact.robot_contact_engine import RobotContactEngine
from robot_dynamics.simulation.drives import drives_of
from robot_dynamics.simulation.engine import Engine, SceneEngine, Truth
from robot_dynamics.simulation.faults import Faults, FaultSettings, fault_of
from robot_dynamics.simulation.mujoco_engine import MujocoEngine
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.robot_engine import RobotEngine
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.sensors import Measurement, Sensors
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings
from test.two_arms import two_arms

ENGINES = (RigidEngine, ContactEngine, MujocoEngine, RobotEngine, RobotContactEngine)


@pytest.mark.parametrize("kind", ENGINES)
def test_engines_share_one_interface(kind):
    """Each engine has the methods of its interface, with the same parameters."""
    interface = SceneEngine if issubclass(kind, SceneEngine) else Engine
    names = sorted(interface.__abstractmethods__)
    shared = ["begin", "restore", "run", "save", "sensed"]
    scene = ["passive_joints", "state", "truth"] if interface is SceneEngine else []
    assert names == sorted(shared + scene)
    for name in names:
        ours, theirs = (inspect.signature(getattr(cls, name)) for cls in (kind, interface))
        assert list(ours.parameters) == list(theirs.parameters)


def test_a_controller_gets_measurements_only():
    """Measurements contain nothing of the object's true state."""
    assert Measurement._fields == ("tick", "time", "q", "qd", "wrenches")
    assert not set(Measurement._fields) & set(Truth._fields)


SYSTEM = two_arms()
NA = len(SYSTEM.joint_names)


class Counting(SceneEngine):
    """An engine whose positions are the number of times it was run."""

    substeps = 1

    def __init__(self, scene, start, period, settings):
        self.runs = []

    def begin(self):
        self.runs.clear()

    def run(self, time, torque, wrenches=None):
        self.runs.append(torque)

    def state(self):
        return np.array([float(len(self.runs))]), np.zeros(0)

    def sensed(self):
        return np.full(NA, float(len(self.runs))), np.zeros(NA), np.zeros((2, 6))

    def save(self):
        raise NotImplementedError

    def restore(self, saved):
        raise NotImplementedError

    def passive_joints(self):
        raise NotImplementedError

    def truth(self, torque):
        raise NotImplementedError


def counting(**settings):
    """Return a plant of two arms that counts its control periods."""
    start, settings = SYSTEM.model.neutral(), PlantSettings(**settings)
    return ScenePlant(Scene(SYSTEM), start, 0.002, settings, Counting)


def test_brakes_hold_until_the_first_command_acts():
    """With two periods of delay the engine stands still for two, then gets the first torque."""
    plant = counting(command_delay_periods=2)
    seen = [plant.step(np.full(NA, float(tick))).q[0] for tick in range(4)]
    assert seen == [0.0, 0.0, 1.0, 2.0]
    assert_array_equal(plant.engine.runs, [np.zeros(NA), np.ones(NA)])


def test_torques_are_limited_by_the_drives():
    """The engine never gets more than the effort limits; without limits it gets the command."""
    plant = counting(command_delay_periods=0)
    plant.step(np.full(NA, -1e9))
    assert_array_equal(plant.engine.runs[0], -SYSTEM.limits["effort"])
    free = counting(command_delay_periods=0, torque_limit=False)
    free.step(np.full(NA, -1e6))
    assert_array_equal(free.engine.runs[0], np.full(NA, -1e6))


def test_time_and_hash_follow_the_periods():
    """Time is a tick times the period; a reset begins ticks, states and their hash anew."""
    plant = counting()
    hashes = []
    for _ in range(2):
        assert plant.reset().tick == 0
        seen = [plant.step(np.zeros(NA)) for _ in range(3)]
        assert [m.time for m in seen] == [0.002, 0.004, 0.006]
        hashes.append(plant.state_hash())
    assert hashes[0] == hashes[1]
    plant.step(np.zeros(NA))
    assert plant.state_hash() != hashes[0]


@pytest.mark.parametrize("torque", [np.full(NA, np.inf), np.zeros(NA - 1)])
def test_torques_that_are_none_are_refused(torque):
    """Before anything moves."""
    plant = counting()
    with pytest.raises(ArgumentError):
        plant.step(torque)
    assert plant.engine.runs == []


def test_drives_drop_out_of_torque_mode():
    """One arm gets no torque while it lasts; measurements go wrong in the same period."""
    faults = (
        FaultSettings("drive_gain", 0.002, "right", 0.004, value=0.0),
        FaultSettings("position_nan", 0.004, "left", 0.002),
    )
    plant = counting(command_delay_periods=0, faults=faults)
    left, right = SYSTEM.arm_slices
    for _ in range(2):
        seen = [plant.step(np.ones(NA)) for _ in range(4)]
        torques = np.array(plant.engine.runs)
        assert (torques[:, left] == 1.0).all()
        assert torques[:, right.start].tolist() == [1.0, 0.0, 0.0, 1.0]
        assert [bool(np.isnan(m.q[left.start])) for m in seen] == [False, True, False, False]
        plant.reset()


def test_drives_that_give_too_much_stay_within_their_limits():
    """The torque that acts is the one that is recorded, with every engine."""
    faults = (FaultSettings("drive_gain", value=1.5), FaultSettings("drive_gain", value=-1.0))
    plant, limits = counting(command_delay_periods=0, faults=faults), SYSTEM.limits["effort"]
    for share, acts in ((0.6, -0.9), (0.8, -1.0), (2.0, -1.0)):
        plant.step(share * limits)
        assert_allclose(plant.engine.runs[-1], acts * limits)


def test_an_engine_without_stuck_joints_refuses_them():
    """One of the user's own need not have them."""
    with pytest.raises(ArgumentError, match="which Counting does not simulate"):
        counting(faults=(FaultSettings("joint_stuck"),))


def test_friction_scales():
    """The drives have the friction of the descriptions, scaled."""
    plain = drives_of(SYSTEM, PlantSettings())
    half = drives_of(SYSTEM, PlantSettings(friction_scale=0.5, damping_scale=0.25))
    assert_array_equal(half.friction, 0.5 * plain.friction)
    assert_array_equal(half.damping, 0.25 * plain.damping)


TRUE = Measurement(3, 0.006, np.arange(7.0), np.ones(7), np.full((2, 6), 5.0))
ARMS = {"left": slice(0, 3), "right": slice(3, 7)}
NOISY = SensorSettings(position=1e-4, velocity=2e-3, force=0.5, moment=0.02)


def sensors_of(settings, seed=0, faults=None):
    """Return the sensors of two arms with three and four joints."""
    return Sensors(settings, seed, ARMS, faults or Faults(ARMS, (), 0.002))


def run(sensors, ticks=8):
    """Return measured positions and wrenches that are the tick everywhere."""
    return [
        sensors.measure(
            Measurement(
                n, 0.002 * n, np.full(7, n + 0.26), np.full(7, -float(n)), np.full((2, 6), n)
            )
        )
        for n in range(ticks)
    ]


def test_silent_sensors_tell_the_truth():
    """Without noise the measurement is the true one itself."""
    assert sensors_of(SensorSettings(), 0).measure(TRUE) is TRUE


def test_noise_has_the_stated_deviation():
    """Each quantity has its own standard deviation and no bias."""
    sensors = sensors_of(NOISY, 1)
    samples = [sensors.measure(TRUE) for _ in range(2000)]
    for name, true, deviation in (("q", TRUE.q, 1e-4), ("qd", TRUE.qd, 2e-3)):
        noise = np.array([getattr(sample, name) for sample in samples]) - true
        # 14000 samples: the deviation is known to 0.6 %, the mean to 0.8 % of it.
        assert_allclose(noise.std(), deviation, rtol=0.03)
        assert abs(noise.mean()) < 0.04 * deviation
    wrenches = np.array([sample.wrenches for sample in samples]) - TRUE.wrenches
    assert_allclose(wrenches[..., :3].std(), 0.02, rtol=0.03)
    assert_allclose(wrenches[..., 3:].std(), 0.5, rtol=0.03)


def test_time_is_not_noisy():
    """Tick and time pass as they are, and the true arrays are not written to."""
    before = TRUE.q.copy()
    measured = sensors_of(NOISY, 1).measure(TRUE)
    assert (measured.tick, measured.time) == (3, 0.006)
    assert (TRUE.q == before).all()


def test_noise_is_the_same_again():
    """A reset begins the noise anew; another seed makes another."""
    sensors = sensors_of(NOISY, 1)
    first = [sensors.measure(TRUE).q for _ in range(3)]
    sensors.reset()
    again = [sensors.measure(TRUE).q for _ in range(3)]
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(sensors_of(NOISY, 2).measure(TRUE).q, first[0])


def test_encoders_round_to_their_step():
    """Positions are multiples of the step, at most half a step off; noise is rounded as well."""
    q = np.array([seen.q for seen in run(sensors_of(SensorSettings(encoder_step=0.1)))])
    assert_allclose(q[:, 0], np.arange(8) + 0.3, rtol=1e-15)
    noisy = sensors_of(SensorSettings(encoder_step=1e-3, position=1e-2)).measure(TRUE).q
    assert_allclose(noisy / 1e-3, np.round(noisy / 1e-3), atol=1e-9)
    assert np.abs(noisy - TRUE.q).max() > 1e-3


def test_wrist_sensors_are_late_and_biased():
    """Readings are some periods old, the first for want of older ones, plus the bias."""
    settings = SensorSettings(
        wrench_delay_periods=3, force_bias=(1.0, 2.0, 3.0), moment_bias=(0.1, 0.2, 0.3)
    )
    sensors = sensors_of(settings)
    for _ in range(2):
        wrenches = np.array([seen.wrenches for seen in run(sensors)])
        late = np.array([0, 0, 0, 0, 1, 2, 3, 4])[:, None, None]
        assert_allclose(wrenches - late, np.broadcast_to([0.1, 0.2, 0.3, 1, 2, 3], (8, 2, 6)))
        sensors.reset()


def test_wrist_sensors_are_scaled_and_drift():
    """Each arm's by its own scale, before bias and drift."""
    settings = SensorSettings(
        wrench_scale={"right": -0.5}, force_bias=(1.0, 0.0, 0.0), force_drift=(0.0, 0.0, 50.0)
    )
    found = run(sensors_of(settings))
    for tick, seen in enumerate(found):
        assert_allclose(seen.wrenches[0], [tick] * 3 + [tick + 1, tick, tick + 50 * seen.time])
        half = -0.5 * tick
        assert_allclose(seen.wrenches[1], [half] * 3 + [half + 1, half, half + 50 * seen.time])
    assert found[-1].time > 0.0


def test_a_sensor_is_tared_and_inverted_while_a_fault_lasts():
    """The reading at the onset is subtracted; the other arm's stays as it is."""
    faults = Faults(ARMS, (), 0.002)
    sensors = sensors_of(SensorSettings(), 0, faults)

    def seen(tick):
        return sensors.measure(TRUE._replace(wrenches=TRUE.wrenches + tick)).wrenches

    faults.switch([fault_of("wrench_tared right 0.004")])
    for tick, expected in enumerate((0, 0, 1, 3)):
        faults.move(tick)
        own, other = seen(tick)[::-1]
        assert_allclose(own, np.full(6, expected) + (0 if 0 < tick < 3 else TRUE.wrenches[1]))
        assert_allclose(other, TRUE.wrenches[0] + tick)
    faults.switch([fault_of("wrench_scale=-1 left 0.002")])
    faults.move(4)
    assert_allclose(seen(1), [-TRUE.wrenches[0] - 1, TRUE.wrenches[1] + 1])


def test_measurements_are_scaled_and_late_by_plan():
    """Of one joint, of one arm, by as many periods; sign, unit and zero are scales."""
    joints = [f"{arm}_{i}" for arm, n in (("left", 3), ("right", 4)) for i in range(n)]
    planned = [
        FaultSettings("position_scale", joint="left_1", value=-1.0),
        FaultSettings("position_offset", joint="left_1", value=0.5),
        FaultSettings("velocity_scale", arm="left", value=0.1),
        FaultSettings("late_joints", arm="right", value=0.004),
    ]
    found = run(sensors_of(SensorSettings(), 0, Faults(ARMS, planned, 0.002, joints)))
    for tick, seen in enumerate(found):
        late = max(tick - 2, 0)
        assert_allclose(seen.q, [tick + 0.26, 0.24 - tick, tick + 0.26, *[late + 0.26] * 4])
        assert_allclose(seen.qd, [-0.1 * tick] * 3 + [-late] * 4)
        assert_allclose(seen.wrenches, np.full((2, 6), tick))
    soon = Faults(ARMS, [FaultSettings("late_joints", value=0.0009)], 0.002)  # less than a period
    assert run(sensors_of(SensorSettings(), 0, soon))[2].q[0] == 2.26


def test_missing_velocities_are_no_numbers():
    """Nobody can take them for measured ones."""
    for seen in run(sensors_of(SensorSettings(velocities=False))):
        assert np.isnan(seen.qd).all()
        assert np.isfinite(seen.q).all()


def test_an_arm_may_be_sampled_less_often():
    """Its last sample stands in between, position and velocity; the other arm's is new."""
    found = run(sensors_of(SensorSettings(sample_periods={"right": 3})))
    assert [seen.q[0] - 0.26 for seen in found] == pytest.approx(range(8))
    assert [seen.q[3] - 0.26 for seen in found] == pytest.approx([0, 0, 0, 3, 3, 3, 6, 6])
    assert [seen.qd[6] for seen in found] == [0, 0, 0, -3, -3, -3, -6, -6]


@pytest.mark.parametrize(
    ("kind", "field", "at"),
    [
        ("position_nan", "q", 3),
        ("velocity_inf", "qd", 3),
        ("wrench_nan", "wrenches", (1, 5)),
    ],
)
def test_faults_spoil_one_number_of_their_arm(kind, field, at):
    """Only for as long as they are on, and the true arrays are left alone."""
    faults = Faults(ARMS, (), 0.002)
    sensors = sensors_of(SensorSettings(), 0, faults)
    faults.switch([fault_of(f"{kind} right 0.002")])
    assert sensors.measure(TRUE) is TRUE
    faults.move(1)
    seen = getattr(sensors.measure(TRUE), field)
    wrong = np.argwhere(~np.isfinite(seen))
    assert wrong.tolist() == np.atleast_2d(at).tolist()
    assert np.isfinite(getattr(TRUE, field)).all()
    faults.move(2)
    assert sensors.measure(TRUE) is TRUE


def test_stuck_sensors_keep_what_they_said():
    """All of one arm's numbers stand still; time and the other arm go on."""
    faults = Faults(ARMS, (), 0.002)
    sensors = sensors_of(SensorSettings(), 0, faults)
    before = run(sensors, 3)[-1]
    faults.switch([fault_of("stuck_sensors left")])
    faults.move(1)
    after = sensors.measure(Measurement(9, 0.1, np.full(7, 9.0), np.ones(7), np.ones((2, 6))))
    assert np.array_equal(after.q[:3], before.q[:3])
    assert np.array_equal(after.qd[:3], before.qd[:3])
    assert np.array_equal(after.wrenches[0], before.wrenches[0])
    assert after.tick == 9
    assert (after.q[3:] == 9.0).all()
    assert (after.wrenches[1] == 1.0).all()


def test_the_sensor_of_one_joint_sticks():
    """Its position and velocity stand still; the wrist and the other joints go on."""
    planned, joints = FaultSettings("stuck_sensors", time_s=0.002, joint="j1"), ("j0", "j1")
    faults = Faults(ARMS, [planned], 0.002, joints)
    sensors = sensors_of(SensorSettings(), 0, faults)
    sensors.measure(TRUE)
    faults.move(1)
    after = sensors.measure(Measurement(9, 0.1, np.full(7, 9.0), np.full(7, 8.0), np.ones((2, 6))))
    stands = np.arange(7) == 1
    assert_array_equal(after.q, np.where(stands, TRUE.q, 9.0))
    assert_array_equal(after.qd, np.where(stands, TRUE.qd, 8.0))
    assert (after.wrenches == 1.0).all()


@pytest.mark.parametrize(
    ("slow", "stuck"), [({"left": 3}, 1.0), ({}, 0.004)], ids=["slow samples", "stuck sensors"]
)
def test_faults_act_once_on_samples_that_stand(slow, stuck):
    """An offset neither grows nor a sign alternates while an arm's sample is repeated."""
    planned = [
        FaultSettings("position_offset", arm="left", value=0.5),
        FaultSettings("velocity_scale", arm="left", value=-1.0),
        FaultSettings("stuck_sensors", arm="left", time_s=stuck),
    ]
    sensors = sensors_of(
        SensorSettings(sample_periods=slow), 0, faults := Faults(ARMS, planned, 0.002)
    )
    for tick in range(6):
        faults.move(tick)
        seen = sensors.measure(TRUE._replace(tick=tick))
        assert_array_equal(seen.q[:3], TRUE.q[:3] + 0.5)
        assert_array_equal(seen.qd[:3], -TRUE.qd[:3])


@pytest.mark.parametrize("periods", [0, 1, 3])
def test_commands_act_late(periods):
    """A command acts as many periods later, and none before the first."""
    plant = counting(command_delay_periods=periods)
    given = [np.full(NA, 0.1 * i) for i in range(6)]
    for command in given:
        plant.step(command)
    np.testing.assert_array_equal(plant.engine.runs, given[: 6 - periods])


def test_a_reset_empties_the_queue():
    """No command of the last run acts in the next."""
    plant = counting(command_delay_periods=1)
    plant.step(np.ones(NA))
    plant.reset()
    plant.step(np.zeros(NA))
    assert plant.engine.runs == []
