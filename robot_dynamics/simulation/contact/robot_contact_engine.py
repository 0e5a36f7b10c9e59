# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine of robots by themselves with contacts: trees, floating bases and closed loops.

Steps are taken as for scenes (`time_stepping`): impulses satisfy Signorini's and Coulomb's laws,
impacts happen within steps, and loops are rows that hold.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.contact.points import (
    Inequality,
    PointContact,
    named_contacts,
    require_normals,
)
from robot_dynamics.contact.shapes import ShapeContact
from robot_dynamics.contact.solver import Cone
from robot_dynamics.dynamics.arguments import finite_vector, positive_number
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.model import COULOMB
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.contact_arrays import DEEP
from robot_dynamics.simulation.contact.report import ContactReport, EnergyBooks
from robot_dynamics.simulation.contact.time_stepping import MOST_BOUNCES, TimeStepping
from robot_dynamics.simulation.engine import Engine, SimulationError
from robot_dynamics.simulation.robot_engine import (
    NO_WRENCHES,
    PERIOD,
    robot_forces,
    start_of_robot,
)
from robot_dynamics.simulation.scene import RobotScene

_logger = logging.getLogger(__name__)

#: Default of the longest time step [s].
STEP = 2.5e-4
# Impulses that miss the laws of contact by more than this are logged: in parts of the largest, and
# as a velocity [m/s].
_MISSED, _MISSED_SPEED = 1e-6, 1e-5
_MOST_STEPS = 1_000_000  # of a period: a minute of them


class RobotContactEngine(Engine):
    """Moves a robot by itself that has contacts, or joints that friction holds.

    A point deeper than 1 mm in a rigid surface and a contact whose gap is NaN no longer push. Each
    is logged once, as are a shape or a disc that is as deep, the first impulses that miss the laws
    of contact by more than 1e-6 of the largest or 1e-5 m/s, and the first step with so many
    impacts that the last ones do not bounce.

    Attributes:
        robot: The robot.
        period: The period [s].
        stepping: Takes the time steps.

    Args:
        robot: The robot.
        contacts: Its possible contacts.
        period: The period [s].
        q: Positions (nq,) at the start, loops closed; by default joints at zero, or where
            `Robot.assemble` closes the loops.
        qd: Velocities (nv,) there; at rest by default.
        step: Longest time step [s]; a quarter of a millisecond by default.
        cone: Friction cone, "round" or "pyramid"; see `rd.Simulation`.

    Raises:
        UnknownNameError: If there is no such cone.
        ArgumentError: If an argument does not fit, loops are open at the start, or a contact is
            deep in a rigid surface there.
        RobotDynamicsError: If a joint moves no inertia; it names the link that lacks it.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Iterable[PointContact | Inequality | ShapeContact],
        period: float | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        step: float | None = None,
        cone: Cone = "round",
    ) -> None:
        model = robot.model
        require_inertia(model)
        if not model.nv:
            raise ArgumentError(
                f"{model.name}: contacts of a robot without degrees of freedom, expected one that "
                "moves."
            )
        self.robot, items = robot, named_contacts(contacts)
        self.period = PERIOD if period is None else positive_number("period", period)
        (q0, qd0), _ = start_of_robot(robot, q, qd)
        longest = STEP if step is None else positive_number("step", step)
        if self.period / longest > _MOST_STEPS:
            raise ArgumentError(
                f"a period of {self.period:g} s in steps of {longest:g} s, expected at most "
                f"{_MOST_STEPS} steps."
            )
        self.substeps = max(1, int(np.ceil(self.period / longest * (1.0 - 1e-9))))
        # Friction of joints is a part of the step, which it makes no shorter.
        switch = model.joint_friction
        for loop in model.loops if switch is True else ():
            if any(loop.of_each_freedom(loop.friction)):
                raise ArgumentError(
                    f"{model.name}: friction of loop joint {loop.name!r} beside contacts, "
                    f"expected joint_friction={COULOMB!r}, or a damper in its place."
                )
        scene = RobotScene(model.replace(joint_friction=False), items)
        self.stepping = TimeStepping(scene, cone, coulomb=switch == COULOMB)
        if switch:
            self.stepping.friction.damping[:] = model.damping
        if switch is True:
            self.stepping.friction.coulomb[:] = model.friction
        self.stepping.start(q0, qd0)
        with np.errstate(all="ignore"):  # `require_normals` reports what is not finite
            there = self.stepping.terms.at(q0, qd0)
        normals = there.J[self.stepping.terms.holding :: self.stepping.terms.width]
        own = ~self.stepping.terms.seen  # normals of shapes are always good
        points = [item for item in items if not isinstance(item, ShapeContact)]
        require_normals(points, there.gaps[own], normals[own], there.axes[own])
        self.stepping.require_shallow()
        self._inequalities = {item.name for item in items if isinstance(item, Inequality)}
        touches = zip(self.stepping.scene.touches, self.stepping.step.laws.deep, strict=True)
        self._pushing = {touch[0] for touch, deep in touches if deep > DEEP}  # however deep
        self._cone, self._forces = cone, np.zeros(len(self.stepping.state.contacts.force))
        self._told: set[str] = set()  # lost contacts that were logged
        self._warned = self._crowded = False  # of impulses that miss the laws, of many impacts
        self._start, self.contact_names = self.save(), self._names_and_kinds()

    def _names_and_kinds(self) -> tuple[str, ...]:
        kinds = (self.stepping.step.laws.deep > DEEP).tolist()
        names = []
        for (name, material, _), round_ in zip(self.stepping.scene.touches, kinds, strict=True):
            of = ["a shape"] * round_ + ["soft"] * material.elastic
            of += ["shears"] * bool(np.isfinite(material.tangential_stiffness))
            of += [self._cone] * (self._cone != "round")
            names.append(f"{name} ({', '.join(of)})" if of else name)
        return tuple(names)

    def begin(self) -> None:
        """Return to the start."""
        self.restore(self._start)

    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one period; see `Engine.run`."""
        stepping = self.stepping
        force = robot_forces(self.robot, stepping.q, torque, wrenches)
        forces = stepping.run(force, self.period, self.substeps)
        if forces is None:
            raise SimulationError(
                f"{self.robot.model.name}: the simulated motion ended in period "
                f"{round(time / self.period) + 1}: a velocity of {stepping.fastest:.3g} m/s or "
                "rad/s; expected torques that keep it bounded, or a shorter step."
            )
        self._forces = forces
        self._warn(time + self.period)

    def linearize(self, torque: Array) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, nv) of a period; see `TimeStepping.linearize`."""
        force = finite_vector("torque", torque, self.robot.model.nv)
        return self.stepping.linearize(force, self.period, self.substeps)

    def _warn(self, time: float) -> None:
        """Log lost contacts, missed laws and crowded impacts of a period, each once."""
        stepping, model = self.stepping, self.robot.model.name
        for name, gap in stepping.lost():
            if name in self._told:
                continue
            self._told.add(name)
            where, expected = "not a number", "a surface that is finite wherever it gets"
            pushes = "" if gap < 0.0 and name in self._pushing else " and does not push any more"
            if gap < 0.0:
                where = f"more than {1e3 * DEEP:g} mm deep in something rigid"
                expected = "a shorter step, or a slower motion"
                if name in self._inequalities:
                    where = f"below {-DEEP:g}"
                    expected = "a phi in metres or radians, a shorter step, or a slower motion"
            text = "%s: contact %r is %s after %.6g s%s; expected %s."
            _logger.warning(text, model, name, where, time, pushes, expected)
        error, speed = stepping.residual, stepping.wrong_velocity
        if not self._warned and (error > _MISSED or speed > _MISSED_SPEED):
            self._warned = True
            text = (
                "%s: impulses miss the laws of contact by %.2g of the largest, and by %.2g m/s, "
                "after %.6g s; expected a shorter step, less friction, or masses that differ less."
            )
            _logger.warning(text, model, error, speed, time)
        if stepping.crowded and not self._crowded:
            self._crowded = True
            text = (
                "%s: more than %d impacts in a time step after %.6g s, of which later ones do not "
                "bounce; expected a shorter step, or more room between what bounces."
            )
            _logger.warning(text, model, MOST_BOUNCES, time)

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact."""
        stepping = self.stepping
        layout = stepping.terms
        with np.errstate(all="ignore"):  # `_warn` has reported what is not finite
            terms = layout.at(stepping.q, stepping.v, stepping.state.contacts.near)
        forces = self._forces[layout.holding :].reshape(-1, layout.width)[:, [1, 2, 0]]
        moments, tilts = np.zeros_like(forces), [0.0] * len(forces)
        return tuple(stepping.reports(terms, terms.places, terms.axes, forces, moments, tilts))

    def books(self) -> EnergyBooks:
        """Return the energy balance since the start."""
        return self.stepping.books

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities, and no wrenches."""
        return self.stepping.q, self.stepping.v, NO_WRENCHES

    def save(self) -> tuple[Any, ...]:
        """Return copies of the variables."""
        return self._forces.copy(), self.stepping.saved()

    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""
        self._forces = saved[0].copy()
        self.stepping.restore(saved[1])
