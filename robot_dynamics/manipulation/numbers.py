# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a user states: dataclass fields with a default, a unit and bounds."""

from __future__ import annotations

from dataclasses import field
from typing import Any

Triple = tuple[float, float, float]


def number(default: float | None, unit: str, **bounds: Any) -> Any:
    """Return a dataclass field; `description.yaml_document` says which bounds there are."""
    return field(default=default, metadata={"unit": unit, **bounds})
