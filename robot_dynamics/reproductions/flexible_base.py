# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two moving arms on a base with springs and dampers, which vibrates.

Swain and Morris, appendix C.1. The arms' torques are inverse dynamics (28), so that their angles
are the desired ones for any motion of the base. Once they are at rest, everything is one rigid
body on the springs, whose natural frequencies are the generalised eigenvalues of stiffness and
M_p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

from robot_dynamics.app.pictures.figures import BLUE, GREY, INK, ORANGE, XYZ
from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.vibration import equilibrium, vibrations
from robot_dynamics.model import LoopElement, Mechanism, Model, build
from robot_dynamics.reproductions.law_checks import inverse_dynamics_law_check
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell
from robot_dynamics.reproductions.swain_morris import (
    BASE,
    MIRROR,
    READY,
    TOOLS,
    peak_near,
    smooth,
    spectrum,
    two_armed,
)
from robot_dynamics.reproductions.unified import UnifiedSystem, unified_system
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate

_MASS = 250.0  # of the base [kg]
# Stiffness about and along x, y, z [N m/rad, N/m]; damping over stiffness [s].
_STIFFNESS = np.array([4e4, 5e4, 3e4, 1.2e5, 0.9e5, 2.5e5])
_DAMPING_TIME = 4e-4
_SWUNG = np.array([0.2, -0.5, -0.6, 0.4, -0.3, 0.2])
_MOVE, _STEP, _INTERVAL = 0.35, 2e-3, 0.01  # [s]
_GRAVITY = (0.0, 0.0, -9.81)


def springs() -> LoopElement:
    """Return the springs and dampers between world and base."""
    return LoopElement(
        "mount", "floating", "world", BASE,
        stiffness=tuple(_STIFFNESS), damping=tuple(_DAMPING_TIME * _STIFFNESS),
    )  # fmt: skip


def locked(
    robot: Mechanism, joints: Array, gravity: tuple[float, ...] = _GRAVITY
) -> tuple[Model, Array]:
    """Return the robot with its arms locked, and its equilibrium on the springs (7,)."""
    names = [joint.name for joint in robot.joints if joint.type == "revolute"]
    rigid = robot.locked(dict(zip(names, joints.tolist(), strict=True)))
    model = build(rigid, gravity=gravity)
    return model, equilibrium(model, model.neutral())


def closed_form(system: UnifiedSystem, joints: Array) -> Array:
    """Return natural frequencies (6,) [Hz] of M_p on the springs, without gravity."""
    q = system.model.neutral()
    q[7:] = joints
    M_p = system.terms(q, np.zeros(system.model.nv)).parts.M_p
    squares = eigh(np.diag(_STIFFNESS), M_p, eigvals_only=True)
    return np.asarray(np.sqrt(squares) / (2.0 * np.pi))


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Swing the arms, and compare the vibration of the base with the linear model."""
    duration = 5.0 if quick else 12.0
    tell(0.0, "natural frequencies")
    robot = two_armed("floating", _MASS, (springs(),))
    system = unified_system(robot, TOOLS, gravity=_GRAVITY)
    model, driven = system.model, system.driven
    begin = np.concatenate([READY, MIRROR * READY])
    # Both arms to one side, which excites all six freedoms of the base.
    path = smooth(0.3, _MOVE, np.concatenate([_SWUNG, _SWUNG]), begin)
    end = path(duration)[0]
    expected = closed_form(system, end)
    without = vibrations(*locked(robot, end, (0.0, 0.0, 0.0))).frequencies
    standing, at_rest = locked(robot, end)
    linear = vibrations(standing, at_rest)

    def force(time: float, q: Array, qd: Array) -> Array:
        parts = system.terms(q, qd).parts
        wanted, rate, acceleration = path(time)
        push = acceleration + 20.0 * (rate - qd[driven]) + 100.0 * (wanted - q[7:])
        tau = np.zeros(model.nv)
        tau[driven] = parts.inverse_dynamics(push, np.zeros(6), np.zeros(12))
        return tau

    q = model.neutral()
    q[:7], q[7:] = locked(robot, begin)[1], begin
    motion = integrate(
        Robot(model), q, np.zeros(model.nv), duration, tau=force, step=_STEP,
        outputs=round(duration / _INTERVAL),
        progress=lambda time, total: tell(0.05 + 0.9 * time / total, f"{time:.1f} s"),
    )  # fmt: skip
    ringing = motion.t >= 0.3 + _MOVE
    # Each mode is measured in its modal coordinate: velocities weighted by inertia and shape.
    seen = linear.modes.T @ linear.inertia @ motion.qd[ringing, :6].T
    peaks = np.array(
        [peak_near(row, _INTERVAL, f) for row, f in zip(seen, linear.frequencies, strict=True)]
    )
    lowest = float(sum(Robot(standing).energies(at_rest, np.zeros(6))))
    energy = motion.energy[ringing] - lowest
    grown = float(np.max(np.diff(energy), initial=0.0) / energy[0])
    off = float(np.max(np.abs(motion.q[:, 7:] - np.array([path(t)[0] for t in motion.t]))))
    figures = {
        "natural frequencies, linear model with gravity [Hz]": linear.frequencies.tolist(),
        "without gravity [Hz]": without.tolist(),
        "closed form, without gravity [Hz]": expected.tolist(),
        "peaks of the simulated vibration [Hz]": peaks.tolist(),
        "damping ratios": np.sort(linear.damping_ratios[::2]).tolist(),
        "base moved by at most [mm]": 1e3 * float(np.max(np.abs(motion.q[:, :3] - q[:3]))),
        "base sags under gravity [mm]": -1e3 * float(q[2]),
    }
    checks = (
        Check(
            "natural frequencies without gravity beside the closed form, relative error",
            float(np.max(np.abs(without / expected - 1.0))),
            1e-9,
        ),
        Check(
            "peaks of the simulated vibration beside the linear model, relative error",
            float(np.max(np.abs(peaks / linear.frequencies - 1.0))),
            0.03 if quick else 0.01,
        ),
        Check("energy that grows while the base rings, part of what there was", grown, 1e-6),
        Check("error of the arms' angles [rad]", off, 1e-6),
        inverse_dynamics_law_check(system, q),
    )

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        turned = np.degrees(Rotation.from_quat(motion.q[:, 3:7]).as_rotvec())
        for i, name in enumerate("xyz"):
            moved = 1e3 * (motion.q[:, i] - q[i])
            axes[0, 0].plot(motion.t, moved, color=XYZ[i], linewidth=1.0, label=name)
            axes[0, 1].plot(motion.t, turned[:, i], color=XYZ[i], linewidth=1.0, label=name)
        axes[0, 0].set(title="Base, displacement", xlabel="time [s]", ylabel="[mm]")
        axes[0, 1].set(title="Base, turned about", xlabel="time [s]", ylabel="[degrees]")
        for ax in (axes[0, 0], axes[0, 1]):
            ax.axvspan(0.3, 0.3 + _MOVE, color="#EEF3F7", zorder=0, label="arms move")
            ax.margins(x=0.0)
            ax.legend(ncols=4)
        ax = axes[1, 0]
        for row, color in zip(seen, (BLUE, ORANGE, *XYZ, INK), strict=True):
            f, amplitude = spectrum(row, _INTERVAL)
            ax.semilogy(f, amplitude, color=color, linewidth=1.0)
        for frequency in linear.frequencies:
            ax.axvline(frequency, color=GREY, linestyle=(0, (5, 3)), linewidth=0.8, zorder=0)
        top = float(np.max(np.abs(seen)))
        ax.set(title="Spectrum of each mode, linear model dashed",
               xlabel="[Hz]", ylabel="amplitude", xlim=(0.0, 1.4 * linear.frequencies[-1]),
               ylim=(1e-6 * top, top))  # fmt: skip
        ax = axes[1, 1]
        ax.semilogy(motion.t[ringing], energy, color=BLUE)
        ax.set(title="Energy left after the arms have stopped", xlabel="time [s]", ylabel="[J]")
        ax.margins(x=0.0)
        figure.suptitle("Two arms on a base on springs and dampers", x=0.01, ha="left")

    return StudyOutcome(figures, checks, draw)
