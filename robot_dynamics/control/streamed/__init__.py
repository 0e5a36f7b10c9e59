# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that arrive while control runs: checked, and blended into the followed one."""
