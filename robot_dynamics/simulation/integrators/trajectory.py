# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an integration: states at output times, errors, contact events, exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError

#: Largest change of constant energy between outputs, as a part of the largest kinetic energy.
#: More is a warning: a step has passed a dead point, or is too long.
LARGEST_JUMP = 1e-5


@dataclass(frozen=True)
class Effort:
    """Number of steps, and the largest errors over all of them.

    Attributes:
        steps: Accepted steps.
        rejected: Steps that error control rejected.
        singular_steps: Steps near singular configurations, which were taken in two parts or by
            the method for any rank.
        choices: Number of choices of constraints or coordinates; 1 if the first one lasted.
        closure_error: Largest opening of a loop at the start of a step [m], rotations at the
            length of `Trajectory`.
        correction: Largest opening that a projection removed [m]; 0.0 without projection.
        smallest_margin: Smallest squared ratio of the weakest constraint's effect to that of the
            strongest; zero where constraints lose rank.
    """

    steps: int = 0
    rejected: int = 0
    singular_steps: int = 0
    choices: int = 1
    closure_error: float = 0.0
    correction: float = 0.0
    smallest_margin: float = 1.0


class ContactEvent(NamedTuple):
    """An event of one contact, or of one joint that Coulomb friction holds.

    Attributes:
        time: Its time [s].
        kind: "impact"; "closed": the contact stays closed afterwards; "open": it is no longer
            closed; with friction also "stick": slip has stopped, and "slip": slip begins.
        name: Name of the contact, or of the joint's freedom.
        before: Rate of the gap before an impact [m/s]; 0.0 for other kinds.
        after: Rate of the gap after an impact [m/s].
        impulse: Normal impulse of an impact [N s].
    """

    time: float
    kind: str
    name: str
    before: float
    after: float
    impulse: float


@dataclass(frozen=True)
class Trajectory:
    """States at output times, and their errors.

    If N states were integrated at once all arrays but `t` have N rows: q is (N, m, nq).

    Attributes:
        method: Name and order of the method.
        t: Output times (m,) [s].
        q: Positions (m, nq).
        qd: Velocities (m, nv).
        kinetic: Kinetic energy (m,) [J].
        potential: Potential energy of gravity and springs (m,) [J].
        closure_error: Largest opening of a loop at each output (m,) [m], rotations at `length`.
        velocity_error: Largest rate of opening of a loop at each output (m,) [m/s].
        effort: Number of steps, and the largest errors over all of them.
        length: Length [m] that scales rotations to displacements.
        conservative: Whether only gravity and springs do work.
        events: Contact events in the order of time.
    """

    method: str
    t: Array
    q: Array
    qd: Array
    kinetic: Array
    potential: Array
    closure_error: Array
    velocity_error: Array
    effort: Effort
    length: float
    conservative: bool = False
    events: tuple[ContactEvent, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: jumps of the energy of a conservative motion."""
        jumps = np.abs(np.diff(self.energy)) / self._largest_kinetic
        if not self.conservative or not np.any(jumps > LARGEST_JUMP):
            return ()
        *state, at = np.unravel_index(int(np.argmax(jumps)), jumps.shape)
        of_which = f" of state {state[0]}" if state else ""
        return (
            f"energy{of_which} changes by {np.max(jumps):.1e} of the largest kinetic energy "
            f"between {self.t[at]:.6g} and {self.t[at + 1]:.6g} s, expected less than "
            f"{LARGEST_JUMP:g}: take a shorter step",
        )

    @property
    def energy(self) -> Array:
        """Kinetic plus potential energy (m,) [J]: constant if only gravity and springs do work."""
        return np.asarray(self.kinetic + self.potential)

    @property
    def energy_drift(self) -> float:
        """Largest change of the energy of a state, as a part of its largest kinetic energy."""
        change = np.abs(self.energy - self.energy[..., :1])
        return float(np.max(change / self._largest_kinetic))

    @property
    def _largest_kinetic(self) -> Array:
        """The largest kinetic energy of each state (..., 1) [J], not zero."""
        largest = np.max(self.kinetic, axis=-1, keepdims=True)
        return np.asarray(np.maximum(largest, np.finfo(float).tiny))

    @property
    def worst_closure_error(self) -> float:
        """Largest opening of a loop [m] over all outputs and all steps."""
        return max(self.effort.closure_error, float(np.max(self.closure_error)))

    def __str__(self) -> str:
        effort, energy = self.effort, ""
        if not any(event.kind == "impact" for event in self.events):
            energy = f"; energy changed by {self.energy_drift:.1e} of the largest kinetic energy"
        return (
            f"{self.method}: {self.t[-1]:g} s in {effort.steps} steps "
            f"({effort.rejected} rejected, {effort.singular_steps} singular); "
            f"loops open by {self.worst_closure_error:.1e} m, corrected by up to "
            f"{effort.correction:.1e} m{energy}"
            + "".join(f"; warning: {words}" for words in self.warnings)
        )


class IntegrationError(RobotDynamicsError):
    """An integration cannot continue, or its result would be wrong; the message states the reason.

    Attributes:
        time: When it ended [s].
        trajectory: The outputs before, which are valid.
    """

    def __init__(self, message: str, time: float, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.time, self.trajectory = time, trajectory


class IntegrationInterrupted(KeyboardInterrupt):
    """The user stopped an integration.

    Attributes:
        time: Time of the motion that was reached [s].
        trajectory: The outputs until then.
    """

    def __init__(self, time: float, trajectory: Trajectory) -> None:
        super().__init__(f"integration stopped at {time:.6g} s of the motion")
        self.time, self.trajectory = time, trajectory


class Trouble(Exception):
    """An integrator cannot continue.

    Attributes:
        time: Its time [s].
        reason: Reason.
        expected: Possible remedy; empty if unknown.
    """

    def __init__(self, time: float, reason: str, expected: str = "") -> None:
        super().__init__(reason)
        self.time, self.reason, self.expected = time, reason, expected
