# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a control step of the hybrid law is made for, and what it is given, traceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.control.hybrid.constants import LawConstants
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.layout import Layout
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid.decoupling_law import GeneralisedInverse
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.model.parameters import Parameters, block_size, unpack
from robot_dynamics.spatial import Scalar


@dataclass(frozen=True)
class LawOptions:
    """What the program of the law is made for.

    Attributes:
        sensor: Whether the object's pose and twist come from outside, not from the arms.
        ahead: Whether the model is evaluated ahead of the measurement, in the middle of the time
            in which the torque acts; else at the measurement.
        avoid: Whether arms with freedom to spare move away from singularities.
        null_space: Generalised inverse of (34); see `ArmSide`.
    """

    sensor: bool = False
    ahead: bool = True
    avoid: bool = False
    null_space: GeneralisedInverse = "inertia"

    @classmethod
    def of(cls, settings: ControlSettings, system: HybridSystem) -> LawOptions:
        """Return the options that settings ask for.

        Raises:
            ArgumentError: If arms with internal closed chains are to avoid singularities.
        """
        avoidance = settings.posture.singularity_avoidance
        if avoidance > 0.0 and system.drives:
            raise ArgumentError(
                f"`posture.singularity_avoidance` of {avoidance:g}: expected 0 for arms with "
                "loops of their own, whose singularities are not avoided."
            )
        return cls(
            settings.object_pose == "sensor", settings.ahead, avoidance > 0.0, settings.null_space
        )


@dataclass(frozen=True)
class LawInputs:
    """Inputs and parameters of `law_program`, taken apart.

    Attributes:
        q: Measured positions (n,), of the drives if arms have loops, in the model's order.
        qd: Measured velocities (n,), likewise.
        wrenches: Measured grasp wrenches (k, 6).
        sensed: Which sensors there are, and measured forces on the surfaces.
        wanted: The parts of the reference.
        last: Those of the memory.
        ramp: The part of the task that is let through.
        outside: Pose and twist of the object (13,); empty where the arms tell them.
        parameters: Of the arms' model.
        gain: Gains.
        fixed: Constants.
    """

    q: list[Scalar]
    qd: list[Scalar]
    wrenches: Sequence[Sequence[Scalar]]
    sensed: Sequence[Scalar]
    wanted: Mapping[str, list[Scalar]]
    last: Mapping[str, list[Scalar]]
    ramp: Scalar
    outside: Sequence[Scalar]
    parameters: Parameters
    gain: HybridGains
    fixed: LawConstants

    @classmethod
    def of(cls, system: HybridSystem, order: Sequence[int], arguments: Sequence[Any]) -> LawInputs:
        """Return the inputs of a step.

        Args:
            system: Arms, object, contacts and surfaces.
            order: For each joint of the inputs its index among the drives of the arms' model.
            arguments: The inputs in their order, and the block of parameters.
        """
        q_in, qd_in, wrenches, sensed, row, memory, ramp, *more, block = arguments
        layout, size = Layout.of(system), block_size(system.arms)
        gain, rest = HybridGains.unpack(block[size:], layout.joints, layout.surfaces)
        q, qd = [0.0] * layout.joints, [0.0] * layout.joints
        for at, index in enumerate(order):
            q[index], qd[index] = q_in[at], qd_in[at]
        return cls(
            q,
            qd,
            wrenches,
            sensed,
            {name: list(row[at]) for name, at in layout.reference.items()},
            {name: list(memory[at]) for name, at in layout.memory.items()},
            ramp,
            more[0] if more else [],
            unpack(system.arms, block[:size]),
            gain,
            LawConstants.unpack(system, rest),
        )
