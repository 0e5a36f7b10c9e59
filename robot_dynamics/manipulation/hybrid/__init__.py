# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hybrid manipulation by any number of arms, contacts and surfaces: Yoshikawa and Zheng (1993).

The paper has six-vectors with forces before moments, and Euler angles. Here six-vectors are
angular first, and the object moves at a twist, so that no orientation is singular.
"""

from robot_dynamics.manipulation.hybrid.closure import largest_wrench, require_closure
from robot_dynamics.manipulation.hybrid.contacts import (
    KINDS,
    Contact,
    ContactLimits,
    FrictionCone,
    WrenchLimits,
    contact_wrenches,
)
from robot_dynamics.manipulation.hybrid.environment import (
    Environment,
    EnvironmentTerms,
    ObjectPose,
    Turned,
)
from robot_dynamics.manipulation.hybrid.force_distribution import (
    ForceDistribution,
    shares_by_strength,
    torque_metric,
)
from robot_dynamics.manipulation.hybrid.squeeze import (
    Squeeze,
    SqueezeChoice,
    SqueezeError,
    TorqueBounds,
    contact_margins,
)
from robot_dynamics.manipulation.hybrid.system import HybridSystem, HybridTerms
from robot_dynamics.manipulation.hybrid.system_equation import (
    object_wrench,
    surface_masses,
    system_matrix,
)

__all__ = [
    "KINDS",
    "Contact",
    "ContactLimits",
    "Environment",
    "EnvironmentTerms",
    "ForceDistribution",
    "FrictionCone",
    "HybridSystem",
    "HybridTerms",
    "ObjectPose",
    "Squeeze",
    "SqueezeChoice",
    "SqueezeError",
    "TorqueBounds",
    "Turned",
    "WrenchLimits",
    "contact_margins",
    "contact_wrenches",
    "largest_wrench",
    "object_wrench",
    "require_closure",
    "shares_by_strength",
    "surface_masses",
    "system_matrix",
    "torque_metric",
]
