# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fast serialization of messages in which only a stamp and some numbers change.

rclpy converts every field and every joint name of each message, which takes several times as long
as a control law. Here a message is serialized once with marker values for the stamp and the
numbers; later messages are written and read at the places of the markers. rclpy handles messages
with another layout.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rclpy.serialization import deserialize_message, serialize_message

from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND
from robot_dynamics.errors import RobotDynamicsError

T = TypeVar("T")

_NUMBER = struct.Struct("<d")
_MARK = 1.2345678901e-89  # a marker value that occurs nowhere else, like the stamps below
_MARKED_TIME = 0x12345678 * SECOND + 0x1234567
_MARKED_COUNT = 0x12345679
_LAYOUTS = 4  # number of remembered layouts per topic
_LARGEST_LAYOUT = 1 << 13  # bytes; creating a larger layout takes longer than a control period
_SIZES = {"double": 8, "uint64": 8, "int32": 4, "uint32": 4}


class LayoutError(RobotDynamicsError):
    """A type of message that does not hold a stamp and numbers unchanged."""


class MessageLayout:
    """The places of a stamp and of numbers in serialized messages that are equal otherwise.

    Args:
        fill: Returns the message of a stamp and of numbers (n,), which it holds unchanged.
        size: The number of numbers.
        counted: Whether the stamp is an integer of 32 bits; else a time in nanoseconds.

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
        # The buffer can be longer than the message, with arbitrary content at its end.
        used = text[: fields[-1][1]]
        self._stamp_at = _only(used, self._stamp.pack(*self._parts(stamp)))
        at = _places(used, marks)
        self._first = int(at.min(initial=len(used)))
        # Numbers are aligned relative to each other.
        self._index = (at - self._first) // _NUMBER.size
        self._count = int(self._index.max(initial=-1)) + 1
        self._bytes = bytearray(used)
        self._numbers = self._view(self._bytes)
        free = {self._stamp_at, self._stamp_at + 4 * (not counted), *at.tolist()}
        self._constant = _joined(field for field in fields if field[0] not in free)
        written = self.write(0, np.arange(size))
        if deserialize_message(written, type(message)) != fill(0, np.arange(float(size))):
            raise LayoutError(
                f"a {type(message).__name__} changes stamp or numbers; expected them unchanged."
            )

    def write(self, stamp: int, numbers: ArrayLike) -> bytes:
        """Return the serialized message of a stamp and numbers (n,)."""
        self._stamp.pack_into(self._bytes, self._stamp_at, *self._parts(stamp))
        self._numbers[self._index] = numbers
        return bytes(self._bytes)

    def read(self, text: bytes) -> tuple[int, Array] | None:
        """Return stamp and numbers (n,) of a serialized message; None if it has another layout."""
        own = self._bytes
        if len(text) < len(own):  # it can be longer: see above
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


class MessageWriter:
    """Serializes messages of a stamp and numbers; one layout for each number of numbers.

    Args:
        fill: As for `MessageLayout`.
        counted: As for `MessageLayout`.
    """

    def __init__(self, fill: Callable[[int, Array], Any], *, counted: bool = False) -> None:
        self._fill, self._counted = fill, counted
        self._layouts: dict[int, MessageLayout | None] = {}

    def __call__(self, stamp: int, numbers: Array) -> bytes:
        """Return the serialized message of a stamp and numbers (n,)."""
        size = len(numbers)
        if size not in self._layouts:
            self._layouts[size] = None
            with suppress(LayoutError):
                self._layouts[size] = MessageLayout(self._fill, size, counted=self._counted)
        layout = self._layouts[size]
        if layout is not None:
            return layout.write(stamp, numbers)
        return bytes(serialize_message(self._fill(stamp, numbers)))


class Reader(Generic[T]):
    """Reads serialized messages of a topic by the layouts of earlier ones.

    Args:
        kind: Message type.
        read: Returns the content of a message.
        layout: Returns the layout of messages that differ from a message in stamp and numbers.
        make: Returns the content of a message, given that of the message that the layout was made
            of, and its own stamp and numbers.
    """

    def __init__(
        self,
        kind: Any,
        read: Callable[[Any], T],
        layout: Callable[[Any], MessageLayout],
        make: Callable[[T, int, Array], T],
    ) -> None:
        self._kind, self._read, self._layout, self._make = kind, read, layout, make
        self._known: list[tuple[MessageLayout, T]] = []

    def __call__(self, text: bytes) -> T:
        """Return the content of a serialized message."""
        for layout, like in self._known:
            found = layout.read(text)
            if found is not None:
                return self._make(like, *found)
        message = deserialize_message(text, self._kind)
        result = self._read(message)
        # Each of a few publishers of a topic can have its own layout.
        if len(self._known) < _LAYOUTS and len(text) <= _LARGEST_LAYOUT:
            with suppress(LayoutError):
                self._known.append((self._layout(message), result))
        return result


class CdrReader:
    """Reads the fields of a message in plain little-endian CDR, one after the other.

    Args:
        text: The serialized message.

    Raises:
        struct.error: If it is in another form; other methods raise it if the message is cut short.
    """

    def __init__(self, text: bytes) -> None:
        if text[:2] != b"\x00\x01":
            found = text[:2].hex(" ") or "empty"
            raise struct.error(f"its header is {found}, not 00 01 of little-endian CDR")
        self._text, self._at = text, 4

    def integer(self) -> int:
        """Return an int32."""
        return self._integer("<i")

    def count(self) -> int:
        """Return a uint32, such as the length of a sequence."""
        return self._integer("<I")

    def string(self) -> str:
        """Return a string."""
        size = self.count()
        (content,) = struct.unpack_from(f"<{size}s", self._text, self._at)
        self._at += size
        return str(content.rstrip(b"\0"), "utf-8")

    def doubles(self, count: int) -> tuple[float, ...]:
        """Return some float64."""
        at = self._at + -(self._at - 4) % 8
        self._at = at + 8 * count
        return struct.unpack_from(f"<{count}d", self._text, at)

    def _integer(self, form: str) -> int:
        at = self._at + -self._at % 4
        self._at = at + 4
        return int(struct.unpack_from(form, self._text, at)[0])


def _only(text: bytes, part: bytes) -> int:
    """Return the place of a part that must occur once."""
    if text.count(part) != 1:
        raise LayoutError(
            f"a stamp occurs {text.count(part)} times in a serialized message; expected once."
        )
    return text.index(part)


def _places(text: bytes, marks: Array) -> NDArray[np.intp]:
    """Return the places of numbers (n,) that must occur once each, aligned as in CDR."""
    words = np.frombuffer(text, "<f8", (len(text) - 4) // _NUMBER.size, 4)
    found = np.flatnonzero(np.isin(words, marks))
    order = np.argsort(words[found])
    if not np.array_equal(words[found[order]], marks):
        raise LayoutError(
            f"{len(found)} of {len(marks)} numbers occur in a serialized message; expected each "
            "once."
        )
    return np.asarray(4 + _NUMBER.size * found[order], dtype=np.intp)


def _checked_fields(message: Any, text: bytes) -> list[tuple[int, int]]:
    """Return begin and end of the fields of a message in its serialized form.

    Raises:
        LayoutError: If it is not serialized as plain CDR.
    """
    last, found = 4, [(0, 4)]
    for begin, end, known in _fields(message, last):
        if begin - last >= 8 or known not in (None, text[begin:end]):
            raise LayoutError(f"bytes {begin} to {end} of a message are not plain CDR.")
        found.append((begin, end))
        last = end
    if last > len(text):
        raise LayoutError(f"a message has {len(text)} bytes; expected {last} as plain CDR.")
    return found


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ordered intervals after joining adjacent ones."""
    found: list[tuple[int, int]] = []
    for begin, end in parts:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _fields(message: Any, at: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield begin, end and content of the fields of a message in its serialized form.

    Plain CDR: after a header of four bytes, every number is aligned to its own size. Strings,
    which end with a zero, and sequences have a length of 32 bits before them. The content of
    numbers is None.

    Args:
        message: The message.
        at: Where it begins, before alignment.

    Raises:
        LayoutError: If a field is of an unsupported type.
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
                raise LayoutError(
                    f"field {name!r} is of type {kind}; expected numbers, texts or messages."
                )
