# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of array arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Results of every public function.
Array = NDArray[np.float64]
#: One truth value for each row.
Mask = NDArray[np.bool_]
#: An argument for one state: an array, list or tuple of numbers.
Vector = Array | Sequence[float]
#: An argument for one state (n,), or with leading batch dimensions (..., n).
Batch = Vector | Sequence[Vector] | Sequence[Sequence[Vector]]
