# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MJCF as a mechanism: the model that MuJoCo compiles from it.

Positions are as in MuJoCo's `qpos`, except that quaternions are (x, y, z, w). Velocities of
hinges, slides and balls are as in `qvel`; a free joint's are angular, then linear, both in body
axes. A body with several joints becomes several links: the link that a joint carries is called
`<joint>_link` if it is not the body's own. Sites are links on fixed joints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description
from robot_dynamics.description.mjcf_closures import read_closures
from robot_dynamics.description.mjcf_drives import JointDrives, read_drives
from robot_dynamics.description.mjcf_shapes import read_shapes
from robot_dynamics.description.mjcf_source import (
    MjcfSource,
    listed,
    rotation,
    unused,
)
from robot_dynamics.description.model_file import SavedModel
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.elements import JointElement, Limits, LinkElement, Mechanism, pose

_ANGULAR = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # of a free joint's velocities


def read_mjcf(path_or_text: str | Path) -> SavedModel:
    """Return the mechanism and the gravity of an MJCF file or text.

    Contents without a meaning for a mechanism of rigid bodies are listed as warnings.

    Args:
        path_or_text: A path, a `package://` address, or the XML itself (anything with a `<`).

    Raises:
        DescriptionError: If MuJoCo is not installed or refuses the file, or the file has
            deformable bodies, or constraints that are neither loops nor linear couplings.
    """
    source = MjcfSource(path_or_text)
    places = Places(source.file)
    tree = _Tree(source, read_drives(source), places)
    loops, couplings = read_closures(source, tree.joints, places)
    _list_forces(source)
    source.diagnosis.raise_if_refused()
    disabled = source.model.opt.disableflags & source.mujoco.mjtDisableBit.mjDSBL_GRAVITY
    x, y, z = (0.0 if disabled else float(value) for value in source.model.opt.gravity)
    description = Description(
        Mechanism(source.name, tuple(tree.links), tuple(tree.joints), loops, couplings),
        read_shapes(source),
        source.diagnosis,
        source.source,
        folder=source.folder,
        places=places,
    )
    return SavedModel(description, (x, y, z))


class _Tree:
    """Links and joints of a compiled model, in its order."""

    def __init__(self, source: MjcfSource, drives: JointDrives, places: Places) -> None:
        self.source, self.drives, self.places = source, drives, places
        self.links: list[LinkElement] = []
        self.joints: list[JointElement] = []
        self._taken = set(source.links)
        self._joint_names = set(source.joints)
        m = source.model
        if m.nflex:
            source.diagnosis.error(source.file, "", "has a flex, expected rigid bodies only")
            source.diagnosis.raise_if_refused()  # equalities of its edges follow from it
        sites: dict[int, list[int]] = {}
        for site in range(m.nsite):
            if source.stated_name("site", site):
                sites.setdefault(int(m.site_bodyid[site]), []).append(site)
        for body in range(m.nbody):
            self._body(body)
            for site in sites.get(body, ()):
                self._site(site, source.links[body])

    def _body(self, body: int) -> None:
        """Add a body's link, after the joints that move it, with a link for each but the last."""
        source, m = self.source, self.source.model
        link, place = source.links[body], source.place("body", body)
        self.places.links[link] = place
        if m.body_mass[body]:
            self.places.with_inertial.add(link)
        element = _link(source, body)
        if body == 0:
            self.links.append(element)
            return
        parent, frame = source.links[m.body_parentid[body]], source.frame("body", body)
        first = int(m.body_jntadr[body])
        for joint in range(first, first + int(m.body_jntnum[body])):
            anchor = pose(m.jnt_pos[joint])
            if source.kind("Joint", m.jnt_type[joint]) == "free":
                # Its positions are the body's pose in the world.
                frame, anchor = np.eye(4), np.eye(4)
            last = joint == first + int(m.body_jntnum[body]) - 1
            carried = link
            if not last or np.any(anchor[:3, 3]):
                carried = self._new_link(f"{source.joints[joint]}_link", place)
            self._joint(joint, parent, carried, frame @ anchor)
            parent, frame = carried, pose(-anchor[:3, 3])
        if parent != link:
            self._fixed(parent, link, frame, place)
        self.links.append(element)

    def _joint(self, joint: int, parent: str, child: str, frame: Array) -> None:
        source, m = self.source, self.source.model
        name, kind = source.joints[joint], source.kind("Joint", m.jnt_type[joint])
        self.places.joints[name] = source.place("joint", joint)
        at, dof = m.jnt_qposadr[joint], m.jnt_dofadr[joint]
        axis = np.array(m.jnt_axis[joint])
        values: dict[str, Any] = {
            "damping": float(m.dof_damping[dof]),
            "friction": float(m.dof_frictionloss[dof]),
            "armature": float(m.dof_armature[dof]),
            "stiffness": float(m.jnt_stiffness[joint]),
            "active": self.drives.active(joint),
        }
        if kind in ("hinge", "slide"):
            # The body stands as described where the position is the file's `ref`.
            ref = float(m.qpos0[at])
            lower, upper = m.jnt_range[joint] if m.jnt_limited[joint] else (-np.inf, np.inf)
            effort = self.drives.effort(joint)
            values |= {
                "axis": tuple(axis.tolist()),
                "limits": Limits(float(lower), float(upper), effort=effort),
                "armature": float(m.dof_armature[dof]) + self.drives.armature(joint),
                "rest": float(m.qpos_spring[at]) if values["stiffness"] else 0.0,
            }
            if kind == "slide":
                frame = frame @ pose(-ref * axis)
                joint_type = "prismatic"
            else:
                frame = frame @ pose(rotation=Rotation.from_rotvec(-ref * axis).as_matrix())
                joint_type = "revolute" if m.jnt_limited[joint] else "continuous"
        else:
            joint_type = "spherical" if kind == "ball" else "floating"
            self._several_freedoms(joint, values)
        self.joints.append(JointElement(name, joint_type, parent, child, frame, **values))

    def _several_freedoms(self, joint: int, values: dict[str, Any]) -> None:
        """Adapt the values of a ball or free joint, and list those that are left out."""
        source, m = self.source, self.source.model
        place, element = source.place("joint", joint), f"joint {source.joints[joint]!r}"
        free = source.kind("Joint", m.jnt_type[joint]) == "free"
        if m.jnt_limited[joint]:
            source.diagnosis.warning(place, element, "the limit of a ball joint is left out")
        if values["stiffness"]:
            spring = m.qpos_spring[m.jnt_qposadr[joint] :][: 7 if free else 4]
            if np.allclose(rotation(spring[-4:]), np.eye(3), rtol=0.0, atol=1e-12):
                values["rest"] = (0.0, 0.0, 0.0, *map(float, spring[:3])) if free else 0.0
            else:
                values["stiffness"] = 0.0
                source.diagnosis.warning(
                    place, element, "the spring is left out: it is relaxed at a turned orientation"
                )
        if free and values["armature"]:
            values["armature"] = tuple(values["armature"] * part for part in _ANGULAR)
            source.diagnosis.warning(
                place,
                element,
                "the armature of its three linear velocities is left out",
                "a <freejoint/> has none",
            )

    def _site(self, site: int, body: str) -> None:
        source = self.source
        stated = source.stated_name("site", site)
        name = stated if stated not in self._taken else f"{stated}_site"
        name = source.sites[site] = self._new_link(name, source.file)
        self._fixed(body, name, source.frame("site", site), source.file)

    def _new_link(self, name: str, place: str) -> str:
        """Add a link without inertia; return its name."""
        name = unused(name, self._taken)
        self._taken.add(name)
        self.places.links[name] = place
        self.links.append(LinkElement(name))
        return name

    def _fixed(self, parent: str, child: str, frame: Array, place: str) -> None:
        name = unused(f"{parent}_to_{child}", self._joint_names)
        self._joint_names.add(name)
        self.places.joints[name] = place
        self.joints.append(JointElement(name, "fixed", parent, child, frame))


def _link(source: MjcfSource, body: int) -> LinkElement:
    """Return the link of a body, with its inertia about the centre of mass in body axes."""
    m = source.model
    axes = rotation(m.body_iquat[body])
    inertia = (axes * m.body_inertia[body]) @ axes.T
    x, y, z = (float(value) for value in m.body_ipos[body])
    center = (x, y, z) if m.body_mass[body] else (0.0, 0.0, 0.0)
    return LinkElement(
        source.links[body], float(m.body_mass[body]), center, 0.5 * (inertia + inertia.T)
    )


def _list_forces(source: MjcfSource) -> None:
    """Note the forces of a file that the mechanism does not have."""
    m, note = source.model, source.diagnosis.warning
    opt = m.opt
    if opt.density or opt.viscosity:
        note(source.file, "", "forces of a fluid are left out (density, viscosity)")
    lifted = [source.links[body] for body in np.flatnonzero(m.body_gravcomp)]
    if lifted:
        note(
            source.file,
            "",
            f"gravity compensation is left out, of {listed(lifted)}: gravity acts on all links",
        )
    moved = [source.links[body] for body in np.flatnonzero(m.body_mocapid >= 0)]
    if moved:
        note(source.file, "", f"mocap bodies are taken as fixed to the world: {listed(moved)}")
    for what, values, owner in (
        ("nonlinear stiffness", "jnt_stiffnesspoly", None),
        ("nonlinear damping", "dof_dampingpoly", m.dof_jntid),
    ):
        found = np.flatnonzero(np.any(getattr(m, values), axis=1))
        joints = [source.joints[i if owner is None else owner[i]] for i in found]
        if joints:
            note(source.file, "", f"{what} is left out, of {listed(list(dict.fromkeys(joints)))}")
    if m.nkey:
        note(source.file, "", f"keyframes are left out ({m.nkey})")
