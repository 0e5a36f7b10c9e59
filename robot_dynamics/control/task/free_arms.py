# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of arms whose hands are free, or press on an object that stands.

Computed torque in joint space follows a reference of the joints, and constant wrenches of the
tools are added:

    tau = H(q) (qdd_r + kd (qd_r - qd) + kp (q_r - q)) + C(q, qd) + friction + sum of J_i^T f_i.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.control.fallback import within_rate
from robot_dynamics.control.gains import posture_gains
from robot_dynamics.control.joint_motion import StillJoints
from robot_dynamics.control.reference import TIME_LAWS, time_between_rests, value_at
from robot_dynamics.control.settings import ControlSettings, PostureSettings, SafetySettings
from robot_dynamics.control.streamed.curve import FADE
from robot_dynamics.control.task.phases import PhaseFailed
from robot_dynamics.control.torque_limits import friction_at
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot
from robot_dynamics.wording import apart

_LAW = tuple(TIME_LAWS["quintic"].deriv(i) for i in range(3))
_FADE_S = 0.2  # in which what a law before has left in the torque fades
_FEELS = 1e-3  # singular value over the largest, of directions in which joints feel a tool
# Growth of a tracking error that moves a joint which is free to: the servo's torque then grows by
# this share of the largest one, more than friction resists. Light joints of a wrist reach the
# upper bound with less torque: friction that holds them there must be in `control.friction`.
_FORCED = 0.05
_LEAST_GROWTH, _LARGEST_GROWTH = 5e-3, 0.05  # its bounds [rad or m]
_CORRECTION = 10.0  # rate at which a tool's reference returns to its line [1/s]


class FreeArms:
    """Reference and torque of free arms.

    Args:
        system: Arms and object; arms without internal closed chains.
        control: Rate, delay, friction, tolerances of `start` for tools at the grasps; the
            bandwidth and damping of the servo are of `object`.
        safety: Limits of torque, of its rate, and of tracking errors.

    Attributes:
        q: Reference of the arm joints (na,).
        qd: Its rate (na,).
        wrenches: Wrenches by the tools on the object, in tool frames (k, 6), angular first.
        along: Position of the reference of each tool on its line (k,) [m].
        effort: Largest torques (na,).
        pace: Rate of the time of phases, 1 but for pauses, and its own rate [1/s].
        still: Finds joints that do not follow at all.
    """

    def __init__(
        self, system: GraspSystem, control: ControlSettings, safety: SafetySettings
    ) -> None:
        system.require_plain_arms("a task")
        self.system, self._period = system, control.period
        self._robot = robot = Robot(system.arms_alone)
        model = robot.model
        at = [model.joint_index(name) for name in system.joint_names]
        self._q = np.array([model.q_slices[i].start for i in at])
        self._v = np.array([model.v_slices[i].start for i in at])
        joints = [model.bodies[i].joint for i in at]
        self._damping = np.array([joint.damping for joint in joints])
        self._coulomb = np.array([joint.friction for joint in joints])
        servo = PostureSettings(control.object.bandwidth, control.object.damping_ratio)
        gains = posture_gains(servo)
        self._kp, self._kd = gains.proportional, gains.derivative
        self._friction, self._tolerances = control.friction, control.start
        self.effort = safety.effort_fraction * system.limits["effort"]
        self._largest_change = safety.torque_rate * control.period
        limits = {"rad": safety.tracking_limit_rad, "m": safety.tracking_limit_m}
        self._largest_error = np.array([limits[unit] for unit in system.joint_units])
        self._ahead = (control.command_delay_periods + 0.5) * control.period
        self.pace = 1.0, 0.0
        self._tools = [arm.tool for arm in system.arms]
        self.begin(system.posture, np.zeros(len(self.effort)))
        self.advance_tools(np.zeros(len(self._tools)))  # compiles everything that is needed
        self.torque(system.posture, np.zeros(len(self.effort)))
        self.still = StillJoints(self._forced_growth(system.posture))

    def _forced_growth(self, q: Array) -> Array:
        """Return the growth of each joint's tracking error that moves it (na,); see `_FORCED`."""
        still = np.zeros_like(q)
        held = self._inverse_dynamics(q, still, still)
        inertias = [
            self._inverse_dynamics(q, still, one)[j] - held[j]
            for j, one in enumerate(np.eye(len(q)))
        ]
        growth = _FORCED * self.effort / np.maximum(self._kp * np.array(inertias), 1e-9)
        return np.clip(growth, _LEAST_GROWTH, _LARGEST_GROWTH)

    def begin(self, q: Array, last: Array) -> None:
        """Rest at measured positions, without pressing; the torque before fades smoothly.

        Args:
            q: Positions of the arm joints (na,).
            last: Torque that was sent last (na,).
        """
        self.q, self.qd, self._qdd = np.array(q), np.zeros_like(q), np.zeros_like(q)
        self.wrenches = np.zeros((len(self._tools), 6))
        self.last, self._since = np.array(last), 0
        self._lines = [self.tool_pose(i, q) for i in range(len(self._tools))]
        self.along = np.zeros(len(self._tools))

    def rest(self, q: Array) -> None:
        """Rest all arms at positions `q` (na,)."""
        self.follow(np.array(q), np.zeros_like(q), np.zeros_like(q))

    def rest_arm(self, arm: int, q: Array) -> None:
        """Rest one arm; `q` are the positions of all arm joints (na,)."""
        own = self.system.arm_slices[arm]
        self.q[own], self.qd[own], self._qdd[own] = q[own], 0.0, 0.0

    @property
    def ahead(self) -> float:
        """Time of a phase from a measurement to the middle of the action of its command [s]."""
        return self._ahead * self.pace[0]

    def follow(self, q: Array, qd: Array, qdd: Array) -> None:
        """Set the reference to positions, velocities and accelerations (na,) at full pace."""
        pace, second = self.pace
        self.q, self.qd, self._qdd = q, pace * qd, pace**2 * qdd + second * qd

    def require_tracking(self, q: Array) -> None:
        """Require that joints at measured positions `q` (na,) follow the reference.

        Raises:
            PhaseFailed: With the joint, its tracking error and the limit.
        """
        error, most = np.abs(q - self.q), self._largest_error
        if not (error <= most).all():
            j = int(np.argmax(error / most))
            found, allowed = apart(float(error[j]), float(most[j]))
            unit = self.system.joint_units[j]
            raise PhaseFailed(
                f"joint {self.system.joint_names[j]!r} is {found} {unit} from its reference, "
                f"expected at most {allowed} {unit}: it does not follow."
            )

    def astray(self, q: Array) -> str:
        """Return the distance of a tool from its reference, in words; empty within the tolerance.

        Args:
            q: Measured positions of the arm joints (na,).
        """
        own = self._tolerances
        for i, arm in enumerate(self.system.arms):
            seen, wanted = self.tool_pose(i, q), self.tool_pose(i, self.q)
            away = float(np.linalg.norm(seen[:3, 3] - wanted[:3, 3]))
            turned = float(Rotation.from_matrix(seen[:3, :3].T @ wanted[:3, :3]).magnitude())
            if not (away <= own.position_tolerance_m and turned <= own.rotation_tolerance_rad):
                return (
                    f": the tool of arm {arm.name!r} is {away:.3g} m and {np.degrees(turned):.3g} "
                    f"degrees from its reference, expected at most {own.position_tolerance_m:g} m "
                    f"and {np.degrees(own.rotation_tolerance_rad):.3g} degrees"
                )
        return ""

    def begin_lines(self) -> None:
        """Begin straight lines along the tools' z axes, from the reference's present poses."""
        self._lines = [self.tool_pose(i, self.q) for i in range(len(self._tools))]
        self.along = np.zeros(len(self._tools))
        self.rest(self.q)

    def advance_tools(self, speeds: Array) -> None:
        """Move the reference along the lines for a period.

        Arms with a speed of 0 rest. Of an arm with more than six joints, the joints move as little
        as possible.

        Args:
            speeds: Speed along the z axis of each tool (k,) at full pace [m/s].

        Raises:
            PhaseFailed: If a joint would have to exceed its velocity limit, as near a singularity.
        """
        dt, before, speeds = self._period, self.qd.copy(), self.pace[0] * speeds
        for i, own in enumerate(self.system.arm_slices):
            if speeds[i] == 0.0:
                self.qd[own] = 0.0
                continue
            now, line = self.tool_pose(i, self.q), self._lines[i]
            wanted = line[:3, 3] + self.along[i] * line[:3, 2]
            R = now[:3, :3].T @ line[:3, :3]
            sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            twist = np.empty(6)
            twist[:3], twist[3:] = sine, now[:3, :3].T @ (wanted - now[:3, 3])
            twist *= _CORRECTION
            twist[5] += speeds[i]
            J = self._jacobian(i, self.q)[:, own]
            try:
                self.qd[own] = J.T @ np.linalg.solve(J @ J.T, twist)
            except np.linalg.LinAlgError:
                self.qd[own] = np.nan
        most = self.system.limits["velocity"]
        if not (np.abs(self.qd) <= most).all():
            j = int(np.argmin(np.abs(self.qd) <= most))
            wanted, self.qd = self.qd[j], before
            raise PhaseFailed(
                f"joint {self.system.joint_names[j]!r} would have to move at {wanted:.3g} "
                f"{self.system.joint_units[j]}/s, expected at most {most[j]:.3g}: its arm is near "
                "a singularity."
            )
        self.q = self.q + dt * self.qd
        self.along = self.along + dt * speeds
        self._qdd = (self.qd - before) / dt

    def torque(self, q: Array, qd: Array) -> Array:
        """Return the torque (na,) at a measured state, within its limits.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
        """
        error, rate = self.q - q, self.qd - qd
        a = self._qdd + self._kp * error + self._kd * rate
        wanted = self._inverse_dynamics(q, qd, a)
        wanted += self._friction_at(self.qd + self._kp / self._kd * error)
        self._add_wrenches(wanted, q)
        if self._since == 0:
            self._left = self.last - wanted
        if (u := self._since * self._period / _FADE_S) < 1.0:
            wanted += value_at(FADE, u) * self._left
        self._since += 1
        wanted = np.clip(wanted, -self.effort, self.effort)
        self.last = within_rate(wanted, self.last, self._largest_change)
        return self.last

    def support(self, q: Array) -> Array:
        """Return the torque (na,) that holds the arms up, with the present wrenches."""
        still = np.zeros_like(q)
        found = self._inverse_dynamics(q, still, still)
        self._add_wrenches(found, q)
        return found

    def _add_wrenches(self, torque: Array, q: Array) -> None:
        """Add the torque of the present wrenches to a torque (na,)."""
        for i, wrench in enumerate(self.wrenches):
            if wrench.any():
                torque += self._jacobian(i, q).T @ wrench

    def moving_torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torque (na,) of a motion with free tools, friction included."""
        return self._inverse_dynamics(q, qd, qdd) + self._friction_at(qd)

    def tool_wrenches(self, q: Array, torque: Array) -> Array:
        """Return the wrenches (k, 6) by the tools, in tool frames, that need a torque (na,)."""
        found = np.zeros((len(self._tools), 6))
        for i, own in enumerate(self.system.arm_slices):
            J = self._jacobian(i, q)[:, own]
            found[i] = np.linalg.lstsq(J.T, torque[own], rcond=_FEELS)[0]
        return found

    def tool_pose(self, arm: int, q: Array) -> Array:
        """Return the pose (4, 4) of an arm's tool in the world at positions `q` (na,)."""
        return self._robot.pose(self._tools[arm], self._placed(q, self._q))

    def _jacobian(self, arm: int, q: Array) -> Array:
        """Return the Jacobian (6, na) of an arm's tool, in the tool's axes."""
        return self._robot.jacobian(self._tools[arm], self._placed(q, self._q))[:, self._v]

    def _friction_at(self, qd: Array) -> Array:
        """Return the compensated friction (na,) at velocities (na,)."""
        own = self._friction
        found: Array = friction_at(self._damping, self._coulomb, qd, own.share, own.velocity)
        return found

    def _inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        v = self._v
        at, rate, second = self._placed(q, self._q), self._placed(qd, v), self._placed(qdd, v)
        return self._robot.inverse_dynamics(at, rate, second)[v]

    @staticmethod
    def _placed(values: Array, index: Array) -> Array:
        """Return values of the arm joints (na,) in the order of the arms' model."""
        placed = np.empty_like(values)
        placed[index] = values
        return placed


class JointMove:
    """A motion of all joints from rest to rest, by the quintic time law.

    Args:
        start: Positions at the beginning (na,).
        end: Positions at the end (na,).
        velocity: Largest velocity of each joint (na,).

    Attributes:
        duration: Its duration [s].
    """

    def __init__(self, start: Array, end: Array, velocity: Array) -> None:
        self._start, self._way = np.array(start), end - start
        ways = zip(np.abs(self._way).tolist(), velocity.tolist(), strict=True)
        self.duration = max(time_between_rests(*each) for each in ways)

    def at(self, time: float, ahead: float = 0.0) -> tuple[Array, Array, Array]:
        """Return positions and velocities (na,) at a time, and accelerations (na,) after it.

        Args:
            time: Time since the beginning [s].
            ahead: Time from a measurement to the middle of the action of its command [s].
        """
        T = max(self.duration, 1e-9)
        u, later = (min(max(t / T, 0.0), 1.0) for t in (time, time + ahead))
        s, rate = value_at(_LAW[0], u), value_at(_LAW[1], u) / T
        second = value_at(_LAW[2], later) / T**2
        return self._start + self._way * s, self._way * rate, self._way * second


class Lines:
    """Speeds of tools along lines of one length from rest to rest, by the quintic time law.

    Args:
        arms: Number of arms.
        length: Length of each line [m]; negative against the z axes.
        speed: Largest speed [m/s].

    Attributes:
        duration: Planned duration [s].
    """

    def __init__(self, arms: int, length: float, speed: float) -> None:
        self._moves, self._length = np.ones(arms), length
        self.duration = time_between_rests(abs(length), speed)

    def stop(self, arm: int) -> None:
        """End the line of an arm where it is."""
        self._moves[arm] = 0.0

    def speeds(self, time: float) -> Array:
        """Return the speeds (k,) at a time since the beginning [m/s]."""
        T = max(self.duration, 1e-9)
        u = min(max(time / T, 0.0), 1.0)
        return self._moves * (self._length * value_at(_LAW[1], u) / T)
