# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Admittance: the reference of the object gives way to wrenches, and a stiff servo follows it.

With x_d the reference that is asked for and x_c that which is followed, e = x_c - x_d, a rotation
vector and a displacement in world axes, obeys

    M e'' + D e' + K e = h,

with h the wrench from outside on the object about its origin. M, D and K are chosen by world axis,
inertia included; the servo of the hybrid law, whose stiffness is not seen from outside but for its
error, makes the object follow x_c, as drives that take positions would.

N. Hogan, ASME Journal of Dynamic Systems, Measurement, and Control 107(1), 1985 (the idea);
F. Caccavale, P. Chiacchio, A. Marino, L. Villani, IEEE/ASME Transactions on Mechatronics 13(5),
2008 (of an object that two arms hold).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from robot_dynamics.control.admittance_settings import AdmittanceSettings
from robot_dynamics.control.gain_ramp import with_gains
from robot_dynamics.control.gains import servo_gains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.path_check import PathCheck, PreflightError, Problem
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.control.rotation_path import product, rotation_vector
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import HybridSystem
from robot_dynamics.spatial import Rotation, Vector3

Array = NDArray[np.float64]

_BRAKE_S = 0.1  # within the limits of e, its speed is at most what is left over this time
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
        self._mass, self._center = float(held.mass), np.asarray(held.center, float)
        self._inertia = np.asarray(held.inertia, float)  # about the centre of mass
        self._weight = self._mass * np.asarray(system.arms.gravity, float)
        self._period, self._keep = period, float(np.exp(-bandwidth * period))
        self.forget()

    def forget(self) -> None:
        """Begin anew, with no wrench."""
        self._about_center = np.zeros(6)
        self._last: tuple[int, Array] | None = None

    def update(self, tick: int, step: HybridStep) -> Array:
        """Return h (6,) after a step with measured wrenches: about the origin, world axes."""
        rotation, omega, v = step.pose[3:], step.twist[:3], step.twist[3:]
        R = _matrix(rotation)
        r = R @ self._center
        momentum = np.concatenate(
            [R @ (self._inertia @ (R.T @ omega)), self._mass * (v + _cross(omega, r))]
        )
        known = (R @ step.contact_wrench.reshape(2, 3).T).T.ravel()
        known[3:] += self._weight
        if self._last is not None:
            before, gone = self._last[1], max(tick - self._last[0], 1) * self._period
            seen = (momentum - before) / gone - known
            self._about_center += (1.0 - self._keep) * (seen - self._about_center)
        self._last = tick, momentum
        h = self._about_center.copy()
        h[:3] += _cross(r, h[3:])
        return h


class Compliance:
    """e of M e'' + D e' + K e = h, from one control instant to the next.

    Exact for a wrench that is constant over a period (matrix exponential), and therefore stable
    for any M > 0, D > 0, K >= 0; then speed and displacement are limited along each axis.

    Args:
        settings: M, D, K and limits.
        period: Of control [s].

    Attributes:
        e: Rotation vector and displacement (6,).
        rate: e' (6,).
        acceleration: e'' (6,).
    """

    def __init__(self, settings: AdmittanceSettings, period: float) -> None:
        s, self._period = settings, period
        self.M = np.array([*s.rotational_inertia, *s.inertia])
        self.D = np.array([*s.rotational_damping, *s.damping])
        self.K = np.array([*s.rotational_stiffness, *s.stiffness])
        self.exact = np.array(
            [_discretised(*axis, period) for axis in zip(self.M, self.D, self.K, strict=True)]
        )  # (6, 2, 3): e and e' after a period from e, e' and h
        self._bands = s.dead_band_nm, s.dead_band_n
        self._largest = s.largest_nm, s.largest_n
        self._speed = np.repeat([s.largest_angular_speed, s.largest_speed], 3)
        self._reach = np.repeat([s.largest_displacement_rad, s.largest_displacement_m], 3)
        self._brake = max(_BRAKE_S, 2.0 * period)
        self.forget()

    def forget(self) -> None:
        """Begin anew, at rest at the reference."""
        self.e, self.rate, self.acceleration = np.zeros(6), np.zeros(6), np.zeros(6)

    def advance(self, h: Array | None) -> None:
        """Go on by a period under a wrench (6,); without one, come to rest by D alone."""
        push = self.K * self.e if h is None else self._counted(h)
        e, rate = np.einsum("ijk,ki->ji", self.exact, np.array([self.e, self.rate, push]))
        # Velocity dampers: the nearer to its limit, the slower e may go there.
        most = np.minimum(self._speed, (self._reach - self.e) / self._brake)
        least = np.maximum(-self._speed, (-self._reach - self.e) / self._brake)
        held = np.clip(rate, least, most)
        limited = held != rate
        moved = np.where(limited, self._period * held, e - self.e)
        self.acceleration = np.where(
            limited, 0.0, (push - self.D * held - self.K * (self.e + moved)) / self.M
        )
        self.rate = held
        turned = product(_quaternion(moved[:3]), _quaternion(self.e[:3]))
        self.e = np.concatenate([rotation_vector(turned), self.e[3:] + moved[3:]])

    def shifted(self, row: Array) -> Array:
        """Return a row of the reference that is displaced by e: x_c in the place of x_d."""
        other, turn = row.copy(), _quaternion(self.e[:3])
        R = _matrix(turn)
        omega, alpha = R @ row[TWIST][:3], R @ row[ACCELERATION][:3]
        other[POSE][:3] += self.e[3:]
        other[POSE][3:] = product(turn, row[POSE][3:])
        other[TWIST] += self.rate
        other[TWIST][:3] = omega + self.rate[:3]
        other[ACCELERATION] += self.acceleration
        other[ACCELERATION][:3] = alpha + self.acceleration[:3] + _cross(self.rate[:3], omega)
        return other

    def _counted(self, h: Array) -> Array:
        """Return what counts of a wrench (6,): beyond the dead bands, up to the largest."""
        parts = []
        for part, band, largest in zip((h[:3], h[3:]), self._bands, self._largest, strict=True):
            size = float(np.linalg.norm(part))
            counted = min(max(size - band, 0.0), largest)
            parts.append(part * (counted / size if counted > 0.0 else 0.0))
        return np.concatenate(parts)


class AdmittanceLaw(HybridLaw):
    """The hybrid law on a reference that gives way to what is measured at the grasps.

    The wrench counts from the end of the ramp on. Without measured wrenches the reference comes to
    rest where it is displaced to; it does not come back, for the object may lean on something.

    Attributes:
        inertia: Lambda (6, 6) where the path that was checked last begins, about the object's
            origin, angular first; None before.
        compliance: e, with M, D and K.
    """

    inertia: Array | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        settings = self.settings.admittance
        self.compliance = Compliance(settings, self.period)
        self._outside = WrenchEstimate(self.hybrid_system, settings.wrench_bandwidth, self.period)

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        return {**super().columns, "external_wrench": 6, "compliant_displacement": 6}

    @property
    def units(self) -> dict[str, str]:
        """Unit, order and meaning of the columns and of those of the references."""
        return {
            **super().units,
            "external_wrench": "N m, N: from outside on the object, about its origin, world "
            "axes, as the controller estimates it",
            "compliant_displacement": "rad, m: rotation vector and displacement from the "
            "reference to what is followed, world axes",
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Of the hybrid law, with M, D and K."""
        c = self.compliance
        chosen = {"inertia": c.M.tolist(), "damping": c.D.tolist(), "stiffness": c.K.tolist()}
        return {**super().metadata, "admittance": chosen}

    def start(self, q: Array, qd: Array, last: Array | None = None) -> HybridStep:
        """Forget what was learned, and return what is seen; see `HybridLaw.start`."""
        self.compliance.forget()
        self._outside.forget()
        step = super().start(q, qd, last)
        step.more = np.zeros(6), np.zeros(6)
        return step

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> HybridStep:
        """Return the step of a control instant and remember it; see `HybridLaw.update`."""
        step, h = super().update(tick, q, qd, wrenches), None
        followed = self.compliance.e
        if wrenches is None:
            self._outside.forget()
        elif tick >= self._ramp_ticks:
            h = self._outside.update(tick, step)
        self.compliance.advance(h)
        step.more = np.zeros(6) if h is None else h, followed
        step.reference = self._followed.row(tick)
        return step

    def retune(self, settings: ControlSettings) -> None:
        """Go to other gains of the servos; see `PlannedLaw.retune`.

        Raises:
            AdmittanceError: If the loop would chatter with them on the surfaces that are stated.
        """
        if self.inertia is not None:
            check_compliance(with_gains(self.settings, settings), self.inertia)
        super().retune(settings)

    def _row(self, tick: int) -> Array:
        return self.compliance.shifted(super()._row(tick))

    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return what a plan leaves of each limit, followed without wrenches.

        Raises:
            PreflightError: Also if the loop would chatter on a surface somewhere.
        """
        check = super().checked_path(q, terms)
        wanted = self.settings if self._retuning is None else self._retuning.end
        times, inertias = self._load_inertias(check.rollout, _INSTANTS)
        for time, inertia in zip(times, inertias, strict=True):
            try:
                check_compliance(wanted, inertia)
            except AdmittanceError as error:
                raise PreflightError([Problem(time, "", str(error))]) from None
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

    The object obeys x'' = u - k x with u the servo's command, held and `delay` periods late; what
    is measured of the surface is h = - stiffness x.
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


def _discretised(M: float, D: float, K: float, period: float) -> Array:
    """Return the matrix (2, 3) of e, e' and constant h to e, e' a period later; exact."""
    rates = np.array([[0.0, 1.0, 0.0], [-K / M, -D / M, 1.0 / M], [0.0, 0.0, 0.0]])
    return np.asarray(expm(rates * period)[:2])


def _quaternion(vector: Array) -> Array:
    """Return the quaternion (4,) of a rotation vector (3,)."""
    half = 0.5 * float(np.linalg.norm(vector))
    return np.array([*(0.5 * np.sinc(half / np.pi) * vector), np.cos(half)])


def _matrix(rotation: Array) -> Array:
    """Return R (3, 3) of a quaternion (4,)."""
    return np.array(Rotation.from_quaternion(*rotation.tolist()).rows).T


def _cross(a: Array, b: Array) -> list[float]:
    """Return a x b (3,); numpy.cross takes ten times as long."""
    return [*Vector3.of(a.tolist()).cross(Vector3.of(b.tolist()))]
