"""Inner kernels are linked into those that call them, and have no machine code of their own."""

import numba
import numpy as np

from biasflow._numerics import compilation, linked_kernels
from biasflow.flows.relu.small_algebra import dot, norm


def test_inner_kernels_run_inside_others_and_from_python():
    @numba.njit
    def outer(u):
        return dot(u, u) + norm(u)

    assert outer(np.ones(4)) == 6.0
    (linked,) = dot.overloads.values()
    assert linked.library.get_pointer_to_function(linked.fndesc.llvm_func_name) == 0
    # with types that are linked by now
    assert dot(np.ones(4), np.ones(4)) == 4.0


def test_a_caller_of_another_kind_links_what_kernels_call():
    @numba.njit
    def outer(u):
        return norm(u)

    assert outer(np.full(4, 3.0)) == 6.0


def test_with_another_release_of_numba_kernels_are_its_own(monkeypatch):
    monkeypatch.setattr(compilation, "KNOWN", "0.1.")

    @compilation.seldom_borrowing
    def doubled(u):
        return 2 * u[0]

    @compilation.entry
    def outer(u):
        return doubled(u) + 1

    assert doubled(np.ones(2)) == 2.0 and outer(np.ones(2)) == 3.0
    (plain,) = doubled.overloads.values()
    assert plain.library.get_pointer_to_function(plain.fndesc.llvm_func_name) != 0


def code_of(kernel):
    """LLVM's code of an inner kernel that was linked into another."""
    (linked,) = kernel.overloads.values()
    return linked.library.get_llvm_str()


def test_what_range_counts_is_known_not_to_be_negative():
    """Else rows side by side seem to overlap: with an index from the end one reaches the next."""

    @compilation.inner
    def add(rows):
        one, other, both = rows[0], rows[1], rows[2]
        for j in range(one.size):
            both[j] = one[j] + other[j]

    @compilation.inner
    def last(u, count):
        found = 0.0
        for j in range(-count, 0):
            found = 10.0 * found + u[j]
        return found

    @numba.njit(pipeline_class=linked_kernels.EntryCompiler)
    def outer(rows):
        add(rows)
        return last(rows[2], 2)

    rows = np.arange(6.0).reshape(3, 2)
    assert outer(rows) == 10.0 * 2.0 + 4.0 and np.array_equal(rows[2], rows[0] + rows[1])
    assert "llvm.assume" in code_of(add) and "llvm.assume" not in code_of(last)
