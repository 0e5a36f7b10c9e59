# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hinges and lines hold a body as Newton and Euler say, and as the closed-loop engine says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.contact_scenes import between_fingers, free_body, run
from support.mechanisms import random_pose, two_arms

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import LinkElement, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.environment_joints import (
    EnvironmentJoint,
    require_independent,
)
from robot_dynamics.simulation.contact.observed_contacts import ObservedContacts
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact

STEP = 2.5e-4
GRAVITY = np.array([1.0, -3.0, -9.0])  # along no axis
MASS, CENTER = 3.0, np.array([0.02, -0.03, 0.05])
INERTIA = np.array([[0.05, 0.004, -0.002], [0.004, 0.04, 0.003], [-0.002, 0.003, 0.03]])
BODY = LinkElement("body", MASS, tuple(CENTER), INERTIA)
PART = pose((0.1, 0.2, -0.1), Rotation.from_rotvec([0.5, -0.4, 0.9]).as_matrix())


def held(kind, gravity=GRAVITY, link=BODY, part=PART):
    """Return a scene of a body on a hinge or a line, a start on it, and the frame in the world."""
    frame = random_pose(np.random.default_rng(5))
    start = frame @ np.linalg.inv(part)
    q = np.concatenate([start[:3, 3], Rotation.from_matrix(start[:3, :3]).as_quat()])
    scene = Scene(
        free_body(link, tuple(gravity)), (), (), (EnvironmentJoint(kind, kind, frame, part),)
    )
    return scene, q, frame


def exerted(motion, q):
    """Return the wrench on the body, moment first, in world axes about its part."""
    (report,) = (
        ObservedContacts(motion.terms)
        .look(q, motion.v)
        .reports(motion.state.contacts.force, motion)
    )
    assert report.state is ContactMode.HELD
    return np.concatenate([report.axes.T @ report.moment, report.axes.T @ report.force])


def swung(rate):
    """Return the velocity (6,) of the body that turns about its part's axis [rad/s]."""
    omega = rate * PART[:3, 2]
    return np.concatenate([omega, -np.cross(omega, PART[:3, 3])])


def placed(q):
    """Return the body's orientation (3, 3), and its centre of mass and part from the origin."""
    R = Rotation.from_quat(q[3:7]).as_matrix()
    return R, R @ CENTER, R @ PART[:3, 3]


def test_a_hinge_bears_what_a_physical_pendulum_needs():
    """Force and moment of the hinge against Newton and Euler for a turn about a fixed axis.

    The inertia has no symmetry; the body turns by more than a radian at up to 9 rad/s. Forces are
    right to the step (positions to its square): their error is 6e-5 of the weight with steps of
    0.25 ms, to which the threshold leaves a factor of two, and falls to half with half the step.
    """
    errors = []
    for step in (STEP, STEP / 2):
        scene, q, frame = held("hinge")
        motion = TimeStepping(scene)
        motion.start(q, swung(8.0))
        axis, worst, turned = frame[:3, 2], 0.0, 0.0
        for _ in range(round(0.2 / step)):
            q0, v0 = motion.q.copy(), motion.v.copy()
            motion.advance(step, np.zeros(6))
            middle = motion.terms.move(q0, 0.25 * step * (v0 + motion.v))
            R, c, p = placed(middle)
            arm = c - p  # from the axis to the centre of mass
            rate = float(axis @ R @ (v0[:3] + motion.v[:3])) / 2.0
            J = R @ INERTIA @ R.T
            about = axis @ J @ axis + MASS * (arm @ arm - (axis @ arm) ** 2)
            angular = float(axis @ np.cross(arm, MASS * GRAVITY)) / about
            omega, alpha = rate * axis, angular * axis
            a = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
            force = MASS * (a - GRAVITY)
            moment = J @ alpha + np.cross(omega, J @ omega) + np.cross(arm, force)
            found = exerted(motion, middle)
            worst = max(worst, np.abs(found - np.concatenate([moment, force])).max())
            turned += step * abs(rate)
        assert turned > 1.0
        errors.append(worst / (MASS * np.linalg.norm(GRAVITY)))
    assert errors[0] < 1.2e-4
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_a_bead_slides_down_its_line():
    """With its centre of mass on the line a body slides with the part of gravity along it.

    The line bears the rest, and a spin about a principal axis continues. The force is
    right to the step, since the origin circles about the centre of mass: 3e-5 of the weight.
    """
    part = pose(CENTER)
    scene, q, frame = held("line", part=part)
    motion = TimeStepping(scene)
    v = np.zeros(6)
    v[:3] = INERTIA_AXIS
    v[3:] = -np.cross(INERTIA_AXIS, CENTER)
    motion.start(q, v)
    axis = frame[:3, 2]
    run(motion, 0.2)
    R = Rotation.from_quat(motion.q[3:7]).as_matrix()
    velocity = R @ (motion.v[3:] + np.cross(motion.v[:3], CENTER))
    assert_allclose(velocity, 0.2 * axis * (axis @ GRAVITY), atol=1e-9)
    assert_allclose(R @ motion.v[:3], _first(q) @ INERTIA_AXIS, atol=1e-9)
    across = GRAVITY - axis * (axis @ GRAVITY)
    threshold = 1e-4 * MASS * np.linalg.norm(GRAVITY)
    assert_allclose(exerted(motion, motion.q), [0, 0, 0, *(-MASS * across)], atol=threshold)


# A principal axis: a spin about it lasts.
INERTIA_AXIS = 2.0 * np.linalg.eigh(INERTIA)[1][:, 0]


def _first(q):
    return Rotation.from_quat(q[3:7]).as_matrix()


@pytest.mark.parametrize("kind", ["hinge", "line"])
def test_energy_and_momentum(kind):
    """Without gravity the energy stays, and so does the momentum that nothing can take.

    That is the one about the hinge's axis, and the one along the line. The rest of the change
    of momentum is the sum of the impulses.
    """
    scene, q, frame = held(kind, gravity=np.zeros(3))
    motion = TimeStepping(scene)
    v = swung(4.0)
    if kind == "line":  # a spin about the point, and a slide along z of the part
        v[:3] = [3.0, -2.0, 4.0]
        v[3:] = -np.cross(v[:3], PART[:3, 3]) + PART[:3, 2]
    motion.start(q, v)
    robot = Robot(scene.model)

    def momentum():
        R, c, _ = placed(motion.q)
        omega, velocity = R @ motion.v[:3], R @ (motion.v[3:] + np.cross(motion.v[:3], CENTER))
        linear = MASS * velocity
        at = motion.q[:3] + c - frame[:3, 3]
        return np.concatenate([R @ INERTIA @ R.T @ omega + np.cross(at, linear), linear])

    energy, before, impulse = sum(robot.energies(motion.q, motion.v)), momentum(), np.zeros(6)

    def add(motion):
        wrench = exerted(motion, motion.q)
        _, _, p = placed(motion.q)
        at = motion.q[:3] + p - frame[:3, 3]
        impulse[:] += STEP * np.concatenate([wrench[:3] + np.cross(at, wrench[3:]), wrench[3:]])

    run(motion, 0.2, after=add)
    after, axis = momentum(), frame[:3, 2]
    # Of second order in the step: 4e-6 and 1.5e-5 measured on the line, with a factor of two.
    assert_allclose(sum(robot.energies(motion.q, motion.v)), energy, rtol=1e-5)
    free = slice(0, 3) if kind == "hinge" else slice(3, 6)
    assert_allclose(axis @ after[free], axis @ before[free], rtol=3e-5)
    assert np.abs(after - before)[3:].max() > 0.5
    assert_allclose(after[3:] - before[3:], impulse[3:], atol=2e-5 * np.abs(impulse).max())
    assert abs(motion.books.holding) < 1e-9
    motion.correct()
    # Corrected, it is closed to rounding.
    seen = ObservedContacts(motion.terms).look(motion.q, motion.v)
    assert max(seen.openings()) < 1e-12


@pytest.mark.parametrize("kind", ["hinge", "line"])
def test_friction_and_damping_of_what_is_left(kind):
    """A turn and a slide that die down: u' = -(F + d u) / M, and rest when there is none left.

    The step takes friction at its end, an error of first order: 2e-3 of the first rate measured.
    Where energy goes is in the books.
    """
    friction, damping, begin = (0.6, 0.3, 4.0) if kind == "hinge" else (20.0, 10.0, 2.0)
    part = PART if kind == "hinge" else pose(CENTER)  # a force through the centre turns nothing
    scene, q, frame = held(kind, gravity=np.zeros(3), part=part)
    scene = replace(
        scene,
        environment_joints=(EnvironmentJoint(kind, kind, frame, part, friction, damping),),
    )
    motion, robot = TimeStepping(scene), Robot(scene.model)
    if kind == "hinge":
        v, arm, z = swung(begin), CENTER - PART[:3, 3], PART[:3, 2]
        inertia = z @ INERTIA @ z + MASS * (arm @ arm - (z @ arm) ** 2)
    else:
        v, inertia = np.concatenate([np.zeros(3), begin * part[:3, 2]]), MASS
    motion.start(q, v)
    energy = sum(robot.energies(q, v))

    def rate():
        turned = Rotation.from_quat(motion.q[3:7]).as_matrix() @ motion.v.reshape(2, 3).T
        return float(frame[:3, 2] @ turned[:, 0 if kind == "hinge" else 1])

    for i in range(1, 6):
        run(motion, 0.02)
        left = (begin + friction / damping) * np.exp(-damping / inertia * 0.02 * i)
        assert rate() == pytest.approx(left - friction / damping, abs=3e-3 * begin)
    run(motion, 1.0)
    assert abs(rate()) < 1e-6
    assert_allclose(motion.books.joint_friction, -energy, rtol=1e-5)


@pytest.mark.parametrize("place", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_a_door_strikes_its_stop(place, restitution):
    """The hinge takes no blow if the stop is at the door's centre of percussion, I / (m c).

    A door of 3 kg about a vertical hinge, its centre of mass c from it. A stop at a distance b
    takes the impulse P = (1 + e) I omega / b, the hinge P - m c (1 + e) omega; no time passes.
    """
    c, about_center, omega = 0.4, 0.04, 1.5
    door = LinkElement("door", MASS, (c, 0.0, 0.0), about_center * np.eye(3))
    about = about_center + MASS * c * c
    b = about / (MASS * c) if place == 0.5 else place  # 0.433 m in the middle case
    stop = SurfaceContact(
        "stop",
        plane((0.0, 0.01, 0.0), (0.0, -1.0, 0.0)),
        np.array([[b, 0.0, 0.0]]),
        Material(FrictionCone(0.0), restitution=restitution),
    )
    hinge = EnvironmentJoint("hinge", "hinge", np.eye(4), np.eye(4))
    scene = Scene(free_body(door, (0.0, 0.0, 0.0)), (), (stop,), (hinge,))
    motion = TimeStepping(scene)
    motion.start(np.array([0, 0, 0, 0, 0, 0, 1.0]), np.array([0, 0, omega, 0, 0, 0]))
    rest, impulse = np.zeros(6), np.zeros(6)
    while not motion.state.contacts.impacts.any():
        motion.advance(STEP, rest)
    of_stop, of_hinge = (
        ObservedContacts(motion.terms)
        .look(motion.q, motion.v)
        .reports(motion.state.contacts.impulse, motion)
    )
    impulse = of_hinge.axes.T @ of_hinge.force
    assert_allclose(motion.v[2], -restitution * omega, atol=1e-8)
    P = (1.0 + restitution) * about * omega / b
    # The door has turned by 0.01 / b until then: its arm is shorter by the cosine of that.
    turned = 0.01 / b
    assert_allclose(of_stop.force, [0.0, 0.0, P], atol=turned**2 * P)
    expected = P - MASS * c * (1.0 + restitution) * omega
    assert_allclose(impulse[1], expected, atol=2.0 * turned**2 * P)
    assert abs(impulse[0]) < 2.0 * turned * P
    assert_allclose(of_hinge.moment, 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "line"])
def test_two_arms_measure_what_the_closed_loop_engine_says(kind):
    """Grasps and environment joint as loop joints of one model, moving, under random torques.

    Its multipliers are the contact plant's forces in a step of a nanosecond; velocities of 1 rad/s
    and 1 m/s, of which rounding leaves 1e-16, make forces of 1e-7 of those there are in it.
    """
    cell = two_arms()
    system = cell.system
    at = pose(cell.start[system.object_q][:3])
    part = pose((0.2, 0.1, -0.1), Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix())
    environment_joint = EnvironmentJoint("door", kind, at @ part, part)
    grasps = tuple(ArmContact(Contact.of_kind("rigid", g)) for g in system.grasps)
    wall = SurfaceContact("far", plane((0, 0, -9.0), (0, 0, 1.0)), np.zeros((1, 3)), Material())
    scene = Scene(system, grasps, (wall,), (environment_joint,))
    loop = environment_joint.loop(system.object_body)
    engine = Robot(replace(system.model, loops=(*system.model.loops, loop)))
    rng = np.random.default_rng(1)
    rest, tau = np.zeros(system.model.nv), np.zeros(system.model.nv)
    K = engine.constraint_terms(cell.start, rest)[2]
    v = 0.5 * rng.normal(size=len(rest))
    v -= np.linalg.pinv(K) @ K @ v
    tau[system.v_index] = 20.0 * rng.normal(size=len(system.joint_names))
    truth = engine.constrained_motion(cell.start, v, tau)
    motion = TimeStepping(scene)
    motion.start(cell.start, v)
    motion.advance(1e-9, tau)
    multipliers = truth.multipliers[-environment_joint.rows :]
    seen = ObservedContacts(motion.terms).look(motion.q, motion.v)
    reports = seen.reports(motion.state.contacts.force, motion)
    assert [one.name for one in reports] == ["arm0", "arm1", "far", "door"]
    found = np.concatenate([reports[-1].moment, reports[-1].force])
    expected = environment_joint.wrench(multipliers)
    assert np.abs(expected[3:]).min() < 1e-12 if kind == "line" else np.abs(expected[3:]).min() > 1
    assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("kind", "frame", "message"),
    [
        ("rail", np.eye(4), "holds the object as a 'rail', expected 'hinge' or 'line'"),
        ("hinge", np.eye(3), r"frame of hinge 'door' has shape \(3, 3\), expected a \(4, 4\)"),
        ("line", np.full((4, 4), np.nan), "frame of line 'door' is no pose"),
        ("hinge", np.zeros((4, 4)), "frame of hinge 'door' is no pose; expected"),
        ("line", 2.0 * np.eye(4), "frame of line 'door' is no pose"),
        ("hinge", np.diag([1.0, 1.0, -1.0, 1.0]), "frame of hinge 'door' is no pose"),
    ],
)
def test_invalid_kinds_and_poses_are_refused(kind, frame, message):
    """Kinds that are not there, poses that are none."""
    with pytest.raises(ArgumentError, match=message):
        EnvironmentJoint("door", kind, frame, np.eye(4))
    with pytest.raises(ArgumentError, match=message.replace("frame", "part")):
        EnvironmentJoint("door", kind, np.eye(4), frame)


@pytest.mark.parametrize("load", [15.0, 25.0, 200.0])
def test_friction_holds_up_to_its_limit_and_resists_beyond(load):
    """20 N along a line: they bear a smaller load, and of more they take 20 N from the first step.

    The reported force is Newton's for the line, and at most Coulomb's.
    """
    link = LinkElement("box", 1.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    rail = EnvironmentJoint("rail", "line", np.eye(4), np.eye(4), 20.0)
    motion = TimeStepping(Scene(free_body(link, (0.0, 0.0, load)), (), (), (rail,)))
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    motion.start(q)
    for _ in range(400):
        before = motion.v[5]
        motion.advance(STEP, np.zeros(6))
        resisted = exerted(motion, motion.q)
        assert_allclose(resisted[5], (motion.v[5] - before) / STEP - load, atol=1e-9)
        assert_allclose(resisted[:5], 0.0, atol=1e-9)
        assert abs(resisted[5]) < (1.0 + 1e-9) * 20.0
    if load < 20.0:
        assert abs(motion.v[5]) < 1e-14
        assert resisted[5] == pytest.approx(-load, rel=1e-9)
    else:
        assert motion.v[5] == pytest.approx(0.1 * (load - 20.0), rel=1e-9)


@pytest.mark.parametrize("friction", [1.0, 5.0, 20.0])
def test_friction_resists_motion_after_a_blow(friction):
    """A box at rest on a line, struck by a finger: right after the blow it has its momentum.

    Coulomb friction takes F h / m in a step then, of 0.46 m/s, from the step of the blow on.
    """
    link = LinkElement("box", 1.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    scene, start = between_fingers(
        Material(FrictionCone(0.5), restitution=1.0), gravity=(0.0, 0.0, 0.0), link=link
    )
    along_x = pose((0.0, 0.0, 0.0), Rotation.from_euler("y", 90.0, degrees=True).as_matrix())
    motion = TimeStepping(
        replace(
            scene,
            environment_joints=(EnvironmentJoint("rail", "line", along_x, along_x, friction),),
        )
    )
    q, v = start.copy(), np.zeros(scene.model.nv)
    q[0], q[1], v[0] = q[0] - 1e-3, q[1] - 0.5, 1.0
    motion.start(q, v)
    at = scene.system.object_v.start + 3
    while not motion.state.contacts.impacts.any():
        motion.advance(STEP, np.zeros(len(v)))
    given, lost = 2.0 * 0.3 / 1.3, friction * STEP
    assert given - (1.0 + 1e-6) * lost < motion.v[at] < given + 1e-9
    struck = motion.v[at]
    for i in range(1, 6):
        motion.advance(STEP, np.zeros(len(v)))
        assert motion.v[at] == pytest.approx(struck - i * lost, abs=1e-6 * lost)


@pytest.mark.parametrize("key", ["friction", "damping"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_invalid_resistances_are_refused(key, value):
    """It would drive the body that it holds, or is NaN."""
    with pytest.raises(ArgumentError, match=f"hinge 'door' with a {key}"):
        EnvironmentJoint("door", "hinge", np.eye(4), np.eye(4), **{key: value})


@pytest.mark.parametrize("kind", ["hinge", "line"])
def test_environment_joints_that_repeat_one_another_are_refused(kind):
    """A hinge, and 30 cm along its axis another or a line: the share of each is undetermined.

    Two points on one line do not repeat one another; a third one does, and so does the same twice.
    """
    frame = random_pose(np.random.default_rng(5))
    body = frame @ np.linalg.inv(PART)

    def on_axis(name, kind, z):
        along = pose((0.0, 0.0, z))
        return EnvironmentJoint(name, kind, frame @ along, PART @ along)

    hinge, second = on_axis("door", "hinge", 0.0), on_axis("second", kind, 0.3)
    message = f"{kind} 'second' blocks motions that hinge 'door' blocked already"
    with pytest.raises(ArgumentError, match=message):
        require_independent((hinge, second), body)
    lines = [on_axis(f"rail{i}", "line", 0.1 * i) for i in range(3)]
    require_independent((), body)
    require_independent((hinge,), body)
    require_independent(lines[:2], body)
    with pytest.raises(ArgumentError, match="'rail2' blocks motions that line 'rail0' and line"):
        require_independent(lines, body)
    with pytest.raises(ArgumentError, match="'rail0' blocks"):
        require_independent((lines[0], lines[0]), body)
