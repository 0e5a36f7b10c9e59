# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of the tree of a robot, with its loops left open."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.dynamics.arguments import finite_vector, positive_number
from robot_dynamics.dynamics.center_of_mass import (
    CENTER_OF_MASS,
    CENTER_OF_MASS_JACOBIAN,
    CENTER_OF_MASS_VELOCITY,
)
from robot_dynamics.dynamics.conditioning import Conditioning, conditioning
from robot_dynamics.dynamics.coriolis import CORIOLIS_MATRIX
from robot_dynamics.dynamics.energy import ENERGIES
from robot_dynamics.dynamics.forward import ARTICULATED_BODIES, TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.hybrid import HYBRID_DYNAMICS
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import BIAS_FORCES, GRAVITY, INVERSE_DYNAMICS
from robot_dynamics.dynamics.inverse_inertia import INVERSE_INERTIA_MATRIX
from robot_dynamics.dynamics.momentum import (
    CENTROIDAL_MOMENTUM_MATRIX,
    CENTROIDAL_MOMENTUM_MATRIX_RATE,
    MOMENTUM,
)
from robot_dynamics.errors import RobotDynamicsError, several_names
from robot_dynamics.robot.bound_model import BoundModel, each_output, vector_batch


class TreeDynamics(BoundModel):
    """Equations of motion of the tree, energies and momentum.

    Arrays may have leading batch dimensions, which broadcast; `out` is an array that the result
    is written to, or a tuple of arrays.
    """

    def inverse_dynamics(self, q: Batch, qd: Batch, qdd: Batch, out: Array | None = None) -> Array:
        """Return the joint forces (..., nv) of the tree [N m, N] (Table 5.1).

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            out: Array that the result is written to.
        """
        try:
            return self._functions[INVERSE_DYNAMICS](q, qd, qdd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS, q, qd, qdd, out=out) from None

    def tree_forward_dynamics(
        self, q: Batch, qd: Batch, tau: Batch, out: Array | None = None
    ) -> Array:
        """Return the accelerations (..., nv) with all loops open (Table 7.1).

        Raises:
            RobotDynamicsError: If a joint moves no inertia.
        """
        try:
            return self._functions[TREE_FORWARD_DYNAMICS](q, qd, tau, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, TREE_FORWARD_DYNAMICS, q, qd, tau, out=out) from None

    def bias_forces(self, q: Batch, qd: Batch, out: Array | None = None) -> Array:
        """Return C, the joint forces (..., nv) of zero acceleration [N m, N]."""
        try:
            return self._functions[BIAS_FORCES](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, BIAS_FORCES, q, qd, out=out) from None

    def gravity(self, q: Batch, out: Array | None = None) -> Array:
        """Return the part (..., nv) of C that is due to gravity, without springs [N m, N].

        It holds the tree at rest with all loops open; for closed loops see `gravity_compensation`.
        """
        try:
            return self._functions[GRAVITY](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, GRAVITY, q, out=out) from None

    def coriolis_matrix(self, q: Batch, qd: Batch, out: Array | None = None) -> Array:
        """Return C (..., nv, nv): Coriolis and centrifugal forces are C qd.

        The rate of the inertia matrix less 2 C is skew-symmetric. Without springs and dampers
        `bias_forces` is C qd + `gravity`.
        """
        try:
            return self._functions[CORIOLIS_MATRIX](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CORIOLIS_MATRIX, q, qd, out=out) from None

    def damping_forces(self, qd: Batch) -> Array:
        """Return the forces (..., nv) of the dampers of tree joints, to be added to `tau`.

        No algorithm applies them, while dampers of loop joints are part of C. If they are added,
        the motion does not depend on the choice of the spanning tree. With `joint_friction` they
        are part of C, and the result is zero.

        Args:
            qd: Velocities (..., nv).
        """
        model = self.model
        vector_batch("damping_forces", "qd", qd, model.nv)
        applied = 0.0 if model.joint_friction else -model.damping
        forces: Array = applied * np.asarray(qd, dtype=float)
        return forces

    def inertia_matrix(self, q: Batch, out: Array | None = None) -> Array:
        """Return H, the joint-space inertia matrix (..., nv, nv) (Table 6.2)."""
        try:
            return self._functions[INERTIA_MATRIX](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INERTIA_MATRIX, q, out=out) from None

    def inverse_inertia_matrix(self, q: Batch, out: Array | None = None) -> Array:
        """Return the inverse joint-space inertia matrix (..., nv, nv).

        Raises:
            RobotDynamicsError: If a joint moves no inertia.
        """
        try:
            return self._functions[INVERSE_INERTIA_MATRIX](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_INERTIA_MATRIX, q, out=out) from None

    def articulated_bodies(
        self, q: Batch, qd: Batch, tau: Batch, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return I^A (..., bodies, 6, 6) and p^A (..., bodies, 6): f = I^A a + p^A (Table 7.1).

        f is the force on the link that a joint moves, while the joints beyond it are free. All are
        in the frame of that link, angular part first, in the order of `model.bodies`. The
        acceleration a includes minus gravity.

        Raises:
            RobotDynamicsError: If a joint moves no inertia.
        """
        try:
            return self._functions[ARTICULATED_BODIES](q, qd, tau, out=each_output(out, 2))
        except (TypeError, ValueError) as error:
            raise self._explained(error, ARTICULATED_BODIES, q, qd, tau, out=out) from None

    def hybrid_dynamics(
        self, prescribed: Iterable[str]
    ) -> Callable[[Batch, Batch, Batch, Batch], tuple[Array, Array]]:
        """Return a compiled `(q, qd, tau, qdd) -> (qdd, tau)`, some accelerations given.

        Forces drive the other joints (section 9.2). The entries of `tau` of prescribed joints and
        of `qdd` of the others are ignored, and are the results. With all joints but a floating
        base prescribed, it returns the recoil of the base.

        Args:
            prescribed: Names of the joints whose accelerations are given, in all their freedoms.

        Raises:
            UnknownNameError: If there is no joint of a name.
            RobotDynamicsError: If there are loops or couplings; with these,
                `closed_loop_inverse_dynamics` finds efforts for a motion.
        """
        names = several_names("prescribed", prescribed)
        joints = tuple(sorted({self.model.joint_index(name) for name in names}))
        if self.model.constraint_count:
            raise RobotDynamicsError(
                f"{self.model.name} has loops or couplings, expected a tree; "
                "closed_loop_inverse_dynamics finds efforts for a motion with loops."
            )
        function = self._functions.bound(HYBRID_DYNAMICS, joints)

        def hybrid(
            q: Batch, qd: Batch, tau: Batch, qdd: Batch, out: tuple[Array, Array] | None = None
        ) -> tuple[Array, Array]:
            try:
                found: tuple[Array, Array] = function(q, qd, tau, qdd, out=each_output(out, 2))
            except (TypeError, ValueError) as error:
                raise self._explained(error, HYBRID_DYNAMICS, q, qd, tau, qdd, out=out) from None
            return found

        return hybrid

    def conditioning(self, q: Vector, *, length: float | None = None) -> Conditioning:
        """Return the factors by which accelerations magnify errors of forces (10.2).

        Args:
            q: Positions (nq,).
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.

        Raises:
            RobotDynamicsError: If there are no joints.
        """
        at = finite_vector("q", q, self.model.nq)
        self._require_joints()
        if length is not None:
            length = positive_number("length", length)
        return conditioning(self.model, self.inertia_matrix(at), length)

    def _require_joints(self) -> None:
        if not self.model.nv:
            raise RobotDynamicsError(f"{self.model.name}: nothing moves, expected a joint.")

    def energies(
        self, q: Batch, qd: Batch, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return the kinetic energy, and the potential energy of gravity and springs (...) [J]."""
        try:
            return self._functions[ENERGIES](q, qd, out=each_output(out, 2))
        except (TypeError, ValueError) as error:
            raise self._explained(error, ENERGIES, q, qd, out=out) from None

    def momentum(self, q: Batch, qd: Batch, out: Array | None = None) -> Array:
        """Return the momentum (..., 6) in the world and about its origin [N m s, N s]."""
        try:
            return self._functions[MOMENTUM](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, MOMENTUM, q, qd, out=out) from None

    def centroidal_momentum_matrix(self, q: Batch, out: Array | None = None) -> Array:
        """Return A (..., 6, nv): A qd is the momentum about the centre of mass, in world axes.

        Angular part first. Its linear part over `total_mass` is `center_of_mass_jacobian`.
        """
        try:
            return self._functions[CENTROIDAL_MOMENTUM_MATRIX](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CENTROIDAL_MOMENTUM_MATRIX, q, out=out) from None

    def centroidal_momentum_matrix_rate(
        self, q: Batch, qd: Batch, out: Array | None = None
    ) -> Array:
        """Return the time derivative Ad (..., 6, nv): the momentum changes at A qdd + Ad qd."""
        try:
            return self._functions[CENTROIDAL_MOMENTUM_MATRIX_RATE](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CENTROIDAL_MOMENTUM_MATRIX_RATE, q, qd, out=out) from None

    @property
    def total_mass(self) -> float:
        """Mass of all moving bodies [kg], without links that are fixed to the world."""
        return float(sum(body.inertia.mass for body in self.model.bodies))

    def center_of_mass(self, q: Batch, out: Array | None = None) -> Array:
        """Return the centre of mass (..., 3) of all moving bodies in the world [m]."""
        try:
            return self._functions[CENTER_OF_MASS](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CENTER_OF_MASS, q, out=out) from None

    def center_of_mass_velocity(self, q: Batch, qd: Batch, out: Array | None = None) -> Array:
        """Return the velocity (..., 3) of the centre of mass in the world [m/s]."""
        try:
            return self._functions[CENTER_OF_MASS_VELOCITY](q, qd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CENTER_OF_MASS_VELOCITY, q, qd, out=out) from None

    def center_of_mass_jacobian(self, q: Batch, out: Array | None = None) -> Array:
        """Return J (..., 3, nv): the velocity of the centre of mass is J qd."""
        try:
            return self._functions[CENTER_OF_MASS_JACOBIAN](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CENTER_OF_MASS_JACOBIAN, q, out=out) from None
