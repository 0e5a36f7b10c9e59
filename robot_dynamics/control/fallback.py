# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fallback torques of arms that the control law no longer moves."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.faults import Response
from robot_dynamics.control.joint_hold import JointHold
from robot_dynamics.control.joint_motion import MEMORY_S
from robot_dynamics.control.lost_arms import LostArms, LostMotion, solved
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.errors import RobotDynamicsError

_FAST = 10.0  # speed that counts at most where a hold begins [rad/s or m/s]
_NO_TORQUE = 0.1  # [N m or N]
_HOLD_PER_DELAY = 0.05  # bandwidth of a joint hold times its delay: what a sampled loop bears
_HOLD_PER_LAG = 0.25  # bandwidth of a joint hold times the lag of its velocities
_BACK = 0.05  # from its held position that an arm is brought back [rad or m]
_REMEMBERED = 64  # torques that were sent: detection takes fewer periods
_SETTLING_S = 0.05  # in which the torque rate leads from the law's torque to the fallback's


def within_rate(torque: Array, last: Array, largest: float) -> Array:
    """Return torques that change within the torque rate.

    All joints make the same share of their change, which keeps its direction.

    Args:
        torque: Desired torques (n,).
        last: Torques that were sent last (n,).
        largest: Largest change of a joint's torque.

    Returns:
        `torque` itself if all changes are within the limit.
    """
    change = torque - last
    size = float(np.abs(change).max(initial=0.0))
    return torque if size <= largest else last + change * (largest / size)


class SupportTorque(Protocol):
    """Computes the torque that holds arms up at rest; the safety layer has no model of its own."""

    def __call__(self, q: Array, held: bool) -> Array:
        """Return the torque (na,) at positions `q` (na,), with the object or without it."""


class FallbackTorque:
    """The configured fallback: joints held where they were, gravity with damping, or zero.

    A lost arm gets gravity at its last good position and the load that its hold has found until
    then. It is braked along a prediction, see `LostMotion`. The torque changes to the fallback's
    within the torque rate, all joints that move together by the same share.

    Attributes:
        saturated: Indices of joints whose last torque reached its limit.
        sent: Torques (na,) that were sent until now, the last ones since the safety layer, which
            adds them, took charge.
        drives_add: Returns the torques that drives add to commands by themselves at positions
            (na,); the joints have them under zero commands. None if drives add no torque.

    Args:
        settings: Kind, bandwidth and torque rate.
        support: Computes gravity torques.
        inertia: Computes the joint-space inertia matrix of the arms (na, na) at positions (na,),
            with their shares of the object or without.
        effort: Largest torques (na,).
        arms: Slice of each arm in vectors over the arm joints.
        delay: Control periods from a measurement to the torque computed from it; they bound the
            bandwidth of the hold.
        firmer: Computes the torque, beyond the last one (na,), of the firmest grip that control
            may use, at positions (na,); zero by default.
        inverse_inertia: See `LostMotion`; unknown by default.
    """

    def __init__(
        self,
        settings: SafetySettings,
        support: SupportTorque,
        inertia: Callable[[Array, bool], Array],
        effort: Array,
        arms: Sequence[slice],
        delay: int = 0,
        firmer: Callable[[Array], Array] = np.zeros_like,
        inverse_inertia: Callable[[Array], Array | None] = lambda q: None,
    ) -> None:
        self._firmer = firmer
        self._settings = settings
        self._support = support
        # A finite substitute, so that clipping never meets an infinity.
        self._effort = np.minimum(effort, 1e12)
        self._arms = tuple(arms)
        self._inertia = inertia
        self._bandwidth, self._delay = settings.fallback_bandwidth, delay
        self.drives_add: Callable[[Array], Array] | None = None
        self._last_support = np.zeros(len(effort))
        self._last_inertia = np.zeros((len(effort), len(effort)))
        self._servo: JointHold | None = None
        self._held_at = np.full(len(effort), np.nan)
        self._measured: tuple[Array, Array] | None = None  # torque and inertia without the model
        self._motion = LostMotion(arms, delay, inverse_inertia)
        self.sent: deque[Array] = deque(maxlen=_REMEMBERED)
        self.saturated: tuple[int, ...] = ()

    def seed(self, support: Array) -> None:
        """Set the last good support torque to the one at the start (na,)."""
        self._last_support = np.array(support, dtype=float)

    def hold_joints(self, q: Array, last: Array, *, held: bool) -> None:
        """Stop using gravity of the model until `trust_model`.

        The joints are held from the torque that was sent last, with a firmer grip: the load on the
        object is not known, and contacts that only push may slip. The inertia at this instant only
        scales the gains of the servo. The torque rate of each joint is limited separately, because
        light joints must not wait for heavy ones.

        Args:
            q: Last good positions (na,).
            last: The torque that was sent last (na,).
            held: Whether the object is held, and its inertia counts: a wrist that turns a box
                moves far more than the hand.
        """
        if self._measured is None:
            torque = last.copy()
            try:
                added = self._firmer(q) if held else np.zeros_like(q)
            except RobotDynamicsError:  # as where a linkage cannot be
                added = np.zeros_like(q)
            if np.isfinite(added).all():
                torque += self._share_within(torque, added) * added
            self._measured = torque, self._inertia_at(q, held=held)
            self._servo = None

    def _share_within(self, torque: Array, added: Array) -> float:
        """Return the largest share of `added` up to 1 that no drive limit cuts joint by joint.

        If the limit of one joint cut the torque, the result would be another wrench on the object,
        not a weaker grip.
        """
        room = np.maximum(self._effort - torque * np.sign(added), 0.0)
        return float(min(1.0, *(room[added != 0.0] / np.abs(added[added != 0.0])), 1.0))

    def move_hold(self, hold: Array, lost: Collection[int] = ()) -> Array:
        """Hold the joints at other positions, with the loads that were found.

        Args:
            hold: The positions (na,); the former ones of lost arms.
            lost: Indices of lost arms.

        Returns:
            The positions (na,), of lost arms those that are predicted.
        """
        self._held_at = self._motion.moved_hold(hold, lost)
        return self._held_at.copy()

    def trust_model(self) -> None:
        """Compute torques from the model again, and reset the loads that the hold has found."""
        self._measured = self._servo = None

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
        lagging: Collection[int] = (),
        still_s: float = 0.0,
    ) -> Array:
        """Return the torque (na,) to send now.

        Args:
            q: Last good positions (na,).
            qd: Last good velocities (na,); a lost arm is predicted from them.
            hold: Positions at which the fallback began (na,).
            last: The torque that was sent last (na,).
            period: Time since then [s].
            held: Whether the object is still held, so that its weight counts.
            lost: Indices of lost arms.
            ended: Indices of lost arms whose time with gravity compensation is over: zero torque.
            lagging: Indices of arms whose velocities are means over `MEMORY_S`.
            still_s: Time since the samples of all arms stopped changing; 0 if they did not [s].
        """
        kind, measured = self._settings.fallback, self._measured
        inertia: Array | None = None
        if measured is not None:
            wanted, inertia = measured[0].copy(), measured[1]
        elif kind == "zero":
            wanted = self._zero(q)
        else:
            wanted, inertia = self._gravity(q, held), self._inertia_at(q, held)
        servo, rest = None, wanted
        if inertia is not None:
            if measured is not None or kind == "hold":
                servo = self._servo_at(hold, qd, period, inertia)
                for i in lagging:
                    servo.soften(self._arms[i], _HOLD_PER_LAG / MEMORY_S)
            predicted = lost if measured is None else ()
            rest = self._with_loads(wanted, inertia, servo)
            if self._motion.follow(predicted, q, hold, qd, held=held):
                self._motion.catch_up(self.sent, rest, period, round(still_s / period))
            self._add_servo(wanted, inertia, servo, q - hold, qd, lost)
        if measured is not None:
            for i in lost:
                wanted[self._arms[i]] = last[self._arms[i]]
        if ended:
            zero = self._zero(q)
            for i in ended:
                wanted[self._arms[i]] = zero[self._arms[i]]
        beyond = np.abs(wanted) > self._effort
        self.saturated = tuple(np.flatnonzero(beyond).tolist())
        unlimited = wanted
        wanted = np.clip(wanted, -self._effort, self._effort)
        largest = self._settings.torque_rate * period
        if measured is None:
            for joints in self._moving_together(lost if held else range(len(self._arms))):
                wanted[joints] = within_rate(wanted[joints], last[joints], largest)
        for i, own in enumerate(self._arms):
            if measured is not None:
                wanted[own] = np.clip(wanted[own], last[own] - largest, last[own] + largest)
            if servo is not None and i not in lost:
                free = wanted[own] == unlimited[own]
                servo.integrate(own, q[own] - hold[own], free, period)
        if inertia is not None:
            self._motion.advance(self.sent, wanted, rest, inertia, period)
        return wanted

    def _moving_together(self, alone: Collection[int]) -> list[Array]:
        """Return the joints whose torques change by the same share: of an arm, or of several.

        Arms that hold one object push against each other. Two torques may both balance that; a
        mixture of them with another share for each arm does not, and turns the wrists.

        Args:
            alone: Indices of the arms that hold nothing together with others.

        Returns:
            Indices of the joints of each group.
        """
        joints = [np.arange(own.start, own.stop) for own in self._arms]
        together = [own for i, own in enumerate(joints) if i not in alone]
        return [*(joints[i] for i in alone), *([np.concatenate(together)] if together else [])]

    def _with_loads(self, torque: Array, inertia: Array, servo: JointHold | None) -> Array:
        """Return a support torque (na,) with the loads that a hold has found."""
        found = torque.copy()
        if servo is not None:
            for own in self._arms:
                found[own] += inertia[own, own] @ servo.load(own)
        return found

    def _servo_at(self, hold: Array, qd: Array, period: float, inertia: Array) -> JointHold:
        """Return the servo that holds joints at positions (na,), a new one if they are new.

        Its bandwidth w is bounded by sampling and delay, and by the torque rate: to brake a
        momentum p it takes 3 w p, which must come and go within about 1 / w.
        """
        if self._servo is None or not np.array_equal(hold, self._held_at):
            w = min(self._bandwidth, _HOLD_PER_DELAY / (period * (1 + self._delay)))
            speed = np.minimum(np.nan_to_num(np.abs(qd), nan=0.0), _FAST)
            momentum = float(np.max(np.diag(inertia) * speed))
            if momentum > 0.0:
                w = min(w, 0.5 * math.sqrt(self._settings.torque_rate / momentum))
            self._servo = JointHold(len(hold), w)
            self._held_at = hold.copy()
        return self._servo

    def _add_servo(
        self,
        torque: Array,
        inertia: Array,
        servo: JointHold | None,
        error: Array,
        qd: Array,
        lost: Collection[int],
    ) -> None:
        """Add the torque of the hold, or of damping without one.

        With the whole inertia matrix, including the load, every motion of an arm is damped at the
        same rate, and the sampled loop is stable. Its diagonal alone would damp light motions many
        times more.
        """
        for i, own in enumerate(self._arms):
            if i in self._motion:
                away, speed = self._motion[i]
            elif i in lost:  # only the load that a hold found counts
                away = speed = np.zeros(own.stop - own.start)
            else:
                away, speed = error[own], qd[own]
            with np.errstate(over="ignore", invalid="ignore"):
                if servo is None:
                    acceleration = -2.0 * self._bandwidth * speed
                else:
                    acceleration = servo.acceleration(own, away, speed)
                added = inertia[own, own] @ acceleration
            # A velocity near the largest float overflows; the support torque is safe then.
            if np.isfinite(added).all():
                torque[own] += added

    def is_zero(self, torque: Array, q: Array) -> bool:
        """Return whether torques (na,) are nearly those of zero commands at positions (na,)."""
        return bool((np.abs(torque - self._zero(q)) <= _NO_TORQUE).all())

    def _zero(self, q: Array) -> Array:
        """Return the joint torques (na,) of zero commands."""
        return np.zeros_like(q) if self.drives_add is None else np.array(self.drives_add(q))

    def _inertia_at(self, q: Array, held: bool) -> Array:
        """Return the inertia matrix; the last good one if the model fails."""
        try:
            inertia = np.asarray(self._inertia(q, held), dtype=float)
            if not held:
                inertia = self._between(inertia, np.asarray(self._inertia(q, True), dtype=float))
        except RobotDynamicsError:
            return self._last_inertia
        if np.isfinite(inertia).all():
            self._last_inertia = inertia
        return self._last_inertia

    def _between(self, empty: Array, laden: Array) -> Array:
        """Return an inertia matrix (na, na) for hands that may still hold the object.

        Of every motion of an arm the inertia lies between that of the empty and of the laden arm.
        With their ratio k, a hold scaled by sqrt(k) times the lesser one carries both: the
        eigenvalues of `empty^-1 laden` are at least 1 and their sum is its trace.
        """
        found = empty.copy()
        for own in self._arms:
            more = laden[own, own] - empty[own, own]
            ratio = 1.0 + float(np.trace(solved(empty[own, own], more)))
            found[own, own] += more / (1.0 + math.sqrt(max(ratio, 1.0)))
        return found

    def _gravity(self, q: Array, held: bool) -> Array:
        """Return the support torque; the last good one if the model fails."""
        try:
            tau = np.array(self._support(q, held), dtype=float)
        except RobotDynamicsError:
            return self._last_support.copy()
        if tau.shape != q.shape or not np.isfinite(tau).all():
            return self._last_support.copy()
        self._last_support = tau
        return tau.copy()


class Fallback:
    """The fallback of all arms: held positions, lost arms, and arms released to their drives.

    Attributes:
        torques: Torques of the configured fallback.
        lost: Arms whose state is not known.
        released: Names of the arms that must not get commands any more: their drives hold them.
        disproved: Response to a wrong model; a reset keeps it.

    Args:
        torques: Torques of the configured fallback.
        arms: Names of the arms, in the order of vectors.
        slices: Slice of each arm in vectors over the arm joints.
        settings: End of lost arms.
        clock: Meaning of times.
        period: Control period [s].
    """

    def __init__(
        self,
        torques: FallbackTorque,
        arms: Sequence[str],
        slices: Sequence[slice],
        settings: SafetySettings,
        clock: Clock,
        period: float,
    ) -> None:
        self.torques, self._arms, self._slices = torques, tuple(arms), tuple(slices)
        self._period, self._settling = period, clock.count(_SETTLING_S)
        self._end_after = clock.count(settings.lost_arm_end_after_s)
        self._drives_end = settings.lost_arm_end == "drive_hold"
        self._braking: frozenset[int] = frozenset()
        self._hold, self._holds_next = np.zeros(slices[-1].stop), False
        self._doubtful: set[int] = set()  # arms with an old held position
        self.disproved = Response.NONE
        self.forget()

    def forget(self) -> None:
        """Mark no arm as lost, and command all arms again."""
        self.lost = LostArms(self._end_after)
        self.released: tuple[str, ...] = ()

    def note_drives(self, added: Callable[[Array], Array], braking: Collection[str] = ()) -> None:
        """Set the torques and brakes that drives have by themselves.

        Args:
            added: Returns the torques that drives add to commands at positions (na,).
            braking: Names of the arms whose drives brake when commands stop.
        """
        self.torques.drives_add = added
        self._braking = frozenset(i for i, arm in enumerate(self._arms) if arm in braking)

    def trust_model(self) -> None:
        """Compute torques from the model again."""
        self.disproved = Response.NONE
        self.torques.trust_model()

    def distrust_model(self, response: Response, q: Array, last: Array, *, held: bool) -> None:
        """Hold joints without the model; see `FallbackTorque.hold_joints`."""
        if self.disproved is Response.NONE:
            self.hold(q)
            self.torques.hold_joints(q, last, held=held)
        self.disproved = response

    def hold(self, q: Array) -> None:
        """Hold all joints at positions (na,), old ones of lost arms."""
        self._hold, self._doubtful = q.copy(), set(self.lost)

    def doubt_hold(self, arm: int) -> None:
        """Hold an arm anew with its next sample, because its time has jumped."""
        self._doubtful.add(arm)

    def hold_next(self) -> None:
        """Hold all joints at the positions passed to the next call of `torque`."""
        self._holds_next = True

    def take_back(self, arms: Collection[int], q: Array) -> None:
        """Hold arms that came back, with the others as they hold one object.

        A closed chain between an old and a new position would be stressed more and more. An arm
        that was held before it was lost, and is near that place, is brought back there: else
        samples that fail again and again would let it creep.

        Args:
            arms: Numbers of the arms.
            q: Last good positions (na,).
        """
        for i in arms:
            own = self._slices[i]
            if i in self._doubtful or np.abs(q[own] - self._hold[own]).max() > _BACK:
                self.move_hold(q)
                return

    def move_hold(self, q: Array) -> None:
        """Hold all joints at positions (na,) where these are known, with the loads found."""
        known = np.isfinite(q)
        for i in self.lost:
            known[self._slices[i]] = False
        self._hold = np.where(known, q, self._hold)
        self._doubtful = set(self.lost)
        self._hold = self.torques.move_hold(self._hold, self.lost)

    def torque(
        self,
        now: int,
        q: Array,
        qd: Array,
        last: Array,
        *,
        held: bool,
        false: Collection[str] = (),
        lagging: Collection[str] = (),
        still_s: float = 0.0,
    ) -> Array:
        """Return the torque (na,) to send now.

        Args:
            now: Current time.
            q: Last good positions (na,).
            qd: Last good velocities (na,).
            last: Torque that was sent last (na,).
            held: Whether the object is held, so that its weight counts.
            false: Names of the arms with false samples.
            lagging: Names of the arms whose velocities are means over `MEMORY_S`.
            still_s: Time since the samples of all arms stopped changing; 0 if they did not [s].
        """
        if self._holds_next:
            self._holds_next = False
            self.hold(q)
        # Only brakes are a safe end of commands: other drives fall, or keep the last torque. They
        # brake an arm with false samples as soon as the last torque that it got is the fallback's.
        ending = self._braking if self._drives_end else range(len(self._arms))
        hopeless = self._numbers(false) if self._drives_end else ()
        self.lost.give_up(now, ending, hopeless, self._settling)
        ended: Collection[int] = self.lost.ended
        if self._drives_end:
            self.released = tuple(self._arms[i] for i in ended)
        if self.disproved is not Response.NONE:
            ended = self._leave_to_drives(ended, last, q)
        return self.torques.torque(
            q,
            qd,
            self._hold,
            last,
            self._period,
            held=held,
            lost=self.lost,
            ended=ended,
            lagging=self._numbers(lagging),
            still_s=still_s,
        )

    def _numbers(self, names: Collection[str]) -> list[int]:
        return [i for i, arm in enumerate(self._arms) if arm in names]

    def _leave_to_drives(self, ended: Collection[int], last: Array, q: Array) -> Collection[int]:
        """Release arms to their drives; return the arms that get zero torque.

        Brakes need no model. Without brakes the joints are held by the measurements. If the hold
        drives a joint, the commands first become zero and then cease, because a drive may hold its
        last torque.
        """
        left = set(self._braking)
        if self.disproved is Response.GIVE_UP:
            ended = range(len(self._arms))
            if self._drives_end and self.torques.is_zero(last, q):
                left.update(ended)
        self.released = tuple(
            arm for i, arm in enumerate(self._arms) if i in left or arm in self.released
        )
        return ended
