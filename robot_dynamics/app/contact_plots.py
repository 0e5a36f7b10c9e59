# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Panels of a run whose object touches surfaces or whose grasps may slip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.figures import BAND, BLUE, GREEN, INK, ORANGE, VERMILION
from robot_dynamics.app.recording import Recording

Array = NDArray[np.float64]

_COLORS = (BLUE, ORANGE, GREEN, INK)


def has_contacts(recording: Recording) -> bool:
    """Return whether there is anything to draw."""
    return "grasp_slip" in recording or "contact_force" in recording


def contact_force(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw forces on surfaces, true and wanted, the time in which force is controlled shaded."""
    ax.set_title("Force on surfaces, time of force control shaded")
    ax.set_ylabel("[N]")
    if "contact_force" not in recording:
        _nothing(ax, "touches nothing")
        return
    time = _time(recording)
    force, first = recording["contact_force"], recording.get("surface_rows")
    wanted, touched = recording["reference_contact_force"], recording["touched"]
    for i, name in enumerate(recording.get("surfaces")):
        color = _COLORS[i % len(_COLORS)]
        if wanted[:, first[i]].any():
            ax.plot(time[rows], wanted[rows, first[i]], color=BAND, linewidth=5.0, zorder=1.5)
        ax.plot(time[rows], force[rows, i], color=color, linewidth=1.1, label=name)
    held = np.flatnonzero(np.diff(touched.any(axis=1).astype(int), prepend=0, append=0))
    for begin, end in held.reshape(-1, 2):
        span = time[begin], time[min(end, len(time) - 1)]
        ax.axvspan(*span, color="#EEF3F7", zorder=0, linewidth=0.0)
    ax.legend(ncols=4, loc="best")


def slip(ax: Any, recording: Recording, rows: slice) -> None:
    """Draw what the slip monitor expects, and what slipped."""
    ax.set_title("Slip: margin that the monitor expects, and what slid")
    ax.set_ylabel("[N], [mm]")
    if "slip_margin" not in recording:
        _nothing(ax, "nothing can slip")
        return
    time, margin = _time(recording), recording["slip_margin"]
    shown = np.where(np.abs(margin) < 1e3, margin, np.nan)  # others are those of no contact
    for i in range(margin.shape[1]):
        label = "margin [N]" if i == 0 else None
        ax.plot(time[rows], shown[rows, i], color=_COLORS[i % 4], linewidth=1.2, label=label)
    slid = [recording[name] for name in ("grasp_slip", "surface_slip") if name in recording]
    none = np.zeros((len(recording), 1))
    largest = 1e3 * np.concatenate([none, *slid], axis=1).max(axis=1)
    top = float(np.nanmax(shown, initial=1.0))
    ax.plot(
        time[rows], np.where(largest < 2.0 * top, largest, np.nan)[rows],
        color=VERMILION, linewidth=1.6, label="slid [mm]",
    )  # fmt: skip
    ax.axhline(0.0, color=VERMILION, linewidth=1.0, linestyle=(0, (5, 3)))
    ax.legend(ncols=3, loc="best")


def _time(recording: Recording) -> Array:
    return np.asarray(recording["tick"] * recording.get("period_s"))


def _nothing(ax: Any, why: str) -> None:
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", color="#9A9A9A")
    ax.set_yticks([])
