# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Force closure of contacts that only push and can slip, and the largest wrench they resist.

W_S of rank six is necessary. It is sufficient if an internal force is strictly inside all cones:
it can grow until any wrench is inside as well. Inscribed polygons stand for the cones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid.contacts import (
    SIDES,
    Contact,
    FrictionCone,
    require_force_closure,
    wrench_map,
)

_FEASIBLE = 1e-7  # feasibility tolerance of HiGHS [N]


class ContactPlanes(NamedTuple):
    """Planes of the admissible contact forces of all contacts: `rows @ forces >= lower`.

    Attributes:
        rows: (M, d).
        lower: (M,) [N].
        contact: Index of the contact of each plane (M,).
    """

    rows: Array
    lower: Array
    contact: NDArray[np.int_]


def contact_planes(
    contacts: Sequence[Contact], margin: float = 0.0, sides: int = SIDES
) -> ContactPlanes:
    """Return the planes of all contacts over their forces, `margin` [N] inside."""
    d = sum(contact.directions.shape[1] for contact in contacts)
    rows, lower, owners, start = [np.zeros((0, d))], [np.zeros(0)], [], 0
    for i, contact in enumerate(contacts):
        at = slice(start, start + contact.directions.shape[1])
        start = at.stop
        if contact.limits is None:
            continue
        facets = contact.limits.facets(margin, sides)
        own = np.zeros((len(facets.rows), d))
        own[:, at] = facets.rows @ contact.directions
        rows.append(own)
        lower.append(facets.lower)
        owners += [i] * len(own)
    return ContactPlanes(np.vstack(rows), np.concatenate(lower), np.array(owners, dtype=int))


class Deepest(NamedTuple):
    """The point farthest inside all planes.

    Attributes:
        margin: Its distance to the nearest plane [N]; negative outside.
        point: The point (n,).
        tight: Planes that limit the margin, in descending order of their multipliers.
    """

    margin: float
    point: Array
    tight: tuple[int, ...]


def deepest(rows: Array, lower: Array, most: float, equal: tuple[Array, Array]) -> Deepest | None:
    """Return the point with the largest t <= most for which `rows x >= lower + t`.

    Args:
        rows: (M, n).
        lower: (M,).
        most: Upper bound of t, which can be unbounded otherwise.
        equal: G (p, n) and g (p,) of equations G x = g.

    Returns:
        None if the equations have no solution.
    """
    G, g = equal
    found = _program(
        np.hstack([rows, -np.ones((len(rows), 1))]), lower, np.hstack([G, np.zeros((len(G), 1))]),
        g, (None, most),
    )  # fmt: skip
    if found.status == 2:
        return None
    weight = np.abs(found.ineqlin.marginals)
    order = np.argsort(-weight, kind="stable")
    tight = tuple(int(i) for i in order if weight[i] > _FEASIBLE)
    return Deepest(float(found.x[-1]), np.asarray(found.x[:-1]), tight)


def require_closure(contacts: Sequence[Contact], length: float, names: Sequence[str] = ()) -> None:
    """Check that the contacts can resist every wrench within their limits.

    Args:
        contacts: The contacts, with their limits.
        length: Length [m] at which a rotation counts like a displacement.
        names: Names of the contacts, for the message.

    Raises:
        RobotDynamicsError: If their rank is below six, with the motion that stays free; or if no
            internal force is inside all cones, with the contacts that would slip or open.
    """
    require_force_closure(contacts, length)
    middle = np.mean([contact.pose[:3, 3] for contact in contacts], axis=0)
    planes, W = contact_planes(contacts), wrench_map(contacts, middle)
    if not len(planes.rows):  # contacts without limits
        return
    found = deepest(planes.rows, planes.lower, 1.0, (W, np.zeros(6)))
    if found is None or found.margin > _FEASIBLE:  # zero forces always satisfy the equations
        return
    called = [names[i] if names else str(i + 1) for i in range(len(contacts))]
    bound = dict.fromkeys(planes.contact[list(found.tight)].tolist())
    raise RobotDynamicsError(
        "the grasp has no force closure: no internal force is inside the cones of "
        f"{', '.join(_described(called[i], contacts[i]) for i in bound)}"
        f"{_lines(contacts, called)}; expected contacts that face one another within friction."
    )


def largest_wrench(
    contacts: Sequence[Contact],
    direction: ArrayLike,
    *,
    center: ArrayLike = (0.0, 0.0, 0.0),
    margin: float = 0.0,
    sides: int = SIDES,
) -> float:
    """Return the largest multiple of an external wrench that the grasp resists.

    It is finite if limits of normal forces bound it, else infinite.

    Args:
        contacts: The contacts.
        direction: The external wrench, in the object's axes about `center` (6,).
        center: A point in the object [m].
        margin: Least distance of contact forces to their cones [N].
        sides: Sides of the polygons that stand for cones.

    Returns:
        The multiple; NaN if the contacts have no admissible forces even without the wrench.
    """
    planes = contact_planes(contacts, margin, sides)
    W = wrench_map(contacts, np.asarray(center, dtype=float))
    found = _program(
        np.hstack([planes.rows, np.zeros((len(planes.rows), 1))]),
        planes.lower,
        np.hstack([W, np.asarray(direction, dtype=float)[:, None]]),
        np.zeros(6),
        (0.0, None),
    )
    if found.status == 2:
        return float("nan")
    return float("inf") if found.status == 3 else float(found.x[-1])


def _program(rows: Array, lower: Array, G: Array, g: Array, last: tuple[Any, Any]) -> Any:
    """Return the point with the largest last entry of `rows x >= lower`, G x = g."""
    cost = np.zeros(rows.shape[1])
    cost[-1] = -1.0
    bounds = [(None, None)] * (len(cost) - 1) + [last]
    from scipy.optimize import linprog  # here, because importing it delays every start of control

    found = linprog(cost, -rows, -lower, G, g, bounds, method="highs")
    if found.status not in (0, 2, 3):
        raise RobotDynamicsError(
            f"the linear program of the grasp ended with status {found.status} ({found.message}); "
            "expected contact poses and limits of ordinary size."
        )
    return found


def _described(name: str, contact: Contact) -> str:
    if isinstance(contact.limits, FrictionCone):
        return f"{name!r} ({contact.kind}, friction {contact.limits.friction:g})"
    return f"{name!r} ({contact.kind})"


def _lines(contacts: Sequence[Contact], names: Sequence[str]) -> str:
    """Return the angles between the line of two contacts and their normals, in words."""
    if len(contacts) != 2:
        return ""
    line = contacts[1].pose[:3, 3] - contacts[0].pose[:3, 3]
    line = line / np.linalg.norm(line)
    parts = []
    for name, contact, way in zip(names, contacts, (1.0, -1.0), strict=True):
        angle = np.degrees(np.arccos(np.clip(way * line @ contact.pose[:3, 2], -1.0, 1.0)))
        if isinstance(contact.limits, FrictionCone):
            most = np.degrees(np.arctan(contact.limits.friction))
            parts.append(f"{angle:.3g} degrees at {name!r}, friction holds {most:.3g}")
    if not parts:
        return ""
    return f" (angle between the line of contacts and the normal: {'; '.join(parts)})"
