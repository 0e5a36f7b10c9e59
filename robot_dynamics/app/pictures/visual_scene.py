# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes of recordings and robots: bodies, their poses over time, and arrows.

Films and the page in the browser draw the same `VisualScene`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.output_files import RECORDING, SUFFIXES
from robot_dynamics.app.pictures.charts import Chart, charts_of
from robot_dynamics.app.pictures.plots import held_surfaces, with_estimates
from robot_dynamics.app.pictures.shapes import (
    FORCE_COLOR,
    FORCE_SCALE,
    GHOST_ALPHA,
    MOMENT_COLOR,
    MOMENT_SCALE,
    SAFE_COLOR,
    USED_COLOR,
    WOOD,
    Mesh,
    SurfacePush,
    VisualError,
    meshes_of,
    require_trimesh,
    shaded,
    surface_shape,
    visual_shapes,
)
from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.app.recordings.recording_files import load_recording
from robot_dynamics.app.scenarios.cell import placed_robots, pose_matrix
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.load import load_description, load_object
from robot_dynamics.description.meshes import Color
from robot_dynamics.description.world import place
from robot_dynamics.manipulation.contact_settings import ContactSettings
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import WORLD, build
from robot_dynamics.robot import Robot

Role = Literal["robot", "object", "reference", "surface", "cone"]

_MOST_INSTANTS = 1_000_000  # of a scene: eleven hours at 25 pictures a second
_MOST_ROWS = 600  # of a running simulation
_CONE = 0.1  # length of friction cones [m]
_CONE_ALPHA = 0.55
_HIDDEN = -100.0  # height of hidden bodies, far below the ground [m]
_TOUCHING = 1e-3  # largest gap of a palm whose friction cone is shown [m]


@dataclass(frozen=True, eq=False)
class VisualBody:
    """A body that moves as a whole.

    Attributes:
        name: Its link, the object or the surface.
        role: Kind of the body.
        meshes: Triangles, in the frame of the body.
        poses: Pose in the world at each instant (N, 4, 4).
        colors: Colour at each instant (N, 4); None for the colours of the meshes.
    """

    name: str
    role: Role
    meshes: Sequence[Mesh]
    poses: Array
    colors: Array | None = None


@dataclass(frozen=True, eq=False)
class Arrow:
    """A force or a moment.

    Attributes:
        name: Source and target.
        color: Colour.
        tips: Point of action in the world (N, 3) [m].
        vectors: From tail to tip (N, 3) [m]; zero where unknown.
    """

    name: str
    color: Color
    tips: Array
    vectors: Array


@dataclass(frozen=True, eq=False)
class ShownContact:
    """A grasp that can part from the object, or a surface.

    Attributes:
        name: Name of the arm or the surface.
        force: Normal force at each instant (N,) [N]; NaN where unknown.
        touching: Whether there is contact at each instant (N,).
    """

    name: str
    force: Array
    touching: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class VisualScene:
    """Bodies and arrows at N instants.

    Attributes:
        name: Name of the scenario or the robot.
        times: The instants [s], equally spaced.
        bodies: All bodies.
        arrows: Forces and moments.
        torques: Torques over their limits (N, na), NaN for drives without a limit.
        joints: Names of those drives.
        friction: Share of the friction that each grasp uses (N, k); only grasps that can slip.
        arms: Names of these grasps.
        phases: Names of the phases of a task.
        phase: Index of the running one (N,).
        contacts: Grasps that can part from the object, and surfaces.
        frames: Poses in the world of all links and the object (N, 4, 4), by name.
        tools: Names of the frames of tools and object.
        pushable: Names of the bodies that an external force can move.
        charts: Curves of the run.
    """

    name: str
    times: Array
    bodies: Sequence[VisualBody]
    arrows: Sequence[Arrow] = ()
    torques: Array = field(default_factory=lambda: np.zeros((1, 0)))
    joints: Sequence[str] = ()
    friction: Array = field(default_factory=lambda: np.zeros((1, 0)))
    arms: Sequence[str] = ()
    phases: Sequence[str] = ()
    phase: Array = field(default_factory=lambda: np.zeros(1))
    contacts: Sequence[ShownContact] = ()
    frames: Mapping[str, Array] = field(default_factory=dict)
    tools: Sequence[str] = ()
    pushable: Sequence[str] = ()
    charts: Sequence[Chart] = ()

    def at(self, time: float) -> int:
        """Return the number of the instant that is nearest to a time [s]."""
        return int(np.argmin(np.abs(self.times - time)))

    def corners(self, *roles: Role) -> Array:
        """Return corners of boxes around bodies at some twenty instants (n, 3).

        Args:
            roles: Of the bodies; robots and objects by default.
        """
        some = slice(None, None, max(1, len(self.times) // 20))
        found = [np.zeros((0, 3))]
        for body in self.bodies:
            if body.role in (roles or ("robot", "object")):
                for mesh in body.meshes:
                    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
                    box = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
                    poses = body.poses[some]
                    moved = box @ poses[:, :3, :3].mT + poses[:, None, :3, 3]
                    found.append(moved.reshape(-1, 3))
        return np.concatenate(found)

    def bounds(self, *roles: Role) -> Array:
        """Return the least and largest coordinates of `corners`, each (3,); zero without any."""
        corners = self.corners(*roles)
        if not len(corners):
            return np.zeros((2, 3))
        return np.array([corners.min(axis=0), corners.max(axis=0)])


def is_recording(what: str | Path) -> bool:
    """Return whether a name refers to a recording: a file, the folder of a run, or a bag."""
    path = Path(what)
    if path.is_dir():
        return (path / RECORDING).is_file() or (path / "metadata.yaml").is_file()
    return path.suffix.lower() in (*SUFFIXES, ".db3")


def scene_of_recording(
    recording: Recording | str | Path, interval: float = 0.02, cell: RecordedCell | None = None
) -> VisualScene:
    """Return the scene of a recorded run.

    A controller's recording alone is drawn with its estimates.

    Args:
        recording: The recording, or its file.
        interval: Time between the instants [s]; of the control periods the nearest are taken.
        cell: The bodies of its scenario, if the caller has them already.

    Raises:
        VisualError: If trimesh is missing, or a mesh cannot be read.
        RobotDynamicsError: If the recording, or a file that its scenario names, is refused.
    """
    if not isinstance(recording, Recording):
        recording = load_recording(recording)
    every = recording[TICK] * recording.get("period_s")
    count = max(1, round((every[-1] - every[0]) / interval) + 1) if len(every) else 0
    if not count:
        raise VisualError("recording: there are no control periods, expected at least one.")
    if count > _MOST_INSTANTS:
        raise VisualError(
            f"recording: {every[-1] - every[0]:.4g} s have {count:.3g} instants of {interval:g} "
            f"s; expected at most {_MOST_INSTANTS}."
        )
    rows = np.searchsorted(every, every[0] + interval * np.arange(count) - 1e-9)
    rows = np.minimum(rows, len(every) - 1)
    if cell is None:
        own = scenario_of_text(recording.get("scenario_text"), recording.get("scenario"))
        cell = RecordedCell(own.cell)
    return cell.scene(recording, rows, every[0] + interval * np.arange(count))


class History:
    """Rows of a running simulation for its charts; of 600 rows every other one is dropped."""

    def __init__(self) -> None:
        self._rows: list[Recording] = []

    def extended(self, row: Recording) -> Recording:
        """Return all rows so far as a recording.

        Args:
            row: A recording of one row, of the same columns as the others.
        """
        if len(self._rows) >= _MOST_ROWS:
            del self._rows[1::2]
        self._rows.append(row)
        columns = {
            name: np.concatenate([one.columns[name] for one in self._rows]) for name in row.columns
        }
        return Recording(columns, row.metadata)


class RecordedCell:
    """Scenes of recordings of one cell: its bodies are read once.

    Args:
        cell: Arms, object and surfaces, as a scenario has them.

    Raises:
        VisualError: If trimesh is missing, or a mesh cannot be read.
        RobotDynamicsError: If a file that the cell names is missing or refused.
    """

    def __init__(self, cell: CellSettings) -> None:
        require_trimesh()
        self._cell = cell
        self._world = world = place(placed_robots(cell))
        self._robot = Robot(build(world.mechanism))
        self._links = _link_meshes(world)
        parts = [cell.object.urdf, *([cell.object.joint.urdf] if cell.object.joint else [])]
        described = [load_object(urdf) for urdf in parts]
        self._parts = [(one.mechanism.root, _meshes(one)) for one in described]
        self._surfaces = [(one.name, meshes_of(surface_shape(one))) for one in cell.surfaces]
        self._pushes = [(one.name, SurfacePush(one)) for one in cell.surfaces]

    def scene(self, recording: Recording, rows: NDArray[np.int64], times: Array) -> VisualScene:
        """Return the scene of some rows of a recording.

        Args:
            recording: The recording.
            rows: Control periods (N,).
            times: The instants (N,) [s].

        Raises:
            RobotDynamicsError: If the recording lacks a column of the scene.
        """
        recording, cell, count = with_estimates(recording), self._cell, len(rows)
        columns = {name: values[rows] for name, values in recording.columns.items()}
        positions = columns["joint_position"]
        if "passive_position" in columns:
            positions = np.hstack([positions, columns["passive_position"]])
        joints = [*recording.get("joints"), *recording.metadata.get("passive_joints", ())]
        links = _link_poses(self._robot, dict(zip(joints, positions.T, strict=False)), count)
        bodies = self._bodies(links, columns, count)
        tools = [links[arm.tool] for arm in cell.arms]
        parts = {body.name: body.poses for body in bodies if body.role == "object"}
        arrows = _grasp_arrows(cell, columns, tools)
        arrows += _surface_arrows(self._pushes, columns)
        held = {arm.name: arm.contact for arm in cell.arms}
        used = columns.get("friction_used", np.zeros((count, 0)))
        gaps = columns.get("grasp_gap", np.zeros_like(used))
        for (name, contact), tool, part, gap in zip(
            held.items(), tools, used.T, gaps.T, strict=False
        ):
            if contact.unilateral and contact.friction > 0.0:
                bodies.append(_cone(name, contact, tool, part, gap))
        limits = [np.nan if x is None else x for x in recording.get("effort_limits")]
        return VisualScene(
            recording.get("scenario"),
            times,
            bodies,
            arrows,
            columns["applied_torque"] / np.array(limits, float),
            tuple(recording.get("joints")),
            used,
            tuple(held)[: used.shape[1]],
            recording.metadata.get("phases", ()),
            columns.get("phase", np.zeros(count)).ravel(),
            _contacts(cell, recording, columns),
            {**links, **parts},
            (*(arm.tool for arm in cell.arms), *parts),
            self._pushable(recording),
            charts_of(recording),
        )

    def _pushable(self, recording: Recording) -> tuple[str, ...]:
        """Return the names of links that move, and of the object if it is held."""
        held = recording.metadata.get("holds_object", True)
        links = [link.name for link in self._robot.model.links if link.body != WORLD]
        return (*links, *([recording.get("object")] if held else []))

    def at_postures(self, name: str, system: GraspSystem) -> VisualScene:
        """Return the arms at the postures of the scenario, and the object where it is placed.

        Args:
            name: Name of the scenario.
            system: Arms and grasps of the cell.
        """
        positions = dict(zip(system.joint_names, system.posture[:, None], strict=True))
        links = _link_poses(self._robot, positions, 1)
        bodies = self._bodies(links, {}, 1)
        tools = tuple(arm.tool for arm in self._cell.arms)
        return VisualScene(name, np.zeros(1), bodies, frames=links, tools=tools)

    def _bodies(
        self, links: Mapping[str, Array], columns: Mapping[str, Array], count: int
    ) -> list[VisualBody]:
        """Return links, object and surfaces."""
        bodies = [
            VisualBody(name, "robot", meshes, links[name]) for name, meshes in self._links.items()
        ]
        bodies += _object_bodies(self._cell, self._parts, columns, count)
        still = np.tile(np.eye(4), (count, 1, 1))
        return bodies + [
            VisualBody(name, "surface", meshes, still) for name, meshes in self._surfaces
        ]


def scene_of_robot(
    path: str | Path | Description,
    positions: Mapping[str, float | Array] | Array | None = None,
    times: Array | None = None,
) -> VisualScene:
    """Return the scene of a robot at some positions, or along a motion.

    Args:
        path: The description, or its file.
        positions: Of joints with one degree of freedom, by name [rad or m], one for each time or
            one for all; others are at zero. Or all positions of the model (N, nq), as of a
            simulation.
        times: Of the instants (N,) [s], equally apart; one by default.

    Raises:
        VisualError: If trimesh is missing, a mesh cannot be read, or there are not as many
            positions as times.
        RobotDynamicsError: If the description is refused.
    """
    require_trimesh()
    described = path if isinstance(path, Description) else load_description(path)
    at = np.zeros(1) if times is None else np.asarray(times, float)
    robot, given = Robot(build(described.mechanism)), {}
    if isinstance(positions, np.ndarray):
        if positions.shape != (len(at), robot.model.nq):
            raise VisualError(
                f"positions have the shape {positions.shape}; expected "
                f"{(len(at), robot.model.nq)}, a row for each time."
            )
        return _scene_of_links(described, at, _poses(robot, positions))
    for name, values in (positions or {}).items():
        if np.shape(values) not in ((), (1,), at.shape):
            raise VisualError(
                f"joint {name!r} has {np.size(values)} positions; expected {len(at)}, one for "
                "each time."
            )
        given[name] = np.broadcast_to(np.asarray(values, float), at.shape)
    return _scene_of_links(described, at, _link_poses(robot, given, len(at)))


def _scene_of_links(
    described: Description, times: Array, links: Mapping[str, Array]
) -> VisualScene:
    bodies = [
        VisualBody(name, "robot", meshes, links[name])
        for name, meshes in _link_meshes(described).items()
    ]
    return VisualScene(described.mechanism.name, times, bodies, frames=links)


def _link_poses(robot: Robot, positions: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Return the poses (N, 4, 4) of all links by name.

    Args:
        robot: The robots.
        positions: Of joints with one degree of freedom, by name, at each instant (N,).
        count: Number of instants.
    """
    model = robot.model
    q = np.tile(model.neutral(), (count, 1))
    for name, at in zip(model.joint_names, model.q_slices, strict=True):
        if name in positions and at.stop - at.start == 1:
            q[:, at.start] = positions[name]
    return _poses(robot, q)


def _poses(robot: Robot, q: Array) -> dict[str, Array]:
    """Return the poses (N, 4, 4) of all links by name at positions (N, nq)."""
    found = np.asarray(robot.link_poses(q))
    return {link.name: found[:, i] for i, link in enumerate(robot.model.links)}


def _link_meshes(description: Description) -> dict[str, list[Mesh]]:
    """Return the meshes of each link, by its name."""
    visual = [shape for shape in description.shapes if shape.role == "visual"]
    by_link: dict[str, list[Mesh]] = {}
    for shape in visual or description.shapes:
        by_link.setdefault(shape.link, []).extend(meshes_of(shape, description.folder))
    return by_link


def _object_bodies(
    cell: CellSettings,
    parts: Sequence[tuple[str, list[Mesh]]],
    columns: Mapping[str, Array],
    count: int,
) -> list[VisualBody]:
    """Return the object, its second part, and where its reference wants it."""
    standing = np.tile(pose_matrix(cell.object), (count, 1, 1))
    poses = [matrices(columns["object_pose"]) if "object_pose" in columns else standing]
    if "second_pose" in columns:
        poses.append(matrices(columns["second_pose"]))
    bodies = [
        VisualBody(name, "object", meshes, at)
        for (name, meshes), at in zip(parts, poses, strict=False)
    ]
    if "reference_pose" in columns:
        ghost = [
            mesh._replace(color=(*mesh.color[:3], GHOST_ALPHA * mesh.color[3]))
            for mesh in bodies[0].meshes
        ]
        wanted = matrices(columns["reference_pose"])
        bodies.append(VisualBody(f"{bodies[0].name} reference", "reference", ghost, wanted))
    return bodies


def _meshes(description: Description) -> list[Mesh]:
    shapes: Iterable[Shape] = visual_shapes(description.shapes)
    return [mesh for one in shapes for mesh in meshes_of(one, description.folder, WOOD)]


def _grasp_arrows(
    cell: CellSettings, columns: Mapping[str, Array], tools: Sequence[Array]
) -> list[Arrow]:
    """Return force and moment by each arm on the object, at its tool."""
    if "grasp_wrench" not in columns:
        return []
    of_arms = columns["grasp_wrench"].reshape(-1, len(tools), 2, 3)
    found = []
    for i, (arm, tool) in enumerate(zip(cell.arms, tools, strict=True)):
        moment, force = np.moveaxis(of_arms[:, i] @ tool[:, :3, :3].mT, 1, 0)
        tips = tool[:, :3, 3]
        found += [
            Arrow(f"{arm.name} force", FORCE_COLOR, tips, FORCE_SCALE * np.nan_to_num(force)),
            Arrow(f"{arm.name} moment", MOMENT_COLOR, tips, MOMENT_SCALE * np.nan_to_num(moment)),
        ]
    return found


def _surface_arrows(
    pushes: Sequence[tuple[str, SurfacePush]], columns: Mapping[str, Array]
) -> list[Arrow]:
    """Return force and moment by the object on each surface, as the controller estimates them."""
    if "estimated_contact_force" not in columns:
        return []
    forces, bodies = np.nan_to_num(columns["estimated_contact_force"]), columns["object_pose"]
    frames, found, first = matrices(bodies), [], 0
    for name, push in pushes:
        own = forces[:, first : first + len(push.functions)]
        first += len(push.functions)
        pairs = zip(frames, own, strict=True)
        wrench = np.array([push.wrench(body, force) for body, force in pairs])
        tips = (frames @ push.part)[:, :3, 3]
        found += [
            Arrow(f"{name} force", FORCE_COLOR, tips, FORCE_SCALE * wrench[:, 3:]),
            Arrow(f"{name} moment", MOMENT_COLOR, tips, MOMENT_SCALE * wrench[:, :3]),
        ]
    return found


def _contacts(
    cell: CellSettings, recording: Recording, columns: Mapping[str, Array]
) -> list[ShownContact]:
    """Return the contacts whose state the recording has."""
    found = []
    if "grasp_gap" in columns and "grasp_wrench" in columns:
        normal = columns["grasp_wrench"].reshape(-1, len(cell.arms), 6)[:, :, 5]
        for i, arm in enumerate(cell.arms):
            if arm.contact.unilateral:
                touching = columns["grasp_gap"][:, i] <= _TOUCHING
                found.append(ShownContact(arm.name, normal[:, i], touching))
    if "contact_force" in columns:
        held = held_surfaces(recording)
        for name, force in zip(recording.get("surfaces"), columns["contact_force"].T, strict=True):
            if name not in held:
                found.append(ShownContact(name, force, force > 0.0))
    return found


def _cone(
    name: str, contact: ContactSettings, tools: Array, used: Array, gaps: Array
) -> VisualBody:
    """Return the friction cone of a grasp: green, and red when all of the friction is used.

    Its apex is at the grasp, and forces within it point along its opening, into the object. While
    the palm is away from the object it is far below the ground.
    """
    make = require_trimesh().creation
    radius = min(contact.friction, 1.0) * _CONE
    cone = make.cone(radius=radius, height=_CONE, sections=48)
    cone.apply_transform(np.diag([1.0, -1.0, -1.0, 1.0]))  # its tip down ...
    cone.apply_translation([0.0, 0.0, _CONE])  # ... and at the origin
    share = np.clip(np.nan_to_num(used), 0.0, 1.0)[:, None]
    colors = (1.0 - share) * SAFE_COLOR + share * USED_COLOR
    colors[:, 3] = _CONE_ALPHA
    mesh = shaded(cone, (*SAFE_COLOR[:3], _CONE_ALPHA))
    poses = tools.copy()
    poses[gaps > _TOUCHING, 2, 3] = _HIDDEN
    return VisualBody(f"{name} friction cone", "cone", [mesh], poses, colors)


def matrices(poses: Array) -> Array:
    """Return homogeneous matrices (N, 4, 4) of poses x y z qx qy qz qw (N, 7).

    A pose that is not known (NaN) is far below the ground.
    """
    from scipy.spatial.transform import Rotation

    known = np.isfinite(poses).all(axis=1)
    result = np.tile(np.eye(4), (len(poses), 1, 1))
    result[~known, 2, 3] = _HIDDEN
    result[known, :3, 3] = poses[known, :3]
    result[known, :3, :3] = Rotation.from_quat(poses[known, 3:]).as_matrix()
    return result
