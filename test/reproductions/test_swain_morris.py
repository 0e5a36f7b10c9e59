# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot of the studies, its paths and servos, and spectra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.reproductions.swain_morris import (
    BASE,
    TOOLS,
    PoseServo,
    box,
    grasps,
    held_at,
    held_box,
    outline,
    peak_near,
    smooth,
    spectrum,
    two_armed,
)
from robot_dynamics.reproductions.unified import unified_system
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate

STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def test_it_holds_the_box():
    """Loops closed where the box was asked for, arms mirrored, and no arm near a singularity."""
    system = unified_system(two_armed("floating", 100.0), TOOLS, held_box(10.0), grasps())
    robot = Robot(system.model)
    there = STILL + 1.5 * np.eye(7)[0]
    q = held_at(system, robot, STILL, there)
    assert_allclose(q[19:], there)
    assert_allclose(robot.closure(q)[1], 0.0, atol=1e-12)
    assert np.linalg.cond(system.terms(q, np.zeros(24)).parts.J_a) < 20.0
    shapes = outline(robot, q)
    assert set(shapes) == {"left", "right", BASE, "box"}
    assert_allclose(shapes["left"] * [1, -1, 1], shapes["right"], atol=1e-9)
    # The tools are on the sides of the box.
    assert_allclose(shapes["left"][-1], [1.5, 0.3, 0.0], atol=1e-9)


def test_inertia_of_a_box():
    """m (b^2 + c^2) / 12 and so on."""
    assert_allclose(np.diag(box(12.0, 1.0, 2.0, 3.0)), [13.0, 10.0, 5.0])


def test_paths_are_smooth():
    """From rest to rest; rates and accelerations are differences of the rows before."""
    path = smooth(1.0, 2.0, np.array([0.4, -1.0]), np.array([1.0, 2.0]))
    assert_allclose(path(0.5)[0], [1.0, 2.0])
    assert_allclose(path(9.0)[0], [1.4, 1.0])
    h = 1e-6
    for time in (1.3, 2.0, 2.9):
        before, now, after = (path(time + s) for s in (-h, 0.0, h))
        assert_allclose((after[0] - before[0]) / (2 * h), now[1], rtol=1e-7)
        assert_allclose((after[1] - before[1]) / (2 * h), now[2], rtol=1e-7, atol=1e-8)
    for time in (1.0, 3.0):
        assert_allclose(path(time)[1:], 0.0, atol=1e-12)


def test_a_body_follows_its_path():
    """On its path it stays there exactly; beside it, it comes back at the servo's rate."""
    links = (LinkElement("world"), LinkElement("body", 1.0, inertia=np.eye(3)))
    free = JointElement("free", "floating", "world", "body")
    robot = Robot(build(Mechanism("b", links, (free,)), gravity=(0, 0, 0)))
    start = pose((0.3, 0.2, 0.1), Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix())
    servo = PoseServo(start, smooth(0.0, 2.0, np.array([0.5, 1.0, -0.4, 1.0, 2.0, 3.0])), 5.0)

    def there(q):
        return pose(q[:3], Rotation.from_quat(q[3:]).as_matrix())

    def force(time, q, qd):
        a = servo.acceleration(time, there(q), qd)
        return robot.inverse_dynamics(q, qd, a)

    q = np.concatenate([start[:3, 3], Rotation.from_matrix(start[:3, :3]).as_quat()])
    motion = integrate(robot, q, np.zeros(6), 2.0, tau=force, step=0.01)
    for time, at in zip(motion.t, motion.q, strict=True):
        assert_allclose(there(at), servo.wanted(time), atol=1e-9)
    off = integrate(robot, q + 0.1 * np.eye(7)[0], np.zeros(6), 2.0, tau=force, step=0.01)
    left = off.q[:, 0] - motion.q[:, 0]
    assert_allclose(left, 0.1 * (1.0 + 5.0 * off.t) * np.exp(-5.0 * off.t), atol=1e-8)


TIME = np.arange(0.0, 4.0, 0.01)


@pytest.mark.parametrize("frequency", [1.3, 2.0, 7.77])
def test_the_frequency_of_a_sine(frequency):
    """To a thousandth of the distance of two lines, also beside a stronger vibration elsewhere."""
    values = np.sin(2.0 * np.pi * frequency * TIME + 0.3) + 5.0 * np.sin(2.0 * np.pi * 20.0 * TIME)
    assert abs(peak_near(values, 0.01, 1.1 * frequency) - frequency) < 1e-2 / 4.0


def test_amplitudes():
    """The peak of the spectrum is the amplitude of a sine; a constant has none."""
    f, amplitude = spectrum(3.0 + 0.7 * np.sin(2.0 * np.pi * 2.0 * TIME), 0.01)
    top = np.argmax(amplitude)
    assert abs(f[top] - 2.0) < 0.05
    assert abs(amplitude[top] - 0.7) < 1e-3
    assert amplitude[0] < 1e-3
