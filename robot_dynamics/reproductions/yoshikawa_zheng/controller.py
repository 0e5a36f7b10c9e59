# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law (32) to (37) with its servos (41) to (43), for the experiments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.contact_damping import gain_warnings, normal_damping
from robot_dynamics.manipulation.hybrid import HybridTerms, surface_masses
from robot_dynamics.model import pose
from robot_dynamics.reproductions.yoshikawa_zheng.contact_phase import (
    ContactPhase,
    ContactPhaseSettings,
    Phase,
)
from robot_dynamics.reproductions.yoshikawa_zheng.law import (
    CoordinateServo,
    CoordinateServoSettings,
    ForceServo,
    ForceServoParameters,
    hybrid_torque,
)
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar_plant import BarState
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Hand, Inertias
from robot_dynamics.reproductions.yoshikawa_zheng.tasks import (
    PERIOD,
    POSITION_GAIN,
    PRESS_GAIN,
    SQUEEZE_GAIN,
    VELOCITY_GAIN,
    BarTask,
)

_TOUCH = 0.1  # force from which the wall counts as touched [N]
_ERROR_LIMIT, _INTEGRAL_LIMIT = 0.5, 0.3  # [N]
# Of the integral of motion: it adds a pole where delay is borne best, 1.5 ms more than a sample
# instead of the 0.4 ms of the printed gains; friction of the drives takes a tenth of its limit.
_POLE, _ACCELERATION_LIMIT = 150.0, np.array([2.0, 2.0, 60.0])  # [1/s], [m/s^2, rad/s^2]
# Coordinates among x, y, phi that the paper controls on a wall; in free space all three.
_ALONG = [0, 2]
_STILL = np.zeros(3)  # height and tilts


#: As printed; with normal damping and gated, limited integrals of forces; and, by default, also
#: with an integral of motion.
LAWS = ("literal", "damped", "integral")


class Law(NamedTuple):
    """Servos of motion, contact force and internal force.

    Attributes:
        name: One of `LAWS`.
        delay: Samples from a measurement to the action of its torque.
    """

    name: str
    delay: int = 0


class BarController:
    """One experiment's controller.

    Args:
        inertias: Its model of robots and bar.
        task: The experiment.
        law: The law.

    Attributes:
        damping: Normal damping b [N s/m].
        mass: Mass of robots and bar along the wall's normal at the start [kg].
        warnings: Sentences on the gain of the contact force.
        phase: Controlled quantity along the normal.
    """

    def __init__(self, inertias: Inertias, task: BarTask, law: Law) -> None:
        self._task, self._literal = task, law.name == "literal"
        literal = self._literal
        self._free = Hand.of(inertias, None)
        self._touching = self._free.with_wall(task.wall)
        self.damping, self.mass = 0.0, float("nan")
        self.warnings: tuple[str, ...] = ()
        if task.wall is not None:
            start = task.wanted(0.0)
            self.mass = float(surface_masses(terms_at(self._touching, start.r, start.rd))[0])
            if literal:
                self.warnings = gain_warnings(self.mass, PRESS_GAIN, 0.0)
            else:
                chosen = normal_damping(self.mass, PRESS_GAIN, (0.5 + law.delay) * PERIOD)
                self.damping, self.warnings = chosen.damping, chosen.warnings
        limits = {} if literal else {
            "error_limit": _ERROR_LIMIT, "integral_limit": _INTEGRAL_LIMIT
        }  # fmt: skip
        late = 0 if literal else 1 + law.delay
        self._press = ForceServo(ForceServoParameters(PRESS_GAIN, PERIOD, late=late, **limits), 1)
        self._squeeze = ForceServo(
            ForceServoParameters(SQUEEZE_GAIN, PERIOD, late=late, **limits), 1
        )
        pole = _POLE if law.name == "integral" else 0.0
        self._motion = CoordinateServo(
            CoordinateServoSettings(
                VELOCITY_GAIN, POSITION_GAIN, PERIOD, pole, _ACCELERATION_LIMIT
            )
        )
        self._contact = ContactPhase(ContactPhaseSettings(_TOUCH), PERIOD)
        if task.number == 1:
            self._contact.phase = Phase.CONTACT

    @property
    def phase(self) -> Phase:
        """Controlled quantity along the wall's normal."""
        return self._contact.phase

    def torque(self, time: float, seen: BarState) -> Array:
        """Return the drives' torques (4,) [N m] of one sample."""
        wanted = self._task.wanted(time)
        if self._task.number == 3 and self._contact.step(
            seen.press, approaching=time < self._task.leaving
        ):
            self._press.reset()
        touching = self.phase is Phase.CONTACT
        rows = _ALONG if touching else [0, 1, 2]
        errors = (wanted.rd - seen.rd, wanted.r - seen.r)
        motion = self._motion.step(wanted.rdd, *errors, np.isin([0, 1, 2], rows))[rows]
        hand = self._touching if touching else self._free
        terms = terms_at(hand, seen.r, seen.rd)
        squeeze = self._squeeze.step([wanted.squeeze], [seen.squeeze])
        press = np.zeros(0)
        if touching:
            gate = self._literal or seen.press > 0.0
            into = terms.environment.E_F @ _twist(seen.rd)
            press = self._press.step([wanted.press], [seen.press], gate) - self.damping * into
        return hybrid_torque(
            terms, hand.distribution, np.concatenate([motion, _STILL]), press, squeeze
        ).torque


def terms_at(hand: Hand, r: Array, rd: Array) -> HybridTerms:
    """Return the terms of robots and bar at a state of the bar."""
    c, s = np.cos(r[2]), np.sin(r[2])
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    q, qd = hand.joint_positions(r, rd)
    at = pose((r[0], r[1], 0.0), rotation)
    return hand.system.terms(q, qd, at, _twist(rd))


def _twist(rd: Array) -> Array:
    return np.array([0.0, 0.0, rd[2], rd[0], rd[1], 0.0])
