# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former name of `closed_loop_step`."""

from robot_dynamics.simulation.closed_loop_step import step_parameters, step_program

__all__ = ["step_parameters", "step_program"]
