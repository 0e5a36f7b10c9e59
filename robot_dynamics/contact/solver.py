# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact impulses of one step: Signorini's and Coulomb's laws on the Delassus matrix.

With u = W P + c the relative velocities after the step and P the impulses,

    rows that hold:   u = 0, or |P| <= b: u = 0 within these bounds, against P on them
    normals:          0 <= P_n,  u_n >= 0,  u_n P_n = 0
    tangents:         |P_t| <= mu P_n; u_t = 0 within the disc, against P_t on its edge.

With r = 1 / diag(W) and the trial impulses y = P - r u (Alart and Curnier, 1991) these are
equations with kinks,

    rows that hold:   F = r u, or F = P - min(max(y, -b), b)
    normals:          F = P_n - max(y_n, 0)
    tangents:         F = P_t - y_t min(1, mu max(y_n, 0) / |y_t|)

which are zero exactly if the laws are satisfied. All directions of a disc have one r, the
smallest. Pyramids of four sides, on request, have a separate law for each direction,

    |P_k| <= mu P_n;  F = P_k - min(max(y_k, -mu max(y_n, 0)), mu max(y_n, 0)),

so that impulses reach sqrt(2) mu P_n at the corners. A semi-smooth Newton method solves them. It
ends exactly, after one or two linear systems if it starts from the impulses of the last step;
steps that do not reduce F are shortened. If it does not converge, sweeps over the contacts
(projected block Gauss-Seidel) improve the start. If these do not help, for example with high
friction between very different masses, Newton's method continues with other r, drawn over many
decades: solutions do not depend on r, but local minima of |F| do.

With W = J H^-1 J^T + R, of compliances R, a slope of the equations is N + A r J H^-1 J^T. A is the
slope of the projection, and N = 1 - A + A r R has one block for each contact. A Newton step is

    (H + J^T B J) z = -J^T g,   dP = -(g + B J z),   B = N^-1 A r,   g = N^-1 F,

a linear system of the size of the velocities, however many contacts there are.

In terms of cones: with the velocity u' = (u_n + mu |u_t|, u_t), P is in the friction cone, u' in
its dual, and P . u' = 0 (de Saxce). This complementarity of cones differs from that of a quadratic
program, which would lift sliding bodies. `residuals` returns the errors of impulses, and
`pyramid_impulses` solves the same problem with pyramids of any number of sides, by another method.

Dependent rows, such as those of four corners of one face, do not determine the impulses. W is then
singular; a shift of R, only in the slopes, selects impulses near the initial ones.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import (
    Mask,
    Matrix,
    MutableRecord,
    Vector,
    new_record,
    routine,
    zeros,
)
from robot_dynamics.contact.complementarity import copositive_complementarity
from robot_dynamics.contact.dense import (
    add_squares,
    along_row,
    factorise,
    factorise_symmetric,
    larger,
    product,
    slope_row,
    substitute,
    substitute_symmetric,
)
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError

#: Friction cones: round ones, or pyramids |P_k| <= mu P_n along each tangent.
Cone = Literal["round", "pyramid"]
CONES = ("round", "pyramid")
#: Shift of R in slopes, as a share of the mean diagonal of W. With dependent rows, rounding along
#: undetermined impulses would otherwise turn tangential ones from system to system.
SHIFT = 1e-7
_TINY = 1e-300
_INFINITE = float("inf")
#: Largest error, as a share of the largest impulse.
TOLERANCE = 1e-11
_NEWTON = 20  # linear systems before sweeps are asked
_SHORTEST = 0.01  # part of a Newton step
_SWEEPS = 60
_ROUNDS = 4
# Number of trials with other r: a few are enough if masses differ by 1e6 and mu is above one.
_RESTARTS = 500
_AFRESH = 8  # one of so many begins at other impulses, the others at those of the one before
_ENOUGH = 1e-7  # part of the largest impulse that is no reason to try them
_NEAR = 1e-6  # F that the r of before bring to zero


class Residuals(NamedTuple):
    """Errors of the laws of contact: zero if impulses satisfy them.

    Attributes:
        separation: Largest speed of penetration [m/s].
        cone: Largest excess of a tangential impulse over its cone, or of a pulling normal one [N
            s].
        complementarity: The largest P_n u_n of a contact [J].
        dissipation: Largest `P_t . u_t + mu P_n |u_t|` [J]: the dissipation missing during slip.
        holding: Largest velocity of rows that hold [m/s].
    """

    separation: float
    cone: float
    complementarity: float
    dissipation: float
    holding: float


def residuals(
    u: Array,
    P: Array,
    friction: Array,
    holding: int = 0,
    width: int = 3,
    cone: Cone = "round",
) -> Residuals:
    """Return the errors of impulses in the laws.

    Args:
        u: Velocities with the impulses, W P + c (b + w c,).
        P: Impulses (b + w c,).
        friction: mu of each contact (c,).
        holding: Number of rows that hold, b.
        width: Rows of each contact, w.
        cone: "round", or "pyramid": then the size of an impulse is its largest component, and the
            size of slip the sum of both.
    """
    of_u, of_P = u[holding:].reshape(-1, width), P[holding:].reshape(-1, width)
    pyramid = cone_is_pyramid(cone)
    normal, slip = of_P[:, 0], np.linalg.norm(of_u[:, 1:], ord=1 if pyramid else 2, axis=1)
    size = np.linalg.norm(of_P[:, 1:], ord=np.inf if pyramid else 2, axis=1)
    work = np.einsum("ci,ci->c", of_P[:, 1:], of_u[:, 1:]) + friction * normal * slip

    def largest(values: Array) -> float:
        return float(np.max(values, initial=0.0))

    return Residuals(
        largest(-of_u[:, 0]),
        max(largest(size - friction * np.maximum(normal, 0.0)), largest(-normal)),
        largest(np.abs(normal * of_u[:, 0])),
        largest(np.abs(work)),
        largest(np.abs(u[:holding])),
    )


def cone_is_pyramid(cone: str) -> bool:
    """Return whether a cone is a pyramid.

    Raises:
        UnknownNameError: If it is neither a pyramid nor round.
    """
    if cone not in CONES:
        raise UnknownNameError("cone", str(cone), CONES)
    return cone == "pyramid"


def pyramid_impulses(
    W: Array, c: Array, friction: Array, sides: int = 16, holding: int = 0
) -> Array:
    """Return impulses (b + 3 c,) with pyramids within the cones, by Lemke's method.

    The complementarity problem of Stewart and Trinkle (1996), for comparison and for problems of
    few contacts: it needs no start and is exact for its pyramids, whose tangential impulses are
    up to 1 - cos(pi / sides) too small, and directions as far off as half a side. Four sides are
    `|P_1| + |P_2| <= mu P_n`; turned by 45 degrees, with sqrt(2) mu, they are the `cone="pyramid"`
    of time steps.

    Args:
        W: (b + 3 c, b + 3 c), rows that hold independent of each other.
        c: Velocities without impulses (b + 3 c,).
        friction: mu of each contact (c,).
        sides: Of a pyramid, four at least.
        holding: Number of rows that hold, b.

    Raises:
        ArgumentError: If there are too few sides.
        RobotDynamicsError: If there is no solution.
    """
    if sides < 4:
        raise ArgumentError(f"the friction pyramid has {sides} sides, expected at least 4.")
    b, n, k = holding, len(friction), sides
    into = np.linalg.solve(W[:b, :b], W[:b, b:]) if b else np.zeros((0, 3 * n))
    start = np.linalg.solve(W[:b, :b], c[:b]) if b else np.zeros(0)
    A, d = W[b:, b:] - W[b:, :b] @ into, c[b:] - W[b:, :b] @ start
    angles = 2.0 * np.pi * np.arange(k) / k
    N, D = np.zeros((n, 3 * n)), np.zeros((n * k, 3 * n))
    for i in range(n):
        N[i, 3 * i] = 1.0
        D[i * k : (i + 1) * k, 3 * i + 1] = np.cos(angles)
        D[i * k : (i + 1) * k, 3 * i + 2] = np.sin(angles)
    # Unknowns: normal impulses, those along each side, and the slip of each contact.
    E = np.kron(np.eye(n), np.ones((k, 1)))
    rows = np.vstack([N, D])
    M = np.block([[rows @ A @ rows.T, np.vstack([np.zeros((n, n)), E])],
                  [np.diag(friction), -E.T, np.zeros((n, n))]])  # fmt: skip
    z = copositive_complementarity(M, np.concatenate([rows @ d, np.zeros(n)]))
    if z is None:
        raise RobotDynamicsError(
            f"no impulses of {n} contacts satisfy the laws of contact, because a body is wedged; "
            "expected contacts that can open."
        )
    P = rows.T @ z[: n + n * k]
    return np.concatenate([-start - into @ P, P])


class LawError(MutableRecord):
    """Error of impulses in the laws of contact."""

    part: float  #: In parts of the largest impulse.
    velocity: float  #: Largest velocity it leaves to contacts that push and rows that hold [m/s].


class ContactProblem(NamedTuple):
    """One contact problem: b rows that hold, then w rows of each of c contacts, m in all."""

    H: Matrix  #: Inertia matrix (nv, nv).
    J: Matrix  #: Rows of relative velocities (m, nv).
    HJ: Matrix  #: H^-1 J^T, transposed (m, nv).
    c: Vector  #: Velocities without impulses, and what they are to exceed, as u + c (m,).
    compliance: Vector  #: R, by how much rows give way to their own impulses (m,).
    P: Vector  #: Impulses to start from, then those found (m,).
    touching: Mask  #: Which contacts may push (c,); the others have no impulse.
    bound: Vector  #: Largest impulses of the rows that hold, infinite or of dry friction (b,).
    #: Known directions of slip (m,): unit vectors along the tangents of contacts that resist with
    #: -mu P_n along them for any u_t, and signs of bounded rows that resist with their bound; zero
    #: for all others. For round cones.
    slide: Vector
    pressed: Mask  #: Which contacts push (c,).
    slipping: Mask  #: Which of them are at the edge of their disc or square (c,).
    error: LawError
    mu: Vector  #: Friction of each contact (c,).
    holding: int  #: Number of rows that hold, b.
    width: int  #: Rows of each contact, w: normal, tangents, and spin or not.
    pyramid: bool  #: Whether friction cones are pyramids.


class ContactSolver:
    """Solves one contact problem after another.

    Args:
        holding: Number of rows that hold, b.
        friction: mu of each contact that can open (c,).
        width: Number of rows of each of these contacts, w.
        freedoms: Number of velocities, nv.
        cone: "round" or "pyramid".

    Attributes:
        problem: The problem, solved in place; its arrays are attributes as well.
    """

    def __init__(
        self, holding: int, friction: Array, width: int, freedoms: int, cone: Cone = "round"
    ) -> None:
        mu = np.array(friction, dtype=float)
        m, n, c = holding + width * len(mu), freedoms, len(mu)
        self.problem = problem = new_record(
            ContactProblem, H=(n, n), J=(m, n), HJ=(m, n), c=m, compliance=m, P=m, touching=c,
            bound=np.full(holding, np.inf), slide=m, pressed=c, slipping=c, error=LawError(),
            mu=mu, holding=holding, width=width, pyramid=cone_is_pyramid(cone),
        )  # fmt: skip
        self.H, self.J, self.HJ, self.c, self.compliance, self.P = problem[:6]
        self.touching, self.bound, self.slide, self.pressed, self.slipping = problem[6:11]
        #: Solves the problem; returns the number of linear systems.
        self.run = solve_contacts.bind(problem)

    @property
    def residual(self) -> float:
        """The error."""
        return self.problem.error.part


@routine
def solve_contacts(problem: ContactProblem) -> int:
    """Replace P by impulses that satisfy the laws; return the number of linear systems."""
    H, J, HJ, c, compliance = problem.H, problem.J, problem.HJ, problem.c, problem.compliance
    P, touching, mu, pressed = problem.P, problem.touching, problem.mu, problem.pressed
    slipping, error, holding = problem.slipping, problem.error, problem.holding
    width = problem.width
    m, nv, contacts = len(P), len(H), len(mu)
    r = zeros(m)
    u = zeros(m)
    F = zeros(m)
    # Directions of slip; of pyramids and bounded rows signs of components that do, others zero.
    along = zeros(m)
    best = zeros(m)
    last = zeros(m)
    way = zeros(m)
    z = zeros(nv)
    own = zeros(m)  # r, while others are tried
    ratio = zeros(contacts)  # of slipping impulses to trial ones; 1 sticks, -1 is open
    factored = zeros(contacts)  # the ratios that A was factored with ...
    held = zeros(holding)  # ... and the signs of bounded rows
    A = zeros(nv, nv)
    order = zeros(nv)
    for i in range(contacts):
        if not touching[i]:
            for k in range(holding + i * width, holding + (i + 1) * width):
                P[k] = 0.0
    shift = scales(problem, r)
    error.part = _INFINITE
    cold = True
    for k in range(m):
        cold = cold and P[k] == 0.0
    systems, seed, other = 0, 1, False
    for around in range(_ROUNDS + _RESTARTS):
        known, count, part, before = False, 0, 1.0, _INFINITE
        while True:
            velocities(J, HJ, c, compliance, P, z, u)
            left = contact_laws(problem, u, r, F, ratio, along)
            if (left < error.part and not other) or systems == 0:
                error.part, error.velocity = left, wrong_velocity(problem, r, F, ratio)
                for k in range(m):
                    best[k] = P[k]
                for i in range(contacts):
                    pressed[i] = ratio[i] >= 0.0
                    slipping[i] = ratio[i] >= 0.0 and ratio[i] < 1.0
            # One more linear system makes the last digits right.
            if left <= (TOLERANCE if count > 0 else 0.01 * TOLERANCE) or not left < _INFINITE:
                break
            for i in range(contacts if systems == 0 and cold else 0):
                # Initial guess: all touching contacts stick, also those that separate slightly.
                if touching[i] and ratio[i] != 0.0:
                    ratio[i] = 1.0 if mu[i] > 0.0 else 0.0
                    for k in range(holding + i * width, holding + (i + 1) * width):
                        along[k] = 0.0
                        F[k] = r[k] * u[k] if mu[i] > 0.0 or k == holding + i * width else P[k]
            size = 0.0
            for k in range(m):
                size += F[k] * F[k]
            # If a step does not reduce F, it is shortened.
            if size > (1.0 - 0.2 * part) * before and part > _SHORTEST:
                part *= 0.5
                for k in range(m):
                    P[k] = last[k] + part * way[k]
                continue
            if count == _NEWTON:
                break
            # Slopes change with the contacts that open, close or slip.
            for i in range(contacts):
                if ratio[i] != factored[i] or (ratio[i] > 0.0 and ratio[i] < 1.0):
                    known = False
                factored[i] = ratio[i]
            for i in range(holding):
                if along[i] != held[i]:
                    known = False
                held[i] = along[i]
            for k in range(m):
                last[k] = P[k]
            if not newton_step(problem, r, shift, F, ratio, along, known, A, order, z):
                break
            for k in range(m):
                way[k] = P[k] - last[k]
            known, part, before = True, 1.0, size
            count += 1
            systems += 1
        enough = TOLERANCE if around < _ROUNDS - 1 else _ENOUGH
        if error.part <= enough or not error.part < _INFINITE:
            break
        if around < _ROUNDS - 1:
            for k in range(m):
                P[k] = best[k]
            sweep(problem, r, shift, A, order, z)
        elif other and left < _NEAR:
            other = False
            for k in range(m):
                r[k] = own[k]
        else:
            if not other and around < _ROUNDS:
                for k in range(m):
                    own[k] = r[k]
            other = True
            afresh = around % _AFRESH == _AFRESH - 1
            seed = redrawn(problem, seed, own, afresh, r)
    for k in range(m):
        P[k] = best[k]
    return systems


@routine
def redrawn(problem: ContactProblem, seed: int, own: Vector, afresh: bool, r: Vector) -> int:
    """Draw other r, and impulses if `afresh`; return the next seed."""
    c, P, touching, holding = problem.c, problem.P, problem.touching, problem.holding
    width = problem.width
    m, size = len(P), 0.0
    for k in range(m):
        size += own[k] * abs(c[k]) / m
    for k in range(m):
        if k < holding or (k - holding) % width < 2:  # one r for all tangents
            seed = seed * 16807 % 2147483647  # Park and Miller, 1988
            odds = seed / (2147483647.0 - seed)
        r[k] = own[k] * odds * odds
        if afresh:
            seed = seed * 16807 % 2147483647
            P[k] = size * (2.0 * seed / 2147483647.0 - 1.0) * odds
            if k >= holding:
                if (k - holding) % width == 0:
                    P[k] = abs(P[k])
                if not touching[(k - holding) // width]:
                    P[k] = 0.0
    return seed


@routine
def scales(problem: ContactProblem, r: Vector) -> float:
    """Write r of each row, and return the shift."""
    m, total = len(r), 0.0
    for i in range(m):
        r[i] = problem.compliance[i] + product(problem.J, problem.HJ, i)
        total += r[i]
    shift = SHIFT * total / m
    for i in range(m):
        r[i] = 1.0 / (r[i] + shift)
    for n in range(problem.holding, m, problem.width):
        least = r[n + 1]
        for k in range(n + 2, n + problem.width):
            least = min(least, r[k])
        for k in range(n + 1, n + problem.width):
            r[k] = least
    return shift


@routine
def velocities(
    J: Matrix, HJ: Matrix, c: Vector, compliance: Vector, P: Vector, z: Vector, u: Vector
) -> None:
    """Write z = H^-1 J^T P and u = J z + R P + c."""
    for k in range(len(z)):
        z[k] = 0.0
    for i in range(len(P)):
        if P[i] != 0.0:
            for k in range(len(z)):
                z[k] += P[i] * HJ[i, k]
    for i in range(len(P)):
        u[i] = compliance[i] * P[i] + c[i] + along_row(J, i, z)


@routine
def contact_laws(
    problem: ContactProblem, u: Vector, r: Vector, F: Vector, ratio: Vector, along: Vector
) -> float:
    """Write F and the states of slip; return the largest F as a share of the largest impulse."""
    c, P, touching, slide = problem.c, problem.P, problem.touching, problem.slide
    mu, holding, width, pyramid = problem.mu, problem.holding, problem.width, problem.pyramid
    bound, largest, worst = problem.bound, _TINY, 0.0
    for i in range(holding):
        pushing = P[i] - r[i] * u[i]
        along[i] = -slide[i]
        if slide[i] == 0.0 and abs(pushing) >= bound[i]:
            along[i] = 1.0 if pushing > 0.0 else -1.0
        F[i] = r[i] * u[i] if along[i] == 0.0 else P[i] - along[i] * bound[i]
        largest = max(largest, max(min(abs(r[i] * c[i]), bound[i]), abs(P[i])))
        worst = larger(worst, abs(F[i]))
    for i in range(len(mu)):
        n = holding + i * width
        end = n + width
        pushing = P[n] - r[n] * u[n]
        ratio[i] = -1.0
        if touching[i] and pushing > 0.0:
            size, slides = 0.0, False
            for k in range(n + 1, end):
                along[k] = P[k] - r[k] * u[k]
                size += along[k] * along[k]
                slides = slides or slide[k] != 0.0
            size = sqrt(size)
            radius = mu[i] * pushing
            ratio[i] = radius / size if size > radius else 1.0
            F[n] = P[n] - pushing
            for k in range(n + 1, end):
                if slides:
                    ratio[i] = 0.0
                    along[k] = -slide[k]
                    F[k] = P[k] - radius * along[k]
                elif pyramid:
                    F[k] = P[k] - min(max(along[k], -radius), radius)
                    ratio[i] = 1.0 if k == n + 1 else ratio[i]
                    if abs(along[k]) > radius or mu[i] == 0.0:
                        ratio[i] = min(ratio[i], radius / max(abs(along[k]), _TINY))
                        along[k] = 1.0 if along[k] > 0.0 else -1.0
                    else:
                        along[k] = 0.0
                else:
                    F[k] = P[k] - ratio[i] * along[k]
                    along[k] = along[k] / max(size, _TINY)
        else:
            for k in range(n, end):
                F[k] = P[k]
        for k in range(n, end):
            if touching[i]:
                largest = max(largest, max(abs(r[k] * c[k]), abs(P[k])))
            worst = larger(worst, abs(F[k]))
    return worst / largest


@routine
def wrong_velocity(problem: ContactProblem, r: Vector, F: Vector, ratio: Vector) -> float:
    """Return the largest velocity equivalent to F, of pushing contacts and holding rows."""
    holding, width, fastest = problem.holding, problem.width, 0.0
    for k in range(len(F)):
        if k < holding or ratio[(k - holding) // width] >= 0.0:
            fastest = larger(fastest, abs(F[k]) / r[k])
    return fastest


@routine
def newton_step(
    problem: ContactProblem, r: Vector, shift: float, F: Vector, ratio: Vector, along: Vector,
    known: bool, A: Matrix, order: Vector, z: Vector,
) -> bool:  # fmt: skip
    """Add dP to P; `known` if A has the factors already. Return whether there is a dP."""
    H, J, compliance, P, mu = problem.H, problem.J, problem.compliance, problem.P, problem.mu
    holding, width = problem.holding, problem.width
    nv, m = len(z), len(P)
    B = zeros(m, width)  # each row over the rows of its contact; over itself where rows hold
    g = zeros(m)
    N = zeros(width, 2 * width + 1)
    row = zeros(nv)
    symmetric = True  # B is diagonal where nothing slips with friction
    for k in range(nv):
        z[k] = 0.0
        if not known:
            for j in range(nv):
                A[k, j] = H[k, j]
    for i in range(holding):
        g[i] = F[i]
        if along[i] == 0.0:
            B[i, 0] = 1.0 / (compliance[i] + shift)
            g[i] = F[i] / r[i] * B[i, 0]
    for i in range(len(mu)):
        n = holding + i * width
        if ratio[i] == 1.0:
            for k in range(width):
                B[n + k, k] = 1.0 / (compliance[n + k] + shift)
                g[n + k] = F[n + k] / r[n + k] * B[n + k, k]
        elif ratio[i] < 0.0:
            for k in range(n, n + width):
                g[k] = F[k]
        elif mu[i] == 0.0:
            B[n, 0] = 1.0 / (compliance[n] + shift)
            g[n] = F[n] / r[n] * B[n, 0]
            for k in range(n + 1, n + width):
                g[k] = F[k]
        else:
            symmetric = False
            slipping_slopes(problem, n, ratio[i], mu[i], along, r, shift, F, N)
            for k in range(width):
                for j in range(width):
                    B[n + k, j] = N[k, width + j]
                g[n + k] = N[k, 2 * width]
    for i in range(m):
        first = i if i < holding else i - (i - holding) % width
        length = 1 if i < holding else width
        if not known and not symmetric:
            slope_row(J, B, i, first, length, row)
            for k in range(nv):
                if J[i, k] != 0.0:
                    for j in range(nv):
                        A[k, j] += J[i, k] * row[j]
        elif not known and i == first:
            add_squares(J, B, i, length, A)
        if g[i] != 0.0:
            for k in range(nv):
                z[k] -= J[i, k] * g[i]
    if symmetric:
        if not known and not factorise_symmetric(A):
            return False
        substitute_symmetric(A, z)
    else:
        if not known and not factorise(A, order):
            return False
        substitute(A, order, z)
    for i in range(m):
        first = i if i < holding else i - (i - holding) % width
        length = 1 if i < holding else width
        P[i] -= g[i]
        for j in range(length):
            if B[i, j] != 0.0:
                P[i] -= B[i, j] * along_row(J, first + j, z)
    return True


@routine
def slipping_slopes(
    problem: ContactProblem, n: int, ratio: float, mu: float, along: Vector, r: Vector,
    shift: float, F: Vector, N: Matrix,
) -> None:  # fmt: skip
    """Write N^-1 (N, A r, F) of a contact that slips, its rows beginning at n."""
    compliance, pyramid = problem.compliance, problem.pyramid
    w = N.shape[0]
    for k in range(w):
        for j in range(w):
            # Slopes of the projection: ratio (1 - d d^T) along the disc, mu d with its radius.
            if k == 0:
                a = 1.0 if j == 0 else 0.0
            elif j == 0:
                a = mu * along[n + k]
            elif pyramid:
                a = 1.0 if k == j and along[n + k] == 0.0 else 0.0
            else:
                a = ratio * ((1.0 if k == j else 0.0) - along[n + k] * along[n + j])
            N[k, w + j] = a * r[n + j]
            N[k, j] = (1.0 if k == j else 0.0) - a + N[k, w + j] * (compliance[n + j] + shift)
        N[k, 2 * w] = F[n + k]
    for k in range(w):
        for i in range(w):
            if i != k and N[i, k] != 0.0:
                f = N[i, k] / N[k, k]
                for j in range(k, 2 * w + 1):
                    N[i, j] -= f * N[k, j]
    for k in range(w):
        for j in range(w, 2 * w + 1):
            N[k, j] = N[k, j] / N[k, k]


@routine
def sweep(
    problem: ContactProblem, r: Vector, shift: float, A: Matrix, order: Vector, z: Vector
) -> None:
    """Solve each contact with the others held; rows that hold are solved together."""
    H, J, HJ, c, compliance = problem.H, problem.J, problem.HJ, problem.c, problem.compliance
    P, touching, slide, mu = problem.P, problem.touching, problem.slide, problem.mu
    holding, width, pyramid, bound = problem.holding, problem.width, problem.pyramid, problem.bound
    nv = len(z)
    u = zeros(len(P))
    y = zeros(nv)
    for k in range(nv):
        for j in range(nv):
            A[k, j] = H[k, j]
    for i in range(holding):
        for k in range(nv if bound[i] == _INFINITE else 0):
            for j in range(nv):
                A[k, j] += J[i, k] * J[i, j] / (compliance[i] + shift)
    solvable = factorise(A, order)
    velocities(J, HJ, c, compliance, P, z, u)
    for _ in range(_SWEEPS):
        if solvable and holding > 0:
            for k in range(nv):
                y[k] = 0.0
            for i in range(holding):
                u[i] = rate(problem, z, i)
                for k in range(nv if bound[i] == _INFINITE else 0):
                    y[k] -= J[i, k] * u[i] / (compliance[i] + shift)
            substitute(A, order, y)
            for i in range(holding):
                if bound[i] == _INFINITE:
                    change = u[i]
                    for k in range(nv):
                        change += J[i, k] * y[k]
                    push(problem, z, i, P[i] - change / (compliance[i] + shift))
        for i in range(holding):
            if bound[i] < _INFINITE:
                trial = P[i] - r[i] * rate(problem, z, i)
                if slide[i] != 0.0:
                    trial = -slide[i] * bound[i]
                push(problem, z, i, min(max(trial, -bound[i]), bound[i]))
        for i in range(len(mu)):
            if not touching[i]:
                continue
            n = holding + i * width
            push(problem, z, n, max(P[n] - r[n] * rate(problem, z, n), 0.0))
            size, slides = 0.0, False
            for k in range(n + 1, n + width):
                u[k] = P[k] - r[k] * rate(problem, z, k)
                size += u[k] * u[k]
                slides = slides or slide[k] != 0.0
            size = sqrt(size)
            radius = mu[i] * P[n]
            for k in range(n + 1, n + width):
                if slides:
                    u[k] = -radius * slide[k]
                elif pyramid:
                    u[k] = min(max(u[k], -radius), radius)
                elif size > radius:
                    u[k] = u[k] * (radius / size)
                push(problem, z, k, u[k])


@routine
def rate(problem: ContactProblem, z: Vector, i: int) -> float:
    """Return u of a row."""
    return problem.compliance[i] * problem.P[i] + problem.c[i] + along_row(problem.J, i, z)


@routine
def push(problem: ContactProblem, z: Vector, i: int, impulse: float) -> None:
    """Change the impulse of a row, and the velocities z with it."""
    for k in range(len(z)):
        z[k] += problem.HJ[i, k] * (impulse - problem.P[i])
    problem.P[i] = impulse
