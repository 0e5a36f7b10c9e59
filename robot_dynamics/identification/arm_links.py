# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links, rotors and friction of one arm that holds nothing, from its positions and torques.

Torques are linear in all unknowns:

    tau = Y(q, qd, qdd) pi + a qdd + friction(qd) + offset + noise

pi are the inertial parameters of the bodies that the arm's joints move, a the armatures. They act
on the torques only in combinations, the base parameters M (pi, a), which a least-squares fit
determines (Gautier 1991). Rows are whitened by their noise, of which that of the accelerations is
a part, and go through one low-pass. Of all parameters of bodies of positive mass that explain the
data, those nearest the description are then chosen (Lee, Wensing and Park 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import (
    BaseParameters,
    base_parameters,
    from_log_cholesky,
    inertial_parameters,
    log_cholesky,
    of_pseudo_inertia,
    parameter_units,
    pseudo_inertia,
)
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.dynamics.scaling import coordinate_scales, model_length
from robot_dynamics.identification.fitted_friction import is_slow
from robot_dynamics.identification.least_squares import Fit, held_out_split, solve
from robot_dynamics.identification.motion import PARAMETERS, Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError
from robot_dynamics.identification.smoothed_arm import SmoothedArm
from robot_dynamics.model import WORLD
from robot_dynamics.robot import Robot

_SIZE = 0.05  # least radius of gyration that the prior assumes [m]
_LIGHT = 1e-3  # least mass that the prior assumes, over that of all bodies
_STRENGTH = 0.1  # of the description, where the data leave a choice
_ROUNDING = 1e-9  # of the prior's variance, for the inverse of a covariance
_THIN = 1e-4  # of a pseudo-inertia over mass and size: a body that is a point or a rod
_ROTOR = 0.1  # root of the armature over its usual size, at the start of an iteration
_TOLERANCES: dict[str, Any] = {"ftol": 1e-4, "xtol": 1e-4, "max_nfev": 200}
_STEP = 1e-5  # of finite differences of log-Cholesky coordinates


@dataclass(frozen=True)
class ArmLinks:
    """Identified links, rotors and friction of an arm.

    Attributes:
        joints: Names of the joints.
        bodies: Names of the bodies that they move.
        base: The base parameters as combinations of the standard parameters of these bodies, and
            of the armatures after them if they were identified.
        fit: The fit of base parameters, of viscous, Coulomb and low-speed friction, and of the
            torques' offsets.
        standard: Standard parameters (10 b,) and armatures that explain the data, of bodies of
            positive mass.
        described: The same of the description.
        held_out: Residual of the rows that the fit of the others did not use, over the noise:
            with the description, with base parameters, and with `standard`.
    """

    joints: tuple[str, ...]
    bodies: tuple[str, ...]
    base: BaseParameters
    fit: Fit
    standard: Array
    described: Array
    held_out: tuple[float, float, float]

    @property
    def inertias(self) -> dict[str, Array]:
        """Standard parameters (10,) of each body by its name; see `dynamics.regressor`."""
        rows = self.standard[: PER_BODY * len(self.bodies)].reshape(-1, PER_BODY)
        return dict(zip(self.bodies, rows, strict=True))

    @property
    def armature(self) -> Array | None:
        """Reflected inertia of the rotors (n,) [kg m^2 or kg]; None if it was not identified."""
        found = self.standard[PER_BODY * len(self.bodies) :]
        return found if len(found) else None

    @property
    def armature_known(self) -> NDArray[np.bool_]:
        """Whether each armature (n,) acts on the torques in a way of its own.

        Else that of the description decides about its part in a combination.
        """
        M, first = self.base.matrix != 0.0, PER_BODY * len(self.bodies)
        alone = M[M.sum(axis=1) == 1]
        return np.asarray(alone[:, first:].any(axis=0))

    def of_joints(self, kind: str) -> tuple[Array, Array]:
        """Return estimates (n,) and standard deviations (n,) of one value of each joint.

        Args:
            kind: "viscous friction", "Coulomb friction", or "torque offset".
        """
        at = [self.fit.names.index(f"{kind} of {name}") for name in self.joints]
        return self.fit.values[at], self.fit.deviations[at]


class ArmEquations:
    """Equations of an arm that holds nothing.

    Args:
        robot: The arm, or several; the other joints stay at zero.
        joints: Names of the arm's joints, of one degree of freedom each, base to tip.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].
        armature: Whether to identify the inertia of rotors; else it is that of the description.

    Attributes:
        bodies: Names of the bodies that the joints move.
        base: Base parameters, see `ArmLinks`.
        described: Standard parameters of the description, and armatures if they are unknowns.
        names: Names of the unknowns: base parameters by a standard one, friction, offsets.
        friction: Friction of the joints.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[str],
        noise: Noise,
        cutoff: float,
        *,
        armature: bool = True,
    ) -> None:
        self._states, self._cutoff = SmoothedArm(robot, joints, noise), cutoff
        self.robot, self._joints, self._index = robot, tuple(joints), self._states.index
        model = robot.model
        own = [model.joint_index(name) for name in joints]
        moved: list[int] = []
        for i, body in enumerate(model.bodies):
            if i in own or (body.parent != WORLD and body.parent in moved):
                moved.append(i)
        self.bodies = tuple(model.bodies[i].name for i in moved)
        self._columns = np.concatenate([PER_BODY * i + np.arange(PER_BODY) for i in moved])
        self._with_armature = armature
        self._armature = np.array(model.armature, dtype=float)[self._index]
        pi, n = inertial_parameters(model)[self._columns], len(joints)
        self.described = np.concatenate([pi, self._armature]) if armature else pi
        length = model_length(model)
        scales = coordinate_scales(model, length)[self._index]
        units = np.concatenate([parameter_units(len(moved), length), scales**2])
        rng = np.random.default_rng(0)

        def random_regressor() -> Array:
            q = np.array(model.neutral())
            q[self._states.q_index] += rng.normal(size=n)
            qd, qdd = np.zeros((2, model.nv))
            qd[self._index], qdd[self._index] = rng.normal(size=(2, n))
            Y: Array = self._regressor(q[None], qd[None], qdd[None])[0]
            return Y / scales[:, None]

        self.base = base_parameters(random_regressor, units[: len(self.described)])
        self.friction = self._states.friction
        every = [f"{what} of {body}" for body in self.bodies for what in PARAMETERS]
        every += [f"armature of {name}" for name in joints]
        self.names = (
            *(every[i] for i in self.base.independent),
            *self.friction.names,
            *(f"torque offset of {name}" for name in joints),
        )

    @property
    def _unknowns(self) -> int:
        """Number of base parameters."""
        return len(self.base.independent)

    def identify(self, motions: list[RecordedMotion]) -> ArmLinks:
        """Return the links and the friction that explain recorded motions of the arm alone.

        Args:
            motions: Positions and torques of the arm's joints.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        n, guess = len(self._joints), self.friction.first_guess()
        at_coulomb = slice(self._unknowns + n, self._unknowns + 2 * n)
        for _ in range(2):  # the second time with the friction that was found
            rows = [self._rows(one, guess) for motion in motions for one in motion.pieces()]
            A, y = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            if len(y) * n < 4 * A.shape[2]:
                raise IdentificationError(
                    f"the recording has {len(y)} instants of the arm of {self._joints[0]!r} to "
                    f"fit, each 1/{2 * self._cutoff:g} s; expected some ten seconds without gaps "
                    "in which it moves and holds nothing."
                )
            fit = self._solve(A, y, guess, motions[0].period)
            guess = self.friction.next_guess(guess, fit.values[at_coulomb])
        split = held_out_split(len(y))
        first = self._solve(A[:split], y[:split], guess, motions[0].period)
        described, _ = self._prior(guess)
        described[self._unknowns :] = first.values[self._unknowns :]
        consistent = first.values.copy()
        consistent[: self._unknowns] = self.base.matrix @ self._consistent(first)
        of_rest = [
            float(np.sqrt(np.mean((y[split:] - A[split:] @ x) ** 2)))
            for x in (described, first.values, consistent)
        ]
        held_out = (of_rest[0], of_rest[1], of_rest[2])
        return ArmLinks(
            self._joints,
            self.bodies,
            self.base,
            fit,
            self._consistent(fit),
            self.described,
            held_out,
        )

    def residuals(self, motion: RecordedMotion, values: Array) -> Array:
        """Return torques (N, n) less their predictions; NaN where a sample is missing.

        Args:
            motion: A motion with torques.
            values: Unknowns in the order of `names`.
        """
        A, y, _, unknown = self._equations(motion, self.friction.coulomb)
        y[unknown] = np.nan
        return np.asarray(y - A @ values)

    def described_values(self, links: ArmLinks) -> Array:
        """Return the unknowns with links of the description, and the friction that was found."""
        values = links.fit.values.copy()
        values[: self._unknowns] = self.base.matrix @ self.described
        return values

    def information(self, q: Array, qd: Array, qdd: Array, period: float) -> tuple[Array, Array]:
        """Return the information matrix of samples (u, u), and their torques (N, n).

        It is the inverse covariance of the unknowns without a prior. The torques are those of the
        description.

        Args:
            q: Positions (N, nq) of the robot.
            qd: Velocities (N, nv).
            qdd: Accelerations (N, nv).
            period: Time between samples of a recording [s].
        """
        A, speeds = self._matrix(q, qd, qdd), qd[:, self._index]
        tau = A @ self._prior(self.friction.first_guess())[0]
        if not self._with_armature:
            tau += self._armature * qdd[:, self._index]
        of = self._states.noise
        noise = of.torque**2 + (of.torque_fraction * tau) ** 2
        covariance = self._states.covariance(q, noise, Filters(period, self._cutoff))
        A[is_slow(speeds)] = 0.0
        A = np.linalg.solve(np.linalg.cholesky(covariance), A).reshape(-1, A.shape[2])
        return A.T @ A, tau

    def deviations_before(self) -> Array:
        """Standard deviations of all unknowns before a recording (u,)."""
        return self._prior(self.friction.first_guess())[1]

    def _matrix(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the factors of all unknowns (N, n, u)."""
        n = len(self._joints)
        offsets = np.tile(np.eye(n), (len(q), 1, 1))
        Y = self._regressor(q, qd, qdd)[..., self.base.independent]
        return np.concatenate([Y, self.friction.columns(qd[:, self._index]), offsets], axis=2)

    def _regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the factors (N, n, p) of standard parameters, and of armatures if unknown."""
        Y = self.robot.inverse_dynamics_regressor(q, qd, qdd)[:, self._index][..., self._columns]
        if not self._with_armature:
            return np.asarray(Y)
        rotors = np.eye(len(self._joints)) * qdd[:, self._index][:, None, :]
        return np.concatenate([Y, rotors], axis=2)

    def _prior(self, guess: Array) -> tuple[Array, Array]:
        """Return estimates of all unknowns before the recording, and their deviations."""
        n, M = len(self._joints), self.base.matrix
        mean, wide = self.friction.prior(guess)
        before = np.concatenate([M @ self.described, mean, np.zeros(n)])
        of_base = np.sqrt(M**2 @ self._uncertainty() ** 2)
        return before, np.concatenate([of_base, wide, wide[:n]])

    def _bodies_before(self) -> tuple[Array, Array]:
        """Return masses (b,) and radii (b,) [m] of the bodies, of some size at least."""
        pi = self.described[: len(self._columns)].reshape(-1, PER_BODY)
        mass = np.maximum(pi[:, 0], _LIGHT * pi[:, 0].sum())
        gyration = np.sqrt(np.maximum(0.5 * pi[:, [4, 6, 9]].sum(axis=1) / mass, 0.0))
        away = np.linalg.norm(pi[:, 1:4], axis=1) / mass
        return mass, np.maximum(np.maximum(gyration, away), _SIZE)

    def _uncertainty(self) -> Array:
        """Return prior deviations of standard parameters and armatures: their usual sizes."""
        mass, radius = self._bodies_before()
        ones = [m * parameter_units(1, r) for m, r in zip(mass, radius, strict=True)]
        if self._with_armature:
            at_rest = self.robot.inertia_matrix(np.array(self.robot.model.neutral()))
            moved = np.diag(at_rest)[self._index]
            ones.append(np.maximum(moved, self._armature))
        return np.concatenate(ones)

    def _solve(self, A: Array, y: Array, guess: Array, period: float) -> Fit:
        mean, deviations = self._prior(guess)
        filters = Filters(period, self._cutoff)
        freedom = np.full(len(y), float(y.shape[1]))
        return solve(A, y, freedom, self.names, mean, deviations, filters.correlation)

    def _rows(self, motion: RecordedMotion, guess: Array) -> tuple[Array, Array]:
        """Return the low-passed whitened regressor (M, n, u) and torques (M, n) of a motion."""
        filters = Filters(motion.period, self._cutoff)
        A, y, covariance, unknown = self._equations(motion, guess)
        return self._states.reduced(A, y, covariance, unknown, filters)

    def _equations(
        self, motion: RecordedMotion, guess: Array
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Return regressor, torques, covariance of their noise, and where they are unknown."""
        filters = Filters(motion.period, self._cutoff)
        q, qd, qdd, unknown = self._states.of(motion, filters)
        assert motion.torque is not None
        y = motion.torque.copy()
        if not self._with_armature:
            y -= self._armature * qdd[:, self._index]
        variance = self.friction.variance(
            motion.torque, qd[:, self._index], guess, self._states.noise, filters
        )
        covariance = self._states.covariance(q, variance, filters)
        unknown |= ~np.isfinite(covariance).all(axis=(1, 2)) | ~np.isfinite(y).all(axis=1)
        return self._matrix(q, qd, qdd), y, covariance, unknown

    def _consistent(self, fit: Fit) -> Array:
        """Return standard parameters and armatures, of bodies of positive mass, for a fit.

        They minimise the distance of their base parameters from the fit, over its covariance, and
        weakly the distance of their log-Cholesky coordinates from those of the description.
        """
        r, count = self._unknowns, len(self._columns)
        units = np.sqrt(self.base.matrix**2 @ self._uncertainty() ** 2)
        relative = fit.covariance[:r, :r] / np.outer(units, units) + _ROUNDING * np.eye(r)
        L = np.linalg.cholesky(np.linalg.inv(relative))
        M = L.T @ (self.base.matrix / units[:, None])
        target = L.T @ (fit.values[:r] / units)
        mass, radius = self._bodies_before()
        J = pseudo_inertia(self.described[:count].reshape(-1, PER_BODY))
        J[:, 3, 3] = mass
        # A point or a rod has no theta: it becomes a ball of that size about its centre.
        size = np.stack([radius, radius, radius, np.ones_like(radius)], axis=1)
        scaled = J / mass[:, None, None] / (size[:, :, None] * size[:, None, :])
        thin = np.linalg.eigvalsh(scaled)[:, 0] < _THIN
        J[:, [0, 1, 2], [0, 1, 2]] += (0.1 * thin * mass * radius**2)[:, None]
        theta = log_cholesky(of_pseudo_inertia(J))
        armature, rotor = self.described[count:], self._uncertainty()[count:]
        weights = np.ones_like(theta)
        weights[:, 4:] /= radius[:, None]
        start = np.concatenate([theta.ravel(), np.sqrt(armature / rotor)])
        weight = _STRENGTH * np.concatenate([weights.ravel(), np.ones(len(rotor))])

        def standard(x: Array) -> Array:
            pi = from_log_cholesky(x[:count].reshape(-1, PER_BODY)).ravel()
            return np.concatenate([pi, rotor * x[count:] ** 2])

        def distance(x: Array) -> Array:
            return np.concatenate([M @ standard(x) - target, weight * (x - start)])

        def slopes(x: Array) -> Array:
            rows, steps = x[:count].reshape(-1, 1, PER_BODY), _STEP * np.eye(PER_BODY)
            difference = from_log_cholesky(rows + steps) - from_log_cholesky(rows - steps)
            blocks = np.swapaxes(difference, 1, 2) / (2.0 * _STEP)
            return np.vstack(
                [M @ block_diag(*blocks, np.diag(2.0 * rotor * x[count:])), np.diag(weight)]
            )

        first = start.copy()
        first[count:] = np.maximum(start[count:], _ROTOR)  # its slope is zero at zero
        found = least_squares(distance, first, slopes, method="lm", **_TOLERANCES)
        return standard(found.x)
