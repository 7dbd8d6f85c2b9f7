"""Inner kernels are linked into those that call them, and have no machine code of their own."""

import numba
import numpy as np

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
