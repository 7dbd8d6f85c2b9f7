"""How functions that only other kernels call are compiled: linked into them, and nothing more.

Numba takes every function through LLVM's optimiser and code generator together with all that it
calls. In a tree of calls a leaf goes through both once for every level above it, and only what the
entry point gets is ever run: of the processor time that the ReLU flow took to compile, 60 percent.
Here an inner function stays in LLVM's language until the entry point that it is linked into is
optimised as a whole.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import codegen, compiler

Library: Any = codegen.JITCodeLibrary
Compiler: Any = compiler.Compiler


class _Unset:
    """A code generator that is told no environments: they serve calls from Python."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, env: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class LinkedLibrary(Library):
    """The code of one inner function and of those that it calls, neither optimised as a whole nor
    turned into machine code."""

    @property
    def codegen(self) -> Any:
        return _Unset(self._codegen)

    def _optimize_functions(self, module: Any) -> None:
        """Of what the module only declares there is nothing to optimise."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0


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


class LinkedCompiler(Compiler):
    """Numba's compiler with such a library for its output."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        with collector_paused():
            return super().compile_extra(func)


def linked(kernel: Any, fastmath: Any, counted: bool = True) -> Any:
    """Compile a function that entry points call. Should Python call it, an ordinary twin runs.

    counted: whether references to arrays are counted, as they must be where arrays are made or
    given back.
    """
    compiled: Any = numba.njit
    ordinary = compiled(error_model="numpy", fastmath=fastmath)(kernel)
    dispatcher = compiled(
        error_model="numpy",
        fastmath=fastmath,
        pipeline_class=LinkedCompiler,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=counted,
    )(kernel)
    dispatcher._insert = lambda *overload: None  # Python never finds what is only linked,
    dispatcher._compile_for_args = lambda *arguments, **named: ordinary  # and asks what to run
    return dispatcher
