# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify`: parameters of a cell from recordings of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args, overload

from robot_dynamics.app.identification.arm_report import ArmIdentification, motion_of
from robot_dynamics.app.identification.drive_report import (
    DriveIdentification,
    wrong_constants,
)
from robot_dynamics.app.identification.frame_report import FrameIdentification
from robot_dynamics.app.identification.inputs import (
    FAR,
    FAR_TURNED,
    Cell,
    Input,
    Source,
    cell_of,
    inputs_of,
    largest_way,
    samples_of,
)
from robot_dynamics.app.identification.payload_report import PayloadIdentification, plant_object
from robot_dynamics.app.identification.report_parts import LARGEST_FACTOR
from robot_dynamics.app.identification.sensor_report import SensorIdentification
from robot_dynamics.app.identification.surface_report import (
    SurfaceIdentification,
    described_plane,
)
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.recording_files import load_recording
from robot_dynamics.app.scenarios.cell import placed_robots, pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario, scenario_of_text
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.identification.arm_links import ArmEquations, ArmLinks
from robot_dynamics.identification.closed_chain import ClosedChain
from robot_dynamics.identification.drives import ArmDrives, DriveEquations
from robot_dynamics.identification.held_object import HeldObject
from robot_dynamics.identification.least_squares import Fit
from robot_dynamics.identification.motion import Noise, sensor_tools
from robot_dynamics.identification.pressed_plane import PressedPlane, PressedPlaneEquations
from robot_dynamics.identification.sensors import FreeArm, held_scales
from robot_dynamics.identification.signals import IdentificationError
from robot_dynamics.manipulation.system import Arm
from robot_dynamics.robot import Robot

#: Cut-off frequency of the low-pass [Hz], well above that of motions of arms.
CUTOFF = 5.0
#: Parameters to identify.
What = Literal["payload", "arms", "drives", "sensors", "frames", "offsets", "surfaces"]
Identification = (
    PayloadIdentification
    | ArmIdentification
    | DriveIdentification
    | SensorIdentification
    | FrameIdentification
    | SurfaceIdentification
)

_LEAST_S = 2.0  # of free motion or of holding that is used
_NOT_NOISE = 3.0  # residual over noise that no noise explains if residuals are not white
_LEAST_WAY = 0.1  # rad or m: joints of an arm that is identified move as far
_WORSE = 3.0  # residual of links of positive mass over that of any parameters
_LIGHT = 0.05  # kg: largest standard deviation of the mass of a tool


class _Given(NamedTuple):
    """Arguments of `identify`, checked."""

    recordings: list[Recording]
    cell: Cell
    use: Source
    noise: Noise
    cutoff: float
    armature: bool


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["payload"] = "payload",
    use: Source = "both",
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> PayloadIdentification: ...


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["sensors"],
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> SensorIdentification: ...


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["arms"],
    armature: bool = True,
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> ArmIdentification: ...


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["drives"],
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> DriveIdentification: ...


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["frames", "offsets"],
    noise: Noise | None = None,
) -> FrameIdentification: ...


@overload
def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: Literal["surfaces"],
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> SurfaceIdentification: ...


def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    what: What = "payload",
    use: Source = "both",
    armature: bool = True,
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> Identification:
    """Identify parameters of a cell from recordings of its runs.

    - "payload": mass, centre of mass and inertia of the object that the arms hold.
    - "sensors": bias, tool and axes of wrist sensors from samples in which the arms move free;
      their scales from samples in which the arms hold an object of known mass.
    - "arms": inertial parameters of the links, friction and rotors of the joints from torques in
      samples in which the arms move free; of each arm that moves.
    - "drives": torque constant and sign of each joint, friction, and the delay of command and
      measurement, from commanded torques in samples in which the arms move free.
    - "frames": base placements and grasps from joint positions while the arms hold the object.
    - "offsets": the same, and offsets of the joints' positions.
    - "surfaces": friction, stiffness and place of planes from wrenches of wrist sensors while the
      arms press and wipe them with the object.

    Args:
        recordings: Recordings of runs, or their files.
        scenario: The scenario of the cell; as recorded by default.
        what: Parameters to identify.
        use: For a payload: joint torques, wrenches of wrist sensors, or both.
        armature: For arms: whether to identify the inertia of the drives' rotors too.
        noise: Standard deviations of the samples; see `Noise`.
        cutoff: Cut-off frequency of the low-pass [Hz].

    Raises:
        IdentificationError: If the recordings do not belong to the cell, or do not determine
            masses.
        RecordingError: If a file cannot be read.
    """
    if what not in _KINDS:
        raise UnknownNameError("what", what, [*_KINDS])
    if use not in get_args(Source):
        raise UnknownNameError("use", use, get_args(Source))
    if what != "payload" and use != "both":
        raise ArgumentError(
            f"use is {use!r}; it applies to a payload, expected none for {what!r}."
        )
    if what != "arms" and not armature:
        raise ArgumentError(f"armature is False; it applies to arms, expected none for {what!r}.")
    if not 0.0 < cutoff < float("inf"):
        raise ArgumentError(f"cutoff is {cutoff!r}; expected a positive frequency in Hz.")
    given = [recordings] if isinstance(recordings, (Recording, str, Path)) else list(recordings)
    if not given:
        raise ArgumentError("there are no recordings; expected at least one.")
    files = [Path(one).resolve() for one in given if not isinstance(one, Recording)]
    for i, file in enumerate(files):
        if file in files[:i]:
            raise ArgumentError(f"{file}: is given twice; expected every recording once.")
    loaded = [one if isinstance(one, Recording) else load_recording(one) for one in given]
    cell = cell_of(loaded, None if scenario is None else load_scenario(scenario))
    return _KINDS[what](_Given(loaded, cell, use, noise or Noise(), cutoff, armature))


def _payload(given: _Given) -> PayloadIdentification:
    recordings, cell, use, noise, cutoff, _ = given
    inputs = inputs_of(recordings, cell, use)
    equations = HeldObject(cell.kinematics, cell.grasps, noise, cutoff)
    payload = equations.identify([one.motion for one in inputs])
    mass = payload.fit.names[0]
    if payload.fit.factor > LARGEST_FACTOR:  # less is warned of: links are not as described
        alone = ""
        if len(inputs) > 1:
            masses = [equations.identify([one.motion]).fit.values[0] for one in inputs]
            alone = (
                "; the masses by each recording alone are "
                + ", ".join(f"{mass:.4g}" for mass in masses)
                + " kg"
            )
        raise _unexplained(payload.fit, "payload", LARGEST_FACTOR, alone)
    if mass in payload.fit.unobserved:
        raise IdentificationError(
            f"the recording does not determine the object's mass (standard deviation "
            f"{payload.fit.deviations[0]:.2g} kg); expected motions in which torques are below "
            "their limits and the joints move faster than stiction."
        )
    if payload.fit.values[0] <= 0.0:
        raise IdentificationError(
            f"the recording gives a mass of {payload.fit.values[0]:.3g} kg; expected torques and "
            "wrenches by the arms on the object: their signs may be reversed."
        )
    plant = (
        plant_object(str(recordings[0].get("scenario_text")))
        if "applied_torque" in recordings[0]
        else None
    )
    return PayloadIdentification(cell, payload, inputs, use, equations, plant)


def _sensors(given: _Given) -> SensorIdentification:
    recordings, cell, _, noise, cutoff, _ = given
    free, held = (
        inputs_of(
            recordings,
            cell,
            "wrenches",
            held=holding,
            used=[
                samples_of(one, held=holding).sum() * float(one.get("period_s")) > _LEAST_S
                for one in recordings
            ],
        )
        for holding in (False, True)
    )
    if not free and not held:
        raise IdentificationError(
            f"the arms neither move free nor hold the object for {_LEAST_S:g} s; expected a "
            "recording in which they do."
        )
    kinematics, sensors, scales = cell.kinematics, [], None
    tools = sensor_tools(cell.system)
    if free:
        motions = [one.motion for one in free]
        for i in range(len(tools)):
            found = FreeArm(kinematics, i, noise, cutoff).identify(motions)
            _require_explained(found.fit, f"tool of arm {found.arm!r}")
            if found.fit.deviations[0] > _LIGHT:
                raise IdentificationError(
                    f"the recording does not determine the mass of the tool on the sensor of arm "
                    f"{found.arm!r}: its standard deviation is {found.fit.deviations[0]:.2g} kg, "
                    f"expected at most {_LIGHT:g} kg; expected free motion that turns the tool by "
                    "20 degrees or more about two axes."
                )
            sensors.append(found)
        tools = [one.fit.values[:PER_BODY] for one in sensors]
    if held:
        motions = [one.motion for one in held]
        scales = held_scales(kinematics, cell.grasps, motions, tools, noise, cutoff)
        _require_explained(scales, "scale of the sensors")
    return SensorIdentification(cell, sensors, scales, free, held)


def _arms(given: _Given) -> ArmIdentification:
    recordings, cell, _, noise, cutoff, armature = given
    inputs = inputs_of(recordings, cell, "torques", held=False)
    robot = Robot(cell.system.arms_alone)
    arms: dict[str, tuple[ArmEquations, ArmLinks]] = {}
    moving, excluded = _moving_arms(cell, inputs)
    for arm in moving:
        motions = [motion_of(one.motion, cell, arm.name) for one in inputs]
        equations = ArmEquations(robot, arm.joints, noise, cutoff, armature=armature)
        links = equations.identify(motions)
        if links.fit.factor > LARGEST_FACTOR:
            raise _unexplained(links.fit, f"arm {arm.name!r}", LARGEST_FACTOR)
        _, after, consistent = links.held_out
        if consistent > max(_WORSE * after, LARGEST_FACTOR):
            raise IdentificationError(
                f"no links of positive mass explain the torques of arm {arm.name!r}: residuals "
                f"are {consistent:.3g} times the assumed noise, {after:.3g} with any parameters; "
                "the signs or the order of torques or positions may be wrong."
            )
        arms[arm.name] = equations, links
    return ArmIdentification(cell, arms, inputs, excluded)


def _drives(given: _Given) -> DriveIdentification:
    recordings, cell, _, noise, cutoff, _ = given
    inputs = inputs_of(recordings, cell, "commands", held=False)
    with_applied = [one for one in recordings if "applied_torque" in one]
    applied = inputs_of(with_applied, cell, "torques", held=False)
    control, robot = cell.scenario.control, Robot(cell.system.arms_alone)
    moving, excluded = _moving_arms(cell, inputs)
    found: list[dict[str, ArmDrives]] = []
    stated = control.command_delay_periods * control.period
    carried = {arm.name: bool(arm.drive.compensates_gravity) for arm in cell.scenario.cell.arms}
    for own, delay in ((inputs, stated), (applied, 0.0)):
        drives = {}
        for arm in moving if own else ():
            motions = [motion_of(one.motion, cell, arm.name) for one in own]
            # What a simulated plant applies has the weight in any case.
            weightless = carried[arm.name] and own is inputs
            of_arm = partial(DriveEquations, robot, arm.joints, noise, cutoff, delay)
            drives[arm.name] = of_arm(weightless=weightless).identify(motions)
            if own is inputs and wrong_constants(drives[arm.name]):
                other = of_arm(weightless=not weightless).identify(motions)
                _require_weight(arm.name, drives[arm.name], other, weightless=weightless)
        found.append(drives)
    return DriveIdentification(cell, found[0], found[1], inputs, excluded)


def _require_weight(arm: str, found: ArmDrives, other: ArmDrives, *, weightless: bool) -> None:
    """Refuse commands that include the weight of the links against what the scenario states.

    Args:
        arm: Name of the arm.
        found: Its drives as the scenario states them.
        other: The same for the opposite.
        weightless: Whether the scenario states that the drives add gravity.
    """
    if wrong_constants(other) or other.fit.factor > found.fit.factor:
        return
    have = "include" if weightless else "leave out"
    raise IdentificationError(
        f"the commands of arm {arm!r} {have} the weight of its links (torque constants are 1 "
        f"then); expected drive.compensates_gravity of the arm as {str(not weightless).lower()}."
    )


def _moving_arms(cell: Cell, inputs: list[Input]) -> tuple[list[Arm], dict[str, str]]:
    """Return the arms that move, and the reason why another one is left out by its name.

    Raises:
        IdentificationError: If none moves.
    """
    moving, excluded = [], {}
    for arm, own in zip(cell.system.arms, cell.kinematics.own, strict=True):
        positions = [one.motion.q[:, own] for one in inputs]
        units = cell.system.joint_units[own]
        way, unit = max(largest_way(q, units) for q in positions)
        if way < _LEAST_WAY:
            excluded[arm.name] = (
                f"its joints move by at most {way:.2g} {unit}, expected {_LEAST_WAY:g} {unit}"
            )
        else:
            moving.append(arm)
    if not moving:
        reasons = " and ".join(f"of arm {name!r} {why}" for name, why in excluded.items())
        raise IdentificationError(f"no arm moves: {reasons}.")
    return moving, excluded


def _frames(given: _Given, *, offsets: bool = False) -> FrameIdentification:
    recordings, cell, noise = given.recordings, given.cell, given.noise
    _require_rigid(cell)
    inputs = inputs_of(recordings, cell, "positions", allowed=(FAR, FAR_TURNED))
    links = [
        {part.prefix + link.name for link in part.description.mechanism.links}
        for part in placed_robots(cell.scenario.cell)
    ]
    equations = ClosedChain(
        cell.kinematics,
        [next(j for j, own in enumerate(links) if arm.tool in own) for arm in cell.system.arms],
        [pose_matrix(robot) for robot in cell.scenario.cell.robots],
        cell.grasps,
        noise.position,
        offsets=offsets,
    )
    frames = equations.identify([one.motion for one in inputs])
    _require_explained(frames.fit, "base placement or grasp")
    return FrameIdentification(cell, frames, equations, inputs, _plant_of(recordings[0]))


def _surfaces(given: _Given) -> SurfaceIdentification:
    recordings, cell, _, noise, cutoff, _ = given
    _require_rigid(cell)
    if not cell.scenario.cell.surfaces:
        raise IdentificationError(f"{cell.scenario.name!r} has no surface; expected a plane.")
    inputs = inputs_of(recordings, cell, "wrenches", touching=True)
    motions = [one.motion for one in inputs]
    planes: dict[str, PressedPlane] = {}
    excluded, count = {}, 0
    for surface in cell.scenario.cell.surfaces:
        rows = slice(count, count + surface.rows)
        count = rows.stop
        if surface.kind != "plane":
            excluded[surface.name] = f"it is a {surface.kind}, expected a plane"
            continue
        equations = PressedPlaneEquations(
            cell.kinematics,
            cell.grasps,
            pose_matrix(surface),
            pose_matrix(surface.part)[:3, 3],
            described_plane(surface),
            noise,
            cutoff,
        )
        try:
            plane = equations.identify(motions, rows)
        except IdentificationError as error:
            excluded[surface.name] = str(error).rstrip(".")
            continue
        _require_explained(plane.force, f"surface {surface.name!r}")
        planes[surface.name] = plane
    if not planes:
        reasons = " and ".join(f"surface {name!r}: {why}" for name, why in excluded.items())
        raise IdentificationError(f"{reasons}.")
    return SurfaceIdentification(cell, planes, inputs, excluded, _plant_of(recordings[0]))


def _require_rigid(cell: Cell) -> None:
    if cell.system.object_loop_joint is not None:
        raise IdentificationError("the object has a joint; expected a rigid object.")
    for arm in cell.scenario.cell.arms:
        if arm.contact.kind != "rigid":
            raise IdentificationError(
                f"arm {arm.name!r} holds the object by a {arm.contact.kind} contact, in which it "
                "can tilt or slip; expected rigid grasps."
            )


def _plant_of(recording: Recording) -> Scenario | None:
    """Return the scenario of a simulated plant; None of real arms."""
    if "applied_torque" not in recording:
        return None
    return scenario_of_text(str(recording.get("scenario_text")))


def _require_explained(fit: Fit, what: str) -> None:
    most = LARGEST_FACTOR if fit.white else _NOT_NOISE
    if fit.factor > most:
        raise _unexplained(fit, what, most)


def _unexplained(fit: Fit, what: str, most: float, more: str = "") -> IdentificationError:
    return IdentificationError(
        f"no {what} explains the recording: residuals are {fit.factor:.3g} times the assumed "
        f"noise, expected at most {most:g}; columns of other joints, other units, or effects that "
        f"the cell does not know{more}."
    )


_KINDS: dict[str, Callable[[_Given], Identification]] = {
    "payload": _payload,
    "sensors": _sensors,
    "arms": _arms,
    "drives": _drives,
    "frames": _frames,
    "offsets": partial(_frames, offsets=True),
    "surfaces": _surfaces,
}
