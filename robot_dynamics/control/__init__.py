# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers of arms that hold an object, their references and their safety layer."""
