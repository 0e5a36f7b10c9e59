# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as the plant of two arms that hold the parts of a jointed object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.jointed_object.joint_space import world_triples
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.mujoco_plant import MujocoPlant
from robot_dynamics.simulation.parts_plant import carrying_map, joint_of_parts
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]

_ROWS = ("rx", "ry", "rz", "x", "y", "z")


class MujocoPartsPlant(MujocoPlant):
    """Arms and parts, welded to one another, with points that hold the parts together.

    Args:
        system: Arms, parts and grasps as they truly are.
        start: Positions (nq,) of the start, all loops closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed, or the joint is neither spherical nor
            revolute.
        ArgumentError: If the object has no joint, or the settings do not fit.
    """

    def __init__(
        self, system: GraspSystem, start: Array, period: float, settings: PlantSettings
    ) -> None:
        joint_of_parts(system)
        names = system.internal_axes
        self._rows = [_ROWS.index(name) for name in names]
        self._triples = [list(triple) for triple in world_triples(names)]
        self._hinge = "rx" in names  # it keeps its axis; a ball keeps no angle
        super().__init__(system, start, period, settings)

    def _begin(self) -> None:
        super()._begin()
        sites = ("object_joint_first", "object_joint_second")
        self._joint_sites = tuple(self._model.site(name).id for name in sites)
        self._joint_force = np.zeros(len(self._rows))
        self._wrenches = np.array(
            [self._carried(i) for i in range(len(self.system.object_bodies))]
        )

    def truth(self) -> Truth:
        """Return the present true state; the object's pose is that of its first part."""
        first, second = (
            self._motion_of(*self._free_body(body)) for body in self.system.object_bodies
        )
        position, rotation = self._openings()
        apart, _ = self._gap(*self._joint_sites)
        axes = (self._data.site_xmat[site].reshape(3, 3)[:, 2] for site in self._joint_sites)
        tilted = float(np.linalg.norm(np.cross(*axes))) if self._hinge else 0.0
        return Truth(
            *first,
            self._joint_force.copy(),
            max(position, apart),
            max(rotation, tilted),
            0.0,
            self._torque.copy(),
            second,
        )

    def _read_wrenches(self) -> None:
        super()._read_wrenches()
        data = self._data
        first, second = (data.site_xmat[site].reshape(3, 3) for site in self._joint_sites)
        at = (self._model.sensor(f"object_joint_{kind}").adr[0] for kind in ("moment", "force"))
        # By the first part on the second, in the axes of the joint's frame on the second.
        wrench = np.concatenate([second.T @ first @ data.sensordata[i : i + 3] for i in at])
        self._joint_force = wrench[self._rows]
        for triple in self._triples:
            self._joint_force[triple] = second @ self._joint_force[triple]

    def _carried(self, i: int) -> Array:
        """Return the wrench (6,) with which an arm on its brakes carries its part alone."""
        system = self.system
        weight = self._carried_weight(system.object_bodies[i])
        return np.asarray(carrying_map(system, system.arms[i]) @ weight)
