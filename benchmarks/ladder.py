# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ladder whose rails are chains: loops beside loops, of which no spanning tree makes short work.

Fig 8.4 of Featherstone's book, in space and properly constrained: both rails hang on the base, so
that the k-th loop passes 2 k joints, and every rung adds one freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.rows import Row
from benchmarks.timing import interleaved
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.maximal_coordinates import MaximalCoordinates
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    Model,
    build,
    pose,
)
from robot_dynamics.model.parameters import parameters_of

Array = NDArray[np.float64]

# How many rungs are timed; the smaller ones are compared with the dense method first.
RUNGS, COMPARED = (10, 30, 100, 300, 1000), 30
# Turns of each: the largest takes a tenth of a second.
ROUNDS = 7
# Max-norm relative, over the condition of the constraints, which act ever more weakly together.
TOLERANCE = 1e-10

LINK, RUNG = 0.3, 0.4
# Hinges lean to either side by turns, so that the ladder bends in two directions.
LEAN = np.radians(30.0)
# From the frame of a rail's link to that of its rung, whose z axis points to the other rail.
ACROSS = Rotation.from_euler("x", -np.pi / 2)


def axis_of(section: int) -> tuple[float, float, float]:
    """Return the axis of both hinges of a section."""
    return 0.0, float(np.sin(LEAN) * (-1) ** section), float(np.cos(LEAN))


def ladder(rungs: int) -> Mechanism:
    """Return a ladder: hinged rails, rungs on universal joints, ball joints at their far ends."""
    links, joints, loops = [LinkElement("base")], [], []
    rod = np.diag([0.001, 0.01, 0.01])
    for i in range(rungs):
        for side, y in (("left", 0.0), ("right", RUNG)):
            parent = f"{side}{i - 1}" if i else "base"
            at = pose((LINK, 0.0, 0.0)) if i else pose((0.0, y, 0.0))
            links.append(LinkElement(f"{side}{i}", 1.0, (LINK / 2, 0.0, 0.0), rod))
            hinge = f"{side}{i}_hinge"
            joints.append(JointElement(hinge, "revolute", parent, f"{side}{i}", at, axis_of(i)))
        across = pose((LINK, 0.0, 0.0), ACROSS.as_matrix())
        rung = LinkElement(f"rung{i}", 0.5, (0.0, 0.0, RUNG / 2), rod[::-1, ::-1])
        links.append(rung)
        joints.append(JointElement(f"rung{i}_joint", "universal", f"left{i}", rung.name, across))
        ends = pose((0.0, 0.0, RUNG)), pose((LINK, 0.0, 0.0))
        loops.append(LoopElement(f"ball{i}", "spherical", rung.name, f"right{i}", *ends))
    return Mechanism(f"ladder of {rungs}", tuple(links), tuple(joints), tuple(loops))


def bent(model: Model, angles: Array, rates: Array) -> tuple[Array, Array]:
    """Return positions (nq,) and velocities (nv,) of a ladder that keep it closed.

    While both hinges of every section turn alike, the rungs keep their direction in the world:
    their universal joints undo the turn of the rail.

    Args:
        model: The ladder.
        angles: Of the hinges of each section [rad].
        rates: Their rates [rad/s].
    """
    at = {name: slot.start for name, slot in zip(model.joint_names, model.q_slices, strict=True)}
    q, qd = np.zeros(model.nq), np.zeros(model.nv)
    turned, spin = Rotation.identity(), np.zeros(3)  # of the rail, in the world
    for i, (angle, rate) in enumerate(zip(angles, rates, strict=True)):
        spin = spin + rate * turned.apply(axis_of(i))
        turned = turned * Rotation.from_rotvec(angle * np.array(axis_of(i)))
        for side in ("left", "right"):
            q[at[f"{side}{i}_hinge"]], qd[at[f"{side}{i}_hinge"]] = angle, rate
        seen = turned * ACROSS  # the frame in which the rung has to point along y of the world
        d = seen.inv().apply([0.0, 1.0, 0.0])
        change = seen.inv().apply(np.cross([0.0, 1.0, 0.0], spin))
        # z of a universal joint's successor is (s2, -s1 c2, c1 c2) in its predecessor.
        rung = at[f"rung{i}_joint"]
        squared = d[1] ** 2 + d[2] ** 2
        q[rung : rung + 2] = np.arctan2(-d[1], d[2]), np.arcsin(d[0])
        qd[rung] = (d[1] * change[2] - d[2] * change[1]) / squared
        qd[rung + 1] = change[0] / np.sqrt(squared)
    return q, qd


def rows_of(rounds: int) -> list[Row]:
    """Return a row for each length: evaluation, assembly, factors and solution of one state.

    Raises:
        AssertionError: If the sparse method differs from the dense one, or leaves a residual.
    """
    functions, errors = {}, {}
    for rungs in RUNGS:
        model = build(ladder(rungs))
        rng = np.random.default_rng(rungs)
        q, qd = bent(model, *(0.1 * rng.uniform(-1, 1, (2, rungs))))
        tau = rng.normal(size=model.nv)
        system = MaximalCoordinates(model)
        motion = system.solve(q, qd, tau)
        scale = np.max(np.abs(motion.qdd))
        errors[rungs] = float(motion.residual / scale)
        if rungs <= COMPARED:
            errors[rungs] = max(errors[rungs], _difference(model, q, qd, tau, motion.qdd) / scale)
        if not errors[rungs] < TOLERANCE or motion.rank != 3 * rungs:
            raise AssertionError(f"ladder of {rungs}: off by {errors[rungs]:.1e}.")
        functions[str(rungs)] = lambda s=system, at=(q, qd, tau): s.solve(*at)
    timings = interleaved(functions, dict.fromkeys(functions, 1), min(rounds, ROUNDS))
    rows: list[Row] = []
    for rungs in RUNGS:
        timing, slope = timings[str(rungs)], None
        if rows:
            before = rows[-1]
            slope = float(np.log(timing.median / before.ours_us) / np.log(rungs / before.rungs))
        rows.append(
            Row.alone(
                timing,
                robot=f"ladder of {rungs} rungs",
                algorithm="closed_loop_forward_dynamics",
                mode="sparse",
                lanes=1,
                max_rel_error=errors[rungs],
                rungs=rungs,
                us_per_rung=timing.median / rungs,
                slope=slope,
            )
        )
    return rows


def _difference(model: Model, q: Array, qd: Array, tau: Array, qdd: Array) -> float:
    """Return the error of accelerations against the dense method, over its condition."""
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    K, k = np.array(terms.loops.K), np.array(terms.loops.k)
    ranked = constraint_rank(model, K)
    H, force = np.array(terms.H), tau - np.array(terms.C)
    dense = rank_revealing_solution(model, H, force, K, k, ranked=ranked)
    return float(np.max(np.abs(qdd - dense.qdd)) * ranked.s[-1] / ranked.s[0])
