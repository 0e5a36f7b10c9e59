# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled step of the hybrid law for one system, and its binding to gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import Layout, law_constants
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.control.rollout import LawParts, UnlimitedLaw
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
        law = self.tuned(replace(gains, effort=free, torque_rate=np.inf, lead=0.0), more).step
        return _UnlimitedHybridLaw(self, system, law, senses)


class _UnlimitedHybridLaw:
    """The law on its plan without limits, delay and integrals; see `LawKernel.unlimited`.

    Attributes:
        acceleration_at: Indices of the accelerations of the arm joints in its memory (na,).

    Args:
        kernel: The kernel.
        system: Arms and object.
        step: Its step, without limits.
        senses: Whether the object's pose comes from a sensor.
    """

    def __init__(
        self, kernel: LawKernel, system: GraspSystem, step: Callable[..., Any], senses: bool
    ) -> None:
        self._layout, self._system, self._step, self._senses = kernel.layout, system, step, senses
        self._center = np.array(kernel.system.held.center)
        self._passive = system.every_q[list(kernel.system.passive_joints.indices)]
        layout = kernel.layout
        self._nothing = np.zeros((layout.arms, 6)), np.zeros(Layout.size(layout.sensors))
        self._joints = layout.memory["passive_joints"]
        self.acceleration_at = layout.memory["joint_acceleration"].start + kernel.order

    def __call__(self, positions: Array, rates: Array, rows: Sequence[Array]) -> LawParts:
        """Return the results at states on the plan; see `control.rollout`."""
        return self.parts_of(*self.evaluate(positions, rates, self.given(rows[0])))

    def along(self, rows: Sequence[Array]) -> _HybridLawAlongPlan:
        """Return the law along rows of the plan; see `control.rollout`."""
        return _HybridLawAlongPlan(self, self.given(rows[0]))

    def given(self, row: Array) -> list[Array]:
        """Return rows as the law takes them, its memory, and the object's pose if it is sensed."""
        layout, leading = self._layout, row.shape[:-1]
        given = np.zeros((*leading, Layout.size(layout.reference)))
        given[..., : row.shape[-1]] = row
        memory = np.zeros((*leading, Layout.size(layout.memory)))
        placed, held = memory[..., layout.memory["pose"]], row[..., POSE]
        placed[..., 3:] = held[..., 3:]
        placed[..., :3] = held[..., :3] + rotated(held[..., 3:], self._center)
        memory[..., layout.memory["touched"]] = row[..., layout.reference["touch"]]
        return [given, memory, row[..., : TWIST.stop]] if self._senses else [given, memory]

    def evaluate(self, at: Array, rate: Array, given: Sequence[Array]) -> Sequence[Array]:
        """Return torque, memory and outputs at states with the result of `given`."""
        row, memory, *more = given
        memory[..., self._joints] = at[..., self._passive]
        q, qd = at[..., self._system.q_index], rate[..., self._system.v_index]
        found: Sequence[Array] = self._step(q, qd, *self._nothing, row, memory, 1.0, *more)
        return found

    def parts_of(self, torque: Array, after: Array, seen: Array) -> LawParts:
        """Return the parts of torque, memory and outputs (...)."""
        outputs = self._layout.outputs
        support, tilt = seen[..., outputs["support"]], seen[..., outputs["tilt"]]
        pivot = seen[..., outputs["scales"].start + 4]
        return LawParts(torque, support, after[..., self.acceleration_at], pivot, tilt)


class _HybridLawAlongPlan:
    """The law along a plan; it keeps its results."""

    def __init__(self, law: _UnlimitedHybridLaw, given: Sequence[Array]) -> None:
        self._law, self._given = law, given
        self._found: list[Sequence[Array]] = []

    def acceleration(self, i: int, at: Array, rate: Array) -> Array:
        """Return the accelerations of the arm joints (na,); see `LawAlongPlan`."""
        found = self._law.evaluate(at, rate, [each[i] for each in self._given])
        self._found.append(found)
        return np.asarray(found[1][self._law.acceleration_at])

    def parts(self, at: Array, rate: Array) -> LawParts:
        """Return the results at the states of the first instants; see `LawAlongPlan`."""
        if not self._found:
            return self._law.parts_of(*self._law.evaluate(at, rate, [e[:0] for e in self._given]))
        return self._law.parts_of(*map(np.array, zip(*self._found, strict=True)))
