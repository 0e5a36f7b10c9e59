# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms that hold an object of two bodies and a joint: Unseren's system (ORNL/TM-11752, 1991).

The report's six-vectors have forces before moments; here they are angular first, as everywhere.
"""

from robot_dynamics.manipulation.jointed_object.joint_space import JointSpaceModel, JointSpaceTerms
from robot_dynamics.manipulation.jointed_object.pseudovelocities import (
    CompletedVelocities,
    ConstantVelocities,
    PseudoVelocities,
)
from robot_dynamics.manipulation.jointed_object.reduced_order import (
    DecoupledLaw,
    ReducedOrderTerms,
    decoupled_law,
)
from robot_dynamics.manipulation.jointed_object.system import (
    JointedObjectSystem,
    ObjectPart,
    jointed_object_system,
)

__all__ = [
    "CompletedVelocities",
    "ConstantVelocities",
    "DecoupledLaw",
    "JointSpaceModel",
    "JointSpaceTerms",
    "JointedObjectSystem",
    "ObjectPart",
    "PseudoVelocities",
    "ReducedOrderTerms",
    "decoupled_law",
    "jointed_object_system",
]
