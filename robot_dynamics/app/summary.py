# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A report in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_RESTLESS = "never at rest"


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that say how a run went."""
    verdict = "good" if report["ok"] else "NOT GOOD"
    yield f"{report['scenario']} with the plant {report['plant']!r}: {verdict}"
    f = _Figures(report)
    holds = report.get("law") != "gravity"
    if holds:
        yield from _of_object(report, f)
    if report.get("contact_force_max_n") is not None:
        yield f"  on surfaces    {f('contact_force_max_n')} N at most{_touching(f)}"
    if report.get("holding_force_max_n") is not None:
        moments = f.has("holding_moment_max_nm")
        most, off, rest = (
            f(f"holding_force_{what}_n")
            + (f" N and {f(f'holding_moment_{what}_nm')} N m" if moments else " N")
            for what in ("max", "error_max", "error_settled")
        )
        yield f"  held in place  {most} at most; off by {off} at most and {rest} at rest"
    if report.get("slip_warning_lead_s") is not None:
        slid = " and ".join(
            f"{f(name, 1e3)} mm {where}"
            for name, where in (
                ("grasp_slip_max_m", "in grasps"),
                ("surface_slip_max_m", "on surfaces"),
            )
            if report.get(name)
        )
        yield (
            f"  slip           foreseen {f('slip_warning_lead_s')} s before it began"
            + (f"; {slid} at most" if slid else "")
        )
    yield f"  joints         {f('joint_motion_max')} rad or m from where they started at most"
    yield (
        f"  torques        {f('torque_fraction_of_limit_max', 100.0)} % of the limit at most, "
        f"joint {report['most_loaded_joint']}"
    )
    if holds:
        yield f"  grasps         closed to {f('closure_error_max')} m and rad"
    yield (
        f"  control step   {f('control_step_median_us')} us, 99 % within "
        f"{f('control_step_p99_us')} us; {f('real_time_factor')} times as fast as real time"
    )
    if report.get("delay_margin_s") is not None:  # without a servo there is none
        yield (
            f"  delay          {f('command_delay_s', 1e3)} ms in the loop, "
            f"{f('delay_margin_s', 1e3)} ms more to the limit of stability"
        )


def _of_object(report: Mapping[str, Any], f: _Figures) -> Iterator[str]:
    """Yield the lines about the object and the force within it."""
    rest = (
        f"{f('object_position_error_settled_m', 1e3)} mm and "
        f"{f('object_orientation_error_settled_deg')} degrees at rest"
    )
    yield (
        f"  object         {f('object_position_error_max_m', 1e3)} mm from the reference at most, "
        + (rest if f.has("object_position_error_settled_m") else _RESTLESS)
    )
    squeeze = report.get("squeeze_range_n")
    force = (
        f"{f('internal_force_error_settled_n')} N and "
        f"{f('internal_moment_error_settled_nm')} N m from the reference at rest"
        if f.has("internal_force_error_settled_n")
        else _RESTLESS
    )
    if squeeze:
        force += f"; squeeze {_unsigned(squeeze[0])} to {_unsigned(squeeze[1])} N"
    if report.get("added_internal_force_max_n"):
        force += f"; control added {f('added_internal_force_max_n')} N at most"
    yield f"  internal force {force}"


def _touching(f: _Figures) -> str:
    """Return how far off forces on surfaces were, as far as there were any."""
    off = " and ".join(
        f"{f(name, 100.0)} % {when}"
        for name, when in (
            ("contact_force_error_settled_fraction", "at rest"),
            ("contact_force_error_moving_fraction", "moving"),
        )
        if f.has(name)
    )
    settled = f"touches settle in {f('touch_settling_max_s')} s"
    words = [f"off by {off}"] if off else []
    words += [settled] if f.has("touch_settling_max_s") else []
    return "".join(f"; {word}" for word in words)


def _unsigned(value: float) -> str:
    """Return a figure with one decimal, and no sign before zero."""
    return f"{round(value, 1) + 0.0:.1f}"


class _Figures:
    """Figures of a report as short texts."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._report = report

    def __call__(self, name: str, scale: float = 1.0) -> str:
        value = self._report.get(name)
        if value is None:
            return "?"
        value = scale * value
        # Three digits, without a power of ten where that is shorter.
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"

    def has(self, name: str) -> bool:
        """Return whether a figure could be computed."""
        return self._report.get(name) is not None
