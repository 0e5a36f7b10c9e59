# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrench residual: measured wrenches less the wrench that the motion of the object needs.

By Newton and Euler the sum of the grasp wrenches is the inertia of the object times its
acceleration, less its weight, plus the known wrench on surfaces; squeezing does not change it. A
residual is a wrench by the environment, a lost grasp, or another object than the modelled one. For
a part of a jointed object the sum consists of the wrench of its grasp and the force in the joint,
which the wrist sensors determine.

The motion of the object shows the cause: a real force displaces the object from its reference, and
after the loss of a grasp the arms disagree about the object. If neither is so, the sensors are
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import pose_of
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import norm
from robot_dynamics.spatial import Scalar
from robot_dynamics.wording import apart

_PUSH_S = 0.2  # time over which a push that has ended is not missed
_LARGE = 1e12  # [N]
_NO_LIMIT = 1e9  # stands for infinity, so that what lies below it is still told apart [N]
_STAYS = 0.9  # part of the residual at which a warning begins, below which it ends
# Share of the load that is missing after the loss of a grasp. The disagreement of the arms proves
# the loss: the share is well below the one that ends control.
_GONE = 0.25
_MORE_THAN_GONE = 2.0  # what no lost grasp explains, even if a sensor's sign is wrong
# Least displacement from the reference by a real force [m/N]; with shipped laws it is 1.3e-5 m/N
# or more within the smoothing time.
_GIVES_WAY = 5e-6
_OPPOSED = 0.5  # cosine of the angle to what is needed, from which a force takes weight away
_OWN = 0.25  # part of a residual that a sensor need not explain
_ALONG = 0.97  # cosine of the angle from a residual to a wrench that a sensor scales wrongly


class ObjectDeviation(NamedTuple):
    """Deviation of the object according to the joints, without wrist sensors.

    Attributes:
        moved: Distance from the object to its reference [m].
        turned: Angle from the object to its reference [rad].
        apart: Whether the arms disagree about the object by more than the warning limit; None if
            one arm alone holds it.
        way: From the object to its reference, rotation vector and displacement in the object's
            axes (6,); None if unknown.
    """

    moved: float
    turned: float
    apart: bool | None
    way: Array | None = None


class Wrist(NamedTuple):
    """Sensor of the wrench by an arm on a body.

    Attributes:
        arm: Number of the arm.
        at: Position of its grasp in the frame of the body's wrenches [m].
        axes: Axes of its tool in that frame, as columns (3, 3).
    """

    arm: int
    at: Array
    axes: Array


class WrenchResidual:
    """Limits of the wrench residual of a held body.

    The residual is smoothed by a filter of first order. Its state (11,) consists of the smoothed
    residual, moment and force (6,), the smoothed carried force (3,), the allowed force on
    surfaces, and the number of samples.

    Args:
        name: Name of the body.
        weight: Its weight [N].
        lever: Length by which moments are divided to compare them with forces [m]; at least 0.1.
        settings: Limits of the residual, and its smoothing time.
        period: Control period [s].
        friction: Largest friction of the surfaces that it pushes on: their drag is no fault.
        wrists: Sensors of the arms that hold it, by the arms' names.
        payload: Whether the law takes mass and centre as "stated" or as "estimated", for messages.

    Attributes:
        band: Distance below the limits within which the residual is a warning [N].
        band_of_doubt: The same after a warning, so that noise does not repeat it [N].
        parameters: Parameters of `next_state` and `excess` (5,): largest force [N], lever [m],
            friction, weight of a new measurement, share of a push that is allowed in the next
            period.
    """

    def __init__(
        self,
        name: str,
        weight: float,
        lever: float,
        settings: SafetySettings,
        period: float,
        friction: float = 0.0,
        wrists: Mapping[str, Wrist] | None = None,
        payload: str = "stated",
    ) -> None:
        self._name, self._wrists, self._payload = name, dict(wrists or {}), payload
        force = _limit(settings.wrench_residual_n, settings.wrench_residual_share, weight)
        least = _limit(settings.wrench_warning_n, settings.wrench_warning_share, weight)
        self.band = max(0.0, force - least)
        self.band_of_doubt = self.band + (1.0 - _STAYS) * least if self.band else 0.0
        change = 1.0 - math.exp(-period / settings.wrench_residual_s)
        keep_push = math.exp(-period / _PUSH_S)
        self.parameters = [force, max(lever, 0.1), friction, change, keep_push]

    @staticmethod
    def next_state(
        measured: Sequence[Scalar], state: Sequence[Scalar], parameters: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return the next state of the filter (11,). Traceable.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter (11,).
            parameters: Those of the body (5,).
        """
        _, _, _, change, keep_push = parameters
        samples = state[10] + 1.0
        gain = maximum(change, 1.0 / samples)  # the first sample has no past
        values = [*measured[12:18], *measured[3:6]]
        smoothed = [a + gain * (b - a) for a, b in zip(state, values, strict=False)]
        # What was pushed a moment ago may still be there: its surface gives way, or is left.
        return [*smoothed, maximum(norm(measured[9:12]), state[9] * keep_push), samples]

    @staticmethod
    def excess(
        measured: Sequence[Scalar], state: Sequence[Scalar], parameters: Sequence[Scalar]
    ) -> Scalar:
        """Return the excess of the residual over its limits [N]; moments are divided by the lever.

        Traceable. There is no excess before the smoothing time has passed.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter, with this measurement (11,).
            parameters: Those of the body (5,).
        """
        _, lever, _, change, _ = parameters
        most = _most(measured, state, parameters)
        excess = maximum(norm(state[:3]) / lever - most, norm(state[3:6]) - most)
        return minimum(excess, _LARGE * (state[10] * change - 1.0))

    def finding(
        self, measured: Array, state: Array, motion: ObjectDeviation, wrists: Array | None = None
    ) -> Finding:
        """Return the cause of a residual beyond its limits: sensors, grasp or contact.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter, with this measurement (11,).
            motion: Of the object.
            wrists: Measured grasp wrenches of all arms (k, 6), in tool frames; None if unknown.
        """
        lever = self.parameters[1]
        residual, carried = state[3:6], state[6:9]
        needed = carried - residual
        displaced = self._displaced(state, motion)
        opposed, weight = -float(residual @ needed), float(np.linalg.norm(needed))
        carries = (
            f"carries {np.linalg.norm(carried):.3g} N, expected {weight:.3g} N for its weight and "
            "motion, and what it pushes with"
        )
        missing = _GONE * weight**2 < opposed <= _MORE_THAN_GONE * weight**2
        if missing and (motion.apart or (motion.apart is None and displaced)):
            return Finding(Cause.GRASP_LOST, self._name, f"what holds it {carries}.")
        most = float(_most(measured.tolist(), state.tolist(), self.parameters))
        force, most_force = apart(float(np.linalg.norm(residual)), most)
        moment, most_moment = apart(float(np.linalg.norm(state[:3])), most * lever)
        amount, limits = f"{force} N and {moment} N m", f"{most_force} N and {most_moment} N m"
        if not displaced and not motion.apart:
            return Finding(
                Cause.WRENCH_WRONG,
                self.sensors(state, wrists),
                f"the wrist sensors measure {amount} that weight, motion and known contacts do "
                f"not explain, expected at most {limits}; but the {self._name} is where it must "
                "be: tare the sensors while they carry nothing, and check their signs; or "
                f"{self._other_payload(state)}.",
            )
        force_size = float(np.linalg.norm(residual))
        carried_by_other = force_size <= weight and opposed > _OPPOSED * weight * force_size
        if carried_by_other or state[9] > 0.0:
            return Finding(
                Cause.JAMMED,
                self._name,
                f"what holds it {carries}: something else carries or blocks it with {amount}, "
                f"expected at most {limits}; or {self._other_payload(state)}.",
            )
        return Finding(
            Cause.UNEXPECTED_CONTACT,
            self._name,
            f"what holds it exerts {amount} more than its motion takes, expected at most "
            f"{limits}: it touches something, or {self._other_payload(state)}.",
        )

    def _other_payload(self, state: Array) -> str:
        """Return the mass or centre of mass of the object that would explain a residual.

        The residual is smoothed: a permanent difference exceeds it.
        """
        moment, residual = state[:3], state[3:6]
        needed = state[6:9] - residual
        weight, size = float(np.linalg.norm(needed)), float(np.linalg.norm(residual))
        turns = float(np.linalg.norm(moment))
        if not weight > 0.0 or state[9] > 0.0:  # on a surface both of them are unknown
            return "it is not what it was taken for"
        along = float(residual @ needed) / weight
        if turns > self.parameters[1] * size:
            if abs(moment @ needed) <= _OPPOSED * turns * weight:
                far = f"{turns / weight:.2g} m or more from the {self._payload} one"
                return f"its centre of mass is {far}"
        elif abs(along) >= _ALONG * size:
            share, bound = 1.0 + along / weight, "more" if along > 0.0 else "less"
            return f"its mass is {max(share, 0.0):.2g} times the {self._payload} one or {bound}"
        return "it is not what it was taken for"

    def _displaced(self, state: Array, motion: ObjectDeviation) -> bool:
        """Return whether the object moves along the force, as a real force makes it do."""
        lever = self.parameters[1]
        size = max(float(np.linalg.norm(state[3:6])), float(np.linalg.norm(state[:3])) / lever)
        if motion.way is not None and np.isfinite(motion.way).all():
            return bool(state[:6] @ motion.way > _GIVES_WAY * size**2)
        return not motion.moved + lever * motion.turned <= _GIVES_WAY * size

    def warning(
        self, measured: Array, state: Array, motion: ObjectDeviation, wrists: Array | None = None
    ) -> str:
        """Return the warning about a residual within its limits.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter, with this measurement (11,).
            motion: Of the object.
            wrists: Measured grasp wrenches of all arms (k, 6), in tool frames; None if unknown.
        """
        lever = self.parameters[1]
        most = float(_most(measured.tolist(), state.tolist(), self.parameters)) - self.band
        force, most_force = apart(float(np.linalg.norm(state[3:6])), most)
        moment, most_moment = apart(float(np.linalg.norm(state[:3])), most * lever)
        subject = self.sensors(state, wrists)
        why = "the sensors need taring before the grasp"
        if self._displaced(state, motion):
            subject, why = self._name, "it is pushed"
        return (
            f"{subject}: the wrist sensors measure {force} N and {moment} N m that weight, motion "
            f"and known contacts do not explain, expected at most {most_force} N and "
            f"{most_moment} N m: {why}, or {self._other_payload(state)}."
        )

    def sensors(self, state: Array, wrists: Array | None = None) -> str:
        """Return the names of the arms whose sensors can be wrong.

        A sensor with an offset adds a force at its wrist. A residual by a wrong sign or scale is
        along the measured wrench. A sensor tared while holding measures almost zero. All arms are
        named if this does not distinguish them.

        Args:
            state: Of the filter (11,).
            wrists: Measured grasp wrenches of all arms (k, 6), in tool frames; None if unknown.
        """
        lever, moment, force = self.parameters[1], state[:3], state[3:6]
        residual = np.array([*moment / lever, *force])
        size = float(np.linalg.norm(residual))
        offset, scaled, silent = [], [], []
        for arm, wrist in self._wrists.items():
            if np.linalg.norm(moment - np.cross(wrist.at, force)) <= _OWN * size * lever:
                offset.append(arm)
            if wrists is None:
                continue
            own_moment, own_force = wrists[wrist.arm].reshape(2, 3) @ wrist.axes.T
            own_moment = own_moment + np.cross(wrist.at, own_force)
            measured = np.array([*own_moment / lever, *own_force])
            along = float(residual @ measured)
            if np.linalg.norm(measured) <= _OWN * size:
                silent.append(arm)
            elif abs(along) >= _ALONG * size * float(np.linalg.norm(measured)):
                scaled.append(arm)
        for arms in (silent, scaled, offset):
            if len(arms) == 1:
                return arms[0]
        return " and ".join(self._wrists) or self._name


def _limit(least: float, share: float, weight: float) -> float:
    """Return a share of the weight, or the least force if that is larger [N]."""
    return min(max(least, share * weight) if share < math.inf else share, _NO_LIMIT)


def _most(
    measured: Sequence[Scalar], state: Sequence[Scalar], parameters: Sequence[Scalar]
) -> Scalar:
    """Return the largest force of the residual [N]; more with a force on surfaces."""
    force, _, friction, _, _ = parameters
    pushed = norm(measured[9:12])
    return force + friction * pushed + state[9] - pushed


def watched_bodies(
    system: GraspSystem,
    settings: SafetySettings,
    period: float,
    friction: float = 0.0,
    payload: str = "stated",
) -> tuple[WrenchResidual, ...]:
    """Return the checks of the object, or of each of its parts.

    Args:
        system: Arms and object according to the model.
        settings: Limits of residuals, and their smoothing time.
        period: Control period [s].
        friction: Largest friction of the surfaces that the object pushes on.
        payload: See `WrenchResidual`.
    """
    model, joint = system.model, system.object_loop_joint
    gravity = math.hypot(*model.gravity)
    masses = [float(model.bodies[body].inertia.mass) for body in system.object_bodies]
    wrists: dict[str, dict[str, Wrist]]
    if joint is None:
        held = {"object": (masses[0], mean_grasp_distance(system.grasps))}
        center = np.array([*model.bodies[system.object_bodies[0]].inertia.h]) / masses[0]
        wrists = {
            "object": {
                arm.name: Wrist(i, grasp[:3, 3] - center, grasp[:3, :3])
                for i, (arm, grasp) in enumerate(zip(system.arms, system.grasps, strict=True))
            }
        }
    else:
        # Each part is held by its grasp and by the joint.
        held, wrists = {}, {}
        sides = (joint.predecessor_placement, joint.successor_placement)
        for i, (arm, side) in enumerate(zip(system.arms, sides, strict=True)):
            ends = [pose_of(at) for at in (model.loops[arm.loop].successor_placement, side)]
            name = f"part of {arm.name}"
            held[name] = (masses[i], mean_grasp_distance(ends))
            wrists[name] = {arm.name: Wrist(i, ends[0][:3, 3], ends[0][:3, :3])}
    return tuple(
        WrenchResidual(
            name, mass * gravity, lever, settings, period, friction, wrists[name], payload
        )
        for name, (mass, lever) in held.items()
    )
