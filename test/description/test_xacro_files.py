# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Xacro files with arguments, and without the xacro package."""

import sys

import pytest
from description.urdf_texts import ARM

from robot_dynamics.description import xacro_files
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.description.xacro_files import expand_xacro

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
XACRO = ARM.replace(
    '<robot name="arm">',
    f'{HEAD}\n<xacro:arg name="mass" default="2"/><xacro:arg name="left" default="false"/>'
    '<xacro:property name="m" value="$(arg mass)"/>',
).replace('<mass value="2"/>', '<mass value="${m / 2}"/>')


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a xacro file and returns its path."""

    def written(text=XACRO, name="arm.urdf.xacro"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


def test_without_the_package_one_sentence_says_what_to_do(write, monkeypatch):
    """The file is named, and both ways out."""
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(DescriptionError, match=r"pip install xacro.*or expand it first"):
        load_description(write())


def test_missing_files_are_named_with_or_without_the_package(tmp_path):
    """A missing file is a missing file."""
    with pytest.raises(DescriptionError, match=r"none\.xacro"):
        expand_xacro(tmp_path / "none.xacro")


class TestWithTheXacroPackage:
    """Tests that need the package."""

    @pytest.fixture(autouse=True)
    def _need_xacro(self):
        pytest.importorskip("xacro")

    def test_arguments_reach_the_file(self, write):
        """Expressions are evaluated with the values given, or with their defaults."""
        path = write()
        assert load_description(path).mechanism.links[1].mass == 1.0
        description = load_description(path, arguments={"mass": 5, "left": True})
        assert description.mechanism.links[1].mass == 2.5
        assert description.source == str(path)
        assert description.folder == str(path.parent)

    def test_an_undeclared_argument_is_refused(self, write):
        """xacro itself would pass over it in silence."""
        with pytest.raises(DescriptionError, match="'mas'"):
            load_description(write(), arguments={"mas": 5})

    def test_other_files_and_packages_are_found(self, write, tmp_path, monkeypatch):
        """`$(find PACKAGE)` looks where package:// addresses do; includes may be relative."""
        (tmp_path / "parts_pkg").mkdir()
        write(f'{HEAD}<xacro:macro name="tip"><link name="tip"/></xacro:macro></robot>', "m.xacro")
        (tmp_path / "m.xacro").rename(tmp_path / "parts_pkg" / "m.xacro")
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
        text = f'{HEAD}<xacro:include filename="$(find parts_pkg)/m.xacro"/><xacro:tip/></robot>'
        assert load_description(write(text)).mechanism.root == "tip"

    @pytest.mark.parametrize(
        ("expression", "message"),
        [
            ("9**9**9", "is not expanded after 1 s of processor time and is given up"),
            ("'a' * 10**10", "needs too much memory"),
            ("[0] * 10**9", "needs too much memory"),
        ],
    )
    def test_expansion_has_an_end(self, write, monkeypatch, expression, message):
        """Time and memory are bounded."""
        # What takes too much memory says so at once, where the machine gives it the time.
        monkeypatch.setattr(xacro_files, "MAX_SECONDS", 1 if "after 1 s" in message else 120)
        with pytest.raises(DescriptionError, match=rf"arm\.urdf\.xacro(:\d+)?: {message}"):
            expand_xacro(write(XACRO.replace("m / 2", expression)))

    def test_macros_that_double_have_an_end(self, write, monkeypatch):
        """Thirty macros that each call the next twice stand for a thousand million links."""
        monkeypatch.setattr(xacro_files, "MAX_SECONDS", 1)
        macros = "".join(
            f'<xacro:macro name="m{i}"><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>'
            for i in range(30)
        )
        text = f'{HEAD}{macros}<xacro:macro name="m30"><link name="x"/></xacro:macro><xacro:m0/>'
        with pytest.raises(DescriptionError, match=r"arm\.urdf\.xacro:1.*\b1 s\b"):
            expand_xacro(write(f"{text}</robot>"))

    def test_problems_after_expansion_name_the_lines_of_the_expanded_text(self, write):
        """The place says that the text is the expanded one."""
        path = write(XACRO.replace('"prismatic"', '"prizmatic"'))
        with pytest.raises(DescriptionError) as caught:
            load_description(path)
        (error,) = [p for p in caught.value.problems if p.severity == "error"]
        name, _, line = error.place.rpartition(":")
        assert name == "arm.urdf.xacro (expanded)"
        assert "prizmatic" in expand_xacro(path).splitlines()[int(line) - 1]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (XACRO.replace("</robot>", ""), r"arm.urdf.xacro:\d+: is not well-formed XML"),
            (XACRO.replace("m / 2", "m / z"), "'z'"),
            (XACRO.replace("m / 2", "().__class__"), r"'\(\)\.__class__'"),
            (XACRO.replace("(arg mass)", "(arg mas)"), "'mas'"),
            (XACRO.replace("</robot>", "<xacro:none/></robot>"), r"xacro:none"),
            (
                XACRO.replace("</robot>", '<xacro:include filename="no.xacro"/></robot>'),
                r"arm\.urdf\.xacro:.*no\.xacro",
            ),
            (
                XACRO.replace("</robot>", '<xacro:include filename="arm.urdf.xacro"/></robot>'),
                "include each other without end|recursion",
            ),
            (
                f'{HEAD}<link name="$(find no_such_package)"/></robot>',
                r"//no_such_package/.*no_such_package",
            ),
        ],
    )
    def test_errors_of_xacro_are_one_sentence(self, write, text, message, capfd):
        """The file is named, nothing is printed, and no traceback is seen."""
        with pytest.raises(DescriptionError, match=message) as caught:
            load_description(write(text))
        assert "arm.urdf.xacro" in str(caught.value)
        assert len(caught.value.problems) == 1
        assert capfd.readouterr() == ("", "")
