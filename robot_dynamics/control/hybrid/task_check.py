# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bad tasks, refused before any torque: each with its reason, its place and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.hybrid.arm_path import ArmPath, follow_contacts
from robot_dynamics.control.hybrid.coordinate_check import coordinate_problems
from robot_dynamics.control.hybrid.planned_forces import (
    Columns,
    object_motion,
    planned_wrenches,
)
from robot_dynamics.control.hybrid.surface_check import (
    Grip,
    SurfaceRow,
    SurfaceTolerances,
    slipping_pushes,
    surface_problems,
)
from robot_dynamics.control.preflight import PreflightError, Problem
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.hybrid import (
    ForceDistribution,
    HybridSystem,
    contact_margins,
    require_closure,
)
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_ROUNDING = 1e-6  # of margins [N]


class Plan(Protocol):
    """What a hybrid controller is to do."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""

    def rows(self, times: ArrayLike) -> Array:
        """Return pose, twist, acceleration, forces, touches, internal forces (N, 19 + 2 C + m)."""


class JointLimits(NamedTuple):
    """What joints may do, in the order of the arms' model.

    Attributes:
        lower: Of all joints (nq,).
        upper: Likewise.
        effort: Of those with drives (n,).
    """

    lower: Array
    upper: Array
    effort: Array

    @classmethod
    def of(cls, system: HybridSystem, safety: SafetySettings) -> JointLimits:
        """Return those of arms within the margins of safety."""
        limits, margin = system.arms.limits(), safety.position_margin
        effort = safety.effort_fraction * system.drive_limits["effort"]
        return cls(limits["lower"] + margin, limits["upper"] - margin, effort)


class TaskOptions(NamedTuple):
    """What counts as a bad task.

    Attributes:
        margin: Distance to its cone that each contact is to keep on the reference [N].
        may_slip: Whether contacts that will slip are warned of only.
        closure: Whether the contacts must be able to hold the object against everything by
            themselves. They need not where a surface holds it as well; then the plan decides.
        least_freedom: Smallest part of its best that an arm may move at in its worst direction.
        spacing: Time between the points that are looked at [s].
        tolerances: How far the path may be off surfaces.
    """

    margin: float = 0.0
    may_slip: bool = False
    closure: bool = True
    least_freedom: float = 0.01
    spacing: float = 0.02
    tolerances: SurfaceTolerances = SurfaceTolerances()


class TaskCheck(NamedTuple):
    """What is to be known of a task that passed.

    Attributes:
        times: That were looked at (N,) [s].
        margins: Of each contact to its cone (N, k) [N].
        path: Of the arms.
        warnings: Sentences.
    """

    times: Array
    margins: Array
    path: ArmPath
    warnings: tuple[str, ...]


def check_task(
    system: HybridSystem,
    distribution: ForceDistribution,
    plan: Plan,
    q: ArrayLike,
    *,
    limits: JointLimits | None = None,
    surfaces: Sequence[SurfaceRow] = (),
    grips: Mapping[str, Grip] | None = None,
    options: TaskOptions | None = None,
) -> TaskCheck:
    """Refuse a task that grasp, surfaces or arms cannot do.

    Args:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces, and internal forces.
        plan: What is to be done.
        q: Positions of all joints (nq,) at the start, in the order of the arms' model.
        limits: Of the joints.
        surfaces: What the surfaces' functions are called, and which are pushed on.
        grips: Where the object is to stick to surfaces, by name.
        options: What counts as bad.

    Raises:
        RobotDynamicsError: If the grasp cannot hold the object at all.
        PreflightError: If the reference asks for what cannot be; it has all problems as data.
    """
    chosen = options or TaskOptions()
    if chosen.closure:
        require_closure(system.contacts, system.length, system.tools)
    else:
        system.require_force_closure()
    times = checked_times(plan.duration, chosen.spacing)
    rows = np.asarray(plan.rows(times), dtype=float)
    if not np.all(np.isfinite(rows)):
        k = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        sentence = "the reference has values that are not finite, expected numbers."
        raise PreflightError([Problem(float(times[k]), "", sentence)])
    motion = object_motion(rows, system.held.center)
    problems = list(
        surface_problems(system.environment, times, rows, motion, surfaces, chosen.tolerances)
    )
    problems += coordinate_problems(system.environment, times, motion)
    inside = rows[:, Columns.of(len(system.environment.surfaces)).internal]
    forces = distribution.contact_forces(planned_wrenches(system, rows), inside)
    margins = contact_margins(system.contacts, forces)
    slipping = list(slipping_contacts(system, times, margins, chosen.margin))
    slipping += slipping_pushes(grips or {}, times, rows, len(system.environment.surfaces))
    path = follow_contacts(system, motion, forces, times, np.asarray(q, dtype=float))
    problems += _arms(system, times, path, limits, chosen)
    if not chosen.may_slip:
        problems += slipping
    if problems:
        raise PreflightError(problems)
    warnings = tuple(f"at {one.time:.2f} s: {one.sentence}" for one in slipping)
    return TaskCheck(times, margins, path, warnings)


def checked_times(duration: float, spacing: float = TaskOptions().spacing) -> Array:
    """Return the times (N,) [s] at which a task of some duration is looked at."""
    count = max(2, int(np.ceil(duration / spacing)) + 1)
    return np.linspace(0.0, max(duration, spacing), count)


def slipping_contacts(
    system: HybridSystem, times: Array, margins: Array, least: float
) -> Iterator[Problem]:
    """Yield contacts of arms whose margins (N, k) come down below the least that is expected."""
    for i, tool in enumerate(system.tools):
        # Written so that a NaN counts as slip.
        short = ~(margins[:, i] >= least - _ROUNDING)
        if short.any():
            k, margin = int(np.argmax(short)), float(margins[:, i].min())
            left, expected = apart(margin, least)
            does = "would slip or open" if margin < 0.0 else "would be near to slipping"
            yield Problem(
                float(times[k]),
                tool,
                f"the contact of {tool!r} {does}: its margin comes down to {left} N, expected "
                f"at least {expected} N; squeeze harder or move more gently.",
            )


def _arms(
    system: HybridSystem,
    times: Array,
    path: ArmPath,
    limits: JointLimits | None,
    options: TaskOptions,
) -> Iterator[Problem]:
    reached = len(path.q)
    if reached < len(times):
        worst = int(np.argmax(path.gaps))
        tool = system.tools[worst]
        yield Problem(
            float(times[reached]),
            tool,
            f"{tool!r} does not reach its contact, {path.gaps[worst]:.3g} m or rad remain; "
            "expected a path within the reach of all arms.",
        )
    if not reached:
        return
    for i, tool in enumerate(system.tools):
        low = ~(path.freedom[:, i] >= options.least_freedom)
        if low.any():
            k = int(np.argmax(low))
            yield Problem(
                float(times[k]),
                tool,
                f"the arm of {tool!r} would be at a singularity: in its worst direction it moves "
                f"{path.freedom[k, i]:.2g} as well as in its best, expected "
                f"{options.least_freedom:g}.",
            )
    if limits is None:
        return
    for j, name in enumerate(system.arms.joint_names):
        outside = ~((path.q[:, j] >= limits.lower[j]) & (path.q[:, j] <= limits.upper[j]))
        if outside.any():
            k = int(np.argmax(outside))
            missed = limits.lower[j] if path.q[k, j] < limits.lower[j] else limits.upper[j]
            at, _ = apart(path.q[k, j], missed, digits=4)
            yield Problem(
                float(times[k]),
                name,
                f"joint {name!r} would be at {at}, expected {limits.lower[j]:.4g} "
                f"to {limits.upper[j]:.4g}.",
            )
    for j, name in enumerate(system.drive_names):
        heavy = ~(np.abs(path.torque[:, j]) <= limits.effort[j])
        if heavy.any():
            k = int(np.argmax(heavy))
            largest = float(np.abs(path.torque[:, j]).max())
            needed, most = apart(largest, limits.effort[j], digits=4)
            yield Problem(
                float(times[k]),
                name,
                f"joint {name!r} would need up to {needed} N m, expected at most {most} N m.",
            )
