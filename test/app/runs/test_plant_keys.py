# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every key of errors of a plant acts, with both engines and in batches, or is refused."""

from __future__ import annotations

import functools
from typing import get_args, get_type_hints

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.command_line.scenario_schema import key_paths
from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.faults import OF_MESSAGES, FaultSettings
from robot_dynamics.simulation.settings import PlantSettings

#: A wrong value of each key in `lift_box`.
VALUES = {
    "step_s": "0.001",
    "mujoco_step_s": "0.0001",
    "command_delay_periods": "0",
    "object_mass_scale": "1.1",
    "object_center_error": "[0.01, 0, 0]",
    "object_inertia_scale": "1.5",
    "link_mass_scale": "1.1",
    "grasp_error": "{left: {xyz: [0.001, 0, 0]}}",
    "surface_error": "{hinge: {xyz: [0.001, 0, 0]}}",
    "object_error.xyz": "[0.01, 0, 0]",
    "object_error.rpy": "[0, 0, 0.1]",
    "surface_friction_scale": "0.5",
    "grasp_friction_scale": "0.01",
    "gravity_tilt": "[0.02, 0]",
    "damping_scale": "3",
    "friction_scale": "3",
    "joint_friction": "coulomb",
    "friction_velocity": "0.5",
    "torque_limit": "false",
    "sensors.position": "1e-4",
    "sensors.velocity": "1e-3",
    "sensors.force": "0.1",
    "sensors.moment": "0.01",
    "sensors.force_bias": "[1, 0, 0]",
    "sensors.moment_bias": "[0.1, 0, 0]",
    "sensors.force_drift": "[1, 0, 0]",
    "sensors.wrench_scale": "{left: 1.1}",
    "sensors.wrench_delay_periods": "1",
    "sensors.encoder_step": "1e-4",
    "sensors.velocities": "false",
    "sensors.sample_periods": "{left: 3}",
    "pushes": "[{force: [5, 0, 0]}]",
    "payloads": "[{mass: 0.5}]",
}
FAULTS = {
    "late_joints": "value: 0.004",
    "position_scale": "value: 1.01",
    "position_offset": "value: 0.01",
    "velocity_scale": "value: -1",
    "wrench_scale": "value: 1.1",
    "drive_gain": "value: 0.5",
    "joint_stuck": "joint: left_joint2",
}
#: What else it takes to see the effect.
ALSO = {"seed": ["plant.sensors.position=1e-4"]}
#: Other scenarios in which a key acts.
WALL = ("cell.surfaces.0.xyz=[0.659, 0.0, 1.0]", "cell.surfaces.0.friction=0.6")
ELSEWHERE = {
    "surface_error": ("lid", ()),
    "surface_friction_scale": ("wipe", WALL),
    "grasp_friction_scale": ("tray", ()),
}
#: Keys of one engine.
OF_ONE = {"step_s": "engine", "mujoco_step_s": "mujoco"}
ONLY_IN_TASKS = ("object_error.xyz", "object_error.rpy")

KINDS = get_args(get_type_hints(FaultSettings)["kind"])


def changes():
    """Return the override for each key, and for each kind of fault, by its name."""
    found = {key: f"plant.{key}={value}" for key, value in VALUES.items()}
    found["seed"] = "plant.seed=1"
    for kind in KINDS:
        more = f", {FAULTS[kind]}" if kind in FAULTS else ""
        found[f"faults: {kind}"] = f"plant.faults=[{{kind: {kind}{more}}}]"
    return found


CHANGES = changes()
ACTING = [key for key in CHANGES if key not in ONLY_IN_TASKS and key[8:] not in OF_MESSAGES]


@functools.cache
def motion(name, plant, overrides):
    """Return measurements and the object's true motion over a few periods of a fall."""
    sim = rd.Simulation(name, plant, overrides=list(overrides))
    limits = np.nan_to_num(sim.effort_limits, posinf=0.0)
    seen = []
    for tick in range(6):
        measured = sim.step(2.0 * limits * (-1.0) ** np.arange(len(limits)) * (tick > 3))
        seen.append(np.concatenate([np.ravel(part) for part in measured if part is not None]))
    return np.array(seen)


def test_each_key_is_here():
    """A new one needs a row."""
    assert set(key_paths(PlantSettings)) - {"engine", "faults"} == {
        key for key in CHANGES if not key.startswith("faults: ")
    }


@pytest.mark.parametrize(
    ("plant", "key"),
    [
        pytest.param(
            plant, key, marks=[pytest.mark.slow] if plant == "mujoco" or key in ELSEWHERE else []
        )
        for plant in ("engine", "mujoco")
        for key in ACTING
    ],
)
def test_each_key_acts(plant, key):
    """For measured or for true motion; not with an engine that has other steps."""
    name, common = ELSEWHERE.get(key, ("lift_box", tuple(ALSO.get(key, ()))))
    before = motion(name, plant, common)
    after = motion(name, plant, (*common, CHANGES[key]))
    assert np.array_equal(before, after, equal_nan=True) is (OF_ONE.get(key, plant) != plant)


@pytest.fixture(scope="module")
def prepared():
    """System and law, which single runs share."""
    return Preparation()


#: Faults from the first sample on: a single run is refused, and has no motion to compare.
AT_START = (
    "sensors.velocities",
    *(
        f"faults: {kind}"
        for kind in (
            "position_nan",
            "velocity_inf",
            "wrench_nan",
            "swapped_joints",
            "position_scale",
            "position_offset",
        )
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [key for key in ACTING if OF_ONE.get(key) != "mujoco" and key not in AT_START]
)
def test_each_key_acts_in_batches(prepared, key):
    """A cell is its single run."""
    name, common = ELSEWHERE.get(key, ("lift_box", tuple(ALSO.get(key, ()))))
    overrides = [*common, CHANGES[key]]
    if key == "surface_friction_scale":
        overrides = ["cell.surfaces.0.friction=0.6", CHANGES[key]]
    batch = rd.BatchSimulation(name, 1, overrides=overrides, threads=1)
    run = batch.run(0.01, record=("joint_position", "applied_torque"))
    single = simulate(name, overrides=overrides, duration=0.01, preparation=prepared).recording
    for column, values in run.columns.items():
        kept = values[:, 0]
        rows = np.isfinite(kept).all(axis=1)
        np.testing.assert_array_equal(kept[rows], single[column][: len(kept)][rows])


@pytest.mark.parametrize("key", ONLY_IN_TASKS)
def test_keys_without_effect_are_refused(key):
    """An object that is held is where its grasps are."""
    with pytest.raises(RobotDynamicsError, match="no `task`; expected none, or plant"):
        rd.Simulation("lift_box", overrides=[CHANGES[key]])


def test_faults_of_messages_are_named_where_there_are_none():
    """A run in one process has no messages."""
    run = simulate("lift_box", overrides=[CHANGES["faults: silent"]], duration=0.01)
    assert any("'silent' happens to messages" in one for one in run.report["warnings"])
