# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario: cell, reference, control, safety, plant and thresholds, and how it is loaded."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from robot_dynamics.app.scenarios.acceptance import AcceptanceSettings
from robot_dynamics.app.scenarios.cell import (
    first_part,
    grasp_system_of,
    pose_matrix,
    require_matching_law,
    uncontrolled_environment_joints,
)
from robot_dynamics.app.scenarios.controllers import anchored
from robot_dynamics.app.scenarios.robot_folder import SCENARIO, shipped_robots
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
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.files import refused
from robot_dynamics.description.yaml_document import YamlNode, decode, parse_yaml, read_yaml
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.hybrid.environment import PUSHED
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.resources import SCHEME, share_directory
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.spatial import Inertia
from robot_dynamics.spatial.vector3 import Symmetric3, Vector3, cross_products

Array = NDArray[np.float64]

DEFAULT = "lift_box"
MOST_TICKS = 2_000_000  # control periods of a run: an hour at 500 Hz; each takes about a kilobyte
SUFFIXES = (".yaml", ".yml")
# That of libyaml writes the same bytes five times as fast, where it is there.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Scenario:
    """Everything that a run depends on.

    Attributes:
        cell: Robots, arms and the object, as the controller believes them to be.
        name: What it is called.
        description: What happens in it, for people.
        reference: What the object is to do.
        control: How the arms are controlled.
        safety: What ends a run.
        plant: The simulated plant, and how it differs from the cell.
        acceptance: When a run counts as good.
        source: The file it was read from; no key of it.
    """

    cell: CellSettings
    name: str = "scenario"
    description: str = ""
    reference: ReferenceSettings = field(default_factory=ReferenceSettings)
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
        require_matching_law(self.cell.object, self.control, self.reference)
        self.plant.steps("step_s", self.control.period)
        self.plant.steps("mujoco_step_s", self.control.period)

    @property
    def object_pose(self) -> Array:
        """The object's pose at the start, x y z qx qy qz qw in the world (7,)."""
        xyz, rpy = self.cell.object.xyz, self.cell.object.rpy
        return np.concatenate([xyz, from_rpy(rpy)])

    @property
    def start_tick(self) -> int:
        """The control period in which the reference begins: control ramps in before."""
        return max(1, round(self.control.start.ramp_s / self.control.period))

    def plan(self) -> Reference:
        """Return what the object is to do, counted from `start_tick` on.

        For a law with contacts that is the motion alone: forces depend on the contacts, see
        `laws.hybrid_reference`. Of an object with a joint it is the motion of the first part, for
        as long as the fold takes. Where arms hold no object, it stays where it is for as long.

        Raises:
            ArgumentError: If it asks for a squeeze in a basis of internal forces that has none,
                or takes too many control periods.
        """
        orthonormal = self.control.internal_force.basis == "orthonormal"
        if orthonormal and any(step.squeeze_n is not None for step in self.reference.force):
            raise ArgumentError(
                "reference.force gives a squeeze, which the basis 'orthonormal' of "
                "control.internal_force does not have; expected 'wrench' with its coordinates."
            )
        law = self.control.law_facts
        if law.contacts:
            steps = tuple(
                replace(step, squeeze_n=0.0, wrench=None) for step in self.reference.force
            )
            settings = replace(self.reference, force=steps)
            reference = plan_reference(settings, self.object_pose, squeeze=[1.0])
        elif self.cell.object.joint is not None:
            reference = first_part(self.reference, self.cell.object.joint, self.object_pose)
        elif not law.holds_object:
            pauses = tuple(SegmentSettings(one.duration_s) for one in self.reference.segments)
            reference = plan_reference(
                ReferenceSettings(pauses), self.object_pose, len(self.cell.arms)
            )
        else:
            reference = plan_reference(self.reference, self.object_pose, len(self.cell.arms))
        self.ticks(reference)
        return reference

    def ticks(self, reference: ObjectPlan, duration: float | None = None) -> int:
        """Return the number of control periods of a run.

        Args:
            reference: What the object is to do.
            duration: How long the run is to take [s]; as long as start and reference by default.

        Raises:
            ArgumentError: If the duration is no positive number, or the run takes more control
                periods than can be kept.
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
        """Return a sentence for everything that may be simulated and will hardly go well."""
        return [
            *self.delay_warnings(),
            *uncontrolled_environment_joints(self.cell, self.reference),
        ]

    def delay_warnings(self) -> list[str]:
        """Return a sentence for each servo that the plant's command delay makes unstable.

        The controller refuses servos that do not bear the delay it believes in; a plant with
        another one may be simulated, but whoever reads of its divergence has to know why.
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

    def changed(self, overrides: Iterable[str]) -> Scenario:
        """Return the scenario with changes of single values, as "plant.object_mass_scale=1.2".

        Raises:
            DescriptionError: If one is refused.
        """
        if overrides in ((), []):
            return self
        changed = _anchored(decode(Scenario, with_overrides(self._document, overrides)))
        return dataclasses.replace(changed, source=self.source)

    def text(self) -> str:
        """Return the scenario as YAML that does not depend on other scenario files."""
        return self._text

    @cached_property
    def _document(self) -> YamlNode:
        # Nobody has seen the text: its lines are no places.
        return parse_yaml(self.text(), self.name).without_lines()

    @cached_property
    def _text(self) -> str:
        document = dataclasses.asdict(self)
        del document["source"]
        return yaml.dump(_plain(document), Dumper=_DUMPER, sort_keys=False, allow_unicode=True)


def load_scenario(name: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """Return the scenario of a file, or a shipped one by its name.

    Args:
        name: A YAML file, or the name of a shipped scenario ("lift_box").
        overrides: Changes of single values, as "plant.object_mass_scale=1.2".

    Raises:
        DescriptionError: If the file, one that it extends, or an override is refused; with every
            problem and its place.
        UnknownNameError: If there is neither such a file nor a shipped scenario of this name.
    """
    document = with_overrides(read_yaml(find_scenario(name)), overrides)
    return _anchored(decode(Scenario, document))


def scenario_of_text(text: str, name: str = "<text>") -> Scenario:
    """Return the scenario of `Scenario.text`."""
    return decode(Scenario, parse_yaml(text, name))


def shipped_scenarios() -> dict[str, Path]:
    """Return the scenarios that come with the package, by name."""
    folder = share_directory() / "config" / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_scenario(name: str | Path) -> str | Path:
    """Return the file of a scenario: the one so named if it exists, else a shipped one.

    The folder of a robot stands for the scenario in it.

    Raises:
        UnknownNameError: If there is neither.
        ArgumentError: If it is no name.
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
        return path  # reading it says why not, and what was probably meant
    for file in (f"{name}{suffix}" for suffix in SUFFIXES):
        if Path(file).is_file():
            raise ArgumentError(f"unknown scenario {str(name)!r}; did you mean {file!r}?")
    raise UnknownNameError("scenario", str(name), [*shipped, "FILE.yaml", "FOLDER"])


def build_system(scenario: Scenario, *, any_posture: bool = False) -> GraspSystem:
    """Return the arms and the object as the controller believes them to be.

    Args:
        scenario: The scenario.
        any_posture: Whether postures may be beyond the limits of joints.

    Raises:
        DescriptionError: If a description is refused.
        RobotDynamicsError: If they do not fit together; the message names the scenario.
    """
    try:
        return grasp_system_of(scenario.cell, any_posture=any_posture)
    except DescriptionError:
        raise  # has its own places
    except RobotDynamicsError as error:
        where = scenario.source.rpartition(":")[0] or scenario.name
        raise RobotDynamicsError(f"{where}: {error}") from error


def locked_joints(scenario: Scenario) -> set[str]:
    """Return the names of joints that the robots' descriptions have and the arms do without."""
    return {robot.prefix + name for robot in scenario.cell.robots for name in robot.locked}


def true_system(scenario: Scenario, believed: GraspSystem | None = None) -> GraspSystem:
    """Return the arms and the object as they are in the simulated plant.

    It has the structure of the believed one, and therefore its machine code, with another payload
    and other grasps; arms of other masses are another model.

    Args:
        scenario: The scenario.
        believed: `build_system(scenario)`, if the caller has it already.
    """
    system = believed or build_system(scenario)
    plant = scenario.plant
    if plant.link_mass_scale != 1.0:
        system = grasp_system_of(scenario.cell, plant.link_mass_scale)
    if plant.object_mass_scale != 1.0:
        system = system.with_object(mass=system.object_mass * plant.object_mass_scale)
    if any(plant.object_center_error) or plant.object_inertia_scale != 1.0:
        own = system.model.bodies[system.object_body].inertia
        center = own.h * (1.0 / own.mass)
        about_center = own.I + cross_products(center, own.h, Vector3.zero())
        scaled = np.array(about_center.rows()) * plant.object_inertia_scale
        true = Inertia.from_center_of_mass(
            own.mass,
            center + Vector3.of(plant.object_center_error),
            Symmetric3.of(scaled.tolist()),
        )
        system = system.with_object(inertia=true)
    if plant.grasp_error:
        errors = {name: pose_matrix(error) for name, error in plant.grasp_error.items()}
        system = system.with_grasp_error(errors)
    return system


def _anchored(scenario: Scenario) -> Scenario:
    """Return a scenario whose files are found from every working directory."""
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
    """Return a value with its tuples as lists, as YAML has them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


#: Before an override in the place of a problem with it.
OPTION = "--set"
_INDEX = re.compile(r"\[(\d+)\]")


def with_overrides(document: YamlNode, overrides: Iterable[str]) -> YamlNode:
    """Return a document with some values replaced.

    Each override is `KEY=VALUE`: keys joined by dots, numbers for the entries of lists (from 0),
    as "cell.surfaces.0.xyz" or, as problems are reported, "cell.surfaces[0].xyz"; and a YAML
    value, which is checked like one in the file. Keys that the file leaves out may be given.

    Args:
        document: The document, a mapping.
        overrides: The overrides; later ones win.

    Raises:
        DescriptionError: If an override has no key or no value, or names an entry that a list
            does not have.
        ArgumentError: If they are anything else than a list of texts.
    """
    if isinstance(overrides, str):
        raise ArgumentError(
            f"overrides are the text {overrides!r}; expected a list of such texts."
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
            # The override is one line: its number says nothing.
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
