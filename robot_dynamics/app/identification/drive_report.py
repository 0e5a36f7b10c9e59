# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified drives as text, JSON, figure, and corrected scenario."""

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
    not_identified,
    quality,
    quality_words,
)
from robot_dynamics.app.pictures.figures import BLUE, INK, write_figure
from robot_dynamics.identification.drives import ArmDrives
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.signals import IdentificationError, NothingToCorrectError
from robot_dynamics.wording import EFFORT_UNITS

#: Largest error of a torque constant that is not reported as one.
LEAST_CONSTANT = 0.05
#: Largest standard deviation of a torque constant that is determined.
DETERMINED = 0.15
_OTHER_PERIOD = 0.01  # of the control period, by which another one differs
_SIGN = 3.0  # standard deviations from zero of a constant whose sign is determined


@dataclass(frozen=True)
class DriveIdentification(IdentificationReport):
    """Result of identifying drives.

    Attributes:
        cell: Arms and object before.
        arms: Identified drives by the name of the arm.
        applied: The same from torques that a simulated plant applied, which act without delay of
            the command; empty without them.
        inputs: The recordings' samples.
        excluded: Reason why an arm was not identified, by its name.
    """

    cell: Cell
    arms: dict[str, ArmDrives]
    applied: dict[str, ArmDrives]
    inputs: list[Input]
    excluded: dict[str, str]
    subject = "Delay of the drives"

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt drives or the result, one sentence each."""
        found = not_identified("arm", self.excluded)
        for name, drives in self.arms.items():
            found += wrong_constants(drives).values()
            found += doubts(drives.fit, f" of arm {name!r}", "links, payload, friction")
        found += self._late
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        arms = {name: self._json_of(name) for name in self.arms}
        return self.document(self.inputs, arms=arms)

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        seconds = sum(one.seconds for one in self.inputs)
        outliers = sum(one.outliers for one in self.inputs)
        name = self.cell.scenario.name
        lines = [f"{name}: drives from {seconds:.3g} s of commanded torques of free arms"]
        for arm, drives in self.arms.items():
            lines.append(f"  {arm}:")
            lines.append(f"    {'joint':<22}{'torque constant':>20}{'Coulomb friction':>20}")
            rows = zip(drives.joints, zip(*drives.constants, strict=True),
                       zip(*drives.coulomb, strict=True), strict=True)  # fmt: skip
            for joint, constant, coulomb in rows:
                text = "".join(f"{f'{x:.4f} +- {d:.4f}':>20}" for x, d in (constant, coulomb))
                unknown = "   not determined" if constant[1] > DETERMINED else ""
                lines.append(f"    {joint:<22}{text}{unknown}")
            delay, deviation = drives.delay
            lines.append(
                f"    delay of command and measurement together {1e3 * delay:.2f} +- "
                f"{1e3 * deviation:.2f} ms   (before: {1e3 * self._stated_s:.2f})"
            )
            if arm in self.applied:
                measured, its = self.applied[arm].delay
                lines.append(
                    f"      of it the measurement {1e3 * measured:.2f} +- {1e3 * its:.2f} ms, by "
                    "the torques that the plant applied"
                )
            lines.append(f"    {quality_words(drives.fit, outliers)}")
        if not self.applied:
            lines.append("  not observable: delays of command and measurement apart")
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw the torque that drives do not give as commanded, joint by joint.

        Raises:
            PlotError: If Matplotlib is missing or the file cannot be written.
        """
        system = self.cell.system
        units = dict(zip(system.joint_names, system.joint_units, strict=True))

        def draw(figure: Any) -> None:
            axes = figure.subplots(len(self.arms), 1, squeeze=False)[:, 0]
            for ax, (name, drives) in zip(axes, self.arms.items(), strict=True):
                at = np.arange(len(drives.joints))
                for shift, values, color, label in zip(
                    (-0.2, 0.2), drives.unexplained, (INK, BLUE), ("before", "after"), strict=True
                ):
                    ax.bar(at + shift, values, 0.4, color=color, label=label)
                ax.set_xticks(
                    at, [f"{one}\n[{EFFORT_UNITS[units[one]]}]" for one in drives.joints]
                )
                ax.set_title(f"{name}: needed less given torque, root mean square")
                ax.set_ylabel("torque")
            axes[0].legend()

        return write_figure(path, (9.0, 3.0 * len(self.arms)), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`: delay of the commands.

        Raises:
            IdentificationError: If a torque constant is wrong, which a scenario cannot correct,
                or samples have another period than the scenario's control, in which the delay
                is stated.
            NothingToCorrectError: If the drives are as stated.
        """
        for drives in self.arms.values():
            for sentence in wrong_constants(drives).values():
                raise IdentificationError(sentence)
        if not any(self._late):
            raise NothingToCorrectError(
                "constants and delay of the drives are as stated; expected something to correct."
            )
        control, period = self.cell.scenario.control, self.inputs[0].motion.period
        if abs(period / control.period - 1.0) > _OTHER_PERIOD:
            raise IdentificationError(
                f"the recording has a period of {1e3 * period:.4g} ms; expected that of the "
                f"scenario, {1e3 * control.period:.4g} ms: the delay is stated in its periods, "
                "and differs with the rate."
            )
        return ScenarioCorrection({"control.command_delay_periods": self.delay_periods})

    @property
    def delay_periods(self) -> int:
        """Delay of the slowest arm in control periods."""
        period = self.cell.scenario.control.period
        return max(max(round(drives.delay[0] / period), 0) for drives in self.arms.values())

    @property
    def _stated_s(self) -> float:
        control = self.cell.scenario.control
        return control.command_delay_periods * control.period

    @property
    def _late(self) -> Iterator[str]:
        """Yield a sentence for each arm with another delay than stated."""
        for name, drives in self.arms.items():
            if is_other_delay(drives, self._stated_s, self.cell.scenario.control.period):
                delay, deviation = drives.delay
                yield (
                    f"commands of arm {name!r} show in its positions after {1e3 * delay:.2f} +- "
                    f"{1e3 * deviation:.2f} ms; expected {1e3 * self._stated_s:.2f} ms, by "
                    "control.command_delay_periods."
                )

    def _json_of(self, arm: str) -> dict[str, Any]:
        """Return the drives of an arm as JSON values."""
        drives, applied = self.arms[arm], self.applied.get(arm)
        return {
            "joints": {
                joint: {
                    "torque_constant": _value(*constant),
                    "coulomb_friction": _value(*coulomb),
                    "determined": bool(constant[1] <= DETERMINED),
                }
                for joint, constant, coulomb in zip(
                    drives.joints,
                    zip(*drives.constants, strict=True),
                    zip(*drives.coulomb, strict=True),
                    strict=True,
                )
            },
            "delay_s": {**_value(*drives.delay), "before": self._stated_s},
            "measurement_delay_s": None if applied is None else _value(*applied.delay),
            "unexplained_torque": dict(
                zip(("before", "after"), map(_finite, drives.unexplained), strict=True)
            ),
            **quality(drives.fit),
        }


def wrong_constants(drives: ArmDrives) -> dict[str, str]:
    """Return a sentence for each joint with a wrong sign or torque constant, by its name."""
    found = {}
    for joint, k, deviation in zip(drives.joints, *drives.constants, strict=True):
        if k < -_SIGN * deviation:
            found[joint] = (
                f"joint {joint!r} gives {k:.3f} +- {deviation:.3f} times the commanded torque; "
                "expected 1: torque and position have opposite signs."
            )
        elif abs(k - 1.0) > max(SURE * deviation, LEAST_CONSTANT):
            found[joint] = (
                f"joint {joint!r} gives {k:.3f} +- {deviation:.3f} times the commanded torque; "
                "expected 1: correct the torque constant of its drive, or the description of its "
                "links."
            )
    return found


def is_other_delay(drives: ArmDrives, stated_s: float, period: float) -> bool:
    """Return whether the delay differs from the stated one by more than a control period."""
    delay, deviation = drives.delay
    return abs(delay - stated_s) > max(SURE * deviation, period)


def _value(value: float, deviation: float) -> dict[str, float]:
    return {"value": float(value), "standard_deviation": float(deviation)}


def _finite(values: Any) -> list[float | None]:
    return [float(one) if np.isfinite(one) else None for one in values]
