# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments shared by several commands, and types of arguments."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option `--json`; its help says that `what` is written."""
    parser.add_argument(
        "--json",
        type=place,
        metavar="FILE",
        help=f"write {what} as JSON; - is the standard output, and all else goes to stderr",
    )


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Add the option `--set`, which replaces values of a scenario."""
    overrides = parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="overrides",
        metavar="KEY=VALUE",
        help="change a value of the scenario, as plant.object_mass_scale=1.2; may be repeated",
    )
    if "_ARGCOMPLETE" in os.environ:
        overrides.completer = _complete_key  # type: ignore[attr-defined]


def place(text: str) -> Path:
    """Return the name of a file or folder, as a type of arguments."""
    if not text:  # Path("") is the current folder
        raise argparse.ArgumentTypeError("expected a name, not an empty text")
    return Path(text)


def count(text: str) -> int:
    """Return a whole number from 1 on, as a type of arguments."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Return a whole number from 0 on, as a type of arguments."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from {least} on")
    return value


def number(text: str) -> float:
    """Return a number of 0 or more, as a type of arguments."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected a number, 0 or more")
    return value


def positive(text: str) -> float:
    """Return a number above 0, as a type of arguments."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0")
    return value


def _complete_key(prefix: str, **_: Any) -> list[str]:
    """Return completions of `--set`: the keys of scenario files, each with an equals sign."""
    from robot_dynamics.app.command_line.scenario_schema import key_paths

    return [f"{path}=" for path in key_paths()]
