# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's worked cases as systems, and the order of six-vectors that the report has."""

from __future__ import annotations

import numpy as np
from support.mechanisms import (
    consistent_velocity,
    random_arm,
    random_link,
    random_pose,
    world_poses,
)
from support.papers import CASES, inertia, unseren_arms

from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, jointed_object_system
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, joined, pose
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities, ConstantVelocities
from robot_dynamics.reproductions.unseren_pseudovelocities import FirstExample, SecondExample
from robot_dynamics.robot import Robot

NAMES = [name for name in CASES if name.startswith("U")]
# The report has forces before moments, linear before angular.
SWAP = [3, 4, 5, 0, 1, 2]
# The case that has six joints in both arms, as the examples of appendix C need it.
CASE = CASES["U1 spherical 6+6"]
# Its pseudovelocities are [omega_2; v_1; omega_1]: linear before angular.
ORDER = [0, 1, 2, 6, 7, 8, 3, 4, 5]
EXAMPLES = {"ex1": FirstExample, "ex2": SecondExample}
CHOICES = {
    "some joints": lambda system, terms: ConstantVelocities.chosen(terms),
    "first example": lambda system, terms: FirstExample(system),
    "second example": lambda system, terms: SecondExample(system),
    "completed": lambda system, terms: CompletedVelocities.chosen(terms),
}


def system_of(case):
    """Return the system of a case; the parts' links are where the tools are."""
    data = case["input"]["system"]
    arms = unseren_arms(data)
    bodies = data["body"]
    links = [
        LinkElement(f"part{i}", b["mass"], tuple(b["r"]), inertia(b["inertia"]))
        for i, b in enumerate(bodies)
    ]
    tree = build(arms)
    ends = [world_poses(tree, np.array(case["input"]["q"]))[t] for t in ("atool", "btool")]
    # A weld keeps the relative orientation that the case has.
    relative = ends[0][:3, :3].T @ ends[1][:3, :3] if data["joint"] == "weld" else np.eye(3)
    first = pose(bodies[0]["rl"], relative)
    # The joint is where rl says in each part: the second part's link frame is moved there.
    to_joint = pose(bodies[1]["rl"])
    moved = LinkElement(
        "part1",
        links[1].mass,
        tuple(np.subtract(bodies[1]["r"], bodies[1]["rl"])),
        links[1].inertia,
    )
    kind = {"sph": "spherical", "weld": "fixed"}[data["joint"]]
    joint = JointElement("object_joint", kind, "part0", "part1", first)
    held = Mechanism("object", (links[0], moved), (joint,))
    grasps = (np.eye(4), np.linalg.inv(to_joint))
    return jointed_object_system(arms, held, ("atool", "btool"), grasps, gravity=data["g"])


def state_of(case):
    """Return positions, velocities and torques of a case."""
    return tuple(np.array(case["input"][name]) for name in ("q", "qd", "tau"))


def terms_of(case):
    """Return the joint-space terms of a case at its state."""
    q, qd, _ = state_of(case)
    return JointSpaceModel(system_of(case)).terms(q, qd)


OBJECT_JOINTS = ("spherical", "universal", "revolute", "prismatic", "fixed")


def random_system(rng, kind, joints=(6, 6)):
    """Return arms without structure that hold an object of two links and a joint of a kind."""
    placed = [
        (random_arm(rng, f"{name}_", n), random_pose(rng), "fixed")
        for name, n in zip("ab", joints, strict=True)
    ]
    arms = joined("arms", placed)
    parts = (random_link(rng, "part0"), random_link(rng, "part1"))
    joint = JointElement("object_joint", kind, "part0", "part1", random_pose(rng, 0.2))
    held = Mechanism("object", parts, (joint,))
    grasps = (random_pose(rng, 0.2), random_pose(rng, 0.2))
    tools = tuple(arm.links[-1].name for arm, _, _ in placed)
    return jointed_object_system(arms, held, tools, grasps)


def closed_states(rng, system, count):
    """Yield a system whose joint is closed where its arms are, positions, and a velocity.

    The joint's frame on the second part is put where that on the first is, turned as the joint
    may be.
    """
    model = system.model
    loop = system.joint
    free = loop.type.nv
    for _ in range(count):
        q = rng.uniform(-np.pi, np.pi, model.nq)
        X0 = body_transforms(model, joint_transforms(model, q.tolist()))
        at = loop.predecessor_placement.compose(X0[loop.predecessor])
        position = loop.type.integrate(loop.type.neutral(), (0.5 * rng.normal(size=free)).tolist())
        there = loop.type.transform(position).compose(at).compose(X0[loop.successor].inverse())
        moved = JointedObjectSystem(
            model.replace(successor_placement={loop.name: there}), system.parts
        )
        terms = Robot(moved.model).constraint_terms(q, np.zeros(model.nv))
        yield moved, q, consistent_velocity(terms[0], terms[2], rng.normal(size=model.nv))


def regular_states(kind, joints, count=5):
    """Yield terms and velocities of random closed states that are not near a singularity."""
    rng = np.random.default_rng(5)
    system = random_system(rng, kind, joints)
    for there, q, qd in closed_states(rng, system, count):
        terms = JointSpaceModel(there).terms(q, qd)
        if np.linalg.cond(terms.A @ terms.D_inverse_A) < 1e4:
            yield there, terms, q, qd
