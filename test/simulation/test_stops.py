# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Position limits as stops of plants: closed forms, and our engines against MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.linkage_arms import linkage_cell
from support.mechanisms import holding, plain_arm
from support.plants import mujoco_plant

from robot_dynamics.contact.surfaces import Plane
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism, pose
from robot_dynamics.simulation.faults import FaultSettings
from robot_dynamics.simulation.mujoco_model import mujoco_xml
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.stops import Stops
from robot_dynamics.spatial import Vector3

G, PERIOD = 9.81, 0.002
FREE = PlantSettings(
    command_delay_periods=0, friction_scale=0.0, damping_scale=0.0, torque_limit=False
)
BOX = LinkElement("box", 1.0, inertia=0.01 * np.eye(3))
DROP, MASS = 0.05, 2.0  # [m], [kg]


def slides(limits, friction=0.0):
    """Return a scene of two vertical slides that hold nothing, the first with limits."""
    arms = []
    for name, own in (("left", limits), ("right", Limits())):
        links = LinkElement("base"), LinkElement("tool", MASS, inertia=0.01 * np.eye(3))
        joint = JointElement("slide", "prismatic", "base", "tool", limits=own, friction=friction)
        arms.append(Mechanism(name, links, (joint,)).prefixed(f"{name}_"))
    grasps = [pose((-0.1, 0.0, 0.0)), pose((0.1, 0.0, 0.0))]
    cell = holding(arms, BOX, grasps, [(0.0,), (0.0,)], (0.5, 0.5))
    return Scene(cell.system, holds_object=False), cell.start


STOPPED = Limits(lower=-DROP, upper=1.0)


def test_an_arm_falls_onto_its_stop_rests_and_is_lifted():
    """Fall, rest, reaction force, energy lost and lift of a slide have closed forms."""
    plant = ScenePlant(*slides(STOPPED), PERIOD, FREE)
    push = np.array([-3.0, -3.0])
    a = G + 3.0 / MASS
    landing = np.sqrt(2.0 * DROP / a)
    for _ in range(100):
        seen = plant.step(push)
        fallen = 0.5 * a * seen.time**2
        assert_allclose(seen.q, [-min(fallen, DROP), -fallen], rtol=0, atol=1e-12)
        assert abs(seen.qd[0] + (a * seen.time if seen.time < landing else 0.0)) < 1e-9
    stepping = plant.engine.steps.stepping
    normal = stepping.state.contacts.force.reshape(-1, 3)[:, 0]
    assert_allclose(normal, [MASS * a, 0.0], atol=1e-9)
    # Twice: the other slide falls on, and keeps its energy.
    assert_allclose(stepping.books.impacts, -MASS * a * DROP, rtol=1e-9)
    lift = np.array([2.0 * MASS * G, 0.0])
    for tick in range(1, 21):
        seen = plant.step(lift)
        assert_allclose(seen.q[0] + DROP, 0.5 * G * (tick * PERIOD) ** 2, atol=1e-12)
    assert not plant.engine._in_steps


def test_friction_that_holds_and_a_stop():
    """A slide falls against its friction onto its stop; the state there goes on bit for bit."""
    rubbing = replace(FREE, joint_friction="coulomb", friction_scale=1.0)
    scene, start = slides(STOPPED, friction=4.0)
    plant, other = (ScenePlant(scene, start, PERIOD, rubbing) for _ in range(2))
    a = G - 4.0 / MASS
    for _ in range(90):
        seen = plant.step(np.zeros(2))
        fallen = 0.5 * a * seen.time**2
        assert_allclose(seen.q, [-min(fallen, DROP), -fallen], rtol=0, atol=1e-9)
    other.state = plant.state
    lift = np.array([MASS * G + 3.9, 0.0])  # less than friction and weight
    for _ in range(5):
        assert np.array_equal(plant.step(lift).q, other.step(lift).q)
    assert plant.state_hash() == other.state_hash()
    assert plant.step(lift).q[0] == pytest.approx(-DROP, abs=1e-12)
    lift[0] += 0.2
    assert [plant.step(lift) for _ in range(20)][-1].q[0] > -DROP + 1e-5


def test_a_motion_that_reaches_no_stop_is_the_one_without():
    """Bit for bit if the stop is 1 % beyond the lowest position; 1 % before it the arm stops."""
    torque = np.array([-1.0, 2.0])

    def way(limits):
        plant = ScenePlant(*slides(limits), PERIOD, FREE)
        return np.array([plant.step(torque).q for _ in range(40)])

    free = way(Limits())
    lowest = float(free[-1, 0])
    assert np.array_equal(way(Limits(lower=1.01 * lowest)), free)
    assert way(Limits(lower=0.99 * lowest))[-1, 0] == pytest.approx(0.99 * lowest, abs=1e-12)


def test_a_state_at_a_stop_goes_on_bit_for_bit():
    """Saved while the stop pushes, and set to another plant."""
    scene, start = slides(STOPPED)
    one, other = (ScenePlant(scene, start, PERIOD, FREE) for _ in range(2))
    for _ in range(80):
        one.step(np.zeros(2))
    other.state = one.state
    for _ in range(5):
        push = np.array([0.5, 1.0])
        assert np.array_equal(one.step(push).q, other.step(push).q)
    assert one.state_hash() == other.state_hash()


@pytest.mark.parametrize(("distance", "near"), [(0.099, True), (0.101, False)])
def test_steps_with_a_near_stop_are_compiled_before_the_run(distance, near):
    """Within 0.1 m, by both laws of friction; a planned stuck joint has them at any distance."""
    scene, start = slides(Limits(-distance, 1.0), friction=1.0)
    assert ("steps" in vars(ScenePlant(scene, start, PERIOD, FREE).engine)) == near
    plant = ScenePlant(scene, start, PERIOD, replace(FREE, joint_friction="coulomb"))
    assert ("_stopped" in vars(plant.engine.steps._steps)) == near
    fault = FaultSettings("joint_stuck", 1.0)
    plant = ScenePlant(scene, start, PERIOD, replace(FREE, faults=(fault,)))
    assert "steps" in vars(plant.engine)


def test_a_limit_that_the_start_exceeds_is_no_stop():
    """Beyond 1e-3 rad or m; closer the stop pushes the joint back."""
    for excess, stops in ((1.01e-3, 1), (0.99e-3, 2)):
        scene, start = slides(STOPPED)
        start[scene.system.q_index[0]] = -DROP - excess
        assert len(Stops(scene.system.model, start).items) == stops


def bent_arm(limits, **scene):
    """Return an arm of three joints that holds a box, its second joint with limits."""
    arm = plain_arm("arm", 3)
    joints = [replace(j, limits=limits) if j.name == "arm_joint1" else j for j in arm.joints]
    cell = holding(
        [replace(arm, joints=tuple(joints))], BOX, [np.eye(4)], [(0.2, 0.5, 0.3)], (1.0,)
    )
    return Scene(cell.system, **scene), cell.start


def test_engines_stop_a_loaded_arm_alike():
    """Both of ours, the one for contacts because of a wall far away, and MuJoCo."""
    pytest.importorskip("mujoco")
    limits = Limits(-1.0, 0.6)
    wall = Plane(Vector3(0.0, -9.0, 0.0), Vector3(0.0, 1.0, 0.0))
    far = SurfaceContact("wall", wall, np.zeros((1, 3)))
    rigid, touching = bent_arm(limits), bent_arm(limits, surfaces=(far,))
    plants = [ScenePlant(*rigid, PERIOD, FREE), ScenePlant(*touching, PERIOD, FREE)]
    plants += [mujoco_plant(*scene, PERIOD, FREE) for scene in (rigid, touching)]
    torque = np.array([2.0, 10.0, -3.0])
    ways = np.array([[plant.step(torque).q for _ in range(75)] for plant in plants])
    stopped = int(np.argmax(ways[0, :, 1] >= 0.6))
    assert 10 < stopped < 60
    ours, contact, *theirs = ways
    assert_allclose(ours[stopped:, 1], 0.6, rtol=0, atol=1e-9)
    assert_allclose(contact, ours, rtol=0, atol=1e-5)
    for other in theirs:
        assert_allclose(other, ours, rtol=0, atol=0.01 * np.ptp(ours, axis=0).max())
    # Released, it leaves the stop in each.
    ends = np.array([[plant.step(-torque).q for _ in range(40)][-1] for plant in plants])
    assert ends[0, 1] < 0.599
    assert_allclose(ends[1:], ends[:1].repeat(3, 0), rtol=0, atol=5e-3)


def test_a_pin_that_closes_the_loop_of_an_arm_stops_in_both_directions():
    """In MuJoCo it is no joint: its stops are chords about its axis."""
    pytest.importorskip("mujoco")
    low, high = 0.3, 1.2
    pin = {"closure": "revolute", "limits": Limits(low, high)}
    cell = linkage_cell(1, BOX, [pose((-0.15, 0.0, 0.0))], **pin)
    system, scene = cell.system, Scene(cell.system, holds_object=False)
    passive = [
        system.model.q_slices[system.model.joint_index(name)].start
        for name in system.passive_joint_names
    ]
    limits, push = PositionLimits(system.model), np.array([0.0, 20.0, 25.0, 0.0, 0.0, 0.0])
    ways = []
    for plant in (
        ScenePlant(scene, cell.start, PERIOD, FREE),
        mujoco_plant(scene, cell.start, PERIOD, FREE),
    ):
        q = np.array([cell.start] * 70)
        for i, at in enumerate(q):
            at[system.q_index] = plant.step(push if i < 28 else -push).q
            at[passive] = plant.passive_joints()[0]
        ways.append(limits.loop_values(q)[:, 0])
    ours, theirs = ways
    assert ours.min() == pytest.approx(low, abs=1e-9)
    assert high - 1e-3 < ours.max() < high + 1e-9  # it leaves again within the period
    assert_allclose(theirs, ours, rtol=0, atol=0.02 * (high - low))
    assert theirs.min() > low - 1e-3
    assert theirs.max() < high + 1e-3


def test_loop_joints_that_mujoco_cannot_stop_are_refused():
    """A hinge with a range of more than 5 rad; one of 5 rad has its stops."""
    for high, fits in ((4.05, False), (3.95, True)):
        pin = {"closure": "revolute", "limits": Limits(-1.0, high)}
        cell = linkage_cell(1, BOX, [pose((-0.15, 0.0, 0.0))], **pin)
        scene = Scene(cell.system, holds_object=False)
        if fits:
            assert "arm0_pin_upper" in mujoco_xml(scene, cell.start, 2e-4, 4e-4)
            continue
        with pytest.raises(RobotDynamicsError, match=r"'arm0_pin' .* 5.05 rad, expected .* 5 rad"):
            mujoco_xml(scene, cell.start, 2e-4, 4e-4)
