# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified friction, stiffness and place of planes as text, JSON, figure, and scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.app.identification.frame_report import pose_values
from robot_dynamics.app.identification.inputs import Cell, Input
from robot_dynamics.app.identification.report_parts import (
    IdentificationReport,
    ScenarioCorrection,
    doubts,
    entry,
    line,
    not_identified,
    quality,
    quality_words,
)
from robot_dynamics.app.pictures.figures import BLUE, GREY, INK, write_figure
from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material, dissipation
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.pressed_plane import MASS, PressedPlane
from robot_dynamics.identification.signals import NothingToCorrectError
from robot_dynamics.manipulation.contact_settings import SurfaceSettings

_YIELDS = 3.0  # standard deviations of a compliance from which a surface yields
_LEAST_PLACE, _LEAST_TILT = 1e-4, 1e-3  # m, rad: smaller errors of a place are not corrected
_LEAST_SHARE = 0.02  # smaller errors of friction and compliance, over them, are not corrected
_LEAST_RESTITUTION = 0.01
_DEGREES = float(np.degrees(1.0))
# Friction, then a place: key, name in a text, its unit, and the scale to it.
_VALUES = (
    ("friction", "friction", "", 1.0),
    ("displacement_m", "displacement", "mm along its normal", 1e3),
    ("tilt_x_rad", "tilt about x", "degrees", _DEGREES),
    ("tilt_y_rad", "tilt about y", "degrees", _DEGREES),
    ("compliance_m_per_n", "compliance", "mm/kN", 1e6),
)


@dataclass(frozen=True)
class SurfaceIdentification(IdentificationReport):
    """Result of identifying planes.

    Attributes:
        cell: Arms and object before.
        planes: The identified planes by their names.
        inputs: The recordings' samples.
        excluded: Reason why another surface was not identified, by its name.
        plant: The scenario of a simulated plant, whose surfaces are relative to the cell's.
    """

    cell: Cell
    planes: dict[str, PressedPlane]
    inputs: list[Input]
    excluded: dict[str, str]
    plant: Scenario | None
    subject = "Surfaces"

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result, one sentence each."""
        found = not_identified("surface", self.excluded)
        described = float(self.cell.system.model.bodies[self.cell.system.object_body].inertia.mass)
        for name, plane in self.planes.items():
            causes = "a surface that is not plane, friction that depends on speed, base placements"
            found += doubts(plane.force, f" of forces at surface {name!r}", causes)
            found += doubts(plane.place, f" of the place of surface {name!r}", causes)
            at = plane.force.names.index(MASS)
            mass, deviation = plane.force.values[at], plane.force.deviations[at]
            if abs(mass - described) > SURE * deviation:
                found.append(
                    f"the object weighs {mass:.3f} +- {deviation:.3f} kg; expected "
                    f"{described:.3f} kg, by its description: identify the payload."
                )
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        surfaces = {name: self._json_of(name) for name in self.planes}
        return self.document(self.inputs, surfaces=surfaces)

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        found = self.json
        lines = [
            f"{found['scenario']}: surfaces from {found['duration_s']:.3g} s of wrist sensors "
            "with the held object"
        ]
        for name, plane in self.planes.items():
            values = found["surfaces"][name]
            lines.append(f"  {name}:")
            for key, what, unit, scale in _VALUES:
                if values[key] is not None:
                    lines.append(line(what, values[key], unit, scale))
            lines += [
                f"  forces: {quality_words(plane.force, found['outliers'])}",
                f"  place: {quality_words(plane.place, found['outliers'])}",
                f"  held-out part: {plane.held_out[0]:.2f} times the noise before, "
                f"{plane.held_out[1]:.2f} after",
            ]
            lines.append("  not observable: " + "; ".join(values["not_observable"]))
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw friction over pressing force, and pressing force over penetration.

        Raises:
            PlotError: If Matplotlib is missing or the file cannot be written.
        """

        def draw(figure: Any) -> None:
            axes = figure.subplots(len(self.planes), 2, squeeze=False)
            for (left, right), (name, plane) in zip(axes, self.planes.items(), strict=True):
                before = described_plane(self._settings(name))
                after = np.concatenate([plane.force.values[:1], plane.place.values])
                most = 1.1 * float(plane.pressing[:, 1].max())
                left.plot(*plane.sliding.T, ".", color=GREY, label="measured")
                right.plot(1e3 * plane.pressing[:, 0], plane.pressing[:, 1], ".", color=GREY)
                for values, color, when in ((before, INK, "before"), (after, BLUE, "after")):
                    left.plot([0.0, most], [0.0, values[0] * most], color=color, label=when)
                    right.plot([0.0, 1e3 * values[4] * most], [0.0, most], color=color)
                left.set_title(f"{name}: friction")
                left.set_xlabel("pressing force [N]")
                left.set_ylabel("friction [N]")
                right.set_title(f"{name}: stiffness")
                right.set_xlabel("penetration [mm]")
                right.set_ylabel("pressing force [N]")
            axes[0, 0].legend()

        return write_figure(path, (9.0, 3.2 * len(self.planes)), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`: friction, stiffness and place of planes.

        Raises:
            NothingToCorrectError: If the surfaces are as described.
        """
        changes: dict[str, Any] = {}
        surfaces = self.cell.scenario.cell.surfaces
        for name, plane in self.planes.items():
            at = [one.name for one in surfaces].index(name)
            values = self._json_of(name)
            mu, yields = values["friction"], values["compliance_m_per_n"]
            if mu is not None and _differs(mu):
                changes[f"cell.surfaces.{at}.friction"] = round(mu["value"], 6)
            single = surfaces[at].part.kind == "point"  # others yield with several points
            if single and yields is not None and _differs(yields) and _yields(yields):
                changes[f"cell.surfaces.{at}.stiffness"] = round(1.0 / yields["value"], 3)
            least = np.array([_LEAST_PLACE, _LEAST_TILT, _LEAST_TILT])
            sure = np.maximum(SURE * plane.place.deviations[:3], least)
            if (np.abs(plane.place.values[:3]) > sure).any():
                frame = pose_matrix(surfaces[at]) @ _moved(plane)
                for key, value in pose_values(frame).items():
                    changes[f"cell.surfaces.{at}.{key}"] = value
                if self.plant is not None:
                    true = pose_matrix(self.plant.cell.surfaces[at])
                    if name in self.plant.plant.surface_error:
                        true = true @ pose_matrix(self.plant.plant.surface_error[name])
                    error = pose_values(np.linalg.inv(frame) @ true)
                    changes[f"plant.surface_error.{name}"] = error
            friction = changes.get(f"cell.surfaces.{at}.friction")
            if self.plant is not None and friction:
                # One scale is of all surfaces: of several, each is as identified.
                own = self.plant.cell.surfaces[at].friction / friction
                scale = own * self.plant.plant.surface_friction_scale
                changes["plant.surface_friction_scale"] = scale if len(surfaces) == 1 else 1.0
        if not changes:
            raise NothingToCorrectError(
                "the surfaces are as described; expected something to correct."
            )
        return ScenarioCorrection(changes)

    def _settings(self, name: str) -> SurfaceSettings:
        return next(one for one in self.cell.scenario.cell.surfaces if one.name == name)

    def _json_of(self, name: str) -> dict[str, Any]:
        """Return a plane as JSON values; None where it is not observable."""
        plane = self.planes[name]
        before = described_plane(self._settings(name))
        found: dict[str, Any] = {}
        hidden = ["restitution, because an impact is shorter than the filters"]
        for i, (key, what, _, _) in enumerate(_VALUES):
            fit, at = (plane.place, i - 1) if i else (plane.force, 0)
            found[key] = entry(fit.values[at], fit.deviations[at], before[i])
            if fit.names[at] in fit.unobserved:
                found[key] = None
                hidden.append(what)
        yields = found["compliance_m_per_n"]
        if yields is not None and not _yields(yields):
            least = max(yields["value"], 0.0) + 2.0 * yields["standard_deviation"]
            hidden.append(f"stiffness, which is at least {1e-3 / least:.3g} kN/m")
        return {
            **found,
            "not_observable": hidden,
            "forces": quality(plane.force),
            "place": quality(plane.place),
            "held_out_residual": {"before": plane.held_out[0], "after": plane.held_out[1]},
        }


def described_plane(settings: SurfaceSettings) -> Array:
    """Return the friction of a surface, and the values of `PLACE` as described."""
    loss = dissipation(max(settings.restitution, _LEAST_RESTITUTION), Material().speed)
    return np.array([settings.friction, 0.0, 0.0, 0.0, 1.0 / settings.stiffness, loss])


def _moved(plane: PressedPlane) -> Array:
    """Return the pose (4, 4) of an identified plane in the described one."""
    c, ex, ey = plane.place.values[:3]
    found = np.eye(4)
    found[:3, :3] = Rotation.from_rotvec([ex, ey, 0.0]).as_matrix()
    found[2, 3] = c
    return found


def _yields(compliance: dict[str, float]) -> bool:
    """Return whether a surface yields beyond the deviation of its compliance."""
    return compliance["value"] >= _YIELDS * compliance["standard_deviation"]


def _differs(one: dict[str, float]) -> bool:
    """Return whether an entry differs from the description beyond its deviation."""
    off = abs(one["value"] - one["before"])
    return off > max(SURE * one["standard_deviation"], _LEAST_SHARE * one["before"])
