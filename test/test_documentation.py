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
from pathlib import Path
from typing import NamedTuple

import pytest
from waiting import PATIENCE_S

from robot_dynamics.app.command_line.main import _parser
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.reproductions.command import add_reproduce
from robot_dynamics.reproductions.study import STUDIES

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="needs the checkout, not an installed package"
)

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SLOW_TUTORIALS = ["first_steps", "own_arms", "own_task", "studies"]

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

# Which commands of ours `test_a_command_runs` leaves out: what runs them instead, or why nothing.
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
    r"identify free\.npz": "test/identification/test_sensors.py",
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


def commands(block: Block) -> Iterator[str]:
    """Yield the command lines of a block, those that go on in the next line in one piece."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue  # what is printed
        line = line.strip().removeprefix("$ ")
        if line and not line.startswith("#"):
            yield line


@pytest.mark.parametrize(
    "name",
    ["four_bar", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_TUTORIALS)],
)
def test_a_tutorial(name, tmp_path):
    """Files are saved, commands run, and print the page's output, `...` for anything."""
    pytest.importorskip("matplotlib")
    if name in ("own_arms", "own_task"):
        try:
            version("example-robot-data")
        except PackageNotFoundError:
            pytest.skip("example-robot-data is not installed")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for program, words in (("robot_dynamics", "-m robot_dynamics"), ("python", "")):
        (binaries / program).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (binaries / program).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    folder, printed = tmp_path / "work", ""
    folder.mkdir()
    for block in blocks(ROOT / "docs" / f"{name}.md"):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            printed = ""
            for command in commands(block):
                expected = re.search(r"# status (\d)$", command)
                run = subprocess.run(
                    ["sh", "-c", command],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=PATIENCE_S,
                )
                printed += run.stdout
                assert run.returncode == (int(expected[1]) if expected else 0), run.stdout
        elif block.language == "text":
            # A line of dots alone stands for any lines, or for none.
            parts = re.sub(r"^\.\.\.\n", "...", block.text, flags=re.M).split("...")
            shown = r".*".join(map(re.escape, parts))
            assert re.search(rf"(?:^|\n){shown}", printed, re.S), (
                f"line {block.line} shows\n{block.text}\nprinted was\n{printed}"
            )


def documented() -> list:
    """Return every command of the documentation with its place."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("sh", "bash", "console"):
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


def of_ours() -> list[str]:
    """Return every command of ours in the documentation once, without the program's name."""
    found: dict[str, None] = {}
    for place in documented():
        (command,) = place.values
        program, _, rest = command.partition(" ")
        if Path(program).name == "robot_dynamics":
            found[re.sub(r" #(?! status \d).*", "", rest).strip()] = None
    return list(found)


def elsewhere(command: str) -> list[str]:
    """Return the patterns of `RUN_ELSEWHERE` that a command is of."""
    return [pattern for pattern in RUN_ELSEWHERE if re.match(pattern, command)]


def test_tests_named_for_other_commands_exist():
    """No reason is left over, and each test that one names exists."""
    used = {pattern for command in of_ours() for pattern in elsewhere(command)}
    assert used == set(RUN_ELSEWHERE)
    named = [reason for reason in RUN_ELSEWHERE.values() if reason.endswith(".py")]
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a folder with the files that commands of the documentation name."""
    folder = tmp_path_factory.mktemp("desk")
    for block in blocks(ROOT / "docs" / "four_bar.md"):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    command = [sys.executable, "-m", "robot_dynamics", "simulate", "lift_box", "--output"]
    for suffix in (".npz", ".mcap"):
        if suffix == ".mcap":
            pytest.importorskip("mcap_ros2", reason="the extra `bags` is not installed")
        subprocess.run([*command, f"run{suffix}"], cwd=folder, check=True, timeout=PATIENCE_S)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in of_ours() if not elsewhere(one)])
def test_a_command_runs(command, desk):
    """Each command of the documentation ends as the page says: well, if it says nothing."""
    needed = {"demo": ("rclpy",), "render": ("trimesh", "mujoco"), "simulate": ("matplotlib",)}
    for package in needed.get(command.split()[0], ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if re.search(r"_(panda|xarm7)", command):
        try:
            version("example-robot-data")
        except PackageNotFoundError:
            pytest.skip("example-robot-data is not installed")
    words, _, status = command.partition("# status ")
    run = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m robot_dynamics {words}'],
        cwd=desk,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
    )
    assert run.returncode == int(status or 0), run.stdout


def test_no_command_is_in_a_block_of_another_language():
    """Blocks that are not marked as commands have none, so that each is checked."""
    for page in PAGES:
        for block in blocks(page):
            if block.language not in ("sh", "bash", "console"):
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
