# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations of compiled functions, and the time that this machine needs for them at its peak.

The time at the peak is the longest of three: additions, multiplications and fused ones (a sine is
its polynomial) at the rate of independent fused multiplications; divisions and square roots at the
rate of independent ones; reading inputs and writing results at the rate of a copy of as many
bytes. Nothing waits for anything else in it. The rates are measured in turns with the functions.

Shares of the measured time say where the rest goes. Code that exceeds the processor's first cache
is read again for each state or block of states; its share is its length at the rate of other
straight-line code. In batches there are also the shares of moving states between arrays and
vectors, measured by a program with the same arrays and no arithmetic; of divisions and roots, and
of sines, measured by programs that multiply instead; and of loads and stores in the machine code,
spilled values among them, counted in its text and timed at the rate of independent ones. They
overlap, and do not add up.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

import robot_dynamics as rd
from benchmarks.contact_steps import STEP, Ours
from benchmarks.executed import Executed, counting
from benchmarks.timing import interleaved
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.compile.emission import ENTRY, emit_module
from robot_dynamics.compile.graph import (
    CALL,
    COS,
    DIVIDE,
    INPUT,
    MULTIPLY,
    SIN,
    SQRT,
)
from robot_dynamics.compile.host import Host, find_host
from robot_dynamics.compile.kernel import compile_program
from robot_dynamics.compile.machine import load_object
from robot_dynamics.compile.machine_child import object_code, target_machine
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.schedule import choose_fused_products
from robot_dynamics.compile.simplification import Node
from robot_dynamics.compile.trigonometry import Arithmetic, write_sine_and_cosine
from robot_dynamics.compile.writer import Lanes, Writer
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.dynamics.closed_loop import CLOSED_LOOP
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import INVERSE_DYNAMICS
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.model.parameters import pack
from robot_dynamics.resources import resolve_package_uri

Array = NDArray[np.float64]

ARM = "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
CELL = "lift_box_panda"
STATES = 1000
#: Below this ratio the largest share is named.
EXPLAINED = 0.5
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CHAINS = 12  # of independent operations: latency times ports, and as many registers
_LONG_CODE = 4000  # operations of the loop that no first cache of code holds
_TURNS = 20_000  # of a loop at the peak: a call from Python is nothing beside them
_STEPS = 40  # of a contact, from one call: legs that nothing drives are still straight after it


@dataclass(frozen=True)
class Subject:
    """A compiled function with states.

    Attributes:
        name: Its name.
        program: Its program.
        block: Parameters.
        arrays: Its inputs (STATES, ...).
    """

    name: str
    program: Program
    block: Array
    arrays: tuple[Array, ...]


class Operations(NamedTuple):
    """Operations of a function for one state.

    Attributes:
        arithmetic: Additions, subtractions and multiplications, a fused one counted once; those of
            sines included.
        fused: Sums that take up a product, without those of sines.
        divisions: Divisions.
        roots: Square roots.
        sines: Angles of which sine or cosine are computed.
        bytes: Of inputs and results.
    """

    arithmetic: int
    fused: int
    divisions: int
    roots: int
    sines: int
    bytes: int


class MachineCodeFacts(NamedTuple):
    """Facts of the code for one block of states.

    Attributes:
        bytes: Its length.
        loads: Loads, those inside of other instructions included.
        stores: Stores.
        spills: Loads and stores of values that found no register.
    """

    bytes: int
    loads: int
    stores: int
    spills: int


@dataclass(frozen=True)
class Limit:
    """A function beside the peak of the machine.

    Attributes:
        name: Name of the function.
        lanes: States at a time.
        operations: Its operations.
        measured_ns: Time of a state, the least of all turns [ns].
        peak_ns: Time that its operations take at the peak [ns].
        bound: Which part of that is the longest: "arithmetic", "divisions" or "memory".
        shares: Shares of the measured time, by cause.
        code: Its machine code; None for contact steps.
    """

    name: str
    lanes: int
    operations: Operations
    measured_ns: float
    peak_ns: float
    bound: str
    shares: dict[str, float]
    code: MachineCodeFacts | None

    @property
    def ratio(self) -> float:
        """Time at the peak over the measured time."""
        return self.peak_ns / self.measured_ns

    @property
    def reason(self) -> str:
        """The cause with the largest share, far from the peak; otherwise empty."""
        if not self.shares or self.ratio >= EXPLAINED:
            return ""
        return f"most by {max(self.shares, key=self.shares.__getitem__)}"

    def as_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        about = asdict(self) | {"operations": self.operations._asdict()}
        about["code"] = self.code._asdict() if self.code else None
        return about | {"ratio": self.ratio, "reason": self.reason}


def operations_of(program: Program, fma: bool) -> Operations:
    """Return the operations of a bound program; expressions of parameters alone are left out.

    Args:
        program: The program.
        fma: Whether products are fused with sums.
    """
    program = prepare(program).remainder
    counts, fused, products, angles, arithmetic = program.operation_counts(), 0, 0, 0, 0
    for part in _called(program):
        if fma:
            chosen = choose_fused_products(part)
            fused += len(chosen)
            products += len(set(chosen.values()))
        kinds: dict[int, set[int]] = {}
        for node in part.nodes:
            if node.operation in (SIN, COS):
                kinds.setdefault(node.left, set()).add(node.operation)
        angles += len(kinds)
        arithmetic += sum(
            _arithmetic_of_angle(SIN in each, COS in each, fma) for each in kinds.values()
        )
    arithmetic += sum(counts.get(name, 0) for name in ("add", "subtract", "multiply")) - products
    numbers = sum(program.ports.input_sizes) + sum(program.ports.output_sizes)
    return Operations(
        arithmetic, fused, counts.get("divide", 0), counts.get("sqrt", 0), angles, 8 * numbers
    )


def _called(program: Program) -> Iterator[Program]:
    """Yield a program, and those that it calls, once for each call."""
    yield program
    for node in program.nodes:
        if node.operation == CALL:
            yield from _called(node.left)


def _arithmetic_of_angle(sine: bool, cosine: bool, fma: bool) -> int:
    """Return the additions and multiplications of the sine and cosine of an angle."""
    writer = Writer()
    write_sine_and_cosine(Arithmetic(writer, Lanes(1), fma), "%x", sine, cosine)
    pattern = re.compile(r"= (?:fadd|fsub|fmul|call double @llvm\.fma)\b")
    return sum(bool(pattern.search(line)) for line in writer.lines)


# -- the peak ---------------------------------------------------------------------------------


class Peak:
    """Loops of independent operations in a number of lanes.

    Attributes:
        functions: A function without arguments for each kind of operation: "multiply", "divide",
            "root", "load", "store".
        operations: Operations of one lane in a call of each.

    Args:
        lanes: The lanes.
        host: This machine.
    """

    def __init__(self, lanes: int, host: Host) -> None:
        self.lanes = Lanes(lanes)
        real, suffix = self.lanes.real, self.lanes.suffix
        self.operations = _CHAINS * _TURNS * lanes
        self._place = np.ones(64 * _CHAINS)
        instructions = {
            "multiply": f"call {real} @llvm.fma.{suffix}({real} {{}}, {real} %c, {real} %c)",
            "divide": f"fdiv {real} %c, {{}}",
            "root": f"call {real} @llvm.sqrt.{suffix}({real} {{}})",
            "load": f"load volatile {real}, ptr %p{{}}",
            "store": f"store volatile {real} %c, ptr %p{{}}",
        }
        if not host.fma:
            instructions["multiply"] = f"fmul {real} {{}}, %c"
        self.functions = {
            kind: self._function(self._text(kind, text), _TURNS, host)[0]
            for kind, text in instructions.items()
        }
        turns = _TURNS // 100
        long = self._long_text(instructions["multiply"], instructions["load"])
        self.functions["code"], length = self._function(long, turns, host)
        self.code_bytes = turns * length

    def _function(self, text: str, turns: int, host: Host) -> tuple[Callable[[], object], int]:
        """Return a loop, and the length of its code."""
        code = object_code(text, host.triple, host.cpu, host.features, 1)
        machine = load_object([code], host)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(machine.address)
        call = partial(function, self._place.ctypes.data, turns)
        call.kept = machine, self._place
        return call, code_length(code)

    def _text(self, kind: str, instruction: str) -> str:
        """Return a loop of one instruction in independent chains."""
        real, chains = self.lanes.real, range(_CHAINS)
        before = [f"  %p{i} = getelementptr i8, ptr %place, i64 {64 * i}" for i in chains]
        if kind in ("load", "store"):
            result = "  %y{0} = " if kind == "load" else "  "
            turn = [result.format(i) + instruction.format(i) + ", align 8" for i in chains]
            return self._loop(before, turn, [])
        before += [f"  %x{i} = load {real}, ptr %p{i}, align 8" for i in chains]
        turn = [f"  %a{i} = phi {real} [ %x{i}, %entry ], [ %b{i}, %loop ]" for i in chains]
        turn += [f"  %b{i} = {instruction.format(f'%a{i}')}" for i in chains]
        return self._loop(
            before, turn, [f"  store {real} %b{i}, ptr %p{i}, align 8" for i in chains]
        )

    def _loop(self, before: list[str], turn: list[str], after: list[str]) -> str:
        """Return a function around the lines of a turn."""
        real, suffix = self.lanes.real, self.lanes.suffix
        lines = [
            f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})",
            f"declare {real} @llvm.sqrt.{suffix}({real})",
            f"define void @{ENTRY}(ptr %place, i64 %turns) {{\nentry:",
            f"  %c = load {real}, ptr %place, align 8",
            *before,
            "  br label %loop\nloop:\n  %n = phi i64 [ 0, %entry ], [ %m, %loop ]",
            *turn,
            "  %m = add i64 %n, 1\n  %more = icmp slt i64 %m, %turns",
            "  br i1 %more, label %loop, label %done\ndone:",
            *after,
            "  ret void\n}\n",
        ]
        return "\n".join(lines)

    def _long_text(self, multiply: str, load: str) -> str:
        """Return a loop around independent multiplications and loads, longer than any cache."""
        real, chains = self.lanes.real, range(_CHAINS)
        body, last = [], [f"%a{i}" for i in chains]
        for k in range(_LONG_CODE):
            i = k % _CHAINS
            body += [
                f"  %p{k} = getelementptr i8, ptr %place, i64 {256 + 32 * (k % _CHAINS)}",
                f"  %l{k} = {load.format(k)}, align 8",
                f"  %b{k} = {multiply.format(last[i])}",
            ]
            last[i] = f"%b{k}"
        # Results of a turn are the operands of the next.
        begin = [f"  %a{i} = phi {real} [ %c, %entry ], [ {last[i]}, %loop ]" for i in chains]
        return self._loop([], [*begin, *body], [])


# -- the machine code -------------------------------------------------------------------------


_ACCESS = re.compile(r"\(%r|\(%rip\)")
_SPILL = re.compile(r"\b(?:Spill|Reload)\b")


def first_cache() -> int:
    """Return the size of the processor's first cache of code [bytes], 32 KiB if nothing tells."""
    for cache in sorted(_CACHES.glob("index*")):
        kind, size = ((cache / name).read_text().strip() for name in ("type", "size"))
        if kind == "Instruction" and size.endswith("K"):
            return 1024 * int(size[:-1])
    return 32768


def code_length(code: bytes) -> int:
    """Return the length of the machine code in object code [bytes]."""
    file = binding.ObjectFileRef.from_data(code)
    return sum(section.size() for section in file.sections() if section.is_text())


def facts_of_code(program: Program, lanes: int, host: Host) -> MachineCodeFacts:
    """Return the length of the code for a block of states, and its loads and stores.

    They are those that LLVM prints.
    """
    parts, target = prepare(program), (host.triple, host.cpu, host.features, host.opt_level)
    text, _ = emit_module(parts, lanes, host.fma, host.lanes)
    machine = target_machine(host.triple, host.cpu, host.features, host.opt_level)
    machine.set_asm_verbosity(True)
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = host.triple, str(machine.target_data)
    functions = _functions(machine.emit_assembly(module))
    called = list(_calls(functions[ENTRY]))
    core = next(name for name in called if name.startswith("direct" if lanes == 1 else "core"))
    length = code_length(object_code(text, *target))
    return MachineCodeFacts(length, *_accesses(functions, core).tolist())


def _functions(text: str) -> dict[str, list[str]]:
    """Return the lines of each function in the machine's assembly language."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        head = re.match(r"(\w+):\s+# @", line)
        if head:
            current = found[head[1]] = []
        elif found:
            current.append(line)
    return found


def _calls(lines: list[str]) -> Iterator[str]:
    for line in lines:
        called = re.search(r"\bcall\w*\s+(\w+)", line)
        if called:
            yield called[1]


def _accesses(functions: dict[str, list[str]], name: str) -> NDArray[np.int64]:
    """Return loads, stores and spills of a function, with those of the functions that it calls."""
    found = np.zeros(3, dtype=np.int64)
    for line in functions[name]:
        code, _, comment = line.partition("#")
        found[2] += bool(_SPILL.search(comment))
        words = code.split(None, 1)
        if len(words) == 2 and _ACCESS.search(words[1]) and not words[0].startswith("lea"):
            # The last operand is the destination.
            writes = words[0].startswith(("mov", "vmov")) and words[1].rstrip().endswith(")")
            found[1 if writes else 0] += 1
    for called in _calls(functions[name]):
        if called in functions:
            found += _accesses(functions, called)
    return found


# -- programs with less to do -----------------------------------------------------------------


def without(program: Program, *operations: int) -> Program:
    """Return a program that multiplies in the place of some of its operations."""
    nodes = tuple(
        Node(MULTIPLY, node.left, node.left if node.right is None else node.right)
        if node.operation in operations
        else Node(CALL, without(node.left, *operations), node.right)
        if node.operation == CALL
        else node
        for node in program.nodes
    )
    return Program(program.ports, nodes, program.results)


def moving_alone(program: Program) -> Program:
    """Return a program with the same inputs and results that computes nothing."""
    sizes = program.ports.input_sizes
    nodes = tuple(Node(INPUT, port, i) for port, size in enumerate(sizes) for i in range(size))
    results = tuple(
        i % len(nodes) if isinstance(value, int) else value
        for i, value in enumerate(program.results)
    )
    return Program(program.ports, nodes, results)


# -- measurement ------------------------------------------------------------------------------


def limits(rounds: int) -> list[Limit]:
    """Return the limits of all functions, one state at a time and in batches."""
    host = find_host()
    assert host is not None, "there is no code generator"
    pairs = [(subject, lanes) for subject in subjects() for lanes in (1, host.lanes)]
    found = [limit_of(subject, lanes, host, rounds) for subject, lanes in pairs]
    return [*found, limit_of_contact_step(host, rounds)]


def limit_of(subject: Subject, lanes: int, host: Host, rounds: int) -> Limit:
    """Return the limit of a function."""
    program, states = subject.program, len(subject.arrays[0])
    variants = {"": program}
    if lanes > 1:
        variants |= {
            "moving states": moving_alone(program),
            "divisions and roots": without(program, DIVIDE, SQRT),
            "sines": without(program, SIN, COS),
        }
    operations, peak = operations_of(program, host.fma), Peak(lanes, host)
    functions: dict[str, Callable[[], object]] = dict(peak.functions)
    counts = dict.fromkeys(functions, peak.operations) | {"code": peak.code_bytes}
    for name, variant in variants.items():
        functions[name] = _call(variant, lanes, subject)
        counts[name] = states
    read = np.zeros(operations.bytes * states // 16)
    written = np.empty_like(read)
    functions["copy"], counts["copy"] = lambda: np.copyto(written, read), states
    times = {name: 1e3 * t.best for name, t in interleaved(functions, counts, rounds).items()}
    parts = {
        "arithmetic": operations.arithmetic * times["multiply"],
        "divisions": operations.divisions * times["divide"] + operations.roots * times["root"],
        "memory": times["copy"],
    }
    whole, code = times[""], facts_of_code(program, lanes, host)
    shares = {}
    if code.bytes > first_cache():
        shares["reading code"] = code.bytes * times["code"] / lanes / whole
    if lanes > 1:
        access = max(code.loads * times["load"], code.stores * times["store"])
        shares |= {
            "moving states": times["moving states"] / whole,
            "divisions and roots": 1.0 - times["divisions and roots"] / whole,
            "sines": 1.0 - times["sines"] / whole,
            "loads and stores": access / whole,
        }
    bound = max(parts, key=parts.__getitem__)
    return Limit(subject.name, lanes, operations, whole, parts[bound], bound, shares, code)


def _call(program: Program, lanes: int, subject: Subject) -> Callable[[], object]:
    function = compile_program(program, lanes).bind(subject.block)

    def call(**out: Any) -> Any:
        with np.errstate(all="ignore"):  # products in the place of divisions are no numbers
            return function(*subject.arrays, **out)

    return partial(call, out=call())


def subjects() -> list[Subject]:
    """Return the functions: of an arm, and of two that hold a box."""
    rng = np.random.default_rng(0)
    arm = rd.load(str(resolve_package_uri(ARM))).model
    q = rng.uniform(-2.0, 2.0, (STATES, arm.nq))
    qd, x = rng.normal(size=(2, STATES, arm.nv))
    found = [
        Subject(name, algorithm.program(arm), pack(arm), arrays)
        for name, algorithm, arrays in (
            ("RNEA", INVERSE_DYNAMICS, (q, qd, x)),
            ("CRBA", INERTIA_MATRIX, (q,)),
            ("ABA", TREE_FORWARD_DYNAMICS, (q, qd, x)),
        )
    ]
    scenario = load_scenario(CELL)
    system = build_system(scenario)
    model, start = system.model, closed_configuration(system, scenario.object_pose)
    q = start + rng.uniform(-0.05, 0.05, (STATES, model.nq))
    qd, x = 0.1 * rng.normal(size=(2, STATES, model.nv))
    found.append(Subject("closed loop", CLOSED_LOOP.program(model), pack(model), (q, qd, x)))
    law = make_law(scenario, system)
    assert isinstance(law, HybridLaw)
    program = law.kernel.source[1]()
    given = {name: np.zeros((STATES, *shape)) for name, shape in program.inputs.items()}
    given["q"][:], given["qd"][:] = q[:, system.q_index], qd[:, system.v_index]
    given["reference"][:], given["memory"][:] = law.row(0), law.running.memory
    given["ramp"][:] = 1.0
    block = law.running.tuned.block
    found.append(Subject("law", program, block, tuple(given.values())))
    return found


def limit_of_contact_step(host: Host, rounds: int) -> Limit:
    """Return the limit of a step of a quadruped that stands on 16 balls, from machine code.

    The traced part of its operations is at the peak of one lane, its loops at the peak of all.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        counts = pool.submit(executed_in_contact_step).result()
    one, vectors = Peak(1, host), Peak(host.lanes, host).functions["multiply"]
    functions = {**one.functions, "vectors": vectors, "": standing_quadruped()}
    each = dict.fromkeys(functions, one.operations)
    each |= {"vectors": one.operations * host.lanes, "": _STEPS}
    times = {name: 1e3 * t.best for name, t in interleaved(functions, each, rounds).items()}
    parts = {
        "arithmetic": counts.traced * times["multiply"] + counts.looped * times["vectors"],
        "divisions": counts.divisions * times["divide"] + counts.roots * times["root"],
    }
    bound = max(parts, key=parts.__getitem__)
    arithmetic, *others = map(round, (counts.traced + counts.looped, *counts[2:]))
    operations = Operations(arithmetic, 0, *others, 0, 0)
    return Limit("contact step", 1, operations, times[""], parts[bound], bound, {}, None)


def standing_quadruped() -> Callable[[], object]:
    """Return a function that advances it by `_STEPS` steps, from where it stands each time."""
    ours = Ours(_STEPS * STEP)
    rest = np.zeros(ours.robot.model.nv)

    def call() -> None:
        ours.sim.reset()
        ours.sim.step(rest)

    return call


def executed_in_contact_step() -> Executed:
    """Return the operations of a step in the mean, in a process of its own."""
    with counting() as so_far:
        call = standing_quadruped()
        before = so_far()
        call()
        return Executed(*((b - a) / _STEPS for a, b in zip(before, so_far(), strict=True)))


def table(found: list[Limit]) -> str:
    """Return the limits as text, one line each."""
    head = ("function", "lanes", "arithmetic", "divisions", "roots", "sines", "bytes", "ns",
            "ns at the peak", "bound", "ratio", "code bytes", "spills",
            "shares of the time")  # fmt: skip
    rows = [head]
    for one in found:
        ops = one.operations
        code = ("", "") if one.code is None else (str(one.code.bytes), str(one.code.spills))
        shares = ", ".join(f"{name} {share:.0%}" for name, share in one.shares.items())
        reason = f"; {one.reason}" if one.reason else ""
        rows.append(
            (one.name, str(one.lanes), str(ops.arithmetic), str(ops.divisions), str(ops.roots),
             str(ops.sines), str(ops.bytes), f"{one.measured_ns:.1f}", f"{one.peak_ns:.1f}",
             one.bound, f"{one.ratio:.2f}", *code, shares + reason)
        )  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
