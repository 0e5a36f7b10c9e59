# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs in all joints and dampers in loop joints: forces that depend on the state only.

They are part of C everywhere, with the sign of Table 8.2: C - tau_a. With `Model.joint_friction`
the friction of tree joints and Coulomb friction of loop joints are part of C as well. Otherwise
the caller subtracts friction from the joint forces, because it depends on the drives.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Joint, LoopJoint, Model
from robot_dynamics.model.model import JointFriction
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.scalar.linear_algebra import dot
from robot_dynamics.spatial import Force, Motion, Scalar, Transform

#: Speed [rad/s or m/s] at which Coulomb friction is at 71 % of its value.
FRICTION_VELOCITY = 0.05


def passive_forces(
    model: Model,
    Xup: Sequence[Transform],
    v: Sequence[Motion],
    qd: Sequence[Scalar],
    parameters: Parameters,
    q: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Return the joint forces (nv,) of springs, and of dampers in loop joints (8.28).

    With `model.joint_friction` also damping and friction of tree joints, and friction of loop
    joints.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        v: Velocities of the bodies, in body coordinates.
        qd: Velocities of the joints (nv,).
        parameters: The placements of the loop joints.
        q: Positions (nq,); needed only with springs in joints of the tree, or if a motion subspace
            depends on them.

    Raises:
        RobotDynamicsError: If a joint of the tree has a spring but there are no positions.
    """
    tau: list[Scalar] = [0.0] * model.nv
    for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
        if not body.joint.elastic:
            continue
        if q is None:
            raise RobotDynamicsError(
                f"{model.name}: the spring in joint {body.joint.name!r} needs its position."
            )
        tau[at_v] = tree_spring(body.joint, q[at_q])
    if model.joint_friction:
        tau = [t + f for t, f in zip(tau, tree_friction(model, qd), strict=True)]
    if not any(acts_by_itself(loop, model.joint_friction) for loop in model.loops):
        return tau
    for frame in loop_frames(model, Xup, parameters, q):
        v_p, v_s = frame.ends(v, Motion.zero())
        force = passive_loop_force(frame.joint, frame.placement, v_s - v_p, model.joint_friction)
        for index, value in frame.joint_forces(force).items():
            tau[index] = tau[index] + value
    return tau


def has_passive_forces(model: Model) -> bool:
    """Return whether `passive_forces` can differ from zero."""
    rubs = bool(model.joint_friction and (model.damping.any() or model.friction.any()))
    elastic = any(body.joint.elastic for body in model.bodies)
    return (
        rubs or elastic or any(acts_by_itself(loop, model.joint_friction) for loop in model.loops)
    )


def spring_energies(
    model: Model, Xup: Sequence[Transform], parameters: Parameters, q: Sequence[Scalar]
) -> list[Scalar]:
    """Return the energy ½ k (x - x0)^2 of the springs in all joints [J], by bodies.

    Springs of loop joints count with their successors, or with their predecessors if those are the
    world.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        parameters: The placements of the loop joints.
        q: Positions (nq,).
    """
    energy: list[Scalar] = [0.0] * len(model.bodies)
    for i, (body, at) in enumerate(zip(model.bodies, model.q_slices, strict=True)):
        if body.joint.elastic:
            rest = body.joint.of_each_freedom(body.joint.rest)
            energy[i] = _energy(body.joint, body.joint.type.coordinates_of(q[at]), rest)
    if not any(loop.elastic for loop in model.loops):
        return energy
    for frame in loop_frames(model, Xup, parameters, q):
        joint = frame.joint
        if joint.elastic:
            rest = joint.type.told_by_placement(joint.of_each_freedom(joint.rest))
            own = _energy(joint, joint.type.coordinates(frame.placement, rest), rest)
            of = joint.predecessor if joint.successor == WORLD else joint.successor
            energy[of] = energy[of] + own
    return energy


def acts_by_itself(joint: LoopJoint, friction: JointFriction) -> bool:
    """Return whether a loop joint has springs, dampers, or active friction."""
    return (
        joint.elastic
        or joint.damped
        or (bool(friction) and any(joint.of_each_freedom(joint.friction)))
    )


def passive_loop_force(
    joint: LoopJoint, X: Transform, vJ: Motion, friction: JointFriction
) -> Force:
    """Return the force T_a tau of a loop joint's springs and dampers, on the successor (3.37).

    Args:
        joint: The loop joint.
        X: The placement sXp of its frames.
        vJ: Velocity of the successor relative to the predecessor, in the frame on the successor.
        friction: Whether its Coulomb friction acts as well.
    """
    total = Force.zero()
    if not acts_by_itself(joint, friction):
        return total
    springs: list[Scalar] = [0.0] * joint.type.nv
    if joint.elastic:
        rest = joint.type.told_by_placement(joint.of_each_freedom(joint.rest))
        pulls = _pulls(
            joint.of_each_freedom(joint.stiffness), joint.type.coordinates(X, rest), rest
        )
        springs = joint.type.coordinate_forces(X, pulls)
    dampings = joint.of_each_freedom(joint.damping)
    frictions = joint.of_each_freedom(joint.friction if friction else 0.0)
    for direction, spring, damping, coulomb in zip(
        joint.type.active_forces(X), springs, dampings, frictions, strict=True
    ):
        # T_a^T S = 1: the rate of a freedom is T_a^T v_J.
        force = spring + _resistance(vJ.dot(direction), damping, coulomb)
        total = total + direction * force
    return total


def tree_friction(model: Model, qd: Sequence[Scalar]) -> list[Scalar]:
    """Return the joint forces (nv,) of damping and Coulomb friction in tree joints."""
    values = zip(qd, model.damping.tolist(), model.friction.tolist(), strict=True)
    return [_resistance(rate, damping, coulomb) for rate, damping, coulomb in values]


def _resistance(rate: Scalar, damping: float, coulomb: float) -> Scalar:
    """Return the force against a rate; Coulomb friction is smooth through rest."""
    force: Scalar = rate * -damping if damping else 0.0
    if coulomb:
        smooth = sqrt(rate * rate + FRICTION_VELOCITY * FRICTION_VELOCITY)
        force = force - coulomb * rate / smooth
    return force


def tree_spring(joint: Joint, q: Sequence[Scalar]) -> list[Scalar]:
    """Return the joint forces (nv,) of the springs in a tree joint at its positions (nq,)."""
    rest = joint.of_each_freedom(joint.rest)
    pulls = _pulls(joint.of_each_freedom(joint.stiffness), joint.type.coordinates_of(q), rest)
    return joint.type.coordinate_forces(joint.type.transform(q), pulls)


def _energy(
    joint: Joint | LoopJoint, coordinates: Sequence[Scalar], rest: Sequence[float]
) -> Scalar:
    stiffness = joint.of_each_freedom(joint.stiffness)
    stretch = [x - x0 for x, x0 in zip(coordinates, rest, strict=True)]
    return -0.5 * dot(_pulls(stiffness, coordinates, rest), stretch)


def _pulls(
    stiffness: Sequence[float], coordinates: Sequence[Scalar], rest: Sequence[float]
) -> list[Scalar]:
    """Return -k (x - x0) for each coordinate; 0.0 without a spring."""
    return [
        (x - x0) * -k if k else 0.0 for k, x, x0 in zip(stiffness, coordinates, rest, strict=True)
    ]
