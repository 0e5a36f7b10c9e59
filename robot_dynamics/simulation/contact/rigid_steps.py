# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time steps of arms with rigid grasps or without an object: stops, brakes, holding friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.model import Model
from robot_dynamics.simulation.contact.stopped_steps import StoppedSteps
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.drives import DriveParameters
from robot_dynamics.simulation.engine import grew_without_bound
from robot_dynamics.simulation.scene import RobotScene
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.stops import Stops

#: Friction of braked joints over their velocity [N m s/rad].
BRAKES = 1e20


def set_friction(steps: TimeStepping, drives: DriveParameters, settings: PlantSettings) -> None:
    """Give the joints of time steps the friction of drives."""
    friction, layout, at = steps.friction, steps.terms, drives.v_index
    friction.damping[at] = drives.damping
    if settings.joint_friction == "coulomb":
        rows = slice(layout.closing, layout.closing + len(layout.rubbing))
        steps.step.laws.bound[rows] = [
            settings.friction_scale * f for f in layout.rubbing.values()
        ]
    else:
        friction.coulomb[at], friction.fading = drives.friction, drives.friction_velocity


def brake(steps: TimeStepping, drives: DriveParameters, joints: Mask) -> None:
    """Brake these of the first joints with drives (n,), and no others."""
    at, damping = drives.v_index[: len(joints)], drives.damping[: len(joints)]
    steps.friction.damping[at] = np.where(joints, BRAKES, damping)


class RigidSteps:
    """Time steps with impulses of a mechanism whose grasps are loop joints.

    Attributes:
        stepping: Takes the steps; the rows of the loops come first.

    Args:
        model: Arms and object, or the arms alone.
        stops: Stops of its joints.
        drives: Friction of its joints.
        period: Control period [s].
        settings: Step, and the law of friction.
    """

    def __init__(
        self,
        model: Model,
        stops: Stops,
        drives: DriveParameters,
        period: float,
        settings: PlantSettings,
    ) -> None:
        coulomb = settings.joint_friction == "coulomb"
        self._period, self._count = period, settings.contact_steps(period)
        self._loops, self._drives, self._braked = model.constraint_count, drives, False
        # Steps that begin at a stop have all of them; others would only be slower.
        items = () if coulomb else stops.items
        self.stepping = TimeStepping(RobotScene(model, items), coulomb=coulomb)
        self._steps = StoppedSteps(self.stepping, stops) if coulomb else self.stepping
        stepping, layout = self.stepping, self.stepping.terms
        self._terms = layout.output()
        self._look = layout.bind_at(stepping.q, stepping.v, self._terms)
        set_friction(stepping, drives, settings)

    def brake(self, joints: Mask) -> None:
        """Brake these of the driven joints (n,), and no others."""
        self._braked = bool(joints.any())
        brake(self.stepping, self._drives, joints)

    def run(self, end: float, force: Array) -> Array:
        """Advance by one control period; return the mean multipliers of the loops (n^c,).

        Args:
            end: The time at its end [s].
            force: Joint forces (nv,).

        Raises:
            SimulationError: If the motion grows without bound.
        """
        forces = self._steps.run(force, self._period, self._count)
        if forces is None:
            fastest = self.stepping.fastest
            raise grew_without_bound(end, f"a velocity of {fastest:.3g} m/s or rad/s")
        return forces[: self._loops]

    def start(self, q: Array, v: Array) -> None:
        """Begin at positions (nq,) and velocities (nv,), without forces."""
        self.stepping.start(q, v)
        if isinstance(self._steps, StoppedSteps):
            self._steps.begin()

    def saved(self) -> Any:
        """Return copies of all variables."""
        return self._steps.saved()

    def restore(self, saved: Any) -> None:
        """Set the variables that `saved` returned."""
        self._steps.restore(saved)

    def closure(self) -> Array:
        """Return the position errors of the loops (n^c,) [m or rad]."""
        self._look()
        return self._terms.error[: self._loops]

    @property
    def holds(self) -> bool:
        """Whether a brake holds a joint, or a stop pushes."""
        return self._braked or bool(self.stepping.state.contacts.pressed.any())

    def linearize(self, force: Array) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, nv) of a period; see `TimeStepping.linearize`."""
        return self._steps.linearize(force, self._period, self._count)
