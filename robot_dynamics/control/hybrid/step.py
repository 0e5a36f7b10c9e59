# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of the hybrid controller is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.passive_joints import DEAD_POINT

Array = NDArray[np.float64]

_NONE: Array = np.zeros(0)
_ALL = 1.0 - 1e-9  # part of the task that is all of it
_ANYTHING = 1e6  # margin that stands for that of a contact which bears anything [N]

# In `scales`: what damping near a singularity takes from the object's acceleration.
_LOST = 6

# What internal closed chains may be left open by [m or rad]: they are closed to rounding unless a
#: drive has moved by a tenth of a radian in a period, or is where its linkage cannot be.
_LARGEST_OPENING = 1e-6
# Linkages must be off their dead points by what they move in so many periods besides, so that they
# are not led to another assembly unseen.
_PERIODS = 4.0


class SlipReport(NamedTuple):
    """How safe contacts are at one instant, in the order of the monitor's names.

    Attributes:
        margins: Distance of each to what it bears, now (k,) [N]; negative where it slips or opens,
            infinite if nothing is known of it.
        ahead: The smallest that is expected from now on until the horizon (k,) [N].
        when: After how long the expected margin falls short of the declared one first (k,) [s];
            infinite if it does not.
        warnings: Sentences; none if all is well.
    """

    margins: Array
    ahead: Array
    when: Array
    warnings: tuple[str, ...]


class HybridStep:
    """What one control step commands and what it found out; arrays over arm joints are (na,).

    Attributes:
        torque: The command [N m].
        memory: What the next step needs of this one.
        reference: The row of the reference that was followed.
        added_internal_force: What was added to its internal force (m,); see `InternalChoice`.
        gave_way: Whether limits held the task back, and the internal force was changed for it.
        slip: How safe the contacts are that can slip; None where none can.
        of_task: The smallest part of internal force, motion and force on surfaces that limits let
            through, whatever the rate of the torque.
        task_scale: The smallest part of the task that limits let through, from 0 to 1.
        support_torque_ratio: The largest support over its limit; beyond 1 arms and object cannot
            be held up.
    """

    __slots__ = (
        "_at", "_found", "added_internal_force", "gave_way", "memory", "of_task", "reference",
        "slip", "support_torque_ratio", "task_scale", "torque",
    )  # fmt: skip

    def __init__(
        self,
        torque: Array,
        memory: Array,
        found: Array,
        reference: Array,
        at: Mapping[str, slice],
        added_internal_force: Array,
    ) -> None:
        self.torque, self.memory, self.reference = torque, memory, reference
        self._found, self._at = found, at
        self.added_internal_force = added_internal_force
        self.gave_way = False
        self.slip: SlipReport | None = None
        # Floats, because they are compared in every period.
        squeeze, motion, rate, ratio, _, contact, _, _ = found[at["scales"]].tolist()
        self.of_task: float = min(squeeze, motion, contact)
        self.task_scale: float = min(self.of_task, rate)
        self.support_torque_ratio: float = ratio

    @property
    def pose(self) -> Array:
        """Pose of the object, x y z qx qy qz qw in the world (7,)."""
        return self._found[self._at["pose"]]

    @property
    def poses(self) -> tuple[Array]:
        """The pose of the object, which is one body."""
        return (self.pose,)

    @property
    def twist(self) -> Array:
        """Its angular velocity and the velocity of its origin, world axes (6,)."""
        return self._found[self._at["twist"]]

    @property
    def error(self) -> Array:
        """Rotation vector and displacement from it to the reference, world axes (6,).

        As far as it is controlled: not into surfaces that are touched.
        """
        return self._found[self._at["error"]]

    @property
    def closure(self) -> Array:
        """What the other arms differ by from the first about the object (6(k-1),)."""
        return self._found[self._at["closure"]]

    @property
    def internal_force(self) -> Array:
        """Measured internal force (m,)."""
        return self._found[self._at["internal_force"]]

    @property
    def contact_force(self) -> Array:
        """Force on the surfaces (C,), measured or estimated; as desired without any sensor."""
        return self._found[self._at["contact_force"]]

    @property
    def touched(self) -> Array:
        """1 for surfaces whose force is controlled, 0 for others (C,)."""
        return self._found[self._at["touched"]]

    @property
    def distance(self) -> Array:
        """Values of the surfaces' functions (C,): negative in free space."""
        return self._found[self._at["distance"]]

    @property
    def support(self) -> Array:
        """The part of the torque that holds everything up."""
        return self._found[self._at["support"]]

    @property
    def scales(self) -> Array:
        """What limits let through, and more (8,).

        Of the internal force, of the motion, of the torque's change; the largest support over its
        limit; the smallest relative pivot of the arms; let through of the force on surfaces;
        what damping near a singularity takes from the object's acceleration [m/s^2]; and let
        through of the arms' posture.
        """
        return self._found[self._at["scales"]]

    @property
    def fits(self) -> bool:
        """Whether limits leave all of the task, whatever the rate of the torque."""
        return self.of_task >= _ALL

    @property
    def lost_acceleration(self) -> float:
        """What damping near a singularity takes from the object's acceleration [m/s^2]."""
        return float(self.scales[_LOST])

    @property
    def measured_contact_forces(self) -> Array:
        """Measured contact forces (d,), along the contacts' directions; zero without sensors."""
        return self._found[self._at["measured_contact_forces"]]

    @property
    def asked(self) -> Array:
        """What the contacts are to make on the object, about its centre in its axes (6,) (37)."""
        return self._found[self._at["asked"]]

    @property
    def exerted(self) -> Array:
        """Measured wrench of the contacts on the object, about its centre in its axes (6,)."""
        return self._found[self._at["exerted"]]

    @property
    def pushed(self) -> Array:
        """What the object makes on touched surfaces, by `contact_force`, likewise (6,)."""
        return self._found[self._at["pushed"]]

    @property
    def unexplained(self) -> Array:
        """What is exerted beyond the planned motion, the weight and `pushed`, likewise (6,)."""
        return self._found[self._at["unexplained"]]

    @property
    def held_body_wrenches(self) -> Array:
        """`exerted`, `pushed` and `unexplained`, which follow each other (1, 18)."""
        begin, end = self._at["exerted"].start, self._at["unexplained"].stop
        return self._found[begin:end].reshape(1, 18)

    @property
    def needed(self) -> Array:
        """The least and the most torque that the task asks for, part by part (2, na).

        Support with internal force, then with the force on surfaces, then with the motion; each
        without what the internal force of the row takes, see `grip`.
        """
        return self._found[self._at["needed"]].reshape(2, -1)

    @property
    def grip(self) -> Array:
        """Torques of each internal force (na, m)."""
        return self._found[self._at["grip"]].reshape(len(self.torque), -1)

    @property
    def linkage(self) -> Array:
        """Opening of the internal closed chains, their pivot, and how far they moved (3,).

        Empty for arms without loops; see `manipulation.passive_joints.DrivenMotion`.
        """
        return self._found[self._at["linkage"]]

    def require_linkages(self) -> None:
        """Check that internal closed chains are closed, by drives that tell how they move.

        Raises:
            RobotDynamicsError: If not.
        """
        for opening, pivot, moved in self.linkage.reshape(-1, 3).tolist():
            least = DEAD_POINT + _PERIODS * moved
            if not (opening <= _LARGEST_OPENING and pivot >= least):
                raise RobotDynamicsError(
                    "the internal closed chains of the arms stay open by "
                    f"{opening:.3g} m or rad, expected at most "
                    f"{_LARGEST_OPENING:g}, with drives off their dead points by {pivot:.2g}, "
                    f"expected at least {least:.2g}: a drive is not where it is measured."
                )

    @property
    def slip_margins(self) -> Array:
        """Distance of each contact that can slip to what it bears (w,) [N]; empty without any."""
        return _NONE if self.slip is None else self.slip.margins

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the columns of `HybridController.columns`."""
        values = self._found[: self._at["scales"].stop], self.added_internal_force
        if self.slip is None:
            return values
        return *values, np.minimum(self.slip.ahead, _ANYTHING)
