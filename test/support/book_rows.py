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
    "S5": Row(
        "Inverse inertia, also of a constrained body (2.15, Eq 3.54)",
        '`spatial/inertia.py`: `Inertia.inverse_times`, `Inertia.constrained_inverse_times`',
        (
            ('spatial/inertia.py', '+ c.cross(spin))', '+ c.cross(spin) * 1.01)'),
            ('spatial/inertia.py', 'total = total + s * rate', 'total = total + s * rate * 1.01'),
        ),
    ),
    "S6": Row(
        "Planar vectors, inertias and models (2.16, A.1)",
        '`spatial/planar.py`',
        (
            ('spatial/planar.py', 'mass * (cx * cx + cy * cy)', 'mass * (cx * cx + 1.01 * cy * cy)'),
            ('spatial/planar.py', '(d + c * d + s * b) * 0.5', '(d + c * d + s * b) * 0.505'),
        ),
    ),
    "S7": Row(
        "Displacement of a transform, XtoV, spatial and planar (A.1, A.2)",
        '`spatial/transform.py`: `Transform.displacement`; `spatial/planar.py`: `planar_displacement`',
        (
            ('spatial/transform.py', 'shift * 0.5', 'shift * 0.505'),
            ('spatial/planar.py', '(d + c * d + s * b) * 0.5', '(d + c * d + s * b) * 0.505'),
        ),
    ),
    "S8": Row(
        "Types that refuse operations without meaning (A.3)",
        "`spatial/`: `Motion`, `Force`, `Transform`",
        (("spatial/motion_force.py", "if type(item) is not kind:", "if False:"),
         ("spatial/motion_force.py", "if type(a) is not type(b):", "if False:"),
         ("spatial/transform.py", 'raise TypeError(f"a Transform does not act', 'return (f"a Transform does not act')),
    ),
    "S9": Row(
        "Screw axis and pitch of a motion (2.5, Eq 2.10)",
        '`spatial/motion_force.py`: `Motion.screw`',
        (
            ('spatial/motion_force.py', 'self.angular.cross(self.linear) * along', 'self.angular.cross(self.linear) * along * 1.01'),
        ),
    ),
    "M11": Row(
        "Prescribed motion in time (3.5)",
        "`Robot.hybrid_dynamics`; `rd.integrate(..., prescribed=...)`, `simulation/integrators/integrate.py`",
        (("simulation/integrators/integrate.py", "value = prescribed[name](time)", "value = 1.01 * np.asarray(prescribed[name](time))"),),
    ),
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
    "E4": Row(
        "The three-dimensional form of Luh, Walker and Paul (Table 5.2)",
        '`dynamics/luh_walker_paul.py`',
        (
            ('dynamics/luh_walker_paul.py', 'w_p.cross(w_p.cross(r))', 'w_p.cross(w_p.cross(r)) * 1.01'),
        ),
    ),
    "E5": Row(
        "Spatial forces in joints: loads of bearings (5.3)",
        '`dynamics/inverse.py`: `joint_wrenches`; `Robot.joint_wrenches`',
        (
            ('dynamics/inverse.py', 'f[body.parent] = f[body.parent] + Xup[i].inverse_times(f[i])', 'f[body.parent] = f[body.parent] + Xup[i].inverse_times(f[i]) * 1.01'),
            ('robot/frames.py', 'outside[..., body, :] += moved', 'outside[..., body, :] += 1.01 * moved'),
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
        '`dynamics/branch_sparsity.py`: `ltl`, `ltdl`; `model/connectivity.py`: `Tree.expanded`; in compiled programs `scalar/linear_algebra.py`: `factor`',
        (
            ('dynamics/branch_sparsity.py', 'L[i][j] - L[k][i] * L[k][j]', 'L[i][j] - 1.01 * L[k][i] * L[k][j]'),
            ('dynamics/branch_sparsity.py', 'for i in _above(k, parents):\n            a =', 'for i in list(_above(k, parents))[1:]:\n            a ='),
            ('scalar/linear_algebra.py', 'A[i][j] - a * A[k][j]', 'A[i][j] - 1.01 * a * A[k][j]'),
            ('model/connectivity.py', 'before = len(result) - 1', 'before = len(result) - 2'),
        ),
    ),
    "F4": Row(
        "Sparse products and solutions with L, its transpose and H (Table 6.5)",
        '`dynamics/branch_sparsity.py`; `scalar/linear_algebra.py`: `Factors`',
        (
            ('dynamics/branch_sparsity.py', 'y[i] = y[i] + L[i][j] * x[j]', 'y[i] = y[i] + 1.01 * L[i][j] * x[j]'),
            ('dynamics/branch_sparsity.py', 'y[i] = y[i] + H[i][j] * x[j]', 'y[i] = y[i] + 1.01 * H[i][j] * x[j]'),
            ('dynamics/branch_sparsity.py', 'x[i] = x[i] - L[i][j] * x[j]', 'x[i] = x[i] - 1.01 * L[i][j] * x[j]'),
        ),
    ),
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
    "F7": Row(
        "Alternative assembly formulas (Table 7.2)",
        '`dynamics/alternative_assembly.py`',
        (
            ('dynamics/alternative_assembly.py', '(Phi1 + Phi2) @ joint.f)', '(Phi1 + Phi2) @ joint.f * 1.01)'),
            ('dynamics/alternative_assembly.py', 'np.linalg.solve(I2, joint.f - p2)', 'np.linalg.solve(I2, joint.f - 1.01 * p2)'),
            ('dynamics/alternative_assembly.py', 'b1 - Phi1 @ joint.f - Phi1', 'b1 - 1.01 * Phi1 @ joint.f - Phi1'),
        ),
    ),
    "F8": Row(
        "Assembly with several handles: divide and conquer (7.5, Eq 7.63)",
        '`dynamics/divide_and_conquer.py`',
        (
            ('dynamics/divide_and_conquer.py', 'z = joint.T.T @ joint.c - G.T @ b', 'z = joint.T.T @ joint.c * 1.01 - G.T @ b'),
            ('dynamics/divide_and_conquer.py', 'PhiA = Phi - Phi @ G', 'PhiA = Phi - 1.01 * Phi @ G'),
            ('dynamics/divide_and_conquer.py', 'if np.any(size == 0.0) or', 'if False and'),
        ),
    ),
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
    "B1": Row(
        "Equation of motion of a floating base (Eq 9.13)",
        '`dynamics/floating_base.py`: `floating_terms`',
        (
            ('dynamics/floating_base.py', 'H[row][m] = H[m][row] = s_j.dot(push)', 'H[row][m] = H[m][row] = 1.01 * s_j.dot(push)'),
        ),
    ),
    "B2": Row(
        "Forward dynamics of a floating base (Tables 9.4 and 9.5)",
        '`dynamics/floating_base.py`: `floating_forward_dynamics`, `FloatingTerms`; a floating joint of `Robot`',
        (
            ('dynamics/floating_base.py', 'a = [-Motion.of(solved)]  # a', 'a = [-Motion.of(solved) * 1.01]  # a'),
        ),
    ),
    "B3": Row(
        "Inverse dynamics of a floating base (Table 9.6)",
        '`dynamics/floating_base.py`: `floating_inverse_dynamics`; `Robot.hybrid_dynamics` with all joints but the base prescribed',
        (
            ('dynamics/floating_base.py', 'f = Ic[i] * recoil[i] + pc[i]', 'f = Ic[i] * recoil[i] * 1.01 + pc[i]'),
            ('dynamics/hybrid.py', 'c[i] = c[i] + combined(S[i], qdd[at])', 'c[i] = c[i] + combined(S[i], qdd[at]) * 1.01'),
        ),
    ),
    "B4": Row(
        "Floating Jacobian, reduced matrices (Examples 9.2 and 9.4)",
        '`dynamics/floating_base.py`: `floating_jacobian`, `FloatingTerms.reduced`',
        (
            ('dynamics/floating_base.py', 'H = [[self.H[i][j] - dot(', 'H = [[self.H[i][j] - 1.01 * dot('),
            ('dynamics/floating_base.py', '[x - y for x, y in zip(own, recoil', '[x - 1.01 * y for x, y in zip(own, recoil'),
        ),
    ),
    "B5": Row(
        "Momentum and kinetic energy (Example 9.3)",
        "`dynamics/momentum.py`, `dynamics/energy.py`; `Robot.momentum`, `Robot.energies`",
        (("dynamics/momentum.py", "X.inverse_times(inertia * v)", "X.inverse_times(inertia * v) * 1.01"),
         ("dynamics/momentum.py", "X.inverse_times(inertia * v)", "X.inverse_times((inertia * v) * (1.0 + 0.01 * v.angular.x))"),
         ("dynamics/energy.py", "v.dot(inertia * v) * 0.5", "v.dot(inertia * v) * 0.505"),
         ("dynamics/momentum.py", "(to_center * X.inverse_times(inertia * s))", "(to_center * X.inverse_times(inertia * s * 1.01))"),
         ("dynamics/floating_base.py", "[x - y for x, y in zip(own, recoil", "[x - 1.01 * y for x, y in zip(own, recoil"),
         ("dynamics/floating_base.py", "push, j, row = Ic[i] * s, i, first + k", "push, j, row = Ic[i] * s * 1.01, i, first + k")),
    ),
    "G1": Row(
        "Gears: linear, nonlinear, differential (9.6)",
        "`dynamics/couplings.py`; couplings of a model file; `Robot.with_closure(..., check=False)` for gears with a ratio that changes",
        ((_COUPLINGS, "row[model.v_slices[body].start] = factor", "row[model.v_slices[body].start] = factor * (1.01 if body else 1.0)"),
         ("scalar/derivatives.py", "return _map(lambda s: parts(s, depth)[0], result), _map(lambda s: parts(s, depth)[1], result)", "return _map(lambda s: parts(s, depth)[0], result), _map(lambda s: 1.01 * parts(s, depth)[1], result)")),
    ),
    "G2": Row(
        "Rotor inertia: exact, and by the shortcut (Example 9.5)",
        "`armature` of a joint: `dynamics/inertia_matrix.py`, `inverse.py`, `forward.py`",
        (("dynamics/inertia_matrix.py", "(rotors[row] if", "(1.01 * rotors[row] if"),
         ("dynamics/forward.py", "(rotors[row] if", "(1.01 * rotors[row] if")),
    ),
    "D1": Row(
        "Dynamic equivalence: simpler inertias (Table 9.7)",
        '`model/equivalence.py`: `simplified_inertias`',
        (
            ('model/equivalence.py', 'body.placement.inverse_times(shifted)', 'body.placement.inverse_times(Inertia.of([1.01 * x for x in shifted.components()]))'),
            ('model/equivalence.py', '    return Inertia.zero()\n', '    return Inertia.of([0.01 * x for x in inertia.components()])\n'),
        ),
    ),
    "A1": Row(
        "Operation counts of compiled programs (10.3); H of six links takes 412 and 391, Table 10.1 has 460 and 395",
        '`compile/program.py`: `Program.operation_counts`',
        (
            ('spatial/transform.py', 'r.cross(linear), linear)', 'r.cross(linear) + r.cross(linear * 1e-9), linear)'),
            ('spatial/transform.py', 'E * (item.linear - r.cross(item.angular))', 'E * (item.linear - r.cross(item.angular * 1.01))'),
        ),
    ),
    "A2": Row(
        "Sensitivity: condition of the inertia matrix (10.2)",
        '`dynamics/conditioning.py`; `Robot.conditioning`',
        (
            ('dynamics/conditioning.py', 'values[-1] / values[0])', '1.01 * values[-1] / values[0])'),
            ('dynamics/inertia_matrix.py', 'entry = s.dot(f)  #', 'entry = 1.01 * s.dot(f)  #'),
            ('dynamics/inverse.py', 'inertia * a_i + v_i.cross_force(inertia * v_i)', 'inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)'),
        ),
    ),
    "A3": Row(
        "Round-off of body and base coordinates (10.1)",
        '`spatial/planar.py`',
        (
            ('dynamics/inverse.py', 'v_i.cross(vJ)', 'v_i.cross(vJ * 1.01)'),
            ('spatial/planar.py', 'mass * (cx * cx + cy * cy)', 'mass * (cx * cx + 1.01 * cy * cy)'),
        ),
    ),
    "A4": Row(
        "Symbolic simplification: straight-line programs (10.4)",
        "`compile/`; `dynamics/algorithm.py`",
        (("dynamics/inverse.py", '"inverse_dynamics", inverse_dynamics, "', '"inverse_dynamics", lambda *a: [1.01 * t for t in inverse_dynamics(*a)], "'),
         ("dynamics/inertia_matrix.py", '"inertia_matrix", inertia_matrix, "', '"inertia_matrix", lambda *a: [[1.01 * x for x in r] for r in inertia_matrix(*a)], "'),
         ("spatial/vector3.py", "self.x * other.y - self.y * other.x,", "self.x * (1.01 * other.y) - self.y * other.x,"),
         ("compile/graph.py", "    if value == 0.0:\n        return 0.0\n    if a.operation", "    if value == 1e300:\n        return 0.0\n    if a.operation")),
    ),
    "A5": Row(
        "Compact vectors and inertias, and what they cost (A.3 to A.5)",
        '`spatial/`; `test/dynamics/test_book_numbers.py` has the counts',
        (
            ('spatial/motion_force.py', 'return self.angular.dot(force.angular) + self', 'return self.angular.dot(force.angular) + self.angular.x * 1e-9 + self'),
            ('spatial/vector3.py', 'self.x * other.y - self.y * other.x,', 'self.x * (other.y + self.z) - self.y * other.x,'),
            ('spatial/vector3.py', 'return Vector3(self.x + other.x,', 'return Vector3(self.x + other.x + other.y,'),
            ('spatial/rotation.py', '            a[0] * v.x + b[0] * v.y + c[0] * v.z,', '            a[0] * v.x + b[0] * v.y + c[0] * v.z + a[1],'),
        ),
    ),
    "K1": Row(
        "Point contacts: N, T, M and d, the LCP and both quadratic programs (11.1 to 11.5)",
        "`contact/points.py`: `Contacts`; `contact/equations.py`: `contact_equations`, `contact_forces`",
        (
            ("contact/points.py", "row[at] + value if sign > 0.0", "row[at] + 1.01 * value if sign > 0.0"),
            ("contact/points.py", "directional_derivative(rates, q, model.position_rate(q, qd))", "directional_derivative(rates, q, [1.01 * x for x in model.position_rate(q, qd)])"),
            ("contact/equations.py", "M, d = normals.T @ normals,", "M, d = 1.01 * normals.T @ normals,"),
            ("contact/equations.py", "normals.T @ free + drift", "normals.T @ free + 1.01 * drift"),
            ("contact/equations.py", "    for i, size in zip(which, own", "    drift = drift * 0.0\n    for i, size in zip(which, own"),
            ("contact/equations.py", "force, M @ force + d,", "force, M @ force + 1.01 * d,"),
        ),
    ),
    "K2": Row(
        "Integration from event to event, interpolation within steps (11.5, Table 11.1)",
        "`simulation/integrators/events.py`, `contact/accelerations.py`; `rd.integrate(..., contacts=...)`",
        (
            ("contact/accelerations.py", "qdd[k] += free[k]", "qdd[k] += 1.01 * free[k]"),
            ("simulation/integrators/events.py", "self._contacts.restitution[hit], 0.0)", "1.01 * self._contacts.restitution[hit], 0.0)"),
            ("simulation/runge_kutta.py", "return (part,)", "return (1.01 * part,)"),
            ("simulation/runge_kutta.py", "return (part - 0.75 * part * part, 0.75 * part * part)", "return (part - 0.74 * part * part, 0.75 * part * part)"),
            ("simulation/integrators/events.py", "float(before.rate[i]) > STILL", "float(before.rate[i]) < STILL"),
            ("simulation/integrators/events.py", "if slips.releases(at(1.0), closed):", "if False:"),
        ),
    ),
    "K3": Row(
        "Impact of two bodies with restitution, sticking friction (11.7, Eq 11.65 and 11.72)",
        "`contact/impact.py`: `impact`, `sticking_impact`",
        (
            ("contact/impact.py", "before + restitution * closing", "before + 1.01 * restitution * closing"),
            ("contact/impact.py", "wanted[:, 0] *= 1.0 + e", "wanted[:, 0] *= 1.0 + 1.01 * e"),
            ("contact/impact.py", "-e * e * compressed", "-1.01 * e * e * compressed"),
            ("contact/impact.py", "    change = push @ impulse\n", "    change = 1.01 * push @ impulse\n"),
            ("contact/impact.py", "        change = push @ impulse\n", "        change = 1.01 * push @ impulse\n"),
            ("contact/impact.py", "(-mu * v[1:] / slip)", "(-1.01 * mu * v[1:] / slip)"),
            ("contact/impact.py", "back = restitution * compression", "back = 1.01 * restitution * compression"),
        ),
    ),
    "K4": Row(
        "Generalised impulses: H dqd = u (11.55 to 11.59)",
        "`contact/impact.py`: `struck`",
        (
            ("contact/impact.py", "qd0 + metric.motion(metric.of_force(u))", "qd0 + 1.01 * metric.motion(metric.of_force(u))"),
            ("contact/equations.py", "x - self._Q @ (self._Q.T @ x)", "x - 1.01 * self._Q @ (self._Q.T @ x)"),
        ),
    ),
    "K5": Row(
        "Soft contact with friction and tangential compliance (11.8, Eq 11.73 to 11.79)",
        "`contact/soft.py`; `contact/material.py`: `Material`; `rd.Simulation(robot, contacts=...)`",
        (
            ("contact/soft.py", "np.multiply(damping, rate)", "np.multiply(damping, 1.01 * rate)"),
            ("contact/soft.py", "friction * normal\n", "1.01 * friction * normal\n"),
            ("contact/soft.py", "drag = law[i, 1] * way\n", "drag = 0.99 * law[i, 1] * way\n"),
            ("contact/soft.py", "0.5 * K * (first + last)", "0.505 * K * (first + last)"),
            ("contact/soft.py", "np.exp(-rate * time)", "np.exp(-1.01 * rate * time)"),
            ("contact/solver.py", "radius = mu[i] * pushing", "radius = 1.01 * mu[i] * pushing"),
            ("contact/soft.py", "(damping * x - h * force)", "(damping * x - 1.01 * h * force)"),
        ),
    ),
    "K6": Row(
        "Contact sets: dependent contacts, edges and polygons as vertices (11.6)",
        "`contact/equations.py`: `reduced_contacts`; `contact/points.py`: `outline`",
        (
            ("contact/points.py", "{int(np.argmin(along)), int(np.argmax(along))}", "{int(np.argmin(along)), int(np.argmax(along) - 1)}"),
            ("contact/equations.py", "np.append(unit[:, i], rate[i])", "np.append(1.01 * unit[:, i], rate[i] - 1.0)"),
            ("contact/equations.py", "rate = scale * drift", "rate = 0.0 * drift"),
        ),
    ),
    "N1": Row(
        "Six links in a zigzag: forces, accelerations, condition (10.2)",
        '`Robot.inverse_dynamics`, `Robot.forward_dynamics`, `Robot.inertia_matrix`',
        (
            ('dynamics/inverse.py', 'inertia * a_i + v_i.cross_force(inertia * v_i)', 'inertia * a_i * 1.01 + v_i.cross_force(inertia * v_i)'),
        ),
    ),
    "N2": Row(
        "Round-off in a far frame (10.1)",
        '`spatial/planar.py`',
        (
            ('spatial/planar.py', 'mass * (cx * cx + cy * cy)', 'mass * (cx * cx + 1.01 * cy * cy)'),
        ),
    ),
    "N3": Row(
        "An actuator in a triangle (Figure 8.3)",
        '`dynamics/closure_functions.py`; `Robot.with_closure`',
        (
            ('scalar/derivatives.py', 'return _map(lambda s: parts(s, depth)[0], result), _map(lambda s: parts(s, depth)[1], result)', 'return _map(lambda s: parts(s, depth)[0], result), _map(lambda s: 1.01 * parts(s, depth)[1], result)'),
        ),
    ),
    "N4": Row(
        "Numbers of structures (Figure 4.6, Table 6.4, chapter 8)",
        "`model/connectivity.py`: `Tree`",
        (("model/connectivity.py", "+ (body,))", "+ (body, body))"),
         ("dynamics/branch_sparsity.py", "for i in _above(k, parents):\n            a =", "for i in list(_above(k, parents))[1:]:\n            a ="),
         ("model/connectivity.py", "before = WORLD if parent == WORLD else last[parent]", "before = WORLD if parent == WORLD else parent")),
    ),
    "N5": Row(
        "Examples with closed forms (Examples 3.2 and 7.1, Table 10.3)",
        '`Robot.articulated_bodies`; `compile/`',
        (
            ('dynamics/forward.py', 'Ia = Ia.minus_dyad(column, scaled)', 'Ia = Ia.minus_dyad(column, scaled * 1.01)'),
            ("dynamics/couplings.py", "row[model.v_slices[body].start] = factor", "row[model.v_slices[body].start] = factor * (1.01 if body else 1.0)"),
            ('spatial/vector3.py', 'self.x * other.y - self.y * other.x,', 'self.x * (1.01 * other.y) - self.y * other.x,'),
        ),
    ),
    "N6": Row(
        "Published operation counts (Tables 6.6 and 10.1)",
        "`compile/program.py`: `Program.operation_counts`; `dynamics/branch_sparsity.py`",
        (("dynamics/branch_sparsity.py", "for i in _above(k, parents):\n            a =", "for i in list(_above(k, parents))[1:]:\n            a ="),
         ("spatial/transform.py", "r.cross(linear), linear)", "r.cross(linear) + r.cross(linear * 1e-9), linear)")),
    ),
    "N7": Row(
        "Operation counts of compact objects (Table A.4)",
        '`spatial/`',
        (
            ('spatial/motion_force.py', 'return self.angular.dot(force.angular) + self', 'return self.angular.dot(force.angular) + self.angular.x * 1e-9 + self'),
            ('spatial/vector3.py', 'self.x * other.y - self.y * other.x,', 'self.x * (other.y + self.z) - self.y * other.x,'),
            ('spatial/vector3.py', 'return Vector3(self.x + other.x,', 'return Vector3(self.x + other.x + other.y,'),
            ('spatial/rotation.py', '            a[0] * v.x + b[0] * v.y + c[0] * v.z,', '            a[0] * v.x + b[0] * v.y + c[0] * v.z + a[1],'),
        ),
    ),
}  # fmt: skip
