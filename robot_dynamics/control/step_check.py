# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules for a step of the control law, the same for one cell and for a batch of cells.

One compiled call reduces the arrays of a step to `StepFigures`. A `Rule` compares some of them
with limits. If a rule is broken, the arrays are read again for findings that name the joint, arm
or body. Every comparison is written so that NaN breaks the rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.control.control_law import HeldStep
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.link_distance import LinkDistances, Proximity
from robot_dynamics.control.rotation_path import conjugate, rotated
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.wrench_residual import ObjectDeviation, WrenchResidual
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import norm
from robot_dynamics.wording import apart

#: Later than every time of a clock; the start of a condition that does not hold.
NEVER = int(np.iinfo(np.int64).max)
_HUGE = np.finfo(float).max  # stands for no limit: infinities and NaN are still beyond it


class StepFigures(NamedTuple):
    """Numbers of a step that are compared with limits: of one cell, or arrays (n,) of n cells.

    Attributes:
        excess: Largest torque beyond its effort limit [N m or N]; negative within.
        change: Largest change of a torque since the last one that was sent.
        turned: Angle from the object to its reference [rad].
        moved: Distance from the object to its reference [m].
        closure_angle: Largest disagreement of an arm with the first about the object [rad].
        closure_distance: The same of its position [m].
        link_margin: Smallest distance of links beyond the least one allowed [m]; infinite if
            distances are not checked.
        wrench_excess: Largest wrench residual of a held body beyond its limit [N]; minus infinity
            if wrenches are not measured.
        scaled: Time for which limits have scaled the task too much, in units of the clock.
        tilt: Largest tilt of a soft finger from its grasp [rad].
        support_ratio: Largest support torque over its limit.
    """

    excess: Any
    change: Any
    turned: Any
    moved: Any
    closure_angle: Any
    closure_distance: Any
    link_margin: Any
    wrench_excess: Any
    scaled: Any
    tilt: Any
    support_ratio: Any


_WRENCH_EXCESS = StepFigures._fields.index("wrench_excess")
_BEYOND = _WRENCH_EXCESS + 1  # column after the compiled figures
#: Number of compiled columns: the figures up to `wrench_excess`, and the largest excess of any.
COMPILED = _BEYOND + 1


class CellStep(NamedTuple):
    """A step of one cell with the other data that findings are made from.

    Attributes:
        step: Step of the law; a `LawStep` suffices if the arms hold no object.
        torque: Its torque (na,), or a substitute if it gave none.
        q: Measured positions of the arm joints (na,).
        figures: Figures of the step.
        residuals: Filter states of the held bodies, with this step (b, 11).
        wrists: Measured grasp wrenches of all arms (k, 6), in tool frames; None if not measured.
    """

    step: HeldStep
    torque: Array
    q: Array
    figures: StepFigures
    residuals: Array
    wrists: Array | None


class Rule(NamedTuple):
    """A rule for a step of the law.

    Attributes:
        kept: Returns whether figures keep the rule, for one cell or for each of n cells.
        findings: Returns the findings about a cell that breaks it; there may be none.
    """

    kept: Callable[[StepFigures], Any]
    findings: Callable[[CellStep], Iterable[Finding]]


class StepCheck:
    """Rules for the steps of a law, and their compiled figures.

    Attributes:
        rules: Rules in the order of reported findings.
        proximity: Distances of links; None without.
        bodies: Limits of the wrench residual of each held body; empty without wrist sensors.
        residuals: States of their filters (b, 11).
        doubtful: Whether a wrench residual is beyond its warning limit.
        largest_change: Largest change of a torque in a control period.

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        effort: Effort limits (na,).
        settings: Limits.
        proximity: Distances of links; they are not checked without.
        bodies: Limits of the wrench residual of each held body.
        soft_fingers: Names of the arms whose tilt on the object is limited.
        holds_object: Whether the arms hold an object.
        period: Control period [s].
        scaled_for: Longest time for which limits may scale the task below `least_task_scale`, in
            units of the clock.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        effort: Array,
        settings: SafetySettings,
        *,
        proximity: Proximity | None = None,
        bodies: Sequence[WrenchResidual] = (),
        soft_fingers: Sequence[str] = (),
        holds_object: bool = True,
        period: float = math.inf,
        scaled_for: int = 0,
    ) -> None:
        self._arms, self._settings = tuple(arms), settings
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        # A torque that the law has limited may exceed the limit by rounding.
        self.largest_change = settings.torque_rate * period * (1.0 + 1e-9)
        self._effort = np.minimum(effort * (1.0 + 1e-9), _HUGE)
        self._usable = np.minimum(effort * settings.effort_fraction, _HUGE)
        self.proximity = proximity if proximity and proximity.distances.pairs else None
        self.bodies, self._soft_fingers = tuple(bodies), tuple(soft_fingers)
        self._scaled_for, self._tilt = scaled_for, math.radians(settings.tilt_limit_deg)
        distances = self.proximity.distances if self.proximity else None
        na, self._others = len(self._joints), len(self._arms) - 1 if holds_object else 0
        others, count = self._others, len(self.bodies)
        key = b"step_check\0%d %d %d " % (na, others, count)
        self._source = (
            key + (distances.structure_key if distances else b""),
            lambda: _step_program(na, others, count, distances),
        )
        self._program = load_kernel(*self._source, lanes=1)
        self._no_wrenches = np.zeros((count, 18))
        # Distance below the limit from which a residual is doubtful, and the same once it has
        # been.
        self._bands = (
            max((body.band for body in self.bodies), default=0.0),
            max((body.band_of_doubt for body in self.bodies), default=0.0),
        )
        self.rules = (
            Rule(lambda f: f.link_margin >= 0.0, self._proximity_findings),
            Rule(lambda f: f.wrench_excess <= 0.0, self._wrench_findings),
            Rule(lambda f: f.excess <= 0.0, self._torque_findings),
            Rule(self._grasps_hold, self._closure_findings),
            Rule(self._is_on_track, self._tracking_findings),
            Rule(lambda f: f.scaled <= self._scaled_for, self._scaled_findings),
            Rule(lambda f: f.tilt <= self._tilt, self._tilt_findings),
            Rule(lambda f: f.support_ratio <= 1.0, self._support_findings),
        )
        self.begin()

    def begin(self) -> None:
        """Reset the filters of held bodies, and take the present least distances of links."""
        self._kernel = self._program.bind(self.block)
        self.doubtful = self._measured = False
        self.residuals = np.zeros((len(self.bodies), 11))

    @property
    def block(self) -> Array:
        """Parameters of the compiled figures, with the present least distances."""
        s = self._settings
        tracking = s.tracking_limit_rad, s.tracking_limit_m
        closure = s.closure_warning_rad, s.closure_warning_m
        limits = np.minimum([self.largest_change, *tracking, *closure], _HUGE)
        blocks: list[Any] = [self._effort, limits, *(body.parameters for body in self.bodies)]
        if self.proximity:
            blocks.append(self.proximity.distances.parameters)
        return np.concatenate(blocks)

    def batch(self, blocks: Array) -> OwnParameters:
        """Return the compiled figures of cells with a `block` each (N, parameters)."""
        return OwnParameters(*self._source, blocks)

    # -- one cell -----------------------------------------------------------------------------

    def torque_missing(self, torque: Array | None) -> Finding:
        """Return the finding that there is no torque, or not one for each joint."""
        if torque is None:
            return Finding(Cause.CONTROLLER_FAILED, "controller", "the law gave no torque.")
        sentence = f"the law gave {torque.size} torques, expected {len(self._joints)}."
        return Finding(Cause.TORQUE_INVALID, "controller", sentence)

    def passes(
        self, step: HeldStep, torque: Array, last: Array, q: Array, *, measured: bool
    ) -> bool:
        """Return whether a step keeps every rule, except for the time that limits scale it.

        Args:
            step: Step of the law; a `LawStep` suffices if the arms hold no object.
            torque: Its torque (na,), or a substitute if it gave none.
            last: Torque that was sent last (na,).
            q: Positions of the arm joints (na,).
            measured: Whether wrenches are measured; the filters do not change without.
        """
        arrays: list[Any] = [torque, last, step.error]
        if self._others:
            arrays.append(step.closure)
        if self.proximity:
            arrays += self.proximity.distances.positions(q), step.pose
        if self.bodies:
            wrenches = step.held_body_wrenches if measured else self._no_wrenches
            self._figures, residuals = self._kernel(*arrays, wrenches, self.residuals)
            if measured:
                self.residuals = residuals
                self.doubtful = self._figures.item(_WRENCH_EXCESS) > -self._bands[self.doubtful]
        else:
            self._figures = self._kernel(*arrays)
        self._measured = measured
        return bool(
            self._figures.item(_BEYOND) <= 0.0
            and step.support_torque_ratio <= 1.0
            and (not self._soft_fingers or all(x <= self._tilt for x in step.tilts.tolist()))
        )

    def figures(self, step: HeldStep, scaled: int) -> StepFigures:
        """Return the figures of the step that `passes` checked last.

        Args:
            step: That step.
            scaled: See `StepFigures`.
        """
        compiled = self._figures[:_BEYOND].tolist()
        if not self._measured:
            compiled[_WRENCH_EXCESS] = -math.inf
        tilt = float(np.max(step.tilts)) if self._soft_fingers else -math.inf
        return StepFigures._make([*compiled, scaled, tilt, step.support_torque_ratio])

    def findings(self, cell: CellStep) -> Iterator[Finding]:
        """Yield the findings about a step of one cell."""
        for rule in self.rules:
            if not rule.kept(cell.figures):
                yield from rule.findings(cell)

    def warnings(self, cell: CellStep) -> Iterator[str]:
        """Yield a sentence for each body whose wrench residual is beyond its warning limit."""
        for body, measured, state in self._residuals(cell):
            if body.excess(measured.tolist(), state.tolist(), body.parameters) > -body.band:
                yield body.warning(measured, state, self.deviation(cell), cell.wrists)

    # -- the rules ----------------------------------------------------------------------------

    def arms_agree(self, figures: StepFigures) -> Any:
        """Return whether the arms agree well about the object's pose."""
        settings = self._settings
        return (figures.closure_distance <= settings.closure_warning_m) & (
            figures.closure_angle <= settings.closure_warning_rad
        )

    def deviation(self, cell: CellStep) -> ObjectDeviation:
        """Return the deviation of the object from its reference, by the joints."""
        figures, step = cell.figures, cell.step
        way = None
        if len(self.bodies) == 1:
            to_object = conjugate(step.pose[3:])
            way = np.hstack([rotated(to_object, part) for part in step.error.reshape(2, 3)])
        apart = not self.arms_agree(figures) if self._others else None
        return ObjectDeviation(figures.moved, figures.turned, apart, way)

    def _grasps_hold(self, figures: StepFigures) -> Any:
        settings = self._settings
        return (figures.closure_distance <= settings.closure_limit_m) & (
            figures.closure_angle <= settings.closure_limit_rad
        )

    def _is_on_track(self, figures: StepFigures) -> Any:
        settings = self._settings
        return (figures.turned <= settings.tracking_limit_rad) & (
            figures.moved <= settings.tracking_limit_m
        )

    def _residuals(self, cell: CellStep) -> Iterable[tuple[WrenchResidual, Array, Array]]:
        return zip(self.bodies, cell.step.held_body_wrenches, cell.residuals, strict=True)

    def _proximity_findings(self, cell: CellStep) -> Iterator[Finding]:
        found = self.proximity and self.proximity.finding(cell.q, cell.step.pose)
        if found:
            yield found

    def _wrench_findings(self, cell: CellStep) -> Iterator[Finding]:
        for body, measured, state in self._residuals(cell):
            if not body.excess(measured.tolist(), state.tolist(), body.parameters) <= 0.0:
                yield body.finding(measured, state, self.deviation(cell), cell.wrists)

    def _torque_findings(self, cell: CellStep) -> Iterator[Finding]:
        i = int(np.argmin(abs(cell.torque) <= self._effort))
        wanted, most = apart(cell.torque[i], self._effort[i], digits=4)
        yield Finding(
            Cause.TORQUE_INVALID,
            self._joints[i],
            f"the law wants {wanted} N m; expected a finite torque of at most {most} N m.",
        )

    def _closure_findings(self, cell: CellStep) -> Iterator[Finding]:
        settings, rows = self._settings, cell.step.closure.reshape(-1, 6).tolist()
        for arm, values in zip(self._arms[1:], rows, strict=True):
            angle, distance = math.hypot(*values[:3]), math.hypot(*values[3:])
            if not (distance <= settings.closure_limit_m and angle <= settings.closure_limit_rad):
                yield Finding(
                    Cause.GRASP_LOST,
                    arm,
                    f"it and arm {self._arms[0]!r} disagree by {distance:.3g} m and {angle:.3g} "
                    f"rad about the object; expected at most {settings.closure_limit_m:g} m and "
                    f"{settings.closure_limit_rad:g} rad.",
                )

    def _tracking_findings(self, cell: CellStep) -> Iterator[Finding]:
        figures, settings = cell.figures, self._settings
        sentence = (
            f"{figures.moved:.3g} m and {figures.turned:.3g} rad from its reference, expected at "
            f"most {settings.tracking_limit_m:g} m and {settings.tracking_limit_rad:g} rad."
        )
        yield Finding(Cause.TRACKING_LOST, "object", sentence)

    def _scaled_findings(self, cell: CellStep) -> Iterator[Finding]:
        sentence = (
            f"torque limits let no more than {100 * cell.step.task_scale:.0f} % of it through for "
            f"{self._settings.scaled_for_s:g} s."
        )
        yield Finding(Cause.TRACKING_LOST, "task", sentence)

    def _tilt_findings(self, cell: CellStep) -> Iterator[Finding]:
        for arm, tilt in zip(self._soft_fingers, cell.step.tilts.tolist(), strict=True):
            if not tilt <= self._tilt:
                angle, most = apart(math.degrees(tilt), self._settings.tilt_limit_deg)
                sentence = (
                    f"its soft finger tilts by {angle} degrees on the object; expected at most "
                    f"{most} degrees."
                )
                yield Finding(Cause.GRASP_TILTED, arm, sentence)

    def _support_findings(self, cell: CellStep) -> Iterator[Finding]:
        support = abs(cell.step.support)
        if not (support <= self._usable).all():
            i = int(np.argmax(np.nan_to_num(support / self._usable, nan=np.inf)))
            taken, most = apart(support[i], self._usable[i], digits=4)
            yield Finding(
                Cause.SUPPORT_LIMIT,
                self._joints[i],
                f"holding arms and object up takes {taken} N m; expected at most {most} N m.",
            )


def _step_program(na: int, others: int, bodies: int, distances: LinkDistances | None) -> Program:
    """Return the program of `StepFigures`; a NaN propagates through `maximum` and breaks the rule.

    Inputs: torque (na,), last (na,), error (6,); with more than one arm closure (6(k-1),); with
        distances of links the positions of all joints and the object's pose (7,); with held bodies
        their wrenches (b, 18) and the states of their filters (b, 11).
    Parameters: largest torques (na,), limits of torque change, tracking and closure (5,), those of
        each body (5,), those of the distances.
    Outputs: the figures and the largest excess over a limit, and with held bodies the next states
        of their filters.
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
