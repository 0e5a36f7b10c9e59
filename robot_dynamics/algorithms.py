# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The algorithms of `dynamics` as programs of a model and its parameter block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robot_dynamics.compile.kernel import load_kernel, shared_kernel
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import trace
from robot_dynamics.dynamics.center_of_mass import (
    center_of_mass,
    center_of_mass_jacobian,
    center_of_mass_velocity,
)
from robot_dynamics.dynamics.closed_loop import (
    closed_loop_forward_dynamics,
    closed_loop_terms,
    full_rank_motion,
    terms_to_solve,
)
from robot_dynamics.dynamics.closure_functions import Closure
from robot_dynamics.dynamics.consistency import inconsistency
from robot_dynamics.dynamics.drive_efforts import FixedDrives, drive_efforts
from robot_dynamics.dynamics.elimination import Pivots, independent_forward_dynamics
from robot_dynamics.dynamics.energy import energies
from robot_dynamics.dynamics.explicit_form import (
    explicit_forward_dynamics,
    explicit_inverse_dynamics,
    explicit_terms,
)
from robot_dynamics.dynamics.forward import (
    articulated_biases,
    articulated_bodies,
    forward_dynamics,
    velocity_terms,
)
from robot_dynamics.dynamics.frame_motion import (
    frame_acceleration,
    frame_forces,
    frame_velocity,
)
from robot_dynamics.dynamics.hybrid import hybrid_dynamics
from robot_dynamics.dynamics.independent_rows import independent_rows_motion
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import (
    bias_forces,
    gravity_forces,
    inverse_dynamics,
    joint_wrenches,
)
from robot_dynamics.dynamics.inverse_inertia import (
    inverse_inertia_matrix,
    inverse_operational_inertia,
)
from robot_dynamics.dynamics.jacobian import Axes, link_jacobian
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    link_pose,
    motion_subspaces,
)
from robot_dynamics.dynamics.loop_forces import loop_drive_matrix, loop_joint_forces
from robot_dynamics.dynamics.momentum import centroidal_momentum_matrix, momentum
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Force


def inverse_dynamics_program(model: Model) -> Program:
    """tau (nv,) of q, qd, qdd: the recursive Newton-Euler algorithm."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        return {"tau": inverse_dynamics(model, q, qd, qdd, unpack(model, block))}

    return traced(model, run, "inverse_dynamics", q=model.nq, qd=model.nv, qdd=model.nv)


def bias_forces_program(model: Model) -> Program:
    """C (nv,) of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        return {"C": bias_forces(model, q, qd, unpack(model, block))}

    return traced(model, run, "bias_forces", q=model.nq, qd=model.nv)


def gravity_program(model: Model) -> Program:
    """The part of C (nv,) that gravity makes up, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"g": gravity_forces(model, q, unpack(model, block))}

    return traced(model, run, "gravity", q=model.nq)


def inertia_matrix_program(model: Model) -> Program:
    """H (nv, nv) of q: the composite-rigid-body algorithm."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"H": inertia_matrix(model, q, unpack(model, block))}

    return traced(model, run, "inertia_matrix", q=model.nq)


def forward_dynamics_program(model: Model) -> Program:
    """qdd (nv,) of q, qd, tau with loops left open: the articulated-body algorithm."""

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        return {"qdd": forward_dynamics(model, q, qd, tau, unpack(model, block))}

    return traced(model, run, "forward_dynamics", q=model.nq, qd=model.nv, tau=model.nv)


def inverse_inertia_matrix_program(model: Model) -> Program:
    """H^-1 (nv, nv) of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"H_inverse": inverse_inertia_matrix(model, q, unpack(model, block))}

    return traced(model, run, "inverse_inertia_matrix", q=model.nq)


def inverse_operational_inertia_program(
    model: Model, links: tuple[str, ...], axes: Axes
) -> Program:
    """J H^-1 J^T (6 m, 6 m) of m frames, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        frames = [model.link(name) for name in links]
        parameters = unpack(model, block)
        return {"W": inverse_operational_inertia(model, q, frames, parameters, axes)}

    return traced(model, run, "inverse_operational_inertia", q=model.nq)


def articulated_bodies_program(model: Model) -> Program:
    """I^A (bodies, 6, 6) and p^A (bodies, 6) of q, qd, tau, in the frames of the bodies' links."""

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)
        Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
        v, c, p = velocity_terms(model, Xup, S, q, qd, parameters)
        passive = passive_forces(model, Xup, v, qd, parameters, q)
        given = [[t + f for t, f in zip(tau[i], passive[i], strict=True)] for i in model.v_slices]
        bodies = articulated_bodies(model, Xup, S, parameters)
        biases, _ = articulated_biases(model, Xup, S, bodies, c, p, given)
        frames = [model.link(body.name).placement for body in model.bodies]
        return {
            "IA": [
                X.inverse().inverse_times(body.IA).matrix()
                for X, body in zip(frames, bodies, strict=True)
            ],
            "pA": [(X * bias).components() for X, bias in zip(frames, biases, strict=True)],
        }

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return traced(model, run, "articulated_bodies", **shapes)


def joint_wrench_program(model: Model) -> Program:
    """Forces (bodies, 6) that joints transmit, of q, qd, qdd and forces from outside (bodies, 6).

    Both in the frames of the bodies' links.
    """

    def run(q: Any, qd: Any, qdd: Any, external: Any, block: Any) -> dict[str, Any]:
        frames = [model.link(body.name).placement for body in model.bodies]
        outside = [X.inverse() * Force.of(f) for X, f in zip(frames, external, strict=True)]
        forces = joint_wrenches(model, q, qd, qdd, unpack(model, block), outside)
        return {"f": [(X * f).components() for X, f in zip(frames, forces, strict=True)]}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "joint_wrenches", **shapes, external=(len(model.bodies), 6))


def hybrid_dynamics_program(model: Model, prescribed: frozenset[int]) -> Program:
    """qdd and tau (nv,) of q, qd, tau, qdd, with accelerations of some joints given."""

    def run(q: Any, qd: Any, tau: Any, qdd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)
        motion, forces = hybrid_dynamics(model, q, qd, tau, qdd, parameters, prescribed)
        return {"qdd": motion, "tau": forces}

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv, "qdd_given": model.nv}
    return traced(model, run, "hybrid_dynamics", **shapes)


def closed_loop_program(model: Model) -> Program:
    """qdd (nv,), multipliers (n^c,) and the smallest pivot () of q, qd, tau, loops closed."""

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        qdd, multipliers, pivot = closed_loop_forward_dynamics(
            model, q, qd, tau, unpack(model, block)
        )
        return {"qdd": qdd, "multipliers": multipliers, "pivot": pivot}

    return traced(model, run, "closed_loop", q=model.nq, qd=model.nv, tau=model.nv)


def closed_forward_dynamics_program(model: Model, rows: tuple[int, ...] | None = None) -> Program:
    """qdd, how far the state is from closed loops, and the smallest pivot (nv + 2,) of q, qd, tau.

    In one array, because every further output costs a call 0.2 us. Where constraints are
    redundant for good, `rows` are those to be used (see `independent_rows`).
    """

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        terms = terms_to_solve(model, q, qd, unpack(model, block))
        if rows is None:
            qdd, _, pivot = full_rank_motion(model, terms, tau)
        else:
            qdd, pivot = independent_rows_motion(model, terms, tau, rows)
        return {"qdd_and_checks": [*qdd, inconsistency(model, terms.loops, qd), pivot]}

    return traced(model, run, "closed_forward_dynamics", q=model.nq, qd=model.nv, tau=model.nv)


def independent_program(model: Model, pivots: Pivots) -> Program:
    """qdd and the smallest pivot (nv + 1,) of q, qd, tau: independent accelerations first.

    Fixed coordinates depend on fixed constraints, as `pivots` pairs them (see `elimination`).
    Squares of the pivots' sizes are parameters, after those of the model.
    """

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        own = block_size(model)
        terms = closed_loop_terms(model, q, qd, unpack(model, block[:own]))
        qdd, pivot = independent_forward_dynamics(model, terms, tau, pivots, block[own:])
        return {"qdd_and_pivot": [*qdd, pivot]}

    inputs = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return trace(run, "independent", inputs, block_size(model) + len(pivots))


def drive_effort_program(model: Model, drives: FixedDrives) -> Program:
    """Efforts and the smallest pivot (p + 1,) of q, qd, qdd: fixed drives force every motion.

    Squares of the pivots' sizes are parameters, after those of the model.
    """

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        own = block_size(model)
        parameters, squares = unpack(model, block[:own]), block[own:]
        efforts, pivot = drive_efforts(model, q, qd, qdd, parameters, drives, squares)
        return {"efforts_and_pivot": [*efforts, pivot]}

    inputs = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return trace(run, "drive_efforts", inputs, block_size(model) + len(drives.pivots))


def constraint_program(model: Model) -> Program:
    """H, C, K, k and the constraint errors of q, qd: the terms of Eq 8.6."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        terms = closed_loop_terms(model, q, qd, unpack(model, block))
        return {
            "H": terms.H,
            "C": terms.C,
            "K": terms.loops.K,
            "k": terms.loops.k,
            "position_error": terms.loops.position_error,
            "velocity_error": terms.loops.velocity_error,
        }

    return traced(model, run, "constraint_terms", q=model.nq, qd=model.nv)


def closure_program(model: Model) -> Program:
    """K and the position error of q, of loop joints alone: couplings need no program."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        # What is not asked for leaves no trace in the program.
        loops = terms_to_solve(model, q, [0.0] * model.nv, unpack(model, block)).loops
        own = len(loops.K) - len(model.couplings)
        return {"K": loops.K[:own], "position_error": loops.position_error[:own]}

    return traced(model, run, "closure", q=model.nq)


def energies_program(model: Model) -> Program:
    """Kinetic () and potential () energy of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        kinetic, potential = energies(model, q, qd, unpack(model, block))
        return {"kinetic": kinetic, "potential": potential}

    return traced(model, run, "energies", q=model.nq, qd=model.nv)


def momentum_program(model: Model) -> Program:
    """Momentum (6,) of q, qd, in the world and about its origin."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        return {"momentum": momentum(model, q, qd, unpack(model, block)).components()}

    return traced(model, run, "momentum", q=model.nq, qd=model.nv)


def centroidal_momentum_matrix_program(model: Model) -> Program:
    """A (6, nv) of q: momentum about the centre of mass, over velocities."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"A": centroidal_momentum_matrix(model, q, unpack(model, block))}

    return traced(model, run, "centroidal_momentum_matrix", q=model.nq)


def centroidal_momentum_matrix_rate_program(model: Model) -> Program:
    """The time derivative (6, nv) of A, of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        parameters, rate = unpack(model, block), model.position_rate(q, qd)
        matrix = directional_derivative(
            lambda q: centroidal_momentum_matrix(model, q, parameters), q, rate
        )
        return {"A_rate": matrix[1]}

    return traced(model, run, "centroidal_momentum_matrix_rate", q=model.nq, qd=model.nv)


def center_of_mass_program(model: Model) -> Program:
    """The centre of mass (3,) in the world, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"c": list(center_of_mass(model, q, unpack(model, block)))}

    return traced(model, run, "center_of_mass", q=model.nq)


def center_of_mass_velocity_program(model: Model) -> Program:
    """Its velocity (3,) in the world, of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        return {"v": list(center_of_mass_velocity(model, q, qd, unpack(model, block)))}

    return traced(model, run, "center_of_mass_velocity", q=model.nq, qd=model.nv)


def center_of_mass_jacobian_program(model: Model) -> Program:
    """Its Jacobian (3, nv) in the world, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"J": center_of_mass_jacobian(model, q, unpack(model, block))}

    return traced(model, run, "center_of_mass_jacobian", q=model.nq)


def loop_drive_program(model: Model) -> Program:
    """B (nv, drives) of q: what the drives in loop joints do in the tree."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"B": loop_drive_matrix(model, q, unpack(model, block))}

    return traced(model, run, "loop_drives", q=model.nq)


def loop_force_program(model: Model) -> Program:
    """Forces (loops, 6) on the successors of loop joints of q, qd, multipliers and efforts."""

    def run(q: Any, qd: Any, multipliers: Any, efforts: Any, block: Any) -> dict[str, Any]:
        forces = loop_joint_forces(model, q, qd, multipliers, efforts, unpack(model, block))
        return {"f": [force.components() for force in forces]}

    sizes = {"multipliers": model.constraint_count, "efforts": len(model.loop_drives)}
    return traced(model, run, "loop_forces", q=model.nq, qd=model.nv, **sizes)


def link_pose_program(model: Model, link: str) -> Program:
    """The pose (4, 4) of a link in the world, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        X0 = body_transforms(model, joint_transforms(model, q))
        return {"pose": link_pose(model.link(link), X0)}

    return traced(model, run, f"pose_{link}", q=model.nq)


def link_poses_program(model: Model) -> Program:
    """The poses (links, 4, 4) of all links in the world, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        X0 = body_transforms(model, joint_transforms(model, q))
        return {"poses": [link_pose(link, X0) for link in model.links]}

    return traced(model, run, "link_poses", q=model.nq)


def link_jacobian_program(model: Model, link: str, axes: Axes) -> Program:
    """The Jacobian (6, nv) of a link, angular first, of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        return {"J": link_jacobian(model, model.link(link), joint_transforms(model, q), q, axes)}

    return traced(model, run, f"jacobian_{link}", q=model.nq)


def frame_velocity_program(model: Model, link: str, axes: Axes) -> Program:
    """The velocity (6,) of a link, of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        return {"v": frame_velocity(model, model.link(link), q, qd, axes).components()}

    return traced(model, run, f"velocity_{link}", q=model.nq, qd=model.nv)


def frame_acceleration_program(model: Model, link: str, axes: Axes, kind: str) -> Program:
    """The acceleration (6,) of a link, of q, qd, qdd."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        a = frame_acceleration(model, model.link(link), q, qd, qdd, axes, kind == "classical")
        return {"a": a.components()}

    return traced(model, run, f"acceleration_{link}", q=model.nq, qd=model.nv, qdd=model.nv)


def bias_acceleration_program(model: Model, link: str, axes: Axes, kind: str) -> Program:
    """The acceleration (6,) of a link at zero qdd, of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        a = frame_acceleration(model, model.link(link), q, qd, None, axes, kind == "classical")
        return {"a": a.components()}

    return traced(model, run, f"bias_acceleration_{link}", q=model.nq, qd=model.nv)


def frame_forces_program(model: Model, link: str, axes: Axes) -> Program:
    """The joint forces (nv,) that a wrench on a link amounts to, of q and the wrench (6,)."""

    def run(q: Any, wrench: Any, block: Any) -> dict[str, Any]:
        return {"tau": frame_forces(model, model.link(link), q, wrench, axes)}

    return traced(model, run, f"forces_{link}", q=model.nq, wrench=6)


def gamma_program(closure: Closure) -> Program:
    """q (nq,) of the independent coordinates y."""
    return _trace_explicit(closure, lambda y, block: {"q": closure.positions(y)}, "gamma", "y")


def explicit_motion_program(closure: Closure) -> Program:
    """q, qd and qdd of the independent y, yd and ydd."""

    def run(y: Any, yd: Any, ydd: Any, block: Any) -> dict[str, Any]:
        motion = closure.motion(y, yd)
        qdd = [a + g for a, g in zip(times(motion.G, ydd), motion.g, strict=True)]
        return {"q": motion.q, "qd": motion.qd, "qdd": qdd}

    return _trace_explicit(closure, run, "explicit_motion", "y", "yd", "ydd")


def explicit_closure_program(closure: Closure) -> Program:
    """q, qd, G and g of y and yd."""

    def run(y: Any, yd: Any, block: Any) -> dict[str, Any]:
        return vars(closure.motion(y, yd))

    return _trace_explicit(closure, run, "explicit_closure", "y", "yd")


def explicit_terms_program(closure: Closure) -> Program:
    """M and c of y and yd."""

    def run(y: Any, yd: Any, block: Any) -> dict[str, Any]:
        terms = explicit_terms(closure, y, yd, unpack(closure.model, block))
        return {"M": terms.M, "c": terms.c}

    return _trace_explicit(closure, run, "explicit_terms", "y", "yd")


def explicit_forward_dynamics_program(closure: Closure) -> Program:
    """ydd of y, yd and tau (nv,)."""

    def run(y: Any, yd: Any, tau: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(closure.model, block)
        return {"ydd": explicit_forward_dynamics(closure, y, yd, tau, parameters)}

    return _trace_explicit(closure, run, "explicit_forward_dynamics", "y", "yd", "tau")


def explicit_inverse_dynamics_program(closure: Closure) -> Program:
    """G^T tau of y, yd and ydd."""

    def run(y: Any, yd: Any, ydd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(closure.model, block)
        return {"effort": explicit_inverse_dynamics(closure, y, yd, ydd, parameters)}

    return _trace_explicit(closure, run, "explicit_inverse_dynamics", "y", "yd", "ydd")


def bound_explicit(closure: Closure, algorithm: str, build: Callable[[], Program]) -> Any:
    """Return a compiled algorithm of closure functions as a NumPy function.

    What the user's functions compute, constants that they have caught included, is part of the
    key to the cache: it is read off their trace.
    """
    coordinates = repr([(c.name in closure.model.joint_names, c.nq) for c in closure.coordinates])
    key = b"\0".join(
        (algorithm.encode(), coordinates.encode(), gamma_program(closure).fingerprint)
    )
    return load_kernel(key + closure.model.structure_key, build).bind(pack(closure.model))


def _trace_explicit(
    closure: Closure, run: Callable[..., Mapping[str, Any]], name: str, *inputs: str
) -> Program:
    sizes = {"y": closure.size, "tau": closure.model.nv}
    shapes = {key: sizes.get(key, closure.dimension) for key in inputs}
    return trace(run, name=name, inputs=shapes, parameters=block_size(closure.model))


def bound(
    model: Model,
    algorithm: str,
    build: Callable[[], Program],
    lanes: int | None = None,
    more: Sequence[float] = (),
) -> Any:
    """Return the compiled algorithm of a model as a NumPy function that reads its parameters.

    Args:
        model: The model; its parameter block is taken now.
        algorithm: A name that together with the model's structure tells the code apart.
        build: Traces the program, if the cache does not hold it.
        lanes: States at a time in a batch; None for what the processor can do, 1 for scalar code.
        more: Parameters besides the model's.
    """
    key = algorithm.encode() + b"\0" + model.structure_key
    return shared_kernel(key, build, lanes).bind([*pack(model), *more])


def traced(
    model: Model, run: Callable[..., Mapping[str, Any]], name: str, **inputs: int | tuple[int, int]
) -> Program:
    """Return the program of a function of named inputs (their sizes) and the parameter block."""
    return trace(run, name=name, inputs=inputs, parameters=block_size(model))
