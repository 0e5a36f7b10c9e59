# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms on one base of any kind that hold an object: Swain and Morris's unified model (2003).

Several of the paper's printed formulas are wrong; the right ones are used here, and a comment
names each correction where it matters.
"""

from robot_dynamics.reproductions.unified.carrying import Carrying, carrying
from robot_dynamics.reproductions.unified.forward import UnifiedMotion, forward_dynamics
from robot_dynamics.reproductions.unified.held_object import HeldObjectTerms
from robot_dynamics.reproductions.unified.operators import Operators
from robot_dynamics.reproductions.unified.partition import Partition
from robot_dynamics.reproductions.unified.system import (
    UnifiedSystem,
    UnifiedTerms,
    unified_system,
)

__all__ = [
    "Carrying",
    "ObjectTerms",
    "Operators",
    "Partition",
    "UnifiedMotion",
    "UnifiedSystem",
    "UnifiedTerms",
    "carrying",
    "forward_dynamics",
    "unified_system",
]
