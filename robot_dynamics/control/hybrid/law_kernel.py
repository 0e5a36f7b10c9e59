# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled step of the hybrid law for one system, and its binding to gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import Layout, law_constants
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.control.rollout import LawAlongPlan, LawParts, UnlimitedLaw
from robot_dynamics.control.rotation_path import rotated
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.parameters import pack


class TunedKernel(NamedTuple):
    """A kernel with gains.

    Attributes:
        gains: The gains.
        block: Parameters of the kernel.
        step: Function from the inputs of `HybridLawProgram` to torque, memory and outputs.
        effort: Largest torques of the arm joints (na,).
    """

    gains: HybridGains
    block: Array
    step: Callable[..., tuple[Array, Array, Array]]
    effort: Array


class LawKernel:
    """The compiled step of the hybrid law; it does not change while a law exists.

    Args:
        program: The step.
        distribution: Sharing of forces and internal forces.
        holding: Internal force (m,) that belongs to the support; see `holding_force`.

    Attributes:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces and internal forces.
        holding: Internal force (m,) that belongs to the support.
        layout: Positions of the parts in inputs and outputs.
        order: For each arm joint its index among the drives of the arms' model (na,).
        kind: Class and options of the step.
        source: Cache key of the step, and the function that traces it.
        linked: Whether arms have internal closed chains.
        limits: "lower", "upper" and "effort" of the drives (n,).
        no_force: Internal force of zero (m,).
    """

    def __init__(
        self, program: HybridLawProgram, distribution: ForceDistribution, holding: Array
    ) -> None:
        self.system, self.distribution, self.holding = program.system, distribution, holding
        self.layout, self.order = program.layout, np.array(program.order)
        self.kind = type(program), program.options
        self.linked = self.layout.passive_joints > 0
        self.limits = self.system.drive_limits
        self.no_force = np.zeros(self.layout.internal)
        key, build = program.structure_key, program.trace
        if key is None:
            traced = program.trace()
            key, build = traced.fingerprint, lambda: traced
        self.source = b"hybrid_law\0" + key, build
        self._kernel = load_kernel(*self.source, lanes=1)
        self._constants = law_constants(self.system, distribution, holding)

    @cached_property
    def program(self) -> Program:
        """The step as a program, for derivatives."""
        return self.source[1]()

    def with_forces(self, distribution: ForceDistribution, holding: Array) -> LawKernel:
        """Return the kernel with another sharing of forces and another support.

        Args:
            distribution: Sharing of forces and as many internal forces.
            holding: Internal force (m,) that belongs to the support.
        """
        other = copy(self)
        other.distribution, other.holding = distribution, holding
        other._constants = law_constants(self.system, distribution, holding)
        return other

    def tuned(self, gains: HybridGains, more: Sequence[Array] = ()) -> TunedKernel:
        """Return the kernel with gains, and with the parameters that a derived law adds."""
        parts = [pack(self.system.arms), gains.pack(), self._constants, *more]
        block = np.concatenate(parts)
        return TunedKernel(gains, block, self._kernel.bind(block), gains.effort[self.order])

    def with_block(self, tuned: TunedKernel, block: Array) -> TunedKernel:
        """Return a tuned kernel with another block of parameters."""
        return tuned._replace(block=block, step=self._kernel.bind(block))

    def batch(self, blocks: Array) -> OwnParameters:
        """Return the kernel of cells with a block each (N, parameters)."""
        return OwnParameters(*self.source, blocks)

    def of_model(self, q: Array) -> Array:
        """Return positions of the arm joints (na,) in the order of the arms' model."""
        own = np.empty(len(q))
        own[self.order] = q
        return own

    def joints(self, q: Array) -> Array:
        """Return positions (nq,) of all joints of the arms' model for arm joints (na,)."""
        return self.system.passive_joints.positions(self.of_model(q))

    def unlimited(
        self, system: GraspSystem, gains: HybridGains, more: Sequence[Array] = (), *, senses: bool
    ) -> UnlimitedLaw:
        """Return the law on its plan without limits, delay and integrals; see `control.rollout`.

        Args:
            system: Arms and object.
            gains: Gains with the posture that the arms stay near.
            more: Parameters that a derived law adds.
            senses: Whether the object's pose comes from a sensor.
        """
        free = np.full(len(gains.effort), np.inf)
        step = self.tuned(replace(gains, effort=free, torque_rate=np.inf, lead=0.0), more).step
        layout, center = self.layout, np.array(self.system.held.center)
        nothing = np.zeros((layout.arms, 6)), np.zeros(Layout.size(layout.sensors))
        passive = system.every_q[list(self.system.passive_joints.indices)]
        accelerations = layout.memory["joint_acceleration"].start + self.order

        def of_plan(rows: Sequence[Array]) -> LawAlongPlan:
            plan, count = rows[0], len(rows[0])
            given = np.zeros((count, Layout.size(layout.reference)))
            given[:, : plan.shape[1]] = plan
            memories = np.zeros((count, Layout.size(layout.memory)))
            placed, held = memories[:, layout.memory["pose"]], plan[:, POSE]
            placed[:, 3:] = held[:, 3:]
            placed[:, :3] = held[:, :3] + rotated(held[:, 3:], center)
            memories[:, layout.memory["touched"]] = plan[:, layout.reference["touch"]]

            def at_instant(i: int, at: Array, rate: Array) -> LawParts:
                memories[i, layout.memory["passive_joints"]] = at[passive]
                sensed = [plan[i, : TWIST.stop]] if senses else []
                q, qd = at[system.q_index], rate[system.v_index]
                torque, after, seen = step(q, qd, *nothing, given[i], memories[i], 1.0, *sensed)
                support, tilt = seen[layout.outputs["support"]], seen[layout.outputs["tilt"]]
                pivot = seen[layout.outputs["scales"].start + 4]
                return LawParts(torque, support, after[accelerations], pivot, tilt)

            return at_instant

        return of_plan
