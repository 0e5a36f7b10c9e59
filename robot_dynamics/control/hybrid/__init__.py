# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control of an object's motion along surfaces, its force on them, and the force inside it."""
