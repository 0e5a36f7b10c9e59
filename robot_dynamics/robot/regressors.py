# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters, the regressors of the dynamics, and base parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.dynamics.arguments import positive_number, whole_number
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.inertial_parameters import (
    BaseParameters,
    base_parameters,
    inertial_parameters,
    parameter_units,
)
from robot_dynamics.dynamics.regressor import (
    ENERGY_REGRESSOR,
    INVERSE_DYNAMICS_REGRESSOR,
    PAYLOAD_REGRESSOR,
)
from robot_dynamics.dynamics.scaling import coordinate_scales, model_length
from robot_dynamics.robot.bound_model import each_output
from robot_dynamics.robot.closed_loops import ClosedLoops


class Regressors(ClosedLoops):
    """Joint forces and energies as linear functions of the inertial parameters."""

    @property
    def inertial_parameters(self) -> Array:
        """The inertial parameters (10 N,) of the N bodies in the order of `model.bodies`.

        Each has m [kg], m cx, m cy, m cz [kg m], Ixx, Ixy, Iyy, Ixz, Iyz, Izz [kg m^2] about the
        origin of its link's frame: the frame of the joint's child, as in a URDF. It includes links
        that are fixed to it.
        """
        return inertial_parameters(self.model)

    def inverse_dynamics_regressor(
        self, q: Batch, qd: Batch, qdd: Batch, out: Array | None = None
    ) -> Array:
        """Return Y (..., nv, 10 N): tau is linear in the inertial parameters.

        `inverse_dynamics` is Y times `inertial_parameters`, plus springs, dampers, friction and
        rotors, if any. Y is also its derivative by these parameters. Order and frames are as in
        Pinocchio's `computeJointTorqueRegressor`.
        """
        try:
            return self._functions[INVERSE_DYNAMICS_REGRESSOR](q, qd, qdd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS_REGRESSOR, q, qd, qdd, out=out) from None

    def energy_regressor(
        self, q: Batch, qd: Batch, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return the factors (..., 10 N) of the parameters in kinetic and potential energy."""
        try:
            return self._functions[ENERGY_REGRESSOR](q, qd, out=each_output(out, 2))
        except (TypeError, ValueError) as error:
            raise self._explained(error, ENERGY_REGRESSOR, q, qd, out=out) from None

    def payload_regressor(
        self, frame: str, q: Batch, qd: Batch, qdd: Batch, out: Array | None = None
    ) -> Array:
        """Return Y (..., nv, 10) of a payload: it adds Y times its parameters to tau.

        Args:
            frame: Name of the link or other frame that carries it, in whose coordinates its ten
                inertial parameters are, in the order of `inertial_parameters`.
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            out: Array that the result is written to.

        Raises:
            UnknownNameError: If there is no frame of this name.
        """
        try:
            return self._functions[PAYLOAD_REGRESSOR, frame](q, qd, qdd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(
                error, PAYLOAD_REGRESSOR, q, qd, qdd, out=out, frame=frame
            ) from None

    def closed_loop_regressor(
        self, q: Vector, qd: Vector, qdd: Vector, coordinates: Sequence[str] | None = None
    ) -> Array:
        """Return G^T Y (m, 10 N), the regressor of G^T tau, loops closed.

        Y is `inverse_dynamics_regressor`, G of `independent_form`. Constraint forces have no part
        in G^T tau, the generalised forces along the m independent coordinates.

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed.
            qdd: Accelerations (nv,) that keep them closed.
            coordinates: Independent joints or coordinates; chosen by default.

        Raises:
            AssemblyError: If loops are open, or velocities open them.
            UnknownNameError: If there is neither a joint nor a coordinate of a name.
            RobotDynamicsError: If the coordinates do not determine the motion.
        """
        q, qd, qdd = self._state(q, qd, qdd=qdd)
        *_, error, rate = self.constraint_terms(q, qd)
        require_closed_state(self.model, q, qd, error, rate)
        G = self.independent_form(q, qd, coordinates).G
        regressor: Array = G.T @ self.inverse_dynamics_regressor(q, qd, qdd)
        return regressor

    def base_parameters(self, *, length: float | None = None, seed: int = 0) -> BaseParameters:
        """Return the combinations of inertial parameters that measurements of tau can identify.

        They are found by a factorisation of regressors at random states that reveals the rank;
        with loops, of `closed_loop_regressor`.

        Args:
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            seed: Of the random states.

        Raises:
            AssemblyError: If the loops cannot be closed.
            ArgumentError: If the seed is not a whole number of at least 0.
        """
        model, rng = self.model, np.random.default_rng(whole_number("seed", seed, 0))
        length = model_length(model) if length is None else positive_number("length", length)
        closed = self._closed(None) if model.constraint_count else model.neutral()
        scales = coordinate_scales(model, length)[:, None]

        def random_regressor() -> Array:
            """Return the regressor at a random state, its rows forces along displacements."""
            step, rate, acceleration = rng.normal(size=(3, model.nv))
            near = np.array(model.integrate(closed.tolist(), step.tolist()))
            if not model.constraint_count:
                of_tree = self.inverse_dynamics_regressor(near, rate, acceleration)
                return np.asarray(of_tree / scales)
            at = self.assemble(near, velocities=rate)
            form = self.independent_form(at.q, at.qd)
            qdd = form.G @ acceleration[: form.G.shape[1]] + form.g
            # One basis of the motions, whatever coordinates were chosen.
            motions = np.linalg.qr(scales * form.G)[0] / scales
            Y: Array = motions.T @ self.inverse_dynamics_regressor(at.q, at.qd, qdd)
            return Y

        return base_parameters(random_regressor, parameter_units(len(model.bodies), length))
