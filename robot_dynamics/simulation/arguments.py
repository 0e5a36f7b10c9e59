# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of torques and external wrenches."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import WORLD, Model


def checked_array(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy of an argument as an array of the given shape.

    Raises:
        ArgumentError: If it is not numeric, its shape is wrong or an entry is not finite.
    """
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {given!r:.60}, expected numbers {shape}.") from None
    if values.shape != shape:
        raise ArgumentError(f"{name} has shape {values.shape}, expected {shape}.")
    if not all(map(math.isfinite, values.tolist())):  # the fastest way for a few numbers
        raise ArgumentError(f"{name} has entries that are not finite.")
    return values


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
        found[name] = checked_array(f"the wrench on {name!r}", wrench, (6,))
    return found
