# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Internal forces that mean something: squeeze, shear, twist and bending; a virtual linkage.

*Two contacts*: what is transmitted from one to the other, F = a_2 F_1 - a_1 F_2, both moved to the
frame in their middle whose x axis points from the first to the second. Its components are the
squeeze (f_x, positive inwards), shear (f_y, f_z), twist (m_x) and bending (m_y, m_z).

*More*: Williams and Khatib's virtual linkage (1993). Lines between contacts carry squeezes,
positive where both ends are pushed inwards. Each contact may hold a moment besides, in its own
frame, which forces across the lines balance. Where contacts lie in a line or a plane, forces
across it complete them.

One unit of a coordinate is 1 N at both ends, or 1 N m, and nothing of the other coordinates. (An
orthonormal basis has 0.71 N at both ends.) Contacts that cannot do all of this get the first in
this order that are independent for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.grasp_map import middle_frame
from robot_dynamics.manipulation.hybrid.contacts import (
    Contact,
    moment_directions,
    wrench_map,
)
from robot_dynamics.manipulation.hybrid.load_sharing import at_middle

Array = NDArray[np.float64]

_TRANSMITTED = ("twist", "bending y", "bending z", "squeeze", "shear y", "shear z")
_ORDER = (3, 4, 5, 0, 1, 2)
# Coordinates that are nearly those before them are taken only if nothing else is left.
_DISTINCT, _INDEPENDENT = 0.1, 1e-9


def internal_coordinates(
    contacts: Sequence[Contact],
    shares: Sequence[float],
    length: float,
    names: Sequence[str] = (),
) -> tuple[tuple[str, ...], Array, Array]:
    """Return names (m,) of internal forces, A (d, m), and what measures them, A^L (m, d).

    Args:
        contacts: The contacts.
        shares: Of the load (k,), for two contacts.
        length: Length [m] at which a moment counts like a force.
        names: Of the contacts; numbers by default.
    """
    called = tuple(names) or tuple(str(i + 1) for i in range(len(contacts)))
    if len(contacts) == 2:
        labels, rows = _transmitted(contacts, shares)
    else:
        labels, rows = _linkage(contacts, called)
    moments = moment_directions(contacts)
    middle = np.mean([contact.pose[:3, 3] for contact in contacts], axis=0)
    basis = null_basis(wrench_map(contacts, middle), moments, length)
    units = np.where([label.startswith(("twist", "bending", "moment")) for label in labels],
                     1.0 / length, 1.0)  # fmt: skip
    chosen = _independent((units[:, None] * rows) @ basis, basis.shape[1])
    left = rows[chosen]
    # The dual basis: each column has one of its own coordinate and none of the others.
    return tuple(labels[i] for i in chosen), basis @ np.linalg.inv(left @ basis), left


def null_basis(W: Array, moments: NDArray[np.bool_], length: float) -> Array:
    """Return A (d, m), orthonormal if moments count at a length: contact forces with W_S A = 0.

    Args:
        W: W_S (6, d).
        moments: Which contact forces are moments (d,).
        length: Length [m].
    """
    scale = np.where(moments, 1.0 / length, 1.0)
    rows = np.array([1.0 / length] * 3 + [1.0] * 3)
    _, s, Vt = np.linalg.svd(rows[:, None] * W / scale)
    rank = int(np.sum(s > _INDEPENDENT * s[0]))
    return np.asarray(Vt[rank:].T / scale[:, None])


def _transmitted(contacts: Sequence[Contact], shares: Sequence[float]) -> tuple[list[str], Array]:
    """Return the components of a_2 F_1 - a_1 F_2 in the middle frame, the squeeze first."""
    first, second = at_middle(contacts)
    rows = np.hstack([shares[1] * first, -shares[0] * second])
    return [_TRANSMITTED[i] for i in _ORDER], rows[list(_ORDER)]


def _linkage(contacts: Sequence[Contact], names: Sequence[str]) -> tuple[list[str], Array]:
    """Return squeezes along lines, moments at contacts, and forces across them."""
    points = np.array([contact.pose[:3, 3] for contact in contacts])
    k = len(contacts)
    lines, labels = [], []
    for i, j in combinations(range(k), 2):
        distance = float(np.linalg.norm(points[j] - points[i]))
        if distance == 0.0:
            continue
        line = np.zeros((k, 3))
        line[i] = (points[j] - points[i]) / distance
        line[j] = -line[i]
        lines.append(line.ravel())
        labels.append(f"squeeze {names[i]}-{names[j]}")
    E = np.array(lines).reshape(len(lines), 3 * k)
    kept = _independent(E, len(E))
    labels = [labels[i] for i in kept]
    # From contact forces to forces at the contacts in the object's axes (3k, d).
    forces = np.zeros((3 * k, sum(contact.directions.shape[1] for contact in contacts)))
    moments, start = np.zeros_like(forces), 0
    for i, contact in enumerate(contacts):
        at = slice(start, start + contact.directions.shape[1])
        forces[3 * i : 3 * i + 3, at] = contact.pose[:3, :3] @ contact.directions[3:]
        moments[3 * i : 3 * i + 3, at] = contact.directions[:3]
        start = at.stop
    squeezes = np.linalg.pinv(E[kept].T) @ forces
    labels += [f"moment {axis} of {name}" for name in names for axis in "xyz"]
    # Forces less their mean, in the axes of the middle frame.
    rest = forces.reshape(k, 3, -1) - forces.reshape(k, 3, -1).mean(axis=0)
    R = middle_frame([contact.pose for contact in contacts])[:3, :3]
    across = np.einsum("ji,kjd->kid", R, rest).reshape(3 * k, -1)
    labels += [f"force {axis} of {name}" for name in names for axis in "xyz"]
    return labels, np.vstack([squeezes, moments, across])


def _independent(rows: Array, count: int) -> list[int]:
    """Return the first rows, about one in size, that are distinct from those before."""
    chosen: list[int] = []
    for least in (_DISTINCT, _INDEPENDENT):
        for i, row in enumerate(rows):
            if len(chosen) == count:
                break
            if i in chosen:
                continue
            rest = row
            if chosen:
                others = rows[chosen].T
                rest = row - others @ np.linalg.lstsq(others, row, rcond=None)[0]
            if np.linalg.norm(rest) > least:
                chosen.append(i)
    return chosen
