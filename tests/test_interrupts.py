"""Ctrl-C ends every call by a KeyboardInterrupt, within half a second, with what there is.

`tests/search/interrupts.py` sends fifty signals to each kind of call, this three.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.interrupts import apart, interrupted, stop_flag, stoppable
from search.interrupts import KINDS, faults, in_process, net

SIGNALS = 3
GROUPS = {word: [kind for kind in KINDS if kind.startswith(word)] for word in ("flow", "train")} | {
    "others": [kind for kind in KINDS if not kind.startswith(("flow", "train"))]
}


@pytest.fixture(autouse=True)
def handled():
    """SIGINT as in a terminal: processes in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("group", GROUPS)
def test_calls_end_within_half_a_second_and_the_next_one_works(group):
    rows, code, last = in_process(SIGNALS, *GROUPS[group])
    assert code == 0, last
    assert len(rows) == SIGNALS * len(GROUPS[group])
    assert [(row, faults(row)) for row in rows if faults(row)] == []


@contextmanager
def signals(*moments, number=signal.SIGINT):
    """Signals to this process, so many seconds from now."""

    def send():
        for moment in moments:
            time.sleep(max(0.0, moment - (time.monotonic() - begun)))
            os.kill(os.getpid(), number)

    begun, sender = time.monotonic(), threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        sender.join()


def until_stopped(after=0.0):
    stop = stop_flag()
    while not stop[0]:
        time.sleep(0.001)
    time.sleep(after)
    return "what there is"


def test_what_a_call_returns_then_is_the_partial():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stop, signals(0.05):
        stoppable(until_stopped)
    assert stop.value.partial == "what there is"
    assert signal.getsignal(signal.SIGINT) is before
    assert stoppable(lambda: interrupted()) is False  # the next call


def test_the_partial_of_its_error_counts_and_other_errors_pass():
    def raising():
        until_stopped()
        raise bf.errors.ConvergenceError("gave up", partial=1.0)

    with pytest.raises(KeyboardInterrupt) as stop, signals(0.05):
        stoppable(raising)
    assert stop.value.partial == 1.0
    with pytest.raises(ZeroDivisionError):
        stoppable(lambda: 1 / 0)


def test_a_second_signal_changes_nothing():
    with pytest.raises(KeyboardInterrupt) as stop, signals(0.05, 0.1, 0.15):
        stoppable(until_stopped, 0.25)
    assert stop.value.partial == "what there is"
    assert stoppable(str, 1) == "1"


def test_a_call_that_does_not_look_is_left():
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as stop, signals(0.05):
        apart(time.sleep, 3.0)
    assert time.monotonic() - begun < 1.5 and not hasattr(stop.value, "partial")
    assert stoppable(str, 1) == "1"


def test_parts_of_an_interrupted_call_end_it():
    def outer():
        stoppable(until_stopped)
        raise AssertionError("went on")

    with pytest.raises(KeyboardInterrupt), signals(0.05):
        stoppable(outer)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarms")
def test_what_a_users_handler_raises_ends_a_call_too():
    def expire(*_):
        raise TimeoutError("of the user's")

    before = signal.signal(signal.SIGALRM, expire)
    try:
        with (
            pytest.raises(TimeoutError, match="of the user's"),
            signals(0.05, number=signal.SIGALRM),
        ):
            stoppable(until_stopped)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_no_handler_is_replaced_while_a_call_runs():
    def handler():
        return signal.getsignal(signal.SIGINT)

    assert stoppable(handler) is handler()


def test_a_thread_calls_as_it_is_and_hears_nothing():
    problem, seen = net(60, 40, 20), []

    def call():
        seen.append(threading.get_ident())
        seen.append(stoppable(threading.get_ident))
        seen.append(bf.gradient_flow(problem, t1=5.0))

    thread = threading.Thread(target=call)
    with pytest.raises(KeyboardInterrupt), signals(0.1):
        thread.start()
        while True:
            time.sleep(0.01)
    thread.join()
    assert seen[0] == seen[1] and seen[2].result is bf.Result.REACHED_T1


def test_in_a_loop_as_of_a_notebook():
    problem, loop = net(60, 40, 20), asyncio.new_event_loop()
    bf.gradient_flow(problem, t1=1e-3)

    async def cell(t1):
        return bf.gradient_flow(problem, t1=t1)

    try:
        with pytest.raises(KeyboardInterrupt) as stop, signals(0.2):
            loop.run_until_complete(cell(1e6))
        flow = stop.value.partial
        assert flow.times.size > 1 and np.isfinite(flow.loss).all()
        assert loop.run_until_complete(cell(1e-3)).result is bf.Result.REACHED_T1
    finally:
        loop.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_helpers_of_its_own():
    program = (
        "import os; from biasflow._numerics.interrupts import stoppable; stoppable(int)\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(stoppable(lambda: 7))\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
