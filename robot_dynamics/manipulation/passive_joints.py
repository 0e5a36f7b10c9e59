# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of the passive joints of arms with internal closed chains, traceable.

The positions of the drives are measured. Newton's method closes the loops from the last positions
and gives the positions of the other joints. Velocities and accelerations follow by elimination,
qd = G yd and qdd = G ydd + g (8.51 of Featherstone's book), along pivots that are chosen
beforehand, since programs do not branch. The arms' equation of motion is then over the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.dynamics.elimination import Pivots, eliminate, elimination_order
from robot_dynamics.dynamics.explicit_form import reduced_equation
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loops import LoopTerms, loop_terms
from robot_dynamics.dynamics.scaling import coordinate_names, coordinate_scales, tree_length
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, require_length
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters, block_size, pack, unpack
from robot_dynamics.robot.bound_model import quick_constraint_terms
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import times, transposed_times
from robot_dynamics.spatial import Motion, Scalar, Transform

Matrix = list[list[Scalar]]

# Newton steps from the positions a control period ago; each squares the error. With drives at
# 2 rad/s and 500 Hz the error is rounding, at 10 rad/s 1e-10 m.
_STEPS = 3
# Over longer distances drives are moved in strides. A stride is halved until passive joints move
# by less than a fraction of the pivot, so that linkages keep their assembly mode. Longest stride
# [rad or m], the shortest as a fraction of it, and the fraction of the pivot.
_STRIDE, _SHORTEST, _CERTAIN = 0.05, 1e-6, 0.5
_FARTHEST = 20.0  # longest distance that drives are moved in strides [rad or m]
# Largest error of closed loops [m or rad]: far above rounding, far below the error of loops that
# cannot be closed.
_CLOSED = 1e-9
#: Least `DrivenMotion.pivot` of drives that are not at a dead point: other joints then move up to
#: a thousand times as far as the drives.
DEAD_POINT = 1e-3


class DrivenMotion(NamedTuple):
    """Motion of all joints of arms with their drives, traceable: qdd = G ydd + g.

    Attributes:
        columns: Columns of G (n of length nv).
        g: Accelerations (nv,) at ydd = 0.
        pivot: Smallest pivot of the elimination: 0 where the drives do not determine the motion,
            negative beyond; 1 at most.
        opening: Largest remaining error of the loops [m or rad].
        moved: Largest correction of a passive joint that closed the loops, displacements over a
            length of the arms [rad].
    """

    columns: Matrix
    g: list[Scalar]
    pivot: Scalar
    opening: Scalar
    moved: Scalar

    @property
    def checked(self) -> list[Scalar]:
        """Opening, pivot and correction (3,), which show whether linkages keep their assembly."""
        return [self.opening, self.pivot, self.moved]

    def equation(self, H: Matrix, C: Sequence[Scalar]) -> tuple[Matrix, list[Scalar]]:
        """Return M (n, n) and h (n,) over the drives for H (nv, nv) and C (nv,) of all joints."""
        return reduced_equation(self.columns, self.g, H, C)

    def jacobian(self, J: Matrix) -> Matrix:
        """Return the Jacobian J G (d, n) over the drives for J (d, nv) over all joints."""
        return [times(self.columns, row) for row in J]


@dataclass(frozen=True)
class PassiveJoints:
    """Motion of all joints of arms from the motion of their drives.

    Attributes:
        model: The arms. Each of their joints has one degree of freedom.
        drives: Indices (n,) of the drives in the velocities, ascending.
        pivots: The constraint that determines each passive joint; empty without loops.
        assembled: Positions (nq,) that close the loops: they define the assembly mode, and sizes
            and signs of the pivots.
    """

    model: Model
    drives: tuple[int, ...]
    pivots: Pivots = ()
    assembled: tuple[float, ...] = ()

    @classmethod
    def of_tree(cls, model: Model) -> PassiveJoints:
        """Return the passive joints of arms without loops: every joint has a drive."""
        return cls(model, tuple(range(model.nv)), (), tuple(model.neutral()))

    @classmethod
    def of(cls, model: Model, drives: Sequence[int], assembled: ArrayLike) -> PassiveJoints:
        """Return the passive joints of arms with loops.

        Args:
            model: The arms.
            drives: Indices of the drives in the velocities.
            assembled: Positions (nq,) that close all loops, away from dead points.

        Raises:
            ArgumentError: If a joint has several degrees of freedom, or is geared to another one,
                or if a loop is open.
            RobotDynamicsError: If the drives do not determine the arms' motion there.
        """
        if model.nq != model.nv or model.couplings:
            raise ArgumentError(
                f"{model.name}: the arms have internal closed chains, and "
                f"{len(model.couplings)} couplings or joints with several degrees of freedom; "
                "expected joints with one degree of freedom each, and no couplings."
            )
        q = np.asarray(assembled, dtype=float)
        require_length("assembled", q.tolist(), model.nq, "one for each joint of the arms")
        _, _, K, _, error, _ = quick_constraint_terms(model)(q, np.zeros(model.nv))
        if not np.all(np.abs(error) <= _CLOSED):
            raise ArgumentError(
                f"{model.name}: internal closed chains are open by {np.abs(error).max():.3g} m or "
                f"rad at `assembled`; expected at most {_CLOSED:g}."
            )
        names = coordinate_names(model)
        indices = sorted(set(drives))
        pivots = elimination_order(model, K, error, q, [names[i] for i in indices])
        return cls(model, tuple(indices), pivots, tuple(q.tolist()))

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Indices of the joints without drives, ascending."""
        return tuple(i for i in range(self.model.nv) if i not in self.drives)

    def closed(
        self, y: Sequence[Scalar], near: Sequence[Scalar], parameters: Parameters
    ) -> list[Scalar]:
        """Return positions (nq,) of all joints, loops closed.

        Args:
            y: Positions of the drives (n,).
            near: Nearby positions of the passive joints; see `indices`.
            parameters: Parameters of the model.
        """
        q = self._placed(y, near)
        for _ in range(_STEPS if self.pivots else 0):
            terms = self._at_rest(joint_transforms(self.model, q), parameters)
            missing = [-error for error in terms.position_error]
            step = eliminate(self.model, terms.K, missing, self.pivots).g
            q = [a + b for a, b in zip(q, step, strict=True)]
        return q

    def velocities(
        self, Xup: list[Transform], yd: Sequence[Scalar], parameters: Parameters
    ) -> list[Scalar]:
        """Return velocities G yd (nv,) of all joints for velocities yd (n,) of the drives."""
        if not self.pivots:
            return list(yd)
        K = self._at_rest(Xup, parameters).K
        G = eliminate(self.model, K, [0.0] * len(K), self.pivots).columns
        return transposed_times(G, yd, self.model.nv)

    def driven_motion(
        self,
        Xup: list[Transform],
        v: list[Motion],
        avp: list[Motion],
        parameters: Parameters,
        q: Sequence[Scalar],
        near: Sequence[Scalar],
    ) -> DrivenMotion | None:
        """Return the motion of all joints with the drives; None for arms without loops.

        Args:
            Xup: Transforms from each body's parent to the body.
            v: Velocities of the bodies, in body coordinates.
            avp: Their velocity-product accelerations, minus gravity included.
            parameters: Parameters of the model.
            q: Positions of all joints (nq,).
            near: Positions of the passive joints before the loops were closed; see `closed`.
        """
        if not self.pivots:
            return None
        terms = loop_terms(self.model, Xup, v, avp, parameters)
        form = eliminate(self.model, terms.K, terms.k, self.pivots)
        opening: Scalar = 0.0
        for error in terms.position_error:
            opening = maximum(opening, absolute(error))
        moved: Scalar = 0.0
        for i, before, turn in zip(self.indices, near, self._turns, strict=True):
            moved = maximum(moved, absolute(q[i] - before) * turn)
        return DrivenMotion(form.columns, form.g, form.signed, opening, moved)

    def positions(self, y: ArrayLike, near: Array | None = None) -> Array:
        """Return positions (nq,) of all joints for positions of the drives (n,).

        The linkages keep their assembly mode: the drives move along a straight line, in strides
        that are short against the distance to dead points.

        Args:
            y: Positions of the drives.
            near: Positions (nq,) that close the loops, where the line starts; `assembled` by
                default.

        Raises:
            RobotDynamicsError: If the loops cannot be closed at `y` or on the way, or reach a dead
                point.
        """
        y = np.asarray(y, dtype=float)
        if y.shape != (len(self.drives),):
            require_length("drives", y.ravel().tolist(), len(self.drives), "one for each drive")
        if not self.pivots:
            return y.copy()
        drives, others, assembled = self._places
        at = assembled if near is None else near
        begin = at[drives]
        worst = int(np.argmax(np.abs(y - begin)))
        away = float(np.abs(y - begin)[worst])
        if not away <= _FARTHEST:  # refuses NaN, too
            index = self.drives[worst]
            unit = "rad" if self.model.turning_freedoms[index] else "m"
            raise RobotDynamicsError(
                f"drive {self.model.joint_names[index]!r} of arms with internal closed chains is "
                f"{away:.6g} {unit} from closed positions; expected at most {_FARTHEST:g} {unit}."
            )
        now = self._kernel(begin, at[others])
        longest = min(1.0, _STRIDE / away) if away else 1.0
        done, stride = 0.0, longest
        while self._assembled(now) and done < 1.0 and stride >= longest * _SHORTEST:
            part = min(done + stride, 1.0)
            ahead = now[0] + (part - done) * (y - begin) @ now[2]
            then = self._kernel(y if part == 1.0 else begin + part * (y - begin), ahead[others])
            if self._assembled(then) and self._certain(now, then):
                now, done, stride = then, part, min(2.0 * stride, longest)
            else:
                stride = 0.5 * stride
        if done < 1.0 or not self._assembled(now):
            names = coordinate_names(self.model)
            where = [
                f"{names[i]} {value:.4g}" for i, value in zip(self.drives, y.tolist(), strict=True)
            ]
            raise RobotDynamicsError(
                f"internal closed chains reach a dead point {100.0 * done:.0f} % of the way to "
                f"drives at {', '.join(where)}; expected positions within their assembly mode."
            )
        return np.asarray(self._kernel(y, now[0][others])[0])  # to rounding

    def _assembled(self, found: Any) -> bool:
        """Return whether loops are closed, in their assembly mode."""
        _, left, _, pivot = found
        return bool(np.abs(left).max() <= _CLOSED and pivot >= DEAD_POINT)

    def _certain(self, now: Any, then: Any) -> bool:
        """Return whether a stride is too short to have changed the assembly mode."""
        moved = np.abs(then[0] - now[0])[list(self.indices)] * self._turns
        return bool(moved.max() <= _CERTAIN * now[3] and then[3] >= _CERTAIN * now[3])

    def rates(self, q: Array, yd: Array) -> Array:
        """Return velocities (nv,) at positions (nq,) for velocities of the drives (n,)."""
        if not self.pivots:
            return yd
        drives, others, _ = self._places
        _, _, columns, _ = self._kernel(q[drives], q[others])
        return np.asarray(yd @ columns)

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Indices of drives (n,) and passive joints (nq - n,); assembled positions (nq,)."""
        indices = [np.array(at, dtype=np.intp) for at in (self.drives, self.indices)]
        return indices[0], indices[1], np.array(self.assembled)

    @cached_property
    def _turns(self) -> list[float]:
        """Factors that make motions of passive joints comparable: 1 for rotations [rad]."""
        length = tree_length(self.model)
        return (coordinate_scales(self.model, length)[list(self.indices)] / length).tolist()

    def _placed(self, y: Sequence[Scalar], others: Sequence[Scalar]) -> list[Scalar]:
        """Return positions (nq,) of drives and passive joints in the order of the model."""
        q: list[Scalar] = [0.0] * self.model.nq
        for index, value in zip((*self.drives, *self.indices), (*y, *others), strict=True):
            q[index] = value
        return q

    def _at_rest(self, Xup: list[Transform], parameters: Parameters) -> LoopTerms:
        still = [0.0] * self.model.nv
        v, avp = velocities_and_accelerations(self.model, Xup, still, None, parameters.gravity)
        return loop_terms(self.model, Xup, v, avp, parameters)

    @cached_property
    def _kernel(self) -> Any:
        key = b"passive_joints\0" + repr((self.drives, self.pivots)).encode()
        program = self._program
        return load_kernel(key + self.model.structure_key, program, lanes=1).bind(pack(self.model))

    def _program(self) -> Program:
        def run(y: Any, near: Any, block: Any) -> dict[str, Any]:
            parameters = unpack(self.model, block)
            q = self.closed(list(y), list(near), parameters)
            loops = self._at_rest(joint_transforms(self.model, q), parameters)
            form = eliminate(self.model, loops.K, loops.k, self.pivots)
            left = loops.position_error
            return {"q": q, "left": left, "columns": form.columns, "pivot": form.signed}

        inputs = {"y": len(self.drives), "near": len(self.indices)}
        return trace(run, "passive_joints", inputs, block_size(self.model))
