# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tutorials run as they are printed; commands of all pages are valid, links lead somewhere."""

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from waiting import PATIENCE_S

from robot_dynamics.app.command_line.main import _parser, main
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.reproductions.command import add_reproduce
from robot_dynamics.reproductions.study import STUDIES

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="needs the checkout, not an installed package"
)

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# All commands of these pages run, and print what the page shows.
TUTORIALS = {"first_steps", "four_bar", "own_arms", "own_task", "studies"}
QUICK = {"first_steps", "four_bar", "mjcf", "mobility"}  # seconds; the others take minutes
WRITE = ("--output", "--plot", "--json", "--graph", ">")
CONTINUES = {"mobility": "four_bar"}  # with the files of that page

# Why commands of other programs are not run here.
NOT_RUN = {
    "./run": "sets up an environment from the network",
    "pip": "installs from the network",
    "python3 -m pip": "installs from the network",
    "python3 -m venv": "is a part of an installation",
    'python3 "$(command': "needs colcon and ROS 2",
    "sudo": "needs administrator's rights",
    "ros2": "needs an installation of ROS 2",
    "rosdep": "needs an installation of ROS 2",
    "colcon": "needs an installation of ROS 2",
    "source": "changes the shell",
    "eval": "changes the shell",
    "export": "changes the shell",
    "git": "is about a repository of the reader",
    "mkdir": "is a part of an installation",
    "touch": "is a part of an installation",
    "cp": "is about files of the reader",
    "cd": "is about folders of the reader",
    ".ci/run": "is all of the checks",
    ".venv/bin/pip": "installs from the network",
    "simulator": "test/nodes runs the nodes",
    "controller": "test/nodes runs the nodes",
    "guard": "test/nodes runs the nodes",
    "marker": "test/nodes runs the nodes",
    "sleep": "test/nodes kills the nodes",
    "sed": "is about files of the reader",
    "xacro": "expands files of other packages",
    "ROBOT_DYNAMICS_OPT_LEVEL=1": "is a test",
    "ssh": "needs another machine",
    "pytest": "is a test",
    "python": "test/test_examples.py runs the examples",
    "python3": "test/test_examples.py runs the examples",
}

# Commands of ours that `test_a_page_can_be_followed` leaves out: what runs them, or why nothing.
RUN_ELSEWHERE = {
    r"drill": "test/nodes/drill/test_process.py",
    r"render (lift_box|tray|fold) --output \w+\.webp": "test/app/pictures/test_render.py",
    r"view": "test/app/pictures/test_page.py",
    r"view --topics": "test/nodes/test_viewer.py",
    r".*\bhold\.(py|yaml)\b": "test/app/runs/test_own_controller.py",
    r"reproduce (?!--list)": "test/reproductions/test_command.py",
    r"(simulate|inspect|posture) .*\b(my_cell|my_task|example-robot-data)\b": (
        "test/test_documentation.py"
    ),
    r"\w+ .*\bmy_arms\b": "is about arms of the reader",
    r"study": "test/app/studies/test_study.py",
    r"plot (rosbag2_|simulator\.npz)": "is about recordings of the reader",
    r".*<TAB>": "is about the keyboard",
}

# What runs the commands of ours; here their options, scenarios and keys are checked.
RUN_BY = {
    "demo": "app/runs/test_demo.py",
    "simulate": "app/runs/test_demonstrations.py",
    "benchmark": "test_benchmarks.py",
    "drill": "nodes/drill/test_process.py",
    "identify": "identification/test_held_object.py",
    "excite": "identification/test_excitation.py",
    "commission": "app/commissioning/test_commission.py",
    "inspect": "app/command_line/test_command_line.py",
    "convert": "app/command_line/test_command_line.py",
    "plot": "app/command_line/test_command_line.py",
    "posture": "app/scenarios/test_posture.py",
    "schema": "app/command_line/test_command_line.py",
    "render": "app/pictures/test_render.py",
    "view": "app/pictures/test_page.py",
    "reproduce": "reproductions/test_command.py",
    "study": "app/studies/test_study.py",
}


class Block(NamedTuple):
    """A block of code of a page.

    Attributes:
        language: As it is marked.
        text: Its contents.
        file: The file that it is to be, or nothing.
        line: Its line on the page.
    """

    language: str
    text: str
    file: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    pattern = r"(?:<!-- file: (\S+) -->\n)?^```([\w{}]*)[^\n]*\n(.*?)^```"
    for match in re.finditer(pattern, text, re.M | re.S):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(match[2], match[3], match[1] or "", line)


def is_shell(block: Block) -> bool:
    """Return whether a block holds command lines."""
    return block.language in ("sh", "bash", "console")


def commands(block: Block) -> Iterator[str]:
    """Yield the command lines of a block, those that go on in the next line in one piece."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue  # what is printed
        line = line.strip().removeprefix("$ ")
        if line and not line.startswith("#"):
            yield line


def stated(command: str) -> tuple[str, int]:
    """Return a command without its comment, and its exit status: 0 unless it is stated."""
    words, _, comment = command.partition(" #")
    status = re.search(r"\bstatus (\d)$", comment)
    return words.strip(), int(status[1]) if status else 0


def documented() -> list:
    """Return every command of the documentation with its place."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            if is_shell(block):
                found += [
                    pytest.param(command, id=f"{page.stem}:{block.line}:{command[:40]}")
                    for command in commands(block)
                ]
    return found


@pytest.mark.parametrize("command", documented())
def test_a_command_is_valid(command, tmp_path, monkeypatch):
    """Ours has options that exist, and names scenarios, keys and studies that exist."""
    words = shlex.split(command, comments=True)
    program = Path(words[0]).name if words[0].endswith("robot_dynamics") else words[0]
    if program != "robot_dynamics":
        known = any(command == one or command.startswith(f"{one} ") for one in NOT_RUN)
        assert known, f"{command}: neither ours nor one of those that are not run, with a reason"
        return
    if "<TAB>" in command:
        return
    assert words[1].startswith("-") or (ROOT / "test" / RUN_BY[words[1]]).is_file()
    cut = next((i for i, word in enumerate(words) if word in (">", "|", "&")), len(words))
    options = _parser([add_reproduce]).parse_args(words[1:cut])
    if words[1] == "reproduce":
        assert options.study in (None, *(study.name for study in STUDIES))
    scenario = getattr(options, "scenario", None)
    if scenario is not None and not re.search(r"(^|/)(my|cell)_?|\.yaml$", scenario):
        load_scenario(scenario, getattr(options, "overrides", ()))


def of_ours(page: Path) -> list[str]:
    """Return the commands of ours on a page."""
    every = [one for block in blocks(page) if is_shell(block) for one in commands(block)]
    return [one for one in every if Path(one.split()[0]).name == "robot_dynamics"]


def elsewhere(command: str) -> list[str]:
    """Return the patterns of `RUN_ELSEWHERE` that a command of ours is of."""
    arguments = stated(command)[0].partition(" ")[2]
    return [pattern for pattern in RUN_ELSEWHERE if re.match(pattern, arguments)]


def test_tests_named_for_other_commands_exist():
    """No reason is left over, and each test that one names exists."""
    every = [command for page in PAGES for command in of_ours(page)]
    used = {pattern for command in every for pattern in elsewhere(command)}
    assert used == set(RUN_ELSEWHERE)
    named = [reason for reason in RUN_ELSEWHERE.values() if reason.endswith(".py")]
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_commands_read_are_there(page):
    """The page shows them, or an earlier command of it writes them."""
    continued = page.with_stem(CONTINUES.get(page.stem, page.stem))
    there = {block.file for source in (page, continued) for block in blocks(source)}
    for command in of_ours(page):
        words = stated(command)[0].split()
        written = {word for option, word in pairwise(words) if option in WRITE}
        written |= {words[-1]} if words[1] == "convert" else set()
        read = {word for word in words if re.fullmatch(r"\w+\.(yaml|npz|mcap|urdf|xml)", word)}
        assert elsewhere(command) or read - written <= there, command
        there |= written


def save(block: Block) -> None:
    """Write the file that a block is to be, if it is one."""
    if block.file:
        Path(block.file).parent.mkdir(exist_ok=True)
        Path(block.file).write_text(block.text, encoding="utf-8")


def followed() -> list:
    """Return the tutorials, and the other pages with commands that run here."""
    names = {page.stem for page in PAGES if not all(elsewhere(one) for one in of_ours(page))}
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in sorted(names | TUTORIALS)
    ]


def require_packages(command: str) -> None:
    """Skip the test if a package that a command needs is not installed."""
    needed = dict.fromkeys(("convert", "render", "mujoco"), "mujoco")
    needed |= {"demo": "rclpy", "study": "pyarrow"}
    for word in needed.keys() & command.split():
        pytest.importorskip(needed[word], reason=f"{needed[word]} is not installed")
    if re.search(r"_panda|_xarm7|my_cell|my_task|example-robot-data", command):
        try:
            version("example-robot-data")
        except PackageNotFoundError:
            pytest.skip("example-robot-data is not installed")


@pytest.fixture
def execute(tmp_path, monkeypatch, capfd):
    """Return a function that runs a command in a new folder; it returns status and output."""
    binaries, folder = tmp_path / "bin", tmp_path / "work"
    binaries.mkdir()
    folder.mkdir()
    for program, words in (("robot_dynamics", "-m robot_dynamics"), ("python", "")):
        (binaries / program).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (binaries / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(binaries), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    monkeypatch.chdir(folder)

    def run(command: str) -> tuple[int, str]:
        words = shlex.split(command, comments=True)
        if words[0] == "robot_dynamics" and ">" not in words:  # quicker than a process
            status = main(words[1:], [add_reproduce])
        else:
            status = subprocess.run(["sh", "-c", command], timeout=PATIENCE_S).returncode
        return status, "".join(capfd.readouterr())

    return run


@pytest.mark.timeout(3600)  # two minutes at most where the machine has time
@pytest.mark.parametrize("name", followed())
def test_a_page_can_be_followed(name, execute):
    """In a new folder, in their order: files are saved, commands end with the stated status.

    Commands of a tutorial also print the page's output, `...` for anything.
    """
    pytest.importorskip("matplotlib")
    page, printed = {page.stem: page for page in PAGES}[name], ""
    if name in CONTINUES:
        for block in blocks(page.with_stem(CONTINUES[name])):
            save(block)
    for block in blocks(page):
        save(block)
        if is_shell(block):
            printed = ""
            for command in commands(block):
                ours = command.startswith("robot_dynamics ") and not elsewhere(command)
                if ours or (name in TUTORIALS and block.language == "sh"):
                    require_packages(command)
                    status, said = execute(command)
                    assert status == stated(command)[1], f"{command}\n{said}"
                    printed += said
        elif block.language == "text" and name in TUTORIALS:
            # A line of dots alone stands for any lines, or for none.
            parts = re.sub(r"^\.\.\.\n", "...", block.text, flags=re.M).split("...")
            shown = r".*".join(map(re.escape, parts))
            assert re.search(rf"(?:^|\n){shown}", printed, re.S), (
                f"line {block.line} shows\n{block.text}\nprinted was\n{printed}"
            )


def test_no_command_is_in_a_block_of_another_language():
    """Blocks that are not marked as commands have none, so that each is checked."""
    for page in PAGES:
        for block in blocks(page):
            if not is_shell(block):
                assert not re.search(r"^(\$ )?(\S*/)?robot_dynamics [a-z]", block.text, re.M), page


def test_every_page_is_in_the_contents():
    """The index lists all pages."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(\w+)$", index, re.M))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - listed == {"index"}


def test_every_example_is_on_its_page():
    """The page on examples lists every program, with its picture."""
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for one in (ROOT / "examples").glob("*.py"):
        assert f"[`{one.name}`]" in page, one.name
        (picture,) = re.findall(rf"\]\(images/([\w.]+)\)<br>`{one.name}`", page)
        assert (ROOT / "docs" / "images" / picture).is_file()


def test_gains_and_symbols_have_keys_that_exist():
    """The table of symbols names keys of scenarios."""
    table = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Symbols")[2]
    keys = re.findall(r"`((?:cell|control|reference)\.[\w.\[\]]+)`", table)
    assert len(keys) > 15
    reference = (ROOT / "docs" / "scenario_reference.md").read_text(encoding="utf-8")
    for key in keys:
        parent, _, name = key.rpartition(".")
        section = reference.partition(f"## `{parent}`\n")[2].partition("\n## ")[0]
        assert f"\n| `{name}` |" in section, key


def test_the_book_has_a_name_on_every_page():
    """A page that cites chapters, tables or equations of Featherstone's book names it."""
    for page in (ROOT / "docs").glob("*.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        if re.search(r"\b(the|that|this|his) book\b|Featherstone|\(8\.\d+\)|[Cc]hapter 8", text):
            assert "Rigid Body Dynamics Algorithms" in text, page.name


def code() -> list:
    """Return every block of Python of the documentation."""
    return [
        pytest.param(block.text, id=f"{page.stem}:{block.line}")
        for page in PAGES
        for block in blocks(page)
        if block.language == "python"
    ]


@pytest.mark.parametrize("text", code())
def test_python_is_valid(text):
    """Programs of the documentation are Python, and import existing names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robot_dynamics"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "rd":
            assert hasattr(importlib.import_module("robot_dynamics"), node.attr), node.attr


@pytest.mark.parametrize("page", ["README.md", "docs/first_steps.md", "docs/contact.md"])
def test_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """Block after block, with the files that the page shows."""
    needed = {"docs/first_steps.md": "matplotlib", "docs/contact.md": "mujoco"}
    if page in needed:
        pytest.importorskip(needed[page], reason=f"{needed[page]} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "urdf").symlink_to(ROOT / "urdf")  # as in the checkout
    known: dict = {}
    for block in blocks(ROOT / page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), known)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        slug = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", slug.lower()).replace(" ", "-")
        number = 1
        while (unique := slug if number == 1 else f"{slug}-{number - 1}") in found:
            number += 1
        found.add(unique)
    return found | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    """Each link inside the repository names a file that is there, and a heading in it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`|\$\$.*?\$\$", "", text, flags=re.S)
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []
