# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A report in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that say how a run went."""
    verdict = "good" if report["ok"] else "NOT GOOD"
    yield f"{report['scenario']} with the plant {report['plant']!r}: {verdict}"
    f = _Figures(report)
    yield (
        f"  object         {f('object_position_error_max_m', 1e3)} mm from the reference at most, "
        f"{f('object_position_error_settled_m', 1e3)} mm and "
        f"{f('object_orientation_error_settled_deg')} degrees at rest"
    )
    squeeze = report.get("squeeze_range_n")
    force = (
        f"{f('internal_force_error_settled_n')} N and "
        f"{f('internal_moment_error_settled_nm')} N m from the reference at rest"
    )
    if squeeze:
        force += f"; squeeze {squeeze[0]:.1f} to {squeeze[1]:.1f} N"
    if report.get("added_internal_force_max_n"):
        force += f"; control added {f('added_internal_force_max_n')} N at most"
    yield f"  internal force {force}"
    if report.get("contact_force_max_n") is not None:
        yield (
            f"  on surfaces    {f('contact_force_max_n')} N at most; off by "
            f"{f('contact_force_error_settled_fraction', 100.0)} % at rest and "
            f"{f('contact_force_error_moving_fraction', 100.0)} % moving; touches settle in "
            f"{f('touch_settling_max_s')} s"
        )
    if report.get("holding_force_max_n") is not None:
        yield (
            f"  held in place  {f('holding_force_max_n')} N at most; off by "
            f"{f('holding_force_error_max_n')} N at most and "
            f"{f('holding_force_error_settled_n')} N at rest"
        )
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


class _Figures:
    """Figures of a report as short texts."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._report = report

    def __call__(self, name: str, scale: float = 1.0) -> str:
        value = self._report.get(name)
        return "?" if value is None else f"{scale * value:.3g}"
