# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Routines: plain Python functions with loops over arrays, compiled as they are written.

Traced programs are straight-line code; code whose number of repetitions depends on data is a
routine:

    @routine
    def total(x: Vector) -> float:
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

The length of the code depends on the source and not on the sizes of arrays. Without a code
generator the function runs as Python.

Supported are numbers, truth values, elements of arrays, `+ - * / // %`, comparisons, `and`, `or`,
`not`, `x if c else y`, `if`, `while`, `for` over `range`, `break`, `continue`, `return`, `len`,
`abs`, `min` and `max` of two, `sqrt`, `float`, `int`, constants of the module, calls of other
routines, and outside loops `x = zeros(n)` or `zeros(n, m)` for local arrays. Indices are not
checked and count from the front, `//` and `%` are for numbers that are not negative, and a
division by zero is infinite. Arrays that are written to must not overlap with others.

Arrays, numbers and calls that belong together are a record: a parameter whose annotation is a
NamedTuple of fields of these kinds, as in `state.pressed[i]` or `len(step.gaps)`. Routines pass
records on as a whole, and only used fields are passed. Arrays are those of the record when it was
bound; outside loops `x = state.pressed` is a shorter name for one.

Routines and kernels that are bound to their arrays (`Kernel.bind_arrays`) are passed to another
routine as a `Call`, which it calls without arguments: separately compiled steps run one after the
other without Python between them. Any Python function can be a `Call` as well.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import struct
import textwrap
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import cache
from robot_dynamics.compile.emission import ENTRY, PREPARE
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import Host, find_host, interpretation_forced
from robot_dynamics.compile.machine import load_object
from robot_dynamics.compile.machine_child import object_code
from robot_dynamics.compile.writer import Writer

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Tensor = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Call = Callable[[], Any]
Table = NDArray[np.int64]
Record = TypeVar("Record")

# Element type in LLVM, in NumPy, and number of dimensions.
_ARRAYS = {
    "Vector": ("double", np.float64, 1),
    "Matrix": ("double", np.float64, 2),
    "Tensor": ("double", np.float64, 3),
    "Mask": ("i8", np.bool_, 1),
    "Indices": ("i64", np.int64, 1),
    "Table": ("i64", np.int64, 2),
}
# A function of up to four pointers, and its arguments; its result is ignored.
_CALL = ["ptr"] * 5
_SCALARS = {"float": "double", "int": "i64", "bool": "i1"}
_RESULTS = {"double": ctypes.c_double, "i64": ctypes.c_int64, "i1": ctypes.c_bool, "void": None}
_FLOAT = {ast.Add: "fadd contract", ast.Sub: "fsub contract", ast.Mult: "fmul contract",
          ast.Div: "fdiv"}  # fmt: skip
_WHOLE = {ast.Add: "add nsw", ast.Sub: "sub nsw", ast.Mult: "mul nsw",
          ast.FloorDiv: "sdiv", ast.Mod: "srem"}  # fmt: skip
_ORDER = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}

# Local arrays of routines: not on the stack, which has only half a megabyte in threads of some
# systems. They begin at cache lines, after the address of the memory to free, and are zero.
_HEAP = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @malloc(i64)
declare void @free(ptr)
define internal noalias align 64 ptr @array.new(i64 %length) noinline nounwind {
  %size = mul nsw i64 %length, 8
  %room = add nsw i64 %size, 72
  %own = call ptr @malloc(i64 %room)
  %from = ptrtoint ptr %own to i64
  %behind = add nsw i64 %from, 72
  %line = and i64 %behind, -64
  %array = inttoptr i64 %line to ptr
  %head = getelementptr i8, ptr %array, i64 -8
  store ptr %own, ptr %head, align 8
  call void @llvm.memset.p0.i64(ptr align 64 %array, i8 0, i64 %size, i1 0)
  ret ptr %array
}
define internal void @array.free(ptr %array) noinline nounwind {
  %absent = icmp eq ptr %array, null
  br i1 %absent, label %done, label %present
present:
  %head = getelementptr i8, ptr %array, i64 -8
  %own = load ptr, ptr %head, align 8
  call void @free(ptr %own)
  br label %done
done:
  ret void
}
"""

Value = tuple[str, str]  # LLVM's type, and the name or constant


class Routine:
    """A function that is compiled when it is first bound; see `routine`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._entry: Any = None

    @cached_property
    def tree(self) -> Any:
        """The source, parsed."""
        return ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]

    @cached_property
    def definition(self) -> Definition:
        """Its parameters and statements."""
        return Definition(self)

    @cached_property
    def mentioned(self) -> list[ast.Attribute | ast.Call]:
        """Fields and calls in it."""
        return [x for x in ast.walk(self.tree) if isinstance(x, ast.Attribute | ast.Call)]

    def __call__(self, *arguments: Any) -> Any:
        """Evaluate."""
        return self.bind(*arguments)()

    def bind(self, *arguments: Any) -> Callable[[], Any]:
        """Return a function without arguments that reads and writes these arrays in place.

        Args:
            arguments: Contiguous arrays, numbers, functions and records of these, as the function
                declares them.

        Raises:
            CompilerError: If an argument or the function is not supported.
        """
        host = None if interpretation_forced() else find_host()
        if host is None:
            return partial(self.function, *arguments)
        if self._entry is None:
            self._machine = load_object(self.object(host, "routine", lambda: _module(self)), host)
            result = _RESULTS[self.definition.result]
            self._entry = ctypes.CFUNCTYPE(result, ctypes.c_void_p)(self._machine.address)
        arguments = tuple(map(_entered, self.definition.flat(arguments, getattr)))
        words = self.words(self.definition.parameters, arguments)
        content = struct.pack(f"{len(words)}q", *words)
        table = (ctypes.c_int64 * len(words)).from_buffer_copy(content)
        address = ctypes.addressof(table)
        bound = partial(self._entry, address)
        bound.kept = (table, arguments, self._machine)  # type: ignore[attr-defined]
        bound.entry = (self._machine.address, address)  # type: ignore[attr-defined]
        return bound

    def words(self, parameters: Sequence[tuple[str, str]], arguments: Sequence[Any]) -> list[int]:
        """Return addresses and lengths of arrays, and numbers, as machine code reads them."""
        words: list[int] = []
        for (name, kind), given in zip(parameters, arguments, strict=True):
            if kind == "Call":
                entry = getattr(given, "entry", None)
                if entry is None:
                    raise CompilerError(
                        f"{self.__name__}: {name} is {given!r:.60}, expected a function."
                    )
                words += [*entry, *[0] * (len(_CALL) - len(entry))]
                continue
            if kind in _ARRAYS:
                _, element, rank = _ARRAYS[kind]
                fits = isinstance(given, np.ndarray) and given.flags.c_contiguous
                if not fits or given.dtype != element or given.ndim != rank:
                    array = isinstance(given, np.ndarray)
                    found = f"{given.dtype} of shape {given.shape}" if array else repr(given)
                    raise CompilerError(
                        f"{self.__name__}: {name} is {found}, expected a contiguous {kind}."
                    )
                words += [given.__array_interface__["data"][0], *given.shape]
            elif kind == "float":
                words += struct.unpack("<q", struct.pack("<d", given))
            else:
                words.append(int(given))
        return words

    def object(self, host: Host, kind: str, text: Callable[[], str]) -> bytes:
        """Return the object code of a module with this routine, optimised, from the cache if any.

        Args:
            host: Target of the code.
            kind: Key of the module among those with this routine.
            text: Makes the module.
        """
        function = self.function
        source = Path(function.__code__.co_filename).read_bytes()
        key = f"{kind}\0{function.__module__}\0{function.__qualname__}\0".encode() + source
        entry = cache.entry_name(key, host, 0)
        found = cache.load(entry)
        if found is not None:
            return found[1]
        try:
            target = (host.triple, host.cpu, host.features, 3)
            code = object_code(text(), *target, optimised=True)
        except RuntimeError as error:
            raise CompilerError(f"LLVM refused the generated code: {error}") from error
        cache.store(entry, {}, code)
        return code


def _entered(given: Any) -> Any:
    """Return an argument; a Python function as a function that machine code can call."""
    if not callable(given) or hasattr(given, "entry"):
        return given
    back = ctypes.CFUNCTYPE(None)(given)
    back.entry = (ctypes.cast(back, ctypes.c_void_p).value,)  # type: ignore[attr-defined]
    return back


def zeros(*shape: int) -> Any:
    """Return an array of zeros, which a routine frees when it returns."""
    return np.zeros(shape)


def routine(function: Callable[..., Any]) -> Routine:
    """Return a function as a routine; annotations give the kinds of its parameters.

    They are `Vector`, `Matrix`, `Tensor` of floating-point numbers, `Mask`, `Indices`, `Table` of
    whole numbers, `float`, `int`, `bool`, `Call`, or records of these; it returns a number, a
    truth value or None.
    """
    return Routine(function)


def new_record(of: Callable[..., Record], **fields: Any) -> Record:
    """Return a record of the given fields; a shape stands for an array of zeros."""
    for name, given in fields.items():
        kind = _kind(of, name)
        if kind in _ARRAYS and isinstance(given, int | tuple):
            fields[name] = np.zeros(given, _ARRAYS[kind][1])
    return of(**fields)


def _kind(record: Any, field: str) -> Any:
    """Return the kind of a field, as it is written."""
    kind = record.__annotations__[field]
    return getattr(kind, "__forward_arg__", kind)


class Definition:
    """Signature and body of a routine.

    Attributes:
        parameters: Names and kinds; `record.field` for records.
        result: LLVM's type of the result.
        body: Its statements.
    """

    def __init__(self, of: Routine) -> None:
        self._name, self.body, returns = of.__name__, of.tree.body, of.tree.returns
        known = returns is None or isinstance(returns, ast.Constant)
        self.result = "void" if known else _SCALARS[returns.id]
        self.parameters: list[tuple[str, str]] = []
        self._fields: list[list[str] | None] = []  # of each argument that is a record
        for parameter in of.tree.args.args:
            name, record = parameter.arg, _record(of, parameter)
            self._fields.append(None if record is None else _used(of, parameter, set()))
            for field in self._fields[-1] or ():
                self.parameters.append((f"{name}.{field}", _kind(record, field)))
            if record is None:
                self.parameters.append((name, parameter.annotation.id))
        for name, kind in self.parameters:
            if kind not in (*_ARRAYS, *_SCALARS, "Call"):
                raise CompilerError(
                    f"{self._name}: {name} is of type {kind}, expected an array, a number or a "
                    "call."
                )

    def flat(self, arguments: Sequence[Any], field: Callable[[Any, str], Any]) -> list[Any]:
        """Return the flat arguments: for records the fields, one by one."""
        if len(arguments) != len(self._fields):
            raise CompilerError(
                f"{self._name}: got {len(arguments)} arguments, expected {len(self._fields)}."
            )
        found: list[Any] = []
        for given, fields in zip(arguments, self._fields, strict=True):
            found += [given] if fields is None else [field(given, name) for name in fields]
        return found


def _record(of: Routine, parameter: ast.arg) -> Any:
    """Return the class of a parameter that is a record, else None."""
    found = of.function.__globals__.get(_name(parameter.annotation))
    return found if hasattr(found, "_fields") else None


def _used(of: Routine, parameter: ast.arg, seen: set[tuple[Routine, str]]) -> list[str]:
    """Return the fields of a record that a routine uses, and those that it hands the record to."""
    name, record = parameter.arg, _record(of, parameter)
    if record is None or (of, name) in seen:
        return []
    seen.add((of, name))
    used: set[str] = set()
    for node in of.mentioned:
        if isinstance(node, ast.Call):
            called = of.function.__globals__.get(_name(node.func))
            if isinstance(called, Routine):
                for taking, given in zip(called.tree.args.args, node.args, strict=False):
                    if _name(given) == name:
                        used |= set(_used(called, taking, seen))
        elif _name(node.value) == name:
            used.add(node.attr)
            if node.attr not in record._fields:
                raise CompilerError(
                    f"{of.__name__}: {record.__name__} has no field {node.attr!r}, expected one "
                    f"of {', '.join(record._fields)}."
                )
    return [field for field in record._fields if field in used]


def _name(node: ast.AST | None) -> str:
    """Return the name of a variable, `record.field` for a field; else None."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return getattr(node, "id", "")


def _module(entry: Routine) -> str:
    """Return a routine and all that it calls as a module in LLVM's assembly language."""
    definition, writer = entry.definition, Writer()
    words, at = [], 0
    for _, kind in definition.parameters:
        for of in types_of(kind):
            words.append(f"{of} {writer.load(of, writer.offset('%table', 8 * at))}")
            at += 1
    call = f"call {definition.result} @{entry.__name__}({', '.join(words)})"
    if definition.result == "void":
        writer.do(call)
        writer.do("ret void")
    else:
        writer.do(f"ret {definition.result} {writer.emit(call)}")
    return "\n".join(
        [
            functions_of(entry),
            f"define {definition.result} @{ENTRY}(ptr %table) {{\nentry:",
            *writer.lines,
            f"}}\ndefine void @{PREPARE}(ptr %a, ptr %b, ptr %c) {{\n  ret void\n}}\n",
        ]
    )


def functions_of(entry: Routine) -> str:
    """Return a routine and all that it calls as text, with what they need."""
    functions: dict[Routine, str] = {}
    _function(entry, functions)
    sqrt, fabs = (f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "fabs"))
    return "\n".join([sqrt, fabs, _HEAP, *functions.values()])


def types_of(kind: str) -> list[str]:
    """Return LLVM's types of the arguments of a parameter."""
    if kind == "Call":
        return _CALL
    return ["ptr", *["i64"] * _ARRAYS[kind][2]] if kind in _ARRAYS else [_SCALARS[kind]]


def _function(of: Routine, functions: dict[Routine, str]) -> None:
    if of not in functions:
        functions[of] = ""
        functions[of] = _Body(of, functions).text


class _Body:
    """Writes one function: locals live in memory, which LLVM turns into registers."""

    def __init__(self, of: Routine, functions: dict[Routine, str]) -> None:
        self._of, self._functions, self._writer = of, functions, Writer()
        definition = Definition(of)
        self._result = definition.result
        self._kinds: dict[str, str] = {}  # of locals, in LLVM
        # Element, lengths and pointer.
        self._arrays: dict[str, tuple[str, list[str], str]] = {}
        self._loops: list[tuple[str, str]] = []  # where `continue` and `break` go
        self._own: list[str] = []  # arrays that are freed where it returns
        self._open = True  # whether the basic block goes on
        self._calls: dict[str, list[str]] = {}  # functions, each with what it is called with
        # A called function can change arrays.
        calls = any(kind == "Call" for _, kind in definition.parameters)
        own = "" if calls else "noalias "
        signature = []
        for name, kind in definition.parameters:
            if kind in _ARRAYS:
                element, _, rank = _ARRAYS[kind]
                lengths = [f"%{name}.{axis}" for axis in range(rank)]
                self._arrays[name] = element, lengths, f"%{name}.a"
                signature += [f"ptr {own}%{name}.a", *(f"i64 {length}" for length in lengths)]
            elif kind == "Call":
                self._calls[name] = [f"ptr %{name}.{i}" for i in range(len(_CALL))]
                signature += self._calls[name]
            else:
                signature.append(f"{_SCALARS[kind]} %{name}.a")
                self._assign(name, (_SCALARS[kind], f"%{name}.a"))
        self._block(definition.body)
        if self._open:
            self._leave()
            self._writer.do("ret void" if self._result == "void" else "unreachable")
        locals_ = [f"  %{name}.l = alloca {kind}" for name, kind in self._kinds.items()]
        for name in self._own:
            locals_ += [f"  %{name}.own = alloca ptr", f"  store ptr null, ptr %{name}.own"]
        head = f"define internal {self._result} @{of.__name__}({', '.join(signature)}) nounwind {{"
        self.text = "\n".join([head, "entry:", *locals_, *self._writer.lines, "}"])

    def _refuse(self, node: ast.AST) -> NoReturn:
        raise CompilerError(
            f"{self._of.__name__}: a routine cannot have {ast.unparse(node)!r}, expected the "
            "syntax listed in `compile.routine`."
        )

    # Statements.

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if not self._open:
                self._refuse(statement)
            getattr(self, f"_{type(statement).__name__}", self._refuse)(statement)

    def _label(self, name: str) -> None:
        self._writer.label(name)
        self._open = True

    def _jump(self, label: str) -> None:
        if self._open:
            self._writer.jump(label)
        self._open = False

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._value(node.value)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:  # a = b = x
            self._refuse(node)
        call: Any = node.value
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "zeros":
            self._array(node, call)
            return
        target = node.targets[0]
        pairs = [(target, call)]
        if isinstance(target, ast.Tuple) and isinstance(call, ast.Tuple):
            pairs = list(zip(target.elts, call.elts, strict=True))
        # An alias of an array, which stays.
        named = [(part, _name(of)) for part, of in pairs if _name(of) in self._arrays]
        pairs = [(part, self._value(of)) for part, of in pairs if _name(of) not in self._arrays]
        for part, value in pairs:
            self._store(part, value)
        for part, array in named:
            if self._loops or _name(part) in ("", *self._arrays, *self._kinds):
                self._refuse(node)
            self._arrays[_name(part)] = self._arrays[array]

    def _array(self, node: ast.Assign, call: ast.Call) -> None:
        """Write an array of the function's own."""
        name = getattr(node.targets[0], "id", "")
        if self._loops or not name or name in self._arrays:
            self._refuse(node)
        lengths = [self._as("i64", self._value(argument)) for argument in call.args]
        size = lengths[0]
        for length in lengths[1:]:
            size = self._writer.emit(f"mul nsw i64 {size}, {length}")
        self._writer.do(f"%{name}.a = call align 64 ptr @array.new(i64 {size})")
        self._writer.store("ptr", f"%{name}.a", f"%{name}.own", 8)
        self._own.append(name)
        self._arrays[name] = "double", lengths, f"%{name}.a"

    def _AugAssign(self, node: ast.AugAssign) -> None:
        target: Any = node.target
        self._store(target, self._value(ast.BinOp(target, node.op, node.value)))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            element, pointer = self._element(target)
            if element == "i8":
                value = "i8", self._writer.emit(f"zext i1 {self._truth(value)} to i8")
            self._writer.store(element, self._as(element, value), pointer, _ALIGN[element])
        else:
            self._refuse(target)

    def _assign(self, name: str, value: Value) -> None:
        kind = self._kinds.setdefault(name, value[0])
        self._writer.store(kind, self._as(kind, value), f"%{name}.l", _ALIGN[kind])

    def _If(self, node: ast.If) -> None:
        then, other, after = (self._writer.new_label(x) for x in ("then", "else", "after"))
        self._writer.branch(self._truth(self._value(node.test)), then, other)
        ends = False
        for label, body in ((then, node.body), (other, node.orelse)):
            self._label(label)
            self._block(body)
            ends |= self._open
            self._jump(after)
        self._open = ends
        if ends:
            self._label(after)

    def _While(self, node: ast.While) -> None:
        head, body, after = (self._writer.new_label(x) for x in ("head", "body", "after"))
        self._jump(head)
        self._label(head)
        self._writer.branch(self._truth(self._value(node.test)), body, after)
        self._label(body)
        self._repeated(node.body, head, after)
        self._jump(head)
        self._label(after)

    def _For(self, node: ast.For) -> None:
        call: Any = node.iter
        if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "range":
            self._refuse(node)
        name = getattr(node.target, "id", "")
        ends = [self._as("i64", self._value(a)) for a in call.args]
        start, stop, step = ["0", *ends, "1"] if len(ends) == 1 else [*ends, "1"][:3]
        head, body, following, after = (
            self._writer.new_label(x) for x in ("head", "body", "next", "after")
        )
        counter = f"{name}.{head}"
        self._kinds[counter] = "i64"
        self._assign(counter, ("i64", start))
        self._jump(head)
        self._label(head)
        at = self._writer.load("i64", f"%{counter}.l")
        compared = "sgt" if step.startswith("-") else "slt"
        self._writer.branch(self._writer.emit(f"icmp {compared} i64 {at}, {stop}"), body, after)
        self._label(body)
        self._assign(name, ("i64", at))
        self._repeated(node.body, following, after)
        self._jump(following)
        self._label(following)
        at = self._writer.load("i64", f"%{counter}.l")
        self._assign(counter, ("i64", self._writer.emit(f"add nsw i64 {at}, {step}")))
        self._jump(head)
        self._label(after)

    def _repeated(self, body: list[ast.stmt], following: str, after: str) -> None:
        self._loops.append((following, after))
        self._block(body)
        self._loops.pop()

    def _Break(self, node: ast.Break) -> None:
        self._jump(self._loops[-1][1])

    def _Continue(self, node: ast.Continue) -> None:
        self._jump(self._loops[-1][0])

    def _Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._leave()
            self._writer.do("ret void")
        else:
            value = self._as(self._result, self._value(node.value))
            self._leave()
            self._writer.do(f"ret {self._result} {value}")
        self._open = False

    def _leave(self) -> None:
        """Free the arrays that the function has made."""
        for name in self._own:
            own = self._writer.load("ptr", f"%{name}.own", 8)
            self._writer.do(f"call void @array.free(ptr {own})")

    # Expressions.

    def _value(self, node: ast.expr) -> Value:
        return getattr(self, f"_of_{type(node).__name__}", self._refuse)(node)  # type: ignore[no-any-return]

    def _as(self, kind: str, value: Value) -> str:
        """Return the name of a value as one of another type: whole numbers become real."""
        if value[0] == kind:
            return value[1]
        if (value[0], kind) == ("i64", "double"):
            return self._writer.emit(f"sitofp i64 {value[1]} to double")
        if (value[0], kind) == ("i1", "double"):
            return self._writer.emit(f"uitofp i1 {value[1]} to double")
        raise CompilerError(f"{self._of.__name__}: a value is {value[0]}, expected {kind}.")

    def _truth(self, value: Value) -> str:
        return self._as("i1", value)

    def _common(self, left: Value, right: Value) -> tuple[str, str, str]:
        kind = left[0] if left[0] == right[0] else "double"
        return kind, self._as(kind, left), self._as(kind, right)

    def _of_Constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _constant(self, value: Any, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return "i1", str(int(value))
        if isinstance(value, int):
            return "i64", str(value)
        if isinstance(value, float):
            bits = int.from_bytes(struct.pack("<d", value), "little")
            return "double", f"0x{bits:016X}"
        self._refuse(node)

    def _of_Name(self, node: ast.Name | ast.Attribute) -> Value:
        name = _name(node)
        kind = self._kinds.get(name)
        if kind is None:
            return self._constant(self._of.function.__globals__.get(name), node)
        return kind, self._writer.load(kind, f"%{name}.l", _ALIGN[kind])

    _of_Attribute = _of_Name

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        kind, left, right = self._common(self._value(node.left), self._value(node.right))
        if isinstance(node.op, ast.Div) and kind == "i64":
            kind, left, right = (
                "double",
                self._as("double", (kind, left)),
                self._as("double", (kind, right)),
            )
        operation = (_FLOAT if kind == "double" else _WHOLE).get(type(node.op))
        if operation is None or kind == "i1":
            self._refuse(node)
        return kind, self._writer.emit(f"{operation} {kind} {left}, {right}")

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number: Any = node.operand.value
            return self._constant(-number, node)
        kind, value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return "i1", self._writer.emit(f"xor i1 {self._truth((kind, value))}, 1")
        if not isinstance(node.op, ast.USub) or kind == "i1":
            self._refuse(node)
        negate = f"fneg double {value}" if kind == "double" else f"sub nsw i64 0, {value}"
        return kind, self._writer.emit(negate)

    def _of_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) > 1:
            self._refuse(node)
        kind, left, right = self._common(self._value(node.left), self._value(node.comparators[0]))
        order = _ORDER[type(node.ops[0])]
        if kind == "double":
            how = f"fcmp {'u' if order == 'ne' else 'o'}{order}"
        else:
            how = f"icmp {order if order in ('eq', 'ne') else 's' + order}"
        return "i1", self._writer.emit(f"{how} {kind} {left}, {right}")

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        name = self._writer.new_label("both")
        after = self._writer.new_label("known")
        for i, part in enumerate(node.values):
            value = self._value(part)
            self._assign(name, ("i1", self._truth(value)))
            following = self._writer.new_label("also")
            if i == len(node.values) - 1:
                self._jump(after)
            elif isinstance(node.op, ast.And):
                self._writer.branch(value[1], following, after)
                self._label(following)
            else:
                self._writer.branch(value[1], after, following)
                self._label(following)
        self._label(after)
        return self._of_Name(ast.Name(name))

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        then, other, after, name = (
            self._writer.new_label(x) for x in ("then", "else", "after", "chosen")
        )
        self._writer.branch(self._truth(self._value(node.test)), then, other)
        for label, value in ((then, node.body), (other, node.orelse)):
            self._label(label)
            self._assign(name, self._value(value))
            self._jump(after)
        self._label(after)
        return self._of_Name(ast.Name(name))

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            axis: Any = node.slice
            return "i64", self._arrays[_name(node.value.value)][1][axis.value]
        element, pointer = self._element(node)
        value = self._writer.load(element, pointer, _ALIGN[element])
        if element == "i8":
            return "i1", self._writer.emit(f"icmp ne i8 {value}, 0")
        return element, value

    def _element(self, node: ast.Subscript) -> Value:
        """Return the type of an element of an array, and the pointer to it."""
        name = _name(node.value)
        if name not in self._arrays:
            self._refuse(node)
        element, lengths, pointer = self._arrays[name]
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(indices) != len(lengths):
            self._refuse(node)
        at = ""
        for index, length in zip(indices, lengths, strict=True):
            own = self._as("i64", self._value(index))
            before = self._writer.emit(f"mul nsw i64 {at}, {length}") if at else ""
            at = self._writer.emit(f"add nsw i64 {before}, {own}") if at else own
        return element, self._writer.emit(
            f"getelementptr inbounds {element}, ptr {pointer}, i64 {at}"
        )

    def _of_Call(self, node: ast.Call) -> Value:
        name = _name(node.func)
        if name == "len" and (array := _name(node.args[0])) in self._arrays:
            return "i64", self._arrays[array][1][0]
        if name in self._calls:
            function, *given = self._calls[name]
            self._writer.do(f"call void {function.removeprefix('ptr ')}({', '.join(given)})")
            return "void", ""
        called = self._of.function.__globals__.get(name)
        if isinstance(called, Routine):
            return self._called(called, node)
        values = [self._value(argument) for argument in node.args]
        if name == "int" and values[0][0] == "double":
            return "i64", self._writer.emit(f"fptosi double {values[0][1]} to i64")
        if name in ("sqrt", "float", "abs") and len(values) == 1:
            value = self._as("double", values[0])
            if name == "float":
                return "double", value
            name = {"sqrt": "sqrt", "abs": "fabs"}[name]
            return "double", self._writer.emit(f"call double @llvm.{name}.f64(double {value})")
        if name in ("min", "max") and len(values) == 2:
            kind, left, right = self._common(*values)
            order = {"min": "lt", "max": "gt"}[name]
            how = f"fcmp o{order}" if kind == "double" else f"icmp s{order}"
            chosen = self._writer.emit(f"{how} {kind} {right}, {left}")
            return kind, self._writer.emit(f"select i1 {chosen}, {kind} {right}, {kind} {left}")
        self._refuse(node)

    def _called(self, called: Routine, node: ast.Call) -> Value:
        _function(called, self._functions)
        definition = Definition(called)
        words = []
        arguments = definition.flat(node.args, ast.Attribute)
        for (_, kind), argument in zip(definition.parameters, arguments, strict=True):
            if kind in _ARRAYS:
                element, lengths, pointer = self._arrays.get(_name(argument), ("", [], ""))
                if (element, len(lengths)) != (_ARRAYS[kind][0], _ARRAYS[kind][2]):
                    self._refuse(node)
                words += [f"ptr {pointer}", *(f"i64 {length}" for length in lengths)]
            elif kind == "Call":
                words += self._calls.get(_name(argument)) or self._refuse(node)
            else:
                words.append(f"{_SCALARS[kind]} {self._as(_SCALARS[kind], self._value(argument))}")
        call = f"call {definition.result} @{called.__name__}({', '.join(words)})"
        if definition.result == "void":
            self._writer.do(call)
            return "void", ""
        return definition.result, self._writer.emit(call)


_ALIGN = {"double": 8, "i64": 8, "i8": 1, "i1": 1}
