# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model and its compiled algorithms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics import algorithms
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.compile.program import Program
from robot_dynamics.compiled_model import CompiledModel
from robot_dynamics.dynamics.arguments import (
    finite_vector,
    pose_matrix,
    positive_number,
    several_names,
    whole_number,
)
from robot_dynamics.dynamics.assembly import (
    Assembly,
    assemble,
    consistent_velocity,
    generic,
    require_closed,
)
from robot_dynamics.dynamics.closed_loop_inverse import ClosedLoopInverse, closed_loop_inverse
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.dynamics.conditioning import Conditioning, conditioning
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.cooperative_task import (
    CooperativeTask,
    cooperative_task,
    require_half_way,
)
from robot_dynamics.dynamics.drive_efforts import fixed_drives
from robot_dynamics.dynamics.effort_request import EffortRequest
from robot_dynamics.dynamics.elimination import elimination_order, order_of, squares_of
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent import (
    IndependentForm,
    independent_form,
)
from robot_dynamics.dynamics.independent_rows import general_rows
from robot_dynamics.dynamics.inertial_parameters import (
    BaseParameters,
    base_parameters,
    inertias_of,
)
from robot_dynamics.dynamics.inverse_kinematics import InverseKinematics, inverse_kinematics
from robot_dynamics.dynamics.linearization import (
    Linearization,
    linearization,
    with_controller,
)
from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.maximal_coordinates import maximal_coordinate_solution
from robot_dynamics.dynamics.mobility import Mobility, mobility
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.dynamics.rank import LARGEST_OPENING, ConstraintRank, constraint_rank
from robot_dynamics.dynamics.redundant import ConstrainedMotion
from robot_dynamics.dynamics.scaling import coordinate_scales, model_length
from robot_dynamics.dynamics.solution import AUTO, MAXIMAL, METHODS, solution
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.explicit_robot import ExplicitRobot
from robot_dynamics.model import Link, Mechanism, build, transform_of
from robot_dynamics.model.moved_inertia import joints_without_inertia, require_inertia
from robot_dynamics.spatial import Inertia

Array = NDArray[np.float64]


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations (..., nv, nv) and of constraint forces (..., n^c, nv).

    Columns belong to velocities, as those of `Robot.inverse_dynamics_derivatives`.
    """

    qdd_q: Array
    qdd_qd: Array
    qdd_tau: Array
    lambda_q: Array
    lambda_qd: Array
    lambda_tau: Array


class Robot(CompiledModel):
    """A model bound to its algorithms, each compiled when it is first asked for.

    Attributes:
        model: The mechanism as data.
    """

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism, **options: Any) -> Robot:
        """Return the robot of named elements; `options` are those of `model.build`."""
        return cls(build(mechanism, **options))

    def __repr__(self) -> str:
        names = self.model.joint_names
        if len(names) > 8:
            names = (*names[:3], "...", *names[-3:])
        joints = f"{len(self.model.bodies)} joints ({', '.join(names)})"
        return f"<Robot {self.model.name!r}: {joints}, {len(self.model.loops)} loops>"

    def replace(self, **changes: Any) -> Robot:
        """Return a robot with other parameters (see `Model.replace`).

        Machine code is shared if only gravity and parts named in `model.variable` differ.
        """
        return Robot(self.model.replace(**changes))

    def with_inertial_parameters(self, parameters: Any) -> Robot:
        """Return a robot with other inertial parameters (10 N,), see `inertial_parameters`.

        Machine code is shared for bodies that are named in `model.variable`.

        Raises:
            ArgumentError: If there are others, or not finite ones.
        """
        return self.replace(inertia=inertias_of(self.model, parameters))

    def with_frame(self, name: str, link: str, pose: Any) -> Robot:
        """Return a robot with one more frame, such as a tool's tip; machine code is shared.

        Args:
            name: Its name, by which `pose`, `jacobian` and the others know it.
            link: The link, or other frame, that it is fixed to.
            pose: Where it is (4, 4), in that link's frame.

        Raises:
            UnknownNameError: If there is no such link.
            ArgumentError: If the name is taken, or `pose` is no pose.
        """
        carrier, links = self.model.link(link), self.model.links
        if any(other.name == name for other in links):
            raise ArgumentError(
                f"{self.model.name}: there is a frame {name!r}, expected a new name."
            )
        placement = transform_of(pose_matrix("pose", pose)).compose(carrier.placement)
        added = Link(name, carrier.body, placement, Inertia.zero())
        return Robot(dataclasses.replace(self.model, links=(*links, added)))

    @cached_property
    def forward_dynamics(self) -> Any:
        """`(q, qd, tau) -> qdd`: accelerations (..., nv), loops closed if there are any.

        With loops, `check=False` leaves out the check that they are closed, and stay so with the
        velocities, to a hundredth of the length and of the speed. A state that has no answer,
        with loops open or numbers that are not finite, is then an error (AssemblyError,
        ArgumentError); in a batch it is a row of NaN, as it is without loops.
        """
        if not self.model.constraint_count:
            return self.tree_forward_dynamics
        if joints_without_inertia(self.model):  # H is singular, only loops determine the motion
            solve = self._unsolved
        else:
            rows = general_rows(self.model, self.closure)
            solve = self._bind(
                "closed_forward_dynamics" if rows is None else f"closed_forward_dynamics\0{rows}",
                lambda model: algorithms.closed_forward_dynamics_program(model, rows),
            )
        look_closer = self._looked_at

        def forward_dynamics(
            q: Any, qd: Any, tau: Any, out: Array | None = None, *, check: bool = True
        ) -> Array:
            result: Array = solve(q, qd, tau)
            # Not `pivot < limit`: a pivot that is not a number has to go the other way as well.
            good = result.ndim == 1 and result[-1] >= SMALLEST_PIVOT
            if good and (result[-2] <= 1.0 or not check):
                qdd = result[:-2]
            else:
                qdd = look_closer(q, qd, tau, result, check)
            if out is None:
                return qdd
            out[...] = qdd
            return out

        return forward_dynamics

    def forward_dynamics_derivatives(
        self, q: Any, qd: Any, tau: Any, *, check: bool = True
    ) -> ForwardDynamicsDerivatives:
        """Return the derivatives of accelerations and constraint forces, loops closed.

        Those of the equation of motion with its constraints, K qdd = k and not K q = 0: directions
        that open the loops are differentiated like others. `linearize` takes those that do not.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            check: Whether to check that the loops of one state are closed, and stay so; those of
                a batch are not looked at.

        Raises:
            AssemblyError: If loops are open, or velocities open them.
            RobotDynamicsError: If constraints depend on one another: their forces have no
                derivatives then. In a batch such a row is NaN.
        """
        if check and self.model.constraint_count and np.ndim(q) == np.ndim(qd) == 1:
            if self._long_tree:
                self._long_tree.require_closed(q, qd)
            else:  # looks whether loops are closed, in compiled code
                self.forward_dynamics(q, qd, tau)
        state = {"q": q, "qd": qd, "tau": tau}
        found = self._at_full_rank(self._forward_dynamics_derivatives(q, qd, tau), state)
        if len(found) == 3:
            found += [np.zeros((*found[0].shape[:-2], 0, self.model.nv))] * 3
        return ForwardDynamicsDerivatives(*found)

    def _at_full_rank(self, found: tuple[Any, ...], given: dict[str, Any]) -> list[Array]:
        """Return what a function of a state returned besides the pivot; NaN where that is small.

        Raises:
            ArgumentError: If a number given with one state is not finite.
            RobotDynamicsError: If the pivot is too small, and there is one state.
        """
        pivot, *values = found
        if isinstance(pivot, float):  # of one state
            if not pivot >= SMALLEST_PIVOT:
                for name, values in given.items():
                    finite_vector(name, values, np.size(values))
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
        self, q: Any, qd: Any, tau: Any, dq: Any, dqd: Any, dtau: Any
    ) -> tuple[Array, Array]:
        """Return the rates of qdd (..., nv) and lambda (..., n^c) along a direction.

        That is `forward_dynamics_derivatives` times the direction, without the matrices; the loops
        are not checked.

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
        given = {"q": q, "qd": qd, "tau": tau, "dq": dq, "dqd": dqd, "dtau": dtau}
        found = self._forward_dynamics_jvp(*given.values())
        qdd, *multipliers = self._at_full_rank(found, given)
        return qdd, multipliers[0] if multipliers else np.zeros((*np.shape(qdd)[:-1], 0))

    def forward_dynamics_vjp(
        self, q: Any, qd: Any, tau: Any, weights: Any, lambda_weights: Any = None
    ) -> tuple[Array, Array, Array]:
        """Return the gradients (..., nv) of weighted accelerations and constraint forces.

        Of the sum of weights times qdd and of `lambda_weights` times lambda, by q along
        velocities, by qd and by tau. By inertial parameters it is the one by tau, times
        `-inverse_dynamics_regressor(q, qd, qdd)`. The loops are not checked.

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
        given = {"q": q, "qd": qd, "tau": tau, "weights": weights}
        given |= self._multiplier_weights(lambda_weights)
        found = self._forward_dynamics_vjp(*given.values())
        by_q, by_qd, by_tau = self._at_full_rank(found, given)
        return by_q, by_qd, by_tau

    def forward_dynamics_hvp(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        weights: Any,
        dq: Any,
        dqd: Any,
        dtau: Any,
        lambda_weights: Any = None,
    ) -> tuple[Array, Array, Array]:
        """Return the rates (..., nv) of the gradients of `forward_dynamics_vjp` along a direction.

        Second derivatives: the Hessian matrix of the weighted sum times the direction, see
        `inverse_dynamics_hvp`. Arguments and errors are those of the two methods above. Not to be
        used within 1e-9 rad of half a turn of a spring that turns any way, where it jumps.
        """
        given = {"q": q, "qd": qd, "tau": tau, "dq": dq, "dqd": dqd, "dtau": dtau}
        given |= {"weights": weights, **self._multiplier_weights(lambda_weights)}
        found = self._forward_dynamics_hvp(*given.values())
        by_q, by_qd, by_tau = self._at_full_rank(found, given)
        return by_q, by_qd, by_tau

    def _multiplier_weights(self, weights: Any) -> dict[str, Any]:
        """Return weights of the constraint forces as a further input, which a tree has not."""
        count = self.model.constraint_count
        if not count:
            if weights is not None and np.shape(weights)[-1:] != (0,):
                raise ArgumentError(
                    f"{self.model.name}: lambda_weights have shape {np.shape(weights)}, expected "
                    "(..., 0): there are no constraints."
                )
            return {}
        return {"lambda_weights": np.zeros(count) if weights is None else weights}

    def parameter_derivatives(
        self, q: Any, qd: Any, tau: Any, of: Literal["inertia", "loops", "friction"] = "inertia"
    ) -> tuple[Array, Array]:
        """Return derivatives of qdd (..., nv, p) and lambda (..., n^c, p), loops closed.

        By p = 10 N `inertial_parameters` of all bodies: mass, first moment, rotational inertia.
        Those of tau are `inverse_dynamics_regressor`; a payload is a body's, or a frame's, of
        which `payload_regressor` gives tau: then qdd follows by `-qdd_tau` of
        `forward_dynamics_derivatives` times it.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            of: "loops": by small motions [rad, m] of the frames of the L loop joints, such as
                grasp poses, in their bodies, p = 12 L: for each loop that on the predecessor and
                that on the successor, each in its own coordinates, angular first. Positions stay
                as they are, which opens the loops: see `forward_dynamics_derivatives`.
                "friction": by damping and then Coulomb friction of the joints of the tree,
                p = 2 nv; `tau` goes on without them unless the model has `joint_friction`.

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
            state = {"q": q, "qd": qd, "tau": tau}
            by_qdd, by_lambda = self._at_full_rank(self._placement_derivatives(q, qd, tau), state)
            return by_qdd, by_lambda
        if of == "inertia":
            Y = self.inverse_dynamics_regressor(q, qd, self.forward_dynamics(q, qd, tau))
        else:
            rate = np.asarray(qd, dtype=float)[..., None, :]
            smooth = rate / np.sqrt(rate * rate + FRICTION_VELOCITY**2)
            Y = np.concatenate([np.eye(self.model.nv) * x for x in (rate, smooth)], axis=-1)
        return -found.qdd_tau @ Y, -found.lambda_tau @ Y

    def conditioning(self, q: Any, *, length: float | None = None) -> Conditioning:
        """Return how much accelerations magnify errors of forces, loops left open (10.2).

        Args:
            q: Positions (nq,).
            length: Length [m] at which a rotation counts like a displacement; that of a typical
                link by default.

        Raises:
            RobotDynamicsError: If there are no joints.
        """
        at = finite_vector("q", q, self.model.nq)
        self._require_joints()
        if length is not None:
            length = positive_number("length", length)
        return conditioning(self.model, self.inertia_matrix(at), length)

    def hybrid_dynamics(self, prescribed: Iterable[str]) -> Any:
        """Return compiled `(q, qd, tau, qdd) -> (qdd, tau)`, accelerations of some joints given.

        Forces drive the other joints (section 9.2). Entries of `tau` of prescribed joints and of
        `qdd` of the others are not looked at, and come out. With all joints but a floating base
        prescribed, it says how the base recoils.

        Args:
            prescribed: Names of the joints whose accelerations are given, each with all its
                freedoms.

        Raises:
            UnknownNameError: If there is no joint of a name.
            RobotDynamicsError: If there are loops or couplings; with these,
                `closed_loop_inverse_dynamics` finds efforts for a motion.
        """
        names = several_names("prescribed", prescribed)
        joints = frozenset(self.model.joint_index(name) for name in names)
        if self.model.constraint_count:
            raise RobotDynamicsError(
                f"{self.model.name} has loops or couplings, expected a tree; "
                "closed_loop_inverse_dynamics finds efforts for a motion with loops."
            )
        return self._bind(
            f"hybrid_dynamics\0{sorted(joints)}",
            lambda model: algorithms.hybrid_dynamics_program(model, joints),
        )

    def linearize(
        self,
        q: Array,
        qd: Array,
        tau: Array,
        coordinates: Sequence[str] | None = None,
        *,
        controller: Callable[[Array, Array], Any] | Program | None = None,
    ) -> Linearization:
        """Return small motions near a state in independent coordinates, loops kept closed.

        At any rank, with friction of the joints where the model has `joint_friction`.

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed; zero in joints with quaternions, in whose
                axes small motions would turn otherwise.
            tau: Joint forces (nv,).
            coordinates: Joints or coordinates that are to be independent; chosen by default.
            controller: `(q, qd) -> forces` (nv,) that are added to `tau`: A is then that of the
                cell with its controller. A program that `compile.trace` made of it, with q and qd
                as inputs, is differentiated exactly; a Python function by central differences.

        Raises:
            ArgumentError: If the controller returns anything but nv finite numbers, or a program
                takes something else.
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
            tau = tau + self._controller_forces(controller, q, qd)
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
        residual = self._residual_derivatives(q, qd, motion.qdd, motion.multipliers)
        drift = self._velocity_constraint_derivatives(q, qd)
        derivatives = (np.reshape(x, (-1, model.nv)) for x in (*residual, drift))
        open_loop = linearization(form, H, K, motion.qdd, *derivatives)
        if controller is None:
            return open_loop
        slopes = self._controller_slopes(controller, q, qd)
        if not np.isfinite(slopes).all():
            raise RobotDynamicsError(
                f"{model.name}: the controller's forces have no finite derivatives here, expected "
                "a law that is smooth at this state."
            )
        return with_controller(open_loop, *slopes)

    def _require_joints(self) -> None:
        if not self.model.nv:
            raise RobotDynamicsError(f"{self.model.name}: nothing moves, expected a joint.")

    def _controller_forces(
        self, controller: Callable[[Array, Array], Any] | Program, q: Array, qd: Array
    ) -> Array:
        """Return the forces (nv,) of a controller."""
        values: Any
        if isinstance(controller, Program):
            inputs = tuple(controller.inputs.values())
            outputs = tuple(controller.outputs.values())
            (nq, n) = self.model.nq, self.model.nv
            if inputs != ((nq,), (n,)) or outputs != ((n,),) or controller.parameters:
                raise ArgumentError(
                    f"the controller is a program {controller.ports.signature}, expected "
                    f"({nq}),({n})->({n}) without parameters: forces of q and qd."
                )
            (values,) = controller.evaluate(q, qd)
        else:
            values = controller(q, qd)
        return finite_vector("controller's forces", values, self.model.nv)

    def _controller_slopes(
        self, controller: Callable[[Array, Array], Any] | Program, q: Array, qd: Array
    ) -> tuple[Array, Array]:
        """Return the derivatives (nv, nv) of a controller along velocities and by qd."""
        model, units, still = self.model, np.eye(self.model.nv), np.zeros(self.model.nv)
        if isinstance(controller, Program):

            def rates(dq: Any, dqd: Any) -> Any:
                at = [q.tolist(), qd.tolist()]
                try:
                    (found,) = jacobian_times_vector(controller, at, [dq, dqd]).values()
                except ArithmeticError:  # where NumPy's numbers would not be finite
                    return [np.nan] * model.nv
                return found

            start, zero = q.tolist(), still.tolist()
            along = [rates(model.position_rate(start, e), zero) for e in units.tolist()]
            by_rate = [rates([0.0] * model.nq, e) for e in units.tolist()]
            return np.array(along, dtype=float).T, np.array(by_rate, dtype=float).T

        def forces(step: Array, change: Array) -> Array:
            at = np.array(model.integrate(q.tolist(), step.tolist()))
            return self._controller_forces(controller, at, qd + change)

        # The cube root of rounding, at which central differences are best.
        h = 6e-6
        by_q = [forces(e, still) - forces(-e, still) for e in h * units]
        by_qd = [forces(still, e) - forces(still, -e) for e in h * units]
        return np.array(by_q).T / (2.0 * h), np.array(by_qd).T / (2.0 * h)

    def closed_loop_regressor(
        self, q: Array, qd: Array, qdd: Array, coordinates: Sequence[str] | None = None
    ) -> Array:
        """Return G^T Y (m, 10 N): what the inertial parameters add to G^T tau, loops closed.

        Y is `inverse_dynamics_regressor`, G that of `independent_form`: constraint forces have no
        part in G^T tau, which is what drives have to do along the m independent coordinates.

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed.
            qdd: Accelerations (nv,) that do.
            coordinates: Joints or coordinates that are to be independent; chosen by default.

        Raises:
            AssemblyError: If loops are open, or velocities open them.
            UnknownNameError: If there is neither a joint nor a coordinate of a name.
            RobotDynamicsError: If the coordinates do not determine the motion.
        """
        q, qd, qdd = self._state(q, qd, qdd=qdd)
        *_, error, rate = self.constraint_terms(q, qd)
        require_closed_state(self.model, q, qd, error, rate)
        G = self.independent_form(q, qd, coordinates).G
        result: Array = G.T @ self.inverse_dynamics_regressor(q, qd, qdd)
        return result

    def base_parameters(self, *, length: float | None = None, seed: int = 0) -> BaseParameters:
        """Return the combinations of inertial parameters that a measurement of tau can tell.

        They are found by a factorisation of regressors at random states that reveals the rank;
        with loops, of `closed_loop_regressor`.

        Args:
            length: Length [m] at which a rotation counts like a displacement; that of a typical
                link by default.
            seed: Of the random states.

        Raises:
            AssemblyError: If the loops cannot be closed.
            ArgumentError: If the seed is no whole number from 0 on.
        """
        model, rng = self.model, np.random.default_rng(whole_number("seed", seed, 0))
        length = model_length(model) if length is None else positive_number("length", length)
        closed = self._closed(None) if model.constraint_count else model.neutral()

        scales = coordinate_scales(model, length)[:, None]

        def random_regressor() -> Array:
            """Return the regressor at a random state, its rows forces along displacements."""
            step, rate, acceleration = rng.normal(size=(3, model.nv))
            if not model.constraint_count:
                q = np.array(model.integrate(closed.tolist(), step.tolist()))
                return np.asarray(self.inverse_dynamics_regressor(q, rate, acceleration) / scales)
            near = np.array(model.integrate(closed.tolist(), step.tolist()))
            at = self.assemble(near, velocities=rate)
            form = self.independent_form(at.q, at.qd)
            qdd = form.G @ acceleration[: form.G.shape[1]] + form.g
            # One basis of the motions, whatever coordinates were chosen.
            motions = np.linalg.qr(scales * form.G)[0] / scales
            Y: Array = motions.T @ self.inverse_dynamics_regressor(at.q, at.qd, qdd)
            return Y

        return base_parameters(random_regressor, self.inertial_parameters.size, length)

    def _unsolved(self, q: Any, qd: Any, tau: Any) -> Array:
        """Return what `closed_forward_dynamics` does where it has no answer for any state."""
        batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in (q, qd, tau)))
        return np.full((*batch, self.model.nv + 2), np.nan)

    def _looked_at(self, q: Any, qd: Any, tau: Any, result: Array, check: bool) -> Array:
        """Return the accelerations of `closed_forward_dynamics`, doubtful states looked at."""
        qdd, inconsistent, pivot = result[..., :-2].copy(), result[..., -2], result[..., -1]
        positions = np.broadcast_to(np.asarray(q, dtype=float), (*pivot.shape, self.model.nq))
        rates, forces = (np.broadcast_to(np.asarray(x, dtype=float), qdd.shape) for x in (qd, tau))
        regular = pivot >= SMALLEST_PIVOT
        for at in map(tuple, np.argwhere(~(regular & ((inconsistent <= 1.0) | (not check))))):
            try:
                state = self._state(positions[at], rates[at], tau=forces[at])
                if check:
                    *_, error, rate = self.constraint_terms(*state[:2])
                    require_closed_state(self.model, state[0], state[1], error, rate)
                if not regular[at]:
                    qdd[at] = self.constrained_motion(*state).qdd
            except RobotDynamicsError:
                if not at:
                    raise
                qdd[at] = np.nan
        return qdd

    def constrained_motion(
        self,
        q: Array,
        qd: Array,
        tau: Array,
        *,
        method: str = AUTO,
        length: float | None = None,
        stabilisation_time: float | None = None,
    ) -> ConstrainedMotion:
        """Return accelerations and loop forces at any rank, redundant constraints by name.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            tau: Joint forces (nv,).
            method: One of "direct", "multipliers first", "independent accelerations first",
                "maximal coordinates", which differ in how they get there (sections 8.5 and 8.13),
                or "auto".
            length: Length [m] at which a rotation counts like a displacement; that of a typical
                link by default.
            stabilisation_time: T_stab of Baumgarte's method [s]; none without it.

        Raises:
            UnknownNameError: If there is no such method.
            RobotDynamicsError: If a number is not finite.
        """
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        q, qd, tau = self._state(q, qd, tau=tau)
        if method == MAXIMAL:
            return maximal_coordinate_solution(
                self.model, q, qd, tau, length=length, stabilisation_time=stabilisation_time
            )
        H, C, K, k, ranked = self._ranked_terms(q, qd, length, stabilisation_time)
        return solution(self.model, ranked, H, tau - C, K, k, method)

    def closed_loop_inverse_dynamics(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        *,
        external: Array | None = None,
        length: float | None = None,
        **request: Any,
    ) -> ClosedLoopInverse:
        """Return efforts of the drives that give an acceleration, loops closed (section 8.12).

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed.
            qdd: Accelerations (nv,) that do.
            external: Joint forces (nv,) from outside, as `external_forces` returns them.
            length: Length [m] at which a rotation counts like a displacement; that of a typical
                link by default.
            request: Which efforts, if several do: `drives`, `weights`, `limits`, `push_only`,
                `friction`, `forces` and `prefer`, and `project` and `tolerance` for accelerations
                that open the loops, of `dynamics.effort_request.EffortRequest`.

        Raises:
            AssemblyError: If the loops are open, or would open; it names them and by how much.
            InfeasibleError: If no efforts within the bounds do; it names the bounds in the way.
            UnknownNameError: If there is no drive, constraint or loop joint of a name.
        """
        terms = self.constraint_terms
        if external is not None:
            pushes = finite_vector("external", external, self.model.nv)

            def terms(q: Array, qd: Array) -> tuple[Array, ...]:
                H, C, *others = self.constraint_terms(q, qd)
                return H, C - pushes, *others

        return closed_loop_inverse(
            self.model,
            q,
            qd,
            qdd,
            terms,
            self.loop_drives,
            self.loop_forces,
            EffortRequest(**request),
            length=length,
        )

    def gravity_compensation(self, q: Array, **options: Any) -> ClosedLoopInverse:
        """Return efforts of the drives that hold the mechanism at rest at positions `q` (nq,).

        Against gravity and springs. What the drives cannot hold is in `missing` and `free`.

        Args:
            q: Positions (nq,) that close the loops.
            options: Those of `closed_loop_inverse_dynamics`.
        """
        rest = np.zeros(self.model.nv)
        return self.closed_loop_inverse_dynamics(q, rest, rest, **options)

    def drive_efforts(
        self,
        drives: Iterable[str] | None = None,
        *,
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        q: Array | None = None,
    ) -> Callable[[Any, Any, Any], tuple[Array, Array]]:
        """Return compiled `(q, qd, qdd) -> (efforts, pivot)` of drives that force every motion.

        The efforts (..., p) are those of `closed_loop_inverse_dynamics` without bounds, with
        nothing decided in a call: accelerations that open the loops are not noticed. Where the
        pivot (...) is not at least `SMALLEST_PIVOT` the drives do not force every motion, or the
        rank is another one, and the efforts are worthless.

        Args:
            drives: Joints, coordinates or drives in loop joints; those of the model by default.
            weights: As those of `closed_loop_inverse_dynamics`.
            q: Positions (nq,) with all loops closed at which independent coordinates are chosen;
                by default some in no special position.

        Raises:
            AssemblyError: If the loops are open at `q`, or cannot be closed without it.
            UnknownNameError: If there is no drive of a name.
            RobotDynamicsError: If the drives cannot force every motion.
        """
        names = None if drives is None else several_names("drives", drives)
        at = self._closed(q)
        fixed = fixed_drives(self.model, self.closure, self.loop_drives, at, names, weights)
        solve = self._bind(
            f"drive_efforts\0{fixed.order}",
            lambda model: algorithms.drive_effort_program(model, fixed),
            squares_of(fixed.pivots),
        )

        def drive_efforts(q: Any, qd: Any, qdd: Any) -> tuple[Array, Array]:
            result: Array = solve(q, qd, qdd)
            return result[..., :-1], result[..., -1]

        return drive_efforts

    def independent_form(
        self,
        q: Array,
        qd: Array,
        coordinates: Sequence[str] | None = None,
        *,
        length: float | None = None,
        stabilisation_time: float | None = None,
    ) -> IndependentForm:
        """Return G and g of `qdd = G ydd + g`: all accelerations from independent ones (8.51).

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            coordinates: Joints or coordinates that are to be independent; chosen by default.
            length: Length [m] at which a rotation counts like a displacement; that of a typical
                link by default.
            stabilisation_time: T_stab of Baumgarte's method [s]; none without it.

        Raises:
            UnknownNameError: If there is neither a joint nor a coordinate of a name.
            RobotDynamicsError: If the coordinates do not determine the motion; it names some that
                do.
        """
        q, qd = self._state(q, qd)
        names = None if coordinates is None else several_names("coordinates", coordinates)
        _, _, K, k, ranked = self._ranked_terms(q, qd, length, stabilisation_time)
        return independent_form(self.model, K, k, ranked, names)

    def independent_dynamics(
        self, coordinates: Sequence[str] | None = None, *, q: Array | None = None
    ) -> Callable[[Any, Any, Any], tuple[Array, Array]]:
        """Return compiled `(q, qd, tau) -> (qdd, pivot)` in fixed independent coordinates.

        It solves for independent accelerations first (8.45), at any rank, with nothing decided in
        a call. Where the pivot (...) is below `SMALLEST_PIVOT` the coordinates do not determine
        the motion, or the rank is another one, and qdd (..., nv) is worthless.

        Args:
            coordinates: Joints or coordinates that are to be independent; chosen by default.
            q: Positions (nq,) with all loops closed at which the choice is made; by default some
                in no special position.

        Raises:
            AssemblyError: If the loops are open at `q`, or cannot be closed without it.
            UnknownNameError: If there is neither a joint nor a coordinate of a name.
            RobotDynamicsError: If the coordinates do not determine the motion; it names some that
                do.
        """
        names = None if coordinates is None else several_names("coordinates", coordinates)
        at = self._closed(q)
        K, error = self.closure(at)
        require_closed(self.model, at, error, LARGEST_OPENING, model_length(self.model))
        order = elimination_order(self.model, K, error, at, names)
        solve = self._bind(
            f"independent\0{order_of(order)}",
            lambda model: algorithms.independent_program(model, order),
            squares_of(order),
        )

        def independent_dynamics(q: Any, qd: Any, tau: Any) -> tuple[Array, Array]:
            result: Array = solve(q, qd, tau)
            return result[..., :-1], result[..., -1]

        return independent_dynamics

    def _state(self, q: Any, qd: Any, **more: Any) -> tuple[Array, ...]:
        """Return positions (nq,), velocities (nv,) and forces (nv,), looked at."""
        rates = {"qd": qd, **more}
        return (
            finite_vector("q", q, self.model.nq),
            *(finite_vector(name, values, self.model.nv) for name, values in rates.items()),
        )

    def _closed(self, q: Any) -> Array:
        """Return the positions that are given, or some with all loops closed."""
        if q is not None:
            return finite_vector("q", q, self.model.nq)
        return self.assemble(generic(self.model)).q

    def _ranked_terms(
        self, q: Array, qd: Array, length: float | None, stabilisation_time: float | None
    ) -> tuple[Array, Array, Array, Array, ConstraintRank]:
        """Return H, C, K, k, with stabilisation if there is any, and the rank of K."""
        H, C, K, k, error, speed = self.constraint_terms(q, qd)
        K = K.reshape(self.model.constraint_count, self.model.nv)  # without loops as well
        if stabilisation_time is not None:
            time = positive_number("stabilisation_time", stabilisation_time)
            k = np.array(LoopTerms(K, k, error, speed).stabilised(time))
        if length is not None:
            length = positive_number("length", length)
        ranked = constraint_rank(self.model, K, error, q, length=length)
        return H, C, K, k, ranked

    def assemble(
        self,
        q: Array | None = None,
        *,
        held: Iterable[str] | Mapping[str, object] = (),
        velocities: Array | Mapping[str, object] | None = None,
        metric: str = "length",
        **options: Any,
    ) -> Assembly:
        """Return positions and velocities that close all loops, near a guess if there are some.

        Args:
            q: The guess (nq,); every joint at its zero by default.
            held: Joints or coordinates that keep their value of the guess, or a mapping from
                joints to the values that they are to have.
            velocities: The velocity (nv,) to which the nearest consistent one is wanted; or a
                mapping from joints to velocities that are met, with the least motion otherwise.
            metric: What is least: "length" for displacements, with rotations at the declared
                length, or "inertia" for kinetic energy.
            options: `limits`, `length`, `tolerance`, `restarts`, `seed`, `iterations` and
                `seconds` of `dynamics.assembly.assemble`.

        Raises:
            AssemblyError: If there is none; it names the loops and the gaps that remain.
        """
        if metric not in ("length", "inertia"):
            raise UnknownNameError("metric", metric, ("length", "inertia"))
        weigh = self.inertia_matrix if metric == "inertia" else None
        guess = self.model.neutral() if q is None else np.asarray(q, dtype=float)
        found = assemble(self.model, self.closure, guess, held=held, metric=weigh, **options)
        if velocities is None:
            return found
        named = velocities if isinstance(velocities, Mapping) else None
        K, error = self.closure(found.q)
        qd = consistent_velocity(
            self.model,
            K,
            np.zeros(self.model.nv) if named is not None else np.asarray(velocities, dtype=float),
            held=named,
            metric=None if weigh is None else weigh(found.q),
            length=found.length,
            q=found.q,
            error=error,
        )
        return dataclasses.replace(found, qd=qd)

    def cooperative_task(self, first: str, second: str, q: Any, qd: Any = None) -> CooperativeTask:
        """Return how two frames are together, and the second relative to the first.

        The absolute pose is half way between both, in position and in orientation; the relative
        one is that of the second frame in the first (after Chiacchio, Chiaverini and Siciliano,
        1996). Frames of hands that face one another are turned by 180 degrees, where half way is
        undefined: use frames at the grasps that are aligned, see `with_frame`.

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
        self, first: str, second: str, q: Any, qd: Any = None
    ) -> CooperativeTask:
        """Return the same, with one of the orientations half way where there are two."""
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

    def inverse_kinematics(
        self,
        frame: str | tuple[str, str] | Mapping[Any, Any],
        pose: Any = None,
        q0: Any = None,
        *,
        limits: bool = True,
        held: Iterable[str] = (),
        **options: Any,
    ) -> InverseKinematics:
        """Return positions at which frames are where they are wanted, or as near as was found.

        Loops stay closed. Targets that are out of reach are no error: `converged` is then false,
        and the errors that remain are the smallest around, in the least-squares sense.

        Args:
            frame: Name of a link or other frame (see `pose`). Two names `(first, second)` for a
                target of both together, see `cooperative_task`. Or a mapping from such to
                targets, for several at once.
            pose: Its target: a pose (4, 4) in the world, or a position (3,) [m] alone. Of two
                frames a mapping with "absolute", "relative" or both, of each a pose or position.
            q0: Positions (nq,) to start from, near which the result is; if there are none, random
                starts are tried as well.
            limits: Whether positions have to be within the joint limits.
            held: Joints or coordinates that keep their value of `q0`.
            options: `tolerance` (1e-6 m and rad), `iterations` (100 a start), `restarts` (20
                without `q0`, otherwise none), `seed` and `length` of
                `dynamics.inverse_kinematics.inverse_kinematics`.

        Raises:
            ArgumentError: If a target is neither a pose nor a position, or an argument has the
                wrong size or value.
            UnknownNameError: If there is no frame or joint of a name.
            AssemblyError: If the loops cannot be closed near `q0`.
        """
        if isinstance(frame, Mapping):
            if pose is not None:
                raise ArgumentError("there are several frames and a pose; expected one or other.")
            given: Mapping[Any, Any] = frame
        elif isinstance(frame, (str, tuple)):
            given = {frame: pose}
        else:
            raise ArgumentError(
                f"frame is {frame!r:.60}, expected one name, two names, or a mapping from such to "
                "targets."
            )
        targets, pairs = self._targets(given)
        names = several_names("held", held)

        def pose_of(name: str, q: Array) -> Array:
            if name not in pairs:
                return self.pose(name, q)
            first, second, part = pairs[name]
            return np.asarray(getattr(self._cooperative_task(first, second, q), part))

        def jacobian_of(name: str, q: Array) -> Array:
            if name not in pairs:
                return self.jacobian(name, q, "aligned")
            first, second, part = pairs[name]
            J = self._cooperative_task(first, second, q).jacobian
            return J[:6] if part == "absolute" else J[6:]

        return inverse_kinematics(
            self.model,
            targets,
            q0,
            pose_of,
            jacobian_of,
            self.closure,
            lambda q: self.assemble(q, held=names, limits=limits).q,
            limits=limits,
            held=names,
            **options,
        )

    def _targets(
        self, given: Mapping[Any, Any]
    ) -> tuple[dict[str, Any], dict[str, tuple[str, str, str]]]:
        """Return targets by name, and of those of two frames the frames and the part."""
        targets: dict[str, Any] = {}
        pairs: dict[str, tuple[str, str, str]] = {}
        for frames, target in given.items():
            if isinstance(frames, str):
                self.model.link(frames)
                targets[frames] = target
                continue
            if not (isinstance(frames, tuple) and len(frames) == 2):
                raise ArgumentError(
                    f"there is a target of {frames!r:.60}, expected one or two names."
                )
            for frame in frames:
                self.model.link(frame)
            parts = target if isinstance(target, Mapping) else {}
            if not parts or not set(parts) <= {"absolute", "relative"}:
                raise ArgumentError(
                    f"the target of {' and '.join(frames)} is {target!r:.60}, expected a mapping "
                    "with 'absolute', 'relative' or both."
                )
            for part, value in parts.items():
                name = f"{' and '.join(frames)}, {part}"
                targets[name], pairs[name] = value, (*frames, part)
        return targets, pairs

    def mobility(
        self, q: Array | None = None, *, independent: Sequence[str] = (), **options: Any
    ) -> Mobility:
        """Return how the mechanism can move, what is redundant, and whether its drives suffice.

        Args:
            q: Positions (nq,) with all loops closed; by default some near the joints' zeros and
                in no special position, since at zero many mechanisms are in one.
            independent: Joints or coordinates preferred as independent ones.
            options: `length`, `active`, `samples` and `seed` of `dynamics.mobility.mobility`.

        Raises:
            AssemblyError: If the loops are open at `q`, or cannot be closed without it.
            RobotDynamicsError: If the preferred coordinates depend on one another.
        """
        closed = self._closed(q)
        independent = several_names("independent", independent)
        return mobility(
            self.model,
            self.closure,
            closed,
            independent=independent,
            loop_drives=self.loop_drives,
            **options,
        )

    def with_closure(
        self,
        *functions: ClosureFunction,
        independent: Iterable[str] = (),
        check: bool = True,
        samples: Array | None = None,
    ) -> ExplicitRobot:
        """Return this mechanism in independent coordinates, its loops closed by functions.

        Couplings need none: they are functions already.

        Args:
            functions: What gives the positions of joints in loops (section 8.11).
            independent: Coordinates that are to be independent where couplings leave a choice.
            check: Whether to check the functions against the loops.
            samples: Independent coordinates (N, size) to check at; drawn at random by default.

        Raises:
            ClosureFunctionError: If they do not give all joints, or do not close the loops; it
                names the joint, or the loop and the gap.
        """
        explicit = ExplicitRobot(self.model, functions, independent)
        if check:
            explicit.check(samples)
        return explicit


def load(
    path: str | Path | Any,
    loops: str | Path | None = None,
    *,
    strict: bool = False,
    locked: Mapping[str, float] | None = None,
    arguments: Mapping[str, object] | None = None,
    **options: Any,
) -> Robot:
    """Return the robot of a description file.

    Args:
        path: A URDF, xacro or model file, a DH table, the text of a URDF, an object of urdfpy,
            urchin or yourdfpy, or a description, a saved model or a mechanism of this package
            (see `load_description`).
        loops: A YAML file with loop joints and gears.
        strict: Refuse files with warnings.
        locked: Joints that are fixed, and where [rad or m].
        arguments: Values of the arguments of a xacro file.
        options: Those of `model.build`: `gravity` and `variable`, which a model file states, and
            `joint_friction=True`, with which damping and Coulomb friction of the joints are part
            of all dynamics; without it they are data, and `damping_forces` returns a part.

    Raises:
        DescriptionError: If the file cannot mean a mechanism; it lists every problem.
    """
    from robot_dynamics.description.load import load_saved

    saved = load_saved(path, loops, strict=strict, locked=locked, arguments=arguments)
    stated = {"gravity": saved.gravity, "variable": saved.variable}
    return Robot.from_mechanism(saved.description.mechanism, **{**stated, **options})
