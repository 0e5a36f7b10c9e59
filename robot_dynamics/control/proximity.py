# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether links come too close to each other or to the object, at every control instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.link_distance import LinkDistances
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


class Proximity:
    """Watches the distances of links while control runs.

    Args:
        system: Arms and object.
        settings: How close they may come.
        box: Lower and upper corner of the object's box in its own frame (2, 3) [m]; without it
            the object is not looked at.
    """

    def __init__(
        self, system: GraspSystem, settings: SafetySettings, box: ArrayLike | None = None
    ) -> None:
        self._distances = LinkDistances(system, settings.link_radius_m, box)
        to_object = [pair.second == "object" for pair in self._distances.pairs]
        self._stated = np.where(
            to_object, settings.minimum_object_distance_m, settings.minimum_arm_distance_m
        )
        self._least = self._stated

    def begin(self, q: Array, pose: Array) -> None:
        """Leave out the pairs of which capsules say nothing, because they touch at the start.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the object in the world, x y z qx qy qz qw (7,).
        """
        self._least = self._stated.copy()
        self._least[self._distances.touching(self._stated, q, pose)] = -np.inf

    def finding(self, q: Array, pose: Array) -> Finding | None:
        """Return the pair that is too close, if there is one.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the object (7,).
        """
        distances = self._distances(q, pose)
        if (distances >= self._least).all():
            return None
        pair = int(np.argmin(distances - self._least))
        sentence = self._distances.sentence(pair, float(distances[pair]), float(self._least[pair]))
        return Finding(Cause.TOO_CLOSE, self._distances.pairs[pair].first, sentence)
