# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of a plant show in its true state, with both engines, in batches and in studies."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.studies.settings import load_study
from robot_dynamics.app.studies.study import run_study
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import RobotDynamicsError

PLANTS = pytest.mark.parametrize("plant", ["engine", "mujoco"])
G = 9.81
DEGREE = np.radians(1.0)


def supporting_force(scenario, recording, first, last, mass):
    """Return the arms' mean force on the object (3,) that does not accelerate it [N].

    In world axes, by Newton's law between two control periods: it carries the weight.
    """
    poses, twists = recording["object_pose"], recording["object_twist"]
    wrenches = recording["grasp_wrench"].reshape(len(poses), -1, 6)
    axes = Rotation.from_quat(poses[:, 3:])
    force = sum(
        axes.apply(wrenches[:, i, 3:] @ grasp[:3, :3].T)
        for i, grasp in enumerate(build_system(scenario).grasps)
    )
    seconds = (last - first) * scenario.control.period
    momentum = mass * (twists[last, 3:] - twists[first, 3:])
    return force[first + 1 : last + 1].mean(axis=0) - momentum / seconds


@PLANTS
def test_a_tilted_gravity_pulls_to_the_side(plant):
    """By m g sin of the angle along y if it is turned about x, and down by its cosine."""
    scenario = load_scenario("lift_box", [f"plant.gravity_tilt=[{DEGREE}, 0]"], plant)
    recording = simulate(scenario, duration=0.2).recording
    found = supporting_force(scenario, recording, 20, 90, 10.0)
    assert found[1] == pytest.approx(-10.0 * G * np.sin(DEGREE), rel=5e-3)
    assert found[2] == pytest.approx(10.0 * G * np.cos(DEGREE), rel=2e-4)
    assert abs(found[0]) < 0.01


@PLANTS
def test_a_payload_comes_and_goes(plant):
    """The arms carry m g more from its first period to its last."""
    payload = "plant.payloads=[{mass: 2.0, time_s: 0.1, duration_s: 0.1}]"
    scenario = load_scenario("lift_box", [payload], plant)
    recording = simulate(scenario, duration=0.28).recording
    for first, last, mass in ((20, 50, 10.0), (50, 100, 12.0), (100, 139, 10.0)):
        found = supporting_force(scenario, recording, first, last, mass)
        assert found[2] == pytest.approx(mass * G, rel=3e-4)


@PLANTS
def test_palms_with_too_little_true_friction_slip(plant):
    """They need a ratio of forces between the two frictions; the controller believes in 0.5."""
    slips, drops = {}, {}
    for scale in (0.58, 0.66):
        scenario = load_scenario("tray", [f"plant.grasp_friction_scale={scale}"], plant)
        recording = simulate(scenario, duration=0.26).recording
        slips[scale] = float(np.abs(recording["grasp_slip"]).max())
        drops[scale] = -float(np.ptp(recording["object_pose"][:, 2]))
    wrenches = recording["grasp_wrench"].reshape(len(recording), -1, 6)[100:]
    needed = np.linalg.norm(wrenches[..., 3:5], axis=2) / wrenches[..., 5]
    assert 0.58 * 0.5 < needed.min() <= needed.max() < 0.66 * 0.5
    assert slips[0.66] < 0.001
    assert slips[0.58] > 0.005
    assert drops[0.58] < -0.005


@PLANTS
def test_a_drive_gives_its_gain_of_the_torque(plant):
    """The true motion is that of commands with this part of the joint's torque."""
    fault = "plant.faults=[{kind: drive_gain, joint: left_joint2, value: 0.9, time_s: 0.004}]"
    at_once = "plant.command_delay_periods=0"
    weak = rd.Simulation("lift_box", plant, overrides=[fault, at_once])
    plain = rd.Simulation("lift_box", plant, overrides=[at_once])
    at = plain.joint_names.index("left_joint2")
    for tick in range(5):
        torque = 0.2 * plain.effort_limits
        seen = weak.step(torque)
        torque[at] *= 0.9 if tick >= 2 else 1.0
        for found, expected in zip(seen, plain.step(torque), strict=True):
            np.testing.assert_array_equal(found, expected)


@PLANTS
def test_an_encoder_that_slips_changes_measurements_alone(plant):
    """From its time on positions of its joint are off; the true motion is as without it."""
    fault = (
        "plant.faults=[{kind: position_offset, joint: right_joint3, value: -0.02, time_s: 0.006}]"
    )
    slipped, plain = (
        rd.Simulation("lift_box", plant, overrides=[fault]),
        rd.Simulation("lift_box", plant),
    )
    at = plain.joint_names.index("right_joint3")
    for tick in range(1, 6):
        seen, true = (one.step(np.zeros(len(plain.joint_names))) for one in (slipped, plain))
        off = np.zeros(len(seen.q))
        off[at] = -0.02 if tick >= 3 else 0.0
        np.testing.assert_array_equal(seen.q, true.q + off)
        for found, expected in zip(seen[2:], true[2:], strict=True):
            np.testing.assert_array_equal(found, expected)


@PLANTS
def test_a_joint_sticks(plant):
    """It moves before its time and after it, not in between; the arms go on about it."""
    fault = (
        "plant.faults=[{kind: joint_stuck, joint: left_joint2, time_s: 0.03, duration_s: 0.03}]"
    )
    sim = rd.Simulation("lift_box", plant, overrides=[fault])
    at = sim.joint_names.index("left_joint2")
    q = np.array([sim.step(np.zeros(len(sim.joint_names))).q for _ in range(50)])
    before, during, after = (np.ptp(q[i:k], axis=0) for i, k in ((2, 15), (16, 31), (33, 50)))
    assert during[at] < 1e-6
    assert during.max() > 1e-3
    assert min(before[at], after[at]) > 1e-5


@PLANTS
def test_errors_that_have_not_come_change_nothing(plant):
    """To the last bit; the values of errors that are none change nothing either."""
    later = [
        "plant.faults=[{kind: drive_gain, value: 0.5, time_s: 1.0}, "
        "{kind: position_offset, value: 0.5, time_s: 1.0}]",
        "plant.payloads=[{mass: 1.0, time_s: 1.0}]",
    ]
    none = ["plant.gravity_tilt=[0, 0]", "plant.grasp_friction_scale=1.0"]
    for name in ("lift_box", "tray"):
        hashes = set()
        for changes in ([], later, none):
            sim = rd.Simulation(name, plant, overrides=changes)
            for _ in range(5):
                sim.step(np.zeros(len(sim.joint_names)))
            hashes.add(sim._plant.state_hash())
        assert len(hashes) == 1


@pytest.mark.parametrize("name", ["lift_box", "tray"])
@PLANTS
def test_a_state_is_taken_up_across_a_payload(name, plant):
    """A simulation that is set back to before it goes through it again, bit for bit."""
    sim = rd.Simulation(name, plant, overrides=["plant.payloads=[{mass: 0.3, time_s: 0.01}]"])
    torque = np.zeros(len(sim.joint_names))
    for _ in range(3):
        sim.step(torque)
    states = [sim.state]
    seen = [sim.step(torque) for _ in range(4)]
    states.append(sim.state)
    seen += [sim.step(torque) for _ in range(2)]
    for state, expected in zip(states, (seen, seen[4:]), strict=True):
        sim.state = state
        for one in expected:
            for found, was in zip(sim.step(torque), one, strict=True):
                np.testing.assert_array_equal(found, was)


@pytest.mark.parametrize(("name", "friction"), [("tray", "smooth"), ("lift_box", "coulomb")])
def test_a_payload_is_no_error_of_steps(name, friction):
    """A payload that falls with it keeps its velocity and the balance of energy."""
    changes = ["plant.payloads=[{mass: 3.0, time_s: 0.1}]", f"plant.joint_friction={friction}"]
    sim = rd.Simulation(name, overrides=changes)
    off, speeds = [], []
    for tick in range(60):
        speeds.append(sim.step(np.zeros(len(sim.joint_names))).object_twist[5])
        engine = sim._plant.engine
        steps = engine.stepping if name == "tray" else engine.steps.stepping
        if tick >= 49:  # the payload has just come
            energy = sum(engine.robot.energies(steps.q, steps.v))
            off.append(energy - steps.books.total())
    assert np.ptp(off) < 1e-3
    assert np.abs(np.diff(speeds[40:], n=2)).max() < 1e-3


@pytest.mark.parametrize("name", ["gravity", "fold"])
@pytest.mark.parametrize("engine", ["engine", "mujoco"])
def test_a_joint_sticks_without_an_object_and_with_a_jointed_one(name, engine):
    """From the period of the fault to its end; then it falls as the others do."""
    fault = "{kind: joint_stuck, joint: left_joint4, time_s: 0.02, duration_s: 0.04}"
    sim = rd.Simulation(name, plant=engine, overrides=[f"plant.faults=[{fault}]"])
    sim.reset()
    at = sim.joint_names.index("left_joint4")
    seen = [sim.step(np.zeros(len(sim.joint_names))) for _ in range(80)]
    times, speeds = np.array([one.time for one in seen]), np.abs([one.qd for one in seen])
    stuck = (times > 0.025) & (times < 0.059)
    assert speeds[stuck, at].max() < 1e-5 < 0.05 < speeds[stuck].max(axis=1).min()
    assert speeds[(times > 0.01) & (times < 0.02), at].min() > 1e-3
    assert speeds[(times > 0.065) & (times < 0.08), at].min() > 1e-3


def test_each_error_works_in_a_batch():
    """Cells with errors of their own are their single runs."""
    own = {
        "lift_box": (
            [
                "plant.faults=[{kind: drive_gain, value: 1.0, arm: left}]",
                "plant.payloads=[{mass: 1.0}]",
            ],
            {"plant.faults.0.value": [0.9, 1.0], "plant.payloads.0.mass": [0.5, -0.5]},
            "planned faults",
        ),
        "tray": ([], {"plant.grasp_friction_scale": [0.5, 1.0]}, "contacts"),
    }
    for name, (common, parameters, why) in own.items():
        batch = rd.BatchSimulation(name, 2, parameters, overrides=common, threads=1)
        assert why in batch.separate
        run = batch.run(0.02, record=("object_pose", "grasp_wrench"))
        assert not np.array_equal(
            run.columns["grasp_wrench"][:, 0], run.columns["grasp_wrench"][:, 1]
        )
        single = rd.simulate(name, overrides=batch.overrides(0), duration=0.02).recording
        for column, values in run.columns.items():
            np.testing.assert_array_equal(values[:, 0], single[column])


def test_each_error_is_a_variable_of_a_study(tmp_path):
    """By its key; samples of lists by their number."""
    study = {
        "scenario": "lift_box",
        "samples": 2,
        "sampling": "plain",
        "duration_s": 0.02,
        "figures": ["object_position_error_max_m"],
        "fixed": {
            "plant.faults": [{"kind": "position_offset", "joint": "left_joint1", "value": 0.0}],
            "plant.payloads": [{"mass": 1.0, "time_s": 0.01}],
        },
        "vary": {
            "plant.gravity_tilt": {"normal": [0.0, 0.01], "size": 2},
            "plant.grasp_friction_scale": {"uniform": [0.5, 1.0]},
            "plant.faults.0.value": {"normal": [0.0, 1e-4]},
            "plant.payloads.0.mass": {"uniform": [-1.0, 1.0]},
        },
    }
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(study), "utf-8")
    result = run_study(load_study(file), tmp_path / "out", lambda done, doing: None, jobs=1)
    for number, sample in enumerate(result.samples):
        words = shlex.split(result.command(number))
        changes = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        report = simulate("lift_box", overrides=changes, duration=0.02).report
        assert {name: report[name] for name in result.figures} == sample["figures"]
        assert sum(change.startswith("plant.") for change in changes) == 6
    assert result.samples[0]["figures"] != result.samples[1]["figures"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("faults=[{kind: drive_gain}]", "has no value, expected a finite number"),
        ("faults=[{kind: silent, value: 1.0}]", "has the value 1, expected none"),
        ("faults=[{kind: late_joints, value: 0.0}]", "expected more than 0 s"),
        ("faults=[{kind: wrench_scale, value: 1.0, joint: left_joint1}]", "is of whole arms"),
        ("faults=[{kind: joint_stuck, joint: a, arm: left}]", "expected one of the two"),
        ("payloads=[{}]", "mass"),
        ("gravity_tilt=[0.1]", "gravity_tilt"),
        ("gravity_tilt=[0, 2]", "at most 1.5708 rad, not 2; 2 degrees are 0.0349066 rad"),
        ("grasp_friction_scale=-0.1", "at least 0"),
    ],
)
def test_wrong_settings_are_refused(change, words):
    """In a sentence at their place."""
    with pytest.raises(DescriptionError, match=words):
        load_scenario("lift_box", [f"plant.{change}"])


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("lift_box", "faults=[{kind: joint_stuck, joint: left_joint8}]", "did you mean"),
        ("lift_box", "payloads=[{mass: -10.0, time_s: 0.1}]", "from 0.1 s on .* a mass of 0 kg"),
        ("lift_box", "payloads=[{mass: -5, center: [1.0, 0, 0]}]", "not all positive"),
    ],
)
def test_plants_that_cannot_be_are_refused(name, change, words):
    """Before anything moves."""
    with pytest.raises(RobotDynamicsError, match=words):
        rd.Simulation(name, overrides=[f"plant.{change}"])
