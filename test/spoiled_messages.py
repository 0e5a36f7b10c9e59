# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong joint states of arms, on request."""

from __future__ import annotations

from robot_dynamics.nodes.conversions import write_time


def reorder(message):
    """Turn the order of the joints around."""
    message.name = message.name[::-1]
    message.position = message.position[::-1]
    message.velocity = message.velocity[::-1]
    return message


def without(joint):
    """Return a function that drops a joint from a message."""

    def spoil(message):
        at = message.name.index(joint)
        for field in ("name", "position", "velocity"):
            values = list(getattr(message, field))
            setattr(message, field, values[:at] + values[at + 1 :])
        return message

    return spoil


def renamed(joint, name):
    """Return a function that renames a joint."""

    def spoil(message):
        message.name = [name if own == joint else own for own in message.name]
        return message

    return spoil


def with_number(field, at, value):
    """Return a function that puts a number into a field."""

    def spoil(message):
        values = list(getattr(message, field))
        values[at] = value
        setattr(message, field, values)
        return message

    return spoil


def with_field(field, values):
    """Return a function that replaces a field."""

    def spoil(message):
        setattr(message, field, values)
        return message

    return spoil


def at_time(seconds):
    """Return a function that sets a message's time, as a clock that jumps does."""

    def spoil(message):
        write_time(message.header.stamp, round(seconds * 1e9))
        return message

    return spoil
