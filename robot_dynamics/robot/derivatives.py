# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse and forward dynamics, and small motions near a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.controller_slopes import controller_forces, controller_slopes
from robot_dynamics.dynamics.forward_derivatives import (
    FORWARD_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS_HVP,
    FORWARD_DYNAMICS_JVP,
    FORWARD_DYNAMICS_VJP,
    PLACEMENT_DERIVATIVES,
)
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent import independent_form
from robot_dynamics.dynamics.inverse_derivatives import (
    INVERSE_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS_HVP,
    INVERSE_DYNAMICS_JVP,
    INVERSE_DYNAMICS_VJP,
)
from robot_dynamics.dynamics.jacobian import LOCAL, Axes
from robot_dynamics.dynamics.linearization import Linearization, linearization, with_controller
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.residual import RESIDUAL_DERIVATIVES, VELOCITY_CONSTRAINT_DERIVATIVES
from robot_dynamics.dynamics.solution import AUTO, solution
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    several_names,
)
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot.bound_model import each_output, leading_shape, vector_batch
from robot_dynamics.robot.regressors import Regressors

Three = tuple[Array, Array, Array]


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations (..., nv, nv) and of constraint forces (..., n^c, nv).

    Columns belong to velocities, as in `Robot.inverse_dynamics_derivatives`.
    """

    qdd_q: Array
    qdd_qd: Array
    qdd_tau: Array
    lambda_q: Array
    lambda_qd: Array
    lambda_tau: Array


class HybridDynamicsDerivatives(NamedTuple):
    """Derivatives (..., nv, nv) of the accelerations and joint forces of `Robot.hybrid_dynamics`.

    Columns belong to velocities, as in `Robot.inverse_dynamics_derivatives`. Given accelerations
    and forces have the derivative 1 by themselves; ignored ones have zero columns.
    """

    qdd_q: Array
    qdd_qd: Array
    qdd_tau: Array
    qdd_qdd: Array
    tau_q: Array
    tau_qd: Array
    tau_tau: Array
    tau_qdd: Array


class Derivatives(Regressors):
    """First and second derivatives of the dynamics, with loops and without."""

    def inverse_dynamics_derivatives(
        self,
        q: Batch,
        qd: Batch,
        qdd: Batch,
        out: Three | None = None,
        *,
        wrenches: Mapping[str, Batch] | None = None,
        axes: Axes = LOCAL,
    ) -> Three:
        """Return the derivatives of joint forces (..., nv, nv) by q, qd and qdd.

        Column j of the first belongs to a motion of the positions along velocity j: quaternions
        are no vectors. The third is the inertia matrix.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            qdd: Accelerations (..., nv).
            out: Three arrays that the results are written to.
            wrenches: External wrenches, constant in their axes; see `external_forces`. The joint
                forces are then `inverse_dynamics(q, qd, qdd) - external_forces(q, wrenches,
                axes)`; by the wrenches see `external_forces_derivatives`.
            axes: The coordinates of the wrenches.
        """
        algorithm = INVERSE_DYNAMICS_DERIVATIVES
        pushed = None
        if wrenches is not None:
            _, pushed = self._external_forces_and_rates(q, wrenches, axes)
            if leading_shape(q) != pushed.shape[:-2]:
                q = np.broadcast_to(np.asarray(q, float), (*pushed.shape[:-2], self.model.nq))
        try:
            found: Three = self._functions[algorithm](q, qd, qdd, out=each_output(out, 3))
        except (TypeError, ValueError) as error:
            raise self._explained(error, algorithm, q, qd, qdd, out=out) from None
        if pushed is not None:
            np.subtract(found[0], pushed, out=found[0])
        return found

    def inverse_dynamics_jvp(
        self,
        q: Batch,
        qd: Batch,
        qdd: Batch,
        dq: Batch,
        dqd: Batch,
        dqdd: Batch,
        out: Array | None = None,
    ) -> Array:
        """Return the rate of tau (..., nv) along a direction.

        The directions `dq`, `dqd` and `dqdd` are (..., nv); `dq` is along velocities.
        """
        given = (q, qd, qdd, dq, dqd, dqdd)
        try:
            return self._functions[INVERSE_DYNAMICS_JVP](*given, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS_JVP, *given, out=out) from None

    def inverse_dynamics_vjp(
        self,
        q: Batch,
        qd: Batch,
        qdd: Batch,
        weights: Batch,
        out: Three | None = None,
    ) -> Three:
        """Return the gradients (..., nv) of the sum of weights times tau by q, qd and qdd.

        They cost about four evaluations of tau, whatever the number of joints. The gradient by q
        is along velocities.
        """
        given = (q, qd, qdd, weights)
        try:
            return self._functions[INVERSE_DYNAMICS_VJP](*given, out=each_output(out, 3))
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS_VJP, *given, out=out) from None

    def inverse_dynamics_hvp(
        self,
        q: Batch,
        qd: Batch,
        qdd: Batch,
        weights: Batch,
        dq: Batch,
        dqd: Batch,
        dqdd: Batch,
        out: Three | None = None,
    ) -> Three:
        """Return the rates (..., nv) of the gradients of `inverse_dynamics_vjp` along a direction.

        The Hessian matrix of the sum of weights times tau, times a direction (..., nv): all second
        derivatives by a batch of directions. Along velocities that are not rates of positions,
        such as those of joints with quaternions, it is not symmetric.
        """
        given = (q, qd, qdd, weights, dq, dqd, dqdd)
        try:
            return self._functions[INVERSE_DYNAMICS_HVP](*given, out=each_output(out, 3))
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS_HVP, *given, out=out) from None

    def forward_dynamics_derivatives(
        self,
        q: Batch,
        qd: Batch,
        tau: Batch,
        *,
        check: bool = True,
        out: tuple[Array, ...] | None = None,
        wrenches: Mapping[str, Batch] | None = None,
        axes: Axes = LOCAL,
    ) -> ForwardDynamicsDerivatives:
        """Return the derivatives of accelerations and constraint forces, loops closed.

        They belong to the equation of motion with its constraints, K qdd = k and not K q = 0:
        directions that open the loops are differentiated like others. `linearize` takes directions
        that do not.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            check: Whether to check that the loops of one state are closed, and stay closed;
                batches are not checked.
            out: Arrays that the results are written to: six, without constraints three.
            wrenches: External wrenches, constant in their axes, that act beside `tau`; see
                `external_forces`. The derivative by one of them is `qdd_tau` (of constraint forces
                `lambda_tau`) times its `external_forces_derivatives(...).tau_wrench`.
            axes: The coordinates of the wrenches.

        Raises:
            AssemblyError: If loops are open, or velocities open them.
            RobotDynamicsError: If constraints depend on one another: their forces have no
                derivatives then. In a batch such a row is NaN.
        """
        pushed = None
        if wrenches is not None:
            vector_batch("forward_dynamics_derivatives", "tau", tau, self.model.nv)
            external, pushed = self._external_forces_and_rates(q, wrenches, axes)
            tau = np.asarray(tau, dtype=float) + external
        if self._model.constraint_count and check and leading_shape(q) == leading_shape(qd) == ():
            long_tree = self._functions.long_tree
            if long_tree:
                long_tree.require_closed(q, qd)
            else:  # checks in compiled code whether loops are closed
                self.forward_dynamics(q, qd, tau)
        found = self._at_full_rank(FORWARD_DYNAMICS_DERIVATIVES, q, qd, tau, out=out)
        if len(found) == 3:
            batch = found[0].shape[:-2]
            none = np.zeros((*batch, 0, self.model.nv)) if batch else self._no_multipliers
            found += none, none, none
        result = ForwardDynamicsDerivatives._make(found)
        if pushed is not None:
            np.add(result.qdd_q, result.qdd_tau @ pushed, out=result.qdd_q)
            np.add(result.lambda_q, result.lambda_tau @ pushed, out=result.lambda_q)
        return result

    @cached_property
    def _no_multipliers(self) -> Array:
        return np.zeros((0, self.model.nv))

    def hybrid_dynamics_derivatives(
        self, prescribed: Iterable[str]
    ) -> Callable[..., HybridDynamicsDerivatives]:
        """Return a function `(q, qd, tau, qdd) -> derivatives` of `hybrid_dynamics`.

        It takes batches, and external wrenches as `wrenches` and `axes`, as
        `forward_dynamics_derivatives` does.

        Args:
            prescribed: Names of the joints whose accelerations are given, in all their freedoms.

        Raises:
            UnknownNameError: If there is no joint of a name.
            RobotDynamicsError: If there are loops or couplings.
        """
        names = several_names("prescribed", prescribed)
        model, solve = self.model, self.hybrid_dynamics(names)
        given = np.zeros(model.nv, dtype=bool)
        for name in names:
            given[model.v_slices[model.joint_index(name)]] = True
        one, n = np.eye(model.nv), model.nv

        def derivatives(
            q: Batch,
            qd: Batch,
            tau: Batch,
            qdd: Batch,
            *,
            wrenches: Mapping[str, Batch] | None = None,
            axes: Axes = LOCAL,
        ) -> HybridDynamicsDerivatives:
            if wrenches is not None:
                vector_batch("hybrid_dynamics_derivatives", "tau", tau, n)
                tau = np.asarray(tau, dtype=float) + self.external_forces(q, wrenches, axes)
            motion, _ = solve(q, qd, tau, qdd)
            by_q, by_qd, H = self.inverse_dynamics_derivatives(
                q, qd, motion, wrenches=wrenches, axes=axes
            )
            # Of the inputs q, qd, tau, qdd, side by side: H dqdd + by_q dq + by_qd dqd = dtau.
            still = np.zeros_like(H)
            of_motion = np.concatenate([still, still, still, still + one * given], axis=-1)
            of_force = np.concatenate([still, still, still + one * ~given, still], axis=-1)
            state = np.concatenate([by_q, by_qd, still, still], axis=-1)
            free = ~given
            right = (of_force - state - H @ of_motion)[..., free, :]
            of_motion[..., free, :] = np.linalg.solve(H[..., free, :][..., free], right)
            of_force[..., given, :] = (state + H @ of_motion)[..., given, :]
            parts = [x[..., i * n : (i + 1) * n] for x in (of_motion, of_force) for i in range(4)]
            return HybridDynamicsDerivatives(*parts)

        return derivatives

    def _at_full_rank(
        self, algorithm: Algorithm, *given: Batch, out: tuple[Array, ...] | None = None
    ) -> list[Array]:
        """Return the results of an algorithm after its pivot; NaN where that is too small.

        Raises:
            ArgumentError: If a number given with one state is not finite.
            RobotDynamicsError: If the pivot is too small, and there is one state.
        """
        function = self._functions[algorithm]
        try:
            if out is None:
                pivot, *values = function(*given)
            else:
                pivot, *values = function(*given, out=(None, *out))
        except (TypeError, ValueError) as error:
            raise self._explained(error, algorithm, *given, out=out) from None
        if isinstance(pivot, float):  # of one state
            if not pivot >= SMALLEST_PIVOT:
                for name, numbers in zip(algorithm.inputs, given, strict=False):
                    finite_vector(name, numbers, np.asarray(numbers).size)
                require_inertia(self.model)  # names the joint that lacks it, in loops as well
                if not self.model.constraint_count:
                    raise ArgumentError(
                        f"{self.model.name}: accelerations have no derivatives here, expected "
                        "a state at which the inertia matrix is not singular."
                    )
                raise RobotDynamicsError(
                    f"{self.model.name}: constraints depend on one another here, so that their "
                    "forces have no derivatives; linearize() has those of the motion."
                )
            return values
        doubtful = ~(pivot >= SMALLEST_PIVOT)
        if doubtful.any():
            for value in values:
                value[doubtful] = np.nan
        return values

    def forward_dynamics_jvp(
        self, q: Batch, qd: Batch, tau: Batch, dq: Batch, dqd: Batch, dtau: Batch
    ) -> tuple[Array, Array]:
        """Return the rates of qdd (..., nv) and lambda (..., n^c) along a direction.

        The product of `forward_dynamics_derivatives` and the direction, without the matrices; the
        loops are not checked.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            dq: Direction of the positions, along velocities (..., nv).
            dqd: Direction of the velocities (..., nv).
            dtau: Direction of the joint forces (..., nv).

        Raises:
            ArgumentError: If a number of one state or direction is not finite; in a batch a row
                of NaN.
            RobotDynamicsError: If constraints depend on one another; in a batch a row of NaN.
        """
        given = (q, qd, tau, dq, dqd, dtau)
        qdd, *multipliers = self._at_full_rank(FORWARD_DYNAMICS_JVP, *given)
        return qdd, multipliers[0] if multipliers else np.zeros((*leading_shape(qdd), 0))

    def forward_dynamics_vjp(
        self,
        q: Batch,
        qd: Batch,
        tau: Batch,
        weights: Batch,
        lambda_weights: Batch | None = None,
    ) -> Three:
        """Return the gradients (..., nv) of weighted accelerations and constraint forces.

        The function is the sum of weights times qdd and of `lambda_weights` times lambda; its
        gradients are by q along velocities, by qd and by tau. The gradient by inertial parameters
        is the gradient by tau, times `-inverse_dynamics_regressor(q, qd, qdd)`. The loops are not
        checked.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            weights: Of the accelerations (..., nv).
            lambda_weights: Of the constraint forces (..., n^c); zero by default.

        Raises:
            ArgumentError: If a number of one state or weight is not finite; in a batch a row of
                NaN.
            RobotDynamicsError: If constraints depend on one another; in a batch a row of NaN.
        """
        given = (q, qd, tau, weights, *self._multiplier_weights(lambda_weights))
        by_q, by_qd, by_tau = self._at_full_rank(FORWARD_DYNAMICS_VJP, *given)
        return by_q, by_qd, by_tau

    def forward_dynamics_hvp(
        self,
        q: Batch,
        qd: Batch,
        tau: Batch,
        weights: Batch,
        dq: Batch,
        dqd: Batch,
        dtau: Batch,
        lambda_weights: Batch | None = None,
    ) -> Three:
        """Return the rates (..., nv) of the gradients of `forward_dynamics_vjp` along a direction.

        Second derivatives: the Hessian matrix of the weighted sum times the direction, see
        `inverse_dynamics_hvp`. Arguments and errors are as in the two methods above. It is wrong
        within 1e-9 rad of half a turn of a spring in a spherical or floating joint, where the
        torque jumps.
        """
        given = (q, qd, tau, dq, dqd, dtau, weights, *self._multiplier_weights(lambda_weights))
        by_q, by_qd, by_tau = self._at_full_rank(FORWARD_DYNAMICS_HVP, *given)
        return by_q, by_qd, by_tau

    def _multiplier_weights(self, weights: Batch | None) -> tuple[Batch, ...]:
        """Return weights of the constraint forces as a further input, which a tree lacks."""
        count = self.model.constraint_count
        if count:
            return (np.zeros(count) if weights is None else weights,)
        if weights is not None and np.asarray(weights).shape[-1:] != (0,):
            raise ArgumentError(
                f"{self.model.name}: lambda_weights have shape {np.asarray(weights).shape}, "
                "expected (..., 0): there are no constraints."
            )
        return ()

    def parameter_derivatives(
        self,
        q: Batch,
        qd: Batch,
        tau: Batch,
        of: Literal["inertia", "loops", "friction"] = "inertia",
    ) -> tuple[Array, Array]:
        """Return derivatives of qdd (..., nv, p) and lambda (..., n^c, p), loops closed.

        By p = 10 N `inertial_parameters` of all bodies: mass, first moment, rotational inertia.
        `inverse_dynamics_regressor` has the derivatives of tau. The derivatives of qdd by a
        payload are `-qdd_tau` of `forward_dynamics_derivatives` times `payload_regressor`.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            of: "loops": by small motions [rad, m] of the frames of the L loop joints, such as
                grasp poses, in their bodies, p = 12 L: for each loop the frame on the predecessor
                and the frame on the successor, each in its own coordinates, angular first.
                Positions do not change, which opens the loops: see `forward_dynamics_derivatives`.
                "friction": by damping and then Coulomb friction of the joints of the tree, p = 2
                nv; `tau` does not include them unless the model has `joint_friction`.

        Raises:
            AssemblyError: If loops are open, or velocities open them; in a batch rows have NaN.
            RobotDynamicsError: If constraints depend on one another; in a batch a row of NaN.
            UnknownNameError: If `of` is another name.
        """
        if of not in ("inertia", "loops", "friction"):
            raise UnknownNameError("kind of parameters", of, ("inertia", "loops", "friction"))
        found = self.forward_dynamics_derivatives(q, qd, tau)
        if of == "loops":
            if not self.model.loops:
                return found.qdd_tau[..., :0], found.lambda_tau[..., :0]
            by_qdd, by_lambda = self._at_full_rank(PLACEMENT_DERIVATIVES, q, qd, tau)
            return by_qdd, by_lambda
        if of == "inertia":
            long_tree = self._functions.long_tree
            qdd = None if long_tree is None else long_tree.accelerations(q, qd, tau)
            qdd = self.forward_dynamics(q, qd, tau) if qdd is None else qdd
            Y = self.inverse_dynamics_regressor(q, qd, qdd)
        else:
            rate = np.asarray(qd, dtype=float)[..., None, :]
            smooth = rate / np.sqrt(rate * rate + FRICTION_VELOCITY**2)
            Y = np.concatenate([np.eye(self.model.nv) * x for x in (rate, smooth)], axis=-1)
        return -found.qdd_tau @ Y, -found.lambda_tau @ Y

    def linearize(
        self,
        q: Vector,
        qd: Vector,
        tau: Vector,
        coordinates: Sequence[str] | None = None,
        *,
        controller: Callable[[Array, Array], Vector] | Program | None = None,
        wrenches: Mapping[str, Vector] | None = None,
        axes: Axes = LOCAL,
    ) -> Linearization:
        """Return small motions near a state in independent coordinates, loops kept closed.

        At any rank, with friction of the joints if the model has `joint_friction`. B has a column
        for each entry of `tau`; the columns of drives are `B[:, robot.model.active]`, and `B @
        robot.loop_drives(q)` for drives in loop joints.

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed; zero in joints with quaternions, in whose
                axes small motions would turn otherwise.
            tau: Joint forces (nv,).
            coordinates: Independent joints or coordinates; chosen by default.
            controller: `(q, qd) -> forces` (nv,) that are added to `tau`: A is then the matrix of
                the cell with its controller. A program that `compile.trace` made of it, with q and
                qd as inputs, is differentiated exactly; a Python function by central differences.
            wrenches: External wrenches (6,), constant in their axes; see `external_forces`. `B @
                external_forces_derivatives(q, wrenches, axes).tau_wrench[name]` is their column.
            axes: The coordinates of the wrenches.

        Raises:
            ArgumentError: If the controller returns anything but nv finite numbers, or a program
                has other inputs.
            AssemblyError: If loops are open, or velocities open them.
            UnknownNameError: If there is neither a joint nor a coordinate of a name.
            RobotDynamicsError: If the coordinates do not determine the motion, or a joint with a
                quaternion moves, or there are no joints, or the controller has no derivatives.
        """
        model = self.model
        self._require_joints()
        q, qd, tau = self._state(q, qd, tau=tau)
        if not model.constraint_count:
            require_inertia(model)
        if controller is not None:
            tau = tau + controller_forces(model, controller, q, qd)
        pushed = np.zeros((model.nv, model.nv))
        if wrenches is not None:
            external, pushed = self._external_forces_and_rates(q, wrenches, axes)
            tau = tau + finite_vector("joint forces of the wrenches", external, model.nv)
        H, C, K, k, error, rate = self.constraint_terms(q, qd)
        require_closed_state(model, q, qd, error, rate)
        for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
            if at_q.stop - at_q.start > at_v.stop - at_v.start and qd[at_v].any():
                raise RobotDynamicsError(
                    f"{model.name}: joint {body.joint.name!r} moves, expected rest of joints "
                    "whose positions are quaternions."
                )
        K = np.reshape(K, (-1, model.nv))  # without loops as well
        names = None if coordinates is None else several_names("coordinates", coordinates)
        ranked = constraint_rank(model, K, error, q)
        form = independent_form(model, K, k, ranked, names)
        motion = solution(model, ranked, H, tau - C, K, k, AUTO)
        motion_q, *others = self._functions[RESIDUAL_DERIVATIVES](
            q, qd, motion.qdd, motion.multipliers
        )
        drift = self._functions[VELOCITY_CONSTRAINT_DERIVATIVES](q, qd)
        derivatives = (np.reshape(x, (-1, model.nv)) for x in (motion_q - pushed, *others, drift))
        open_loop = linearization(form, H, K, motion.qdd, *derivatives)
        if controller is None:
            return open_loop
        return with_controller(open_loop, *controller_slopes(model, controller, q, qd))
