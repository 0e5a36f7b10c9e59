# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the two sides of a run write down."""

import numpy as np
import pytest

from robot_dynamics.app.laws import make_law
from robot_dynamics.app.recorders import ControlRecorder, PlantRecorder
from robot_dynamics.control.control_step import ControlStep
from robot_dynamics.simulation.plant import Measurement, Truth

SEVEN = np.array([0.0, 0, 0, 0, 0, 0, 1.0])


@pytest.fixture(scope="module")
def law(scenario):
    """Return the scenario's control law."""
    return make_law(scenario)


def measured(tick, period=0.002):
    """Return a measurement and a truth with numbers that tell them apart."""
    measurement = Measurement(
        tick, tick * period, np.full(14, 1.0), np.full(14, 2.0), np.full((2, 6), 3.0)
    )
    truth = Truth(SEVEN, np.full(6, 4.0), np.full(6, 5.0), 1e-10, 2e-10, 3e-10, np.full(14, 6.0))
    return measurement, truth


def stepped():
    """Return a control step with numbers that tell its parts apart."""
    values = dict.fromkeys(ControlStep._fields, np.zeros(1))
    values |= {
        "torque": np.full(14, 7.0),
        "pose": SEVEN,
        "twist": np.full(6, 8.0),
        "closure": np.full(6, 9.0),
        "internal_force": np.full(6, 10.0),
        "scales": np.full(5, 1.0),
    }
    return ControlStep(**values)


def test_what_came_while_control_ran_takes_the_place_of_the_plan(scenario, law):
    """From its first row on; where the law does not run, what was followed last stands."""
    control, plan = ControlRecorder(law, scenario, 8), ControlRecorder(law, scenario, 8)
    for tick in range(700):
        row = np.full(25, float(min(tick, 200)))
        row[7:13] = tick < 150  # it moves up to there
        step = None if tick == 300 else stepped()._replace(reference=row)
        streamed = tick >= 100
        control.write(tick, np.full(14, 7.0), step, 12.5, streamed=streamed)
        plan.write(tick, np.full(14, 7.0), step, 12.5)
    found, own = control.finish(2), plan.finish(2)
    for name, part in {
        "reference_pose": slice(0, 7),
        "reference_twist": slice(7, 13),
        "reference_internal_force": slice(19, 25),
    }.items():
        assert np.array_equal(found[name][:100], own[name][:100]), name
        assert (found[name][100] == np.full(25, 100.0)[part]).all() or part.start == 7
        assert np.array_equal(found[name][300], found[name][299]), name
    assert found["reference_pose"][400, 0] == 200.0
    # Its force changes up to period 200; it has settled half a second later.
    (interval,) = found.get("settled_intervals_s")
    assert interval == pytest.approx([201 * 0.002 + 0.5, 699 * 0.002])


def test_both_sides_make_one_recording(scenario, law):
    """The two recordings of a run agree about it and merge; each value is where it belongs."""
    plant, control = PlantRecorder(law.system, scenario, 4), ControlRecorder(law, scenario, 4)
    for tick in range(4):
        plant.write(*measured(tick))
        control.write(tick, np.full(14, 7.0), stepped(), 12.5)
    recording = plant.finish(wall_time_s=1.0).merged(control.finish(2))
    assert len(recording) == 4
    for name, value in {
        "joint_position": 1.0,
        "joint_velocity": 2.0,
        "grasp_wrench": 3.0,
        "object_twist": 4.0,
        "internal_force": 5.0,
        "closure_position": 1e-10,
        "closure_rotation": 2e-10,
        "correction": 3e-10,
        "applied_torque": 6.0,
        "commanded_torque": 7.0,
        "estimated_twist": 8.0,
        "estimated_closure": 9.0,
        "estimated_internal_force": 10.0,
        "control_scales": 1.0,
        "step_time": 12.5,
    }.items():
        assert (recording[name] == value).all(), name
    assert recording.get("scenario") == scenario.name
    assert recording.get("ticks") == 4
    assert set(recording.get("units")) == set(recording.columns)


def test_the_reference_begins_where_it_is_said_to(scenario, law):
    """The reference of a row is that of its time since the reference began."""
    control = ControlRecorder(law, scenario, 700)
    for tick in range(700):
        control.write(tick, np.zeros(14), stepped() if tick < 650 else None, 1.0)
    reference = scenario.plan()
    recording = control.finish(100)
    row = reference.row(599 * scenario.control.period)
    np.testing.assert_array_equal(recording["reference_pose"][699], row[:7])
    np.testing.assert_array_equal(recording["reference_internal_force"][699], row[19:])
    np.testing.assert_array_equal(recording["reference_pose"][99], reference.start)
    # Of a step that the law did not make nothing is known.
    for name in law.columns:
        assert np.isnan(recording[name][650:]).all(), name
        assert np.isfinite(recording[name][:650]).all(), name
