# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object impedance: springs and dampers hold the object, and the hands on it.

With e the rotation vector and displacement from the object to its reference, in world axes, the
arms exert on the object, about its origin, the wrench

    h_E = K_E e + D_E e'                                     (external impedance)

besides what the acceleration of the reference and the weight need. With x the distances and
angles between the hands that belong to the internal forces, and x_0 those of the grasps, the
internal forces are

    h_I = h_d + K_I (x - x_0) + D_I x'                       (internal impedance)

with h_d that of the reference. Nothing is measured but the joints, so that arms and object keep
their own inertia: away from their reference they obey, for a wrench f_ext on the object,

    Lambda e'' + D_E e' + K_E e = -f_ext,    Lambda = M_o + sum_i W_i (J_i M_i^-1 J_i^T)^-1 W_i^T.

F. Caccavale, P. Chiacchio, A. Marino, L. Villani, IEEE/ASME Transactions on Mechatronics 13(5),
2008 (external); R. G. Bonitz, T. C. Hsia, IEEE Transactions on Robotics and Automation 12(1), 1996
(internal). Estimate of the object, null space, torque limits and all else are the hybrid law's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.gains import GainError
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.law_inputs import LawInputs
from robot_dynamics.control.hybrid.law_program import HybridLawProgram, ObjectCommand
from robot_dynamics.control.hybrid.servo import MotionServo
from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.control.impedance_settings import ImpedanceSettings
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.grasp_map import is_moment
from robot_dynamics.manipulation.hybrid.grasp_kinematics import contact_velocity
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate
from robot_dynamics.model import pose
from robot_dynamics.scalar.linear_algebra import transposed_times
from robot_dynamics.spatial import Rotation, Scalar, Vector3
from robot_dynamics.wording import counted

Array = NDArray[np.float64]

_SINGULAR = 1e-9  # part of the largest singular value that counts as none


class Springs(NamedTuple):
    """Stiffness and damping: of the object (6,), angular first; of m internal forces (m,)."""

    stiffness: Sequence[Scalar]
    damping: Sequence[Scalar]
    internal_stiffness: Sequence[Scalar]
    internal_damping: Sequence[Scalar]

    @classmethod
    def of(cls, settings: ImpedanceSettings, internal: Sequence[str]) -> Springs:
        """Return those that settings ask for; `internal` are the names of internal forces."""
        s, moments = settings, [is_moment(name) for name in internal]
        return cls(
            [*s.rotational_stiffness, *s.stiffness],
            [*s.rotational_damping, *s.damping],
            [s.internal_rotational_stiffness if m else s.internal_stiffness for m in moments],
            [s.internal_rotational_damping if m else s.internal_damping for m in moments],
        )


class ImpedanceProgram(HybridLawProgram):
    """The step of the hybrid law with springs and dampers in the place of its servos."""

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

        # What internal forces do work on: A^T of where hands are on the object, and of its rate;
        # forces by the arms pull back. The object's own motion is not in it: W A = 0.
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
        """Return e (6,) and e' (6,): the servo's are those of the centre of mass."""
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
        inertia: Lambda (6, 6) at the start, about the object's origin, angular first.
    """

    program = ImpedanceProgram

    @property
    def units(self) -> dict[str, str]:
        """Unit, order and meaning of the columns and of those of the references."""
        return {
            **super().units,
            "spring_wrench": "N m, N: of springs and dampers on the object, about its origin, "
            "world axes",
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Of the hybrid law, with stiffness and damping in the place of the servo's gains."""
        k, more = self._springs(), super().metadata
        del more["object_gains"]
        return {**more, "stiffness": list(k.stiffness), "damping": list(k.damping)}

    def _springs(self) -> Springs:
        return Springs.of(self.settings.impedance, self.internal_force_names)

    def _gains_of(self, settings: ControlSettings, posture: Array, damping: Array) -> HybridGains:
        """Return the numbers of the hybrid law, without its integrals."""
        gains = super()._gains_of(settings, posture, damping)
        return replace(gains, integral=0.0, internal_integral=0.0)

    def _block(self, gains: HybridGains) -> Array:
        """Return the parameters of the kernel: those of the hybrid law, and the springs."""
        return np.concatenate([super()._block(gains), *map(np.asarray, self._springs())])

    def _begin(self, q: Array) -> None:
        """Take the gains for a start at positions `q` (na,), where the springs have to be stable.

        Raises:
            GainError: If the sampled loop does not bear them, with one period more of delay.
        """
        self.inertia = self._inertia_at(q)
        check_springs(self.settings, self.inertia)
        super()._begin(q)

    def retune(self, settings: ControlSettings) -> None:
        """Go to other springs within a quarter of a second; see `PlannedLaw.retune`."""
        check_springs(replace(self.settings, impedance=settings.impedance), self.inertia)
        super().retune(settings)

    def _inertia_at(self, q: Array) -> Array:
        """Return Lambda (6, 6) about the object's origin, world axes: arms at `q` (na,), object.

        Before a start the positions are a guess, and the hands not at the object.
        """
        system, at, still = (
            self.hybrid_system,
            self._joints(q),
            np.zeros(self.hybrid_system.arms.nv),
        )
        start = self.reference.start
        E = Rotation.from_quaternion(*start[3:].tolist())
        R = np.array([list(row) for row in E.transpose().rows])
        terms = system.terms(at, still, pose(start[:3], R), np.zeros(6), check=False)
        mobility = terms.J_S @ np.linalg.solve(terms.M, terms.J_S.T)
        # At a singularity of an arm its inertia there is without bound: any large number does.
        inertia = np.linalg.pinv(mobility, rcond=_SINGULAR, hermitian=True)
        about_center = terms.I_B + terms.W_S @ inertia @ terms.W_S.T
        to_center = np.eye(6)  # velocity of the centre of mass from that of the origin
        to_center[3:, :3] = np.cross(np.eye(3), -R @ np.asarray(system.held.center, dtype=float))
        return np.asarray(to_center.T @ about_center @ to_center)


def check_springs(settings: ControlSettings, inertia: Array) -> None:
    """Refuse springs that the sampled loop does not bear, with one more period of delay.

    Args:
        settings: Springs, control rate and command delay.
        inertia: Of arms and object at the load (6, 6), angular first.

    Raises:
        GainError: If they are not stable; natural frequencies are those of the stiffest mode.
    """
    k = Springs.of(settings.impedance, ())
    K, D = np.diag(np.asarray(k.stiffness, float)), np.diag(np.asarray(k.damping, float))
    inverse = np.linalg.inv(inertia)

    def stable(scale: float) -> bool:  # natural frequencies times this, same damping ratios
        loop = inverse @ (scale**2 * K), inverse @ (scale * D)
        delays = settings.command_delay_periods, settings.command_delay_periods + 1
        return all(_spectral_radius(*loop, settings.period, d) <= 1.0 + 1e-9 for d in delays)

    if stable(1.0):
        return
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    mobility = np.diag(inverse)
    rates = {"stiffness": np.sqrt(np.diag(K) * mobility), "damping": np.diag(D) * mobility}
    name = max(rates, key=lambda one: float(np.max(rates[one])))
    axis = int(np.argmax(rates[name]))
    fastest, angular, along = float(rates[name][axis]), axis < 3, "xyz"[axis % 3]
    delay = counted(settings.command_delay_periods, "period")
    raise GainError(
        f"control.impedance.{'rotational_' * angular}{name} {'about' if angular else 'along'} "
        f"{along}, where arms and object have {1.0 / mobility[axis]:.3g} "
        f"{'kg m^2' if angular else 'kg'}",
        fastest,
        low * fastest,
        f"at {settings.rate_hz:g} Hz with {delay} of command delay",
    )


def _spectral_radius(K: Array, D: Array, period: float, delay: int) -> float:
    """Return the largest magnitude of a pole of e'' = -(K e + D e') of samples `delay` ago."""
    n, h = len(K), period
    A = np.eye((2 + delay) * n)
    A[:n, n : 2 * n] = h * np.eye(n)
    push = np.vstack([0.5 * h * h * np.eye(n), h * np.eye(n)])
    servo = -np.hstack([K, D])
    if delay == 0:
        A[: 2 * n] += push @ servo
        return float(np.max(np.abs(np.linalg.eigvals(A))))
    A[2 * n :] = np.eye(delay * n, (2 + delay) * n, n)  # the commands on their way, latest first
    A[2 * n : 3 * n] = np.hstack([servo, np.zeros((n, delay * n))])
    A[: 2 * n, -n:] += push
    return float(np.max(np.abs(np.linalg.eigvals(A))))
