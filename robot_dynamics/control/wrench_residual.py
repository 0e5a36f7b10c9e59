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
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import pose_of
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import norm
from robot_dynamics.spatial import Scalar
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_PUSH_S = 0.2  # time over which a push that has ended is not missed
_LARGE = 1e12  # [N]
_GONE = 0.5  # part of what is to be carried below which it is no object


class WrenchResidual:
    """Limits of what wrist sensors may measure of a held body beyond what its motion takes.

    The residual is smoothed by a filter of first order. Its state (11,) is the smoothed residual,
    moment and force (6,), the smoothed force that is carried (3,), the force on surfaces that is
    still allowed for, and the number of samples.

    Args:
        name: What the body is called.
        weight: Its weight [N].
        lever: What a moment is compared with a force by [m]; at least 0.1.
        settings: How large the residual may be, and over which time it is smoothed.
        period: Control period [s].
        friction: Of the surfaces that it pushes on, at most: their drag is no fault.

    Attributes:
        parameters: Of `next_state` and `excess` (5,): largest force [N], lever [m], friction,
            weight of a new measurement, part of a push that is allowed for in the next period.
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
        force = max(settings.wrench_residual_n, settings.wrench_residual_share * weight)
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
        """Return by how much the residual exceeds its limits [N]; moments are over the lever.

        Traceable. Until there are samples for the time that is smoothed over, nothing is exceeded.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter, with this measurement (11,).
            parameters: Those of the body (5,).
        """
        _, lever, _, change, _ = parameters
        most = _most(measured, state, parameters)
        excess = maximum(norm(state[:3]) / lever - most, norm(state[3:6]) - most)
        return minimum(excess, _LARGE * (state[10] * change - 1.0))

    def finding(self, measured: Array, state: Array) -> Finding:
        """Return what a residual beyond its limits says about grasp and contact.

        Args:
            measured: Wrenches of the body (18,); see `LawStep.held_body_wrenches`.
            state: Of the filter, with this measurement (11,).
        """
        lever = self.parameters[1]
        most = float(_most(measured.tolist(), state.tolist(), self.parameters))
        carried, needed = state[6:9], state[6:9] - state[3:6]
        if np.linalg.norm(carried) < _GONE * np.linalg.norm(needed):
            return Finding(
                Cause.GRASP_LOST,
                self._name,
                f"what holds it carries {np.linalg.norm(carried):.3g} N, expected "
                f"{np.linalg.norm(needed):.3g} N for its weight and motion, and what it pushes "
                "with.",
            )
        force_words, most_words = apart(float(np.linalg.norm(state[3:6])), most)
        moment_words, most_moment_words = apart(float(np.linalg.norm(state[:3])), most * lever)
        return Finding(
            Cause.UNEXPECTED_CONTACT,
            self._name,
            f"what holds it exerts {force_words} N and {moment_words} N m more than its motion "
            f"takes, expected at most {most_words} N and {most_moment_words} N m: it touches "
            "something, or is not what it was taken for.",
        )


def _most(
    measured: Sequence[Scalar], state: Sequence[Scalar], parameters: Sequence[Scalar]
) -> Scalar:
    """Return the largest force of the residual [N]; more with a force on surfaces."""
    force, _, friction, _, _ = parameters
    pushed = norm(measured[9:12])
    return force + friction * pushed + state[9] - pushed


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
