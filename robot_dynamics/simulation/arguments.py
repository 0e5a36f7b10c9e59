# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of external wrenches."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import WORLD, Model


def checked_wrenches(model: Model, wrenches: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Return copies of external wrenches (6,) by the name of their link.

    Raises:
        ArgumentError: If it is no mapping, a wrench has the wrong shape or is not finite, or a
            link is fixed to the world.
        UnknownNameError: If there is no such link.
    """
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(
            f"wrenches are {wrenches!r:.60}, expected a mapping from links to wrenches (6,)."
        )
    found = {}
    for name, wrench in wrenches.items():
        if model.link(name).body == WORLD:
            raise ArgumentError(f"link {name!r} is part of the world: nothing can push it.")
        found[name] = finite_vector(f"the wrench on {name!r}", wrench, 6).copy()
    return found
