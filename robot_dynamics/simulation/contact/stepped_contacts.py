# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that touches: trees, floating bases and closed loops, moved one period at a time.

The steps are those of scenes (`time_stepping`): impulses that meet Signorini's and Coulomb's laws,
impacts where they happen, loops as rows that hold.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.contact.points import (
    Inequality,
    PointContact,
    named_contacts,
    require_normals,
)
from robot_dynamics.contact.shapes import ShapeContact
from robot_dynamics.contact.solver import Cone
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.report import ContactReport, EnergyBooks
from robot_dynamics.simulation.contact.step_records import DEEP
from robot_dynamics.simulation.contact.time_stepping import (
    MOST_BOUNCES,
    SavedMotion,
    TimeStepping,
)
from robot_dynamics.simulation.engine_plant import SimulationError
from robot_dynamics.simulation.plant import Measurement
from robot_dynamics.simulation.scene import RobotScene
from robot_dynamics.simulation.stepped_robot import (
    PERIOD,
    Identity,
    joint_forces,
    start_of_robot,
)

Array = NDArray[np.float64]

_logger = logging.getLogger(__name__)

#: Longest time step [s] where none is given.
STEP = 2.5e-4
# Impulses that miss the laws of contact by more than this, in parts of the largest, are logged.
_MISSED = 1e-6
_MOST_STEPS = 1_000_000  # of a period: a minute of them
_NO_WRENCHES = np.zeros((0, 6))


@dataclass(frozen=True)
class SteppedContactsState:
    """All that changes while a robot moves; see `SteppedContacts.state`.

    Attributes:
        tick: Number of periods since the start.
        identity: Which simulations can take it.
        motion: What the next steps depend on.
        forces: Of the last step, along all rows.
    """

    tick: int
    identity: Identity
    motion: SavedMotion
    forces: Array


class SteppedContacts:
    """A robot with contacts that is advanced one period at a time.

    Attributes:
        robot: What moves.
        period: The period [s].
        substeps: Time steps in a period.
        motion: What advances step by step.

    Args:
        robot: What moves.
        contacts: What of it may touch.
        period: The period [s].
        q: Positions (nq,) at the start, loops closed; by default joints at zero, or where
            `Robot.assemble` closes the loops.
        qd: Velocities (nv,) there; at rest by default.
        step: Longest time step [s]; a quarter of a millisecond by default.
        cone: Of friction, "round" or "pyramid"; see `rd.Simulation`.

    Raises:
        UnknownNameError: If there is no such cone.
        ArgumentError: If an argument does not fit, the start is open, or something is deep in
            something rigid there.
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
        damping, friction = np.zeros(model.nv), np.zeros(model.nv)
        if model.joint_friction:
            for loop in model.loops:
                if any(loop.of_each_freedom(loop.friction)):
                    raise ArgumentError(
                        f"{model.name}: friction of loop joint {loop.name!r} beside contacts, "
                        "expected a damper in its place, or joint_friction=False."
                    )
            damping, friction = model.damping, model.friction
            model = model.replace(joint_friction=False)
        self.motion = TimeStepping(RobotScene(model, items), cone)
        self.motion.damping[:], self.motion.friction[:] = damping, friction
        self.motion.start(q0, qd0)
        with np.errstate(all="ignore"):  # what is not finite is told
            there = self.motion.terms.at(q0, qd0)
        normals = there.J[self.motion.terms.holding :: self.motion.terms.width]
        own = ~self.motion.terms.seen  # those of shapes are always good
        points = [item for item in items if not isinstance(item, ShapeContact)]
        require_normals(points, there.gaps[own], normals[own], there.axes[own])
        self.motion.require_shallow()
        self._inequalities = {item.name for item in items if isinstance(item, Inequality)}
        touches = zip(self.motion.scene.touches, self.motion.laws.deep, strict=True)
        self._pushing = {touch[0] for touch, deep in touches if deep > DEEP}  # however deep
        self._cone, self._tick, self._forces = cone, 0, np.zeros(len(self.motion.state.force))
        self._told: set[str] = set()  # contacts that are lost
        self._warned = self._crowded = False  # of impulses that miss the laws, of many impacts
        self._start = self.state

    def reset(self) -> Measurement:
        """Return to the start."""
        self.state = self._start
        return self._measurement()

    def step(self, tau: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None) -> Measurement:
        """Advance by one period, as `SteppedRobot.step` does.

        A point that gets deeper than 1 mm in something rigid does not push any more, nor does a
        contact whose gap is not a number. Each is logged once, as is a shape or a disc that is as
        deep, and as are the first impulses that miss the laws of contact by more than 1e-6 of the
        largest, and a step with so many impacts that the last ones do not bounce.

        Raises:
            ArgumentError: If a shape is wrong, a number is not finite, or there is no such frame.
            SimulationError: If the motion grows without bound.
        """
        motion, model = self.motion, self.robot.model
        force = joint_forces(self.robot, motion.q, tau, wrenches)
        forces = motion.run(force, self.period, self.substeps)
        if forces is None:
            raise SimulationError(
                f"{model.name}: the simulated motion ended in period {self._tick + 1}: a velocity "
                f"of {motion.fastest:.3g} m/s or rad/s; expected torques that keep it bounded, or "
                "a shorter step."
            )
        self._forces = forces
        self._tell()
        self._tick += 1
        return self._measurement()

    def _tell(self) -> None:
        """Log what went wrong in a period, each once."""
        motion, model, time = self.motion, self.robot.model.name, (self._tick + 1) * self.period
        for name, gap in motion.lost():
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
        if not self._warned and motion.residual > _MISSED:
            self._warned = True
            text = (
                "%s: impulses miss the laws of contact by %.2g of the largest after %.6g s; "
                "expected a shorter step, less friction, or masses that differ less."
            )
            _logger.warning(text, model, motion.residual, time)
        if motion.crowded and not self._crowded:
            self._crowded = True
            text = (
                "%s: more than %d impacts in a time step after %.6g s, of which later ones do not "
                "bounce; expected a shorter step, or more room between what bounces."
            )
            _logger.warning(text, model, MOST_BOUNCES, time)

    def truth(self) -> None:
        """Return what is known of an object: there is none."""

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return what there is to say of each contact; impacts as their mean over the period."""
        motion = self.motion
        layout = motion.terms
        with np.errstate(all="ignore"):  # what is not finite was told
            terms = layout.at(motion.q, motion.v, motion.near)
        forces = self._forces[layout.holding :].reshape(-1, layout.width)[:, [1, 2, 0]]
        of_each = zip(terms.places, terms.axes, forces, strict=True)
        return tuple(motion.report(c, terms, *own, np.zeros(3)) for c, own in enumerate(of_each))

    def books(self) -> EnergyBooks:
        """Return where energy went since the start."""
        return self.motion.books

    @property
    def state(self) -> SteppedContactsState:
        """The present state; a robot of the same structure that is set to it goes on bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another robot, of other contacts, or of
                another period.
        """
        motion = self.motion.saved()
        return SteppedContactsState(self._tick, self._identity, motion, self._forces.copy())

    @state.setter
    def state(self, state: SteppedContactsState) -> None:
        self._identity.require(state, self.robot.model.name)
        self.motion.restore(state.motion)
        self._tick, self._forces = state.tick, state.forces.copy()

    @property
    def _identity(self) -> Identity:
        kinds = (self.motion.laws.deep > DEEP).tolist()
        names = []
        for (name, material, _), round_ in zip(self.motion.scene.touches, kinds, strict=True):
            of = ["a shape"] * round_ + ["soft"] * material.elastic
            of += ["shears"] * bool(np.isfinite(material.tangential_stiffness))
            of += [self._cone] * (self._cone != "round")
            names.append(f"{name} ({', '.join(of)})" if of else name)
        return Identity(self.robot.model.structure_key, self.period, tuple(names))

    def _measurement(self) -> Measurement:
        time, motion = self._tick * self.period, self.motion
        return Measurement(self._tick, time, motion.q, motion.v, _NO_WRENCHES)
