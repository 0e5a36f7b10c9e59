# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's control architecture in a closed loop, with a perfect model and with wrong ones.

ORNL/TM-11752 states the law (42) to (48) and leaves the servos, their gains and any figures open.
Two arms of six joints move an object with a spherical joint by 25 mm, turn it by 0.1 rad and fold
it by 0.1 rad, and keep a force of 10 N in the joint, at 1 kHz.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import BLUE, GREEN, GREY, INK, ORANGE, VERMILION
from robot_dynamics.arrays import Array
from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.reproductions.joint_space import JointSpaceModel, JointSpaceTerms
from robot_dynamics.reproductions.jointed_control import (
    FIGURES,
    JointedObjectController,
    JointedRecord,
    ReproductionSettings,
    run_jointed,
)
from robot_dynamics.reproductions.jointed_plants import EngineJointedPlant, ReducedJointedPlant
from robot_dynamics.reproductions.jointed_systems import Setting, scaled, worked_case
from robot_dynamics.reproductions.law_checks import (
    DIFFERENCED,
    PartsOnEngine,
    jointed_law_checks,
    jointed_states,
    relative_error,
)
from robot_dynamics.reproductions.parts_motion import parts_motion
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms, decoupled_law
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell, largest
from robot_dynamics.reproductions.unseren_pseudovelocities import SecondExample
from robot_dynamics.robot import Robot

PERIOD, DURATION = 1e-3, 0.6  # [s]
FORCE = np.array([5.0, -3.0, 8.0])  # [N], on the second part
_TENTH = float(np.degrees(0.1))
FIRST = ReferenceSettings(
    (
        SegmentSettings(
            DURATION, move=(0.015, 0.02, 0.0), rotate=TurnSettings((0.0, 1.0, 1.0), _TENTH)
        ),
    )
)
SECOND = ReferenceSettings(
    (SegmentSettings(DURATION, rotate=TurnSettings((1.0, 0.0, 1.0), _TENTH)),)
)
_PERFECT = ReproductionSettings()
# Errors of a sampled law with a perfect model, and with inertias wrong by a fifth.
_PERFECT_LIMITS = dict(zip(FIGURES, (0.45e-3, 2.3e-3, 5e-4, 1e-3, 0.01), strict=True))
_NOT_LED_LIMITS = dict(zip(FIGURES, (3e-3, 0.01, 1e-3, 2e-3, 0.02), strict=True))
_WRONG_LIMITS = dict(zip(FIGURES, (1.0, 1.5, 0.02, 2.0, 2.0), strict=True))
_RANDOM = 5  # systems wrong at random


def run_case(
    setting: Setting,
    believed: JointedObjectSystem,
    settings: ReproductionSettings = _PERFECT,
    *,
    ticks: int = round(DURATION / PERIOD),
    reduced: bool = False,
    **options: Any,
) -> JointedRecord:
    """Run the motion under a controller with a model of the system.

    Args:
        setting: True system.
        believed: Model of the controller.
        settings: Gains, and the state at which the model is evaluated.
        ticks: Number of control periods.
        reduced: Whether the report's discrete-time model is the plant, instead of the engine.
        options: Further arguments of `run_jointed`.
    """
    true, model = JointSpaceModel(setting.system), JointSpaceModel(believed)
    start = setting.start
    path, wanted = (
        ObjectPath(system, system.part_poses(start), FIRST, SECOND)
        for system in (setting.system, believed)
    )
    motion = parts_motion(path, PERIOD * np.arange(ticks + 1))
    controller = JointedObjectController(model, wanted, FORCE, start, PERIOD, ticks, settings)
    plant: EngineJointedPlant | ReducedJointedPlant
    if reduced:
        plant = ReducedJointedPlant(
            true, CompletedVelocities.chosen(true.terms(start, 0.0 * start)), start, PERIOD
        )
    else:
        plant = EngineJointedPlant(setting.system, start, PERIOD)
    return run_jointed(controller, plant, true, motion, PERIOD, **options)


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Run all cases, check the law at an instant, and show the family of inverse dynamics."""
    tell(0.0, "compiling")
    setting = worked_case()
    system = setting.system
    bodies = len(system.model.bodies)
    rng = np.random.default_rng(1991)
    late = replace(_PERFECT, lead_periods=0.0)
    forward = replace(_PERFECT, estimates="feed-forward")
    cases: dict[str, tuple[Any, ReproductionSettings, bool]] = {
        "perfect": (system, _PERFECT, False),
        "perfect, on the reduced model": (system, _PERFECT, True),
        "perfect, feed-forward": (system, forward, False),
        "perfect, model not led": (system, late, False),
        "inertias x1.2": (scaled(setting, [1.2] * bodies, [1.2] * 2), _PERFECT, False),
        "inertias x0.8": (scaled(setting, [0.8] * bodies, [0.8] * 2), _PERFECT, False),
    }
    for i in range(1 if quick else _RANDOM):
        factors = rng.uniform(0.8, 1.2, bodies + 2)
        wrong = scaled(setting, factors[:bodies], factors[bodies:])
        cases[f"random {i + 1}"] = (wrong, _PERFECT, False)
    ticks = 200 if quick else round(DURATION / PERIOD)
    records = {}
    for i, (name, (believed, settings, reduced)) in enumerate(cases.items()):

        def told(part: float, name: str = name, i: int = i) -> None:
            tell((i + part) / len(cases), name)

        records[name] = run_case(
            setting, believed, settings, ticks=ticks, reduced=reduced, tell=told
        )
    measured = {name: record.figures() for name, record in records.items()}
    family = Family.of(setting)
    checks = [
        *decoupling_checks(setting),
        *jointed_law_checks(setting),
        Check("other forces in the joint move the engine, relative", family.same, 1e-9),
        Check(
            "largest opening of the object's joint [m]",
            largest(*(record.gap for record in records.values())),
            1e-12,
        ),
    ]  # fmt: skip
    for name, figures in measured.items():
        limits = _PERFECT_LIMITS if name.startswith("perfect") else _WRONG_LIMITS
        if name == "perfect, model not led":
            limits = _NOT_LED_LIMITS
        checks += [
            Check(f"{name}: {what}", figures[what], limit) for what, limit in limits.items()
        ]
    said = {
        **measured,
        "least torque with no motion asked [N m]": family.least,
        "and the force that it transmits [N]": family.force.tolist(),
    }

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 3)
        _draw_errors(axes[0, 0], records, 3, 1e3, "Position, the worse part", "[mm]")
        _draw_errors(axes[0, 1], records, 0, 1e3, "Orientation, the worse part", "[mrad]")
        _draw_force(axes[0, 2], records)
        _draw_led(axes[1, 0], records)
        family.draw(axes[1, 1])
        _draw_cases(axes[1, 2], measured)
        figure.suptitle(
            "Unseren's architecture at 1 kHz: an object moved by 25 mm, turned and folded by "
            "0.1 rad each, with 9.9 N in its joint",
            x=0.01,
            ha="left",
        )

    return StudyOutcome(said, tuple(checks), draw, (13.0, 7.5))


def decoupling_checks(setting: Setting) -> list[Check]:
    """Return checks of (47) and (48) at states in fast motion, on the engine.

    The pseudovelocities are (C.11); their rates come from the engine's motion.
    """
    rng = np.random.default_rng(0)
    model, robot = JointSpaceModel(setting.system), Robot(setting.system.model)
    engine = PartsOnEngine(setting.system, robot)
    choice = SecondExample(setting.system)
    motion_off, force_off = 0.0, 0.0

    def rows(q: Array) -> Array:
        return np.vstack([engine.jacobian(q)[1, :3], engine.joint_jacobian(q)])

    for state in jointed_states(setting, robot, 3):
        reduced = ReducedOrderTerms.of(model.terms(*state), choice)
        motion, force = rng.normal(size=9), 10.0 * rng.normal(size=3)
        qdd, f = engine.motion(state, decoupled_law(reduced, motion, force).torque)
        nu_dot = engine.acceleration(rows, state, qdd)
        motion_off = largest(motion_off, relative_error(nu_dot, motion))
        force_off = largest(force_off, relative_error(f, force))
    return [
        Check("nu_dot = tau_2 on the engine, relative error (47)", motion_off, DIFFERENCED),
        Check("f = tau_1 on the engine, relative error (48)", force_off, DIFFERENCED),
    ]


class Family:
    """Inverse dynamics at rest: one torque for each force in the object's joint.

    Attributes:
        least: Norm of the least torques [N m].
        force: The force that they transmit (3,) [N].
        same: Effect of another member on the engine's motion, relative.
    """

    def __init__(self, terms: JointSpaceTerms, robot: Robot, start: Array) -> None:
        self._terms = terms
        still = np.zeros(len(terms.D))
        torque, self.force = terms.least_torque(still)
        self.least = float(np.linalg.norm(torque))
        qdd = np.linalg.norm(
            robot.constrained_motion(start, still, terms.inverse(still, FORCE)).qdd
        )
        push = np.linalg.norm(np.linalg.solve(terms.D, terms.A.T @ FORCE))
        self.same = float(qdd / push)

    @classmethod
    def of(cls, setting: Setting) -> Family:
        """Return the family at the start."""
        terms = JointSpaceModel(setting.system).terms(setting.start, 0.0 * setting.start)
        return cls(terms, Robot(setting.system.model), setting.start)

    def draw(self, ax: Any) -> None:
        """Draw the norm of the torques over the force, along each axis through the least."""
        still = np.zeros(len(self._terms.D))
        offsets = np.linspace(-30.0, 30.0, 121)
        for axis, (name, color) in enumerate(zip("xyz", (VERMILION, GREEN, BLUE), strict=True)):
            forces = self.force + offsets[:, None] * np.eye(3)[axis]
            sizes = [np.linalg.norm(self._terms.inverse(still, f)) for f in forces]
            ax.plot(forces[:, axis], sizes, color=color, label=f"along {name}")
            ax.plot(self.force[axis], self.least, "o", color=color, markersize=4)
        chosen = float(np.linalg.norm(self._terms.inverse(still, FORCE)))
        ax.axhline(chosen, color=GREY, linestyle=(0, (5, 3)), linewidth=1.0, label="force chosen")
        ax.margins(x=0.0)
        ax.set(title="All torques that hold the object", xlabel="force in its joint [N]")
        ax.set(ylabel="norm of the torques [N m]")
        ax.legend(loc="upper center", ncols=2)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.25 * (high - low))


_COLORS = {
    "perfect": BLUE,
    "inertias x1.2": VERMILION,
    "inertias x0.8": ORANGE,
    "random": "#8FB8A8",
}


def _shown(records: dict[str, JointedRecord]) -> list[tuple[str, str | None, JointedRecord]]:
    """Return the runs that are drawn over time: colour, label if any, and record."""
    shown: list[tuple[str, str | None, JointedRecord]] = []
    for name, record in records.items():
        kind = name.rpartition(" ")[0] if name.startswith("random") else name
        if kind not in _COLORS:
            continue
        label = {"random": "inertias ±20 % at random"}.get(kind, kind)
        again = any(entry[1] == label for entry in shown)
        shown.append((_COLORS[kind], None if again else label, record))
    return shown


def _draw_errors(
    ax: Any, records: dict[str, JointedRecord], at: int, scale: float, title: str, unit: str
) -> None:
    for color, label, record in _shown(records):
        worst = np.linalg.norm(record.error[..., at : at + 3], axis=-1).max(axis=1)
        ax.semilogy(record.time, np.maximum(scale * worst, 1e-9), color=color, label=label)
    limits = (_PERFECT_LIMITS, _WRONG_LIMITS)
    key = "position [mm]" if at == 3 else "orientation [mrad]"
    for limit, color in zip(limits, (BLUE, VERMILION), strict=True):
        ax.axhline(limit[key], color=color, linestyle=(0, (5, 3)), linewidth=1.0)
    ax.margins(x=0.0)
    ax.set(title=f"{title}, thresholds dashed", xlabel="time [s]", ylabel=unit)
    ax.set_ylim(bottom=1e-7)
    ax.legend(loc="lower right")


def _draw_force(ax: Any, records: dict[str, JointedRecord]) -> None:
    for color, label, record in _shown(records):
        size = np.linalg.norm(record.force_error, axis=1)
        ax.semilogy(record.time, np.maximum(size, 1e-9), color=color, label=label)
    for limit, color in ((_PERFECT_LIMITS, BLUE), (_WRONG_LIMITS, VERMILION)):
        ax.axhline(limit["force, rms [N]"], color=color, linestyle=(0, (5, 3)), linewidth=1.0)
    ax.margins(x=0.0)
    ax.set(title="Error of the force in the joint", xlabel="time [s]", ylabel="[N]")
    ax.set_ylim(bottom=1e-5)
    ax.legend(loc="upper right")


def _draw_cases(ax: Any, measured: dict[str, dict[str, float]]) -> None:
    """Draw the results of all cases."""
    names = list(measured)
    rows = np.arange(len(names))[::-1]
    for what, color, marker in (
        ("position [mm]", BLUE, "o"),
        ("orientation [mrad]", ORANGE, "s"),
        ("force, rms [N]", GREEN, "D"),
    ):
        values = [measured[name][what] for name in names]
        ax.semilogx(values, rows, marker, color=color, label=what, markersize=5)
    ax.yaxis.tick_right()
    ax.set_yticks(rows, names)
    ax.set(title="Largest errors of motion, rms of force", ylim=(-0.7, len(names) + 1.7))
    ax.legend(loc="upper left", ncols=3, handletextpad=0.1, columnspacing=0.6)


def _draw_led(ax: Any, records: dict[str, JointedRecord]) -> None:
    """Draw the effect of evaluating the model half a period ahead."""
    for name, color, label in (
        ("perfect, model not led", INK, "model at the sampling instant"),
        ("perfect", BLUE, "half a period ahead"),
        ("perfect, feed-forward", ORANGE, "feed-forward, half a period ahead"),
    ):
        record = records[name]
        worst = 1e6 * np.linalg.norm(record.error[..., 3:], axis=-1).max(axis=1)
        style = (0, (4, 2)) if "feed" in name else "-"
        ax.plot(record.time, worst, color=color, label=label, linestyle=style)
    ax.margins(x=0.0)
    ax.set(title="Position with a perfect model", xlabel="time [s]", ylabel="[µm]")
    ax.set_ylim(top=1.4 * ax.get_ylim()[1])  # room for the legend
    ax.legend(loc="upper left")
