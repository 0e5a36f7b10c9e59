# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of a model: equations that need no decisions about numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics import algorithms
from robot_dynamics.dynamics.couplings import closure_with_couplings
from robot_dynamics.model import Model
from robot_dynamics.model.moved_inertia import require_inertia

Array = NDArray[np.float64]


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
    def bias_forces(self) -> Any:
        """`(q, qd) -> C`: joint forces (..., nv) of zero acceleration [N m, N]."""
        return self._bind("bias_forces", algorithms.bias_forces_program)

    def damping_forces(self, qd: Any) -> Array:
        """Return the forces (..., nv) of the dampers of tree joints, to be added to `tau`.

        No algorithm applies them by itself, while dampers of loop joints are part of C. With them
        the motion does not depend on which joints the spanning tree has.

        Args:
            qd: Velocities (..., nv).
        """
        result: Array = -self.model.damping * np.asarray(qd, dtype=float)
        return result

    @cached_property
    def inertia_matrix(self) -> Any:
        """`(q) -> H`: joint-space inertia matrix (..., nv, nv) (Table 6.2)."""
        return self._bind("inertia_matrix", algorithms.inertia_matrix_program)

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

    def pose(self, link: str, q: Any) -> Array:
        """Return the pose (..., 4, 4) of a link in the world at positions `q` (..., nq)."""
        return np.asarray(self._of_link("pose", algorithms.link_pose_program, link)(q))

    @cached_property
    def link_poses(self) -> Any:
        """`(q) -> poses` (..., links, 4, 4) in the world, in the order of `model.links`."""
        links = [(link.body, link.placement) for link in self.model.links]
        return self._bind(f"link_poses\0{links!r}", algorithms.link_poses_program)

    def jacobian(self, link: str, q: Any) -> Array:
        """Return the Jacobian (..., 6, nv) of a link in its own coordinates, angular first."""
        return np.asarray(self._of_link("jacobian", algorithms.link_jacobian_program, link)(q))

    def _bind(self, name: str, program: Any, more: Sequence[float] = ()) -> Any:
        return algorithms.bound(self.model, name, lambda: program(self.model), more=more)

    def _of_link(self, kind: str, program: Any, link: str) -> Any:
        functions: dict[tuple[str, str], Any] = self.__dict__.setdefault("_link_functions", {})
        if (kind, link) not in functions:
            at = self.model.link(link)
            name = f"{kind}\0{at.body}\0{at.placement!r}"
            functions[kind, link] = algorithms.bound(
                self.model, name, lambda: program(self.model, link)
            )
        return functions[kind, link]
