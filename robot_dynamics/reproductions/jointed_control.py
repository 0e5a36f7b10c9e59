# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control architecture of the report with servos: motion in pseudovelocities, and force.

    tau = tau^p + A^T tau_1 + D Sigma tau_2                           (42), (46)
    tau_2 = nu_dot_d + K_v (nu_d - nu) + K_p e + K_i integral e
    tau_1 = f_d + K_I integral (f_d - f)

With an exact model nu_dot = tau_2 (47) and f = tau_1 (48) at the instant of evaluation. Errors e
of orientation are rotation vectors of R_d R^T: angular velocities are not rates of coordinates.

Below it: a controlled motion from its start to its end, recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.jointed_settings import JointedControlSettings
from robot_dynamics.control.torque_limits import largest_scale
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.reproductions.choice_of_pseudovelocities import ChoiceOfPseudovelocities
from robot_dynamics.reproductions.desired_joints import DesiredJoints
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_plants import JointedPlant
from robot_dynamics.reproductions.object_task import ObjectTask
from robot_dynamics.reproductions.parts_motion import PartPoses, PartsMotion, parts_motion
from robot_dynamics.reproductions.reduced_order import decoupled_law
from robot_dynamics.wording import apart


class TorqueLimitError(RobotDynamicsError):
    """The support torque of arms and object exceeds the limit of a joint."""


@dataclass(frozen=True)
class ReproductionSettings(JointedControlSettings):
    """Servos of the object's motion and of the force in its joint, and the report's estimates.

    Attributes:
        estimates: State at which the controller's model is evaluated: the measured one
            ("feedback"), or the desired one ("feed-forward").
        conditioning_limit: Condition number of [A; B] from which pseudovelocities are chosen anew.
    """

    estimates: Literal["feedback", "feed-forward"] = "feedback"
    conditioning_limit: float = 300.0


@dataclass(frozen=True)
class PaperStep:
    """Result of a control instant.

    Attributes:
        torque: Torques of the joints (n,).
        motion: tau_2, desired nu_dot (n - c,).
        force: tau_1, desired force in the object's joint (c,).
        scales: Scales of force and motion by torque limits, from 0 to 1.
        error: Errors of the parts' centres of mass (2, 6) [rad, m].
        conditioning: Condition number of [A; B].
    """

    torque: Array
    motion: Array
    force: Array
    scales: tuple[float, float]
    error: Array
    conditioning: float


class JointedObjectController:
    """Moves a jointed object along a path and controls the force in its joint.

    If a torque would exceed a limit, the support and linearising torque tau^p has priority and is
    never scaled; then the force is scaled, all components by one factor, then the motion. Scaling
    keeps the decoupling: nu_dot is a multiple of tau_2, and f of tau_1. Integrals stop while their
    part is scaled.

    Args:
        model: Arms and object according to the controller.
        path: Path of the object.
        force: Desired force in its joint (c,), or for every period (ticks, c).
        start: Joint positions at the start (n,), near which redundant arms stay.
        period: Control period [s].
        ticks: Number of control periods.
        settings: Gains, and the state at which the model is evaluated.
        effort: Largest torques (n,); unlimited by default.

    Attributes:
        choice: Pseudovelocities, their changes, and their conditioning.
        reference: Motion of the parts, at every period.
    """

    def __init__(
        self,
        model: JointSpaceModel,
        path: ObjectPath,
        force: ArrayLike,
        start: Array,
        period: float,
        ticks: int,
        settings: ReproductionSettings | None = None,
        effort: Array | None = None,
    ) -> None:
        self._model, self._period = model, period
        self._settings = settings or ReproductionSettings()
        system = model.system
        self._parts = PartPoses(system)
        times = period * np.arange(ticks + 1)
        self.reference: PartsMotion = parts_motion(path, times)
        self._lead = self._settings.lead_periods * period
        self._ahead = parts_motion(path, times + self._lead)
        try:
            desired = np.broadcast_to(np.asarray(force, dtype=float), (ticks, system.constraints))
        except ValueError:
            raise ArgumentError(
                f"force has shape {np.shape(force)}, expected ({system.constraints},) or "
                f"({ticks}, {system.constraints}): constraints, or ticks and constraints."
            ) from None
        self.force = desired
        self._posture = np.array(start, dtype=float)
        self._effort = np.full(len(self._posture), np.inf) if effort is None else effort
        self._joints = DesiredJoints(model, self._posture)
        self._qdd = np.zeros(len(self._posture))  # what the last torques were to bring about
        self._integral = np.zeros(system.constraints)
        self._offset = np.zeros((2, 6))  # integral of the parts' errors
        self._force_held_back = False
        self.choice = ChoiceOfPseudovelocities(self._settings.conditioning_limit)

    def update(self, tick: int, q: Array, qd: Array, force: Array | None = None) -> PaperStep:
        """Return the torques for a control period.

        Args:
            tick: Its number, from 0 on.
            q: Measured positions (n,).
            qd: Measured velocities (n,).
            force: Measured force in the object's joint at the end of the last period (c,); None at
                first.

        Raises:
            TorqueLimitError: If a joint cannot hold arms and object up.
        """
        settings = self._settings
        wanted = self.reference[tick]
        here = self._model.terms(q, qd)
        if settings.estimates == "feed-forward":
            estimate = self._joints.at(self._ahead[tick])[2]
        elif self._lead:
            estimate = self._model.terms(q + self._lead * qd, qd + self._lead * self._qdd)
        else:
            estimate = here
        reduced = self.choice.reduced(tick, estimate)
        error = wanted.error(self._parts.poses(here), here.centers)
        parts = (
            self._ahead[tick].acceleration
            + settings.velocity_gain * (wanted.velocity - here.velocity)
            + settings.position_gain * error
            + settings.position_integral * self._offset
        )
        # Redundant arms return to their posture at the start, damped.
        own = settings.posture_gain * (self._posture - q) - settings.posture_damping * qd
        task = ObjectTask.of(reduced)
        motion = task.pseudo(parts - estimate.G_dot_qd, own, reduced.drift)
        if tick and force is not None and not self._force_held_back:
            self._integrate(self.force[tick - 1] - force)
        asked = self.force[tick] + self._integral
        scales = self._scales(
            decoupled_law(reduced, 0.0 * motion, 0.0 * asked).torque,
            estimate.A.T @ asked,
            estimate.D @ (reduced.Sigma @ motion),
        )
        self._force_held_back = scales[0] < 1.0
        if scales[1] == 1.0:
            self._offset = self._offset + self._period * error
        motion, asked = scales[1] * motion, scales[0] * asked
        law = decoupled_law(reduced, motion, asked)
        self._qdd = reduced.joint_acceleration(motion)
        return PaperStep(law.torque, motion, asked, scales, error, reduced.conditioning)

    def _integrate(self, error: Array) -> None:
        bound = self._settings.force_bound
        grown = self._integral + self._period * self._settings.force_integral * error
        self._integral = np.clip(grown, -bound, bound)

    def _scales(self, primary: Array, push: Array, moving: Array) -> tuple[float, float]:
        """Return the scales of force and motion that fit into the limits."""
        over = np.flatnonzero(np.abs(primary) > self._effort)
        if len(over):
            model, at = self._model.system.model, int(over[0])
            names = [
                name
                for name, where in zip(model.joint_names, model.v_slices, strict=True)
                if where.start == at
            ]
            needed, most = apart(abs(primary[at]), self._effort[at], digits=4)
            raise TorqueLimitError(
                f"joint {names[0]!r} needs {needed} N m to hold arms and object up; expected at "
                f"most its limit, {most} N m."
            )
        if not np.isfinite(self._effort).any():
            return 1.0, 1.0
        force = float(largest_scale(primary.tolist(), push.tolist(), self._effort.tolist()))
        held = primary + force * push
        motion = largest_scale(held.tolist(), moving.tolist(), self._effort.tolist())
        return force, float(motion)


#: Initial time in which the force converges [s].
SETTLING = 0.1
# Figures of a run; see `JointedRecord.figures`.
FIGURES = (
    "position [mm]",
    "orientation [mrad]",
    "force, rms [N]",
    "force, largest at first [N]",
    "force behind demand, rms [N]",
)


@dataclass(frozen=True)
class JointedRecord:
    """Record of a run, at the end of every control period.

    Attributes:
        period: Control period [s].
        error: True errors of the parts' links from the path (ticks, 2, 6) [rad, m].
        pose: Poses of the links (ticks, 2, 4, 4).
        force: Measured force in the object's joint (ticks, c).
        force_error: Error of the force from the desired one (ticks, c).
        force_lag: Error of the force from tau_1, the command of the law for the period (ticks, c).
        positions: Joint positions (ticks, n).
        torque: Torques (ticks, n).
        scales: Scales of force and motion by limits (ticks, 2).
        gap: Largest closure error of the joint [rad, m].
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
    conditioning: float

    @property
    def time(self) -> Array:
        """The ends of the periods (ticks,) [s]."""
        return np.asarray(self.period * np.arange(1, len(self.error) + 1), dtype=float)

    def figures(self) -> dict[str, float]:
        """Return the figures: largest errors of both parts and of the force."""
        late = self.time > SETTLING
        force = np.linalg.norm(self.force_error, axis=1)
        values = (
            1e3 * np.linalg.norm(self.error[..., 3:], axis=-1).max(),
            1e3 * np.linalg.norm(self.error[..., :3], axis=-1).max(),
            np.sqrt(np.mean(force[late] ** 2)),
            force[~late].max(),
            np.sqrt(np.mean(np.sum(self.force_lag[late] ** 2, axis=1))),
        )
        return dict(zip(FIGURES, map(float, values), strict=True))


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
        controller: The controller.
        plant: The plant, at its start.
        true: True model, by which the errors are measured.
        path: Path of the true parts, at every period (ticks + 1).
        period: Control period [s].
        wrench: Wrenches on the parts (2, 6) at a time [s].
        tell: Called with the completed share, from 0 to 1.
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
        controller.choice.worst,
    )
