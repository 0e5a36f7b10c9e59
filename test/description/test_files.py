# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be read, each answered by one sentence."""

import os
import threading

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.files import as_text, locate, read_bytes


def test_a_missing_file_is_named_with_the_likely_one(tmp_path):
    """A missing file is one sentence with the expected file and the files that are there."""
    (tmp_path / "panda.urdf").write_text("<robot/>")
    with pytest.raises(DescriptionError, match=r"pandas\.urdf.*panda\.urdf") as e:
        read_bytes(tmp_path / "pandas.urdf", expected="a URDF file", limit=100)
    assert len(str(e.value).splitlines()) == 1


def test_folders_and_odd_names_are_refused(tmp_path):
    """A folder, or a name no file can have, is answered in the same way."""
    with pytest.raises(DescriptionError, match="is a folder"):
        read_bytes(tmp_path, expected="a URDF file", limit=100)
    with pytest.raises(DescriptionError, match="cannot be read"):
        read_bytes("a\0b", expected="a URDF file", limit=100)


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    """No more than the limit is read, and a longer file is refused."""
    (tmp_path / "big").write_bytes(b"x" * 101)
    with pytest.raises(DescriptionError, match="larger than"):
        read_bytes(tmp_path / "big", expected="a URDF file", limit=100)


def test_other_encodings_are_refused_with_the_line():
    """Latin-1 text names the line of its first wrong byte; a byte-order mark is fine."""
    assert as_text("\ufeffé".encode(), "f") == "é"
    with pytest.raises(DescriptionError, match=r"f:2.*0xe9.*UTF-8"):
        as_text("a\né".encode("latin-1"), "f")


def test_a_package_address_that_names_nothing_is_located():
    """An unknown package is refused at the place that named it."""
    with pytest.raises(DescriptionError, match=r"^x.yaml:3: package://no_such_package/a.urdf"):
        locate("package://no_such_package/a.urdf", "", "x.yaml:3")
    assert locate("b.urdf", "folder").as_posix() == "folder/b.urdf"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs a Unix system")
def test_pipes_are_read_and_never_waited_for(tmp_path):
    """Pipes are read up to the limit; a pipe without a writer is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DescriptionError, match="a pipe without a writer"):
        read_bytes(tmp_path / "pipe", expected="a URDF file", limit=100)
    for sent in (b"<robot/>", b"x" * 200):
        read, write = os.pipe()
        # The writer is slower than the reader.
        threading.Timer(0.2, lambda w=write, s=sent: (os.write(w, s), os.close(w))).start()
        if len(sent) < 100:
            found = read_bytes(f"/dev/fd/{read}", expected="a URDF file", limit=100)
            assert found == sent
        else:
            with pytest.raises(DescriptionError, match="is larger than"):
                read_bytes(f"/dev/fd/{read}", expected="a URDF file", limit=100)
        os.close(read)
