# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque of arms whose control cannot go on, and which arms' state is not known meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

_NO_TORQUE = 0.1  # [N m or N]
_HOLD_PER_PERIOD = 0.05  # bandwidth times period of a joint hold: what a sampled loop bears


def within_rate(torque: Array, last: Array, largest: float) -> Array:
    """Return torques that no joint departs from the last ones by more than it may.

    All joints make the same part of their change, so that its direction stays.

    Args:
        torque: What is wanted (n,).
        last: What was sent last (n,).
        largest: The largest change of a joint.

    Returns:
        `torque` itself where it is within the limit.
    """
    change = torque - last
    size = float(np.abs(change).max(initial=0.0))
    return torque if size <= largest else last + change * (largest / size)


class LostArms:
    """Numbers of the arms that are lost at present.

    An arm whose samples are good again before its time is over is no longer lost: the fallback may
    damp what it sees moving. One whose time is over stays as it is, because its drive holds it by
    then, and a torque would take it by surprise.

    Attributes:
        ended: Numbers of those whose time is over.

    Args:
        end_after: Time after which a lost arm is given up, in the unit of all times here.
    """

    def __init__(self, end_after: int) -> None:
        self._end_after = end_after
        self._since: dict[int, int] = {}
        self._bad_at: dict[int, int] = {}
        self.ended: tuple[int, ...] = ()

    def __contains__(self, arm: object) -> bool:
        return arm in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)

    def lose(self, arm: int, now: int) -> None:
        """Note that an arm's state is not known at time `now`."""
        self._since.setdefault(arm, now)
        self._bad_at[arm] = now

    def take_back(self, arm: int, heard: int) -> None:
        """Let go of an arm whose last sample came at time `heard` and was good."""
        if arm in self._since and arm not in self.ended and heard > self._bad_at[arm]:
            del self._since[arm]

    def give_up(self, now: int) -> None:
        """Give up those that have been lost for too long without a break."""
        late = (arm for arm, since in self._since.items() if now - since >= self._end_after)
        self.ended += tuple(arm for arm in late if arm not in self.ended)


class JointHold:
    """Holds joints where they are by what is measured alone: the model was just proved wrong.

    `tau = tau_0 - M (3 w qd + 3 w^2 (q - q_0) + w^3 / 8 integral(q - q_0))`: the torque that was
    sent last, corrected until the joints are at rest where they were. Whatever holds them up is
    found by the integral, which is small enough for loads of 70 times the inertia M. That is the
    model's at the beginning, with each arm's share of a held object: a wrist that turns a box of
    10 kg moves far more than itself. It is the scale of the gains and nothing else; gravity of
    the model is not used. The torque of each joint is limited in its rate by itself, because
    light joints must not wait for heavy ones.

    Args:
        torque: What was sent last (na,).
        inertia: Of the joints (na, na).
        bandwidth: w [rad/s].
    """

    def __init__(self, torque: Array, inertia: Array, bandwidth: float) -> None:
        self._torque, self._w = torque.copy(), bandwidth
        self._inertia = inertia.copy()
        self._integral = np.zeros(len(torque))

    def torque(self, own: slice, error: Array, qd: Array) -> Array:
        """Return the torque of an arm (n,).

        Args:
            own: Where it stands in vectors over the arm joints.
            error: How far its joints are from where they are held (n,).
            qd: Their velocities (n,).
        """
        w = self._w
        back = 3.0 * w * qd + 3.0 * w * w * error + w**3 / 8.0 * self._integral[own]
        return np.asarray(self._torque[own] - self._inertia[own, own] @ back)

    def integrate(self, own: slice, error: Array, free: NDArray[np.bool_], period: float) -> None:
        """Go on by a period with the joints of an arm whose torque was not limited."""
        self._integral[own] += period * error * free


class SupportTorque(Protocol):
    """Computes what holds arms up at rest; the safety layer has no model of its own."""

    def __call__(self, q: Array, held: bool) -> Array:
        """Return the torque (na,) at positions `q` (na,), with the object or without it."""


class FallbackTorque:
    """Gravity compensation with joint damping, or what the settings want in its place.

    An arm whose state is lost gets gravity at its last good position: nothing is computed from a
    stale velocity. The torque goes from the last one to the fallback's within the torque rate, all
    joints of an arm by the same share.

    Attributes:
        saturated: Indices of joints whose last torque met its limit.
        drives_add: Returns what the drives add to commands by themselves at positions (na,): where
            zero is asked for, the commands are zero, and the joints have this. None for nothing.

    Args:
        settings: Kind, bandwidth and torque rate.
        support: Computes gravity torques.
        inertia: Computes the joint-space inertia matrix of the arms (na, na) at positions (na,),
            with their shares of the object or without.
        effort: Largest torques (na,).
        arms: Where each arm stands in vectors over the arm joints.
    """

    def __init__(
        self,
        settings: SafetySettings,
        support: SupportTorque,
        inertia: Callable[[Array, bool], Array],
        effort: Array,
        arms: Sequence[slice],
    ) -> None:
        self._settings = settings
        self._support = support
        # A finite substitute, so that clipping never meets an infinity.
        self._effort = np.minimum(effort, 1e12)
        self._arms = tuple(arms)
        self._inertia = inertia
        self._bandwidth = settings.fallback_bandwidth
        self.drives_add: Callable[[Array], Array] | None = None
        self._last_support = np.zeros(len(effort))
        self._last_inertia = np.zeros((len(effort), len(effort)))
        self._joint_hold: JointHold | None = None
        self.saturated: tuple[int, ...] = ()

    def seed(self, support: Array) -> None:
        """Take what holds the arms up at the start as the last good supporting torque (na,)."""
        self._last_support = np.array(support, dtype=float)

    def hold_joints(self, q: Array, last: Array, period: float, *, held: bool) -> None:
        """Do without the model from now on, until `trust_model`; see `JointHold`.

        Args:
            q: Last good positions (na,).
            last: The torque that was sent last (na,).
            period: Control period [s].
            held: Whether the object is held, so that its inertia counts.
        """
        if self._joint_hold is None:
            # As stiff as sampling bears: until the integral has found what the model does not
            # know, a light wrist with the load of two runs away.
            w = _HOLD_PER_PERIOD / period
            self._joint_hold = JointHold(last, self._inertia_at(q, held=held), w)

    def trust_model(self) -> None:
        """Compute torques from the model again."""
        self._joint_hold = None

    def torque(
        self,
        q: Array,
        qd: Array,
        hold: Array,
        last: Array,
        period: float,
        *,
        held: bool,
        lost: Collection[int] = (),
        ended: Collection[int] = (),
    ) -> Array:
        """Return the torque (na,) to send now.

        Args:
            q: Last good positions (na,).
            qd: Measured velocities (na,); those of lost arms are not used.
            hold: Positions at which the fallback began (na,).
            last: The torque that was sent last (na,).
            period: Time since then [s].
            held: Whether the object is still held, so that its weight counts.
            lost: Indices of arms whose state is not known.
            ended: Indices of lost arms whose time with gravity compensation is over: zero.
        """
        holder = self._joint_hold
        if holder is None:
            wanted = self._wanted(q, qd, hold, held, lost)
        else:
            wanted = self._held_joints(holder, q - hold, qd, last, lost)
        if ended:
            zero = self._zero(q)
            for i in ended:
                wanted[self._arms[i]] = zero[self._arms[i]]
        beyond = np.abs(wanted) > self._effort
        self.saturated = tuple(np.flatnonzero(beyond).tolist())
        wanted = np.clip(wanted, -self._effort, self._effort)
        largest = self._settings.torque_rate * period
        for i, own in enumerate(self._arms):
            if holder is None:
                limited = within_rate(wanted[own], last[own], largest)
            else:
                limited = np.clip(wanted[own], last[own] - largest, last[own] + largest)
            if holder is not None and i not in lost:
                holder.integrate(own, q[own] - hold[own], limited == wanted[own], period)
            wanted[own] = limited
        return wanted

    def _held_joints(
        self, holder: JointHold, error: Array, qd: Array, last: Array, lost: Collection[int]
    ) -> Array:
        """Return the torque (na,) without the model; lost arms keep what they have."""
        wanted = last.copy()
        for i, own in enumerate(self._arms):
            if i not in lost:
                with np.errstate(over="ignore", invalid="ignore"):
                    torque = holder.torque(own, error[own], qd[own])
                if np.isfinite(torque).all():
                    wanted[own] = torque
        return wanted

    def _wanted(
        self, q: Array, qd: Array, hold: Array, held: bool, lost: Collection[int]
    ) -> Array:
        kind = self._settings.fallback
        if kind == "zero":
            return self._zero(q)
        tau = self._gravity(q, held)
        # With the whole inertia matrix, that of the load included, every motion of an arm is
        # slowed down at the same rate, 2 w, and a sampled loop bears it if 2 w h is small; its
        # diagonal alone damps light motions many times more than that.
        w = self._bandwidth
        with np.errstate(over="ignore"):
            acceleration = -2.0 * w * qd
            if kind == "hold":
                acceleration = acceleration + w * w * (hold - q)
        inertia = self._inertia_at(q, held)
        for i, own in enumerate(self._arms):
            if i in lost:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                damping = inertia[own, own] @ acceleration[own]
            # A velocity near the largest number there is overflows; gravity alone is safe then.
            if np.isfinite(damping).all():
                tau[own] += damping
        return tau

    def is_zero(self, torque: Array, q: Array) -> bool:
        """Return whether torques (na,) are nearly those of zero commands at positions (na,)."""
        return bool((np.abs(torque - self._zero(q)) <= _NO_TORQUE).all())

    def _zero(self, q: Array) -> Array:
        """Return the joint torques (na,) of commands that are zero."""
        return np.zeros_like(q) if self.drives_add is None else np.array(self.drives_add(q))

    def _inertia_at(self, q: Array, held: bool) -> Array:
        """Return the inertia matrix; the last good one if the model fails now of all times."""
        try:
            inertia = np.asarray(self._inertia(q, held), dtype=float)
        except RobotDynamicsError:
            return self._last_inertia
        if np.isfinite(inertia).all():
            self._last_inertia = inertia
        return self._last_inertia

    def _gravity(self, q: Array, held: bool) -> Array:
        """Return the supporting torque; the last good one if the model fails now of all times."""
        try:
            tau = np.array(self._support(q, held), dtype=float)
        except RobotDynamicsError:
            return self._last_support.copy()
        if tau.shape != q.shape or not np.isfinite(tau).all():
            return self._last_support.copy()
        self._last_support = tau
        return tau.copy()
