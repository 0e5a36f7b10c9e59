# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step of the hybrid controller for two 7-joint arms, arrays to torques, as Python calls it.

The object slides on a plane and is pressed on it. There is one kernel for everything. Where limits
rule another internal force is looked for by a quadratic program, and where there is one the kernel
runs twice. The states have nothing to do with one another, so that limits come and go.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.closed_loops import consistent
from benchmarks.rows import Row
from benchmarks.timing import Timing
from benchmarks.two_arms import states_of, system_of
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.servo import PostureMotion
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.settings import ControlSettings, FrictionSettings, SafetySettings
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.model import pose
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

ALGORITHM = "hybrid_control_step"
# Between the compiled law and the one in NumPy, of the largest torque. Both lose the digits of the
# condition of the arms' Jacobians, which is some hundreds.
TOLERANCE = 1e-11
BAR_FREE_US, BAR_LIMITED_US = 40.0, 150.0
CALLS = 200
# What limits make of a step: nothing; an internal force found before lets all of it through; it
# gives way in this step; there is none that lets all of it through.
FREE, RELIEVED, RELIEVING, HELD_BACK = "step", "relieved step", "relieving step", "held-back step"
# Of the efforts: nothing in these states asks for that much.
_OUT_OF_REACH = 1e6


@dataclass(frozen=True)
class Plan:
    """The object at rest at a pose, pressed and squeezed."""

    start: Array
    duration: float = 1.0

    def rows(self, times: Array) -> Array:
        """Return rows with a push of 20 N on the plane and a squeeze of 30 N."""
        rows = np.zeros((len(np.atleast_1d(times)), 19 + 2 + 6))
        rows[:, :7] = self.start
        rows[:, 19:22] = 20.0, 1.0, 30.0
        return rows

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return all of it."""
        return [(settle_s, self.duration)]


def rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of two arms of a kind: with limits out of reach, and with limits that rule.

    Raises:
        AssertionError: If torques differ from those of the law in NumPy, or limits do not make of
            the steps what is to be timed.
    """
    system = system_of(name)
    robot = Robot(system.model)
    states = states_of(system, robot)
    q, start = states[0][0], states[0][0][system.object_q]
    height = start[2] - 0.1
    surfaces = (lambda at: height - at.point((0.0, 0.0, -0.1)).z,)
    along = (lambda at: at.x.x, lambda at: at.x.y)
    angles = tuple(lambda at, i=i: at.roll_pitch_yaw()[i] for i in range(3))
    environment = Environment(surfaces, (*along, *angles))

    def controller(limits: float, ahead: bool) -> HybridLaw:
        return HybridLaw(
            system,
            ControlSettings(friction=FrictionSettings(share=0.0), ahead=ahead),
            SafetySettings(torque_rate=np.inf, effort_fraction=limits),
            Plan(start),
            environment=environment,
        )

    # Slow, and along the plane or not: what the law makes of it is compared, not the motion.
    moving = consistent(robot, q, 0.1 * np.random.default_rng(1).normal(size=(CALLS, len(q) - 1)))
    samples = [(q[system.q_index], qd[system.v_index]) for qd in moving]
    exact = controller(1.0, ahead=False)
    worst = max(_difference(exact, *sample) for sample in samples[:20])
    if not worst < TOLERANCE:
        raise AssertionError(f"{name}: the hybrid law is off by {worst:.1e}.")
    free = controller(_OUT_OF_REACH, ahead=True)
    limited = controller(_tight(exact, samples), ahead=True)
    found = []
    for control, modes, threshold in (
        (free, (FREE,), BAR_FREE_US),
        (limited, (RELIEVED, RELIEVING, HELD_BACK), BAR_LIMITED_US),
    ):
        taken = _timed(control, samples, rounds)
        counts = {mode: len(times) for mode, times in taken.items()}
        if set(counts) != set(modes):
            raise AssertionError(f"{name}: steps were {counts}, expected {' and '.join(modes)}.")
        for mode in modes:
            timing, p99 = _figures(taken[mode])
            row = Row.alone(
                timing, robot=f"two {name} and an object", algorithm=ALGORITHM, mode=mode,
                lanes=1, max_rel_error=worst, threshold_us=threshold, p99_us=p99,
            )  # fmt: skip
            found.append(row)
    return found


def kind_of(step: HybridStep) -> str:
    """Return the effect of limits on a step."""
    if step.internal_force_adapted:
        return RELIEVING
    if step.effort_scale < 1.0 - 1e-9:
        return HELD_BACK
    return RELIEVED if step.added_internal_force.any() else FREE


def _difference(control: HybridLaw, q: Array, qd: Array) -> float:
    """Return a step's torque error against the law in NumPy, relative to the largest torque."""
    step = _fresh(control, q, qd)
    at, system = control.layout.memory, control.hybrid_system
    R = Rotation.from_quat(step.pose[3:]).as_matrix()
    center = R @ np.asarray(system.held.center)
    twist = step.twist + np.concatenate([np.zeros(3), np.cross(step.twist[:3], center)])
    terms = system.terms(q, qd, pose(step.pose[:3], R), twist)
    here = terms.environment
    own = step.memory[at["acceleration"]]
    u1 = here.E_P @ np.concatenate([R @ own[:3], R @ own[3:]]) + here.E_P_dot_v
    row, parts = step.reference, control.layout.reference
    u2 = row[parts["contact"]] - control.gains.damping * (here.E_F @ twist)
    spare = PostureMotion.of(control.gains, q.tolist(), qd.tolist(), [0.0] * len(q)).acceleration
    law = hybrid_torque(
        terms, control.distribution, u1, u2, row[parts["internal"]], np.array(spare)
    )
    return float(np.abs(law.torque - step.torque).max() / np.abs(law.torque).max())


def _fresh(control: HybridLaw, q: Array, qd: Array) -> HybridStep:
    """Return the step after a start at positions, when the ramp is over."""
    control.start(q, qd)
    return control.update(control.ramp_ticks, q, qd, np.zeros((2, 6)))


def _tight(control: HybridLaw, samples: list[tuple[Array, Array]]) -> float:
    """Return a part of the efforts that holds the arms up and leaves little for the task."""
    step = _fresh(control, *samples[0])
    return float(min(0.99, 1.05 * step.support_torque_ratio))


def _timed(
    control: HybridLaw, samples: list[tuple[Array, Array]], rounds: int
) -> dict[str, list[int]]:
    """Return the durations of updates [ns], by the effect of limits."""
    wrenches = np.zeros((2, 6))
    control.start(*samples[0])
    first, clock = control.ramp_ticks, time.perf_counter_ns
    taken: dict[str, list[int]] = {}
    for _ in range(20):  # caches warm up
        control.update(first, *samples[0], wrenches)
    for _ in range(rounds):
        for q, qd in samples:
            begin = clock()
            step = control.update(first, q, qd, wrenches)
            end = clock()
            taken.setdefault(kind_of(step), []).append(end - begin)
    return taken


def _figures(taken: list[int]) -> tuple[Timing, float]:
    """Return the timing of updates [ns], and their 99th percentile [us]."""
    us = np.array(taken) / 1e3
    low, median, high, p99 = np.percentile(us, [25, 50, 75, 99])
    return Timing(float(median), float(us.min()), float((high - low) / median)), float(p99)
