# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with joints of every type, and the motion of their links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_pose
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.spatial import Motion, Vector3

# Every type that carries bodies, with its parameters.
CARRYING = {
    "revolute": {},
    "prismatic": {},
    "helical": {"pitch": 0.15},
    "cylindrical": {},
    "planar": {},
    "spherical": {},
    "yaw_pitch_roll": {},
    "universal": {},
    "rack_and_pinion": {"radius": 0.2},
    "floating": {},
}
EVERY = {
    name: CARRYING[name.removeprefix("reversed ")]
    for name in (*CARRYING, *(f"reversed {name}" for name in CARRYING))
}


def random_pose(rng, reach=0.3):
    """Return a pose (4, 4) of any orientation, some `reach` [m] away."""
    return pose(reach * rng.normal(size=3), Rotation.random(random_state=rng).as_matrix())


def random_link(rng, name):
    """Return a link of 1 to 3 kg whose inertia has three different principal moments."""
    parts = rng.uniform(0.01, 0.03, 3)
    axes = Rotation.random(random_state=rng).as_matrix()
    # Sums of two positive parts obey the triangle inequality.
    inertia = axes @ np.diag([parts[1] + parts[2], parts[0] + parts[2], parts[0] + parts[1]])
    return LinkElement(name, rng.uniform(1, 3), tuple(0.1 * rng.normal(size=3)), inertia @ axes.T)


def random_joint(rng, name, kind, parent, child):
    """Return a joint of a type somewhere on its parent, with any axis."""
    axis = rng.normal(size=3)
    axis = tuple(axis / np.linalg.norm(axis))
    return JointElement(
        name, kind, parent, child, random_pose(rng), axis, parameters=EVERY.get(kind, {})
    )


def random_tree(rng, types, *, chain=False):
    """Return a tree with one joint of each type given, on parents drawn at random."""
    links = [LinkElement("base")] + [random_link(rng, f"link{i}") for i in range(len(types))]
    joints = [
        random_joint(
            rng, f"joint{i}", kind, links[i if chain else rng.integers(0, i + 1)].name, f"link{i}"
        )
        for i, kind in enumerate(types)
    ]
    return Mechanism("random", tuple(links), tuple(joints))


def with_rotors(mechanism):
    """Return a mechanism with a rotor of its own inertia at each joint."""
    joints = (replace(j, armature=0.3 + 0.1 * at) for at, j in enumerate(mechanism.joints))
    return replace(mechanism, joints=tuple(joints))


def with_light_links(mechanism, names, part):
    """Return a mechanism of which some links have a part of their inertia."""
    links = tuple(
        replace(link, mass=part * link.mass, inertia=part * np.array(link.inertia))
        if link.name in names
        else link
        for link in mechanism.links
    )
    return replace(mechanism, links=links)


def random_positions(rng, kind):
    """Return positions (nq,) of a joint type, away from its singularities."""
    return kind.integrate(kind.neutral(), rng.uniform(-1.0, 1.0, kind.nv).tolist())


def random_state(rng, model):
    """Return positions (nq,), velocities and accelerations (nv,)."""
    q = [x for body in model.bodies for x in random_positions(rng, body.joint.type)]
    return q, rng.normal(size=model.nv).tolist(), rng.normal(size=model.nv).tolist()


def world_poses(model, q):
    """Return the pose (4, 4) of every link by name."""
    X0 = body_transforms(model, joint_transforms(model, list(q)))
    return {link.name: np.array(link_pose(link, X0)) for link in model.links}


def link_motions(model, q, qd, qdd):
    """Return spatial velocity and acceleration (12,) of every link, in its own axes, by name."""
    Xup = joint_transforms(model, list(q))
    v, a = velocities_and_accelerations(model, Xup, list(qd), list(qdd), Vector3.zero(), list(q))
    still = Motion.zero()
    return {
        link.name: np.array(
            [
                value
                for motion in ((still, still) if link.body < 0 else (v[link.body], a[link.body]))
                for value in (link.placement * motion).components()
            ]
        )
        for link in model.links
    }
