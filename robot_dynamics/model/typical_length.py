# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The length of a typical link, against which what is short is measured."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# Distances below this part of the largest come from rounding of frames that should coincide.
_NEGLIGIBLE = 1e-9


def typical_length(distances: Iterable[float]) -> float:
    """Return the median of distances [m] that are not next to nothing; 1 m if all are."""
    values = np.array(list(distances), dtype=float)
    apart = values[values > _NEGLIGIBLE * np.max(values, initial=0.0)]
    return float(np.median(apart)) if len(apart) else 1.0
