# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equality and hashes of dataclasses whose fields hold arrays and mappings."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping

import numpy as np


class ByValue:
    """Makes frozen dataclasses, declared with `eq=False`, equal if all values of their fields are.

    Fields with `compare=False` are left out, as dataclasses do.

    The `==` of a dataclass fails if a field is an array, and its hash fails if a field is an array
    or a mapping.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))


def _values(item: object) -> Hashable:
    """Return a value that is equal, with equal hash, exactly if all numbers are the same."""
    if isinstance(item, ByValue):
        compared = [f.name for f in dataclasses.fields(item) if f.compare]  # type: ignore[arg-type]
        return tuple(_values(getattr(item, name)) for name in compared)
    if isinstance(item, np.ndarray):
        return item.shape, tuple(item.ravel().tolist())
    if isinstance(item, Mapping):
        return frozenset((key, _values(value)) for key, value in item.items())
    if isinstance(item, (tuple, list)):
        return tuple(_values(value) for value in item)
    return item  # type: ignore[return-value]
