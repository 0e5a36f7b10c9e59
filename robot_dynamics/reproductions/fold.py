# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms of seven joints carry an object and fold it, with a chosen force in its joint.

Two rods with a ball between them, and a pair of pliers. Unseren's architecture, extended for
redundant arms: joint velocities in addition to the object's, and a posture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import BAND, BLUE, GREEN, INK, ORANGE, VERMILION
from robot_dynamics.arrays import Array
from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.reference import TIME_LAWS
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_control import (
    FIGURES,
    JointedObjectController,
    JointedRecord,
    ReproductionSettings,
    run_jointed,
)
from robot_dynamics.reproductions.jointed_plants import EngineJointedPlant
from robot_dynamics.reproductions.jointed_systems import Setting, pliers, scaled, two_rods
from robot_dynamics.reproductions.law_checks import jointed_law_checks
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell
from robot_dynamics.robot import Robot

_PERIOD = 1e-3  # [s]
# An integral term removes the effect of a wrong weight on the motion.
_SETTINGS = ReproductionSettings(position_integral=6e4)
_LIMITS = dict(zip(FIGURES, (1.0, 3.0, 0.05, 0.5, 1.0), strict=True))
_PERFECT_LIMITS = dict(zip(FIGURES, (1e-3, 1e-3, 2e-3, 1e-3, 0.02), strict=True))


@dataclass(frozen=True)
class _Task:
    """Task with an object.

    Attributes:
        name: Its name.
        setting: Arms and object.
        first: Path of the first part.
        second: Path of the second relative to it.
        forces: Values of the force in the joint, each with the time at which it is reached [s];
            smooth between them.
        labels: Names of its components.
    """

    name: str
    setting: Setting
    first: ReferenceSettings
    second: ReferenceSettings
    forces: tuple[tuple[float, tuple[float, ...]], ...]
    labels: tuple[str, ...]

    def force(self, time: Array) -> Array:
        """Return the wanted force (N, c) at times (N,)."""
        result = np.zeros((len(time), len(self.labels)))
        before, value = 0.0, np.zeros(len(self.labels))
        for at, wanted in self.forces:
            s = TIME_LAWS["quintic"](np.clip((time - before) / (at - before), 0.0, 1.0))
            result += s[:, None] * (np.array(wanted) - value)
            before, value = at, np.array(wanted)
        return result


def _rods() -> _Task:
    return _Task(
        "two rods with a ball joint",
        two_rods(),
        _path(
            SegmentSettings(1.2, move=(0.0, 0.0, 0.25)),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), 25.0)),
            SegmentSettings(
                0.9, move=(0.0, 0.0, -0.1), rotate=TurnSettings((1.0, 0.0, 0.0), 15.0)
            ),
        ),
        _path(
            SegmentSettings(1.2),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), -50.0)),
            SegmentSettings(0.9, rotate=TurnSettings((1.0, 0.0, 0.0), -20.0)),
        ),
        ((0.5, (0.0, 20.0, 0.0)), (1.2, (0.0, 20.0, 0.0)), (2.1, (10.0, -15.0, 5.0))),
        ("x", "y", "z"),
    )


def _pliers() -> _Task:
    return _Task(
        "a pair of pliers",
        pliers(),
        _path(
            SegmentSettings(1.2, move=(0.0, 0.0, 0.2)),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), -15.0)),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), 10.0)),
        ),
        _path(
            SegmentSettings(1.2),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), 30.0)),
            SegmentSettings(0.9, rotate=TurnSettings((0.0, 0.0, 1.0), -20.0)),
        ),
        ((0.5, (0.0, 0.0, 0.0, 15.0, 0.0)), (1.2, (0.0, 0.0, 0.0, 15.0, 0.0)),
         (2.1, (0.5, -0.3, -10.0, 0.0, 4.0))),
        ("moment x", "moment y", "x", "y", "z"),
    )  # fmt: skip


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Carry and fold both objects, with a perfect and with a wrong model."""
    tell(0.0, "compiling")
    tasks = (_rods(), _pliers())
    records: dict[str, dict[str, JointedRecord]] = {}
    for i, task in enumerate(tasks):
        records[task.name] = {}
        for k, kind in enumerate(("perfect", "wrong")):

            def told(part: float, i: int = i, k: int = k, name: str = task.name) -> None:
                tell(0.5 * i + 0.25 * (k + part), name)

            records[task.name][kind] = _run(task, kind == "wrong", quick, told)
    checks, figures = [], {}
    for task in tasks:
        checks += jointed_law_checks(task.setting, task.name)
        effort = task.setting.effort
        for kind, record in records[task.name].items():
            name = f"{task.name}, {'perfect model' if kind == 'perfect' else 'wrong by 20 %'}"
            said = record.figures()
            figures[name] = said
            limits = _PERFECT_LIMITS if kind == "perfect" else _LIMITS
            checks += [Check(f"{name}: {what}", said[what], limits[what]) for what in limits]
            load = float(np.max(np.abs(record.torque) / effort))
            checks.append(Check(f"{name}: largest torque, part of its limit", load, 1.0))
            said["largest torque, part of its limit"] = load
            said["condition number of [A; B]"] = record.conditioning

    def draw(figure: Any) -> None:
        grid = figure.add_gridspec(2, 3, width_ratios=(1.15, 1.0, 1.0))
        for row, task in enumerate(tasks):
            found = records[task.name]
            _draw_arms(figure.add_subplot(grid[row, 0], projection="3d"), task, found["perfect"])
            _draw_force(figure.add_subplot(grid[row, 1]), task, found["wrong"])
            _draw_errors(figure.add_subplot(grid[row, 2]), found)
        figure.suptitle(
            "Carry and fold with a chosen force in the joint: two arms of seven joints, 1 kHz",
            x=0.01,
            ha="left",
        )

    return StudyOutcome(figures, tuple(checks), draw, (13.5, 8.5))


def _run(task: _Task, wrong: bool, quick: bool, tell: Any) -> JointedRecord:
    setting = task.setting
    system, start = setting.system, setting.start
    # The model of the object is a fifth heavier than the object, that of the arms a twentieth
    # lighter.
    bodies = len(system.model.bodies)
    believed = scaled(setting, [0.95] * bodies, [1.2] * 2) if wrong else system
    true, model = JointSpaceModel(system), JointSpaceModel(believed)
    path = ObjectPath(system, system.part_poses(start), task.first, task.second)
    ticks = 150 if quick else round(path.duration / _PERIOD)
    force = task.force(np.linspace(_PERIOD, ticks * _PERIOD, ticks))
    controller = JointedObjectController(
        model, path, force, start, _PERIOD, ticks, _SETTINGS, setting.effort
    )
    plant = EngineJointedPlant(system, start, _PERIOD)
    return run_jointed(controller, plant, true, controller.reference, _PERIOD, tell=tell)


def _path(*segments: SegmentSettings) -> ReferenceSettings:
    return ReferenceSettings(tuple(segments))


def _draw_arms(ax: Any, task: _Task, record: JointedRecord) -> None:
    """Draw arms and object at the start, between and at the end."""
    robot = Robot(task.setting.system.model)
    ticks = (0, len(record.error) * 2 // 5, len(record.error) * 7 // 10, len(record.error) - 1)
    for number, tick in enumerate(ticks):
        q = record.positions[tick]
        last = number == len(ticks) - 1
        shade = 0.25 + 0.75 * number / (len(ticks) - 1)
        # Each part from its tool through the joint, to the end of the pliers.
        joint = record.pose[tick][0][:3, 3]
        for side, color, k in (("left", BLUE, 0), ("right", ORANGE, 1)):
            names = [f"{side}_link{i}" for i in range(1, 8)] + [f"{side}_tool"]
            points = np.array([robot.pose(name, q)[:3, 3] for name in names])
            ax.plot(*points.T, color=color, alpha=0.5 * shade, linewidth=2.6 if last else 1.6)
            tool = points[-1]
            end = joint + (0.45 * (joint - tool) if "pliers" in task.name else 0.0)
            ax.plot(*np.array([tool, end]).T, color=(VERMILION, GREEN)[k], alpha=shade,
                    linewidth=4.0 if last else 2.4)  # fmt: skip
        ax.plot(*joint[:, None], "o", color=INK, alpha=shade, markersize=4)
    ax.set_title(f"{task.name[0].upper()}{task.name[1:]}", fontsize=10.0, fontweight="bold")
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.set_aspect("equal")
    ax.view_init(elev=32.0, azim=25.0)
    ax.tick_params(labelsize=7.0)


def _draw_force(ax: Any, task: _Task, record: JointedRecord) -> None:
    colors: Sequence[str] = (VERMILION, GREEN, BLUE)
    if len(task.labels) == 5:
        colors = ("#C7A252", INK, VERMILION, GREEN, BLUE)
    wanted = record.force + record.force_error
    for i, (label, color) in enumerate(zip(task.labels, colors, strict=True)):
        ax.plot(record.time, wanted[:, i], color=BAND, linewidth=5.0, solid_capstyle="butt",
                label="wanted" if i == 0 else None)  # fmt: skip
        ax.plot(record.time, record.force[:, i], color=color, label=label)
    ax.margins(x=0.0)
    ax.set(title="Force in the joint, model wrong by 20 %", xlabel="time [s]", ylabel="[N], [N m]")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.3 * (high - low))
    ax.legend(ncols=3, loc="upper right", columnspacing=1.0, handlelength=1.4)


def _draw_errors(ax: Any, records: dict[str, JointedRecord]) -> None:
    for kind, style in (("wrong", "-"), ("perfect", (0, (4, 2)))):
        record = records[kind]
        size = np.linalg.norm(record.error.reshape(-1, 2, 2, 3), axis=-1).max(axis=1)
        force = np.linalg.norm(record.force_error, axis=1)
        for values, color, label in (
            (1e3 * size[:, 1], BLUE, "position [mm]"),
            (1e3 * size[:, 0], ORANGE, "orientation [mrad]"),
            (force, GREEN, "force [N]"),
        ):
            ax.semilogy(record.time, np.maximum(values, 1e-9), color=color, linestyle=style,
                        label=label if kind == "wrong" else None)  # fmt: skip
    ax.margins(x=0.0)
    ax.set_ylim(1e-8, 1e3)
    ax.set(
        title="Errors; with a perfect model dashed", xlabel="time [s]", ylabel="[mm], [mrad], [N]"
    )
    ax.legend(ncols=3, loc="upper right", columnspacing=1.0, handlelength=1.4)
