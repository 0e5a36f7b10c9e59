# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a run, computed from its recording alone, and its summary for people."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics.app.recordings.blocking import blocked_error
from robot_dynamics.app.recordings.metrics import (
    added_internal_forces,
    contact_figures,
    holding_figures,
    internal_force_errors,
    largest,
    pushed_surfaces,
    smallest,
    squeezes,
    touches,
)
from robot_dynamics.app.recordings.phases import phase_figures
from robot_dynamics.app.recordings.recording import TICK, Recording, RecordingError
from robot_dynamics.app.recordings.tracking import (
    effort_limits,
    orientation_error,
    position_error,
    settled,
    torque_fractions,
)
from robot_dynamics.app.scenarios.acceptance import failures as missed_thresholds
from robot_dynamics.arrays import Array
from robot_dynamics.control.gains import PidGains, delay_margin
from robot_dynamics.wording import EFFORT_UNITS

# Columns of the state; their bits make the hash of a run.
_STATE = ("joint_position", "joint_velocity", "object_pose", "object_twist")
_REQUIRED = (
    *_STATE,
    "applied_torque",
    "commanded_torque",
    "internal_force",
    "closure_position",
    "closure_rotation",
    "correction",
    "control_scales",
    "step_time",
    "reference_pose",
    "reference_internal_force",
)
#: Figures that measure the computer and not the run.
OF_COMPUTER = (
    "control_step_median_us",
    "control_step_p99_us",
    "plant_step_median_us",
    "wall_time_s",
    "real_time_factor",
    "start_to_first_torque_s",
)
_NO_FIGURES = ("ticks", "period_s", "duration_s", "ok", "holds_object")
_SETTLED = ("_settled_m", "_settled_deg", "_settled_n", "_settled_nm")
# Our engine passes torques on to the bit; other engines round.
_TORQUE_TOLERANCE = 1e-9  # of the limit


def report_of(recording: Recording) -> dict[str, Any]:
    """Return the figures of a run, and whether it was good.

    Args:
        recording: Of both sides, merged.

    Returns:
        JSON values. `ok` is true if `failures` is empty: every number is finite, no control
        period is missing, the torques applied are those commanded, and the scenario's thresholds
        are kept. A figure that cannot be computed is None, and a failure.

    Raises:
        RecordingError: If columns or metadata are missing altogether.
    """
    for name in _REQUIRED:
        if name not in recording:
            raise RecordingError(f"recording: there is no column {name!r}; was only one side run?")
    figures = {
        **_figures(recording),
        **contact_figures(recording),
        **holding_figures(recording, settled(recording)),
        **phase_figures(recording),
    }
    thresholds = recording.get("acceptance")
    why = partial(_why_missing, recording)
    problems = [*_broken(recording), *missed_thresholds(figures, thresholds, why)]
    return {
        "ok": not problems,
        "failures": problems,
        "warnings": [
            *recording.metadata.get("warnings", []),
            *recording.metadata.get("law_warnings", []),
        ],
        "scenario": recording.get("scenario"),
        "plant": recording.get("plant"),
        "law": recording.metadata.get("law"),
        "holds_object": recording.metadata.get("holds_object", True),
        **figures,
        "acceptance": thresholds,
        "state_hash": state_hash(recording),
        "versions": recording.get("versions"),
    }


def figures_of(report: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the figures of a run that are numbers, None if they could not be computed.

    Times of the computer are left out.

    Args:
        report: See `report_of`.
    """
    return {
        name: value
        for name, value in report.items()
        if name not in (*OF_COMPUTER, *_NO_FIGURES)
        and not name.endswith("_range_n")
        and (value is None or isinstance(value, (int, float)))
    }


def state_hash(recording: Recording) -> str:
    """Return a SHA-256 over all states of a run: equal if and only if every bit is equal."""
    digest = hashlib.sha256()
    for name in _STATE:
        digest.update(np.ascontiguousarray(recording[name], dtype="<f8").tobytes())
    return digest.hexdigest()


def _figures(recording: Recording) -> dict[str, Any]:
    rest = settled(recording)
    blocked = blocked_error(recording)
    position = position_error(recording, blocked)
    orientation = np.degrees(orientation_error(recording, blocked))
    # Without surfaces there is nothing that could block.
    blocked = blocked if recording.metadata.get("surfaces") else blocked[:0]
    force, moment = internal_force_errors(recording)
    added = added_internal_forces(recording)
    closure = np.maximum(recording["closure_position"], recording["closure_rotation"])
    fractions = torque_fractions(recording)
    loaded = np.nan_to_num(fractions, nan=-1.0).max(axis=0, initial=-1.0)
    period, count = recording.get("period_s"), len(recording)
    joints = recording["joint_position"]
    moved = np.abs(joints - joints[:1])
    farthest = int(np.nan_to_num(moved, nan=-1.0).max(axis=0, initial=-1.0).argmax())
    # Older recordings do not state the units.
    units = recording.metadata.get("joint_units", ["rad or m"] * joints.shape[1])
    own_engine = recording.get("plant") == "engine"
    wall = recording.metadata.get("wall_time_s")
    return {
        "ticks": count,
        "period_s": period,
        "duration_s": count * period,
        "object_position_error_max_m": largest(position),
        "object_position_error_settled_m": largest(position[rest]),
        "object_orientation_error_max_deg": largest(orientation),
        "object_orientation_error_settled_deg": largest(orientation[rest]),
        "object_blocked_error_max_m": largest(np.linalg.norm(blocked[:, 3:], axis=1)),
        "object_blocked_error_max_deg": largest(
            np.degrees(np.linalg.norm(blocked[:, :3], axis=1))
        ),
        "object_drift_settled_m": _drift(recording),
        "internal_force_error_max_n": largest(force),
        "internal_force_error_settled_n": largest(force[rest]),
        "internal_moment_error_settled_nm": largest(moment[rest]),
        "added_internal_force_max_n": None if added is None else largest(added[0]),
        "added_internal_moment_max_nm": None if added is None else largest(added[1]),
        "squeeze_range_n": _range(recording, "internal_force"),
        "squeeze_reference_range_n": _range(recording, "reference_internal_force"),
        "joint_motion_max": largest(moved),
        "joint_motion_unit": units[farthest],
        "most_moved_joint": recording.get("joints")[farthest],
        "closure_error_max": largest(closure),
        "closure_estimated_max_m": _largest_norm(recording, "estimated_closure", 3),
        "closure_estimated_max_rad": _largest_norm(recording, "estimated_closure", 0),
        # Other engines have no projection.
        "correction_max": largest(recording["correction"]) if own_engine else None,
        "torque_fraction_of_limit_max": largest(fractions),
        "most_loaded_joint": recording.get("joints")[int(loaded.argmax())],
        "force_scale_min": smallest(recording["control_scales"][:, 0]),
        "motion_scale_min": smallest(recording["control_scales"][:, 1]),
        "control_step_median_us": _quantile(recording["step_time"], 0.5),
        "control_step_p99_us": _quantile(recording["step_time"], 0.99),
        "plant_step_median_us": recording.metadata.get("plant_step_median_us"),
        "wall_time_s": wall,
        "real_time_factor": count * period / wall if wall else None,
        "command_delay_s": recording.get("plant_delay_periods") * period,
        "delay_margin_s": _delay_margin(recording),
        "start_to_first_torque_s": recording.metadata.get("start_to_first_torque_s"),
    }


def _broken(recording: Recording) -> list[str]:
    """Return problems of the recording itself, apart from thresholds."""
    sentences = []
    fault = recording.metadata.get("fault")
    ended_early = recording.metadata.get("task_failure")
    expected_stop = recording.metadata.get("expected_stop", "")
    if ended_early and not (expected_stop and expected_stop in ended_early):
        sentences.append(f"the task ended early, {ended_early}")
    if fault and not (expected_stop and expected_stop in fault):
        sentences.append(f"the controller stopped, {fault}")
    interrupted = recording.metadata.get("interrupted_s")
    unfinished = recording.metadata.get("task_unfinished")
    if unfinished and not fault and not ended_early and interrupted is None:
        sentences.append(f"the run ended before the task was over, in {unfinished}.")
    if expected_stop and not fault and not ended_early and interrupted is None:
        sentences.append(f"the controller did not stop; expected {expected_stop!r}.")
    ticks, expected = recording[TICK], recording.get("ticks")
    if interrupted is not None:
        whole = f" of {expected * recording.get('period_s'):g}" if expected else ""
        sentences.append(f"the run was interrupted after {interrupted:g}{whole} s.")
    if interrupted is not None or expected is None:
        expected = len(ticks)
    if len(ticks) != expected or not np.array_equal(ticks, np.arange(len(ticks))):
        missing = expected - len(np.unique(ticks[(ticks >= 0) & (ticks < expected)]))
        # At most as many as there are precede the first one that is missing.
        absent = np.setdiff1d(np.arange(min(expected, len(ticks) + 1)), ticks)
        first = f", the first of them {int(absent[0])}" if missing else ""
        sentences.append(
            f"{missing} of {expected} control periods are missing or out of order{first}."
        )
    # After a fault numbers may be missing: that follows from it, and would only hide the cause.
    for name, values in () if fault else recording.columns.items():
        finite = np.isfinite(values)
        if not finite.all():
            row = int(np.argmin(finite.reshape(len(values), -1).all(axis=1)))
            sentences.append(f"column {name!r} has a value that is not finite in row {row}.")
    if not np.allclose(recording["time"], ticks * recording.get("period_s"), rtol=0, atol=1e-9):
        sentences.append("column 'time' is not the number of periods times their length.")
    mismatch = _torque_mismatch(recording)
    if mismatch is not None:
        sentences.append(mismatch)
    return sentences


def _why_missing(recording: Recording, name: str) -> str:
    """Return the reason why a figure could not be computed; empty if unknown."""
    if recording.metadata.get("task_failure") or (
        recording.metadata.get("phases") and recording.metadata.get("fault")
    ):
        return "the task ended early"
    if recording.metadata.get("task_unfinished"):
        return "the task was not over"
    if name.endswith(_SETTLED) and not settled(recording).any():
        least = recording.metadata.get("first_settled_s")
        if least is None:
            return ""
        # The last state is one period before the end; rounded up.
        least = math.ceil(100.0 * (least + recording.get("period_s"))) / 100.0
        return (
            "the run ends before the reference has been at rest for "
            f"{recording.get('settle_s'):g} s; expected at least {least:g} s"
        )
    if name.startswith(("contact_", "touch_")):
        if not (pushed_surfaces(recording) > 0.0).any():
            return "no surface was touched"
        if "reference_contact_force" not in recording:
            return f"the law {recording.metadata.get('law')!r} controls no forces on surfaces"
        if not touches(recording):
            return "no surface was touched while a force on it was desired"
    if name == "correction_max" and recording.get("plant") != "engine":
        return f"the plant {recording.get('plant')!r} has no corrections"
    if not len(recording):
        return "nothing was recorded"
    if not all(np.isfinite(values).all() for values in recording.columns.values()):
        return "some of its values are not finite"
    return ""


def _torque_mismatch(recording: Recording) -> str | None:
    """Return a sentence if an applied torque differs from the commanded one.

    The torque applied over a period is the command of its beginning or, with command delay, of so
    many periods earlier. Drives cut it off at their limits.
    """
    later = recording.get("plant_delay_periods") + 1
    command, applied = recording["commanded_torque"][:-later], recording["applied_torque"][later:]
    limits = effort_limits(recording)
    difference = np.abs(np.clip(command, -limits, limits) - applied)
    wrong = difference > _TORQUE_TOLERANCE * np.minimum(limits, 1e9)
    if not wrong.any():
        return None
    row, joint = np.argwhere(wrong)[0]
    units = recording.metadata.get("joint_units")
    unit = EFFORT_UNITS[units[joint]] if units else "N m or N"  # not in older recordings
    return (
        f"joint {recording.get('joints')[joint]!r} got {applied[row, joint]:.4g} {unit} in row "
        f"{row + later}, but {command[row, joint]:.4g} {unit} was commanded."
    )


def _drift(recording: Recording) -> float | None:
    """Return the largest motion of the object while its reference is at rest [m]."""
    times = recording[TICK] * recording.get("period_s")
    error = recording["object_pose"][:, :3] - recording["reference_pose"][:, :3]
    moved = []
    for begin, end in recording.get("settled_intervals_s"):
        inside = np.flatnonzero((times >= begin) & (times <= end))
        if len(inside):
            moved.append(np.linalg.norm(error[inside[-1]] - error[inside[0]]))
    return largest(np.array(moved))


def _largest_norm(recording: Recording, name: str, first: int) -> float | None:
    if name not in recording:
        return None
    values = recording[name]
    parts = values.reshape(len(values), values.shape[1] // 6, 6)[..., first : first + 3]
    return largest(np.linalg.norm(parts, axis=-1))


def _delay_margin(recording: Recording) -> float | None:
    """Return the delay margin of the object's servo [s]; None without a servo."""
    if "object_gains" not in recording.metadata:
        return None
    gains = PidGains(*recording.get("object_gains"))
    return delay_margin(gains, recording.get("period_s"), recording.get("plant_delay_periods"))


def _range(recording: Recording, name: str) -> list[float] | None:
    """Return the least and the largest squeeze [N]; None if it is not defined."""
    squeeze = recording[name][:, squeezes(recording.get("internal_forces"))]
    if not squeeze.size or not np.isfinite(squeeze).all():
        return None
    return [float(squeeze.min()), float(squeeze.max())]


def _quantile(values: Array, fraction: float) -> float | None:
    finite = values[np.isfinite(values)]
    return float(np.quantile(finite, fraction)) if finite.size else None


# Thresholds of the object's motion, and figures of the part of it that surfaces block.
_MOTION = ("object_position", "object_orientation", "object_drift")
_BLOCKED = ("object_blocked_error_max_m", "object_blocked_error_max_deg")
_RESTLESS = "never at rest"


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the summary of a run."""
    verdict = "good" if report["ok"] else "NOT GOOD"
    f = _Figures(report)
    holds = report.get("holds_object") is not False
    if report["ok"] and not report["acceptance"]:
        verdict = "no thresholds set"
    elif report["ok"] and holds and not any(n.startswith(_MOTION) for n in report["acceptance"]):
        verdict += ", but no threshold is stated for the object's motion"
    elif report["ok"] and any(
        report.get(name) and name not in report["acceptance"] for name in _BLOCKED
    ):
        verdict += ", but no threshold is stated for what surfaces block"
    yield f"{report['scenario']} with the plant {report['plant']!r}: {verdict}"
    if holds:
        yield from _of_object(report, f)
    if report.get("phases"):
        yield from _of_task(report, f)
    if report.get("contact_force_max_n") is not None:
        yield f"  on surfaces    {f('contact_force_max_n')} N at most{_touching(f)}"
    if report.get("holding_force_max_n") is not None:
        moments = f.has("holding_moment_max_nm")
        most, off, rest = (
            f(f"holding_force_{what}_n")
            + (f" N and {f(f'holding_moment_{what}_nm')} N m" if moments else " N")
            for what in ("max", "error_max", "error_settled")
        )
        wanted = f.has("holding_force_error_max_n")
        errors = f"; off by {off} at most and {rest} at rest" if wanted else ""
        yield f"  held in place  {most} at most{errors}"
    if report.get("slip_warning_lead_s") is not None:
        slid = " and ".join(
            f"{f(name, 1e3)} mm {where}"
            for name, where in (
                ("grasp_slip_max_m", "in grasps"),
                ("surface_slip_max_m", "on surfaces"),
            )
            if report.get(name)
        )
        late = report["slip_warning_lead_s"] < 0.0
        when = "noticed {} s after" if late else "foreseen {} s before"
        when = when.format(f("slip_warning_lead_s", -1.0 if late else 1.0))
        yield f"  slip           {when} it began" + (f"; {slid} at most" if slid else "")
    yield (
        f"  joints         {f('joint_motion_max')} {report['joint_motion_unit']} from the start "
        f"at most, joint {report['most_moved_joint']}"
    )
    yield (
        f"  torques        {f('torque_fraction_of_limit_max', 100.0)} % of the limit at most, "
        f"joint {report['most_loaded_joint']}"
    )
    if holds:
        tilted = f"; tilted by {f('grasp_tilt_max_deg')} degrees at most"
        tilted = tilted if f.has("grasp_tilt_max_deg") else ""
        yield f"  grasps         closed to {f('closure_error_max')} m and rad{tilted}"
    timed = f.has("plant_step_median_us")
    plant = f", the plant {f('plant_step_median_us')} us" if timed else ""
    yield (
        f"  speed          {f('real_time_factor')} times real time; in each "
        f"{f('period_s', 1e3)} ms control takes {f('control_step_median_us')} us, 99 % within "
        f"{f('control_step_p99_us')} us{plant}"
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
    into = ""
    if report.get("object_blocked_error_max_m") or report.get("object_blocked_error_max_deg"):
        into = (
            f"; surfaces block {f('object_blocked_error_max_m', 1e3)} mm and "
            f"{f('object_blocked_error_max_deg')} degrees more at most"
        )
    yield (
        f"  object         {f('object_position_error_max_m', 1e3)} mm from the reference at most, "
        + (rest if f.has("object_position_error_settled_m") else _RESTLESS)
        + into
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


def _of_task(report: Mapping[str, Any], f: _Figures) -> Iterator[str]:
    """Yield the lines about the phases of a task."""
    times = (f"{one['name']} {one['to_s'] - one['from_s']:.3g} s" for one in report["phases"])
    yield f"  phases         {', '.join(times)}"
    moved = [
        f"{f(name, 1e3)} mm {when}"
        for name, when in (
            ("grasp_displacement_max_m", "as it is grasped"),
            ("release_displacement_max_m", "as it is released"),
        )
        if f.has(name)
    ]
    parts = [f"object moves by {' and '.join(moved)} at most"] if moved else []
    if f.has("put_down_force_max_n"):
        parts.append(f"put down with {f('put_down_force_max_n')} N at most")
    if f.has("place_error_m"):
        off = f"{f('place_error_m', 1e3)} mm and {f('place_error_deg')} degrees"
        parts.append(f"{off} from its place at the end")
    rate = f("phase_torque_rate_max_fraction", 100.0)
    parts.append(f"torques change between phases by {rate} % of the largest rate at most")
    yield f"  task           {'; '.join(parts)}"


def _touching(f: _Figures) -> str:
    """Return the errors of forces on surfaces and the settling time of touches, as text."""
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
        # Three digits, without a power of ten if that is shorter.
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"

    def has(self, name: str) -> bool:
        """Return whether a figure could be computed."""
        return self._report.get(name) is not None
