# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linearised control period of a cell with its law, against the cell itself."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.runs.cell_linearization import linearize_cell
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario

TIME = 0.6


class Cell:
    """A cell with its law that runs to a time, and goes on from changed states."""

    def __init__(self, name, time, overrides=()):
        scenario = load_scenario(name, overrides, "engine")
        system = build_system(scenario)
        self.loop = control_loop(scenario, system)
        self.plant = make_plant(scenario, true_system(scenario, system))
        self.delay = scenario.plant.command_delay_periods
        self.engine, self.model = self.plant.engine, self.plant.engine.model
        self.seen = self.plant.reset()
        self.loop.begin_law(self.seen.q, self.seen.qd)
        self.tick, self.law = 0, self.loop.law
        for _ in range(round(time / scenario.control.period)):
            self.go_on()
        self.saved = self.plant.state, self.law.running.memory.copy(), self.tick, self.seen

    def go_on(self):
        """Advance by a control period."""
        seen = self.seen
        torque = self.loop.update_unchecked(
            self.tick, self.tick, seen.q, seen.qd, seen.wrenches
        ).torque
        self.seen = self.plant.step(torque)
        self.tick += 1

    def x(self):
        """Return the state, positions as numbers of the model."""
        engine = self.engine
        delayed = [np.asarray(torque) for torque in self.plant._delayed]
        _, _, wrenches = engine.sensed()
        return [engine.q, engine.qd, wrenches.ravel(), *delayed, self.law.running.memory]

    def after(self, change, parts, periods=1):
        """Return the state after some periods from a changed state."""
        self.plant.state, memory, self.tick, self.seen = self.saved
        engine = self.engine
        engine.q = np.array(self.model.integrate(engine.q, change[parts["q"]]))
        engine.qd = engine.qd + change[parts["qd"]]
        rows = engine._wrench_rows
        engine._wrenches = engine._wrenches.copy()
        engine._wrenches[rows] += change[parts["wrenches"]]
        delayed = change[parts["delayed"]].reshape(self.delay, -1)
        for i, more in enumerate(delayed):
            self.plant._delayed[i] = self.plant._delayed[i] + more
        self.law.running.memory = memory + change[parts["memory"]]
        self.seen = self.seen._replace(
            **dict(zip(("q", "qd", "wrenches"), engine.sensed(), strict=True))
        )
        for _ in range(periods):
            self.go_on()
        return [np.array(part) for part in self.x()]

    def between(self, first, second):
        """Return the difference of two states, of positions along velocities."""
        along = self.model.difference(first[0], second[0])
        return np.concatenate(
            [along, *(b - a for a, b in zip(first[1:], second[1:], strict=True))]
        )


@pytest.mark.slow
@pytest.mark.parametrize("law", ["hybrid", "impedance"])
def test_a_period_of_a_cell_goes_on_as_linearised(law):
    """Every part of the state after a period, along random directions of every part before it."""
    other = [f"control.law={law}"]
    A, parts, robot = linearize_cell("lift_box", time=TIME, overrides=other)
    cell, rng = Cell("lift_box", TIME, other), np.random.default_rng(1)
    assert parts["q"] == slice(0, robot.model.nv)
    for part in parts.values():
        d = np.zeros(len(A))
        d[part] = rng.normal(size=part.stop - part.start)
        h = 1e-7  # servos are stiff: second derivatives are large
        ends = [cell.after(s * h * d, parts) for s in (1.0, -1.0)]
        expected = cell.between(ends[1], ends[0]) / (2.0 * h)
        found = A @ d
        for other in parts.values():
            bound = 1e-5 * max(1.0, np.abs(expected[other]).max())
            np.testing.assert_allclose(found[other], expected[other], rtol=0, atol=bound)


@pytest.mark.slow
def test_the_loop_at_rest_is_stable_and_decays_as_its_eigenvalues_say():
    """After the end of the reference, a small change after 20 periods is A^20 times it.

    It is small beside the speed at which friction of the joints fades.
    """
    scenario = load_scenario("lift_box", (), "engine")
    time = scenario.ticks(build_loop(scenario).reference, None) * scenario.control.period
    A, parts, _ = linearize_cell("lift_box", time=time)
    sizes = np.abs(np.linalg.eigvals(A))
    assert sizes.max() < 1.0 + 1e-9
    cell, d = Cell("lift_box", time), np.zeros(len(A))
    d[parts["memory"].start + 13] = 1e-7  # of the integral of the object's pose
    still = cell.after(0.0 * d, parts, 20)
    moved = cell.between(still, cell.after(d, parts, 20))
    expected = np.linalg.matrix_power(A, 20) @ d
    np.testing.assert_allclose(moved, expected, atol=1e-3 * np.abs(expected).max())


def build_loop(scenario):
    """Return the law of a scenario."""
    return control_loop(scenario, build_system(scenario)).law


def test_other_cells_are_refused():
    """Contacts that slip, another law, and a time before the first torque acts."""
    with pytest.raises(rd.ArgumentError, match="expected such a scenario"):
        linearize_cell("wipe", time=0.1)
    with pytest.raises(rd.ArgumentError, match="the brakes hold"):
        linearize_cell("lift_box", time=1e-6)
