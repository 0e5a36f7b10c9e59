# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linkages in motion: a robot, positions with closed loops and velocities that keep them so."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.model import Mechanism
from robot_dynamics.robot import Robot
from support.linkages import (
    Builder,
    bricard,
    four_bar,
    slider_crank,
    stewart_platform,
    tilted,
    turn,
    with_turned_links,
)

IN_PLANE = (0.0, -9.81, 0.0)


class Motion(NamedTuple):
    """A mechanism and the state from which it moves."""

    robot: Robot
    q: np.ndarray
    qd: np.ndarray


def cranked(mechanism: Mechanism, guess, speed: float, gravity=IN_PLANE) -> Motion:
    """Return a linkage whose crank stands as in the guess and turns at `speed` [rad/s]."""
    robot = Robot.from_mechanism(mechanism, gravity=gravity)
    held = {"crank_joint": guess[0]}
    start = robot.assemble(
        np.array(guess), held=held, velocities={"crank_joint": speed}, limits=False,
        tolerance=1e-14,
    )  # fmt: skip
    return Motion(robot, start.q, start.qd)


def turning_four_bar(closure: str = "revolute") -> Motion:
    """Return a four-bar in a vertical plane whose crank turns about twice a second."""
    return cranked(four_bar(closure), (0.0, 0.8, 1.6), 3.8 * np.pi)


def turning_slider_crank() -> Motion:
    """Return a slider-crank in a vertical plane whose crank turns about twice a second."""
    return cranked(slider_crank(), (0.0, 0.0, 1.3), 4.8 * np.pi)


def skew_four_bar() -> Motion:
    """Return the four-bar at another attitude, with link frames turned: no row of K is zero."""
    rotation = turn("xyz", (0.4, -0.7, 1.1))
    mechanism = tilted(with_turned_links(four_bar(), np.random.default_rng(1)), rotation)
    return cranked(mechanism, (0.0, 0.8, 1.6), 3.8 * np.pi, tuple(rotation @ IN_PLANE))


def swinging_platform() -> Motion:
    """Return a Stewart platform of 1 m that swings on springs in its legs, one or two a second."""
    plain = stewart_platform()
    joints = tuple(
        replace(j, stiffness=1500.0, rest=0.17) if j.type == "prismatic" else j
        for j in plain.joints
    )
    robot = Robot.from_mechanism(replace(plain, joints=joints))
    push = 2.0 * np.random.default_rng(5).normal(size=robot.model.nv)
    start = robot.assemble(velocities=push, tolerance=1e-14)
    return Motion(robot, start.q, start.qd)


def parallelogram(speed: float = 6.0) -> Motion:
    """Return a parallelogram in a level plane, whose flat pose its crank will pass at `speed`."""
    linkage = four_bar(lengths=(0.4, 0.9, 0.4), ground=0.9)
    return cranked(linkage, (1.0, -1.0, 1.0 + np.pi), speed, (0.0, 0.0, -9.81))


def swinging_rockers() -> Motion:
    """Return a four-bar none of whose links can turn round: each reverses, and not together."""
    linkage = four_bar(lengths=(0.5, 1.0, 0.45), ground=0.6)
    return cranked(linkage, (-1.3, 2.0, 2.0), 3.0)


def turning_bricard() -> Motion:
    """Return Bricard's linkage turning inside out without gravity: a constraint too many."""
    robot = Robot.from_mechanism(bricard(), gravity=(0.0, 0.0, 0.0))
    closed = robot.assemble(np.full(5, 0.3), tolerance=1e-14)
    first = robot.model.joint_names[0]
    start = robot.assemble(closed.q, velocities={first: 6.0}, tolerance=1e-14)
    return Motion(robot, start.q, start.qd)


def rolling_body() -> Motion:
    """Return a body that rolls on a soft finger: its torsion constrains the velocity alone."""
    b = Builder("finger")
    b.add("body", "base", "floating")
    b.close("touch", "soft_finger", "base", "body", (0.3, 0.1, 0.0), (0.2, -0.1, 0.15))
    robot = Robot.from_mechanism(b.done())
    start = robot.assemble(velocities=np.array([1.0, 2.0, 0.5, 0.3, 0.2, -0.1]), tolerance=1e-14)
    return Motion(robot, start.q, start.qd)
