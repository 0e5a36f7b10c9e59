# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms on a moving vehicle carry a box along a path of its own.

The base has three freedoms, Swain and Morris's mobile case: the columns of X_b are its directions
of motion. Its wheels are servos without knowledge of the arms. A law for a fixed base (section
8.1) loses the box's path by the vehicle's motion; the unified law does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.app.pictures.figures import BLUE, INK, ORANGE, VERMILION
from robot_dynamics.arrays import Array
from robot_dynamics.model import pose
from robot_dynamics.reproductions.law_checks import carrying_law_checks
from robot_dynamics.reproductions.space_robot import draw_robot
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell, largest
from robot_dynamics.reproductions.swain_morris import (
    TOOLS,
    PoseServo,
    grasps,
    held_at,
    held_box,
    smooth,
    two_armed,
)
from robot_dynamics.reproductions.unified import (
    Carrying,
    Partition,
    UnifiedTerms,
    carrying,
    unified_system,
)
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import Trajectory, integrate

_VEHICLE, _BOX = 300.0, 20.0  # [kg]
_AHEAD = 1.5  # of the box before the vehicle [m]
_DRIVE = np.array([np.radians(30.0), 2.0, 0.6])  # heading [rad], x, y [m]
_LIFT, _SQUEEZE = 0.15, 150.0  # [m, N]
_WHEELS, _SERVO = 3.0, 6.0  # servos [rad/s]
_STEP, _INTERVAL = 0.01, 0.05  # [s]
UNIFIED, FIXED = "unified", "as on a fixed base"
_B, _O = slice(0, 3), slice(15, 21)  # velocities of vehicle and box


@dataclass(frozen=True)
class _Run:
    """One law's run: errors of box and vehicle [m, rad], and the squeeze [N], at outputs (m,)."""

    motion: Trajectory
    error: Array
    turn_error: Array
    vehicle_error: Array
    squeeze: Array
    engine_off: float


class _Vehicle:
    """The system, and the laws that move it."""

    def __init__(self, duration: float) -> None:
        self.system = unified_system(
            two_armed("planar", _VEHICLE), TOOLS, held_box(_BOX), grasps()
        )
        self.robot = Robot(self.system.model)
        self.drive = smooth(0.5, duration - 2.0, _DRIVE)
        turned = Rotation.from_euler("z", _DRIVE[0])
        ahead = np.array([_AHEAD, 0.0, 0.0])
        moved = turned.apply(ahead) - ahead + np.array([*_DRIVE[1:], _LIFT])
        change = np.concatenate([turned.as_rotvec(), moved])
        carried = smooth(0.5, duration - 2.0, change)
        self.servo = PoseServo(pose((_AHEAD, 0.0, 0.0)), carried, _SERVO)
        self.internal = np.tile([0.0, 0.0, 0.0, _SQUEEZE, 0.0, 0.0], 2)
        self.duration = duration

    def law_checks(self) -> list[Check]:
        """Return checks of the law in motion faster than the task."""
        ahead = np.array([_AHEAD + 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 1.0])
        ready = held_at(self.system, self.robot, np.array([0.1, 0.3, 0.2]), ahead)
        return carrying_law_checks(self.system, self.robot, ready)

    def wheels(self, time: float, q: Array, qd: Array, inertia: Array) -> Array:
        """Return moment and forces (3,) of the wheels, in the vehicle's axes."""
        wanted, rate, acceleration = self.drive(time)
        c, s = np.cos(q[0]), np.sin(q[0])
        world = np.array([qd[0], c * qd[1] - s * qd[2], s * qd[1] + c * qd[2]])
        push = acceleration + 2.0 * _WHEELS * (rate - world) + _WHEELS**2 * (wanted - q[:3])
        x, y = c * push[1] + s * push[2], -s * push[1] + c * push[2]
        return np.asarray(np.diag(inertia) * [push[0], x, y])

    def carried(self, law: str, time: float, q: Array, qd: Array) -> tuple[Array, Carrying]:
        """Return the wheels' forces and the motion of the arms."""
        terms = self.system.terms(q, qd)
        wheels = self.wheels(time, q, qd, terms.parts.M_p)
        push = self.servo.acceleration(time, box_pose(q), qd[_O])
        if law == FIXED:
            return wheels, carrying(on_fixed_base(terms), push, np.zeros(0),
                                    internal=self.internal)  # fmt: skip
        return wheels, carrying(terms, push, wheels, internal=self.internal)

    def run(self, law: str, tell: Any) -> _Run:
        """Carry the box by a law."""
        still = np.zeros(self.system.model.nv)
        ahead = np.array([_AHEAD, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        start = held_at(self.system, self.robot, np.zeros(3), ahead)

        def force(time: float, q: Array, qd: Array) -> Array:
            wheels, arms = self.carried(law, time, q, qd)
            return np.concatenate([wheels, arms.torque, np.zeros(6)])

        motion = integrate(
            self.robot, start, still, self.duration, tau=force, step=_STEP, order=4,
            outputs=round(self.duration / _INTERVAL), progress=tell,
        )  # fmt: skip
        errors, turns, squeezes, off = [], [], [], 0.0
        for time, q, qd in zip(motion.t, motion.q, motion.qd, strict=True):
            there, wanted = box_pose(q), self.servo.wanted(time)
            errors.append(np.linalg.norm(there[:3, 3] - wanted[:3, 3]))
            turns.append(Rotation.from_matrix(there[:3, :3] @ wanted[:3, :3].T).magnitude())
            wheels, arms = self.carried(law, time, q, qd)
            tau = np.concatenate([wheels, arms.torque, np.zeros(6)])
            found = self.robot.constrained_motion(q, qd, tau)
            squeezes.append(found.multipliers.reshape(2, 6)[:, 3].min())
            if law == UNIFIED:
                wrench = np.max(np.abs(found.multipliers - arms.grasp_wrenches))
                off = largest(off, float(wrench / np.max(np.abs(arms.grasp_wrenches))))
        vehicle = motion.q[:, 1:3] - np.array([self.drive(t)[0][1:] for t in motion.t])
        return _Run(
            motion, np.array(errors), np.array(turns), np.linalg.norm(vehicle, axis=1),
            np.array(squeezes), off,
        )  # fmt: skip


def box_pose(q: Array) -> Array:
    """Return the box's pose (4, 4)."""
    return pose(q[15:18], Rotation.from_quat(q[18:22]).as_matrix())


def on_fixed_base(terms: UnifiedTerms) -> UnifiedTerms:
    """Return the terms of a law without the base's accelerations (section 8.1)."""
    p = terms.parts
    a, e = len(p.C_a), len(p.J_a)
    parts = Partition(
        np.zeros((0, 0)), np.zeros((0, a)), p.M_a, np.zeros(0), p.C_a, np.zeros((e, 0)), p.J_a,
        p.J_dot_v,
    )  # fmt: skip
    return UnifiedTerms(parts, terms.held)


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Carry the box by both laws."""
    tell(0.0, "compiling")
    vehicle = _Vehicle(5.0 if quick else 6.0)
    runs: dict[str, _Run] = {}
    for i, law in enumerate((UNIFIED, FIXED)):

        def told(time: float, total: float, law: str = law, i: int = i) -> None:
            tell(0.02 + 0.49 * (i + time / total), f"{law}, {time:.1f} s")

        runs[law] = vehicle.run(law, told)
    ours, other = runs[UNIFIED], runs[FIXED]
    figures = {
        "error of the box's path at most [mm]": {
            law: 1e3 * float(np.max(run.error)) for law, run in runs.items()
        },
        "error of the box's attitude at most [degrees]": {
            law: float(np.degrees(np.max(run.turn_error))) for law, run in runs.items()
        },
        "vehicle off its path by at most [mm]": {
            law: 1e3 * float(np.max(run.vehicle_error)) for law, run in runs.items()
        },
        "least push of a tool on the box [N]": float(np.min(ours.squeeze)),
        "freedoms of the base": len(vehicle.system.following),
    }
    checks = (
        Check(
            "error of the box's path under the unified law [m]", float(np.max(ours.error)), 1e-6
        ),
        Check(
            "its part of the other law's", float(np.max(ours.error) / np.max(other.error)), 1e-3
        ),
        Check(
            "error of the box's attitude under the unified law [rad]",
            float(np.max(ours.turn_error)),
            1e-6,
        ),
        Check(
            "least push of a tool on the box below the commanded push [N]",
            _SQUEEZE - float(np.min(ours.squeeze)),
            0.1 * _SQUEEZE,
        ),
        # Its wheels do not compensate for the arms, which push it.
        Check(
            "vehicle off its path [m]",
            largest(*(float(np.max(run.vehicle_error)) for run in runs.values())),
            0.015 if quick else 0.01,
        ),
        Check("grasp wrenches beside the closed-loop engine, relative", ours.engine_off, 1e-9),
        *vehicle.law_checks(),
    )

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        motion = ours.motion
        last = len(motion.t) - 1
        for i in np.linspace(0, last, 5).astype(int):
            draw_robot(axes[0, 0], vehicle.robot, motion.q[i], alpha=0.25 + 0.75 * i / last)
        x = motion.q[:, 15:17]
        axes[0, 0].plot(x[:, 0], x[:, 1], color=VERMILION, linewidth=0.8, linestyle=(0, (4, 2)))
        axes[0, 0].set_title("From above, pale to dark")
        ax = axes[0, 1]
        for (law, run), color in zip(runs.items(), (BLUE, ORANGE), strict=True):
            ax.semilogy(run.motion.t, 1e3 * np.maximum(run.error, 1e-16), color=color, label=law)
        ax.set(title="Error of the box's path", ylabel="[mm]")
        ax.legend(title="law")
        ax = axes[1, 0]
        for (law, run), color in zip(runs.items(), (BLUE, ORANGE), strict=True):
            ax.plot(run.motion.t, 1e3 * run.vehicle_error, color=color, label=law)
        ax.set(title="Vehicle off its path", ylabel="[mm]")
        ax.legend(title="law")
        axes[1, 1].plot(motion.t, ours.squeeze, color=INK)
        axes[1, 1].set(title="Push of the tool that pushes less", ylabel="[N]")
        axes[1, 1].set_ylim(0.0, 1.1 * float(np.max(ours.squeeze)))
        for ax in axes.flat[1:]:
            ax.set_xlabel("time [s]")
            ax.margins(x=0.0)
        figure.suptitle("Two arms on a vehicle carry a box", x=0.01, ha="left")

    return StudyOutcome(figures, checks, draw)
