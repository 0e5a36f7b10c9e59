# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the wrist sensors measure, against what the object's motion takes: a lost grasp or a bump.

By Newton and Euler the grasp wrenches together are the object's inertia times its acceleration
less gravity, and what it pushes surfaces with that control knows of, whatever the grasps squeeze.
What they are more or less is the world's doing, or the object is not what it was taken for. Of the
parts of a jointed object it is each one's grasp, and the force in the joint that wrists tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.control_law import HeldBodyWrench
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import pose_of
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_PUSH_S = 0.2  # time over which a push that has ended is not missed
_GONE = 0.5  # part of what is to be carried below which it is no object


class WrenchResidual:
    """Watches what holds a body.

    Args:
        name: What the body is called.
        weight: Its weight [N].
        lever: What a moment is told against a force by [m]; at least 0.1.
        settings: How large the residual may be, and over which time it is smoothed.
        period: Control period [s].
        friction: Of the surfaces that it pushes on, at most: their drag is no fault.
    """

    def __init__(
        self,
        name: str,
        weight: float,
        lever: float,
        settings: SafetySettings,
        period: float,
        friction: float = 0.0,
    ) -> None:
        self._name = name
        self._force = max(settings.wrench_residual_n, settings.wrench_residual_share * weight)
        self._lever = max(lever, 0.1)
        self._moment = self._force * self._lever
        self._friction = friction
        self._keep_push = math.exp(-period / _PUSH_S)
        self._keep = math.exp(-period / settings.wrench_residual_s)
        self.begin()

    def begin(self) -> None:
        """Forget what was measured."""
        self._smoothed = [0.0] * 9  # the residual, and the force that is carried
        self._samples = 0
        self._pushed = 0.0

    @property
    def value(self) -> Array:
        """The residual, moment and force, smoothed (6,)."""
        return np.array(self._smoothed[:6])

    def finding(self, measured: HeldBodyWrench) -> Finding | None:
        """Return what a control instant's wrenches say about grasp and contact, if anything."""
        residual, force, pushed = measured
        # What was pushed a moment ago may still be there: its surface gives way, or is left.
        self._pushed = max(pushed, self._pushed * self._keep_push)
        more = self._friction * pushed + self._pushed - pushed
        # What was measured first has no past; then a filter of first order.
        self._samples += 1
        new = max(1.0 - self._keep, 1.0 / self._samples)
        measurement = residual.tolist() + force.tolist()
        self._smoothed = [
            a + new * (b - a) for a, b in zip(self._smoothed, measurement, strict=True)
        ]
        if self._samples * (1.0 - self._keep) < 1.0:  # not yet as long as it is smoothed over
            return None
        n_x, n_y, n_z, f_x, f_y, f_z, c_x, c_y, c_z = self._smoothed
        moment, size = math.hypot(n_x, n_y, n_z), math.hypot(f_x, f_y, f_z)
        most, most_moment = self._force + more, self._moment + more * self._lever
        if moment <= most_moment and size <= most:
            return None
        carried = math.hypot(c_x, c_y, c_z)
        needed = math.hypot(c_x - f_x, c_y - f_y, c_z - f_z)
        if carried < _GONE * needed:
            return Finding(
                Cause.GRASP_LOST,
                self._name,
                f"what holds it carries {carried:.3g} N, expected {needed:.3g} N for its weight "
                "and motion, and what it pushes with.",
            )
        (force_words, most_words), (moment_words, most_moment_words) = (
            apart(size, most),
            apart(moment, most_moment),
        )
        return Finding(
            Cause.UNEXPECTED_CONTACT,
            self._name,
            f"what holds it exerts {force_words} N and {moment_words} N m more than its motion "
            f"takes, expected at most {most_words} N and {most_moment_words} N m: it touches "
            "something, or is not what it was taken for.",
        )


def watched_bodies(
    system: GraspSystem, settings: SafetySettings, period: float, friction: float = 0.0
) -> tuple[WrenchResidual, ...]:
    """Return what watches the object, or each of its parts.

    Args:
        system: Arms and object as they are believed to be.
        settings: How large residuals may be, and over which time they are smoothed.
        period: Control period [s].
        friction: Of the surfaces that the object pushes on, at most.
    """
    model, joint = system.model, system.object_loop_joint
    gravity = math.hypot(*model.gravity)
    masses = [float(model.bodies[body].inertia.mass) for body in system.object_bodies]
    if joint is None:
        held = {"object": (masses[0], mean_grasp_distance(system.grasps))}
    else:
        # Each part is held by its grasp and by the joint.
        held = {}
        sides = (joint.predecessor_placement, joint.successor_placement)
        for i, (arm, side) in enumerate(zip(system.arms, sides, strict=True)):
            ends = [pose_of(at) for at in (model.loops[arm.loop].successor_placement, side)]
            name = f"part of {arm.name}"
            held[name] = (masses[i], mean_grasp_distance(ends))
    return tuple(
        WrenchResidual(name, mass * gravity, lever, settings, period, friction)
        for name, (mass, lever) in held.items()
    )
