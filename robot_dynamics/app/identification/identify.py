# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`identify`: parameters of a cell from recordings of its runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from robot_dynamics.app.identification.inputs import Source, cell_of, input_of
from robot_dynamics.app.identification.payload_report import PayloadIdentification, plant_object
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.recording_files import load_recording
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.identification.held_object import HeldObject
from robot_dynamics.identification.motion import Noise
from robot_dynamics.identification.signals import IdentificationError

#: Cut-off frequency of the low-pass [Hz], well above that of motions of arms.
CUTOFF = 5.0
_LARGEST = 20.0  # residual over noise: the recording is not of this cell


def identify(
    recordings: Recording | str | Path | Iterable[Recording | str | Path],
    scenario: Scenario | str | Path | None = None,
    *,
    use: Source = "both",
    noise: Noise | None = None,
    cutoff: float = CUTOFF,
) -> PayloadIdentification:
    """Identify mass, centre of mass and inertia of the object that arms hold.

    Args:
        recordings: Recordings of runs in which the arms move the object, or their files.
        scenario: The scenario of the cell; as recorded by default.
        use: Joint torques, wrenches of wrist sensors, or both.
        noise: Standard deviations of the samples; see `Noise`.
        cutoff: Cut-off frequency of the low-pass [Hz].

    Raises:
        IdentificationError: If the recordings do not belong to the cell, or do not determine the
            object's mass.
        RecordingError: If a file cannot be read.
    """
    if use not in get_args(Source):
        raise UnknownNameError("use", use, get_args(Source))
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
    inputs = [input_of(one, cell, use) for one in loaded]
    equations = HeldObject(cell.kinematics, cell.grasps, noise or Noise(), cutoff)
    payload = equations.identify([one.motion for one in inputs])
    mass = payload.fit.names[0]
    if payload.fit.factor > _LARGEST:
        raise IdentificationError(
            f"no payload explains the recording: residuals are {payload.fit.factor:.3g} times the "
            f"assumed noise, expected at most {_LARGEST:g}; columns of other joints, other units, "
            "or forces that the cell does not know."
        )
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
        plant_object(str(loaded[0].get("scenario_text")))
        if "applied_torque" in loaded[0]
        else None
    )
    return PayloadIdentification(cell, payload, inputs, use, equations, plant)
