# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equality constraints of MJCF as loop joints and couplings, which hold without yielding.

A `connect` is a spherical loop joint and a `weld` a fixed one. A `joint` or `tendon` equality with
a linear polynomial is a coupling; a fixed tendon stands for its sum of coefficient times position.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.frames import rigid_piece
from robot_dynamics.description.mjcf_source import (
    MjcfSource,
    listed,
    rotation,
    unused,
)
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, LoopElement, pose

_COEFFICIENTS = 5  # of the polynomial of a joint or tendon equality
_TENDON_FORCES = ("stiffness", "damping", "frictionloss", "limited")
_End = tuple[str, Array]


def read_closures(
    source: MjcfSource, joints: Sequence[JointElement], places: Places
) -> tuple[tuple[LoopElement, ...], tuple[CouplingElement, ...]]:
    """Return the loop joints and couplings of a model; other equalities are errors.

    Args:
        source: The model.
        joints: Joints of the tree.
        places: Receives the places of the results.
    """
    m = source.model
    carrier = {joint.child: joint for joint in joints}
    loops: list[LoopElement] = []
    couplings: list[CouplingElement] = []
    taken = set(source.joints)
    inactive = []
    for index in range(m.neq):
        kind = source.kind("Eq", m.eq_type[index])
        stated = source.stated_name("equality", index)
        name = unused(stated or f"{kind}_{index}", taken)
        taken.add(name)
        if not m.eq_active0[index]:
            inactive.append(name)
            continue
        place = places.loops[name] = source.place("equality", index)
        element = f"<{kind}> {name!r}"
        if kind in ("connect", "weld"):
            (first, one), (second, two) = _ends(source, index)
            if rigid_piece(first, carrier) == rigid_piece(second, carrier):
                source.diagnosis.warning(
                    place,
                    element,
                    f"is left out: {first!r} and {second!r} are fixed to each other already",
                )
                continue
            holds_turns = kind == "weld" and m.eq_data[index][10] > 0.0
            joint = "fixed" if holds_turns else "spherical"
            loops.append(LoopElement(name, joint, first, second, one, two))
        elif kind in ("joint", "tendon"):
            coupling = _coupling(source, index, name, element)
            if coupling is not None:
                couplings.append(coupling)
        else:
            source.diagnosis.error(
                place, element, "has no place here, expected connect, weld, joint or tendon"
            )
    if inactive:
        source.diagnosis.warning(
            source.file, "", f"inactive equalities are left out: {listed(inactive)}"
        )
    _list_tendons(source)
    return tuple(loops), tuple(couplings)


def _ends(source: MjcfSource, index: int) -> tuple[_End, _End]:
    """Return the links that an equality connects, and its frame in each."""
    m, data = source.model, source.model.eq_data[index]
    sides = (int(m.eq_obj1id[index]), int(m.eq_obj2id[index]))
    if source.kind("Obj", m.eq_objtype[index]) == "site":
        return (source.sites[sides[0]], np.eye(4)), (source.sites[sides[1]], np.eye(4))
    if source.kind("Eq", m.eq_type[index]) == "weld":
        # data: point in the second body, point in the first, orientation in the first.
        one = sides[0], pose(data[3:6], rotation(data[6:10]))
        two = sides[1], pose(data[0:3])
    else:
        one, two = (sides[0], pose(data[0:3])), (sides[1], pose(data[3:6]))
    return (source.links[one[0]], one[1]), (source.links[two[0]], two[1])


def _coupling(source: MjcfSource, index: int, name: str, element: str) -> CouplingElement | None:
    """Return the coupling of a joint or tendon equality, or None after reporting an error.

    With x the distances from the reference, it says x1 = c0 + c1 x2 + c2 x2^2 + ...
    """
    m, place = source.model, source.place("equality", index)
    c = m.eq_data[index][:_COEFFICIENTS]
    sides = [int(m.eq_obj1id[index])]
    if m.eq_obj2id[index] >= 0:
        sides.append(int(m.eq_obj2id[index]))
    if len(sides) == 2 and np.any(c[2:]):
        degree = int(np.flatnonzero(c)[-1])
        source.diagnosis.error(
            place, element, f"is a polynomial of degree {degree}, expected a linear coupling"
        )
        return None
    of_joints = source.kind("Eq", m.eq_type[index]) == "joint"
    terms: dict[str, float] = {}
    offset = float(c[0])
    for side, factor in zip(sides, (1.0, -float(c[1])), strict=False):
        if of_joints:
            parts = {source.joints[side]: 1.0}
            reference = float(m.qpos0[m.jnt_qposadr[side]])
        else:
            found = fixed_tendon(source, side)
            if found is None:
                source.diagnosis.error(
                    place,
                    element,
                    f"the length of the spatial tendon {_tendon_name(source, side)!r} is no sum "
                    "of joint positions, expected a fixed tendon",
                )
                return None
            parts, reference = found, float(m.tendon_length0[side])
        offset += factor * reference
        for joint, coefficient in parts.items():
            terms[joint] = terms.get(joint, 0.0) + factor * coefficient
    return CouplingElement(name, tuple(terms.items()), offset)


def fixed_tendon(source: MjcfSource, tendon: int) -> dict[str, float] | None:
    """Return the coefficients of a fixed tendon by joint; None for a spatial one."""
    m = source.model
    span = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
    if any(source.kind("Wrap", m.wrap_type[i]) != "joint" for i in span):
        return None
    return {source.joints[m.wrap_objid[i]]: float(m.wrap_prm[i]) for i in span}


def _tendon_name(source: MjcfSource, tendon: int) -> str:
    return source.stated_name("tendon", tendon) or f"tendon_{tendon}"


def _list_tendons(source: MjcfSource) -> None:
    """Note forces of tendons, which are left out, and their inertia, which is an error."""
    m = source.model
    acting = []
    for tendon in range(m.ntendon):
        name = _tendon_name(source, tendon)
        if m.tendon_armature[tendon]:
            source.diagnosis.error(
                source.place("tendon", tendon),
                f"tendon {name!r}",
                "has an armature, expected it in joints: couplings have no inertia",
            )
        if any(getattr(m, f"tendon_{what}")[tendon] for what in _TENDON_FORCES):
            acting.append(name)
    if acting:
        source.diagnosis.warning(
            source.file,
            "",
            f"springs, friction and limits of tendons are left out: {listed(acting)}",
        )
