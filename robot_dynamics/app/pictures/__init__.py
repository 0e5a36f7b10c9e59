# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of arms and objects: what is drawn, films without a display, a page in a browser."""
