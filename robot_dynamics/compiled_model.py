# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of a model: equations that need no decisions about numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics import algorithms, derivatives
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.couplings import closure_with_couplings
from robot_dynamics.dynamics.inertial_parameters import inertial_parameters
from robot_dynamics.dynamics.jacobian import AXES, LOCAL, Axes
from robot_dynamics.dynamics.regressor import body_links
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.long_trees import LongTree, is_long
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.spatial import Force

Array = NDArray[np.float64]

# Eigenvalue of a matrix with ones on its diagonal below which rows are dependent.
_DEPENDENT = 1e-10

# The compiled functions of named frames.
_OF_FRAMES: dict[str, Callable[..., Program]] = {
    "pose": algorithms.link_pose_program,
    "jacobian": algorithms.link_jacobian_program,
    "velocity": algorithms.frame_velocity_program,
    "acceleration": algorithms.frame_acceleration_program,
    "bias_acceleration": algorithms.bias_acceleration_program,
    "forces": algorithms.frame_forces_program,
    "payload_regressor": derivatives.payload_regressor_program,
}


class CompiledModel:
    """A model and its equations, each compiled when it is first asked for.

    Those without loops are NumPy generalised ufuncs: they broadcast, take leading batch
    dimensions, convert types, accept `out=` and release the interpreter lock.

    Attributes:
        model: The mechanism as data.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getstate__(self) -> dict[str, Model]:
        """Keep the model alone: machine code is found again in the cache."""
        return {"model": self.model}

    def __setstate__(self, state: dict[str, Model]) -> None:
        self.model = state["model"]

    # cached_property stores the bound function in the instance: a later call of
    # robot.inverse_dynamics(q, qd, qdd) goes straight into the ufunc.

    @cached_property
    def inverse_dynamics(self) -> Any:
        """`(q, qd, qdd) -> tau`: joint forces (..., nv) of the tree [N m, N] (Table 5.1)."""
        return self._bind("inverse_dynamics", algorithms.inverse_dynamics_program)

    @cached_property
    def inverse_dynamics_derivatives(self) -> Any:
        """`(q, qd, qdd) -> (tau_q, tau_qd, tau_qdd)`: derivatives of joint forces (..., nv, nv).

        Column j of tau_q belongs to a motion of the positions along velocity j: quaternions are no
        vectors. tau_qdd is the inertia matrix.
        """
        if self._long_tree:
            return self._long_tree.inverse_dynamics_derivatives
        program = derivatives.inverse_dynamics_derivatives_program
        return self._bind("inverse_dynamics_derivatives", program)

    @cached_property
    def inverse_dynamics_jvp(self) -> Any:
        """`(q, qd, qdd, dq, dqd, dqdd) -> dtau`: the rate of tau (..., nv) along a direction.

        The directions are (..., nv); that of the positions is along velocities.
        """
        return self._bind("inverse_dynamics_jvp", derivatives.inverse_dynamics_jvp_program)

    @cached_property
    def inverse_dynamics_vjp(self) -> Any:
        """`(q, qd, qdd, weights) -> (q, qd, qdd)`: gradients (..., nv) of the sum weights tau.

        At the cost of some four evaluations of tau, whatever the number of joints. That by q is
        along velocities.
        """
        return self._bind("inverse_dynamics_vjp", derivatives.inverse_dynamics_vjp_program)

    @cached_property
    def inverse_dynamics_hvp(self) -> Any:
        """`(q, qd, qdd, weights, dq, dqd, dqdd) -> (q, qd, qdd)`: the rates of these gradients.

        The Hessian matrix of the sum weights tau, times a direction (..., nv): second derivatives,
        all of them by a batch of directions. Along velocities that are no rates of positions, such
        as those of quaternions, it is not symmetric.
        """
        return self._bind("inverse_dynamics_hvp", derivatives.inverse_dynamics_hvp_program)

    @cached_property
    def _forward_dynamics_jvp(self) -> Any:
        return self._bind_forward("jvp", derivatives.forward_dynamics_jvp_program)

    @cached_property
    def _forward_dynamics_vjp(self) -> Any:
        return self._bind_forward("vjp", derivatives.forward_dynamics_vjp_program)

    @cached_property
    def _forward_dynamics_hvp(self) -> Any:
        return self._bind_forward("hvp", derivatives.forward_dynamics_hvp_program)

    @cached_property
    def inverse_dynamics_regressor(self) -> Any:
        """`(q, qd, qdd) -> Y` (..., nv, 10 N): tau is linear in the inertial parameters.

        `inverse_dynamics` is Y times `inertial_parameters`, plus springs, dampers, friction and
        rotors, if any. Y is also its derivative by these parameters. Order and frames are those of
        Pinocchio's `computeJointTorqueRegressor`.
        """
        if self._long_tree:
            return self._long_tree.inverse_dynamics_regressor
        return self._bind(
            f"inverse_dynamics_regressor\0{self._frames_of_bodies}",
            derivatives.inverse_dynamics_regressor_program,
        )

    @cached_property
    def energy_regressor(self) -> Any:
        """`(q, qd) -> (kinetic, potential)` (..., 10 N): energies are linear in the same."""
        return self._bind(
            f"energy_regressor\0{self._frames_of_bodies}", derivatives.energy_regressor_program
        )

    def payload_regressor(
        self, frame: str, q: Any, qd: Any, qdd: Any, out: Array | None = None
    ) -> Array:
        """Return Y (..., nv, 10) of something carried: what it adds to tau is Y times parameters.

        Args:
            frame: Name of the link or other frame that carries it, in whose coordinates its ten
                inertial parameters are, in the order of `inertial_parameters`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame of this name.
        """
        result: Array = self._of_frame("payload_regressor", frame)(q, qd, qdd, out=out)
        return result

    @property
    def inertial_parameters(self) -> Array:
        """The inertial parameters (10 N,) of the N bodies in the order of `model.bodies`.

        Each has m [kg], m cx, m cy, m cz [kg m], Ixx, Ixy, Iyy, Ixz, Iyz, Izz [kg m^2] about the
        origin of its link's frame: that of the joint's child, as in a URDF. Links that are fixed
        to it are part of it.
        """
        return inertial_parameters(self.model)

    @property
    def _frames_of_bodies(self) -> str:
        return repr([link.placement for link in body_links(self.model)])

    @cached_property
    def coriolis_matrix(self) -> Any:
        """`(q, qd) -> C` (..., nv, nv): Coriolis and centrifugal forces are C qd.

        The rate of the inertia matrix less 2 C is skew-symmetric. Without springs and dampers
        `bias_forces` is C qd + `gravity`.
        """
        if self._long_tree:
            return self._long_tree.coriolis_matrix
        return self._bind("coriolis_matrix", derivatives.coriolis_matrix_program)

    @cached_property
    def _forward_dynamics_derivatives(self) -> Any:
        if self._long_tree:
            if not self.model.constraint_count:
                require_inertia(self.model)
            return self._long_tree.forward_dynamics_derivatives
        return self._bind_forward("derivatives", derivatives.forward_dynamics_derivatives_program)

    @cached_property
    def _placement_derivatives(self) -> Any:
        return self._bind("placement_derivatives", derivatives.placement_derivatives_program)

    @cached_property
    def _residual_derivatives(self) -> Any:
        if self._long_tree:
            return self._long_tree.residual_derivatives
        return self._bind("residual_derivatives", derivatives.residual_derivatives_program)

    @cached_property
    def _velocity_constraint_derivatives(self) -> Any:
        program = derivatives.velocity_constraint_derivatives_program
        return self._bind("velocity_constraint_derivatives", program)

    @cached_property
    def bias_forces(self) -> Any:
        """`(q, qd) -> C`: joint forces (..., nv) of zero acceleration [N m, N]."""
        return self._bind("bias_forces", algorithms.bias_forces_program)

    @cached_property
    def gravity(self) -> Any:
        """`(q) -> g`: the part (..., nv) of C that gravity makes up, springs left out [N m, N].

        It holds the tree at rest with all loops open; with loops `gravity_compensation` does.
        """
        return self._bind("gravity", algorithms.gravity_program)

    def external_forces(
        self, q: Any, wrenches: Mapping[str, Any], axes: Axes = LOCAL, out: Array | None = None
    ) -> Array:
        """Return the joint forces (..., nv) that wrenches on frames amount to: sum of J^T f.

        They act like torques of drives: `forward_dynamics(q, qd, tau + external)`, likewise
        `constrained_motion` and `integrate`; and `inverse_dynamics(q, qd, qdd) - external`. With
        loops `closed_loop_inverse_dynamics` and `gravity_compensation` take them as `external`.

        Args:
            q: Positions (..., nq).
            wrenches: By the name of the frame: moment [N m], then force [N] (..., 6).
            axes: The coordinates of the wrenches: "local", the frame's own; "aligned", axes of
                the world at the frame's origin; "world", with moments about the world's origin.
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
            ArgumentError: If there is not a mapping from names to wrenches.
        """
        if not isinstance(wrenches, Mapping):
            raise ArgumentError(
                f"wrenches are {wrenches!r:.60}, expected a mapping from frames to wrenches (6,)."
            )
        parts = []
        for name, given in wrenches.items():
            forces = self._of_frame("forces", name, axes)
            try:
                wrench = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                wrench = np.empty(0)
            if wrench.shape[-1:] != (6,):
                raise ArgumentError(
                    f"The wrench on {name!r} is {given!r:.60}, expected numbers (..., 6): moment, "
                    "then force."
                )
            parts.append(forces(q, wrench))
        total = np.zeros((*np.shape(q)[:-1], self.model.nv)) if not parts else sum(parts)
        if out is None:
            return np.asarray(total)
        out[...] = total
        return out

    def damping_forces(self, qd: Any) -> Array:
        """Return the forces (..., nv) of the dampers of tree joints, to be added to `tau`.

        No algorithm applies them by itself, while dampers of loop joints are part of C. With them
        the motion does not depend on which joints the spanning tree has. With `joint_friction`
        they are part of C as well, and what is left to be added is zero.

        Args:
            qd: Velocities (..., nv).
        """
        applied = 0.0 if self.model.joint_friction else -self.model.damping
        result: Array = applied * np.asarray(qd, dtype=float)
        return result

    @cached_property
    def inertia_matrix(self) -> Any:
        """`(q) -> H`: joint-space inertia matrix (..., nv, nv) (Table 6.2)."""
        return self._bind("inertia_matrix", algorithms.inertia_matrix_program)

    @cached_property
    def inverse_inertia_matrix(self) -> Any:
        """`(q) -> H^-1`: inverse joint-space inertia matrix (..., nv, nv), made without H."""
        require_inertia(self.model)
        if self._long_tree:
            return self._long_tree.inverse_inertia_matrix
        return self._bind("inverse_inertia_matrix", algorithms.inverse_inertia_matrix_program)

    @cached_property
    def articulated_bodies(self) -> Any:
        """`(q, qd, tau) -> (IA, pA)`: f = IA a + pA of each joint's link, free in what it carries.

        The articulated-body inertias (..., bodies, 6, 6) and bias forces (..., bodies, 6) of Table
        7.1, angular part first, in the frame of the link that the joint moves, in the order of
        `model.bodies`. The acceleration a has minus gravity in it.
        """
        require_inertia(self.model)
        return self._bind("articulated_bodies", algorithms.articulated_bodies_program)

    def operational_space_inertia(
        self, frames: str | Sequence[str], q: Any, axes: Axes = LOCAL, *, inverse: bool = False
    ) -> Array:
        """Return the inertia (..., 6 m, 6 m) that m frames have together, loops left open (7.9).

        It is (J H^-1 J^T)^-1, with the rows of J those of `jacobian`, frame by frame.

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
        names = (frames,) if isinstance(frames, str) else tuple(frames)
        if not names:
            raise ArgumentError("frames are none, expected names of frames.")
        if axes not in AXES:
            raise UnknownNameError("choice of axes", str(axes), AXES)
        places = [(self.model.link(name).body, self.model.link(name).placement) for name in names]
        key = ("operational inertia", *names, axes)
        function = self._frame_functions.get(key)
        if function is None:
            require_inertia(self.model)
            function = self._frame_functions[key] = self._bind(
                f"operational_inertia\0{places!r}\0{axes}",
                lambda model: algorithms.inverse_operational_inertia_program(model, names, axes),
            )
        W = np.asarray(function(q))
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
        result: Array = np.linalg.inv(W)
        return result

    def joint_wrenches(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Array:
        """Return what the bearings of all joints carry (..., bodies, 6), loops left open (5.3).

        Each is the moment [N m] and force [N] by the joint on the link that it moves, in that
        link's frame and about its origin, in the order of `model.bodies`; drives, springs and
        constraints of the joint together.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            wrenches: Wrenches (..., 6) on frames from outside, by its name and in its axes.

        Raises:
            UnknownNameError: If there is no frame of a name.
            ArgumentError: If a wrench is not (..., 6), or leading shapes do not broadcast.
        """
        on_bodies, shapes = [], [np.shape(q)[:-1]]
        for name, wrench in (wrenches or {}).items():
            frame, f = self.model.link(name), _wrench(name, wrench)
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
        return np.asarray(self._joint_wrenches(q, qd, qdd, outside))

    @cached_property
    def _joint_wrenches(self) -> Any:
        return self._bind("joint_wrenches", algorithms.joint_wrench_program)

    @cached_property
    def tree_forward_dynamics(self) -> Any:
        """`(q, qd, tau) -> qdd`: accelerations (..., nv) with all loops open (Table 7.1)."""
        require_inertia(self.model)
        return self._bind("forward_dynamics", algorithms.forward_dynamics_program)

    @cached_property
    def energies(self) -> Any:
        """`(q, qd) -> (kinetic, potential)`: energy of motion, gravity and springs (...) [J]."""
        return self._bind("energies", algorithms.energies_program)

    @cached_property
    def momentum(self) -> Any:
        """`(q, qd) -> h`: momentum (..., 6) in the world and about its origin [N m s, N s]."""
        return self._bind("momentum", algorithms.momentum_program)

    @cached_property
    def centroidal_momentum_matrix(self) -> Any:
        """`(q) -> A` (..., 6, nv): A qd is the momentum about the centre of mass, in world axes.

        Angular part first. Its linear part over `total_mass` is `center_of_mass_jacobian`.
        """
        program = algorithms.centroidal_momentum_matrix_program
        return self._bind("centroidal_momentum_matrix", program)

    @cached_property
    def centroidal_momentum_matrix_rate(self) -> Any:
        """`(q, qd) -> Ad` (..., 6, nv): the momentum changes at A qdd + Ad qd."""
        program = algorithms.centroidal_momentum_matrix_rate_program
        return self._bind("centroidal_momentum_matrix_rate", program)

    @cached_property
    def closed_loop(self) -> Any:
        """`(q, qd, tau) -> (qdd, lambda, pivot)` at full rank (section 8.5).

        A pivot below `SMALLEST_PIVOT` says that constraints are nearly dependent; then the other
        two results are worthless and `constrained_motion` has the answer.
        """
        return self._bind("closed_loop", algorithms.closed_loop_program)

    @cached_property
    def constraint_terms(self) -> Any:
        """`(q, qd) -> (H, C, K, k, position_error, velocity_error)`: the terms of Eq 8.6.

        C is C - tau_a of Table 8.2: springs, and dampers of loop joints, are in it.
        """
        if self._long_tree:
            return self._long_tree.constraint_terms
        return self._bind("constraint_terms", algorithms.constraint_program)

    @cached_property
    def loop_drives(self) -> Any:
        """`(q) -> B` (..., nv, drives): drives in loop joints act like joint forces B u (8.28).

        Their order is that of `model.loop_drive_names`; `forward_dynamics(q, qd, tau + B @ u)`.
        """
        if not self.model.loop_drives:
            return lambda q: np.zeros((*np.shape(q)[:-1], self.model.nv, 0))
        return self._bind("loop_drives", algorithms.loop_drive_program)

    def loop_forces(self, q: Any, qd: Any, multipliers: Any, efforts: Any = None) -> Array:
        """Return the forces (..., loops, 6) of the loop joints on their successors (8.4).

        Moment [N m], then force [N], in the joint's frame on the successor and about its origin.
        Constraints, springs, dampers and drives are included; the force on the predecessor is the
        opposite.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            multipliers: lambda (..., n^c), as `closed_loop` and `constrained_motion` return it.
            efforts: Of the drives in loop joints (..., drives) [N m or N]; zero by default.
        """
        if not self.model.loops:
            return np.zeros((*np.shape(q)[:-1], 0, 6))
        if efforts is None:
            efforts = np.zeros(len(self.model.loop_drives))
        return np.asarray(self._loop_forces(q, qd, multipliers, efforts))

    @cached_property
    def _loop_forces(self) -> Any:
        return self._bind("loop_forces", algorithms.loop_force_program)

    @cached_property
    def closure(self) -> Any:
        """`(q) -> (K, position_error)`: how loops are open, and what closes them."""
        if self.model.constraint_count == 0:
            return lambda q: (np.zeros((0, self.model.nv)), np.zeros(0))
        constrained = self.model.constraint_count > len(self.model.couplings)
        of_loops = self._bind("closure", algorithms.closure_program) if constrained else None
        return closure_with_couplings(self.model, of_loops) if self.model.couplings else of_loops

    @property
    def total_mass(self) -> float:
        """The mass of all moving bodies [kg]; links that are fixed to the world do not count."""
        return float(sum(body.inertia.mass for body in self.model.bodies))

    @cached_property
    def center_of_mass(self) -> Any:
        """`(q) -> c`: the centre of mass (..., 3) of all moving bodies in the world [m]."""
        return self._bind("center_of_mass", algorithms.center_of_mass_program)

    @cached_property
    def center_of_mass_velocity(self) -> Any:
        """`(q, qd) -> v`: velocity (..., 3) of the centre of mass in the world [m/s]."""
        return self._bind("center_of_mass_velocity", algorithms.center_of_mass_velocity_program)

    @cached_property
    def center_of_mass_jacobian(self) -> Any:
        """`(q) -> J` (..., 3, nv): the velocity of the centre of mass is J qd."""
        return self._bind("center_of_mass_jacobian", algorithms.center_of_mass_jacobian_program)

    def pose(self, frame: str, q: Any, out: Array | None = None) -> Array:
        """Return the pose (..., 4, 4) of a frame in the world at positions `q` (..., nq).

        Frames are the links of the description, tools and other massless links on fixed joints
        included, and those of `Robot.with_frame`.

        Raises:
            UnknownNameError: If there is no frame of this name.
        """
        function = self._frame_functions.get(("pose", frame)) or self._of_frame("pose", frame)
        try:
            result: Array = function(q, out=out)
        except (TypeError, ValueError) as error:
            raise self._refused(error, q=q) from None
        return result

    @cached_property
    def link_poses(self) -> Any:
        """`(q) -> poses` (..., links, 4, 4) in the world, in the order of `model.links`."""
        links = [(link.body, link.placement) for link in self.model.links]
        return self._bind(f"link_poses\0{links!r}", algorithms.link_poses_program)

    def jacobian(self, frame: str, q: Any, axes: Axes = LOCAL, out: Array | None = None) -> Array:
        """Return the Jacobian (..., 6, nv) of a frame: its velocity is J qd, angular first.

        With loops it is that of the tree: J qd for velocities `qd` that keep the loops closed.

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            axes: Coordinates of the velocity. "local": the frame's own (Pinocchio's LOCAL).
                "aligned": axes of the world, linear part of the frame's origin
                (LOCAL_WORLD_ALIGNED). "world": axes of the world, linear part of the point of the
                body that is at the world's origin (WORLD).
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        known = self._frame_functions.get(("jacobian", frame, axes))
        function = known or self._of_frame("jacobian", frame, axes)
        try:
            result: Array = function(q, out=out)
        except (TypeError, ValueError) as error:
            raise self._refused(error, q=q) from None
        return result

    def velocity(
        self, frame: str, q: Any, qd: Any, axes: Axes = LOCAL, out: Array | None = None
    ) -> Array:
        """Return the velocity (..., 6) of a frame, angular first [rad/s, m/s].

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            axes: Its coordinates, see `jacobian`.
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        known = self._frame_functions.get(("velocity", frame, axes))
        function = known or self._of_frame("velocity", frame, axes)
        try:
            result: Array = function(q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._refused(error, q=q, qd=qd) from None
        return result

    def acceleration(
        self,
        frame: str,
        q: Any,
        qd: Any,
        qdd: Any,
        axes: Axes = LOCAL,
        *,
        classical: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return the acceleration (..., 6) of a frame, angular first [rad/s^2, m/s^2].

        Gravity is not in it: a frame at rest has none.

        Args:
            frame: Its name, see `pose`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            axes: Its coordinates, see `jacobian`.
            classical: Whether the linear part is the second derivative of a point's position,
                a + omega x v (2.48), not that of the spatial acceleration.
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        kind = "classical" if classical else "spatial"
        known = self._frame_functions.get(("acceleration", frame, axes, kind))
        function = known or self._of_frame("acceleration", frame, axes, kind)
        try:
            result: Array = function(q, qd, qdd, out=out)
        except (TypeError, ValueError) as error:
            raise self._refused(error, q=q, qd=qd, qdd=qdd) from None
        return result

    def bias_acceleration(
        self,
        frame: str,
        q: Any,
        qd: Any,
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
            out: Where to write the result.

        Raises:
            UnknownNameError: If there is no frame or no choice of axes of a name.
        """
        kind = "classical" if classical else "spatial"
        known = self._frame_functions.get(("bias_acceleration", frame, axes, kind))
        function = known or self._of_frame("bias_acceleration", frame, axes, kind)
        try:
            result: Array = function(q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._refused(error, q=q, qd=qd) from None
        return result

    def _refused(self, error: Exception, **arguments: Any) -> Exception:
        """Return the error of an argument of the wrong shape or kind; else the error itself."""
        for name, value in arguments.items():
            length = self.model.nq if name == "q" else self.model.nv
            try:
                shape = np.asarray(value, dtype=float).shape
            except (TypeError, ValueError):
                return ArgumentError(f"{name} is {value!r:.60}, expected numbers (..., {length}).")
            if shape[-1:] != (length,):
                return ArgumentError(f"{name} has shape {shape}, expected (..., {length}).")
        return error

    def _bind(self, name: str, program: Any, more: Sequence[float] = ()) -> Any:
        return algorithms.bound(self.model, name, lambda: program(self.model), more=more)

    @cached_property
    def _long_tree(self) -> LongTree | None:
        """What makes the matrices over all pairs of joints where the tree is long."""
        return LongTree(self.model) if is_long(self.model) else None

    def _bind_forward(self, kind: str, program: Any) -> Any:
        """Bind derivatives of accelerations; a tree needs inertia that every joint moves."""
        if not self.model.constraint_count:
            require_inertia(self.model)
        return self._bind(f"forward_dynamics_{kind}", program)

    def _of_frame(self, kind: str, frame: str, *how: str) -> Any:
        """Return a compiled function of a frame; `how` are the axes and the kind, if any."""
        asked = (kind, frame, *how)
        known = self._frame_functions.get(asked)
        if known is not None:
            return known
        if how and how[0] not in AXES:
            raise UnknownNameError("choice of axes", str(how[0]), AXES)
        at, program = self.model.link(frame), _OF_FRAMES[kind]
        name = "\0".join((kind, str(at.body), repr(at.placement), *how))
        function = algorithms.bound(self.model, name, lambda: program(self.model, frame, *how))
        self._frame_functions[asked] = function
        return function

    @cached_property
    def _frame_functions(self) -> dict[tuple[str, ...], Any]:
        return {}


def _wrench(frame: str, values: Any) -> Array:
    """Return a wrench on a frame as an array (..., 6)."""
    try:
        wrench = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"wrench on {frame!r} is {values!r:.60}, expected numbers (..., 6)."
        ) from None
    if wrench.shape[-1:] != (6,):
        raise ArgumentError(f"wrench on {frame!r} has shape {wrench.shape}, expected (..., 6).")
    return wrench
