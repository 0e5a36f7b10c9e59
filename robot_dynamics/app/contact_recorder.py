# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is written down of the true contacts of a plant: forces on surfaces, and their slip.

Hinges and lines exert several forces, each along or about an axis of its frame and of either sign;
of other surfaces it is their push that is written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.contact import ContactReport, Touch

Array = NDArray[np.float64]

SLIP_TOLERANCE_M = 1e-3  # what a contact may creep by without having slipped


class ContactRecorder:
    """Adds up what contacts tell of themselves.

    Args:
        arms: Names of the arms.
        surfaces: Names of the surfaces.
        period: Control period [s].
        recovery: Internal force of the arms' wrenches in their contacts' frames (m, 6k).
        holding: Of each surface that holds the object for good, for each of its forces the
            component of the wrench on it, in its axes, angular first, and the sign.
    """

    def __init__(
        self,
        arms: Sequence[str],
        surfaces: Sequence[str],
        period: float,
        recovery: Array,
        holding: Mapping[str, Sequence[tuple[int, float]]] | None = None,
    ) -> None:
        self._recovery = recovery
        self._arms = {name: i for i, name in enumerate(arms)}
        self._surfaces = {name: i for i, name in enumerate(surfaces)}
        self._holding = dict(holding or {})
        self._period = period
        self._grasp_slip = np.zeros(len(arms))
        self._surface_slip = np.zeros(len(surfaces))

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column."""
        k, s = len(self._arms), len(self._surfaces)
        every = {"grasp_slip": k, "friction_used": k, "contact_force": s, "surface_slip": s}
        every["holding_force"] = sum(map(len, self._holding.values()))
        return {name: width for name, width in every.items() if width}

    def internal_force(self, contacts: Sequence[ContactReport]) -> Array:
        """Return the internal force (m,): palms may have turned on the object meanwhile."""
        wrenches = [(*one.moment, *one.force) for one in contacts[: len(self._arms)]]
        return np.asarray(self._recovery @ np.concatenate(wrenches))

    def values(self, contacts: Sequence[ContactReport]) -> tuple[Array, ...]:
        """Return the values of the columns at a control instant.

        Args:
            contacts: What the plant tells: arms first, then the points on surfaces, then what
                holds the object.
        """
        by_name: dict[str, Array] = {}
        used = np.zeros(len(self._arms))
        force, moving = np.zeros(len(self._surfaces)), np.zeros(len(self._surfaces))
        for i, contact in enumerate(contacts):
            loose = contact.state in (Touch.SLIDING, Touch.OPEN)
            speed = float(np.linalg.norm(contact.slip))
            if i < len(self._arms):
                if loose:
                    self._grasp_slip[i] += self._period * speed
                used[i] = min(contact.friction_used, 1.0)
                continue
            at = self._surfaces[contact.name]
            if contact.name in self._holding:
                force[at] = np.linalg.norm(contact.force)
                by_name[contact.name] = -np.concatenate([contact.moment, contact.force])
                continue
            force[at] += contact.force[2]
            if contact.state is Touch.SLIDING:
                moving[at] = max(moving[at], speed)
        self._surface_slip += self._period * moving
        every = {
            "grasp_slip": self._grasp_slip.copy(),
            "friction_used": used,
            "contact_force": force,
            "surface_slip": self._surface_slip.copy(),
            "holding_force": np.array(
                [
                    sign * by_name[name][component]
                    for name, of_one in self._holding.items()
                    for component, sign in of_one
                ]
            ),
        }
        return tuple(every[name] for name in self.columns)
