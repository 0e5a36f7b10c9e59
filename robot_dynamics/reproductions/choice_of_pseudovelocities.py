# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of the controller's pseudovelocities, monitored and changed when badly conditioned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceTerms
from robot_dynamics.reproductions.pseudovelocities import (
    CompletedVelocities,
    ConstantVelocities,
    PseudoVelocities,
)
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms


@dataclass(frozen=True)
class Rechoice:
    """A change of pseudovelocities.

    Attributes:
        tick: The control period.
        name: The new choice.
        conditioning: Condition number of [A; B] with the choice before, and with the new one.
    """

    tick: int
    name: str
    conditioning: tuple[float, float]


@dataclass
class ChoiceOfPseudovelocities:
    """Choice of pseudovelocities: the object's velocities while the arms can produce them all.

    If [A; B] becomes badly conditioned, they are chosen anew by pivoting. If that does not help,
    an arm is near a singularity, and joint velocities replace them until it has passed: these
    determine the motion whenever the object's joint transmits its forces.

    Attributes:
        limit: Condition number of [A; B] from which they are chosen anew.
        changes: Changes of the choice with their times, without the first choice.
        worst: Largest condition number that was used.
    """

    limit: float
    changes: list[Rechoice] = field(default_factory=list)
    worst: float = 0.0
    _present: PseudoVelocities | None = None

    def reduced(self, tick: int, terms: JointSpaceTerms) -> ReducedOrderTerms:
        """Return the reduced model at a state, in velocities that suit it.

        Raises:
            RobotDynamicsError: If no choice determines the motion.
        """
        found = self._of(terms, self._present)
        # Back from joint velocities as soon as the object can be moved freely again.
        fits = found is not None and found.conditioning <= self.limit
        if not fits or isinstance(self._present, ConstantVelocities):
            found = self._anew(tick, terms, found)
        assert found is not None
        self.worst = max(self.worst, found.conditioning)
        return found

    def _anew(
        self, tick: int, terms: JointSpaceTerms, before: ReducedOrderTerms | None
    ) -> ReducedOrderTerms:
        free, choice = self._completed(terms)
        # Going back requires half the limit, so that the choice does not alternate.
        threshold = (
            0.5 * self.limit if isinstance(self._present, ConstantVelocities) else self.limit
        )
        if free is None or free.conditioning > threshold:
            if before is not None and before.conditioning <= self.limit:
                return before
            choice = ConstantVelocities.chosen(terms)
            free = ReducedOrderTerms.of(terms, choice)
        if self._present is not None:
            was = np.inf if before is None else before.conditioning
            self.changes.append(Rechoice(tick, type(choice).__name__, (was, free.conditioning)))
        self._present = choice
        return free

    def _completed(
        self, terms: JointSpaceTerms
    ) -> tuple[ReducedOrderTerms | None, PseudoVelocities | None]:
        try:
            choice = CompletedVelocities.chosen(terms)
        except RobotDynamicsError:
            return None, None
        return self._of(terms, choice), choice

    @staticmethod
    def _of(terms: JointSpaceTerms, choice: PseudoVelocities | None) -> ReducedOrderTerms | None:
        """Return the reduced model, or None if the choice does not determine the motion."""
        if choice is None:
            return None
        try:
            return ReducedOrderTerms.of(terms, choice)
        except RobotDynamicsError:
            return None
