# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One URDF of all robots of a scenario, as RViz and `robot_state_publisher` want it.

`python -m robot_dynamics.app.scenarios.robot_description SCENARIO` prints it, for launch files.
Locked joints are fixed in it; the held object is not part of it, because joint states cannot carry
a floating joint: it is shown by markers.
"""

from __future__ import annotations

import sys

from robot_dynamics.app.scenarios.cell import placed_robots
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description.urdf_writer import urdf_of
from robot_dynamics.description.world import place
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.settings import CellSettings


def robot_description(cell: CellSettings, name: str = "cell") -> str:
    """Return the URDF of all robots of a cell, standing in the link "world".

    Raises:
        DescriptionError: If a robot's description is refused.
    """
    world = place(placed_robots(cell))
    return urdf_of(world.mechanism, world.shapes, name)


def main() -> None:
    """Print the URDF of the scenario that the command line names."""
    if len(sys.argv) != 2:
        print("robot_description: expected one argument, the scenario.", file=sys.stderr)
        sys.exit(2)
    try:
        scenario = load_scenario(sys.argv[1])
        print(robot_description(scenario.cell, scenario.name), end="")
    except RobotDynamicsError as error:
        print(f"robot_description: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
