# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified links and friction of arms as text, JSON, figure, and corrected scenario and URDF."""

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
    not_identified,
    quality,
    quality_words,
)
from robot_dynamics.app.identification.urdf_values import JointValues, UrdfText
from robot_dynamics.app.pictures.figures import BLUE, GREY, INK, write_figure
from robot_dynamics.app.scenarios.cell import placed_robots
from robot_dynamics.identification.arm_links import ArmEquations, ArmLinks
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.motion import PARAMETERS, RecordedMotion
from robot_dynamics.identification.signals import IdentificationError
from robot_dynamics.wording import EFFORT_UNITS

_KINDS = ("viscous friction", "Coulomb friction")
# Settings of a simulated plant that are relative to the descriptions of the arms.
_SCALES = ("link_mass_scale", "damping_scale", "friction_scale")


@dataclass(frozen=True)
class ArmIdentification(IdentificationReport):
    """Result of identifying links and friction of arms.

    Attributes:
        cell: Arms and object before.
        arms: Equations and identified links by the name of the arm.
        inputs: The recordings' samples.
        excluded: Reason why an arm was not identified, by its name.
    """

    cell: Cell
    arms: dict[str, tuple[ArmEquations, ArmLinks]]
    inputs: list[Input]
    excluded: dict[str, str]
    subject = "The arms"

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the result, one sentence each."""
        found = not_identified("arm", self.excluded)
        plant = self.cell.scenario.plant
        scaled = [f"plant.{key}" for key in _SCALES if getattr(plant, key) != 1.0]
        if scaled and self.excluded:
            found.append(
                f"the corrected scenario sets {' and '.join(scaled)} to 1 for all simulated arms, "
                f"also for {' and '.join(map(repr, self.excluded))}; expected recordings in which "
                "all arms move."
            )
        for name, (_, links) in self.arms.items():
            causes = "compliance, loads, torque constants"
            found += doubts(links.fit, f" of arm {name!r}", causes)
            before, after, consistent = links.held_out
            if after > max(before, 1.0):  # residuals below the noise tell nothing
                found.append(
                    f"the identified arm {name!r} predicts the held-out part worse ({after:.2f}) "
                    f"than the description ({before:.2f})."
                )
            if consistent > 1.2 * max(after, 1.0):
                found.append(
                    f"links of positive mass predict the torques of arm {name!r} worse "
                    f"({consistent:.2f} times the noise) than base parameters ({after:.2f}): "
                    "something acts that is not in the equations."
                )
            for kind in _KINDS:
                values, deviations = links.of_joints(kind)
                found += [
                    f"{kind} of {joint} is {value:.3g}, expected at least zero: the sign or the "
                    "constant of its torque may be wrong."
                    for joint, value, deviation in zip(
                        links.joints, values, deviations, strict=True
                    )
                    if value < -SURE * deviation
                ]
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        return self.document(
            self.inputs,
            torques=self.inputs[0].torques,
            arms={name: _json_of(*one) for name, one in self.arms.items()},
        )

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        seconds, torques = sum(one.seconds for one in self.inputs), self.inputs[0].torques
        lines = [
            f"{self.cell.scenario.name}: links and friction from {seconds:.3g} s of {torques} "
            "torques of free arms"
        ]
        for name, (_, links) in self.arms.items():
            poor = set(links.fit.unobserved)
            count = len(links.base.independent)
            hidden = [one for one in links.fit.names[:count] if one in poor]
            lines.append(
                f"  {name}: {count} combinations of inertial parameters are identifiable, "
                f"{count - len(hidden)} are determined"
            )
            lines.append(f"    {'joint':<22}{'viscous':>20}{'Coulomb':>20}{'armature':>12}")
            columns = [zip(*links.of_joints(kind), strict=True) for kind in _KINDS]
            armature = links.armature
            for i, (joint, *friction) in enumerate(zip(links.joints, *columns, strict=True)):
                text = "".join(f"{f'{x:.4f} +- {d:.4f}':>20}" for x, d in friction)
                rotor = "as described" if armature is None else f"{armature[i]:.4f}"
                if armature is not None and not links.armature_known[i]:
                    rotor = "not alone"
                lines.append(f"    {joint:<22}{text}{rotor:>12}")
            outliers = sum(one.outliers for one in self.inputs)
            before, after, consistent = links.held_out
            lines += [
                f"    {quality_words(links.fit, outliers)}",
                f"    held-out part: {before:.2f} times the noise before, {after:.2f} after, "
                f"{consistent:.2f} with links of positive mass",
            ]
            if hidden:
                lines.append(
                    "    not observable in this recording, so kept near the description: "
                    + ", ".join(hidden)
                )
        return lines

    def plot(self, path: str | Path) -> Path:
        """Draw torques measured less predicted, before and after, of up to ten seconds.

        Raises:
            PlotError: If Matplotlib is missing or the file cannot be written.
        """
        motion = self.inputs[0].shown
        parts = []
        for name, (equations, links) in self.arms.items():
            own = motion_of(motion, self.cell, name)
            before = equations.residuals(own, equations.described_values(links))
            parts.append((links.joints, before, equations.residuals(own, links.fit.values)))
        count = max(len(joints) for joints, _, _ in parts)
        time = motion.period * np.arange(len(motion.q))
        system = self.cell.system
        units = dict(zip(system.joint_names, system.joint_units, strict=True))

        def draw(figure: Any) -> None:
            axes = figure.subplots(count, len(parts), sharex=True, squeeze=False)
            for column, (joints, before, after) in zip(axes.T, parts, strict=True):
                for ax, joint, one, other in zip(column, joints, before.T, after.T, strict=False):
                    ax.plot(time, one, color=INK, label="before")
                    ax.plot(time, other, color=BLUE, label="after")
                    ax.axhline(0.0, color=GREY, linewidth=0.6)
                    ax.set_ylabel(f"{joint}\n[{EFFORT_UNITS[units[joint]]}]")
                column[0].set_title("torque, measured less predicted")
                column[-1].set_xlabel("time [s]")
            axes[0, 0].legend(ncols=2)

        return write_figure(path, (6.0 * len(parts), 1.5 * count + 0.6), draw)

    def correction(self, place: Path) -> ScenarioCorrection:
        """See `IdentificationReport`: descriptions of the arms, which a simulated plant then has.

        Raises:
            IdentificationError: If a robot's description is no URDF.
        """
        cell, plant = self.cell.scenario.cell, self.cell.scenario.plant
        changes: dict[str, Any] = {
            f"plant.{scale}": 1.0 for scale in _SCALES if getattr(plant, scale) != 1.0
        }
        texts: dict[Path, UrdfText] = {}
        for i, (settings, part) in enumerate(zip(cell.robots, placed_robots(cell), strict=True)):
            prefix, mechanism = settings.prefix, part.description.mechanism
            own_links = {prefix + link.name for link in mechanism.links}
            moved = [one for one in self.arms.values() if own_links & set(one[1].bodies)]
            if not moved:
                continue
            text = UrdfText(settings.urdf)
            for _, links in moved:
                for body, parameters in links.inertias.items():
                    text.set_inertia(body.removeprefix(prefix), parameters)
                joints = joint_values(links)
                text.set_joints({one.removeprefix(prefix): joints[one] for one in joints})
            number = i + 1 if len(cell.robots) > 1 else ""
            file = place.with_name(f"{place.stem}_robot{number}.urdf")
            changes[f"cell.robots.{i}.urdf"] = file.name
            texts[file] = text
        return ScenarioCorrection(changes, texts)


def joint_values(links: ArmLinks) -> dict[str, JointValues]:
    """Return friction and armature by the name of the joint; friction is not negative."""
    (viscous, _), (coulomb, _) = (links.of_joints(kind) for kind in _KINDS)
    armature = links.armature
    return {
        name: JointValues(
            max(float(viscous[i]), 0.0),
            max(float(coulomb[i]), 0.0),
            None if armature is None else float(armature[i]),
        )
        for i, name in enumerate(links.joints)
    }


def motion_of(motion: RecordedMotion, cell: Cell, arm: str) -> RecordedMotion:
    """Return the part of one arm in a motion of all arms.

    Raises:
        IdentificationError: If it has no torques.
    """
    own = cell.kinematics.own[[one.name for one in cell.system.arms].index(arm)]
    if motion.torque is None:
        raise IdentificationError("the recording has no torques; expected those of all joints.")
    return RecordedMotion(motion.period, motion.q[:, own], motion.torque[:, own], None)


def _json_of(equations: ArmEquations, links: ArmLinks) -> dict[str, Any]:
    """Return the result of an arm as JSON values."""
    fit, count = links.fit, len(links.base.independent)
    before = equations.described_values(links)
    standard = [f"{what} of {body}" for body in links.bodies for what in PARAMETERS]
    standard += [f"armature of {name}" for name in links.joints]
    base = []
    for i, row in enumerate(links.base.matrix):
        used = np.flatnonzero(row).tolist()
        base.append(
            {
                "combination": {standard[k]: float(row[k]) for k in used},
                **entry(fit.values[i], fit.deviations[i], before[i]),
            }
        )
    joints = zip(fit.names[count:], fit.values[count:], fit.deviations[count:], strict=True)
    bodies = {
        name: dict(zip(PARAMETERS, row.tolist(), strict=True))
        for name, row in links.inertias.items()
    }
    return {
        "base_parameters": base,
        "joints": {
            name: {"value": float(x), "standard_deviation": float(d)} for name, x, d in joints
        },
        "armature": None if links.armature is None else links.armature.tolist(),
        "bodies": bodies,
        "not_observable": list(fit.unobserved),
        **quality(fit),
        "held_out_residual": dict(
            zip(("before", "after", "positive_mass"), links.held_out, strict=True)
        ),
    }
