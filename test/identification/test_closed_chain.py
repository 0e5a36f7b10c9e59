# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base placements and grasps from joint positions of arms that hold one object."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.payloads import carried

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.identification.closed_chain import ClosedChain
from robot_dynamics.identification.motion import ArmKinematics, RecordedMotion
from robot_dynamics.identification.signals import IdentificationError

PERIOD, NOISE = 0.004, 1e-4
FEW = 10  # every tenth sample, where the number does not matter
CELLS = {"our arms": ("lift_box", [0, 0]), "two Pandas": ("lift_box_panda", [0, 1])}
WRONG = np.array([0.003, 0.002, -0.004, 0.01, 0.02, -0.01])  # m, rad


def displaced(pose, change):
    """Return a pose moved along and turned about the axes that it is stated in."""
    found = pose.copy()
    found[:3, 3] += change[:3]
    found[:3, :3] = Rotation.from_rotvec(change[3:]).as_matrix() @ pose[:3, :3]
    return found


def change_of(new, old):
    """Return the displacement and the rotation vector (6,) from one pose to another."""
    turn = Rotation.from_matrix(new[:3, :3] @ old[:3, :3].T).as_rotvec()
    return np.concatenate([new[:3, 3] - old[:3, 3], turn])


@pytest.fixture(scope="module", params=CELLS)
def cell(request):
    """Return the exact motion of a cell, its kinematics, its robots and its bases."""
    name, robots = CELLS[request.param]
    arms = carried(request.param, PERIOD)
    bases = [pose_matrix(robot) for robot in rd.load_scenario(name).cell.robots]
    return arms, ArmKinematics(arms.system), robots, bases


@pytest.fixture(scope="module")
def ours():
    """Return the exact motion of our two arms."""
    return carried("our arms", PERIOD)


def chain(cell, grasps, **options):
    """Return the equations of a cell that believes in some grasps."""
    _, kinematics, robots, bases = cell
    return ClosedChain(kinematics, robots, bases, grasps, NOISE, **options)


def seen(q, rng):
    """Return noisy samples of joint positions."""
    return [RecordedMotion(PERIOD, q + NOISE * rng.normal(size=q.shape), None, None)]


def test_frames_are_found_and_deviations_hold(cell):
    """Of 100 noisy recordings, 68 and 95 % are within one and 1.96 deviations."""
    arms = cell[0]
    believed = [arms.grasps[0], displaced(arms.grasps[1], -WRONG)]
    equations, rng, errors = chain(cell, believed), np.random.default_rng(0), []
    true = np.zeros(len(equations.names))
    true[-6:] = change_of(arms.grasps[1], believed[1])
    for _ in range(100):
        (motion,) = seen(arms.q[::FEW], rng)
        fit = equations._fit(motion.q)  # without the second fit, of a part
        errors.append(fit.values - true)
    scores = np.abs(np.array(errors) / fit.deviations)
    # 600 or 1200 scores, correlated within a fit: four standard errors of the shares.
    assert np.mean(scores < 1.0) == pytest.approx(0.683, abs=0.08)
    assert np.mean(scores < 1.96) == pytest.approx(0.95, abs=0.035)
    # Errors fall with the root of the number of samples, a tenth of those of 5 s at 250 Hz.
    sizes = np.quantile(np.abs(errors), 0.95, axis=0)
    meters = np.array(["[m]" in name for name in equations.names])
    assert sizes[meters].max() < 2e-4
    assert sizes[~meters].max() < np.radians(0.02)


def test_frames_close_the_chain(cell):
    """The disagreement of the arms falls to noise; displacements of the grasps add up to zero."""
    arms = cell[0]
    believed = [arms.grasps[0], displaced(arms.grasps[1], -WRONG)]
    found = chain(cell, believed).identify(seen(arms.q, np.random.default_rng(1)))
    assert found.gaps[0].max() > 4e-3
    assert found.gaps[1].max() < 1e-3
    assert found.held_out[1] < 1.1 < found.held_out[0]
    assert 0.9 < found.fit.factor < 1.1
    assert found.fit.white
    moves = [new @ np.linalg.inv(old) for new, old in zip(found.grasps, believed, strict=True)]
    assert moves[0][:3, 3] == pytest.approx(-moves[1][:3, 3], abs=2e-4)  # to first order
    relative = [np.linalg.inv(one[0]) @ one[1] for one in (found.grasps, arms.grasps)]
    assert relative[0] == pytest.approx(relative[1], abs=1e-4)


def test_offsets_of_inner_joints_are_found(cell):
    """Those of the third joints are within five deviations, others zero within theirs."""
    arms = cell[0]
    equations = chain(cell, arms.grasps, offsets=True)
    true = np.zeros(arms.q.shape[1])
    true[[2, 9]] = 0.004, -0.003
    found = equations.identify(seen(arms.q[::FEW] - true, np.random.default_rng(2)))
    at = [i for i, name in enumerate(equations.names) if name.startswith("offset")]
    names = [f"offset of {name} [rad]" for name in arms.system.joint_names]
    expected = [true[names.index(equations.names[i])] for i in at]
    error = np.abs(found.fit.values[at] - expected)
    assert (error < 5.0 * found.fit.deviations[at]).all()
    assert found.fit.deviations[at].max() < 1e-3
    assert found.offsets[6] == 0.0  # a rotation of the grasp


def test_one_arm_closes_no_chain(ours):
    """It is refused in a sentence."""
    grasps = ours.grasps[:1]
    with pytest.raises(IdentificationError, match="arm 'left' alone holds the object"):
        ClosedChain(ArmKinematics(ours.system), [0], [np.eye(4)], grasps, NOISE)


def test_one_posture_hides_combinations(cell):
    """It determines six, and parameters of the others stay near the description."""
    arms = cell[0]
    q = np.repeat(arms.q[:1], 50, axis=0)
    found = chain(cell, arms.grasps).identify(seen(q, np.random.default_rng(3)))
    bases = len(cell[3]) - 1
    assert found.combinations == 6
    assert bool(found.hidden) == bool(bases)
    assert (np.abs(found.fit.values) < 0.2 * found.fit.prior_deviations).all()


def test_slopes_are_those_of_finite_differences(ours):
    """Also of a base, as if the second arm were a robot by itself."""
    kinematics, bases = ArmKinematics(ours.system), [np.eye(4), displaced(np.eye(4), WRONG)]
    equations = ClosedChain(kinematics, [0, 1], bases, ours.grasps, NOISE, offsets=True)
    size = len(equations.names)
    e, A, J = equations._equations(ours.q[:3], np.zeros(size))
    assert np.abs(e).max() < 1e-8
    step = 1e-6
    for i in range(size):
        x = np.zeros(size)
        x[i] = step
        slope = (equations._equations(ours.q[:3], x)[0] - e) / step
        assert A[:, :, i] == pytest.approx(slope, abs=1e-5)
    for j in range(ours.q.shape[1]):
        q = ours.q[:3].copy()
        q[:, j] += step
        slope = (equations._equations(q, np.zeros(size))[0] - e) / step
        assert J[:, :, j] == pytest.approx(slope, abs=1e-5)


def recording_of(arms, q, scenario="lift_box"):
    """Return a recording of arms that hold the object."""
    metadata = {
        "scenario": scenario,
        "scenario_text": rd.load_scenario(scenario).text(),
        "joints": list(arms.system.joint_names),
        "period_s": PERIOD,
        "holds_object": True,
    }
    return Recording({"tick": np.arange(len(q), dtype=float), "joint_position": q}, metadata)


def test_a_corrected_base_is_that_of_the_recording(tmp_path):
    """A base off by 5 mm and 1 degree is found within 0.2 mm and 0.02 degrees, comments kept."""
    arms = carried("two Pandas", PERIOD)
    rng = np.random.default_rng(4)
    q = arms.q + NOISE * rng.normal(size=arms.q.shape)
    recording_of(arms, q, "lift_box_panda").save(tmp_path / "run.npz")
    true = rd.load_scenario("lift_box_panda")
    wrong = tmp_path / "wrong.yaml"
    robot = true.cell.robots[1]
    off = [robot.xyz[0] + 0.003, robot.xyz[1] - 0.004, robot.xyz[2]]
    text = rd.load_scenario(
        "lift_box_panda", [f"cell.robots.1.xyz={off}", "cell.robots.1.rpy=[0.0, 0.0, 0.01745]"]
    ).text()
    wrong.write_text(text.replace("cell:\n", "# The cell as measured.\ncell:\n", 1))
    place, figure, report = (tmp_path / name for name in ("new.yaml", "new.png", "new.json"))
    arguments = ["identify", str(tmp_path / "run.npz"), "--what", "frames"]
    outputs = ["--output", str(place), "--plot", str(figure), "--json", str(report)]
    assert main([*arguments, "--scenario", str(wrong), *outputs]) == 0
    found = rd.load_scenario(place).cell
    assert found.robots[0] == true.cell.robots[0]
    for own, other in ((found.robots[1], robot), (found.arms[1].grasp, true.cell.arms[1].grasp)):
        change = change_of(pose_matrix(own), pose_matrix(other))
        assert np.abs(change[:3]).max() < 2e-4
        assert np.degrees(np.abs(change[3:]).max()) < 0.02
    assert figure.stat().st_size > 5_000
    told = json.loads(report.read_text())
    assert told["combinations"] == 12
    assert told["largest_gap_m"]["after"] < 1e-3 < told["largest_gap_m"]["before"]
    assert "gauge" in told


def still(recording):
    """Keep the first sample."""
    q = recording["joint_position"]
    return changed(recording, np.repeat(q[:1], len(q), axis=0))


def swapped_joints(recording):
    """Exchange the arms' columns."""
    return changed(recording, np.roll(recording["joint_position"], 7, axis=1))


def shuffled_joints(recording):
    """Exchange the columns of two joints at the wrist."""
    return changed(recording, recording["joint_position"][:, [*range(5), 6, 5, *range(7, 14)]])


def without_an_arm(recording):
    """Lose the samples of the right arm."""
    q = recording["joint_position"].copy()
    q[:, 7:] = np.nan
    return changed(recording, q)


def stuck_joint(recording):
    """Freeze the encoder of a joint for half of the time."""
    q = recording["joint_position"].copy()
    q[len(q) // 2 :, 3] = q[len(q) // 2, 3]
    return changed(recording, q)


def of_another_robot(recording):
    """Name the joints otherwise."""
    return Recording(recording.columns, {**recording.metadata, "joints": ["panda_joint1"] * 14})


def free(recording):
    """Hold nothing."""
    return Recording(recording.columns, {**recording.metadata, "holds_object": False})


def changed(recording, q):
    """Return a recording with other positions."""
    return Recording({**recording.columns, "joint_position": q}, recording.metadata)


BAD = {
    still: "move by at most",
    swapped_joints: "disagree about the object",
    shuffled_joints: "disagree about the object",
    without_an_arm: "positions of arm 'right' are missing in 100 %",
    stuck_joint: "no base placement or grasp explains the recording",
    of_another_robot: "has joint 'panda_joint1'",
    free: "never hold the object",
}


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_poor_data_of_frames_write_nothing(ours, spoil, tmp_path, capsys):
    """Each has its reason, in a sentence."""
    spoil(recording_of(ours, ours.q)).save(tmp_path / "poor.npz")
    arguments = ["identify", str(tmp_path / "poor.npz"), "--what", "frames"]
    assert main([*arguments, "--output", str(tmp_path / "new.yaml")]) == 2
    printed = capsys.readouterr().err
    assert BAD[spoil] in printed
    assert printed.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["poor.npz"]


def test_offsets_are_not_written_into_a_scenario(ours, tmp_path):
    """They belong into the drives."""
    q = ours.q + NOISE * np.random.default_rng(5).normal(size=ours.q.shape)
    q[:, 2] -= 0.004
    found = rd.identify(recording_of(ours, q), what="offsets")
    assert any("'left_joint3'" in warning for warning in found.warnings)
    with pytest.raises(IdentificationError, match="calibration of its drive"):
        found.write_scenario(tmp_path / "new.yaml", "lift_box")
    assert not list(tmp_path.iterdir())
