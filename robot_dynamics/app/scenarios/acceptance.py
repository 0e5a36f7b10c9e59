# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Thresholds for the figures of a run, which decide whether it is good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from math import isclose
from typing import Any

from robot_dynamics.simulation import EngineName
from robot_dynamics.wording import apart

_ROUNDING = 1e-9  # relative deviation from a bound that is none


def _threshold(unit: str) -> Any:
    """Return a field for an upper bound that may be left out."""
    return field(default=None, metadata={"minimum": 0.0, "unit": unit})


@dataclass(frozen=True)
class ThresholdSettings:
    """Upper bounds of the report's figures of the same name; omitted ones are not checked.

    Attributes:
        object_position_error_max_m: Distance from the reference at any time [m], without the part
            that surfaces block, as in the three figures that follow: the least motion that brings
            the reference out of true walls and onto true lines and hinges. Friction blocks
            nothing.
        object_position_error_settled_m: The same while the reference is at rest [m].
        object_orientation_error_max_deg: Angle from the reference at any time [degrees].
        object_orientation_error_settled_deg: The same while the reference is at rest [degrees].
        object_blocked_error_max_m: Displacement of the object's origin that surfaces block, at
            any time [m].
        object_blocked_error_max_deg: Rotation that they block, at any time [degrees].
        internal_force_error_settled_n: Force part of the internal force's error at rest [N].
        internal_moment_error_settled_nm: Its moment part [N m].
        added_internal_force_max_n: Correction of the desired internal force by control, at any
            time [N].
        added_internal_moment_max_nm: Its moment part [N m].
        object_drift_settled_m: Motion of the object while the reference is at rest [m].
        joint_motion_max: Largest distance of a joint from its start [rad or m], for arms that must
            stay.
        closure_error_max: Gap of any grasp, the larger of position [m] and rotation [rad].
        correction_max: The largest correction that kept the loops closed [m or rad].
        torque_fraction_of_limit_max: The largest torque over its joint's limit.
        torque_fraction_of_limit_least: Lower bound of the same figure, because arms without load
            prove little.
        contact_force_error_settled_fraction: Error of the force on a surface while the reference
            is at rest, over the desired force; without the 0.3 s after a touch or a change.
        contact_force_error_moving_fraction: The same while the object slides along the surface.
        contact_speed_moving_least: Lower bound of the highest speed along it [m/s].
        contact_force_max_n: Force on any surface at any time [N].
        guide_force_max_n: Force at any time on a surface without a desired force, such as the
            sides of a hole [N].
        guide_force_max_n_least: A lower bound of the same [N].
        holding_force_error_max_n: Error of the force on any hinge or line at any time [N].
        holding_force_error_settled_n: The same while the reference is at rest [N].
        holding_moment_error_max_nm: Error of the moment on any hinge at any time [N m].
        holding_moment_error_settled_nm: The same while the reference is at rest [N m].
        touch_speed_least: Lower bound of the highest speed at a touch [m/s].
        touch_settling_max_s: Time from a touch until its force stays within 5 % [s].
        touch_contacts_max: Number of contacts with a surface, including the first.
        grasp_slip_max_m: Sliding distance of a grasp on the object [m].
        grasp_slip_max_m_least: A lower bound of the same, for scenarios of slipping.
        grasp_tilt_max_deg: Angle between a soft finger and the object's face while they touch
            [degrees]; by default `safety.tilt_limit_deg`.
        surface_slip_max_m: Sliding distance of an object that must stick to a surface [m].
        surface_slip_max_m_least: A lower bound of the same [m].
        slip_margin_min_least: Lower bound of the least slip margin of the monitor.
        slip_warning_lead_s_least: Lower bound of the time from the monitor's warning to the first
            slip [s].
        grasp_displacement_max_m: Motion of the object while a task grasps it [m].
        release_displacement_max_m: The same while it releases the object [m].
        put_down_force_max_n: Force on any surface while a task puts the object down [N].
        drop_height_max_m: Height of the free fall that would give the object its largest downward
            speed [m].
        place_error_m: Distance of the object at the end of a task from its last place [m].
        place_error_deg: Angle to it [degrees].
        phase_torque_rate_max_fraction: Largest change of a torque from a phase to the next, over
            the change that `safety.torque_rate` allows.
        control_step_p99_us: Duration of a control step that 1 % exceed [us].
        real_time_factor_least: A lower bound of the simulated time over the time it took.
    """

    object_position_error_max_m: float | None = _threshold("m")
    object_position_error_settled_m: float | None = _threshold("m")
    object_orientation_error_max_deg: float | None = _threshold("degrees")
    object_orientation_error_settled_deg: float | None = _threshold("degrees")
    object_blocked_error_max_m: float | None = _threshold("m")
    object_blocked_error_max_deg: float | None = _threshold("degrees")
    internal_force_error_settled_n: float | None = _threshold("N")
    internal_moment_error_settled_nm: float | None = _threshold("N m")
    added_internal_force_max_n: float | None = _threshold("N")
    added_internal_moment_max_nm: float | None = _threshold("N m")
    object_drift_settled_m: float | None = _threshold("m")
    joint_motion_max: float | None = _threshold("rad or m")
    closure_error_max: float | None = _threshold("m or rad")
    correction_max: float | None = _threshold("m or rad")
    torque_fraction_of_limit_max: float | None = _threshold("")
    torque_fraction_of_limit_least: float | None = _threshold("")
    contact_force_error_settled_fraction: float | None = _threshold("")
    contact_force_error_moving_fraction: float | None = _threshold("")
    contact_speed_moving_least: float | None = _threshold("m/s")
    contact_force_max_n: float | None = _threshold("N")
    guide_force_max_n: float | None = _threshold("N")
    guide_force_max_n_least: float | None = _threshold("N")
    holding_force_error_max_n: float | None = _threshold("N")
    holding_force_error_settled_n: float | None = _threshold("N")
    holding_moment_error_max_nm: float | None = _threshold("N m")
    holding_moment_error_settled_nm: float | None = _threshold("N m")
    touch_speed_least: float | None = _threshold("m/s")
    touch_settling_max_s: float | None = _threshold("s")
    touch_contacts_max: float | None = _threshold("")
    grasp_slip_max_m: float | None = _threshold("m")
    grasp_slip_max_m_least: float | None = _threshold("m")
    grasp_tilt_max_deg: float | None = _threshold("degrees")
    surface_slip_max_m: float | None = _threshold("m")
    surface_slip_max_m_least: float | None = _threshold("m")
    slip_margin_min_least: float | None = _threshold("N")
    slip_warning_lead_s_least: float | None = _threshold("s")
    grasp_displacement_max_m: float | None = _threshold("m")
    release_displacement_max_m: float | None = _threshold("m")
    put_down_force_max_n: float | None = _threshold("N")
    drop_height_max_m: float | None = _threshold("m")
    place_error_m: float | None = _threshold("m")
    place_error_deg: float | None = _threshold("degrees")
    phase_torque_rate_max_fraction: float | None = _threshold("")
    control_step_p99_us: float | None = _threshold("us")
    real_time_factor_least: float | None = _threshold("")


@dataclass(frozen=True)
class AcceptanceSettings:
    """The thresholds of a scenario for each engine that may be its plant.

    Attributes:
        settle_s: Time for which a reference must be at rest until errors count as settled [s].
        engine: Thresholds with our own engine as the plant.
        mujoco: Thresholds with MuJoCo as the plant.
        stop: Part of the message with which the controller must stop, in a scenario of a fault; by
            default it must not stop.
    """

    settle_s: float = field(default=0.5, metadata={"minimum": 0.0, "unit": "s"})
    engine: ThresholdSettings = field(default_factory=ThresholdSettings)
    mujoco: ThresholdSettings = field(default_factory=ThresholdSettings)
    stop: str = ""

    def thresholds(self, engine: EngineName) -> dict[str, float]:
        """Return the thresholds for an engine, by the field's name."""
        every = asdict(self.engine if engine == "engine" else self.mujoco)
        return {name: value for name, value in every.items() if value is not None}


def lower_thresholds(figure: str) -> tuple[str, str]:
    """Return the two names that the lower bound of a figure may have."""
    return f"{figure}_least", f"{figure.removesuffix('_max')}_least"


def more_is_better(figure: str) -> bool:
    """Return whether a figure is a least value, or has no bound except a lower one."""
    known = ThresholdSettings.__dataclass_fields__
    bounded = any(name in known for name in lower_thresholds(figure))
    return figure.endswith("_min") or (bounded and figure not in known)


def failures(
    figures: Mapping[str, Any],
    thresholds: Mapping[str, float],
    why_missing: Callable[[str], str] = lambda name: "",
) -> list[str]:
    """Return a sentence for each threshold that a report's figures do not keep.

    Args:
        figures: Figures by name; None if it could not be computed.
        thresholds: Bounds by the name of a `ThresholdSettings` field.
        why_missing: Returns the reason why a figure could not be computed, if known; figures with
            the same reason share a sentence.
    """
    sentences = []
    missing: dict[str, list[str]] = {}
    for threshold, bound in thresholds.items():
        lower = threshold.endswith("_least")
        name = threshold.removesuffix("_least")
        if lower and name not in figures:
            name += "_max"
        value = figures.get(name)
        label = _label(name)
        if value is None and why_missing(name):
            missing.setdefault(why_missing(name), []).append(label)
        elif value is None:
            sentences.append(f"{label} could not be computed; expected {_side(lower)} {bound:g}.")
        elif isclose(value, bound, rel_tol=_ROUNDING):
            continue
        elif not (value >= bound if lower else value <= bound):  # also for what is no number
            found, limit = apart(value, bound, digits=4)
            sentences.append(f"{label} is {found}, expected {_side(lower)} {limit}.")
    for reason, names in missing.items():
        sentences.append(f"{', '.join(names)} could not be computed: {reason}.")
    return sentences


def _side(lower: bool) -> str:
    return "at least" if lower else "at most"


_UNITS = {"m": "[m]", "deg": "[degrees]", "n": "[N]", "nm": "[N m]", "us": "[us]", "s": "[s]"}


def _label(name: str) -> str:
    """Return a figure's name in words, with its unit in brackets."""
    stem, _, unit = name.rpartition("_")
    if unit in _UNITS:
        return f"{stem.replace('_', ' ')} {_UNITS[unit]}"
    return name.replace("_", " ")
