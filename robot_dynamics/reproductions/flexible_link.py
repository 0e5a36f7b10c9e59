# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm with a flexible link, turned at its hub; input shaping suppresses its vibration.

Swain and Morris, appendix C.2: the link is a chain of passive elastic joints, and the hub is
driven. The hub's torque is inverse dynamics (28), so that its angle is the desired one for any
motion of the link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import BLUE, GREEN, GREY, INK, VERMILION
from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.vibration import vibrations
from robot_dynamics.model import JointElement, LinkElement, build
from robot_dynamics.model.beam import beam
from robot_dynamics.reproductions.law_checks import inverse_dynamics_law_check
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell, largest
from robot_dynamics.reproductions.swain_morris import peak_near
from robot_dynamics.reproductions.unified import UnifiedSystem, unified_system
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import Trajectory, integrate

_LENGTH, _MASS, _STIFFNESS = 1.0, 1.0, 12.8  # [m, kg, N m^2]: its first frequency is 2 Hz
# Damping [s]: almost zero for the first modes, which would vibrate for minutes; more would make
# short segments too stiff for an explicit scheme.
_DAMPING_TIME = 2e-5
_ANGLE, _SLEW_TIME = np.radians(30.0), 0.5  # [rad, s]
_INTERVAL = 0.005  # between outputs [s]
# Roots beta L of 1 + cos(x) cosh(x) = 0: a beam clamped at one end.
_ROOTS = np.array([1.8751040687, 4.6940911330, 7.8547574382])
_SWEEP = (5, 10, 20, 40)


def clamped_beam() -> Array:
    """Return natural frequencies (3,) [Hz] of the beam of Euler and Bernoulli, clamped."""
    per_length = _MASS / _LENGTH
    return _ROOTS**2 * np.sqrt(_STIFFNESS / per_length) / (2.0 * np.pi * _LENGTH**2)


@dataclass(frozen=True)
class _Slew:
    """A motion of the hub: parts of one smooth turn, each with its delay [s]."""

    parts: tuple[tuple[float, float], ...]

    def motion(self, time: float) -> tuple[float, float, float]:
        """Return angle, rate and acceleration of the hub."""
        total = np.zeros(3)
        for part, delay in self.parts:
            s = min(max((time - delay) / _SLEW_TIME, 0.0), 1.0)
            total += part * np.array(
                [
                    s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
                    30.0 * s**2 * (1.0 - s) ** 2 / _SLEW_TIME,
                    60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / _SLEW_TIME**2,
                ]
            )
        angle, rate, acceleration = _ANGLE * total
        return float(angle), float(rate), float(acceleration)


def _arm(joints: int) -> UnifiedSystem:
    link = beam("beam", _LENGTH, _MASS, _STIFFNESS, joints=joints, damping_time=_DAMPING_TIME)
    hub = JointElement("hub", "revolute", "world", "beam0")
    robot = replace(link, links=(LinkElement("world"), *link.links), joints=(hub, *link.joints))
    return unified_system(robot, ("beam_tip",))


def _frequencies(joints: int) -> Array:
    clamped = build(beam("beam", _LENGTH, _MASS, _STIFFNESS, joints=joints))
    return vibrations(clamped, clamped.neutral()).frequencies[:3]


def _turned(system: UnifiedSystem, slew: _Slew, duration: float, step: float, tell: Any) -> Any:
    """Return the motion, and the hub's torque at its outputs."""
    model, robot = system.model, Robot(system.model)
    damping = model.damping[system.following]

    def force(time: float, q: Array, qd: Array) -> Array:
        parts = system.terms(q, qd).parts
        rubbed = -damping * qd[system.following]
        _, _, acceleration = slew.motion(time)
        tau = np.zeros(model.nv)
        tau[system.following] = rubbed
        none = np.zeros(len(parts.J_a))
        tau[system.driven] = parts.inverse_dynamics(np.array([acceleration]), rubbed, none)
        return tau

    motion = integrate(
        robot,
        model.neutral(),
        np.zeros(model.nv),
        duration,
        tau=force,
        order=4,
        step=step,
        outputs=round(duration / _INTERVAL),
        progress=tell,
    )
    states = zip(motion.t, motion.q, motion.qd, strict=True)
    return motion, np.array([force(*state)[system.driven[0]] for state in states])


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Turn the arm twice, and compare its frequencies with beam theory."""
    joints, duration, step = (10, 2.0, 6e-4) if quick else (20, 3.0, 1.7e-4)
    sweep = [n for n in _SWEEP if n <= joints or not quick]
    tell(0.0, "natural frequencies")
    theory = clamped_beam()
    errors = {n: _frequencies(n) / theory - 1.0 for n in sweep}
    found = _frequencies(joints)
    half = 0.5 / float(found[0])
    slews = {"in one": _Slew(((1.0, 0.0),)), "shaped": _Slew(((0.5, 0.0), (0.5, half)))}
    system = _arm(joints)
    motions, torques, deflections = {}, {}, {}
    for i, (name, slew) in enumerate(slews.items()):

        def told(time: float, total: float, name: str = name, i: int = i) -> None:
            tell(0.1 + 0.45 * (i + time / total), f"slew {name}, {time:.2f} s")

        motions[name], torques[name] = _turned(system, slew, duration, step, told)
        deflections[name] = _deflection(system, motions[name].q)
    quiet = motions["in one"].t >= _SLEW_TIME + half
    left = {name: float(np.ptp(values[quiet])) / 2.0 for name, values in deflections.items()}
    rung = peak_near(deflections["in one"][quiet], _INTERVAL, float(found[0]))
    off = largest(
        *(
            abs(q[0] - slews[name].motion(t)[0])
            for name, motion in motions.items()
            for t, q in zip(motion.t, motion.q, strict=True)
        )
    )
    figures = {
        "elastic joints": joints,
        "natural frequencies [Hz]": found.tolist(),
        "of beam theory [Hz]": theory.tolist(),
        "frequency of the vibration after the slew [Hz]": rung,
        "vibration of the tip after the slew [mm]": {n: 1e3 * v for n, v in left.items()},
        "largest deflection [mm]": {
            n: 1e3 * float(np.max(abs(v))) for n, v in deflections.items()
        },
        "largest torque of the hub [N m]": {n: float(np.max(abs(v))) for n, v in torques.items()},
    }
    worst = float(np.max(np.abs(found / theory - 1.0)))
    frequency_error = abs(rung / float(found[0]) - 1.0)
    left_over = left["shaped"] / left["in one"]
    checks = (
        Check("three natural frequencies beside beam theory, relative error", worst, 0.02),
        Check("frequency of the simulated vibration, relative error", frequency_error, 0.02),
        Check("vibration after the shaped slew, part of the other's", left_over, 0.2),
        Check("error of the hub's angle [rad]", off, 1e-6),
        inverse_dynamics_law_check(system, spread=0.01),
    )

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        _draw_shapes(axes[0, 0], system, motions["in one"])
        for name, color in (("in one", VERMILION), ("shaped", BLUE)):
            axes[0, 1].plot(motions[name].t, 1e3 * deflections[name], color=color, label=name)
            axes[1, 0].plot(motions[name].t, torques[name], color=color, label=name)
        axes[0, 1].set(title="Deflection of the tip", xlabel="time [s]", ylabel="[mm]")
        axes[1, 0].set(title="Torque of the hub", xlabel="time [s]", ylabel="[N m]")
        for ax in (axes[0, 1], axes[1, 0]):
            ax.margins(x=0.0)
            ax.legend(title="slew")
        ax = axes[1, 1]
        for mode, color in enumerate((BLUE, GREEN, VERMILION)):
            label = f"mode {mode + 1}, {theory[mode]:.1f} Hz"
            ax.loglog(
                sweep, [100.0 * e[mode] for e in errors.values()], "o-", color=color, label=label
            )
        ax.axhline(2.0, color=GREY, linestyle=(0, (5, 3)), linewidth=1.0)
        ax.set(title="Error of natural frequencies beside beam theory")
        ax.set(xlabel="elastic joints", ylabel="[%]", xticks=sweep, xticklabels=sweep)
        ax.minorticks_off()
        ax.legend()
        turn = f"{np.degrees(_ANGLE):.0f}° in {_SLEW_TIME:g} s"
        figure.suptitle(f"A link of {joints} elastic joints turned by {turn}", x=0.01, ha="left")

    return StudyOutcome(figures, checks, draw)


def _deflection(system: UnifiedSystem, q: Array) -> Array:
    """Return the deflection of the tip relative to a rigid link (m,) [m]."""
    tips = Robot(system.model).pose("beam_tip", q)[:, :2, 3]
    return np.asarray(-np.sin(q[:, 0]) * tips[:, 0] + np.cos(q[:, 0]) * tips[:, 1])


def _draw_shapes(ax: Any, system: UnifiedSystem, motion: Trajectory) -> None:
    robot = Robot(system.model)
    names = [f"beam{i}" for i in range(len(system.model.bodies))] + ["beam_tip"]
    last = int(np.searchsorted(motion.t, 1.1 * _SLEW_TIME))
    for i in np.linspace(last // 4, last, 8).astype(int):
        points = np.array([robot.pose(name, motion.q[i])[:2, 3] for name in names])
        straight = _LENGTH * np.array([np.cos(motion.q[i, 0]), np.sin(motion.q[i, 0])])
        ax.plot([0.0, straight[0]], [0.0, straight[1]], color="#DDDDDD", linewidth=1.0)
        ax.plot(*points.T, color=BLUE if i < last else INK, linewidth=1.6)
        ax.annotate(f"{motion.t[i]:.2f} s", points[-1], fontsize=7, xytext=(3, 2),
                    textcoords="offset points")  # fmt: skip
    ax.set(title="The link while it is turned in one", xlabel="x [m]", ylabel="y [m]")
    ax.set_aspect("equal")
