# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time stepping of a scene: velocities jump by impulses, impacts are met where they happen.

A step is Moreau's: terms at its middle, impulses that fulfil the laws of contact at its end, or in
its mean where contacts stay. A rigid contact that would close within it ends the step there; its
impact is a problem of its own, with Newton's restitution, and takes no time. Elastic contacts take
and give back exactly what they store, see `contact.soft`, so that no step is too long for them.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.routine import Call, Mask, Vector, new_record, routine, zeros
from robot_dynamics.contact.soft import relaxed
from robot_dynamics.contact.solver import (
    Cone,
    ContactProblem,
    ContactSolver,
    Residuals,
    along_row,
    factorise_symmetric,
    larger,
    product,
    residuals,
    substitute_symmetric,
    velocities,
)
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.simulation.contact.energy_balance import Balance, balance_energy
from robot_dynamics.simulation.contact.groups import Groups
from robot_dynamics.simulation.contact.report import EnergyBooks
from robot_dynamics.simulation.contact.soft_steps import follow_laws, give_way, move_patches
from robot_dynamics.simulation.contact.step_records import (
    DEEP,
    ContactLaws,
    Rows,
    StepState,
    Trial,
    laws_of,
    records_of,
)
from robot_dynamics.simulation.contact.terms import ContactTerms, StepTerms
from robot_dynamics.simulation.scene import RobotScene, Scene

Array = NDArray[np.float64]

#: A rigid contact this near [m] is closed.
CLOSED = 1e-7
#: One that pushed in the last step may have this distance [m], which curved faces make of a slide.
STILL_CLOSED = 1e-4
#: Less slip than this [m/s, or scaled spin] is none: of corners that share a load some may be at
#: the limit of their friction while the face sticks.
NO_SLIP = 1e-9
#: Impacts slower than this [m/s] do not bounce and are not counted.
SLOW = 1e-3
#: Beyond this [m/s, rad/s] numbers are no motion any more.
FASTEST = 1e6
# A step is halved where it would end this far [m, rad] from where its bias forces were taken ...
_ASTRAY = 1e-4
# Accelerations [m/s^2, rad/s^2] that curved surfaces may begin to ask for in one step.
_BEND = 10.0
_TINY = 1e-300
_SHORTEST = 16  # ... into as many parts at most
# In a step: what bounces so often does not bounce any more, and what closes beyond the other
# number closes at the step's end.
MOST_BOUNCES, _MOST_EVENTS = 300, 1000
_LARGE_CORRECTION = 1e-6  # [m or rad]
_LITTLE = 1e-5  # [m or rad], what is open by less where all rests is not closed by lifting
_CLOSE_ENOUGH = 1e-12  # [m or rad], what is open by less in a step is not corrected
_WEAK_SHIFT = 1e-6  # of the diagonal, for rows that nearly depend on one another
_SHIFT = 1e-10  # of the diagonal, for rows that depend on one another
# Hinges and lines resist by their rates at a step's end: foreseen ones, and where these are off by
# this part of Coulomb friction the step is tried anew, as often as this at most.
_OFF_COULOMB = 0.01
_PASSES = 8
_SPRING_PASSES = 60  # of the problem at most, for laws of springs that are not linear
_SWINGING = 6  # passes: two or three are usual ...
_SEARCH = 20  # ... and of a search between bounds
_INFINITE, _NOWHERE = float("inf"), float("nan")


class Correction(NamedTuple):
    """What positions are corrected by."""

    error: Vector  #: What rows are open by (m,) [m or rad].
    part: Mask  #: Which rows take part (m,).
    open: Vector  #: The largest of their errors (1,) [m or rad].
    everything: Mask  #: Whether contacts take part, beside what holds (1,).
    shift: Vector  #: Of the diagonal of W, in parts of its mean (1,).
    move: Vector  #: The motion that closes what is open (nv,) [m or rad].


class SavedMotion(NamedTuple):
    """All that changes in a motion."""

    state: StepState  #: Copies of its arrays.
    correction: float  #: See `ContactMotion`.
    crowded: bool  #: See `ContactMotion`.
    trusted: float  #: The longest step that is to be tried next [s].


class ContactMotion:
    """Positions and velocities of a scene that advance in steps.

    Args:
        scene: The scene.
        cone: Of friction, "round" or "pyramid".

    Attributes:
        terms: Of a step.
        laws: Of the contacts.
        state: What changes from step to step; its `q`, `v`, `pressed`, `slipping`, `impacts`,
            `near`, `pads` and `resisted` are attributes as well.
        correction: Size of the last correction of positions [m or rad].
        crowded: Whether there were so many impacts in a step that some did not bounce.
        damping: Friction of joints over their velocities (nv,) [N m s/rad or N s/m]: zero unless
            it is set in place.
        friction: Coulomb friction of joints (nv,) [N m or N], likewise.
        friction_velocity: Below it Coulomb friction fades (1,) [rad/s or m/s].
    """

    def __init__(self, scene: Scene | RobotScene, cone: Cone = "round") -> None:
        self.scene, self.terms, self._cone = scene, ContactTerms(scene), cone
        self.laws = laws_of(self.terms)
        self._rows = Rows(self.terms.holding, self.terms.width)
        b, w, c, nv = *self._rows, self.terms.opening, scene.model.nv
        m, g = b + w * c, len(self.terms.groups.mass)
        self._solver = solver = ContactSolver(b, self.laws.friction, w, nv, cone)
        # Terms of a step, and of a state.
        self._output = self.terms.output(J=solver.J, HJ=solver.HJ, H=solver.H)
        self._terms, self._here = self._output.terms, self.terms.output()
        self.state, self._trial = state, _ = records_of(self.terms, self.laws)
        self.q, self.v, self.near, self.pads = state.q, state.v, state.near, state.pads
        self.pressed, self.slipping, self.impacts = state.pressed, state.slipping, state.impacts
        self.resisted = state.resisted
        self._balance = new_record(
            Balance, kinetic=g, potential=g, momentum=(g, 3), wholes=(nv, 3), island=g,
            sums=(g, 4), common=(g, 3), kept=(g, 3),
        )  # fmt: skip
        self._correction = new_record(
            Correction, error=m, part=m, open=1, everything=np.ones(1, bool), shift=1, move=nv
        )
        # Of an impact: impulses that may give energy, and what velocities change by.
        self._bouncing, self._change = np.zeros(m), np.zeros(nv)
        self.damping, self.friction = np.zeros(nv), np.zeros(nv)
        self.friction_velocity = np.array([FRICTION_VELOCITY])
        self._normals = b + w * np.arange(c)
        self._padded = self._normals[[c for c, _ in scene.pads]]
        self._coulomb = np.array([one.friction for one in self.terms.resisting])
        self._any_soft = bool(self.laws.elastic.any() or self.laws.gives.any())
        self._left_of = np.nan  # the step that `left` of the trial is of
        if self._padded.size or self.terms.resisting:
            self._held = self.terms.groups.of_velocity[self.terms.scene.system.object_v][0]
        # All that such a step takes is compiled.
        self._plain = not self._padded.size and not self.terms.resisting
        self.bind()
        self.start(scene.model.neutral())

    def start(self, q: Array, v: Array | None = None) -> None:
        """Begin at positions (nq,) and velocities (nv,), zero by default; nothing is pressed."""
        state, laws, groups = self.state, self.laws, self.terms.groups
        state.clear(q, v, laws)
        self.correction, self.crowded, self._trusted = 0.0, False, np.inf
        self._struck = False  # since forces were taken
        self._stepped = False
        if self.v.any():
            there = self.terms.at(self.q, self.v)
            state.rates[:], state.leaving[:] = there.along @ self.v, there.before
            state.slipping[:] = self._slips(state.leaving)
        self._find_energy()
        self._find_momentum()
        state.account[:, 0] = self._balance.kinetic + self._balance.potential
        state.account[:, 3:] = self._balance.momentum
        if laws.elastic.any():
            with np.errstate(all="ignore"):  # what is not a number stores nothing
                there = self.terms.at(self.q, self.v)
            deep = np.where(self._on_face(there) & (there.gaps < 0.0), there.gaps, 0.0)
            stored, of = 0.5 * laws.stiffness * deep**2, groups.of_row[self._normals]
            np.add.at(state.account[:, 0], of, stored)
            loses = (laws.loss > 0.0) | (laws.damping > 0)
            np.add.at(state.account[:, 2], of, stored * loses)

    def saved(self) -> SavedMotion:
        """Return a copy of all that changes."""
        arrays = StepState._make(array.copy() for array in self.state)
        return SavedMotion(arrays, self.correction, self.crowded, self._trusted)

    def restore(self, saved: SavedMotion) -> None:
        """Go on from what `saved` returned."""
        for array, was in zip(self.state, saved.state, strict=True):
            array[...] = was
        _, self.correction, self.crowded, self._trusted = saved
        self._stepped = False

    def bind(self) -> None:
        """Let the compiled parts of a step work on the arrays of the records, in place."""
        terms, state, laws, rows = self._terms, self.state, self.laws, self._rows
        trial, balance, correction = self._trial, self._balance, self._correction
        layout, solver, problem = self.terms, self._solver, self._solver.problem
        groups = layout.groups
        more = [each for each in (trial.resisting, trial.pressing) if each.size]
        self._evaluate = layout.bind(
            state.q, state.v, state.foreseen, trial.force, trial.drag, trial.h.reshape(()), *more,
            out=self._output,
        )  # fmt: skip
        self._begin_step = begin_step.bind(terms, state, laws, rows, trial, problem)
        soft, patches, springs = nothing.bind(), nothing.bind(), nothing.bind()
        if self._any_soft:
            soft = give_way.bind(terms, state, laws, rows, trial, problem)
            patches = move_patches.bind(terms, state, laws, rows, trial)
        if laws.elastic.any():
            springs = follow_laws.bind(terms, laws, rows, trial, problem)
        end = end_step.bind(terms, state, laws, rows, trial, problem)
        self._meet_laws = meet_laws.bind(soft, solver.run, end, springs, trial)
        self._rub_joints = rub.bind(
            state, self.damping, self.friction, self.friction_velocity, trial
        )
        self._attempt_step = attempt_step.bind(
            self._rub_joints, self._evaluate, self._begin_step, self._meet_laws
        )
        coast = layout.bind_coast(terms.q, trial.end, trial.half.reshape(()), state.q, state.v)
        take = take_step.bind(terms, state, laws, rows, groups, trial, problem)
        open_now, self._open_here = (
            open_by.bind(h, at, state, laws, rows, trial, correction)
            for h, at in ((trial.h, terms), (np.zeros(1), self._here.terms))
        )
        self._accept_step = accept_step.bind(
            coast, take, patches, open_now, terms, state, laws, trial, problem
        )
        self._ordinary_step = ordinary_step.bind(self._attempt_step, self._accept_step, trial)
        self._closing_motion = closing_motion.bind(self._here.terms, correction)
        self._find_energy = layout.bind_energy(
            state.q, state.v, balance.kinetic, balance.potential
        )
        self._find_momentum = nothing.bind()
        if groups.free.any():
            self._find_momentum = layout.bind_momentum(
                state.q, state.v, balance.momentum, balance.wholes
            )
        self._balance_energy = balance_energy.bind(
            self._find_energy, self._find_momentum, terms, state, laws, rows, groups, trial,
            balance,
        )  # fmt: skip
        change, after = self._change, trial.after
        self._gained = energy_gained.bind(terms, problem, problem.P, change, after)
        self._take_no_gain = without_gain.bind(terms, problem, self._bouncing, change, after)

    def deepest(self) -> tuple[str, float]:
        """Return the name of the rigid contact that is closed deepest, and how deep [m].

        An empty name and zero if none is.
        """
        terms = self.terms.at(self.q, self.v, self.near)
        depth = np.where(self.laws.elastic, 0.0, -terms.gaps)
        if np.isfinite(self.laws.face).any():
            depth = np.where(self._on_face(terms), depth, 0.0)
        if not len(depth) or depth.max() <= 0.0:
            return "", 0.0
        worst = int(np.argmax(depth))
        return self.scene.touches[worst][0], float(depth[worst])

    def lost(self) -> list[tuple[str, float]]:
        """Return the names and gaps of contacts that could not push in the last step.

        Rigid ones that were too deep, and those whose gap was not a number.
        """
        if not self._trial.lost[0] and self._trial.fastest[0] < FASTEST:
            return []
        gaps = self._terms.gaps
        lost = np.isnan(gaps) | ((gaps < -DEEP) & ~self.laws.elastic)
        return [(self.scene.touches[c][0], float(gaps[c])) for c in np.flatnonzero(lost)]

    @property
    def residual(self) -> float:
        """The largest error of the contact laws since the start, in parts of an impulse."""
        return float(self.state.residual[0])

    @property
    def fastest(self) -> float:
        """The largest velocity at the end of the last step [m/s, rad/s]."""
        return float(self._trial.fastest[0])

    def advance(self, h: float, force: Array) -> None:
        """Go on by a step.

        Args:
            h: Its length [s].
            force: On the joints (nv,), held over the step.
        """
        left, events, trial = h, 0, self._trial
        trial.force[:], trial.whole[0] = force, h
        self._stepped = True
        while left > 1e-9 * h:
            length, ordinary = min(left, self._trusted), False
            trial.smooth[0] = events == 0
            if self._plain:
                length = self._prepare(length)
                ordinary = self._ordinary_step()
            else:
                length = self._attempt(length)
            if ordinary:
                self._trusted = 2.0 * length
                left -= length
                continue
            # Bias forces are those of a velocity that was foreseen for the middle of the step. By
            # how far the step ends elsewhere than that would lead tells how right they are.
            while not trial.astray[0] <= _ASTRAY and length > 1.01 * h / _SHORTEST:
                length = self._attempt(0.5 * length)
            self._trusted = 2.0 * length
            if not trial.fastest[0] < FASTEST:
                self.v[:] = trial.end
                return
            if events < _MOST_EVENTS:
                if not trial.arriving.any() and trial.closing[0] < length:
                    events += 1
                    length = self._attempt(float(trial.closing[0]))
                    if not trial.arriving.any():
                        self._accept(length, smooth=False)
                        left -= length
                        continue
                # Also at a surface that was not the nearest one in the longer step.
                if trial.arriving.any():
                    self.crowded = self.crowded or events >= MOST_BOUNCES
                    self._impact(trial.arriving.copy(), bounces=events < MOST_BOUNCES)
                    events += 1
                    continue
            self._accept(length, smooth=events == 0)
            left -= length

    def take_forces(self, period: float) -> Array:
        """Return the forces of the last step along all rows (m,).

        Impulses of impacts since they were taken last are in them, as a mean over a period [s].
        """
        force, impulse = self.state.force, self.state.impulse
        if not self._struck:
            return force.copy()
        taken = force + impulse / period
        impulse[:], self._struck = 0.0, False
        return taken

    def correct(self) -> None:
        """Close what holds, is pressed or sticks, by the smallest motion in the metric of H.

        Position errors are the time steps' alone: of third order each where contacts stay as they
        are. Velocities stay but for one factor, by which they lose the energy that this and steps
        gave. Elastic contacts give way, along the face a little as well.

        A soft finger that sticks does not spin about the normal while it tilts, which constrains
        velocities alone: a turn may come of a closed path of tilts. No angle is restored, and the
        correction does not spin it.
        """
        self._close_all()
        if self._trial.fastest[0] > SLOW:
            self._balance_energy()

    def _rises(self, before: Array) -> bool:
        """Return whether potential energy is larger than it was at positions `before` (nq,)."""
        self._find_energy()
        now, after = float(self._balance.potential.sum()), self.q.copy()
        self.q[:] = before
        self._find_energy()
        self.q[:] = after
        return now > float(self._balance.potential.sum())

    def _close_all(self) -> None:
        """Move positions to where nothing is open."""
        correction = self._correction
        self.correction, correction.shift[0] = 0.0, _SHIFT
        # Known from the middle of the last step: nothing is to be evaluated where all is closed.
        if self._stepped and correction.open[0] <= _CLOSE_ENOUGH:
            return
        size, before = self._close(), self.q.copy()
        if not size:
            return
        large = size > _LARGE_CORRECTION
        if large:
            # Contacts that nearly depend on one another ask for large motions for little.
            correction.shift[0] = _WEAK_SHIFT
            size = self._closing_motion()
        self.q[:] = self.terms.move(self.q, correction.move)
        if large and self._rows.holding:
            # What holds is closed whatever contacts want.
            correction.everything[0], correction.shift[0] = False, _SHIFT
            self._close()
            correction.everything[0] = True
            self.q[:] = self.terms.move(self.q, correction.move)
        if self._trial.fastest[0] <= SLOW and correction.open[0] < _LITTLE and self._rises(before):
            # What lies is not lifted: it has no motion to take the energy from.
            self.q[:], size = before, 0.0
        self.correction = size

    def _close(self) -> float:
        """Find the motion that closes what is open at the present positions; return its size."""
        self.terms.at(self.q, self.v, self.near, self._here)
        self._open_here()
        return float(self._closing_motion())

    def _on_face(self, terms: StepTerms) -> Mask:
        return np.asarray((np.abs(terms.places[:, :2]) <= self.laws.face).all(axis=1))

    def _prepare(self, h: float) -> float:
        """Find what compiled steps of length h take from elsewhere; return h, less if it is."""
        h = self.terms.look(self.q, self.v, h, self.near)
        self._trial.h[0] = h
        if self._any_soft and h != self._left_of:
            one = np.ones(len(self._trial.left))
            left = relaxed(self.laws.stiffness, self.laws.damping, one, 0.5 * h)
            self._trial.left[:] = left
            self._left_of = h
        return h

    def _attempt(self, h: float) -> float:
        """Find what a step of length h, or of less, would do; return its length."""
        state, trial = self.state, self._trial
        trial.h[0] = h
        trial.resisting[:] = self._rub(state.rates + h * state.gaining)
        self._resisted_by(h)
        for _ in range(_PASSES if self._coulomb.any() else 0):
            rates = self._terms.along @ trial.end
            rub = self._rub(rates)
            off = np.abs((rub - trial.resisting) * rates)
            if (off <= _OFF_COULOMB * self._coulomb).all():
                break
            trial.resisting[:] = rub
            self._resisted_by(h)
        return float(trial.h[0])

    def _rub(self, rates: Array) -> Array:
        """Return what hinges and lines resist with, over their rates (r,)."""
        pairs = zip(self.terms.resisting, rates.tolist(), strict=True)
        return np.array([one.drag(rate) for one, rate in pairs])

    def _resisted_by(self, h: float) -> None:
        """Find what a step would do where hinges and lines resist with `resisting` (r,)."""
        self._prepare(h)
        if self._plain:
            self._attempt_step()
            return
        self._trial.pressing[:] = self.state.force[self._padded]
        self._rub_joints()
        self._evaluate()
        self._begin_step()
        self._meet_laws()

    def _accept(self, h: float, *, smooth: bool) -> None:
        """Go on to the end of the step that was tried."""
        terms, state, trial = self._terms, self.state, self._trial
        mean = 0.5 * (terms.start + trial.end)
        if self._padded.size:
            state.pads[:] = terms.pads
            state.totals[self._held, 2] += h * float(terms.pad_force @ mean)
        if state.rates.size:
            along = terms.along
            state.rates[:] = along @ trial.end
            state.gaining[:] = along @ (trial.end - terms.start) / h
            state.resisted[:] = -trial.resisting * state.rates
            state.totals[self._held, 1] += h * float(state.resisted @ (along @ mean))
        trial.smooth[0] = smooth
        self._accept_step()

    def _impact(self, arriving: Mask, *, bounces: bool) -> None:
        """Change velocities by the impact of contacts that arrive; no time passes."""
        terms, solver = self.terms.at(self.q, self.v, self.near, self._output), self._solver
        state, trial = self.state, self._trial
        trial.h[0] = 0.0
        self._begin_step()
        solver.compliance[:] = 0.0
        speed = np.where(arriving, -terms.before[self._normals], 0.0)
        bounce = np.where((speed > SLOW) & bounces, self.laws.restitution * speed, 0.0)
        closed = (solver.touching | arriving) & ~self.laws.elastic

        def solve(bounce: Array) -> None:
            solver.c[:], solver.P[:] = terms.after, 0.0
            solver.c[self._normals] -= bounce
            solver.touching[:] = closed
            solver.run()

        solve(bounce)
        residual, pressed = solver.residual, solver.pressed.copy()
        if self._gained() > 0.0 and bounce.any():
            # With friction Newton's restitution may give energy. The part of it that leaves the
            # energy as it was is between that and none, which never gives any.
            self._bouncing[:] = solver.P
            solve(np.zeros_like(bounce))
            self._take_no_gain()
            self._gained()
        state.v[:] += self._change
        state.rates[:], state.gaining[:] = terms.along @ self.v, 0.0
        state.residual[0] = max(self.residual, residual)
        state.work[:] += solver.P * (terms.before + trial.after)
        state.touched[:] |= solver.P[self._normals] > 0.0
        state.impacts[:] += speed > SLOW
        state.impulse[:] += solver.P
        self._struck = True
        # What did not bounce is closed from now on.
        state.pressed[:] |= arriving & ((speed <= SLOW) | pressed)
        state.leaving[:], state.slowing[:], state.fresh[0] = trial.after, np.inf, True
        state.slipping[closed] = (solver.slipping & self._slips(trial.after))[closed]

    def _slips(self, rates: Array) -> Mask:
        """Return which contacts slip at velocities of rows (m,)."""
        b, w = self._rows
        tangential = rates[b:].reshape(-1, w)[:, 1:]
        return np.asarray((np.abs(tangential) > NO_SLIP).any(axis=1))

    def residuals(self) -> Residuals:
        """Return how well the impulses of the last step meet the laws of contact."""
        if not self._stepped:
            return Residuals(0.0, 0.0, 0.0, 0.0, 0.0)
        solver, touching, after = self._solver, self._solver.touching, self._trial.after
        velocities(solver.J, solver.HJ, solver.c, solver.compliance, solver.P, self._change, after)
        # What is still on its way to a surface may close.
        b, w = self._rows
        rows = np.concatenate([np.ones(b, dtype=bool), np.repeat(touching, w)])
        friction = self.laws.friction[touching]
        return residuals(after[rows], solver.P[rows], friction, b, w, self._cone)

    @property
    def books(self) -> EnergyBooks:
        """Where energy went since the start."""
        work, b = 0.5 * self.state.work, self._rows.holding
        normal, totals = work[self._normals], self.state.totals.sum(axis=0)
        return EnergyBooks(
            drives=float(totals[0]),
            joint_friction=float(totals[1]),
            contact_friction=float(work[b:].sum() - normal.sum()),
            impacts=float(normal[~self.laws.elastic].sum()),
            elastic=float(normal[self.laws.elastic].sum() + totals[2]),
            holding=float(work[:b].sum()),
        )


@routine
def energy_gained(
    terms: StepTerms, problem: ContactProblem, P: Vector, change: Vector, after: Vector
) -> float:
    """Write what impulses change velocities by, and to; return the energy [J]: P (u- + u+) / 2."""
    velocities(terms.J, terms.HJ, terms.after, problem.compliance, P, change, after)
    gain = 0.0
    for i in range(len(P)):
        gain += 0.5 * P[i] * (terms.before[i] + after[i])
    return gain


@routine
def without_gain(
    terms: StepTerms, problem: ContactProblem, bouncing: Vector, change: Vector, after: Vector
) -> None:
    """Replace plain impulses P by those nearest to bouncing ones, between both, without a gain.

    The energy is a quadratic function of the way s between them: gain = a s^2 + b s - loss.
    """
    J, HJ, c, compliance, P = terms.J, terms.HJ, terms.after, problem.compliance, problem.P
    gain = energy_gained(terms, problem, bouncing, change, after)
    loss = -energy_gained(terms, problem, problem.P, change, after)
    if loss > 0.0:
        for i in range(len(P)):
            bouncing[i] -= P[i]
        velocities(J, HJ, c, compliance, bouncing, change, after)
        a = 0.0
        for i in range(len(P)):
            a += 0.5 * bouncing[i] * (after[i] - c[i])
        b = gain + loss - a
        s = 2.0 * loss / (b + sqrt(b * b + 4.0 * a * loss))
        for i in range(len(P)):
            P[i] += s * bouncing[i]


@routine
def nothing() -> None:
    """Do nothing, where steps have no such part."""


@routine
def rub(
    state: StepState, damping: Vector, friction: Vector, friction_velocity: Vector, trial: Trial
) -> None:
    """Write the friction of joints over velocities."""
    v = state.v
    least = friction_velocity[0] * friction_velocity[0]
    for k in range(len(v)):
        trial.drag[k] = damping[k]
        if friction[k] != 0.0:
            trial.drag[k] += friction[k] / sqrt(v[k] * v[k] + least)


@routine
def attempt_step(rub: Call, terms: Call, begin: Call, meet_laws: Call) -> None:
    """Find what a step would do."""
    rub()
    terms()
    begin()
    meet_laws()


@routine
def meet_laws(give_way: Call, solve: Call, end: Call, follow_laws: Call, trial: Trial) -> None:
    """Find impulses, and velocities at the end of a step, that meet the laws of contact.

    Those of springs by Newton's method, within bounds where it comes to swing.
    """
    give_way()
    for k in range(_SPRING_PASSES):
        solve()
        end()
        trial.anew[0] = k < _SWINGING or k % _SEARCH == 0
        follow_laws()
        if not trial.missed[0]:
            break


@routine
def accept_step(
    coast: Call, take: Call, move_patches: Call, open_by: Call, terms: StepTerms, state: StepState,
    laws: ContactLaws, trial: Trial, problem: ContactProblem,
) -> None:  # fmt: skip
    """Go on to the end of the step that was tried."""
    gap, shown = terms.gaps, laws.shown
    trial.half[0] = 0.5 * trial.h[0]
    coast()
    take()
    move_patches()
    open_by()
    state.residual[0] = larger(state.residual[0], problem.error[0])
    trial.lost[0] = False
    for i in range(len(gap)):
        if not gap[i] >= (-_INFINITE if laws.elastic[i] else -DEEP):  # or not a number
            trial.lost[0] = True
    for i in range(len(shown)):
        for k in range(3):
            state.near[i, k] = terms.places[shown[i], k] if gap[shown[i]] < _INFINITE else _NOWHERE


@routine
def ordinary_step(attempt: Call, accept: Call, trial: Trial) -> bool:
    """Try a step, and take it if it needs not be shorter and nothing arrives or closes in it."""
    attempt()
    for i in range(len(trial.arriving)):
        if trial.arriving[i]:
            return False
    if (
        not (trial.astray[0] <= _ASTRAY and trial.fastest[0] < FASTEST)
        or trial.closing[0] < trial.h[0]
    ):
        return False
    accept()
    return True


@routine
def begin_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, trial: Trial,
    problem: ContactProblem,
) -> bool:  # fmt: skip
    """Write the contact problem of a step: c, P to start from, gaps at its start, who touches.

    Return whether anything arrives.

    What holds does so in the mean of the step, u- + u+ = 0, both along the rows of its middle:
    where these turn that is right to second order, and impulses, P (u- + u+) / 2, take no energy
    and give none. Rigid contacts likewise: their laws are those of u+ + s, with s = u- where they
    stick or slip on. What bends more in a step than surfaces do is a new corner, which stops.

    A mean of zero says nothing of velocities that change sign with each step. Where u- swings
    about the last step's s, their mean takes its place, if that takes energy: the swing ends.
    """
    h = trial.h[0]
    before, pressed, leaving = terms.before, state.pressed, state.leaving
    bending, offset, gaps, c = state.bending, trial.offset, trial.gaps, problem.c
    touching, holding, width = problem.touching, rows.holding, rows.width
    arrives = False
    for i in range(len(c)):
        offset[i] = before[i] if i < holding else 0.0
        problem.P[i] = state.force[i] * h
    for i in range(len(terms.gaps)):
        rate = before[holding + i * width]
        gaps[i] = terms.gaps[i] - 0.5 * h * rate
        trial.within[i] = (
            abs(terms.places[i, 0]) <= laws.face[i, 0]
            and abs(terms.places[i, 1]) <= laws.face[i, 1]
        )
        closed = gaps[i] <= (STILL_CLOSED if pressed[i] else CLOSED) and gaps[i] > -laws.deep[i]
        touching[i] = closed and trial.within[i] and not laws.elastic[i]
        # A contact that pushed in the last step does not arrive: it only slides on.
        trial.arriving[i] = touching[i] and not pressed[i] and rate < 0.0
        if trial.arriving[i]:
            arrives = True
        if touching[i]:
            n = holding + i * width
            bend = _BEND * h
            # What separates may come back, and is stopped then: to stop it here gives energy.
            offset[n] = max(rate, -2.0 * abs(leaving[n]) - bend if pressed[i] else 0.0)
            slip, last = 0.0, 0.0
            for k in range(n + 1, n + width):
                slip += before[k] * before[k]
                last += leaving[k] * leaving[k]
            slip, part = sqrt(slip), 0.0
            if (pressed[i] or state.fresh[0]) and not state.slipping[i]:
                part = min(1.0, (2.0 * sqrt(last) + bend) / max(slip, _TINY))
            elif pressed[i] and slip > 2.0 * state.slowing[i]:
                # It does not stop in this step: friction is against the mean slip.
                part = 1.0
            for k in range(n + 1, n + width):
                offset[k] = part * before[k]
            power, swings = 0.0, 0.0
            for k in range(n, n + width):
                power += state.force[k] * (offset[k] - h * bending[k])
                swings += state.swing[k] * (offset[k] - h * bending[k])
            if pressed[i] and power < 0.0 and swings < 0.0:
                for k in range(n, n + width):
                    offset[k] = 0.5 * (offset[k] + h * bending[k])
            # What rests stops at once, and its impulses are those of the step before.
            for k in range(n, n + width):
                if abs(offset[k]) < NO_SLIP:
                    offset[k] = 0.0
    for i in range(len(c)):
        c[i] = terms.after[i] + offset[i]
    return arrives


@routine
def end_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, trial: Trial,
    problem: ContactProblem,
) -> None:  # fmt: skip
    """Write velocities at the end, how far it is from what was foreseen, and what closes when."""
    h = trial.h[0]
    v, gaps, end, astray = terms.start, trial.gaps, trial.end, trial.astray
    closing, fastest, P = trial.closing, trial.fastest, problem.P
    fastest[0] = 0.0
    for k in range(len(v)):
        end[k] = terms.free[k]
    for i in range(len(P)):
        if P[i] != 0.0:
            for k in range(len(v)):
                end[k] += P[i] * terms.HJ[i, k]
    for i in range(len(P)):
        trial.after[i] = along_row(terms.J, i, end)
    astray[0] = 0.0
    for k in range(len(v)):
        fastest[0] = larger(fastest[0], abs(end[k]))
        off = abs(0.5 * h * (end[k] - v[k] - h * state.foreseen[k]))
        astray[0] = larger(astray[0], off)
    # The first of rigid contacts that close: gap + u0 t + (u1 - u0) t^2 / (2 h) = 0.
    closing[0] = h
    for i in range(len(gaps)):
        u0 = terms.before[rows.holding + i * rows.width]
        u1 = trial.after[rows.holding + i * rows.width]
        open_ = (
            gaps[i] > CLOSED and trial.within[i] and not laws.elastic[i] and not state.pressed[i]
        )
        if open_ and gaps[i] + 0.5 * h * (u0 + u1) < 0.0:
            # The smallest root, without cancellation.
            root = sqrt(max(u0 * u0 - 2.0 * (u1 - u0) / h * gaps[i], 0.0))
            if root > u0:
                closing[0] = min(closing[0], 2.0 * gaps[i] / (root - u0))


@routine
def take_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, groups: Groups,
    trial: Trial, problem: ContactProblem,
) -> None:  # fmt: skip
    """Enter a step into the books, and change what the next step depends on."""
    h = trial.h[0]
    v, before, totals, pressed = terms.start, terms.before, state.totals, state.pressed
    slipping, of_velocity, joins = state.slipping, groups.of_velocity, groups.joins
    end, after, pushed, P = trial.end, trial.after, trial.pushed, problem.P
    pushes, width = problem.pressed, rows.width
    for k in range(len(v)):
        mean = 0.5 * h * (v[k] + end[k])
        totals[of_velocity[k], 0] += trial.force[k] * mean
        totals[of_velocity[k], 1] -= trial.drag[k] * end[k] * mean
        for j in range(3):
            push = trial.force[k] - trial.drag[k] * end[k]
            totals[of_velocity[k], 3 + j] += h * push * terms.wholes[k, j]
    for g in range(len(groups.weight)):
        for j in range(3):
            totals[g, 3 + j] += h * groups.weight[g, j]
    for i in range(len(P)):
        state.work[i] += P[i] * (before[i] + after[i])
        state.force[i] = P[i] / h
        state.leaving[i] = after[i]
        state.swing[i] = before[i] - h * state.bending[i]
        state.bending[i] = trial.offset[i] / h
    state.fresh[0] = False
    same = trial.smooth[0]
    for g in range(len(pushed)):
        pushed[g] = False
    for j in range(len(joins)):
        if pushes[joins[j, 0]] or pressed[joins[j, 0]]:
            pushed[joins[j, 1]], pushed[joins[j, 2]] = True, True
    for i in range(len(pushes)):
        n = rows.holding + i * width
        if pushes[i] or pressed[i]:
            pushed[groups.of_row[n]] = True
        if pushes[i] != pressed[i]:
            same = False
        if laws.elastic[i] and pushes[i] and not pressed[i] and before[n] < -SLOW:
            state.impacts[i] += 1
        pressed[i] = pushes[i]
        state.touched[i] = state.touched[i] or pushes[i]
        fastest, change = 0.0, 0.0
        for k in range(n + 1, n + width):
            fastest = max(fastest, abs(after[k] + trial.offset[k]))
            change += (after[k] - before[k]) * (after[k] - before[k])
        state.slowing[i] = sqrt(change)
        slips_on = problem.slipping[i] and fastest > NO_SLIP
        if pushes[i] and slips_on != slipping[i]:
            same = False
            for k in range(n + 1, n + width if not slips_on else 0):
                state.leaving[k] = 0.0  # what stopped may not go back
        slipping[i] = slips_on
        # Where contacts began to stick.
        sticking = pressed[i] and laws.stays[i] and not slipping[i]
        if sticking and not state.anchored[i]:
            for k in range(3):
                state.anchors[i, k] = terms.places[i, k]
        state.anchored[i] = sticking
    # For the next step's bias forces, unless contacts have just changed: then none is known of
    # what they push. What moves freely goes on, also where a step is shorter for others.
    for k in range(len(v)):
        steady = same or not pushed[of_velocity[k]]
        now = (end[k] - v[k]) / h if steady else 0.0
        state.foreseen[k] = (
            2.0 * now - state.acceleration[k]
            if trial.smooth[0] and steady and state.known[k]
            else now
        )
        state.acceleration[k] = now
        state.known[k] = steady


@routine
def open_by(
    h: Vector, terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, trial: Trial,
    correction: Correction,
) -> None:  # fmt: skip
    """Write what rows are open by at the end of a step, which rows, and the largest.

    Of what holds or, of `everything`, of contacts that push or stick as well. What they are open
    by in the middle, where the terms are, is as large at most.
    """
    gap, error, takes_part = terms.gaps, correction.error, correction.part
    b, largest = len(terms.error), 0.0
    for i in range(len(error)):
        error[i] = terms.error[i] if i < b else 0.0
        takes_part[i] = i < b
    for i in range(len(gap) if correction.everything[0] else 0):
        n = b + i * rows.width
        # The place of a point of shapes may have gone over to another one, which is open.
        if state.pressed[i] and not laws.elastic[i] and gap[i] <= STILL_CLOSED:
            error[n] = gap[i]
            takes_part[n] = True
        if state.anchored[i] and not laws.elastic[i] and not laws.gives[i]:
            for k in range(1, rows.width):
                takes_part[n + k] = True
            for k in range(2):
                for j in range(3):
                    error[n + 1 + k] += terms.axes[i, k, j] * (
                        terms.places[i, j] - state.anchors[i, j]
                    )
    for i in range(len(error)):
        if takes_part[i]:
            largest = larger(largest, abs(error[i]))
            error[i] += 0.5 * h[0] * trial.after[i]
            largest = larger(largest, abs(error[i]))
    correction.open[0] = largest


@routine
def closing_motion(terms: StepTerms, correction: Correction) -> float:
    """Write the smallest motion in the metric of H that takes errors away; return its size.

    W is shifted by a part of its mean diagonal.
    """
    J, error, move = terms.J, correction.error, correction.move
    m, nv = len(error), len(move)
    largest, count, trace = 0.0, 0, 0.0
    for i in range(m):
        if correction.part[i]:
            largest = max(largest, abs(error[i]))
            count += 1
            trace += product(J, terms.HJ, i)
    for k in range(nv):
        move[k] = 0.0
    if largest <= 1e-15:
        return 0.0
    # (H + J^T J / s) z = -J^T e / s
    A = zeros(nv, nv)
    weight = count / (correction.shift[0] * trace)
    for k in range(nv):
        for j in range(nv):
            A[k, j] = terms.H[k, j]
    for i in range(m):
        if correction.part[i]:
            for k in range(nv):
                if J[i, k] != 0.0:
                    slope = weight * J[i, k]
                    move[k] -= slope * error[i]
                    for j in range(k + 1):
                        A[k, j] += slope * J[i, j]
    if not factorise_symmetric(A):
        for k in range(nv):
            move[k] = 0.0
        return 0.0
    substitute_symmetric(A, move)
    largest = 0.0
    for k in range(nv):
        largest = max(largest, abs(move[k]))
    return largest
