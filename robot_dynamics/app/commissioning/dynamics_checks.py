# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of drives, links, wrist sensors and base placements, by what is identified."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from robot_dynamics.app.commissioning.checks import CUTOFF, MOVES, CellCheck, judged
from robot_dynamics.app.identification.drive_report import (
    DETERMINED,
    LEAST_CONSTANT,
    DriveIdentification,
    is_other_delay,
    wrong_constants,
)
from robot_dynamics.app.identification.frame_report import FrameIdentification
from robot_dynamics.app.identification.identify import CUTOFF as SLOW_CUTOFF
from robot_dynamics.app.identification.identify import identify
from robot_dynamics.app.identification.inputs import cell_of, input_of
from robot_dynamics.app.identification.report_parts import LARGEST_FACTOR
from robot_dynamics.app.identification.sensor_report import SensorIdentification
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.identification.drives import ArmDrives, constants_at_start
from robot_dynamics.identification.least_squares import SURE
from robot_dynamics.identification.motion import Noise
from robot_dynamics.identification.sensors import FreeArm, WristSensor
from robot_dynamics.identification.signals import Filters, IdentificationError
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.robot import Robot

_UNEXPLAINED = 0.02  # largest torque that description and drives do not explain, over the limit
_FRICTION = 0.05  # largest Coulomb friction beyond the description, over the effort limit
_FORCE, _MOMENT = 1.0, 0.1  # largest bias of a wrist sensor that is not tared [N, N m]
_MASS = 0.05  # largest error of the mass of a tool [kg]
_PLACE_MM, _ANGLE = 1.0, 0.1  # largest displacement [mm] and rotation [degrees] of a base
_SIGN, _START = 3.0, 0.5  # standard deviations, and error of a constant, by a start
#: Checks of the drives of an arm; without the first one nothing is known of its torques.
OF_DRIVES = ("torque constants", "delay", "friction", "gravity and links")
_AT_REST = 0.03  # rad/s or m/s: of joints whose tool is at rest
_SENSOR = "wrist sensor"
_FROZEN_S = 0.3  # longest time in which readings are the same although the tool's weight turns
_BARE = 0.1  # mass of a sensor's own parts, which it measures without a tool [kg]
_STEPS = 2.0  # of a sensor's resolution, by which its readings change with the weight for sure


def check_drives(
    scenario: Scenario, system: GraspSystem, recording: Recording
) -> tuple[list[CellCheck], DriveIdentification | None]:
    """Return checks of each arm's drives and links, and the drives if they were identified."""
    if recording.metadata.get("fault_time_s", np.inf) <= scenario.control.start.ramp_s:
        return _start_of_drives(scenario, system, recording), None
    excluded = {}
    try:
        found = identify(_commanded(recording), scenario, what="drives", cutoff=CUTOFF)
    except IdentificationError as error:
        found, excluded = None, {arm.name: str(error) for arm in system.arms}
    checks = []
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        if found is not None and arm.name in found.arms:
            effort = system.limits["effort"][own]
            units = ["N m" if unit == "rad" else "N" for unit in system.joint_units[own]]
            checks += _of_drives(scenario, arm.name, found.arms[arm.name], effort, units)
            continue
        reason = excluded[arm.name] if found is None else found.excluded[arm.name]
        checks += [CellCheck(arm.name, what, "not examined", reason) for what in OF_DRIVES]
    return checks, found


def _commanded(recording: Recording) -> Recording:
    """Return a recording without what only simulated plants know."""
    columns = {name: one for name, one in recording.columns.items() if name != "applied_torque"}
    return Recording(columns, recording.metadata)


def _start_of_drives(
    scenario: Scenario, system: GraspSystem, recording: Recording
) -> list[CellCheck]:
    """Return checks of drives that move arms which they should hold at rest."""
    robot, control = Robot(system.arms_alone), scenario.control
    checks = []
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        q, u = recording["joint_position"][:, own], recording["commanded_torque"][:, own]
        delay = control.command_delay_periods
        found = constants_at_start(robot, arm.joints, q, u, control.period, delay)
        if found is None:
            reason = "no joint was driven away"
            checks += [CellCheck(arm.name, what, "not examined", reason) for what in OF_DRIVES]
            continue
        k, deviations = found
        wrong = {
            name: k[j]
            for j, name in enumerate(arm.joints)
            if abs(k[j] - 1.0) > max(_SIGN * deviations[j], _START)
        }
        checks += [
            _constants(arm.name, arm.joints, found, wrong),
            *_unexamined(arm.name, "the start went wrong"),
        ]
    return checks


def _of_drives(
    scenario: Scenario, arm: str, drives: ArmDrives, effort: Array, units: Sequence[str]
) -> list[CellCheck]:
    """Return the checks of an arm's drives, with effort limits (n,) in units of the joints.

    One wrong constant is that of a drive; several are the weight of the links, which tells them.
    """
    wrong = wrong_constants(drives)
    k, deviations = drives.constants
    known = deviations < DETERMINED
    if any(k[drives.joints.index(name)] < 0.0 for name in wrong):
        # The torques of the other joints follow from a motion that nothing controlled.
        return [
            _constants(arm, drives.joints, drives.constants, wrong),
            *_unexamined(arm, "a torque has the wrong sign"),
        ]
    links = len(wrong) > 1
    checks = [_delay(scenario, arm, drives), _friction(arm, drives, effort, units)]
    if not links:
        checks.append(_constants(arm, drives.joints, drives.constants, wrong))
    unexplained = drives.unexplained[0 if links else 1]
    share = np.nan_to_num(unexplained / effort)
    worst = int(np.argmax(share))
    found = f"{unexplained[worst]:.3g} {units[worst]} of {drives.joints[worst]} are not explained"
    if links:
        worst_of = float(np.max(np.where(known, np.abs(k - 1.0), 0.0)))
        found += f"; torques of {', '.join(wrong)} are off by {100 * worst_of:.0f} % at most"
    remedy = "correct links, load, placement of the base, or torque constants"
    most = f"{_UNEXPLAINED * effort[worst]:.3g} {units[worst]}"
    checks.append(
        judged(
            arm,
            OF_DRIVES[3],
            found,
            f"at most {most}, {100 * _UNEXPLAINED:g} % of the limit",
            wrong=links or bool(share[worst] > _UNEXPLAINED),
            remedy=f"{remedy}; `identify --what arms` finds links",
        )
    )
    return checks


def _unexamined(arm: str, reason: str) -> list[CellCheck]:
    return [CellCheck(arm, what, "not examined", reason) for what in OF_DRIVES[1:]]


def _constants(
    arm: str, joints: Sequence[str], constants: tuple[Array, Array], wrong: Container[str]
) -> CellCheck:
    """Return the check of torque constants (n,) and their deviations, of which some are wrong."""
    k, deviations = constants
    far = np.where(deviations < DETERMINED, np.abs(k - 1.0), 0.0)
    named = [j for j, name in enumerate(joints) if name in wrong] or [int(np.argmax(far))]
    named = [j for j in named if k[j] < 0.0] or named
    sign = bool(k[named[0]] < 0.0)
    found = ", ".join(f"{joints[j]} gives {k[j]:.3f} +- {deviations[j]:.3f}" for j in named)
    what = "the sign of the torque or of the position" if sign else "the torque constant"
    return judged(
        arm,
        OF_DRIVES[0],
        f"{found} times the commanded torque",
        f"1 +- {LEAST_CONSTANT:g}",
        wrong=bool(wrong),
        remedy=f"correct {what} in the driver",
    )


def _delay(scenario: Scenario, arm: str, drives: ArmDrives) -> CellCheck:
    period = scenario.control.period
    stated = scenario.control.command_delay_periods * period
    delay, deviation = (1e3 * one for one in drives.delay)
    return judged(
        arm,
        OF_DRIVES[1],
        f"{delay:.2f} +- {deviation:.2f} ms from a command to its measured effect",
        f"{1e3 * stated:.2f} +- {1e3 * period:.2f} ms",
        wrong=is_other_delay(drives, stated, period),
        remedy="state control.command_delay_periods, or make the connection faster",
    )


def _friction(arm: str, drives: ArmDrives, effort: Array, units: Sequence[str]) -> CellCheck:
    coulomb, deviations = drives.coulomb
    share = np.where(deviations < _FRICTION * effort, coulomb / effort, 0.0)
    worst = int(np.argmax(share))
    unit = units[worst]
    return judged(
        arm,
        OF_DRIVES[2],
        f"{coulomb[worst]:.3g} +- {deviations[worst]:.2g} {unit} in {drives.joints[worst]}",
        f"at most {_FRICTION * effort[worst]:.3g} {unit}, {100 * _FRICTION:g} % of the limit",
        wrong=bool(share[worst] > _FRICTION),
        remedy="describe it (`identify --what arms`), and compensate a share of it",
    )


def check_sensors(
    scenario: Scenario, system: GraspSystem, recording: Recording
) -> tuple[list[CellCheck], SensorIdentification | None]:
    """Return checks of the wrist sensors at rest, and the sensors if they were identified."""
    cell, sensors, checks = cell_of([recording], scenario), [], []
    try:
        free = input_of(recording, cell, "wrenches", held=False)
    except IdentificationError as error:
        return [CellCheck("", _SENSOR, "not examined", str(error))], None
    filters = Filters(free.motion.period, SLOW_CUTOFF)
    states = cell.kinematics.differentiate(free.motion.q, filters)[:3]
    tared = scenario.control.start.tare
    for i, arm in enumerate(system.arms):
        speeds = filters.differentiate(free.motion.q[:, system.arm_slices[i]])[1]
        rests = np.asarray((np.abs(speeds) < _AT_REST).all(axis=1))
        assert free.motion.wrenches is not None
        readings, period = free.motion.wrenches[:, i], free.motion.period
        weight = cell.kinematics.of_tool(i, *states).Y[:, 3:, 0]  # of 1 kg
        weight *= max(arm.sensor_tool_mass, _BARE)
        constant_s = period * _longest_constant(readings, speeds, weight)
        # A simulated sensor without noise and tool measures nothing.
        nothing = "applied_torque" in recording and not np.nan_to_num(readings).any()
        if constant_s > _FROZEN_S and not nothing:
            found = f"it measures exactly the same for {constant_s:.2g} s of motion"
            limit = f"at most {_FROZEN_S:g} s"
            remedy = "look at its driver and its connection"
            checks.append(CellCheck(arm.name, _SENSOR, "no-go", found, limit, remedy))
            continue
        wrenches = np.where(rests[:, None, None], free.motion.wrenches, np.nan)
        motion = replace(free.motion, wrenches=wrenches)
        try:
            one = FreeArm(cell.kinematics, i, Noise(), SLOW_CUTOFF).identify([motion])
        except IdentificationError as error:
            checks.append(CellCheck(arm.name, _SENSOR, "not examined", str(error)))
            continue
        if one.fit.deviations[0] > _MASS:
            reason = "the arm rested in too few postures"
            checks.append(CellCheck(arm.name, _SENSOR, "not examined", reason))
            continue
        if one.fit.factor > LARGEST_FACTOR:
            found = f"no tool explains it: residuals are {one.fit.factor:.3g} times the noise"
            limit = f"at most {LARGEST_FACTOR:g}"
            checks.append(CellCheck(arm.name, _SENSOR, "no-go", found, limit, "look at its axes"))
            continue
        sensors.append(one)
        checks += [_sensor(one, arm), _bias(one, tared=tared)]
    if len(sensors) < len(system.arms):
        return checks, None
    return checks, SensorIdentification(cell, sensors, None, [free], [])


def _longest_constant(readings: Array, speeds: Array, weight: Array) -> int:
    """Return the largest number of samples in which a moving arm's sensor measures the same.

    Samples count in which the weight changes by more than the sensor's resolution, the smallest
    change of its forces.

    Args:
        readings: Its wrenches (N, 6).
        speeds: Speeds of the arm's joints (N, n).
        weight: Force that moves and carries its tool (N, 3) [N].
    """
    moves = np.nan_to_num(np.abs(speeds)).max(axis=1) > MOVES
    changes = np.diff(readings, axis=0)
    same = np.append(False, (changes == 0.0).all(axis=1)) & moves
    sizes = np.linalg.norm(changes[:, 3:], axis=1)
    resolution = np.min(sizes[sizes > 0.0], initial=np.inf)
    least = _STEPS * resolution if np.isfinite(resolution) else 0.0
    ends = [*np.flatnonzero(~same).tolist(), len(same)]
    longest = 0
    for start, end in pairwise(ends):  # the readings are the same between
        turned = weight[start + 1 : end]
        if len(turned) > longest and np.linalg.norm(np.ptp(turned, axis=0)) > least:
            longest = len(turned)
    return longest


def _sensor(one: WristSensor, arm: Arm) -> CellCheck:
    """Return the check of sign, axes and tool of a wrist sensor."""
    described = f"a tool of {arm.sensor_tool_mass:.3f} kg, axes of {arm.sensor_frame or arm.tool}"
    if one.sign < 0.0:
        found, remedy = "it measures wrenches by the tool on the arm", "reverse the sign"
        return CellCheck(one.arm, _SENSOR, "no-go", found, described, f"{remedy} in its driver")
    if one.turned:
        angles = ", ".join(f"{angle:.1f}" for angle in np.degrees(one.turn))
        found = f"its axes are turned by ({angles}) degrees"
        return CellCheck(one.arm, _SENSOR, "no-go", found, described, "state another sensor_frame")
    mass, deviation = one.tool[0][0], one.tool[1][0]
    axes = "axes and sign as described" if one.carries else "which does not show its axes"
    return judged(
        one.arm,
        _SENSOR,
        f"a tool of {mass:.3f} +- {deviation:.3f} kg, {axes}",
        described,
        wrong=bool(abs(mass - arm.sensor_tool_mass) > max(SURE * deviation, _MASS)),
        remedy="state it as sensor_tool, or correct the scale of the sensor",
    )


def _bias(one: WristSensor, *, tared: bool) -> CellCheck:
    bias, deviations = one.bias
    moment, force = np.linalg.norm(bias[:3]), np.linalg.norm(bias[3:])
    sure = bool((np.abs(bias) > SURE * deviations).any())
    return judged(
        one.arm,
        "sensor bias",
        f"{force:.3g} N and {moment:.3g} N m",
        f"at most {_FORCE:g} N and {_MOMENT:g} N m, or control.start.tare",
        wrong=sure and not tared and bool(force > _FORCE or moment > _MOMENT),
        remedy="set control.start.tare, and tare before each grasp",
    )


def check_bases(
    scenario: Scenario, recordings: Sequence[Recording | str | Path]
) -> tuple[list[CellCheck], FrameIdentification | None]:
    """Return checks of the base placements by arms that hold one object, and the frames."""
    name = "base placement"
    try:
        found = identify(recordings, scenario, what="frames")
    except IdentificationError as error:
        remedy = "measure the placements; hold a rigid object, and turn it about two axes"
        return [CellCheck("", name, "no-go", str(error), "", remedy)], None
    checks, fit, hidden = [], found.frames.fit, set(found.frames.hidden)
    for arm in scenario.cell.arms:
        of_base = f"base of {arm.name} "
        at = [i for i, one in enumerate(fit.names) if one.startswith(of_base)]
        if not at:  # the first arm's base, and bases that arms share, stay as described
            continue
        x, deviations = fit.values[at], fit.deviations[at]
        place, angle = 1e3 * np.linalg.norm(x[:3]), np.degrees(np.linalg.norm(x[3:]))
        of_place, of_angle = 1e3 * deviations[:3].max(), np.degrees(deviations[3:].max())
        wrong = bool(
            place > max(_PLACE_MM, SURE * of_place) or angle > max(_ANGLE, SURE * of_angle)
        )
        if not wrong and hidden & {fit.names[i] for i in at}:
            reason = "the held object turned too little: about two axes by 20 degrees or more"
            checks.append(CellCheck(arm.name, name, "not examined", reason))
            continue
        checks.append(
            judged(
                arm.name,
                name,
                f"{place:.2f} +- {of_place:.2f} mm and {angle:.3f} +- {of_angle:.3f} degrees from "
                "the stated one",
                f"at most {_PLACE_MM:g} mm and {_ANGLE:g} degrees",
                wrong=wrong,
                remedy="correct `xyz` and `rpy` of its robot",
            )
        )
    return checks, found
