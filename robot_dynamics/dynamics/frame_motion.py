# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities, accelerations and forces of named frames, in selectable axes."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import (
    LOCAL,
    WORLD_AXES,
    Axes,
    columns_in_axes,
    link_jacobian,
)
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    link_transform,
)
from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.spatial import Force, Motion, Scalar, Transform, Vector3


def frame_velocity(
    model: Model, link: Link, q: Sequence[Scalar], qd: Sequence[Scalar], axes: Axes
) -> Motion:
    """Return the spatial velocity of a frame, in `axes` (see `jacobian.AXES`).

    Args:
        model: The mechanism.
        link: The frame.
        q: Positions (nq,).
        qd: Velocities (nv,).
        axes: The coordinates of the result.
    """
    if link.body == WORLD:
        return Motion.zero()
    Xup = joint_transforms(model, q)
    v = body_velocities(model, Xup, qd, q)
    return _in_axes(link, body_transforms(model, Xup), v[link.body], axes)


def frame_acceleration(
    model: Model,
    link: Link,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar] | None,
    axes: Axes,
    classical: bool,
) -> Motion:
    """Return the acceleration of a frame, without gravity, in `axes`.

    Args:
        model: The mechanism.
        link: The frame.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,); None for zero ones.
        axes: The coordinates of the result.
        classical: Whether the linear part is the acceleration of the body-fixed point at the
            origin of `axes`, instead of the spatial acceleration: omega x v is added (2.48).
    """
    if link.body == WORLD:
        return Motion.zero()
    Xup = joint_transforms(model, q)
    velocities, accelerations = velocities_and_accelerations(
        model, Xup, qd, qdd, Vector3.zero(), q
    )
    X0 = body_transforms(model, Xup)
    a = _in_axes(link, X0, accelerations[link.body], axes)
    if not classical:
        return a
    v = _in_axes(link, X0, velocities[link.body], axes)
    return Motion(a.angular, a.linear + v.angular.cross(v.linear))


def frame_forces(
    model: Model, link: Link, q: Sequence[Scalar], wrench: Sequence[Scalar], axes: Axes
) -> list[Scalar]:
    """Return J^T f (nv,): the joint forces equivalent to a wrench on a frame.

    Args:
        model: The mechanism.
        link: The frame.
        q: Positions (nq,).
        wrench: f (6,), moment first, in `axes` and about their origin.
        axes: The coordinates of the wrench.
    """
    force = Force.of(wrench)
    tau: list[Scalar] = [0.0] * model.nv
    for index, column in columns_in_axes(model, link, joint_transforms(model, q), axes, q).items():
        tau[index] = column.dot(force)
    return tau


def frame_forces_jvp(
    model: Model,
    link: Link,
    q: Sequence[Scalar],
    wrench: Sequence[Scalar],
    dq: Sequence[Scalar],
    axes: Axes,
) -> list[Scalar]:
    """Return the rate of `frame_forces` (nv,) of a constant wrench as q moves along dq (nv,)."""
    rates = model.position_rate(q, dq)
    rate: list[Scalar]
    _, rate = directional_derivative(
        lambda q: frame_forces(model, link, q, wrench, axes), q, rates
    )
    return rate


def _in_axes(link: Link, X0: Sequence[Transform], motion: Motion, axes: Axes) -> Motion:
    """Return a motion of the link's body, given in its coordinates, in `axes`."""
    if axes == WORLD_AXES:
        return X0[link.body].inverse_times(motion)
    own = link.placement * motion
    if axes == LOCAL:
        return own
    E = link_transform(link, X0).E
    return Motion(E.inverse_times(own.angular), E.inverse_times(own.linear))


#: Options of these six: the link, the axes, and for accelerations whether they are classical.
JACOBIAN = Algorithm(
    "jacobian",
    lambda model, q, parameters, link, axes: link_jacobian(
        model, link, joint_transforms(model, q), q, axes
    ),
    "q -> J (6, nv)",
)
VELOCITY = Algorithm(
    "velocity",
    lambda model, q, qd, parameters, link, axes: frame_velocity(model, link, q, qd, axes),
    "q, qd -> v (6)",
)
ACCELERATION = Algorithm(
    "acceleration",
    lambda model, q, qd, qdd, parameters, link, axes, classical: frame_acceleration(
        model, link, q, qd, qdd, axes, classical
    ),
    "q, qd, qdd -> a (6)",
)
BIAS_ACCELERATION = Algorithm(
    "bias_acceleration",
    lambda model, q, qd, parameters, link, axes, classical: frame_acceleration(
        model, link, q, qd, None, axes, classical
    ),
    "q, qd -> a (6)",
)
FRAME_FORCES = Algorithm(
    "external_forces",
    lambda model, q, wrench, parameters, link, axes: frame_forces(model, link, q, wrench, axes),
    "q, wrench -> tau (nv)",
)
FRAME_FORCES_JVP = Algorithm(
    "external_forces_jvp",
    lambda model, q, wrench, dq, parameters, link, axes: frame_forces_jvp(
        model, link, q, wrench, dq, axes
    ),
    "q, wrench, dq -> tau (nv)",
)
