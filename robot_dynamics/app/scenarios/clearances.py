# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Distances of links and object from the things around them on a planned motion.

Collision geometry of the descriptions is compared, by MuJoCo's collision detection: links with
planes and fixtures, the tools of free arms with the object, the carried object with fixtures.
Meshes count as their convex hulls. The capsules of `control.link_distance` compare links with each
other and with the object's box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.app.scenarios.cell import placed_robots, pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.app.scenarios.surfaces import PLANE_SIZE_M
from robot_dynamics.arrays import Array
from robot_dynamics.contact.shapes import ShapeContact, Solid, collision_solids
from robot_dynamics.control.link_distance import TooClose
from robot_dynamics.description.description import Description
from robot_dynamics.description.load import load_description
from robot_dynamics.description.world import place
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import WORLD, pose
from robot_dynamics.simulation.contact.manifolds import Manifolds
from robot_dynamics.wording import apart

_HAND = 2  # last joints of an arm, whose links are at the object
_OWN_BASE = 2  # first joints of a robot, whose links are always close to its base
_DEPTH_M = 0.05  # of a plane, below it
_TOUCH_M = 1e-3  # largest depth of the object in something that counts as touching
# Distances are computed again when a joint has moved by this [m]; a rotation counts at the reach
# of the arm.
_SPACING_M = 0.01
_FREE = ("move", "approach")  # phases in which hands must not touch the object
_CARRIED = ("lift", "carry")  # phases in which the object must touch nothing


class _Pair(NamedTuple):
    """Two solids whose distance is checked.

    Attributes:
        one: Sentence part: the link or the object.
        other: Sentence part: the thing that it must not touch.
        joint: Name of the joint that carries the first.
        least: Least distance [m].
        phases: Phases of a task in which it is checked; all if empty.
    """

    one: str
    other: str
    joint: str
    least: float
    phases: tuple[str, ...] = ()


class _Thing(NamedTuple):
    """A solid that does not move.

    Attributes:
        name: As in sentences.
        solid: The solid.
        robot: Index of the robot of which it is a part; -1 for surfaces.
    """

    name: str
    solid: Solid
    robot: int = -1


class Clearances:
    """Distances of links and object from surfaces, fixtures and each other.

    Fixtures are links that no joint moves: of the arms' robots, and of further `cell.robots` that
    have no joints. Without such robots the planes of a task count instead, as plates of 0.6 m
    about their origin, as they are drawn. Cells without either and without a task are not checked.

    Args:
        scenario: The scenario.
        system: Its arms and object.

    Attributes:
        warnings: Sentences about missing checks: without MuJoCo nothing is checked, without
            trimesh no meshes are.
    """

    def __init__(self, scenario: Scenario, system: GraspSystem) -> None:
        self._system, self._scenario = system, scenario
        self._gaps: Manifolds | None = None
        self._found: tuple[Any, TooClose | None] = None, None
        self.warnings: list[str] = []
        if not scenario.task and len(scenario.cell.robots) == 1:
            return  # without loading the robot again
        self._robots = placed_robots(scenario.cell)
        self._world = place(self._robots)
        self._fixed = any(not one.description.mechanism.joints for one in self._robots)
        self._left_out: dict[str, str] = {}  # links and reasons
        contacts: list[ShapeContact] = []
        self._pairs: list[_Pair] = []
        for pair, one, other in self._every() if self._fixed or scenario.task else ():
            self._pairs.append(pair)
            contacts.append(ShapeContact(f"{len(contacts)}", one, other, points=1))
        self._least = np.array([pair.least for pair in self._pairs])
        self._levers = _levers(system)
        links, reason = ", ".join(self._left_out), "".join([*self._left_out.values()][:1])
        try:
            if contacts:
                self._gaps = Manifolds(system.model, contacts)
        except RobotDynamicsError as error:
            links, reason = "all links", sentence_of(error)
        if reason:
            self.warnings = [f"collisions of {links} are not checked: {reason}"]

    def first_too_close(
        self, q: Array, poses: Array, phases: Sequence[str] = ()
    ) -> TooClose | None:
        """See `control.link_distance.FindsTooClose`; the last result is kept."""
        if self._gaps is None:
            return None
        asked = q.tobytes(), poses.tobytes(), tuple(phases)
        if self._found[0] != asked:
            self._found = asked, self._first_too_close(self._gaps, q, poses, phases)
        return self._found[1]

    def _first_too_close(
        self, find_gaps: Manifolds, q: Array, poses: Array, phases: Sequence[str]
    ) -> TooClose | None:
        system, still = self._system, np.zeros(self._system.model.nv)
        nowhere, last = np.full((find_gaps.count, 3), np.nan), -1
        way = q * self._levers
        for i in range(len(q)):
            phase = phases[i] if phases else ""
            in_phase = last >= 0 and (not phases or phase == phases[last])
            if in_phase and i + 1 < len(q) and np.abs(way[i] - way[last]).max() < _SPACING_M:
                continue
            at, last = system.positions(q[i]), i
            at[system.object_q] = poses[i]
            gaps = find_gaps(at, still, 0.0, nowhere)[:, 0]
            checked = [
                not pair.phases or not phase or phase in pair.phases for pair in self._pairs
            ]
            close = np.array(checked) & ~(gaps >= self._least)
            if close.any():
                worst = int(np.argmin(np.where(close, gaps - self._least, np.inf)))
                return TooClose(i, self._pairs[worst].joint, self._sentence(worst, gaps, phase))
        return None

    def _sentence(self, worst: int, gaps: Array, phase: str) -> str:
        pair, gap = self._pairs[worst], float(gaps[worst])
        near, expected = (words.lstrip("-") for words in apart(gap, pair.least))
        what = f"would overlap {pair.other} by" if gap < 0.0 else "would be at"
        where = f"{near} m" if gap < 0.0 else f"{near} m from {pair.other}"
        least = f"at most {expected} m" if pair.least < 0.0 else f"at least {expected} m apart"
        during = f" in the phase {phase!r}" if phase else ""
        return f"{pair.one} {what} {where}{during}, expected {least}."

    def _every(self) -> Iterator[tuple[_Pair, Solid, Solid]]:
        """Yield each pair with its solids."""
        scenario, system = self._scenario, self._system
        model = system.model
        least = scenario.safety.minimum_object_distance_m
        things = [*self._planes(), *self._fixtures()]
        held = load_description(scenario.cell.object.urdf)
        objects = self._solids(held, held.mechanism.root)
        hands = {
            body
            for arm in system.arms
            for body in range(len(model.bodies))
            if model.joint_index(system.path(arm)[-_HAND:][0]) in self._bodies_to(body)
        }
        for link in model.links:
            way = self._bodies_to(link.body)
            if link.body in (WORLD, *system.object_bodies):
                continue
            robot, joint = self._robot_of(link.name), model.bodies[link.body].joint.name
            for solid in self._solids(self._world, link.name):
                for thing in things:
                    if robot != thing.robot or len(way) > _OWN_BASE:
                        what = f"link {link.name!r}", thing.name, joint, least
                        yield _Pair(*what), solid, thing.solid
                for other in objects if scenario.task and link.body in hands else ():
                    what = f"link {link.name!r}", "the object", joint, -_TOUCH_M
                    yield _Pair(*what, _FREE), solid, other
        joint = model.bodies[system.object_body].joint.name
        for solid in objects:
            for thing in things:
                pair = _Pair("the object", thing.name, joint, -_TOUCH_M, _CARRIED)
                yield pair, solid, thing.solid

    def _planes(self) -> Iterator[_Thing]:
        """Yield the planes as plates, if the cell does not describe their extent by fixtures."""
        root = self._world.mechanism.root
        size, below = (PLANE_SIZE_M, PLANE_SIZE_M, _DEPTH_M), pose((0.0, 0.0, -0.5 * _DEPTH_M))
        for surface in self._scenario.cell.surfaces:
            if surface.kind == "plane" and not self._fixed:
                plate = Solid.box(root, size, pose_matrix(surface) @ below)
                yield _Thing(f"surface {surface.name!r}", plate)

    def _fixtures(self) -> Iterator[_Thing]:
        """Yield the solids of links that no joint moves."""
        for link in self._system.model.links:
            if link.body == WORLD:
                for solid in self._solids(self._world, link.name):
                    yield _Thing(f"fixture {link.name!r}", solid, self._robot_of(link.name))

    def _solids(self, description: Description, link: str) -> tuple[Solid, ...]:
        """Return the collision geometry of a link; empty without any that can be read."""
        if any((one.link, one.role) == (link, "collision") for one in description.shapes):
            try:
                return collision_solids(description, link)
            except RobotDynamicsError as error:
                self._left_out.setdefault(link, sentence_of(error))
        return ()

    def _robot_of(self, link: str) -> int:
        """Return the index of the robot to which a link belongs; -1 for the world."""
        for i, part in enumerate(self._robots):
            if any(part.prefix + one.name == link for one in part.description.mechanism.links):
                return i
        return -1

    def _bodies_to(self, body: int) -> list[int]:
        """Return the bodies from the world out to a body."""
        found: list[int] = []
        while body != WORLD:
            found, body = [body, *found], self._system.model.bodies[body].parent
        return found


def _levers(system: GraspSystem) -> Array:
    """Return the reach of its arm for each joint that turns [m], 1 for the others (na,)."""
    model, reach = system.model, np.zeros(len(system.joint_names))
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        tool = model.link(arm.tool)
        _, *after = model.support(tool.body)  # the first joint is where the arm begins
        lengths = [model.placement_distances[body] for body in after]
        reach[own] = sum(lengths) + np.linalg.norm([*tool.placement.r])
    return np.where(model.turning_freedoms[system.v_index], reach, 1.0)
