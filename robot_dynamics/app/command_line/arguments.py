# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands have, and types of arguments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics.errors import RobotDynamicsError


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option `--json`, of which `what` says what is written."""
    parser.add_argument(
        "--json",
        type=place,
        metavar="FILE",
        help=f"write {what} as JSON; - is the standard output, and all else goes to stderr",
    )


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Add the option `--set`, which changes values of a scenario."""
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
    if not text:  # of which a path would make the current folder
        raise argparse.ArgumentTypeError("expected a name, not an empty text")
    return Path(text)


def figure_file(text: str) -> str:
    """Return the file of a figure to write, as a type of arguments."""
    from robot_dynamics.app.pictures.figures import require_figure

    return _writable(text, require_figure)


def film_file(text: str) -> str:
    """Return the file of a picture or a film to render, as a type of arguments."""
    from robot_dynamics.app.pictures.render import require_renderer
    from robot_dynamics.app.pictures.shapes import require_trimesh

    def require(path: Path) -> None:
        require_renderer(path)
        require_trimesh()

    return _writable(text, require)


def _writable(text: str, require: Callable[[Path], object]) -> str:
    from robot_dynamics.app.output_files import require_parent

    try:
        require_parent(place(text))
        require(place(text))
    except RobotDynamicsError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error
    return text


def picture_argument(about: str | None, kind: Callable[[str], str] = figure_file) -> str:
    """Return the only argument of a program, the file of a picture; "" if there is none.

    It is checked before the work that fills it. What does not fit ends the program.

    Args:
        about: What `--help` prints of the program.
        kind: Of the picture, `figure_file` or `film_file`.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", nargs="?", type=kind, help="the file of a picture to draw")
    return parser.parse_args().picture or ""


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
    value = number(text)
    if value == 0.0:
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0")
    return value


def _complete_key(prefix: str, **_: Any) -> list[str]:
    """Return the keys of scenario files, for `--set`, each with the sign that follows it."""
    from robot_dynamics.app.command_line.scenario_schema import key_paths

    return [f"{path}=" for path in key_paths()]
