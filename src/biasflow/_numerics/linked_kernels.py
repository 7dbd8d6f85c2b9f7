"""How functions that only other kernels call are compiled: linked into them, and nothing more.

Numba takes every function through LLVM's optimiser and code generator together with all that it
calls. In a tree of calls a leaf goes through both once for every level above it, and only what the
entry point gets is ever run: of the processor time that the ReLU flow took to compile, 60 percent.
Here an inner function stays in LLVM's language until the entry point that it is linked into is
optimised as a whole.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import (
    codegen,
    compiler,
    compiler_machinery,
    ir,
    lowering,
    targetconfig,
    typed_passes,
    types,
)

Library: Any = codegen.JITCodeLibrary
Compiler: Any = compiler.Compiler
ConfigStack: Any = targetconfig.ConfigStack
Builtin: Any = types.Function
Lower: Any = lowering.Lower
Lowering: Any = typed_passes.NativeLowering
register_pass: Any = compiler_machinery.register_pass
APART = ("optsize", "noinline")
"""What LLVM is told of code that seldom runs: to keep it short, and out of the code that calls it.
"""


class _Unset:
    """A code generator that is told no environments: they serve calls from Python."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, env: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class PlainLibrary(Library):
    """The code of one function, optimised only as far as the whole that it becomes part of needs
    it: variables are put into registers, and that is all."""

    attributes: tuple[str, ...] = ()

    def _optimize_functions(self, module: Any) -> None:
        """Of what the module only declares there is nothing to optimise."""
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        for function in module.functions:
            if not function.is_declaration:
                for attribute in self.attributes:
                    function.add_function_attribute(attribute)
                passes = llvm.create_new_function_pass_manager()
                passes.add_sroa_pass()
                passes.add_instruction_combine_pass()
                passes.add_simplify_cfg_pass()
                passes.run(function, builder)

    def finalize(self) -> None:
        """With all that is called, at any remove, each function once, and after those that call
        it: LLVM leaves out what nobody has asked for yet."""
        for library in _callers_first(self)[1:]:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(Library._get_module_for_linking(library), preserve=True)
        self._linking_libraries: list[Any] = []
        super().finalize()


class LinkedLibrary(PlainLibrary):
    """The code of one inner function, not turned into machine code."""

    @property
    def codegen(self) -> Any:
        return _Unset(self._codegen)

    def finalize(self) -> None:
        """Nothing is linked yet: what this function calls goes to whoever calls it."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """For callers of other kinds, which link what they call and no more."""
        whole = Library._get_module_for_linking(self).clone()
        for library in _callers_first(self)[1:]:
            whole.link_in(Library._get_module_for_linking(library), preserve=True)
        return whole

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0


def _callers_first(library: Any) -> list[Any]:
    """A library and all that are linked into it."""
    found: dict[Any, None] = {}

    def visit(one: Any) -> None:
        if one is library or isinstance(one, LinkedLibrary):
            for called in one._linking_libraries:
                if called not in found:
                    visit(called)
        found[one] = None

    visit(library)
    return list(found)[::-1]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Without Python's search for cycles, which goes through all that a compiler has in hand again
    and again, for nothing."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


@contextmanager
def answers_remembered() -> Iterator[None]:
    """Which of its implementations a built-in function means for arguments of given types is asked
    thousands of times; Numba tries them one by one, and forgets."""
    asked: Any = Builtin.get_call_type
    known: dict[Any, Any] = {}
    manners: dict[int, Any] = {}  # how a function is compiled, in words

    def remembered(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        if id(flags) not in manners:
            manners[id(flags)] = flags, None if flags is None else flags.summary()
        key = (self, tuple(args), tuple(kws.items()), manners[id(flags)][1])
        if key not in known:
            signature = asked(self, context, args, kws)
            known[key] = signature, self._impl_keys[signature.args]
        signature, self._impl_keys[signature.args] = known[key]
        return signature

    Builtin.get_call_type = remembered
    try:
        yield
    finally:
        Builtin.get_call_type = asked


class DirectLower(Lower):
    """Numba's translation into LLVM's language, in which arguments that are never set again are no
    variables in memory, nor, where no references are counted, is what is set once at the start.

    A named tuple of dozens of arrays would be loaded as a whole, some five hundred numbers,
    wherever one of them is used; and the caller holds the arrays, so that no references to them
    need counting."""

    def pre_lower(self) -> None:
        super().pre_lower()
        places = [
            (where, one)
            for where, block in self.blocks.items()
            for one in block.find_insts(ir.Assign)
        ]
        times = Counter(one.target.name for _, one in places)
        uncounted = not self.context.enable_nrt
        self._fixed = {
            one.target.name
            for where, one in places
            if times[one.target.name] == 1
            and (isinstance(one.value, ir.Arg) or (uncounted and where == self.firstblk))
        }
        self._held: dict[str, Any] = {}
        self._counted = _counted_up({one.target.name: one.value for _, one in places}, times)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if isinstance(inst.value, ir.Var) and inst.value.name in self._counted:
            count = self.loadvar(inst.value.name)
            if not inst.target.is_temp:  # within the loop, where there is a count
                self.builder.assume(self.builder.icmp_signed(">=", count, count.type(0)))
        if inst.target.name in self._fixed and isinstance(inst.value, ir.Arg):
            given, name = self.fnargs[inst.value.index], inst.value.name
            return self.context.cast(self.builder, given, self.typeof(f"arg.{name}"), ty)
        return super().lower_assign(ty, inst)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if name in self._fixed:
            self._held[name] = value
        else:
            super().storevar(value, name, argidx)

    def loadvar(self, name: str) -> Any:
        return self._held[name] if name in self._held else super().loadvar(name)

    def delvar(self, name: str) -> None:
        if name not in self._fixed:
            super().delvar(name)


def _counted_up(values: dict[str, Any], times: Counter[str]) -> set[str]:
    """Variables that hold what `range(stop)` counts, which is not negative.

    LLVM does not see that: it then allows for indices from the end of an array, believes that rows
    which lie side by side may overlap, and works on numbers one by one."""

    def source(value: Any) -> Any:
        while isinstance(value, ir.Var) and times[value.name] == 1:
            value = values[value.name]
        return value

    def counts(value: Any) -> bool:
        for operation in ("pair_first", "iternext", "getiter"):
            value = source(value)
            if not (isinstance(value, ir.Expr) and value.op == operation):
                return False
            value = value.value
        value = source(value)
        if not (isinstance(value, ir.Expr) and value.op == "call" and len(value.args) == 1):
            return False
        function = source(value.func)
        return isinstance(function, ir.Global) and function.value is range

    return {name for name, value in values.items() if times[name] == 1 and counts(value)}


@register_pass(mutates_CFG=True, analysis_only=False)
class DirectLowering(Lowering):
    """The pass of Numba's compiler that does so."""

    _name = "direct_lowering"

    @property
    def lowering_class(self) -> Any:
        return DirectLower


class LinkedCompiler(Compiler):
    """Numba's compiler with such a library for its output."""

    library: Any = LinkedLibrary
    attributes: tuple[str, ...] = ()

    def define_pipelines(self) -> Any:
        (manager,) = super().define_pipelines()
        manager.passes = [
            (DirectLowering if one is Lowering else one, what) for one, what in manager.passes
        ]
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        self.state.library = self.made_library(func.__qualname__)
        return super().compile_extra(func)

    def made_library(self, name: str) -> Any:
        library = self.library(self.state.targetctx.codegen(), name)
        library.attributes = self.attributes
        return library


class EntryCompiler(LinkedCompiler):
    """The same for what Python calls."""

    library = PlainLibrary

    def compile_extra(self, func: Any) -> Any:
        with collector_paused(), answers_remembered():
            return super().compile_extra(func)

    def made_library(self, name: str) -> Any:
        library = super().made_library(name)
        library.enable_object_caching()
        return library


class ApartCompiler(LinkedCompiler):
    """For a function that seldom runs."""

    attributes = APART


class ApartEntryCompiler(EntryCompiler):
    attributes = APART


def linked(kernel: Any, fastmath: Any, counted: bool = True, seldom: bool = False) -> Any:
    """Compile a function that entry points call. Should Python call it, an ordinary twin runs.

    counted: whether references to arrays are counted, as they must be where arrays are made or
    given back. seldom: whether it runs so seldom that its own speed is of no matter.
    """
    compiled: Any = numba.njit
    ordinary = compiled(error_model="numpy", fastmath=fastmath)(kernel)
    dispatcher = compiled(
        error_model="numpy",
        fastmath=fastmath,
        pipeline_class=ApartCompiler if seldom else LinkedCompiler,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=counted,
    )(kernel)
    dispatcher._insert = lambda *overload: None  # Python never finds what is only linked,
    dispatcher._compile_for_args = lambda *arguments, **named: ordinary  # and asks what to run
    return dispatcher
