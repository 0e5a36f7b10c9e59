# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an integration returns: states at output times, and how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

#: Energy that ought to be constant and changes by more between outputs, as a part of the largest
#: kinetic energy, is told: a step passed a dead point, or is too long.
LARGEST_JUMP = 1e-5


@dataclass(frozen=True)
class Effort:
    """What it took to get from the start to the end, and the largest errors on the way.

    Attributes:
        steps: Steps that were taken.
        rejected: Steps that error control threw away.
        singular_steps: Steps near states where constraints depend on one another, which were
            taken in two parts or at any rank.
        choices: How often constraints or coordinates were chosen; 1 if the first choice lasted.
        closure_error: The largest opening of a loop at a state that a step started from [m],
            rotations at the declared length.
        correction: The largest opening that a projection took away [m]; 0.0 without projection.
        smallest_margin: How near constraints came to losing rank: the square of how much the
            weakest one acts, as a part of the strongest.
    """

    steps: int = 0
    rejected: int = 0
    singular_steps: int = 0
    choices: int = 1
    closure_error: float = 0.0
    correction: float = 0.0
    smallest_margin: float = 1.0


class ContactEvent(NamedTuple):
    """What happened to a contact.

    Attributes:
        time: When [s].
        kind: "impact", "closed" if it stays closed from then on, "open" if it no longer does; with
            friction also "stick", and "slip" where it begins to from rest.
        name: Of the contact.
        before: phi' before an impact [m/s].
        after: phi' after it [m/s].
        impulse: Of it [N s].
    """

    time: float
    kind: str
    name: str
    before: float
    after: float
    impulse: float


@dataclass(frozen=True)
class Trajectory:
    """States at output times, with the errors by which they can be judged.

    Of N states that were integrated at once all arrays but `t` have N rows: q is (N, m, nq).

    Attributes:
        method: The method by its name, with its order.
        t: Times (m,) [s].
        q: Positions (m, nq).
        qd: Velocities (m, nv).
        kinetic: Kinetic energy (m,) [J].
        potential: Potential energy of gravity and of the springs (m,) [J].
        closure_error: Largest opening of a loop at each output (m,) [m], rotations at `length`.
        velocity_error: Largest rate at which a loop opens at each output (m,) [m/s].
        effort: Steps, and the largest errors over all of them.
        length: The length [m] that makes rotations and displacements comparable.
        conservative: Whether nothing does work but gravity and springs.
        events: Impacts, and contacts that closed or opened, in the order of time.
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
        """What throws doubt on the result: a jump of an energy that ought to be constant."""
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
        """Kinetic plus potential energy (m,) [J]: constant if nothing else does work."""
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
        """Largest opening of a loop [m] over all outputs and all states that steps went from."""
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
    """An integration cannot go on, or its result cannot be trusted; the message says why.

    Attributes:
        time: When it happened [s].
        trajectory: The outputs before that, which can be trusted.
    """

    def __init__(self, message: str, time: float, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.time, self.trajectory = time, trajectory


class IntegrationInterrupted(KeyboardInterrupt):
    """The user stopped an integration.

    Attributes:
        time: When, of the motion [s].
        trajectory: The outputs until then.
    """

    def __init__(self, time: float, trajectory: Trajectory) -> None:
        super().__init__(f"integration stopped at {time:.6g} s of the motion")
        self.time, self.trajectory = time, trajectory


class Trouble(Exception):
    """A method cannot go on: when [s], why, and what would help if that is known."""

    def __init__(self, time: float, reason: str, expected: str = "") -> None:
        super().__init__(reason)
        self.time, self.reason, self.expected = time, reason, expected
