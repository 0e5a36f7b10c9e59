# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that contradict the surfaces: forces in free space, motion into surfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.planned_forces import ObjectMotion
from robot_dynamics.control.path_check import PathProblem
from robot_dynamics.control.reference import row_columns
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Environment, FrictionCone, Turned
from robot_dynamics.manipulation.hybrid.environment import difference

# Gradients count as independent if each is at least this far from the span of the others.
_INDEPENDENT = 1e-6
_ROUNDING = 1e-9


class SurfaceRow(NamedTuple):
    """Description of a surface function p_i for messages.

    Attributes:
        name: Name of the surface.
        pushed: Whether the object can only push on it: its force has one sign, and p < 0 is free
            space. Other functions hold the object in both directions.
        unit: Unit of p.
        force_unit: Unit of its force.
        component: Index of its force in the wrench by the object on the surface, in the surface's
            frame, angular first; z for a push. -1 if it is not a component.
        sign: Sign of the force for a positive component.
    """

    name: str
    pushed: bool = True
    unit: str = "m"
    force_unit: str = "N"
    component: int = 5
    sign: float = 1.0

    @property
    def axis(self) -> str:
        """The axis of the surface's frame along or about which its force acts, as "x" or "-x"."""
        return ("" if self.sign > 0.0 else "-") + "xyz"[self.component % 3]


class Grip(NamedTuple):
    """Functions of one surface to which the object must stick: a push with friction.

    Attributes:
        normal: Index of the function whose force is the push.
        along: Indices of the two functions with tangential forces, at right angles.
        friction: Coulomb's coefficient.
    """

    normal: int
    along: tuple[int, int]
    friction: float

    @property
    def cone(self) -> FrictionCone:
        """Friction cone of the surface."""
        return FrictionCone(self.friction)

    def wrenches(self, forces: ArrayLike) -> Array:
        """Return wrenches (..., 6) for the cone of the forces on all surfaces (..., C)."""
        f = np.asarray(forces, dtype=float)
        wrenches = np.zeros((*f.shape[:-1], 6))
        wrenches[..., 3], wrenches[..., 4] = f[..., self.along[0]], f[..., self.along[1]]
        wrenches[..., 5] = f[..., self.normal]
        return wrenches


def slipping_pushes(
    grips: Mapping[str, Grip], times: Array, rows: Array, surfaces: int
) -> Iterator[PathProblem]:
    """Yield pushes outside the friction cone of their surface.

    Args:
        grips: Surfaces to which the object must stick, by name.
        times: Times of the rows (N,) [s].
        rows: Rows of a plan (N, 19 + 2 C + m).
        surfaces: Number of functions C.
    """
    at = row_columns(surfaces, 0)
    for name, grip in grips.items():
        wanted = rows[:, at["touch"]][:, grip.normal] > 0.0
        wrenches = grip.wrenches(rows[:, at["contact"]])
        slips = wanted & ~(grip.cone.used(wrenches) <= 1.0 + _ROUNDING)
        slips &= np.abs(wrenches[:, 3:]).max(axis=1) > 0.0  # a touch without force is no push
        if slips.any():
            k = int(np.argmax(slips))
            along, push = np.linalg.norm(wrenches[k, 3:5]), wrenches[k, 5]
            angle = np.degrees(np.arctan2(along, push))
            most = np.degrees(np.arctan(grip.friction))
            yield PathProblem(
                float(times[k]),
                name,
                f"the push on {name!r} is too steep: {along:.3g} N along it with {push:.3g} N "
                f"into it, {angle:.3g} degrees from its normal where friction holds {most:.3g}; "
                "it would slip.",
            )


class SurfaceTolerances(NamedTuple):
    """Tolerances of a path's distance from surfaces.

    Attributes:
        off: Distance before a surface with a desired force, and depth in one that must not be
            touched [m, rad].
        into: Depth in a surface with a desired force [m]: paths that search for a surface end
            behind it.
    """

    off: float = 5e-3
    into: float = 5e-2


def surface_problems(
    environment: Environment,
    times: Array,
    rows: Array,
    motion: ObjectMotion,
    surfaces: Sequence[SurfaceRow] = (),
    tolerances: SurfaceTolerances | None = None,
) -> Iterator[PathProblem]:
    """Yield demands of a reference that surfaces cannot meet.

    Args:
        environment: Surfaces.
        times: Times of the rows (N,) [s].
        rows: Rows of a plan (N, 19 + 2 C + m).
        motion: Motion of the centre of mass.
        surfaces: Names and kinds of the functions; all pushed and numbered by default.
        tolerances: Tolerances of distances.
    """
    C, allowed = len(environment.surfaces), tolerances or SurfaceTolerances()
    known = tuple(surfaces) or tuple(SurfaceRow(f"surface {i + 1}") for i in range(C))
    if len(known) != C:
        raise ArgumentError(f"{len(known)} surface rows are described, expected {C}.")
    if not C:
        return
    at = row_columns(C, 0)
    forces, wanted = rows[:, at["contact"]], rows[:, at["touch"]] > 0.0
    terms = [environment.terms(*state) for state in zip(*motion[:3], strict=True)]
    p = np.array([one.p for one in terms])
    for i, surface in enumerate(known):
        yield from _forces(surface, times, forces[:, i], wanted[:, i])
        yield from _place(surface, times, p[:, i], forces[:, i], wanted[:, i], allowed)
    for k, one in enumerate(terms):
        on = np.flatnonzero(wanted[k])
        if len(on) and _dependent(one.E_F[on]):
            names = " and ".join(dict.fromkeys(repr(known[i].name) for i in on))
            yield PathProblem(
                float(times[k]),
                known[on[0]].name,
                f"{names} block the same motion of the object, expected surfaces whose forces can "
                "be told apart.",
            )
            return


def _forces(
    surface: SurfaceRow, times: Array, force: Array, wanted: NDArray[np.bool_]
) -> Iterator[PathProblem]:
    name, unit = surface.name, surface.force_unit
    alone = ~wanted & (force != 0.0)
    if alone.any():
        k = int(np.argmax(alone))
        yield PathProblem(
            float(times[k]),
            name,
            f"{force[k]:.4g} {unit} are wanted on {name!r} while it is not to be touched: in a "
            "direction without a constraint there is motion and no force.",
        )
    pulling = wanted & (force < 0.0)
    if surface.pushed and pulling.any():
        k = int(np.argmax(pulling))
        yield PathProblem(
            float(times[k]),
            name,
            f"{force[k]:.4g} {unit} are wanted on {name!r}, which can only be pushed on; expected "
            "0 or more.",
        )


def _place(
    surface: SurfaceRow,
    times: Array,
    p: Array,
    force: Array,
    wanted: NDArray[np.bool_],
    allowed: SurfaceTolerances,
) -> Iterator[PathProblem]:
    name = surface.name
    if surface.pushed:
        inside = ~wanted & ~(p <= allowed.off)
        if inside.any():
            k = int(np.argmax(inside))
            yield PathProblem(
                float(times[k]),
                name,
                f"the path goes {p[inside].max():.3g} {surface.unit} into {name!r} where it is "
                f"not to be touched, expected at most {allowed.off:g} {surface.unit}.",
            )
    for first, end in _spells(wanted):
        near = p[first:end]
        reached = near >= -allowed.off if surface.pushed else np.abs(near) <= allowed.off
        if not reached.any():
            yield PathProblem(
                float(times[first]),
                name,
                f"{force[first:end].max():.4g} {surface.force_unit} are wanted on {name!r}, but "
                f"the path stays {np.abs(near).min():.3g} {surface.unit} away from it: the object "
                "is not on that surface.",
            )
            continue
        since = int(np.argmax(reached))
        most = allowed.into if surface.pushed else allowed.off
        for wrong, does in (
            (near[since:] > most, "goes into"),
            (near[since:] < -allowed.off, "leaves"),
        ):
            if wrong.any():
                k = first + since + int(np.argmax(wrong))
                by = np.abs(near[since:][wrong]).max()
                yield PathProblem(
                    float(times[k]),
                    name,
                    f"the path {does} {name!r} by {by:.3g} {surface.unit} while a force on it is "
                    f"wanted, expected a path along it within "
                    f"{most if does == 'goes into' else allowed.off:g} {surface.unit}.",
                )


def _spells(on: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield first and end of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _dependent(gradients: Array) -> bool:
    return bool(independence(gradients) < _INDEPENDENT or len(gradients) > 6)


# Six functions determine the object's motion if each gradient is at least this far from the span
# of the others.
_DETERMINED = 1e-3
# The rate of an angle about an axis grows with the tangent of the axis' tilt, and the angle is
# undefined at 90 degrees: up to 78 degrees its slope is at most this [rad/rad].
_STEEPEST = 5.0
# An angle that changes by more between two instants has passed that tilt [rad].
_JUMP = 0.5 * np.pi
# Least displacement in a gradient from which a lever can be computed.
_MOVED = 1e-9


def coordinate_problems(
    environment: Environment, times: Array, motion: ObjectMotion
) -> Iterator[PathProblem]:
    """Yield problems at which surfaces and user-defined coordinates do not determine the motion.

    Args:
        environment: Surfaces and coordinates.
        times: (N,) [s].
        motion: Of the centre of mass.
    """
    if not environment.own_coordinates:
        return
    functions = (*environment.surfaces, *environment.coordinates)
    turned = [i for i, function in enumerate(functions) if isinstance(function, Turned)]
    before: Array | None = None
    for time, *state in zip(times.tolist(), *motion[:3], strict=True):
        terms = environment.terms(*state)
        E, values = np.vstack([terms.E_F, terms.E_P]), np.concatenate([terms.p, terms.s])
        smallest = independence(E)
        if not smallest >= _DETERMINED:
            yield PathProblem(
                time,
                "coordinates",
                "the coordinates of the user's own and the surfaces depend on one another, by "
                f"{smallest:.2g}, expected at least {_DETERMINED:g}: six that determine the "
                "object's motion.",
            )
            return
        for i in turned:
            steep = float(np.linalg.norm(E[i, :3]))
            jump = 0.0 if before is None else difference(functions[i], values[i], before[i])
            if steep <= _STEEPEST and abs(jump) <= _JUMP:
                continue
            what = (
                f"changes {steep:.3g} times as fast as the object turns, expected at most "
                f"{_STEEPEST:g} times"
                if not steep <= _STEEPEST
                else f"jumps by {np.degrees(jump):.3g} degrees"
            )
            yield PathProblem(
                time,
                "coordinates",
                f"the angle that is coordinate {i + 1 - len(environment.surfaces)} {what}: the "
                "object is turned by nearly 90 degrees about another axis, where there is no "
                "such angle.",
            )
            return
        before = values


def independence(gradients: Array) -> float:
    """Return the smallest singular value of normalised gradients: 0 if they are dependent.

    Rotations count as the displacements that they cause at a typical lever of the functions, so
    that the result does not depend on the size of the object.

    Args:
        gradients: Gradients over a twist, angular first (n, 6).
    """
    moves = np.linalg.norm(gradients[:, 3:], axis=1)
    of_places = moves > _MOVED
    levers = np.linalg.norm(gradients[of_places, :3], axis=1) / moves[of_places]
    length = float(np.sqrt(np.mean(levers**2))) if of_places.any() else 0.0
    scaled = gradients / np.where(np.arange(6) < 3, length or 1.0, 1.0)
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    if not (np.all(sizes > 0.0) and np.all(np.isfinite(sizes))):
        return 0.0
    return float(np.linalg.svd(scaled / sizes, compute_uv=False)[-1])
