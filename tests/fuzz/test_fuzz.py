"""The fuzzer covers what is public; a sample runs with every suite, the whole of it with the slow
set."""

import inspect
import os

import pytest
from fuzz_bases import NOT_FUZZED, RECORDS, entries
from fuzz_cases import CLEAR, FOREIGN, HANG, RIGHT, WRONG, all_cases, base_result, fuzz, outcome_of
from print_table import faults, table

import biasflow as bf
from biasflow._core.former_names import FORMER_NAMES

CLEAN = (
    "min_l1",
    "min_l2",
    "min_frobenius_norm",
    "l1_max_margin",
    "variation_norm",
    "inverse_norm",
    "bregman",
    "start of a diagonal network",
    "two-layer network",
    "signed network",
    "factorisation",
    "random_network",
    "split_network",
    "mirror",
    "data sparse",
    "data hypercube",
    "data orthonormal",
    "data entries",
    "dataset",
    "transport_distance",
    "margin_bound",
    "trajectory at a time",
    "bregman Euclidean",
    "clusters",
)
"""Entries that are quick and without faults, whatever is tried."""
SAMPLE = 220
LEAST = 5000


def test_everything_public_is_covered():
    homes = {name: getattr(bf, room) for room, names in FORMER_NAMES.items() for name in names}
    public = {name: getattr(homes.get(name, bf), name) for name in [*bf.__all__, *homes]}
    errors = {
        name
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    rooms = {name for name, value in public.items() if inspect.ismodule(value)}
    covered = {name for entry in entries().values() for name in entry.covers}
    assert covered <= set(public)
    assert set(public) - rooms - covered - errors == RECORDS - errors | NOT_FUZZED
    assert len(all_cases()) >= LEAST and len(set(all_cases())) == len(all_cases())


def test_a_sample_over_clean_functions():
    chosen = [case for case in all_cases() if case.partition(" | ")[0] in CLEAN][:SAMPLE]
    found = {case: outcome_of(case) for case in chosen}
    assert not faults(found) and {outcome for outcome, _ in found.values()} == {CLEAR, RIGHT}
    assert table(found).splitlines()[-1].startswith(f"| all | {SAMPLE} |")


def test_the_fuzzer_notices_what_it_is_for(monkeypatch):
    """A function that forgets to look at its arguments, one that raises what it likes, one that is
    off by a factor."""
    base_result("min_l2")
    genuine = bf.limits.min_l2

    def replaced(with_):
        from dataclasses import replace

        monkeypatch.setitem(entries(), "min_l2", replace(entries()["min_l2"], call=with_))

    replaced(lambda X, y: genuine([[1.0]], [1.0]))
    assert (
        outcome_of("min_l2 | X | a NaN")[0] == WRONG
        and outcome_of("min_l2 | y | as lists")[0] == WRONG
    )
    replaced(lambda X, y: {}["nothing"])
    assert outcome_of("min_l2 | X | zeros")[0] == FOREIGN
    replaced(lambda X, y: genuine(X, y if max(y) < 1e3 else [2 * label for label in y]))
    assert (
        outcome_of("min_l2 | y | times 2^40")[0] == WRONG
        and outcome_of("min_l2 | y | times 2^-40")[0] == RIGHT
    )


@pytest.mark.slow
def test_no_function_misleads_or_hangs(tmp_path):
    """`make fuzz` prints the table; FUZZ_FOLDER keeps what was tried."""
    for name in entries():
        base_result(name)
    found = fuzz(all_cases(), os.environ.get("FUZZ_FOLDER", tmp_path))
    assert not faults(found), "\n".join([table(found), *faults(found)])
    assert {HANG, WRONG, FOREIGN}.isdisjoint({outcome for outcome, _ in found.values()})
