# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The published tests of contact simulators, each with its closed form, for any engine.

| scene | from | truth |
|---|---|---|
| `rolling` | Kang and Hwangbo, SimBenchmark | velocities of a box that slides and of balls on it |
| `carried` | the same with the box on the balls | velocities of a box that rolls on balls |
| `stack` | Le Lidec et al., Contact models in robotics (2024) | the stack stays where it is |
| `rod`, `jam` | Painleve; Stewart and Trinkle (1996) | one equation of motion; sticks at once |
| `palms` | Horak and Trinkle (2019) | slips if and only if 2 mu squeeze < weight |
| `bounce`, `bounces` | SimBenchmark, bouncing and elastic 666 | energy is conserved |

A body's origin is its centre of mass. What is measured is one number a scene, its error.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Three = tuple[float, float, float]

G = 9.81
PERIOD = 4e-3  #: Between observations [s]: every step length is a part of it.


class Body(NamedTuple):
    """A rigid body.

    Attributes:
        name: Its name.
        mass: [kg].
        inertia: Principal moments (3,) [kg m^2].
        place: Of its centre at the start [m].
        shape: ("box", half edges), ("ball", radius) or ("tip", point): a point of it touches.
        turn: Its orientation at the start, a quaternion x, y, z, w.
        velocity: At the start [m/s]; nothing turns.
        force: That acts on its centre [N], constant, in world axes.
        slides: The axis along which alone it moves; none for a body that floats.
    """

    name: str
    mass: float
    inertia: Three
    place: Three
    shape: tuple[str, Any]
    turn: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    velocity: Three = (0.0, 0.0, 0.0)
    force: Three = (0.0, 0.0, 0.0)
    slides: Three | None = None


class Touch(NamedTuple):
    """A point of a body, or a ball about it, on a plane of another body or of the world.

    Attributes:
        body: That has the point.
        point: In its frame [m].
        radius: Of the ball [m].
        on: The other body; none for the world.
        surface: ("plane", point, normal) or ("ball", radius) about the origin, in its frame.
        friction: mu.
        restitution: e.
    """

    body: str
    point: Three
    radius: float
    on: str | None
    surface: tuple[Any, ...]
    friction: float
    restitution: float = 0.0


class Motion(NamedTuple):
    """The motion of b bodies at k times, computed by an engine.

    Attributes:
        times: (k,) [s].
        places: Of centres (k, b, 3) [m].
        velocities: Of centres, in the world (k, b, 3) [m/s].
        rates: Angular velocities in the bodies' axes (k, b, 3) [rad/s].
        seconds: Of the processor that the engine took for a second.
    """

    times: Array
    places: Array
    velocities: Array
    rates: Array
    seconds: float


class Scene(NamedTuple):
    """A test.

    Attributes:
        name: Of the test.
        bodies: What moves.
        touches: What may touch.
        duration: [s].
        error: Of a motion, in `unit`.
        unit: Of the error.
    """

    name: str
    bodies: tuple[Body, ...]
    touches: tuple[Touch, ...]
    duration: float
    error: Callable[[Motion], float]
    unit: str


GROUND = ("plane", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def corners(half: Three, side: int, axis: int) -> list[Three]:
    """Return the corners of the face of a box on one side (-1 or 1) of an axis (0, 1, 2)."""
    every = product(*((-h, h) for h in half))
    return [c for c in every if c[axis] * side > 0.0]


def ball(name: str, mass: float, radius: float, place: Three) -> Body:
    """Return a solid ball."""
    moment = 0.4 * mass * radius * radius
    return Body(name, mass, (moment,) * 3, place, ("ball", radius))


def box(name: str, mass: float, half: Three, place: Three, force: Three = (0.0, 0.0, 0.0)) -> Body:
    """Return a solid box."""
    x, y, z = (mass / 3.0 * h * h for h in half)
    return Body(name, mass, (y + z, x + z, x + y), place, ("box", half), force=force)


def rolling(rows: int = 5, duration: float = 0.4) -> Scene:
    """Balls of 1 kg on a box of 10 kg that slides on the ground; 150 N at 60 degrees push it.

    With 25 balls the published test; mu = 0.4 below the box and 0.8 above it. The box slides, the
    balls roll: f = (F - mu (M + n m) g) / M / (3.5 / m + n / M) on each of them.
    """
    n, m, M, low, high, radius = rows * rows, 1.0, 10.0, 0.4, 0.8, 0.5
    F = low * (M + n * m) * G + 12.66  # 150 N with 25 balls
    half = (10.0, 10.0, 0.5)
    plate = box("plate", M, half, (0.0, 0.0, half[2]), (0.5 * F, np.sqrt(0.75) * F, 0.0))
    top = ("plane", (0.0, 0.0, half[2]), (0.0, 0.0, 1.0))
    balls = _grid(rows, m, radius, 2 * half[2] + radius)
    below = (Touch("plate", c, 0.0, None, GROUND, low) for c in corners(half, -1, 2))
    above = (Touch(b.name, (0.0, 0.0, 0.0), radius, "plate", top, high) for b in balls)
    f = (F - low * (M + n * m) * G) / M / (3.5 / m + n / M)
    of_plate = (F - low * (M + n * m) * G - n * f) / M
    truth = np.array([of_plate] + [f / m] * n)
    return Scene(
        "rolling", (plate, *balls), (*below, *above), duration, _pushed(truth), "of velocity"
    )


def carried(rows: int = 5, duration: float = 0.4) -> Scene:
    """Balls of 1 kg under a box of 10 kg that 50 N push: all roll, a = F / (M + 0.35 n m)."""
    n, m, M, mu, radius = rows * rows, 1.0, 10.0, 0.8, 0.5
    F, half = 2.0 * (M + 0.35 * n * m), (10.0, 10.0, 0.5)
    place = (0.0, 0.0, 2 * radius + half[2])
    plate = box("plate", M, half, place, (0.5 * F, np.sqrt(0.75) * F, 0.0))
    under = ("plane", (0.0, 0.0, -half[2]), (0.0, 0.0, -1.0))
    balls = _grid(rows, m, radius, radius)
    touches = [Touch(b.name, (0.0, 0.0, 0.0), radius, None, GROUND, mu) for b in balls]
    touches += [Touch(b.name, (0.0, 0.0, 0.0), radius, "plate", under, mu) for b in balls]
    a = F / (M + 0.35 * n * m)
    truth = np.array([a] + [0.5 * a] * n)
    return Scene("carried", (plate, *balls), tuple(touches), duration, _pushed(truth),
                 "of velocity")  # fmt: skip


def stack(masses: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0), duration: float = 0.4) -> Scene:
    """Cubes of 0.2 m on one another, each ten times as heavy as the one below: they stay."""
    half = (0.1, 0.1, 0.1)
    bodies, touches = [], []
    for i, mass in enumerate(masses):
        bodies.append(box(f"cube{i}", mass, half, (0.0, 0.0, 0.1 + 0.2 * i)))
        top = ("plane", (0.0, 0.0, 0.1), (0.0, 0.0, 1.0))
        on, surface = (f"cube{i - 1}", top) if i else (None, GROUND)
        touches += [Touch(f"cube{i}", c, 0.0, on, surface, 0.5) for c in corners(half, -1, 2)]

    def error(motion: Motion) -> float:
        return float(np.abs(motion.places - motion.places[0]).max())

    return Scene("stack", tuple(bodies), tuple(touches), duration, error, "m")


def rod(mu: float = 0.5, duration: float = 0.1) -> Scene:
    """A rod of 1 m at 45 degrees slides on its tip, which leads, at 1 m/s.

    Below mu = 5/3 it goes on sliding. Above no force holds the tip up while it slides, however
    large: it sticks at once, by a blow without a collision (Painleve's paradox).
    """
    l, m, angle, speed = 0.5, 1.0, 0.25 * np.pi, -1.0
    moment = m * l * l / 3.0
    turn = (0.0, -float(np.sin(angle / 2)), 0.0, float(np.cos(angle / 2)))
    place = (l * float(np.cos(angle)), 0.0, l * float(np.sin(angle)))
    tip = (-l, 0.0, 0.0)
    body = Body("rod", m, (0.01 * moment, moment, moment), place, ("tip", tip), turn,
                (speed, 0.0, 0.0))  # fmt: skip
    touch = Touch("rod", tip, 0.0, None, GROUND, mu)
    name = "rod" if mu < 5.0 / 3.0 else "jam"

    def error(motion: Motion) -> float:
        truth = _rod_at(motion.times, l, m, angle, speed, mu)
        return float(np.abs(motion.places[:, 0, [0, 2]] - truth).max())

    return Scene(name, (body,), (touch,), duration, error, "m")


def palms(duration: float = 0.4) -> Scene:
    """Two boxes of 1 kg between two palms each, 1 % below and above the squeeze that holds them.

    The first falls at 0.01 g, the second does not move.
    """
    mu, m, half, hand = 0.5, 1.0, (0.1, 0.1, 0.1), (0.05, 0.3, 0.3)
    bodies, touches, accelerations = [], [], []
    for i, part in enumerate((0.99, 1.01)):
        squeeze, y = part * m * G / (2.0 * mu), float(i)
        bodies.append(box(f"box{i}", m, half, (0.0, y, 1.0)))
        accelerations.append(max(G - 2.0 * mu * squeeze / m, 0.0))
        for side in (-1, 1):
            name = f"palm{i}{'lr'[side > 0]}"
            place = (side * (half[0] + hand[0]), y, 1.0)
            bodies.append(
                box(name, 2.0, hand, place, (-side * squeeze, 0.0, 0.0))._replace(
                    slides=(1.0, 0.0, 0.0)
                )
            )
            face = ("plane", (-side * hand[0], 0.0, 0.0), (-float(side), 0.0, 0.0))
            touches += [Touch(f"box{i}", c, 0.0, name, face, mu) for c in corners(half, side, 0)]

    def error(motion: Motion) -> float:
        fallen = motion.places[0, ::3, 2] - motion.places[:, ::3, 2]
        truth = 0.5 * np.outer(motion.times**2, accelerations)
        return float(np.abs(fallen - truth).max())

    return Scene("palms", tuple(bodies), tuple(touches), duration, error, "m")


def bounce(duration: float = 2.0) -> Scene:
    """A ball of 0.1 m falls by 1 m and bounces without loss."""
    one = ball("ball", 1.0, 0.1, (0.0, 0.0, 1.1))
    touch = Touch("ball", (0.0, 0.0, 0.0), 0.1, None, GROUND, 0.0, 1.0)
    return Scene("bounce", (one,), (touch,), duration, _energy_error((one,)), "of energy")


def bounces(rows: int = 2, duration: float = 1.0) -> Scene:
    """Balls of 10 kg, rows x rows x rows, not quite above one another, fall without loss.

    With six rows the published test.
    """
    r, gap, height = 0.1, 0.21, 0.3
    off = np.random.default_rng(42).uniform(0.0, 1e-3, (rows**3, 3))
    balls = tuple(
        ball(f"ball{i}", 10.0, r, tuple((gap * np.array(at) + [0, 0, height] + off[i]).tolist()))
        for i, at in enumerate(product(range(rows), repeat=3))
    )
    here = (0.0, 0.0, 0.0)
    touches = [Touch(b.name, here, r, None, GROUND, 0.0, 1.0) for b in balls]
    touches += [
        Touch(a.name, here, r, b.name, ("ball", r), 0.0, 1.0) for a, b in combinations(balls, 2)
    ]
    return Scene("bounces", balls, tuple(touches), duration, _energy_error(balls), "of energy")


def _grid(rows: int, mass: float, radius: float, height: float) -> tuple[Body, ...]:
    """Return balls 2 m apart."""
    middle = 0.5 * (rows - 1)
    return tuple(
        ball(f"ball{i}_{j}", mass, radius, (2.0 * (i - middle), 2.0 * (j - middle), height))
        for i, j in product(range(rows), repeat=2)
    )


def _pushed(accelerations: Array) -> Callable[[Motion], float]:
    """Return the error of bodies that accelerate along the push, in parts of the fastest speed."""

    def error(motion: Motion) -> float:
        along = np.array([0.5, np.sqrt(0.75), 0.0])
        truth = motion.times[:, None, None] * accelerations[:, None] * along
        return float(np.abs(motion.velocities - truth).max() / np.abs(truth).max())

    return error


def _energy_error(bodies: tuple[Body, ...]) -> Callable[[Motion], float]:
    """Return by how much energy changes at most, in parts of that at the start."""
    mass = np.array([b.mass for b in bodies])
    inertia = np.array([b.inertia for b in bodies])

    def error(motion: Motion) -> float:
        moving = mass * (motion.velocities**2).sum(axis=2) + (inertia * motion.rates**2).sum(2)
        energy = (0.5 * moving + mass * G * motion.places[:, :, 2]).sum(axis=1)
        # While a soft contact is pressed in, its spring has the energy: what counts is the rest.
        free = motion.places[:, :, 2].min(axis=1) > 0.1 + 1e-4
        for a, b in combinations(range(len(bodies)), 2):
            between = motion.places[:, a] - motion.places[:, b]
            free &= np.linalg.norm(between, axis=1) > 0.2 + 1e-4
        return float(np.abs(energy[free] / energy[0] - 1.0).max())

    return error


def _rod_at(times: Array, l: float, m: float, angle: float, speed: float, mu: float) -> Array:
    """Return x and z of the rod's middle (k, 2), its tip on the ground, sliding or stuck."""
    from scipy.integrate import solve_ivp

    moment = m * l * l / 3.0
    s, c = np.sin(angle), np.cos(angle)
    slides = 1.0 / m + l * l / moment * c * (c - mu * s) > 0.0

    def sliding(t: float, y: Array) -> list[float]:
        s, c = np.sin(y[1]), np.cos(y[1])
        A = 1.0 / m + l * l / moment * c * (c - mu * s)
        normal = (G - l * s * y[3] ** 2) / A
        return [y[2], y[3], mu * normal / m, l / moment * (mu * s - c) * normal]

    def stuck(t: float, y: Array) -> list[float]:
        return [y[1], -m * G * l * np.cos(y[0]) / (moment + m * l * l)]

    def solved(rates: Any, start: list[float]) -> Array:
        found = solve_ivp(rates, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13)
        return np.asarray(found.y)

    if slides:
        x, at, _, _ = solved(sliding, [l * c, angle, speed, 0.0])
        return np.stack([x, l * np.sin(at)], axis=1)
    # The blow leaves the tip at rest: P_t = -u_t / (W_tt - W_nt^2 / W_nn), P_n = -W_nt P_t / W_nn.
    ratio = l * l / moment
    nn, tt, nt = (1.0 + m * ratio * c * c), (1.0 + m * ratio * s * s), -m * ratio * s * c
    tangential = -m * speed / (tt - nt * nt / nn)
    rate = l / moment * (s * tangential - c * (-nt * tangential / nn))
    at, _ = solved(stuck, [angle, rate])
    return np.stack([l * np.cos(at), l * np.sin(at)], axis=1)
