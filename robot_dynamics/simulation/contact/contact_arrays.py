# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Records of a time step: laws of contacts, variables that last, and the step that is tried.

Sizes: nq positions, nv velocities; m rows of relative velocities, of which b hold, then w of each
of c contacts; e contacts that give way along their surfaces; s points of shapes; p pads of
fingers; g groups of bodies, see `Groups`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.routine import Indices, Mask, Matrix, MutableRecord, Vector
from robot_dynamics.contact.material import dissipation
from robot_dynamics.contact.points import Inequality, PlacedPoint
from robot_dynamics.contact.shapes import SeenPoint
from robot_dynamics.contact.soft import ContactSprings, springs_of
from robot_dynamics.contact.solver import ContactProblem, LawError
from robot_dynamics.model import WORLD
from robot_dynamics.simulation.contact.groups import Groups
from robot_dynamics.simulation.contact.terms import SceneTerms, StepTerms

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
    """Indices of rows; holding rows come first."""

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
    padded: Indices  #: Rows of the normals of contacts with pads (p,).
    held_group: int  #: Group of the object that pads push.


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
        padded=np.array([terms.holding + terms.width * c for c, _ in scene.pads], dtype=np.int64),
        held_group=int(terms.groups.of_velocity[scene.system.object_v][0]) if scene.pads else 0,
    )


def _stays(point: PlacedPoint | Inequality | SeenPoint) -> bool:
    """Return whether a sticking point stays at its place in the world."""
    if not isinstance(point, PlacedPoint) or point.base != WORLD:
        return False
    return point.radius == 0.0 and point.shape is None


class ContactMemory(MutableRecord):
    """Forces and modes of the contacts, and where they stick."""

    #: Which of the rows that hold exert nothing, because their grasps are open (b,).
    loose: Mask
    rest: Vector  #: Errors at which rows hold, of grasps that closed beside their places (b,).
    force: Vector  #: At all rows over the last step (m,) [N].
    impulse: Vector  #: At all rows since forces were taken, impacts included (m,) [N s].
    pressed: Mask  #: Which contacts push (c,).
    slipping: Mask  #: Which of these slip (c,).
    impacts: Indices  #: Number of impacts at each contact (c,).
    anchors: Matrix  #: Places where sticking began (c, 3) [m].
    anchored: Mask  #: Which contacts stick, and have such a place (c,).
    #: Places of points of shapes in the last step (s, 3) [m], NaN without a point.
    near: Matrix
    #: Moments of pads on the object over the last step (p, 2) [N m], about x and y of their
    #: contacts.
    pads: Matrix


class RowMotion(MutableRecord):
    """Turning and swing of rows in the last step, for laws in the mean of the next one."""

    leaving: Vector  #: Velocities of rows at its end (m,) [m/s].
    slowing: Vector  #: By how much slip changed within it (c,) [m/s].
    fresh: bool  #: Whether `leaving` was taken where the next step begins.
    bending: Vector  #: s of its laws, u+ + s, over its length (m,) [m/s^2].
    swing: Vector  #: By how much its u- was off that of the step before (m,) [m/s].


class Prediction(MutableRecord):
    """Acceleration of a step and its prediction, with which bias forces are evaluated."""

    acceleration: Vector  #: Of the last step (nv,) [m/s^2, rad/s^2].
    foreseen: Vector  #: Of the next step, as predicted (nv,) [m/s^2, rad/s^2].
    known: Mask  #: Whether it is predicted (nv,).


class SoftSurfaces(MutableRecord):
    """Patches of soft surfaces."""

    patch: Vector  #: How deep those with a damper still are (c,) [m].
    used: Vector  #: K as steps resolve it, kept while something is stored (c,) [N/m].
    sheared: Matrix  #: Tangential displacement (e, 3) [m], in the coordinates of their bodies.


class EnergyAccount(MutableRecord):
    """Work since the start, and energy and momentum of groups at the last energy balance."""

    work: Vector  #: Twice the work on each row since the start (m,) [J].
    drives: Vector  #: Work of joint forces since the start (g,) [J].
    friction: Vector  #: Work of the friction of joints since the start (g,) [J].
    pads: Vector  #: Work of pads since the start (g,) [J].
    given: Matrix  #: Momentum that forces gave since the balance (g, 3) [N s].
    touched: Mask  #: Which contacts pushed since the balance (c,).
    energy: Vector  #: Energy at the balance (g,) [J].
    active: Vector  #: Work that may be positive, until the balance (g,) [J].
    lost: Vector  #: Loss in contacts until the balance (g,) [J].
    #: Momentum in the world at the balance (g, 3) [N s]; not a number where nothing was free to
    #: move as a whole.
    momentum: Matrix


class StepState(MutableRecord):
    """Variables from step to step, on which the next step depends."""

    q: Vector  #: Positions (nq,).
    v: Vector  #: Velocities (nv,) [m/s, rad/s].
    contacts: ContactMemory
    turning: RowMotion
    prediction: Prediction
    surfaces: SoftSurfaces
    account: EnergyAccount
    error: LawError  #: The largest since the start.
    correction: float  #: Size of the last correction of positions [m or rad].
    crowded: bool  #: Whether there were so many impacts in a step that some did not bounce.
    trusted: float  #: The longest step to be tried next [s].

    def begin(self, q: Vector, v: Vector, laws: ContactLaws) -> None:
        """Begin at positions (nq,) and velocities (nv,); all is zero before."""
        self.q[:], self.v[:] = q, v
        self.contacts.near[:], self.surfaces.used[:] = np.nan, laws.stiffness
        self.turning.slowing[:] = np.inf
        self.turning.fresh, self.trusted = True, np.inf


class AppliedForces(MutableRecord):
    """Forces of a step except contact forces."""

    force: Vector  #: On the joints (nv,) [N m or N].
    drag: Vector  #: Friction of joints over their velocities (nv,) [N m s/rad or N s/m].
    pressing: Vector  #: Normal forces of pads (p,) [N].


class StepStart(MutableRecord):
    """Contacts at the start of a step."""

    gaps: Vector  #: (c,) [m].
    within: Mask  #: Which contacts are on their faces (c,).
    arriving: Mask  #: Which close with a speed (c,).
    offset: Vector  #: s of the laws of u+ + s (m,) [m/s].


class StepEnd(MutableRecord):
    """The end of a step with the impulses that were found."""

    v: Vector  #: Velocities (nv,) [m/s, rad/s].
    rows: Vector  #: Those of rows (m,) [m/s].
    fastest: float  #: The largest velocity [m/s, rad/s].
    astray: float  #: How far it is from where the bias forces were taken [m, rad].
    #: When the first rigid contact closes, or joint with friction stops [s]; the step's length if
    #: none does.
    closing: float
    pushed: Mask  #: Which groups something pushes (g,).
    lost: bool  #: Whether contacts could not push.


class StepTrial(MutableRecord):
    """A step that is tried, written anew each time."""

    h: float  #: Its length [s].
    half: float  #: Half of it [s].
    whole: float  #: Length of the step that is not divided [s].
    most: int  #: Number of such steps that are taken at once at most.
    smooth: bool  #: Whether nothing happened within the whole step before.
    applied: AppliedForces
    start: StepStart
    springs: ContactSprings
    end: StepEnd


class StepRecords(NamedTuple):
    """The records of a step."""

    terms: StepTerms
    state: StepState
    laws: ContactLaws
    rows: Rows
    groups: Groups
    trial: StepTrial
    problem: ContactProblem


def step_of(scene_terms: SceneTerms, terms: StepTerms, problem: ContactProblem) -> StepRecords:
    """Return the records of a scene's steps.

    Args:
        scene_terms: Terms of the scene.
        terms: Their arrays.
        problem: The contact problem.
    """
    laws, scene = laws_of(scene_terms), scene_terms.scene
    rows = Rows(scene_terms.holding, scene_terms.width)
    nq, nv, c, e = scene.model.nq, scene.model.nv, scene_terms.opening, len(laws.shear_stiffness)
    m, s, p = rows.holding + rows.width * c, len(laws.shown), len(scene.pads)
    g = len(scene_terms.groups.mass)
    state = StepState(
        q=nq,
        v=nv,
        contacts=ContactMemory(
            loose=rows.holding, rest=rows.holding, force=m, impulse=m, pressed=c, slipping=c,
            impacts=c, anchors=(c, 3), anchored=c, near=(s, 3), pads=(p, 2),
        ),
        turning=RowMotion(leaving=m, slowing=c, bending=m, swing=m),
        prediction=Prediction(acceleration=nv, foreseen=nv, known=nv),
        surfaces=SoftSurfaces(patch=c, used=c, sheared=(e, 3)),
        account=EnergyAccount(
            work=m, drives=g, friction=g, pads=g, given=(g, 3), touched=c, energy=g, active=g,
            lost=g, momentum=(g, 3),
        ),
        error=LawError(),
    )  # fmt: skip
    trial = StepTrial(
        applied=AppliedForces(force=nv, drag=nv, pressing=p),
        start=StepStart(gaps=c, within=c, arriving=c, offset=m),
        springs=springs_of(c, e),
        end=StepEnd(v=nv, rows=m, pushed=g),
    )
    return StepRecords(terms, state, laws, rows, scene_terms.groups, trial, problem)
