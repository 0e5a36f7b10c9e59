# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a control instant: cheap when all is well, and exact about what is not.

Comparisons are written so that a NaN is beyond every bound: nothing else has to look for it first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.joint_motion import MEMORY_S, JointMotion, motion_program
from robot_dynamics.control.link_distance import LinkDistances, Proximity
from robot_dynamics.control.rotation_path import conjugate, rotated
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.wrench_residual import ObjectDeviation, WrenchResidual
from robot_dynamics.errors import ArgumentError
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import norm
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_HUGE = np.finfo(float).max  # stands for no limit: infinities and NaN are still beyond it
# Part of what encoders and filters may cause that is allowed to an arm where something else speaks
# against it: a speed beyond its limit, or another arm whose numbers are false.
_FAST_DOUBT, _OTHERS_DOUBT = 0.05, 0.3
_FORCED = 0.05  # change of a torque over its limit, which moves an arm that is not held otherwise


class MeasurementCheck:
    """Joint states and wrenches, against position and velocity limits.

    Attributes:
        q: Positions given last (na,), good or not.
        qd: Velocities given last (na,).
        lower, upper: Limits of positions, velocities and wrenches in one row (2 na + 6 k,).

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        limits: "lower", "upper", "velocity", "effort" over the arm joints (na,).
        wrench_count: Number of measured wrenches.
        wrench_limits: Largest moment [N m] and force [N] along an axis that a sensor may tell.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        limits: Mapping[str, Array],
        wrench_count: int = 0,
        wrench_limits: tuple[float, float] = (np.inf, np.inf),
    ) -> None:
        self._arms = {name: tuple(joints) for name, joints in arms.items()}
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        na = len(self._joints)
        # One vector, compared with its bounds at once.
        moment, force = wrench_limits
        free = np.tile([moment] * 3 + [force] * 3, wrench_count)
        speed = limits["velocity"]
        self.lower = np.maximum(np.concatenate([limits["lower"], -speed, -free]), -_HUGE)
        self.upper = np.minimum(np.concatenate([limits["upper"], speed, free]), _HUGE)
        self.q, self.qd, self._wrenches = np.zeros(na), np.zeros(na), np.zeros((wrench_count, 6))
        self._no_wrenches = self._wrenches
        self._passed, self._count = np.zeros(len(self._arms)), na
        ends = np.cumsum([0, *(len(names) for names in self._arms.values())]).tolist()
        self._slices = tuple(slice(a, b) for a, b in pairwise(ends))
        key = f"joint_motion {ends} {wrench_count}".encode()
        program = load_kernel(key, lambda: motion_program(self._slices, wrench_count), lanes=1)
        self._kernel = program.bind(np.concatenate([self.lower, self.upper]))
        self._state = self._before = np.zeros(6 * na + 2 * len(self._arms))
        self._anew = set(self._arms)  # who is compared with nothing that was before
        self._unseen: dict[str, float] = {}  # time since samples of an arm were numbers [s]
        self._false: dict[str, str] = {}
        self._effort, self._torque_then = limits["effort"], np.full(na, np.nan)

    @property
    def false_arms(self) -> frozenset[str]:
        """Names of the arms whose samples are false, and will not be trusted until `begin`."""
        return frozenset(self._false)

    def step_speeds(self) -> Array:
        """Return mean speeds of the joints between the last two samples (na,); 0 if unknown."""
        count = len(self._arms)
        now, before = (JointMotion.of(one, count).q for one in (self._state, self._before))
        passed = np.repeat(self._passed, [own.stop - own.start for own in self._slices])
        known = (passed > 0.0) & np.isfinite(self.q)
        return np.divide(np.abs(now - before), passed, out=np.zeros_like(passed), where=known)

    def begin(self) -> None:
        """Trust all arms again, and compare with nothing that was measured before."""
        self._anew = set(self._arms)
        self._unseen.clear()
        self._false.clear()

    def distrust(self, arm: str, why: str) -> None:
        """Take the samples of an arm for false from now on, until `begin`."""
        self._false.setdefault(arm, why)

    def begin_arm(self, arm: str) -> None:
        """Compare an arm with nothing that was measured before."""
        self._anew.add(arm)

    def fits(
        self, q: Array, qd: Array, wrenches: Array | None = None, passed: Array | float = 0.0
    ) -> bool:
        """Take samples; return whether they are good, false also where `judge` has to decide.

        Args:
            q: Positions (na,).
            qd: Velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced; none is no mistake.
            passed: Time between the last samples and these, of each arm or of all [s].

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        if wrenches is None:
            wrenches = self._no_wrenches
        if isinstance(passed, float):
            self._passed.fill(passed)
        else:
            self._passed[:] = passed
        before = self._state
        try:
            beyond, self._state = self._kernel(q, qd, wrenches, self._passed, before)
        except ValueError:
            self._refuse_shapes(q, qd, wrenches)
            raise
        self.q, self.qd, self._wrenches, self._before = q, qd, wrenches, before
        return beyond.item(0) <= 0.0 and not (self._false or self._anew or self._unseen)

    def judge(
        self, lost: Collection[str] = (), torque: Array | None = None, *, linked: bool = True
    ) -> bool:
        """Return whether the last samples are numbers within their limits, and of one motion.

        An arm whose numbers contradict each other is not trusted until `begin`.

        Args:
            lost: Names of arms whose samples are not compared with those before.
            torque: What the law has sent last (na,); None if it does not run.
            linked: Whether all arms hold one rigid object.
        """
        self._compare(lost, torque, linked=linked)
        values = np.concatenate([self.q, self.qd, self._wrenches.ravel()])
        within = (self.lower <= values).all() and (values <= self.upper).all()
        return bool(within) and not self._false

    def _refuse_shapes(self, q: Array, qd: Array, wrenches: Array) -> None:
        if len(q) != self._count or len(qd) != self._count:
            raise ArgumentError(
                f"{len(q)} positions and {len(qd)} velocities, expected {self._count} of each."
            )
        if wrenches.shape != self._wrenches.shape:
            raise ArgumentError(
                f"wrenches of shape {wrenches.shape}, expected {self._wrenches.shape}."
            )

    def first_beyond(self, q: Array, qd: Array, wrenches: Array) -> Finding | None:
        """Return the first of other values that is no number or beyond a limit, if there is one.

        Args:
            q: Positions (na,).
            qd: Velocities (na,).
            wrenches: Wrenches (k, 6).
        """
        kept = self.q, self.qd, self._wrenches
        self._refuse_shapes(q, qd, wrenches)
        self.q, self.qd, self._wrenches = q, qd, wrenches
        found = next(self.findings(), None)
        self.q, self.qd, self._wrenches = kept
        return found

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the values given last; numbers that are none come first."""
        for arm, joints in self._arms.items():
            bad = next(self._not_finite(joints), None)
            bad = bad or self._false.get(arm)
            if bad:
                yield Finding(Cause.ARM_LOST, arm, bad)
        if not np.isfinite(self._wrenches).all():
            yield Finding(Cause.WRENCH_LOST, "wrenches", "a number is not finite.")
            self._wrenches = np.zeros_like(self._wrenches)  # complained about once
        limits = self.upper[2 * len(self._joints) :].reshape(-1, 6)
        beyond = np.abs(self._wrenches) > limits
        if beyond.any():
            worst, limit = self._wrenches[beyond][0], limits[beyond][0]
            sentence = f"{worst:.4g} is beyond what is plausible, {limit:.4g} N or N m."
            yield Finding(Cause.WRENCH_LOST, "wrenches", sentence)
            self._wrenches = np.zeros_like(self._wrenches)
        na = len(self._joints)
        for cause, what, values, at in (
            (Cause.POSITION_LIMIT, "position", self.q, slice(0, na)),
            (Cause.VELOCITY_LIMIT, "velocity", self.qd, slice(na, 2 * na)),
        ):
            bounds = zip(self._joints, values, self.lower[at], self.upper[at], strict=True)
            for joint, value, lower, upper in bounds:
                if np.isfinite(value) and not lower <= value <= upper:
                    sentence = f"{what} {value:.4g} is beyond its limits {lower:.4g}, {upper:.4g}."
                    yield Finding(cause, joint, sentence)

    def _compare(self, lost: Collection[str], torque: Array | None, *, linked: bool) -> None:
        """Note whose samples contradict those before, and begin anew where there are none."""
        count, na = len(self._arms), self._count
        now, before = JointMotion.of(self._state, count), JointMotion.of(self._before, count)
        now.since[np.isnan(now.since)] = 0.0  # of arms beside one whose numbers are none
        # What else speaks against an arm: impossible speeds, or that another one is false.
        doubt = np.where(np.abs(self.qd) <= self.upper[na : 2 * na], 1.0, _FAST_DOUBT)
        in_time = (self._passed >= 0.0) & (self._passed <= MEMORY_S)
        # On one rigid object none is still beside one that must have moved.
        stale = linked and any(
            arm in self._false and now.is_still(i) for i, arm in enumerate(self._arms)
        )
        compared = []
        for i, (arm, own) in enumerate(zip(self._arms, self._slices, strict=True)):
            passed = float(self._passed[i]) + self._unseen.get(arm, 0.0)
            if not (np.isfinite(self.q[own]).all() and np.isfinite(self.qd[own]).all()):
                # The kernel is given numbers only.
                now.begin(i, own, before.q[own], 0.0 * before.q[own])
                self._unseen[arm] = passed
            elif arm in self._anew or arm in lost or arm in self._unseen or not in_time[i]:
                if passed >= 0.0 and arm not in self._anew and arm not in self._false:
                    speed = self.upper[na : 2 * na]
                    self._note(
                        arm, now.why_far(self._arms, self._slices, i, before, speed, passed)
                    )
                now.begin(i, own, self.q[own], self.qd[own])
                self._anew.discard(arm)
                self._unseen.pop(arm, None)
            else:
                compared.append((i, arm, own))
            if arm in self._false:  # what it tells is no motion that others must show
                now.since[own] = 0.0
        for _ in self._arms:  # once more for the others if one is found false
            found = len(self._false)
            if found:
                doubt = np.minimum(doubt, _OTHERS_DOUBT)
            for i, arm, own in compared:
                if arm not in self._false:
                    why = now.why_false(
                        self._arms,
                        self._slices,
                        i,
                        before,
                        doubt,
                        passed=float(self._passed[i]),
                        forced=stale or self._is_forced(now, i, own, torque),
                        linked=linked,
                    )
                    if self._note(arm, why):
                        now.since[own] = 0.0
            if len(self._false) in (found, count):
                return

    def _note(self, arm: str, why: str) -> bool:
        """Trust an arm no longer if there is a reason; return whether there is one."""
        if why:
            self._false[arm] = why
        return bool(why)

    def _is_forced(self, now: JointMotion, arm: int, own: slice, torque: Array | None) -> bool:
        """Return whether torques have changed much since an arm tells nothing new."""
        if not now.is_still(arm) or torque is None:
            self._torque_then[own] = np.nan
            return False
        then = self._torque_then[own]
        # Nobody asks while an arm moves: torques of an earlier rest do not count.
        if now.becomes_still(arm) or np.isnan(then).any():
            then[:] = torque[own]
        return bool((np.abs(torque[own] - then) > _FORCED * self._effort[own]).any())

    def _not_finite(self, joints: Sequence[str]) -> Iterator[str]:
        for what, values in (("position", self.q), ("velocity", self.qd)):
            for joint in joints:
                value = values[self._joints.index(joint)]
                if not np.isfinite(value):
                    yield f"{what} of joint {joint!r} is {value}; expected a finite number."


class StepFigures(NamedTuple):
    """A step of the law in the few numbers that are compared with limits.

    Attributes:
        excess: Largest torque beyond its effort limit [N m or N]; negative within.
        change: Largest change of a torque since the last one that was sent.
        turned: Angle from the object to its reference [rad].
        moved: Distance from the object to its reference [m].
        closure_angle: Largest disagreement of an arm with the first about the object [rad].
        closure_distance: The same of its position [m].
        link_margin: By how much the distances of links exceed their least ones, at the worst pair
            [m]; infinite if they are not checked.
        wrench_excess: By how much the wrench residual of a held body exceeds its limits, at the
            worst body [N]; minus infinity if wrenches are not measured.
    """

    excess: float
    change: float
    turned: float
    moved: float
    closure_angle: float
    closure_distance: float
    link_margin: float
    wrench_excess: float


_BEYOND = len(StepFigures._fields)  # what follows the figures
_WRENCH_EXCESS = StepFigures._fields.index("wrench_excess")


class StepCheck:
    """A step of the law against limits.

    Looked at are torques, tracking errors, disagreements of the arms, distances of links, and what
    wrist sensors measure of held bodies. One compiled call reduces the arrays of a step to
    `StepFigures`; the sentences about what is wrong are made only then.

    Attributes:
        proximity: Distances of links; None without.
        bodies: Limits of what wrist sensors measure of each held body; none without sensors.
        residuals: States of their filters (b, 11).
        doubtful: Whether wrist sensors measure more than is good of what motion does not explain.

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        effort: Largest torques (na,).
        settings: Limits.
        proximity: Distances of links.
        bodies: Limits of what wrist sensors measure.
        largest_change: Of a torque since the last one that was sent.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        effort: Array,
        settings: SafetySettings,
        proximity: Proximity | None = None,
        bodies: Sequence[WrenchResidual] = (),
        largest_change: float = np.inf,
    ) -> None:
        self._arms, self._settings = tuple(arms), settings
        tracking = settings.tracking_limit_rad, settings.tracking_limit_m
        closure = settings.closure_warning_rad, settings.closure_warning_m
        self._limits = np.minimum([largest_change, *tracking, *closure], _HUGE)
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        self._shape = (len(self._joints),)
        # What the law has limited itself may exceed the limit by its rounding.
        self._effort = np.minimum(effort * (1.0 + 1e-9), _HUGE)
        self._usable = np.minimum(effort * settings.effort_fraction, _HUGE)
        self.proximity = proximity if proximity and proximity.distances.pairs else None
        self.bodies = tuple(bodies)
        distances = self.proximity.distances if self.proximity else None
        na, others = len(self._joints), len(self._arms) - 1
        key = b"step_check\0%d %d %d " % (na, others, len(self.bodies))
        self._source = (
            key + (distances.structure_key if distances else b""),
            lambda: _step_program(na, others, len(self.bodies), distances),
        )
        self._program = load_kernel(*self._source, lanes=1)
        self._no_error, self._no_closure = np.zeros(6), np.zeros(6 * others)
        self._closed = others > 0
        self._band = max((body.band for body in self.bodies), default=0.0)
        self._band_of_doubt = max((body.band_of_doubt for body in self.bodies), default=0.0)
        self._no_wrenches = np.zeros((len(self.bodies), 18))
        self._no_positions = np.zeros(distances.joint_count if distances else 0)
        self._no_pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        self.begin()

    def begin(self) -> None:
        """Forget what was measured of held bodies, and take the least distances of links."""
        self._kernel = self._program.bind(self.block)
        self.doubtful = False
        self._seen: tuple[Array | None, Array | None] = None, None
        self.residuals = np.zeros((len(self.bodies), 11))

    @property
    def block(self) -> Array:
        """The parameters of the compiled check, by the least distances at present."""
        bodies = (body.parameters for body in self.bodies)
        blocks: list[Any] = [self._effort, self._limits, *bodies]
        if self.proximity:
            blocks.append(self.proximity.distances.parameters)
        return np.concatenate(blocks)

    def batch(self, blocks: Array) -> OwnParameters:
        """Return the compiled check of cells with a `block` each (N, any); see `_step_program`."""
        return OwnParameters(*self._source, blocks)

    def torque_missing(self, torque: Array | None) -> Finding | None:
        """Return that the law gave no torque, or not one for each joint, if that is so."""
        if torque is None:
            return Finding(Cause.CONTROLLER_FAILED, "controller", "the law gave no torque.")
        if torque.shape == self._shape:
            return None
        sentence = f"the law gave {torque.size} torques, expected {len(self._joints)}."
        return Finding(Cause.TORQUE_INVALID, "controller", sentence)

    def passes(
        self,
        torque: Array,
        last: Array,
        error: Array | None = None,
        closure: Array | None = None,
        q: Array | None = None,
        pose: Array | None = None,
        wrenches: Array | None = None,
    ) -> bool:
        """Return whether a step is within its limits in everything; `figures` says in what not.

        Args:
            torque: The law's torque (na,).
            last: The torque that was sent last (na,).
            error: Rotation vector and displacement from the object to its reference (6,).
            closure: Disagreement with the first arm, rotation vector and displacement, of every
                other arm (6(k-1),) [rad, m].
            q: Positions of the arm joints (na,), for distances of links.
            pose: Of the object in the world, x y z qx qy qz qw (7,), likewise.
            wrenches: Of held bodies (b, 18); see `LawStep.held_body_wrenches`. None if they are
                not measured: the filter stays as it is.
        """
        self._seen = error, pose
        arrays: list[Any] = [torque, last, self._no_error if error is None else error]
        if self._closed:
            arrays.append(self._no_closure if closure is None else closure)
        self._placed, self._measured = q is not None and pose is not None, wrenches is not None
        if self.proximity:
            at = self._no_positions if q is None else self.proximity.distances.positions(q)
            arrays += at, self._no_pose if pose is None else pose
        if self.bodies:
            arrays += self._no_wrenches if wrenches is None else wrenches, self.residuals
            self._figures, residuals = self._kernel(*arrays)
            if wrenches is not None:
                self.residuals = residuals
                band = self._band_of_doubt if self.doubtful else self._band
                self.doubtful = self._figures.item(_WRENCH_EXCESS) > -band
        else:
            self._figures = self._kernel(*arrays)
        return bool(self._figures.item(_BEYOND) <= 0.0)

    def figures(self) -> StepFigures:
        """Return the figures of the step that `passes` was asked about last."""
        figures = StepFigures(*self._figures[:_BEYOND].tolist())
        if not self._placed:
            figures = figures._replace(link_margin=np.inf)
        return figures if self._measured else figures._replace(wrench_excess=-np.inf)

    def motion(self, figures: StepFigures) -> ObjectDeviation:
        """Return what a step's figures say about the object without wrist sensors."""
        settings = self._settings
        apart = not (
            figures.closure_distance <= settings.closure_warning_m
            and figures.closure_angle <= settings.closure_warning_rad
        )
        error, pose = self._seen
        way = None
        if error is not None and pose is not None and len(self.bodies) == 1:
            way = np.hstack([rotated(conjugate(pose[3:]), part) for part in error.reshape(2, 3)])
        return ObjectDeviation(figures.moved, figures.turned, apart if self._closed else None, way)

    def wrench_findings(self, wrenches: Array, wrists: Array | None = None) -> Iterator[Finding]:
        """Yield the bodies on which wrist sensors measure what their motion does not explain.

        Args:
            wrenches: Those given to `passes` last (b, 18).
            wrists: Measured grasp wrenches of all arms (k, 6), in tool frames; None if unknown.
        """
        motion = self.motion(self.figures())
        for body, measured, state in zip(self.bodies, wrenches, self.residuals, strict=True):
            if not body.excess(measured.tolist(), state.tolist(), body.parameters) <= 0.0:
                yield body.finding(measured, state, motion, wrists)

    def wrench_warnings(self, wrenches: Array, wrists: Array | None = None) -> Iterator[str]:
        """Yield a sentence for each body that is `doubtful`; see `wrench_findings`."""
        motion = self.motion(self.figures())
        for body, measured, state in zip(self.bodies, wrenches, self.residuals, strict=True):
            if body.excess(measured.tolist(), state.tolist(), body.parameters) > -body.band:
                yield body.warning(measured, state, motion, wrists)

    def torque_finding(self, torque: Array) -> Finding:
        """Return which torque is beyond its limit, or no number."""
        i = int(np.argmin(abs(torque) <= self._effort))
        wanted, most = apart(torque[i], self._effort[i], digits=4)
        return Finding(
            Cause.TORQUE_INVALID,
            self._joints[i],
            f"the law wants {wanted} N m; expected a finite torque of at most {most} N m.",
        )

    def support_finding(self, support: Array) -> Finding | None:
        """Return the joint that lacks torque to hold arms and object up, if there is one."""
        if (abs(support) <= self._usable).all():
            return None
        i = int(np.argmax(np.nan_to_num(abs(support) / self._usable, nan=np.inf)))
        taken, most = apart(abs(support[i]), self._usable[i], digits=4)
        return Finding(
            Cause.SUPPORT_LIMIT,
            self._joints[i],
            f"holding arms and object up takes {taken} N m; expected at most {most} N m.",
        )

    def tracking_finding(self, turned: float, moved: float) -> Finding | None:
        """Return that the object is too far from its reference, if it is [rad], [m]."""
        settings = self._settings
        if turned <= settings.tracking_limit_rad and moved <= settings.tracking_limit_m:
            return None
        sentence = (
            f"{moved:.3g} m and {turned:.3g} rad from its reference, expected at most "
            f"{settings.tracking_limit_m:g} m and {settings.tracking_limit_rad:g} rad."
        )
        return Finding(Cause.TRACKING_LOST, "object", sentence)

    def scaled_finding(self, task_scale: float) -> Finding:
        """Return that limits have scaled the task for too long."""
        sentence = (
            f"torque limits let no more than {100 * task_scale:.0f} % of it through for "
            f"{self._settings.scaled_for_s:g} s."
        )
        return Finding(Cause.TRACKING_LOST, "task", sentence)

    def closure_findings(self, closure: Array) -> Iterator[Finding]:
        """Yield the grasps that are lost."""
        settings = self._settings
        for arm, values in zip(self._arms[1:], closure.reshape(-1, 6).tolist(), strict=True):
            angle, distance = math.hypot(*values[:3]), math.hypot(*values[3:])
            if not (distance <= settings.closure_limit_m and angle <= settings.closure_limit_rad):
                yield Finding(
                    Cause.GRASP_LOST,
                    arm,
                    f"it and arm {self._arms[0]!r} disagree by {distance:.3g} m and {angle:.3g} "
                    f"rad about the object; expected at most {settings.closure_limit_m:g} m and "
                    f"{settings.closure_limit_rad:g} rad.",
                )


def _step_program(na: int, others: int, bodies: int, distances: LinkDistances | None) -> Program:
    """Return the program of `StepFigures`; NaN goes through `maximum`, so that it is beyond all.

    Inputs: torque (na,), last (na,), error (6,); of more than one arm closure (6(k-1),); with
    distances of links positions of all joints and the object's pose (7,); with held bodies their
    wrenches (b, 18) and the states of their filters (b, 11).
    Parameters: largest torques (na,), limits of torque change, tracking and closure (5,), those of
    each body (5,), those of the distances.
    Outputs: the figures and by how much the worst of them is beyond its limit, and with held
    bodies the next states of their filters.
    """
    inputs: dict[str, int | tuple[int, ...]] = {"torque": na, "last": na, "error": 6}
    if others:
        inputs["closure"] = 6 * others
    if distances:
        inputs |= {"q": distances.joint_count, "pose": 7}
    if bodies:
        inputs |= {"wrenches": (bodies, 18), "residuals": (bodies, 11)}
    first = na + 5
    end = first + 5 * bodies

    def run(*arguments: Any) -> dict[str, Any]:
        given, block = dict(zip(inputs, arguments, strict=False)), arguments[-1]
        torque, last, closure = given["torque"], given["last"], given.get("closure", ())
        excess = _largest([absolute(torque[j]) - block[j] for j in range(na)])
        change = _largest([absolute(torque[j] - last[j]) for j in range(na)])
        pairs = [_sizes(closure[6 * i : 6 * i + 6]) for i in range(others)]
        apart = [_largest([0.0, *values]) for values in zip(*pairs, strict=True)] or [0.0, 0.0]
        margin = (
            distances.traced(given["q"], given["pose"], block[end:])[1] if distances else np.inf
        )
        states, excesses = [], []
        for i in range(bodies):
            measured, own = given["wrenches"][i], block[first + 5 * i : first + 5 * i + 5]
            states.append(WrenchResidual.next_state(measured, given["residuals"][i], own))
            excesses.append(WrenchResidual.excess(measured, states[i], own))
        limited = [change, *_sizes(given["error"]), *apart]
        beyond = [excess, -margin, *excesses]
        beyond += [x - limit for x, limit in zip(limited, block[na:first], strict=True)]
        wrench_excess = _largest(excesses) if bodies else -np.inf
        figures = [excess, *limited, margin, wrench_excess, _largest(beyond)]
        return {"figures": figures, **({"residuals": states} if bodies else {})}

    parameters = end + (len(distances.parameters) if distances else 0)
    return trace(run, name="step_check", inputs=inputs, parameters=parameters)


def _largest(values: Sequence[Any]) -> Any:
    return reduce(maximum, values)


def _sizes(values: Any) -> tuple[Any, Any]:
    """Return the sizes of rotation vector and displacement (6,)."""
    return norm(values[:3]), norm(values[3:6])
