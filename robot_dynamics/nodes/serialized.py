# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of which only a stamp and some numbers change, without their serialization.

rclpy converts every field of a message, every name of a joint, for each publication and each
message that comes: several times the work of a control law. Here a message is serialized once,
with marks for the stamp and the numbers; where the marks are found, later ones are written or
read. What has another layout than those before is left to rclpy.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
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
_SIZES = {"double": 8, "uint64": 8, "int32": 4, "uint32": 4}


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
        fields = _checked_fields(message, text)
        # There may be more than the fields: space that was not needed, with what was there before.
        used = text[: fields[-1][1]]
        self._stamp_at = _only(used, self._stamp.pack(*self._parts(stamp)))
        at = np.array([_only(used, _NUMBER.pack(mark)) for mark in marks], dtype=np.intp)
        self._first = int(at.min(initial=len(used)))
        # Within a message numbers are aligned to each other.
        self._index = (at - self._first) // _NUMBER.size
        self._count = int(self._index.max(initial=-1)) + 1
        self._bytes = bytearray(used)
        self._numbers = self._view(self._bytes)
        free = {self._stamp_at, self._stamp_at + 4 * (not counted), *at.tolist()}
        self._constant = _joined(field for field in fields if field[0] not in free)
        written = self.write(0, np.arange(size))
        if deserialize_message(written, type(message)) != fill(0, np.arange(float(size))):
            raise LayoutError("a message has to hold a stamp and numbers as they are.")

    def write(self, stamp: int, numbers: ArrayLike) -> bytes:
        """Return the serialized message of a stamp and numbers (n,)."""
        self._stamp.pack_into(self._bytes, self._stamp_at, *self._parts(stamp))
        self._numbers[self._index] = numbers
        return bytes(self._bytes)

    def read(self, text: bytes) -> tuple[int, Array] | None:
        """Return stamp and numbers (n,) of a serialized message; None if it has another layout."""
        own = self._bytes
        if len(text) < len(own):  # it may be longer: see above
            return None
        if any(text[a:b] != own[a:b] for a, b in self._constant):
            return None
        first, *rest = self._stamp.unpack_from(text, self._stamp_at)
        stamp = first if self._counted else first * SECOND + rest[0]
        return stamp, self._view(text)[self._index]

    def _parts(self, stamp: int) -> tuple[int, ...]:
        return (stamp,) if self._counted else divmod(stamp, SECOND)

    def _view(self, text: bytes | bytearray) -> Array:
        return np.frombuffer(text, "<f8", self._count, self._first if self._count else 0)


class Writer:
    """Serialized messages of a stamp and numbers.

    Args:
        fill: As for `Layout`.
        size: Likewise.
        counted: Likewise.
    """

    def __init__(self, fill: Callable[[int, Array], Any], size: int, *, counted: bool = False):
        self._fill = fill
        self._layout: Layout | None = None
        with suppress(LayoutError):
            self._layout = Layout(fill, size, counted=counted)

    def __call__(self, stamp: int, numbers: Array) -> bytes:
        """Return the serialized message of a stamp and numbers (n,)."""
        if self._layout is not None:
            return self._layout.write(stamp, numbers)
        return bytes(serialize_message(self._fill(stamp, numbers)))


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


def _checked_fields(message: Any, text: bytes) -> list[tuple[int, int]]:
    """Return begins and ends of the fields of a message in its serialized form.

    Raises:
        LayoutError: If it is not serialized as is thought here.
    """
    last, found = 4, [(0, 4)]
    for begin, end, known in _fields(message, last):
        if begin - last >= 8 or known not in (None, text[begin:end]):
            raise LayoutError("a message has to be serialized as plain CDR.")
        found.append((begin, end))
        last = end
    if last > len(text):
        raise LayoutError("a message has to be serialized as plain CDR.")
    return found


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return parts, given by begin and end in their order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for begin, end in parts:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _fields(message: Any, at: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield begin and end of the fields of a message in its serialized form, and what they hold.

    Plain CDR: after four bytes that tell so, every number is aligned to its own size. Lengths, of
    32 bits, go before strings, which end with a zero, and before sequences. Numbers are left open.

    Args:
        message: The message.
        at: Where it begins, but for alignment.

    Raises:
        LayoutError: If it has a field of a type that is not known here.
    """

    def placed(size: int, count: int) -> tuple[int, int]:
        begin = at + -(at - 4) % size
        return begin, begin + size * count

    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        values, inner = [value], kind
        if kind.startswith("sequence<"):
            values, inner = value, kind[len("sequence<") : -1]
            begin, at = placed(4, 1)
            yield begin, at, struct.pack("<I", len(values))
        if inner in _SIZES:
            if len(values):
                begin, at = placed(_SIZES[inner], len(values))
                yield begin, at, None
            continue
        for one in values:
            if inner == "string":
                content = one.encode() + b"\0"
                begin, at = placed(4, 1)
                yield begin, at, struct.pack("<I", len(content))
                begin, at = placed(1, len(content))
                yield begin, at, content
            elif "/" in inner:
                for field in _fields(one, at):
                    at = field[1]
                    yield field
            else:
                raise LayoutError(f"fields of type {kind} are not known here.")
