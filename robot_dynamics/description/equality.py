# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equality of dataclasses that hold arrays, which have no truth value of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: arrays by their entries, dataclasses by their fields.

    As the `__eq__` of a dataclass it gives what dataclasses give, for fields with arrays as well.
    Fields that are not compared are left out, numbers are equal as `==` has it.
    """
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        if type(one) is not type(other):
            return False
        names = [field.name for field in dataclasses.fields(one) if field.compare]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, (list, tuple)):
        if type(one) is not type(other) or len(one) != len(other):
            return False
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping):
        if not isinstance(other, Mapping) or one.keys() != other.keys():
            return False
        return all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)
