# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several systems beside each other: namespaces, remapped names, and domains keep them apart.

Each pair of simulator and controller lifts a box of another mass in lockstep. Anything that one
heard of another would change its run, which is compared to the last bit with one in one process.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from std_srvs.srv import Trigger
from waiting import wait_until

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.scenario import load_scenario

DURATION = 0.2  # 100 control periods
# Named by ROS, not by us: one of each in a domain, unless somebody remaps them.
COMMON = {"/clock", "/diagnostics", "/parameter_events", "/rosout", "/tf"}


class System(NamedTuple):
    """A simulator and its controller."""

    namespace: str
    mass_scale: float
    other_domain: bool = False
    remapped: tuple[tuple[str, str], ...] = ()
    names: tuple[str, str] = ("simulator", "controller")


SYSTEMS = [
    System("/first", 1.0),
    # As real arms have it: topics of their own outside of the namespace, nodes with other names.
    System(
        "/second",
        0.9,
        remapped=(
            ("joint_states", "/cell/joint_states"),
            ("left/commands", "/left_effort_controller/commands"),
            ("right/commands", "/right_effort_controller/commands"),
            ("left/wrench", "/left_broadcaster/wrench"),
        ),
        names=("arms", "pilot"),
    ),
    # Every name is that of the first; only the domain is another.
    System("/first", 0.8, other_domain=True),
]


def start(system, start_node, folder, other_domain):
    """Start the two nodes of a system."""
    changes = [f"plant.object_mass_scale={system.mass_scale}"]
    file = folder / "scenario.yaml"
    file.write_text(load_scenario("lift_box", changes).text())
    arguments = [f"__ns:={system.namespace}", *(f"{a}:={b}" for a, b in system.remapped)]
    other = {"ROS_DOMAIN_ID": str(other_domain)} if system.other_domain else {}
    return [
        start_node(
            kind,
            remappings=[*arguments, f"__node:={name}"],
            environment=other,
            scenario=str(file),
            duration=DURATION,
            output=str(folder / f"{kind}.npz"),
        )
        for kind, name in zip(("simulator", "controller"), system.names, strict=True)
    ]


@pytest.fixture(scope="module")
def recordings(start_node, tmp_path_factory, other_domain):
    """Return the recordings of all systems, which ran at the same time; their nodes live on."""
    folders = [tmp_path_factory.mktemp(f"system_{i}") for i in range(len(SYSTEMS))]
    started = [
        start(system, start_node, folder, other_domain)
        for system, folder in zip(SYSTEMS, folders, strict=True)
    ]
    for nodes in started:
        for node in nodes:
            node.wait_for("done")
    sides = [
        [Recording.load(folder / f"{name}.npz") for name in ("simulator", "controller")]
        for folder in folders
    ]
    return [plant.merged(controller) for plant, controller in sides]


@pytest.fixture(scope="module")
def graph(ros):
    """Return a node of this process that looks at the others of its domain."""
    node = ros.create_node("observer")
    yield node
    node.destroy_node()


def names_of(graph, names_by_node, name, namespace):
    """Return the names that a node has of something, when discovery has found it."""
    nodes = graph.get_node_names_and_namespaces
    wait_until(lambda: (name, namespace) in nodes(), words=nodes)
    wait_until(lambda: names_by_node(name, namespace))
    return {topic for topic, _ in names_by_node(name, namespace)}


@pytest.mark.parametrize("number", range(len(SYSTEMS)), ids=["namespace", "remapped", "domain"])
def test_each_runs_as_if_it_were_alone(recordings, number):
    """States and torques are to the last bit those of a run in one process, without ROS."""
    changes = [f"plant.object_mass_scale={SYSTEMS[number].mass_scale}"]
    alone = simulate(load_scenario("lift_box", changes), duration=DURATION).recording
    recording = recordings[number]
    assert len(recording) == len(alone) == 100
    assert recording.get("plant_state_hash") == alone.get("plant_state_hash")
    assert np.array_equal(recording["commanded_torque"], alone["commanded_torque"])
    others = [r.get("plant_state_hash") for r in recordings if r is not recording]
    assert recording.get("plant_state_hash") not in others


@pytest.mark.parametrize("system", SYSTEMS[:2], ids=["namespace", "remapped"])
def test_every_name_is_in_the_namespace(recordings, graph, system):
    """Topics and services are relative, but for those that ROS names; remapped ones are gone."""
    elsewhere = {target for _, target in system.remapped}
    for name in system.names:
        for kind in ("publisher", "subscriber", "service"):
            by_node = getattr(graph, f"get_{kind}_names_and_types_by_node")
            found = names_of(graph, by_node, name, system.namespace)
            inside = {n for n in found if n.startswith(f"{system.namespace}/")}
            assert found - inside <= COMMON | elsewhere
            if kind == "service":
                assert all(n.startswith(f"{system.namespace}/{name}/") for n in found)
            else:
                assert not inside & {f"{system.namespace}/{own}" for own, _ in system.remapped}
    for target in elsewhere:
        # Commands reach the drives, and the controller itself, which hears what was sent last.
        heard = 2 if target.endswith("commands") else 1
        wait_until(lambda t=target: graph.count_publishers(t) == 1)
        wait_until(lambda t=target, heard=heard: graph.count_subscribers(t) == heard)


def test_services_reach_the_one_that_is_named(recordings, graph, ros):
    """To stop one controller leaves the other one active."""
    ask = Caller(ros, graph)
    assert ask(Trigger, "/second/pilot/stop").success
    answer = ask(Trigger, "/first/controller/reset")
    assert (answer.success, answer.message) == (
        False,
        "reset refused: active; expected a stop before it.",
    )


def test_guard_in_a_namespace(start_node, graph):
    """The guard speaks and hears inside its namespace as well."""
    guard = start_node("guard", remappings=["__ns:=/first"], scenario="lift_box")
    guard.wait_for("ready")
    for kind in ("publisher", "subscriber", "service"):
        by_node = getattr(graph, f"get_{kind}_names_and_types_by_node")
        found = names_of(graph, by_node, "guard", "/first")
        assert {n for n in found if not n.startswith("/first/")} <= COMMON
