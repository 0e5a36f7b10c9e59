# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base placements and grasps from joint positions of arms that hold one rigid object.

Each arm i says where the object is: W_i G_i^-1, with the pose W_i of its tool in the world, which
follows from its base B_i and its joint positions, and the pose G_i of the tool in the object. The
arms disagree by e = (rotation vector of R_i R_0^T, p_i - p_0) in world axes. To first order, a
displaced base and grasp, and errors dq of the joints, change the pose by

    rotation    dphi - R_i dpsi + J_w dq
    position    dt + dphi x (p_i - b_i) - R_i dg + R_i (dpsi x g) + J_v dq

with dt, dphi of the base in world axes about its origin b_i, and dg, dpsi of the grasp in the
object's axes. A displacement of the whole cell, and one of the object in all grasps, change
nothing. The gauge: the base of the first arm stays as described, and displacements of the grasps
add up to zero. They are estimated relative to the first arm's. An offset of an arm's first joint
is a rotation of its base, and one of its last joint a rotation of its grasp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.identification.least_squares import OBSERVED, Fit, held_out_split, solve
from robot_dynamics.identification.motion import ArmKinematics, RecordedMotion, skew
from robot_dynamics.identification.signals import IdentificationError

# Prior deviations: displacements [m], rotations [rad], offsets of joints [rad or m].
_PLACE, _ROTATION, _OFFSET = 0.01, 0.02, 0.01
_ROUNDS = 8  # of the Gauss-Newton iteration, at most
_CONVERGED = 1e-3  # of the deviations
_SAMPLES = 10_000  # that are used at most
_LEAST_SAMPLES = 20
_FLOOR = 0.01  # of effects of joints, rad/rad and m/rad: arms of few joints have none in some
_NAMED = 0.3  # part of a parameter in hidden combinations, from which it is named
_POSE = (*(f"{axis} [m]" for axis in "xyz"), *(f"r{axis} [rad]" for axis in "xyz"))


@dataclass(frozen=True)
class CellFrames:
    """Identified frames of a cell.

    Attributes:
        bases: Poses (4, 4) of the robots' bases in the world.
        grasps: Poses (4, 4) of the arms' tools in the object, each displaced by its share.
        offsets: True less measured joint positions (na,) [rad or m]; zero where not identified.
        fit: Changes of bases (displacement and rotation vector in world axes) and of grasps (in
            the object's axes, where the first arm's grasp stays), then offsets of joints.
        held_out: Residual of the last quarter over the noise: as described and as identified from
            the first three quarters.
        gaps: Distances (N,) between where the arms see the object [m], as described and as
            identified.
    """

    bases: list[Array]
    grasps: list[Array]
    offsets: Array
    fit: Fit
    held_out: tuple[float, float]
    gaps: tuple[Array, Array]

    @property
    def combinations(self) -> int:
        """Number of combinations of parameters that the data determine."""
        return len(self.fit.names) - self._hidden.shape[1]

    @property
    def hidden(self) -> list[str]:
        """Names of the parameters that have a part in the other combinations."""
        part = np.linalg.norm(self._hidden, axis=1)
        return [name for name, one in zip(self.fit.names, part, strict=True) if one > _NAMED]

    @property
    def _hidden(self) -> Array:
        """Orthonormal combinations (p, h), over prior deviations, that the data leave open."""
        scale = self.fit.prior_deviations
        values, directions = np.linalg.eigh(self.fit.covariance / np.outer(scale, scale))
        found: Array = directions[:, values > OBSERVED**2]
        return found


class ClosedChain:
    """Equations of arms that hold one object rigidly.

    Args:
        kinematics: The arms.
        robots: Index of each arm's robot.
        bases: Pose (4, 4) of each robot's base in the world.
        grasps: Pose (4, 4) of each arm's tool in the object.
        noise: Standard deviation of joint positions [rad or m].
        offsets: Whether offsets of joints are identified.

    Raises:
        IdentificationError: If one arm alone holds the object.
    """

    def __init__(
        self,
        kinematics: ArmKinematics,
        robots: list[int],
        bases: list[Array],
        grasps: list[Array],
        noise: float,
        *,
        offsets: bool = False,
    ) -> None:
        self._kinematics, self._robots, self._noise = kinematics, robots, noise
        self._bases, self._grasps = bases, grasps
        system = kinematics.system
        if len(grasps) < 2:
            raise IdentificationError(
                f"arm {system.arms[0].name!r} alone holds the object; expected at least two arms, "
                "which close a chain."
            )
        #: Robots and arms whose frames change.
        self.free_robots = [one for one in dict.fromkeys(robots) if one != robots[0]]
        self.free_arms = list(range(1, len(grasps)))
        joints = np.arange(len(system.joint_names))
        moved = [
            joints[own][0 if robots.count(robot) > 1 else 1 : -1]
            for own, robot in zip(kinematics.own, robots, strict=True)
        ]
        self._offsets = np.concatenate(moved) if offsets else joints[:0]
        arms = [arm.name for arm in system.arms]
        frames = [
            *(f"base of {arms[robots.index(j)]}" for j in self.free_robots),
            *(f"grasp of {arms[i]} against {arms[0]}" for i in self.free_arms),
        ]
        self.names = (
            *(f"{frame} {part}" for frame in frames for part in _POSE),
            *(
                f"offset of {system.joint_names[j]} [{system.joint_units[j]}]"
                for j in self._offsets
            ),
        )
        of_frame = [_PLACE] * 3 + [_ROTATION] * 3
        self._deviations = np.array(of_frame * len(frames) + [_OFFSET] * len(self._offsets))

    def identify(self, motions: list[RecordedMotion]) -> CellFrames:
        """Return the frames that close the chain.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        q = np.concatenate([motion.q for motion in motions])
        q = q[np.isfinite(q).all(axis=1)]
        if len(q) < _LEAST_SAMPLES:
            raise IdentificationError(
                f"the recording has {len(q)} whole samples of joint positions; expected at least "
                f"{_LEAST_SAMPLES}."
            )
        q = q[:: -(-len(q) // _SAMPLES)]
        fit = self._fit(q)
        split = held_out_split(len(q))
        early = self._fit(q[:split]).values
        start = np.zeros(len(self.names))
        bases, grasps, offsets = self._frames(fit.values)
        return CellFrames(
            bases,
            self._shared(grasps),
            offsets,
            fit,
            (self._size(q[split:], start), self._size(q[split:], early)),
            (self._gap(q, start), self._gap(q, fit.values)),
        )

    def _fit(self, q: Array) -> Fit:
        """Return the fit of measured joint positions (N, na).

        Slopes at measured positions would share their noise with the disagreements, and pull
        poorly determined parameters; they are taken at adjusted positions, with which the chain
        closes (the Gauss-Helmert model).
        """
        x, adjusted = np.zeros(len(self.names)), q
        for _ in range(_ROUNDS):
            e, A, J = self._equations(adjusted, x)
            e += np.einsum("nij,nj->ni", J, q - adjusted)
            L = self._factor(J)
            y = np.einsum("nij,j->ni", A, x) - e
            fit = solve(
                np.linalg.solve(L, A),
                np.linalg.solve(L, y[..., None])[..., 0],
                np.full(len(q), float(e.shape[1])),
                self.names,
                np.zeros(len(x)),
                self._deviations,
            )
            step, x = fit.values - x, fit.values
            if (np.abs(step) < _CONVERGED * fit.deviations).all():
                break
            whitened = np.linalg.solve(L, (A @ x - y)[..., None])
            effect: Any = np.linalg.solve(L, J)
            adjusted = q - self._noise**2 * (np.swapaxes(effect, 1, 2) @ whitened)[..., 0]
        return fit

    def _factor(self, J: Array) -> Any:
        """Return the factor of the covariance of disagreements, by the effects of joints."""
        effects = J @ np.swapaxes(J, 1, 2) + _FLOOR**2 * np.eye(J.shape[1])
        return np.linalg.cholesky(self._noise**2 * effects)

    def _size(self, q: Array, x: Array) -> float:
        """Return the residual over the noise."""
        e, _, J = self._equations(q, x)
        return float(np.sqrt(np.mean(np.linalg.solve(self._factor(J), e[..., None]) ** 2)))

    def _gap(self, q: Array, x: Array) -> Array:
        """Return the largest distance (N,) of an arm's object from the first arm's."""
        e = self._equations(q, x)[0].reshape(len(q), -1, 2, 3)[:, :, 1]
        found: Array = np.linalg.norm(e, axis=2).max(axis=1)
        return found

    def _shared(self, grasps: list[Array]) -> list[Array]:
        """Return grasps in an object displaced so that their displacements add up to zero."""
        moves = [new @ np.linalg.inv(old) for new, old in zip(grasps, self._grasps, strict=True)]
        back = np.eye(4)
        turn = np.mean([Rotation.from_matrix(one[:3, :3]).as_rotvec() for one in moves], axis=0)
        back[:3, :3] = Rotation.from_rotvec(-turn).as_matrix()
        back[:3, 3] = -np.mean([one[:3, 3] for one in moves], axis=0)
        return [back @ grasp for grasp in grasps]

    def _frames(self, x: Array) -> tuple[list[Array], list[Array], Array]:
        """Return bases, grasps and offsets of joints (na,) of parameters (p,)."""
        bases, grasps = list(self._bases), list(self._grasps)
        frames = [(bases, j) for j in self.free_robots] + [(grasps, i) for i in self.free_arms]
        for (poses, i), change in zip(frames, x[: 6 * len(frames)].reshape(-1, 6), strict=True):
            moved = poses[i].copy()
            moved[:3, 3] += change[:3]
            moved[:3, :3] = Rotation.from_rotvec(change[3:]).as_matrix() @ moved[:3, :3]
            poses[i] = moved
        offsets = np.zeros(len(self._kinematics.system.joint_names))
        offsets[self._offsets] = x[6 * len(frames) :]
        return bases, grasps, offsets

    def _equations(self, q: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return disagreements (N, 6 (k - 1)), their slopes by x, and the effects of joints.

        Args:
            q: Joint positions (N, na).
            x: Parameters (p,).
        """
        bases, grasps, offsets = self._frames(x)
        robot, index, na = self._kinematics.robot, self._kinematics.index, q.shape[1]
        every = np.zeros((len(q), robot.model.nv))
        every[:, index] = q + offsets
        poses, slopes, effects = [], [], []
        for i, arm in enumerate(self._kinematics.system.arms):
            base, grasp, own = bases[self._robots[i]], grasps[i], self._kinematics.own[i]
            change = base @ np.linalg.inv(self._bases[self._robots[i]])
            tool = change @ robot.pose(arm.tool, every)
            T = tool @ np.linalg.inv(grasp)
            R, p = T[:, :3, :3], T[:, :3, 3]
            J = np.zeros((len(q), 6, na))
            J[:, :, own] = robot.jacobian(arm.tool, every, axes="aligned")[:, :, index[own]]
            J = np.kron(np.eye(2), change[:3, :3]) @ J
            J[:, 3:] += skew(tool[:, :3, 3] - p) @ J[:, :3]  # at the object's origin
            A = np.zeros((len(q), 6, len(self.names)))
            if self._robots[i] in self.free_robots:
                at = 6 * self.free_robots.index(self._robots[i])
                A[:, 3:, at : at + 3] = A[:, :3, at + 3 : at + 6] = np.eye(3)
                A[:, 3:, at + 3 : at + 6] = skew(base[:3, 3] - p)
            if i in self.free_arms:
                at = 6 * (len(self.free_robots) + self.free_arms.index(i))
                A[:, 3:, at : at + 3] = A[:, :3, at + 3 : at + 6] = -R
                A[:, 3:, at + 3 : at + 6] = -R @ skew(grasp[:3, 3])
            A[:, :, len(self.names) - len(self._offsets) :] = J[:, :, self._offsets]
            poses.append(T)
            slopes.append(A)
            effects.append(J)
        e = []
        for T in poses[1:]:
            turn = T[:, :3, :3] @ np.swapaxes(poses[0][:, :3, :3], 1, 2)
            e += [Rotation.from_matrix(turn).as_rotvec(), T[:, :3, 3] - poses[0][:, :3, 3]]
        A, J = (
            np.concatenate([one - values[0] for one in values[1:]], axis=1)
            for values in (slopes, effects)
        )
        return np.concatenate(e, axis=1), A, J
