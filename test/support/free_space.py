# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control law of arms that hold an object rigidly in free space."""

from __future__ import annotations

from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid_reference import plan_hybrid_reference
from robot_dynamics.control.settings import ControlSettings, ReferenceSettings, SafetySettings
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import ForceDistribution


def free_space_law(
    system, path, start, settings=None, safety=None, contacts=None, **more
) -> HybridLaw:
    """Return the law of arms that hold an object, with a path from a pose (7,)."""
    held = hybrid_system(system, contacts)
    distribution = ForceDistribution.of_contacts(held, [arm.load_share for arm in system.arms])
    plan = plan_hybrid_reference(path or ReferenceSettings(), start, distribution.names, {})
    return HybridLaw(
        system, settings or ControlSettings(), safety or SafetySettings(), plan,
        contacts=contacts, distribution=distribution, **more,
    )  # fmt: skip
