# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controlled motion of two arms with a jointed object, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.jointed import JointedObjectController
from robot_dynamics.control.jointed.object_path import PartPoses, PartsMotion
from robot_dynamics.manipulation.jointed_object import JointSpaceModel
from robot_dynamics.simulation.jointed_plant import JointedPlant

Array = NDArray[np.float64]

#: The beginning, in which the force is still being found [s].
SETTLING = 0.1


@dataclass(frozen=True)
class JointedRecord:
    """What happened, at the end of every control period.

    Attributes:
        period: Control period [s].
        error: What the parts' links truly lack to the path (ticks, 2, 6) [rad, m].
        pose: Where they are (ticks, 2, 4, 4).
        force: What was measured in the object's joint (ticks, c).
        force_error: What of it lacks to what was wanted (ticks, c).
        force_lag: What of it lacks to tau_1, the law's own demand for the period (ticks, c).
        positions: Of the joints (ticks, n).
        torque: (ticks, n).
        scales: What limits left of force and motion (ticks, 2).
        gap: How far the joint was open at most [rad, m].
        rechoices: How often pseudovelocities were chosen anew.
        conditioning: Largest condition number of [A; B].
    """

    period: float
    error: Array
    pose: Array
    force: Array
    force_error: Array
    force_lag: Array
    positions: Array
    torque: Array
    scales: Array
    gap: float
    rechoices: int
    conditioning: float

    @property
    def time(self) -> Array:
        """The ends of the periods (ticks,) [s]."""
        return np.asarray(self.period * np.arange(1, len(self.error) + 1), dtype=float)

    def figures(self) -> dict[str, float]:
        """Return how well it went: largest errors of either part, and of the force."""
        late = self.time > SETTLING
        force = np.linalg.norm(self.force_error, axis=1)
        return {
            "position [mm]": 1e3 * float(np.linalg.norm(self.error[..., 3:], axis=-1).max()),
            "orientation [mrad]": 1e3 * float(np.linalg.norm(self.error[..., :3], axis=-1).max()),
            "force, rms [N]": float(np.sqrt(np.mean(force[late] ** 2))),
            "force, largest at first [N]": float(force[~late].max()),
            "force behind demand, rms [N]": float(
                np.sqrt(np.mean(np.sum(self.force_lag[late] ** 2, axis=1)))
            ),
        }


def run_jointed(
    controller: JointedObjectController,
    plant: JointedPlant,
    true: JointSpaceModel,
    path: PartsMotion,
    period: float,
    *,
    wrench: Callable[[float], Array] | None = None,
    tell: Callable[[float], None] | None = None,
) -> JointedRecord:
    """Run a controller on a plant to the end of its reference.

    Args:
        controller: What gives torques.
        plant: What they move, at its start.
        true: The model of what is truly there, which the errors are measured with.
        path: The path of the true parts, at every period (ticks + 1).
        period: Control period [s].
        wrench: On the parts (2, 6) at a time [s].
        tell: Told which part is done, from 0 to 1.
    """
    parts = PartPoses(true.system)
    ticks = len(controller.force)
    rows: dict[str, list[Array]] = {
        name: [] for name in ("error", "pose", "force", "lag", "positions", "torque", "scales")
    }
    for tick in range(ticks):
        step = controller.update(tick, plant.q, plant.qd, plant.force)
        plant.step(step.torque, wrench(tick * period) if wrench else None)
        terms = true.terms(plant.q, plant.qd)
        poses = parts.poses(terms)
        rows["error"].append(path[tick + 1].error(poses, terms.centers))
        rows["pose"].append(poses)
        assert plant.force is not None
        rows["force"].append(plant.force)
        rows["lag"].append(step.force - plant.force)
        rows["positions"].append(plant.q)
        rows["torque"].append(step.torque)
        rows["scales"].append(np.array(step.scales))
        if tell and tick % 50 == 0:
            tell(tick / ticks)
    of = {name: np.array(values) for name, values in rows.items()}
    return JointedRecord(
        period,
        of["error"],
        of["pose"],
        of["force"],
        controller.force - of["force"],
        of["lag"],
        of["positions"],
        of["torque"],
        of["scales"],
        plant.gap,
        len(controller.choice.changes),
        controller.choice.worst,
    )
