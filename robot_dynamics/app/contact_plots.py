# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Panels of a run whose object touches surfaces or whose grasps may slip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.error_panel import Error, error_panel
from robot_dynamics.app.figures import (
    BAND,
    BLUE,
    GREEN,
    INK,
    MANY,
    ORANGE,
    PALE,
    VERMILION,
    legend_above,
)
from robot_dynamics.app.holding_figures import holding_error, holdings
from robot_dynamics.app.recording import Recording

Array = NDArray[np.float64]

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
