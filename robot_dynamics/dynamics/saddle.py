# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse systems `[[M, K^T], [K, 0]] [a; -lambda] = [f; k]` whose rows may depend on each other.

A sparse factorisation needs a matrix of full rank. Some rows, the soft ones, therefore get a small
compliance, -eps on the diagonal. Proximal iterations with the same factors remove its effect: each
reduces the error along a direction in which the constraints have strength s^2 by the factor eps /
(eps + s^2). Directions in which they hardly act are found by the same iterations on random
vectors, which converge to them. Their strength is then known to rounding: it is the size of K^T
times each of them. Those that count are removed from K and enforced separately, as rows of size
one.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import bmat, csr_matrix, diags
from scipy.sparse.linalg import splu

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError

# Root of the compliance, with M and the rows of K scaled to size one. A smaller one leaves more
# rounding of the factors, 1e-16 over its square, in directions without constraints: at 3e-7
# refinement still reaches rounding of the result.
_SOFTEST = 3e-7
# A constraint counts if it is stronger than rounding of sums of a few terms.
SMALLEST_TOLERANCE = 1e-13
_ITERATIONS = 60
# Each sweep damps directions of strength s^2 by eps / (eps + s^2) in the search vectors.
_SWEEPS, _BATCH = 3, 128
# With a larger share constraints hardly act: the sweeps reduce the others to rounding.
_HARDLY = 1e-3
_EXACT = 4.0 * np.finfo(float).eps
# Residual of refinement, as a share of the right-hand side, above which the solution failed.
_WORTHLESS = 1e-3
_SINGULAR = "the equations of motion of all bodies are singular: a moving body has no inertia."


class SaddlePoint:
    """The factors of a saddle-point matrix, and the null space of its soft rows.

    Attributes:
        tolerance: Least strength of a constraint that counts, as a share of its strength on free
            bodies.
        weakest: Approximate strength of the weakest constraint that counts; None without soft
            rows.
        null_space: Multipliers (rows, nullity) that affect no acceleration, to the tolerance.
        idle: Entries of the soft rows in it, divided by their weights (soft, nullity);
            orthonormal.
    """

    def __init__(
        self, M: csr_matrix, K: csr_matrix, weights: Array, tolerance: float = SMALLEST_TOLERANCE
    ) -> None:
        """Factor the matrix.

        Args:
            M: Symmetric (n, n); positive definite on the null space of K.
            K: Rows of constraints (rows, n). The first are hard and must be independent.
            weights: Scales of the soft rows, which are the last (soft,): lengths for rotations.
            tolerance: Least strength of a constraint that counts.

        Raises:
            RobotDynamicsError: If the matrix is still singular.
        """
        self._n, self._soft = M.shape[0], len(weights)
        diagonal = M.diagonal()
        known = diagonal > 0.0
        # Bodies without inertia are scaled like the others.
        typical = float(np.median(diagonal[known])) if known.any() else 1.0
        self._D = 1.0 / np.sqrt(np.where(known, diagonal, typical))
        K = K @ diags(self._D)
        size = np.sqrt(np.asarray(K.multiply(K).sum(axis=1)).ravel())
        self._R = 1.0 / np.where(size > 0.0, size, 1.0)
        K = diags(self._R) @ K
        M = diags(self._D) @ M @ diags(self._D)
        self._exact = bmat([[M, K.T], [K, None]], format="csr")
        self._weights = weights
        self._compliance = compliance = max(tolerance, _SOFTEST) ** 2
        softness = np.zeros(self._exact.shape[0])
        softness[len(softness) - self._soft :] = compliance
        try:
            self._factors = splu((self._exact - diags(softness)).tocsc())
        except RuntimeError as error:
            raise RobotDynamicsError(_SINGULAR) from error
        self.tolerance = tolerance
        self.weakest: float | None = None
        self.null_space = np.zeros((len(self._R), 0))
        self.idle = np.zeros((self._soft, 0))
        self._soft_null, self._soft_idle = self.null_space, self.idle
        self._directions = np.zeros((self._n, 0))
        self._combinations = self.null_space
        if self._soft:
            self._find_null_space()
        # Effect of a force along each direction on bodies subject to the other constraints.
        pushes = np.vstack([self._directions, 0.0 * self._combinations])
        responses = [self._refined(push) for push in pushes.T]
        self._response = np.reshape(responses, pushes.T.shape).T

    @property
    def fill(self) -> int:
        """Number of entries of the factors."""
        return int(self._factors.L.nnz + self._factors.U.nnz)

    def solve(self, f: Array, k: Array) -> tuple[Array, Array]:
        """Return accelerations (n,) and multipliers (rows,) for right-hand sides (n,), (rows,).

        Soft rows that contradict each other are satisfied in the least-squares sense. Multipliers
        that are not unique have the least norm, divided by the weights of their rows.

        Raises:
            RobotDynamicsError: If the solution is inaccurate because the matrix is nearly
                singular.
        """
        b = np.concatenate([self._D * f, self._R * k])
        x = self._refined(self._consistent(b))
        if self._directions.shape[1]:
            across = self._directions.T
            slack = self._combinations.T @ b[self._n :] - across @ x[: self._n]
            force = np.linalg.solve(across @ self._response[: self._n], slack)
            x = x + self._response @ force
            x[self._n :] -= self._combinations @ force
        a, multipliers = self._D * x[: self._n], -self._R * x[self._n :]
        if self.idle.shape[1]:
            soft = multipliers[len(multipliers) - self._soft :]
            multipliers = multipliers - self.null_space @ (self.idle.T @ (soft / self._weights))
        return a, multipliers

    def _refined(self, b: Array) -> Array:
        """Return accelerations and negative multipliers, scaled, for a scaled right-hand side.

        Directions in which soft rows hardly act are not changed.
        """
        x, left, size, slack = np.zeros_like(b), b, np.inf, np.inf
        for _ in range(_ITERATIONS):
            step = self._factors.solve(left)
            remaining = self._consistent(b - self._exact @ (x + step))
            after = float(np.max(np.abs(remaining), initial=0.0))
            # Multipliers of weak constraints are large; this shows whether these are satisfied.
            open_by = float(np.max(np.abs(remaining[self._n :]), initial=0.0))
            if not (after < 0.9 * size or open_by < 0.9 * slack):
                break  # rounding is all that is left, or nothing helps
            x, left, size, slack = x + step, remaining, after, open_by
            if size <= _EXACT * float(np.max(np.abs(x[: self._n]), initial=0.0)):
                break
        if not size <= _WORTHLESS * float(np.max(np.abs(b), initial=0.0)):
            raise RobotDynamicsError(_SINGULAR)
        return x

    def _consistent(self, b: Array) -> Array:
        """Return a right-hand side without its part along soft rows that hardly act."""
        if not self._soft_idle.shape[1]:
            return b
        soft = slice(len(b) - self._soft, None)
        unit = self._weights / self._R[len(self._R) - self._soft :]
        contradiction = self._soft_null.T @ (b[self._n :] / self._R)
        changed = b.copy()
        changed[soft] -= (self._soft_idle @ contradiction) / unit
        return changed

    def _find_null_space(self) -> None:
        """Find multipliers that affect no acceleration, by iteration on random vectors.

        Directions found are removed from the next vectors; the search ends when a vector has an
        effect.
        """
        soft = self._soft
        random = np.random.default_rng(0)
        found, full = np.zeros((soft, 0)), np.zeros((len(self._R), 0))
        count = 1
        while found.shape[1] < soft:
            count = min(count, soft - found.shape[1])
            block = random.normal(size=(soft, count))
            for _ in range(_SWEEPS):
                block = np.linalg.qr(_without(block, found))[0]
                response = self._softened(block)
                block, start = response[len(response) - soft :], block
            # eps / (eps + s^2): 1 where constraints do not act
            share, turn = np.linalg.eigh(start.T @ block)
            nothing = share > _HARDLY
            response = response @ turn[:, nothing]
            response = response - full @ (found.T @ response[len(response) - soft :])
            Q, upper = np.linalg.qr(response[len(response) - soft :])
            if nothing.any():
                found = np.hstack([found, Q])
                full = np.hstack([full, np.linalg.solve(upper.T, response.T).T])
            if not nothing.all():
                largest = max(float(share[~nothing][-1]), float(np.finfo(float).tiny))
                self.weakest = float(np.sqrt(self._compliance * (1.0 / largest - 1.0)))
                break
            count = min(2 * count, _BATCH)
        if found.shape[1]:
            self._sort_out(np.linalg.qr(full)[0])

    def _sort_out(self, full: Array) -> None:
        """Separate orthonormal multipliers (rows, d) without effect from those with some effect.

        If K^T times one of them has size s, K a = k gives the part of a along it: the multiplier's
        part of k over s, so that s divides once.
        """
        Q, upper = np.linalg.qr(self._exact[self._n :, : self._n].T @ full)
        along, sizes, turn = np.linalg.svd(upper)
        acting = sizes[sizes > self.tolerance]
        full = full @ turn.T
        count = len(acting)
        self._directions = Q @ along[:, :count]
        self._combinations = full[:, :count] / acting
        if count:
            self.weakest = float(acting[-1])
        self._soft_null, self._soft_idle = self._of_soft_rows(full)
        self.null_space, self.idle = self._of_soft_rows(full[:, count:])

    def _of_soft_rows(self, full: Array) -> tuple[Array, Array]:
        """Return multipliers (rows, d) in units, and their orthonormal part in the soft rows."""
        null = self._R[:, None] * full
        idle, upper = np.linalg.qr(null[len(null) - self._soft :] / self._weights[:, None])
        return np.linalg.solve(upper.T, null.T).T, idle

    def _softened(self, block: Array) -> Array:
        """Return eps (A + eps)^-1 block, with the multipliers of the hard rows before it.

        Here A = K M^-1 K^T of the soft rows, with the hard rows always enforced.
        """
        b = np.zeros((self._exact.shape[0], block.shape[1]))
        b[len(b) - self._soft :] = -self._compliance * block
        solution: Array = self._factors.solve(b)[self._n :]
        return solution


def _without(block: Array, basis: Array) -> Array:
    """Return vectors (n, m) without their parts along an orthonormal basis (n, d)."""
    return block - basis @ (basis.T @ block)
