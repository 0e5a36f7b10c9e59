# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measurements of wrist sensors that carry tools, from Newton's and Euler's equations.

They are in world axes and by finite differences, and share no code with the regressors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.identification.motion import RecordedMotion
from support.payloads import NOISE, Carried


class TrueSensor(NamedTuple):
    """A wrist sensor.

    Attributes:
        mass: Mass of its tool [kg].
        center: Its centre in the tool's frame (3,) [m].
        inertia: Inertia about it (3, 3) [kg m^2].
        bias: Moment, then force (6,).
        scale: Measured over true wrench; negative if it measures the opposite wrench.
        turn: Rotation vector (3,) of its axes in those of the tool [rad].
    """

    mass: float = 0.0
    center: np.ndarray = np.zeros(3)
    inertia: np.ndarray = np.zeros((3, 3))
    bias: np.ndarray = np.zeros(6)
    scale: float = 1.0
    turn: np.ndarray = np.zeros(3)


def tool_wrenches(arms: Carried, arm: int, sensor: TrueSensor) -> np.ndarray:
    """Return the wrenches (N, 6) by an arm on the tool, in the tool's frame, moment first."""
    pose = arms.poses[arm]
    R, back = pose[:, :3, :3], np.swapaxes(pose[:, :3, :3], 1, 2)

    def rate(values):
        return np.gradient(values, arms.period, axis=0)

    r = R @ sensor.center
    force = sensor.mass * (rate(rate(pose[:, :3, 3] + r)) - np.array(arms.system.model.gravity))
    W = rate(R) @ back
    w = 0.5 * np.stack(
        [W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1
    )
    momentum = np.einsum("nij,nj->ni", R @ sensor.inertia @ back, w)
    moment = rate(momentum) + np.cross(r, force)
    return np.hstack([np.einsum("nij,nj->ni", back, one) for one in (moment, force)])


def measured(sensor: TrueSensor, wrenches: np.ndarray) -> np.ndarray:
    """Return a sensor's reading of true wrenches (N, 6) in the tool's frame."""
    R = Rotation.from_rotvec(sensor.turn).as_matrix()  # columns: its axes in the tool's
    turned = wrenches.reshape(-1, 2, 3) @ R
    return sensor.scale * turned.reshape(-1, 6) + sensor.bias


def record_free(arms: Carried, sensors: list[TrueSensor], rng, noise=NOISE) -> RecordedMotion:
    """Return noisy samples of arms that move free along the motion of `arms`."""
    wrenches = np.stack(
        [measured(s, tool_wrenches(arms, i, s)) for i, s in enumerate(sensors)], axis=1
    )
    return RecordedMotion(
        arms.period,
        arms.q + noise.position * rng.normal(size=arms.q.shape),
        None,
        wrenches + noise.wrench * rng.normal(size=wrenches.shape),
    )
