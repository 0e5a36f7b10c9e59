# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Assembly: from a guess to positions and velocities that close all loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.closure_search import Closure, ClosureSearch, metric_root
from robot_dynamics.dynamics.rank import constraint_rank, opening
from robot_dynamics.dynamics.reach import missing_lengths
from robot_dynamics.dynamics.scaling import (
    CLOSED,
    closing_tolerance,
    constraint_groups,
    constraint_scales,
    coordinate_scales,
    coordinates_of,
    model_length,
)
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Model
from robot_dynamics.wording import counted, distance

# Random starts before giving up; few if there are many more constraints than motions: then a start
# costs much, and another assembly mode is unlikely.
_RESTARTS, _FEW_RESTARTS, _OUTNUMBERED = 50, 4, 20.0
_NAMED = 4  # loop joints that a message names
_GENERIC = 0.3  # largest distance of `generic` from zero [rad, or lengths of the mechanism]
# If links are too short by less than this share of the length, the configuration with the smallest
# gap is searched for: numbers in files are rounded, and the gap is then a warning.
_CLEARLY = 1e-2


@dataclass(frozen=True)
class Gap:
    """Closure error of a loop joint.

    Attributes:
        position: Distance [m]; for a velocity gap [m/s].
        rotation: Angle [rad]; for a velocity gap [rad/s].
    """

    position: float
    rotation: float

    def __str__(self) -> str:
        parts = [distance(self.position)] if self.position else []
        parts += [f"{np.degrees(self.rotation):.3g} degrees"] if self.rotation else []
        return " and ".join(parts) or "nothing"


class AssemblyError(RobotDynamicsError):
    """No configuration, or no velocity, was found that closes the loops.

    Attributes:
        gaps: Closure errors of the best configuration found, by loop joint.
        gap: The largest of them as one distance [m], rotations at the declared length; distances
            of loop joints from their limits count as well.
        q: Positions (nq,) of that configuration; the guess if links are too short, because then
            there is no search.
    """

    def __init__(self, message: str, gaps: Mapping[str, Gap], gap: float, q: Array) -> None:
        self.gaps, self.gap, self.q = dict(gaps), gap, q
        super().__init__(message)


@dataclass(frozen=True)
class Assembly:
    """A configuration that closes all loops.

    Attributes:
        q: Positions (nq,).
        qd: Velocities (nv,) that keep the loops closed.
        gap: Remaining closure error [m], rotations at `length`.
        starts: Number of starts; one if the guess converged.
        length: The length [m] that makes rotations and displacements comparable.
    """

    q: Array
    qd: Array
    gap: float
    starts: int
    length: float


def assemble(
    model: Model,
    closure: Closure,
    q: Array,
    *,
    held: Iterable[str] | Mapping[str, object] = (),
    limits: bool = True,
    metric: Callable[[Array], Array] | None = None,
    length: float | None = None,
    tolerance: float | None = None,
    restarts: int | None = None,
    seed: int = 0,
    iterations: int = 200,
    seconds: float = np.inf,
) -> Assembly:
    """Return positions that close all loops, near a guess if possible.

    With rounded placements, loops may close only to the last decimals. Weaker constraints are then
    ignored, and the result is the configuration near the guess with the smallest errors.

    Loops whose links are too short to meet are refused at once. Other loops are closed by damped
    Gauss-Newton steps on the position errors. If these end in an open configuration, they restart
    from random positions, first near the guess and then anywhere.

    Args:
        model: The mechanism.
        closure: Returns K and the position error.
        q: The guess (nq,).
        held: Names of joints or coordinates that keep their value of the guess, or a mapping from
            joints to values.
        limits: Whether positions must be within the joint limits.
        metric: Returns the matrix (nv, nv) in which steps are smallest, such as the inertia
            matrix; by default displacements, with rotations at `length`.
        length: Length [m] at which a rotation counts like a displacement; that of a typical link
            by default.
        tolerance: Largest remaining gap, as a share of `length`; by default from the decimals of
            the placements, `scaling.closing_tolerance`.
        restarts: Random starts before giving up; by default 50, or 4 with more than 20 constraints
            for each coordinate.
        seed: Seed of the random starts.
        iterations: Steps of one start.
        seconds: Time limit of the search [s]; the result then depends on the computer.

    Returns:
        The configuration, with velocity zero.

    Raises:
        AssemblyError: If none is found; it names the open loops and their closure errors.
        UnknownNameError: If a held joint does not exist.
        ArgumentError: If the guess or a held value has the wrong size or is not finite.
    """
    guess = finite_vector("q", q, model.nq)
    guess, fixed = _held(model, guess, held)
    length = model_length(model) if length is None else length
    rounding = closing_tolerance(model)
    tolerance = rounding if tolerance is None else tolerance
    search = ClosureSearch(
        model, closure, fixed, limits, metric, length, tolerance * length, iterations, seconds,
        weakest=max(CLOSED, min(tolerance, rounding)),
    )  # fmt: skip
    _require_reach(search, guess)
    if restarts is None:
        outnumbered = model.constraint_count > _OUTNUMBERED * model.nv
        restarts = _FEW_RESTARTS if outnumbered else _RESTARTS
    rng = np.random.default_rng(seed)
    best: tuple[float, Array] | None = None
    for start in range(restarts + 1):
        spread = min(1.0, 2.0 * start / max(restarts, 1))
        found, gap = search.run(guess if start == 0 else search.scattered(guess, spread, rng))
        if gap <= search.goal and search.is_genuine(found, gap, rng):
            return Assembly(found, np.zeros(model.nv), gap, start + 1, length)
        if gap > search.goal and (best is None or gap < best[0]):
            best = (gap, found)
        if search.late:
            break
    if best is not None:
        found, gap = search.settled(best[1])
        if gap <= search.goal and search.is_genuine(found, gap, rng):
            return Assembly(found, np.zeros(model.nv), gap, start + 1, length)
        best = (gap, found)
    raise _failure(search, best, start + 1, seconds)


def generic(model: Model) -> Array:
    """Return positions (nq,) near the joints' zeros in general position."""
    steps = np.random.default_rng(0).uniform(0.5, 1.0, model.nv) * _GENERIC
    steps *= model_length(model) / coordinate_scales(model, model_length(model))
    return np.array(model.integrate(model.neutral().tolist(), steps.tolist()), dtype=float)


def consistent_velocity(
    model: Model,
    K: Array,
    qd: Array,
    *,
    held: Mapping[str, object] | None = None,
    metric: Array | None = None,
    length: float | None = None,
    tolerance: float = CLOSED,
    q: Array | None = None,
    error: Array | None = None,
) -> Array:
    """Return the velocity (nv,) nearest to a desired one that keeps the loops closed: K qd = 0.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        qd: The desired velocity (nv,).
        held: Velocities of joints or coordinates that must be met exactly.
        metric: Matrix (nv, nv) in which the change is smallest; displacements by default.
        length: Length [m] at which a rotation counts like a displacement.
        tolerance: Largest remaining violation, as a share of the largest desired or returned
            velocity.
        q: The positions (nq,).
        error: Position error (n^c,) there, which limits the accuracy of K.

    Raises:
        AssemblyError: If the held velocities contradict the loops.
    """
    length = model_length(model) if length is None else length
    desired = finite_vector("qd", qd, model.nv)
    result = desired.copy()
    free = np.ones(model.nv, dtype=bool)
    for name, value in (held or {}).items():
        at = coordinates_of(model, name)
        result[at] = finite_vector(f"velocity of {name!r}", value, len(at))
        free[at] = False
    ranked = constraint_rank(model, K, error, q, length=length)
    B = ranked.V.T * ranked.column_scales  # K qd = 0 without its noise: orthonormal in the length
    root = metric_root(metric, ranked.column_scales, free)
    if metric is not None:  # the others follow what is held, as they would without loops
        pull = (metric @ np.where(free, 0.0, result - desired))[free]
        result[free] -= np.linalg.solve(root.T, np.linalg.solve(root, pull))
    rows = np.linalg.solve(root, B[:, free].T).T
    # The rank of B without the held columns can be smaller; its uncertainty is that of B.
    inverse = np.linalg.pinv(rows, rcond=min(ranked.doubt, 0.1))
    result[free] -= np.linalg.solve(root.T, inverse @ (B @ result))
    J = ranked.row_scales[:, None] * K
    rest = J @ result
    # Relative to the desired velocity as well: if the mechanism cannot move, the result is
    # rounding.
    asked = np.where(free, desired, result)
    speed = float(np.max(np.abs(ranked.column_scales * [asked, result]), initial=0.0))
    scale = speed * float(np.max(ranked.s, initial=0.0))
    worst = float(np.max(np.abs(rest), initial=0.0))
    if worst > max(tolerance, ranked.tolerance) * scale:
        gaps = loop_gaps(model, rest / ranked.row_scales)
        raise AssemblyError(
            f"{model.name}: the held velocities contradict the loops: "
            + gaps_in_words(gaps, worst * 1e-3, "opens", " per second"),
            gaps,
            worst,
            model.neutral() if q is None else q,
        )
    return result


def require_closed(model: Model, q: Array, error: Array, largest: float, length: float) -> None:
    """Refuse positions with a closure error above a share of the length.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        error: Position error (n^c,) there.
        largest: Largest accepted closure error, as a share of `length`.
        length: Length [m] at which a rotation counts like a displacement.

    Raises:
        AssemblyError: If they are open; it names the loops and their closure errors.
    """
    gap = opening(model, error, length)
    if gap <= largest * length:
        return
    gaps = loop_gaps(model, error * model.holonomic)
    raise AssemblyError(
        f"{model.name}: the loops are open at these positions: "
        + gaps_in_words(gaps, largest * length, "by")
        + "; expected positions that close them, as those of `assemble`.",
        gaps,
        gap,
        q,
    )


def _require_reach(search: ClosureSearch, guess: Array) -> None:
    """Refuse loops whose links are too short, beyond rounding."""
    model = search.model
    missing = missing_lengths(model, search.limits, guess, search.free)
    worst = max(missing.values(), default=0.0)
    if worst <= _CLEARLY * search.length:
        return
    gaps = {name: Gap(missing.get(name, 0.0), 0.0) for name, _ in constraint_groups(model)}
    held = " with the held joints" if not np.all(search.free) else ""
    raise AssemblyError(
        f"{model.name}: no configuration closes all loops{held}: "
        + gaps_in_words(gaps, search.goal, "stays open by at least")
        + ", its links are too short; expected ends within reach of each other.",
        gaps,
        worst,
        guess,
    )


def _failure(
    search: ClosureSearch, best: tuple[float, Array] | None, starts: int, seconds: float
) -> AssemblyError:
    """Return the error with the closure errors of the best start."""
    model, place = search.model, search.model.name
    tried = counted(starts, "start") if starts > 1 else "the guess"
    tried += f" within {seconds:g} s" if search.late else ""
    if best is None:
        message = (
            f"{place}: from {tried} the loops close only with an axis pointing the wrong way; "
            "expected frames of loop joints whose axes can coincide."
        )
        return AssemblyError(message, {}, np.pi * search.length, model.neutral())
    gap, q = best
    _, error = search.closure(q)
    gaps = loop_gaps(model, error * model.holonomic)
    held = " and the held joints" if not np.all(search.free) else ""
    faults = search.limits.faults(q, search.goal)
    words = faults[:_NAMED] + [f"and {len(faults) - _NAMED} more"] * (len(faults) > _NAMED)
    if not words or opening(model, error, search.length) > search.goal:
        words.insert(0, gaps_in_words(gaps, search.goal, "stays open by"))
    return AssemblyError(
        f"{place}: no configuration that closes all loops was found from {tried}: "
        f"{', '.join(words)}; expected one within reach, joint limits{held}.",
        gaps,
        gap,
        q,
    )


def gaps_in_words(gaps: Mapping[str, Gap], least: float, verb: str, unit: str = "") -> str:
    """Return words for the gaps that matter, the largest first."""
    order = sorted(gaps, key=lambda name: -(gaps[name].position + gaps[name].rotation))
    shown = [n for n in order if gaps[n].position + gaps[n].rotation > least] or order[:1]
    words = [f"loop {name!r} {verb} {gaps[name]}{unit}" for name in shown[:_NAMED]]
    more = len(shown) - len(words)
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def loop_gaps(model: Model, error: Array) -> dict[str, Gap]:
    """Return the closure error of each loop joint and coupling from position errors (n^c,)."""
    turning = constraint_scales(model, 2.0) == 2.0
    return {
        name: Gap(
            float(np.linalg.norm(error[at][~turning[at]])),
            float(np.linalg.norm(error[at][turning[at]])),
        )
        for name, at in constraint_groups(model)
    }


def _held(
    model: Model, guess: Array, held: Iterable[str] | Mapping[str, object]
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the guess with held values, and the velocities that stay zero."""
    q, fixed = guess.copy(), np.zeros(model.nv, dtype=bool)
    if isinstance(held, str):
        raise ArgumentError(f"held is the text {held!r}, expected several names.")
    for name in held:
        fixed[coordinates_of(model, name)] = True
    if isinstance(held, Mapping):
        for name, value in held.items():
            if name not in model.joint_names:
                raise UnknownNameError("joint", name, model.joint_names, model.name)
            at = model.q_slices[model.joint_index(name)]
            q[at] = finite_vector(f"held value of {name!r}", value, at.stop - at.start)
    return q, fixed
