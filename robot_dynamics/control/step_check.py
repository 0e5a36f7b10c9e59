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
from robot_dynamics.compile import Program, shared_kernel, trace
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.control.control_law import HeldStep, LawStep
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.link_distance import LinkDistances, Proximity
from robot_dynamics.control.reference import consecutive
from robot_dynamics.control.rotation_path import conjugate, rotated
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.wrench_residual import ObjectDeviation, WrenchResidual
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import norm
from robot_dynamics.wording import EFFORT_UNITS, apart

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
        tilt: Largest tilt of a soft finger from its grasp [rad]; minus infinity without any.
        support_ratio: Largest support torque over its limit.
        scaled: Time for which limits have scaled the task too much, in units of the clock.
    """

    excess: Any
    change: Any
    turned: Any
    moved: Any
    closure_angle: Any
    closure_distance: Any
    link_margin: Any
    wrench_excess: Any
    tilt: Any
    support_ratio: Any
    scaled: Any


_WRENCH_EXCESS = StepFigures._fields.index("wrench_excess")
_BEYOND = StepFigures._fields.index("scaled")  # column after the compiled figures
#: Number of compiled columns: the figures but `scaled`, and the largest excess of any.
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
        held_bodies: Number of bodies that the arms hold, as the law's steps tell their wrenches.
        period: Control period [s].
        scaled_for: Longest time for which limits may scale the task below `least_task_scale`, in
            units of the clock.
        units: Units of the joints' positions, "rad" or "m"; all of them turn by default.
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
        held_bodies: int = 1,
        period: float = math.inf,
        scaled_for: int = 0,
        units: Sequence[str] = (),
    ) -> None:
        self._arms, self._settings = tuple(arms), settings
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        self._units = [EFFORT_UNITS[unit] for unit in units or ("rad",) * len(self._joints)]
        # A torque that the law has limited may exceed the limit by rounding.
        self.largest_change = settings.torque_rate * period * (1.0 + 1e-9)
        self._effort = np.minimum(effort * (1.0 + 1e-9), _HUGE)
        self._usable = np.minimum(effort * settings.effort_fraction, _HUGE)
        self.proximity = proximity if proximity and proximity.distances.pairs else None
        self.bodies, self._soft_fingers = tuple(bodies), tuple(soft_fingers)
        self._scaled_for, self._tilt = scaled_for, math.radians(settings.tilt_limit_deg)
        distances = self.proximity.distances if self.proximity else None
        self._others = len(self._arms) - 1 if held_bodies else 0
        widths = _Widths(
            len(self._joints), self._others, held_bodies, len(self._soft_fingers), len(self.bodies)
        )
        key = b"step_check\0%d %d %d %d %d " % widths
        self._source = (
            key + (distances.structure_key if distances else b""),
            lambda: _step_program(widths, distances),
        )
        self._program = shared_kernel(*self._source, lanes=1)
        self._wrenches = widths.checked["wrenches"]
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
        # The second one passes steps whose residual is doubtful.
        self._kernels = [
            self._program.bind(self._block(doubt)) for doubt in (self._bands[True], 0.0)
        ]
        self.doubtful = self._measured = False
        self.residuals = np.zeros((len(self.bodies), 11))

    @property
    def block(self) -> Array:
        """Parameters of the compiled figures, with the present least distances."""
        return self._block(self._bands[True])

    def _block(self, doubt: float) -> Array:
        s = self._settings
        tracking = s.tracking_limit_rad, s.tracking_limit_m
        closure = s.closure_warning_rad, s.closure_warning_m
        limits = np.minimum(
            [self.largest_change, *tracking, *closure, self._tilt, 1.0, s.least_task_scale, doubt],
            _HUGE,
        )
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
        self,
        step: LawStep,
        torque: Array,
        last: Array,
        q: Array,
        *,
        measured: bool,
        warned: bool = False,
    ) -> bool:
        """Return whether a step needs no closer check.

        It keeps every rule, limits scale it little enough, the arms agree about the object within
        the warning limit, and the wrench residual is below its warning limit, or is known to be
        beyond it.

        Args:
            step: Step of the law; a `HeldStep` if the arms hold an object.
            torque: Its torque (na,), or a substitute if it gave none.
            last: Torque that was sent last (na,).
            q: Positions of the arm joints (na,).
            measured: Whether wrenches are measured; the filters do not change without.
            warned: Whether there is a warning about the wrench residual.
        """
        kernel = self._kernels[warned]
        if self.proximity:
            q = self.proximity.distances.positions(q)
        checked = step.checked
        if self.bodies:
            if not measured:
                checked = checked.copy()
                checked[self._wrenches] = 0.0
            self._figures, residuals = kernel(torque, last, q, checked, self.residuals)
            if measured:
                self.residuals = residuals
        else:
            self._figures = kernel(torque, last, q, checked)
        self._measured = measured
        passed: bool = self._figures.item(_BEYOND) <= 0.0
        if passed and not (warned and measured):
            self.doubtful = False
        elif measured:
            self.doubtful = self._figures.item(_WRENCH_EXCESS) > -self._bands[self.doubtful]
        return passed

    def figures(self, scaled: int) -> StepFigures:
        """Return the figures of the step that `passes` checked last.

        Args:
            scaled: See `StepFigures`.
        """
        compiled = self._figures[:_BEYOND].tolist()
        if not self._measured:
            compiled[_WRENCH_EXCESS] = -math.inf
        return StepFigures._make([*compiled, scaled])

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
        unit = self._units[i]
        yield Finding(
            Cause.TORQUE_INVALID,
            self._joints[i],
            f"the law wants {wanted} {unit}; expected a finite torque of at most {most} {unit}.",
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
            unit = self._units[i]
            yield Finding(
                Cause.SUPPORT_LIMIT,
                self._joints[i],
                f"holding arms and object up takes {taken} {unit}; expected at most {most} "
                f"{unit}.",
            )


class _Widths(NamedTuple):
    """Numbers that the lengths of a step's vectors follow from.

    Attributes:
        joints: Joints of all arms.
        others: Arms but the first one that hold the object.
        held: Held bodies.
        soft_fingers: Soft fingers.
        watched: Bodies whose wrench residual is checked: all held ones, or none.
    """

    joints: int
    others: int
    held: int
    soft_fingers: int
    watched: int

    @property
    def checked(self) -> Mapping[str, slice]:
        """Parts of `LawStep.checked`."""
        return consecutive(
            scales=2,
            error=6,
            wrenches=18 * self.held,
            tilts=self.soft_fingers,
            closure=6 * self.others,
            pose=7,
        )


def _step_program(widths: _Widths, distances: LinkDistances | None) -> Program:
    """Return the program of `StepFigures`; a NaN propagates through `maximum` and breaks the rule.

    Inputs: torque (na,), last (na,), positions of the arm joints, or of all joints with distances
        of links, `LawStep.checked`; with watched bodies the states of their filters (b, 11).
    Parameters: largest torques (na,), limits of torque change, tracking, closure, tilt and support
        (7,), least task scale, band of doubt, those of each watched body (5,), those of the
        distances.
    Outputs: the figures and the largest excess over a limit, and with watched bodies the next
        states of their filters.
    """
    na, _, _, _, bodies = widths
    at = widths.checked
    inputs: dict[str, int | tuple[int, ...]] = {"torque": na, "last": na}
    inputs["q"] = distances.joint_count if distances else na
    inputs["checked"] = at["pose"].stop
    if bodies:
        inputs["residuals"] = (bodies, 11)
    first = na + 9
    end = first + 5 * bodies

    def run(torque: Any, last: Any, q: Any, checked: Any, *more: Any) -> dict[str, Any]:
        block, given = more[-1], {name: checked[part] for name, part in at.items()}
        (task_scale, support_ratio), closure = given["scales"], given["closure"]
        *limits, least_scale, doubt = block[na:first]
        excess = _largest([absolute(torque[j]) - block[j] for j in range(na)])
        change = _largest([absolute(torque[j] - last[j]) for j in range(na)])
        pairs = [_sizes(closure[6 * i : 6 * i + 6]) for i in range(widths.others)]
        apart = [_largest([0.0, *values]) for values in zip(*pairs, strict=True)] or [0.0, 0.0]
        margin = distances.traced(q, given["pose"], block[end:])[1] if distances else np.inf
        tilt = _largest(given["tilts"]) if widths.soft_fingers else -np.inf
        states, excesses = [], []
        for i in range(bodies):
            measured = given["wrenches"][18 * i : 18 * i + 18]
            own = block[first + 5 * i : first + 5 * i + 5]
            states.append(WrenchResidual.next_state(measured, more[0][i], own))
            excesses.append(WrenchResidual.excess(measured, states[i], own))
        wrench_excess = _largest(excesses) if bodies else -np.inf
        limited = [change, *_sizes(given["error"]), *apart, tilt, support_ratio]
        beyond = [excess, -margin, wrench_excess + doubt, least_scale - task_scale]
        beyond += [x - limit for x, limit in zip(limited, limits, strict=True)]
        figures = [excess, *limited[:5], margin, wrench_excess, *limited[5:], _largest(beyond)]
        return {"figures": figures, **({"residuals": states} if bodies else {})}

    parameters = end + (len(distances.parameters) if distances else 0)
    return trace(run, name="step_check", inputs=inputs, parameters=parameters)


def _largest(values: Sequence[Any]) -> Any:
    return reduce(maximum, values)


def _sizes(values: Any) -> tuple[Any, Any]:
    """Return the sizes of rotation vector and displacement (6,)."""
    return norm(values[:3]), norm(values[3:6])
