# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MJCF files, parsed and compiled by MuJoCo, with the names and lines of their elements."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from robot_dynamics.arrays import Array
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.files import locate, read_bytes, refused
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.description.xml_source import root_tag
from robot_dynamics.model.elements import pose

MAX_BYTES = 8 * 2**20
_OLDEST = 3, 17  # release of MuJoCo whose MjSpec was tried
_PEEK = 1 << 16  # bytes in which the root element must start
_TEXT = "<text>"
_LINE = re.compile(r"line (\d+)")
# Of XML errors, and of errors in elements.
_STATED_LINE = re.compile(r",? ?\b(?:Line number=|line )(\d+)")


def is_mjcf(path_or_text: str | Path) -> bool:
    """Return whether a file, or a text, has MJCF's root element."""
    if "<" in str(path_or_text):
        return root_tag(str(path_or_text)) == "mujoco"
    path = locate(path_or_text)
    if not path.is_file():  # reading a pipe would empty it
        return False
    try:
        with path.open("rb") as file:
            start = file.read(_PEEK)
    except OSError:
        return False
    return root_tag(start.decode("utf-8", "replace")) == "mujoco"


class MjcfSource:
    """A compiled model of MuJoCo, and the names of its elements in this package.

    Args:
        path_or_text: A path, a `package://` address, or the XML itself.

    Attributes:
        mujoco: The module.
        name: Name of the model.
        model: The compiled `MjModel`.
        source: The file as the caller named it; "<text>" for a text.
        file: Its name in messages.
        folder: Its folder; empty for a text.
        meshes: File of each mesh, relative to the folder; empty without a file.
        diagnosis: Receives the problems.
        links: For each body the name of its link; the first is "world".
        joints: Name of each joint.
        sites: Name of the link of each site that has one, by its index.

    Raises:
        DescriptionError: If MuJoCo is not installed, the file is missing, or MuJoCo refuses it.
    """

    def __init__(self, path_or_text: str | Path) -> None:
        text = str(path_or_text) if "<" in str(path_or_text) else None
        path = Path() if text is not None else locate(path_or_text)
        self.source = _TEXT if text is not None else str(path_or_text)
        self.file = _TEXT if text is not None else path.name
        self.folder = "" if text is not None else str(path.parent)
        self.diagnosis = Diagnosis()
        if text is not None and len(text) > MAX_BYTES:
            raise refused(_TEXT, f"is larger than {MAX_BYTES / 2**20:g} MiB, expected an MJCF")
        if text is None:
            data = read_bytes(path, expected="an MJCF file", limit=MAX_BYTES)
        else:
            data = text.encode("utf-8", "surrogatepass")
        if text is None and path.suffix.lower() != ".xml":
            message = "is MJCF, which MuJoCo reads from files ending in .xml alone"
            raise refused(f"{self.file}:1", message, "rename it")
        self.mujoco = mujoco = _import_mujoco(self.source)
        try:
            if text is None:
                spec = mujoco.MjSpec.from_file(str(path))
            else:
                spec = mujoco.MjSpec.from_string(text)
            _leave_textures_out(spec)
            self.model = spec.compile()
        except (ValueError, RuntimeError, mujoco.FatalError) as error:
            raise self._refusal(error) from None
        self.name = spec.modelname or "robot"
        # Lines of an included file are counted in that file, whose name is not known.
        self._lines = b"<include" not in data
        self._info = {
            kind: {one.id: one.info for one in elements}
            for kind, elements in (
                ("body", spec.bodies),
                ("joint", spec.joints),
                ("equality", spec.equalities),
                ("tendon", spec.tendons),
            )
        }
        self.meshes = [""] * int(self.model.nmesh)
        for mesh in spec.meshes:
            if 0 <= mesh.id < len(self.meshes) and mesh.file:
                self.meshes[mesh.id] = str(Path(spec.meshdir) / mesh.file)
        self.links = self._link_names()
        self.joints = self._joint_names()
        self.sites: dict[int, str] = {}

    def stated_name(self, kind: str, index: int) -> str:
        """Return the name that the file gives to an element; empty without one."""
        objects = self.mujoco.mjtObj
        found = self.mujoco.mj_id2name(
            self.model, getattr(objects, f"mjOBJ_{kind.upper()}"), index
        )
        return str(found or "")

    def kind(self, enumeration: str, value: Any) -> str:
        """Return the name of a constant of MuJoCo: "hinge" for 3 in the enumeration "Joint"."""
        constant = getattr(self.mujoco, f"mjt{enumeration}")(int(value))
        return str(constant.name.rpartition("_")[2].lower())

    def place(self, kind: str, index: int) -> str:
        """Return the place of an element: the file, with the line if it is known."""
        line = _LINE.search(self._info.get(kind, {}).get(index, "")) if self._lines else None
        return f"{self.file}:{line.group(1)}" if line else self.file

    def frame(self, kind: str, index: int) -> Array:
        """Return the pose (4, 4) of a body, geom or site in the body that carries it."""
        position = getattr(self.model, f"{kind}_pos")[index]
        return pose(position, rotation(getattr(self.model, f"{kind}_quat")[index]))

    def _link_names(self) -> list[str]:
        names: list[str] = []
        for body in range(self.model.nbody):
            stated = "world" if body == 0 else self.stated_name("body", body)
            names.append(unused(stated or f"body_{body}", names))
        return names

    def _joint_names(self) -> list[str]:
        m, names = self.model, list[str]()
        stated = {self.stated_name("joint", joint) for joint in range(m.njnt)}
        for joint in range(m.njnt):
            body = int(m.jnt_bodyid[joint])
            number = joint - int(m.body_jntadr[body])
            made = f"{self.links[body]}_joint" + (f"_{number}" if number else "")
            names.append(self.stated_name("joint", joint) or unused(made, {*stated, *names}))
        return names

    def _refusal(self, error: Exception) -> Exception:
        """Return MuJoCo's error as one sentence, with the line that it names."""
        message = " ".join(str(error).split())
        stated = _STATED_LINE.search(message)
        place = f"{self.file}:{stated.group(1)}" if stated else self.file
        message = _STATED_LINE.sub("", message)
        message = re.sub(r"^(XML )?Error: ", "", message).rstrip(" .:")
        return refused(place, f"MuJoCo cannot read it ({message})")


def rotation(quaternion: Array) -> Array:
    """Return the matrix (3, 3) of a quaternion of MuJoCo's, (w, x, y, z)."""
    w, x, y, z = (float(value) for value in quaternion)
    return rotation_of_quaternion((x, y, z, w))


def unused(name: str, taken: Container[str]) -> str:
    """Return a name, with the first number appended at which it is not taken."""
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name}_{number}"
    return made


def listed(names: list[str]) -> str:
    """Return the first names for a message, and the number of further ones."""
    shown = ", ".join(repr(name) for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _leave_textures_out(spec: Any) -> None:
    """Delete textures: they are not used, and small files can stand for gigabytes."""
    for texture in list(spec.textures):
        spec.delete(texture)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)


def _import_mujoco(source: str) -> Any:
    try:
        import mujoco
    except ImportError:
        raise refused(
            source,
            "is MJCF, which needs the package mujoco",
            "pip install 'robot_dynamics[mujoco]'",
        ) from None
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < _OLDEST:
        raise refused(
            source,
            f"is MJCF, which needs MuJoCo 3.17 or newer, and this is {mujoco.__version__}",
            "pip install --upgrade 'robot_dynamics[mujoco]'",
        )
    return mujoco
