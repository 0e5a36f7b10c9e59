# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of a run: object and internal force against their references, torques, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.app.pictures.figures import (
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
    legend_above,
    write_figure,
)
from robot_dynamics.app.recordings.metrics import (
    holding_error,
    holdings,
    internal_force_errors,
    moments,
    spells,
    squeezes,
)
from robot_dynamics.app.recordings.phases import recorded_phases
from robot_dynamics.app.recordings.recording import TICK, Recording, RecordingError
from robot_dynamics.app.recordings.tracking import (
    orientation_error,
    position_error,
    torque_fractions,
)
from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector

_ARMS = (BLUE, ORANGE, GREEN, VERMILION)
_CONTACTS = (BLUE, ORANGE, GREEN, INK)
_ERRORS = (BLUE, ORANGE)
_NOTHING = 1e-12  # smaller values are not drawn
_DECADES = 1e-6  # of the largest value: smaller values are below the axis
_SMALL = 0.01  # m: smaller motions are drawn in millimetres
_MAX_POINTS = 4000  # of a line; more cannot be seen and make large files


def plot_run(recording: Recording, path: str | Path) -> Path:
    """Write the figure of a run.

    Args:
        recording: Both sides, merged. The controller's side alone is drawn with its estimates.
        path: The file: .png, .pdf, .svg or another format of Matplotlib.

    Raises:
        PlotError: If Matplotlib is missing, or the file cannot be written.
        RecordingError: If the recording lacks a column of the figure.
    """
    recording = with_estimates(recording)
    holds_object = recording.metadata.get("holds_object", True)
    height = 3.0 * _rows(contact_panels(recording)) if holds_object else 4.0
    return write_figure(path, (11.0, height), lambda figure: _draw(figure, recording))


# Estimates in place of true values, which only a simulated plant has.
_ESTIMATES = {
    "object_pose": "estimated_pose",
    "internal_force": "estimated_internal_force",
    "applied_torque": "commanded_torque",
}
_DRAWN = (*_ESTIMATES, "reference_pose", "reference_internal_force")


def with_estimates(recording: Recording) -> Recording:
    """Return the recording with estimates instead of missing true values.

    Raises:
        RecordingError: If a true value and its estimate are both missing.
    """
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
    view = View(recording)
    if not recording.metadata.get("holds_object", True):
        panels = panels_of(recording)
        axes = figure.subplots(1, 2)
    else:
        errors = [_motion_errors, _force_errors]
        panels = [*_MOTION_PANELS, *errors, *contact_panels(recording)]
        axes = figure.subplots(_rows(contact_panels(recording)), 2, sharex=True)
    for draw, ax in zip(panels, axes.flat, strict=False):
        draw(ax, view)
    stop = recording.metadata.get("fault_time_s")
    for ax in axes.flat:
        ax.margins(x=0.0)
        if stop is not None and ax.has_data():
            ax.axvline(stop, color=INK, linewidth=1.0, linestyle=":", gid="stop")
        if ax in axes.flat[-2:]:
            ax.set_xlabel("time [s]")
        draw_phases(ax, view, named=ax in axes.flat[:2])
    if len(panels) % 2:
        axes[-1, 1].remove()
        axes[-2, 1].tick_params(labelbottom=True)
        axes[-2, 1].set_xlabel("time [s]")
    figure.suptitle(_title(recording), x=0.01, ha="left", fontsize=12.0, fontweight="bold")


def draw_phases(ax: Any, view: View, *, named: bool) -> None:
    """Draw the phases of a task as bands, every other one shaded; with their names if asked."""
    ends = np.append(view.times, view.times[-1] + view.recording.get("period_s"))
    for i, phase in enumerate(recorded_phases(view.recording)):
        begin, end = ends[phase.first], ends[phase.end]
        if i % 2:
            ax.axvspan(begin, end, color=INK, alpha=0.05, zorder=0, linewidth=0.0, gid="phase")
        if named:
            at, within = 0.5 * (begin + end), ax.get_xaxis_transform()
            style = {"color": INK, "fontsize": 7.0, "rotation": 90.0, "ha": "center"}
            ax.text(at, 0.5, phase.name, transform=within, va="center", gid="phase", **style)


def _rows(panels: Sequence[object]) -> int:
    """Return the number of rows of two panels; six panels show the object."""
    return 3 + (len(panels) + 1) // 2


class View:
    """The rows of a recording that are drawn.

    Attributes:
        recording: The recording.
        rows: The rows that are drawn.
        times: Times of all rows [s].
        time: Times of those that are drawn [s].

    Args:
        recording: The recording.
        most: Largest number of rows that are drawn.
    """

    def __init__(self, recording: Recording, most: int = _MAX_POINTS) -> None:
        self.recording = recording
        stride = -(-len(recording) // most)
        self.rows = slice(None, None, max(stride, 1))
        self.times = np.asarray(recording[TICK] * recording.get("period_s"))
        self.time = self.times[self.rows]

    def column(self, name: str) -> Array:
        """Return the drawn rows of a column."""
        return self.recording[name][self.rows]


#: A function that draws a panel.
Panel = Callable[[Any, View], None]


def _title_panel(ax: Any, title: str, unit: str) -> None:
    ax.set_title(title)
    ax.set_ylabel(unit)


def _colors_of_joints(recording: Recording) -> Iterator[tuple[str, str | None]]:
    """Yield the colour of each joint's arm; with the first joint of each arm the arm's name."""
    counts = recording.get("arm_joints")
    for i, (arm, count) in enumerate(zip(recording.get("arms"), counts, strict=True)):
        for joint in range(count):
            yield _ARMS[i % len(_ARMS)], None if joint else arm


def _joint_motion(ax: Any, view: View) -> None:
    joints = view.column("joint_position")
    for i, (color, label) in enumerate(_colors_of_joints(view.recording)):
        ax.plot(view.time, joints[:, i] - joints[0, i], color=color, label=label)
    _title_panel(ax, "Joints, from their start", "[rad], [m]")
    legend_above(ax, len(view.recording.get("arms")))


def _position(ax: Any, view: View) -> None:
    true, wanted = view.column("object_pose"), view.column("reference_pose")
    start = wanted[0, :3]
    moved = [values[:, :3] - start for values in (true, wanted)]
    small = max(float(np.nanmax(np.abs(values), initial=0.0)) for values in moved) < _SMALL
    scale = 1e3 if small else 1.0
    _true_and_wanted(ax, view.time, *(scale * values for values in moved))
    _title_panel(ax, "Object position, from its start", "[mm]" if small else "[m]")
    legend_above(ax, 4)


def _orientation(ax: Any, view: View) -> None:
    true, wanted = view.column("object_pose")[:, 3:], view.column("reference_pose")[:, 3:]
    start = conjugate(wanted[0])
    turned = [np.degrees(_continuous(rotation_vector(product(q, start)))) for q in (true, wanted)]
    _true_and_wanted(ax, view.time, *turned)
    _title_panel(ax, "Object orientation, rotation vector from its start", "[degrees]")
    legend_above(ax, 4)


def _true_and_wanted(ax: Any, time: Array, true: Array, wanted: Array) -> None:
    """Draw the components x, y and z of vectors (N, 3) over their references."""
    for i, name in enumerate("xyz"):
        ax.plot(time, true[:, i], color=XYZ[i], label=name)
        _reference(ax, time, wanted[:, i], "reference" if i == 2 else None)


def _internal_force(ax: Any, view: View) -> None:
    true, wanted = view.column("internal_force"), view.column("reference_internal_force")
    if "second_pose" in view.recording:
        _joint_force(ax, view, true, wanted)
        return
    turning = moments(view.recording)
    squeezed = squeezes(view.recording.get("internal_forces"))
    title = "Internal force, squeeze highlighted" if squeezed else "Internal force"
    _title_panel(ax, title, "[N], [N m]")
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
        first = i == squeezed[0]
        label = "squeeze" if first else None
        ax.plot(view.time, true[:, i], color=BLUE, linewidth=1.8, label=label)
        _reference(ax, view.time, wanted[:, i], "reference" if first else None)
    legend_above(ax, 4)


def _joint_force(ax: Any, view: View, true: Array, wanted: Array) -> None:
    """Draw the force in the joint of an object of two parts, moments broken."""
    turning = moments(view.recording)
    for i, name in enumerate(view.recording.get("internal_forces")):
        style = (0, (4, 1.5)) if turning[i] else "-"
        color = XYZ["xyz".index(name[-1])]
        ax.plot(view.time, true[:, i], color=color, linestyle=style, label=name)
        last = i == len(turning) - 1
        _reference(ax, view.time, wanted[:, i], "reference" if last else None)
    _title_panel(ax, "Force in the object's joint", "[N], [N m]")
    legend_above(ax, 4)


def _torques(ax: Any, view: View) -> None:
    recording = view.recording
    fractions = 100.0 * (torque_fractions(recording) * np.sign(recording["applied_torque"]))
    fractions = fractions[view.rows]
    joints, arms = recording.get("joints"), recording.get("arms")
    largest = np.nan_to_num(np.abs(fractions), nan=-1.0).max(axis=0, initial=-1.0)
    top = int(largest.argmax())
    for i, (color, name) in enumerate(_colors_of_joints(recording)):
        ax.plot(view.time, fractions[:, i], color=color, linewidth=0.9, alpha=0.55, label=name)
    label = f"{joints[top]}, up to {largest[top]:.0f} %"
    ax.plot(view.time, fractions[:, top], color=INK, linewidth=1.8, label=label)
    for bound in (-100.0, 100.0):
        _bound(ax, bound)
    reach = max(110.0, 1.1 * float(largest.max(initial=0.0)))
    ax.set_ylim(-reach, reach)
    _title_panel(ax, "Joint torques, part of their limits", "[%]")
    legend_above(ax, len(arms) + 1)


def _motion_errors(ax: Any, view: View) -> None:
    position = 1e3 * position_error(view.recording)
    orientation = np.degrees(orientation_error(view.recording))
    errors = [
        _error(position, "position [mm]", "object_position_error", "m", 1e3),
        _error(orientation, "orientation [degrees]", "object_orientation_error", "deg"),
    ]
    error_panel(ax, view, "Errors of the object's pose", "[mm], [degrees]", errors)


def _force_errors(ax: Any, view: View) -> None:
    force, moment = internal_force_errors(view.recording)
    errors = [
        _error(force, "force [N]", "internal_force_error", "n"),
        _error(moment, "moment [N m]", "internal_moment_error", "nm"),
    ]
    error_panel(ax, view, "Errors of the internal force", "[N], [N m]", errors)


def _error(values: Array, label: str, stem: str, unit: str, scale: float = 1.0) -> Error:
    """Return an error whose thresholds have names of a common stem."""
    return Error(values, label, f"{stem}_max_{unit}", f"{stem}_settled_{unit}", scale)


class Error(NamedTuple):
    """A positive quantity and its thresholds.

    Attributes:
        values: In each control period (ticks,).
        label: Name and unit.
        threshold_max: Name of the scenario's threshold for all time.
        threshold_settled: Name of its threshold for the time at rest.
        scale: Unit of the thresholds over the unit of the values.
    """

    values: Array
    label: str
    threshold_max: str
    threshold_settled: str
    scale: float = 1.0


def error_panel(ax: Any, view: View, title: str, unit: str, errors: Sequence[Error]) -> None:
    """Draw errors, at most two, with their thresholds, the time at rest shaded.

    Args:
        ax: The axes.
        view: The run.
        title: Of the panel.
        unit: For the axis.
        errors: The errors.
    """
    recording, time = view.recording, view.time
    label: str | None = "reference at rest"
    for begin, end in recording.get("settled_intervals_s"):
        ax.axvspan(begin, end, color=PALE, zorder=0, linewidth=0.0, label=label)
        label = None
    ax.set_yscale("log")
    lowest, highest = np.inf, 0.0
    spans: dict[str, list[Any]] = {
        "threshold_max": [[float(time[0]), float(time[-1])]] if len(time) else [],
        "threshold_settled": recording.get("settled_intervals_s"),
    }
    with_thresholds = False
    for error, color in zip(errors, _ERRORS, strict=False):
        values = error.values[view.rows]
        if not values.any():  # as the moments of a joint that has none
            continue
        ax.plot(time, np.maximum(values, _NOTHING), color=color, linewidth=1.1, label=error.label)
        positive = values[np.isfinite(values) & (values > _NOTHING)]
        if positive.size:
            # The first instants, where everything is exact, would take up half of the height.
            lowest = min(lowest, float(np.quantile(positive, 0.03)))
            highest = max(highest, float(positive.max()))
        for kind, intervals in spans.items():
            bound = recording.get("acceptance").get(getattr(error, kind))
            if bound is None:
                continue
            for interval in intervals:
                with_thresholds = True
                height = [error.scale * bound] * 2
                ax.plot(
                    interval, height, color=color, linewidth=1.0, linestyle=(0, (5, 3)), alpha=0.8
                )
    bottom = 0.5 * max(lowest, _DECADES * highest)
    ax.set_ylim(bottom=bottom if np.isfinite(bottom) else _NOTHING)
    ax.set_title(title + (", their thresholds dashed" if with_thresholds else ""))
    ax.set_ylabel(unit)
    legend_above(ax, 3)


_MOTION_PANELS: list[Panel] = [_position, _orientation, _internal_force, _torques]


def panels_of(recording: Recording) -> list[Panel]:
    """Return the panels of a run, without those of errors."""
    if not recording.metadata.get("holds_object", True):
        return [_joint_motion, _torques]
    left_out = {holding_errors}
    if not recording["internal_force"].shape[1]:  # as on topics
        left_out.add(_internal_force)
    return [draw for draw in (*_MOTION_PANELS, *contact_panels(recording)) if draw not in left_out]


def _reference(ax: Any, time: Array, values: Array, label: str | None) -> Any:
    """Draw a reference as a wide pale band, in which the true line shows where it stays."""
    style = {"color": BAND, "linewidth": 5.0, "solid_capstyle": "butt", "zorder": 1.5}
    return ax.plot(time, values, label=label, **style)


def _bound(ax: Any, height: float) -> None:
    ax.axhline(height, color=VERMILION, linewidth=1.0, linestyle=(0, (5, 3)))


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
    stop = recording.metadata.get("fault_time_s")
    stopped = "" if stop is None else f", stopped at {stop:.3g} s (dotted)"
    return (
        f"{recording.get('scenario')}: {arms} arms with {joints} joints at {rate:g} Hz, "
        f"plant: {plant}{stopped}"
    )


def contact_panels(recording: Recording) -> list[Panel]:
    """Return the panels of contacts for which the recording has columns."""
    panels: list[Panel] = []
    held = held_surfaces(recording)
    if "contact_force" in recording and not held.issuperset(recording.get("surfaces")):
        panels.append(contact_force)
    if "holding_force" in recording:
        panels.append(holding_force)
        if "reference_contact_force" in recording:
            panels.append(holding_errors)
    if "slip_margin" in recording:
        panels.append(slip)
    return panels


def holding_force(ax: Any, view: View) -> None:
    """Draw each force and moment on hinges and lines, true and wanted."""
    _title_panel(ax, "Force and moment on what holds the object", "[N], [N m]")
    drawn = 0
    for one in holdings(view.recording):
        style = "-" if one.unit == "N" else (0, (3, 2))
        for i in range(one.force.shape[1]):
            color = MANY[drawn % len(MANY)]
            wanted = "wanted" if drawn == 0 else None
            drawn += 1
            if one.wanted is not None:
                _reference(ax, view.time, one.wanted[view.rows, i], wanted)
            label = f"{one.name} {one.axes[i]} [{one.unit}]"
            force = one.force[view.rows, i]
            ax.plot(view.time, force, color=color, linestyle=style, linewidth=1.1, label=label)
    legend_above(ax, 3, rows=2)


def holding_errors(ax: Any, view: View) -> None:
    """Draw the errors of forces and moments on hinges and lines."""
    errors = [
        _error(error, f"{what} [{unit}]", f"holding_{what}_error", short)
        for what, unit, short in (("force", "N", "n"), ("moment", "N m", "nm"))
        if (error := holding_error(view.recording, unit)) is not None
    ]
    error_panel(ax, view, "Errors of what is exerted on it", "[N], [N m]", errors)


def contact_force(ax: Any, view: View) -> None:
    """Draw forces on surfaces, true and wanted, the time in which force is controlled shaded."""
    recording, times, force = view.recording, view.times, view.column("contact_force")
    controlled = "reference_contact_force" in recording
    shaded = ", time of force control shaded" if controlled else ""
    _title_panel(ax, f"Force on surfaces{shaded}", "[N]")
    first, held = recording.get("surface_rows"), held_surfaces(recording)
    label: str | None = "wanted"
    for i, name in enumerate(recording.get("surfaces")):
        if name in held:
            continue
        if controlled and recording["reference_contact_force"][:, first[i]].any():
            _reference(ax, view.time, view.column("reference_contact_force")[:, first[i]], label)
            label = None
        color = _CONTACTS[i % len(_CONTACTS)]
        ax.plot(view.time, force[:, i], color=color, linewidth=1.1, label=name)
    touched = recording["touched"] if controlled else np.zeros((len(recording), 0))
    for begin, end in spells(np.asarray(touched.any(axis=1))):
        span = times[begin], times[min(end, len(times) - 1)]
        ax.axvspan(*span, color=PALE, zorder=0, linewidth=0.0)
    legend_above(ax, 4)


def slip(ax: Any, view: View) -> None:
    """Draw the margin of the slip monitor, and the slip."""
    _title_panel(ax, "Slip: margin that the monitor expects, and what slid", "[N], [mm]")
    recording, margin = view.recording, view.recording["slip_margin"]
    shown = np.where(np.abs(margin) < 1e3, margin, np.nan)  # others are those of no contact
    contacts = recording.metadata.get("slip_contacts", range(1, margin.shape[1] + 1))
    for i in range(margin.shape[1]):
        # Equal lines overlap: the later ones have gaps.
        style = {"linestyle": "-" if i == 0 else (i, (3, 2)), "color": _CONTACTS[i % 4]}
        label = f"margin {contacts[i]} [N]"
        ax.plot(view.time, shown[view.rows, i], linewidth=1.2, label=label, **style)
    slid = [recording[name] for name in ("grasp_slip", "surface_slip") if name in recording]
    none = np.zeros((len(recording), 1))
    largest = 1e3 * np.concatenate([none, *slid], axis=1).max(axis=1)
    top = float(np.nanmax(shown, initial=1.0))
    slid_mm = np.where(largest < 2.0 * top, largest, np.nan)[view.rows]
    ax.plot(view.time, slid_mm, color=VERMILION, linewidth=1.6, label="slid [mm]")
    _bound(ax, 0.0)
    legend_above(ax, 3)


def held_surfaces(recording: Recording) -> set[str]:
    """Return the names of hinges and lines."""
    return {name for name, *_ in recording.metadata.get("holding_rows", [])}
