# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of docs/book.md: the algorithms of the book, their modules, and mutations of them.

After a rename correct `MODULES`, or the name of a function in the rows; names of local variables
may differ from the source, see `mutation`.
"""

from __future__ import annotations

from support.book import Row

#: Files in `robot_dynamics`; rows name them by these keys.
MODULES = {
    "graph": "compile/graph.py",
    "program": "compile/program.py",
    "accelerations": "contact/accelerations.py",
    "equations": "contact/equations.py",
    "impact": "contact/impact.py",
    "material": "contact/material.py",
    "points": "contact/points.py",
    "soft": "contact/soft.py",
    "solver": "contact/solver.py",
    "algorithm": "dynamics/algorithm.py",
    "alternative_assembly": "dynamics/alternative_assembly.py",
    "branch_sparsity": "dynamics/branch_sparsity.py",
    "closure_functions": "dynamics/closure_functions.py",
    "conditioning": "dynamics/conditioning.py",
    "couplings": "dynamics/couplings.py",
    "divide_and_conquer": "dynamics/divide_and_conquer.py",
    "energy": "dynamics/energy.py",
    "floating_base": "dynamics/floating_base.py",
    "forward": "dynamics/forward.py",
    "frame_motion": "dynamics/frame_motion.py",
    "hybrid": "dynamics/hybrid.py",
    "inertia_matrix": "dynamics/inertia_matrix.py",
    "inverse": "dynamics/inverse.py",
    "inverse_inertia": "dynamics/inverse_inertia.py",
    "luh_walker_paul": "dynamics/luh_walker_paul.py",
    "momentum": "dynamics/momentum.py",
    "connectivity": "model/connectivity.py",
    "equivalence": "model/equivalence.py",
    "derivatives": "scalar/derivatives.py",
    "linear_algebra": "scalar/linear_algebra.py",
    "events": "simulation/integrators/events.py",
    "integrate": "simulation/integrators/integrate.py",
    "runge_kutta": "simulation/runge_kutta.py",
    "frames": "robot/frames.py",
    "inertia": "spatial/inertia.py",
    "motion_force": "spatial/motion_force.py",
    "planar": "spatial/planar.py",
    "rotation": "spatial/rotation.py",
    "transform": "spatial/transform.py",
    "vector3": "spatial/vector3.py",
}

ROWS: dict[str, Row] = {
    "S1": Row(
        "Plücker transforms of motions, forces, inertias and articulated inertias (2.8, A.2)",
        "`{transform}`: `Transform`",
        (
            ("transform", "Transform.__mul__", "r.cross(item.angular)", "r.cross(item.angular) * 1.01"),
            ("transform", "Transform.__mul__", "E * y", "E * y * 1.01"),
            ("transform", "Transform._inverse_times_articulated", "I_old + correction", "I_old + correction + correction"),
        ),
    ),
    "S2": Row(
        "Cross products x and x*, and their identities (2.9, Tables 2.1 and 2.3)",
        "`{motion_force}`: `Motion.cross`, `Motion.cross_force`",
        (
            ("motion_force", "Motion.cross_force", "self.angular.cross(force.linear)", "self.angular.cross(force.linear) * 1.01"),
            ("motion_force", "Motion.cross", "self.angular.cross(other.linear)", "self.angular.cross(other.linear) * 1.01"),
        ),
    ),
    "S3": Row(
        "Spatial and classical accelerations (2.11, Eq 2.48 to 2.50)",
        "`{frame_motion}`; `Robot.acceleration(..., classical=True)`",
        (
            ("frame_motion", "frame_acceleration", "v.angular.cross(v.linear)", "v.angular.cross(v.linear) * 1.01"),
            ("inverse", "velocities_and_accelerations", "v_i.cross(vJ)", "v_i.cross(vJ) * 1.01"),
        ),
    ),
    "S4": Row(
        "Rigid-body inertia, its rate, kinetic energy (2.13)",
        "`{inertia}`: `Inertia`",
        (
            ("inertia", "Inertia.__mul__", "self.mass", "1.01 * self.mass"),
            ("inertia", "Inertia.components", "self.mass", "1.01 * self.mass"),
            ("inertia", "Inertia.__mul__", "self.I * v.angular", "self.I * v.angular * 1.01"),
        ),
    ),
    "S5": Row(
        "Inverse inertia, also of a constrained body (2.15, Eq 3.54)",
        "`{inertia}`: `Inertia.inverse_times`, `Inertia.constrained_inverse_times`",
        (
            ("inertia", "Inertia.inverse_times", "c.cross(spin)", "c.cross(spin) * 1.01"),
            ("inertia", "Inertia.constrained_inverse_times", "total + s * rate", "total + s * rate * 1.01"),
        ),
    ),
    "S6": Row(
        "Planar vectors, inertias and models (2.16, A.1)",
        "`{planar}`",
        (
            ("planar", "planar_inertia", "cx * cx + cy * cy", "cx * cx + 1.01 * cy * cy"),
            ("planar", "planar_displacement", "(d + c * d + s * b) * 0.5", "(d + c * d + s * b) * 0.505"),
        ),
    ),
    "S7": Row(
        "Displacement of a transform, XtoV, spatial and planar (A.1, A.2)",
        "`{transform}`: `Transform.displacement`; `{planar}`: `planar_displacement`",
        (
            ("transform", "Transform.displacement", "Motion(turn * 0.5, shift * 0.5)", "Motion(turn * 0.5, shift * 0.505)"),
            ("planar", "planar_displacement", "(d + c * d + s * b) * 0.5", "(d + c * d + s * b) * 0.505"),
        ),
    ),
    "S8": Row(
        "Types that refuse operations without meaning (A.3)",
        "`spatial/`: `Motion`, `Force`, `Transform`",
        (
            ("motion_force", "_require", "type(item) is not kind", "False"),
            ("motion_force", "_require_same_space", "type(a) is not type(b)", "False"),
            ("transform", "Transform.__mul__", "raise TypeError(...)", "return ..."),
        ),
    ),
    "S9": Row(
        "Screw axis and pitch of a motion (2.5, Eq 2.10)",
        "`{motion_force}`: `Motion.screw`",
        (
            ("motion_force", "Motion.screw", "self.angular.cross(self.linear) * along", "self.angular.cross(self.linear) * along * 1.01"),
        ),
    ),
    "M11": Row(
        "Prescribed motion in time (3.5)",
        "`Robot.hybrid_dynamics`; `rd.integrate(..., prescribed=...)`, `{integrate}`",
        (
            ("integrate", "_driven.driven", "prescribed[name](time)", "1.01 * np.asarray(prescribed[name](time))"),
        ),
    ),
    "E1": Row(
        "Inverse dynamics: recursive Newton-Euler (Table 5.1)",
        "`{inverse}`; `Robot.inverse_dynamics`",
        (
            ("inverse", "net_forces", "inertia * a_i + v_i.cross_force(inertia * v_i)", "inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)"),
            ("inverse", "net_forces", "v_i.cross_force(inertia * v_i)", "v_i.cross_force(inertia * v_i) * 1.01"),
        ),
    ),
    "E2": Row(
        "Its parts: gravity, velocity terms, accelerations (Eq 5.12, 5.13)",
        "`{inverse}`; `Robot.gravity`, `Robot.bias_forces`",
        (
            ("inverse", "bias_forces", "c - p", "1.01 * c - p"),
            ("inverse", "gravity_forces", "inertia * a_i", "inertia * a_i * 1.01"),
        ),
    ),
    "E3": Row(
        "External forces on any body (Eq 5.20)",
        "`Robot.external_forces`, of every algorithm; `external=` in `{inverse}`, `{forward}`",
        (
            ("inverse", "net_forces", "f - fx", "f - fx * 1.01"),
            ("forward", "velocity_terms", "p_i - external[i]", "p_i - external[i] * 1.01"),
            ("frame_motion", "frame_forces", "column.dot(force)", "1.01 * column.dot(force)"),
        ),
    ),
    "E4": Row(
        "The three-dimensional form of Luh, Walker and Paul (Table 5.2)",
        "`{luh_walker_paul}`",
        (
            ("luh_walker_paul", "luh_walker_paul", "w_p.cross(w_p.cross(r))", "w_p.cross(w_p.cross(r)) * 1.01"),
        ),
    ),
    "E5": Row(
        "Spatial forces in joints: loads of bearings (5.3)",
        "`{inverse}`: `joint_wrenches`; `Robot.joint_wrenches`",
        (
            ("inverse", "transmitted_forces", "Xup[i].inverse_times(f[i])", "Xup[i].inverse_times(f[i]) * 1.01"),
            ("frames", "FrameMotion.joint_wrenches", "outside[..., body, :] += moved", "outside[..., body, :] += 1.01 * moved"),
        ),
    ),
    "F1": Row(
        "Differential inverse dynamics: H times a vector (Table 6.1)",
        "`{inertia_matrix}`: `inertia_times`",
        (
            ("inertia_matrix", "inertia_times", "inertia * a_i", "inertia * a_i * 1.01"),
        ),
    ),
    "F2": Row(
        "Inertia matrix: composite rigid bodies (Table 6.2)",
        "`{inertia_matrix}`; `Robot.inertia_matrix`",
        (
            ("inertia_matrix", "composite_inertia_matrix", "s.dot(f)", "1.01 * s.dot(f)"),
            ("inertia_matrix", "composite_inertia_matrix", "s.dot(F[column])", "1.01 * s.dot(F[column])"),
            ("inertia_matrix", "composite_inertia_matrix", "[0.0]", "[0.01]"),
        ),
    ),
    "F3": Row(
        "Branch-induced sparsity: LTL and LTDL factors, expanded parents (Tables 6.3 and 6.4)",
        "`{branch_sparsity}`: `ltl`, `ltdl`; `{connectivity}`: `Tree.expanded`; in compiled programs `{linear_algebra}`: `factor`",
        (
            ("branch_sparsity", "ltl", "L[k][i] * L[k][j]", "1.01 * L[k][i] * L[k][j]"),
            ("branch_sparsity", "ltdl", "_above(k, parents)", "list(_above(k, parents))[1:]"),
            ("linear_algebra", "factor", "a * A[k][j]", "1.01 * a * A[k][j]"),
            ("connectivity", "Tree.expanded", "len(result) - 1", "len(result) - 2"),
        ),
    ),
    "F4": Row(
        "Sparse products and solutions with L, its transpose and H (Table 6.5)",
        "`{branch_sparsity}`; `{linear_algebra}`: `Factors`",
        (
            ("branch_sparsity", "times_factor", "y[i] + L[i][j] * x[j]", "y[i] + 1.01 * L[i][j] * x[j]"),
            ("branch_sparsity", "times_symmetric", "y[i] + H[i][j] * x[j]", "y[i] + 1.01 * H[i][j] * x[j]"),
            ("branch_sparsity", "solve_factor", "L[i][j] * x[j]", "1.01 * L[i][j] * x[j]"),
        ),
    ),
    "F5": Row(
        "Forward dynamics: articulated bodies (Table 7.1)",
        "`{forward}`; `Robot.tree_forward_dynamics`",
        (
            ("forward", "articulated_biases", "bodies[i].Ia * c[i]", "bodies[i].Ia * c[i] * 1.01"),
            ("forward", "forward_dynamics", "a_i.dot(column)", "1.01 * a_i.dot(column)"),
        ),
    ),
    "F6": Row(
        "Articulated-body inertias, inverse inertia matrix, operational-space inertia (7.2)",
        "`{forward}`, `{inverse_inertia}`; `Robot.articulated_bodies`, `Robot.inverse_inertia_matrix`, `Robot.operational_space_inertia`",
        (
            ("inverse_inertia", "inverse_inertia_matrix", "factor(H)", "factor([[1.01 * x for x in row] for row in H])"),
            ("inverse_inertia", "inverse_operational_inertia", "dot(half, scaled[j])", "1.01 * dot(half, scaled[j])"),
            ("forward", "articulated_biases", "bodies[i].Ia * c[i]", "bodies[i].Ia * c[i] * 1.01"),
            ("forward", "articulated_bodies", "Xup[i].inverse_times(Ia)", "Xup[i].inverse_times(IA[i])"),
        ),
    ),
    "F7": Row(
        "Alternative assembly formulas (Table 7.2)",
        "`{alternative_assembly}`",
        (
            ("alternative_assembly", "assembled_inverse", "(Phi1 + Phi2) @ joint.f", "(Phi1 + Phi2) @ joint.f * 1.01"),
            ("alternative_assembly", "assembled", "joint.f - p2", "joint.f - 1.01 * p2"),
            ("alternative_assembly", "assembled_inverse", "Phi1 @ joint.f", "1.01 * Phi1 @ joint.f"),
        ),
    ),
    "F8": Row(
        "Assembly with several handles: divide and conquer (7.5, Eq 7.63)",
        "`{divide_and_conquer}`",
        (
            ("divide_and_conquer", "put_together", "joint.T.T @ joint.c", "joint.T.T @ joint.c * 1.01"),
            ("divide_and_conquer", "put_together", "Phi @ G @ np.linalg.solve(Y, G.T @ Phi)", "1.01 * Phi @ G @ np.linalg.solve(Y, G.T @ Phi)"),
            ("divide_and_conquer", "put_together", "np.any(size == 0.0) or ...", "False"),
        ),
    ),
    "H1": Row(
        "Hybrid dynamics by the inertia matrix (Table 9.1)",
        "`{hybrid}`: `hybrid_dynamics_by_inertia_matrix`; `{connectivity}`: `Tree.merged`",
        (
            ("hybrid", "hybrid_dynamics_by_inertia_matrix", "c + m", "c + 1.01 * m"),
            ("hybrid", "hybrid_dynamics_by_inertia_matrix", "tau[k] - C[k]", "tau[k] - 1.01 * C[k]"),
            ("connectivity", "Tree.merged", "len(result) - 1", "len(result)"),
        ),
    ),
    "H2": Row(
        "Hybrid dynamics by articulated bodies (Table 9.3)",
        "`{hybrid}`: `hybrid_dynamics`; `Robot.hybrid_dynamics`",
        (
            ("hybrid", "hybrid_dynamics", "bodies[i].IA * a_i", "bodies[i].IA * a_i * 1.01"),
            ("hybrid", "hybrid_dynamics", "u_k - a_i.dot(column)", "u_k - 1.01 * a_i.dot(column)"),
            ("hybrid", "hybrid_dynamics", "s.dot(f) + x * rotor - own", "s.dot(f) + x * rotor - 1.01 * own"),
        ),
    ),
    "B1": Row(
        "Equation of motion of a floating base (Eq 9.13)",
        "`{floating_base}`: `floating_terms`",
        (
            ("floating_base", "floating_terms", "s_j.dot(push)", "1.01 * s_j.dot(push)"),
        ),
    ),
    "B2": Row(
        "Forward dynamics of a floating base (Tables 9.4 and 9.5)",
        "`{floating_base}`: `floating_forward_dynamics`, `FloatingTerms`; a floating joint of `Robot`",
        (
            ("floating_base", "floating_forward_dynamics", "-Motion.of(solved)", "-Motion.of(solved) * 1.01"),
        ),
    ),
    "B3": Row(
        "Inverse dynamics of a floating base (Table 9.6)",
        "`{floating_base}`: `floating_inverse_dynamics`; `Robot.hybrid_dynamics` with all joints but the base prescribed",
        (
            ("floating_base", "floating_inverse_dynamics", "Ic[i] * recoil[i]", "Ic[i] * recoil[i] * 1.01"),
            ("hybrid", "hybrid_dynamics", "c[i] + combined(S[i], qdd[at])", "c[i] + combined(S[i], qdd[at]) * 1.01"),
        ),
    ),
    "B4": Row(
        "Floating Jacobian, reduced matrices (Examples 9.2 and 9.4)",
        "`{floating_base}`: `floating_jacobian`, `FloatingTerms.reduced`",
        (
            ("floating_base", "FloatingTerms.reduced", "dot(self._column(i), columns[j])", "1.01 * dot(self._column(i), columns[j])"),
            ("floating_base", "floating_jacobian", "x - y", "x - 1.01 * y"),
        ),
    ),
    "B5": Row(
        "Momentum and kinetic energy (Example 9.3)",
        "`{momentum}`, `{energy}`; `Robot.momentum`, `Robot.energies`",
        (
            ("momentum", "momentum", "X.inverse_times(inertia * v)", "X.inverse_times(inertia * v) * 1.01"),
            ("momentum", "momentum", "inertia * v", "inertia * v * (1.0 + 0.01 * v.angular.x)"),
            ("energy", "body_energies", "v.dot(inertia * v) * 0.5", "v.dot(inertia * v) * 0.505"),
            ("momentum", "centroidal_momentum_matrix", "inertia * s", "inertia * s * 1.01"),
            ("floating_base", "floating_jacobian", "x - y", "x - 1.01 * y"),
            ("floating_base", "floating_terms", "Ic[i] * s", "Ic[i] * s * 1.01"),
        ),
    ),
    "G1": Row(
        "Gears: linear, nonlinear, differential (9.6)",
        "`{couplings}`; couplings of a model file; `Robot.with_closure(..., check=False)` for gears with a ratio that changes",
        (
            ("couplings", "with_couplings", "row[model.v_slices[body].start] = factor", "row[model.v_slices[body].start] = factor * (1.01 if body else 1.0)"),
            ("derivatives", "directional_derivative", "parts(s, depth)[1]", "1.01 * parts(s, depth)[1]"),
        ),
    ),
    "G2": Row(
        "Rotor inertia: exact, and by the shortcut (Example 9.5)",
        "`armature` of a joint: `{inertia_matrix}`, `{inverse}`, `{forward}`",
        (
            ("inertia_matrix", "composite_inertia_matrix", "rotors[row] if column == row else 0.0", "1.01 * rotors[row] if column == row else 0.0"),
            ("forward", "articulated_bodies", "rotors[row] if row == k else 0.0", "1.01 * rotors[row] if row == k else 0.0"),
            ("inverse", "inverse_dynamics", "tau[i] + qdd[i] * armature", "tau[i]"),
        ),
    ),
    "D1": Row(
        "Dynamic equivalence: simpler inertias (Table 9.7)",
        "`{equivalence}`: `simplified_inertias`",
        (
            ("equivalence", "simplified_inertias", "body.placement.inverse_times(shifted)", "body.placement.inverse_times(Inertia.of([1.01 * x for x in shifted.components()]))"),
            ("equivalence", "_indistinguishable", "return Inertia.zero()", "return Inertia.of([0.01 * x for x in inertia.components()])"),
        ),
    ),
    "A1": Row(
        "Operation counts of compiled programs (10.3); H of six links takes 412 and 391, Table 10.1 has 460 and 395",
        "`{program}`: `Program.operation_counts`",
        (
            ("transform", "Transform.inverse_times", "E.inverse_times(item.angular) + r.cross(linear)", "E.inverse_times(item.angular) + r.cross(linear) + r.cross(linear * 1e-09)"),
        ),
    ),
    "A2": Row(
        "Sensitivity: condition of the inertia matrix (10.2)",
        "`{conditioning}`; `Robot.conditioning`",
        (
            ("conditioning", "conditioning", "values[-1]", "1.01 * values[-1]"),
            ("inertia_matrix", "composite_inertia_matrix", "s.dot(f)", "1.01 * s.dot(f)"),
            ("inverse", "net_forces", "inertia * a_i + v_i.cross_force(inertia * v_i)", "inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)"),
        ),
    ),
    "A3": Row(
        "Round-off of body and base coordinates (10.1)",
        "`{planar}`",
        (
            ("inverse", "velocities_and_accelerations", "v_i.cross(vJ)", "v_i.cross(vJ * 1.01)"),
            ("planar", "planar_inertia", "cx * cx + cy * cy", "cx * cx + 1.01 * cy * cy"),
        ),
    ),
    "A4": Row(
        "Symbolic simplification: straight-line programs (10.4)",
        "`compile/`; `{algorithm}`",
        (
            ("inverse", "", 'Algorithm("inverse_dynamics", inverse_dynamics, ...)', 'Algorithm("inverse_dynamics", lambda *a: [1.01 * t for t in inverse_dynamics(*a)], ...)'),
            ("inertia_matrix", "", 'Algorithm("inertia_matrix", inertia_matrix, ...)', 'Algorithm("inertia_matrix", lambda *a: [[1.01 * x for x in r] for r in inertia_matrix(*a)], ...)'),
            ("vector3", "Vector3.cross", "self.x * other.y", "self.x * (1.01 * other.y)"),
            ("graph", "_scale", "value == 0.0", "value == 1e+300"),
        ),
    ),
    "A5": Row(
        "Compact vectors and inertias, and what they cost (A.3 to A.5)",
        "`spatial/`; `test/dynamics/test_book_numbers.py` has the counts",
        (
            ("motion_force", "Motion.dot", "self.angular.dot(force.angular)", "self.angular.dot(force.angular) + self.angular.x * 1e-09"),
            ("vector3", "Vector3.cross", "self.x * other.y", "self.x * (other.y + self.z)"),
            ("vector3", "Vector3.__add__", "self.x + other.x", "self.x + other.x + other.y"),
            ("rotation", "Rotation.inverse_times", "a[0] * v.x + b[0] * v.y + c[0] * v.z", "a[0] * v.x + b[0] * v.y + c[0] * v.z + a[1]"),
        ),
    ),
    "K1": Row(
        "Point contacts: N, T, M and d, the LCP and both quadratic programs (11.1 to 11.5)",
        "`{points}`: `Contacts`; `{equations}`: `contact_equations`, `contact_forces`",
        (
            ("points", "contact_geometry", "row[at] + value", "row[at] + 1.01 * value"),
            ("points", "Contacts.moving", "directional_derivative(rates, q, moving)", "directional_derivative(rates, q, [1.01 * x for x in moving])"),
            ("equations", "equations_of", "normals.T @ normals", "1.01 * normals.T @ normals"),
            ("equations", "equations_of", "normals.T @ free + drift", "normals.T @ free + 1.01 * drift"),
            ("equations", "contact_forces", "M @ force + d", "M @ force + 1.01 * d"),
            ("equations", "equations_of", "terms.drift[list(which)]", "0.0 * terms.drift[list(which)]"),
        ),
    ),
    "K2": Row(
        "Integration from event to event, interpolation within steps (11.5, Table 11.1)",
        "`{events}`, `{accelerations}`; `rd.integrate(..., contacts=...)`",
        (
            ("accelerations", "find_accelerations", "qdd[k] += free[k]", "qdd[k] += 1.01 * free[k]"),
            ("events", "EventSteps._impact", "self._contacts.restitution[hit]", "1.01 * self._contacts.restitution[hit]"),
            ("runge_kutta", "interpolation_weights", "(part,)", "(1.01 * part,)"),
            ("runge_kutta", "interpolation_weights", "part - 0.75 * part * part", "part - 0.74 * part * part"),
            ("events", "EventSteps._closing", "float(before.rate[i]) > STILL", "float(before.rate[i]) < STILL"),
            ("events", "EventSteps._first_event", "slips.releases(at(1.0), closed)", "False"),
        ),
    ),
    "K3": Row(
        "Impact of two bodies with restitution, sticking friction (11.7, Eq 11.65 and 11.72)",
        "`{impact}`: `impact`, `sticking_impact`",
        (
            ("impact", "newton_impulses", "restitution * closing", "1.01 * restitution * closing"),
            ("impact", "sticking_impact", "1.0 + e", "1.0 + 1.01 * e"),
            ("impact", "_with_slip", "-e", "-1.01 * e"),
            ("impact", "impact", "push @ impulse", "1.01 * push @ impulse"),
            ("impact", "_Slip._force", "-mu", "-1.01 * mu"),
            ("impact", "_poisson", "restitution * compression", "1.01 * restitution * compression"),
        ),
    ),
    "K4": Row(
        "Generalised impulses: H dqd = u (11.55 to 11.59)",
        "`{impact}`: `struck`",
        (
            ("impact", "struck", "metric.motion(metric.of_force(u))", "1.01 * metric.motion(metric.of_force(u))"),
            ("equations", "Metric.of_force", "self._Q @ (self._Q.T @ x)", "1.01 * self._Q @ (self._Q.T @ x)"),
        ),
    ),
    "K5": Row(
        "Soft contact with friction and tangential compliance (11.8, Eq 11.73 to 11.79)",
        "`{soft}`; `{material}`: `Material`; `rd.Simulation(robot, contacts=...)`",
        (
            ("soft", "normal_force", "np.multiply(stiffness, depth) + np.multiply(damping, rate)", "np.multiply(stiffness, depth) + np.multiply(damping, 1.01 * rate)"),
            ("soft", "friction_force", "(float(np.linalg.norm(stick)), friction * normal)", "(float(np.linalg.norm(stick)), 1.01 * friction * normal)"),
            ("soft", "normal_impulse", "springs.D[i]", "0.99 * springs.D[i]"),
            ("soft", "normal_impulse", "0.5 * K", "0.505 * K"),
            ("soft", "relaxed", "-rate", "-1.01 * rate"),
            ("solver", "contact_laws", "mu[i] * pushing", "1.01 * mu[i] * pushing"),
            ("soft", "displaced", "damping * x - h * force", "damping * x - 1.01 * h * force"),
        ),
    ),
    "K6": Row(
        "Contact sets: dependent contacts, edges and polygons as vertices (11.6)",
        "`{equations}`: `reduced_contacts`; `{points}`: `outline`",
        (
            ("points", "outline", "np.argmax(along)", "np.argmax(along) - 1"),
            ("equations", "reduced_contacts", "np.append(unit[:, i], rate[i])", "np.append(1.01 * unit[:, i], rate[i] - 1.0)"),
            ("equations", "reduced_contacts", "scale * drift", "0.0 * drift"),
        ),
    ),
    "N1": Row(
        "Six links in a zigzag: forces, accelerations, condition (10.2)",
        "`Robot.inverse_dynamics`, `Robot.forward_dynamics`, `Robot.inertia_matrix`",
        (
            ("inverse", "net_forces", "inertia * a_i + v_i.cross_force(inertia * v_i)", "inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)"),
        ),
    ),
    "N2": Row(
        "Round-off in a far frame (10.1)",
        "`{planar}`",
        (
            ("planar", "planar_inertia", "cx * cx + cy * cy", "cx * cx + 1.01 * cy * cy"),
        ),
    ),
    "N3": Row(
        "An actuator in a triangle (Figure 8.3)",
        "`{closure_functions}`; `Robot.with_closure`",
        (
            ("derivatives", "directional_derivative", "parts(s, depth)[1]", "1.01 * parts(s, depth)[1]"),
        ),
    ),
    "N4": Row(
        "Numbers of structures (Figure 4.6, Table 6.4, chapter 8)",
        "`{connectivity}`: `Tree`",
        (
            ("connectivity", "Tree.supports", "(body,)", "(body, body)"),
            ("branch_sparsity", "ltdl", "_above(k, parents)", "list(_above(k, parents))[1:]"),
            ("connectivity", "Tree.expanded", "WORLD if parent == WORLD else last[parent]", "WORLD if parent == WORLD else parent"),
        ),
    ),
    "N5": Row(
        "Examples with closed forms (Examples 3.2 and 7.1, Table 10.3)",
        "`Robot.articulated_bodies`; `compile/`",
        (
            ("forward", "articulated_bodies", "Ia.minus_dyad(column, scaled)", "Ia.minus_dyad(column, scaled * 1.01)"),
            ("couplings", "with_couplings", "row[model.v_slices[body].start] = factor", "row[model.v_slices[body].start] = factor * (1.01 if body else 1.0)"),
            ("vector3", "Vector3.cross", "self.x * other.y", "self.x * (1.01 * other.y)"),
        ),
    ),
    "N6": Row(
        "Published operation counts (Tables 6.6 and 10.1)",
        "`{program}`: `Program.operation_counts`; `{branch_sparsity}`",
        (
            ("branch_sparsity", "ltdl", "_above(k, parents)", "list(_above(k, parents))[1:]"),
            ("transform", "Transform.inverse_times", "E.inverse_times(item.angular) + r.cross(linear)", "E.inverse_times(item.angular) + r.cross(linear) + r.cross(linear * 1e-09)"),
        ),
    ),
    "N7": Row(
        "Operation counts of compact objects (Table A.4)",
        "`spatial/`",
        (
            ("motion_force", "Motion.dot", "self.angular.dot(force.angular)", "self.angular.dot(force.angular) + self.angular.x * 1e-09"),
            ("vector3", "Vector3.cross", "self.x * other.y", "self.x * (other.y + self.z)"),
            ("vector3", "Vector3.__add__", "self.x + other.x", "self.x + other.x + other.y"),
            ("rotation", "Rotation.inverse_times", "a[0] * v.x + b[0] * v.y + c[0] * v.z", "a[0] * v.x + b[0] * v.y + c[0] * v.z + a[1]"),
        ),
    ),
}  # fmt: skip
