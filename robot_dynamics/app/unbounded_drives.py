# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives whose torque nothing bounds."""

from __future__ import annotations

import numpy as np

from robot_dynamics.manipulation.system import GraspSystem


def unbounded_drives(system: GraspSystem) -> list[str]:
    """Return a sentence if descriptions leave out how much drives can do; else nothing.

    Joints that follow the drives of an arm with internal closed chains need no limit.

    Args:
        system: The arms and what they hold.
    """
    efforts = zip(system.joint_names, system.limits["effort"], strict=True)
    names = [name for name, effort in efforts if not np.isfinite(effort)]
    if not names:
        return []
    whose = f"drive {names[0]} has" if len(names) == 1 else f"drives {', '.join(names)} have"
    return [
        f"{whose} no limit of effort, so that nothing bounds the torque; expected one in the "
        "description, as <limit effort=...> in a URDF."
    ]
