# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control of a jointed object by two arms: Unseren's architecture with servos on it."""

from robot_dynamics.control.jointed.choice import ChoiceOfPseudovelocities, Rechoice
from robot_dynamics.control.jointed.object_path import ObjectPath, PartsMotion
from robot_dynamics.control.jointed_settings import JointedControlSettings

__all__ = [
    "ChoiceOfPseudovelocities",
    "JointedControlSettings",
    "ObjectPath",
    "PartsMotion",
    "Rechoice",
]
