# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified wrist sensors as text, JSON, figure, and corrected scenario."""

from __future__ import annotations

from collections.abc import Iterator
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
    line,
    quality,
    quality_words,
)
from robot_dynamics.app.pictures.figures import INK, XYZ, write_figure
from robot_dynamics.arrays import Array
from robot_dynamics.identification.held_object import WRENCH_AXES
from robot_dynamics.identification.least_squares import SURE, Fit
from robot_dynamics.identification.sensors import WristSensor
from robot_dynamics.identification.signals import IdentificationError, NothingToCorrectError

_LEAST_SCALE = 0.02  # smaller errors of scales are not corrected
_FROZEN = 1e-3  # residual over noise of readings that do not change


@dataclass(frozen=True)
class SensorIdentification(IdentificationReport):
    """Result of identifying wrist sensors.

    Attributes:
        cell: Arms and object before.
        sensors: The sensors, of arms that move free; empty without such samples.
        scales: Fit of inverse scales (k) and sums of biases (6), of arms that hold the object;
            None without such samples.
        free: Samples of arms that move free.
        held: Samples of arms that hold the object.
    """

    cell: Cell
    sensors: list[WristSensor]
    scales: Fit | None
    free: list[Input]
    held: list[Input]
    subject = "Tools of wrist sensors"

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the sensors or the result, one sentence each."""
        found = [*self._faults]
        for one in self.sensors:
            what = f" of the sensor of arm {one.arm!r}"
            found += doubts(one.fit, what, "scales of axes, a tool that moves")
            if not one.carries and one.fit.factor < _FROZEN:
                found.append(
                    f"the readings of the sensor of arm {one.arm!r} do not change; expected noise "
                    "at least: it may be frozen, or simulated without noise."
                )
        if self.scales is not None:
            found += doubts(self.scales, " with the held object", "the object, tools, axes")
        return found

    @property
    def _faults(self) -> Iterator[str]:
        """Yield the errors of sensors that a scenario cannot correct, one sentence each."""
        for one in self.sensors:
            link = next(arm for arm in self.cell.system.arms if arm.name == one.arm)
            frame = link.sensor_frame or link.tool
            if one.sign < 0.0:
                yield (
                    f"the sensor of arm {one.arm!r} measures wrenches by the tool on the arm; "
                    "expected wrenches by the arm, the opposite sign, of its driver."
                )
            if one.turned:
                turn = ", ".join(f"{angle:.1f}" for angle in np.degrees(one.turn))
                yield (
                    f"the sensor of arm {one.arm!r} measures in axes turned by ({turn}) degrees, "
                    f"a rotation vector, from those of {frame!r}; expected another sensor_frame, "
                    "or other axes of its driver."
                )
        for name, scale, deviation in self._scales:
            if abs(scale - 1.0) > max(SURE * deviation, _LEAST_SCALE):
                yield (
                    f"the sensor of arm {name!r} measures {scale:.3f} +- {deviation:.3f} times "
                    "the wrench; expected 1: correct the scale of its driver or the object's mass."
                )

    @property
    def _scales(self) -> list[tuple[str, float, float]]:
        """Name of the arm, scale and standard deviation of each sensor."""
        if self.scales is None:
            return []
        names = [arm.name for arm in self.cell.system.arms]
        inverse, deviations = self.scales.values, self.scales.deviations
        return [
            (name, float(1.0 / a), float(d / a**2))
            for name, a, d in zip(names, inverse, deviations, strict=False)
        ]

    @property
    def _hidden(self) -> list[str]:
        """Parameters that the recordings do not determine, one phrase each."""
        found = []
        for one in self.sensors:
            if not one.carries:
                found.append(f"axes and sign of the sensor of {one.arm!r}, which carries no tool")
        if self.scales is None:
            found.append(
                "scales: without a held object of known mass only the product with the tool's mass"
            )
        else:
            poor = {name for name in self.scales.unobserved if name.startswith("inverse")}
            found += sorted(name.removeprefix("inverse ") for name in poor)
        if not self.sensors:
            found += [
                "differences of the sensors' biases, which act like an internal force",
                "tools, which act like a part of the object",
            ]
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        tools = {arm.name: arm for arm in self.cell.system.arms}

        sensors = {}
        for one in self.sensors:
            before = tools[one.arm]
            described = (before.sensor_tool_mass, *before.sensor_tool_center)
            tool = [entry(*row) for row in zip(*one.tool, described, strict=True)]
            bias = [entry(x, d, 0.0) for x, d in zip(*one.bias, strict=True)]
            sensors[one.arm] = {
                "tool_mass_kg": tool[0],
                "tool_center_m": tool[1:] if one.carries else None,
                "moment_bias_nm": bias[:3],
                "force_bias_n": bias[3:],
                "sign": one.sign,
                "axes_turned_rad": one.turn.tolist(),
                "axes_standard_deviation_rad": one.turn_deviations.tolist(),
                **quality(one.fit),
                "held_out_residual": {"before": one.held_out[0], "after": one.held_out[1]},
            }
        held: dict[str, Any] | None = None
        if self.scales is not None:
            k = len(tools)
            sums = zip(self.scales.values[k:], self.scales.deviations[k:], strict=True)
            held = {
                "scale": {name: entry(x, d, 1.0) for name, x, d in self._scales},
                "bias_sums_in_object": [entry(x, d, 0.0) for x, d in sums],
                **quality(self.scales),
            }
        return {
            "scenario": self.cell.scenario.name,
            "free_s": sum(one.seconds for one in self.free),
            "held_s": sum(one.seconds for one in self.held),
            "sensors": sensors,
            "held_object": held,
            "outliers": sum(one.outliers for one in [*self.free, *self.held]),
            "not_observable": self._hidden,
            "warnings": self.warnings,
        }

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        found = self.json
        used = [f"{found['free_s']:.3g} s of free motion"] if self.sensors else []
        used += [f"{found['held_s']:.3g} s with the held object"] if self.held else []
        lines = [f"{found['scenario']}: wrist sensors from {' and '.join(used)}"]

        for one in self.sensors:
            values = found["sensors"][one.arm]
            lines.append(line(f"{one.arm}: tool mass", values["tool_mass_kg"], "kg"))
            for axis, value in zip("xyz", values["tool_center_m"] or (), strict=False):
                lines.append(line(f"{one.arm}: tool centre {axis}", value, "mm", 1e3))
            biases = [*values["moment_bias_nm"], *values["force_bias_n"]]
            for axis, value in zip(WRENCH_AXES, biases, strict=True):
                unit = "N m" if axis[0] == "m" else "N"
                lines.append(line(f"{one.arm}: bias {axis}", value, unit))
            if one.carries:
                turned = "turned" if one.turned else "as described"
                sign = "reversed sign" if one.sign < 0.0 else "sign as described"
                largest = np.degrees(one.turn_deviations.max())
                lines.append(f"  {one.arm}: axes {turned} (+- {largest:.2g} degrees), {sign}")
            lines.append(f"  {one.arm}: {quality_words(one.fit, found['outliers'])}")
            lines.append(
                f"  {one.arm}: held-out part: {one.held_out[0]:.2f} times the noise before, "
                f"{one.held_out[1]:.2f} after"
            )
        if found["held_object"] is not None:
            assert self.scales is not None
            for name, value in found["held_object"]["scale"].items():
                lines.append(line(f"{name}: scale", value, ""))
            sums = found["held_object"]["bias_sums_in_object"]
            for axis, value in zip(WRENCH_AXES, sums, strict=True):
                unit = "N m" if axis[0] == "m" else "N"
                lines.append(line(f"sum of biases {axis}", value, unit))
            lines.append(f"  held object: {quality_words(self.scales, found['outliers'])}")
        if found["not_observable"]:
            lines.append("  not observable: " + "; ".join(found["not_observable"]))
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw measured less predicted wrenches of free arms, before and after.

        Raises:
            IdentificationError: If no arm moves free.
            PlotError: If Matplotlib is missing or the file cannot be written.
        """
        self._require_free("the figure shows")

        def draw(figure: Any) -> None:
            axes = figure.subplots(2 * len(self.sensors), 2, sharex=True, squeeze=False)
            for i, one in enumerate(self.sensors):
                for j, (residual, when) in enumerate(
                    zip(one.residuals, ("before", "after"), strict=True)
                ):
                    force, moment = axes[2 * i, j], axes[2 * i + 1, j]
                    force.set_title(f"{one.arm}: measured less predicted, {when}")
                    for axis, color in enumerate(XYZ):
                        force.plot(residual[:, 3 + axis], color=color, label="xyz"[axis])
                        moment.plot(residual[:, axis], color=color)
                    for ax in (force, moment):
                        ax.axhline(0.0, color=INK, linewidth=0.6)
                axes[2 * i, 0].set_ylabel("force [N]")
                axes[2 * i + 1, 0].set_ylabel("moment [N m]")
            axes[0, 0].legend(ncols=3)
            for ax in axes[-1]:
                ax.set_xlabel("low-passed sample")

        return write_figure(path, (11.0, 3.0 * len(self.sensors) + 0.6), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`: tools of the sensors, which are tared if they have biases.

        Raises:
            IdentificationError: If no arm moves free, or a sensor has an error that a scenario
                cannot correct.
            NothingToCorrectError: If the sensors are as described.
        """
        self._require_free("the scenario has")
        for sentence in self._faults:
            raise IdentificationError(sentence)
        changes: dict[str, Any] = {}
        for one in self.sensors:
            at = [arm.name for arm in self.cell.scenario.cell.arms].index(one.arm)
            tool = one.tool[0] if one.carries else np.zeros(4)
            if one.carries or self.cell.system.arms[at].sensor_tool_mass > 0.0:
                changes[f"cell.arms.{at}.sensor_tool"] = {
                    "mass": round(float(tool[0]), 6),
                    "center": np.round(tool[1:], 6).tolist(),
                }
        if any(_biased(*one.bias) for one in self.sensors):
            changes["control.start.tare"] = True
        if not changes:
            raise NothingToCorrectError(
                "the sensors have no bias, and their tools are as described; expected something "
                "to correct."
            )
        return ScenarioCorrection(changes)

    def _require_free(self, what: str) -> None:
        if not self.sensors:
            raise IdentificationError(
                f"{what} bias and tool of each sensor; expected a recording in which the arms "
                "move free."
            )


def _biased(bias: Array, deviations: Array) -> bool:
    return bool((np.abs(bias) > SURE * deviations).any())
