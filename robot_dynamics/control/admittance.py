# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Admittance: the reference of the object gives way to wrenches, and a stiff servo follows it.

With x_d the desired reference and x_c the followed one, e = x_c - x_d, a rotation vector and a
displacement in world axes, obeys

    M e'' + D e' + K e = h,

with h the external wrench on the object about its origin. M, D and K are set for each world axis.
The servo of the hybrid law makes the object follow x_c, as position-controlled drives would; its
own stiffness appears only in its tracking error.

N. Hogan, ASME Journal of Dynamic Systems, Measurement, and Control 107(1), 1985 (the idea);
F. Caccavale, P. Chiacchio, A. Marino, L. Villani, IEEE/ASME Transactions on Mechatronics 13(5),
2008 (of an object that two arms hold).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from robot_dynamics.arrays import Array
from robot_dynamics.compile import load_kernel
from robot_dynamics.control.abilities import CommandsPositions
from robot_dynamics.control.admittance_program import (
    RATE,
    ROW,
    E,
    advance_program,
    displaced_program,
    joint_step_program,
    wrench_program,
)
from robot_dynamics.control.admittance_settings import AdmittanceSettings
from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.control.gain_ramp import with_gains
from robot_dynamics.control.gains import servo_gains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.path_check import PathCheck, PathProblem, PreflightError
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Contact, HybridSystem
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.parameters import pack

_NEWTON = 20  # steps at the start: it is near
_UNBOUNDED = 1e9  # limit of joints without one
_BRAKE_S = 0.1  # the speed of e is at most its distance to the limit over this time
_INSTANTS = 5  # of a path, at which the loop is checked
_SURFACES = np.geomspace(0.01, 1.0, 7)  # of the stiffest one, for which the loop has to be stable


class AdmittanceError(RobotDynamicsError):
    """An admittance that the inner loop does not bear on a stiff surface."""


class WrenchEstimate:
    """Wrench from outside on the object, from the contacts' wrench and its momentum.

    With p the object's momentum (linear, and angular about its centre of mass, in world axes) and
    f the wrench of contacts and weight, h = p' - f. Of a period it is

        h_k = (p_k - p_k-1) / T - f_k

    with f_k as measured at its end, under the torque that was held in it, and passes a filter of
    first order: a momentum observer (A. De Luca, R. Mattone, IROS 2005), which needs no
    acceleration. Motion that the servo makes is no part of it.

    Args:
        system: Arms and object.
        bandwidth: Of the filter [rad/s].
        period: Of control T [s].
    """

    def __init__(self, system: HybridSystem, bandwidth: float, period: float) -> None:
        held = system.held
        weight = float(held.mass) * np.asarray(system.arms.gravity, float)
        keep = float(np.exp(-bandwidth * period))
        inertia = np.asarray(held.inertia, float).ravel()  # about the centre of mass
        block = [held.mass, *np.asarray(held.center, float), *inertia, *weight, keep]
        kernel = load_kernel(b"outside_wrench", wrench_program, lanes=1)
        self._kernel, self._period = kernel.bind(np.array(block, dtype=float)), period
        self.forget()

    def forget(self) -> None:
        """Reset, with no wrench."""
        self._about_center, self._momentum = np.zeros(6), np.zeros(6)
        self._last: int | None = None

    def update(self, tick: int, step: HybridStep) -> Array:
        """Return h (6,) after a step with measured wrenches: about the origin, world axes."""
        last = self._last
        gone = 1 if last is None else max(tick - last, 1)
        self._about_center, self._momentum, h = self._kernel(
            self._about_center, self._momentum, step.pose, step.twist,
            step.held_body_wrenches[0, :6], gone * self._period, 0.0 if last is None else 1.0,
        )  # fmt: skip
        self._last = tick
        return np.asarray(h)


class Compliance:
    """e of M e'' + D e' + K e = h, from one control instant to the next.

    Exact for a wrench that is constant over a period (matrix exponential), and therefore stable
    for any M > 0, D > 0, K >= 0; then speed and displacement are limited along each axis.

    Args:
        settings: M, D, K and limits.
        period: Of control [s].

    Attributes:
        state: e, its rate and its acceleration (18,); see `admittance_program`.
        M: By axis (6,), angular first; also D and K.
        exact: e and e' after a period from e, e' and h (6, 2, 3).
    """

    def __init__(self, settings: AdmittanceSettings, period: float) -> None:
        self._period = period
        self._advance = load_kernel(b"compliance", advance_program, lanes=1)
        self._displaced = load_kernel(b"displaced_row", displaced_program, lanes=1).bind()
        self._nothing = np.zeros(6)
        self.take(settings)
        self.forget()

    @property
    def e(self) -> Array:
        """Rotation vector and displacement (6,)."""
        return self.state[E]

    @property
    def rate(self) -> Array:
        """e' (6,)."""
        return self.state[RATE]

    def take(self, settings: AdmittanceSettings) -> None:
        """Go on with other M, D, K and limits."""
        s, period = settings, self._period
        self.M = np.array([*s.rotational_inertia, *s.inertia])
        self.D = np.array([*s.rotational_damping, *s.damping])
        self.K = np.array([*s.rotational_stiffness, *s.stiffness])
        self.exact = _discretised(self.M, self.D, self.K, period)
        block = [
            *self.exact.ravel(), *self.M, *self.D, *self.K,
            s.dead_band_nm, s.dead_band_n, s.largest_nm, s.largest_n,
            *[s.largest_angular_speed] * 3, *[s.largest_speed] * 3,
            *[s.largest_displacement_rad] * 3, *[s.largest_displacement_m] * 3,
            max(_BRAKE_S, 2.0 * period), period,
        ]  # fmt: skip
        self._step = self._advance.bind(np.array(block))

    def forget(self) -> None:
        """Reset, at rest at the reference."""
        self.state = np.zeros(18)

    def advance(self, h: Array | None) -> None:
        """Go on by a period under a wrench (6,); without one, come to rest by D alone."""
        if h is None:
            self.state = self._step(self.state, self._nothing, 0.0)
        else:
            self.state = self._step(self.state, h, 1.0)

    def shifted(self, row: Array) -> Array:
        """Return a row of the reference that is displaced by e: x_c in the place of x_d."""
        other = row.copy()
        other[:ROW] = self._displaced(row[:ROW], self.state)
        return other


class SetPoints:
    """Positions of the arm joints at which the arms hold the object at its reference.

    In each control period there is one Newton step, near to the posture of the start in the metric
    of inertia. Its error is of second order in the motion of a period, and the next step removes
    it. No joint exceeds its limits of position and velocity, even if the reference is out of
    reach; then the tracking limit ends control.

    Args:
        system: Arms without loops of their own, and object.
        safety: Limits of positions and velocities.
        contacts: How each arm holds the object; rigidly by default.
        period: Of control [s].
        posture: Rate at which self-motion returns to the posture [1/s].
    """

    def __init__(
        self,
        system: GraspSystem,
        safety: SafetySettings,
        contacts: Sequence[Contact] | None,
        period: float,
        posture: float,
    ) -> None:
        self._system, limits = system, system.limits
        rows = ClosedPath(system, None, contacts).position_rows
        key = b"joint_step\0" + system.model.structure_key + rows.tobytes()
        kernel = load_kernel(key, lambda: joint_step_program(system, rows), lanes=1)
        margin = safety.position_margin
        bounds = (
            limits["lower"] + margin,
            limits["upper"] - margin,
            limits["velocity"] * safety.velocity_fraction * period,
        )
        blocks = pack(system.model), *(np.clip(bound, -_UNBOUNDED, _UNBOUNDED) for bound in bounds)
        pull = 1.0 - np.exp(-posture * period)
        self._kernel = kernel.bind(np.concatenate([*blocks, [pull]]))

    def begin(self, q: Array, pose: Array) -> None:
        """Begin at measured positions (na,), which are near to where a pose (7,) needs them.

        Their offset vanishes in the ramp of the start.
        """
        self._at, self._off = self._system.positions(q), np.zeros(len(q))
        self._posture = np.array(q, dtype=float)
        for _ in range(_NEWTON):
            self.next(pose, 1.0)
        self._off = q - self._at[self._system.q_index]

    def next(self, pose: Array, ramp: float) -> Array:
        """Return the set points (na,) for a pose (7,) at a part of the ramp of the start."""
        at = self._kernel(self._at, pose, self._posture)
        if np.isfinite(at).all():  # at a singularity there is no step
            self._at = at
        return self._at[self._system.q_index] + (1.0 - ramp) * self._off


class CompliantReference:
    """Reference that gives way to the external wrench, and set points that follow it.

    Args:
        law: The servo that follows it.

    Attributes:
        compliance: e, with M, D and K.
        row: The row that is followed.
        points: Set points of the arm joints; None for arms with internal closed chains.
    """

    def __init__(self, law: HybridLaw) -> None:
        settings = law.settings.admittance
        self.compliance = Compliance(settings, law.period)
        self._outside = WrenchEstimate(law.hybrid_system, settings.wrench_bandwidth, law.period)
        self.row: Array = np.zeros(0)
        self.points: SetPoints | None = None
        if law.system.internal_chains is None:
            own = law.settings.posture
            # Final rate of a servo with that bandwidth and damping.
            rate = own.bandwidth / max(2.0 * own.damping_ratio, 1.0)
            self.points = SetPoints(law.system, law.safety, law.grasp.contacts, law.period, rate)

    def forget(self) -> None:
        """Reset for a start."""
        self.compliance.forget()
        self._outside.forget()

    def shift(self, row: Array) -> Array:
        """Return the row to follow in the place of a row of the plan."""
        self.row = self.compliance.shifted(row)
        return self.row

    def advance(self, tick: int, step: HybridStep, *, measured: bool, ramped: bool) -> Array:
        """Go on by a period, and return the wrench from outside (6,).

        Args:
            tick: Control periods since the start.
            step: The step of this period.
            measured: Whether it is of measured grasp wrenches.
            ramped: Whether the ramp of the start is over.
        """
        h = None
        if not measured:
            self._outside.forget()
        elif ramped:
            h = self._outside.update(tick, step)
        self.compliance.advance(h)
        return np.zeros(6) if h is None else h


class AdmittanceLaw(HybridLaw, CommandsPositions):
    """The hybrid law on a reference that gives way to the wrenches at the grasps.

    The wrench counts from the end of the ramp on. Without measured wrenches the reference comes to
    rest where it is, and does not return, because the object may lean on something.

    Attributes:
        inertia: Lambda (6, 6) at the beginning of the last checked path, about the object's
            origin, angular first; None before.
        compliant: Reference that gives way.
    """

    stiff = False
    inertia: Array | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.compliant = CompliantReference(self)

    @property
    def compliance(self) -> Compliance:
        """e, with M, D and K."""
        return self.compliant.compliance

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        own = {"external_wrench": 6, "compliant_displacement": 6}
        if self.compliant.points is not None:
            own["position_command"] = len(self.system.joint_names)
        return {**super().columns, **own}

    @property
    def units(self) -> dict[str, str]:
        """Unit, order and meaning of `columns` and `reference_columns`."""
        return {
            **super().units,
            "external_wrench": "N m, N: from outside on the object, about its origin, world "
            "axes, as the controller estimates it",
            "compliant_displacement": "rad, m: rotation vector and displacement from the "
            "reference to the followed reference, world axes",
            "position_command": "rad or m: positions of the arm joints that hold the object at "
            "the followed reference, for drives that take positions",
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Of the hybrid law, with M, D and K."""
        c = self.compliance
        chosen = {"inertia": c.M.tolist(), "damping": c.D.tolist(), "stiffness": c.K.tolist()}
        return {**super().metadata, "admittance": chosen}

    def start(self, q: Array, qd: Array, last: Array | None = None) -> HybridStep:
        """Reset the law, and return the step at rest; see `HybridLaw.start`."""
        compliant = self.compliant
        compliant.forget()
        step = super().start(q, qd, last)
        compliant.compliance.take(self.settings.admittance)
        self.set_points = None
        if compliant.points is not None:
            compliant.points.begin(q, step.reference[POSE])
            self.set_points, self.set_point_rates = q, np.zeros(len(q))
        self._add(step, np.zeros(6), np.zeros(6))
        return step

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> HybridStep:
        """Return the step of a control period; see `HybridLaw.update`."""
        step, compliant = super().update(tick, q, qd, wrenches), self.compliant
        followed = compliant.compliance.e
        measured, ramped = wrenches is not None, tick >= self.ramp_ticks
        h = compliant.advance(tick, step, measured=measured, ramped=ramped)
        if compliant.points is not None:
            ramp = min(tick / self.ramp_ticks, 1.0)
            before = q if self.set_points is None else self.set_points
            self.set_points = compliant.points.next(compliant.row[POSE], ramp)
            self.set_point_rates = (self.set_points - before) / self.period
        if not self.torques_used:
            step = step.with_torque(step.support)
            memory = self.running.memory = self.running.memory.copy()
            for integral in ("pose_integral", "internal_integral"):
                memory[self.layout.memory[integral]] = 0.0
        self._add(step, h, followed)
        step.reference = self._followed.row(tick)
        return step

    def _add(self, step: HybridStep, wrench: Array, followed: Array) -> None:
        """Give a step the values of the law's own columns."""
        points = () if self.set_points is None else (self.set_points,)
        step.more = wrench, followed, *points

    def check_gains(self, settings: ControlSettings) -> None:
        """Refuse gains, M, D and K among them; see `PlannedLaw.check_gains`.

        Raises:
            AdmittanceError: If the loop would chatter with them on the surfaces that are stated.
        """
        if self.inertia is not None:
            check_compliance(with_gains(self.settings, settings), self.inertia)
        super().check_gains(settings)

    def _row(self, tick: int) -> Array:
        return self.compliant.shift(super()._row(tick))

    def _take_gains(self, end: ControlSettings) -> None:
        super()._take_gains(end)
        self.compliance.take(self.settings.admittance)

    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return the margins of the plan, followed without wrenches.

        Raises:
            PreflightError: Also if the loop would chatter on a surface somewhere.
        """
        check = super().checked_path(q, terms)
        times, inertias = self._load_inertias(check.rollout, _INSTANTS)
        for time, inertia in zip(times, inertias, strict=True):
            try:
                check_compliance(self.requested_settings, inertia)
            except AdmittanceError as error:
                raise PreflightError([PathProblem(time, "", str(error))]) from None
        self.inertia = inertias[0]
        return check


def check_compliance(settings: ControlSettings, inertia: Array) -> None:
    """Refuse an admittance whose sampled loop is unstable on the surfaces that are stated.

    Along each axis, of all surfaces up to the stiffest one, with the command delay and with one
    period more.

    Args:
        settings: Admittance, servo of the object, control rate and command delay.
        inertia: Of arms and object at the load (6, 6), angular first.

    Raises:
        AdmittanceError: If not.
    """
    own, delay = settings.admittance, settings.command_delay_periods
    compliance = Compliance(own, settings.period)
    mobility = np.diag(np.linalg.inv(inertia))
    for axis in range(6):
        angular, along = axis < 3, "xyz"[axis % 3]
        largest = own.rotational_surface_stiffness if angular else own.surface_stiffness
        for stiffness in largest * _SURFACES:
            loops = (
                _on_a_surface(settings, compliance, axis, stiffness * mobility[axis], stiffness, d)
                for d in (delay, delay + 1)
            )
            if all(np.max(np.abs(np.linalg.eigvals(A))) <= 1.0 + 1e-9 for A in loops):
                continue
            prefix, unit = ("rotational_", "N m/rad") if angular else ("", "N/m")
            kg, damper = ("kg m^2", "N m s/rad") if angular else ("kg", "N s/m")
            raise AdmittanceError(
                f"control.admittance {'about' if angular else 'along'} {along}: with "
                f"{prefix}inertia {compliance.M[axis]:g} {kg} and {prefix}damping "
                f"{compliance.D[axis]:g} {damper} the object would chatter on a surface of "
                f"{stiffness:.3g} {unit}, expected none up to {prefix}surface_stiffness "
                f"{largest:g} {unit}; more damping helps, or a smaller surface_stiffness."
            )


def _on_a_surface(
    settings: ControlSettings, compliance: Compliance, axis: int, k: float, stiffness: float,
    delay: int,
) -> Array:  # fmt: skip
    """Return the matrix of a control period of one axis, in contact with a surface.

    The object obeys x'' = u - k x with u the command of the servo, held and `delay` periods late;
    the measured force of the surface is h = -stiffness x.
    """
    T, gains = settings.period, servo_gains(settings.object)
    M, D, K = compliance.M[axis], compliance.D[axis], compliance.K[axis]
    exact, keep = compliance.exact[axis], np.exp(-settings.admittance.wrench_bandwidth * T)
    body = _discretised(1.0, 0.0, k, T)

    def period(state: Array) -> Array:
        x, v, integral, h, e, rate = state[:6]
        e_dd = (h - D * rate - K * e) / M
        u = (
            e_dd + gains.derivative * (rate - v) + gains.proportional * (e - x)
            + gains.integral * integral
        )  # fmt: skip
        commands = np.concatenate([[u], state[6:]])  # latest first, the last one acts
        h = keep * h - (1.0 - keep) * stiffness * x
        now = body @ [x, v, commands[-1]], exact @ [e, rate, h]
        return np.array([*now[0], integral + T * (e - x), h, *now[1], *commands[:-1]])

    return np.array([period(unit) for unit in np.eye(6 + delay)]).T


def _discretised(M: ArrayLike, D: ArrayLike, K: ArrayLike, period: float) -> Array:
    """Return the exact matrix from e, e' and constant h to e and e' after a period (..., 2, 3)."""
    M, D, K = np.broadcast_arrays(*(np.asarray(x, float) for x in (M, D, K)))
    rates = np.zeros((*M.shape, 3, 3))
    rates[..., 0, 1] = 1.0
    rates[..., 1, :] = np.stack([-K / M, -D / M, 1.0 / M], axis=-1)
    return np.asarray(expm(rates * period)[..., :2, :])
