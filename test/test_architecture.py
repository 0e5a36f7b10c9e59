# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house (docs/architecture.md), read off the source without importing it."""

import ast
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "robot_dynamics"

# From the ground up. A file may import from its own folder and from the floors below it, never
# from a neighbour on its floor. Names are folders, or modules at the package's root.
FLOORS = (
    ("arrays", "errors", "threads", "version", "wording"),
    ("resources",),
    ("scalar",),
    ("compile",),
    ("spatial",),
    ("model",),
    ("description",),
    ("dynamics",),
    ("robot",),
    ("manipulation",),
    ("contact",),
    ("control", "identification", "simulation"),
    ("app",),
    ("nodes", "reproductions"),
    ("__main__",),
)
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
# The products of `app`, likewise; modules at its top are tools that the products share.
APP_FLOORS = (
    "output_files",
    "progress",
    "node_process",
    "scenarios",
    "recordings",
    "pictures",
    "runs",
    "identification",
    "commissioning",
    "batches",
    "studies",
    "command_line",
)
# What the package itself exports is for its users, and for the floors above all of it.
EXPORTS = FLOOR["simulation"]
# The compiler compiles any program, of mechanisms or not.
MAY_ONLY_IMPORT = {"compile": {"scalar", "errors", "arrays"}}
# Circles that are still there, each as its modules.
KNOWN_CIRCLES: set[frozenset[str]] = set()

# Third-party packages that may be missing are imported in one folder only.
AT_HOME = {
    "cupy": {"compile"},
    "daqp": {"dynamics"},
    "llvmlite": {"compile"},
    "rclpy": {"nodes"},
    "mujoco": {"description", "simulation", "app"},
    "matplotlib": {"app"},
    "pyarrow": {"app"},
    "distributed": {"app"},
    "gymnasium": {"app"},
    "xacro": {"description"},
}
MESSAGES = re.compile(r"\w+_(msgs|srvs|interfaces)$")

MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = ("robot_dynamics", "test", "launch", "examples", "benchmarks")
SOURCES = [ROOT / "setup.py", *sorted(f for d in FOLDERS for f in (ROOT / d).rglob("*.py"))]


def name_of(path: Path) -> str:
    """Return the path as a reader would write it."""
    return path.relative_to(ROOT).as_posix()


def part_of(module: Path) -> str:
    """Return the folder that holds `module`, or its own name at the package's root."""
    relative = module.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def floor_in_app(dotted: str) -> int:
    """Return the floor of a module of `app` among its products."""
    return APP_FLOORS.index(dotted.split(".")[2])


class Names(NamedTuple):
    """Names in a module, each with its line.

    Attributes:
        imports: Full dotted name of everything that it imports. Imports inside functions, under
            TYPE_CHECKING and by `optional_package` count: they are dependencies as well.
        classes: Its classes.
    """

    imports: list[tuple[int, str]]
    classes: list[tuple[int, str]]


@cache
def names_in(module: Path) -> Names:
    """Return the names in a module."""
    found = Names([], [])
    here = module.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.imports.extend((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                base = [*here[: -node.level], *base]
            found.imports.extend((node.lineno, ".".join([*base, one.name])) for one in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_package":
            found.imports.append((node.lineno, str(getattr(node.args[0], "value", ""))))
        elif isinstance(node, ast.ClassDef):
            found.classes.append((node.lineno, node.name))
    return found


def violations(module: Path) -> list[str]:
    """Return the wrong imports of `module`, each with its line."""
    part, found = part_of(module), []
    own = module_name(module)
    narrow = MAY_ONLY_IMPORT.get(part, FLOOR)
    for line, name in names_in(module).imports:
        top, _, rest = name.partition(".")
        if top == "robot_dynamics":
            target = rest.partition(".")[0]
            if part == "app" == target and own != "robot_dynamics.app":
                if floor_in_app(name) > floor_in_app(own):
                    found.append(f"{name_of(module)}:{line} imports {name}")
                continue
            if part == "__init__" or target == part:
                continue
            below = FLOOR.get(target, EXPORTS) < FLOOR[part]
            if not below or (target in FLOOR and target not in narrow):
                found.append(f"{name_of(module)}:{line} imports {name}")
        else:
            home = {"nodes"} if MESSAGES.match(top) else AT_HOME.get(top)
            if home and part not in home:
                found.append(f"{name_of(module)}:{line} imports {name}: only {home} may")
    return found


def test_every_part_has_a_floor():
    """A new folder or root module must be given its floor above."""
    assert {part_of(module) for module in MODULES} - {"__init__"} <= FLOOR.keys()


def test_every_product_has_a_floor():
    """A new folder or module of `app` must be given its floor above."""
    found = {path.stem for path in (PACKAGE / "app").iterdir() if path.name[0] not in "_."}
    assert found == set(APP_FLOORS)


def test_imports_point_downwards():
    """No file imports from its own floor's neighbours or from a floor above."""
    found = [line for module in MODULES for line in violations(module)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("part", "source", "allowed"),
    [
        ("control", "from robot_dynamics.model import Model", True),
        ("control", "from robot_dynamics.control.safety import Limits", True),
        ("control", "from robot_dynamics import simulation", False),
        ("simulation", "import robot_dynamics.control.safety", False),
        ("model", "def f():\n    from robot_dynamics.dynamics import forward", False),
        ("model", "from ..dynamics import forward", False),
        ("model", "from .joint import Joint", True),
        ("dynamics", "from robot_dynamics import load", False),
        ("nodes", "from robot_dynamics import load", True),
        ("compile", "from robot_dynamics.model import Model", False),
        ("compile", "import llvmlite.binding", True),
        ("control", "from rclpy.node import Node", False),
        ("app", "from sensor_msgs.msg import JointState", False),
        ("app", "from robot_dynamics.reproductions.study import Study", False),
        ("nodes", "from robot_dynamics.reproductions.study import Study", False),
        ("reproductions", "from robot_dynamics.app.pictures.figures import BLUE", True),
        ("nodes", "from sensor_msgs.msg import JointState", True),
        ("control", 'optional_package("mujoco", "plants", "mujoco")', False),
        ("app", 'optional_package("pyarrow.parquet", "tables", "study")', True),
        ("app/runs", "from robot_dynamics.app.recordings.recording import Recording", True),
        ("app/runs", "from robot_dynamics.app.runs.report import report_of", True),
        ("app/runs", "from robot_dynamics.app import progress", True),
        ("app/runs", "from robot_dynamics.app.studies.study import run_study", False),
        ("app/recordings", "def f():\n    from robot_dynamics.app.runs import run", False),
    ],
)
def test_the_rule_is_sharp(tmp_path, monkeypatch, part, source, allowed):
    """The check above sees each kind of forbidden import, and lets the allowed ones pass."""
    module = tmp_path / "robot_dynamics" / part / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text(source)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "robot_dynamics")
    assert (violations(module) == []) == allowed


def module_name(path: Path) -> str:
    """Return the dotted name under which `path` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Return which of some modules each of them imports."""
    modules = {module_name(path): path for path in paths}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        # `from package import name` imports the module of that name, or takes it from the package.
        names = [name for _, name in names_in(path).imports]
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = (found & modules.keys()) - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that import each other, directly or through one another."""
    reached: dict[str, set[str]] = {}
    for module in graph:
        seen: set[str] = set()
        ahead = list(graph[module])
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead.extend(graph[name])
        reached[module] = seen
    return {
        frozenset(other for other in seen if module in reached[other])
        for module, seen in reached.items()
        if module in seen
    }


def test_no_import_circles():
    """No modules import each other in a circle, but for the known ones, which all still exist."""
    found = circles(import_graph(MODULES))
    assert sorted(map(sorted, found)) == sorted(map(sorted, KNOWN_CIRCLES))


def test_circles_are_found():
    """Circles of two and of four modules are found; a chain and a diamond are none."""
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d", "e"}, "d": {"f"}, "e": {"f"}, "f": set()}
    assert circles(graph) == {frozenset("ab")}
    assert circles({**graph, "f": {"c"}}) == {frozenset("ab"), frozenset("cdef")}


def test_every_import_counts_for_circles(tmp_path, monkeypatch):
    """Imports inside functions, under TYPE_CHECKING and through a package's name count."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    package = tmp_path / "package"
    package.mkdir()
    sources = {
        "__init__": "",
        "first": "def f():\n    from package import second",
        "second": "if TYPE_CHECKING:\n    from package.first import f",
        "third": "from .first import f",
    }
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)
    graph = import_graph(package.glob("*.py"))
    assert graph["package.third"] == {"package.first"}
    assert circles(graph) == {frozenset({"package.first", "package.second"})}


def test_a_class_name_has_one_meaning():
    """No class, public or private, has the name of another one of the package."""
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for line, name in names_in(path).classes:
            homes.setdefault(name, []).append(f"{name_of(path)}:{line}")
    doubles = {name: places for name, places in homes.items() if len(places) > 1}
    assert not doubles, doubles


def test_every_test_states_its_claim():
    """Each test function has a docstring."""
    silent = []
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        classes = [one.body for one in module.body if isinstance(one, ast.ClassDef)]
        silent += [
            f"{name_of(path)}:{node.lineno} {node.name}"
            for node in chain(module.body, *classes)
            if isinstance(node, ast.FunctionDef)
            if node.name.startswith("test_") and not ast.get_docstring(node)
        ]
    assert not silent, "\n".join(silent)


def test_files_name_their_licence():
    """Every source file starts with the copyright line and the licence."""
    header = re.compile(
        r"(#!.*\n)?# Copyright \d{4} The robot_dynamics authors\n"
        r"# SPDX-License-Identifier: Apache-2.0\n"
    )
    assert [
        name_of(path) for path in SOURCES if not header.match(path.read_text(encoding="utf-8"))
    ] == []


def test_no_paths_of_one_machine():
    """No file names a folder that exists only on the machine of whoever wrote it."""
    # Written in pieces so that this file passes its own check.
    personal = re.compile(r"(?<![\w.$}\])])/" + r"(home/\w|root/|work/|tmp/|Users/|mnt/|opt/pypi)")
    texts = [ROOT / name for name in ("run", ".ci/run", "README.md", "package.xml", "setup.py")]
    for folder in (*FOLDERS, "config", "urdf", "rviz", "docs"):
        texts += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".md", ".yaml", ".urdf", ".xacro", ".rviz", ".json", ".toml"}
            and "_build" not in path.parts
        ]
    found = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in texts
        if path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if personal.search(line)
    ]
    assert not found, "\n".join(found)
