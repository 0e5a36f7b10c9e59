# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time stepping of a scene: velocities jump by impulses, and impacts end steps.

A step is Moreau's: terms at its middle, impulses that satisfy the laws of contact at its end, or
in its mean for contacts that stay closed. A rigid contact that would close within it ends the step
there; its impact is a problem of its own, with Newton's restitution, and takes no time. Elastic
contacts return exactly the energy that they store, see `contact.soft`, so that no step is too long
for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import Call, Mask, nothing
from robot_dynamics.contact.impact import impact_with_friction
from robot_dynamics.contact.points import Inequality
from robot_dynamics.contact.soft import relaxed
from robot_dynamics.contact.solver import Cone, ContactSolver, Residuals, residuals
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.simulation.contact.compliant_contacts import (
    follow_laws,
    give_way,
    move_patches,
)
from robot_dynamics.simulation.contact.contact_arrays import (
    DEEP,
    FASTEST,
    NO_SLIP,
    SLOW,
    step_of,
)
from robot_dynamics.simulation.contact.energy_balance import Balance, balance_energy
from robot_dynamics.simulation.contact.moreau_step import (
    ASTRAY,
    JointFriction,
    StepParts,
    accept_step,
    attempt_step,
    begin_step,
    end_step,
    ordinary_steps,
    press_pads,
    rub,
    take_step,
)
from robot_dynamics.simulation.contact.position_correction import PositionCorrection
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport, EnergyBooks
from robot_dynamics.simulation.contact.step_derivatives import ContactStepDerivatives
from robot_dynamics.simulation.contact.terms import SceneTerms, StepTerms
from robot_dynamics.simulation.scene import RobotScene, Scene

# Largest number of parts of a step that would end elsewhere than predicted.
_SHORTEST = 16
# In a step: what bounces so often does not bounce any more, and what closes beyond the other
# number closes at the step's end.
MOST_BOUNCES, _MOST_EVENTS = 300, 1000
# Steps without a return to Python, which hears of Ctrl-C there: some milliseconds of them.
_AT_ONCE = 500
_OPEN, _STICKING, _SLIDING = ContactMode.OPEN, ContactMode.STICKING, ContactMode.SLIDING


class SavedMotion(NamedTuple):
    """All variables of a `TimeStepping`."""

    memory: list[NDArray[np.uint8]]  #: Copies of the memory of its state.
    energy: Array  #: Of groups, without that of elastic contacts (g,) [J].


class CompiledStep(NamedTuple):
    """Compiled parts that are called from Python."""

    terms_here: Call  #: Terms of the state.
    begin: Call
    attempt: Call
    accept: Call
    ordinary_steps: Callable[[], int]
    find_momentum: Call
    balance_energy: Call


class TimeStepping:
    """Advances positions and velocities of a scene in steps.

    Args:
        scene: The scene.
        cone: Friction cone, "round" or "pyramid".
        coulomb: Whether friction of the scene's joints holds them at rest, with the bounds in the
            laws of `step`; without it `friction` acts.

    Attributes:
        terms: Terms of a step.
        step: The records of a step.
        state: Variables from step to step, one of these records; its `q` and `v` are attributes
            as well.
        friction: Friction of joints: zero unless it is set in place.
    """

    def __init__(
        self, scene: Scene | RobotScene, cone: Cone = "round", *, coulomb: bool = False
    ) -> None:
        self.scene, self.terms, self._cone = scene, SceneTerms(scene, coulomb), cone
        (b, w), c, nv = (self.terms.holding, self.terms.width), self.terms.opening, scene.model.nv
        mu = np.array([touch.friction for _, _, touch in scene.touches])
        self._solver = solver = ContactSolver(b, mu, w, nv, cone)
        arrays = self.terms.output(J=solver.J, HJ=solver.HJ, H=solver.H)
        self.step = step_of(self.terms, arrays, solver.problem)
        self.state, laws, g = self.step.state, self.step.laws, len(self.terms.groups.mass)
        self._memory = self.state.put_together()
        self.q, self.v = self.state.q, self.state.v
        self.friction = JointFriction(damping=nv, coulomb=nv, fading=FRICTION_VELOCITY)
        self._balance = Balance(
            kinetic=g, potential=g, momentum=(g, 3), wholes=(nv, 3), island=g, gain=g, loss=g,
            moving=g, slowed=g, part=g, common=(g, 3), kept=(g, 3),
        )  # fmt: skip
        self._normals = b + w * np.arange(c)
        #: By contact its name, its cone, and the row of its spin over that spin.
        self._touches = [
            (name, cone, cone.torsion / cone.friction if cone.torsion > 0.0 else np.inf)
            for name, _, cone in scene.touches
        ]
        self._any_soft = bool(laws.elastic.any() or laws.gives.any())
        self._left_of = np.nan  # the step that `left` of springs is of
        self._find_energy = self.terms.bind_energy(
            self.q, self.v, self._balance.kinetic, self._balance.potential
        )
        self._correction = PositionCorrection(
            self.terms, self.step, self._find_energy, self._balance.potential
        )
        # Compile all functions of such a step.
        self.bind()
        self.start(scene.model.neutral())

    def start(self, q: Array, v: Array | None = None) -> None:
        """Begin at positions (nq,) and velocities (nv,), by default zero, without forces."""
        state, laws, groups = self.state, self.step.laws, self.terms.groups
        q, v = np.array(q), np.array(np.zeros_like(self.v) if v is None else v)
        for piece in self._memory:
            piece[:] = 0
        state.begin(q, v, laws)
        self._stepped = False
        if self.v.any():
            there = self.terms.at(self.q, self.v)
            state.turning.leaving[:] = there.before
            state.contacts.slipping[:] = self._slips(there.before)
        self._parts.find_momentum()
        account = state.account
        account.energy[:], account.momentum[:] = self._energies(), self._balance.momentum
        if laws.elastic.any():
            with np.errstate(all="ignore"):  # what is not a number stores nothing
                there = self.terms.at(self.q, self.v)
            deep = np.where(self._on_face(there) & (there.gaps < 0.0), there.gaps, 0.0)
            stored, of = 0.5 * laws.stiffness * deep**2, groups.of_row[self._normals]
            np.add.at(account.energy, of, stored)
            loses = (laws.loss > 0.0) | (laws.damping > 0)
            np.add.at(account.lost, of, stored * loses)

    def hold(self, rows: slice, *, closed: bool) -> None:
        """Close a grasp where it is, as a plastic impact, or open it.

        Args:
            rows: Its rows, of those that hold.
            closed: Whether it is closed from now on.
        """
        contacts = self.state.contacts
        if closed != contacts.loose[rows].all():
            return
        contacts.loose[rows], contacts.force[rows], contacts.rest[rows] = not closed, 0.0, 0.0
        self.state.prediction.known[:] = False
        if closed:
            contacts.rest[rows] = self.terms.at(self.q, self.v, contacts.near).error[rows]
            self._impact(np.zeros(len(contacts.pressed), dtype=bool), bounces=False, stops=rows)

    def saved(self) -> SavedMotion:
        """Return copies of all variables."""
        return SavedMotion([piece.copy() for piece in self._memory], self._energies())

    def restore(self, saved: SavedMotion) -> None:
        """Set the variables that `saved` returned, here or of a scene with other inertias.

        The energy difference of other inertias does not count as an error of steps.
        """
        for piece, was in zip(self._memory, saved.memory, strict=True):
            piece[:] = was
        with np.errstate(invalid="ignore"):  # of velocities without bound
            self.state.account.energy[:] += self._energies() - saved.energy
        self._stepped = False

    def take_over(self, other: TimeStepping) -> None:
        """Continue from the state of steps of a scene with more or fewer contacts at its end."""
        pairs = [*zip(self.state.arrays(), other.state.arrays(), strict=True)]
        pairs.append((self.step.terms.gaps, other.step.terms.gaps))
        for own, given in pairs:
            common = min(len(own), len(given))
            own[:common] = given[:common]
        self._stepped = False
        here, there = self.step.trial.end, other.step.trial.end
        here.fastest, here.lost = there.fastest, there.lost

    def bind(self) -> None:
        """Bind the compiled parts of a step to the arrays of the records."""
        step, state, trial, balance = self.step, self.step.state, self.step.trial, self._balance
        layout, laws, applied = self.terms, self.step.laws, self.step.trial.applied
        more = [applied.pressing] if applied.pressing.size else []
        soft = laws.elastic.any() or laws.gives.any()
        parts = StepParts(
            rub=rub.bind(self.friction, state, applied),
            press_pads=press_pads.bind(step),
            terms=layout.bind(
                state.q, state.v, state.prediction.foreseen, applied.force, applied.drag,
                trial.place("h"), *more, out=step.terms,
            ),
            begin=begin_step.bind(step),
            give_way=give_way.bind(step) if soft else nothing.bind(),
            solve=self._solver.run,
            end=end_step.bind(step),
            follow_laws=follow_laws.bind(step) if laws.elastic.any() else nothing.bind(),
            coast=layout.bind_coast(
                step.terms.q, trial.end.v, trial.place("half"), state.q, state.v
            ),
            take=take_step.bind(step),
            move_patches=move_patches.bind(step) if soft else nothing.bind(),
            open_by=self._correction.look,
        )  # fmt: skip
        attempt, accept = attempt_step.bind(parts, trial.springs), accept_step.bind(parts, step)
        find_momentum = nothing.bind()
        if layout.groups.free.any():
            find_momentum = layout.bind_momentum(
                state.q, state.v, balance.momentum, balance.wholes
            )
        self._parts = CompiledStep(
            terms_here=layout.bind_at(state.q, state.v, step.terms),
            begin=parts.begin,
            attempt=attempt,
            accept=accept,
            ordinary_steps=ordinary_steps.bind(attempt, accept, trial),
            find_momentum=find_momentum,
            balance_energy=balance_energy.bind(self._find_energy, find_momentum, step, balance),
        )

    def require_shallow(self) -> None:
        """Refuse a state in which a contact is deep in a rigid surface.

        Raises:
            ArgumentError: If a contact is too deep: no force would push it out.
        """
        terms, laws = self.terms.at(self.q, self.v, self.state.contacts.near), self.step.laws
        depth = np.where(laws.elastic, 0.0, -terms.gaps)
        if np.isfinite(laws.face).any():
            depth = np.where(self._on_face(terms), depth, 0.0)
        if not depth.max(initial=0.0) > DEEP:
            return
        worst, scene = int(np.argmax(depth)), self.scene
        start = f"{scene.model.name}: at the start"
        name, deep = scene.touches[worst][0], float(depth[worst])
        point = worst - len(depth) + len(scene.points)
        if point >= 0 and isinstance(scene.points[point], Inequality):
            raise ArgumentError(
                f"{start} phi of {name!r} is {-deep:.3g}, expected {-DEEP:g} or more."
            )
        raise ArgumentError(
            f"{start} {name!r} is {1e3 * deep:.3g} mm deep in what it touches, expected "
            f"{1e3 * DEEP:g} mm at most."
        )

    def lost(self) -> list[tuple[str, float]]:
        """Return the names and gaps of contacts that could not push in the last step.

        Rigid contacts were too deep; gaps of others were NaN.
        """
        if not self.step.trial.end.lost and self.fastest < FASTEST:
            return []
        gaps = self.step.terms.gaps
        lost = np.isnan(gaps) | ((gaps < -DEEP) & ~self.step.laws.elastic)
        return [(self.scene.touches[c][0], float(gaps[c])) for c in np.flatnonzero(lost)]

    @property
    def correction(self) -> float:
        """Size of the last correction of positions [m or rad]."""
        return self.state.correction

    @property
    def crowded(self) -> bool:
        """Whether there were so many impacts in a step that some did not bounce."""
        return self.state.crowded

    @property
    def residual(self) -> float:
        """The largest error of the contact laws since the start, in parts of an impulse."""
        return self.state.error.part

    @property
    def wrong_velocity(self) -> float:
        """The largest velocity [m/s] by which contacts missed their laws since the start.

        A small part of the largest impulse can be a large velocity of a light body beside a heavy
        one.
        """
        return self.state.error.velocity

    @property
    def resisted(self) -> Array:
        """Friction and damping of hinges and lines in the last step, on the object [N m or N]."""
        b, drag, state = self.step.rows.holding, self.step.laws.drag, self.state
        rows = slice(b - len(self.terms.resisting), b)
        return state.contacts.force[rows] - drag[rows] * state.turning.leaving[rows]

    @property
    def fastest(self) -> float:
        """The largest velocity at the end of the last step [m/s, rad/s]."""
        return self.step.trial.end.fastest

    def run(self, force: Array, period: float, count: int) -> Array | None:
        """Advance by a period in steps, correct positions, and return `take_forces`.

        Returns None if the motion grows without bound, see `fastest`.

        Args:
            force: Joint forces (nv,), held over the period.
            period: The period [s].
            count: Number of its steps.
        """
        trial, taken = self.step.trial, 0
        trial.applied.force[:], trial.whole = force, (h := period / count)
        while taken < count:
            # A step that was divided is likely to be followed by another one.
            if self.state.trusted > h * (1.0 + 1e-9) and self._prepare(h) == h:
                # Find contact points of shapes before each step.
                most = 1 if self.scene.shapes else min(count - taken, _AT_ONCE)
                trial.most = most
                if ordinary := self._parts.ordinary_steps():
                    self.state.trusted, self._stepped = 2.0 * h, True
                    taken += ordinary
                if ordinary == most:
                    continue
            self.advance(h, force)
            taken += 1
            if not trial.end.fastest < FASTEST:
                return None
        self.correct()
        return self.take_forces(period)

    def linearize(self, force: Array, period: float, count: int) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, nv) of `run`, without changing the state.

        Changes of positions, along velocities, and of velocities at its end are A times those at
        its start plus B times the change of `force`; see `step_derivatives`.

        Raises:
            ArgumentError: If contacts give way, or are of shapes or pyramids, or a grasp is open.
            RobotDynamicsError: If a contact, or friction that holds, changes in the period.
        """
        trial, scene = self.step.trial, self.scene
        if self.state.contacts.loose.any():
            raise ArgumentError(
                f"{scene.model.name}: steps with open grasps have no derivatives; expected closed "
                "ones."
            )
        if self._any_soft or scene.shapes or self._cone != "round":
            raise ArgumentError(
                f"{scene.model.name}: steps of soft contacts, shapes and pyramids have no "
                "derivatives; expected rigid point contacts with round cones."
            )
        saved, h = self.saved(), period / count
        if self.state.trusted * (1.0 + 1e-9) < h:
            raise self._divided("a step is divided")
        trial.applied.force[:], trial.whole = force, h
        try:
            found = ContactStepDerivatives(self.terms, self.step, self.friction)
            for _ in range(count):
                trial.smooth = True
                self._attempt(h)
                end, closing = trial.end, trial.end.closing < h
                if closing or not (end.astray <= ASTRAY and end.fastest < FASTEST):
                    rubs = bool(np.isfinite(self.step.laws.bound).any())
                    why = "the motion is too fast for a step"
                    if closing:
                        why = "a contact closes" + " or a joint stops" * rubs
                    raise self._divided(why)
                found.step()
                self._accept(smooth=True)
            return found.result()
        finally:
            self.restore(saved)

    def _divided(self, why: str) -> RobotDynamicsError:
        return RobotDynamicsError(
            f"{self.scene.model.name}: {why} in this period, which has no derivatives then; "
            "expected steps that need not be divided."
        )

    def advance(self, h: float, force: Array) -> None:
        """Advance by one step.

        Args:
            h: Its length [s].
            force: On the joints (nv,), held over the step.
        """
        left, events, trial = h, 0, self.step.trial
        trial.applied.force[:], trial.whole = force, h
        self._stepped = True
        while left > 1e-9 * h:
            length = left
            if left > self.state.trusted * (1.0 + 1e-9):
                # Equal parts: in a very short one small errors of velocity would be large forces.
                length = left / ceil(left / self.state.trusted)
            trial.smooth = events == 0
            length, events = self._part(self._attempt(length), h, events)
            if not trial.end.fastest < FASTEST:
                return
            left -= length

    @np.errstate(over="ignore", invalid="ignore")  # of velocities without bound
    def _part(self, length: float, h: float, events: int) -> tuple[float, int]:
        """Accept the part of a step that was tried, less of it, or an impact in it.

        Args:
            length: Of the part [s].
            h: Of the step [s].
            events: Number of parts that ended where a contact closes, and of impacts, until now.

        Returns:
            The time that passed [s], and the number of events.
        """
        start, end = self.step.trial.start, self.step.trial.end
        # Bias forces are those of a velocity predicted for the middle of the step. The distance of
        # the step's end from that prediction shows their error.
        while not end.astray <= ASTRAY and length > 1.01 * h / _SHORTEST:
            length = self._attempt(0.5 * length)
        self.state.trusted = 2.0 * length
        if not end.fastest < FASTEST:
            self.v[:] = end.v
            return length, events
        if events < _MOST_EVENTS:
            if not start.arriving.any() and end.closing < length:
                events += 1
                length = self._attempt(end.closing)
                if not start.arriving.any():
                    self._accept(smooth=False)
                    return length, events
            # Also at a surface that was not the nearest one in the longer step.
            if start.arriving.any():
                self.state.crowded = self.crowded or events >= MOST_BOUNCES
                self._impact(start.arriving.copy(), bounces=events < MOST_BOUNCES)
                return 0.0, events + 1
        self._accept(smooth=events == 0)
        return length, events

    def take_forces(self, period: float) -> Array:
        """Return the mean forces along all rows (m,) over a period [s] since the last call.

        Impacts are included.
        """
        impulse = self.state.contacts.impulse
        forces = impulse / period
        impulse[:] = 0.0
        return forces

    def correct(self) -> None:
        """Close contacts that hold, are pressed or stick by the smallest motion in H's metric.

        Position errors come from the time steps alone; each is of third order while contacts do
        not change. Velocities change by one factor, which removes the energy that the correction
        and the steps added. Elastic contacts give way, along the face a little as well.

        A soft finger that sticks does not spin about the normal while it tilts. This constrains
        only velocities: a closed path of tilts may result in a rotation, which is not corrected.
        """
        self._correction.record.known = self._stepped
        self._correction.close()
        if self.fastest > SLOW:
            self._parts.balance_energy()

    def _energies(self) -> Array:
        """Return kinetic and potential energy of the groups at the state (g,) [J]."""
        self._find_energy()
        return self._balance.kinetic + self._balance.potential

    def _on_face(self, terms: StepTerms) -> Mask:
        return np.asarray((np.abs(terms.places[:, :2]) <= self.step.laws.face).all(axis=1))

    def _prepare(self, h: float) -> float:
        """Prepare the inputs of compiled steps of length h; return h, or a shorter length."""
        trial = self.step.trial
        trial.h = h = self.terms.look(self.q, self.v, h, self.state.contacts.near)
        if self._any_soft and h != self._left_of:
            laws, left = self.step.laws, trial.springs.left
            left[:] = relaxed(laws.stiffness, laws.damping, np.ones(len(left)), 0.5 * h)
            self._left_of = h
        return h

    def _attempt(self, h: float) -> float:
        """Try a step of length h, or a shorter one; return its length."""
        length = self._prepare(h)
        self._parts.attempt()
        return length

    def _accept(self, *, smooth: bool) -> None:
        """Accept the step that was tried."""
        self.step.trial.smooth = smooth
        self._parts.accept()

    def _impact(self, arriving: Mask, *, bounces: bool, stops: slice = slice(0)) -> None:
        """Change velocities by the common impact of contacts that arrive, or rows that stop."""
        terms, solver, laws = self.step.terms, self._solver, self.step.laws
        state, contacts, turning = self.state, self.state.contacts, self.state.turning
        self.step.trial.h = self.terms.look(self.q, self.v, 0.0, contacts.near)
        self._parts.terms_here()
        self._parts.begin()
        solver.compliance[:] = 0.0
        speed = np.where(arriving, -terms.before[self._normals], 0.0)
        bounce = np.where((speed > SLOW) & bounces, laws.restitution * speed, 0.0)
        closed = (solver.touching | arriving) & ~laws.elastic
        found = impact_with_friction(solver, terms.before, bounce, closed, stops=stops)
        state.v[:] += found.change
        left = found.approach * float(np.abs(terms.before).max())
        state.error.part = float(np.maximum(state.error.part, found.error))
        state.error.velocity = float(np.maximum(state.error.velocity, left))
        state.account.work[:] += found.impulse * (terms.before + found.after)
        state.account.touched[:] |= found.impulse[self._normals] > 0.0
        contacts.impacts[:] += speed > SLOW
        contacts.impulse[:] += found.impulse
        # What did not bounce is closed from now on.
        contacts.pressed[:] |= arriving & ((speed <= SLOW) | found.pressed)
        turning.leaving[:], turning.slowing[:], turning.fresh = found.after, np.inf, True
        contacts.slipping[closed] = (solver.slipping & self._slips(found.after))[closed]

    def _slips(self, rates: Array) -> Mask:
        """Return which contacts slip at velocities of rows (m,)."""
        b, w = self.step.rows
        tangential = rates[b:].reshape(-1, w)[:, 1:]
        return np.asarray((np.abs(tangential) > NO_SLIP).any(axis=1))

    def residuals(self) -> Residuals:
        """Return the errors of the last step's impulses in the laws of contact."""
        if not self._stepped:
            return Residuals(0.0, 0.0, 0.0, 0.0, 0.0)
        solver, touching = self._solver, self._solver.touching
        after = solver.J @ (solver.P @ solver.HJ) + solver.compliance * solver.P + solver.c
        # A body approaching a surface may close a contact; joints at their friction may move.
        (b, w), bound = self.step.rows, solver.bound
        holds = np.isinf(bound) | (np.abs(solver.P[:b]) < bound * (1.0 - 1e-9))
        rows = np.concatenate([holds, np.repeat(touching, w)])
        friction, holding = self.step.laws.friction[touching], int(holds.sum())
        return residuals(after[rows], solver.P[rows], friction, holding, w, self._cone)

    def reports(
        self,
        terms: StepTerms,
        points: Array,
        axes: Array,
        forces: Array,
        moments: Array,
        tilts: Iterable[float],
    ) -> list[ContactReport]:
        """Return the reports of all contacts that can open, at the terms of a state.

        Args:
            terms: At the state.
            points: Positions of the contacts in the world (c, 3).
            axes: Their tangents and normals in the world, as rows (c, 3, 3).
            forces: Along these axes (c, 3).
            moments: Along these axes (c, 3).
            tilts: Angles between the z axes of arm and object (c).
        """
        b, w = self.step.rows
        contacts = self.state.contacts
        rates = terms.before[b:].reshape(-1, w)
        spins = rates[:, 3].tolist() if w > 3 else [0.0] * len(rates)
        return [
            ContactReport(
                name, _OPEN if not pressed else _SLIDING if slips else _STICKING, point, own,
                force, moment, slip, spin / per_spin, gap, cone, impacts, tilt,
            )
            for (name, cone, per_spin), point, own, force, moment, slip, spin, gap, impacts,
            pressed, slips, tilt in zip(
                self._touches, points, axes, forces, moments, rates[:, 1:3].copy(), spins,
                terms.gaps.tolist(), contacts.impacts.tolist(), contacts.pressed.tolist(),
                contacts.slipping.tolist(), tilts, strict=True,
            )
        ]  # fmt: skip

    @property
    def books(self) -> EnergyBooks:
        """The energy balance since the start."""
        account, elastic = self.state.account, self.step.laws.elastic
        work, b, closing = 0.5 * account.work, self.step.rows.holding, self.terms.closing
        normal = work[self._normals]
        return EnergyBooks(
            drives=float(account.drives.sum()),
            joint_friction=float(account.friction.sum() + work[closing:b].sum()),
            contact_friction=float(work[b:].sum() - normal.sum()),
            impacts=float(normal[~elastic].sum()),
            elastic=float(normal[elastic].sum() + account.pads.sum()),
            holding=float(work[:closing].sum()),
        )
