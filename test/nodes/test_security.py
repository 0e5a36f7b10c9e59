# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The policy of SROS 2, the documentation and the file of RViz name the nodes' topics."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import rclpy
import yaml
from lxml import etree
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.runs.recorders import common_metadata
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes import (
    controller,
    guard,
    lifecycle,
    marker,
    parameters,
    simulator,
    viewer,
)
from robot_dynamics.nodes.process import Reporter

ROOT = Path(__file__).resolve().parents[2]
POLICY, PAGE = ROOT / "config" / "security_policy.xml", ROOT / "docs" / "security.md"
RVIZ = ROOT / "rviz" / "dual_arm.rviz"
# Message type of each class of displays in rviz_default_plugins.
DISPLAYED = {
    "RobotModel": "std_msgs/msg/String",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "InteractiveMarkers": "visualization_msgs/msg/InteractiveMarkerUpdate",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
    "Odometry": "nav_msgs/msg/Odometry",
}
NODES = ("controller", "guard", "simulator", "marker", "view")
KINDS = ("publish", "subscribe", "reply")
# Of every node, which the table leaves out.
COMMON = re.compile(
    r"/rosout|/parameter_events|~/transition_event|~/(get|list|set|describe)_parameter\w*"
    r"|~/get_type_description|~/change_state|~/get_(state|available_\w+|transition_graph)"
)
# Where mujoco_ros2_control_msgs is installed.
MUJOCO = ("set_pause", "step_simulation", "reset_world", "set_free_joint_state", "apply_wrench")
# Permitted, and not there in the run below: of other laws, settings and packages.
SETTINGS = {
    "joint_commands",
    "joint_trajectory",
    "left/position_commands",
    "right/position_commands",
    *(f"{arm}/gripper/{what}" for arm in ("left", "right") for what in ("commands", "state")),
    *(f"~/{service}" for service in MUJOCO),
    "task/phase",
    "object/reference_contact_force",
    "/tf",
    "/clock",
    "/diagnostics",
}


def policy():
    """Return the names that the policy permits, by enclave and kind."""
    root = etree.parse(POLICY).getroot()
    return {
        enclave.get("path").removeprefix("/robot_dynamics/"): {
            kind: {name.text for name in enclave.iterfind(f".//*[@{kind}]/*")}
            for kind in (*KINDS, "request")
        }
        for enclave in root.iter("enclave")
    }


@pytest.fixture(scope="module")
def graph(domain, tmp_path_factory):
    """Return a node that sees all nodes of the package, in this process, with most settings on."""
    folder = tmp_path_factory.mktemp("nodes")
    scenario = load_scenario("lift_box", ["control.object_pose=sensor"])
    (folder / "scenario.yaml").write_text(scenario.text())
    (folder / "parameters.yaml").write_text(
        "/**:\n  ros__parameters:\n    mode: wall_clock\n"
        f"    scenario: {folder / 'scenario.yaml'}\n"
        "/controller:\n  ros__parameters:\n    references: topics\n    guard: required\n"
    )
    rclpy.init(
        args=["--ros-args", "--params-file", str(folder / "parameters.yaml")],
        domain_id=domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    reporter = Reporter()
    own = [
        controller.ControllerNode(reporter),
        lifecycle.SessionNode("guard", parameters.GUARD, guard.Guard, reporter),
        lifecycle.SessionNode("simulator", parameters.SIMULATOR, simulator.Simulator, reporter),
    ]
    for managed in own:
        assert managed.node.condition in ("inactive", "active"), managed.node.refusal
    dragged, seen = rclpy.create_node("marker"), rclpy.create_node("view")
    marker.ObjectMarker(dragged, 0.1, 0.3, 1.0)
    running = viewer.RunningNodes(seen)
    running._on_metadata(_metadata(scenario))
    observer = rclpy.create_node("observer")
    yield observer
    running.close()
    for managed in own:
        managed.close()
    rclpy.try_shutdown()


def _metadata(scenario):
    return String(data=json.dumps(common_metadata(scenario, build_system(scenario), {})))


def names_of(graph, node, kind):
    """Return the names that a running node has, as a policy writes them."""
    way = {"publish": "publisher", "subscribe": "subscriber", "reply": "service"}[kind]
    found = getattr(graph, f"get_{way}_names_and_types_by_node")(node, "/")
    private, absolute = f"/{node}/", ("/rosout", "/parameter_events", "/tf", "/clock")
    return {
        f"~/{name.removeprefix(private)}"
        if name.startswith(private)
        else name
        if name in (*absolute, "/diagnostics")
        else name[1:]
        for name, _ in found
    }


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_permits_what_a_node_has(graph, node, kind):
    """And nothing else, except for topics that depend on settings."""
    permitted = policy()[node][kind]
    wait_until(lambda: names_of(graph, node, "publish"))
    until = time.monotonic() + min(5.0, PATIENCE_S)  # discovery
    while time.monotonic() < until and permitted - names_of(graph, node, kind) - SETTINGS:
        time.sleep(0.05)
    found = names_of(graph, node, kind)
    assert found <= permitted
    assert permitted - found <= SETTINGS


def displays():
    """Return name, class and topic of the displays of RViz that subscribe to a topic."""
    document = yaml.safe_load(RVIZ.read_text(encoding="utf-8"))
    for display in document["Visualization Manager"]["Displays"]:
        own = display.get("Topic", display.get("Description Topic", {})).get("Value", "")
        handles = display.get("Interactive Markers Namespace", "")
        topic = own or (f"{handles}/update" if handles else "")
        if topic:
            yield display["Name"], display["Class"].rpartition("/")[2], topic


def test_displays_of_rviz_show_topics_of_their_types(graph):
    """All that nodes publish for displays, and nothing that no node publishes."""
    shown = {topic: DISPLAYED[kind] for _, kind, topic in displays()}
    wait_until(lambda: set(shown) <= {name for name, _ in graph.get_topic_names_and_types()})
    found = dict(graph.get_topic_names_and_types())
    assert {topic: found[topic] for topic in shown} == {t: [kind] for t, kind in shown.items()}
    for topic in shown:
        assert graph.count_publishers(topic) == 1, topic
    # The true pose, the reference of the internal force, and the tracked object look the same.
    visible = set(DISPLAYED.values()) - {"std_msgs/msg/String"}
    left = {topic for topic, kinds in found.items() if visible & set(kinds)} - set(shown)
    assert {name.rpartition("/")[2] for name in left} <= {
        "measured_odometry",
        "internal_force_reference",
        "reference_internal_force",
        "reference_contact_force",
    }


@pytest.mark.parametrize("node", NODES)
@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_the_table_names_what_the_policy_permits(node):
    """For an arm of any name."""
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| `{node}` |"))
    cells = [set(re.findall(r"`([^`]+)`", cell)) for cell in row.split("|")[2:5]]
    for names, permitted in zip(cells, policy()[node].values(), strict=False):
        named = {name.replace("<arm>", arm) for name in names for arm in ("left", "right")}
        assert named == {name for name in permitted if not COMMON.fullmatch(name)}


def test_an_operator_calls_services_that_exist():
    """They are of the controller and the guard, and none moves the arms elsewhere."""
    operator, others = policy()["operator"], policy()
    for name in operator["request"]:
        node, _, service = name.partition("/")
        assert f"~/{service}" in others[node]["reply"]
    assert not any(name.endswith("commands") for name in operator["publish"])


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_the_page_names_port_and_enclaves():
    """The viewer listens on this machine alone, unless told otherwise."""
    from robot_dynamics.app.pictures.page import LOOPBACK, PORT

    text = PAGE.read_text(encoding="utf-8")
    assert f"`{LOOPBACK}`, port `{PORT}`" in text
    assert set(re.findall(r"`/robot_dynamics/(\w+)`", text)) == set(policy())
