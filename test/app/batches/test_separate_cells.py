# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cells that are not compiled together: each is its single run, in one process or in several."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.batches.batch_simulation import why_separate
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError

RECORD = ("object_pose", "joint_position", "commanded_torque", "grasp_slip")


def require_single_run(batch, run, cell, duration):
    """Compare a cell with its single run until it ended: columns and figures, to the last bit."""
    single = rd.simulate(batch.scenario, overrides=batch.overrides(cell), duration=duration)
    rows = len(run.times)
    if cell in run.endings:
        ending = run.endings[cell]
        assert ending.sentence in single.recording.metadata["fault"]
        assert ending.time == single.recording.metadata["fault_time_s"]
        rows = round(ending.time / batch.period)
    else:
        for name, values in run.figures.items():
            value = single.report[name]
            np.testing.assert_equal(values[cell], np.nan if value is None else value)
    for name, values in run.columns.items():
        assert np.array_equal(values[:rows, cell], single.recording[name][:rows]), name


@pytest.fixture(scope="module")
def trays():
    """Three trays on palms, with loads and noise of their own."""
    own = {
        "plant.object_mass_scale": [0.9, 1.0, 1.1],
        "plant.sensors.force": [0.0, 0.1, 0.2],
    }
    return rd.BatchSimulation("tray", 3, own, threads=1)


def test_contacts_are_those_of_single_runs(trays):
    """Figures of contacts included, and again after a reset."""
    assert "contacts that slip" in trays.separate
    run = trays.run(0.06, record=RECORD)
    assert run.endings == {}
    assert np.isfinite(run.figures["grasp_slip_max_m"]).all()
    require_single_run(trays, run, 2, 0.06)
    again = trays.run(0.06, record=RECORD, every=2)
    for name in RECORD:
        assert np.array_equal(again.columns[name], run.columns[name][::2])
    with pytest.raises(UnknownNameError):
        trays.run(0.004, record=["pose"])


def test_laws_with_gains_of_their_own_share_a_program():
    """The kernel of the first cell, with the gains of each."""
    trays = rd.BatchSimulation("tray", 2, {"control.object.bandwidth": [20.0, 18.0]}, threads=1)
    run = trays.run(0.03, record=RECORD)
    require_single_run(trays, run, 1, 0.03)
    cells = trays._cells._workers[0]._cells._cells
    assert cells[0].loop.law.kernel.source is cells[1].loop.law.kernel.source


def test_steps_of_the_caller_are_those_of_a_run(trays):
    """Step by step under the law's torques; numbers that are none end their cell alone."""
    run = trays.run(0.04, record=("joint_position", "object_pose"))
    trays.reset()
    trays.step(trays.control())
    torque = trays.control()
    torque[0, 3] = np.nan
    trays.step(torque)
    trays.step(trays.control())
    trays._cells._workers[0]._cells._cells[1].plant.engine.stepping.v[0] = np.nan
    for _ in range(5):
        seen = trays.step(trays.control())
    assert sorted(trays.endings) == [0, 1]
    assert trays.endings[0].cause == "torque invalid"
    assert seen.time[2] == pytest.approx(8 * trays.period)
    assert np.array_equal(seen.q[2], run.columns["joint_position"][8, 2])
    assert np.array_equal(seen.object_pose[2], run.columns["object_pose"][8, 2])
    trays.reset([0])
    assert trays.active.tolist() == [True, False, True]


def test_rows_of_the_caller_are_followed(trays):
    """Those of the plan move the arms as the plan does; another squeeze changes its cell alone."""
    trays.reset()
    expected = trays.control()
    trays.reset()
    rows = trays.reference_rows
    assert np.array_equal(trays.control(rows[0]), expected)
    trays.reset()
    own = np.tile(rows[: len(rows) // 2 : 60][:, None], (1, 3, 1))
    before = trays.follow(own)
    own[:, 1, trays.reference_columns["internal"]] += 3.0
    trays.reset()
    changed = (trays.follow(own).q != before.q).any(axis=1)
    assert changed.tolist() == [False, True, False]


def test_planned_faults_end_their_cells():
    """Planned faults of the scenario are found in each cell, as in a single run."""
    fault = "plant.faults=[{kind: position_nan, arm: left, time_s: 0.02}]"
    own = {"plant.object_mass_scale": [1.0, 1.01]}
    batch = rd.BatchSimulation("lift_box", 2, own, overrides=[fault], threads=1)
    assert "planned faults" in batch.separate
    run = batch.run(0.04, record=("object_pose",))
    assert run.failed.all()
    assert np.isnan([*run.figures.values()]).all()
    assert run.endings[0].time == pytest.approx(0.02)
    require_single_run(batch, run, 1, 0.04)


def test_cells_begin_anew_with_other_parameters():
    """They then equal cells that had these values from the start; the others are unchanged."""
    batch = rd.BatchSimulation("gravity", 2, {"plant.damping_scale": [1.0, 0.5]}, threads=1)
    fresh = rd.BatchSimulation("gravity", 2, {"plant.damping_scale": [1.0, 0.8]}, threads=1)
    for _ in range(3):
        batch.step(batch.control())
    batch.reset([1], parameters={"plant.damping_scale": [0.8]})
    for _ in range(4):
        seen, expected = batch.step(batch.control()), fresh.step(fresh.control())
    assert np.array_equal(seen.q[1], expected.q[1])
    assert seen.time == pytest.approx([7 * batch.period, 4 * batch.period])


def test_arms_alone_move_under_torques_of_the_caller():
    """Without an object and without the law: `rd.Simulation` under the same torques."""
    batch = rd.BatchSimulation("gravity", 2, {"plant.damping_scale": [1.0, 0.5]}, threads=1)
    single = rd.Simulation("gravity", overrides=batch.overrides(1))
    torque = np.full((4, 2, len(batch.joint_names)), 0.3)
    seen = batch.step(torque)
    for row in torque:
        own = single.step(row[1])
    assert np.array_equal(seen.q[1], own.q)
    batch.reset()
    with pytest.raises(ArgumentError, match="rows of one's own with law 'gravity'"):
        batch.control(np.zeros((2, 19)))
    with pytest.raises(ArgumentError, match="rows of one's own"):
        batch.reference_rows  # noqa: B018


def test_separate_cells_have_a_reason():
    """Of scenarios: contacts, joints, loops, plants and laws of other kinds go one by one."""
    assert why_separate(load_scenario("lift_box")) == ""
    assert why_separate(load_scenario("lift_box", ["control.law=impedance"])) == ""
    for name, changes, words in (
        ("fold", (), "an object with a joint"),
        ("parallelogram_arms", (), "arms with loops"),
        ("lift_box", ["plant.engine=mujoco"], "the plant 'mujoco'"),
        ("lift_box", ["control.law=admittance"], "the law 'admittance'"),
        ("lift_box", ["control.object_pose=sensor"], "a sensor"),
        ("lift_box", ["plant.pushes=[{force: [1, 0, 0]}]"], "planned pushes"),
        ("lift_box", ["plant.joint_friction=coulomb"], "friction that holds joints"),
    ):
        assert words in why_separate(load_scenario(name, changes))


def test_a_refused_cell_ends_alone():
    """A grasp that an arm does not reach."""
    off = np.zeros((2, 3))
    off[1, 0] = 3.0
    batch = rd.BatchSimulation("tray", 2, {"plant.grasp_error.left.xyz": off}, threads=1)
    assert list(batch.endings) == [1]
    assert "does not reach" in batch.endings[1].sentence
    assert np.isnan(batch.observation.q[1]).all()
    assert np.isfinite(batch.step(np.zeros(len(batch.joint_names))).q[0]).all()


def test_unknown_keys_and_values_are_refused_at_once():
    """Keys, values and arms that are not there, also in a later start; nothing changes."""
    scale = "plant.damping_scale"
    for given, words in (
        ({"plant.damping_scal": [1.0, 1.0]}, "did you mean 'damping_scale'"),
        ({scale: [1.0, -1.0]}, scale),
        ({"plant.grasp_error.middle.xyz": np.zeros((2, 3))}, "middle"),
    ):
        with pytest.raises(RobotDynamicsError, match=words):
            rd.BatchSimulation("gravity", 2, given, threads=1)
    batch = rd.BatchSimulation("gravity", 2, {scale: [1.0, 0.5]}, threads=1)
    with pytest.raises(RobotDynamicsError, match=scale):
        batch.reset([1], parameters={scale: [-1.0]})
    assert batch.parameters[scale].tolist() == [1.0, 0.5]
    assert batch.active.all()


def test_cells_are_single_runs_with_all_overrides_after_steps_of_the_caller():
    """Overrides of all cells are among those of a cell, and a run begins at the start."""
    common, own = "plant.command_delay_periods=1", {"plant.damping_scale": [1.0, 0.5]}
    batch = rd.BatchSimulation("gravity", 2, own, overrides=[common], threads=1)
    batch.step(np.zeros(len(batch.joint_names)))
    run = batch.run(0.02, record=("applied_torque",))
    assert common in batch.overrides(1)
    single = rd.simulate("gravity", overrides=batch.overrides(1), duration=0.02)
    assert np.array_equal(single.recording["applied_torque"], run.columns["applied_torque"][:, 1])


@pytest.mark.slow
def test_processes_change_nothing(trays):
    """Cells in two processes equal those in one process; messages too."""
    run = trays.run(0.06, record=RECORD)
    spread = rd.BatchSimulation("tray", 3, trays.parameters, threads=2)
    again = spread.run(0.06, record=RECORD)
    for name in RECORD:
        assert np.array_equal(run.columns[name], again.columns[name])
    for name in run.figures:
        assert np.array_equal(run.figures[name], again.figures[name], equal_nan=True)
    with pytest.raises(RobotDynamicsError, match="unknown column 'pose'"):
        spread.run(0.004, record=["pose"])
    processes = [part._process for part in spread._cells._workers.values()]
    processes[0].kill()
    with pytest.raises(RobotDynamicsError, match="has ended with status"):
        spread.step(np.zeros(len(spread.joint_names)))
    del spread
    processes[1].wait(60.0)  # by itself, or killed where a busy machine lets it take too long


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["comply", "fold", "lean", "lid", "parallelogram_arms", "peg", "wall_slip", "wipe"]
)
def test_other_scenarios_are_those_of_single_runs(name):
    """Surfaces, hinges, jointed objects, loops in the arms, other laws."""
    own = {"plant.damping_scale": [0.9, 1.1], "plant.seed": [0, 0]}
    batch = rd.BatchSimulation(name, 2, own, threads=1)
    run = batch.run(0.1, record=RECORD[:3])
    require_single_run(batch, run, 1, 0.1)
    again = batch.run(0.1, record=RECORD[:3])
    assert np.array_equal(again.columns["object_pose"], run.columns["object_pose"])
