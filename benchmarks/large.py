# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Chains, trees and rings of up to 300 bodies, which are compiled as loops over bodies.

Compilation of what has several compiled parts is that of those which no row before it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from benchmarks.rows import Row
from benchmarks.timing import interleaved
from robot_dynamics.compile.kernel import compile_program
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.independent_rows import CLOSED_FORWARD_DYNAMICS
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import INVERSE_DYNAMICS
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_pose
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    Model,
    build,
    pose,
)
from robot_dynamics.model.parameters import pack
from robot_dynamics.robot import Robot

CHAINS, TREES, RINGS = (10, 100, 200, 300), (100, 200, 300), (100, 200, 300)
# Chains and rings of which matrices over all pairs of joints are compared.
MATRICES = (100, 300)
STATES, ROUNDS = 20, 7
# Max-norm relative, accelerations over the condition of H: some ten roundings a body.
TOLERANCE = 1e-12


def random_mechanism(bodies: int, chain: bool) -> Mechanism:
    """Return revolute joints anywhere on links of any inertia, in a row or on random parents."""
    rng = np.random.default_rng(0)
    links, joints = [LinkElement("link0")], []
    for i in range(1, bodies + 1):
        axes = Rotation.random(random_state=rng).as_matrix()
        moments = rng.uniform(0.02, 0.03, 3)
        inertia = axes @ np.diag(moments) @ axes.T
        links.append(LinkElement(f"link{i}", 1.0, tuple(0.1 * rng.normal(size=3)), inertia))
        at = pose(0.3 * rng.normal(size=3), Rotation.random(random_state=rng).as_matrix())
        axis = rng.normal(size=3)
        parent = f"link{i - 1 if chain else rng.integers(0, i)}"
        unit = tuple(axis / np.linalg.norm(axis))
        joints.append(JointElement(f"joint{i}", "revolute", parent, f"link{i}", at, unit))
    return Mechanism("large", tuple(links), tuple(joints))


def in_pinocchio(mechanism: Mechanism, model: Model) -> tuple[pin.Model, np.ndarray]:
    """Return the tree in Pinocchio, depth first as its CRBA expects, and the order of ours."""
    theirs = pin.Model()
    theirs.gravity.linear = np.array(model.gravity)
    links = {link.name: link for link in mechanism.links}
    below: dict[str, list[JointElement]] = {}
    for joint in mechanism.joints:
        below.setdefault(joint.parent, []).append(joint)
    waiting = [(joint, 0) for joint in reversed(below[mechanism.root])]
    while waiting:
        joint, parent = waiting.pop()
        kind, link = pin.JointModelRevoluteUnaligned(np.array(joint.axis)), links[joint.child]
        at = theirs.addJoint(parent, kind, pin.SE3(np.array(joint.placement)), joint.name)
        inertia = pin.Inertia(link.mass, np.array(link.center), np.array(link.inertia))
        theirs.appendBodyToJoint(at, inertia, pin.SE3.Identity())
        waiting += [(other, at) for other in reversed(below.get(joint.child, []))]
    names = [body.joint.name for body in model.bodies]
    return theirs, np.array([theirs.joints[theirs.getJointId(name)].idx_v for name in names])


def _seconds() -> float:
    """Return the time that processors have spent on this process and on those it started."""
    return sum(os.times()[:4])


def _compiled(model: Model, algorithm: Algorithm):
    """Return an algorithm as a function, and the seconds from the model to machine code."""
    start = _seconds()
    function = compile_program(algorithm.program(model), lanes=1).bind(pack(model))
    return function, _seconds() - start


def rows_of(rounds: int) -> list[Row]:
    """Return the rows of all.

    Raises:
        AssertionError: If a result is another than Pinocchio's.
    """
    rounds = min(rounds, ROUNDS)
    rows = []
    for bodies in CHAINS:
        rows += _open(f"chain of {bodies}", random_mechanism(bodies, True), rounds)
    for bodies in TREES:
        rows += _open(f"tree of {bodies}", random_mechanism(bodies, False), rounds)
    for bodies in RINGS:
        rows.append(_ring(bodies, rounds))
    for bodies in MATRICES:
        rows += _matrices(bodies, rounds)
    return rows


def _open(name: str, mechanism: Mechanism, rounds: int) -> list[Row]:
    model = build(mechanism)
    theirs, order = in_pinocchio(mechanism, model)
    data, pool = theirs.createData(), pin.ModelPool(theirs, 1)
    rng, n = np.random.default_rng(1), model.nv
    q, qd, x = rng.normal(size=(3, STATES, n))
    back = np.argsort(order)
    columns = [np.asfortranarray(part[:, back].T) for part in (q, qd, x)]
    found = np.zeros((n, STATES), order="F")
    kernels = {
        "rnea": _compiled(model, INVERSE_DYNAMICS),
        "crba": _compiled(model, INERTIA_MATRIX),
        "aba": _compiled(model, TREE_FORWARD_DYNAMICS),
    }
    outs = {"rnea": np.empty((STATES, n)), "aba": np.empty((STATES, n)), "crba": np.empty((n, n))}

    def crba() -> None:
        for column in columns[0].T:
            pin.crba(theirs, data, column)

    def our_crba() -> None:  # into the same matrix, as Pinocchio does
        for row in q:
            kernels["crba"][0](row, out=outs["crba"])

    functions = {
        "rnea": lambda: kernels["rnea"][0](q, qd, x, out=outs["rnea"]),
        "aba": lambda: kernels["aba"][0](q, qd, x, out=outs["aba"]),
        "crba": our_crba,
        "pin.rneaInParallel": lambda: pin.rneaInParallel(1, pool, *columns, found),
        "pin.abaInParallel": lambda: pin.abaInParallel(1, pool, *columns, found),
        "pin.crba": crba,
    }
    peers = {"rnea": "pin.rneaInParallel", "crba": "pin.crba", "aba": "pin.abaInParallel"}
    errors = {}
    for short, peer in peers.items():
        functions[short]()
        functions[peer]()
        if short == "crba":
            upper = np.triu(data.M)
            expected = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
        else:
            expected = found.T[:, order]
        scale = np.abs(expected).max() * (np.linalg.cond(outs["crba"]) if short == "aba" else 1.0)
        errors[short] = float(np.abs(outs[short] - expected).max() / scale)
        if not errors[short] < TOLERANCE:
            raise AssertionError(f"{name}: {short} is off by {errors[short]:.1e}.")
    timings = interleaved(functions, dict.fromkeys(functions, STATES), rounds)
    return [
        Row.of(
            timings[short],
            timings[peer],
            robot=name,
            algorithm=short,
            mode="loop" if short != "crba" else "call",
            lanes=1,
            peer=peer,
            max_rel_error=errors[short],
            bodies=len(model.bodies),
            compiled_s=kernels[short][1],
        )
        for short, peer in peers.items()
    ]


def _closed(chain: Mechanism, q: np.ndarray) -> tuple[Model, np.ndarray]:
    """Return a chain whose end is fixed where it is, and the pose of its end."""
    model = build(chain)
    last, Xup = model.links[-1], joint_transforms(model, q.tolist())
    at = np.array(link_pose(last, body_transforms(model, Xup)), dtype=float)
    loop = LoopElement("closure", "fixed", chain.root, last.name, at, np.eye(4))
    return build(replace(chain, loops=(loop,))), at


def _closed_in_pinocchio(theirs: pin.Model, at: np.ndarray) -> tuple[Any, Any]:
    """Return the same constraint in Pinocchio, and its data."""
    frames, end = (pin.SE3(at), pin.SE3.Identity()), theirs.njoints - 1
    constraint = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, theirs, 0, frames[0], end, frames[1], pin.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    return models, datas


def _ring(bodies: int, rounds: int) -> Row:
    chain, rng = random_mechanism(bodies, True), np.random.default_rng(1)
    q, qd, tau = rng.normal(size=bodies), np.zeros(bodies), rng.normal(size=bodies)
    ring, at = _closed(chain, q)
    function, seconds = _compiled(ring, CLOSED_FORWARD_DYNAMICS)
    theirs, _ = in_pinocchio(chain, ring)
    data = theirs.createData()
    models, datas = _closed_in_pinocchio(theirs, at)
    pin.initConstraintDynamics(theirs, data, models, datas)
    out = np.empty(bodies + 2)
    functions = {
        "ours": lambda: function(q, qd, tau, out=out),
        "theirs": lambda: pin.constraintDynamics(theirs, data, q, qd, tau, models, datas),
    }
    functions["ours"]()
    expected = functions["theirs"]()
    condition = np.linalg.cond(pin.crba(theirs, data, q))
    error = float(np.abs(out[:-2] - expected).max() / np.abs(expected).max() / condition)
    if not error < TOLERANCE:
        raise AssertionError(f"ring of {bodies}: accelerations are off by {error:.1e}.")
    timings = interleaved(functions, dict.fromkeys(functions, 1), rounds)
    return Row.of(
        timings["ours"],
        timings["theirs"],
        robot=f"ring of {bodies}",
        algorithm="closed_loop_forward_dynamics",
        mode="call",
        lanes=1,
        peer="pin.constraintDynamics",
        max_rel_error=error,
        bodies=bodies,
        compiled_s=seconds,
    )


def _matrices(bodies: int, rounds: int) -> list[Row]:
    """Return the rows of what has an entry for every pair of joints, as calls from Python."""
    chain, rng = random_mechanism(bodies, True), np.random.default_rng(1)
    q, tau = rng.normal(size=(2, bodies))
    qd = 0.1 * rng.normal(size=bodies)
    model = build(chain)
    open_robot = Robot(model)
    ring, at = _closed(chain, q)
    closed_robot = Robot(ring)
    K, _ = closed_robot.closure(q)
    closed_qd = qd - np.linalg.pinv(K) @ (K @ qd)
    theirs, _ = in_pinocchio(chain, model)
    data = theirs.createData()
    models, datas = _closed_in_pinocchio(theirs, at)

    def symmetric(matrix: np.ndarray) -> np.ndarray:
        return np.triu(matrix) + np.triu(matrix, 1).T

    def constrained() -> None:
        pin.constraintDynamics(theirs, data, q, closed_qd, tau, models, datas)
        pin.computeConstraintDynamicsDerivatives(theirs, data, models, datas)

    pin.initConstraintDynamics(theirs, data, models, datas)
    # Into the same matrices, as Pinocchio does.
    matrices = [np.empty((bodies, bodies)) for _ in range(3)]
    regressor = np.empty((bodies, 10 * bodies))
    # Our function, Pinocchio's, where that leaves its results, and of what ours are multiplied.
    cases = {
        "rnea_derivatives": (
            lambda: open_robot.inverse_dynamics_derivatives(q, qd, tau, out=tuple(matrices)),
            lambda: pin.computeRNEADerivatives(theirs, data, q, qd, tau),
            lambda: (data.dtau_dq, data.dtau_dv, symmetric(data.M)),
            "pin.computeRNEADerivatives",
        ),
        "aba_derivatives": (
            lambda: open_robot.forward_dynamics_derivatives(q, qd, tau, out=tuple(matrices))[:3],
            lambda: pin.computeABADerivatives(theirs, data, q, qd, tau),
            lambda: (data.ddq_dq, data.ddq_dv, symmetric(data.Minv)),
            "pin.computeABADerivatives",
        ),
        "inverse_inertia_matrix": (
            lambda: (open_robot.inverse_inertia_matrix(q, out=matrices[0]),),
            lambda: pin.computeMinverse(theirs, data, q),
            lambda: (symmetric(data.Minv),),
            "pin.computeMinverse",
        ),
        "coriolis_matrix": (
            lambda: (open_robot.coriolis_matrix(q, qd, out=matrices[0]),),
            lambda: pin.computeCoriolisMatrix(theirs, data, q, qd),
            lambda: (data.C,),
            "pin.computeCoriolisMatrix",
        ),
        "regressor": (
            lambda: (open_robot.inverse_dynamics_regressor(q, qd, tau, out=regressor),),
            lambda: pin.computeJointTorqueRegressor(theirs, data, q, qd, tau),
            lambda: (data.jointTorqueRegressor,),
            "pin.computeJointTorqueRegressor",
        ),
        "closed_loop_derivatives": (
            lambda: closed_robot.forward_dynamics_derivatives(q, closed_qd, tau)[:3],
            constrained,
            lambda: (data.ddq_dq, data.ddq_dv, data.ddq_dtau),
            "pin.constraintDynamics, computeConstraintDynamicsDerivatives",
        ),
    }
    # The condition of H magnifies what rounding changes in accelerations.
    condition = np.linalg.cond(open_robot.inertia_matrix(q))
    rows = []
    for algorithm, (ours, peers, results, peer) in cases.items():
        seconds = _cold_seconds(ours)
        found = ours()
        peers()
        solved = algorithm not in ("rnea_derivatives", "coriolis_matrix", "regressor")
        error = max(
            float(np.abs(a - b).max() / np.abs(b).max() / (condition if solved else 1.0))
            for a, b in zip(found, results(), strict=True)
        )
        if not error < TOLERANCE:
            raise AssertionError(f"{bodies} bodies: {algorithm} is off by {error:.1e}.")
        functions = {"ours": ours, "theirs": peers}
        timings = interleaved(functions, dict.fromkeys(functions, 1), rounds)
        rows.append(
            Row.of(
                timings["ours"],
                timings["theirs"],
                robot=f"{'ring' if algorithm.startswith('closed') else 'chain'} of {bodies}",
                algorithm=algorithm,
                mode="call",
                lanes=1,
                peer=peer,
                max_rel_error=error,
                bodies=bodies,
                compiled_s=seconds,
            )
        )
    return rows


def _cold_seconds(function: Callable[[], object]) -> float:
    """Return the processor time of a first call, whose machine code is not in the cache."""
    cache = os.environ.get("ROBOT_DYNAMICS_CACHE")
    os.environ["ROBOT_DYNAMICS_CACHE"] = "0"
    try:
        start = _seconds()
        function()
        return _seconds() - start
    finally:
        del os.environ["ROBOT_DYNAMICS_CACHE"]
        if cache is not None:
            os.environ["ROBOT_DYNAMICS_CACHE"] = cache
