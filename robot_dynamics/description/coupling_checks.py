# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether gears agree: relations between joints that contradict or repeat each other, or lock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import Array

# Ratios are printed with some digits: what is left below this part of a row of ones is rounding.
_ROUNDING = 1e-9
# Groups of more joints are not looked at: they come from programs, and take more than a blink.
_MOST_JOINTS = 100
_MOST_SAID = 10  # about one group


def check_couplings(
    couplings: Sequence[CouplingElement], places: Places, diagnosis: Diagnosis
) -> None:
    """Note gears that contradict each other (errors), repeat each other or leave no motion.

    Args:
        couplings: The relations; of joints that exist.
        places: Where they stand.
        diagnosis: Where problems are noted.
    """
    for group in _groups(couplings):
        joints = list(dict.fromkeys(joint for c in group for joint, factor in c.terms if factor))
        if len(joints) <= _MOST_JOINTS:
            _check_group(group, joints, places, diagnosis)


def _groups(couplings: Sequence[CouplingElement]) -> list[list[CouplingElement]]:
    """Return the relations that hang together by common joints, two or more."""
    leader: dict[str, str] = {}

    def find(joint: str) -> str:
        while leader.setdefault(joint, joint) != joint:
            leader[joint] = leader[leader[joint]]
            joint = leader[joint]
        return joint

    stated = [c for c in couplings if any(factor for _, factor in c.terms)]
    for coupling in stated:
        joints = [find(joint) for joint, factor in coupling.terms if factor]
        for joint in joints[1:]:
            leader[find(joint)] = find(joints[0])
    groups: dict[str, list[CouplingElement]] = {}
    for coupling in stated:
        first = next(joint for joint, factor in coupling.terms if factor)
        groups.setdefault(find(first), []).append(coupling)
    return [group for group in groups.values() if len(group) > 1]


def _check_group(
    group: list[CouplingElement], joints: list[str], places: Places, diagnosis: Diagnosis
) -> None:
    A, b = _relations(group, joints)
    if np.linalg.matrix_rank(A, _ROUNDING) < len(group):
        _note_dependent(group, A, b, places, diagnosis)
        return
    # Of the motions that are left none moves a joint whose row in the null space is zero.
    null = np.linalg.svd(A)[2][len(group) :].T
    still = [joint for joint, row in zip(joints, null, strict=True) if _is_zero(row)]
    binding = [c for c in group if all(joint in still for joint, factor in c.terms if factor)]
    still = [joint for joint in joints if any(joint in dict(c.terms) for c in binding)]
    # A gear whose ratio is zero has been warned of by itself. Joints whose rows vanish because a
    # ratio is tiny do move: then there are fewer gears than joints among them.
    if len(still) < 2 or len(binding) < len(still):
        return
    names = " and ".join(repr(c.name) for c in binding)
    diagnosis.warning(
        places.loop(binding[-1].name),
        f"coupling {binding[-1].name!r}",
        f"{names} together leave joints {', '.join(map(repr, still))} no motion",
    )


def _note_dependent(
    group: list[CouplingElement], A: Array, b: Array, places: Places, diagnosis: Diagnosis
) -> None:
    """Note each relation that follows from those before it, or contradicts them."""
    kept: list[int] = []
    before = diagnosis.count
    for i, coupling in enumerate(group):
        factors = np.linalg.lstsq(A[kept].T, A[i], rcond=None)[0] if kept else np.zeros(0)
        if not _is_zero(A[i] - factors @ A[kept]):
            kept.append(i)
            continue
        if diagnosis.count - before >= _MOST_SAID:
            break
        names = " and ".join(
            repr(group[k].name) for k, f in zip(kept, factors, strict=True) if abs(f) > _ROUNDING
        )
        place, element = places.loop(coupling.name), f"coupling {coupling.name!r}"
        off = float(b[i] - factors @ b[kept])
        if abs(off) > _ROUNDING * max(1.0, float(np.abs(b).max())):
            diagnosis.error(
                place, element, f"contradicts {names}, by {abs(off):.3g} in the offset"
            )
        else:
            diagnosis.warning(place, element, f"follows already from {names}")


def _relations(group: list[CouplingElement], joints: list[str]) -> tuple[Array, Array]:
    """Return A (gears, joints) and b (gears,) of A q = b, the largest of each row of A one."""
    A, b = np.zeros((len(group), len(joints))), np.zeros(len(group))
    for row, coupling in enumerate(group):
        largest = max(abs(factor) for _, factor in coupling.terms)
        b[row] = coupling.offset / largest
        for joint, factor in coupling.terms:
            if factor:
                A[row, joints.index(joint)] += factor / largest
    return A, b


def _is_zero(row: Array) -> bool:
    return bool(np.max(np.abs(row), initial=0.0) < _ROUNDING)
