# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Solvers of contact problems on the problems of the published tests, and how they agree.

With friction: our Newton method, from the impulses of the step before and from zero; pyramids by
Lemke's method; Clarabel on cones, its quadratic program repeated with the term mu |u_t| of de
Saxce until that stays; Pinocchio's ADMM on its own problems of the same scenes. Without friction,
as normals alone have it (11.43): Lemke's method, DAQP, Clarabel, OSQP, ProxQP. Those that are not
installed are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.contact_engines import Pinocchio, simulation
from benchmarks.contact_scenes import Scene
from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.contact.solver import ContactSolver, pyramid_impulses, residuals
from robot_dynamics.dynamics.quadratic_program import minimum_within
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

STEP = 1e-3
_PROBLEMS = 8  # of a scene
# Impulses of two solvers that make velocities differ by less than this part agree.
AGREE = 1e-6


class Problem(NamedTuple):
    """W, c and mu of contacts that touch, the impulses of the step before, and what makes W."""

    W: Array
    c: Array
    friction: Array
    before: Array
    H: Array
    J: Array


class Figure(NamedTuple):
    """A solver's figures for the problems of a scene.

    Attributes:
        microseconds: The median.
        residual: The largest of `residuals` over the fastest speed times the largest impulse, or
            over either: in parts of what the problem is about.
        agrees: How many of those that it solved agree with the first solver in u = W P + c.
        solved: How many it solved.
        count: Of how many.
    """

    microseconds: float
    residual: float
    agrees: int
    solved: int
    count: int


def problems_of(scene: Scene) -> list[Problem]:
    """Return problems of a scene's first steps of 1 ms, as our engine meets them."""
    found: list[Problem] = []
    _, sim = simulation(scene, STEP)
    motion = sim._plant.engine.stepping
    solver = motion._solver
    solve, mu = solver.run, np.array([touch.friction for touch in scene.touches])

    def recorded() -> int:
        if solver.touching.any():
            rows = np.repeat(solver.touching, 3)
            J, c, P = solver.J[rows], solver.c[rows], solver.P[rows]
            W = J @ solver.HJ[rows].T
            found.append(Problem(W, c, mu[solver.touching], P, solver.H.copy(), J))
        return int(solve())

    solver.run = recorded
    motion.bind()
    tau = np.zeros(len(sim.observation.qd))
    force = {b.name: [0, 0, 0, *b.force] for b in scene.bodies if any(b.force)}
    for _ in range(_PROBLEMS):
        sim.step(tau, force)
    return found[:: max(1, len(found) // _PROBLEMS)][:_PROBLEMS]


def newton(problem: Problem, start: Array) -> Callable[[], Array]:
    """Return our solver, compiled before it is timed."""
    solver = ContactSolver(0, problem.friction, 3, len(problem.H))
    solver.H[:], solver.J[:], solver.c[:] = problem.H, problem.J, problem.c
    solver.HJ[:], solver.touching[:] = np.linalg.solve(problem.H, problem.J.T).T, True

    def solve() -> Array:
        solver.P[:] = start
        solver.run()
        return solver.P.copy()

    return solve


def cones_by_clarabel(problem: Problem) -> Array:
    """Return impulses of exact cones: quadratic programs, repeated until mu |u_t| stays."""
    import clarabel
    from scipy import sparse

    W, c, mu = problem[:3]
    n, size = len(mu), len(c)
    scale = float(np.mean(W.diagonal()))
    large = float(np.abs(c).max()) or 1.0
    cone = np.eye(size)
    cone[::3, ::3] = np.diag(mu)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    shift, P = np.zeros(n), np.zeros(size)
    for _ in range(100):
        linear = c.copy()
        linear[::3] += shift
        solver = clarabel.DefaultSolver(
            sparse.triu(W / scale, format="csc"), linear / large,
            sparse.csc_matrix(-cone), np.zeros(size), [clarabel.SecondOrderConeT(3)] * n, settings,
        )  # fmt: skip
        P = np.array(solver.solve().x) * large / scale
        u = (W @ P + c).reshape(-1, 3)
        new = mu * np.linalg.norm(u[:, 1:], axis=1)
        if np.abs(new - shift).max(initial=0.0) < 1e-10 * large:
            return P
        shift = new
    raise RobotDynamicsError("mu |u_t| does not settle.")


def _bounds(W: Array, c: Array) -> tuple[Array, Array, float, float]:
    """Return the frictionless problem scaled to numbers of about one, and its scales."""
    scale = float(np.mean(W.diagonal()))
    large = float(np.abs(c).max()) or 1.0
    return W / scale, c / large, scale, large


def normals_by_lemke(W: Array, c: Array) -> Array:
    """Lemke's method, as in `contact_forces`."""
    found = linear_complementarity(W, c)
    if found is None:
        raise RobotDynamicsError("no solution")
    return found


def normals_by_daqp(W: Array, c: Array) -> Array:
    """DAQP, as in `contact_forces`."""
    A, b, scale, large = _bounds(W, c)
    n = len(c)
    found = minimum_within(A, b, np.eye(n), np.zeros(n), np.full(n, np.inf))
    if found is None:
        raise RobotDynamicsError("no solution")
    return np.asarray(found.x * large / scale)


def normals_by_clarabel(W: Array, c: Array) -> Array:
    """Clarabel, an interior-point method."""
    import clarabel
    from scipy import sparse

    A, b, scale, large = _bounds(W, c)
    n, settings = len(c), clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.triu(A, format="csc"), b, sparse.csc_matrix(-np.eye(n)), np.zeros(n),
        [clarabel.NonnegativeConeT(n)], settings,
    )  # fmt: skip
    return np.array(solver.solve().x) * large / scale


def normals_by_osqp(W: Array, c: Array) -> Array:
    """OSQP, a splitting method."""
    import osqp
    from scipy import sparse

    A, b, scale, large = _bounds(W, c)
    n, solver = len(c), osqp.OSQP()
    solver.setup(
        sparse.triu(A, format="csc"), b, sparse.eye(n, format="csc"), np.zeros(n),
        np.full(n, np.inf), verbose=False, eps_abs=1e-10, eps_rel=1e-10, max_iter=20_000,
        polishing=False,
    )  # fmt: skip
    found = solver.solve()
    if found.info.status != "solved":
        raise RobotDynamicsError(found.info.status)
    return np.asarray(found.x * large / scale)


def normals_by_proxqp(W: Array, c: Array) -> Array:
    """ProxQP, an augmented Lagrangian method."""
    import proxsuite

    A, b, scale, large = _bounds(W, c)
    n = len(c)
    found = proxsuite.proxqp.dense.solve(
        A, b, None, None, np.eye(n), np.zeros(n), np.full(n, 1e20), eps_abs=1e-11
    )
    return np.asarray(found.x * large / scale)


FRICTIONLESS: dict[str, Callable[[Array, Array], Array]] = {
    "Lemke": normals_by_lemke,
    "DAQP": normals_by_daqp,
    "Clarabel": normals_by_clarabel,
    "OSQP": normals_by_osqp,
    "ProxQP": normals_by_proxqp,
}


def _timed(solve: Callable[[], Array]) -> tuple[Array | None, float]:
    """Return impulses, None if there are none, and the least microseconds of three runs."""
    best, P = np.inf, None
    for _ in range(3):
        begin = time.perf_counter()
        try:
            P = solve()
        except RobotDynamicsError:
            return None, np.nan
        best = min(best, time.perf_counter() - begin)
    return P, 1e6 * best


def _residual(problem: Problem, P: Array) -> float:
    """Return the largest error of the laws, in parts of the problem's speeds and impulses."""
    W, c, mu = problem[:3]
    at = residuals(W @ P + c, P, mu)
    speed = float(np.abs(c).max()) or 1.0
    size = float(np.abs(P).max()) or 1.0
    return max(
        at.separation / speed, at.cone / size, at.complementarity / (speed * size),
        at.dissipation / (speed * size),
    )  # fmt: skip


def _figures(
    problems: Sequence[Problem], solvers: dict[str, Callable[[Problem], Callable[[], Array]]]
) -> Iterator[tuple[str, Figure]]:
    """Yield each solver's figures; the first is the reference of the others."""
    reference: list[Array] = []
    for name, make in solvers.items():
        times, worst, agrees, solved = [], 0.0, 0, 0
        try:
            for i, problem in enumerate(problems):
                P, microseconds = _timed(make(problem))
                if not reference or len(reference) <= i:
                    reference.append(np.zeros(0) if P is None else problem.W @ P + problem.c)
                if P is None:
                    continue
                solved += 1
                times.append(microseconds)
                worst = max(worst, _residual(problem, P))
                u = problem.W @ P + problem.c
                off = np.abs(u - reference[i]).max() if len(reference[i]) else np.inf
                agrees += bool(off <= AGREE * (np.abs(problem.c).max() or 1.0))
        except ModuleNotFoundError as error:
            yield f"{name}: {error.name} is not installed", Figure(np.nan, np.nan, 0, 0, 0)
            continue
        median = float(np.median(times)) if times else np.nan
        yield name, Figure(median, worst, agrees, solved, len(problems))


def pinocchio_figure(scene: Scene) -> Figure:
    """Return the figures of Pinocchio's ADMM for its own problems of a scene; its own time."""
    engine, times, worst, solved = Pinocchio(scene, STEP), [], 0.0, 0
    for _ in range(_PROBLEMS):
        engine.advance()
        J, H, c, P, friction, microseconds = engine.last
        order = np.arange(len(c)).reshape(-1, 3)[:, [2, 0, 1]].ravel()  # normals first
        W = (J @ np.linalg.solve(H, J.T))[np.ix_(order, order)]
        residual = _residual(Problem(W, c[order], friction, P, H, J), P[order])
        solved += residual < AGREE
        worst = max(worst, residual)
        times.append(microseconds)
    return Figure(float(np.median(times)), worst, 0, solved, _PROBLEMS)


def report(scenes: Sequence[Scene]) -> str:
    """Return a table of all solvers on all scenes."""
    rows = {
        "Newton, from the step before": lambda p: newton(p, p.before),
        "Newton, from zero": lambda p: newton(p, np.zeros(len(p.c))),
        "Lemke, pyramids of 8": lambda p: lambda: pyramid_impulses(p.W, p.c, p.friction, 8),
        "Clarabel, cones": lambda p: lambda: cones_by_clarabel(p),
    }
    lines = [f"{'':34s}{'us':>10s}{'residual':>10s}{'solved':>8s}{'agree':>7s}"]

    def line(name: str, figure: Figure, agrees: str) -> str:
        of = f"{figure.solved}/{figure.count}"
        return (
            f"  {name:32s}{figure.microseconds:10.0f}{figure.residual:10.1e}{of:>8s}{agrees:>7s}"
        )

    for scene in scenes:
        if any(touch.restitution for touch in scene.touches):
            continue
        problems = problems_of(scene)
        contacts = max(len(p.friction) for p in problems)
        lines.append(f"{scene.name}, {contacts} contacts")
        for name, figure in _figures(problems, rows):
            lines.append(line(name, figure, str(figure.agrees)))
        lines.append(line("Pinocchio ADMM, its own", pinocchio_figure(scene), ""))
        normals = [_normals(p) for p in problems]
        without: dict[str, Callable[[Problem], Callable[[], Array]]] = {
            f"{name}, no friction": lambda p, f=solve: lambda: _spread(f(p.W[::3, ::3], p.c[::3]))
            for name, solve in FRICTIONLESS.items()
        }
        lines += [line(name, f, str(f.agrees)) for name, f in _figures(normals, without)]
    return "\n".join(lines)


def _normals(problem: Problem) -> Problem:
    """Return a problem without friction."""
    return problem._replace(friction=np.zeros(len(problem.friction)))


def _spread(normal: Array) -> Array:
    """Return impulses (3 c,) of normal ones (c,)."""
    return np.kron(np.maximum(normal, 0.0), [1.0, 0.0, 0.0])
