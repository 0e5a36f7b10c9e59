# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorders of the two sides of a run: the plant with its true state, and the controller.

`simulate()` uses both in one process; of the two nodes each uses one, and the recordings are
merged by tick.
"""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.recording import TICK, Recorder, Recording
from robot_dynamics.app.scenarios.cell import (
    has_contacts,
    hybrid_system_of,
    surface_facts,
    surface_rows,
)
from robot_dynamics.app.scenarios.laws import distribution_of
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import HoldsObject, TakesReferences
from robot_dynamics.control.control_law import ControlLaw, LawStep
from robot_dynamics.control.controller import of_observer
from robot_dynamics.control.settings import LAW_FACTS
from robot_dynamics.control.settled import settled_rows, settled_until
from robot_dynamics.manipulation.grasp_map import internal_force_unit
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport, friction_used
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.sensors import Measurement
from robot_dynamics.version import find_version

_FORCE = "estimated_internal_force"
_CONTROL_UNITS = {  # of the controller's side, in addition to the units of its law
    TICK: "control periods",
    "commanded_torque": "N m or N, from the control period's measurement",
    "step_time": "us, of one control step",
}
_MEASURED_UNITS = {
    "joint_position": "rad or m, measured",
    "joint_velocity": "rad/s or m/s, measured",
    "grasp_wrench": "N m, N: moment, force for each arm, by the arm on the object, measured in "
    "the tool frame",
}
_PLANT_UNITS = {  # of the plant's side, where it has such a column
    TICK: "control periods",
    "time": "s",
    **_MEASURED_UNITS,
    "object_pose": "m, -: x y z qx qy qz qw in the world, true",
    "object_twist": "rad/s, m/s: angular velocity, velocity of the origin, world axes, true",
    "closure_position": "m, largest gap of a grasp, true",
    "closure_rotation": "rad, largest gap of a grasp, true",
    "correction": "m or rad, the last projection of the positions",
    "applied_torque": "N m or N, over the last period",
    "contact_force": "N, force of the object on each surface, true; of hinges and lines the "
    "size of the force",
    "holding_force": "N, N m: by the object on hinges and lines, in the order of `holding_rows`, "
    "true",
    "surface_slip": "m, sliding distance of the object on each surface, true",
    "grasp_gap": "m, distance of each palm from the plane of its face, or of each open gripper "
    "from its grasp, true",
    "grasp_slip": "m, sliding distance of each grasp on the object, true",
    "grasp_tilt": "rad, angle of each soft finger to the object's face while they touch, true",
    "friction_used": "used part of each grasp's friction, true",
    "passive_position": "rad or m: of `passive_joints`, true",
    "passive_velocity": "rad/s or m/s: of `passive_joints`, true",
    "second_pose": "as object_pose, of the second part",
    "second_twist": "as object_twist, of the second part",
}


_CONTROL_MEASURED_UNITS = {
    **_MEASURED_UNITS,
    "measured_pose": "m, -: x y z qx qy qz qw of the object in the world, measured",
    "measured_twist": "rad/s, m/s: angular velocity, velocity of the origin, world axes, measured",
}


def common_metadata(
    scenario: Scenario, system: GraspSystem, units: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata common to both sides of a run.

    Args:
        scenario: The scenario.
        system: Arms and object.
        units: Unit, order and meaning of each column; see `control_units`.
    """
    effort = system.limits["effort"].tolist()
    acceptance: dict[str, float] = {}
    if soft_fingers(scenario) and np.isfinite(scenario.safety.tilt_limit_deg):
        acceptance["grasp_tilt_max_deg"] = scenario.safety.tilt_limit_deg
    acceptance |= scenario.acceptance.thresholds(scenario.plant.engine)
    return {
        "scenario": scenario.name,
        "scenario_text": scenario.text(),
        "plant": scenario.plant.engine,
        "law": scenario.control.law,
        "seed": scenario.plant.seed,
        "period_s": scenario.control.period,
        "warnings": [*scenario.warnings(), *unbounded_drives(system)],
        "plant_delay_periods": scenario.plant.command_delay_periods,
        "arms": [arm.name for arm in system.arms],
        "joints": list(system.joint_names),
        "joint_units": list(system.joint_units),
        "passive_joints": list(system.passive_joint_names),
        "arm_joints": [len(arm.joints) for arm in system.arms],
        "tools": [arm.tool for arm in system.arms],
        "object": system.model.bodies[system.object_body].name,
        "effort_limits": [limit if np.isfinite(limit) else None for limit in effort],
        "acceptance": acceptance,
        "expected_stop": scenario.acceptance.stop,
        **_contact_metadata(scenario.cell),
        "units": dict(units),
        "versions": {
            "robot_dynamics": find_version(),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _contact_metadata(cell: CellSettings) -> dict[str, Any]:
    """Return the metadata of contacts; empty if all grasps are rigid and there is no surface."""
    if not has_contacts(cell):
        return {}
    held = {surface.name for surface in cell.surfaces if surface.holds}
    rows, facts = surface_rows(cell), surface_facts(cell).rows
    return {
        # Columns of `reference_contact_force` that belong to hinges and lines, with their axes.
        "holding_rows": [
            [row.name, i, row.force_unit] for i, row in enumerate(facts) if row.name in held
        ],
        "holding_axes": [row.axis for row in facts if row.name in held],
        "surfaces": list(rows),
        "surface_rows": [at.start for at in rows.values()],
        "slip_tolerance_m": SLIP_TOLERANCE_M,
    }


class PlantRecorder:
    """Records the measurements of the plant and its true state.

    Args:
        scene: The plant's scene.
        scenario: The scenario.
        ticks: Control periods of the run; None if nothing limits it.
    """

    def __init__(self, scene: Scene, scenario: Scenario, ticks: int | None) -> None:
        system = scene.system
        na, k = len(system.joint_names), len(system.arms)
        self._contacts = _contact_recorder(scenario, scene)
        names = _internal_force_names(scenario, system)
        widths = {
            TICK: 0,
            "time": 0,
            "joint_position": na,
            "joint_velocity": na,
            "grasp_wrench": 6 * k,
            # From here on in the order of `Truth.values`.
            "closure_position": 0,
            "closure_rotation": 0,
            "correction": 0,
            "object_pose": 7,
            "object_twist": 6,
        }
        if system.object_loop_joint is not None:
            widths |= {"second_pose": 7, "second_twist": 6}
        # With contacts the internal force follows from the contact wrenches.
        contacts = self._contacts
        self._motion = 3 + 13 * len(system.object_bodies)
        if contacts is None and names:
            widths["internal_force"] = len(names)
        widths |= {"applied_torque": na, **(contacts.columns if contacts is not None else {})}
        self._passive_joints = passive = len(system.passive_joint_names)
        if passive:
            widths |= {"passive_position": passive, "passive_velocity": passive}
        self._units = {**_PLANT_UNITS, "internal_force": f"{internal_force_unit(names)}: true"}
        self._metadata = {**common_metadata(scenario, system, {}), "ticks": ticks}
        self.recorder = Recorder(widths, ticks or sys.maxsize)

    def end_at(self, ticks: int) -> None:
        """Expect that many control periods: the run has ended early, as it should."""
        self._metadata["ticks"] = ticks

    def write(self, measurement: Measurement, plant: ScenePlant) -> None:
        """Record one control period, before the plant's next step.

        Args:
            measurement: Measurement of the period.
            plant: The plant.
        """
        tick, time, q, qd, wrenches = measurement
        truth = plant.truth()
        vectors = [q, qd, wrenches.ravel(), truth.values, truth.torque]
        if self._contacts is not None:
            vectors[3] = vectors[3][: self._motion]  # without the internal force
            vectors += self._contacts.values(plant.contacts())
        if self._passive_joints:
            vectors += plant.passive_joints()
        self.recorder.write((tick, time), vectors)

    def finish(self, *, last: bool = False, **metadata: Any) -> Recording:
        """Return the recording.

        Args:
            last: Whether to return the last row alone.
            metadata: `wall_time_s` (duration of the run), `plant_step_median_us` (duration of a
                period of the plant), `plant_state_hash`, and further facts about the run (JSON
                values).
        """
        columns = self.recorder.recording({}, last=last).columns
        if self._contacts is not None:
            columns = self._contacts.finish(columns)
        elif "internal_force" not in columns:  # of a single rigid grasp
            columns["internal_force"] = np.zeros((len(columns[TICK]), 0))
        units = {name: self._units[name] for name in columns}
        return Recording(columns, {**self._metadata, "units": units, **metadata})


class ControlRecorder:
    """Records the estimates and commands of the controller.

    Args:
        law: The law that runs.
        scenario: The scenario.
        ticks: Control periods of the run.
        measured: Widths of the controller's measured columns, by name; empty if the plant's
            recorder has them.
        topics: Topics after remapping, by their names in `topic_names`.
    """

    def __init__(
        self,
        law: ControlLaw,
        scenario: Scenario,
        ticks: int,
        *,
        measured: Mapping[str, int] | None = None,
        topics: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._law, self._scenario = law, scenario
        own = dict(measured or {})
        units = {**control_units(law), **{name: _CONTROL_MEASURED_UNITS[name] for name in own}}
        self._metadata = common_metadata(scenario, law.system, units)
        if topics is not None:
            self._metadata["topics"] = dict(topics)
        widths = {TICK: 0, "step_time": 0, "commanded_torque": len(law.system.joint_names)}
        self._nothing = (np.full(sum(law.columns.values()), np.nan),)
        # Every recording has an internal force, which is zero without a held object.
        count = len(law.internal_force_names)
        self._unheld = () if isinstance(law, HoldsObject) else (np.zeros(count),)
        unheld = {_FORCE: count} if self._unheld else {}
        self._streamed: dict[int, Array] = {}
        self.recorder = Recorder({**widths, **law.columns, **unheld, **own}, ticks)

    def write(
        self,
        tick: int,
        torque: Array,
        step: LawStep | None,
        elapsed_us: float,
        *,
        measured: Sequence[Array] = (),
        streamed: bool = False,
    ) -> None:
        """Record one control step.

        Args:
            tick: Its control period.
            torque: Torque sent (na,): of the step, or of a fallback.
            step: Step of the law; None while it does not run.
            elapsed_us: Duration of the step [us].
            measured: Measurements, in the order of the columns.
            streamed: Whether the reference was streamed, instead of the law's own plan.
        """
        if streamed and step is not None:
            self._streamed[self.recorder.count] = np.array(step.reference)
        seen = self._nothing if step is None else step.recorded
        self.recorder.write((tick, elapsed_us), (torque, *seen, *self._unheld, *measured))

    def finish(self, start_tick: int, *, last: bool = False, **metadata: Any) -> Recording:
        """Return the recording, with the reference of each control period.

        Args:
            start_tick: The control period in which the reference began.
            last: Whether to return the last row alone.
            metadata: `start_to_first_torque_s`, `fault` and `fault_time_s` (cause and time of a
                stop), and further facts about the run (JSON values).
        """
        law, period = self._law, self._scenario.control.period
        recording = self.recorder.recording({}, last=last)
        times = (recording[TICK] - start_tick) * period
        end = float(times[-1]) if len(times) else 0.0
        own = reference_metadata(self._scenario, law, start_tick, end)
        references = planned_columns(law, times)
        if self._streamed:
            first = self._overwrite(references, law, self.recorder.count - len(times))
            settle_s, offset = own["settle_s"], start_tick * period
            begin = (recording[TICK][first] * period) if first < len(times) else offset
            still = _at_rest(references, first)
            if "holding" in recording:  # free hands follow no reference of the object
                still &= recording["holding"].ravel()[first:] > 0.0
            resting = [
                [a + begin, b + begin] for a, b in settled_rows(still.tolist(), period, settle_s)
            ]
            before = [[a, b] for a, b in own["settled_intervals_s"] if b <= begin]
            own["settled_intervals_s"] = before + resting
        columns = {**recording.columns, **references}
        return Recording(columns, {**self._metadata, **own, **metadata})

    def _overwrite(self, references: dict[str, Array], law: ControlLaw, skipped: int) -> int:
        """Replace the plan by the streamed references; return the first row replaced.

        While the law does not run, the last streamed reference is kept.

        Args:
            references: Columns of the plan, which are changed.
            law: The law that runs.
            skipped: Number of rows before those of the columns.
        """
        at, count = sorted(self._streamed), len(references["reference_pose"])
        first = max(at[0] - skipped, 0)
        last = np.searchsorted(at, skipped + np.arange(first, count), side="right") - 1
        rows = np.array([self._streamed[at[i]] for i in last])
        for name, values in law.reference_columns(rows).items():
            references[name] = np.concatenate([references[name][:first], values])
        return first


def planned_columns(law: ControlLaw, times: Array) -> dict[str, Array]:
    """Return the columns of a recording that show the plan at times (N,) [s]."""
    plan = law.reference
    bodies = law.bodies(plan, 0) if isinstance(law, TakesReferences) else (plan,)
    return law.reference_columns(np.hstack([body.rows(times) for body in bodies]))


def control_units(law: ControlLaw) -> dict[str, str]:
    """Return unit, order and meaning of each column of the controller's side of a run."""
    units = law.units
    own = {
        name: units[name] for name in (*law.columns, _FORCE, *planned_columns(law, np.zeros(1)))
    }
    return {**_CONTROL_UNITS, **own}


def reference_metadata(
    scenario: Scenario, law: ControlLaw, start_tick: int, end: float
) -> dict[str, Any]:
    """Return the metadata of the reference of a run, and of the law that follows it.

    Args:
        scenario: The scenario.
        law: The law that runs.
        start_tick: The control period in which the reference began.
        end: Time since then at which the run ended [s].
    """
    settle_s, offset = scenario.acceptance.settle_s, start_tick * scenario.control.period
    first = min([a for a, _ in law.reference.settled_intervals(settle_s)], default=None)
    if first is None:
        first = law.reference.duration + settle_s
    intervals = settled_until(law.reference, settle_s, end)
    of_law = dict(law.metadata)
    warnings = of_law.pop("warnings", [])
    if scenario.control.law not in LAW_FACTS:  # the law observes; its gains are not used
        of_law.pop("object_gains", None)
        warnings = list(map(of_observer, warnings))
    return {
        "holds_object": isinstance(law, HoldsObject),
        "law_warnings": warnings,
        "settled_intervals_s": [[a + offset, b + offset] for a, b in intervals],
        "settle_s": settle_s,
        "first_settled_s": first + offset,
        "reference_start_tick": start_tick,
        **of_law,
    }


def _at_rest(references: dict[str, Array], first: int) -> NDArray[np.bool_]:
    """Return for the rows from the first one on whether neither motion nor force changes."""
    force = references["reference_internal_force"][first:]
    still = ~references["reference_twist"][first:].any(axis=1)
    return np.asarray(still & ~np.diff(force, axis=0, prepend=force[:1]).any(axis=1))


def soft_fingers(scenario: Scenario) -> list[str]:
    """Return the names of the arms that hold the object by soft fingers."""
    return [arm.name for arm in scenario.cell.arms if arm.contact.kind == "soft_finger"]


def _contact_recorder(scenario: Scenario, scene: Scene) -> ContactRecorder | None:
    if scene.rigid:
        return None
    arms = {
        arm.name: contact.friction if contact.pushing else None
        for arm, contact in zip(scenario.cell.arms, scene.contacts, strict=True)
    }
    surfaces = [surface.name for surface in scenario.cell.surfaces]
    recovery = scene.grasp_map.recovery
    rows = surface_facts(scenario.cell).rows
    holding = {
        surface.name: [(row.component, row.sign) for row in rows if row.name == surface.name]
        for surface in scenario.cell.surfaces
        if surface.holds
    }
    pads = soft_fingers(scenario)
    return ContactRecorder(arms, surfaces, scenario.control.period, recovery, holding, pads)


def _internal_force_names(scenario: Scenario, system: GraspSystem) -> tuple[str, ...]:
    """Return the names of the plant's internal forces, in the basis of the law."""
    if not scenario.control.law_facts.contacts:
        return system.internal_force_names
    return distribution_of(scenario, hybrid_system_of(scenario.cell, system)).names


SLIP_TOLERANCE_M = 1e-3  # creep of a contact that does not count as slip
_APART_M = 1e-6  # gap at the start above which a palm is apart from the object


class ContactRecorder:
    """Accumulates the slip and forces of contacts.

    Open contacts slip as well, so that a dropped object shows, except of palms that are apart from
    the object in the first row.

    Args:
        arms: Friction cone of each arm's contact, by name; None if it cannot slip.
        surfaces: Names of the surfaces.
        period: Control period [s].
        recovery: Internal force of the arms' wrenches in their contacts' frames (m, 6k).
        holding: For each hinge and line, by name, the component of the wrench in its axes,
            angular first, and the sign of each of its forces.
        soft_fingers: Names of the arms whose contacts are soft fingers.
    """

    def __init__(
        self,
        arms: Mapping[str, FrictionCone | None],
        surfaces: Sequence[str],
        period: float,
        recovery: Array,
        holding: Mapping[str, Sequence[tuple[int, float]]] | None = None,
        soft_fingers: Sequence[str] = (),
    ) -> None:
        self._recovery = recovery
        self._cones = tuple(arms.values())
        self._surfaces = {name: i for i, name in enumerate(surfaces)}
        self._holding = dict(holding or {})
        self._soft_fingers = [list(arms).index(name) for name in soft_fingers]
        self._period = period
        self._grasp_slip, self._surface_slip = [0.0] * len(arms), [0.0] * len(surfaces)
        self._apart: list[bool] | None = None  # at the start

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that is recorded; `finish` makes others of the wrenches."""
        k, s = len(self._cones), len(self._surfaces)
        every = {"contact_wrench": 6 * k, "grasp_slip": k, "contact_force": s, "surface_slip": s}
        every["holding_force"] = sum(map(len, self._holding.values()))
        every |= {"grasp_tilt": len(self._soft_fingers), "grasp_gap": k}
        return {name: width for name, width in every.items() if width}

    def finish(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Return columns with the internal force and the friction used in place of the wrenches.

        Internal forces are measured in the contacts' frames: palms may have turned on the object.
        """
        wrenches = columns["contact_wrench"]
        of_arms = np.hsplit(wrenches, len(self._cones))
        used = [friction_used(*pair) for pair in zip(self._cones, of_arms, strict=True)]
        made = {
            "internal_force": wrenches @ self._recovery.T,
            "friction_used": np.minimum(np.column_stack(used), 1.0),
        }
        return {**{k: v for k, v in columns.items() if k != "contact_wrench"}, **made}

    def values(self, contacts: Sequence[ContactReport]) -> tuple[Array, ...]:
        """Return the values of the columns at a control instant.

        Args:
            contacts: Reports of the plant: arms, points on surfaces, hinges and lines.
        """
        k, period = len(self._cones), self._period
        wrenches: list[Array] = []
        if self._apart is None:
            self._apart = [one.gap > _APART_M for one in contacts[:k]]
        for i, contact in enumerate(contacts[:k]):
            open_ = contact.state is ContactMode.OPEN and not self._apart[i]
            if open_ or contact.state is ContactMode.SLIDING:
                self._grasp_slip[i] += period * math.hypot(*contact.slip.tolist())
            wrenches += contact.moment, contact.force
        found = [np.concatenate(wrenches), np.array(self._grasp_slip)]
        by_name: dict[str, list[float]] = {}
        if self._surfaces:
            force, moving = [0.0] * len(self._surfaces), [0.0] * len(self._surfaces)
            for contact in contacts[k:]:
                at = self._surfaces[contact.name]
                if contact.name in self._holding:
                    force[at] = math.hypot(*contact.force.tolist())
                    by_name[contact.name] = [*contact.moment.tolist(), *contact.force.tolist()]
                    continue
                force[at] += float(contact.force[2])
                if contact.state is ContactMode.SLIDING:
                    moving[at] = max(moving[at], math.hypot(*contact.slip.tolist()))
            for at, speed in enumerate(moving):
                self._surface_slip[at] += period * speed
            found += np.array(force), np.array(self._surface_slip)
        if self._holding:
            rows = [
                -sign * by_name[name][component]
                for name, of_one in self._holding.items()
                for component, sign in of_one
            ]
            found.append(np.array(rows))
        if self._soft_fingers:
            seen = [contacts[i] for i in self._soft_fingers]
            tilts = [0.0 if one.state is ContactMode.OPEN else one.tilt for one in seen]
            found.append(np.array(tilts))
        found.append(np.array([one.gap for one in contacts[:k]]))
        return tuple(found)


def unbounded_drives(system: GraspSystem) -> list[str]:
    """Return a sentence if descriptions have drives without effort limits; else empty.

    Joints that follow the drives of an arm with internal closed chains need no limit.

    Args:
        system: Arms and object.
    """
    efforts = zip(system.joint_names, system.limits["effort"], strict=True)
    names = [name for name, effort in efforts if not np.isfinite(effort)]
    if not names:
        return []
    whose = f"drive {names[0]} has" if len(names) == 1 else f"drives {', '.join(names)} have"
    return [
        f"{whose} no limit of effort, so that nothing bounds the torque; expected one in the "
        "description, as <limit effort=...> in a URDF."
    ]
