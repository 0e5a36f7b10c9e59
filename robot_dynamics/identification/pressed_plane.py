# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction, stiffness and place of a plane that a held object presses and wipes.

The wrist sensors tell the force f of the plane on the object: in the axes of the described plane

    f = m (a - g) + R b - sum over arms of R_i (w_i - tool_i)

with the object's mass m and the sum b of the sensors' biases in its axes, which the samples
without contact tell. The true normal is n = (e_y, -e_x, 1) for small rotations e of the plane, and
N = n . f the pressing force. Where the object's point slides along d, with the part d' of d along
the true plane, Coulomb's law is

    d' . f + mu N = 0,    (n x d) . f = 0

and in the contact of Hunt and Crossley the point at (x, y, z) penetrates the plane, which is
displaced by c along its normal, by p:

    N / K = p (1 + D p'),    p = c + e_x y - e_y x - z

D is fitted because it would distort K. It is no result: noise of p' makes it too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion, uniform_filter1d

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import inertial_parameters
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.least_squares import Fit, solve
from robot_dynamics.identification.motion import (
    ArmKinematics,
    Noise,
    RecordedMotion,
    parameters_in,
    sensor_tools,
    skew,
)
from robot_dynamics.identification.signals import Filters, IdentificationError

#: Unknowns: mu, then of the place c, e, 1 / K, D, then the object's mass and biases.
FRICTION, MASS = "friction", "mass of the object [kg]"
PLACE = (
    "displacement [m]",
    "tilt x [rad]",
    "tilt y [rad]",
    "compliance [m/N]",
    "dissipation [s/m]",
)
_NAMES = (FRICTION, *PLACE, MASS, *(f"sum of biases f{axis} [N]" for axis in "xyz"))
_OF_PLACE, _OF_FORCE = np.arange(1, 6), np.array([0, 2, 3, 6, 7, 8, 9])
_WIDE = (1.0, 0.02, 0.02, 0.02, 1e-3, 50.0, 0.5, 20.0, 20.0, 20.0)  # priors; of the mass, over it
_SLIDES = 0.01  # m/s
_SETTLE_S = 0.2  # after a touch, and before the end of a contact
_LEAST_N = 1.0  # pressing force
_ROUNDS = 6  # of the Gauss-Newton iteration
_LEAST_ROWS = 10  # instants in which the object presses
_BLOCK, _BLOCKS = 8, 4  # of successive instants, of which the last of so many verifies
_AIR, _FRICTION, _DEPTH = slice(0, 3), slice(3, 5), 5  # rows of an instant


@dataclass(frozen=True)
class PressedPlane:
    """An identified plane.

    Attributes:
        force: Fit of friction and mass, of the tilt of the plane, which `place` determines, and of
            the sum of the biases.
        place: Fit of `PLACE`.
        held_out: Residual over the noise in every fourth part of the recording: as described and
            as identified from the other parts.
        sliding: Pressing force and friction (M, 2) of the instants in which the object slides [N].
        pressing: Penetration and pressing force (M, 2) of the instants in which it presses [m, N].
    """

    force: Fit
    place: Fit
    held_out: tuple[float, float]
    sliding: Array
    pressing: Array


class PressedPlaneEquations:
    """Equations of a plane that a point of a held object presses.

    Args:
        kinematics: Arms and object.
        grasps: Pose (4, 4) of each arm's tool in the object.
        frame: Pose (4, 4) of the plane in the world, its z axis into free space.
        point: Point (3,) of the object that touches it, in the object [m].
        described: Friction, and values of `PLACE`.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].
    """

    def __init__(
        self,
        kinematics: ArmKinematics,
        grasps: list[Array],
        frame: Array,
        point: Array,
        described: Array,
        noise: Noise,
        cutoff: float,
    ) -> None:
        system = kinematics.system
        self._kinematics, self._noise, self._cutoff = kinematics, noise, cutoff
        self._frame, self._tools = frame, sensor_tools(system)
        self._to_tools: list[Any] = [np.linalg.inv(grasp) for grasp in grasps]
        self._points = [to_tool[:3, :3] @ point + to_tool[:3, 3] for to_tool in self._to_tools]
        at = slice(PER_BODY * system.object_body, PER_BODY * (system.object_body + 1))
        self._object = inertial_parameters(system.model)[at]
        self._mean = np.concatenate([described, self._object[:1], np.zeros(3)])
        self._wide = np.array(_WIDE)
        self._wide[6] *= self._object[0]

    def identify(self, motions: list[RecordedMotion], touched: slice) -> PressedPlane:
        """Return the plane that explains motions of the object.

        Args:
            motions: Motions with wrenches, and with the surfaces that are touched.
            touched: Columns of this surface, of which a face has three.

        Raises:
            IdentificationError: If the object hardly presses the plane.
        """
        filters = Filters(motions[0].period, self._cutoff)
        samples = [self._samples(piece, touched) for one in motions for piece in one.pieces()]
        x = self._mean
        for round_ in range(_ROUNDS):
            # Before the samples in the air have told the biases, the force tells no contact.
            least = _LEAST_N if round_ else -np.inf
            parts = [self._rows(one, x, least, filters) for one in samples]
            A, y, sizes = (np.concatenate(rows) for rows in zip(*parts, strict=True))
            used = np.asarray(A.any(axis=2))
            count = int(used[:, _DEPTH].sum())
            if not used[:, _AIR].any() or count < _LEAST_ROWS:
                raise IdentificationError(
                    f"the object presses it in {count} instants and is in the air in "
                    f"{used[:, 0].sum()}, each 1/{2 * self._cutoff:g} s, expected {_LEAST_ROWS} "
                    "and 1 or more"
                )
            force, place, x = self._solve(A, y, x, filters)
        held_out = np.arange(len(y)) // _BLOCK % _BLOCKS == _BLOCKS - 1
        _, _, early = self._solve(A[~held_out], y[~held_out], x, filters)
        before = np.concatenate([self._mean[:6], early[6:]])
        sides = (A @ x - y) * sizes
        first, last = (
            float(np.sqrt(np.sum((y - A @ one)[held_out] ** 2) / max(used[held_out].sum(), 1)))
            for one in (before, early)
        )
        # Of a row that is the column of its parameter times this parameter, less the other side.
        at = used[:, 3]
        N = (A[..., 0] * sizes)[at, 3]
        sliding = np.column_stack([N, x[0] * N - sides[at, 3]])
        at = used[:, _DEPTH]
        N = (A[..., 4] * sizes)[at, _DEPTH]
        pressing = np.column_stack([x[4] * N - sides[at, _DEPTH], N])
        return PressedPlane(force, place, (first, last), sliding, pressing)

    def _solve(self, A: Array, y: Array, x: Array, filters: Filters) -> tuple[Fit, Fit, Array]:
        """Return the fits of forces and place, and all unknowns, by equations about `x`."""
        x, wide = x.copy(), self._wide.copy()
        fits: list[Fit] = []
        for rows, own in ((slice(_DEPTH, None), _OF_PLACE), (slice(_DEPTH), _OF_FORCE)):
            others = np.setdiff1d(np.arange(len(x)), own)
            mean = self._mean.copy()
            if fits:  # the place tells the tilt
                mean[_OF_PLACE], wide[_OF_PLACE] = fits[0].values, fits[0].deviations
            used = np.asarray(A[:, rows].any(axis=2))
            at = used.any(axis=1)
            fit = solve(
                A[at, rows][..., own],
                y[at, rows] - A[at, rows][..., others] @ x[others],
                used[at].sum(axis=1).astype(float),
                [_NAMES[i] for i in own],
                mean[own],
                wide[own],
                filters.correlation,
            )
            x[own] = fit.values
            fits.append(fit)
        return fits[1], fits[0], x

    def _samples(self, motion: RecordedMotion, touched: slice) -> dict[str, Any]:
        """Return the quantities of the equations that do not depend on the unknowns."""
        kinematics, k = self._kinematics, len(self._tools)
        filters = Filters(motion.period, self._cutoff)
        q, qd, qdd, unknown = kinematics.differentiate(motion.q, filters)
        S, origin = self._frame[:3, :3], self._frame[:3, 3]
        count = len(q)
        needed, measured, place, velocity = np.zeros((4, count, 3))
        effect, bias = np.zeros((count, 3, 3)), np.zeros((count, 3, 3))
        assert motion.wrenches is not None
        for i, point in enumerate(self._points):
            arm, tool = kinematics.system.arms[i], kinematics.of_tool(i, q, qd, qdd)
            pose = kinematics.robot.pose(arm.tool, q)
            R = np.einsum("ji,njk->nik", S, pose[:, :3, :3])
            force = tool.Y[:, 3:] @ (parameters_in(self._to_tools[i]) @ self._object) / k
            needed += np.einsum("nij,nj->ni", R, force)
            own = motion.wrenches[:, i, 3:] - tool.Y[:, 3:] @ self._tools[i]
            measured += np.einsum("nij,nj->ni", R, own)
            touching = pose[:, :3, :3] @ point + pose[:, :3, 3]
            place += (touching - origin) @ S / k
            J = R @ (tool.J[:, 3:] - skew(point) @ tool.J[:, :3]) / k
            speeds = qd[:, kinematics.index[kinematics.own[i]]]
            velocity += np.einsum("nij,nj->ni", J, speeds)
            effect += J @ np.swapaxes(J, 1, 2)
            bias += R @ self._to_tools[i][:3, :3] / k
        near = round(_SETTLE_S / motion.period)
        assert motion.touched is not None
        pressed = np.nan_to_num(motion.touched) > 0.0
        others = np.delete(pressed, touched, axis=1).any(axis=1)
        others = binary_dilation(others, iterations=near)
        air = ~binary_dilation(pressed.any(axis=1), iterations=near)
        sensed = np.concatenate([measured, motion.touched], axis=1)
        known = np.asarray(~unknown & np.isfinite(sensed).all(axis=1))
        return {
            "needed": needed, "measured": measured, "place": place, "velocity": velocity,
            "effect": effect, "bias": bias, "air": air & known,
            "touched": pressed[:, touched].all(axis=1) & ~others & known,
        }  # fmt: skip

    def _rows(
        self, s: dict[str, Any], x: Array, least: float, filters: Filters
    ) -> tuple[Array, Array, Array]:
        """Return factors (M, 6, 10) and sides (M, 6) of low-passed equations about `x`.

        They are whitened by the sizes (M, 6), which are the last result. Rows that do not apply
        are zero; the object presses if the force is larger than `least` [N].
        """
        mu, c, ex, ey, compliance, dissipation, mass = x[:7]
        count = len(s["needed"])
        J = np.zeros((count, 6, len(x)))
        r = np.zeros((count, 6))
        f = mass / self._mean[6] * s["needed"] - s["measured"] + s["bias"] @ x[7:]
        of_force = np.concatenate([s["needed"][..., None] / self._mean[6], s["bias"]], axis=2)
        J[:, _AIR, 6:], r[:, _AIR] = of_force, f
        n = np.array([ey, -ex, 1.0])
        N, of_N = f @ n, np.einsum("i,nij->nj", n, of_force)
        v, (px, py, height) = s["velocity"], s["place"].T
        speed = np.linalg.norm(v[:, :2], axis=1)
        steps = round(_SETTLE_S / filters.period)
        pushed = uniform_filter1d(np.nan_to_num(N), steps) > least
        touching = np.asarray(s["touched"] & pushed, dtype=bool)
        pressing = np.array(binary_erosion(touching, iterations=steps), dtype=bool)
        sliding = pressing & (speed > _SLIDES)
        d = np.divide(v[:, :2], speed[:, None], where=sliding[:, None], out=np.zeros((count, 2)))
        for row, along, friction in ((3, d, mu), (4, d[:, ::-1] * [-1.0, 1.0], 0.0)):
            across = along @ n[:2]
            r[:, row] = np.einsum("ni,ni->n", along, f[:, :2]) - (across - friction) * N
            J[:, row, 0] = N if row == 3 else 0.0
            J[:, row, 2], J[:, row, 3] = along[:, 1] * N, -along[:, 0] * N
            J[:, row, 6:] = np.einsum("ni,nij->nj", along, of_force[:, :2])
            J[:, row, 6:] -= (across - friction)[:, None] * of_N
        depth, faster = c + ex * py - ey * px - height, -v @ n
        growth = 1.0 + dissipation * faster
        r[:, 5] = compliance * N - depth * growth
        J[:, 5, 1:4] = -growth[:, None] * np.column_stack([np.ones(count), py, -px])
        J[:, 5, 4], J[:, 5, 5], J[:, 5, 6:] = N, -depth * faster, compliance * of_N
        rows = np.concatenate([J, (np.einsum("nij,j->ni", J, x) - r)[..., None]], axis=2)
        rows[~s["air"], _AIR] = np.nan
        rows[~sliding, _FRICTION] = np.nan
        rows[~pressing, _DEPTH] = np.nan
        mean_depth = np.abs(depth[pressing]).sum() / max(pressing.sum(), 1)
        sizes = self._sizes(s, mu, compliance, dissipation * mean_depth, filters)
        rows = filters.reduce(rows) / sizes[:, None]
        known = ~np.isnan(rows.sum(axis=2))
        rows[~known] = 0.0
        rows = rows[known.any(axis=1)]
        return rows[..., :-1], rows[..., -1], np.tile(sizes, (len(rows), 1))

    def _sizes(
        self, s: dict[str, Any], mu: float, compliance: float, retarded: float, filters: Filters
    ) -> Array:
        """Return standard deviations (6,) of the noise of low-passed rows.

        Args:
            s: The samples.
            mu: Friction.
            compliance: 1 / K [m/N].
            retarded: Effect D p of the rate of the depth [s].
            filters: The filters.
        """
        k, noise = len(self._tools), self._noise
        effect = s["effect"].mean(axis=0)
        acceleration = filters.noise_of_derivative(2) / filters.noise * np.diag(effect)
        force = np.sqrt(k * noise.force**2 + (noise.position * self._mean[6]) ** 2 * acceleration)
        place = filters.noise_of_derivative(0) + retarded**2 * filters.noise_of_derivative(1)
        place *= effect[2, 2] / filters.noise
        depth = np.hypot(noise.position * np.sqrt(place), compliance * force[2])
        along = np.hypot(force[:2].max(), mu * force[2])
        return np.sqrt(filters.noise) * np.array([*force, along, along, depth])
