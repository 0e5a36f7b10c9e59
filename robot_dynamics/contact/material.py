# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact material of two touching bodies: friction, restitution, and compliance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import FrictionCone

_NEAR_ONE = 1e-5  # less loss than this is the limit's, to this part of it
_LEAST = 0.01  # restitution: below it the damping grows without bound
# Ranges of the numbers of a material, in the order of the checks.
_RANGES: tuple[tuple[tuple[str, ...], Callable[[float], bool], str], ...] = (
    (("stiffness", "tangential_stiffness"), lambda x: x > 0.0, "a positive number of N/m"),
    (("restitution",), lambda x: 0.0 <= x <= 1.0, "0 to 1"),
    (("speed",), lambda x: 0.0 < x < np.inf, "a positive number of m/s"),
    (
        ("damping", "tangential_damping"),
        lambda x: 0.0 <= x < np.inf,
        "a number of N s/m that is not negative",
    ),
)
_OF_ELASTIC = ("damping", "tangential_stiffness", "tangential_damping")


@dataclass(frozen=True)
class Material:
    """Contact material of two touching bodies.

    Attributes:
        friction: mu, and gamma of a soft finger; its `most` is ignored: contacts do not break. A
            number is mu.
        stiffness: Stiffness of the contact along its normal [N/m]; infinite for a rigid one.
        restitution: Share of the speed of an impact that remains after it; for an elastic contact
            at `speed`, see `dissipation`.
        speed: Impact speed of the restitution of an elastic contact [m/s].
        damping: D of an elastic contact [N s/m], a linear damper instead of a restitution (11.74);
            None by default, for Hunt and Crossley's law.
        tangential_stiffness: K_t of the patch along the surface [N/m] (11.77); infinite for a
            rigid patch.
        tangential_damping: D_t [N s/m].
    """

    friction: FrictionCone = field(default_factory=lambda: FrictionCone(0.5))
    stiffness: float = np.inf
    restitution: float = 0.0
    speed: float = 0.07
    damping: float = 0.0
    tangential_stiffness: float = np.inf
    tangential_damping: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            given = getattr(self, name)
            if name == "friction" and isinstance(given, FrictionCone):
                continue
            try:
                number = float("no" if isinstance(given, str | bytes | bool) else given)
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"{name} of a material is {given!r:.60}, expected a number."
                ) from None
            own = FrictionCone(number) if name == "friction" else number
            object.__setattr__(self, name, own)
        for names, fits, expected in _RANGES:
            for name in names:
                if not fits(given := getattr(self, name)):
                    raise ArgumentError(f"{name} of a material is {given:g}, expected {expected}.")
        if not self.elastic:
            for name in _OF_ELASTIC:
                if (given := getattr(self, name)) != getattr(Material, name):
                    raise ArgumentError(
                        f"{name} of a rigid material is {given:g}, expected a finite stiffness."
                    )
        elif bool(self.damping) == bool(self.restitution):
            raise ArgumentError(
                f"an elastic material of stiffness {self.stiffness:g} N/m has damping "
                f"{self.damping:g} N s/m and restitution {self.restitution:g}, expected exactly "
                "one of them: each sets the energy lost in an impact."
            )
        elif not self.damping:
            dissipation(self.restitution, self.speed)
        if self.tangential_damping and not np.isfinite(self.tangential_stiffness):
            raise ArgumentError(
                f"tangential_damping of a material is {self.tangential_damping:g} N s/m without "
                "tangential_stiffness, expected both: a rigid contact has no tangential damping."
            )

    @property
    def elastic(self) -> bool:
        """Whether it is elastic."""
        return bool(np.isfinite(self.stiffness))


def require_material(contact: str, material: object) -> None:
    """Refuse a value that is not the material of a contact between two points.

    Raises:
        ArgumentError: If it is not a `Material`, or has torsional friction.
    """
    if not isinstance(material, Material):
        raise ArgumentError(
            f"contact {contact!r} has the material {material!r:.60}, expected a Material."
        )
    if material.friction.torsion:
        raise ArgumentError(
            f"contact {contact!r} has torsional friction {material.friction.torsion:g} m, "
            "expected 0: only soft fingers of arms have torsional friction."
        )


def dissipation(restitution: float, speed: float) -> float:
    """Return D [s/m] with which impacts at a speed [m/s] keep a part `restitution` of it.

    The elastic contact of Hunt and Crossley is f = k d (1 + D d'): force begins and ends at zero
    with the penetration d. A mass that arrives at speed v leaves at e v, for any mass and
    stiffness: m v dv = -k d (1 + D v) dd integrates to

        a (1 + e) = log((1 + a) / (1 - e a)),   a = D v.

    The usual 1.5 (1 - e) for a is its limit for e near 1; at e = 0.3 that would leave 0.58.

    Raises:
        ArgumentError: If the restitution is not from 0.01 to 1.
    """
    e = restitution
    if not _LEAST <= e <= 1.0:
        raise ArgumentError(
            f"an elastic contact has restitution {e:g}, expected {_LEAST:g} to 1: its damping "
            "grows without bound towards 0."
        )
    if e > 1.0 - _NEAR_ONE:
        return 1.5 * (1.0 - e) / speed

    def of(y: float) -> float:
        return float(np.expm1(y) / (1.0 + e * np.exp(y)))

    # Function of the logarithm y, because a can be so near to 1 / e that no float is between. It
    # is also zero at y = 0, positive between, and negative beyond.
    from scipy.optimize import brentq

    most = 1.1 * (1.0 + e) / e
    return of(brentq(lambda y: (1.0 + e) * of(y) - y, 1.0 - e, most, xtol=1e-14)) / speed
