# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded motions of arms, their noise, and the motion of the tools that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import of_pseudo_inertia, pseudo_inertia
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.errors import ArgumentError
from robot_dynamics.identification.signals import Filters
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia
from robot_dynamics.spatial.vector3 import Symmetric3, Vector3

#: Names of a body's parameters, with units.
PARAMETERS = (
    "mass [kg]",
    *(f"first moment {axis} [kg m]" for axis in "xyz"),
    *(f"inertia {axes} [kg m^2]" for axes in ("xx", "xy", "yy", "xz", "yz", "zz")),
)
_PIECE = 5000  # samples


@dataclass(frozen=True)
class Noise:
    """Standard deviations of white noise in the samples, and of the torque constants.

    Residuals correct the common scale of the noise. All but `torque_fraction` and `torque_gain`
    must be positive, because equations are weighted by them.

    Attributes:
        position: Joint positions [rad or m].
        torque: Joint torques [N m or N].
        torque_fraction: A further part, as a fraction of the torque.
        force: Forces of wrist sensors [N].
        moment: Moments of wrist sensors [N m].
        torque_gain: Torque constant of each drive, over its value: the same in all samples. It
            counts for payloads; links of arms are those that explain the torques as they are.
    """

    position: float = 1e-4
    torque: float = 0.1
    torque_fraction: float = 0.02
    force: float = 0.3
    moment: float = 0.02
    torque_gain: float = 0.02

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            zero = name in ("torque_fraction", "torque_gain")
            if not (0.0 < value < math.inf or (zero and value == 0.0)):
                expected = "a number from 0 on" if zero else "a positive number"
                raise ArgumentError(f"noise: {name} is {value!r}; expected {expected}.")

    @property
    def wrench(self) -> Array:
        """Standard deviations of a wrench (6,), moment first."""
        return np.array([self.moment] * 3 + [self.force] * 3)


@dataclass(frozen=True)
class RecordedMotion:
    """Samples of arms in equal steps of time; NaN where one is missing.

    Attributes:
        period: Time between samples [s].
        q: Joint positions (N, na), arm by arm [rad or m].
        torque: Joint torques at the same times (N, na) [N m or N]; None if unknown.
        wrenches: Wrenches of the wrist sensors (N, k, 6) in tool frames, by the arm on what it
            holds, moment first [N m, N]; None if unknown.
        touched: 1 for each surface function that the object touches (N, C); None if unknown.
    """

    period: float
    q: Array
    torque: Array | None
    wrenches: Array | None
    touched: Array | None = None

    def pieces(self) -> list[RecordedMotion]:
        """Return the motion in pieces of ten seconds at 500 Hz, which bounds memory."""
        signals = (self.q, self.torque, self.wrenches, self.touched)
        return [
            RecordedMotion(
                self.period,
                *(None if one is None else one[first : first + _PIECE] for one in signals),  # type: ignore[arg-type]
            )
            for first in range(0, len(self.q), _PIECE)
        ]


class ToolMotion(NamedTuple):
    """Motion of an arm and its tool; the tool's in the tool's frame, angular first.

    Attributes:
        q: Positions of the model of all arms (N, nq).
        qd: Velocities (N, nv).
        qdd: Accelerations (N, nv).
        J: Jacobian of the tool for the arm's joints (N, 6, n).
        Y: Regressor (N, 6, 10) of the wrench that moves a body fixed to the tool.
    """

    q: Array
    qd: Array
    qdd: Array
    J: Array
    Y: Array


class ArmKinematics:
    """Smoothed motions of the arms of a system.

    Attributes:
        system: The arms and their object.
        robot: All arms, without the object.
        index: Indices of the arm joints in its velocities, arm by arm.

    Args:
        system: The arms.

    Raises:
        RobotDynamicsError: If an arm has an internal closed chain.
    """

    def __init__(self, system: GraspSystem) -> None:
        system.require_plain_arms("identification")
        self.system = system
        self.robot = Robot(system.arms_alone)
        model = self.robot.model
        self.index = np.array(
            [model.v_slices[model.joint_index(name)].start for name in system.joint_names]
        )
        self._gravity = np.array(model.gravity, dtype=float)
        ends = np.cumsum([len(arm.joints) for arm in system.arms])
        #: Slice of each arm in vectors over the arm joints.
        self.own = [
            slice(int(end) - len(arm.joints), int(end))
            for end, arm in zip(ends, system.arms, strict=True)
        ]

    def differentiate(
        self, q: Array, filters: Filters
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Return smoothed positions, velocities and accelerations (N, nv) of the model.

        Where they are unknown (N,), which is the last result, they are zero.
        """
        found = []
        parts = filters.differentiate(q)
        unknown = np.asarray(~np.isfinite(np.concatenate(parts, axis=1)).all(axis=1))
        for values in parts:
            every = np.zeros((len(q), self.robot.model.nv))
            every[:, self.index] = values
            every[unknown] = 0.0
            found.append(every)
        return found[0], found[1], found[2], unknown

    def of_tool(self, arm: int, q: Array, qd: Array, qdd: Array) -> ToolMotion:
        """Return the motion of an arm's tool.

        Args:
            arm: Its index.
            q: Positions of the model (N, nq).
            qd: Velocities (N, nv).
            qdd: Accelerations (N, nv).
        """
        tool, robot = self.system.arms[arm].tool, self.robot
        v, a = robot.velocity(tool, q, qd), robot.acceleration(tool, q, qd, qdd)
        R = robot.pose(tool, q)[:, :3, :3]
        a = a.copy()
        a[:, 3:] -= self._gravity @ R  # as in Table 5.1: gravity is an acceleration of the base
        J = robot.jacobian(tool, q)[:, :, self.index[self.own[arm]]]
        return ToolMotion(q, qd, qdd, J, wrench_regressor(v, a))


def wrench_regressor(v: Array, a: Array) -> Array:
    """Return Y (N, 6, 10): the wrench that moves a body is Y times its parameters (Eq 2.72).

    Args:
        v: Velocities (N, 6) of the frame of the parameters, in its axes, angular first.
        a: Its spatial accelerations less gravity (N, 6).
    """
    w, vo, wd, ao = v[:, :3], v[:, 3:], a[:, :3], a[:, 3:]
    Y = np.zeros((len(v), 6, PER_BODY))
    acceleration = ao + np.cross(w, vo)  # of the origin
    Y[:, 3:, 0] = acceleration
    W = skew(w)
    Y[:, 3:, 1:4] = skew(wd) + W @ W
    Y[:, :3, 1:4] = -skew(acceleration)
    Y[:, :3, 4:] = _times_symmetric(wd) + W @ _times_symmetric(w)
    return Y


def skew(x: Array) -> Array:
    """Return the matrices (..., 3, 3) of the cross products with vectors (..., 3)."""
    found = np.zeros((*x.shape, 3))
    found[..., 2, 1], found[..., 0, 2], found[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    return found - np.swapaxes(found, -1, -2)


def _times_symmetric(x: Array) -> Array:
    """Return L (N, 3, 6) with I x = L (Ixx, Ixy, Iyy, Ixz, Iyz, Izz)."""
    L = np.zeros((len(x), 3, 6))
    for column, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
        L[:, i, column] = x[:, j]
        if i != j:
            L[:, j, column] = x[:, i]
    return L


def sensor_tools(system: GraspSystem) -> list[Array]:
    """Return the parameters (10,) of the tools that the wrist sensors carry, as described."""
    none = Symmetric3.of(np.zeros((3, 3)).tolist())
    return [
        np.array(
            Inertia.from_center_of_mass(
                arm.sensor_tool_mass, Vector3.of(arm.sensor_tool_center), none
            ).components()
        )
        for arm in system.arms
    ]


def inertia_matrix(parameters: Array) -> Array:
    """Return the spatial inertia (6, 6), angular first, of a body with parameters (10,)."""
    return np.array(Inertia.of(parameters.tolist()).articulated().matrix())


def parameters_in(pose: Array) -> Array:
    """Return T (10, 10): parameters in a frame are T times those in a frame at `pose` (4, 4)."""
    units = pseudo_inertia(np.eye(PER_BODY))
    return np.asarray(of_pseudo_inertia(pose @ units @ pose.T).T)


def wrench_in(pose: Array) -> Array:
    """Return F (6, 6): a wrench in a frame is F times the same one in a frame at `pose` (4, 4)."""
    R, p = pose[:3, :3], pose[:3, 3]
    F = np.zeros((6, 6))
    F[:3, :3] = F[3:, 3:] = R
    F[:3, 3:] = skew(p) @ R
    return F
