# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One step of the hybrid law at a state, without servos, limits or anything else but the law."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.compile import compile_program
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import LawInputs, LawOptions, Layout, law_constants
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate, estimate_from_arms
from robot_dynamics.model.parameters import pack
from support.hybrid_systems import environment_of, state_of

# So short that nothing moves between two samples.
INSTANT = 1e-9


def bare_gains(system, **changes) -> HybridGains:
    """Return gains of the law alone: no servo, no limit, no friction."""
    n, C = len(system.drive_names), len(system.environment.surfaces)
    names = HybridGains.__dataclass_fields__
    plain = HybridGains(**dict.fromkeys(names, 0.0))
    plain = replace(
        plain,
        derivative=1.0,
        posture_derivative=1.0,
        hand_derivative=1.0,
        contact_error=np.inf,
        contact_bound=np.inf,
        internal_bound=np.inf,
        motion_bound=np.inf,
        gated=1.0,
        safe_pivot=1e-12,
        touch=1.0,
        lost_after=1.0,
        period=INSTANT,
        friction_velocity=0.05,
        torque_rate=np.inf,
        damping=np.zeros(C),
        effort=np.full(n, np.inf),
        posture=np.zeros(n),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
    )
    return replace(plain, **changes)


def block_of(system, gains, distribution):
    """Return the parameters of the law's kernel."""
    return np.concatenate([pack(system.arms), gains.pack(), law_constants(system, distribution)])


def arguments_of(state, *, gains=None, distribution=None, ramp=1.0, wrenches=None, **changes):
    """Return the inputs of a step of the law at a state, its block, and the sharing of forces.

    Args:
        state: System and state (`support.hybrid_systems.HeldState`).
        gains: Gains; those of the law alone by default.
        distribution: Sharing of forces; the physical one by default.
        ramp: Part of the task that is let through.
        wrenches: Measured grasp wrenches (k, 6).
        changes: Parts of the reference and of the memory, by their names in `Layout`, those of
            the memory with "memory_" before them where the reference has the same; what is not
            given is the state at rest in itself, all surfaces touched.
    """
    system, layout = state.system, Layout.of(state.system)
    gains = gains or bare_gains(system)
    distribution = distribution or ForceDistribution.of_contacts(system)
    R, x = state.pose[:3, :3], state.pose[:3, 3]
    center = R @ np.asarray(system.held.center)
    quaternion = Rotation.from_matrix(R).as_quat()
    own = np.concatenate([R.T @ state.twist[:3], R.T @ state.twist[3:]])
    # A sample before it was where it came from.
    before = Rotation.from_rotvec(-gains.period * state.twist[:3]) * Rotation.from_matrix(R)
    at_origin = state.twist[3:] - np.cross(state.twist[:3], center)
    given = {
        "pose": np.concatenate([x, quaternion]),
        "twist": np.concatenate([state.twist[:3], at_origin]),
        "touch": np.ones(layout.surfaces),
    }
    kept = {
        "memory_pose": np.concatenate(
            [x + center - gains.period * state.twist[3:], before.as_quat()]
        ),
        "touched": np.ones(layout.surfaces),
    }
    kept["memory_twist"] = own
    kept["passive_joints"] = state.q[list(system.passive_joints.indices)]
    reference = np.zeros(layout.size(layout.reference))
    memory = np.zeros(layout.size(layout.memory))
    for name, at in layout.reference.items():
        reference[at] = changes.get(name, given.get(name, 0.0))
    for name, at in layout.memory.items():
        key = f"memory_{name}" if name in layout.reference else name
        memory[at] = changes.get(key, kept.get(key, 0.0))
    sensors = np.zeros(layout.size(layout.sensors))
    sensors[0] = wrenches is not None
    if "forces" in changes:
        sensors[1], sensors[2:] = 1.0, changes["forces"]
    if wrenches is None:
        wrenches = np.zeros((layout.arms, 6))
    block = block_of(system, gains, distribution)
    arrays = (*state.drives, wrenches, sensors, reference, memory, np.float64(ramp))
    return arrays, block, distribution


def inputs_of(state, **given) -> LawInputs:
    """Return the inputs at a state, taken apart, over floats; see `arguments_of`."""
    arrays, block, _ = arguments_of(state, **given)
    lists = [np.asarray(array).tolist() for array in (*arrays, block)]
    return LawInputs.of(state.system, range(len(state.system.drive_names)), lists)


def estimate_of(inputs, arms) -> ObjectEstimate:
    """Return the object as the arms see it; see `inputs_of`."""
    constants, memory = inputs.constants, inputs.memory
    return estimate_from_arms(
        constants.points, arms.X0, arms.v, memory["pose"], memory["twist"], inputs.gains.period,
        constants.observer,
    )  # fmt: skip


class TracedHybridLaw:
    """The law for a kind of system: its kernel, or the code over floats that it is traced from."""

    def __init__(self, system, options=None, *, compiled=True) -> None:
        self.layout, order = Layout.of(system), tuple(range(len(system.drive_names)))
        self.options, self.kernel = options or LawOptions(ahead=False), None
        if compiled:
            self.kernel = compile_program(
                HybridLawProgram(system, order, self.options).trace(), lanes=1
            )

    def run(self, state, **given):
        """Return the results of the law at a state, by name; see `arguments_of`."""
        arrays, block, distribution = arguments_of(state, **given)
        if self.kernel:
            torque, memory, outputs = self.kernel.bind(block)(*arrays)
        else:
            step = HybridLawProgram(state.system, tuple(range(self.layout.joints)), self.options)
            lists = [array.tolist() for array in (*arrays, block)]
            torque, memory, outputs = (np.array(value) for value in step(*lists).values())
        layout = self.layout
        result = {name: outputs[at] for name, at in layout.outputs.items()}
        after = {f"new_{name}": memory[at] for name, at in layout.memory.items()}
        return {"torque": torque, "distribution": distribution, **result, **after}


@cache
def law_of(count, kind, joints, surfaces, options=None, compiled=True, own=False):
    """Return the law of a combination of `support.hybrid_systems`, compiled once."""
    rng = np.random.default_rng(0)
    system = state_of(count, kind, joints, environment_of(surfaces, own), rng).system
    return TracedHybridLaw(system, options, compiled=compiled)
