# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Answers of the process that expands xacro files."""

import io
import json
import sys

import pytest

from robot_dynamics.description import xacro_child

pytest.importorskip("xacro")
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """Leave this process without limits and xacro as it was."""
    from xacro import substitution_args

    monkeypatch.setattr(substitution_args, "_eval_find", substitution_args._eval_find)
    monkeypatch.setattr(xacro_child, "_limit", lambda size, seconds: None)


def answer(tmp_path, monkeypatch, text, **arguments):
    """Return the answer for a file with a text."""
    (tmp_path / "r.xacro").write_text(f"{HEAD}{text}</robot>")
    request = {"file": str(tmp_path / "r.xacro"), "arguments": arguments, "seconds": 1, "bytes": 1}
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    monkeypatch.setattr(sys, "stdout", out)
    xacro_child.main()
    return json.loads(out.getvalue())


def test_a_sound_file_is_answered_with_its_text(tmp_path, monkeypatch):
    """Expressions are evaluated, arguments are used."""
    text = '<xacro:arg name="a" default="1"/>\n<link name="l$(arg a)${1 + 1}"/>'
    assert 'name="l72"' in answer(tmp_path, monkeypatch, text, a="7")["text"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('\n<link name="${foo}"/>', "r.xacro:3", "name 'foo' is not defined"),
        ("\n\n<xacro:none/>", "r.xacro:4", "unknown macro name: xacro:none"),
        ('<xacro:include filename="no.xacro"/>', "r.xacro:2", "no.xacro: no such file"),
        ('<link name="$(find nopkg)"/>', "r.xacro", "package://nopkg/: there is no package nopkg"),
        ('<link name="$(arg side)"/>', "r.xacro", "argument 'side' is not given"),
    ],
)
def test_errors_of_xacro_have_their_line_and_appear_once(
    tmp_path, monkeypatch, text, place, message
):
    """The line where xacro quotes the text; no class of Python is named, nothing said twice."""
    found = answer(tmp_path, monkeypatch, text)
    assert found["place"] == place
    said = found["message"]
    assert message in said
    assert "Errno" not in said
    assert "Error'" not in said
    assert said.count("nopkg: ") <= 1


def test_the_checkout_of_a_file_is_a_package_that_is_found(tmp_path, monkeypatch):
    """`$(find PACKAGE)` is a folder above the file whose package.xml says so, or beside one."""
    checkout = tmp_path / "any_name"
    (checkout / "urdf").mkdir(parents=True)
    (checkout / "package.xml").write_text("<package><name>my_arm</name></package>")
    (tmp_path / "my_hand").mkdir()
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    file = checkout / "urdf" / "r.xacro"
    for name, folder in (("my_arm", checkout), ("my_hand", tmp_path / "my_hand")):
        file.write_text(
            f'<robot name="r" xmlns:xacro="http://x"><link name="$(find {name})"/></robot>'
        )
        assert f'name="{folder}"' in xacro_child.expansion(str(file), {})["text"]
