# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time integration of mechanisms with closed loops and contacts: `integrate` and its results."""

from robot_dynamics.simulation.integrators.integrate import METHODS, integrate
from robot_dynamics.simulation.integrators.trajectory import (
    Effort,
    IntegrationError,
    IntegrationInterrupted,
    Trajectory,
)

__all__ = [
    "METHODS",
    "Effort",
    "IntegrationError",
    "IntegrationInterrupted",
    "Trajectory",
    "integrate",
]
