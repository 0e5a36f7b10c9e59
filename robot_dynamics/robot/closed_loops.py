# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics with loops closed: motion, constraint forces, efforts of drives, assembly, mobility."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.dynamics.arguments import finite_vector, positive_number
from robot_dynamics.dynamics.assembly import (
    Assembly,
    assemble,
    consistent_velocity,
    generic,
    require_closed,
)
from robot_dynamics.dynamics.closed_loop import CLOSED_LOOP, CLOSURE, CONSTRAINT_TERMS
from robot_dynamics.dynamics.closed_loop_inverse import ClosedLoopInverse, closed_loop_inverse
from robot_dynamics.dynamics.closure_search import Closure
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.couplings import closure_with_couplings
from robot_dynamics.dynamics.drive_efforts import DRIVE_EFFORTS, fixed_drives
from robot_dynamics.dynamics.effort_request import EffortRequest
from robot_dynamics.dynamics.elimination import (
    INDEPENDENT_DYNAMICS,
    elimination_order,
    order_of,
    squares_of,
)
from robot_dynamics.dynamics.force_bounds import Range
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent import IndependentForm, independent_form
from robot_dynamics.dynamics.independent_rows import CLOSED_FORWARD_DYNAMICS, general_rows
from robot_dynamics.dynamics.loop_forces import LOOP_DRIVES, LOOP_FORCES
from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.maximal_coordinates import maximal_coordinate_solution
from robot_dynamics.dynamics.mobility import Mobility, mobility
from robot_dynamics.dynamics.rank import LARGEST_OPENING, ConstraintRank, constraint_rank
from robot_dynamics.dynamics.redundant import ConstrainedMotion
from robot_dynamics.dynamics.scaling import model_length
from robot_dynamics.dynamics.solution import AUTO, MAXIMAL, METHODS, solution
from robot_dynamics.errors import (
    RobotDynamicsError,
    UnknownNameError,
    several_names,
)
from robot_dynamics.model.moved_inertia import joints_without_inertia
from robot_dynamics.robot.bound_model import (
    Function,
    batch_shape,
    each_output,
    leading_shape,
    require_targets,
    vector_batch,
    written,
)
from robot_dynamics.robot.frames import FrameMotion

#: H (..., nv, nv), C (..., nv), K (..., n^c, nv), k, position and velocity errors (..., n^c).
ConstraintTerms = tuple[Array, Array, Array, Array, Array, Array]
#: `(q, qd, tau or qdd) -> (result, pivot)`, compiled.
WithPivot = Callable[[Batch, Batch, Batch], tuple[Array, Array]]


class ClosedLoops(FrameMotion):
    """Dynamics with loops and couplings; without any they are the dynamics of the tree."""

    def constraint_terms(
        self, q: Batch, qd: Batch, out: ConstraintTerms | None = None
    ) -> ConstraintTerms:
        """Return H, C, K, k, position and velocity errors of loops, the terms of Eq 8.6.

        C is C - tau_a of Table 8.2: it includes springs, and dampers of loop joints.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            out: Six arrays that the results are written to.
        """
        try:
            return self._functions[CONSTRAINT_TERMS](q, qd, out=each_output(out, 6))
        except (TypeError, ValueError) as error:
            raise self._explained(error, CONSTRAINT_TERMS, q, qd, out=out) from None

    def closure(self, q: Batch, out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Return K (..., n^c, nv) and the gaps (..., n^c) of loops and couplings [rad or m].

        Args:
            q: Positions (..., nq).
            out: Two arrays that the results are written to.
        """
        try:
            K, error = self._closure(q)  # type: ignore[arg-type]
        except (TypeError, ValueError) as problem:
            raise self._explained(problem, CLOSURE, q) from None
        if out is None:
            return K, error
        require_targets(CLOSURE.name, out, [K.shape, error.shape])
        written(CLOSURE.name, K, out[0])
        written(CLOSURE.name, error, out[1])
        return out

    @cached_property
    def _closure(self) -> Closure:
        if self.model.constraint_count == 0:
            return self._no_closure
        constrained = self.model.constraint_count > len(self.model.couplings)
        of_loops = self._functions[CLOSURE] if constrained else None
        if of_loops is None or self.model.couplings:
            return closure_with_couplings(self.model, of_loops)
        return of_loops

    def _no_closure(self, q: Batch) -> tuple[Array, Array]:
        batch = vector_batch("closure", "q", q, self.model.nq)
        return np.zeros((*batch, 0, self.model.nv)), np.zeros((*batch, 0))

    def closed_loop(
        self, q: Batch, qd: Batch, tau: Batch, out: tuple[Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array]:
        """Return accelerations, multipliers and the smallest pivot, at full rank (section 8.5).

        A pivot below `SMALLEST_PIVOT` shows that constraints are nearly dependent; the other two
        results are then invalid: use `constrained_motion`.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            out: Three arrays that the results are written to.
        """
        try:
            return self._functions[CLOSED_LOOP](q, qd, tau, out=each_output(out, 3))
        except (TypeError, ValueError) as error:
            raise self._explained(error, CLOSED_LOOP, q, qd, tau, out=out) from None

    def loop_drives(self, q: Batch, out: Array | None = None) -> Array:
        """Return B (..., nv, drives): drives in loop joints act like joint forces B u (8.28).

        Their order is the order of `model.loop_drive_names`;
        `forward_dynamics(q, qd, tau + B @ u)`.
        """
        if not self.model.loop_drives:
            return np.zeros(
                (*vector_batch("loop_drives", "q", q, self.model.nq), self.model.nv, 0)
            )
        try:
            return self._functions[LOOP_DRIVES](q, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, LOOP_DRIVES, q, out=out) from None

    def loop_forces(
        self, q: Batch, qd: Batch, multipliers: Batch, efforts: Batch | None = None
    ) -> Array:
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
        given = [q, qd, multipliers]
        if self.model.loop_drives:
            given.append(np.zeros(len(self.model.loop_drives)) if efforts is None else efforts)
        if not self.model.loops:
            lengths = LOOP_FORCES.input_lengths(self.model)
            return np.zeros((*batch_shape(LOOP_FORCES.name, lengths, tuple(given)), 0, 6))
        try:
            return np.asarray(self._functions[LOOP_FORCES](*given))
        except (TypeError, ValueError) as error:
            raise self._explained(error, LOOP_FORCES, *given) from None

    def forward_dynamics(
        self, q: Batch, qd: Batch, tau: Batch, out: Array | None = None, *, check: bool = True
    ) -> Array:
        """Return the accelerations (..., nv), loops closed if there are any.

        With loops the state is checked: they must be closed, and stay closed with the velocities,
        to a hundredth of the length and of the speed.

        Args:
            q: Positions (..., nq).
            qd: Velocities (..., nv).
            tau: Joint forces (..., nv).
            out: Array that the result is written to.
            check: Whether to check the state.

        Raises:
            AssemblyError: If loops are open, or velocities open them; in a batch a row of NaN.
            ArgumentError: If a number of one state is not finite and there are loops; in a batch,
                and without loops, a row of NaN.
        """
        solve = self._closed_forward_dynamics
        if solve is None:
            try:
                return self._functions[TREE_FORWARD_DYNAMICS](q, qd, tau, out=out)
            except (TypeError, ValueError) as error:
                raise self._explained(error, TREE_FORWARD_DYNAMICS, q, qd, tau, out=out) from None
        try:
            result: Array = solve(q, qd, tau)
        except (TypeError, ValueError) as error:
            raise self._explained(error, CLOSED_FORWARD_DYNAMICS, q, qd, tau) from None
        # Not `pivot < limit`: a pivot that is not a number must go the other way as well.
        good = result.ndim == 1 and result[-1] >= SMALLEST_PIVOT
        if good and (result[-2] <= 1.0 or not check):
            qdd = result[:-2]
        else:
            qdd = self._checked_motion(q, qd, tau, result, check)
        return qdd if out is None else written("forward_dynamics", qdd, out)

    @cached_property
    def _closed_forward_dynamics(self) -> Function | None:
        """The function with loops, which returns qdd, inconsistency and pivot; None of a tree."""
        if not self.model.constraint_count:
            return None
        if joints_without_inertia(self.model):  # H is singular, only loops determine the motion
            return self._unsolved
        rows = general_rows(self.model, self.closure)
        return self._functions.bound(CLOSED_FORWARD_DYNAMICS, rows)

    def _unsolved(self, q: Batch, qd: Batch, tau: Batch) -> Array:
        """Return the result of `closed_forward_dynamics` if it fails for all states."""
        batch = np.broadcast_shapes(*map(leading_shape, (q, qd, tau)))
        return np.full((*batch, self.model.nv + 2), np.nan)

    def _checked_motion(
        self, q: Batch, qd: Batch, tau: Batch, result: Array, check: bool
    ) -> Array:
        """Return the accelerations, for doubtful states from `constrained_motion`."""
        qdd, inconsistent, pivot = result[..., :-2].copy(), result[..., -2], result[..., -1]
        positions = np.broadcast_to(np.asarray(q, dtype=float), (*pivot.shape, self.model.nq))
        rates, forces = (np.broadcast_to(np.asarray(x, dtype=float), qdd.shape) for x in (qd, tau))
        regular = pivot >= SMALLEST_PIVOT
        for at in map(tuple, np.argwhere(~(regular & ((inconsistent <= 1.0) | (not check))))):
            try:
                state = self._state(positions[at], rates[at], tau=forces[at])
                if check:
                    *_, error, rate = self.constraint_terms(state[0], state[1])
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
        q: Vector,
        qd: Vector,
        tau: Vector,
        *,
        method: str = AUTO,
        length: float | None = None,
        stabilisation_time: float | None = None,
    ) -> ConstrainedMotion:
        """Return accelerations and loop forces at any rank, with redundant constraints by name.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            tau: Joint forces (nv,).
            method: One of "direct", "multipliers first", "independent accelerations first",
                "maximal coordinates", which differ in the way of solution (sections 8.5 and 8.13),
                or "auto".
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            stabilisation_time: T_stab of Baumgarte's method [s]; without stabilisation by default.

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
        q: Vector,
        qd: Vector,
        qdd: Vector,
        *,
        external: Vector | None = None,
        length: float | None = None,
        drives: Iterable[str] | None = None,
        weights: Mapping[str, float] | Vector | None = None,
        limits: bool | Mapping[str, Range] = False,
        push_only: bool = True,
        friction: Mapping[str, float] | None = None,
        forces: Mapping[str, Range] | None = None,
        prefer: Mapping[str, float] | None = None,
        project: bool = False,
        tolerance: float = 1e-6,
    ) -> ClosedLoopInverse:
        """Return efforts of the drives that give an acceleration, loops closed (section 8.12).

        Args:
            q: Positions (nq,) that close the loops.
            qd: Velocities (nv,) that keep them closed.
            qdd: Accelerations (nv,) that keep them closed.
            external: External joint forces (nv,), as `external_forces` returns them.
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            drives: Joints, coordinates or drives in loop joints that act; the model's by default.
            weights: Weights of the squares of efforts, for each drive (p,) or some by name; by
                default 1 / limit^2.
            limits: Keep efforts within the model's limits; or a mapping from names to a largest
                effort, or to the lowest and the highest, in their place.
            push_only: Unilateral loop joints do not pull.
            friction: Coefficients of friction by loop joint: its force stays in the cone about z.
            forces: Bounds on constraint forces, by "loop.direction": a largest absolute value, or
                the lowest and the highest.
            prefer: Preferred constraint forces, by the same names; they have priority over small
                efforts.
            project: Take the consistent acceleration that is nearest in the metric of H.
            tolerance: Largest allowed opening of the loops by velocities and accelerations,
                relative to the largest in them.

        Raises:
            AssemblyError: If the loops are open, or would open; it names them and the gaps.
            InfeasibleError: If no efforts within the bounds suffice; it names the violated bounds.
            UnknownNameError: If there is no drive, constraint or loop joint of a name.
        """
        terms: Callable[[Array, Array], tuple[Array, ...]] = self.constraint_terms
        if external is not None:
            pushes = finite_vector("external", external, self.model.nv)

            def terms(q: Array, qd: Array) -> tuple[Array, ...]:
                H, C, *others = self.constraint_terms(q, qd)
                return H, C - pushes, *others

        request = EffortRequest(
            drives, weights, limits, push_only, friction, forces, prefer, project, tolerance
        )
        return closed_loop_inverse(
            self.model,
            q,
            qd,
            qdd,
            terms,
            self.loop_drives,
            self.loop_forces,
            request,
            length=length,
        )

    def gravity_compensation(
        self,
        q: Vector,
        *,
        external: Vector | None = None,
        length: float | None = None,
        drives: Iterable[str] | None = None,
        weights: Mapping[str, float] | Vector | None = None,
        limits: bool | Mapping[str, Range] = False,
        push_only: bool = True,
        friction: Mapping[str, float] | None = None,
        forces: Mapping[str, Range] | None = None,
        prefer: Mapping[str, float] | None = None,
        project: bool = False,
        tolerance: float = 1e-6,
    ) -> ClosedLoopInverse:
        """Return efforts of the drives that hold the mechanism at rest at positions `q` (nq,).

        Against gravity and springs. Forces that the drives cannot hold are in `missing` and
        `free`. Other arguments and errors are as in `closed_loop_inverse_dynamics`.
        """
        rest = np.zeros(self.model.nv)
        return self.closed_loop_inverse_dynamics(
            q,
            rest,
            rest,
            external=external,
            length=length,
            drives=drives,
            weights=weights,
            limits=limits,
            push_only=push_only,
            friction=friction,
            forces=forces,
            prefer=prefer,
            project=project,
            tolerance=tolerance,
        )

    def drive_efforts(
        self,
        drives: Iterable[str] | None = None,
        *,
        weights: Mapping[str, float] | Vector | None = None,
        q: Vector | None = None,
    ) -> WithPivot:
        """Return a compiled `(q, qd, qdd) -> (efforts, pivot)` of drives that force every motion.

        The efforts (..., p) equal those of `closed_loop_inverse_dynamics` without bounds. A call
        makes no decisions: accelerations that open the loops are not detected. If the pivot (...)
        is below `SMALLEST_PIVOT` or NaN, the drives do not force every motion, or the rank
        differs, and the efforts are invalid.

        Args:
            drives: Joints, coordinates or drives in loop joints; the model's by default.
            weights: As in `closed_loop_inverse_dynamics`.
            q: Positions (nq,) with all loops closed at which independent coordinates are chosen;
                by default positions in general position.

        Raises:
            AssemblyError: If the loops are open at `q`, or cannot be closed without it.
            UnknownNameError: If there is no drive of a name.
            RobotDynamicsError: If the drives cannot force every motion.
        """
        names = None if drives is None else several_names("drives", drives)
        at = self._closed(q)
        fixed = fixed_drives(self.model, self.closure, self.loop_drives, at, names, weights)
        more = squares_of(fixed.pivots)
        return _with_pivot(
            self._functions.bound(DRIVE_EFFORTS, fixed, variant=fixed.order, more=more)
        )

    def independent_form(
        self,
        q: Vector,
        qd: Vector,
        coordinates: Sequence[str] | None = None,
        *,
        length: float | None = None,
        stabilisation_time: float | None = None,
    ) -> IndependentForm:
        """Return G and g of `qdd = G ydd + g`: all accelerations from independent ones (8.51).

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            coordinates: Independent joints or coordinates; chosen by default.
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            stabilisation_time: T_stab of Baumgarte's method [s]; without stabilisation by default.

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
        self, coordinates: Sequence[str] | None = None, *, q: Vector | None = None
    ) -> WithPivot:
        """Return a compiled `(q, qd, tau) -> (qdd, pivot)` in fixed independent coordinates.

        It solves for independent accelerations first (8.45), at any rank; a call makes no
        decisions. If the pivot (...) is below `SMALLEST_PIVOT`, the coordinates do not determine
        the motion, or the rank differs, and qdd (..., nv) is invalid.

        Args:
            coordinates: Independent joints or coordinates; chosen by default.
            q: Positions (nq,) with all loops closed at which the choice is made; by default
                positions in general position.

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
        pivots = elimination_order(self.model, K, error, at, names)
        variant, more = repr(order_of(pivots)), squares_of(pivots)
        return _with_pivot(
            self._functions.bound(INDEPENDENT_DYNAMICS, pivots, variant=variant, more=more)
        )

    def assemble(
        self,
        q: Vector | None = None,
        *,
        held: Iterable[str] | Mapping[str, float | Vector] = (),
        velocities: Vector | Mapping[str, float | Vector] | None = None,
        metric: str = "length",
        limits: bool = True,
        length: float | None = None,
        tolerance: float | None = None,
        restarts: int | None = None,
        seed: int = 0,
        iterations: int = 200,
        seconds: float = np.inf,
    ) -> Assembly:
        """Return positions and velocities that close all loops, if possible near a guess.

        Args:
            q: The guess (nq,); every joint at its zero by default.
            held: Joints or coordinates that keep their value of the guess, or a mapping from
                joints to their values.
            velocities: The velocity (nv,) to which the nearest consistent one is returned; or a
                mapping from joints to velocities that are met, with the least motion otherwise.
            metric: The minimised norm: "length" for displacements, with rotations at the declared
                length, or "inertia" for kinetic energy.
            limits: Whether positions must be within the joint limits.
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            tolerance: Largest remaining gap, relative to `length`; by default from the decimals of
                the placements.
            restarts: Random starts before giving up; by default 50, or 4 if there are more than 20
                constraints for each coordinate.
            seed: Seed of the random starts.
            iterations: Steps of one start.
            seconds: Time limit of the search [s], whose result then depends on the computer.

        Raises:
            AssemblyError: If none are found; it names the loops and the remaining gaps.
        """
        if metric not in ("length", "inertia"):
            raise UnknownNameError("metric", metric, ("length", "inertia"))
        weigh = self.inertia_matrix if metric == "inertia" else None
        found = assemble(
            self.model,
            self.closure,
            self.model.neutral() if q is None else np.asarray(q, dtype=float),
            held=held,
            metric=weigh,
            limits=limits,
            length=length,
            tolerance=tolerance,
            restarts=restarts,
            seed=seed,
            iterations=iterations,
            seconds=seconds,
        )
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

    def mobility(
        self,
        q: Vector | None = None,
        *,
        independent: Sequence[str] = (),
        active: Iterable[str] | None = None,
        length: float | None = None,
        samples: int = 4,
        seed: int = 0,
    ) -> Mobility:
        """Return the mobility, the redundant constraints, and whether the drives suffice.

        Args:
            q: Positions (nq,) with all loops closed; by default near the joints' zeros and in
                general position, because many mechanisms are singular at zero.
            independent: Joints or coordinates preferred as independent ones.
            active: Joints, coordinates or drives in loop joints that act; the model's by default.
            length: Length [m] at which a rotation counts like a displacement; a typical link's
                by default.
            samples: Number of nearby configurations that are checked.
            seed: Of their choice.

        Raises:
            AssemblyError: If the loops are open at `q`, or cannot be closed without it.
            RobotDynamicsError: If the preferred coordinates depend on one another.
        """
        return mobility(
            self.model,
            self.closure,
            self._closed(q),
            independent=several_names("independent", independent),
            active=active,
            loop_drives=self.loop_drives,
            length=length,
            samples=samples,
            seed=seed,
        )

    def _state(self, q: Vector, qd: Vector, **more: Vector) -> tuple[Array, ...]:
        """Return checked positions (nq,), velocities (nv,) and further arguments (nv,)."""
        rates = {"qd": qd, **more}
        return (
            finite_vector("q", q, self.model.nq),
            *(finite_vector(name, values, self.model.nv) for name, values in rates.items()),
        )

    def _closed(self, q: Vector | None) -> Array:
        """Return the given positions, or positions with all loops closed."""
        if q is not None:
            return finite_vector("q", q, self.model.nq)
        return self.assemble(generic(self.model)).q

    def _ranked_terms(
        self, q: Array, qd: Array, length: float | None, stabilisation_time: float | None
    ) -> tuple[Array, Array, Array, Array, ConstraintRank]:
        """Return H, C, K, k, with stabilisation if requested, and the rank of K."""
        H, C, K, k, error, speed = self.constraint_terms(q, qd)
        K = K.reshape(self.model.constraint_count, self.model.nv)  # without loops as well
        if stabilisation_time is not None:
            time = positive_number("stabilisation_time", stabilisation_time)
            terms = LoopTerms(K, k, error, speed)  # type: ignore[arg-type]
            k = np.array(terms.stabilised(time))
        if length is not None:
            length = positive_number("length", length)
        ranked = constraint_rank(self.model, K, error, q, length=length)
        return H, C, K, k, ranked


def _with_pivot(solve: Function) -> WithPivot:
    """Return a function of three inputs, whose last number is a pivot, with two results."""

    def function(q: Batch, qd: Batch, third: Batch) -> tuple[Array, Array]:
        result: Array = solve(q, qd, third)
        return result[..., :-1], result[..., -1]

    return function
