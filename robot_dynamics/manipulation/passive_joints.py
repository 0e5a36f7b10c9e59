# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms with internal closed chains: what their joints without drives do, traceable.

The positions of the drives are measured, those of the other joints follow: Newton's method closes
the loops, from where they were last. Velocities and accelerations follow by elimination,
qd = G yd and qdd = G ydd + g (8.51 of Featherstone's book), along pivots that are chosen
beforehand, since programs do not branch. The arms' equation of motion is then that of the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import times, transposed_times
from robot_dynamics.spatial import Motion, Scalar, Transform

Array = NDArray[np.float64]
Matrix = list[list[Scalar]]

# Newton steps from a control period ago; each squares what is left. Drives at 2 rad/s and 500 Hz
# leave rounding, at 10 rad/s 1e-10 m.
_STEPS = 3
# From further away drives are moved by this much at a time [rad or m], or by half of that, and so
# on, until linkages move by less than this part of what they are off their dead points: so they
# stay assembled as they are.
_STRIDE, _SHORTEST, _CERTAIN = 0.05, 1e-6, 0.5
_FARTHEST = 20.0  # that drives are moved in this way [rad or m]
# What is left open counts as closed [m or rad]: far above rounding, far below what loops leave
# that cannot be closed.
_CLOSED = 1e-9
#: How far off their dead points drives must be, as `DrivenMotion.pivot` has it: motions of other
#: joints are up to a thousand times theirs there.
DEAD_POINT = 1e-3


class DrivenMotion(NamedTuple):
    """How all joints of arms move with their drives, traceable: qdd = G ydd + g.

    Attributes:
        columns: Those of G (n of length nv).
        g: Accelerations (nv,) at ydd = 0.
        pivot: The smallest of the elimination: 0 where the drives do not determine the motion,
            negative beyond; 1 at most.
        opening: The largest error that the loops are left with [m or rad].
        moved: By how much joints without drives were moved to close the loops, displacements over
            a length of the arms [rad].
    """

    columns: Matrix
    g: list[Scalar]
    pivot: Scalar
    opening: Scalar
    moved: Scalar

    @property
    def checked(self) -> list[Scalar]:
        """Opening, pivot and motion (3,), which show whether the linkages stay assembled."""
        return [self.opening, self.pivot, self.moved]

    def equation(self, H: Matrix, C: Sequence[Scalar]) -> tuple[Matrix, list[Scalar]]:
        """Return M (n, n) and h (n,) of the drives for H (nv, nv) and C (nv,) of all joints."""
        return reduced_equation(self.columns, self.g, H, C)

    def jacobian(self, J: Matrix) -> Matrix:
        """Return the Jacobian (d, n) over the drives for one over all joints (d, nv): J G."""
        return [times(self.columns, row) for row in J]


@dataclass(frozen=True)
class PassiveJoints:
    """What the joints of arms do, from what their drives do.

    Attributes:
        model: The arms. Each of their joints has one degree of freedom.
        drives: Indices (n,) of the velocities that are those of drives, ascending.
        pivots: Which constraint each of the other joints follows from; none without loops.
        assembled: Positions (nq,) that close the loops; the way in which the linkages are put
            together, and the pivots' sizes and signs are of there.
    """

    model: Model
    drives: tuple[int, ...]
    pivots: Pivots = ()
    assembled: tuple[float, ...] = ()

    @classmethod
    def of_tree(cls, model: Model) -> PassiveJoints:
        """Return those of arms without loops: every joint has a drive."""
        return cls(model, tuple(range(model.nv)), (), tuple(model.neutral()))

    @classmethod
    def of(cls, model: Model, drives: Sequence[int], assembled: ArrayLike) -> PassiveJoints:
        """Return those of arms with loops.

        Args:
            model: The arms.
            drives: Indices of the velocities that are those of drives.
            assembled: Positions (nq,) that close all loops, in general position.

        Raises:
            ArgumentError: If a joint has several degrees of freedom, or is geared to another one,
                or if a loop is open.
            RobotDynamicsError: If the drives do not determine the arms' motion there.
        """
        if model.nq != model.nv or model.couplings:
            raise ArgumentError(
                f"{model.name}: control that closes internal chains expects joints with one "
                "degree of freedom each, and no gears between them."
            )
        q = np.asarray(assembled, dtype=float)
        require_length("assembled", q.tolist(), model.nq, "one for each joint of the arms")
        _, _, K, _, error, _ = Robot(model).constraint_terms(q, np.zeros(model.nv))
        if not np.all(np.abs(error) <= _CLOSED):
            raise ArgumentError(
                f"{model.name}: the internal closed chains of the arms are open by "
                f"{np.abs(error).max():.3g} m or "
                "rad at `assembled`, expected positions that close them."
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
            near: Positions of the other joints nearby; see `indices`.
            parameters: Of the model.
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
        """Return velocities (nv,) of all joints for those of the drives (n,): G yd."""
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
        """Return how all joints move with the drives; None of arms without loops.

        Args:
            Xup: From each body's parent to the body.
            v: Velocities of the bodies, in body coordinates.
            avp: Their velocity-product accelerations, with minus gravity in them.
            parameters: Of the model.
            q: Positions of all joints (nq,).
            near: From where those without drives were moved there; see `closed`.
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
        """Return positions (nq,) of all joints for those of the drives (n,).

        The linkages stay as they are assembled: the drives are taken there in steps that are small
        against what is left to dead points, along a straight line.

        Args:
            y: Positions of the drives.
            near: Positions (nq,) that close the loops, from which drives are moved; where the
                arms are assembled by default.

        Raises:
            RobotDynamicsError: If the loops cannot be closed there, or on the way, or if there is
                a dead point.
        """
        y = np.asarray(y, dtype=float)
        if y.shape != (len(self.drives),):
            require_length("drives", y.ravel().tolist(), len(self.drives), "one for each drive")
        if not self.pivots:
            return y.copy()
        drives, others, assembled = self._places
        at = assembled if near is None else near
        begin = at[drives]
        away = np.abs(y - begin).max()
        if not away <= _FARTHEST:  # so that what is no number is refused
            raise RobotDynamicsError(
                f"a drive of arms with loops is {away:.3g} rad or m from where they are known to "
                f"close, expected at most {_FARTHEST:g}."
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
                f"internal closed chains of the arms reach a dead point {100.0 * done:.0f} % of "
                "the way to "
                f"drives at {', '.join(where)}; expected positions that the linkages can take as "
                "they are assembled."
            )
        return np.asarray(self._kernel(y, now[0][others])[0])  # to rounding

    def _assembled(self, found: Any) -> bool:
        """Whether loops are closed, in the way in which they were put together."""
        _, left, _, pivot = found
        return bool(np.abs(left).max() <= _CLOSED and pivot >= DEAD_POINT)

    def _certain(self, now: Any, then: Any) -> bool:
        """Whether a step is too short to have led from one assembly to another."""
        moved = np.abs(then[0] - now[0])[list(self.indices)] * self._turns
        return bool(moved.max() <= _CERTAIN * now[3] and then[3] >= _CERTAIN * now[3])

    def rates(self, q: Array, yd: Array) -> Array:
        """Return velocities (nv,) at positions (nq,) of all joints for the drives' (n,)."""
        if not self.pivots:
            return yd
        drives, others, _ = self._places
        _, _, columns, _ = self._kernel(q[drives], q[others])
        return np.asarray(yd @ columns)

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Where drives and other joints stand (n,), (nq - n,); positions as assembled (nq,)."""
        indices = [np.array(at, dtype=np.intp) for at in (self.drives, self.indices)]
        return indices[0], indices[1], np.array(self.assembled)

    @cached_property
    def _turns(self) -> list[float]:
        """What makes motions of joints without drives comparable: rotations as they are."""
        length = tree_length(self.model)
        return (coordinate_scales(self.model, length)[list(self.indices)] / length).tolist()

    def _placed(self, y: Sequence[Scalar], others: Sequence[Scalar]) -> list[Scalar]:
        """Return positions (nq,) of drives and other joints in the order of the model."""
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
