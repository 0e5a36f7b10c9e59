# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a task: the phases of a run from arms at rest to arms at rest, one class each.

A phase is a mapping with one key, the name of a field of `PhaseSettings`. Phases change the state
of the hands, see `check_order`; speeds are peaks of smooth profiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from robot_dynamics.control.settings import SegmentSettings
from robot_dynamics.control.touch_settings import LONGEST_S
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import number

OPERATOR_S = 0.2  # least duration of a wait for an operator [s]


def _speed(default: float, highest: float = 1.0) -> Any:
    return number(default, "m/s", minimum=1e-3, maximum=highest)


@dataclass(frozen=True, kw_only=True)
class _Limited:
    """A phase with a time limit.

    Attributes:
        time_limit_s: Longest duration [s]; by default 5 s more than planned.
    """

    time_limit_s: float | None = number(None, "s", above=0.0, maximum=LONGEST_S)


@dataclass(frozen=True, kw_only=True)
class _Stays(_Limited):
    """A phase after whose failure the arms stay.

    Attributes:
        on_failure: "hold": the arms stay where they are, with the object if they hold it.
    """

    on_failure: Literal["hold"] = "hold"


@dataclass(frozen=True, kw_only=True)
class _Retreats(_Limited):
    """A phase after whose failure the arms can leave the object.

    Attributes:
        on_failure: "hold": the arms stay. "retreat": they release and go home.
    """

    on_failure: Literal["hold", "retreat"] = "hold"


@dataclass(frozen=True)
class MoveSettings(_Stays):
    """Motion of free arms in joint space, from rest to rest.

    Attributes:
        to: "home": the positions of the joints at the start of the task.
        joints: Target of each arm that moves instead, by its name [rad or m].
        until: "operator": the arms follow trajectories from topics and actions instead, until an
            operator calls the service `task/next`. In simulations without nodes it is over at
            once.
        velocity_fraction: Largest joint velocity, as a share of the velocity limits.
        touch_n: Force at a wrist beyond which the phase fails: an arm touches something [N].
    """

    to: Literal["home"] | None = None
    joints: dict[str, tuple[float, ...]] = field(default_factory=dict)
    until: Literal["operator"] | None = None
    velocity_fraction: float = number(0.3, "", minimum=1e-3, maximum=1.0)
    touch_n: float = number(20.0, "N", above=0.0, infinite=True)

    def __post_init__(self) -> None:
        if sum(map(bool, (self.to, self.joints, self.until))) != 1:
            raise ArgumentError("expected one of `to: home`, `joints` and `until: operator`.")


@dataclass(frozen=True)
class ApproachSettings(_Retreats):
    """Motion of free arms to the grasps, at last straight along the z axes of the tools.

    It ends before the grasps, where the phase `grasp` begins to search for contact.

    Attributes:
        distance_m: Distance from the grasps from which on the tools move straight [m].
        speed: Speed of the tools on these lines [m/s].
        velocity_fraction: Largest joint velocity before them, as a share of the velocity limits.
        touch_n: Force at a wrist beyond which the phase fails [N].
    """

    distance_m: float = number(0.08, "m", above=0.0, maximum=1.0)
    speed: float = _speed(0.1)
    velocity_fraction: float = number(0.3, "", minimum=1e-3, maximum=1.0)
    touch_n: float = number(20.0, "N", above=0.0, infinite=True)


@dataclass(frozen=True)
class GraspSettings(_Retreats):
    """Search for contact along the z axes of the tools, then a squeeze, on the support.

    Attributes:
        squeeze_n: Squeeze that the task keeps until `release` [N].
        touch_within_m: Largest distance from the grasps, before and behind them, at which contact
            is expected [m].
        touch_n: Force at a wrist from which a tool counts as touching [N].
        speed: Speed of the search [m/s].
        squeeze_s: Time in which the squeeze grows [s].
        close_s: Time that grippers take to close [s]. Arms with rigid contacts have grippers: they
            close at the grasps, without a search.
    """

    squeeze_n: float = number(40.0, "N", above=0.0)
    touch_within_m: float = number(0.02, "m", above=0.0, maximum=0.2)
    touch_n: float = number(3.0, "N", above=0.0)
    speed: float = _speed(0.02, 0.2)
    squeeze_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)
    close_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)


@dataclass(frozen=True)
class LiftSettings(_Limited):
    """Transfer of the object's weight from its support to the arms, then a straight lift.

    Attributes:
        height_m: Height of the lift, against gravity [m].
        speed: Speed of the lift [m/s].
        unload_s: Time in which the force on the support fades [s].
        weight_tolerance: Largest difference of the measured from the modelled weight, as a share
            of it: a heavier object is not lifted.
        slip_within_m: Largest motion of the hands while the object still stands [m]: beyond it
            they slip.
        on_failure: "hold": the arms hold the object where it is. "put_back": they put it back
            onto its support, release it and go home.
    """

    height_m: float = number(0.05, "m", above=0.0, maximum=2.0)
    speed: float = _speed(0.1)
    unload_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)
    weight_tolerance: float = number(0.3, "", above=0.0)
    slip_within_m: float = number(2e-3, "m", above=0.0)
    on_failure: Literal["hold", "put_back"] = "hold"


@dataclass(frozen=True)
class CarrySettings(_Stays):
    """Motion of the held object in free space.

    Attributes:
        segments: Segments of its path, as in `reference`.
    """

    segments: tuple[SegmentSettings, ...]

    def __post_init__(self) -> None:
        if not self.segments:
            raise ArgumentError("`segments` is empty; expected at least one segment.")


@dataclass(frozen=True)
class PutDownSettings(_Stays):
    """Descent until the object touches a surface, then transfer of its weight to it.

    Attributes:
        on: Name of the surface, a plane that a face of the object touches.
        speed: Speed of the descent [m/s].
        touch_within_m: Largest distance from the surface, before and behind it, at which contact
            is expected [m].
        touch_speed: Speed within this distance [m/s].
        load_s: Time in which the surface takes the weight [s].
    """

    on: str
    speed: float = _speed(0.1)
    touch_within_m: float = number(0.01, "m", above=0.0, maximum=0.04)
    touch_speed: float = _speed(0.01, 0.2)
    load_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)


@dataclass(frozen=True)
class ReleaseSettings(_Stays):
    """End of the squeeze on the support, then a straight retreat along the z axes of the tools.

    Attributes:
        distance_m: Distance of the retreat [m].
        speed: Speed of the retreat [m/s].
        open_s: Time in which the squeeze fades, and time that grippers take to open [s].
    """

    distance_m: float = number(0.08, "m", above=0.0, maximum=1.0)
    speed: float = _speed(0.1)
    open_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)


@dataclass(frozen=True)
class WaitSettings:
    """A pause.

    Attributes:
        duration_s: Its duration [s].
        until: "operator": it lasts until an operator calls the service `task/next` instead. In
            simulations without nodes it is over at once.
    """

    duration_s: float | None = number(None, "s", above=0.0, maximum=LONGEST_S)
    until: Literal["operator"] | None = None

    def __post_init__(self) -> None:
        if (self.duration_s is None) == (self.until is None):
            raise ArgumentError("expected either `duration_s` or `until: operator`.")

    @property
    def planned_s(self) -> float:
        """Planned duration [s]."""
        return self.duration_s or OPERATOR_S


#: Settings of a phase of any kind.
OnePhase = (
    MoveSettings
    | ApproachSettings
    | GraspSettings
    | LiftSettings
    | CarrySettings
    | PutDownSettings
    | ReleaseSettings
    | WaitSettings
)


@dataclass(frozen=True)
class PhaseSettings:
    """A phase of a task: one of these keys.

    Attributes:
        move: Motion of free arms.
        approach: Motion of free arms to the grasps.
        grasp: Contact and squeeze.
        lift: Transfer of the weight to the arms, and a lift.
        carry: Motion of the held object.
        put_down: Descent to a surface, and transfer of the weight to it.
        release: End of the squeeze, and retreat.
        wait: A pause.
    """

    move: MoveSettings | None = None
    approach: ApproachSettings | None = None
    grasp: GraspSettings | None = None
    lift: LiftSettings | None = None
    carry: CarrySettings | None = None
    put_down: PutDownSettings | None = None
    release: ReleaseSettings | None = None
    wait: WaitSettings | None = None

    def __post_init__(self) -> None:
        if len(self._given) != 1:
            names = ", ".join(each.name for each in fields(self))
            found = " and ".join(self._given) or "none"
            raise ArgumentError(f"a phase has the keys {found}; expected one of {names}.")

    @property
    def _given(self) -> list[str]:
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]

    @property
    def name(self) -> str:
        """Its key."""
        return self._given[0]

    @property
    def own(self) -> OnePhase:
        """Settings of the phase."""
        own: OnePhase = getattr(self, self.name)
        return own


#: State of the hands that each phase needs, and the state in which it leaves them; a wait keeps
#: any state.
_HANDS = {
    "move": ("free", "free"),
    "approach": ("free", "at the grasps"),
    "grasp": ("at the grasps", "closed before a lift"),
    "lift": ("closed before a lift", "closed in the air"),
    "carry": ("closed in the air", "closed in the air"),
    "put_down": ("closed in the air", "closed after put_down"),
    "release": ("closed after put_down", "free"),
}


def check_order(phases: Sequence[PhaseSettings]) -> None:
    """Check that each phase begins with the hands as the phase before leaves them.

    Raises:
        ArgumentError: If not, or if the hands are not free at the end.
    """
    hands = "free"
    for i, phase in enumerate(phases):
        needed, left = _HANDS.get(phase.name, (hands, hands))
        if hands != needed:
            able = [name for name, (first, _) in _HANDS.items() if first == hands]
            raise ArgumentError(
                f"task[{i}] is {phase.name!r}, which needs hands that are {needed}, but they are "
                f"{hands}; expected {', '.join(able)} or wait there."
            )
        hands = left
    if hands != "free":
        raise ArgumentError(
            f"the task ends with hands that are {hands}; expected free hands: end it with release."
        )
