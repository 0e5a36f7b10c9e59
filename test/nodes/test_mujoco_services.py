# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services of `mujoco_ros2_control`, by stand-ins of their types where these are not installed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, PoseStamped, TwistStamped, WrenchStamped
from support.contact_scenes import between_fingers

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import pose
from robot_dynamics.nodes.mujoco_services import MujocoServices
from robot_dynamics.nodes.process import RunError
from robot_dynamics.nodes.pushes import LinkPoses, Pushes
from robot_dynamics.nodes.simulated_run import Pause
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene, SurfaceContact, points_of_face
from robot_dynamics.simulation.settings import PlantSettings

PERIOD = 0.002
STILL = np.zeros(4)
CORNERS = points_of_face(0.05, 0.05, pose((0.0, 0.0, -0.1)).tolist())


def standing():
    """Return a plant: open grippers beside a box above a table."""
    scene, start = between_fingers(Material(), "rigid", lifts=True)
    table = SurfaceContact("table", plane((0, 0, -0.5), (0, 0, 1)), CORNERS)
    start[scene.system.q_index] = [0.0, -0.003, -0.004, 0.0]
    settings = PlantSettings(command_delay_periods=0)
    return ScenePlant(Scene(scene.system, scene.contacts, (table,)), start, PERIOD, settings)


class Bench:
    """A simulator's run, whose time goes on by hand, and its services."""

    def __init__(self):
        self.plant = standing()
        self.pushes, self.tick, self.over = Pushes(self.plant), 0, False
        self.pause = Pause()
        self.box = self.plant.system.model.bodies[self.plant.system.object_body].name
        self.services = MujocoServices(
            self, self.pause, self.switch, self.pause.ask_steps, self.restart
        )

    def switch(self, paused):
        self.pause.switch(paused)
        return "paused" if paused else "running"

    def restart(self, prepare):
        self.plant.reset()
        self.tick = 0
        prepare()
        return "at the start"

    def advance(self):
        """Simulate a period if time goes on."""
        if self.pause.lets_pass():
            self.plant.step(STILL, self.pushes.at(self.tick))
            self.tick += 1

    def answer(self, course, most=200):
        """Return the answer of a service, with time going on while it waits."""
        for _ in range(most):
            try:
                course.send(None)
            except StopIteration as end:
                return end.value
            self.advance()
        pytest.fail("no answer")


@pytest.fixture
def bench():
    """Return a bench."""
    return Bench()


def push_of(link, force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0), at=(0.0, 0.0, 0.0), **spans):
    """Return a request of one wrench; spans in ms."""
    wrench = WrenchStamped()
    wrench.header.frame_id = link
    w = wrench.wrench
    w.force.x, w.force.y, w.force.z = force
    w.torque.x, w.torque.y, w.torque.z = torque
    spans = {name: Duration(nanosec=10**6 * value) for name, value in spans.items()}
    one = SimpleNamespace(
        wrench=wrench,
        application_point=Point(x=at[0], y=at[1], z=at[2]),
        **({"duration": Duration(), "ramp_down_duration": Duration()} | spans),
    )
    return SimpleNamespace(wrenches=SimpleNamespace(external_wrenches=[one]))


def state_of(name, at=(0.0, 0.0, 0.0), turn=None, velocity=(0.0, 0.0, 0.0), frames=("", "")):
    """Return a state of a free joint."""
    where, moves = PoseStamped(), TwistStamped()
    p = where.pose.position
    p.x, p.y, p.z = at
    if turn is not None:
        o = where.pose.orientation
        o.x, o.y, o.z, o.w = turn.as_quat().tolist()
    v = moves.twist.linear
    v.x, v.y, v.z = velocity
    where.header.frame_id, moves.header.frame_id = frames
    return SimpleNamespace(name=name, pose=where, twist=moves)


def test_a_wrench_is_in_the_axes_of_its_link_and_acts_at_its_point(bench):
    """As the same wrench in world axes about the link's origin; it ends in time."""
    turn = Rotation.from_euler("xyz", [0.3, -0.5, 1.0])
    for plant in (bench.plant, other := standing()):
        plant.place([0.0, 0.0, 0.4, *turn.as_quat()], np.zeros(6))
    force, torque, at = np.array([2.0, -1.0, 3.0]), np.array([0.1, 0.0, -0.2]), [0.02, 0.0, 0.1]
    request = push_of(bench.box, force, torque, at, duration=20)
    assert bench.answer(bench.services.apply_wrench(request)) == "1 wrenches were applied"
    assert bench.tick == 10
    for _ in range(10):
        R = Rotation.from_quat(other.truth().object_pose[3:])
        moment = R.apply(torque + np.cross(at, force))
        other.step(STILL, {bench.box: [*moment, *R.apply(force)]})
    assert np.abs(bench.plant.truth().object_twist).max() > 0.05
    np.testing.assert_allclose(
        bench.plant.truth().object_twist, other.truth().object_twist, atol=1e-9
    )
    assert bench.pushes.at(bench.tick) is None


def test_a_wrench_falls_to_zero_before_its_end(bench):
    """Linearly; without a duration it acts for one period, and two add up."""
    bench.pause.switch(True)
    course = bench.services.apply_wrench(
        push_of(bench.box, (10.0, 0.0, 0.0), duration=12, ramp_down_duration=8)
    )
    course.send(None)
    second = bench.services.apply_wrench(push_of(bench.box, (5.0, 0.0, 0.0)))
    second.send(None)
    found = [bench.pushes.at(tick)[bench.box][3] for tick in range(6)]
    np.testing.assert_allclose(found, [15.0, 10.0, 10.0, 7.5, 5.0, 2.5], atol=1e-9)
    assert bench.pushes.at(6) is None
    bench.tick = 6
    assert bench.answer(course) == bench.answer(second) == "1 wrenches were applied"


@pytest.mark.parametrize(
    ("request_of", "error", "words"),
    [
        (push_of("bax", (1.0, 0.0, 0.0)), UnknownNameError, "bax"),
        (push_of("BOX", (np.nan, 0.0, 0.0)), ArgumentError, "finite"),
        (push_of("BOX", duration=2, ramp_down_duration=3), ArgumentError, "a ramp that is no"),
    ],
)
def test_wrong_wrenches_are_refused(bench, request_of, error, words):
    """As a whole, before anything acts."""
    header = request_of.wrenches.external_wrenches[0].wrench.header
    header.frame_id = header.frame_id.replace("BOX", bench.box)
    with pytest.raises(error, match=words):
        bench.answer(bench.services.apply_wrench(request_of))
    assert bench.pushes.at(0) is None


def test_a_reset_ends_wrenches(bench):
    """And their calls."""
    course = bench.services.apply_wrench(push_of(bench.box, (1.0, 0.0, 0.0), duration=40))
    for _ in range(5):
        course.send(None)
        bench.advance()
    bench.over = True
    with pytest.raises(RunError, match="the run is over, or was reset"):
        bench.answer(course)


def test_the_object_is_placed_by_frames(bench):
    """Of the world or of a link; positions are about it, velocities in its axes alone."""
    request = SimpleNamespace(free_joints=[state_of(bench.box, (0.1, 0.2, 0.3))])
    assert bench.services.set_free_joint_state(request) == "1 bodies were placed"
    np.testing.assert_allclose(bench.plant.truth().object_pose, [0.1, 0.2, 0.3, 0, 0, 0, 1])
    arm = bench.plant.system.arms[0].tool
    frame = LinkPoses(bench.plant)(arm)
    turn = Rotation.from_euler("z", 0.4)
    state = state_of(bench.box, (0.0, 0.1, 0.5), turn, (1.0, 2.0, 3.0), (arm, arm))
    bench.services.set_free_joint_state(SimpleNamespace(free_joints=[state]))
    truth = bench.plant.truth()
    expected = frame[:3, :3] @ [0.0, 0.1, 0.5] + frame[:3, 3]
    np.testing.assert_allclose(truth.object_pose[:3], expected, atol=1e-12)
    turned = (Rotation.from_matrix(frame[:3, :3]) * turn).as_matrix()
    found = Rotation.from_quat(truth.object_pose[3:]).as_matrix()
    np.testing.assert_allclose(found, turned, atol=1e-12)
    np.testing.assert_allclose(truth.object_twist[3:], frame[:3, :3] @ [1.0, 2.0, 3.0], atol=1e-9)
    before = bench.plant.state_hash()
    elsewhere = state_of(bench.box, frames=("x", ""))
    for wrong, error in ((state_of("lid"), ArgumentError), (elsewhere, UnknownNameError)):
        with pytest.raises(error):
            bench.services.set_free_joint_state(SimpleNamespace(free_joints=[state, wrong]))
    assert bench.plant.state_hash() == before


def test_a_reset_places_the_object_at_the_start(bench):
    """Keyframes and states of joints have no meaning here, and are refused."""
    bench.advance()
    joints, states = SimpleNamespace(name=[]), [state_of(bench.box, (0.0, 0.0, 0.4))]
    given = SimpleNamespace(joint_states=joints, free_joints=states)
    request = SimpleNamespace(keyframe="", state_overrides=given)
    assert bench.services.reset_world(request) == "at the start"
    assert bench.tick == 0
    assert bench.plant.truth().object_pose[2] == pytest.approx(0.4)
    request.keyframe = "home"
    with pytest.raises(ArgumentError, match="a keyframe is given"):
        bench.services.reset_world(request)
    request.keyframe, joints.name = "", ["a"]
    with pytest.raises(ArgumentError, match="a state of joints is given"):
        bench.services.reset_world(request)


def test_steps_of_a_paused_run(bench):
    """So many as were asked for; a run that goes on ends the call."""
    assert bench.services.set_pause(SimpleNamespace(paused=True)) == "paused"
    bench.advance()
    assert bench.tick == 0
    answer = bench.answer(bench.services.step(SimpleNamespace(steps=7)))
    assert (answer, bench.tick) == ("7 control periods to tick 7", 7)
    with pytest.raises(ArgumentError, match="steps are 0; expected 1 or more"):
        bench.answer(bench.services.step(SimpleNamespace(steps=0)))
    course = bench.services.step(SimpleNamespace(steps=50))
    course.send(None)
    reset = SimpleNamespace(joint_states=SimpleNamespace(name=[]), free_joints=[])
    bench.services.reset_world(SimpleNamespace(keyframe="", state_overrides=reset))
    with pytest.raises(RunError, match="or was reset"):
        course.send(None)
    course = bench.services.step(SimpleNamespace(steps=50))
    course.send(None)
    bench.services.set_pause(SimpleNamespace(paused=False))
    with pytest.raises(RunError, match="not paused any more"):
        bench.answer(course)
