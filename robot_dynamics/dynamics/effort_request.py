# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requirements on efforts that give a motion: least squares, bounds, preferred forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.actuation import Drives
from robot_dynamics.dynamics.distribution import LeastSquaresGoal
from robot_dynamics.dynamics.force_bounds import BoundsBuilder, ForceBounds, Range, require_known
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import Model


@dataclass(frozen=True)
class EffortRequest:
    """Requirements on the efforts in addition to the motion.

    Attributes:
        drives: Joints, coordinates or drives in loop joints that act; those of the model if None.
        weights: Efforts have the least sum of weight times square: a weight for each drive (p,),
            or for some by name. By default 1 / limit^2; a drive without a limit counts as one
            with the largest limit of the others (torques at `length`).
        limits: Keep efforts within the model's limits; or a mapping from names to a largest
            effort, or to the lowest and the highest, instead.
        push_only: Unilateral loop joints do not pull.
        friction: Coefficients of friction by loop joint: its force stays in the cone about z.
        forces: Bounds on constraint forces, by "loop.direction": a largest absolute value, or the
            lowest and the highest.
        prefer: Preferred constraint forces, by "loop.direction"; they have priority over small
            efforts.
        project: Use the nearest consistent acceleration in the metric of H.
        tolerance: Largest rate at which velocities and accelerations may open the loops, as a
            share of the largest of them.
    """

    drives: Iterable[str] | None = None
    weights: Mapping[str, float] | Sequence[float] | Array | None = None
    limits: bool | Mapping[str, Range] = False
    push_only: bool = True
    friction: Mapping[str, float] | None = None
    forces: Mapping[str, Range] | None = None
    prefer: Mapping[str, float] | None = None
    project: bool = False
    tolerance: float = 1e-6

    def scales(self, model: Model, drives: Drives, length: float) -> Array:
        """Return 1 / sqrt(weight) of each drive (p,).

        Args:
            model: The mechanism.
            drives: Its drives.
            length: Length [m] at which a torque counts like a force.

        Raises:
            UnknownNameError: If a weight is for no drive.
            ArgumentError: If weights are not as many positive numbers as drives.
        """
        known = (drives.limits > 0.0) & np.isfinite(drives.limits)
        largest = np.max(drives.limits[known] / drives.scales[known]) if known.any() else 1.0
        scales = np.where(known, drives.limits, largest * drives.scales)
        if self.weights is None:
            return scales
        if isinstance(self.weights, Mapping):
            require_known("drive", self.weights, drives.names, model.name)
            default = dict(zip(drives.names, scales**-2.0, strict=True))
            values = np.array(list({**default, **self.weights}.values()), dtype=float)
        else:
            values = np.asarray(self.weights, dtype=float)
        if values.shape != scales.shape or not np.all((values > 0.0) & np.isfinite(values)):
            raise ArgumentError(
                f"weights are {values}, expected {len(scales)} positive numbers, one for each "
                "drive."
            )
        return np.asarray(1.0 / np.sqrt(values))

    def bounds(self, model: Model, drives: Drives, ranked: ConstraintRank) -> ForceBounds:
        """Return all bounds on efforts and multipliers.

        Raises:
            UnknownNameError: If there is no drive, constraint or loop joint of a name.
            ArgumentError: If a bound is not a range.
            RobotDynamicsError: If a loop joint has no friction cone.
        """
        builder = BoundsBuilder(model, drives, ranked)
        if self.limits is not False:
            builder.limit_efforts({} if self.limits is True else self.limits)
        if self.push_only:
            builder.push_only()
        builder.keep_in_friction_cones(self.friction or {})
        builder.bound_forces(self.forces or {})
        return builder.done()

    def goals(self, model: Model, ranked: ConstraintRank, scales: Array) -> list[LeastSquaresGoal]:
        """Return the goals for x = [u; lambda]: preferred forces, then least squares of both.

        Args:
            model: The mechanism.
            ranked: Its constraints.
            scales: 1 / sqrt(weight) of each drive (p,).

        Raises:
            UnknownNameError: If there is no constraint of a name.
        """
        wanted = self.prefer or {}
        require_known("constraint", wanted, ranked.names, model.name)
        p, count = len(scales), len(ranked.names)
        as_forces = np.hstack([np.zeros((count, p)), np.diag(1.0 / ranked.row_scales)])
        rows = [ranked.names.index(name) for name in wanted]
        goal = np.array(list(wanted.values()), dtype=float) / ranked.row_scales[rows]
        if not np.all(np.isfinite(goal)):
            raise ArgumentError(f"wanted forces are {dict(wanted)}, expected numbers.")
        small = np.hstack([np.diag(1.0 / scales), np.zeros((p, count))])
        goals = [
            LeastSquaresGoal(small, np.zeros(p)),
            LeastSquaresGoal(as_forces, np.zeros(count)),
        ]
        return [LeastSquaresGoal(as_forces[rows], goal), *goals] if rows else goals
