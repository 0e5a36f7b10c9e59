# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mesh files: the search for them, and reading within limits. Nothing is downloaded.

A small file can stand for any amount of data: archives, textures, arrays of zeros, copies of one
part. Archives are refused, textures are not read, and triangles are counted before they are made.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.files import read_bytes, refused
from robot_dynamics.resources import (
    SCHEME,
    ResourceNotFoundError,
    packages_around,
    resolve_package_uri,
)

FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")
MAX_BYTES = 100 * 2**20
MAX_TRIANGLES = 5_000_000
_EXPECTED = "a mesh file"
Color = tuple[float, float, float, float]  # red, green, blue, alpha in [0, 1]
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def locate_mesh(address: str, folder: str | Path = "") -> Path:
    """Return the file of a mesh.

    An address is `package://NAME/PATH` (or `model://`, as Gazebo has it), `file://PATH`, or a path
    relative to the description's folder. A package that is not installed is also looked for above
    and beside that folder, as robots in a source checkout have it.

    Args:
        address: As the description states it.
        folder: The folder of the description; empty if it came from a text.

    Raises:
        ResourceNotFoundError: If there is no such file; the message lists the searched folders.
    """
    scheme = _SCHEME.match(address)
    kind = scheme.group(1).lower() if scheme else ""
    if kind in ("package", "model"):
        return _in_package(address[address.index("://") + 3 :], folder)
    if kind == "file":
        # file:///PATH is absolute; file://PATH, though wrong, is common for a relative one.
        path = Path(folder) / unquote(address[len("file://") :])
    elif kind:
        raise ResourceNotFoundError(
            address, "files are not downloaded, expected package://, file:// or a path", ()
        )
    else:
        path = Path(folder) / address
    if not path.exists():
        raise ResourceNotFoundError(address, "there is no such file", (path,))
    return path


def _in_package(rest: str, folder: str | Path) -> Path:
    name, _, path = rest.partition("/")
    tried = []
    if folder:
        for package in packages_around(Path(folder).resolve(), name):
            tried.append(package)
            if (package / path).exists():
                return package / path
    try:
        return resolve_package_uri(SCHEME + rest)
    except ResourceNotFoundError as error:
        if not tried:
            raise
        raise ResourceNotFoundError(
            SCHEME + rest, "there is no such file", (*tried, *error.searched)
        ) from error


class MeshPart(NamedTuple):
    """A part of a mesh file.

    Attributes:
        mesh: Triangles as a `trimesh.Trimesh` without colours [m].
        color: Its colour; None if the file states none.
    """

    mesh: Any
    color: Color | None


def read_mesh(path: Path) -> list[MeshPart]:
    """Return the parts of a mesh file, placed and in metres. trimesh must be installed.

    Raises:
        DescriptionError: If the file is missing, damaged, of another format, has no triangles,
            or stands for more than `MAX_TRIANGLES`.
    """
    import trimesh

    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise refused(path, f"cannot be read as a mesh, expected a file of {', '.join(FORMATS)}")
    data = read_bytes(path, expected=_EXPECTED, limit=MAX_BYTES)
    if zipfile.is_zipfile(io.BytesIO(data)):  # pycollada unpacks them
        raise refused(path, f"is an archive, expected {_EXPECTED}", "unpack it")
    try:
        if suffix in (".glb", ".gltf"):
            _require_few(path, _elements(data, suffix))
        scene = trimesh.load_scene(
            io.BytesIO(data), file_type=suffix[1:], resolver=_Neighbours(path.parent)
        )
        factor = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
        faces = {name: len(getattr(one, "faces", ())) for name, one in scene.geometry.items()}
        _require_few(path, 3 * sum(faces[scene.graph[n][1]] for n in scene.graph.nodes_geometry))
        colors = {name: _color_of(one) for name, one in scene.geometry.items()}
        for one in scene.geometry.values():
            if hasattr(one, "faces"):  # a copy would have the pixels of its textures
                one.visual = trimesh.visual.ColorVisuals(one)
        parts = []
        for node in scene.graph.nodes_geometry:
            placement, name = scene.graph[node]
            if faces[name]:
                part = scene.geometry[name].copy()
                part.apply_transform(placement)
                part.apply_scale(factor)
                parts.append(MeshPart(part, colors[name]))
    except DescriptionError:
        raise
    except Exception as error:  # of readers of many formats
        reason = " ".join(str(error).split()) or type(error).__name__
        raise refused(path, f"cannot be read as a mesh ({reason})") from error
    if not parts:
        raise refused(path, "cannot be read as a mesh (it has no triangles)")
    return parts


class _Neighbours:
    """Files in the folder of a mesh file, such as its materials, within the limit of size."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def get(self, name: str) -> bytes:
        """Return the contents of a file in the folder or below it."""
        path = (self._folder / unquote(name.strip())).resolve()
        if not path.is_relative_to(self._folder):
            raise FileNotFoundError(name)
        return read_bytes(path, expected="a file of the mesh", limit=MAX_BYTES)

    __getitem__ = get


def _require_few(path: Path, indices: int) -> None:
    """Refuse more triangles than `MAX_TRIANGLES`, with three indices each."""
    if indices > 3 * MAX_TRIANGLES:
        message = f"stands for about {indices / 3:.2g} triangles, expected at most {MAX_TRIANGLES}"
        raise refused(path, message, "simplify it")


def _elements(data: bytes, suffix: str) -> int:
    """Return the number of elements in the arrays of a glTF file, also of arrays without data."""
    text = data[20 : 20 + int.from_bytes(data[12:16], "little")] if suffix == ".glb" else data
    document = json.loads(text)
    accessors = document.get("accessors", [])
    counts = [accessor["count"] for accessor in accessors]
    used = sum(one["count"] for one in accessors if "bufferView" not in one)
    for mesh in document.get("meshes", []):
        for primitive in mesh["primitives"]:
            indices = [*primitive["attributes"].values(), primitive.get("indices")]
            used += max(counts[i] for i in indices if i is not None)
    return int(used)


def _color_of(part: Any) -> Color | None:
    """Return the colour that a mesh file states; None if it states none."""
    visual = getattr(part, "visual", None)
    if visual is None or not visual.defined:
        return None
    material = getattr(visual, "material", None)
    of_all = visual.main_color if material is None else material.main_color
    r, g, b, a = (float(value) / 255.0 for value in of_all)
    return r, g, b, a or 1.0
