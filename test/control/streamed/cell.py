# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that hold an object, to which references are brought while control runs."""

from __future__ import annotations

import numpy as np

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.control.streamed.trajectory import ObjectTrajectory, TrajectoryError


class Cell:
    """Arms that hold an object still, controlled in lockstep."""

    def __init__(self, scenario):
        self.pilot = control_loop(scenario)
        self.plant = make_plant(scenario, true_system(scenario, self.pilot.system))
        self.begin()

    def begin(self):
        """Start anew, and let the ramp go by."""
        self.seen = seen = self.plant.reset()
        self.pilot.safety.stop(0)
        self.pilot.safety.reset()
        self.pilot.check(seen.q, seen.qd)
        self.pilot.start_at(0, 0, seen.q, seen.qd, seen.wrenches)
        self.torques, self.steps = [], []
        self.run(0.3)
        self.torques, self.steps = self.torques[-1:], []

    @property
    def tick(self):
        """The control tick."""
        return self.seen.tick

    def run(self, seconds):
        """Go on for some time."""
        for _ in range(round(seconds / self.pilot.law.period)):
            seen = self.seen
            torque, _, step, _ = self.pilot.update(
                seen.tick, seen.tick, seen.q, seen.qd, seen.wrenches
            )
            self.torques.append(torque)
            self.steps.append(step)
            self.seen = self.plant.step(torque)

    def follow(self, times, poses, *rest, late=None):
        """Bring a trajectory."""
        now, intake = self.pilot.clock.seconds(self.tick), self.pilot.following()[0]
        try:
            path = ObjectTrajectory(times, poses, *rest)
        except TrajectoryError as error:  # as the topics do
            intake.refuse(str(error))
            raise
        intake.take_path(now, path, late=late)

    def ask_internal_force(self, wrench):
        """Bring an internal force."""
        self.pilot.following()[0].take_internal_force(wrench)

    def ask_contact_force(self, surface, wrench):
        """Bring a force on a surface."""
        intake, step = self.pilot.following()
        intake.take_contact_force(surface, wrench, step)

    def ask_surfaces(self, names):
        """Bring surfaces to be touched."""
        intake, step = self.pilot.following()
        intake.take_surfaces(names, step)

    def largest_jump(self):
        """Return the largest change of a torque in a period [N m].

        The rate limit lets 2 N m through; half of it is no jump.
        """
        return float(np.abs(np.diff(np.array(self.torques), axis=0)).max())
