# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A control step of a random system, as a function of its inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.algorithms import constraint_program
from robot_dynamics.control.law import LawGains, law_parameters, law_program
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.model.parameters import pack
from support.mechanisms import consistent_velocity

PERIOD = 0.002


def gains(system, **changes) -> LawGains:
    """Return gains of which each has an effect of its own, without limits."""
    na = len(system.joint_names)
    plain = LawGains(
        proportional=400.0,
        derivative=40.0,
        integral=900.0,
        force_integral=20.0,
        posture_proportional=9.0,
        posture_derivative=6.0,
        period=PERIOD,
        friction_share=0.0,
        friction_velocity=0.05,
        torque_rate=np.inf,
        effort=np.full(na, np.inf),
        posture=system.posture + 0.1,
    )
    return replace(plain, **changes)


class Step:
    """A system at a closed moving state, and its control step as a function of its inputs."""

    def __init__(self, cell, shares, rng):
        self.system, self.q, _ = cell
        self.model = self.system.model
        self.maps = transmitted_force_map(self.system.grasps, shares)
        self.program = law_program(self.system)
        self.terms = constraint_program(self.model)
        H, _, K, *_ = self.terms.evaluate(self.q, np.zeros(self.model.nv), parameters=self.block)
        # Arms of random build may be far from isotropic: slow motion keeps numbers moderate.
        self.qd = consistent_velocity(H, K, 0.3 * rng.normal(size=self.model.nv))
        self.na, self.nf = len(self.system.joint_names), self.maps.internal.shape[1]
        self.pose = self.q[self.system.object_q]
        R = Rotation.from_quat(self.pose[3:])
        velocity = self.qd[self.system.object_v]
        self.twist = np.concatenate([R.apply(velocity[:3]), R.apply(velocity[3:])])

    @property
    def block(self):
        return pack(self.model)

    def reference(self, pose=None, twist=None, acceleration=None, force=None):
        """Return a reference row: to stay on the present motion, unless told otherwise."""
        return np.concatenate(
            [
                self.pose if pose is None else pose,
                self.twist if twist is None else twist,
                np.zeros(6) if acceleration is None else acceleration,
                np.zeros(self.nf) if force is None else force,
            ]
        )

    def run(self, reference, *, wrenches=None, memory=None, ramp=1.0, **changes):
        """Return the outputs of the step by name."""
        k = len(self.system.arms)
        block = law_parameters(self.system, gains(self.system, **changes), self.maps)
        out = self.program.evaluate(
            self.q[self.system.q_index],
            self.qd[self.system.v_index],
            np.zeros((k, 6)) if wrenches is None else wrenches,
            reference,
            np.zeros(6 + self.nf + self.na) if memory is None else memory,
            ramp,
            parameters=block,
        )
        return dict(zip(self.program.outputs, out, strict=True))

    def response(self, torque):
        """Return the object's classical acceleration in world axes (6,) and internal force."""
        H, C, K, k, _, _ = self.terms.evaluate(self.q, self.qd, parameters=self.block)
        n, m = len(H), len(K)
        tau = np.zeros(n)
        tau[self.system.v_index] = torque
        matrix = np.block([[H, K.T], [K, np.zeros((m, m))]])
        x = np.linalg.solve(matrix, np.concatenate([tau - C, k]))
        at = self.system.object_v
        a, v = x[at], self.qd[at]
        R = Rotation.from_quat(self.pose[3:])
        classical = a[3:] + np.cross(v[:3], v[3:])
        return np.concatenate([R.apply(a[:3]), R.apply(classical)]), self.maps.recovery @ -x[n:]
