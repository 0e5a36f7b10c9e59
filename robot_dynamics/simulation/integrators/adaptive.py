# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration with error control: SciPy's embedded Runge-Kutta methods, and projection.

It does not pass through singular configurations: near one, error control shortens the steps
without end, until rounding errors decide which branch the motion takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.integrate import DOP853, RK45

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.scaling import constraint_scales
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.choice import (
    choose,
    first_choice,
    require_regular_start,
)
from robot_dynamics.simulation.integrators.method import Force, Kernels, Method
from robot_dynamics.simulation.integrators.trajectory import Effort, Trouble

_SOLVERS = {5: RK45, 8: DOP853}
# Constraints are chosen again below this part of the largest margin so far. A margin is the square
# of a ratio of singular values: errors of the state become 1000 times larger ones of the velocity.
_NEAR = 1e-6
# Below this margin accelerations of the chosen constraints are rounding errors.
_LOST = 1e-13
# A derivative that error control rejects, and whose square is finite.
_OUT_OF_BOUNDS = 1e100


class AdaptiveSteps:
    """Takes steps whose length SciPy chooses by a tolerance, and projects after each.

    Attributes:
        effort: Steps so far, and the largest errors.
        time: Time reached [s].
    """

    def __init__(
        self,
        robot: Robot,
        method: Method,
        force: Force | Array,
        tolerance: float,
        largest: float,
        q: Array,
        limit: float,
        length: float,
    ) -> None:
        """Choose constraints at the start and compile them.

        Args:
            robot: The mechanism.
            method: The method, of order 5 or 8.
            force: Joint forces (nv,), or a function that returns them.
            tolerance: Error of a step, relative and absolute [rad, m, rad/s, m/s].
            largest: Longest step [s].
            q: Positions at the start (nq,), loops closed.
            limit: Largest opening of a loop [m]; beyond it the integration ends.
            length: Length [m] that scales rotations to displacements.

        Raises:
            ArgumentError: If the order is not 5 or 8.
        """
        if method.scheme.order not in _SOLVERS:
            raise ArgumentError(
                f"there is no error control of order {method.scheme.order}, expected 5 or 8."
            )
        self._robot, self._method, self._force = robot, method, force
        self._tolerance, self._largest_step, self._limit = tolerance, largest, limit
        self._length, self._nq = length, robot.model.nq
        self._scales = constraint_scales(robot.model, length) * robot.model.holonomic
        choice, _ = first_choice(robot, q, length)
        self._kernels = Kernels(robot.model, method, method.choice(choice))
        self._evaluations, self._largest_margin = 0, 0.0
        self.effort, self.time = Effort(), 0.0

    def run(self, times: Sequence[float], q: Array, qd: Array) -> Iterator[tuple[Array, Array]]:
        """Yield positions (nq,) and velocities (nv,) at the times after the first [s]."""
        require_regular_start(self._robot, self._method.name, times[0], q, self._length)
        kind = _SOLVERS[self._method.scheme.order]
        with np.errstate(all="ignore"):
            solver = kind(
                self._slope, times[0], np.concatenate([q, qd]), times[-1],
                max_step=self._largest_step, rtol=self._tolerance, atol=self._tolerance,
            )  # fmt: skip
        due = 1
        while due < len(times):
            before = self._evaluations
            with np.errstate(all="ignore"):
                solver.step()
            attempts = round((self._evaluations - before) / kind.n_stages)
            if solver.status == "failed":
                raise Trouble(
                    solver.t, "no step is short enough for the tolerance, motion is unbounded"
                )
            inside = [t for t in times[due:] if t < solver.t]
            if inside:
                between = solver.dense_output()
                for t in inside:
                    yield self._closed(t, between(t))
            due += len(inside)
            self.effort = replace(
                self.effort,
                steps=self.effort.steps + 1,
                rejected=self.effort.rejected + attempts - 1,
            )
            self.time = float(solver.t)
            state = self._closed(solver.t, solver.y, judge=True)
            solver.y = np.concatenate(state)
            solver.f = self._slope(solver.t, solver.y)
            if due < len(times) and solver.t >= times[due]:
                due += 1
                yield state

    def _slope(self, t: float, y: Array) -> Array:
        """Return the derivative (nq + nv,) of the state y; always finite, at any rank of K."""
        self._evaluations += 1
        q, qd = y[: self._nq], y[self._nq :]
        if not np.isfinite(y).all():
            return np.full(len(y), _OUT_OF_BOUNDS)
        tau = self._force(t, q, qd) if callable(self._force) else self._force
        q_rate, qdd, _, _, _, margin = self._kernels.rate(q, qd, tau)
        if not margin >= _LOST:
            try:
                qdd = self._robot.constrained_motion(q, qd, tau).qdd
            except (RobotDynamicsError, np.linalg.LinAlgError, ValueError):
                return np.full(len(y), _OUT_OF_BOUNDS)
        slope = np.concatenate([q_rate, qdd])
        return slope if np.isfinite(slope).all() else np.full(len(y), _OUT_OF_BOUNDS)

    def _closed(self, t: float, y: Array, judge: bool = False) -> tuple[Array, Array]:
        """Return positions (nq,) and velocities (nv,) with loops closed by projection.

        Args:
            t: Time [s].
            y: Positions and velocities (nq + nv,).
            judge: Whether it is the end of a step, which is counted, and where open loops and lost
                rank are errors.

        Raises:
            Trouble: If loops stay open, or constraints lose rank.
        """
        q = np.array(self._robot.model.normalized(y[: self._nq].tolist()))
        qd = y[self._nq :]
        projected_q, projected_v, drift, margin = self._kernels.finish(q, qd, np.zeros(len(qd)))
        if not judge and not margin > 0.0:
            return q, qd  # an output at a singular configuration is not projected
        if judge and not margin >= _NEAR * self._largest_margin:
            self._choose_again(t, q)
            return self._closed(t, y, judge)
        if judge:
            self._largest_margin = max(self._largest_margin, float(margin))
            opened = self._opening(self._robot.closure(projected_q)[1])
            effort = self.effort
            self.effort = replace(
                effort,
                correction=max(effort.correction, self._opening(drift)),
                closure_error=max(effort.closure_error, opened),
                smallest_margin=min(effort.smallest_margin, float(margin)),
            )
            if not opened <= self._limit:
                reason = f"loops are open by {opened:.1e} m, more than {self._limit:.1e} m"
                raise Trouble(t, reason)
        return projected_q, projected_v

    def _choose_again(self, t: float, q: Array) -> None:
        """Choose constraints again at positions q (nq,).

        Raises:
            Trouble: If the present ones are the best.
        """
        found = self._method.choice(choose(self._robot, q, self._length))
        present = self._kernels.choice
        if len(found.rows) < len(present.rows) or found == present:
            raise Trouble(t, "constraints lose rank", "a method with fixed steps, which passes it")
        self._kernels = Kernels(self._robot.model, self._method, found)
        self.effort = replace(self.effort, choices=self.effort.choices + 1)

    def _opening(self, errors: Array) -> float:
        return float(np.max(np.abs(errors * self._scales), initial=0.0))
