# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified base placements and grasps as text, JSON, figure, and corrected scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.identification.inputs import Cell, Input
from robot_dynamics.app.identification.report_parts import (
    IdentificationReport,
    ScenarioCorrection,
    doubts,
    entry,
    quality,
    quality_words,
)
from robot_dynamics.app.pictures.figures import BLUE, INK, write_figure
from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.description.orientations import rpy_of_rotation
from robot_dynamics.identification.closed_chain import CellFrames, ClosedChain
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.signals import IdentificationError

_DIGITS = 9  # of poses in files


@dataclass(frozen=True)
class FrameIdentification(IdentificationReport):
    """Result of identifying base placements and grasps.

    Attributes:
        cell: Arms and object before.
        frames: The identified frames.
        equations: The equations.
        inputs: The recordings' samples.
        plant: The scenario of a simulated plant, whose grasp errors are relative to the cell.
    """

    cell: Cell
    frames: CellFrames
    equations: ClosedChain
    inputs: list[Input]
    plant: Scenario | None
    subject = "Frames"

    @property
    def gauge(self) -> str:
        """Conventions for parameters that no motion determines."""
        arm = self.cell.system.arms[0].name
        return (
            f"gauge: the base of {arm!r} stays, and displacements of the grasps add up to zero; "
            "those of the whole cell, and of the object in all grasps, change no joint position"
        )

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result, one sentence each."""
        found = doubts(self.frames.fit, "", "joint offsets, link lengths, grasps that give way")
        before, after = self.frames.held_out
        if after > max(before, 1.0):  # residuals below the noise tell nothing
            found.append(
                f"the identified frames predict the held-out part worse ({after:.2f}) than the "
                f"description ({before:.2f})."
            )
        found += self._offset_joints
        return found

    @property
    def _offset_joints(self) -> list[str]:
        """The offsets of joints, which a scenario cannot correct, one sentence each."""
        found, names = [], self.cell.system.joint_names
        deviations = dict(zip(self.frames.fit.names, self.frames.fit.deviations, strict=True))
        units = self.cell.system.joint_units
        for name, unit, offset in zip(names, units, self.frames.offsets, strict=True):
            deviation = deviations.get(f"offset of {name} [{unit}]", np.inf)
            if abs(offset) > SURE * deviation:
                found.append(
                    f"joint {name!r} is {offset:.5f} +- {deviation:.5f} {unit} beyond its "
                    "measured position; expected no offset, by the calibration of its drive."
                )
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        frames, scenario = self.frames, self.cell.scenario
        fit = frames.fit
        robots = [
            {"prefix": one.prefix, **pose_values(pose)}
            for one, pose in zip(scenario.cell.robots, frames.bases, strict=True)
        ]
        grasps = {
            arm.name: pose_values(pose)
            for arm, pose in zip(scenario.cell.arms, frames.grasps, strict=True)
        }
        return self.document(
            self.inputs,
            changes={
                name: entry(x, d, 0.0)
                for name, x, d in zip(fit.names, fit.values, fit.deviations, strict=True)
            },
            bases=robots,
            grasps=grasps,
            gauge=self.gauge,
            combinations=frames.combinations,
            not_observable=frames.hidden,
            largest_gap_m={
                "before": float(frames.gaps[0].max()),
                "after": float(frames.gaps[1].max()),
            },
            **quality(fit),
            held_out_residual={"before": frames.held_out[0], "after": frames.held_out[1]},
        )

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        found, fit = self.json, self.frames.fit
        lines = [
            f"{found['scenario']}: changes of frames from {found['duration_s']:.3g} s of joint "
            "positions with the held object"
        ]
        for name, value, deviation in zip(fit.names, fit.values, fit.deviations, strict=True):
            what, _, unit = name.rstrip("]").rpartition(" [")
            scale, shown = (1e3, "mm") if unit == "m" else (np.degrees(1.0), "degrees")
            lines.append(f"  {what:<28}{scale * value:11.4f} +- {scale * deviation:.4f} {shown}")
        before, after = (1e3 * found["largest_gap_m"][when] for when in ("before", "after"))
        lines += [
            f"  {self.gauge}",
            f"  {found['combinations']} of {len(fit.names)} combinations are identified",
            f"  arms disagree about the object by at most {before:.3g} mm before, {after:.3g} mm "
            "after, noise included",
            f"  {quality_words(fit, found['outliers'])}",
            f"  held-out part: {self.frames.held_out[0]:.2f} times the noise before, "
            f"{self.frames.held_out[1]:.2f} after",
        ]
        if found["not_observable"]:
            hidden = ", ".join(found["not_observable"])
            lines.append(f"  not observable in this recording, so kept near: {hidden}")
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw the distances between where the arms see the object, before and after.

        Raises:
            PlotError: If Matplotlib is missing or the file cannot be written.
        """

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            for gap, color, label in zip(
                self.frames.gaps, (INK, BLUE), ("before", "after"), strict=True
            ):
                ax.plot(1e3 * gap, color=color, label=label)
            ax.set_yscale("log")
            ax.set_title("disagreement of the arms about the object")
            ax.set_xlabel("sample")
            ax.set_ylabel("distance [mm]")
            ax.legend()

        return write_figure(path, (8.0, 3.5), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`: base placements and grasps.

        Raises:
            IdentificationError: If joints have offsets, which a scenario cannot correct.
        """
        for sentence in self._offset_joints:
            raise IdentificationError(sentence)
        changes: dict[str, Any] = {
            f"cell.robots.{j}": pose_values(self.frames.bases[j])
            for j in self.equations.free_robots
        }
        for i, grasp in enumerate(self.frames.grasps):
            changes[f"cell.arms.{i}.grasp"] = pose_values(grasp)
            if self.plant is not None:
                arm = self.plant.cell.arms[i]
                true = pose_matrix(arm.grasp)
                if arm.name in self.plant.plant.grasp_error:
                    true = true @ pose_matrix(self.plant.plant.grasp_error[arm.name])
                changes[f"plant.grasp_error.{arm.name}"] = pose_values(np.linalg.inv(grasp) @ true)
        return ScenarioCorrection(changes)


def pose_values(pose: Array) -> dict[str, list[float]]:
    """Return a pose (4, 4) as keys of a scenario."""
    rpy = rpy_of_rotation(pose[:3, :3])
    return {
        "xyz": (np.round(pose[:3, 3], _DIGITS) + 0.0).tolist(),
        "rpy": (np.round(rpy, _DIGITS) + 0.0).tolist(),
    }
