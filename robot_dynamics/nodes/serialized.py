# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of which only a stamp and some numbers change, without their serialization.

rclpy converts every field of a message, every name of a joint, for each publication and each
message that comes: several times the work of a control law. Here a message is serialized once,
with marks for the stamp and the numbers; where the marks are found, later ones are written or
read. How ROS lays messages out is not known here: what has another layout than those before is
left to rclpy.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rclpy.serialization import deserialize_message, serialize_message

from robot_dynamics.app.topic_names import SECOND
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]
T = TypeVar("T")

_NUMBER = struct.Struct("<d")
_MARK = 1.2345678901e-89  # numbers that stand for nothing else, as the stamps below
_MARKED_TIME = 0x12345678 * SECOND + 0x1234567
_MARKED_COUNT = 0x12345679
_LAYOUTS = 4  # that are remembered of a topic


class LayoutError(RobotDynamicsError):
    """A kind of message that does not hold a stamp and numbers as they are."""


class Layout:
    """Where a stamp and numbers stand in messages that are equal otherwise.

    Args:
        fill: Returns the message of a stamp and of numbers (n,), which stand in it unchanged.
        size: How many numbers.
        counted: Whether the stamp is a whole number of 32 bits; else a time in nanoseconds.

    Raises:
        LayoutError: If the message does not hold each of them once.
    """

    def __init__(self, fill: Callable[[int, Array], Any], size: int, *, counted: bool = False):
        self._stamp = struct.Struct("<I" if counted else "<iI")
        self._counted = counted
        stamp = _MARKED_COUNT if counted else _MARKED_TIME
        marks: Array = _MARK * np.arange(1.0, size + 1.0)
        message = fill(stamp, marks)
        text = bytes(serialize_message(message))
        self._kind = type(message)
        self._stamp_at = _only(text, self._stamp.pack(*self._parts(stamp)))
        at = np.array([_only(text, _NUMBER.pack(mark)) for mark in marks], dtype=np.intp)
        self._first = int(at.min(initial=len(text)))
        # Within a message numbers are aligned to each other.
        self._index = (at - self._first) // _NUMBER.size
        self._count = int(self._index.max(initial=-1)) + 1
        self._bytes = bytearray(text)
        self._numbers = self._view(self._bytes)
        places = [(self._stamp_at, self._stamp.size), *((int(a), _NUMBER.size) for a in at)]
        self._places = places
        self._constant: list[tuple[int, int]] | None = None

    def write(self, stamp: int, numbers: ArrayLike) -> bytes:
        """Return the serialized message of a stamp and numbers (n,)."""
        self._stamp.pack_into(self._bytes, self._stamp_at, *self._parts(stamp))
        self._numbers[self._index] = numbers
        return bytes(self._bytes)

    def read(self, text: bytes) -> tuple[int, Array] | None:
        """Return stamp and numbers (n,) of a serialized message; None if it has another layout."""
        own = self._bytes
        if len(text) != len(own):
            return None
        if self._constant is None:
            self._constant = _constant(bytes(own), self._kind, self._places)
        if any(text[a:b] != own[a:b] for a, b in self._constant):
            return None
        first, *rest = self._stamp.unpack_from(text, self._stamp_at)
        stamp = first if self._counted else first * SECOND + rest[0]
        return stamp, self._view(text)[self._index]

    def _parts(self, stamp: int) -> tuple[int, ...]:
        return (stamp,) if self._counted else divmod(stamp, SECOND)

    def _view(self, text: bytes | bytearray) -> Array:
        return np.frombuffer(text, "<f8", self._count, self._first if self._count else 0)


class Reader(Generic[T]):
    """Messages of a topic as they come, read by the layouts of those before.

    Args:
        kind: The type of the messages.
        read: Returns what is to be known of a message.
        layout: Returns the layout of messages that are equal to one otherwise.
        make: Returns what `read` would, of what it returned for the message that a layout was made
            of, and of stamp and numbers of another one.
    """

    def __init__(
        self,
        kind: Any,
        read: Callable[[Any], T],
        layout: Callable[[Any], Layout],
        make: Callable[[T, int, Array], T],
    ) -> None:
        self._kind, self._read, self._layout, self._make = kind, read, layout, make
        self._known: list[tuple[Layout, T]] = []

    def __call__(self, text: bytes) -> T:
        """Return what `read` does of a serialized message."""
        for layout, like in self._known:
            found = layout.read(text)
            if found is not None:
                return self._make(like, *found)
        message = deserialize_message(text, self._kind)
        result = self._read(message)
        # Several may speak on a topic, each with a layout of its own; not with ever new ones.
        if len(self._known) < _LAYOUTS:
            with suppress(LayoutError):
                self._known.append((self._layout(message), result))
        return result


def _only(text: bytes, part: bytes) -> int:
    """Return where a part stands, if it does once."""
    if text.count(part) != 1:
        raise LayoutError("a message has to hold a stamp and numbers once, as they are.")
    return text.index(part)


def _constant(text: bytes, kind: Any, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return begins and ends of what has to be equal in messages of one layout.

    Padding need not be: nobody writes it, so that it holds whatever was there before. It is told
    by what changes nothing.

    Args:
        text: A serialized message.
        kind: Its type.
        places: Begin and length of what may be different.
    """
    free = {at for begin, length in places for at in range(begin, begin + length)}
    message = deserialize_message(text, kind)
    found: list[tuple[int, int]] = []
    for at in range(len(text)):
        if at in free or _is_padding(text, at, kind, message):
            continue
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def _is_padding(text: bytes, at: int, kind: Any, message: Any) -> bool:
    changed = bytearray(text)
    changed[at] ^= 1
    try:
        return bool(deserialize_message(bytes(changed), kind) == message)
    except Exception:  # of several kinds: lengths that cannot be, text that is none
        return False
