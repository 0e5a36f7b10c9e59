# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics beside `pin.constraintDynamics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.rows import Row
from benchmarks.timing import interleaved
from benchmarks.trees import CALLS, host_lanes
from robot_dynamics.dynamics.closed_loop import CLOSED_LOOP
from robot_dynamics.dynamics.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

ALGORITHM = "closed_loop_forward_dynamics"
# Pinocchio regularises the constraints by 1e-12 or so: it is right to nine digits.
TOLERANCE = 1e-9
# Of the compiled loop: one of the two has to be met.
THRESHOLD, THRESHOLD_US = 1 / 6, 1.2
DERIVATIVES = "closed_loop_derivatives"
DERIVATIVE_THRESHOLDS = {"loop": 1 / 2.5, "batch": 1 / 10}


class Peer:
    """A mechanism in Pinocchio with one floating body.

    Args:
        model: The tree.
        closures: For each loop the contact type, then joint and placement of both ends.
        floating: Where the velocity of the floating body stands.
    """

    def __init__(self, model: pin.Model, closures: Sequence[tuple], floating: int) -> None:
        self.floating = floating
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.constraint_datas = pin.StdVec_RigidConstraintData()
        for kind, *ends in closures:
            self.constraints.append(pin.RigidConstraintModel(kind, model, *ends, pin.LOCAL))
            last = self.constraints[len(self.constraints) - 1]
            self.constraint_datas.append(last.createData())
        self.model, self.data = model, model.createData()
        pin.initConstraintDynamics(model, self.data, self.constraints, self.constraint_datas)

    def reordered(self, v: Array) -> Array:
        """Return velocities with the body's linear part first, or back again."""
        at = self.floating
        return np.concatenate([v[:at], v[at + 3 : at + 6], v[at : at + 3], v[at + 6 :]])

    def __call__(self, q: Array, v: Array, tau: Array) -> Array:
        return pin.constraintDynamics(
            self.model, self.data, q, v, tau, self.constraints, self.constraint_datas
        )

    def derivatives(self, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
        """Return the derivatives of accelerations, then of contact forces, by q, v and tau."""
        self(q, v, tau)
        pin.computeConstraintDynamicsDerivatives(
            self.model, self.data, self.constraints, self.constraint_datas
        )
        data = self.data
        of_qdd = data.ddq_dq, data.ddq_dv, data.ddq_dtau
        return *of_qdd, data.dlambda_dq, data.dlambda_dv, data.dlambda_dtau


@dataclass(frozen=True)
class ClosedLoop:
    """A mechanism, states (q, qd, tau) in which its loops are closed, and its peer."""

    name: str
    robot: Robot
    states: list[tuple[Array, ...]]
    peer: Peer


def consistent(robot: Robot, q: Array, velocities: Array) -> list[Array]:
    """Return the velocities (n, nv) without what would open the loops, in the metric of H."""
    H, _, K, *_ = robot.constraint_terms(q, np.zeros(robot.model.nv))
    HK = np.linalg.solve(H, K.T)
    return [qd - HK @ np.linalg.solve(K @ HK, K @ qd) for qd in velocities]


def rows_of(case: ClosedLoop, rounds: int) -> list[Row]:
    """Return the rows of a mechanism.

    Raises:
        AssertionError: If accelerations differ from the peer's.
    """
    robot, peer, states = case.robot, case.peer, case.states
    theirs_of = [(q, peer.reordered(qd), peer.reordered(tau)) for q, qd, tau in states]
    worst = 0.0
    for ours, theirs in zip(states, theirs_of, strict=True):
        expected = peer.reordered(peer(*theirs))
        error = np.max(np.abs(robot.forward_dynamics(*ours) - expected))
        condition = np.linalg.cond(robot.inertia_matrix(ours[0]))
        if not error < TOLERANCE * np.max(np.abs(expected)):
            raise AssertionError(f"{case.name}: closed loop off by {error:.1e}.")
        worst = max(worst, float(error / np.max(np.abs(expected)) / condition))

    arrays = [np.array(column) for column in zip(*states, strict=True)]
    scalar = CLOSED_LOOP.bind(robot.model, lanes=1)
    forward, batch = robot.forward_dynamics, robot.closed_loop
    few, few_theirs = states[:CALLS], theirs_of[:CALLS]
    nothing = pin.Model()
    no_data, none = nothing.createData(), np.zeros(0)
    no_models, no_datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    pin.initConstraintDynamics(nothing, no_data, no_models, no_datas)

    def calls() -> None:
        for q, qd, tau in few:
            forward(q, qd, tau)

    def pin_calls() -> None:
        for q, qd, tau in few_theirs:
            peer(q, qd, tau)

    def empty_calls() -> None:
        for _ in few:
            pin.constraintDynamics(nothing, no_data, none, none, none, no_models, no_datas)

    functions = {
        "loop": lambda: scalar(*arrays),
        "batch": lambda: batch(*arrays),
        "call": calls,
        "pin": pin_calls,
        "empty": empty_calls,
    }
    count = {"loop": len(states), "batch": len(states)}
    timings = interleaved(functions, {f: count.get(f, len(few)) for f in functions}, rounds)
    return [
        Row.of(
            timings[mode],
            timings["pin"],
            None if mode == "call" else timings["empty"],
            robot=case.name,
            algorithm=ALGORITHM,
            mode=mode,
            lanes=host_lanes() if mode == "batch" else 1,
            peer="pin.constraintDynamics" + ("" if mode == "call" else " less an empty call"),
            max_rel_error=worst,
            threshold=THRESHOLD if mode == "loop" else None,
            threshold_us=THRESHOLD_US if mode == "loop" else None,
        )
        for mode in ("loop", "batch", "call")
    ]


def derivative_rows_of(case: ClosedLoop, rounds: int) -> list[Row]:
    """Return the rows of the derivatives of accelerations and constraint forces.

    Raises:
        AssertionError: If those of accelerations differ from the peer's.
    """
    robot, peer, states = case.robot, case.peer, case.states[:CALLS]
    theirs_of = [(q, peer.reordered(qd), peer.reordered(tau)) for q, qd, tau in states]
    order = peer.reordered(np.arange(robot.model.nv)).astype(int)
    worst = 0.0
    for ours, theirs in zip(states, theirs_of, strict=True):
        found = robot.forward_dynamics_derivatives(*ours, check=False)
        for by, expected in zip(found[:3], peer.derivatives(*theirs)[:3], strict=True):
            error = np.abs(by[np.ix_(order, order)] - expected).max() / np.abs(expected).max()
            if not error < TOLERANCE:
                raise AssertionError(f"{case.name}: derivatives off by {error:.1e}.")
            worst = max(worst, float(error))

    arrays = [np.array(column) for column in zip(*states, strict=True)]
    loops = {
        mode: FORWARD_DYNAMICS_DERIVATIVES.bind(robot.model, lanes=lanes)
        for mode, lanes in (("loop", 1), ("batch", None))
    }
    # What they return stays in the same place, as the peer's does.
    places = {mode: loop(*arrays) for mode, loop in loops.items()}

    def pin_calls() -> None:
        for q, qd, tau in theirs_of:
            peer.derivatives(q, qd, tau)

    functions = {
        "loop": lambda: loops["loop"](*arrays, out=places["loop"]),
        "batch": lambda: loops["batch"](*arrays, out=places["batch"]),
        "pin": pin_calls,
    }
    timings = interleaved(functions, dict.fromkeys(functions, len(states)), rounds)
    return [
        Row.of(
            timings[mode],
            timings["pin"],
            robot=case.name,
            algorithm=DERIVATIVES,
            mode=mode,
            lanes=host_lanes() if mode == "batch" else 1,
            peer="pin.constraintDynamics, computeConstraintDynamicsDerivatives",
            max_rel_error=worst,
            threshold=DERIVATIVE_THRESHOLDS[mode],
        )
        for mode in ("loop", "batch")
    ]
