# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Traced programs of an admittance in a control period.

Six-vectors are angular first, in world axes and about the object's origin, unless stated
otherwise. The state (18,) is e, e' and e''.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.compile import Program, call, trace
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.dynamics.closed_loop import CONSTRAINT_TERMS
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.joints.quaternion import turn, turn_between
from robot_dynamics.model.parameters import block_size
from robot_dynamics.scalar.functions import absolute, maximum, minimum
from robot_dynamics.scalar.linear_algebra import add, dot, factor, norm, subtract, times
from robot_dynamics.spatial import Rotation, Scalar, Vector3

E, RATE, ACCELERATION_OF_E = slice(0, 6), slice(6, 12), slice(12, 18)
ROW = ACCELERATION.stop  # what of a row of the reference is displaced
#: Of `advance`: exact steps (6, 2, 3), M, D, K (6,), dead bands, largest moment and force, largest
#: speeds, largest displacements (6,), time to brake over [s], period [s].
ADVANCE_PARAMETERS = 36 + 18 + 4 + 12 + 2
#: Of `outside_wrench`: mass, centre of mass (3,), inertia about it (3, 3), weight (3,), decay of
#: the filter in a period.
WRENCH_PARAMETERS = 17
_NO_TURN = (0.0, 0.0, 0.0, 1.0)
_TINY = 1e-30


def _quaternion(vector: Sequence[Scalar]) -> list[Scalar]:
    """Return the quaternion of a rotation vector of less than a radian or so."""
    return turn(_NO_TURN, vector)


def _product(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return the quaternion of R_a R_b."""
    u, v = Vector3.of(a[:3]), Vector3.of(b[:3])
    return [*(u * b[3] + v * a[3] + u.cross(v)), a[3] * b[3] - u.dot(v)]


def _matrix(quaternion: Sequence[Scalar]) -> Rotation:
    """Return R of a quaternion: from body axes to the world's."""
    return Rotation.from_quaternion(*quaternion).transpose()


def wrench_program() -> Program:
    """External wrench on the object: see `admittance.WrenchEstimate`.

    Inputs: smoothed wrench about the centre of mass (6,), momentum (6,) of the last period, pose
    (7,) and twist (6,) of the object, wrench of contacts (6,) in its axes, about its centre of
    mass, time since the last period [s], and 1 if there was one, else 0. Outputs: the smoothed
    wrench about the centre of mass, the momentum, the wrench.
    """

    def run(
        smoothed: Any, before: Any, pose: Any, twist: Any, contacts: Any, gone: Any, known: Any,
        block: Any,
    ) -> dict[str, Any]:  # fmt: skip
        mass, center, weight, keep = block[0], block[1:4], Vector3.of(block[13:16]), block[16]
        inertia = [block[4:7], block[7:10], block[10:13]]
        R, omega = _matrix(pose[3:]), Vector3.of(twist[:3])
        r = R * Vector3.of(center)
        angular = R * Vector3.of(times(inertia, [*R.inverse_times(omega)]))
        linear = (Vector3.of(twist[3:]) + omega.cross(r)) * mass
        momentum = [*angular, *linear]
        force = R * Vector3.of(contacts[3:]) + weight
        by_contacts = [*(R * Vector3.of(contacts[:3])), *force]
        seen = [(p - b) / gone - f for p, b, f in zip(momentum, before, by_contacts, strict=True)]
        gain = known * (1.0 - keep)
        now = [h + gain * (s - h) for h, s in zip(smoothed, seen, strict=True)]
        about_origin = Vector3.of(now[:3]) + r.cross(Vector3.of(now[3:]))
        return {"smoothed": now, "momentum": momentum, "wrench": [*about_origin, *now[3:]]}

    inputs: dict[str, int | tuple[int, ...]] = {
        "smoothed": 6, "momentum": 6, "pose": 7, "twist": 6, "contacts": 6, "gone": (),
        "known": (),
    }  # fmt: skip
    return trace(run, "outside_wrench", inputs, WRENCH_PARAMETERS)


def advance_program() -> Program:
    """The state after a control period: see `admittance.Compliance`.

    Inputs: the state (18,), a wrench (6,), and 1 if it is known; if not, 0, and e comes to rest by
    D alone. Output: the state.
    """

    def run(state: Any, wrench: Any, known: Any, block: Any) -> dict[str, Any]:
        e, rate = state[E], state[RATE]
        exact, rest = block[:36], block[36:]
        M, D, K, bands, largest = rest[:6], rest[6:12], rest[12:18], rest[18:20], rest[20:22]
        speed, reach, brake, period = rest[22:28], rest[28:34], rest[34], rest[35]
        push = [
            known * h + (1.0 - known) * k * x
            for h, k, x in zip(_counted(wrench, bands, largest), K, e, strict=True)
        ]
        moved, held, acceleration = [], [], []
        for i in range(6):
            a = exact[6 * i : 6 * i + 6]
            now = dot(a[:3], [e[i], rate[i], push[i]])
            wanted = dot(a[3:], [e[i], rate[i], push[i]])
            # Velocity dampers: e approaches its limit the more slowly, the nearer it is.
            most = minimum(speed[i], (reach[i] - e[i]) / brake)
            least = maximum(-speed[i], (-reach[i] - e[i]) / brake)
            v = minimum(maximum(wanted, least), most)
            limited = minimum(1.0, absolute(v - wanted) / _TINY)  # 1 or 0
            step = limited * period * v + (1.0 - limited) * (now - e[i])
            force = push[i] - D[i] * v - K[i] * (e[i] + step)
            moved.append(step)
            held.append(v)
            acceleration.append((1.0 - limited) * force / M[i])
        turned = _product(_quaternion(moved[:3]), _quaternion(e[:3]))
        return {
            "state": [*turn_between(_NO_TURN, turned), *add(e[3:], moved[3:]), *held,
                      *acceleration]
        }  # fmt: skip

    return trace(run, "compliance", {"state": 18, "wrench": 6, "known": ()}, ADVANCE_PARAMETERS)


def _counted(
    h: Sequence[Scalar], bands: Sequence[Scalar], largest: Sequence[Scalar]
) -> list[Scalar]:
    """Return the counted part of a wrench (6,): beyond the dead bands, up to the largest."""
    counted = []
    for part, band, most in zip((h[:3], h[3:]), bands, largest, strict=True):
        size = norm(part)
        scale = minimum(maximum(size - band, 0.0), most) / maximum(size, _TINY)
        counted += [scale * x for x in part]
    return counted


def displaced_program() -> Program:
    """A row of the reference (19,), displaced by a state (18,): x_c instead of x_d."""

    def run(row: Any, state: Any, block: Any) -> dict[str, Any]:
        e, rate, acceleration = state[E], state[RATE], state[ACCELERATION_OF_E]
        turned = _quaternion(e[:3])
        R = _matrix(turned)
        omega = R * Vector3.of(row[TWIST][:3])
        alpha = R * Vector3.of(row[ACCELERATION][:3])
        spin = Vector3.of(rate[:3])
        return {
            "row": [
                *add(row[POSE][:3], e[3:]),
                *_product(turned, row[POSE][3:]),
                *(omega + spin),
                *add(row[TWIST][3:], rate[3:]),
                *(alpha + Vector3.of(acceleration[:3]) + spin.cross(omega)),
                *add(row[ACCELERATION][3:], acceleration[3:]),
            ]
        }

    return trace(run, "displaced_row", {"row": ROW, "state": 18})


def joint_step_program(system: GraspSystem, rows: ArrayLike) -> Program:
    """Positions of the model after one Newton step that closes the contacts.

    Among all steps that close the contacts it is the one nearest to d, a step towards a posture,
    in the metric of inertia. With K the constraints on the arms and x their position error, it is
    d - H^-1 K^T (K H^-1 K^T)^-1 (x + K d).

    Joints stay within their bounds, and the step is shortened so that no joint exceeds its largest
    step.

    Inputs: positions (nq,), the object's pose (7,), the posture (na,). Parameters: those of the
        model, then least and largest position and largest step (na,) of each arm joint, in their
        order, and d as a share of the way to the posture.
    Output: the positions.

    Args:
        system: Arms without loops of their own, and object.
        rows: Matrix from all rows of the constraints to those of the arms.
    """
    model, own = system.model, block_size(system.model)
    terms, na = CONSTRAINT_TERMS.program(model), len(system.joint_names)
    every_v, joints = system.v_index.tolist(), system.q_index.tolist()
    used = [[(float(c), i) for i, c in enumerate(row) if c] for row in np.asarray(rows)]

    def run(positions: Any, pose: Any, posture: Any, block: Any) -> dict[str, Any]:
        at = list(positions)
        at[system.object_q] = pose
        found = call(terms, at, [0.0] * model.nv, parameters=block[:own])
        inertia = factor([[found["H"][i][j] for j in every_v] for i in every_v])
        opening = [dot([c for c, _ in row], [found["position_error"][i] for _, i in row])
                   for row in used]  # fmt: skip
        pull = [block[-1] * (wanted - at[i]) for wanted, i in zip(posture, joints, strict=True)]
        halves = []  # L^-T K^T, by rows of K
        for r, row in enumerate(used):
            K = [dot([c for c, _ in row], [found["K"][i][j] for _, i in row]) for j in every_v]
            halves.append(inertia.half_solve(K))
            opening[r] = opening[r] + dot(K, pull)
        scaled = [inertia.scale(half) for half in halves]
        A = [[dot(a, b) for b in scaled] for a in halves]
        wrench = factor(A).solve(opening)
        momentum = [dot(wrench, [half[j] for half in scaled]) for j in range(na)]
        step = subtract(inertia.back_solve(momentum), pull)
        count = len(joints)
        lower, upper, most = (block[own + i * count : own + (i + 1) * count] for i in range(3))
        share: Scalar = 1.0
        for change, largest in zip(step, most, strict=True):
            share = minimum(share, largest / maximum(absolute(change), _TINY))
        for i, index in enumerate(joints):
            at[index] = minimum(maximum(at[index] - share * step[i], lower[i]), upper[i])
        return {"positions": at}

    inputs = {"positions": model.nq, "pose": 7, "posture": len(joints)}
    return trace(run, "joint_step", inputs, own + 3 * len(joints) + 1)
