# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real arms as a folder: their scenario, facts for the nodes, and names of topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_dynamics.description.files import as_text, read_bytes
from robot_dynamics.description.yaml_nodes import MAX_BYTES, parse_yaml
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.resources import share_directory

SCENARIO, NODES, TOPICS = "scenario.yaml", "nodes.yaml", "topics.yaml"
DEFAULT_SCENARIO = "lift_box"


def shipped_robots() -> dict[str, Path]:
    """Return the folders that come with the package, by name."""
    found = (share_directory() / "config" / "robots").glob(f"*/{SCENARIO}")
    return {path.parent.name: path.parent for path in sorted(found)}


def robot_folder(name: str | Path) -> Path:
    """Return the folder of a robot: an existing folder of this name, else a shipped one.

    Raises:
        UnknownNameError: If there is neither.
        RobotDynamicsError: If a file of it is missing.
    """
    folder = Path(name)
    if not folder.is_dir():
        shipped = shipped_robots()
        if str(name) not in shipped:
            raise UnknownNameError("robot", str(name), shipped)
        folder = shipped[str(name)]
    for file in (SCENARIO, NODES, TOPICS):
        if not (folder / file).is_file():
            raise RobotDynamicsError(
                f"{folder}: there is no {file}, expected {SCENARIO}, {NODES} and {TOPICS}."
            )
    return folder


def node_settings(name: str | Path) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return parameters and remappings of the nodes of a robot, for launch files.

    Args:
        name: As for `robot_folder`; empty for no robot.

    Returns:
        A file and a dictionary of parameters, then pairs of our topics and theirs; both are
        empty without a robot.

    Raises:
        RobotDynamicsError: If there is no such robot, or a file of it is missing or wrong.
    """
    if not str(name):
        return [], []
    folder = robot_folder(name)
    parameters = [str(folder / NODES), {"scenario": str(folder / SCENARIO)}]
    return parameters, remappings(folder)


def scenario_of(name: str | Path) -> str:
    """Return the scenario of a robot; the default scenario of the nodes without a robot.

    Raises:
        RobotDynamicsError: If there is no such robot, or a file of it is missing.
    """
    return str(robot_folder(name) / SCENARIO) if str(name) else DEFAULT_SCENARIO


def joint_state_topics(name: str | Path) -> list[str]:
    """Return the topics on which joint states of a robot are published.

    Raises:
        RobotDynamicsError: If there is no such robot, or a file of it is missing or wrong.
    """
    own = ["joint_states"]
    if not str(name):
        return own
    folder = robot_folder(name)
    nodes = _read(folder / NODES)
    parameters = (nodes.get("/**") or {}).get("ros__parameters") or {}
    theirs = dict(remappings(folder))
    return [theirs.get(topic, topic) for topic in parameters.get("joint_state_topics") or own]


def _read(path: Path) -> dict[str, Any]:
    data = read_bytes(path, expected="a YAML file", limit=MAX_BYTES)
    found = parse_yaml(as_text(data, path), str(path)).plain() or {}
    return found if isinstance(found, dict) else {"": found}


def remappings(folder: Path) -> list[tuple[str, str]]:
    """Return pairs of topics: our name, the robot's name.

    Raises:
        RobotDynamicsError: If the file is no list of names.
    """
    path = folder / TOPICS
    found = _read(path)
    if not all(isinstance(text, str) and text for pair in found.items() for text in pair):
        raise RobotDynamicsError(f"{path}: expected lines of the form left/commands: /topic.")
    return [*found.items()]
