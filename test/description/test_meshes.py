# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of meshes, and the memory that a small file can need."""

import importlib.util
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest
from support.memory import answers

from robot_dynamics.description import meshes
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.meshes import locate_mesh
from robot_dynamics.resources import ResourceNotFoundError

needs_trimesh = pytest.mark.skipif(
    importlib.util.find_spec("trimesh") is None,
    reason="trimesh, of the extra `view`, is not installed",
)


@pytest.fixture
def checkout(tmp_path):
    """Return the folder of descriptions of a package that is not installed, with meshes."""
    package = tmp_path / "src" / "arm"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "package.xml").write_text("<package>\n<name> arm_description </name></package>")
    (package / "meshes" / "a b.stl").write_text("solid")
    (package / "urdf" / "local.stl").write_text("solid")
    return package / "urdf"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("package://arm_description/meshes/a b.stl", "../meshes/a b.stl"),
        ("package://arm/meshes/a b.stl", "../meshes/a b.stl"),
        ("model://arm/meshes/a b.stl", "../meshes/a b.stl"),
        ("../meshes/a b.stl", "../meshes/a b.stl"),
        ("local.stl", "local.stl"),
        ("file://local.stl", "local.stl"),
    ],
)
def test_each_kind_of_address_is_found(checkout, address, expected):
    """By the name in package.xml, the folder's name, or relative to the description."""
    assert locate_mesh(address, checkout).samefile(checkout / expected)


def test_a_file_address_is_absolute(checkout):
    """Blanks may be written as %20."""
    path = (checkout / "../meshes/a b.stl").resolve()
    assert locate_mesh(f"file://{str(path).replace(' ', '%20')}") == path


def test_installed_packages_are_found():
    """Without a folder the places of packages are looked at."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    try:
        found = locate_mesh(
            "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
        )
    except ResourceNotFoundError:
        pytest.skip("example-robot-data is not installed")
    assert found.is_file()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("package://arm_description/meshes/b.stl", "there is no such file"),
        ("package://other/b.stl", r"//other/b\.stl.*package other"),
        ("meshes/b.stl", r"b\.stl.*b\.stl"),
        ("https://example.org/a.stl", "expected package://, file:// or a path"),
    ],
)
def test_a_missing_mesh_is_an_error_with_the_places_searched(checkout, address, message):
    """Nothing is fetched, and the places that were looked at are listed."""
    with pytest.raises(ResourceNotFoundError, match=message):
        locate_mesh(address, checkout)


# -- small files that stand for much data


def glb(document, data):
    """Return a binary glTF file."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    size = 28 + len(text) + len(data)
    return (
        b"glTF"
        + struct.pack("<III", 2, size, len(text))
        + b"JSON"
        + text
        + struct.pack("<I", len(data))
        + b"BIN\0"
        + data
    )


def gltf(triangles, *, nodes=1, primitives=1, view=True, **more):
    """Return a glTF document of one mesh with its data: a triangle, over and over."""
    positions = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    indices = struct.pack("<3I", 0, 1, 2) * triangles
    accessors = [
        {"componentType": 5126, "count": 3, "type": "VEC3"},
        {"bufferView": 1, "componentType": 5125, "count": 3 * triangles, "type": "SCALAR"},
    ]
    accessors[0] |= {"bufferView": 0} if view else {"count": 10**9}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [*range(nodes)]}],
        "nodes": [{"mesh": 0}] * nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * primitives}],
        "buffers": [{"byteLength": len(positions + indices)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(positions)},
            {"buffer": 0, "byteOffset": len(positions), "byteLength": len(indices)},
        ],
        "accessors": accessors,
        **more,
    }
    return document, positions + indices


def archive(path, name, mebibytes):
    """Write a small archive with a file of zeros."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open(name, "w") as member,
    ):
        for _ in range(mebibytes):
            member.write(bytes(2**20))
    return path


def png(width):
    """Return a square image of zeros."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    pack = zlib.compressobj(1)
    rows = b"".join(pack.compress(bytes(1 + 3 * width)) for _ in range(width)) + pack.flush()
    header = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@needs_trimesh
def test_small_files_that_stand_for_much_data_are_refused(tmp_path):
    """Each in one sentence, within 200 MiB of memory."""
    pytest.importorskip("collada", reason="pycollada, of the extra `view`, is not installed")
    expected = {
        archive(tmp_path / "a.zip", "a.stl", 1): "expected a file of .stl",
        archive(tmp_path / "a.3mf", "3D/3dmodel.model", 1): "expected a file of .stl",
        archive(tmp_path / "a.dae", "a.dae", 250): "is an archive",
    }
    texts = {
        "nodes.glb": (glb(*gltf(20_000, nodes=2000)), "about 4e+07 triangles"),
        "primitives.glb": (glb(*gltf(20_000, primitives=2000)), "about 4e+07 triangles"),
        "zeros.glb": (glb(*gltf(1, view=False)), "expected at most 5000000"),
        "short.stl": (bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50), "it has no triangles"),
        "rows.ply": (
            b"ply\nformat binary_little_endian 1.0\nelement vertex 1000000000000\n"
            b"property float x\nproperty float y\nproperty float z\nend_header\n",
            "cannot be read as a mesh",
        ),
        "rows.off": (b"OFF\n1000000000000 1 0\n0 0 0\n", "cannot be read as a mesh"),
        "laughs.dae": (
            b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a0 'ha'>"
            + b"".join(b"<!ENTITY a%d '%s'>" % (i, b"&a%d;" % (i - 1) * 10) for i in range(1, 10))
            + b"]><COLLADA xmlns='http://www.collada.org/2005/11/COLLADASchema' version='1.4.1'>"
            b"<asset><created>&a9;</created></asset></COLLADA>",
            "cannot be read as a mesh",
        ),
    }
    for name, (data, message) in texts.items():
        (tmp_path / name).write_bytes(data)
        expected[tmp_path / name] = message
    found = answers(
        "from pathlib import Path\nimport trimesh, collada, PIL.Image, networkx\n"
        "from robot_dynamics.description.meshes import read_mesh",
        "read_mesh(Path(given))",
        [*expected],
        mib=200,
    )
    for (path, message), line in zip(expected.items(), found, strict=True):
        assert line.startswith(f"DescriptionError: {path}: "), line
        assert message in line


@needs_trimesh
def test_textures_and_files_elsewhere_are_not_read(tmp_path):
    """The pixels of a small image take 240 MiB; the colour beside it is read."""
    pytest.importorskip("PIL", reason="Pillow, of the extra `view`, is not installed")
    image = png(9_000)
    (tmp_path / "big.png").write_bytes(image)
    (tmp_path / "a.mtl").write_text("newmtl m\nKd 1 0 0\nmap_Kd big.png\n")
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"
    (tmp_path / "a.obj").write_text(f"mtllib a.mtl\n{corners}")
    (tmp_path / "endless.obj").write_text(f"mtllib /dev/zero\n{corners}")
    document, data = gltf(1)
    document["bufferViews"].append(
        {"buffer": 0, "byteOffset": len(data), "byteLength": len(image)}
    )
    document["buffers"][0]["byteLength"] += len(image)
    document |= {
        "images": [{"bufferView": 2, "mimeType": "image/png"}],
        "textures": [{"source": 0}],
        "materials": [
            {
                "pbrMetallicRoughness": {
                    "baseColorFactor": [1, 0, 0, 1],
                    "baseColorTexture": {"index": 0},
                }
            }
        ],
    }
    document["meshes"][0]["primitives"][0]["material"] = 0
    (tmp_path / "a.glb").write_bytes(glb(document, data + image + bytes(-len(image) % 4)))
    files = [tmp_path / name for name in ("a.obj", "a.glb", "endless.obj")]
    found = answers(
        "from pathlib import Path\nimport trimesh, PIL.Image, PIL.PngImagePlugin, networkx\n"
        "from robot_dynamics.description.meshes import read_mesh",
        "[(part.color, len(part.mesh.faces)) for part in read_mesh(Path(given))]",
        files,
        mib=200,
    )
    assert found[:2] == ["accepted: [((1.0, 0.0, 0.0, 1.0), 1)]"] * 2
    assert found[2].startswith("accepted")


@needs_trimesh
@pytest.mark.parametrize(("most", "refused"), [(24, False), (23, True)])
def test_triangles_are_counted_in_every_place_that_a_part_has(
    tmp_path, monkeypatch, most, refused
):
    """Two nodes with a box each: 24 triangles, the second where its node says."""
    import trimesh

    box = trimesh.creation.box((1.0, 1.0, 1.0))
    scene = trimesh.Scene()
    scene.add_geometry(box, geom_name="box")
    at = np.eye(4)
    at[0, 3] = 5.0
    scene.graph.update("second", geometry="box", matrix=at)
    scene.export(tmp_path / "two.glb")
    monkeypatch.setattr(meshes, "MAX_TRIANGLES", most)
    if refused:
        with pytest.raises(DescriptionError, match="24 triangles, expected at most 23"):
            meshes.read_mesh(tmp_path / "two.glb")
        return
    parts = meshes.read_mesh(tmp_path / "two.glb")
    assert sorted(part.mesh.vertices[:, 0].max() for part in parts) == [0.5, 5.5]


@needs_trimesh
def test_a_large_mesh_is_refused_unread(tmp_path, monkeypatch):
    """By its size, as its neighbours are."""
    import trimesh

    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "box.stl")
    size = (tmp_path / "box.stl").stat().st_size
    for most, refused in ((size, False), (size - 1, True)):
        monkeypatch.setattr(meshes, "MAX_BYTES", most)
        if refused:
            with pytest.raises(DescriptionError, match=r"box\.stl: is larger than"):
                meshes.read_mesh(tmp_path / "box.stl")
        else:
            assert len(meshes.read_mesh(tmp_path / "box.stl")) == 1
