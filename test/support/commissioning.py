# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cells with planted faults and good ones, and a study of the findings of `commission`.

PYTHONPATH=.:test python test/support/commissioning.py [NAME ...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.app.commissioning.commission import Commissioning, commission
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.description.orientations import rpy_of_rotation
from robot_dynamics.resources import share_directory

#: Noise of good sensors, and a rate that takes half the time.
NOISE = (
    "control.rate_hz=250",
    "plant.sensors.position=1.0e-4",
    "plant.sensors.velocity=1.0e-4",
    "plant.sensors.force=0.3",
    "plant.sensors.moment=0.02",
)
TOOLS = tuple(
    f"cell.arms.{i}.sensor_tool={{mass: 1.2, center: [0.0, 0.01, -0.04]}}" for i in (0, 1)
)


class Planted(NamedTuple):
    """A fault of the simulated arms, and where it must show.

    Attributes:
        subject: The check that must fail.
        arm: Its arm; empty if it is of the cell.
        plant: Overrides of the plant alone.
        edit: Text of the description of the arms, and another one in the plant's.
    """

    subject: str
    arm: str
    plant: tuple[str, ...] = ()
    edit: tuple[str, str] = ("", "")


def _fault(*faults: str) -> tuple[str, ...]:
    return (f"plant.faults=[{', '.join(faults)}]",)


def _scale(kind: str, value: float, of: str) -> str:
    return f"{{kind: {kind}, value: {value}, {of}}}"


_J2, _J4, _J7 = "joint: left_joint2", "joint: left_joint4", "joint: left_joint7"
_R2, _R6, _LEFT, _RIGHT = "joint: right_joint2", "joint: right_joint6", "arm: left", "arm: right"

PLANTED = {
    "position sign": Planted("positions at rest", "left", _fault(
        _scale("position_scale", -1.0, _J2), _scale("velocity_scale", -1.0, _J2))),
    "degrees": Planted("positions at rest", "right", _fault(
        _scale("position_scale", 57.29578, _RIGHT), _scale("velocity_scale", 57.29578, _RIGHT))),
    "swapped arms": Planted("positions at rest", "left", _fault("{kind: swapped_joints}")),
    "encoder offset": Planted("positions at rest", "left", _fault(
        _scale("position_offset", 0.1, _J4))),
    "velocity sign": Planted("velocities", "left", _fault(_scale("velocity_scale", -1.0, _J4))),
    "velocity unit": Planted("velocities", "right", _fault(
        _scale("velocity_scale", 57.29578, _RIGHT))),
    "velocity scale": Planted("velocities", "left", _fault(_scale("velocity_scale", 1.2, _J2))),
    "torque sign of an elbow": Planted("torque constants", "left", _fault(
        _scale("drive_gain", -1.0, _J4))),
    "torque sign of a shoulder": Planted("torque constants", "right", _fault(
        _scale("drive_gain", -1.0, _R2))),
    "torque sign of a wrist": Planted("torque constants", "left", _fault(
        _scale("drive_gain", -1.0, _J7))),
    "large torque constant": Planted("torque constants", "left", _fault(
        _scale("drive_gain", 1.3, _J4))),
    "small torque constant": Planted("torque constants", "right", _fault(
        _scale("drive_gain", 0.8, _R2))),
    "drive off": Planted("torque constants", "right", _fault(_scale("drive_gain", 0.0, _R6))),
    "late commands": Planted("delay", "left", ("plant.command_delay_periods=3",)),
    "late measurements": Planted("delay", "right", _fault(
        "{kind: late_joints, value: 0.008, arm: right}")),
    "slow samples": Planted("rate", "left", ("plant.sensors.sample_periods={left: 3}",)),
    "sensor sign": Planted("wrist sensor", "left", _fault(
        "{kind: wrench_scale, value: -1.0, arm: left}")),
    "sensor frame": Planted("wrist sensor", "left", (), (
        '<child link="left_tool"/>\n    <origin xyz="0 0 0.1" rpy="0 0 0"/>',
        '<child link="left_tool"/>\n    <origin xyz="0 0 0.1" rpy="0 0 1.5708"/>')),
    "sensor bias": Planted("sensor bias", "left", ("plant.sensors.force_bias=[5, 0, 0]",)),
    "sensor scale": Planted("wrist sensor", "right", (
        "plant.sensors.wrench_scale={right: 1.2}",)),
    "other links": Planted("gravity and links", "left", ("plant.link_mass_scale=1.1",)),
    "tilted base": Planted("gravity and links", "left", ("plant.gravity_tilt=[0.06, -0.06]",)),
}  # fmt: skip


def commissioned(planted: Planted, folder: Path) -> Commissioning:
    """Return the findings of `commission` in our cell with a planted fault."""
    believed = rd.load_scenario("pick_and_place", [*NOISE, *TOOLS])
    plant = list(planted.plant)
    if planted.edit[0]:
        text = (share_directory() / "urdf" / "dual_arm.urdf").read_text(encoding="utf-8")
        assert planted.edit[0] in text
        file = folder / "other.urdf"
        file.write_text(text.replace(*planted.edit), encoding="utf-8")
        plant.append(f"cell.robots.0.urdf={file}")
    return commission(believed, actual=believed.changed(plant))


def is_found(planted: Planted, found: Commissioning) -> bool:
    """Return whether the check that must fail has failed."""
    return any(
        one.subject == planted.subject and one.arm in (planted.arm, "") for one in found.failed
    )


GOOD = {
    **{
        f"ours {seed}": (
            "pick_and_place",
            *NOISE,
            *(TOOLS if seed % 2 else ()),
            f"plant.seed={seed}",
            f"plant.friction_scale={0.5 + 0.2 * seed}",
            f"plant.damping_scale={1.5 - 0.1 * seed}",
        )
        for seed in range(10)
    },
    **{
        f"Pandas {seed}": ("pick_and_place_panda", *NOISE, f"plant.seed={seed}")
        for seed in range(10)
    },
    # Not looked at when limits and estimates were chosen.
    **{
        f"ours {seed}": (
            "pick_and_place",
            *NOISE,
            *(TOOLS if seed % 2 else ()),
            f"plant.seed={seed}",
            f"plant.friction_scale={0.4 + 0.3 * (seed - 10):.1f}",
            f"plant.damping_scale={0.5 + 0.1 * (seed - 10):.1f}",
        )
        for seed in range(10, 20)
    },
    **{f"UR5 {seed}": ("two_ur5", *NOISE, f"plant.seed={seed}") for seed in range(5)},
}


def held_by_displaced(
    cell: str, displacement: np.ndarray, rotation: np.ndarray
) -> tuple[rd.Scenario, Recording]:
    """Return a scenario whose second base is off, and a recording of the arms that hold a bar.

    Args:
        cell: A cell of `payloads.CELLS` with two robots.
        displacement: Stated less true place of the base (3,) [m].
        rotation: Its rotation vector (3,) [rad].
    """
    from support.payloads import CELLS, carried

    arms, name = carried(cell, 0.004), CELLS[cell][0]
    true = rd.load_scenario(name)
    robot = true.cell.robots[1]
    turned = Rotation.from_rotvec(rotation) * Rotation.from_euler("xyz", robot.rpy)
    xyz = (np.array(robot.xyz) + displacement).tolist()
    rpy = [float(x) for x in rpy_of_rotation(turned.as_matrix())]
    believed = true.changed([f"cell.robots.1.xyz={xyz}", f"cell.robots.1.rpy={rpy}"])
    q = arms.q + 1e-4 * np.random.default_rng(0).normal(size=arms.q.shape)
    columns = {"tick": np.arange(len(q), dtype=float), "joint_position": q}
    metadata = {
        "scenario": name,
        "scenario_text": true.text(),
        "joints": list(arms.system.joint_names),
        "period_s": arms.period,
        "holds_object": True,
    }
    return believed, Recording(columns, metadata)


def main(names: list[str]) -> None:
    """Print the findings in each cell."""
    for name, planted in PLANTED.items():
        if names and name not in names:
            continue
        with TemporaryDirectory() as folder:
            found = commissioned(planted, Path(folder))
        verdict = "found" if is_found(planted, found) else "MISSED"
        print(f"{name}: {verdict}", *(one.line for one in found.failed), sep="\n", flush=True)
    for name, (scenario, *overrides) in GOOD.items():
        if names and name not in names:
            continue
        found = commission(scenario, overrides=overrides)
        verdict = "go" if found.ok else "FALSE ALARM"
        print(f"{name}: {verdict}", *(one.line for one in found.failed), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
