# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms on a spacecraft catch and turn a satellite that drifts and spins.

Swain and Morris, sections 8.2 and 8.3. Free-floating, no force acts on the base, and the momentum
of all bodies is constant; free-flying, thrusters bring the base to rest. The catch is a plastic
impact: both grasps begin to hold at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

from robot_dynamics.app.pictures.figures import BLUE, GREY, INK, ORANGE, VERMILION, XYZ
from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.impact import Impact, plastic_impact
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.reproductions.law_checks import (
    carrying_law_checks,
    inverse_dynamics_law_check,
)
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell
from robot_dynamics.reproductions.swain_morris import (
    BASE,
    BASE_HALF,
    MIRROR,
    TOOLS,
    PoseServo,
    box,
    grasps,
    held_at,
    held_box,
    outline,
    smooth,
    two_armed,
)
from robot_dynamics.reproductions.unified import (
    UnifiedSystem,
    carrying,
    forward_dynamics,
    unified_system,
)
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate

_BASE_MASS, _SATELLITE_MASS = 400.0, 80.0  # [kg]
_AHEAD = 1.5  # where the satellite is caught, before the base's centre [m]
_STOWED = np.array([1.5, 0.5, -2.3, 0.3, -0.4, 0.2])
# The satellite at the catch, in its coordinates [rad/s, m/s].
_DRIFT = np.array([0.01, 0.03, -0.04, -0.010, 0.008, 0.005])
_TURN = np.array([0.0, 1.0, 0.4, 0.0, 0.0, 0.1])  # in the base's axes [rad, m]
_STEP, _INTERVAL = 0.02, 0.1  # [s]
_JOINTS, _GRASP, _THRUSTERS = 2.0, 1.0, 0.4  # servos [rad/s]
_NO_GRAVITY = (0.0, 0.0, 0.0)
_B, _O = slice(0, 6), slice(18, 24)  # velocities of base and satellite
_ARMS = slice(7, 19)  # positions of the arms


@dataclass(frozen=True)
class SpaceRun:
    """Record of a run, at outputs (m,) over the whole time.

    Attributes:
        t: Times [s].
        q: Positions of base, arms and satellite (m, 26).
        qd: Velocities (m, 24).
        momentum: Momentum of all bodies (m, 6) [N m s, N s].
        reaction: Wrench of the arms on the base (m, 6), in its coordinates [N m, N].
        thrust: Wrench of the thrusters on the base (m, 6), in its coordinates [N m, N].
        predicted: Base velocity by the disturbance Jacobian (k, 6), until the catch.
        turned: Rotation vector of the satellite in the base since the catch (m, 3), zero before.
        wanted: Desired rotation vector (m, 3).
        caught: Index of the first output after the catch.
        impact: The catch.
    """

    t: Array
    q: Array
    qd: Array
    momentum: Array
    reaction: Array
    thrust: Array
    predicted: Array
    turned: Array
    wanted: Array
    caught: int
    impact: Impact


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Catch and turn the satellite without thrusters."""
    return _outcome(quick, False, tell)


def run_with_thrusters(quick: bool, tell: Tell) -> StudyOutcome:
    """Catch and turn the satellite while thrusters hold the base."""
    return _outcome(quick, True, tell)


class _Spacecraft:
    """The robot before and after the catch, with the laws that move it."""

    def __init__(self, thrusters: bool, times: tuple[float, float, float, float]) -> None:
        self.thrusters = thrusters
        self.approach, begin, turn, self.end = times
        robot = two_armed("floating", _BASE_MASS)
        self.free = unified_system(robot, TOOLS, gravity=_NO_GRAVITY)
        self.held = unified_system(
            robot, TOOLS, held_box(_SATELLITE_MASS), grasps(), gravity=_NO_GRAVITY
        )
        self.free_robot, self.robot = Robot(self.free.model), Robot(self.held.model)
        at_origin = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        ahead = at_origin + np.array([_AHEAD, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        self.ready = held_at(self.held, self.robot, at_origin, ahead)[_ARMS]
        stowed = np.concatenate([_STOWED, MIRROR * _STOWED])
        self.path = smooth(0.0, 0.9 * self.approach, self.ready - stowed, stowed)
        self.servo = PoseServo(pose((_AHEAD, 0.0, 0.0)), smooth(begin, turn, _TURN), _GRASP)
        self._keep = PoseServo(np.eye(4), smooth(0.0, 1.0, np.zeros(6)), _THRUSTERS)

    def law_checks(self) -> list[Check]:
        """Return checks of both laws in motion faster than the task."""
        ahead = np.array([_AHEAD, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        q = np.concatenate([np.eye(7)[6], self.ready, ahead])
        return [
            inverse_dynamics_law_check(self.free),
            *carrying_law_checks(self.held, self.robot, q, relative=True),
        ]

    def thrust(self, time: float, q: Array, qd: Array, inertia: Array) -> Array:
        """Return the wrench (6,) of the thrusters on the base."""
        if not self.thrusters:
            return np.zeros(6)
        return inertia @ self._keep.acceleration(time, base_pose(q), qd[_B])

    def approaching(self, time: float, q: Array, qd: Array) -> Array:
        """Return joint forces (18,) that bring the arms to where the satellite will be."""
        parts = self.free.terms(q, qd).parts
        thrust = self.thrust(time, q, qd, parts.M_p)
        wanted, rate, acceleration = self.path(time)
        w = _JOINTS
        push = acceleration + 2.0 * w * (rate - qd[6:]) + w * w * (wanted - q[7:])
        torque = parts.inverse_dynamics(push, thrust, np.zeros(12))
        return np.concatenate([thrust, torque])

    def turning(self, time: float, q: Array, qd: Array) -> Array:
        """Return joint forces (24,) that turn the satellite in the base's frame."""
        terms = self.held.terms(q, qd)
        thrust = self.thrust(time, q, qd, terms.parts.M_p)
        there, base_part = in_base(q), as_part_of_base(q, qd)
        relative = qd[_O] - base_part
        push = self.servo.acceleration(time, there, relative)
        # The rate of the transform from base to satellite, -V_rel x X, times V_b.
        swept = -motion_cross(relative, base_part)
        torque = carrying(terms, push + swept, thrust, relative=True).torque
        return np.concatenate([thrust, torque, np.zeros(6)])

    def simulated(self, tell: Tell) -> SpaceRun:
        """Approach, catch and turn."""
        n_free, n_held = (round(s / _INTERVAL) for s in (self.approach, self.end - self.approach))

        def told(begin: float, doing: str) -> Any:
            def progress(time: float, _: float) -> None:
                tell(0.02 + 0.96 * (begin + time) / self.end, f"{doing}, {begin + time:.1f} s")

            return progress

        start = np.concatenate([[0.0] * 6, [1.0], self.path(0.0)[0]])
        first = integrate(
            self.free_robot, start, np.zeros(18), self.approach, tau=self.approaching,
            step=_STEP, outputs=n_free, progress=told(0.0, "approach"),
        )  # fmt: skip
        base = first.q[-1, :7]
        at = base_pose(base) @ pose((_AHEAD, 0.0, 0.0))
        satellite = np.concatenate([at[:3, 3], Rotation.from_matrix(at[:3, :3]).as_quat()])
        q = held_at(self.held, self.robot, base, satellite)
        before = np.concatenate([first.qd[-1], _DRIFT])
        H, _, K, _, gap, _ = self.robot.constraint_terms(q, before)
        impact = plastic_impact(self.held.model, H, K, gap, q, before)

        def later(time: float, q: Array, qd: Array) -> Array:
            return self.turning(self.approach + time, q, qd)

        second = integrate(
            self.robot, q, impact.qd, self.end - self.approach, tau=later,
            step=_STEP, outputs=n_held, progress=told(self.approach, "satellite held"),
        )  # fmt: skip
        drift_q, drift_v = _came_from(satellite, self.approach, n_free)
        q = np.vstack([np.hstack([first.q, drift_q]), second.q])
        qd = np.vstack([np.hstack([first.qd, drift_v]), second.qd])
        t = np.concatenate([first.t, self.approach + second.t])
        return self._measured(t, q, qd, n_free + 1, impact)

    def _measured(self, t: Array, q: Array, qd: Array, caught: int, impact: Impact) -> SpaceRun:
        reaction, thrust = np.zeros((len(t), 6)), np.zeros((len(t), 6))
        predicted, turned, wanted = np.zeros((caught, 6)), np.zeros((len(t), 3)), []
        for i, (time, at_q, at_v) in enumerate(zip(t, q, qd, strict=True)):
            system: UnifiedSystem
            if i < caught:
                system, at_q, at_v = self.free, at_q[:19], at_v[:18]
                force = self.approaching(time, at_q, at_v)
            else:
                system, force = self.held, self.turning(time, at_q, at_v)
                turned[i] = Rotation.from_matrix(in_base(at_q)[:3, :3]).as_rotvec()
            terms = system.terms(at_q, at_v)
            thrust[i] = force[_B]
            if i < caught:
                predicted[i] = -terms.parts.disturbance_jacobian @ at_v[6:]
            motion = forward_dynamics(terms, force[system.driven], thrust[i])
            needed = _base_wrench(at_v[_B], motion.following_accelerations)
            reaction[i] = needed - thrust[i]
            wanted.append(self.servo.path(time)[0][:3])
        h = self.robot.momentum(q, qd)
        return SpaceRun(
            t, q, qd, h, reaction, thrust, predicted, turned, np.array(wanted), caught, impact
        )


def base_pose(q: Array) -> Array:
    """Return the base's pose (4, 4)."""
    return pose(q[:3], Rotation.from_quat(q[3:7]).as_matrix())


def in_base(q: Array) -> Array:
    """Return the satellite's pose (4, 4) in the base."""
    world = pose(q[19:22], Rotation.from_quat(q[22:26]).as_matrix())
    return np.asarray(np.linalg.inv(base_pose(q)) @ world)


def as_part_of_base(q: Array, qd: Array) -> Array:
    """Return the velocity (6,) that the satellite would have as a part of the base."""
    there = in_base(q)
    spin, speed = qd[:3], qd[3:6] + np.cross(qd[:3], there[:3, 3])
    return np.concatenate([there[:3, :3].T @ spin, there[:3, :3].T @ speed])


def motion_cross(v: Array, m: Array) -> Array:
    """Return v x m of two motions (6,) (2.31)."""
    linear = np.cross(v[:3], m[3:]) + np.cross(v[3:], m[:3])
    return np.concatenate([np.cross(v[:3], m[:3]), linear])


def _base_wrench(v: Array, a: Array) -> Array:
    """Return I a + v x* I v (6,) of the base alone, whose frame is at its centre of mass."""
    edge = 2.0 * BASE_HALF
    inertia = box(_BASE_MASS, edge, edge, edge)
    moment = inertia @ a[:3] + np.cross(v[:3], inertia @ v[:3])
    return np.concatenate([moment, _BASE_MASS * (a[3:] + np.cross(v[:3], v[3:]))])


def _came_from(there: Array, duration: float, outputs: int) -> tuple[Array, Array]:
    """Return the approach of the satellite: a free motion is also free backwards in time."""
    body: LinkElement = held_box(_SATELLITE_MASS)
    drift = JointElement("drift", "floating", "world", body.name)
    alone = Robot(build(Mechanism("alone", (LinkElement("world"), body), (drift,)),
                        gravity=_NO_GRAVITY))  # fmt: skip
    back = integrate(alone, there, -_DRIFT, duration, step=_STEP, outputs=outputs)
    return back.q[::-1], -back.qd[::-1]


def _outcome(quick: bool, thrusters: bool, tell: Tell) -> StudyOutcome:
    times = (2.0, 2.5, 4.0, 8.0) if quick else (12.0, 16.0, 26.0, 60.0)
    tell(0.0, "compiling")
    craft = _Spacecraft(thrusters, times)
    found = craft.simulated(tell)
    h0, k = found.momentum[0], found.caught
    change = np.abs(found.momentum - h0)
    angular = float(np.max(change[:, :3]) / np.linalg.norm(h0[:3]))
    linear = float(np.max(change[:, 3:]) / np.linalg.norm(h0[3:]))
    base = found.qd[:k, :6]
    off = float(np.max(np.abs(base - found.predicted)) / np.max(np.abs(base)))
    turning = float(np.max(np.abs(found.turned[-1] - found.wanted[-1])))
    after = found.momentum[k] - found.momentum[k - 1]
    at_catch = float(np.max(np.abs(after)) / np.max(np.abs(h0)))
    per_arm = found.impact.impulse.reshape(2, 6)
    attitude = np.degrees(Rotation.from_quat(found.q[:, 3:7]).magnitude())
    figures = {
        "duration [s]": craft.end,
        "momentum": {"angular [N m s]": h0[:3].tolist(), "linear [N s]": h0[3:].tolist()},
        "largest change of angular momentum, relative": angular,
        "largest change of linear momentum, relative": linear,
        "impulse of the catch": {
            "left arm [N s]": float(np.linalg.norm(per_arm[0, 3:])),
            "right arm [N s]": float(np.linalg.norm(per_arm[1, 3:])),
            "left arm [N m s]": float(np.linalg.norm(per_arm[0, :3])),
            "right arm [N m s]": float(np.linalg.norm(per_arm[1, :3])),
        },
        "energy lost in the catch [J]": found.impact.energy_lost,
        "base turned by at most [degrees]": float(np.max(attitude)),
        "base turned at the catch [degrees]": float(attitude[k]),
        "base reaction at most [N]": float(np.max(np.linalg.norm(found.reaction[:, 3:], axis=1))),
        "base reaction at most [N m]": float(
            np.max(np.linalg.norm(found.reaction[:, :3], axis=1))
        ),
        "base speed at the end [mm/s]": 1e3 * float(np.linalg.norm(found.qd[-1, 3:6])),
        "base spin at the end [degrees/s]": float(np.degrees(np.linalg.norm(found.qd[-1, :3]))),
    }
    checks = [Check("momentum across the catch, relative change", at_catch, 1e-9)]
    checks.append(Check("satellite's turn in the base, error at the end [rad]", turning, 0.01))
    if thrusters:
        given = _thrust_impulse(found)
        missing = float(np.max(np.abs(found.momentum[-1] - h0 - given)) / np.max(np.abs(given)))
        # Simpson's rule over tenths of a second, across the kinks of paths.
        checks.append(
            Check("momentum beside the thrusters' impulse, relative error", missing, 1e-3)
        )
        at_end = found.qd[-1, :6]
        spin, speed = np.degrees(np.linalg.norm(at_end[:3])), 1e3 * np.linalg.norm(at_end[3:])
        # A short version ends before the base is at rest.
        checks += [
            Check("base speed at the end [mm/s]", float(speed), 5.0 if quick else 0.01),
            Check("base spin at the end [degrees/s]", float(spin), 1.0 if quick else 0.01),
        ]
        figures["thrusters at most [N]"] = float(np.max(np.abs(found.thrust[:, 3:])))
    else:
        checks += [
            Check("angular momentum, relative change", angular, 1e-9),
            Check("linear momentum, relative change", linear, 1e-9),
            Check("base velocity beside the disturbance Jacobian, relative error", off, 1e-9),
        ]
    checks += craft.law_checks()
    title = "free-flying" if thrusters else "free-floating"
    return StudyOutcome(
        figures,
        tuple(checks),
        lambda figure: draw_space(figure, craft.robot, found, title),
        (13.0, 7.5),
    )


def _thrust_impulse(found: SpaceRun) -> Array:
    """Return the impulse (6,) of the thrusters in the world, by Simpson's rule."""
    world = []
    for q, wrench in zip(found.q, found.thrust, strict=True):
        R = Rotation.from_quat(q[3:7]).as_matrix()
        force = R @ wrench[3:]
        world.append(np.concatenate([R @ wrench[:3] + np.cross(q[:3], force), force]))
    # The catch takes no time, and the thrusters' command jumps there.
    parts = (slice(0, found.caught), slice(found.caught, None))
    return np.asarray(sum(simpson(np.array(world)[at], x=found.t[at], axis=0) for at in parts))


_SMALLEST = 1e-17


def draw_robot(ax: Any, robot: Any, q: Any, *, alpha: float = 1.0) -> None:
    """Draw arms, base and box from above."""
    for name, points in outline(robot, q).items():
        color = {BASE: INK, "box": VERMILION, "left": BLUE, "right": ORANGE}[name]
        arm = name in ("left", "right")
        style = {"marker": "o", "markersize": 2.5} if arm else {}
        ax.plot(points[:, 0], points[:, 1], color=color, alpha=alpha, linewidth=1.6, **style)
    ax.set_aspect("equal")
    ax.set(xlabel="x [m]", ylabel="y [m]")


def draw_space(figure: Any, robot: Any, found: SpaceRun, title: str) -> None:
    """Fill the figure of a run.

    Args:
        figure: An empty figure of matplotlib.
        robot: The robot with the satellite.
        found: The run.
        title: Kind of the base.
    """
    axes = figure.subplots(2, 3)
    t, k = found.t, found.caught
    for i, alpha in ((0, 0.2), (k, 0.5), (len(t) - 1, 1.0)):
        draw_robot(axes[0, 0], robot, found.q[i], alpha=alpha)
    axes[0, 0].set_title(f"From above: 0, {t[k]:.0f} (catch), {t[-1]:.0f} s")
    turned = np.degrees(Rotation.from_quat(found.q[:, 3:7]).as_rotvec())
    for i, name in enumerate("xyz"):
        axes[0, 1].plot(t, turned[:, i], color=XYZ[i], label=f"turned about {name} [degrees]")
        axes[0, 1].plot(t, 100.0 * found.q[:, i], color=XYZ[i], linestyle=(0, (4, 2)),
                        linewidth=1.0, label=f"moved along {name} [cm]")  # fmt: skip
        axes[0, 2].plot(t[k:], np.degrees(found.wanted[k:, i]), color="#C9D3DC", linewidth=5.0,
                        label="wanted" if i == 0 else None)  # fmt: skip
        axes[0, 2].plot(t[k:], np.degrees(found.turned[k:, i]), color=XYZ[i], label=name)
    axes[0, 1].set_title("Base")
    axes[0, 2].set_title("Satellite in the base since the catch")
    axes[0, 2].set_ylabel("rotation vector [degrees]")
    for i, name in enumerate("xyz"):
        axes[1, 0].plot(t, found.momentum[:, i], color=XYZ[i], label=f"angular {name} [N m s]")
        axes[1, 0].plot(t, found.momentum[:, 3 + i], color=XYZ[i], linestyle=(0, (4, 2)),
                        linewidth=1.0, label=f"linear {name} [N s]")  # fmt: skip
    axes[1, 0].set_title("Momentum of all bodies")
    axes[1, 1].plot(
        t, np.linalg.norm(found.reaction[:, 3:], axis=1), color=BLUE, label="force [N]"
    )
    axes[1, 1].plot(
        t, np.linalg.norm(found.reaction[:, :3], axis=1), color=ORANGE, label="moment [N m]"
    )
    axes[1, 1].set_title("Reaction of the arms on the base")
    if np.any(found.thrust):
        _thrusters(axes[1, 2], found)
    else:
        _conserved(axes[1, 2], found)
    for ax in (axes[0, 1], axes[1, 0]):
        low, high = ax.get_ylim()
        ax.set_ylim(low - 0.35 * (high - low), high)  # room for the legend
    for ax in axes.flat[1:]:
        ax.axvline(t[k], color=GREY, linewidth=0.8, zorder=0)
        ax.set_xlabel("time [s]")
        ax.set_xlim(t[0], t[-1])
        wide = ax in (axes[0, 1], axes[1, 0])
        ax.legend(ncols=2, fontsize=7, loc="lower left") if wide else ax.legend(fontsize=7)
    figure.suptitle(f"Two arms on a {title} base catch and turn a satellite", x=0.01, ha="left")


def _thrusters(ax: Any, found: SpaceRun) -> None:
    for part, color, name in (
        (slice(3, 6), BLUE, "force [N]"),
        (slice(0, 3), ORANGE, "moment [N m]"),
    ):
        ax.plot(found.t, np.linalg.norm(found.thrust[:, part], axis=1), color=color, label=name)
    ax.set_title("Thrusters")


def _conserved(ax: Any, found: SpaceRun) -> None:
    h0, k = found.momentum[0], found.caught
    change = np.abs(found.momentum - h0)
    for part, color, name in ((slice(0, 3), BLUE, "angular"), (slice(3, 6), ORANGE, "linear")):
        drift = np.max(change[:, part], axis=1) / np.linalg.norm(h0[part])
        ax.semilogy(found.t, np.maximum(drift, _SMALLEST), color=color, label=f"{name} momentum")
    base = found.qd[:k, :6]
    off = np.max(np.abs(base - found.predicted), axis=1) / np.max(np.abs(base))
    label = "base velocity by $-J_D \\dot q$"
    ax.semilogy(found.t[:k], np.maximum(off, _SMALLEST), color=INK, label=label)
    ax.axhline(1e-9, color=GREY, linestyle=(0, (5, 3)), linewidth=1.0)
    ax.set_title("Relative change, and error of prediction")
