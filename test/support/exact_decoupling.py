# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exactness of forward dynamics under the law's torque, at random states.

The expected values are computed here from the request alone: the servos (41) to (43), written out,
and the nearest motion that the surfaces allow. Nothing that the law says of itself goes into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.law_inputs import LawOptions
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.manipulation.hybrid.decoupling_law import FREE_CAUTION
from robot_dynamics.model import pose
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion
from support.hybrid_step import bare_gains, law_of
from support.hybrid_systems import LINKAGE, environment_of, state_of

# Of the servos: K_P, K_V and K_I of the motion, b of the surfaces.
PROPORTIONAL, DERIVATIVE, INTEGRAL, DAMPING = 100.0, 20.0, 30.0, 5.0
# Of the hands.
HAND_PROPORTIONAL, HAND_DERIVATIVE = 50.0, 7.0
# How far ahead of the measurement, half a period of 2 ms, and of the trend of accelerations.
LEAD, TREND = 1e-3, 0.5
SAFE_PIVOT = ControlSettings().safe_pivot


class Exactness(NamedTuple):
    """The largest relative errors over states.

    Attributes:
        error: Of accelerations, contact forces and internal forces, under forward dynamics.
        hands: Of accelerations of the hands where contacts leave them free, likewise.
        torque: Of the torque, to the law in NumPy.
    """

    error: float
    hands: float
    torque: float


@dataclass(frozen=True)
class Request:
    """The commands of the servos; motion of the object's origin, in world axes.

    Attributes:
        pose: x y z qx qy qz qw (7,).
        twist: Angular velocity and velocity (6,).
        acceleration: Their rates (6,).
        pose_integral: Of the pose error (6,).
        contact: Forces on surfaces (C,).
        contact_integral: Of their error (C,).
        internal: Internal forces (m,).
        internal_integral: Of their error (m,).
    """

    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray
    pose_integral: np.ndarray
    contact: np.ndarray
    contact_integral: np.ndarray
    internal: np.ndarray
    internal_integral: np.ndarray

    @classmethod
    def near(cls, state, layout, rng):
        """Return a request some centimetres and degrees from a state."""
        R = Rotation.from_rotvec(0.1 * rng.standard_normal(3)) * Rotation.from_matrix(
            state.pose[:3, :3]
        )
        C, m = layout.surfaces, layout.internal
        return cls(
            np.concatenate([state.pose[:3, 3] + 0.03 * rng.standard_normal(3), R.as_quat()]),
            rng.standard_normal(6),
            rng.standard_normal(6),
            0.01 * rng.standard_normal(6),
            *(10.0 * rng.standard_normal(size) for size in (C, C, m, m)),
        )

    def acceleration_of_center(self, at, twist, center, gains):
        """Return the acceleration (6,) that the servo (41) asks of the centre of mass.

        In world axes, and before surfaces remove the directions that they do not allow.

        Args:
            at: Pose (4, 4) of the object's origin.
            twist: Of the object, with the velocity of its centre of mass (6,).
            center: The centre of mass from the origin, in object axes.
            gains: K_P, K_V and K_I as `proportional`, `derivative` and `integral`.
        """
        R, R_d = Rotation.from_matrix(at[:3, :3]), Rotation.from_quat(self.pose[3:])
        r_d = R_d.apply(center)
        omega, alpha = self.twist[:3], self.acceleration[:3]
        wanted = np.concatenate([omega, self.twist[3:] + np.cross(omega, r_d)])
        bend = np.cross(alpha, r_d) + np.cross(omega, np.cross(omega, r_d))
        planned = np.concatenate([alpha, self.acceleration[3:] + bend])
        away = self.pose[:3] + r_d - at[:3, 3] - R.apply(center)
        error = np.concatenate([(R_d * R.inv()).as_rotvec(), away])
        u1 = planned + gains.derivative * (wanted - twist) + gains.proportional * error
        return u1 + gains.integral * self.pose_integral

    def acceleration_along(self, state, gains):
        """Return u1 (6 - C,) of the servo (41) in the coordinates themselves.

        Args:
            state: The object there, all surfaces touched.
            gains: K_P, K_V and K_I.
        """
        environment = state.system.environment
        center = np.asarray(state.system.held.center)
        R_d = Rotation.from_quat(self.pose[3:])
        r_d, omega, alpha = R_d.apply(center), self.twist[:3], self.acceleration[:3]
        v_d = np.concatenate([omega, self.twist[3:] + np.cross(omega, r_d)])
        bend = np.cross(alpha, r_d) + np.cross(omega, np.cross(omega, r_d))
        a_d = np.concatenate([alpha, self.acceleration[3:] + bend])
        wish = environment.terms(self.pose[:3] + r_d, R_d.as_matrix(), v_d)
        here = state.terms.environment
        learned = self.pose_integral[len(environment.surfaces) :]
        u1 = wish.E_P @ a_d + wish.E_P_dot_v
        u1 = u1 + gains.derivative * (wish.E_P @ v_d - here.E_P @ state.twist)
        return u1 + gains.proportional * (wish.s - here.s) + gains.integral * learned


def allowed(acceleration, terms):
    """Return the acceleration (6,) nearest to one, in the metric of the object's inertia, that
    keeps it on the surfaces: E_F a = -rate(E_F) v, by Lagrange's multipliers.
    """
    here = terms.environment
    C = len(here.E_F)
    K = np.block([[terms.I_B, here.E_F.T], [here.E_F, np.zeros((C, C))]])
    right = np.concatenate([terms.I_B @ acceleration, -here.E_F_dot_v])
    return np.linalg.solve(K, right)[:6]


def later(state, joints, of_object):
    """Return a state after the lead, by constant accelerations.

    Args:
        state: The state now.
        joints: Accelerations of the drives (n,).
        of_object: Of the object's centre of mass, in its own axes (6,).
    """
    R, center = state.pose[:3, :3], np.asarray(state.system.held.center)
    spin, velocity = R.T @ state.twist[:3], R.T @ state.twist[3:]
    alpha, a = of_object[:3], of_object[3:]
    turn = Rotation.from_rotvec(LEAD * spin + 0.5 * LEAD**2 * alpha).as_matrix()
    x = state.pose[:3, 3] + R @ (center + LEAD * velocity + 0.5 * LEAD**2 * a)
    R_then = R @ turn
    body = velocity + LEAD * (a - np.cross(spin, velocity))
    twist = np.concatenate([R_then @ (spin + LEAD * alpha), R_then @ body])
    (y, yd), arms = state.drives, state.system.passive_joints
    q = arms.positions(y + LEAD * yd + 0.5 * LEAD**2 * joints, state.q)
    return state._replace(
        q=q,
        qd=arms.rates(q, yd + LEAD * joints),
        pose=pose(x - R_then @ center, R_then),
        twist=twist,
    )


def hand_accelerations(state, acceleration, gains):
    """Return d_ah (6k,) in world axes: hands go with the object, and back to their grasps.

    Args:
        state: The state.
        acceleration: Of the object's centre of mass (6,), world axes.
        gains: K_P and K_D as `hand_proportional` and `hand_derivative`.
    """
    terms, R = state.terms, state.pose[:3, :3]
    omega, alpha = state.twist[:3], acceleration[:3]
    found = []
    for i, (tool, contact) in enumerate(
        zip(state.system.tools, state.system.contacts, strict=True)
    ):
        hand, grasp = state.robot.pose(tool, state.q), state.pose @ contact.pose
        r = R @ (contact.pose[:3, 3] - np.asarray(state.system.held.center))
        moving = (terms.J @ terms.qd)[6 * i : 6 * i + 6]
        carried = np.concatenate([omega, state.twist[3:] + np.cross(omega, r)])
        bend = np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
        rate = moving - carried
        turn = Rotation.from_matrix(hand[:3, :3] @ grasp[:3, :3].T).as_rotvec()
        offset = np.concatenate([turn, hand[:3, 3] - grasp[:3, 3]])
        found.append(
            np.concatenate([alpha, acceleration[3:] + bend])
            + np.concatenate([np.cross(omega, rate[:3]), np.cross(omega, rate[3:])])
            - gains.hand_derivative * rate - gains.hand_proportional * offset
        )  # fmt: skip
    return np.concatenate(found)


def hands_regular(state):
    """Tell whether the arms can move hands well in all free directions: the law damps nothing."""
    terms, free = state.terms, []
    for contact in state.system.free_directions:
        R = state.pose[:3, :3] @ contact.pose[:3, :3]
        free.append(np.kron(np.eye(2), R) @ contact.directions)
    U, A = block_diag(*free), terms.J @ np.linalg.solve(terms.M, terms.J.T)
    if not U.size:
        return True
    B, C, D = U.T @ A @ U, terms.S.T @ A @ U, terms.S.T @ A @ terms.S
    size = np.sqrt(np.diag(B))
    # No relative pivot is below the smallest eigenvalue.
    pivot = np.linalg.eigvalsh((B - C.T @ np.linalg.solve(D, C)) / np.outer(size, size))[0]
    return pivot > 1.1 * FREE_CAUTION * SAFE_PIVOT


def worst(count, kind, joints, surfaces, states, compiled=True, shipped=False, own=False, **more):
    """Return the exactness of the law over some states (`Exactness`).

    Args:
        count: Number of arms.
        kind: Of contacts.
        joints: Of each arm.
        surfaces: Number of planes.
        states: Number of states.
        compiled: Whether the law is compiled, or run over floats.
        shipped: Whether it looks ahead of the measurement and is damped near singularities, as
            controllers do by default, and shares of the load are unequal; else none of these.
        own: Whether the motion is along the coordinates of the user's own.
        more: More of `LawOptions`.
    """
    rng = np.random.default_rng([count, 0 if joints == LINKAGE else joints, surfaces, len(kind)])
    environment = environment_of(surfaces, own)
    law = law_of(count, kind, joints, surfaces, LawOptions(ahead=shipped, **more), compiled, own)
    found = []
    for _ in range(states):
        state = state_of(count, kind, joints, environment, rng)
        found.append(_errors(law, state, Request.near(state, law.layout, rng), rng, shipped))
    return Exactness(*np.max(found, axis=0).tolist())


def _errors(law, state, request, rng, shipped):
    """Return the errors of motion and forces, of the hands, and of the torque (3,)."""
    system, layout = state.system, law.layout
    shares = rng.uniform(0.5, 1.5, layout.arms) if shipped else np.ones(layout.arms)
    distribution = ForceDistribution.of_contacts(system, shares / shares.sum())
    gains = bare_gains(
        system,
        proportional=PROPORTIONAL, derivative=DERIVATIVE, integral=INTEGRAL,
        damping=np.full(layout.surfaces, DAMPING),
        hand_proportional=HAND_PROPORTIONAL, hand_derivative=HAND_DERIVATIVE,
        **({"safe_pivot": SAFE_PIVOT, "lead": LEAD, "trend": TREND} if shipped else {}),
    )  # fmt: skip
    changes, then = {}, state
    if shipped:
        last = {name: rng.standard_normal(layout.joints) for name in ("", "_change")}
        of_object = {name: rng.standard_normal(6) for name in ("", "_change")}
        changes = {f"joint_acceleration{name}": value for name, value in last.items()}
        changes |= {
            "memory_acceleration": of_object[""], "acceleration_change": of_object["_change"]
        }  # fmt: skip
        trends = (each[""] + TREND * each["_change"] for each in (last, of_object))
        then = later(state, *trends)
    got = law.run(state, gains=gains, distribution=distribution, **vars(request), **changes)
    terms = then.terms
    here = terms.environment
    center = np.asarray(system.held.center)
    if system.environment.own_coordinates:
        u1 = request.acceleration_along(state, gains)
        acceleration = here.acceleration(u1)  # (35)
    else:
        asked = request.acceleration_of_center(state.pose, state.twist, center, gains)
        acceleration = allowed(asked, terms)
        u1 = here.E_P @ acceleration + here.E_P_dot_v
    u2 = request.contact + request.contact_integral - DAMPING * (here.E_F @ then.twist)
    u3 = request.internal + request.internal_integral
    free = -state.drives[1]  # damping of self-motion, the only wish of bare gains
    d_ah = hand_accelerations(then, acceleration, gains)
    plain = hybrid_torque(
        terms, distribution, u1, u2, u3, free, d_ah, law.options.null_space
    ).torque
    motion = system_motion(terms, got["torque"])
    inside = distribution.internal_force(motion.contact_forces)
    moved = max(np.abs(motion.qdd).max(), np.abs(acceleration).max())
    pushed = max(np.abs(motion.contact_forces).max(), np.abs(got["torque"]).max())
    error = max(
        np.abs(motion.object_acceleration - acceleration).max() / moved,
        np.abs(motion.surface_forces - u2).max(initial=0.0) / pushed,
        np.abs(inside - u3).max() / pushed,
    )
    off = terms.J @ motion.qdd + terms.J_dot_qd - d_ah
    off = off - np.linalg.pinv(terms.S.T) @ (terms.S.T @ off)
    hands = np.abs(off).max() / max(moved, np.abs(d_ah).max())
    if not hands_regular(then):  # damped as shipped; and torques, but not the object, lose digits
        return error, 0.0 if shipped else hands, 0.0
    return error, hands, np.abs(plain - got["torque"]).max() / pushed
