# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths on which coordinates of the user's own do not determine the motion, or nearly not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.hybrid.planned_forces import ObjectMotion
from robot_dynamics.control.path_check import Problem
from robot_dynamics.manipulation.hybrid import Environment, Turned
from robot_dynamics.manipulation.hybrid.environment import difference

Array = NDArray[np.float64]

# Six that determine the object's motion do so if none is nearer than this to what the others span.
_DETERMINED = 1e-3
# An angle about an axis changes by the tangent of how far that axis is tilted, and at 90 degrees
# there is none: up to 78 degrees it is this steep at most [rad/rad].
_STEEPEST = 5.0
# An angle that changes by more between two instants went over that tilt [rad].
_JUMP = 0.5 * np.pi
# A lever is told by gradients that have this much of a displacement at least.
_MOVED = 1e-9


def coordinate_problems(
    environment: Environment, times: Array, motion: ObjectMotion
) -> Iterator[Problem]:
    """Yield where coordinates of the user's own do not determine the motion, with the surfaces.

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
            yield Problem(
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
            yield Problem(
                time,
                "coordinates",
                f"the angle that is coordinate {i + 1 - len(environment.surfaces)} {what}: the "
                "object is turned by nearly 90 degrees about another axis, where there is no "
                "such angle.",
            )
            return
        before = values


def independence(gradients: Array) -> float:
    """Return the smallest singular value of gradients made of length one: 0 if they depend.

    Rotations count like the displacements that they cause at the distance at which the functions
    look at the object: a typical lever of theirs, so that nothing depends on its size.

    Args:
        gradients: Over a twist, angular first (n, 6).
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
