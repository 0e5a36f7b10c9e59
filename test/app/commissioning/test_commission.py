# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commissioning: planted faults are found, each by its check, and none in a good cell."""

import json

import numpy as np
import pytest
from support.commissioning import (
    NOISE,
    PLANTED,
    TOOLS,
    commissioned,
    held_by_displaced,
    is_found,
)

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.commissioning.checks import CellCheck, check_whole_motion
from robot_dynamics.app.commissioning.commission import Commissioning, commission
from robot_dynamics.app.commissioning.dynamics_checks import (
    _longest_constant,
    check_bases,
    check_sensors,
)
from robot_dynamics.app.commissioning.motion import commissioning_task
from robot_dynamics.app.identification.corrected_scenario import flow
from robot_dynamics.app.recordings.recording import Recording, RecordingError
from robot_dynamics.app.recordings.recording_files import save_recording
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.identification.signals import IdentificationError

J4 = 3  # left_joint4
FZ = np.eye(12)[5]  # force of the left arm along z


@pytest.fixture(scope="module")
def cell():
    """Return a good cell of our arms, whose wrist sensors carry tools."""
    return rd.load_scenario("pick_and_place", [*NOISE, *TOOLS])


@pytest.fixture(scope="module")
def recorded(cell):
    """Return a recording of its motion."""
    task = commissioning_task(cell)
    motion = cell.changed(f"{key}={flow(value)}" for key, value in task.items())
    return rd.simulate(motion).recording


def changed(recording, **columns):
    """Return a recording with other columns."""
    return Recording({**recording.columns, **columns}, recording.metadata)


def scaled(values, column, factor):
    """Return columns of which some are multiplied."""
    found = values.copy()
    found[:, column] *= factor
    return found


def verdicts(found):
    """Return the failed checks as pairs of subject and arm."""
    return {(one.subject, one.arm) for one in found.failed}


def test_a_good_cell_is_go(cell, recorded):
    """All checks are made, none fails, and nothing is corrected."""
    found = commission(cell, recorded)
    assert found.ok, found.lines
    assert {one.verdict for one in found.checks} == {"go"}
    assert {one.arm for one in found.checks} == {"", "left", "right"}
    assert len(found.checks) == 19
    with pytest.raises(IdentificationError, match="no failed check can be corrected"):
        found.write_scenario("unused.yaml", None)


def test_a_part_of_the_motion_is_not_go(cell, recorded):
    """As of a recorder that ended early: no fault is recorded."""
    system, q = build_system(cell), recorded["joint_position"].copy()
    assert check_whole_motion(cell, system, q).verdict == "go"
    ended = check_whole_motion(cell, system, q[: len(q) * 3 // 10])
    assert (ended.verdict, ended.found) == ("no-go", "arm 'left' is not at home at the end")
    right = system.arm_slices[1]
    q[:, right] = cell.home[right] + 0.009
    still = check_whole_motion(cell, system, q)
    assert (still.verdict, still.found) == ("no-go", "arm 'right' does not move")


def slow(*values):
    """Return values of a test that is slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("column", "change", "failed"),
    [
        ("joint_velocity", lambda v: scaled(v, J4, -1.0), ("velocities", "left")),
        slow("joint_velocity", lambda v: scaled(v, slice(7, 14), 57.3), ("velocities", "right")),
        slow("joint_velocity", lambda v: scaled(v, J4, 1.12), ("velocities", "left")),
        slow("joint_velocity", lambda v: scaled(v, J4, 1.08), None),
        ("commanded_torque", lambda u: scaled(u, J4, 1.0 / 1.07), ("torque constants", "left")),
        slow("commanded_torque", lambda u: scaled(u, J4, 1.0 / 1.03), None),
        slow("commanded_torque", lambda u: scaled(u, J4, -1.0), ("torque constants", "left")),
        slow(
            "commanded_torque", lambda u: scaled(u, slice(7), 0.9), ("gravity and links", "left")
        ),
        ("commanded_torque", lambda u: np.roll(u, -2, axis=0), ("delay", "left")),
        ("grasp_wrench", lambda w: scaled(w, slice(6, 12), -1.0), ("wrist sensor", "right")),
        slow("grasp_wrench", lambda w: scaled(w, slice(6), 1.15), ("wrist sensor", "left")),
        slow("grasp_wrench", lambda w: w + 1.3 * FZ, ("sensor bias", "left")),
        slow("grasp_wrench", lambda w: w + 0.7 * FZ, None),
    ],
)
def test_each_check_fails_alone(cell, recorded, column, change, failed):
    """A signal that is spoiled after the run fails its check, beyond the limit and not before."""
    found = commission(cell, changed(recorded, **{column: change(recorded[column])}))
    expected = set() if failed is None else {failed}
    if failed == ("delay", "left"):
        expected.add(("delay", "right"))
    assert verdicts(found) == expected, found.lines


@pytest.mark.parametrize(
    ("subject", "verdict", "ok"),
    [("delay", "not examined", True), ("torque constants", "not examined", False)],
)
def test_an_arm_of_unknown_torques_is_no_go(cell, subject, verdict, ok):
    """Other checks may be left out."""
    checks = [
        CellCheck("right", "torque constants", "go", ""),
        CellCheck("left", subject, verdict, ""),
    ]
    found = Commissioning(cell, checks, {})
    assert found.ok == ok
    assert ("NO-GO, the torques of left are not known" in found.lines[-1]) == (not ok)


@pytest.mark.parametrize(("seconds", "verdict"), [(0.25, "go"), (0.35, "no-go")])
def test_a_frozen_sensor_is_no_go(cell, recorded, seconds, verdict):
    """Its readings stay the same while the arm moves; of a resting arm they may."""
    wrenches = recorded["grasp_wrench"].copy()
    moves = np.flatnonzero(np.abs(recorded["joint_velocity"][:, :7]).max(axis=1) > 0.3)
    first, count = int(moves[0]), round(seconds * 250)
    assert (np.diff(moves[:count]) == 1).all()
    wrenches[first : first + count, :6] = wrenches[first, :6]
    frozen = changed(recorded, grasp_wrench=wrenches)
    checks, _ = check_sensors(cell, build_system(cell), frozen)
    left = [one for one in checks if (one.arm, one.subject) == ("left", "wrist sensor")]
    assert [one.verdict for one in left] == [verdict]
    assert ("exactly the same" in left[0].found) == (verdict == "no-go")


@pytest.mark.parametrize("resolution", [0.05, 0.4, 0.8])
def test_a_coarse_sensor_is_not_frozen(resolution):
    """Its readings stay while a weight of 1 N turns less than it can tell, not over 2 rad."""
    angle = np.arange(500) / 120.0
    weight = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    readings, speeds = np.zeros((500, 6)), np.full((500, 1), 0.1)
    readings[:, 3:] = np.round(weight / resolution) * resolution
    assert _longest_constant(readings, speeds, weight) == 0
    readings[200:440] = readings[200]
    assert _longest_constant(readings, speeds, weight) >= 239
    assert _longest_constant(readings, 0.0 * speeds, weight) == 0


def test_simulated_sensors_without_noise_and_tool_are_not_frozen(recorded):
    """They measure nothing; real ones that do are frozen."""
    bare = rd.load_scenario("pick_and_place", NOISE)
    nothing = changed(recorded, grasp_wrench=np.zeros_like(recorded["grasp_wrench"]))
    real = {name: one for name, one in nothing.columns.items() if name != "applied_torque"}
    for one, frozen in ((nothing, False), (Recording(real, nothing.metadata), True)):
        checks, _ = check_sensors(bare, build_system(bare), one)
        assert any("exactly the same" in check.found for check in checks) == frozen


def test_commands_without_the_weight_of_the_links_are_seen(cell, recorded):
    """Drives that add gravity are stated in the scenario, or the commands contradict it."""
    robot = rd.Robot(build_system(cell).arms_alone)
    still = np.zeros_like(recorded["joint_position"])
    weight = robot.inverse_dynamics(recorded["joint_position"], still, still)
    without = changed(recorded, commanded_torque=recorded["commanded_torque"] - weight)
    stated = cell.changed(f"cell.arms.{i}.drive.compensates_gravity=true" for i in (0, 1))
    with pytest.raises(IdentificationError, match="'left' leave out the weight of its links"):
        rd.identify(without, cell, what="drives")
    with pytest.raises(IdentificationError, match="'left' include the weight of its links"):
        rd.identify(recorded, stated, what="drives")
    found = rd.identify(without, stated, what="drives")
    for drives in found.arms.values():
        k, deviations = drives.constants
        assert (np.abs(k - 1.0) < 4.0 * deviations + 0.02).all()
        assert deviations.min() < 0.05


def test_a_delay_is_not_written_in_periods_of_another_rate(cell, recorded):
    """A recording at 250 Hz corrects no scenario at 500 Hz."""
    late = changed(recorded, commanded_torque=np.roll(recorded["commanded_torque"], -2, axis=0))
    found = rd.identify(late, cell.changed(["control.rate_hz=500"]), what="drives")
    assert found.arms["left"].delay[0] == pytest.approx(0.012, abs=2e-3)
    with pytest.raises(IdentificationError, match=r"period of 4 ms; expected .* 2 ms"):
        found.correction(None)


def test_samples_that_repeat_are_a_slow_topic(cell, recorded):
    """Every second sample is new: half the rate, of one arm."""
    q = recorded["joint_position"].copy()
    q[1::2, :7] = q[:-1:2, :7][: len(q[1::2])]
    assert ("rate", "left") in verdicts(commission(cell, changed(recorded, joint_position=q)))


@pytest.mark.parametrize("fault", ["position sign", "degrees", "swapped arms", "encoder offset"])
def test_arms_that_contradict_home_do_not_move(fault, tmp_path):
    """Positions at rest tell it, and there is no motion."""
    found = commissioned(PLANTED[fault], tmp_path)
    assert is_found(PLANTED[fault], found)
    assert {one.subject for one in found.checks} == {"positions at rest"}


def test_a_sensor_upside_down_shows_at_rest(tmp_path):
    """It measures the weight of its tool with the opposite sign."""
    found = commissioned(PLANTED["sensor sign"], tmp_path)
    assert verdicts(found) == {("wrist sensor", "left")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["drive off", "velocity unit", "torque sign of an elbow", "torque sign of a wrist"]
)
def test_a_motion_that_is_stopped_tells_why(fault, tmp_path):
    """The safety layer stops it; the check of the cause fails, and no other one of the drives."""
    found = commissioned(PLANTED[fault], tmp_path)
    assert verdicts(found) == {("motion", ""), (PLANTED[fault].subject, PLANTED[fault].arm)}


@pytest.mark.parametrize(
    ("displacement", "rotation", "ok"),
    [
        ((0.003, -0.004, 0.0), (0.0, 0.0, np.radians(1.0)), False),
        ((0.0011, 0.0, 0.0), (0.0, 0.0, 0.0), False),
        ((0.0009, 0.0, 0.0), (0.0, 0.0, np.radians(0.09)), True),
    ],
)
def test_bases_are_placed_to_a_millimetre_and_a_tenth_of_a_degree(displacement, rotation, ok):
    """Beyond that the check fails, and the correction is the true placement."""
    believed, recording = held_by_displaced("two Pandas", displacement, rotation)
    (check,), frames = check_bases(believed, [recording])
    assert check.arm == "right"
    assert (check.verdict == "go") == ok
    true = rd.load_scenario("lift_box_panda").cell.robots[1]
    corrected = frames.correction(None).values["cell.robots.1"]
    np.testing.assert_allclose(corrected["xyz"], true.xyz, atol=1e-4)
    np.testing.assert_allclose(corrected["rpy"], true.rpy, atol=1e-4)


def test_the_command_judges_a_recording(cell, recorded, tmp_path, capsys):
    """It prints every check, writes JSON and the corrected scenario, and ends with status 1."""
    place, corrected = tmp_path / "checks.json", tmp_path / "corrected.yaml"
    late = changed(recorded, commanded_torque=np.roll(recorded["commanded_torque"], -2, axis=0))
    rd_file = tmp_path / "motion.npz"
    save_recording(late, rd_file)
    changes = [part for one in (*NOISE, *TOOLS) for part in ("--set", one)]
    arguments = ["commission", "pick_and_place", "--recording", str(rd_file), *changes]
    assert main([*arguments, "--json", str(place), "--output", str(corrected)]) == 1
    assert "pick_and_place: NO-GO, 2 of 19 checks" in capsys.readouterr().out
    checks = json.loads(place.read_text())["checks"]
    assert {one["verdict"] for one in checks} == {"go", "no-go"}
    assert rd.load_scenario(corrected).control.command_delay_periods == 3


def test_the_motion_is_written_for_nodes(tmp_path, capsys):
    """As a task of moves and rests that ends at home."""
    place = tmp_path / "motion.yaml"
    assert main(["commission", "pick_and_place", "--motion", str(place)]) == 0
    assert str(place) in capsys.readouterr().out
    names = [phase.name for phase in rd.load_scenario(place).task]
    assert names == [*["move", "wait"] * 2, *["move"] * 3] * 2 + ["move"]


def test_arms_of_a_reference_are_free_at_their_postures(tmp_path):
    """The written motion has no surfaces, and the object stands away from the arms."""
    place = tmp_path / "motion.yaml"
    assert main(["commission", "lift_box", "--motion", str(place)]) == 0
    given, free = rd.load_scenario("lift_box"), rd.load_scenario(place)
    assert free.reference.segments == ()
    assert [arm.home for arm in free.cell.arms] == [arm.posture for arm in given.cell.arms]
    assert len(free.task) == 15
    assert [surface.name for surface in free.cell.surfaces] == ["away"]
    assert free.cell.object.xyz[0] > 10.0


@pytest.mark.slow
def test_a_cell_with_a_reference_is_commissioned():
    """A good one passes; a reversed torque is found."""
    good = commission("lift_box", overrides=NOISE)
    assert good.ok, good.lines
    fault = "plant.faults=[{kind: drive_gain, value: -1.0, joint: left_joint4}]"
    found = commission("lift_box", overrides=[*NOISE, fault])
    assert any(one.subject == "torque constants" for one in found.failed)


def test_missing_recordings_of_held_objects_are_named_before_the_motion():
    """The cell is not simulated first."""
    with pytest.raises(RecordingError, match=r"none\.npz: cannot be read"):
        commission("pick_and_place", held=["none.npz"], progress=pytest.fail)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--motion", "new.yaml", "--json", "new.json"], "expected it without --json"),
        (["--recording", "motion.npz", "--actual", "lift_box"], "expected none with a recording"),
    ],
)
def test_options_that_have_no_effect_are_refused(recorded, given, expected, tmp_path, capsys):
    """With status 2, and nothing is written."""
    place = tmp_path / "motion.npz"
    save_recording(recorded, place)
    given = [str(tmp_path / one) if "." in one else one for one in given]
    assert main(["commission", "pick_and_place", *given]) == 2
    assert expected in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def test_a_good_cell_writes_no_scenario(cell, recorded, tmp_path, capsys):
    """The command says so, and ends with status 0."""
    save_recording(recorded, tmp_path / "motion.npz")
    place = tmp_path / "corrected.yaml"
    changes = [part for one in (*NOISE, *TOOLS) for part in ("--set", one)]
    arguments = ["commission", "pick_and_place", "--recording", str(tmp_path / "motion.npz")]
    assert main([*arguments, *changes, "--output", str(place)]) == 0
    out = capsys.readouterr().out
    assert "rad or m" not in out
    assert "N m or N" not in out
    assert f"{place} is not written" in out
    assert not place.exists()
