# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of payloads, sensors, frames and arms from recorded motions."""
