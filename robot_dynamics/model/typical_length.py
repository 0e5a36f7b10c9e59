# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Typical length of a link, the unit for negligible distances."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# Distances below this part of the largest come from rounding of frames that should coincide.
_NEGLIGIBLE = 1e-9


def typical_length(distances: Iterable[float]) -> float:
    """Return the median of the distances [m] that are not negligible; 1 m if all are."""
    values = np.array(list(distances), dtype=float)
    apart = values[values > _NEGLIGIBLE * np.max(values, initial=0.0)]
    return float(np.median(apart)) if len(apart) else 1.0
