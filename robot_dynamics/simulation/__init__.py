# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated plants: the closed-loop engine and other engines, their sensors and disturbances."""

from typing import Literal

EngineName = Literal["engine", "mujoco"]
