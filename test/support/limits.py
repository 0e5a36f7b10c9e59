# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of limits: each one changed by 2 %, or turned round, has to fail a test.

    python test/support/limits.py                      # all of them; goes on where it was stopped
    python test/support/limits.py control/safety.py    # those of some files
    python test/support/limits.py --list               # what would be changed
    python test/support/limits.py --sample             # the sample of test_limits.py, see below

The list is made from the source. Changed are

- *numbers* that are a limit or a tolerance: by 2 %; a tolerance of rounding, below 1e-5, by a
  factor of 1000; a count by one. 0, 1, 2, indices, exponents, the numbers of messages, and those
  that stand for zero or for no limit (below 1e-11, above 1e8) are left out.
- *limits* where they are used: a value of the settings, or a name with limit or tolerance,
  is multiplied by 1.02. Defaults of settings are the user's choice and are left as they are.
- *bounds*: any other value that something is compared with, likewise.
- *directions*: `<` for `>`, and `min` for `max`.

Each is tried in a copy of the tree, against the tests of its own file. A mutation that
no test can notice stands in `limit_exceptions.txt`, with the reason.

For the mutations of the sample `limit_sample.txt` names the test that noticed each one last, which
is tried first. `--sample` writes it; one that is old or wrong only costs time.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from types import MappingProxyType
from typing import Any, NamedTuple

from robot_dynamics.compile import cache
from robot_dynamics.compile.cache import folder_of_kernels
from robot_dynamics.compile.host import Host

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = Path(__file__).with_name("limit_exceptions.txt")
NOTICED = Path(__file__).with_name("limit_sample.txt")
RESULTS = ROOT / "build" / "limits.jsonl"
SHARE = 0.95  # of all mutations that tests have to notice
COUNT = 40  # mutations of the sample
#: Tests of each file, in `test`; the quick ones first.
TESTS = {
    "control/safety.py": ["control/test_safety.py"],
    "control/arm_states.py": ["control/test_safety.py"],
    "control/model_watch.py": ["control/test_safety.py"],
    "control/checks.py": [
        "control/test_checks.py",
        "control/test_joint_motion.py",
        "control/test_safety.py",
    ],
    "control/step_check.py": [
        "control/test_step_check.py",
        "control/test_safety.py",
        "control/test_wrench_residual.py",
    ],
    "control/joint_motion.py": ["control/test_joint_motion.py", "control/task/test_free_arms.py"],
    "control/wrist_sensors.py": ["control/test_wrist_sensors.py"],
    "control/start_check.py": ["control/test_start_check.py"],
    "control/path_check.py": ["control/test_path_check.py"],
    "control/wrench_residual.py": ["control/test_wrench_residual.py"],
    "control/fallback.py": ["control/test_fallback.py", "control/test_safety.py"],
    "control/joint_hold.py": ["control/test_fallback.py"],
    "control/lost_arms.py": ["control/test_fallback.py", "control/test_safety.py"],
    "control/streams.py": ["control/test_streams.py"],
    "control/torque_limits.py": ["control/test_torque_limits.py"],
    "control/admittance.py": ["control/test_admittance.py"],
    "control/admittance_program.py": ["control/test_admittance.py"],
    "control/settled.py": ["control/test_settled.py"],
    "control/oscillation.py": ["control/test_oscillation.py"],
    "control/resume.py": ["control/test_resume.py"],
    "control/hybrid/slip_monitor.py": [
        "control/hybrid/test_slip_monitor.py",
        "control/hybrid/test_slip_warning_filter.py",
        "control/hybrid/test_slip_watch.py",
    ],
    "app/runs/report.py": ["app/runs/test_report.py"],
    "app/recordings/metrics.py": ["app/recordings/test_metrics.py"],
    "app/recordings/blocking.py": ["app/recordings/test_blocking.py"],
    "app/recordings/tracking.py": ["app/recordings/test_blocking.py", "app/runs/test_report.py"],
}
#: Kernels of files whose formulas are compiled, by the beginnings of their keys: those from the
#: cache would be those of the right formulas.
KERNELS = {
    "control/step_check.py": (b"step_check",),
    "control/joint_motion.py": (b"joint_motion",),
    "control/wrench_residual.py": (b"step_check",),
    "control/torque_limits.py": (b"torque_limits", b"hybrid_law", b"jointed_law"),
    "control/admittance_program.py": (
        *(b"outside_wrench", b"compliance", b"displaced_row", b"joint_step"),
    ),
}
LONGEST_S = 240  # processor time of the tests of one mutation; beyond it is noticed
_TURNED = {ast.Lt: ">", ast.Gt: "<", ast.LtE: ">=", ast.GtE: "<="}
_SIGNS = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
#: What takes a shape, or words for a message.
_NO_LIMITS = ("zeros", "ones", "eye", "reshape", "range", "tile", "full", "trace", "apart")
_EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class Mutation(NamedTuple):
    """A change of one place.

    Attributes:
        file: In `robot_dynamics`.
        name: The file, the place in it, and the change; no line numbers, so that
            it stays when other lines change.
        start, end: Of the place, in bytes.
        text: The replacement.
    """

    file: str
    name: str
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


class Result(NamedTuple):
    """The outcome of a mutation: the test that failed; "" if all passed."""

    mutation: Mutation
    test: str


def setting_names() -> frozenset[str]:
    """Return the names of all settings that are numbers."""
    found = set()
    for path in (ROOT / "robot_dynamics" / "control").glob("*settings.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and ast.unparse(node.annotation) in ("float", "Triple")
            ):
                found.add(node.target.id)
    return frozenset(found)


def mutations(files: Iterable[str] = TESTS) -> list[Mutation]:
    """Return all mutations of some files."""
    settings = setting_names()
    found = []
    for file in files:
        text = (ROOT / "robot_dynamics" / file).read_text(encoding="utf-8")
        found += _Places(file, text, settings).found
    return found


class _Places(ast.NodeVisitor):
    """The mutations of one file."""

    def __init__(self, file: str, text: str, settings: frozenset[str]) -> None:
        self.found: list[Mutation] = []
        self._file, self._text, self._settings = file, text.encode(), settings
        lines = self._text.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
        self._within: list[str] = []
        self._parents: list[ast.AST] = []
        self._bounds: set[int] = set()  # places that something is compared with
        self._names: Counter[str] = Counter()
        self.visit(ast.parse(text))

    def generic_visit(self, node: ast.AST) -> None:
        self._parents.append(node)
        super().generic_visit(node)
        self._parents.pop()

    def _visit_named(self, node: Any) -> None:
        self._within.append(node.name)
        # Not the annotations: they are no values.
        for child in (*node.decorator_list, *node.body):
            self._parents.append(node)
            self.visit(child)
            self._parents.pop()
        if isinstance(node, ast.FunctionDef):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self.visit(default)
        self._within.pop()

    visit_FunctionDef = visit_ClassDef = _visit_named

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave messages alone."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if key in ("lower", "upper", "velocity", "effort") or id(node) in self._bounds:
            self._scale(node)
        self._parents.append(node)
        self.visit(node.value)  # an index is no limit
        self._parents.pop()

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._parents.append(node)
        self.visit(node.left)
        if not isinstance(node.op, ast.Pow):
            self.visit(node.right)
        self._parents.pop()

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) in _TURNED:
                start, end = self._end(left), self._start(right)
                between = self._text[start:end].decode()
                sign = _SIGNS[type(op)]
                at = start + between.index(sign)
                text = f"{ast.unparse(left)} {sign} {ast.unparse(right)}"
                self._add(at, at + len(sign), _TURNED[type(op)], text, f"turned {sign}")
                self._bounds.add(id(right))
        if len(node.ops) > 1 and type(node.ops[0]) in _TURNED:
            self._bounds.add(id(node.left))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        called = function.id if isinstance(function, ast.Name) else ""
        if isinstance(function, ast.Attribute):
            called = function.attr
        end = self._end(function)
        if called in _EXTREMES:
            text = ast.unparse(node)
            self._add(end - len(called), end, _EXTREMES[called], text, "turned")
        elif (isinstance(function, ast.Name) and called.endswith("_limits")) or (
            called == "get"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and self._is_limit(str(node.args[0].value))
        ):
            self._scale(node)
        self._parents.append(node)
        self.visit(function)
        for child in (*node.args, *node.keywords):
            if called not in _NO_LIMITS:
                self.visit(child)
        self._parents.pop()

    def visit_Name(self, node: ast.Name) -> None:
        self._visit_value(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._visit_value(node, node.attr)
        self.generic_visit(node)

    def _visit_value(self, node: ast.Name | ast.Attribute, name: str) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        parent = self._parents[-1]
        if isinstance(parent, ast.Attribute | ast.FormattedValue):
            return
        if isinstance(parent, ast.Call) and parent.func is node:
            return
        if name.strip("_").isupper():  # its number is changed where it is stated
            return
        if isinstance(parent, ast.Compare) and id(node) not in self._bounds:
            return
        setting = name in self._settings and self._is_of_settings(node)
        if setting or id(node) in self._bounds or self._is_limit(name):
            self._scale(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        size = abs(value)
        if size in (0, 1, 2) or not 1e-11 < size < 1e8:
            return
        if isinstance(value, int):
            parent = self._parents[-1]
            count = isinstance(parent, ast.Assign) and not self._within
            if not count or ast.unparse(parent).partition(" ")[0].endswith("PARAMETERS"):
                return
            text = str(value + 1)
        elif size < 1e-5:
            text = f"{value * 1000.0:.6g}"
        else:
            text = f"{value * 1.02:.6g}"
        self._add(
            self._start(node), self._end(node), text, self._context(node), f"{value!r} is {text}"
        )

    @staticmethod
    def _is_limit(name: str) -> bool:
        return not {"limit", "tolerance"}.isdisjoint(name.split("_"))

    @staticmethod
    def _is_of_settings(node: ast.AST) -> bool:
        """Return whether a value is one of settings, or of a part of them."""
        words = ast.unparse(node).split(".")[:-1]
        return any(word in ("s", "own", "safety") or word.endswith("settings") for word in words)

    def _scale(self, node: ast.expr) -> None:
        text = ast.unparse(node)
        start, end = self._start(node), self._end(node)
        original = self._text[start:end].decode()
        self._add(start, end, f"(1.02 * {original})", self._context(node), f"1.02 * {text}")

    def _context(self, node: ast.AST) -> str:
        """Return the smallest comparison, call or statement around a place."""
        for parent in reversed(self._parents):
            if isinstance(
                parent, ast.Compare | ast.Call | ast.Assign | ast.Return | ast.AugAssign
            ):
                return ast.unparse(parent)
        return ast.unparse(node)

    def _add(self, start: int, end: int, text: str, context: str, change: str) -> None:
        context = " ".join(context.split())
        if len(context) > 120:
            context = context[:117] + "..."
        where = ".".join(self._within) or "module"
        name = f"{self._file} {where}: {context}: {change}"
        self._names[name] += 1
        if self._names[name] > 1:
            name += f" ({self._names[name]})"
        self.found.append(Mutation(self._file, name, start, end, text))

    def _start(self, node: Any) -> int:
        return int(self._starts[node.lineno - 1] + node.col_offset)

    def _end(self, node: Any) -> int:
        return int(self._starts[node.end_lineno - 1] + node.end_col_offset)


def sample(count: int = COUNT) -> list[Mutation]:
    """Return a fixed sample of the mutations that tests have to notice.

    A change of the source changes little of it: it is taken by names.
    """
    known = exceptions()
    every = [one for one in mutations() if one.name not in known]
    return sorted(every, key=lambda one: hashlib.sha256(one.name.encode()).digest())[:count]


def exceptions() -> dict[str, str]:
    """Return the reasons why mutations are not noticed, by their names."""
    return _pairs(EXCEPTIONS)


def last_noticed() -> dict[str, str]:
    """Return the tests that noticed the mutations of the sample, by their names, if they exist."""
    found = {}
    for name, test in _pairs(NOTICED).items():
        file, _, function = test.partition("::")
        path = ROOT / file
        if path.is_file() and f"def {function}(" in path.read_text(encoding="utf-8"):
            found[name] = test
    return found


def _pairs(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    return {name: text.strip() for name, text in zip(lines[::2], lines[1::2], strict=True)}


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    """Return the names in a folder that a copy does without; `app/runs` holds no results."""
    results = {"build", "runs"} if Path(folder) == ROOT else set()
    unused = shutil.ignore_patterns(".git", ".venv", ".*_cache", "_build")
    return unused(folder, list(names)) | results & set(names)


class Copies:
    """Copies of the tree, one a worker, in which mutations are tried.

    Use it as a context manager; the copies are gone afterwards.

    Args:
        jobs: Number of workers.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._folder = tempfile.TemporaryDirectory(prefix="limits-")
        self._context = multiprocessing.get_context("forkserver")
        # What takes long to import and imports nothing that is changed.
        self._context.set_forkserver_preload(
            [
                "pytest",
                "hypothesis",
                "scipy.spatial.transform",
                "robot_dynamics.manipulation.system",
            ]
        )
        self._free: Queue[Path] = Queue()
        self._cache = Path(self._folder.name, "cache")

    def __enter__(self) -> Copies:
        for i in range(self._jobs):
            copy = Path(self._folder.name, str(i))
            shutil.copytree(ROOT, copy, ignore=_left_out, symlinks=True)
            self._free.put(copy)
        known = folder_of_kernels()
        if known is not None and known.is_dir():  # they are of the sources without mutations
            shutil.copytree(known, self._cache)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def results(
        self, wanted: Sequence[Mutation], first: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[Result]:
        """Yield the results of some mutations, in any order.

        Args:
            wanted: The mutations.
            first: Test that is tried before all others of its file, by the mutation's name.

        Raises:
            RuntimeError: If tests fail without a mutation.
        """
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                alone = sorted({first[one.name] for one in wanted if one.name in first})
                files = dict.fromkeys(one.file for one in wanted if one.name not in first)
                runs = [_tests(file) for file in files]
                runs += [alone[i :: self._jobs] for i in range(self._jobs)]
                for _ in pool.map(self._require_passed, filter(None, runs)):
                    pass
                yield from pool.map(lambda one: self._result(one, first.get(one.name)), wanted)
            finally:
                pool.shutdown(cancel_futures=True)

    def _require_passed(self, tests: Sequence[str]) -> None:
        copy = self._free.get()
        try:
            failed = self._failed(copy, tests)
        finally:
            self._free.put(copy)
        if failed:
            raise RuntimeError(f"{failed} fails although nothing is changed.")

    def _result(self, mutation: Mutation, first: str | None) -> Result:
        copy = self._free.get()
        path = copy / "robot_dynamics" / mutation.file
        source = path.read_bytes()
        try:
            path.write_bytes(mutation.apply(source))
            failed = self._failed(copy, [first], mutation) if first else ""
            whole = not failed
            if whole:
                failed = self._failed(copy, _tests(mutation.file), mutation)
        finally:
            path.write_bytes(source)
            self._free.put(copy)
        if first and whole:
            self._require_passed(_tests(mutation.file))
        return Result(mutation, failed)

    def _failed(self, copy: Path, tests: Sequence[str], mutation: Mutation | None = None) -> str:
        """Return the first test that fails in a copy; "" if none does."""
        with tempfile.TemporaryDirectory(dir=self._folder.name) as folder:
            report = Path(folder, "report")
            arguments = str(copy), tests, str(report), str(self._cache), mutation
            process = self._context.Process(target=_run_tests, args=arguments)
            process.start()
            process.join()
            if report.exists():
                return report.read_text()
            return f"exit status {process.exitcode}"


class _FirstFailure:
    """A plugin of pytest that keeps the first failure."""

    failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or f"{report.nodeid} cannot be imported"


def _tests(file: str) -> list[str]:
    """Return the tests of a file, from the root of the tree."""
    return [f"test/{test}" for test in TESTS[file]]


def _name_kernels_of(mutation: Mutation) -> None:
    """Give the kernels with changed formulas names of their own in the cache."""
    own, name = KERNELS.get(mutation.file, ()), cache.entry_name

    def named(key: bytes, host: Host, lanes: int) -> str:
        return name(key + mutation.name.encode() if key.startswith(own) else key, host, lanes)

    cache.entry_name = named


def _run_tests(
    copy: str, tests: list[str], report: str, folder: str, mutation: Mutation | None
) -> None:
    """Run tests in a copy, in a process of its own, and write down which one failed first."""
    import pytest

    if mutation is not None:
        _name_kernels_of(mutation)
    # Of processor time: other processes must not make a difference.
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S))
    os.chdir(copy)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(null, stream)
    sys.dont_write_bytecode = True  # of mutated files, whose time of change may be the same
    os.environ |= {"ROBOT_DYNAMICS_CACHE_DIR": folder, "PYTHONPATH": copy}
    # What was imported beforehand finds the rest in the copy.
    sys.path[:] = [copy, *(place for place in sys.path if place != str(ROOT))]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "robot_dynamics" and hasattr(module, "__path__"):
            module.__path__ = [os.path.join(copy, *name.split("."))]
    first = _FirstFailure()
    options = ["-q", "-x", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-m", "not slow"]  # whatever the run that tries mutations has in PYTEST_ADDOPTS
    code = pytest.main([*options, *tests], plugins=[first])
    failed = first.failed or ("" if code == 0 else f"pytest ends with {int(code)}")
    Path(report).write_text(failed, encoding="utf-8")


class Records:
    """Results on disk, so that a run that was stopped goes on.

    A result counts as long as the source is the same; one that nothing was noticed also needs the
    same tests.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, {}
        # Of now, when copies are made: somebody may write tests while mutations are tried.
        self._digests = {file: self._digest(file) for file in TESTS}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                self._known[one["name"]] = one

    def get(self, mutation: Mutation) -> Result | None:
        """Return the known result of a mutation."""
        one = self._known.get(mutation.name)
        source, tests = self._digests[mutation.file]
        if one is None or one["source"] != source or not (one["test"] or one["tests"] == tests):
            return None
        return Result(mutation, one["test"])

    def add(self, result: Result) -> None:
        """Write a result down."""
        source, tests = self._digests[result.mutation.file]
        name = result.mutation.name
        one = {"name": name, "test": result.test, "source": source, "tests": tests}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")

    @staticmethod
    def _digest(file: str) -> tuple[str, str]:
        source = (ROOT / "robot_dynamics" / file).read_bytes()
        tests = b"".join((ROOT / "test" / test).read_bytes() for test in TESTS[file])
        return _short(source), _short(tests)


def _short(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def main() -> bool:
    """Try mutations and print the results; return whether enough are noticed."""
    parser = argparse.ArgumentParser(description="Mutate limits; tests have to notice it.")
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(TESTS)}")
    parser.add_argument("--list", action="store_true", help="list the mutations alone")
    parser.add_argument("--sample", action="store_true", help=f"try and write {NOTICED.name}")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--results", type=Path, default=RESULTS, help="file that is gone on with")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.files) - set(TESTS))
    if unknown:
        parser.error(f"{unknown[0]} has no limits that are listed; expected {', '.join(TESTS)}.")
    every = sample() if chosen.sample else mutations(chosen.files or TESTS)
    if chosen.list:
        print("\n".join(one.name for one in every))
        return True
    records = Records(chosen.results)
    results = [found for one in every if (found := records.get(one)) is not None]
    done = {result.mutation.name for result in results}
    rest = [one for one in every if one.name not in done]
    if rest:
        with Copies(chosen.jobs) as copies:
            for result in copies.results(rest):
                records.add(result)
                results.append(result)
                verdict = result.test or "NOT NOTICED"
                print(
                    f"{len(results)}/{len(every)} {result.mutation.name} -- {verdict}", flush=True
                )
    if chosen.sample:
        lines = [
            f"{one.mutation.name}\n    {one.test.partition('[')[0]}\n"
            for one in results
            if "::" in one.test
        ]
        NOTICED.write_text(_ABOUT_SAMPLE + "".join(sorted(lines)), encoding="utf-8")
    return _conclude(results, whole=not chosen.files and not chosen.sample)


_ABOUT_SAMPLE = "# Mutations of the sample, and the test that noticed each one last.\n"


def _conclude(results: Sequence[Result], *, whole: bool) -> bool:
    known = exceptions()
    missed = [one.mutation.name for one in results if not one.test]
    print()
    for name in missed:
        print(f"not noticed: {name}\n    {known.get(name, 'NO REASON IS STATED')}")
    unknown = [name for name in missed if name not in known]
    stale = sorted(set(known) - set(missed)) if whole else []
    for name in stale:
        print(f"an exception that is none: {name}")
    noticed = len(results) - len(missed)
    share = noticed / max(len(results), 1)
    print(
        f"{noticed} of {len(results)} mutations are noticed, {100 * share:.1f} %; "
        f"{len(missed) - len(unknown)} are not, for a stated reason, {len(unknown)} without one."
    )
    return share >= SHARE and not unknown and not stale


if __name__ == "__main__":
    sys.exit(not main())
