# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a time step: laws of contacts, variables that last, and the step that is tried.

Sizes: nq positions, nv velocities; m rows of relative velocities, of which b hold, then w of each
of c contacts; e contacts that give way along their surfaces; s points of shapes; p pads of
fingers; g groups of bodies, see `Groups`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.routine import Indices, Mask, Matrix, Vector, new_record
from robot_dynamics.contact.material import dissipation
from robot_dynamics.contact.points import Inequality, PlacedPoint
from robot_dynamics.contact.shapes import SeenPoint
from robot_dynamics.model import WORLD
from robot_dynamics.simulation.contact.terms import SceneTerms

#: A rigid contact this near [m] is closed.
CLOSED = 1e-7
#: Largest distance of a contact that pushed in the last step [m]; sliding on curved faces causes
#: it.
STILL_CLOSED = 1e-4
#: Slip below this [m/s, or scaled spin] counts as zero: of corners that share a load some can be
#: at the limit of friction while the face sticks.
NO_SLIP = 1e-9
#: Impacts slower than this [m/s] do not bounce and are not counted.
SLOW = 1e-3
#: Speed [m/s, rad/s] above which the motion counts as unbounded.
FASTEST = 1e6
#: A point deeper than this [m] has come from beside the face or the surface: it is not in contact.
#: At the start this is an error.
DEEP = 1e-3


class Rows(NamedTuple):
    """Where rows are: those that hold come first."""

    holding: int  #: Number of rows that hold, b.
    width: int  #: Rows of each contact, w: its normal, tangents, and spin or not.


class ContactLaws(NamedTuple):
    """Laws of the contacts, independent of the mechanism."""

    #: Largest forces of rows that hold (b,) [N, N m]: infinite, or Coulomb friction.
    bound: Vector
    drag: Vector  #: Damping of hinges and lines along their rows (b,) [N s/m, N m s/rad].
    friction: Vector  #: mu (c,).
    restitution: Vector  #: e of rigid ones (c,).
    elastic: Mask  #: Which give way along their normals (c,).
    stiffness: Vector  #: K of these (c,) [N/m].
    damping: Vector  #: D of these (c,) [N s/m].
    loss: Vector  #: D of Hunt and Crossley's contacts, over K d (c,) [s/m].
    gives: Mask  #: Which give way along their surfaces (c,).
    shear_stiffness: Vector  #: K_t of these (e,) [N/m].
    shear_damping: Vector  #: D_t of these (e,) [N s/m].
    face: Matrix  #: Half the sizes of faces (c, 2) [m].
    deep: Vector  #: Down to which depth these push if they are rigid (c,) [m].
    #: Contacts with a place in the world to which they can return (c,): not those that roll, or
    #: touch moving bodies.
    stays: Mask
    shown: Indices  #: Which are points of shapes (s,).


def laws_of(terms: SceneTerms) -> ContactLaws:
    """Return the laws of a scene's contacts."""
    scene = terms.scene
    materials = [material for _, material, _ in scene.touches]
    elastic = np.array([m.elastic for m in materials], dtype=bool)
    shear = np.array([m.tangential_stiffness for m in materials])
    gives = np.isfinite(shear)
    faces = [scene.contacts[i].face for i in scene.pushing]
    face, deep = np.full((len(materials), 2), np.inf), np.full(len(materials), DEEP)
    face[: len(faces)] = np.array(faces).reshape(-1, 2)
    # Points of shapes and of round bodies count as touching at any depth.
    round_ = [isinstance(p, PlacedPoint) and p.shape is not None for p in scene.points]
    deep[len(faces) :][terms.seen | np.array(round_, dtype=bool)] = np.inf
    return ContactLaws(
        bound=np.array(
            [
                *[np.inf] * terms.closing,
                *terms.rubbing.values(),
                *(one.friction for one in terms.resisting),
            ]
        ),
        drag=np.array(
            [0.0] * (terms.holding - len(terms.resisting))
            + [one.damping for one in terms.resisting]
        ),
        friction=np.array([cone.friction for _, _, cone in scene.touches]),
        restitution=np.array([m.restitution for m in materials]),
        elastic=elastic,
        stiffness=np.array([m.stiffness if m.elastic else 0.0 for m in materials]),
        damping=np.array([m.damping if m.elastic else 0.0 for m in materials]),
        loss=np.array(
            [
                dissipation(m.restitution, m.speed) if m.elastic and not m.damping else 0.0
                for m in materials
            ]
        ),
        gives=gives,
        shear_stiffness=shear[gives],
        shear_damping=np.array([m.tangential_damping for m in materials])[gives],
        face=face,
        deep=deep,
        stays=np.array([True] * len(faces) + [_stays(p) for p in scene.points], dtype=bool),
        shown=np.flatnonzero(terms.seen),
    )


def _stays(point: PlacedPoint | Inequality | SeenPoint) -> bool:
    """Return whether a sticking point stays at its place in the world."""
    if not isinstance(point, PlacedPoint) or point.base != WORLD:
        return False
    return point.radius == 0.0 and point.shape is None


class StepState(NamedTuple):
    """Variables from step to step, on which the next step depends."""

    q: Vector  #: Positions (nq,).
    v: Vector  #: Velocities (nv,) [m/s, rad/s].
    force: Vector  #: At all rows over the last step (m,) [N].
    impulse: Vector  #: At all rows since forces were taken, impacts included (m,) [N s].
    pressed: Mask  #: Which contacts push (c,).
    slipping: Mask  #: Which of these slip (c,).
    impacts: Indices  #: Number of impacts at each contact (c,).
    #: Places of points of shapes in the last step (s, 3) [m], NaN without a point.
    near: Matrix
    #: Moments of pads on the object over the last step (p, 2) [N m], about x and y of their
    #: contacts.
    pads: Matrix
    acceleration: Vector  #: Of the last step (nv,) [m/s^2, rad/s^2].
    foreseen: Vector  #: What it says of that of the next step (nv,), likewise.
    known: Mask  #: Whether it says anything (nv,).
    leaving: Vector  #: Velocities of rows at the end of the last step (m,) [m/s].
    slowing: Vector  #: By how much slip changed within it (c,) [m/s].
    fresh: Mask  #: Whether `leaving` was taken where the next step begins (1,).
    bending: Vector  #: s of the laws of the last step, u+ + s, over its length (m,) [m/s^2].
    swing: Vector  #: By how much u- was off that of the step before (m,) [m/s].
    anchors: Matrix  #: Places where sticking began (c, 3) [m].
    anchored: Mask  #: Which contacts stick, and have such a place (c,).
    patch: Vector  #: How deep surfaces with a damper still are (c,) [m].
    used: Vector  #: K as steps resolve it, kept while something is stored (c,) [N/m].
    #: Tangential displacement of surfaces (e, 3) [m], in the coordinates of their bodies.
    sheared: Matrix
    touched: Mask  #: Which contacts pushed since energy was looked at (c,).
    work: Vector  #: Twice the work on each row since the start (m,) [J].
    #: Work on groups of drives, of the friction of joints, and of pads since the start [J], and
    #: the momentum that forces gave since energy was looked at [N s] (g, 6).
    totals: Matrix
    #: Energy of groups, work that may be positive, what contacts lost [J], and momentum in the
    #: world [N s] when energy was looked at (g, 6); the latter is not a number where nothing was
    #: free to move as a whole.
    account: Matrix
    #: The largest errors of the contact laws since the start (2,); see `ContactProblem.error`.
    residual: Vector

    def clear(self, q: Vector, v: Vector | None, laws: ContactLaws) -> None:
        """Begin at positions (nq,) and velocities (nv,), by default zero, without forces."""
        there = np.array(q), 0.0 if v is None else np.array(v)
        for array in self:
            array[...] = 0
        self.q[:], self.v[:] = there
        self.near[:], self.used[:] = np.nan, laws.stiffness
        self.slowing[:] = np.inf
        self.fresh[:] = True


class Attempt(NamedTuple):
    """A step that is tried, written anew each time."""

    h: Vector  #: Its length (1,) [s].
    whole: Vector  #: That of the step that is not divided (1,) [s].
    half: Vector  #: Half of the length (1,) [s].
    most: Indices  #: Number of such steps that are taken at once at most (1,).
    smooth: Mask  #: Whether nothing happened within the whole step before (1,).
    force: Vector  #: On the joints (nv,) [N m or N].
    drag: Vector  #: Friction of joints over their velocities (nv,) [N m s/rad or N s/m].
    pressing: Vector  #: Normal forces of pads (p,) [N].
    gaps: Vector  #: At its start (c,) [m].
    within: Mask  #: Which contacts are on their faces (c,).
    arriving: Mask  #: Which close with a speed (c,).
    offset: Vector  #: s of the laws of u+ + s (m,) [m/s].
    springs: Matrix  #: Laws of elastic contacts (c, 10), see `normal_impulse`.
    left: Vector  #: Part of a displacement of their surfaces that is left after half of it (c,).
    shear: Matrix  #: Displacements along tangents (e, 2) [m].
    anew: Mask  #: Whether velocities of elastic contacts are sought without bounds (1,).
    missed: Mask  #: Whether impulses miss their laws (1,).
    end: Vector  #: Velocities at its end (nv,) [m/s, rad/s].
    after: Vector  #: Those of rows (m,) [m/s].
    fastest: Vector  #: The largest of them (1,) [m/s, rad/s].
    astray: Vector  #: How far it ends from where its bias forces were taken (1,) [m, rad].
    #: When the first rigid contact closes or joint with friction stops (1,) [s]; the length if
    #: none does.
    closing: Vector
    pushed: Mask  #: Which groups something pushes (g,).
    lost: Mask  #: Whether contacts could not push (1,).


def records_of(terms: SceneTerms, laws: ContactLaws) -> tuple[StepState, Attempt]:
    """Return the state of a scene, and a trial."""
    scene, rows = terms.scene, terms.holding + terms.width * terms.opening
    nq, nv, c, e = scene.model.nq, scene.model.nv, terms.opening, len(laws.shear_stiffness)
    s, p, g = len(laws.shown), len(scene.pads), len(terms.groups.mass)
    state = new_record(
        StepState, q=nq, v=nv, force=rows, impulse=rows, pressed=c, slipping=c, impacts=c,
        near=(s, 3), pads=(p, 2), acceleration=nv, foreseen=nv, known=nv, leaving=rows, slowing=c,
        fresh=1, bending=rows, swing=rows, anchors=(c, 3), anchored=c, patch=c, used=c,
        sheared=(e, 3), touched=c, work=rows, totals=(g, 6), account=(g, 6), residual=2,
    )  # fmt: skip
    trial = new_record(
        Attempt, h=1, whole=1, half=1, most=1, smooth=1, force=nv, drag=nv, pressing=p, gaps=c,
        within=c, arriving=c, offset=rows, springs=(c, 10), left=c, shear=(e, 2), anew=1,
        missed=1, end=nv, after=rows, fastest=1, astray=1, closing=1, pushed=g, lost=1,
    )  # fmt: skip
    return state, trial
