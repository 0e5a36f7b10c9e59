# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of `robot_dynamics view --topics`: a page in the browser that shows running nodes.

It only subscribes. Scenario, joints and names of all topics are in the metadata that the
controller publishes when control starts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from robot_dynamics.app.command_line.view import say_where
from robot_dynamics.app.pictures.page import LOOPBACK, PORT, Page
from robot_dynamics.app.pictures.shapes import VisualError
from robot_dynamics.app.pictures.visual_scene import History, RecordedCell
from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.streams import JointFields, Stream, standard_streams
from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.topics import LATCHED, Inbox

PICTURE_S = 1.0 / 20.0  # wall-clock time between two pictures
_LARGEST_METADATA = 1 << 22  # bytes: a scenario with all of its text
_NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
_KINDS: dict[str, Any] = {
    "sensor_msgs/JointState": JointState,
    "nav_msgs/Odometry": Odometry,
    "trajectory_msgs/MultiDOFJointTrajectory": MultiDOFJointTrajectory,
    "geometry_msgs/WrenchStamped": WrenchStamped,
    "std_msgs/Float64MultiArray": Float64MultiArray,
}
# Columns that are drawn; other topics of a run are not subscribed to.
_WANTED = {
    "joint_position", "passive_position", "estimated_pose", "reference_pose", "grasp_wrench",
    "commanded_torque",
}  # fmt: skip


class RunningNodes:
    """The newest messages on the topics of a run, as a row of a recording.

    Args:
        node: The node that listens.
    """

    def __init__(self, node: Node) -> None:
        self._node, self._metadata_text = node, ""
        self._begins, self._inbox = Inbox(node), Inbox(node)
        self.metadata: dict[str, Any] = {}
        self._columns: dict[str, Array] = {}
        self._begins.subscribe(
            String,
            topics.RUN_METADATA,
            self._on_metadata,
            LATCHED,
            awaited=False,
            largest=_LARGEST_METADATA,
        )

    def latest(self) -> Recording | None:
        """Return the newest row; None before messages of all joints and the object."""
        self._begins.read()
        self._inbox.read()
        needed = [self._columns.get(name) for name in ("joint_position", "estimated_pose")]
        if not all(known is not None and np.isfinite(known).all() for known in needed):
            return None
        columns = {name: values[None].copy() for name, values in self._columns.items()}
        return Recording({TICK: np.zeros(1), **columns}, self.metadata)

    def close(self) -> None:
        """Destroy all subscriptions."""
        self._begins.clear()
        self._inbox.clear()

    def _on_metadata(self, message: String) -> None:
        if message.data == self._metadata_text:
            return
        self._metadata_text, self.metadata = message.data, json.loads(message.data)
        self._inbox.clear()
        self._columns = {
            "internal_force": np.zeros(0), "reference_internal_force": np.zeros(0),
        }  # fmt: skip
        named = self.metadata.pop("topics", {})
        for stream in standard_streams(self.metadata):
            if not _WANTED.intersection(place.column for place in stream.places):
                continue
            for place in stream.places:
                self._columns.setdefault(place.column, np.full(place.width, np.nan))
            for topic in named.get(stream.topic, [stream.topic]):
                self._listen(stream, topic)

    def _listen(self, stream: Stream, topic: str) -> None:
        def take(message: Any) -> None:
            try:
                values = stream.read(message)
            except (RobotDynamicsError, IndexError, ValueError):
                return  # a foreign message is not drawn
            for place, numbers in zip(stream.places, values, strict=True):
                part = self._columns[place.column][place.part]
                # Joint states of one arm leave the others unchanged.
                known = np.isfinite(numbers) if isinstance(stream, JointFields) else slice(None)
                part[known] = numbers[known]

        self._inbox.subscribe(_KINDS[stream.kind], topic, take, _NEWEST, awaited=False)


def follow(nodes: RunningNodes, host: str = LOOPBACK, port: int = PORT) -> None:
    """Show running nodes in the browser until an interrupt.

    Args:
        nodes: The running nodes.
        host: Address to listen on.
        port: Port to listen on.

    Raises:
        VisualError: If viser or trimesh is missing, the address is not of this machine, or the
            nodes change to another cell.
    """
    page: Page | None = None
    cell: RecordedCell | None = None
    text, began, history = "", time.monotonic(), History()
    print("waiting for a running controller (topic run_metadata) ...", flush=True)
    try:
        while True:
            recording = nodes.latest()
            if recording is not None:
                now = recording.get("scenario_text")
                if cell is None:
                    cell = RecordedCell(scenario_of_text(now, recording.get("scenario")).cell)
                elif now != text:
                    raise VisualError(
                        "the nodes have changed to another scenario; expected the first one: "
                        "start the view again."
                    )
                text = now
                times = np.array([time.monotonic() - began])
                recording.columns[TICK][:] = times / recording.get("period_s")
                known = history.extended(recording)
                scene = cell.scene(known, np.array([len(known) - 1]), times)
                if page is None:
                    page = Page(scene, host, port, live=True)
                    say_where(page, port)
                elif page.playing:
                    page.update(scene)
            time.sleep(PICTURE_S)
    finally:
        if page is not None:
            page.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the viewer; return its exit status."""
    parser = argparse.ArgumentParser(prog="robot_dynamics view --topics")
    parser.add_argument("--namespace", default="")
    parser.add_argument("--host", default=LOOPBACK)
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args(arguments)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("view", namespace=options.namespace)
    nodes = RunningNodes(node)
    try:
        follow(nodes, options.host, options.port)
    except KeyboardInterrupt:
        print("closed.")
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return 2
    finally:
        nodes.close()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
