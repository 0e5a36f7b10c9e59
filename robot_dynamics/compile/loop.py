# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loop over states, as NumPy's generalised ufuncs call it.

`void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *data)`: `args` are the arrays,
inputs first; `dimensions[0]` is the number of states; `steps` holds the distance in bytes from
state to state for every array, then the distances along every core dimension of every array;
`data` is the parameter block.

The loop of one lane evaluates a state directly if its arrays are contiguous, and otherwise copies
it first. That of several lanes takes states in blocks. The last block may have fewer: its last
state then fills the remaining lanes, too, and is written as many times. Both carry out the same
operations, so that a result does not depend on the place in a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from robot_dynamics.compile.program import Program
from robot_dynamics.compile.transposition import gather_piece, pieces, scatter_piece
from robot_dynamics.compile.writer import Lanes, Writer

# Rows of up to this many pieces are copied by straight-line code, longer ones by a loop.
_FEW_PIECES = 4
# Number of pieces by which memory is prefetched: writing to rows outside the first cache then
# takes half the time.
_AHEAD = 2


class Port:
    """One array in the loop.

    Attributes:
        shape: The shape of one state.
        size: Its number of elements.
        start: The place of its first element among all inputs, or all outputs.
        place: Its place in `args`.
        base: The name of the pointer to the first state.
        step: The name of the distance between states.
        strides: The names of the distances along its dimensions.
        contiguous: The name of the truth value whether a state is contiguous in memory.
    """

    def __init__(
        self, writer: Writer, place: int, first_stride: int, shape: tuple[int, ...], start: int
    ) -> None:
        self.shape, self.size, self.start, self.place = shape, prod(shape), start, place
        self.base = writer.load("ptr", writer.offset("%args", 8 * place))
        self.step = writer.load("i64", writer.offset("%steps", 8 * place))
        self.strides = []
        self.contiguous = "true"
        for axis, length in enumerate(shape):
            stride = writer.load("i64", writer.offset("%steps", 8 * (first_stride + axis)))
            self.strides.append(stride)
            if length > 1:
                expected = 8 * prod(shape[axis + 1 :])
                equal = writer.emit(f"icmp eq i64 {stride}, {expected}")
                self.contiguous = writer.emit(f"and i1 {self.contiguous}, {equal}")

    def row(self, writer: Writer, index: str) -> str:
        """Return the pointer to a state."""
        return writer.offset(self.base, writer.emit(f"mul i64 {index}, {self.step}"))


class Loop:
    """Writes the loop of a program.

    Args:
        program: The program.
        lanes: The lanes of a block.
        core: The name of the function that evaluates a block, or with one lane one contiguous
            state.
    """

    def __init__(self, program: Program, lanes: Lanes, core: str) -> None:
        self.program, self.lanes, self.core = program, lanes, core
        self.writer = Writer()
        self.tables: list[str] = []
        # Results that are constant follow the computed ones in the block of results.
        constants = (value for value in program.results if not isinstance(value, int))
        self.constants = list(dict.fromkeys(constants)) if lanes.width > 1 else []
        self.slots = self._slots() if lanes.width > 1 else list(range(len(program.results)))

    def _slots(self) -> list[int]:
        """Return for every element of every output its place in the block of results."""
        place = {value: i for i, value in enumerate(self.constants, len(self.program.slots))}
        return [
            self.program.slot_of_node[value] if isinstance(value, int) else place[value]
            for value in self.program.results
        ]

    def text(self, name: str) -> str:
        """Return the text of the loop."""
        writer, lanes, ports = self.writer, self.lanes, self.program.ports
        inputs_size = max(sum(ports.input_sizes), 1)
        results_size = max(max(self.slots, default=0) + 1, 1)
        writer.do(f"%inputs = alloca [{inputs_size} x {lanes.real}], align {lanes.size}")
        writer.do(f"%results = alloca [{results_size} x {lanes.real}], align {lanes.size}")
        count = writer.load("i64", "%dimensions")
        self._open_ports()
        together = "true"
        for port in (*self.inputs, *self.outputs):
            together = writer.emit(f"and i1 {together}, {port.contiguous}")

        writer.jump("head")
        writer.label("head")
        writer.do("%index = phi i64 [ 0, %entry ], [ %next, %done ]")
        left = writer.emit(f"sub i64 {count}, %index")
        writer.branch(writer.emit(f"icmp sgt i64 {left}, 0"), "block", "exit")
        writer.label("block")
        if lanes.width > 1:
            self._block(left)
        else:
            writer.either(together, self._state, self._copied_state)
        writer.jump("done")
        writer.label("done")
        writer.do(f"%next = add i64 %index, {lanes.width}")
        writer.jump("head")
        writer.label("exit")
        arguments = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"
        return "\n".join(
            [
                f"define void @{name}({arguments}) nounwind {{",
                "entry:",
                *writer.lines,
                "  ret void",
                "}",
            ]
        )

    def _open_ports(self) -> None:
        ports = self.program.ports
        stride = len(ports.inputs) + len(ports.outputs)
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        for kind, starts, opened in (
            (ports.inputs, ports.input_starts, self.inputs),
            (ports.outputs, ports.output_starts, self.outputs),
        ):
            for (_, shape), start in zip(kind, starts, strict=True):
                place = len(self.inputs) + len(self.outputs)
                opened.append(Port(self.writer, place, stride, shape, start))
                stride += len(shape)

    def _block(self, left: str) -> None:
        """Gather a block of states, evaluate it and scatter the results."""
        writer, lanes = self.writer, self.lanes
        fewer = writer.emit(f"icmp slt i64 {left}, {lanes.width}")
        valid = writer.emit(f"select i1 {fewer}, i64 {left}, i64 {lanes.width}")
        exists = [writer.emit(f"icmp sgt i64 {valid}, {lane}") for lane in range(1, lanes.width)]
        for port in self.inputs:
            self._choose(port, exists, valid, self._gather, self._gather_slowly)
        writer.do(f"call void @{self.core}(ptr %inputs, ptr %data, ptr %results)")
        for place, value in enumerate(self.constants):
            pointer = writer.offset("%results", (len(self.program.slots) + place) * lanes.size)
            writer.store(lanes.real, lanes.constant(value), pointer, lanes.size)
        for port in self.outputs:
            self._choose(port, exists, valid, self._scatter, self._scatter_slowly)

    def _state(self) -> None:
        """Evaluate one contiguous state."""
        writer = self.writer
        rows = [f"ptr {port.row(writer, '%index')}" for port in (*self.inputs, *self.outputs)]
        writer.do(f"call void @{self.core}({', '.join([*rows, 'ptr %data'])})")

    def _copied_state(self) -> None:
        """Evaluate one state that is not contiguous, by way of copies that are."""
        writer = self.writer
        pointers = []
        for port in self.inputs:
            self._gather_slowly(port, "1")
            pointers.append(writer.offset("%inputs", 8 * port.start))
        pointers += [writer.offset("%results", 8 * port.start) for port in self.outputs]
        arguments = ", ".join(f"ptr {pointer}" for pointer in (*pointers, "%data"))
        writer.do(f"call void @{self.core}({arguments})")
        for port in self.outputs:
            self._scatter_slowly(port, "1")

    def _choose(
        self,
        port: Port,
        exists: list[str],
        valid: str,
        fast: Callable[[Port, list[str]], None],
        slow: Callable[[Port, str], None],
    ) -> None:
        """Write the fast way for contiguous states and the slow one for others."""
        writer = self.writer

        def with_rows() -> None:
            rows = [port.row(writer, "%index")]
            for present in exists:
                step = writer.emit(f"select i1 {present}, i64 {port.step}, i64 0")
                rows.append(writer.offset(rows[-1], step))
            fast(port, rows)

        if port.contiguous == "true":
            with_rows()
        else:
            writer.either(port.contiguous, with_rows, lambda: slow(port, valid))

    def _gather(self, port: Port, rows: list[str]) -> None:
        writer, lanes = self.writer, self.lanes
        start = writer.offset("%inputs", port.start * lanes.size)

        def piece(at: str, source: list[str], length: int) -> None:
            for column, value in enumerate(gather_piece(writer, lanes, source, length)):
                writer.store(lanes.real, value, writer.offset(at, column * lanes.size), lanes.size)

        cut = pieces(port.size, lanes.width)
        full = port.size // lanes.width
        if full > _FEW_PIECES:
            with writer.loop(full) as counter:
                distance = writer.emit(f"mul i64 {counter}, {lanes.size}")
                source = [writer.offset(row, distance) for row in rows]
                wide = writer.emit(f"mul i64 {counter}, {lanes.size * lanes.width}")
                piece(writer.offset(start, wide), source, lanes.width)
            cut = cut[full:]
        for first, length in cut:
            source = [writer.offset(row, 8 * first) for row in rows]
            piece(writer.offset(start, first * lanes.size), source, length)

    def _scatter(self, port: Port, rows: list[str]) -> None:
        writer, lanes = self.writer, self.lanes
        slots = self.slots[port.start : port.start + port.size]

        def load(place: int | str) -> str:
            return writer.load(lanes.real, writer.offset("%results", place), lanes.size)

        cut = pieces(port.size, lanes.width)
        full = port.size // lanes.width
        if full > _FEW_PIECES:
            table = self._table(port)
            with writer.loop(full) as counter:
                first_entry = writer.emit(f"mul i64 {counter}, {8 * lanes.width}")
                entries = writer.offset(table, first_entry)
                columns = [
                    load(writer.load("i64", writer.offset(entries, 8 * column)))
                    for column in range(lanes.width)
                ]
                distance = writer.emit(f"mul i64 {counter}, {lanes.size}")
                target = [writer.offset(row, distance) for row in rows]
                for pointer in target:
                    writer.prefetch(writer.offset(pointer, _AHEAD * lanes.size))
                scatter_piece(writer, lanes, columns, target)
            cut = cut[full:]
        for first, length in cut:
            columns = [load(slot * lanes.size) for slot in slots[first : first + length]]
            scatter_piece(writer, lanes, columns, [writer.offset(row, 8 * first) for row in rows])

    def _gather_slowly(self, port: Port, valid: str) -> None:
        """Copy states with any strides number by number."""
        if not port.size:
            return
        writer, lanes = self.writer, self.lanes
        start = writer.offset("%inputs", port.start * lanes.size)
        last = writer.emit(f"sub i64 {valid}, 1")
        with writer.loop(lanes.width) as lane:
            beyond = writer.emit(f"icmp sgt i64 {lane}, {last}")
            state = writer.emit(f"select i1 {beyond}, i64 {last}, i64 {lane}")
            row = port.row(writer, writer.emit(f"add i64 %index, {state}"))
            at = writer.offset(start, writer.emit(f"mul i64 {lane}, 8"))

            def copy(element: str, source: str) -> None:
                value = writer.load("double", source)
                target = writer.offset(at, writer.emit(f"mul i64 {element}, {lanes.size}"))
                writer.store("double", value, target)

            self._each_element(port, row, copy)

    def _scatter_slowly(self, port: Port, valid: str) -> None:
        """Copy results to states with any strides number by number."""
        if not port.size:
            return
        writer = self.writer
        table = self._table(port)
        with writer.loop(valid) as lane:
            row = port.row(writer, writer.emit(f"add i64 %index, {lane}"))
            at = writer.offset("%results", writer.emit(f"mul i64 {lane}, 8"))

            def copy(element: str, target: str) -> None:
                entry = writer.offset(table, writer.emit(f"mul i64 {element}, 8"))
                place = writer.load("i64", entry)
                writer.store("double", writer.load("double", writer.offset(at, place)), target)

            self._each_element(port, row, copy)

    def _each_element(self, port: Port, row: str, copy: Callable[[str, str], None]) -> None:
        """Process every element of a state, given its index and its address."""
        writer = self.writer

        def level(axis: int, element: str, pointer: str) -> None:
            if axis == len(port.shape):
                copy(element, pointer)
                return
            with writer.loop(port.shape[axis]) as counter:
                below = prod(port.shape[axis + 1 :])
                ahead = writer.emit(f"mul i64 {counter}, {below}")
                moved = writer.emit(f"mul i64 {counter}, {port.strides[axis]}")
                level(
                    axis + 1,
                    writer.emit(f"add i64 {element}, {ahead}"),
                    writer.offset(pointer, moved),
                )

        level(0, "0", row)

    def _table(self, port: Port) -> str:
        """Return the name of the table of where in the block of results each element lies."""
        name = f"@places{port.place}"
        if not any(line.startswith(f"{name} ") for line in self.tables):
            slots = self.slots[port.start : port.start + port.size]
            entries = ", ".join(f"i64 {slot * self.lanes.size}" for slot in slots)
            kind = f"[{port.size} x i64]"
            self.tables.append(f"{name} = internal unnamed_addr constant {kind} [{entries}]")
        return name
