# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that come while control runs: checked, and blended into what is followed."""
