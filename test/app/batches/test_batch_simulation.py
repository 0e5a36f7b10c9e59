# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many cells of a scenario at once: each is its single run, and none disturbs another."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.batches.batch_figures import LARGEST, LEAST
from robot_dynamics.errors import ArgumentError, UnknownNameError

COLUMNS = ("object_pose", "object_twist", "joint_position", "joint_velocity", "grasp_wrench")
COMMANDS = ("applied_torque", "commanded_torque", "internal_force")


def parameters(count, seed=0):
    """Return some of everything that may differ from cell to cell."""
    rng = np.random.default_rng(seed)
    noisy = np.arange(count) % 2
    return {
        "plant.object_mass_scale": rng.uniform(0.8, 1.2, count),
        "plant.command_delay_periods": rng.integers(0, 3, count),
        "plant.grasp_error.left.xyz": 1e-3 * rng.normal(size=(count, 3)),
        "plant.friction_scale": rng.uniform(0.5, 1.5, count),
        "plant.damping_scale": rng.uniform(0.5, 1.5, count),
        "plant.sensors.position": 1e-5 * noisy,
        "plant.sensors.force": rng.uniform(0.0, 0.5, count) * noisy,
        "plant.sensors.force_bias": rng.normal(size=(count, 3)),
        "plant.sensors.force_drift": rng.normal(size=(count, 3)),
        "plant.sensors.wrench_scale.left": rng.uniform(0.98, 1.02, count),
        "plant.sensors.wrench_delay_periods": rng.integers(0, 3, count),
        "plant.sensors.encoder_step": 1e-6 * (np.arange(count) % 3 == 0),
        "control.object.bandwidth": rng.uniform(20.0, 45.0, count),
        "control.internal_force.bandwidth": rng.uniform(5.0, 30.0, count),
        "plant.gravity_tilt": 0.005 * rng.normal(size=(count, 2)),
        "plant.object_center_error": 1e-3 * rng.normal(size=(count, 3)),
        "plant.object_inertia_scale": rng.uniform(0.8, 1.2, count),
    }


def require_single_runs(batch, run, duration, cells, overrides=()):
    """Compare cells with their single runs: columns, figures and endings, to the last bit."""
    for cell in cells:
        own = [*overrides, *batch.overrides(cell)]
        single = rd.simulate("lift_box", overrides=own, duration=duration)
        recording, rows = single.recording, len(single.recording)
        if recording.metadata.get("fault"):
            ending = run.endings[cell]
            assert ending.sentence in recording.metadata["fault"]
            assert ending.time == pytest.approx(recording.metadata["fault_time_s"], abs=1e-9)
            rows = round(ending.time / batch.period)  # then the single run falls back
            assert np.isnan(run.columns["object_pose"][rows + 1 :, cell]).all()
        else:
            assert cell not in run.endings
            for name in (*LARGEST, *LEAST):
                value = single.report[name]
                np.testing.assert_equal(
                    run.figures[name][cell], np.nan if value is None else value
                )
        for name in run.columns:
            assert np.array_equal(recording[name][:rows], run.columns[name][:rows, cell]), name


@pytest.fixture(scope="module")
def varied():
    """Nine cells that differ in everything; the object of one is far too heavy."""
    own = parameters(9)
    own["plant.object_mass_scale"][4] = 1.6
    return rd.BatchSimulation("lift_box", 9, own, threads=2)


def test_cells_are_their_single_runs(varied):
    """With parameters, delay, noise and gains of its own, each cell agrees to the last bit."""
    run = varied.run(0.4, record=(*COLUMNS, *COMMANDS))
    assert list(run.endings) == [4]
    assert run.failed.tolist() == [i == 4 for i in range(9)]
    assert run.endings[4].cause == "unexpected contact"
    known = np.isfinite(run.figures["object_position_error_max_m"])
    assert known.tolist() == [i != 4 for i in range(9)]  # up to its end it kept to the reference
    require_single_runs(varied, run, 0.4, (0, 1, 4, 5))
    poses = run.columns["object_pose"][-1]
    assert len(np.unique(np.delete(poses, 4, axis=0), axis=0)) == 8  # they do differ


@pytest.mark.slow
def test_a_hundred_cells_are_their_single_runs():
    """The same for a hundred random cells over the whole scenario, settled figures included."""
    batch = rd.BatchSimulation("lift_box", 100, parameters(100, seed=1))
    run = batch.run(record=("object_pose", "commanded_torque"))
    require_single_runs(batch, run, None, range(100))


@pytest.mark.slow
def test_limits_of_torque_change_the_internal_force_in_each_cell_alone():
    """At the torque limits of heavy objects the correction equals the single run's."""
    scales = np.linspace(1.0, 1.3, 9)
    narrow = ["safety.effort_fraction=0.79"]
    batch = rd.BatchSimulation(
        "lift_box", 9, {"plant.object_mass_scale": scales}, overrides=narrow
    )
    run = batch.run(3.0, record=("object_pose", "commanded_torque"))
    added = run.figures["added_internal_force_max_n"]
    assert added[0] == 0.0
    assert (added[-3:] > 0.1).all()
    require_single_runs(batch, run, 3.0, (0, 6, 8), narrow)


@pytest.mark.slow
def test_links_of_other_masses_agree_to_rounding():
    """Their inertias are then parameters of the program: other operations, the same numbers."""
    batch = rd.BatchSimulation("lift_box", 3, {"plant.link_mass_scale": [0.95, 1.0, 1.05]})
    run = batch.run(1.0, record=("object_pose", "commanded_torque"))
    for cell in range(3):
        single = rd.simulate("lift_box", overrides=batch.overrides(cell), duration=1.0).recording
        for name, scale in (("object_pose", 1.0), ("commanded_torque", 100.0)):
            off = np.abs(single[name] - run.columns[name][:, cell]).max()
            assert off < 1e-12 * scale  # a thousand periods of rounding; a mass counts 1e-4


def test_parts_and_threads_change_nothing(varied):
    """One thread, or two with other parts of the cells: the same bits."""
    run = varied.run(0.1, record=COLUMNS)
    alone = rd.BatchSimulation("lift_box", 9, varied.parameters, threads=1)
    again = alone.run(0.1, record=COLUMNS)
    for name in COLUMNS:
        assert np.array_equal(run.columns[name], again.columns[name], equal_nan=True)
    assert run.endings == again.endings


@pytest.fixture(scope="module")
def plain():
    """Ten cells with a noise of their own each."""
    return rd.BatchSimulation("lift_box", 10, overrides=["plant.sensors.velocity=1e-4"], threads=1)


def driven(batch, spoil=None, steps=12):
    """Return the state after some periods of control; `spoil` changes torques on the way."""
    batch.reset()
    for k in range(steps):
        torque = batch.control()
        if spoil is not None:
            spoil(k, torque)
        seen = batch.step(torque)
    return seen


def test_numbers_that_are_none_end_their_cell_alone(plain):
    """NaN and infinity, in torques or in the state: no other cell changes."""
    expected = driven(plain)
    assert plain.endings == {}

    def spoil(k, torque):
        if k == 4:
            torque[3, 2], torque[7] = np.nan, np.inf
        if k == 6:
            plain._cells.plant.q[5, 1] = np.nan

    seen = driven(plain, spoil)
    others = [0, 1, 2, 4, 6, 8, 9]
    assert sorted(plain.endings) == [3, 5, 7]
    assert {plain.endings[i].cause for i in (3, 7)} == {"torque invalid"}
    assert plain.endings[5].cause == "simulation"
    assert np.isfinite(seen.q).all()
    assert plain.active.sum() == 7
    for values, good in zip(seen, expected, strict=True):
        assert np.array_equal(values[others], good[others])


def test_torques_of_the_caller_move_cells_as_they_move_single_ones(plain):
    """Without the law: `rd.Simulation` under the same torques, noise included."""
    single = rd.Simulation("lift_box", overrides=["plant.sensors.velocity=1e-4", "plant.seed=6"])
    seen, own = plain.reset(), single.reset()
    rng = np.random.default_rng(3)
    for _ in range(8):
        torque = rng.normal(size=(10, 14))
        torque[6] += single.arms.bias_forces(own.q, 0.0 * own.q)
        seen, own = plain.step(torque), single.step(torque[6])
    for values, expected in zip(seen, own, strict=True):
        assert np.array_equal(values[6], expected)


def test_torques_of_many_periods_are_taken_at_once(plain):
    """The states at the end equal the states after single steps."""
    plain.reset()
    torque = np.random.default_rng(4).normal(size=(6, 10, 14)) + plain.control()
    torque[3, 2, 0] = np.nan
    plain.reset()
    for row in torque:
        expected = plain.step(row)
    endings = plain.endings
    plain.reset()
    seen = plain.step(torque)
    assert plain.endings == endings
    assert list(endings) == [2]
    for values, wanted in zip(seen, expected, strict=True):
        assert np.array_equal(values, wanted)


def test_some_cells_begin_anew(plain):
    """A cell that is reset goes through its start again; the others go on."""
    history = []
    plain.reset()
    for _ in range(10):
        history.append(plain.step(plain.control()))
    plain.reset([2, 8])
    for _ in range(4):
        seen = plain.step(plain.control())
    assert seen.time[[1, 2]] == pytest.approx([0.028, 0.008])
    for values, early in zip(seen, history[3], strict=True):
        assert np.array_equal(values[[2, 8]], early[[2, 8]])


def controlled(batch, periods):
    for _ in range(periods):
        seen = batch.step(batch.control())
    return seen


def test_cells_begin_anew_with_other_parameters():
    """They then equal cells that had these values from the start; the others are unchanged."""
    own = {name: values[:4] for name, values in parameters(5).items()}
    own["plant.command_delay_periods"][:] = [2, 0, 1, 1]
    own["plant.sensors.wrench_delay_periods"][:] = [2, 0, 1, 1]
    batch = rd.BatchSimulation("lift_box", 4, own, threads=1)
    other = {name: values[1:] for name, values in parameters(5, seed=9).items()}
    new = {name: np.concatenate([own[name][:1], other[name][:3]]) for name in own}
    new["plant.seed"] = np.arange(4)
    fresh = rd.BatchSimulation("lift_box", 4, new, threads=1)
    going = controlled(rd.BatchSimulation("lift_box", 4, own, threads=1), 9)
    expected = controlled(fresh, 5)
    controlled(batch, 4)
    batch.reset([1, 2, 3], parameters={name: values[:3] for name, values in other.items()})
    seen = controlled(batch, 5)
    for values, wanted, first in zip(seen, expected, going, strict=True):
        assert np.array_equal(values[1:], wanted[1:])
        assert np.array_equal(values[0], first[0])
    assert batch.overrides(2) == [text for text in fresh.overrides(2) if "seed" not in text] + [
        "plant.seed=2"
    ]
    off = np.zeros((1, 3))
    off[0, 0] = 3.0
    batch.reset([3], parameters={"plant.grasp_error.left.xyz": off})
    assert batch.endings[3].cause == "refused"
    batch.reset([3], parameters={"plant.grasp_error.left.xyz": 0.0 * off})
    assert batch.active.all()
    for given, words in (
        ({"plant.damping": [1.0]}, "parameter 'plant.damping' of some cells"),
        ({"plant.object_mass_scale": [1.0, 1.0]}, "one value for each cell"),
        ({"plant.object_mass_scale": [[1.0]]}, "has shape"),
        ({"plant.command_delay_periods": [3]}, "command_delay_periods of 3, expected at most 2"),
    ):
        with pytest.raises(ArgumentError, match=words):
            batch.reset([3], parameters=given)
    assert controlled(batch, 2).time[:3] == pytest.approx(seen.time[:3] + 2 * batch.period)


def test_equal_cells_become_different():
    """Blocks of parameters that were bound become inputs; noise comes where there was none."""
    own = {"plant.object_mass_scale": np.ones(3), "plant.sensors.velocity": np.zeros(3)}
    batch = rd.BatchSimulation("lift_box", 3, own, threads=1)
    controlled(batch, 3)
    new = {"plant.object_mass_scale": [1.1], "plant.sensors.velocity": [1e-4]}
    batch.reset([1], parameters=new)
    batch.reset()
    seen = controlled(batch, 5)
    both = {name: [values[0], new[name][0], values[0]] for name, values in own.items()}
    expected = controlled(rd.BatchSimulation("lift_box", 3, both, threads=1), 5)
    for values, wanted in zip(seen, expected, strict=True):
        assert np.array_equal(values, wanted)


def test_rows_of_the_caller_are_followed(plain):
    """Rows of the plan give the plan's results; a squeeze of one's own changes its cell alone."""
    plain.reset()
    expected, first = plain.control(), plain.reference_rows[0]
    plain.reset()
    assert np.array_equal(plain.control(first), expected)
    rows = np.tile(plain.reference_rows[300], (10, 1))
    plain.reset()
    for _ in range(3):
        plain.step(plain.control(rows))
    before = plain.control(rows)
    plain.reset()
    for _ in range(3):
        plain.step(plain.control(rows))
    rows[4, plain.reference_columns["internal"]] += 5.0
    changed = (plain.control(rows) != before).any(axis=1)
    assert changed.tolist() == [i == 4 for i in range(10)]


@pytest.mark.parametrize(
    ("scenario", "given", "overrides", "words"),
    [
        ("lift_box", None, ["control.law=a.py:B"], "a controller of one's own"),
        ("lift_box", {"cell.object.xyz": np.zeros((2, 3))}, (), "a key of plant or control"),
        ("lift_box", {"plant.object_mass_scale": [1.0]}, (), "one value for each cell"),
        ("lift_box", {"plant.object_mass_scale": [1.0, np.nan]}, (), "finite numbers"),
        ("lift_box", {"plant.command_delay_periods": [1.0, 2.0]}, (), "expected whole ones"),
        ("lift_box", {"plant.step_s": [0.001, 0.002]}, (), "'step_s'"),
    ],
)
def test_unsupported_batches_are_refused(scenario, given, overrides, words):
    """In one sentence, before anything is compiled."""
    with pytest.raises(ArgumentError, match=words):
        rd.BatchSimulation(scenario, 2, given, overrides=overrides)


def test_a_refused_cell_ends_alone():
    """A grasp that an arm does not reach, and gains that do not bear the delay."""
    off = np.zeros((3, 3))
    off[1, 0] = 3.0
    given = {"plant.grasp_error.left.xyz": off, "control.object.bandwidth": [40.0, 40.0, 400.0]}
    batch = rd.BatchSimulation("lift_box", 3, given)
    run = batch.run(0.02)
    assert {i: one.cause for i, one in run.endings.items()} == {1: "refused", 2: "refused"}
    assert "does not reach" in run.endings[1].sentence
    assert np.isfinite(run.figures["joint_motion_max"][0])
    assert np.isnan(run.figures["joint_motion_max"][1:]).all()


def test_arguments_are_checked(plain):
    """Shapes, names and numbers of cells."""
    with pytest.raises(ArgumentError, match=r"torque has shape \(3,\)"):
        plain.step(np.zeros(3))
    with pytest.raises(UnknownNameError):
        plain.run(0.01, record=["pose"])
    for wrong in (0, True, 2.0, 10**9):
        with pytest.raises(ArgumentError, match="the number of cells is"):
            rd.BatchSimulation("lift_box", wrong)
    with pytest.raises(ArgumentError, match="threads is 0"):
        rd.BatchSimulation("lift_box", 1, threads=0)
    with pytest.raises(ArgumentError, match="contacts belong to a robot"):
        rd.BatchSimulation("lift_box", 1, contacts=[])
    for cells in ([10], [-1], [0.5], np.ones(3, dtype=bool)):
        with pytest.raises(ArgumentError, match="cells are"):
            plain.reset(cells)
    with pytest.raises(ArgumentError, match="2 seeds, expected 1"):
        plain.reset([0], seeds=[1, 2])
    with pytest.raises(ArgumentError, match="periods is 0"):
        plain.step(np.zeros((10, 14)), periods=0)
    with pytest.raises(ArgumentError, match="torques of 2 control periods for 3"):
        plain.step(np.zeros((2, 10, 14)), periods=3)
    with pytest.raises(ArgumentError, match="every is 0"):
        plain.run(0.01, every=0)
