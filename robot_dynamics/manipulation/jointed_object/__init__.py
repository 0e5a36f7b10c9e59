# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms that hold an object of two bodies and a joint: Unseren's system (ORNL/TM-11752, 1991).

The report has six-vectors with forces before moments; here they are angular first.
"""

from robot_dynamics.manipulation.jointed_object.system import (
    PART_PARAMETERS,
    JointedObjectSystem,
    ObjectPart,
    jointed_object_system,
)

__all__ = ["PART_PARAMETERS", "JointedObjectSystem", "ObjectPart", "jointed_object_system"]
