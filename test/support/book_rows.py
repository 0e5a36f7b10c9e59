# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/book.md: what they are, where they are, and changes that tests have to see."""

from __future__ import annotations

from support.book import Row

_COUPLINGS, _ARMATURE = "dynamics/couplings.py", "+ (rotors[row] if column == row else 0.0)"

ROWS: dict[str, Row] = {
    "S1": Row(
        "Plücker transforms of motions, forces, inertias and articulated inertias (2.8, A.2)",
        "`spatial/transform.py`: `Transform`",
        (
            ("spatial/transform.py", "item.linear - r.cross(item.angular))", "item.linear - r.cross(item.angular) * 1.01)"),
            ("spatial/transform.py", "Inertia(item.mass, E * y,", "Inertia(item.mass, E * y * 1.01,"),
            ("spatial/transform.py", "I_old + correction)", "I_old + correction + correction)"),
        ),
    ),
    "S2": Row(
        "Cross products x and x*, and their identities (2.9, Tables 2.1 and 2.3)",
        "`spatial/motion_force.py`: `Motion.cross`, `Motion.cross_force`",
        (("spatial/motion_force.py", "self.angular.cross(force.linear),", "self.angular.cross(force.linear) * 1.01,"),
         ("spatial/motion_force.py", "self.angular.cross(other.linear) +", "self.angular.cross(other.linear) * 1.01 +")),
    ),
    "S3": Row(
        "Spatial and classical accelerations (2.11, Eq 2.48 to 2.50)",
        "`dynamics/frame_motion.py`; `Robot.acceleration(..., classical=True)`",
        (("dynamics/frame_motion.py", "a.linear + v.angular.cross(v.linear)", "a.linear + v.angular.cross(v.linear) * 1.01"),
         ("dynamics/inverse.py", "c[i] + v_i.cross(vJ)", "c[i] + v_i.cross(vJ) * 1.01")),
    ),
    "S4": Row(
        "Rigid-body inertia, its rate, kinetic energy (2.13)",
        "`spatial/inertia.py`: `Inertia`",
        (("spatial/inertia.py", "v.linear * self.mass - self.h", "v.linear * (1.01 * self.mass) - self.h"),
         ("spatial/inertia.py", "return [self.mass, *self.h,", "return [1.01 * self.mass, *self.h,"),
         ("spatial/inertia.py", "self.I * v.angular +", "self.I * v.angular * 1.01 +")),
    ),
    "S5": Row("Inverse inertia, also of a constrained body (2.15, Eq 3.54)", "", ()),
    "S6": Row("Planar vectors, inertias and models (2.16, A.1)", "", ()),
    "S7": Row("Displacement of a transform, XtoV, spatial and planar (A.1, A.2)", "", ()),
    "S8": Row(
        "Types that refuse operations without meaning (A.3)",
        "`spatial/`: `Motion`, `Force`, `Transform`",
        (("spatial/motion_force.py", "if type(item) is not kind:", "if False:"),
         ("spatial/motion_force.py", "if type(a) is not type(b):", "if False:"),
         ("spatial/transform.py", 'raise TypeError(f"a Transform does not act', 'return (f"a Transform does not act')),
    ),
    "S9": Row("Screw axis and pitch of a motion (2.5, Eq 2.10)", "", ()),
    "M11": Row("Prescribed motion in time (3.5)", "", ()),
    "E1": Row(
        "Inverse dynamics: recursive Newton-Euler (Table 5.1)",
        "`dynamics/inverse.py`; `Robot.inverse_dynamics`",
        (("dynamics/inverse.py", "inertia * a_i + v_i.cross_force(inertia * v_i)", "inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)"),
         ("dynamics/inverse.py", "inertia * a_i + v_i.cross_force(inertia * v_i)", "inertia * a_i + v_i.cross_force(inertia * v_i) * 1.01")),
    ),
    "E2": Row(
        "Its parts: gravity, velocity terms, accelerations (Eq 5.12, 5.13)",
        "`dynamics/inverse.py`; `Robot.gravity`, `Robot.bias_forces`",
        (("dynamics/inverse.py", "return [c - p for c, p", "return [1.01 * c - p for c, p"),
         ("dynamics/inverse.py", "forces = [inertia * a_i for", "forces = [inertia * a_i * 1.01 for")),
    ),
    "E3": Row(
        "External forces on any body (Eq 5.20)",
        "`Robot.external_forces`, of every algorithm; `external=` in `dynamics/inverse.py`, `dynamics/forward.py`",
        (("dynamics/inverse.py", "f - fx for f, fx", "f - fx * 1.01 for f, fx"),
         ("dynamics/forward.py", "p_i - external[i])", "p_i - external[i] * 1.01)"),
         ("dynamics/frame_motion.py", "tau[index] = column.dot(force)", "tau[index] = 1.01 * column.dot(force)")),
    ),
    "E4": Row("The three-dimensional form of Luh, Walker and Paul (Table 5.2)", "", ()),
    "E5": Row(
        "Spatial forces in joints: loads of bearings (5.3)",
        '`dynamics/inverse.py`: `joint_wrenches`; `Robot.joint_wrenches`',
        (
            ('dynamics/inverse.py', 'f[body.parent] = f[body.parent] + Xup[i].inverse_times(f[i])', 'f[body.parent] = f[body.parent] + Xup[i].inverse_times(f[i]) * 1.01'),
            ('compiled_model.py', 'outside[..., frame.body, :] += np', 'outside[..., frame.body, :] += 1.01 * np'),
        ),
    ),
    "F1": Row(
        "Differential inverse dynamics: H times a vector (Table 6.1)",
        '`dynamics/inertia_matrix.py`: `inertia_times`',
        (
            ('dynamics/inertia_matrix.py', 'forces = [inertia * a_i for', 'forces = [inertia * a_i * 1.01 for'),
        ),
    ),
    "F2": Row(
        "Inertia matrix: composite rigid bodies (Table 6.2)",
        "`dynamics/inertia_matrix.py`; `Robot.inertia_matrix`",
        (("dynamics/inertia_matrix.py", "entry = s.dot(f)  #", "entry = 1.01 * s.dot(f)  #"),
         ("dynamics/inertia_matrix.py", "entry = s.dot(F[column])", "entry = 1.01 * s.dot(F[column])"),
         ("dynamics/inertia_matrix.py", "H: list[list[Scalar]] = [[0.0] *", "H: list[list[Scalar]] = [[0.01] *")),
    ),
    "F3": Row(
        "Branch-induced sparsity: LTL and LTDL factors, expanded parents (Tables 6.3 and 6.4)",
        "`model/connectivity.py`: `Tree.expanded`; `scalar/linear_algebra.py`: `factor`",
        (("scalar/linear_algebra.py", "A[i][j] - a * A[k][j]", "A[i][j] - 1.01 * a * A[k][j]"),
         ("scalar/linear_algebra.py", "if is_zero(A[k][i]):", "if False:"),
         ("model/connectivity.py", "before = len(result) - 1", "before = len(result) - 2")),
    ),
    "F4": Row("Sparse products and solutions with L, its transpose and H (Table 6.5)", "", ()),
    "F5": Row(
        "Forward dynamics: articulated bodies (Table 7.1)",
        "`dynamics/forward.py`; `Robot.tree_forward_dynamics`",
        (("dynamics/forward.py", "pa = pA[i] + bodies[i].Ia * c[i]", "pa = pA[i] + bodies[i].Ia * c[i] * 1.01"),
         ("dynamics/forward.py", "u_k - a_i.dot(column)", "u_k - 1.01 * a_i.dot(column)")),
    ),
    "F6": Row(
        "Articulated-body inertias, inverse inertia matrix, operational-space inertia (7.2)",
        '`dynamics/forward.py`, `dynamics/inverse_inertia.py`; `Robot.articulated_bodies`, `Robot.inverse_inertia_matrix`, `Robot.operational_space_inertia`',
        (
            ('dynamics/inverse_inertia.py', 'u[i] = [-s.dot(f)', 'u[i] = [-1.01 * s.dot(f)'),
            ('dynamics/inverse_inertia.py', 'dot(half, scaled[j])', '1.01 * dot(half, scaled[j])'),
            ('dynamics/forward.py', 'pa = pA[i] + bodies[i].Ia * c[i]', 'pa = pA[i] + bodies[i].Ia * c[i] * 1.01'),
            ('dynamics/forward.py', 'IA[body.parent] + Xup[i].inverse_times(Ia)', 'IA[body.parent] + Xup[i].inverse_times(IA[i])'),
        ),
    ),
    "F7": Row("Alternative assembly formulas (Table 7.2)", "", ()),
    "F8": Row("Assembly with several handles: divide and conquer (7.5, Eq 7.63)", "", ()),
    "H1": Row(
        "Hybrid dynamics by the inertia matrix (Table 9.1)",
        '`dynamics/hybrid.py`: `hybrid_dynamics_by_inertia_matrix`; `model/connectivity.py`: `Tree.merged`',
        (
            ('dynamics/hybrid.py', '[c + m for c, m in', '[c + 1.01 * m for c, m in'),
            ('dynamics/hybrid.py', '[tau[k] - C[k] for k in at]', '[tau[k] - 1.01 * C[k] for k in at]'),
            ('dynamics/inverse.py', 'tau[i] + qdd[i] * armature', 'tau[i]'),
            ('model/connectivity.py', 'carrier = len(result) - 1', 'carrier = len(result)'),
        ),
    ),
    "H2": Row(
        "Hybrid dynamics by articulated bodies (Table 9.3)",
        '`dynamics/hybrid.py`: `hybrid_dynamics`; `Robot.hybrid_dynamics`',
        (
            ('dynamics/hybrid.py', 'f = bodies[i].IA * a_i + pA[i]', 'f = bodies[i].IA * a_i * 1.01 + pA[i]'),
            ('dynamics/hybrid.py', 'u_k - a_i.dot(column)', 'u_k - 1.01 * a_i.dot(column)'),
            ('dynamics/hybrid.py', 'x * rotor - own', 'x * rotor - 1.01 * own'),
        ),
    ),
    "B1": Row("Equation of motion of a floating base (Eq 9.13)", "", ()),
    "B2": Row("Forward dynamics of a floating base (Tables 9.4 and 9.5)", "", ()),
    "B3": Row(
        "Inverse dynamics of a floating base (Table 9.6)",
        "`Robot.hybrid_dynamics` with all joints but the base prescribed",
        (("dynamics/hybrid.py", "c[i] = c[i] + combined(S[i], qdd[at])", "c[i] = c[i] + combined(S[i], qdd[at]) * 1.01"),),
    ),
    "B4": Row("Floating Jacobian, reduced matrices (Examples 9.2 and 9.4)", "", ()),
    "B5": Row(
        "Momentum and kinetic energy (Example 9.3)",
        "`dynamics/momentum.py`, `dynamics/energy.py`; `Robot.momentum`, `Robot.energies`",
        (("dynamics/momentum.py", "X.inverse_times(inertia * v)", "X.inverse_times(inertia * v) * 1.01"),
         ("dynamics/momentum.py", "X.inverse_times(inertia * v)", "X.inverse_times((inertia * v) * (1.0 + 0.01 * v.angular.x))"),
         ("dynamics/energy.py", "v.dot(inertia * v) * 0.5", "v.dot(inertia * v) * 0.505")),
    ),
    "G1": Row(
        "Gears: linear, nonlinear, differential (9.6)",
        "`dynamics/couplings.py`; couplings of a model file; `Robot.with_closure`",
        ((_COUPLINGS, "row[model.v_slices[body].start] = factor", "row[model.v_slices[body].start] = factor * (1.01 if body else 1.0)"),),
    ),
    "G2": Row(
        "Rotor inertia: exact, and by the shortcut (Example 9.5)",
        "`armature` of a joint: `dynamics/inertia_matrix.py`, `inverse.py`, `forward.py`",
        (("dynamics/inertia_matrix.py", "(rotors[row] if", "(1.01 * rotors[row] if"),
         ("dynamics/forward.py", "(rotors[row] if", "(1.01 * rotors[row] if")),
    ),
    "D1": Row("Dynamic equivalence: simpler inertias (Table 9.7)", "", ()),
    "A1": Row("Operation counts of compiled programs (10.3, Table 10.1)", "", ()),
    "A2": Row("Sensitivity: condition of the inertia matrix (10.2)", "", ()),
    "A3": Row("Round-off of body and base coordinates (10.1)", "", ()),
    "A4": Row(
        "Symbolic simplification: straight-line programs (10.4)",
        "`compile/`; `algorithms.py`",
        (("algorithms.py", 'return {"tau": inverse_dynamics(model, q, qd, qdd, unpack(model, block))}', 'return {"tau": [1.01 * t for t in inverse_dynamics(model, q, qd, qdd, unpack(model, block))]}'),
         ("algorithms.py", 'return {"H": inertia_matrix(model, q, unpack(model, block))}', 'return {"H": [[1.01 * x for x in r] for r in inertia_matrix(model, q, unpack(model, block))]}'),
         ("spatial/transform.py", "E, r = self.E, self.r\n        if isinstance(item, Motion):\n            angular", "E, r = self.E, self.r + Vector3(1e-9, 1e-9, 1e-9)\n        if isinstance(item, Motion):\n            angular")),
    ),
    "A5": Row("Compact vectors and inertias, and what they cost (A.3 to A.5)", "", ()),
    "N1": Row("Six links in a zigzag: forces, accelerations, condition (10.2)", "", ()),
    "N2": Row("Round-off in a far frame (10.1)", "", ()),
    "N3": Row("An actuator in a triangle (Figure 8.3)", "", ()),
    "N4": Row(
        "Numbers of structures (Figure 4.6, Table 6.4, chapter 8)",
        "`model/connectivity.py`: `Tree`",
        (("model/connectivity.py", "+ (body,))", "+ (body, body))"),
         ("model/connectivity.py", "before = WORLD if parent == WORLD else last[parent]", "before = WORLD if parent == WORLD else parent")),
    ),
    "N5": Row("Examples with closed forms (Examples 3.2 and 7.1, Table 10.3)", "", ()),
    "N6": Row("Published operation counts (Table 10.1)", "", ()),
    "N7": Row("Operation counts of compact objects (Table A.4)", "", ()),
}  # fmt: skip
