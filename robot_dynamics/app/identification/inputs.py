# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of recordings, checked: names of joints, missing samples, arms that disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation

from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.app.scenarios.cell import build_system, pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario, scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.identification.held_object import WRENCH_AXES
from robot_dynamics.identification.motion import ArmKinematics, RecordedMotion
from robot_dynamics.identification.signals import IdentificationError, without_outliers
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.manipulation.system import GraspSystem

#: Measurements that the equations use.
Source = Literal["torques", "wrenches", "both"]

_MISSING = 0.2  # largest part of an arm's samples that may be missing
_STILL = 0.02  # rad or m: joints that move less do not move
_GAP, _TURN = 0.02, 0.05  # m, rad: largest disagreement of the arms about the object
#: Largest error of a base placement or a grasp that is corrected [m, rad].
FAR, FAR_TURNED = 0.1, 0.2
_SATURATED = 0.98  # of the effort limit
_LET_GO_S = 1.0  # hands that close or open touch the object so long
_AT_RANGE = 0.01  # largest part of samples at an extreme value
_LOOKED_AT = 200  # samples of the check of the arms' disagreement


@dataclass(frozen=True)
class Cell:
    """Arms and object of the recordings.

    Attributes:
        scenario: The scenario that describes them.
        system: Arms and object according to it.
        grasps: Pose (4, 4) of each arm's tool in the object.
    """

    scenario: Scenario
    system: GraspSystem
    grasps: list[Array]

    @cached_property
    def kinematics(self) -> ArmKinematics:
        """Motions of the arms."""
        return ArmKinematics(self.system)


@dataclass(frozen=True)
class Input:
    """A recording as samples for identification.

    Attributes:
        motion: The samples.
        torques: Origin of the torques: "applied" or "commanded"; empty without.
        seconds: Duration of the samples that are used [s].
        outliers: Number of values that were replaced.
        saturated: Part of the torques at the effort limit.
    """

    motion: RecordedMotion
    torques: str
    seconds: float
    outliers: int
    saturated: float

    @property
    def shown(self) -> RecordedMotion:
        """The piece with the most samples, for a figure."""
        return max(self.motion.pieces(), key=lambda one: np.isfinite(one.q).all(axis=1).sum())


def cell_of(recordings: list[Recording], scenario: Scenario | None) -> Cell:
    """Return the cell of recordings.

    Args:
        recordings: Recordings of one cell.
        scenario: Its scenario; that of the first recording by default.

    Raises:
        IdentificationError: If a recording is of other arms, or of another period.
    """
    if scenario is None:
        scenario = scenario_of_text(str(recordings[0].get("scenario_text")))
    system = build_system(scenario)
    period = float(recordings[0].get("period_s"))
    for i, recording in enumerate(recordings):
        other = float(recording.get("period_s"))
        if other != period:
            raise IdentificationError(
                f"recording {i + 1} of {recording.get('scenario')!r} has a period of {other:g} s; "
                f"expected {period:g} s, as recording 1."
            )
        joints, own = list(recording.get("joints")), list(system.joint_names)
        if joints != own:
            strange = [name for name in joints if name not in own]
            found = (
                f"joint {strange[0]!r}" if strange else f"{len(joints)} joints in another order"
            )
            raise IdentificationError(
                f"recording {i + 1} of {recording.get('scenario')!r} has {found}; expected the "
                f"{len(own)} joints of {scenario.name!r}, {own[0]!r} and so on."
            )
        _require_same_cell(recording, i, scenario)
    return Cell(scenario, system, [pose_matrix(arm.grasp) for arm in scenario.cell.arms])


def _require_same_cell(recording: Recording, i: int, scenario: Scenario) -> None:
    """Check that a recording, the i-th, is of the arms and surfaces of a scenario."""
    text = recording.metadata.get("scenario_text")
    difference = _difference(scenario_of_text(str(text)).cell, scenario.cell) if text else ""
    if difference:
        raise IdentificationError(
            f"recording {i + 1} of {recording.get('scenario')!r} has {difference}; expected the "
            f"cell of {scenario.name!r}."
        )


def _difference(recorded: CellSettings, cell: CellSettings) -> str:
    """Return the difference of two cells in what is not identified; empty without one.

    Base placements and grasps are identified up to `FAR`.
    """
    if [arm.name for arm in recorded.arms] != [arm.name for arm in cell.arms]:
        return "arms of other names"
    surfaces, theirs = (
        [(one.name, one.kind, one.sticks) for one in of.surfaces] for of in (cell, recorded)
    )
    if surfaces and theirs and surfaces != theirs:
        return "other surfaces"
    places = {
        f"the grasp of arm {arm.name!r} elsewhere": (pose_matrix(arm.grasp), pose_matrix(of.grasp))
        for arm, of in zip(cell.arms, recorded.arms, strict=True)
    }
    for j, (robot, other) in enumerate(zip(cell.robots, recorded.robots, strict=False)):
        places[f"robot {j + 1} elsewhere"] = pose_matrix(robot), pose_matrix(other)
    for difference, (place, that) in places.items():
        apart = np.linalg.inv(place) @ that
        turned = np.arccos(np.clip(0.5 * (np.trace(apart[:3, :3]) - 1.0), -1.0, 1.0))
        if np.linalg.norm(apart[:3, 3]) > FAR or turned > FAR_TURNED:
            return difference
    return ""


def input_of(
    recording: Recording,
    cell: Cell,
    source: Source | Literal["positions", "commands"],
    *,
    held: bool = True,
    touching: bool = False,
    allowed: tuple[float, float] = (_GAP, _TURN),
) -> Input:
    """Return the samples of a recording in which the arms hold the object, or move free.

    Args:
        recording: The recording.
        cell: Its cell.
        source: Measurements that are needed; commands are torques as they would act without
            delay.
        held: Whether the arms hold the object; else they have let it go for a second.
        touching: Whether samples in which the object touches surfaces are used too, with the
            column `touched`.
        allowed: Largest disagreement of arms about the object that they hold [m, rad].

    Raises:
        IdentificationError: If the recording lacks something, or contradicts the cell.
    """
    system = cell.system
    na, k = len(system.joint_names), len(system.arms)
    q = _column(recording, "joint_position", na)
    torque, origin = None, ""
    if source == "commands":
        torque, origin = _shifted(_column(recording, "commanded_torque", na), -1), "commanded"
    elif source in ("torques", "both"):
        torque, origin = _torques(recording, cell)
    wrenches = None
    if source in ("wrenches", "both"):
        wrenches = _column(recording, "grasp_wrench", 6 * k)
    touched = None
    if touching:
        if "touched" not in recording:
            raise IdentificationError(
                "the recording has no column 'touched'; expected one of a controller that presses "
                "the object on a surface."
            )
        rows = sum(surface.rows for surface in cell.scenario.cell.surfaces)
        touched = _column(recording, "touched", rows, "surfaces")
    used = samples_of(recording, held=held, touching=touching)
    if not used.any():
        raise IdentificationError(
            f"the arms never {'hold the object in the air' if held else 'move free'}; expected a "
            "recording in which they do."
        )
    saturated = 0.0
    if torque is not None:
        limit = _SATURATED * system.limits["effort"]
        saturated = float(np.mean(np.abs(torque[used]) > limit))
    signals: list[Array] = []
    outliers = 0
    for values, what in ((q, "positions"), (torque, "torques"), (wrenches, "wrenches")):
        if values is None:
            continue
        _require_samples(values[used], what, cell)
        if what == "wrenches":
            _require_below_range(values[used], cell)
        clean, number = without_outliers(np.where(used[:, None], values, np.nan))
        outliers += number
        signals.append(_evenly(clean, recording[TICK]))
    period = float(recording.get("period_s"))
    motion = RecordedMotion(
        period,
        signals[0],
        None if torque is None else signals[1],
        None if wrenches is None else signals[-1].reshape(-1, k, 6),
        None if touched is None else _evenly(touched, recording[TICK]),
    )
    _require_motion(motion.q, system)
    if held:
        _require_agreement(motion.q, cell, *allowed)
    return Input(motion, origin, float(used.sum()) * period, outliers, saturated)


def inputs_of(
    recordings: list[Recording],
    cell: Cell,
    source: Source | Literal["positions", "commands"],
    *,
    held: bool = True,
    touching: bool = False,
    allowed: tuple[float, float] = (_GAP, _TURN),
    used: Sequence[bool] | None = None,
) -> list[Input]:
    """Return the samples of recordings; see `input_of`.

    Args:
        recordings: The recordings.
        cell: Their cell.
        source: See `input_of`.
        held: See `input_of`.
        touching: See `input_of`.
        allowed: See `input_of`.
        used: Whether each recording is used; all by default.

    Raises:
        IdentificationError: As `input_of`; names the recording if there are several.
    """
    found = []
    for i, recording in enumerate(recordings):
        if used is None or used[i]:
            try:
                found.append(
                    input_of(
                        recording, cell, source, held=held, touching=touching, allowed=allowed
                    )
                )
            except IdentificationError as error:
                if len(recordings) == 1:
                    raise
                raise IdentificationError(f"recording {i + 1}: {error}") from error
    return found


def _column(recording: Recording, name: str, width: int, of: str = "arms") -> Array:
    if name not in recording:
        raise IdentificationError(
            f"the recording has no column {name!r}; expected one of the plant, of the controller, "
            "or of all topics of a run."
        )
    values = np.asarray(recording[name], dtype=float)
    if values.ndim != 2 or values.shape[1] != width:
        shape = values.shape[1:] or (1,)
        raise IdentificationError(
            f"column {name!r} has {shape[0]} numbers a sample; expected {width}, of all {of}."
        )
    return values


def _torques(recording: Recording, cell: Cell) -> tuple[Array, str]:
    """Return joint torques at the times of the samples, and their origin."""
    na = len(cell.system.joint_names)
    if "applied_torque" in recording:  # over the period before the sample
        return _shifted(_column(recording, "applied_torque", na), 0), "applied"
    torque = _column(recording, "commanded_torque", na)
    control, period = cell.scenario.control, float(recording.get("period_s"))
    delay = round(control.command_delay_periods * control.period / period)
    torque = _shifted(torque, -1 - delay)  # over the period after the sample and the delay
    for arm in cell.scenario.cell.arms:
        if arm.drive.compensates_gravity:
            raise IdentificationError(
                f"the drives of arm {arm.name!r} add gravity to the commanded torques; expected "
                "the use of wrenches alone."
            )
    return torque, "commanded"


def _shifted(values: Array, by: int) -> Array:
    """Return the mean of the rows `by` and `by + 1` further on; NaN where there is none."""
    found = np.full(values.shape, np.nan)
    rows = np.arange(len(values))
    inside = (rows + by >= 0) & (rows + by + 1 < len(values))
    at = rows[inside] + by
    found[inside] = 0.5 * (values[at] + values[at + 1])
    return found


def samples_of(recording: Recording, *, held: bool, touching: bool = False) -> NDArray[np.bool_]:
    """Return in which samples (N,) the arms hold the object, or move free.

    Args:
        recording: The recording.
        held: Whether they hold it.
        touching: Whether samples in which it touches surfaces count too.
    """
    count = len(recording)
    if "holding" in recording:
        holding = np.asarray(np.nan_to_num(recording["holding"].ravel()) > 0.0)
    else:
        holding = np.full(count, bool(recording.metadata.get("holds_object", True)))
    if not held:
        near = round(_LET_GO_S / float(recording.get("period_s")))
        return ~binary_dilation(holding, iterations=near)
    if "touched" in recording and not touching:
        holding &= ~(np.nan_to_num(recording["touched"].reshape(count, -1)) > 0.0).any(axis=1)
    return holding


def _require_samples(values: Array, what: str, cell: Cell) -> None:
    known = np.isfinite(values)
    per_arm = np.array_split(np.arange(values.shape[1]), len(cell.system.arms))
    if what != "wrenches":
        per_arm = [np.arange(values.shape[1])[own] for own in cell.kinematics.own]
    for arm, own in zip(cell.system.arms, per_arm, strict=True):
        missing = 1.0 - float(known[:, own].all(axis=1).mean())
        if missing > _MISSING:
            raise IdentificationError(
                f"the {what} of arm {arm.name!r} are missing in {100.0 * missing:.0f} % of the "
                f"samples; expected at most {100.0 * _MISSING:.0f} %."
            )


def _require_below_range(wrenches: Array, cell: Cell) -> None:
    """Check that noisy wrenches do not stay at their extreme values."""
    names = [f"{axis} of arm {arm.name!r}" for arm in cell.system.arms for axis in WRENCH_AXES]
    for name, values in zip(names, wrenches.T, strict=True):
        known = values[np.isfinite(values)]
        if len(np.unique(known)) < 0.5 * len(known):  # a coarse resolution, or no noise
            continue
        for extreme in (known.min(), known.max()):
            part = float(np.mean(known == extreme))
            if part > _AT_RANGE:
                raise IdentificationError(
                    f"the wrench component {name} stays at exactly {extreme:.4g} in "
                    f"{100.0 * part:.0f} % of the samples; expected a sensor below its range."
                )


def _evenly(values: Array, ticks: Array) -> Array:
    """Return rows for every tick, NaN where one is missing."""
    at = np.round(np.nan_to_num(ticks - ticks[0], nan=-1.0)).astype(int)
    if at[-1] + 1 > 20 * len(at) or (np.diff(at) <= 0).any():
        raise IdentificationError(
            "the samples are not in the order of their ticks, or are too far apart; expected the "
            "samples of one run."
        )
    rows = np.full((at[-1] + 1, values.shape[1]), np.nan)
    rows[at] = values
    return rows


def _require_motion(q: Array, system: GraspSystem) -> None:
    way = largest_way(q, system.joint_units)
    if way[0] < _STILL:
        raise IdentificationError(
            f"the joints move by at most {way[0]:.2g} {way[1]}; expected a recording of a motion."
        )


def largest_way(q: Array, units: Sequence[str]) -> tuple[float, str]:
    """Return the largest range of positions (N, n) of a joint, and the joint's unit."""
    ways = np.nanmax(q, axis=0) - np.nanmin(q, axis=0)
    joint = int(np.nanargmax(ways))
    return float(ways[joint]), units[joint]


def _require_agreement(q: Array, cell: Cell, most: float, most_turn: float) -> None:
    """Check that the arms agree about the object."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1))
    kinematics = cell.kinematics
    at = known[np.linspace(0, len(known) - 1, _LOOKED_AT).astype(int)]
    every = np.zeros((len(at), kinematics.robot.model.nv))
    every[:, kinematics.index] = q[at]
    poses = [
        kinematics.robot.pose(arm.tool, every) @ np.linalg.inv(grasp)
        for arm, grasp in zip(cell.system.arms, cell.grasps, strict=True)
    ]
    for arm, pose in zip(cell.system.arms[1:], poses[1:], strict=True):
        gap = float(np.median(np.linalg.norm(pose[:, :3, 3] - poses[0][:, :3, 3], axis=1)))
        cosine = 0.5 * (np.einsum("nij,nij->n", pose[:, :3, :3], poses[0][:, :3, :3]) - 1.0)
        turn = float(np.median(np.arccos(np.clip(cosine, -1.0, 1.0))))
        if gap > most or turn > most_turn:
            raise IdentificationError(
                f"arms {cell.system.arms[0].name!r} and {arm.name!r} disagree about the object by "
                f"{1e3 * gap:.3g} mm and {np.degrees(turn):.2g} degrees; expected at most "
                f"{1e3 * most:g} mm and {np.degrees(most_turn):.2g} degrees: joints in the order "
                "of the scenario, its base placements and its grasps."
            )
