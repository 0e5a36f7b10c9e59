# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gears: linear relations between the positions of joints with one degree of freedom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics.errors import RobotDynamicsError


@dataclass(frozen=True)
class CouplingElement:
    """A relation between joints by name: the sum of coefficient times position is the offset.

    Attributes:
        name: Its name.
        terms: Pairs of a joint's name and its coefficient; each joint once.
        offset: Value of the sum [unit of the first joint times its coefficient].
    """

    name: str
    terms: tuple[tuple[str, float], ...]
    offset: float = 0.0

    @classmethod
    def gear(
        cls, name: str, joint: str, driver: str, ratio: float = 1.0, offset: float = 0.0
    ) -> CouplingElement:
        """Return the relation position of `joint` = ratio * position of `driver` + offset."""
        return cls(name, ((joint, 1.0), (driver, -ratio)), offset)

    def prefixed(self, prefix: str) -> CouplingElement:
        """Return the same relation with `prefix` before its name and the names of its joints."""
        terms = tuple((prefix + joint, factor) for joint, factor in self.terms)
        return replace(self, name=prefix + self.name, terms=terms)


@dataclass(frozen=True)
class Coupling:
    """A relation between joints of a model: one constraint on positions.

    Attributes:
        name: Its name.
        terms: Pairs of the index of a body, whose joint has one degree of freedom, and the
            coefficient of that joint's position.
        offset: Value of the sum of coefficient times position.
        rotational: Whether the first joint turns, so that the multiplier is a moment.
    """

    name: str
    terms: tuple[tuple[int, float], ...]
    offset: float = 0.0
    rotational: bool = True


def substituted(
    couplings: Sequence[CouplingElement], positions: Mapping[str, float]
) -> tuple[tuple[CouplingElement, ...], dict[str, float]]:
    """Return the couplings of free joints when some joints are locked, and all locked joints.

    A relation with a single free joint locks that joint too; a relation without free joints is
    dropped: positions of locked joints are the caller's choice and need not satisfy the
    couplings.

    Args:
        couplings: The relations.
        positions: Positions of locked joints by name [rad or m].
    """
    locked = dict(positions)
    left = list(couplings)
    changed = True
    while changed:
        changed, pending = False, left
        left = []
        for coupling in pending:
            free = [(joint, factor) for joint, factor in coupling.terms if joint not in locked]
            held = sum(
                factor * locked[joint] for joint, factor in coupling.terms if joint in locked
            )
            if len(free) == 1 and free[0][1] != 0.0:
                locked[free[0][0]] = (coupling.offset - held) / free[0][1]
                changed = True
            elif free:
                left.append(replace(coupling, terms=tuple(free), offset=coupling.offset - held))
    return tuple(left), locked


def require_terms(coupling: CouplingElement, joints: Mapping[str, int]) -> None:
    """Check that a relation has a coefficient, and joints with one degree of freedom, each once.

    Args:
        coupling: The relation.
        joints: Degrees of freedom of each joint.

    Raises:
        RobotDynamicsError: If it has not; it names the joint.
    """
    place = f"coupling {coupling.name!r}"
    names = [joint for joint, _ in coupling.terms]
    twice = sorted({joint for joint in names if names.count(joint) > 1})
    if twice:
        raise RobotDynamicsError(f"{place}: joint {twice[0]!r} is named twice, expected once.")
    if not any(factor for _, factor in coupling.terms):
        raise RobotDynamicsError(
            f"{place}: all coefficients are zero, expected one other than zero."
        )
    for joint in names:
        if joints[joint] != 1:
            raise RobotDynamicsError(
                f"{place}: joint {joint!r} has {joints[joint]} degrees of freedom, expected one."
            )
