# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing mechanisms: URDF, loop joints and worlds; documents with located errors."""

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis, Problem

__all__ = ["DescriptionError", "Diagnosis", "Problem"]
