# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arms' own terms (1) to (3) in the coordinates that their drives move.

Arms without loops have M, h and J of their joints. Where an arm closes a loop within itself, as a
five-bar linkage does, its drives are the independent coordinates, qd = G yd and qdd = G ydd + g
(8.51), and its equation of motion is that in yd: M = G^T H G, h = G^T (C + H g).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.independent import form_in
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import classical_acceleration, jacobian_in_frame
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.dynamics.scaling import coordinates_of, model_length
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.spatial import Transform, Vector3

Array = NDArray[np.float64]

# Below this, a ratio of distances, the drives do not tell how their linkage moves; above it, they
# tell of motions that the linkage does not have.
_UNDETERMINED = 1e-6


@dataclass(frozen=True)
class ArmTerms:
    """Arms at one state, over the n velocities of their drives; world axes, angular first.

    Attributes:
        M: Inertia (n, n).
        h: Bias (n,), gravity and springs included.
        J: Jacobian of the tools' origins (6k, n).
        J_dot_qd: What is left of the tools' accelerations at qdd = 0 (6k,).
        qd: Velocities of the drives (n,).
    """

    M: Array
    h: Array
    J: Array
    J_dot_qd: Array
    qd: Array


@dataclass(frozen=True)
class Arms:
    """Arms on one base, compiled.

    Attributes:
        model: The arms.
        tools: The links whose origins are of interest.
        drives: Joints or coordinates that determine the motion of arms with loops, in the order of
            the model; all joints of arms without.
    """

    model: Model
    tools: tuple[str, ...]
    drives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name, looped = self.model.name, bool(self.model.constraint_count)
        if looped and not self.drives:
            raise ArgumentError(
                f"{name}: the arms have internal closed chains, expected the names of the drives "
                "that "
                "determine their motion."
            )
        if self.drives and not looped:
            raise ArgumentError(f"{name}: arms without loops have all their joints as drives.")

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices (n,) of the velocities that are those of the drives, ascending."""
        if not self.drives:
            return tuple(range(self.model.nv))
        found = [i for name in self.drives for i in coordinates_of(self.model, name)]
        if found != sorted(set(found)):
            raise ArgumentError(
                f"{self.model.name}: drives {', '.join(self.drives)}, expected each once and in "
                "the order of the model."
            )
        return tuple(found)

    def terms(self, q: Array, qd: Array) -> ArmTerms:
        """Return the terms at positions (nq,) and velocities (nv,) of all joints.

        Raises:
            RobotDynamicsError: If the drives do not determine the motion, or are not independent.
        """
        qd = np.asarray(qd, dtype=float)
        if not self.drives:
            H, C, J, J_dot_qd = self._kernel(q, qd)
            return ArmTerms(H, C, J.reshape(-1, self.model.nv), J_dot_qd.ravel(), qd)
        H, C, J, J_dot_qd, K, k = self._kernel(q, qd)
        form = form_in(self.model, K, k, self.independent, self._length)
        if form.weakest < _UNDETERMINED or form.residual_K > _UNDETERMINED:
            fault = "are not independent" if form.residual_K > _UNDETERMINED else "leave it free"
            raise RobotDynamicsError(
                f"{self.model.name}: drives {', '.join(form.names)} {fault} here, expected as "
                "many as determine the arms' motion."
            )
        G, g = form.G, form.g
        J = J.reshape(-1, self.model.nv)
        return ArmTerms(
            G.T @ H @ G,
            G.T @ (C + H @ g),
            J @ G,
            J_dot_qd.ravel() + J @ g,
            qd[list(self.independent)],
        )

    @cached_property
    def _length(self) -> float:
        return model_length(self.model)

    @cached_property
    def _kernel(self) -> Any:
        places = [(tool, self.model.link(tool).placement) for tool in self.tools]
        key = b"hybrid\0" + repr(places).encode() + self.model.structure_key
        return load_kernel(key, lambda: arm_program(self.model, self.tools), lanes=1).bind(
            pack(self.model)
        )


def arm_program(model: Model, tools: Sequence[str]) -> Program:
    """Return the program of H, C, J, J_dot qd, and of K and k if there are loops."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)
        Xup = joint_transforms(model, q)
        X0 = body_transforms(model, Xup)
        v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
        J, J_dot_qd = [], []
        for tool in tools:
            link = model.link(tool)
            # To the link's origin, in world axes.
            turned = Transform(link_transform(link, X0).E.transpose(), Vector3.zero())
            X = turned.compose(link.placement)
            J.append(jacobian_in_frame(model, link.body, Xup, X, q))
            v_e, a_e = X * v[link.body], X * avp[link.body]
            J_dot_qd.append(classical_acceleration(a_e, v_e, parameters.gravity))
        terms = terms_of_transforms(model, Xup, qd, parameters, q)
        outputs = {"H": terms.H, "C": terms.C, "J": J, "J_dot_qd": J_dot_qd}
        if model.constraint_count:
            outputs |= {"K": terms.loops.K, "k": terms.loops.k}
        return outputs

    return trace(run, "hybrid", {"q": model.nq, "qd": model.nv}, block_size(model))
