# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bar between two planar arms as a plant: walls, friction, sensors, and time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar import (
    Bar,
    BarMotion,
    PlanarArm,
    arm_rates,
    bar_motion,
    hunt_crossley,
    slipping,
    smooth_sign,
)
from robot_dynamics.spatial import Scalar

_SLOW = 1e-3  # of the tip [m/s]: friction has tanh(1) of its force there
_SLOW_TURN = 0.01  # of a drive [rad/s], likewise


@dataclass(frozen=True)
class Wall:
    """A wall along x that the bar's tip may touch from below.

    Attributes:
        y: Its position [m].
        stiffness: k [N/m]; infinite for a rigid wall that holds the tip in both directions.
        restitution: e of an impact at `speed`.
        speed: Impact speed of the restitution [m/s].
        friction: mu of Coulomb's law.
    """

    y: float
    stiffness: float = np.inf
    restitution: float = 0.3
    speed: float = 0.068
    friction: float = 0.0

    @property
    def dissipation(self) -> float:
        """Hunt and Crossley's 1.5 (1 - e) / v [s/m]."""
        return 1.5 * (1.0 - self.restitution) / self.speed


@dataclass(frozen=True)
class Imperfections:
    """Effects unknown to a controller.

    Attributes:
        motor_friction: Coulomb friction of each drive [N m].
        delay: Samples from a measurement to the action of its torque.
        position_noise: Standard deviation of x, y [m] and phi [rad].
        velocity_noise: Standard deviation of their rates [m/s, rad/s].
        seed: Seed of the noise.
    """

    motor_friction: float = 0.0
    delay: int = 0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    seed: int = 0


class BarState(NamedTuple):
    """True or measured state at one sample.

    Attributes:
        r: x, y [m] and phi [rad].
        rd: Their rates.
        press: Force on the wall [N].
        squeeze: Internal force [N].
    """

    r: Array
    rd: Array
    press: float
    squeeze: float


class PinnedBarPlant:
    """The bar and both arms under torques held for a period.

    Args:
        arms: Both arms.
        bar: The bar.
        wall: Wall that the tip may touch, or None.
        imperfections: Effects unknown to a controller.
        period: Control period [s].
        step: Integration step (Runge-Kutta, fourth order) [s]; divides the period.
    """

    def __init__(
        self,
        arms: Sequence[PlanarArm],
        bar: Bar,
        wall: Wall | None,
        imperfections: Imperfections,
        period: float,
        step: float,
    ) -> None:
        self._steps = round(period / step)
        if self._steps < 1 or abs(self._steps * step - period) > 1e-9 * period:
            raise ArgumentError(
                f"the step is {step:g} s and the period {period:g} s, expected a step that "
                "divides the period."
            )
        self._arms, self._bar, self._wall, self._extra = tuple(arms), bar, wall, imperfections
        self._h = period / self._steps
        self._random = np.random.default_rng(imperfections.seed)
        self._queue: deque[Array] = deque([np.zeros(4)] * imperfections.delay)
        self._torque = np.zeros(4)
        #: Force on the wall at the end of every step of integration since the start [N].
        self.presses: list[float] = []

    def start(self, r: Sequence[float], rd: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Begin at a state of the bar, no torque acting."""
        self._state = np.array([*r, *rd], dtype=float)
        self.presses.clear()

    def step(self, torque: Array) -> BarState:
        """Advance by one period under a new torque (4,) [N m], and return the true state."""
        self._queue.append(np.array(torque, dtype=float))
        self._torque = self._queue.popleft()
        for _ in range(self._steps):
            self._state, press = self._advance(self._state, self._torque)
            self.presses.append(float(press))
        return self.truth()

    def truth(self) -> BarState:
        """Return the state, and the forces under the torque that has acted last."""
        press, squeeze = self._look(self._state, self._torque)
        return BarState(
            self._state[:3].copy(), self._state[3:].copy(), float(press), float(squeeze)
        )

    def measure(self) -> BarState:
        """Return the sensor readings."""
        true, extra, draw = self.truth(), self._extra, self._random.standard_normal
        if not (extra.position_noise or extra.velocity_noise):
            return true
        return true._replace(
            r=true.r + extra.position_noise * draw(3), rd=true.rd + extra.velocity_noise * draw(3)
        )

    @property
    def _parameters(self) -> list[float]:
        wall = self._wall
        if wall is None:
            return [0.0, 0.0, 0.0, 0.0, self._extra.motor_friction, self._h]
        rigid = not np.isfinite(wall.stiffness)
        elastic = [0.0, 0.0] if rigid else [wall.stiffness, wall.dissipation]
        return [wall.y, wall.friction, *elastic, self._extra.motor_friction, self._h]

    @cached_property
    def _advance(self) -> Any:
        return self._bound("advance", advance_program)

    @cached_property
    def _look(self) -> Any:
        return self._bound("look", look_program)

    def _bound(self, name: str, program: Any) -> Any:
        rigid = self._wall is not None and not np.isfinite(self._wall.stiffness)
        key = f"pinned bar\0{name}\0{self._arms!r}\0{self._bar!r}\0{rigid}".encode()
        build = lambda: program(self._arms, self._bar, rigid)  # noqa: E731
        return load_kernel(key, build, lanes=1).bind(np.array(self._parameters))


def advance_program(arms: Sequence[PlanarArm], bar: Bar, rigid: bool) -> Program:
    """Return one step: state (6,), torque (4,) -> state, force on the wall at its end."""

    def run(state: Any, torque: Any, block: Any) -> dict[str, Any]:
        h = block[-1]

        def rate(at: Sequence[Scalar]) -> list[Scalar]:
            motion = _motion(arms, bar, rigid, at, torque, block)
            return [*at[3:], *motion.rdd]

        def moved(slope: Sequence[Scalar], part: Scalar) -> list[Scalar]:
            return [x + part * s for x, s in zip(state, slope, strict=True)]

        k1 = rate(state)
        k2 = rate(moved(k1, 0.5 * h))
        k3 = rate(moved(k2, 0.5 * h))
        k4 = rate(moved(k3, h))
        slope = [
            (a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)
        ]
        end = moved(slope, h)
        return {"state": end, "press": _motion(arms, bar, rigid, end, torque, block).press}

    return trace(run, "advance_pinned_bar", {"state": 6, "torque": 4}, 6)


def look_program(arms: Sequence[PlanarArm], bar: Bar, rigid: bool) -> Program:
    """Return the forces at a state: state (6,), torque (4,) -> press, squeeze."""

    def run(state: Any, torque: Any, block: Any) -> dict[str, Any]:
        motion = _motion(arms, bar, rigid, state, torque, block)
        return {"press": motion.press, "squeeze": motion.squeeze}

    return trace(run, "look_pinned_bar", {"state": 6, "torque": 4}, 6)


def _motion(
    arms: Sequence[PlanarArm],
    bar: Bar,
    rigid: bool,
    state: Sequence[Scalar],
    torque: Sequence[Scalar],
    block: Sequence[Scalar],
) -> BarMotion:
    """Return the motion at a state, including friction of drives and wall."""
    y, mu, stiffness, dissipation, motor_friction, _ = block
    r, rd = state[:3], state[3:]
    acting = [
        t - motor_friction * smooth_sign(w, _SLOW_TURN)
        for t, w in zip(torque, arm_rates(arms, bar, r, rd), strict=True)
    ]
    slip = mu * smooth_sign(slipping(bar, r, rd), _SLOW)
    press = None if rigid else hunt_crossley(stiffness, dissipation)
    return bar_motion(arms, bar, r, rd, acting, y, slip, press)
