# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time stepping of a scene: velocities jump by impulses, impacts are met where they happen.

A step is Moreau's: terms at its middle, impulses that fulfil the laws of contact at its end, or in
its mean where contacts stay. A rigid contact that would close within it ends the step there; its
impact is a problem of its own, with Newton's restitution, and takes no time. Elastic contacts take
and give back exactly what they store, see `contact.soft`, so that no step is too long for them.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.routine import (
    Call,
    Indices,
    Mask,
    Matrix,
    Table,
    Tensor,
    Vector,
    routine,
    zeros,
)
from robot_dynamics.contact.material import dissipation
from robot_dynamics.contact.points import Inequality, PlacedPoint
from robot_dynamics.contact.shapes import SeenPoint
from robot_dynamics.contact.soft import follow_laws, give_way, move_patches, relaxed
from robot_dynamics.contact.solver import (
    Cone,
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
from robot_dynamics.model import WORLD
from robot_dynamics.simulation.contact.energy_balance import balance_energy
from robot_dynamics.simulation.contact.report import EnergyBooks
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
#: A point deeper than this [m] has come from beside the face or the surface: it is not in contact.
#: None may be so at the start.
DEEP = 1e-3
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


class ContactForces(NamedTuple):
    """Forces at all rows over the last step, and the impulses of impacts since they were taken.

    Attributes:
        force: (b + w c,) [N].
        impulse: (b + w c,) [N s].
    """

    force: Array
    impulse: Array


class ContactMotion:
    """Positions and velocities of a scene that advance in steps.

    Args:
        scene: The scene.
        cone: Of friction, "round" or "pyramid".

    Attributes:
        q: Positions (nq,), changed in place.
        v: Velocities (nv,), changed in place.
        impacts: Number of impacts at each contact that opens (c,).
        pressed: Which of these push (c,).
        slipping: Which of these slip (c,).
        deep: Down to which depth these push if they are rigid (c,) [m].
        correction: Size of the last correction of positions [m or rad].
        crowded: Whether there were so many impacts in a step that some did not bounce.
        pads: Moments of the pads on the object over the last step, about x and y of their contacts
            (p, 2) [N m].
        resisted: What hinges and lines that resist did so with over the last step, on the object
            along what they leave (g,) [N m or N].
        damping: Friction of joints over their velocities (nv,) [N m s/rad or N s/m]: zero unless
            it is set in place.
        friction: Coulomb friction of joints (nv,) [N m or N], likewise.
        friction_velocity: Below it Coulomb friction fades (1,) [rad/s or m/s].
        near: Where points of shapes were in the last step (s, 3) [m], NaN where there was none.
    """

    #: What changes from step to step.
    STATE = (
        "q", "v", "impacts", "pressed", "slipping", "_residual", "correction", "crowded", "forces",
        "resisted", "pads", "near", "_work", "_totals", "_account", "_acceleration", "_foreseen",
        "_known", "_trusted", "_anchors", "_anchored", "_rates", "_gaining", "_patch", "_sheared",
        "_leaving", "_slowing", "_fresh", "_bending", "_swing", "_touched", "_used",
    )  # fmt: skip

    def __init__(self, scene: Scene | RobotScene, cone: Cone = "round") -> None:
        self.scene, self.terms, self._cone = scene, ContactTerms(scene), cone
        b, w, c = self.terms.holding, self.terms.width, self.terms.opening
        self._b, self._w, self._rows = b, w, b + w * c
        touches = scene.touches
        self._friction = np.array([t[2].friction for t in touches])
        nv = scene.model.nv
        self._solver = solver = ContactSolver(b, self._friction, w, nv, cone)
        # Terms of a step, and of a state.
        self._output = self.terms.output(J=solver.J, HJ=solver.HJ, H=solver.H)
        self._terms, self._here = self._output.terms, self.terms.output()
        self._normals = b + w * np.arange(c)
        self._restitution = np.array([m.restitution for _, m, _ in touches])
        self._elastic = np.array([m.elastic for _, m, _ in touches], dtype=bool)
        self._stiffness = np.array([m.stiffness if m.elastic else 0.0 for _, m, _ in touches])
        self._loss = np.array(
            [
                dissipation(m.restitution, m.speed) if m.elastic and not m.damping else 0.0
                for _, m, _ in touches
            ]
        )
        self._damping = np.array([m.damping if m.elastic else 0.0 for _, m, _ in touches])
        shear = np.array([m.tangential_stiffness for _, m, _ in touches])
        self._gives = np.isfinite(shear)  # along the surface
        self._shear_stiffness = shear[self._gives]
        self._shear_damping = np.array([m.tangential_damping for _, m, _ in touches])[self._gives]
        # What is left of a patch after half a step, and of which step.
        self._left, self._left_of = np.zeros(c), np.nan
        self._x = np.zeros((len(self._shear_stiffness), 2))
        # Laws of elastic contacts in a step, whether impulses miss them, and the whole step.
        self._laws, self._whole = np.zeros((c, 10)), np.zeros(1)
        self._anew, self._missed = np.zeros(1, dtype=bool), np.zeros(1, dtype=bool)
        self._any_soft = bool(self._elastic.any() or self._gives.any())
        face = [scene.contacts[i].face for i in scene.pushing]
        self._face = np.full((c, 2), np.inf)
        self._face[: len(face)] = np.array(face).reshape(-1, 2)
        # Points of shapes and of round bodies are within what they touch, however deep they are.
        round_ = [isinstance(p, PlacedPoint) and p.shape is not None for p in scene.points]
        self.deep = np.full(c, DEEP)
        self.deep[len(face) :][self.terms.seen | np.array(round_, dtype=bool)] = np.inf
        # What rolls, or touches what moves, has no place to be brought back to.
        self._stays = np.array([True] * len(face) + [_stays(p) for p in scene.points], dtype=bool)
        self._bounded = bool(np.isfinite(self._face).any())
        self._padded = self._normals[[c for c, _ in scene.pads]]
        self._coulomb = np.array([one.friction for one in self.terms.resisting])
        self._resists = bool(self._coulomb.any())
        self._shown = np.flatnonzero(self.terms.seen)  # points of shapes, among contacts
        # Of a step that is tried.
        self._h, self._smooth = np.zeros(1), np.zeros(1, dtype=bool)
        self._end, self._half = np.zeros(nv), np.zeros(1)
        self._force, self._drag = np.zeros(nv), np.zeros(nv)
        self._pressing = np.zeros(len(self._padded))
        self.damping, self.friction = np.zeros(nv), np.zeros(nv)
        self.friction_velocity = np.array([FRICTION_VELOCITY])
        if self._padded.size or self.terms.resisting:
            self._held = self.terms.groups.of_velocity[self.terms.scene.system.object_v][0]
        # All that such a step takes is compiled.
        self._plain = not self._padded.size and not self.terms.resisting
        self._after, self._gaps = np.zeros(self._rows), np.zeros(c)
        self._offset = np.zeros(self._rows)  # s of the laws of u+ + s
        # Of groups: kinetic and potential energy, the islands that they are in, and sums of these.
        g = len(self.terms.groups.lossless)
        self._kinetic, self._potential = np.zeros(g), np.zeros(g)
        # Momentum of groups; velocities of centres of mass of islands, and what they are to be.
        self._momentum, self._common, self._kept = (np.zeros((g, 3)) for _ in range(3))
        self._wholes = np.zeros((nv, 3))
        self._pushed = np.zeros(g, dtype=bool)  # which something pushes in a step
        self._island, self._sums = np.zeros(g, dtype=np.int64), np.zeros((g, 4))
        # Of an impact: impulses that may give energy, and what velocities change by.
        self._bouncing, self._change = np.zeros(self._rows), np.zeros(nv)
        self._within, self._arriving = np.zeros(c, dtype=bool), np.zeros(c, dtype=bool)
        self._astray, self._closing, self._fastest = np.zeros(1), np.zeros(1), np.zeros(1)
        # Of a correction: whether contacts take part, the shift, the motion, errors, which rows.
        self._everything, self._shift, self._move = np.ones(1, bool), np.zeros(1), np.zeros(nv)
        self._open, self._any_lost = np.zeros(1), np.zeros(1, bool)
        self._error, self._part = np.zeros(self._rows), np.zeros(self._rows, dtype=bool)
        self.start(scene.model.neutral())

    def start(self, q: Array, v: Array | None = None) -> None:
        """Begin at positions (nq,) and velocities (nv,), zero by default; nothing is pressed."""
        c = self.terms.opening
        self.q = np.array(q, dtype=float)
        self.v = np.zeros(self.scene.model.nv) if v is None else np.array(v, dtype=float)
        self._work = np.zeros(self._rows)
        # Work on groups of drives, of the friction of joints, and of pads.
        groups = self.terms.groups
        self._totals = np.zeros((len(groups.lossless), 6))
        self._touched = np.zeros(c, dtype=bool)  # which pushed since energy was looked at
        self.pads = np.zeros((len(self._padded), 2))
        self.impacts = np.zeros(c, dtype=np.int64)
        self.pressed, self.slipping = np.zeros(c, dtype=bool), np.zeros(c, dtype=bool)
        self._residual, self.correction, self.crowded = np.zeros(1), 0.0, False
        self.forces = ContactForces(np.zeros(self._rows), np.zeros(self._rows))
        self._struck = False  # since forces were taken
        # Of the last step, and what it says of the next; whether it is known.
        self._acceleration, self._foreseen = np.zeros(len(self.v)), np.zeros(len(self.v))
        self._known, self._trusted = np.zeros(len(self.v), dtype=bool), np.inf
        self._anchors = np.zeros((c, 3))  # places where sticking began
        self._anchored = np.zeros(c, dtype=bool)
        self.near = np.full((len(self._shown), 3), np.nan)
        self._patch = np.zeros(c)  # how deep surfaces with a damper still are [m]
        self._used = self._stiffness.copy()  # as steps resolve it
        # Of those that give way along the surface, in the coordinates of the body that has it [m].
        self._sheared = np.zeros((len(self._shear_stiffness), 3))
        self._resisted = np.zeros(len(self.terms.resisting))  # over rates, by hinges and lines
        self._rates = np.zeros(len(self.terms.resisting))  # of hinges and lines that resist
        self._gaining = np.zeros_like(self._rates)  # by how much they change [rad/s^2, m/s^2]
        self.resisted = np.zeros_like(self._rates)
        # Velocities of rows at the end of the last step, by how much slip changed within it, and
        # whether they were taken where the next step begins.
        self._leaving, self._slowing = np.zeros(self._rows), np.full(c, np.inf)
        # s of the last step over its length, and by how much u- was off that of the step before.
        self._bending, self._swing = np.zeros(self._rows), np.zeros(self._rows)
        self._fresh = np.ones(1, dtype=bool)
        if self.v.any():
            there = self.terms.at(self.q, self.v)
            self._rates, self._leaving = there.along @ self.v, there.before.copy()
            self.slipping = self._slips(self._leaving)
        # Energy, work that may be positive, and what contacts lose; taken at a period's end.
        self._account = np.zeros_like(self._totals)
        self.bind()
        self._find_energy()
        self._find_momentum()
        self._account[:, 0] = self._kinetic + self._potential
        self._account[:, 3:] = self._momentum
        if self._elastic.any():
            with np.errstate(all="ignore"):  # what is not a number stores nothing
                there = self.terms.at(self.q, self.v)
            deep = np.where(self._on_face(there) & (there.gaps < 0.0), there.gaps, 0.0)
            stored, of = 0.5 * self._stiffness * deep**2, groups.of_row[self._normals]
            np.add.at(self._account[:, 0], of, stored)
            np.add.at(self._account[:, 2], of, stored * ((self._loss > 0.0) | (self._damping > 0)))

    def bind(self) -> None:
        """Let the compiled parts of a step work on the arrays that the state is made of now.

        They change them in place.
        """
        terms, solver, b, w = self._terms, self._solver, self._b, self._w
        groups = self.terms.groups
        self._stepped = False
        more = [each for each in (self._resisted, self._pressing) if each.size]
        h = self._h.reshape(())
        self._evaluate = self.terms.bind(
            self.q, self.v, self._foreseen, self._force, self._drag, h, *more, out=self._output
        )
        self._begin_step = begin_step.bind(
            self._h, terms.before, terms.after, terms.gaps, terms.places, self._face,
            self.deep, self._elastic, self.pressed, self.slipping, self.forces.force,
            self._leaving, self._slowing, self._fresh, self._bending, self._swing, b, w,
            self._offset, solver.c, solver.P, self._gaps, self._within, solver.touching,
            self._arriving,
        )  # fmt: skip
        self._give_way = self._move_patches = self._follow_laws = nothing.bind()
        if self._any_soft:
            self._give_way = give_way.bind(
                self._h, self._whole, self._gaps, terms.before, self._leaving, terms.after,
                self._foreseen, terms.J, terms.HJ, self._within, self.pressed, self._elastic,
                self._stiffness, self._loss, self._damping, self._left, self._patch, self._used,
                self._laws, self._gives, self._shear_stiffness, self._shear_damping,
                terms.patches, self._sheared, self.forces.force, b, w, self._x,
                solver.compliance, solver.c, solver.touching,
            )  # fmt: skip
            self._move_patches = move_patches.bind(
                self._h, terms.gaps, self._after, self._within, self.pressed, self._damping,
                self._left, self._patch, self._gives, self._shear_stiffness, self._shear_damping,
                terms.patches, self._x, self.forces.force, b, w, self._sheared,
            )  # fmt: skip
        if self._elastic.any():
            self._follow_laws = follow_laws.bind(
                self._h, self._laws, terms.before, terms.after, self._within, self._elastic,
                self._after, solver.P, b, w, solver.compliance, solver.c, solver.touching,
                self._anew, self._missed, solver.error,
            )  # fmt: skip
        self._end_step = end_step.bind(
            self._h, terms.start, self._foreseen, terms.free, terms.HJ, terms.J, solver.P,
            terms.before, self._gaps, self._within, self._elastic, self.pressed, b, w, self._end,
            self._after, self._astray, self._closing, self._fastest,
        )  # fmt: skip
        self._take_step = take_step.bind(
            self._h, self._smooth, self._force, self._drag, terms.start, self._end, terms.before,
            self._after, self._offset, solver.P, solver.pressed, solver.slipping, terms.places,
            self._stays, self._elastic, b, w, self._work, self._totals, self._acceleration,
            self._foreseen, self._known, self.forces.force, self.pressed, self.slipping,
            self.impacts, self._anchors, self._anchored, self._leaving, self._slowing,
            self._fresh, self._bending, self._swing, groups.of_velocity, groups.of_row,
            groups.joins, self._pushed, self._touched, groups.weight, terms.wholes,
        )  # fmt: skip
        self._find_energy = self.terms.bind_energy(self.q, self.v, self._kinetic, self._potential)
        self._find_momentum = nothing.bind()
        if groups.free.any():
            self._find_momentum = self.terms.bind_momentum(
                self.q, self.v, self._momentum, self._wholes
            )
        self._balance_energy = balance_energy.bind(
            self._find_energy, self._find_momentum, self._kinetic, self._potential,
            self._account, self._work,
            self._totals, self._elastic, b, w, groups.of_row, groups.of_velocity, groups.joins,
            groups.lossless, self._touched, self._island, self._sums, self.v, self._h, terms.gaps,
            self._after, self._within, self.pressed, self._used, self._loss, self._damping,
            self._patch, groups.free, groups.mass, groups.grounded, self._momentum, self._wholes,
            self._common, self._kept,
        )  # fmt: skip

        there = self._here.terms
        self._open_now, self._open_here = (
            open_by.bind(
                h, self._after, at.error, at.gaps, at.places, at.axes, self._anchors,
                self.pressed, self._anchored, self._elastic, self._gives, w, self._everything,
                self._error, self._part, self._open,
            )
            for h, at in ((self._h, terms), (np.zeros(1), there))
        )  # fmt: skip
        self._closing_motion = closing_motion.bind(
            there.H, there.J, there.HJ, self._error, self._part, self._shift, self._move
        )
        self._rub_joints = rub.bind(
            self.v, self.damping, self.friction, self.friction_velocity, self._drag,
        )  # fmt: skip
        self._meet_laws = meet_laws.bind(
            self._give_way, solver.run, self._end_step, self._follow_laws, self._anew,
            self._missed,
        )  # fmt: skip
        self._attempt_step = attempt_step.bind(
            self._rub_joints, self._evaluate, self._begin_step, self._meet_laws
        )
        self._accept_step = accept_step.bind(
            self._h, self._half,
            self.terms.bind_coast(terms.q, self._end, self._half.reshape(()), self.q, self.v),
            self._take_step,
            self._move_patches, self._open_now, solver.error, self._residual, self._elastic,
            terms.gaps, terms.places, self._shown, self.near, self._any_lost,
        )  # fmt: skip
        self._ordinary_step = ordinary_step.bind(
            self._attempt_step, self._accept_step, self._h, self._arriving, self._astray,
            self._closing, self._fastest,
        )  # fmt: skip

        self._gained = energy_gained.bind(
            terms.J, terms.HJ, terms.after, terms.before, solver.P, solver.compliance,
            self._change, self._after,
        )  # fmt: skip
        self._take_no_gain = without_gain.bind(
            terms.J, terms.HJ, terms.after, terms.before, self._bouncing, solver.P,
            solver.compliance, self._change, self._after,
        )  # fmt: skip

    def deepest(self) -> tuple[str, float]:
        """Return the name of the rigid contact that is closed deepest, and how deep [m].

        An empty name and zero if none is.
        """
        terms = self.terms.at(self.q, self.v, self.near)
        depth = np.where(self._elastic, 0.0, -terms.gaps)
        if self._bounded:
            depth = np.where(self._on_face(terms), depth, 0.0)
        if not len(depth) or depth.max() <= 0.0:
            return "", 0.0
        worst = int(np.argmax(depth))
        return self.scene.touches[worst][0], float(depth[worst])

    def lost(self) -> list[tuple[str, float]]:
        """Return the names and gaps of contacts that could not push in the last step.

        Rigid ones that were too deep, and those whose gap was not a number.
        """
        if not self._any_lost[0] and self._fastest[0] < FASTEST:
            return []
        gaps = self._terms.gaps
        lost = np.isnan(gaps) | ((gaps < -DEEP) & ~self._elastic)
        return [(self.scene.touches[c][0], float(gaps[c])) for c in np.flatnonzero(lost)]

    @property
    def residual(self) -> float:
        """The largest error of the contact laws since the start, in parts of an impulse."""
        return float(self._residual[0])

    @property
    def fastest(self) -> float:
        """The largest velocity at the end of the last step [m/s, rad/s]."""
        return float(self._fastest[0])

    def advance(self, h: float, force: Array) -> None:
        """Go on by a step.

        Args:
            h: Its length [s].
            force: On the joints (nv,), held over the step.
        """
        left, events = h, 0
        self._force[:], self._whole[0] = force, h
        self._stepped = True
        while left > 1e-9 * h:
            # Parts of equal length: in a sliver small errors of velocity would be large forces.
            length = left / max(1, ceil(left / self._trusted - 1e-9))
            self._smooth[0] = events == 0
            ordinary = self._plain and self._is_ordinary(length)
            if not self._plain:
                self._attempt(length)
            length = float(self._h[0])
            if ordinary:
                self._trusted = 2.0 * length
                left -= length
                continue
            # Bias forces are those of a velocity that was foreseen for the middle of the step. By
            # how far the step ends elsewhere than that would lead tells how right they are.
            while not self._astray[0] <= _ASTRAY and length > 1.01 * h / _SHORTEST:
                self._attempt(0.5 * length)
                length = float(self._h[0])
            self._trusted = 2.0 * length
            if not self._fastest[0] < FASTEST:
                self.v[:] = self._end
                return
            if events < _MOST_EVENTS:
                if not self._arriving.any() and self._closing[0] < length:
                    events += 1
                    self._attempt(float(self._closing[0]))
                    length = float(self._h[0])
                    if not self._arriving.any():
                        self._accept(length, smooth=False)
                        left -= length
                        continue
                # Also at a surface that was not the nearest one in the longer step.
                if self._arriving.any():
                    self.crowded = self.crowded or events >= MOST_BOUNCES
                    self._impact(self._arriving.copy(), bounces=events < MOST_BOUNCES)
                    events += 1
                    continue
            self._accept(length, smooth=events == 0)
            left -= length

    def take_forces(self, period: float) -> Array:
        """Return the forces of the last step along all rows (b + w c,).

        Impulses of impacts since they were taken last are in them, as a mean over a period [s].
        """
        force, impulse = self.forces
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
        if self._fastest[0] > SLOW:
            self._balance_energy()

    def _rises(self, before: Array) -> bool:
        """Return whether potential energy is larger than it was at positions `before` (nq,)."""
        self._find_energy()
        now, after = float(self._potential.sum()), self.q.copy()
        self.q[:] = before
        self._find_energy()
        self.q[:] = after
        return now > float(self._potential.sum())

    def _close_all(self) -> None:
        """Move positions to where nothing is open."""
        self.correction = 0.0
        self._shift[0] = _SHIFT
        # Known from the middle of the last step: nothing is to be evaluated where all is closed.
        if self._stepped and self._open[0] <= _CLOSE_ENOUGH:
            return
        self.correction, before = self._close(), self.q.copy()
        if not self.correction:
            return
        large = self.correction > _LARGE_CORRECTION
        if large:
            # Contacts that nearly depend on one another ask for large motions for little.
            self._shift[0] = _WEAK_SHIFT
            self.correction = self._closing_motion()
        self.q[:] = self.terms.move(self.q, self._move)
        if large and self._b:
            # What holds is closed whatever contacts want.
            self._everything[0], self._shift[0] = False, _SHIFT
            self._close()
            self._everything[0] = True
            self.q[:] = self.terms.move(self.q, self._move)
        if self._fastest[0] <= SLOW and self._open[0] < _LITTLE and self._rises(before):
            # What lies is not lifted: it has no motion to take the energy from.
            self.q[:], self.correction = before, 0.0

    def _close(self) -> float:
        """Find the motion that closes what is open at the present positions; return its size."""
        self.terms.at(self.q, self.v, self.near, self._here)
        self._open_here()
        return float(self._closing_motion())

    def _on_face(self, terms: StepTerms) -> Mask:
        return np.asarray((np.abs(terms.places[:, :2]) <= self._face).all(axis=1))

    def _is_ordinary(self, h: float) -> bool:
        """Take a plain step if nothing happens in it; return whether that was so."""
        self._prepare(h)
        return bool(self._ordinary_step())

    def _prepare(self, h: float) -> None:
        """Find what compiled steps of length h, less if shapes are fast, take from elsewhere."""
        h = self.terms.look(self.q, self.v, h, self.near)
        self._h[0] = h
        if self._any_soft and h != self._left_of:
            one = np.ones(len(self._left))
            self._left[:] = relaxed(self._stiffness, self._damping, one, 0.5 * h)
            self._left_of = h

    def _attempt(self, h: float) -> None:
        """Find what a step of length h would do."""
        self._h[0] = h
        if self._rates.size:
            self._resisted[:] = self._rub(self._rates + h * self._gaining)
        self._resisted_by(h)
        for _ in range(_PASSES if self._resists else 0):
            rates = self._terms.along @ self._end
            rub = self._rub(rates)
            if (np.abs((rub - self._resisted) * rates) <= _OFF_COULOMB * self._coulomb).all():
                break
            self._resisted[:] = rub
            self._resisted_by(h)

    def _rub(self, rates: Array) -> Array:
        """Return what hinges and lines resist with, over their rates (g,)."""
        pairs = zip(self.terms.resisting, rates.tolist(), strict=True)
        return np.array([one.drag(rate) for one, rate in pairs])

    def _resisted_by(self, h: float) -> None:
        """Find what a step would do where hinges and lines resist with `_resisted` (g,)."""
        self._prepare(h)
        if self._plain:
            self._attempt_step()
            return
        self._pressing[:] = self.forces.force[self._padded]
        self._rub_joints()
        self._evaluate()
        self._begin_step()
        self._meet_laws()

    def _accept(self, h: float, *, smooth: bool) -> None:
        """Go on to the end of the step that was tried."""
        terms, end = self._terms, self._end
        mean = 0.5 * (terms.start + end)
        if self._padded.size:
            self.pads = terms.pads.copy()
            self._totals[self._held, 2] += h * float(terms.pad_force @ mean)
        if self._rates.size:
            along = terms.along
            self._rates, self._gaining = along @ end, along @ (end - terms.start) / h
            self.resisted = -self._resisted * self._rates
            self._totals[self._held, 1] += h * float(self.resisted @ (along @ mean))
        self._smooth[0] = smooth
        self._accept_step()

    def _impact(self, arriving: Mask, *, bounces: bool) -> None:
        """Change velocities by the impact of contacts that arrive; no time passes."""
        terms, solver = self.terms.at(self.q, self.v, self.near, self._output), self._solver
        self._h[0] = 0.0
        self._begin_step()
        solver.compliance[:] = 0.0
        speed = np.where(arriving, -terms.before[self._normals], 0.0)
        bounce = np.where((speed > SLOW) & bounces, self._restitution * speed, 0.0)
        closed = (solver.touching | arriving) & ~self._elastic

        def solve(bounce: Array) -> None:
            solver.c[:], solver.P[:] = terms.after, 0.0
            # What holds does so in the mean, as in steps: that neither takes energy nor gives any.
            solver.c[: self._b] += terms.before[: self._b]
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
        self.v += self._change
        self._rates, self._gaining = terms.along @ self.v, np.zeros_like(self._rates)
        self._residual[0] = max(self.residual, residual)
        self._work += solver.P * (terms.before + self._after)
        self._touched |= solver.P[self._normals] > 0.0
        self.impacts += speed > SLOW
        self.forces.impulse[:] += solver.P
        self._struck = True
        # What did not bounce is closed from now on.
        self.pressed |= arriving & ((speed <= SLOW) | pressed)
        self._leaving[:], self._slowing[:], self._fresh[0] = self._after, np.inf, True
        self.slipping[closed] = (solver.slipping & self._slips(self._after))[closed]

    def _slips(self, rates: Array) -> Mask:
        """Return which contacts slip at velocities of rows (b + w c,)."""
        tangential = rates[self._b :].reshape(-1, self._w)[:, 1:]
        return np.asarray((np.abs(tangential) > NO_SLIP).any(axis=1))

    def residuals(self) -> Residuals:
        """Return how well the impulses of the last step meet the laws of contact."""
        if not self._stepped:
            return Residuals(0.0, 0.0, 0.0, 0.0, 0.0)
        solver, touching = self._solver, self._solver.touching
        velocities(
            solver.J, solver.HJ, solver.c, solver.compliance, solver.P, self._change, self._after
        )
        # What is still on its way to a surface may close.
        rows = np.concatenate([np.ones(self._b, dtype=bool), np.repeat(touching, self._w)])
        friction = self._friction[touching]
        return residuals(self._after[rows], solver.P[rows], friction, self._b, self._w, self._cone)

    @property
    def books(self) -> EnergyBooks:
        """Where energy went since the start."""
        work, b = 0.5 * self._work, self._b
        normal, totals = work[self._normals], self._totals.sum(axis=0)
        return EnergyBooks(
            drives=float(totals[0]),
            joint_friction=float(totals[1]),
            contact_friction=float(work[b:].sum() - normal.sum()),
            impacts=float(normal[~self._elastic].sum()),
            elastic=float(normal[self._elastic].sum() + totals[2]),
            holding=float(work[:b].sum()),
        )


def _stays(point: PlacedPoint | Inequality | SeenPoint) -> bool:
    """Return whether a point that sticks stays where it is in the world."""
    if not isinstance(point, PlacedPoint) or point.base != WORLD:
        return False
    return point.radius == 0.0 and point.shape is None


@routine
def energy_gained(
    J: Matrix, HJ: Matrix, c: Vector, before: Vector, P: Vector, compliance: Vector,
    change: Vector, after: Vector,
) -> float:  # fmt: skip
    """Write what impulses change velocities by, and to; return the energy [J]: P (u- + u+) / 2."""
    velocities(J, HJ, c, compliance, P, change, after)
    gain = 0.0
    for i in range(len(P)):
        gain += 0.5 * P[i] * (before[i] + after[i])
    return gain


@routine
def without_gain(
    J: Matrix, HJ: Matrix, c: Vector, before: Vector, bouncing: Vector, P: Vector,
    compliance: Vector, change: Vector, after: Vector,
) -> None:  # fmt: skip
    """Replace plain impulses P by those nearest to bouncing ones, between both, without a gain.

    The energy is a quadratic function of the way s between them: gain = a s^2 + b s - loss.
    """
    gain = energy_gained(J, HJ, c, before, bouncing, compliance, change, after)
    loss = -energy_gained(J, HJ, c, before, P, compliance, change, after)
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
    v: Vector, damping: Vector, friction: Vector, friction_velocity: Vector, drag: Vector
) -> None:
    """Write the friction of joints over velocities."""
    least = friction_velocity[0] * friction_velocity[0]
    for k in range(len(v)):
        drag[k] = damping[k]
        if friction[k] != 0.0:
            drag[k] += friction[k] / sqrt(v[k] * v[k] + least)


@routine
def attempt_step(rub: Call, terms: Call, begin: Call, meet_laws: Call) -> None:
    """Find what a step would do."""
    rub()
    terms()
    begin()
    meet_laws()


@routine
def meet_laws(
    give_way: Call, solve: Call, end: Call, follow_laws: Call, anew: Mask, missed: Mask
) -> None:
    """Find impulses, and velocities at the end of a step, that meet the laws of contact.

    Those of springs by Newton's method, within bounds where it comes to swing.
    """
    give_way()
    for k in range(_SPRING_PASSES):
        solve()
        end()
        anew[0] = k < _SWINGING or k % _SEARCH == 0
        follow_laws()
        if not missed[0]:
            break


@routine
def accept_step(
    h: Vector, half: Vector, coast: Call, take: Call, move_patches: Call, open_by: Call,
    error: Vector, residual: Vector, elastic: Mask,
    gap: Vector, place: Matrix, shown: Indices, near: Matrix, any_lost: Mask,
) -> None:  # fmt: skip
    """Go on to the end of the step that was tried."""
    half[0] = 0.5 * h[0]
    coast()
    take()
    move_patches()
    open_by()
    residual[0] = larger(residual[0], error[0])
    any_lost[0] = False
    for i in range(len(gap)):
        if not gap[i] >= (-_INFINITE if elastic[i] else -DEEP):  # or not a number
            any_lost[0] = True
    for i in range(len(shown)):
        for k in range(3):
            near[i, k] = place[shown[i], k] if gap[shown[i]] < _INFINITE else _NOWHERE


@routine
def ordinary_step(
    attempt: Call, accept: Call, h: Vector, arriving: Mask, astray: Vector, closing: Vector,
    fastest: Vector,
) -> bool:  # fmt: skip
    """Try a step, and take it if it needs not be shorter and nothing arrives or closes in it."""
    attempt()
    for i in range(len(arriving)):
        if arriving[i]:
            return False
    if not (astray[0] <= _ASTRAY and fastest[0] < FASTEST) or closing[0] < h[0]:
        return False
    accept()
    return True


@routine
def begin_step(
    h: Vector, before: Vector, after: Vector, gap: Vector, place: Matrix, face: Matrix,
    deep: Vector, elastic: Mask, pressed: Mask, slipping: Mask, force: Vector, leaving: Vector,
    slowing: Vector, fresh: Mask, bending: Vector, swing: Vector, holding: int, width: int,
    offset: Vector, c: Vector, P: Vector, gaps: Vector, within: Mask, touching: Mask,
    arriving: Mask,
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
    arrives = False
    for i in range(len(c)):
        offset[i] = before[i] if i < holding else 0.0
        P[i] = force[i] * h[0]
    for i in range(len(gap)):
        rate = before[holding + i * width]
        gaps[i] = gap[i] - 0.5 * h[0] * rate
        within[i] = abs(place[i, 0]) <= face[i, 0] and abs(place[i, 1]) <= face[i, 1]
        closed = gaps[i] <= (STILL_CLOSED if pressed[i] else CLOSED) and gaps[i] > -deep[i]
        touching[i] = closed and within[i] and not elastic[i]
        # A contact that pushed in the last step does not arrive: it only slides on.
        arriving[i] = touching[i] and not pressed[i] and rate < 0.0
        if arriving[i]:
            arrives = True
        if touching[i]:
            n = holding + i * width
            bend = _BEND * h[0]
            # What separates may come back, and is stopped then: to stop it here gives energy.
            # By how much rows turn in half a step: as in the last one, or seen after an impact.
            turned = rate - leaving[n] if fresh[0] else leaving[n]
            offset[n] = max(rate, -2.0 * abs(turned) - bend if pressed[i] else 0.0)
            slip, across = 0.0, 0.0
            for k in range(n + 1, n + width):
                slip += before[k] * before[k]
                turned = before[k] - leaving[k] if fresh[0] else leaving[k]
                across += turned * turned
            slip, part = sqrt(slip), 0.0
            if (pressed[i] or fresh[0]) and not slipping[i]:
                part = min(1.0, (2.0 * sqrt(across) + bend) / max(slip, _TINY))
            elif pressed[i] and slip > 2.0 * slowing[i]:
                # It does not stop in this step: friction is against the mean slip.
                part = 1.0
            for k in range(n + 1, n + width):
                offset[k] = part * before[k]
                if pressed[i] and slipping[i] and part == 0.0:
                    # What stops does so between steps: rows are as far off on either side.
                    offset[k] = 0.5 * (before[k] - leaving[k])
            # The normal and the tangents each by themselves: a slip that changes hides the former.
            for side in range(2):
                first, behind = n + side, n + 1 + side * (width - 1)
                power, swings = 0.0, 0.0
                for k in range(first, behind):
                    power += force[k] * (offset[k] - h[0] * bending[k])
                    swings += swing[k] * (offset[k] - h[0] * bending[k])
                if pressed[i] and power < 0.0 and swings < 0.0:
                    for k in range(first, behind):
                        offset[k] = 0.5 * (offset[k] + h[0] * bending[k])
            # What rests stops at once, and its impulses are those of the step before.
            for k in range(n, n + width):
                if abs(offset[k]) < NO_SLIP:
                    offset[k] = 0.0
    for i in range(len(c)):
        c[i] = after[i] + offset[i]
    return arrives


@routine
def end_step(
    h: Vector, v: Vector, acceleration: Vector, free: Vector, HJ: Matrix, J: Matrix, P: Vector,
    before: Vector, gaps: Vector, within: Mask, elastic: Mask, pressed: Mask, holding: int,
    width: int, end: Vector, after: Vector, astray: Vector, closing: Vector, fastest: Vector,
) -> None:  # fmt: skip
    """Write velocities at the end, how far it is from what was foreseen, and what closes when."""
    fastest[0] = 0.0
    for k in range(len(v)):
        end[k] = free[k]
    for i in range(len(P)):
        if P[i] != 0.0:
            for k in range(len(v)):
                end[k] += P[i] * HJ[i, k]
    for i in range(len(P)):
        after[i] = along_row(J, i, end)
    astray[0] = 0.0
    for k in range(len(v)):
        fastest[0] = larger(fastest[0], abs(end[k]))
        off = abs(0.5 * h[0] * (end[k] - v[k] - h[0] * acceleration[k]))
        astray[0] = larger(astray[0], off)
    # The first of rigid contacts that close: gap + u0 t + (u1 - u0) t^2 / (2 h) = 0.
    closing[0] = h[0]
    for i in range(len(gaps)):
        u0 = before[holding + i * width]
        u1 = after[holding + i * width]
        open_ = gaps[i] > CLOSED and within[i] and not elastic[i] and not pressed[i]
        if open_ and gaps[i] + 0.5 * h[0] * (u0 + u1) < 0.0:
            # The smallest root, without cancellation.
            root = sqrt(max(u0 * u0 - 2.0 * (u1 - u0) / h[0] * gaps[i], 0.0))
            if root > u0:
                closing[0] = min(closing[0], 2.0 * gaps[i] / (root - u0))


@routine
def take_step(
    h: Vector, smooth: Mask, force: Vector, drag: Vector, v: Vector, end: Vector, before: Vector,
    after: Vector, offset: Vector, P: Vector, pushes: Mask, slips: Mask, place: Matrix,
    stays: Mask, elastic: Mask, holding: int, width: int, work: Vector, totals: Matrix,
    acceleration: Vector, foreseen: Vector, known: Mask, forces: Vector, pressed: Mask,
    slipping: Mask, impacts: Indices, anchors: Matrix, anchored: Mask, leaving: Vector,
    slowing: Vector, fresh: Mask, bending: Vector, swing: Vector, of_velocity: Indices,
    of_row: Indices, joins: Table, pushed: Mask, touched: Mask, weight: Matrix, wholes: Matrix,
) -> None:  # fmt: skip
    """Enter a step into the books, and change what the next step depends on."""
    for k in range(len(v)):
        mean = 0.5 * h[0] * (v[k] + end[k])
        totals[of_velocity[k], 0] += force[k] * mean
        totals[of_velocity[k], 1] -= drag[k] * end[k] * mean
        for j in range(3):
            push = force[k] - drag[k] * end[k]
            totals[of_velocity[k], 3 + j] += h[0] * push * wholes[k, j]
    for g in range(len(weight)):
        for j in range(3):
            totals[g, 3 + j] += h[0] * weight[g, j]
    for i in range(len(P)):
        work[i] += P[i] * (before[i] + after[i])
        forces[i] = P[i] / h[0]
        leaving[i] = after[i]
        swing[i] = before[i] - h[0] * bending[i]
        bending[i] = offset[i] / h[0]
    fresh[0] = False
    same = smooth[0]
    for g in range(len(pushed)):
        pushed[g] = False
    for j in range(len(joins)):
        if pushes[joins[j, 0]] or pressed[joins[j, 0]]:
            pushed[joins[j, 1]], pushed[joins[j, 2]] = True, True
    for i in range(len(pushes)):
        n = holding + i * width
        if pushes[i] or pressed[i]:
            pushed[of_row[n]] = True
        if pushes[i] != pressed[i]:
            same = False
        if elastic[i] and pushes[i] and not pressed[i] and before[n] < -SLOW:
            impacts[i] += 1
        pressed[i] = pushes[i]
        touched[i] = touched[i] or pushes[i]
        fastest, change = 0.0, 0.0
        for k in range(n + 1, n + width):
            fastest = max(fastest, abs(after[k] + offset[k]))
            change += (after[k] - before[k]) * (after[k] - before[k])
        slowing[i] = sqrt(change)
        slips_on = slips[i] and fastest > NO_SLIP
        if pushes[i] and slips_on != slipping[i]:
            same = False
            for k in range(n + 1, n + width if not slips_on else 0):
                leaving[k] = 0.0  # what stopped may not go back
        slipping[i] = slips_on
        # Where contacts began to stick.
        sticking = pressed[i] and stays[i] and not slipping[i]
        if sticking and not anchored[i]:
            for k in range(3):
                anchors[i, k] = place[i, k]
        anchored[i] = sticking
    # For the next step's bias forces, unless contacts have just changed: then none is known of
    # what they push. What moves freely goes on, also where a step is shorter for others.
    for k in range(len(v)):
        steady = same or not pushed[of_velocity[k]]
        now = (end[k] - v[k]) / h[0] if steady else 0.0
        foreseen[k] = 2.0 * now - acceleration[k] if smooth[0] and steady and known[k] else now
        acceleration[k] = now
        known[k] = steady


@routine
def open_by(
    h: Vector, after: Vector, holds: Vector, gap: Vector, place: Matrix, axes: Tensor,
    anchors: Matrix, pressed: Mask, anchored: Mask, elastic: Mask, gives: Mask, width: int,
    everything: Mask, error: Vector, takes_part: Mask, widest: Vector,
) -> None:  # fmt: skip
    """Write what rows are open by at the end of a step, which rows, and the largest.

    Of what holds or, of `everything`, of contacts that push or stick as well. What they are open
    by in the middle, where the terms are, is as large at most.
    """
    b, largest = len(holds), 0.0
    for i in range(len(error)):
        error[i] = holds[i] if i < b else 0.0
        takes_part[i] = i < b
    for i in range(len(gap) if everything[0] else 0):
        n = b + i * width
        # The place of a point of shapes may have gone over to another one, which is open.
        if pressed[i] and not elastic[i] and gap[i] <= STILL_CLOSED:
            error[n] = gap[i]
            takes_part[n] = True
        if anchored[i] and not elastic[i] and not gives[i]:
            for k in range(1, width):
                takes_part[n + k] = True
            for k in range(2):
                for j in range(3):
                    error[n + 1 + k] += axes[i, k, j] * (place[i, j] - anchors[i, j])
    for i in range(len(error)):
        if takes_part[i]:
            largest = larger(largest, abs(error[i]))
            error[i] += 0.5 * h[0] * after[i]
            largest = larger(largest, abs(error[i]))
    widest[0] = largest


@routine
def closing_motion(
    H: Matrix, J: Matrix, HJ: Matrix, error: Vector, takes_part: Mask, part: Vector, move: Vector,
) -> float:  # fmt: skip
    """Write the smallest motion in the metric of H that takes errors away; return its size.

    W is shifted by a part of its mean diagonal.
    """
    m, nv = len(error), len(move)
    largest, count, trace = 0.0, 0, 0.0
    for i in range(m):
        if takes_part[i]:
            largest = max(largest, abs(error[i]))
            count += 1
            trace += product(J, HJ, i)
    for k in range(nv):
        move[k] = 0.0
    if largest <= 1e-15:
        return 0.0
    # (H + J^T J / s) z = -J^T e / s
    A = zeros(nv, nv)
    weight = count / (part[0] * trace)
    for k in range(nv):
        for j in range(nv):
            A[k, j] = H[k, j]
    for i in range(m):
        if takes_part[i]:
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
