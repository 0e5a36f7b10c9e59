# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time stepping of a scene: velocities jump by impulses, impacts are met where they happen.

A step is Moreau's: terms at its middle, impulses that fulfil the laws of contact at its end. A
rigid contact that would close within it ends the step there; its impact is a problem of its own,
with Newton's restitution, and takes no time. Elastic contacts are Hunt and Crossley's, their
spring by the trapezoidal rule, so that no step is too long for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.contact.material import dissipation
from robot_dynamics.contact.points import Inequality, PlacedPoint
from robot_dynamics.contact.shapes import SeenPoint
from robot_dynamics.contact.soft import displaced, normal_step, relaxed, tangential_step
from robot_dynamics.contact.solver import ContactSolver, Impulses, Residuals, residuals
from robot_dynamics.model import WORLD
from robot_dynamics.simulation.contact.report import EnergyBooks
from robot_dynamics.simulation.contact.terms import ContactTerms, StepTerms
from robot_dynamics.simulation.scene import RobotScene, Scene

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

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
_SHORTEST = 16  # ... into as many parts at most
_MOST_EVENTS = 12  # in a step; what closes beyond that closes at the step's end
_LARGE_CORRECTION = 1e-6  # [m or rad]
_WEAK_SHIFT = 1e-6  # of the diagonal, for rows that nearly depend on one another
_SHIFT = 1e-10  # of the diagonal, for rows that depend on one another
# Compliance of elastic contacts along the face, in parts of what moves there over a step. Corners
# of a face that tilts a little in its springs would else push against one another without bound.
_SHEAR = 1e-3
# Hinges and lines resist by their rates at a step's end: foreseen ones, and where these are off by
# this part of Coulomb friction the step is tried anew, as often as this at most.
_OFF_COULOMB = 0.01
_PASSES = 8


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

    Attributes:
        q: Positions (nq,).
        v: Velocities (nv,).
        impacts: Number of impacts at each contact that opens (c,).
        pressed: Which of these push (c,).
        slipping: Which of these slip (c,).
        residual: The largest error of the contact laws since the start, in parts of an impulse.
        correction: Size of the last correction of positions [m or rad].
        pads: Moments of the pads on the object over the last step, about x and y of their contacts
            (p, 2) [N m].
        resisted: What hinges and lines that resist did so with over the last step, on the object
            along what they leave (g,) [N m or N].
        near: Where points of shapes were in the last step (s, 3) [m], NaN where there was none.
    """

    #: What changes from step to step.
    STATE = (
        "q", "v", "impacts", "pressed", "slipping", "residual", "correction", "forces", "resisted",
        "pads", "near", "_work", "_of_drives", "_of_pads", "_of_joint_friction", "_acceleration",
        "_trusted", "_anchors", "_anchored", "_rates", "_gaining",
        "_patch", "_sheared",
    )  # fmt: skip

    def __init__(self, scene: Scene | RobotScene) -> None:
        self.scene, self.terms = scene, ContactTerms(scene)
        b, w, c = self.terms.holding, self.terms.width, self.terms.opening
        self._b, self._w, self._rows = b, w, b + w * c
        touches = scene.touches
        self._friction = np.array([t[2].friction for t in touches])
        self._solver = ContactSolver(b, self._friction, w)
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
        self._any_damping = bool(self._damping.any())
        shear = np.array([m.tangential_stiffness for _, m, _ in touches])
        self._gives = np.isfinite(shear)  # along the surface
        self._any_gives = bool(self._gives.any())
        self._shear_stiffness = shear[self._gives]
        self._shear_damping = np.array(
            [m.tangential_damping for _, m, _ in touches if np.isfinite(m.tangential_stiffness)]
        )
        self._any_elastic = bool(self._elastic.any())
        face = [scene.contacts[i].face for i in scene.pushing]
        self._face = np.full((c, 2), np.inf)
        self._face[: len(face)] = np.array(face).reshape(-1, 2)
        # What rolls, or touches what moves, has no place to be brought back to.
        self._stays = np.array([True] * len(face) + [_stays(p) for p in scene.points], dtype=bool)
        self._bounded = bool(np.isfinite(self._face).any())
        self._padded = self._normals[[c for c, _ in scene.pads]]
        self._coulomb = np.array([one.friction for one in self.terms.resisting])
        self.start(scene.model.neutral())

    def start(self, q: Array, v: Array | None = None) -> None:
        """Begin at positions (nq,) and velocities (nv,), zero by default; nothing is pressed."""
        c = self.terms.opening
        self.q = np.array(q, dtype=float)
        self.v = np.zeros(self.scene.model.nv) if v is None else np.array(v, dtype=float)
        self._work, self._of_drives, self._of_joint_friction = np.zeros(self._rows), 0.0, 0.0
        self._of_pads, self.pads = 0.0, np.zeros((len(self._padded), 2))
        self.impacts = np.zeros(c, dtype=int)
        self.pressed, self.slipping = np.zeros(c, dtype=bool), np.zeros(c, dtype=bool)
        self.residual, self.correction = 0.0, 0.0
        self.forces = ContactForces(np.zeros(self._rows), np.zeros(self._rows))
        self._acceleration, self._trusted = np.zeros(len(self.v)), np.inf
        self._anchors = np.zeros((c, 3))  # places where sticking began
        self._anchored = np.zeros(c, dtype=bool)
        # W, c and P of a step, of rows that hold and of contacts that touched.
        self.near = np.full((int(self.terms.seen.sum()), 3), np.nan)
        self._last: tuple[Array, Array, Array, Mask] | None = None
        self._patch = np.zeros(c)  # how deep surfaces with a damper still are [m]
        self._sheared = np.zeros((int(self._gives.sum()), 2))  # x of those that give way [m]
        self._rates = np.zeros(len(self.terms.resisting))  # of hinges and lines that resist
        self._gaining = np.zeros_like(self._rates)  # by how much they change [rad/s^2, m/s^2]
        self.resisted = np.zeros_like(self._rates)
        if self._rates.size:
            self._rates = self.terms.at(self.q, self.v).along @ self.v

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

    def advance(self, h: float, force: Array, friction: Callable[[Array], Array]) -> None:
        """Go on by a step.

        Args:
            h: Its length [s].
            force: On the joints (nv,), held over the step.
            friction: Returns of velocities (nv,) the friction of joints over them (nv,),
                [N m s/rad or N s/m]. A blow within the step changes it.
        """
        left, events = h, 0
        while left > 1e-9 * h and np.abs(self.v).max() < FASTEST:
            drag = friction(self.v)
            length = min(left, self._trusted)
            step = self._attempt(length, force, drag)
            while self._too_long(step, length) and length > 1.01 * h / _SHORTEST:
                length *= 0.5
                step = self._attempt(length, force, drag)
            self._trusted = 2.0 * length
            if events < _MOST_EVENTS:
                if step.arriving.any():
                    self._impact(step.arriving)
                    events += 1
                    continue
                time = self._closing(step, length)
                if time < length:
                    events += 1
                    if time > 0.0:
                        step = self._attempt(time, force, drag)
                        self._accept(step, time, force, drag, smooth=False)
                        left -= time
                        continue
            self._accept(step, length, force, drag, smooth=events == 0)
            left -= length

    def _too_long(self, step: _Step, h: float) -> bool:
        """Return whether motion changes so much within a step that a shorter one is to be tried.

        Bias forces are those of a velocity that was foreseen for the middle of the step. By how
        far the step ends elsewhere than that velocity would lead tells how right they are.
        """
        astray = h * (0.5 * (self.v + step.v) - self.v - 0.5 * h * self._acceleration)
        return not (np.abs(astray).max() <= _ASTRAY)

    def take_forces(self) -> ContactForces:
        """Return forces and impulses, and begin to add up impulses anew."""
        taken = self.forces
        self.forces = ContactForces(taken.force, np.zeros(self._rows))
        return taken

    def correct(self) -> None:
        """Close what holds, is pressed or sticks, by the smallest motion in the metric of H.

        Position errors are the time steps' alone: of third order each where contacts stay as they
        are. Velocities stay. Elastic contacts give way, along the face a little as well.

        A soft finger that sticks does not spin about the normal while it tilts, which constrains
        velocities alone: a turn may come of a closed path of tilts. No angle is restored, and the
        correction does not spin it.
        """
        terms = self.terms.at(self.q, self.v, self.near)
        error, rows = np.zeros(self._rows), np.zeros(self._rows, dtype=bool)
        error[: self._b], rows[: self._b] = terms.error, True
        if self.terms.opening:
            of = error[self._b :].reshape(-1, self._w)
            to = rows[self._b :].reshape(-1, self._w)
            of[:, 0], to[:, 0] = terms.gaps, self.pressed & ~self._elastic
            off = terms.places - self._anchors
            of[:, 1:3] = np.einsum("cij,cj->ci", terms.axes[:, :2], off)
            to[:, 1:] = (self._anchored & ~self._elastic & ~self._gives)[:, None]
        self.correction = 0.0
        if not rows.any() or np.abs(error[rows]).max() <= 1e-15:
            return
        move = _closing_motion(terms, error, rows, _SHIFT)
        large = float(np.abs(move).max()) > _LARGE_CORRECTION
        if large:
            # Contacts that nearly depend on one another ask for large motions for little.
            move = _closing_motion(terms, error, rows, _WEAK_SHIFT)
        self.correction = float(np.abs(move).max())
        self.q = self.terms.move(self.q, move)
        if large and self._b:
            # What holds is closed whatever contacts want.
            terms, rows[self._b :] = self.terms.at(self.q, self.v, self.near), False
            error[: self._b] = terms.error
            self.q = self.terms.move(self.q, _closing_motion(terms, error, rows, _SHIFT))

    def touching(self, terms: StepTerms, gaps: Array) -> Mask:
        """Return which contacts are closed at given distances, and within the face."""
        limit = np.where(self.pressed, STILL_CLOSED, CLOSED)
        near: Mask = np.asarray((gaps <= limit) & (gaps > -DEEP))
        if self._any_elastic:
            near = np.asarray((near & ~self._elastic) | (self._elastic & (gaps < 0.0)))
        if self._bounded:
            near &= self._on_face(terms)
        return near

    def _on_face(self, terms: StepTerms) -> Mask:
        return np.asarray((np.abs(terms.places[:, :2]) <= self._face).all(axis=1))

    def _attempt(self, h: float, force: Array, drag: Array) -> _Step:
        """Return what a step of length h would do."""
        step = self._resisted_by(self._rub(self._rates + h * self._gaining), h, force, drag)
        for _ in range(_PASSES if self._coulomb.any() else 0):
            rates = step.terms.along @ step.v
            rub = self._rub(rates)
            if (np.abs((rub - step.rub) * rates) <= _OFF_COULOMB * self._coulomb).all():
                break
            step = self._resisted_by(rub, h, force, drag)
        return step

    def _rub(self, rates: Array) -> Array:
        """Return what hinges and lines resist with, over their rates (g,)."""
        pairs = zip(self.terms.resisting, rates.tolist(), strict=True)
        return np.array([one.drag(rate) for one, rate in pairs])

    def _resisted_by(self, rub: Array, h: float, force: Array, drag: Array) -> _Step:
        """Return what a step would do where hinges and lines resist with `rub` (g,)."""
        at_v = self.v + 0.5 * h * self._acceleration
        pressed = self.forces.force[self._padded] if self._padded.size else None
        terms = self.terms(self.q, self.v, at_v, force, drag, h, rub, pressed, self.near)
        J, HJ, before, c = terms.J, terms.HJ, terms.before, terms.after
        W = J @ HJ.T
        # What holds does so in the mean of the step, and takes no energy from it.
        c[: self._b] += before[: self._b]
        normal_before = before[self._normals]
        gaps = terms.gaps - 0.5 * h * normal_before  # at the start
        touching = self.touching(terms, gaps)
        # A contact that pushed in the last step does not arrive: it only slides on.
        arriving = touching & ~self.pressed & ~self._elastic & (normal_before < 0.0)
        if self._any_elastic:
            touching = self._press_elastic(W, c, terms, normal_before, touching, h)
        if self._any_gives:
            self._shear(W, c, h)
        found = self._solver.solve(W, c, self.forces.force * h, touching)
        free = terms.free + HJ.T @ found.P
        after = J @ free
        return _Step(terms, found, before, after, free, gaps, touching, arriving, rub, W, c)

    def _press_elastic(
        self, W: Array, c: Array, terms: StepTerms, before: Array, touching: Mask, h: float
    ) -> Mask:
        """Make rows of elastic normals: u + P / slope - start / slope = 0 where they push."""
        depth = np.maximum(-terms.gaps, 0.0)
        pressing = self._elastic & (depth > 0.0)
        if self._bounded:
            pressing &= self._on_face(terms)
        if self._any_damping:
            # A patch that is still deeper than the body does not touch it.
            left = relaxed(self._stiffness, self._damping, self._patch, 0.5 * h)
            pressing &= self.pressed | (depth > left)
        if pressing.any():
            K, d = self._stiffness[pressing], depth[pressing]
            damping = K * d * self._loss[pressing] + self._damping[pressing]
            law = normal_step(K, damping, d, -before[pressing], h)
            at = self._normals[pressing]
            W[at, at] += 1.0 / law.slope
            c[at] -= law.start / law.slope
            # A stiff spring along the face: u + R (P - P of the step before) = 0 while it sticks.
            at = self._normals[pressing & ~self._gives]
            for i in range(1, self._w):
                R = _SHEAR * W[at + i, at + i]
                W[at + i, at + i] += R
                c[at + i] -= R * h * self.forces.force[at + i]
        return np.where(self._elastic, pressing, touching)

    def _shear(self, W: Array, c: Array, h: float) -> None:
        """Make rows of patches that give way along the surface: u + (P - start) / slope = 0."""
        law = tangential_step(self._shear_stiffness, self._shear_damping, self._sheared, h)
        at = self._normals[self._gives]
        for i in (1, 2):
            W[at + i, at + i] += 1.0 / law.slope
            c[at + i] -= law.start[:, i - 1] / law.slope

    def _relax(self, step: _Step, h: float) -> None:
        """Move the patches of soft surfaces along with what touches them."""
        if self._any_damping:
            speed = -0.5 * h * step.after[self._normals]
            depth = np.maximum(speed - step.terms.gaps, 0.0)
            left = relaxed(self._stiffness, self._damping, self._patch, h)
            self._patch = np.where(step.found.pressed & (self._damping > 0.0), depth, left)
        if self._any_gives:
            rows = self._normals[self._gives]
            force = np.stack([step.found.P[rows + 1], step.found.P[rows + 2]], axis=1) / h
            self._sheared = displaced(
                self._shear_stiffness, self._shear_damping, self._sheared, force, h
            )

    def _closing(self, step: _Step, h: float) -> float:
        """Return when the first rigid contact closes within a step; h if none does."""
        if not len(self._normals):
            return h
        open_ = (step.gaps > CLOSED) & ~self._elastic & ~self.pressed
        if not open_.any():
            return h
        u0, u1 = step.before[self._normals], step.after[self._normals]
        closing = open_ & (step.gaps + 0.5 * h * (u0 + u1) < 0.0)
        if self._bounded:
            closing &= self._on_face(step.terms)
        first = h
        for i in np.flatnonzero(closing):
            # gap + u0 t + (u1 - u0) t^2 / (2 h) = 0: the smallest root, without cancellation.
            a, b, g = (u1[i] - u0[i]) / (2.0 * h), u0[i], step.gaps[i]
            root = np.sqrt(max(b * b - 4.0 * a * g, 0.0))
            time = 2.0 * g / (root - b) if root > b else h
            first = min(first, float(time))
        return first

    def _accept(self, step: _Step, h: float, force: Array, drag: Array, *, smooth: bool) -> None:
        self.q = self.terms.move(step.terms.q, 0.5 * h * step.v)
        mean = 0.5 * (self.v + step.v)
        self._of_drives += h * float(force @ mean)
        self._of_joint_friction -= h * float((drag * step.v) @ mean)
        if self._padded.size:
            self.pads = step.terms.pads
            self._of_pads += h * float(step.terms.pad_force @ mean)
        if self._rates.size:
            along = step.terms.along
            self._rates, self._gaining = along @ step.v, along @ (step.v - self.v) / h
            self.resisted = -step.rub * self._rates
            self._of_joint_friction += h * float(self.resisted @ (along @ mean))
        self._account(step.found, step.before, step.after)
        # For the next step's bias forces, unless contacts have just changed: then none is known.
        smooth = smooth and bool((step.found.pressed == self.pressed).all())
        self._acceleration = (step.v - self.v) / h if smooth else np.zeros(len(self.v))
        self.v = step.v
        self.forces = ContactForces(step.found.P / h, self.forces.impulse)
        if self._any_elastic:
            arrived = self._elastic & step.found.pressed & ~self.pressed
            self.impacts += arrived & (step.before[self._normals] < -SLOW)
        self._last = (step.W, step.c, step.found.P, step.touching)
        self._relax(step, h)
        self.pressed, self.slipping = step.found.pressed, step.found.slipping
        if self.slipping.any():
            along = step.after[self._b :].reshape(-1, self._w)[:, 1:]
            self.slipping = self.slipping & (np.abs(along).max(axis=1) > NO_SLIP)
        if len(self.near):
            there = np.isfinite(step.terms.gaps[:, None])
            self.near = np.where(there, step.terms.places, np.nan)[self.terms.seen]
        self._anchor(step.terms)

    def _impact(self, arriving: Mask) -> None:
        """Change velocities by the impact of contacts that arrive; no time passes."""
        terms = self.terms.at(self.q, self.v, self.near)
        J, HJ, before, c = terms.J, terms.HJ, terms.before, terms.after
        speed = np.where(arriving, -before[self._normals], 0.0)
        bounce = np.where(speed > SLOW, self._restitution * speed, 0.0)
        closed = (self.touching(terms, terms.gaps) | arriving) & ~self._elastic
        W, rest_impulse = J @ HJ.T, np.zeros(self._rows)
        wanted = c.copy()
        wanted[self._normals] -= bounce
        found = self._solver.solve(W, wanted, rest_impulse, closed)
        if bounce.any() and (gain := _energy_gained(W, c, before, found.P)) > 0.0:
            # With friction Newton's restitution may give energy. The part of it that leaves the
            # energy as it was is between that and none, which never gives any.
            plain = self._solver.solve(W, c, rest_impulse, closed)
            found = found._replace(P=_without_gain(W, c, before, plain.P, found.P, gain))
        self.v = self.v + HJ.T @ found.P
        self._rates, self._gaining = terms.along @ self.v, np.zeros_like(self._rates)
        self._account(found, before, J @ self.v)
        self.impacts += speed > SLOW
        self.forces = self.forces._replace(impulse=self.forces.impulse + found.P)
        # What did not bounce is closed from now on.
        self.pressed = self.pressed | (arriving & (speed <= SLOW) | arriving & found.pressed)

    def _account(self, found: Impulses, before: Array, after: Array) -> None:
        self.residual = max(self.residual, found.residual)
        self._work += found.P * (before + after)

    def residuals(self) -> Residuals:
        """Return how well the impulses of the last step meet the laws of contact."""
        if self._last is None:
            return Residuals(0.0, 0.0, 0.0, 0.0, 0.0)
        W, c, P, touching = self._last
        # What is still on its way to a surface may close.
        rows = np.concatenate([np.ones(self._b, dtype=bool), np.repeat(touching, self._w)])
        friction = self._friction[touching]
        return residuals(W[np.ix_(rows, rows)], c[rows], P[rows], friction, self._b, self._w)

    @property
    def books(self) -> EnergyBooks:
        """Where energy went since the start."""
        work, b = 0.5 * self._work, self._b
        normal = work[self._normals]
        return EnergyBooks(
            drives=self._of_drives,
            joint_friction=self._of_joint_friction,
            contact_friction=float(work[b:].sum() - normal.sum()),
            impacts=float(normal[~self._elastic].sum()),
            elastic=float(normal[self._elastic].sum()) + self._of_pads,
            holding=float(work[:b].sum()),
        )

    def _anchor(self, terms: StepTerms) -> None:
        """Remember where contacts began to stick."""
        sticking = self.pressed & ~self.slipping & self._stays
        if (sticking == self._anchored).all():
            return
        new = sticking & ~self._anchored
        self._anchors[new] = terms.places[new]
        self._anchored = sticking


def _stays(point: PlacedPoint | Inequality | SeenPoint) -> bool:
    """Return whether a point that sticks stays where it is in the world."""
    if not isinstance(point, PlacedPoint) or point.base != WORLD:
        return False
    return point.radius == 0.0 and point.shape is None


def _closing_motion(terms: StepTerms, error: Array, rows: Mask, shift: float) -> Array:
    """Return the smallest motion (nv,) in the metric of H that takes errors of some rows away."""
    J, HJ = terms.J[rows], terms.HJ[rows]
    W = J @ HJ.T
    W.flat[:: len(W) + 1] += shift * np.trace(W) / len(W)
    return np.asarray(-HJ.T @ np.linalg.solve(W, error[rows]))


def _energy_gained(W: Array, c: Array, before: Array, P: Array) -> float:
    """Return by how much impulses change the kinetic energy [J]: P (u- + u+) / 2."""
    return 0.5 * float(P @ (before + W @ P + c))


def _without_gain(W: Array, c: Array, before: Array, plain: Array, P: Array, gain: float) -> Array:
    """Return the impulses nearest to P, between the plain ones and P, that give no energy.

    The energy is a quadratic function of the way s between them: gain = a s^2 + b s - loss.
    """
    loss = -_energy_gained(W, c, before, plain)
    way = P - plain
    a = 0.5 * float(way @ W @ way)
    b = gain + loss - a
    s = 2.0 * loss / (b + np.sqrt(b * b + 4.0 * a * loss)) if loss > 0.0 else 0.0
    return plain + s * way


class _Step(NamedTuple):
    """A step that was tried: contact velocities `before` and `after`, gaps at its start.

    Hinges and lines resisted with `rub` over their rates at its end; `W` and `c` are those of the
    laws that the impulses met.
    """

    terms: StepTerms
    found: Impulses
    before: Array
    after: Array
    v: Array
    gaps: Array
    touching: Mask
    arriving: Mask
    rub: Array
    W: Array
    c: Array
