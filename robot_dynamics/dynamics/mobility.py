# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mobility of a mechanism, with its redundant constraints, independent coordinates and drives.

Section 8.10: the mobility is n - r, where r is the rank of the constraint Jacobian K. The rank is
computed from a matrix of ratios of distances (see `scaling`). The closure error limits the
accuracy of its entries: singular values below it count as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.actuation import actuation, actuation_words, drives_of
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.assembly import AssemblyError, assemble, require_closed
from robot_dynamics.dynamics.closure_search import Closure
from robot_dynamics.dynamics.independent import chosen_coordinates
from robot_dynamics.dynamics.rank import LARGEST_OPENING, ConstraintRank, constraint_rank
from robot_dynamics.dynamics.scaling import (
    coordinate_names,
    coordinate_scales,
    coordinates_of,
    model_length,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.wording import counted

# Distance of nearby configurations [rad, or lengths of the mechanism]: singular values that are
# zero here are of about this size there, far above any uncertainty.
_NEARBY = 0.05


@dataclass(frozen=True)
class Mobility:
    """Mobility of a mechanism at one configuration.

    Attributes:
        name: The mechanism.
        n: Velocities of the spanning tree.
        constraints: Number of loop constraints, n^c.
        rank: Number of independent constraints, r.
        mobility: n - r (8.52).
        redundant: Names of the constraints that the others imply, as "loop.direction".
        independent: Coordinates that determine the motion here, as many as the mobility.
        immobile: Coordinates that cannot move at all.
        nearby_ranks: Ranks at closed configurations nearby, ascending; empty if none was found, as
            in a mechanism that cannot move.
        drives: Coordinates with a drive, and then drives in loop joints.
        driven: Number of independent motions that the drives can force, rank of G_u (8.63).
        closure_error: Largest closure error of the loops [m], rotations at `length`.
        tolerance: The singular value that counts as zero, from the closure error and `length`.
        conditioning: Smallest singular value that does not count as zero; None without loops.
        length: The length [m] that makes rotations and displacements comparable.
    """

    name: str
    n: int
    constraints: int
    rank: int
    mobility: int
    redundant: tuple[str, ...]
    independent: tuple[str, ...]
    immobile: tuple[str, ...]
    nearby_ranks: tuple[int, ...]
    drives: tuple[str, ...]
    driven: int
    closure_error: float
    tolerance: float
    conditioning: float | None
    length: float

    @property
    def rank_drops(self) -> bool:
        """Whether configurations nearby have more independent constraints: a singularity."""
        return self.rank < max(self.nearby_ranks, default=self.rank)

    @property
    def underactuated(self) -> bool:
        """Whether there are motions that no drive acts on."""
        return self.driven < self.mobility

    @property
    def redundantly_actuated(self) -> bool:
        """Whether drives can work against each other."""
        return len(self.drives) > self.driven

    @property
    def actuation(self) -> str:
        """One of "none", "fully", "underactuated", "redundantly", "underactuated, redundantly"."""
        return actuation_words(self.mobility, len(self.drives), self.driven)

    def as_dict(self) -> dict[str, object]:
        """Return everything as JSON values."""
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {**values, "rank_drops": self.rank_drops, "actuation": self.actuation}

    def lines(self) -> list[str]:
        """Return the report for a person, a line each."""
        lines = [
            f"{self.name}: mobility {self.mobility} = {counted(self.n, 'coordinate')} - "
            f"{self.rank} independent of {counted(self.constraints, 'constraint')}"
        ]
        if self.redundant:
            lines.append(f"  redundant constraints: {', '.join(self.redundant)}")
        if self.mobility and self.constraints:
            lines.append(f"  independent coordinates: {', '.join(self.independent)}")
        if self.immobile:
            lines.append(f"  cannot move: {', '.join(self.immobile)}")
        if self.rank_drops:
            others = " or ".join(str(self.n - r) for r in reversed(self.nearby_ranks))
            lines.append(f"  singular: nearby the mobility is {others}")
        lines.append(f"  {self._drives_in_words()}")
        if self.constraints:
            lines.append(
                f"  loops open by {self.closure_error:.1e} m; smallest independent constraint "
                f"{self.conditioning or 0.0:.1e}, zero below {self.tolerance:.1e} "
                f"(at a length of {self.length:.3g} m)"
            )
        return lines

    def _drives_in_words(self) -> str:
        drives = counted(len(self.drives), "drive")
        if self.mobility == 0:
            return f"{drives}, nothing to move"
        motions = counted(self.mobility, "motion")
        kinds = {
            "none": "no drives",
            "fully": f"fully actuated by {drives}",
            "underactuated": f"underactuated: {drives} for {motions}",
            "redundantly": f"redundantly actuated: {drives} for {motions}",
            "underactuated, redundantly": f"underactuated, and yet {drives} move only "
            f"{self.driven} of {motions}",
        }
        return kinds[self.actuation]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def mobility(
    model: Model,
    closure: Closure,
    q: Array,
    *,
    independent: Sequence[str] = (),
    active: Iterable[str] | None = None,
    loop_drives: Callable[[Array], Array] | None = None,
    length: float | None = None,
    samples: int = 4,
    seed: int = 0,
) -> Mobility:
    """Return the mobility of a mechanism at a configuration.

    Args:
        model: The mechanism.
        closure: Returns K and the position error.
        q: Positions (nq,) that close the loops.
        independent: Joints or coordinates preferred as independent ones; the rest is
            chosen by complete pivoting.
        active: Joints, coordinates or drives in loop joints that act, instead of the model's.
        loop_drives: Returns the joint forces (nv, drives) of unit efforts of drives in loop
            joints.
        length: Length [m] at which a rotation counts like a displacement.
        samples: Number of checked nearby configurations.
        seed: Seed of their choice.

    Raises:
        ArgumentError: If `q` has the wrong size or is not finite, or there are more
            preferred coordinates than coordinates.
        AssemblyError: If the loops are open at `q` by more than a thousandth of the length, where
            the rank is not the rank of the closed mechanism. It names the loops and the gaps.
        RobotDynamicsError: If the preferred coordinates depend on one another.
    """
    q = finite_vector("q", q, model.nq)
    length = model_length(model) if length is None else length
    K, error = closure(q)
    require_closed(model, q, error, LARGEST_OPENING, length)
    ranked = constraint_rank(model, K, error, q, length=length)
    names = coordinate_names(model)
    motions = ranked.motions
    none = np.zeros((model.nv, len(model.loop_drives)))
    drives = drives_of(model, none if loop_drives is None else loop_drives(q), length, active)
    used = coordinate_scales(model, length)
    still = np.linalg.norm(motions * (length / used)[:, None], axis=1) <= ranked.doubt
    chosen = _independent_coordinates(model, ranked, independent)
    return Mobility(
        name=model.name,
        n=model.nv,
        constraints=model.constraint_count,
        rank=ranked.rank,
        mobility=model.nv - ranked.rank,
        redundant=ranked.redundant,
        independent=tuple(names[i] for i in chosen),
        immobile=tuple(name for name, is_still in zip(names, still, strict=True) if is_still),
        nearby_ranks=_nearby_ranks(model, closure, q, ranked, samples, seed),
        drives=drives.names,
        driven=actuation(ranked, drives).rank,
        closure_error=ranked.closure_error,
        tolerance=ranked.tolerance,
        conditioning=ranked.smallest,
        length=length,
    )


def _independent_coordinates(
    model: Model, ranked: ConstraintRank, preferred: Sequence[str]
) -> tuple[int, ...]:
    """Return coordinates whose velocities determine all others, with the preferred ones.

    Drivers of a gear are chosen before the driven joint, the first of its terms.
    """
    indices = [index for name in preferred for index in coordinates_of(model, name)]
    _, refused = chosen_coordinates(model, ranked, indices)
    drivers = [
        model.v_slices[body].start for gear in model.couplings for body, _ in gear.terms[1:]
    ]
    following = {model.v_slices[gear.terms[0][0]].start for gear in model.couplings}
    more = [i for i in dict.fromkeys(drivers) if i not in following and i not in indices]
    chosen, _ = chosen_coordinates(model, ranked, [*indices, *more])
    if refused:
        names = coordinate_names(model)
        others = ", ".join(names[i] for i in indices[: indices.index(refused[0])]) or "the loops"
        raise RobotDynamicsError(
            f"{model.name}: {names[refused[0]]!r} cannot be independent "
            f"here, its velocity follows from {others}; expected at "
            f"most {counted(len(chosen), 'coordinate')}, independent of one another."
        )
    return chosen


def _nearby_ranks(
    model: Model, closure: Closure, q: Array, ranked: ConstraintRank, samples: int, seed: int
) -> tuple[int, ...]:
    """Return the ranks at closed configurations a small step away along the free motions."""
    if not model.constraint_count or ranked.motions.shape[1] == 0:
        return ()
    rng = np.random.default_rng(seed)
    scales = coordinate_scales(model, ranked.length) / ranked.length
    found: set[int] = set()
    for _ in range(samples):
        direction = ranked.motions @ rng.normal(size=ranked.motions.shape[1])
        step = _NEARBY * direction / max(float(np.max(np.abs(direction))), 1e-300) / scales
        moved = np.array(model.integrate(q.tolist(), step.tolist()), dtype=float)
        # A configuration with the same closure error as here counts as closed.
        tolerance = max(1e-9, 10.0 * ranked.closure_error / ranked.length)
        try:
            near = assemble(
                model, closure, moved, limits=False, length=ranked.length, restarts=0,
                tolerance=tolerance,
            )  # fmt: skip
        except AssemblyError:
            continue
        found.add(constraint_rank(model, *closure(near.q), near.q, length=ranked.length).rank)
    return tuple(sorted(found))
