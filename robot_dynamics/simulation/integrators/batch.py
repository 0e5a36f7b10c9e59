# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration of many states at once with a fixed step: one kernel call a step for all of them.

The constraints are chosen at the first state. If a step of a state fails the checks with them,
that state is integrated separately by `FixedSteps`, from the previous output on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.scaling import closing_tolerance, constraint_scales
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.choice import first_choice, require_regular_start
from robot_dynamics.simulation.integrators.fixed_steps import (
    LARGEST_CORRECTION,
    FixedSteps,
    least_margin,
)
from robot_dynamics.simulation.integrators.method import Force, Kernels, Method
from robot_dynamics.simulation.integrators.trajectory import Effort, Trouble


class BatchSteps:
    """Takes steps of one length with N states.

    Attributes:
        alone: Integrators of the states that are integrated separately, by their index.

    Args:
        robot: The mechanism.
        method: "projection" or "stabilised".
        force: Joint forces (nv,) or (N, nv), or a function that returns them for states (N, nq)
            and (N, nv).
        step: Length of the step [s].
        q: Positions at the start (N, nq), loops closed.
        limit: Largest opening of a loop [m], of all states or of each (N,); beyond it the
            integration ends.
        length: Length [m] that scales rotations to displacements.
    """

    def __init__(
        self,
        robot: Robot,
        method: Method,
        force: Force | Array,
        step: float,
        q: Array,
        limit: float | Array,
        length: float,
    ) -> None:
        self._robot, self._method, self._force, self._h = robot, method, force, step
        self._length, model = length, robot.model
        self._limit = np.broadcast_to(limit, len(q))
        self._scales = constraint_scales(model, length) * model.holonomic
        choice, regular = first_choice(robot, q[0], length)
        choice = method.choice(choice)
        self._kernels = Kernels(model, method, choice, lanes=None)
        self._left_out = [i for i in range(model.constraint_count) if i not in choice.rows]
        gap = np.max(self._open(robot.closure(q)[1]), axis=-1, initial=0.0)
        implied = closing_tolerance(model) * length + 100.0 * gap
        self._implied = self._limit if method.name == "stabilised" else implied
        still = np.zeros(model.nv)
        with np.errstate(all="ignore"):
            margins = self._kernels.rate(np.vstack([regular, q]), still, still)[5]
        self._largest_margin = np.fmax(margins[1:], margins[0])
        self._effort, self.time = Effort(choices=1), 0.0
        self.alone: dict[int, FixedSteps] = {}

    @property
    def effort(self) -> Effort:
        """Steps so far, summed over all states, and the largest errors of any."""
        every = [self._effort, *(steps.effort for steps in self.alone.values())]
        return Effort(
            sum(e.steps for e in every),
            0,
            sum(e.singular_steps for e in every),
            max(e.choices for e in every),
            max(e.closure_error for e in every),
            max(e.correction for e in every),
            min(e.smallest_margin for e in every),
        )

    def run(self, times: Sequence[float], q: Array, qd: Array) -> Iterator[tuple[Array, Array]]:
        """Yield positions (N, nq) and velocities (N, nv) at the times after the first [s]."""
        taken = 0
        for time in times[1:]:
            target, start = round((time - times[0]) / self._h), times[0] + taken * self._h
            new_q, new_v, bad = self._together(start, target - taken, q, qd)
            for i in np.flatnonzero(bad).tolist():
                try:
                    if i not in self.alone:
                        self.alone[i] = self._taken_out(i, start, q[i])
                    new_q[i], new_v[i] = self.alone[i].advance(
                        times[0], taken, target, q[i], qd[i]
                    )
                except Trouble as trouble:
                    reason = f"state {i}: {trouble.reason}"
                    raise Trouble(trouble.time, reason, trouble.expected) from trouble
            q, qd, taken = new_q, new_v, target
            yield q, qd

    def _together(
        self, start: float, count: int, q: Array, qd: Array
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the states `count` steps later, and a mask (N,) of those that fail the checks."""
        bad = np.zeros(len(q), dtype=bool)
        bad[list(self.alone)] = True
        if bad.all():
            return q.copy(), qd.copy(), bad
        before, step = (q, qd), self._kernels.step(self._h)
        largest = [np.zeros(len(q)), np.zeros(len(q))]
        smallest = np.ones(len(q))
        near = least_margin(self._method)
        for i in range(count):
            self.time = start + i * self._h
            with np.errstate(all="ignore"):
                if callable(self._force):
                    q, qd, closure, _, drift, margin = self._kernels.step_under(
                        self._force, self.time, q, qd, self._h
                    )
                else:
                    q, qd, closure, _, drift, margin = step(q, qd, self._force)
                opened, moved = self._open(closure), self._open(drift)
                good = margin >= near * self._largest_margin
                good &= np.isfinite(q).all(axis=-1) & np.isfinite(qd).all(axis=-1)
                if i and self._left_out:  # in the first step they are those of the start
                    left = np.max(opened[:, self._left_out], axis=-1)
                    good &= left <= self._implied
                errors = [np.max(part, axis=-1, initial=0.0) for part in (opened, moved)]
                good &= (errors[0] <= self._limit) & (
                    errors[1] <= LARGEST_CORRECTION * self._length
                )
            bad |= ~good
            if bad.any():  # reset, so that forces are asked for finite states
                q[bad], qd[bad] = before[0][bad], before[1][bad]
            largest = [np.fmax(m, e) for m, e in zip(largest, errors, strict=True)]
            smallest = np.fmin(smallest, margin)
            self._largest_margin = np.where(
                bad, self._largest_margin, np.fmax(self._largest_margin, margin)
            )
        with np.errstate(all="ignore"):
            end = self._open(self._robot.closure(q)[1])
        if self._left_out:
            bad |= np.max(end[:, self._left_out], axis=-1) > self._implied
        bad |= np.max(end, axis=-1, initial=0.0) > self._limit
        self._note(count, ~bad, largest[0], largest[1], smallest)
        return q, qd, bad

    def _taken_out(self, i: int, time: float, q: Array) -> FixedSteps:
        """Return an integrator of state i alone, from positions q (nq,) on."""
        if self._method.name != "projection":
            require_regular_start(self._robot, self._method.name, time, q, self._length)
        force: Force | Array
        if callable(self._force):
            of_all, shape = self._force, (len(self._limit), 1)

            def force(time: float, q: Array, qd: Array) -> Array:
                every = of_all(time, np.tile(q, shape), np.tile(qd, shape))
                return np.broadcast_to(every, (len(self._limit), len(qd)))[i]
        else:
            force = np.broadcast_to(self._force, (len(self._limit), self._robot.model.nv))[i]
        limit = float(self._limit[i])
        steps = FixedSteps(self._robot, self._method, force, self._h, q, limit, self._length)
        # Its margins are relative to the largest one of the whole motion.
        choice, margin, at_once = steps.memory
        steps.memory = choice, max(margin, float(self._largest_margin[i])), at_once
        return steps

    def _open(self, errors: Array) -> Array:
        """Return openings [m] of position errors (..., n^c)."""
        return np.asarray(np.abs(errors * self._scales))

    def _note(
        self, count: int, good: NDArray[np.bool_], closure: Array, drift: Array, margin: Array
    ) -> None:
        effort = self._effort
        self._effort = replace(
            effort,
            steps=effort.steps + count * int(np.count_nonzero(good)),
            closure_error=max(effort.closure_error, float(np.max(closure[good], initial=0.0))),
            correction=max(effort.correction, float(np.max(drift[good], initial=0.0))),
            smallest_margin=min(effort.smallest_margin, float(np.min(margin[good], initial=1.0))),
        )
