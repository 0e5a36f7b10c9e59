# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step of the plant with contacts: two 7-joint arms hold a box, rigidly or by soft fingers.

Real time is a step of 0.25 ms in as much. Processor time is counted.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row
from benchmarks.timing import Timing
from benchmarks.two_arms import states_of, system_of
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.contact_engine import ContactEngine
from robot_dynamics.simulation.engine_plant import EnginePlant
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]

ALGORITHM = "contact_plant_step"
PERIOD, STEPS = 0.002, 8
THRESHOLD_US = 1e6 * PERIOD / STEPS
# Of the contact laws, in parts of the largest impulse: what the solver promises.
TOLERANCE = 1e-10
SQUEEZE = 60.0
_PERIODS = 10  # from a start on: arms that nothing controls do not hold for long
#: A surface out of reach: rigid grasps alone take the plant of rigid grasps.
FAR = SurfaceContact("far", plane((0.0, 0.0, -100.0), (0.0, 0.0, 1.0)), np.zeros((1, 3)))


def rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of two arms of a kind.

    Raises:
        AssertionError: If the laws of contact are not met.
    """
    system = system_of(name)
    robot = Robot(system.model)
    q = states_of(system, robot)[0][0]
    rest = np.zeros(system.model.nv)
    C, K = robot.bias_forces(q, rest), robot.constraint_terms(q, rest)[2]
    maps = transmitted_force_map(system.grasps, (0.5, 0.5))
    wrenches = maps.distribution @ C[system.object_v]
    wrenches += maps.internal @ np.array([0.0, 0.0, 0.0, SQUEEZE, 0.0, 0.0])
    torque = (C - K.T @ wrenches)[system.v_index]
    found = []
    for kind in ("rigid", "soft finger"):
        contacts = tuple(
            ArmContact(Contact.of_kind(kind, _inwards(grasp)), Material(FrictionCone(0.8, 0.01)))
            for grasp in system.grasps
        )
        settings = PlantSettings(command_delay_periods=0, step_s=PERIOD / STEPS)
        plant = EnginePlant(Scene(system, contacts, (FAR,)), q, PERIOD, settings)
        timing, p99 = _timed(plant, torque, rounds)
        motion = plant.engine
        assert isinstance(motion, ContactEngine)
        worst = motion.stepping.residual
        if not worst < TOLERANCE:
            raise AssertionError(f"{name}: the laws of contact are off by {worst:.1e}.")
        found.append(
            Row.alone(
                timing,
                robot=f"two {name} and an object",
                algorithm=ALGORITHM,
                mode=kind,
                lanes=1,
                max_rel_error=worst,
                threshold_us=THRESHOLD_US,
                p99_us=p99,
            )
        )
    return found


def _inwards(grasp: Array) -> Array:
    """Return a frame at a grasp whose z axis points along y to the middle of the object."""
    z = np.array([0.0, -np.sign(grasp[1, 3]), 0.0])
    x = np.array([1.0, 0.0, 0.0])
    return pose(grasp[:3, 3], np.column_stack([x, np.cross(z, x), z]))


def _timed(plant: EnginePlant, torque: Array, rounds: int) -> tuple[Timing, float]:
    """Return the timing of one step, a control period's work included, and its 99th percentile."""
    clock, taken = time.thread_time_ns, []
    for _ in range(max(rounds, 3)):
        plant.reset()
        for _ in range(_PERIODS):
            begin = clock()
            plant.step(torque)
            taken.append(clock() - begin)
    us = np.array(taken[_PERIODS:]) / (1e3 * STEPS)  # caches warm up in the first round
    low, median, high, p99 = np.percentile(us, [25, 50, 75, 99])
    return Timing(float(median), float(us.min()), float((high - low) / median)), float(p99)
