# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of elements: masses, inertias, placements, limits and unrealistic numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, Limits, LinkElement, LoopElement, Mechanism

FARTHEST = 1e6  # m: no part of a machine is so far from the next
HEAVIEST = 1e9  # kg: more than any ship, and more than numbers can be computed with
_LARGEST = 1e15  # of moments of inertia, forces, stiffnesses in SI units: no machine has them
_STEEPEST = 1e8  # ratio of the largest to the smallest coefficient of a gear: more is rounding
# Principal moments below zero by less than this come from printing few digits.
_NEGATIVE = 0.01  # of the largest moment
_ROUNDING = 1e-7  # kg m^2
_LOPSIDED = 1e-9  # part of the largest entry by which an inertia may differ from its transpose
_TURNED = 1e-3  # by which R R^T of a rotation that was printed with few digits may miss one
_AT_LEAST_ZERO = ("damping", "friction", "armature")
_AMOUNTS = (*_AT_LEAST_ZERO, "stiffness", "rest")


def require_possible(mechanism: Mechanism) -> None:
    """Check all elements of a mechanism, and that their names are unique.

    Raises:
        RobotDynamicsError: If there are faults; it has one sentence for each.
    """
    found: list[str] = []
    for link in mechanism.links:
        found += (f"link {link.name!r}: {fault}" for fault in link_faults(link))
    for joint in mechanism.joints:
        found += (f"joint {joint.name!r}: {fault}" for fault in joint_faults(joint))
    for loop in mechanism.loops:
        found += (f"loop joint {loop.name!r}: {fault}" for fault in loop_faults(loop))
    for coupling in mechanism.couplings:
        found += (f"coupling {coupling.name!r}: {fault}" for fault in coupling_faults(coupling))
    for kind, names in (
        ("link", [link.name for link in mechanism.links]),
        ("joint", [*(j.name for j in mechanism.joints), *(x.name for x in mechanism.loops)]),
        ("coupling", [coupling.name for coupling in mechanism.couplings]),
    ):
        found += (
            f"{kind} {name!r}: the name is given twice, expected once" for name in _twice(names)
        )
    if found:
        raise RobotDynamicsError(f"{mechanism.name}: " + ".\n".join(found) + ".")


def link_faults(link: LinkElement) -> Iterator[str]:
    """Yield the faults of a link: an impossible mass or inertia."""
    inertia = np.asarray(link.inertia, dtype=float)
    if inertia.shape != (3, 3) or len(link.center) != 3:
        yield f"the inertia has the shape {inertia.shape}, expected (3, 3) and a centre of three"
        return
    if link.mass < 0.0:
        yield f"mass is {link.mass:g} kg, expected at least zero"
        return
    distance, moment = max(map(abs, link.center)), float(np.abs(inertia).max())
    beyond = False
    for value, most, words in (
        (link.mass, HEAVIEST, f"mass is {link.mass:g} kg"),
        (distance, FARTHEST, f"the centre of mass is {distance:g} m from the link's origin"),
        (moment, _LARGEST, f"the inertia has {moment:g} kg m^2"),
    ):
        if not value <= most:  # also for nan
            yield f"{words}, expected at most {most:g}"
            beyond = True
    if beyond:
        return
    if any(math.isnan(x) for x in link.center):
        yield f"the centre of mass is {tuple(link.center)}, expected finite numbers"
    lopsided = float(np.abs(inertia - inertia.T).max())
    if lopsided > _LOPSIDED * moment:
        yield (
            f"the inertia differs from its transpose by {lopsided:.4g} kg m^2, expected a "
            "symmetric matrix"
        )
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -_NEGATIVE * float(np.abs(moments).max()) - _ROUNDING:
        yield (
            f"the inertia has the negative principal moment {moments[0]:.4g} kg m^2 "
            f"(largest {moments[2]:.4g})"
        )


def joint_faults(joint: JointElement) -> Iterator[str]:
    """Yield the faults of a joint: its placement, its limits, a number."""
    yield from _frame_faults(joint.placement, "the parent link")
    yield from _number_faults(joint)
    if not all(map(math.isfinite, joint.axis)):
        yield f"the axis is {tuple(joint.axis)}, expected a unit vector"


def loop_faults(loop: LoopElement) -> Iterator[str]:
    """Yield the faults of a loop joint."""
    yield from _frame_faults(loop.predecessor_pose, f"link {loop.predecessor!r}")
    yield from _frame_faults(loop.successor_pose, f"link {loop.successor!r}")
    yield from _number_faults(loop)


def coupling_faults(coupling: CouplingElement) -> Iterator[str]:
    """Yield the faults of a coupling: coefficients that are zero or unrealistic."""
    sizes = [abs(factor) for _, factor in coupling.terms if factor]
    if not sizes:
        yield "all its coefficients are zero, expected one other than zero"
    elif not max(sizes) / _STEEPEST <= min(sizes):
        words = f"its coefficients are {min(sizes):g} and {max(sizes):g} in size"
        yield f"{words}, expected a ratio of at most {_STEEPEST:g}"
    elif not (max(sizes) <= _LARGEST and abs(coupling.offset) <= _LARGEST):
        worst = max(sizes) if abs(coupling.offset) <= _LARGEST else abs(coupling.offset)
        yield f"has the number {worst:g}, expected at most {_LARGEST:g}"


def _frame_faults(frame: Array, whose: str) -> Iterator[str]:
    frame = np.asarray(frame, dtype=float)
    if frame.shape != (4, 4):
        yield f"its pose has the shape {frame.shape}, expected (4, 4)"
        return
    distance = math.hypot(*frame[:3, 3])
    if not distance <= FARTHEST:
        yield f"its origin is {distance:g} m from {whose}, expected at most {FARTHEST:g}"
    R = frame[:3, :3]
    error = float(np.abs(R @ R.T - np.eye(3)).max())
    if not (error <= _TURNED and np.linalg.det(R) > 0.0):
        words = f"its orientation relative to {whose} is no rotation matrix"
        yield f"{words}: R R^T differs from the identity by {error:.2g}"


def _number_faults(joint: JointElement | LoopElement) -> Iterator[str]:
    for name in _AMOUNTS:
        for value in _each(getattr(joint, name, 0.0)):
            if not abs(value) <= _LARGEST:
                yield f"{name} is {value:g}, expected at most {_LARGEST:g}"
            elif value < 0.0 and name in _AT_LEAST_ZERO:
                yield f"{name} is {value:g}, expected at least zero"
    for name, value in joint.parameters.items():
        if not abs(value) <= FARTHEST:
            yield f"{name} is {value:g}, expected at most {FARTHEST:g}"
    for limits in (joint.limits,) if isinstance(joint.limits, Limits) else joint.limits:
        if not limits.lower <= limits.upper:
            yield f"the lower limit {limits.lower:g} is above the upper {limits.upper:g}"
        for name in ("velocity", "effort"):
            value = getattr(limits, name)
            if not value >= 0.0:  # zero: a joint without a drive
                yield f"the limit of {name} is {value:g}, expected at least zero"


def _each(value: float | tuple[float, ...]) -> Iterator[float]:
    yield from value if isinstance(value, tuple) else (value,)


def _twice(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
