# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plants of one scene by both engines."""

from __future__ import annotations

from typing import Any

from robot_dynamics.simulation.mujoco_engine import MujocoEngine
from robot_dynamics.simulation.plant import ScenePlant


def mujoco_plant(*arguments: Any) -> ScenePlant:
    """Return the plant that MuJoCo moves, from scene, start, period and settings."""
    return ScenePlant(*arguments, MujocoEngine)
