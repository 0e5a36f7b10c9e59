# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of long programs: one function for each kind of piece, and one that calls them.

See `repetition`. A function reads the indices of a piece's operands and results from a table: the
first of each if they have a fixed distance from turn to turn, else all. Pieces that differ only in
these indices share a function. A *turn* is one repetition of a loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.core import Core, Module, store_constants
from robot_dynamics.compile.graph import INPUT, PARAMETER
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.repetition import (
    CONSTANTS,
    FRAME,
    PARAMETERS,
    PORTS,
    Access,
    Piece,
    Pieces,
)
from robot_dynamics.compile.writer import Lanes, Writer

# Number of pieces that one function calls: LLVM's time for calls grows with more than the square
# of their number.
_MOST_CALLS = 32
# Largest size on the stack of the frame, the inputs and the results of all lanes [bytes].
_MOST_MEMORY = 1 << 20


class _Way(NamedTuple):
    """Access of a piece to an operand or a result.

    Attributes:
        base: Pointer to its memory.
        wide: Whether there is a value for each lane.
        places: Index in the memory in each turn.
        step: Distance of the indices from turn to turn; None if it varies.
    """

    base: str
    wide: bool
    places: NDArray[np.int64]
    step: int | None


def lanes_that_fit(program: Program, pieces: Pieces, width: int) -> int:
    """Return the number of states at a time of a long program, limited by fast memory."""
    values = pieces.frame + sum(program.ports.input_sizes) + len(program.slots)
    while width > 1 and 8 * width * values > _MOST_MEMORY:
        width //= 2
    return width


class LongCore:
    """Writes the functions of a long program for one number of lanes.

    Args:
        module: The module being written, which gets the functions of pieces.
        program: The program.
        lanes: The number of lanes and its types.
        uniform: Whether all lanes share one block `%parameters` of plain numbers. Otherwise that
            has every parameter in all lanes.
    """

    def __init__(self, module: Module, program: Program, lanes: Lanes, uniform: bool) -> None:
        self.module, self.lanes, self.uniform = module, lanes, uniform
        self.pieces = module.pieces(program)
        self.program, self.constants = self.pieces.program, module.constants_of(self.pieces)
        # Inlined calls may give two slots one value: slots are those of the caller.
        of_results = [
            program.slot_of_node[value] if isinstance(value, int) else -1
            for value in program.results
        ]
        self.slots = np.array(of_results, dtype=np.int64)
        self.direct = False
        self.signature: list[str] = []

    def block_form(self, name: str) -> str:
        """Return the text of a block core, which reads inputs and writes results in blocks."""
        self.direct, self.signature = False, ["%inputs", "%parameters", "%results"]
        return self._text(name, exported=False)

    def direct_form(self, name: str, exported: bool = False) -> str:
        """Return the text of a direct core, which may be visible from outside the module."""
        ports = self.program.ports
        inputs = [f"%in{port}" for port in range(len(ports.inputs))]
        outputs = [f"%out{port}" for port in range(len(ports.outputs))]
        self.direct, self.signature = True, [*inputs, *outputs, "%parameters"]
        return self._text(name, exported)

    def _text(self, name: str, exported: bool) -> str:
        """Return the text of the function that carries out all pieces."""
        writer = Writer()
        if self.direct:
            store_constants(writer, self.program)
        ways = [self._ways(piece) for piece in self.pieces.pieces]
        kinds = [
            self._kind(piece, *both) for piece, both in zip(self.pieces.pieces, ways, strict=True)
        ]
        shared = Counter(kinds)
        functions: dict[Hashable, str] = {}
        calls: list[tuple[str, int, int]] = []  # function, place of its table and turns
        for piece, (reads, writes), kind in zip(self.pieces.pieces, ways, kinds, strict=True):
            if kind not in functions:
                functions[kind] = f"{name}_piece{len(functions)}"
                text = self._function(functions[kind], piece, reads, writes, shared[kind] > 1)
                self.module.functions.append(text)
            place = self.module.table(_table(reads, writes))
            calls.append((functions[kind], place, piece.turns))
        passed = ", ".join(f"ptr {one}" for one in ("%frame", *self.signature))
        for start in range(0, len(calls), _MOST_CALLS):
            part = f"{name}_part{start // _MOST_CALLS}"
            self.module.functions.append(self._part(part, calls[start : start + _MOST_CALLS]))
            writer.do(f"call void @{part}({passed})")
        self._copy_inputs(writer)
        return _definition(name, self.signature, self._frame(writer.lines), exported)

    def _part(self, name: str, calls: list[tuple[str, int, int]]) -> str:
        """Return the text of a function that carries out some pieces."""
        writer, pointers = Writer(), ["%frame", *self.signature]
        passed = ", ".join(f"ptr {one}" for one in pointers)
        for function, place, turns in calls:
            table = writer.offset("@table", 4 * place)
            writer.do(f"call void @{function}({passed}, ptr {table}, i64 {turns})")
        return _definition(name, pointers, writer.lines)

    def _frame(self, lines: list[str]) -> list[str]:
        """Return the code that uses a frame, which is on the stack unless it is too large."""
        size = max(self.pieces.frame, 1)
        if self.lanes.width > 1 or 8 * size <= _MOST_MEMORY:
            return [f"  %frame = alloca [{size} x {self.lanes.real}], align 64", *lines]
        asked = f"  %frame = call ptr @malloc(i64 {8 * size})"
        return [asked, *lines, "  call void @free(ptr %frame)"]

    def _ways(self, piece: Piece) -> tuple[list[_Way], list[list[_Way]]]:
        """Return the access of a piece to each operand, and the places of each of its results."""
        reads = [self._read(access) for access in piece.operands]
        writes = []
        for accesses in piece.results:
            ways = [self._write(access) for access in accesses]
            # In a block a result is in one slot, for any number of its elements.
            known = {(way.base, way.places.tobytes()): way for way in ways}
            writes.append(list(known.values()))
        return reads, writes

    def _read(self, access: Access) -> _Way:
        memory, places = access
        if memory == FRAME:
            return _way("%frame", True, places)
        if memory == CONSTANTS:
            return _way("@constants", False, places + self.constants)
        if memory == PARAMETERS:
            return _way("%parameters", not self.uniform, places)
        if self.direct:
            return _way(f"%in{memory - PORTS}", True, places)
        return _way("%inputs", True, places + self.program.ports.input_starts[memory - PORTS])

    def _write(self, access: Access) -> _Way:
        memory, places = access
        if memory == FRAME:
            return _way("%frame", True, places)
        if self.direct:
            return _way(f"%out{memory - PORTS}", True, places)
        start = self.program.ports.output_starts[memory - PORTS]
        return _way("%results", True, self.slots[start + places])

    @staticmethod
    def _kind(piece: Piece, reads: list[_Way], writes: list[list[_Way]]) -> Hashable:
        """Return the key of pieces that share a function."""
        steps = tuple([(way.base, way.step) for way in reads])
        targets = tuple([tuple([(way.base, way.step) for way in value]) for value in writes])
        return piece.body.nodes, piece.body.results, piece.turns > 1, steps, targets

    def _function(
        self, name: str, piece: Piece, reads: list[_Way], writes: list[list[_Way]], shared: bool
    ) -> str:
        """Return the text of the function of a piece."""
        core = Core(self.module, piece.body, self.lanes, True)
        writer, lanes, loop = core.writer, self.lanes, piece.turns > 1
        every = [*reads, *(way for value in writes for way in value)]
        varying = [number for number, way in enumerate(every) if way.step is None]
        starts: dict[int, str] = {}
        loaded: dict[int, str] = {}

        def size(way: _Way) -> int:
            return lanes.size if way.wide else 8

        def element(way: _Way, entry: str) -> str:
            """Return the pointer to the element whose index is in the table."""
            index = writer.load("i32", entry, 4)
            kind = lanes.real if way.wide else "double"
            return writer.emit(f"getelementptr {kind}, ptr {way.base}, i32 {index}")

        def start(number: int) -> str:
            """Return the pointer to the element of the first turn."""
            way = every[number]
            if not shared:
                return writer.offset(way.base, int(way.places[0]) * size(way))
            return element(way, writer.offset("%table", 4 * number))

        def pointer(number: int, turn: str) -> str:
            way = every[number]
            if not loop:
                return start(number)
            if way.step is None:
                row = writer.emit(f"mul i64 {turn}, {4 * len(varying)}")
                place = 4 * (len(every) + varying.index(number))
                return element(way, writer.offset(writer.offset("%table", row), place))
            if way.step == 0:
                return starts[number]
            moved = writer.emit(f"mul i64 {turn}, {way.step * size(way)}")
            return writer.offset(starts[number], moved)

        def load(number: int, turn: str) -> str:
            if number in loaded:
                return loaded[number]
            place = pointer(number, turn)
            if every[number].wide:
                return writer.load(lanes.real, place, lanes.size)
            return lanes.spread(writer, writer.load("double", place))

        def body(turn: str) -> None:
            stores = {}
            number = len(reads)
            for value, ways in zip(piece.body.results, writes, strict=True):
                places = range(number, number + len(ways))
                number += len(ways)

                def store(index: int, places: range = places) -> None:
                    for place in places:
                        writer.store(
                            lanes.real, core.names[index], pointer(place, turn), lanes.size
                        )

                stores[int(value)] = store
            core.write(lambda _, element: load(element, turn), stores)

        if loop:
            for number, way in enumerate(every):
                if way.step is not None:
                    starts[number] = start(number)
                    if way.step == 0 and number < len(reads):
                        loaded[number] = load(number, "")
            with writer.loop("%turns") as turn:
                body(turn)
        else:
            body("")
        pointers = ", ".join(f"ptr noalias {one}" for one in ("%frame", *self.signature))
        return core.function(name, f"{pointers}, ptr noalias %table, i64 %turns")

    def _copy_inputs(self, writer: Writer) -> None:
        """Write the results that are inputs, or parameters."""
        ports, lanes = self.program.ports, self.lanes
        done = set()
        for port, (start, size) in enumerate(
            zip(ports.output_starts, ports.output_sizes, strict=True)
        ):
            for element, value in enumerate(self.program.results[start : start + size]):
                node = self.program.nodes[value] if isinstance(value, int) else None
                if node is None or node.operation not in (INPUT, PARAMETER):
                    continue
                place = PORTS + node.left if node.operation == INPUT else PARAMETERS
                index = node.right if node.operation == INPUT else node.left
                source = self._read(Access(place, np.array([index])))
                target = self._write(Access(PORTS + port, np.array([element])))
                if (target.base, int(target.places[0])) in done:
                    continue
                done.add((target.base, int(target.places[0])))
                unit = lanes.size if source.wide else 8
                at = writer.offset(source.base, int(source.places[0]) * unit)
                name = (
                    writer.load(lanes.real, at, lanes.size)
                    if source.wide
                    else lanes.spread(writer, writer.load("double", at))
                )
                to = writer.offset(target.base, int(target.places[0]) * lanes.size)
                writer.store(lanes.real, name, to, lanes.size)


def _definition(name: str, pointers: list[str], lines: list[str], exported: bool = False) -> str:
    """Return the text of a function of pointers."""
    arguments = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    start = f"define {'' if exported else 'internal '}void @{name}({arguments}) nounwind {{"
    return "\n".join([start, "entry:", *lines, "  ret void", "}"])


def _way(base: str, wide: bool, places: NDArray[np.int64]) -> _Way:
    if len(places) == 1:
        return _Way(base, wide, places, 0)
    steps = np.diff(places)
    return _Way(base, wide, places, int(steps[0]) if (steps == steps[0]).all() else None)


def _table(reads: list[_Way], writes: list[list[_Way]]) -> NDArray[np.int64]:
    """Return the first index of every access of a piece; then, by turns, the varying indices."""
    every = [*reads, *(way for value in writes for way in value)]
    first = np.array([way.places[0] for way in every], dtype=np.int64)
    varying = [way.places for way in every if way.step is None]
    return np.concatenate([first, *([np.stack(varying, axis=1).ravel()] if varying else [])])
