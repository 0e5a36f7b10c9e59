# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of one program as a function in LLVM's assembly language."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.division import divide
from robot_dynamics.compile.graph import (
    ABSOLUTE,
    ADD,
    ATAN2,
    CALL,
    CONSTANT,
    COS,
    DIVIDE,
    EXP,
    INPUT,
    LOG,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    PARAMETER,
    RESULT,
    SIN,
    SQRT,
    SUBTRACT,
)
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.repetition import Pieces, find_pieces
from robot_dynamics.compile.schedule import EvaluationPlan, plan
from robot_dynamics.compile.trigonometry import Arithmetic, write_sine_and_cosine
from robot_dynamics.compile.writer import Lanes, Writer

_INSTRUCTIONS = {ADD: "fadd", SUBTRACT: "fsub", MULTIPLY: "fmul", DIVIDE: "fdiv"}
_INTRINSICS = {SQRT: "sqrt", ABSOLUTE: "fabs"}
# Functions of the C library; `emit_module` declares them.
_LIBRARY = {ATAN2: "atan2", EXP: "exp", LOG: "log"}
_COMPARISONS = {MINIMUM: "olt", MAXIMUM: "ogt"}
# Up to this many zeros of an output are stored one by one, more by a loop at the beginning.
_FEW_ZEROS = 16


class Module(ABC):
    """Functions of a module, and their data.

    Args:
        fma: Whether the processor fuses multiplication and addition.
        columns: Number of calls of one state that are made side by side.
    """

    def __init__(self, fma: bool, columns: int = 1) -> None:
        self.fma, self.columns = fma, columns
        self.functions: list[str] = []
        self._plans: dict[int, EvaluationPlan] = {}
        self._tables: list[NDArray[np.int64]] = []
        self._table_size = 0
        self._constants: list[float] = []
        self._places_of_constants: dict[int, int] = {}
        self._pieces: dict[int, Pieces] = {}

    @abstractmethod
    def core(self, program: Program, lanes: Lanes, uniform: bool) -> str:
        """Return the name of the block core of a program, which is written if need be."""

    def plan(self, program: Program) -> EvaluationPlan:
        """Return the decisions about a program, which all its cores share."""
        if id(program) not in self._plans:
            self._plans[id(program)] = plan(program)
        return self._plans[id(program)]

    def pieces(self, program: Program) -> Pieces:
        """Return a long program in pieces, which all its cores share."""
        if id(program) not in self._pieces:
            self._pieces[id(program)] = find_pieces(program)
        return self._pieces[id(program)]

    def constants_of(self, pieces: Pieces) -> int:
        """Return the index of a program's first constant among those of the module."""
        if id(pieces) not in self._places_of_constants:
            self._places_of_constants[id(pieces)] = len(self._constants)
            self._constants += pieces.constants
        return self._places_of_constants[id(pieces)]

    def table(self, entries: NDArray[np.int64]) -> int:
        """Put whole numbers into the table of the module, and return where they begin."""
        start = self._table_size
        self._tables.append(entries)
        self._table_size += len(entries)
        return start

    def data(self) -> list[str]:
        """Return the definitions of table and constants, as far as there are any."""
        parts = []
        if self._constants:
            parts.append(_bytes("@constants", np.array(self._constants, dtype="<f8")))
        if self._tables:
            parts.append(_bytes("@table", np.concatenate(self._tables).astype("<i4")))
        return parts


def _bytes(name: str, values: NDArray[Any]) -> str:
    content = values.tobytes()
    text = content.hex("\\").upper()
    return f'{name} = internal unnamed_addr constant [{len(content)} x i8] c"\\{text}", align 64'


class _Names(dict[int, str]):
    """Names of values in one function, by node; access to others is written when they are used.

    Args:
        find: Writes the access to a value and returns its name.
    """

    def __init__(self, find: Callable[[int], str]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, index: int) -> str:
        name = self[index] = self._find(index)
        return name


class Core:
    """Writes the arithmetic of one program for one number of lanes.

    Args:
        module: The module being written; it names the cores of called programs.
        program: The program.
        lanes: The number of lanes and its types.
        uniform: Whether all lanes share one block `%parameters` of plain numbers. Otherwise that
            has every parameter in all lanes.
    """

    def __init__(self, module: Module, program: Program, lanes: Lanes, uniform: bool) -> None:
        self.module, self.program, self.lanes, self.uniform = module, program, lanes, uniform
        self.writer = Writer()
        self.arithmetic = Arithmetic(self.writer, lanes, module.fma)
        # Places of values for later functions in the block `%kept`, and its size, in bytes.
        self.kept: dict[int, int] = {}
        self.kept_size = 0
        self.is_divided = False
        self.plan = module.plan(program)
        self.fused = self.plan.fused
        self.names = _Names(self._find)
        self.allocations: list[str] = []
        self.argument_blocks: dict[int, str] = {}
        self.parameter_blocks: dict[tuple[int, ...], str] = {}
        self.steps: dict[int, int] = {}  # between results of a call, in bytes
        # Calls that write into the block of results, and the slots of their first results.
        self.in_place: dict[int, int] = {}
        nodes = program.nodes
        self.sines = {node.left: i for i, node in enumerate(nodes) if node.operation == SIN}
        self.cosines = {node.left: i for i, node in enumerate(nodes) if node.operation == COS}

    def block_form(self, name: str) -> str:
        """Return the text of a block core."""
        starts, size = self.program.ports.input_starts, self.lanes.size

        def load_input(port: int, element: int) -> str:
            pointer = self.writer.offset("%inputs", (starts[port] + element) * size)
            return self.writer.load(self.lanes.real, pointer, size)

        def store(index: int) -> None:
            pointer = self.writer.offset("%results", self.program.slot_of_node[index] * size)
            self.writer.store(self.lanes.real, self.names[index], pointer, size)

        self.in_place = self._calls_in_place()
        stores = {
            index: store
            for index in self.program.slots
            if self.program.nodes[index].operation != RESULT
            or self.program.nodes[index].left not in self.in_place
        }
        arguments = ["%inputs", "%parameters", "%results"]
        return self._functions(name, arguments, load_input, stores)

    def _calls_in_place(self) -> dict[int, int]:
        """Return the calls made alone whose results are those of this program, in one stretch."""
        own: dict[int, list[tuple[int, int]]] = {}
        for slot, index in enumerate(self.program.slots):
            operation, left, right = self.program.nodes[index]
            if operation == RESULT:
                own.setdefault(left, []).append((slot, right))
        found = {}
        for call, places in own.items():
            first, count = places[0][0], len(self.program.nodes[call].left.slots)
            alone = not self._side_by_side(call)
            if alone and places == [(first + at, at) for at in range(count)]:
                found[call] = first
        return found

    def direct_form(self, name: str, exported: bool = False) -> str:
        """Return the text of a direct core, which may be visible from outside the module."""
        ports, writer = self.program.ports, self.writer

        def load_input(port: int, element: int) -> str:
            return writer.load("double", writer.offset(f"%in{port}", 8 * element))

        store_constants(writer, self.program)
        places: dict[int, list[tuple[int, int]]] = {}
        for port, (start, size) in enumerate(
            zip(ports.output_starts, ports.output_sizes, strict=True)
        ):
            for element, value in enumerate(self.program.results[start : start + size]):
                if isinstance(value, int):
                    places.setdefault(value, []).append((port, element))

        def store(index: int) -> None:
            for port, element in places[index]:
                pointer = writer.offset(f"%out{port}", 8 * element)
                writer.store("double", self.names[index], pointer)

        arguments = [f"%in{port}" for port in range(len(ports.inputs))]
        arguments += [f"%out{port}" for port in range(len(ports.outputs))]
        stores = dict.fromkeys(self.program.slots, store)
        return self._functions(name, [*arguments, "%parameters"], load_input, stores, exported)

    def _functions(
        self,
        name: str,
        arguments: list[str],
        load_input: Callable[[int, int], str],
        stores: Mapping[int, Callable[[int], None]],
        exported: bool = False,
    ) -> str:
        """Return the text of the function of all operations; a long one calls its parts."""
        signature = ", ".join([f"ptr noalias {one}" for one in arguments])
        # Code for several states at a time is faster whole.
        division = divide(self.program, self.plan) if self.lanes.width == 1 else None
        if division is None:
            self.write(load_input, stores)
            return self.function(name, signature, exported)
        self.is_divided, self.load_input = True, load_input
        for index in division.kept:
            self.kept[index] = self._keep(1, self.lanes)
        passed = ", ".join([f"ptr {one}" for one in (*arguments, "%kept")])
        calls = self.writer.lines
        for number, part in enumerate(division.parts):
            self.names.clear()
            self.writer.lines, self.allocations = [], []
            self.argument_blocks, self.parameter_blocks = {}, {}
            self._write_operations(part, stores)
            of_part = f"{name}_part{number}"
            text = self.function(of_part, f"{signature}, ptr noalias %kept", exported)
            self.module.functions.append(text)
            calls.append(f"  call void @{of_part}({passed})")
        self.writer.lines = calls
        self.allocations = [f"  %kept = alloca [{max(self.kept_size, 1)} x i8], align 64"]
        return self.function(name, signature, exported)

    def _keep(self, count: int, lanes: Lanes) -> int:
        """Return the place of some more numbers in the block of kept values."""
        place = -(-self.kept_size // lanes.size) * lanes.size
        self.kept_size = place + count * lanes.size
        return place

    def _find(self, index: int) -> str:
        """Return the name of an input, a constant, or a value of an earlier function."""
        operation, left, right = self.program.nodes[index]
        if operation == CONSTANT:
            return self.lanes.constant(left)
        if operation == INPUT:
            return self.load_input(left, right)
        if operation == PARAMETER:
            return self._parameter(left)
        if operation == CALL and index in self.in_place:
            return self.writer.offset("%results", self.in_place[index] * self.lanes.size)
        pointer = self.writer.offset("%kept", self.kept[index])
        if operation == CALL:
            return pointer
        return self.writer.load(self.lanes.real, pointer, self.lanes.size)

    def function(self, name: str, arguments: str, exported: bool = False) -> str:
        """Return the text of a function of all that was written.

        A function that is visible from outside runs once for each block of parameters: LLVM does
        not spend time on it.
        """
        start = "define void" if exported else "define internal void"
        attributes = "noinline optnone nounwind" if exported else "nounwind"
        lines = [
            f"{start} @{name}({arguments}) {attributes} {{",
            "entry:",
            *self.allocations,
            *self.writer.lines,
            "  ret void",
            "}",
        ]
        return "\n".join(lines)

    def write(
        self, load_input: Callable[[int, int], str], stores: Mapping[int, Callable[[int], None]]
    ) -> None:
        """Write all operations, and each store as soon as its value is there."""
        self.load_input = load_input
        self._write_operations(self.plan.order, stores)

    def _write_operations(
        self, order: list[int], stores: Mapping[int, Callable[[int], None]]
    ) -> None:
        nodes, names = self.program.nodes, self.names
        for index in order:
            operation, left, right = nodes[index]
            if index in names or (operation == CALL and index in self.kept):
                pass  # the cosine of an angle comes with its sine, and calls with others
            elif operation in (INPUT, PARAMETER):
                names[index] = self._find(index)
            elif operation == RESULT:
                pointer = self.writer.offset(names[left], right * self.steps[left])
                names[index] = self.writer.load(self.lanes.real, pointer, self.lanes.size)
            elif operation == CALL:
                self._call(index)
            elif operation in (SIN, COS):
                self._trigonometry(left)
            else:
                names[index] = self._operation(index)
            if index in self.kept and operation != CALL:
                pointer = self.writer.offset("%kept", self.kept[index])
                self.writer.store(self.lanes.real, names[index], pointer, self.lanes.size)
            if index in stores:
                stores[index](index)

    def _operation(self, index: int) -> str:
        operation, left, right = self.program.nodes[index]
        names, arithmetic, lanes = self.names, self.arithmetic, self.lanes
        if index in self.fused:
            return self._fused(index)
        if operation in _INSTRUCTIONS:
            return arithmetic.binary(_INSTRUCTIONS[operation], names[left], names[right])
        if operation == NEGATE:
            return self._negative(names[left])
        if operation in _INTRINSICS:
            return arithmetic.intrinsic(_INTRINSICS[operation], names[left])
        if operation in _LIBRARY:
            arguments = [names[left]] if right is None else [names[left], names[right]]
            return self._library_call(_LIBRARY[operation], arguments)
        a, b = names[left], names[right]
        real = lanes.real
        chosen = self.writer.emit(f"fcmp {_COMPARISONS[operation]} {real} {a}, {b}")
        value = arithmetic.select(chosen, a, b)
        # The comparison is false for nan and selects b: right if b is nan, corrected below if a
        # is.
        unordered = self.writer.emit(f"fcmp uno {real} {a}, {lanes.constant(0.0)}")
        return arithmetic.select(unordered, a, value)

    def _fused(self, index: int) -> str:
        """Write `a * b + c`, `c - a * b` or `a * b - c`."""
        operation, left, right = self.program.nodes[index]
        product = self.fused[index]
        a, b = (self.names[factor] for factor in self.program.nodes[product][1:])
        c = self.names[right if product == left else left]
        if operation == SUBTRACT:
            if product == right:
                a = self._negative(a)
            else:
                c = self._negative(c)
        return self.arithmetic.multiply_add(a, b, c)

    def _negative(self, name: str) -> str:
        return self.writer.emit(f"fneg {self.lanes.real} {name}")

    def _trigonometry(self, angle: int) -> None:
        """Write the sine and cosine of an angle, as far as the program has them."""
        sine, cosine = self.sines.get(angle), self.cosines.get(angle)
        names = write_sine_and_cosine(
            self.arithmetic, self.names[angle], sine is not None, cosine is not None
        )
        for index, name in zip((sine, cosine), names, strict=True):
            if index is not None:
                self.names[index] = name

    def _parameter(self, index: int) -> str:
        """Load a parameter, into all lanes."""
        writer, lanes = self.writer, self.lanes
        if not self.uniform:
            pointer = writer.offset("%parameters", index * lanes.size)
            return writer.load(lanes.real, pointer, lanes.size)
        value = writer.load("double", writer.offset("%parameters", 8 * index))
        return lanes.spread(writer, value)

    def _library_call(self, function: str, arguments: list[str]) -> str:
        """Call a function of the C library for each lane."""
        writer, lanes = self.writer, self.lanes

        def call(numbers: list[str]) -> str:
            return writer.emit(
                f"call double @{function}({', '.join(f'double {name}' for name in numbers)})"
            )

        if lanes.width == 1:
            return call(arguments)
        value = "undef"
        for lane in range(lanes.width):
            of_lane = [
                writer.emit(f"extractelement {lanes.real} {name}, i32 {lane}")
                for name in arguments
            ]
            result = call(of_lane)
            value = writer.emit(f"insertelement {lanes.real} {value}, double {result}, i32 {lane}")
        return value

    def _call(self, index: int) -> None:
        """Call another program; of one state side by side with all that can be called with it."""
        if self._side_by_side(index):
            self._call_in_lanes(self.plan.together[index])
            return
        writer, lanes, node = self.writer, self.lanes, self.program.nodes[index]
        program, arguments = node.left, node.right
        inputs = len(arguments) - program.parameters
        parameters, uniform = self._parameters_of_call(arguments[inputs:])
        key = id(program)
        if key not in self.argument_blocks:
            self.argument_blocks[key] = self._allocate(inputs, lanes)
        block = self.argument_blocks[key]
        self._write(block, arguments[:inputs])
        if index in self.in_place:
            results = writer.offset("%results", self.in_place[index] * lanes.size)
        else:
            results = self._results(index, len(program.slots), lanes)
        core = self.module.core(program, lanes, uniform)
        writer.do(f"call void @{core}(ptr {block}, ptr {parameters}, ptr {results})")
        self.names[index], self.steps[index] = results, lanes.size

    def _side_by_side(self, call: int) -> bool:
        """Return whether a call is made together with others, one in each lane."""
        several = len(self.plan.together.get(call, ())) > 1
        return several and self.lanes.width == 1 < self.module.columns

    def _call_in_lanes(self, calls: tuple[int, ...]) -> None:
        """Call a program for several inputs of one state, one in each lane."""
        writer, nodes, lanes = self.writer, self.program.nodes, Lanes(self.module.columns)
        program, arguments = nodes[calls[0]].left, nodes[calls[0]].right
        inputs = len(arguments) - program.parameters
        parameters, _ = self._parameters_of_call(arguments[inputs:])
        core = self.module.core(program, lanes, True)
        for start in range(0, len(calls), lanes.width):
            part = calls[start : start + lanes.width]
            block = self._allocate(inputs, lanes)
            results = self._results(part[0], len(program.slots), lanes)
            for place in range(inputs):
                for lane in range(lanes.width):
                    # The last one fills the remaining lanes.
                    name = self.names[nodes[part[min(lane, len(part) - 1)]].right[place]]
                    pointer = writer.offset(block, place * lanes.size + 8 * lane)
                    writer.store("double", name, pointer)
            writer.do(f"call void @{core}(ptr {block}, ptr {parameters}, ptr {results})")
            for lane, index in enumerate(part):
                self.names[index] = writer.offset(results, 8 * lane)
                if self.is_divided:
                    self.kept[index] = self.kept[part[0]] + 8 * lane
                self.steps[index] = lanes.size

    def _parameters_of_call(self, arguments: tuple[int, ...]) -> tuple[str, bool]:
        """Return the address of a call's parameters, and whether all lanes share them."""
        block = [self.program.nodes[argument] for argument in arguments]
        if not block:
            return "null", True
        # A callee whose parameters are a contiguous part of the block reads them in place.
        if all(
            node.operation == PARAMETER and node.left == block[0].left + place
            for place, node in enumerate(block)
        ):
            size = 8 if self.uniform else self.lanes.size
            return self.writer.offset("%parameters", size * block[0].left), self.uniform
        if arguments not in self.parameter_blocks:
            name = self.parameter_blocks[arguments] = self._allocate(len(block), self.lanes)
            self._write(name, arguments)
        return self.parameter_blocks[arguments], self.lanes.width == 1

    def _write(self, block: str, arguments: tuple[int, ...]) -> None:
        """Write arguments of a call."""
        size = self.lanes.size
        for place, argument in enumerate(arguments):
            pointer = self.writer.offset(block, place * size)
            self.writer.store(self.lanes.real, self.names[argument], pointer, size)

    def _results(self, call: int, count: int, lanes: Lanes) -> str:
        """Return the address of the block of results of a call."""
        if not self.is_divided:
            return self._allocate(count, lanes)
        self.kept[call] = self._keep(count, lanes)
        return self.writer.offset("%kept", self.kept[call])

    def _allocate(self, count: int, lanes: Lanes) -> str:
        name = f"%block{len(self.allocations)}"
        self.allocations.append(
            f"  {name} = alloca [{max(count, 1)} x {lanes.real}], align {lanes.size}"
        )
        return name


def store_constants(writer: Writer, program: Program) -> None:
    """Write the elements of outputs of one state, `%out0` and so on, that are constant."""
    lanes, ports = Lanes(1), program.ports
    for port, (start, size) in enumerate(
        zip(ports.output_starts, ports.output_sizes, strict=True)
    ):
        results = program.results[start : start + size]
        zeros = sum(value == 0.0 and not isinstance(value, int) for value in results)
        if zeros > _FEW_ZEROS:
            wide = Lanes(4)
            with writer.loop(size // wide.width) as counter:
                distance = writer.emit(f"mul i64 {counter}, {wide.size}")
                place = writer.offset(f"%out{port}", distance)
                writer.store(wide.real, wide.constant(0.0), place)
            for element in range(size - size % wide.width, size):
                pointer = writer.offset(f"%out{port}", 8 * element)
                writer.store("double", lanes.constant(0.0), pointer)
        for element, value in enumerate(results):
            if not isinstance(value, int) and (value != 0.0 or zeros <= _FEW_ZEROS):
                pointer = writer.offset(f"%out{port}", 8 * element)
                writer.store("double", lanes.constant(value), pointer)
