# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time steps in which stops take part only while a joint is at a stop.

A period is first taken without stops, whose rows would slow each step down, and repeated with them
if a coordinate is beyond its limit at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from robot_dynamics.arrays import Array
from robot_dynamics.model import Model
from robot_dynamics.simulation.contact.time_stepping import SavedMotion, TimeStepping
from robot_dynamics.simulation.scene import RobotScene, Scene
from robot_dynamics.simulation.stops import Stops

_NEAR = 0.01  # distance from a stop [rad or m] that velocities may change within a period


class StoppedSteps:
    """Advances a scene by control periods, with its stops if joints reach them.

    Attributes:
        steps: Steps without stops, which have the current state after each period.
        stops: The stops.
        at_stop: Whether a stop pushed at the end of the last period.

    Args:
        steps: Steps without stops.
        stops: The stops.
    """

    def __init__(self, steps: TimeStepping, stops: Stops) -> None:
        self.steps, self.stops, self.at_stop = steps, stops, False
        self._model = self._stopped_model = steps.scene.model
        self._rows = len(steps.state.contacts.force)

    def tune(self, model: Model, numbers: Sequence[Array] | None = None) -> Sequence[Array]:
        """Take over gravity and variable inertias of a model; see `SceneTerms.tune`."""
        self._model = model
        return self.steps.terms.tune(model, numbers)

    def begin(self) -> None:
        """Begin at the state of the steps; compile those with stops if a stop is near."""
        self.at_stop = False
        if self.stops.near(self.steps.q):
            self._tuned.take_over(self.steps)

    def run(self, force: Array, period: float, count: int) -> Array | None:
        """Advance by a period; see `TimeStepping.run`. Forces of stops are left out."""
        steps = self.steps
        if not self.at_stop:
            reach = _NEAR + 2.0 * period * max(map(abs, steps.v.tolist()))
            before = steps.saved() if self.stops.room(steps.q) < reach else None
            forces = steps.run(force, period, count)
            if before is None or not self.stops.room(steps.q) < 0.0:
                return forces
            steps.restore(before)
        stopped = self._tuned
        if not self.at_stop:  # nothing is left of an earlier stop, also of another engine
            stopped.start(steps.q)
        stopped.take_over(steps)
        forces = stopped.run(force, period, count)
        steps.take_over(stopped)
        pressed = stopped.state.contacts.pressed[steps.terms.opening :]
        self.at_stop = bool(pressed.any())
        return None if forces is None else forces[: self._rows]

    def linearize(self, force: Array, period: float, count: int) -> tuple[Array, Array]:
        """Return the derivatives of a period; see `TimeStepping.linearize`."""
        return (self._tuned if self.at_stop else self.steps).linearize(force, period, count)

    @property
    def _tuned(self) -> TimeStepping:
        """Steps with stops, with the numbers of those without."""
        stopped, friction = self._stopped, self.steps.friction
        if self._stopped_model is not self._model:
            stopped.terms.tune(self._model)
            self._stopped_model = self._model
        stopped.friction.damping[:], stopped.friction.coulomb[:] = (
            friction.damping,
            friction.coulomb,
        )
        stopped.friction.fading = friction.fading
        stopped.step.laws.bound[:] = self.steps.step.laws.bound
        return stopped

    @cached_property
    def _stopped(self) -> TimeStepping:
        """Steps of the scene with its stops, compiled at their first use."""
        steps, scene, stops = self.steps, self.steps.scene, self.stops.items
        with_stops: Scene | RobotScene
        if isinstance(scene, RobotScene):
            with_stops = replace(scene, items=(*scene.items, *stops))
        else:
            with_stops = replace(scene, stops=stops)
        return TimeStepping(with_stops, coulomb=bool(steps.terms.rubbing))

    def saved(self) -> tuple[SavedMotion, SavedMotion | None]:
        """Return copies of all variables."""
        return self.steps.saved(), self._stopped.saved() if self.at_stop else None

    def restore(self, saved: tuple[Any, Any]) -> None:
        """Set the variables that `saved` returned."""
        steps, stopped = saved
        self.steps.restore(steps)
        self.at_stop = stopped is not None
        if stopped is not None:
            self._tuned.restore(stopped)
