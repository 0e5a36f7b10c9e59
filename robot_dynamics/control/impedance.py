# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object impedance: springs and dampers hold the object, and the hands on it.

With e the rotation vector and displacement from the object to its reference, in world axes, the
arms exert on the object, about its origin, the wrench

    h_E = K_E e + D_E e'                                     (external impedance)

in addition to the wrench for the acceleration of the reference and the weight. With x the
distances and angles between the hands that belong to the internal forces, and x_0 their values at
the grasps, the internal forces are

    h_I = h_d + K_I (x - x_0) + D_I x'                       (internal impedance)

with h_d the internal force of the reference. Only the joints are measured, so that arms and object
keep their own inertia: away from the reference they obey, for a wrench f_ext on the object,

    Lambda e'' + D_E e' + K_E e = -f_ext,    Lambda = M_o + sum_i W_i (J_i M_i^-1 J_i^T)^-1 W_i^T.

F. Caccavale, P. Chiacchio, A. Marino, L. Villani, IEEE/ASME Transactions on Mechatronics 13(5),
2008 (external); R. G. Bonitz, T. C. Hsia, IEEE Transactions on Robotics and Automation 12(1), 1996
(internal). Estimate of the object, null space, torque limits and everything else come from the
hybrid law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.gains import GainError
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.law_inputs import LawInputs
from robot_dynamics.control.hybrid.law_program import HybridLawProgram, ObjectCommand
from robot_dynamics.control.hybrid.servo import MotionServo
from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.control.impedance_settings import ImpedanceSettings
from robot_dynamics.control.path_check import PathCheck, PathProblem, PreflightError
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import is_moment
from robot_dynamics.manipulation.hybrid.grasp_kinematics import contact_velocity
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate
from robot_dynamics.scalar.linear_algebra import transposed_times
from robot_dynamics.spatial import Scalar, Vector3
from robot_dynamics.wording import counted

_INSTANTS = 11  # of a path, at which springs are checked


class Springs(NamedTuple):
    """Stiffness and damping: of the object (6,), angular first; of m internal forces (m,)."""

    stiffness: Sequence[Scalar]
    damping: Sequence[Scalar]
    internal_stiffness: Sequence[Scalar]
    internal_damping: Sequence[Scalar]

    @classmethod
    def of(cls, settings: ImpedanceSettings, internal: Sequence[str]) -> Springs:
        """Return the springs of settings; `internal` are the names of internal forces."""
        s, moments = settings, [is_moment(name) for name in internal]
        return cls(
            [*s.rotational_stiffness, *s.stiffness],
            [*s.rotational_damping, *s.damping],
            [s.internal_rotational_stiffness if m else s.internal_stiffness for m in moments],
            [s.internal_rotational_damping if m else s.internal_damping for m in moments],
        )


class ImpedanceProgram(HybridLawProgram):
    """Step of the hybrid law with springs and dampers instead of its servos."""

    springs: ClassVar[bool] = True

    @property
    def more_parameters(self) -> int:
        """Number of parameters after those of the hybrid law: `Springs` in one row."""
        return 12 + 2 * self.layout.internal

    def command(
        self, inputs: LawInputs, arms: ArmState, estimate: ObjectEstimate, servo: MotionServo
    ) -> ObjectCommand:
        """Return the acceleration of the reference, h_E and h_I; see the module."""
        m, values, constants = self.layout.internal, inputs.more, inputs.constants
        k = Springs(values[:6], values[6:12], values[12 : 12 + m], values[12 + m :])

        e, rate = self._error_of_origin(inputs, estimate, servo)
        h_E = [k.stiffness[i] * e[i] + k.damping[i] * rate[i] for i in range(6)]

        # Displacements on which internal forces do work: A^T times the displacements of the hands
        # on the object, and their rates; forces by the arms pull back. The object's own motion
        # does not count: W A = 0.
        moving = contact_velocity(constants.points, estimate.pose, arms.X0, arms.v)
        off, off_rate = (
            transposed_times(constants.internal, motion, m)
            for motion in (estimate.residual, moving)
        )
        h_I = [
            h_d - k.internal_stiffness[i] * off[i] - k.internal_damping[i] * off_rate[i]
            for i, h_d in enumerate(inputs.reference["internal"])
        ]
        return ObjectCommand(servo.target.acceleration, servo.target.twist, h_E, h_I)

    @staticmethod
    def _error_of_origin(
        inputs: LawInputs, estimate: ObjectEstimate, servo: MotionServo
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return e (6,) and e' (6,) of the origin; the servo has those of the centre of mass."""
        center, target = inputs.constants.center, servo.target
        r_d, r = target.E.inverse_times(center), estimate.pose.E.inverse_times(center)
        omega_d, omega = Vector3.of(target.twist[:3]), Vector3.of(servo.twist[:3])
        off = Vector3.of(servo.error[3:]) - r_d + r
        v_d = Vector3.of(target.twist[3:]) - omega_d.cross(r_d)
        v = Vector3.of(servo.twist[3:]) - omega.cross(r)
        return [*servo.error[:3], *off], [*(omega_d - omega), *(v_d - v)]


class ImpedanceLaw(HybridLaw):
    """Springs and dampers between the object and its reference, and between the hands.

    Attributes:
        inertia: Lambda (6, 6) at the last checked start, about the object's origin, angular first;
            None before.
    """

    program = ImpedanceProgram
    stiff = False
    inertia: Array | None = None
    _inertias: Array = np.zeros((0, 6, 6))  # along the path that was checked last

    @property
    def units(self) -> dict[str, str]:
        """Unit, order and meaning of `columns` and `reference_columns`."""
        return {
            **super().units,
            "spring_wrench": "N m, N: of springs and dampers on the object, about its origin, "
            "world axes",
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Facts of the hybrid law, with stiffness and damping instead of the servo's gains."""
        k, more = self._springs(), super().metadata
        del more["object_gains"]
        return {**more, "stiffness": list(k.stiffness), "damping": list(k.damping)}

    def _springs(self) -> Springs:
        return Springs.of(self.settings.impedance, self.internal_force_names)

    def _gains_of(self, settings: ControlSettings, posture: Array, damping: Array) -> HybridGains:
        """Return the numbers of the hybrid law, without its integrals."""
        gains = super()._gains_of(settings, posture, damping)
        return replace(gains, integral=0.0, internal_integral=0.0)

    def _more_parameters(self) -> list[Array]:
        """Return the springs as parameters of the kernel."""
        return [np.asarray(values, dtype=float) for values in self._springs()]

    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return the margins of the plan; springs are checked at instants of the motion.

        Raises:
            PreflightError: Also if the springs are unstable in the sampled loop at an instant.
        """
        check = super().checked_path(q, terms)
        times, inertias = self._load_inertias(check.rollout, _INSTANTS)
        fault = unstable_springs(self.settings, inertias)
        if fault is not None:
            raise PreflightError([PathProblem(times[fault.instant], "", str(fault))])
        self._inertias = inertias
        return check

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse a start as `HybridLaw.check_start` does, and springs that are unstable there.

        Raises:
            StartError: With the largest deviation.
            GainError: If the springs are unstable in the sampled loop.
        """
        super().check_start(q, qd)
        self.inertia = self.hybrid_system.load_inertia(self.kernel.joints(q), self.reference.start)
        check_springs(self.requested_settings, self.inertia[None])

    def check_gains(self, settings: ControlSettings) -> None:
        """Check springs of the object at the start, or along the path, that was checked last."""
        wanted = replace(self.settings, impedance=settings.impedance)
        if Springs.of(wanted.impedance, ()) != Springs.of(self.settings.impedance, ()):
            known = [] if self.inertia is None else [self.inertia[None]]
            check_springs(wanted, np.concatenate([*known, self._inertias]))
        super().check_gains(settings)


class SpringError(GainError):
    """Springs of the object that the sampled loop does not bear.

    Attributes:
        instant: Index of the first inertia with which they are unstable.
        bounds: Values that would be stable together, by the setting and the index of its axis.
    """

    def __init__(
        self, sentence: str, instant: int, bounds: Mapping[tuple[str, int], float]
    ) -> None:
        RobotDynamicsError.__init__(self, sentence)
        self.instant, self.bounds = instant, dict(bounds)


def check_springs(settings: ControlSettings, inertias: Array) -> None:
    """Refuse springs of the object that are unstable in the sampled loop; see `unstable_springs`.

    Raises:
        SpringError: If they are not stable.
    """
    fault = unstable_springs(settings, inertias)
    if fault is not None:
        raise fault


def unstable_springs(settings: ControlSettings, inertias: Array) -> SpringError | None:
    """Return the error of springs that are unstable in the sampled loop; None if they are stable.

    They must be stable with the command delay, and with one more period of it.

    Args:
        settings: Springs, control rate and command delay.
        inertias: Inertia of arms and object at the object, at some instants (N, 6, 6), angular
            first.
    """
    k = Springs.of(settings.impedance, ())
    K, D = np.array(k.stiffness, dtype=float), np.array(k.damping, dtype=float)
    every = np.flatnonzero((K > 0.0) | (D > 0.0)).tolist()
    if not every or not len(inertias):
        return None
    loop = _SampledSprings(settings, inertias)
    stable = loop.stable(K, D, every)
    if stable.all():
        return None
    instant = int(np.argmin(stable))
    # Axes are added one by one to the stable set, the least stable ones last.
    alone = {i: float(loop.radii(K, D, [i]).max()) for i in every}
    joined: list[int] = []
    bounds: dict[tuple[str, int], float] = {}
    words: list[str] = []
    for i in sorted(every, key=lambda i: alone[i]):
        joined = sorted([*joined, i])
        if not loop.stable(K, D, joined).all():
            given = K[i], D[i]
            K[i], D[i] = loop.repaired(K, D, joined, i)
            own = _names(i)
            found = {own[n]: v for n, v in enumerate((K[i], D[i])) if v != given[n]}
            bounds.update({(name, i % 3): value for name, value in found.items()})
            words.append(_sentence(i, given, found, 1.0 / loop.mobility[instant, i, i]))
    delay = counted(settings.command_delay_periods, "period")
    circumstances = f"at {settings.rate_hz:g} Hz with {delay} of command delay"
    return SpringError(f"{'; '.join(words)}, {circumstances}.", instant, bounds)


def _names(axis: int) -> tuple[str, str]:
    """Return the names of stiffness and damping of an axis, angular first."""
    kind = "rotational_" if axis < 3 else ""
    return f"{kind}stiffness", f"{kind}damping"


def _sentence(
    axis: int, given: tuple[float, float], found: Mapping[str, float], inertia: float
) -> str:
    """Return the wrong number of an axis, and the expected one."""
    names = _names(axis)
    units = ("N m/rad", "N m s/rad") if axis < 3 else ("N/m", "N s/m")
    about = f"{'about' if axis < 3 else 'along'} {'xyz'[axis % 3]}"
    wrong, expected = [], []
    for name, value, unit in zip(names, given, units, strict=True):
        if name not in found:
            continue
        low = found[name] > value
        wrong.append(
            f"control.impedance.{name} {about} is {value:g} {unit}, too {'low' if low else 'high'}"
        )
        expected.append(f"at {'least' if low else 'most'} {found[name]:g} {unit}")
    other = names[0] if names[1] in found else names[1]
    beside = "" if len(found) == 2 else (
        f" with {other} {given[names.index(other)]:g} {units[names.index(other)]}"
    )  # fmt: skip
    have = f"arms and object have {inertia:.3g} {'kg m^2' if axis < 3 else 'kg'}"
    return f"{' and '.join(wrong)}{beside} where {have}, expected {' and '.join(expected)}"


class _SampledSprings:
    """Springs of the object in the sampled loop, at some instants.

    Args:
        settings: Control rate and command delay.
        inertias: Lambda (N, 6, 6).
    """

    def __init__(self, settings: ControlSettings, inertias: Array) -> None:
        self.mobility = np.linalg.inv(inertias)
        self._period = settings.period
        self._delays = settings.command_delay_periods, settings.command_delay_periods + 1

    def radii(self, K: Array, D: Array, axes: Sequence[int]) -> Array:
        """Return the largest magnitude of a pole (N,) of some axes; the others have no spring."""
        part = self.mobility[:, axes][:, :, axes]
        k, d = part * K[axes], part * D[axes]
        if not (np.isfinite(k).all() and np.isfinite(d).all()):
            return np.full(len(part), np.inf)
        radii = [_spectral_radius(k, d, self._period, n) for n in self._delays]
        return np.stack(radii).max(axis=0)

    def stable(self, K: Array, D: Array, axes: Sequence[int]) -> NDArray[np.bool_]:
        """Return at which instants (N,) the loop is stable."""
        return np.asarray(self.radii(K, D, axes) <= 1.0 + 1e-9)

    def repaired(self, K: Array, D: Array, axes: Sequence[int], i: int) -> tuple[float, float]:
        """Return stiffness and damping of an axis with which all the axes are stable.

        Only one of them differs from the given ones, if that suffices: damping first.
        """
        mass = 1.0 / self.mobility[:, i, i].max()
        damping, stiffness = mass / self._period, mass / self._period**2

        def bears(k: float, d: float) -> bool:
            K_i, D_i = K.copy(), D.copy()
            K_i[i], D_i[i] = k, d
            return bool(self.stable(K_i, D_i, axes).all())

        d = _nearest(lambda d: bears(float(K[i]), d), float(D[i]), damping)
        if d is not None:
            return float(K[i]), d
        k = _nearest(lambda k: bears(k, float(D[i])), float(K[i]), stiffness)
        if k is not None:
            return k, float(D[i])
        # Neither suffices alone: a tenth of the damping that stops within a period, and a
        # stiffness stable with it.
        d = _nearest(lambda d: bears(0.0, d), 0.1 * damping, damping) or 0.0
        return _nearest(lambda k: bears(k, d), float(K[i]), stiffness) or 0.0, d


def _nearest(good: Callable[[float], bool], start: float, unit: float) -> float | None:
    """Return the stable value nearest to an unstable one, to three digits; None if none is.

    Args:
        good: Returns whether a value is stable; stable values are an interval.
        start: Unstable value.
        unit: Order of magnitude of the largest stable value.
    """
    grid = unit * np.logspace(-8, 1, 46)
    least = max(start, 0.1 * float(grid[0]))
    near = sorted(grid.tolist(), key=lambda value: abs(np.log(value / least)))
    found = next((value for value in near if good(value)), None)
    if found is None:
        return None
    rising, bad = found > start, least
    inside = found
    for _ in range(30):
        middle = float(np.sqrt(inside * bad))
        inside, bad = (middle, bad) if good(middle) else (inside, middle)
    digit = 10.0 ** (np.floor(np.log10(inside)) - 2.0)
    whole = np.ceil(inside / digit) if rising else np.floor(inside / digit)
    return float(f"{whole * digit:.6g}")


def _spectral_radius(K: Array, D: Array, period: float, delay: int) -> Array:
    """Return the largest magnitude of a pole of e'' = -(K e + D e') with samples `delay` ago.

    Args:
        K: Stiffness over inertia (..., n, n).
        D: Damping over inertia (..., n, n).
        period: Control period [s].
        delay: Periods until a command acts.
    """
    n, h, lead = K.shape[-1], period, K.shape[:-2]
    A = np.zeros((*lead, (2 + delay) * n, (2 + delay) * n))
    A[..., : 2 * n, : 2 * n] = np.eye(2 * n)
    A[..., :n, n : 2 * n] = h * np.eye(n)
    push = np.vstack([0.5 * h * h * np.eye(n), h * np.eye(n)])
    servo = -np.concatenate([K, D], axis=-1)
    if delay == 0:
        A += push @ servo
    else:  # the commands on their way, latest first
        A[..., 2 * n :, :] = np.eye(delay * n, (2 + delay) * n, n)
        A[..., 2 * n : 3 * n, :] = 0.0
        A[..., 2 * n : 3 * n, : 2 * n] = servo
        A[..., : 2 * n, -n:] += push
    return np.asarray(np.max(np.abs(np.linalg.eigvals(A)), axis=-1))
