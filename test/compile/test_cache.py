# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on disk: a warm start traces nothing, and nothing wrong with a cache does harm."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.compile import cache, kernel, load_kernel, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.kernel import shared_kernel
from robot_dynamics.scalar.functions import sin

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    path = tmp_path / "kernels"
    monkeypatch.delenv("ROBOT_DYNAMICS_INTERPRET", raising=False)
    monkeypatch.delenv("ROBOT_DYNAMICS_CACHE", raising=False)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(path))
    return path


class Builder:
    """Makes a program, and counts how often."""

    def __init__(self, size=1):
        self.size, self.calls = size, 0

    def __call__(self):
        self.calls += 1

        def f(x, p):
            y = x
            for i in range(self.size):
                y = y * p[0] + sin(x) * float(i + 1)
            return {"y": y, "square": [[x * x, 0.0]]}

        return trace(f, "f", {"x": ()}, parameters=1)


def check(kernel):
    y, square = kernel.bind([2.0])(3.0)
    assert y == pytest.approx(6.0 + np.sin(3.0), rel=1e-15)
    np.testing.assert_array_equal(square, [[9.0, 0.0]])


def stored(folder):
    (path,) = folder.glob("*.kernel")
    return path


def test_second_load_builds_nothing(folder):
    """The program is traced and compiled once, and the kernel from the file is the same."""
    build = Builder()
    first = load_kernel(b"key", build)
    second = load_kernel(b"key", build)
    assert build.calls == 1
    assert second.ports == first.ports
    assert second.lanes == first.lanes
    check(first)
    check(second)


def test_another_process_builds_nothing(folder):
    """Code stored by one process is loaded by the next."""
    build = Builder()
    load_kernel(b"key", build)
    script = (
        "from robot_dynamics.compile import load_kernel\n"
        "k = load_kernel(b'key', lambda: 1 / 0)\n"
        "print(k.bind([2.0])(0.0))"
    )
    root = Path(cache.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "0.0" in result.stdout


def test_key_and_lanes_tell_kernels_apart(folder):
    """Another key is another kernel; the code for batches depends on their lanes."""
    build = Builder()
    load_kernel(b"key", build)
    load_kernel(b"other key", build)
    load_kernel(b"key", build, lanes=1)
    assert build.calls == len(list(folder.glob("*.kernel"))) == 2
    for lanes in (2, 4):
        load_kernel(b"key", build, lanes=lanes).bind([2.0])(np.zeros(3))
    assert build.calls == len(list(folder.glob("*.kernel"))) == 4


def test_source_processor_and_versions_tell_kernels_apart(monkeypatch):
    """Whatever code depends on changes the name of the file."""
    host = find_host()
    names = {cache.entry_name(b"key", host, 4)}
    names.add(cache.entry_name(b"key", host._replace(cpu="another"), 4))
    names.add(cache.entry_name(b"key", host._replace(features="-fma"), 4))
    names.add(cache.entry_name(b"key", host._replace(opt_level=0), 4))
    monkeypatch.setattr(cache, "_versions", lambda: ("0.0", "0.0"))
    names.add(cache.entry_name(b"key", host, 4))
    monkeypatch.setattr(cache, "source_hash", lambda: b"other source")
    names.add(cache.entry_name(b"key", host, 4))
    assert len(names) == 6


def test_files_are_private(folder):
    """The folder and the files in it are for this user alone."""
    load_kernel(b"key", Builder())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(stored(folder).stat().st_mode) & 0o077 == 0
    assert [path.name for path in folder.iterdir()] == [stored(folder).name]  # nothing temporary


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
        lambda content: b"not a kernel at all" * 100,
    ],
    ids=["empty", "header", "half", "less", "more", "flipped", "other"],
)
def test_damaged_file_is_replaced(folder, damage):
    """A damaged file is noticed, not loaded, and written anew."""
    build = Builder()
    load_kernel(b"key", build)
    path = stored(folder)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    check(load_kernel(b"key", build))
    assert build.calls == 2
    check(load_kernel(b"key", build))
    assert build.calls == 2


def test_file_of_wrong_content_is_replaced(folder):
    """A file whose checksum is right and whose content is no kernel is not used either."""
    build = Builder()
    load_kernel(b"key", build)
    for metadata, code in (
        ({}, b"junk"),
        ({"name": "f"}, b""),
        (build().ports.as_metadata(), b"no"),
    ):
        stored(folder).write_bytes(cache._pack(metadata, code))
        check(load_kernel(b"key", build))


def test_file_that_others_can_write_is_not_loaded(folder):
    """A file with write permission for group or others might be anybody's code."""
    build = Builder()
    load_kernel(b"key", build)
    for mode in (0o620, 0o602):
        stored(folder).chmod(mode)
        check(load_kernel(b"key", build))
        assert stat.S_IMODE(stored(folder).stat().st_mode) & 0o022 == 0  # it was replaced
    assert build.calls == 3


def test_folder_that_others_can_write_is_not_used(folder):
    """In a folder that others can write to, nothing is read and nothing stored."""
    build = Builder()
    load_kernel(b"key", build)
    folder.chmod(0o770)
    check(load_kernel(b"key", build))
    load_kernel(b"new", build)
    assert build.calls == 3
    assert len(list(folder.iterdir())) == 1


def test_links_are_not_followed(folder, tmp_path):
    """Neither a linked file nor a linked folder is used."""
    build = Builder()
    load_kernel(b"key", build)
    elsewhere = tmp_path / "elsewhere"
    stored(folder).rename(elsewhere)
    (folder / f"{cache.entry_name(b'key', find_host(), find_host().lanes)}.kernel").symlink_to(
        elsewhere
    )
    check(load_kernel(b"key", build))
    assert build.calls == 2
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    check(load_kernel(b"key", build))
    assert build.calls == 3


def test_files_of_another_user_are_not_loaded(folder, monkeypatch):
    """Files of other users are not executed."""
    build = Builder()
    load_kernel(b"key", build)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    check(load_kernel(b"key", build))
    assert build.calls == 2


def test_unusable_places_cost_nothing_but_time(monkeypatch, tmp_path, folder):
    """A file in the way, a folder that cannot be made, no home: the kernel is there regardless."""
    build = Builder()
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    for place in (blocked, blocked / "below", Path("/proc/nothing/here")):
        monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(place))
        check(load_kernel(b"key", build))
    assert build.calls == 3


def test_full_disk_leaves_nothing_behind(folder, monkeypatch):
    """If writing fails half-way, no part of a file remains."""
    load_kernel(b"other", Builder())

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    check(load_kernel(b"key", Builder()))
    assert len(list(folder.iterdir())) == 1


def test_cache_can_be_turned_off(folder, monkeypatch):
    """ROBOT_DYNAMICS_CACHE=0 neither reads nor writes."""
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "0")
    build = Builder()
    load_kernel(b"key", build)
    load_kernel(b"key", build)
    assert build.calls == 2
    assert not folder.exists()


def test_default_folder_follows_xdg(monkeypatch, tmp_path):
    """Without further notice the folder is in XDG_CACHE_HOME, or in ~/.cache."""
    monkeypatch.delenv("ROBOT_DYNAMICS_CACHE", raising=False)
    monkeypatch.delenv("ROBOT_DYNAMICS_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.folder_of_kernels() == tmp_path / "x" / "robot_dynamics"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder_of_kernels() == tmp_path / ".cache" / "robot_dynamics"


def test_oldest_files_are_removed(folder, monkeypatch):
    """The folder does not grow for ever; used entries stay."""
    monkeypatch.setattr(cache, "_MOST_FILES", 4)
    build = Builder()
    load_kernel(b"used", build)
    used = stored(folder)
    now = time.time()
    for age in range(1, 5):
        load_kernel(bytes([age]), build)
        for path in folder.glob("*.kernel"):
            if path != used:
                os.utime(path, (now - 100, now - 100))
        load_kernel(b"used", lambda: 1 / 0)
    assert used.exists()
    assert len(list(folder.glob("*.kernel"))) <= 4


def test_a_warm_load_builds_nothing(folder):
    """A kernel that has been built once is read from its file after that."""
    build = Builder(size=2000)
    for _ in range(5):
        load_kernel(b"key", build)
    assert build.calls == 1


def test_shared_kernels_do_not_look_at_the_disk(folder, monkeypatch):
    """Models of one structure have one kernel in a process, of which the last ones are kept."""
    monkeypatch.setattr(kernel, "_shared", {})
    monkeypatch.setattr(kernel, "_MOST_SHARED", 2)
    build = Builder()
    first = shared_kernel(b"a", build)
    stored(folder).unlink()
    assert shared_kernel(b"a", build) is first
    check(first)
    assert shared_kernel(b"a", build, lanes=1) is not first
    assert shared_kernel(b"a", build) is first
    shared_kernel(b"b", build)  # the other with one lane was used longest ago
    assert shared_kernel(b"a", build) is first
    assert build.calls == 3
    shared_kernel(b"a", build, lanes=1)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE_DIR", str(folder / "other"))
    assert shared_kernel(b"a", build) is not first
    assert build.calls == 4


def test_source_hash_is_taken_once():
    """The package is hashed once per process."""
    cache.source_hash.cache_clear()
    first = cache.source_hash()
    assert len(first) == 32
    assert cache.source_hash() is first
