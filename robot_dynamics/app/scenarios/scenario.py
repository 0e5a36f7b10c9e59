# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios: their settings, the checks between them, and loading from files with overrides."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import yaml

from robot_dynamics.app.scenarios.acceptance import AcceptanceSettings
from robot_dynamics.app.scenarios.robot_folder import SCENARIO, shipped_robots
from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.gains import delay_margins
from robot_dynamics.control.reference import Reference, plan_reference
from robot_dynamics.control.rotation_path import from_rpy
from robot_dynamics.control.settings import (
    LAW_FACTS,
    ControlSettings,
    ReferenceSettings,
    SafetySettings,
    SegmentSettings,
)
from robot_dynamics.control.task_settings import PhaseSettings, check_order
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.files import refused
from robot_dynamics.description.yaml_document import YamlNode, decode, parse_yaml, read_yaml
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.hybrid.environment import PUSHED
from robot_dynamics.manipulation.settings import CellSettings, PoseSettings
from robot_dynamics.model.joints import joint_type
from robot_dynamics.resources import SCHEME, share_directory
from robot_dynamics.simulation import EngineName
from robot_dynamics.simulation.settings import PlantSettings

MOST_TICKS = 2_000_000  # control periods of a run: an hour at 500 Hz; each takes about a kilobyte
SUFFIXES = (".yaml", ".yml")
# libyaml's dumper writes the same bytes five times as fast.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Scenario:
    """All settings of a run.

    Attributes:
        cell: Robots, arms and object, as the controller's model has them.
        name: Name of the scenario.
        description: A sentence for people.
        reference: Motion and forces of the object, from a start at which the arms hold it.
        task: Phases of a run from free arms to free arms, instead of `reference`; see
            `control.task_settings`.
        control: Control law and its gains.
        safety: Limits that end a run.
        plant: The simulated plant, and its differences from the cell.
        acceptance: Thresholds of a good run.
        source: Place of the file, "file:line"; not a key of it.
    """

    cell: CellSettings
    name: str = "scenario"
    description: str = ""
    reference: ReferenceSettings = field(default_factory=ReferenceSettings)
    task: tuple[PhaseSettings, ...] = ()
    control: ControlSettings = field(default_factory=ControlSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)
    plant: PlantSettings = field(default_factory=PlantSettings)
    acceptance: AcceptanceSettings = field(default_factory=AcceptanceSettings)
    source: str = field(default="", metadata={"place": True}, compare=False)

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.cell.arms]
        surfaces = [surface.name for surface in self.cell.surfaces]
        touched = [touch.surface for touch in self.reference.touches]
        named: dict[str, tuple[str, Iterable[str], list[str]]] = {
            "plant.grasp_error": ("arm", self.plant.grasp_error, names),
            "plant.sensors.sample_periods": ("arm", self.plant.sensors.sample_periods, names),
            "plant.sensors.wrench_scale": ("arm", self.plant.sensors.wrench_scale, names),
            "plant.faults": ("arm", filter(None, (f.arm for f in self.plant.faults)), names),
            "plant.surface_error": ("surface", self.plant.surface_error, surfaces),
            "reference.touches": ("surface", touched, surfaces),
        }
        for key, (kind, given, known) in named.items():
            for name in given:
                if name not in known:
                    raise UnknownNameError(kind, name, known, key)
        contacts = [arm.name for arm in self.cell.arms if arm.contact.kind != "rigid"]
        if not self.control.law_facts.contacts and (contacts or surfaces or self.cell.coordinates):
            what = "surfaces" if surfaces else "coordinates"
            what = f"arm {contacts[0]!r} in its contact" if contacts else what
            able = " or ".join(name for name, law in LAW_FACTS.items() if law.contacts)
            raise ArgumentError(
                f"the cell has {what}, which the law {self.control.base_law!r} does not know; "
                f"expected control.{self.control.key_of_base_law}: {able}."
            )
        asked = "reference.touches" if self.reference.touches else "cell.coordinates"
        for_surfaces = self.reference.touches or self.cell.coordinates
        if for_surfaces and not self.control.law_facts.touches:
            raise ArgumentError(
                f"{asked} are for forces on surfaces, which the law {self.control.base_law!r} "
                "does not control; expected none, or the law 'hybrid'."
            )
        for touch in self.reference.touches:
            least = min([touch.force_n, *(change.force_n for change in touch.changes)])
            kind = self.cell.surfaces[surfaces.index(touch.surface)].kind
            if kind in PUSHED and least < 0.0:
                raise ArgumentError(
                    f"reference.touches wants {least:g} N on {touch.surface!r}, a {kind}, which "
                    "can only be pushed on; expected at least 0 N."
                )
        self._require_checked_stiffness()
        self._require_law_for_object()
        self._require_possible_task()
        self.plant.steps("step_s", self.control.period)
        self.plant.steps("mujoco_step_s", self.control.period)

    def _require_checked_stiffness(self) -> None:
        """Check that an admittance meets no surface stiffer than the stiffest one it is for."""
        stiffest = self.control.admittance.surface_stiffness
        for surface in self.cell.surfaces if self.control.law == "admittance" else ():
            if surface.stiffness > stiffest and not surface.holds:
                raise ArgumentError(
                    f"surface {surface.name!r} has a stiffness of {surface.stiffness:.6g} N/m, "
                    "but control.admittance.surface_stiffness, up to which the admittance is "
                    f"checked for chatter, is {stiffest:.6g} N/m; expected at least the "
                    "stiffness of the surface."
                )

    def _require_law_for_object(self) -> None:
        """Check that the law and the reference fit an object with or without a joint."""
        control, jointed = self.control, self.cell.object.joint is not None
        if jointed != control.law_facts.jointed:
            has, key = "a joint" if jointed else "no joint", control.key_of_base_law
            expected = " or ".join(
                repr(name)
                for name, law in LAW_FACTS.items()
                if law.jointed == jointed and law.holds_object
            )
            raise ArgumentError(
                f"control.{key} is {control.base_law!r}, but cell.object has {has}; expected "
                f"{expected}."
            )
        if self.reference.fold and not jointed:
            raise ArgumentError(
                "reference.fold moves a second part, but cell.object has no joint; expected none."
            )

    def refuse_task(self, what: str) -> None:
        """Refuse a scenario with a task where only a reference can be followed.

        Args:
            what: Subject of the message, which follows references only.

        Raises:
            ArgumentError: If there is a task.
        """
        if self.task:
            raise ArgumentError(
                f"{self.name} has a `task`, but {what} only references; expected a scenario with "
                "a `reference`. `simulate`, `demo`, the nodes and studies run tasks."
            )

    def _require_possible_task(self) -> None:
        """Check that a task, if there is one, fits the cell and the law."""
        if not self.task:
            if self.plant.object_error != PoseSettings():
                raise ArgumentError(
                    "plant.object_error moves an object that is not held at the start, but there "
                    "is no `task`; expected none, or plant.grasp_error."
                )
            return
        if self.reference != ReferenceSettings():
            raise ArgumentError(
                "both `task` and `reference` are given; expected one of them: a `carry` of the "
                "task has the segments of a reference."
            )
        if self.control.law != "hybrid":
            raise ArgumentError(
                f"control.law is {self.control.law!r}; expected 'hybrid' with a `task`."
            )
        if self.control.object_pose == "sensor":
            raise ArgumentError(
                "control.object_pose is 'sensor'; expected 'joints' with a `task`, which takes "
                "the pose from the arms alone."
            )
        check_order(self.task)
        for i, arm in enumerate(self.cell.arms):
            if arm.home is None or len(arm.home) != len(arm.posture):
                found = "missing" if arm.home is None else f"of {len(arm.home)} joints"
                raise ArgumentError(
                    f"cell.arms[{i}].home is {found}, expected the positions of "
                    f"{len(arm.posture)} joints: a task begins there."
                )

    @property
    def object_pose(self) -> Array:
        """Pose of the object at the start, x y z qx qy qz qw in the world (7,)."""
        xyz, rpy = self.cell.object.xyz, self.cell.object.rpy
        return np.concatenate([xyz, from_rpy(rpy)])

    @property
    def home(self) -> Array:
        """Positions of the arm joints at the start of a task (na,)."""
        return np.concatenate([arm.home or () for arm in self.cell.arms])

    @property
    def start_tick(self) -> int:
        """Control period in which the reference begins, after the ramp of the gains."""
        return max(1, round(self.control.start.ramp_s / self.control.period))

    def plan(self) -> Reference:
        """Return the reference of the object, in time since `start_tick`.

        For a law with contacts it is the motion alone: forces depend on the contacts, see
        `laws.hybrid_reference`. For an object with a joint it is the motion of the first part,
        until the fold ends. Without a held object the pose is constant.

        Raises:
            ArgumentError: If it asks for a squeeze in a basis of internal forces that has none,
                or takes too many control periods.
        """
        settings, law, joint = self.reference, self.control.law_facts, self.cell.object.joint
        orthonormal = self.control.internal_force.basis == "orthonormal"
        if orthonormal and any(step.squeeze_n is not None for step in settings.force):
            raise ArgumentError(
                "reference.force gives a squeeze, which the basis 'orthonormal' of "
                "control.internal_force does not have; expected 'wrench' with its coordinates."
            )
        squeeze: Array | None = None  # that of rigid grasps
        if law.contacts:
            steps = tuple(replace(step, squeeze_n=0.0, wrench=None) for step in settings.force)
            settings, squeeze = replace(settings, force=steps), np.ones(1)
        elif joint is not None:
            path, fold = (
                sum(one.duration_s for one in part) for part in (settings.segments, settings.fold)
            )
            rest = (SegmentSettings(fold - path),) if fold > path else ()
            settings = replace(settings, segments=(*settings.segments, *rest))
            squeeze = np.zeros(len(joint_type(joint.type).rows))
        elif not law.holds_object:
            pauses = tuple(SegmentSettings(one.duration_s) for one in settings.segments)
            settings = ReferenceSettings(pauses)
        reference = plan_reference(
            settings, self.object_pose, len(self.cell.arms), squeeze=squeeze
        )
        self.ticks(reference)
        return reference

    def ticks(self, reference: ObjectPlan, duration: float | None = None) -> int:
        """Return the number of control periods of a run.

        Args:
            reference: Reference of the object.
            duration: Simulated time [s]; that of start and reference by default.

        Raises:
            ArgumentError: If the duration is not a positive number, or the run takes more than
                `MOST_TICKS` control periods.
        """
        if duration is None:
            seconds = self.start_tick * self.control.period + reference.duration
        else:
            seconds = positive_number("duration", duration)
        if not seconds / self.control.period <= MOST_TICKS:
            raise ArgumentError(
                f"a run of {seconds:g} s at {self.control.rate_hz:g} Hz is too long to be kept; "
                f"expected at most {MOST_TICKS * self.control.period:g} s."
            )
        if duration is None:
            return self.start_tick + math.ceil(reference.duration / self.control.period)
        return max(1, round(duration / self.control.period))

    def warnings(self) -> list[str]:
        """Return warnings about settings that can be simulated but are likely to fail."""
        return [*self._delay_warnings(), *self._uncontrolled_environment_joints()]

    def _delay_warnings(self) -> list[str]:
        """Return a sentence for each servo that the plant's command delay makes unstable.

        The controller refuses servos that are unstable with the delay it believes in. A plant
        with a longer delay can be simulated; the warning explains its divergence.
        """
        delay = self.plant.command_delay_periods
        if delay <= self.control.command_delay_periods or self.control.law not in LAW_FACTS:
            return []  # the controller's own check is stricter, or the servos are not used
        return [
            f"plant.command_delay_periods is {delay}, with which the servo control.{servo} is "
            "unstable; "
            f"expected a delay shorter by {-1e3 * margin:.2g} ms, or a lower bandwidth."
            for servo, margin in delay_margins(self.control, delay).items()
            if margin < 0.0
        ]

    def _uncontrolled_environment_joints(self) -> list[str]:
        """Return a sentence for each hinge or line that the reference leaves uncontrolled.

        The object is on it throughout the run: position control alone works against it.
        """
        end = sum(segment.duration_s for segment in self.reference.segments)
        found = []
        for surface in self.cell.surfaces:
            controlled_until = 0.0
            touches = [one for one in self.reference.touches if one.surface == surface.name]
            for touch in sorted(touches, key=lambda one: one.from_s):
                if touch.from_s <= controlled_until:
                    controlled_until = max(controlled_until, touch.until_s)
            if surface.holds and controlled_until < end:
                found.append(
                    f"the object is on {surface.kind} {surface.name!r} from beginning to end, but "
                    f"reference.touches does not have it from {controlled_until:g} s on; "
                    "expected a touch "
                    f"of it, or arms and {surface.kind} work against each other."
                )
        return found

    def changed(self, overrides: Iterable[str]) -> Scenario:
        """Return the scenario with some values replaced, as "plant.object_mass_scale=1.2".

        Raises:
            DescriptionError: If an override is refused.
        """
        if overrides in ((), []):
            return self
        changed = _anchored(decode(Scenario, with_overrides(self._document, overrides)))
        return dataclasses.replace(changed, source=self.source)

    def text(self) -> str:
        """Return the scenario as YAML that extends no other file."""
        return self._text

    @cached_property
    def _document(self) -> YamlNode:
        # The text is generated: its line numbers have no meaning for a user.
        return parse_yaml(self.text(), self.name).without_lines()

    @cached_property
    def _text(self) -> str:
        document = dataclasses.asdict(self)
        del document["source"]
        return yaml.dump(_plain(document), Dumper=_DUMPER, sort_keys=False, allow_unicode=True)


def load_scenario(
    name: Scenario | str | Path, overrides: Iterable[str] = (), plant: EngineName | None = None
) -> Scenario:
    """Return the scenario of a file, or a shipped one by its name.

    Args:
        name: A YAML file, the name of a shipped scenario ("lift_box"), or a scenario itself.
        overrides: Values to replace, as "plant.object_mass_scale=1.2".
        plant: Engine of the plant; the scenario's own by default.

    Raises:
        DescriptionError: If the file, one that it extends, or an override is refused; with every
            problem and its place.
        UnknownNameError: If there is neither such a file nor a shipped scenario of this name, or
            no such plant.
    """
    if plant is not None and plant not in get_args(EngineName):
        raise UnknownNameError("plant", plant, get_args(EngineName))
    if isinstance(name, Scenario):
        scenario = name.changed(overrides)
    else:
        document = with_overrides(read_yaml(find_scenario(name)), overrides)
        scenario = _anchored(decode(Scenario, document))
    return scenario.changed([f"plant.engine={plant}"]) if plant is not None else scenario


def scenario_of_text(text: str, name: str = "<text>") -> Scenario:
    """Return the scenario of `Scenario.text`."""
    return decode(Scenario, parse_yaml(text, name))


def shipped_scenarios() -> dict[str, Path]:
    """Return the shipped scenarios: name to file."""
    folder = share_directory() / "config" / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_scenario(name: str | Path) -> str | Path:
    """Return the file of a scenario: an existing file of this name, else a shipped one.

    The folder of a robot means the scenario in it.

    Raises:
        UnknownNameError: If there is neither.
        ArgumentError: If `name` is neither text nor a path.
    """
    if not isinstance(name, (str, Path)):
        raise ArgumentError(f"scenario is {name!r}; expected a file or a name.")
    path = Path(name)
    if path.is_file() or str(name).startswith(SCHEME):
        return name
    if (path / SCENARIO).is_file():
        return path / SCENARIO
    robots = {robot: folder / SCENARIO for robot, folder in shipped_robots().items()}
    shipped = {**shipped_scenarios(), **robots}
    stem = path.stem if path.suffix in SUFFIXES else path.name
    if str(path.parent) == "." and stem in shipped:
        return shipped[stem]
    if path.is_dir():
        raise ArgumentError(f"{name}: is a folder without {SCENARIO}, expected one with it.")
    if path.suffix in SUFFIXES or os.sep in str(name):
        return path  # reading it raises an error with similar names
    for file in (f"{name}{suffix}" for suffix in SUFFIXES):
        if Path(file).is_file():
            raise ArgumentError(f"unknown scenario {str(name)!r}; did you mean {file!r}?")
    raise UnknownNameError("scenario", str(name), [*shipped, "FILE.yaml", "FOLDER"])


def anchored(name: str, source: str) -> str:
    """Return the name of a controller with the path of its file absolute.

    Args:
        name: As in `control.law`.
        source: Place of the scenario, "file:line"; a file that is not in the working directory
            is beside it.
    """
    file, colon, rest = name.rpartition(":")
    if not file.endswith(".py"):
        return name
    beside = os.path.join(os.path.dirname(source.rpartition(":")[0]), file)
    path = beside if os.path.exists(beside) and not os.path.exists(file) else file
    return f"{os.path.abspath(path)}{colon}{rest}"


def _anchored(scenario: Scenario) -> Scenario:
    """Return the scenario with absolute paths of its files."""
    cell = scenario.cell
    robots = tuple(replace(robot, urdf=os.path.abspath(robot.urdf)) for robot in cell.robots)
    joint = cell.object.joint
    joint = joint and replace(joint, urdf=os.path.abspath(joint.urdf))
    held = replace(cell.object, urdf=os.path.abspath(cell.object.urdf), joint=joint)
    law = anchored(scenario.control.law, scenario.source)
    return replace(
        scenario,
        cell=replace(cell, robots=robots, object=held),
        control=replace(scenario.control, law=law),
    )


def _plain(value: Any) -> Any:
    """Return a value with tuples as lists, for YAML."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


#: Place of a problem with an override, before its text.
OPTION = "--set"
_INDEX = re.compile(r"\[(\d+)\]")


def with_overrides(document: YamlNode, overrides: Iterable[str]) -> YamlNode:
    """Return a document with some values replaced.

    Each override is `KEY=VALUE`: keys joined by dots, numbers for the entries of lists (from 0),
    as "cell.surfaces.0.xyz" or, as problems are reported, "cell.surfaces[0].xyz"; and a YAML
    value, which is checked like one in the file. Keys that the file omits are accepted.

    Args:
        document: The document, a mapping.
        overrides: The overrides; later ones win.

    Raises:
        DescriptionError: If an override has no key or no value, or names an entry that a list
            does not have.
        ArgumentError: If they are not a list of texts.
    """
    if isinstance(overrides, str):
        raise ArgumentError(
            f"overrides are the text {overrides!r}; expected a list of such texts."
        )
    if isinstance(overrides, Mapping):
        texts = [f"{key}={value}" for key, value in overrides.items()]
        raise ArgumentError(
            f"overrides are a mapping, expected a list of texts, {texts[:1]} and so on."
        )
    texts = list(overrides) if isinstance(overrides, Iterable) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise ArgumentError(
            f"overrides are {overrides!r}; expected a list of texts as "
            "'plant.object_mass_scale=1.2'."
        )
    for override in texts:
        key, equals, text = override.partition("=")
        place = f"{OPTION} {override}"
        keys = _INDEX.sub(r".\1", key.strip()).split(".")
        if not equals or not all(keys):
            raise refused(place, "expected KEY=VALUE", "for instance plant.object_mass_scale=1.2")
        try:
            value = parse_yaml(text, place).without_lines(key.strip())
        except DescriptionError as error:
            # The override is one line: its number has no meaning.
            raise DescriptionError([replace(one, place=place) for one in error.problems]) from None
        document = _replaced(document, keys, value, place)
    return document


def _replaced(node: YamlNode, keys: list[str], value: YamlNode, place: str) -> YamlNode:
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(node.value, list):
        if not (first.isdigit() and int(first) < len(node.value)):
            count = len(node.value)
            raise refused(
                place, f"{node.path} has {count} entries, expected a number from 0 to {count - 1}"
            )
        items = list(node.value)
        items[int(first)] = _replaced(items[int(first)], rest, value, place)
        return replace(node, value=items)
    entries = dict(node.value) if node.is_mapping else {}
    path = f"{node.path}.{first}" if node.path else first
    child = entries.get(first, YamlNode(None, place, 0, 0, path))
    entries[first] = _replaced(child, rest, value, place)
    lines = {name: line for name, line in node.key_lines.items() if name != first}
    if node.is_mapping:
        return replace(node, value=entries, key_lines=lines)
    return YamlNode(entries, place, 0, 0, node.path)
