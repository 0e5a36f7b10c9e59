# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses, Jacobians, motions and wrenches of named frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array, Batch
from robot_dynamics.dynamics.algorithm import place
from robot_dynamics.dynamics.cooperative_task import (
    CooperativeTask,
    cooperative_task,
    require_half_way,
)
from robot_dynamics.dynamics.frame_motion import (
    ACCELERATION,
    BIAS_ACCELERATION,
    FRAME_FORCES,
    FRAME_FORCES_JVP,
    JACOBIAN,
    VELOCITY,
)
from robot_dynamics.dynamics.inverse import JOINT_WRENCHES
from robot_dynamics.dynamics.inverse_inertia import INVERSE_OPERATIONAL_INERTIA
from robot_dynamics.dynamics.jacobian import AXES, LOCAL, Axes
from robot_dynamics.dynamics.kinematics import LINK_POSES, POSE
from robot_dynamics.errors import ArgumentError, UnknownNameError, several_names
from robot_dynamics.model import WORLD
from robot_dynamics.robot.bound_model import leading_shape, vector_batch, written
from robot_dynamics.robot.tree_dynamics import TreeDynamics
from robot_dynamics.spatial import Force

# Eigenvalue of a matrix with ones on its diagonal below which rows are dependent.
_DEPENDENT = 1e-10


class ExternalForcesDerivatives(NamedTuple):
    """Derivatives of the joint forces of external wrenches; see `Robot.external_forces`.

    Attributes:
        tau_q: By positions along velocities (..., nv, nv), each wrench constant in its axes.
        tau_wrench: By each wrench (..., nv, 6): the transposed Jacobian of its frame.
    """

    tau_q: Array
    tau_wrench: dict[str, Array]


class FrameMotion(TreeDynamics):
    """Motions of frames and wrenches on them.

    Frames are the links of the description, tools and other massless links on fixed joints
    included, and the frames of `Robot.with_frame`.
    """

    def pose(self, frame: str, q: Batch, out: Array | None = None) -> Array:
        """Return the pose (..., 4, 4) of a frame in the world at positions `q` (..., nq).

        Raises:
            UnknownNameError: If there is no frame of this name.
        """
        try:
            return self._functions[POSE, frame](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, POSE, q, out=out, frame=frame) from None

    def link_poses(self, q: Batch, out: Array | None = None) -> Array:
        """Return the poses (..., links, 4, 4) in the world, in the order of `model.links`."""
        try:
            return self._functions[LINK_POSES](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, LINK_POSES, q, out=out) from None

    def jacobian(
        self, frame: str, q: Batch, axes: Axes = LOCAL, out: Array | None = None
    ) -> Array:
        """Return the Jacobian (..., 6, nv) of a frame: its velocity is J qd, angular first.

        It is the Jacobian of the tree: with loops, J qd holds for velocities `qd` that keep them
        closed.

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            axes: Coordinates of the velocity. "local": the frame's own (Pinocchio's LOCAL).
                "aligned": axes of the world, linear part of the frame's origin
                (LOCAL_WORLD_ALIGNED). "world": axes of the world, linear part of the point of the
                body that is at the world's origin (WORLD).
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        try:
            return self._functions[JACOBIAN, frame, axes](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, JACOBIAN, q, out=out, frame=frame, axes=axes) from None

    def velocity(
        self, frame: str, q: Batch, qd: Batch, axes: Axes = LOCAL, out: Array | None = None
    ) -> Array:
        """Return the velocity (..., 6) of a frame, angular first [rad/s, m/s].

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            axes: Its coordinates, see `jacobian`.
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        try:
            return self._functions[VELOCITY, frame, axes](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(
                error, VELOCITY, q, qd, out=out, frame=frame, axes=axes
            ) from None

    def acceleration(
        self,
        frame: str,
        q: Batch,
        qd: Batch,
        qdd: Batch,
        axes: Axes = LOCAL,
        *,
        classical: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return the acceleration (..., 6) of a frame, angular first [rad/s^2, m/s^2].

        Gravity is not included: the acceleration of a frame at rest is zero.

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            axes: Its coordinates, see `jacobian`.
            classical: Whether the linear part is the second derivative of a point's position,
                a + omega x v (2.48), instead of the linear part of the spatial acceleration.
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        try:
            return self._functions[ACCELERATION, frame, axes, classical](q, qd, qdd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(
                error, ACCELERATION, q, qd, qdd, out=out, frame=frame, axes=axes
            ) from None

    def bias_acceleration(
        self,
        frame: str,
        q: Batch,
        qd: Batch,
        axes: Axes = LOCAL,
        *,
        classical: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return the acceleration (..., 6) of a frame at zero qdd: `acceleration` less J qdd.

        The product of the Jacobian's time derivative and qd is the spatial one in "local" and
        "world" axes, and the classical one in "aligned" axes.

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            axes: Its coordinates, see `jacobian`.
            classical: As in `acceleration`.
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        try:
            return self._functions[BIAS_ACCELERATION, frame, axes, classical](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(
                error, BIAS_ACCELERATION, q, qd, out=out, frame=frame, axes=axes
            ) from None

    def external_forces(
        self,
        q: Batch,
        wrenches: Mapping[str, Batch],
        axes: Axes = LOCAL,
        out: Array | None = None,
    ) -> Array:
        """Return the joint forces (..., nv) equivalent to wrenches on frames: the sum of J^T f.

        They act like torques of drives: `forward_dynamics(q, qd, tau + external)`, and the same
        for `constrained_motion` and `integrate`; and `inverse_dynamics(q, qd, qdd) - external`.
        With loops `closed_loop_inverse_dynamics` and `gravity_compensation` take them as
        `external`.

        Args:
            q: Positions (..., nq).
            wrenches: By the name of the frame: moment [N m], then force [N] (..., 6).
            axes: The coordinates of the wrenches: "local", the frame's own; "aligned", axes of
                the world at the frame's origin; "world", with moments about the world's origin.
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
            ArgumentError: If `wrenches` is not a mapping from names to wrenches.
        """
        _require_mapping(wrenches)
        parts = []
        for name, given in wrenches.items():
            wrench = _wrench(name, given)
            try:
                parts.append(self._functions[FRAME_FORCES, name, axes](q, wrench))
            except (TypeError, ValueError) as error:
                raise self._explained(error, FRAME_FORCES, q, wrench, axes=axes) from None
        if parts:
            total = np.asarray(sum(parts))
        else:
            batch = vector_batch("external_forces", "q", q, self.model.nq)
            total = np.zeros((*batch, self.model.nv))
        return written("external_forces", total, out)

    def external_forces_derivatives(
        self, q: Batch, wrenches: Mapping[str, Batch], axes: Axes = LOCAL
    ) -> ExternalForcesDerivatives:
        """Return the derivatives of `external_forces`; arguments and errors are the same."""
        _, tau_q = self._external_forces_and_rates(q, wrenches, axes)
        columns = {name: np.swapaxes(self.jacobian(name, q, axes), -1, -2) for name in wrenches}
        return ExternalForcesDerivatives(tau_q, columns)

    def _external_forces_and_rates(
        self, q: Batch, wrenches: Mapping[str, Batch], axes: Axes
    ) -> tuple[Array, Array]:
        """Return `external_forces` (..., nv), and their derivative by q (..., nv, nv)."""
        forces = self.external_forces(q, wrenches, axes)
        at, rates = np.asarray(q, dtype=float)[..., None, :], []
        for name, given in wrenches.items():
            jvp = self._functions[FRAME_FORCES_JVP, name, axes]
            rates.append(jvp(at, _wrench(name, given)[..., None, :], self._directions))
        if not rates:
            return forces, np.zeros((*forces.shape, self.model.nv))
        return forces, np.asarray(sum(rates)).swapaxes(-1, -2)

    @cached_property
    def _directions(self) -> Array:
        return np.eye(self.model.nv)

    def joint_wrenches(
        self, q: Batch, qd: Batch, qdd: Batch, wrenches: Mapping[str, Batch] | None = None
    ) -> Array:
        """Return the loads (..., bodies, 6) of the bearings of all joints, loops left open (5.3).

        Each is the moment [N m] and force [N] by the joint on the link that it moves, in that
        link's frame and about its origin, in the order of `model.bodies`: the sum of drives,
        springs and constraints of the joint.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            wrenches: External wrenches (..., 6) by the name of the frame, in its axes.

        Raises:
            UnknownNameError: If there is no frame of a name.
            ArgumentError: If a wrench is not (..., 6), or leading shapes do not broadcast.
        """
        wrenches = {} if wrenches is None else wrenches
        _require_mapping(wrenches)
        on_bodies, shapes = [], [leading_shape(q)]
        for name, given in wrenches.items():
            frame, f = self.model.link(name), _wrench(name, given)
            shapes.append(f.shape[:-1])
            if frame.body != WORLD:
                carrier = self.model.link(self.model.bodies[frame.body].name)
                X = frame.placement.compose(carrier.placement.inverse())  # carrier to frame
                parts = X.inverse_times(Force.of([f[..., i] for i in range(6)])).components()
                on_bodies.append((frame.body, np.stack(parts, axis=-1)))
        try:
            batch = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ArgumentError(
                f"positions and wrenches have leading shapes {', '.join(map(str, shapes))}, "
                "expected ones that broadcast."
            ) from None
        outside = np.zeros((*batch, len(self.model.bodies), 6))
        for body, moved in on_bodies:
            outside[..., body, :] += moved
        try:
            return np.asarray(self._functions[JOINT_WRENCHES](q, qd, qdd, outside))
        except (TypeError, ValueError) as error:
            raise self._explained(error, JOINT_WRENCHES, q, qd, qdd, outside) from None

    def operational_space_inertia(
        self, frames: str | Sequence[str], q: Batch, axes: Axes = LOCAL, *, inverse: bool = False
    ) -> Array:
        """Return the inertia (..., 6 m, 6 m) of m frames together, loops left open (7.9).

        It is (J H^-1 J^T)^-1, with the rows of J as `jacobian` returns them, frame by frame.

        Args:
            frames: Name of a frame (see `pose`), or names of several.
            q: Positions (..., nq).
            axes: Coordinates, see `jacobian`.
            inverse: Return J H^-1 J^T, which exists for any frames.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
            ArgumentError: If the frames cannot move independently in all directions: then only the
                inverse exists; if there are none, or positions are not finite.
        """
        names = (frames,) if isinstance(frames, str) else several_names("frames", frames)
        if not names:
            raise ArgumentError("frames are none, expected names of frames.")
        if axes not in AXES:
            raise UnknownNameError("choice of axes", str(axes), AXES)
        key = (INVERSE_OPERATIONAL_INERTIA, names, axes)
        if key not in self._functions:
            places = tuple(place(self.model.link(name)) for name in names)
            function = self._functions.bound(INVERSE_OPERATIONAL_INERTIA, places, axes)
            self._functions[key] = function
        try:
            W = np.asarray(self._functions[key](q))
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_OPERATIONAL_INERTIA, q) from None
        if inverse:
            return W
        if not np.isfinite(W).all():
            raise ArgumentError(f"{self.model.name}: q is not finite, expected numbers.")
        # Rotations and displacements do not compare: each row is scaled by its own size.
        size = np.sqrt(np.einsum("...ii->...i", W))
        scaled = W / np.where(size > 0.0, size, 1.0)[..., None] / size.clip(1e-300)[..., None, :]
        if np.any(np.linalg.eigvalsh(scaled)[..., 0] < _DEPENDENT):
            raise ArgumentError(
                f"{self.model.name}: frames {', '.join(map(repr, names))} cannot move "
                "independently in all directions here, expected others, or inverse=True."
            )
        inertia: Array = np.linalg.inv(W)
        return inertia

    def cooperative_task(
        self, first: str, second: str, q: Batch, qd: Batch | None = None
    ) -> CooperativeTask:
        """Return the absolute and relative pose and motion of two frames.

        The absolute pose is half way between both, in position and in orientation; the relative
        one is the pose of the second frame in the first (after Chiacchio, Chiaverini and
        Siciliano, 1996). For frames turned by 180 degrees, such as those of hands that face one
        another, half way is undefined: use aligned frames at the grasps, see `with_frame`.

        Args:
            first: Name of a frame, see `pose`.
            second: Name of the other.
            q: Positions (..., nq).
            qd: Velocities (..., nv); for the rates.

        Raises:
            UnknownNameError: If there is no frame of a name.
            ArgumentError: If an argument has the wrong size, or the frames are turned by 180
                degrees to one another.
        """
        task = self._cooperative_task(first, second, q, qd)
        require_half_way(task.relative)
        return task

    def _cooperative_task(
        self, first: str, second: str, q: Batch, qd: Batch | None = None
    ) -> CooperativeTask:
        """Return the same, with one of two possible orientations half way."""
        both = (first, second)
        for frame in both:
            if not isinstance(frame, str):
                raise ArgumentError(f"frame {frame!r}; expected the name of a frame.")
        poses = [self.pose(frame, q) for frame in both]
        jacobians = [self.jacobian(frame, q, "aligned") for frame in both]
        if qd is None:
            return cooperative_task(poses[0], poses[1], jacobians[0], jacobians[1])
        bias = [self.bias_acceleration(frame, q, qd, "aligned", classical=True) for frame in both]
        rates = np.asarray(qd, dtype=float), *bias
        return cooperative_task(poses[0], poses[1], jacobians[0], jacobians[1], *rates)


def _require_mapping(wrenches: object) -> None:
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(
            f"wrenches are {wrenches!r:.60}, expected a mapping from frames to wrenches (6,)."
        )


def _wrench(frame: str, values: object) -> Array:
    """Return a wrench on a frame as an array (..., 6)."""
    try:
        wrench = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"wrench on {frame!r} is {values!r:.60}, expected numbers (..., 6): moment and force."
        ) from None
    if wrench.shape[-1:] != (6,):
        raise ArgumentError(
            f"wrench on {frame!r} has shape {wrench.shape}, expected (..., 6): moment and force."
        )
    return wrench
