# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of itself in its diagnostics."""

from __future__ import annotations

from math import isfinite

import numpy as np

from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.faults import State
from robot_dynamics.control.start_check import disagreement
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN, fault_figures

_CLOSURE = "closure error [m or rad]"
_SCALES = ("force scale", "motion scale", "rate scale", "support over limit", "smallest pivot")
# What hybrid laws have besides.
_MORE_SCALES = ("contact force scale", "lost acceleration [m/s^2]", "posture scale")


def condition(
    loop: ControlLoop, refusal: str = "", warning: str = "", other_publisher: str = ""
) -> tuple[bytes, str]:
    """Return the level and the sentence: the state, and the first cause of a fault.

    Args:
        loop: The controller.
        refusal: Why the last start was refused; empty if it was not.
        warning: What is wrong besides, with the guard or the recording; empty if nothing is.
        other_publisher: Who else commands the arms; empty if nobody does.
    """
    safety = loop.safety
    state = safety.state
    if state in (State.FALLBACK, State.STOPPED):
        return ERROR, f"{state.value}: {safety.cause}"
    if other_publisher:
        return (ERROR if safety.in_charge else WARN), f"{state.value}: {other_publisher}"
    if state is State.INACTIVE:
        trouble = refusal or loop.complaint or warning or _said_by_law(loop)
        return (WARN, f"inactive: {trouble}") if trouble else (OK, "inactive")
    if safety.closure_warning:
        return WARN, f"{state.value}: the arms disagree about the object"
    if loop.arms.skew_warning:
        return WARN, f"{state.value}: {loop.arms.skew_warning}"
    trouble = warning or loop.arms.rate_warning or _said_by_law(loop)
    return (WARN, f"{state.value}: {trouble}") if trouble else (OK, state.value)


def _said_by_law(loop: ControlLoop) -> str:
    """Return the law's warnings, as of slip that it foresees; empty if there are none."""
    return " ".join(loop.supervised.controller.warnings)


def _slip_margins(loop: ControlLoop, step: LawStep) -> dict[str, object]:
    """Return how far contacts that can slip are from that, where anything is known of it."""
    law = loop.supervised.controller
    margins = zip(law.slip_contacts, step.slip_margins.tolist(), strict=True)
    return {f"{name} slip margin [N]": margin for name, margin in margins if isfinite(margin)}


def figures(loop: ControlLoop, step: LawStep | None) -> dict[str, object]:
    """Return what a status tells besides: faults, scales, closure, saturation, late samples.

    Args:
        loop: The controller.
        step: What the law saw last.
    """
    safety = loop.safety
    found = fault_figures(safety)
    if step is not None:
        # A law has the first of them, or all.
        found |= zip((*_SCALES, *_MORE_SCALES), step.scales.tolist(), strict=False)
        found[_CLOSURE] = float(np.max(np.abs(step.closure), initial=0.0))
        found |= _slip_margins(loop, step)
    if (
        safety.state is State.INACTIVE
        and loop.complete
        and loop.supervised.controller.rigid_grasps
    ):
        # Whether grasps are closed is to be seen before a start.
        found[_CLOSURE] = disagreement(loop.system, loop.arms.state()[0])
    intake = loop.supervised.intake
    if intake is not None and (intake.taken or intake.refusal):
        found["references taken"] = intake.taken
        found["last reference"] = intake.refusal or "followed"
    if safety.released:
        found["left to their drives"] = ", ".join(safety.released)
    if safety.rate_limited:
        found["torque changes held back"] = safety.rate_limited
    if safety.saturated:
        found["saturated in the fallback"] = ", ".join(safety.saturated)
    if loop.arms.skew_s:
        found["skew between the arms [s]"] = loop.arms.skew_s
    for name, stream in loop.arms.streams.items():
        if stream.watch.old_samples:
            found[f"{name} old samples"] = stream.watch.old_samples
    return found
