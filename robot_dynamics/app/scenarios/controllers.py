# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Users' controllers by their names in scenarios, and permission to import them."""

from __future__ import annotations

import importlib
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.controller import (
    Controller,
    ControllerError,
    RunningController,
    as_controller,
)
from robot_dynamics.control.settings import CONTROLLERS, LAW_FACTS, ControlSettings
from robot_dynamics.errors import sentence_of

_FILE = ".py"


def running_controller(
    law: ControlLaw,
    settings: ControlSettings,
    controller: Controller | None = None,
    *,
    allow_code: bool | str = False,
) -> RunningController | None:
    """Return the controller that runs beside a law, or None if the law makes the torques.

    Args:
        law: The observer.
        settings: Control settings of the scenario.
        controller: The controller; `control.law` names it by default.
        allow_code: Permission to import `control.law`: True, or the exact name.

    Raises:
        ControllerError: If code is named without permission, or cannot be imported or made.
    """
    if settings.law in LAW_FACTS:
        return None
    name = settings.law
    if controller is None:
        require_leave(settings, allow_code)
        controller = as_controller(_imported(name), settings.options)
    return RunningController(name, controller, law, settings)


def require_leave(settings: ControlSettings, allow_code: bool | str) -> None:
    """Refuse code that a scenario names and the user has not allowed.

    Args:
        settings: Control settings of the scenario.
        allow_code: True, or the exact allowed name.

    Raises:
        ControllerError: With the way to allow it.
    """
    name = settings.law
    if name not in LAW_FACTS and allow_code is not True and allow_code != name:
        raise ControllerError(
            f"control.law is {name!r}, which is code to be imported and is not allowed; expected "
            "--allow-code on the command line, allow_code=True in Python, or its name as the "
            "parameter allow_code of the controller node."
        )


def _imported(name: str) -> Any:
    """Import the object that a name refers to: module:name, file.py:name or an entry point."""
    module_name, _, attribute = name.rpartition(":")
    try:
        if not module_name:
            (entry,) = entry_points(group=CONTROLLERS, name=name)
            return entry.load()
        found: Any = _module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # code of the user may raise anything
        why = sentence_of(error).removeprefix("unexpected ").rstrip(".")
        raise ControllerError(
            f"control.law {name!r} cannot be imported: {why}; expected MODULE:NAME of a "
            "package that is installed, or FILE.py:NAME."
        ) from error
    return found


def _module(name: str) -> Any:
    if not name.endswith(_FILE):
        return importlib.import_module(name)
    path = Path(name)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ControllerError(f"{name} is no Python file.")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
