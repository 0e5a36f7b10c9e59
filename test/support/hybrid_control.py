# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms that press a box on the floor, with a hybrid controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.settings import (
    ControlSettings,
    FrictionSettings,
    SafetySettings,
    StartSettings,
)
from robot_dynamics.manipulation.hybrid import Environment
from support.mechanisms import two_arms

CELL = two_arms()
SYSTEM = CELL.system
Q, REST = CELL.start[SYSTEM.q_index], np.zeros(14)
START = CELL.start[SYSTEM.object_q]
SETTINGS = ControlSettings(
    start=StartSettings(ramp_s=0.02),
    command_delay_periods=0,
    friction=FrictionSettings(share=0.0),
)
SAFETY = SafetySettings(torque_rate=1e9)
# The foot of the box is where the floor is.
FOOT = (0.05, 0.0, -0.15)


def floor(height):
    """Return an environment with a floor at a height [m] that a foot of the box may touch."""
    return Environment((lambda at: height - at.point(FOOT).z,))


def touching():
    """Return the floor that the foot touches at the start."""
    body = SYSTEM.model.bodies[SYSTEM.object_body].inertia
    return floor(float(START[2] + body.h.z / body.mass + FOOT[2]))


class Plan:
    """A plan at rest with constant forces, or moving straight on at a constant velocity."""

    def __init__(
        self, surfaces=0, internal=6, *, start=START, velocity=(0.0, 0.0, 0.0), contact=0.0,
        squeeze=0.0, wanted=1.0, duration=1.0,
    ):  # fmt: skip
        self.start, self.duration, self._velocity = np.array(start), duration, velocity
        self._row = np.zeros(19 + 2 * surfaces + internal)
        self._row[:7], self._row[10:13] = start, velocity
        self._row[19 : 19 + surfaces] = contact
        self._row[19 + surfaces : 19 + 2 * surfaces] = wanted
        if internal:
            self._row[19 + 2 * surfaces] = squeeze

    def rows(self, times):
        """Return rows (N, 19 + 2 C + m)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        rows = np.tile(self._row, (len(t), 1))
        rows[:, :3] += np.outer(t, self._velocity)
        return rows

    def settled_intervals(self, settle_s):
        """Return all of it."""
        return [(settle_s, self.duration)]


def controller(plan=None, *, settings=SETTINGS, safety=SAFETY, system=SYSTEM, **more):
    """Return a controller of the box; `more` changes its settings or is given to it."""
    changes = {
        name: more.pop(name) for name in ("ahead", "object_pose", "posture") if name in more
    }
    settings = replace(settings, **changes)
    surfaces = len(more["environment"].surfaces) if "environment" in more else 0
    return HybridLaw(system, settings, safety, plan or Plan(surfaces), **more)


def pressing_wrenches(control, drag=(0.0, 0.0, 0.0)):
    """Return the grasps' wrenches of 12 N on the floor and a drag, or of a lighter object."""
    body = SYSTEM.model.bodies[SYSTEM.object_body].inertia
    # Grasp forces that carry the weight but for 12 N, which the floor carries.
    wrench = np.zeros(6)
    wrench[5] = body.mass * 9.81 - 12.0
    wrench[3:] += drag
    wrench[:3] = np.cross(FOOT, np.add(drag, [0.0, 0.0, -12.0]))
    forces = control.distribution.share @ wrench
    wrenches = np.zeros((2, 6))
    for i, contact in enumerate(control.hybrid_system.contacts):
        wrenches[i] = contact.directions @ forces[6 * i : 6 * i + 6]
    return wrenches
