# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of a run: object and internal force against their references, torques, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.figures import (
    BAND,
    BLUE,
    GREEN,
    GREY,
    INK,
    MANY,
    ORANGE,
    PALE,
    VERMILION,
    XYZ,
    Error,
    error_panel,
    legend_above,
    write_figure,
)
from robot_dynamics.app.metrics import (
    holding_error,
    holdings,
    internal_force_errors,
    moments,
    squeezes,
)
from robot_dynamics.app.recording import TICK, Recording, RecordingError
from robot_dynamics.app.report import orientation_error, position_error, torque_fractions
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector

Array = NDArray[np.float64]

_ARMS = (BLUE, ORANGE, GREEN, VERMILION)
_SMALL = 0.01  # m: what moves by less is drawn in millimetres
_MAX_POINTS = 4000  # of a line; more cannot be seen and make large files


def plot_run(recording: Recording, path: str | Path) -> Path:
    """Write the figure of a run.

    Args:
        recording: Of both sides, merged; of the controller alone what it estimated is drawn
            instead of what was true.
        path: The file; .png, .pdf, .svg and what else matplotlib writes.

    Raises:
        PlotError: If matplotlib is missing, or the file cannot be written.
        RecordingError: If the recording lacks what is drawn.
    """
    recording = _complete(recording)
    holds_object = recording.metadata.get("holds_object", True)
    height = 3.0 * _rows(contact_panels(recording)) if holds_object else 4.0
    return write_figure(path, (11.0, height), lambda figure: _draw(figure, recording))


# What stands for what only a simulated plant knows.
_ESTIMATES = {
    "object_pose": "estimated_pose",
    "internal_force": "estimated_internal_force",
    "applied_torque": "commanded_torque",
}
_DRAWN = (*_ESTIMATES, "reference_pose", "reference_internal_force")


def _complete(recording: Recording) -> Recording:
    """Return the recording with estimates where there is no truth."""
    missing = {
        true: recording[estimate]
        for true, estimate in _ESTIMATES.items()
        if true not in recording and estimate in recording
    }
    for name in _DRAWN:
        if name not in recording and name not in missing:
            raise RecordingError(
                f"recording: there is no column {name!r}, nor one that stands for it; expected "
                "a recording of the controller, or of all topics of a run."
            )
    return Recording({**recording.columns, **missing}, recording.metadata)


def _draw(figure: Any, recording: Recording) -> None:
    if not recording.metadata.get("holds_object", True):
        _draw_arms(figure, recording)
        return
    panels = contact_panels(recording)
    axes = figure.subplots(_rows(panels), 2, sharex=True)
    view = _View(recording)
    _position(axes[0, 0], view)
    _orientation(axes[0, 1], view)
    _internal_force(axes[1, 0], view)
    _torques(axes[1, 1], view)
    _motion_errors(axes[2, 0], view)
    _force_errors(axes[2, 1], view)
    for draw, ax in zip(panels, axes[3:].flat, strict=False):
        draw(ax, recording, view.rows)
    for ax in axes.flat:
        ax.margins(x=0.0)
        if ax in axes[-1]:
            ax.set_xlabel("time [s]")
    if len(panels) % 2:
        axes[-1, 1].remove()
        axes[-2, 1].tick_params(labelbottom=True)
        axes[-2, 1].set_xlabel("time [s]")
    figure.suptitle(_title(recording), x=0.01, ha="left", fontsize=12.0, fontweight="bold")


def _draw_arms(figure: Any, recording: Recording) -> None:
    """Draw arms that hold nothing: how far their joints move, and what holds them up."""
    view = _View(recording)
    moved, torques = figure.subplots(1, 2)
    joints = view.column("joint_position")
    for i, (color, label) in enumerate(_colors_of_joints(recording)):
        moved.plot(view.time, joints[:, i] - joints[0, i], color=color, label=label)
    moved.set_title("Joints, from their start")
    moved.set_ylabel("[rad], [m]")
    legend_above(moved, len(recording.get("arms")))
    _torques(torques, view)
    for ax in (moved, torques):
        ax.margins(x=0.0)
        ax.set_xlabel("time [s]")
    figure.suptitle(_title(recording), x=0.01, ha="left", fontsize=12.0, fontweight="bold")


def _colors_of_joints(recording: Recording) -> Iterator[tuple[str, str | None]]:
    """Yield the colour of each joint's arm; with the first joint of each arm the arm's name."""
    counts = recording.get("arm_joints")
    for i, (arm, count) in enumerate(zip(recording.get("arms"), counts, strict=True)):
        for joint in range(count):
            yield _ARMS[i % len(_ARMS)], None if joint else arm


def _rows(panels: Sequence[object]) -> int:
    """Return how many rows of two panels a figure has."""
    return 3 + (len(panels) + 1) // 2


class _View:
    """The rows of a recording that are drawn."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        stride = -(-len(recording) // _MAX_POINTS)
        self.rows = slice(None, None, max(stride, 1))
        self.time = self.of(recording[TICK]) * recording.get("period_s")

    def of(self, values: Array) -> Array:
        """Return the drawn rows of values over all ticks."""
        return values[self.rows]

    def column(self, name: str) -> Array:
        """Return the drawn rows of a column."""
        return self.of(self.recording[name])


def _position(ax: Any, view: _View) -> None:
    true, wanted = view.column("object_pose"), view.column("reference_pose")
    start = wanted[0, :3]
    moved = [values[:, :3] - start for values in (true, wanted)]
    small = max(float(np.nanmax(np.abs(values), initial=0.0)) for values in moved) < _SMALL
    for i, name in enumerate("xyz"):
        was, to_be = (values[:, i] * (1e3 if small else 1.0) for values in moved)
        ax.plot(view.time, was, color=XYZ[i], label=name)
        _reference(ax, view.time, to_be, first=i == 2)
    ax.set_title("Object position, from its start")
    ax.set_ylabel("[mm]" if small else "[m]")
    legend_above(ax, 4)


def _orientation(ax: Any, view: _View) -> None:
    true, wanted = view.column("object_pose")[:, 3:], view.column("reference_pose")[:, 3:]
    start = conjugate(wanted[0])
    turned = [np.degrees(_continuous(rotation_vector(product(q, start)))) for q in (true, wanted)]
    for i, name in enumerate("xyz"):
        ax.plot(view.time, turned[0][:, i], color=XYZ[i], label=name)
        _reference(ax, view.time, turned[1][:, i], first=i == 2)
    ax.set_title("Object orientation, rotation vector from its start")
    ax.set_ylabel("[degrees]")
    legend_above(ax, 4)


def _internal_force(ax: Any, view: _View) -> None:
    true, wanted = view.column("internal_force"), view.column("reference_internal_force")
    if "second_pose" in view.recording:
        _joint_force(ax, view, true, wanted)
        return
    squeezed, turning = squeezes(view.recording), moments(view.recording)
    ax.set_title("Internal force, squeeze highlighted" if squeezed else "Internal force")
    ax.set_ylabel("[N], [N m]")
    named = set()
    for i in range(true.shape[1]):
        if i in squeezed:
            continue
        name = "moments" if turning[i] else "other forces"
        color = GREY if turning[i] else "#C7A252"
        label = name if name not in named and squeezed else None
        named.add(name)
        ax.plot(view.time, true[:, i], color=color, linewidth=0.9, label=label)
    for i in squeezed:
        label = "squeeze" if i == squeezed[0] else None
        ax.plot(view.time, true[:, i], color=BLUE, linewidth=1.8, label=label)
        _reference(ax, view.time, wanted[:, i], first=i == squeezed[0])
    legend_above(ax, 4)


def _joint_force(ax: Any, view: _View, true: Array, wanted: Array) -> None:
    """Draw the force in the joint of an object of two parts, moments broken."""
    turning = moments(view.recording)
    for i, name in enumerate(view.recording.get("internal_forces")):
        style = (0, (4, 1.5)) if turning[i] else "-"
        color = XYZ["xyz".index(name[-1])]
        ax.plot(view.time, true[:, i], color=color, linestyle=style, label=name)
        _reference(ax, view.time, wanted[:, i], first=i == len(turning) - 1)
    ax.set_title("Force in the object's joint")
    ax.set_ylabel("[N], [N m]")
    legend_above(ax, 4)


def _torques(ax: Any, view: _View) -> None:
    recording = view.recording
    fractions = 100.0 * view.of(torque_fractions(recording) * np.sign(recording["applied_torque"]))
    joints, arms = recording.get("joints"), recording.get("arms")
    largest = np.nan_to_num(np.abs(fractions), nan=-1.0).max(axis=0, initial=-1.0)
    top = int(largest.argmax())
    for i, (color, name) in enumerate(_colors_of_joints(recording)):
        ax.plot(view.time, fractions[:, i], color=color, linewidth=0.9, alpha=0.55, label=name)
    ax.plot(
        view.time,
        fractions[:, top],
        color=INK,
        linewidth=1.8,
        label=f"{joints[top]}, up to {largest[top]:.0f} %",
    )
    for bound in (-100.0, 100.0):
        ax.axhline(bound, color=VERMILION, linewidth=1.0, linestyle=(0, (5, 3)))
    reach = max(110.0, 1.1 * float(largest.max(initial=0.0)))
    ax.set_ylim(-reach, reach)
    ax.set_title("Joint torques, part of their limits")
    ax.set_ylabel("[%]")
    legend_above(ax, len(arms) + 1)


def _motion_errors(ax: Any, view: _View) -> None:
    recording = view.recording
    errors = [
        Error(
            1e3 * position_error(recording),
            "position [mm]",
            "object_position_error_max_m",
            "object_position_error_settled_m",
            1e3,
        ),
        Error(
            np.degrees(orientation_error(recording)),
            "orientation [degrees]",
            "object_orientation_error_max_deg",
            "object_orientation_error_settled_deg",
        ),
    ]
    error_panel(ax, recording, view.rows, "Errors of the object's pose", "[mm], [degrees]", errors)


def _force_errors(ax: Any, view: _View) -> None:
    force, moment = internal_force_errors(view.recording)
    errors = [
        Error(force, "force [N]", "internal_force_error_max_n", "internal_force_error_settled_n"),
        Error(moment, "moment [N m]", "", "internal_moment_error_settled_nm"),
    ]
    title = "Errors of the internal force"
    error_panel(ax, view.recording, view.rows, title, "[N], [N m]", errors)


def _reference(ax: Any, time: Array, values: Array, *, first: bool) -> None:
    """Draw a reference as a wide pale band, in which the true line shows where it stays."""
    label = "reference" if first else None
    ax.plot(
        time, values, color=BAND, linewidth=5.0, solid_capstyle="butt", zorder=1.5, label=label
    )


def _continuous(vectors: Array) -> Array:
    """Return rotation vectors (N, 3) with those beyond half a turn kept on the way they came."""
    result = vectors.copy()
    for i in range(1, len(result)):
        angle = np.linalg.norm(result[i])
        if angle > 1e-9 and np.linalg.norm(result[i] - result[i - 1]) > np.pi:
            result[i] *= 1.0 - 2.0 * np.pi / angle
    return result


def _title(recording: Recording) -> str:
    joints, arms = len(recording.get("joints")), len(recording.get("arms"))
    plant = {"engine": "own engine", "mujoco": "MuJoCo"}.get(recording.get("plant"), "")
    rate = 1.0 / recording.get("period_s")
    return (
        f"{recording.get('scenario')}: {arms} arms with {joints} joints at {rate:g} Hz, "
        f"plant: {plant}"
    )


_COLORS = (BLUE, ORANGE, GREEN, INK)


def contact_panels(recording: Recording) -> list[Callable[[Any, Recording, slice], None]]:
    """Return what draws each panel for which there is something to draw."""
    panels: list[Callable[[Any, Recording, slice], None]] = []
    if "contact_force" in recording and _touched(recording):
        panels.append(contact_force)
    if "holding_force" in recording:
        panels += [holding_force, holding_errors]
    if "slip_margin" in recording:
        panels.append(slip)
    return panels


def holding_force(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw each force and moment on hinges and lines, true and wanted."""
    ax.set_title("Force and moment on what holds the object")
    ax.set_ylabel("[N], [N m]")
    time = _time(recording)[rows]
    wanted, drawn = None, 0
    for one in holdings(recording):
        style = "-" if one.unit == "N" else (0, (3, 2))
        for i in range(one.force.shape[1]):
            color = MANY[drawn % len(MANY)]
            drawn += 1
            label = "wanted" if wanted is None else None
            (wanted,) = ax.plot(
                time, one.wanted[rows, i], color=BAND, linewidth=5.0, zorder=1.5, label=label
            )
            ax.plot(
                time,
                one.force[rows, i],
                color=color,
                linestyle=style,
                linewidth=1.1,
                label=f"{one.name} {one.axes[i]} [{one.unit}]",
            )
    legend_above(ax, 3, rows=2)


def holding_errors(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw how far forces and moments on hinges and lines are from what was wanted."""
    errors = [
        Error(
            error,
            f"{what} [{unit}]",
            f"holding_{what}_error_max_{short}",
            f"holding_{what}_error_settled_{short}",
        )
        for what, unit, short in (("force", "N", "n"), ("moment", "N m", "nm"))
        if (error := holding_error(recording, unit)) is not None
    ]
    error_panel(ax, recording, rows, "Errors of what is exerted on it", "[N], [N m]", errors)


def contact_force(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw forces on surfaces, true and wanted, the time in which force is controlled shaded."""
    ax.set_title("Force on surfaces, time of force control shaded")
    ax.set_ylabel("[N]")
    time = _time(recording)
    force, first = recording["contact_force"], recording.get("surface_rows")
    wanted, touched = recording["reference_contact_force"], recording["touched"]
    named = False
    held = _held(recording)
    for i, name in enumerate(recording.get("surfaces")):
        if name in held:
            continue
        color = _COLORS[i % len(_COLORS)]
        if wanted[:, first[i]].any():
            label = None if named else "wanted"
            named = True
            ax.plot(
                time[rows],
                wanted[rows, first[i]],
                color=BAND,
                linewidth=5.0,
                zorder=1.5,
                label=label,
            )
        ax.plot(time[rows], force[rows, i], color=color, linewidth=1.1, label=name)
    spells = np.flatnonzero(np.diff(touched.any(axis=1).astype(int), prepend=0, append=0))
    for begin, end in spells.reshape(-1, 2):
        span = time[begin], time[min(end, len(time) - 1)]
        ax.axvspan(*span, color=PALE, zorder=0, linewidth=0.0)
    legend_above(ax, 4)


def slip(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw what the slip monitor expects, and what slipped."""
    ax.set_title("Slip: margin that the monitor expects, and what slid")
    ax.set_ylabel("[N], [mm]")
    time, margin = _time(recording), recording["slip_margin"]
    shown = np.where(np.abs(margin) < 1e3, margin, np.nan)  # others are those of no contact
    contacts = recording.metadata.get("slip_contacts", range(1, margin.shape[1] + 1))
    for i in range(margin.shape[1]):
        # Equal ones lie on each other: the later ones leave gaps.
        style = "-" if i == 0 else (i, (3, 2))
        ax.plot(
            time[rows],
            shown[rows, i],
            color=_COLORS[i % 4],
            linestyle=style,
            linewidth=1.2,
            label=f"margin {contacts[i]} [N]",
        )
    slid = [recording[name] for name in ("grasp_slip", "surface_slip") if name in recording]
    none = np.zeros((len(recording), 1))
    largest = 1e3 * np.concatenate([none, *slid], axis=1).max(axis=1)
    top = float(np.nanmax(shown, initial=1.0))
    ax.plot(
        time[rows], np.where(largest < 2.0 * top, largest, np.nan)[rows],
        color=VERMILION, linewidth=1.6, label="slid [mm]",
    )  # fmt: skip
    ax.axhline(0.0, color=VERMILION, linewidth=1.0, linestyle=(0, (5, 3)))
    legend_above(ax, 3)


def _held(recording: Recording) -> set[str]:
    """Return the names of hinges and lines."""
    return {name for name, *_ in recording.metadata.get("holding_rows", [])}


def _touched(recording: Recording) -> list[str]:
    """Return the names of the other surfaces."""
    held = _held(recording)
    return [name for name in recording.get("surfaces") if name not in held]


def _time(recording: Recording) -> Array:
    return np.asarray(recording["tick"] * recording.get("period_s"))
