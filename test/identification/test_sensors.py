# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrist sensors: bias, tool, axes and scale, with deviations that hold."""

import json

import numpy as np
import pytest
from support.payloads import NOISE, carried, record
from support.wrist_sensors import TrueSensor, measured, record_free, tool_wrenches

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.control.wrist_sensors import WristSensors
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.identification.motion import ArmKinematics, RecordedMotion, wrench_in
from robot_dynamics.identification.sensors import FreeArm, held_scales
from robot_dynamics.identification.signals import IdentificationError

PERIOD = 0.004
BIAS = np.array([0.1, -0.2, 0.3, 5.0, 1.0, -2.0])
TOOL = TrueSensor(1.5, np.array([0.01, 0.02, 0.06]), 0.002 * np.eye(3), BIAS)
NONE = TrueSensor(bias=BIAS)
# Parameters of the box of `lift_box`: mass, centre, inertia.
BOX = (10.0, np.zeros(3), np.diag([0.2083333333333333, 0.15, 0.2083333333333333]))


@pytest.fixture(scope="module")
def arms():
    """Return the exact motion of our two arms."""
    return carried("our arms", PERIOD)


@pytest.fixture(scope="module")
def kinematics(arms):
    """Return their kinematics."""
    return ArmKinematics(arms.system)


def recording_of(arms, motion, *, held=False):
    """Return a recording of the arms."""
    count = len(motion.q)
    columns = {
        "tick": np.arange(count, dtype=float),
        "joint_position": motion.q,
        "grasp_wrench": motion.wrenches.reshape(count, -1),
    }
    metadata = {
        "scenario": "lift_box",
        "scenario_text": rd.load_scenario("lift_box").text(),
        "joints": list(arms.system.joint_names),
        "period_s": motion.period,
        "holds_object": held,
    }
    return Recording(columns, metadata)


@pytest.fixture(scope="module")
def free(arms):
    """Return a recording of free arms, of which the left one carries a tool."""
    return recording_of(arms, record_free(arms, [TOOL, NONE], np.random.default_rng(1)))


@pytest.mark.parametrize(
    "sensor",
    [
        TOOL,
        TOOL._replace(scale=-1.0),
        TOOL._replace(turn=np.array([0.0, 0.0, np.pi / 2])),
        TOOL._replace(turn=np.array([0.03, -0.05, 0.04])),
        TOOL._replace(scale=-1.0, turn=np.array([0.5, 1.0, 0.0])),
    ],
    ids=["as described", "reversed", "quarter turn", "small turn", "both"],
)
def test_a_sensor_is_found_within_its_deviations(arms, kinematics, sensor):
    """Tool, bias, sign and axes are within five deviations, which are small."""
    motion = record_free(arms, [sensor, NONE], np.random.default_rng(0))
    found = FreeArm(kinematics, 0, NOISE, 5.0).identify([motion])
    assert found.sign == sensor.scale
    assert found.turned == bool(sensor.turn.any())
    assert (np.abs(found.turn - sensor.turn) < 5.0 * found.turn_deviations).all()
    for (values, deviations), true in (
        (found.tool, np.array([sensor.mass, *sensor.center])),
        (found.bias, sensor.bias),
    ):
        assert (np.abs(values - true) < 5.0 * deviations).all()
    assert found.tool[1][0] < 0.01
    assert found.tool[1][1:].max() < 1e-3
    assert found.bias[1][3:].max() < 0.07
    assert np.degrees(found.turn_deviations).max() < 0.3
    assert found.fit.white
    assert found.held_out[1] < 1.5 < found.held_out[0]


def test_a_sensor_without_a_tool_has_a_bias(arms, kinematics):
    """Its mass is zero within its deviation, and its axes are not observable."""
    motion = record_free(arms, [NONE, NONE], np.random.default_rng(2))
    found = FreeArm(kinematics, 0, NOISE, 5.0).identify([motion])
    assert not found.carries
    assert not found.turned
    assert found.turn_deviations.min() > 0.2
    assert (np.abs(found.bias[0] - BIAS) < 5.0 * found.bias[1]).all()


def test_deviations_of_sensors_hold(arms, kinematics):
    """Of random tools and biases, 68 and 95 % are within one and 1.96 deviations."""
    rng, scores = np.random.default_rng(3), []
    for _ in range(10):
        mass, center = rng.uniform(0.3, 3.0), 0.04 * rng.normal(size=3)
        bias = rng.normal(size=6) * [0.5, 0.5, 0.5, 5.0, 5.0, 5.0]
        both = [TrueSensor(mass, center, 0.002 * mass * np.eye(3), bias)] * 2
        motion = record_free(arms, both, rng)
        found = FreeArm(kinematics, 0, NOISE, 5.0).identify([motion])
        (tool, of_tool), (offset, of_offset) = found.tool, found.bias
        scores.append((tool - [mass, *center]) / of_tool)
        scores.append((offset - bias) / of_offset)
    sizes = np.abs(np.concatenate(scores))
    # 100 scores, correlated within a fit: three standard errors of the shares.
    assert np.mean(sizes < 1.0) == pytest.approx(0.70, abs=0.16)
    assert np.mean(sizes < 1.96) > 0.88


def test_a_held_object_gives_scales_and_sums_of_biases(arms, kinematics):
    """Scales are within their deviations; differences of biases change nothing that is found."""
    rng = np.random.default_rng(4)
    motion = record(arms, BOX, rng)
    scales = np.array([1.1, -0.95])
    bias = rng.normal(size=(2, 6)) * [0.5, 0.5, 0.5, 5.0, 5.0, 5.0]
    wrenches = motion.wrenches * scales[:, None] + bias

    def fit(values):
        seen = RecordedMotion(PERIOD, motion.q, None, values)
        return held_scales(kinematics, arms.grasps, [seen], [np.zeros(10)] * 2, NOISE, 5.0)

    found = fit(wrenches)
    sums = sum(
        wrench_in(grasp) @ (own / scale)
        for grasp, own, scale in zip(arms.grasps, bias, scales, strict=True)
    )
    true = np.concatenate([1.0 / scales, sums])
    assert (np.abs(found.values - true) < 5.0 * found.deviations).all()
    assert found.deviations[:2].max() < 2e-3
    # Biases of opposite effect on the object, in the measured units of each sensor.
    effect = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    opposite = [
        scale * np.linalg.solve(wrench_in(grasp), sign * effect)
        for grasp, scale, sign in zip(arms.grasps, scales, (1.0, -1.0), strict=True)
    ]
    moved = fit(wrenches + opposite).values - found.values
    assert (np.abs(moved) < 0.05 * found.deviations).all()


def test_the_corrected_scenario_removes_tool_and_bias(arms, free, tmp_path, capsys):
    """Tared where the lift begins, wrenches are exact to 0.1 N along it, not to 5 N."""
    free.save(tmp_path / "free.npz")
    place, report, figure = (tmp_path / name for name in ("new.yaml", "new.json", "new.png"))
    arguments = ["identify", str(tmp_path / "free.npz"), "--what", "sensors"]
    outputs = ["--output", str(place), "--json", str(report), "--plot", str(figure)]
    assert main([*arguments, "--scenario", "lift_box", *outputs]) == 0
    assert "left: tool mass" in capsys.readouterr().out
    assert "The tool's z axis points into the box." in place.read_text()
    assert figure.stat().st_size > 10_000
    told = json.loads(report.read_text())
    assert told["sensors"]["left"]["tool_mass_kg"]["before"] == 0.0
    assert "scales" in told["not_observable"][1]
    corrected = rd.load_scenario(place)
    assert corrected.control.start.tare
    assert corrected.cell.arms[1] == rd.load_scenario("lift_box").cell.arms[1]
    assert corrected.cell.object == rd.load_scenario("lift_box").cell.object
    at_rest = TOOL._replace(inertia=np.zeros((3, 3)))
    slow = arms._replace(period=1e3)  # no acceleration
    truth = measured(at_rest, tool_wrenches(slow, 0, at_rest))
    truth = np.stack([truth, np.broadcast_to(BIAS, truth.shape)], axis=1)
    assert np.abs(truth - truth[0])[..., 3:].max() > 5.0  # tared alone
    sensors = WristSensors(build_system(corrected))
    sensors.tare(arms.q[0], truth[0])
    seen = [sensors.grasp_wrenches(arms.q[i], truth[i]) for i in range(0, len(truth), 50)]
    off = np.abs(seen).max(axis=(0, 1))
    assert off[3:].max() < 0.1
    assert off[:3].max() < 0.01


def test_scales_of_free_arms_need_a_held_object(arms, free):
    """With a recording of each, all is found; a scale of 1.1 is named, and not written."""
    scaled = TOOL._replace(scale=1.1)
    rng = np.random.default_rng(5)
    first = recording_of(arms, record_free(arms, [scaled, NONE], rng))
    motion = record(arms, BOX, rng)
    own = motion.wrenches + np.stack(
        [tool_wrenches(arms, 0, TOOL), np.zeros((len(motion.q), 6))], axis=1
    )
    own = own * np.array([[1.1], [1.0]]) + BIAS
    second = recording_of(arms, RecordedMotion(PERIOD, motion.q, None, own), held=True)
    both = rd.identify([first, second], what="sensors")
    assert both.json["held_object"]["scale"]["left"]["value"] == pytest.approx(1.1, abs=5e-3)
    (hidden,) = both.json["not_observable"]
    assert hidden == "axes and sign of the sensor of 'right', which carries no tool"
    assert any("times the wrench; expected 1" in warning for warning in both.warnings)


def without_an_arm(recording):
    """Lose the wrenches of the right arm."""
    return changed(recording, grasp_wrench=recording["grasp_wrench"] * np.repeat([1.0, np.nan], 6))


def saturated(recording):
    """Clip the wrenches at 90 % of the largest."""
    w = recording["grasp_wrench"]
    most = 0.9 * np.abs(w).max(axis=0)
    return changed(recording, grasp_wrench=np.clip(w, -most, most))


def still(recording):
    """Keep the first positions."""
    q = recording["joint_position"]
    return changed(recording, joint_position=np.repeat(q[:1], len(q), axis=0))


def turned_little(recording):
    """Keep a time in which the tool turns by a few degrees."""
    return Recording({k: v[:100] for k, v in recording.columns.items()}, recording.metadata)


def other_wrenches(recording):
    """Exchange forces and moments."""
    w = recording["grasp_wrench"].reshape(-1, 4, 3)[:, [1, 0, 3, 2]]
    return changed(recording, grasp_wrench=w.reshape(-1, 12))


def other_joints(recording):
    """Exchange the columns of two joints."""
    return changed(recording, joint_position=recording["joint_position"][:, [1, 0, *range(2, 14)]])


def of_another_robot(recording):
    """Name the joints otherwise."""
    return Recording(recording.columns, {**recording.metadata, "joints": ["panda_joint1"] * 14})


def reversed_sign(recording):
    """Measure wrenches by the tool on the arm."""
    return changed(recording, grasp_wrench=-recording["grasp_wrench"])


def changed(recording, **columns):
    """Return a recording with other columns."""
    return Recording({**recording.columns, **columns}, recording.metadata)


BAD = {
    without_an_arm: "wrenches of arm 'right' are missing in 100 %",
    saturated: "expected a sensor below its range",
    still: "move by at most",
    turned_little: "neither move free nor hold the object",
    other_wrenches: "no tool of arm 'left' explains the recording",
    other_joints: "no tool of arm 'left' explains the recording",
    of_another_robot: "has joint 'panda_joint1'",
    reversed_sign: "the opposite sign",
}


def test_sensors_that_are_correct_are_a_success(arms, tmp_path, capsys):
    """The report is written, no scenario, and the status is 0."""
    motion = record_free(arms, [NONE, NONE], np.random.default_rng(2))
    own = motion.wrenches - BIAS
    good = recording_of(arms, RecordedMotion(PERIOD, motion.q, None, own))
    good.save(tmp_path / "good.npz")
    place, report = tmp_path / "new.yaml", tmp_path / "new.json"
    arguments = ["identify", str(tmp_path / "good.npz"), "--what", "sensors"]
    assert main([*arguments, "--output", str(place), "--json", str(report)]) == 0
    assert f"{place} is not written: the sensors have no bias" in capsys.readouterr().out
    assert report.exists()
    assert not place.exists()


def test_readings_that_never_change_are_doubted(free):
    """They look like a sensor without a tool and with an exact bias."""
    frozen = free["grasp_wrench"].copy()
    frozen[:, 6:] = frozen[0, 6:]
    found = rd.identify(changed(free, grasp_wrench=frozen), what="sensors")
    assert [one for one in found.warnings if "do not change" in one and "'right'" in one]
    assert not any("'left'" in one for one in found.warnings)


def test_of_several_recordings_the_refused_one_is_named(free):
    """By its number in the order given."""
    with pytest.raises(
        IdentificationError, match="recording 2: the joints move by at most 0 rad;"
    ):
        rd.identify([free, still(free)], what="sensors")


def test_recordings_of_different_periods_are_refused(free):
    """Filters and biases are those of one period."""
    other = Recording(free.columns, {**free.metadata, "period_s": 2.0 * PERIOD})
    with pytest.raises(IdentificationError, match=r"a period of 0\.008 s; expected 0\.004 s, as"):
        rd.identify([free, other], what="sensors")


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_poor_data_of_sensors_write_nothing(free, spoil, tmp_path, capsys):
    """Each has its reason, in a sentence."""
    spoil(free).save(tmp_path / "poor.npz")
    arguments = ["identify", str(tmp_path / "poor.npz"), "--what", "sensors"]
    assert main([*arguments, "--output", str(tmp_path / "new.yaml")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert BAD[spoil] in last
    assert [path.name for path in tmp_path.iterdir()] == ["poor.npz"]


def test_held_objects_alone_do_not_correct_sensors(arms):
    """Biases and tools of each sensor are said to be hidden, and nothing is written."""
    motion = record(arms, BOX, np.random.default_rng(6))
    found = rd.identify(recording_of(arms, motion, held=True), what="sensors")
    assert any("internal force" in one for one in found.json["not_observable"])
    with pytest.raises(IdentificationError, match="in which the arms move free"):
        found.write_scenario("new.yaml", None)
    with pytest.raises(ArgumentError, match="use is 'torques'"):
        rd.identify(recording_of(arms, motion, held=True), what="sensors", use="torques")
    with pytest.raises(UnknownNameError, match="what"):
        rd.identify(recording_of(arms, motion, held=True), what="cameras")
