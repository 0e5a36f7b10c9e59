# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration with a fixed step: many compiled steps in a call, checked afterwards.

A step that fails the checks, near a configuration where constraints lose rank, is repeated: with
other constraints or coordinates if there are better ones, or in two parts whose stages stay
farthest from that configuration, or with `singular_step`, which works at any rank. If that fails
as well the integration ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.scaling import closing_tolerance, constraint_scales
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.closed_loop_step import singular_step
from robot_dynamics.simulation.drives import DriveParameters
from robot_dynamics.simulation.integrators.choice import (
    WEAK,
    Choice,
    choose,
    first_choice,
    require_regular_start,
)
from robot_dynamics.simulation.integrators.method import Force, Kernels, Method
from robot_dynamics.simulation.integrators.trajectory import Effort, Trouble

_MOST_AT_ONCE = 1024  # most steps in a call: limits memory, and the response time to Ctrl-C
#: Largest opening of loops by one step [lengths]; a longer step does not resolve the motion.
LARGEST_CORRECTION = 1e-2
# Parts of a step at which it is split in two, all tried.
_CUTS = tuple(0.1 * i for i in range(1, 10))
# Numbers of steps that may become one there, and the margin of one that is clear of it.
_TOGETHER, _CLEAR = (1, 2, 4, 8, 16, 32), 1e-6
# Least margin, as a part of the largest so far. The first one is that of a regular configuration.
# The margin is the square of a ratio of singular values: 1e-4 is a hundredth of the constraints'
# effect. Dependent coordinates, and constraints that are not projected, are chosen again before.
_NEAR = {"independent": 1e-2, "stabilised": 1e-2}
_NEAR_BY_DEFAULT = 1e-4
# Below this margin the motion is determined by rounding errors.
_LOST = WEAK**2


@dataclass(frozen=True)
class Block:
    """The results of consecutive steps, one row each, as of `Kernels.chain`."""

    q: Array
    qd: Array
    closure: Array
    slip: Array
    drift: Array
    margin: Array

    def first(self, count: int) -> Block:
        """Return the first `count` steps."""
        return Block(*(values[:count] for values in vars(self).values()))


class FixedSteps:
    """Takes steps of one length.

    Attributes:
        effort: Steps so far, and the largest errors.
        time: Time reached [s].
        force: Joint forces (nv,), or a function that returns them; may be set between steps.
    """

    def __init__(
        self,
        robot: Robot,
        method: Method,
        force: Force | Array,
        step: float,
        q: Array,
        limit: float,
        length: float,
    ) -> None:
        """Choose constraints at the start and compile them.

        Args:
            robot: The mechanism.
            method: The method.
            force: Joint forces (nv,), or a function that returns them.
            step: Length of the step [s].
            q: Positions at the start (nq,), loops closed.
            limit: Largest opening of a loop [m], rotations at `length`; beyond it the integration
                ends.
            length: Length [m] that scales rotations to displacements.
        """
        self._robot, self._method, self.force, self._h = robot, method, force, step
        self._limit, self._length = limit, length
        self._scales = constraint_scales(robot.model, length) * robot.model.holonomic
        self._made: dict[Choice, Kernels] = {}
        self._kernels: Kernels
        self._near = least_margin(method)
        # Implied constraints stay closed to rounding errors, those of frames included.
        gap = float(np.max(self._open(robot.closure(q)[1]), initial=0.0))
        closed = method.name != "stabilised"  # which never closes loops entirely
        self._implied = closing_tolerance(robot.model) * length + 100.0 * gap if closed else limit
        self.effort, self.time = Effort(), 0.0
        self._largest_margin, self._at_once = 0.0, 1
        choice, regular = first_choice(robot, q, length)
        self._take_up(method.choice(choice), regular, np.zeros(robot.model.nv))

    def run(self, times: Sequence[float], q: Array, qd: Array) -> Iterator[tuple[Array, Array]]:
        """Yield positions (nq,) and velocities (nv,) at the times after the first [s].

        Times are whole numbers of steps apart.
        """
        if self._method.name != "projection":
            require_regular_start(self._robot, self._method.name, times[0], q, self._length)
        taken = 0
        for time in times[1:]:
            target = round((time - times[0]) / self._h)
            q, qd = self.advance(times[0], taken, target, q, qd)
            taken = target
            yield q, qd

    def advance(
        self, start: float, taken: int, target: int, q: Array, qd: Array
    ) -> tuple[Array, Array]:
        """Return the state after `target` steps, from the state (nq,), (nv,) after `taken` steps.

        Both counted from the time `start` [s].

        Raises:
            Trouble: If the motion grows without bound, or loops open.
        """
        while taken < target:
            self.time = now = start + taken * self._h
            count = min(target - taken, self._at_once, _MOST_AT_ONCE)
            block = self._steps(now, q, qd, count, self._h)
            kept = self._trusted(block, now, self._near * self._largest_margin)
            if kept:
                self._note(block.first(kept), kept)
                q, qd, taken = block.q[kept - 1], block.qd[kept - 1], taken + kept
            if kept == count:
                self._at_once = min(2 * self._at_once, _MOST_AT_ONCE)
            else:
                q, qd, steps = self._hard_steps(start + taken * self._h, q, qd, target - taken)
                taken, self._at_once = taken + steps, 1
        return q, qd

    @property
    def memory(self) -> tuple[Choice, float, int]:
        """Internal state: setting it makes the following steps the same bit for bit."""
        return self._kernels.choice, self._largest_margin, self._at_once

    @memory.setter
    def memory(self, memory: tuple[Choice, float, int]) -> None:
        choice, margin, at_once = memory
        self._use(choice)
        self._largest_margin, self._at_once = margin, at_once

    def _steps(self, start: float, q: Array, qd: Array, count: int, h: float) -> Block:
        """Return `count` steps of length h [s] by the present kernels."""
        if callable(self.force):
            return self._steps_under(self.force, start, q, qd, count, h)
        with np.errstate(all="ignore"):
            return Block(*self._kernels.chain(h)(count, q, qd, self.force))

    def _steps_under(
        self, force: Force, start: float, q: Array, qd: Array, count: int, h: float
    ) -> Block:
        """Return `count` steps with a force that is a function, called at every stage."""
        rows = []
        with np.errstate(all="ignore"):
            for i in range(count):
                row = self._kernels.step_under(force, start + i * h, q, qd, h)
                q, qd = row[:2]
                rows.append(row)
        return Block(*(np.array(column) for column in zip(*rows, strict=True)))

    def _trusted(self, block: Block, start: float, floor: float) -> int:
        """Return the number of steps before the first that fails the checks.

        A step fails if it is not finite, its margin is below `floor`, or it opens constraints that
        are left out.

        Raises:
            Trouble: If loops opened too far.
        """
        finite = np.isfinite(block.q).all(axis=1) & np.isfinite(block.qd).all(axis=1)
        with np.errstate(all="ignore"):
            end = self._robot.closure(block.q[-1])[1]
        opened = self._open(np.vstack([block.closure, end]))
        # Constraints that are left out must stay closed.
        implied = np.max(opened[1:, self._left_out], axis=1, initial=0.0) <= self._implied
        good = finite & (block.margin >= floor) & implied
        kept = len(good) if good.all() else int(np.argmin(good))
        for errors, limit, what in (
            (opened[: kept + 1], self._limit, "loops are open by"),
            (
                self._open(block.drift[:kept]),
                LARGEST_CORRECTION * self._length,
                "a step opened loops by",
            ),
        ):
            largest = np.max(errors, axis=1, initial=0.0)
            if np.any(largest > limit):
                at = int(np.argmax(largest > limit))
                reason = f"{what} {largest[at]:.1e} m, more than {limit:.1e} m"
                raise Trouble(start + at * self._h, reason)
        return kept

    def _hard_steps(self, time: float, q: Array, qd: Array, most: int) -> tuple[Array, Array, int]:
        """Return the state after some steps near or at a singular configuration, and their number.

        Up to `most` steps become one: short steps would end closer to the configuration.
        """
        found = self._method.choice(choose(self._robot, q, self._length))
        present = self._kernels.choice
        if len(found.rows) >= len(present.rows) and found != present:
            self._take_up(found, q, qd)
            block = self._steps(time, q, qd, 1, self._h)
            if self._trusted(block, time, self._near * self._largest_margin):
                self._note(block, 1)
                return block.q[0], block.qd[0], 1
        best: list[Block] = []
        for count in (count for count in _TOGETHER if count <= most):
            ways = [self._in_parts(time, q, qd, count * self._h, cut) for cut in (1.0, *_CUTS)]
            way = max(ways, key=_margin)
            if _margin(way) > _margin(best):
                best, steps = way, count
            if _margin(best) >= _CLEAR * self._largest_margin:
                break
        if best:
            for block in best:
                self._note(block, 0)
            self._count(steps=steps, singular_steps=1)
            return best[-1].q[0], best[-1].qd[0], steps
        if self._method.name != "projection":
            raise Trouble(
                time,
                "constraints nearly lose rank at a singular configuration, or motion is unbounded",
                'forces that keep the motion bounded, or "projection"',
            )
        return *self._step_of_any_rank(time, q, qd), 1

    def _in_parts(
        self, time: float, q: Array, qd: Array, length: float, cut: float
    ) -> list[Block]:
        """Return a step in two parts, split at `cut`, or whole with 1.0; [] if the checks fail."""
        parts: list[Block] = []
        for h in (cut * length, (1.0 - cut) * length)[: 1 if cut == 1.0 else 2]:
            block = self._steps(time, q, qd, 1, h)
            if not self._trusted(block, time, _LOST):
                return []
            q, qd, time = block.q[0], block.qd[0], time + h
            parts.append(block)
        return parts

    def _step_of_any_rank(self, time: float, q: Array, qd: Array) -> tuple[Array, Array]:
        nv = self._robot.model.nv
        free = DriveParameters(np.arange(nv), np.full(nv, np.inf), np.zeros(nv), np.zeros(nv), 1.0)
        tau = self.force(time, q, qd) if callable(self.force) else self.force
        try:
            new_q, new_v, _, closure, drift = singular_step(
                self._robot, free, self._h, q, qd, np.asarray(tau, dtype=float)
            )
        except (RobotDynamicsError, np.linalg.LinAlgError, ValueError) as error:
            raise Trouble(time, f"motion is unbounded ({str(error).rstrip('.')})") from error
        opened = float(np.max(self._open(self._robot.closure(new_q)[1]), initial=0.0))
        if not (opened <= self._limit and np.isfinite(new_v).all()):
            raise Trouble(
                time,
                f"a step from a singular configuration opened loops by {opened:.1e} m",
                "velocities of one of the motions that meet there, or a shorter step",
            )
        self._count(steps=1, singular_steps=1)
        self._largest(self._open(closure), self._open(drift))
        return new_q, new_v

    def _take_up(self, choice: Choice, q: Array, qd: Array) -> None:
        """Use a choice of constraints from the state (nq,), (nv,) on."""
        if self._made:
            self._count(choices=1)
        self._use(choice)
        margin = float(self._kernels.rate(q, qd, np.zeros(len(qd)))[5])
        self._largest_margin = max(self._largest_margin, margin if np.isfinite(margin) else 0.0)

    def _use(self, choice: Choice) -> None:
        if choice not in self._made:
            self._made[choice] = Kernels(self._robot.model, self._method, choice)
        self._kernels = self._made[choice]
        everything = range(self._robot.model.constraint_count)
        self._left_out = [i for i in everything if i not in choice.rows]

    def _open(self, errors: Array) -> Array:
        """Return openings [m] of position errors (..., n^c)."""
        return np.asarray(np.abs(errors * self._scales))

    def _note(self, block: Block, steps: int) -> None:
        self._largest(self._open(block.closure), self._open(block.drift))
        self._count(steps=steps)
        self._largest_margin = max(self._largest_margin, float(np.max(block.margin)))
        smallest = min(self.effort.smallest_margin, float(np.min(block.margin)))
        self.effort = replace(self.effort, smallest_margin=smallest)

    def _largest(self, closure: Array, drift: Array) -> None:
        self.effort = replace(
            self.effort,
            closure_error=max(self.effort.closure_error, float(np.max(closure, initial=0.0))),
            correction=max(self.effort.correction, float(np.max(drift, initial=0.0))),
        )

    def _count(self, **more: int) -> None:
        changed = {name: getattr(self.effort, name) + count for name, count in more.items()}
        self.effort = replace(self.effort, **changed)  # type: ignore[arg-type]


def _margin(way: list[Block]) -> float:
    """Return the least margin of the parts of a way; -1 if there is none."""
    return min((float(block.margin[0]) for block in way), default=-1.0)


def least_margin(method: Method) -> float:
    """Return the part of the largest margin so far from which on a step is trusted."""
    return _NEAR.get(method.name, _NEAR_BY_DEFAULT)
