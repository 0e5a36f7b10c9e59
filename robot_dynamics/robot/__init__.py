# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model bound to its compiled algorithms: `Robot`, by topic.

Each class adds the methods of a topic to the previous one: `BoundModel` binds algorithms of
`dynamics/` to a model, then `TreeDynamics`, `FrameMotion`, `ClosedLoops`, `Regressors`,
`Derivatives` and `Robot`. `LongTree` replaces functions of long trees.
"""

from robot_dynamics.robot.explicit_robot import ExplicitRobot
from robot_dynamics.robot.robot import Robot, load

__all__ = ["ExplicitRobot", "Robot", "load"]
