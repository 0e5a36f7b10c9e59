# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified payloads as text, JSON, figure, and corrected scenario and URDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.identification.inputs import Cell, Input, Source
from robot_dynamics.app.identification.report_parts import (
    IdentificationReport,
    ScenarioCorrection,
    doubts,
    entry,
    line,
    quality,
    quality_words,
)
from robot_dynamics.app.identification.urdf_values import INERTIA, UrdfText
from robot_dynamics.app.pictures.figures import BLUE, GREY, INK, write_figure
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import inertial_parameters
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.held_object import TORQUE_CONSTANT, HeldObject
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.payload import Payload, about_center
from robot_dynamics.identification.signals import IdentificationError
from robot_dynamics.wording import EFFORT_UNITS

_CENTER = "xyz"
_PANELS = 6  # joints in the figure


@dataclass(frozen=True)
class PayloadIdentification(IdentificationReport):
    """Result of identifying a payload.

    Attributes:
        cell: Arms and object before.
        payload: The identified payload.
        inputs: The recordings' samples.
        source: Measurements that were used.
        equations: The equations, for predictions.
        plant: The plant's object (10,), where the recording is of a simulated plant: mass, centre
            and inertia about it.
    """

    cell: Cell
    payload: Payload
    inputs: list[Input]
    source: Source
    equations: HeldObject
    plant: Array | None
    subject = "The object"

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result, one sentence each."""
        payload, (before, after) = self.payload, self.payload.held_out
        fit = payload.fit
        found = doubts(fit, "", "arm links, torque constants")
        if after > max(before, 1.0):  # residuals below the noise tell nothing
            found.append(
                f"the identified payload predicts the held-out part worse ({after:.2f}) than the "
                f"description ({before:.2f})."
            )
        if payload.constrained:
            found.append(
                "the data alone gave an inertia of no body; the nearest physical one is stated."
            )
        for name, value, prior in zip(fit.names, fit.values, fit.prior_deviations, strict=True):
            if TORQUE_CONSTANT in name and abs(value) > SURE * prior:
                found.append(
                    f"the {name} is {100.0 * value:.1f} %, expected about "
                    f"{100.0 * prior:.2g} %: the drive, the links or the friction differ from the "
                    "description; `identify --what drives` tells more."
                )
        saturated = max(one.saturated for one in self.inputs)
        if saturated > 0.0:
            found.append(
                f"{100.0 * saturated:.2g} % of the torques are at a limit and count little."
            )
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        fit = self.payload.fit
        values, deviations = self.payload.summary
        before = about_center(self.equations.prior)

        found = [entry(*row) for row in zip(values, deviations, before, strict=True)]
        return self.document(
            self.inputs,
            source=self.source,
            torques=self.inputs[0].torques,
            mass_kg=found[0],
            center_m=found[1:4],
            inertia_about_center_kgm2=dict(zip(INERTIA, found[4:], strict=True)),
            physically_constrained=self.payload.constrained,
            nuisance={
                name: {"value": float(x), "standard_deviation": float(s)}
                for name, x, s in list(zip(fit.names, fit.values, fit.deviations, strict=True))[
                    PER_BODY:
                ]
            },
            not_observable=list(fit.unobserved),
            **quality(fit),
            held_out_residual={
                "before": self.payload.held_out[0],
                "after": self.payload.held_out[1],
            },
        )

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        found, fit = self.json, self.payload.fit
        torques = "" if self.source == "wrenches" else f"{self.inputs[0].torques} torques"
        used = " and ".join(
            filter(None, (torques, "" if self.source == "torques" else "wrist sensors"))
        )
        lines = [f"{found['scenario']}: payload from {found['duration_s']:.3g} s of {used}"]

        lines.append(line("mass", found["mass_kg"], "kg"))
        lines += [
            line(f"centre of mass {axis}", one, "mm", 1e3)
            for axis, one in zip(_CENTER, found["center_m"], strict=True)
        ]
        lines += [
            line(f"inertia {name}", one, "kg m^2")
            for name, one in found["inertia_about_center_kgm2"].items()
        ]
        lines += [
            f"  {quality_words(fit, found['outliers'])}",
            f"  held-out part: {self.payload.held_out[0]:.2f} times the noise before, "
            f"{self.payload.held_out[1]:.2f} after",
        ]
        own = [name for name in fit.unobserved if name in fit.names[:PER_BODY]]
        if own:
            lines.append(
                "  not observable in this recording, so kept near the description: "
                + ", ".join(own)
            )
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw torques measured and predicted, before and after, of up to ten seconds.

        Raises:
            IdentificationError: If no torques were used.
            PlotError: If Matplotlib is missing or the file cannot be written.
        """
        motion = self.inputs[0].shown
        if motion.torque is None:
            raise IdentificationError("the figure shows torques; expected --use torques or both.")
        after = self.equations.values(self.payload)
        before = after.copy()
        before[:PER_BODY] = self.equations.prior
        parts = [self.equations.residuals(motion, x) for x in (before, after)]
        size = np.nanmax(np.abs(parts[0]), axis=0)
        drawn = sorted(np.argsort(size)[::-1][:_PANELS].tolist())
        time = motion.period * np.arange(len(motion.torque))
        names, units = self.cell.system.joint_names, self.cell.system.joint_units

        def draw(figure: Any) -> None:
            axes = figure.subplots(len(drawn), 2, sharex=True, squeeze=False)
            for (left, right), j in zip(axes, drawn, strict=True):
                assert motion.torque is not None
                left.plot(time, motion.torque[:, j], color=GREY, label="measured")
                left.plot(time, motion.torque[:, j] - parts[0][:, j], color=INK, label="before")
                left.plot(time, motion.torque[:, j] - parts[1][:, j], color=BLUE, label="after")
                left.set_ylabel(f"{names[j]}\n[{EFFORT_UNITS[units[j]]}]")
                right.plot(time, parts[0][:, j], color=INK)
                right.plot(time, parts[1][:, j], color=BLUE)
            axes[0, 0].set_title("torque, measured and predicted")
            axes[0, 1].set_title("measured less predicted")
            axes[0, 0].legend(ncols=3)
            for ax in axes[-1]:
                ax.set_xlabel("time [s]")

        return write_figure(path, (11.0, 1.7 * len(drawn) + 0.6), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`."""
        scenario = self.cell.scenario
        urdf = place.with_name(f"{place.stem}_object.urdf")
        text = UrdfText(scenario.cell.object.urdf)
        system = self.cell.system
        text.set_inertia(system.model.bodies[system.object_body].name, self.payload.parameters)
        held: dict[str, Any] = {"urdf": urdf.name}
        if scenario.cell.object.mass is not None:
            held["mass"] = self.payload.mass
        changes: dict[str, Any] = {"cell.object": held}
        if self.plant is not None:
            changes["plant"] = _same_plant(self.plant, about_center(self.payload.parameters))
        return ScenarioCorrection(changes, {urdf: text})


def plant_object(text: str) -> Array:
    """Return mass, centre and inertia about it (10,) of the object of a scenario's plant."""
    system = true_system(scenario_of_text(text))
    at = PER_BODY * system.object_body
    return about_center(inertial_parameters(system.model)[at : at + PER_BODY])


def _same_plant(true: Array, found: Array) -> dict[str, Any]:
    """Return keys of a plant with the same object as before, in a cell with the one found."""
    mass = float(true[0] / found[0])
    size = float(true[[4, 6, 9]].sum() / found[[4, 6, 9]].sum())
    return {
        "object_mass_scale": mass,
        "object_center_error": [float(x) for x in true[1:4] - found[1:4]],
        "object_inertia_scale": size / mass,
    }
